/* What the files of the AMDGPU finisher share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_TARGET_AMDGPU_H
#define AW_PTX_TARGET_AMDGPU_H

#include "lower/internal.h"

struct amdgpu {
    struct ptx_lower b;          /* context, module, builder and types, for the b_* helpers; fn: the function being built */
    const struct ptx_finish *finish;
    struct aw_buf *diags;
    LLVMValueRef kernel;
    unsigned major;              /* 9 .. 12 */
    bool wave64;
    uint32_t block[3];           /* known block shape; 0 = not known */
};

/* Gives every aw.* function in use a body made of amdgcn intrinsics, to be inlined. */
void ptx_amdgpu_simt(struct amdgpu *a);

/* Barriers (amdgpu_barrier.c).  `id` and `threads` as PTX has them; `warps` of the block. */
void ptx_amdgpu_barrier(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
void ptx_amdgpu_barrier_arrive(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
LLVMValueRef ptx_amdgpu_barrier_reduce(struct amdgpu *a, LLVMValueRef *p, LLVMValueRef warps); /* p: id, threads, op, predicate */
void ptx_amdgpu_warpsync(struct amdgpu *a);
/* Once all is inlined and folded: clears the named barriers' counters at the kernel's head if any are left. */
void ptx_amdgpu_barriers_init(struct amdgpu *a);

/* Lanes of this wave (0..63 or 0..31), and the mask of those of this warp that are here. */
LLVMValueRef ptx_amdgpu_wave_lane(struct amdgpu *a);
LLVMValueRef ptx_amdgpu_active(struct amdgpu *a);

/* The bodies that write to struct aw_env (amdgpu_env.c): the builder stands in a fresh function with parameters `p`. */
void ptx_amdgpu_vprintf(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_assertfail(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_trap(struct amdgpu *a, LLVMValueRef *p);
void ptx_amdgpu_malloc(struct amdgpu *a, LLVMValueRef *p);

/* Indices, for assertions. */
LLVMValueRef ptx_amdgpu_thread(struct amdgpu *a, unsigned dim);
LLVMValueRef ptx_amdgpu_block(struct amdgpu *a, unsigned dim);

#endif
