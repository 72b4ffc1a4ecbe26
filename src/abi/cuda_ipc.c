/* The driver API: memory, pools and events of other processes, values in memory that streams write and wait for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ipc.h"
#include "core/pool.h"

#include <string.h>

#include "abi/cuda_util.h"

enum { LAZY_PEER = 1 };                                  /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */
enum { WAIT_HOW = 3, WAIT_FLUSH = 1 << 30, WRITE_NO_BARRIER = 1 }; /* CU_STREAM_WAIT_VALUE_*, CU_STREAM_WRITE_VALUE_* */
enum { OP_WAIT_32 = 1, OP_WRITE_32, OP_FLUSH, OP_WAIT_64, OP_WRITE_64, OP_BARRIER }; /* CUstreamBatchMemOpType */

_Static_assert(sizeof(CUipcMemHandle) == sizeof(struct aw_ipc_handle) &&
                   sizeof(CUipcEventHandle) == sizeof(struct aw_ipc_handle) &&
                   sizeof(CUmemPoolPtrExportData) == sizeof(struct aw_ipc_handle),
               "handles are 64 bytes in all of CUDA, HIP and the seam");

/* ---- Sharing. */

CUresult awcu_cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr)
{
    struct aw_ctx *ctx;
    struct aw_ipc_handle handle;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK && !pHandle)
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_ipc_mem_get(ctx, dptr, &handle);
    if (status == AW_OK)
        memcpy(pHandle, &handle, sizeof handle);
    return cu_result(status);
}

CUresult awcu_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle given, unsigned int Flags)
{
    struct aw_ctx *ctx;
    struct aw_ipc_handle handle;
    uintptr_t address;
    enum aw_status status = aw_ctx_current(&ctx);
    memcpy(&handle, &given, sizeof handle);
    if (status == AW_OK && (!pdptr || Flags != LAZY_PEER))
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_ipc_mem_open(ctx, &handle, &address);
    if (status == AW_OK)
        *pdptr = address;
    return cu_result(status);
}

CUresult awcu_cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags)
{
    return awcu_cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

CUresult awcu_cuIpcCloseMemHandle(CUdeviceptr dptr)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    return cu_result(status ? status : aw_ipc_mem_close(dptr));
}

CUresult awcu_cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent hEvent)
{
    struct aw_ctx *ctx;
    struct aw_ipc_handle handle;
    struct aw_cevent *event = aw_event_from(hEvent);
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK && (!pHandle || !event))
        status = pHandle ? AW_ERR_INVALID_HANDLE : AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_ipc_event_get(event, &handle);
    if (status == AW_OK)
        memcpy(pHandle, &handle, sizeof handle);
    else if (pHandle) /* so programs tell: NVIDIA's Warp looks for zeros, not at the result */
        memset(pHandle, 0, sizeof *pHandle);
    return cu_result(status);
}

CUresult awcu_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle given)
{
    struct aw_ctx *ctx;
    struct aw_ipc_handle handle;
    struct aw_cevent *event;
    enum aw_status status = aw_ctx_current(&ctx);
    memcpy(&handle, &given, sizeof handle);
    if (status == AW_OK && !phEvent)
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_ipc_event_open(ctx, &handle, &event);
    if (status == AW_OK)
        *phEvent = (CUevent)event;
    return cu_result(status);
}

/* ---- Values in memory.  The forms of CUDA 8 and of 11.7 agree here. */

static CUresult value_write(CUstream handle, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK && flags & ~(unsigned)WRITE_NO_BARRIER)
        status = AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_stream_write_value(stream, address, value, bytes));
}

static CUresult value_wait(CUstream handle, CUdeviceptr address, uint64_t value, unsigned bytes, unsigned flags)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK && flags & ~(unsigned)(WAIT_HOW | WAIT_FLUSH))
        status = AW_ERR_INVALID_VALUE;
    return cu_result(status ? status : aw_stream_wait_value(stream, address, value, bytes, flags & WAIT_HOW));
}

CUresult awcu_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_write(stream, addr, value, 4, flags);
}

CUresult awcu_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_write(stream, addr, value, 4, flags);
}

CUresult awcu_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_write(stream, addr, value, 8, flags);
}

CUresult awcu_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_write(stream, addr, value, 8, flags);
}

CUresult awcu_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_wait(stream, addr, value, 4, flags);
}

CUresult awcu_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return value_wait(stream, addr, value, 4, flags);
}

CUresult awcu_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_wait(stream, addr, value, 8, flags);
}

CUresult awcu_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return value_wait(stream, addr, value, 8, flags);
}

static CUresult batch_one(CUstream stream, const CUstreamBatchMemOpParams *op)
{
    switch ((int)op->operation) {
    case OP_WAIT_32:
        return value_wait(stream, op->waitValue.address, (cuuint32_t)op->waitValue.value, 4, op->waitValue.flags);
    case OP_WAIT_64:
        return value_wait(stream, op->waitValue.address, op->waitValue.value, 8, op->waitValue.flags);
    case OP_WRITE_32:
        return value_write(stream, op->writeValue.address, (cuuint32_t)op->writeValue.value, 4, op->writeValue.flags);
    case OP_WRITE_64:
        return value_write(stream, op->writeValue.address, op->writeValue.value, 8, op->writeValue.flags);
    case OP_FLUSH: /* whatever a stream did is visible to what it does next */
    case OP_BARRIER:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult awcu_cuStreamBatchMemOp(CUstream stream, unsigned int count, const CUstreamBatchMemOpParams *paramArray,
                                 unsigned int flags)
{
    if (flags || count > 256 || (count && !paramArray))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        CUresult result = batch_one(stream, &paramArray[i]);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, const CUstreamBatchMemOpParams *paramArray,
                                    unsigned int flags)
{
    return awcu_cuStreamBatchMemOp(stream, count, paramArray, flags);
}

/* ---- Pools. */

CUresult awcu_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handleType,
                                               unsigned long long flags)
{
    struct aw_pool *found = aw_pool_from(pool);
    int fd;
    if (!handle_out || !found || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    enum aw_status status = aw_pool_export(found, &fd);
    if (status == AW_OK)
        memcpy(handle_out, &fd, sizeof fd);
    return cu_result(status);
}

/* A file descriptor comes as the pointer's value. */
CUresult awcu_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle, CUmemAllocationHandleType handleType,
                                                 unsigned long long flags)
{
    struct aw_pool *pool;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!pool_out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    status = aw_pool_import((int)(intptr_t)handle, &pool);
    if (status == AW_OK)
        *pool_out = (CUmemoryPool)pool;
    return cu_result(status);
}

CUresult awcu_cuMemPoolExportPointer(CUmemPoolPtrExportData *shareData_out, CUdeviceptr ptr)
{
    struct aw_ipc_handle handle;
    enum aw_status status = aw_core_ready();
    if (status == AW_OK && !shareData_out)
        status = AW_ERR_INVALID_VALUE;
    if (status == AW_OK)
        status = aw_pool_pointer_get(ptr, &handle);
    if (status == AW_OK)
        memcpy(shareData_out, &handle, sizeof handle);
    return cu_result(status);
}

CUresult awcu_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool, const CUmemPoolPtrExportData *shareData)
{
    struct aw_ctx *ctx;
    struct aw_ipc_handle handle;
    uintptr_t address;
    struct aw_pool *found = aw_pool_from(pool);
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK && (!ptr_out || !found || !shareData))
        status = AW_ERR_INVALID_VALUE;
    if (status)
        return cu_result(status);
    memcpy(&handle, shareData, sizeof handle);
    status = aw_pool_pointer_open(ctx, found, &handle, &address);
    if (status == AW_OK)
        *ptr_out = address;
    return cu_result(status);
}
