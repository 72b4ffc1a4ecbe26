/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void fft(float2 *data, const float2 *factors)
{
    __shared__ float2 s[POINTS];
    unsigned t = threadIdx.x;
    float2 *mine = data + blockIdx.x * POINTS;

    for (unsigned i = t; i < POINTS; i += POINTS / 2)
        s[__brev(i) >> (32 - BITS)] = mine[i];
    for (unsigned half = 1; half < POINTS; half <<= 1) {
        __syncthreads();
        unsigned k = t & (half - 1), at = 2 * t - k;
        float2 w = factors[k * (POINTS / 2 / half)], a = s[at], b = s[at + half];
        float re = b.x * w.x - b.y * w.y, im = b.x * w.y + b.y * w.x;
        s[at] = make_float2(a.x + re, a.y + im);
        s[at + half] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    for (unsigned i = t; i < POINTS; i += POINTS / 2)
        mine[i] = s[i];
}

static void run(void)
{
    fft<<<count, POINTS / 2>>>(DEV(DATA, float2), DEV(FACTORS, float2));
}
