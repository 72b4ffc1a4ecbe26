/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/conditions.h"

typedef LLVMValueRef V;

enum { DEPTH_MAX = 8 };

static bool within(const struct flow *f, const bool *body, V v)
{
    unsigned at = LLVMIsAInstruction(v) ? ptx_flow_block(f, LLVMGetInstructionParent(v)) : f->n;
    return at < f->n && body[at];
}

static bool of_space(V v, unsigned space, unsigned depth)
{
    if (LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(LLVMTypeOf(v)) == space)
        return true;
    bool inst = LLVMIsAInstruction(v) != NULL;
    if (depth == DEPTH_MAX || (!inst && !LLVMIsAConstantExpr(v)))
        return false;
    switch (inst ? LLVMGetInstructionOpcode(v) : LLVMGetConstOpcode(v)) {
    case LLVMAddrSpaceCast: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMGetElementPtr:
        return of_space(LLVMGetOperand(v, 0), space, depth + 1);
    case LLVMAdd: case LLVMSub: case LLVMOr:
        return of_space(LLVMGetOperand(v, 0), space, depth + 1) || of_space(LLVMGetOperand(v, 1), space, depth + 1);
    case LLVMSelect: /* of what lifted code asks of an address */
        return of_space(LLVMGetOperand(v, 1), space, depth + 1) || of_space(LLVMGetOperand(v, 2), space, depth + 1);
    default: return false;
    }
}

bool ptx_conditions_space(V v, unsigned space)
{
    return of_space(v, space, 0);
}

/* How far is looked: unoptimised code that was lifted makes an address of a variable's place in a dozen steps. */
enum { STEPS_MAX = 300 };

static bool invariant(const struct flow *f, const bool *body, V v, unsigned *steps)
{
    if (!within(f, body, v))
        return true;
    bool own = LLVMIsALoadInst(v) && !ptx_flow_is_ordered(v) && of_space(LLVMGetOperand(v, 0), AS_LOCAL, 0);
    enum ptx_simt id = ptx_simt_called(v);
    bool called = LLVMIsACallInst(v) && (id == PTX_SIMT_NONE || ptx_simt_info(id)->traits == PTX_SIMT_PURE);
    bool phi = LLVMIsAPHINode(v) != NULL; /* what was saved and comes back; of one that counts the steps run out */
    bool computed = LLVMIsACastInst(v) || LLVMIsABinaryOperator(v) || LLVMIsAGetElementPtrInst(v) || LLVMIsASelectInst(v) ||
                    LLVMIsACmpInst(v) || LLVMIsAInsertElementInst(v) || LLVMIsAExtractElementInst(v);
    if (++*steps > STEPS_MAX || !(own || called || phi || computed))
        return false;
    unsigned n = phi ? LLVMCountIncoming(v) : (unsigned)LLVMGetNumOperands(v);
    for (unsigned i = 0; i < n; i++)
        if (!invariant(f, body, phi ? LLVMGetIncomingValue(v, i) : LLVMGetOperand(v, i), steps))
            return false;
    return true;
}

bool ptx_conditions_invariant(const struct flow *f, const bool *body, V v)
{
    unsigned steps = 0;
    return invariant(f, body, v, &steps);
}

static void note(const struct flow *f, const bool *body, struct conditions *c, V v)
{
    bool known = !within(f, body, v);
    for (unsigned j = 0; j < c->n && !known; j++)
        known = c->at[j] == v;
    if (!known && c->n < PTX_CONDITIONS_MAX)
        c->at[c->n++] = v;
}

/* What the loop writes to variables of the lane's own, as unoptimised code has them. */
static void note_own(const struct flow *f, const bool *body, struct conditions *c)
{
    for (unsigned i = 0; i < f->n; i++)
        for (V x = body[i] ? LLVMGetFirstInstruction(f->blocks[i].bb) : NULL; x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAStoreInst(x) && of_space(LLVMGetOperand(x, 1), AS_LOCAL, 0))
                note(f, body, c, LLVMGetOperand(x, 0));
}

static void note_ways_out(const struct flow *f, const bool *body, struct conditions *c)
{
    for (unsigned i = 0; i < f->n; i++) {
        const struct flow_block *b = &f->blocks[i];
        bool out = false;
        for (unsigned j = 0; body[i] && j < b->n_succ; j++)
            out |= !body[b->succ[j]];
        if (out && b->n_succ > 1)
            note(f, body, c, LLVMGetOperand(LLVMGetBasicBlockTerminator(b->bb), 0));
    }
}

/* The branch that decides whether block `b` is come to, as far as it ends that block or the only one before it. */
static void note_branch(const struct flow *f, const bool *body, struct conditions *c, LLVMBasicBlockRef bb)
{
    unsigned b = ptx_flow_block(f, bb);
    if (b < f->n && f->blocks[b].n_succ == 1 && f->blocks[b].n_preds == 1)
        b = f->blocks[b].preds[0];
    if (b < f->n && body[b] && f->blocks[b].n_succ == 2)
        note(f, body, c, LLVMGetOperand(LLVMGetBasicBlockTerminator(f->blocks[b].bb), 0));
}

/* Does nothing ask whether the compare-and-swap has written? */
static bool only_finds(V swap)
{
    for (LLVMUseRef u = LLVMGetFirstUse(swap); u; u = LLVMGetNextUse(u)) {
        V user = LLVMGetUser(u);
        if (!LLVMIsAExtractValueInst(user) || LLVMGetNumIndices(user) != 1 || LLVMGetIndices(user)[0] != 0)
            return false;
    }
    return true;
}

static unsigned operands_of(V x, unsigned of)
{
    if (LLVMIsAPHINode(x))
        return LLVMCountIncoming(x);
    if (of & PTX_CONDITIONS_FOUND && LLVMIsAAtomicCmpXchgInst(x) && only_finds(x))
        return 1; /* the address */
    return (unsigned)LLVMGetNumOperands(x);
}

void ptx_conditions(const struct flow *f, const bool *body, unsigned of, struct conditions *ret)
{
    bool own = false;
    ret->n = 0;
    note_ways_out(f, body, ret);
    for (unsigned at = 0; at < ret->n; at++) {
        V x = ret->at[at];
        bool phi = LLVMIsAPHINode(x) != NULL;
        unsigned operands = operands_of(x, of);
        for (unsigned i = 0; i < operands; i++)
            note(f, body, ret, phi ? LLVMGetIncomingValue(x, i) : LLVMGetOperand(x, i));
        for (unsigned i = 0; of & PTX_CONDITIONS_BRANCHES && phi && i < operands; i++)
            note_branch(f, body, ret, LLVMGetIncomingBlock(x, i));
        if (!own && LLVMIsALoadInst(x) && of_space(LLVMGetOperand(x, 0), AS_LOCAL, 0)) {
            note_own(f, body, ret);
            own = true;
        }
    }
}
