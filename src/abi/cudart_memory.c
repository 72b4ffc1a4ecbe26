/* Runtime API: allocation, pinned and managed memory, what an address is, symbols.  Copies are in cudart_copy.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart.h"
#include "core/pool.h"

/* ---- Device memory */

cudaError_t awrt_cudaMalloc(void **ret_pointer, size_t size)
{
    struct aw_ctx *ctx;
    uintptr_t address = 0;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status && size)
        status = aw_mem_alloc(ctx, size, &address);
    if (!status)
        *ret_pointer = (void *)address;
    return aw_rt_error(status);
}

static cudaError_t pitch_alloc(size_t width, size_t rows, void **ret_pointer, size_t *ret_pitch)
{
    struct aw_ctx *ctx;
    uintptr_t address = 0;
    size_t pitch = 0;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status && width && rows)
        status = aw_mem_alloc_pitch(ctx, width, rows, 16, &address, &pitch);
    if (!status) {
        *ret_pointer = (void *)address;
        *ret_pitch = pitch;
    }
    return aw_rt_error(status);
}

cudaError_t awrt_cudaMallocPitch(void **ret_pointer, size_t *ret_pitch, size_t width, size_t height)
{
    return ret_pointer && ret_pitch ? pitch_alloc(width, height, ret_pointer, ret_pitch) : cudaErrorInvalidValue;
}

cudaError_t awrt_cudaMalloc3D(cudaPitchedPtr *ret_pitched, cudaExtent extent)
{
    size_t rows, pitch = 0;
    void *pointer = NULL;
    if (!ret_pitched || __builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudaErrorInvalidValue;
    cudaError_t error = pitch_alloc(extent.width, rows, &pointer, &pitch);
    if (!error)
        *ret_pitched = (cudaPitchedPtr){ pointer, pitch, extent.width, extent.height };
    return error;
}

cudaError_t awrt_cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    struct aw_ctx *ctx;
    size_t available, total;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_mem_info(ctx, &available, &total);
    if (!status && free_bytes)
        *free_bytes = available;
    if (!status && total_bytes)
        *total_bytes = total;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaMallocAsync(void **ret_pointer, size_t size, cudaStream_t handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    uintptr_t address = 0;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (!status && size)
        status = aw_mem_alloc_async(ctx, size, stream, &address);
    if (!status)
        *ret_pointer = (void *)address;
    return aw_rt_error(status);
}

/* ---- Host memory */

static cudaError_t host_alloc(void **ret_pointer, size_t size, unsigned flags)
{
    struct aw_ctx *ctx;
    void *pointer = NULL;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status && size)
        status = aw_mem_host_alloc(ctx, size, flags, &pointer);
    if (!status)
        *ret_pointer = pointer;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaHostAlloc(void **ret_pointer, size_t size, unsigned int flags)
{
    return host_alloc(ret_pointer, size, flags);
}

/* Of nothing there is none, which is no error to CUDA's runtime. */
cudaError_t awrt_cudaMallocManaged(void **ret_pointer, size_t size, unsigned int flags)
{
    struct aw_ctx *ctx;
    uintptr_t address = 0;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status && size)
        status = aw_mem_alloc_managed(ctx, size, flags, &address);
    if (!status)
        *ret_pointer = (void *)address;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaMallocHost(void **ret_pointer, size_t size)
{
    return host_alloc(ret_pointer, size, cudaHostAllocDefault);
}

cudaError_t awrt_cudaFreeHost(void *pointer)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_rt_ctx_any(&ctx);
    return aw_rt_error(status || !pointer ? status : aw_mem_host_free(pointer));
}

/* ---- What an address is */

static cudaError_t pointer_attributes(const void *pointer, cudaPointerAttributes_v11 *ret_attributes)
{
    struct aw_ctx *ctx;
    struct aw_mem mem;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    void *self = (void *)(uintptr_t)pointer;
    if (!aw_mem_find((uintptr_t)pointer, &mem)) {
        *ret_attributes = (cudaPointerAttributes_v11){ cudaMemoryTypeUnregistered, cudaInvalidDeviceId, NULL, self };
        return cudaSuccess;
    }
    int device = mem.device->ordinal;
    if (aw_mem_is_host(&mem))
        *ret_attributes = (cudaPointerAttributes_v11){ cudaMemoryTypeHost, device,
                                                       (void *)(mem.device_address + ((uintptr_t)pointer - mem.base)), self };
    else if (aw_mem_is_managed(&mem))
        *ret_attributes = (cudaPointerAttributes_v11){ cudaMemoryTypeManaged, device, self, self };
    else
        *ret_attributes = (cudaPointerAttributes_v11){ cudaMemoryTypeDevice, device, self, NULL };
    return cudaSuccess;
}

cudaError_t awrt_cudaPointerGetAttributes(cudaPointerAttributes_v11 *attributes, const void *pointer)
{
    return attributes ? pointer_attributes(pointer, attributes) : cudaErrorInvalidValue;
}

cudaError_t awrt_cudaPointerGetAttributes_v13(cudaPointerAttributes_v13 *attributes, const void *pointer)
{
    cudaPointerAttributes_v11 found = { 0 };
    if (!attributes)
        return cudaErrorInvalidValue;
    cudaError_t error = pointer_attributes(pointer, &found);
    if (!error)
        *attributes = (cudaPointerAttributes_v13){ found.type, found.device, found.devicePointer, found.hostPointer, { 0 } };
    return error;
}

/* ---- Symbols */

cudaError_t awrt_cudaGetSymbolAddress(void **ret_pointer, const void *symbol)
{
    struct aw_ctx *ctx;
    uintptr_t address;
    if (!ret_pointer)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_registry_symbol(ctx, symbol, &address, NULL);
    if (!status)
        *ret_pointer = (void *)address;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaGetSymbolSize(size_t *ret_size, const void *symbol)
{
    struct aw_ctx *ctx;
    if (!ret_size)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    return aw_rt_error(status ? status : aw_registry_symbol(ctx, symbol, NULL, ret_size));
}

cudaChannelFormatDesc awrt_cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind)
{
    return (cudaChannelFormatDesc){ x, y, z, w, kind };
}
