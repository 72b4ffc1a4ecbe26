/* Gathers for machines whose own are slow: each element is loaded by the machine's base + index * scale.  Indices that were
 * themselves loaded side by side, for nothing else, are read from there lane by lane, and are no vector at all; others are taken
 * out of theirs, two at a time where host/extract.c can.  After optimisation, so that until then a gather is one instruction, to
 * move and to merge.  Not scatters, nor what the vectoriser does lane by lane itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MAX_LANES = 32, MAX_PEELED = 8 };

/* One gather being expanded. */
struct gather {
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef i8, i32, i64, ptr;
    LLVMValueRef area;       /* of the function: 32 words of 8 bytes */
    LLVMValueRef call, mask; /* mask NULL: all lanes */
    LLVMTypeRef elem;
    unsigned align, lanes;
    LLVMValueRef base;       /* scalar: pointer or i64; NULL: 0 */
    LLVMValueRef index;      /* vector of i32 or i64, or of pointers */
    LLVMValueRef from;       /* the load of i32 that it is, of which nothing else comes; or NULL */
    bool is_signed;          /* how an i32 index is widened */
    int shift;
    int64_t offset;          /* bytes */
};

bool ptx_host_constant(LLVMValueRef v, int64_t *ret)
{
    if (!v || !LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *ret = LLVMConstIntGetSExtValue(v);
    return true;
}

LLVMValueRef ptx_host_splat(LLVMValueRef constant, unsigned elements)
{
    LLVMValueRef all[512];
    for (unsigned i = 0; i < elements; i++)
        all[i] = constant;
    return LLVMConstVector(all, elements);
}

LLVMValueRef ptx_host_splatted(LLVMValueRef v)
{
    if (LLVMIsAShuffleVectorInst(v) && LLVMIsAInsertElementInst(LLVMGetOperand(v, 0))) {
        int64_t at;
        LLVMValueRef insert = LLVMGetOperand(v, 0);
        for (unsigned i = 0; i < LLVMGetNumMaskElements(v); i++)
            if (LLVMGetMaskValue(v, i) != 0)
                return NULL;
        return ptx_host_constant(LLVMGetOperand(insert, 2), &at) && at == 0 ? LLVMGetOperand(insert, 1) : NULL;
    }
    if (!LLVMIsAConstantDataVector(v) && !LLVMIsAConstantVector(v))
        return NULL;
    LLVMValueRef first = LLVMGetAggregateElement(v, 0);
    for (unsigned i = 1; i < LLVMGetVectorSize(LLVMTypeOf(v)); i++)
        if (LLVMGetAggregateElement(v, i) != first)
            return NULL;
    return first;
}

bool ptx_host_is_op(LLVMValueRef v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

/* index << shift, of what is added to the base; what is not understood is the index itself. */
static void match_index(struct gather *g, LLVMValueRef v)
{
    int64_t by;
    LLVMValueRef amount = ptx_host_is_op(v, LLVMShl) ? ptx_host_splatted(LLVMGetOperand(v, 1)) : NULL;
    if (amount && ptx_host_constant(amount, &by) && by >= 0 && by + g->shift <= 3) {
        g->shift += (int)by;
        v = LLVMGetOperand(v, 0);
    }
    if ((ptx_host_is_op(v, LLVMSExt) || ptx_host_is_op(v, LLVMZExt)) &&
        LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(LLVMGetOperand(v, 0)))) == 32) {
        g->is_signed = ptx_host_is_op(v, LLVMSExt);
        v = LLVMGetOperand(v, 0);
    }
    g->index = v;
}

static bool match_gep(struct gather *g, LLVMValueRef *p)
{
    int64_t by;
    if (!ptx_host_is_op(*p, LLVMGetElementPtr) || LLVMGetNumOperands(*p) != 2)
        return false;
    LLVMValueRef from = LLVMGetOperand(*p, 0), index = LLVMGetOperand(*p, 1);
    LLVMTypeRef type = LLVMGetGEPSourceElementType(*p);
    unsigned kind = LLVMGetTypeKind(type);
    int64_t size = kind == LLVMIntegerTypeKind  ? LLVMGetIntTypeWidth(type) / 8
                   : kind == LLVMFloatTypeKind  ? 4
                   : kind == LLVMDoubleTypeKind ? 8
                                                : 0;
    if (size != 1 && size != 2 && size != 4 && size != 8)
        return false;
    bool vector = LLVMGetTypeKind(LLVMTypeOf(from)) == LLVMVectorTypeKind;
    LLVMValueRef same = LLVMGetTypeKind(LLVMTypeOf(index)) == LLVMVectorTypeKind ? ptx_host_splatted(index) : index;
    if (vector && same && ptx_host_constant(same, &by)) { /* the same way on for all */
        g->offset += by * size;
        *p = from;
        return true;
    }
    LLVMValueRef base = vector ? ptx_host_splatted(from) : from;
    if (!base || same || LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(index))) != 64)
        return false;
    g->base = base;
    g->shift = __builtin_ctz((unsigned)size);
    match_index(g, index);
    return false;
}

static void match_address(struct gather *g, LLVMValueRef p)
{
    for (int i = 0; i < MAX_PEELED && match_gep(g, &p); i++)
        ;
    if (g->index)
        return;
    g->index = p;
    if (!ptx_host_is_op(p, LLVMIntToPtr))
        return;
    LLVMValueRef sum = g->index = LLVMGetOperand(p, 0);
    int64_t by;
    for (int i = 0; i < MAX_PEELED && ptx_host_is_op(sum, LLVMAdd); i++) {
        LLVMValueRef x = LLVMGetOperand(sum, 0), y = LLVMGetOperand(sum, 1), same = ptx_host_splatted(y);
        LLVMValueRef rest = same ? x : y;
        same = same ? same : ptx_host_splatted(x);
        if (same && ptx_host_constant(same, &by)) {
            g->offset += by;
        } else if (same && !g->base) {
            g->base = same;
        } else {
            break;
        }
        sum = g->index = rest;
    }
    match_index(g, sum);
}

/* Does a value go into nothing but `user`, by one way? */
static bool only_for(LLVMValueRef x, LLVMValueRef user)
{
    for (int i = 0; i < MAX_PEELED && x != user; i++) {
        LLVMUseRef use = LLVMGetFirstUse(x);
        if (!use || LLVMGetNextUse(use))
            return false;
        x = LLVMGetUser(use);
    }
    return x == user;
}

/* May what the load read be read again where the gather is? */
static bool still_there(LLVMValueRef load, LLVMValueRef gather)
{
    if (!ptx_host_soon_after(load, gather))
        return false;
    for (LLVMValueRef x = load; x != gather; x = LLVMGetNextInstruction(x))
        if (ptx_host_writes(x))
            return false;
    return true;
}

/* The load to read indices from instead, lane by lane: so each is read once, as it was. */
static LLVMValueRef index_load(const struct gather *g)
{
    LLVMValueRef x = g->index;
    bool plain = LLVMIsALoadInst(x) && !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
    if (g->mask || !plain || LLVMGetElementType(LLVMTypeOf(x)) != g->i32 || !only_for(x, g->call) || !still_there(x, g->call))
        return NULL;
    return x;
}

static LLVMValueRef loaded_index(struct gather *g, LLVMValueRef lane)
{
    LLVMValueRef x = LLVMBuildLoad2(g->b, g->i32, LLVMBuildGEP2(g->b, g->i32, LLVMGetOperand(g->from, 0), &lane, 1, ""), "");
    unsigned align = LLVMGetAlignment(g->from);
    LLVMSetAlignment(x, align < 4 ? align : 4);
    ptx_metadata_access_copy(g->from, x);
    return x;
}

/* Lanes that are off read where the first that is on does. */
static LLVMValueRef divert(struct gather *g)
{
    LLVMTypeRef vt = LLVMTypeOf(g->index), type = LLVMGetElementType(vt);
    LLVMTypeRef each = LLVMIntTypeInContext(g->c, g->lanes);
    LLVMValueRef bits = LLVMBuildZExt(g->b, LLVMBuildBitCast(g->b, g->mask, each, ""), g->i32, "");
    LLVMValueRef args[2] = { bits, LLVMConstInt(LLVMInt1TypeInContext(g->c), 0, 0) };
    unsigned id = LLVMLookupIntrinsicID("llvm.cttz", 9);
    LLVMValueRef cttz = LLVMGetIntrinsicDeclaration(LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(g->b))), id,
                                                    &g->i32, 1);
    LLVMValueRef lane = LLVMBuildCall2(g->b, LLVMGlobalGetValueType(cttz), cttz, args, 2, "");
    lane = LLVMBuildZExt(g->b, LLVMBuildAnd(g->b, lane, LLVMConstInt(g->i32, g->lanes - 1, 0), ""), g->i64, "");
    LLVMSetAlignment(LLVMBuildStore(g->b, g->index, g->area), 64);
    LLVMValueRef first = LLVMBuildLoad2(g->b, type, LLVMBuildGEP2(g->b, type, g->area, &lane, 1, ""), "");
    LLVMValueRef x = LLVMBuildInsertElement(g->b, LLVMGetPoison(vt), first, LLVMConstInt(g->i32, 0, 0), "");
    LLVMValueRef all = LLVMBuildShuffleVector(g->b, x, LLVMGetPoison(vt), LLVMConstNull(LLVMVectorType(g->i32, g->lanes)), "");
    return LLVMBuildSelect(g->b, g->mask, g->index, all, "");
}

static LLVMValueRef expand(struct gather *g)
{
    LLVMBuilderRef b = g->b;
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(g->index)), vt = LLVMVectorType(g->elem, g->lanes);
    LLVMTypeRef steps[4] = { g->i8, LLVMInt16TypeInContext(g->c), g->i32, g->i64 };
    LLVMValueRef base = g->base, index = g->mask ? divert(g) : g->index, r = LLVMGetPoison(vt);
    if (base && LLVMGetTypeKind(LLVMTypeOf(base)) != LLVMPointerTypeKind)
        base = LLVMBuildIntToPtr(b, base, g->ptr, "");
    for (unsigned i = 0; i < g->lanes; i++) {
        LLVMValueRef lane = LLVMConstInt(g->i64, i, 0), offset = LLVMConstInt(g->i64, (uint64_t)g->offset, 1);
        LLVMValueRef x = g->from ? loaded_index(g, lane) : LLVMBuildExtractElement(b, index, lane, "");
        if (type == g->i32)
            x = g->is_signed ? LLVMBuildSExt(b, x, g->i64, "") : LLVMBuildZExt(b, x, g->i64, "");
        if (LLVMGetTypeKind(type) != LLVMPointerTypeKind && !base)
            x = LLVMBuildIntToPtr(b, LLVMBuildShl(b, x, LLVMConstInt(g->i64, (unsigned)g->shift, 0), ""), g->ptr, "");
        else if (base)
            x = LLVMBuildGEP2(b, steps[g->shift], base, &x, 1, "");
        if (g->offset)
            x = LLVMBuildGEP2(b, g->i8, x, &offset, 1, "");
        LLVMValueRef e = LLVMBuildLoad2(b, g->elem, x, "");
        LLVMSetAlignment(e, g->align);
        r = LLVMBuildInsertElement(b, r, e, LLVMConstInt(g->i32, i, 0), "");
    }
    return r;
}

bool ptx_host_soon_after(LLVMValueRef x, LLVMValueRef y)
{
    enum { NEAR = 64 };
    int left = NEAR;
    while (x && x != y && left--)
        x = LLVMGetNextInstruction(x);
    return x == y;
}

bool ptx_host_touches(LLVMValueRef call, uint64_t how)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee))
        return true;
    unsigned memory = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMAttributeRef a = LLVMGetEnumAttributeAtIndex(callee, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, memory);
    return !a || LLVMGetEnumAttributeValue(a) & how;
}

bool ptx_host_plain_load(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) && !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
}

bool ptx_host_writes(LLVMValueRef x)
{
    if (LLVMIsACallInst(x))
        return ptx_host_touches(x, PTX_HOST_WRITES);
    return LLVMIsAStoreInst(x) || LLVMIsAFenceInst(x) || LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x);
}

bool ptx_host_all_on(LLVMValueRef mask)
{
    LLVMValueRef same = ptx_host_splatted(mask);
    int64_t c;
    return same && ptx_host_constant(same, &c) && c;
}

static LLVMValueRef area_of(LLVMValueRef fn, LLVMBuilderRef b)
{
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    LLVMValueRef area = LLVMBuildAlloca(b, LLVMVectorType(LLVMInt64TypeInContext(LLVMGetTypeContext(LLVMTypeOf(fn))), MAX_LANES),
                                        "indices");
    LLVMSetAlignment(area, 64);
    return area;
}

static bool has_instruction(LLVMTypeRef elem)
{
    LLVMTypeKind kind = LLVMGetTypeKind(elem);
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMPointerTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(elem) >= 32);
}

/* A gather of a warp or a part of it, as the vectoriser makes them, for which the machine has no instruction; `gathers`: it has
 * some. */
static bool is_gather(LLVMValueRef x, bool gathers)
{
    return ptx_intrinsic_called(x) == PTX_INTRINSIC_MASKED_GATHER && LLVMGetVectorSize(LLVMTypeOf(x)) <= MAX_LANES &&
           !(gathers && has_instruction(LLVMGetElementType(LLVMTypeOf(x))));
}

static void expand_one(struct gather *g, LLVMValueRef x)
{
    LLVMValueRef mask = ptx_llvm_masked_operand(x, 1, false);
    g->call = x;
    g->mask = ptx_host_all_on(mask) ? NULL : mask;
    g->elem = LLVMGetElementType(LLVMTypeOf(x));
    g->lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    g->align = ptx_llvm_masked_align(x, false);
    g->base = g->index = NULL;
    g->is_signed = false;
    g->shift = 0;
    g->offset = 0;
    LLVMPositionBuilderBefore(g->b, x);
    LLVMSetCurrentDebugLocation2(g->b, LLVMInstructionGetDebugLoc(x));
    match_address(g, LLVMGetOperand(x, 0));
    g->from = index_load(g);
    LLVMValueRef r = expand(g), otherwise = ptx_llvm_masked_operand(x, 2, false);
    if (g->mask && !LLVMIsUndef(otherwise)) /* the optimiser has put a select into the gather */
        r = LLVMBuildSelect(g->b, g->mask, r, otherwise, "");
    LLVMReplaceAllUsesWith(x, r);
    LLVMInstructionEraseFromParent(x);
}

/* With `gathers`, those of elements that have no instruction. */
static void in_module(LLVMModuleRef m, bool gathers)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct gather g = { .c = c, .b = LLVMCreateBuilderInContext(c), .i8 = LLVMInt8TypeInContext(c),
                        .i32 = LLVMInt32TypeInContext(c),
                        .i64 = LLVMInt64TypeInContext(c), .ptr = LLVMPointerTypeInContext(c, 0) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        g.area = NULL;
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
                next = LLVMGetNextInstruction(x);
                if (!is_gather(x, gathers))
                    continue;
                LLVMSetCurrentDebugLocation2(g.b, NULL);
                g.area = g.area ? g.area : area_of(fn, g.b);
                expand_one(&g, x);
            }
    }
    LLVMDisposeBuilder(g.b);
}

int ptx_run_gather_parts(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module, pipe->on & PTX_PASS_GATHERS);
    return AW_OK;
}
