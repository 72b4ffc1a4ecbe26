/* The legacy interface: see legacy.h.  Its functions that compute are made by blas.py. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublas"
#include "legacy.h"

#include <ctype.h>
#include <pthread.h>

#include "base/log.h"
#include "common/driver.h"
#include "cublas_proto.h"
#include "handle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cublasHandle_t the_handle;
static cublasStatus_t last;

cublasHandle_t aw_blas_legacy_handle(void)
{
    return __atomic_load_n(&the_handle, __ATOMIC_ACQUIRE);
}

void aw_blas_legacy_end(cublasStatus_t status)
{
    if (status != CUBLAS_STATUS_SUCCESS)
        __atomic_store_n(&last, status, __ATOMIC_RELAXED);
}

static int letter_index(const char *letters, char letter)
{
    for (int i = 0; letters[i]; i++)
        if (letters[i] == tolower((unsigned char)letter))
            return i;
    return -1;
}

cublasOperation_t aw_blas_legacy_op(char letter) { return (cublasOperation_t)letter_index("ntc", letter); }
cublasFillMode_t aw_blas_legacy_uplo(char letter) { return (cublasFillMode_t)letter_index("lu", letter); }
cublasDiagType_t aw_blas_legacy_diag(char letter) { return (cublasDiagType_t)letter_index("nu", letter); }
cublasSideMode_t aw_blas_legacy_side(char letter) { return (cublasSideMode_t)letter_index("lr", letter); }

cublasStatus_t awcublas_cublasInit(void)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!the_handle) {
        cublasHandle_t made;
        status = awcublas_cublasCreate_v2(&made);
        if (status == CUBLAS_STATUS_SUCCESS)
            __atomic_store_n(&the_handle, made, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

cublasStatus_t awcublas_cublasShutdown(void)
{
    pthread_mutex_lock(&lock);
    cublasHandle_t old = the_handle;
    __atomic_store_n(&the_handle, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return awcublas_cublasDestroy_v2(old);
}

cublasStatus_t awcublas_cublasGetError(void)
{
    return __atomic_exchange_n(&last, CUBLAS_STATUS_SUCCESS, __ATOMIC_RELAXED);
}

cublasStatus_t awcublas_cublasSetKernelStream(cudaStream_t stream)
{
    return awcublas_cublasSetStream_v2(aw_blas_legacy_handle(), stream);
}

cublasStatus_t awcublas_cublasAlloc(int n, int size, void **ret_ptr)
{
    CUdeviceptr ptr;
    if (n <= 0 || size <= 0 || !ret_ptr)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasHandle_t handle = aw_blas_legacy_handle();
    if (!handle || aw_lib_queue_enter(&handle->queue) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (cuMemAlloc_v2(&ptr, (size_t)n * (size_t)size) != CUDA_SUCCESS)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *ret_ptr = (void *)(uintptr_t)ptr;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasFree(void *ptr)
{
    cublasHandle_t handle = aw_blas_legacy_handle();
    if (!handle || aw_lib_queue_enter(&handle->queue) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return cuMemFree_v2((CUdeviceptr)(uintptr_t)ptr) == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INTERNAL_ERROR;
}

void awcublas_cublasXerbla(const char *name, int info)
{
    aw_say(LEGACY_ARGUMENT, name, info);
}
