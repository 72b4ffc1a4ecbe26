/* What the files of the generic interface share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_GENERIC_H
#define AW_LIBS_CUSPARSE_GENERIC_H

#include "desc.h"
#include "kernel.h"

bool aw_sparse_op_valid(cusparseOperation_t op);
/* CUSPARSE_STATUS_NOT_SUPPORTED, logged once, for a format that nothing here computes with. */
cusparseStatus_t aw_sparse_format_check(const struct cusparseSpMatDescr *m, const char *name);
/* What op is to the rows of a view. */
struct aw_sparse_op aw_sparse_op_of(cusparseOperation_t op, bool flipped);

#endif
