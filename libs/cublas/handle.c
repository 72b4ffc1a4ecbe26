/* Handles of cuBLAS, their settings, and copies of vectors and matrices.  Not the functions that compute: those are made from
 * blas.tab. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "handle.h"

#include <stdlib.h>

#include "amd.h"
#include "cublas_proto.h"

enum { MAGIC = 0x626c6173 };

cublasStatus_t aw_blas_handle_check(cublasHandle_t handle)
{
    return handle && handle->magic == MAGIC ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t aw_blas_status(CUresult result)
{
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_EXECUTION_FAILED;
}

cublasStatus_t awcublas_cublasCreate_v2(cublasHandle_t *handle)
{
    if (!handle)
        return CUBLAS_STATUS_INVALID_VALUE;
    struct cublasContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUBLAS_STATUS_ALLOC_FAILED;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    h->magic = MAGIC;
    *handle = h;
    return CUBLAS_STATUS_SUCCESS;
}

/* Waits for the device, as the documentation of cublasCreate says: programs give work to a stream of their own, end the handle,
 * and read the results by way of another stream (MAGMA's solvers). */
cublasStatus_t awcublas_cublasDestroy_v2(cublasHandle_t handle)
{
    cublasStatus_t status = aw_blas_handle_check(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    aw_lib_queue_settle(&handle->queue);
    aw_amd_blas_drop(handle);
    handle->magic = 0;
    free(handle);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Settings: a getter and a setter each; `valid` says of a value whether it may be set. */

#define GETTER(function, type, field)                                          \
    cublasStatus_t awcublas_##function(cublasHandle_t handle, type *value)     \
    {                                                                          \
        cublasStatus_t status = aw_blas_handle_check(handle);                  \
        if (status == CUBLAS_STATUS_SUCCESS && !value)                         \
            status = CUBLAS_STATUS_INVALID_VALUE;                              \
        if (status == CUBLAS_STATUS_SUCCESS)                                   \
            *value = handle->field;                                            \
        return status;                                                         \
    }
#define SETTER(function, type, field, valid)                                   \
    cublasStatus_t awcublas_##function(cublasHandle_t handle, type value)      \
    {                                                                          \
        cublasStatus_t status = aw_blas_handle_check(handle);                  \
        if (status == CUBLAS_STATUS_SUCCESS && !(valid))                       \
            status = CUBLAS_STATUS_INVALID_VALUE;                              \
        if (status == CUBLAS_STATUS_SUCCESS)                                   \
            handle->field = value;                                             \
        return status;                                                         \
    }

GETTER(cublasGetPointerMode_v2, cublasPointerMode_t, pointer_mode)
SETTER(cublasSetPointerMode_v2, cublasPointerMode_t, pointer_mode, (unsigned)value <= CUBLAS_POINTER_MODE_DEVICE)
GETTER(cublasGetAtomicsMode, cublasAtomicsMode_t, atomics)
SETTER(cublasSetAtomicsMode, cublasAtomicsMode_t, atomics, (unsigned)value <= CUBLAS_ATOMICS_ALLOWED)
GETTER(cublasGetMathMode, cublasMath_t, math)
/* Modes 0 to 3, and bits for reduced precision in sums.  All are at least as exact here as asked for. */
SETTER(cublasSetMathMode, cublasMath_t, math, ((unsigned)value & 0xf) <= 4 && (unsigned)value < 0x1000)
GETTER(cublasGetSmCountTarget, int, sm_target)
SETTER(cublasSetSmCountTarget, int, sm_target, value >= 0)
GETTER(cublasGetStream_v2, cudaStream_t, queue.stream)

cublasStatus_t awcublas_cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    cublasStatus_t status = aw_blas_handle_check(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    handle->queue.stream = stream;
    handle->workspace = NULL; /* back to the library's own, as documented */
    handle->workspace_size = 0;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t size)
{
    cublasStatus_t status = aw_blas_handle_check(handle);
    if (status == CUBLAS_STATUS_SUCCESS && (uintptr_t)workspace % 256)
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS) {
        handle->workspace = workspace;
        handle->workspace_size = size;
    }
    return status;
}

/* ---- The logger's settings are kept; what there is to say goes to ANYWARP_LOG. */

static cublasLogCallback log_callback;

cublasStatus_t awcublas_cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char *file)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasSetLoggerCallback(cublasLogCallback callback)
{
    __atomic_store_n(&log_callback, callback, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublas_cublasGetLoggerCallback(cublasLogCallback *callback)
{
    if (!callback)
        return CUBLAS_STATUS_INVALID_VALUE;
    *callback = __atomic_load_n(&log_callback, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Copies between the host and the device: `rows` elements of `size` bytes in each of `cols` columns. */

static cublasStatus_t copy(int64_t rows, int64_t cols, int64_t size, const void *src, int64_t lds, void *dst, int64_t ldd,
                           bool async, cudaStream_t stream)
{
    struct aw_lib_queue queue = { 0 };
    if (rows < 0 || cols < 0 || size <= 0 || lds < 1 || ldd < 1 || lds < rows || ldd < rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (rows == 0 || cols == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (!src || !dst)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (aw_lib_queue_init(&queue) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .srcDevice = (CUdeviceptr)(uintptr_t)src,
                        .srcPitch = (size_t)(lds * size),
                        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                        .dstDevice = (CUdeviceptr)(uintptr_t)dst,
                        .dstPitch = (size_t)(ldd * size),
                        .WidthInBytes = (size_t)(rows * size), .Height = (size_t)cols };
    /* Dense, it is one run of bytes, which no bound on a pitch concerns. */
    if (cols == 1 || (lds == rows && ldd == rows)) {
        c.WidthInBytes = c.srcPitch = c.dstPitch = (size_t)(rows * cols * size);
        c.Height = 1;
    }
    CUresult result;
    if (c.Height == 1)
        result = async ? cuMemcpyAsync(c.dstDevice, c.srcDevice, c.WidthInBytes, stream)
                       : cuMemcpy(c.dstDevice, c.srcDevice, c.WidthInBytes);
    else
        result = async ? cuMemcpy2DAsync_v2(&c, stream) : cuMemcpy2DUnaligned_v2(&c);
    return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

/* A vector is a matrix of one row. */
#define COPIES(way)                                                                                                            \
    cublasStatus_t awcublas_cublas##way##Vector(int64_t n, int64_t size, const void *x, int64_t incx, void *y, int64_t incy)   \
    {                                                                                                                          \
        return incx == 1 && incy == 1 ? copy(n, 1, size, x, n > 0 ? n : 1, y, n > 0 ? n : 1, false, NULL)                      \
                                      : copy(1, n, size, x, incx, y, incy, false, NULL);                                       \
    }                                                                                                                          \
    cublasStatus_t awcublas_cublas##way##VectorAsync(int64_t n, int64_t size, const void *x, int64_t incx, void *y,            \
                                                     int64_t incy, cudaStream_t stream)                                        \
    {                                                                                                                          \
        return incx == 1 && incy == 1 ? copy(n, 1, size, x, n > 0 ? n : 1, y, n > 0 ? n : 1, true, stream)                     \
                                      : copy(1, n, size, x, incx, y, incy, true, stream);                                      \
    }                                                                                                                          \
    cublasStatus_t awcublas_cublas##way##Matrix(int64_t rows, int64_t cols, int64_t size, const void *a, int64_t lda, void *b, \
                                                int64_t ldb)                                                                   \
    {                                                                                                                          \
        return copy(rows, cols, size, a, lda, b, ldb, false, NULL);                                                            \
    }                                                                                                                          \
    cublasStatus_t awcublas_cublas##way##MatrixAsync(int64_t rows, int64_t cols, int64_t size, const void *a, int64_t lda,     \
                                                     void *b, int64_t ldb, cudaStream_t stream)                                \
    {                                                                                                                          \
        return copy(rows, cols, size, a, lda, b, ldb, true, stream);                                                           \
    }

COPIES(Set)
COPIES(Get)
