/* Memory of jobs, kept between them: see memory.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* Sizes are powers of two from 4 KiB on; beyond KEPT bytes what is given back is freed. */
enum { SMALLEST = 12, CLASSES = 36 };
static const size_t KEPT = (size_t)256 << 20;

struct block {
    _Alignas(64) struct block *next; /* while it is kept */
    unsigned class;
    _Alignas(64) unsigned char data[];
};

static struct {
    pthread_mutex_t lock;
    struct block *kept[CLASSES];
    size_t bytes;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t class_size(unsigned c)
{
    return (size_t)1 << (SMALLEST + c);
}

void *aw_dnn_take(size_t size)
{
    unsigned c = 0;
    while (c < CLASSES && class_size(c) < size)
        c++;
    if (c == CLASSES)
        return NULL;
    pthread_mutex_lock(&pool.lock);
    struct block *b = pool.kept[c];
    if (b) {
        pool.kept[c] = b->next;
        pool.bytes -= class_size(c);
    }
    pthread_mutex_unlock(&pool.lock);
    if (!b)
        b = aligned_alloc(64, sizeof *b + class_size(c));
    if (!b)
        return NULL;
    b->class = c;
    return b->data;
}

void aw_dnn_give(void *memory)
{
    if (!memory)
        return;
    struct block *b = (struct block *)((unsigned char *)memory - offsetof(struct block, data));
    pthread_mutex_lock(&pool.lock);
    size_t size = class_size(b->class);
    bool keep = pool.bytes + size <= KEPT;
    if (keep) {
        b->next = pool.kept[b->class];
        pool.kept[b->class] = b;
        pool.bytes += size;
    }
    pthread_mutex_unlock(&pool.lock);
    if (!keep)
        free(b);
}
