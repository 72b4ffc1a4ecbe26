/* The memory of a job in the form that the loops of kernel.h take: compressed rows and dense matrices in the arithmetic's
 * type. What has that form already is taken where it lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_VIEW_H
#define AW_LIBS_CUSPARSE_VIEW_H

#include "job.h"
#include "kernel.h"

enum { AW_SPARSE_BLOCKS = 32 };

/* Memory of one run, freed together.  Zero-initialise. */
struct aw_sparse_scratch {
    void *block[AW_SPARSE_BLOCKS];
    unsigned n;
    bool failed; /* memory was out */
};
/* At least one byte; NULL: memory is out, which is noted. */
void *aw_sparse_take(struct aw_sparse_scratch *s, int64_t n, size_t size);
void aw_sparse_scratch_free(struct aw_sparse_scratch *s);

/* A sparse matrix, or its transpose. */
struct aw_sparse_view {
    struct aw_sparse_rows rows;
    bool flipped; /* the rows are the matrix's columns */
    void *all;    /* its array of values in the arithmetic's type, where rows.place points to */
};

/* Item `b` of a matrix's batch in arithmetic `t`.  NULL and `values` false: without values.  False: memory is out. */
bool aw_sparse_view(struct aw_sparse_scratch *s, const struct cusparseSpMatDescr *m, int b, char t, bool values,
                    struct aw_sparse_view *ret);
/* Brings the indices to 64 bits.  False: memory is out. */
bool aw_sparse_view_widen(struct aw_sparse_scratch *s, struct aw_sparse_view *v);
/* Writes view->all back where it is not the program's own array. */
void aw_sparse_view_store(const struct aw_sparse_view *v, const struct cusparseSpMatDescr *m, int b, char t);

/* Item `b` of a dense matrix; `read`: what it holds matters.  `transpose` swaps its indices. */
bool aw_sparse_dense_view(struct aw_sparse_scratch *s, const struct cusparseDnMatDescr *d, int b, char t, bool read,
                          bool transpose, struct aw_sparse_dense *ret);
/* Makes it a copy with the conjugates of its elements.  False: memory is out. */
bool aw_sparse_dense_conjugate(struct aw_sparse_scratch *s, char t, struct aw_sparse_dense *v);
/* Writes it back where it is a copy. */
void aw_sparse_dense_store(const struct cusparseDnMatDescr *d, int b, char t, bool transpose, const struct aw_sparse_dense *v);

/* Runs of values to and from the arithmetic's type. */
void aw_sparse_load(cudaDataType type, const void *from, int64_t n, char t, void *to);
void aw_sparse_store(char t, const void *from, int64_t n, cudaDataType type, void *to);
/* Is the type the arithmetic's own? */
bool aw_sparse_same(cudaDataType type, char t);

int64_t aw_sparse_index(cusparseIndexType_t type, const void *at, int64_t i);
void aw_sparse_index_put(cusparseIndexType_t type, void *at, int64_t i, int64_t value);

#endif
