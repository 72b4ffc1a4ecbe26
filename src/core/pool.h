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
    bool shared;                     /* other processes may have its memory */
    bool imported;                   /* another process's: nothing is allocated in it */
    uint64_t release_threshold;      /* bytes */
    uint64_t open_to;                /* bit n: device n was given access, beside the pool's own */
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
/* `shared`: AW_ERR_NOT_SUPPORTED where aw_device_shares says no. */
enum aw_status aw_pool_create(struct aw_device *device, bool shared, struct aw_pool **ret_pool);
/* The pool as a file, which is the caller's to close; AW_ERR_INVALID_VALUE: not a shared one. */
enum aw_status aw_pool_export(const struct aw_pool *pool, int *ret_fd);
/* Such a file's pool, of the device that it is of there.  AW_ERR_INVALID_VALUE: it is none, or there is no such device. */
enum aw_status aw_pool_import(int fd, struct aw_pool **ret_pool);
/* An allocation of a shared pool for other processes, and another's in an imported one: freed like any, before its own process
 * frees it. */
enum aw_status aw_pool_pointer_get(uintptr_t address, struct aw_ipc_handle *ret_handle);
enum aw_status aw_pool_pointer_open(struct aw_ctx *ctx, struct aw_pool *pool, const struct aw_ipc_handle *handle,
                                    uintptr_t *ret_address);
enum aw_status aw_pool_destroy(struct aw_pool *pool); /* AW_ERR_INVALID_VALUE for the default pool */

/* May the device's kernels use the pool's memory?  Its own device's may. */
bool aw_pool_is_open(const struct aw_pool *pool, const struct aw_device *device);
/* Gives access to all of it, also what is allocated later, or takes it away.  AW_ERR_INVALID_VALUE: taken from its own device;
 * AW_ERR_NOT_SUPPORTED: the two devices are no peers. */
enum aw_status aw_pool_open(struct aw_pool *pool, struct aw_device *device, bool open);

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
