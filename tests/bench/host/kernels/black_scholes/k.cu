/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

static __device__ float cumulative(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

    return d > 0 ? 1.0f - c : c;
}

__global__ void black_scholes(float *__restrict__ call, float *__restrict__ put, const float *__restrict__ price,
                              const float *__restrict__ strike, const float *__restrict__ years, float r, float v, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= count)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
    float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
    float n1 = cumulative(d1), n2 = cumulative(d2), e = expf(-r * t);

    call[i] = s * n1 - x * e * n2;
    put[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
}

static void run(void)
{
    black_scholes<<<blocks(n, 256), 256>>>(DEV(CALL, float), DEV(PUT, float), DEV(PRICE, float), DEV(STRIKE, float),
                                           DEV(YEARS, float), rate, vol, n);
}
