// Kernels in which another index than x is that of neighbours in memory: which threads are a warp is the host device's choice
// there (ptx/simt/rewrite/lane_order.c), and nothing may depend on it.  Blocks of many shapes, sizes that no block divides, loops
// that run differently often, integers and doubles; and kernels that ask which lane they are.
// good-code: quick code does not keep lanes in step where they write over global memory that others read
// races: rows of one warp that move in place, and blocks with a z of which all threads do the same
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

struct Size {
    int x, y, z;
};

// Rows by x: a product, whose inner loop has its own length for each row.
__global__ void product(const float *a, const float *b, float *c, Size n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n.x || j >= n.y)
        return;
    float s = 0;
    for (int k = 0; k < n.z - i % 3; k++)
        s += a[i * n.z + k] * b[k * n.y + j];
    c[i * n.y + j] = s;
}

// x the slowest of three, with neighbours in all directions.
__global__ void around(const double *from, double *to, Size n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
        z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= n.x - 1 || y >= n.y - 1 || z >= n.z - 1)
        return;
    int at = (x * n.y + y) * n.z + z;
    to[at] = from[at - 1] + from[at + 1] - from[at - n.z] - from[at + n.z] + 2 * from[at - n.y * n.z] + 3 * from[at + n.y * n.z];
}

// The same array read and written: a pivot's row is taken from all rows below it.
__global__ void eliminate(int *m, const int *by, Size n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n.x && j < n.y)
        m[i * n.y + j] -= by[i] * m[j];
}

// Every index, and the block's shape, written down by each thread.
__global__ void indices(int *out, Size n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n.x && y < n.y)
        out[x * n.y + y] = (int)(threadIdx.x | threadIdx.y << 10 | blockDim.x << 20) ^ (int)(threadIdx.z + 7 * blockDim.y);
}

// Who asks for its lane gets a card's: x goes fastest.
__global__ void lanes(int *out, Size n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    if (x < n.x && y < n.y)
        out[x * n.y + y] = (int)lane;
}

// Rows of one warp each that move by one in place, down a column: all of a warp read before one of them writes.
__global__ void moved(int *m, Size n)
{
    int i = threadIdx.x, j = threadIdx.y;
    if (i > 0 && i < n.x && j < n.y)
        m[i * n.y + j] = m[(i - 1) * n.y + j];
}

// The first row is taken from all rows of one warp, itself among them: it is read before it is written.
__global__ void lowered(int *m, Size n)
{
    int i = threadIdx.x, j = threadIdx.y;
    if (i < n.x && j < n.y)
        m[i * n.y + j] -= m[j];
}

// Behind two guards, the first row among the rows that become less by it; what the last column loses is added up.
__global__ void lessened(int *m, const int *by, int *lost, Size n)
{
    int i = threadIdx.x, j = threadIdx.y;
    if (i >= n.x || j >= n.y)
        return;
    int v = m[j] + by[i], old = m[i * n.y + j];
    if (v < old) {
        m[i * n.y + j] = v;
        if (j == n.y - 1)
            lost[i] += old - v;
    }
}

static void try_shape(dim3 block, Size n)
{
    Rng rng(block.x * 1000 + block.y * 32 + block.z);
    dim3 grid((n.x + block.x - 1) / block.x, (n.y + block.y - 1) / block.y);
    std::vector<float> a(n.x * n.z), b(n.z * n.y), c(n.x * n.y);
    for (float &v : a)
        v = (float)(int)rng.below(64) - 20;
    for (float &v : b)
        v = (float)(int)rng.below(64) - 30;
    std::vector<int> m(n.x * n.y), by(n.x), out(n.x * n.y);
    for (int &v : m)
        v = (int)rng.below(1000);
    for (int &v : by)
        v = (int)rng.below(9) - 4;
    {
        Dev<float> da(a.data(), a.size()), db(b.data(), b.size()), dc(c.size());
        product<<<grid, block>>>(da, db, dc, n);
        CHECK_LAUNCH();
        dc.get(c.data());
        for (int i = 0; i < n.x; i++)
            for (int j = 0; j < n.y; j++) {
                float want = 0;
                for (int k = 0; k < n.z - i % 3; k++)
                    want += a[i * n.z + k] * b[k * n.y + j];
                EXPECT(c[i * n.y + j] == want, "product %ux%ux%u: %d,%d: %g, expected %g", block.x, block.y, block.z, i, j,
                       c[i * n.y + j], want);
            }
    }
    {
        Dev<int> dm(m.data(), m.size()), dby(by.data(), by.size()), dout(out.size());
        eliminate<<<grid, block>>>(dm, dby, n);
        CHECK_LAUNCH();
        dm.get(out.data());
        for (int i = 0; i < n.x && block.z == 1; i++) /* else several threads do one element's */
            for (int j = 0; j < n.y; j++) {
                int want = i ? m[i * n.y + j] - by[i] * m[j] : m[j];
                EXPECT(out[i * n.y + j] == want, "eliminate %ux%u: %d,%d: %d, expected %d", block.x, block.y, i, j,
                       out[i * n.y + j], want);
            }
        indices<<<grid, block>>>(dout, n);
        CHECK_LAUNCH();
        dout.get(out.data());
        for (int x = 0; x < n.x && block.z == 1; x++)
            for (int y = 0; y < n.y; y++) {
                int want = (int)(x % block.x | (y % block.y) << 10 | block.x << 20) ^ (int)(7 * block.y);
                EXPECT(out[x * n.y + y] == want, "indices %ux%u: %d,%d: %x, expected %x", block.x, block.y, x, y,
                       out[x * n.y + y], want);
            }
        lanes<<<grid, block>>>(dout, n);
        CHECK_LAUNCH();
        dout.get(out.data());
        for (int x = 0; x < n.x && block.z == 1; x++)
            for (int y = 0; y < n.y; y++) {
                int want = (int)((x % block.x + y % block.y * block.x) % 32);
                EXPECT(out[x * n.y + y] == want, "lanes %ux%u: %d,%d: %d, expected %d", block.x, block.y, x, y, out[x * n.y + y],
                       want);
            }
    }
}

static void try_around(dim3 block, Size n)
{
    std::vector<double> from(n.x * n.y * n.z), to(from.size());
    Rng rng(block.x + 64 * block.y + 4096 * block.z);
    for (double &v : from)
        v = rng.below(100000) / 64.0;
    Dev<double> dfrom(from.data(), from.size()), dto(to.data(), to.size());
    dim3 grid((n.x + block.x - 1) / block.x, (n.y + block.y - 1) / block.y, (n.z + block.z - 1) / block.z);
    around<<<grid, block>>>(dfrom, dto, n);
    CHECK_LAUNCH();
    dto.get(to.data());
    for (int x = 0; x < n.x; x++)
        for (int y = 0; y < n.y; y++)
            for (int z = 0; z < n.z; z++) {
                int at = (x * n.y + y) * n.z + z;
                bool edge = x < 1 || y < 1 || z < 1 || x >= n.x - 1 || y >= n.y - 1 || z >= n.z - 1;
                double want = edge ? 0
                                   : from[at - 1] + from[at + 1] - from[at - n.z] - from[at + n.z] + 2 * from[at - n.y * n.z] +
                                         3 * from[at + n.y * n.z];
                EXPECT(to[at] == want, "around %ux%ux%u: %d,%d,%d: %g, expected %g", block.x, block.y, block.z, x, y, z, to[at],
                       want);
            }
}

static void try_moved(int rows, int columns)
{
    std::vector<int> m(rows * columns), out(m.size());
    for (size_t i = 0; i < m.size(); i++)
        m[i] = (int)(i * 37 % 1009);
    Dev<int> d(m.data(), m.size());
    moved<<<1, dim3(32, columns)>>>(d, Size{ rows, columns, 1 });
    CHECK_LAUNCH();
    d.get(out.data());
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int want = m[(i > 0 ? i - 1 : i) * columns + j];
            EXPECT(out[i * columns + j] == want, "moved %d,%d: %d, expected %d", i, j, out[i * columns + j], want);
        }
    d.put(m.data());
    lowered<<<1, dim3(32, columns)>>>(d, Size{ rows, columns, 1 });
    CHECK_LAUNCH();
    d.get(out.data());
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int want = m[i * columns + j] - m[j];
            EXPECT(out[i * columns + j] == want, "lowered %d,%d: %d, expected %d", i, j, out[i * columns + j], want);
        }
}

static void try_lessened(int rows, int columns)
{
    std::vector<int> m(rows * columns), by(rows), lost(rows, 7), out(m.size()), left(rows);
    for (size_t i = 0; i < m.size(); i++)
        m[i] = (int)(i * 37 % 1009);
    for (int i = 0; i < rows; i++)
        by[i] = i * 53 % 199 - 50;
    Dev<int> d(m.data(), m.size()), dby(by.data(), by.size()), dlost(lost.data(), lost.size());
    lessened<<<1, dim3(32, columns)>>>(d, dby, dlost, Size{ rows, columns, 1 });
    CHECK_LAUNCH();
    d.get(out.data());
    dlost.get(left.data());
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            int old = m[i * columns + j], v = m[j] + by[i], want = v < old ? v : old;
            EXPECT(out[i * columns + j] == want, "lessened %d,%d: %d, expected %d", i, j, out[i * columns + j], want);
        }
        int want = lost[i] + m[(i + 1) * columns - 1] - out[(i + 1) * columns - 1];
        EXPECT(left[i] == want, "lost %d: %d, expected %d", i, left[i], want);
    }
}

int main()
{
    for (dim3 block : { dim3(16, 16), dim3(32, 32), dim3(8, 8), dim3(32, 8), dim3(8, 32), dim3(4, 64), dim3(1, 256), dim3(64, 1),
                        dim3(17, 9), dim3(5, 24), dim3(2, 16, 8), dim3(3, 8, 5) })
        try_shape(block, Size{ 37, 45, 19 });
    for (dim3 block :
         { dim3(8, 8, 8), dim3(4, 4, 32), dim3(2, 16, 16), dim3(16, 4, 8), dim3(3, 5, 24), dim3(32, 4, 2), dim3(1, 1, 64) })
        try_around(block, Size{ 21, 18, 43 });
    try_moved(32, 8);
    try_moved(20, 16);
    try_lessened(32, 8);
    try_lessened(21, 24);
    return check_done();
}
