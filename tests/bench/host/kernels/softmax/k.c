/* The exponentials are kept, not computed twice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    int width = cols;

#pragma omp parallel for
    for (int row = 0; row < rows; row++) {
        const float *restrict in = HOST(FROM, float) + (size_t)row * width;
        float *restrict out = HOST(TO, float) + (size_t)row * width;
        float most = -FLT_MAX, sum = 0;
#pragma omp simd reduction(max : most)
        for (int i = 0; i < width; i++)
            most = in[i] > most ? in[i] : most;
#pragma omp simd reduction(+ : sum)
        for (int i = 0; i < width; i++) {
            float e = expf(in[i] - most);
            out[i] = e;
            sum += e;
        }
        float scale = 1.0f / sum;
#pragma omp simd
        for (int i = 0; i < width; i++)
            out[i] *= scale;
    }
}
