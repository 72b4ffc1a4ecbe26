/* Loops that wait: their end depends on memory that only someone else can change, so the warp must let others run.
 *
 * A volatile or atomic load counts, and an exchange whose operands do not change (taking a lock, polling by adding 0).
 * Not a compare-and-swap that retries with what it saw: it ends by itself.  Where control flow was nested, a loop's end may be
 * a phi of constants, so the branches that lead to it count as well.
 *
 * One thread may look for its block, and tell the others by shared memory, behind a barrier.  So where a loop's end depends on a
 * load of shared memory, it depends on what the loop stores there, too, and on whether it does.  What tells a block from outside
 * counts then: not its own shared memory, nor an addition, which takes the next item of a queue. */
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

/* Not an addition, but of 0: that takes an item, and so goes on. */
static bool only_asks(LLVMValueRef x)
{
    if (!LLVMIsAAtomicRMWInst(x))
        return true;
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(x);
    LLVMValueRef by = LLVMGetOperand(x, 1);
    return op == LLVMAtomicRMWBinOpXchg || op == LLVMAtomicRMWBinOpAnd || op == LLVMAtomicRMWBinOpOr ||
           (LLVMIsAConstant(by) && LLVMIsNull(by));
}

static bool fences(struct simt_fn *f, int loop)
{
    for (int b = f->loops[loop].first; b >= 0; b = f->blocks[b].next_in_loop)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAFenceInst(x))
                return true;
    return false;
}

/* Does one thread see so for its block what others do?  By a plain load of one place, where there are fences. */
static bool watches_outside(struct simt_fn *f, int loop, LLVMValueRef x)
{
    if (LLVMIsALoadInst(x) && simt_space(LLVMTypeOf(LLVMGetOperand(x, 0))) == SIMT_SPACE_GLOBAL &&
        invariant(f, loop, LLVMGetOperand(x, 0)) && fences(f, loop))
        return true;
    return watches(f, loop, x) && simt_space(LLVMTypeOf(LLVMGetOperand(x, 0))) != SIMT_SPACE_SHARED && only_asks(x);
}

/* Where a store or an atomic may write shared memory; NULL: nowhere. */
static LLVMValueRef shared_written(LLVMValueRef x)
{
    LLVMValueRef p = LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1)
                     : LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x) ? LLVMGetOperand(x, 0) : NULL;
    return p && simt_maybe_shared(p) ? p : NULL;
}

static bool reads_shared(LLVMValueRef x)
{
    return LLVMIsALoadInst(x) && simt_maybe_shared(LLVMGetOperand(x, 0));
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

/* What a loop stores in shared memory, and the branches within it on which that hangs. */
static void note_stores(struct simt_fn *f, int loop, struct seen *s)
{
    for (int b = f->loops[loop].first; b >= 0; b = f->blocks[b].next_in_loop) {
        bool writes = false;
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef to = shared_written(x);
            for (unsigned i = 0; to && i < (unsigned)LLVMGetNumOperands(x); i++)
                if (LLVMGetOperand(x, i) != to)
                    note(s, LLVMGetOperand(x, i));
            writes |= to != NULL;
        }
        for (int over = f->blocks[b].idom; writes && over >= 0 && simt_loop_has(f, loop, over); over = f->blocks[over].idom)
            if (f->blocks[over].n_succ == 2)
                note(s, LLVMGetCondition(LLVMGetBasicBlockTerminator(f->blocks[over].bb)));
    }
}

/* Follows what is in `s`; `told`: what has come into shared memory. */
static bool watched(struct simt_fn *f, int loop, struct seen *s, bool *told)
{
    bool outside = *told;
    for (int at = 0; at < s->n; at++) {
        LLVMValueRef x = s->at[at];
        if (invariant(f, loop, x))
            continue;
        if (outside ? watches_outside(f, loop, x) : watches(f, loop, x))
            return true;
        *told |= reads_shared(x);
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
            note(s, LLVMGetOperand(x, i));
        if (LLVMIsAPHINode(x))
            note_ways(f, loop, s, x);
    }
    return false;
}

bool simt_loop_spins(struct simt_fn *f, int loop)
{
    struct seen s = { .n = 0 }, stored = { .n = 0 };
    bool told = false;
    for (int b = f->loops[loop].first; b >= 0; b = f->blocks[b].next_in_loop) {
        if (f->blocks[b].n_succ != 2)
            continue;
        if (simt_loop_has(f, loop, f->blocks[b].succ[0]) && simt_loop_has(f, loop, f->blocks[b].succ[1]))
            continue;
        note(&s, LLVMGetCondition(LLVMGetBasicBlockTerminator(f->blocks[b].bb)));
    }
    if (watched(f, loop, &s, &told))
        return true;
    if (told)
        note_stores(f, loop, &stored);
    return watched(f, loop, &stored, &told);
}
