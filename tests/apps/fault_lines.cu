// A wild access names its source line: the store in a function that was inlined, not the kernel that calls it.  A real card tells
// no place, a simulated one does.
// needs: -lineinfo
// devices: host sim
// expect-stderr: (kernel .*wild_store\(int\*, int, int\*\): illegal access to address 0x40 in block \(0,0,0\), warp 1, at |memory fault: store of 4 bytes at 0x40 .*wave (1 lane 8|0 lane 40), )\S*fault_lines\.cu:13\b
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <unistd.h>

template <class T> __device__ __forceinline__ void put(T *p, T v)
{
    if (p)
        *p = v;
}

__global__ void wild_store(int *p, int lane, int *out)
{
    out[threadIdx.x] = 1;
    if ((int)threadIdx.x == lane)
        put(p, 1);
    out[threadIdx.x] = 2;
}

int main()
{
    Dev<int> out(64);
    wild_store<<<1, 64>>>((int *)(uintptr_t)0x40, 40, out);
    CHECK(cudaGetLastError());
    CHECK_ERR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    int failed = check_done();
    std::fflush(stdout);
    _exit(failed); // what is left to clean up would fail
}
