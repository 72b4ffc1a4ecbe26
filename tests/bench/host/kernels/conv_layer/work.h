/* A layer of a neural network: 32 channels of 128 by 64 under 32 filters of 3 by 3, each over all channels. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { IMAGE, WEIGHTS, RESULT };
enum { CHANNELS = 32, FILTERS = 32, SIDE = 3, TILE = 8, COLUMNS = 4 };
static int width, height, pitch;

static void setup(void)
{
    width = SIZE(128, 128);
    height = SIZE(64, 6);
    pitch = width + SIDE - 1;
    fill_floats(IMAGE, IN, (size_t)CHANNELS * pitch * (height + SIDE - 1), 0, 1);
    fill_floats(WEIGHTS, IN, (size_t)FILTERS * CHANNELS * SIDE * SIDE, -1, 1);
    buffer(RESULT, OUT, (size_t)FILTERS * width * height * sizeof(float));
}

static void check(void)
{
    for (long i = 0; i < (long)FILTERS * width * height; i += 11) {
        long filter = i / (width * height), y = i / width % height, x = i % width;
        double want = 0;
        for (int c = 0; c < CHANNELS; c++)
            for (int v = 0; v < SIDE; v++)
                for (int u = 0; u < SIDE; u++)
                    want += (double)HOST(WEIGHTS, float)[((filter * CHANNELS + c) * SIDE + v) * SIDE + u] *
                            HOST(IMAGE, float)[(c * (height + SIDE - 1L) + y + v) * pitch + x + u];
        check_near(i, HOST(RESULT, float)[i], want, 1e-4);
    }
}
