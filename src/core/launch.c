/* Launching.  The path of every launch: no lock, no allocation, one copy of the arguments. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/activity.h"
#include "core/launch.h"

#include <string.h>

#include "base/log.h"
#include "core/recorder.h"

#define AW_ROOM "core"

enum { KERNARG_SMALL = 4096 + 64, KERNARG_MAX = 32768 + 64 }; /* bytes: CUDA allows 4096 of parameters, 32764 since 12.1 */

/* ---- Arguments. */

/* The packed buffer a CU_LAUNCH_PARAM list hands in. */
static enum aw_status extra_read(void **extra, const void **ret_bytes, size_t *ret_size)
{
    const void *bytes = NULL;
    const size_t *size = NULL;
    for (int i = 0; i < 8; i += 2) {
        switch ((uintptr_t)extra[i]) {
        case 0:
            if (!bytes && size && *size)
                return AW_ERR_INVALID_VALUE;
            *ret_bytes = bytes;
            *ret_size = size ? *size : 0;
            return AW_OK;
        case 1:
            bytes = extra[i + 1];
            break;
        case 2:
            size = extra[i + 1];
            break;
        default:
            return AW_ERR_INVALID_VALUE;
        }
    }
    return AW_ERR_INVALID_VALUE;
}

enum aw_status aw_launch_pack(const struct aw_func *func, const struct aw_launch_args *args, char *buffer)
{
    const struct aw_manifest_kernel *kernel = func->kernel;
    if (args->params && args->extra)
        return AW_ERR_INVALID_VALUE;
    if (args->extra) {
        const void *bytes;
        size_t size;
        enum aw_status status = extra_read(args->extra, &bytes, &size);
        if (status || size < kernel->param_size)
            return AW_ERR_INVALID_VALUE;
        if (kernel->param_size)
            memcpy(buffer, bytes, kernel->param_size);
    } else if (kernel->n_params) {
        if (!args->params)
            return AW_ERR_INVALID_VALUE;
        for (uint32_t i = 0; i < kernel->n_params; i++) {
            const struct aw_manifest_param *param = &func->params[i];
            if (!args->params[i])
                return AW_ERR_INVALID_VALUE;
            if (param->size == 8)
                memcpy(buffer + param->offset, args->params[i], 8);
            else if (param->size == 4)
                memcpy(buffer + param->offset, args->params[i], 4);
            else
                memcpy(buffer + param->offset, args->params[i], param->size);
        }
    }
    return AW_OK;
}

static enum aw_status kernarg_pack(const struct aw_func *func, const struct aw_launch_args *args, char *buffer)
{
    enum aw_status status = aw_launch_pack(func, args, buffer);
    if (status)
        return status;
    uint64_t hidden[2] = { func->module->arena, 0 /* env: the provider's, where it has one */ };
    memcpy(buffer + func->kernarg_size - sizeof hidden, hidden, sizeof hidden);
    return AW_OK;
}

/* ---- Configuration. */

static enum aw_status config_check(const struct aw_func *func, const struct aw_launch_args *args)
{
    const int *attr = func->module->ctx->device->attr;
    const struct aw_manifest_kernel *kernel = func->kernel;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!args->grid[i] || !args->block[i])
            return AW_ERR_INVALID_CONFIG;
        if (args->grid[i] > (uint32_t)attr[AW_DEV_MAX_GRID_X + i] || args->block[i] > (uint32_t)attr[AW_DEV_MAX_BLOCK_X + i])
            return AW_ERR_INVALID_CONFIG;
        threads *= args->block[i];
    }
    int most = attr[AW_DEV_MAX_THREADS_PER_BLOCK];
    if (threads > (uint64_t)(most > 0 && most < 1024 ? most : 1024))
        return AW_ERR_INVALID_CONFIG;
    if (kernel->req_ntid[0]) {
        for (int i = 0; i < 3; i++)
            if (args->block[i] != (kernel->req_ntid[i] ?: 1))
                return AW_ERR_INVALID_VALUE;
    } else if (kernel->max_ntid[0] &&
               threads > (uint64_t)kernel->max_ntid[0] * (kernel->max_ntid[1] ?: 1) * (kernel->max_ntid[2] ?: 1)) {
        return AW_ERR_INVALID_VALUE;
    }
    if ((uint64_t)kernel->cluster[0] * (kernel->cluster[1] ?: 1) * (kernel->cluster[2] ?: 1) > 1) {
        aw_say(KERNEL_CLUSTERS, func->name);
        return AW_ERR_INVALID_CLUSTER;
    }
    if (args->shared_bytes > (size_t)__atomic_load_n(&func->max_dynamic_shared, __ATOMIC_RELAXED))
        return AW_ERR_INVALID_VALUE;
    return AW_OK;
}

/* What only the finished code tells, and what is asked of cooperative launches. */
static enum aw_status code_check(struct aw_func *func, const struct aw_code *code, const struct aw_launch_args *args)
{
    const struct aw_device *device = func->module->ctx->device;
    uint64_t threads = (uint64_t)args->block[0] * args->block[1] * args->block[2];
    if (code->attr[AW_FN_MAX_THREADS] > 0 && threads > (uint64_t)code->attr[AW_FN_MAX_THREADS])
        return AW_ERR_OUT_OF_RESOURCES;
    if (!args->cooperative)
        return AW_OK;
    int blocks;
    if (!device->attr[AW_DEV_COOPERATIVE])
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = aw_code_occupancy(code, (int)threads, args->shared_bytes, &blocks);
    if (status)
        return status;
    /* Three 32-bit factors may leave 64 bits: compare before the last one. */
    uint64_t room = (uint64_t)blocks * (uint64_t)device->attr[AW_DEV_MULTIPROCESSORS];
    uint64_t plane = (uint64_t)args->grid[0] * args->grid[1];
    return plane > room || plane * args->grid[2] > room ? AW_ERR_COOPERATIVE_TOO_LARGE : AW_OK;
}

/* ---- The launch. */

static __attribute__((noinline)) void launch_seen(struct aw_activity *seen, bool given, const struct aw_func *func,
                                                  const struct aw_code *code, const struct aw_launch_args *args)
{
    struct aw_activity_record record = {
        .kind = AW_ACTIVITY_KERNEL, .name = func->name, .dynamic_shared = (uint32_t)args->shared_bytes,
        .static_shared = (uint32_t)code->attr[AW_FN_SHARED_BYTES], .registers = (uint32_t)code->attr[AW_FN_REGS],
        .local = (uint32_t)code->attr[AW_FN_LOCAL_BYTES],
    };
    for (int i = 0; i < 3; i++) {
        record.grid[i] = args->grid[i];
        record.block[i] = args->block[i];
    }
    aw_activity_end(seen, given ? &record : NULL);
}

static enum aw_status launch_with(struct aw_func *func, const struct aw_code *code, const struct aw_launch_args *args,
                                  struct aw_cstream *stream, char *buffer)
{
    struct aw_device *device = func->module->ctx->device;
    enum aw_status status = kernarg_pack(func, args, buffer);
    if (status)
        return status;
    struct aw_launch launch = {
        .grid = { args->grid[0], args->grid[1], args->grid[2] },
        .block = { args->block[0], args->block[1], args->block[2] },
        .shared_bytes = (uint32_t)args->shared_bytes,
        .cooperative = args->cooperative,
        .kernarg = buffer,
        .kernarg_size = func->kernarg_size,
        .name = func->name,
        .owner = func->module->ctx,
    };
    struct aw_activity *seen = aw_activity_begin(stream);
    int code_status = aw_provider->launch(device->native, code->function, &launch, stream->native);
    if (__builtin_expect(seen != NULL, 0))
        launch_seen(seen, !code_status, func, code, args);
    return code_status ? aw_device_note(device, code_status) : AW_OK;
}

static __attribute__((noinline)) enum aw_status launch_large(struct aw_func *func, const struct aw_code *code,
                                                             const struct aw_launch_args *args, struct aw_cstream *stream)
{
    char buffer[KERNARG_MAX] __attribute__((aligned(16)));
    if (func->kernarg_size > sizeof buffer)
        return AW_ERR_INVALID_VALUE;
    return launch_with(func, code, args, stream, buffer);
}

static __attribute__((noinline)) enum aw_status launch_small(struct aw_func *func, const struct aw_code *code,
                                                             const struct aw_launch_args *args, struct aw_cstream *stream)
{
    char buffer[KERNARG_SMALL] __attribute__((aligned(16)));
    return launch_with(func, code, args, stream, buffer);
}

static enum aw_status launch_ready(struct aw_func *func, const struct aw_launch_args *args, const struct aw_code **ret_code)
{
    enum aw_status status = config_check(func, args);
    bool parts = aw_provider->grid_parts && (uint64_t)args->grid[0] * args->block[0] > UINT32_MAX;
    uint32_t block[3] = { args->block[0], args->block[1], args->block[2] | (parts ? AW_BLOCK_PARTS : 0) };
    if (status == AW_OK)
        status = aw_func_code(func, block, ret_code);
    if (status == AW_OK)
        status = aw_func_code_shared(func, *ret_code, args->shared_bytes, ret_code);
    if (status == AW_OK)
        status = aw_module_arena(func->module);
    return status ? status : code_check(func, *ret_code, args);
}

enum aw_status aw_launch_check(struct aw_func *func, const struct aw_launch_args *args)
{
    const struct aw_code *code = NULL;
    return launch_ready(func, args, &code);
}

static inline __attribute__((always_inline)) enum aw_status launch_now(struct aw_func *func, const struct aw_launch_args *args,
                                                                       struct aw_cstream *stream)
{
    const struct aw_code *code = NULL;
    enum aw_status status = launch_ready(func, args, &code);
    if (status)
        return status;
    return func->kernarg_size <= KERNARG_SMALL ? launch_small(func, code, args, stream)
                                               : launch_large(func, code, args, stream);
}

enum aw_status aw_launch_alone(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream)
{
    return launch_now(func, args, stream);
}

enum aw_status aw_launch_kernel(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream)
{
    enum aw_status status;
    if (func->module->ctx != stream->ctx)
        return AW_ERR_INVALID_HANDLE;
    if (aw_capture_any() &&
        aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_KERNEL, .kernel = { func, args } }, &status))
        return status;
    if (__builtin_expect(func->kernel->flags & AW_KERNEL_STARTS, 0))
        return aw_launch_starting(func, args, stream);
    return launch_now(func, args, stream);
}
