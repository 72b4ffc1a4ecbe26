/* Which elements of a texture a coordinate means, and what is made of them (CUDA programming guide, "Texture Fetching").
 *
 * Positions are kept in 256ths of an element, as CUDA's weights are: 9-bit fixed point with 8 bits of fraction.  So is each
 * element's weight, the products of the dimensions' weights rounded as NVIDIA's cards round them (weight_part); sums are taken in
 * float, element by element in a fixed order, so that every device gives the same bits. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/texture.h"

#include <stddef.h>
#include <stdio.h>

/* The function being made, and its arguments. */
struct sampler {
    struct ptx_lower *l;
    struct ptx_tex t;
    struct ptx_tex_args args;
    LLVMValueRef linear;      /* i1 */
    LLVMValueRef weight;      /* i32: the level's, in 256ths */
    LLVMValueRef layer, face; /* i32: of cubes, from 0 */
};

/* The two elements that a dimension's coordinate lies between. */
struct position {
    LLVMValueRef low;         /* i32; of a point sample the only one */
    LLVMValueRef fraction;    /* i32: of 256 */
};

static LLVMValueRef flag(struct ptx_lower *l, LLVMValueRef word, unsigned bit)
{
    return b_ne(l, b_and(l, word, b_i32(l, bit)), b_i32(l, 0));
}

static LLVMValueRef real(struct ptx_lower *l, double v)
{
    return b_real(l->f32, v);
}

/* `v` between two constants; NaN becomes the lower. */
static LLVMValueRef between(struct ptx_lower *l, LLVMValueRef v, double low, double high)
{
    v = b_select(l, b_fcmp(l, LLVMRealOGT, v, real(l, low)), v, real(l, low));
    return b_select(l, b_fcmp(l, LLVMRealOLT, v, real(l, high)), v, real(l, high));
}

static LLVMValueRef clamp_index(struct ptx_lower *l, LLVMValueRef i, LLVMValueRef size)
{
    i = b_binary(l, "llvm.smax", i, b_i32(l, 0));
    return b_binary(l, "llvm.smin", i, b_sub(l, size, b_i32(l, 1)));
}

/* ---- Coordinates */

static LLVMValueRef address_mode(struct sampler *s, unsigned dim)
{
    return b_and(s->l, b_lshr(s->l, s->t.sampler, b_i32(s->l, 2 * dim)), b_i32(s->l, 3));
}

static LLVMValueRef mode_is(struct sampler *s, unsigned dim, unsigned mode)
{
    return b_eq(s->l, address_mode(s, dim), b_i32(s->l, mode));
}

/* The coordinate in elements, small enough for an integer: normalised ones scaled, wrapped or mirrored into the texture first. */
static LLVMValueRef in_elements(struct sampler *s, unsigned dim, LLVMValueRef x, LLVMValueRef size)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef n = b_uitofp(l, size, l->f32), scaled = x;
    if (!s->t.way.cube) {
        LLVMValueRef wrapped = b_fsub(l, x, b_unary(l, "llvm.floor", x));
        LLVMValueRef two = b_fsub(l, x, b_fmul(l, real(l, 2), b_unary(l, "llvm.floor", b_fmul(l, x, real(l, 0.5)))));
        LLVMValueRef mirrored = b_select(l, b_fcmp(l, LLVMRealOGT, two, real(l, 1)), b_fsub(l, real(l, 2), two), two);
        scaled = b_select(l, mode_is(s, dim, AW_ADDRESS_WRAP), wrapped, scaled);
        scaled = b_select(l, mode_is(s, dim, AW_ADDRESS_MIRROR), mirrored, scaled);
    }
    scaled = b_fmul(l, scaled, n);
    LLVMValueRef u = s->t.way.cube ? scaled : b_select(l, flag(l, s->t.sampler, AW_SAMPLER_NORMALIZED), scaled, x);
    return between(l, u, -4194304, 4194304);
}

static struct position position_of(struct sampler *s, unsigned dim, LLVMValueRef x, LLVMValueRef size)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef u = in_elements(s, dim, x, size);
    struct position p = { LLVMBuildFPToSI(l->builder, b_unary(l, "llvm.floor", u), l->i32, ""), b_i32(l, 0) };
    if (!s->linear)
        return p;
    LLVMValueRef fixed = b_unary(l, "llvm.floor", b_fma(l, u, real(l, 256), real(l, -127.5))); /* (u - 1/2) * 256, to nearest */
    LLVMValueRef q = LLVMBuildFPToSI(l->builder, fixed, l->i32, "");
    p.low = b_select(l, s->linear, b_ashr(l, q, b_i32(l, 8)), p.low);
    p.fraction = b_and(l, q, b_i32(l, 255));
    return p;
}

/* i modulo n, for n above 0, never negative. */
static LLVMValueRef modulo(struct ptx_lower *l, LLVMValueRef i, LLVMValueRef n)
{
    LLVMValueRef r = b_srem(l, i, n);
    return b_select(l, b_slt(l, r, b_i32(l, 0)), b_add(l, r, n), r);
}

/* The element that index `i` means, always inside; *outside (i1, or NULL for none yet) grows where the border is meant. */
static LLVMValueRef resolve(struct sampler *s, unsigned dim, LLVMValueRef i, LLVMValueRef size, LLVMValueRef *outside)
{
    struct ptx_lower *l = s->l;
    if (s->t.way.cube)
        return clamp_index(l, i, size);
    LLVMValueRef past = b_icmp(l, LLVMIntUGE, i, size), wrapped, mirrored;
    LLVMValueRef out = b_and(l, past, mode_is(s, dim, AW_ADDRESS_BORDER));
    *outside = *outside ? b_or(l, *outside, out) : out;
    if (s->t.way.offset) {
        LLVMValueRef r = modulo(l, i, b_shl(l, size, b_i32(l, 1))), twice = b_sub(l, b_shl(l, size, b_i32(l, 1)), b_i32(l, 1));
        wrapped = modulo(l, i, size);
        mirrored = b_select(l, b_ult(l, r, size), r, b_sub(l, twice, r));
    } else { /* the coordinate was brought inside before: at most one element is left to go */
        LLVMValueRef down = b_select(l, b_icmp(l, LLVMIntSGE, i, size), b_sub(l, i, size), i);
        wrapped = b_select(l, b_slt(l, i, b_i32(l, 0)), b_add(l, i, size), down);
        mirrored = i;
    }
    i = b_select(l, mode_is(s, dim, AW_ADDRESS_WRAP), wrapped, i);
    i = b_select(l, mode_is(s, dim, AW_ADDRESS_MIRROR), mirrored, i);
    return clamp_index(l, i, size);
}

/* ---- Layers and cubes */

static LLVMValueRef layer_of(struct sampler *s)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef n = PTX_TEX_FIELD(l, s->t.desc, l->i32, layers);
    n = b_select(l, b_eq(l, n, b_i32(l, 0)), b_i32(l, 1), n);
    return b_umin(l, s->args.layer, b_sub(l, n, b_i32(l, 1)));
}

/* Which of a cube's faces a direction hits. */
struct facing {
    LLVMValueRef use_x, use_y, minus; /* i1: the axis it is on, z where neither says so; its negative side */
};

static struct facing facing_of(struct ptx_lower *l, LLVMValueRef *v)
{
    LLVMValueRef ax = b_unary(l, "llvm.fabs", v[0]), ay = b_unary(l, "llvm.fabs", v[1]), az = b_unary(l, "llvm.fabs", v[2]);
    /* Where components are alike z goes before y, and y before x, as on NVIDIA's cards (tests/recorded/isa.txt). */
    struct facing f = { b_and(l, b_fcmp(l, LLVMRealOGT, ax, ay), b_fcmp(l, LLVMRealOGT, ax, az)), b_fcmp(l, LLVMRealOGT, ay, az),
                        NULL };
    LLVMValueRef major = b_select(l, f.use_x, v[0], b_select(l, f.use_y, v[1], v[2]));
    f.minus = b_ne(l, b_lshr(l, ptx_to_bits(l, major), b_i32(l, 31)), b_i32(l, 0)); /* by sign, so for zeros too */
    return f;
}

/* What of a vector lies across the face, down it, and away from the cube's middle. */
static void face_components(struct ptx_lower *l, const struct facing *f, LLVMValueRef *v, LLVMValueRef ret[3])
{
    LLVMValueRef x = v[0], y = v[1], z = v[2], major = b_select(l, f->use_x, x, b_select(l, f->use_y, y, z));
    LLVMValueRef sx = b_select(l, f->minus, z, b_fneg(l, z)), sz = b_select(l, f->minus, b_fneg(l, x), x);
    LLVMValueRef ty = b_select(l, f->minus, b_fneg(l, z), z);
    ret[0] = b_select(l, f->use_x, sx, b_select(l, f->use_y, x, sz));
    ret[1] = b_select(l, f->use_x, b_fneg(l, y), b_select(l, f->use_y, ty, b_fneg(l, y)));
    ret[2] = b_select(l, f->minus, b_fneg(l, major), major);
}

/* Replaces the direction in args.coord by a position on a face, from 0 to 1, and returns the face's number. */
static LLVMValueRef face_of(struct sampler *s)
{
    struct ptx_lower *l = s->l;
    struct facing f = facing_of(l, s->args.coord);
    LLVMValueRef on[3];
    face_components(l, &f, s->args.coord, on);
    s->args.coord[0] = b_fma(l, b_fdiv(l, on[0], on[2]), real(l, 0.5), real(l, 0.5));
    s->args.coord[1] = b_fma(l, b_fdiv(l, on[1], on[2]), real(l, 0.5), real(l, 0.5));
    s->args.coord[2] = NULL;
    LLVMValueRef pair = b_select(l, f.use_x, b_i32(l, 0), b_select(l, f.use_y, b_i32(l, 2), b_i32(l, 4)));
    return b_add(l, pair, b_zext(l, f.minus, l->i32));
}

/* The slice that layer and face choose, or NULL where there is none to choose. */
static LLVMValueRef slice_of(struct sampler *s)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef layer = s->t.way.layered ? layer_of(s) : NULL;
    if (!s->t.way.cube)
        return layer;
    s->layer = layer ? layer : b_i32(l, 0);
    s->face = face_of(s);
    return b_add(l, b_mul(l, s->layer, b_i32(l, 6)), s->face);
}

/* i where the low bit of `face` is as it says, else -i. */
static LLVMValueRef turned(struct ptx_lower *l, LLVMValueRef face, bool odd, LLVMValueRef i)
{
    LLVMValueRef is_odd = flag(l, face, 1);
    return odd ? b_select(l, is_odd, i, b_neg(l, i)) : b_select(l, is_odd, b_neg(l, i), i);
}

/* Filtering that goes on across edges: the element at[0], at[1] of the position's face, which may be one beyond an edge, becomes
 * the one beside it on the next face, whose slice is returned.  Corners, where there is no fourth element, take the one along y,
 * with no weight (weight_at_corner).  In integers: the element's centre as a direction, twice as large as the cube's half, is
 * looked up again. */
static LLVMValueRef seamless(struct sampler *s, LLVMValueRef at[3], LLVMValueRef n)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef out_x = b_icmp(l, LLVMIntUGE, at[0], n), y = b_select(l, out_x, clamp_index(l, at[1], n), at[1]);
    LLVMValueRef u = b_sub(l, b_add(l, b_shl(l, at[0], b_i32(l, 1)), b_i32(l, 1)), n);
    LLVMValueRef v = b_sub(l, b_add(l, b_shl(l, y, b_i32(l, 1)), b_i32(l, 1)), n);
    LLVMValueRef on_x = b_ult(l, s->face, b_i32(l, 2)), on_y = b_eq(l, b_and(l, s->face, b_i32(l, 6)), b_i32(l, 2));
    LLVMValueRef m = turned(l, s->face, false, n), d[3], a[3];
    d[0] = b_select(l, on_x, m, b_select(l, on_y, u, turned(l, s->face, false, u)));
    d[1] = b_select(l, on_y, m, b_neg(l, v));
    d[2] = b_select(l, on_x, turned(l, s->face, true, u), b_select(l, on_y, turned(l, s->face, false, v), m));
    for (unsigned i = 0; i < 3; i++)
        a[i] = b_binary(l, "llvm.smax", d[i], b_neg(l, d[i]));
    LLVMValueRef to_x = b_and(l, b_ult(l, a[1], a[0]), b_ult(l, a[2], a[0])), to_y = b_ult(l, a[2], a[1]);
    LLVMValueRef major = b_select(l, to_x, d[0], b_select(l, to_y, d[1], d[2]));
    LLVMValueRef minus = b_zext(l, b_slt(l, major, b_i32(l, 0)), l->i32);
    LLVMValueRef face = b_add(l, b_select(l, to_x, b_i32(l, 0), b_select(l, to_y, b_i32(l, 2), b_i32(l, 4))), minus);
    LLVMValueRef across = b_select(l, to_x, turned(l, face, true, d[2]), b_select(l, to_y, d[0], turned(l, face, false, d[0])));
    LLVMValueRef down = b_select(l, b_and(l, to_y, b_not(l, to_x)), turned(l, face, false, d[2]), b_neg(l, d[1]));
    at[0] = clamp_index(l, b_ashr(l, b_add(l, across, n), b_i32(l, 1)), n);
    at[1] = clamp_index(l, b_ashr(l, b_add(l, down, n), b_i32(l, 1)), n);
    return b_add(l, b_mul(l, s->layer, b_i32(l, 6)), face);
}

/* ---- One level */

static void border_apply(struct sampler *s, LLVMValueRef outside, LLVMValueRef words[4])
{
    struct ptx_lower *l = s->l;
    for (unsigned i = 0; outside && i < 4; i++) {
        LLVMValueRef color = ptx_tex_field(l, s->t.desc, l->i32, offsetof(struct aw_texture, border) + 4 * i);
        words[i] = b_select(l, outside, color, words[i]);
    }
}

/* A depth comparison, of the channels that there are.  CUDA has no interface that sets its operator: it passes where the depth
 * given is not behind the element, as a depth buffer's usual test does. */
static void depth_compare(struct sampler *s, LLVMValueRef words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef channels = b_and(l, b_lshr(l, s->t.format, b_i32(l, AW_TEXEL_CHANNELS_SHIFT)), b_i32(l, 7));
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef passes = b_fcmp(l, LLVMRealOLE, s->args.depth, b_bitcast(l, words[i], l->f32));
        LLVMValueRef result = ptx_to_bits(l, b_select(l, passes, real(l, 1), real(l, 0)));
        words[i] = b_select(l, b_ult(l, b_i32(l, i), channels), result, words[i]);
    }
}

static LLVMValueRef weight_real(struct ptx_lower *l, LLVMValueRef weight)
{
    return b_fmul(l, b_uitofp(l, weight, l->f32), real(l, 1.0 / 256));
}

/* What the low or the high side of a dimension gets of a weight.  A half is rounded up, but down where `down` is given and true:
 * elements across get of the rows what is left of each other. */
static LLVMValueRef weight_part(struct ptx_lower *l, LLVMValueRef weight, LLVMValueRef fraction, LLVMValueRef high,
                                LLVMValueRef down)
{
    LLVMValueRef half = down ? b_select(l, down, b_i32(l, 127), b_i32(l, 128)) : b_i32(l, 128);
    LLVMValueRef part = b_lshr(l, b_add(l, b_mul(l, weight, fraction), half), b_i32(l, 8));
    return b_select(l, high, part, b_sub(l, weight, part));
}

/* The weight of element number `k`, in 256ths.  Of a level's weight each depth gets its part, of that each column, of that each
 * row: so NVIDIA's H200 does (tests/recorded/isa.txt), but for a few ties of three dimensions. */
static LLVMValueRef weight_of(struct sampler *s, const struct position p[3], LLVMValueRef k)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef w = s->weight, right = flag(l, k, 1);
    if (s->t.way.dims == 3)
        w = weight_part(l, w, p[2].fraction, flag(l, k, 4), NULL);
    w = weight_part(l, w, p[0].fraction, right, NULL);
    return s->t.way.dims > 1 ? weight_part(l, w, p[1].fraction, flag(l, k, 2), b_not(l, right)) : w;
}

/* Beyond a cube's corner there is no element: the three others get its weight, the opposite one what is left of it. */
static LLVMValueRef weight_at_corner(struct sampler *s, const struct position p[3], LLVMValueRef k, LLVMValueRef n)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef weight = weight_of(s, p, k), missing = b_i32(l, 0), is_corner = flag(l, s->t.sampler, AW_SAMPLER_SEAMLESS);
    for (unsigned d = 0; d < 2; d++) {
        LLVMValueRef high = b_icmp(l, LLVMIntSGE, b_add(l, p[d].low, b_i32(l, 1)), n);
        is_corner = b_and(l, is_corner, b_or(l, high, b_slt(l, p[d].low, b_i32(l, 0))));
        missing = b_or(l, missing, b_select(l, high, b_i32(l, 1u << d), b_i32(l, 0)));
    }
    LLVMValueRef lost = weight_of(s, p, missing),
                 third = b_lshr(l, b_add(l, b_mul(l, lost, b_i32(l, 85)), b_i32(l, 128)), b_i32(l, 8));
    LLVMValueRef rest = b_sub(l, lost, b_shl(l, third, b_i32(l, 1))), opposite = b_eq(l, k, b_xor(l, missing, b_i32(l, 3)));
    LLVMValueRef more = b_add(l, weight, b_select(l, opposite, rest, third));
    return b_select(l, is_corner, b_select(l, b_eq(l, k, missing), b_i32(l, 0), more), weight);
}

/* Element number `k` (i32) of those around a position: bit d of it says low or high in dimension d. */
static void tap(struct sampler *s, const struct ptx_tex_level *level, const struct position p[3], LLVMValueRef slice,
                        LLVMValueRef k, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef at[3] = { NULL, NULL, slice }, raw[3], outside = NULL;
    for (unsigned d = 0; d < s->t.way.dims; d++) {
        LLVMValueRef i = b_add(l, p[d].low, b_zext(l, flag(l, k, 1u << d), l->i32));
        if (s->args.offset[d])
            i = b_add(l, i, s->args.offset[d]);
        raw[d] = i;
        at[d] = resolve(s, d, i, level->size[d], &outside);
    }
    if (s->t.way.cube && s->linear) {
        LLVMValueRef on = flag(l, s->t.sampler, AW_SAMPLER_SEAMLESS), beyond = seamless(s, raw, level->size[0]);
        at[0] = b_select(l, on, raw[0], at[0]);
        at[1] = b_select(l, on, raw[1], at[1]);
        at[2] = b_select(l, on, beyond, slice);
    }
    ptx_tex_texel(l, &s->t, level, at, ret_words);
    border_apply(s, outside, ret_words);
    if (s->t.way.compare)
        depth_compare(s, ret_words);
}

struct loop {
    LLVMBasicBlockRef head, before;
    LLVMValueRef k, acc[4]; /* phis: i32 */
};

static struct loop loop_begin(struct ptx_lower *l)
{
    struct loop loop = { .before = LLVMGetInsertBlock(l->builder), .head = ptx_block_new(l, "tex.loop") };
    LLVMBuildBr(l->builder, loop.head);
    LLVMPositionBuilderAtEnd(l->builder, loop.head);
    LLVMValueRef zero = b_i32(l, 0);
    loop.k = LLVMBuildPhi(l->builder, l->i32, "");
    LLVMAddIncoming(loop.k, &zero, &loop.before, 1);
    for (unsigned i = 0; i < 4; i++) {
        loop.acc[i] = LLVMBuildPhi(l->builder, l->i32, "");
        LLVMAddIncoming(loop.acc[i], &zero, &loop.before, 1);
    }
    return loop;
}

/* Goes round with the new sums while k + 1 is below `count`. */
static void loop_end(struct ptx_lower *l, struct loop *loop, LLVMValueRef count, LLVMValueRef sums[4])
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->builder), done = ptx_block_new(l, "tex.done");
    LLVMValueRef next = b_add(l, loop->k, b_i32(l, 1));
    LLVMAddIncoming(loop->k, &next, &from, 1);
    for (unsigned i = 0; i < 4; i++)
        LLVMAddIncoming(loop->acc[i], &sums[i], &from, 1);
    LLVMBuildCondBr(l->builder, b_ult(l, next, count), loop->head, done);
    LLVMPositionBuilderAtEnd(l->builder, done);
}

/* sum + weight * word as floats where `sums`, else the word itself. */
static LLVMValueRef add_weighted(struct ptx_lower *l, LLVMValueRef sums, LLVMValueRef weight, LLVMValueRef word, LLVMValueRef sum)
{
    LLVMValueRef f = b_fma(l, weight, b_bitcast(l, word, l->f32), b_bitcast(l, sum, l->f32));
    return b_select(l, sums, ptx_to_bits(l, f), word);
}

/* The place that element k has in a gather's result: counter-clockwise from low x, high y. */
static LLVMValueRef gather_is(struct ptx_lower *l, LLVMValueRef k, unsigned place)
{
    static const unsigned of_place[4] = { 2, 3, 1, 0 };
    return b_eq(l, k, b_i32(l, of_place[place]));
}

static void sample_level(struct sampler *s, LLVMValueRef index, LLVMValueRef slice, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    const struct ptx_tex_way *way = &s->t.way;
    struct ptx_tex_level level = ptx_tex_level_read(l, s->t.desc, index);
    struct position p[3];
    for (unsigned d = 0; d < way->dims; d++)
        p[d] = position_of(s, d, s->args.coord[d], level.size[d]);
    LLVMValueRef taps = b_i32(l, 1u << way->dims);
    if (way->line) {
        LLVMValueRef line = flag(l, s->t.sampler, AW_SAMPLER_LINE);
        p[1].low = b_select(l, line, b_i32(l, 0), p[1].low);
        p[1].fraction = b_select(l, line, b_i32(l, 0), p[1].fraction);
        taps = b_select(l, line, b_i32(l, 2), taps);
    }
    if (!s->linear) {
        tap(s, &level, p, slice, b_i32(l, 0), ret_words);
        return;
    }
    struct loop loop = loop_begin(l);
    LLVMValueRef words[4], weight = way->cube ? weight_at_corner(s, p, loop.k, level.size[0]) : weight_of(s, p, loop.k);
    weight = weight_real(l, weight);
    tap(s, &level, p, slice, loop.k, words);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = way->mode == PTX_TEX_GATHER ? b_select(l, gather_is(l, loop.k, i), words[way->component], loop.acc[i])
                                                   : add_weighted(l, s->linear, weight, words[i], loop.acc[i]);
    loop_end(l, &loop, b_select(l, s->linear, taps, b_i32(l, 1)), ret_words);
}

/* ---- Levels */

/* Base-2 logarithm, good to 2^-17: levels are blended in 256ths.  In float steps that every device does alike. */
static LLVMValueRef log2_of(struct ptx_lower *l, LLVMValueRef v)
{
    /* log2(1 + t) = t * (...), interpolated at Chebyshev's nodes of 0 to 1; the last term first. */
    static const double terms[] = { -0.03382205, 0.1444711, -0.30163801, 0.46865888, -0.72035877, 1.44268147 };
    LLVMValueRef bits = ptx_to_bits(l, v);
    LLVMValueRef exponent = b_sub(l, b_and(l, b_lshr(l, bits, b_i32(l, 23)), b_i32(l, 255)), b_i32(l, 127));
    LLVMValueRef m = b_bitcast(l, b_or(l, b_and(l, bits, b_i32(l, 0x7fffff)), b_i32(l, 0x3f800000)), l->f32);
    LLVMValueRef t = b_fsub(l, m, real(l, 1)), sum = real(l, terms[0]);
    for (unsigned i = 1; i < sizeof terms / sizeof *terms; i++)
        sum = b_fma(l, sum, t, real(l, terms[i]));
    return b_fma(l, sum, t, b_sitofp(l, exponent, l->f32));
}

/* How a position on a face changes as the direction does by `d`: the derivative of across / away, and of down / away, halved as
 * the position is.  Near an edge the face is the one that the direction hits, for both gradients. */
static void face_gradient(struct sampler *s, LLVMValueRef *d)
{
    struct ptx_lower *l = s->l;
    struct facing f = facing_of(l, s->args.coord);
    LLVMValueRef p[3], v[3];
    face_components(l, &f, s->args.coord, p);
    face_components(l, &f, d, v);
    LLVMValueRef square = b_fmul(l, p[2], p[2]);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef n = b_fma(l, v[i], p[2], b_fneg(l, b_fmul(l, p[i], v[2])));
        d[i] = b_fmul(l, b_fdiv(l, n, square), real(l, 0.5));
    }
}

/* A gradient's length, as NVIDIA's cards measure it: the longest part and fractions of the others. */
static LLVMValueRef gradient_length(struct sampler *s, LLVMValueRef v[3])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef part[3], longest, least;
    for (unsigned d = 0; d < s->t.way.dims; d++)
        part[d] = b_unary(l, "llvm.fabs", v[d]);
    if (s->t.way.dims == 1)
        return part[0];
    longest = b_binary(l, "llvm.maxnum", part[0], part[1]);
    least = b_binary(l, "llvm.minnum", part[0], part[1]);
    if (s->t.way.dims == 2)
        return b_fma(l, least, real(l, 3.0 / 8), longest);
    LLVMValueRef other = b_binary(l, "llvm.minnum", longest, part[2]); /* the two that are not the longest */
    longest = b_binary(l, "llvm.maxnum", longest, part[2]);
    LLVMValueRef middle = b_binary(l, "llvm.maxnum", least, other);
    least = b_binary(l, "llvm.minnum", least, other);
    return b_fma(l, least, real(l, 1.0 / 4), b_fma(l, middle, real(l, 11.0 / 32), longest));
}

/* The logarithm of the longer gradient's length, in elements of level 0. */
static LLVMValueRef lod_of_gradients(struct sampler *s)
{
    struct ptx_lower *l = s->l;
    struct ptx_tex_level level = ptx_tex_level_read(l, s->t.desc, NULL);
    LLVMValueRef normalized = s->t.way.cube ? b_bool(l, true) : flag(l, s->t.sampler, AW_SAMPLER_NORMALIZED);
    LLVMValueRef x[3], y[3];
    if (s->t.way.cube) {
        face_gradient(s, s->args.dx);
        face_gradient(s, s->args.dy);
    }
    for (unsigned d = 0; d < s->t.way.dims; d++) {
        LLVMValueRef n = b_select(l, normalized, b_uitofp(l, level.size[d], l->f32), real(l, 1));
        x[d] = b_fmul(l, s->args.dx[d], n);
        y[d] = b_fmul(l, s->args.dy[d], n);
    }
    LLVMValueRef across = gradient_length(s, x), down = gradient_length(s, y);
    return log2_of(l, b_select(l, b_fcmp(l, LLVMRealOGT, across, down), across, down));
}

/* The level of detail within the texture's levels, biased and clamped. */
static LLVMValueRef lod_final(struct sampler *s, LLVMValueRef lod)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef least = PTX_TEX_FIELD(l, s->t.desc, l->f32, lod_min), most = PTX_TEX_FIELD(l, s->t.desc, l->f32, lod_max);
    lod = b_fadd(l, lod, PTX_TEX_FIELD(l, s->t.desc, l->f32, lod_bias));
    lod = b_select(l, b_fcmp(l, LLVMRealOLT, lod, most), lod, most);
    lod = b_select(l, b_fcmp(l, LLVMRealOGT, lod, least), lod, least); /* which wins where they cross */
    lod = between(l, lod, 0, AW_TEXTURE_LEVELS);
    LLVMValueRef last = b_uitofp(l, b_sub(l, PTX_TEX_FIELD(l, s->t.desc, l->i32, levels), b_i32(l, 1)), l->f32);
    return b_select(l, b_fcmp(l, LLVMRealOLT, lod, last), lod, last);
}

/* One level, or two of them blended by the level of detail, whose parts are weighted first. */
static void sample_mipmap(struct sampler *s, LLVMValueRef lod, LLVMValueRef slice, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef linear = flag(l, s->t.sampler, AW_SAMPLER_MIP_LINEAR);
    lod = lod_final(s, lod);
    LLVMValueRef nearest = LLVMBuildFPToSI(l->builder, b_unary(l, "llvm.floor", b_fadd(l, lod, real(l, 0.5))), l->i32, "");
    LLVMValueRef fixed = b_unary(l, "llvm.floor", b_fmul(l, lod, real(l, 256)));
    LLVMValueRef q = LLVMBuildFPToSI(l->builder, fixed, l->i32, ""), low = b_lshr(l, q, b_i32(l, 8));
    LLVMValueRef fraction = b_and(l, q, b_i32(l, 255)), two = b_and(l, linear, b_ne(l, fraction, b_i32(l, 0)));
    struct loop loop = loop_begin(l);
    LLVMValueRef words[4], high = b_ne(l, loop.k, b_i32(l, 0)), all = b_i32(l, 256);
    s->weight = b_select(l, two, b_select(l, high, fraction, b_sub(l, all, fraction)), all);
    sample_level(s, b_add(l, b_select(l, linear, low, nearest), loop.k), slice, words);
    LLVMValueRef weight = weight_real(l, s->weight);
    if (s->linear)
        weight = b_select(l, s->linear, real(l, 1), weight); /* a level's elements had their parts of it */
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = add_weighted(l, two, weight, words[i], loop.acc[i]);
    loop_end(l, &loop, b_select(l, two, b_i32(l, 2), b_i32(l, 1)), ret_words);
}

/* Integer coordinates: no filter, no address modes, zero outside. */
static void sample_fetch(struct sampler *s, LLVMValueRef slice, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef index = NULL, out = b_bool(l, false), at[3] = { NULL, NULL, slice };
    if (s->t.way.mode == PTX_TEX_LEVEL)
        index = clamp_index(l, s->args.lod, PTX_TEX_FIELD(l, s->t.desc, l->i32, levels));
    struct ptx_tex_level level = ptx_tex_level_read(l, s->t.desc, index);
    for (unsigned d = 0; d < s->t.way.dims; d++) {
        LLVMValueRef i = s->args.coord[d];
        if (s->args.offset[d])
            i = b_add(l, i, s->args.offset[d]);
        LLVMValueRef past = b_icmp(l, LLVMIntUGE, i, level.size[d]);
        at[d] = b_select(l, past, b_i32(l, 0), i);
        out = b_or(l, out, past);
    }
    ptx_tex_texel(l, &s->t, &level, at, ret_words);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = b_select(l, out, b_i32(l, 0), ret_words[i]);
}

/* What was filtered is rounded as NVIDIA's filters do: halves to halves, fractions to 16 bits, but those with the sRGB curve.
 * Signed fractions end at -1. */
static LLVMValueRef rounded(struct sampler *s, LLVMValueRef v, LLVMValueRef is_signed, LLVMValueRef filtered)
{
    struct ptx_lower *l = s->l;
    LLVMValueRef most = b_select(l, is_signed, real(l, 32767), real(l, 65535));
    LLVMValueRef steps = b_fdiv(l, b_unary(l, "llvm.rint", b_fmul(l, v, most)), most), least = real(l, -1);
    v = b_select(l, filtered, steps, v);
    return b_select(l, b_and(l, is_signed, b_fcmp(l, LLVMRealOLT, v, least)), least, v);
}

static void round_result(struct sampler *s, LLVMValueRef words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef no = b_bool(l, false), linear = s->linear ? s->linear : no, is_float = flag(l, s->t.format, AW_TEXEL_FLOAT);
    LLVMValueRef bytes2 = b_eq(l, b_and(l, b_lshr(l, s->t.format, b_i32(l, AW_TEXEL_CHANNEL_SHIFT)), b_i32(l, 3)), b_i32(l, 1));
    LLVMValueRef half = b_and(l, linear, b_and(l, is_float, bytes2)), is_signed = flag(l, s->t.format, AW_TEXEL_SIGNED);
    LLVMValueRef curve = flag(l, s->t.format, AW_TEXEL_SRGB), other[4];
    struct ptx_if some = ptx_if_begin(l, b_or(l, half, flag(l, s->t.format, AW_TEXEL_NORMALIZED)));
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef f = b_bitcast(l, words[i], l->f32), plain = i == 3 ? no : curve; /* the curve is not alpha's */
        LLVMValueRef narrow = b_fpext(l, b_fptrunc(l, f, l->f16), l->f32);
        f = b_select(l, is_float, narrow, rounded(s, f, is_signed, b_and(l, linear, b_not(l, plain))));
        other[i] = ptx_to_bits(l, f);
    }
    LLVMBasicBlockRef from_some = ptx_if_else(l, &some), from_none = ptx_if_end(l, &some);
    for (unsigned i = 0; i < 4; i++)
        words[i] = ptx_phi2(l, other[i], from_some, words[i], from_none);
}

enum { INLINED = 6 }; /* calls of samplers in one kernel: more of them share the function */

/* A lookup that names no level is of the least that the texture's clamp allows: level 0, but for objects with a clamp above it,
 * which are rare and take the function for levels, with what was `given` to this one. */
static void sample_base(struct sampler *s, const struct ptx_tex_args *given, LLVMValueRef slice, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    LLVMValueRef least = PTX_TEX_FIELD(l, s->t.desc, l->f32, lod_min), words[4];
    struct ptx_if clamps = ptx_if_begin(l, b_fcmp(l, LLVMRealOGT, least, real(l, 0)));
    struct ptx_tex_way way = s->t.way;
    struct ptx_tex_args args = *given;
    way.mode = PTX_TEX_LEVEL;
    args.lod = real(l, -32); /* below any level, whatever the bias */
    l->n_samples = INLINED;
    ptx_tex_sample(l, &way, &args, words);
    LLVMBasicBlockRef from_clamps = ptx_if_else(l, &clamps);
    sample_level(s, NULL, slice, ret_words);
    LLVMBasicBlockRef from_base = ptx_if_end(l, &clamps);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = ptx_phi2(l, words[i], from_clamps, ret_words[i], from_base);
}

static void sample(struct sampler *s, LLVMValueRef ret_words[4])
{
    struct ptx_lower *l = s->l;
    const struct ptx_tex_way *way = &s->t.way;
    LLVMValueRef lod = way->mode == PTX_TEX_GRAD ? lod_of_gradients(s) : s->args.lod;
    const struct ptx_tex_args given = s->args; /* of a cube's coordinates a face's are made */
    LLVMValueRef slice = slice_of(s);
    if (way->mode == PTX_TEX_GATHER)
        s->linear = b_bool(l, true);
    else if (!way->integer && !way->fetch)
        s->linear = flag(l, s->t.sampler, AW_SAMPLER_LINEAR);
    if (way->fetch)
        sample_fetch(s, slice, ret_words);
    else if (way->mode == PTX_TEX_LEVEL || way->mode == PTX_TEX_GRAD)
        sample_mipmap(s, lod, slice, ret_words);
    else if (way->mode == PTX_TEX_GATHER)
        sample_level(s, NULL, slice, ret_words);
    else
        sample_base(s, &given, slice, ret_words);
    if (!way->integer) /* what a function for levels has rounded stays as it is */
        round_result(s, ret_words);
}

/* ---- Functions */

enum { ARGS_MAX = 20 };

/* Calls `each` for every argument that `way` has, in the function's order; fields of `a` are filled or read by it. */
typedef void each_arg(void *user, LLVMValueRef *arg, LLVMTypeRef type);
static void args_each(struct ptx_lower *l, const struct ptx_tex_way *way, struct ptx_tex_args *a, each_arg *each, void *user)
{
    LLVMTypeRef coord = way->fetch ? l->i32 : l->f32;
    each(user, &a->handle, l->i64);
    each(user, &a->sampler, l->i32);
    if (way->layered)
        each(user, &a->layer, l->i32);
    for (unsigned d = 0; d < (way->cube ? 3 : way->dims); d++)
        each(user, &a->coord[d], coord);
    if (way->mode == PTX_TEX_LEVEL)
        each(user, &a->lod, coord);
    for (unsigned d = 0; way->mode == PTX_TEX_GRAD && d < (way->cube ? 3 : way->dims); d++) {
        each(user, &a->dx[d], l->f32);
        each(user, &a->dy[d], l->f32);
    }
    for (unsigned d = 0; way->offset && d < way->dims; d++)
        each(user, &a->offset[d], l->i32);
    if (way->compare)
        each(user, &a->depth, l->f32);
}

struct arg_list {
    LLVMTypeRef types[ARGS_MAX];
    LLVMValueRef values[ARGS_MAX], fn;
    unsigned n;
};

static void arg_collect(void *user, LLVMValueRef *arg, LLVMTypeRef type)
{
    struct arg_list *list = user;
    list->types[list->n] = type;
    list->values[list->n++] = *arg;
}

static void arg_bind(void *user, LLVMValueRef *arg, LLVMTypeRef type)
{
    struct arg_list *list = user;
    (void)type;
    *arg = LLVMGetParam(list->fn, list->n++);
}

/* The body of `fn`, whose second parameter says where the four words go. */
static void function_fill(struct ptx_lower *outer, const struct ptx_tex_way *way, LLVMValueRef fn)
{
    struct ptx_lower inner = *outer, *l = &inner;
    struct sampler s = { .l = l, .t = { .way = *way }, .weight = b_i32(l, 256) };
    struct arg_list list = { .fn = fn, .n = 2 };
    LLVMValueRef words[4];
    inner.fn = fn;
    inner.kernarg = LLVMGetParam(fn, 0);
    inner.builder = LLVMCreateBuilderInContext(outer->context);
    inner.entry = ptx_block_new(l, "entry");
    LLVMPositionBuilderAtEnd(inner.builder, inner.entry);
    args_each(l, way, &s.args, arg_bind, &list);
    s.t.desc = ptx_tex_desc(l, s.args.handle);
    s.t.format = PTX_TEX_FIELD(l, s.t.desc, l->i32, format);
    s.t.sampler = s.args.sampler;
    sample(&s, words);
    for (unsigned i = 0; i < 4; i++)
        LLVMSetAlignment(LLVMBuildStore(l->builder, words[i], b_gep(l, LLVMGetParam(fn, 1), b_i64(l, 4 * i))), 4);
    LLVMBuildRetVoid(inner.builder);
    LLVMDisposeBuilder(inner.builder);
}

static LLVMValueRef function_of(struct ptx_lower *l, const struct ptx_tex_way *way, LLVMTypeRef type)
{
    static const char *const modes[] = { "base", "level", "grad", "gather" };
    char name[64];
    snprintf(name, sizeof name, "tex.%u%s%s%s%s%s%s%s.%s%u", way->dims, way->line ? "l" : "", way->cube ? "c" : "",
             way->layered ? "a" : "", way->fetch ? "f" : "", way->integer ? "i" : "", way->offset ? "o" : "",
             way->compare ? "d" : "", modes[way->mode], way->component);
    LLVMValueRef fn = LLVMGetNamedFunction(l->module, name);
    if (fn)
        return fn;
    fn = LLVMAddFunction(l->module, name, type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    ptx_function_attributes(l, fn);
    function_fill(l, way, fn);
    return fn;
}

void ptx_tex_sample(struct ptx_lower *l, const struct ptx_tex_way *way, const struct ptx_tex_args *args,
                    LLVMValueRef ret_words[4])
{
    struct ptx_tex_args copy = *args;
    struct arg_list list = { .n = 2 };
    LLVMValueRef result = ptx_entry_alloca(l, LLVMArrayType2(l->i32, 4), 16, "texel");
    list.types[0] = l->ptr[AS_CONST];
    list.values[0] = l->kernarg;
    list.types[1] = l->ptr[AS_LOCAL];
    list.values[1] = result;
    args_each(l, way, &copy, arg_collect, &list);
    LLVMTypeRef type = LLVMFunctionType(l->void_type, list.types, list.n, 0);
    LLVMValueRef call = LLVMBuildCall2(l->builder, type, function_of(l, way, type), list.values, list.n, "");
    if (l->n_samples++ < INLINED) {
        unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(l->context, kind, 0));
    }
    for (unsigned i = 0; i < 4; i++) {
        ret_words[i] = LLVMBuildLoad2(l->builder, l->i32, b_gep(l, result, b_i64(l, 4 * i)), "");
        LLVMSetAlignment(ret_words[i], 4);
    }
}
