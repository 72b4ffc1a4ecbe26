/* What the files of the generic interface share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_GENERIC_H
#define AW_LIBS_CUSPARSE_GENERIC_H

#include "desc.h"
#include "kernel.h"

struct aw_sparse_pivot;

bool aw_sparse_op_valid(cusparseOperation_t op);
/* CUSPARSE_STATUS_NOT_SUPPORTED, logged once, for a format that nothing here computes with. */
cusparseStatus_t aw_sparse_format_check(const struct cusparseSpMatDescr *m, const char *name);
/* What op is to the rows of a view. */
struct aw_sparse_op aw_sparse_op_of(cusparseOperation_t op, bool flipped);

/* C = alpha op(A) op(B) + beta C. */
struct aw_sparse_product {
    cusparseOperation_t opa, opb;
    const void *alpha, *beta;
    const struct cusparseSpMatDescr *a;
    struct cusparseDnMatDescr b, c;
    cudaDataType compute;
};
cusparseStatus_t aw_sparse_product(const char *name, cusparseHandle_t handle, const struct aw_sparse_product *p);

/* op(A) C = alpha op(B). */
struct aw_sparse_system {
    cusparseOperation_t opa, opb;
    const void *alpha;
    const struct cusparseSpMatDescr *a;
    struct cusparseDnMatDescr b, c;
    cudaDataType compute;
    bool *analysed;                /* was it? */
    struct aw_sparse_pivot *pivot; /* where a pivot of 0 is noted, or NULL */
};
cusparseStatus_t aw_sparse_solve(const char *name, cusparseHandle_t handle, const struct aw_sparse_system *p);

#endif
