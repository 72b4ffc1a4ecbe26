/* An image under a filter of 9 by 9; the image has a frame of 4 around what is computed. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { IMAGE, FILTER, RESULT };
enum { SIDE = 9 };
static int width, height, pitch;

static void setup(void)
{
    width = SIZE(1024, 100);
    height = SIZE(768, 50);
    pitch = width + SIDE - 1;
    fill_floats(IMAGE, IN, (size_t)pitch * (height + SIDE - 1), 0, 1);
    fill_floats(FILTER, IN, SIDE * SIDE, -1, 1);
    buffer(RESULT, OUT, (size_t)width * height * sizeof(float));
}

static void check(void)
{
    for (long i = 0; i < (long)width * height; i += 11) {
        double want = 0;
        for (int v = 0; v < SIDE; v++)
            for (int u = 0; u < SIDE; u++)
                want += (double)HOST(FILTER, float)[v * SIDE + u] * HOST(IMAGE, float)[(i / width + v) * pitch + i % width + u];
        check_near(i, HOST(RESULT, float)[i], want, 2e-5);
    }
}
