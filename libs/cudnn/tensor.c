/* Tensors: see tensor.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/convert.h"
#include "common/vectorised.h"

unsigned aw_dnn_type_bits(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_BOOLEAN: return 1; /* in memory of the program eight are a byte */
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BYTE_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2: return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 16;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_UINT32: return 32;
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64: return 64;
    default: return 0;
    }
}

bool aw_dnn_type_wide(cudnnDataType_t type)
{
    return type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_INT32 || type == CUDNN_DATA_UINT32 || type == CUDNN_DATA_INT64;
}

static bool is_byte(cudnnDataType_t type)
{
    return type == CUDNN_DATA_INT8 || type == CUDNN_DATA_UINT8;
}

bool aw_dnn_sum_wide(cudnnDataType_t a, cudnnDataType_t b, int64_t n)
{
    return aw_dnn_type_wide(a) || aw_dnn_type_wide(b) || (is_byte(a) && is_byte(b) && n >= (1 << 24) / (255 * 255));
}

int64_t aw_dnn_count(const struct aw_dnn_shape *s)
{
    int64_t count = 1;
    for (int i = 0; i < s->n; i++)
        count *= s->dim[i];
    return count;
}

int64_t aw_dnn_extent(const struct aw_dnn_shape *s)
{
    int64_t last = 0;
    for (int i = 0; i < s->n; i++) {
        if (s->dim[i] == 0)
            return 0;
        last += (s->dim[i] - 1) * s->stride[i];
    }
    return last + 1;
}

size_t aw_dnn_bytes(const struct aw_dnn_shape *s)
{
    return ((size_t)aw_dnn_extent(s) * aw_dnn_type_bits(s->type) + 7) / 8;
}

struct aw_dnn_view aw_dnn_later(struct aw_dnn_view v, int64_t offset)
{
    v.at = (char *)v.at + offset * (aw_dnn_type_bits(v.s.type) / 8);
    return v;
}

struct aw_dnn_view aw_dnn_part(struct aw_dnn_view v, int dimension, int64_t begin, int64_t count)
{
    v.s.dim[dimension] = count;
    return aw_dnn_later(v, begin * v.s.stride[dimension]);
}

bool aw_dnn_packed(const struct aw_dnn_shape *s)
{
    int64_t step = 1, count = aw_dnn_count(s);
    bool taken[AW_DNN_DIMS] = { false };
    while (step < count) {
        int next = -1;
        for (int i = 0; i < s->n && next < 0; i++)
            if (!taken[i] && s->dim[i] > 1 && s->stride[i] == step)
                next = i;
        if (next < 0)
            return false;
        taken[next] = true;
        step *= s->dim[next];
    }
    return true;
}

void aw_dnn_pack(struct aw_dnn_shape *s)
{
    int64_t stride = 1;
    for (int i = s->n - 1; i >= 0; i--) {
        s->stride[i] = stride;
        stride *= s->dim[i];
    }
}

bool aw_dnn_same_dims(const struct aw_dnn_shape *a, const struct aw_dnn_shape *b)
{
    return a->n == b->n && !memcmp(a->dim, b->dim, (size_t)a->n * sizeof a->dim[0]);
}

/* ---- Rows */

/* The types that common/convert.h has runs of. */
static int convert_type(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_FLOAT: return CUDA_R_32F;
    case CUDNN_DATA_HALF: return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16: return CUDA_R_16BF;
    case CUDNN_DATA_INT8: return CUDA_R_8I;
    case CUDNN_DATA_UINT8: return CUDA_R_8U;
    case CUDNN_DATA_FP8_E4M3: return CUDA_R_8F_E4M3;
    case CUDNN_DATA_FP8_E5M2: return CUDA_R_8F_E5M2;
    default: return -1;
    }
}

double aw_dnn_get(const struct aw_dnn_view *v, int64_t i)
{
    switch (v->s.type) {
    case CUDNN_DATA_FLOAT: return ((const float *)v->at)[i];
    case CUDNN_DATA_DOUBLE: return ((const double *)v->at)[i];
    case CUDNN_DATA_INT32: return ((const int32_t *)v->at)[i];
    case CUDNN_DATA_UINT32: return ((const uint32_t *)v->at)[i];
    case CUDNN_DATA_INT64: return (double)((const int64_t *)v->at)[i];
    case CUDNN_DATA_BYTE_BOOLEAN: return ((const uint8_t *)v->at)[i] != 0;
    case CUDNN_DATA_BOOLEAN: return ((const uint8_t *)v->at)[i >> 3] >> (i & 7) & 1;
    default: {
        double _Complex value = aw_type_load((cudaDataType)convert_type(v->s.type), v->at, i);
        return __real__ value;
    }
    }
}

/* To an integer from `low` to `high`, which are powers of two or one less. */
static int64_t integer(double value, double low, double high, int64_t highest)
{
    value = nearbyint(value);
    return value >= high ? highest : value <= low ? (int64_t)low : value == value ? (int64_t)value : 0;
}

void aw_dnn_put(const struct aw_dnn_view *v, int64_t i, double value)
{
    switch (v->s.type) {
    case CUDNN_DATA_FLOAT: ((float *)v->at)[i] = (float)value; break;
    case CUDNN_DATA_DOUBLE: ((double *)v->at)[i] = value; break;
    case CUDNN_DATA_INT32: ((int32_t *)v->at)[i] = (int32_t)integer(value, -0x1p31, 0x1p31, INT32_MAX); break;
    case CUDNN_DATA_UINT32: ((uint32_t *)v->at)[i] = (uint32_t)integer(value, 0, 0x1p32, UINT32_MAX); break;
    case CUDNN_DATA_INT64: ((int64_t *)v->at)[i] = integer(value, -0x1p63, 0x1p63, INT64_MAX); break;
    case CUDNN_DATA_BYTE_BOOLEAN: ((uint8_t *)v->at)[i] = value != 0; break;
    case CUDNN_DATA_BOOLEAN: {
        uint8_t *byte = (uint8_t *)v->at + (i >> 3), bit = (uint8_t)(1u << (i & 7));
        *byte = (uint8_t)(value != 0 ? *byte | bit : *byte & ~bit);
        break;
    }
    case CUDNN_DATA_INT8: ((int8_t *)v->at)[i] = (int8_t)integer(value, -128, 127, 127); break;
    case CUDNN_DATA_UINT8: ((uint8_t *)v->at)[i] = (uint8_t)integer(value, 0, 255, 255); break;
    default: aw_type_store((cudaDataType)convert_type(v->s.type), v->at, i, value);
    }
}

/* Elements of 1, 2 or 4 bytes, moved between a run and places apart. */
#define MOVES(bits)                                                                                     \
    static void gather_##bits(const uint##bits##_t *from, int64_t step, int64_t n, uint##bits##_t *to)  \
    {                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                 \
            to[i] = from[i * step];                                                                     \
    }                                                                                                   \
    static void scatter_##bits(const uint##bits##_t *from, int64_t n, uint##bits##_t *to, int64_t step) \
    {                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                                 \
            to[i * step] = from[i];                                                                     \
    }
MOVES(8)
MOVES(16)
MOVES(32)

void aw_dnn_load_f(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, float *to)
{
    int type = convert_type(v->s.type);
    unsigned bits = aw_dnn_type_bits(v->s.type);
    if (type < 0) {
        for (int64_t i = 0; i < n; i++)
            to[i] = (float)aw_dnn_get(v, offset + i * step);
        return;
    }
    if (step == 1) {
        aw_type_to_float((cudaDataType)type, (const char *)v->at + offset * (bits / 8), n, to);
        return;
    }
    if (step == 0) {
        float value = (float)aw_dnn_get(v, offset);
        for (int64_t i = 0; i < n; i++)
            to[i] = value;
        return;
    }
    for (int64_t at = 0; at < n; at += AW_DNN_CHUNK) {
        uint32_t run[AW_DNN_CHUNK];
        int64_t m = n - at < AW_DNN_CHUNK ? n - at : AW_DNN_CHUNK;
        const char *from = (const char *)v->at + (offset + at * step) * (bits / 8);
        if (type == CUDA_R_32F) {
            gather_32((const uint32_t *)from, step, m, (uint32_t *)(to + at));
            continue;
        }
        if (bits == 8)
            gather_8((const uint8_t *)from, step, m, (uint8_t *)run);
        else
            gather_16((const uint16_t *)from, step, m, (uint16_t *)run);
        aw_type_to_float((cudaDataType)type, run, m, to + at);
    }
}

void aw_dnn_store_f(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, const float *from)
{
    int type = convert_type(v->s.type);
    unsigned bits = aw_dnn_type_bits(v->s.type);
    if (type < 0 || (bits == 8 && type != CUDA_R_8F_E4M3 && type != CUDA_R_8F_E5M2)) {
        for (int64_t i = 0; i < n; i++)
            aw_dnn_put(v, offset + i * step, from[i]);
        return;
    }
    char *to = (char *)v->at + offset * (bits / 8);
    if (step == 1) {
        aw_type_from_float((cudaDataType)type, from, n, to);
        return;
    }
    for (int64_t at = 0; at < n; at += AW_DNN_CHUNK) {
        uint32_t run[AW_DNN_CHUNK];
        int64_t m = n - at < AW_DNN_CHUNK ? n - at : AW_DNN_CHUNK;
        char *here = to + at * step * (bits / 8);
        if (type == CUDA_R_32F) {
            scatter_32((const uint32_t *)(from + at), m, (uint32_t *)here, step);
            continue;
        }
        aw_type_from_float((cudaDataType)type, from + at, m, run);
        if (bits == 8)
            scatter_8((uint8_t *)run, m, (uint8_t *)here, step);
        else
            scatter_16((uint16_t *)run, m, (uint16_t *)here, step);
    }
}

AW_VECTORISED static void widen(const float *from, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

AW_VECTORISED static void narrow(const double *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (float)from[i];
}

/* Types of which a run goes through one of float: what is stored is rounded to float first, as aw_type_store does. */
static bool through_float(cudnnDataType_t type)
{
    return convert_type(type) >= 0 && !is_byte(type);
}

void aw_dnn_load_d(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, double *to)
{
    const double *doubles = (const double *)v->at + offset;
    bool floats = v->s.type == CUDNN_DATA_FLOAT && step == 1;
    float run[AW_DNN_CHUNK];
    if (step == 0) {
        double value = n ? aw_dnn_get(v, offset) : 0;
        for (int64_t i = 0; i < n; i++)
            to[i] = value;
    } else if (v->s.type == CUDNN_DATA_DOUBLE) {
        for (int64_t i = 0; i < n; i++)
            to[i] = doubles[i * step];
    } else if (!through_float(v->s.type)) {
        for (int64_t i = 0; i < n; i++)
            to[i] = aw_dnn_get(v, offset + i * step);
    } else {
        for (int64_t at = 0; at < n; at += AW_DNN_CHUNK) {
            int64_t m = n - at < AW_DNN_CHUNK ? n - at : AW_DNN_CHUNK;
            if (!floats)
                aw_dnn_load_f(v, offset + at * step, step, m, run);
            widen(floats ? (const float *)v->at + offset + at : run, m, to + at);
        }
    }
}

void aw_dnn_store_d(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, const double *from)
{
    double *doubles = (double *)v->at + offset;
    bool floats = v->s.type == CUDNN_DATA_FLOAT && step == 1;
    float run[AW_DNN_CHUNK];
    if (v->s.type == CUDNN_DATA_DOUBLE) {
        for (int64_t i = 0; i < n; i++)
            doubles[i * step] = from[i];
    } else if (!through_float(v->s.type)) {
        for (int64_t i = 0; i < n; i++)
            aw_dnn_put(v, offset + i * step, from[i]);
    } else {
        for (int64_t at = 0; at < n; at += AW_DNN_CHUNK) {
            int64_t m = n - at < AW_DNN_CHUNK ? n - at : AW_DNN_CHUNK;
            narrow(from + at, m, floats ? (float *)v->at + offset + at : run);
            if (!floats)
                aw_dnn_store_f(v, offset + at * step, step, m, run);
        }
    }
}

/* ---- Walks */

/* An operand's stride along dimension `d` of `dims`. */
static int64_t stride_in(const struct aw_dnn_shape *dims, int d, const struct aw_dnn_shape *s)
{
    int own = d - (dims->n - s->n);
    return own < 0 || (s->dim[own] == 1 && dims->dim[d] != 1) ? 0 : s->stride[own];
}

/* May dimension `inner` be counted on from `outer`, as one? */
static bool joins(const struct aw_dnn_walk *w, int outer, int64_t inner_dim, const int64_t inner[])
{
    for (int k = 0; k < w->operands; k++)
        if (w->stride[k][outer] != inner[k] * inner_dim)
            return false;
    return true;
}

bool aw_dnn_walk_begin(struct aw_dnn_walk *w, const struct aw_dnn_shape *dims, int operands,
                       const struct aw_dnn_view *const views[])
{
    int order[AW_DNN_DIMS], n = 0;
    *w = (struct aw_dnn_walk){ .operands = operands, .row = 1 };
    for (int d = 0; d < dims->n; d++) {
        if (dims->dim[d] == 0)
            return false;
        if (dims->dim[d] == 1)
            continue;
        int64_t stride = stride_in(dims, d, &views[0]->s);
        int at = n++;
        for (; at > 0 && stride_in(dims, order[at - 1], &views[0]->s) < stride; at--)
            order[at] = order[at - 1];
        order[at] = d;
    }
    for (int i = 0; i < n; i++) {
        int64_t stride[AW_DNN_OPERANDS], dim = dims->dim[order[i]];
        for (int k = 0; k < operands; k++)
            stride[k] = stride_in(dims, order[i], &views[k]->s);
        bool join = w->n > 0 && joins(w, w->n - 1, dim, stride);
        int to = join ? w->n - 1 : w->n++;
        w->dim[to] = join ? w->dim[to] * dim : dim;
        for (int k = 0; k < operands; k++)
            w->stride[k][to] = stride[k];
    }
    if (w->n) {
        w->row = w->dim[--w->n];
        for (int k = 0; k < operands; k++)
            w->step[k] = w->stride[k][w->n];
    }
    return true;
}

bool aw_dnn_walk_next(struct aw_dnn_walk *w)
{
    for (int d = w->n - 1; d >= 0; d--) {
        bool wraps = ++w->at[d] == w->dim[d];
        for (int k = 0; k < w->operands; k++)
            w->offset[k] += wraps ? -(w->dim[d] - 1) * w->stride[k][d] : w->stride[k][d];
        if (!wraps)
            return true;
        w->at[d] = 0;
    }
    return false;
}

/* ---- Whole tensors */

static void blend_row_f(double alpha, const struct aw_dnn_view *from, double beta, const struct aw_dnn_view *to,
                        const struct aw_dnn_walk *w)
{
    float x[AW_DNN_CHUNK], y[AW_DNN_CHUNK];
    float a = (float)alpha, b = (float)beta;
    for (int64_t i = 0; i < w->row; i += AW_DNN_CHUNK) {
        int64_t n = w->row - i < AW_DNN_CHUNK ? w->row - i : AW_DNN_CHUNK;
        aw_dnn_load_f(from, w->offset[1] + i * w->step[1], w->step[1], n, x);
        if (beta != 0) {
            aw_dnn_load_f(to, w->offset[0] + i * w->step[0], w->step[0], n, y);
            for (int64_t k = 0; k < n; k++)
                x[k] = a * x[k] + b * y[k];
        } else if (alpha != 1) {
            for (int64_t k = 0; k < n; k++)
                x[k] *= a;
        }
        aw_dnn_store_f(to, w->offset[0] + i * w->step[0], w->step[0], n, x);
    }
}

static void blend_row_d(double alpha, const struct aw_dnn_view *from, double beta, const struct aw_dnn_view *to,
                        const struct aw_dnn_walk *w)
{
    double x[AW_DNN_CHUNK], y[AW_DNN_CHUNK];
    for (int64_t i = 0; i < w->row; i += AW_DNN_CHUNK) {
        int64_t n = w->row - i < AW_DNN_CHUNK ? w->row - i : AW_DNN_CHUNK;
        aw_dnn_load_d(from, w->offset[1] + i * w->step[1], w->step[1], n, x);
        if (beta != 0)
            aw_dnn_load_d(to, w->offset[0] + i * w->step[0], w->step[0], n, y);
        for (int64_t k = 0; k < n; k++)
            x[k] = beta != 0 ? alpha * x[k] + beta * y[k] : alpha * x[k];
        aw_dnn_store_d(to, w->offset[0] + i * w->step[0], w->step[0], n, x);
    }
}

void aw_dnn_blend(double alpha, const struct aw_dnn_view *from, double beta, const struct aw_dnn_view *to)
{
    const struct aw_dnn_view *const views[] = { to, from };
    struct aw_dnn_walk w;
    bool wide = aw_dnn_type_wide(from->s.type) || aw_dnn_type_wide(to->s.type);
    if (!aw_dnn_walk_begin(&w, &to->s, 2, views))
        return;
    do {
        if (wide)
            blend_row_d(alpha, from, beta, to, &w);
        else
            blend_row_f(alpha, from, beta, to, &w);
    } while (aw_dnn_walk_next(&w));
}

void aw_dnn_fill(const struct aw_dnn_view *to, double value)
{
    struct aw_dnn_view one = { .s = { .type = CUDNN_DATA_DOUBLE }, .at = &value };
    aw_dnn_blend(1, &one, 0, to);
}

struct aw_dnn_view aw_dnn_dense_view(const struct aw_dnn_shape *s, cudnnDataType_t type, void *at)
{
    struct aw_dnn_view v = { .s = *s, .at = at };
    v.s.type = type;
    aw_dnn_pack(&v.s);
    return v;
}

void *aw_dnn_dense(const struct aw_dnn_view *v, cudnnDataType_t type, bool read, void **ret_owned)
{
    struct aw_dnn_view dense = aw_dnn_dense_view(&v->s, type, NULL);
    bool same = v->s.type == type;
    for (int i = 0; i < v->s.n; i++)
        same &= v->s.dim[i] == 1 || v->s.stride[i] == dense.s.stride[i];
    *ret_owned = NULL;
    if (same)
        return v->at;
    *ret_owned = dense.at = aligned_alloc(64, (aw_dnn_bytes(&dense.s) + 63 + 64) & ~(size_t)63);
    if (dense.at && read)
        aw_dnn_blend(1, v, 0, &dense);
    return dense.at;
}
