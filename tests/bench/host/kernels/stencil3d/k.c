/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    const float *restrict from = HOST(FROM, float);
    float *restrict to = HOST(TO, float);
    long sx = nx, sy = ny, sz = nz, plane = sx * sy;

#pragma omp parallel for collapse(2)
    for (long z = 1; z < sz - 1; z++) {
        for (long y = 1; y < sy - 1; y++) {
            const float *restrict in = from + z * plane + y * sx;
            float *restrict out = to + z * plane + y * sx;
#pragma omp simd
            for (long x = 1; x < sx - 1; x++)
                out[x] = 0.4f * in[x] + 0.1f * (in[x - 1] + in[x + 1] + in[x - sx] + in[x + sx] + in[x - plane] + in[x + plane]);
        }
    }
}
