/* Tiles of matrix products (aw.tile.*) by the matrix instructions of gfx908 and later: v_mfma_*_16x16x*.
 *
 * A wave of 64 lanes holds two CUDA warps, each with a tile of its own.  One instruction multiplies 16 rows by 16 columns, so a
 * pair of instructions does both tiles: their rows are 8 of either warp, their columns all 16 of both, and half of what they
 * make, rows of one warp times columns of the other, is thrown away.  Instruction X has rows g of the lower warp and g + 8 of the
 * upper, Y the others.
 *
 * With lane = 32*w + 4*g + t, g = 4*gh + gl, what goes where:
 *   A lane 16*c + r holds row r and the elements of k that lane t = c of the row's four holds in mma: a register travels whole,
 *   from
 *         lane 32*w + 4*g + c with r = 8*w + g (f64: r = 4*gl + 2*w + gh, since its results have another layout)
 *   B     likewise column 8*h + 4*e + t, which is column 2*t + e of warp h; for Y turned by 8 lanes, so that h is the other warp
 *   D register i of lane 16*(2*w + gh) + 8*h + 4*e + t is row 4*gh + i and that column: X's where h = w, else Y's.  Exchanging
 *   the
 *         register's number i with the lane's bits h, e, four lanes and eight apart, brings it to lane 32*w + 4*(4*gh + i) + t
 *
 * C goes the same way back where the result is the C of further tiles, which take it as it is: the exchange is its own inverse.
 * Else it is added at the end: PTX leaves the order open.
 *
 * EXEC means nothing to these instructions, which write all lanes, also those of a warp that is elsewhere and whose registers
 * hold something.  So aw.tile.here is true only where all 64 lanes are; half waves and warps alone go lane by lane.
 *
 * Rounding and subnormals: PTX leaves the order of a sum, its rounding (at least f32) and subnormal inputs open; we hold to what
 * the lane by lane form does within its bound, one place of the sum of magnitudes for each addend, so nothing may be flushed.
 * What the cards do is known from measurements (Xie et al., "MMA-Sim", arXiv 2511.10909):
 *   f32, f64          fused steps, k ascending, everywhere
 *   gfx908            f16 and bf16: 4 or 2 products and C exactly, rounded to nearest
 *   gfx90a            f16 and bf16 flush subnormal sources and sums (AMD says so too: MIOpen, "MI200 MFMA behavior specifics")
 *   gfx942 f16, bf16 and xf32: products of 8 or 4 k are cut at 24 bits below the largest, C likewise, then to nearest: in the
 *   bound So on gfx90a f16 and bf16 are converted to f32 and multiplied so, exactly; tf32 too where there is no xf32, and the
 *   8-bit floats everywhere.
 *
 * Integers are exact: 4 bits stand in the upper or lower half of a byte, u8 is s8 plus 256 times its upper bit, and those
 * products are apart and shifted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include "base/vec.h"
#include "lower/matrix.h"

typedef LLVMValueRef V;

enum { STEPS = 2, UNITS = 4 * STEPS, ROWS = 4 /* of D in a lane */ };

/* What multiplies tiles of a type, on which cards.  An operand is `regs` registers as mma has them, or, where that is 0, one
 * element converted to f32 (f64: as it is). */
static const struct form {
    const char *card; /* beginning of its name */
    enum ptx_type type;
    uint8_t regs;
    uint8_t planes;   /* of integers: the most that a and b may have together (planes_of) */
    const char *name;
} forms[] = {
    { "gfx908", PTX_F16, 2, 2, "llvm.amdgcn.mfma.f32.16x16x16f16" },
    { "gfx908", PTX_BF16, 1, 2, "llvm.amdgcn.mfma.f32.16x16x8bf16" },
    { "gfx908", PTX_TF32, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx908", PTX_E4M3, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx908", PTX_S8, 1, 3, "llvm.amdgcn.mfma.i32.16x16x16i8" },
    { "gfx90a", PTX_F16, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx90a", PTX_BF16, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx90a", PTX_TF32, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx90a", PTX_E4M3, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx90a", PTX_S8, 1, 3, "llvm.amdgcn.mfma.i32.16x16x16i8" },
    { "gfx90a", PTX_F64, 0, 2, "llvm.amdgcn.mfma.f64.16x16x4f64" },
    { "gfx94", PTX_F16, 2, 2, "llvm.amdgcn.mfma.f32.16x16x16f16" },
    { "gfx94", PTX_BF16, 2, 2, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k" },
    { "gfx942", PTX_TF32, 2, 2, "llvm.amdgcn.mfma.f32.16x16x8.xf32" }, /* neither gfx950 nor the generic card has it */
    { "gfx94", PTX_TF32, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx94", PTX_E4M3, 0, 2, "llvm.amdgcn.mfma.f32.16x16x4f32" },
    { "gfx94", PTX_S8, 2, 4, "llvm.amdgcn.mfma.i32.16x16x32.i8" },
    { "gfx94", PTX_F64, 0, 2, "llvm.amdgcn.mfma.f64.16x16x4f64" },
};

/* Cards whose forms are another's. */
static const struct { const char *card, *as; } same[] = { { "gfx950", "gfx94" }, { "gfx9-4-generic", "gfx94" } };

static unsigned planes_of(enum ptx_type type)
{
    return type == PTX_U8 ? 2 : 1;
}

/* NULL where the card has none. */
static const struct form *form_of(const struct amdgpu *a, unsigned types)
{
    const char *card = a->finish->options->target;
    enum ptx_type type = PTX_TILE_A(types);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (strncmp(card, same[i].card, strlen(same[i].card)) == 0)
            card = same[i].as;
    if (!ptx_is_float(type))
        type = PTX_S8;
    else if (type == PTX_E5M2)
        type = PTX_E4M3;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].type == type && strncmp(card, forms[i].card, strlen(forms[i].card)) == 0)
            return planes_of(PTX_TILE_A(types)) + planes_of(PTX_TILE_B(types)) <= forms[i].planes ? &forms[i] : NULL;
    return NULL;
}

/* ---- Moving 32-bit words; f64 goes in two */
struct move {
    enum { ROUTE, TURN, EXCHANGE } how;
    V address;            /* ROUTE: 4 times the lane to read */
    unsigned control, banks; /* EXCHANGE: DPP, and the quads of a row that are written */
};

static V word_moved(struct amdgpu *a, const struct move *m, V old, V v)
{
    struct ptx_lower *b = &a->b;
    if (m->how == ROUTE)
        return b_intrinsic(b, "llvm.amdgcn.ds.bpermute", NULL, 0, (V[]){ m->address, v }, 2);
    bool all = m->how == TURN;
    V args[6] = {
        all ? LLVMGetPoison(b->i32) : old, v, b_i32(b, m->control), b_i32(b, 15), b_i32(b, all ? 15 : m->banks), b_bool(b, all)
    };
    return b_intrinsic(b, "llvm.amdgcn.update.dpp", &b->i32, 1, args, 6);
}

/* `old`: what stays where nothing is written; NULL for the other moves. */
static V moved(struct amdgpu *a, const struct move *m, V old, V v)
{
    struct ptx_lower *b = &a->b;
    LLVMTypeRef type = LLVMTypeOf(v), pair = LLVMVectorType(b->i32, 2);
    if (type != b->f64) {
        v = word_moved(a, m, old ? b_bitcast(b, old, b->i32) : NULL, b_bitcast(b, v, b->i32));
        return b_bitcast(b, v, type);
    }
    V words = b_bitcast(b, v, pair), olds = old ? b_bitcast(b, old, pair) : NULL, r = LLVMGetPoison(pair);
    for (unsigned i = 0; i < 2; i++) {
        V at = b_i32(b, i), o = olds ? LLVMBuildExtractElement(b->builder, olds, at, "") : NULL;
        V word = word_moved(a, m, o, LLVMBuildExtractElement(b->builder, words, at, ""));
        r = LLVMBuildInsertElement(b->builder, r, word, at, "");
    }
    return b_bitcast(b, r, b->f64);
}

/* ---- One tile */
struct tile {
    struct amdgpu *a;
    const struct form *form;
    enum ptx_type a_type, b_type;
    V lane;        /* of the wave */
    unsigned steps;
    V rows[2][STEPS], columns[STEPS]; /* routed: of X and Y; of X */
};

static V bits(struct tile *t, V v, unsigned mask, unsigned left)
{
    struct ptx_lower *b = &t->a->b;
    v = b_and(b, v, b_i32(b, mask));
    return left ? b_shl(b, v, b_i32(b, left)) : v;
}

/* Where rows and columns come from (the head says why). */
static struct move route_of(struct tile *t, bool rows)
{
    struct ptx_lower *b = &t->a->b;
    V c = b_lshr(b, t->lane, b_i32(b, 4)), from;
    if (!rows)
        from = b_or(b, b_or(b, bits(t, t->lane, 8, 2), bits(t, t->lane, 3, 3)), bits(t, t->lane, 4, 0));
    else if (t->a_type == PTX_F64)
        from = b_or(b, b_or(b, bits(t, t->lane, 2, 4), bits(t, t->lane, 1, 4)), bits(t, t->lane, 12, 0));
    else
        from = bits(t, t->lane, 15, 2);
    return (struct move){ .how = ROUTE, .address = b_shl(b, b_or(b, from, c), b_i32(b, 2)) };
}

/* p: A's registers, B's. */
static void operands_route(struct tile *t, V *p)
{
    struct ptx_lower *b = &t->a->b;
    V upper = b_ne(b, bits(t, t->lane, 32, 0), b_i32(b, 0));
    struct move rows = route_of(t, true), columns = route_of(t, false);
    for (unsigned s = 0; s < t->steps; s++) {
        V low = p[2 * s], high = LLVMIsPoison(p[2 * s + 1]) ? low : p[2 * s + 1];
        t->rows[0][s] = moved(t->a, &rows, NULL, low == high ? low : b_select(b, upper, high, low));
        t->rows[1][s] = low == high ? t->rows[0][s] : moved(t->a, &rows, NULL, b_select(b, upper, low, high));
        t->columns[s] = moved(t->a, &columns, NULL, p[4 + s]);
    }
}

/* A register as the instruction's units: elements, bytes of half-bytes, or itself.  Returns how many. */
static unsigned unpack(struct tile *t, V reg, enum ptx_type type, unsigned plane, V *ret)
{
    struct ptx_lower *b = &t->a->b;
    unsigned width = ptx_type_bits(type), n = width == 64 ? 1 : 32 / width;
    if (!t->form->regs) {
        for (unsigned e = 0; e < n; e++)
            ret[e] = ptx_matrix_element(b, reg, type, e);
        return n;
    }
    if (width == 4) { /* signed ones 16 times as large */
        bool wide = ptx_is_signed(type);
        V mask = b_i32(b, wide ? 0xf0f0f0f0 : 0x0f0f0f0f);
        ret[0] = b_and(b, wide ? b_shl(b, reg, b_i32(b, 4)) : reg, mask);
        ret[1] = b_and(b, wide ? reg : b_lshr(b, reg, b_i32(b, 4)), mask);
        return 2;
    }
    if (type == PTX_TF32)
        reg = b_and(b, reg, b_i32(b, 0xffffe000));
    ret[0] = plane ? b_and(b, b_lshr(b, reg, b_i32(b, 7)), b_i32(b, 0x01010101)) : reg;
    return 1;
}

static unsigned units_of(struct tile *t, V *regs, enum ptx_type type, unsigned plane, V *ret)
{
    unsigned n = 0;
    for (unsigned s = 0; s < t->steps; s++)
        n += unpack(t, regs[s], type, plane, ret + n);
    return n;
}

/* Units `at` and, where the operand has two registers, the next, as type `type`; 0 beyond the last. */
static V operand(struct tile *t, V *units, unsigned at, unsigned n, LLVMTypeRef type)
{
    struct ptx_lower *b = &t->a->b;
    if (t->form->regs < 2)
        return b_bitcast(b, units[at], type);
    V pair = LLVMGetPoison(LLVMVectorType(b->i32, 2));
    for (unsigned i = 0; i < 2; i++)
        pair = LLVMBuildInsertElement(b->builder, pair, at + i < n ? units[at + i] : b_i32(b, 0), b_i32(b, i), "");
    return b_bitcast(b, pair, type);
}

/* acc (NULL: 0) plus the products of some units of A and B. */
static V multiply(struct tile *t, V acc, V *rows, V *columns, unsigned n)
{
    struct ptx_lower *b = &t->a->b;
    unsigned id = LLVMLookupIntrinsicID(t->form->name, strlen(t->form->name)), each = t->form->regs == 2 ? 2 : 1;
    V fn = LLVMGetIntrinsicDeclaration(b->module, id, NULL, 0), zero = b_i32(b, 0);
    LLVMTypeRef type = LLVMGlobalGetValueType(fn), params[6];
    LLVMGetParamTypes(type, params);
    if (!acc)
        acc = LLVMConstNull(params[2]);
    for (unsigned i = 0; i < n; i += each) {
        V args[6] = { operand(t, rows, i, n, params[0]), operand(t, columns, i, n, params[1]), acc, zero, zero, zero };
        acc = LLVMBuildCall2(b->builder, type, fn, args, 6, "");
    }
    return acc;
}

static V shifted(struct tile *t, V acc, unsigned by, bool left)
{
    V vector[ROWS];
    for (unsigned i = 0; i < ROWS; i++)
        vector[i] = b_i32(&t->a->b, by);
    V amount = LLVMConstVector(vector, ROWS);
    return left ? LLVMBuildShl(t->a->b.builder, acc, amount, "") : LLVMBuildAShr(t->a->b.builder, acc, amount, "");
}

/* All products of X or Y, and `acc`.  Planes with the greatest weight come first. */
static V product(struct tile *t, V acc, V *rows, bool turned)
{
    const struct move turn = { .how = TURN, .control = 0x128 /* row_ror:8 */ };
    unsigned a_planes = planes_of(t->a_type), b_planes = planes_of(t->b_type), n = 0;
    V a_units[2][UNITS], b_units[2][UNITS];
    for (unsigned p = 0; p < 2; p++) {
        if (p < a_planes)
            n = units_of(t, rows, t->a_type, p, a_units[p]);
        if (p < b_planes)
            n = units_of(t, t->columns, t->b_type, p, b_units[p]);
        for (unsigned i = 0; turned && p < b_planes && i < n; i++)
            b_units[p][i] = moved(t->a, &turn, NULL, b_units[p][i]);
    }
    for (unsigned weight = a_planes + b_planes - 1; weight-- > 0;) {
        for (unsigned p = 0; p < a_planes; p++)
            if (p <= weight && weight - p < b_planes)
                acc = multiply(t, acc, a_units[p], b_units[weight - p], n);
        if (weight)
            acc = shifted(t, acc, 8, true);
    }
    unsigned fours = (t->a_type == PTX_S4) + (t->b_type == PTX_S4);
    return fours ? shifted(t, acc, 4 * fours, false) : acc;
}

/* The number of the register against two bits of the lane's. */
static void exchange(struct tile *t, V d[ROWS])
{
    static const struct { uint8_t bit; uint16_t down, up; uint8_t down_banks, up_banks; } stages[] = {
        { 2, 0x128, 0x128, 0xc, 0x3 }, /* row_ror:8 */
        { 1, 0x114, 0x104, 0xa, 0x5 }, /* row_shr:4, row_shl:4 */
    };
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        struct move down = { .how = EXCHANGE, .control = stages[s].down, .banks = stages[s].down_banks };
        struct move up = { .how = EXCHANGE, .control = stages[s].up, .banks = stages[s].up_banks };
        for (unsigned i = 0; i < ROWS; i++) {
            unsigned j = i | stages[s].bit;
            if (i == j)
                continue;
            V low = d[i], high = d[j];
            d[i] = moved(t->a, &down, low, high);
            d[j] = moved(t->a, &up, high, low);
        }
    }
}

/* Sums that can begin at C: those that are not shifted. */
static bool is_plain(const struct tile *t)
{
    return planes_of(t->a_type) + planes_of(t->b_type) == 2 && t->a_type != PTX_S4 && t->b_type != PTX_S4;
}

/* What the instructions begin with: `c` in the layout of D. */
static V vector_of(struct tile *t, const V c[ROWS], LLVMTypeRef type)
{
    struct ptx_lower *b = &t->a->b;
    V r = LLVMGetPoison(LLVMVectorType(type, ROWS));
    for (unsigned i = 0; i < ROWS; i++)
        r = LLVMBuildInsertElement(b->builder, r, b_bitcast(b, c[i], type), b_i32(b, i), "");
    return r;
}

/* The instructions and what is put together of X and Y, in their own layout; `c` (NULL: 0) and the result as floats or
 * integers. */
static void both_warps(struct tile *t, const V *c, V ret[ROWS])
{
    struct ptx_lower *b = &t->a->b;
    LLVMTypeRef type = t->a_type == PTX_F64 ? b->f64 : ptx_is_float(t->a_type) ? b->f32 : b->i32;
    V start = c ? vector_of(t, c, type) : NULL;
    V x = product(t, start, t->rows[0], false), y = product(t, start, t->rows[1], true);
    V own = b_xor(b, b_lshr(b, t->lane, b_i32(b, 2)), t->lane); /* bit 3: h and w differ */
    own = b_eq(b, bits(t, own, 8, 0), b_i32(b, 0));
    for (unsigned i = 0; i < ROWS; i++)
        ret[i] = b_select(b, own, LLVMBuildExtractElement(b->builder, x, b_i32(b, i), ""),
                          LLVMBuildExtractElement(b->builder, y, b_i32(b, i), ""));
}

/* ---- The calls */
static unsigned types_of(V call)
{
    return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0));
}

/* All lanes of the wave, and so both warps. */
static V here(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V yes = b_bool(b, true), mask = b_intrinsic(b, "llvm.amdgcn.ballot", &b->i64, 1, &yes, 1);
    return a->max_threads > 32 ? b_eq(b, mask, LLVMConstAllOnes(b->i64)) : b_bool(b, false);
}

/* A call while calls are replaced. */
struct site {
    V call, value;
    const struct form *form;
    V raw[ROWS]; /* result in the instructions' own layout */
};
typedef AW_VEC(struct site) sites;

enum { FIRST_C = 7 };

static bool is_tile(V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    return id == PTX_SIMT_TILE || id == PTX_SIMT_TILE_F64;
}

/* The tile whose result is this one's C, or NULL. */
static V tile_before(V call)
{
    V before = NULL;
    for (unsigned i = 0; i < ROWS; i++) {
        V v = LLVMGetOperand(call, FIRST_C + i);
        while (LLVMIsABitCastInst(v))
            v = LLVMGetOperand(v, 0);
        if (!LLVMIsAExtractValueInst(v) || LLVMGetIndices(v)[0] != i || !is_tile(LLVMGetOperand(v, 0)) ||
            (before && LLVMGetOperand(v, 0) != before))
            return NULL;
        before = LLVMGetOperand(v, 0);
    }
    return types_of(before) == types_of(call) ? before : NULL;
}

static bool is_before_another(V call)
{
    for (LLVMUseRef field = LLVMGetFirstUse(call); field; field = LLVMGetNextUse(field)) {
        for (LLVMUseRef use = LLVMGetFirstUse(LLVMGetUser(field)); use; use = LLVMGetNextUse(use)) {
            V user = LLVMGetUser(use);
            while (LLVMIsABitCastInst(user) && LLVMGetFirstUse(user) && !LLVMGetNextUse(LLVMGetFirstUse(user)))
                user = LLVMGetUser(LLVMGetFirstUse(user));
            if (is_tile(user) && tile_before(user) == call)
                return true;
        }
    }
    return false;
}

/* C in the instructions' layout in *ret, if the sums are to begin with it. */
static bool c_begin(struct tile *t, V call, const sites *done, V ret[ROWS])
{
    V before = is_plain(t) ? tile_before(call) : NULL;
    for (size_t i = done->n; before && i-- > 0;) {
        if (done->at[i].call == before) {
            memcpy(ret, done->at[i].raw, sizeof done->at[i].raw);
            return true;
        }
    }
    if (!is_plain(t) || LLVMIsPoison(LLVMGetOperand(call, FIRST_C)) || !is_before_another(call))
        return false;
    for (unsigned i = 0; i < ROWS; i++)
        ret[i] = LLVMGetOperand(call, FIRST_C + i);
    exchange(t, ret);
    return true;
}

/* The builder stands before the call. */
static void tile_make(struct amdgpu *a, struct site *s, const sites *done)
{
    struct ptx_lower *b = &a->b;
    unsigned types = types_of(s->call);
    struct tile t = {
        .a = a, .form = s->form, .a_type = PTX_TILE_A(types), .b_type = PTX_TILE_B(types), .lane = ptx_amdgpu_wave_lane(a)
    };
    V p[6], c[ROWS], d[ROWS];
    for (unsigned i = 0; i < 6; i++)
        p[i] = LLVMGetOperand(s->call, 1 + i);
    t.steps = LLVMIsPoison(p[2]) ? 1 : STEPS;
    operands_route(&t, p);
    bool begun = c_begin(&t, s->call, done, c);
    both_warps(&t, begun ? c : NULL, s->raw);
    memcpy(d, s->raw, sizeof d);
    exchange(&t, d);
    s->value = LLVMGetPoison(LLVMTypeOf(s->call));
    for (unsigned i = 0; i < ROWS; i++) {
        V start = LLVMGetOperand(s->call, FIRST_C + i), v = d[i];
        if (!begun && !LLVMIsPoison(start)) {
            start = b_bitcast(b, start, LLVMTypeOf(v));
            v = ptx_is_float(t.a_type) ? b_fadd(b, start, v) : b_add(b, start, v);
        }
        v = t.a_type == PTX_F64 ? v : b_bitcast(b, v, b->i32);
        s->value = LLVMBuildInsertValue(b->builder, s->value, v, i, "");
    }
}

static void site_end(struct site *s)
{
    LLVMReplaceAllUsesWith(s->call, s->value);
    LLVMInstructionEraseFromParent(s->call);
}

/* In order, so that what a tile begins with is there; calls stay until all are done, to be known by their operands. */
static void tiles_replace(struct amdgpu *a, V fn)
{
    sites done = { 0 };
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb)) {
        for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!is_tile(x))
                continue;
            struct site s = { .call = x, .value = LLVMGetPoison(LLVMTypeOf(x)), .form = form_of(a, types_of(x)) };
            LLVMPositionBuilderBefore(a->b.builder, x);
            if (s.form) /* else it is never executed */
                tile_make(a, &s, &done);
            if (!aw_vec_push(&done, s))
                site_end(&s);
        }
    }
    for (size_t i = 0; i < done.n; i++)
        site_end(&done.at[i]);
    aw_vec_fini(&done);
}

/* Calls of aw.tile.here. */
static void questions_answer(struct amdgpu *a, bool absent_only, bool never)
{
    V fn = LLVMGetNamedFunction(a->b.module, ptx_simt_info(PTX_SIMT_TILE_HERE)->name);
    for (LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL, next; use; use = next) {
        next = LLVMGetNextUse(use);
        V call = LLVMGetUser(use);
        const struct form *form = form_of(a, types_of(call));
        if (absent_only && form)
            continue;
        LLVMPositionBuilderBefore(a->b.builder, call);
        LLVMReplaceAllUsesWith(call, form && !never ? here(a) : b_bool(&a->b, false));
        LLVMInstructionEraseFromParent(call);
    }
}

void ptx_amdgpu_tiles(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        tiles_replace(a, fn);
    questions_answer(a, false, false);
}

void ptx_amdgpu_tiles_absent(struct amdgpu *a)
{
    questions_answer(a, true, false);
}

void ptx_amdgpu_tiles_never(struct amdgpu *a)
{
    questions_answer(a, false, true);
}
