/* Warp operations: shuffles, votes, matches, reductions, elections among the active lanes that the member mask names.
 *
 * A member mask may differ by lane (each group of lanes passes its own), so every operation is defined per lane and only
 * becomes one scalar where mask and operands allow.  PTX ISA 9.0 §9.7.13 (vote, match, activemask, redux), §9.7.9 (shfl). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

static LLVMValueRef splat32(struct simt *u, int64_t x)
{
    return simt_splat(u, simt_c32(u, x));
}

static LLVMValueRef lane_ids(struct simt *u)
{
    return simt_offset_vec(u, u->lane_offsets, u->i32);
}

/* Lanes for which a predicate operand holds, as bits of the active ones.  The freeze keeps an undefined predicate of one
 * lane from making the other lanes' bits undefined. */
static LLVMValueRef active_bits(struct simt_fn *f, LLVMValueRef predicate, bool negate)
{
    struct simt *u = f->u;
    LLVMValueRef p = LLVMBuildFreeze(u->b, simt_vector(f, predicate), "");
    if (negate)
        p = LLVMBuildNot(u->b, p, "");
    return simt_bits(u, simt_mask_and(u, f->mask, p));
}

/* `bits` restricted to each lane's members: a scalar when the mask is uniform, else a vector. */
static LLVMValueRef members(struct simt_fn *f, LLVMValueRef mask_operand, LLVMValueRef bits)
{
    struct simt *u = f->u;
    if (simt_uniform(f, mask_operand))
        return LLVMBuildAnd(u->b, bits, simt_scalar(f, mask_operand), "");
    return LLVMBuildAnd(u->b, simt_splat(u, bits), simt_vector(f, mask_operand), "");
}

static void set_either(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef x)
{
    bool vec = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind;
    if (vec)
        simt_set_vector(f, inst, x);
    else if (simt_varying(f, inst))
        simt_set_vector(f, inst, simt_splat(f->u, x));
    else
        simt_set_scalar(f, inst, x);
}

static LLVMValueRef is_zero(struct simt *u, LLVMValueRef x)
{
    return LLVMBuildICmp(u->b, LLVMIntEQ, x, LLVMConstNull(LLVMTypeOf(x)), "");
}

static void vote_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    LLVMValueRef mask = LLVMGetOperand(inst, 0), p = LLVMGetOperand(inst, 1);
    LLVMValueRef yes = members(f, mask, active_bits(f, p, false)), no = members(f, mask, active_bits(f, p, true));
    switch (id) {
    case PTX_SIMT_BALLOT: set_either(f, inst, yes); break;
    case PTX_SIMT_VOTE_ANY: set_either(f, inst, LLVMBuildNot(u->b, is_zero(u, yes), "")); break;
    case PTX_SIMT_VOTE_ALL: set_either(f, inst, is_zero(u, no)); break;
    default: set_either(f, inst, LLVMBuildOr(u->b, is_zero(u, yes), is_zero(u, no), "")); break;
    }
}

/* ---- Shuffles */

static int source_lane(enum ptx_simt id, int lane, int b, int c, bool *ret_in_range)
{
    int segment = c >> 8 & 31, clamp = c & 31, last = (lane & segment) | (clamp & ~segment & 31), first = lane & segment;
    int from;
    b &= 31;
    switch (id) {
    case PTX_SIMT_SHFL_UP: from = lane - b; *ret_in_range = from >= last; break;
    case PTX_SIMT_SHFL_DOWN: from = lane + b; *ret_in_range = from <= last; break;
    case PTX_SIMT_SHFL_BFLY: from = lane ^ b; *ret_in_range = from <= last; break;
    default: from = first | (b & ~segment & 31); *ret_in_range = from <= last; break;
    }
    return *ret_in_range ? from : lane;
}

/* The lane operand, where it is known of each lane, if not the same for all. */
static bool lanes_known(struct simt_fn *f, LLVMValueRef lane, int ret_lanes[SIMT_LANES])
{
    int64_t b;
    if (simt_int_const(lane, &b)) {
        for (int i = 0; i < SIMT_LANES; i++)
            ret_lanes[i] = (int)(b & 31);
        return true;
    }
    const struct simt_val *val = simt_get(f, lane);
    if (val && val->kind == SIMT_AFFINE && val->off && !val->check && val->tz >= 5) { /* a lane is taken modulo 32 */
        for (int i = 0; i < SIMT_LANES; i++)
            ret_lanes[i] = (int)(val->off[i] & 31);
        return true;
    }
    LLVMValueRef v = simt_vector(f, lane);
    for (int i = 0; i < SIMT_LANES; i++) {
        LLVMValueRef x = LLVMIsConstant(v) ? LLVMGetAggregateElement(v, (unsigned)i) : NULL;
        if (!x || !simt_int_const(x, &b))
            return false;
        ret_lanes[i] = (int)(b & 31);
    }
    return true;
}

/* Lanes and clamp known: one permutation by constants. */
static void shuffle_const(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id, LLVMValueRef a, const int lanes[SIMT_LANES],
                          int c)
{
    struct simt *u = f->u;
    int at[SIMT_LANES];
    LLVMValueRef in_range[SIMT_LANES];
    for (int i = 0; i < SIMT_LANES; i++) {
        bool ok;
        at[i] = source_lane(id, i, lanes[i], c, &ok);
        in_range[i] = LLVMConstInt(u->i1, ok, 0);
    }
    LLVMValueRef x = LLVMBuildShuffleVector(u->b, a, LLVMGetPoison(u->i32v), simt_const_i32v(u, at, SIMT_LANES), "");
    simt_set_field(f, inst, 0, NULL, x);
    simt_set_field(f, inst, 1, NULL, LLVMConstVector(in_range, SIMT_LANES));
}

/* The same arithmetic as source_lane, in vectors. */
static LLVMValueRef source_lanes(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id, LLVMValueRef *ret_in_range)
{
    struct simt *u = f->u;
    LLVMBuilderRef bl = u->b;
    LLVMValueRef low = splat32(u, 31), lane = lane_ids(u);
    LLVMValueRef b = LLVMBuildAnd(bl, LLVMBuildFreeze(bl, simt_vector(f, LLVMGetOperand(inst, 1)), ""), low, "");
    LLVMValueRef c = LLVMBuildFreeze(bl, simt_vector(f, LLVMGetOperand(inst, 2)), "");
    LLVMValueRef segment = LLVMBuildAnd(bl, LLVMBuildLShr(bl, c, splat32(u, 8), ""), low, "");
    LLVMValueRef outside = LLVMBuildAnd(bl, LLVMBuildNot(bl, segment, ""), low, "");
    LLVMValueRef first = LLVMBuildAnd(bl, lane, segment, "");
    LLVMValueRef last = LLVMBuildOr(bl, first, LLVMBuildAnd(bl, c, outside, ""), ""), from;
    switch (id) {
    case PTX_SIMT_SHFL_UP: from = LLVMBuildSub(bl, lane, b, ""); break;
    case PTX_SIMT_SHFL_DOWN: from = LLVMBuildAdd(bl, lane, b, ""); break;
    case PTX_SIMT_SHFL_BFLY: from = LLVMBuildXor(bl, lane, b, ""); break;
    default: from = LLVMBuildOr(bl, first, LLVMBuildAnd(bl, b, outside, ""), ""); break;
    }
    *ret_in_range = LLVMBuildICmp(bl, id == PTX_SIMT_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, from, last, "");
    return LLVMBuildAnd(bl, LLVMBuildSelect(bl, *ret_in_range, from, lane, ""), low, "");
}

/* Lanes of whole registers: a pair is permuted at once, and of two pairs (AVX2) each lane takes from one. */
static LLVMValueRef permute_registers(struct simt *u, LLVMValueRef a, LLVMValueRef at)
{
    int width = (int)u->options->permute_bytes / 4, n = SIMT_LANES / width;
    LLVMValueRef registers[SIMT_LANES / 8], part[SIMT_LANES / 8];
    for (int i = 0; i < n; i++)
        registers[i] = simt_slice(u, a, i * width, width);
    for (int i = 0; i < n; i++) {
        LLVMValueRef from = simt_slice(u, at, i * width, width);
        part[i] = u->options->permute(u->b, registers, 2, from);
        if (n == 2)
            continue;
        LLVMValueRef upper = LLVMBuildICmp(u->b, LLVMIntUGE, from, simt_slice(u, splat32(u, 2 * width), 0, width), "");
        part[i] = LLVMBuildSelect(u->b, upper, u->options->permute(u->b, registers + 2, 2, from), part[i], "");
    }
    return simt_join(u, part, n, width);
}

/* The lanes of `a` that `at`, below 32, says. */
static LLVMValueRef permute(struct simt_fn *f, LLVMValueRef a, LLVMValueRef at)
{
    struct simt *u = f->u;
    if (u->options->permute_bytes && simt_step(u, PTX_PASS_LANES))
        return permute_registers(u, a, at);
    LLVMValueRef r = LLVMGetPoison(u->i32v);
    simt_spill(f, 0, a);
    for (int i = 0; i < SIMT_LANES; i++) {
        LLVMValueRef lane = LLVMBuildZExt(u->b, LLVMBuildExtractElement(u->b, at, simt_c32(u, i), ""), u->i64, "");
        r = LLVMBuildInsertElement(u->b, r, simt_lane_get(f, 0, u->i32, lane), simt_c32(u, i), "");
    }
    return r;
}

static void shuffle_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    int64_t b, c;
    int lanes[SIMT_LANES];
    LLVMValueRef lane = LLVMGetOperand(inst, 1), in_range;
    LLVMValueRef a = LLVMBuildFreeze(u->b, simt_vector(f, LLVMGetOperand(inst, 0)), "");
    if (f->mask) /* who reads a lane that is not here gets 0, as on cards */
        a = LLVMBuildSelect(u->b, f->mask, a, LLVMConstNull(u->i32v), "");
    bool fixed = simt_int_const(LLVMGetOperand(inst, 2), &c);
    if (fixed && lanes_known(f, lane, lanes)) {
        shuffle_const(f, inst, id, a, lanes, (int)(c & 0x1fff));
    } else if (fixed && id == PTX_SIMT_SHFL_IDX && (c & 0x1f1f) == 0x1f && simt_uniform(f, lane)) {
        LLVMValueRef from = LLVMBuildAnd(u->b, LLVMBuildFreeze(u->b, simt_scalar(f, lane), ""), simt_c32(u, 31), "");
        LLVMValueRef s = LLVMBuildExtractElement(u->b, a, from, "");
        simt_set_field(f, inst, 0, s, simt_splat(u, s));
        simt_set_field(f, inst, 1, LLVMConstInt(u->i1, 1, 0), u->all_lanes);
        return;
    } else {
        LLVMValueRef at = source_lanes(f, inst, id, &in_range);
        simt_set_field(f, inst, 0, NULL, permute(f, a, at));
        simt_set_field(f, inst, 1, NULL, in_range);
    }
    struct simt_val *r = simt_get(f, inst);
    if (r->fields && fixed && id == PTX_SIMT_SHFL_IDX && (c & 0x1f1f) == 0x1f && simt_int_const(lane, &b)) {
        r->fields[0].s = LLVMBuildExtractElement(u->b, a, simt_c32(u, b & 31), "");
        r->fields[1].s = LLVMConstInt(u->i1, 1, 0);
    }
}

/* ---- Match, reductions, elections */

static LLVMValueRef lane_bits(struct simt *u, LLVMValueRef vec)
{
    return LLVMBuildBitCast(u->b, vec, u->i32, "");
}

static void match_emit(struct simt_fn *f, LLVMValueRef inst, bool all)
{
    struct simt *u = f->u;
    LLVMValueRef mask = LLVMGetOperand(inst, 0), active = simt_bits(u, f->mask);
    LLVMValueRef v = LLVMBuildFreeze(u->b, simt_vector(f, LLVMGetOperand(inst, 1)), "");
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(v));
    struct simt_lanes it;
    simt_spill(f, 0, v);
    simt_spill(f, 3, LLVMConstNull(u->i32v));
    simt_lanes_begin(f, f->mask, &it);
    LLVMValueRef mine = simt_splat(u, simt_lane_get(f, 0, elem, it.lane));
    simt_lane_put(f, 3, lane_bits(u, LLVMBuildICmp(u->b, LLVMIntEQ, v, mine, "")), it.lane);
    simt_lanes_end(f, &it);
    LLVMValueRef group = LLVMBuildAnd(u->b, simt_splat(u, active), simt_vector(f, mask), "");
    LLVMValueRef same = LLVMBuildAnd(u->b, simt_reload(f, 3, u->i32v), group, "");
    if (!all) {
        simt_set_vector(f, inst, same);
        return;
    }
    LLVMValueRef every = LLVMBuildICmp(u->b, LLVMIntEQ, same, group, "");
    simt_set_field(f, inst, 0, NULL, LLVMBuildSelect(u->b, every, group, LLVMConstNull(u->i32v), ""));
    simt_set_field(f, inst, 1, NULL, every);
}

static const char *redux_name(enum ptx_simt id, int64_t *ret_identity)
{
    *ret_identity = 0;
    switch (id) {
    case PTX_SIMT_REDUX_ADD: return "llvm.vector.reduce.add";
    case PTX_SIMT_REDUX_MIN: *ret_identity = INT32_MAX; return "llvm.vector.reduce.smin";
    case PTX_SIMT_REDUX_MAX: *ret_identity = INT32_MIN; return "llvm.vector.reduce.smax";
    case PTX_SIMT_REDUX_UMIN: *ret_identity = -1; return "llvm.vector.reduce.umin";
    case PTX_SIMT_REDUX_UMAX: return "llvm.vector.reduce.umax";
    case PTX_SIMT_REDUX_AND: *ret_identity = -1; return "llvm.vector.reduce.and";
    case PTX_SIMT_REDUX_OR: return "llvm.vector.reduce.or";
    default: return "llvm.vector.reduce.xor";
    }
}

static LLVMValueRef reduce(struct simt_fn *f, enum ptx_simt id, LLVMValueRef v, LLVMValueRef group_bits)
{
    struct simt *u = f->u;
    int64_t identity;
    const char *name = redux_name(id, &identity);
    LLVMValueRef group = LLVMBuildBitCast(u->b, group_bits, u->i1v, "");
    LLVMValueRef x = LLVMBuildSelect(u->b, group, v, splat32(u, identity), "");
    return simt_intrinsic(u, name, &u->i32v, 1, &x, 1);
}

static void redux_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    LLVMValueRef mask = LLVMGetOperand(inst, 0), v = simt_vector(f, LLVMGetOperand(inst, 1));
    LLVMValueRef group = members(f, mask, simt_bits(u, f->mask));
    if (simt_uniform(f, mask)) {
        simt_set_scalar(f, inst, reduce(f, id, v, group));
        return;
    }
    struct simt_lanes it;
    simt_spill(f, 0, group);
    simt_lanes_begin(f, f->mask, &it);
    simt_lane_put(f, 3, reduce(f, id, v, simt_lane_get(f, 0, u->i32, it.lane)), it.lane);
    simt_lanes_end(f, &it);
    simt_set_vector(f, inst, simt_reload(f, 3, u->i32v));
}

static void elect_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef mask = LLVMGetOperand(inst, 0), group = members(f, mask, simt_bits(u, f->mask));
    LLVMTypeRef t = LLVMTypeOf(group);
    LLVMValueRef args[2] = { group, LLVMConstInt(u->i1, 0, 0) };
    LLVMValueRef leader = simt_intrinsic(u, "llvm.cttz", &t, 1, args, 2), s = NULL;
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind) {
        s = leader;
        leader = simt_splat(u, s);
    }
    simt_set_field(f, inst, 0, s, leader);
    simt_set_field(f, inst, 1, NULL, LLVMBuildICmp(u->b, LLVMIntEQ, leader, lane_ids(u), ""));
}

static void lowest_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef x = LLVMBuildFreeze(u->b, simt_vector(f, LLVMGetOperand(inst, 0)), "");
    if (f->mask)
        x = LLVMBuildSelect(u->b, f->mask, x, LLVMConstAllOnes(u->i32v), "");
    set_either(f, inst, simt_intrinsic(u, "llvm.vector.reduce.umin", &u->i32v, 1, &x, 1));
}

bool simt_warpop_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    switch (id) {
    case PTX_SIMT_SHFL_UP: case PTX_SIMT_SHFL_DOWN: case PTX_SIMT_SHFL_BFLY: case PTX_SIMT_SHFL_IDX:
        shuffle_emit(f, inst, id);
        return true;
    case PTX_SIMT_BALLOT: case PTX_SIMT_VOTE_ANY: case PTX_SIMT_VOTE_ALL: case PTX_SIMT_VOTE_UNI:
        vote_emit(f, inst, id);
        return true;
    case PTX_SIMT_ACTIVEMASK:
        simt_set_scalar(f, inst, simt_bits(f->u, f->mask));
        return true;
    case PTX_SIMT_MATCH_ANY_32: case PTX_SIMT_MATCH_ANY_64:
        match_emit(f, inst, false);
        return true;
    case PTX_SIMT_MATCH_ALL_32: case PTX_SIMT_MATCH_ALL_64:
        match_emit(f, inst, true);
        return true;
    case PTX_SIMT_REDUX_ADD: case PTX_SIMT_REDUX_MIN: case PTX_SIMT_REDUX_MAX: case PTX_SIMT_REDUX_UMIN:
    case PTX_SIMT_REDUX_UMAX: case PTX_SIMT_REDUX_AND: case PTX_SIMT_REDUX_OR: case PTX_SIMT_REDUX_XOR:
        redux_emit(f, inst, id);
        return true;
    case PTX_SIMT_LOWEST:
        lowest_emit(f, inst);
        return true;
    case PTX_SIMT_ELECT:
        elect_emit(f, inst);
        return true;
    case PTX_SIMT_WARPSYNC: /* a warp runs in step already */
        return true;
    default:
        return false;
    }
}
