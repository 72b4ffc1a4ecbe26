/* Memory: allocations of the cards and of the host, registered host memory, and which cards can reach what.
 *
 * An allocation has the same address on the host and for the cards.  Registered host memory has another for the cards, as under
 * AMD's own thunk.  A card's memory lies in a file without a name, so that another process can be given a piece of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "thunk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define PAGE 4096ull
#define HUGE_ALIGN (2ull << 20)
#define FILE_SPAN (1ull << 46) /* of a card's file: offsets are used once */
#define SHARE_MAGIC 0x53494d48u
enum { SHARE_IS, SHARE_PID, SHARE_FD, SHARE_OFFSET_LO, SHARE_OFFSET_HI, SHARE_PAGES, SHARE_FREE /* ROCr's */, SHARE_NODE };

struct allocation {
    uint64_t gpu;              /* address for the cards, where `host` is seen */
    char *host;
    uint64_t size;             /* bytes, whole pages */
    char *asked;               /* registered memory: the caller's address and size */
    uint64_t asked_size;
    void *reserved;            /* what to unmap at the end */
    size_t reserved_size;
    uint32_t node;
    HsaMemFlags flags;
    HSA_POINTER_TYPE type;
    unsigned references;       /* registrations */
    uint64_t offset;           /* in the node's file */
    bool in_file, counted;     /* counted: against the node's memory */
    void *user;
    HSAuint32 mapped[17];
    unsigned n_mapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation **all; /* by `gpu` */
static size_t n_all, cap_all;
static struct { int fd; uint64_t next, used; } store[17]; /* by node; fd 0: none yet, -1: cannot be had */

/* ---- The list; with the lock ---- */

/* Index of the first whose end lies behind `gpu`. */
static size_t position(uint64_t gpu)
{
    size_t lo = 0, hi = n_all;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (all[mid]->gpu + all[mid]->size > gpu)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* What `p`, as the host or the cards know it, lies in. */
static struct allocation *find(const void *p)
{
    uint64_t gpu = (uint64_t)(uintptr_t)p;
    size_t at = position(gpu);
    if (at < n_all && all[at]->gpu <= gpu)
        return all[at];
    for (at = n_all; at-- > 0;) {
        struct allocation *a = all[at];
        if (a->asked && (const char *)p >= a->asked && (const char *)p < a->asked + a->asked_size)
            return a;
    }
    return NULL;
}

/* Registered memory by its host address; `size` 0 is any. */
static struct allocation *find_registered(const void *p, uint64_t size)
{
    for (size_t at = n_all; at-- > 0;)
        if (all[at]->asked && all[at]->asked == (const char *)p && (!size || all[at]->asked_size == size))
            return all[at];
    return NULL;
}

static bool insert(struct allocation *a)
{
    if (n_all == cap_all) {
        size_t cap = cap_all ? 2 * cap_all : 256;
        struct allocation **bigger = realloc(all, cap * sizeof *all);
        if (!bigger)
            return false;
        all = bigger;
        cap_all = cap;
    }
    if (!sim_map_add(a->gpu, a->host, a->size, 0))
        return false;
    size_t at = position(a->gpu);
    memmove(all + at + 1, all + at, (n_all - at) * sizeof *all);
    all[at] = a;
    n_all++;
    return true;
}

static void remove_one(struct allocation *a)
{
    size_t at = position(a->gpu);
    sim_map_remove(a->gpu);
    memmove(all + at, all + at + 1, (n_all - at - 1) * sizeof *all);
    n_all--;
}

/* ---- Backing ---- */

static uint64_t host_limit(void)
{
    struct sysinfo info;
    return sysinfo(&info) ? UINT64_MAX : (uint64_t)info.totalram * info.mem_unit;
}

static int node_file(uint32_t node)
{
    if (!store[node].fd) {
        char name[32];
        snprintf(name, sizeof name, "simgpu-node%u", node);
        int fd = memfd_create(name, MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)FILE_SPAN)) {
            close(fd);
            fd = -1;
        }
        store[node].fd = fd >= 0 ? fd : -1;
    }
    return store[node].fd;
}

/* Address space for `size` bytes at `align`, with an inaccessible page behind, or at `fixed` exactly.  NULL when there is
 * none. */
static char *reserve(struct allocation *a, uint64_t size, uint64_t align, void *fixed)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    size_t span = fixed ? size : size + align + PAGE;
    char *p = mmap(fixed, span, PROT_NONE, flags | (fixed ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    char *at = p;
    if (!fixed) { /* give back what lies before and behind */
        at = (char *)(((uintptr_t)p + align - 1) & ~(uintptr_t)(align - 1));
        char *end = at + size + PAGE;
        if (at > p)
            munmap(p, (size_t)(at - p));
        if (p + span > end)
            munmap(end, (size_t)(p + span - end));
        span = size + PAGE;
    }
    a->reserved = at;
    a->reserved_size = span;
    return at;
}

/* Memory at the reserved address: of the node's file when it is a card's own, else anonymous. */
static bool back(struct allocation *a, bool card_memory)
{
    int fd = card_memory ? node_file(a->node) : -1;
    int flags = MAP_FIXED | MAP_NORESERVE | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    if (fd >= 0) {
        if (store[a->node].next + a->size > FILE_SPAN)
            return false;
        a->offset = store[a->node].next;
        a->in_file = true;
    }
    if (mmap(a->host, a->size, PROT_READ | PROT_WRITE, flags, fd, (off_t)a->offset) == MAP_FAILED)
        return false;
    if (fd >= 0) {
        store[a->node].next += a->size;
        madvise(a->host, a->size, MADV_DONTFORK); /* a child has no part in the card's memory */
    }
    return true;
}

static void release(struct allocation *a)
{
    if (a->in_file && a->type == HSA_POINTER_ALLOCATED)
        (void)fallocate(store[a->node].fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)a->offset, (off_t)a->size);
    if (a->counted)
        store[a->node].used -= a->size;
    if (a->reserved)
        munmap(a->reserved, a->reserved_size);
    free(a);
}

/* ---- Allocation ---- */

static HSAKMT_STATUS allocate(struct allocation *a, void *fixed)
{
    bool card_memory = a->node && !a->flags.ui32.Scratch;
    uint64_t limit = card_memory ? sim_settings()->vram : host_limit();
    if (a->size > limit || (card_memory && a->size > limit - store[a->node].used))
        return HSAKMT_STATUS_NO_MEMORY;
    a->host = reserve(a, a->size, a->size >= HUGE_ALIGN ? HUGE_ALIGN : PAGE, fixed);
    a->gpu = (uint64_t)(uintptr_t)a->host;
    if (!a->host || !back(a, card_memory) || !insert(a))
        return HSAKMT_STATUS_NO_MEMORY;
    if (card_memory) {
        a->counted = true;
        store[a->node].used += a->size;
    }
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtAllocMemory(HSAuint32 node, HSAuint64 size, HsaMemFlags flags, void **address)
{
    if (node > sim_settings()->n_cards || !address)
        return HSAKMT_STATUS_INVALID_PARAMETER;
    if (size > UINT64_MAX - PAGE)
        return HSAKMT_STATUS_NO_MEMORY;
    struct allocation *a = calloc(1, sizeof *a);
    if (!a)
        return HSAKMT_STATUS_NO_MEMORY;
    a->node = node;
    a->size = size ? (size + PAGE - 1) & ~(PAGE - 1) : PAGE;
    a->flags = flags;
    a->type = HSA_POINTER_ALLOCATED;
    a->references = 1;
    pthread_mutex_lock(&lock);
    HSAKMT_STATUS status = allocate(a, flags.ui32.FixedAddress ? *address : NULL);
    if (status == HSAKMT_STATUS_SUCCESS)
        *address = a->host;
    else
        release(a);
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("AllocMemory node %u size %#llx flags %#x -> %d %p", node, (unsigned long long)size, flags.Value, (int)status,
                status ? NULL : *address);
    return status;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtFreeMemory(void *address, HSAuint64 size)
{
    HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    struct allocation *a = address ? find(address) : NULL;
    if (a && a->type == HSA_POINTER_ALLOCATED && a->host == address) {
        remove_one(a);
        release(a);
        status = HSAKMT_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("FreeMemory %p -> %d", address, (int)status);
    return status;
}

/* ---- Registered host memory ---- */

static HSAKMT_STATUS register_new(char *p, uint64_t size, HsaMemFlags flags)
{
    struct allocation *a = calloc(1, sizeof *a);
    if (!a)
        return HSAKMT_STATUS_NO_MEMORY;
    uint64_t skip = (uintptr_t)p & (PAGE - 1);
    a->type = HSA_POINTER_REGISTERED_USER;
    a->references = 1;
    a->flags = flags;
    a->asked = p;
    a->asked_size = size;
    a->host = p - skip;
    a->size = (skip + size + PAGE - 1) & ~(PAGE - 1);
    a->gpu = (uint64_t)(uintptr_t)reserve(a, a->size, PAGE, NULL);
    if (!a->gpu || !insert(a)) {
        release(a);
        return HSAKMT_STATUS_NO_MEMORY;
    }
    return HSAKMT_STATUS_SUCCESS;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtRegisterMemoryWithFlags(void *address, HSAuint64 size, HsaMemFlags flags)
{
    if (!address || !size || size > host_limit())
        return HSAKMT_STATUS_INVALID_PARAMETER;
    HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
    pthread_mutex_lock(&lock);
    struct allocation *a = find_registered(address, size);
    if (a)
        a->references++;
    else
        status = register_new(address, size, flags);
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("RegisterMemory %p size %#llx -> %d", address, (unsigned long long)size, (int)status);
    return status;
}

/* Of registered and of shared memory. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtDeregisterMemory(void *address)
{
    HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    struct allocation *a = find_registered(address, 0);
    if (!a)
        a = address ? find(address) : NULL;
    if (a && a->type != HSA_POINTER_ALLOCATED) {
        if (--a->references == 0) {
            remove_one(a);
            release(a);
        }
        status = HSAKMT_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("DeregisterMemory %p -> %d", address, (int)status);
    return status;
}

/* ---- Who can reach what ---- */

static struct allocation *find_to_map(const void *p, uint64_t size)
{
    struct allocation *a = find_registered(p, size);
    return a ? a : find(p);
}

static void map_nodes(struct allocation *a, uint64_t count, const HSAuint32 *nodes)
{
    uint32_t mask = 0;
    a->n_mapped = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!thunk_card(nodes[i]) || mask >> nodes[i] & 1)
            continue;
        mask |= 1u << nodes[i];
        a->mapped[a->n_mapped++] = nodes[i];
    }
    sim_map_nodes(a->gpu, mask);
}

/* The address for the cards of `p`, which lies in `a`. */
static uint64_t card_address(const struct allocation *a, const void *p)
{
    uint64_t address = (uint64_t)(uintptr_t)p, host = (uint64_t)(uintptr_t)a->host;
    return address >= host && address - host < a->size ? a->gpu + (address - host) : address;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPUNodes(void *address, HSAuint64 size, HSAuint64 *ret_gpu, HsaMemMapFlags flags,
                                                     HSAuint64 count, HSAuint32 *nodes)
{
    if (!address || (count && !nodes))
        return HSAKMT_STATUS_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    struct allocation *a = find_to_map(address, size);
    if (a) {
        map_nodes(a, count, nodes);
        if (ret_gpu)
            *ret_gpu = card_address(a, address);
    }
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("MapMemory %p size %#llx to %llu nodes, first %u -> %s", address, (unsigned long long)size,
                (unsigned long long)count, count ? nodes[0] : 0, a ? "mapped" : "nothing there");
    return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

/* To the card it was allocated on, or to all. */
THUNK_EXPORT HSAKMT_STATUS hsaKmtMapMemoryToGPU(void *address, HSAuint64 size, HSAuint64 *ret_gpu)
{
    HSAuint32 nodes[16], count = 0;
    pthread_mutex_lock(&lock);
    struct allocation *a = address ? find_to_map(address, size) : NULL;
    if (a) {
        if (a->node)
            nodes[count++] = a->node;
        else
            while (count < sim_settings()->n_cards)
                nodes[count] = count + 1, count++;
        map_nodes(a, count, nodes);
        if (ret_gpu)
            *ret_gpu = card_address(a, address);
    }
    pthread_mutex_unlock(&lock);
    return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtUnmapMemoryToGPU(void *address)
{
    pthread_mutex_lock(&lock);
    struct allocation *a = address ? find_to_map(address, 0) : NULL;
    if (a && a->references <= 1)
        map_nodes(a, 0, NULL);
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("UnmapMemory %p", address);
    return HSAKMT_STATUS_SUCCESS; /* what is not mapped is unmapped */
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtQueryPointerInfo(const void *p, HsaPointerInfo *info)
{
    memset(info, 0, sizeof *info);
    pthread_mutex_lock(&lock);
    const struct allocation *a = p ? find(p) : NULL;
    if (a) {
        info->Type = a->type;
        info->Node = a->node;
        info->MemFlags = a->flags;
        info->CPUAddress = a->asked ? a->asked : a->host;
        info->GPUAddress = a->asked ? card_address(a, a->asked) : a->gpu;
        info->SizeInBytes = a->asked ? a->asked_size : a->size;
        info->NMappedNodes = a->n_mapped;
        info->MappedNodes = a->mapped;
        info->UserData = a->user;
    }
    pthread_mutex_unlock(&lock);
    return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSetMemoryUserData(const void *p, void *user)
{
    pthread_mutex_lock(&lock);
    struct allocation *a = p ? find(p) : NULL;
    if (a)
        a->user = user;
    pthread_mutex_unlock(&lock);
    return a ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

/* ---- Sharing with other processes ---- */

THUNK_EXPORT HSAKMT_STATUS hsaKmtShareMemory(void *address, HSAuint64 size, HsaSharedMemoryHandle *ret_handle)
{
    HSAKMT_STATUS status = HSAKMT_STATUS_INVALID_PARAMETER;
    HSAuint32 *h = *ret_handle;
    pthread_mutex_lock(&lock);
    const struct allocation *a = address ? find(address) : NULL;
    if (a && a->host == address && !a->in_file) {
        status = HSAKMT_STATUS_NOT_SUPPORTED;
    } else if (a && a->host == address) {
        memset(h, 0, sizeof *ret_handle);
        h[SHARE_IS] = SHARE_MAGIC;
        h[SHARE_PID] = (HSAuint32)getpid();
        h[SHARE_FD] = (HSAuint32)store[a->node].fd;
        h[SHARE_OFFSET_LO] = (HSAuint32)a->offset;
        h[SHARE_OFFSET_HI] = (HSAuint32)(a->offset >> 32);
        h[SHARE_PAGES] = (HSAuint32)(a->size / PAGE);
        h[SHARE_NODE] = a->node;
        status = HSAKMT_STATUS_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("ShareMemory %p -> %d", address, (int)status);
    return status;
}

/* Maps the piece of the other process' file that the handle names. */
static bool import(struct allocation *a, const HSAuint32 *h)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/fd/%u", h[SHARE_PID], h[SHARE_FD]);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    uint64_t offset = h[SHARE_OFFSET_LO] | (uint64_t)h[SHARE_OFFSET_HI] << 32;
    a->host = reserve(a, a->size, HUGE_ALIGN, NULL);
    bool ok = a->host && offset + a->size <= FILE_SPAN &&
              mmap(a->host, a->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, (off_t)offset) !=
                  MAP_FAILED;
    close(fd);
    if (ok)
        madvise(a->host, a->size, MADV_DONTFORK);
    return ok;
}

static HSAKMT_STATUS register_shared(const HSAuint32 *h, void **ret_address, HSAuint64 *ret_size)
{
    if (h[SHARE_IS] != SHARE_MAGIC || !thunk_card(h[SHARE_NODE]) || !h[SHARE_PAGES])
        return HSAKMT_STATUS_INVALID_PARAMETER;
    struct allocation *a = calloc(1, sizeof *a);
    if (!a)
        return HSAKMT_STATUS_NO_MEMORY;
    a->type = HSA_POINTER_REGISTERED_SHARED;
    a->node = h[SHARE_NODE];
    a->references = 1;
    a->size = h[SHARE_PAGES] * PAGE;
    a->flags.ui32.HostAccess = 1;
    pthread_mutex_lock(&lock);
    HSAKMT_STATUS status = HSAKMT_STATUS_SUCCESS;
    if (!import(a, h))
        status = HSAKMT_STATUS_INVALID_PARAMETER;
    a->gpu = (uint64_t)(uintptr_t)a->host;
    if (!status && !insert(a))
        status = HSAKMT_STATUS_NO_MEMORY;
    if (!status) {
        *ret_address = a->host;
        *ret_size = a->size;
        map_nodes(a, 1, &h[SHARE_NODE]);
    } else {
        release(a);
    }
    pthread_mutex_unlock(&lock);
    THUNK_TRACE("RegisterSharedHandle of process %u, %u pages -> %d %p", h[SHARE_PID], h[SHARE_PAGES], (int)status,
                status ? NULL : *ret_address);
    return status;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle *handle, void **ret_address,
                                                      HSAuint64 *ret_size)
{
    return register_shared(*handle, ret_address, ret_size);
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle *handle, void **ret_address,
                                                             HSAuint64 *ret_size, HSAuint64 count, HSAuint32 *nodes)
{
    return register_shared(*handle, ret_address, ret_size);
}

/* ---- What there is none of ---- */

THUNK_EXPORT HSAKMT_STATUS hsaKmtRegisterGraphicsHandleToNodes(HSAuint64 handle, HsaGraphicsResourceInfo *info, HSAuint64 count,
                                                               HSAuint32 *nodes)
{
    return HSAKMT_STATUS_NOT_SUPPORTED;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSVMSetAttr(void *address, HSAuint64 size, unsigned int count, HSA_SVM_ATTRIBUTE *attributes)
{
    return HSAKMT_STATUS_NOT_SUPPORTED;
}

THUNK_EXPORT HSAKMT_STATUS hsaKmtSVMGetAttr(void *address, HSAuint64 size, unsigned int count, HSA_SVM_ATTRIBUTE *attributes)
{
    return HSAKMT_STATUS_NOT_SUPPORTED;
}
