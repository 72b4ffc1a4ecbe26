/* A body of one warp, cut into regions, each in a loop over the block's warps.
 *
 *   before: what is the same for all warps; first: for each warp, the region; latch; after: on to the next region
 *
 * A value that lives across regions is kept in a stack slot: one where it is the same for all warps (LLVM makes those values
 * again), an array over the warps where it is not, unless it is cheaply computed again.  Phis of heads become slots, too.
 * Nothing is decided here: that is fission.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include "simt/schedule/fission.h"
#include "lower/copy.h"
#include <anywarp/hostabi.h>

enum { MAX_ALIGN = 64 };

static LLVMValueRef value_at(struct regions *r, LLVMValueRef v, LLVMBasicBlockRef bb);

static struct region *region_of(const struct regions *r, LLVMBasicBlockRef bb)
{
    return aw_ptrmap_find(&r->places, bb); /* NULL: the new entry block, whose values are for all */
}

static void note(struct regions *r, struct aw_ptrmap *map, const void *key, void *value)
{
    if (!aw_ptrmap_put(map, key, value))
        simt_memory(r->u);
}

static LLVMValueRef first_of(LLVMBasicBlockRef bb)
{
    return ptx_behind_phis(LLVMGetFirstInstruction(bb));
}

/* Puts the builder at the beginning of a block, after what was put there before. */
static void at_start(struct regions *r, LLVMBasicBlockRef bb)
{
    LLVMValueRef x = aw_ptrmap_find(&r->anchors, bb);
    if (!x) {
        x = first_of(bb);
        note(r, &r->anchors, bb, x);
    }
    LLVMPositionBuilderBefore(r->u->b, x);
}

static void at_end(struct regions *r, LLVMBasicBlockRef bb)
{
    LLVMPositionBuilderBefore(r->u->b, LLVMGetBasicBlockTerminator(bb));
}

/* ---- Slots */

static uint64_t aligned(uint64_t n, unsigned to)
{
    return (n + to - 1) / to * to;
}

/* Masks are kept as the machine makes them: bits, or a byte for each lane. */
static LLVMTypeRef kept_type(struct simt *u, LLVMTypeRef t)
{
    return t != u->i1v ? t : u->options->small_masks ? LLVMIntTypeInContext(u->ctx, (unsigned)u->lanes) : simt_vec_type(u, u->i8);
}

static LLVMValueRef as_kept(struct simt *u, LLVMValueRef x)
{
    LLVMTypeRef t = kept_type(u, LLVMTypeOf(x));
    bool bits = LLVMGetTypeKind(t) == LLVMIntegerTypeKind;
    return LLVMTypeOf(x) == t ? x : bits ? LLVMBuildBitCast(u->b, x, t, "") : LLVMBuildSExt(u->b, x, t, "");
}

static LLVMValueRef from_kept(struct simt *u, LLVMValueRef x, LLVMTypeRef type)
{
    LLVMTypeRef t = LLVMTypeOf(x);
    bool bits = LLVMGetTypeKind(t) == LLVMIntegerTypeKind;
    return t == type ? x : bits ? LLVMBuildBitCast(u->b, x, type, "") : LLVMBuildICmp(u->b, LLVMIntSLT, x, LLVMConstNull(t), "");
}

static unsigned alignment(struct regions *r, LLVMTypeRef t)
{
    unsigned a = LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(r->u->out), t);
    return a < MAX_ALIGN ? a : MAX_ALIGN;
}

/* Bytes between the places of two warps. */
static uint64_t stride(struct regions *r, LLVMTypeRef t, unsigned align)
{
    return aligned(LLVMABISizeOfType(LLVMGetModuleDataLayout(r->u->out), t), align);
}

static LLVMValueRef array_create(struct regions *r, LLVMTypeRef t, unsigned align)
{
    struct simt *u = r->u;
    LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(r->entry));
    LLVMValueRef a = LLVMBuildAlloca(u->b, LLVMArrayType2(u->i8, stride(r, t, align) * (r->warps ? r->warps : 32)), "");
    LLVMSetAlignment(a, align);
    return a;
}

static LLVMValueRef slot_create(struct regions *r, LLVMValueRef of, bool array)
{
    struct simt *u = r->u;
    LLVMTypeRef t = kept_type(u, LLVMTypeOf(of));
    if (array)
        return array_create(r, t, alignment(r, t));
    LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(r->entry));
    LLVMValueRef slot = LLVMBuildAlloca(u->b, t, "");
    LLVMSetAlignment(slot, alignment(r, t));
    return slot;
}

/* The place of region `g`'s warp in an array, at the builder. */
static LLVMValueRef element(struct regions *r, LLVMValueRef array, struct region *g, LLVMTypeRef t, unsigned align)
{
    struct simt *u = r->u;
    LLVMValueRef at = LLVMBuildZExt(u->b, g->own[0], u->i64, "");
    at = LLVMBuildMul(u->b, at, simt_c64(u, (int64_t)stride(r, t, align)), "");
    return LLVMBuildInBoundsGEP2(u->b, u->i8, array, &at, 1, "");
}

static void keep(struct regions *r, LLVMValueRef slot, LLVMValueRef x, struct region *g, bool array)
{
    struct simt *u = r->u;
    LLVMTypeRef t = kept_type(u, LLVMTypeOf(x));
    LLVMValueRef p = array ? element(r, slot, g, t, alignment(r, t)) : slot;
    LLVMSetAlignment(LLVMBuildStore(u->b, as_kept(u, x), p), alignment(r, t));
}

static LLVMValueRef fetch(struct regions *r, LLVMValueRef slot, LLVMTypeRef type, struct region *g, bool array)
{
    struct simt *u = r->u;
    LLVMTypeRef t = kept_type(u, type);
    LLVMValueRef x = LLVMBuildLoad2(u->b, t, array ? element(r, slot, g, t, alignment(r, t)) : slot, "");
    LLVMSetAlignment(x, alignment(r, t));
    return from_kept(u, x, type);
}

/* ---- What each warp has of its own */

static LLVMValueRef lanes_build(struct regions *r, LLVMValueRef warp)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    const uint32_t *block = u->options->block;
    LLVMValueRef launch = simt_field(u, LLVMGetParam(r->fn, BODY_BLOCK), offsetof(struct aw_host_block, launch), u->ptr, true);
    LLVMValueRef threads = r->warps ? simt_c32(u, block[0] * block[1] * block[2])
                                    : simt_field(u, launch, offsetof(struct aw_host_launch, threads), u->i32, true);
    LLVMValueRef left = LLVMBuildSub(b, threads, LLVMBuildMul(b, warp, simt_c32(u, u->lanes), ""), "");
    LLVMValueRef bit = LLVMBuildShl(b, simt_c32(u, 1), LLVMBuildAnd(b, left, simt_c32(u, u->lanes - 1), ""), "");
    LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, left, simt_c32(u, u->lanes), "");
    return LLVMBuildSelect(b, full, simt_c32(u, -1), LLVMBuildSub(b, bit, simt_c32(u, 1), ""), "lanes");
}

/* The index of the warp's first thread along axis `d`. */
static LLVMValueRef tid_build(struct regions *r, LLVMValueRef warp, unsigned d)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMValueRef n = LLVMBuildMul(b, warp, simt_c32(u, u->lanes), "");
    LLVMValueRef launch = simt_field(u, LLVMGetParam(r->fn, BODY_BLOCK), offsetof(struct aw_host_block, launch), u->ptr, true);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef size = r->warps ? simt_c32(u, u->options->block[i])
                                     : simt_field(u, launch, offsetof(struct aw_host_launch, block) + 4 * i, u->i32, true);
        if (i == d)
            return LLVMBuildURem(b, n, size, "tid");
        n = LLVMBuildUDiv(b, n, size, "tid");
    }
    return n;
}

static const unsigned own_params[] = { BODY_WARP, BODY_LANES, BODY_TID, BODY_TID + 1, BODY_TID + 2 };

static int own_index(const struct regions *r, LLVMValueRef v)
{
    for (int i = 0; i < 5; i++)
        if (v == LLVMGetParam(r->fn, own_params[i]))
            return i;
    return -1;
}

static LLVMValueRef own_value(struct regions *r, struct region *g, int i)
{
    if (!g->own[i]) {
        at_start(r, g->first);
        g->own[i] = i == 1 ? lanes_build(r, g->own[0]) : tid_build(r, g->own[0], (unsigned)i - 2);
        note(r, &r->origin, g->own[i], LLVMGetParam(r->fn, own_params[i]));
    }
    return g->own[i];
}

/* ---- Values where they are needed */

static struct aw_str key_of(struct regions *r, LLVMValueRef v, LLVMBasicBlockRef bb)
{
    const void **key = AW_NEW_ARRAY(&r->u->arena, const void *, 2);
    if (!key)
        return (struct aw_str){ 0 };
    key[0] = v;
    key[1] = bb;
    return (struct aw_str){ (const char *)key, 2 * sizeof *key };
}

static LLVMValueRef clone_at(struct regions *r, LLVMValueRef x, LLVMBasicBlockRef bb)
{
    LLVMValueRef c = LLVMInstructionClone(x);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
        LLVMSetOperand(c, i, value_at(r, LLVMGetOperand(x, i), bb));
    at_start(r, bb);
    ptx_insert(r->u->b, c);
    return c;
}

static void keep_from(struct regions *r, LLVMValueRef x, LLVMValueRef slot, bool array)
{
    LLVMBasicBlockRef bb = LLVMGetInstructionParent(x);
    note(r, &r->slots, x, slot);
    LLVMPositionBuilderBefore(r->u->b, LLVMIsAPHINode(x) ? first_of(bb) : LLVMGetNextInstruction(x));
    keep(r, slot, x, region_of(r, bb), array);
}

/* Where `x` is kept from its definition on. */
static LLVMValueRef slot_of(struct regions *r, LLVMValueRef x, bool array)
{
    LLVMValueRef slot = aw_ptrmap_find(&r->slots, x);
    if (slot)
        return slot;
    slot = slot_create(r, x, array);
    keep_from(r, x, slot, array);
    return slot;
}

/* A value of another region, for use in `bb`. */
static LLVMValueRef foreign(struct regions *r, LLVMValueRef x, LLVMBasicBlockRef bb)
{
    struct region *g = region_of(r, bb);
    bool array = simt_region_differs(r, x);
    LLVMBasicBlockRef place = array || bb == g->after ? bb : g->before;
    struct aw_str key = key_of(r, x, place);
    if (!key.ptr)
        return simt_memory(r->u), x;
    LLVMValueRef v = aw_map_find(&r->here, key);
    if (v)
        return v;
    if (array && simt_region_cheap(r, x)) {
        v = clone_at(r, x, place);
    } else {
        LLVMValueRef slot = slot_of(r, x, array);
        at_start(r, place);
        v = fetch(r, slot, LLVMTypeOf(x), g, array);
    }
    note(r, &r->origin, v, x);
    if (!aw_map_put(&r->here, key, v))
        simt_memory(r->u);
    return v;
}

/* A stack variable of the warp at hand. */
static LLVMValueRef variable_at(struct regions *r, LLVMValueRef a, struct region *g)
{
    struct aw_str key = key_of(r, a, g->first);
    if (!key.ptr)
        return simt_memory(r->u), a;
    LLVMValueRef v = aw_map_find(&r->here, key), array = aw_ptrmap_find(&r->slots, a);
    LLVMTypeRef t = LLVMGetAllocatedType(a);
    if (v)
        return v;
    if (!array) {
        array = array_create(r, t, LLVMGetAlignment(a));
        if (ptx_metadata(a, SIMT_LOCAL))
            ptx_mark(array, SIMT_LOCAL);
        note(r, &r->slots, a, array);
    }
    at_start(r, g->first);
    v = element(r, array, g, t, LLVMGetAlignment(a));
    note(r, &r->origin, v, a);
    if (!aw_map_put(&r->here, key, v))
        simt_memory(r->u);
    return v;
}

static LLVMValueRef value_at(struct regions *r, LLVMValueRef v, LLVMBasicBlockRef bb)
{
    struct region *g = region_of(r, bb);
    LLVMValueRef origin = LLVMIsAInstruction(v) ? aw_ptrmap_find(&r->origin, v) : NULL;
    v = origin ? origin : v;
    if (LLVMIsAArgument(v)) {
        int own = own_index(r, v);
        return own >= 0 ? own_value(r, g, own) : v;
    }
    if (!LLVMIsAInstruction(v))
        return v;
    if (LLVMIsAAllocaInst(v))
        return LLVMGetInstructionParent(v) == r->entry ? v : variable_at(r, v, g);
    struct region *of = region_of(r, LLVMGetInstructionParent(v));
    return !of || of == g ? v : foreign(r, v, bb);
}

/* ---- The new graph */

static void frame(struct regions *r)
{
    struct simt *u = r->u;
    LLVMBasicBlockRef old = r->f.blocks[0].bb;
    r->entry = LLVMInsertBasicBlockInContext(u->ctx, old, "block");
    LLVMPositionBuilderAtEnd(u->b, r->entry);
    LLVMValueRef launch = simt_field(u, LLVMGetParam(r->fn, BODY_BLOCK), offsetof(struct aw_host_block, launch), u->ptr, true);
    r->n_warps = r->warps ? simt_c32(u, r->warps) : simt_field(u, launch, offsetof(struct aw_host_launch, warps), u->i32, true);
    for (LLVMValueRef x = LLVMGetFirstInstruction(old), next; x; x = next) {
        next = LLVMGetNextInstruction(x);
        if (!LLVMIsAAllocaInst(x) || !simt_region_scratch(x))
            continue;
        LLVMInstructionRemoveFromParent(x);
        LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(r->entry));
        LLVMInsertIntoBuilderWithName(u->b, x, SIMT_SCRATCH); /* without, its name is gone */
    }
    for (int b = 0; b < r->f.n_blocks; b++) {
        struct region *g = r->region[b];
        note(r, &r->places, r->f.blocks[b].bb, r->region[r->owner[b]]);
        if (!g)
            continue;
        g->first = r->f.blocks[b].bb;
        g->before = LLVMInsertBasicBlockInContext(u->ctx, g->first, "region");
        g->latch = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "next.warp");
        g->after = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "met");
        note(r, &r->places, g->before, g);
        note(r, &r->places, g->latch, g);
        note(r, &r->places, g->after, g);
        LLVMPositionBuilderAtEnd(u->b, g->before);
        LLVMBuildBr(u->b, g->first);
        if (g->common)
            continue;
        LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(g->first));
        g->own[0] = LLVMBuildPhi(u->b, u->i32, "warp");
        note(r, &r->origin, g->own[0], LLVMGetParam(r->fn, BODY_WARP));
        LLVMPositionBuilderBefore(u->b, first_of(g->first));
        LLVMValueRef warp = simt_warp_of_part(u, g->own[0]);
        g->note = LLVMBuildStore(u->b, warp,
                                 simt_advance(u, LLVMGetParam(r->fn, BODY_BLOCK), offsetof(struct aw_host_block, warp)));
        simt_mark_own(u, g->note);
    }
    LLVMPositionBuilderAtEnd(u->b, r->entry);
    LLVMBuildBr(u->b, r->region[0]->before);
}

/* A block on the edge from `p` to the head of `to`, which goes on with the next warp. */
static LLVMBasicBlockRef leave_create(struct regions *r, int p, struct region *to)
{
    struct simt *u = r->u;
    struct region *g = r->region[r->owner[p]];
    LLVMBasicBlockRef leave = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "leave");
    LLVMValueRef term = LLVMGetBasicBlockTerminator(r->f.blocks[p].bb);
    note(r, &r->places, leave, g);
    LLVMPositionBuilderAtEnd(u->b, leave);
    LLVMBuildBr(u->b, g->common ? to->before : g->latch);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        if (LLVMGetSuccessor(term, i) == to->first)
            LLVMSetSuccessor(term, i, leave);
    return leave;
}

static LLVMValueRef incoming(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    LLVMValueRef x = ptx_phi_value(phi, from);
    return x ? x : LLVMGetPoison(LLVMTypeOf(phi));
}

/* The head's phis become slots that are written where it is gone to. */
static void phis_split(struct regions *r, struct region *g)
{
    struct simt *u = r->u;
    const struct simt_block *h = &r->f.blocks[g->head];
    LLVMBasicBlockRef *leaves = AW_NEW_ARRAY(&u->arena, LLVMBasicBlockRef, (size_t)h->n_preds + 1);
    if (!leaves) {
        simt_memory(u);
        return;
    }
    for (int j = 0; j < h->n_preds; j++)
        leaves[j] = leave_create(r, h->preds[j], g);
    for (LLVMValueRef phi = LLVMGetFirstInstruction(g->first), next; phi && LLVMIsAPHINode(phi); phi = next) {
        next = LLVMGetNextInstruction(phi);
        if (phi == g->own[0])
            continue;
        bool array = simt_region_differs(r, phi);
        LLVMValueRef slot = slot_create(r, phi, array), stays = aw_ptrmap_remove(&r->stays, phi);
        if (stays)
            keep_from(r, stays, slot, true);
        for (int j = 0; j < h->n_preds; j++) {
            LLVMValueRef x = incoming(phi, r->f.blocks[h->preds[j]].bb);
            at_end(r, leaves[j]);
            if (!simt_undef(x) && (!stays || x != stays))
                keep(r, slot, x, region_of(r, leaves[j]), array);
        }
        if (array)
            LLVMPositionBuilderBefore(u->b, first_of(g->first));
        else
            at_end(r, g->before);
        LLVMValueRef now = fetch(r, slot, LLVMTypeOf(phi), g, array);
        if (array) {
            /* A mask is taken from what is kept of it, which each warp has by itself as well: whoever needs the mask elsewhere
             * may read that. */
            LLVMValueRef kept = LLVMIsALoadInst(now) ? now : LLVMGetOperand(now, 0);
            note(r, &r->differs, kept, r);
            note(r, &r->slots, kept, slot);
            note(r, &r->differs, now, r);
            if (stays)
                note(r, &r->stays, now, stays);
            note(r, &r->slots, now, slot); /* nobody writes it before the head is gone to again */
        }
        LLVMReplaceAllUsesWith(phi, now);
        aw_ptrmap_remove(&r->differs, phi);
        LLVMInstructionEraseFromParent(phi);
    }
}

/* A meeting at the head: gone, but for what it sums up. */
static void meet_cut(struct regions *r, struct region *g)
{
    struct simt *u = r->u;
    LLVMValueRef x = LLVMGetFirstInstruction(g->first);
    while (x && !LLVMIsATerminatorInst(x) && !simt_meet_kind(x))
        x = LLVMGetNextInstruction(x);
    enum simt_private kind = x ? simt_meet_kind(x) : SIMT_PRIVATE_NONE;
    if (kind == SIMT_PRIVATE_MEET_REDUCE || kind == SIMT_PRIVATE_MEET_TOGETHER) {
        LLVMPositionBuilderBefore(u->b, LLVMGetFirstInstruction(r->entry));
        LLVMValueRef sum = LLVMBuildAlloca(u->b, u->i32, "");
        at_end(r, r->entry);
        LLVMBuildStore(u->b, simt_meet_begin(u, x), sum);
        at_end(r, r->f.blocks[r->f.blocks[g->head].preds[0]].bb);
        LLVMBuildStore(u->b, simt_meet_add(u, x, LLVMBuildLoad2(u->b, u->i32, sum, "")), sum);
        at_end(r, g->before);
        LLVMValueRef all = LLVMBuildLoad2(u->b, u->i32, sum, "");
        bool reduces = kind == SIMT_PRIVATE_MEET_REDUCE;
        LLVMReplaceAllUsesWith(x, reduces ? all : LLVMBuildICmp(u->b, LLVMIntNE, all, simt_c32(u, 0), ""));
        LLVMBuildStore(u->b, simt_meet_begin(u, x), sum);
    }
    if (kind)
        LLVMInstructionEraseFromParent(x);
}

/* Can `x`, of region `g`, be computed before its loop? */
static bool known_before(struct regions *r, LLVMValueRef x, struct region *g)
{
    if (simt_region_differs(r, x) || !simt_region_hoists(x))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef o = LLVMGetOperand(x, i);
        if (simt_region_differs(r, o) ||
            (LLVMIsAInstruction(o) && LLVMGetInstructionParent(o) != g->before && region_of(r, LLVMGetInstructionParent(o)) == g))
            return false;
    }
    return true;
}

static void hoist(struct regions *r)
{
    for (int b = 0; b < r->f.n_blocks; b++) {
        struct region *g = r->region[r->owner[b]];
        LLVMBasicBlockRef bb = r->f.blocks[b].bb;
        LLVMValueRef next = LLVMGetFirstInstruction(bb), term = LLVMGetBasicBlockTerminator(bb);
        for (LLVMValueRef x = next; x != term; x = next) {
            next = LLVMGetNextInstruction(x);
            if (LLVMIsAAllocaInst(x) || LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind || !known_before(r, x, g))
                continue;
            LLVMInstructionRemoveFromParent(x);
            at_end(r, g->before);
            ptx_insert(r->u->b, x);
        }
    }
}

/* The ends of regions. */
static void close_region(struct regions *r, struct region *g, LLVMValueRef choice)
{
    struct simt *u = r->u;
    if (g->common) { /* its own branches have gone on */
        LLVMDeleteBasicBlock(g->latch);
        LLVMDeleteBasicBlock(g->after);
        g->latch = g->after = NULL;
        return;
    }
    if (g->ends) {
        LLVMValueRef ret = LLVMGetBasicBlockTerminator(r->f.blocks[r->last].bb);
        LLVMPositionBuilderBefore(u->b, ret);
        LLVMBuildBr(u->b, g->latch);
        LLVMInstructionEraseFromParent(ret);
    }
    LLVMPositionBuilderAtEnd(u->b, g->latch);
    LLVMValueRef next = LLVMBuildAdd(u->b, g->own[0], simt_c32(u, 1), ""), zero = simt_c32(u, 0);
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntULT, next, r->n_warps, ""), g->first, g->after);
    LLVMAddIncoming(g->own[0], (LLVMValueRef[]){ zero, next }, (LLVMBasicBlockRef[]){ g->before, g->latch }, 2);
    LLVMPositionBuilderAtEnd(u->b, g->after);
    if (g->ends)
        LLVMBuildRetVoid(u->b);
    else if (g->n_to == 1)
        LLVMBuildBr(u->b, r->region[g->to[0]]->before);
    else
        LLVMBuildCondBr(u->b, choice, r->region[g->to[0]]->before, r->region[g->to[1]]->before);
}

static LLVMBasicBlockRef place_of(LLVMValueRef user, LLVMValueRef of)
{
    if (LLVMIsAPHINode(user))
        for (unsigned i = 0; i < LLVMCountIncoming(user); i++)
            if (LLVMGetIncomingValue(user, i) == of)
                return LLVMGetIncomingBlock(user, i);
    return LLVMGetInstructionParent(user);
}

/* Gives every use of `x` elsewhere what stands for it there. */
static void uses_move(struct regions *r, LLVMValueRef x)
{
    AW_VEC(LLVMValueRef) users = { 0 };
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use))
        if (!aw_vec_push(&users, LLVMGetUser(use)))
            simt_memory(r->u);
    for (size_t k = 0; k < users.n && !r->u->status; k++) {
        LLVMValueRef user = users.at[k];
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
            if (LLVMGetOperand(user, i) != x)
                continue;
            LLVMBasicBlockRef bb = LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, i) : place_of(user, x);
            LLVMValueRef v = region_of(r, bb) ? value_at(r, x, bb) : x;
            if (v != x)
                LLVMSetOperand(user, i, v);
        }
    }
    aw_vec_fini(&users);
}

static bool snapshot(struct regions *r, LLVMValueRef **ret, size_t *ret_n)
{
    AW_VEC(LLVMValueRef) all = { 0 };
    bool ok = true;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(r->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && ok; x = LLVMGetNextInstruction(x))
            if (bb != r->entry && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVoidTypeKind)
                ok = aw_vec_push(&all, x);
    *ret = all.at;
    *ret_n = all.n;
    return ok ? true : (simt_memory(r->u), false);
}

bool simt_fission_cut(struct regions *r)
{
    struct simt *u = r->u;
    LLVMValueRef *all = NULL;
    size_t n = 0;
    LLVMSetCurrentDebugLocation2(u->b, NULL);
    frame(r);
    for (int b = 0; b < r->f.n_blocks && !u->status; b++)
        if (r->region[b])
            meet_cut(r, r->region[b]);
    for (int b = 0; b < r->f.n_blocks && !u->status; b++)
        if (r->region[b])
            phis_split(r, r->region[b]);
    if (!u->status)
        hoist(r);
    for (int b = 0; b < r->f.n_blocks && !u->status; b++) {
        struct region *g = r->region[b];
        if (!g)
            continue;
        LLVMValueRef term = g->n_to == 2 ? LLVMGetBasicBlockTerminator(r->f.blocks[g->chooser].bb) : NULL;
        close_region(r, g, term ? LLVMGetCondition(term) : NULL);
    }
    if (!u->status && snapshot(r, &all, &n))
        for (size_t i = 0; i < n && !u->status; i++)
            uses_move(r, all[i]);
    for (unsigned i = 0; i < LLVMCountParams(r->fn) && !u->status; i++)
        if (own_index(r, LLVMGetParam(r->fn, i)) >= 0)
            uses_move(r, LLVMGetParam(r->fn, i));
    for (size_t i = 0; i < n && !u->status; i++)
        if (LLVMIsAAllocaInst(all[i]))
            LLVMInstructionEraseFromParent(all[i]);
    for (int b = 0; b < r->f.n_blocks && r->warps && !u->status; b++)
        if (r->region[b] && !r->region[b]->common)
            simt_unroll_jam(r, r->region[b]);
    free(all);
    return !u->status;
}
