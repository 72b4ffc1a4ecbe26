/* What a loop spins on may be in a small function that it calls, as unoptimised code has its atomics: such functions are inlined
 * before waits are looked for (wait.c), and references to variables followed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/flow.h"
#include "finish/target.h"
#include "finish/watchers.h"

#include "lower/internal.h"

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

bool ptx_wait_possible(V fn)
{
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMOpcode op = LLVMGetInstructionOpcode(x);
            if (op == LLVMAtomicCmpXchg || (op == LLVMAtomicRMW && !ptx_flow_counts(x)) || ptx_flow_is_ordered(x) ||
                ptx_flow_is_unaligned(x))
                return true;
        }
    return false;
}

#define IC "instcombine<no-verify-fixpoint>"
enum { SMALL = 600 }; /* instructions */

static bool is_small(V fn)
{
    unsigned n = 0;
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x && n <= SMALL; x = LLVMGetNextInstruction(x))
            n++;
    return n <= SMALL;
}

static bool calls_marked(V fn, unsigned kind)
{
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            V callee = ptx_flow_callee(x);
            if (callee && LLVMGetEnumAttributeAtIndex(callee, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind))
                return true;
        }
    return false;
}

enum { TINY = 60, LAYERS = 4 };

/* How many instructions the function has once those that it calls are inlined; beyond TINY when one of them would not be. */
static unsigned size_inlined(V fn, unsigned kind, const struct aw_ptrmap *sizes)
{
    unsigned n = 0;
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x && n <= TINY; x = LLVMGetNextInstruction(x)) {
            V callee = ptx_flow_callee(x);
            bool known = !callee || LLVMGetEnumAttributeAtIndex(callee, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
            n += !known ? TINY + 1 : callee ? (unsigned)(uintptr_t)aw_ptrmap_find(sizes, callee) : 1;
        }
    return n;
}

/* Where there are such functions, tiny ones as well, and those that are when these are in them: unoptimised code has constructors
 * and accessors that take the addresses of what a spin depends on. */
static bool tiny_mark(LLVMModuleRef module, V kernel, unsigned kind, unsigned never)
{
    struct aw_ptrmap sizes = { 0 };
    bool ok = true, changed = true;
    LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    while (ok && changed) {
        changed = false;
        for (V fn = LLVMGetFirstFunction(module); ok && fn; fn = LLVMGetNextFunction(fn)) {
            if (LLVMIsDeclaration(fn) || fn == kernel || LLVMGetEnumAttributeAtIndex(fn, at, kind))
                continue;
            unsigned size = size_inlined(fn, kind, &sizes);
            if (size > TINY)
                continue;
            LLVMRemoveEnumAttributeAtIndex(fn, at, never);
            LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0));
            ok = aw_ptrmap_put(&sizes, fn, (void *)(uintptr_t)(size + 1));
            changed = true;
        }
    }
    aw_ptrmap_fini(&sizes);
    return ok;
}

enum { STEPS_MAX = 8 }; /* from a generic address back to its variable */

/* The address of a local variable for a generic one that was made of it, at the builder's place, or NULL. */
static V local_of(LLVMBuilderRef b, V p, unsigned depth)
{
    if (depth == STEPS_MAX || !LLVMIsAInstruction(p))
        return NULL;
    if (LLVMIsAAddrSpaceCastInst(p)) {
        V from = LLVMGetOperand(p, 0);
        return LLVMGetPointerAddressSpace(LLVMTypeOf(from)) == AS_LOCAL ? from : NULL;
    }
    V base = LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 ? local_of(b, LLVMGetOperand(p, 0), depth + 1) : NULL;
    V index = base ? LLVMGetOperand(p, 1) : NULL;
    return base ? LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(p), base, &index, 1, "") : NULL;
}

/* Loads and stores of local variables through generic addresses become such of the variables, which LLVM can follow.  True: there
 * were some. */
static bool locals_rewrite(LLVMModuleRef module, V kernel)
{
    bool any = false;
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            unsigned at = LLVMIsAStoreInst(x) ? 1 : 0;
            if ((!at && !LLVMIsALoadInst(x)) || LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, at))) != AS_GENERIC)
                continue;
            LLVMPositionBuilderBefore(b, x);
            V local = local_of(b, LLVMGetOperand(x, at), 0);
            if (local)
                LLVMSetOperand(x, at, local);
            any |= local != NULL;
        }
    LLVMDisposeBuilder(b);
    return any;
}

static bool has_references(V kernel)
{
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAAddrSpaceCastInst(x) && LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0))) == AS_LOCAL)
                return true;
    return false;
}

/* Machine code that was built to debug has what a function keeps for its caller on a stack of its own, which here is one local
 * array, and so addresses and numbers that a loop spins on: its places become values. */
static int stack_to_values(LLVMModuleRef module, V kernel, struct aw_buf *diags)
{
    bool any = false;
    if (!LLVMGetStringAttributeAtIndex(kernel, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_LIFTED, sizeof PTX_LIFTED - 1))
        return AW_OK;
    for (BB bb = LLVMGetFirstBasicBlock(kernel); bb && !any; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb); x && !any; x = LLVMGetNextInstruction(x))
            any = LLVMIsAIntToPtrInst(x) && LLVMGetPointerAddressSpace(LLVMTypeOf(x)) == AS_LOCAL;
    if (!any)
        return AW_OK;
    int status = ptx_passes_run(module, NULL, "function(" IC ",adce)", diags);
    ptx_target_addresses(module);
    /* The scalariser: LLVM does not know a vector of one i64 and the i64 as one value. */
    return status == AW_OK ? ptx_passes_run(module, NULL, "function(adce,sroa," IC ",scalarizer," IC ",gvn,simplifycfg)", diags)
                           : status;
}

/* Unoptimised code hands references to variables on through variables; layer by layer, LLVM finds what they refer to. */
static int references_follow(LLVMModuleRef module, V kernel, struct aw_buf *diags)
{
    int status = AW_OK;
    if (!has_references(kernel))
        return AW_OK;
    ptx_target_addresses(module);
    for (unsigned i = 0; i < LAYERS && status == AW_OK && locals_rewrite(module, kernel); i++) {
        status = ptx_passes_run(module, NULL, "function(adce,sroa,gvn,simplifycfg)", diags);
        ptx_target_addresses(module);
    }
    return status;
}

int ptx_watchers_inline(LLVMModuleRef module, V kernel, struct aw_buf *diags)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", strlen("alwaysinline"));
    unsigned never = LLVMGetEnumAttributeKindForName("noinline", strlen("noinline"));
    bool any = false, changed = true;
    while (changed) {
        changed = false;
        for (V fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
            LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
            if (LLVMIsDeclaration(fn) || fn == kernel || LLVMGetEnumAttributeAtIndex(fn, at, kind) || !is_small(fn) ||
                !(ptx_wait_possible(fn) || calls_marked(fn, kind)))
                continue;
            LLVMRemoveEnumAttributeAtIndex(fn, at, never);
            LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0));
            any = changed = true;
        }
    }
    if (any && !tiny_mark(module, kernel, kind, never))
        return AW_ERR_OUT_OF_MEMORY;
    int status = any ? ptx_passes_run(module, NULL, "always-inline,function(sroa,early-cse)", diags) : AW_OK;
    if (status == AW_OK && ptx_wait_possible(kernel))
        status = stack_to_values(module, kernel, diags);
    return status == AW_OK && ptx_wait_possible(kernel) ? references_follow(module, kernel, diags) : status;
}
