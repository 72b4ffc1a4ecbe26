/* A pool of pinned buffers: see stage.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/stage.h"

#include <pthread.h>

#include "common/driver.h"

/* Sizes are powers of two from 64 KiB on; what is given back beyond KEPT bytes is freed by whoever takes next, as who gives may
 * not. */
enum { SMALLEST = 16, CLASSES = 32 };
static const size_t KEPT = (size_t)256 << 20;

struct stage_free {
    struct stage_free *next;
};

static struct {
    pthread_mutex_t lock;
    struct stage_free *free[CLASSES];
    size_t bytes; /* in the lists */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static unsigned size_class(size_t size)
{
    unsigned c = 0;
    while (c < CLASSES - 1 && (size_t)1 << (SMALLEST + c) < size)
        c++;
    return c;
}

static struct stage_free *pool_pop(unsigned c)
{
    struct stage_free *b = pool.free[c];
    if (b) {
        pool.free[c] = b->next;
        pool.bytes -= (size_t)1 << (SMALLEST + c);
    }
    return b;
}

void *aw_lib_stage_take(size_t size, size_t *ret_size)
{
    unsigned c = size_class(size);
    struct stage_free *surplus = NULL;
    pthread_mutex_lock(&pool.lock);
    void *buffer = pool_pop(c);
    for (unsigned i = CLASSES; pool.bytes > KEPT && i-- > 0;) {
        for (struct stage_free *b; pool.bytes > KEPT && (b = pool_pop(i)); surplus = b)
            b->next = surplus;
    }
    pthread_mutex_unlock(&pool.lock);
    for (struct stage_free *next; surplus; surplus = next) {
        next = surplus->next;
        cuMemFreeHost(surplus);
    }
    *ret_size = (size_t)1 << (SMALLEST + c);
    if (!buffer && cuMemHostAlloc(&buffer, *ret_size, 0) != CUDA_SUCCESS)
        return NULL;
    return buffer;
}

void aw_lib_stage_give(void *buffer, size_t size)
{
    struct stage_free *b = buffer;
    unsigned c = size_class(size);
    if (!b)
        return;
    pthread_mutex_lock(&pool.lock);
    b->next = pool.free[c];
    pool.free[c] = b;
    pool.bytes += size;
    pthread_mutex_unlock(&pool.lock);
}
