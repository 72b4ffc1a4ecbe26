/* One step of a 7-point stencil over the inside of a box; the outside is left alone. */
/* SPDX-License-Identifier: Apache-2.0 */
enum { FROM, TO };
static int nx, ny, nz;

static void setup(void)
{
    nx = SIZE(256, 40);
    ny = SIZE(192, 21);
    nz = SIZE(160, 13);
    size_t all = (size_t)nx * ny * nz;
    fill_floats(FROM, IN, all, -1, 1);
    fill_zero(TO, INOUT, all * sizeof(float));
}

static void check(void)
{
    const float *in = HOST(FROM, float);
    long plane = (long)nx * ny;

    for (int z = 0; z < nz; z++) {
        for (int y = 0; y < ny; y++) {
            for (int x = 0; x < nx; x++) {
                long i = z * plane + y * nx + x;
                bool edge = !x || !y || !z || x == nx - 1 || y == ny - 1 || z == nz - 1;
                double want = edge ? 0
                                   : 0.4 * in[i] + 0.1 * ((double)in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] +
                                                          in[i - plane] + in[i + plane]);
                check_near(i, HOST(TO, float)[i], want, 1e-6);
            }
        }
    }
}
