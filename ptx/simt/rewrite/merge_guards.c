/* Runs of guards: a thread that takes several neighbouring elements asks of each whether it is there,
 *
 *   if (i < n) a = p[i]; if (i + 1 < n) b = p[i + 1]; ... becomes if (all(i < n && i + 1 < n ...)) { a = p[i]; b = p[i + 1]; ...
 *   } else ...
 *
 * where all() is the same for the whole warp.  In the copy the accesses are neighbours without masks, and so parts of one
 * structure (interleaved_access.c): rows of memory and permutations, where each by itself would permute all of the row and keep a
 * part.
 *
 * Works on the structured one-lane form, before emission.  Copies for other reasons are versions.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"

#include "lower/copy.h"

enum {
    MOST = 16,        /* guards of one run */
    MAX_COPY = 200,   /* instructions of one copy */
    MAX_RUNS = 8,     /* of a function; the analyses run once for each */
    MAX_SLICE = 32,   /* instructions that lead to a condition */
};

struct run {
    struct simt *u;
    LLVMValueRef fn;
    struct simt_fn f;      /* analysed anew for each run */
    int n;                 /* guards: `head[i]` goes to `then[i]` or past it to the next head, the last to `end` */
    int head[MOST], then[MOST], end;
    struct ptx_copy copy;
    bool ok;               /* memory */
};

/* ---- Looking for one */

static bool warp_is_full(const struct simt_fn *f)
{
    const uint32_t *block = f->u->options->block;
    bool whole = block[0] * block[1] * block[2] % (uint32_t)f->u->lanes == 0;
    return f->form == SIMT_FORM_ROWS || (f->form == SIMT_FORM_FIXED && whole);
}

/* Do all lanes come to the block, if any does? */
static bool without_mask(const struct simt_fn *f, int b)
{
    for (int l = f->blocks[b].loop; l >= 0; l = f->loops[l].parent)
        if (f->loops[l].divergent)
            return false;
    for (int d = b; d > 0; d = f->blocks[d].idom) {
        int from = f->blocks[d].idom;
        if (f->blocks[d].n_preds == 1 && f->blocks[from].divergent)
            return false; /* a side of a branch: joins have more ways in */
    }
    return true;
}

/* May the instruction be where more than its own lanes' memory is looked at in another order? */
static bool plain(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad: return simt_access_plain(x, false);
    case LLVMStore: return simt_access_plain(x, true);
    default: return !simt_touches_memory(x);
    }
}

static int plain_block(const struct run *r, int b)
{
    int n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[b].bb); x; x = LLVMGetNextInstruction(x), n++)
        if (!plain(x))
            return MAX_COPY + 1;
    return n;
}

/* Does the block end in `if (c) then;`, and is that all?  Returns the block after it, or -1. */
static int guard_at(const struct simt_fn *f, int b, int *ret_then)
{
    const struct simt_block *h = &f->blocks[b];
    if (h->n_succ != 2 || !h->divergent)
        return -1;
    for (int i = 0; i < 2; i++) {
        const struct simt_block *t = &f->blocks[h->succ[i]];
        int join = h->succ[1 - i];
        if (t->n_preds == 1 && t->n_succ == 1 && t->succ[0] == join && f->blocks[join].n_preds == 2 &&
            f->blocks[join].loop == h->loop) {
            *ret_then = h->succ[i];
            return join;
        }
    }
    return -1;
}

static LLVMValueRef condition(const struct run *r, int i)
{
    return LLVMGetCondition(LLVMGetBasicBlockTerminator(r->f.blocks[r->head[i]].bb));
}

/* The first access of a guarded block whose lanes lie as parts of a structure do. */
static LLVMValueRef part_in(struct run *r, int i)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->then[i]].bb); x; x = LLVMGetNextInstruction(x))
        if (simt_access_parts(&r->f, x))
            return x;
    return NULL;
}

/* Does guard `i` have the element that is `i` after the first guard's? */
static bool belongs(struct run *r, int i)
{
    int64_t begin, at;
    LLVMValueRef first = part_in(r, 0), x = part_in(r, i);
    if (!x || !LLVMIsAStoreInst(x) != !LLVMIsAStoreInst(first) || simt_access_type(x) != simt_access_type(first) ||
        simt_access_parts(&r->f, x) != simt_access_parts(&r->f, first))
        return false;
    LLVMValueRef root = simt_access_root(&r->f, simt_access_address(first), &begin);
    return simt_access_root(&r->f, simt_access_address(x), &at) == root &&
           at - begin == i * (int64_t)LLVMStoreSizeOfType(r->f.u->in_layout, simt_access_type(x));
}

/* As many guards as there are from block `b` on, if a whole structure is among what they guard. */
static bool run_at(struct run *r, int b)
{
    int size = 0;
    r->n = 0;
    for (r->end = b; r->n < MOST; r->n++) {
        int left = MAX_SLICE, i = r->n;
        r->head[i] = r->end;
        int join = guard_at(&r->f, r->end, &r->then[i]);
        if (join < 0 || !belongs(r, i) || (i && !simt_known_before(&r->f, r->head[0], condition(r, i), &left)))
            break;
        size += plain_block(r, r->then[i]) + (i ? plain_block(r, r->head[i]) : 0);
        if (size > MAX_COPY)
            break;
        r->end = join;
    }
    return r->n >= 2 && r->n >= simt_access_parts(&r->f, part_in(r, 0)) && without_mask(&r->f, b);
}

/* ---- The copy */

/* The guards' own computations, which nothing in the copy asks for: parts of a structure have to be near each other. */
static void drop_unused(LLVMBasicBlockRef copy)
{
    for (LLVMValueRef x = LLVMGetLastInstruction(copy), before; x; x = before) {
        before = LLVMGetPreviousInstruction(x);
        if (!LLVMGetFirstUse(x) && ptx_arithmetic(x))
            LLVMInstructionEraseFromParent(x);
    }
}

static bool in_run(const struct run *r, LLVMBasicBlockRef bb)
{
    for (int i = 0; i < r->n; i++)
        if (bb == r->f.blocks[r->then[i]].bb || (i && bb == r->f.blocks[r->head[i]].bb))
            return true;
    return false;
}

/* Does the use at operand `i` lie after the run? */
static bool used_after(const struct run *r, LLVMValueRef user, unsigned i)
{
    return !in_run(r, LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, i) : LLVMGetInstructionParent(user));
}

/* What is used after the run is from now on a phi of the run's two forms. */
static void join_value(struct run *r, LLVMValueRef x, LLVMBasicBlockRef copy)
{
    const struct simt_block *blocks = r->f.blocks;
    LLVMBasicBlockRef end = blocks[r->end].bb;
    LLVMValueRef phi = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(x), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
            if (LLVMGetOperand(user, i) != x || !used_after(r, user, i))
                continue;
            if (!phi) {
                LLVMPositionBuilderBefore(r->u->b, LLVMGetFirstInstruction(end));
                phi = LLVMBuildPhi(r->u->b, LLVMTypeOf(x), "");
            }
            LLVMSetOperand(user, i, phi);
            next = LLVMGetFirstUse(x); /* the list has changed */
        }
    }
    if (phi) {
        ptx_phi_add(phi, x, blocks[r->head[r->n - 1]].bb);
        ptx_phi_add(phi, x, blocks[r->then[r->n - 1]].bb);
        ptx_phi_add(phi, ptx_copied(&r->copy, x), copy);
    }
}

/* All of the last join's phis have one more way in. */
static void join_end(struct run *r, LLVMBasicBlockRef copy)
{
    LLVMBasicBlockRef end = r->f.blocks[r->end].bb, last = r->f.blocks[r->then[r->n - 1]].bb;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(end); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        ptx_phi_add(phi, ptx_copied(&r->copy, ptx_phi_value(phi, last)), copy);
    for (int i = 1; i < r->n; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(r->f.blocks[r->head[i]].bb); x; x = LLVMGetNextInstruction(x))
            join_value(r, x, copy);
}

static bool there_before(const void *data, LLVMValueRef x)
{
    const struct run *r = data;
    return simt_there_before(&r->f, r->head[0], x);
}

/* All guards' conditions, for all lanes, at the builder. */
static LLVMValueRef build_all(struct run *r)
{
    LLVMBuilderRef b = r->u->b;
    LLVMValueRef all = NULL;
    for (int i = 0; i < r->n; i++) {
        const struct simt_block *h = &r->f.blocks[r->head[i]];
        LLVMValueRef c = ptx_copy_computation(&r->copy, condition(r, i), there_before, r);
        c = LLVMGetSuccessor(LLVMGetBasicBlockTerminator(h->bb), 0) == r->f.blocks[r->then[i]].bb ? c : LLVMBuildNot(b, c, "");
        all = all ? LLVMBuildAnd(b, all, c, "") : c;
    }
    return simt_all_build(r->u, all);
}

/* The run gets its copy; the original is left to warps some of whose lanes are past the end. */
static void copy_run(struct run *r)
{
    LLVMBuilderRef b = r->u->b;
    const struct simt_block *blocks = r->f.blocks;
    LLVMBasicBlockRef head = blocks[r->head[0]].bb, from = LLVMAppendBasicBlockInContext(r->u->ctx, r->fn, "some");
    LLVMBasicBlockRef copy = LLVMAppendBasicBlockInContext(r->u->ctx, r->fn, "all");
    LLVMValueRef term = LLVMGetBasicBlockTerminator(head);
    ptx_phis_rename(r->u->b, blocks[r->then[0]].bb, head, from);
    ptx_phis_rename(r->u->b, blocks[r->head[1]].bb, head, from);
    LLVMPositionBuilderBefore(b, term);
    LLVMBuildCondBr(b, build_all(r), copy, from);
    ptx_move_to_end(b, term, from);
    LLVMPositionBuilderAtEnd(b, copy);
    for (int i = 0; i < r->n; i++) {
        if (i)
            ptx_copy_body(&r->copy, from = blocks[r->head[i]].bb, blocks[r->then[i - 1]].bb);
        ptx_copy_body(&r->copy, blocks[r->then[i]].bb, from);
    }
    LLVMBuildBr(b, blocks[r->end].bb);
    r->ok = r->ok && !r->copy.failed;
    if (r->ok)
        join_end(r, copy);
    drop_unused(copy);
}

/* One run, the first that is not in `cold`; false: there is none. */
static bool copy_one(struct run *r, struct aw_ptrmap *cold)
{
    for (int b = 0; b < r->f.n_blocks && r->ok; b++) {
        if (aw_ptrmap_find(cold, r->f.blocks[b].bb) || !run_at(r, b))
            continue;
        copy_run(r);
        for (int i = 0; i < r->n; i++)
            r->ok = r->ok && aw_ptrmap_put(cold, r->f.blocks[r->head[i]].bb, r);
        return true;
    }
    return false;
}

bool simt_merge_guards(struct simt *u, LLVMValueRef fn, enum simt_form form, struct aw_ptrmap *cold)
{
    struct run r = { .u = u, .fn = fn, .copy.b = u->b, .ok = true };
    bool more = true;
    for (int i = 0; i < MAX_RUNS && more && r.ok && !u->status; i++) {
        r.f = (struct simt_fn){ .u = u, .form = form, .src = fn };
        more = warp_is_full(&r.f) && simt_cfg_build(&r.f) && simt_shape_analyse(&r.f) && copy_one(&r, cold);
        aw_ptrmap_fini(&r.f.vals);
        ptx_copy_fini(&r.copy);
        simt_cfg_fini(&r.f);
    }
    if (!r.ok)
        simt_memory(u);
    return r.ok;
}
