// A failed device assert: cudaErrorAssert, sticky, with CUDA's message on standard error for each of a warp's threads that fail;
// a true assert before it is silent.
// expect-stderr: (.*assert\.cu:\d+: .*check_value.*: block: \[2,0,0\], thread: \[[578],0,0\] Assertion `v < 197 \|\| v == 198` failed\.\n?){3}
// SPDX-License-Identifier: Apache-2.0
#undef NDEBUG
#include "check.h"
#include <cassert>

__global__ void check_value(int limit)
{
    int v = blockIdx.x * 96 + threadIdx.x;
    if (v < limit)
        assert(v < 197 || v == 198);
}

int main()
{
    check_value<<<3, 96>>>(197);
    CHECK_LAUNCH();
    check_value<<<3, 96>>>(201);
    CHECK(cudaGetLastError());
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorAssert);
    void *p;
    CHECK_ERR(cudaMalloc(&p, 16), cudaErrorAssert);
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorAssert), "cudaErrorAssert"), "%s", cudaGetErrorName(cudaErrorAssert));
    return check_done();
}
