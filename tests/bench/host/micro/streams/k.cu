/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void walk(unsigned *result, unsigned first, int count)
{
    unsigned v = first + threadIdx.x;

#pragma unroll 1
    for (int i = 0; i < count; i++)
        v = v * 1664525u + 1013904223u;
    result[first + threadIdx.x] = v;
}

static void run(void)
{
    static cudaStream_t streams[STREAMS];

    for (int i = 0; i < LAUNCHES; i++) {
        if (!streams[i % STREAMS])
            CHECK(cudaStreamCreateWithFlags(&streams[i % STREAMS], cudaStreamNonBlocking));
        walk<<<1, BLOCK, 0, streams[i % STREAMS]>>>(DEV(RESULT, unsigned), i * BLOCK, steps);
    }
}
