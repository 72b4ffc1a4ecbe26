/* From the program's formats and types to those of the loops: see view.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "common/convert.h"

void *aw_sparse_take(struct aw_sparse_scratch *s, int64_t n, size_t size)
{
    void *p = s->n < AW_SPARSE_BLOCKS ? calloc((size_t)(n > 0 ? n : 1), size) : NULL;
    if (p)
        s->block[s->n++] = p;
    else
        s->failed = true;
    return p;
}

void aw_sparse_scratch_free(struct aw_sparse_scratch *s)
{
    for (unsigned i = 0; i < s->n; i++)
        free(s->block[i]);
    s->n = 0;
}

int64_t aw_sparse_index(cusparseIndexType_t type, const void *at, int64_t i)
{
    return type == CUSPARSE_INDEX_64I   ? ((const int64_t *)at)[i]
           : type == CUSPARSE_INDEX_32I ? ((const int32_t *)at)[i]
                                        : ((const uint16_t *)at)[i];
}

void aw_sparse_index_put(cusparseIndexType_t type, void *at, int64_t i, int64_t value)
{
    if (type == CUSPARSE_INDEX_64I)
        ((int64_t *)at)[i] = value;
    else if (type == CUSPARSE_INDEX_32I)
        ((int32_t *)at)[i] = (int32_t)value;
    else
        ((uint16_t *)at)[i] = (uint16_t)value;
}

/* ---- Values. */

static cudaDataType type_of(char t)
{
    return t == 's' ? CUDA_R_32F : t == 'd' ? CUDA_R_64F : t == 'c' ? CUDA_C_32F : t == 'z' ? CUDA_C_64F : CUDA_R_32I;
}

bool aw_sparse_same(cudaDataType type, char t)
{
    return type == type_of(t);
}

static bool small_real(cudaDataType type)
{
    return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_8I || type == CUDA_R_8U;
}

void aw_sparse_load(cudaDataType type, const void *from, int64_t n, char t, void *to)
{
    cudaDataType own = type_of(t);
    if (type == own)
        memcpy(to, from, (size_t)n * aw_type_size(type));
    else if (t == 's' && small_real(type))
        aw_type_to_float(type, from, n, to);
    else
        for (int64_t i = 0; i < n; i++)
            aw_type_store(own, to, i, aw_type_load(type, from, i));
}

void aw_sparse_store(char t, const void *from, int64_t n, cudaDataType type, void *to)
{
    cudaDataType own = type_of(t);
    if (type == own)
        memcpy(to, from, (size_t)n * aw_type_size(type));
    else if (t == 's' && small_real(type))
        aw_type_from_float(type, from, n, to);
    else
        for (int64_t i = 0; i < n; i++)
            aw_type_store(type, to, i, aw_type_load(own, from, i));
}

/* ---- Dense. */

static char *item(void *values, int b, int64_t stride, size_t size)
{
    return (char *)values + (int64_t)b * stride * (int64_t)size;
}

bool aw_sparse_dense_view(struct aw_sparse_scratch *s, const struct cusparseDnMatDescr *d, int b, char t, bool read,
                          bool transpose, struct aw_sparse_dense *ret)
{
    size_t size = aw_type_size(d->type), own = aw_sparse_letter_size(t);
    bool by_rows = d->order == CUSPARSE_ORDER_ROW;
    int64_t width = by_rows ? d->cols : d->rows, lines = by_rows ? d->rows : d->cols, ld = d->ld;
    char *at = item(d->values, d->batch > 1 ? b : 0, d->stride, size);
    if (!aw_sparse_same(d->type, t)) {
        char *copy = aw_sparse_take(s, width * lines, own);
        if (!copy)
            return false;
        for (int64_t i = 0; read && i < lines; i++)
            aw_sparse_load(d->type, at + (size_t)(i * ld) * size, width, t, copy + (size_t)(i * width) * own);
        at = copy;
        ld = width;
    }
    *ret = (struct aw_sparse_dense){ at, d->rows, d->cols, by_rows ? ld : 1, by_rows ? 1 : ld };
    if (transpose)
        *ret = (struct aw_sparse_dense){ at, d->cols, d->rows, ret->across, ret->down };
    return true;
}

bool aw_sparse_dense_conjugate(struct aw_sparse_scratch *s, char t, struct aw_sparse_dense *v)
{
    size_t size = aw_sparse_letter_size(t);
    char *copy = aw_sparse_take(s, v->rows * v->cols, size);
    if (!copy)
        return false;
    for (int64_t j = 0; j < v->cols; j++)
        for (int64_t i = 0; i < v->rows; i++) {
            char *to = copy + (size_t)(j * v->rows + i) * size;
            memcpy(to, (const char *)v->at + (size_t)(i * v->down + j * v->across) * size, size);
            if (t == 'c')
                ((float *)(void *)to)[1] = -((float *)(void *)to)[1];
            else if (t == 'z')
                ((double *)(void *)to)[1] = -((double *)(void *)to)[1];
        }
    *v = (struct aw_sparse_dense){ copy, v->rows, v->cols, 1, v->rows };
    return true;
}

void aw_sparse_dense_store(const struct cusparseDnMatDescr *d, int b, char t, bool transpose, const struct aw_sparse_dense *v)
{
    size_t size = aw_type_size(d->type), own = aw_sparse_letter_size(t);
    bool by_rows = d->order == CUSPARSE_ORDER_ROW;
    int64_t width = by_rows ? d->cols : d->rows, lines = by_rows ? d->rows : d->cols;
    char *at = item(d->values, d->batch > 1 ? b : 0, d->stride, size);
    if (aw_sparse_same(d->type, t))
        return;
    for (int64_t i = 0; i < lines; i++)
        aw_sparse_store(t, (const char *)v->at + (size_t)(i * width) * own, width, d->type, at + (size_t)(i * d->ld) * size);
}

/* ---- Sparse. */

/* Rows that are made: 64-bit indices from 0 on, values in the order of `place`. */
struct made {
    int64_t *ptr, *ind, *place;
};

/* Values in the order of `place`; without it as they are. */
static bool place_values(struct aw_sparse_scratch *s, struct aw_sparse_view *v, int64_t n, char t)
{
    size_t own = aw_sparse_letter_size(t);
    if (!v->rows.place || !v->all)
        return true;
    char *val = aw_sparse_take(s, n, own);
    for (int64_t p = 0; val && p < n; p++)
        memcpy(val + (size_t)p * own, (const char *)v->all + (size_t)v->rows.place[p] * own, own);
    v->rows.val = val;
    return val != NULL;
}

static bool made_view(struct aw_sparse_scratch *s, struct aw_sparse_view *v, struct made made, int64_t n, char t)
{
    v->rows.ptr = made.ptr, v->rows.ind = made.ind, v->rows.place = made.place;
    v->rows.wide = true;
    v->rows.base = 0;
    return place_values(s, v, n, t);
}

static bool made_take(struct aw_sparse_scratch *s, int64_t rows, int64_t n, struct made *ret)
{
    *ret = (struct made){ aw_sparse_take(s, rows + 1, 8), aw_sparse_take(s, n, 8), aw_sparse_take(s, n, 8) };
    return !s->failed;
}

/* Elements with a row each: counted, then put in their rows in the order they have. */
static bool coordinates(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, struct aw_sparse_view *v,
                        const void *row, const void *col, char t)
{
    struct made made;
    if (!made_take(s, m->rows + 1, m->nnz, &made))
        return false;
    for (int64_t p = 0; p < m->nnz; p++)
        made.ptr[aw_sparse_index(m->ptr_type, row, p) - m->base + 2]++;
    for (int64_t i = 0; i < m->rows; i++)
        made.ptr[i + 1] += made.ptr[i];
    for (int64_t p = 0; p < m->nnz; p++) {
        int64_t at = made.ptr[aw_sparse_index(m->ptr_type, row, p) - m->base + 1]++;
        made.ind[at] = aw_sparse_index(m->ind_type, col, p) - m->base;
        made.place[at] = p;
    }
    return made_view(s, v, made, m->nnz, t);
}

/* Each row of a row of blocks takes its line of every block. */
static bool blocks(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, struct aw_sparse_view *v, const void *ptr,
                   const void *ind, char t)
{
    struct made made;
    int64_t h = m->block_rows, w = m->block_cols, at = 0;
    if (!made_take(s, m->rows, m->nnz, &made))
        return false;
    for (int64_t i = 0; i < m->rows; i++) {
        int64_t first = aw_sparse_index(m->ptr_type, ptr, i / h) - m->base,
                end = aw_sparse_index(m->ptr_type, ptr, i / h + 1) - m->base;
        for (int64_t k = first; k < end; k++)
            for (int64_t j = 0; j < w && at < m->nnz; j++, at++) {
                made.ind[at] = (aw_sparse_index(m->ind_type, ind, k) - m->base) * w + j;
                made.place[at] = k * h * w + (m->block_order == CUSPARSE_ORDER_ROW ? i % h * w + j : i % h + j * h);
            }
        made.ptr[i + 1] = at;
    }
    return made_view(s, v, made, at, t);
}

/* A slice's elements lie column by column; where a row has none, the column is negative. */
static bool slices(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, struct aw_sparse_view *v, const void *ptr,
                   const void *ind, char t)
{
    struct made made;
    int64_t at = 0;
    if (!made_take(s, m->rows, m->padded, &made))
        return false;
    for (int64_t i = 0; i < m->rows; i++) {
        int64_t k = i / m->slice, end = aw_sparse_index(m->ptr_type, ptr, k + 1) - m->base;
        for (int64_t p = aw_sparse_index(m->ptr_type, ptr, k) - m->base + i % m->slice; p < end; p += m->slice) {
            int64_t col = aw_sparse_index(m->ind_type, ind, p);
            if (col < 0 || at >= m->padded)
                continue;
            made.ind[at] = col - m->base;
            made.place[at++] = p;
        }
        made.ptr[i + 1] = at;
    }
    return made_view(s, v, made, at, t);
}

static const void *widened(struct aw_sparse_scratch *s, cusparseIndexType_t type, const void *from, int64_t n)
{
    int64_t *to = aw_sparse_take(s, n, sizeof *to);
    for (int64_t i = 0; to && i < n; i++)
        to[i] = aw_sparse_index(type, from, i);
    return to;
}

static bool compressed(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, struct aw_sparse_view *v, const void *ptr,
                       const void *ind)
{
    struct aw_sparse_rows *r = &v->rows;
    v->flipped = m->format == CUSPARSE_FORMAT_CSC;
    if (v->flipped)
        r->rows = m->cols, r->cols = m->rows;
    r->ptr = ptr, r->ind = ind, r->val = v->all;
    r->base = m->base;
    r->wide = m->ptr_type == CUSPARSE_INDEX_64I;
    if (m->ptr_type != m->ind_type || m->ptr_type == CUSPARSE_INDEX_16U) {
        r->wide = true;
        r->ptr = widened(s, m->ptr_type, ptr, r->rows + 1);
        r->ind = widened(s, m->ind_type, ind, m->nnz);
    }
    return !s->failed;
}

bool aw_sparse_view(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, int b, char t, bool values,
                    struct aw_sparse_view *ret)
{
    struct aw_sparse_counts n = aw_sparse_counts(m);
    int k = m->batch > 1 ? b : 0;
    void *ptr = item(m->ptr, k, m->ptr_stride, aw_sparse_index_size(m->ptr_type));
    void *ind = item(m->ind, k, m->ind_stride, aw_sparse_index_size(m->ind_type));
    *ret = (struct aw_sparse_view){ .rows = { .rows = m->rows, .cols = m->cols } };
    if (values) {
        ret->all = item(m->val, k, m->val_stride, aw_type_size(m->type));
        if (!aw_sparse_same(m->type, t)) {
            void *copy = aw_sparse_take(s, n.val, aw_sparse_letter_size(t));
            if (!copy)
                return false;
            aw_sparse_load(m->type, ret->all, n.val, t, copy);
            ret->all = copy;
        }
    }
    switch (m->format) {
    case CUSPARSE_FORMAT_CSR:
    case CUSPARSE_FORMAT_CSC: return compressed(s, m, ret, ptr, ind);
    case CUSPARSE_FORMAT_COO: return coordinates(s, m, ret, ptr, ind, t);
    case CUSPARSE_FORMAT_BSR: return blocks(s, m, ret, ptr, ind, t);
    case CUSPARSE_FORMAT_SLICED_ELLPACK: return slices(s, m, ret, ptr, ind, t);
    default: return false;
    }
}

bool aw_sparse_view_widen(struct aw_sparse_scratch *s, struct aw_sparse_view *v)
{
    struct aw_sparse_rows *r = &v->rows;
    if (!r->wide) {
        int64_t n = ((const int32_t *)r->ptr)[r->rows] - r->base;
        r->ptr = widened(s, CUSPARSE_INDEX_32I, r->ptr, r->rows + 1);
        r->ind = widened(s, CUSPARSE_INDEX_32I, r->ind, n);
        r->wide = true;
    }
    return !s->failed;
}

void aw_sparse_view_store(const struct aw_sparse_view *v, const struct cusparseSpMatDescr *m, int b, char t)
{
    if (!aw_sparse_same(m->type, t))
        aw_sparse_store(t, v->all, aw_sparse_counts(m).val, m->type,
                        item(m->val, m->batch > 1 ? b : 0, m->val_stride, aw_type_size(m->type)));
}
