/* Shapes: which values are the same in all lanes, which are a base plus constant lane offsets, which branches divide a warp.
 *
 * An optimistic fixed point over the structurised graph.  Flags of the source (nsw, inbounds, disjoint) are never believed:
 * they hold for lanes that run, and the base belongs to lane 0, which may not.  Not emission. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include <string.h>

/* A value's shape at one moment of the analysis. */
struct shape {
    enum simt_kind kind;
    bool check;
    uint8_t tz;
    const int64_t *off;
};

/* ---- Small questions about source values */

struct simt_val *simt_get(struct simt_fn *f, LLVMValueRef v)
{
    return aw_ptrmap_find(&f->vals, v);
}

static struct shape look(struct simt_fn *f, LLVMValueRef v)
{
    const struct simt_val *val = simt_get(f, v);
    if (val)
        return (struct shape){ val->kind, val->check, val->tz, val->off };
    int64_t c;
    uint8_t tz = simt_known_const(f, v, &c) ? (c ? (uint8_t)__builtin_ctzll((uint64_t)c) : 64) : 0;
    return (struct shape){ SIMT_AFFINE, false, tz, NULL };
}

static bool is_uniform(struct shape s)
{
    return s.kind == SIMT_AFFINE && !s.off;
}

bool simt_uniform(struct simt_fn *f, LLVMValueRef v)
{
    return is_uniform(look(f, v));
}

bool simt_varying(struct simt_fn *f, LLVMValueRef v)
{
    return look(f, v).kind == SIMT_VARYING;
}

const int64_t *simt_offsets(struct simt_fn *f, LLVMValueRef v)
{
    return look(f, v).off;
}

bool simt_defined_in(struct simt_fn *f, int loop, LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    int b = simt_block_of(f, LLVMGetInstructionParent(v));
    return b >= 0 && simt_loop_has(f, loop, b);
}

int simt_loop_left(struct simt_fn *f, int block)
{
    int found = -1;
    for (int j = 0; j < f->blocks[block].n_preds; j++)
        for (int l = f->blocks[f->blocks[block].preds[j]].loop; l >= 0 && !simt_loop_has(f, l, block); l = f->loops[l].parent)
            if (f->loops[l].divergent)
                found = l > found ? l : found;
    return found;
}

static bool is_header(const struct simt_fn *f, int block)
{
    int l = f->blocks[block].loop;
    return l >= 0 && f->loops[l].header == block;
}

bool simt_phi_joins_lanes(struct simt_fn *f, int block)
{
    if (f->blocks[block].n_preds < 2 || is_header(f, block))
        return false;
    int top = f->blocks[block].idom;
    for (int j = 0; j < f->blocks[block].n_preds; j++)
        if (f->blocks[f->blocks[block].preds[j]].divergent)
            return true;
    return f->blocks[top].divergent;
}

/* ---- The lattice */

static const int64_t *intern(struct simt *u, const int64_t off[SIMT_LANES])
{
    int64_t all[SIMT_LANES] = { 0 }; /* lanes that the vector has not are 0 */
    memcpy(all, off, (size_t)u->lanes * sizeof *off);
    struct aw_str key = { (const char *)all, sizeof all };
    const int64_t *old = aw_map_find(&u->offsets, key);
    if (old)
        return old;
    int64_t *copy = AW_NEW_ARRAY(&u->arena, int64_t, SIMT_LANES);
    if (!copy)
        return simt_memory(u);
    memcpy(copy, all, key.len);
    if (!aw_map_put(&u->offsets, (struct aw_str){ (const char *)copy, key.len }, copy))
        return simt_memory(u);
    return copy;
}

static void set_varying(struct simt_val *r)
{
    r->kind = SIMT_VARYING;
    r->off = NULL;
    r->check = false;
    r->tz = 0;
}

/* Meets `r` with an affine shape; `off` may be any array, NULL = zero. */
static void set_affine(struct simt_fn *f, struct simt_val *r, const int64_t *off, bool check, unsigned tz)
{
    if (r->kind == SIMT_VARYING)
        return;
    unsigned width = simt_width(LLVMTypeOf(r->src));
    const int64_t *canon = NULL;
    if (off) {
        int64_t o[SIMT_LANES];
        bool zero = true;
        for (int i = 0; i < f->u->lanes; i++) {
            o[i] = width >= 64 || !width ? off[i] : (int64_t)((uint64_t)off[i] << (64 - width)) >> (64 - width);
            zero &= o[i] == 0;
        }
        if (!zero && (width < 8 || width > 64)) {
            set_varying(r);
            return;
        }
        if (zero && check) { /* alike only where nothing wrapped, and nobody asks that of what is taken for uniform */
            set_varying(r);
            return;
        }
        canon = zero ? NULL : intern(f->u, o);
    }
    if (r->kind == SIMT_TOP) {
        r->kind = SIMT_AFFINE;
        r->off = canon;
        r->tz = 64;
    } else if (r->off != canon) {
        set_varying(r);
        return;
    }
    r->check = canon && (r->check || check);
    r->tz = tz < r->tz ? (uint8_t)tz : r->tz;
}

static void offset_range(const int64_t *off, int64_t *lo, int64_t *hi)
{
    *lo = *hi = 0;
    for (int i = 0; off && i < SIMT_LANES; i++) {
        *lo = off[i] < *lo ? off[i] : *lo;
        *hi = off[i] > *hi ? off[i] : *hi;
    }
}

/* Adding any offset to the base touches only bits that are zero in the base: no carry, so bits can be treated apart. */
static bool disjoint(struct shape s)
{
    int64_t lo, hi;
    offset_range(s.off, &lo, &hi);
    return lo >= 0 && (s.tz >= 63 || hi < (int64_t)1 << s.tz);
}

/* Bits that some lane may have set; of a disjoint shape. */
static uint64_t may_set(struct shape s)
{
    uint64_t bits = s.tz >= 64 ? 0 : ~UINT64_C(0) << s.tz;
    for (int i = 0; s.off && i < SIMT_LANES; i++)
        bits |= (uint64_t)s.off[i];
    return bits;
}

bool simt_ext_exact(const struct simt_val *v)
{
    return disjoint((struct shape){ v->kind, v->check, v->tz, v->off });
}

/* ---- Transfer functions.  Each is called with no operand at TOP. */

static void shape_ext(struct simt_fn *f, struct simt_val *r, struct shape a, LLVMTypeRef from)
{
    int64_t lo, hi;
    offset_range(a.off, &lo, &hi);
    unsigned width = simt_width(from);
    if (width < 16 || width > 32 || hi - lo > (int64_t)1 << (width - 2))
        set_varying(r);
    else
        set_affine(f, r, a.off, a.check || !disjoint(a), a.tz);
}

/* Neighbours on a ring: `(i + 1) & (n - 1)`, of which n is a constant, goes round in few warps.  The mask is one run of bits, and
 * offsets are multiples of the lowest; the base loses the bits above and the sum, where it stays within the run, is right (op.c
 * asks). */
static bool shape_ring(struct simt_fn *f, struct simt_val *r, struct shape a, LLVMValueRef mask)
{
    int64_t c, lo, hi;
    unsigned width = simt_width(LLVMTypeOf(r->src));
    if (!a.off || width < 32 || !simt_int_const(mask, &c) || c <= 0)
        return false;
    uint64_t field = (uint64_t)c, low = field & -field, top = field + low;
    offset_range(a.off, &lo, &hi);
    if ((top & (top - 1)) || hi - lo > c / 2)
        return false;
    for (int i = 0; i < f->u->lanes; i++)
        if (a.off[i] & (int64_t)(low - 1))
            return false;
    unsigned tz = (unsigned)__builtin_ctzll(low);
    set_affine(f, r, a.off, true, a.tz > tz ? a.tz : tz);
    return true;
}

static void shape_bits(struct simt_fn *f, struct simt_val *r, LLVMOpcode op, struct shape a, struct shape b, LLVMValueRef rhs)
{
    int64_t c, o[SIMT_LANES];
    unsigned width = simt_width(LLVMTypeOf(r->src));
    if (op == LLVMOr && disjoint(a) && disjoint(b)) {
        /* A sum, where no bit is in both: the base's bits of one may meet neither the offsets nor, when both have some, the base
         * of the other. */
        bool apart = a.off && b.off ? !(may_set(a) & may_set(b))
                                    : disjoint((struct shape){ SIMT_AFFINE, false, a.off ? b.tz : a.tz, a.off ? a.off : b.off });
        for (int i = 0; i < f->u->lanes; i++)
            o[i] = (a.off ? a.off[i] : 0) + (b.off ? b.off[i] : 0);
        if (apart) {
            set_affine(f, r, o, a.check || b.check, a.tz < b.tz ? a.tz : b.tz);
            return;
        }
    }
    if (!simt_int_const(rhs, &c) || !disjoint(a) || a.check) {
        if (op == LLVMAnd && shape_ring(f, r, a, rhs))
            return;
        set_varying(r);
        return;
    }
    if ((op == LLVMShl || op == LLVMLShr || op == LLVMAShr) && (c < 0 || c >= (int64_t)width)) {
        set_varying(r); /* poison anyway */
        return;
    }
    unsigned tz = a.tz;
    uint64_t low = a.tz >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << a.tz) - 1;
    for (int i = 0; i < f->u->lanes; i++) {
        int64_t x = a.off ? a.off[i] : 0;
        switch (op) {
        case LLVMAnd: o[i] = x & c; break;
        case LLVMOr: o[i] = x & ~c; break;
        case LLVMXor: o[i] = (int64_t)(((uint64_t)x ^ (uint64_t)c) & low); break;
        default: o[i] = x >> c; break;
        }
    }
    if (op == LLVMAnd && c >= 0 && ((uint64_t)c & ~low) == 0) /* nothing is left of the base */
        tz = 64;
    if (op == LLVMOr)
        tz = c && (unsigned)__builtin_ctzll((uint64_t)c) < tz ? (unsigned)__builtin_ctzll((uint64_t)c) : tz;
    if (op == LLVMLShr || op == LLVMAShr)
        tz = tz >= 64 ? 64 : tz > (unsigned)c ? tz - (unsigned)c : 0;
    set_affine(f, r, o, false, tz);
}

static void shape_scale(struct simt_fn *f, struct simt_val *r, struct shape a, int64_t by)
{
    int64_t o[SIMT_LANES];
    for (int i = 0; i < f->u->lanes; i++)
        o[i] = a.off ? (int64_t)((uint64_t)a.off[i] * (uint64_t)by) : 0;
    unsigned tz = a.tz + (by ? (unsigned)__builtin_ctzll((uint64_t)by) : 64);
    set_affine(f, r, a.off ? o : NULL, a.check, tz > 64 ? 64 : tz);
}

static void shape_sum(struct simt_fn *f, struct simt_val *r, struct shape a, struct shape b, bool minus)
{
    int64_t o[SIMT_LANES];
    for (int i = 0; i < f->u->lanes; i++) {
        uint64_t x = a.off ? (uint64_t)a.off[i] : 0, y = b.off ? (uint64_t)b.off[i] : 0;
        o[i] = (int64_t)(minus ? x - y : x + y);
    }
    set_affine(f, r, a.off || b.off ? o : NULL, a.check || b.check, a.tz < b.tz ? a.tz : b.tz);
}

static void shape_gep(struct simt_fn *f, struct simt_val *r, LLVMValueRef inst)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(inst);
    struct shape sum = look(f, LLVMGetOperand(inst, 0));
    int64_t o[SIMT_LANES] = { 0 };
    for (int i = 0; sum.off && i < f->u->lanes; i++)
        o[i] = sum.off[i];
    unsigned n = (unsigned)LLVMGetNumOperands(inst), width = simt_width(LLVMTypeOf(inst));
    for (unsigned j = 1; j < n; j++) {
        LLVMValueRef index = LLVMGetOperand(inst, j);
        struct shape x = look(f, index);
        if (j > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            int64_t field = 0;
            simt_int_const(index, &field);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)field);
            sum.tz = 0;
            continue;
        }
        if (j > 1)
            type = LLVMGetElementType(type);
        uint64_t size = LLVMABISizeOfType(f->u->in_layout, type);
        if (x.off && simt_width(LLVMTypeOf(index)) < width) {
            set_varying(r); /* an implicit sign extension; instcombine makes it explicit */
            return;
        }
        for (int i = 0; x.off && i < f->u->lanes; i++)
            o[i] = (int64_t)((uint64_t)o[i] + (uint64_t)x.off[i] * size);
        unsigned tz = x.tz + (size ? (unsigned)__builtin_ctzll(size) : 64);
        sum.tz = tz < sum.tz ? (uint8_t)tz : sum.tz;
        sum.check |= x.check;
    }
    set_affine(f, r, o, sum.check, sum.tz);
}

static bool all_uniform(struct simt_fn *f, LLVMValueRef inst, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (!simt_uniform(f, LLVMGetOperand(inst, i)))
            return false;
    return true;
}

static void set_uniform_if(struct simt_fn *f, struct simt_val *r, bool uniform)
{
    if (uniform)
        set_affine(f, r, NULL, false, 0);
    else
        set_varying(r);
}

static void shape_binary(struct simt_fn *f, struct simt_val *r, LLVMOpcode op)
{
    LLVMValueRef lhs = LLVMGetOperand(r->src, 0), rhs = LLVMGetOperand(r->src, 1);
    struct shape a = look(f, lhs), b = look(f, rhs);
    int64_t c;
    if (a.kind == SIMT_VARYING || b.kind == SIMT_VARYING) {
        set_varying(r);
        return;
    }
    switch (op) {
    case LLVMAdd:
    case LLVMSub:
        shape_sum(f, r, a, b, op == LLVMSub);
        return;
    case LLVMMul:
        if (simt_int_const(rhs, &c))
            shape_scale(f, r, a, c);
        else if (simt_int_const(lhs, &c))
            shape_scale(f, r, b, c);
        else if (!a.off && !b.off)
            set_affine(f, r, NULL, false, a.tz + b.tz > 64 ? 64 : a.tz + b.tz);
        else
            set_varying(r);
        return;
    case LLVMShl:
        if (simt_int_const(rhs, &c) && c >= 0 && c < 64)
            shape_scale(f, r, a, (int64_t)(UINT64_C(1) << c));
        else
            set_uniform_if(f, r, !a.off && !b.off);
        return;
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMLShr:
    case LLVMAShr:
        if (!a.off && !b.off) {
            unsigned lo = a.tz < b.tz ? a.tz : b.tz, hi = a.tz < b.tz ? b.tz : a.tz;
            set_affine(f, r, NULL, false, op == LLVMAnd ? hi : op == LLVMOr || op == LLVMXor ? lo : 0);
        } else {
            shape_bits(f, r, op, a, b, rhs);
        }
        return;
    default:
        set_uniform_if(f, r, !a.off && !b.off);
    }
}

/* `x` is a multiple of 2^k plus offsets below 2^k: are all lanes on one side of `bound`?  So where one of two neighbouring
 * multiples is it, or lies just above it.  `above`: the question is x > bound or its contrary, else x < bound. */
static bool one_side(struct simt_fn *f, struct shape x, LLVMValueRef bound, bool above)
{
    struct shape b = look(f, bound);
    int64_t lo, hi, c;
    offset_range(x.off, &lo, &hi);
    if (x.kind != SIMT_AFFINE || x.check || !disjoint(x) || !is_uniform(b))
        return false;
    uint64_t low = ~UINT64_C(0) >> __builtin_clzll((uint64_t)hi);
    if (above)
        return simt_int_const(bound, &c) && ((uint64_t)c & low) == low;
    return b.tz >= 64 || !(UINT64_C(1) << b.tz & low);
}

/* Lanes that differ may all compare alike, as neighbouring indices with a limit that is a multiple of 32. */
static void shape_compare(struct simt_fn *f, struct simt_val *r)
{
    LLVMValueRef lhs = LLVMGetOperand(r->src, 0), rhs = LLVMGetOperand(r->src, 1);
    struct shape a = look(f, lhs), b = look(f, rhs);
    bool above;
    switch (LLVMGetICmpPredicate(r->src)) {
    case LLVMIntULT: case LLVMIntUGE: case LLVMIntSLT: case LLVMIntSGE:
        above = false;
        break;
    case LLVMIntUGT: case LLVMIntULE: case LLVMIntSGT: case LLVMIntSLE:
        above = true;
        break;
    default:
        set_uniform_if(f, r, is_uniform(a) && is_uniform(b));
        return;
    }
    set_uniform_if(f, r,
                   (is_uniform(a) && is_uniform(b)) || (a.off && one_side(f, a, rhs, above)) ||
                       (b.off && one_side(f, b, lhs, !above)));
}

static void shape_cast(struct simt_fn *f, struct simt_val *r, LLVMOpcode op)
{
    LLVMValueRef x = LLVMGetOperand(r->src, 0);
    struct shape a = look(f, x);
    LLVMTypeRef from = LLVMTypeOf(x), to = LLVMTypeOf(r->src);
    if (a.kind == SIMT_VARYING || (a.off && (!simt_width(from) || !simt_width(to)))) {
        set_varying(r);
    } else if (op == LLVMAddrSpaceCast) {
        /* A shared address that runs is never out of the window, so the 32-bit sum did not wrap where it matters. */
        set_affine(f, r, a.off, a.check, simt_is_shared_ptr(from) == simt_is_shared_ptr(to) ? a.tz : a.tz < 6 ? a.tz : 6);
    } else if (op == LLVMSExt || op == LLVMZExt || simt_width(to) > simt_width(from)) {
        if (!a.off)
            set_affine(f, r, NULL, false, simt_width(from) > 1 ? a.tz : 0);
        else
            shape_ext(f, r, a, from);
    } else {
        set_affine(f, r, a.off, a.check, simt_width(from) && simt_width(to) ? a.tz : 0);
    }
}

/* Is a part of a shuffle's or election's result the same for all lanes?  Not where lanes read different ones of one value: some
 * may be off. */
static bool part_is_uniform(struct simt_fn *f, LLVMValueRef call, unsigned part)
{
    LLVMValueRef lane = LLVMGetOperand(call, 1), clamp = LLVMGetOperand(call, 2);
    int64_t c;
    switch (simt_call_id(f->u, call)) {
    case PTX_SIMT_SHFL_IDX: /* every lane reads the same one */
        return simt_int_const(clamp, &c) && (c & 0x1f1f) == 0x1f && simt_uniform(f, lane);
    case PTX_SIMT_ELECT:
        return part == 0 && simt_uniform(f, LLVMGetOperand(call, 0));
    default:
        return false;
    }
}

static void shape_aw(struct simt_fn *f, struct simt_val *r, enum ptx_simt id)
{
    switch (id) {
    case PTX_SIMT_TID_X:
    case PTX_SIMT_TID_Y:
    case PTX_SIMT_TID_Z: {
        const struct simt_tid *t = &f->tid[id - PTX_SIMT_TID_X];
        if (t->affine)
            set_affine(f, r, t->off, false, t->tz);
        else
            set_varying(r);
        return;
    }
    case PTX_SIMT_LANEID:
        set_affine(f, r, f->u->lane_offsets, false,
                   f->u->lanes < SIMT_LANES ? (unsigned)__builtin_ctz((unsigned)f->u->lanes) : 64);
        return;
    case PTX_SIMT_NTID_X:
        set_affine(f, r, NULL, false, f->form == SIMT_FORM_ROWS ? 5
                   : f->form == SIMT_FORM_FIXED ? (unsigned)__builtin_ctz(f->u->options->block[0]) : 0);
        return;
    case PTX_SIMT_NTID_Y:
    case PTX_SIMT_NTID_Z:
        set_affine(f, r, NULL, false, f->form == SIMT_FORM_FIXED
                   ? (unsigned)__builtin_ctz(f->u->options->block[id - PTX_SIMT_NTID_X]) : 0);
        return;
    case PTX_SIMT_BALLOT:
    case PTX_SIMT_VOTE_ANY:
    case PTX_SIMT_VOTE_ALL:
    case PTX_SIMT_VOTE_UNI:
    case PTX_SIMT_REDUX_ADD:
    case PTX_SIMT_REDUX_MIN:
    case PTX_SIMT_REDUX_MAX:
    case PTX_SIMT_REDUX_UMIN:
    case PTX_SIMT_REDUX_UMAX:
    case PTX_SIMT_REDUX_AND:
    case PTX_SIMT_REDUX_OR:
    case PTX_SIMT_REDUX_XOR:
        set_uniform_if(f, r, simt_uniform(f, LLVMGetOperand(r->src, 0)));
        return;
    case PTX_SIMT_SHFL_UP:
    case PTX_SIMT_SHFL_DOWN:
    case PTX_SIMT_SHFL_BFLY:
    case PTX_SIMT_SHFL_IDX:
    case PTX_SIMT_MATCH_ANY_32:
    case PTX_SIMT_MATCH_ANY_64:
    case PTX_SIMT_MATCH_ALL_32:
    case PTX_SIMT_MATCH_ALL_64:
    case PTX_SIMT_ELECT:
    case PTX_SIMT_VPRINTF:
    case PTX_SIMT_MALLOC:
    case PTX_SIMT_BLOCK_TEXEL:
        set_varying(r);
        return;
    default: /* the same for the whole warp, but what each lane computes of its arguments */
        set_uniform_if(f, r, !simt_is_lanewise(id) || all_uniform(f, r->src, LLVMGetNumArgOperands(r->src)));
    }
}

/* The vectoriser's private intrinsics; false: it is none of those. */
static bool shape_private(struct simt_fn *f, struct simt_val *r)
{
    enum simt_private id = simt_private_called(r->src);
    if (simt_private_has(id, SIMT_PRIVATE_UNIFORM)) {
        set_affine(f, r, NULL, false, 0);
        return true;
    }
    if (!simt_private_has(id, SIMT_PRIVATE_ADDRESS))
        return false;
    struct shape a = look(f, LLVMGetOperand(r->src, 0));
    if (id == SIMT_PRIVATE_EXACT && a.kind == SIMT_AFFINE)
        set_affine(f, r, a.off, false, a.tz);
    else
        set_varying(r);
    return true;
}

static void shape_call(struct simt_fn *f, struct simt_val *r)
{
    LLVMValueRef callee = LLVMGetCalledValue(r->src);
    enum ptx_simt id = simt_call_id(f->u, r->src);
    if (id != PTX_SIMT_NONE)
        shape_aw(f, r, id);
    else if (shape_private(f, r))
        return;
    else if (LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee))
        set_uniform_if(f, r, all_uniform(f, r->src, LLVMGetNumArgOperands(r->src)));
    else
        set_varying(r);
}

static void shape_alloca(struct simt_fn *f, struct simt_val *r)
{
    int64_t count, o[SIMT_LANES];
    if (!simt_int_const(LLVMGetOperand(r->src, 0), &count)) {
        set_varying(r);
        return;
    }
    LLVMTypeRef type = LLVMGetAllocatedType(r->src);
    uint64_t align = LLVMGetAlignment(r->src), size = LLVMABISizeOfType(f->u->in_layout, type) * (uint64_t)count;
    align = align ? align : 1;
    size = (size + align - 1) / align * align;
    if (ptx_metadata(r->src, SIMT_ROWS))
        size = align = LLVMABISizeOfType(f->u->in_layout, LLVMGetElementType(LLVMGetElementType(type)));
    for (int i = 0; i < f->u->lanes; i++)
        o[i] = (int64_t)(size * (uint64_t)i);
    set_affine(f, r, o, false, (unsigned)__builtin_ctzll(align));
}

static void shape_phi(struct simt_fn *f, struct simt_val *r, int block)
{
    unsigned n = LLVMCountIncoming(r->src);
    int left = simt_loop_left(f, block);
    LLVMValueRef only = NULL;
    bool same = true;
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef x = LLVMGetIncomingValue(r->src, i);
        if (simt_block_of(f, LLVMGetIncomingBlock(r->src, i)) < 0 || simt_undef(x))
            continue;
        if (left >= 0 && simt_defined_in(f, left, x)) {
            set_varying(r); /* the lanes left in different iterations */
            return;
        }
        same &= !only || only == x;
        only = x;
    }
    if (!only) {
        set_affine(f, r, NULL, false, 0);
        return;
    }
    if (!same && simt_phi_joins_lanes(f, block)) {
        set_varying(r);
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef x = LLVMGetIncomingValue(r->src, i);
        struct shape s = look(f, x);
        if (simt_block_of(f, LLVMGetIncomingBlock(r->src, i)) < 0 || simt_undef(x) || s.kind == SIMT_TOP)
            continue;
        if (s.kind == SIMT_VARYING)
            set_varying(r);
        else
            set_affine(f, r, s.off, s.check, s.tz);
    }
}

static void shape_select(struct simt_fn *f, struct simt_val *r)
{
    struct shape c = look(f, LLVMGetOperand(r->src, 0)), a = look(f, LLVMGetOperand(r->src, 1)),
                 b = look(f, LLVMGetOperand(r->src, 2));
    if (is_uniform(c) && a.kind == SIMT_AFFINE && b.kind == SIMT_AFFINE && a.off == b.off)
        set_affine(f, r, a.off, a.check || b.check, a.tz < b.tz ? a.tz : b.tz);
    else
        set_varying(r);
}

static bool operand_is_top(struct simt_fn *f, LLVMValueRef inst, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (look(f, LLVMGetOperand(inst, i)).kind == SIMT_TOP)
            return true;
    return false;
}

static void transfer(struct simt_fn *f, struct simt_val *r, int block)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(r->src);
    if (f->form == SIMT_FORM_SINGLE) {
        set_affine(f, r, NULL, false, 0);
        return;
    }
    if (op == LLVMPHI) {
        shape_phi(f, r, block);
        return;
    }
    unsigned n = op == LLVMCall ? LLVMGetNumArgOperands(r->src) : (unsigned)LLVMGetNumOperands(r->src);
    if (operand_is_top(f, r->src, n))
        return;
    switch (op) {
    case LLVMAlloca: shape_alloca(f, r); break;
    case LLVMCall: shape_call(f, r); break;
    case LLVMGetElementPtr:
        for (unsigned i = 0; i < n; i++)
            if (simt_varying(f, LLVMGetOperand(r->src, i))) {
                set_varying(r);
                return;
            }
        shape_gep(f, r, r->src);
        break;
    case LLVMSelect: shape_select(f, r); break;
    case LLVMICmp: shape_compare(f, r); break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: set_varying(r); break;
    case LLVMExtractValue: {
        LLVMValueRef agg = LLVMGetOperand(r->src, 0);
        bool part = LLVMIsACallInst(agg) && part_is_uniform(f, agg, LLVMGetIndices(r->src)[0]);
        set_uniform_if(f, r, part || simt_uniform(f, agg));
        break;
    }
    case LLVMFreeze: {
        struct shape a = look(f, LLVMGetOperand(r->src, 0));
        if (a.kind == SIMT_AFFINE && !a.check)
            set_affine(f, r, a.off, false, 0);
        else
            set_varying(r);
        break;
    }
    case LLVMTrunc: case LLVMZExt: case LLVMSExt: case LLVMFPToUI: case LLVMFPToSI: case LLVMUIToFP: case LLVMSIToFP:
    case LLVMFPTrunc: case LLVMFPExt: case LLVMPtrToInt: case LLVMIntToPtr: case LLVMBitCast: case LLVMAddrSpaceCast:
        shape_cast(f, r, op);
        break;
    default:
        if (LLVMIsABinaryOperator(r->src))
            shape_binary(f, r, op);
        else
            set_uniform_if(f, r, all_uniform(f, r->src, n));
    }
}

/* ---- Thread indices */

/* With a fixed block shape each index is affine when its offsets from the first lane are the same in every vector. */
static void fix_tid(struct simt_fn *f)
{
    const uint32_t *block = f->u->options->block;
    uint32_t threads = block[0] * block[1] * block[2], lanes = (uint32_t)f->u->lanes, div = 1;
    for (int d = 0; d < 3; d++) {
        struct simt_tid *t = &f->tid[d];
        int64_t off[SIMT_LANES] = { 0 };
        uint32_t bits = 0;
        t->affine = true;
        for (uint32_t first = 0; first < threads; first += lanes) {
            int64_t base = first / div % block[d];
            bits |= (uint32_t)base;
            for (uint32_t i = 0; i < lanes && first + i < threads; i++) {
                int64_t o = (int64_t)((first + i) / div % block[d]) - base;
                t->affine &= first == 0 || o == off[i];
                if (first == 0)
                    off[i] = o;
            }
        }
        t->tz = bits ? (uint8_t)__builtin_ctz(bits) : 64;
        bool zero = true;
        for (int i = 0; i < f->u->lanes; i++)
            zero &= off[i] == 0;
        t->off = zero ? NULL : intern(f->u, off);
        div *= block[d];
    }
}

static void init_tid(struct simt_fn *f)
{
    if (f->form == SIMT_FORM_FIXED) {
        fix_tid(f);
    } else if (f->form == SIMT_FORM_ROWS) {
        f->tid[0] = (struct simt_tid){ true, (uint8_t)__builtin_ctz((unsigned)f->u->lanes), f->u->lane_offsets };
        f->tid[1] = f->tid[2] = (struct simt_tid){ true, 0, NULL };
    }
}

/* ---- The fixed point */

static bool init_vals(struct simt_fn *f)
{
    struct simt *u = f->u;
    unsigned n = LLVMCountParams(f->src);
    for (unsigned i = 0; i < n; i++) {
        struct simt_val *v = AW_NEW(&u->arena, struct simt_val);
        if (!v || !aw_ptrmap_put(&f->vals, LLVMGetParam(f->src, i), v))
            return simt_memory(u);
        v->src = LLVMGetParam(f->src, i);
        /* the first is always the argument buffer */
        v->kind = i == 0 || f->form == SIMT_FORM_SINGLE ? SIMT_AFFINE : SIMT_VARYING;
        v->tz = i == 0 && f->form != SIMT_FORM_SINGLE ? 4 : 0;
    }
    for (int i = 0; i < f->n_blocks; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[i].bb); x; x = LLVMGetNextInstruction(x)) {
            struct simt_val *v = AW_NEW(&u->arena, struct simt_val);
            if (!v || !aw_ptrmap_put(&f->vals, x, v))
                return simt_memory(u);
            v->src = x;
        }
    return true;
}

static bool mark_divergence(struct simt_fn *f, int b)
{
    struct simt_block *block = &f->blocks[b];
    if (block->divergent || block->n_succ != 2)
        return false;
    if (!simt_varying(f, LLVMGetCondition(LLVMGetBasicBlockTerminator(block->bb))))
        return false;
    block->divergent = true;
    for (int j = 0; j < 2; j++)
        for (int l = block->loop; l >= 0 && !simt_loop_has(f, l, block->succ[j]); l = f->loops[l].parent)
            f->loops[l].divergent = true;
    return true;
}

static bool sweep(struct simt_fn *f)
{
    bool changed = false;
    for (int b = 0; b < f->n_blocks; b++) {
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x; x = LLVMGetNextInstruction(x)) {
            struct simt_val *v = simt_get(f, x);
            if (v->kind == SIMT_VARYING || LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVoidTypeKind)
                continue;
            struct simt_val old = *v;
            transfer(f, v, b);
            changed |= old.kind != v->kind || old.check != v->check || old.tz != v->tz || old.off != v->off;
        }
        changed |= mark_divergence(f, b);
    }
    return changed;
}

/* The emitter relies on what structurizecfg promises; better an error than wrong code should it ever not hold. */
static bool check_structure(struct simt_fn *f)
{
    for (int b = 0; b < f->n_blocks; b++) {
        const struct simt_block *x = &f->blocks[b];
        if (!x->divergent)
            continue;
        int l = x->loop;
        if (l >= 0 && f->loops[l].divergent && f->loops[l].latch == b &&
            (f->loops[l].exit == x->succ[0] || f->loops[l].exit == x->succ[1]))
            continue;
        int thens = 0;
        for (int j = 0; j < 2; j++)
            thens += f->blocks[x->succ[j]].n_preds == 1;
        if (thens != 1)
            return simt_fail(f->u, "divergent branch is not structured");
    }
    for (int l = 0; l < f->n_loops; l++)
        if (f->loops[l].divergent && (f->loops[l].latch < 0 || f->loops[l].exit < 0 || f->loops[l].preheader < 0 ||
                                      !f->blocks[f->loops[l].latch].divergent))
            return simt_fail(f->u, "divergent loop is not structured");
    return true;
}

/* Of a value that begins as nothing and goes round a loop, as bits of a register that was never written, nobody has said what it
 * is: it may be the same for all lanes, until what is added to it says otherwise.  False: there is none. */
static bool begin_somewhere(struct simt_fn *f)
{
    for (int b = 0; b < f->n_blocks; b++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f->blocks[b].bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x)) {
            struct simt_val *v = simt_get(f, x);
            if (v->kind == SIMT_TOP) {
                set_affine(f, v, NULL, false, 0);
                return true;
            }
        }
    return false;
}

bool simt_shape_estimate(struct simt_fn *f)
{
    init_tid(f);
    if (!init_vals(f))
        return false;
    do {
        while (sweep(f) && !f->u->status)
            ;
    } while (!f->u->status && begin_somewhere(f));
    return !f->u->status;
}

bool simt_shape_analyse(struct simt_fn *f)
{
    return simt_shape_estimate(f) && check_structure(f);
}
