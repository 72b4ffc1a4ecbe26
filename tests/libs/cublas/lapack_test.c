/* cuBLAS's batches of factors, solutions and inverses: what they give is put together again by plain loops in double, and
 * compared with what was given.  Usage: lapack_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cublas.h"

enum { BATCH = 3 };

static cublasHandle_t handle;

/* A batch of matrices of `rows` x `cols` elements, `ld` from column to column, and the array of pointers to them. */
struct matrices {
    char t;
    int rows, cols, ld;
    void *device, *pointers;
    cplx *host; /* as they were made, or as read back; without gaps */
};

static size_t bytes_of(const struct matrices *m)
{
    return (size_t)m->ld * (size_t)m->cols * size_of(m->t);
}

static cplx *element(const struct matrices *m, int b, int i, int j)
{
    return &m->host[((size_t)b * (size_t)m->cols + (size_t)j) * (size_t)m->rows + (size_t)i];
}

/* With `strong`, the diagonal is so large that no rows need be exchanged. */
static struct matrices make(char t, int rows, int cols, int gap, double strong)
{
    struct matrices m = {
        t, rows, cols, (rows ? rows : 1) + gap, NULL, NULL, malloc((size_t)(BATCH * rows * cols + 1) * sizeof(cplx))
    };
    size_t one = bytes_of(&m);
    char *bytes = malloc(BATCH * one + 16);
    void *list[BATCH];
    memset(bytes, 0x7f, BATCH * one);
    cudaMalloc(&m.device, BATCH * one + 16);
    cudaMalloc(&m.pointers, sizeof list);
    for (int b = 0; b < BATCH; b++) {
        list[b] = (char *)m.device + (size_t)b * one;
        for (int j = 0; j < cols; j++)
            for (int i = 0; i < rows; i++) {
                *element(&m, b, i, j) = any_of(t) + (i == j ? strong : 0);
                put(t, bytes + (size_t)b * one, (long)j * m.ld + i, *element(&m, b, i, j));
            }
    }
    cudaMemcpy(m.device, bytes, BATCH * one, 1);
    cudaMemcpy(m.pointers, list, sizeof list, 1);
    free(bytes);
    return m;
}

/* What is on the device now. */
static struct matrices back(const struct matrices *m)
{
    struct matrices now = *m;
    size_t one = bytes_of(m);
    char *bytes = malloc(BATCH * one + 16);
    cudaMemcpy(bytes, m->device, BATCH * one, 2);
    now.host = malloc((size_t)(BATCH * m->rows * m->cols + 1) * sizeof(cplx));
    for (int b = 0; b < BATCH; b++)
        for (int j = 0; j < m->cols; j++) {
            for (int i = 0; i < m->rows; i++)
                *element(&now, b, i, j) = get(m->t, bytes + (size_t)b * one, (long)j * m->ld + i);
            for (size_t k = (size_t)m->rows * size_of(m->t); k < (size_t)m->ld * size_of(m->t); k++)
                check(bytes[(size_t)b * one + (size_t)j * (size_t)m->ld * size_of(m->t) + k] == 0x7f, "written between columns");
        }
    free(bytes);
    return now;
}

static void drop(struct matrices *m, struct matrices *now)
{
    cudaFree(m->device), cudaFree(m->pointers);
    free(m->host);
    if (now)
        free(now->host);
}

static int *ints(int n)
{
    void *p = NULL;
    cudaMalloc(&p, (size_t)n * sizeof(int) + 16);
    return p;
}

static void read_ints(int *to, const int *from, int n)
{
    cudaMemcpy(to, from, (size_t)n * sizeof(int), 2);
}

static void near(const char *what, char t, int n, int b, cplx got, cplx wanted, double scale)
{
    double bound = (real_of(t) == 's' ? 3e-6 : 4e-15) * (n + 4) * scale;
    check(cabs(got - wanted) <= bound, "%c%s n %d item %d: %g%+gi, not %g%+gi", t, what, n, b, creal(got), cimag(got),
          creal(wanted), cimag(wanted));
}

#define CALL(t, name, ...)                                                                                     \
    ((t) == 's' ? cublasS##name(handle, __VA_ARGS__) : (t) == 'd' ? cublasD##name(handle, __VA_ARGS__)         \
     : (t) == 'c' ? cublasC##name(handle, __VA_ARGS__) : cublasZ##name(handle, __VA_ARGS__))
#define P(m) (void *)(m).pointers

/* P A = L U, and the inverse and solutions by these. */
static void test_lu(char t, int n, int pivoting)
{
    struct matrices a = make(t, n, n, 1, pivoting ? 0 : 3 * n + 40), c = make(t, n, n, 2, 0), lu, inverse;
    int *pivots = ints(BATCH * (n + 1)), *info = ints(BATCH), p[3 * 64], status[BATCH], host_info = 7,
        *given = pivoting ? pivots : NULL;
    check(CALL(t, getrfBatched, n, P(a), a.ld, given, info, BATCH) == 0, "getrf");
    lu = back(&a);
    read_ints(status, info, BATCH);
    read_ints(p, pivots, BATCH * n);
    for (int b = 0; b < BATCH; b++) {
        int row[64];
        check(status[b] == 0, "%cgetrf n %d: info %d", t, n, status[b]);
        for (int i = 0; i < n; i++)
            row[i] = i;
        for (int i = 0; i < n && pivoting; i++) {
            int k = p[b * n + i] - 1, r = row[i];
            if (!check(k >= i && k < n, "pivot %d of %d", k, i))
                return;
            row[i] = row[k], row[k] = r;
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                cplx sum = 0;
                for (int k = 0; k <= (i < j ? i : j); k++)
                    sum += (k == i ? 1 : *element(&lu, b, i, k)) * *element(&lu, b, k, j);
                near("getrf", t, n, b, sum, *element(&a, b, row[i], j), 8 + (pivoting ? 0 : 3 * n + 40));
            }
    }
    check(CALL(t, getriBatched, n, P(a), a.ld, given, P(c), c.ld, info, BATCH) == 0, "getri");
    inverse = back(&c);
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                cplx sum = 0;
                double largest = 1;
                for (int k = 0; k < n; k++) {
                    sum += *element(&a, b, i, k) * *element(&inverse, b, k, j);
                    largest = fmax(largest, cabs(*element(&inverse, b, k, j)));
                }
                near("getri", t, n, b, sum, i == j, 40 * largest + (pivoting ? 0 : n));
            }
    for (int op = 0; op < 3; op++) {
        struct matrices x = make(t, n, 2, 1, 0), solved;
        check(CALL(t, getrsBatched, op, n, 2, P(a), a.ld, given, P(x), x.ld, &host_info, BATCH) == 0 && host_info == 0, "getrs");
        solved = back(&x);
        for (int b = 0; b < BATCH; b++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < 2; j++) {
                    cplx sum = 0;
                    double largest = 1;
                    for (int k = 0; k < n; k++) {
                        cplx e = op == 0 ? *element(&a, b, i, k) : op == 1 ? *element(&a, b, k, i) : conj(*element(&a, b, k, i));
                        sum += e * *element(&solved, b, k, j);
                        largest = fmax(largest, cabs(*element(&solved, b, k, j)));
                    }
                    near("getrs", t, n, b, sum, *element(&x, b, i, j), 40 * largest);
                }
        drop(&x, &solved);
    }
    drop(&a, &lu), drop(&c, &inverse);
    cudaFree(pivots), cudaFree(info);
}

static void test_inverse(char t, int n)
{
    struct matrices a = make(t, n, n, 0, 20), c = make(t, n, n, 3, 0), inverse, same;
    int *info = ints(BATCH), status[BATCH] = { 9, 9, 9 };
    check(CALL(t, matinvBatched, n, P(a), a.ld, P(c), c.ld, info, BATCH) == 0, "matinv");
    inverse = back(&c), same = back(&a);
    read_ints(status, info, BATCH);
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                cplx sum = 0;
                for (int k = 0; k < n; k++)
                    sum += *element(&a, b, i, k) * *element(&inverse, b, k, j);
                check(status[b] == 0 && *element(&same, b, i, j) == *element(&a, b, i, j), "matinv leaves its input");
                near("matinv", t, n, b, sum, i == j, 40);
            }
    drop(&a, &same), drop(&c, &inverse);
    cudaFree(info);
}

/* A = Q R: the reflections that tau and what lies below the diagonal say, applied to R from the last on. */
static void test_qr(char t, int m, int n)
{
    int k = m < n ? m : n, host_info = 7;
    struct matrices a = make(t, m, n, 1, 0), tau = make(t, k, 1, 0, 0), qr, scale;
    check(CALL(t, geqrfBatched, m, n, P(a), a.ld, P(tau), &host_info, BATCH) == 0 && host_info == 0, "geqrf");
    qr = back(&a), scale = back(&tau);
    for (int b = 0; b < BATCH; b++)
        for (int j = 0; j < n; j++) {
            cplx column[64];
            for (int i = 0; i < m; i++)
                column[i] = i <= j ? *element(&qr, b, i, j) : 0;
            for (int r = k - 1; r >= 0; r--) {
                cplx dot = column[r];
                for (int i = r + 1; i < m; i++)
                    dot += conj(*element(&qr, b, i, r)) * column[i];
                dot *= *element(&scale, b, r, 0);
                column[r] -= dot;
                for (int i = r + 1; i < m; i++)
                    column[i] -= *element(&qr, b, i, r) * dot;
            }
            for (int i = 0; i < m; i++)
                near("geqrf", t, m, b, column[i], *element(&a, b, i, j), 12);
        }
    drop(&a, &qr), drop(&tau, &scale);
}

/* What is left of A x - b is at right angles to the columns of A. */
static void test_least_squares(char t, int m, int n)
{
    struct matrices a = make(t, m, n, 2, 10), b = make(t, m, 2, 1, 0), x;
    int *infos = ints(BATCH), host_info = 7, status[BATCH] = { 9, 9, 9 };
    check(CALL(t, gelsBatched, CUBLAS_OP_N, m, n, 2, P(a), a.ld, P(b), b.ld, &host_info, infos, BATCH) == 0 && host_info == 0,
          "gels");
    x = back(&b);
    read_ints(status, infos, BATCH);
    for (int q = 0; q < BATCH; q++)
        for (int j = 0; j < 2; j++) {
            cplx left[64];
            check(status[q] == 0, "gels: info %d", status[q]);
            for (int i = 0; i < m; i++) {
                left[i] = -*element(&b, q, i, j);
                for (int k = 0; k < n; k++)
                    left[i] += *element(&a, q, i, k) * *element(&x, q, k, j);
            }
            for (int k = 0; k < n; k++) {
                cplx dot = 0;
                for (int i = 0; i < m; i++)
                    dot += conj(*element(&a, q, i, k)) * left[i];
                near("gels", t, m, q, dot, 0, 60);
            }
        }
    drop(&a, NULL), drop(&b, &x);
    cudaFree(infos);
}

/* The inverse of what has none is no number, and that of its neighbours is theirs. */
static void test_singular(char t, int at_once)
{
    enum { N = 3 };
    struct matrices a = make(t, N, N, 1, 40), c = make(t, N, N, 1, 0), inverse;
    int *info = ints(BATCH), *pivots = ints(BATCH * N), status[BATCH];
    static const char zeros[4 * N * 16];
    size_t bytes = bytes_of(&a);
    cudaMemcpy((char *)a.device + bytes, zeros, bytes, 1); /* the second of the batch */
    if (at_once) {
        check(CALL(t, matinvBatched, N, P(a), a.ld, P(c), c.ld, info, BATCH) == 0, "matinv");
    } else {
        check(CALL(t, getrfBatched, N, P(a), a.ld, pivots, info, BATCH) == 0, "getrf");
        check(CALL(t, getriBatched, N, P(a), a.ld, pivots, P(c), c.ld, info, BATCH) == 0, "getri");
    }
    inverse = back(&c);
    read_ints(status, info, BATCH);
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                cplx e = *element(&inverse, b, i, j);
                check((status[b] > 0) == (b == 1) && isnan(creal(e)) == (b == 1), "%c, inverse %d of a batch: %d, %g", t, b,
                      status[b], creal(e));
            }
    drop(&a, NULL), drop(&c, &inverse);
    cudaFree(info);
    cudaFree(pivots);
}

static void test_refusals(void)
{
    struct matrices a = make('d', 3, 3, 0, 0);
    int *info = ints(BATCH), *pivots = ints(9), status[BATCH], host_info = 0;
    double zeros[27] = { 0 };
    cudaMemcpy(a.device, zeros, sizeof zeros, 1);
    for (int with = 0; with < 2; with++) {
        check(cublasDgetrfBatched(handle, 3, P(a), 3, with ? pivots : NULL, info, BATCH) == 0, "getrf of zeros");
        read_ints(status, info, BATCH);
        check(status[0] == 1 && status[2] == 1, "singular: info %d %d", status[0], status[2]);
    }
    check(cublasDmatinvBatched(handle, 3, P(a), 3, P(a), 3, info, BATCH) == 0, "matinv of zeros");
    read_ints(status, info, BATCH);
    check(status[1] == 1, "singular: info %d", status[1]);
    check(cublasDmatinvBatched(handle, 33, P(a), 33, P(a), 33, info, BATCH) == CUBLAS_STATUS_INVALID_VALUE, "matinv of 33");
    check(cublasDgetrfBatched(handle, 3, P(a), 2, pivots, info, BATCH) == CUBLAS_STATUS_INVALID_VALUE, "lda");
    check(cublasDgetrfBatched(handle, -1, P(a), 2, pivots, info, BATCH) == CUBLAS_STATUS_INVALID_VALUE, "n");
    check(cublasDgetrfBatched(handle, 3, P(a), 3, pivots, info, 0) == 0, "none");
    check(cublasDgetrsBatched(handle, CUBLAS_OP_N, 3, 1, P(a), 2, pivots, P(a), 3, &host_info, BATCH) ==
                  CUBLAS_STATUS_INVALID_VALUE &&
          host_info == -5, "getrs: info %d", host_info);
    check(cublasDgeqrfBatched(handle, 3, 0, NULL, 3, NULL, &host_info, BATCH) == CUBLAS_STATUS_SUCCESS && host_info == 0 &&
              cublasDgeqrfBatched(handle, 0, 3, NULL, 1, NULL, &host_info, BATCH) == CUBLAS_STATUS_SUCCESS,
          "geqrf of empty matrices without addresses");
    check(cublasDgeqrfBatched(handle, 1, 1, NULL, 1, NULL, &host_info, BATCH) == CUBLAS_STATUS_INVALID_VALUE && host_info == -3,
          "geqrf without addresses: info %d", host_info);
    check(cublasDgeqrfBatched(handle, -1, 3, P(a), 3, P(a), &host_info, BATCH) == CUBLAS_STATUS_INVALID_VALUE && host_info == -1,
          "geqrf: info %d", host_info);
    check(cublasDgelsBatched(handle, CUBLAS_OP_T, 3, 3, 1, P(a), 3, P(a), 3, &host_info, info, BATCH) ==
              CUBLAS_STATUS_NOT_SUPPORTED,
          "gels");
    check(cublasDgetrfBatched(NULL, 3, P(a), 3, pivots, info, BATCH) == CUBLAS_STATUS_NOT_INITIALIZED, "no handle");
    drop(&a, NULL);
    cudaFree(info), cudaFree(pivots);
}

int main(int argc, char **argv)
{
    static const int sizes[] = { 0, 1, 2, 5, 17, 33 };
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cublasCreate_v2(&handle) == 0, "create");
    for (const char *t = quick ? "sz" : "sdcz"; *t; t++)
        for (int i = 0; i < (quick ? 4 : 6); i++) {
            int n = sizes[i];
            test_lu(*t, n, 1);
            test_lu(*t, n, 0);
            test_qr(*t, n, n), test_qr(*t, n + 3, n), test_qr(*t, n, n + 2);
            test_least_squares(*t, n + 4, n);
            if (n <= 32)
                test_inverse(*t, n);
        }
    for (const char *t = quick ? "sz" : "sdcz"; *t; t++)
        test_singular(*t, 0), test_singular(*t, 1);
    test_refusals();
    cublasDestroy_v2(handle);
    printf("%d checks, %d failures\n", checks, failures);
    return failures != 0;
}
