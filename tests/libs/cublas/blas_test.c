/* Levels 1 to 3 of cuBLAS against plain loops in double: all types, shapes from nothing to odd ones, transposed and strided.
 * Usage: blas_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static cublasHandle_t handle;
static int quick;

/* A matrix in the reference copy of an array, however stored: every element can be asked for. */
struct matrix {
    const cplx *a;
    long ld;
    int rows, cols;
    char store; /* f full, b band, p packed */
    char kind;  /* g general, t triangular, s symmetric, h hermitian */
    int upper, unit, kl, ku;
};

static cplx stored(const struct matrix *m, long i, long j)
{
    if (m->store == 'f')
        return m->a[i + j * m->ld];
    if (m->store == 'b') {
        int ku = m->kind == 'g' ? m->ku : m->upper ? m->ku : 0;
        return i - j > m->kl || j - i > m->ku ? 0 : m->a[ku + i - j + j * m->ld];
    }
    return m->upper ? m->a[i + j * (j + 1) / 2] : m->a[i + j * (2L * m->rows - j - 1) / 2];
}

static cplx element(const struct matrix *m, int op, long i, long j)
{
    if (op) {
        cplx v = element(m, 0, j, i);
        return op == 2 ? conj(v) : v;
    }
    if (m->kind == 'g')
        return stored(m, i, j);
    if (m->kind == 't')
        return i == j && m->unit ? 1 : (m->upper ? i <= j : i >= j) ? stored(m, i, j) : 0;
    if (m->kind == 'h' && i == j)
        return creal(stored(m, i, j));
    if (m->upper ? i <= j : i >= j)
        return stored(m, i, j);
    return m->kind == 'h' ? conj(stored(m, j, i)) : stored(m, j, i);
}

/* An array with a large diagonal, so that solving is well conditioned. */
static void dominate(struct array *a, const struct matrix *m)
{
    for (long j = 0; j < m->cols; j++) {
        cplx *p = (cplx *)m->a + (m->store == 'f' ? j + j * m->ld : m->store == 'b' ? (m->upper ? m->ku : 0) + j * m->ld
                                  : m->upper ? j + j * (j + 1) / 2 : j + j * (2L * m->rows - j - 1) / 2);
        *p = *p / 4 + 20;
        if (m->kind == 'h')
            *p = creal(*p);
    }
    for (long i = 0; i < a->n; i++)
        put(a->t, a->host, i, a->want[i] = m->unit ? a->want[i] / 16 : a->want[i]);
    array_put(a);
}

/* ---- Level 1 */

typedef cublasStatus_t (*xy_fn)(cublasHandle_t, int, void *, int, void *, int);
typedef cublasStatus_t (*axpy_fn)(cublasHandle_t, int, const void *, void *, int, void *, int);
typedef cublasStatus_t (*axpy64_fn)(cublasHandle_t, int64_t, const void *, void *, int64_t, void *, int64_t);
typedef cublasStatus_t (*scal_fn)(cublasHandle_t, int, const void *, void *, int);
typedef cublasStatus_t (*dot_fn)(cublasHandle_t, int, void *, int, void *, int, void *);
typedef cublasStatus_t (*norm_fn)(cublasHandle_t, int, void *, int, void *);
typedef cublasStatus_t (*rot_fn)(cublasHandle_t, int, void *, int, void *, int, const void *, const void *);

static void result_is(const char *what, char t, const void *got, cplx want)
{
    double tolerance = real_of(t) == 's' ? 1e-4 : 1e-11;
    check(cabs(get(t, got, 0) - want) <= tolerance * (1 + cabs(want)), "%s: %g%+gi, not %g%+gi", what, creal(get(t, got, 0)),
          cimag(get(t, got, 0)), creal(want), cimag(want));
}

static void level1_two(char t, int n, int incx, int incy)
{
    char what[96];
    long nx = 1 + (n - 1) * (long)abs(incx), ny = 1 + (n - 1) * (long)abs(incy);
    cplx alpha = any_of(t), sum[2] = { 0, 0 }, out[2];
    double scalar[2][2];
    put(t, scalar[0], 0, alpha);
    for (int which = 0; which < 5; which++) {
        static const char *const names[] = { "?copy_v2", "?swap_v2", "?axpy_v2", "?axpy_v2_64", "?rot_v2" };
        struct array x = array_make(t, nx), y = array_make(t, ny);
        double c = 0.6, s = 0.8;
        char rt = real_of(t);
        put(rt, scalar[1], 0, c);
        snprintf(what, sizeof what, "%c %s n=%d inc=%d,%d", t, names[which], n, incx, incy);
        for (int i = 0; i < n; i++) {
            cplx *px = &x.want[at(n, incx, i)], *py = &y.want[at(n, incy, i)], old = *px;
            if (which == 0)
                *py = *px;
            else if (which == 1)
                *px = *py, *py = old;
            else if (which < 4)
                *py += alpha * *px;
            else
                *px = c * old + s * *py, *py = c * *py - s * old;
        }
        void *f = function(names[which], t);
        put(t, scalar[0], 0, which == 4 ? s : alpha);
        int status = which < 2    ? ((xy_fn)f)(handle, n, x.device, incx, y.device, incy)
                     : which == 2 ? ((axpy_fn)f)(handle, n, scalar[0], x.device, incx, y.device, incy)
                     : which == 3 ? ((axpy64_fn)f)(handle, n, scalar[0], x.device, incx, y.device, incy)
                                  : ((rot_fn)f)(handle, n, x.device, incx, y.device, incy, scalar[1], scalar[0]);
        check(status == 0, "%s: status %d", what, status);
        array_end(&x, what);
        array_end(&y, what);
    }
    struct array x = array_make(t, nx), y = array_make(t, ny);
    for (int i = 0; i < n; i++) {
        cplx a = x.want[at(n, incx, i)], b = y.want[at(n, incy, i)];
        sum[0] += a * b;
        sum[1] += conj(a) * b;
    }
    for (int k = 0; k < (is_complex(t) ? 2 : 1); k++) {
        const char *name = !is_complex(t) ? "?dot_v2" : k ? "?dotc_v2" : "?dotu_v2";
        int status = ((dot_fn)function(name, t))(handle, n, x.device, incx, y.device, incy, out);
        snprintf(what, sizeof what, "%c %s n=%d inc=%d,%d", t, name, n, incx, incy);
        check(status == 0, "%s: status %d", what, status);
        result_is(what, t, out, sum[k]);
    }
    array_drop(&x);
    array_drop(&y);
}

static double sum_abs(cplx v) { return fabs(creal(v)) + fabs(cimag(v)); }

static void level1_one(char t, int n, int inc)
{
    char what[96];
    struct array x = array_make(t, 1 + (n - 1) * (long)inc);
    double asum = 0, squares = 0, out[2] = { 0 }, scalar[2];
    int largest = 0, smallest = 0, found = -1;
    int64_t found64 = -1;
    for (int i = 0; i < n; i++) {
        cplx v = x.want[(long)i * inc];
        asum += sum_abs(v);
        squares += creal(v * conj(v));
        if (!i || sum_abs(v) > sum_abs(x.want[(long)(largest - 1) * inc]))
            largest = i + 1;
        if (!i || sum_abs(v) < sum_abs(x.want[(long)(smallest - 1) * inc]))
            smallest = i + 1;
    }
    snprintf(what, sizeof what, "%c n=%d inc=%d", t, n, inc);
    norm_fn f = function(t == 'c' ? "Scasum_v2" : t == 'z' ? "Dzasum_v2" : "?asum_v2", t);
    check(f(handle, n, x.device, inc, out) == 0, "asum %s", what);
    char named[112];
    snprintf(named, sizeof named, "asum %s", what);
    result_is(named, real_of(t), out, asum);
    f = function(t == 'c' ? "Scnrm2_v2" : t == 'z' ? "Dznrm2_v2" : "?nrm2_v2", t);
    check(f(handle, n, x.device, inc, out) == 0, "nrm2 %s", what);
    result_is("nrm2", real_of(t), out, sqrt(squares));
    check(((norm_fn)function("I?amax_v2", t))(handle, n, x.device, inc, &found) == 0 && found == largest, "amax %s: %d, not %d",
          what, found, largest);
    check(((norm_fn)function("I?amin_v2", t))(handle, n, x.device, inc, &found) == 0 && found == smallest, "amin %s: %d, not %d",
          what, found, smallest);
    check(((cublasStatus_t(*)(cublasHandle_t, int64_t, void *, int64_t, int64_t *))function("I?amax_v2_64", t))(
              handle, n, x.device, inc, &found64) == 0 &&
              found64 == largest,
          "amax_64 %s: %ld, not %d", what, (long)found64, largest);
    cplx alpha = any_of(t);
    put(t, scalar, 0, alpha);
    for (int i = 0; i < n; i++)
        x.want[(long)i * inc] *= alpha;
    check(((scal_fn)function("?scal_v2", t))(handle, n, scalar, x.device, inc) == 0, "scal %s", what);
    if (is_complex(t)) {
        put(real_of(t), scalar, 0, 0.5);
        for (int i = 0; i < n; i++)
            x.want[(long)i * inc] *= 0.5;
        check(((scal_fn)function(t == 'c' ? "Csscal_v2" : "Zdscal_v2", t))(handle, n, scalar, x.device, inc) == 0, "sscal %s",
              what);
    }
    array_end(&x, "scal");
}

/* Givens rotations: what they are for is tested, not how their signs fall. */
static void rotations(char t)
{
    double a[2], b[2], c[2] = { 0 }, s[2] = { 0 };
    put(t, a, 0, is_complex(t) ? CMPLX(3, 1) : 3);
    put(t, b, 0, is_complex(t) ? CMPLX(-2, 4) : 4);
    cplx a0 = get(t, a, 0), b0 = get(t, b, 0);
    check(((cublasStatus_t(*)(cublasHandle_t, void *, void *, void *, void *))function("?rotg_v2", t))(handle, a, b, c, s) == 0,
          "rotg");
    cplx sv = get(t, s, 0), cv = get(real_of(t), c, 0);
    result_is("rotg: r", t, a, cv * a0 + sv * b0);
    check(cabs(cv * b0 - conj(sv) * a0) < 1e-5, "rotg: %c does not annihilate", t);
    if (is_complex(t))
        return;
    double d1[2], d2[2], x1[2], y1[2], param[10];
    put(t, d1, 0, 2), put(t, d2, 0, 3), put(t, x1, 0, 1.5), put(t, y1, 0, 0.5);
    check(((cublasStatus_t(*)(cublasHandle_t, void *, void *, void *, void *, void *))function("?rotmg_v2", t))(
              handle, d1, d2, x1, y1, param) == 0,
          "rotmg");
    struct array x = array_make(t, 5), y = array_make(t, 5);
    double flag = creal(get(t, param, 0)), h11 = creal(get(t, param, 1)), h21 = creal(get(t, param, 2)),
           h12 = creal(get(t, param, 3)), h22 = creal(get(t, param, 4));
    h11 = flag == 0 ? 1 : h11, h22 = flag == 0 ? 1 : h22, h21 = flag == 1 ? -1 : h21, h12 = flag == 1 ? 1 : h12;
    check(fabs(h21 * 1.5 + h22 * 0.5) < 1e-5, "rotmg does not annihilate");
    for (int i = 0; i < 5; i++) {
        cplx old = x.want[i];
        x.want[i] = h11 * old + h12 * y.want[i];
        y.want[i] = h21 * old + h22 * y.want[i];
    }
    check(((cublasStatus_t(*)(cublasHandle_t, int, void *, int, void *, int, void *))function("?rotm_v2", t))(
              handle, 5, x.device, 1, y.device, 1, param) == 0,
          "rotm");
    array_end(&x, "rotm x");
    array_end(&y, "rotm y");
}

/* ---- Level 2 */

/* y = alpha op(M) x + beta y */
static void reference_mv(const struct matrix *m, int op, cplx alpha, const cplx *x, int incx, cplx beta, cplx *y, int incy)
{
    int rows = op ? m->cols : m->rows, cols = op ? m->rows : m->cols;
    if (m->rows == 0 || m->cols == 0)
        return;
    for (int i = 0; i < rows; i++) {
        cplx sum = 0, *p = &y[at(rows, incy, i)];
        for (int j = 0; j < cols; j++)
            sum += element(m, op, i, j) * x[at(cols, incx, j)];
        *p = alpha * sum + (beta == 0 ? 0 : beta * *p);
    }
}

typedef cublasStatus_t (*gemv_fn)(cublasHandle_t, int, int, int, const void *, void *, int, void *, int, const void *, void *,
                                  int);
typedef cublasStatus_t (*gbmv_fn)(cublasHandle_t, int, int, int, int, int, const void *, void *, int, void *, int, const void *,
                                  void *, int);
typedef cublasStatus_t (*symv_fn)(cublasHandle_t, int, int, const void *, void *, int, void *, int, const void *, void *, int);
typedef cublasStatus_t (*sbmv_fn)(cublasHandle_t, int, int, int, const void *, void *, int, void *, int, const void *, void *,
                                  int);
typedef cublasStatus_t (*spmv_fn)(cublasHandle_t, int, int, const void *, void *, void *, int, const void *, void *, int);
typedef cublasStatus_t (*trmv_fn)(cublasHandle_t, int, int, int, int, void *, int, void *, int);
typedef cublasStatus_t (*tbmv_fn)(cublasHandle_t, int, int, int, int, int, void *, int, void *, int);
typedef cublasStatus_t (*tpmv_fn)(cublasHandle_t, int, int, int, int, void *, void *, int);

static void general_mv(char t, int m, int n, int op, int band, int incx, int incy, int zero_beta)
{
    char what[96];
    int kl = band && m > 1 ? m / 3 : 0, ku = band && n > 1 ? n / 2 : 0, lda = (band ? kl + ku + 1 : m) + 2;
    int nx = op ? m : n, ny = op ? n : m;
    struct array a = array_make(t, (long)lda * n), x = array_make(t, 1 + (nx - 1) * (long)abs(incx)),
                 y = array_make(t, 1 + (ny - 1) * (long)abs(incy));
    struct matrix matrix = { a.want, lda, m, n, band ? 'b' : 'f', 'g', 0, 0, kl, ku };
    cplx alpha = any_of(t), beta = zero_beta ? 0 : any_of(t);
    double sa[2], sb[2];
    put(t, sa, 0, alpha), put(t, sb, 0, beta);
    snprintf(what, sizeof what, "%c %s m=%d n=%d op=%d inc=%d,%d", t, band ? "gbmv" : "gemv", m, n, op, incx, incy);
    reference_mv(&matrix, is_complex(t) || op != 2 ? op : 1, alpha, x.want, incx, beta, y.want, incy);
    int status = band ? ((gbmv_fn)function("?gbmv_v2", t))(handle, op, m, n, kl, ku, sa, a.device, lda, x.device, incx, sb,
                                                           y.device, incy)
                      : ((gemv_fn)function("?gemv_v2", t))(handle, op, m, n, sa, a.device, lda, x.device, incx, sb, y.device,
                                                           incy);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_drop(&x);
    array_end(&y, what);
}

static void symmetric_mv(char t, int n, int upper, char store, char kind, int incx, int incy)
{
    char what[96], name[16];
    int k = n > 2 ? n / 2 : 0, lda = (store == 'b' ? k + 1 : n) + 1;
    struct array a = array_make(t, store == 'p' ? (long)n * (n + 1) / 2 : (long)lda * n),
                 x = array_make(t, 1 + (n - 1) * (long)abs(incx)), y = array_make(t, 1 + (n - 1) * (long)abs(incy));
    struct matrix matrix = { a.want, lda, n, n, store, kind, upper, 0, upper ? 0 : k, upper ? k : 0 };
    cplx alpha = any_of(t), beta = any_of(t);
    double sa[2], sb[2];
    put(t, sa, 0, alpha), put(t, sb, 0, beta);
    snprintf(name, sizeof name, "?%s%smv_v2", kind == 'h' ? "h" : "s",
             store == 'p' ? "p" : store == 'b' ? "b" : kind == 'h' ? "e" : "y");
    snprintf(what, sizeof what, "%c %s n=%d upper=%d inc=%d,%d", t, name, n, upper, incx, incy);
    reference_mv(&matrix, 0, alpha, x.want, incx, beta, y.want, incy);
    void *f = function(name, t);
    int status = store == 'p'   ? ((spmv_fn)f)(handle, upper, n, sa, a.device, x.device, incx, sb, y.device, incy)
                 : store == 'b' ? ((sbmv_fn)f)(handle, upper, n, k, sa, a.device, lda, x.device, incx, sb, y.device, incy)
                                : ((symv_fn)f)(handle, upper, n, sa, a.device, lda, x.device, incx, sb, y.device, incy);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_drop(&x);
    array_end(&y, what);
}

static void triangular_mv(char t, int n, int upper, int op, int unit, char store, int solve, int incx)
{
    char what[96], name[16];
    int k = n > 2 ? n / 2 : 0, lda = (store == 'b' ? k + 1 : n) + 1;
    struct array a = array_make(t, store == 'p' ? (long)n * (n + 1) / 2 : (long)lda * n),
                 x = array_make(t, 1 + (n - 1) * (long)abs(incx));
    struct matrix matrix = { a.want, lda, n, n, store, 't', upper, unit, upper ? 0 : k, upper ? k : 0 };
    cplx *product = calloc((size_t)x.n, sizeof *product);
    int rop = is_complex(t) || op != 2 ? op : 1;
    dominate(&a, &matrix);
    memcpy(product, x.want, (size_t)x.n * sizeof *product);
    reference_mv(&matrix, rop, 1, x.want, incx, 0, product, incx);
    if (solve) /* what is solved for is the x whose product is given */
        for (long i = 0; i < x.n; i++)
            put(t, x.host, i, product[i]);
    else
        memcpy(x.want, product, (size_t)x.n * sizeof *product);
    if (solve)
        array_put(&x);
    free(product);
    snprintf(name, sizeof name, "?t%c%cv_v2", store == 'f' ? 'r' : store, solve ? 's' : 'm');
    snprintf(what, sizeof what, "%c %s n=%d upper=%d op=%d unit=%d inc=%d", t, name, n, upper, op, unit, incx);
    void *f = function(name, t);
    int status = store == 'p'   ? ((tpmv_fn)f)(handle, upper, op, unit, n, a.device, x.device, incx)
                 : store == 'b' ? ((tbmv_fn)f)(handle, upper, op, unit, n, k, a.device, lda, x.device, incx)
                                : ((trmv_fn)f)(handle, upper, op, unit, n, a.device, lda, x.device, incx);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_end(&x, what);
}

typedef cublasStatus_t (*ger_fn)(cublasHandle_t, int, int, const void *, void *, int, void *, int, void *, int);
typedef cublasStatus_t (*syr_fn)(cublasHandle_t, int, int, const void *, void *, int, void *, int);
typedef cublasStatus_t (*spr_fn)(cublasHandle_t, int, int, const void *, void *, int, void *);
typedef cublasStatus_t (*syr2_fn)(cublasHandle_t, int, int, const void *, void *, int, void *, int, void *, int);
typedef cublasStatus_t (*spr2_fn)(cublasHandle_t, int, int, const void *, void *, int, void *, int, void *);

static void rank_general(char t, int m, int n, int conjugate, int incx, int incy)
{
    char what[96];
    int lda = m + 3;
    struct array a = array_make(t, (long)lda * n), x = array_make(t, 1 + (m - 1) * (long)abs(incx)),
                 y = array_make(t, 1 + (n - 1) * (long)abs(incy));
    cplx alpha = any_of(t);
    double sa[2];
    put(t, sa, 0, alpha);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            cplx v = y.want[at(n, incy, j)];
            a.want[i + (long)j * lda] += alpha * x.want[at(m, incx, i)] * (conjugate ? conj(v) : v);
        }
    const char *name = !is_complex(t) ? "?ger_v2" : conjugate ? "?gerc_v2" : "?geru_v2";
    snprintf(what, sizeof what, "%c %s m=%d n=%d inc=%d,%d", t, name, m, n, incx, incy);
    int status = ((ger_fn)function(name, t))(handle, m, n, sa, x.device, incx, y.device, incy, a.device, lda);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&x);
    array_drop(&y);
    array_end(&a, what);
}

static void rank_symmetric(char t, int n, int upper, char kind, int packed, int two, int incx, int incy)
{
    char what[96], name[16];
    int lda = n + 1, her = kind == 'h';
    struct array a = array_make(t, packed ? (long)n * (n + 1) / 2 : (long)lda * n),
                 x = array_make(t, 1 + (n - 1) * (long)abs(incx)), y = array_make(t, 1 + (n - 1) * (long)abs(incy));
    cplx alpha = her && !two ? any() : any_of(t);
    double sa[2];
    put(her && !two ? real_of(t) : t, sa, 0, alpha);
    for (long i = 0; her && i < a.n; i++) /* of a Hermitian matrix the diagonal is real; here all is */
        put(t, a.host, i, a.want[i] = creal(a.want[i]));
    array_put(&a);
    for (int j = 0; j < n; j++)
        for (int i = upper ? 0 : j; i < (upper ? j + 1 : n); i++) {
            cplx *p = &a.want[!packed ? i + (long)j * lda
                              : upper ? i + (long)j * (j + 1) / 2
                                      : i + (long)j * (2L * n - j - 1) / 2];
            cplx xi = x.want[at(n, incx, i)], xj = x.want[at(n, incx, j)], yi = y.want[at(n, incy, i)],
                 yj = y.want[at(n, incy, j)];
            if (two)
                *p += her ? alpha * xi * conj(yj) + conj(alpha) * yi * conj(xj) : alpha * (xi * yj + yi * xj);
            else
                *p += alpha * xi * (her ? conj(xj) : xj);
            if (her && i == j)
                *p = creal(*p);
        }
    snprintf(name, sizeof name, "?%s%sr%s_v2", her ? "h" : "s", packed ? "p" : her ? "e" : "y", two ? "2" : "");
    snprintf(what, sizeof what, "%c %s n=%d upper=%d inc=%d,%d", t, name, n, upper, incx, incy);
    void *f = function(name, t);
    int status = two ? packed ? ((spr2_fn)f)(handle, upper, n, sa, x.device, incx, y.device, incy, a.device)
                              : ((syr2_fn)f)(handle, upper, n, sa, x.device, incx, y.device, incy, a.device, lda)
                     : packed ? ((spr_fn)f)(handle, upper, n, sa, x.device, incx, a.device)
                              : ((syr_fn)f)(handle, upper, n, sa, x.device, incx, a.device, lda);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&x);
    array_drop(&y);
    array_end(&a, what);
}

/* ---- Level 3 */

typedef cublasStatus_t (*gemm_fn)(cublasHandle_t, int, int, int, int, int, const void *, void *, int, void *, int, const void *,
                                  void *, int);
typedef cublasStatus_t (*gemm64_fn)(cublasHandle_t, int, int, int64_t, int64_t, int64_t, const void *, void *, int64_t, void *,
                                    int64_t, const void *, void *, int64_t);
typedef cublasStatus_t (*symm_fn)(cublasHandle_t, int, int, int, int, const void *, void *, int, void *, int, const void *,
                                  void *, int);
typedef cublasStatus_t (*syrk_fn)(cublasHandle_t, int, int, int, int, const void *, void *, int, const void *, void *, int);
typedef cublasStatus_t (*syr2k_fn)(cublasHandle_t, int, int, int, int, const void *, void *, int, void *, int, const void *,
                                   void *, int);
typedef cublasStatus_t (*trsm_fn)(cublasHandle_t, int, int, int, int, int, int, const void *, void *, int, void *, int);
typedef cublasStatus_t (*trmm_fn)(cublasHandle_t, int, int, int, int, int, int, const void *, void *, int, void *, int, void *,
                                  int);

/* C = alpha op(A) op(B) + beta C; `half` 1: the lower triangle alone, 2: the upper */
static void reference_mm(const struct matrix *a, int opa, const struct matrix *b, int opb, int m, int n, int k, cplx alpha,
                         cplx beta, cplx *c, int ldc, int half)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            cplx sum = 0, *p = &c[i + (long)j * ldc];
            if ((half == 1 && i < j) || (half == 2 && i > j))
                continue;
            for (int l = 0; l < k; l++)
                sum += element(a, opa, i, l) * element(b, opb, l, j);
            *p = alpha * sum + (beta == 0 ? 0 : beta * *p);
        }
}

static void gemm(char t, int opa, int opb, int m, int n, int k, int zero_beta, const char *name)
{
    char what[96];
    int lda = (opa ? k : m) + 2, ldb = (opb ? n : k) + 1, ldc = m + 3;
    struct array a = array_make(t, (long)lda * (opa ? m : k)), b = array_make(t, (long)ldb * (opb ? k : n)),
                 c = array_make(t, (long)ldc * n);
    struct matrix ma = { a.want, lda, opa ? k : m, opa ? m : k, 'f', 'g', 0, 0, 0, 0 },
                  mb = { b.want, ldb, opb ? n : k, opb ? k : n, 'f', 'g', 0, 0, 0, 0 };
    cplx alpha = any_of(t), beta = zero_beta ? 0 : any_of(t);
    double sa[2], sb[2];
    put(t, sa, 0, alpha), put(t, sb, 0, beta);
    if (zero_beta) /* what is not read may be anything */
        for (long j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                put(t, c.host, i + j * ldc, NAN);
    array_put(&c);
    reference_mm(&ma, is_complex(t) || opa != 2 ? opa : 1, &mb, is_complex(t) || opb != 2 ? opb : 1, m, n, k, alpha, beta, c.want,
                 ldc, 0);
    snprintf(what, sizeof what, "%c %s op=%d,%d m=%d n=%d k=%d beta0=%d", t, name, opa, opb, m, n, k, zero_beta);
    void *f = function(name, t);
    int status = strstr(name, "_64")
                     ? ((gemm64_fn)f)(handle, opa, opb, m, n, k, sa, a.device, lda, b.device, ldb, sb, c.device, ldc)
                     : ((gemm_fn)f)(handle, opa, opb, m, n, k, sa, a.device, lda, b.device, ldb, sb, c.device, ldc);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_drop(&b);
    array_end(&c, what);
}

static void symm(char t, int right, int upper, int m, int n, char kind)
{
    char what[96];
    int ka = right ? n : m, lda = ka + 2, ldb = m + 1, ldc = m + 3;
    struct array a = array_make(t, (long)lda * ka), b = array_make(t, (long)ldb * n), c = array_make(t, (long)ldc * n);
    struct matrix ma = { a.want, lda, ka, ka, 'f', kind, upper, 0, 0, 0 }, mb = { b.want, ldb, m, n, 'f', 'g', 0, 0, 0, 0 };
    cplx alpha = any_of(t), beta = any_of(t);
    double sa[2], sb[2];
    put(t, sa, 0, alpha), put(t, sb, 0, beta);
    reference_mm(right ? &mb : &ma, 0, right ? &ma : &mb, 0, m, n, ka, alpha, beta, c.want, ldc, 0);
    snprintf(what, sizeof what, "%c %cmm right=%d upper=%d m=%d n=%d", t, kind, right, upper, m, n);
    int status = ((symm_fn)function(kind == 'h' ? "?hemm_v2" : "?symm_v2", t))(handle, right, upper, m, n, sa, a.device, lda,
                                                                               b.device, ldb, sb, c.device, ldc);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_drop(&b);
    array_end(&c, what);
}

/* form: 0 rank k, 1 rank 2k, 2 the product of two */
static void rank_k(char t, int upper, int op, int n, int k, int her, int form)
{
    static const char *const names[2][3] = { { "?syrk_v2", "?syr2k_v2", "?syrkx" }, { "?herk_v2", "?her2k_v2", "?herkx" } };
    char what[96];
    int lda = (op ? k : n) + 1, ldb = lda + 1, ldc = n + 2, o = op ? her ? 2 : 1 : 0, other = op ? 0 : her ? 2 : 1;
    struct array a = array_make(t, (long)lda * (op ? n : k)), b = array_make(t, (long)ldb * (op ? n : k)),
                 c = array_make(t, (long)ldc * n);
    if (form == 2) /* the result must be symmetric, or hermitian */
        for (long j = 0; j < (op ? n : k); j++)
            for (int i = 0; i < (op ? k : n); i++)
                put(t, b.host, i + j * ldb, b.want[i + j * ldb] = a.want[i + j * lda] * 2);
    array_put(&b);
    struct matrix ma = { a.want, lda, op ? k : n, op ? n : k, 'f', 'g', 0, 0, 0, 0 }, mb = ma;
    mb.a = b.want, mb.ld = ldb;
    cplx alpha = her && form != 1 ? any() : any_of(t), beta = her ? any() : any_of(t);
    double sa[2], sb[2];
    put(her && form == 0 ? real_of(t) : t, sa, 0, alpha), put(her ? real_of(t) : t, sb, 0, beta);
    if (her)
        for (long j = 0; j < n; j++)
            put(t, c.host, j + j * ldc, c.want[j + j * ldc] = creal(c.want[j + j * ldc]));
    array_put(&c);
    reference_mm(&ma, o, form ? &mb : &ma, other, n, n, k, alpha, beta, c.want, ldc, upper ? 2 : 1);
    if (form == 1)
        reference_mm(&mb, o, &ma, other, n, n, k, her ? conj(alpha) : alpha, 1, c.want, ldc, upper ? 2 : 1);
    snprintf(what, sizeof what, "%c %s upper=%d op=%d n=%d k=%d", t, names[her][form], upper, o, n, k);
    void *f = function(names[her][form], t);
    int status = form ? ((syr2k_fn)f)(handle, upper, o, n, k, sa, a.device, lda, b.device, ldb, sb, c.device, ldc)
                      : ((syrk_fn)f)(handle, upper, o, n, k, sa, a.device, lda, sb, c.device, ldc);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a);
    array_drop(&b);
    array_end(&c, what);
}

static void triangular_mm(char t, int right, int upper, int op, int unit, int m, int n, int solve)
{
    char what[96];
    int ka = right ? n : m, lda = ka + 1, ldb = m + 2, ldc = m + 3, rop = is_complex(t) || op != 2 ? op : 1;
    struct array a = array_make(t, (long)lda * ka), b = array_make(t, (long)ldb * n), c = array_make(t, (long)ldc * n);
    struct matrix ma = { a.want, lda, ka, ka, 'f', 't', upper, unit, 0, 0 }, mb = { b.want, ldb, m, n, 'f', 'g', 0, 0, 0, 0 };
    cplx alpha = solve ? 2 : any_of(t), *product = malloc((size_t)b.n * sizeof *product);
    double sa[2];
    put(t, sa, 0, alpha);
    dominate(&a, &ma);
    snprintf(what, sizeof what, "%c %s right=%d upper=%d op=%d unit=%d m=%d n=%d", t, solve ? "trsm" : "trmm", right, upper, op,
             unit, m, n);
    int status;
    if (solve) {
        memcpy(product, b.want, (size_t)b.n * sizeof *product);
        reference_mm(right ? &mb : &ma, right ? 0 : rop, right ? &ma : &mb, right ? rop : 0, m, n, ka, 1 / alpha, 0, product, ldb,
                     0);
        for (long i = 0; i < b.n; i++)
            put(t, b.host, i, product[i]);
        array_put(&b);
        status = ((trsm_fn)function("?trsm_v2", t))(handle, right, upper, op, unit, m, n, sa, a.device, lda, b.device, ldb);
    } else {
        reference_mm(right ? &mb : &ma, right ? 0 : rop, right ? &ma : &mb, right ? rop : 0, m, n, ka, alpha, 0, c.want, ldc, 0);
        status = ((trmm_fn)function("?trmm_v2", t))(handle, right, upper, op, unit, m, n, sa, a.device, lda, b.device, ldb,
                                                    c.device, ldc);
    }
    check(status == 0, "%s: status %d", what, status);
    free(product);
    array_drop(&a);
    array_end(&b, what);
    array_end(&c, what);
}

/* ---- Extensions */

/* What is multiplied by 0 may be anywhere, and be NULL: so cuML transposes. */
static void geam_alone(char t, int op, int m, int n, const struct matrix *a, void *device)
{
    char what[96];
    for (int second = 0; second < 2; second++) {
        struct array c = array_make(t, (long)(m + 1) * n);
        double none[2] = { 0, 0 }, by[2];
        cplx alpha = any_of(t);
        void *from[2] = { second ? NULL : device, second ? device : NULL };
        int rows = (op ? n : m) + 1, ldc = m + 1, ld[2] = { second ? rows : a->ld, second ? a->ld : ldc },
            ops[2] = { op, second ? op : 0 };
        put(t, by, 0, alpha);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                c.want[i + (long)j * ldc] = alpha * element(a, is_complex(t) || op < 2 ? op : 1, i, j);
        snprintf(what, sizeof what, "%c geam of one matrix op=%d m=%d n=%d second=%d", t, op, m, n, second);
        int status = ((cublasStatus_t(*)(cublasHandle_t, int, int, int, int, const void *, void *, int, const void *, void *, int,
                                         void *, int))function("?geam", t))(handle, ops[0], ops[1], m, n, second ? none : by,
                                                                            from[0], ld[0], second ? by : none, from[1], ld[1],
                                                                            c.device, ldc);
        check(status == 0, "%s: status %d", what, status);
        array_end(&c, what);
    }
}

static void geam_dgmm(char t, int opa, int opb, int m, int n)
{
    char what[96];
    int lda = (opa ? n : m) + 1, ldb = (opb ? n : m) + 2, ldc = m + 1;
    struct array a = array_make(t, (long)lda * (opa ? m : n)), b = array_make(t, (long)ldb * (opb ? m : n)),
                 c = array_make(t, (long)ldc * n);
    struct matrix ma = { a.want, lda, opa ? n : m, opa ? m : n, 'f', 'g', 0, 0, 0, 0 },
                  mb = { b.want, ldb, opb ? n : m, opb ? m : n, 'f', 'g', 0, 0, 0, 0 };
    cplx alpha = any_of(t), beta = any_of(t);
    double sa[2], sb[2];
    put(t, sa, 0, alpha), put(t, sb, 0, beta);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            c.want[i + (long)j * ldc] = alpha * element(&ma, is_complex(t) || opa < 2 ? opa : 1, i, j) +
                                        beta * element(&mb, is_complex(t) || opb < 2 ? opb : 1, i, j);
    snprintf(what, sizeof what, "%c geam op=%d,%d m=%d n=%d", t, opa, opb, m, n);
    int status = ((cublasStatus_t(*)(cublasHandle_t, int, int, int, int, const void *, void *, int, const void *, void *, int,
                                     void *, int))function("?geam", t))(handle, opa, opb, m, n, sa, a.device, lda, sb, b.device,
                                                                        ldb, c.device, ldc);
    check(status == 0, "%s: status %d", what, status);
    array_end(&c, what);
    array_drop(&b);
    geam_alone(t, opa, m, n, &ma, a.device);
    for (int right = 0; right < 2 && opa == 0; right++) {
        struct array x = array_make(t, 1 + 2L * (right ? n : m));
        c = array_make(t, (long)ldc * n);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < m; i++)
                c.want[i + (long)j * ldc] = a.want[i + (long)j * lda] * x.want[at(right ? n : m, -2, right ? j : i)];
        status = ((cublasStatus_t(*)(cublasHandle_t, int, int, int, void *, int, void *, int, void *, int))function("?dgmm", t))(
            handle, right, m, n, a.device, lda, x.device, -2, c.device, ldc);
        snprintf(what, sizeof what, "%c dgmm right=%d m=%d n=%d", t, right, m, n);
        check(status == 0, "%s: status %d", what, status);
        array_drop(&x);
        array_end(&c, what);
    }
    array_drop(&a);
}

static void packing(char t, int n, int upper)
{
    struct array ap = array_make(t, (long)n * (n + 1) / 2), a = array_make(t, (long)(n + 1) * n),
                 back = array_make(t, (long)n * (n + 1) / 2);
    struct matrix m = { ap.want, 0, n, n, 'p', 't', upper, 0, 0, 0 };
    for (int j = 0; j < n; j++)
        for (int i = upper ? 0 : j; i < (upper ? j + 1 : n); i++)
            a.want[i + (long)j * (n + 1)] = stored(&m, i, j);
    memcpy(back.want, ap.want, (size_t)ap.n * sizeof *ap.want);
    typedef cublasStatus_t (*tpttr_fn)(cublasHandle_t, int, int, void *, void *, int);
    typedef cublasStatus_t (*trttp_fn)(cublasHandle_t, int, int, void *, int, void *);
    check(((tpttr_fn)function("?tpttr", t))(handle, upper, n, ap.device, a.device, n + 1) == 0, "tpttr");
    check(((trttp_fn)function("?trttp", t))(handle, upper, n, a.device, n + 1, back.device) == 0, "trttp");
    array_drop(&ap);
    array_end(&a, "tpttr");
    array_end(&back, "trttp");
}

/* What alpha multiplies is not read where alpha is 0: NaN there stays there, and is not a 0 times NaN. */
static void alpha_zero(char t, int n, double beta)
{
    static const char *const names[] = { "?gemm_v2", "?gemv_v2", "?symm_v2", "?syrkx", "?syr2_v2", "?syrk_v2" };
    char what[96];
    double zero[2] = { 0, 0 }, vb[2];
    put(t, vb, 0, beta);
    for (int which = 0; which < 6; which++) {
        struct array a = array_make(t, (long)n * n), c = array_make(t, (long)n * n);
        void *f = function(names[which], t);
        int status;
        for (long i = 0; i < a.n; i++) {
            put(t, a.host, i, NAN);
            /* syr2 has no beta; of the triangle that is asked for, and of the vector, nothing else changes */
            if (which == 4 || (which == 1 && i >= n) || ((which == 3 || which == 5) && i / n < i % n))
                continue;
            c.want[i] *= beta;
            if (beta == 0)
                put(t, c.host, i, NAN);
        }
        array_put(&a), array_put(&c);
        if (which == 0)
            status = ((gemm_fn)f)(handle, 0, 1, n, n, n, zero, a.device, n, a.device, n, vb, c.device, n);
        else if (which == 1)
            status = ((gemv_fn)f)(handle, 0, n, n, zero, a.device, n, a.device, 1, vb, c.device, 1);
        else if (which == 2)
            status = ((symm_fn)f)(handle, 0, 1, n, n, zero, a.device, n, a.device, n, vb, c.device, n);
        else if (which == 3)
            status = ((syr2k_fn)f)(handle, 1, 0, n, n, zero, a.device, n, a.device, n, vb, c.device, n);
        else if (which == 4)
            status = ((syr2_fn)f)(handle, 1, n, zero, a.device, 1, a.device, 1, c.device, n);
        else
            status = ((syrk_fn)f)(handle, 1, 0, n, n, zero, a.device, n, vb, c.device, n);
        snprintf(what, sizeof what, "%c %s n=%d alpha=0 beta=%g", t, names[which], n, beta);
        check(status == 0, "%s: status %d", what, status);
        array_drop(&a);
        array_end(&c, what);
    }
}

/* ---- Batched */

static void batched(char t, int op, int m, int n, int k, int batch)
{
    char what[96];
    int lda = (op ? k : m) + 1, ldb = k + 1, ldc = m + 2;
    long sa = (long)lda * (op ? m : k) + 3, sb = (long)ldb * n, sc = (long)ldc * n + 1;
    cplx alpha = any_of(t), beta = any_of(t);
    double va[2], vb[2];
    put(t, va, 0, alpha), put(t, vb, 0, beta);
    for (int pointers = 0; pointers < 2; pointers++) {
        struct array a = array_make(t, sa * batch), b = array_make(t, sb * batch), c = array_make(t, sc * batch);
        void *lists[3], *host[3][16];
        for (int i = 0; i < batch; i++) {
            struct matrix ma = { a.want + sa * i, lda, op ? k : m, op ? m : k, 'f', 'g', 0, 0, 0, 0 },
                          mb = { b.want + sb * i, ldb, k, n, 'f', 'g', 0, 0, 0, 0 };
            reference_mm(&ma, is_complex(t) || op < 2 ? op : 1, &mb, 0, m, n, k, alpha, beta, c.want + sc * i, ldc, 0);
            host[0][i] = (char *)a.device + (size_t)(sa * i) * size_of(t);
            host[1][i] = (char *)b.device + (size_t)(sb * i) * size_of(t);
            host[2][i] = (char *)c.device + (size_t)(sc * i) * size_of(t);
        }
        for (int l = 0; l < 3; l++) {
            cudaMalloc(&lists[l], sizeof host[l]);
            cudaMemcpy(lists[l], host[l], sizeof host[l], 1);
        }
        snprintf(what, sizeof what, "%c gemm %s op=%d m=%d n=%d k=%d", t, pointers ? "batched" : "strided", op, m, n, k);
        int status = pointers ? ((cublasStatus_t(*)(cublasHandle_t, int, int, int, int, int, const void *, void *, int, void *,
                                                    int, const void *, void *, int, int))function("?gemmBatched", t))(
                                    handle, op, 0, m, n, k, va, lists[0], lda, lists[1], ldb, vb, lists[2], ldc, batch)
                              : ((cublasStatus_t(*)(cublasHandle_t, int, int, int, int, int, const void *, void *, int, long long,
                                                    void *, int, long long, const void *, void *, int, long long,
                                                    int))function("?gemmStridedBatched", t))(handle, op, 0, m, n, k, va, a.device,
                                                                                             lda, sa, b.device, ldb, sb, vb,
                                                                                             c.device, ldc, sc, batch);
        check(status == 0, "%s: status %d", what, status);
        array_drop(&a);
        array_drop(&b);
        array_end(&c, what);
        for (int l = 0; l < 3; l++)
            cudaFree(lists[l]);
    }
}

/* ---- All of it. */

static void level1(char t)
{
    static const int sizes[] = { 0, 1, 7, 100 };
    for (int s = 0; s < 4; s++) {
        if (quick && s != 2)
            continue;
        level1_two(t, sizes[s], 1, 1);
        level1_two(t, sizes[s], 2, -3);
        level1_one(t, sizes[s], 1);
        level1_one(t, sizes[s], 3);
    }
    rotations(t);
}

static void level2(char t)
{
    static const int shapes[][2] = { { 5, 3 }, { 1, 1 }, { 0, 4 }, { 4, 0 }, { 17, 33 } };
    for (int s = 0; s < (quick ? 1 : 5); s++)
        for (int op = 0; op < 3; op++)
            for (int band = 0; band < 2; band++) {
                general_mv(t, shapes[s][0], shapes[s][1], op, band, 1, 1, 0);
                general_mv(t, shapes[s][0], shapes[s][1], op, band, -2, 3, 1);
            }
    for (int n = quick ? 5 : 0; n < 14; n += n < 2 ? 1 : quick ? 9 : 5)
        for (int upper = 0; upper < 2; upper++) {
            for (int c = 0; c < (is_complex(t) ? 2 : 1); c++)
                for (const char *store = is_complex(t) && !c ? "f" : "fbp"; *store; store++)
                    symmetric_mv(t, n, upper, *store, c ? 'h' : 's', 1 - 3 * (n & 1), 2);
            for (int flags = 0; flags < 12; flags++)
                for (const char *store = "fbp"; *store; store++)
                    for (int solve = 0; solve < 2; solve++)
                        triangular_mv(t, n, upper, flags % 3, flags / 3 & 1, *store, solve, flags / 6 ? -2 : 1);
            for (int two = 0; two < 2; two++) {
                for (int packed = 0; packed < 2; packed++)
                    rank_symmetric(t, n, upper, is_complex(t) ? 'h' : 's', packed, two, 1, -2);
                if (is_complex(t))
                    rank_symmetric(t, n, upper, 's', 0, two, -1, 2);
            }
        }
    for (int c = 0; c < (is_complex(t) ? 2 : 1); c++) {
        rank_general(t, 5, 3, c, 1, 1);
        rank_general(t, 0, 3, c, 1, 1);
        rank_general(t, 9, 14, c, -2, 3);
    }
}

static void level3(char t)
{
    for (int flags = 0; flags < 4; flags++) /* more rows than are taken at once */
        for (int her = 0; her <= is_complex(t); her++)
            rank_k(t, flags & 1, flags >> 1, 75, 3, her, 2);
    static const int shapes[][3] = { { 5, 3, 7 }, { 1, 1, 1 },    { 0, 3, 2 },    { 3, 0, 2 },
                                     { 3, 4, 0 }, { 33, 17, 40 }, { 130, 70, 50 } };
    for (int s = 0; s < (quick ? 1 : 7); s++)
        for (int op = 0; op < 9; op++)
            gemm(t, op / 3, op % 3, shapes[s][0], shapes[s][1], shapes[s][2], op & 1,
                 op == 4 ? "?gemm_v2_64" : op == 5 && is_complex(t) ? "?gemm3m" : "?gemm_v2");
    for (int s = 0; s < (quick ? 1 : 6); s++)
        for (int flags = 0; flags < 4; flags++) {
            int m = shapes[s][0], n = shapes[s][1];
            symm(t, flags & 1, flags >> 1, m, n, 's');
            if (is_complex(t))
                symm(t, flags & 1, flags >> 1, m, n, 'h');
            for (int form = 0; form < 3; form++)
                for (int her = 0; her < (is_complex(t) ? 2 : 1); her++)
                    rank_k(t, flags & 1, flags >> 1, m, shapes[s][2], her, form);
            for (int f = 0; f < 12; f++)
                triangular_mm(t, flags & 1, flags >> 1, f % 3, f / 3 & 1, m, n, f / 6);
            geam_dgmm(t, flags % 3, flags / 2, m, n);
        }
    for (int b = 0; b < 3; b++) {
        alpha_zero(t, 3, b / 2.0);
        alpha_zero(t, quick ? 5 : 70, b / 2.0);
    }
    packing(t, 6, 0);
    packing(t, 7, 1);
    batched(t, 0, 4, 3, 5, 3);
    batched(t, 2, 9, 8, 6, 10);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    if (cublasCreate_v2(&handle) != CUBLAS_STATUS_SUCCESS)
        return 2;
    for (const char *t = quick ? "sz" : "sdcz"; *t; t++) {
        level1(*t);
        level2(*t);
        level3(*t);
    }
    check(cublasDestroy_v2(handle) == 0, "destroy");
    return test_end("blas");
}
