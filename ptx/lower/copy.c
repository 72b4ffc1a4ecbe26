/* Copies of instructions and edges of phis; see copy.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/copy.h"

#include <llvm-c/DebugInfo.h>

void ptx_copy_fini(struct ptx_copy *c)
{
    aw_ptrmap_fini(&c->of);
}

void ptx_copy_note(struct ptx_copy *c, const void *x, void *as)
{
    c->failed |= !aw_ptrmap_put(&c->of, x, as);
}

void *ptx_copied(const struct ptx_copy *c, const void *x)
{
    void *as = aw_ptrmap_find(&c->of, x);
    return as ? as : (void *)x;
}

void ptx_insert(LLVMBuilderRef b, LLVMValueRef x)
{
    LLVMMetadataRef line = LLVMInstructionGetDebugLoc(x);
    LLVMInsertIntoBuilder(b, x);
    if (line)
        LLVMInstructionSetDebugLoc(x, line);
}

LLVMValueRef ptx_copy_as_is(struct ptx_copy *c, LLVMValueRef x)
{
    LLVMValueRef copy = LLVMIsAPHINode(x) ? LLVMBuildPhi(c->b, LLVMTypeOf(x), "") : LLVMInstructionClone(x);
    if (!LLVMIsAPHINode(x))
        ptx_insert(c->b, copy);
    ptx_copy_note(c, x, copy);
    return copy;
}

LLVMValueRef ptx_copy_instruction(struct ptx_copy *c, LLVMValueRef x)
{
    LLVMValueRef copy = ptx_copy_as_is(c, x);
    for (unsigned i = 0; !LLVMIsAPHINode(x) && i < (unsigned)LLVMGetNumOperands(x); i++)
        LLVMSetOperand(copy, i, ptx_copied(c, LLVMGetOperand(x, i)));
    return copy;
}

void ptx_copy_body(struct ptx_copy *c, LLVMBasicBlockRef from, LLVMBasicBlockRef way)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x && !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x))
        if (way && LLVMIsAPHINode(x))
            ptx_copy_note(c, x, ptx_copied(c, ptx_phi_value(x, way)));
        else
            ptx_copy_instruction(c, x);
}

LLVMValueRef ptx_copy_computation(struct ptx_copy *c, LLVMValueRef x, ptx_is_there *is_there, const void *data)
{
    LLVMValueRef made = aw_ptrmap_find(&c->of, x);
    if (made || is_there(data, x))
        return made ? made : x;
    LLVMValueRef copy = LLVMInstructionClone(x);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        LLVMSetOperand(copy, i, ptx_copy_computation(c, LLVMGetOperand(x, i), is_there, data));
    ptx_insert(c->b, copy); /* behind its operands */
    ptx_copy_note(c, x, copy);
    return copy;
}

/* ---- Moving */

void ptx_move_before(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef before)
{
    LLVMInstructionRemoveFromParent(x);
    LLVMPositionBuilderBefore(b, before);
    ptx_insert(b, x);
}

void ptx_move_to_end(LLVMBuilderRef b, LLVMValueRef x, LLVMBasicBlockRef bb)
{
    LLVMInstructionRemoveFromParent(x);
    LLVMPositionBuilderAtEnd(b, bb);
    ptx_insert(b, x);
}

void ptx_move_rest(LLVMBuilderRef b, LLVMValueRef x, LLVMBasicBlockRef to)
{
    for (LLVMValueRef next; x; x = next) {
        next = LLVMGetNextInstruction(x);
        ptx_move_to_end(b, x, to);
    }
}

/* ---- Edges of phis */

void ptx_phi_add(LLVMValueRef phi, LLVMValueRef x, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &x, &from, 1);
}

LLVMValueRef ptx_phi_value(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return NULL;
}

LLVMValueRef ptx_behind_phis(LLVMValueRef x)
{
    while (x && LLVMIsAPHINode(x))
        x = LLVMGetNextInstruction(x);
    return x;
}

void ptx_phis_rebuild(LLVMBuilderRef b, LLVMBasicBlockRef bb, ptx_phi_edges *edges, void *data)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(bb), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        LLVMPositionBuilderBefore(b, phi);
        LLVMValueRef now = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
        edges(phi, now, data);
        LLVMReplaceAllUsesWith(phi, now);
        LLVMInstructionEraseFromParent(phi);
    }
}

struct renaming {
    LLVMBasicBlockRef from, to;
};

static void edges_rename(LLVMValueRef old, LLVMValueRef now, void *data)
{
    const struct renaming *r = data;
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMBasicBlockRef at = LLVMGetIncomingBlock(old, i);
        ptx_phi_add(now, LLVMGetIncomingValue(old, i), at == r->from ? r->to : at);
    }
}

void ptx_phis_rename(LLVMBuilderRef b, LLVMBasicBlockRef bb, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    ptx_phis_rebuild(b, bb, edges_rename, &(struct renaming){ from, to });
}

bool ptx_arithmetic(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMLShr: case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor:
    case LLVMICmp: case LLVMSelect: case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMIntToPtr:
    case LLVMPtrToInt: case LLVMGetElementPtr: case LLVMAddrSpaceCast:
        return true;
    default:
        return false;
    }
}
