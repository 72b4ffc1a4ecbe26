/* Poisson distributions as histograms of cells: a uniform number finds its cell, in which there are two values. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CURAND_POISSON_H
#define AW_LIBS_CURAND_POISSON_H

#include "curand_types.h"

/* One piece of memory, to be freed: what aw_rand_poisson_make gives and all that it points to. */
struct aw_rand_poisson {
    struct curandDiscreteDistribution_st head;
    curandDistributionM2Shift_st m2;
    curandHistogramM2_st histogram;
    double cells[]; /* length + 1 of V, then as many of K */
};

/* CURAND_STATUS_OUT_OF_RANGE: lambda is not above 0, or above 400,000.  *ret_size are its bytes. */
curandStatus_t aw_rand_poisson_make(double lambda, struct aw_rand_poisson **ret_poisson, size_t *ret_size);

#endif
