/* Runtime API: what nvcc's host code calls to register and launch kernels, function attributes, occupancy. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include <string.h>

#include "abi/cudart.h"
#include "abi/launch.h"

#include "base/log.h"

/* ---- Registration */

void **awrt___cudaRegisterFatBinary(void *wrapper)
{
    return (void **)aw_registry_fatbin(wrapper);
}

void awrt___cudaRegisterFatBinaryEnd(void **fatbin)
{
    if (fatbin)
        aw_registry_fatbin_end((struct aw_registered_fatbin *)fatbin);
}

void awrt___cudaUnregisterFatBinary(void **fatbin)
{
    if (fatbin)
        aw_registry_unregister((struct aw_registered_fatbin *)fatbin);
}

void awrt___cudaRegisterFunction(void **fatbin, const char *host, char *device_name, const char *name, int thread_limit,
                                 void *tid, void *bid, void *block, void *grid, int *warp_size)
{
    if (fatbin && name)
        aw_registry_function((struct aw_registered_fatbin *)fatbin, host, name);
}

static void register_var(void **fatbin, const void *host, const char *name, size_t size, enum aw_registered_var_kind kind)
{
    if (fatbin && name)
        aw_registry_var((struct aw_registered_fatbin *)fatbin, host, name, size, kind);
}

void awrt___cudaRegisterVar(void **fatbin, char *host, char *device_name, const char *name, int ext, size_t size, int constant,
                            int global)
{
    register_var(fatbin, host, name, size, constant ? AW_REGISTERED_CONST : AW_REGISTERED_VAR);
}

void awrt___cudaRegisterManagedVar(void **fatbin, void **host, char *device_name, const char *name, int ext, size_t size,
                                   int constant, int global)
{
    register_var(fatbin, host, name, size, AW_REGISTERED_MANAGED);
}

void awrt___cudaRegisterHostVar(void **fatbin, const char *name, char *host, size_t size)
{
    aw_say(HOST_VARIABLE, name ? name : "(no name)");
}

/* The name in PTX of a reference whose C++ name nvcc registers: that of a static one begins with "::". */
static const char *reference_name(const char *name)
{
    return name && !strncmp(name, "::", 2) ? name + 2 : name;
}

void awrt___cudaRegisterTexture(void **fatbin, const void *host, const void **device, const char *name, int dim, int normalized,
                                int ext)
{
    register_var(fatbin, host, reference_name(name), normalized != 0, AW_REGISTERED_TEXTURE);
}

void awrt___cudaRegisterSurface(void **fatbin, const void *host, const void **device, const char *name, int dim, int ext)
{
    register_var(fatbin, host, reference_name(name), 0, AW_REGISTERED_SURFACE);
}

void awrt___cudaRegisterUnifiedTable(void **fatbin, void *table)
{
    aw_say(UNIFIED_TABLE);
}

/* Called before the host touches a managed variable; nonzero: it may. */
char awrt___cudaInitModule(void **fatbin)
{
    struct aw_ctx *ctx;
    enum aw_status status = fatbin ? aw_rt_ctx(&ctx) : AW_ERR_INVALID_VALUE;
    if (!status)
        status = aw_registry_init_managed((struct aw_registered_fatbin *)fatbin, ctx);
    if (status)
        aw_rt_error_set(aw_rt_error(status));
    return status == AW_OK;
}

/* ---- Functions */

enum aw_status aw_rt_kernel(const void *func, struct aw_kernel **ret_kernel)
{
    struct aw_kernel *kernel = aw_kernel_from(func);
    if (!kernel)
        return aw_registry_kernel(func, ret_kernel);
    *ret_kernel = kernel;
    return AW_OK;
}

enum aw_status aw_rt_func(struct aw_ctx *ctx, const void *func, struct aw_func **ret_func)
{
    struct aw_kernel *kernel;
    if (aw_slab_valid(&aw_func_slab, func))
        return aw_func_find(ctx, func, ret_func);
    enum aw_status status = aw_rt_kernel(func, &kernel);
    return status ? status : aw_kernel_func(kernel, ctx, ret_func);
}

static cudaError_t kernel_handle(const void *func, cudaKernel_t *ret_handle)
{
    struct aw_kernel *kernel;
    if (!ret_handle || !func)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_kernel(func, &kernel);
    if (!status)
        *ret_handle = (cudaKernel_t)kernel;
    return aw_rt_error(status);
}

cudaError_t awrt___cudaGetKernel(cudaKernel_t *ret_handle, const void *func)
{
    return kernel_handle(func, ret_handle);
}

cudaError_t awrt_cudaGetKernel(cudaKernel_t *ret_handle, const void *func)
{
    return kernel_handle(func, ret_handle);
}

cudaError_t awrt_cudaGetFuncBySymbol(cudaFunction_t *ret_handle, const void *symbol)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!ret_handle)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_func(ctx, symbol, &func);
    if (!status)
        *ret_handle = (cudaFunction_t)func;
    return aw_rt_error(status);
}

CUfunction aw_abi_activity_function(const void *symbol)
{
    cudaFunction_t func = NULL;
    return awrt_cudaGetFuncBySymbol(&func, symbol) == cudaSuccess ? (CUfunction)func : NULL;
}

/* ---- Launch */

static cudaError_t launch(const void *symbol, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t handle,
                          const struct aw_abi_wishes *wishes)
{
    struct aw_ctx *ctx;
    struct aw_cstream *stream;
    struct aw_func *func;
    enum aw_status status = aw_rt_stream(handle, &ctx, &stream);
    if (!status)
        status = aw_rt_func(ctx, symbol, &func);
    if (status)
        return aw_rt_error(status);
    struct aw_kernel *kernel = aw_kernel_from(symbol);
    const void *host = kernel ? __atomic_load_n(&kernel->host, __ATOMIC_RELAXED) : NULL;
    struct aw_launch_args what = { .grid = { grid.x, grid.y, grid.z }, .block = { block.x, block.y, block.z },
                                   .shared_bytes = shared, .params = args, .symbol = host ?: symbol };
    return aw_rt_error(aw_abi_launch(func, &what, wishes, stream));
}

cudaError_t awrt_cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, &(struct aw_abi_wishes){ 0 });
}

cudaError_t awrt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch(kernel, grid, block, args, shared, stream, &(struct aw_abi_wishes){ 0 });
}

cudaError_t awrt_cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                                             cudaStream_t stream)
{
    return launch(func, grid, block, args, shared, stream, &(struct aw_abi_wishes){ .cooperative = true });
}

/* CUDA 13 leaves these to the driver: a configuration is a bad argument, and what is no kernel a bad handle. */
static cudaError_t error_13(const void *func, cudaError_t error)
{
    return !func                                     ? error
           : error == cudaErrorInvalidConfiguration    ? cudaErrorInvalidValue
           : error == cudaErrorInvalidDeviceFunction ? cudaErrorInvalidResourceHandle : error;
}

cudaError_t awrt_cudaLaunchKernel_v13(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return error_13(func, awrt_cudaLaunchKernel(func, grid, block, args, shared, stream));
}

cudaError_t awrt___cudaLaunchKernel_v13(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t stream)
{
    return error_13(kernel, awrt___cudaLaunchKernel(kernel, grid, block, args, shared, stream));
}

cudaError_t awrt_cudaLaunchCooperativeKernel_v13(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
                                                 cudaStream_t stream)
{
    return error_13(func, awrt_cudaLaunchCooperativeKernel(func, grid, block, args, shared, stream));
}

static cudaError_t launch_config(const cudaLaunchConfig_t *config, const void *func, void **args, cudaStream_t default_stream)
{
    struct aw_abi_wishes wishes;
    if (!config)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_abi_wishes_read(config->attrs, config->numAttrs, &wishes);
    cudaStream_t stream = config->stream ? config->stream : default_stream;
    return status ? aw_rt_error(status)
                  : launch(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, stream, &wishes);
}

cudaError_t awrt_cudaLaunchKernelExC_on(const cudaLaunchConfig_t *config, const void *func, void **args, CUstream default_stream)
{
    return launch_config(config, func, args, default_stream);
}

/* ---- The <<<>>> configuration, between evaluating it and the kernel's host stub.  A launch's arguments may hold launches. */

enum { CALL_DEPTH = 4 }; /* in thread storage, which must fit when we are loaded late */

static _Thread_local struct {
    struct call {
        dim3 grid, block;
        size_t shared;
        cudaStream_t stream;
    } at[CALL_DEPTH];
    int n;
} calls;

/* 0: go on to the stub. */
unsigned int awrt___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (calls.n == CALL_DEPTH) {
        aw_say(LAUNCH_NESTED, CALL_DEPTH);
        aw_rt_error_set(cudaErrorInvalidConfiguration);
        return 1;
    }
    calls.at[calls.n++] = (struct call){ grid, block, shared, stream };
    return 0;
}

cudaError_t awrt___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, cudaStream_t *stream)
{
    if (!calls.n)
        return cudaErrorMissingConfiguration;
    const struct call *call = &calls.at[--calls.n];
    *grid = call->grid;
    *block = call->block;
    *shared = call->shared;
    *stream = call->stream;
    return cudaSuccess;
}

/* ---- Attributes */

static enum aw_status func_of(const void *symbol, struct aw_ctx **ret_ctx, struct aw_func **ret_func)
{
    enum aw_status status = aw_rt_ctx(ret_ctx);
    return status ? status : aw_rt_func(*ret_ctx, symbol, ret_func);
}

cudaError_t awrt_cudaFuncGetAttributes_v12(cudaFuncAttributes_v12 *ret_attributes, const void *symbol)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    int value[16];
    if (!ret_attributes)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    for (int i = 0; !status && i < 16; i++) /* CU_FUNC_ATTRIBUTE_* by number */
        status = aw_func_attribute(func, i, &value[i]);
    if (status)
        return aw_rt_error(status);
    *ret_attributes = (cudaFuncAttributes_v12){
        .maxThreadsPerBlock = value[0], .sharedSizeBytes = (size_t)value[1], .constSizeBytes = (size_t)value[2],
        .localSizeBytes = (size_t)value[3], .numRegs = value[4], .ptxVersion = value[5], .binaryVersion = value[6],
        .cacheModeCA = value[7], .maxDynamicSharedSizeBytes = value[8], .preferredShmemCarveout = value[9],
        .clusterDimMustBeSet = value[10], .requiredClusterWidth = value[11], .requiredClusterHeight = value[12],
        .requiredClusterDepth = value[13], .nonPortableClusterSizeAllowed = value[14],
        .clusterSchedulingPolicyPreference = value[15],
    };
    return cudaSuccess;
}

cudaError_t awrt_cudaFuncGetAttributes_v13(cudaFuncAttributes_v12 *ret_attributes, const void *symbol)
{
    return error_13(symbol, awrt_cudaFuncGetAttributes_v12(ret_attributes, symbol));
}

cudaError_t awrt_cudaFuncGetAttributes(cudaFuncAttributes_v11 *ret_attributes, const void *symbol)
{
    cudaFuncAttributes_v12 full;
    if (!ret_attributes)
        return cudaErrorInvalidValue;
    cudaError_t error = awrt_cudaFuncGetAttributes_v12(&full, symbol);
    if (!error) {
        memset(ret_attributes, 0, sizeof(*ret_attributes));
        memcpy(ret_attributes, &full, offsetof(cudaFuncAttributes_v12, clusterDimMustBeSet));
    }
    return error;
}

cudaError_t awrt_cudaFuncSetAttribute(const void *symbol, cudaFuncAttribute attr, int value)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    enum aw_status status = func_of(symbol, &ctx, &func);
    return aw_rt_error(status ? status : aw_func_set_attribute(func, (int)attr, value));
}

cudaError_t awrt_cudaFuncSetCacheConfig(const void *symbol, cudaFuncCache config)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    enum aw_status status = func_of(symbol, &ctx, &func);
    return aw_rt_error(status ? status : aw_cache_config_set(&func->cache_config, (int)config));
}

/* A hint about banks that no device of ours has a choice in. */
cudaError_t awrt_cudaFuncSetSharedMemConfig(const void *symbol, cudaSharedMemConfig config)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if ((unsigned)config > cudaSharedMemBankSizeEightByte)
        return cudaErrorInvalidValue;
    return aw_rt_error(func_of(symbol, &ctx, &func));
}

cudaError_t awrt_cudaFuncGetName(const char **ret_name, const void *symbol)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!ret_name || !symbol)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    if (!status)
        *ret_name = func->name;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaFuncGetParamInfo(const void *symbol, size_t index, size_t *ret_offset, size_t *ret_size)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    size_t offset, size;
    if (!ret_offset)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    if (!status)
        status = aw_func_param(func, index, &offset, &size);
    if (status)
        return aw_rt_error(status);
    *ret_offset = offset;
    if (ret_size)
        *ret_size = size;
    return cudaSuccess;
}

cudaError_t awrt_cudaFuncGetParamCount(const void *symbol, size_t *ret_count)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!ret_count)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    if (!status)
        *ret_count = func->kernel->n_params;
    return aw_rt_error(status);
}

/* ---- Occupancy */

cudaError_t awrt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, const void *symbol, int block_threads,
                                                                        size_t dynamic_shared, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!ret_blocks || block_threads <= 0 || (flags & ~(unsigned)cudaOccupancyDisableCachingOverride))
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    return aw_rt_error(status ? status : aw_func_occupancy(func, block_threads, dynamic_shared, ret_blocks));
}

cudaError_t awrt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *symbol, int block_threads,
                                                               size_t dynamic_shared)
{
    return awrt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, symbol, block_threads, dynamic_shared,
                                                                       cudaOccupancyDefault);
}

cudaError_t awrt_cudaOccupancyMaxActiveClusters(int *ret_clusters, const void *symbol, const cudaLaunchConfig_t *config)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!config || !ret_clusters)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    const uint32_t block[3] = { config->blockDim.x, config->blockDim.y, config->blockDim.z };
    return aw_rt_error(status ? status : aw_abi_clusters(func, block, config->dynamicSmemBytes, config->attrs, config->numAttrs,
                                                         ret_clusters));
}

/* A cluster has one block. */
cudaError_t awrt_cudaOccupancyMaxPotentialClusterSize(int *ret_blocks, const void *symbol, const cudaLaunchConfig_t *config)
{
    int clusters;
    cudaError_t error = ret_blocks ? awrt_cudaOccupancyMaxActiveClusters(&clusters, symbol, config) : cudaErrorInvalidValue;
    if (!error)
        *ret_blocks = 1;
    return error;
}

cudaError_t awrt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, const void *symbol, int blocks, int block_threads)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    if (!ret_bytes)
        return cudaErrorInvalidValue;
    enum aw_status status = func_of(symbol, &ctx, &func);
    return aw_rt_error(status ? status : aw_func_dynamic_shared(func, blocks, block_threads, ret_bytes));
}

/* Both converted doubles for devices that have none; on every device here a double is a double. */
cudaError_t awrt_cudaSetDoubleForDevice(double *value)
{
    return value ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t awrt_cudaSetDoubleForHost(double *value)
{
    return value ? cudaSuccess : cudaErrorInvalidValue;
}
