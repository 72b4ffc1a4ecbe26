/* The sparse part: systems by QR, Cholesky and LU of CXSparse (SuiteSparse), opened with dlopen, in double precision. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/dl.h"
#include "base/log.h"
#include "call.h"
#include "cusolver_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { MAGIC = 0x736f7370 };
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };

struct cusolverSpContext {
    struct cusolverDnContext dn;
};

static cusolverStatus_t check(cusolverSpHandle_t handle)
{
    return handle && handle->dn.magic == MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
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
    cusolverStatus_t status = check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    handle->dn.magic = 0;
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverSpSetStream(cusolverSpHandle_t handle, cudaStream_t stream)
{
    cusolverStatus_t status = check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS)
        handle->dn.queue.stream = stream;
    return status;
}

cusolverStatus_t awcusolver_cusolverSpGetStream(cusolverSpHandle_t handle, cudaStream_t *stream)
{
    cusolverStatus_t status = check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS && !stream)
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *stream = handle->dn.queue.stream;
    return status;
}

/* ---- CXSparse 3, with 32-bit indices: its structures and names; di of real numbers, ci of complex ones. */

struct cs {
    int nzmax, m, n;
    int *p, *i;
    void *x;
    int nz;
};
struct symbolic {
    int *pinv, *q, *parent, *cp, *leftmost, m2;
    double lnz, unz;
};
struct numeric {
    struct cs *l, *u;
    int *pinv;
    double *b;
};

static struct {
    pthread_once_t once;
    void *library;
    struct suite {
        struct cs *(*transpose)(const struct cs *a, int values);
        struct symbolic *(*sqr)(int order, const struct cs *a, int qr);
        struct numeric *(*qr)(const struct cs *a, const struct symbolic *s);
        struct numeric *(*lu)(const struct cs *a, const struct symbolic *s, double tolerance);
        struct symbolic *(*schol)(int order, const struct cs *a);
        struct numeric *(*chol)(const struct cs *a, const struct symbolic *s);
        int (*ipvec)(const int *p, const void *b, void *x, int n);
        int (*pvec)(const int *p, const void *b, void *x, int n);
        int (*happly)(const struct cs *v, int i, double beta, void *x);
        int (*usolve)(const struct cs *u, void *x);
        int (*lsolve)(const struct cs *l, void *x);
        int (*ltsolve)(const struct cs *l, void *x);
        struct cs *(*spfree)(struct cs *a);
        struct symbolic *(*sfree)(struct symbolic *s);
        struct numeric *(*nfree)(struct numeric *n);
    } real, two_parts;
} cx = { .once = PTHREAD_ONCE_INIT };

#define FIELD(kind, name)                                         \
    {                                                             \
        "cs_" #kind "_" #name, offsetof(struct suite, name), true \
    }
#define SUITE(kind)                                                                                                    \
    FIELD(kind, transpose), FIELD(kind, sqr), FIELD(kind, qr), FIELD(kind, lu), FIELD(kind, schol), FIELD(kind, chol), \
        FIELD(kind, ipvec), FIELD(kind, pvec), FIELD(kind, happly), FIELD(kind, usolve), FIELD(kind, lsolve),          \
        FIELD(kind, ltsolve), FIELD(kind, spfree), FIELD(kind, sfree), FIELD(kind, nfree),                             \
    {                                                                                                                  \
        NULL, 0, false                                                                                                 \
    }

static void open_library(void)
{
    static const char *const names[] = { "libcxsparse.so.3", "libcxsparse.so.4", "libcxsparse.so", NULL };
    static const struct aw_dl_symbol real[] = { SUITE(di) }, two_parts[] = { SUITE(ci) };
    char why[256];
    cx.library = aw_dl_open(names, real, &cx.real, why, sizeof why);
    if (cx.library && !aw_dl_open(names, two_parts, &cx.two_parts, why, sizeof why))
        cx.library = NULL;
    if (!cx.library)
        aw_say(NO_CXSPARSE, why);
}

/* ---- The call: values 0, offsets 1, columns 2, right-hand side 3, solution 4; n, elements, base, order, method. */

enum { QR, CHOLESKY, LU };
enum { VAL, PTR, IND, RHS, X };

static void value_put(char t, void *at, int64_t i, double _Complex v)
{
    switch (t) {
    case 's': ((float *)at)[i] = (float)creal(v); break;
    case 'd': ((double *)at)[i] = creal(v); break;
    case 'c': ((float _Complex *)at)[i] = (float _Complex)v; break;
    default: ((double _Complex *)at)[i] = v; break;
    }
}

/* A run of values in double, conjugated where asked for. */
static void *doubles(char t, const void *from, int64_t n, bool conjugate)
{
    char own = aw_solver_complex(t) ? 'z' : 'd';
    void *to = malloc((size_t)(n + 1) * aw_lapack_size(own));
    for (int64_t i = 0; to && i < n; i++)
        value_put(own, to, i, conjugate ? conj(aw_solver_value(t, from, i)) : aw_solver_value(t, from, i));
    return to;
}

/* The first column of R that is at most `tolerance` on the diagonal, or -1. */
static int singular(const struct numeric *n, char own, int size, double tolerance)
{
    for (int k = 0; k < size; k++)
        if (cabs(aw_solver_value(own, n->u->x, n->u->p[k + 1] - 1)) <= tolerance)
            return k;
    return -1;
}

/* b becomes the solution.  The column where it failed, -1: nowhere, -2: memory is out. */
static int solve_qr(const struct suite *f, const struct cs *a, char own, int order, double tolerance, void *b)
{
    struct symbolic *s = f->sqr(order ? 3 : 0, a, 1);
    struct numeric *n = s ? f->qr(a, s) : NULL;
    void *x = n ? calloc((size_t)s->m2 + 1, aw_lapack_size(own)) : NULL;
    int at = x ? singular(n, own, a->n, tolerance) : -2;
    if (at == -1) {
        f->ipvec(s->pinv, b, x, a->m);
        for (int k = 0; k < a->n; k++)
            f->happly(n->l, k, n->b[k], x);
        f->usolve(n->u, x);
        f->ipvec(s->q, x, b, a->n);
    }
    free(x);
    f->nfree(n);
    f->sfree(s);
    return at;
}

static int solve_lu(const struct suite *f, const struct cs *a, char own, int order, double tolerance, void *b)
{
    struct symbolic *s = f->sqr(order ? 2 : 0, a, 0);
    struct numeric *n = s ? f->lu(a, s, 1.0) : NULL;
    void *x = n ? calloc((size_t)a->n + 1, aw_lapack_size(own)) : NULL;
    int at = x ? singular(n, own, a->n, tolerance) : -2;
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
    return failed ? solve_qr(f, a, own, order, tolerance, b) : at; /* which tells where */
}

/* Where it is not positive definite, which column is not said: 0. */
static int solve_cholesky(const struct suite *f, const struct cs *a, char own, int order, void *b)
{
    struct symbolic *s = f->schol(order ? 1 : 0, a);
    struct numeric *n = s ? f->chol(a, s) : NULL;
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
    const struct suite *f = own == 'z' ? &cx.two_parts : &cx.real;
    int order = (int)c->n[3];
    if (c->n[4] == CHOLESKY) /* rows read as columns: the transpose, whose upper triangle is the lower one */
        return solve_cholesky(f, rows, own, order, b);
    struct cs *a = f->transpose(rows, -1); /* with values as they are; 1 would conjugate them */
    int at = !a ? -2 : c->n[4] == QR ? solve_qr(f, a, own, order, c->bounds[0], b) : solve_lu(f, a, own, order, c->bounds[0], b);
    f->spfree(a);
    return at;
}

static void run(struct aw_solver_call *c)
{
    int n = (int)c->n[0], nnz = (int)c->n[1], base = (int)c->n[2], at = -2;
    char own = aw_solver_complex(c->t) ? 'z' : 'd';
    bool conjugate = own == 'z' && c->n[4] == CHOLESKY;
    int *ptr = malloc(((size_t)n + 1) * sizeof *ptr), *ind = malloc(((size_t)nnz + 1) * sizeof *ind);
    /* Rows read as columns are the transpose, of a Hermitian matrix the conjugate: its system has the conjugate solution. */
    void *x = doubles(c->t, c->a[VAL], nnz, false), *b = doubles(c->t, c->a[RHS], n, conjugate);
    if (ptr && ind && x && b) {
        for (int i = 0; i <= n; i++)
            ptr[i] = ((int *)c->a[PTR])[i] - base;
        for (int p = 0; p < nnz; p++)
            ind[p] = ((int *)c->a[IND])[p] - base;
        at = solve(c, own, b, &(struct cs){ nnz, n, n, ptr, ind, x, -1 });
    }
    if (at == -2)
        aw_say(SOLVER_SPARSE_MEMORY, c->name);
    for (int i = 0; i < n; i++)
        value_put(c->t, c->a[X], i,
                  at != -1    ? CMPLX(NAN, NAN)
                  : conjugate ? conj(aw_solver_value(own, b, i))
                              : aw_solver_value(own, b, i));
    c->job.status = at == -2 ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
    *(int *)c->host = at;
    free(ptr);
    free(ind);
    free(x);
    free(b);
}

/* `on_host`: all memory is the host's, and the call is over when it returns. */
static cusolverStatus_t submit(cusolverSpHandle_t handle, const char *name, char t, int method, bool on_host, int n, int nnz,
                               cusparseMatDescr_t descr, const void *val, const int *ptr, const int *ind, const void *b,
                               double tolerance, int order, void *x, int *singularity)
{
    struct aw_solver_call c;
    size_t size = aw_lapack_size(t);
    cusolverStatus_t status = check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (n < 0 || nnz < 0 || !descr || !ptr || (nnz && (!val || !ind)) || (n && (!b || !x)) || !singularity)
        return INVALID;
    if (descr->type != CUSPARSE_MATRIX_TYPE_GENERAL)
        return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
    pthread_once(&cx.once, open_library);
    if (!cx.library)
        return CUSOLVER_STATUS_NOT_SUPPORTED;
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
