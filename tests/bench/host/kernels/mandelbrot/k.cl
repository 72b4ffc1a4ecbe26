/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define LIMIT 256
__kernel void mandelbrot(__global int *out, int w, int h, float x0, float y0, float step)
{
    int px = get_global_id(0), py = get_global_id(1);

    if (px >= w || py >= h)
        return;
    float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
    int steps = 0;

    while (steps < LIMIT && x * x + y * y <= 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        steps++;
    }
    out[py * w + px] = steps;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH("mandelbrot", ROUND(width, 32), ROUND(height, 8), 1, 32, 8, 1, BUF(STEPS), VAL(width), VAL(height), VAL(left),
           VAL(top), VAL(pitch));
}
#endif
