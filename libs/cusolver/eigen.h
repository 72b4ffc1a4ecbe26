/* Eigenvalues and singular values, for the interface of each type and the 64-bit one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_EIGEN_H
#define AW_LIBS_CUSOLVER_EIGEN_H

#include "jacobi.h"

/* A problem of eigenvalues of a symmetric or Hermitian matrix, whose vectors take the matrix's place. */
struct aw_solver_eigen {
    const char *name;
    char t;
    cusolverEigMode_t mode;
    cublasFillMode_t uplo;
    int64_t n;
    void *a;
    int64_t lda;
    void *w; /* values, ascending */
    int *info;
    int64_t batch; /* items, each n * lda and n values after the one before */
    /* Generalised, where b is not NULL. */
    cusolverEigType_t type;
    void *b;
    int64_t ldb;
    /* Some of them, where range is not 0: those in (vl, vu], or the il-th to iu-th from 1 on; how many goes to the host at
     * *found or *found64. */
    cusolverEigRange_t range;
    double vl, vu;
    int64_t il, iu;
    int *found;
    int64_t *found64;
    struct aw_solver_jacobi *settings; /* where the residual is told, or NULL */
};
/* Checks and submits.  The handle is checked here. */
cusolverStatus_t aw_solver_eigen(cusolverDnHandle_t h, const struct aw_solver_eigen *e);

/* A = U S V^H.  Items of a batch lie strides of values apart. */
struct aw_solver_svd {
    const char *name;
    char t;
    signed char jobu, jobv; /* A: all columns, S: as many as there are values, O: in place of the matrix, N: none */
    int64_t m, n, rank;     /* rank: of the columns of U and V; 0: as the jobs say */
    void *a;
    int64_t lda, stride_a;
    void *s;
    int64_t stride_s;
    void *u;
    int64_t ldu, stride_u;
    void *v;
    int64_t ldv, stride_v;
    bool vectors_v; /* v has V, not its conjugate transpose */
    int *info;
    double *residual; /* of each item on the host, or NULL */
    int64_t batch;
    bool keeps_a; /* the matrix is read alone */
    struct aw_solver_jacobi *settings; /* where the residual is told, or NULL */
};
cusolverStatus_t aw_solver_svd(cusolverDnHandle_t h, const struct aw_solver_svd *p);
/* gesvd of any width, of type `t` and with LAPACK's letters as jobs, small ones too; CUSOLVER_STATUS_INVALID_VALUE for a matrix
 * that is wider than high, as documented. */
cusolverStatus_t aw_solver_gesvd(cusolverDnHandle_t h, const char *name, char t, signed char jobu, signed char jobvt, int64_t m,
                                 int64_t n, void *a, int64_t lda, void *s, void *u, int64_t ldu, void *vt, int64_t ldvt,
                                 int *info);

#endif
