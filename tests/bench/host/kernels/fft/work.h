/* Fourier transforms of many runs of 512 complex numbers, radix 2, decimation in time; factors from a table. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { DATA, FACTORS };
enum { POINTS = 512, BITS = 9 };
static int count;

static void setup(void)
{
    count = SIZE(2048, 16);
    fill_floats(DATA, INOUT, (size_t)count * POINTS * 2, -1, 1);
    float *factors = (float *)buffer(FACTORS, IN, POINTS * sizeof(float));
    for (int k = 0; k < POINTS / 2; k++) {
        factors[2 * k] = (float)cos(2 * M_PI * k / POINTS);
        factors[2 * k + 1] = (float)-sin(2 * M_PI * k / POINTS);
    }
}

static void check(void)
{
    static double turn[POINTS][2];

    for (int k = 0; k < POINTS; k++) {
        turn[k][0] = cos(2 * M_PI * k / POINTS);
        turn[k][1] = -sin(2 * M_PI * k / POINTS);
    }
    for (long at = 0; at < count; at += 5) {
        const float *in = FIRST(DATA, float) + at * POINTS * 2, *out = HOST(DATA, float) + at * POINTS * 2;
        for (int k = (int)(at % 7); k < POINTS; k += 7) {
            double re = 0, im = 0;
            for (int i = 0; i < POINTS; i++) {
                const double *t = turn[i * k % POINTS];
                re += in[2 * i] * t[0] - in[2 * i + 1] * t[1];
                im += in[2 * i] * t[1] + in[2 * i + 1] * t[0];
            }
            check_near((at * POINTS + k) * 2, out[2 * k], re, 5e-5);
            check_near((at * POINTS + k) * 2 + 1, out[2 * k + 1], im, 5e-5);
        }
    }
}
