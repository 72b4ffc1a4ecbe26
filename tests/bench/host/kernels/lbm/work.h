/* A step of a lattice Boltzmann method: 9 directions in 2 dimensions, one relaxation time, periodic.  A direction's values are
 * together. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO };
static const float omega = 1.2f;
static int width, height;

static const int dx[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, dy[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
static const double share[9] = {4 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 9., 1 / 36., 1 / 36., 1 / 36., 1 / 36.};

static void setup(void)
{
    width = SIZE(1024, 64);
    height = SIZE(512, 40);
    size_t cells = (size_t)width * height;
    float *f = (float *)buffer(FROM, IN, 9 * cells * sizeof *f);
    for (int q = 0; q < 9; q++)
        for (size_t i = 0; i < cells; i++)
            f[q * cells + i] = (float)share[q] * random_float(q, i, 0.9f, 1.1f);
    buffer(TO, OUT, 9 * cells * sizeof *f);
}

static void check(void)
{
    long cells = (long)width * height;

    for (long i = 0; i < cells; i += 3) {
        double f[9], rho = 0, u = 0, v = 0;
        for (int q = 0; q < 9; q++) {
            long x = (i % width - dx[q] + width) % width, y = (i / width - dy[q] + height) % height;
            f[q] = HOST(FROM, float)[q * cells + y * width + x];
            rho += f[q];
            u += dx[q] * f[q];
            v += dy[q] * f[q];
        }
        u /= rho;
        v /= rho;
        for (int q = 0; q < 9; q++) {
            double along = 3 * (dx[q] * u + dy[q] * v),
                   rest = share[q] * rho * (1 + along + 0.5 * along * along - 1.5 * (u * u + v * v));
            check_near(q * cells + i, HOST(TO, float)[q * cells + i], f[q] + omega * (rest - f[q]), 1e-6);
        }
    }
}
