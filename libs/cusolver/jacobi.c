/* Parameters of Jacobi's methods: see jacobi.h.  What is asked is kept; the method is a direct one, at least as exact, and makes
 * no sweeps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jacobi.h"

#include <math.h>
#include <stdlib.h>

#define AW_ROOM "cusolver"
#include "base/log.h"
#include "cusolver_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE

/* ---- Reports */

struct aw_solver_report *aw_solver_report_take(struct aw_solver_jacobi *settings)
{
    if (!settings)
        return NULL;
    aw_solver_report_put(settings->report, NAN);
    __atomic_add_fetch(&settings->report->refs, 1, __ATOMIC_RELAXED);
    return settings->report;
}

void aw_solver_report_drop(struct aw_solver_report *report)
{
    if (report && __atomic_sub_fetch(&report->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(report);
}

void aw_solver_report_put(struct aw_solver_report *report, double residual)
{
    __atomic_store(&report->residual, &residual, __ATOMIC_RELEASE);
}

/* Frobenius norm of `n` numbers. */
static double norm(char t, const void *at, int64_t n)
{
    double sum = 0;
    int64_t reals = aw_solver_complex(t) ? 2 * n : n;
    for (int64_t i = 0; i < reals; i++) {
        double v = aw_solver_real_of(aw_solver_real_size(t) == 4 ? 's' : 'd', at, i);
        sum += v * v;
    }
    return sqrt(sum);
}

double aw_solver_residual(const struct aw_solver_call *c, void *r, int m, int n, int k, const void *x, int ldx, const void *d,
                          const void *y, int ldy, bool adjoint)
{
    const float one_f[2] = { 1 }, minus_f[2] = { -1 };
    const double one_d[2] = { 1 }, minus_d[2] = { -1 };
    bool narrow = aw_solver_real_size(c->t) == 4;
    int parts = aw_solver_complex(c->t) ? 2 : 1, ld = m > 1 ? m : 1;
    void *scaled = aw_solver_work(c, (int64_t)m * k, aw_lapack_size(c->t));
    aw_fortran gemm = aw_lapack(c->t, "gemm");
    if (!scaled || !gemm) {
        free(scaled);
        return NAN;
    }
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < (int64_t)m * parts; i++)
            if (narrow)
                ((float *)scaled)[j * m * parts + i] = ((const float *)x)[j * ldx * parts + i] * ((const float *)d)[j];
            else
                ((double *)scaled)[j * m * parts + i] = ((const double *)x)[j * ldx * parts + i] * ((const double *)d)[j];
    gemm("N", adjoint ? "C" : "N", &m, &n, &k, narrow ? (const void *)minus_f : minus_d, scaled, &ld, y, &ldy,
         narrow ? (const void *)one_f : one_d, r, &ld, AW_ENDS);
    free(scaled);
    return norm(c->t, r, (int64_t)m * n);
}

/* ---- Parameters */

static cusolverStatus_t create(void *ret_info, size_t size)
{
    struct aw_solver_jacobi *j = calloc(1, size);
    struct aw_solver_report *report = calloc(1, sizeof *report);
    if (!j || !report) {
        free(j), free(report);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *report = (struct aw_solver_report){ .refs = 1, .residual = NAN };
    *j = (struct aw_solver_jacobi){ .max_sweeps = 100, .sort = 1, .report = report };
    *(void **)ret_info = j;
    return CUSOLVER_STATUS_SUCCESS;
}

/* Once the handle's stream has come so far. */
static cusolverStatus_t residual_get(cusolverDnHandle_t handle, const struct aw_solver_jacobi *j, double *ret_residual)
{
    cusolverStatus_t status = aw_solver_handle_check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS && (!j || !ret_residual))
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS && cuStreamSynchronize(handle->queue.stream) != CUDA_SUCCESS)
        status = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    double residual;
    __atomic_load(&j->report->residual, &residual, __ATOMIC_ACQUIRE);
    if (isnan(residual)) {
        aw_say(SOLVER_RESIDUAL);
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    }
    *ret_residual = residual;
    return CUSOLVER_STATUS_SUCCESS;
}

#define SETTING(kind, Name, T, field)                                                       \
    cusolverStatus_t awcusolver_cusolverDnX##kind##Set##Name(kind##Info_t info, T value)    \
    {                                                                                       \
        if (!info)                                                                          \
            return INVALID;                                                                 \
        info->settings.field = value;                                                       \
        return CUSOLVER_STATUS_SUCCESS;                                                     \
    }

#define JACOBI(kind, Kind)                                                                                                \
    cusolverStatus_t awcusolver_cusolverDnCreate##Kind##Info(kind##Info_t *info)                                          \
    {                                                                                                                     \
        return info ? create(info, sizeof **info) : INVALID;                                                              \
    }                                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDnDestroy##Kind##Info(kind##Info_t info)                                          \
    {                                                                                                                     \
        if (info)                                                                                                         \
            aw_solver_report_drop(info->settings.report);                                                                 \
        free(info);                                                                                                       \
        return CUSOLVER_STATUS_SUCCESS;                                                                                   \
    }                                                                                                                     \
    SETTING(kind, Tolerance, double, tolerance)                                                                           \
    SETTING(kind, MaxSweeps, int, max_sweeps)                                                                             \
    SETTING(kind, SortEig, int, sort)                                                                                     \
    cusolverStatus_t awcusolver_cusolverDnX##kind##GetSweeps(cusolverDnHandle_t handle, kind##Info_t info, int *sweeps)   \
    {                                                                                                                     \
        cusolverStatus_t status = aw_solver_handle_check(handle);                                                         \
        if (status == CUSOLVER_STATUS_SUCCESS && (!info || !sweeps))                                                      \
            status = INVALID;                                                                                             \
        if (status == CUSOLVER_STATUS_SUCCESS)                                                                            \
            *sweeps = 0;                                                                                                  \
        return status;                                                                                                    \
    }                                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDnX##kind##GetResidual(cusolverDnHandle_t handle, kind##Info_t info, double *ret) \
    {                                                                                                                     \
        return residual_get(handle, info ? &info->settings : NULL, ret);                                                  \
    }
JACOBI(syevj, Syevj)
JACOBI(gesvdj, Gesvdj)
