/* Descriptors of the generic interface: see desc.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "desc.h"

#include <stdlib.h>
#include <string.h>

#include "common/convert.h"
#include "cusparse_proto.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE

static bool index_valid(cusparseIndexType_t type)
{
    return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I || type == CUSPARSE_INDEX_16U;
}

static bool base_valid(cusparseIndexBase_t base)
{
    return (unsigned)base <= CUSPARSE_INDEX_BASE_ONE;
}

/* Copies what `made` is to memory of its own. */
static cusparseStatus_t give(const void *made, size_t size, void *ret_at)
{
    void *d = malloc(size);
    if (!d)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    memcpy(d, made, size);
    *(void **)ret_at = d;
    return CUSPARSE_STATUS_SUCCESS;
}

#define SET(to, value)       \
    do {                     \
        if (to)              \
            *(to) = (value); \
    } while (0)

/* Defines a function for descriptors that may be written and one, with the word Const, for those that may only be read. */

/* ---- Sparse vectors. */

static cusparseStatus_t spvec_create(void *ret, int64_t size, int64_t nnz, const void *indices, const void *values,
                                     cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)
{
    if (!ret || size < 0 || nnz < 0 || nnz > size || (nnz && (!indices || !values)) || !index_valid(index_type) ||
        !base_valid(base) || !aw_type_size(type))
        return INVALID;
    struct cusparseSpVecDescr d = { size, nnz, (void *)indices, (void *)values, index_type, base, type };
    return give(&d, sizeof d, ret);
}

cusparseStatus_t awcusparse_cusparseCreateSpVec(cusparseSpVecDescr_t *d, int64_t size, int64_t nnz, void *indices, void *values,
                                                cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)
{
    return spvec_create(d, size, nnz, indices, values, index_type, base, type);
}

cusparseStatus_t awcusparse_cusparseCreateConstSpVec(cusparseConstSpVecDescr_t *d, int64_t size, int64_t nnz, const void *indices,
                                                     const void *values, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                                     cudaDataType type)
{
    return spvec_create(d, size, nnz, indices, values, index_type, base, type);
}

cusparseStatus_t awcusparse_cusparseDestroySpVec(cusparseConstSpVecDescr_t d)
{
    free((void *)d);
    return CUSPARSE_STATUS_SUCCESS;
}

#define SPVEC_GET(name, desc, pointer)                                                                                 \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *size, int64_t *nnz, pointer *indices, pointer *values,         \
                                       cusparseIndexType_t *index_type, cusparseIndexBase_t *base, cudaDataType *type) \
    {                                                                                                                  \
        if (!d)                                                                                                        \
            return INVALID;                                                                                            \
        SET(size, d->size);                                                                                            \
        SET(nnz, d->nnz);                                                                                              \
        SET(indices, d->indices);                                                                                      \
        SET(values, d->values);                                                                                        \
        SET(index_type, d->index_type);                                                                                \
        SET(base, d->base);                                                                                            \
        SET(type, d->type);                                                                                            \
        return CUSPARSE_STATUS_SUCCESS;                                                                                \
    }
SPVEC_GET(cusparseSpVecGet, cusparseSpVecDescr_t, void *)
SPVEC_GET(cusparseConstSpVecGet, cusparseConstSpVecDescr_t, const void *)

/* A getter of one field, and a setter of `values`, which takes no NULL. */
#define GET(name, desc, type, field)                      \
    cusparseStatus_t awcusparse_##name(desc d, type *ret) \
    {                                                     \
        if (!d || !ret)                                   \
            return INVALID;                               \
        *ret = d->field;                                  \
        return CUSPARSE_STATUS_SUCCESS;                   \
    }
#define SET_VALUES(name, desc, field)                        \
    cusparseStatus_t awcusparse_##name(desc d, void *values) \
    {                                                        \
        if (!d || !values)                                   \
            return INVALID;                                  \
        d->field = values;                                   \
        return CUSPARSE_STATUS_SUCCESS;                      \
    }

GET(cusparseSpVecGetIndexBase, cusparseConstSpVecDescr_t, cusparseIndexBase_t, base)
GET(cusparseSpVecGetValues, cusparseSpVecDescr_t, void *, values)
GET(cusparseConstSpVecGetValues, cusparseConstSpVecDescr_t, const void *, values)
SET_VALUES(cusparseSpVecSetValues, cusparseSpVecDescr_t, values)

/* ---- Dense vectors. */

static cusparseStatus_t dnvec_create(void *ret, int64_t size, const void *values, cudaDataType type)
{
    if (!ret || size < 0 || (size && !values) || !aw_type_size(type))
        return INVALID;
    struct cusparseDnVecDescr d = { size, (void *)values, type };
    return give(&d, sizeof d, ret);
}

cusparseStatus_t awcusparse_cusparseCreateDnVec(cusparseDnVecDescr_t *d, int64_t size, void *values, cudaDataType type)
{
    return dnvec_create(d, size, values, type);
}

cusparseStatus_t awcusparse_cusparseCreateConstDnVec(cusparseConstDnVecDescr_t *d, int64_t size, const void *values,
                                                     cudaDataType type)
{
    return dnvec_create(d, size, values, type);
}

cusparseStatus_t awcusparse_cusparseDestroyDnVec(cusparseConstDnVecDescr_t d)
{
    free((void *)d);
    return CUSPARSE_STATUS_SUCCESS;
}

#define DNVEC_GET(name, desc, pointer)                                                             \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *size, pointer *values, cudaDataType *type) \
    {                                                                                              \
        if (!d)                                                                                    \
            return INVALID;                                                                        \
        SET(size, d->size);                                                                        \
        SET(values, d->values);                                                                    \
        SET(type, d->type);                                                                        \
        return CUSPARSE_STATUS_SUCCESS;                                                            \
    }
DNVEC_GET(cusparseDnVecGet, cusparseDnVecDescr_t, void *)
DNVEC_GET(cusparseConstDnVecGet, cusparseConstDnVecDescr_t, const void *)
GET(cusparseDnVecGetValues, cusparseDnVecDescr_t, void *, values)
GET(cusparseConstDnVecGetValues, cusparseConstDnVecDescr_t, const void *, values)
SET_VALUES(cusparseDnVecSetValues, cusparseDnVecDescr_t, values)

/* ---- Dense matrices. */

static cusparseStatus_t dnmat_create(void *ret, int64_t rows, int64_t cols, int64_t ld, const void *values, cudaDataType type,
                                     cusparseOrder_t order)
{
    if (!ret || rows < 0 || cols < 0 || (order != CUSPARSE_ORDER_COL && order != CUSPARSE_ORDER_ROW) || !aw_type_size(type))
        return INVALID;
    if (ld < (order == CUSPARSE_ORDER_COL ? rows : cols) || (rows && cols && !values))
        return INVALID;
    struct cusparseDnMatDescr d = { rows, cols, ld, (void *)values, type, order, 1, 0 };
    return give(&d, sizeof d, ret);
}

cusparseStatus_t awcusparse_cusparseCreateDnMat(cusparseDnMatDescr_t *d, int64_t rows, int64_t cols, int64_t ld, void *values,
                                                cudaDataType type, cusparseOrder_t order)
{
    return dnmat_create(d, rows, cols, ld, values, type, order);
}

cusparseStatus_t awcusparse_cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *d, int64_t rows, int64_t cols, int64_t ld,
                                                     const void *values, cudaDataType type, cusparseOrder_t order)
{
    return dnmat_create(d, rows, cols, ld, values, type, order);
}

cusparseStatus_t awcusparse_cusparseDestroyDnMat(cusparseConstDnMatDescr_t d)
{
    free((void *)d);
    return CUSPARSE_STATUS_SUCCESS;
}

#define DNMAT_GET(name, desc, pointer)                                                                                         \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *rows, int64_t *cols, int64_t *ld, pointer *values, cudaDataType *type, \
                                       cusparseOrder_t *order)                                                                 \
    {                                                                                                                          \
        if (!d)                                                                                                                \
            return INVALID;                                                                                                    \
        SET(rows, d->rows);                                                                                                    \
        SET(cols, d->cols);                                                                                                    \
        SET(ld, d->ld);                                                                                                        \
        SET(values, d->values);                                                                                                \
        SET(type, d->type);                                                                                                    \
        SET(order, d->order);                                                                                                  \
        return CUSPARSE_STATUS_SUCCESS;                                                                                        \
    }
DNMAT_GET(cusparseDnMatGet, cusparseDnMatDescr_t, void *)
DNMAT_GET(cusparseConstDnMatGet, cusparseConstDnMatDescr_t, const void *)
GET(cusparseDnMatGetValues, cusparseDnMatDescr_t, void *, values)
GET(cusparseConstDnMatGetValues, cusparseConstDnMatDescr_t, const void *, values)
SET_VALUES(cusparseDnMatSetValues, cusparseDnMatDescr_t, values)

cusparseStatus_t awcusparse_cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t d, int batch, int64_t stride)
{
    if (!d || batch < 1)
        return INVALID;
    d->batch = batch;
    d->stride = stride;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t d, int *batch, int64_t *stride)
{
    if (!d)
        return INVALID;
    SET(batch, d->batch);
    SET(stride, d->stride);
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- Sparse matrices. */

struct aw_sparse_counts aw_sparse_counts(const struct cusparseSpMatDescr *m)
{
    switch ((int)m->format) {
    case AW_SPARSE_VECTOR: return (struct aw_sparse_counts){ 0, m->nnz, m->nnz };
    case CUSPARSE_FORMAT_CSR: return (struct aw_sparse_counts){ m->rows + 1, m->nnz, m->nnz };
    case CUSPARSE_FORMAT_CSC: return (struct aw_sparse_counts){ m->cols + 1, m->nnz, m->nnz };
    case CUSPARSE_FORMAT_COO: return (struct aw_sparse_counts){ m->nnz, m->nnz, m->nnz };
    case CUSPARSE_FORMAT_BSR:
        return (struct aw_sparse_counts){ m->rows / m->block_rows + 1, m->nnz / (m->block_rows * m->block_cols), m->nnz };
    case CUSPARSE_FORMAT_BLOCKED_ELL:
        return (struct aw_sparse_counts){ 0, (m->rows / m->block_rows) * (m->block_cols / m->block_rows),
                                          m->rows * m->block_cols };
    case CUSPARSE_FORMAT_SLICED_ELLPACK:
        return (struct aw_sparse_counts){ (m->rows + m->slice - 1) / m->slice + 1, m->padded, m->padded };
    }
    return (struct aw_sparse_counts){ 0 };
}

static cusparseStatus_t spmat_create(void *ret, struct cusparseSpMatDescr d)
{
    if (!ret || d.rows < 0 || d.cols < 0 || d.nnz < 0 || !index_valid(d.ptr_type) || !index_valid(d.ind_type) ||
        !base_valid(d.base) || !aw_type_size(d.type))
        return INVALID;
    d.batch = 1;
    return give(&d, sizeof d, ret);
}

/* CSR and CSC.  Offsets may come later, as the result of a product has none before. */
#define COMPRESSED(NAME, Name, first)                                                                                            \
    cusparseStatus_t awcusparse_cusparseCreate##Name(cusparseSpMatDescr_t *d, int64_t rows, int64_t cols, int64_t nnz,           \
                                                     void *ptr, void *ind, void *val, cusparseIndexType_t ptr_type,              \
                                                     cusparseIndexType_t ind_type, cusparseIndexBase_t base, cudaDataType type)  \
    {                                                                                                                            \
        return spmat_create(                                                                                                     \
            d, (struct cusparseSpMatDescr){ NAME, rows, cols, nnz, ptr, ind, val, ptr_type, ind_type, base, type });             \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparseCreateConst##Name(cusparseConstSpMatDescr_t *d, int64_t rows, int64_t cols, int64_t nnz, \
                                                          const void *ptr, const void *ind, const void *val,                     \
                                                          cusparseIndexType_t ptr_type, cusparseIndexType_t ind_type,            \
                                                          cusparseIndexBase_t base, cudaDataType type)                           \
    {                                                                                                                            \
        return spmat_create(d, (struct cusparseSpMatDescr){ NAME, rows, cols, nnz, (void *)ptr, (void *)ind, (void *)val,        \
                                                            ptr_type, ind_type, base, type });                                   \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##Name##SetPointers(cusparseSpMatDescr_t d, void *ptr, void *ind, void *val)             \
    {                                                                                                                            \
        if (!d || d->format != NAME || !ptr || (d->nnz && (!ind || !val)))                                                       \
            return INVALID;                                                                                                      \
        d->ptr = ptr, d->ind = ind, d->val = val;                                                                                \
        return CUSPARSE_STATUS_SUCCESS;                                                                                          \
    }
COMPRESSED(CUSPARSE_FORMAT_CSR, Csr, rows)
COMPRESSED(CUSPARSE_FORMAT_CSC, Csc, cols)

/* What is asked of a matrix of that format: what all have, and the format's own. */
#define GET_MATRIX(FORMAT, own)         \
    do {                                \
        if (!d || d->format != FORMAT)  \
            return INVALID;             \
        SET(rows, d->rows);             \
        SET(cols, d->cols);             \
        own;                            \
        SET(val, d->val);               \
        SET(base, d->base);             \
        SET(type, d->type);             \
        return CUSPARSE_STATUS_SUCCESS; \
    } while (0)
#define COMPRESSED_GET(name, desc, pointer, NAME)                                                                      \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *rows, int64_t *cols, int64_t *nnz, pointer *ptr, pointer *ind, \
                                       pointer *val, cusparseIndexType_t *ptr_type, cusparseIndexType_t *ind_type,     \
                                       cusparseIndexBase_t *base, cudaDataType *type)                                  \
    {                                                                                                                  \
        GET_MATRIX(NAME, SET(nnz, d->nnz); SET(ptr, d->ptr); SET(ind, d->ind); SET(ptr_type, d->ptr_type);             \
                   SET(ind_type, d->ind_type));                                                                        \
    }
COMPRESSED_GET(cusparseCsrGet, cusparseSpMatDescr_t, void *, CUSPARSE_FORMAT_CSR)
COMPRESSED_GET(cusparseConstCsrGet, cusparseConstSpMatDescr_t, const void *, CUSPARSE_FORMAT_CSR)
COMPRESSED_GET(cusparseCscGet, cusparseSpMatDescr_t, void *, CUSPARSE_FORMAT_CSC)
COMPRESSED_GET(cusparseConstCscGet, cusparseConstSpMatDescr_t, const void *, CUSPARSE_FORMAT_CSC)

#define COO(name, desc, pointer)                                                                                                \
    cusparseStatus_t awcusparse_##name(desc *d, int64_t rows, int64_t cols, int64_t nnz, pointer row, pointer col, pointer val, \
                                       cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type)             \
    {                                                                                                                           \
        return spmat_create(d, (struct cusparseSpMatDescr){ CUSPARSE_FORMAT_COO, rows, cols, nnz, (void *)row, (void *)col,     \
                                                            (void *)val, index_type, index_type, base, type });                 \
    }
COO(cusparseCreateCoo, cusparseSpMatDescr_t, void *)
COO(cusparseCreateConstCoo, cusparseConstSpMatDescr_t, const void *)

#define COO_GET(name, desc, pointer)                                                                                   \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *rows, int64_t *cols, int64_t *nnz, pointer *row, pointer *col, \
                                       pointer *val, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,       \
                                       cudaDataType *type)                                                             \
    {                                                                                                                  \
        GET_MATRIX(CUSPARSE_FORMAT_COO, SET(nnz, d->nnz); SET(row, d->ptr); SET(col, d->ind);                          \
                   SET(index_type, d->ind_type));                                                                      \
    }
COO_GET(cusparseCooGet, cusparseSpMatDescr_t, void *)
COO_GET(cusparseConstCooGet, cusparseConstSpMatDescr_t, const void *)

cusparseStatus_t awcusparse_cusparseCooSetPointers(cusparseSpMatDescr_t d, void *row, void *col, void *val)
{
    if (!d || d->format != CUSPARSE_FORMAT_COO || (d->nnz && (!row || !col || !val)))
        return INVALID;
    d->ptr = row, d->ind = col, d->val = val;
    return CUSPARSE_STATUS_SUCCESS;
}

#define BSR(name, desc, pointer)                                                                                                \
    cusparseStatus_t awcusparse_##name(desc *d, int64_t brows, int64_t bcols, int64_t bnnz, int64_t block_rows,                 \
                                       int64_t block_cols, pointer ptr, pointer ind, pointer val, cusparseIndexType_t ptr_type, \
                                       cusparseIndexType_t ind_type, cusparseIndexBase_t base, cudaDataType type,               \
                                       cusparseOrder_t order)                                                                   \
    {                                                                                                                           \
        if (block_rows < 1 || block_cols < 1 || (order != CUSPARSE_ORDER_COL && order != CUSPARSE_ORDER_ROW))                   \
            return INVALID;                                                                                                     \
        return spmat_create(d, (struct cusparseSpMatDescr){ .format = CUSPARSE_FORMAT_BSR,                                      \
                                                            .rows = brows * block_rows,                                         \
                                                            .cols = bcols * block_cols,                                         \
                                                            .nnz = bnnz * block_rows * block_cols,                              \
                                                            .ptr = (void *)ptr,                                                 \
                                                            .ind = (void *)ind,                                                 \
                                                            .val = (void *)val,                                                 \
                                                            .ptr_type = ptr_type,                                               \
                                                            .ind_type = ind_type,                                               \
                                                            .base = base,                                                       \
                                                            .type = type,                                                       \
                                                            .block_rows = block_rows,                                           \
                                                            .block_cols = block_cols,                                           \
                                                            .block_order = order });                                            \
    }
BSR(cusparseCreateBsr, cusparseSpMatDescr_t, void *)
BSR(cusparseCreateConstBsr, cusparseConstSpMatDescr_t, const void *)

#define BLOCKED_ELL(name, desc, pointer)                                                                                         \
    cusparseStatus_t awcusparse_##name(desc *d, int64_t rows, int64_t cols, int64_t block, int64_t ell_cols, pointer ind,        \
                                       pointer val, cusparseIndexType_t index_type, cusparseIndexBase_t base, cudaDataType type) \
    {                                                                                                                            \
        if (block < 1 || ell_cols < 0 || ell_cols > cols)                                                                        \
            return INVALID;                                                                                                      \
        return spmat_create(d, (struct cusparseSpMatDescr){ .format = CUSPARSE_FORMAT_BLOCKED_ELL,                               \
                                                            .rows = rows,                                                        \
                                                            .cols = cols,                                                        \
                                                            .nnz = rows * ell_cols,                                              \
                                                            .ind = (void *)ind,                                                  \
                                                            .val = (void *)val,                                                  \
                                                            .ptr_type = index_type,                                              \
                                                            .ind_type = index_type,                                              \
                                                            .base = base,                                                        \
                                                            .type = type,                                                        \
                                                            .block_rows = block,                                                 \
                                                            .block_cols = ell_cols });                                           \
    }
BLOCKED_ELL(cusparseCreateBlockedEll, cusparseSpMatDescr_t, void *)
BLOCKED_ELL(cusparseCreateConstBlockedEll, cusparseConstSpMatDescr_t, const void *)

#define BLOCKED_ELL_GET(name, desc, pointer)                                                                                  \
    cusparseStatus_t awcusparse_##name(desc d, int64_t *rows, int64_t *cols, int64_t *block, int64_t *ell_cols, pointer *ind, \
                                       pointer *val, cusparseIndexType_t *index_type, cusparseIndexBase_t *base,              \
                                       cudaDataType *type)                                                                    \
    {                                                                                                                         \
        GET_MATRIX(CUSPARSE_FORMAT_BLOCKED_ELL, SET(block, d->block_rows); SET(ell_cols, d->block_cols); SET(ind, d->ind);    \
                   SET(index_type, d->ind_type));                                                                             \
    }
BLOCKED_ELL_GET(cusparseBlockedEllGet, cusparseSpMatDescr_t, void *)
BLOCKED_ELL_GET(cusparseConstBlockedEllGet, cusparseConstSpMatDescr_t, const void *)

#define SLICED_ELL(name, desc, pointer)                                                                                 \
    cusparseStatus_t awcusparse_##name(desc *d, int64_t rows, int64_t cols, int64_t nnz, int64_t padded, int64_t slice, \
                                       pointer ptr, pointer ind, pointer val, cusparseIndexType_t ptr_type,             \
                                       cusparseIndexType_t ind_type, cusparseIndexBase_t base, cudaDataType type)       \
    {                                                                                                                   \
        if (slice < 1 || padded < nnz)                                                                                  \
            return INVALID;                                                                                             \
        return spmat_create(d, (struct cusparseSpMatDescr){ .format = CUSPARSE_FORMAT_SLICED_ELLPACK,                   \
                                                            .rows = rows,                                               \
                                                            .cols = cols,                                               \
                                                            .nnz = nnz,                                                 \
                                                            .ptr = (void *)ptr,                                         \
                                                            .ind = (void *)ind,                                         \
                                                            .val = (void *)val,                                         \
                                                            .ptr_type = ptr_type,                                       \
                                                            .ind_type = ind_type,                                       \
                                                            .base = base,                                               \
                                                            .type = type,                                               \
                                                            .slice = slice,                                             \
                                                            .padded = padded });                                        \
    }
SLICED_ELL(cusparseCreateSlicedEll, cusparseSpMatDescr_t, void *)
SLICED_ELL(cusparseCreateConstSlicedEll, cusparseConstSpMatDescr_t, const void *)

cusparseStatus_t awcusparse_cusparseDestroySpMat(cusparseConstSpMatDescr_t d)
{
    free((void *)d);
    return CUSPARSE_STATUS_SUCCESS;
}

GET(cusparseSpMatGetFormat, cusparseConstSpMatDescr_t, cusparseFormat_t, format)
GET(cusparseSpMatGetIndexBase, cusparseConstSpMatDescr_t, cusparseIndexBase_t, base)
GET(cusparseSpMatGetValues, cusparseSpMatDescr_t, void *, val)
GET(cusparseConstSpMatGetValues, cusparseConstSpMatDescr_t, const void *, val)
GET(cusparseSpMatGetStridedBatch, cusparseConstSpMatDescr_t, int, batch)
SET_VALUES(cusparseSpMatSetValues, cusparseSpMatDescr_t, val)

cusparseStatus_t awcusparse_cusparseSpMatGetSize(cusparseConstSpMatDescr_t d, int64_t *rows, int64_t *cols, int64_t *nnz)
{
    if (!d)
        return INVALID;
    SET(rows, d->rows);
    SET(cols, d->cols);
    SET(nnz, d->nnz);
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t batch_set(cusparseSpMatDescr_t d, cusparseFormat_t format, int batch, int64_t ptr, int64_t ind,
                                  int64_t val)
{
    if (!d || d->format != format || batch < 1)
        return INVALID;
    d->batch = batch;
    d->ptr_stride = ptr, d->ind_stride = ind, d->val_stride = val;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseCooSetStridedBatch(cusparseSpMatDescr_t d, int batch, int64_t stride)
{
    return batch_set(d, CUSPARSE_FORMAT_COO, batch, stride, stride, stride);
}

cusparseStatus_t awcusparse_cusparseCsrSetStridedBatch(cusparseSpMatDescr_t d, int batch, int64_t offsets, int64_t columns_values)
{
    return batch_set(d, CUSPARSE_FORMAT_CSR, batch, offsets, columns_values, columns_values);
}

cusparseStatus_t awcusparse_cusparseBsrSetStridedBatch(cusparseSpMatDescr_t d, int batch, int64_t offsets, int64_t columns,
                                                       int64_t values)
{
    return batch_set(d, CUSPARSE_FORMAT_BSR, batch, offsets, columns, values);
}

/* CUDA 11's way to say the batch alone: items follow each other. */
cusparseStatus_t awcusparse_cusparseSpMatSetStridedBatch(cusparseSpMatDescr_t d, int batch)
{
    if (!d || batch < 1)
        return INVALID;
    struct aw_sparse_counts n = aw_sparse_counts(d);
    return batch_set(d, d->format, batch, n.ptr, n.ind, n.val);
}

cusparseStatus_t awcusparse_cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t d, cusparseSpMatAttribute_t which, void *data,
                                                      size_t size)
{
    if (!d || !data || size != sizeof(int) || (unsigned)which > CUSPARSE_SPMAT_DIAG_TYPE)
        return INVALID;
    *(int *)data = which == CUSPARSE_SPMAT_FILL_MODE ? (int)d->fill : (int)d->diag;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseSpMatSetAttribute(cusparseSpMatDescr_t d, cusparseSpMatAttribute_t which, void *data,
                                                      size_t size)
{
    if (!d || !data || size != sizeof(int) || (unsigned)which > CUSPARSE_SPMAT_DIAG_TYPE || *(unsigned *)data > 1)
        return INVALID;
    if (which == CUSPARSE_SPMAT_FILL_MODE)
        d->fill = *(cusparseFillMode_t *)data;
    else
        d->diag = *(cusparseDiagType_t *)data;
    return CUSPARSE_STATUS_SUCCESS;
}
