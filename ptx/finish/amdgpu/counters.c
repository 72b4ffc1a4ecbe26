/* Where barriers count when the block leaves them no room in shared memory (AW_BLOCK_FULL): in device memory.
 *
 * The device has sets of words, of which a block takes a free one when it begins, and gives it back, cleared, when its last thread ends.
 * Which one it is, its warps tell each other through the first word of shared memory, in which nothing is yet.  There are more sets than
 * such blocks that can run at once; should there be none, a block waits for others to end.  A block that traps keeps its own: the device
 * runs nothing more then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

#define PLACE "aw.barrier.counters" /* a function that gives the block's set, until ptx_amdgpu_counters_settle knows it */

static unsigned device_scope(struct amdgpu *a)
{
    return LLVMGetSyncScopeID(a->b.context, "agent", 5);
}

V ptx_amdgpu_counters(struct amdgpu *a)
{
    LLVMTypeRef type = LLVMFunctionType(a->b.ptr[AS_GLOBAL], NULL, 0, 0);
    V fn = LLVMGetNamedFunction(a->b.module, PLACE);
    fn = fn ? fn : LLVMAddFunction(a->b.module, PLACE, type);
    return LLVMBuildCall2(a->b.builder, type, fn, NULL, 0, "");
}

static V word(struct amdgpu *a, V set, unsigned which)
{
    return b_gep(&a->b, set, b_i32(&a->b, 4 * which));
}

static void clear(struct amdgpu *a, V p, LLVMAtomicOrdering order)
{
    V store = LLVMBuildStore(a->b.builder, b_i32(&a->b, 0), p);
    LLVMSetAlignment(store, 4);
    LLVMSetOrdering(store, order);
    LLVMSetAtomicSyncScopeID(store, device_scope(a));
}

/* The `n` (i32) threads for which the builder stands here end; the block's last ones clear words[] and give the set back. */
void ptx_amdgpu_counters_end(struct amdgpu *a, V n, V threads, V *words, unsigned n_words)
{
    struct ptx_lower *b = &a->b;
    BB last = ptx_block_new(b, "last"), done = ptx_block_new(b, "");
    V set = ptx_amdgpu_counters(a), ended = word(a, set, AW_COUNTERS_ENDED);
    V before = LLVMBuildAtomicRMWSyncScope(b->builder, LLVMAtomicRMWBinOpAdd, ended, n, LLVMAtomicOrderingAcquireRelease, device_scope(a));
    LLVMBuildCondBr(b->builder, b_eq(b, b_add(b, before, n), threads), last, done);
    LLVMPositionBuilderAtEnd(b->builder, last);
    clear(a, ended, LLVMAtomicOrderingMonotonic);
    for (unsigned i = 0; i < n_words; i++)
        clear(a, words[i], LLVMAtomicOrderingMonotonic);
    clear(a, word(a, set, AW_COUNTERS_TAKEN), LLVMAtomicOrderingRelease);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* A field of struct aw_counters. */
static V counters(struct amdgpu *a, LLVMTypeRef type, uint64_t offset)
{
    struct ptx_lower *b = &a->b;
    return ptx_amdgpu_variable_field(a, AW_COUNTERS_SYMBOL, (V[]){ b_i64(b, 0), b_i64(b, 0) }, 2, type, offset);
}

static V set_at(struct amdgpu *a, V index)
{
    struct ptx_lower *b = &a->b;
    V sets = counters(a, b->i64, offsetof(struct aw_counters, sets));
    V at = b_add(b, sets, b_mul(b, b_zext(b, index, b->i64), b_i64(b, AW_COUNTERS_BYTES)));
    return b_inttoptr(b, at, b->ptr[AS_GLOBAL]);
}

/* Takes a free set, looking from one on that depends on the block; the builder goes on with its number. */
static V take(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    BB begin = LLVMGetInsertBlock(b->builder), look = ptx_block_new(b, "look"), next = ptx_block_new(b, "next"), taken = ptx_block_new(b, "taken");
    V n = counters(a, b->i32, offsetof(struct aw_counters, count)), zero = b_i32(b, 0);
    V first = LLVMBuildURem(b->builder, b_intrinsic(b, "llvm.amdgcn.workgroup.id.x", NULL, 0, NULL, 0), n, "");
    LLVMBuildBr(b->builder, look);
    LLVMPositionBuilderAtEnd(b->builder, look);
    V i = LLVMBuildPhi(b->builder, b->i32, "");
    V swap = LLVMBuildAtomicCmpXchgSyncScope(b->builder, word(a, set_at(a, i), AW_COUNTERS_TAKEN), zero, b_i32(b, 1), LLVMAtomicOrderingAcquire,
                                             LLVMAtomicOrderingMonotonic, device_scope(a));
    LLVMBuildCondBr(b->builder, b_field(b, swap, 1), taken, next);
    LLVMPositionBuilderAtEnd(b->builder, next);
    b_intrinsic(b, "llvm.amdgcn.s.sleep", NULL, 0, (V[]){ b_i32(b, 1) }, 1);
    V after = b_add(b, i, b_i32(b, 1));
    after = b_select(b, b_icmp(b, LLVMIntUGE, after, n), zero, after);
    LLVMBuildBr(b->builder, look);
    LLVMAddIncoming(i, (V[]){ first, after }, (BB[]){ begin, next }, 2);
    LLVMPositionBuilderAtEnd(b->builder, taken);
    return i;
}

/* The first word of shared memory, which all threads leave alone between two barriers. */
static V first_word(struct amdgpu *a)
{
    return b_inttoptr(&a->b, b_i32(&a->b, 0), a->b.ptr[AS_SHARED]);
}

static void in_block(struct amdgpu *a, V access)
{
    LLVMSetAlignment(access, 4);
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, LLVMGetSyncScopeID(a->b.context, "workgroup", 9));
}

int ptx_amdgpu_counters_settle(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V fn = LLVMGetNamedFunction(b->module, PLACE);
    if (!fn)
        return AW_OK;
    for (LLVMUseRef use = LLVMGetFirstUse(fn); use; use = LLVMGetNextUse(use))
        if (LLVMGetBasicBlockParent(LLVMGetInstructionParent(LLVMGetUser(use))) != a->kernel) {
            aw_buf_printf(a->diags, "<ptx>:0:0: error: with all shared memory in use, barriers inside a recursive function are not supported\n");
            return AW_ERR_NOT_SUPPORTED;
        }
    BB old = ptx_amdgpu_head(a), found = ptx_block_new(b, "found"), none = ptx_block_new(b, "take");
    V ids = b_or(b, b_or(b, ptx_amdgpu_thread(a, 0), ptx_amdgpu_thread(a, 1)), ptx_amdgpu_thread(a, 2));
    LLVMBuildCondBr(b->builder, b_eq(b, ids, b_i32(b, 0)), none, found);
    LLVMPositionBuilderAtEnd(b->builder, none);
    in_block(a, LLVMBuildStore(b->builder, take(a), first_word(a)));
    LLVMBuildBr(b->builder, found);
    LLVMPositionBuilderAtEnd(b->builder, found);
    ptx_amdgpu_hardware_barrier(a);
    V index = LLVMBuildLoad2(b->builder, b->i32, first_word(a), "");
    in_block(a, index);
    V set = set_at(a, b_intrinsic(b, "llvm.amdgcn.readfirstlane", &b->i32, 1, &index, 1));
    ptx_amdgpu_hardware_barrier(a); /* now the word is the program's */
    LLVMBuildBr(b->builder, old);
    for (LLVMUseRef use; (use = LLVMGetFirstUse(fn));) {
        V call = LLVMGetUser(use);
        LLVMReplaceAllUsesWith(call, set);
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(fn);
    return AW_OK;
}
