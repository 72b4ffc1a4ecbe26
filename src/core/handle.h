/* Handles given to users: typed slabs of objects whose addresses are the handles.
 *
 * A handle is checked without a lock and without trusting it: it must lie in its type's slab, on an object's first byte, and
 * the object must be alive.  Slab memory is never unmapped, so a stale or invented handle reads as dead, not as a crash.
 * Freed objects are reused last-freed-last.  Not a general allocator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_HANDLE_H
#define AW_CORE_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* First member of every object.  `alive` is stored last when an object is published and first when it dies. */
struct aw_handle {
    uint32_t alive;
    struct aw_handle *next_free; /* while dead */
};

struct aw_slab {
    const char *what;       /* for messages, static */
    size_t size;            /* of an object, bytes, a multiple of 16 */
    uint64_t inverse;       /* 2^64 / size, rounded up */
    uintptr_t begin, limit; /* reserved addresses; begin 0 until the first object */
    uintptr_t end;          /* first address never handed out */
    struct aw_handle *free_first, *free_last;
    pthread_mutex_t lock;
};

#define AW_SLAB_OBJECT(type) ((sizeof(type) + 15) / 16 * 16)
#define AW_SLAB_INIT(text, type)                                                                        \
    {                                                                                                   \
        .what = (text), .size = AW_SLAB_OBJECT(type), .inverse = UINT64_MAX / AW_SLAB_OBJECT(type) + 1, \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                               \
    }

/* A zeroed object that is not alive yet, or NULL when memory is out.  Thread-safe, as everything here. */
void *aw_slab_take(struct aw_slab *slab);
/* Makes the object a valid handle; everything stored before is visible to whoever finds it valid. */
void aw_slab_publish(struct aw_slab *slab, void *object);
/* Ends validity: true for exactly one of several callers. */
bool aw_slab_kill(struct aw_slab *slab, void *object);
/* Returns a dead object's memory for reuse. */
void aw_slab_give(struct aw_slab *slab, void *object);

/* Is `offset` into the slab a multiple of its objects' size?  Without a division, which would be half of what a check takes:
 * exact where both are below 2^32 (Lemire, Kaser and Kurz, Faster remainder by direct computation, 2019), and a slab has at
 * most 512 MiB. */
static inline bool aw_slab_aligned(const struct aw_slab *slab, uintptr_t offset)
{
    return offset * slab->inverse < slab->inverse;
}

/* Whether `handle` is a live object of this slab. */
static inline bool aw_slab_valid(const struct aw_slab *slab, const void *handle)
{
    uintptr_t at = (uintptr_t)handle;
    uintptr_t begin = __atomic_load_n(&slab->begin, __ATOMIC_ACQUIRE);
    if (!begin || at < begin || at >= __atomic_load_n(&slab->end, __ATOMIC_ACQUIRE) || !aw_slab_aligned(slab, at - begin))
        return false;
    return __atomic_load_n(&((const struct aw_handle *)handle)->alive, __ATOMIC_ACQUIRE) != 0;
}

/* Calls `each` for every live object, in address order, without holding the lock. */
void aw_slab_each(struct aw_slab *slab, void (*each)(void *object, void *user), void *user);

#endif
