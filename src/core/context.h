/* Contexts: one primary per device and any number of created ones; the thread's stack of current contexts.
 *
 * Providers know devices only, so the contexts of one device share its default stream and its fault.  A context owns what
 * was made in it: allocations, streams, events, modules, and frees it when it ends. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_CONTEXT_H
#define AW_CORE_CONTEXT_H

#include "core/device.h"
#include "core/handle.h"

struct aw_ctx;
struct aw_stream;

/* A stream; what is done with one is stream.h. */
struct aw_cstream {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    struct aw_stream *native; /* NULL: the legacy stream */
    unsigned flags;           /* CU_STREAM_*: 1 = non-blocking */
    int priority;
    uint64_t id;              /* unique per process */
    struct aw_green *green;   /* of the green context that was current; NULL: of none */
    uint64_t green_id;        /* its number: whether it still is that one */
    bool per_thread;          /* made for handle 2; not destroyed by the user */
    struct aw_capture_stream *capture; /* capture.h's, under its lock; NULL: not capturing */
};

enum { AW_CTX_LIMITS = 16, AW_CTX_STACK = 16 /* in thread storage, which must fit when we are loaded late */ };

struct aw_ctx {
    struct aw_handle handle;
    struct aw_device *device;
    bool primary;
    bool active;            /* primary: retained at least once since the last reset; others: always.  Atomic */
    bool runtime_held;      /* primary: one of the references is aw_primary_use's */
    unsigned refs;          /* primary: retain count */
    unsigned flags;         /* CU_CTX_*  */
    unsigned api_version;   /* 3020 or as created */
    uint64_t id;            /* unique per process; a primary context gets a new one at each activation */
    size_t limits[AW_CTX_LIMITS]; /* by CUlimit, bytes or counts */
    int cache_config, shared_config;
    struct aw_cstream legacy; /* the NULL stream; its `native` is NULL */
    struct aw_cstream *meeting; /* stream.c's, under its lock: no program's; where aw_ctx_record and aw_ctx_wait bring streams
                                 * together */
    bool streams_wait;      /* aw_ctx_wait was called: streams made later wait for `meeting`.  Atomic */
    pthread_mutex_t lock;   /* over refs, flags, activation */
};

extern struct aw_slab aw_ctx_slab;

static inline struct aw_ctx *aw_ctx_from(const void *handle) /* NULL: not a live context */
{
    return aw_slab_valid(&aw_ctx_slab, handle) ? (struct aw_ctx *)(uintptr_t)handle : NULL;
}

/* A green context: a part of a device's multiprocessors, by name.  Its work, memory and modules are the primary context's, and
 * all of the device does its work: which part of it that is, is only told. */
struct aw_green {
    struct aw_handle handle;
    struct aw_ctx *ctx; /* the primary context, retained */
    unsigned sms;
    uint64_t id;        /* unique per process */
};

extern struct aw_slab aw_green_slab;

static inline struct aw_green *aw_green_from(const void *handle) /* NULL: not a live green context */
{
    return aw_slab_valid(&aw_green_slab, handle) ? (struct aw_green *)(uintptr_t)handle : NULL;
}

/* A context's handle as programs have them: the context, of a green one its primary context, or NULL. */
static inline struct aw_ctx *aw_ctx_behind(const void *handle)
{
    const struct aw_green *green = aw_green_from(handle);
    return green ? green->ctx : aw_ctx_from(handle);
}

/* AW_ERR_OUT_OF_MEMORY.  To be destroyed by aw_green_destroy, which leaves its streams, as streams of none, and pops it when it
 * is the caller's top. */
enum aw_status aw_green_create(struct aw_device *device, unsigned sms, struct aw_green **ret_green);
enum aw_status aw_green_destroy(struct aw_green *green); /* AW_ERR_INVALID_CONTEXT: another thread was first */
/* The one that a stream belongs to: of a default stream, the current one.  NULL: none, or one that was destroyed. */
struct aw_green *aw_stream_green(const struct aw_cstream *stream);

/* ---- The calling thread's stack.  The empty stack has no current context. */
struct aw_ctx *aw_ctx_top(void);                  /* NULL when empty; may be a dead context: see aw_ctx_current */
enum aw_status aw_ctx_push(struct aw_ctx *ctx);   /* AW_ERR_INVALID_CONTEXT when ctx is NULL or the stack is full */
enum aw_status aw_ctx_pop(struct aw_ctx **ret_ctx); /* AW_ERR_INVALID_CONTEXT when empty */
enum aw_status aw_ctx_set(struct aw_ctx *ctx);    /* replaces the top; NULL pops; pushes on an empty stack */
/* A green context as the current one: aw_ctx_top is then its primary context. */
enum aw_status aw_green_push(struct aw_green *green);
enum aw_status aw_green_set(struct aw_green *green);
struct aw_green *aw_green_top(void); /* NULL: the current context is no green one, or one that was destroyed */

/* The current context, fit for work: AW_OK; AW_ERR_NOT_INITIALIZED before cuInit; AW_ERR_INVALID_CONTEXT when there is none;
 * AW_ERR_CONTEXT_DESTROYED; or the device's sticky fault.  The hot path of every call that needs a context. */
enum aw_status aw_ctx_current(struct aw_ctx **ret_ctx);
/* The same, but a faulty device is no error: for freeing, destroying and asking. */
enum aw_status aw_ctx_current_any(struct aw_ctx **ret_ctx);
/* The sticky fault of a context's device; AW_OK: none. */
static inline enum aw_status aw_ctx_fault(const struct aw_ctx *ctx)
{
    return (enum aw_status)__atomic_load_n(&ctx->device->fault, __ATOMIC_RELAXED);
}

/* What a context frees when it ends, in this order. */
enum aw_ctx_drop {
    AW_DROP_GRAPHS, AW_DROP_MODULES, AW_DROP_TEXREFS, AW_DROP_TEXTURES, AW_DROP_ARRAYS, AW_DROP_STREAMS, AW_DROP_POOLS,
    AW_DROP_MEMORY, AW_DROP_COUNT_
};
/* Registers how one kind of it goes; the context's work has ended by then.  Before main: see AW_CTX_DROP. */
void aw_ctx_drop_set(enum aw_ctx_drop kind, void (*drop)(struct aw_ctx *ctx));
#define AW_CTX_DROP(kind, drop)                                    \
    __attribute__((constructor)) static void drop##_register(void) \
    {                                                              \
        aw_ctx_drop_set((kind), (drop));                           \
    }

/* ---- Created contexts.  `flags` as aw_primary_set_flags takes them. */
enum aw_status aw_ctx_create(struct aw_device *device, unsigned flags, unsigned api_version, struct aw_ctx **ret_ctx);
/* Frees everything in it but memory of pools, which is the primary context's then; pops it when it is the caller's top.
 * AW_ERR_INVALID_CONTEXT for a primary context. */
enum aw_status aw_ctx_destroy(struct aw_ctx *ctx);

/* ---- Primary contexts. */
/* The device's, made at first need, active or not; NULL: memory is out. */
struct aw_ctx *aw_primary_get(struct aw_device *device);
enum aw_status aw_primary_retain(struct aw_device *device, struct aw_ctx **ret_ctx);
/* AW_ERR_INVALID_CONTEXT when it was not retained. The last release frees everything in it. */
enum aw_status aw_primary_release(struct aw_device *device);
/* Frees everything in it, clears the device's fault; the handle stays valid for a later retain. */
enum aw_status aw_primary_reset(struct aw_device *device);
/* CU_CTX_*; AW_ERR_INVALID_VALUE for others, and for more than one way to schedule. */
enum aw_status aw_primary_set_flags(struct aw_device *device, unsigned flags);
enum aw_status aw_ctx_set_flags(struct aw_ctx *ctx, unsigned flags);
/* CUfunc_cache's number, of a context or a function: a preference, and no device of ours has the choice, so it is kept to be
 * told again. AW_ERR_INVALID_VALUE. */
enum aw_status aw_cache_config_set(int *ret_kept, int config);
void aw_primary_state(struct aw_device *device, unsigned *ret_flags, bool *ret_active);
/* What the runtime API does before its first real call: retains once per process (per activation) and makes it the thread's
 * current context when the thread has none.  Cheap when already done. */
enum aw_status aw_primary_use(struct aw_device *device);

enum aw_status aw_ctx_limit_get(struct aw_ctx *ctx, int limit, size_t *ret_value);
enum aw_status aw_ctx_limit_set(struct aw_ctx *ctx, int limit, size_t value);
/* Waits for all work of the context's device. */
enum aw_status aw_ctx_sync(struct aw_ctx *ctx);
/* The status to report after waiting: `status` or a fault that the waiting brought to light. */
enum aw_status aw_ctx_settle(struct aw_ctx *ctx, int status);
/* For tests: serve this table instead of choosing, before aw_core_init.  NULL returns to choosing.  Forgets all state. */
void aw_core_test_provider(const struct aw_provider *provider);
/* Unique numbers for contexts, streams and allocations, from 1. */
uint64_t aw_next_id(void);

#endif
