/* Loops that wait: their end depends on memory that only someone else can change, so the warp must let others run.
 *
 * A volatile or atomic load counts, and an exchange whose operands do not change (taking a lock, polling by adding 0).
 * Not a compare-and-swap that retries with what it saw: it ends by itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"

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

bool simt_loop_spins(struct simt_fn *f, int loop)
{
    LLVMValueRef seen[MAX_NODES];
    int n = 0;
    for (int b = f->loops[loop].first; b >= 0; b = f->blocks[b].next_in_loop) {
        if (f->blocks[b].n_succ != 2)
            continue;
        if (simt_loop_has(f, loop, f->blocks[b].succ[0]) && simt_loop_has(f, loop, f->blocks[b].succ[1]))
            continue;
        if (n < MAX_NODES)
            seen[n++] = LLVMGetCondition(LLVMGetBasicBlockTerminator(f->blocks[b].bb));
    }
    for (int at = 0; at < n; at++) {
        LLVMValueRef x = seen[at];
        if (!LLVMIsAInstruction(x) || invariant(f, loop, x))
            continue;
        if (watches(f, loop, x))
            return true;
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            LLVMValueRef o = LLVMGetOperand(x, i);
            bool known = !LLVMIsAInstruction(o);
            for (int j = 0; j < n && !known; j++)
                known = seen[j] == o;
            if (!known && n < MAX_NODES)
                seen[n++] = o;
        }
    }
    return false;
}
