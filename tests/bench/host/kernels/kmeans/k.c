/* Some hundred points at a time: first their distances, as vectors, then their sums. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

enum { PART = 256 };

static void nearest(const float *restrict points, const float *restrict centres, int *restrict labels, long pitch, int end)
{
    float least[PART];

    for (int i = 0; i < end; i++)
        least[i] = FLT_MAX;
    for (int c = 0; c < K; c++) {
#pragma omp simd
        for (int i = 0; i < end; i++) {
            float far = 0;
            for (int d = 0; d < DIMS; d++)
                far += (points[d * pitch + i] - centres[c * DIMS + d]) * (points[d * pitch + i] - centres[c * DIMS + d]);
            labels[i] = far < least[i] ? c : labels[i];
            least[i] = far < least[i] ? far : least[i];
        }
    }
}

static void run(void)
{
    const float *restrict points = HOST(POINTS, float), *restrict centres = HOST(CENTRES, float);
    int *restrict labels = HOST(LABELS, int), *restrict numbers = HOST(NUMBERS, int);
    float *restrict sums = HOST(SUMS, float);

#pragma omp parallel for reduction(+ : sums[:K * DIMS], numbers[:K])
    for (int first = 0; first < n; first += PART) {
        int end = n - first < PART ? n - first : PART;
        float mine[K * DIMS] = {0};
        nearest(points + first, centres, labels + first, n, end);
        for (int i = 0; i < end; i++) {
            int label = labels[first + i];
            numbers[label]++;
            for (int d = 0; d < DIMS; d++)
                mine[label * DIMS + d] += points[(long)d * n + first + i];
        }
        for (int i = 0; i < K * DIMS; i++)
            sums[i] += mine[i];
    }
}
