/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void bitonic(unsigned *keys)
{
    __shared__ unsigned s[RUN];
    unsigned t = threadIdx.x, base = blockIdx.x * RUN;

    s[t] = keys[base + t];
    s[t + RUN / 2] = keys[base + t + RUN / 2];
    for (unsigned size = 2; size <= RUN; size <<= 1) {
        for (unsigned stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            unsigned at = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            unsigned a = s[at], b = s[at + stride];
            if ((a > b) == up) {
                s[at] = b;
                s[at + stride] = a;
            }
        }
    }
    __syncthreads();
    keys[base + t] = s[t];
    keys[base + t + RUN / 2] = s[t + RUN / 2];
}

static void run(void)
{
    bitonic<<<runs, RUN / 2>>>(DEV(KEYS, unsigned));
}
