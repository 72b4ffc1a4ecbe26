// Functions that call functions that call functions, each at many places and for some lanes only: as machine code there is too
// much of them to have a copy for each call.
// variants: shared sm_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <vector>

enum { BLOCKS = 3, THREADS = 96, N = BLOCKS * THREADS };

__host__ __device__ __noinline__ unsigned inner(unsigned x, unsigned by)
{
    for (unsigned i = 0; i < (x & 3) + 2; i++)
        x = x % ((by & 0xffff) + 7) * 2654435761u + (x / ((by & 0xffff) + 3) ^ i);
    return x ^ x >> 15;
}

__host__ __device__ __noinline__ float scale(float x, unsigned by)
{
    return x / (float)((by & 0xffff) + 3) + sqrtf(x * x + (float)by);
}

/* Twelve calls, one behind the other, of which a lane makes those that its bits say. */
__host__ __device__ __noinline__ unsigned middle(unsigned x, unsigned bits)
{
#define CALL(i) if (bits >> (i) & 1) x = inner(x + (i), bits | 1) + (unsigned)(i)
    CALL(0); CALL(1); CALL(2); CALL(3); CALL(4); CALL(5); CALL(6); CALL(7); CALL(8); CALL(9); CALL(10); CALL(11);
#undef CALL
    return x + (unsigned)scale((float)(x & 1023), bits);
}

__host__ __device__ __noinline__ unsigned outer(unsigned x, unsigned bits)
{
#define CALL(i) if (!(bits >> (i) & 1)) x = middle(x + (i), x >> 7) ^ middle(bits + (i), ~bits)
    CALL(0); CALL(1); CALL(2); CALL(3); CALL(4); CALL(5); CALL(6); CALL(7);
#undef CALL
    return inner(x, bits);
}

__host__ __device__ unsigned all(unsigned t)
{
    unsigned x = t * 977 + 5;
    for (unsigned i = 0; i < (t & 1) + 1; i++) {
        x ^= t % 3 ? outer(x, t) : outer(~x, t * 13);
        x += t % 5 == 1 ? middle(x, t * 7) : t % 5 == 2 ? outer(x + 1, t * 11) : inner(x, t);
    }
    return x;
}

__global__ void nested(unsigned *out)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    out[t] = all(t);
}

int main()
{
    std::vector<unsigned> seen(N);
    unsigned *out;
    CHECK(cudaMalloc(&out, N * sizeof *out));
    nested<<<BLOCKS, THREADS>>>(out);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(seen.data(), out, N * sizeof *out, cudaMemcpyDeviceToHost));
    for (unsigned t = 0; t < N; t++)
        EXPECT(seen[t] == all(t), "thread %u: %x instead of %x", t, seen[t], all(t));
    CHECK(cudaFree(out));
    return check_done();
}
