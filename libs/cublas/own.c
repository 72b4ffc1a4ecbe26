/* What no BLAS has, computed here on the processor: sums and products by a diagonal, packed triangles, and BLAS's own in cuBLAS's
 * forms. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <limits.h>
#include <math.h>

#include "call.h"
#include "common/blas.h"

typedef float _Complex float_complex;
typedef double _Complex double_complex;
#define SAME(x) (x)

/* Defines name_s, _d, _c and _z by a macro that takes suffix, type and conjugation, and the entry that chooses. */
#define FOUR(name, DEFINE)                                                                                   \
    DEFINE(name##_s, float, SAME)                                                                            \
    DEFINE(name##_d, double, SAME)                                                                           \
    DEFINE(name##_c, float_complex, conjf)                                                                   \
    DEFINE(name##_z, double_complex, conj)                                                                   \
    void aw_blas_own_##name(const struct aw_blas_call *call, const union aw_blas_value *v)                   \
    {                                                                                                        \
        switch (call->f->type) {                                                                             \
        case 's': name##_s(call, v); break;                                                                  \
        case 'd': name##_d(call, v); break;                                                                  \
        case 'c': name##_c(call, v); break;                                                                  \
        default: name##_z(call, v); break;                                                                   \
        }                                                                                                    \
    }

/* n x incx y incy result.  OpenBLAS 0.3.21 reads one element beyond a strided complex vector, which may be where nothing is
 * mapped: only dense ones are its. */
#define DOT(name, T, CONJ, blas)                                                                             \
    static void name(const union aw_blas_value *v)                                                           \
    {                                                                                                        \
        static void *cell;                                                                                   \
        const int n = (int)v[0].i, one = 1;                                                                  \
        int64_t incx = v[2].i, incy = v[4].i;                                                                \
        const T *x = (const T *)v[1].p + (incx < 0 ? (1 - v[0].i) * incx : 0);                               \
        const T *y = (const T *)v[3].p + (incy < 0 ? (1 - v[0].i) * incy : 0);                               \
        T sum = 0, (*dot)(const int *, const T *, const int *, const T *, const int *) = NULL;               \
        if (incx == 1 && incy == 1 && n > 0)                                                                 \
            dot = (T (*)(const int *, const T *, const int *, const T *, const int *))aw_cpu_blas_cell(&cell, blas); \
        if (dot)                                                                                             \
            sum = dot(&n, x, &one, y, &one);                                                                 \
        for (int64_t i = 0; i < n && !dot; i++)                                                              \
            sum += CONJ(x[i * incx]) * y[i * incy];                                                          \
        *(T *)v[5].p = sum;                                                                                  \
    }
DOT(dotu_c, float_complex, SAME, "cdotu_")
DOT(dotu_z, double_complex, SAME, "zdotu_")
DOT(dotc_c, float_complex, conjf, "cdotc_")
DOT(dotc_z, double_complex, conj, "zdotc_")

void aw_blas_own_dotu(const struct aw_blas_call *call, const union aw_blas_value *v)
{
    (call->f->type == 'c' ? dotu_c : dotu_z)(v);
}

void aw_blas_own_dotc(const struct aw_blas_call *call, const union aw_blas_value *v)
{
    (call->f->type == 'c' ? dotc_c : dotc_z)(v);
}

/* n x incx result.  OpenBLAS 0.3.21's own is wrong from nine elements on where the processor is a Cooper Lake to it; that of
 * twice as many reals is right. */
void aw_blas_own_scasum(const struct aw_blas_call *call, const union aw_blas_value *v)
{
    static void *cell;
    float (*sasum)(const int *, const float *, const int *) = NULL;
    const float *x = v[1].p;
    const int n = v[0].i <= INT_MAX / 2 ? (int)v[0].i * 2 : 0, one = 1;
    double sum = 0;
    if (v[2].i == 1 && n)
        sasum = (float (*)(const int *, const float *, const int *))aw_cpu_blas_cell(&cell, "sasum_");
    if (sasum)
        sum = sasum(&n, x, &one);
    for (int64_t i = 0; i < v[0].i && !sasum && v[2].i > 0; i++)
        sum += fabsf(x[2 * i * v[2].i]) + fabsf(x[2 * i * v[2].i + 1]);
    *(float *)v[3].p = (float)sum;
}

/* Element (i, j) of op(X). */
#define ELEMENT(x, ld, op, CONJ, i, j) \
    ((op) == CUBLAS_OP_N ? (x)[(i) + (j) * (ld)] : (op) == CUBLAS_OP_T ? (x)[(j) + (i) * (ld)] : CONJ((x)[(j) + (i) * (ld)]))

/* transa transb m n alpha A lda beta B ldb C ldc; what is multiplied by 0 is not read. */
#define GEAM(name, T, CONJ)                                                                                  \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                          \
    {                                                                                                        \
        const T alpha = *(const T *)v[4].p, *a = v[5].p, beta = *(const T *)v[7].p, *b = v[8].p;             \
        T *c = v[10].p;                                                                                      \
        for (int64_t j = 0; j < v[3].i; j++)                                                                 \
            for (int64_t i = 0; i < v[2].i; i++) {                                                           \
                T sum = alpha == 0 ? 0 : alpha * ELEMENT(a, v[6].i, v[0].i, CONJ, i, j);                     \
                if (beta != 0)                                                                               \
                    sum += beta * ELEMENT(b, v[9].i, v[1].i, CONJ, i, j);                                    \
                c[i + j * v[11].i] = sum;                                                                    \
            }                                                                                                \
    }
FOUR(geam, GEAM)

/* mode m n A lda x incx C ldc */
#define DGMM(name, T, CONJ)                                                                                  \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                          \
    {                                                                                                        \
        bool left = v[0].i == CUBLAS_SIDE_LEFT;                                                              \
        int64_t inc = v[6].i, n = left ? v[1].i : v[2].i;                                                    \
        const T *a = v[3].p, *x = (const T *)v[5].p + (inc < 0 ? (1 - n) * inc : 0);                         \
        T *c = v[7].p;                                                                                       \
        for (int64_t j = 0; j < v[2].i; j++)                                                                 \
            for (int64_t i = 0; i < v[1].i; i++)                                                             \
                c[i + j * v[8].i] = a[i + j * v[4].i] * x[(left ? i : j) * inc];                             \
    }
FOUR(dgmm, DGMM)

/* uplo n alpha x incx y incy A lda: A += alpha (x y^T + y x^T) in one triangle; with alpha 0 vectors are not read */
#define SYR2(name, T, CONJ)                                                                                               \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                                       \
    {                                                                                                                     \
        int64_t n = v[1].i, incx = v[4].i, incy = v[6].i;                                                                 \
        const T alpha = *(const T *)v[2].p;                                                                               \
        const T *x = (const T *)v[3].p + (incx < 0 ? (1 - n) * incx : 0),                                                 \
                *y = (const T *)v[5].p + (incy < 0 ? (1 - n) * incy : 0);                                                 \
        T *a = v[7].p;                                                                                                    \
        for (int64_t j = 0; j < n && alpha != 0; j++) {                                                                   \
            T xj = alpha * x[j * incx], yj = alpha * y[j * incy];                                                         \
            int64_t first = v[0].i == CUBLAS_FILL_MODE_UPPER ? 0 : j, end = v[0].i == CUBLAS_FILL_MODE_UPPER ? j + 1 : n; \
            for (int64_t i = first; i < end; i++)                                                                         \
                a[i + j * v[8].i] += x[i * incx] * yj + y[i * incy] * xj;                                                 \
        }                                                                                                                 \
    }
FOUR(syr2, SYR2)

/* side uplo m n alpha AP B ldb beta C ldc: C = alpha A B + beta C, or B A, by a packed symmetric A; with alpha 0 neither is
 * read */
#define SPMM(name, T, CONJ)                                                                                  \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                          \
    {                                                                                                        \
        bool left = v[0].i == CUBLAS_SIDE_LEFT, upper = v[1].i == CUBLAS_FILL_MODE_UPPER;                    \
        int64_t m = v[2].i, n = v[3].i, order = left ? m : n;                                                \
        const T alpha = *(const T *)v[4].p, *ap = v[5].p, *b = v[6].p, beta = *(const T *)v[8].p;            \
        T *c = v[9].p;                                                                                       \
        for (int64_t j = 0; j < n; j++)                                                                      \
            for (int64_t i = 0; i < m; i++) {                                                                \
                T sum = 0, *at = &c[i + j * v[10].i];                                                        \
                for (int64_t l = 0; l < order && alpha != 0; l++)                                            \
                    sum += ap[packed(upper, order, left ? i : l, left ? l : j)] *                            \
                           (left ? b[l + j * v[7].i] : b[i + l * v[7].i]);                                   \
                *at = alpha * sum + (beta == 0 ? 0 : beta * *at);                                            \
            }                                                                                                \
    }

/* Where element (i, j) of a symmetric matrix of `n` rows is in its packed triangle. */
static int64_t packed(bool upper, int64_t n, int64_t i, int64_t j)
{
    int64_t low = i < j ? i : j, high = i < j ? j : i;
    return upper ? low + high * (high + 1) / 2 : high + low * (2 * n - low - 1) / 2;
}
FOUR(spmm, SPMM)

/* uplo n AP A lda */
#define TPTTR(name, T, CONJ)                                                                                 \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                          \
    {                                                                                                        \
        const T *ap = v[2].p;                                                                                \
        T *a = v[3].p;                                                                                       \
        bool upper = v[0].i == CUBLAS_FILL_MODE_UPPER;                                                       \
        for (int64_t j = 0; j < v[1].i; j++)                                                                 \
            for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : v[1].i); i++)                               \
                a[i + j * v[4].i] = *ap++;                                                                   \
    }
FOUR(tpttr, TPTTR)

/* uplo n A lda AP */
#define TRTTP(name, T, CONJ)                                                                                 \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                          \
    {                                                                                                        \
        const T *a = v[2].p;                                                                                 \
        T *ap = v[4].p;                                                                                      \
        bool upper = v[0].i == CUBLAS_FILL_MODE_UPPER;                                                       \
        for (int64_t j = 0; j < v[1].i; j++)                                                                 \
            for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : v[1].i); i++)                               \
                *ap++ = a[i + j * v[3].i];                                                                   \
    }
FOUR(trttp, TRTTP)

/* side uplo trans diag m n alpha A lda B ldb C ldc: BLAS's works in place */
typedef void (*trmm_fn)(const char *, const char *, const char *, const char *, const int *, const int *, const void *,
                        const void *, const int *, void *, const int *);

void aw_blas_own_trmm(const struct aw_blas_call *call, const union aw_blas_value *v)
{
    static void *cells[4];
    static const char *const names[] = { "strmm_", "dtrmm_", "ctrmm_", "ztrmm_" };
    int k = call->f->type == 's' ? 0 : call->f->type == 'd' ? 1 : call->f->type == 'c' ? 2 : 3;
    size_t size = k == 0 ? 4 : k == 3 ? 16 : 8;
    trmm_fn trmm = (trmm_fn)aw_cpu_blas_cell(&cells[k], names[k]);
    const char options[] = { "LR"[v[0].i], "LU"[v[1].i], "NTC"[v[2].i], "NU"[v[3].i] };
    const int m = (int)v[4].i, n = (int)v[5].i, lda = (int)v[8].i, ldc = (int)v[12].i;
    for (int64_t j = 0; j < n && v[9].p != v[11].p; j++)
        memcpy((char *)v[11].p + (size_t)(j * v[12].i) * size, (char *)v[9].p + (size_t)(j * v[10].i) * size, (size_t)m * size);
    if (trmm)
        trmm(&options[0], &options[1], &options[2], &options[3], &m, &n, v[6].p, v[7].p, &lda, v[11].p, &ldc);
}

/* uplo trans n k alpha A lda B ldb beta C ldc: one triangle of alpha op(A) op(B)' + beta C, by products: what lies beside the
 * diagonal's blocks at once, those aside first.  herkx's beta is real, and its diagonal. */
enum { BLOCK = 32 };
typedef void (*gemm_fn)(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                        const int *, const void *, const int *, const void *, void *, const int *);

#define SYRKX(name, T, CONJ)                                                                                                    \
    static void name(const struct aw_blas_call *call, const union aw_blas_value *v)                                             \
    {                                                                                                                           \
        static void *cell;                                                                                                      \
        const char gemm_name[] = { #name[sizeof #name - 2], 'g', 'e', 'm', 'm', '_', 0 };                                       \
        gemm_fn gemm = (gemm_fn)aw_cpu_blas_cell(&cell, gemm_name);                                                             \
        bool her = call->f->row->args[1].kind == AW_BLAS_OP_C, plain = v[1].i == CUBLAS_OP_N;                                   \
        bool upper = v[0].i == CUBLAS_FILL_MODE_UPPER;                                                                          \
        const char ta = plain ? 'N' : her ? 'C' : 'T', tb = plain ? her ? 'C' : 'T' : 'N';                                      \
        const int n = (int)v[2].i, k = (int)v[3].i, lda = (int)v[6].i, ldb = (int)v[8].i, ldc = (int)v[11].i, ld = BLOCK;       \
        const int64_t step_a = plain ? 1 : v[6].i, step_b = plain ? 1 : v[8].i;                                                 \
        const T zero = 0, *a = v[5].p, *b = v[7].p,                                                                             \
                beta = her ? sizeof(T) == 16 ? (T) * (const double *)v[9].p : (T) * (const float *)v[9].p : *(const T *)v[9].p; \
        T *c = v[10].p, block[BLOCK * BLOCK];                                                                                   \
        for (int64_t j = 0; j < n && gemm; j += BLOCK) {                                                                        \
            const int w = n - j < BLOCK ? (int)(n - j) : BLOCK, rows = upper ? (int)j : n - (int)j - w;                         \
            const int64_t first = upper ? 0 : j + w;                                                                            \
            gemm(&ta, &tb, &w, &w, &k, v[4].p, a + j * step_a, &lda, b + j * step_b, &ldb, &zero, block, &ld);                  \
            for (int q = 0; q < w; q++)                                                                                         \
                for (int i = upper ? 0 : q; i < (upper ? q + 1 : w); i++) {                                                     \
                    T *at = &c[j + i + (j + q) * v[11].i], p = block[i + q * BLOCK];                                            \
                    *at = beta == 0 ? p : p + beta * *at;                                                                       \
                    if (her && i == q)                                                                                          \
                        *at = (*at + CONJ(*at)) / 2;                                                                            \
                }                                                                                                               \
            if (rows > 0)                                                                                                       \
                gemm(&ta, &tb, &rows, &w, &k, v[4].p, a + first * step_a, &lda, b + j * step_b, &ldb, &beta,                    \
                     c + first + j * v[11].i, &ldc);                                                                            \
        }                                                                                                                       \
    }
FOUR(syrkx, SYRKX)
