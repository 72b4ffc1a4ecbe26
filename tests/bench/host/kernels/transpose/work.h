/* Transpose of a matrix of floats that is not square. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO };
static int width, height;

static void setup(void)
{
    width = SIZE(2080, 96);
    height = SIZE(2048, 64);
    fill_floats(FROM, IN, (size_t)width * height, -1, 1);
    buffer(TO, OUT, (size_t)width * height * sizeof(float));
}

static void check(void)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            check_near((long)x * height + y, HOST(TO, float)[(long)x * height + y], HOST(FROM, float)[(long)y * width + x],
                       DBL_MIN);
}
