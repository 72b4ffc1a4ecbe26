// A program that is linked with CUDA's device runtime, whose object has PTX where the program itself, built for one card, has
// machine code alone: its kernels are in the linked machine code.
// needs: -rdc=true
// link: -lcudadevrt
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

static __device__ int scale = 3;

__global__ void plain(int *x) { x[threadIdx.x] = scale * threadIdx.x; }

__global__ void starts(int *x) { plain<<<1, 8>>>(x); } /* it is what the runtime is linked for */

int main()
{
    int got[8];
    Dev<int> x(8);
    plain<<<1, 8>>>(x);
    CHECK_LAUNCH();
    x.get(got);
    for (int i = 0; i < 8; i++)
        EXPECT(got[i] == 3 * i, "%d is %d", i, got[i]);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, starts));
    return check_done();
}
