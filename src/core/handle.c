/* Slabs of checked handles.  Not lock-free to allocate from: only the check is. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/handle.h"

#include <string.h>
#include <sys/mman.h>

/* A leak checker looks for pointers in the heap and in variables, not in mappings, where our objects lie. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define root_region(at, size) __lsan_register_root_region(at, size)
#else
#define root_region(at, size) (void)0
#endif

enum { COMMIT_STEP = 256 * 1024 };

/* Reserves addresses only; a machine with little address space (ulimit -v) gets a smaller slab. */
static bool slab_reserve(struct aw_slab *slab)
{
    for (size_t size = (size_t)512 << 20; size >= (size_t)1 << 20; size /= 2) {
        void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            continue;
        root_region(at, size);
        slab->limit = (uintptr_t)at + size;
        slab->end = (uintptr_t)at;
        __atomic_store_n(&slab->begin, (uintptr_t)at, __ATOMIC_RELEASE);
        return true;
    }
    return false;
}

/* A never used object at the end.  The lock is held. */
static void *slab_extend(struct aw_slab *slab)
{
    if (!slab->begin && !slab_reserve(slab))
        return NULL;
    uintptr_t at = slab->end;
    if (slab->limit - at < slab->size)
        return NULL;
    /* Pages are committed in steps: everything up to a step's end is readable once its first object was taken. */
    uintptr_t done = slab->begin + (at - slab->begin + COMMIT_STEP - 1) / COMMIT_STEP * COMMIT_STEP;
    uintptr_t need = slab->begin + (at + slab->size - slab->begin + COMMIT_STEP - 1) / COMMIT_STEP * COMMIT_STEP;
    if (need > slab->limit)
        need = slab->limit;
    if (need > done && mprotect((void *)done, need - done, PROT_READ | PROT_WRITE))
        return NULL;
    __atomic_store_n(&slab->end, at + slab->size, __ATOMIC_RELEASE);
    return (void *)at;
}

void *aw_slab_take(struct aw_slab *slab)
{
    pthread_mutex_lock(&slab->lock);
    struct aw_handle *object = slab->free_first;
    if (object) {
        slab->free_first = object->next_free;
        if (!slab->free_first)
            slab->free_last = NULL;
        memset(object, 0, slab->size);
    } else {
        object = slab_extend(slab);
    }
    pthread_mutex_unlock(&slab->lock);
    return object;
}

void aw_slab_publish(struct aw_slab *slab, void *object)
{
    __atomic_store_n(&((struct aw_handle *)object)->alive, 1, __ATOMIC_RELEASE);
}

bool aw_slab_kill(struct aw_slab *slab, void *object)
{
    return __atomic_exchange_n(&((struct aw_handle *)object)->alive, 0, __ATOMIC_ACQ_REL) != 0;
}

void aw_slab_give(struct aw_slab *slab, void *object)
{
    struct aw_handle *handle = object;
    pthread_mutex_lock(&slab->lock);
    handle->next_free = NULL;
    if (slab->free_last)
        slab->free_last->next_free = handle;
    else
        slab->free_first = handle;
    slab->free_last = handle;
    pthread_mutex_unlock(&slab->lock);
}

void aw_slab_each(struct aw_slab *slab, void (*each)(void *object, void *user), void *user)
{
    uintptr_t begin = __atomic_load_n(&slab->begin, __ATOMIC_ACQUIRE);
    for (uintptr_t at = begin; begin && at < __atomic_load_n(&slab->end, __ATOMIC_ACQUIRE); at += slab->size)
        if (__atomic_load_n(&((struct aw_handle *)at)->alive, __ATOMIC_ACQUIRE))
            each((void *)at, user);
}
