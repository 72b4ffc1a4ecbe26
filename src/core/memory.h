/* Memory: what was allocated where, and copies with CUDA's synchronisation rules.
 *
 * All allocations of all contexts are in one ordered table, so that any address inside one finds it.  Sizes are bytes, and
 * addresses are plain integers or pointers: device addresses are unified with the host's.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_MEMORY_H
#define AW_CORE_MEMORY_H

#include <anywarp/provider.h>

#include "base/status.h"

struct aw_ctx;
struct aw_cstream;
struct aw_device;
struct aw_pool;

enum aw_mem_kind {
    AW_MEM_DEVICE,     /* cuMemAlloc */
    AW_MEM_MANAGED,    /* cuMemAllocManaged */
    AW_MEM_HOST,       /* cuMemHostAlloc: pinned */
    AW_MEM_REGISTERED, /* cuMemHostRegister: pinned by us, the user's own */
    AW_MEM_MODULE,     /* a module's arena: found, but not the user's to free */
    AW_MEM_MODULE_MANAGED, /* storage of a managed variable */
    AW_MEM_GRAPH,      /* a graph's allocation: graph_mem.c says when it is the user's to free */
    AW_MEM_IPC,        /* another process's, mapped: ipc.h */
    AW_MEM_VMM,        /* mapped at a reserved address: vmm.h */
    AW_MEM_VMM_HOST,   /* likewise, the host's memory */
};

struct aw_mem {
    uintptr_t base;
    size_t size;
    enum aw_mem_kind kind;
    struct aw_ctx *ctx;      /* that it was made in; NULL: none, AW_MEM_VMM and AW_MEM_VMM_HOST */
    struct aw_device *device; /* where it is */
    unsigned flags;          /* as the user gave them: CU_MEMHOSTALLOC_*, CU_MEMHOSTREGISTER_*, CU_MEM_ATTACH_* */
    uintptr_t device_address; /* of pinned host memory; equals base with unified addressing */
    uint64_t id;             /* CU_POINTER_ATTRIBUTE_BUFFER_ID, unique per process */
    struct aw_pool *pool;    /* that cuMemAllocAsync took it from; NULL: none */
    size_t spare;            /* bytes that follow: the pool's block was larger than what was asked for */
    bool sync_memops;        /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
};

static inline bool aw_mem_is_host(const struct aw_mem *mem)
{
    return mem->kind == AW_MEM_HOST || mem->kind == AW_MEM_REGISTERED || mem->kind == AW_MEM_VMM_HOST;
}

static inline bool aw_mem_is_vmm(const struct aw_mem *mem)
{
    return mem->kind == AW_MEM_VMM || mem->kind == AW_MEM_VMM_HOST;
}

static inline bool aw_mem_is_managed(const struct aw_mem *mem)
{
    return mem->kind == AW_MEM_MANAGED || mem->kind == AW_MEM_MODULE_MANAGED;
}

/* While streams are captured, the calls here fail that CUDA calls unsafe then, and asynchronous ones on a capturing stream become
 * nodes of its graph.
 * ---- Allocation.  Size 0 is AW_ERR_INVALID_VALUE for the driver API; the runtime's zero-size rules are its bodies'. */
enum aw_status aw_mem_alloc(struct aw_ctx *ctx, size_t size, uintptr_t *ret_address);
/* Rows of `width` bytes at a pitch for elements of 4, 8 or 16 bytes. */
enum aw_status aw_mem_alloc_pitch(struct aw_ctx *ctx, size_t width, size_t height, unsigned element_bytes,
                                  uintptr_t *ret_address, size_t *ret_pitch);
enum aw_status aw_mem_alloc_managed(struct aw_ctx *ctx, size_t size, unsigned flags, uintptr_t *ret_address);
/* Frees device or managed memory; 0 is AW_OK; anything else than an allocation's first byte is AW_ERR_INVALID_VALUE. */
enum aw_status aw_mem_free(uintptr_t address);
enum aw_status aw_mem_host_alloc(struct aw_ctx *ctx, size_t size, unsigned flags, void **ret_pointer);
enum aw_status aw_mem_host_free(void *pointer); /* AW_ERR_INVALID_VALUE when not from aw_mem_host_alloc; NULL likewise */
enum aw_status aw_mem_host_register(struct aw_ctx *ctx, void *pointer, size_t size, unsigned flags);
enum aw_status aw_mem_host_unregister(void *pointer); /* AW_ERR_HOST_NOT_REGISTERED */
/* Where a device finds what lies at a pinned address; AW_ERR_INVALID_VALUE for any other. */
enum aw_status aw_mem_host_address(const void *pointer, uintptr_t *ret_address);
/* CU_MEMHOSTALLOC_* of memory from aw_mem_host_alloc, which is always mapped; AW_ERR_INVALID_VALUE for any other. */
enum aw_status aw_mem_host_flags(const void *pointer, unsigned *ret_flags);
enum aw_status aw_mem_info(struct aw_ctx *ctx, size_t *ret_free, size_t *ret_total);

/* The allocation that `address` lies in: true and a copy in *ret_mem. */
bool aw_mem_find(uintptr_t address, struct aw_mem *ret_mem);
/* Both ends of a copy at once; `base` 0: not found.  Static to the thread, until its next call. */
struct aw_mem_ends {
    struct aw_mem src, dst;
};
const struct aw_mem_ends *aw_mem_find_ends(uintptr_t src, uintptr_t dst);
/* Marks the allocation for CU_POINTER_ATTRIBUTE_SYNC_MEMOPS; false when there is none. */
bool aw_mem_set_sync_memops(uintptr_t address, bool on);

/* Adds and removes what a module owns (arena, managed storage). */
enum aw_status aw_mem_module_alloc(struct aw_ctx *ctx, size_t size, bool managed, uintptr_t *ret_address);
void aw_mem_module_free(uintptr_t address);

/* The same for a graph's allocations. */
enum aw_status aw_mem_graph_alloc(struct aw_ctx *ctx, size_t size, uintptr_t *ret_address);
void aw_mem_graph_free(uintptr_t address);

/* What pool.c needs: a block from the provider, its entry in the table, its way back. */
enum aw_status aw_mem_pool_get(struct aw_ctx *ctx, size_t size, bool shared, uintptr_t *ret_address);
/* An entry for another process's memory of a pool. */
enum aw_status aw_mem_pool_open(struct aw_ctx *ctx, uintptr_t address, size_t size, struct aw_pool *pool);
enum aw_status aw_mem_pool_add(struct aw_ctx *ctx, uintptr_t address, size_t size, size_t spare, struct aw_pool *pool);
void aw_mem_pool_release(struct aw_ctx *ctx, uintptr_t address, enum aw_mem_kind kind);
/* Takes device or managed memory out of the table, to be given back; base 0: it was a graph's, and is freed already. */
enum aw_status aw_mem_take(uintptr_t address, struct aw_mem *ret_mem);

/* What ipc.c needs: an entry for mapped memory, and its unmapping. */
enum aw_status aw_mem_ipc_add(struct aw_ctx *ctx, uintptr_t address, size_t size);
enum aw_status aw_mem_ipc_close(uintptr_t address);

/* What vmm.c needs: an entry for each mapping. */
enum aw_status aw_mem_vmm_add(struct aw_device *device, bool host, uintptr_t address, size_t size);
void aw_mem_vmm_remove(uintptr_t address);

/* What is asked of those who own memory and lie above: pool.c and graph_mem.c store it before main.  NULL in a program without
 * them. */
extern struct aw_mem_owners {
    bool (*reclaim)(struct aw_device *device);                /* gives kept blocks back; false: there were none */
    void (*returned)(const struct aw_mem *mem);               /* memory taken from a pool was freed */
    /* an address of no allocation here: AW_ERR_INVALID_VALUE or freed */
    enum aw_status (*free_other)(uintptr_t address);
} aw_mem_owners;

/* ---- Copies.  `kind` says what the caller claims about the two sides; AW_COPY_DEFAULT looks them up.  A device-side range must
 * lie inside one allocation, or mappings that follow each other, else AW_ERR_INVALID_VALUE.  async false: returned when done,
 * but for device to device, which CUDA lets run on.  async true: pageable sources are copied aside or waited for, so that they
 * may change after return; pageable destinations are complete at return.  Size 0 is AW_OK. */
enum aw_status aw_mem_copy(struct aw_ctx *ctx, void *dst, const void *src, size_t size, enum aw_copy_kind kind,
                           struct aw_cstream *stream, bool async);
enum aw_status aw_mem_copy3d(struct aw_ctx *ctx, const struct aw_copy3d *copy, struct aw_cstream *stream, bool async);
enum aw_status aw_mem_copy_peer(struct aw_ctx *dst_ctx, void *dst, struct aw_ctx *src_ctx, const void *src, size_t size,
                                struct aw_cstream *stream, bool async);

/* What a copy of these two sides is, checked as the copies above check them. */
struct aw_copy_sides {
    enum aw_copy_kind kind;              /* never AW_COPY_DEFAULT */
    bool src_pageable, dst_pageable;
};
enum aw_status aw_mem_copy_check(const struct aw_copy3d *copy, struct aw_copy_sides *ret_sides);

/* Sets `count` elements of 1, 2 or 4 bytes (AW_ERR_INVALID_VALUE when misaligned); in 2D `height` rows of `count`, `pitch`
 * bytes apart. */
enum aw_status aw_mem_fill(struct aw_ctx *ctx, uintptr_t dst, uint32_t value, unsigned element_bytes, size_t count,
                           struct aw_cstream *stream, bool async);
enum aw_status aw_mem_fill2d(struct aw_ctx *ctx, uintptr_t dst, size_t pitch, uint32_t value, unsigned element_bytes,
                             size_t count, size_t height, struct aw_cstream *stream, bool async);
/* Only the checks. */
enum aw_status aw_mem_fill_check(uintptr_t dst, size_t pitch, unsigned element_bytes, size_t count, size_t height);

#endif
