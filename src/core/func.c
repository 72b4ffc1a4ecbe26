/* Functions: asked for their attributes and for how many of their blocks fit.  Not their code, which is code.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/module.h"

/* CUfunction_attribute. */
enum { FUNC_MAX_THREADS, FUNC_SHARED, FUNC_CONST, FUNC_LOCAL, FUNC_REGS, FUNC_PTX_VERSION, FUNC_BINARY_VERSION,
       FUNC_CACHE_MODE, FUNC_MAX_DYNAMIC_SHARED, FUNC_CARVEOUT, FUNC_CLUSTER_MUST_BE_SET, FUNC_CLUSTER_X, FUNC_CLUSTER_Y,
       FUNC_CLUSTER_Z, FUNC_NON_PORTABLE_CLUSTER, FUNC_CLUSTER_POLICY };

struct aw_slab aw_func_slab = AW_SLAB_INIT("function", struct aw_func);

/* ---- Attributes. */

/* Threads of the largest block the kernel may be launched with, by what it and the device say. */
static int stated_max_threads(const struct aw_func *func)
{
    const struct aw_manifest_kernel *k = func->kernel;
    uint64_t most = 1024;
    int device;
    if (aw_device_attribute(func->module->ctx->device, 1, &device) == AW_OK && (uint64_t)device < most)
        most = (uint64_t)device;
    const uint32_t *stated = k->req_ntid[0] ? k->req_ntid : k->max_ntid;
    if (stated[0]) {
        uint64_t n = (uint64_t)stated[0] * (stated[1] ?: 1) * (stated[2] ?: 1);
        most = n < most ? n : most;
    }
    return (int)most;
}

/* The same, by its code as well.  What code for one shape says of itself is no answer. */
static int func_max_threads(const struct aw_func *func, const struct aw_code *code)
{
    int most = stated_max_threads(func), own = code->attr[AW_FN_MAX_THREADS];
    return !code->block[1] && own > 0 && own < most ? own : most;
}

/* Is what a function has the same whatever its code, so that none is made to be asked?  One that cannot be compiled says so when
 * it is asked. */
static bool is_alike(const struct aw_func *func)
{
    return aw_provider->kernel_attr && !(func->kernel->flags & AW_KERNEL_BROKEN);
}

static enum aw_status kernel_attribute(const struct aw_func *func, int cu_attr, int *ret_value)
{
    int most = 0;
    if (cu_attr == FUNC_LOCAL) {
        *ret_value = func->kernel->local_bytes < INT32_MAX ? (int)func->kernel->local_bytes : INT32_MAX;
        return AW_OK;
    }
    if (cu_attr == FUNC_REGS)
        return aw_device_note(func->module->ctx->device,
                              aw_provider->kernel_attr(func->kernel->static_shared, AW_FN_REGS, ret_value));
    int status = aw_provider->kernel_attr(func->kernel->static_shared, AW_FN_MAX_THREADS, &most);
    *ret_value = stated_max_threads(func);
    if (most > 0 && most < *ret_value)
        *ret_value = most;
    return aw_device_note(func->module->ctx->device, status);
}

static enum aw_status func_code_attribute(struct aw_func *func, int cu_attr, int *ret_value)
{
    const struct aw_code *code;
    bool broken = func->kernel->flags & AW_KERNEL_BROKEN;
    int registers = cu_attr == FUNC_REGS && !broken ? aw_image_registers(func->module->image, func->index) : 0;
    if (registers) {
        *ret_value = registers;
        return AW_OK;
    }
    if (is_alike(func))
        return kernel_attribute(func, cu_attr, ret_value);
    enum aw_status status = aw_func_code_any(func, &code);
    if (status)
        return status;
    switch (cu_attr) {
    case FUNC_MAX_THREADS:
        *ret_value = func_max_threads(func, code);
        break;
    case FUNC_LOCAL:
        *ret_value = code->attr[AW_FN_LOCAL_BYTES];
        break;
    default:
        *ret_value = code->attr[AW_FN_REGS];
        break;
    }
    return AW_OK;
}

enum aw_status aw_func_attribute(struct aw_func *func, int cu_attr, int *ret_value)
{
    const struct aw_manifest *manifest = func->module->manifest;
    const struct aw_device *device = func->module->ctx->device;
    switch (cu_attr) {
    case FUNC_MAX_THREADS:
    case FUNC_LOCAL:
    case FUNC_REGS:
        return func_code_attribute(func, cu_attr, ret_value);
    case FUNC_SHARED:
        *ret_value = (int)func->kernel->static_shared;
        return AW_OK;
    case FUNC_CONST: /* of the whole module, as CUDA counts */
        *ret_value = manifest->const_size < INT32_MAX ? (int)manifest->const_size : INT32_MAX;
        return AW_OK;
    case FUNC_PTX_VERSION:
        *ret_value = (int)manifest->sm;
        return AW_OK;
    case FUNC_BINARY_VERSION:
        *ret_value = device->cc_major * 10 + device->cc_minor;
        return AW_OK;
    case FUNC_CACHE_MODE:
        *ret_value = 0;
        return AW_OK;
    case FUNC_MAX_DYNAMIC_SHARED:
        *ret_value = func->max_dynamic_shared;
        return AW_OK;
    case FUNC_CARVEOUT:
        *ret_value = func->carveout;
        return AW_OK;
    case FUNC_CLUSTER_MUST_BE_SET:
        *ret_value = 0;
        return AW_OK;
    case FUNC_CLUSTER_X:
    case FUNC_CLUSTER_Y:
    case FUNC_CLUSTER_Z:
        *ret_value = func->cluster[cu_attr - FUNC_CLUSTER_X];
        return AW_OK;
    case FUNC_NON_PORTABLE_CLUSTER:
        *ret_value = func->nonportable_cluster;
        return AW_OK;
    case FUNC_CLUSTER_POLICY:
        *ret_value = func->cluster_policy;
        return AW_OK;
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

static enum aw_status func_set_shared(struct aw_func *func, int value)
{
    int limit = func->module->ctx->device->attr[AW_DEV_SHARED_PER_BLOCK];
    if (value < 0 || (int64_t)value + func->kernel->static_shared > limit)
        return AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&func->lock);
    int status = AW_OK;
    for (struct aw_code *code = func->code; code && status == AW_OK && aw_provider->function_set_shared; code = code->next)
        if (!aw_provider->shared_full ||
            code->attr[AW_FN_SHARED_BYTES] + (int64_t)value <= limit) /* else a launch takes other code */
            status = aw_provider->function_set_shared(code->function, (size_t)value);
    if (status == AW_OK)
        __atomic_store_n(&func->max_dynamic_shared, value, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&func->lock);
    return aw_device_note(func->module->ctx->device, status);
}

enum aw_status aw_func_set_attribute(struct aw_func *func, int cu_attr, int value)
{
    switch (cu_attr) {
    case FUNC_MAX_DYNAMIC_SHARED:
        return func_set_shared(func, value);
    case FUNC_CARVEOUT:
        if (value < -1 || value > 100)
            return AW_ERR_INVALID_VALUE;
        func->carveout = value;
        return AW_OK;
    case FUNC_CLUSTER_X:
    case FUNC_CLUSTER_Y:
    case FUNC_CLUSTER_Z:
        if (func->kernel->cluster[0] || value < 0)
            return AW_ERR_INVALID_VALUE; /* stated in the PTX, or nonsense */
        func->cluster[cu_attr - FUNC_CLUSTER_X] = value;
        return AW_OK;
    case FUNC_NON_PORTABLE_CLUSTER:
        func->nonportable_cluster = value != 0;
        return AW_OK;
    case FUNC_CLUSTER_POLICY:
        if (value < 0 || value > 2)
            return AW_ERR_INVALID_VALUE;
        func->cluster_policy = value;
        return AW_OK;
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

enum aw_status aw_func_param(struct aw_func *func, size_t index, size_t *ret_offset, size_t *ret_size)
{
    if (index >= func->kernel->n_params)
        return AW_ERR_INVALID_VALUE;
    *ret_offset = func->params[index].offset;
    if (ret_size)
        *ret_size = func->params[index].size;
    return AW_OK;
}

/* Can blocks of so many threads, with so much shared memory beside the kernel's own, be launched at all? */
static bool may_be_launched(const struct aw_func *func, int block_threads, int max_threads, size_t dynamic_shared)
{
    size_t limit = (size_t)func->module->ctx->device->attr[AW_DEV_SHARED_PER_BLOCK];
    return block_threads <= max_threads && dynamic_shared <= limit && func->kernel->static_shared + dynamic_shared <= limit;
}

enum aw_status aw_code_occupancy(const struct aw_code *code, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    struct aw_func *func = code->func;
    int blocks = 0;
    enum aw_status status = AW_OK;
    if (may_be_launched(func, block_threads, func_max_threads(func, code), dynamic_shared))
        status = aw_device_note(func->module->ctx->device,
                                aw_provider->occupancy(code->function, block_threads, dynamic_shared, &blocks));
    if (status == AW_OK)
        *ret_blocks = blocks;
    return status;
}

/* Launch bounds do not count: CUDA tells of blocks beyond them, too. */
static enum aw_status kernel_occupancy(const struct aw_func *func, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    int most = func->module->ctx->device->attr[AW_DEV_MAX_THREADS_PER_BLOCK], blocks = 0;
    enum aw_status status = AW_OK;
    if (may_be_launched(func, block_threads, most, dynamic_shared))
        status = aw_device_note(
            func->module->ctx->device,
            aw_provider->kernel_occupancy(func->kernel->static_shared, block_threads, dynamic_shared, &blocks));
    if (status == AW_OK)
        *ret_blocks = blocks;
    return status;
}

enum aw_status aw_func_occupancy(struct aw_func *func, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    const struct aw_code *code;
    if (block_threads <= 0)
        return AW_ERR_INVALID_VALUE;
    if (is_alike(func))
        return kernel_occupancy(func, block_threads, dynamic_shared, ret_blocks);
    enum aw_status status = aw_func_code_threads(func, block_threads, &code);
    if (status == AW_OK)
        status = aw_func_code_shared(func, code, dynamic_shared, &code);
    return status ? status : aw_code_occupancy(code, block_threads, dynamic_shared, ret_blocks);
}

enum aw_status aw_func_dynamic_shared(struct aw_func *func, int blocks, int block_threads, size_t *ret_bytes)
{
    enum { GRANULE = 256 }; /* bytes in which shared memory is shared out */
    const int *attr = func->module->ctx->device->attr;
    int fit;
    if (blocks <= 0)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = aw_func_occupancy(func, block_threads, 0, &fit);
    if (status)
        return status;
    if (fit < blocks)
        return AW_ERR_INVALID_VALUE;
    int64_t each = attr[AW_DEV_SHARED_PER_MULTIPROCESSOR] / blocks / GRANULE * GRANULE;
    if (each > attr[AW_DEV_SHARED_PER_BLOCK])
        each = attr[AW_DEV_SHARED_PER_BLOCK];
    each -= func->kernel->static_shared;
    *ret_bytes = each > 0 ? (size_t)each : 0;
    return AW_OK;
}
