/* The loops of cuSPARSE on the processor: one form of sparse matrix, compressed rows, in each type of value and index. What
 * comes in other formats or types is brought to that form first (view.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSE_KERNEL_H
#define AW_LIBS_CUSPARSE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rows of elements: row i has those from ptr[i] to ptr[i + 1], less `base`; columns are less `base`, too. Indices are int32_t,
 * or int64_t where `wide`. Of repeated elements each counts. */
struct aw_sparse_rows {
    int64_t rows, cols;
    const void *ptr, *ind;
    const void *val;
    bool wide;
    int base;
    const int64_t *place; /* where element p lies in the program's array of values; NULL: at p */
};

/* A dense matrix: element (i, j) at at[i * down + j * across]. */
struct aw_sparse_dense {
    void *at;
    int64_t rows, cols, down, across;
};

/* What op does to a matrix of rows: transposes it, conjugates it. */
struct aw_sparse_op {
    bool transpose, conjugate;
};

/* Compressed rows that grow, with 64-bit indices from 0 on; malloc's. */
struct aw_sparse_built {
    int64_t *ptr, *ind;
    void *val;
    int64_t nnz, room;
};

/* Scalars are of the kernels' type.  All return false where memory is out, else true. */
struct aw_sparse_kernels {
    size_t size; /* bytes of a value */
    /* C = alpha op(A) B + beta C; B and C do not overlap.  What is multiplied by a beta of 0 is not read. */
    void (*product)(const struct aw_sparse_rows *a, struct aw_sparse_op op, const void *alpha, const struct aw_sparse_dense *b,
                    const void *beta, const struct aw_sparse_dense *c);
    /* Elements of the rows c: alpha (A B)(i, j) + beta c(i, j), written to val at the places of c; A and B may be conjugated. */
    void (*sampled)(const struct aw_sparse_rows *c, const void *alpha, const struct aw_sparse_dense *a, bool conj_a,
                    const struct aw_sparse_dense *b, bool conj_b, const void *beta, void *val);
    /* x in place by op(A) X = X; of A, the triangle `upper` counts, and no diagonal where `unit`. */
    void (*solve)(const struct aw_sparse_rows *a, struct aw_sparse_op op, bool upper, bool unit, const struct aw_sparse_dense *x);
    /* The product of rows and rows, columns ascending; adds to `out`, which begins empty. */
    bool (*multiply)(const struct aw_sparse_rows *a, const struct aw_sparse_rows *b, struct aw_sparse_built *out);
    /* alpha A + beta B, columns ascending. */
    bool (*add)(const struct aw_sparse_rows *a, const void *alpha, const struct aw_sparse_rows *b, const void *beta,
                struct aw_sparse_built *out);
    /* op(A) with 64-bit indices from 0 on, columns in the order of A's rows. */
    bool (*transpose)(const struct aw_sparse_rows *a, struct aw_sparse_op op, struct aw_sparse_built *out);
    /* to[i] = alpha from[i] + beta to[i], without reading what is multiplied by 0. */
    void (*combine)(int64_t n, const void *alpha, const void *from, const void *beta, void *to);
    /* In place, within the pattern: A = L U with ones on L's diagonal; A = L L^H, for which the lower triangle alone counts.
     * The first row whose pivot is 0 or is not stored, from 0 on; -1: none; -2: memory is out. Pivots of at most *tolerance
     * become *instead. */
    int64_t (*lu)(const struct aw_sparse_rows *a, const double *tolerance, const void *instead);
    int64_t (*cholesky)(const struct aw_sparse_rows *a);
    /* The first row of a triangular matrix whose diagonal is not stored or, with `values`, is 0; -1: none. */
    int64_t (*pivot)(const struct aw_sparse_rows *a, bool values);
};

/* For arithmetic in s, d, c, z or i (int32_t), and indices of 64 bits or 32. */
const struct aw_sparse_kernels *aw_sparse_kernels(char type, bool wide);

void aw_sparse_built_free(struct aw_sparse_built *b);

#endif
