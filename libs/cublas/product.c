/* Products on the processor: operands become float where BLAS has no such type, a product of BLAS, and what follows in one pass
 * over the result.  See product.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublas"
#include "product.h"

#include <complex.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "common/blas.h"
#include "handle.h"
#include "lt_amd.h"

typedef void (*gemm_fn)(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                        const int *, const void *, const int *, const void *, void *, const int *);

static void *gemm_cells[4];

static gemm_fn gemm_of(char calc)
{
    static const char *const names[] = { "sgemm_", "dgemm_", "cgemm_", "zgemm_" };
    int i = calc == 'd' ? 1 : calc == 'c' ? 2 : calc == 'z' ? 3 : 0;
    return (gemm_fn)aw_cpu_blas_cell(&gemm_cells[i], names[i]);
}

static cudaDataType calc_type(char calc)
{
    return calc == 'd' ? CUDA_R_64F : calc == 'c' ? CUDA_C_32F : calc == 'z' ? CUDA_C_64F : CUDA_R_32F;
}

/* ---- Types */

static bool is_fp8(cudaDataType t)
{
    return t == CUDA_R_8F_E4M3 || t == CUDA_R_8F_E5M2;
}

static bool all(const struct aw_product *p, cudaDataType t)
{
    return p->a.type == t && p->b.type == t && p->c.type == t && p->d.type == t;
}

static bool types_float(struct aw_product *p)
{
    cudaDataType a = p->a.type, b = p->b.type;
    if (all(p, CUDA_C_32F)) {
        p->calc = 'c';
        p->scale = CUDA_C_32F;
        return true;
    }
    p->calc = 's';
    p->scale = CUDA_R_32F;
    bool in = a == CUDA_R_32F || a == CUDA_R_16F || a == CUDA_R_16BF || a == CUDA_R_8I || is_fp8(a);
    if (!in || (a != b && !(is_fp8(a) && is_fp8(b))))
        return false;
    for (int i = 0; i < 2; i++) {
        cudaDataType t = i ? p->d.type : p->c.type;
        if (t == CUDA_R_32F || ((t == CUDA_R_16F || t == CUDA_R_16BF) && a != CUDA_R_32F) || (is_fp8(t) && is_fp8(a)))
            continue;
        return false;
    }
    return true;
}

cublasStatus_t aw_product_types(struct aw_product *p, cublasComputeType_t compute)
{
    cudaDataType asked = p->scale;
    bool known = false;
    switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
        p->calc = 's';
        p->scale = CUDA_R_16F;
        known = all(p, CUDA_R_16F);
        break;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9: known = types_float(p); break;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT:
        p->calc = p->a.type == CUDA_C_64F ? 'z' : 'd';
        p->scale = calc_type(p->calc);
        known = all(p, p->scale);
        break;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
        p->calc = 'i';
        p->scale = asked == CUDA_R_32F ? CUDA_R_32F : CUDA_R_32I;
        known = p->a.type == CUDA_R_8I && p->b.type == CUDA_R_8I && p->c.type == p->d.type &&
                (p->c.type == CUDA_R_32I || (p->c.type == CUDA_R_8I && p->scale == CUDA_R_32F));
        break;
    }
    return known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

void aw_product_scalar(struct aw_product *p, int which, const void *value)
{
    if (p->device || (which == AW_PRODUCT_SCALARS && p->alpha_vector))
        p->job.spans[which].at = (void *)(uintptr_t)value;
    else
        memcpy(which == AW_PRODUCT_SCALARS ? p->alpha : p->beta, value, aw_type_size(p->scale));
}

/* ---- Operands */

static int64_t run_length(const struct aw_product_matrix *m)
{
    return m->by_rows ? m->cols : m->rows;
}

static int64_t runs(const struct aw_product_matrix *m)
{
    return m->by_rows ? m->rows : m->cols;
}

/* What BLAS reads: in the type it computes in. */
struct operand {
    const void *at;
    void *made; /* to be freed, or NULL */
    int ld;
    char letter;
};

static bool operand_make(const struct aw_product_matrix *m, const void *at, cublasOperation_t op, bool turned, char calc,
                         struct operand *ret)
{
    bool transposed = (op != CUBLAS_OP_N) ^ m->by_rows ^ turned, conjugated = op == CUBLAS_OP_C && (calc == 'c' || calc == 'z');
    *ret = (struct operand){ at, NULL, (int)m->ld, conjugated ? transposed ? 'C' : 'R' : transposed ? 'T' : 'N' };
    if (m->type == calc_type(calc))
        return true;
    int64_t n = run_length(m), count = runs(m);
    float *made = malloc((size_t)(n * count) * sizeof *made + 1);
    if (!made)
        return false;
    for (int64_t r = 0; r < count; r++)
        aw_type_to_float(m->type, (const char *)at + (size_t)(r * m->ld) * aw_type_size(m->type), n, made + r * n);
    ret->at = ret->made = made;
    ret->ld = (int)(n > 0 ? n : 1);
    return true;
}

static void multiply(gemm_fn gemm, const struct operand *x, const struct operand *y, int m, int n, int k, const void *alpha,
                     const void *beta, void *out, int ld)
{
    gemm(&x->letter, &y->letter, &m, &n, &k, alpha, x->at, &x->ld, y->at, &y->ld, beta, out, &ld);
}

/* Sums of products of bytes are exact in float up to 1,024 of them: so many at a time, and the sum of those in integers. */
static bool multiply_exactly(gemm_fn gemm, const struct operand *x, const struct operand *y, int m, int n, int k, int32_t *out)
{
    enum { EXACT = 1024 };
    const float one = 1, zero = 0;
    size_t count = (size_t)m * (size_t)n;
    float *part = malloc(count * sizeof *part);
    if (!part)
        return false;
    memset(out, 0, count * sizeof *out);
    for (int at = 0; at < k; at += EXACT) {
        struct operand xs = *x, ys = *y;
        xs.at = (const float *)x->at + (x->letter == 'N' ? (int64_t)at * x->ld : at);
        ys.at = (const float *)y->at + (y->letter == 'N' ? at : (int64_t)at * y->ld);
        multiply(gemm, &xs, &ys, m, n, k - at < EXACT ? k - at : EXACT, &one, &zero, part, m);
        for (size_t i = 0; i < count; i++)
            out[i] = (int32_t)((uint32_t)out[i] + (uint32_t)(int32_t)part[i]);
    }
    free(part);
    return true;
}

/* ---- Behind the sum */

struct finish {
    const struct aw_product *p;
    int64_t item;          /* of the batch */
    const char *c;
    char *d, *aux;
    void *bias;
    double _Complex alpha, beta;
    double in_scale, c_scale, d_scale, aux_scale; /* in: A's times B's */
    /* An element for each row of the result, or NULL; cols: for each column. */
    double *alphas, *betas, *biases, *row_sums;
    const float *row_scales, *col_scales;
    double amax, aux_amax;
};

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
}

static float geluf(float x)
{
    return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

static double gelu_gradient(double x)
{
    double t = tanh(0.79788456080286536 * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.79788456080286536 * (1 + 3 * 0.044715 * x * x);
}

/* The activation of row i, column j, where it has an operand or result of its own. */
static double activate(struct finish *f, double v, int64_t i, int64_t j)
{
    const struct aw_product *p = f->p;
    int64_t at = i + j * p->aux_ld;
    if (p->epilogue & AW_PRODUCT_RELU) {
        uint8_t *byte = (uint8_t *)&f->aux[at / 8], bit = (uint8_t)(1u << at % 8);
        *byte = (uint8_t)(v > 0 ? *byte | bit : *byte & ~bit);
        v = v > 0 || isnan(v) ? v : 0;
    } else if (p->epilogue & AW_PRODUCT_GELU) {
        f->aux_amax = fabs(v) > f->aux_amax ? fabs(v) : f->aux_amax;
        aw_type_store(p->aux_type, f->aux, at, v * f->aux_scale);
        v = gelu(v);
    } else if (p->epilogue & AW_PRODUCT_DRELU) {
        v = f->aux[at / 8] >> at % 8 & 1 ? v : 0;
    } else if (p->epilogue & AW_PRODUCT_DGELU) {
        v *= gelu_gradient(creal(aw_type_load(p->aux_type, f->aux, at)) * f->aux_scale);
    }
    return v;
}

/* Run r of the result, n sums in T which become the result: column r, or row r where D is stored by rows.  Each step is a loop
 * of its own, as the processor's vectors like it; `c` holds what beta is multiplied with. */
#define FINISH_RUN(name, T, GELU)                                                                                           \
    static void name(struct finish *f, T *v, const T *c, int64_t n, int64_t r)                                              \
    {                                                                                                                       \
        const struct aw_product *p = f->p;                                                                                  \
        const int64_t step = p->d.by_rows ? 0 : 1, at = p->d.by_rows ? r : 0; /* in what has an element for each row */     \
        const T alpha = (T)(creal(f->alpha) * f->in_scale), beta = (T)(creal(f->beta) * f->c_scale);                        \
        const unsigned with_aux = AW_PRODUCT_AUX | AW_PRODUCT_DRELU | AW_PRODUCT_DGELU;                                     \
        for (int64_t e = 0; e < n && f->row_scales; e++)                                                                    \
            v[e] *= (T)f->row_scales[at + e * step];                                                                        \
        for (int64_t e = 0; e < n && f->col_scales; e++)                                                                    \
            v[e] *= (T)f->col_scales[p->d.by_rows ? e : r];                                                                 \
        if (f->alphas)                                                                                                      \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] *= (T)(f->alphas[at + e * step] * f->in_scale);                                                        \
        else                                                                                                                \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] *= alpha;                                                                                              \
        if (f->betas)                                                                                                       \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] += (T)(f->betas[at + e * step] * f->c_scale) * c[e];                                                   \
        else if (f->beta != 0)                                                                                              \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] += beta * c[e];                                                                                        \
        for (int64_t e = 0; e < n && f->biases; e++)                                                                        \
            v[e] += (T)f->biases[at + e * step];                                                                            \
        if (p->epilogue & with_aux)                                                                                         \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] = (T)activate(f, v[e], p->d.by_rows ? r : e, p->d.by_rows ? e : r);                                    \
        else if (p->epilogue & AW_PRODUCT_RELU)                                                                             \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] = v[e] < 0 ? 0 : v[e];                                                                                 \
        else if (p->epilogue & AW_PRODUCT_GELU)                                                                             \
            for (int64_t e = 0; e < n; e++)                                                                                 \
                v[e] = GELU(v[e]);                                                                                          \
        for (int64_t e = 0; e < n && f->row_sums; e++)                                                                      \
            f->row_sums[at + e * step] += v[e];                                                                             \
        for (int64_t e = 0; e < n && p->job.spans[AW_PRODUCT_AMAX_D].at; e++)                                               \
            f->amax = fabs((double)v[e]) > f->amax ? fabs((double)v[e]) : f->amax;                                          \
        for (int64_t e = 0; e < n && f->d_scale != 1; e++)                                                                  \
            v[e] *= (T)f->d_scale;                                                                                          \
    }
FINISH_RUN(finish_floats, float, geluf)
FINISH_RUN(finish_doubles, double, gelu)

static bool reads_c(const struct finish *f)
{
    return f->beta != 0 || f->betas;
}

/* A run of the sums to D; `other` is room for twice as many floats. */
static void finish_run(struct finish *f, void *sum, float *other, int64_t n, int64_t r)
{
    const struct aw_product *p = f->p;
    const char *c = f->c + (size_t)(r * p->c.ld) * aw_type_size(p->c.type);
    char *d = f->d + (size_t)(r * p->d.ld) * aw_type_size(p->d.type);
    if (p->calc == 'd') {
        finish_doubles(f, sum, (const double *)(const void *)c, n, r);
        memcpy(d, sum, (size_t)n * sizeof(double));
    } else if (p->calc == 's' || (p->calc == 'i' && p->scale == CUDA_R_32F)) {
        float *v = sum;
        if (p->calc == 'i')
            for (int64_t e = 0; e < n; e++)
                (v = other + n)[e] = (float)((int32_t *)sum)[e];
        if (reads_c(f))
            aw_type_to_float(p->c.type, c, n, other);
        finish_floats(f, v, other, n, r);
        aw_type_from_float(p->d.type, v, n, d);
    } else if (p->calc == 'i') {
        uint32_t alpha = (uint32_t)(int32_t)creal(f->alpha), beta = (uint32_t)(int32_t)creal(f->beta); /* as integers wrap */
        for (int64_t e = 0; e < n; e++)
            ((uint32_t *)(void *)d)[e] = alpha * ((const uint32_t *)sum)[e] +
                                         (beta ? beta * ((const uint32_t *)(const void *)c)[e] : 0);
    } else {
        for (int64_t e = 0; e < n; e++)
            aw_type_store(p->d.type, d, e, f->alpha * aw_type_load(calc_type(p->calc), sum, e) +
                                               (reads_c(f) ? f->beta * aw_type_load(p->c.type, c, e) : 0));
    }
}

/* Sums over k of A's rows or B's columns. */
static void input_gradient(const struct finish *f, const struct aw_product_matrix *m, cublasOperation_t op, const void *at,
                           bool of_a)
{
    const struct aw_product *p = f->p;
    for (int64_t i = 0; i < (of_a ? p->m : p->n); i++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++) {
            int64_t row = of_a ? i : l, col = of_a ? l : i;
            if (op != CUBLAS_OP_N) {
                int64_t swap = row;
                row = col, col = swap;
            }
            sum += creal(aw_type_load(m->type, at, m->by_rows ? row * m->ld + col : row + col * m->ld));
        }
        aw_type_store(p->bias_type, f->bias, i + f->item * p->bias_stride, sum);
    }
}

static double scale_at(const struct aw_product *p, int span)
{
    return p->job.spans[span].at ? *(const float *)p->job.spans[span].at : 1;
}

/* ---- One of the batch */

struct item {
    const void *a, *b, *c;
    void *d;
};

/* All in the type of BLAS, and nothing but the product: at once into D. */
static bool is_plain(const struct aw_product *p)
{
    if (p->calc == 'i' || p->epilogue || p->alpha_vector || p->beta_vector || p->c.type != calc_type(p->calc) ||
        p->d.type != p->c.type || p->scale != calc_type(p->calc))
        return false;
    for (int i = AW_PRODUCT_SCALE_A; i < AW_PRODUCT_SPANS; i++)
        if (p->job.spans[i].at)
            return false;
    return true;
}

static void copy_matrix(const struct aw_product *p, const struct item *x)
{
    size_t size = aw_type_size(p->d.type);
    for (int64_t r = 0; r < runs(&p->d); r++)
        memcpy((char *)x->d + (size_t)(r * p->d.ld) * size, (const char *)x->c + (size_t)(r * p->c.ld) * size,
               (size_t)run_length(&p->d) * size);
}

static bool sum_and_finish(struct finish *f, gemm_fn gemm, const struct operand *x, const struct operand *y, int m, int n)
{
    const struct aw_product *p = f->p;
    const double _Complex one_z = 1;
    const float _Complex one_c = 1;
    const double one_d = 1, zero[2] = { 0, 0 };
    const float one_s = 1;
    const void *one = p->calc == 'd'   ? (const void *)&one_d
                      : p->calc == 'c' ? (const void *)&one_c
                      : p->calc == 'z' ? (const void *)&one_z
                                       : &one_s;
    size_t size = p->calc == 'i' ? sizeof(int32_t) : aw_type_size(calc_type(p->calc));
    char *sum = malloc((size_t)m * (size_t)n * size + 1);
    float *other = malloc(2 * (size_t)m * sizeof *other + 1);
    bool good = sum && other;
    if (good && (p->k == 0 || (f->alpha == 0 && !f->alphas))) /* A and B are not looked at where alpha is 0 */
        memset(sum, 0, (size_t)m * (size_t)n * size);
    else if (good && p->calc == 'i')
        good = multiply_exactly(gemm, x, y, m, n, (int)p->k, (int32_t *)(void *)sum);
    else if (good)
        multiply(gemm, x, y, m, n, (int)p->k, one, zero, sum, m);
    for (int64_t r = 0; r < n && good; r++)
        finish_run(f, sum + (size_t)r * (size_t)m * size, other, m, r);
    free(sum);
    free(other);
    return good;
}

static double _Complex scalar_of(const struct aw_product *p, int span, const double *value)
{
    return aw_type_load(p->scale, p->device ? p->job.spans[span].at : value, 0);
}

/* `n` elements from `from` on in double; with `ok` false when memory is out. */
static double *rows_load(cudaDataType type, const void *at, int64_t from, int64_t n, bool *ok)
{
    double *rows = malloc((size_t)n * sizeof *rows);
    for (int64_t i = 0; rows && i < n; i++)
        rows[i] = creal(aw_type_load(type, at, from + i));
    *ok = *ok && rows;
    return rows;
}

static bool finish_init(struct finish *f, const struct aw_product *p, const struct item *x, int64_t item)
{
    const struct aw_lib_span *s = p->job.spans;
    bool ok = true;
    *f = (struct finish){ .p = p, .item = item, .c = x->c, .d = x->d, .bias = s[AW_PRODUCT_BIAS_AT].at };
    f->alpha = p->alpha_vector ? 1 : scalar_of(p, AW_PRODUCT_SCALARS, p->alpha);
    f->beta = p->beta_zero || p->beta_vector ? 0 : scalar_of(p, AW_PRODUCT_BETA, p->beta);
    f->in_scale = (p->a_scales ? 1 : scale_at(p, AW_PRODUCT_SCALE_A)) * (p->b_scales ? 1 : scale_at(p, AW_PRODUCT_SCALE_B));
    f->c_scale = scale_at(p, AW_PRODUCT_SCALE_C), f->d_scale = scale_at(p, AW_PRODUCT_SCALE_D);
    f->aux_scale = scale_at(p, AW_PRODUCT_SCALE_AUX);
    f->row_scales = p->a_scales ? s[AW_PRODUCT_SCALE_A].at : NULL;
    f->col_scales = p->b_scales ? s[AW_PRODUCT_SCALE_B].at : NULL;
    if (s[AW_PRODUCT_AUX_AT].at)
        f->aux = (char *)s[AW_PRODUCT_AUX_AT].at + (size_t)item * s[AW_PRODUCT_AUX_AT].stride;
    if (p->alpha_vector)
        f->alphas = rows_load(p->scale, s[AW_PRODUCT_SCALARS].at, item * p->alpha_stride, p->m, &ok);
    if (p->beta_vector && !p->beta_zero)
        f->betas = rows_load(p->scale, s[AW_PRODUCT_BETA].at, 0, p->m, &ok);
    if (p->epilogue & AW_PRODUCT_BIAS)
        f->biases = rows_load(p->bias_type, f->bias, item * p->bias_stride, p->m, &ok);
    if (p->epilogue & AW_PRODUCT_BIAS_GRAD)
        ok = (f->row_sums = calloc((size_t)p->m, sizeof *f->row_sums)) && ok;
    return ok;
}

/* What is told of the result beside it. */
static void finish_end(struct finish *f, const struct item *x)
{
    const struct aw_product *p = f->p;
    float *amax = p->job.spans[AW_PRODUCT_AMAX_D].at, *aux_amax = p->job.spans[AW_PRODUCT_AMAX_AUX].at;
    for (int64_t i = 0; f->row_sums && i < p->m; i++)
        aw_type_store(p->bias_type, f->bias, i + f->item * p->bias_stride, f->row_sums[i]);
    if (p->epilogue & (AW_PRODUCT_BIAS_GRAD_A | AW_PRODUCT_BIAS_GRAD_B)) {
        bool of_a = p->epilogue & AW_PRODUCT_BIAS_GRAD_A;
        input_gradient(f, of_a ? &p->a : &p->b, of_a ? p->opa : p->opb, of_a ? x->a : x->b, of_a);
    }
    if (amax)
        *amax = f->item && *amax > (float)f->amax ? *amax : (float)f->amax;
    if (aux_amax)
        *aux_amax = f->item && *aux_amax > (float)f->aux_amax ? *aux_amax : (float)f->aux_amax;
}

static void finish_free(struct finish *f)
{
    free(f->alphas);
    free(f->betas);
    free(f->biases);
    free(f->row_sums);
}

static cublasStatus_t compute(struct aw_product *p, const struct item *x, int64_t item)
{
    bool turned = p->d.by_rows, good = false;
    struct operand a = { 0 }, b = { 0 };
    struct finish f;
    gemm_fn gemm = gemm_of(p->calc);
    if (!gemm)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (finish_init(&f, p, x, item) && operand_make(&p->a, x->a, p->opa, turned, p->calc, &a) &&
        operand_make(&p->b, x->b, p->opb, turned, p->calc, &b)) {
        const struct operand *left = turned ? &b : &a, *right = turned ? &a : &b;
        int m = (int)(turned ? p->n : p->m), n = (int)(turned ? p->m : p->n);
        double scalars[2][2];
        good = true;
        if (is_plain(p)) {
            if (x->c != x->d && f.beta != 0)
                copy_matrix(p, x);
            aw_type_store(p->scale, scalars[0], 0, f.alpha);
            aw_type_store(p->scale, scalars[1], 0, f.beta);
            multiply(gemm, left, right, m, n, (int)p->k, scalars[0], scalars[1], x->d, (int)p->d.ld);
        } else {
            good = sum_and_finish(&f, gemm, left, right, m, n);
        }
    }
    if (good)
        finish_end(&f, x);
    finish_free(&f);
    free(a.made);
    free(b.made);
    return good ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

/* ---- Tiles: the same product of matrices that lie by columns, made of them. */

/* From tiles to columns, or back. */
static void retile(const struct aw_product_matrix *m, const void *tiles, void *columns, bool back)
{
    size_t size = aw_type_size(m->type);
    char *column = columns;
    for (int64_t j = 0; j < m->cols; j++)
        for (int64_t i = 0; i < m->rows; i++, column += size) {
            char *tile = (char *)(uintptr_t)tiles + (size_t)aw_order_offset(m->tiles, m->ld, i, j) * size;
            memcpy(back ? tile : column, back ? column : tile, size);
        }
}

static cublasStatus_t compute_tiles(const struct aw_product *p, const struct item *x, int64_t item)
{
    struct aw_product plain = *p;
    struct aw_product_matrix *m[] = { &plain.a, &plain.b, &plain.c, &plain.d };
    const struct aw_product_matrix *given[] = { &p->a, &p->b, &p->c, &p->d };
    const void *at[] = { x->a, x->b, x->c, x->d };
    void *made[4] = { NULL };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    for (int i = 0; i < 4; i++) {
        bool read = i != AW_PRODUCT_D && (i != AW_PRODUCT_C || !p->beta_zero);
        if (!m[i]->tiles)
            continue;
        made[i] = malloc((size_t)(m[i]->rows * m[i]->cols) * aw_type_size(m[i]->type) + 1);
        if (!made[i])
            status = CUBLAS_STATUS_ALLOC_FAILED;
        else if (read)
            retile(m[i], at[i], made[i], false);
        m[i]->ld = m[i]->rows > 0 ? m[i]->rows : 1;
        m[i]->tiles = 0;
        at[i] = made[i];
    }
    if (status == CUBLAS_STATUS_SUCCESS)
        status = compute(&plain, &(struct item){ at[0], at[1], at[2], (void *)(uintptr_t)at[3] }, item);
    if (status == CUBLAS_STATUS_SUCCESS && made[AW_PRODUCT_D])
        retile(given[AW_PRODUCT_D], x->d, made[AW_PRODUCT_D], true);
    for (int i = 0; i < 4; i++)
        free(made[i]);
    return status;
}

bool aw_product_tiled(const struct aw_product *p)
{
    return p->a.tiles || p->b.tiles || p->c.tiles || p->d.tiles;
}

static void run(struct aw_lib_job *job)
{
    struct aw_product *p = (struct aw_product *)job;
    for (int64_t i = 0; i < p->batch && job->status == 0; i++) {
        struct item x;
        const void *at[4];
        const struct aw_product_matrix *m[] = { &p->a, &p->b, &p->c, &p->d };
        for (int k = 0; k < 4; k++)
            at[k] = p->pointers ? ((void **)job->spans[k].at)[i]
                                : (char *)job->spans[k].at + (size_t)(i * m[k]->stride) * aw_type_size(m[k]->type);
        x = (struct item){ at[0], at[1], at[2], (void *)(uintptr_t)at[3] };
        job->status = aw_product_tiled(p) ? compute_tiles(p, &x, i) : compute(p, &x, i);
    }
    if (job->status)
        aw_say(PRODUCT_FAILED, job->status == CUBLAS_STATUS_ALLOC_FAILED ? "memory is out" : "there is no BLAS");
}

/* ---- To the queue */

static void extent(const struct aw_product_matrix *m, int64_t *ret_length, int64_t *ret_runs)
{
    aw_order_extent(m->tiles ? m->tiles : m->by_rows ? AW_ORDER_ROW : AW_ORDER_COL, m->rows, m->cols, ret_length, ret_runs);
}

static bool matrix_valid(const struct aw_product_matrix *m, int64_t rows, int64_t cols)
{
    int64_t length, count;
    extent(m, &length, &count);
    return m->rows == rows && m->cols == cols && m->ld >= length && m->ld >= 1 && m->ld <= INT_MAX && aw_type_size(m->type);
}

static void span_matrix(struct aw_lib_span *s, const struct aw_product_matrix *m, int64_t batch, unsigned dir)
{
    size_t size = aw_type_size(m->type);
    int64_t length, count;
    extent(m, &length, &count);
    s->width = (size_t)length * size;
    s->rows = (size_t)count;
    s->pitch = (size_t)m->ld * size;
    s->count = (size_t)batch;
    s->stride = (size_t)m->stride * size;
    s->dir = dir;
}

static void span_plain(struct aw_lib_span *s, size_t bytes, int64_t count, size_t stride, unsigned dir)
{
    if (!s->at)
        bytes = 0;
    *s = (struct aw_lib_span){ s->at, bytes, 1, bytes, (size_t)count, stride, dir };
}

static void spans_set(struct aw_product *p)
{
    struct aw_lib_span *s = p->job.spans;
    bool in_place = s[AW_PRODUCT_C].at == s[AW_PRODUCT_D].at;
    size_t bias = aw_type_size(p->bias_type), aux = aw_type_size(p->aux_type), scale = aw_type_size(p->scale);
    span_matrix(&s[AW_PRODUCT_A], &p->a, p->batch, AW_LIB_IN);
    span_matrix(&s[AW_PRODUCT_B], &p->b, p->batch, AW_LIB_IN);
    span_matrix(&s[AW_PRODUCT_C], &p->c, p->batch, AW_LIB_IN);
    /* What of a tile is no element stays as it is. */
    bool d_read = (in_place && !p->beta_zero) || p->d.tiles;
    span_matrix(&s[AW_PRODUCT_D], &p->d, p->batch, d_read ? AW_LIB_IN | AW_LIB_OUT : AW_LIB_OUT);
    if (p->beta_zero)
        s[AW_PRODUCT_C].count = 0;
    span_plain(&s[AW_PRODUCT_SCALARS], p->alpha_vector ? (size_t)p->m * scale : scale, p->alpha_stride ? p->batch : 1,
               (size_t)p->alpha_stride * scale, AW_LIB_IN);
    span_plain(&s[AW_PRODUCT_BETA], p->beta_vector ? (size_t)p->m * scale : scale, 1, 0, AW_LIB_IN);
    span_plain(&s[AW_PRODUCT_BIAS_AT], (size_t)(p->epilogue & AW_PRODUCT_BIAS_GRAD_B ? p->n : p->m) * bias,
               p->bias_stride ? p->batch : 1, (size_t)p->bias_stride * bias,
               p->epilogue & AW_PRODUCT_BIAS ? AW_LIB_IN : AW_LIB_OUT);
    bool mask = p->epilogue & (AW_PRODUCT_RELU | AW_PRODUCT_DRELU);
    size_t pitch = mask ? (size_t)p->aux_ld / 8 : (size_t)p->aux_ld * aux,
           stride = mask ? (size_t)p->aux_stride / 8 : (size_t)p->aux_stride * aux;
    struct aw_lib_span *x = &s[AW_PRODUCT_AUX_AT];
    *x = (struct aw_lib_span){ x->at, mask ? (size_t)(p->m + 7) / 8 : (size_t)p->m * aux, (size_t)p->n, pitch, (size_t)p->batch,
                               stride, p->epilogue & AW_PRODUCT_AUX ? AW_LIB_IN | AW_LIB_OUT : AW_LIB_IN };
    if (!x->at)
        x->width = 0;
    for (int i = AW_PRODUCT_SCALE_A; i < AW_PRODUCT_SPANS; i++) {
        int64_t n = i == AW_PRODUCT_SCALE_A && p->a_scales ? p->m : i == AW_PRODUCT_SCALE_B && p->b_scales ? p->n : 1;
        span_plain(&s[i], (size_t)n * sizeof(float), 1, 0, i >= AW_PRODUCT_AMAX_D ? AW_LIB_OUT : AW_LIB_IN);
    }
    p->job.n_spans = AW_PRODUCT_SPANS;
}

/* On a card each of the batch is a product of its own, once the pointers are read. */
static cublasStatus_t each_of_batch(struct aw_product *p, const struct aw_lib_queue *queue)
{
    size_t size = (size_t)p->batch * sizeof(void *);
    void **pointers = malloc(4 * size);
    CUresult result = pointers ? CUDA_SUCCESS : AW_LIB_NO_MEMORY;
    for (int i = 0; i < 4 && result == CUDA_SUCCESS; i++)
        result = aw_lib_read(queue, pointers + (int64_t)i * p->batch, p->job.spans[i].at, size);
    cublasStatus_t status = aw_blas_status(result);
    struct aw_product one = *p;
    one.pointers = false;
    one.batch = 1;
    for (int64_t b = 0; b < p->batch && status == CUBLAS_STATUS_SUCCESS; b++) {
        for (int i = 0; i < 4; i++)
            one.job.spans[i].at = pointers[i * p->batch + b];
        status = aw_product_submit(&one, queue);
    }
    free(pointers);
    return status;
}

cublasStatus_t aw_product_check(const struct aw_product *p)
{
    bool na = p->opa == CUBLAS_OP_N, nb = p->opb == CUBLAS_OP_N;
    if (p->m < 0 || p->n < 0 || p->k < 0 || p->batch < 0 || (unsigned)p->opa > CUBLAS_OP_C || (unsigned)p->opb > CUBLAS_OP_C)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!matrix_valid(&p->a, na ? p->m : p->k, na ? p->k : p->m) || !matrix_valid(&p->b, nb ? p->k : p->n, nb ? p->n : p->k) ||
        !matrix_valid(&p->c, p->m, p->n) || !matrix_valid(&p->d, p->m, p->n) || p->c.by_rows != p->d.by_rows ||
        p->c.tiles != p->d.tiles)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX) {
        aw_say(PRODUCT_LARGE);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t aw_product_submit(struct aw_product *p, const struct aw_lib_queue *queue)
{
    enum { SMALL = 1 << 19 }; /* takes about as long as a change of threads */
    int ran;
    cublasStatus_t status = aw_product_check(p);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (p->m == 0 || p->n == 0 || p->batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    struct aw_lib_span *s = p->job.spans;
    if (!s[AW_PRODUCT_D].at || (p->k && (!s[AW_PRODUCT_A].at || !s[AW_PRODUCT_B].at)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!p->device && !p->beta_zero && !p->beta_vector)
        p->beta_zero = aw_type_load(p->scale, p->beta, 0) == 0;
    if (!p->beta_zero && !s[AW_PRODUCT_C].at)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!gemm_of(p->calc))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (queue->place == AW_LIB_CARD && aw_amd_product(p, queue, &status))
        return status;
    p->job.run = run;
    p->job.forget = NULL;
    p->job.size = sizeof *p;
    if (p->pointers && queue->place == AW_LIB_CARD)
        return each_of_batch(p, queue);
    spans_set(p);
    double work = ((double)p->m * (double)p->n * (double)p->k + 16.0 * (double)(p->m * p->k + p->k * p->n + p->m * p->n)) *
                  (double)p->batch;
    CUresult result = aw_lib_submit(queue, &p->job, work <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &ran);
    return result == CUDA_SUCCESS ? (cublasStatus_t)ran : aw_blas_status(result);
}
