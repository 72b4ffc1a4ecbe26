/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

/* a * b / 2^32, modulo PRIME. */
__device__ unsigned product(unsigned a, unsigned b)
{
    unsigned high = __umulhi(a, b), less = __umulhi(a * b * INVERSE, PRIME);

    return high >= less ? high - less : high - less + PRIME;
}

__global__ void ntt(unsigned *data, const unsigned *factors)
{
    __shared__ unsigned s[POINTS];
    unsigned t = threadIdx.x, *mine = data + blockIdx.x * POINTS;

    for (unsigned i = t; i < POINTS; i += POINTS / 2)
        s[__brev(i) >> (32 - BITS)] = mine[i];
    for (unsigned half = 1; half < POINTS; half <<= 1) {
        __syncthreads();
        unsigned k = t & (half - 1), at = 2 * t - k;
        unsigned a = s[at], b = product(s[at + half], factors[k * (POINTS / 2 / half)]);
        s[at] = min(a + b, a + b - PRIME);
        s[at + half] = min(a - b, a - b + PRIME);
    }
    __syncthreads();
    for (unsigned i = t; i < POINTS; i += POINTS / 2)
        mine[i] = s[i];
}

static void run(void)
{
    ntt<<<count, POINTS / 2>>>(DEV(DATA, unsigned), DEV(FACTORS, unsigned));
}
