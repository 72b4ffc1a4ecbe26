/* Reductions: D = alpha op(opA(A)) + beta opC(C), over the modes of A that C and D lack. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_REDUCE_H
#define AW_LIBS_CUTENSOR_REDUCE_H

#include "tensor.h"

struct aw_reduce {
    char calc; /* 'd' or 'z': sums of float are made in double */
    int op;    /* binary */
    const struct aw_operand *a, *c; /* borrowed; all modes of C are modes of A; D is as C */
    double _Complex alpha, beta;    /* A or C is not read where it is 0 */
};

/* For jobs.  What is added in which order does not depend on the number of threads.  False: memory is out. */
bool aw_reduce_run(const struct aw_reduce *r, const void *a, const void *c, void *d);

#endif
