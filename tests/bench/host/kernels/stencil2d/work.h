/* One step of a 5-point stencil; the border is copied. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO };
static int width, height;

static void setup(void)
{
    width = SIZE(4096, 100);
    height = SIZE(3072, 70);
    fill_floats(FROM, IN, (size_t)width * height, -1, 1);
    buffer(TO, OUT, (size_t)width * height * sizeof(float));
}

static void check(void)
{
    const float *in = HOST(FROM, float);

    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            long i = (long)y * width + x;
            bool edge = !x || !y || x == width - 1 || y == height - 1;
            double want = edge ? in[i] : 0.5 * in[i] + 0.125 * ((double)in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
            check_near(i, HOST(TO, float)[i], want, 1e-6);
        }
    }
}
