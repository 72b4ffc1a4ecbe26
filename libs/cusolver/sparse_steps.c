/* LU and Cholesky of sparse matrices in steps: analysed, factored, solved with.  As with QR (sparse_qr.c) what the program has on
 * the device is copied when it is given, and its workspace is not used. */
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
enum { MAGIC = 0x70747363 };
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };
enum { LU, CHOLESKY };

struct csrluInfoHost {
    uint32_t magic;
    bool on_host;
    int method;
    int n, nnz; /* as analysed; n < 0: not yet */
    char t;     /* of the factors; 0: none */
    int bad;    /* the column where they failed, or -1 */
    struct aw_cx_symbolic *s;
    struct aw_cx_numeric *factors;
};
/* The same by other names. */
struct csrcholInfo {
    struct csrluInfoHost info;
};
struct csrcholInfoHost {
    struct csrluInfoHost info;
};

static void factors_drop(struct csrluInfoHost *info)
{
    const struct aw_cx *f = info->t ? aw_cx_open(aw_cx_own(info->t)) : NULL;
    if (!f)
        return;
    f->nfree(info->factors);
    f->sfree(info->s);
    info->factors = NULL;
    info->s = NULL;
    info->t = 0;
}

static cusolverStatus_t create(struct csrluInfoHost *info, int method, bool on_host)
{
    if (!info)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *info = (struct csrluInfoHost){ .magic = MAGIC, .on_host = on_host, .method = method, .n = -1 };
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t destroy(struct csrluInfoHost *info)
{
    if (!info || info->magic != MAGIC)
        return INVALID;
    factors_drop(info);
    info->magic = 0;
    free(info);
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t known(cusolverSpHandle_t handle, const struct csrluInfoHost *info, int n)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    return info && info->magic == MAGIC && info->n >= 0 && (n < 0 || info->n == n) ? CUSOLVER_STATUS_SUCCESS : INVALID;
}

/* What fills in is found with the values; here it is told how large the matrix is. */
static cusolverStatus_t analyse(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr, const int *ptr,
                                const int *ind, struct csrluInfoHost *info)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!info || info->magic != MAGIC)
        return INVALID;
    status = aw_solver_sparse_valid('d', n, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    factors_drop(info);
    info->n = n;
    info->nnz = nnz;
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t room(cusolverSpHandle_t handle, const struct csrluInfoHost *info, int n, size_t *internal,
                             size_t *workspace)
{
    cusolverStatus_t status = known(handle, info, n);
    if (status == CUSOLVER_STATUS_SUCCESS && (!internal || !workspace))
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *internal = *workspace = 256;
    return status;
}

/* ---- Factoring: values 0, offsets 1, columns 2; n, elements, base. */

enum { VAL, PTR, IND };
struct steps_call {
    struct aw_solver_call c;
    struct csrluInfoHost *info; /* borrowed: the call waits */
    double threshold;           /* a diagonal element that is so much of the largest is a pivot */
};

static bool pattern_good(const struct cs *rows, int n, int nnz)
{
    if (rows->p[0] != 0 || rows->p[n] != nnz)
        return false;
    for (int i = 0; i < n; i++)
        if (rows->p[i] > rows->p[i + 1] || rows->p[i + 1] > nnz)
            return false;
    for (int k = 0; k < nnz; k++)
        if (rows->i[k] < 0 || rows->i[k] >= n)
            return false;
    return true;
}

/* Of rows read as columns Cholesky's factor is that of the transpose, whose upper triangle is the lower one. */
static void factor_rows(struct steps_call *s, const struct aw_cx *f, struct cs *rows)
{
    struct csrluInfoHost *info = s->info;
    if (info->method == CHOLESKY) {
        info->s = f->schol(1, rows);
        info->factors = info->s ? f->chol(rows, info->s) : NULL;
    } else {
        struct cs *a = f->transpose(rows, -1);
        info->s = a ? f->sqr(2, a, 0) : NULL;
        info->factors = info->s ? f->lu(a, info->s, s->threshold) : NULL;
        f->spfree(a);
    }
    info->bad = info->factors ? -1 : 0; /* it is not told where */
}

static void factor_run(struct aw_solver_call *c)
{
    struct steps_call *s = (struct steps_call *)c;
    int n = (int)c->n[0], nnz = (int)c->n[1], base = (int)c->n[2];
    const struct aw_cx *f = aw_cx_open(aw_cx_own(c->t));
    struct cs rows = { nnz,
                       n,
                       n,
                       aw_cx_indices(c->a[PTR], n + 1, base),
                       aw_cx_indices(c->a[IND], nnz, base),
                       aw_cx_values(c->t, c->a[VAL], nnz, false),
                       -1 };
    c->job.status = CUSOLVER_STATUS_ALLOC_FAILED;
    if (rows.p && rows.i && rows.x && !pattern_good(&rows, n, nnz))
        c->job.status = INVALID;
    else if (rows.p && rows.i && rows.x && f->dupl(&rows)) {
        factors_drop(s->info);
        s->info->t = c->t;
        factor_rows(s, f, &rows);
        c->job.status = s->info->s ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    }
    aw_cx_drop(&rows);
}

static cusolverStatus_t factor(cusolverSpHandle_t handle, const char *name, char t, int n, int nnz, cusparseMatDescr_t descr,
                               const void *val, const int *ptr, const int *ind, struct csrluInfoHost *info, double threshold)
{
    struct steps_call s;
    cusolverStatus_t status = known(handle, info, n);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (nnz != info->nnz || (nnz && !val))
        return INVALID;
    status = aw_solver_sparse_valid(t, n, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    aw_solver_begin(&s.c, name, t, NULL, factor_run);
    s.c.job.size = sizeof s;
    s.info = info;
    s.threshold = threshold > 0 && threshold < 1 ? threshold : 1;
    s.c.n[0] = n, s.c.n[1] = nnz, s.c.n[2] = descr->base;
    if (info->on_host) {
        s.c.a[VAL] = (void *)val, s.c.a[PTR] = (void *)ptr, s.c.a[IND] = (void *)ind;
        factor_run(&s.c);
        return (cusolverStatus_t)s.c.job.status;
    }
    aw_solver_array(&s.c, VAL, val, nnz, aw_lapack_size(t), 0, IN);
    aw_solver_array(&s.c, PTR, ptr, (int64_t)n + 1, sizeof *ptr, 0, IN);
    aw_solver_array(&s.c, IND, ind, nnz, sizeof *ind, 0, IN);
    return aw_solver_submit(&s.c, &handle->dn, true);
}

static cusolverStatus_t zero_pivot(cusolverSpHandle_t handle, char t, const struct csrluInfoHost *info, double tolerance, int *at)
{
    cusolverStatus_t status = known(handle, info, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || !at)
        return INVALID;
    *at = info->bad;
    if (info->bad < 0 && info->method == LU)
        *at = aw_cx_singular(info->factors, aw_cx_own(t), info->n, tolerance > 0 ? tolerance : 0);
    for (int k = 0; info->method == CHOLESKY && *at < 0 && k < info->n; k++) /* a column's first element is the diagonal */
        if (!(cabs(aw_solver_value(aw_cx_own(t), info->factors->l->x, info->factors->l->p[k])) > tolerance))
            *at = k;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Solving: right-hand side 0, solution 1. */

enum { RHS, X };

/* Factors of rows read as columns are those of the conjugate, where that is not the same: so is the system. */
static bool apply(const struct aw_cx *f, const struct csrluInfoHost *info, char own, void *b)
{
    int n = info->n;
    void *x = calloc((size_t)n + 1, aw_lapack_size(own));
    if (!x)
        return false;
    f->ipvec(info->method == LU ? info->factors->pinv : info->s->pinv, b, x, n);
    f->lsolve(info->factors->l, x);
    if (info->method == LU) {
        f->usolve(info->factors->u, x);
        f->ipvec(info->s->q, x, b, n);
    } else {
        f->ltsolve(info->factors->l, x);
        f->pvec(info->s->pinv, x, b, n);
    }
    free(x);
    return true;
}

static void solve_run(struct aw_solver_call *c)
{
    const struct csrluInfoHost *info = ((struct steps_call *)c)->info;
    char own = aw_cx_own(c->t);
    bool conjugate = own == 'z' && info->method == CHOLESKY;
    void *b = aw_cx_values(c->t, c->a[RHS], info->n, conjugate);
    if (!b || !apply(aw_cx_open(own), info, own, b)) {
        aw_say(SOLVER_SPARSE_MEMORY, c->name);
        c->job.status = CUSOLVER_STATUS_ALLOC_FAILED;
    }
    for (int i = 0; i < info->n; i++)
        aw_cx_put(c->t, c->a[X], i,
                  c->job.status ? CMPLX(NAN, NAN)
                  : conjugate   ? conj(aw_solver_value(own, b, i))
                                : aw_solver_value(own, b, i));
    free(b);
}

static cusolverStatus_t solve(cusolverSpHandle_t handle, const char *name, char t, int n, const void *b, void *x,
                              struct csrluInfoHost *info)
{
    struct steps_call s;
    cusolverStatus_t status = known(handle, info, n);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || (n && (!b || !x)))
        return INVALID;
    if (!info->factors)
        return CUSOLVER_STATUS_INTERNAL_ERROR;
    aw_solver_begin(&s.c, name, t, NULL, solve_run);
    s.c.job.size = sizeof s;
    s.info = info;
    if (info->on_host) {
        s.c.a[RHS] = (void *)b, s.c.a[X] = x;
        solve_run(&s.c);
        return (cusolverStatus_t)s.c.job.status;
    }
    aw_solver_array(&s.c, RHS, b, n, aw_lapack_size(t), 0, IN);
    aw_solver_array(&s.c, X, x, n, aw_lapack_size(t), 0, OUT);
    return aw_solver_submit(&s.c, &handle->dn, true);
}

/* ---- LU's parts: P A Q^T = L U, L without its ones. */

static int elements(const struct cs *a)
{
    return a->p[a->n];
}

cusolverStatus_t awcusolver_cusolverSpXcsrluNnzHost(cusolverSpHandle_t handle, int *nnz_l, int *nnz_u, csrluInfoHost_t info)
{
    cusolverStatus_t status = known(handle, info, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!info->t || !info->factors || !nnz_l || !nnz_u)
        return INVALID;
    *nnz_l = elements(info->factors->l) - info->n;
    *nnz_u = elements(info->factors->u);
    return CUSOLVER_STATUS_SUCCESS;
}

/* A factor by rows, columns ascending; false: memory is out. */
static bool by_rows(const struct aw_cx *f, char t, const struct cs *a, bool ones, int base, void *val, int *ptr, int *ind)
{
    char own = aw_cx_own(t);
    struct cs *rows = f->transpose(a, -1);
    int k = 0;
    if (!rows)
        return false;
    for (int i = 0; i < a->n; i++) {
        ptr[i] = k + base;
        for (int at = rows->p[i]; at < rows->p[i + 1]; at++)
            if (ones || rows->i[at] != i) {
                aw_cx_put(t, val, k, aw_solver_value(own, rows->x, at));
                ind[k++] = rows->i[at] + base;
            }
    }
    ptr[a->n] = k + base;
    f->spfree(rows);
    return true;
}

static cusolverStatus_t extract(cusolverSpHandle_t handle, char t, int *p, int *q, cusparseMatDescr_t descr_l, void *val_l,
                                int *ptr_l, int *ind_l, cusparseMatDescr_t descr_u, void *val_u, int *ptr_u, int *ind_u,
                                const struct csrluInfoHost *info)
{
    cusolverStatus_t status = known(handle, info, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    int n = info->n;
    if (info->t != t || !info->factors || !descr_l || !descr_u || !ptr_l || !ptr_u ||
        (n && (!p || !q || !val_u || !ind_u || (elements(info->factors->l) > n && (!val_l || !ind_l)))))
        return INVALID;
    const struct aw_cx *f = aw_cx_open(aw_cx_own(t));
    for (int i = 0; i < n; i++) {
        p[info->factors->pinv[i]] = i;
        q[i] = info->s->q ? info->s->q[i] : i;
    }
    return by_rows(f, t, info->factors->l, false, (int)descr_l->base, val_l, ptr_l, ind_l) &&
                   by_rows(f, t, info->factors->u, true, (int)descr_u->base, val_u, ptr_u, ind_u)
               ? CUSOLVER_STATUS_SUCCESS
               : CUSOLVER_STATUS_ALLOC_FAILED;
}

/* ---- Cholesky's diagonal, in its own order. */

static cusolverStatus_t diagonal(cusolverSpHandle_t handle, char t, const struct csrluInfoHost *info, void *diag)
{
    cusolverStatus_t status = known(handle, info, -1);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (info->t != t || !info->factors || (info->n && !diag))
        return INVALID;
    size_t size = aw_solver_real_size(t);
    char *all = malloc((size_t)info->n * size + 1), own = aw_cx_own(t);
    if (!all)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    for (int k = 0; k < info->n; k++)
        aw_cx_put(size == 4 ? 's' : 'd', all, k, aw_solver_value(own, info->factors->l->x, info->factors->l->p[k]));
    CUresult result = aw_lib_queue_enter(&handle->dn.queue);
    if (result == CUDA_SUCCESS && info->n)
        result = cuMemcpy((CUdeviceptr)(uintptr_t)diag, (CUdeviceptr)(uintptr_t)all, (size_t)info->n * size);
    free(all);
    return aw_solver_status(result);
}

/* ---- The functions by their names. */

#define OBJECT(Kind, kind_t, method, on_host)                                                                     \
    cusolverStatus_t awcusolver_cusolverSpCreate##Kind(kind_t *info)                                              \
    {                                                                                                             \
        return info ? create((struct csrluInfoHost *)(*info = malloc(sizeof **info)), method, on_host) : INVALID; \
    }                                                                                                             \
    cusolverStatus_t awcusolver_cusolverSpDestroy##Kind(kind_t info)                                              \
    {                                                                                                             \
        return destroy((struct csrluInfoHost *)info);                                                             \
    }
OBJECT(CsrluInfoHost, csrluInfoHost_t, LU, true)
OBJECT(CsrcholInfo, csrcholInfo_t, CHOLESKY, false)
OBJECT(CsrcholInfoHost, csrcholInfoHost_t, CHOLESKY, true)

#define ANALYSIS(Kind, kind_t)                                                                                         \
    cusolverStatus_t awcusolver_cusolverSpX##Kind(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr, \
                                                  const int *ptr, const int *ind, kind_t info)                         \
    {                                                                                                                  \
        return analyse(handle, n, nnz, descr, ptr, ind, (struct csrluInfoHost *)info);                                 \
    }
ANALYSIS(csrluAnalysisHost, csrluInfoHost_t)
ANALYSIS(csrcholAnalysis, csrcholInfo_t)
ANALYSIS(csrcholAnalysisHost, csrcholInfoHost_t)

/* What both methods have. */
#define BOTH(L, t, T, R, kind, H, kind_t)                                                                                       \
    cusolverStatus_t awcusolver_cusolverSp##L##kind##BufferInfo##H(                                                             \
        cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind,      \
        kind_t info, size_t *internal, size_t *workspace)                                                                       \
    {                                                                                                                           \
        return room(handle, (struct csrluInfoHost *)info, n, internal, workspace);                                              \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverSp##L##kind##ZeroPivot##H(cusolverSpHandle_t handle, kind_t info, R tolerance, int *at) \
    {                                                                                                                           \
        return zero_pivot(handle, t, (struct csrluInfoHost *)info, tolerance, at);                                              \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverSp##L##kind##Solve##H(cusolverSpHandle_t handle, int n, const T *b, T *x, kind_t info,  \
                                                              void *buffer)                                                     \
    {                                                                                                                           \
        return solve(handle, "cusolverSp" #L#kind "Solve" #H, t, n, b, x, (struct csrluInfoHost *)info);                        \
    }
#define CHOL(L, t, T, R, H, kind_t)                                                                                              \
    BOTH(L, t, T, R, csrchol, H, kind_t)                                                                                         \
    cusolverStatus_t awcusolver_cusolverSp##L##csrcholFactor##H(cusolverSpHandle_t handle, int n, int nnz,                       \
                                                                cusparseMatDescr_t descr, const T *val, const int *ptr,          \
                                                                const int *ind, kind_t info, void *buffer)                       \
    {                                                                                                                            \
        return factor(handle, "cusolverSp" #L "csrcholFactor" #H, t, n, nnz, descr, val, ptr, ind, (struct csrluInfoHost *)info, \
                      1);                                                                                                        \
    }
#define STEPS(L, t, T, R)                                                                                                       \
    CHOL(L, t, T, R, , csrcholInfo_t)                                                                                           \
    CHOL(L, t, T, R, Host, csrcholInfoHost_t)                                                                                   \
    BOTH(L, t, T, R, csrlu, Host, csrluInfoHost_t)                                                                              \
    cusolverStatus_t awcusolver_cusolverSp##L##csrcholDiag(cusolverSpHandle_t handle, csrcholInfo_t info, R *diag)              \
    {                                                                                                                           \
        return diagonal(handle, t, (struct csrluInfoHost *)info, diag);                                                         \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverSp##L##csrluFactorHost(cusolverSpHandle_t handle, int n, int nnz,                       \
                                                               cusparseMatDescr_t descr, const T *val, const int *ptr,          \
                                                               const int *ind, csrluInfoHost_t info, R threshold, void *buffer) \
    {                                                                                                                           \
        return factor(handle, "cusolverSp" #L "csrluFactorHost", t, n, nnz, descr, val, ptr, ind, info, threshold);             \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverSp##L##csrluExtractHost(                                                                \
        cusolverSpHandle_t handle, int *p, int *q, cusparseMatDescr_t descr_l, T *val_l, int *ptr_l, int *ind_l,                \
        cusparseMatDescr_t descr_u, T *val_u, int *ptr_u, int *ind_u, csrluInfoHost_t info, void *buffer)                       \
    {                                                                                                                           \
        return extract(handle, t, p, q, descr_l, val_l, ptr_l, ind_l, descr_u, val_u, ptr_u, ind_u, info);                      \
    }
AW_FOUR(STEPS)
