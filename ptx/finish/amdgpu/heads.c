/* Loops in which lanes meet keep their one head.
 *
 * Lanes that go round a loop on different ways come together again where it begins.  LLVM's last SimplifyCFG (22, in all of its
 * pipelines) leads a way on which the head's branch is decided past the head, to where that branch goes: of `for (;;) { if (!t)
 * fetch(); barrier(); if (t) continue; work(); }` it makes a loop of the other lanes within the one of lane 0.  As code of one
 * lane that is the same; but a wave leaves the inner loop when all of its lanes do, and they wait for lane 0, which waits for
 * them.  LLVM's loop passes ask for convergent calls before they make such loops, this one only for those in the block that it
 * leads past.  So there they get one, of nothing: where a loop has a convergent call, and several ways lead back to its head.
 *
 * Not for what LLVM's code generator makes: it has no such step. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <stdlib.h>

#include "base/map.h"
#include "lower/copy.h"
#include "lower/graph.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

static bool has_convergent(BB block)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("convergent", 10);
    for (V i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        V callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
        if (callee && (LLVMGetCallSiteEnumAttribute(i, LLVMAttributeFunctionIndex, kind) ||
                       (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, LLVMAttributeFunctionIndex, kind))))
            return true;
    }
    return false;
}

/* The next block, from `use` on, that goes to what is used; moves on. */
static BB next_source(LLVMUseRef *use)
{
    while (*use) {
        V user = LLVMGetUser(*use);
        *use = LLVMGetNextUse(*use);
        if (LLVMIsATerminatorInst(user))
            return LLVMGetInstructionParent(user);
    }
    return NULL;
}

static unsigned sources(BB block)
{
    unsigned n = 0;
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    while (next_source(&use))
        n++;
    return n;
}

/* The blocks of the loop from `head` to `latch`, backwards: does one of them have a convergent call?  -1: no memory. */
static int loop_converges(BB head, BB latch)
{
    struct aw_ptrmap seen = { 0 };
    BB *stack = malloc(sizeof *stack * LLVMCountBasicBlocks(LLVMGetBasicBlockParent(head)));
    unsigned n = 0;
    int found = stack && aw_ptrmap_put(&seen, head, head) && (head == latch || aw_ptrmap_put(&seen, latch, latch)) ? 0 : -1;
    if (!found && head != latch)
        stack[n++] = latch;
    while (!found && n) {
        BB block = stack[--n];
        found = has_convergent(block);
        LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
        for (BB from; !found && (from = next_source(&use));) {
            if (aw_ptrmap_find(&seen, from))
                continue;
            stack[n++] = from;
            if (!aw_ptrmap_put(&seen, from, from))
                found = -1;
        }
    }
    aw_ptrmap_fini(&seen);
    free(stack);
    return found;
}

/* Lanes may come back to `head` on several ways; `latches` lead there, of which `latch` is one. */
static bool several_ways(unsigned latches, BB latch)
{
    return latches > 1 || (LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(latch)) == 1 && sources(latch) > 1);
}

static bool head_keep(struct amdgpu *a, struct aw_ptrmap *index, BB head)
{
    uintptr_t place = (uintptr_t)aw_ptrmap_find(index, head);
    unsigned latches = 0;
    BB latch = NULL;
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(head));
    for (BB from; (from = next_source(&use));)
        if ((uintptr_t)aw_ptrmap_find(index, from) >= place)
            latches++, latch = from;
    if (!latches || LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(head)) < 2 || !several_ways(latches, latch) ||
        has_convergent(head))
        return true;
    int converges = 0;
    for (use = LLVMGetFirstUse(LLVMBasicBlockAsValue(head)); !converges && (latch = next_source(&use));)
        if ((uintptr_t)aw_ptrmap_find(index, latch) >= place)
            converges = loop_converges(head, latch);
    if (converges > 0) {
        LLVMPositionBuilderBefore(a->b.builder, ptx_behind_phis(LLVMGetFirstInstruction(head)));
        ptx_amdgpu_call_attribute(a, b_intrinsic(&a->b, "llvm.sideeffect", NULL, 0, NULL, 0), "convergent", 0);
    }
    return converges >= 0;
}

bool ptx_amdgpu_heads(struct amdgpu *a)
{
    bool ok = true;
    for (V fn = LLVMGetFirstFunction(a->b.module); fn && ok; fn = LLVMGetNextFunction(fn)) {
        struct aw_arena arena = { 0 };
        struct aw_ptrmap index = { 0 };
        BB *blocks;
        int n = 0;
        ok = LLVMIsDeclaration(fn) || ptx_blocks_order(LLVMGetEntryBasicBlock(fn), &arena, &index, &blocks, &n);
        for (int i = 0; i < n && ok; i++)
            ok = head_keep(a, &index, blocks[i]);
        aw_ptrmap_fini(&index);
        aw_arena_fini(&arena);
    }
    return ok;
}
