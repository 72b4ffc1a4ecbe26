/* The eigenvalue of a sparse matrix that is nearest to a number, by inverse iteration with CXSparse's LU, in double precision. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include <complex.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cusolver_proto.h"
#include "sparse.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT };
/* Values, offsets, columns, first vector, eigenvalue, eigenvector; n, elements, base, most steps. */
enum { VAL, PTR, IND, X0, MU, X };
struct eigen_call {
    struct aw_solver_call c;
    double _Complex near;
    double tolerance;
};

/* A - near I, by columns; NULL: memory is out. */
static struct cs *shifted(const struct eigen_call *e, const struct aw_cx *f, char own, double _Complex near)
{
    const struct aw_solver_call *c = &e->c;
    int n = (int)c->n[0], nnz = (int)c->n[1], base = (int)c->n[2], k = 0;
    const int *ptr = c->a[PTR], *ind = c->a[IND];
    struct cs rows = { nnz + n,
                       n,
                       n,
                       malloc(((size_t)n + 1) * sizeof(int)),
                       malloc(((size_t)nnz + (size_t)n + 1) * sizeof(int)),
                       malloc(((size_t)nnz + (size_t)n + 1) * aw_lapack_size(own)),
                       -1 };
    struct cs *a = NULL;
    if (rows.p && rows.i && rows.x) {
        for (int i = 0; i < n; i++) {
            rows.p[i] = k;
            for (int at = ptr[i] - base; at < ptr[i + 1] - base; at++, k++) {
                rows.i[k] = ind[at] - base;
                aw_cx_put(own, rows.x, k, aw_solver_value(c->t, c->a[VAL], at));
            }
            rows.i[k] = i;
            aw_cx_put(own, rows.x, k++, -near);
        }
        rows.p[n] = k;
        if (f->dupl(&rows))
            a = f->transpose(&rows, -1);
    }
    aw_cx_drop(&rows);
    return a;
}

struct factors {
    struct cs *a;
    struct aw_cx_symbolic *s;
    struct aw_cx_numeric *n;
};

/* False: it is singular, or memory is out. */
static bool factorise(struct factors *l, const struct eigen_call *e, const struct aw_cx *f, char own, double _Complex near)
{
    l->a = shifted(e, f, own, near);
    l->s = l->a ? f->sqr(2, l->a, 0) : NULL;
    l->n = l->s ? f->lu(l->a, l->s, 1.0) : NULL;
    return l->n && aw_cx_singular(l->n, own, l->a->n, 0) == -1;
}

static void forget(struct factors *l, const struct aw_cx *f)
{
    f->nfree(l->n);
    f->sfree(l->s);
    f->spfree(l->a);
}

/* The largest of the values. */
static double largest(const struct aw_solver_call *c)
{
    double most = 0;
    for (int64_t i = 0; i < c->n[1]; i++)
        if (cabs(aw_solver_value(c->t, c->a[VAL], i)) > most)
            most = cabs(aw_solver_value(c->t, c->a[VAL], i));
    return most > 0 ? most : 1;
}

static double norm(char own, const void *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += creal(aw_solver_value(own, x, i) * conj(aw_solver_value(own, x, i)));
    return sqrt(sum);
}

/* One step: y = (A - near I)^-1 x over its length, which is x's place after; `y` and `work` are room.  With x of length 1 it is
 * A y = near y + x / |y|, so that the eigenvalue and what is left need no product with A.  Returns what is left. */
static double step(const struct aw_cx *f, const struct factors *l, char own, double _Complex near, void *x, void *y, void *work,
                   double _Complex *ret_mu)
{
    int n = l->a->n;
    double _Complex product = 0;
    double left = 0;
    f->ipvec(l->n->pinv, x, work, n);
    f->lsolve(l->n->l, work);
    f->usolve(l->n->u, work);
    f->ipvec(l->s->q, work, y, n);
    double length = norm(own, y, n);
    for (int i = 0; i < n; i++) {
        aw_cx_put(own, y, i, aw_solver_value(own, y, i) / length);
        product += conj(aw_solver_value(own, y, i)) * aw_solver_value(own, x, i) / length;
    }
    for (int i = 0; i < n; i++) {
        double _Complex r = aw_solver_value(own, x, i) / length - product * aw_solver_value(own, y, i);
        left += creal(r * conj(r));
    }
    memcpy(x, y, (size_t)n * aw_lapack_size(own));
    *ret_mu = near + product;
    return sqrt(left);
}

/* The steps; false: they did not come so near. */
static bool iterate(const struct eigen_call *e, const struct aw_cx *f, const struct factors *l, char own, double _Complex near,
                    void *x, void *y, void *work, double _Complex *ret_mu)
{
    int n = l->a->n;
    double length = norm(own, x, n), scale = DBL_EPSILON * largest(&e->c) * 4;
    for (int i = 0; i < n; i++)
        aw_cx_put(own, x, i, aw_solver_value(own, x, i) / length);
    for (int64_t k = 0; k < e->c.n[3]; k++) {
        double left = step(f, l, own, near, x, y, work, ret_mu);
        if (left <= e->tolerance || left <= scale)
            return true;
    }
    return false;
}

static void run(struct aw_solver_call *c)
{
    struct eigen_call *e = (struct eigen_call *)c;
    int n = (int)c->n[0];
    char own = aw_cx_own(c->t);
    const struct aw_cx *f = aw_cx_open(own);
    double _Complex near = e->near, mu = CMPLX(NAN, NAN);
    struct factors l = { 0 };
    void *x = aw_cx_values(c->t, c->a[X0], n, false), *y = malloc((size_t)(n + 1) * sizeof mu);
    void *work = malloc((size_t)(n + 1) * sizeof mu);
    if (!factorise(&l, e, f, own, near)) { /* an eigenvalue as it is: from a little beside it */
        forget(&l, f);
        near += 64 * DBL_EPSILON * largest(c);
        factorise(&l, e, f, own, near);
    }
    if (x && y && work && l.n) {
        if (!iterate(e, f, &l, own, near, x, y, work, &mu))
            aw_say(SOLVER_EIGEN_FAR, c->name, (int)c->n[3]);
        for (int i = 0; i < n; i++)
            aw_cx_put(c->t, c->a[X], i, aw_solver_value(own, x, i));
        aw_cx_put(c->t, c->a[MU], 0, mu);
    } else {
        aw_say(SOLVER_SPARSE_MEMORY, c->name);
        c->job.status = CUSOLVER_STATUS_ALLOC_FAILED;
    }
    forget(&l, f);
    free(x);
    free(y);
    free(work);
}

/* `on_host`: all memory is the host's. */
static cusolverStatus_t submit(cusolverSpHandle_t handle, const char *name, char t, bool on_host, int n, int nnz,
                               cusparseMatDescr_t descr, const void *val, const int *ptr, const int *ind, double _Complex near,
                               const void *x0, int steps, double tolerance, void *mu, void *x)
{
    struct eigen_call e;
    size_t size = aw_lapack_size(t);
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (n < 1 || steps < 1 || !x0 || !mu || !x || (nnz > 0 && !val) || n > INT_MAX - 1 - (nnz > 0 ? nnz : 0))
        return INVALID;
    status = aw_solver_sparse_valid(t, n, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    status = aw_solver_begin(&e.c, name, t, NULL, run);
    e.c.job.size = sizeof e;
    const int64_t numbers[] = { n, nnz, descr->base, steps };
    memcpy(e.c.n, numbers, sizeof numbers);
    e.near = near;
    e.tolerance = tolerance;
    if (on_host) {
        void *const at[] = { (void *)val, (void *)ptr, (void *)ind, (void *)x0, mu, x };
        memcpy(e.c.a, at, sizeof at);
        run(&e.c);
        return (cusolverStatus_t)e.c.job.status;
    }
    aw_solver_array(&e.c, VAL, val, nnz, size, 0, IN);
    aw_solver_array(&e.c, PTR, ptr, n + 1, sizeof *ptr, 0, IN);
    aw_solver_array(&e.c, IND, ind, nnz, sizeof *ind, 0, IN);
    aw_solver_array(&e.c, X0, x0, n, size, 0, IN);
    aw_solver_array(&e.c, MU, mu, 1, size, 0, OUT);
    aw_solver_array(&e.c, X, x, n, size, 0, OUT);
    return aw_solver_submit(&e.c, &handle->dn, true);
}

#define NEAREST(L, t, T, R, name, on_host)                                                                                 \
    cusolverStatus_t awcusolver_cusolverSp##L##csreigvsi##name(                                                            \
        cusolverSpHandle_t handle, int m, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, \
        T mu0, const T *x0, int steps, R tolerance, T *mu, T *x)                                                           \
    {                                                                                                                      \
        return submit(handle, "cusolverSp" #L "csreigvsi" #name, t, on_host, m, nnz, descr, val, ptr, ind,                 \
                      aw_solver_value(t, &mu0, 0), x0, steps, tolerance, mu, x);                                           \
    }
#define NEARESTS(L, t, T, R)     \
    NEAREST(L, t, T, R, , false) \
    NEAREST(L, t, T, R, Host, true)
AW_FOUR(NEARESTS)
