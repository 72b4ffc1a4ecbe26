/* Lanes of one wave, or of one warp of the host's, that wait for each other: wait.c, which describes it, and what it asks of a
 * card. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_WAIT_H
#define AW_PTX_FINISH_WAIT_H

#include "lower/internal.h"

struct amdgpu;

/* What a card has for it; finish/amdgpu/amdgpu.h says what each does. */
struct ptx_wait_card {
    struct amdgpu *a;
    const uint32_t *block;       /* known block shape; 0 = not known */
    uint32_t max_threads;        /* of a block */
    bool wave64;
    bool ends;                   /* it counts which warps have ended */
    LLVMValueRef (*active)(struct amdgpu *a);
    LLVMValueRef (*barrier_is_whole)(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
    LLVMValueRef (*barrier_generation)(struct amdgpu *a, LLVMValueRef id);
    LLVMValueRef (*barrier_reduce)(struct amdgpu *a, LLVMValueRef *p, LLVMValueRef warps);
    void (*barrier_arrive)(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
    void (*barrier_recheck)(struct amdgpu *a, LLVMValueRef id, LLVMValueRef threads, LLVMValueRef warps);
    void (*hardware_barrier)(struct amdgpu *a);
    void (*acquire)(struct amdgpu *a);
    void (*tiles_never)(struct amdgpu *a);
};

/* On one lane's view, before anything is replaced: lets lanes of a wave wait for each other where they may have to, and on wave64
 * the halves of a wave at different barriers.  `b`: of the card's module, with its types and builder.  AW_OK,
 * AW_ERR_OUT_OF_MEMORY or ptx_passes_run's. */
int ptx_card_waits(const struct ptx_wait_card *card, struct ptx_lower *b, LLVMValueRef kernel, struct aw_buf *diags);
/* Likewise lanes of a warp.  Changes nothing in other kernels.  `block`: as for a card. */
int ptx_host_waits(LLVMModuleRef module, const char *kernel, const uint32_t *block, struct aw_buf *diags);

#endif
