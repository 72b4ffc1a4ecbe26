/* The interface of parameters to systems that are refined (IRS).  Parameters are checked and kept; everything is solved in the
 * main precision at once, so there are no iterations, and nothing falls back. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "cusolver_proto.h"
#include "refine.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { PARAMS_MAGIC = 0x70737269, INFOS_MAGIC = 0x69737269 };
/* cusolverPrecType_t */
enum { R_64F = 1203, R_32F, R_16F, R_16BF, R_TF32, C_64F = 1213, C_32F, C_16F, C_16BF, C_TF32 };
/* cusolverIRSRefinement_t: how it is refined, not at all up to by GMRES without a preconditioner */
enum { REFINE_NOT_SET = 1100, REFINE_NONE, REFINE_LAST = 1106 };

struct cusolverDnIRSParams {
    uint32_t magic;
    int main, lowest, refine, most, most_inner;
    double tolerance, tolerance_inner;
    bool falls_back;
};
struct cusolverDnIRSInfos {
    uint32_t magic;
    int most, iterations, outer;
    bool solved;
};

static cusolverStatus_t params_check(cusolverDnIRSParams_t p)
{
    return p && p->magic == PARAMS_MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED;
}

static cusolverStatus_t infos_check(cusolverDnIRSInfos_t i)
{
    return i && i->magic == INFOS_MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED;
}

/* ---- Parameters. */

cusolverStatus_t awcusolver_cusolverDnIRSParamsCreate(cusolverDnIRSParams_t *params)
{
    if (!params)
        return INVALID;
    *params = calloc(1, sizeof **params);
    if (!*params)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    **params = (struct cusolverDnIRSParams){
        .magic = PARAMS_MAGIC, .refine = REFINE_NOT_SET, .most = 50, .most_inner = 50, .falls_back = true
    };
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsDestroy(cusolverDnIRSParams_t params)
{
    cusolverStatus_t status = params_check(params);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    params->magic = 0;
    free(params);
    return CUSOLVER_STATUS_SUCCESS;
}

/* The type's letter; 0: none that systems are solved in. */
static char letter(int precision)
{
    return precision == R_64F ? 'd' : precision == R_32F ? 's' : precision == C_64F ? 'z' : precision == C_32F ? 'c' : 0;
}

/* Of the same kind as the main one, and no more exact. */
static bool lower(int lowest, int main)
{
    bool is_complex = main >= C_64F;
    return lowest >= main && lowest <= (is_complex ? C_TF32 : R_TF32);
}

static cusolverStatus_t precisions_set(cusolverDnIRSParams_t params, int main, int lowest)
{
    cusolverStatus_t status = params_check(params);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    bool known = (lowest >= R_64F && lowest <= R_TF32) || (lowest >= C_64F && lowest <= C_TF32);
    if ((main && !letter(main)) || (lowest && !known))
        return CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
    params->main = main ? main : params->main;
    params->lowest = lowest ? lowest : params->lowest;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetSolverPrecisions(cusolverDnIRSParams_t params, cusolverPrecType_t main,
                                                                   cusolverPrecType_t lowest)
{
    return main && lowest ? precisions_set(params, main, lowest) : CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetSolverMainPrecision(cusolverDnIRSParams_t params, cusolverPrecType_t main)
{
    return main ? precisions_set(params, main, 0) : CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetSolverLowestPrecision(cusolverDnIRSParams_t params, cusolverPrecType_t lowest)
{
    return lowest ? precisions_set(params, 0, lowest) : CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetRefinementSolver(cusolverDnIRSParams_t params, cusolverIRSRefinement_t refine)
{
    cusolverStatus_t status = params_check(params);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (refine < REFINE_NOT_SET || refine > REFINE_LAST)
        return CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE;
    params->refine = refine;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetTol(cusolverDnIRSParams_t params, double tolerance)
{
    cusolverStatus_t status = params_check(params);
    if (status == CUSOLVER_STATUS_SUCCESS)
        params->tolerance = tolerance;
    return status;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetTolInner(cusolverDnIRSParams_t params, double tolerance)
{
    cusolverStatus_t status = params_check(params);
    if (status == CUSOLVER_STATUS_SUCCESS)
        params->tolerance_inner = tolerance;
    return status;
}

static cusolverStatus_t most_set(cusolverDnIRSParams_t params, int *field, int most)
{
    cusolverStatus_t status = params_check(params);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (most < 0)
        return CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER;
    *field = most;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetMaxIters(cusolverDnIRSParams_t params, int most)
{
    return most_set(params, params ? &params->most : NULL, most);
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsSetMaxItersInner(cusolverDnIRSParams_t params, int most)
{
    return most_set(params, params ? &params->most_inner : NULL, most);
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsGetMaxIters(cusolverDnIRSParams_t params, int *most)
{
    cusolverStatus_t status = params_check(params);
    if (status == CUSOLVER_STATUS_SUCCESS && !most)
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *most = params->most;
    return status;
}

static cusolverStatus_t fallback_set(cusolverDnIRSParams_t params, bool on)
{
    cusolverStatus_t status = params_check(params);
    if (status == CUSOLVER_STATUS_SUCCESS)
        params->falls_back = on;
    return status;
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsEnableFallback(cusolverDnIRSParams_t params)
{
    return fallback_set(params, true);
}

cusolverStatus_t awcusolver_cusolverDnIRSParamsDisableFallback(cusolverDnIRSParams_t params)
{
    return fallback_set(params, false);
}

/* ---- What is told after. */

cusolverStatus_t awcusolver_cusolverDnIRSInfosCreate(cusolverDnIRSInfos_t *infos)
{
    if (!infos)
        return INVALID;
    *infos = calloc(1, sizeof **infos);
    if (!*infos)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    (*infos)->magic = INFOS_MAGIC;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSInfosDestroy(cusolverDnIRSInfos_t infos)
{
    cusolverStatus_t status = infos_check(infos);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    infos->magic = 0;
    free(infos);
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t infos_number(cusolverDnIRSInfos_t infos, const int *field, int *ret)
{
    cusolverStatus_t status = infos_check(infos);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!ret || !infos->solved)
        return INVALID;
    *ret = *field;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnIRSInfosGetMaxIters(cusolverDnIRSInfos_t infos, int *most)
{
    return infos_number(infos, infos ? &infos->most : NULL, most);
}

cusolverStatus_t awcusolver_cusolverDnIRSInfosGetNiters(cusolverDnIRSInfos_t infos, int *iterations)
{
    return infos_number(infos, infos ? &infos->iterations : NULL, iterations);
}

cusolverStatus_t awcusolver_cusolverDnIRSInfosGetOuterNiters(cusolverDnIRSInfos_t infos, int *outer)
{
    return infos_number(infos, infos ? &infos->outer : NULL, outer);
}

/* ---- The solvers. */

static cusolverStatus_t solvable(cusolverDnHandle_t h, cusolverDnIRSParams_t params)
{
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status == CUSOLVER_STATUS_SUCCESS)
        status = params_check(params);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    return params->main && params->lowest && lower(params->lowest, params->main) ? CUSOLVER_STATUS_SUCCESS
                                                                                 : CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC;
}

static cusolverStatus_t solve(cusolverDnHandle_t h, cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos, struct aw_refine *r)
{
    cusolverStatus_t status = solvable(h, params);
    if (status == CUSOLVER_STATUS_SUCCESS)
        status = infos_check(infos);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    r->t = letter(params->main);
    status = aw_solver_refine(h, r);
    if (status == CUSOLVER_STATUS_SUCCESS) {
        infos->solved = true;
        infos->most = params->most;
    }
    return status;
}

cusolverStatus_t awcusolver_cusolverDnIRSXgesv(cusolverDnHandle_t h, cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos,
                                               int n, int nrhs, void *a, int lda, void *b, int ldb, void *x, int ldx, void *work,
                                               size_t size, int *iterations, int *info)
{
    return solve(h, params, infos,
                 &(struct aw_refine){ .name = "cusolverDnIRSXgesv",
                                      .square = true,
                                      .m = n,
                                      .n = n,
                                      .nrhs = nrhs,
                                      .a = a,
                                      .b = b,
                                      .x = x,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldx = ldx,
                                      .iterations = iterations,
                                      .info = info });
}

cusolverStatus_t awcusolver_cusolverDnIRSXgels(cusolverDnHandle_t h, cusolverDnIRSParams_t params, cusolverDnIRSInfos_t infos,
                                               int m, int n, int nrhs, void *a, int lda, void *b, int ldb, void *x, int ldx,
                                               void *work, size_t size, int *iterations, int *info)
{
    return solve(h, params, infos,
                 &(struct aw_refine){ .name = "cusolverDnIRSXgels",
                                      .m = m,
                                      .n = n,
                                      .nrhs = nrhs,
                                      .a = a,
                                      .b = b,
                                      .x = x,
                                      .lda = lda,
                                      .ldb = ldb,
                                      .ldx = ldx,
                                      .iterations = iterations,
                                      .info = info });
}

static cusolverStatus_t room(cusolverDnHandle_t h, cusolverDnIRSParams_t params, bool valid, size_t *size)
{
    int lwork = 0;
    cusolverStatus_t status = solvable(h, params);
    if (status == CUSOLVER_STATUS_SUCCESS)
        status = aw_solver_lwork(h, valid && size, &lwork);
    if (status == CUSOLVER_STATUS_SUCCESS)
        *size = (size_t)lwork;
    return status;
}

cusolverStatus_t awcusolver_cusolverDnIRSXgesv_bufferSize(cusolverDnHandle_t h, cusolverDnIRSParams_t params, int n, int nrhs,
                                                          size_t *size)
{
    return room(h, params, n >= 0 && nrhs >= 0, size);
}

cusolverStatus_t awcusolver_cusolverDnIRSXgels_bufferSize(cusolverDnHandle_t h, cusolverDnIRSParams_t params, int m, int n,
                                                          int nrhs, size_t *size)
{
    return room(h, params, n >= 0 && m >= n && nrhs >= 0, size);
}
