/* What the files of the AMDGPU finisher share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_AMDGPU_AMDGPU_H
#define AW_PTX_FINISH_AMDGPU_AMDGPU_H

#include "finish/target.h"
#include "lower/internal.h"
#include "lower/intrinsic.h"

extern const struct ptx_target ptx_target_amdgpu;
/* gfx names, each after a comma. */
void ptx_amdgpu_names(struct aw_buf *out);

struct amdgpu {
    struct ptx_lower b;          /* context, module, builder and types, for the b_* helpers; fn: the function being built */
    LLVMTargetMachineRef machine;
    struct ptx_pipeline pipeline;
    const struct ptx_finish *finish;
    struct aw_buf *diags;
    LLVMValueRef kernel;
    unsigned major;              /* 9 .. 12 */
    bool wave64;
    bool ends;                   /* it counts which warps have ended; see ptx_amdgpu_ends */
    bool flushing;               /* the kernel runs with f32 subnormals off */
    bool full;                   /* barriers have no room in shared memory; see amdgpu/counters.c */
    bool parts;                  /* launches are of a part of the grid's blocks */
    uint32_t block[3];           /* known block shape; 0 = not known */
    uint32_t min_threads, max_threads; /* of a block */
};

/* Gives every aw.* function in use a body made of amdgcn intrinsics, to be inlined. */
void ptx_amdgpu_simt(struct amdgpu *a);
/* Replaces the calls of aw.round.* and of aw.shfl.*, each by what its constant operands allow. */
void ptx_amdgpu_rounding(struct amdgpu *a);
void ptx_amdgpu_shuffles(struct amdgpu *a);
/* Replaces those of aw.tile.*, by matrix instructions; before anything else those of aw.tile.here by false where there are
 * none. */
void ptx_amdgpu_tiles(struct amdgpu *a);
void ptx_amdgpu_tiles_absent(struct amdgpu *a);
/* Everywhere: no lane can rely on the others' being here. */
void ptx_amdgpu_tiles_never(struct amdgpu *a);
/* `v` (i32) of lane `from` (0..31) of this warp, which must be here: else 0, or `v` where LLVM knows it to be a constant. */
LLVMValueRef ptx_amdgpu_read_lane(struct amdgpu *a, LLVMValueRef v, LLVMValueRef from);
/* `v` (i32) of the lane whose number differs by the bits of `by` (0..31). */
LLVMValueRef ptx_amdgpu_exchange(struct amdgpu *a, LLVMValueRef v, unsigned by);
/* Before anything is replaced: min and max give any NaN where no one can tell. */
void ptx_amdgpu_nans(struct amdgpu *a);
/* After optimisation: loads of kernel arguments go to the kernel's head, to be done together; exact divisions become
 * multiplications; saturating conversions become the machine's; branches around something go the way the machine's masks do;
 * zeros keep their signs. */
void ptx_amdgpu_subnormals(struct amdgpu *a);
void ptx_amdgpu_zeros(struct amdgpu *a);
void ptx_amdgpu_saturated(struct amdgpu *a); /* and saturated halves no more than 16 bits */
void ptx_amdgpu_conversions(struct amdgpu *a);
void ptx_amdgpu_arguments(struct amdgpu *a);
void ptx_amdgpu_branches(struct amdgpu *a);
void ptx_amdgpu_divisions(struct amdgpu *a);
/* Before LLVM optimises: heads of loops around barriers and other operations of several lanes stay the only ones.  False when
 * memory is out. */
bool ptx_amdgpu_heads(struct amdgpu *a);
/* An enum attribute of a call. */
void ptx_amdgpu_call_attribute(struct amdgpu *a, LLVMValueRef call, const char *name, uint64_t value);

/* Barriers (amdgpu/barrier.c).  `id` and `threads` as PTX has them; `warps` of the block. */
void ptx_amdgpu_barrier(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
void ptx_amdgpu_barrier_arrive(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
/* p: id, threads, op, predicate.  `warps` NULL: its barriers are calls of aw.barrier. */
LLVMValueRef ptx_amdgpu_barrier_reduce(struct amdgpu *a, LLVMValueRef *p, LLVMValueRef warps);
/* Is it the machine's own, that of all the block's threads? */
LLVMValueRef ptx_amdgpu_barrier_is_whole(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
/* How often the counted barrier `id` was completed, modulo 2^32. */
LLVMValueRef ptx_amdgpu_barrier_generation(struct amdgpu *a, LLVMValueRef id);
/* While waiting at it: the rest may have ended. */
void ptx_amdgpu_barrier_recheck(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
/* Before anything is replaced: where barriers of the whole block count arrivals, lanes say that they end.  False when memory is
 * out. */
bool ptx_amdgpu_ends(struct amdgpu *a);
/* Bytes of shared memory that barriers take, as a value; ptx_amdgpu_barriers_init says how many. */
LLVMValueRef ptx_amdgpu_barrier_bytes(struct amdgpu *a);
void ptx_amdgpu_hardware_barrier(struct amdgpu *a);
void ptx_amdgpu_acquire(struct amdgpu *a); /* in the block */
/* Before anything is replaced, on wave64: lets the halves of a wave wait at different barriers (finish/wait.c).  AW_OK or an
 * error. */
int ptx_amdgpu_waits(struct amdgpu *a);
void ptx_amdgpu_warpsync(struct amdgpu *a);
/* Once all is inlined and folded: clears the named barriers' counters at the kernel's head if any are left.  AW_OK or an
 * error. */
int ptx_amdgpu_barriers_init(struct amdgpu *a);
/* A block at the kernel's head, in which the builder goes on; what was the first block is returned, and must be branched to. */
LLVMBasicBlockRef ptx_amdgpu_head(struct amdgpu *a);
/* With a->full: the block's counters in device memory (amdgpu/counters.c), `n` threads of it end; and what barriers_init does. */
LLVMValueRef ptx_amdgpu_counters(struct amdgpu *a);
void ptx_amdgpu_counters_end(struct amdgpu *a, LLVMValueRef n, LLVMValueRef threads, LLVMValueRef *words, unsigned n_words);
int ptx_amdgpu_counters_settle(struct amdgpu *a);
/* Brings all barriers into the kernel itself, as far as functions do not recurse. */
int ptx_amdgpu_barriers_inline(struct amdgpu *a);

/* Lanes of this wave (0..63 or 0..31) and of this warp, and the mask of those of this warp that are here. */
LLVMValueRef ptx_amdgpu_lane(struct amdgpu *a);
LLVMValueRef ptx_amdgpu_wave_lane(struct amdgpu *a);
LLVMValueRef ptx_amdgpu_active(struct amdgpu *a);

/* The bodies that write to struct aw_env (amdgpu/env.c): the builder stands in a fresh function with parameters `p`. */
void ptx_amdgpu_vprintf(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_assertfail(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_trap(struct amdgpu *a, LLVMValueRef *p);
/* Defines `symbol` in the object: the launch must provide what it stands for (AW_ENV_SYMBOL, AW_ENV_HEAP_SYMBOL). */
void ptx_amdgpu_env_mark(struct amdgpu *a, const char *symbol);
LLVMValueRef ptx_amdgpu_env(struct amdgpu *a, LLVMValueRef kernarg);
/* A word of it that does not change while the kernel runs, as an i32. */
LLVMValueRef ptx_amdgpu_env_constant(struct amdgpu *a, LLVMValueRef kernarg, uint64_t offset);
/* aw.grid.workspace's result. */
LLVMValueRef ptx_amdgpu_grid_workspace(struct amdgpu *a, LLVMValueRef kernarg);
/* Records `status` (i32) in the environment unless its address is 0, and ends the wave; the builder's block is finished. */
void ptx_amdgpu_die(struct amdgpu *a, LLVMValueRef env, LLVMValueRef status);

/* What is `offset` bytes into a constant of the object's, of `n` words of 64 bits, into which who loads it writes; until then it
 * has `values`. */
LLVMValueRef ptx_amdgpu_variable_field(struct amdgpu *a, const char *symbol, LLVMValueRef *values, unsigned n, LLVMTypeRef type,
                                       uint64_t offset);

/* Which compute unit the wave is on, and below which number that is (amdgpu/unit.c). */
LLVMValueRef ptx_amdgpu_unit(struct amdgpu *a);
LLVMValueRef ptx_amdgpu_units(struct amdgpu *a);

/* The device heap (amdgpu/heap.c). */
void ptx_amdgpu_malloc(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_free(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_swap_128(struct amdgpu *a, LLVMValueRef *p);

/* Marks the object of a kernel whose need of stack is not known (amdgpu/stack.c).  False: out of memory. */
bool ptx_amdgpu_stack(struct amdgpu *a);

/* Takes signs of vectors apart that LLVM's backend would crash at (amdgpu/signs.c). */
void ptx_amdgpu_signs(struct amdgpu *a);
/* Rewrites carries that LLVM's backend would get wrong (amdgpu/carry.c). */
void ptx_amdgpu_carries(struct amdgpu *a);
/* Keeps LLVM's backend from moving accesses past fences and barriers (amdgpu/order.c); the last thing before it. */
void ptx_amdgpu_orders(struct amdgpu *a);

/* Indices, for assertions. */
LLVMValueRef ptx_amdgpu_thread(struct amdgpu *a, unsigned dim);
LLVMValueRef ptx_amdgpu_block(struct amdgpu *a, unsigned dim, LLVMValueRef kernarg); /* kernarg: only asked for where a->parts */

#endif
