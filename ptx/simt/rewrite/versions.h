/* Shared by versions.c, which chooses what to copy, and region_copy.c, which does it; for nobody else. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SIMT_REWRITE_VERSIONS_H
#define AW_PTX_SIMT_REWRITE_VERSIONS_H

#include "simt/ir.h"

enum {
    MAX_POINTERS = 24, /* of one region; further ones are asked for at each access */
    MAX_SLICE = 64,    /* instructions that lead to an address */
    MAX_CHOICES = 8,   /* of one block */
};

struct version {
    struct simt *u;
    LLVMValueRef fn;
    struct simt_fn f;      /* analysed anew for each region */
    struct aw_ptrmap cold; /* blocks whose mask may be partial */
    struct ptx_copy copy;  /* of the region at hand */
    struct aw_ptrmap plain; /* blocks whose addresses are settled */
    struct aw_ptrmap tried; /* loop counts */
    struct aw_ptrmap uneven; /* blocks where counts are not equal, for when all others are done */
    struct aw_ptrmap chosen; /* blocks whose choices are settled */
    size_t grown, even;
    LLVMBasicBlockRef even_at; /* the next region is all that this block's only successor dominates ... */
    LLVMValueRef count, cond;  /* ... and these are equal for all lanes in the copy */
    bool meets;            /* the function has barriers */
    struct aw_ptrmap own;  /* what differs among warps; empty, unless they are to go together */
    bool ok;               /* memory */
    int n_ptrs;
    LLVMValueRef ptrs[MAX_POINTERS];    /* addresses of the region at hand whose 32-bit indices might wrap */
    LLVMValueRef origins[MAX_POINTERS]; /* what they have that from; others that come from the same are right when they are */
    int n_accesses;                     /* of the region, that would each be asked about */
};

/* Blocks of `f` for which inside() says yes. */
struct copied_region {
    struct simt_fn *f;
    int head, then, join; /* if: `then` dominates the region, `join` is where it and the branch of `head` go */
    int loop;             /* >= 0: the region is this loop; REGION_BLOCK: it is the block `head` */
};

enum { REGION_IF = -1, REGION_BLOCK = -2 };

static inline bool inside(const struct copied_region *r, int b)
{
    return r->loop >= 0           ? simt_loop_has(r->f, r->loop, b)
           : r->loop == REGION_IF ? simt_dominates(r->f, r->then, b)
                                  : b == r->head;
}

static inline bool inside_value(const struct copied_region *r, LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    int b = simt_block_of(r->f, LLVMGetInstructionParent(v));
    return b >= 0 && inside(r, b);
}

static inline void note(struct version *v, struct aw_ptrmap *map, const void *key, void *value)
{
    v->ok = v->ok && aw_ptrmap_put(map, key, value);
}

/* A choice that all lanes may well make alike: of select `x`, by operand `arm`. */
struct choice {
    LLVMValueRef x;
    unsigned arm;
};

/* ---- region_copy.c */
/* Lists the addresses of a region that are asked for before it. */
void simt_copy_find_pointers(struct version *v, const struct copied_region *r);
/* Can the value be computed where the region begins, by no more than `left` instructions, which count down? */
bool simt_copy_hoists(struct version *v, const struct copied_region *r, LLVMValueRef x, int *left);
/* A region behind a branch; `together`: the copy is for all warps of the block at once. */
void simt_copy_if(struct version *v, const struct copied_region *r, bool together);
void simt_copy_loop(struct version *v, const struct copied_region *r, bool together);
/* A block's accesses under one question: where no index wraps, a copy of the block without any. */
void simt_copy_block(struct version *v, const struct copied_region *r);
/* Where all lanes take the usual arms, a copy of the block, which begins with the first choice, with these. */
void simt_copy_choices(struct version *v, const struct copied_region *r, const struct choice *choice, int n);
/* Gives a block's branch a block of its own. */
void simt_copy_set_branch_apart(struct version *v, LLVMBasicBlockRef bb);
/* All that `at`'s only successor dominates, for warps in which v->count and v->cond are the same for all lanes. */
void simt_copy_even(struct version *v, const struct copied_region *r, LLVMBasicBlockRef at);

#endif
