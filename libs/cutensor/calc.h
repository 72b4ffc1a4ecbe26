/* Runs of numbers in one of the four types that cuTENSOR's operations are calculated in: float, double and their complex forms.
 * What is done to runs is here alone; which elements they are is map.h's, reduce.h's and contract.h's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_CALC_H
#define AW_LIBS_CUTENSOR_CALC_H

#include <complex.h>
#include <stdbool.h>

#include "cutensor_types.h"

enum { AW_CALC_RUN = 256 }; /* most elements of a run, but of `multiply_add` */

/* Strides are in elements; `x` and `y` are runs of the type that is calculated in, one beside the other. */
struct aw_calc {
    cudaDataType type;
    size_t size; /* bytes */
    /* From and to the program's types: those of cuTENSOR's tensors, real ones to all, complex ones to complex ones. */
    void (*load)(cudaDataType type, const void *at, int64_t stride, int64_t n, void *x);
    void (*store)(cudaDataType type, void *at, int64_t stride, int64_t n, const void *x);
    void (*unary)(int op, int64_t n, void *x);
    void (*scale)(double _Complex by, int64_t n, void *x);
    void (*fill)(double _Complex value, int64_t n, void *x);
    void (*combine)(int op, int64_t n, void *x, const void *y); /* x = op(x, y); op is binary */
    void (*fold)(int op, int64_t n, const void *x, void *sum);  /* *sum = op(*sum, all of x) */
    /* c[i * sc] += a[i * sa] * b[i * sb], with any n; sc 0: all to one. */
    void (*multiply_add)(int64_t n, const void *a, int64_t sa, const void *b, int64_t sb, void *c, int64_t sc);
};

/* Of 's', 'd', 'c' or 'z'. */
const struct aw_calc *aw_calc_find(char calc);

/* Is it an operator, and one of such numbers? */
bool aw_calc_is_unary(int op, bool of_complex);
bool aw_calc_is_binary(int op, bool of_complex);
/* What the fold over nothing is. */
double aw_calc_neutral(int op);

#endif
