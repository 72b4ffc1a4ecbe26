/* Copies of regions for versions.c: blocks once more, with what comes in, goes out and stands for what, and a question before
 * them.
 *
 * Not which regions, nor whether it is worth it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/rewrite/rewrite.h"
#include "simt/rewrite/versions.h"

#include "lower/copy.h"

/* ---- Addresses whose lanes are at known distances unless an index wraps: asked for once, before the region */

static bool reads_argument(struct simt_fn *f, LLVMValueRef load)
{
    LLVMValueRef p = LLVMGetOperand(load, 0);
    int64_t c;
    if (LLVMGetVolatile(load))
        return false;
    if (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_int_const(LLVMGetOperand(p, 1), &c))
        p = LLVMGetOperand(p, 0);
    return f->form != SIMT_FORM_DEVICE && LLVMIsAArgument(p);
}

/* Is it a call that may be made again elsewhere: of an index, a minimum or a maximum? */
static bool call_hoists(struct simt *u, LLVMValueRef call)
{
    enum ptx_simt id = simt_call_id(u, call);
    return id == PTX_SIMT_NONE ? ptx_intrinsic_has(call, PTX_INTRINSIC_INT_MINMAX) : ptx_simt_info(id)->traits == PTX_SIMT_PURE;
}

bool simt_copy_hoists(struct version *v, const struct copied_region *r, LLVMValueRef x, int *left)
{
    if (!inside_value(r, x) || (r->loop == REGION_BLOCK && LLVMIsAPHINode(x)))
        return true;
    if (--*left < 0)
        return false;
    if (!(LLVMIsALoadInst(x) ? reads_argument(r->f, x) :
          LLVMIsACallInst(x) ? call_hoists(r->f->u, x) : ptx_arithmetic(x)))
        return false;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) /* of a call, the last one is what it calls: from outside */
        if (!simt_copy_hoists(v, r, LLVMGetOperand(x, i), left))
            return false;
    return true;
}

static LLVMValueRef checked_pointer(const struct copied_region *r, LLVMValueRef x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    if ((op != LLVMLoad && op != LLVMStore) || LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic)
        return NULL;
    LLVMValueRef p = LLVMGetOperand(x, op == LLVMStore);
    const struct simt_val *val = simt_get(r->f, p);
    return val && val->kind == SIMT_AFFINE && val->off && val->check ? p : NULL;
}

/* Does `x` keep the distances of its one operand that is asked about, so that the question is the same? */
static LLVMValueRef asked_operand(struct simt_fn *f, LLVMValueRef x)
{
    LLVMOpcode op = LLVMIsAInstruction(x) ? LLVMGetInstructionOpcode(x) : LLVMRet;
    if (op != LLVMAdd && op != LLVMSub && op != LLVMMul && op != LLVMShl && op != LLVMGetElementPtr && op != LLVMIntToPtr)
        return NULL;
    LLVMValueRef from = NULL;
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        LLVMValueRef y = LLVMGetOperand(x, i);
        const struct simt_val *val = simt_get(f, y);
        if (!val || !val->check)
            continue;
        if (from || simt_width(LLVMTypeOf(y)) != simt_width(LLVMTypeOf(x)))
            return NULL;
        from = y;
    }
    return from;
}

/* The value from whose index on an address is known to be right or wrong for all lanes. */
static LLVMValueRef origin_of(struct simt_fn *f, LLVMValueRef p)
{
    for (LLVMValueRef from = p; from; from = asked_operand(f, p))
        p = from;
    return p;
}

static bool listed(struct version *v, LLVMValueRef p)
{
    LLVMValueRef origin = v->n_ptrs ? origin_of(&v->f, p) : NULL;
    for (int i = 0; i < v->n_ptrs; i++)
        if (v->origins[i] == origin)
            return true;
    return false;
}

void simt_copy_find_pointers(struct version *v, const struct copied_region *r)
{
    v->n_ptrs = v->n_accesses = 0;
    for (int b = 0; b < r->f->n_blocks; b++)
        for (LLVMValueRef x = inside(r, b) ? LLVMGetFirstInstruction(r->f->blocks[b].bb) : NULL; x;
             x = LLVMGetNextInstruction(x)) {
            LLVMValueRef p = checked_pointer(r, x);
            int left = MAX_SLICE;
            if (!p)
                continue;
            v->n_accesses++;
            if (v->n_ptrs == MAX_POINTERS || listed(v, p) || !simt_copy_hoists(v, r, p, &left))
                continue;
            v->origins[v->n_ptrs] = origin_of(r->f, p);
            v->ptrs[v->n_ptrs++] = p;
        }
}

static bool outside(const void *region, LLVMValueRef x)
{
    return !inside_value(region, x) || LLVMIsAPHINode(x);
}

/* Asks or says something of the lanes' values of `x`. */
static LLVMValueRef private_build(struct simt *u, enum simt_private what, LLVMValueRef x)
{
    return simt_private_call(u->b, u->in, what, &x, 1);
}

/* `cond` and that no listed address wraps, at the builder; `cond` may be NULL. */
static LLVMValueRef build_nowrap(struct version *v, const struct copied_region *r, LLVMValueRef cond)
{
    struct ptx_copy made = { .b = v->u->b };
    for (int i = 0; i < v->n_ptrs; i++) {
        LLVMValueRef ok = private_build(v->u, SIMT_PRIVATE_NOWRAP, ptx_copy_computation(&made, v->ptrs[i], outside, r));
        cond = cond ? LLVMBuildAnd(v->u->b, cond, ok, "") : ok;
    }
    v->ok = v->ok && !made.failed;
    ptx_copy_fini(&made);
    return cond;
}

/* ---- Copying */

static void *copied(const struct version *v, const void *x)
{
    return ptx_copied(&v->copy, x);
}

static void begin_copy(struct version *v)
{
    ptx_copy_fini(&v->copy);
    v->copy = (struct ptx_copy){ .b = v->u->b };
}

static void copy_block(struct version *v, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMPositionBuilderAtEnd(v->u->b, to);
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x; x = LLVMGetNextInstruction(x), v->grown++)
        ptx_copy_as_is(&v->copy, x);
}

static void settle_pointer(struct version *v, LLVMValueRef access, enum simt_private how)
{
    unsigned at = LLVMGetInstructionOpcode(access) == LLVMStore;
    LLVMPositionBuilderBefore(v->u->b, access);
    LLVMSetOperand(access, at, private_build(v->u, how, LLVMGetOperand(access, at)));
}

static bool accesses_listed(struct version *v, LLVMValueRef x)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(x);
    return v->n_ptrs && (op == LLVMLoad || op == LLVMStore) && listed(v, LLVMGetOperand(x, op == LLVMStore));
}

/* Operands and edges of a copied block; phis keep edges from outside the region as they are. */
static void connect_block(struct version *v, LLVMBasicBlockRef from)
{
    for (LLVMValueRef x = LLVMGetFirstInstruction(from); x; x = LLVMGetNextInstruction(x)) {
        LLVMValueRef c = copied(v, x);
        if (LLVMIsAPHINode(x)) {
            for (unsigned i = 0; i < LLVMCountIncoming(x); i++)
                ptx_phi_add(c, copied(v, LLVMGetIncomingValue(x, i)), copied(v, LLVMGetIncomingBlock(x, i)));
            continue;
        }
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
            LLVMValueRef o = LLVMGetOperand(x, i), n = copied(v, o);
            if (n != o && !LLVMValueIsBasicBlock(o))
                LLVMSetOperand(c, i, n);
        }
        if (accesses_listed(v, x))
            settle_pointer(v, c, SIMT_PRIVATE_EXACT);
        if (LLVMIsATerminatorInst(x))
            for (unsigned i = 0; i < LLVMGetNumSuccessors(x); i++)
                LLVMSetSuccessor(c, i, copied(v, LLVMGetSuccessor(x, i)));
    }
}

/* In the copy first[i] stands for even[i], i < n. */
static void copy_region(struct version *v, const struct copied_region *r, const LLVMValueRef *even, const LLVMValueRef *first,
                        int n)
{
    begin_copy(v);
    for (int b = 0; b < r->f->n_blocks; b++)
        if (inside(r, b))
            note(v, &v->copy.of, r->f->blocks[b].bb, LLVMAppendBasicBlockInContext(v->u->ctx, v->fn, "all"));
    for (int b = 0; v->ok && b < r->f->n_blocks; b++)
        if (inside(r, b))
            copy_block(v, r->f->blocks[b].bb, copied(v, r->f->blocks[b].bb));
    for (int i = 0; i < n; i++)
        if (!inside_value(r, even[i]))
            ptx_copy_note(&v->copy, even[i], first[i]);
    v->ok = v->ok && !v->copy.failed;
    for (int b = 0; v->ok && b < r->f->n_blocks; b++)
        if (inside(r, b))
            connect_block(v, r->f->blocks[b].bb);
    for (int i = 0; v->ok && i < n; i++)
        if (inside_value(r, even[i]))
            LLVMReplaceAllUsesWith(copied(v, even[i]), first[i]);
}

/* The originals may be run by some lanes only. */
static void chill(struct version *v, const struct copied_region *r)
{
    for (int b = 0; b < r->f->n_blocks; b++)
        if (inside(r, b))
            note(v, &v->cold, r->f->blocks[b].bb, v);
}

/* `now` stands where the phi `old` did, whose address may come back as another's. */
static void replaced(struct version *v, LLVMValueRef old, LLVMValueRef now)
{
    void *copy = aw_ptrmap_remove(&v->copy.of, old);
    if (copy)
        note(v, &v->copy.of, now, copy);
}

LLVMValueRef simt_all_build(struct simt *u, LLVMValueRef cond)
{
    return private_build(u, SIMT_PRIVATE_ALL, cond);
}

static LLVMBasicBlockRef new_block(struct version *v, const char *name, bool cold)
{
    LLVMBasicBlockRef bb = LLVMAppendBasicBlockInContext(v->u->ctx, v->fn, name);
    if (cold)
        note(v, &v->cold, bb, v);
    return bb;
}

struct rename {
    struct version *v;
    LLVMBasicBlockRef from, to;
    bool more; /* edges from copied blocks, besides */
};

static void renamed_edges(LLVMValueRef old, LLVMValueRef now, void *data)
{
    const struct rename *r = data;
    struct version *v = r->v;
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(old, i);
        LLVMValueRef x = LLVMGetIncomingValue(old, i);
        ptx_phi_add(now, x, from == r->from ? r->to : from);
        if (r->more && copied(v, from) != from)
            ptx_phi_add(now, copied(v, x), copied(v, from));
    }
    replaced(v, old, now);
}

void simt_copy_if(struct version *v, const struct copied_region *r, bool together)
{
    LLVMBuilderRef b = v->u->b;
    LLVMBasicBlockRef head = r->f->blocks[r->head].bb, then = r->f->blocks[r->then].bb, join = r->f->blocks[r->join].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(head), cond = LLVMGetCondition(term);
    bool on_false = LLVMGetSuccessor(term, 1) == then;
    simt_copy_find_pointers(v, r);
    copy_region(v, r, NULL, NULL, 0);
    chill(v, r);
    if (!v->ok)
        return;
    LLVMBasicBlockRef some = new_block(v, "some", true);
    ptx_phis_rebuild(b, join, renamed_edges, &(struct rename){ v, head, some, true });
    ptx_phis_rebuild(b, then, renamed_edges, &(struct rename){ v, head, some, false });
    ptx_move_to_end(b, term, some);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef want = on_false ? LLVMBuildNot(b, cond, "") : cond;
    LLVMValueRef all = build_nowrap(v, r, simt_all_build(v->u, want));
    LLVMBuildCondBr(b, together ? private_build(v->u, SIMT_PRIVATE_TOGETHER, all) : all, copied(v, then), some);
}

/* ---- Loops of one block that go on while an index is below a bound, in steps no shorter than from the first lane to the last:
 * some lane is not to go on, so after one more round none is.  Unless an index wraps. */

enum { MAX_LAST = 32 }; /* instructions of the loop: beside more, what a loop under a mask costs is little */

struct last_round {
    LLVMValueRef index, bound, most; /* no lane's wraps in the next round where all are `most` at most */
    LLVMIntPredicate within;  /* how that is asked ... */
    LLVMValueRef fits;        /* ... and the answer */
    LLVMBasicBlockRef block;  /* the round, which is no loop; NULL: there is none */
    struct ptx_copy made;
};

/* Is it `index < bound` or `index <= bound`, or the opposite where that ends the loop?  Sets what is known of the index. */
static bool asks_below(LLVMValueRef cond, bool negated, struct last_round *ret)
{
    for (LLVMValueRef of; (of = simt_opposite(cond)) != NULL; negated = !negated)
        cond = of;
    LLVMIntPredicate p = LLVMIsAICmpInst(cond) ? LLVMGetICmpPredicate(cond) : LLVMIntEQ;
    bool is_signed = p == (negated ? LLVMIntSGE : LLVMIntSLT) || p == (negated ? LLVMIntSGT : LLVMIntSLE);
    bool is_unsigned = p == (negated ? LLVMIntUGE : LLVMIntULT) || p == (negated ? LLVMIntUGT : LLVMIntULE);
    ret->index = is_signed || is_unsigned ? LLVMGetOperand(cond, 0) : NULL;
    ret->bound = ret->index ? LLVMGetOperand(cond, 1) : NULL;
    ret->within = is_signed ? LLVMIntSLE : LLVMIntULE;
    return ret->index;
}

/* What a round adds to the index, which is looked at when that is done; 0: no constant. */
static int64_t step_of(const struct copied_region *r, LLVMValueRef x)
{
    int64_t step;
    LLVMValueRef phi = inside_value(r, x) && LLVMGetInstructionOpcode(x) == LLVMAdd ? LLVMGetOperand(x, 0) : NULL;
    if (!phi || !LLVMIsAPHINode(phi) || !inside_value(r, phi) || simt_loop_step(r->f, r->loop, phi) != LLVMGetOperand(x, 1))
        return 0;
    return simt_int_const(LLVMGetOperand(x, 1), &step) ? step : 0;
}

static bool has_last_round(const struct copied_region *r, LLVMValueRef cond, bool exit_if_true, struct last_round *ret)
{
    const struct simt_loop *l = &r->f->loops[r->loop];
    if (l->header != l->latch || simt_block_size(r->f->blocks[l->header].bb) > MAX_LAST || !asks_below(cond, exit_if_true, ret) ||
        !simt_uniform(r->f, ret->bound) || inside_value(r, ret->bound))
        return false;
    int64_t step = step_of(r, ret->index), span = simt_span(r->f, ret->index);
    if (step <= 0 || span < 0 || step < span || LLVMTypeOf(ret->index) != r->f->u->i32)
        return false;
    int64_t max = ret->within == LLVMIntSLE ? INT32_MAX : UINT32_MAX;
    ret->most = simt_c32(r->f->u, max - step);
    return true;
}

struct loop_edges {
    struct version *v;
    LLVMBasicBlockRef preheader, latch, warm_exit, cold_preheader, cold_exit;
    struct last_round last;
};

/* The original's block once more, behind the copy, for lanes of which none goes on; the loop is for indices that wrap. */
static void build_last_round(struct version *v, struct loop_edges *e)
{
    LLVMBuilderRef b = v->u->b;
    struct last_round *last = &e->last;
    last->block = new_block(v, "some.last", true);
    if (!v->ok)
        return;
    LLVMPositionBuilderAtEnd(b, last->block);
    last->made.b = b;
    for (LLVMValueRef x = LLVMGetFirstInstruction(e->latch); !LLVMIsATerminatorInst(x); x = LLVMGetNextInstruction(x))
        if (LLVMIsAPHINode(x))
            ptx_copy_note(&last->made, x, copied(v, ptx_phi_value(x, e->latch)));
        else
            ptx_copy_instruction(&last->made, x);
    v->ok = v->ok && !last->made.failed;
    LLVMBuildBr(b, e->cold_exit);
    LLVMBasicBlockRef wraps = new_block(v, "some.wraps", true);
    LLVMPositionBuilderAtEnd(b, e->cold_preheader);
    LLVMBuildCondBr(b, last->fits, last->block, wraps);
    e->cold_preheader = wraps; /* of the loop */
}

/* The original loop begins where the copy ends. */
static void header_edges(LLVMValueRef old, LLVMValueRef now, void *data)
{
    const struct loop_edges *e = data;
    struct version *v = e->v;
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMValueRef x = LLVMGetIncomingValue(old, i);
        if (LLVMGetIncomingBlock(old, i) != e->latch)
            continue;
        ptx_phi_add(now, copied(v, x), e->cold_preheader);
        ptx_phi_add(now, x, e->latch);
    }
    replaced(v, old, now);
}

static void exit_edges(LLVMValueRef old, LLVMValueRef now, void *data)
{
    const struct loop_edges *e = data;
    struct version *v = e->v;
    LLVMValueRef x = LLVMGetIncomingValue(old, 0), place = LLVMGetFirstInstruction(e->cold_exit);
    if (place)
        LLVMPositionBuilderBefore(v->u->b, place);
    else
        LLVMPositionBuilderAtEnd(v->u->b, e->cold_exit);
    LLVMValueRef left = LLVMBuildPhi(v->u->b, LLVMTypeOf(old), "");
    ptx_phi_add(left, x, e->latch);
    if (e->last.block)
        ptx_phi_add(left, ptx_copied(&e->last.made, x), e->last.block);
    ptx_phi_add(now, left, e->cold_exit);
    ptx_phi_add(now, copied(v, x), e->warm_exit);
    replaced(v, old, now);
}

void simt_copy_loop(struct version *v, const struct copied_region *r, bool together)
{
    LLVMBuilderRef b = v->u->b;
    const struct simt_loop *l = &r->f->loops[r->loop];
    LLVMBasicBlockRef header = r->f->blocks[l->header].bb, exit = r->f->blocks[l->exit].bb;
    v->n_ptrs = 0;
    struct loop_edges e = { .v = v, .preheader = r->f->blocks[l->preheader].bb, .latch = r->f->blocks[l->latch].bb };
    copy_region(v, r, NULL, NULL, 0);
    chill(v, r);
    e.warm_exit = new_block(v, "some", true);
    e.cold_preheader = new_block(v, "some.loop", true);
    e.cold_exit = new_block(v, "some.exit", true);
    if (!v->ok)
        return;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(e.latch), enter = LLVMGetBasicBlockTerminator(e.preheader);
    LLVMBasicBlockRef warm_latch = copied(v, e.latch), warm_header = copied(v, header);
    LLVMValueRef warm_term = LLVMGetBasicBlockTerminator(warm_latch), cond = LLVMGetCondition(warm_term);
    bool exit_if_true = LLVMGetSuccessor(term, 0) == exit;
    for (unsigned i = 0; i < LLVMGetNumSuccessors(enter); i++)
        if (LLVMGetSuccessor(enter, i) == header)
            LLVMSetSuccessor(enter, i, warm_header);
    LLVMPositionBuilderBefore(b, warm_term);
    LLVMValueRef all = simt_all_build(v->u, exit_if_true ? LLVMBuildNot(b, cond, "") : cond);
    LLVMBuildCondBr(b, together ? private_build(v->u, SIMT_PRIVATE_TOGETHER, all) : all, warm_header, e.warm_exit);
    LLVMInstructionEraseFromParent(warm_term);
    LLVMPositionBuilderAtEnd(b, e.warm_exit);
    bool ends = !together && has_last_round(r, LLVMGetCondition(term), exit_if_true, &e.last);
    if (ends) /* asked of all lanes of the copy: those that do not go on may be where the others have wrapped */
        e.last.fits = simt_all_build(v->u, LLVMBuildICmp(b, e.last.within, copied(v, e.last.index), e.last.most, ""));
    LLVMBuildCondBr(b, cond, exit_if_true ? exit : e.cold_preheader, exit_if_true ? e.cold_preheader : exit);
    if (ends)
        build_last_round(v, &e);
    LLVMPositionBuilderAtEnd(b, e.cold_preheader);
    LLVMBuildBr(b, header);
    LLVMPositionBuilderAtEnd(b, e.cold_exit);
    LLVMBuildBr(b, exit);
    LLVMSetSuccessor(term, exit_if_true ? 0 : 1, e.cold_exit);
    ptx_phis_rebuild(b, exit, exit_edges, &e);
    ptx_phis_rebuild(b, header, header_edges, &e);
    ptx_copy_fini(&e.last.made);
}

/* Uses of a block's value elsewhere get the phi that joins it and its copy. */
static void join_value(struct version *v, LLVMValueRef x, LLVMBasicBlockRef checked, LLVMBasicBlockRef exact,
                       LLVMBasicBlockRef join)
{
    LLVMValueRef phi = NULL, copy = copied(v, x);
    for (LLVMUseRef use = LLVMGetFirstUse(x), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (LLVMGetInstructionParent(user) == checked || user == phi)
            continue;
        if (!phi) {
            LLVMValueRef first = LLVMGetFirstInstruction(join);
            LLVMPositionBuilderBefore(v->u->b, first);
            phi = LLVMBuildPhi(v->u->b, LLVMTypeOf(x), "");
            ptx_phi_add(phi, x, checked);
            ptx_phi_add(phi, copy, exact);
            next = LLVMGetFirstUse(x); /* the list has changed */
            continue;
        }
        for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++)
            if (LLVMGetOperand(user, i) == x)
                LLVMSetOperand(user, i, phi);
        next = LLVMGetFirstUse(x);
    }
}

struct twins {
    LLVMBasicBlockRef checked, exact, join;
};

/* From `first` on the block is there twice: in a copy if `cond`, which has been built before it. */
static struct twins copy_rest(struct version *v, LLVMBasicBlockRef bb, LLVMValueRef first, LLVMValueRef cond)
{
    LLVMBuilderRef b = v->u->b;
    bool cold = aw_ptrmap_find(&v->cold, bb) != NULL;
    struct twins t = { new_block(v, "wraps", true), new_block(v, "exact", cold), new_block(v, "joined", cold) };
    LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
    begin_copy(v);
    LLVMPositionBuilderBefore(b, first);
    LLVMBuildCondBr(b, cond, t.exact, t.checked);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        ptx_phis_rebuild(b, LLVMGetSuccessor(term, i), renamed_edges, &(struct rename){ v, bb, t.join, false });
    ptx_move_to_end(b, term, t.join);
    for (LLVMValueRef next; first && first != term; first = next) {
        next = LLVMGetNextInstruction(first);
        ptx_move_to_end(b, first, t.checked);
    }
    copy_block(v, t.checked, t.exact);
    v->ok = v->ok && !v->copy.failed;
    connect_block(v, t.checked);
    for (LLVMValueRef x = LLVMGetFirstInstruction(t.checked); x; x = LLVMGetNextInstruction(x)) {
        join_value(v, x, t.checked, t.exact, t.join);
        if (accesses_listed(v, x))
            settle_pointer(v, x, SIMT_PRIVATE_APART);
    }
    LLVMPositionBuilderAtEnd(b, t.checked);
    LLVMBuildBr(b, t.join);
    LLVMPositionBuilderAtEnd(b, t.exact);
    LLVMBuildBr(b, t.join);
    return t;
}

void simt_copy_block(struct version *v, const struct copied_region *r)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef first = ptx_behind_phis(LLVMGetFirstInstruction(bb));
    LLVMPositionBuilderBefore(v->u->b, first);
    struct twins t = copy_rest(v, bb, first, build_nowrap(v, r, NULL));
    note(v, &v->plain, t.exact, v);
    note(v, &v->plain, t.checked, v);
    note(v, &v->plain, t.join, v);
}

void simt_copy_choices(struct version *v, const struct copied_region *r, const struct choice *choice, int n)
{
    LLVMBasicBlockRef bb = r->f->blocks[r->head].bb;
    LLVMValueRef first = ptx_behind_phis(LLVMGetFirstInstruction(bb)), cond = NULL;
    struct ptx_copy made = { .b = v->u->b };
    LLVMPositionBuilderBefore(v->u->b, first);
    for (int i = 0; i < n; i++) {
        LLVMValueRef c = ptx_copy_computation(&made, LLVMGetOperand(choice[i].x, 0), outside, r);
        c = choice[i].arm == 1 ? c : LLVMBuildNot(v->u->b, c, "");
        cond = cond ? LLVMBuildAnd(v->u->b, cond, c, "") : c;
    }
    v->ok = v->ok && !made.failed;
    ptx_copy_fini(&made);
    v->n_ptrs = 0;
    struct twins t = copy_rest(v, bb, first, simt_all_build(v->u, cond));
    for (int i = 0; i < n && v->ok; i++) {
        LLVMValueRef c = copied(v, choice[i].x);
        LLVMReplaceAllUsesWith(c, LLVMGetOperand(c, choice[i].arm));
    }
    note(v, &v->plain, t.checked, v); /* rare, and large as it is */
    note(v, &v->chosen, t.checked, v);
    note(v, &v->chosen, t.exact, v);
    note(v, &v->chosen, t.join, v);
}

void simt_copy_set_branch_apart(struct version *v, LLVMBasicBlockRef bb)
{
    LLVMValueRef term = LLVMGetBasicBlockTerminator(bb);
    LLVMBasicBlockRef branch = new_block(v, "counted", false);
    begin_copy(v);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        ptx_phis_rebuild(v->u->b, LLVMGetSuccessor(term, i), renamed_edges, &(struct rename){ v, bb, branch, false });
    ptx_move_to_end(v->u->b, term, branch);
    LLVMPositionBuilderAtEnd(v->u->b, bb);
    LLVMBuildBr(v->u->b, branch);
}

static LLVMValueRef build_same(struct version *v, LLVMValueRef x, LLVMValueRef first)
{
    return LLVMBuildICmp(v->u->b, LLVMIntEQ, x, first, "");
}

void simt_copy_even(struct version *v, const struct copied_region *r, LLVMBasicBlockRef at)
{
    LLVMBuilderRef b = v->u->b;
    LLVMBasicBlockRef then = v->f.blocks[r->then].bb;
    LLVMValueRef term = LLVMGetBasicBlockTerminator(at);
    struct ptx_copy made = { .b = b };
    size_t before = v->grown;
    v->n_ptrs = 0;
    LLVMPositionBuilderBefore(b, term);
    LLVMValueRef count = ptx_copy_computation(&made, v->count, outside, r), even[2] = { v->count, v->cond };
    LLVMValueRef first[2] = { private_build(v->u, SIMT_PRIVATE_FIRST, count), private_build(v->u, SIMT_PRIVATE_FIRST, v->cond) };
    LLVMValueRef same = LLVMBuildAnd(b, build_same(v, count, first[0]), build_same(v, v->cond, first[1]), "");
    same = simt_all_build(v->u, same);
    v->ok = v->ok && !made.failed;
    ptx_copy_fini(&made);
    copy_region(v, r, even, first, 2);
    chill(v, r);
    for (int i = 0; i < r->f->n_blocks; i++)
        if (v->u->options->versions && !v->u->options->gathers && inside(r, i))
            note(v, &v->uneven, r->f->blocks[i].bb, v);
    v->even += v->grown - before;
    v->grown = before;
    if (!v->ok)
        return;
    ptx_phis_rebuild(b, v->f.blocks[r->join].bb, renamed_edges, &(struct rename){ v, NULL, NULL, true });
    LLVMInstructionEraseFromParent(term);
    LLVMPositionBuilderAtEnd(b, at);
    LLVMBuildCondBr(b, same, copied(v, then), then);
}
