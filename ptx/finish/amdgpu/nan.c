/* PTX's min and max answer one certain NaN when both operands are NaN, which takes the machine two instructions more.  Where
 * everything that is made of the result is arithmetic and comparison, which ask only whether something is a NaN, those go. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include "base/map.h"

typedef LLVMValueRef V;

enum { MAX_LOOKED_AT = 200 }; /* values: past that the answer is no */

struct nan_search {
    struct aw_ptrmap seen;
    unsigned n;
};

static bool indifferent(struct nan_search *s, V v);

static bool is_shuffle(enum ptx_simt id)
{
    return id >= PTX_SIMT_SHFL_UP && id <= PTX_SIMT_SHFL_IDX;
}

/* Only the value of a shuffle, and only as a float again. */
static bool fields_indifferent(struct nan_search *s, V pair)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pair); use; use = LLVMGetNextUse(use)) {
        V field = LLVMGetUser(use);
        if (!LLVMIsAExtractValueInst(field) || (LLVMGetIndices(field)[0] == 0 && !indifferent(s, field)))
            return false;
    }
    return true;
}

static bool call_indifferent(struct nan_search *s, V call, V operand)
{
    if (is_shuffle(ptx_simt_called(call)))
        return LLVMGetOperand(call, 0) == operand && LLVMGetOperand(call, 1) != operand && LLVMGetOperand(call, 2) != operand &&
               LLVMGetOperand(call, 3) != operand && fields_indifferent(s, call);
    enum ptx_intrinsic id = ptx_intrinsic_called(call);
    return ptx_intrinsic_has(call, PTX_INTRINSIC_ANY_NAN) ||
           ((id == PTX_INTRINSIC_FABS || id == PTX_INTRINSIC_CANONICALIZE) && indifferent(s, call));
}

/* Does `user` ask of its operand `v`, where it is a NaN, no more than that? */
static bool use_indifferent(struct nan_search *s, V user, V v)
{
    if (!LLVMIsAInstruction(user))
        return false;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMFCmp: case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFPToSI: case LLVMFPToUI: return true;
    case LLVMFNeg: case LLVMPHI: return indifferent(s, user);
    case LLVMSelect: return LLVMGetOperand(user, 0) != v && indifferent(s, user);
    case LLVMBitCast: return LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMVectorTypeKind && indifferent(s, user);
    case LLVMCall: return call_indifferent(s, user, v);
    default: return false;
    }
}

static bool indifferent(struct nan_search *s, V v)
{
    if (aw_ptrmap_find(&s->seen, v))
        return true; /* answered elsewhere, or being asked */
    if (++s->n > MAX_LOOKED_AT || !aw_ptrmap_put(&s->seen, v, v))
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(v); use; use = LLVMGetNextUse(use))
        if (!use_indifferent(s, LLVMGetUser(use), v))
            return false;
    return true;
}

/* select(r is a NaN, a NaN, r): r, else NULL. */
static V canonicalised(V select)
{
    if (!LLVMIsASelectInst(select) || !LLVMIsAConstantFP(LLVMGetOperand(select, 1)))
        return NULL;
    V test = LLVMGetOperand(select, 0), r = LLVMGetOperand(select, 2);
    if (!LLVMIsAFCmpInst(test) || LLVMGetFCmpPredicate(test) != LLVMRealUNO || LLVMGetOperand(test, 0) != r)
        return NULL;
    V other = LLVMGetOperand(test, 1);
    LLVMBool lost;
    double nan = LLVMConstRealGetDouble(LLVMGetOperand(select, 1), &lost);
    bool self = other == r || (LLVMIsAConstantFP(other) && LLVMConstRealGetDouble(other, &lost) == 0);
    return self && nan != nan ? r : NULL;
}

void ptx_amdgpu_nans(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V i = LLVMGetFirstInstruction(bb), next; i; i = next) {
                struct nan_search s = { 0 };
                V r = canonicalised(i);
                next = LLVMGetNextInstruction(i);
                if (r && indifferent(&s, i)) {
                    LLVMReplaceAllUsesWith(i, r);
                    LLVMInstructionEraseFromParent(i);
                }
                aw_ptrmap_fini(&s.seen);
            }
}
