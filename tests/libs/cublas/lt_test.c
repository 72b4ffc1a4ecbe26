/* cuBLASLt: products of every kind of types, orders, epilogues, scales and pointer modes against plain loops in double;
 * attributes, algorithms and transforms.  Usage: lt_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <pthread.h>

#include "cublasLt.h"
#include "types.h"

static cublasLtHandle_t handle;
static int quick;

enum {
    DEFAULT = 1,
    RELU = 2,
    BIAS = 4,
    DRELU = 8 | 128,
    BGRAD = 16,
    GELU = 32,
    DGELU = 64 | 128,
    AUX = 128,
    BGRADA = 256,
    BGRADB = 512
};
enum { HOST, DEVICE, VECTORS, VECTOR_ZERO, VECTOR_HOST };

struct problem {
    int a, b, c, d, compute, scale;
    int m, n, k, opa, opb, order_a, order_b, order_d, batch;
    int epilogue, mode, bias_type, aux_type;
    int scales; /* 1: of A, B, C, D and the largest of D; 2: A's and B's for each row and column */
    double alpha, beta;
};

static void scalar(int type, void *to, long i, double v)
{
    switch (type) {
    case CUDA_R_64F: ((double *)to)[i] = v; break;
    case CUDA_R_32I: ((int *)to)[i] = (int)v; break;
    case CUDA_R_16F: ((unsigned short *)to)[i] = v == 0 ? 0 : v == 1 ? 0x3c00 : v == 2 ? 0x4000 : 0x3800; break; /* 0.5 */
    default: ((float *)to)[i] = (float)v;
    }
}

static void *upload(const void *from, size_t size)
{
    void *to = NULL;
    cudaMalloc(&to, size + 1);
    cudaMemcpy(to, from, size, 1);
    return to;
}

static void set(cublasLtMatmulDesc_t desc, int attr, const void *value, size_t size)
{
    check(cublasLtMatmulDescSetAttribute(desc, attr, value, size) == 0, "attribute %d", attr);
}

static void set_int(cublasLtMatmulDesc_t desc, int attr, int value)
{
    set(desc, attr, &value, sizeof value);
}
static void set_pointer(cublasLtMatmulDesc_t desc, int attr, void *value)
{
    set(desc, attr, &value, sizeof value);
}

struct matrix {
    struct typed t;
    long rows, cols, ld, stride;
    int order;
    cublasLtMatrixLayout_t layout;
};

/* Rows of a tile of 32 columns, and where (row, col) of it lies: by going through its elements as they come in memory. */
static const int tile_rows[] = { 1, 1, 1, 8, 32 };
enum { COL, ROW, COL32, COL4_4R2_8C, COL32_2R_4R4 };

static long in_tile(int order, int row, int col)
{
    long n = 0;
    if (order == COL32)
        return col;
    if (order == COL4_4R2_8C) {
        for (int odd = 0; odd < 2; odd++)
            for (int square = 0; square < 8; square++)
                for (int r = odd; r < 8; r += 2)
                    for (int c = 0; c < 4; c++, n++)
                        if (r == row && square * 4 + c == col)
                            return n;
    } else {
        for (int pair = 0; pair < 4; pair++)
            for (int eight = 0; eight < 4; eight++)
                for (int odd = 0; odd < 2; odd++)
                    for (int c = 0; c < 32; c++, n++)
                        if (eight * 8 + pair * 2 + odd == row && c == col)
                            return n;
    }
    return -1;
}

static struct matrix matrix_make(int type, long rows, long cols, int order, int pad, int batch)
{
    struct matrix x = { .rows = rows, .cols = cols, .order = order };
    int64_t stride;
    long high = tile_rows[order], tiles = (rows + high - 1) / high;
    x.ld = (order == ROW ? cols : order == COL ? rows : tiles * high * 32) + pad;
    stride = x.stride = x.ld * (order == ROW ? rows : order == COL ? cols : (cols + 31) / 32) + pad;
    x.t = typed_make(type, x.stride * batch);
    cublasLtMatrixLayoutCreate(&x.layout, type, (uint64_t)rows, (uint64_t)cols, x.ld);
    cublasLtMatrixLayoutSetAttribute(x.layout, 1, &order, sizeof order);
    cublasLtMatrixLayoutSetAttribute(x.layout, 5, &batch, sizeof batch);
    cublasLtMatrixLayoutSetAttribute(x.layout, 6, &stride, sizeof stride);
    return x;
}

static void matrix_drop(struct matrix *x)
{
    cublasLtMatrixLayoutDestroy(x->layout);
    typed_drop(&x->t);
}

static long at_of(const struct matrix *x, long item, long i, long j)
{
    long high = tile_rows[x->order], in = x->order > ROW ? in_tile(x->order, (int)(i % high), (int)(j % 32)) : 0;
    return item * x->stride + (x->order == ROW   ? i * x->ld + j
                               : x->order == COL ? i + j * x->ld
                                                 : j / 32 * x->ld + i / high * high * 32 + in);
}

static double element(const struct matrix *x, const void *from, long item, long i, long j)
{
    return type_get(x->t.type, from, at_of(x, item, i, j));
}

static double gelu(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

static double gelu_gradient(double x)
{
    double h = 1e-5;
    return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

/* Everything of one problem. */
struct run {
    const struct problem *p;
    struct matrix a, b, c, d;
    struct typed bias, aux;
    long aux_ld, aux_stride;
    float scale[4], *scale_a, *scale_b;
    float amax;
    char what[200];
};

/* What goes into the activation for row i, column j. */
static double before(const struct run *r, long item, long i, long j, double *total)
{
    const struct problem *p = r->p;
    double sum = 0, alpha = p->alpha, beta = p->beta;
    *total = 0;
    for (long l = 0; l < p->k; l++) {
        double x = p->opa ? element(&r->a, r->a.t.host, item, l, i) : element(&r->a, r->a.t.host, item, i, l);
        double y = p->opb ? element(&r->b, r->b.t.host, item, j, l) : element(&r->b, r->b.t.host, item, l, j);
        sum += x * y;
        *total += fabs(x * y);
    }
    if (p->mode >= VECTORS)
        alpha = 1 + (double)(i % 3);
    if (p->mode == VECTORS)
        beta = (double)(i % 2);
    if (p->mode == VECTOR_ZERO)
        beta = 0;
    if (p->scales)
        sum *= p->scales == 2 ? (double)r->scale_a[i] * r->scale_b[j] : (double)r->scale[0] * r->scale[1];
    sum *= alpha;
    if (beta != 0)
        sum += beta * (p->scales == 1 && type_bytes(p->c) == 1 ? r->scale[2] : 1) * element(&r->c, r->c.t.host, item, i, j);
    if (p->epilogue & BIAS)
        sum += type_get(r->bias.type, r->bias.host, i);
    return sum;
}

static double after(const struct run *r, long item, long i, long j, double v)
{
    const struct problem *p = r->p;
    long at = item * r->aux_stride + i + j * r->aux_ld;
    if ((p->epilogue & DRELU) == DRELU)
        return ((unsigned char *)r->aux.host)[at / 8] >> at % 8 & 1 ? v : 0;
    if ((p->epilogue & DGELU) == DGELU)
        return v * gelu_gradient(type_get(r->aux.type, r->aux.host, at));
    return p->epilogue & RELU ? fmax(v, 0) : p->epilogue & GELU ? gelu(v) : v;
}

static void compare(struct run *r, const void *got_d, const void *got_aux, const void *got_bias)
{
    const struct problem *p = r->p;
    double *sums = calloc((size_t)(p->m * p->batch) + 1, sizeof *sums), worst = 0, amax = 0;
    int good = 1;
    for (long item = 0; item < p->batch; item++)
        for (long j = 0; j < p->n && good; j++)
            for (long i = 0; i < p->m && good; i++) {
                double total, in = before(r, item, i, j, &total), out = after(r, item, i, j, in);
                double got = element(&r->d, got_d, item, i, j), slack = (total + fabs(in)) * 2e-6 + 1e-6;
                sums[item * p->m + i] += out;
                amax = fmax(amax, fabs(out));
                worst = fmax(worst, slack);
                out *= p->scales == 1 && type_bytes(p->d) == 1 ? r->scale[3] : 1;
                if (p->d == CUDA_R_8I)
                    out = fmax(-128, fmin(127, out));
                good = check(fabs(got - out) <= type_error(p->d, out) + slack, "%s: [%ld, %ld] of %ld is %.9g, not %.9g", r->what,
                             i, j, item, got, out);
                long x = item * r->aux_stride + i + j * r->aux_ld;
                if (p->epilogue & AUX && p->epilogue & RELU && fabs(in) > slack)
                    check((((const unsigned char *)got_aux)[x / 8] >> x % 8 & 1) == (in > 0), "%s: mask [%ld, %ld]", r->what, i,
                          j);
                if (p->epilogue & AUX && p->epilogue & GELU)
                    check(fabs(type_get(r->aux.type, got_aux, x) - in) <= type_error(r->aux.type, in) + slack,
                          "%s: aux [%ld, %ld]", r->what, i, j);
            }
    for (long i = 0; i < p->m * p->batch && (p->epilogue & BGRAD) && good; i++) {
        double got = type_get(r->bias.type, got_bias, i);
        good = check(fabs(got - sums[i]) <= type_error(r->bias.type, sums[i]) + worst * p->n, "%s: gradient [%ld] is %g, not %g",
                     r->what, i, got, sums[i]);
    }
    if (p->scales == 1 && type_bytes(p->d) == 1)
        check(fabs(r->amax - amax) <= amax * 1e-5, "%s: amax is %g, not %g", r->what, r->amax, amax);
    free(sums);
}

static void compare_inputs(const struct run *r, const void *got_bias)
{
    const struct problem *p = r->p;
    int of_a = p->epilogue == BGRADA;
    for (long i = 0; i < (of_a ? p->m : p->n); i++) {
        double want = 0, got = type_get(r->bias.type, got_bias, i);
        for (long l = 0; l < p->k; l++)
            want += of_a ? (p->opa ? element(&r->a, r->a.t.host, 0, l, i) : element(&r->a, r->a.t.host, 0, i, l))
                         : (p->opb ? element(&r->b, r->b.t.host, 0, i, l) : element(&r->b, r->b.t.host, 0, l, i));
        check(fabs(got - want) <= type_error(r->bias.type, want) + 1e-5, "%s: gradient [%ld] is %g, not %g", r->what, i, got,
              want);
    }
}

/* Matrices and vectors, with random contents. */
static void operands_make(struct run *r, int in_place)
{
    const struct problem *p = r->p;
    r->a = matrix_make(p->a, p->opa ? p->k : p->m, p->opa ? p->m : p->k, p->order_a, 1, p->batch);
    r->b = matrix_make(p->b, p->opb ? p->n : p->k, p->opb ? p->k : p->n, p->order_b, 2, p->batch);
    r->c = matrix_make(p->c, p->m, p->n, p->order_d, 0, p->batch);
    r->d = matrix_make(p->d, p->m, p->n, p->order_d, in_place ? 0 : 3, p->batch);
    int mask = p->epilogue & (RELU | 8), aux_type = p->aux_type >= 0 ? p->aux_type : p->d,
        bias_type = p->bias_type >= 0 ? p->bias_type : p->d;
    r->aux_ld = (p->m + 127) / 128 * 128 + 128, r->aux_stride = r->aux_ld * p->n + 128;
    r->aux = typed_make(mask ? CUDA_R_8I : aux_type, mask ? r->aux_stride * p->batch / 8 : r->aux_stride * p->batch);
    r->bias = typed_make(bias_type, (p->m > p->n ? p->m : p->n) * p->batch);
    r->scale_a = calloc((size_t)p->m + 1, 4), r->scale_b = calloc((size_t)p->n + 1, 4);
    for (int i = 0; i < p->m; i++)
        r->scale_a[i] = 0.5f + (float)(i % 4);
    for (int i = 0; i < p->n; i++)
        r->scale_b[i] = 0.25f * (float)(1 + i % 5);
    snprintf(r->what, sizeof r->what,
             "types %d %d %d %d compute %d op=%d,%d order=%d%d%d %dx%dx%d batch %d epilogue %d mode %d scales %d", p->a, p->b,
             p->c, p->d, p->compute, p->opa, p->opb, p->order_a, p->order_b, p->order_d, p->m, p->n, p->k, p->batch, p->epilogue,
             p->mode, p->scales);
}

/* Scales and scalars, on the host and on the device. */
struct uploaded {
    float *scales, *amax, *a, *b;
    double *alphas, *betas;
    void *da, *db;
};

static cublasLtMatmulDesc_t description_make(struct run *r, struct uploaded *u)
{
    const struct problem *p = r->p;
    cublasLtMatmulDesc_t desc;
    cublasLtMatmulDescCreate(&desc, p->compute, p->scale);
    set_int(desc, 2, p->mode), set_int(desc, 3, p->opa), set_int(desc, 4, p->opb), set_int(desc, 7, p->epilogue);
    if (p->epilogue & (BIAS | BGRAD | BGRADA | BGRADB)) {
        int64_t stride = p->epilogue & BIAS ? 0 : p->m;
        set_pointer(desc, 8, r->bias.device);
        set(desc, 10, &stride, sizeof stride);
        if (p->bias_type >= 0)
            set_int(desc, 26, p->bias_type);
    }
    if (p->epilogue & AUX) {
        int64_t ld = r->aux_ld, stride = r->aux_stride;
        set_pointer(desc, 11, r->aux.device);
        set(desc, 12, &ld, sizeof ld), set(desc, 13, &stride, sizeof stride);
        if (p->aux_type >= 0)
            set_int(desc, 22, p->aux_type);
    }
    u->scales = upload(r->scale, sizeof r->scale), u->amax = upload(&r->amax, 4);
    u->a = upload(r->scale_a, (size_t)p->m * 4), u->b = upload(r->scale_b, (size_t)p->n * 4);
    if (p->scales) {
        set_pointer(desc, 17, p->scales == 2 ? u->a : u->scales);
        set_pointer(desc, 18, p->scales == 2 ? u->b : u->scales + 1);
        if (p->scales == 2)
            set_int(desc, 31, 3), set_int(desc, 32, 3);
        else if (type_bytes(p->d) == 1)
            set_pointer(desc, 20, u->scales + 3), set_pointer(desc, 21, u->amax);
        if (p->scales == 1 && type_bytes(p->c) == 1)
            set_pointer(desc, 19, u->scales + 2);
    }
    return desc;
}

static void scalars_make(const struct problem *p, struct uploaded *u)
{
    u->alphas = calloc((size_t)p->m + 1, 8), u->betas = calloc((size_t)p->m + 1, 8);
    for (int i = 0; i < (p->mode >= VECTORS ? p->m : 1); i++) {
        scalar(p->scale, u->alphas, i, p->mode >= VECTORS ? 1 + i % 3 : p->alpha);
        scalar(p->scale, u->betas, i, p->mode == VECTORS ? i % 2 : p->beta);
    }
    u->da = upload(u->alphas, ((size_t)p->m + 1) * 8), u->db = upload(u->betas, ((size_t)p->m + 1) * 8);
}

static void uploaded_drop(struct uploaded *u)
{
    cudaFree(u->da), cudaFree(u->db), cudaFree(u->scales), cudaFree(u->amax), cudaFree(u->a), cudaFree(u->b);
    free(u->alphas), free(u->betas);
}

/* Of a tile and between tiles, what no element is. */
static void rest_unchanged(const struct run *r, const char *got, const char *old)
{
    const struct problem *p = r->p;
    long n = r->d.stride * p->batch;
    size_t size = (size_t)type_bytes(p->d);
    char *element = calloc((size_t)n + 1, 1);
    for (long item = 0; item < p->batch; item++)
        for (long i = 0; i < (long)p->m * p->n; i++)
            element[at_of(&r->d, item, i / p->n, i % p->n)] = 1;
    for (long i = 0; i < n; i++)
        if (!element[i] &&
            !check(!memcmp(got + (size_t)i * size, old + (size_t)i * size, size), "%s: wrote beside, [%ld]", r->what, i))
            break;
    free(element);
}

/* What is on the device afterwards against what should be. */
static void results_check(struct run *r, const void *out, const float *amax)
{
    const struct problem *p = r->p;
    size_t d_size = (size_t)(r->d.stride * p->batch * type_bytes(p->d));
    void *got = malloc(d_size + 1), *aux = malloc((size_t)r->aux.n * 8 + 1), *bias = malloc((size_t)r->bias.n * 8 + 1);
    cudaMemcpy(got, out, d_size, 2);
    cudaMemcpy(aux, r->aux.device, (size_t)(r->aux.n * type_bytes(r->aux.type)), 2);
    cudaMemcpy(bias, r->bias.device, (size_t)(r->bias.n * type_bytes(r->bias.type)), 2);
    cudaMemcpy(&r->amax, amax, 4, 2);
    compare(r, got, aux, bias);
    if (p->order_d > ROW)
        rest_unchanged(r, got, out == r->c.t.device ? r->c.t.host : r->d.t.host);
    if (p->epilogue & (BGRADA | BGRADB))
        compare_inputs(r, bias);
    free(got), free(aux), free(bias);
}

static void product(const struct problem *p)
{
    struct run r = { .p = p, .scale = { 0.5f, 4, 2, 0.25f } };
    struct uploaded u;
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0, in_place = p->c == p->d && p->epilogue == DEFAULT && p->m % 2;
    operands_make(&r, in_place);
    cublasLtMatmulDesc_t desc = description_make(&r, &u);
    scalars_make(p, &u);
    cublasLtMatmulPreferenceCreate(&pref);
    int status = cublasLtMatmulAlgoGetHeuristic(handle, desc, r.a.layout, r.b.layout, r.c.layout, r.d.layout, pref, 1, &found,
                                                &count);
    if (check(status == 0 && count == 1 && found.workspaceSize == 0, "%s: heuristic %d, %d", r.what, status, count)) {
        void *out = in_place ? r.c.t.device : r.d.t.device;
        const void *beta = p->mode == HOST || p->mode == VECTOR_HOST ? u.betas : p->mode == VECTOR_ZERO ? NULL : u.db;
        status = cublasLtMatmul(handle, desc, p->mode == HOST ? u.alphas : u.da, r.a.t.device, r.a.layout, r.b.t.device,
                                r.b.layout, beta, p->beta == 0 && p->mode == HOST ? NULL : r.c.t.device, r.c.layout, out,
                                r.d.layout, &found.algo, NULL, 0, NULL);
        check(status == 0, "%s: status %d", r.what, status);
        results_check(&r, out, u.amax);
    }
    cublasLtMatmulPreferenceDestroy(pref);
    cublasLtMatmulDescDestroy(desc);
    uploaded_drop(&u);
    free(r.scale_a), free(r.scale_b);
    matrix_drop(&r.a), matrix_drop(&r.b), matrix_drop(&r.c), matrix_drop(&r.d);
    typed_drop(&r.bias), typed_drop(&r.aux);
}

static const struct problem kinds[] = {
#define KIND(a, b, c, d, compute, scale)                                                      \
    {                                                                                         \
        a, b, c, d, compute, scale, 5, 7, 9, 0, 0, 0, 0, 0, 1, DEFAULT, HOST, -1, -1, 0, 1, 0 \
    }
    KIND(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F),
    KIND(CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUDA_R_8I, CUBLAS_COMPUTE_32I, CUDA_R_32F),
    KIND(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F),
    KIND(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC, CUDA_R_32F),
    KIND(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F),
    KIND(CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I),
    KIND(CUDA_R_8I, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_8F_E5M2, CUBLAS_COMPUTE_32F, CUDA_R_32F),
    KIND(CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_8F_E4M3, CUBLAS_COMPUTE_32F, CUDA_R_32F),
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* Types, operations, orders, batches, scalars. */
static void shapes(void)
{
    static const int sizes[][3] = { { 5, 7, 9 }, { 1, 1, 1 }, { 33, 2, 40 }, { 4, 3, 0 }, { 64, 65, 66 } };
    for (int i = 0; i < N_KINDS; i += quick ? 4 : 1)
        for (int s = 0; s < (quick ? 1 : 5); s++)
            for (int way = 0; way < 8; way += quick ? 5 : 1) {
                struct problem p = kinds[i];
                p.m = sizes[s][0], p.n = sizes[s][1], p.k = sizes[s][2];
                p.opa = way & 1, p.opb = way >> 1 & 1, p.batch = way % 3 == 2 ? 3 : 1;
                p.order_a = way == 5, p.order_b = way >= 6, p.order_d = way >= 4;
                p.alpha = way == 3 ? 0.5 : 2, p.beta = way & 1 ? 1 : 0;
                if (p.scale == CUDA_R_32I)
                    p.alpha = 3;
                p.mode = way == 6 ? DEVICE : HOST;
                p.scales = p.a >= CUDA_R_8F_E4M3 ? way % 3 : 0;
                product(&p);
            }
}

/* Tiles as programs use them for bytes, A and D in COL32, B in one of the others and transposed; and of all types. */
static void tiles(void)
{
    static const int sizes[][3] = { { 5, 7, 9 }, { 33, 40, 70 }, { 64, 32, 96 }, { 3, 35, 0 } };
    for (int i = 0; i < N_KINDS; i += quick ? 4 : 1)
        for (int s = 0; s < (quick ? 2 : 4); s++)
            for (int way = 0; way < 4; way++) {
                struct problem p = kinds[i];
                p.m = sizes[s][0], p.n = sizes[s][1], p.k = sizes[s][2];
                p.opb = way < 3, p.opa = way == 3, p.batch = way == 2 ? 2 : 1;
                p.order_a = way == 2 ? COL32_2R_4R4 : COL32, p.order_d = way == 2 ? COL4_4R2_8C : way == 3 ? ROW : COL32;
                p.order_b = way & 1 ? COL32_2R_4R4 : COL4_4R2_8C;
                p.alpha = 2, p.beta = way & 1;
                p.mode = p.scale == CUDA_R_32F && way == 1 ? VECTOR_ZERO : way == 2 ? DEVICE : HOST;
                product(&p);
            }
    struct problem bytes = kinds[4];
    bytes.m = 33, bytes.order_a = bytes.order_d = COL32, bytes.order_b = COL32_2R_4R4, bytes.opb = 1;
    bytes.epilogue = RELU | BIAS, bytes.bias_type = CUDA_R_32F, bytes.alpha = 0.5;
    product(&bytes);
}

static void epilogues(void)
{
    static const int all[] = { RELU,          RELU | AUX, BIAS,       RELU | BIAS, RELU | AUX | BIAS, DRELU,
                               DRELU | BGRAD, GELU,       GELU | AUX, GELU | BIAS, GELU | AUX | BIAS, DGELU,
                               DGELU | BGRAD, BGRADA,     BGRADB };
    for (int i = 0; i < 4; i += quick ? 3 : 1)
        for (size_t e = 0; e < sizeof all / sizeof *all; e += quick ? 3 : 1)
            for (int way = 0; way < (quick ? 1 : 3); way++) {
                struct problem p = kinds[i];
                p.m = 17, p.n = 6, p.epilogue = all[e], p.alpha = 0.5, p.beta = 1;
                p.batch = way == 1 ? 2 : 1;
                p.opa = p.opb = way == 2;
                p.bias_type = way == 2 ? CUDA_R_32F : -1;
                p.aux_type = way == 2 && !(all[e] & (RELU | 8)) ? CUDA_R_16BF : -1;
                if (p.batch > 1 && all[e] & (BGRADA | BGRADB))
                    continue;
                product(&p);
            }
    struct problem bytes = kinds[4];
    bytes.epilogue = RELU | BIAS, bytes.bias_type = CUDA_R_32F, bytes.alpha = 0.5;
    product(&bytes);
    struct problem rows = kinds[0];
    rows.epilogue = GELU | BIAS, rows.order_d = 1;
    product(&rows);
}

static void modes(void)
{
    for (int i = 0; i < 5; i++)
        for (int mode = DEVICE; mode <= VECTOR_HOST; mode++) {
            struct problem p = kinds[i];
            p.mode = mode, p.alpha = 2, p.beta = 1;
            product(&p);
            p.order_d = 1;
            product(&p);
            if (quick)
                return;
        }
}

/* Conjugates in complex float, two of a batch. */
static void complex_product(void)
{
    enum { M = 3, N = 4, K = 5 };
    struct array a = array_make('c', 2 * K * M), b = array_make('c', 2 * N * K), c = array_make('c', 2 * M * N);
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    float _Complex alpha = CMPLXF(1, -2), beta = CMPLXF(0, 1);
    int batch = 2;
    int64_t sa = K * M, sb = N * K, sc = M * N;
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_C_32F);
    set_int(desc, 3, CUBLAS_OP_C), set_int(desc, 4, CUBLAS_OP_T);
    cublasLtMatrixLayoutCreate(&la, CUDA_C_32F, K, M, K), cublasLtMatrixLayoutCreate(&lb, CUDA_C_32F, N, K, N);
    cublasLtMatrixLayoutCreate(&lc, CUDA_C_32F, M, N, M);
    cublasLtMatrixLayout_t layouts[] = { la, lb, lc };
    const int64_t *strides[] = { &sa, &sb, &sc };
    for (int i = 0; i < 3; i++) {
        cublasLtMatrixLayoutSetAttribute(layouts[i], 5, &batch, 4);
        cublasLtMatrixLayoutSetAttribute(layouts[i], 6, strides[i], 8);
    }
    for (int item = 0; item < 2; item++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < M; i++) {
                cplx sum = 0;
                for (int l = 0; l < K; l++)
                    sum += conj(a.want[item * sa + l + i * K]) * b.want[item * sb + j + l * N];
                cplx *at = &c.want[item * sc + i + j * M];
                *at = alpha * sum + beta * *at;
            }
    int status = cublasLtMatmul(handle, desc, &alpha, a.device, la, b.device, lb, &beta, c.device, lc, c.device, lc, NULL, NULL,
                                0, NULL);
    check(status == 0, "complex: %d", status);
    array_end(&c, "complex product");
    array_drop(&a), array_drop(&b);
    for (int i = 0; i < 3; i++)
        cublasLtMatrixLayoutDestroy(layouts[i]);
    cublasLtMatmulDescDestroy(desc);
}

/* To COL32 and back, with a transposition and a sum. */
static void transforms(void)
{
    enum { R = 37, C = 70 };
    for (int order = COL; order <= COL32_2R_4R4; order++) {
        signed char host[R * C], back[C * R];
        float one = 1, zero = 0, two = 2;
        long high = tile_rows[order], ld = order == COL ? R : order == ROW ? C : (R + high - 1) / high * high * 32;
        long size = order < COL32 ? R * C : 3 * ld;
        void *to = NULL, *out = NULL;
        cublasLtMatrixLayout_t plain, tiled, turned;
        cublasLtMatrixTransformDesc_t forth, home;
        for (int i = 0; i < R * C; i++)
            host[i] = (signed char)(i * 7 % 50);
        void *from = upload(host, sizeof host);
        cudaMalloc(&to, (size_t)size), cudaMalloc(&out, sizeof back);
        cublasLtMatrixLayoutCreate(&plain, CUDA_R_8I, R, C, R), cublasLtMatrixLayoutCreate(&tiled, CUDA_R_8I, R, C, ld);
        cublasLtMatrixLayoutCreate(&turned, CUDA_R_8I, C, R, C);
        cublasLtMatrixLayoutSetAttribute(tiled, 1, &order, sizeof order);
        cublasLtMatrixTransformDescCreate(&forth, CUDA_R_32F), cublasLtMatrixTransformDescCreate(&home, CUDA_R_32F);
        int t = CUBLAS_OP_T;
        cublasLtMatrixTransformDescSetAttribute(home, 2, &t, sizeof t);
        check(cublasLtMatrixTransform(handle, forth, &one, from, plain, &zero, NULL, NULL, to, tiled, NULL) == 0, "to order %d",
              order);
        check(cublasLtMatrixTransform(handle, home, &two, to, tiled, &zero, NULL, NULL, out, turned, NULL) == 0, "from order %d",
              order);
        cudaMemcpy(back, out, sizeof back, 2);
        int good = 1;
        for (int c = 0; c < C && good; c++)
            for (int r = 0; r < R && good; r++)
                good = check(back[c + r * C] == 2 * host[r + c * R], "order %d: [%d, %d] is %d, not %d", order, r, c,
                             back[c + r * C], 2 * host[r + c * R]);
        if (order > ROW) { /* where it lies */
            signed char cell;
            long at = 2 * ld + 35 / high * high * 32 + in_tile(order, (int)(35 % high), 3);
            cudaMemcpy(&cell, (char *)to + at, 1, 2);
            check(cell == host[35 + 67 * R], "order %d: [35, 67] is %d", order, cell);
        }
        cublasLtMatrixLayoutDestroy(plain), cublasLtMatrixLayoutDestroy(tiled), cublasLtMatrixLayoutDestroy(turned);
        cublasLtMatrixTransformDescDestroy(forth), cublasLtMatrixTransformDescDestroy(home);
        cudaFree(from), cudaFree(to), cudaFree(out);
    }
}

static void attributes(void)
{
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    cublasLtMatmulPreference_t pref;
    uint64_t opaque[32], wide = 0;
    size_t written = 99;
    int value = 0, epilogue = 36;
    int8_t fast = 1;
    float one = 1, *x = upload(&one, sizeof one);
#define INVALID(call) check((call) == CUBLAS_STATUS_INVALID_VALUE, #call)
    check(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0, "create");
    check(cublasLtMatmulDescInit_internal((cublasLtMatmulDesc_t)(void *)opaque, sizeof opaque, CUBLAS_COMPUTE_64F, CUDA_R_64F) ==
              0,
          "init");
    check(cublasLtMatmulDescGetAttribute((cublasLtMatmulDesc_t)(void *)opaque, 0, &value, 4, &written) == 0 &&
              value == CUBLAS_COMPUTE_64F && written == 4,
          "compute %d", value);
    INVALID(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 8));
    INVALID(cublasLtMatmulDescSetAttribute(desc, 7, NULL, 4));
    INVALID(cublasLtMatmulDescSetAttribute(desc, 999, &epilogue, 4));
    INVALID(cublasLtMatmulDescGetAttribute(desc, 7, &value, 2, &written));
    INVALID(cublasLtMatmulDescGetAttribute(desc, 7, NULL, 0, NULL));
    INVALID(cublasLtMatmulDescSetAttribute(desc, 25, &fast, 4));
    check(cublasLtMatmulDescSetAttribute(desc, 25, &fast, 1) == 0, "fast");
    check(cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4) == 0, "set");
    check(cublasLtMatmulDescGetAttribute(desc, 7, &value, 4, NULL) == 0 && value == 36, "get %d", value);
    check(cublasLtMatmulDescGetAttribute(desc, 12, NULL, 0, &written) == 0 && written == 8, "size %zu", written);
    check(cublasLtMatmulDescGetAttribute(desc, 31, &value, 4, NULL) == 0 && value == 0, "scale mode %d", value);
    check(cublasLtMatmulPreferenceCreate(&pref) == 0 && cublasLtMatmulPreferenceGetAttribute(pref, 12, &wide, 8, NULL) == 0 &&
              wide == UINT64_MAX,
          "preference");
    check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1) == 0 &&
              cublasLtMatrixLayoutGetAttribute(layout, 2, &wide, 8, NULL) == 0 && wide == 1,
          "rows");
    INVALID(cublasLtMatmulDescCreate(NULL, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    /* 36 is GELU_BIAS: without a bias there is nothing to add */
    INVALID(cublasLtMatmul(handle, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL));
    set_int(desc, 7, 1);
    check(cublasLtMatmul(NULL, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL) ==
              CUBLAS_STATUS_NOT_INITIALIZED,
          "NULL");
    INVALID(cublasLtMatmul(handle, NULL, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL));
    INVALID(cublasLtMatmul(handle, desc, NULL, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL));
    cublasLtMatmulAlgo_t foreign = { { 1, 2, 3 } };
    INVALID(cublasLtMatmul(handle, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, &foreign, NULL, 0, NULL));
    set_pointer(desc, 17, x); /* scales are for fp8 */
    INVALID(cublasLtMatmul(handle, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL));
    set_pointer(desc, 17, NULL);
    int tile = COL32, unknown = 5, order = COL;
    cublasLtMatrixLayoutSetAttribute(layout, 1, &tile, 4); /* whose leading dimension is 32 at least */
    INVALID(cublasLtMatmul(handle, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL));
    cublasLtMatrixLayoutSetAttribute(layout, 1, &unknown, 4);
    check(cublasLtMatmul(handle, desc, &one, x, layout, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL) ==
              CUBLAS_STATUS_NOT_SUPPORTED,
          "an unknown order");
    cublasLtMatrixLayoutSetAttribute(layout, 1, &order, 4);
    int type = CUDA_R_16F;
    cublasLtMatrixLayout_t half;
    cublasLtMatrixLayoutCreate(&half, CUDA_R_16F, 1, 1, 1);
    check(cublasLtMatmul(handle, desc, &one, x, half, x, layout, &one, x, layout, x, layout, NULL, NULL, 0, NULL) ==
              CUBLAS_STATUS_NOT_SUPPORTED,
          "types");
    cublasLtMatrixLayoutSetAttribute(half, 0, &type, 4);
    cublasLtMatmulDescDestroy(desc), cublasLtMatmulPreferenceDestroy(pref), cublasLtMatrixLayoutDestroy(layout),
        cublasLtMatrixLayoutDestroy(half);
    cudaFree(x);
}

static void algorithms(void)
{
    int ids[4] = { 9 }, count = 0, tile = 20, value = 0;
    size_t written = 0;
    uint64_t flags = 0;
    uint32_t tiles[4] = { 9 };
    cublasLtMatmulAlgo_t algo;
    check(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, 4, ids,
                                   &count) == 0 &&
              count == 1,
          "ids");
    check(cublasLtMatmulAlgoGetIds(handle, CUBLAS_COMPUTE_64F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, 4, ids,
                                   &count) == CUBLAS_STATUS_NOT_SUPPORTED &&
              count == 0,
          "ids of no product");
    check(cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, ids[0],
                                 &algo) == 0,
          "init");
    INVALID(
        cublasLtMatmulAlgoInit(handle, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, 7, &algo));
    check(cublasLtMatmulAlgoCapGetAttribute(&algo, 6, NULL, 0, &written) == 0 && written == 4, "tiles: %zu bytes", written);
    check(cublasLtMatmulAlgoCapGetAttribute(&algo, 6, tiles, sizeof tiles, &written) == 0 && written == 4 && tiles[0] == 0,
          "tile %u", tiles[0]);
    check(cublasLtMatmulAlgoCapGetAttribute(&algo, 15, &flags, 8, NULL) == 0 && flags & 1 << 16, "arithmetic %llx",
          (unsigned long long)flags);
    check(cublasLtMatmulAlgoCapGetAttribute(&algo, 0, &value, 4, NULL) == 0 && value == 0, "split k %d", value);
    check(cublasLtMatmulAlgoConfigSetAttribute(&algo, 1, &tile, 4) == 0 &&
              cublasLtMatmulAlgoConfigGetAttribute(&algo, 1, &value, 4, NULL) == 0 && value == 20,
          "tile %d", value);
    INVALID(cublasLtMatmulAlgoConfigSetAttribute(&algo, 0, &tile, 4));
    INVALID(cublasLtMatmulAlgoConfigSetAttribute(&algo, 7, &tile, 4));
}

/* Queued products in the order of their stream, and as nodes of a graph. */
static void streams(void)
{
    enum { N = 64 };
    float *host = malloc(N * N * 4), one = 1, zero = 0, got = 0;
    void *stream, *graph, *exec;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t l;
    for (int i = 0; i < N * N; i++)
        host[i] = 1.0f / N;
    void *a = upload(host, N * N * 4), *b = upload(host, N * N * 4), *c = upload(host, N * N * 4);
    cudaStreamCreateWithFlags(&stream, 1);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, N, N, N);
    cudaStreamBeginCapture(stream, 0);
    check(cublasLtMatmul(handle, desc, &one, a, l, b, l, &zero, c, l, c, l, NULL, NULL, 0, stream) == 0, "captured");
    check(cublasLtMatmul(handle, desc, &one, a, l, c, l, &one, b, l, b, l, NULL, NULL, 0, stream) == 0, "captured");
    check(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiate(&exec, graph, 0) == 0, "capture");
    for (int i = 0; i < 5; i++) /* b = b + a a b, of which every element is as b's before */
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
    cudaStreamSynchronize(stream);
    cudaMemcpy(&got, (char *)b + 1000, 4, 2);
    check(fabsf(got - 32.0f / N) < 1e-5f, "after five launches: %g, not %g", got, 32.0 / N);
    cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaStreamDestroy(stream);
    cublasLtMatmulDescDestroy(desc), cublasLtMatrixLayoutDestroy(l);
    cudaFree(a), cudaFree(b), cudaFree(c);
    free(host);
}

/* A batch by arrays of pointers, of which the second pair is swapped. */
static void pointers(void)
{
    float a[2] = { 3, 5 }, b[2] = { 7, 11 }, got[2] = { 0, 0 }, one = 1, zero = 0;
    float *da = upload(a, sizeof a), *db = upload(b, sizeof b), *dc = upload(got, sizeof got);
    float *lists[3][2] = { { da, da + 1 }, { db + 1, db }, { dc, dc + 1 } };
    void *device[3];
    int batch = 2, mode = 1;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t l;
    for (int i = 0; i < 3; i++)
        device[i] = upload(lists[i], sizeof lists[i]);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 1, 1, 1);
    cublasLtMatrixLayoutSetAttribute(l, 5, &batch, sizeof batch), cublasLtMatrixLayoutSetAttribute(l, 8, &mode, sizeof mode);
    check(cublasLtMatmul(handle, desc, &one, device[0], l, device[1], l, &zero, device[2], l, device[2], l, NULL, NULL, 0,
                         NULL) == 0,
          "pointers");
    cudaMemcpy(got, dc, sizeof got, 2);
    check(got[0] == 33 && got[1] == 35, "pointers: %g %g", got[0], got[1]);
    set_int(desc, 7, RELU);
    check(cublasLtMatmul(handle, desc, &one, device[0], l, device[1], l, &zero, device[2], l, device[2], l, NULL, NULL, 0,
                         NULL) == CUBLAS_STATUS_NOT_SUPPORTED,
          "an epilogue of pointers");
    cublasLtMatmulDescDestroy(desc), cublasLtMatrixLayoutDestroy(l);
    for (int i = 0; i < 3; i++)
        cudaFree(device[i]);
    cudaFree(da), cudaFree(db), cudaFree(dc);
}

/* Many products of its own on a stream of its own, of which each depends on the one before. */
static void *thread(void *arg)
{
    enum { N = 24 };
    float host[N * N], one = 1, zero = 0, got = 0;
    int rounds = quick ? 3 : 100;
    void *stream;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t l;
    for (int i = 0; i < N * N; i++)
        host[i] = i % (N + 1) ? 0 : (float)(size_t)arg;
    void *a = upload(host, sizeof host), *x = upload(host, sizeof host), *y = upload(host, sizeof host);
    for (int i = 0; i < N * N; i++)
        host[i] = i % (N + 1) ? 0 : 1;
    cudaMemcpy(a, host, sizeof host, 1);
    cudaStreamCreateWithFlags(&stream, 1);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, N, N, N);
    int status = 0;
    for (int i = 0; i < rounds; i++) {
        status |= (int)cublasLtMatmul(handle, desc, &one, a, l, x, l, &zero, y, l, y, l, NULL, NULL, 0, stream);
        status |= (int)cublasLtMatmul(handle, desc, &one, a, l, y, l, &one, x, l, x, l, NULL, NULL, 0, stream);
        one = i % 2 ? 0.5f : 1; /* x becomes one times one plus one times itself */
    }
    cudaStreamSynchronize(stream);
    cudaMemcpy(&got, x, sizeof got, 2);
    double want = (double)(size_t)arg, scale = 1;
    for (int i = 0; i < rounds; i++) {
        want = scale * scale * want + scale * want;
        scale = i % 2 ? 0.5 : 1;
    }
    check(status == 0 && fabs(got - want) <= 1e-4 * want, "thread %d: status %d, %g, not %g", (int)(size_t)arg, status, got,
          want);
    cublasLtMatmulDescDestroy(desc), cublasLtMatrixLayoutDestroy(l);
    cudaStreamDestroy(stream);
    cudaFree(a), cudaFree(x), cudaFree(y);
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, thread, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void leaks(void)
{
    size_t early = 0;
    struct problem p = kinds[2];
    p.epilogue = GELU | BIAS;
    for (int i = 0; i < (quick ? 20 : 10000); i++) {
        cublasLtHandle_t h;
        cublasLtMatmulPreference_t pref;
        if (i == 100)
            early = mallinfo2().uordblks;
        cublasLtCreate(&h), cublasLtMatmulPreferenceCreate(&pref);
        cublasLtMatmulPreferenceDestroy(pref), cublasLtDestroy(h);
        if (i % 20 == 0)
            product(&p);
    }
    check(quick || mallinfo2().uordblks < early + 65536, "10,000 handles: %zu bytes, then %zu", early, mallinfo2().uordblks);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    if (cublasLtCreate(&handle))
        return 2;
    shapes();
    tiles();
    epilogues();
    modes();
    complex_product();
    transforms();
    streams();
    pointers();
    threads();
    leaks();
    algorithms();
    attributes();
    cublasLtDestroy(handle);
    return test_end("lt");
}
