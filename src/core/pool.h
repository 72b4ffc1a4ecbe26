/* Memory pools: stream-ordered allocation.
 *
 * A freed block is kept with an event that marks the place in its stream, and given out again to the same stream at once, to
 * others when the event has passed.  All pools of a device share one store of kept blocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_POOL_H
#define AW_CORE_POOL_H

#include "core/context.h"
#include "core/memory.h"

struct aw_pool {
    struct aw_handle handle;
    struct aw_device *device;
    bool is_default;
    uint64_t release_threshold;      /* bytes */
    int reuse[3];                    /* follow event dependencies, opportunistic, internal dependencies: kept, not needed */
    uint64_t used, used_high, reserved_high; /* bytes, of what was asked for in multiples of 512 */
    uint64_t spare;                  /* bytes that blocks in use have beyond that */
};

extern struct aw_slab aw_pool_slab;

static inline struct aw_pool *aw_pool_from(const void *handle)
{
    return aw_slab_valid(&aw_pool_slab, handle) ? (struct aw_pool *)(uintptr_t)handle : NULL;
}

/* The pool every device has; NULL when memory is out. */
struct aw_pool *aw_pool_default(struct aw_device *device);
/* The pool cuMemAllocAsync takes from: the default one unless set. */
struct aw_pool *aw_pool_current(struct aw_device *device);
void aw_pool_set_current(struct aw_device *device, struct aw_pool *pool);
enum aw_status aw_pool_create(struct aw_device *device, struct aw_pool **ret_pool);
enum aw_status aw_pool_destroy(struct aw_pool *pool); /* AW_ERR_INVALID_VALUE for the default pool */

enum aw_status aw_pool_alloc(struct aw_pool *pool, struct aw_ctx *ctx, size_t size, struct aw_cstream *stream,
                             uintptr_t *ret_address);
/* From the device's current pool. */
enum aw_status aw_mem_alloc_async(struct aw_ctx *ctx, size_t size, struct aw_cstream *stream, uintptr_t *ret_address);
/* Freed once the stream's earlier work has ended; whether it came from a pool or not. */
enum aw_status aw_mem_free_async(uintptr_t address, struct aw_cstream *stream);
/* Gives kept blocks whose place in their stream has passed back to the device until at most `keep` bytes are kept. */
void aw_pool_trim(struct aw_device *device, uint64_t keep);
/* Bytes that the pool holds, in use and kept for the device. */
uint64_t aw_pool_reserved(struct aw_pool *pool);
/* Bytes kept for the device. */
uint64_t aw_pool_kept(struct aw_device *device);

#endif
