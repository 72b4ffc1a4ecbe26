// Matrix transpose through a padded shared tile, sizes that are no multiple of the tile.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

template <int TILE, int ROWS> __global__ void transpose(const float *in, float *out, int w, int h)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < w && y + j < h)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < h && y + j < w)
            out[(y + j) * h + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <int TILE, int ROWS> static void run(int w, int h)
{
    std::vector<float> in(w * h), out(w * h);
    for (int i = 0; i < w * h; i++)
        in[i] = (float)i;
    Dev<float> din(in.data(), in.size()), dout(out.size());
    dout.fill(0);
    dim3 grid((w + TILE - 1) / TILE, (h + TILE - 1) / TILE);
    transpose<TILE, ROWS><<<grid, dim3(TILE, ROWS)>>>(din, dout, w, h);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            EXPECT(out[x * h + y] == in[y * w + x], "%dx%d tile %d at (%d,%d): %g", w, h, TILE, x, y, out[x * h + y]);
}

int main()
{
    run<32, 8>(128, 96);
    run<32, 8>(101, 67);
    run<16, 16>(33, 77);
    run<8, 4>(19, 5);
    return check_done();
}
