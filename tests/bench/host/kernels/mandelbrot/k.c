/* Loops that end point by point are beyond what a compiler vectorises: the author leaves them, and shares out rows as they are
 * done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static inline int point(int px, int py, float x0, float y0, float step)
{
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int steps = 0;

    while (steps < LIMIT && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        steps++;
    }
    return steps;
}

static void run(void)
{
    int *restrict out = HOST(STEPS, int);
    int w = width, h = height;
    float step = pitch;

#pragma omp parallel for schedule(dynamic, 4)
    for (int py = 0; py < h; py++)
#pragma omp simd
        for (int px = 0; px < w; px++)
            out[py * w + px] = point(px, py, left, top, step);
}
