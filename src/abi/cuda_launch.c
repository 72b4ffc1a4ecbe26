/* The driver API: functions, launching them, occupancy. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cuda_util.h"
#include "abi/launch.h"

/* ---- Functions. */

CUresult awcu_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    if (status)
        return cu_result(status);
    return pi ? cu_result(aw_func_attribute(func, (int)attrib, pi)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    return cu_result(status ? status : aw_func_set_attribute(func, (int)attrib, value));
}

CUresult awcu_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    return cu_result(status ? status : aw_cache_config_set(&func->cache_config, (int)config));
}

CUresult awcu_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    if (status)
        return cu_result(status);
    /* Banks are four bytes wide, as on CUDA devices since 5.0, where this call has no effect either. */
    return (unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    if (status)
        return cu_result(status);
    if (!hmod)
        return CUDA_ERROR_INVALID_VALUE;
    *hmod = (CUmodule)func->module;
    return CUDA_SUCCESS;
}

CUresult awcu_cuFuncGetName(const char **name, CUfunction hfunc)
{
    struct aw_func *func;
    enum aw_status status = cu_function(hfunc, &func);
    if (status)
        return cu_result(status);
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = func->name;
    return CUDA_SUCCESS;
}

CUresult awcu_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    struct aw_func *found;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    return paramOffset ? cu_result(aw_func_param(found, paramIndex, paramOffset, paramSize)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuFuncGetParamCount(CUfunction func, size_t *paramCount)
{
    struct aw_func *found;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    if (!paramCount)
        return CUDA_ERROR_INVALID_VALUE;
    *paramCount = found->kernel->n_params;
    return CUDA_SUCCESS;
}

CUresult awcu_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    struct aw_func *func;
    enum aw_status status = cu_function(function, &func);
    if (status)
        return cu_result(status);
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = __atomic_load_n(&func->code, __ATOMIC_ACQUIRE) ? CU_FUNCTION_LOADING_STATE_LOADED
                                                            : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult awcu_cuFuncLoad(CUfunction function)
{
    struct aw_func *func;
    const struct aw_code *code;
    enum aw_status status = cu_function(function, &func);
    return cu_result(status ? status : aw_func_code_any(func, &code));
}

/* ---- Launching. */

static enum aw_status launch(CUfunction f, struct aw_launch_args *args, const struct aw_abi_wishes *wishes, CUstream handle)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_func *func;
    enum aw_status status = cu_stream(handle, &ctx, &stream);
    if (status == AW_OK)
        status = aw_func_find(ctx, f, &func);
    return status ? status : aw_abi_launch(func, args, wishes, stream);
}

CUresult awcu_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                             unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ, unsigned int sharedMemBytes,
                             CUstream hStream, void **kernelParams, void **extra)
{
    struct aw_launch_args args = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes, false,
                                   kernelParams, extra };
    return cu_result(launch(f, &args, &(struct aw_abi_wishes){ 0 }, hStream));
}

CUresult awcu_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
                                        unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                                        unsigned int sharedMemBytes, CUstream hStream, void **kernelParams)
{
    struct aw_launch_args args = { { gridDimX, gridDimY, gridDimZ }, { blockDimX, blockDimY, blockDimZ }, sharedMemBytes, false,
                                   kernelParams, NULL };
    return cu_result(launch(f, &args, &(struct aw_abi_wishes){ .cooperative = true }, hStream));
}

static CUresult launch_ex(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra, CUstream default_stream)
{
    struct aw_abi_wishes wishes;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_abi_wishes_read(config->attrs, config->numAttrs, &wishes);
    struct aw_launch_args args = { { config->gridDimX, config->gridDimY, config->gridDimZ },
                                   { config->blockDimX, config->blockDimY, config->blockDimZ },
                                   config->sharedMemBytes, false, kernelParams, extra };
    return cu_result(status ? status : launch(f, &args, &wishes, config->hStream ? config->hStream : default_stream));
}

CUresult awcu_cuLaunchKernelEx_on(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra,
                                  CUstream default_stream)
{
    return launch_ex(config, f, kernelParams, extra, default_stream);
}

/* ---- Occupancy. */

CUresult awcu_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags)
{
    struct aw_func *found;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    if (!numBlocks || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    return cu_result(aw_func_occupancy(found, blockSize, dynamicSMemSize, numBlocks));
}

CUresult awcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize)
{
    return awcu_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

/* Tries whole numbers of warps from the largest block down and keeps the first that puts most threads on a multiprocessor. */
CUresult awcu_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
                                                        CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                                        int blockSizeLimit, unsigned int flags)
{
    struct aw_func *found;
    int most, best = 0, best_blocks = 0, best_size = 0;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    if (!minGridSize || !blockSize || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE || blockSizeLimit < 0)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_func_attribute(found, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &most);
    if (status)
        return cu_result(status);
    if (blockSizeLimit && blockSizeLimit < most)
        most = blockSizeLimit;
    for (int rounded = (most + 31) / 32 * 32; rounded > 0; rounded -= 32) {
        int size = rounded < most ? rounded : most, blocks;
        size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize(size) : dynamicSMemSize;
        status = aw_func_occupancy(found, size, shared, &blocks);
        if (status)
            return cu_result(status);
        if (size * blocks > best) {
            best = size * blocks;
            best_blocks = blocks;
            best_size = size;
        }
        if (best >= found->module->ctx->device->attr[AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR])
            break;
    }
    *minGridSize = best_blocks * found->module->ctx->device->attr[AW_DEV_MULTIPROCESSORS];
    *blockSize = best_size;
    return CUDA_SUCCESS;
}

CUresult awcu_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                               CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
                                               int blockSizeLimit)
{
    return awcu_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
                                                          dynamicSMemSize, blockSizeLimit, 0);
}

CUresult awcu_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func, int numBlocks, int blockSize)
{
    struct aw_func *found;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    if (!dynamicSmemSize)
        return CUDA_ERROR_INVALID_VALUE;
    return cu_result(aw_func_dynamic_shared(found, numBlocks, blockSize, dynamicSmemSize));
}

/* Without clusters of several blocks every block is a cluster. */
CUresult awcu_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction func, const CUlaunchConfig *config)
{
    int clusters;
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = awcu_cuOccupancyMaxActiveClusters(&clusters, func, config);
    if (result == CUDA_SUCCESS)
        *size = 1;
    return result;
}

CUresult awcu_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
    struct aw_func *found;
    enum aw_status status = cu_function(func, &found);
    if (status)
        return cu_result(status);
    if (!numClusters || !config)
        return CUDA_ERROR_INVALID_VALUE;
    const uint32_t block[3] = { config->blockDimX, config->blockDimY, config->blockDimZ };
    return cu_result(aw_abi_clusters(found, block, config->sharedMemBytes, config->attrs, config->numAttrs, numClusters));
}
