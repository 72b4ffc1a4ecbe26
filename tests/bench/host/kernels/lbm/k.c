/* The first and the last column by themselves, so that the neighbours of those between are the next elements. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static inline __attribute__((always_inline)) void cell(const float *restrict from, float *restrict to, long w, long cells, long y,
                                                       long south, long north, float relax, long x, long west, long east)
{
    long i = y * w + x;
    float f0 = from[i], f1 = from[cells + y * w + west], f2 = from[2 * cells + south * w + x],
          f3 = from[3 * cells + y * w + east];
    float f4 = from[4 * cells + north * w + x], f5 = from[5 * cells + south * w + west], f6 = from[6 * cells + south * w + east];
    float f7 = from[7 * cells + north * w + east], f8 = from[8 * cells + north * w + west];
    float rho = f0 + f1 + f2 + f3 + f4 + f5 + f6 + f7 + f8, inverse = 1.0f / rho;
    float u = (f1 - f3 + f5 - f6 - f7 + f8) * inverse, v = (f2 - f4 + f5 + f6 - f7 - f8) * inverse;
    float base = 1.0f - 1.5f * (u * u + v * v), big = relax * rho / 9.0f, little = relax * rho / 36.0f, keep = 1.0f - relax;
    float a = 3.0f * u, b = 3.0f * v, c = a + b, d = b - a;

    to[i] = keep * f0 + 4.0f * big * base;
    to[cells + i] = keep * f1 + big * (base + a + 0.5f * a * a);
    to[2 * cells + i] = keep * f2 + big * (base + b + 0.5f * b * b);
    to[3 * cells + i] = keep * f3 + big * (base - a + 0.5f * a * a);
    to[4 * cells + i] = keep * f4 + big * (base - b + 0.5f * b * b);
    to[5 * cells + i] = keep * f5 + little * (base + c + 0.5f * c * c);
    to[6 * cells + i] = keep * f6 + little * (base + d + 0.5f * d * d);
    to[7 * cells + i] = keep * f7 + little * (base - c + 0.5f * c * c);
    to[8 * cells + i] = keep * f8 + little * (base - d + 0.5f * d * d);
}

static void run(void)
{
    const float *restrict from = HOST(FROM, float);
    float *restrict to = HOST(TO, float), relax = omega;
    long w = width, h = height, cells = w * h;

#pragma omp parallel for
    for (long y = 0; y < h; y++) {
        long south = y ? y - 1 : h - 1, north = y < h - 1 ? y + 1 : 0;
        cell(from, to, w, cells, y, south, north, relax, 0, w - 1, 1);
#pragma omp simd
        for (long x = 1; x < w - 1; x++)
            cell(from, to, w, cells, y, south, north, relax, x, x - 1, x + 1);
        cell(from, to, w, cells, y, south, north, relax, w - 1, w - 2, 0);
    }
}
