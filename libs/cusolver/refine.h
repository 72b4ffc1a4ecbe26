/* Systems and least squares as cuSOLVER's refining solvers have them: A, B and X apart. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_REFINE_H
#define AW_LIBS_CUSOLVER_REFINE_H

#include "call.h"

struct aw_refine {
    const char *name;
    char t;
    bool square; /* a system, else least squares */
    int m, n, nrhs;
    const void *a, *b;
    void *x;
    int lda, ldb, ldx;
    int *pivots;     /* of a system; NULL: not wanted */
    int *iterations; /* on the host: 0 */
    int *info;       /* on the device */
};

cusolverStatus_t aw_solver_refine(cusolverDnHandle_t h, const struct aw_refine *r);

#endif
