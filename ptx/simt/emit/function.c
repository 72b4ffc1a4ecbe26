/* Emission of one function: blocks in reverse postorder, a mask for each, phis as blends.
 *
 * A divergent branch takes its then-block when any lane does; the join runs with the mask from before.  A divergent loop
 * runs while any lane is live, and each lane keeps what it had when it left.  Every block runs with a mask that is not
 * empty, so uniform accesses and calls in it need no guard. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <anywarp/hostabi.h>

/* ---- Function entry */

/* Thread indices of all lanes for any block shape.  There are at most 1024 threads, so the quotients are exact in float:
 * (n + 1/2) / d is never within 1/2048 of an integer. */
static void build_tid_vectors(struct simt_fn *f)
{
    struct simt *u = f->u;
    LLVMBuilderRef b = u->b;
    LLVMTypeRef f32 = LLVMFloatTypeInContext(u->ctx), f32v = simt_vec_type(u, f32);
    LLVMValueRef first = LLVMBuildMul(b, f->part, simt_c32(u, u->lanes), "");
    LLVMValueRef n = LLVMBuildAdd(b, simt_splat(u, first), simt_offset_vec(u, u->lane_offsets, u->i32), "");
    LLVMValueRef one = LLVMConstReal(f32, 1.0), half = simt_splat(u, LLVMConstReal(f32, 0.5));
    for (unsigned d = 0; d < 2; d++) {
        LLVMValueRef size = simt_field(u, f->launch, offsetof(struct aw_host_launch, block) + 4 * d, u->i32, true);
        LLVMValueRef inverse = LLVMBuildFDiv(b, one, LLVMBuildUIToFP(b, size, f32, ""), "");
        LLVMValueRef x = LLVMBuildFAdd(b, LLVMBuildSIToFP(b, n, f32v, ""), half, "");
        LLVMValueRef q = LLVMBuildFPToSI(b, LLVMBuildFMul(b, x, simt_splat(u, inverse), ""), u->i32v, "");
        f->tid_vec[d] = LLVMBuildSub(b, n, LLVMBuildMul(b, q, simt_splat(u, size), ""), "");
        n = q;
    }
    f->tid_vec[2] = n;
}

static void kernel_entry(struct simt_fn *f)
{
    for (int d = 0; d < 3; d++) {
        f->ctaid[d] = LLVMGetParam(f->out, 5 + (unsigned)d);
        f->tid_base[d] = LLVMGetParam(f->out, 8 + (unsigned)d);
    }
}

static void device_entry(struct simt_fn *f)
{
    struct simt *u = f->u;
    for (unsigned d = 0; d < 3; d++)
        f->ctaid[d] = simt_field(u, f->block, offsetof(struct aw_host_block, ctaid) + 4 * d, u->i32, false);
    for (unsigned i = 0; i < LLVMCountParams(f->src); i++) {
        struct simt_val *v = simt_get(f, LLVMGetParam(f->src, i));
        *(v->kind == SIMT_AFFINE ? &v->s : &v->v) = LLVMGetParam(f->out, 4 + i);
    }
}

static void build_entry(struct simt_fn *f)
{
    struct simt *u = f->u;
    f->entry = simt_new_block(f, "entry");
    LLVMPositionBuilderAtEnd(u->b, f->entry);
    simt_line_tables_function(u, f->form == SIMT_FORM_SINGLE ? u->kernel : f->src, f->out);
    f->block = LLVMGetParam(f->out, 0);
    f->state = LLVMGetParam(f->out, 1);
    f->part = f->warp = LLVMGetParam(f->out, 2);
    f->lanes = LLVMGetParam(f->out, 3);
    /* The first instruction: stack areas are put before it. */
    f->launch = simt_field(u, f->block, offsetof(struct aw_host_block, launch), u->ptr, true);
    f->shared = simt_field(u, f->block, offsetof(struct aw_host_block, shared), u->ptr, true);
    if (u->lanes < SIMT_LANES)
        f->warp = LLVMBuildUDiv(u->b, f->part, simt_c32(u, SIMT_LANES / u->lanes), "");
    if (f->form == SIMT_FORM_DEVICE || f->form == SIMT_FORM_SINGLE) {
        device_entry(f);
    } else {
        f->kernarg = LLVMGetParam(f->out, 4);
        kernel_entry(f);
        if (LLVMCountParams(f->src))
            simt_get(f, LLVMGetParam(f->src, 0))->s = f->kernarg;
    }
    if (f->form != SIMT_FORM_SINGLE)
        build_tid_vectors(f);
    simt_count_warp(f);
}

static LLVMValueRef part_mask(struct simt_fn *f)
{
    struct simt *u = f->u;
    LLVMValueRef bits = LLVMBuildTrunc(u->b, f->lanes, LLVMIntTypeInContext(u->ctx, (unsigned)u->lanes), "");
    return LLVMBuildBitCast(u->b, bits, u->i1v, "active");
}

static LLVMValueRef entry_mask(struct simt_fn *f)
{
    const uint32_t *block = f->u->options->block;
    bool full = f->form == SIMT_FORM_ROWS || f->form == SIMT_FORM_SINGLE ||
                (f->form == SIMT_FORM_FIXED && block[0] * block[1] * block[2] % (uint32_t)f->u->lanes == 0);
    return full ? NULL : part_mask(f);
}

/* ---- Masks of blocks */

/* Opens a divergent loop: a mask of live lanes, and room for what leaves it. */
static void open_loop(struct simt_fn *f, struct simt_loop *loop, int index)
{
    struct simt *u = f->u;
    struct simt_block *header = &f->blocks[loop->header];
    loop->live = header->mask = LLVMBuildPhi(u->b, u->i1v, "live");
    LLVMBasicBlockRef latch = f->blocks[loop->latch].bb;
    LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[loop->exit].bb);
    for (; x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
        struct simt_liveout out = { .exit_phi = x };
        for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
            if (LLVMGetIncomingBlock(x, i) == latch)
                out.value = LLVMGetIncomingValue(x, i);
        if (!out.value || !simt_defined_in(f, index, out.value))
            continue;
        /* When the value also feeds a phi of the header, lanes that are done can keep it there. */
        LLVMValueRef p = LLVMGetFirstInstruction(header->bb);
        for (; p && LLVMIsAPHINode(p) && !out.carried; p = LLVMGetNextInstruction(p))
            for (unsigned i = 0; i < LLVMCountIncoming(p); i++)
                if (LLVMGetIncomingBlock(p, i) == latch && LLVMGetIncomingValue(p, i) == out.value && simt_varying(f, p))
                    out.carried = p;
        if (!out.carried)
            out.acc = LLVMBuildPhi(u->b, simt_vec_type(u, simt_type(u, LLVMTypeOf(out.value))), "kept");
        if (!aw_vec_push(&loop->outs, out)) {
            simt_memory(u);
            return;
        }
    }
}

/* The mask a block begins with; a then-block's was set when its branch was emitted. */
static void begin_mask(struct simt_fn *f, int b)
{
    struct simt_block *x = &f->blocks[b];
    int l = simt_loop_headed(f, b);
    if (b == 0) {
        x->mask = entry_mask(f);
    } else if (l >= 0) {
        if (f->loops[l].divergent)
            open_loop(f, &f->loops[l], l);
        else
            x->mask = f->blocks[x->idom].mask;
        if (!f->loops[l].divergent && x->n_preds && f->loops[l].preheader >= 0)
            x->mask = f->blocks[f->loops[l].preheader].mask;
    } else {
        int left = simt_loop_left(f, b);
        if (left >= 0)
            x->mask = f->blocks[f->loops[left].preheader].mask;
        else if (x->n_preds != 1 || !f->blocks[x->idom].divergent)
            x->mask = f->blocks[x->idom].mask;
    }
}

/* ---- Phis */

static void begin_phis(struct simt_fn *f, int b)
{
    struct simt *u = f->u;
    for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
        struct simt_val *v = simt_get(f, x);
        LLVMTypeRef t = simt_type(u, LLVMTypeOf(x));
        if (v->kind == SIMT_TOP)
            v->kind = SIMT_AFFINE;
        if (v->kind == SIMT_VARYING) {
            v->v = LLVMBuildPhi(u->b, simt_vec_type(u, t), "");
            continue;
        }
        v->s = LLVMBuildPhi(u->b, t, "");
        if (v->check) {
            LLVMTypeRef dt = LLVMGetTypeKind(t) == LLVMPointerTypeKind ? u->i64 : t;
            v->d = LLVMBuildPhi(u->b, simt_vec_type(u, dt), "");
            v->ok = LLVMBuildPhi(u->b, u->i1, "");
        }
    }
}

/* Loops that wait let others run where they have looked in vain, which is in all iterations but the first. */
static void begin_waiting(struct simt_fn *f, int b)
{
    int l = simt_loop_headed(f, b);
    if (l >= 0 && simt_loop_spins(f, l))
        f->loops[l].again = LLVMBuildPhi(f->u->b, f->u->i1, "again");
}

static void wait_emit(struct simt_fn *f, int b)
{
    struct simt *u = f->u;
    int l = simt_loop_headed(f, b);
    if (l < 0 || !f->loops[l].again)
        return;
    LLVMBasicBlockRef yield = simt_new_block(f, "yield"), look = simt_new_block(f, "look");
    LLVMBuildCondBr(u->b, f->loops[l].again, yield, look);
    LLVMPositionBuilderAtEnd(u->b, yield);
    simt_yield_emit(f);
    u->polls = true;
    LLVMBuildBr(u->b, look);
    LLVMPositionBuilderAtEnd(u->b, look);
}

static LLVMValueRef incoming_for(struct simt_fn *f, LLVMValueRef phi, int pred)
{
    LLVMValueRef x = ptx_phi_value(phi, f->blocks[pred].bb);
    return x ? x : simt_fail(f->u, "internal: a phi lacks a predecessor");
}

/* The vector that reaches a join from `pred`: lanes that went straight from an earlier divergent branch to the join have
 * the value of that branch's edge. */
static LLVMValueRef blend(struct simt_fn *f, LLVMValueRef phi, int b, int pred)
{
    struct simt *u = f->u;
    int chain[64], n = 0;
    for (int q = pred; q != f->blocks[b].idom;) {
        q = f->blocks[q].idom;
        if (f->blocks[q].divergent && simt_leads_to(&f->blocks[q], b) && n < 64)
            chain[n++] = q;
    }
    LLVMValueRef acc = NULL;
    for (int i = n; i >= 0; i--) {
        int at = i ? chain[i - 1] : pred;
        LLVMValueRef x = incoming_for(f, phi, at);
        if (!x)
            return LLVMGetUndef(simt_vec_type(u, simt_type(u, LLVMTypeOf(phi))));
        if (simt_undef(x))
            continue;
        LLVMValueRef v = simt_vector(f, x);
        acc = acc ? LLVMBuildSelect(u->b, simt_full(u, f->blocks[at].mask), v, acc, "") : v;
    }
    return acc ? acc : LLVMGetPoison(simt_vec_type(u, simt_type(u, LLVMTypeOf(phi))));
}

static LLVMValueRef kept_value(struct simt_fn *f, int loop, LLVMValueRef phi)
{
    for (size_t i = 0; i < f->loops[loop].outs.n; i++)
        if (f->loops[loop].outs.at[i].exit_phi == phi)
            return f->loops[loop].outs.at[i].kept;
    return simt_fail(f->u, "internal: a loop's value was not kept");
}

/* What enters a vector phi on the edge from `pred`. */
static LLVMValueRef vector_incoming(struct simt_fn *f, LLVMValueRef phi, int b, int pred, int left)
{
    int l = simt_loop_headed(f, b);
    LLVMValueRef x = incoming_for(f, phi, pred);
    if (!x)
        return LLVMGetUndef(simt_vec_type(f->u, simt_type(f->u, LLVMTypeOf(phi))));
    if (left >= 0 && simt_defined_in(f, left, x))
        return kept_value(f, left, phi);
    if (l >= 0 && f->loops[l].divergent && pred == f->loops[l].latch)
        for (size_t i = 0; i < f->loops[l].outs.n; i++)
            if (f->loops[l].outs.at[i].carried == phi)
                return f->loops[l].outs.at[i].kept;
    if (simt_phi_joins_lanes(f, b))
        return blend(f, phi, b, pred);
    return simt_vector(f, x);
}

static void fill_phi(struct simt_fn *f, LLVMValueRef phi, int b, int pred, int left)
{
    struct simt *u = f->u;
    struct simt_val *v = simt_get(f, phi);
    LLVMTypeRef t = simt_type(u, LLVMTypeOf(phi));
    LLVMBasicBlockRef from = f->blocks[pred].end;
    f->epoch++;
    if (v->kind == SIMT_VARYING) {
        LLVMValueRef in = vector_incoming(f, phi, b, pred, left);
        if (in)
            LLVMAddIncoming(v->v, &in, &from, 1);
        return;
    }
    LLVMValueRef x = incoming_for(f, phi, pred);
    if (!x)
        return;
    LLVMValueRef s = simt_undef(x) ? LLVMGetPoison(t) : simt_scalar(f, x);
    LLVMAddIncoming(v->s, &s, &from, 1);
    if (!v->check)
        return;
    LLVMTypeRef dt = LLVMTypeOf(v->d);
    LLVMValueRef d = simt_undef(x) ? LLVMGetPoison(dt) : simt_delta(f, x), ok = simt_ok(f, x);
    d = d ? d : LLVMConstNull(dt);
    ok = ok ? ok : LLVMConstInt(u->i1, 1, 0);
    LLVMAddIncoming(v->d, &d, &from, 1);
    LLVMAddIncoming(v->ok, &ok, &from, 1);
}

static void fill_phis(struct simt_fn *f)
{
    for (int b = 0; b < f->n_blocks && !f->u->status; b++) {
        const struct simt_block *x = &f->blocks[b];
        int left = simt_loop_left(f, b), headed = simt_loop_headed(f, b);
        for (int j = 0; headed >= 0 && f->loops[headed].again && j < x->n_preds; j++) {
            LLVMValueRef inside = LLVMConstInt(f->u->i1, simt_loop_has(f, headed, x->preds[j]), 0);
            LLVMAddIncoming(f->loops[headed].again, &inside, &f->blocks[x->preds[j]].end, 1);
        }
        for (LLVMValueRef phi = LLVMGetFirstInstruction(x->bb); phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
            for (int j = 0; j < x->n_preds; j++) {
                int pred = x->preds[j];
                LLVMPositionBuilderBefore(f->u->b, LLVMGetBasicBlockTerminator(f->blocks[pred].end));
                f->mask = f->blocks[pred].mask;
                fill_phi(f, phi, b, pred, left);
            }
    }
}

/* ---- Instructions */

static void extract_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef agg = LLVMGetOperand(inst, 0);
    const struct simt_val *a = simt_get(f, agg);
    unsigned at = LLVMGetIndices(inst)[0];
    LLVMTypeRef t = simt_type(u, LLVMTypeOf(inst));
    bool vec = simt_varying(f, inst);
    struct simt_field field = { NULL, NULL };
    if (a && a->fields && LLVMGetNumIndices(inst) == 1)
        field = a->fields[at];
    else if (!a && simt_undef(agg))
        field = (struct simt_field){ LLVMGetPoison(t), LLVMGetPoison(simt_vec_type(u, t)) };
    if (vec && (field.v || field.s))
        simt_set_vector(f, inst, field.v ? field.v : simt_splat(u, field.s));
    else if (!vec && field.s)
        simt_set_scalar(f, inst, field.s);
    else
        simt_fail(u, "the host target cannot take this aggregate apart");
}

static void insert_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef agg = LLVMGetOperand(inst, 0), x = LLVMGetOperand(inst, 1);
    const struct simt_val *a = simt_get(f, agg);
    unsigned n = LLVMCountStructElementTypes(LLVMTypeOf(inst)), at = LLVMGetIndices(inst)[0];
    bool vec = simt_varying(f, inst);
    if (LLVMGetTypeKind(LLVMTypeOf(inst)) != LLVMStructTypeKind || (a && !a->fields) || (!a && !simt_undef(agg))) {
        simt_fail(u, "the host target cannot build this aggregate");
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMTypeRef t = simt_type(u, LLVMStructGetTypeAtIndex(LLVMTypeOf(inst), i));
        struct simt_field fl = a ? a->fields[i] : (struct simt_field){ LLVMGetPoison(t), LLVMGetPoison(simt_vec_type(u, t)) };
        if (i == at)
            fl = vec ? (struct simt_field){ NULL, simt_vector(f, x) } : (struct simt_field){ simt_scalar(f, x), NULL };
        else if (vec && !fl.v)
            fl.v = simt_splat(u, fl.s);
        simt_set_field(f, inst, i, fl.s, fl.v);
    }
}

static void instruction_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    simt_order_before(f, inst);
    simt_check_emit(f, inst);
    simt_count_instruction(f, inst);
    switch (LLVMGetInstructionOpcode(inst)) {
    case LLVMPHI: break;
    case LLVMLoad: simt_load_emit(f, inst); break;
    case LLVMStore: simt_store_emit(f, inst); break;
    case LLVMAtomicRMW: simt_update_emit(f, inst); break;
    case LLVMAtomicCmpXchg: simt_cmpxchg_emit(f, inst); break;
    case LLVMAlloca: simt_alloca_emit(f, inst); break;
    case LLVMFence: LLVMBuildFence(u->b, LLVMGetOrdering(inst), simt_block_scope(u, inst), ""); break;
    case LLVMCall: simt_call_emit(f, inst); break;
    case LLVMExtractValue: extract_emit(f, inst); break;
    case LLVMInsertValue: insert_emit(f, inst); break;
    default: simt_op_emit(f, inst);
    }
    simt_order_behind(f, inst);
}

/* ---- Terminators */

static void add_edges(LLVMValueRef phi, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef in[2] = { a, b };
    LLVMBasicBlockRef from[2] = { from_a, from_b };
    LLVMAddIncoming(phi, in, from, 2);
}

/* The latch of a divergent loop: lanes whose condition says so stay live. */
static void close_loop(struct simt_fn *f, int b, struct simt_loop *loop, LLVMValueRef cond)
{
    struct simt *u = f->u;
    struct simt_block *x = &f->blocks[b];
    const struct simt_block *pre = &f->blocks[loop->preheader];
    bool exit_if_true = x->succ[0] == loop->exit;
    LLVMValueRef go_on = exit_if_true ? LLVMBuildNot(u->b, cond, "") : cond;
    LLVMValueRef live = simt_mask_and(u, x->mask, go_on);
    for (size_t i = 0; i < loop->outs.n; i++) {
        struct simt_liveout *out = &loop->outs.at[i];
        LLVMValueRef now = simt_vector(f, out->value);
        LLVMValueRef old = out->carried ? simt_get(f, out->carried)->v : out->acc;
        out->kept = LLVMBuildSelect(u->b, simt_full(u, x->mask), now, old, "");
    }
    LLVMBasicBlockRef here = LLVMGetInsertBlock(u->b);
    add_edges(loop->live, simt_full(u, pre->mask), pre->end, live, here);
    for (size_t i = 0; i < loop->outs.n; i++)
        if (loop->outs.at[i].acc)
            add_edges(loop->outs.at[i].acc, LLVMGetPoison(LLVMTypeOf(loop->outs.at[i].acc)), pre->end,
                      loop->outs.at[i].kept, here);
    LLVMBuildCondBr(u->b, simt_any(u, live), f->blocks[loop->header].begin, f->blocks[loop->exit].begin);
}

/* The mask of block `then`, whose lanes are those of block `b` for which the condition (or its opposite) holds; whether to go
 * there. */
static LLVMValueRef enter_some(struct simt_fn *f, int b, int then, LLVMValueRef cond, bool negated)
{
    struct simt *u = f->u;
    struct simt_block *t = &f->blocks[then];
    LLVMValueRef outside = f->blocks[b].mask, on[SIMT_LANES];
    struct simt_same same;
    if (simt_same_lanes(f, cond, negated, &same)) {
        LLVMValueRef x = simt_scalar(f, same.x),
                     hit = LLVMBuildICmp(u->b, LLVMIntEQ, x, LLVMConstInt(LLVMTypeOf(x), same.base, 0), "");
        for (int i = 0; i < u->lanes; i++)
            on[i] = LLVMConstInt(u->i1, same.lanes >> i & 1, 0);
        t->mask = simt_mask_and(u, outside, LLVMConstVector(on, (unsigned)u->lanes));
        return outside ? LLVMBuildAnd(u->b, hit, simt_any(u, t->mask), "") : hit;
    }
    LLVMValueRef c = simt_vector(f, cond);
    t->mask = simt_mask_and(u, outside, negated ? LLVMBuildNot(u->b, c, "") : c);
    t->updates = simt_only_updates(f, b, then);
    return t->updates && u->options->masked_stores && !u->options->debug && !u->options->count ? LLVMConstInt(u->i1, 1, 0)
                                                                                               : simt_any(u, t->mask);
}

static void branch_emit(struct simt_fn *f, int b, LLVMValueRef term)
{
    struct simt *u = f->u;
    struct simt_block *x = &f->blocks[b];
    if (x->n_succ == 1) {
        LLVMBuildBr(u->b, f->blocks[x->succ[0]].begin);
        return;
    }
    LLVMValueRef cond = LLVMGetCondition(term);
    if (!x->divergent) {
        LLVMBuildCondBr(u->b, simt_scalar(f, cond), f->blocks[x->succ[0]].begin, f->blocks[x->succ[1]].begin);
        return;
    }
    int l = x->loop;
    if (l >= 0 && f->loops[l].divergent && f->loops[l].latch == b &&
        (f->loops[l].exit == x->succ[0] || f->loops[l].exit == x->succ[1])) {
        close_loop(f, b, &f->loops[l], simt_vector(f, cond));
        return;
    }
    int then = f->blocks[x->succ[0]].n_preds == 1 ? 0 : 1;
    LLVMValueRef go = enter_some(f, b, x->succ[then], cond, then == 1);
    LLVMBuildCondBr(u->b, go, f->blocks[x->succ[then]].begin, f->blocks[x->succ[1 - then]].begin);
}

static void return_emit(struct simt_fn *f, LLVMValueRef x)
{
    struct simt *u = f->u;
    const struct simt_val *v = simt_get(f, x);
    if (f->form != SIMT_FORM_SINGLE) {
        LLVMBuildRet(u->b, simt_vector(f, x));
        return;
    }
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(f->out));
    LLVMValueRef whole = LLVMGetPoison(type);
    for (unsigned i = 0; v && v->fields && i < LLVMCountStructElementTypes(type); i++)
        whole = LLVMBuildInsertValue(u->b, whole, v->fields[i].s, i, "");
    LLVMBuildRet(u->b, whole);
}

static void terminator_emit(struct simt_fn *f, int b)
{
    struct simt *u = f->u;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(f->blocks[b].bb);
    switch (LLVMGetInstructionOpcode(term)) {
    case LLVMRet:
        if (LLVMGetNumOperands(term))
            return_emit(f, LLVMGetOperand(term, 0));
        else if (simt_is_marching(u))
            LLVMBuildRet(u->b, LLVMConstInt(u->i1, 0, 0));
        else
            LLVMBuildRetVoid(u->b);
        break;
    case LLVMBr:
        branch_emit(f, b, term);
        break;
    default:
        simt_fail(u, "the host target does not know a terminator");
        LLVMBuildUnreachable(u->b);
    }
}

static void emit_blocks(struct simt_fn *f)
{
    struct simt *u = f->u;
    for (int b = 0; b < f->n_blocks; b++)
        f->blocks[b].begin = simt_new_block(f, "");
    LLVMPositionBuilderAtEnd(u->b, f->entry);
    if (u->options->races && f->form != SIMT_FORM_DEVICE && f->form != SIMT_FORM_SINGLE)
        simt_order_emit(f, AW_HOST_ORDER_BEGIN);
    LLVMBuildBr(u->b, f->blocks[0].begin);
    for (int b = 0; b < f->n_blocks && !u->status; b++) {
        LLVMPositionBuilderAtEnd(u->b, f->blocks[b].begin);
        begin_mask(f, b);
        begin_phis(f, b);
        begin_waiting(f, b);
        f->mask = f->blocks[b].mask;
        f->updates = f->blocks[b].updates;
        f->epoch++; /* distances built in a block that does not dominate this one are of no use here */
        simt_debug_lanes(f);
        simt_count_block(f);
        wait_emit(f, b);
        LLVMValueRef term = LLVMGetBasicBlockTerminator(f->blocks[b].bb);
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x != term && !u->status; x = LLVMGetNextInstruction(x))
            simt_line_tables_at(u, x), instruction_emit(f, x), simt_debug_after(f, x);
        simt_line_tables_at(u, term);
        terminator_emit(f, b);
        f->blocks[b].end = LLVMGetInsertBlock(u->b);
    }
}

bool simt_function_emit(struct simt *u, LLVMValueRef src, LLVMValueRef out, enum simt_form form,
                        bool (*finish)(struct simt_fn *f))
{
    struct simt_fn f = { .u = u, .form = form, .src = src, .out = out };
    f.dispatched = LLVMGetStringAttributeAtIndex(src, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, SIMT_DISPATCHED,
                                                 sizeof SIMT_DISPATCHED - 1);
    if (simt_cfg_build(&f) && simt_shape_analyse(&f)) {
        build_entry(&f);
        emit_blocks(&f);
        if (!u->status)
            fill_phis(&f);
        if (!u->status && finish)
            finish(&f);
        u->stats.bodies++;
    }
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return !u->status;
}
