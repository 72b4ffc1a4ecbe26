/* Puts stack variables that a program may overrun (marked by ptx/simt/emit/alloca.c) into the warp's area of local memory, which
 * has nothing else in it and ends at guards.  So what is written past an array hits other such variables of its warp, or ends the
 * kernel; never a return address, a saved register or what the vectoriser keeps on the stack.
 *
 * The area is a stack that grows down.  block->local is its top where a function is entered: the runtime sets it before a
 * kernel's entry, each function before its calls.  A function keeps its own end of the area in a register, so nothing is
 * restored, and switches between warps, which happen within calls of the runtime, leave other values behind without harm.
 *
 * After optimisation, for which these are variables like others until then. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "simt/vectorise.h"
#include "finish/host/host.h"
#include <anywarp/hostabi.h>
#include <string.h>

struct locals {
    LLVMModuleRef m;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i64, ptr;
    struct aw_ptrmap needs; /* functions that have such variables, or call one that does */
    bool memory;            /* is out */
};

typedef bool visit_fn(struct locals *l, LLVMValueRef fn, LLVMValueRef x);

/* Until one is true. */
static bool any_instruction(struct locals *l, LLVMValueRef fn, visit_fn *visit)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (visit(l, fn, x))
                return true;
        }
    return false;
}

static bool is_local(struct locals *l, LLVMValueRef x)
{
    return LLVMIsAAllocaInst(x) && ptx_metadata(x, SIMT_LOCAL);
}

static bool calls_needy(struct locals *l, LLVMValueRef x)
{
    return LLVMIsACallInst(x) && LLVMIsAFunction(LLVMGetCalledValue(x)) && aw_ptrmap_find(&l->needs, LLVMGetCalledValue(x));
}

static bool is_needy(struct locals *l, LLVMValueRef fn, LLVMValueRef x)
{
    (void)fn;
    return is_local(l, x) || calls_needy(l, x);
}

static void find_needy(struct locals *l)
{
    for (bool more = true; more && !l->memory;) {
        more = false;
        for (LLVMValueRef fn = LLVMGetFirstFunction(l->m); fn && !l->memory; fn = LLVMGetNextFunction(fn)) {
            if (aw_ptrmap_find(&l->needs, fn) || !any_instruction(l, fn, is_needy))
                continue;
            more = true;
            l->memory = !aw_ptrmap_put(&l->needs, fn, fn);
        }
    }
}

static LLVMValueRef advanced(struct locals *l, LLVMValueRef p, int64_t by)
{
    LLVMValueRef at = LLVMConstInt(l->i64, (uint64_t)by, 1);
    return LLVMBuildGEP2(l->b, l->i8, p, &at, 1, "");
}

static LLVMValueRef top_field(struct locals *l, LLVMValueRef fn)
{
    return advanced(l, LLVMGetParam(fn, 0), offsetof(struct aw_host_block, local));
}

static uint64_t align_of(LLVMValueRef variable)
{
    uint64_t align = LLVMGetAlignment(variable);
    return align > AW_HOST_LOCAL_ALIGN ? align : AW_HOST_LOCAL_ALIGN;
}

/* Bytes from the top to where a variable begins that comes after `sum` of them. */
static uint64_t begin_of(struct locals *l, LLVMValueRef variable, uint64_t sum)
{
    uint64_t align = align_of(variable);
    sum += LLVMABISizeOfType(LLVMGetModuleDataLayout(l->m), LLVMGetAllocatedType(variable));
    return (sum + align - 1) & ~(align - 1);
}

/* The greatest alignment of the function's variables. */
static uint64_t align_of_all(struct locals *l, LLVMValueRef fn)
{
    uint64_t align = AW_HOST_LOCAL_ALIGN;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (is_local(l, x) && align_of(x) > align)
                align = align_of(x);
    return align;
}

/* The top of the area, rounded down where a variable wants more than areas have. */
static LLVMValueRef aligned_top(struct locals *l, LLVMValueRef fn, uint64_t align)
{
    LLVMValueRef top = LLVMBuildLoad2(l->b, l->ptr, top_field(l, fn), "local");
    LLVMSetAlignment(top, 8);
    if (align == AW_HOST_LOCAL_ALIGN)
        return top;
    LLVMValueRef past = LLVMBuildAnd(l->b, LLVMBuildPtrToInt(l->b, top, l->i64, ""), LLVMConstInt(l->i64, align - 1, 0), "");
    LLVMValueRef down = LLVMBuildNeg(l->b, past, "");
    return LLVMBuildGEP2(l->b, l->i8, top, &down, 1, "local.aligned");
}

/* The inliner says how long a variable lives, which only those on the stack may have said of them. */
static void lifetimes_drop(LLVMValueRef variable)
{
    for (LLVMUseRef use = LLVMGetFirstUse(variable), next; use; use = next) {
        LLVMValueRef x = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME))
            LLVMInstructionEraseFromParent(x);
    }
}

/* Gives the function's variables their places.  Returns how many bytes they are. */
static uint64_t place(struct locals *l, LLVMValueRef fn)
{
    uint64_t sum = 0, align = align_of_all(l, fn);
    LLVMPositionBuilderBefore(l->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    LLVMSetCurrentDebugLocation2(l->b, NULL);
    LLVMValueRef top = aligned_top(l, fn, align);
    LLVMValueRef end = top, after = LLVMGetNextInstruction(top);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!is_local(l, x))
                continue;
            lifetimes_drop(x);
            next = LLVMGetNextInstruction(x);
            after = after == x ? next : after;
            sum = begin_of(l, x, sum);
            LLVMPositionBuilderBefore(l->b, after);
            end = advanced(l, top, -(int64_t)sum);
            LLVMReplaceAllUsesWith(x, end);
            LLVMInstructionEraseFromParent(x);
        }
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (calls_needy(l, x)) {
                LLVMPositionBuilderBefore(l->b, x);
                LLVMSetAlignment(LLVMBuildStore(l->b, end, top_field(l, fn)), 8);
                LLVMSetTailCall(x, 0);
            }
    return sum + align - AW_HOST_LOCAL_ALIGN;
}

bool ptx_host_locals(LLVMModuleRef m, uint64_t *ret_bytes)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct locals l = { .m = m, .b = LLVMCreateBuilderInContext(c), .i8 = LLVMInt8TypeInContext(c),
                        .i64 = LLVMInt64TypeInContext(c),
                        .ptr = LLVMPointerTypeInContext(c, 0) };
    uint64_t sum = 0;
    find_needy(&l);
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn && !l.memory; fn = LLVMGetNextFunction(fn))
        if (aw_ptrmap_find(&l.needs, fn))
            sum += place(&l, fn);
    aw_ptrmap_fini(&l.needs);
    LLVMDisposeBuilder(l.b);
    *ret_bytes = sum;
    return !l.memory;
}
