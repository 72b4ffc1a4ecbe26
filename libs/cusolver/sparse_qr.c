/* QR of sparse matrices kept between calls, and of many with one pattern.  The pattern and the values are copied when they are
 * given: analysis and setup wait for the stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cusolver_proto.h"
#include "sparse.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { MAGIC = 0x72717263 };
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };

struct csrqrInfo {
    uint32_t magic;
    bool on_host;
    char t;         /* of the values that were set; 0: none */
    int m, n, nnz;  /* of the pattern; m < 0: none */
    int *ptr, *ind; /* from 0 on */
    struct cs *a;   /* with the values, by columns */
    struct aw_cx_symbolic *s;
    struct aw_cx_numeric *factors;
};
/* The host's functions have a type of their own for the same. */
struct csrqrInfoHost {
    struct csrqrInfo info;
};

static void factors_drop(struct csrqrInfo *info)
{
    const struct aw_cx *f = info->t ? aw_cx_open(aw_cx_own(info->t)) : NULL;
    if (!f)
        return;
    f->nfree(info->factors);
    f->sfree(info->s);
    f->spfree(info->a);
    info->factors = NULL;
    info->s = NULL;
    info->a = NULL;
    info->t = 0;
}

static cusolverStatus_t create(struct csrqrInfo *info, bool on_host)
{
    if (!info)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *info = (struct csrqrInfo){ .magic = MAGIC, .on_host = on_host, .m = -1 };
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t destroy(struct csrqrInfo *info)
{
    if (!info || info->magic != MAGIC)
        return INVALID;
    factors_drop(info);
    free(info->ptr);
    free(info->ind);
    info->magic = 0;
    free(info);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverSpCreateCsrqrInfo(csrqrInfo_t *info)
{
    return info ? create(*info = malloc(sizeof **info), false) : INVALID;
}

cusolverStatus_t awcusolver_cusolverSpDestroyCsrqrInfo(csrqrInfo_t info)
{
    return destroy(info);
}

cusolverStatus_t awcusolver_cusolverSpCreateCsrqrInfoHost(csrqrInfoHost_t *info)
{
    return info ? create((struct csrqrInfo *)(*info = malloc(sizeof **info)), true) : INVALID;
}

cusolverStatus_t awcusolver_cusolverSpDestroyCsrqrInfoHost(csrqrInfoHost_t info)
{
    return destroy((struct csrqrInfo *)info);
}

/* ---- The pattern. */

/* Reads what the program has on the device, or on the host. */
static cusolverStatus_t fetch(cusolverSpHandle_t handle, const struct csrqrInfo *info, void *ret_to, const void *from,
                              size_t size)
{
    if (info->on_host || !size) {
        memcpy(ret_to, from ? from : ret_to, size);
        return CUSOLVER_STATUS_SUCCESS;
    }
    return aw_solver_status(aw_lib_read(&handle->dn.queue, ret_to, from, size));
}

static bool pattern_good(const int *ptr, const int *ind, int m, int n, int nnz)
{
    if (ptr[0] != 0 || ptr[m] != nnz)
        return false;
    for (int i = 0; i < m; i++)
        if (ptr[i] > ptr[i + 1] || ptr[i + 1] > nnz)
            return false;
    for (int k = 0; k < nnz; k++)
        if (ind[k] < 0 || ind[k] >= n)
            return false;
    return true;
}

static cusolverStatus_t analyse(cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr, const int *ptr,
                                const int *ind, struct csrqrInfo *info)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!info || info->magic != MAGIC || m < n)
        return INVALID;
    status = aw_solver_sparse_valid('d', m, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    int *p = malloc(((size_t)m + 1) * sizeof *p), *i = malloc(((size_t)nnz + 1) * sizeof *i);
    if (!p || !i) {
        status = CUSOLVER_STATUS_ALLOC_FAILED;
        goto done;
    }
    status = fetch(handle, info, p, ptr, ((size_t)m + 1) * sizeof *p);
    if (status == CUSOLVER_STATUS_SUCCESS)
        status = fetch(handle, info, i, ind, (size_t)nnz * sizeof *i);
    if (status != CUSOLVER_STATUS_SUCCESS)
        goto done;
    for (int k = 0; k <= m; k++)
        p[k] -= (int)descr->base;
    for (int k = 0; k < nnz; k++)
        i[k] -= (int)descr->base;
    status = pattern_good(p, i, m, n, nnz) ? CUSOLVER_STATUS_SUCCESS : INVALID;
    if (status != CUSOLVER_STATUS_SUCCESS)
        goto done;
    factors_drop(info);
    free(info->ptr);
    free(info->ind);
    info->m = m, info->n = n, info->nnz = nnz, info->ptr = p, info->ind = i;
    return CUSOLVER_STATUS_SUCCESS;
done:
    free(p);
    free(i);
    return status;
}

cusolverStatus_t awcusolver_cusolverSpXcsrqrAnalysis(cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr,
                                                     const int *ptr, const int *ind, csrqrInfo_t info)
{
    return analyse(handle, m, n, nnz, descr, ptr, ind, info);
}

cusolverStatus_t awcusolver_cusolverSpXcsrqrAnalysisHost(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                         cusparseMatDescr_t descr, const int *ptr, const int *ind,
                                                         csrqrInfoHost_t info)
{
    return analyse(handle, m, n, nnz, descr, ptr, ind, (struct csrqrInfo *)info);
}

/* An analysed matrix of this size? */
static cusolverStatus_t known(cusolverSpHandle_t handle, const struct csrqrInfo *info, int m, int n, int nnz)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    return info && info->magic == MAGIC && info->m >= 0 && info->m == m && info->n == n && (nnz < 0 || info->nnz == nnz)
               ? CUSOLVER_STATUS_SUCCESS
               : INVALID;
}

/* No room of the program's is used, but it asks for it. */
static cusolverStatus_t room(cusolverSpHandle_t handle, const struct csrqrInfo *info, int m, int n, int nnz, bool good,
                             size_t *internal, size_t *workspace)
{
    cusolverStatus_t status = known(handle, info, m, n, nnz);
    if (status == CUSOLVER_STATUS_SUCCESS && (!good || !internal || !workspace))
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *internal = *workspace = 256;
    return status;
}

/* ---- One matrix, in steps. */

/* A - shift I by columns, of the analysed pattern; NULL: memory is out. */
static struct cs *matrix(const struct csrqrInfo *info, char t, const void *val, double _Complex shift)
{
    char own = aw_cx_own(t);
    const struct aw_cx *f = aw_cx_open(own);
    int m = info->m, n = info->n, nnz = info->nnz, k = 0;
    size_t most = (size_t)nnz + (size_t)n + 1;
    struct cs rows = {
        nnz + n, n, m, malloc(((size_t)m + 1) * sizeof(int)), malloc(most * sizeof(int)), malloc(most * aw_lapack_size(own)), -1
    };
    struct cs *a = NULL;
    if (rows.p && rows.i && rows.x) {
        for (int i = 0; i < m; i++) {
            rows.p[i] = k;
            for (int at = info->ptr[i]; at < info->ptr[i + 1]; at++, k++) {
                rows.i[k] = info->ind[at];
                aw_cx_put(own, rows.x, k, aw_solver_value(t, val, at));
            }
            if (i < n && shift != 0) {
                rows.i[k] = i;
                aw_cx_put(own, rows.x, k++, -shift);
            }
        }
        rows.p[m] = k;
        if (f->dupl(&rows))
            a = f->transpose(&rows, -1);
    }
    aw_cx_drop(&rows);
    return a;
}

static cusolverStatus_t setup(cusolverSpHandle_t handle, char t, int m, int n, int nnz, const void *val, double _Complex shift,
                              struct csrqrInfo *info)
{
    cusolverStatus_t status = known(handle, info, m, n, nnz);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (nnz && !val)
        return INVALID;
    void *values = malloc(((size_t)nnz + 1) * aw_lapack_size(t));
    if (!values)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    status = fetch(handle, info, values, val, (size_t)nnz * aw_lapack_size(t));
    if (status == CUSOLVER_STATUS_SUCCESS) {
        factors_drop(info);
        info->a = matrix(info, t, values, shift);
        info->t = info->a ? t : 0;
        status = info->a ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    }
    free(values);
    return status;
}

static cusolverStatus_t factor(struct csrqrInfo *info)
{
    const struct aw_cx *f = aw_cx_open(aw_cx_own(info->t));
    f->nfree(info->factors);
    f->sfree(info->s);
    info->s = f->sqr(3, info->a, 1);
    info->factors = info->s ? f->qr(info->a, info->s) : NULL;
    return info->factors ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

/* The call that solves: right-hand side and solution; m, n. */
enum { RHS, X };
struct apply_call {
    struct aw_solver_call c;
    const struct csrqrInfo *info; /* borrowed: the call waits */
};

static void apply(struct aw_solver_call *c)
{
    const struct csrqrInfo *info = ((struct apply_call *)c)->info;
    char own = aw_cx_own(c->t);
    void *b = aw_cx_values(c->t, c->a[RHS], info->m, false);
    if (!b || !aw_cx_qr_apply(aw_cx_open(own), info->s, info->factors, own, info->m, info->n, b)) {
        aw_say(SOLVER_SPARSE_MEMORY, c->name);
        c->job.status = CUSOLVER_STATUS_ALLOC_FAILED;
    }
    for (int i = 0; i < info->n; i++)
        aw_cx_put(c->t, c->a[X], i, c->job.status ? CMPLX(NAN, NAN) : aw_solver_value(own, b, i));
    free(b);
}

static cusolverStatus_t solve(cusolverSpHandle_t handle, const char *name, char t, int m, int n, const void *b, void *x,
                              const struct csrqrInfo *info)
{
    struct apply_call a;
    size_t size = aw_lapack_size(t);
    cusolverStatus_t status = known(handle, info, m, n, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || !info->factors || (m && !b) || (n && !x))
        return INVALID;
    aw_solver_begin(&a.c, name, t, NULL, apply);
    a.c.job.size = sizeof a;
    a.info = info;
    if (info->on_host) {
        a.c.a[RHS] = (void *)b;
        a.c.a[X] = x;
        apply(&a.c);
        return (cusolverStatus_t)a.c.job.status;
    }
    aw_solver_array(&a.c, RHS, b, m, size, 0, IN);
    aw_solver_array(&a.c, X, x, n, size, 0, OUT);
    return aw_solver_submit(&a.c, &handle->dn, true);
}

/* With a right-hand side it solves, too. */
static cusolverStatus_t factor_call(cusolverSpHandle_t handle, const char *name, char t, int m, int n, int nnz, const void *b,
                                    void *x, struct csrqrInfo *info)
{
    cusolverStatus_t status = known(handle, info, m, n, nnz);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || !b != !x)
        return INVALID;
    status = factor(info);
    return status != CUSOLVER_STATUS_SUCCESS || !b ? status : solve(handle, name, t, m, n, b, x, info);
}

static cusolverStatus_t zero_pivot(cusolverSpHandle_t handle, char t, const struct csrqrInfo *info, double tolerance, int *at)
{
    cusolverStatus_t status = known(handle, info, info ? info->m : 0, info ? info->n : 0, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || !info->factors || !at)
        return INVALID;
    *at = aw_cx_singular(info->factors, aw_cx_own(t), info->n, tolerance > 0 ? tolerance : 0);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Many matrices of one pattern: values 0, right-hand sides 1, solutions 2; the pattern is the call's own. */

enum { VALUES, RIGHTS, SOLUTIONS };

static void many(struct aw_solver_call *c)
{
    const struct csrqrInfo *info = ((struct apply_call *)c)->info;
    char own = aw_cx_own(c->t);
    const struct aw_cx *f = aw_cx_open(own);
    for (int64_t k = 0; k < c->n[0]; k++) {
        struct cs *a = matrix(info, c->t, aw_solver_at(c, c->a[VALUES], k * info->nnz), 0);
        void *b = aw_cx_values(c->t, aw_solver_at(c, c->a[RIGHTS], k * info->m), info->m, false);
        int at = a && b ? aw_cx_qr_solve(f, a, own, 1, 0, b) : -2;
        if (at == -2) {
            aw_say(SOLVER_SPARSE_MEMORY, c->name);
            c->job.status = CUSOLVER_STATUS_ALLOC_FAILED;
        }
        for (int i = 0; i < info->n; i++)
            aw_cx_put(c->t, aw_solver_at(c, c->a[SOLUTIONS], k * info->n), i,
                      at == -1 ? aw_solver_value(own, b, i) : CMPLX(NAN, NAN));
        f->spfree(a);
        free(b);
    }
}

static cusolverStatus_t batch(cusolverSpHandle_t handle, const char *name, char t, int m, int n, int nnz, const void *val,
                              const void *b, void *x, int count, const struct csrqrInfo *info)
{
    struct apply_call a;
    size_t size = aw_lapack_size(t);
    cusolverStatus_t status = known(handle, info, m, n, nnz);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (count < 0 || (count && ((nnz && !val) || (m && !b) || (n && !x))))
        return INVALID;
    aw_solver_begin(&a.c, name, t, NULL, many);
    a.c.job.size = sizeof a;
    a.c.n[0] = count;
    a.info = info;
    aw_solver_array(&a.c, VALUES, val, (int64_t)nnz * count, size, 0, IN);
    aw_solver_array(&a.c, RIGHTS, b, (int64_t)m * count, size, 0, IN);
    aw_solver_array(&a.c, SOLUTIONS, x, (int64_t)n * count, size, 0, OUT);
    return aw_solver_submit(&a.c, &handle->dn, true);
}

cusolverStatus_t awcusolver_cusolverSpXcsrqrAnalysisBatched(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                            cusparseMatDescr_t descr, const int *ptr, const int *ind,
                                                            csrqrInfo_t info)
{
    return analyse(handle, m, n, nnz, descr, ptr, ind, info);
}

/* ---- The functions for each type. */

#define STEPS(L, t, T, R, H, info_t)                                                                                           \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrBufferInfo##H(                                                             \
        cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr,              \
        const int *ind, info_t info, size_t *internal, size_t *workspace)                                                      \
    {                                                                                                                          \
        return room(handle, (struct csrqrInfo *)info, m, n, nnz, descr && ptr && (ind || !nnz), internal, workspace);          \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrSetup##H(cusolverSpHandle_t handle, int m, int n, int nnz,                 \
                                                             cusparseMatDescr_t descr, const T *val, const int *ptr,           \
                                                             const int *ind, T mu, info_t info)                                \
    {                                                                                                                          \
        return setup(handle, t, m, n, nnz, val, aw_solver_value(t, &mu, 0), (struct csrqrInfo *)info);                         \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrFactor##H(cusolverSpHandle_t handle, int m, int n, int nnz, T *b, T *x,    \
                                                              info_t info, void *buffer)                                       \
    {                                                                                                                          \
        return factor_call(handle, "cusolverSp" #L "csrqrFactor" #H, t, m, n, nnz, b, x, (struct csrqrInfo *)info);            \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrZeroPivot##H(cusolverSpHandle_t handle, info_t info, R tolerance, int *at) \
    {                                                                                                                          \
        return zero_pivot(handle, t, (struct csrqrInfo *)info, tolerance, at);                                                 \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrSolve##H(cusolverSpHandle_t handle, int m, int n, T *b, T *x, info_t info, \
                                                             void *buffer)                                                     \
    {                                                                                                                          \
        return solve(handle, "cusolverSp" #L "csrqrSolve" #H, t, m, n, b, x, (struct csrqrInfo *)info);                        \
    }
#define BATCHED(L, t, T)                                                                                          \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrBufferInfoBatched(                                            \
        cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, \
        const int *ind, int count, csrqrInfo_t info, size_t *internal, size_t *workspace)                         \
    {                                                                                                             \
        return room(handle, info, m, n, nnz, count >= 0 && descr && ptr && (ind || !nnz), internal, workspace);   \
    }                                                                                                             \
    cusolverStatus_t awcusolver_cusolverSp##L##csrqrsvBatched(                                                    \
        cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, \
        const int *ind, const T *b, T *x, int count, csrqrInfo_t info, void *buffer)                              \
    {                                                                                                             \
        return batch(handle, "cusolverSp" #L "csrqrsvBatched", t, m, n, nnz, val, b, x, count, info);             \
    }
#define ALL(L, t, T, R)                      \
    STEPS(L, t, T, R, , csrqrInfo_t)         \
    STEPS(L, t, T, R, Host, csrqrInfoHost_t) \
    BATCHED(L, t, T)
AW_FOUR(ALL)
