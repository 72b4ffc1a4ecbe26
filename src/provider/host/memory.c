/* Memory of the host device, and the registry that knows which address belongs to what.
 *
 * Large allocations are mappings of their own between guards.  Running off the end faults where it would on a card, at the end
 * of a page of 2 MiB; or at once, where ANYWARP_HOST_GUARD asks for that: then they are placed against the upper guard, but
 * for the largest, which begin at different distances into huge pages, and end less than a page before it.  Small ones are
 * slots of 1 MiB slabs, one slab per kind and size class, with all bookkeeping outside.  Regions (mappings, slabs, registered
 * ranges) lie in a treap ordered by address, under one read-write lock. Not who may still use memory that is freed: mem_free
 * waits for the device first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"
#include "shadow.h"
#include "unwritten.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"

#define AW_ROOM "host"

enum kind { KIND_DEVICE, KIND_MANAGED, KIND_HOST, KIND_HEAP, KIND_REGISTERED, KIND_OPENED, N_SLAB_KINDS = KIND_REGISTERED };

#define PAGE ((size_t)4096)
#define HUGE_BYTES ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20)      /* mappings from here on are aligned for huge pages */
#define GUARD ((size_t)64 << 10)
#define SLAB_BYTES ((size_t)1 << 20)
#define LARGE_ALIGN ((size_t)512)

/* The first three serve the device heap only: device memory is 256-byte aligned. */
static const uint32_t slot_sizes[] = { 32,   64,   128,  256,  512,   768,   1024,  1536,  2048,  3072,
                                       4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536 };
enum { N_CLASSES = sizeof slot_sizes / sizeof *slot_sizes, FIRST_DEVICE_CLASS = 3 };

struct region {
    uintptr_t base;
    size_t size;                 /* bytes from base that belong to it */
    size_t asked;                /* what the user wanted */
    enum kind kind;
    char *map;                   /* NULL: not our memory */
    size_t map_size;
    int fd;                      /* of the file that has its bytes, for other processes (share.c); -1: none */
    struct region *left, *right;
    uint32_t priority;
    /* slabs */
    uint32_t slot_size;          /* 0: not a slab */
    uint32_t class_index, n_slots, n_free;
    uint32_t *slot_asked;        /* 0: free; with SLOT_FREED: by the user, but not given out again yet */
    uint32_t *free_slots;        /* stack of n_free */
    struct region *next, *prev;  /* slabs of the class that have room */
    /* Where bytes are watched (shadow.h). */
    bool freed;                  /* by the user; its memory is still ours */
    struct aw_host_trace *trace, **slot_traces; /* who allocated; owned */
};
#define SLOT_FREED 0x80000000u

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct region *root;
static struct region *roomy[N_SLAB_KINDS][N_CLASSES];
static size_t used;              /* bytes of mappings and slabs */
/* What kernels may have of malloc, have, and whether any has been asked for since the device's reset; bytes. */
static size_t heap_limit = (size_t)8 << 20, heap_live;
static bool heap_touched;

/* ---- treap ---- */

static uint32_t random_next(void)
{
    static uint32_t state = 0x9e3779b9;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

/* Regions below `base` to *ret_low, the others to *ret_high. */
static void split(struct region *t, uintptr_t base, struct region **ret_low, struct region **ret_high)
{
    if (!t) {
        *ret_low = *ret_high = NULL;
    } else if (t->base < base) {
        split(t->right, base, &t->right, ret_high);
        *ret_low = t;
    } else {
        split(t->left, base, ret_low, &t->left);
        *ret_high = t;
    }
}

static struct region *merge(struct region *a, struct region *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        a->right = merge(a->right, b);
        return a;
    }
    b->left = merge(a, b->left);
    return b;
}

static void tree_insert(struct region *r)
{
    struct region *low, *high;
    r->priority = random_next();
    r->left = r->right = NULL;
    split(root, r->base, &low, &high);
    root = merge(merge(low, r), high);
}

static void tree_remove(struct region *r)
{
    struct region **at = &root;
    while (*at && *at != r)
        at = r->base < (*at)->base ? &(*at)->left : &(*at)->right;
    if (*at)
        *at = merge(r->left, r->right);
}

/* The region with the greatest base not above `address`. */
static struct region *tree_floor(uintptr_t address)
{
    struct region *best = NULL;
    for (struct region *t = root; t;) {
        if (t->base <= address) {
            best = t;
            t = t->right;
        } else {
            t = t->left;
        }
    }
    return best;
}

static struct region *tree_find(uintptr_t address)
{
    struct region *r = tree_floor(address);
    return r && address - r->base < r->size ? r : NULL;
}

/* ---- mappings ---- */

/* How far into its first huge page the next large array begins, in bytes, a multiple of 512.  Were it 0, all arrays' elements
 * of one index would compete for the same few lines of the caches, and kernels that walk through planes a power of two apart
 * have several of each array's there already.  Steps of 1536 bytes come by all eighths of a page, those of 5 pages by all
 * pages of a second-level cache's way. */
static size_t colour_next(void)
{
    static _Atomic uint32_t arrays;
    uint32_t n = atomic_fetch_add_explicit(&arrays, 1, memory_order_relaxed);
    return n * 1536 % PAGE + n * 5 % 16 * PAGE;
}

/* How many bytes past the `body` of an allocation may be used: up to where CUDA's page ends, counting from the allocation's
 * begin, as programs that run on cards reach there; none where guards are to be exact. */
static size_t tail_of(size_t body)
{
    return aw_host.exact ? 0 : -body & (HUGE_BYTES - 1);
}

/* A guarded mapping of at least `size` usable bytes.  It begins at the lower guard; or ends (rounded to LARGE_ALIGN) at the
 * upper one, where guards are to be exact; from HUGE_FROM on it begins at a huge page, or near, and then ends in the page
 * before the upper guard. */
static struct region *region_map(enum kind kind, size_t size)
{
    struct region *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->fd = -1;
    size_t align = size >= HUGE_FROM ? HUGE_BYTES : PAGE;
    size_t colour = align > PAGE && kind == KIND_DEVICE ? colour_next() : 0; /* the host may count on whole pages in the others */
    size_t body = (colour + size + PAGE - 1) & ~(PAGE - 1), tail = tail_of(body);
    r->map_size = body + tail + 2 * GUARD + (align > PAGE ? align : 0);
    r->map = mmap(NULL, r->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (r->map == MAP_FAILED)
        goto fail;
    char *begin = r->map + GUARD;
    begin += -(uintptr_t)begin & (align - 1);
    if (mprotect(begin, body + tail, PROT_READ | PROT_WRITE) != 0) {
        munmap(r->map, r->map_size);
        goto fail;
    }
    if (tail)
        /* nor does the last of the body get one, which would cost more than it holds */
        madvise(begin + body, tail, MADV_NOHUGEPAGE);
    if (align > PAGE) {
        madvise(begin, body, MADV_HUGEPAGE); /* only a wish */
        r->base = (uintptr_t)begin + colour;
    } else if (!aw_host.exact) {
        r->base = (uintptr_t)begin;
    } else {
        r->base = (uintptr_t)(begin + body) - ((size + LARGE_ALIGN - 1) & ~(LARGE_ALIGN - 1));
    }
    r->size = r->asked = size;
    r->kind = kind;
    aw_host_shadow_set(begin, body + tail, AW_SHADOW_CLOSED);
    return r;
fail:
    free(r);
    return NULL;
}

static void region_unmap(struct region *r)
{
    if (r->map) {
        aw_host_shadow_set(r->map, r->map_size, AW_SHADOW_OPEN); /* whatever comes there is somebody else's */
        aw_host_unwritten_store(r->map, r->map_size);
        munmap(r->map, r->map_size);
    }
    if (r->fd >= 0)
        close(r->fd);
    for (uint32_t i = 0; r->slot_traces && i < r->n_slots; i++)
        free(r->slot_traces[i]);
    free(r->slot_traces);
    free(r->trace);
    free(r->slot_asked);
    free(r->free_slots);
    free(r);
}

static bool reserve(size_t size)
{
    if (size > aw_host.memory_total || used > aw_host.memory_total - size)
        return false;
    used += size;
    return true;
}

bool aw_host_memory_take(size_t size)
{
    pthread_rwlock_wrlock(&lock);
    bool ok = reserve(size);
    pthread_rwlock_unlock(&lock);
    return ok;
}

void aw_host_memory_give(size_t size)
{
    pthread_rwlock_wrlock(&lock);
    used -= size;
    pthread_rwlock_unlock(&lock);
}

/* ---- slabs; written locked ---- */

static void roomy_link(struct region *slab)
{
    struct region **head = &roomy[slab->kind][slab->class_index];
    slab->prev = NULL;
    slab->next = *head;
    if (*head)
        (*head)->prev = slab;
    *head = slab;
}

static void roomy_unlink(struct region *slab)
{
    if (slab->prev)
        slab->prev->next = slab->next;
    else
        roomy[slab->kind][slab->class_index] = slab->next;
    if (slab->next)
        slab->next->prev = slab->prev;
}

static struct region *slab_create(enum kind kind, uint32_t class_index)
{
    if (!reserve(SLAB_BYTES))
        return NULL;
    struct region *slab = region_map(kind, SLAB_BYTES);
    if (!slab) {
        used -= SLAB_BYTES;
        return NULL;
    }
    slab->slot_size = slot_sizes[class_index];
    slab->class_index = class_index;
    slab->n_slots = slab->n_free = (uint32_t)(SLAB_BYTES / slab->slot_size);
    slab->slot_asked = calloc(slab->n_slots, sizeof *slab->slot_asked);
    slab->free_slots = malloc(slab->n_slots * sizeof *slab->free_slots);
    if (aw_host_shadow_on())
        slab->slot_traces = calloc(slab->n_slots, sizeof(struct aw_host_trace *)); /* NULL: nobody's are known */
    if (!slab->slot_asked || !slab->free_slots) {
        region_unmap(slab);
        used -= SLAB_BYTES;
        return NULL;
    }
    for (uint32_t i = 0; i < slab->n_slots; i++)
        slab->free_slots[i] = slab->n_slots - 1 - i;
    tree_insert(slab);
    roomy_link(slab);
    return slab;
}

static void *slot_alloc(enum kind kind, uint32_t class_index, size_t size, struct aw_host_trace **trace)
{
    struct region *slab = roomy[kind][class_index];
    if (!slab)
        slab = slab_create(kind, class_index);
    if (!slab)
        return NULL;
    uint32_t slot = slab->free_slots[--slab->n_free];
    slab->slot_asked[slot] = (uint32_t)size;
    if (slab->n_free == 0)
        roomy_unlink(slab);
    if (slab->slot_traces) {
        slab->slot_traces[slot] = *trace;
        *trace = NULL;
    }
    char *p = (char *)slab->base + (uintptr_t)slot * slab->slot_size;
    aw_host_shadow_open(p, size);
    return p;
}

/* Frees the slot; a slab that becomes empty goes when its class has another with room. */
static void slot_free(struct region *slab, uint32_t slot)
{
    slab->slot_asked[slot] = 0;
    if (slab->slot_traces) {
        free(slab->slot_traces[slot]);
        slab->slot_traces[slot] = NULL;
    }
    slab->free_slots[slab->n_free++] = slot;
    if (slab->n_free == 1)
        roomy_link(slab);
    if (slab->n_free == slab->n_slots && (slab->next || slab->prev)) {
        roomy_unlink(slab);
        tree_remove(slab);
        used -= SLAB_BYTES;
        region_unmap(slab);
    }
}

/* ---- allocation of all kinds ---- */

/* Locked: counts `size` bytes of the kernels' heap, if it has them. */
static bool heap_take(size_t size)
{
    heap_touched = true;
    if (heap_live > heap_limit || size > heap_limit - heap_live)
        return false;
    heap_live += size;
    return true;
}

/* Where bytes are watched, what was freed is given out again late, so that who still uses it is caught: the newest of it. */
enum { HELD_MOST = 4096 };
static struct held {
    struct region *region;
    uint32_t slot;
    size_t bytes;
} held[HELD_MOST];
static uint32_t held_first, held_n;
static size_t held_bytes;

/* Locked: gives back what was freed first. */
static void held_drop(void)
{
    struct held h = held[held_first];
    held_first = (held_first + 1) % HELD_MOST;
    held_n--;
    held_bytes -= h.bytes;
    if (h.region->slot_size) {
        slot_free(h.region, h.slot);
    } else {
        tree_remove(h.region);
        used -= h.region->size;
        region_unmap(h.region);
    }
}

/* Locked: keeps what is freed. */
static void held_add(struct region *r, uint32_t slot)
{
    size_t bytes = r->slot_size ? r->slot_size : r->size, room = aw_host.memory_total / 16;
    char *begin = (char *)r->base + (r->slot_size ? (size_t)slot * r->slot_size : 0);
    if (r->slot_size)
        r->slot_asked[slot] |= SLOT_FREED;
    if (!r->slot_size) { /* what knows nothing of shadows, such as a copy, faults */
        r->freed = true;
        madvise(r->map, r->map_size, MADV_DONTNEED);
        (void)mprotect(r->map, r->map_size, PROT_NONE);
    }
    aw_host_shadow_set(begin, (bytes + 7) & ~(size_t)7, AW_SHADOW_FREED);
    while (held_n && (held_n == HELD_MOST || held_bytes + bytes > room))
        held_drop();
    held[(held_first + held_n++) % HELD_MOST] = (struct held){ r, slot, bytes };
    held_bytes += bytes;
}

/* Locked. */
static void *place(enum kind kind, size_t size, struct aw_host_trace **trace)
{
    void *p = NULL;
    if (size <= slot_sizes[N_CLASSES - 1]) {
        uint32_t i = kind == KIND_HEAP ? 0 : FIRST_DEVICE_CLASS;
        while (slot_sizes[i] < size)
            i++;
        p = slot_alloc(kind, i, size, trace);
    } else if (reserve(size)) {
        struct region *r = region_map(kind, size);
        if (r) {
            tree_insert(r);
            p = (void *)r->base;
            aw_host_shadow_open(p, size);
            r->trace = *trace;
            *trace = NULL;
        } else {
            used -= size;
        }
    }
    return p;
}

static void *allocate(enum kind kind, size_t size)
{
    struct aw_host_trace *trace = kind == KIND_HEAP ? NULL : aw_host_trace_take(); /* kernels have no stack to look at */
    void *p = NULL;
    pthread_rwlock_wrlock(&lock);
    if (kind != KIND_HEAP || heap_take(size)) {
        p = place(kind, size, &trace);
        while (!p && held_n) {
            held_drop();
            p = place(kind, size, &trace);
        }
        if (!p && kind == KIND_HEAP)
            heap_live -= size;
    }
    if (p && kind == KIND_DEVICE)
        aw_host_unwritten_fresh(p, size);
    pthread_rwlock_unlock(&lock);
    free(trace);
    return p;
}

/* The live allocation that begins exactly at `ptr`; locked.  Slot index in *ret_slot for slabs. */
static struct region *find_exact(const void *ptr, uint32_t *ret_slot)
{
    struct region *r = tree_find((uintptr_t)ptr);
    if (!r)
        return NULL;
    size_t offset = (uintptr_t)ptr - r->base;
    if (!r->slot_size)
        return offset == 0 && !r->freed ? r : NULL;
    if (offset % r->slot_size || offset / r->slot_size >= r->n_slots)
        return NULL;
    *ret_slot = (uint32_t)(offset / r->slot_size);
    return r->slot_asked[*ret_slot] && !(r->slot_asked[*ret_slot] & SLOT_FREED) ? r : NULL;
}

static bool is_kind(const void *ptr, enum kind a, enum kind b)
{
    uint32_t slot;
    pthread_rwlock_rdlock(&lock);
    struct region *r = find_exact(ptr, &slot);
    bool ok = r && (r->kind == a || r->kind == b);
    pthread_rwlock_unlock(&lock);
    return ok;
}

static bool release(const void *ptr, enum kind a, enum kind b)
{
    uint32_t slot;
    pthread_rwlock_wrlock(&lock);
    struct region *r = find_exact(ptr, &slot);
    bool ok = r && (r->kind == a || r->kind == b);
    if (ok && r->kind == KIND_HEAP)
        heap_live -= r->slot_size ? r->slot_asked[slot] : r->asked;
    if (ok && r->map && r->kind != KIND_OPENED && aw_host_shadow_on()) {
        held_add(r, slot);
    } else if (ok && r->slot_size) {
        slot_free(r, slot);
    } else if (ok) {
        tree_remove(r);
        if (r->map && r->kind != KIND_OPENED) /* which is another process's */
            used -= r->size;
        region_unmap(r);
    }
    pthread_rwlock_unlock(&lock);
    return ok;
}

static int allocate_for(int dev, enum kind kind, size_t size, void **ret_ptr)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (size == 0)
        return AW_ERR_INVALID_VALUE;
    void *p = allocate(kind, size);
    if (!p)
        return AW_ERR_OUT_OF_MEMORY;
    *ret_ptr = p;
    return AW_OK;
}

static int release_after_work(const void *ptr, enum kind a, enum kind b)
{
    if (!is_kind(ptr, a, b))
        return AW_ERR_INVALID_VALUE;
    int status = aw_host_wait_all();
    if (status != AW_OK)
        return status;
    return release(ptr, a, b) ? AW_OK : AW_ERR_INVALID_VALUE;
}

int aw_host_mem_alloc(int dev, size_t size, void **ret_ptr)
{
    return allocate_for(dev, KIND_DEVICE, size, ret_ptr);
}

/* ---- memory of several processes ---- */

/* How often bytes of a region were moved to a file, the last time perhaps still being under way. */
static _Atomic uint64_t moves;
static _Atomic bool moving;

bool aw_host_memory_moved(uint64_t *seen)
{
    uint64_t n = atomic_load(&moves);
    if (*seen == n)
        return false;
    while (atomic_load(&moving))
        sched_yield();
    *seen = n;
    return true;
}

/* Locked: puts a file in place of the region's memory; with its bytes, unless nobody has seen it yet.  Who writes there meanwhile
 * faults, and tries again when the handler sees that it is over. */
static bool region_share(struct region *r, bool is_new)
{
    char *begin = (char *)(r->base & ~(PAGE - 1));
    size_t bytes = (r->base + r->size - (uintptr_t)begin + PAGE - 1) & ~(PAGE - 1);
    r->fd = aw_host_share_file(bytes);
    bool ok = r->fd >= 0;
    if (ok && !is_new) {
        atomic_store(&moving, true);
        atomic_fetch_add(&moves, 1);
        ok = mprotect(begin, bytes, PROT_READ) == 0 && aw_host_share_fill(r->fd, begin, bytes);
    }
    ok = ok && mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, r->fd, 0) != MAP_FAILED;
    if (!ok && r->fd >= 0) {
        close(r->fd);
        r->fd = -1;
    }
    if (!ok && !is_new)
        (void)mprotect(begin, bytes, PROT_READ | PROT_WRITE);
    atomic_store(&moving, false);
    return ok;
}

/* Never a part of a slab: an allocation can be taken back from others alone. */
int aw_host_mem_alloc_shared(int dev, size_t size, void **ret_ptr)
{
    struct region *r = NULL;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (size == 0)
        return AW_ERR_INVALID_VALUE;
    struct aw_host_trace *trace = aw_host_trace_take();
    pthread_rwlock_wrlock(&lock);
    bool reserved = reserve(size);
    if (reserved)
        r = region_map(KIND_DEVICE, size);
    if (r && !region_share(r, true)) {
        region_unmap(r);
        r = NULL;
    }
    if (r) {
        tree_insert(r);
        aw_host_shadow_open((void *)r->base, size);
        aw_host_unwritten_fresh((void *)r->base, size);
        r->trace = trace;
        *ret_ptr = (void *)r->base;
    } else if (reserved) {
        used -= size;
    }
    pthread_rwlock_unlock(&lock);
    if (!r)
        free(trace);
    return r ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

/* Of a small allocation the others see its whole slab, as on cards those that share a page. */
static int mem_tell(struct region *r, const void *ptr, uint32_t slot, struct aw_ipc_handle *ret_handle)
{
    if (r->fd < 0 && !region_share(r, false))
        return AW_ERR_OUT_OF_MEMORY;
    size_t asked = r->slot_size ? r->slot_asked[slot] : r->asked;
    return aw_host_share_tell(AW_HOST_SHARED_MEMORY, r->fd, (uintptr_t)ptr - (r->base & ~(PAGE - 1)), asked, ret_handle);
}

/* Memory becomes a file when a handle of it is first asked for, once the device is idle; a write that comes all the same
 * waits. */
int aw_host_ipc_mem_get(int dev, void *ptr, struct aw_ipc_handle *ret_handle)
{
    uint32_t slot = 0;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!is_kind(ptr, KIND_DEVICE, KIND_DEVICE))
        return AW_ERR_INVALID_VALUE;
    int status = aw_host_wait_all();
    if (status != AW_OK)
        return status;
    pthread_rwlock_wrlock(&lock);
    struct region *r = find_exact(ptr, &slot);
    status = r && r->kind == KIND_DEVICE ? mem_tell(r, ptr, slot, ret_handle) : AW_ERR_INVALID_VALUE;
    pthread_rwlock_unlock(&lock);
    return status;
}

int aw_host_ipc_mem_open(int dev, const struct aw_ipc_handle *handle, void **ret_ptr, size_t *ret_size)
{
    size_t offset, size;
    int fd;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    int status = aw_host_share_open(AW_HOST_SHARED_MEMORY, handle, &fd, &offset, &size);
    if (status)
        return status;
    struct region *r = calloc(1, sizeof *r);
    char *map = r ? mmap(NULL, offset + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED) {
        close(fd);
        free(r);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *r = (struct region){ .base = (uintptr_t)map + offset, .size = size, .asked = size, .kind = KIND_OPENED, .map = map,
                          .map_size = offset + size, .fd = fd };
    pthread_rwlock_wrlock(&lock);
    tree_insert(r);
    pthread_rwlock_unlock(&lock);
    *ret_ptr = (void *)r->base;
    *ret_size = size;
    return AW_OK;
}

int aw_host_ipc_mem_close(int dev, void *ptr)
{
    return aw_host_device_ok(dev) ? release_after_work(ptr, KIND_OPENED, KIND_OPENED) : AW_ERR_INVALID_DEVICE;
}

int aw_host_managed_alloc(int dev, size_t size, void **ret_ptr)
{
    return allocate_for(dev, KIND_MANAGED, size, ret_ptr);
}

int aw_host_host_alloc(int dev, size_t size, unsigned flags, void **ret_ptr)
{
    (void)flags; /* all of it is mapped and portable */
    return allocate_for(dev, KIND_HOST, size, ret_ptr);
}

int aw_host_mem_free(int dev, void *ptr)
{
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    return release_after_work(ptr, KIND_DEVICE, KIND_MANAGED);
}

int aw_host_host_free(void *ptr)
{
    return release_after_work(ptr, KIND_HOST, KIND_HOST);
}

void *aw_host_heap_alloc(size_t size)
{
    return allocate(KIND_HEAP, size);
}

bool aw_host_heap_release(void *ptr)
{
    return release(ptr, KIND_HEAP, KIND_HEAP);
}

int aw_host_limit_set(int dev, enum aw_limit limit, size_t bytes)
{
    int status = AW_OK;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (limit != AW_LIMIT_HEAP)
        return AW_OK; /* printf's buffer is written out whenever it is full */
    pthread_rwlock_wrlock(&lock);
    if (heap_touched)
        status = AW_ERR_INVALID_VALUE;
    else
        heap_limit = bytes;
    pthread_rwlock_unlock(&lock);
    return status;
}

void aw_host_limits_reset(void)
{
    pthread_rwlock_wrlock(&lock);
    heap_limit = (size_t)8 << 20;
    heap_touched = false;
    pthread_rwlock_unlock(&lock);
}

/* ---- registered ranges and questions ---- */

/* Is there memory at every page from one address to the other?  With MS_ASYNC Linux does nothing else than to look. */
static bool is_mapped(uintptr_t first, uintptr_t last)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = first & ~(page - 1);
    return msync((void *)from, last - from + 1, MS_ASYNC) == 0 || errno != ENOMEM;
}

int aw_host_host_register(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr)
{
    uintptr_t base = (uintptr_t)ptr, end;
    (void)flags;
    if (!aw_host_device_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!ptr || !size || __builtin_add_overflow(base, size - 1, &end) || !is_mapped(base, end))
        return AW_ERR_INVALID_VALUE;
    struct region *r = calloc(1, sizeof *r);
    if (!r)
        return AW_ERR_OUT_OF_MEMORY;
    r->fd = -1;
    r->base = base;
    r->size = r->asked = size;
    r->kind = KIND_REGISTERED;
    pthread_rwlock_wrlock(&lock);
    struct region *below = tree_floor(end);
    bool overlaps = below && below->base + (below->size - 1) >= base;
    if (!overlaps)
        tree_insert(r);
    pthread_rwlock_unlock(&lock);
    if (overlaps) {
        free(r);
        return AW_ERR_HOST_REGISTERED;
    }
    *ret_device_ptr = ptr;
    return AW_OK;
}

int aw_host_host_unregister(void *ptr)
{
    int status = release_after_work(ptr, KIND_REGISTERED, KIND_REGISTERED);
    return status == AW_ERR_INVALID_VALUE ? AW_ERR_HOST_NOT_REGISTERED : status;
}

int aw_host_pointer_info(const void *ptr, struct aw_pointer_info *ret_info)
{
    int status = AW_ERR_INVALID_VALUE;
    pthread_rwlock_rdlock(&lock);
    struct region *r = tree_find((uintptr_t)ptr);
    struct aw_pointer_info info = { 0 };
    if (r && r->kind != KIND_HEAP && !r->freed) {
        info.base = (void *)r->base;
        info.size = r->asked;
        if (r->slot_size) {
            size_t slot = ((uintptr_t)ptr - r->base) / r->slot_size;
            info.base = (void *)(r->base + slot * r->slot_size);
            info.size = slot < r->n_slots && !(r->slot_asked[slot] & SLOT_FREED) ? r->slot_asked[slot] : 0;
        }
        info.device = r->kind == KIND_DEVICE || r->kind == KIND_MANAGED || r->kind == KIND_OPENED ? 0 : -1;
        info.managed = r->kind == KIND_MANAGED;
        if ((uintptr_t)ptr - (uintptr_t)info.base < info.size)
            status = AW_OK;
    }
    pthread_rwlock_unlock(&lock);
    if (status == AW_OK)
        *ret_info = info;
    return status;
}

/* Where an address lies beside an allocation of `asked` bytes at `base`. */
static void describe(uintptr_t address, uintptr_t base, size_t asked, bool freed, const struct aw_host_trace *trace,
                     char *ret_text, size_t size)
{
    char who[1024];
    aw_host_trace_text(trace, who, sizeof who);
    size_t at = address < base ? base - address : address < base + asked ? address - base : address - base - asked;
    const char *where = address < base ? "bytes before" : address < base + asked ? "bytes into" : "bytes past the end of";
    snprintf(ret_text, size, ", %zu %s %s of %zu bytes at %p%s%s", at, where, freed ? "freed memory" : "an allocation", asked,
             (void *)base, *who ? ", allocated by " : "", who);
}

void aw_host_memory_describe(uintptr_t address, char *ret_text, size_t size)
{
    *ret_text = '\0';
    pthread_rwlock_rdlock(&lock);
    struct region *r = tree_floor(address);
    if (r && r->map && address < (uintptr_t)r->map + r->map_size && !r->slot_size) {
        describe(address, r->base, r->asked, r->freed, r->trace, ret_text, size);
    } else if (r && r->slot_size && address < r->base + r->size) {
        uint32_t slot = (uint32_t)((address - r->base) / r->slot_size);
        if (!r->slot_asked[slot] && slot > 0 && r->slot_asked[slot - 1])
            slot--;
        if (r->slot_asked[slot])
            describe(address, r->base + (uintptr_t)slot * r->slot_size, r->slot_asked[slot] & ~SLOT_FREED,
                     r->slot_asked[slot] & SLOT_FREED,
                     r->slot_traces ? r->slot_traces[slot] : NULL, ret_text, size);
    }
    pthread_rwlock_unlock(&lock);
}

bool aw_host_mem_complain(const void *address, size_t bytes, const char *what)
{
    char where[1400], size[32] = "", who[1024] = "";
    if (!aw_host_shadow_on())
        return false;
    aw_host_memory_describe((uintptr_t)address, where, sizeof where);
    struct aw_host_trace *trace = bytes ? NULL : aw_host_trace_take(); /* at the program's end nobody is to blame */
    aw_host_trace_text(trace, who, sizeof who);
    free(trace);
    if (bytes)
        snprintf(size, sizeof size, "%zu bytes at ", bytes);
    aw_say(CHECK_FINDING, what, size, address, where, *who ? "; called by " : "", who);
    return true;
}

size_t aw_host_memory_used(void)
{
    pthread_rwlock_rdlock(&lock);
    size_t bytes = used;
    pthread_rwlock_unlock(&lock);
    return bytes;
}

void aw_host_memory_fork(int phase)
{
    if (phase == 0)
        pthread_rwlock_wrlock(&lock);
    else if (phase == 1)
        pthread_rwlock_unlock(&lock);
    else
        pthread_rwlock_init(&lock, NULL); /* its owner's thread id is the parent's */
}
