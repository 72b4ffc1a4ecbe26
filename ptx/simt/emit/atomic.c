/* Atomic updates of one address by a whole warp, done as one.
 *
 * The lanes of a warp that update the same place may do so in any order with nothing in between, so one update by what they make
 * together is enough; where a lane asks for the old value, it gets what it would have seen in the order of lanes.  Integer
 * operations are joined by a reduction.  Others (of floating point, whose sums depend on the order, and those that wrap) go lane
 * by lane in registers, between one load and one compare-and-swap.  Not updates of several addresses: those are memory.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

/* How the lanes' operands are joined.  `op` joins two of them; the value that changes nothing is `zero` or its complement, or for
 * signed comparisons the sign bit or its complement. */
struct joint {
    LLVMAtomicRMWBinOp rmw, op;
    const char *reduce;
    bool ones, sign;
};

static const struct joint joints[] = {
    { LLVMAtomicRMWBinOpAdd, LLVMAtomicRMWBinOpAdd, "llvm.vector.reduce.add", false, false },
    { LLVMAtomicRMWBinOpSub, LLVMAtomicRMWBinOpAdd, "llvm.vector.reduce.add", false, false },
    { LLVMAtomicRMWBinOpAnd, LLVMAtomicRMWBinOpAnd, "llvm.vector.reduce.and", true, false },
    { LLVMAtomicRMWBinOpOr, LLVMAtomicRMWBinOpOr, "llvm.vector.reduce.or", false, false },
    { LLVMAtomicRMWBinOpXor, LLVMAtomicRMWBinOpXor, "llvm.vector.reduce.xor", false, false },
    { LLVMAtomicRMWBinOpMax, LLVMAtomicRMWBinOpMax, "llvm.vector.reduce.smax", false, true },
    { LLVMAtomicRMWBinOpMin, LLVMAtomicRMWBinOpMin, "llvm.vector.reduce.smin", true, true },
    { LLVMAtomicRMWBinOpUMax, LLVMAtomicRMWBinOpUMax, "llvm.vector.reduce.umax", false, false },
    { LLVMAtomicRMWBinOpUMin, LLVMAtomicRMWBinOpUMin, "llvm.vector.reduce.umin", true, false },
};

static const struct joint *find_joint(LLVMAtomicRMWBinOp op)
{
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++)
        if (joints[i].rmw == op)
            return &joints[i];
    return NULL;
}

static LLVMValueRef neutral(const struct joint *j, LLVMTypeRef t)
{
    uint64_t sign = UINT64_C(1) << (LLVMGetIntTypeWidth(t) - 1);
    uint64_t x = j->sign ? sign : 0;
    return LLVMConstInt(t, j->ones ? ~x : x, 0);
}

/* One update being emitted. */
struct atomic_update {
    struct simt_fn *f;
    LLVMValueRef inst, p;  /* the source instruction; its address, a scalar */
    LLVMValueRef x;        /* the operand, where it is uniform; else NULL and */
    LLVMValueRef xs;       /* the operands */
    LLVMTypeRef elem;
    const struct joint *j;
};

static bool is_sum(const struct atomic_update *a)
{
    return a->j->op == LLVMAtomicRMWBinOpAdd;
}

/* The active lanes' operands; the others' change nothing. */
static LLVMValueRef operands(const struct atomic_update *a)
{
    struct simt *u = a->f->u;
    LLVMValueRef xs = a->x ? simt_splat(u, a->x) : a->xs;
    return a->f->mask ? LLVMBuildSelect(u->b, a->f->mask, xs, simt_splat(u, neutral(a->j, a->elem)), "") : xs;
}

/* What the lanes add up to. */
static LLVMValueRef together(const struct atomic_update *a)
{
    struct simt *u = a->f->u;
    if (a->x && is_sum(a)) {
        LLVMValueRef bits = simt_bits(u, a->f->mask);
        LLVMValueRef n = simt_intrinsic(u, "llvm.ctpop", &u->i32, 1, &bits, 1);
        return LLVMBuildMul(u->b, LLVMBuildIntCast2(u->b, n, a->elem, 0, ""), a->x, "");
    }
    if (a->x && a->j->op != LLVMAtomicRMWBinOpXor)
        return a->x;
    LLVMValueRef xs = operands(a);
    LLVMTypeRef t = LLVMTypeOf(xs);
    return simt_intrinsic(u, a->j->reduce, &t, 1, &xs, 1);
}

/* Moves every lane's value `by` lanes up; the lowest get `fill`. */
static LLVMValueRef shift_lanes(struct simt *u, LLVMValueRef v, LLVMValueRef fill, int by)
{
    int at[SIMT_LANES];
    for (int i = 0; i < u->lanes; i++)
        at[i] = i < by ? u->lanes + i : i - by;
    return LLVMBuildShuffleVector(u->b, v, fill, simt_const_i32v(u, at, u->lanes), "");
}

/* For each lane, how many active ones are below it: <32 x i32>. */
static LLVMValueRef ranks(struct simt_fn *f)
{
    struct simt *u = f->u;
    int64_t below[SIMT_LANES];
    if (!f->mask)
        return simt_offset_vec(u, u->lane_offsets, u->i32);
    for (int i = 0; i < u->lanes; i++)
        below[i] = (INT64_C(1) << i) - 1;
    LLVMValueRef bits = LLVMBuildAnd(u->b, simt_splat(u, simt_bits(u, f->mask)), simt_offset_vec(u, below, u->i32), "");
    return simt_intrinsic(u, "llvm.ctpop", &u->i32v, 1, &bits, 1);
}

/* For each lane, what the active ones below it have together. */
static LLVMValueRef before(const struct atomic_update *a)
{
    struct simt *u = a->f->u;
    if (a->x && is_sum(a)) {
        LLVMValueRef n = LLVMBuildIntCast2(u->b, ranks(a->f), simt_vec_type(u, a->elem), 0, "");
        return LLVMBuildMul(u->b, n, simt_splat(u, a->x), "");
    }
    LLVMValueRef none = simt_splat(u, neutral(a->j, a->elem)), v = shift_lanes(u, operands(a), none, 1);
    for (int by = 1; by < u->lanes; by *= 2)
        v = simt_rmw_value(u, a->j->op, v, shift_lanes(u, v, none, by));
    return v;
}

/* The old values when several lanes take part. */
static LLVMValueRef joined(const struct atomic_update *a)
{
    struct simt *u = a->f->u;
    LLVMValueRef old = simt_rmw_lane(a->f, a->inst, a->p, together(a));
    return simt_rmw_value(u, a->j->rmw, simt_splat(u, old), before(a));
}

/* Before a lane of its own is chosen to update for all, as programs do, joining would be wasted. */
static LLVMValueRef joined_or_single(const struct atomic_update *a)
{
    struct simt_fn *f = a->f;
    struct simt *u = f->u;
    if (!f->mask || a->x)
        return joined(a);
    LLVMBasicBlockRef one = simt_new_block(f, "update.one"), many = simt_new_block(f, "update.many"),
                      done = simt_new_block(f, "update.done"), from[2];
    LLVMValueRef bits = simt_bits(u, f->mask), x[2];
    LLVMValueRef rest = LLVMBuildAnd(u->b, bits, LLVMBuildSub(u->b, bits, simt_c32(u, 1), ""), "");
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntEQ, rest, simt_c32(u, 0), ""), one, many);
    LLVMPositionBuilderAtEnd(u->b, one);
    LLVMValueRef mine = LLVMBuildExtractElement(u->b, a->xs, simt_first_lane(u, f->mask, false), "");
    x[0] = simt_splat(u, simt_rmw_lane(f, a->inst, a->p, mine));
    from[0] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, many);
    x[1] = joined(a);
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    return simt_phi2(u, x, from);
}

/* ---- Lane by lane between a load and a compare-and-swap */

static void swapped(const struct atomic_update *a, bool used)
{
    struct simt_fn *f = a->f;
    struct simt *u = f->u;
    LLVMTypeRef word = LLVMIntTypeInContext(u->ctx, (unsigned)(LLVMSizeOfTypeInBits(u->in_layout, a->elem)));
    LLVMValueRef acc = simt_variable(f, a->elem), ok;
    LLVMBasicBlockRef from[2], again = simt_new_block(f, "update"), done = simt_new_block(f, "update.done");
    LLVMValueRef in[2] = { LLVMBuildLoad2(u->b, word, a->p, "") };
    LLVMSetOrdering(in[0], LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(in[0], LLVMGetAlignment(a->inst));
    if (!a->x)
        simt_spill(f, 1, a->xs);
    from[0] = LLVMGetInsertBlock(u->b);
    LLVMBuildBr(u->b, again);
    LLVMPositionBuilderAtEnd(u->b, again);
    LLVMValueRef old = LLVMBuildPhi(u->b, word, "");
    LLVMBuildStore(u->b, LLVMBuildBitCast(u->b, old, a->elem, ""), acc);
    struct simt_lanes it;
    simt_lanes_begin(f, f->mask, &it);
    LLVMValueRef was = LLVMBuildLoad2(u->b, a->elem, acc, "");
    if (used)
        simt_lane_put(f, 3, was, it.lane);
    LLVMValueRef x = a->x ? a->x : simt_lane_get(f, 1, a->elem, it.lane);
    LLVMBuildStore(u->b, simt_rmw_value(u, LLVMGetAtomicRMWBinOp(a->inst), was, x), acc);
    simt_lanes_end(f, &it);
    LLVMValueRef now = LLVMBuildBitCast(u->b, LLVMBuildLoad2(u->b, a->elem, acc, ""), word, "");
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(u->b, a->p, old, now, LLVMGetOrdering(a->inst), LLVMAtomicOrderingMonotonic, 0);
    LLVMSetAlignment(pair, LLVMGetAlignment(a->inst));
    in[1] = LLVMBuildExtractValue(u->b, pair, 0, "");
    ok = LLVMBuildExtractValue(u->b, pair, 1, "");
    from[1] = LLVMGetInsertBlock(u->b);
    LLVMAddIncoming(old, in, from, 2);
    LLVMBuildCondBr(u->b, ok, done, again);
    LLVMPositionBuilderAtEnd(u->b, done);
}

/* Does lane by lane in registers spare anything?  A block's own memory has no locked operations to spare. */
static bool worth_swapping(const struct atomic_update *a)
{
    switch (LLVMGetAtomicRMWBinOp(a->inst)) {
    case LLVMAtomicRMWBinOpFAdd: case LLVMAtomicRMWBinOpFSub: case LLVMAtomicRMWBinOpFMax: case LLVMAtomicRMWBinOpFMin:
    case LLVMAtomicRMWBinOpUIncWrap: case LLVMAtomicRMWBinOpUDecWrap: case LLVMAtomicRMWBinOpNand:
        return !simt_block_owned(a->f->u, a->inst, LLVMGetOperand(a->inst, 0)) && LLVMGetTypeKind(a->elem) != LLVMVectorTypeKind;
    default:
        return false;
    }
}

bool simt_joined_update(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef ptr = LLVMGetOperand(inst, 0), value = LLVMGetOperand(inst, 1);
    struct atomic_update a = { .f = f, .inst = inst, .elem = simt_type(u, LLVMTypeOf(value)) };
    bool used = LLVMGetFirstUse(inst) != NULL;
    if (!simt_uniform(f, ptr) || LLVMGetVolatile(inst))
        return false;
    bool integer = LLVMGetTypeKind(a.elem) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(a.elem) >= 32 &&
                   LLVMGetIntTypeWidth(a.elem) <= 64;
    a.j = integer ? find_joint(LLVMGetAtomicRMWBinOp(inst)) : NULL;
    if (!a.j && !worth_swapping(&a))
        return false;
    a.p = simt_address(f, ptr);
    a.x = simt_uniform(f, value) ? simt_scalar(f, value) : NULL;
    a.xs = a.x ? NULL : simt_vector(f, value);
    if (!a.j) {
        swapped(&a, used);
        if (used)
            simt_set_vector(f, inst, simt_reload(f, 3, simt_vec_type(u, a.elem)));
    } else if (used) {
        simt_set_vector(f, inst, joined_or_single(&a));
    } else {
        simt_rmw_lane(f, inst, a.p, together(&a));
    }
    if (!used)
        simt_set_vector(f, inst, LLVMGetPoison(simt_vec_type(u, a.elem)));
    return true;
}

/* Scope "workgroup" orders and joins the threads of a block only, and those are one thread of the machine. */
bool simt_block_scope(struct simt *u, LLVMValueRef inst)
{
    return LLVMGetAtomicSyncScopeID(inst) == LLVMGetSyncScopeID(u->ctx, "workgroup", 9);
}

bool simt_block_owned(struct simt *u, LLVMValueRef inst, LLVMValueRef ptr)
{
    bool owned = simt_is_shared_ptr(LLVMTypeOf(ptr)) || simt_block_scope(u, inst);
    u->plain_updates |= owned; /* who asks makes loads and stores of it */
    return owned;
}
