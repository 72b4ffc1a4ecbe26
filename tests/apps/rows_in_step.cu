// Rows of 8 and 16 threads, of which several are a warp, that read and write tiles in shared memory between the same barriers: a
// warp reads first, whatever its parts do one after the other (ptx/simt/analysis/shared_order.c).  Reads ahead, behind, across
// and of another tile, of all rows of a warp and of some, each beside what the same steps give on the processor.
// races: threads of one warp read what others of it write, in step
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { STEPS = 10, WARP = 32 };

// What a step reads for thread (x, y) of rows of `wide`; false: it does nothing there.
__host__ __device__ static bool step_reads(int step, int x, int y, int wide, int *row, int *column)
{
    int rows = WARP / wide;
    *row = y;
    *column = x;
    switch (step) {
    case 0: *row = y + 1; return y % rows < rows - 1;
    case 1: *row = y - 1; return y % rows > 0;
    case 2: *column = x + 1; return x < wide - 1;
    case 3: *column = x - 1; return x > 0;
    case 4: *column = wide - 1 - x; return true;
    case 5: *row = y - y % rows; return true;
    case 6: *row = y - y % rows + rows - 1; return x != 0;
    case 7: *row = y + 1; return y % rows < rows - 1 && x == 0;
    case 8: *row = y - 1; return y % rows > 0 && (x + y) % 3;
    default: *column = x + 3; return x < wide - 3;
    }
}

template <int WIDE, int HIGH, int STEP> __global__ void one_step(const int *in, int *out, int pitch)
{
    __shared__ int s[HIGH][WIDE], t[HIGH][WIDE];
    int x = threadIdx.x, y = threadIdx.y, row, column;
    s[y][x] = in[y * pitch + x];
    t[y][x] = 0;
    __syncthreads();
    if (step_reads(STEP, x, y, WIDE, &row, &column)) {
        t[y][x] = s[row][column];
        s[y][x] = 5 * s[y][x] + s[row][column];
    }
    __syncthreads();
    out[y * pitch + x] = s[y][x] + 1000 * t[HIGH - 1 - y][x];
}

template <int WIDE, int HIGH, int STEP> static void try_step()
{
    const int pitch = WIDE + 3;
    std::vector<int> in(HIGH * pitch), out(in.size(), 0);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 37 % 101);
    Dev<int> din(in.data(), in.size()), dout(out.data(), out.size());
    one_step<WIDE, HIGH, STEP><<<1, dim3(WIDE, HIGH)>>>(din.ptr, dout.ptr, pitch);
    CHECK_LAUNCH();
    dout.get(out.data());
    for (int y = 0; y < HIGH; y++)
        for (int x = 0; x < WIDE; x++) {
            int row, column, want = in[y * pitch + x];
            if (step_reads(STEP, x, y, WIDE, &row, &column))
                want = 5 * want + in[row * pitch + column];
            if (step_reads(STEP, x, HIGH - 1 - y, WIDE, &row, &column))
                want += 1000 * in[row * pitch + column];
            EXPECT(out[y * pitch + x] == want, "step %d of %dx%d: %d,%d is %d, expected %d", STEP, WIDE, HIGH, x, y,
                   out[y * pitch + x], want);
        }
}

template <int WIDE, int HIGH, int STEP = 0> static void try_steps()
{
    if constexpr (STEP < STEPS) {
        try_step<WIDE, HIGH, STEP>();
        try_steps<WIDE, HIGH, STEP + 1>();
    }
}

int main()
{
    try_steps<16, 16>();
    try_steps<8, 8>();
    try_steps<16, 4>();
    try_steps<8, 32>();
    return check_done();
}
