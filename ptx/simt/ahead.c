/* Grid-stride loops ask for the next rounds' memory: their rounds are a grid apart, where the processor's own prefetchers, which stay in a
 * page, do not follow.  Not where warps take turns round by round (march.c), for then memory is read in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"

enum { MAX_DEPTH = 12, LINE = 64, MIN_BYTES = 4 };

/* How an address changes from round to round: by `scale` times `step`. */
struct advance {
    int loop;
    int64_t scale;
    LLVMValueRef step; /* the same for all lanes; NULL: none yet */
};

/* What is added to a phi of the loop's header in each round, the same in all; NULL: something else is done. */
static LLVMValueRef step_of(struct simt_fn *f, int loop, LLVMValueRef phi)
{
    bool header = LLVMGetInstructionParent(phi) == f->blocks[f->loops[loop].header].bb;
    LLVMValueRef step = header ? simt_loop_step(f, loop, phi) : NULL;
    return step && !simt_defined_in(f, loop, step) ? step : NULL;
}

/* Adds how `v` times `by` changes.  False: not so simply. */
static bool add_change(struct simt_fn *f, struct advance *a, LLVMValueRef v, int64_t by, int depth)
{
    int64_t c;
    if (!simt_defined_in(f, a->loop, v))
        return true;
    if (depth == MAX_DEPTH)
        return false;
    LLVMValueRef x = LLVMGetNumOperands(v) ? LLVMGetOperand(v, 0) : NULL;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI: {
        LLVMValueRef step = step_of(f, a->loop, v);
        if (!step || (a->step && a->step != step))
            return false;
        a->step = step;
        a->scale += by;
        return true;
    }
    case LLVMIntToPtr: case LLVMPtrToInt: case LLVMSExt: case LLVMZExt:
        return add_change(f, a, x, by, depth + 1);
    case LLVMAdd:
        return add_change(f, a, x, by, depth + 1) && add_change(f, a, LLVMGetOperand(v, 1), by, depth + 1);
    case LLVMShl:
        return simt_int_const(LLVMGetOperand(v, 1), &c) && c >= 0 && c < 32 && add_change(f, a, x, by * (INT64_C(1) << c), depth + 1);
    case LLVMGetElementPtr:
        c = (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(v));
        return LLVMGetNumOperands(v) == 2 && add_change(f, a, x, by, depth + 1) && add_change(f, a, LLVMGetOperand(v, 1), by * c, depth + 1);
    default:
        return false;
    }
}

/* Do the lanes read one row, in a loop through the grid? */
static bool fits(struct simt_fn *f, LLVMValueRef load, const struct simt_val *ptr, int loop)
{
    struct simt *u = f->u;
    uint64_t size = LLVMStoreSizeOfType(u->in_layout, LLVMTypeOf(load));
    unsigned space = simt_space(LLVMTypeOf(LLVMGetOperand(load, 0)));
    if (u->march || loop < 0 || space == SIMT_SPACE_SHARED || size < MIN_BYTES || !simt_access_plain(load, false) || !ptr ||
        ptr->kind != SIMT_AFFINE || !ptr->off || !simt_goes_by_blocks(f, loop))
        return false;
    for (int i = 1; i < u->lanes; i++)
        if (ptr->off[i] != ptr->off[0] + i * (int64_t)size)
            return false;
    return true;
}

/* Rounds from the one at hand to the one whose memory is asked for.  What only loads and adds has the processor look further by itself; updates
 * of lanes, one after the other, are all that it sees, and a round of them is shorter than memory takes. */
static int rounds_ahead(struct simt_fn *f, int loop)
{
    for (int b = 0; b < f->n_blocks; b++)
        for (LLVMValueRef x = simt_loop_has(f, loop, b) ? LLVMGetFirstInstruction(f->blocks[b].bb) : NULL; x; x = LLVMGetNextInstruction(x))
            if (LLVMIsAAtomicRMWInst(x))
                return 2;
    return 1;
}

void simt_ahead_emit(struct simt_fn *f, LLVMValueRef load)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(load, 0);
    const struct simt_val *val = simt_get(f, ptr);
    int block = simt_block_of(f, LLVMGetInstructionParent(load));
    struct advance a = { .loop = block < 0 ? -1 : f->blocks[block].loop };
    if (!fits(f, load, val, a.loop) || !add_change(f, &a, ptr, 1, 0) || !a.step)
        return;
    LLVMValueRef by = LLVMBuildIntCast2(u->b, simt_scalar(f, a.step), u->i64, 1, "");
    by = LLVMBuildMul(u->b, by, simt_c64(u, a.scale * rounds_ahead(f, a.loop)), "");
    LLVMValueRef next = LLVMBuildGEP2(u->b, u->i8, val->s, &by, 1, "ahead");
    int64_t bytes = (int64_t)LLVMStoreSizeOfType(u->in_layout, LLVMTypeOf(load)) * u->lanes;
    for (int64_t at = 0; at < bytes; at += LINE) {
        /* To read, into the first-level cache, data. */
        LLVMValueRef args[4] = { simt_advance(u, next, at), simt_c32(u, 0), simt_c32(u, 3), simt_c32(u, 1) };
        simt_intrinsic(u, "llvm.prefetch", &u->ptr, 1, args, 4);
    }
}
