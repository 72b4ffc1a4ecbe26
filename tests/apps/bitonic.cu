// Bitonic sort: the outer stages one launch each over global memory, the inner ones in shared memory.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <algorithm>
#include <vector>

__device__ void order(unsigned &a, unsigned &b, bool up)
{
    if ((a > b) == up) {
        unsigned t = a;
        a = b;
        b = t;
    }
}

__global__ void step_global(unsigned *data, unsigned j, unsigned k)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
    if (other > i)
        order(data[i], data[other], (i & k) == 0);
}

__global__ void steps_shared(unsigned *data, unsigned j, unsigned k)
{
    extern __shared__ unsigned s[];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = data[i];
    __syncthreads();
    for (; j > 0; j >>= 1) {
        unsigned other = t ^ j;
        if (other > t)
            order(s[t], s[other], (i & k) == 0);
        __syncthreads();
    }
    data[i] = s[t];
}

int main()
{
    const unsigned n = 4096, block = 256;
    Rng rng(8);
    std::vector<unsigned> in(n), out(n);
    for (unsigned &v : in)
        v = rng.u32();
    in[5] = in[6] = in[7] = 0;
    in[100] = 0xffffffffu;
    Dev<unsigned> d(in.data(), n);
    for (unsigned k = 2; k <= n; k <<= 1) {
        unsigned j = k >> 1;
        for (; j >= block; j >>= 1)
            step_global<<<n / block, block>>>(d, j, k);
        steps_shared<<<n / block, block, block * sizeof(unsigned)>>>(d, j, k);
    }
    CHECK_LAUNCH();
    d.get(out.data());
    std::sort(in.begin(), in.end());
    for (unsigned i = 0; i < n; i++)
        EXPECT(out[i] == in[i], "i=%u: %u, expected %u", i, out[i], in[i]);
    return check_done();
}
