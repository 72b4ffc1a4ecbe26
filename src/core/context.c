/* Contexts, the primary ones' life, and each thread's stack. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/context.h"

#include "core/recorder.h"

/* CUlimit numbers. */
enum { LIMIT_STACK, LIMIT_PRINTF, LIMIT_HEAP, LIMIT_SYNC_DEPTH, LIMIT_PENDING, LIMIT_L2_FETCH, LIMIT_L2_PERSISTING,
       LIMIT_COUNT_ };

struct aw_slab aw_ctx_slab = AW_SLAB_INIT("context", struct aw_ctx);

/* Contexts, and green ones, whose addresses have the lowest bit set here. */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    uintptr_t at[AW_CTX_STACK];
    int n;
} stack;

static struct aw_ctx destroyed; /* of a green context that was destroyed: no slab's, so nothing takes it for alive */

static void (*drops[AW_DROP_COUNT_])(struct aw_ctx *ctx); /* written before main */
static pthread_mutex_t primary_lock = PTHREAD_MUTEX_INITIALIZER; /* over making a device's primary context */

uint64_t aw_next_id(void)
{
    static uint64_t last;
    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

void aw_ctx_drop_set(enum aw_ctx_drop kind, void (*drop)(struct aw_ctx *ctx))
{
    drops[kind] = drop;
}

/* ---- The stack. */

struct aw_green *aw_green_top(void)
{
    uintptr_t top = stack.n ? stack.at[stack.n - 1] : 0;
    return top & 1 ? aw_green_from((const void *)(top - 1)) : NULL;
}

static __attribute__((noinline)) struct aw_ctx *green_ctx(void)
{
    const struct aw_green *green = aw_green_top();
    return green ? green->ctx : &destroyed;
}

struct aw_ctx *aw_ctx_top(void)
{
    uintptr_t top = stack.n ? stack.at[stack.n - 1] : 0;
    return __builtin_expect(top & 1, 0) ? green_ctx() : (struct aw_ctx *)top;
}

static enum aw_status push(uintptr_t entry)
{
    if (!entry || stack.n == AW_CTX_STACK)
        return AW_ERR_INVALID_CONTEXT;
    stack.at[stack.n++] = entry;
    return AW_OK;
}

enum aw_status aw_ctx_push(struct aw_ctx *ctx)
{
    return push((uintptr_t)ctx);
}

enum aw_status aw_green_push(struct aw_green *green)
{
    return push((uintptr_t)green | 1);
}

enum aw_status aw_ctx_pop(struct aw_ctx **ret_ctx)
{
    if (!stack.n)
        return AW_ERR_INVALID_CONTEXT;
    *ret_ctx = aw_ctx_top();
    stack.n--;
    return AW_OK;
}

enum aw_status aw_ctx_set(struct aw_ctx *ctx)
{
    if (stack.n)
        stack.n--;
    return ctx ? aw_ctx_push(ctx) : AW_OK;
}

enum aw_status aw_green_set(struct aw_green *green)
{
    if (stack.n)
        stack.n--;
    return aw_green_push(green);
}

enum aw_status aw_ctx_current_any(struct aw_ctx **ret_ctx)
{
    struct aw_ctx *ctx = aw_ctx_top();
    enum aw_status status = aw_core_ready();
    if (status)
        return status;
    if (!ctx)
        return AW_ERR_INVALID_CONTEXT;
    if (!aw_ctx_from(ctx) || !__atomic_load_n(&ctx->active, __ATOMIC_ACQUIRE))
        return AW_ERR_CONTEXT_DESTROYED;
    *ret_ctx = ctx;
    return AW_OK;
}

enum aw_status aw_ctx_current(struct aw_ctx **ret_ctx)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current_any(&ctx);
    if (status)
        return status;
    status = aw_ctx_fault(ctx);
    if (status == AW_OK)
        *ret_ctx = ctx;
    return status;
}

enum aw_status aw_ctx_settle(struct aw_ctx *ctx, int status)
{
    if (status == AW_OK)
        status = aw_provider->device_fault(ctx->device->native);
    return status ? aw_device_note(ctx->device, status) : aw_ctx_fault(ctx); /* or one that the provider does not know of */
}

enum aw_status aw_ctx_sync(struct aw_ctx *ctx)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_ctx(ctx, &refused))
        return refused;
    return aw_ctx_settle(ctx, aw_provider->device_sync(ctx->device->native));
}

/* ---- Life. */

static void ctx_defaults(struct aw_ctx *ctx)
{
    ctx->id = aw_next_id();
    ctx->limits[LIMIT_STACK] = 1024;
    ctx->limits[LIMIT_PRINTF] = (size_t)1 << 20;
    ctx->limits[LIMIT_HEAP] = (size_t)8 << 20;
    ctx->limits[LIMIT_SYNC_DEPTH] = 2;
    ctx->limits[LIMIT_PENDING] = 2048;
    ctx->limits[LIMIT_L2_FETCH] = 128;
    ctx->limits[LIMIT_L2_PERSISTING] = 0;
    ctx->cache_config = 0;
    ctx->shared_config = 0;
    ctx->legacy.id = aw_next_id();
}

static struct aw_ctx *ctx_new(struct aw_device *device, bool primary)
{
    struct aw_ctx *ctx = aw_slab_take(&aw_ctx_slab);
    if (!ctx)
        return NULL;
    ctx->device = device;
    ctx->primary = primary;
    ctx->api_version = 3020;
    ctx->legacy.ctx = ctx;
    pthread_mutex_init(&ctx->lock, NULL);
    ctx_defaults(ctx);
    return ctx;
}

struct count {
    const struct aw_device *device;
    const struct aw_ctx *except;
    int n;
};

static void ctx_count(void *object, void *user)
{
    struct aw_ctx *ctx = object;
    struct count *count = user;
    if (ctx->device == count->device && ctx != count->except && __atomic_load_n(&ctx->active, __ATOMIC_ACQUIRE))
        count->n++;
}

static int others_active(const struct aw_ctx *ctx)
{
    struct count count = { ctx->device, ctx, 0 };
    aw_slab_each(&aw_ctx_slab, ctx_count, &count);
    return count.n;
}

/* A context ends: for so long its work may go on.  What it prints and leaves in host memory is still wanted, and a card would
 * have been done. */
#define END_GRACE_NS UINT64_C(10000000000)

/* Frees what is in the context.  Work still running is waited for, unless the device is past waiting, or the context's takes so
 * long that it may never end. */
static void ctx_drop(struct aw_ctx *ctx)
{
    if (aw_provider->device_stop)
        aw_provider->device_stop(ctx->device->native, others_active(ctx) ? ctx : NULL, END_GRACE_NS);
    aw_provider->device_sync(ctx->device->native);
    for (int i = 0; i < AW_DROP_COUNT_; i++)
        if (drops[i])
            drops[i](ctx);
}

/* Resets the device behind an ended context when it is faulty or nobody else uses it. */
static void ctx_reset_device(struct aw_ctx *ctx, bool always)
{
    struct aw_device *device = ctx->device;
    bool faulty = __atomic_load_n(&device->fault, __ATOMIC_ACQUIRE) || aw_provider->device_fault(device->native);
    if (!faulty && (!always || others_active(ctx)))
        return;
    aw_provider->device_reset(device->native);
    /* A card whose queues are stuck stays faulty. */
    __atomic_store_n(&device->fault, aw_provider->device_fault(device->native), __ATOMIC_RELEASE);
}

static bool flags_known(unsigned flags)
{
    enum { SCHEDULE = 7, BLOCKING = 4, KNOWN = 0xff }; /* CU_CTX_SCHED_MASK, _BLOCKING_SYNC, CU_CTX_FLAGS_MASK */
    unsigned schedule = flags & SCHEDULE;
    return !(flags & ~(unsigned)KNOWN) && (schedule <= 2 || schedule == BLOCKING);
}

enum aw_status aw_ctx_set_flags(struct aw_ctx *ctx, unsigned flags)
{
    if (!flags_known(flags))
        return AW_ERR_INVALID_VALUE;
    __atomic_store_n(&ctx->flags, flags, __ATOMIC_RELAXED);
    return AW_OK;
}

enum aw_status aw_cache_config_set(int *ret_kept, int config)
{
    if (config < 0 || config > 3)
        return AW_ERR_INVALID_VALUE;
    *ret_kept = config;
    return AW_OK;
}

enum aw_status aw_ctx_create(struct aw_device *device, unsigned flags, unsigned api_version, struct aw_ctx **ret_ctx)
{
    if (!flags_known(flags))
        return AW_ERR_INVALID_VALUE;
    struct aw_ctx *ctx = ctx_new(device, false);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    __atomic_store_n(&ctx->flags, flags, __ATOMIC_RELAXED);
    ctx->api_version = api_version;
    ctx->active = true;
    aw_slab_publish(&aw_ctx_slab, ctx);
    *ret_ctx = ctx;
    return AW_OK;
}

enum aw_status aw_ctx_destroy(struct aw_ctx *ctx)
{
    struct aw_ctx *top;
    if (ctx->primary)
        return AW_ERR_INVALID_CONTEXT;
    if (!aw_slab_kill(&aw_ctx_slab, ctx))
        return AW_ERR_INVALID_CONTEXT;
    __atomic_store_n(&ctx->active, false, __ATOMIC_RELEASE);
    if (aw_ctx_top() == ctx)
        (void)aw_ctx_pop(&top);
    ctx_drop(ctx);
    ctx_reset_device(ctx, false);
    pthread_mutex_destroy(&ctx->lock);
    aw_slab_give(&aw_ctx_slab, ctx);
    return AW_OK;
}

/* ---- Primary contexts. */

struct aw_ctx *aw_primary_get(struct aw_device *device)
{
    struct aw_ctx *ctx = __atomic_load_n(&device->primary, __ATOMIC_ACQUIRE);
    if (ctx)
        return ctx;
    pthread_mutex_lock(&primary_lock);
    ctx = device->primary;
    if (!ctx && (ctx = ctx_new(device, true))) {
        aw_slab_publish(&aw_ctx_slab, ctx);
        __atomic_store_n(&device->primary, ctx, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&primary_lock);
    return ctx;
}

/* The lock is held. */
static void primary_activate(struct aw_ctx *ctx)
{
    if (ctx->active)
        return;
    ctx_defaults(ctx);
    __atomic_store_n(&ctx->active, true, __ATOMIC_RELEASE);
}

enum aw_status aw_primary_retain(struct aw_device *device, struct aw_ctx **ret_ctx)
{
    struct aw_ctx *ctx = aw_primary_get(device);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&ctx->lock);
    primary_activate(ctx);
    ctx->refs++;
    pthread_mutex_unlock(&ctx->lock);
    *ret_ctx = ctx;
    return AW_OK;
}

/* Ends the primary context's activation.  The lock is held. */
static void primary_end(struct aw_ctx *ctx, bool reset_device)
{
    ctx->refs = 0;
    __atomic_store_n(&ctx->runtime_held, false, __ATOMIC_RELEASE);
    if (!ctx->active)
        return;
    __atomic_store_n(&ctx->active, false, __ATOMIC_RELEASE);
    ctx_drop(ctx);
    ctx_reset_device(ctx, reset_device);
}

enum aw_status aw_primary_release(struct aw_device *device)
{
    struct aw_ctx *ctx = aw_primary_get(device);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&ctx->lock);
    enum aw_status status = ctx->refs ? AW_OK : AW_ERR_INVALID_CONTEXT;
    if (status == AW_OK && --ctx->refs == 0)
        primary_end(ctx, false);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

enum aw_status aw_primary_reset(struct aw_device *device)
{
    struct aw_ctx *ctx = aw_primary_get(device);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&ctx->lock);
    primary_end(ctx, true);
    __atomic_store_n(&ctx->flags, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&ctx->lock);
    return (enum aw_status)aw_provider->device_fault(device->native);
}

enum aw_status aw_primary_set_flags(struct aw_device *device, unsigned flags)
{
    struct aw_ctx *ctx = aw_primary_get(device);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    pthread_mutex_lock(&ctx->lock);
    enum aw_status status = aw_ctx_set_flags(ctx, flags);
    pthread_mutex_unlock(&ctx->lock);
    return status;
}

void aw_primary_state(struct aw_device *device, unsigned *ret_flags, bool *ret_active)
{
    struct aw_ctx *ctx = __atomic_load_n(&device->primary, __ATOMIC_ACQUIRE);
    *ret_flags = ctx ? __atomic_load_n(&ctx->flags, __ATOMIC_RELAXED) : 0;
    *ret_active = ctx && __atomic_load_n(&ctx->active, __ATOMIC_ACQUIRE);
}

enum aw_status aw_primary_use(struct aw_device *device)
{
    struct aw_ctx *ctx = aw_primary_get(device);
    if (!ctx)
        return AW_ERR_OUT_OF_MEMORY;
    if (!__atomic_load_n(&ctx->runtime_held, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&ctx->lock);
        if (!ctx->runtime_held) {
            primary_activate(ctx);
            ctx->refs++;
            __atomic_store_n(&ctx->runtime_held, true, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&ctx->lock);
    }
    struct aw_ctx *top = aw_ctx_top();
    if (!top || !aw_ctx_from(top))
        return aw_ctx_set(ctx);
    return AW_OK;
}

/* ---- Limits. */

enum aw_status aw_ctx_limit_get(struct aw_ctx *ctx, int limit, size_t *ret_value)
{
    if (limit < 0 || limit >= AW_CTX_LIMITS)
        return AW_ERR_INVALID_VALUE;
    if (limit >= LIMIT_COUNT_)
        return AW_ERR_UNSUPPORTED_LIMIT;
    *ret_value = __atomic_load_n(&ctx->limits[limit], __ATOMIC_RELAXED);
    return AW_OK;
}

enum { MOST_STACK = 512 << 10 }; /* of a thread, as CUDA's programming guide has it for every card */

enum aw_status aw_ctx_limit_set(struct aw_ctx *ctx, int limit, size_t value)
{
    if (limit < 0 || limit >= AW_CTX_LIMITS)
        return AW_ERR_INVALID_VALUE;
    if (limit >= LIMIT_COUNT_)
        return AW_ERR_UNSUPPORTED_LIMIT;
    if ((limit == LIMIT_L2_FETCH && value > 128) || (limit == LIMIT_STACK && value > MOST_STACK))
        return AW_ERR_INVALID_VALUE;
    if (limit == LIMIT_L2_PERSISTING)
        value = 0; /* no set-aside: what is granted may be less than asked */
    static const signed char provider_limit[LIMIT_COUNT_] = { /* one more than enum aw_limit; 0: none of the device's */
        [LIMIT_STACK] = AW_LIMIT_STACK + 1, [LIMIT_PRINTF] = AW_LIMIT_PRINTF + 1, [LIMIT_HEAP] = AW_LIMIT_HEAP + 1,
    };
    if (provider_limit[limit] && aw_provider->limit_set && value != __atomic_load_n(&ctx->limits[limit], __ATOMIC_RELAXED)) {
        int status = aw_provider->limit_set(ctx->device->native, (enum aw_limit)(provider_limit[limit] - 1), value);
        if (status)
            return aw_device_note(ctx->device, status);
    }
    __atomic_store_n(&ctx->limits[limit], value, __ATOMIC_RELAXED);
    return AW_OK;
}

void aw_core_test_provider(const struct aw_provider *provider)
{
    for (int i = 0; i < aw_device_count(); i++)
        if (aw_device_find(i)->primary)
            aw_primary_reset(aw_device_find(i));
    aw_devices_test_provider(provider);
}
