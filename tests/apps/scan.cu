// Exclusive prefix sum in three launches: Blelloch in shared memory per block, scan of the block sums, add back.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { BLOCK = 128, ITEMS = 2 * BLOCK };

__global__ void scan_block(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
    __shared__ unsigned s[ITEMS];
    int t = threadIdx.x, base = blockIdx.x * ITEMS;
    s[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
    s[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;
    int offset = 1;
    for (int d = ITEMS >> 1; d > 0; d >>= 1, offset <<= 1) {
        __syncthreads();
        if (t < d)
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    }
    if (t == 0) {
        sums[blockIdx.x] = s[ITEMS - 1];
        s[ITEMS - 1] = 0;
    }
    for (int d = 1; d < ITEMS; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            unsigned v = s[ai];
            s[ai] = s[bi];
            s[bi] += v;
        }
    }
    __syncthreads();
    for (int i = 2 * t; i < 2 * t + 2; i++)
        if (base + i < n)
            out[base + i] = s[i];
}

__global__ void add_back(unsigned *out, const unsigned *offsets, int n)
{
    int i = blockIdx.x * ITEMS + threadIdx.x;
    for (int k = 0; k < 2; k++, i += BLOCK)
        if (i < n)
            out[i] += offsets[blockIdx.x];
}

/* Inclusive scan of one block in double-buffered Hillis and Steele form, another barrier pattern. */
__global__ void scan_hillis(const int *in, int *out)
{
    extern __shared__ int buf[];
    int t = threadIdx.x, n = blockDim.x, from = 0;
    buf[t] = in[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        int to = 1 - from;
        buf[to * n + t] = t >= d ? buf[from * n + t] + buf[from * n + t - d] : buf[from * n + t];
        from = to;
        __syncthreads();
    }
    out[t] = buf[from * n + t];
}

int main()
{
    const int n = 20000, blocks = (n + ITEMS - 1) / ITEMS;
    Rng rng(7);
    std::vector<unsigned> in(n), out(n);
    for (unsigned &v : in)
        v = rng.below(1000);
    Dev<unsigned> din(in.data(), n), dout(n), sums(blocks), offsets(blocks), dummy(1);
    scan_block<<<blocks, BLOCK>>>(din, dout, sums, n);
    static_assert((20000 + ITEMS - 1) / ITEMS <= ITEMS, "one block scans the sums");
    scan_block<<<1, BLOCK>>>(sums, offsets, dummy, blocks);
    add_back<<<blocks, BLOCK>>>(dout, offsets, n);
    CHECK_LAUNCH();
    dout.get(out.data());
    unsigned want = 0;
    for (int i = 0; i < n; want += in[i], i++)
        EXPECT(out[i] == want, "i=%d: %u, expected %u", i, out[i], want);

    const int m = 331;
    std::vector<int> hin(m), hout(m);
    for (int &v : hin)
        v = (int)rng.below(100) - 50;
    Dev<int> dh(hin.data(), m), dho(m);
    scan_hillis<<<1, m, 2 * m * sizeof(int)>>>(dh, dho);
    CHECK_LAUNCH();
    dho.get(hout.data());
    for (int i = 0, sum = 0; i < m; i++) {
        sum += hin[i];
        EXPECT(hout[i] == sum, "hillis i=%d: %d, expected %d", i, hout[i], sum);
    }
    return check_done();
}
