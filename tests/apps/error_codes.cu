// The runtime's error state: what wrong calls return, that launch errors wait for cudaGetLastError, that peeking keeps them, that
// ordinary errors are not sticky, and error names and texts.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

// CUDA 13 leaves both to the driver.
static const cudaError_t BAD_SHAPE = CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
static const cudaError_t NO_KERNEL = CUDART_VERSION >= 13000 ? cudaErrorInvalidResourceHandle : cudaErrorInvalidDeviceFunction;

__global__ void nothing() {}

__global__ void __launch_bounds__(64) bounded(int *out)
{
    *out = 1;
}

__global__ void set(int *out, int v)
{
    *out = v;
}

static int not_a_kernel;

static void launches()
{
    nothing<<<1, 1025>>>();
    CHECK_ERR(cudaPeekAtLastError(), BAD_SHAPE);
    CHECK_ERR(cudaGetLastError(), BAD_SHAPE);
    CHECK_ERR(cudaGetLastError(), cudaSuccess);
    nothing<<<0, 32>>>();
    CHECK_ERR(cudaGetLastError(), BAD_SHAPE);
    nothing<<<1, 0>>>();
    CHECK_ERR(cudaGetLastError(), BAD_SHAPE);
    nothing<<<1, dim3(1, 1, 65)>>>();
    CHECK_ERR(cudaGetLastError(), BAD_SHAPE);
    nothing<<<dim3(1, 65536, 1), 1>>>();
    CHECK_ERR(cudaGetLastError(), BAD_SHAPE);
    nothing<<<1, 1, 10 << 20>>>();
    CHECK_ERR(cudaGetLastError(), cudaErrorInvalidValue);
    Dev<int> d(1);
    bounded<<<1, 65>>>(d);
    EXPECT(cudaGetLastError() != cudaSuccess, "more threads than the launch bounds were accepted");
    CHECK_ERR(cudaLaunchKernel((const void *)&not_a_kernel, dim3(1), dim3(1), nullptr, 0, nullptr),
              NO_KERNEL);
    cudaGetLastError();
    set<<<1, 1>>>(d, 9);
    CHECK_LAUNCH();
    int v;
    d.get(&v);
    EXPECT(v == 9, "after all these errors a kernel gave %d", v);
}

static void calls()
{
    void *p;
    int n;
    Dev<int> d(4);
    CHECK_ERR(cudaMalloc(nullptr, 16), cudaErrorInvalidValue);
    CHECK_ERR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK_ERR(cudaGetLastError(), cudaSuccess);
    CHECK_ERR(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
    CHECK_ERR(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK_ERR(cudaSetDevice(1000), cudaErrorInvalidDevice);
    CHECK_ERR(cudaDeviceGetAttribute(&n, cudaDevAttrWarpSize, 1000), cudaErrorInvalidDevice);
    CHECK_ERR(cudaDeviceGetAttribute(&n, (cudaDeviceAttr)100000, 0), cudaErrorInvalidValue);
    CHECK_ERR(cudaMemcpy(d, &n, 4, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
    CHECK_ERR(cudaMemcpyToSymbol(not_a_kernel, &n, 4), cudaErrorInvalidSymbol);
    CHECK_ERR(cudaFree((void *)&n), cudaErrorInvalidValue);
    CHECK_ERR(cudaFree(nullptr), cudaSuccess);
    CHECK_ERR(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(cudaMalloc(&p, 0));
    EXPECT(p == nullptr, "cudaMalloc of nothing gave %p", p);
    CHECK(cudaMemcpy(d, &n, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaGetLastError() == cudaSuccess, "an error was left behind");
}

static void names()
{
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"), "%s",
           cudaGetErrorName(cudaErrorInvalidValue));
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorNoKernelImageForDevice), "cudaErrorNoKernelImageForDevice"), "%s",
           cudaGetErrorName(cudaErrorNoKernelImageForDevice));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"), "%s",
           cudaGetErrorString(cudaErrorInvalidValue));
    EXPECT(!strcmp(cudaGetErrorString(cudaSuccess), "no error"), "%s", cudaGetErrorString(cudaSuccess));
    EXPECT(!strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered"), "%s",
           cudaGetErrorString(cudaErrorIllegalAddress));
    EXPECT(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"), "%s",
           cudaGetErrorName((cudaError_t)12345));
    EXPECT(!strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code"), "%s",
           cudaGetErrorString((cudaError_t)12345));
}

static void device_facts()
{
    int count, device, runtime, driver, warp;
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDevice(&device));
    CHECK(cudaGetDeviceProperties(&prop, device));
    CHECK(cudaRuntimeGetVersion(&runtime));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, 0));
    EXPECT(count >= 1 && device == 0, "%d devices, current %d", count, device);
    EXPECT(runtime == CUDART_VERSION && driver >= runtime, "runtime %d driver %d", runtime, driver);
    EXPECT(warp == 32 && prop.warpSize == 32, "warp size %d %d", warp, prop.warpSize);
    EXPECT(prop.maxThreadsPerBlock == 1024 && prop.maxThreadsDim[2] == 64 && prop.maxGridSize[0] == 2147483647 &&
               prop.maxGridSize[1] == 65535,
           "limits %d %d %d %d", prop.maxThreadsPerBlock, prop.maxThreadsDim[2], prop.maxGridSize[0], prop.maxGridSize[1]);
    EXPECT(prop.totalGlobalMem > 0 && prop.multiProcessorCount > 0 && prop.major >= 5 && prop.name[0], "%zu %d %d.%d '%s'",
           prop.totalGlobalMem, prop.multiProcessorCount, prop.major, prop.minor, prop.name);
    size_t free_bytes, total;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    EXPECT(free_bytes > 0 && free_bytes <= total, "%zu of %zu free", free_bytes, total);
}

int main()
{
    launches();
    calls();
    names();
    device_facts();
    return check_done();
}
