/* cuSPARSELt against plain loops: products of all types, orders and operations, with what comes behind, pruning and its check.
 * Usage: slt_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The program's descriptors are 512 bytes that it knows nothing of, and which stay where they were made. */
typedef struct { _Alignas(16) unsigned char data[512]; } blob;
typedef int status;
status cusparseLtInit(blob *handle);
status cusparseLtDestroy(const blob *handle);
status cusparseLtDenseDescriptorInit(const blob *h, blob *m, long rows, long cols, long ld, unsigned align, int type, int order);
status cusparseLtStructuredDescriptorInit(const blob *h, blob *m, long rows, long cols, long ld, unsigned align, int type,
                                          int order, int sparsity);
status cusparseLtMatDescSetAttribute(const blob *h, blob *m, int which, const void *data, size_t size);
status cusparseLtMatmulDescriptorInit(const blob *h, blob *p, int opa, int opb, const blob *a, const blob *b, const blob *c,
                                      const blob *d, int compute);
status cusparseLtMatmulDescSetAttribute(const blob *h, blob *p, int which, const void *data, size_t size);
status cusparseLtMatmulDescGetAttribute(const blob *h, const blob *p, int which, void *data, size_t size);
status cusparseLtMatmulAlgSelectionInit(const blob *h, blob *s, const blob *p, int alg);
status cusparseLtMatmulAlgGetAttribute(const blob *h, const blob *s, int which, void *data, size_t size);
status cusparseLtMatmulPlanInit(const blob *h, blob *plan, const blob *p, const blob *s);
status cusparseLtMatmulGetWorkspace(const blob *h, const blob *plan, size_t *size);
status cusparseLtMatmul(const blob *h, const blob *plan, const void *alpha, const void *a, const void *b, const void *beta,
                        const void *c, void *d, void *workspace, void **streams, int n);
status cusparseLtSpMMAPrune(const blob *h, const blob *p, const void *in, void *out, int alg, void *stream);
status cusparseLtSpMMAPruneCheck(const blob *h, const blob *p, const void *in, int *valid, void *stream);
status cusparseLtSpMMACompressedSize(const blob *h, const blob *plan, size_t *size, size_t *buffer);
status cusparseLtSpMMACompress(const blob *h, const blob *plan, const void *dense, void *compressed, void *buffer, void *stream);
int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaStreamCreate(void **stream);
int cudaStreamSynchronize(void *stream);

enum { F32 = 0, F16 = 2, I8 = 3, I32 = 10, BF16 = 14, COL = 1, ROW = 2, DEFAULT = 4 };
static int bad;
static blob handle;
static void *stream;
#define CHECK(condition) \
    do { \
        if (!(condition)) \
            bad++, printf("line %d: %s\n", __LINE__, #condition); \
    } while (0)
#define FINE(call) CHECK((call) == 0)

/* ---- Elements: small whole numbers. */

static size_t element(int type)
{
    return type == F32 || type == I32 ? 4 : type == I8 ? 1 : 2;
}

static double get(int type, const void *at, size_t i)
{
    _Float16 h;
    float f;
    unsigned bits;
    switch (type) {
    case F32: return ((const float *)at)[i];
    case I32: return ((const int *)at)[i];
    case I8: return ((const signed char *)at)[i];
    case F16: memcpy(&h, (const char *)at + 2 * i, 2); return h;
    default: bits = (unsigned)((const unsigned short *)at)[i] << 16; memcpy(&f, &bits, 4); return f;
    }
}

static void put(int type, void *at, size_t i, double v)
{
    _Float16 h = (_Float16)v;
    float f = (float)v;
    unsigned bits;
    switch (type) {
    case F32: ((float *)at)[i] = f; break;
    case I32: ((int *)at)[i] = (int)v; break;
    case I8: ((signed char *)at)[i] = (signed char)v; break;
    case F16: memcpy((char *)at + 2 * i, &h, 2); break;
    default: memcpy(&bits, &f, 4); ((unsigned short *)at)[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); break;
    }
}

struct matrix {
    int type, order;
    long rows, cols, ld;
    void *host, *device;
    blob blob;
};

static size_t place(const struct matrix *m, long r, long c)
{
    return (size_t)(m->order == ROW ? r * m->ld + c : c * m->ld + r);
}

static size_t bytes(const struct matrix *m)
{
    return (size_t)(m->ld * (m->order == ROW ? m->rows : m->cols)) * element(m->type);
}

static void make(struct matrix *m, int type, int order, long rows, long cols, int sparse, unsigned seed)
{
    *m = (struct matrix){ .type = type, .order = order, .rows = rows, .cols = cols, .ld = (order == ROW ? cols : rows) + 16 };
    m->host = calloc(1, bytes(m));
    for (long r = 0; r < rows; r++)
        for (long c = 0; c < cols; c++) {
            seed = seed * 1103515245 + 12345;
            put(type, m->host, place(m, r, c), (double)(seed >> 16 & 7) - 3);
        }
    cudaMalloc(&m->device, bytes(m));
    cudaMemcpy(m->device, m->host, bytes(m), DEFAULT);
    FINE(sparse ? cusparseLtStructuredDescriptorInit(&handle, &m->blob, rows, cols, m->ld, 16, type, order, 0) :
                  cusparseLtDenseDescriptorInit(&handle, &m->blob, rows, cols, m->ld, 16, type, order));
}

static void drop(struct matrix *m)
{
    free(m->host);
    cudaFree(m->device);
}

static double at(const struct matrix *m, int op, long r, long c)
{
    return op ? get(m->type, m->host, place(m, c, r)) : get(m->type, m->host, place(m, r, c));
}

/* ---- A product: pruned, checked, compressed, multiplied, and compared. */

static void pruned_check(const struct matrix *s, int along_cols, const struct matrix *before)
{
    int group = s->type == F32 ? 2 : 4;
    long outer = along_cols ? s->rows : s->cols, inner = along_cols ? s->cols : s->rows;
    for (long o = 0; o < outer; o++)
        for (long i = 0; i < inner; i += group) {
            int n = 0;
            for (int k = 0; k < group; k++) {
                double v = along_cols ? at(s, 0, o, i + k) : at(s, 0, i + k, o),
                       w = along_cols ? at(before, 0, o, i + k) : at(before, 0, i + k, o);
                n += v != 0;
                CHECK(v == 0 || v == w);
            }
            CHECK(n <= group / 2);
        }
}

static double epilogue(double v, int relu, int gelu)
{
    if (relu)
        v = v > 1 ? fmin(v, 20) : 0;
    if (gelu)
        v = 0.5 * v * (1 + tanh(0.7978845608 * (v + 0.044715 * v * v * v)));
    return v;
}

static void product(int type, int out, int opa, int opb, int order, int out_order, int sparse_b, int algorithm, int relu,
                    int gelu, int bias)
{
    enum { M = 16, N = 24, K = 32 };
    struct matrix a, b, c, d;
    make(&a, type, order, opa ? K : M, opa ? M : K, !sparse_b, 1);
    make(&b, type, order, opb ? N : K, opb ? K : N, sparse_b, 2);
    make(&c, out, out_order, M, N, 0, 3);
    make(&d, out, out_order, M, N, 0, 4);
    struct matrix *s = sparse_b ? &b : &a, before = *s;
    blob p, selection, plan;
    size_t size, buffer, workspace;
    void *compressed, *work, *bias_at = NULL;
    int *valid, wrong = 9, on = 1, compute = type == I8 ? 0 : 2;
    float alpha = 2, beta = out == I32 ? 1 : -1, threshold = 1, upper = 20, host_bias[M];
    FINE(cusparseLtMatmulDescriptorInit(&handle, &p, opa, opb, &a.blob, &b.blob, &c.blob, &d.blob, compute));
    if (relu) {
        FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 0, &on, sizeof on));
        FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 1, &upper, sizeof upper));
        FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 2, &threshold, sizeof threshold));
    }
    if (gelu)
        FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 3, &on, sizeof on));
    cudaMalloc(&bias_at, sizeof host_bias);
    int bias_type = type == I8 ? F32 : out;
    for (int i = 0; i < M; i++)
        put(bias_type, host_bias, (size_t)i, i % 5);
    cudaMemcpy(bias_at, host_bias, sizeof host_bias, DEFAULT);
    if (bias)
        FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 8, &bias_at, sizeof bias_at));
    FINE(cusparseLtMatmulAlgSelectionInit(&handle, &selection, &p, 0));
    FINE(cusparseLtMatmulPlanInit(&handle, &plan, &p, &selection));
    /* What is sparse by chance is not enough. */
    cudaMalloc((void **)&valid, 4);
    FINE(cusparseLtSpMMAPruneCheck(&handle, &p, s->device, valid, stream));
    cudaStreamSynchronize(stream);
    cudaMemcpy(&wrong, valid, 4, DEFAULT);
    CHECK(wrong == 1);
    before.host = malloc(bytes(s));
    memcpy(before.host, s->host, bytes(s));
    FINE(cusparseLtSpMMAPrune(&handle, &p, s->device, s->device, algorithm, stream));
    FINE(cusparseLtSpMMAPruneCheck(&handle, &p, s->device, valid, stream));
    cudaStreamSynchronize(stream);
    cudaMemcpy(&wrong, valid, 4, DEFAULT);
    cudaMemcpy(s->host, s->device, bytes(s), DEFAULT);
    CHECK(wrong == 0);
    pruned_check(s, sparse_b ? opb != 0 : opa == 0, &before);
    FINE(cusparseLtSpMMACompressedSize(&handle, &plan, &size, &buffer));
    CHECK(size < M * K * 2 * element(type) && size >= M * K / 2 * element(type));
    FINE(cusparseLtMatmulGetWorkspace(&handle, &plan, &workspace));
    cudaMalloc(&compressed, size);
    cudaMalloc(&work, workspace);
    FINE(cusparseLtSpMMACompress(&handle, &plan, s->device, compressed, NULL, stream));
    FINE(cusparseLtMatmul(&handle, &plan, &alpha, sparse_b ? a.device : compressed, sparse_b ? compressed : b.device, &beta,
                          c.device, d.device, work, &stream, 1));
    cudaStreamSynchronize(stream);
    cudaMemcpy(d.host, d.device, bytes(&d), DEFAULT);
    int wrongs = 0;
    for (long i = 0; i < M; i++)
        for (long j = 0; j < N; j++) {
            double v = 0;
            for (long k = 0; k < K; k++)
                v += at(&a, opa, i, k) * at(&b, opb, k, j);
            v = epilogue(alpha * v + beta * at(&c, 0, i, j) + (bias ? i % 5 : 0), relu, gelu);
            if (out == I8)
                v = v > 127 ? 127 : v < -128 ? -128 : v;
            double got = at(&d, 0, i, j), room = out == BF16 ? fabs(v) / 128 : gelu || out == F16 ? fabs(v) / 1000 + 1e-5 : 0;
            wrongs += !(fabs(got - v) <= room);
        }
    if (wrongs)
        bad++, printf("type %d to %d, ops %d %d, order %d to %d, sparse_b %d, prune %d, relu %d, gelu %d, bias %d: %d wrong\n",
                      type, out, opa, opb, order, out_order, sparse_b, algorithm, relu, gelu, bias, wrongs);
    free(before.host);
    cudaFree(valid), cudaFree(compressed), cudaFree(work), cudaFree(bias_at);
    drop(&a), drop(&b), drop(&c), drop(&d);
}

static void refusals(void)
{
    blob m, p, s;
    int most = 0, value = 1;
    struct matrix a, b;
    make(&a, F16, COL, 16, 16, 1, 1);
    make(&b, F16, COL, 16, 16, 0, 1);
    CHECK(cusparseLtStructuredDescriptorInit(&handle, &m, 15, 16, 16, 16, F16, COL, 0) == 3);
    CHECK(cusparseLtDenseDescriptorInit(&handle, &m, 16, 16, 8, 16, F16, COL) == 3);
    CHECK(cusparseLtDenseDescriptorInit(&handle, &m, 16, 16, 16, 16, 28, COL) == 10); /* fp8 */
    CHECK(cusparseLtMatmulDescriptorInit(&handle, &p, 0, 0, &b.blob, &b.blob, &b.blob, &b.blob, 2) == 3); /* none is sparse */
    FINE(cusparseLtMatmulDescriptorInit(&handle, &p, 0, 0, &a.blob, &b.blob, &b.blob, &b.blob, 2));
    CHECK(cusparseLtMatmulDescSetAttribute(&handle, &p, 10, &value, sizeof value) == 10); /* scales */
    CHECK(cusparseLtMatmulDescSetAttribute(&handle, &p, 0, &value, 1) == 3);
    FINE(cusparseLtMatmulDescSetAttribute(&handle, &p, 0, &value, sizeof value));
    value = 0;
    FINE(cusparseLtMatmulDescGetAttribute(&handle, &p, 0, &value, sizeof value));
    CHECK(value == 1);
    FINE(cusparseLtMatmulAlgSelectionInit(&handle, &s, &p, 0));
    FINE(cusparseLtMatmulAlgGetAttribute(&handle, &s, 1, &most, sizeof most));
    CHECK(most == 1);
    drop(&a), drop(&b);
}

int main(int argc, char **argv)
{
    static const int types[][2] = {
        { F16, F16 }, { BF16, BF16 }, { F32, F32 }, { I8, I32 }, { I8, I8 }, { I8, F16 }, { F16, F32 }
    };
    int quick = argc > 1;
    FINE(cusparseLtInit(&handle));
    cudaStreamCreate(&stream);
    for (int t = 0; t < (quick ? 1 : 7); t++)
        for (int f = 0; f < 32; f += quick ? 11 : 1)
            product(types[t][0], types[t][1], f & 1, f >> 1 & 1, f >> 2 & 1 ? ROW : COL, f >> 3 & 1 ? ROW : COL, f >> 4 & 1,
                    f % 3 == 0, 0, 0, f & 1);
    product(F16, F16, 0, 0, ROW, ROW, 0, 1, 1, 0, 1);
    product(F16, F16, 0, 0, COL, COL, 0, 1, 0, 1, 1);
    product(I8, I8, 0, 0, COL, COL, 0, 0, 1, 0, 0);
    refusals();
    (void)argv;
    FINE(cusparseLtDestroy(&handle));
    printf("%d wrong\n", bad);
    return bad != 0;
}
