/* Arena allocation: many small objects, freed whole.  Not thread-safe; one arena has one user at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_ARENA_H
#define AW_BASE_ARENA_H

#include "base/str.h"

struct aw_arena_chunk;

/* Zero-initialised is a valid empty arena. */
struct aw_arena {
    struct aw_arena_chunk *chunks;
    char *next, *end;
    size_t shared; /* bytes of the last chunk that several allocations share */
    size_t total;  /* bytes handed out */
    bool failed;   /* an allocation failed at some time */
};

void aw_arena_fini(struct aw_arena *arena);

/* Zeroed bytes aligned to `align` (a power of two, at most 64), valid until the arena's end; NULL when memory is out. */
void *aw_arena_alloc(struct aw_arena *arena, size_t size, size_t align);
/* Copies; the copy is NUL-terminated.  {NULL,0} when memory is out. */
struct aw_str aw_arena_str(struct aw_arena *arena, struct aw_str s);
struct aw_str aw_arena_printf(struct aw_arena *arena, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define AW_NEW(arena, type) ((type *)aw_arena_alloc((arena), sizeof(type), _Alignof(type)))
#define AW_NEW_ARRAY(arena, type, n) ((type *)aw_arena_array((arena), sizeof(type), _Alignof(type), (n)))
void *aw_arena_array(struct aw_arena *arena, size_t size, size_t align, size_t n);

#endif
