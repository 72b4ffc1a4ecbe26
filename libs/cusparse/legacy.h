/* What the files of cuSPARSE's older interface share: matrices as lists of arguments, and what its information objects hold. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_LEGACY_H
#define AW_LIBS_CUSPARSE_LEGACY_H

#include "desc.h"
#include "handle.h"
#include "job.h"

/* Defines a function for each type: M(LETTER, letter, its data type, type, its real type). */
#define AW_SPARSE_FOUR(M)                   \
    M(S, 's', CUDA_R_32F, float, float)     \
    M(D, 'd', CUDA_R_64F, double, double)   \
    M(C, 'c', CUDA_C_32F, cuComplex, float) \
    M(Z, 'z', CUDA_C_64F, cuDoubleComplex, double)

/* Where a pivot was 0: shared by the object and the work that finds it; atomic. */
struct aw_sparse_pivot {
    unsigned refs;
    int64_t position; /* from 0 on, -1: nowhere */
};
struct aw_sparse_pivot *aw_sparse_pivot_ref(struct aw_sparse_pivot *p);
void aw_sparse_pivot_unref(struct aw_sparse_pivot *p);

/* All information objects. */
struct aw_sparse_info {
    struct aw_sparse_pivot *pivot;
    bool analysed;
    int base; /* of the matrix that was analysed */
    bool boost;
    double tolerance;
    double instead[2]; /* of the factor's type */
};
cusparseStatus_t aw_sparse_info_create(void *ret_info);
void aw_sparse_info_destroy(void *info);

/* Looks whether the diagonal is stored, as work of the stream, and notes that the object knows the matrix. */
cusparseStatus_t aw_sparse_analyse(const char *name, cusparseHandle_t handle, const struct cusparseSpMatDescr *m,
                                   struct aw_sparse_info *info);

/* A job that notes a pivot: it owns a reference, in j->host. */
void aw_sparse_job_pivot(struct aw_sparse_job *j, struct aw_sparse_pivot *pivot);
/* Notes row `row` / `block` of a matrix, or nothing where it is negative. */
void aw_sparse_job_zero_at(struct aw_sparse_job *j, int64_t row, int64_t block);

/* CUSPARSE_STATUS_INVALID_VALUE, or _MATRIX_TYPE_NOT_SUPPORTED for what is not general. */
cusparseStatus_t aw_sparse_legacy_check(cusparseHandle_t handle, cusparseMatDescr_t descr, bool valid);
struct cusparseSpMatDescr aw_sparse_csr(cudaDataType type, cusparseMatDescr_t descr, int64_t rows, int64_t cols, int64_t nnz,
                                        const void *val, const int *ptr, const int *ind);
/* Square blocks, stored by rows or columns; nnz: blocks. */
struct cusparseSpMatDescr aw_sparse_bsr(cudaDataType type, cusparseMatDescr_t descr, cusparseDirection_t dir, int64_t rows,
                                        int64_t cols, int64_t nnz, int64_t block, const void *val, const int *ptr,
                                        const int *ind);
static inline struct cusparseDnMatDescr aw_sparse_columns(cudaDataType type, const void *at, int64_t rows, int64_t cols,
                                                          int64_t ld)
{
    return (struct cusparseDnMatDescr){ rows, cols, ld, (void *)at, type, CUSPARSE_ORDER_COL, 1, 0 };
}
/* On a card, how many elements the rows have, from their offsets, must be known to copy them; elsewhere *io stays what it is at
 * most. */
cusparseStatus_t aw_sparse_count_of(cusparseHandle_t handle, const int *ptr, int64_t rows, int64_t *io);
/* Where a count goes, by the pointer mode: array 0, or the host's, for which is waited. */
void aw_sparse_count_to(struct aw_sparse_job *j, int *count);
/* Answers a query for a buffer, of which none is used. */
cusparseStatus_t aw_sparse_buffer(cusparseStatus_t status, size_t *size);
cusparseStatus_t aw_sparse_buffer_int(cusparseStatus_t status, int *size);

#endif
