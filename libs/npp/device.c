/* What NPP tells of itself and of the thread's device, and the one stream that functions without a context of their own work on.
 * Not image processing: of that there is nothing yet. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/queue.h"
#include "nppc_proto.h"

/* Numbers of attributes of a device. */
enum { MAX_THREADS_PER_BLOCK = 1, SHARED_PER_BLOCK = 8, SMS = 16, MAX_THREADS_PER_SM = 39, MAJOR = 75, MINOR = 76 };

/* Of the releases that the tables were taken from: those of CUDA 11.8, 12.9 and 13.2. */
const NppLibraryVersion *awnppc_nppGetLibVersion_11(void)
{
    static const NppLibraryVersion version = { 11, 8, 86 };
    return &version;
}

const NppLibraryVersion *awnppc_nppGetLibVersion_12(void)
{
    static const NppLibraryVersion version = { 12, 4, 87 };
    return &version;
}

const NppLibraryVersion *awnppc_nppGetLibVersion_13(void)
{
    static const NppLibraryVersion version = { 13, 2, 93 };
    return &version;
}

/* ---- Device */

/* The device of the thread's context, which is made where there is none; -1: there is no device. */
static CUdevice current(void)
{
    struct aw_lib_queue queue;
    CUdevice device;
    return aw_lib_queue_init(&queue) == CUDA_SUCCESS && cuCtxGetDevice(&device) == CUDA_SUCCESS ? device : -1;
}

/* An attribute, -1 where there is no device. */
static int attribute(CUdevice device, int number)
{
    int value;
    return device >= 0 && cuDeviceGetAttribute(&value, number, device) == CUDA_SUCCESS ? value : -1;
}

int awnppc_nppGetGpuNumSMs(void)
{
    return attribute(current(), SMS);
}

int awnppc_nppGetMaxThreadsPerBlock(void)
{
    return attribute(current(), MAX_THREADS_PER_BLOCK);
}

int awnppc_nppGetMaxThreadsPerSM(void)
{
    return attribute(current(), MAX_THREADS_PER_SM);
}

int awnppc_nppGetGpuDeviceProperties(int *threads_per_sm, int *threads_per_block, int *sms)
{
    CUdevice device = current();
    if (device < 0 || !threads_per_sm || !threads_per_block || !sms)
        return -1;
    *threads_per_sm = attribute(device, MAX_THREADS_PER_SM);
    *threads_per_block = attribute(device, MAX_THREADS_PER_BLOCK);
    *sms = attribute(device, SMS);
    return 0;
}

/* The thread's until it asks again. */
const char *awnppc_nppGetGpuName(void)
{
    static __thread char name[256];
    CUdevice device = current();
    return device >= 0 && cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS ? name : "";
}

/* ---- The stream, one for the process. */

static CUstream stream;

static CUstream chosen(void)
{
    return __atomic_load_n(&stream, __ATOMIC_ACQUIRE);
}

cudaStream_t awnppc_nppGetStream(void)
{
    return (cudaStream_t)chosen();
}

NppStatus awnppc_nppSetStream(cudaStream_t to)
{
    CUcontext ctx;
    if (current() < 0)
        return NPP_ERROR;
    if (cuStreamGetCtx((CUstream)to, &ctx) != CUDA_SUCCESS)
        return NPP_STREAM_CTX_ERROR;
    __atomic_store_n(&stream, (CUstream)to, __ATOMIC_RELEASE);
    return NPP_NO_ERROR;
}

/* The device that the stream is of. */
static CUdevice stream_device(void)
{
    CUcontext ctx, other;
    CUdevice device = current();
    if (device < 0 || cuStreamGetCtx(chosen(), &ctx) != CUDA_SUCCESS || cuCtxPushCurrent_v2(ctx) != CUDA_SUCCESS)
        return -1;
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
        device = -1;
    cuCtxPopCurrent_v2(&other);
    return device;
}

unsigned int awnppc_nppGetStreamNumSMs(void)
{
    int value = attribute(stream_device(), SMS);
    return value < 0 ? 0 : (unsigned)value;
}

unsigned int awnppc_nppGetStreamMaxThreadsPerSM(void)
{
    int value = attribute(stream_device(), MAX_THREADS_PER_SM);
    return value < 0 ? 0 : (unsigned)value;
}

NppStatus awnppc_nppGetStreamContext(NppStreamContext *context)
{
    CUdevice device = stream_device();
    unsigned flags;
    if (!context)
        return NPP_NULL_POINTER_ERROR;
    if (device < 0 || cuStreamGetFlags(chosen(), &flags) != CUDA_SUCCESS)
        return NPP_ERROR;
    *context = (NppStreamContext){
        .hStream = (cudaStream_t)chosen(), .nCudaDeviceId = device, .nMultiProcessorCount = attribute(device, SMS),
        .nMaxThreadsPerMultiProcessor = attribute(device, MAX_THREADS_PER_SM),
        .nMaxThreadsPerBlock = attribute(device, MAX_THREADS_PER_BLOCK),
        .nSharedMemPerBlock = (size_t)attribute(device, SHARED_PER_BLOCK),
        .nCudaDevAttrComputeCapabilityMajor = attribute(device, MAJOR),
        .nCudaDevAttrComputeCapabilityMinor = attribute(device, MINOR), .nStreamFlags = flags };
    return NPP_NO_ERROR;
}
