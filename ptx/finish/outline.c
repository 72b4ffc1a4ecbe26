/* Parts of dispatches (tangle.h) as functions of their own.  A function's variables lie in one piece of local memory, whose
 * address its parts get beside its parameters.  Parts have no line tables: their blocks' lines are another function's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/tangle.h"

#include "simt/vectorise.h"
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <string.h>

#define PART "aw-part"
enum { FUNCTION = (int)LLVMAttributeFunctionIndex };

static bool has(LLVMValueRef fn, const char *key)
{
    return LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)FUNCTION, key, (unsigned)strlen(key));
}

bool tangle_outline_is(LLVMValueRef fn)
{
    return has(fn, PART);
}

bool tangle_outline_can(LLVMValueRef fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAAllocaInst(x) && (bb != LLVMGetEntryBasicBlock(fn) || !LLVMIsAConstantInt(LLVMGetOperand(x, 0))))
                return false;
    return true;
}

/* The function's variables, each with its place, and their sum. */
static bool layout(struct tangle_outline *o, uint64_t *ret_size)
{
    LLVMTargetDataRef data = LLVMGetModuleDataLayout(LLVMGetGlobalParent(o->fn));
    bool ok = true;
    *ret_size = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(o->fn)); x && ok; x = LLVMGetNextInstruction(x)) {
        if (!LLVMIsAAllocaInst(x))
            continue;
        unsigned align = LLVMGetAlignment(x);
        uint64_t at = (*ret_size + align - 1) / align * align;
        *ret_size = at + LLVMABISizeOfType(data, LLVMGetAllocatedType(x)) * LLVMConstIntGetZExtValue(LLVMGetOperand(x, 0));
        o->align = align > o->align ? align : o->align;
        ok = aw_vec_push(&o->variables, (struct tangle_variable){ .variable = x, .offset = at }) &&
             aw_ptrmap_put(&o->number, x, (void *)(intptr_t)o->variables.n);
    }
    return ok;
}

bool tangle_outline_begin(struct tangle_outline *o, LLVMValueRef fn)
{
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
    LLVMTypeRef byte = LLVMInt8TypeInContext(c);
    *o = (struct tangle_outline){ .fn = fn, .ok = true, .align = 1, .n_params = LLVMCountParams(fn) };
    uint64_t size;
    LLVMTypeRef *params = AW_NEW_ARRAY(&o->arena, LLVMTypeRef, o->n_params + 1);
    o->params = AW_NEW_ARRAY(&o->arena, LLVMValueRef, o->n_params + 1);
    if (!params || !o->params || !layout(o, &size))
        return false;
    LLVMGetParams(fn, o->params);
    for (unsigned i = 0; i < o->n_params; i++)
        params[i] = LLVMTypeOf(o->params[i]);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    o->params[o->n_params] = LLVMBuildAlloca(b, LLVMArrayType2(byte, size), "variables");
    LLVMSetAlignment(o->params[o->n_params], o->align);
    LLVMDisposeBuilder(b);
    params[o->n_params] = LLVMTypeOf(o->params[o->n_params]);
    o->type = LLVMFunctionType(LLVMVoidTypeInContext(c), params, o->n_params + 1, false);
    return true;
}

LLVMValueRef tangle_outline_part(struct tangle_outline *o)
{
    LLVMModuleRef module = LLVMGetGlobalParent(o->fn);
    LLVMContextRef c = LLVMGetModuleContext(module);
    static const char *const marks[] = { PART, SIMT_DISPATCHED };
    static const char *const kinds[] = { "noinline", "convergent", "nounwind" };
    LLVMValueRef part = LLVMAddFunction(module, "part", o->type);
    o->ok = aw_vec_push(&o->parts, part) && o->ok;
    LLVMSetLinkage(part, LLVMInternalLinkage);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        LLVMAddAttributeAtIndex(part, (LLVMAttributeIndex)FUNCTION,
                                LLVMCreateStringAttribute(c, marks[i], (unsigned)strlen(marks[i]), "", 0));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        LLVMAddAttributeAtIndex(part, (LLVMAttributeIndex)FUNCTION,
                                LLVMCreateEnumAttribute(c, LLVMGetEnumAttributeKindForName(kinds[i], strlen(kinds[i])), 0));
    return part;
}

void tangle_outline_call(struct tangle_outline *o, LLVMBuilderRef b, LLVMValueRef part)
{
    LLVMBuildCall2(b, o->type, part, o->params, o->n_params + 1, "");
}

/* What a part has in place of a value of the function's, or NULL where that is none. */
static LLVMValueRef here(struct tangle_outline *o, LLVMBuilderRef b, LLVMValueRef part, LLVMValueRef x)
{
    for (unsigned i = 0; LLVMIsAArgument(x) && i < o->n_params; i++)
        if (o->params[i] == x)
            return LLVMGetParam(part, i);
    intptr_t number = LLVMIsAAllocaInst(x) ? (intptr_t)aw_ptrmap_find(&o->number, x) : 0;
    if (!number)
        return NULL;
    struct tangle_variable *v = &o->variables.at[number - 1];
    if (v->part != part) {
        LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(part));
        LLVMValueRef offset = LLVMConstInt(LLVMInt32TypeInContext(c), v->offset, 0), base = LLVMGetParam(part, o->n_params);
        LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(part)));
        v->here = LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(c), base, &offset, 1, "");
        v->part = part;
    }
    return v->here;
}

static void part_rewrite(struct tangle_outline *o, LLVMBuilderRef b, LLVMValueRef part)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(part); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMInstructionSetDebugLoc(x, NULL);
            for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
                LLVMValueRef now = here(o, b, part, LLVMGetOperand(x, i));
                if (now)
                    LLVMSetOperand(x, i, now);
            }
        }
}

bool tangle_outline_end(struct tangle_outline *o)
{
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(o->fn));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    for (size_t i = 0; i < o->parts.n; i++)
        part_rewrite(o, b, o->parts.at[i]);
    LLVMValueRef base = o->params[o->n_params];
    for (size_t i = 0; i < o->variables.n; i++) {
        struct tangle_variable *v = &o->variables.at[i];
        LLVMValueRef offset = LLVMConstInt(LLVMInt32TypeInContext(c), v->offset, 0);
        LLVMPositionBuilderBefore(b, v->variable);
        LLVMReplaceAllUsesWith(v->variable, LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(c), base, &offset, 1, ""));
        LLVMInstructionEraseFromParent(v->variable);
    }
    LLVMDisposeBuilder(b);
    return o->ok;
}

void tangle_outline_fini(struct tangle_outline *o)
{
    aw_vec_fini(&o->parts);
    aw_vec_fini(&o->variables);
    aw_ptrmap_fini(&o->number);
    aw_arena_fini(&o->arena);
}
