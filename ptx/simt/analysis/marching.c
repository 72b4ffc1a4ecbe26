/* Loops through which warps had better go together, an iteration each in turn: each lane's place moves far with each iteration,
 * and the lanes lie side by side.  Questions; schedule/march.c splits the body there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <stdlib.h>
#include <string.h>

enum {
    FAR = 2048,              /* bytes: from here on a step is a stride */
    MAX_SLICE = 40,          /* instructions that lead to an address */
};

static bool invariant(struct simt_fn *f, int loop, LLVMValueRef v)
{
    return !simt_defined_in(f, loop, v);
}

/* Is `x` the phi plus much, or plus what is not known, whichever way through the loop it came? */
static bool far_from(struct simt_fn *f, int loop, LLVMValueRef x, LLVMValueRef phi, int64_t size, int depth)
{
    int64_t c;
    if (!LLVMIsAInstruction(x) || invariant(f, loop, x) || x == phi || !depth)
        return false;
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if (op == LLVMPHI) {
        for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
            if (!far_from(f, loop, LLVMGetIncomingValue(x, i), phi, size, depth - 1))
                return false;
        return LLVMCountIncoming(x) > 0;
    }
    if ((op != LLVMAdd && op != LLVMSub && (op != LLVMGetElementPtr || LLVMGetNumOperands(x) != 2)) ||
        (LLVMGetOperand(x, 0) != phi && LLVMGetOperand(x, 1) != phi))
        return false;
    LLVMValueRef by = LLVMGetOperand(x, LLVMGetOperand(x, 0) == phi ? 1 : 0);
    if (op == LLVMGetElementPtr)
        size = (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(x));
    return simt_int_const(by, &c) ? llabs(c) >= FAR / size : invariant(f, loop, by) && simt_uniform(f, by);
}

/* A phi of the loop's header that goes up so with every iteration; `size` is the least of what it counts, in bytes. */
static bool strides(struct simt_fn *f, int loop, LLVMValueRef phi, int64_t size)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == f->blocks[f->loops[loop].latch].bb)
            return far_from(f, loop, LLVMGetIncomingValue(phi, i), phi, size, 4);
    return false;
}

/* Does the address come from such a phi? */
static bool far_apart(struct simt_fn *f, int loop, LLVMValueRef v, int64_t size, int *left)
{
    if (!LLVMIsAInstruction(v) || invariant(f, loop, v) || --*left < 0)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
        return LLVMGetInstructionParent(v) == f->blocks[f->loops[loop].header].bb && strides(f, loop, v, size);
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr: case LLVMSExt: case LLVMZExt: case LLVMTrunc:
    case LLVMGetElementPtr: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMAddrSpaceCast:
        break;
    case LLVMCall: /* of this room, on an address */
        return LLVMGetNumArgOperands(v) == 1 && far_apart(f, loop, LLVMGetOperand(v, 0), size, left);
    default:
        return false;
    }
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(v); i++)
        if (far_apart(f, loop, LLVMGetOperand(v, i), size, left))
            return true;
    return false;
}

/* Lanes side by side, or in the order of a structure's parts; moving far with each iteration. */
static bool suits(struct simt_fn *f, int loop, LLVMValueRef x, int *bytes)
{
    LLVMValueRef p = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
    int left = MAX_SLICE;
    if (!p || simt_private_called(p) == SIMT_PRIVATE_APART)
        return true; /* the latter is for when an index has wrapped */
    LLVMTypeRef type = LLVMTypeOf(LLVMIsALoadInst(x) ? x : LLVMGetOperand(x, 0));
    int64_t size = (int64_t)LLVMABISizeOfType(f->u->in_layout, type);
    const int64_t *off = simt_offsets(f, p);
    if (simt_uniform(f, p))
        return simt_space(LLVMTypeOf(p)) == SIMT_SPACE_CONST;
    if (simt_varying(f, p) || off[1] < 0 || off[1] > 4 * size)
        return false;
    for (int i = 1; i < f->u->lanes; i++)
        if (off[i] - off[i - 1] != off[1])
            return false;
    *bytes += (int)size * f->u->lanes;
    return far_apart(f, loop, p, size, &left);
}

/* How many bytes an iteration of a warp touches; 0: the loop does not suit. */
int simt_loop_bytes(struct simt_fn *f, int loop)
{
    const struct simt_loop *l = &f->loops[loop];
    int bytes = 0;
    if (l->parent >= 0 || l->latch < 0 || l->preheader < 0 || l->exit < 0)
        return 0;
    for (int b = 0; b < f->n_blocks; b++) {
        if (!simt_loop_has(f, loop, b))
            continue;
        if (f->blocks[b].loop != loop)
            return 0; /* a loop within */
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            if (!suits(f, loop, x, &bytes))
                return 0;
    }
    return bytes;
}

bool simt_loop_marches(struct simt_fn *f, int loop)
{
    return simt_loop_bytes(f, loop) > 0;
}

/* Nothing that another warp could wait for, see, or find in the wrong place. */
static bool instruction_suits(struct simt *u, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAlloca: case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW:
        return false;
    case LLVMLoad: case LLVMStore:
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic &&
               !simt_is_shared_ptr(LLVMTypeOf(LLVMGetOperand(x, LLVMIsAStoreInst(x) ? 1 : 0)));
    case LLVMCall: {
        enum ptx_simt id = simt_call_id(u, x);
        if (id != PTX_SIMT_NONE)
            return ptx_simt_info(id)->traits == PTX_SIMT_PURE;
        return LLVMGetIntrinsicID(LLVMGetCalledValue(x)) ? !ptx_intrinsic_has(x, PTX_INTRINSIC_STAYS) :
                                                           simt_private_called(x) != SIMT_PRIVATE_NONE;
    }
    default:
        return true;
    }
}

bool simt_marches(struct simt *u, enum simt_form form)
{
    struct simt_fn f = { .u = u, .form = form, .src = u->kernel };
    bool yes = !u->functions.n && !u->singles.n && !u->options->static_shared &&
               u->size <= (size_t)simt_threshold(u, PTX_THRESHOLD_MARCH_KERNEL);
    for (LLVMValueRef g = LLVMGetFirstGlobal(u->in); g && yes; g = LLVMGetNextGlobal(g))
        yes = !simt_is_shared_ptr(LLVMTypeOf(g));
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(u->kernel); b && yes; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x && yes; x = LLVMGetNextInstruction(x))
            yes = instruction_suits(u, x);
    if (!yes)
        return false;
    yes = simt_cfg_build(&f) && f.n_loops && simt_shape_analyse(&f);
    bool found = false;
    for (int l = 0; yes && l < f.n_loops; l++)
        found |= simt_loop_bytes(&f, l) > 0;
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return found;
}
