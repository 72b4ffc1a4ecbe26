/* cublasXt against plain loops: every function in every type, matrices of the host's and of the device's memory, shapes from
 * nothing to odd ones; its handles and settings.  Usage: xt_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static cublasXtHandle_t handle;

/* An operand: where it lies, and what it is as a matrix without triangles. */
struct operand {
    struct array a;
    void *at; /* what the call gets */
    long ld;
    int rows, cols;
};

static struct operand operand_make(char t, int rows, int cols, long extra, int on_device)
{
    struct operand o = { .ld = rows + extra, .rows = rows, .cols = cols };
    o.a = array_make(t, o.ld * cols);
    o.at = on_device ? o.a.device : o.a.host;
    return o;
}

static cplx at_of(const struct operand *o, int op, int i, int j)
{
    cplx v = op ? o->a.want[j + i * o->ld] : o->a.want[i + j * o->ld];
    return op == 2 ? conj(v) : v;
}

/* What the call wrote, compared wherever it lies; both kinds are freed. */
static void operand_end(struct operand *o, const char *what)
{
    if (o->at == o->a.host)
        cudaMemcpy(o->a.device, o->a.host, (size_t)o->a.n * size_of(o->a.t), 1);
    array_end(&o->a, what);
}

/* How A is to be read, beside op. */
enum { GENERAL, SYMMETRIC, HERMITIAN, TRIANGULAR, UNIT };

static cplx read_as(const struct operand *o, int kind, int upper, int op, int i, int j)
{
    int lower_here = i > j;
    if (kind == GENERAL)
        return at_of(o, op, i, j);
    if (kind >= TRIANGULAR) {
        int r = op ? j : i, c = op ? i : j;
        return r == c && kind == UNIT ? 1 : (upper ? r <= c : r >= c) ? at_of(o, op, i, j) : 0;
    }
    if (kind == HERMITIAN && i == j)
        return creal(at_of(o, 0, i, i));
    return lower_here == !upper || i == j ? at_of(o, 0, i, j) : at_of(o, kind == HERMITIAN ? 2 : 1, i, j);
}

/* A factor, and how it is read. */
struct factor {
    const struct operand *o;
    int kind, upper, op;
};

/* c = alpha x y + beta c; triangle 1: the lower alone, 2: the upper */
static void reference(cplx *c, long ldc, int m, int n, int k, cplx alpha, struct factor x, struct factor y, cplx beta,
                      int triangle)
{
    for (int j = 0; j < n; j++)
        for (int i = triangle == 1 ? j : 0; i < (triangle == 2 ? j + 1 : m); i++) {
            cplx sum = 0;
            for (int l = 0; l < k; l++)
                sum += read_as(x.o, x.kind, x.upper, x.op, i, l) * read_as(y.o, y.kind, y.upper, y.op, l, j);
            c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);
        }
}

struct scalar {
    cplx v;
    double bytes[2];
};

static struct scalar scalar_of(char t, int zero)
{
    struct scalar s = { .v = zero ? 0 : any_of(t) };
    put(t, s.bytes, 0, s.v);
    return s;
}

static int real_op(char t, int op)
{
    return op == 2 && !is_complex(t) ? 1 : op;
}

static void gemm(char t, int opa, int opb, int m, int n, int k, int where)
{
    char what[80];
    struct operand a = operand_make(t, opa ? k : m, opa ? m : k, 2, where & 1),
                   b = operand_make(t, opb ? n : k, opb ? k : n, 1, where & 2), c = operand_make(t, m, n, 3, where & 4);
    struct scalar alpha = scalar_of(t, 0), beta = scalar_of(t, where == 3);
    reference(c.a.want, c.ld, m, n, k, alpha.v, (struct factor){ &a, GENERAL, 0, real_op(t, opa) },
              (struct factor){ &b, GENERAL, 0, real_op(t, opb) }, beta.v, 0);
    snprintf(what, sizeof what, "Xt%cgemm op=%d,%d m=%d n=%d k=%d where=%d", t, opa, opb, m, n, k, where);
    int status = ((cublasStatus_t(*)(cublasXtHandle_t, int, int, size_t, size_t, size_t, const void *, void *, size_t, void *,
                                     size_t, const void *, void *, size_t))function("Xt?gemm", t))(
        handle, opa, opb, (size_t)m, (size_t)n, (size_t)k, alpha.bytes, a.at, (size_t)a.ld, b.at, (size_t)b.ld, beta.bytes, c.at,
        (size_t)c.ld);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a.a), array_drop(&b.a), operand_end(&c, what);
}

/* symm, hemm, and spmm, whose triangle is packed. */
static void symmetric(char t, const char *name, int right, int upper, int m, int n, int where)
{
    char what[80], full[16];
    int order = right ? n : m, packed = name[1] == 'p', kind = name[0] == 'h' ? HERMITIAN : SYMMETRIC;
    struct operand a = operand_make(t, order, order, packed ? 0 : 2, where & 1), b = operand_make(t, m, n, 1, where & 2),
                   c = operand_make(t, m, n, 3, where & 4);
    struct scalar alpha = scalar_of(t, 0), beta = scalar_of(t, where == 3);
    struct factor fa = { &a, kind, upper, 0 }, fb = { &b, GENERAL, 0, 0 };
    reference(c.a.want, c.ld, m, n, order, alpha.v, right ? fb : fa, right ? fa : fb, beta.v, 0);
    for (int j = 0, to = 0; packed && j < order; j++)
        for (int i = upper ? 0 : j; i < (upper ? j + 1 : order); i++)
            put(t, a.a.host, to++, a.a.want[i + j * a.ld]);
    if (packed)
        array_put(&a.a);
    snprintf(full, sizeof full, "Xt?%smm", name);
    snprintf(what, sizeof what, "%s %c right=%d upper=%d m=%d n=%d where=%d", full, t, right, upper, m, n, where);
    void *f = function(full, t);
    int status = packed ? ((cublasStatus_t(*)(cublasXtHandle_t, int, int, size_t, size_t, const void *, void *, void *, size_t,
                                           const void *, void *, size_t))f)(handle, right, upper, (size_t)m, (size_t)n,
                                                                            alpha.bytes, a.at, b.at, (size_t)b.ld, beta.bytes,
                                                                            c.at, (size_t)c.ld)
                     : ((cublasStatus_t(*)(cublasXtHandle_t, int, int, size_t, size_t, const void *, void *, size_t, void *,
                                           size_t, const void *, void *, size_t))f)(handle, right, upper, (size_t)m, (size_t)n,
                                                                                    alpha.bytes, a.at, (size_t)a.ld, b.at,
                                                                                    (size_t)b.ld, beta.bytes, c.at, (size_t)c.ld);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a.a), array_drop(&b.a), operand_end(&c, what);
}

/* form 0: rank k, 1: rank 2k, 2: a product that the caller knows to be symmetric */
static void rank_k(char t, int her, int form, int upper, int transposed, int n, int k, int where)
{
    static const char *const names[2][3] = { { "Xt?syrk", "Xt?syr2k", "Xt?syrkx" }, { "Xt?herk", "Xt?her2k", "Xt?herkx" } };
    char what[80], real = real_of(t);
    int op = transposed ? her ? 2 : 1 : 0, other = transposed ? 0 : her ? 2 : 1, half = upper ? 2 : 1;
    struct operand a = operand_make(t, transposed ? k : n, transposed ? n : k, 1, where & 1),
                   b = operand_make(t, transposed ? k : n, transposed ? n : k, 2, where & 2),
                   c = operand_make(t, n, n, 3, where & 4);
    for (int j = 0; form == 2 && j < b.cols; j++) /* twice A, by real alpha: symmetric and hermitian */
        for (int i = 0; i < b.rows; i++)
            put(t, b.a.host, i + j * b.ld, b.a.want[i + j * b.ld] = a.a.want[i + j * a.ld] * 2);
    for (int j = 0; her && j < n; j++)
        put(t, c.a.host, j + j * c.ld, c.a.want[j + j * c.ld] = creal(c.a.want[j + j * c.ld]));
    array_put(&b.a), array_put(&c.a);
    struct scalar alpha = scalar_of(her && form != 1 ? real : t, 0), beta = scalar_of(her ? real : t, where == 3);
    if (her && form == 2)
        put(t, alpha.bytes, 0, alpha.v);
    struct factor fa = { &a, GENERAL, 0, op }, fb = { form ? &b : &a, GENERAL, 0, other };
    reference(c.a.want, c.ld, n, n, k, alpha.v, fa, fb, beta.v, half);
    if (form == 1)
        reference(c.a.want, c.ld, n, n, k, her ? conj(alpha.v) : alpha.v, (struct factor){ &b, GENERAL, 0, op },
                  (struct factor){ &a, GENERAL, 0, other }, 1, half);
    snprintf(what, sizeof what, "%s %c upper=%d op=%d n=%d k=%d where=%d", names[her][form], t, upper, op, n, k, where);
    void *f = function(names[her][form], t);
    int status = form ? ((cublasStatus_t(*)(cublasXtHandle_t, int, int, size_t, size_t, const void *, void *, size_t, void *,
                                            size_t, const void *, void *, size_t))f)(handle, upper, op, (size_t)n, (size_t)k,
                                                                                     alpha.bytes, a.at, (size_t)a.ld, b.at,
                                                                                     (size_t)b.ld, beta.bytes, c.at, (size_t)c.ld)
                      : ((cublasStatus_t(*)(cublasXtHandle_t, int, int, size_t, size_t, const void *, void *, size_t,
                                            const void *, void *, size_t))f)(handle, upper, op, (size_t)n, (size_t)k, alpha.bytes,
                                                                             a.at, (size_t)a.ld, beta.bytes, c.at, (size_t)c.ld);
    check(status == 0, "%s: status %d", what, status);
    array_drop(&a.a), array_drop(&b.a), operand_end(&c, what);
}

/* trmm into C; trsm, whose right side is made of the solution. */
static void triangular(char t, int solve, int right, int upper, int op, int unit, int m, int n, int where)
{
    char what[96];
    int order = right ? n : m;
    struct operand a = operand_make(t, order, order, 1, where & 1), b = operand_make(t, m, n, 2, where & 2),
                   c = operand_make(t, m, n, 3, where & 4);
    struct scalar alpha = scalar_of(t, 0);
    for (int i = 0; i < a.a.n; i++) { /* well conditioned */
        a.a.want[i] = i % (a.ld + 1) == 0 ? 8 : a.a.want[i] / 16;
        put(t, a.a.host, i, a.a.want[i]);
    }
    array_put(&a.a);
    alpha.v = 2, put(t, alpha.bytes, 0, alpha.v);
    struct factor fa = { &a, unit ? UNIT : TRIANGULAR, upper, real_op(t, op) }, fb = { &b, GENERAL, 0, 0 };
    cplx *product = calloc((size_t)b.a.n, sizeof *product);
    reference(solve ? product : c.a.want, solve ? b.ld : c.ld, m, n, order, solve ? 0.5 : alpha.v, right ? fb : fa,
              right ? fa : fb, 0, 0);
    for (int j = 0; solve && j < n; j++)
        for (int i = 0; i < m; i++)
            put(t, b.a.host, i + j * b.ld, product[i + j * b.ld]);
    array_put(&b.a);
    snprintf(what, sizeof what, "Xt%c%s right=%d upper=%d op=%d unit=%d m=%d n=%d where=%d", t, solve ? "trsm" : "trmm", right,
             upper, op, unit, m, n, where);
    void *f = function(solve ? "Xt?trsm" : "Xt?trmm", t);
    int status = ((cublasStatus_t(*)(cublasXtHandle_t, int, int, int, int, size_t, size_t, const void *, void *, size_t, void *,
                                     size_t, void *, size_t))f)(handle, right, upper, op, unit, (size_t)m, (size_t)n, alpha.bytes,
                                                                a.at, (size_t)a.ld, b.at, (size_t)b.ld, c.at, (size_t)c.ld);
    check(status == 0, "%s: status %d", what, status);
    free(product), array_drop(&a.a);
    operand_end(&b, what), operand_end(&c, what);
}

static void all_of(char t, int m, int n, int k, int where)
{
    for (int i = 0; i < 9; i++)
        gemm(t, i % 3, i / 3, m, n, k, where);
    for (int i = 0; i < 4; i++) {
        symmetric(t, "sy", i & 1, i >> 1, m, n, where);
        symmetric(t, "sp", i & 1, i >> 1, m, n, where);
        if (is_complex(t))
            symmetric(t, "he", i & 1, i >> 1, m, n, where);
        for (int form = 0; form < 3; form++)
            for (int her = 0; her <= is_complex(t); her++)
                rank_k(t, her, form, i & 1, i >> 1, n, k, where);
    }
    for (int i = 0; i < 48; i++)
        triangular(t, i & 1, i >> 1 & 1, i >> 2 & 1, i >> 4, i >> 3 & 1, m, n, where);
}

static void handles(void)
{
    int dim = 0, mode = 7, boards = 0, device = 0, none = 99;
    double a[4] = { 1, 2, 3, 4 }, c[4] = { 7, 7, 7, 7 }, one = 1, zero = 0;
    cublasXtHandle_t unselected;
    check(cublasXtCreate(NULL) == CUBLAS_STATUS_INVALID_VALUE, "create nowhere");
    check(cublasXtCreate(&unselected) == 0, "create");
    check(cublasXtDgemm(unselected, 0, 0, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) == CUBLAS_STATUS_NOT_INITIALIZED && c[0] == 7,
          "no device is selected");
    check(cublasXtDeviceSelect(unselected, 1, &none) == CUBLAS_STATUS_INVALID_VALUE, "device 99");
    check(cublasXtDeviceSelect(unselected, 0, &device) == CUBLAS_STATUS_INVALID_VALUE, "no devices");
    check(cublasXtDestroy(unselected) == 0 && cublasXtDestroy(NULL) == CUBLAS_STATUS_NOT_INITIALIZED, "destroy");
    check(cublasXtDeviceSelect(NULL, 1, &device) == CUBLAS_STATUS_NOT_INITIALIZED, "select for none");
    check(cublasXtGetBlockDim(handle, &dim) == 0 && dim > 0, "block dimension %d", dim);
    check(cublasXtSetBlockDim(handle, 64) == 0 && cublasXtGetBlockDim(handle, &dim) == 0 && dim == 64, "block dimension %d", dim);
    check(cublasXtSetBlockDim(handle, 0) == CUBLAS_STATUS_INVALID_VALUE, "block dimension 0");
    check(cublasXtSetPinningMemMode(handle, 1) == 0 && cublasXtGetPinningMemMode(handle, &mode) == 0 && mode == 1, "pinning %d",
          mode);
    check(cublasXtSetPinningMemMode(handle, 2) == CUBLAS_STATUS_INVALID_VALUE, "pinning 2");
    check(cublasXtGetNumBoards(1, &device, &boards) == 0 && boards == 1, "%d boards", boards);
    check(cublasXtMaxBoards(&boards) == 0 && boards > 0, "%d boards at most", boards);
    check(cublasXtSetCpuRatio(handle, 0, 1, 0.25f) == 0, "ratio");
    check(cublasXtSetCpuRatio(handle, 12, 1, 0.25f) == CUBLAS_STATUS_INVALID_VALUE, "ratio of no function");
    check(cublasXtSetCpuRoutine(handle, 0, 4, &dim) == CUBLAS_STATUS_INVALID_VALUE, "routine of no type");
}

static void arguments(void)
{
    double a[4] = { 1, 2, 3, 4 }, c[4] = { 7, 7, 7, 7 }, one = 1, zero = 0;
    check(cublasXtDgemm(handle, 0, 0, 2, 2, 2, &one, a, 1, a, 2, &zero, c, 2) == CUBLAS_STATUS_INVALID_VALUE, "lda 1");
    check(cublasXtDgemm(handle, 5, 0, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) == CUBLAS_STATUS_INVALID_VALUE, "op 5");
    check(cublasXtDgemm(handle, 0, 0, 2, 2, 2, NULL, a, 2, a, 2, &zero, c, 2) == CUBLAS_STATUS_INVALID_VALUE, "no alpha");
    check(cublasXtDgemm(handle, 0, 0, 2, 2, 2, &one, NULL, 2, a, 2, &zero, c, 2) == CUBLAS_STATUS_INVALID_VALUE, "no A");
    check(cublasXtDgemm(handle, 0, 0, (size_t)-1, 2, 2, &one, a, 2, a, 2, &zero, c, 2) == CUBLAS_STATUS_INVALID_VALUE,
          "m too large");
    check(c[0] == 7 && c[3] == 7, "a failed call writes nothing");
}

int main(int argc, char **argv)
{
    static const int shapes[][3] = { { 3, 5, 4 }, { 1, 1, 1 }, { 0, 3, 2 }, { 4, 3, 0 }, { 17, 9, 12 } };
    int quick = argc > 1 && !strcmp(argv[1], "quick"), device = 0;
    check(cublasXtCreate(&handle) == 0 && cublasXtDeviceSelect(handle, 1, &device) == 0, "a handle");
    check(cublasXtDeviceSelect(handle, 1, &device) == CUBLAS_STATUS_INVALID_VALUE, "devices are selected once");
    handles();
    arguments();
    for (const char *t = "sdcz"; *t; t++)
        for (int i = 0; i < (quick ? 1 : 5); i++)
            for (int where = quick ? 3 + (*t == 'c') * 3 : 0; where < (quick ? 4 + (*t == 'c') * 3 : 8); where++)
                all_of(*t, shapes[i][0], shapes[i][1], shapes[i][2], where);
    check(cublasXtDestroy(handle) == 0, "destroy");
    return test_end("xt_test");
}
