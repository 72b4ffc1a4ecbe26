/* The driver API: launches as CUDA had them before 4.0, where a function holds its block's shape and its parameters between
 * calls. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"

#include <stdlib.h>
#include <string.h>

enum { PARAMS_MAX = 4096 };

/* What the calls before a launch have set; the function's, under its lock. */
struct aw_func_legacy {
    uint32_t block[3];
    unsigned shared;
    size_t size;              /* of the parameters, bytes */
    char params[PARAMS_MAX];
};

/* The function and its state, its lock held. */
static enum aw_status legacy_lock(CUfunction handle, struct aw_func **ret_func)
{
    enum aw_status status = cu_function(handle, ret_func);
    if (status)
        return status;
    struct aw_func *func = *ret_func;
    pthread_mutex_lock(&func->lock);
    if (!func->legacy)
        func->legacy = calloc(1, sizeof *func->legacy);
    if (func->legacy)
        return AW_OK;
    pthread_mutex_unlock(&func->lock);
    return AW_ERR_OUT_OF_MEMORY;
}

CUresult awcu_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
    struct aw_func *func;
    if (x <= 0 || y <= 0 || z <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = legacy_lock(hfunc, &func);
    if (status)
        return cu_result(status);
    func->legacy->block[0] = (uint32_t)x;
    func->legacy->block[1] = (uint32_t)y;
    func->legacy->block[2] = (uint32_t)z;
    pthread_mutex_unlock(&func->lock);
    return CUDA_SUCCESS;
}

CUresult awcu_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
    struct aw_func *func;
    enum aw_status status = legacy_lock(hfunc, &func);
    if (status)
        return cu_result(status);
    func->legacy->shared = bytes;
    pthread_mutex_unlock(&func->lock);
    return CUDA_SUCCESS;
}

CUresult awcu_cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
    struct aw_func *func;
    if (numbytes > PARAMS_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = legacy_lock(hfunc, &func);
    if (status)
        return cu_result(status);
    func->legacy->size = numbytes;
    pthread_mutex_unlock(&func->lock);
    return CUDA_SUCCESS;
}

CUresult awcu_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
    struct aw_func *func;
    if (offset < 0 || offset > PARAMS_MAX || numbytes > (unsigned)(PARAMS_MAX - offset) || (!ptr && numbytes))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = legacy_lock(hfunc, &func);
    if (status)
        return cu_result(status);
    if (numbytes)
        memcpy(func->legacy->params + offset, ptr, numbytes);
    pthread_mutex_unlock(&func->lock);
    return CUDA_SUCCESS;
}

CUresult awcu_cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
    return awcu_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult awcu_cuParamSetf(CUfunction hfunc, int offset, float value)
{
    return awcu_cuParamSetv(hfunc, offset, &value, sizeof value);
}

/* Works on a copy: a launch may compile, which takes the function's lock. */
static CUresult legacy_launch(CUfunction hfunc, int width, int height, CUstream stream)
{
    struct aw_func *func;
    if (width <= 0 || height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = legacy_lock(hfunc, &func);
    if (status)
        return cu_result(status);
    struct aw_func_legacy set = *func->legacy;
    pthread_mutex_unlock(&func->lock);
    if (!set.block[0])
        return CUDA_ERROR_INVALID_VALUE; /* no shape has been set */
    void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, set.params, CU_LAUNCH_PARAM_BUFFER_SIZE, &set.size, CU_LAUNCH_PARAM_END };
    return awcu_cuLaunchKernel(hfunc, (unsigned)width, (unsigned)height, 1, set.block[0], set.block[1], set.block[2], set.shared,
                               stream, NULL, extra);
}

CUresult awcu_cuLaunch(CUfunction f)
{
    return legacy_launch(f, 1, 1, NULL);
}

CUresult awcu_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
    return legacy_launch(f, grid_width, grid_height, NULL);
}

CUresult awcu_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
    return legacy_launch(f, grid_width, grid_height, hStream);
}
