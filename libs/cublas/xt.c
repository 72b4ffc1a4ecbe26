/* Handles of cublasXt and their settings; a call is one of cuBLAS's that has ended when it returns.  Its functions are rows of
 * blas.tab.
 *
 * A matrix may be the host's or a device's, so the processor computes, on AMD's cards on copies of what is not the host's.  There
 * are no tiles, and one device takes part, the first of those selected: block dimension, pinning and the processor's share are
 * kept and change no result. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "xt.h"

#include <stdlib.h>

#include "cublas_proto.h"
#include "handle.h"

enum { MAGIC = 0x626c7874, BLOCK_DIM = 2048, MAX_BOARDS = 32, ROUTINES = 12, TYPES = 4 };

struct cublasXtContext {
    uint32_t magic;
    int block_dim;
    cublasXtPinnedMemMode_t pinning;
    cublasHandle_t blas; /* NULL until devices are selected */
    CUcontext ctx;       /* the device's */
};

static bool alive(cublasXtHandle_t handle)
{
    return handle && handle->magic == MAGIC;
}

cublasStatus_t awcublas_cublasXtCreate(cublasXtHandle_t *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cuInit(0) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    struct cublasXtContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUBLAS_STATUS_ALLOC_FAILED;
    h->magic = MAGIC;
    h->block_dim = BLOCK_DIM;
    *handle = h;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasXtDestroy(cublasXtHandle_t handle)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (handle->blas)
        awcublas_cublasDestroy_v2(handle->blas);
    handle->magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Devices */

static bool devices_exist(int n, const int *ids)
{
    int count = 0;
    if (n <= 0 || !ids || cuInit(0) != CUDA_SUCCESS || cuDeviceGetCount(&count) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= count)
            return false;
        for (int j = 0; j < i; j++)
            if (ids[j] == ids[i])
                return false;
    }
    return true;
}

cublasStatus_t awcublas_cublasXtDeviceSelect(cublasXtHandle_t handle, int nbDevices, int *deviceId)
{
    CUcontext before;
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (handle->blas || !devices_exist(nbDevices, deviceId))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (cuDevicePrimaryCtxRetain(&handle->ctx, deviceId[0]) != CUDA_SUCCESS || cuCtxPushCurrent_v2(handle->ctx) != CUDA_SUCCESS)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = awcublas_cublasCreate_v2(&handle->blas);
    if (status == CUBLAS_STATUS_SUCCESS)
        handle->blas->anywhere = true;
    cuCtxPopCurrent_v2(&before);
    return status;
}

cublasStatus_t awcublas_cublasXtGetNumBoards(int nbDevices, const int *deviceId, int *nbBoards)
{
    if (!nbBoards || !devices_exist(nbDevices, deviceId))
        return CUBLAS_STATUS_INVALID_VALUE;
    *nbBoards = nbDevices;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasXtMaxBoards(int *nbGpuBoards)
{
    if (!nbGpuBoards)
        return CUBLAS_STATUS_INVALID_VALUE;
    *nbGpuBoards = MAX_BOARDS;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Settings */

cublasStatus_t awcublas_cublasXtSetBlockDim(cublasXtHandle_t handle, int blockDim)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (blockDim <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->block_dim = blockDim;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasXtGetBlockDim(cublasXtHandle_t handle, int *blockDim)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!blockDim)
        return CUBLAS_STATUS_INVALID_VALUE;
    *blockDim = handle->block_dim;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasXtSetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t mode)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (mode != 0 && mode != 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    handle->pinning = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasXtGetPinningMemMode(cublasXtHandle_t handle, cublasXtPinnedMemMode_t *mode)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!mode)
        return CUBLAS_STATUS_INVALID_VALUE;
    *mode = handle->pinning;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t hint(cublasXtHandle_t handle, cublasXtBlasOp_t op, cublasXtOpType_t type, bool valid)
{
    if (!alive(handle))
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return op >= 0 && op < ROUTINES && type >= 0 && type < TYPES && valid ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t awcublas_cublasXtSetCpuRatio(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type, float ratio)
{
    return hint(handle, blasOp, type, ratio >= 0 && ratio <= 1);
}

cublasStatus_t awcublas_cublasXtSetCpuRoutine(cublasXtHandle_t handle, cublasXtBlasOp_t blasOp, cublasXtOpType_t type,
                                              void *blasFunctor)
{
    return hint(handle, blasOp, type, blasFunctor != NULL);
}

/* ---- Calls */

cublasStatus_t aw_blas_xt_call(struct aw_blas_function *f, cublasXtHandle_t handle, const union aw_blas_value v[])
{
    CUcontext before;
    if (!alive(handle) || !handle->blas || cuCtxPushCurrent_v2(handle->ctx) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    /* In the default stream: behind what programs gave to streams that do not ask for order of their own. */
    cublasStatus_t status = aw_blas_call(f, handle->blas, v);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_blas_status(cuStreamSynchronize(NULL));
    cuCtxPopCurrent_v2(&before);
    return status;
}
