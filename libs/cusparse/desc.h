/* What the descriptors of the generic interface hold: shapes, types and addresses, never the contents. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_DESC_H
#define AW_LIBS_CUSPARSE_DESC_H

#include <stdbool.h>

#include "cusparse_types.h"

/* `nnz` of `size` elements. */
struct cusparseSpVecDescr {
    int64_t size, nnz;
    void *indices, *values;
    cusparseIndexType_t index_type;
    cusparseIndexBase_t base;
    cudaDataType type;
};

struct cusparseDnVecDescr {
    int64_t size;
    void *values;
    cudaDataType type;
};

struct cusparseDnMatDescr {
    int64_t rows, cols, ld;
    void *values;
    cudaDataType type;
    cusparseOrder_t order;
    int batch;
    int64_t stride; /* elements from item to item of the batch */
};

/* A sparse vector among matrices: `rows` elements, of which `ind` and `val` have those that are stored. */
enum { AW_SPARSE_VECTOR = 0 };

/* Of all formats; `ptr` has offsets, or the row of each element in COO. */
struct cusparseSpMatDescr {
    cusparseFormat_t format;
    int64_t rows, cols, nnz; /* elements; those stored, the zeros of blocks and of padding included where the format has them */
    void *ptr, *ind, *val;
    cusparseIndexType_t ptr_type, ind_type;
    cusparseIndexBase_t base;
    cudaDataType type;
    cusparseFillMode_t fill; /* attributes of triangular matrices */
    cusparseDiagType_t diag;
    int64_t block_rows, block_cols; /* BSR; of Blocked-ELL, the size of its blocks and the columns that are stored */
    cusparseOrder_t block_order;
    int64_t slice, padded; /* sliced ELL: rows of a slice, elements stored */
    int batch;
    int64_t ptr_stride, ind_stride, val_stride; /* elements from item to item of the batch */
};

/* How many elements the three arrays have. */
struct aw_sparse_counts {
    int64_t ptr, ind, val;
};
struct aw_sparse_counts aw_sparse_counts(const struct cusparseSpMatDescr *m);

/* Bytes of an index; 0: no such type. */
static inline size_t aw_sparse_index_size(cusparseIndexType_t type)
{
    return type == CUSPARSE_INDEX_64I ? 8 : type == CUSPARSE_INDEX_32I ? 4 : type == CUSPARSE_INDEX_16U ? 2 : 0;
}

#endif
