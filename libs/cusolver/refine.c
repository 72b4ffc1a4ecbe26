/* Systems that cuSOLVER solves in a lower precision and refines: solved in the higher one at once, without iterations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"
#include "refine.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };
/* Matrices A, B and X, pivots, info; m n nrhs lda ldb ldx, and whether it is a system. */
enum { A, B, X, PIVOTS, INFO };

static void copy_columns(char *to, int64_t ldt, const char *from, int64_t ldf, int64_t rows, int64_t cols, size_t size)
{
    for (int64_t j = 0; j < cols; j++)
        memcpy(to + (size_t)(j * ldt) * size, from + (size_t)(j * ldf) * size, (size_t)rows * size);
}

static void run(struct aw_solver_call *c)
{
    size_t size = aw_lapack_size(c->t);
    int m = (int)c->n[0], n = (int)c->n[1], nrhs = (int)c->n[2], ld = m > 1 ? m : 1, info = AW_SOLVER_NO_MEMORY;
    char *a = aw_solver_work(c, (int64_t)m * n, size), *b = aw_solver_work(c, (int64_t)m * nrhs, size), trans = 'N';
    int *pivots = c->a[PIVOTS] ? c->a[PIVOTS] : aw_solver_work(c, n, sizeof *pivots);
    if (a && b && pivots) {
        info = 0;
        copy_columns(a, m, c->a[A], c->n[3], m, n, size);
        copy_columns(b, m, c->a[B], c->n[4], m, nrhs, size);
        if (c->n[6])
            aw_lapack(c->t, "gesv")(&n, &nrhs, a, &ld, pivots, b, &ld, &info, AW_ENDS);
        else
            AW_WITH_WORK(c, aw_lapack(c->t, "gels"), info, &trans, &m, &n, &nrhs, a, &ld, b, &ld);
    }
    if (info == 0)
        copy_columns(c->a[X], c->n[5], b, m, n, nrhs, size);
    free(a);
    free(b);
    if (!c->a[PIVOTS])
        free(pivots);
    *(int *)c->a[INFO] = info;
}

static bool valid(int64_t m, int64_t n, int64_t nrhs, int64_t lda, int64_t ldb, int64_t ldx)
{
    return n >= 0 && m >= n && nrhs >= 0 && aw_solver_ld(lda, m) && aw_solver_ld(ldb, m) && aw_solver_ld(ldx, n);
}

cusolverStatus_t aw_solver_refine(cusolverDnHandle_t h, const struct aw_refine *r)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!valid(r->m, r->n, r->nrhs, r->lda, r->ldb, r->ldx) || (r->n && (!r->a || (r->nrhs && (!r->b || !r->x)))) ||
        !r->iterations || !r->info)
        return INVALID;
    status = aw_solver_begin(&c, r->name, r->t, r->square ? "gesv" : "gels", run);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    const int64_t numbers[] = { r->m, r->n, r->nrhs, r->lda, r->ldb, r->ldx, r->square };
    memcpy(c.n, numbers, sizeof numbers);
    aw_solver_matrix(&c, A, r->a, r->m, r->n, r->lda, 0, IN);
    aw_solver_matrix(&c, B, r->b, r->m, r->nrhs, r->ldb, 0, IN);
    aw_solver_matrix(&c, X, r->x, r->n, r->nrhs, r->ldx, 0, r->n && r->nrhs ? AW_SOLVER_IN_OUT : OUT);
    if (r->pivots)
        aw_solver_array(&c, PIVOTS, r->pivots, r->n, sizeof *r->pivots, 0, OUT);
    aw_solver_array(&c, INFO, r->info, 1, sizeof *r->info, 0, OUT);
    status = aw_solver_submit(&c, h, false);
    if (status == CUSOLVER_STATUS_SUCCESS)
        *r->iterations = 0;
    return status;
}

/* The functions of two types: a system needs an array of pivots. */
static cusolverStatus_t solve(cusolverDnHandle_t h, const char *name, char t, bool square, int m, int n, int nrhs, const void *a,
                              int lda, int *pivots, const void *b, int ldb, void *x, int ldx, int *iterations, int *info)
{
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status == CUSOLVER_STATUS_SUCCESS && square && n && !pivots)
        status = INVALID;
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    const struct aw_refine r = { name, t, square, m, n, nrhs, a, b, x, lda, ldb, ldx, pivots, iterations, info };
    return aw_solver_refine(h, &r);
}

static cusolverStatus_t room(cusolverDnHandle_t h, bool good, size_t *size)
{
    int lwork = 0;
    cusolverStatus_t status = aw_solver_lwork(h, good && size, &lwork);
    if (status == CUSOLVER_STATUS_SUCCESS)
        *size = (size_t)lwork;
    return status;
}

#define REFINED(L, t, T)                                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##gesv(cusolverDnHandle_t h, int n, int nrhs, T *a, int lda, int *pivots, T *b,     \
                                                    int ldb, T *x, int ldx, void *work, size_t size, int *iterations, int *info) \
    {                                                                                                                            \
        return solve(h, "cusolverDn" #L "gesv", t, true, n, n, nrhs, a, lda, pivots, b, ldb, x, ldx, iterations, info);          \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesv_bufferSize(cusolverDnHandle_t h, int n, int nrhs, T *a, int lda,             \
                                                               int *pivots, T *b, int ldb, T *x, int ldx, void *work,            \
                                                               size_t *size)                                                     \
    {                                                                                                                            \
        return room(h, valid(n, n, nrhs, lda, ldb, ldx), size);                                                                  \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gels(cusolverDnHandle_t h, int m, int n, int nrhs, T *a, int lda, T *b, int ldb,  \
                                                    T *x, int ldx, void *work, size_t size, int *iterations, int *info)          \
    {                                                                                                                            \
        return solve(h, "cusolverDn" #L "gels", t, false, m, n, nrhs, a, lda, NULL, b, ldb, x, ldx, iterations, info);           \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gels_bufferSize(cusolverDnHandle_t h, int m, int n, int nrhs, T *a, int lda,      \
                                                               T *b, int ldb, T *x, int ldx, void *work, size_t *size)           \
    {                                                                                                                            \
        return room(h, valid(m, n, nrhs, lda, ldb, ldx), size);                                                                  \
    }

/* The second letter is the lower precision. */
REFINED(SS, 's', float)
REFINED(SH, 's', float)
REFINED(SB, 's', float)
REFINED(SX, 's', float)
REFINED(DD, 'd', double)
REFINED(DS, 'd', double)
REFINED(DH, 'd', double)
REFINED(DB, 'd', double)
REFINED(DX, 'd', double)
REFINED(CC, 'c', cuComplex)
REFINED(CK, 'c', cuComplex)
REFINED(CE, 'c', cuComplex)
REFINED(CY, 'c', cuComplex)
REFINED(ZZ, 'z', cuDoubleComplex)
REFINED(ZC, 'z', cuDoubleComplex)
REFINED(ZK, 'z', cuDoubleComplex)
REFINED(ZE, 'z', cuDoubleComplex)
REFINED(ZY, 'z', cuDoubleComplex)
