/* Scratch areas that outlive a region.
 *
 * An instruction of the kernel that takes lanes one by one stores a vector to a scratch area and reads it back at once.  LLVM,
 * which sees one warp's body, may sink such a read to where its result is used: past the place where a region ends, and all of a
 * block's warps take turns.  With one area for all of them the read would then find what the last warp has left.
 *
 * Here is the question which areas are read so; fission.c makes them variables of each warp. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"

struct uses {
    struct aw_ptrmap kinds; /* instruction -> the area, if it reads; the map itself, if it writes */
    bool escapes;           /* it is not known who reads */
};

static bool note_use(struct uses *s, LLVMValueRef area, LLVMValueRef user, LLVMValueRef address)
{
    bool writes = LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == address && LLVMGetOperand(user, 0) != address;
    return aw_ptrmap_put(&s->kinds, user, writes ? (void *)s : (void *)area);
}

static bool find_uses(struct regions *r, struct uses *s, LLVMValueRef area, LLVMValueRef p, int within);

/* A phi that is the area's address on some ways in: read where these ways begin, if all that follows is in the same region. */
static bool find_joined(struct regions *r, struct uses *s, LLVMValueRef area, LLVMValueRef phi, LLVMValueRef p)
{
    int b = simt_block_of(&r->f, LLVMGetInstructionParent(phi));
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingValue(phi, i) != p)
            continue;
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, i);
        int f = simt_block_of(&r->f, from);
        s->escapes |= b < 0 || f < 0 || r->head[b] || r->owner[f] != r->owner[b];
        if (!aw_ptrmap_put(&s->kinds, LLVMGetBasicBlockTerminator(from), area))
            return false;
    }
    return s->escapes || find_uses(r, s, area, phi, r->owner[b]);
}

/* The instructions that use the area through the address `p`; false: no memory.  What is no store counts as a read.  A vector of
 * addresses is put together for gathers and scatters only, whose lanes that are off go there for nothing.  `within`: the region
 * in which `p`, a phi that may be another address, has to be used, and its reads are known; -1: `p` is the area. */
static bool find_uses(struct regions *r, struct uses *s, LLVMValueRef area, LLVMValueRef p, int within)
{
    for (LLVMUseRef use = LLVMGetFirstUse(p); use && !s->escapes; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        bool vector = LLVMGetTypeKind(LLVMTypeOf(user)) == LLVMVectorTypeKind, ok = true;
        int b = simt_block_of(&r->f, LLVMGetInstructionParent(user));
        if (within >= 0 && (b < 0 || r->owner[b] != within))
            s->escapes = true;
        else if (LLVMIsALoadInst(user) || LLVMIsAStoreInst(user) || LLVMIsACallInst(user))
            ok = within >= 0 || note_use(s, area, user, p);
        else if (LLVMIsAGetElementPtrInst(user) && !vector)
            ok = find_uses(r, s, area, user, within);
        else if (LLVMIsAPHINode(user) && within < 0)
            ok = find_joined(r, s, area, user, p);
        else if (!LLVMIsAInsertElementInst(user))
            s->escapes = true;
        if (!ok)
            return false;
    }
    return true;
}

/* Goes through a block: is the area written at its end?  `*ret_exposed`: it is read in between before. */
static bool through(const struct uses *s, LLVMBasicBlockRef bb, bool written, bool *ret_exposed)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
        const void *kind = aw_ptrmap_find(&s->kinds, x);
        *ret_exposed |= kind && kind != s && !written;
        written |= kind == s;
    }
    return written;
}

/* Is the area written wherever the block is come to from within its region? */
static bool written_before(const struct regions *r, const bool *written, int b)
{
    bool in = !r->head[b];
    for (int j = 0; in && j < r->f.blocks[b].n_preds; j++)
        in = written[r->f.blocks[b].preds[j]];
    return in;
}

/* Is the area read on some way from the head of a region on which it was not written? */
static bool is_exposed(struct regions *r, const struct uses *s)
{
    int n = r->f.n_blocks;
    bool *written = AW_NEW_ARRAY(&r->u->arena, bool, (size_t)n), exposed = false; /* by block: at its end */
    if (!written)
        return simt_memory(r->u);
    for (int b = 0; b < n; b++)
        written[b] = true;
    for (bool changed = true; changed;) {
        changed = exposed = false; /* what the last round says holds */
        for (int b = 0; b < n; b++) {
            bool out = through(s, r->f.blocks[b].bb, written_before(r, written, b), &exposed);
            changed |= out != written[b];
            written[b] = out;
        }
    }
    return exposed;
}

static bool outlives(struct regions *r, LLVMValueRef area)
{
    struct uses s = { 0 };
    bool ok = find_uses(r, &s, area, area, -1);
    bool yes = ok && (s.escapes || is_exposed(r, &s));
    aw_ptrmap_fini(&s.kinds);
    return ok ? yes : simt_memory(r->u) != NULL;
}

bool simt_scratch_hold(struct regions *r)
{
    bool found = false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[0].bb); x; x = LLVMGetNextInstruction(x)) {
        if (!LLVMIsAAllocaInst(x) || !simt_region_scratch(x) || !outlives(r, x))
            continue;
        LLVMSetValueName2(x, "held", 4);
        found = true;
    }
    return found && !r->u->status;
}
