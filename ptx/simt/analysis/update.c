/* Branches around stores over what was just read, as `if (x < p[i]) p[i] = x`.  Where the processor has quick masked stores,
 * lanes store under the mask and nothing branches: which lanes improve on what is there is nothing that branches are foreseen by.
 * Memory that was read is there, so that no masked store faults and is mended slowly.  Elsewhere one branch leads to the lanes
 * that store, mostly few (store_few_or_registers of memory.c): no copy for whole warps, which would ask once more.  Where no two
 * threads write the same, blend.c has a better way.
 *
 * Not for stores behind comparisons of indices: those go the same way again and again. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

/* Is the address, whose lanes lie side by side, that of a load in block `b`? */
static bool just_read(struct simt_fn *f, int b, LLVMValueRef ptr, uint64_t size)
{
    const int64_t *off = simt_offsets(f, ptr);
    int64_t at, from;
    LLVMValueRef root = simt_access_root(f, ptr, &at);
    for (int i = 0; off && i < f->u->lanes; i++)
        if (off[i] != i * (int64_t)size)
            return false;
    for (LLVMValueRef x = off ? LLVMGetFirstInstruction(f->blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x))
        if (LLVMIsALoadInst(x) && simt_access_plain(x, false) && simt_access_root(f, LLVMGetOperand(x, 0), &from) == root &&
            from == at)
            return true;
    return false;
}

bool simt_only_updates(struct simt_fn *f, int b, int then)
{
    int few = (int)simt_threshold(f->u, PTX_THRESHOLD_UPDATE_STORES);
    struct simt *u = f->u;
    const struct simt_block *t = &f->blocks[then];
    int n = 0;
    if (t->n_succ != 1 || simt_dominates(f, then, t->succ[0]))
        return false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(t->bb); x && !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x)) {
        uint64_t size = LLVMIsAStoreInst(x) ? LLVMStoreSizeOfType(u->in_layout, LLVMTypeOf(LLVMGetOperand(x, 0))) : 0;
        if (LLVMIsACallInst(x) && !simt_touches_memory(x))
            continue;
        if (n++ == few || !simt_access_plain(x, true) || size < 4 || size > 8 || !just_read(f, b, LLVMGetOperand(x, 1), size))
            return false;
    }
    return n > 0;
}
