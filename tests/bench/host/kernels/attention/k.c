/* A row of the result at a time, whose scores stay in cache. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void attend(const float *restrict q, const float *restrict key, const float *restrict value, float *restrict score,
                   float *restrict result, int count)
{
    float most = -FLT_MAX, sum = 0, out[DEPTH] = {0};

    for (int i = 0; i < count; i++) {
        float dot = 0;
#pragma omp simd reduction(+ : dot)
        for (int k = 0; k < DEPTH; k++)
            dot += q[k] * key[i * DEPTH + k];
        score[i] = dot * 0.125f;
        most = score[i] > most ? score[i] : most;
    }
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        score[i] = expf(score[i] - most);
        sum += score[i];
    }
    for (int i = 0; i < count; i++) {
        score[i] /= sum;
#pragma omp simd
        for (int k = 0; k < DEPTH; k++)
            out[k] += score[i] * value[i * DEPTH + k];
    }
    memcpy(result, out, sizeof out);
}

static void run(void)
{
    long count = length;

#pragma omp parallel for
    for (long row = 0; row < heads * count; row++) {
        long first = row / count * count * DEPTH;
        attend(HOST(QUERY, float) + row * DEPTH, HOST(KEY, float) + first, HOST(VALUE, float) + first,
               HOST(SCORES, float) + row * count, HOST(RESULT, float) + row * DEPTH, length);
    }
}
