/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static inline float cumulative(float d)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228f * expf(-0.5f * d * d) *
              (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

    return d > 0 ? 1.0f - c : c;
}

static void run(void)
{
    float *restrict call = HOST(CALL, float), *restrict put = HOST(PUT, float);
    const float *restrict price = HOST(PRICE, float), *restrict strike = HOST(STRIKE, float),
                          *restrict years = HOST(YEARS, float);
    float r = rate, v = vol;

#pragma omp parallel for simd
    for (int i = 0; i < n; i++) {
        float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
        float d1 = (logf(s / x) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
        float n1 = cumulative(d1), n2 = cumulative(d2), e = expf(-r * t);
        call[i] = s * n1 - x * e * n2;
        put[i] = x * e * (1.0f - n2) - s * (1.0f - n1);
    }
}
