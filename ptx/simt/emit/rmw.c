/* Atomic updates of a warp, lane by lane, and compare-and-swap: what atomic.c does not join and lookup_table.c does not count.
 *
 * Active lanes one after another.  A block's shared memory belongs to one thread, so there plain operations suffice; the
 * optimiser then sees them, too. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

static LLVMValueRef pick(struct simt *u, LLVMIntPredicate pred, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(u->b, LLVMBuildICmp(u->b, pred, a, b, ""), a, b, "");
}

LLVMValueRef simt_rmw_value(struct simt *u, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMTypeOf(old);
    LLVMValueRef args[2] = { old, x };
    switch (op) {
    case LLVMAtomicRMWBinOpXchg: return x;
    case LLVMAtomicRMWBinOpAdd: return LLVMBuildAdd(u->b, old, x, "");
    case LLVMAtomicRMWBinOpSub: return LLVMBuildSub(u->b, old, x, "");
    case LLVMAtomicRMWBinOpAnd: return LLVMBuildAnd(u->b, old, x, "");
    case LLVMAtomicRMWBinOpNand: return LLVMBuildNot(u->b, LLVMBuildAnd(u->b, old, x, ""), "");
    case LLVMAtomicRMWBinOpOr: return LLVMBuildOr(u->b, old, x, "");
    case LLVMAtomicRMWBinOpXor: return LLVMBuildXor(u->b, old, x, "");
    case LLVMAtomicRMWBinOpMax: return pick(u, LLVMIntSGT, old, x);
    case LLVMAtomicRMWBinOpMin: return pick(u, LLVMIntSLT, old, x);
    case LLVMAtomicRMWBinOpUMax: return pick(u, LLVMIntUGT, old, x);
    case LLVMAtomicRMWBinOpUMin: return pick(u, LLVMIntULT, old, x);
    case LLVMAtomicRMWBinOpFAdd: return LLVMBuildFAdd(u->b, old, x, "");
    case LLVMAtomicRMWBinOpFSub: return LLVMBuildFSub(u->b, old, x, "");
    case LLVMAtomicRMWBinOpFMax: return simt_intrinsic(u, "llvm.maxnum", &t, 1, args, 2);
    case LLVMAtomicRMWBinOpFMin: return simt_intrinsic(u, "llvm.minnum", &t, 1, args, 2);
    case LLVMAtomicRMWBinOpUIncWrap:
        return LLVMBuildSelect(u->b, LLVMBuildICmp(u->b, LLVMIntUGE, old, x, ""), LLVMConstNull(t),
                               LLVMBuildAdd(u->b, old, LLVMConstInt(t, 1, 0), ""), "");
    case LLVMAtomicRMWBinOpUDecWrap: {
        LLVMValueRef wrap = LLVMBuildOr(u->b, LLVMBuildICmp(u->b, LLVMIntEQ, old, LLVMConstNull(t), ""),
                                        LLVMBuildICmp(u->b, LLVMIntUGT, old, x, ""), "");
        return LLVMBuildSelect(u->b, wrap, x, LLVMBuildSub(u->b, old, LLVMConstInt(t, 1, 0), ""), "");
    }
    default: return NULL;
    }
}

LLVMValueRef simt_rmw_lane(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef p, LLVMValueRef x)
{
    struct simt *u = f->u;
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(inst);
    if (simt_block_owned(u, inst, LLVMGetOperand(inst, 0)) && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVectorTypeKind) {
        LLVMValueRef old = LLVMBuildLoad2(u->b, LLVMTypeOf(x), p, "");
        LLVMValueRef now = simt_rmw_value(u, op, old, x);
        if (now) {
            LLVMBuildStore(u->b, now, p);
            return old;
        }
    }
    return LLVMBuildAtomicRMW(u->b, op, p, x, LLVMGetOrdering(inst), 0);
}

/* Every lane runs and memory is the block's own: straight-line code, as for scattered accesses. */
static LLVMValueRef rmw_straight(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(inst, 0), value = LLVMGetOperand(inst, 1);
    LLVMValueRef p = simt_vector(f, ptr), x = simt_uniform(f, value) ? NULL : simt_vector(f, value);
    LLVMValueRef one = x ? NULL : simt_scalar(f, value), r = LLVMGetPoison(simt_vec_type(u, simt_type(u, LLVMTypeOf(value))));
    for (int i = 0; i < u->lanes; i++) {
        LLVMValueRef at = simt_window(f, LLVMBuildExtractElement(u->b, p, simt_c32(u, i), ""));
        LLVMValueRef by = x ? LLVMBuildExtractElement(u->b, x, simt_c32(u, i), "") : one;
        r = LLVMBuildInsertElement(u->b, r, simt_rmw_lane(f, inst, at, by), simt_c32(u, i), "");
    }
    return r;
}

/* The active lanes one after another. */
static LLVMValueRef rmw_loop(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(inst, 0), value = LLVMGetOperand(inst, 1);
    LLVMTypeRef elem = simt_type(u, LLVMTypeOf(value));
    bool one_ptr = simt_uniform(f, ptr), one_value = simt_uniform(f, value), used = LLVMGetFirstUse(inst) != NULL;
    LLVMValueRef p = one_ptr ? simt_address(f, ptr) : NULL, x = one_value ? simt_scalar(f, value) : NULL;
    if (!one_ptr)
        simt_spill(f, 0, simt_addresses(f, ptr));
    if (!one_value)
        simt_spill(f, 1, simt_vector(f, value));
    struct simt_lanes it;
    simt_lanes_begin(f, f->mask, &it);
    LLVMValueRef old = simt_rmw_lane(f, inst, one_ptr ? p : simt_lane_get(f, 0, u->ptr, it.lane),
                                one_value ? x : simt_lane_get(f, 1, elem, it.lane));
    if (used)
        simt_lane_put(f, 3, old, it.lane);
    simt_lanes_end(f, &it);
    return used ? simt_reload(f, 3, simt_vec_type(u, elem)) : LLVMGetPoison(simt_vec_type(u, elem));
}

/* At least as many active lanes as make counting in a table as quick as one after the other: about 45 instructions to 6 each. */
static LLVMValueRef many_on(struct simt_fn *f)
{
    struct simt *u = f->u;
    LLVMValueRef bits = simt_bits(u, f->mask);
    return LLVMBuildICmp(u->b, LLVMIntUGE, simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &bits, 1),
                         simt_c32(u, (int64_t)simt_threshold(u, PTX_THRESHOLD_COUNT_MANY)), "");
}

static LLVMValueRef rmw_together(struct simt_fn *f, LLVMValueRef inst, const struct simt_lookup_table *table)
{
    if (!table)
        return rmw_straight(f, inst);
    simt_table_count(f, inst, table);
    return LLVMGetPoison(simt_vec_type(f->u, simt_type(f->u, LLVMTypeOf(inst))));
}

/* Where divergent code has no copies for whole warps, which would have straight-line updates, each update asks. */
static LLVMValueRef rmw_together_or_loop(struct simt_fn *f, LLVMValueRef inst, const struct simt_lookup_table *table)
{
    struct simt *u = f->u;
    LLVMBasicBlockRef all = simt_new_block(f, "update.all"), some = simt_new_block(f, "update.some"),
                      done = simt_new_block(f, "update.done"), from[2];
    LLVMValueRef x[2];
    LLVMBuildCondBr(u->b, table ? many_on(f) : simt_all_on(u, f->mask), all, some);
    LLVMPositionBuilderAtEnd(u->b, all);
    x[0] = rmw_together(f, inst, table);
    from[0] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, some);
    f->epoch++;
    x[1] = rmw_loop(f, inst);
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++; /* distances built in either block are of no use here */
    return simt_phi2(u, x, from);
}

/* May an update be straight-line code where every lane runs? */
static bool rmw_unrolls(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMValueRef ptr = LLVMGetOperand(inst, 0);
    return simt_is_shared_ptr(LLVMTypeOf(ptr)) && !simt_uniform(f, ptr) && !(f->mask && f->u->options->versions) &&
           f->rmws++ < (int)simt_threshold(f->u, PTX_THRESHOLD_STRAIGHT_UPDATES);
}

bool simt_one_lane_update(struct simt_fn *f, LLVMValueRef inst)
{
    if (f->form != SIMT_FORM_SINGLE)
        return false;
    LLVMValueRef p = simt_address(f, LLVMGetOperand(inst, 0));
    simt_set_scalar(f, inst, simt_rmw_lane(f, inst, p, simt_scalar(f, LLVMGetOperand(inst, 1))));
    return true;
}

static bool update_together(struct simt_fn *f, LLVMValueRef inst, const struct simt_lookup_table *table)
{
    simt_set_vector(f, inst, f->mask ? rmw_together_or_loop(f, inst, table) : rmw_together(f, inst, table));
    return true;
}

bool simt_table_update(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt_lookup_table t;
    return simt_table_counts(f, inst, &t) && update_together(f, inst, &t);
}

bool simt_straight_update(struct simt_fn *f, LLVMValueRef inst)
{
    return rmw_unrolls(f, inst) && update_together(f, inst, NULL);
}

/* Adds what may be nothing, as a block's counters most of which are 0, and nobody asks what was there. */
static bool may_change_nothing(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(inst);
    LLVMValueRef value = LLVMGetOperand(inst, 1);
    bool fits = op == LLVMAtomicRMWBinOpAdd || op == LLVMAtomicRMWBinOpSub || op == LLVMAtomicRMWBinOpOr ||
                op == LLVMAtomicRMWBinOpXor;
    return fits && LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind && !LLVMGetFirstUse(inst) &&
           !LLVMGetVolatile(inst) && LLVMGetOrdering(inst) == LLVMAtomicOrderingMonotonic && simt_varying(f, value);
}

/* A relaxed update by 0 orders nothing and leaves what was there: only lanes with something to add take their turn. */
bool simt_nonzero_update(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    if (!may_change_nothing(f, inst))
        return false;
    LLVMValueRef x = simt_vector(f, LLVMGetOperand(inst, 1)), mask = f->mask;
    f->mask = simt_mask_and(u, mask, LLVMBuildICmp(u->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), ""));
    LLVMBasicBlockRef some = simt_new_block(f, "update.some"), done = simt_new_block(f, "update.done");
    LLVMBuildCondBr(u->b, simt_any(u, f->mask), some, done);
    LLVMPositionBuilderAtEnd(u->b, some);
    f->epoch++;
    LLVMValueRef nothing = rmw_loop(f, inst);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    f->epoch++;
    f->mask = mask;
    simt_set_vector(f, inst, nothing);
    return true;
}

bool simt_each_update(struct simt_fn *f, LLVMValueRef inst)
{
    simt_set_vector(f, inst, rmw_loop(f, inst));
    return true;
}

/* The old value, and whether it was as expected. */
static void cmpxchg_lane(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef p, LLVMValueRef want, LLVMValueRef x,
                         LLVMValueRef ret[2])
{
    struct simt *u = f->u;
    if (simt_block_owned(u, inst, LLVMGetOperand(inst, 0)) && LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMIntegerTypeKind) {
        ret[0] = LLVMBuildLoad2(u->b, LLVMTypeOf(x), p, "");
        ret[1] = LLVMBuildICmp(u->b, LLVMIntEQ, ret[0], want, "");
        LLVMBuildStore(u->b, LLVMBuildSelect(u->b, ret[1], x, ret[0], ""), p);
        return;
    }
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(u->b, p, want, x, LLVMGetCmpXchgSuccessOrdering(inst),
                                               LLVMGetCmpXchgFailureOrdering(inst), 0);
    ret[0] = LLVMBuildExtractValue(u->b, pair, 0, "");
    ret[1] = LLVMBuildExtractValue(u->b, pair, 1, "");
}

void simt_cmpxchg_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(inst, 0), want = LLVMGetOperand(inst, 1), value = LLVMGetOperand(inst, 2), pair[2];
    LLVMTypeRef elem = simt_type(u, LLVMTypeOf(value));
    if (f->form == SIMT_FORM_SINGLE) {
        cmpxchg_lane(f, inst, simt_address(f, ptr), simt_scalar(f, want), simt_scalar(f, value), pair);
        simt_set_field(f, inst, 0, pair[0], NULL);
        simt_set_field(f, inst, 1, pair[1], NULL);
        return;
    }
    simt_spill(f, 0, simt_addresses(f, ptr));
    simt_spill(f, 1, simt_vector(f, want));
    simt_spill(f, 2, simt_vector(f, value));
    struct simt_lanes it;
    simt_lanes_begin(f, f->mask, &it);
    LLVMValueRef p = simt_lane_get(f, 0, u->ptr, it.lane), w = simt_lane_get(f, 1, elem, it.lane);
    cmpxchg_lane(f, inst, p, w, simt_lane_get(f, 2, elem, it.lane), pair);
    simt_lane_put(f, 3, pair[0], it.lane);
    simt_lane_put(f, 4, pair[1], it.lane);
    simt_lanes_end(f, &it);
    simt_set_field(f, inst, 0, NULL, simt_reload(f, 3, simt_vec_type(u, elem)));
    simt_set_field(f, inst, 1, NULL, simt_reload(f, 4, simt_vec_type(u, u->i1)));
}
