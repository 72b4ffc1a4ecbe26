/* Code objects, their kernels, and launching them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <anywarp/env.h>

#include "provider/hip/internal.h"

#define HIP_LAUNCH_BUFFER ((void *)1)
#define HIP_LAUNCH_SIZE ((void *)2)
#define HIP_LAUNCH_END ((void *)3)

/* A loaded image.  HIP may go on reading the bytes for as long as the module lives. */
struct loaded {
    struct loaded *before;      /* the same code with a smaller stack: kernels may still run it */
    void *module;
    unsigned char bytes[];
};

struct aw_hip_object {
    struct loaded *loaded;      /* the latest */
    size_t size;
    struct aw_hip_image image;  /* as it was handed in */
    int dev;
    pthread_mutex_t lock;       /* over `loaded`, `functions` and their handles */
    _Atomic uint32_t stack;     /* bytes of each thread's private memory that `loaded` asks for */
    struct aw_hip_function *functions;
};

/* ---- Objects */

/* Loads a copy of `bytes` whose kernel asks for `stack` bytes of private memory. */
static int image_load(int dev, const void *bytes, size_t size, const struct aw_hip_image *image, uint32_t stack,
                      struct loaded **ret)
{
    struct loaded *l = malloc(sizeof *l + size);
    if (!l)
        return AW_ERR_OUT_OF_MEMORY;
    l->before = NULL;
    memcpy(l->bytes, bytes, size);
    if (stack != image->private_bytes)
        aw_hip_image_stack(image, l->bytes, stack);
    if (image->clock)
        aw_hip_clock_write(dev, l->bytes + image->clock);
    int status = image->units ? aw_hip_units_write(dev, l->bytes + image->units) : AW_OK;
    if (status == AW_OK && image->counters)
        status = aw_hip_counters_write(dev, l->bytes + image->counters);
    if (status == AW_OK)
        status = aw_hip_result(dev, aw_hip.api.hipModuleLoadData(&l->module, l->bytes));
    if (status == AW_ERR_SHARED_INIT) /* what HIP says of code for another card */
        status = AW_ERR_NO_BINARY;
    if (status == AW_OK)
        *ret = l;
    else
        free(l);
    return status;
}

int aw_hip_object_load(int dev, const void *bytes, size_t size, struct aw_object **ret_object)
{
    struct aw_hip_image image;
    if (!bytes || !aw_hip_image_read(bytes, size, &image))
        return AW_ERR_INVALID_IMAGE;
    USE(dev);
    struct aw_hip_object *o = calloc(1, sizeof *o);
    if (!o)
        return AW_ERR_OUT_OF_MEMORY;
    uint32_t stack = aw_hip_stack_fixed(dev, &image);
    int status = image_load(dev, bytes, size, &image, stack, &o->loaded);
    if (status != AW_OK) {
        free(o);
        return status;
    }
    aw_hip_stack_loaded(dev, &image);
    o->dev = dev;
    o->size = size;
    o->image = image;
    o->stack = stack;
    pthread_mutex_init(&o->lock, NULL);
    *ret_object = (struct aw_object *)(void *)o;
    return AW_OK;
}

/* The program raised the limit since: loads the code again, with that much. */
static int object_grow(struct aw_hip_object *o, uint32_t stack)
{
    struct loaded *l = NULL;
    int status = AW_OK;
    pthread_mutex_lock(&o->lock);
    if (o->stack < stack)
        status = image_load(o->dev, o->loaded->bytes, o->size, &o->image, stack, &l);
    for (struct aw_hip_function *f = o->functions; l && f && status == AW_OK; f = f->next) {
        void *handle = NULL;
        status = aw_hip_result(o->dev, aw_hip.api.hipModuleGetFunction(&handle, l->module, f->name));
        if (status == AW_OK)
            atomic_store_explicit(&f->handle, handle, memory_order_relaxed);
    }
    if (l) { /* kept even after a failure: some handle may be its */
        l->before = o->loaded;
        o->loaded = l;
        atomic_store_explicit(&o->stack, status == AW_OK ? stack : o->stack, memory_order_release);
    }
    pthread_mutex_unlock(&o->lock);
    return status;
}

/* HIP waits for the device when it unloads.  Code of a stuck device stays where it is. */
int aw_hip_object_unload(struct aw_object *object)
{
    struct aw_hip_object *o = (struct aw_hip_object *)(void *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    USE(o->dev);
    (void)aw_hip_device_settle(o->dev);
    if (aw_hip_dead(o->dev))
        return aw_hip_fault_of(o->dev);
    int status = AW_OK;
    while (o->loaded) {
        struct loaded *l = o->loaded;
        int error = aw_hip_result(o->dev, aw_hip.api.hipModuleUnload(l->module));
        status = status ? status : error;
        o->loaded = l->before;
        free(l);
    }
    while (o->functions) {
        struct aw_hip_function *f = o->functions;
        o->functions = f->next;
        free(f);
    }
    pthread_mutex_destroy(&o->lock);
    free(o);
    return status;
}

int aw_hip_object_function(struct aw_object *object, const char *name, struct aw_function **ret_function)
{
    struct aw_hip_object *o = (struct aw_hip_object *)(void *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    if (!name)
        return AW_ERR_INVALID_VALUE;
    USE(o->dev);
    struct aw_hip_function *f = calloc(1, sizeof *f);
    if (!f || !(f->name = aw_hip_intern(name))) {
        free(f);
        return AW_ERR_OUT_OF_MEMORY;
    }
    void *handle = NULL;
    f->object = o;
    f->dev = o->dev;
    f->uses = o->image.uses;
    pthread_mutex_lock(&o->lock);
    int status = aw_hip_result(o->dev, aw_hip.api.hipModuleGetFunction(&handle, o->loaded->module, name));
    if (status == AW_OK) {
        atomic_init(&f->handle, handle);
        f->next = o->functions;
        o->functions = f;
    }
    pthread_mutex_unlock(&o->lock);
    if (status != AW_OK) {
        free(f);
        return status;
    }
    *ret_function = (struct aw_function *)(void *)f;
    return AW_OK;
}

/* ---- Kernels' properties */

int aw_hip_function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret_value)
{
    /* HIP's first five are numbered as ours. */
    struct aw_hip_function *f = (struct aw_hip_function *)(void *)function;
    int value = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if ((unsigned)attr >= AW_FN_COUNT_)
        return AW_ERR_INVALID_VALUE;
    USE(f->dev);
    int status = aw_hip_result(f->dev, aw_hip.api.hipFuncGetAttribute(&value, (int)attr, f->handle));
    if (status == AW_OK)
        *ret_value = value;
    return status;
}

int aw_hip_occupancy(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    struct aw_hip_function *f = (struct aw_hip_function *)(void *)function;
    int blocks = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if (block_threads <= 0)
        return AW_ERR_INVALID_VALUE;
    USE(f->dev);
    int status = aw_hip_result(f->dev, aw_hip.api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
                                           &blocks, f->handle, block_threads, dynamic_shared));
    if (status == AW_OK)
        *ret_blocks = blocks;
    return status;
}

/* AMD's runtime needs no permission for large dynamic shared memory; only the hardware's limit holds. */
int aw_hip_function_set_shared(struct aw_function *function, size_t dynamic_shared)
{
    struct aw_hip_function *f = (struct aw_hip_function *)(void *)function;
    int limit = 0, own = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    int status = aw_hip_device_attr(f->dev, AW_DEV_SHARED_PER_BLOCK, &limit);
    if (status == AW_OK)
        status = aw_hip_function_attr(function, AW_FN_SHARED_BYTES, &own);
    if (status != AW_OK)
        return status;
    return own <= limit && dynamic_shared <= (size_t)(limit - own) ? AW_OK : AW_ERR_INVALID_VALUE;
}

/* ---- Launching */

/* All that a cooperative launch adds is that every block is resident.  HIP before 6 has no such call for functions of modules:
 * there it is checked here that they fit, and what fits is all started, because kernels of other streams end by themselves. */
static int cooperative_check(struct aw_hip_function *f, const struct aw_launch *l)
{
    int per_sm = 0, sms = 0;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads == 0 || threads > INT32_MAX)
        return AW_ERR_INVALID_CONFIG;
    int status = aw_hip_occupancy((struct aw_function *)(void *)f, (int)threads, l->shared_bytes, &per_sm);
    if (status == AW_OK)
        status = aw_hip_device_attr(f->dev, AW_DEV_MULTIPROCESSORS, &sms);
    if (status != AW_OK)
        return status;
    unsigned __int128 blocks = (unsigned __int128)l->grid[0] * l->grid[1] * l->grid[2];
    return blocks > (uint64_t)per_sm * (uint64_t)sms ? AW_ERR_COOPERATIVE_TOO_LARGE : AW_OK;
}

static int launch_native(struct aw_hip_function *f, const struct aw_launch *l, void *kernarg, void *stream)
{
    if (l->cooperative && aw_hip.api.hipModuleLaunchCooperativeKernel) {
        /* It takes parameters one by one; ours have one, the packed buffer by value. */
        void *params[] = { kernarg };
        return aw_hip.api.hipModuleLaunchCooperativeKernel(f->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                                           l->block[1], l->block[2], l->shared_bytes, stream, params);
    }
    size_t size = l->kernarg_size;
    void *extra[] = { HIP_LAUNCH_BUFFER, kernarg, HIP_LAUNCH_SIZE, &size, HIP_LAUNCH_END };
    return aw_hip.api.hipModuleLaunchKernel(f->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                            l->block[2], l->shared_bytes, stream, NULL, extra);
}

/* A grid of more threads along x than HIP takes, in parts that follow each other on the stream.  `env` is where the kernel
 * looks for its part, 0: it does not ask. */
static int launch_parts(struct aw_hip_function *f, const struct aw_launch *l, void *kernarg, void *stream, uint64_t env)
{
    struct aw_launch part = *l;
    uint32_t most = aw_hip.grid_most / l->block[0];
    if (!(f->uses & AW_HIP_TAKES_PARTS))
        return (uint64_t)l->grid[0] * l->block[0] > aw_hip.grid_most ? HIP_INVALID_CONFIGURATION
                                                                     : launch_native(f, l, kernarg, stream);
    char *words = (char *)(uintptr_t)(env & ~(uint64_t)AW_ENV_COOPERATIVE);
    int error = env ? aw_hip.api.hipMemsetD32Async(words + offsetof(struct aw_env, grid_blocks), (int)l->grid[0], 1, stream) : 0;
    for (uint32_t first = 0; first < l->grid[0] && !error; first += part.grid[0]) {
        part.grid[0] = l->grid[0] - first < most ? l->grid[0] - first : most;
        if (env)
            error = aw_hip.api.hipMemsetD32Async(words + offsetof(struct aw_env, grid_first), (int)first, 1, stream);
        if (!error)
            error = launch_native(f, &part, kernarg, stream);
    }
    return error;
}

/* A kernel with an environment: its address is the last of the arguments. */
static int launch_with_env(struct aw_hip_function *f, const struct aw_launch *l, struct aw_hip_stream *s)
{
    uint64_t env;
    if (l->kernarg_size < sizeof env)
        return AW_ERR_INVALID_VALUE;
    char *kernarg = malloc(l->kernarg_size);
    if (!kernarg)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(kernarg, l->kernarg, l->kernarg_size);
    int status = aw_hip_env_begin(s, f, &env);
    if (status == AW_OK) {
        env |= l->cooperative ? AW_ENV_COOPERATIVE : 0;
        memcpy(kernarg + l->kernarg_size - sizeof env, &env, sizeof env);
        status = aw_hip_result(f->dev, launch_parts(f, l, kernarg, s->handle, env));
        aw_hip_env_done(s);
    }
    free(kernarg);
    return status;
}

int aw_hip_launch(int dev, struct aw_function *function, const struct aw_launch *l, struct aw_stream *stream)
{
    struct aw_hip_function *f = (struct aw_hip_function *)(void *)function;
    if (!f || !l)
        return AW_ERR_INVALID_VALUE;
    if (f->dev != dev)
        return AW_ERR_INVALID_DEVFUNC;
    if (!l->block[0])
        return AW_ERR_INVALID_CONFIG;
    USE(dev);
    struct aw_hip_stream *s = aw_hip_stream_of(dev, stream);
    if (l->cooperative) {
        int status = cooperative_check(f, l);
        if (status != AW_OK)
            return status;
    }
    uint32_t stack = f->uses & AW_HIP_USES_STACK ? aw_hip_stack_fixed(dev, &f->object->image) : 0;
    if (stack > atomic_load_explicit(&f->object->stack, memory_order_acquire)) {
        int status = object_grow(f->object, stack);
        if (status != AW_OK)
            return status;
    }
    uint32_t n = atomic_load_explicit(&s->n_names, memory_order_relaxed);
    atomic_store_explicit(&s->names[n % AW_HIP_LAUNCHES], f->name, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->n_names, 1, memory_order_release);
    if (f->uses & (AW_HIP_USES_ENV | AW_HIP_USES_HEAP))
        return launch_with_env(f, l, s);
    return aw_hip_result(dev, launch_parts(f, l, (void *)(uintptr_t)l->kernarg, s->handle, 0));
}
