/* How many lanes a vector has: the whole warp, or a part of it where no lane needs another.
 *
 * A loop over the parts of a warp is as right as one vector of 32 lanes when nothing in the kernel (or what it calls) passes from
 * lane to lane: no warp operation, no atomic or volatile access, no output; through shared memory only across barriers of the
 * whole block, which are loops over all of its parts then (shared_order.c, fission.c).  Parts take fewer registers, so large
 * bodies do not spill; and in blocks whose rows are 8 or 16 threads each part lies in one row, so that its addresses are vectors.
 *
 * Not emission: that reads `lanes` of struct simt. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_VALUES = 3000,   /* varying values whose lives are followed */
    MAX_KERNEL = 20000,  /* instructions; larger ones are taken as they are */
};

/* ---- May lanes of a warp run apart? */

static bool call_apart(struct simt *u, LLVMValueRef call)
{
    enum ptx_simt id = simt_call_id(u, call);
    if (id == PTX_SIMT_NONE || id == PTX_SIMT_MALLOC || id == PTX_SIMT_FREE || simt_is_barrier(u, call))
        return true;
    enum ptx_simt_traits traits = ptx_simt_info(id)->traits;
    return traits == PTX_SIMT_PURE || traits == PTX_SIMT_TIME || traits == PTX_SIMT_NORETURN;
}

static bool instruction_apart(struct simt *u, LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW:
        return false;
    case LLVMLoad: case LLVMStore:
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
    case LLVMCall:
        return call_apart(u, x);
    default:
        return true;
    }
}

static bool lanes_apart(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
                if (!instruction_apart(u, x))
                    return false;
    return true;
}

/* Does the kernel share memory, or wait at barriers? */
static bool shares(struct simt *u)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(u->in); g; g = LLVMGetNextGlobal(g))
        if (simt_is_shared_ptr(LLVMTypeOf(g)))
            return true;
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x)) {
                LLVMValueRef p = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
                if (simt_is_barrier(u, x) || (p && simt_is_shared_ptr(LLVMTypeOf(p))))
                    return true;
            }
    return false;
}

static bool calls_functions(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn))
        if (fn != u->kernel && !LLVMIsDeclaration(fn))
            return true;
    return false;
}

/* ---- What a number of lanes means for the kernel */

struct width_lives {
    struct simt_fn *f;
    struct aw_ptrmap index;  /* varying value -> 1 + its number */
    unsigned *size;          /* of each, in registers of 32 bytes when there are 32 lanes */
    size_t n, words;
    uint64_t *out;           /* live at each block's end */
    uint64_t *now;
    unsigned held;           /* by those in `now` */
};

static unsigned registers(struct simt *u, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMTypeKind kind = LLVMGetTypeKind(t);
    if (kind == LLVMVoidTypeKind || kind == LLVMStructTypeKind)
        return 0;
    uint64_t size = LLVMStoreSizeOfType(u->in_layout, simt_type(u, t));
    return (unsigned)(size ? size : 1);
}

static void set_live(struct width_lives *l, LLVMValueRef v, bool yes)
{
    intptr_t i = (intptr_t)aw_ptrmap_find(&l->index, v) - 1;
    if (i < 0)
        return;
    uint64_t *word = &l->now[i / 64], bit = UINT64_C(1) << i % 64;
    if (!(*word & bit) == yes) {
        *word ^= bit;
        l->held += yes ? l->size[i] : -l->size[i];
    }
}

static void begin_at_end(struct width_lives *l, int b)
{
    memcpy(l->now, l->out + (size_t)b * l->words, l->words * sizeof *l->now);
    l->held = 0;
    for (size_t w = 0; w < l->words; w++)
        for (uint64_t bits = l->now[w]; bits; bits &= bits - 1)
            l->held += l->size[w * 64 + (size_t)__builtin_ctzll(bits)];
}

/* Backwards over a block from what is live at its end; the most registers at once. */
static unsigned walk_block(struct width_lives *l, int b)
{
    const struct simt_block *block = &l->f->blocks[b];
    unsigned most = 0;
    begin_at_end(l, b);
    for (LLVMValueRef x = LLVMGetLastInstruction(block->bb); x && !LLVMIsAPHINode(x); x = LLVMGetPreviousInstruction(x)) {
        set_live(l, x, false);
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(x); o++)
            set_live(l, LLVMGetOperand(x, o), true);
        most = l->held > most ? l->held : most;
    }
    return most;
}

/* Adds what is live at the block's beginning to its predecessors' ends. */
static bool spread(struct width_lives *l, int b)
{
    const struct simt_block *block = &l->f->blocks[b];
    bool changed = false;
    for (LLVMValueRef x = LLVMGetFirstInstruction(block->bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
        set_live(l, x, false);
    for (int j = 0; j < block->n_preds; j++) {
        uint64_t *out = l->out + (size_t)block->preds[j] * l->words;
        for (size_t w = 0; w < l->words; w++) {
            changed |= (l->now[w] & ~out[w]) != 0;
            out[w] |= l->now[w];
        }
        for (LLVMValueRef x = LLVMGetFirstInstruction(block->bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
            for (unsigned k = 0; k < LLVMCountIncoming(x); k++) {
                intptr_t i = LLVMGetIncomingBlock(x, k) == l->f->blocks[block->preds[j]].bb
                                 ? (intptr_t)aw_ptrmap_find(&l->index, LLVMGetIncomingValue(x, k)) : 0;
                uint64_t bit = i ? UINT64_C(1) << (i - 1) % 64 : 0, *at = i ? out + (i - 1) / 64 : NULL;
                changed |= i && !(*at & bit);
                if (i)
                    *at |= bit;
            }
    }
    return changed;
}

static bool number_values(struct width_lives *l)
{
    for (int b = 0; b < l->f->n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(l->f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            if (LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind || !simt_varying(l->f, x) || l->n == MAX_VALUES)
                continue;
            l->size[l->n++] = registers(l->f->u, x);
            if (!aw_ptrmap_put(&l->index, x, (void *)(intptr_t)l->n))
                return simt_memory(l->f->u);
        }
    l->words = (l->n + 63) / 64;
    return true;
}

/* Registers of 32 bytes that hold varying values at once, at most, with 32 lanes; 0: too many values to tell. */
static unsigned pressure(struct simt_fn *f)
{
    struct simt *u = f->u;
    struct width_lives l = { .f = f, .size = AW_NEW_ARRAY(&u->arena, unsigned, MAX_VALUES) };
    unsigned most = 0;
    if (!l.size || !number_values(&l) || l.n == MAX_VALUES)
        goto done;
    l.out = calloc(((size_t)f->n_blocks + 1) * (l.words + 1), sizeof *l.out);
    if (!l.out) {
        simt_memory(u);
        goto done;
    }
    l.now = l.out + (size_t)f->n_blocks * l.words;
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = f->n_blocks - 1; b >= 0; b--) {
            unsigned n = walk_block(&l, b);
            most = n > most ? n : most;
            changed |= spread(&l, b);
        }
    }
done:
    free(l.out);
    aw_ptrmap_fini(&l.index);
    return most;
}

/* Are the lanes' elements neighbours, all of them? */
static bool in_one_row(struct simt_fn *f, LLVMValueRef inst)
{
    const struct simt_val *p = simt_get(f, simt_access_address(inst));
    int64_t size = (int64_t)LLVMStoreSizeOfType(f->u->in_layout, simt_access_type(inst));
    for (int i = 1; p && p->off && i < f->u->lanes; i++)
        if (p->off[i] != p->off[i - 1] + size)
            return false;
    return true;
}

/* Accesses lane by lane or of several rows, those in loops counting more. */
static unsigned scattered(struct simt_fn *f)
{
    unsigned n = 0;
    for (int b = 0; b < f->n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef p = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
            if (p && (simt_varying(f, p) || !in_one_row(f, x)))
                n += f->blocks[b].loop >= 0 ? 16 : 1;
        }
    return n;
}

struct outlook {
    unsigned scattered, pressure;
};

static bool look_ahead(struct simt *u, enum simt_form form, int lanes, struct outlook *ret)
{
    struct simt_fn f = { .u = u, .form = form, .src = u->kernel };
    bool ok = simt_lanes_set(u, lanes) && simt_cfg_build(&f) && simt_shape_analyse(&f);
    if (ok)
        *ret = (struct outlook){ scattered(&f), lanes == SIMT_LANES ? pressure(&f) : 0 };
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return ok && !u->status;
}

/* What the kernel's attribute asks for, which tests set; 0: nothing. */
static int lanes_asked(struct simt *u)
{
    unsigned len;
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(u->kernel, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "aw-lanes", 8);
    int lanes = a ? atoi(LLVMGetStringAttributeValue(a, &len)) : 0;
    return lanes == 8 || lanes == 16 || lanes == 32 ? lanes : 0;
}

int simt_row_lanes(uint32_t row)
{
    int lanes = SIMT_LANES;
    while (row % (uint32_t)lanes && lanes > 8)
        lanes /= 2;
    return row % (uint32_t)lanes ? SIMT_LANES : lanes;
}

/* Rows of 8 or 16 threads: a vector for each, if then fewer accesses are scattered. */
static bool rows_choose(struct simt *u, enum simt_form form, const struct outlook *whole, int *ret_lanes)
{
    int lanes = simt_row_lanes(u->options->block[0]);
    struct outlook part;
    if (form != SIMT_FORM_FIXED || lanes == SIMT_LANES || !whole->scattered)
        return true;
    if (!look_ahead(u, form, lanes, &part))
        return false;
    if (part.scattered < whole->scattered)
        *ret_lanes = lanes;
    return true;
}

/* Warps that go together share what they read as long as 16 registers hold their own, which are four for a value of a whole one:
 * as halves twice as many share, and what is common has room. */
static bool goes_in_halves(struct simt *u, enum simt_form form)
{
    return !u->options->small_masks && simt_lanes_set(u, SIMT_LANES) && simt_warps_alike(u, form);
}

bool simt_vector_width_choose(struct simt *u, enum simt_form form)
{
    struct outlook whole;
    int lanes = SIMT_LANES, asked = lanes_asked(u);
    if (!simt_step(u, PTX_PASS_NARROW) || asked == SIMT_LANES || simt_instructions(u->kernel) > MAX_KERNEL || !lanes_apart(u))
        return true;
    bool shared = shares(u);
    if (shared && (form != SIMT_FORM_FIXED || u->options->plain || calls_functions(u) || !simt_shared_in_parts(u, form)))
        return true;
    if (!look_ahead(u, form, SIMT_LANES, &whole) || !rows_choose(u, form, &whole, &lanes))
        return false;
    if (lanes == SIMT_LANES && goes_in_halves(u, form))
        lanes = SIMT_LANES / 2;
    /* Four registers of 32 bytes are one value, or two of 64 of which there are twice as many.  Narrower vectors have fewer
     * independent operations to wait for each other's latency: only much spilling is worse. */
    if (lanes == SIMT_LANES && !shared &&
        whole.pressure > simt_threshold(u, PTX_THRESHOLD_NARROW_PRESSURE) * (u->options->fast_gather ? 4 : 1))
        lanes = SIMT_LANES / 2;
    return simt_lanes_set(u, asked ? asked : lanes);
}
