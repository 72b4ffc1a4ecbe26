/* The first steps on every SIMT module, whatever the target: registers to values, no aw.exit, addresses of known objects as
 * getelementptr.  No optimisation for speed and nothing about machines. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/intrinsic.h"
#include "lower/simt.h"
#include "finish/tangle.h"
#include "finish/target.h"

#include "base/map.h"

static void attribute_add(LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(context, kind, 0));
}

static bool is_kernel(LLVMValueRef fn)
{
    return LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, "aw-kernel", 9) != NULL;
}

/* ---- aw.exit */

/* Marks every function that calls `callee`, and their callers, for inlining; the kernel is where it ends. */
static bool mark_callers(LLVMValueRef callee, struct aw_ptrmap *seen)
{
    for (LLVMUseRef use = LLVMGetFirstUse(callee); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsACallInst(user))
            continue;
        LLVMValueRef fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(user));
        if (is_kernel(fn) || aw_ptrmap_find(seen, fn))
            continue;
        if (!aw_ptrmap_put(seen, fn, fn))
            return false;
        ptx_tangle_inline(fn);
        attribute_add(fn, "alwaysinline");
        if (!mark_callers(fn, seen))
            return false;
    }
    return true;
}

int ptx_target_inline_callers(LLVMModuleRef module, LLVMValueRef *callees, size_t n, struct aw_buf *diags)
{
    struct aw_ptrmap seen = { 0 };
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok = ok && (!callees[i] || mark_callers(callees[i], &seen));
    aw_ptrmap_fini(&seen);
    return ok ? ptx_passes_run(module, NULL, "always-inline", diags) : AW_ERR_OUT_OF_MEMORY;
}

/* A call of aw.exit in the kernel itself becomes a return; false when one is left elsewhere. */
static bool exit_to_return(LLVMValueRef exit, LLVMBuilderRef builder)
{
    LLVMUseRef use;
    while ((use = LLVMGetFirstUse(exit))) {
        LLVMValueRef call = LLVMGetUser(use);
        LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
        if (!is_kernel(LLVMGetBasicBlockParent(block)))
            return false;
        LLVMValueRef next = LLVMGetNextInstruction(call);
        while (next) { /* an unreachable, and whatever an inlined callee left before it */
            LLVMValueRef after = LLVMGetNextInstruction(next);
            LLVMTypeRef type = LLVMTypeOf(next);
            if (LLVMGetTypeKind(type) != LLVMVoidTypeKind)
                LLVMReplaceAllUsesWith(next, LLVMGetPoison(type)); /* nothing reachable uses it */
            LLVMInstructionEraseFromParent(next);
            next = after;
        }
        LLVMInstructionEraseFromParent(call);
        LLVMPositionBuilderAtEnd(builder, block);
        LLVMBuildRetVoid(builder);
    }
    return true;
}

static int exit_remove(LLVMModuleRef module, struct aw_buf *diags)
{
    LLVMValueRef exit = LLVMGetNamedFunction(module, "aw.exit");
    if (!exit || !LLVMGetFirstUse(exit))
        return AW_OK;
    int status = ptx_target_inline_callers(module, &exit, 1, diags);
    if (status != AW_OK)
        return status;
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    bool ok = exit_to_return(exit, builder);
    LLVMDisposeBuilder(builder);
    if (!ok) {
        aw_buf_printf(diags, "<ptx>:0:0: error: 'exit' inside a recursive function is not supported\n");
        return AW_ERR_NOT_SUPPORTED;
    }
    return AW_OK;
}

/* ---- Addresses.  PTX computes them as integers; an access to inttoptr(ptrtoint(object) + n) becomes one to the object plus n,
 * so that LLVM can split and promote local arrays and tell objects apart.  Sound here because ptrtoint, the sum, and
 * inttoptr stay within one address space's integers. */
struct rewrite {
    LLVMBuilderRef builder;
    LLVMTypeRef i8;
    LLVMContextRef context;
    unsigned depth, steps; /* of the search under way: a sum of sums has more paths than anyone can walk */
};
enum { DEPTH_MAX = 64, STEPS_MAX = 512 };

static LLVMValueRef pointer_of(struct rewrite *r, LLVMValueRef v);

static bool in_window(LLVMValueRef pointer)
{
    unsigned as = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    return as == 3 || as == 5;
}

/* a + b where one of them is an object's address. */
static LLVMValueRef sum_pointer(struct rewrite *r, LLVMValueRef v, bool subtract)
{
    LLVMValueRef a = LLVMGetOperand(v, 0), b = LLVMGetOperand(v, 1), p = pointer_of(r, a);
    if (!p && !subtract) {
        p = pointer_of(r, b);
        b = a;
    }
    if (!p)
        return NULL;
    if (subtract)
        b = LLVMBuildNeg(r->builder, b, "");
    return LLVMBuildGEP2(r->builder, r->i8, p, &b, 1, "");
}

static LLVMValueRef pointer_of(struct rewrite *r, LLVMValueRef v)
{
    LLVMValueRef found = NULL;
    if (r->depth > DEPTH_MAX || ++r->steps > STEPS_MAX || LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(LLVMTypeOf(v)) < 32)
        return NULL;
    LLVMOpcode op = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMIsAConstantExpr(v) ? LLVMGetConstOpcode(v) : 0;
    r->depth++;
    switch (op) {
    case LLVMPtrToInt: found = LLVMGetOperand(v, 0); break;
    case LLVMAdd: found = sum_pointer(r, v, false); break;
    case LLVMSub: found = sum_pointer(r, v, true); break;
    case LLVMOr: found = LLVMIsAInstruction(v) && LLVMGetIsDisjoint(v) ? sum_pointer(r, v, false) : NULL; break;
    case LLVMTrunc:
    case LLVMZExt: /* window offsets are 32 bits in either width */
        found = pointer_of(r, LLVMGetOperand(v, 0));
        if (found && !in_window(found))
            found = NULL;
        break;
    default: break;
    }
    r->depth--;
    return found;
}

static void inttoptr_rewrite(struct rewrite *r, LLVMValueRef cast)
{
    LLVMPositionBuilderBefore(r->builder, cast);
    r->steps = 0;
    LLVMValueRef p = pointer_of(r, LLVMGetOperand(cast, 0));
    if (!p || LLVMTypeOf(p) != LLVMTypeOf(cast)) {
        /* A window's object through its generic address, or the other way round, has the cast in between already. */
        return;
    }
    LLVMReplaceAllUsesWith(cast, p);
    LLVMInstructionEraseFromParent(cast);
}

void ptx_target_addresses(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct rewrite r = { LLVMCreateBuilderInContext(context), LLVMInt8TypeInContext(context), context, 0, 0 };
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (LLVMGetInstructionOpcode(i) == LLVMIntToPtr)
                    inttoptr_rewrite(&r, i);
            }
        }
    }
    LLVMDisposeBuilder(r.builder);
}

int ptx_target_exits(LLVMModuleRef module, struct aw_buf *diags)
{
    LLVMValueRef exit = LLVMGetNamedFunction(module, "aw.exit");
    if (!exit || !LLVMGetFirstUse(exit))
        return AW_OK;
    int status = ptx_passes_run(module, NULL, "function(sroa,early-cse,simplifycfg)", diags);
    return status == AW_OK ? exit_remove(module, diags) : status;
}

/* ---- Values through memory */

/* Of a variable outside of the entry block, as an inlined function's may be where that block was split, the address goes through
 * memory, too.  Then nothing can be said of how long it lives. */
static void lifetimes_outside_drop(LLVMValueRef fn)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
    for (LLVMBasicBlockRef bb = entry; bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!ptx_intrinsic_has(x, PTX_INTRINSIC_LIFETIME))
                continue;
            LLVMValueRef of = LLVMGetOperand(x, LLVMGetNumArgOperands(x) - 1);
            if (LLVMIsAAllocaInst(of) && LLVMGetInstructionParent(of) != entry)
                LLVMInstructionEraseFromParent(x);
        }
}

int ptx_registers_to_memory(LLVMModuleRef module, struct aw_buf *diags)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn))
            lifetimes_outside_drop(fn);
    return ptx_passes_run(module, NULL, "function(break-crit-edges,reg2mem)", diags);
}

int ptx_target_prepare(LLVMModuleRef module, struct aw_buf *diags)
{
    int status = ptx_passes_run(module, NULL, "function(sroa,early-cse,simplifycfg)", diags);
    if (status == AW_OK)
        status = exit_remove(module, diags);
    if (status != AW_OK)
        return status;
    ptx_target_addresses(module);
    return ptx_passes_run(module, NULL, "globaldce,function(adce,sroa,early-cse,simplifycfg)", diags);
}
