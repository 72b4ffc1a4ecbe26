/* Sparse LU without pivoting in a known order: the arithmetic of cusolverRf, in memory of the host and in double precision. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_REFACTOR_H
#define AW_LIBS_CUSOLVER_REFACTOR_H

#include <stdbool.h>

/* A matrix by compressed rows, or columns where `columns`; indices begin with 0. Borrowed. */
struct aw_refactor_matrix {
    int n, nnz;
    const int *ptr, *ind;
    bool columns;
};

/* P A Q^T = L U for `count` matrices of one pattern: row i of the left is A's row p[i], column j its column q[j]. */
struct aw_refactor {
    int n, nnz, count;
    int *row, *column; /* of each value of A, in the order on the left */
    int *p, *q;
    int *ptr, *ind; /* L (unit) and U in one, by rows, columns ascending, with all that fills in; NULL before it is analysed */
    int *diag;      /* where in a row the diagonal is */
    int *place;     /* of each value of A */
    double *a;      /* A's values, one matrix after the other */
    double *lu;
    bool factored;
    double zero, boost; /* a pivot of at most `zero` becomes `boost`, where that is not 0 */
    bool boosted;
    int *bad; /* of each matrix, the first row whose pivot is 0, or -1 */
};

/* False: what was given is no matrix or no permutation, or memory is out. Nothing of it is kept but copies. */
bool aw_refactor_setup(struct aw_refactor *r, int count, const struct aw_refactor_matrix *a, const double *const *values,
                       const int *p, const int *q);
/* Finds the factors' pattern: A's, with what the program says that it is of L and U, and what fills in.  False: memory is out. */
bool aw_refactor_analyse(struct aw_refactor *r, const struct aw_refactor_matrix *l, const struct aw_refactor_matrix *u);
/* False: a pivot is 0. */
bool aw_refactor_factor(struct aw_refactor *r);
/* b, of n values, becomes the solution of matrix `k`; `work` is room for n. */
void aw_refactor_solve(const struct aw_refactor *r, int k, double *b, double *work);
void aw_refactor_drop(struct aw_refactor *r);

/* Is it a matrix? */
bool aw_refactor_good(const struct aw_refactor_matrix *a);

#endif
