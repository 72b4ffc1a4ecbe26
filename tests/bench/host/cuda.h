/* The CUDA version of a benchmark: device memory, and launches on the default stream. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CUDA_H
#define CUDA_H
#define DEVICE "cuda"
#include "bench.h"
#include <cuda_runtime.h>

#define CHECK(call) cuda_check(call, #call)
/* A buffer's address on the device. */
#define DEV(id, type) ((type *)bench.buffers[id].device)

static void cuda_check(cudaError_t status, const char *call)
{
    if (status != cudaSuccess) {
        fprintf(stderr, "%s: %s: %s\n", ROW, call, cudaGetErrorString(status));
        exit(1);
    }
}

/* Blocks of `size` for `count` threads. */
static inline unsigned blocks(long count, int size)
{
    return (unsigned)((count + size - 1) / size);
}

static void device_open(void)
{
    for (int i = 0; i < bench.count; i++) {
        struct bench_buffer *b = &bench.buffers[i];
        CHECK(cudaMalloc(&b->device, b->bytes));
        CHECK(cudaMemcpy(b->device, b->host, b->bytes, cudaMemcpyHostToDevice));
    }
}

static void device_restore(void)
{
    for (int i = 0; i < bench.count; i++)
        if (bench.buffers[i].role == INOUT)
            CHECK(cudaMemcpy(bench.buffers[i].device, bench.buffers[i].first, bench.buffers[i].bytes, cudaMemcpyHostToDevice));
}

static void device_wait(void)
{
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

static void device_fetch(void)
{
    for (int i = 0; i < bench.count; i++)
        if (bench.buffers[i].role != IN)
            CHECK(cudaMemcpy(bench.buffers[i].host, bench.buffers[i].device, bench.buffers[i].bytes, cudaMemcpyDeviceToHost));
}
#endif
