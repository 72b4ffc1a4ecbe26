/* Loops that wait: their end depends on memory that only someone else can change, so the warp must let others run.
 *
 * A volatile or atomic load counts, and an exchange whose operands do not change (taking a lock, polling by adding 0).
 * Not a compare-and-swap that retries with what it saw: it ends by itself.  Where control flow was nested, a loop's end may be
 * a phi of constants, so the branches that lead to it count as well. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum { MAX_NODES = 96 };

static bool invariant(struct simt_fn *f, int loop, LLVMValueRef v)
{
    return !simt_defined_in(f, loop, v);
}

static bool watches(struct simt_fn *f, int loop, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad:
        return LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic;
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
            if (!invariant(f, loop, LLVMGetOperand(x, i)))
                return false;
        return true;
    default:
        return false;
    }
}

/* What a loop's end depends on, each once. */
struct seen {
    LLVMValueRef at[MAX_NODES];
    int n;
};

static void note(struct seen *s, LLVMValueRef v)
{
    bool known = !LLVMIsAInstruction(v);
    for (int j = 0; j < s->n && !known; j++)
        known = s->at[j] == v;
    if (!known && s->n < MAX_NODES)
        s->at[s->n++] = v;
}

/* Which value a phi has depends on how its block is reached: by the last branch before each way there. */
static void note_ways(struct simt_fn *f, int loop, struct seen *s, LLVMValueRef phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        int b = simt_block_of(f, LLVMGetIncomingBlock(phi, i));
        while (b >= 0 && simt_loop_has(f, loop, b) && f->blocks[b].n_succ != 2)
            b = f->blocks[b].idom;
        if (b >= 0 && simt_loop_has(f, loop, b))
            note(s, LLVMGetCondition(LLVMGetBasicBlockTerminator(f->blocks[b].bb)));
    }
}

bool simt_loop_spins(struct simt_fn *f, int loop)
{
    struct seen s = { .n = 0 };
    for (int b = f->loops[loop].first; b >= 0; b = f->blocks[b].next_in_loop) {
        if (f->blocks[b].n_succ != 2)
            continue;
        if (simt_loop_has(f, loop, f->blocks[b].succ[0]) && simt_loop_has(f, loop, f->blocks[b].succ[1]))
            continue;
        note(&s, LLVMGetCondition(LLVMGetBasicBlockTerminator(f->blocks[b].bb)));
    }
    for (int at = 0; at < s.n; at++) {
        LLVMValueRef x = s.at[at];
        if (invariant(f, loop, x))
            continue;
        if (watches(f, loop, x))
            return true;
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
            note(&s, LLVMGetOperand(x, i));
        if (LLVMIsAPHINode(x))
            note_ways(f, loop, &s, x);
    }
    return false;
}
