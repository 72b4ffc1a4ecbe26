/* Max pooling: the greatest of each window of 3 by 3, every second one, with a frame of one around the images that counts as
 * nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { IMAGES, RESULT };
static int count, side, half; /* of images; of their rows and columns, before and after */

static void setup(void)
{
    count = SIZE(256, 3);
    side = SIZE(112, 30);
    half = side / 2;
    fill_floats(IMAGES, IN, (size_t)count * side * side, -1, 1);
    buffer(RESULT, OUT, (size_t)count * half * half * sizeof(float));
}

static void check(void)
{
    for (long i = 0; i < (long)count * half * half; i++) {
        const float *image = HOST(IMAGES, float) + i / (half * half) * side * side;
        int y = (int)(i / half % half) * 2 - 1, x = (int)(i % half) * 2 - 1;
        float want = -INFINITY;
        for (int v = y; v < y + 3 && v < side; v++)
            for (int u = x; u < x + 3 && u < side; u++)
                if (v >= 0 && u >= 0 && image[v * side + u] > want)
                    want = image[v * side + u];
        check_near(i, HOST(RESULT, float)[i], want, FLT_MIN);
    }
}
