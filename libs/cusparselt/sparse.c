/* Sparse matrices: pruning, its check, compression and expansion. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/floats.h"
#include "cusparseLt_proto.h"
#include "slt.h"

#define AW_ROOM "cusparselt"

/* ---- Elements. */

size_t aw_slt_element(int type)
{
    switch (type) {
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8I: return 1;
    default: return 0;
    }
}

float aw_slt_get(int type, const void *at, size_t i)
{
    switch (type) {
    case CUDA_R_32F: return ((const float *)at)[i];
    case CUDA_R_32I: return (float)((const int32_t *)at)[i];
    case CUDA_R_16F: return aw_f16_get(((const uint16_t *)at)[i]);
    case CUDA_R_16BF: return aw_bf16_get(((const uint16_t *)at)[i]);
    default: return ((const int8_t *)at)[i];
    }
}

void aw_slt_put(int type, void *at, size_t i, float value)
{
    switch (type) {
    case CUDA_R_32F: ((float *)at)[i] = value; break;
    case CUDA_R_32I:
        ((int32_t *)at)[i] = value >= 2147483648.0f ? INT32_MAX : value < -2147483648.0f ? INT32_MIN : (int32_t)rintf(value);
        break;
    case CUDA_R_16F: ((uint16_t *)at)[i] = aw_f16_put(value); break;
    case CUDA_R_16BF: ((uint16_t *)at)[i] = aw_bf16_put(value); break;
    default: ((int8_t *)at)[i] = (int8_t)(value > 127 ? 127 : value < -128 ? -128 : rintf(value)); break;
    }
}

struct aw_slt_shape aw_slt_shape_of(const struct aw_slt_matrix *m, bool is_a, int op)
{
    bool pair = m->type == CUDA_R_32F, rows_outer = is_a == (op == OP_N);
    int64_t row = m->order == ORDER_ROW ? m->ld : 1, col = m->order == ORDER_ROW ? 1 : m->ld;
    return (struct aw_slt_shape){ .type = m->type,
                                  .outer = rows_outer ? m->rows : m->cols,
                                  .inner = rows_outer ? m->cols : m->rows,
                                  .outer_step = rows_outer ? row : col,
                                  .inner_step = rows_outer ? col : row,
                                  .group = pair ? 2 : 4,
                                  .keep = pair ? 1 : 2 };
}

static size_t groups_of(const struct aw_slt_shape *s)
{
    return (size_t)s->outer * (size_t)(s->inner / s->group);
}

/* Of one batch, rounded up so that the next one's elements are aligned. */
static size_t compressed_batch(const struct aw_slt_shape *s)
{
    return (groups_of(s) * ((size_t)s->keep * aw_slt_element(s->type) + 1) + 15) & ~(size_t)15;
}

size_t aw_slt_compressed_size(const struct aw_slt_matrix *m, bool is_a, int op)
{
    struct aw_slt_shape s = aw_slt_shape_of(m, is_a, op);
    return compressed_batch(&s) * (size_t)m->batches;
}

/* ---- Jobs on batches of a matrix. */

struct sparse_job {
    struct aw_lib_job job; /* spans: the matrix, what is made of it */
    struct aw_slt_shape shape;
    int algorithm, batches;
    int64_t stride;        /* elements */
};

struct aw_lib_span aw_slt_matrix_span(const struct aw_slt_matrix *m, void *at, unsigned dir)
{
    size_t element = aw_slt_element(m->type);
    bool row = m->order == ORDER_ROW;
    return (struct aw_lib_span){ .at = at,
                                 .width = (size_t)(row ? m->cols : m->rows) * element,
                                 .rows = (size_t)(row ? m->rows : m->cols),
                                 .pitch = (size_t)m->ld * element, .count = (size_t)m->batches,
                                 .stride = (size_t)m->stride * element, .dir = dir };
}

static struct aw_lib_span plain_span(void *at, size_t size, unsigned dir)
{
    return (struct aw_lib_span){ .at = at, .width = size, .rows = 1, .pitch = size, .count = 1, .stride = size, .dir = dir };
}

static CUresult sparse_submit(const struct aw_lib_queue *queue, const struct aw_slt_matrix *m, struct aw_slt_shape shape,
                              void (*run)(struct aw_lib_job *), int algorithm, struct aw_lib_span first,
                              struct aw_lib_span second)
{
    int status;
    struct sparse_job job = { .job = { .run = run, .size = sizeof job, .n_spans = 2, .spans = { first, second } }, .shape = shape,
                              .algorithm = algorithm, .batches = m->batches, .stride = m->stride };
    return aw_lib_submit(queue, &job.job, AW_LIB_QUEUED, &status);
}

static void move_element(const struct aw_slt_shape *s, void *to, size_t i, const void *from, size_t k)
{
    size_t size = aw_slt_element(s->type);
    memcpy((char *)to + i * size, (const char *)from + k * size, size);
}

/* ---- Pruning. */

/* Which of a group stay: the largest, of equals the first.  A bit each. */
static unsigned largest(const struct aw_slt_shape *s, const void *at, size_t first)
{
    unsigned kept = 0;
    for (int k = 0; k < s->keep; k++) {
        int best = -1;
        float most = -1;
        for (int i = 0; i < s->group; i++) {
            float v = fabsf(aw_slt_get(s->type, at, first + (size_t)(i * s->inner_step)));
            if (!(kept >> i & 1) && v > most)
                best = i, most = v;
        }
        kept |= best >= 0 ? 1u << best : 0;
    }
    return kept;
}

/* All choices of elements of a square tile that leave as many in each row and each column. */
static struct choices {
    size_t n;
    uint16_t bits[90];
} fours, twos;

static void choices_fill(struct choices *c, unsigned g, int keep)
{
    for (unsigned bits = 0; bits < 1u << g * g; bits++) {
        bool fits = true;
        for (unsigned r = 0; r < g && fits; r++) {
            int column = 0;
            for (unsigned k = 0; k < g; k++)
                column += bits >> (k * g + r) & 1;
            fits = __builtin_popcount(bits >> r * g & ((1u << g) - 1)) == keep && column == keep;
        }
        if (fits)
            c->bits[c->n++] = (uint16_t)bits;
    }
}

static void choices_make(void)
{
    choices_fill(&fours, 4, 2);
    choices_fill(&twos, 2, 1);
}

/* Of a square tile, as many in each row and each column: the choice with the largest sum.  A bit for each element, a row's
 * together. */
static unsigned tile_choose(const struct aw_slt_shape *s, const void *at, size_t first)
{
    float v[16], most = -1;
    unsigned best = 0, g = (unsigned)s->group;
    const struct choices *c = g == 4 ? &fours : &twos;
    for (unsigned i = 0; i < g * g; i++)
        v[i] = fabsf(
            aw_slt_get(s->type, at, first + (size_t)(i / g) * (size_t)s->outer_step + (size_t)(i % g) * (size_t)s->inner_step));
    for (size_t k = 0; k < c->n; k++) {
        float sum = 0;
        for (unsigned i = 0; i < g * g; i++)
            sum += c->bits[k] >> i & 1 ? v[i] : 0;
        if (sum > most)
            best = c->bits[k], most = sum;
    }
    return best;
}

static void keep_line(const struct aw_slt_shape *s, void *out, const void *in, size_t first, unsigned kept)
{
    size_t size = aw_slt_element(s->type);
    for (int i = 0; i < s->group; i++) {
        size_t at = first + (size_t)(i * s->inner_step);
        if (kept >> i & 1)
            move_element(s, out, at, in, at);
        else
            memset((char *)out + at * size, 0, size);
    }
}

static void prune_run(struct aw_lib_job *base)
{
    struct sparse_job *job = (struct sparse_job *)base;
    const struct aw_slt_shape *s = &job->shape;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int64_t lines = job->algorithm == 0 ? s->group : 1; /* of a tile */
    pthread_once(&once, choices_make);
    for (int b = 0; b < job->batches; b++) {
        size_t offset = (size_t)(b * job->stride) * aw_slt_element(s->type);
        const void *in = (char *)base->spans[0].at + offset;
        void *out = (char *)base->spans[1].at + offset;
        for (int64_t o = 0; o < s->outer; o += lines)
            for (int64_t i = 0; i < s->inner; i += s->group) {
                size_t first = (size_t)(o * s->outer_step + i * s->inner_step);
                bool whole = lines > 1 && o + lines <= s->outer;
                unsigned tile = whole ? tile_choose(s, in, first) : 0;
                for (int64_t l = 0; l < lines && o + l < s->outer; l++) {
                    size_t at = first + (size_t)(l * s->outer_step);
                    keep_line(s, out, in, at, whole ? tile >> (l * s->group) : largest(s, in, at));
                }
            }
    }
}

static void check_run(struct aw_lib_job *base)
{
    struct sparse_job *job = (struct sparse_job *)base;
    const struct aw_slt_shape *s = &job->shape;
    int wrong = 0;
    for (int b = 0; b < job->batches; b++) {
        const void *in = (char *)base->spans[0].at + (size_t)(b * job->stride) * aw_slt_element(s->type);
        for (int64_t o = 0; o < s->outer; o++)
            for (int64_t i = 0; i < s->inner; i += s->group) {
                int n = 0;
                for (int k = 0; k < s->group; k++)
                    n += aw_slt_get(s->type, in, (size_t)(o * s->outer_step + (i + k) * s->inner_step)) != 0;
                wrong |= n > s->keep;
            }
    }
    memcpy(base->spans[1].at, &wrong, sizeof wrong);
}

/* ---- Compression. */

static void compress_run(struct aw_lib_job *base)
{
    struct sparse_job *job = (struct sparse_job *)base;
    const struct aw_slt_shape *s = &job->shape;
    size_t size = aw_slt_element(s->type), groups = groups_of(s), each = compressed_batch(s);
    bool lost = false;
    for (int b = 0; b < job->batches; b++) {
        const void *in = (char *)base->spans[0].at + (size_t)(b * job->stride) * size;
        char *values = (char *)base->spans[1].at + (size_t)b * each;
        unsigned char *places = (unsigned char *)values + groups * (size_t)s->keep * size;
        for (size_t g = 0; g < groups; g++) {
            size_t per_line = (size_t)(s->inner / s->group);
            size_t first = g / per_line * (size_t)s->outer_step + g % per_line * (size_t)(s->group * s->inner_step);
            unsigned kept = 0, n = 0, place = 0;
            for (int i = 0; i < s->group; i++)
                if (aw_slt_get(s->type, in, first + (size_t)(i * s->inner_step)) != 0)
                    kept |= 1u << i;
            lost |= __builtin_popcount(kept) > s->keep;
            for (int i = 0; __builtin_popcount(kept) < s->keep; i++)
                kept |= 1u << i;
            for (int i = 0; i < s->group && n < (unsigned)s->keep; i++)
                if (kept >> i & 1) {
                    move_element(s, values, g * (size_t)s->keep + n, in, first + (size_t)(i * s->inner_step));
                    place |= (unsigned)i << 2 * n++;
                }
            places[g] = (unsigned char)place;
        }
    }
    if (lost)
        aw_say(SPARSELT_DENSE);
}

static void expand_run(struct aw_lib_job *base)
{
    struct sparse_job *job = (struct sparse_job *)base;
    const struct aw_slt_shape *s = &job->shape;
    size_t size = aw_slt_element(s->type), groups = groups_of(s), each = compressed_batch(s),
           dense = (size_t)(s->outer * s->inner) * size;
    memset(base->spans[1].at, 0, dense * (size_t)job->batches);
    for (int b = 0; b < job->batches; b++) {
        const char *values = (char *)base->spans[0].at + (size_t)b * each;
        const unsigned char *places = (const unsigned char *)values + groups * (size_t)s->keep * size;
        void *out = (char *)base->spans[1].at + (size_t)b * dense;
        for (size_t g = 0; g < groups; g++)
            for (int k = 0; k < s->keep; k++)
                move_element(s, out, g * (size_t)s->group + (places[g] >> 2 * k & 3), values, g * (size_t)s->keep + (size_t)k);
    }
}

CUresult aw_slt_expand(const struct aw_lib_queue *queue, const struct aw_slt_matrix *m, bool is_a, int op, const void *compressed,
                       void *dense)
{
    struct aw_slt_shape s = aw_slt_shape_of(m, is_a, op);
    size_t size = (size_t)(s.outer * s.inner) * aw_slt_element(s.type) * (size_t)m->batches;
    return sparse_submit(queue, m, s, expand_run, 0,
                         plain_span((void *)(uintptr_t)compressed, compressed_batch(&s) * (size_t)m->batches, AW_LIB_IN),
                         plain_span(dense, size, AW_LIB_OUT));
}

/* ---- The functions.  Those that take a product's descriptor or plan mean the sparse one of its matrices. */

cusparseStatus_t aw_slt_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? CUSPARSE_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUSPARSE_STATUS_ALLOC_FAILED
                                        : CUSPARSE_STATUS_EXECUTION_FAILED;
}

static cusparseStatus_t check(const struct aw_slt_handle *handle, const struct aw_slt_matrix *m, const void *a, const void *b)
{
    if (!handle || !m || !a || !b || m->magic != SLT_MATRIX || !m->sparse)
        return CUSPARSE_STATUS_INVALID_VALUE;
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t queue_of(cudaStream_t stream, struct aw_lib_queue *ret)
{
    *ret = (struct aw_lib_queue){ .stream = stream };
    return aw_slt_status(aw_lib_queue_init(ret));
}

cusparseStatus_t awcusparselt_cusparseLtSpMMAPrune2(const cusparseLtHandle_t *handle, const cusparseLtMatDescriptor_t *m,
                                                    int is_a, cusparseOperation_t op, const void *in, void *out,
                                                    cusparseLtPruneAlg_t algorithm, cudaStream_t stream)
{
    struct aw_lib_queue queue;
    cusparseStatus_t status = check(handle, m, in, out);
    if (status == CUSPARSE_STATUS_SUCCESS && (algorithm < 0 || algorithm > 1))
        status = CUSPARSE_STATUS_INVALID_VALUE;
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = queue_of(stream, &queue);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    return aw_slt_status(sparse_submit(&queue, m, aw_slt_shape_of(m, is_a, op), prune_run, algorithm,
                                       aw_slt_matrix_span(m, (void *)(uintptr_t)in, AW_LIB_IN),
                                       aw_slt_matrix_span(m, out, AW_LIB_OUT)));
}

cusparseStatus_t awcusparselt_cusparseLtSpMMAPruneCheck2(const cusparseLtHandle_t *handle, const cusparseLtMatDescriptor_t *m,
                                                         int is_a, cusparseOperation_t op, const void *in, int *valid,
                                                         cudaStream_t stream)
{
    struct aw_lib_queue queue;
    cusparseStatus_t status = check(handle, m, in, valid);
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = queue_of(stream, &queue);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    return aw_slt_status(sparse_submit(&queue, m, aw_slt_shape_of(m, is_a, op), check_run, 0,
                                       aw_slt_matrix_span(m, (void *)(uintptr_t)in, AW_LIB_IN),
                                       plain_span(valid, sizeof(int), AW_LIB_OUT)));
}

cusparseStatus_t awcusparselt_cusparseLtSpMMACompressedSize2(const cusparseLtHandle_t *handle, const cusparseLtMatDescriptor_t *m,
                                                             size_t *size, size_t *buffer)
{
    cusparseStatus_t status = check(handle, m, size, buffer);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    size_t one = aw_slt_compressed_size(m, true, OP_N), other = aw_slt_compressed_size(m, true, OP_T);
    *size = one > other ? one : other; /* which way is not known yet */
    *buffer = 0;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtSpMMACompress2(const cusparseLtHandle_t *handle, const cusparseLtMatDescriptor_t *m,
                                                       int is_a, cusparseOperation_t op, const void *dense, void *compressed,
                                                       void *buffer, cudaStream_t stream)
{
    struct aw_lib_queue queue;
    (void)buffer;
    cusparseStatus_t status = check(handle, m, dense, compressed);
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = queue_of(stream, &queue);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    return aw_slt_status(sparse_submit(&queue, m, aw_slt_shape_of(m, is_a, op), compress_run, 0,
                                       aw_slt_matrix_span(m, (void *)(uintptr_t)dense, AW_LIB_IN),
                                       plain_span(compressed, aw_slt_compressed_size(m, is_a, op), AW_LIB_OUT)));
}

static const struct aw_slt_matrix *sparse_of(const struct aw_slt_matmul *p, int *ret_is_a, int *ret_op)
{
    *ret_is_a = p->a.sparse;
    *ret_op = p->a.sparse ? p->opa : p->opb;
    return p->a.sparse ? &p->a : &p->b;
}

cusparseStatus_t awcusparselt_cusparseLtSpMMAPrune(const cusparseLtHandle_t *handle, const cusparseLtMatmulDescriptor_t *p,
                                                   const void *in, void *out, cusparseLtPruneAlg_t algorithm, cudaStream_t stream)
{
    int is_a, op;
    if (!p || p->magic != SLT_MATMUL)
        return CUSPARSE_STATUS_INVALID_VALUE;
    const struct aw_slt_matrix *m = sparse_of(p, &is_a, &op);
    return awcusparselt_cusparseLtSpMMAPrune2(handle, m, is_a, op, in, out, algorithm, stream);
}

cusparseStatus_t awcusparselt_cusparseLtSpMMAPruneCheck(const cusparseLtHandle_t *handle, const cusparseLtMatmulDescriptor_t *p,
                                                        const void *in, int *valid, cudaStream_t stream)
{
    int is_a, op;
    if (!p || p->magic != SLT_MATMUL)
        return CUSPARSE_STATUS_INVALID_VALUE;
    const struct aw_slt_matrix *m = sparse_of(p, &is_a, &op);
    return awcusparselt_cusparseLtSpMMAPruneCheck2(handle, m, is_a, op, in, valid, stream);
}

cusparseStatus_t awcusparselt_cusparseLtSpMMACompressedSize(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                                            size_t *size, size_t *buffer)
{
    int is_a, op;
    if (!plan || plan->magic != SLT_PLAN)
        return CUSPARSE_STATUS_INVALID_VALUE;
    return awcusparselt_cusparseLtSpMMACompressedSize2(handle, sparse_of(&plan->matmul, &is_a, &op), size, buffer);
}

cusparseStatus_t awcusparselt_cusparseLtSpMMACompress(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                                      const void *dense, void *compressed, void *buffer, cudaStream_t stream)
{
    int is_a, op;
    if (!plan || plan->magic != SLT_PLAN)
        return CUSPARSE_STATUS_INVALID_VALUE;
    const struct aw_slt_matrix *m = sparse_of(&plan->matmul, &is_a, &op);
    return awcusparselt_cusparseLtSpMMACompress2(handle, m, is_a, op, dense, compressed, buffer, stream);
}
