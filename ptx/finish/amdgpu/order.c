/* What a barrier, fence or atomic orders, kept in that order by LLVM's AMDGPU backend.
 *
 * To the backend a fence and a barrier are instructions with side effects that touch no memory, and how long a fence has to wait
 * is found out at the very end.  Three of its passes get that wrong (docs/amd.md says which others were looked at):
 *
 * - MachineSink (llvm/lib/CodeGen) moves a load from the end of a block into the successor that uses it, and what it looks at on
 * the way are
 *   stores, calls and ordered accesses (MachineInstr::isSafeToMove).  So a load goes past the fences and the barrier behind it in
 *   its own
 *   block, and reads what another wave has written since.  Seen in LLVM 14.0 and 22.1; llvm-project issue 181708.
 * - AMDGPUAnnotateUniformValues lets a load at the same address for all lanes go through the scalar cache when nothing in the
 * kernel can have
 *   written there before, and takes fences, barriers and atomics at other places for nothing (AMDGPU::isReallyAClobber).  That
 *   cache is
 *   invalidated by no fence; what another wave has written and published may not be in it.  Seen in LLVM 14.0 and 22.1;
 *   llvm-project request 219991.
 * - SIInsertWaitcnts takes out a fence's wait for accesses under way where there are none, and does so when it comes by for the
 * first time, when
 *   those that a loop brings round are not known yet: a barrier at a loop's head does not wait for what its end has written.  Nor
 *   would one
 *   behind a loop that is left at its head, were there any.  Seen in LLVM 22.1, not in 14.0.
 *
 * And LLVM's memory model of gfx9 has a block's release wait for shared memory alone, as global memory is the compute unit's,
 * which all waves of the block see alike.  But a wave that knows of another's store by a barrier may publish it to other compute
 * units, and waits for its own stores only: the other's may come after, by another channel to the L2.  Up to gfx908 LLVM waits
 * for all before each s_barrier, and what is said by name there is the same wait; from gfx90a on (its "back-off barrier") it does
 * not.  Where waves hand over without a barrier, by a flag in shared memory, it is alike on all of gfx9: LLVM's documentation
 * (AMDGPUUsage, memory models of gfx6 to gfx9 and of gfx90a) gives each compute unit a queue for each of the L2's channels, and
 * has a block's release wait for shared memory alone.  LLVM's request 160501 mended the same for gfx10's mode of one compute
 * unit.  So in a kernel that releases anything beyond its block, what releases within the block waits for global memory as well.
 *
 * For the first two an empty piece of assembly that may read and write all of memory is what both respect, in IR and in machine
 * code, and is no instruction.  It goes before each run of fences and barriers, and after each atomic that acquires, once
 * everything else is done: to LLVM's optimiser fences are as strong.  For the third, waits in and behind loops are said by name,
 * which stay; for gfx9's, all those of the block.  tests/order/order.py proves both for the code that comes out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include "base/map.h"
#include <stdlib.h>

typedef LLVMValueRef V;

static bool is_barrier(V i)
{
    switch (ptx_intrinsic_called(i)) {
    case PTX_INTRINSIC_S_BARRIER: case PTX_INTRINSIC_S_BARRIER_SIGNAL: case PTX_INTRINSIC_S_BARRIER_WAIT:
    case PTX_INTRINSIC_WAVE_BARRIER:
        return true;
    default:
        return false;
    }
}

static bool is_order(V i)
{
    return i && (LLVMIsAFenceInst(i) || is_barrier(i));
}

static bool acquires(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingAcquire || order == LLVMAtomicOrderingAcquireRelease ||
           order == LLVMAtomicOrderingSequentiallyConsistent;
}

static bool is_acquiring_atomic(V i)
{
    if (LLVMIsAAtomicCmpXchgInst(i))
        return acquires(LLVMGetCmpXchgSuccessOrdering(i)) || acquires(LLVMGetCmpXchgFailureOrdering(i));
    return (LLVMIsAAtomicRMWInst(i) || LLVMIsALoadInst(i)) && acquires(LLVMGetOrdering(i));
}

static bool is_releasing_atomic(V i)
{
    LLVMAtomicOrdering order = LLVMAtomicOrderingNotAtomic;
    if (LLVMIsAAtomicCmpXchgInst(i))
        order = LLVMGetCmpXchgSuccessOrdering(i);
    else if (LLVMIsAAtomicRMWInst(i) || LLVMIsAStoreInst(i) || LLVMIsALoadInst(i))
        order = LLVMGetOrdering(i);
    return order == LLVMAtomicOrderingRelease || order == LLVMAtomicOrderingAcquireRelease ||
           order == LLVMAtomicOrderingSequentiallyConsistent;
}

/* Assembly that may touch all of memory. */
static void clobber(struct amdgpu *a, const char *text)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(a->b.context), NULL, 0, 0);
    V code = LLVMGetInlineAsm(type, text, strlen(text), "~{memory}", 9, 1, 0, LLVMInlineAsmDialectATT, 0);
    ptx_amdgpu_call_attribute(a, LLVMBuildCall2(a->b.builder, type, code, NULL, 0, ""), "nounwind", 0);
}

/* ---- Waits */

/* Blocks of `fn` that no loop is before, as keys: those in the order of which each comes after all its predecessors.  False where
 * memory is out. */
static bool before_loops(V fn, struct aw_ptrmap *ret)
{
    size_t n = 0, at = 0;
    struct aw_ptrmap left = { 0 }; /* predecessors of a block that have not been seen, and one */
    LLVMBasicBlockRef *order = malloc(sizeof *order * LLVMCountBasicBlocks(fn));
    bool ok = order != NULL;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb && ok; bb = LLVMGetNextBasicBlock(bb)) {
        V end = LLVMGetBasicBlockTerminator(bb);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(end) && ok; i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
            uintptr_t have = (uintptr_t)aw_ptrmap_find(&left, to);
            ok = aw_ptrmap_put(&left, to, (void *)(have ? have + 1 : 2));
        }
    }
    if (ok)
        order[n++] = LLVMGetEntryBasicBlock(fn);
    while (at < n && ok) {
        LLVMBasicBlockRef bb = order[at++];
        V end = LLVMGetBasicBlockTerminator(bb);
        ok = aw_ptrmap_put(ret, bb, bb);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(end) && ok; i++) {
            LLVMBasicBlockRef to = LLVMGetSuccessor(end, i);
            uintptr_t have = (uintptr_t)aw_ptrmap_find(&left, to) - 1;
            ok = aw_ptrmap_put(&left, to, (void *)have);
            if (have == 1)
                order[n++] = to;
        }
    }
    free(order);
    aw_ptrmap_fini(&left);
    return ok;
}

/* Until all of the wave's accesses to shared memory, and where `global` those to global memory, are done. */
static void wait(struct amdgpu *a, bool global)
{
    /* s_waitcnt's fields, each at its greatest */
    static const unsigned none[] = { [9] = 0xcf7f, [10] = 0xff7f, [11] = 0xfff7 };
    static const unsigned shared[] = { [9] = 0x0f00, [10] = 0x3f00, [11] = 0x03f0 },
                          vector[] = { [9] = 0xc00f, [10] = 0xc00f, [11] = 0xfc00 };
    struct ptx_lower *b = &a->b;
    if (a->major >= 12) {
        static const char *const names[] = { "llvm.amdgcn.s.wait.dscnt", "llvm.amdgcn.s.wait.loadcnt",
                                             "llvm.amdgcn.s.wait.storecnt" };
        for (unsigned i = 0; i < (global ? 3u : 1u); i++)
            b_intrinsic(b, names[i], NULL, 0, (V[]){ LLVMConstInt(LLVMInt16TypeInContext(b->context), 0, 0) }, 1);
        return;
    }
    unsigned fields = none[a->major] & ~shared[a->major] & ~(global ? vector[a->major] : 0);
    b_intrinsic(b, "llvm.amdgcn.s.waitcnt", NULL, 0, (V[]){ b_i32(b, fields) }, 1);
    if (global && a->major >= 10) /* stores are counted apart, and LLVM has no name for that */
        clobber(a, "s_waitcnt_vscnt null, 0x0");
}

/* How far a fence or atomic reaches. */
enum scope { WAVE, BLOCK, BEYOND };

static enum scope scope_of(const struct amdgpu *a, V i)
{
    unsigned wavefront = LLVMGetSyncScopeID(a->b.context, "wavefront", 9),
             workgroup = LLVMGetSyncScopeID(a->b.context, "workgroup", 9);
    unsigned thread = LLVMGetSyncScopeID(a->b.context, "singlethread", 12), scope = LLVMGetAtomicSyncScopeID(i);
    return scope == wavefront || scope == thread ? WAVE : scope == workgroup ? BLOCK : BEYOND;
}

/* Does the kernel release anything to other blocks? */
static bool publishes(const struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
                bool release = LLVMIsAFenceInst(i) ? LLVMGetOrdering(i) != LLVMAtomicOrderingAcquire : is_releasing_atomic(i);
                if (release && scope_of(a, i) == BEYOND)
                    return true;
            }
    return false;
}

/* The wait that `order`, a run's first fence or barrier or an atomic, asks for.  Unless `all`, global memory in a block of gfx9
 * is the CU's; later cards' blocks lie on two of them. */
static void order_wait(struct amdgpu *a, V order, bool run, bool all)
{
    bool needed = false, global = false;
    for (V i = order; i; i = run && is_order(LLVMGetNextInstruction(i)) ? LLVMGetNextInstruction(i) : NULL) {
        if (is_barrier(i))
            continue;
        enum scope scope = scope_of(a, i);
        needed = needed || scope != WAVE;
        global = global || scope == BEYOND || (scope == BLOCK && (all || a->major >= 10));
    }
    if (needed)
        wait(a, global);
}

/* `looped`: a loop may come before; `all`: releases of the block wait for all memory. */
static void block_order(struct amdgpu *a, LLVMBasicBlockRef bb, bool looped, bool all)
{
    for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        bool run = is_order(i) && !is_order(LLVMGetPreviousInstruction(i));
        LLVMPositionBuilderBefore(a->b.builder, i);
        bool waits = (looped || all) && (run || is_releasing_atomic(i));
        if (run || waits)
            clobber(a, "");
        if (waits)
            order_wait(a, i, run, all);
        if (is_acquiring_atomic(i) && !is_order(next)) {
            LLVMPositionBuilderBefore(a->b.builder, next);
            clobber(a, "");
        }
    }
}

void ptx_amdgpu_orders(struct amdgpu *a)
{
    bool all = a->major == 9 && publishes(a);
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn)) {
        struct aw_ptrmap straight = { 0 };
        bool known = !LLVMIsDeclaration(fn) && before_loops(fn, &straight);
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            block_order(a, bb, !known || !aw_ptrmap_find(&straight, bb), all); /* where memory is out, waits too many */
        aw_ptrmap_fini(&straight);
    }
}
