/* Steps until a point leaves the circle, at most LIMIT. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { STEPS };
enum { LIMIT = 256 };
static const float left = -2.2f, top = -1.2f;
static float pitch;
static int width, height;

static void setup(void)
{
    width = SIZE(1024, 100);
    height = SIZE(768, 75);
    pitch = 3.2f / width;
    buffer(STEPS, OUT, (size_t)width * height * sizeof(int));
}

/* The number of steps hangs on the last bit (and on fused operations) near the set's edge: a few points may differ from the ones
 * here. */
static void check(void)
{
    long others = 0, all = (long)width * height;

    for (long i = 0; i < all; i++) {
        double cx = left + (i % width) * pitch, cy = top + (i / width) * pitch, x = 0, y = 0;
        int steps = 0;
        for (; steps < LIMIT && x * x + y * y <= 4; steps++) {
            double next = x * x - y * y + cx;
            y = 2 * x * y + cy;
            x = next;
        }
        others += abs(HOST(STEPS, int)[i] - steps) > 2;
    }
    check_near(0, (double)others, 0, 0.01 * all);
}
