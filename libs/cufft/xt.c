/* Descriptors of memory on several GPUs, of which there is one here. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cufft"
#include <stdlib.h>

#include "base/log.h"
#include "cufft_proto.h"
#include "plan.h"

enum { VERSION = 0x01000000, FORMAT_CUFFT = 0 };

cufftResult awcufft_cufftXtSetGPUs(cufftHandle handle, int n, int *which)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    CUdevice device;
    if (!plan || plan->shape)
        return CUFFT_INVALID_PLAN;
    if (n < 1 || !which)
        return CUFFT_INVALID_VALUE;
    if (n > 1) {
        aw_say(FFT_MULTI);
        return CUFFT_NOT_SUPPORTED;
    }
    if (aw_lib_queue_enter(&plan->queue) != CUDA_SUCCESS || cuCtxGetDevice(&device) != CUDA_SUCCESS || device != which[0])
        return CUFFT_INVALID_DEVICE;
    return CUFFT_SUCCESS;
}

/* Bytes of a plan's input, output, or both in one memory. */
static size_t size_of(const struct aw_fft_shape *shape, cufftXtSubFormat format)
{
    struct aw_fft_layout in, out;
    aw_fft_layouts(shape, format >= CUFFT_XT_FORMAT_INPLACE, &in, &out);
    size_t in_size = aw_fft_extent(&in, shape->rank, shape->batch, aw_fft_element(shape->in.type));
    size_t out_size = aw_fft_extent(&out, shape->rank, shape->batch, aw_fft_element(shape->out.type));
    if (format == CUFFT_XT_FORMAT_INPUT || format == CUFFT_XT_FORMAT_OUTPUT)
        return format == CUFFT_XT_FORMAT_INPUT ? in_size : out_size;
    return in_size > out_size ? in_size : out_size;
}

cufftResult awcufft_cufftXtMalloc(cufftHandle handle, cudaLibXtDesc **ret_descriptor, cufftXtSubFormat format)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    CUdeviceptr at;
    CUdevice device;
    if (!plan || !plan->shape)
        return CUFFT_INVALID_PLAN;
    if (!ret_descriptor || (unsigned)format > CUFFT_XT_FORMAT_INPLACE_SHUFFLED)
        return CUFFT_INVALID_VALUE;
    cudaLibXtDesc *d = calloc(1, sizeof *d);
    cudaXtDesc *memory = calloc(1, sizeof *memory);
    size_t size = size_of(plan->shape, format);
    if (!d || !memory || aw_lib_queue_enter(&plan->queue) != CUDA_SUCCESS || cuCtxGetDevice(&device) != CUDA_SUCCESS ||
        cuMemAlloc_v2(&at, size) != CUDA_SUCCESS) {
        free(d);
        free(memory);
        return CUFFT_ALLOC_FAILED;
    }
    memory->version = d->version = VERSION;
    memory->nGPUs = 1;
    memory->GPUs[0] = device;
    memory->data[0] = (void *)(uintptr_t)at;
    memory->size[0] = size;
    d->descriptor = memory;
    d->library = FORMAT_CUFFT;
    d->subFormat = format;
    *ret_descriptor = d;
    return CUFFT_SUCCESS;
}

cufftResult awcufft_cufftXtFree(cudaLibXtDesc *d)
{
    if (!d)
        return CUFFT_SUCCESS;
    CUresult result = d->descriptor ? cuMemFree_v2((CUdeviceptr)(uintptr_t)d->descriptor->data[0]) : CUDA_SUCCESS;
    free(d->descriptor);
    free(d);
    return result == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_INTERNAL_ERROR;
}

static const cudaXtDesc *memory_of(const cudaLibXtDesc *d)
{
    return d && d->library == FORMAT_CUFFT && d->descriptor && d->descriptor->nGPUs == 1 ? d->descriptor : NULL;
}

/* Device to host waits for the plan's stream: it may have the transform yet to do. */
cufftResult awcufft_cufftXtMemcpy(cufftHandle handle, void *dst, void *src, cufftXtCopyType type)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (!dst || !src || (unsigned)type > CUFFT_COPY_DEVICE_TO_DEVICE)
        return CUFFT_INVALID_VALUE;
    const cudaXtDesc *to = type == CUFFT_COPY_DEVICE_TO_HOST ? NULL : memory_of(dst),
                     *from = type == CUFFT_COPY_HOST_TO_DEVICE ? NULL : memory_of(src);
    if ((type != CUFFT_COPY_DEVICE_TO_HOST && !to) || (type != CUFFT_COPY_HOST_TO_DEVICE && !from))
        return CUFFT_INVALID_VALUE;
    size_t size = to && from ? (to->size[0] < from->size[0] ? to->size[0] : from->size[0]) : to ? to->size[0] : from->size[0];
    CUresult result = aw_lib_queue_enter(&plan->queue);
    if (result == CUDA_SUCCESS)
        result = cuMemcpyAsync((CUdeviceptr)(uintptr_t)(to ? to->data[0] : dst),
                               (CUdeviceptr)(uintptr_t)(from ? from->data[0] : src), size, plan->queue.stream);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(plan->queue.stream);
    return result == CUDA_SUCCESS ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

cufftResult awcufft_cufftXtExecDescriptor(cufftHandle handle, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction)
{
    const struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    const cudaXtDesc *from = memory_of(in), *to = memory_of(out);
    if (!plan || !plan->shape)
        return CUFFT_INVALID_PLAN;
    bool in_place = in == out;
    if (!from || !to || from->size[0] < size_of(plan->shape, in_place ? CUFFT_XT_FORMAT_INPLACE : CUFFT_XT_FORMAT_INPUT) ||
        to->size[0] < size_of(plan->shape, in_place ? CUFFT_XT_FORMAT_INPLACE : CUFFT_XT_FORMAT_OUTPUT))
        return CUFFT_INVALID_VALUE;
    return aw_fft_exec(plan, from->data[0], to->data[0], direction);
}

static cufftResult typed(cufftHandle handle, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction, cudaDataType in_type,
                         cudaDataType out_type)
{
    const struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (plan && plan->shape && (plan->shape->in.type != in_type || plan->shape->out.type != out_type))
        return CUFFT_INVALID_TYPE;
    return awcufft_cufftXtExecDescriptor(handle, in, out, direction);
}

cufftResult awcufft_cufftXtExecDescriptorC2C(cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction)
{
    return typed(plan, in, out, direction, CUDA_C_32F, CUDA_C_32F);
}

cufftResult awcufft_cufftXtExecDescriptorZ2Z(cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out, int direction)
{
    return typed(plan, in, out, direction, CUDA_C_64F, CUDA_C_64F);
}

#define ONE_WAY(kind, direction, in_type, out_type)                                                          \
    cufftResult awcufft_cufftXtExecDescriptor##kind(cufftHandle plan, cudaLibXtDesc *in, cudaLibXtDesc *out) \
    {                                                                                                        \
        return typed(plan, in, out, direction, in_type, out_type);                                           \
    }
ONE_WAY(R2C, CUFFT_FORWARD, CUDA_R_32F, CUDA_C_32F)
ONE_WAY(C2R, CUFFT_INVERSE, CUDA_C_32F, CUDA_R_32F)
ONE_WAY(D2Z, CUFFT_FORWARD, CUDA_R_64F, CUDA_C_64F)
ONE_WAY(Z2D, CUFFT_INVERSE, CUDA_C_64F, CUDA_R_64F)
