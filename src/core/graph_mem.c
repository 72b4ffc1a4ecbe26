/* Memory that graphs allocate: one block of device memory per allocating node.  CUDA lays such blocks over each other where
 * their lives do not meet; here each has its own, which costs memory and nothing else. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/graph.h"

struct aw_graph_mem {
    struct aw_graph_mem *next;
    struct aw_ctx *ctx;
    uint64_t ctx_id;
    uintptr_t address;
    size_t size;
    unsigned refs; /* nodes that name it; one more while it is allocated */
    bool live;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over everything here */
static struct aw_graph_mem *blocks;
static struct usage {
    uint64_t used, used_high, reserved, reserved_high; /* bytes */
} usage[AW_MAX_DEVICES];

static struct usage *usage_of(const struct aw_graph_mem *mem)
{
    return &usage[mem->ctx->device->ordinal];
}

static void raise_high(uint64_t *high, uint64_t now)
{
    if (*high < now)
        *high = now;
}

/* Takes the block out of the list when nobody needs it any more; the caller frees it without the lock. */
static struct aw_graph_mem *drop_ref(struct aw_graph_mem *mem)
{
    if (--mem->refs)
        return NULL;
    for (struct aw_graph_mem **at = &blocks; *at; at = &(*at)->next) {
        if (*at != mem)
            continue;
        *at = mem->next;
        break;
    }
    usage_of(mem)->reserved -= mem->size;
    return mem;
}

static void block_free(struct aw_graph_mem *mem)
{
    /* A context that has ended took its memory with it. */
    if (mem && aw_ctx_from(mem->ctx) && mem->ctx->id == mem->ctx_id)
        aw_mem_graph_free(mem->address);
    free(mem);
}

enum aw_status aw_node_alloc_make(struct aw_ctx *ctx, size_t size, struct aw_node_params *ret_params)
{
    struct aw_graph_mem *mem = calloc(1, sizeof *mem);
    if (!mem)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_mem_graph_alloc(ctx, size, &mem->address);
    if (status) {
        free(mem);
        return status;
    }
    mem->ctx = ctx;
    mem->ctx_id = ctx->id;
    mem->size = size;
    mem->refs = 1;
    pthread_mutex_lock(&lock);
    mem->next = blocks;
    blocks = mem;
    usage_of(mem)->reserved += size;
    raise_high(&usage_of(mem)->reserved_high, usage_of(mem)->reserved);
    pthread_mutex_unlock(&lock);
    *ret_params = (struct aw_node_params){ .type = AW_NODE_ALLOC, .ctx = ctx, .ctx_id = ctx->id,
                                           .alloc = { mem, mem->address, size } };
    return AW_OK;
}

static struct aw_graph_mem *block_at(uintptr_t address)
{
    for (struct aw_graph_mem *mem = blocks; mem; mem = mem->next)
        if (mem->address == address && aw_ctx_from(mem->ctx) && mem->ctx->id == mem->ctx_id)
            return mem;
    return NULL;
}

enum aw_status aw_node_free_make(uintptr_t address, struct aw_node_params *ret_params)
{
    pthread_mutex_lock(&lock);
    struct aw_graph_mem *mem = block_at(address);
    if (mem)
        mem->refs++;
    pthread_mutex_unlock(&lock);
    if (!mem)
        return AW_ERR_INVALID_VALUE;
    *ret_params = (struct aw_node_params){ .type = AW_NODE_FREE, .ctx = mem->ctx, .ctx_id = mem->ctx_id,
                                           .alloc = { mem, address, mem->size } };
    return AW_OK;
}

void aw_graph_mem_ref(struct aw_graph_mem *mem)
{
    pthread_mutex_lock(&lock);
    mem->refs++;
    pthread_mutex_unlock(&lock);
}

void aw_graph_mem_unref(struct aw_graph_mem *mem)
{
    pthread_mutex_lock(&lock);
    struct aw_graph_mem *gone = drop_ref(mem);
    pthread_mutex_unlock(&lock);
    block_free(gone);
}

bool aw_graph_mem_live(const struct aw_graph_mem *mem)
{
    pthread_mutex_lock(&lock);
    bool live = mem->live;
    pthread_mutex_unlock(&lock);
    return live;
}

enum aw_status aw_graph_mem_use(struct aw_graph_mem *mem)
{
    pthread_mutex_lock(&lock);
    bool was = mem->live;
    if (!was) {
        mem->live = true;
        mem->refs++;
        usage_of(mem)->used += mem->size;
        raise_high(&usage_of(mem)->used_high, usage_of(mem)->used);
    }
    pthread_mutex_unlock(&lock);
    return was ? AW_ERR_INVALID_VALUE : AW_OK;
}

/* The lock is held.  Returns the block when it is to be freed. */
static struct aw_graph_mem *block_unuse(struct aw_graph_mem *mem)
{
    mem->live = false;
    usage_of(mem)->used -= mem->size;
    return drop_ref(mem);
}

enum aw_status aw_graph_mem_unuse(struct aw_graph_mem *mem)
{
    pthread_mutex_lock(&lock);
    bool was = mem->live;
    struct aw_graph_mem *gone = was ? block_unuse(mem) : NULL;
    pthread_mutex_unlock(&lock);
    block_free(gone);
    return was ? AW_OK : AW_ERR_INVALID_VALUE;
}

static enum aw_status graph_mem_free_at(uintptr_t address)
{
    pthread_mutex_lock(&lock);
    struct aw_graph_mem *mem = block_at(address);
    bool was = mem && mem->live;
    struct aw_graph_mem *gone = was ? block_unuse(mem) : NULL;
    pthread_mutex_unlock(&lock);
    block_free(gone);
    return was ? AW_OK : AW_ERR_INVALID_VALUE;
}

enum aw_status aw_graph_mem_get(const struct aw_device *device, int attr, uint64_t *ret_bytes)
{
    pthread_mutex_lock(&lock);
    struct usage now = usage[device->ordinal];
    pthread_mutex_unlock(&lock);
    const uint64_t values[] = { now.used, now.used_high, now.reserved, now.reserved_high };
    if (attr < 0 || attr >= 4)
        return AW_ERR_INVALID_VALUE;
    *ret_bytes = values[attr];
    return AW_OK;
}

enum aw_status aw_graph_mem_reset(const struct aw_device *device, int attr)
{
    enum { USED_HIGH = 1, RESERVED_HIGH = 3 };
    if (attr != USED_HIGH && attr != RESERVED_HIGH)
        return AW_ERR_INVALID_VALUE;
    struct usage *at = &usage[device->ordinal];
    pthread_mutex_lock(&lock);
    if (attr == USED_HIGH)
        at->used_high = at->used;
    else
        at->reserved_high = at->reserved;
    pthread_mutex_unlock(&lock);
    return AW_OK;
}

__attribute__((constructor)) static void graph_mem_register(void)
{
    aw_mem_owners.free_other = graph_mem_free_at;
}
