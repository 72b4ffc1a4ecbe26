/* A code object read without ROCr, for simgpu-run and hip/: its segments as the card sees them, and what its metadata says of one
 * kernel. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_OBJECT_H
#define SIM_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OBJECT_MAX_ARGS = 256 };

struct object_arg {
    uint32_t offset, size;      /* bytes in the argument block */
    char kind[40];              /* "by_value", "global_buffer", "hidden_block_count_x", ... */
};

struct object {
    uint8_t *image;             /* owned: the segments, from address `base` */
    size_t size;
    uint8_t *file;              /* owned: what was read */
    size_t file_size;
    uint64_t base, descriptor;  /* addresses */
    uint32_t kernarg_size, lds_bytes, private_bytes; /* from the descriptor */
    unsigned sgprs, sgpr_spills, vgpr_spills;        /* metadata; 0 when it says nothing */
    struct object_arg args[OBJECT_MAX_ARGS];
    unsigned n_args;            /* 0 without metadata */
};

/* Loads the file's segments for address `base` (page-aligned), relocates them, and finds `kernel` (without ".kd").
 * False, with one line in `ret_problem`, when the file is no code object or has no such kernel.  object_fini frees. */
bool object_load(struct object *o, const char *file, const char *kernel, uint64_t base, char *ret_problem, size_t size);
/* The same of a file in memory, whose bytes are copied. */
bool object_load_bytes(struct object *o, const void *bytes, size_t n, const char *kernel, uint64_t base, char *ret_problem,
                       size_t size);
void object_fini(struct object *o);

struct object_launch {
    uint32_t grid[3], block[3]; /* blocks, work-items */
    uint32_t lds;               /* dynamic bytes */
};
/* Fills in the hidden arguments that the object's metadata names (block counts and sizes, remainders, dimensions, apertures). */
void object_fill_hidden(const struct object *o, const struct object_launch *l, uint8_t *kernarg, size_t room);

#endif
