/* Kernels without barriers in which the warps of a block read the same: a product of matrices whose rows each warp multiplies
 * with the same columns.  Between barriers such warps go together, several at once (unroll_jam.c); here is the question whether a
 * whole kernel is to be treated as what lies between two.
 *
 * An estimate on the one-lane form, before emission.  That nothing parts the warps is proved on the vector form (fission.c,
 * unroll_jam.c); should it turn out otherwise, the kernel is vectorised again, warp by warp. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"

enum {
    LOOP = 16,         /* times that an instruction in a loop counts */
    MAX_KERNEL = 2000, /* instructions: unroll_jam.c takes no larger region */
};

/* Is the first thread's index along axis `d` the same for vectors `m` apart, wherever they are in the block? */
bool simt_index_alike(const struct simt *u, unsigned d, uint32_t m)
{
    const uint32_t *block = u->options->block;
    uint32_t lanes = (uint32_t)u->lanes, n = (block[0] * block[1] * block[2] + lanes - 1) / lanes, before = 1;
    for (unsigned i = 0; i < d; i++)
        before *= block[i];
    for (uint32_t i = m; i < n; i++)
        if (i * lanes / before % block[d] != (i - m) * lanes / before % block[d])
            return false;
    return true;
}

uint32_t simt_row_vectors(const struct simt *u)
{
    const uint32_t *block = u->options->block, lanes = (uint32_t)u->lanes;
    return block[0] % lanes == 0 && block[1] * block[2] > 1 ? block[0] / lanes : 1;
}

static bool begins_own(struct simt *u, LLVMValueRef x)
{
    if (LLVMIsAAllocaInst(x) || LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
        return true;
    if (simt_private_called(x) == SIMT_PRIVATE_FULL) /* a block's last warp may have fewer lanes */
        return true;
    enum ptx_simt id = LLVMIsACallInst(x) ? simt_call_id(u, x) : PTX_SIMT_NONE;
    if (id >= PTX_SIMT_TID_X && id <= PTX_SIMT_TID_Z)
        return !simt_index_alike(u, id - PTX_SIMT_TID_X, simt_row_vectors(u));
    return id == PTX_SIMT_WARPID || id == PTX_SIMT_LANEID || (id != PTX_SIMT_NONE && ptx_simt_info(id)->traits != PTX_SIMT_PURE);
}

bool simt_own(const struct aw_ptrmap *own, LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && aw_ptrmap_find(own, v);
}

static bool operands_own(const struct aw_ptrmap *own, LLVMValueRef x)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        if (simt_own(own, LLVMGetOperand(x, i)))
            return true;
    return false;
}

bool simt_find_own(struct simt_fn *f, struct aw_ptrmap *own)
{
    bool changed = true, ok = true;
    while (changed && ok) {
        changed = false;
        for (int b = 0; b < f->n_blocks; b++)
            for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x && ok; x = LLVMGetNextInstruction(x))
                if (!aw_ptrmap_find(own, x) && (begins_own(f->u, x) || operands_own(own, x))) {
                    ok = aw_ptrmap_put(own, x, f);
                    changed = true;
                }
    }
    return ok ? true : (simt_memory(f->u), false);
}

static size_t times(struct simt_fn *f, int b)
{
    return f->blocks[b].loop >= 0 ? LOOP : 1;
}

static bool is_alike(struct simt_fn *f, const struct aw_ptrmap *own, LLVMValueRef x)
{
    return LLVMIsALoadInst(x) && !simt_uniform(f, LLVMGetOperand(x, 0)) && !simt_own(own, LLVMGetOperand(x, 0));
}

size_t simt_loads_alike(struct simt_fn *f, const struct aw_ptrmap *own, int b)
{
    size_t n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x))
        n += is_alike(f, own, x) ? times(f, b) : 0;
    return n;
}

/* Vector operations that each warp does by itself. */
static bool is_work(struct simt_fn *f, const struct aw_ptrmap *own, LLVMValueRef x)
{
    return LLVMIsAStoreInst(x) || (simt_own(own, x) && simt_varying(f, x));
}

/* Nothing that another warp or lane waits for, or that the loop over warps cannot hold. */
static bool plain(struct simt *u, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMAlloca: case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW:
        return false;
    case LLVMLoad: case LLVMStore:
        return simt_access_plain(x, LLVMIsAStoreInst(x));
    case LLVMCall:
        return simt_call_id(u, x) == PTX_SIMT_NONE || ptx_simt_info(simt_call_id(u, x))->traits == PTX_SIMT_PURE;
    default:
        return true;
    }
}

static bool pays(struct simt_fn *f, const struct aw_ptrmap *own)
{
    size_t work = 0, loads = 0;
    for (int b = 0; b < f->n_blocks; b++) {
        loads += simt_loads_alike(f, own, b);
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x))
            work += is_work(f, own, x) ? times(f, b) : 0;
    }
    return simt_jams_always(f->u) || (loads >= simt_threshold(f->u, PTX_THRESHOLD_ALIKE) &&
                                      loads * simt_threshold(f->u, PTX_THRESHOLD_SHARED_LOADS) >= work);
}

bool simt_warps_free(struct simt *u, enum simt_form form)
{
    const uint32_t *block = u->options->block;
    if (form != SIMT_FORM_FIXED || u->options->plain || u->functions.n || u->singles.n ||
        simt_instructions(u->kernel) > MAX_KERNEL || block[0] * block[1] * block[2] < 2 * (uint32_t)u->lanes)
        return false;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(u->kernel); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
            if (!plain(u, x))
                return false;
    return true;
}

bool simt_warps_alike(struct simt *u, enum simt_form form)
{
    struct simt_fn f = { .u = u, .form = form, .src = u->kernel };
    struct aw_ptrmap own = { 0 };
    if (!simt_warps_free(u, form))
        return false;
    bool yes = simt_cfg_build(&f) && simt_shape_analyse(&f) && simt_find_own(&f, &own) && pays(&f, &own);
    aw_ptrmap_fini(&own);
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return yes && !simt_marches(u, form);
}
