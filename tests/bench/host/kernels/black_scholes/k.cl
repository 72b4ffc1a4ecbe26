/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
static float cumulative(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float c = 0.39894228f * exp(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

    return d > 0 ? 1.0f - c : c;
}

__kernel void black_scholes(__global float *restrict call, __global float *restrict put, __global const float *restrict price,
                            __global const float *restrict strike, __global const float *restrict years, float r, float v,
                            int count)
{
    int i = get_global_id(0);

    if (i >= count)
        return;
    float s = price[i], x = strike[i], t = years[i], root = sqrt(t);
    float d1 = (log(s / x) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
    float n1 = cumulative(d1), n2 = cumulative(d2), e = exp(-r * t);

    call[i] = s * n1 - x * e * n2;
    put[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("black_scholes", n, 256, BUF(CALL), BUF(PUT), BUF(PRICE), BUF(STRIKE), BUF(YEARS), VAL(rate), VAL(vol), VAL(n));
}
#endif
