/* The sparse part of cuSOLVER: a solution, multiplied with the matrix by plain loops, is the right-hand side. Without
 * CXSparse: skipped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

static cusolverSpHandle_t handle;

static void *upload(const void *from, size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size + 16);
    cudaMemcpy(p, from, size, 1);
    return p;
}

/* All methods, on memory of the device and of the host, for a matrix of n rows. */
static void systems(char t, int n, int base, int order)
{
    static const char *const names[] = { "qr", "qrHost", "chol", "cholHost", "luHost" };
    cplx *dense = calloc((size_t)(n * n), sizeof *dense), *b = malloc((size_t)n * sizeof *b);
    void *val = malloc((size_t)(n * n) * 16), *rhs = malloc((size_t)n * 16), *x = malloc((size_t)n * 16);
    int *ptr = malloc((size_t)(n + 1) * 4), *ind = malloc((size_t)(n * n) * 4), singularity = 5;
    struct cusparseMatDescr descr = { .base = base };
    for (int method = 0; method < 5; method++) {
        int definite = method == 2 || method == 3, host = method & 1 || method == 4, nnz = 0;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                dense[i + j * n] = i == j ? 9 + n + creal(any_of(t)) : any() > 1 ? any_of(t) : 0;
        for (int j = 0; j < n && definite; j++)
            for (int i = 0; i < j; i++) /* the lower triangle counts; what is above must not */
                dense[i + j * n] = conj(dense[j + i * n]);
        for (int i = 0; i < n; i++) {
            ptr[i] = nnz + base;
            for (int j = 0; j < n; j++)
                if (dense[i + j * n] != 0)
                    put(t, val, nnz, definite && j > i ? 77 : dense[i + j * n]), ind[nnz++] = j + base;
            b[i] = any_of(t);
            put(t, rhs, i, b[i]);
        }
        ptr[n] = nnz + base;
        char name[64];
        snprintf(name, sizeof name, "cusolverSp%ccsrlsv%s", upper(t), names[method]);
        void *f = dlsym(RTLD_DEFAULT, name), *dv = upload(val, (size_t)nnz * size_of(t)), *dp = upload(ptr, (size_t)(n + 1) * 4),
             *di = upload(ind, (size_t)nnz * 4);
        void *db = upload(rhs, (size_t)n * size_of(t)), *dx = upload(rhs, (size_t)n * size_of(t));
#define SOLVE(R)                                                                                                               \
    ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, void *, void *, void *, R, int, void *,    \
                          int *))f)(handle, n, nnz, &descr, host ? val : dv, host ? (void *)ptr : dp, host ? (void *)ind : di, \
                                    host ? rhs : db, (R)1e-12, order, host ? x : dx, &singularity)
        int status = real_of(t) == 's' ? (int)SOLVE(float) : (int)SOLVE(double);
        check(status == 0 && singularity == -1, "%s: %d, singular at %d", name, status, singularity);
        if (!host)
            cudaMemcpy(x, dx, (size_t)n * size_of(t), 2);
        for (int i = 0; i < n; i++) {
            cplx s = 0;
            for (int j = 0; j < n; j++)
                s += dense[i + j * n] * get(t, x, j);
            if (!check(cabs(s - b[i]) < (real_of(t) == 's' ? 1e-3 : 1e-10), "%s n %d: [%d] is %g%+gi, not %g%+gi", name, n, i,
                       creal(s), cimag(s), creal(b[i]), cimag(b[i])))
                break;
        }
        cudaFree(dv), cudaFree(dp), cudaFree(di), cudaFree(db), cudaFree(dx);
    }
    free(dense), free(b), free(val), free(rhs), free(x), free(ptr), free(ind);
}

static void singular(void)
{
    double val[] = { 1, 2, 2, 4 }, b[] = { 1, 1 }, x[2] = { 0 };
    int ptr[] = { 0, 2, 4 }, ind[] = { 0, 1, 0, 1 }, at = 5;
    struct cusparseMatDescr descr = { 0 };
    check(cusolverSpDcsrlsvqrHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at == 1 && isnan(x[0]),
          "singular: %d", at);
    check(cusolverSpDcsrlsvluHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at == 1, "singular: %d", at);
    val[3] = -4;
    check(cusolverSpDcsrlsvcholHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at >= 0, "not definite: %d",
          at);
    descr.type = CUSPARSE_MATRIX_TYPE_SYMMETRIC;
    check(cusolverSpDcsrlsvqrHost(handle, 2, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) ==
              CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
          "type");
    descr.type = CUSPARSE_MATRIX_TYPE_GENERAL;
    check(cusolverSpDcsrlsvqrHost(handle, -1, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) == CUSOLVER_STATUS_INVALID_VALUE, "n");
    check(cusolverSpDcsrlsvqrHost(NULL, 2, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) == CUSOLVER_STATUS_NOT_INITIALIZED,
          "handle");
}

/* Values at one place are summed. */
static void twice(void)
{
    double val[] = { 1, 2, 5, 1, 3 }, b[] = { 6, 8 }, x[2];
    int ptr[] = { 0, 3, 5 }, ind[] = { 0, 0, 1, 1, 1 }, at; /* 3 5; 0 4 */
    struct cusparseMatDescr descr = { 0 };
    int (*const f[])(cusolverSpHandle_t, int, int, cusparseMatDescr_t, const double *, const int *, const int *, const double *,
                     double, int, double *, int *) = { (void *)cusolverSpDcsrlsvqrHost, (void *)cusolverSpDcsrlsvluHost };
    for (int k = 0; k < 2; k++)
        check(f[k](handle, 2, 5, &descr, val, ptr, ind, b, 0, k, x, &at) == 0 && fabs(x[1] - 2) < 1e-12 &&
                  fabs(x[0] + 4. / 3) < 1e-12,
              "two values at one place, %d: %g %g", k, x[0], x[1]);
    double square[] = { 1, 3, 1, 1 };
    int corner[] = { 0, 0, 0, 1 };
    ptr[1] = 2, ptr[2] = 4;
    check(cusolverSpDcsrlsvcholHost(handle, 2, 4, &descr, square, ptr, corner, b, 0, 0, x, &at) == 0 && at == -1 &&
              fabs(4 * x[0] + x[1] - 6) < 1e-12 && fabs(x[0] + x[1] - 8) < 1e-12,
          "two values at one place by Cholesky: %g %g", x[0], x[1]);
}

/* ---- Eigenvalues. */

/* A chain (2 on the diagonal, -1 beside it, turned by i where complex): its eigenvalues are 2 - 2 cos(k pi / (n + 1)). */
static void eigen(char t, int n, int base, int host)
{
    void *val = malloc((size_t)n * 48), *first = malloc((size_t)n * 16), *x = malloc((size_t)n * 16), *mu = malloc(16);
    int *ptr = malloc((size_t)(n + 1) * 4), *ind = malloc((size_t)n * 12), nnz = 0, k = 1 + (int)((any() + 2) * n / 4);
    k = k > n ? n : k;
    double want = 2 - 2 * cos(k * acos(-1) / (n + 1)), tolerance = real_of(t) == 's' ? 1e-5 : 1e-11;
    struct cusparseMatDescr descr = { .base = base };
    for (int i = 0; i < n; i++) {
        ptr[i] = nnz + base;
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; j++) {
            put(t, val, nnz, i == j ? 2 : !is_complex(t) ? -1 : j > i ? -I : I);
            ind[nnz++] = j + base;
        }
        put(t, first, i, any_of(t) + 3 * ((i * k) % 3));
    }
    ptr[n] = nnz + base;
    char name[64];
    snprintf(name, sizeof name, "cusolverSp%ccsreigvsi%s", upper(t), host ? "Host" : "");
    void *f = dlsym(RTLD_DEFAULT, name), *dv = upload(val, (size_t)nnz * size_of(t)), *dp = upload(ptr, (size_t)(n + 1) * 4),
         *di = upload(ind, (size_t)nnz * 4), *d0 = upload(first, (size_t)n * size_of(t)),
         *dx = upload(first, (size_t)n * size_of(t)), *dm = upload(first, size_of(t));
    double near = want + (k & 1 ? 1e-3 : -1e-3); /* eigenvalues are 0.01 apart or more */
#define NEAREST(S, R, at)                                                                                                      \
    ((int (*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, void *, void *, S, void *, int, R, void *, void *))f)( \
        handle, n, nnz, &descr, host ? val : dv, host ? (void *)ptr : dp, host ? (void *)ind : di, at, host ? first : d0, 200, \
        (R)(tolerance / 10), host ? mu : dm, host ? x : dx)
    int status = t == 's'   ? NEAREST(float, float, (float)near)
                 : t == 'd' ? NEAREST(double, double, near)
                 : t == 'c' ? NEAREST(float _Complex, float, (float)near)
                            : NEAREST(double _Complex, double, near);
    if (!host)
        cudaMemcpy(x, dx, (size_t)n * size_of(t), 2), cudaMemcpy(mu, dm, size_of(t), 2);
    check(status == 0 && cabs(get(t, mu, 0) - want) < tolerance * 10, "%s n %d: %d, %.12g, not %.12g", name, n, status,
          creal(get(t, mu, 0)), want);
    double length = 0;
    for (int i = 0; i < n; i++) {
        cplx s = -want * get(t, x, i);
        for (int p = ptr[i] - base; p < ptr[i + 1] - base; p++)
            s += get(t, val, p) * get(t, x, ind[p] - base);
        length += creal(get(t, x, i) * conj(get(t, x, i)));
        check(cabs(s) < tolerance * 10, "%s n %d: [%d] is off by %g", name, n, i, cabs(s));
    }
    check(fabs(length - 1) < tolerance * 10, "%s: length %g", name, length);
    cudaFree(dv), cudaFree(dp), cudaFree(di), cudaFree(d0), cudaFree(dx), cudaFree(dm);
    free(val), free(first), free(x), free(mu), free(ptr), free(ind);
}

static void eigen_corners(void)
{
    double val[] = { 4, 1, 1, 4 }, first[] = { 1, 0.5 }, mu = 0, x[2];
    int ptr[] = { 0, 2, 4 }, ind[] = { 0, 1, 0, 1 };
    struct cusparseMatDescr descr = { 0 };
    check(cusolverSpDcsreigvsiHost(handle, 2, 4, &descr, val, ptr, ind, 5, first, 9, 1e-9, &mu, x) == 0 && fabs(mu - 5) < 1e-9 &&
              fabs(x[0] - x[1]) < 1e-9,
          "from an eigenvalue itself: %g", mu);
    check(cusolverSpDcsreigvsiHost(handle, 2, 4, &descr, val, ptr, ind, 0, first, 0, 1e-9, &mu, x) ==
              CUSOLVER_STATUS_INVALID_VALUE,
          "no steps");
    check(cusolverSpDcsreigvsiHost(handle, 2, 4, NULL, val, ptr, ind, 0, first, 1, 1e-9, &mu, x) == CUSOLVER_STATUS_INVALID_VALUE,
          "no description");
    descr.type = CUSPARSE_MATRIX_TYPE_HERMITIAN;
    check(cusolverSpDcsreigvsiHost(handle, 2, 4, &descr, val, ptr, ind, 0, first, 1, 1e-9, &mu, x) ==
              CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
          "type");
    check(cusolverSpDcsreigvsiHost(NULL, 2, 4, &descr, val, ptr, ind, 0, first, 1, 1e-9, &mu, x) ==
              CUSOLVER_STATUS_NOT_INITIALIZED,
          "handle");
}

/* ---- QR in steps, and of many. */

struct pattern {
    int m, n, nnz, base, *ptr, *ind;
    void *dp, *di;
};

static struct pattern pattern_make(int m, int n, int base)
{
    struct pattern p = { m, n, 0, base, malloc((size_t)(m + 1) * 4), malloc((size_t)(m * n) * 4), NULL, NULL };
    for (int i = 0; i < m; i++) {
        p.ptr[i] = p.nnz + base;
        for (int j = n - 1; j >= 0; j--) /* not in order */
            if (i % n == j || any() > 0.8)
                p.ind[p.nnz++] = j + base;
    }
    p.ptr[m] = p.nnz + base;
    p.dp = upload(p.ptr, (size_t)(m + 1) * 4), p.di = upload(p.ind, (size_t)p.nnz * 4);
    return p;
}

static void pattern_drop(struct pattern *p)
{
    cudaFree(p->dp), cudaFree(p->di), free(p->ptr), free(p->ind);
}

/* The rest b - (A - shift I) x is orthogonal to the matrix's columns: so it is for the least squares alone. */
static void least(const char *what, char t, const struct pattern *p, const void *val, cplx shift, const void *b, const void *x)
{
    cplx *r = calloc((size_t)p->m, sizeof *r), *s = calloc((size_t)p->n, sizeof *s);
    for (int i = 0; i < p->m; i++) {
        r[i] = get(t, b, i) + (i < p->n ? shift * get(t, x, i) : 0);
        for (int k = p->ptr[i] - p->base; k < p->ptr[i + 1] - p->base; k++)
            r[i] -= get(t, val, k) * get(t, x, p->ind[k] - p->base);
    }
    for (int i = 0; i < p->m; i++) {
        for (int k = p->ptr[i] - p->base; k < p->ptr[i + 1] - p->base; k++)
            s[p->ind[k] - p->base] += conj(get(t, val, k)) * r[i];
        if (i < p->n)
            s[i] -= conj(shift) * r[i];
    }
    for (int j = 0; j < p->n; j++)
        check(cabs(s[j]) < (real_of(t) == 's' ? 2e-3 : 1e-10), "%s %c %d x %d: column %d is off by %g", what, t, p->m, p->n, j,
              cabs(s[j]));
    free(r), free(s);
}

static void *values(char t, const struct pattern *p, int count)
{
    char *val = malloc((size_t)(p->nnz * count) * 16);
    for (int c = 0, at = 0; c < count; c++)
        for (int i = 0, k = 0; i < p->m; i++)
            for (; k < p->ptr[i + 1] - p->base; k++)
                put(t, val, at++, any_of(t) + (p->ind[k] - p->base == i % p->n ? 6 : 0));
    return val;
}

#define FIND(name, t, tail) (snprintf(text, sizeof text, "cusolverSp%c" name, upper(t)), dlsym(RTLD_DEFAULT, text))
static void qr_steps(char t, int m, int n, int base, int host)
{
    struct pattern p = pattern_make(m, n, base);
    struct cusparseMatDescr descr = { .base = base };
    void *val = values(t, &p, 1), *b = malloc((size_t)m * 16), *x = malloc((size_t)m * 16), *info = NULL;
    const char *tail = host ? "Host" : "";
    char text[64];
    size_t internal = 0, room = 0;
    int at = 5;
    for (int i = 0; i < m; i++)
        put(t, b, i, any_of(t));
    void *dv = upload(val, (size_t)p.nnz * size_of(t)), *db = upload(b, (size_t)m * size_of(t)),
         *dx = upload(b, (size_t)m * size_of(t));
    void *v = host ? val : dv, *rp = host ? (void *)p.ptr : p.dp, *ci = host ? (void *)p.ind : p.di, *hb = host ? b : db,
         *hx = host ? x : dx;
    typedef int any_f(void *first, ...);
#define CALL(name, ...) \
    (snprintf(text, sizeof text, "cusolverSp%s%s", name, tail), ((any_f *)dlsym(RTLD_DEFAULT, text))(__VA_ARGS__))
    char step[32];
#define STEP(name, ...) (snprintf(step, sizeof step, "%ccsrqr" name, upper(t)), CALL(step, __VA_ARGS__))
    check(CALL("CreateCsrqrInfo", &info) == 0, "create");
    check(CALL("XcsrqrAnalysis", handle, m, n, p.nnz, &descr, rp, ci, info) == 0, "analysis");
    check(STEP("Solve", handle, m, n, hb, hx, info, NULL) == CUSOLVER_STATUS_INVALID_VALUE, "solved before it is factored");
    check(STEP("BufferInfo", handle, m, n, p.nnz, &descr, v, rp, ci, info, &internal, &room) == 0 && internal && room, "room");
    double shift = 0.25;
    /* Arguments of these types need prototypes. */
    snprintf(text, sizeof text, "cusolverSp%ccsrqrSetup%s", upper(t), tail);
    void *f = dlsym(RTLD_DEFAULT, text);
#define SETUP(S, at)                                                                                        \
    ((int (*)(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, void *, void *, void *, S, void *))f)( \
        handle, m, n, p.nnz, &descr, v, rp, ci, at, info)
    int status = t == 's'   ? SETUP(float, (float)shift)
                 : t == 'd' ? SETUP(double, shift)
                 : t == 'c' ? SETUP(float _Complex, (float)shift)
                            : SETUP(double _Complex, shift);
    check(status == 0, "setup: %d", status);
    check(STEP("Factor", handle, m, n, p.nnz, NULL, NULL, info, NULL) == 0, "factor");
    check(STEP("Solve", handle, m, n, hb, hx, info, NULL) == 0, "solve");
    if (!host)
        cudaMemcpy(x, dx, (size_t)n * size_of(t), 2);
    least("csrqrSolve", t, &p, val, shift, b, x);
    snprintf(text, sizeof text, "cusolverSp%ccsrqrZeroPivot%s", upper(t), tail);
    f = dlsym(RTLD_DEFAULT, text);
#define PIVOT(R, bound) ((int (*)(cusolverSpHandle_t, void *, R, int *))f)(handle, info, (R)(bound), &at)
    check((real_of(t) == 's' ? PIVOT(float, 1e-6) : PIVOT(double, 1e-6)) == 0 && at == -1, "no zero pivot: %d", at);
    check((real_of(t) == 's' ? PIVOT(float, 1e6) : PIVOT(double, 1e6)) == 0 && at == 0, "all are small: %d", at);
    check(STEP("Solve", handle, m + 1, n, hb, hx, info, NULL) == CUSOLVER_STATUS_INVALID_VALUE, "another size");
    p.ind[0] = n + base;
    if (host)
        check(CALL("XcsrqrAnalysis", handle, m, n, p.nnz, &descr, rp, ci, info) == CUSOLVER_STATUS_INVALID_VALUE,
              "a wild column");
    check(CALL("DestroyCsrqrInfo", info) == 0, "destroy");
    cudaFree(dv), cudaFree(db), cudaFree(dx), free(val), free(b), free(x);
    pattern_drop(&p);
}

static void qr_many(char t, int m, int n, int base)
{
    enum { COUNT = 3 };
    struct pattern p = pattern_make(m, n, base);
    struct cusparseMatDescr descr = { .base = base };
    size_t size = size_of(t);
    char *val = values(t, &p, COUNT), *b = malloc((size_t)(m * COUNT) * 16), *x = malloc((size_t)(n * COUNT) * 16), text[64];
    csrqrInfo_t info;
    for (int i = 0; i < m * COUNT; i++)
        put(t, b, i, any_of(t));
    for (int k = 0; k < p.nnz; k++) /* the second one's first column is 0 */
        if (p.ind[k] == base)
            put(t, val, p.nnz + k, 0);
    void *dv = upload(val, (size_t)(p.nnz * COUNT) * size), *db = upload(b, (size_t)(m * COUNT) * size),
         *dx = upload(b, (size_t)(n * COUNT) * size);
    check(cusolverSpCreateCsrqrInfo(&info) == 0, "create");
    check(cusolverSpXcsrqrAnalysisBatched(handle, m, n, p.nnz, &descr, p.dp, p.di, info) == 0, "analysis");
    int (*f)(cusolverSpHandle_t, int, int, int, cusparseMatDescr_t, void *, void *, void *, void *, void *, int, csrqrInfo_t,
             void *) = FIND("csrqrsvBatched", t, "");
    int status = f(handle, m, n, p.nnz, &descr, dv, p.dp, p.di, db, dx, COUNT, info, NULL);
    check(status == 0, "csrqrsvBatched: %d", status);
    check(f(handle, m, n, p.nnz + 1, &descr, dv, p.dp, p.di, db, dx, COUNT, info, NULL) == CUSOLVER_STATUS_INVALID_VALUE,
          "another pattern");
    cudaMemcpy(x, dx, (size_t)(n * COUNT) * size, 2);
    for (int c = 0; c < COUNT; c++)
        if (c != 1)
            least("csrqrsvBatched", t, &p, val + (size_t)(c * p.nnz) * size, 0, b + (size_t)(c * m) * size,
                  x + (size_t)(c * n) * size);
    check(isnan(creal(get(t, x + (size_t)n * size, 0))), "the singular one has a result");
    check(cusolverSpDestroyCsrqrInfo(info) == 0, "destroy");
    cudaFree(dv), cudaFree(db), cudaFree(dx), free(val), free(b), free(x);
    pattern_drop(&p);
}

/* ---- Orders. */

enum { ORDER_N = 30 };

static void is_permutation(const char *what, const int *p, int n)
{
    int seen[ORDER_N] = { 0 };
    for (int i = 0; i < n; i++)
        check(p[i] >= 0 && p[i] < n && !seen[p[i]]++, "%s: %d at %d", what, p[i], i);
}

/* A path whose places are shuffled comes out with a bandwidth of 1, a star with its middle at the end; nothing is said twice. */
static void orders(int n, int base)
{
    int name[ORDER_N], ptr[ORDER_N + 1], ind[ORDER_N * 4], at[ORDER_N], p[ORDER_N], nnz = 0, symmetric = 5;
    struct cusparseMatDescr descr = { .base = base };
    for (int i = 0; i < n; i++)
        name[i] = (i * 7 + 3) % n;
    for (int r = 0; r < n; r++) { /* only one of each pair is there, and the diagonal */
        ptr[r] = nnz + base;
        ind[nnz++] = r + base;
        for (int i = 0; i + 1 < n; i++)
            if (name[i] == r)
                ind[nnz++] = name[i + 1] + base;
    }
    ptr[n] = nnz + base;
    check(cusolverSpXcsrsymrcmHost(handle, n, nnz, &descr, ptr, ind, p) == 0, "symrcm");
    is_permutation("symrcm", p, n);
    for (int i = 0; i < n; i++)
        at[p[i]] = i;
    for (int i = 0; i + 1 < n; i++)
        check(abs(at[name[i]] - at[name[i + 1]]) == 1, "symrcm: %d and %d", at[name[i]], at[name[i + 1]]);
    check(cusolverSpXcsrissymHost(handle, n, nnz, &descr, ptr, ptr + 1, ind, &symmetric) == 0 && symmetric == (n == 1),
          "not symmetric");
    ind[0] = n + base;
    check(cusolverSpXcsrsymrcmHost(handle, n, nnz, &descr, ptr, ind, p) == CUSOLVER_STATUS_INVALID_VALUE, "a wild column");
    nnz = 0;
    for (int r = 0; r < n; r++) { /* a star around 0 */
        ptr[r] = nnz + base;
        for (int j = 0; j < n; j++)
            if (j == r || !j || !r)
                ind[nnz++] = j + base;
    }
    ptr[n] = nnz + base;
    check(cusolverSpXcsrissymHost(handle, n, nnz, &descr, ptr, ptr + 1, ind, &symmetric) == 0 && symmetric == 1, "symmetric");
    check(cusolverSpXcsrsymamdHost(handle, n, nnz, &descr, ptr, ind, p) == 0, "symamd");
    is_permutation("symamd", p, n);
    check(n < 3 || p[n - 1] == 0 || p[n - 2] == 0, "symamd: the middle is not at the end");
    check(cusolverSpXcsrmetisndHost(handle, n, nnz, &descr, ptr, ind, NULL, p) == 0, "metisnd");
    is_permutation("metisnd", p, n);
}

static void permuted(int m, int n, int base)
{
    double a[9][9] = { { 0 } }, val[81];
    int ptr[10], ind[81], map[81], p[9], q[9], nnz = 0;
    struct cusparseMatDescr descr = { .base = base };
    size_t size = 0;
    for (int i = 0; i < m; i++) {
        p[i] = (i * 5 + 2) % m;
        ptr[i] = nnz + base;
        for (int j = n - 1; j >= 0; j--)
            if (any() > 0) {
                val[nnz] = a[i][j] = any() + 10;
                ind[nnz++] = j + base;
            }
    }
    ptr[m] = nnz + base;
    for (int j = 0; j < n; j++)
        q[j] = (j * 4 + 1) % n;
    for (int k = 0; k < nnz; k++)
        map[k] = k;
    check(cusolverSpXcsrperm_bufferSizeHost(handle, m, n, nnz, &descr, ptr, ind, p, q, &size) == 0 && size, "room");
    check(cusolverSpXcsrpermHost(handle, m, n, nnz, &descr, ptr, ind, p, q, map, NULL) == 0, "perm");
    int k = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            if (a[p[i]][q[j]] != 0) {
                check(ind[k] == j + base && k >= ptr[i] - base && k < ptr[i + 1] - base && val[map[k]] == a[p[i]][q[j]],
                      "perm %d x %d: %d %d", m, n, i, j);
                k++;
            }
    check(k == nnz && ptr[m] == nnz + base, "perm: how many");
    p[0] = p[m - 1] = 0;
    check(m < 2 || cusolverSpXcsrpermHost(handle, m, n, nnz, &descr, ptr, ind, p, q, map, NULL) == CUSOLVER_STATUS_INVALID_VALUE,
          "no permutation");
}

/* ---- LU and Cholesky in steps. */

/* Reads a factor by rows into a full matrix, with ones on its diagonal where asked for. */
static void unpack(char t, cplx *to, int n, int ones, int base, const void *val, const int *ptr, const int *ind)
{
    memset(to, 0, (size_t)(n * n) * sizeof *to);
    for (int i = 0; i < n; i++) {
        to[i + i * n] = ones;
        for (int k = ptr[i] - base; k < ptr[i + 1] - base; k++)
            to[i + (ind[k] - base) * n] = get(t, val, k);
    }
}

static void lu_steps(char t, int n, int base)
{
    enum { ROOM = 20 };
    struct pattern a = pattern_make(n, n, base);
    struct cusparseMatDescr descr = { .base = base }, other = { .base = !base };
    char *val = values(t, &a, 1), b[ROOM * 16], x[ROOM * 16], lv[ROOM * ROOM * 16], uv[ROOM * ROOM * 16], text[64];
    int lp[ROOM + 1], li[ROOM * ROOM], up[ROOM + 1], ui[ROOM * ROOM], p[ROOM], q[ROOM], nl = 0, nu = 0, at = 5;
    cplx dense[ROOM * ROOM] = { 0 }, l[ROOM * ROOM], u[ROOM * ROOM];
    size_t internal, room;
    csrluInfoHost_t info;
    for (int i = 0; i < n; i++)
        put(t, b, i, any_of(t));
    unpack(t, dense, n, 0, base, val, a.ptr, a.ind);
    check(cusolverSpCreateCsrluInfoHost(&info) == 0, "create");
    check(cusolverSpXcsrluAnalysisHost(handle, n, a.nnz, &descr, a.ptr, a.ind, info) == 0, "analysis");
    check(((int (*)(void *, ...))FIND("csrluBufferInfoHost", t, ""))(handle, n, a.nnz, &descr, val, a.ptr, a.ind, info, &internal,
                                                                     &room) == 0,
          "room");
    void *f = FIND("csrluFactorHost", t, "");
#define FACTOR(R)                                                                                              \
    ((int (*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, void *, void *, void *, R, void *))f)( \
        handle, n, a.nnz, &descr, val, a.ptr, a.ind, info, 1, NULL)
    check((real_of(t) == 's' ? FACTOR(float) : FACTOR(double)) == 0, "factor");
    check(((int (*)(void *, ...))FIND("csrluSolveHost", t, ""))(handle, n, b, x, info, NULL) == 0, "solve");
    least("csrluSolveHost", t, &a, val, 0, b, x);
    check(cusolverSpXcsrluNnzHost(handle, &nl, &nu, info) == 0 && nl <= n * n && nu <= n * n, "how many");
    check(((int (*)(void *, ...))FIND("csrluExtractHost", t, ""))(handle, p, q, &descr, lv, lp, li, &other, uv, up, ui, info,
                                                                  NULL) == 0,
          "extract");
    check(lp[n] == nl + base && up[n] == nu + !base, "how many: %d %d, %d %d", lp[n], nl, up[n], nu);
    unpack(t, l, n, 1, base, lv, lp, li);
    unpack(t, u, n, 0, !base, uv, up, ui);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            cplx sum = 0;
            for (int k = 0; k < n; k++)
                sum += l[i + k * n] * u[k + j * n];
            check(cabs(sum - dense[p[i] + q[j] * n]) < (real_of(t) == 's' ? 1e-4 : 1e-11) && (j <= i || l[i + j * n] == 0) &&
                      (j >= i || u[i + j * n] == 0),
                  "%c L U: %d %d is off by %g", t, i, j, cabs(sum - dense[p[i] + q[j] * n]));
        }
    f = FIND("csrluZeroPivotHost", t, "");
#define ZERO(R) ((int (*)(cusolverSpHandle_t, void *, R, int *))f)(handle, info, (R)1e-9, &at)
    check((real_of(t) == 's' ? ZERO(float) : ZERO(double)) == 0 && at == -1, "no zero pivot: %d", at);
    for (int k = 0; k < a.nnz; k++)
        if (a.ind[k] == base)
            put(t, val, k, 0);
    f = FIND("csrluFactorHost", t, "");
    check((real_of(t) == 's' ? FACTOR(float) : FACTOR(double)) == 0, "factor");
    f = FIND("csrluZeroPivotHost", t, "");
    check((real_of(t) == 's' ? ZERO(float) : ZERO(double)) == 0 && at >= 0, "a column of zeros: %d", at);
    check(cusolverSpDestroyCsrluInfoHost(info) == 0, "destroy");
    free(val);
    pattern_drop(&a);
}

static void cholesky_steps(char t, int n, int base, int host)
{
    enum { ROOM = 20 };
    struct cusparseMatDescr descr = { .base = base };
    cplx dense[ROOM * ROOM] = { 0 }, m[ROOM * ROOM];
    char val[ROOM * ROOM * 16], b[ROOM * 16], x[ROOM * 16], diag[ROOM * 8], text[64], step[32];
    int ptr[ROOM + 1], ind[ROOM * ROOM], nnz = 0, at = 5;
    const char *tail = host ? "Host" : "";
    double want = 0, got = 0;
    void *info;
    size_t internal, room;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            dense[i + j * n] = i == j ? 9 + n + any() : any() > 0.5 ? any_of(t) : 0;
            dense[j + i * n] = conj(dense[i + j * n]);
        }
    for (int i = 0; i < n; i++) {
        ptr[i] = nnz + base;
        for (int j = 0; j < n; j++)
            if (dense[i + j * n] != 0) {
                put(t, val, nnz, j > i ? 77 : dense[i + j * n]); /* what is above must not count */
                ind[nnz++] = j + base;
            }
        put(t, b, i, any_of(t));
    }
    ptr[n] = nnz + base;
    memcpy(m, dense, sizeof m);
    for (int k = 0; k < n; k++) { /* the determinant */
        want += log(creal(m[k + k * n]));
        for (int i = k + 1; i < n; i++)
            for (int j = n - 1; j >= k; j--)
                m[i + j * n] -= m[i + k * n] / m[k + k * n] * m[k + j * n];
    }
    void *dv = upload(val, (size_t)nnz * size_of(t)), *dp = upload(ptr, (size_t)(n + 1) * 4), *di = upload(ind, (size_t)nnz * 4),
         *db = upload(b, (size_t)n * size_of(t)), *dx = upload(b, (size_t)n * size_of(t)), *dd = upload(b, (size_t)n * 8);
    void *v = host ? (void *)val : dv, *rp = host ? (void *)ptr : dp, *ci = host ? (void *)ind : di;
    typedef int any_f(void *first, ...);
#undef STEP
#define STEP(name, ...) (snprintf(step, sizeof step, "%ccsrchol" name, upper(t)), CALL(step, __VA_ARGS__))
    check(CALL("CreateCsrcholInfo", &info) == 0, "create");
    check(STEP("Factor", handle, n, nnz, &descr, v, rp, ci, info, NULL) == CUSOLVER_STATUS_INVALID_VALUE, "before the analysis");
    check(CALL("XcsrcholAnalysis", handle, n, nnz, &descr, rp, ci, info) == 0, "analysis");
    check(STEP("BufferInfo", handle, n, nnz, &descr, v, rp, ci, info, &internal, &room) == 0, "room");
    check(STEP("Factor", handle, n, nnz, &descr, v, rp, ci, info, NULL) == 0, "factor");
    check(STEP("Solve", handle, n, host ? (void *)b : db, host ? (void *)x : dx, info, NULL) == 0, "solve");
    if (!host)
        cudaMemcpy(x, dx, (size_t)n * size_of(t), 2);
    for (int i = 0; i < n; i++) {
        cplx s = -get(t, b, i);
        for (int j = 0; j < n; j++)
            s += dense[i + j * n] * get(t, x, j);
        check(cabs(s) < (real_of(t) == 's' ? 1e-3 : 1e-10), "%c csrchol%s n %d: [%d] is off by %g", t, tail, n, i, cabs(s));
    }
    if (!host) {
        check(STEP("Diag", handle, info, dd) == 0, "diag");
        cudaMemcpy(diag, dd, (size_t)n * size_of(real_of(t)), 2);
        for (int i = 0; i < n; i++)
            got += 2 * log(creal(get(real_of(t) == 's' ? 's' : 'd', diag, i)));
        check(fabs(got - want) < 1e-3, "%c determinant: %g, not %g", t, got, want);
    }
    snprintf(text, sizeof text, "cusolverSp%ccsrcholZeroPivot%s", upper(t), tail);
    void *f = dlsym(RTLD_DEFAULT, text);
    check((real_of(t) == 's' ? ZERO(float) : ZERO(double)) == 0 && at == -1, "definite: %d", at);
    for (int k = ptr[n - 1] - base; k < nnz; k++)
        if (ind[k] - base == n - 1)
            put(t, val, k, -1000);
    if (host) {
        check(STEP("Factor", handle, n, nnz, &descr, v, rp, ci, info, NULL) == 0, "factor");
        check((real_of(t) == 's' ? ZERO(float) : ZERO(double)) == 0 && at >= 0, "not definite: %d", at);
        check(STEP("Solve", handle, n, b, x, info, NULL) == CUSOLVER_STATUS_INTERNAL_ERROR, "solved with what is no factor");
    }
    check(CALL("DestroyCsrcholInfo", info) == 0, "destroy");
    cudaFree(dv), cudaFree(dp), cudaFree(di), cudaFree(db), cudaFree(dx), cudaFree(dd);
}

int main(void)
{
    void *library = dlopen("libcxsparse.so.3", RTLD_NOW);
    if (!library) {
        printf("there is no libcxsparse.so.3: skipped\n");
        return 77;
    }
    check(cusolverSpCreate(&handle) == 0, "create");
    for (const char *t = "sdcz"; *t; t++)
        for (int n = 1; n < 40; n += 9)
            systems(*t, n, n & 1, n % 4);
    singular();
    twice();
    for (const char *t = "sdcz"; *t; t++) {
        for (int n = 1; n < 24; n += 7)
            eigen(*t, n, n & 1, 0), eigen(*t, n, n & 1, 1);
        for (int n = 1; n < 18; n += 5)
            for (int more = 0; more < 6; more += 5)
                qr_steps(*t, n + more, n, n & 1, 0), qr_steps(*t, n + more, n, n & 1, 1), qr_many(*t, n + more, n, n & 1);
    }
    eigen_corners();
    for (const char *t = "sdcz"; *t; t++)
        for (int n = 1; n <= 19; n += 6) {
            lu_steps(*t, n, n % 4 == 1);
            cholesky_steps(*t, n, n % 4 == 1, 0), cholesky_steps(*t, n, n % 4 == 1, 1);
        }
    orders(1, 0), orders(11, 1), orders(ORDER_N, 0);
    permuted(1, 1, 0), permuted(9, 7, 1), permuted(7, 9, 0);
    check(cusolverSpDestroy(handle) == 0, "destroy");
    return test_end("sparse");
}
