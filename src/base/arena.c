/* Arena allocation over chunks that double in size: from malloc, and large ones straight from the system in huge pages.  Not a
 * general allocator: nothing is freed singly. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_CHUNK (size_t)4096
#define LARGEST_CHUNK ((size_t)32 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

/* A tree of a large module is written once from start to end: with small pages a quarter of the time to make it is page
 * faults. */
struct aw_arena_chunk {
    struct aw_arena_chunk *next;
    size_t size;
    size_t mapped; /* bytes of its own mapping, which begins with the chunk; 0: from malloc */
};

static struct aw_arena_chunk *chunk_create(size_t size)
{
    struct aw_arena_chunk *c;
    if (size < HUGE_PAGE || size > SIZE_MAX / 2) {
        /* calloc: fresh pages come zeroed from the system, so zeroed allocations cost nothing extra. */
        c = calloc(1, sizeof *c + size);
        if (c)
            c->size = size;
        return c;
    }
    size_t mapped = (sizeof *c + size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    char *at = mmap(NULL, mapped + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    size_t head = -(uintptr_t)at & (HUGE_PAGE - 1);
    if (head)
        munmap(at, head);
    munmap(at + head + mapped, HUGE_PAGE - head);
    madvise(at + head, mapped, MADV_HUGEPAGE);
    c = (struct aw_arena_chunk *)(at + head);
    c->mapped = mapped;
    c->size = mapped - sizeof *c;
    return c;
}

static void chunk_destroy(struct aw_arena_chunk *c)
{
    if (c->mapped)
        munmap(c, c->mapped);
    else
        free(c);
}

void aw_arena_fini(struct aw_arena *arena)
{
    for (struct aw_arena_chunk *c = arena->chunks, *next; c; c = next) {
        next = c->next;
        chunk_destroy(c);
    }
    *arena = (struct aw_arena){ 0 };
}

/* A chunk of at least `size` bytes.  What is larger than the next chunk to be shared has one of its own: it would leave the rest
 * of the current one unused, and the ones behind it would be twice as large again. */
static char *chunk_add(struct aw_arena *arena, size_t size)
{
    size_t shared = arena->shared ? arena->shared * 2 : FIRST_CHUNK;

    if (shared > LARGEST_CHUNK)
        shared = LARGEST_CHUNK;
    bool own = size > shared;
    struct aw_arena_chunk *c = chunk_create(own ? size : shared);
    if (!c)
        return NULL;
    c->next = arena->chunks;
    arena->chunks = c;
    char *begin = (char *)(c + 1);
    if (!own) {
        arena->shared = shared;
        arena->next = begin;
        arena->end = begin + c->size;
    }
    return begin;
}

static uintptr_t aligned(const char *at, size_t align)
{
    return ((uintptr_t)at + align - 1) & ~(uintptr_t)(align - 1);
}

void *aw_arena_alloc(struct aw_arena *arena, size_t size, size_t align)
{
    if (size > SIZE_MAX / 2)
        goto fail;
    uintptr_t at = aligned(arena->next, align);
    bool fits = arena->next && at <= (uintptr_t)arena->end && size <= (uintptr_t)arena->end - at;
    if (!fits) {
        const char *begin = chunk_add(arena, size + align);
        if (!begin)
            goto fail;
        fits = begin == arena->next;
        at = aligned(begin, align);
    }
    if (fits)
        arena->next = (char *)(at + size);
    arena->total += size;
    return (void *)at;
fail:
    arena->failed = true;
    return NULL;
}

void *aw_arena_array(struct aw_arena *arena, size_t size, size_t align, size_t n)
{
    size_t bytes;

    if (__builtin_mul_overflow(size, n, &bytes)) {
        arena->failed = true;
        return NULL;
    }
    return aw_arena_alloc(arena, bytes, align);
}

struct aw_str aw_arena_str(struct aw_arena *arena, struct aw_str s)
{
    char *copy = aw_arena_alloc(arena, s.len + 1, 1);

    if (!copy)
        return (struct aw_str){ 0 };
    if (s.len)
        memcpy(copy, s.ptr, s.len);
    return (struct aw_str){ copy, s.len };
}

struct aw_str aw_arena_printf(struct aw_arena *arena, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int len = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (len < 0)
        return (struct aw_str){ 0 };
    char *text = aw_arena_alloc(arena, (size_t)len + 1, 1);
    if (!text)
        return (struct aw_str){ 0 };
    va_start(ap, fmt);
    vsnprintf(text, (size_t)len + 1, fmt, ap);
    va_end(ap);
    return (struct aw_str){ text, (size_t)len };
}
