/* The table of allocations, allocating and freeing.  Copies are in copy.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/recorder.h"
#include "core/context.h"
#include "core/device.h"

#define AW_ROOM "core"

enum { PITCH_ALIGN = 512 };
enum { HOST_PORTABLE = 1, HOST_DEVICEMAP = 2, HOST_WRITECOMBINED = 4 };            /* CU_MEMHOSTALLOC_* */
enum { REGISTER_FLAGS = 1 | 2 | 4 | 8 };                                           /* CU_MEMHOSTREGISTER_* */
enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2 };                                       /* CU_MEM_ATTACH_* */

/* Sorted by base; no two overlap. */
struct entry {
    uintptr_t base;
    struct aw_mem *mem;
};
static AW_VEC(struct entry) table;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
/* How often the table has changed: what a thread has found holds until the next time.  Written locked, after the change. */
static _Atomic uint64_t table_changes;

struct aw_mem_owners aw_mem_owners;

/* ---- The table.  The lock is held. */

static void table_changed(void)
{
    atomic_fetch_add_explicit(&table_changes, 1, memory_order_release);
}

/* Index of the first entry whose base is above `address`. */
static size_t table_above(uintptr_t address)
{
    size_t low = 0, high = table.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (table.at[mid].base <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct aw_mem *table_find(uintptr_t address)
{
    size_t i = table_above(address);
    if (!i || address - table.at[i - 1].base >= table.at[i - 1].mem->size)
        return NULL;
    return table.at[i - 1].mem;
}

static bool table_overlaps(uintptr_t base, size_t size)
{
    size_t i = table_above(base);
    return table_find(base) || (i < table.n && table.at[i].base - base < size);
}

static bool table_insert(struct aw_mem *mem)
{
    size_t i = table_above(mem->base);
    if (!aw_vec_reserve(&table, 1))
        return false;
    memmove(table.at + i + 1, table.at + i, (table.n - i) * sizeof *table.at);
    table.at[i] = (struct entry){ mem->base, mem };
    table.n++;
    table_changed();
    return true;
}

static void table_remove(struct aw_mem *mem)
{
    size_t i = table_above(mem->base) - 1;
    memmove(table.at + i, table.at + i + 1, (table.n - i - 1) * sizeof *table.at);
    table.n--;
    table_changed();
}

/* ---- One allocation in, one out. */

static enum aw_status mem_insert(struct aw_mem wanted)
{
    struct aw_mem *mem = calloc(1, sizeof *mem);
    if (!mem)
        return AW_ERR_OUT_OF_MEMORY;
    *mem = wanted;
    mem->id = aw_next_id();
    pthread_rwlock_wrlock(&table_lock);
    bool ok = table_insert(mem);
    pthread_rwlock_unlock(&table_lock);
    if (!ok)
        free(mem);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static enum aw_status mem_add(struct aw_ctx *ctx, uintptr_t base, size_t size, enum aw_mem_kind kind, unsigned flags,
                              uintptr_t device_address)
{
    return mem_insert((struct aw_mem){ .base = base,
                                       .size = size,
                                       .kind = kind,
                                       .ctx = ctx,
                                       .device = ctx->device,
                                       .flags = flags,
                                       .device_address = device_address });
}

/* Takes the allocation that begins at `address` and is of one of the kinds in the mask `kinds` out of the table. */
static struct aw_mem *mem_take(uintptr_t address, unsigned kinds)
{
    pthread_rwlock_wrlock(&table_lock);
    struct aw_mem *mem = table_find(address);
    if (mem && (mem->base != address || !(kinds & 1u << mem->kind)))
        mem = NULL;
    if (mem)
        table_remove(mem);
    pthread_rwlock_unlock(&table_lock);
    return mem;
}

bool aw_mem_find(uintptr_t address, struct aw_mem *ret_mem)
{
    pthread_rwlock_rdlock(&table_lock);
    struct aw_mem *mem = table_find(address);
    if (mem)
        *ret_mem = *mem;
    pthread_rwlock_unlock(&table_lock);
    return mem != NULL;
}

static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    uintptr_t src, dst; /* dst 0: none yet */
    uint64_t changes;
    struct aw_mem_ends ends;
} last_copy;

static __attribute__((noinline)) void last_copy_find(uintptr_t src, uintptr_t dst)
{
    pthread_rwlock_rdlock(&table_lock);
    const struct aw_mem *from = table_find(src), *to = table_find(dst);
    last_copy.ends.src = from ? *from : (struct aw_mem){ 0 };
    last_copy.ends.dst = to ? *to : (struct aw_mem){ 0 };
    last_copy.src = src;
    last_copy.dst = dst;
    last_copy.changes = atomic_load_explicit(&table_changes, memory_order_relaxed);
    pthread_rwlock_unlock(&table_lock);
}

/* Programs copy between the same places again and again: a thread knows where it last did, and takes no lock then. */
const struct aw_mem_ends *aw_mem_find_ends(uintptr_t src, uintptr_t dst)
{
    if (!dst || last_copy.src != src || last_copy.dst != dst ||
        last_copy.changes != atomic_load_explicit(&table_changes, memory_order_acquire))
        last_copy_find(src, dst);
    return &last_copy.ends;
}

bool aw_mem_set_sync_memops(uintptr_t address, bool on)
{
    pthread_rwlock_wrlock(&table_lock);
    struct aw_mem *mem = table_find(address);
    if (mem)
        mem->sync_memops = on;
    table_changed();
    pthread_rwlock_unlock(&table_lock);
    return mem != NULL;
}

/* Gives a block back to the provider. */
static enum aw_status mem_release(struct aw_ctx *ctx, uintptr_t address, enum aw_mem_kind kind)
{
    switch (kind) {
    case AW_MEM_HOST:
        return (enum aw_status)aw_provider->host_free((void *)address);
    case AW_MEM_REGISTERED:
        return (enum aw_status)aw_provider->host_unregister((void *)address);
    case AW_MEM_IPC:
        return aw_device_note(ctx->device, aw_provider->ipc_mem_close(ctx->device->native, (void *)address));
    default:
        return aw_device_note(ctx->device, aw_provider->mem_free(ctx->device->native, (void *)address));
    }
}

/* ---- Device and managed memory. */

/* Allocates from the provider; when that fails, once more after kept pool blocks were given back. */
static enum aw_status mem_get(struct aw_ctx *ctx, size_t size, int (*alloc)(int dev, size_t size, void **ret_ptr),
                              uintptr_t *ret_address)
{
    void *ptr = NULL;
    if (size > SIZE_MAX / 2)
        return AW_ERR_OUT_OF_MEMORY;
    for (int round = 0;; round++) {
        int status = alloc(ctx->device->native, size, &ptr);
        if (status == AW_OK)
            break;
        if (status != AW_ERR_OUT_OF_MEMORY || round || !aw_mem_owners.reclaim || !aw_mem_owners.reclaim(ctx->device))
            return aw_device_note(ctx->device, status);
    }
    *ret_address = (uintptr_t)ptr;
    return AW_OK;
}

static enum aw_status mem_make(struct aw_ctx *ctx, size_t size, enum aw_mem_kind kind, unsigned flags,
                               uintptr_t *ret_address)
{
    uintptr_t address;
    if (!size)
        return AW_ERR_INVALID_VALUE;
    bool managed = kind == AW_MEM_MANAGED || kind == AW_MEM_MODULE_MANAGED;
    enum aw_status status = mem_get(ctx, size, managed ? aw_provider->managed_alloc : aw_provider->mem_alloc, &address);
    if (status)
        return status;
    status = mem_add(ctx, address, size, kind, flags, address);
    if (status) {
        (void)mem_release(ctx, address, kind);
        return status;
    }
    *ret_address = address;
    return AW_OK;
}

enum aw_status aw_mem_alloc(struct aw_ctx *ctx, size_t size, uintptr_t *ret_address)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    return mem_make(ctx, size, AW_MEM_DEVICE, 0, ret_address);
}

enum aw_status aw_mem_alloc_pitch(struct aw_ctx *ctx, size_t width, size_t height, unsigned element_bytes,
                                  uintptr_t *ret_address, size_t *ret_pitch)
{
    size_t size;
    if (!width || !height || (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return AW_ERR_INVALID_VALUE;
    if (width > SIZE_MAX / 2)
        return AW_ERR_OUT_OF_MEMORY;
    size_t pitch = (width + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
    if (__builtin_mul_overflow(pitch, height, &size))
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_mem_alloc(ctx, size, ret_address);
    if (status == AW_OK)
        *ret_pitch = pitch;
    return status;
}

enum aw_status aw_mem_alloc_managed(struct aw_ctx *ctx, size_t size, unsigned flags, uintptr_t *ret_address)
{
    if (flags != ATTACH_GLOBAL && flags != ATTACH_HOST)
        return AW_ERR_INVALID_VALUE;
    if (!ctx->device->attr[AW_DEV_MANAGED])
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    return mem_make(ctx, size, AW_MEM_MANAGED, flags, ret_address);
}

enum aw_status aw_mem_take(uintptr_t address, struct aw_mem *ret_mem)
{
    struct aw_mem found;
    struct aw_mem *mem = mem_take(address, 1u << AW_MEM_DEVICE | 1u << AW_MEM_MANAGED);
    if (!mem && aw_mem_find(address, &found) && found.pool) /* another process's, freed as a pool's own is */
        mem = mem_take(address, 1u << AW_MEM_IPC);
    if (!mem) {
        ret_mem->base = 0;
        return aw_mem_owners.free_other ? aw_mem_owners.free_other(address) : AW_ERR_INVALID_VALUE;
    }
    if (mem->pool)
        aw_mem_owners.returned(mem);
    *ret_mem = *mem;
    free(mem);
    return AW_OK;
}

/* Where memory is checked, a wrong free is worth more than its status. */
static void free_complain(uintptr_t address)
{
    if (address && aw_provider->mem_complain)
        (void)aw_provider->mem_complain((void *)address, 0, "free of what is not allocated,");
}

enum aw_status aw_mem_free(uintptr_t address)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    if (!address)
        return AW_OK;
    struct aw_mem mem;
    enum aw_status status = aw_mem_take(address, &mem);
    if (status == AW_ERR_INVALID_VALUE)
        free_complain(address);
    return status || !mem.base ? status : mem_release(mem.ctx, address, mem.kind);
}

enum aw_status aw_mem_module_alloc(struct aw_ctx *ctx, size_t size, bool managed, uintptr_t *ret_address)
{
    return mem_make(ctx, size, managed ? AW_MEM_MODULE_MANAGED : AW_MEM_MODULE, managed ? ATTACH_GLOBAL : 0, ret_address);
}

void aw_mem_module_free(uintptr_t address)
{
    struct aw_mem *mem = address ? mem_take(address, 1u << AW_MEM_MODULE | 1u << AW_MEM_MODULE_MANAGED) : NULL;
    if (mem)
        (void)mem_release(mem->ctx, address, mem->kind);
    free(mem);
}

enum aw_status aw_mem_graph_alloc(struct aw_ctx *ctx, size_t size, uintptr_t *ret_address)
{
    return mem_make(ctx, size, AW_MEM_GRAPH, 0, ret_address);
}

void aw_mem_graph_free(uintptr_t address)
{
    struct aw_mem *mem = mem_take(address, 1u << AW_MEM_GRAPH);
    if (mem)
        (void)mem_release(mem->ctx, address, mem->kind);
    free(mem);
}

/* ---- For pools. */

enum aw_status aw_mem_pool_add(struct aw_ctx *ctx, uintptr_t address, size_t size, size_t spare, struct aw_pool *pool)
{
    return mem_insert((struct aw_mem){ .base = address, .size = size, .spare = spare, .kind = AW_MEM_DEVICE, .ctx = ctx,
                                       .device = ctx->device, .device_address = address, .pool = pool });
}

enum aw_status aw_mem_pool_get(struct aw_ctx *ctx, size_t size, bool shared, uintptr_t *ret_address)
{
    return mem_get(ctx, size, shared && aw_provider->mem_alloc_shared ? aw_provider->mem_alloc_shared : aw_provider->mem_alloc,
                   ret_address);
}

enum aw_status aw_mem_pool_open(struct aw_ctx *ctx, uintptr_t address, size_t size, struct aw_pool *pool)
{
    return mem_insert((struct aw_mem){ .base = address, .size = size, .kind = AW_MEM_IPC, .ctx = ctx, .device = ctx->device,
                                       .device_address = address, .pool = pool });
}

void aw_mem_pool_release(struct aw_ctx *ctx, uintptr_t address, enum aw_mem_kind kind)
{
    (void)mem_release(ctx, address, kind);
}

/* ---- Host memory. */

enum aw_status aw_mem_host_alloc(struct aw_ctx *ctx, size_t size, unsigned flags, void **ret_pointer)
{
    void *ptr = NULL;
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    if (!size || flags & ~(unsigned)(HOST_PORTABLE | HOST_DEVICEMAP | HOST_WRITECOMBINED))
        return AW_ERR_INVALID_VALUE;
    if (size > SIZE_MAX / 2)
        return AW_ERR_OUT_OF_MEMORY;
    unsigned native = AW_HOST_MAPPED | (flags & HOST_PORTABLE ? AW_HOST_PORTABLE : 0) |
                      (flags & HOST_WRITECOMBINED ? AW_HOST_WRITE_COMBINED : 0);
    int code = aw_provider->host_alloc(ctx->device->native, size, native, &ptr);
    if (code)
        return aw_device_note(ctx->device, code);
    enum aw_status status = mem_add(ctx, (uintptr_t)ptr, size, AW_MEM_HOST, flags, (uintptr_t)ptr);
    if (status) {
        aw_provider->host_free(ptr);
        return status;
    }
    *ret_pointer = ptr;
    return AW_OK;
}

enum aw_status aw_mem_host_free(void *pointer)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    struct aw_mem *mem = pointer ? mem_take((uintptr_t)pointer, 1u << AW_MEM_HOST) : NULL;
    if (!mem) {
        free_complain((uintptr_t)pointer);
        return AW_ERR_INVALID_VALUE;
    }
    /* Like freeing device memory, this waits: a copy may still be using it. */
    aw_provider->device_sync(mem->ctx->device->native);
    enum aw_status status = mem_release(mem->ctx, mem->base, mem->kind);
    free(mem);
    return status;
}

enum aw_status aw_mem_host_register(struct aw_ctx *ctx, void *pointer, size_t size, unsigned flags)
{
    void *device_ptr = pointer;
    uintptr_t base = (uintptr_t)pointer;
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    if (!pointer || !size || flags & ~(unsigned)REGISTER_FLAGS || base + size < base)
        return AW_ERR_INVALID_VALUE;
    pthread_rwlock_rdlock(&table_lock);
    bool taken = table_overlaps(base, size);
    pthread_rwlock_unlock(&table_lock);
    if (taken)
        return AW_ERR_HOST_REGISTERED;
    unsigned native = AW_HOST_MAPPED | (flags & HOST_PORTABLE ? AW_HOST_PORTABLE : 0);
    int code = aw_provider->host_register(ctx->device->native, pointer, size, native, &device_ptr);
    if (code)
        return aw_device_note(ctx->device, code);
    enum aw_status status = mem_add(ctx, base, size, AW_MEM_REGISTERED, flags, (uintptr_t)device_ptr);
    if (status)
        aw_provider->host_unregister(pointer);
    return status;
}

static bool registered_around(uintptr_t address)
{
    struct aw_mem mem;
    return aw_mem_find(address, &mem) && mem.kind == AW_MEM_REGISTERED;
}

enum aw_status aw_mem_host_unregister(void *pointer)
{
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    struct aw_mem *mem = pointer ? mem_take((uintptr_t)pointer, 1u << AW_MEM_REGISTERED) : NULL;
    if (!mem) /* inside of what is registered, but not where it begins, is a bad argument */
        return !pointer || registered_around((uintptr_t)pointer) ? AW_ERR_INVALID_VALUE : AW_ERR_HOST_NOT_REGISTERED;
    aw_provider->device_sync(mem->ctx->device->native);
    enum aw_status status = mem_release(mem->ctx, mem->base, mem->kind);
    free(mem);
    return status;
}

enum aw_status aw_mem_host_address(const void *pointer, uintptr_t *ret_address)
{
    struct aw_mem mem;
    if (!aw_mem_find((uintptr_t)pointer, &mem) || !aw_mem_is_host(&mem))
        return AW_ERR_INVALID_VALUE;
    *ret_address = mem.device_address + ((uintptr_t)pointer - mem.base);
    return AW_OK;
}

enum aw_status aw_mem_host_flags(const void *pointer, unsigned *ret_flags)
{
    struct aw_mem mem;
    if (!aw_mem_find((uintptr_t)pointer, &mem) || mem.kind != AW_MEM_HOST)
        return AW_ERR_INVALID_VALUE;
    *ret_flags = mem.flags | HOST_DEVICEMAP; /* with unified addressing all of it is mapped */
    return AW_OK;
}

enum aw_status aw_mem_info(struct aw_ctx *ctx, size_t *ret_free, size_t *ret_total)
{
    size_t free_bytes, total;
    enum aw_status status = aw_device_note(ctx->device, aw_provider->device_memory(ctx->device->native, &free_bytes, &total));
    if (status)
        return status;
    *ret_free = free_bytes;
    *ret_total = total;
    return AW_OK;
}

/* ---- Other processes' memory. */

enum aw_status aw_mem_ipc_add(struct aw_ctx *ctx, uintptr_t address, size_t size)
{
    return mem_add(ctx, address, size, AW_MEM_IPC, 0, address);
}

enum aw_status aw_mem_ipc_close(uintptr_t address)
{
    struct aw_mem found;
    bool of_pool = aw_mem_find(address, &found) && found.pool;
    struct aw_mem *mem = address && !of_pool ? mem_take(address, 1u << AW_MEM_IPC) : NULL;
    if (!mem)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = mem_release(mem->ctx, mem->base, mem->kind);
    free(mem);
    return status;
}

/* ---- What is mapped at reserved addresses. */

enum aw_status aw_mem_vmm_add(struct aw_device *device, bool host, uintptr_t address, size_t size)
{
    enum aw_mem_kind kind = host ? AW_MEM_VMM_HOST : AW_MEM_VMM;
    return mem_insert(
        (struct aw_mem){ .base = address, .size = size, .kind = kind, .device = device, .device_address = address });
}

void aw_mem_vmm_remove(uintptr_t address)
{
    free(mem_take(address, 1u << AW_MEM_VMM | 1u << AW_MEM_VMM_HOST));
}

/* ---- The context's end. */

/* Memory of pools is the device's and outlives a created context, but not a fault, after which the device is reset: the primary
 * context has it then. */
static void pools_hand_over(const struct aw_ctx *ctx)
{
    bool faulty = aw_ctx_fault(ctx) || aw_provider->device_fault(ctx->device->native);
    struct aw_ctx *heir = ctx->primary || faulty ? NULL : aw_primary_get(ctx->device);
    if (!heir)
        return;
    pthread_rwlock_wrlock(&table_lock);
    for (size_t i = 0; i < table.n; i++)
        if (table.at[i].mem->ctx == ctx && table.at[i].mem->pool)
            table.at[i].mem->ctx = heir;
    pthread_rwlock_unlock(&table_lock);
}

static void mem_drop(struct aw_ctx *ctx)
{
    pools_hand_over(ctx);
    for (;;) {
        struct aw_mem *mem = NULL;
        pthread_rwlock_wrlock(&table_lock);
        for (size_t i = table.n; i-- > 0 && !mem;)
            if (table.at[i].mem->ctx == ctx)
                mem = table.at[i].mem;
        if (mem)
            table_remove(mem);
        pthread_rwlock_unlock(&table_lock);
        if (!mem)
            return;
        if (mem->pool)
            aw_mem_owners.returned(mem);
        (void)mem_release(ctx, mem->base, mem->kind);
        free(mem);
    }
}

AW_CTX_DROP(AW_DROP_MEMORY, mem_drop)

/* ---- What is left. */

/* ANYWARP_LEAKS: at the end of a program that is checked, what it has allocated and not freed is named. */
__attribute__((destructor)) static void leaks_report(void)
{
    const char *wish = aw_env("ANYWARP_LEAKS");
    size_t n = 0, bytes = 0;
    if (!wish || !*wish || !strcmp(wish, "0") || aw_core_ready() != AW_OK || aw_core_forked() || !aw_provider->mem_complain)
        return;
    pthread_rwlock_rdlock(&table_lock);
    for (size_t i = 0; i < table.n; i++) {
        const struct aw_mem *mem = table.at[i].mem;
        if (mem->kind != AW_MEM_DEVICE && mem->kind != AW_MEM_MANAGED && mem->kind != AW_MEM_HOST)
            continue;
        if (!aw_provider->mem_complain((void *)mem->base, mem->size, "leak of"))
            break;
        n++;
        bytes += mem->size;
    }
    pthread_rwlock_unlock(&table_lock);
    if (n)
        aw_say(LEAKS, n, n == 1 ? "" : "s", bytes);
}
