/* Aggregates taken apart where they are made (aggregates.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/aggregates.h"

#include "base/vec.h"
#include "lower/copy.h"

enum { FIELDS = 4 }; /* of an aggregate, at most */

/* Extractions of x's fields become `parts`. */
static void use_parts(LLVMValueRef x, LLVMValueRef *parts)
{
    for (LLVMUseRef use = LLVMGetFirstUse(x), after; use; use = after) {
        LLVMValueRef user = LLVMGetUser(use);
        after = LLVMGetNextUse(use);
        if (!LLVMIsAExtractValueInst(user) || LLVMGetNumIndices(user) != 1)
            continue;
        unsigned at = LLVMGetIndices(user)[0];
        if (at >= FIELDS || user == parts[at])
            continue;
        LLVMReplaceAllUsesWith(user, parts[at]);
        LLVMInstructionEraseFromParent(user); /* it may be in another block */
    }
}

static bool is_aggregate(LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return LLVMGetTypeKind(type) == LLVMStructTypeKind && LLVMCountStructElementTypes(type) <= FIELDS;
}

/* Phis of the fields, right before `phi`, of what is extracted at the ends of the blocks it comes from. */
static void fields_join(LLVMBuilderRef b, LLVMValueRef phi)
{
    LLVMTypeRef type = LLVMTypeOf(phi);
    for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++) {
        LLVMPositionBuilderBefore(b, phi);
        LLVMValueRef part = LLVMBuildPhi(b, LLVMStructGetTypeAtIndex(type, i), "");
        for (unsigned j = 0; j < LLVMCountIncoming(phi); j++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, j);
            LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(from));
            LLVMValueRef v = LLVMBuildExtractValue(b, LLVMGetIncomingValue(phi, j), i, "");
            LLVMAddIncoming(part, &v, &from, 1);
        }
    }
}

/* A phi of aggregates, as LLVM makes where two ways extract the same field, becomes phis of their fields. */
static bool split_phis(LLVMBuilderRef b, LLVMValueRef fn)
{
    AW_VEC(LLVMValueRef) phis = { 0 };
    bool ok = true;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
            ok = ok && (!is_aggregate(x) || aw_vec_push(&phis, x));
    for (size_t i = 0; i < phis.n; i++)
        fields_join(b, phis.at[i]);
    for (size_t i = 0; i < phis.n; i++) { /* not before all have their fields: one may come from another */
        LLVMValueRef parts[FIELDS] = { NULL }, phi = phis.at[i], part = phi, whole = LLVMGetPoison(LLVMTypeOf(phi));
        unsigned n = LLVMCountStructElementTypes(LLVMTypeOf(phi));
        for (unsigned k = n; k--;)
            parts[k] = part = LLVMGetPreviousInstruction(part);
        use_parts(phi, parts);
        LLVMPositionBuilderBefore(b, ptx_behind_phis(phi));
        for (unsigned k = 0; k < n && LLVMGetFirstUse(phi); k++)
            whole = LLVMBuildInsertValue(b, whole, parts[k], k, "");
        LLVMReplaceAllUsesWith(phi, whole);
        LLVMInstructionEraseFromParent(phi);
    }
    aw_vec_fini(&phis);
    return ok;
}

bool ptx_aggregates_split(LLVMBuilderRef b, LLVMValueRef fn)
{
    if (!split_phis(b, fn))
        return false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMStructTypeKind || LLVMIsAPHINode(x) || !next)
                continue;
            LLVMValueRef parts[FIELDS] = { NULL };
            unsigned n = LLVMCountStructElementTypes(LLVMTypeOf(x));
            LLVMPositionBuilderBefore(b, next);
            for (unsigned i = 0; i < n && i < FIELDS; i++)
                parts[i] = LLVMBuildExtractValue(b, x, i, "");
            use_parts(x, parts);
            next = LLVMGetNextInstruction(x);
        }
    return true;
}
