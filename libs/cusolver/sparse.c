/* The sparse part: its handle, and systems by QR, Cholesky and LU of CXSparse (SuiteSparse), in double precision. */
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
enum { MAGIC = 0x736f7370 };
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };

cusolverStatus_t aw_solver_sparse_check(cusolverSpHandle_t handle)
{
    return handle && handle->dn.magic == MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t aw_solver_sparse_valid(char t, int m, int n, int nnz, cusparseMatDescr_t descr, const int *ptr, const int *ind)
{
    if (m < 0 || n < 0 || nnz < 0 || !descr || !ptr || (nnz && !ind))
        return INVALID;
    if (descr->type != CUSPARSE_MATRIX_TYPE_GENERAL)
        return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
    return aw_cx_open(aw_cx_own(t)) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_SUPPORTED;
}

cusolverStatus_t awcusolver_cusolverSpCreate(cusolverSpHandle_t *handle)
{
    struct cusolverSpContext *h = handle ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return handle ? CUSOLVER_STATUS_ALLOC_FAILED : INVALID;
    if (aw_lib_queue_init(&h->dn.queue) != CUDA_SUCCESS) {
        free(h);
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    h->dn.magic = MAGIC;
    *handle = h;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverSpDestroy(cusolverSpHandle_t handle)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    handle->dn.magic = 0;
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS)
        handle->dn.queue.stream = stream;
    return status;
}

cusolverStatus_t awcusolver_cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t *stream)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS && !stream)
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *stream = handle->dn.queue.stream;
    return status;
}

/* ---- The call: values 0, offsets 1, columns 2, right-hand side 3, solution 4; n, elements, base, order, method. */

enum { QR, CHOLESKY, LU };
enum { VAL, PTR, IND, RHS, X };

int aw_cx_singular(const struct aw_cx_numeric *n, char own, int size, double tolerance)
{
    for (int k = 0; k < size; k++)
        if (!(cabs(aw_solver_value(own, n->u->x, n->u->p[k + 1] - 1)) > tolerance))
            return k;
    return -1;
}

bool aw_cx_qr_apply(const struct aw_cx *f, const struct aw_cx_symbolic *s, const struct aw_cx_numeric *n, char own, int rows,
                    int columns, void *b)
{
    void *x = calloc((size_t)s->m2 + 1, aw_lapack_size(own));
    if (!x)
        return false;
    f->ipvec(s->pinv, b, x, rows);
    for (int k = 0; k < columns; k++)
        f->happly(n->l, k, n->b[k], x);
    f->usolve(n->u, x);
    f->ipvec(s->q, x, b, columns);
    free(x);
    return true;
}

int aw_cx_qr_solve(const struct aw_cx *f, const struct cs *a, char own, int order, double tolerance, void *b)
{
    struct aw_cx_symbolic *s = f->sqr(order ? 3 : 0, a, 1);
    struct aw_cx_numeric *n = s ? f->qr(a, s) : NULL;
    int at = n ? aw_cx_singular(n, own, a->n, tolerance) : -2;
    if (at == -1 && !aw_cx_qr_apply(f, s, n, own, a->m, a->n, b))
        at = -2;
    f->nfree(n);
    f->sfree(s);
    return at;
}

static int solve_lu(const struct aw_cx *f, const struct cs *a, char own, int order, double tolerance, void *b)
{
    struct aw_cx_symbolic *s = f->sqr(order ? 2 : 0, a, 0);
    struct aw_cx_numeric *n = s ? f->lu(a, s, 1.0) : NULL;
    void *x = n ? calloc((size_t)a->n + 1, aw_lapack_size(own)) : NULL;
    int at = x ? aw_cx_singular(n, own, a->n, tolerance) : -2;
    if (at == -1) {
        f->ipvec(n->pinv, b, x, a->n);
        f->lsolve(n->l, x);
        f->usolve(n->u, x);
        f->ipvec(s->q, x, b, a->n);
    }
    bool failed = s && !n;
    free(x);
    f->nfree(n);
    f->sfree(s);
    return failed ? aw_cx_qr_solve(f, a, own, order, tolerance, b) : at; /* which tells where */
}

/* Where it is not positive definite, which column is not said: 0. */
static int solve_cholesky(const struct aw_cx *f, const struct cs *a, char own, int order, void *b)
{
    struct aw_cx_symbolic *s = f->schol(order ? 1 : 0, a);
    struct aw_cx_numeric *n = s ? f->chol(a, s) : NULL;
    void *x = n ? calloc((size_t)a->n + 1, aw_lapack_size(own)) : NULL;
    int at = x ? -1 : s ? 0 : -2;
    if (x) {
        f->ipvec(s->pinv, b, x, a->n);
        f->lsolve(n->l, x);
        f->ltsolve(n->l, x);
        f->pvec(s->pinv, x, b, a->n);
    }
    free(x);
    f->nfree(n);
    f->sfree(s);
    return at;
}

static int solve(const struct aw_solver_call *c, char own, void *b, struct cs *rows)
{
    const struct aw_cx *f = aw_cx_open(own);
    int order = (int)c->n[3];
    if (!f->dupl(rows)) /* CXSparse's factors would take the last of several values at one place */
        return -2;
    if (c->n[4] == CHOLESKY) /* rows read as columns: the transpose, whose upper triangle is the lower one */
        return solve_cholesky(f, rows, own, order, b);
    struct cs *a = f->transpose(rows, -1); /* with values as they are; 1 would conjugate them */
    int at = !a               ? -2
             : c->n[4] == QR ? aw_cx_qr_solve(f, a, own, order, c->bounds[0], b)
                             : solve_lu(f, a, own, order, c->bounds[0], b);
    f->spfree(a);
    return at;
}

static void run(struct aw_solver_call *c)
{
    int n = (int)c->n[0], nnz = (int)c->n[1], base = (int)c->n[2], at = -2;
    char own = aw_cx_own(c->t);
    bool conjugate = own == 'z' && c->n[4] == CHOLESKY;
    struct cs rows = { nnz, n, n, aw_cx_indices(c->a[PTR], n + 1, base), aw_cx_indices(c->a[IND], nnz, base),
                       aw_cx_values(c->t, c->a[VAL], nnz, false), -1 };
    /* Rows read as columns are the transpose, of a Hermitian matrix the conjugate: its system has the conjugate solution. */
    void *b = aw_cx_values(c->t, c->a[RHS], n, conjugate);
    if (rows.p && rows.i && rows.x && b)
        at = solve(c, own, b, &rows);
    if (at == -2)
        aw_say(SOLVER_SPARSE_MEMORY, c->name);
    for (int i = 0; i < n; i++)
        aw_cx_put(c->t, c->a[X], i,
                  at != -1    ? CMPLX(NAN, NAN)
                  : conjugate ? conj(aw_solver_value(own, b, i))
                              : aw_solver_value(own, b, i));
    c->job.status = at == -2 ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
    *(int *)c->host = at;
    aw_cx_drop(&rows);
    free(b);
}

/* `on_host`: all memory is the host's, and the call is over when it returns. */
static cusolverStatus_t submit(cusolverSpHandle_t handle, const char *name, char t, int method, bool on_host, int n, int nnz,
                               cusparseMatDescr_t descr, const void *val, const int *ptr, const int *ind, const void *b,
                               double tolerance, int order, void *x, int *singularity)
{
    struct aw_solver_call c;
    size_t size = aw_lapack_size(t);
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if ((nnz > 0 && !val) || (n > 0 && (!b || !x)) || !singularity)
        return INVALID;
    status = aw_solver_sparse_valid(t, n, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    status = aw_solver_begin(&c, name, t, NULL, run);
    const int64_t numbers[] = { n, nnz, descr->base, order, method };
    memcpy(c.n, numbers, sizeof numbers);
    c.bounds[0] = tolerance > 0 ? tolerance : 0;
    c.host = singularity;
    if (on_host) {
        void *const at[] = { (void *)val, (void *)ptr, (void *)ind, (void *)b, x };
        memcpy(c.a, at, sizeof at);
        run(&c);
        return (cusolverStatus_t)c.job.status;
    }
    aw_solver_array(&c, VAL, val, nnz, size, 0, IN);
    aw_solver_array(&c, PTR, ptr, n + 1, sizeof *ptr, 0, IN);
    aw_solver_array(&c, IND, ind, nnz, sizeof *ind, 0, IN);
    aw_solver_array(&c, RHS, b, n, size, 0, IN);
    aw_solver_array(&c, X, x, n, size, 0, OUT);
    return aw_solver_submit(&c, &handle->dn, true);
}

#define SYSTEM(L, t, T, R, name, method, on_host)                                                                                \
    cusolverStatus_t awcusolver_cusolverSp##L##csrlsv##name(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr, \
                                                            const T *val, const int *ptr, const int *ind, const T *b,            \
                                                            R tolerance, int order, T *x, int *singularity)                      \
    {                                                                                                                            \
        return submit(handle, "cusolverSp" #L "csrlsv" #name, t, method, on_host, n, nnz, descr, val, ptr, ind, b, tolerance,    \
                      order, x, singularity);                                                                                    \
    }
#define SYSTEMS(L, t, T, R)                      \
    SYSTEM(L, t, T, R, qr, QR, false)            \
    SYSTEM(L, t, T, R, qrHost, QR, true)         \
    SYSTEM(L, t, T, R, chol, CHOLESKY, false)    \
    SYSTEM(L, t, T, R, cholHost, CHOLESKY, true) \
    SYSTEM(L, t, T, R, luHost, LU, true)
AW_FOUR(SYSTEMS)
