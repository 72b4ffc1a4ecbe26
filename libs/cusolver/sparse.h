/* cuSOLVER's sparse part: its handle, and QR, which several of its functions use. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_SPARSE_H
#define AW_LIBS_CUSOLVER_SPARSE_H

#include "call.h"
#include "cxsparse.h"

struct cusolverSpContext {
    struct cusolverDnContext dn;
};

/* CUSOLVER_STATUS_NOT_INITIALIZED for NULL and what is none. */
cusolverStatus_t aw_solver_sparse_check(cusolverSpHandle_t handle);
/* Are these a matrix's arguments, and is there a CXSparse for type `t`? */
cusolverStatus_t aw_solver_sparse_valid(char t, int m, int n, int nnz, cusparseMatDescr_t descr, const int *ptr, const int *ind);

/* The first column of R (or U) of so many whose diagonal is at most `tolerance`, or -1. */
int aw_cx_singular(const struct aw_cx_numeric *n, char own, int size, double tolerance);
/* With QR's parts: b, of the matrix's rows, becomes the solution, or that of the least squares, in the first so many values.
 * False: memory is out. */
bool aw_cx_qr_apply(const struct aw_cx *f, const struct aw_cx_symbolic *s, const struct aw_cx_numeric *n, char own, int rows,
                    int columns, void *b);
/* Both at once.  The column where it failed, -1: nowhere, -2: memory is out. */
int aw_cx_qr_solve(const struct aw_cx *f, const struct cs *a, char own, int order, double tolerance, void *b);

#endif
