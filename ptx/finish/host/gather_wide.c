/* Four gathers of neighbouring elements of 4 bytes, at addresses of the lanes' own, become a load of 16 bytes for each lane and
 * transpositions of four by four: elements of structures anywhere, rows of each lane's that an unrolled loop reads.  A gather
 * takes a load for each lane and element.
 *
 * All is read where the first gather was, so nothing may be written up to the last.  Lanes that are off read where the first one
 * does that is on; where none is, what is on the stack.  After host/gather_base.c, which leaves scalar bases. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"
#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { QUAD = 4, BYTES = 4, ROW = 16, MAX_LANES = 32, NEAR = 160 };

struct quads {
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef i32, i64, ptr;
    LLVMValueRef area; /* 16 bytes of the function's stack; NULL: not yet there */
};

/* A gather, as far as quads go. */
struct wide_access {
    LLVMValueRef call, address, mask;
    LLVMValueRef index; /* NULL: addresses are whole */
    LLVMValueRef root;  /* of the base, or of the addresses: integers or pointers */
    int64_t at;         /* distance from it */
};

static bool bytes(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 8;
}

/* A scalar base, which is a root and a constant, and an index of each lane's. */
static bool match_index(struct wide_access *a)
{
    if (!ptx_host_is_op(a->address, LLVMGetElementPtr) || LLVMGetNumOperands(a->address) != 2)
        return false;
    LLVMValueRef base = LLVMGetOperand(a->address, 0), index = LLVMGetOperand(a->address, 1);
    if (LLVMGetTypeKind(LLVMTypeOf(base)) != LLVMPointerTypeKind || LLVMGetTypeKind(LLVMTypeOf(index)) != LLVMVectorTypeKind)
        return false;
    LLVMValueRef root = ptx_host_is_op(base, LLVMIntToPtr) ? LLVMGetOperand(base, 0) : base;
    bool sum = ptx_host_is_op(root, LLVMAdd);
    bool gep = ptx_host_is_op(root, LLVMGetElementPtr) && LLVMGetNumOperands(root) == 2 &&
               bytes(LLVMGetGEPSourceElementType(root));
    a->root = (sum || gep) && ptx_host_constant(LLVMGetOperand(root, 1), &a->at) ? LLVMGetOperand(root, 0) : root;
    a->index = index;
    return true;
}

/* Whole addresses of the lanes' own, which are roots and a constant. */
static void match_lanes(struct wide_access *a)
{
    LLVMValueRef v = ptx_host_is_op(a->address, LLVMIntToPtr) ? LLVMGetOperand(a->address, 0) : a->address;
    bool sum = ptx_host_is_op(v, LLVMAdd);
    bool gep = ptx_host_is_op(v, LLVMGetElementPtr) && LLVMGetNumOperands(v) == 2 && bytes(LLVMGetGEPSourceElementType(v)) &&
               LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMVectorTypeKind;
    LLVMValueRef by = sum || gep ? LLVMGetOperand(v, 1) : NULL;
    if (by && LLVMGetTypeKind(LLVMTypeOf(by)) == LLVMVectorTypeKind)
        by = ptx_host_splatted(by);
    a->root = ptx_host_constant(by, &a->at) ? LLVMGetOperand(v, 0) : v;
    if (ptx_host_is_op(a->root, LLVMIntToPtr)) /* what the first of them may be made of, without a constant */
        a->root = LLVMGetOperand(a->root, 0);
}

static bool match(LLVMValueRef x, struct wide_access *ret)
{
    if (ptx_intrinsic_called(x) != PTX_INTRINSIC_MASKED_GATHER)
        return false;
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(x));
    LLVMTypeKind kind = LLVMGetTypeKind(elem);
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
    *ret = (struct wide_access){ .call = x, .address = LLVMGetOperand(x, 0),
                                 .mask = ptx_llvm_masked_operand(x, 1, false) };
    if (kind != LLVMFloatTypeKind && (kind != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(elem) != 8 * BYTES))
        return false;
    if ((lanes != ROW && lanes != MAX_LANES) || !LLVMIsUndef(ptx_llvm_masked_operand(x, 2, false)))
        return false;
    if (!match_index(ret))
        match_lanes(ret);
    return true;
}

/* The three that follow `first`. */
static bool find(const struct wide_access *first, LLVMValueRef ret[QUAD])
{
    int left = NEAR, found = 1;
    struct wide_access a;
    memset(ret, 0, QUAD * sizeof *ret);
    ret[0] = first->call;
    for (LLVMValueRef x = LLVMGetNextInstruction(first->call); x && left-- && found < QUAD && !ptx_host_writes(x);
         x = LLVMGetNextInstruction(x)) {
        if (!match(x, &a) || a.root != first->root || a.index != first->index || a.mask != first->mask ||
            LLVMTypeOf(x) != LLVMTypeOf(first->call) ||
            (a.index && LLVMGetGEPSourceElementType(a.address) != LLVMGetGEPSourceElementType(first->address)))
            continue;
        int64_t k = (a.at - first->at) / BYTES;
        if (a.at - first->at != k * BYTES || k < 1 || k >= QUAD || ret[k])
            continue;
        ret[k] = x;
        found++;
    }
    return found == QUAD;
}

static LLVMValueRef shuffle(struct quads *q, LLVMValueRef x, LLVMValueRef y, const int *at, int n)
{
    LLVMValueRef c[MAX_LANES];
    for (int i = 0; i < n; i++)
        c[i] = LLVMConstInt(q->i32, (unsigned)at[i], 0);
    return LLVMBuildShuffleVector(q->b, x, y, LLVMConstVector(c, (unsigned)n), "");
}

static LLVMValueRef join(struct quads *q, LLVMValueRef x, LLVMValueRef y)
{
    int at[MAX_LANES], n = 2 * (int)LLVMGetVectorSize(LLVMTypeOf(x));
    for (int i = 0; i < n; i++)
        at[i] = i;
    return shuffle(q, x, y, at, n);
}

/* Of each four elements of x and y, those from `first` on in steps: `pairs` of neighbours, or single ones in turn. */
static LLVMValueRef weave(struct quads *q, LLVMValueRef x, LLVMValueRef y, int first, bool pairs)
{
    int at[ROW];
    for (int i = 0; i < ROW; i++) {
        int lane = i & 3, own = pairs ? lane & 1 : lane >> 1, other = pairs ? lane >> 1 : lane & 1;
        at[i] = (i & ~3) + first + own + other * ROW;
    }
    return shuffle(q, x, y, at, ROW);
}

/* Lanes that are off get the index, or address, of the first one that is on.  Where none is it is the stack's. */
static LLVMValueRef divert(struct quads *q, const struct wide_access *a, LLVMValueRef index, LLVMValueRef *base)
{
    LLVMBuilderRef b = q->b;
    LLVMTypeRef vt = LLVMTypeOf(index), each = LLVMIntTypeInContext(q->c, LLVMGetVectorSize(vt));
    LLVMValueRef bits = LLVMBuildBitCast(b, a->mask, each, "");
    LLVMValueRef any = LLVMBuildICmp(b, LLVMIntNE, bits, LLVMConstNull(each), "");
    LLVMValueRef args[2] = { bits, LLVMConstInt(LLVMInt1TypeInContext(q->c), 0, 0) };
    LLVMModuleRef m = LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInsertBlock(b)));
    LLVMValueRef cttz = LLVMGetIntrinsicDeclaration(m, LLVMLookupIntrinsicID("llvm.cttz", 9), &each, 1);
    LLVMValueRef lane = LLVMBuildCall2(b, LLVMGlobalGetValueType(cttz), cttz, args, 2, "");
    lane = LLVMBuildAnd(b, lane, LLVMConstInt(each, LLVMGetVectorSize(vt) - 1, 0), "");
    LLVMValueRef none = *base ? LLVMConstNull(LLVMGetElementType(vt)) : LLVMBuildPtrToInt(b, q->area, q->i64, "");
    LLVMValueRef first = LLVMBuildSelect(b, any, LLVMBuildExtractElement(b, index, lane, ""), none, "");
    LLVMValueRef all = LLVMBuildInsertElement(b, LLVMGetPoison(vt), first, LLVMConstInt(q->i32, 0, 0), "");
    all = LLVMBuildShuffleVector(b, all, LLVMGetPoison(vt), LLVMConstNull(LLVMVectorType(q->i32, LLVMGetVectorSize(vt))), "");
    *base = *base ? LLVMBuildSelect(b, any, *base, q->area, "") : NULL;
    return LLVMBuildSelect(b, a->mask, index, all, "");
}

static LLVMValueRef lane_pointer(struct quads *q, const struct wide_access *a, LLVMValueRef base, LLVMValueRef index, int lane)
{
    LLVMValueRef at = LLVMBuildExtractElement(q->b, index, LLVMConstInt(q->i64, (unsigned)lane, 0), "");
    if (!base)
        return LLVMBuildIntToPtr(q->b, at, q->ptr, "");
    if (LLVMTypeOf(at) == q->i32)
        at = LLVMBuildSExt(q->b, at, q->i64, "");
    return LLVMBuildGEP2(q->b, LLVMGetGEPSourceElementType(a->address), base, &at, 1, "");
}

/* The four elements of sixteen lanes. */
static void read_lanes(struct quads *q, const struct wide_access *a, LLVMValueRef base, LLVMValueRef index, int from,
                       LLVMValueRef ret[QUAD])
{
    LLVMValueRef row[ROW], z[QUAD], low[2], high[2];
    LLVMTypeRef type = LLVMVectorType(LLVMGetElementType(LLVMTypeOf(a->call)), QUAD);
    for (int i = 0; i < ROW; i++) {
        row[i] = LLVMBuildLoad2(q->b, type, lane_pointer(q, a, base, index, from + i), "");
        LLVMSetAlignment(row[i], BYTES);
        ptx_metadata_scopes_copy(a->call, row[i]);
    }
    for (int j = 0; j < QUAD; j++)
        z[j] = join(q, join(q, row[j], row[j + 4]), join(q, row[j + 8], row[j + 12]));
    for (int j = 0; j < 2; j++) {
        low[j] = weave(q, z[2 * j], z[2 * j + 1], 0, false);
        high[j] = weave(q, z[2 * j], z[2 * j + 1], 2, false);
    }
    for (int k = 0; k < QUAD; k++)
        ret[k] = weave(q, k < 2 ? low[0] : high[0], k < 2 ? low[1] : high[1], k & 1 ? 2 : 0, true);
}

static void make_area(struct quads *q, LLVMValueRef fn)
{
    LLVMSetCurrentDebugLocation2(q->b, NULL);
    LLVMPositionBuilderBefore(q->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    q->area = LLVMBuildAlloca(q->b, LLVMVectorType(q->i32, QUAD), "off");
}

static void replace(struct quads *q, const struct wide_access *a, LLVMValueRef gathers[QUAD])
{
    LLVMValueRef base = a->index ? LLVMGetOperand(a->address, 0) : NULL, index = a->index, part[2][QUAD];
    int parts = (int)LLVMGetVectorSize(LLVMTypeOf(a->call)) / ROW;
    LLVMPositionBuilderBefore(q->b, a->call);
    LLVMSetCurrentDebugLocation2(q->b, LLVMInstructionGetDebugLoc(a->call));
    if (!index)
        index = LLVMBuildPtrToInt(q->b, a->address, LLVMVectorType(q->i64, (unsigned)parts * ROW), "");
    if (!ptx_host_all_on(a->mask))
        index = divert(q, a, index, &base);
    for (int i = 0; i < parts; i++)
        read_lanes(q, a, base, index, i * ROW, part[i]);
    for (int k = 0; k < QUAD; k++)
        LLVMReplaceAllUsesWith(gathers[k], parts == 2 ? join(q, part[0][k], part[1][k]) : part[0][k]);
    for (int k = 0; k < QUAD; k++)
        LLVMInstructionEraseFromParent(gathers[k]);
}

static void in_module(LLVMModuleRef m)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct quads q = { .c = c, .b = LLVMCreateBuilderInContext(c), .i32 = LLVMInt32TypeInContext(c),
                       .i64 = LLVMInt64TypeInContext(c),
                       .ptr = LLVMPointerTypeInContext(c, 0) };
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn)) {
        q.area = NULL;
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef x = LLVMGetFirstInstruction(bb), before; x; x = LLVMGetNextInstruction(x)) {
                struct wide_access a;
                LLVMValueRef gathers[QUAD];
                if (!match(x, &a) || !find(&a, gathers))
                    continue;
                before = LLVMGetPreviousInstruction(x);
                if (!q.area)
                    make_area(&q, fn);
                replace(&q, &a, gathers);
                x = before ? before : LLVMGetFirstInstruction(bb);
            }
    }
    LLVMDisposeBuilder(q.b);
}

int ptx_run_gather_wide(struct ptx_pipeline *pipe)
{
    in_module(*pipe->module);
    return AW_OK;
}
