/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict scale = HOST(SCALE, float), *restrict shift = HOST(SHIFT, float);
    int width = cols;

#pragma omp parallel for
    for (int row = 0; row < rows; row++) {
        const float *restrict in = HOST(FROM, float) + (size_t)row * width;
        float *restrict out = HOST(TO, float) + (size_t)row * width, sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < width; i++)
            sum += in[i];
        float mean = sum / width;
#pragma omp simd reduction(+ : square)
        for (int i = 0; i < width; i++)
            square += (in[i] - mean) * (in[i] - mean);
        float inverse = 1.0f / sqrtf(square / width + tiny);
#pragma omp simd
        for (int i = 0; i < width; i++)
            out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
    }
}
