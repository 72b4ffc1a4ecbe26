/* The dense part of cuSOLVER: what comes out, multiplied together in double by plain loops, is what went in. Usage: dense_test
 * [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

static int quick; /* on a simulated card, which is slow */
static cusolverDnHandle_t handle;
static void *info_at; /* on the device */
enum { WORK = 1 << 18 }; /* elements that functions may work in */

typedef int (*any_function)(void *first, ...); /* of integers and addresses alone */

/* cusolverDn with the type's letter; "orgqr|ungqr" has a name for real types and one for complex ones. */
static any_function fn(char t, const char *name)
{
    char full[64];
    const char *bar = strchr(name, '|');
    const char *from = bar && is_complex(t) ? bar + 1 : name;
    snprintf(full, sizeof full, "cusolverDn%c%.*s", upper(t), bar && from == name ? (int)(bar - name) : (int)strlen(from), from);
    any_function f = (any_function)dlsym(RTLD_DEFAULT, full);
    check(f != NULL, "%s is not there", full);
    return f;
}

static int info_get(void)
{
    int info = 12345;
    cudaMemcpy(&info, info_at, sizeof info, 2);
    return info;
}

static double tolerance(char t)
{
    return real_of(t) == 's' ? 2e-3 : 1e-10;
}

/* A matrix: m x n by columns on the device with leading dimension ld, and in double without gaps. */
struct mat {
    char t;
    long m, n, ld;
    void *device;
    cplx *v;
};

static void mat_put(struct mat *a)
{
    void *host = malloc((size_t)(a->ld * a->n + 1) * size_of(a->t));
    for (long i = 0; i < a->ld * a->n; i++)
        put(a->t, host, i, i % a->ld < a->m ? a->v[i % a->ld + i / a->ld * a->m] : 99);
    cudaMemcpy(a->device, host, (size_t)(a->ld * a->n) * size_of(a->t), 1);
    free(host);
}

static struct mat mat_make(char t, long m, long n)
{
    struct mat a = { t, m, n, m + 2, NULL, malloc((size_t)(m * n + 1) * sizeof(cplx)) };
    cudaMalloc(&a.device, (size_t)(a.ld * (n + 1)) * size_of(t));
    for (long i = 0; i < m * n; i++)
        a.v[i] = any_of(t);
    mat_put(&a);
    return a;
}

/* What is on the device; the gaps must be as they were. */
static cplx *mat_get(const struct mat *a)
{
    void *host = malloc((size_t)(a->ld * a->n + 1) * size_of(a->t));
    cplx *v = malloc((size_t)(a->m * a->n + 1) * sizeof *v);
    cudaMemcpy(host, a->device, (size_t)(a->ld * a->n) * size_of(a->t), 2);
    for (long i = 0; i < a->ld * a->n; i++)
        if (i % a->ld < a->m)
            v[i % a->ld + i / a->ld * a->m] = get(a->t, host, i);
        else
            check(get(a->t, host, i) == 99, "a gap was written");
    free(host);
    return v;
}

static void mat_drop(struct mat *a)
{
    cudaFree(a->device);
    free(a->v);
}

static void *array_new(char t, long n)
{
    void *p = NULL;
    cudaMalloc(&p, (size_t)(n + 1) * size_of(t));
    return p;
}

static cplx *array_get(char t, const void *p, long n)
{
    void *host = malloc((size_t)(n + 1) * size_of(t));
    cplx *v = malloc((size_t)(n + 1) * sizeof *v);
    cudaMemcpy(host, p, (size_t)n * size_of(t), 2);
    for (long i = 0; i < n; i++)
        v[i] = get(t, host, i);
    free(host);
    return v;
}

enum { N_, T_, C_ };

static cplx at_op(const cplx *a, long ld, int op, long i, long j)
{
    return op == N_ ? a[i + j * ld] : op == T_ ? a[j + i * ld] : conj(a[j + i * ld]);
}

/* op(A) op(B), m x n with k between; ld as stored. */
static cplx *times(const cplx *a, long lda, int opa, const cplx *b, long ldb, int opb, long m, long k, long n)
{
    cplx *c = calloc((size_t)(m * n + 1), sizeof *c);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++)
            for (long l = 0; l < k; l++)
                c[i + j * m] += at_op(a, lda, opa, i, l) * at_op(b, ldb, opb, l, j);
    return c;
}

static void same(const cplx *a, const cplx *b, long n, char t, const char *what, long k)
{
    for (long i = 0; i < n; i++)
        if (!check(cabs(a[i] - b[i]) <= tolerance(t) * (1 + cabs(b[i])), "%c %s (%ld): [%ld] is %g%+gi, not %g%+gi", t, what, k,
                   i, creal(a[i]), cimag(a[i]), creal(b[i]), cimag(b[i])))
            return;
}

/* Are the columns of m x n orthonormal? */
static void orthonormal(const cplx *q, long m, long n, char t, const char *what)
{
    cplx *p = times(q, m, C_, q, m, N_, n, m, n);
    for (long i = 0; i < n * n; i++)
        if (!check(cabs(p[i] - (i % n == i / n)) < tolerance(t), "%c %s is not orthonormal: %g at %ld", t, what, cabs(p[i]), i))
            break;
    free(p);
}

/* Positive definite, or with `definite` 0 symmetric or Hermitian alone. */
static void symmetrise(struct mat *a, int hermitian, int definite)
{
    for (long j = 0; j < a->n; j++)
        for (long i = 0; i <= j; i++) {
            cplx v = a->v[i + j * a->m];
            if (i == j)
                v = (hermitian ? creal(v) : v) + (definite ? 4 * (double)a->n : 0);
            a->v[i + j * a->m] = v;
            a->v[j + i * a->m] = hermitian ? conj(v) : v;
        }
    mat_put(a);
}

/* A triangle of v alone, with ones on the diagonal where asked for. */
static cplx *triangle(const cplx *v, long rows, long m, long n, int up, int unit)
{
    cplx *t = calloc((size_t)(m * n + 1), sizeof *t);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < m; i++)
            if (up ? i <= j : i >= j)
                t[i + j * m] = unit && i == j ? 1 : v[i + j * rows];
    return t;
}

static void *work_for(char t, int lwork)
{
    check(lwork > 0, "lwork %d", lwork);
    return array_new(t, lwork);
}

static void cholesky(char t, long n, int up)
{
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, 3);
    int lwork = 0;
    symmetrise(&a, 1, 1);
    check(fn(t, "potrf_bufferSize")(handle, up, n, a.device, a.ld, &lwork) == 0, "size");
    void *work = work_for(t, lwork);
    check(fn(t, "potrf")(handle, up, n, a.device, a.ld, work, lwork, info_at) == 0 && info_get() == 0, "potrf");
    cplx *f = mat_get(&a), *l = triangle(f, n, n, n, up, 0),
         *p = up ? times(l, n, C_, l, n, N_, n, n, n) : times(l, n, N_, l, n, C_, n, n, n);
    same(p, a.v, n * n, t, "potrf", n);
    check(fn(t, "potrs")(handle, up, n, 3, a.device, a.ld, b.device, b.ld, info_at) == 0 && info_get() == 0, "potrs");
    cplx *x = mat_get(&b), *ax = times(a.v, n, N_, x, n, N_, n, n, 3);
    same(ax, b.v, n * 3, t, "potrs", n);
    check(fn(t, "potri")(handle, up, n, a.device, a.ld, work, lwork, info_at) == 0 && info_get() == 0, "potri");
    cplx *inverse = mat_get(&a);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++)
            if (up ? i > j : i < j)
                inverse[i + j * n] = conj(inverse[j + i * n]);
    cplx *one = times(inverse, n, N_, a.v, n, N_, n, n, n), *want = calloc((size_t)(n * n + 1), sizeof *want);
    for (long i = 0; i < n; i++)
        want[i + i * n] = 1;
    same(one, want, n * n, t, "potri", n);
    free(f), free(l), free(p), free(x), free(ax), free(inverse), free(one), free(want);
    cudaFree(work);
    mat_drop(&a), mat_drop(&b);
}

/* Pivots that were exchanged one after the other, applied to rows. */
static void exchange(cplx *v, long m, long n, const long *pivots, long k)
{
    for (long i = 0; i < k; i++)
        for (long j = 0; j < n; j++) {
            cplx x = v[i + j * m];
            v[i + j * m] = v[pivots[i] - 1 + j * m], v[pivots[i] - 1 + j * m] = x;
        }
}

static void lu(char t, long m, long n, int pivoting)
{
    struct mat a = mat_make(t, m, n), b = mat_make(t, n, 2);
    long k = m < n ? m : n, pivots[64];
    int lwork = 0, host[64];
    for (long i = 0; i < k && !pivoting; i++) /* so that none are needed */
        a.v[i + i * m] += 3 * (double)(m + n);
    mat_put(&a);
    check(fn(t, "getrf_bufferSize")(handle, m, n, a.device, a.ld, &lwork) == 0, "size");
    void *work = work_for(t, lwork), *ipiv = array_new('z', k);
    check(fn(t, "getrf")(handle, m, n, a.device, a.ld, work, pivoting ? ipiv : NULL, info_at) == 0 && info_get() == 0, "getrf");
    cudaMemcpy(host, ipiv, (size_t)k * 4, 2);
    for (long i = 0; i < k; i++)
        pivots[i] = pivoting ? host[i] : i + 1;
    cplx *f = mat_get(&a), *l = triangle(f, m, m, k, 0, 1), *u = triangle(f, m, k, n, 1, 0),
         *p = times(l, m, N_, u, k, N_, m, k, n);
    cplx *want = malloc((size_t)(m * n + 1) * sizeof *want);
    memcpy(want, a.v, (size_t)(m * n) * sizeof *want);
    exchange(want, m, n, pivots, k);
    same(p, want, m * n, t, pivoting ? "getrf" : "getrf without pivots", m);
    for (int op = 0; op < 3 && m == n; op++) {
        mat_put(&b);
        check(fn(t, "getrs")(handle, op, n, 2, a.device, a.ld, pivoting ? ipiv : NULL, b.device, b.ld, info_at) == 0 &&
                  info_get() == 0,
              "getrs");
        cplx *x = mat_get(&b), *ax = times(a.v, n, op, x, n, N_, n, n, 2);
        same(ax, b.v, n * 2, t, "getrs", op);
        free(x), free(ax);
    }
    free(f), free(l), free(u), free(p), free(want);
    cudaFree(work), cudaFree(ipiv);
    mat_drop(&a), mat_drop(&b);
}

static void qr(char t, long m, long n)
{
    struct mat a = mat_make(t, m, n), c = mat_make(t, m, 3);
    long k = m < n ? m : n;
    int lwork = 0;
    void *tau = array_new(t, k);
    check(fn(t, "geqrf_bufferSize")(handle, m, n, a.device, a.ld, &lwork) == 0, "size");
    void *work = work_for(t, lwork);
    check(fn(t, "geqrf")(handle, m, n, a.device, a.ld, tau, work, lwork, info_at) == 0 && info_get() == 0, "geqrf");
    cplx *f = mat_get(&a), *r = triangle(f, m, k, n, 1, 0);
    check(fn(t, "ormqr|unmqr")(handle, 0, is_complex(t) ? C_ : T_, m, 3, k, a.device, a.ld, tau, c.device, c.ld, work, lwork,
                               info_at) == 0 &&
              info_get() == 0,
          "ormqr");
    cplx *qc = mat_get(&c);
    check(fn(t, "orgqr_bufferSize|ungqr_bufferSize")(handle, m, k, k, a.device, 1, tau, &lwork) == 0, "size, whatever lda");
    check(fn(t, "orgqr|ungqr")(handle, m, k, k, a.device, a.ld, tau, work, lwork, info_at) == 0 && info_get() == 0, "orgqr");
    struct mat q = { t, m, k, a.ld, a.device, NULL };
    cplx *qv = mat_get(&q), *p = times(qv, m, N_, r, k, N_, m, k, n), *want = times(qv, m, C_, c.v, m, N_, k, m, 3);
    same(p, a.v, m * n, t, "geqrf", m);
    orthonormal(qv, m, k, t, "orgqr");
    for (long j = 0; j < 3; j++)
        same(qc + j * m, want + j * k, k, t, "ormqr", j);
    free(f), free(r), free(qc), free(qv), free(p), free(want);
    cudaFree(tau), cudaFree(work);
    mat_drop(&a), mat_drop(&c);
}

/* Jacobi's methods tell how far U S V^H is from the matrix: not nothing, unless all numbers are exact. */
static void residual_small(int status, const double *residual, char t, long n, const char *name)
{
    check(status == 0 && *residual >= 0 && *residual <= (double)n * tolerance(t) && (*residual > 0 || n < 5),
          "%c %s: residual %g", t, name, *residual);
}

/* generalised: the type of the problem, or 0. */
static void eigen(char t, long n, int up, int generalised, int jacobi)
{
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, n);
    void *w = array_new('d', n), *work = array_new(t, WORK);
    syevjInfo_t params;
    const char *name = generalised ? (jacobi ? "sygvj|hegvj" : "sygvd|hegvd") : jacobi ? "syevj|heevj" : "syevd|heevd";
    symmetrise(&a, 1, 0), symmetrise(&b, 1, 1);
    check(cusolverDnCreateSyevjInfo(&params) == 0 &&
              cusolverDnXsyevjSetTolerance(params, real_of(t) == 's' ? 1e-7 : 1e-14) == 0,
          "params");
    int status = generalised ?
                     fn(t, name)(handle, generalised, 1, up, n, a.device, a.ld, b.device, b.ld, w, work, WORK, info_at, params) :
                     fn(t, name)(handle, 1, up, n, a.device, a.ld, w, work, WORK, info_at, params);
    check(status == 0 && info_get() == 0, "%c %s of %ld: status %d, info %d", t, name, n, status, info_get());
    cplx *v = mat_get(&a), *l = array_get(real_of(t), w, n),
         *first = times(generalised == 2 ? b.v : a.v, n, N_, v, n, N_, n, n, n),
         *av = generalised < 2 ? first : times(generalised == 2 ? a.v : b.v, n, N_, first, n, N_, n, n, n);
    cplx *bv = generalised == 1 ? times(b.v, n, N_, v, n, N_, n, n, n)
                                : memcpy(malloc((size_t)(n * n + 1) * sizeof *bv), v, (size_t)(n * n) * sizeof *v);
    if (jacobi) {
        double residual = -1;
        residual_small(cusolverDnXsyevjGetResidual(handle, params, &residual), &residual, t, n, name);
    }
    for (long j = 0; j < n; j++) {
        check(j == 0 || creal(l[j]) >= creal(l[j - 1]), "ascending");
        for (long i = 0; i < n; i++)
            bv[i + j * n] *= l[j];
    }
    same(av, bv, n * n, t, name, n);
    if (!generalised)
        orthonormal(v, n, n, t, name);
    /* The values alone are the same. */
    mat_put(&a), mat_put(&b);
    if (!generalised) {
        check(fn(t, name)(handle, 0, up, n, a.device, a.ld, w, work, WORK, info_at, params) == 0 && info_get() == 0, "values");
        cplx *again = array_get(real_of(t), w, n);
        same(again, l, n, t, "values alone", n);
        free(again);
    }
    free(v), free(l), free(first), free(bv);
    if (av != first)
        free(av);
    cusolverDnDestroySyevjInfo(params);
    cudaFree(w), cudaFree(work);
    mat_drop(&a), mat_drop(&b);
}

/* Some of the values, of one matrix and of two: those that all of them have there. */
static void eigen_range(void)
{
    enum { N = 9 };
    struct mat a = mat_make('d', N, N), c = mat_make('c', N, N);
    double *w = array_new('d', N), *work = array_new('d', WORK), all[N], some[N];
    float *wc = array_new('s', N), allc[N], somec[N];
    int found = -1;
    int64_t found64 = -1;
    cuComplex *workc = array_new('c', WORK);
    symmetrise(&a, 1, 0), symmetrise(&c, 1, 0);
    check(cusolverDnDsyevd(handle, 0, 0, N, a.device, (int)a.ld, w, work, WORK, info_at) == 0, "syevd");
    cudaMemcpy(all, w, sizeof all, 2);
    mat_put(&a);
    check(cusolverDnDsyevdx(handle, 1, CUSOLVER_EIG_RANGE_I, 0, N, a.device, (int)a.ld, 0, 0, 3, 5, &found, w, work, WORK,
                            info_at) == 0 &&
              found == 3 && info_get() == 0,
          "syevdx: %d", found);
    cudaMemcpy(some, w, sizeof some, 2);
    for (int i = 0; i < 3; i++)
        check(fabs(some[i] - all[i + 2]) < 1e-10, "syevdx: %g, not %g", some[i], all[i + 2]);
    cplx *v = mat_get(&a), *av = times(a.v, N, N_, v, N, N_, N, N, 3);
    for (int i = 0; i < 3 * N; i++)
        v[i] *= some[i / N];
    same(av, v, 3 * N, 'd', "syevdx", 3);
    mat_put(&a);
    double low = (all[1] + all[2]) / 2, high = (all[6] + all[7]) / 2;
    check(cusolverDnXsyevdx(handle, NULL, 0, CUSOLVER_EIG_RANGE_V, 1, N, CUDA_R_64F, a.device, a.ld, &low, &high, 0, 0, &found64,
                            CUDA_R_64F, w, CUDA_R_64F, work, 16, NULL, 0, info_at) == 0 &&
              found64 == 5,
          "Xsyevdx: %d", (int)found64);
    check(cusolverDnCheevd(handle, 0, 0, N, c.device, (int)c.ld, wc, workc, WORK, info_at) == 0, "heevd");
    cudaMemcpy(allc, wc, sizeof allc, 2);
    mat_put(&c);
    check(cusolverDnCheevdx(handle, 1, CUSOLVER_EIG_RANGE_V, 0, N, c.device, (int)c.ld, allc[0] - 1, (allc[3] + allc[4]) / 2, 0,
                            0, &found, wc, workc, WORK, info_at) == 0 &&
              found == 4,
          "heevdx: %d", found);
    cudaMemcpy(somec, wc, sizeof somec, 2);
    check(fabsf(somec[3] - allc[3]) < 1e-4f, "heevdx: %g, not %g", somec[3], allc[3]);
    check(cusolverDnDsyevdx(handle, 1, CUSOLVER_EIG_RANGE_I, 0, N, a.device, (int)a.ld, 0, 0, 0, 5, &found, w, work, WORK,
                            info_at) == CUSOLVER_STATUS_INVALID_VALUE,
          "il 0");
    free(v), free(av);
    cudaFree(w), cudaFree(work), cudaFree(wc), cudaFree(workc);
    mat_drop(&a), mat_drop(&c);
}

/* U S V^H is A. */
static void svd_check(const struct mat *a, const cplx *u, const cplx *s, const cplx *vh, long ldv, long k, const char *what)
{
    cplx *us = malloc((size_t)(a->m * k + 1) * sizeof *us);
    for (long i = 0; i < a->m * k; i++)
        us[i] = u[i] * s[i / a->m];
    cplx *p = times(us, a->m, N_, vh, ldv, N_, a->m, k, a->n);
    same(p, a->v, a->m * a->n, a->t, what, k);
    orthonormal(u, a->m, k, a->t, what);
    for (long i = 1; i < k; i++)
        check(creal(s[i]) <= creal(s[i - 1]) && creal(s[i]) >= 0, "%s: descending", what);
    free(us), free(p);
}

static cplx *transposed(const cplx *v, long n, long k)
{
    cplx *t = malloc((size_t)(n * k + 1) * sizeof *t);
    for (long i = 0; i < n * k; i++)
        t[i / n + i % n * k] = conj(v[i]);
    return t;
}

static void svd(char t, long m, long n)
{
    struct mat a = mat_make(t, m, n);
    long k = m < n ? m : n;
    void *s = array_new('d', k), *work = array_new(t, WORK), *rwork = array_new('d', WORK);
    gesvdjInfo_t params;
    check(cusolverDnCreateGesvdjInfo(&params) == 0, "params");
    for (int economic = 0; economic < 2; economic++) {
        struct mat u = mat_make(t, m, economic ? k : m), vt = mat_make(t, economic ? k : n, n),
                   v = mat_make(t, n, economic ? k : n);
        if (m >= n) {
            mat_put(&a);
            char job = economic ? 'S' : 'A';
            check(fn(t, "gesvd")(handle, job, job, m, n, a.device, a.ld, s, u.device, u.ld, vt.device, vt.ld, work, WORK, rwork,
                                 info_at) == 0 &&
                      info_get() == 0,
                  "gesvd");
            cplx *uv = mat_get(&u), *sv = array_get(real_of(t), s, k), *vv = mat_get(&vt);
            svd_check(&a, uv, sv, vv, vt.m, k, "gesvd");
            free(uv), free(sv), free(vv);
        }
        mat_put(&a);
        check(fn(t, "gesvdj")(handle, 1, economic, m, n, a.device, a.ld, s, u.device, u.ld, v.device, v.ld, work, WORK, info_at,
                              params) == 0 &&
                  info_get() == 0,
              "gesvdj");
        double residual = -1;
        residual_small(cusolverDnXgesvdjGetResidual(handle, params, &residual), &residual, t, m + n, "gesvdj");
        cplx *uv = mat_get(&u), *sv = array_get(real_of(t), s, k), *vv = mat_get(&v), *vh = transposed(vv, n, v.n);
        svd_check(&a, uv, sv, vh, v.n, k, "gesvdj");
        orthonormal(vv, n, v.n, t, "gesvdj V");
        free(uv), free(sv), free(vv), free(vh);
        mat_drop(&u), mat_drop(&vt), mat_drop(&v);
    }
    cusolverDnDestroyGesvdjInfo(params);
    cudaFree(s), cudaFree(work), cudaFree(rwork);
    mat_drop(&a);
}

/* Three matrices one after the other. */
static void batches(char t)
{
    enum { N = 5, BATCH = 3 };
    struct mat a = mat_make(t, N, N * BATCH), b = mat_make(t, N, BATCH);
    void *w = array_new('d', N * BATCH), *infos = array_new('z', BATCH), *work = array_new(t, WORK);
    int host[BATCH];
    syevjInfo_t params;
    cusolverDnCreateSyevjInfo(&params);
    for (int k = 0; k < BATCH; k++) {
        struct mat one = { t, N, N, a.ld, (char *)a.device + (size_t)(k * N * a.ld) * size_of(t), a.v + k * N * N };
        symmetrise(&one, 1, 1);
    }
    /* By pointers: factors, then solutions. */
    void *pa[BATCH], *pb[BATCH], *da = array_new('z', BATCH), *db = array_new('z', BATCH);
    for (int k = 0; k < BATCH; k++)
        pa[k] = (char *)a.device + (size_t)(k * N * a.ld) * size_of(t),
        pb[k] = (char *)b.device + (size_t)(k * b.ld) * size_of(t);
    cudaMemcpy(da, pa, sizeof pa, 1), cudaMemcpy(db, pb, sizeof pb, 1);
    check(fn(t, "potrfBatched")(handle, 0, N, da, a.ld, infos, BATCH) == 0, "potrfBatched");
    check(fn(t, "potrsBatched")(handle, 0, N, 1, da, a.ld, db, b.ld, info_at, BATCH) == 0 && info_get() == 0, "potrsBatched");
    cudaMemcpy(host, infos, sizeof host, 2);
    check(host[0] == 0 && host[1] == 0 && host[2] == 0, "infos");
    cplx *x = mat_get(&b);
    for (int k = 0; k < BATCH; k++) {
        cplx *ax = times(a.v + k * N * N, N, N_, x + k * N, N, N_, N, N, 1);
        same(ax, b.v + k * N, N, t, "potrsBatched", k);
        free(ax);
    }
    /* Eigenvalues and vectors. */
    mat_put(&a);
    check(fn(t, "syevjBatched|heevjBatched")(handle, 1, 0, N, a.device, a.ld, w, work, WORK, infos, params, BATCH) == 0,
          "syevjBatched");
    cplx *v = mat_get(&a), *l = array_get(real_of(t), w, N * BATCH);
    for (int k = 0; k < BATCH; k++) {
        cplx *av = times(a.v + k * N * N, N, N_, v + k * N * N, N, N_, N, N, N);
        for (int i = 0; i < N * N; i++)
            v[k * N * N + i] *= l[k * N + i / N];
        same(av, v + k * N * N, N * N, t, "syevjBatched", k);
        free(av);
    }
    free(x), free(v), free(l);
    cusolverDnDestroySyevjInfo(params);
    cudaFree(w), cudaFree(infos), cudaFree(work), cudaFree(da), cudaFree(db);
    mat_drop(&a), mat_drop(&b);
}

/* Of each of a batch, the first singular values and vectors. */
static void svd_batches(char t)
{
    enum { M = 7, N = 4, BATCH = 3, RANK = 2 };
    struct mat a = mat_make(t, M, N * BATCH), u = mat_make(t, M, RANK * BATCH), v = mat_make(t, N, RANK * BATCH);
    void *s = array_new('d', N * BATCH), *infos = array_new('z', BATCH), *work = array_new(t, WORK);
    double residuals[BATCH];
    check(fn(t, "gesvdaStridedBatched")(handle, 1, RANK, M, N, a.device, a.ld, (long long)(a.ld * N), s, (long long)N, u.device,
                                        u.ld, (long long)(u.ld * RANK), v.device, v.ld, (long long)(v.ld * RANK), work, WORK,
                                        infos, residuals, BATCH) == 0,
          "gesvda");
    cplx *uv = mat_get(&u), *vv = mat_get(&v), *sv = array_get(real_of(t), s, N * BATCH);
    for (int k = 0; k < BATCH; k++) {
        double sum = 0;
        cplx *av = times(a.v + k * M * N, M, N_, vv + k * N * RANK, N, N_, M, N, RANK), *us = malloc(M * RANK * sizeof *us);
        for (int i = 0; i < M * RANK; i++)
            us[i] = uv[k * M * RANK + i] * sv[k * N + i / M];
        same(av, us, M * RANK, t, "gesvda", k);
        orthonormal(uv + k * M * RANK, M, RANK, t, "gesvda U");
        cplx *vh = transposed(vv + k * N * RANK, N, RANK), *p = times(us, M, N_, vh, RANK, N_, M, RANK, N);
        for (int i = 0; i < M * N; i++)
            sum += creal((p[i] - a.v[k * M * N + i]) * conj(p[i] - a.v[k * M * N + i]));
        check(fabs(sqrt(sum) - residuals[k]) <= tolerance(t) * (1 + sum), "gesvda: residual %g, not %g", residuals[k], sqrt(sum));
        free(av), free(us), free(vh), free(p);
    }
    free(uv), free(vv), free(sv);
    /* All of them by gesvdjBatched, where V is square. */
    struct mat uu = mat_make(t, M, M * BATCH), ww = mat_make(t, N, N * BATCH);
    gesvdjInfo_t params;
    cusolverDnCreateGesvdjInfo(&params);
    mat_put(&a);
    check(fn(t, "gesvdjBatched")(handle, 1, M, N, a.device, a.ld, s, uu.device, uu.ld, ww.device, ww.ld, work, WORK, infos,
                                 params, BATCH) == 0,
          "gesvdjBatched");
    cplx *u2 = mat_get(&uu), *w2 = mat_get(&ww), *s2 = array_get(real_of(t), s, N * BATCH);
    for (int k = 0; k < BATCH; k++) {
        struct mat one = { t, M, N, a.ld, NULL, a.v + k * M * N };
        cplx *vh = transposed(w2 + k * N * N, N, N);
        svd_check(&one, u2 + k * M * M, s2 + k * N, vh, N, N, "gesvdjBatched");
        free(vh);
    }
    free(u2), free(w2), free(s2);
    cusolverDnDestroyGesvdjInfo(params);
    mat_drop(&uu), mat_drop(&ww);
    cudaFree(s), cudaFree(infos), cudaFree(work);
    mat_drop(&a), mat_drop(&u), mat_drop(&v);
}

static cudaDataType type_of(char t)
{
    return t == 's' ? CUDA_R_32F : t == 'd' ? CUDA_R_64F : t == 'c' ? CUDA_C_32F : CUDA_C_64F;
}

/* The 64-bit interface: LU with 64-bit pivots, any matrix's eigenvalues, an inverse triangle. */
static void wide(char t, long n)
{
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, 2), vr = mat_make(t, n, n);
    char tc = t == 's' ? 'c' : t == 'd' ? 'z' : t;
    cudaDataType type = type_of(t);
    size_t device = 0, host = 0, asked = 0;
    static char room[1 << 20];
    cusolverDnParams_t params;
    int64_t *pivots = array_new('z', n);
    void *w = array_new('z', n), *work = array_new('z', WORK);
    check(cusolverDnCreateParams(&params) == 0, "params");
    check(cusolverDnXgetrf_bufferSize(handle, params, n, n, type, a.device, a.ld, type, &asked, &host) == 0 &&
              asked <= 16 * WORK && host <= sizeof room,
          "size");
    device = 16 * WORK, host = sizeof room;
    check(cusolverDnXgetrf(handle, params, n, n, type, a.device, a.ld, pivots, type, work, device, room, host, info_at) == 0 &&
              info_get() == 0,
          "Xgetrf");
    check(cusolverDnXgetrs(handle, params, 1, n, 2, type, a.device, a.ld, pivots, type, b.device, b.ld, info_at) == 0 &&
              info_get() == 0,
          "Xgetrs");
    cplx *x = mat_get(&b), *ax = times(a.v, n, T_, x, n, N_, n, n, 2);
    same(ax, b.v, 2 * n, t, "Xgetrs", n);
    free(x), free(ax);
    mat_put(&a);
    check(cusolverDnXgeev(handle, params, 0, 1, n, type, a.device, a.ld, type_of(tc), w, type, NULL, 1, type, vr.device, vr.ld,
                          type, work, device, room, host, info_at) == 0 &&
              info_get() == 0,
          "Xgeev");
    cplx *l = array_get(tc, w, n), *v = mat_get(&vr), *vectors = calloc((size_t)(n * n + 1), sizeof *vectors);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++) {
            cplx u = v[i + j * n];
            if (!is_complex(t) && cimag(l[j]) > 0)
                u += CMPLX(0, 1) * v[i + (j + 1) * n];
            else if (!is_complex(t) && cimag(l[j]) < 0)
                u = v[i + (j - 1) * n] - CMPLX(0, 1) * u;
            vectors[i + j * n] = u;
        }
    cplx *av = times(a.v, n, N_, vectors, n, N_, n, n, n);
    for (long i = 0; i < n * n; i++)
        vectors[i] *= l[i / n];
    same(av, vectors, n * n, t, "Xgeev", n);
    cplx *kept = mat_get(&a);
    check(!memcmp(kept, a.v, (size_t)(n * n) * sizeof *kept), "Xgeev: the matrix itself is changed");
    free(kept);
    if (tc != t) { /* the same in two parts */
        mat_put(&a);
        check(cusolverDnXgeev(handle, params, 0, 0, n, type, a.device, a.ld, type, w, type, NULL, 1, type, NULL, 1, type, work,
                              device, room, host, info_at) == 0 &&
                  info_get() == 0,
              "Xgeev in two parts");
        cplx *parts = array_get(t, w, 2 * n);
        for (long i = 0; i < n; i++)
            check(cabs(CMPLX(creal(parts[i]), creal(parts[n + i])) - l[i]) < 10 * tolerance(t), "Xgeev in two parts: %ld", i);
        free(parts);
    }
    free(l), free(v), free(vectors), free(av);
    for (long i = 0; i < n; i++)
        a.v[i + i * n] = 4;
    mat_put(&a);
    check(cusolverDnXtrtri(handle, 1, 0, n, type, a.device, a.ld, work, device, room, host, info_at) == 0 && info_get() == 0,
          "Xtrtri");
    cplx *f = mat_get(&a), *inverse = triangle(f, n, n, n, 1, 0), *u = triangle(a.v, n, n, n, 1, 0),
         *one = times(u, n, N_, inverse, n, N_, n, n, n);
    for (long i = 0; i < n * n; i++)
        check(cabs(one[i] - (i % n == i / n)) < tolerance(t), "Xtrtri");
    free(f), free(inverse), free(u), free(one);
    cusolverDnDestroyParams(params);
    cudaFree(pivots), cudaFree(w), cudaFree(work);
    mat_drop(&a), mat_drop(&b), mat_drop(&vr);
}

/* Reductions: Q^H A P is the bidiagonal, Q^H A Q the tridiagonal matrix. */
static void reductions(char t)
{
    enum { M = 8, N = 6 };
    struct mat a = mat_make(t, M, N), h = mat_make(t, N, N);
    void *d = array_new('d', N), *e = array_new('d', N), *tauq = array_new(t, N), *taup = array_new(t, N),
         *work = array_new(t, WORK);
    check(fn(t, "gebrd")(handle, M, N, a.device, a.ld, d, e, tauq, taup, work, WORK, info_at) == 0 && info_get() == 0, "gebrd");
    struct mat copy = mat_make(t, M, N), p = mat_make(t, N, N);
    cplx *f = mat_get(&a), *dv = array_get(real_of(t), d, N), *ev = array_get(real_of(t), e, N - 1);
    memcpy(copy.v, f, M * N * sizeof *f);
    mat_put(&copy);
    for (long i = 0; i < N * N; i++)
        p.v[i] = f[i % N + i / N * M];
    mat_put(&p);
    check(fn(t, "orgbr|ungbr")(handle, 0, M, N, N, copy.device, copy.ld, tauq, work, WORK, info_at) == 0 && info_get() == 0,
          "orgbr Q");
    check(fn(t, "orgbr|ungbr")(handle, 1, N, N, M, p.device, p.ld, taup, work, WORK, info_at) == 0 && info_get() == 0, "orgbr P");
    cplx *q = mat_get(&copy), *ph = mat_get(&p), *bi = calloc(N * N, sizeof *bi);
    for (long i = 0; i < N; i++) {
        bi[i + i * N] = dv[i];
        if (i + 1 < N)
            bi[i + (i + 1) * N] = ev[i];
    }
    cplx *qb = times(q, M, N_, bi, N, N_, M, N, N), *back = times(qb, M, N_, ph, N, N_, M, N, N);
    same(back, a.v, M * N, t, "gebrd", N);
    free(f), free(dv), free(ev), free(q), free(ph), free(bi), free(qb), free(back);
    symmetrise(&h, 1, 0);
    check(fn(t, "sytrd|hetrd")(handle, 0, N, h.device, h.ld, d, e, tauq, work, WORK, info_at) == 0 && info_get() == 0, "sytrd");
    cplx *tv = calloc(N * N, sizeof *tv);
    dv = array_get(real_of(t), d, N), ev = array_get(real_of(t), e, N - 1);
    for (long i = 0; i < N; i++) {
        tv[i + i * N] = dv[i];
        if (i + 1 < N)
            tv[i + (i + 1) * N] = tv[i + 1 + i * N] = ev[i];
    }
    struct mat c = mat_make(t, N, N);
    check(fn(t, "ormtr|unmtr")(handle, 0, 0, is_complex(t) ? C_ : T_, N, N, h.device, h.ld, tauq, c.device, c.ld, work, WORK,
                               info_at) == 0 &&
              info_get() == 0,
          "ormtr");
    check(fn(t, "orgtr|ungtr")(handle, 0, N, h.device, h.ld, tauq, work, WORK, info_at) == 0 && info_get() == 0, "orgtr");
    cplx *qt = mat_get(&h), *x = times(qt, N, N_, tv, N, N_, N, N, N), *y = times(x, N, N_, qt, N, C_, N, N, N);
    same(y, h.v, N * N, t, "sytrd", N);
    cplx *cv = mat_get(&c), *want = times(qt, N, C_, c.v, N, N_, N, N, N);
    same(cv, want, N * N, t, "ormtr", N);
    free(tv), free(dv), free(ev), free(qt), free(x), free(y), free(cv), free(want);
    cudaFree(d), cudaFree(e), cudaFree(tauq), cudaFree(taup), cudaFree(work);
    mat_drop(&a), mat_drop(&h), mat_drop(&copy), mat_drop(&p), mat_drop(&c);
}

/* Symmetric, not Hermitian, and indefinite: solutions by the 64-bit interface, the inverse. */
static void indefinite(char t, long n)
{
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, 2);
    void *work = array_new(t, WORK);
    int host[64], *ipiv = array_new('z', n);
    int64_t host64[64], *wide_pivots = array_new('z', n);
    symmetrise(&a, 0, 0);
    check(fn(t, "sytrf")(handle, 0, n, a.device, a.ld, ipiv, work, WORK, info_at) == 0 && info_get() == 0, "sytrf");
    cudaMemcpy(host, ipiv, (size_t)n * 4, 2);
    for (long i = 0; i < n; i++)
        host64[i] = host[i];
    cudaMemcpy(wide_pivots, host64, (size_t)n * 8, 1);
    check(cusolverDnXsytrs(handle, 0, n, 2, type_of(t), a.device, a.ld, wide_pivots, type_of(t), b.device, b.ld, work, 16, NULL,
                           0, info_at) == 0 &&
              info_get() == 0,
          "Xsytrs");
    cplx *x = mat_get(&b), *ax = times(a.v, n, N_, x, n, N_, n, n, 2);
    same(ax, b.v, 2 * n, t, "Xsytrs", n);
    check(fn(t, "sytri")(handle, 0, n, a.device, a.ld, ipiv, work, WORK, info_at) == 0 && info_get() == 0, "sytri");
    cplx *inverse = mat_get(&a);
    for (long j = 0; j < n; j++)
        for (long i = 0; i < j; i++)
            inverse[i + j * n] = inverse[j + i * n];
    cplx *one = times(a.v, n, N_, inverse, n, N_, n, n, n);
    for (long i = 0; i < n * n; i++)
        check(cabs(one[i] - (i % n == i / n)) < 10 * tolerance(t), "sytri: %g", cabs(one[i]));
    free(x), free(ax), free(inverse), free(one);
    cudaFree(work), cudaFree(ipiv), cudaFree(wide_pivots);
    mat_drop(&a), mat_drop(&b);
}

/* Systems in two precisions, and least squares: the rest is orthogonal to the columns. */
static void refined(char t, const char *square, const char *least, long m, long n)
{
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, 2), x = mat_make(t, n, 2);
    struct mat l = mat_make(t, m, n), r = mat_make(t, m, 2);
    void *work = array_new(t, WORK), *ipiv = array_new('z', n);
    int iterations = 7;
    size_t size = 0;
    char name[32];
    snprintf(name, sizeof name, "%s_bufferSize", square);
    check(fn(t, name)(handle, n, 2, a.device, a.ld, ipiv, b.device, b.ld, x.device, x.ld, NULL, &size) == 0 && size > 0, "size");
    size = (size_t)WORK * size_of(t);
    check(fn(t, square)(handle, n, 2, a.device, a.ld, ipiv, b.device, b.ld, x.device, x.ld, work, size, &iterations, info_at) ==
                  0 &&
              info_get() == 0 && iterations == 0,
          "gesv");
    cplx *v = mat_get(&x), *av = times(a.v, n, N_, v, n, N_, n, n, 2);
    same(av, b.v, n * 2, t, square, n);
    check(fn(t, least)(handle, m, n, 2, l.device, l.ld, r.device, r.ld, x.device, x.ld, work, size, &iterations, info_at) == 0 &&
              info_get() == 0,
          "gels");
    cplx *w = mat_get(&x), *rest = times(l.v, m, N_, w, n, N_, m, n, 2);
    for (long i = 0; i < m * 2; i++)
        rest[i] -= r.v[i];
    cplx *zero = times(l.v, m, C_, rest, m, N_, n, m, 2);
    for (long i = 0; i < n * 2; i++)
        check(cabs(zero[i]) < 10 * tolerance(t), "%c %s: %g", t, least, cabs(zero[i]));
    free(v), free(av), free(w), free(rest), free(zero);
    cudaFree(work), cudaFree(ipiv);
    mat_drop(&a), mat_drop(&b), mat_drop(&x), mat_drop(&l), mat_drop(&r);
}

/* The same by the interface of parameters; precisions are cusolverPrecType_t's. */
static void refined_by_parameters(char t, int precision, int lowest, long m, long n)
{
    enum { GMRES = 1104 };
    struct mat a = mat_make(t, n, n), b = mat_make(t, n, 2), x = mat_make(t, n, 2);
    struct mat l = mat_make(t, m, n), r = mat_make(t, m, 2);
    cusolverDnIRSParams_t params;
    cusolverDnIRSInfos_t infos;
    int iterations = 7, most = 7, told = 7, M = (int)m, n_ = (int)n;
    size_t size = 0;
    check(cusolverDnIRSParamsCreate(&params) == 0 && cusolverDnIRSInfosCreate(&infos) == 0, "create");
#define SYSTEM(params, infos)                                                                                                    \
    cusolverDnIRSXgesv(handle, params, infos, n_, 2, a.device, (int)a.ld, b.device, (int)b.ld, x.device, (int)x.ld, NULL, 0,     \
                       &iterations, info_at)
    check(SYSTEM(params, infos) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC, "no precision was set");
    check(cusolverDnIRSParamsSetSolverPrecisions(params, precision, lowest) == 0, "precisions");
    check(cusolverDnIRSParamsSetRefinementSolver(params, GMRES) == 0 && cusolverDnIRSParamsSetMaxIters(params, 33) == 0 &&
              cusolverDnIRSParamsSetTol(params, 1e-12) == 0 && cusolverDnIRSParamsEnableFallback(params) == 0,
          "parameters");
    check(cusolverDnIRSInfosGetNiters(infos, &told) == CUSOLVER_STATUS_INVALID_VALUE, "nothing was solved");
    check(cusolverDnIRSXgesv_bufferSize(handle, params, n_, 2, &size) == 0 && size > 0, "size");
    check(SYSTEM(params, infos) == 0 && info_get() == 0 && iterations == 0, "IRSXgesv");
    cplx *v = mat_get(&x), *av = times(a.v, n, N_, v, n, N_, n, n, 2);
    same(av, b.v, n * 2, t, "IRSXgesv", n);
    check(cusolverDnIRSXgels(handle, params, infos, M, n_, 2, l.device, (int)l.ld, r.device, (int)r.ld, x.device, (int)x.ld, NULL,
                             0, &iterations, info_at) == 0 &&
              info_get() == 0,
          "IRSXgels");
    cplx *w = mat_get(&x), *rest = times(l.v, m, N_, w, n, N_, m, n, 2);
    for (long i = 0; i < m * 2; i++)
        rest[i] -= r.v[i];
    cplx *zero = times(l.v, m, C_, rest, m, N_, n, m, 2);
    for (long i = 0; i < n * 2; i++)
        check(cabs(zero[i]) < 10 * tolerance(t), "%c IRSXgels: %g", t, cabs(zero[i]));
    check(cusolverDnIRSInfosGetNiters(infos, &told) == 0 && told == 0 && cusolverDnIRSInfosGetMaxIters(infos, &most) == 0 &&
              most == 33,
          "what is told: %d %d", told, most);
    check(cusolverDnIRSParamsSetSolverLowestPrecision(params, precision > 1210 ? 1204 : 1214) == 0 &&
              SYSTEM(params, infos) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC,
          "real and complex");
    check(cusolverDnIRSParamsSetSolverMainPrecision(params, 1205) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC, "half");
    check(cusolverDnIRSParamsSetRefinementSolver(params, 1) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE, "solver");
    check(cusolverDnIRSParamsSetMaxIters(params, -1) == CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER, "most");
    check(SYSTEM(NULL, infos) == CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED, "no parameters");
    check(cusolverDnIRSParamsDestroy(params) == 0 && cusolverDnIRSInfosDestroy(infos) == 0, "destroy");
#undef SYSTEM
    free(v), free(av), free(w), free(rest), free(zero);
    mat_drop(&a), mat_drop(&b), mat_drop(&x), mat_drop(&l), mat_drop(&r);
}

/* What goes wrong is said in devInfo; what is wrong of the arguments, at once. */
static void failures_said(void)
{
    enum { N = 4 };
    struct mat a = mat_make('d', N, N);
    double *work = array_new('d', WORK), *w = array_new('d', N);
    int *ipiv = array_new('z', N), lwork, version = 0;
    symmetrise(&a, 1, 1);
    a.v[2 + 2 * N] = -5;
    mat_put(&a);
    check(cusolverDnDpotrf(handle, 0, N, a.device, (int)a.ld, work, WORK, info_at) == 0 && info_get() == 3, "not definite: %d",
          info_get());
    for (int i = 0; i < N * N; i++)
        a.v[i] = i / N == 1 ? 0 : i % 5 + i / N;
    mat_put(&a);
    check(cusolverDnDgetrf(handle, N, N, a.device, (int)a.ld, work, ipiv, info_at) == 0 && info_get() == 2, "singular: %d",
          info_get());
    a.v[5] = NAN;
    mat_put(&a);
    check(cusolverDnDgesvdj(handle, 0, 0, N, N, a.device, (int)a.ld, w, NULL, 1, NULL, 1, work, WORK, info_at, NULL) == 0 &&
              info_get() == N + 1,
          "NaN: %d", info_get());
#define INVALID(call) check((call) == CUSOLVER_STATUS_INVALID_VALUE, #call)
    INVALID(cusolverDnDpotrf(handle, 5, N, a.device, N, work, WORK, info_at));
    INVALID(cusolverDnDpotrf(handle, 0, -1, a.device, N, work, WORK, info_at));
    INVALID(cusolverDnDpotrf(handle, 0, N, a.device, N - 1, work, WORK, info_at));
    INVALID(cusolverDnDpotrf(handle, 0, N, NULL, N, work, WORK, info_at));
    INVALID(cusolverDnDpotrf(handle, 0, N, a.device, N, work, WORK, NULL));
    INVALID(cusolverDnDgetrs(handle, 3, N, 1, a.device, N, ipiv, w, N, info_at));
    INVALID(cusolverDnDgesvd(handle, 'A', 'A', 2, 3, a.device, 2, w, work, 2, work, 3, work, WORK, NULL, info_at));
    INVALID(cusolverDnDormqr(handle, 0, 0, N, 1, N + 1, a.device, N, w, work, N, work, WORK, info_at));
    INVALID(cusolverDnDsyevd(handle, 2, 0, N, a.device, N, w, work, WORK, info_at));
    INVALID(cusolverDnDpotrf_bufferSize(handle, 0, -1, NULL, 1, &lwork));
    check(cusolverDnDgeqrf_bufferSize(handle, 5, 4, NULL, 4, &lwork) == 0, "a query as CuPy makes it");
    INVALID(cusolverDnXpotrf(handle, NULL, 0, N, CUDA_R_16F, a.device, N, CUDA_R_16F, work, 16, NULL, 0, info_at));
    INVALID(cusolverDnCreate(NULL));
    check(cusolverDnDpotrf(NULL, 0, N, a.device, N, work, WORK, info_at) == CUSOLVER_STATUS_NOT_INITIALIZED, "no handle");
    check(cusolverDnDestroy(NULL) == CUSOLVER_STATUS_NOT_INITIALIZED, "destroy NULL");
    INVALID(cusolverDnXsyevjGetResidual(handle, NULL, NULL));
    check(cusolverGetVersion(&version) == 0 && version / 1000 == 12, "version %d", version);
    cudaFree(work), cudaFree(w), cudaFree(ipiv);
    mat_drop(&a);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    cudaMalloc(&info_at, 256);
    check(cusolverDnCreate(&handle) == 0, "create");
    for (const char *t = quick ? "z" : "sdcz"; *t; t++) {
        for (long n = 1; n < 40; n += quick ? 25 : 12) {
            cholesky(*t, n, 0), cholesky(*t, n, 1);
            lu(*t, n, n, 1), lu(*t, n, n, 0), lu(*t, n, n + 3, 1), lu(*t, n + 3, n, 1);
            qr(*t, n, n), qr(*t, n + 4, n), qr(*t, n, n + 4);
            for (int k = 0; k < 8; k++)
                eigen(*t, n, k & 1, k >> 1 & 1 ? 1 + (int)n / 12 % 3 : 0, k >> 2);
            svd(*t, n, n), svd(*t, n + 5, n), svd(*t, n, n + 5);
            wide(*t, n);
            indefinite(*t, n);
        }
        batches(*t);
        svd_batches(*t);
        reductions(*t);
    }
    refined('s', "Hgesv", "Hgels", 9, 6), refined('d', "Sgesv", "Sgels", 12, 12);
    refined_by_parameters('s', 1204, 1205, 9, 6), refined_by_parameters('d', 1203, 1207, 12, 12);
    refined_by_parameters('c', 1214, 1214, 7, 1), refined_by_parameters('z', 1213, 1216, 20, 11);
    refined('c', "Cgesv", "Cgels", 7, 1), refined('z', "Kgesv", "Kgels", 20, 11);
    cholesky('d', 0, 0), lu('d', 0, 0, 1), eigen('d', 0, 0, 0, 0);
    eigen_range();
    failures_said();
    check(cusolverDnDestroy(handle) == 0, "destroy");
    return test_end("dense");
}
