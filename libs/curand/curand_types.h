/* The types in the table of cuRAND.  Numbers of enumerations are cuRAND's, and so are the shapes of what kernels read. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CURAND_TYPES_H
#define AW_LIBS_CURAND_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "common/types.h"

typedef enum {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102,
    CURAND_STATUS_TYPE_ERROR = 103,
    CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_INITIALIZATION_FAILED = 203,
    CURAND_STATUS_INTERNAL_ERROR = 999,
} curandStatus_t;

typedef enum {
    CURAND_RNG_PSEUDO_DEFAULT = 100,
    CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121,
    CURAND_RNG_PSEUDO_MTGP32 = 141,
    CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
    CURAND_RNG_QUASI_DEFAULT = 200,
    CURAND_RNG_QUASI_SOBOL32 = 201,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
    CURAND_RNG_QUASI_SOBOL64 = 203,
    CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204,
} curandRngType_t;

typedef enum {
    CURAND_ORDERING_PSEUDO_BEST = 100,
    CURAND_ORDERING_PSEUDO_DEFAULT = 101,
    CURAND_ORDERING_PSEUDO_SEEDED = 102,
    CURAND_ORDERING_PSEUDO_LEGACY = 103,
    CURAND_ORDERING_PSEUDO_DYNAMIC = 104,
    CURAND_ORDERING_QUASI_DEFAULT = 201,
} curandOrdering_t;

typedef enum {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
    CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104,
} curandDirectionVectorSet_t;

typedef enum { CURAND_CHOOSE_BEST = 0, CURAND_M2 = 5, CURAND_POISSON = 13 } curandMethod_t;

typedef uint32_t curandDirectionVectors32_t[32];
typedef uint64_t curandDirectionVectors64_t[64];
typedef struct curandGenerator_st *curandGenerator_t;

/* A distribution as kernels see it: the histogram's length cells, of which a uniform number takes one, and in it what lies below
   V or K. */
typedef struct {
    double *V, *host_V;
    unsigned *K, *host_K;
    unsigned host_gen;
} curandHistogramM2_st;
typedef struct {
    curandHistogramM2_st *histogram, *host_histogram;
    unsigned shift, length, host_gen;
} curandDistributionM2Shift_st;
typedef struct curandDiscreteDistribution_st {
    struct curandDiscreteDistribution_st *self_host_ptr;
    curandDistributionM2Shift_st *M2, *host_M2;
    double stddev, mean;
    curandMethod_t method;
    unsigned host_gen;
} * curandDiscreteDistribution_t;

#endif
