/* Stream-ordered allocation over the provider's plain allocator. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/recorder.h"
#include "core/stream.h"

enum { ROUND = 512 };
static const uint64_t keep_always = (uint64_t)256 << 20; /* bytes kept whatever the threshold: giving back waits */

struct aw_slab aw_pool_slab = AW_SLAB_INIT("pool", struct aw_pool);

struct block {
    struct block *next;
    struct aw_ctx *ctx;
    uintptr_t address;
    size_t size;
    uint64_t stream_id;     /* where it was freed */
    struct aw_pool *pool;   /* of a shared pool, which has no other's blocks; else NULL */
    struct aw_event *event; /* marks the place; NULL: passed */
};

static struct {
    struct block *kept;
    uint64_t bytes;
    struct aw_pool *pool, *current;
} store[AW_MAX_DEVICES];
static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_pool nobody; /* of blocks that came back when their pool had been destroyed: they are not given out again */

static void block_free(struct block *block)
{
    if (block->event)
        aw_provider->event_destroy(block->event);
    free(block);
}

static void blocks_release(struct block *list)
{
    for (struct block *next; list; list = next) {
        next = list->next;
        aw_mem_pool_release(list->ctx, list->address, AW_MEM_DEVICE);
        block_free(list);
    }
}

/* ---- Pools. */

enum aw_status aw_pool_create(struct aw_device *device, bool shared, struct aw_pool **ret_pool)
{
    if (shared && !aw_device_shares(device))
        return AW_ERR_NOT_SUPPORTED;
    struct aw_pool *pool = aw_slab_take(&aw_pool_slab);
    if (!pool)
        return AW_ERR_OUT_OF_MEMORY;
    pool->device = device;
    pool->shared = shared;
    pool->imported = false;
    for (int i = 0; i < 3; i++)
        pool->reuse[i] = 1;
    aw_slab_publish(&aw_pool_slab, pool);
    *ret_pool = pool;
    return AW_OK;
}

enum aw_status aw_pool_destroy(struct aw_pool *pool)
{
    struct block *own = NULL;
    if (pool->is_default || !aw_slab_kill(&aw_pool_slab, pool))
        return AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&store_lock);
    if (store[pool->device->ordinal].current == pool)
        store[pool->device->ordinal].current = NULL;
    for (struct block **at = &store[pool->device->ordinal].kept, *b; (b = *at);) {
        if (b->pool != pool) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        store[pool->device->ordinal].bytes -= b->size;
        b->next = own;
        own = b;
    }
    pthread_mutex_unlock(&store_lock);
    blocks_release(own); /* which waits for the device */
    aw_slab_give(&aw_pool_slab, pool);
    return AW_OK;
}

bool aw_pool_is_open(const struct aw_pool *pool, const struct aw_device *device)
{
    return device == pool->device || __atomic_load_n(&pool->open_to, __ATOMIC_ACQUIRE) >> device->ordinal & 1;
}

enum aw_status aw_pool_open(struct aw_pool *pool, struct aw_device *device, bool open)
{
    uint64_t bit = (uint64_t)1 << device->ordinal;
    if (device == pool->device)
        return open ? AW_OK : AW_ERR_INVALID_VALUE;
    enum aw_status status = open ? aw_device_peer_pools(device, pool->device) : AW_OK;
    if (status)
        return status;
    if (open)
        __atomic_or_fetch(&pool->open_to, bit, __ATOMIC_ACQ_REL);
    else
        __atomic_and_fetch(&pool->open_to, ~bit, __ATOMIC_ACQ_REL);
    return AW_OK;
}

struct aw_pool *aw_pool_default(struct aw_device *device)
{
    pthread_mutex_lock(&store_lock);
    struct aw_pool **at = &store[device->ordinal].pool;
    if (!*at && aw_pool_create(device, false, at) == AW_OK)
        (*at)->is_default = true;
    struct aw_pool *pool = *at;
    pthread_mutex_unlock(&store_lock);
    return pool;
}

struct aw_pool *aw_pool_current(struct aw_device *device)
{
    pthread_mutex_lock(&store_lock);
    struct aw_pool *pool = store[device->ordinal].current;
    pthread_mutex_unlock(&store_lock);
    return pool ?: aw_pool_default(device);
}

void aw_pool_set_current(struct aw_device *device, struct aw_pool *pool)
{
    pthread_mutex_lock(&store_lock);
    store[device->ordinal].current = pool;
    pthread_mutex_unlock(&store_lock);
}

/* ---- Kept blocks. */

static bool block_passed(struct block *block)
{
    if (!block->event)
        return true;
    if (aw_provider->event_query(block->event) == AW_ERR_NOT_READY)
        return false;
    aw_provider->event_destroy(block->event);
    block->event = NULL;
    return true;
}

/* Takes a kept block that serves `size` bytes on `stream`, not much larger than asked. */
static struct block *block_find(const struct aw_pool *pool, struct aw_ctx *ctx, size_t size, const struct aw_cstream *stream)
{
    const struct aw_pool *of = pool->shared ? pool : NULL;
    size_t most = size + size / 4 + ROUND;
    struct block *found = NULL;
    pthread_mutex_lock(&store_lock);
    for (struct block **at = &store[ctx->device->ordinal].kept; *at; at = &(*at)->next) {
        struct block *block = *at;
        if (block->ctx != ctx || block->pool != of || block->size < size || block->size > most)
            continue;
        if (block->stream_id != stream->id && !block_passed(block))
            continue;
        *at = block->next;
        store[ctx->device->ordinal].bytes -= block->size;
        found = block;
        break;
    }
    pthread_mutex_unlock(&store_lock);
    return found;
}

static void pool_taken(struct aw_pool *pool, size_t size, size_t spare)
{
    pthread_mutex_lock(&store_lock);
    pool->used += size;
    pool->spare += spare;
    uint64_t reserved = pool->used + pool->spare + store[pool->device->ordinal].bytes;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    if (reserved > pool->reserved_high)
        pool->reserved_high = reserved;
    pthread_mutex_unlock(&store_lock);
}

static void pool_returned(const struct aw_mem *mem)
{
    struct aw_pool *pool = mem->pool;
    pthread_mutex_lock(&store_lock);
    if (aw_pool_from(pool)) {
        pool->used -= pool->used < mem->size ? pool->used : mem->size;
        pool->spare -= pool->spare < mem->spare ? pool->spare : mem->spare;
    }
    pthread_mutex_unlock(&store_lock);
}

enum aw_status aw_pool_alloc(struct aw_pool *pool, struct aw_ctx *ctx, size_t size, struct aw_cstream *stream,
                             uintptr_t *ret_address)
{
    uintptr_t address;
    size_t spare = 0;
    enum aw_status status;
    if (!size || pool->imported)
        return AW_ERR_INVALID_VALUE;
    if (size > SIZE_MAX / 2)
        return AW_ERR_OUT_OF_MEMORY;
    if (aw_capture_any() &&
        aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_ALLOC, .ctx = ctx, .alloc = { size, &address } }, &status)) {
        if (status == AW_OK)
            *ret_address = address;
        return status;
    }
    size = (size + ROUND - 1) / ROUND * ROUND;
    struct block *block = block_find(pool, ctx, size, stream);
    if (block) {
        address = block->address;
        spare = block->size - size;
        block_free(block);
    } else {
        status = aw_mem_pool_get(ctx, size, pool->shared, &address);
        if (status)
            return status;
    }
    status = aw_mem_pool_add(ctx, address, size, spare, pool);
    if (status) {
        aw_mem_pool_release(ctx, address, AW_MEM_DEVICE);
        return status;
    }
    pool_taken(pool, size, spare);
    *ret_address = address;
    return AW_OK;
}

/* Takes over an allocation that has left the table of live ones. */
static enum aw_status pool_keep(struct aw_ctx *ctx, struct aw_pool *of, uintptr_t address, size_t size,
                                struct aw_cstream *stream)
{
    struct aw_device *device = ctx->device;
    struct aw_event *event = NULL;
    struct block *block = malloc(sizeof *block);
    int status = block ? aw_provider->event_create(device->native, AW_EVENT_NO_TIMING, &event) : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        status = aw_provider->event_record(device->native, event, stream->native);
    if (status) {
        /* No place in the stream can be marked: wait for all of it instead. */
        if (event)
            aw_provider->event_destroy(event);
        free(block);
        status = aw_stream_sync(stream);
        aw_mem_pool_release(ctx, address, AW_MEM_DEVICE);
        return (enum aw_status)status;
    }
    *block = (struct block){ .ctx = ctx, .address = address, .size = size, .stream_id = stream->id, .event = event };
    if (of)
        block->pool = aw_pool_from(of) ? of->shared ? of : NULL : &nobody;
    struct aw_pool *pool = aw_pool_current(device);
    uint64_t most = pool && pool->release_threshold > keep_always ? pool->release_threshold : keep_always;
    pthread_mutex_lock(&store_lock);
    block->next = store[device->ordinal].kept;
    store[device->ordinal].kept = block;
    store[device->ordinal].bytes += size;
    bool over = store[device->ordinal].bytes > most;
    pthread_mutex_unlock(&store_lock);
    if (over)
        aw_pool_trim(device, most);
    return AW_OK;
}

/* Takes blocks out while more than `keep` bytes are kept: of `ctx`, or of all contexts when NULL; `any` also takes blocks whose
 * place has not passed.  Returned as a list, so that they are freed without the lock. */
static struct block *store_take(struct aw_device *device, const struct aw_ctx *ctx, uint64_t keep, bool any)
{
    struct block *taken = NULL;
    pthread_mutex_lock(&store_lock);
    struct block **at = &store[device->ordinal].kept;
    while (*at && store[device->ordinal].bytes > keep) {
        struct block *block = *at;
        if ((ctx && block->ctx != ctx) || (!any && !block_passed(block))) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        store[device->ordinal].bytes -= block->size;
        block->next = taken;
        taken = block;
    }
    pthread_mutex_unlock(&store_lock);
    return taken;
}

void aw_pool_trim(struct aw_device *device, uint64_t keep)
{
    blocks_release(store_take(device, NULL, keep, false));
}

/* Gives back all blocks of `ctx`, whose work has ended. */
static void pool_drop(struct aw_ctx *ctx)
{
    blocks_release(store_take(ctx->device, ctx, 0, true));
}

uint64_t aw_pool_reserved(struct aw_pool *pool)
{
    pthread_mutex_lock(&store_lock);
    uint64_t bytes = pool->used + pool->spare + store[pool->device->ordinal].bytes;
    pthread_mutex_unlock(&store_lock);
    return bytes;
}

uint64_t aw_pool_kept(struct aw_device *device)
{
    pthread_mutex_lock(&store_lock);
    uint64_t bytes = store[device->ordinal].bytes;
    pthread_mutex_unlock(&store_lock);
    return bytes;
}

static bool pool_reclaim(struct aw_device *device)
{
    if (!aw_pool_kept(device))
        return false;
    aw_provider->device_sync(device->native);
    aw_pool_trim(device, 0);
    return true;
}

AW_CTX_DROP(AW_DROP_POOLS, pool_drop)

__attribute__((constructor)) static void pool_register(void)
{
    aw_mem_owners.reclaim = pool_reclaim;
    aw_mem_owners.returned = pool_returned;
}

/* ---- Stream-ordered allocation as the user calls it. */

enum aw_status aw_mem_alloc_async(struct aw_ctx *ctx, size_t size, struct aw_cstream *stream, uintptr_t *ret_address)
{
    struct aw_pool *pool = aw_pool_current(ctx->device);
    return pool ? aw_pool_alloc(pool, ctx, size, stream, ret_address) : AW_ERR_OUT_OF_MEMORY;
}

enum aw_status aw_mem_free_async(uintptr_t address, struct aw_cstream *stream)
{
    struct aw_mem mem;
    enum aw_status status;
    if (!address)
        return AW_OK;
    if (aw_capture_any() && aw_capture_add(stream, &(struct aw_work){ .type = AW_WORK_FREE, .free = address }, &status))
        return status;
    status = aw_mem_take(address, &mem);
    if (status || !mem.base)
        return status;
    if (mem.kind == AW_MEM_DEVICE && mem.ctx->device == stream->ctx->device)
        return pool_keep(mem.ctx, mem.pool, address, mem.size + mem.spare, stream);
    status = aw_stream_sync(stream);
    aw_mem_pool_release(mem.ctx, address, mem.kind);
    return status;
}

/* ---- Between processes. */

/* What the file that a pool is handed over as holds: its pointers say the rest. */
struct told {
    char mark[16];
    unsigned char uuid[16];
};
static const char mark[16] = "anywarp pool";

enum aw_status aw_pool_export(const struct aw_pool *pool, int *ret_fd)
{
    struct told told;
    if (!pool->shared || pool->imported)
        return AW_ERR_INVALID_VALUE;
    memcpy(told.mark, mark, sizeof mark);
    memcpy(told.uuid, pool->device->uuid, sizeof told.uuid);
    int fd = memfd_create("anywarp-pool", MFD_CLOEXEC);
    if (fd < 0)
        return AW_ERR_OS;
    if (pwrite(fd, &told, sizeof told, 0) != (ssize_t)sizeof told) {
        close(fd);
        return AW_ERR_OS;
    }
    *ret_fd = fd;
    return AW_OK;
}

enum aw_status aw_pool_import(int fd, struct aw_pool **ret_pool)
{
    struct told told;
    if (pread(fd, &told, sizeof told, 0) != (ssize_t)sizeof told || memcmp(told.mark, mark, sizeof mark) != 0)
        return AW_ERR_INVALID_VALUE;
    for (int i = 0; i < aw_device_count(); i++) {
        struct aw_device *device = aw_device_find(i);
        if (memcmp(device->uuid, told.uuid, sizeof told.uuid) != 0)
            continue;
        enum aw_status status = aw_pool_create(device, true, ret_pool);
        if (status == AW_OK)
            (*ret_pool)->imported = true;
        return status;
    }
    return AW_ERR_INVALID_VALUE;
}

enum aw_status aw_pool_pointer_get(uintptr_t address, struct aw_ipc_handle *ret_handle)
{
    struct aw_mem mem;
    if (!aw_mem_find(address, &mem) || mem.base != address || mem.kind != AW_MEM_DEVICE || !aw_pool_from(mem.pool) ||
        !mem.pool->shared)
        return AW_ERR_INVALID_VALUE;
    return aw_device_note(mem.device, aw_provider->ipc_mem_get(mem.device->native, (void *)mem.base, ret_handle));
}

enum aw_status aw_pool_pointer_open(struct aw_ctx *ctx, struct aw_pool *pool, const struct aw_ipc_handle *handle,
                                    uintptr_t *ret_address)
{
    void *p;
    size_t size;
    if (!pool->imported || pool->device != ctx->device)
        return AW_ERR_INVALID_VALUE;
    const int native = ctx->device->native;
    enum aw_status status = aw_device_note(ctx->device, aw_provider->ipc_mem_open(native, handle, &p, &size));
    if (status)
        return status;
    status = aw_mem_pool_open(ctx, (uintptr_t)p, size, pool);
    if (status)
        aw_provider->ipc_mem_close(native, p);
    else
        *ret_address = (uintptr_t)p;
    return status;
}
