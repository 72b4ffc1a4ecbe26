/* Rows of gfx11's and gfx12's matrix instructions (WMMA): D = A * B + C for one matrix of 16 x 16, spread over a wave of 32.
 *
 * EXEC and MODE do not matter here: all lanes take part, denormals are kept, rounding is to nearest.  As of MFMA, the manuals do
 * not give the order of additions; here the products, which are exact, are added to C in the order of k, each sum rounded to f32,
 * and to a 16-bit result at the end. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "float.h"

enum kind { FROM_F16, FROM_BF16, FROM_I8, FROM_I4 };
enum result { TO_F32, TO_F16, TO_BF16, TO_I32 };

struct shape {
    uint8_t kind, result; /* enums */
    uint8_t depth;        /* columns of A, rows of B */
};

enum { SIDE = 16, LANE_COUNT = 32 };

static unsigned bits_of(const struct shape *s)
{
    return s->kind == FROM_I8 ? 8 : s->kind == FROM_I4 ? 4 : 16;
}

/* On gfx11 a lane has a row of A (column of B), which the upper 16 lanes have again; on gfx12 the upper ones have its second
 * half. */
static unsigned each_of(const struct sim_wave *w, const struct shape *s)
{
    return w->card->major >= 12 ? s->depth / 2u : s->depth;
}

/* Element k of row (column) `at` of source `k_operand`, as its bits. */
static uint32_t element(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, unsigned operand, unsigned at,
                        unsigned k)
{
    unsigned each = each_of(w, s), bits = bits_of(s), lane = at + SIDE * (k / each), shift = k % each * bits;
    uint32_t word = sim_vgpr(w, i->o[operand].reg + shift / 32)[lane] >> shift % 32;
    return bits == 16 ? word & 0xffff : bits == 8 ? word & 0xff : word & 15;
}

/* Halves with the signs that neg_lo and neg_hi flip; bytes and nibbles signed where neg_lo says so. */
static float half_element(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, unsigned operand, unsigned at,
                          unsigned k)
{
    const uint8_t *neg = k & 1 ? i->neg_hi : i->neg_lo;
    uint32_t x = element(w, i, s, operand, at, k) ^ (neg[operand - 1] ? 0x8000u : 0);
    return s->kind == FROM_BF16 ? f32_of(x << 16) : _cvtsh_ss((uint16_t)x);
}

static int32_t whole_element(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, unsigned operand, unsigned at,
                             unsigned k)
{
    unsigned up = 32 - bits_of(s);
    uint32_t x = element(w, i, s, operand, at, k);
    return i->neg_lo[operand - 1] ? (int32_t)(x << up) >> up : (int32_t)x;
}

/* Where element (row, column) of C and D lies: lane, register, and the shift of a 16-bit one. */
struct spot {
    unsigned lane, reg, shift;
};

static struct spot spot_of(const struct sim_wave *w, const struct sim_inst *i, const struct shape *s, unsigned row,
                           unsigned column)
{
    bool half = s->result == TO_F16 || s->result == TO_BF16;
    if (w->card->major < 12)
        return (struct spot){ column + SIDE * (row & 1), row / 2, half && i->op_sel[2] ? 16 : 0 };
    unsigned n = row % 8;
    return (struct spot){ column + SIDE * (row / 8), half ? n / 2 : n, half ? 16 * (n & 1) : 0 };
}

static uint32_t addend(struct sim_wave *w, const struct sim_inst *i, const struct spot *p)
{
    const struct sim_operand *o = &i->o[3];
    return o->kind == SIM_VGPR ? sim_vgpr(w, o->reg + p->reg)[p->lane] >> p->shift : (uint32_t)o->imm;
}

static uint32_t float_sum(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, uint32_t c, unsigned row,
                          unsigned column)
{
    uint32_t bits = s->result == TO_F16 ? u32_of(_cvtsh_ss((uint16_t)c)) : s->result == TO_BF16 ? c << 16 : c;
    bits = (i->neg_hi[2] ? bits & 0x7fffffff : bits) ^ (i->neg_lo[2] ? 0x80000000u : 0);
    float sum = f32_of(bits);
    for (unsigned k = 0; k < s->depth; k++)
        sum = __builtin_fmaf(half_element(w, i, s, 1, row, k), half_element(w, i, s, 2, column, k), sum);
    bits = u32_of(sum);
    if (s->result == TO_F16)
        return _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);
    if (s->result == TO_BF16)
        return float_is_nan32(bits) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return float_is_nan32(bits) ? bits | 0x400000 : bits;
}

static uint32_t whole_sum(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, uint32_t c, unsigned row,
                          unsigned column)
{
    int64_t sum = (int32_t)c;
    for (unsigned k = 0; k < s->depth; k++)
        sum += (int64_t)whole_element(w, i, s, 1, row, k) * whole_element(w, i, s, 2, column, k);
    if (i->clamp)
        sum = sum < INT32_MIN ? INT32_MIN : sum > INT32_MAX ? INT32_MAX : sum;
    return (uint32_t)sum;
}

static bool makes_sense(const struct sim_wave *w, const struct sim_inst *i, const struct shape *s)
{
    bool half = s->result == TO_F16 || s->result == TO_BF16;
    unsigned source = each_of(w, s) * bits_of(s) / 32, result = half && w->card->major >= 12 ? 4 : 8;
    bool constant = i->o[3].kind == SIM_IMM && (!half || !i->o[3].imm);
    return w->lanes == LANE_COUNT && i->o[0].kind == SIM_VGPR && i->o[0].dwords == result && i->o[1].kind == SIM_VGPR &&
           i->o[1].dwords == source && i->o[2].kind == SIM_VGPR && i->o[2].dwords == source &&
           (constant || (i->o[3].kind == SIM_VGPR && i->o[3].dwords == result));
}

static void multiply(struct sim_wave *w, const struct sim_inst *i, const struct shape *s)
{
    uint32_t d[8][LANE_COUNT], half = s->result == TO_F16 || s->result == TO_BF16 ? 0xffff : 0;
    if (!makes_sense(w, i, s)) {
        sim_illegal(w, i, "operands, or a size of wave, that no matrix instruction has here");
        return;
    }
    for (unsigned n = 0; n < i->o[0].dwords; n++)
        memcpy(d[n], sim_vgpr(w, i->o[0].reg + n), sizeof d[n]); /* the other halves stay */
    for (unsigned row = 0; row < SIDE; row++)
        for (unsigned column = 0; column < SIDE; column++) {
            struct spot p = spot_of(w, i, s, row, column);
            uint32_t c = addend(w, i, &p), *to = &d[p.reg][p.lane];
            uint32_t sum = s->result == TO_I32 ? whole_sum(w, i, s, c, row, column) : float_sum(w, i, s, c, row, column);
            *to = half ? (*to & ~(half << p.shift)) | sum << p.shift : sum;
        }
    for (unsigned n = 0; n < i->o[0].dwords; n++)
        memcpy(sim_vgpr(w, i->o[0].reg + n), d[n], sizeof d[n]);
}

#define WMMA_ROWS(X)                                                                                                    \
    X(v_wmma_f32_16x16x16_f16, FROM_F16, TO_F32, 16, SIM_GFX11 | SIM_GFX12)                                             \
    X(v_wmma_f32_16x16x16_bf16, FROM_BF16, TO_F32, 16, SIM_GFX11 | SIM_GFX12)                                           \
    X(v_wmma_f16_16x16x16_f16, FROM_F16, TO_F16, 16, SIM_GFX11 | SIM_GFX12)                                             \
    X(v_wmma_bf16_16x16x16_bf16, FROM_BF16, TO_BF16, 16, SIM_GFX11 | SIM_GFX12)                                         \
    X(v_wmma_i32_16x16x16_iu8, FROM_I8, TO_I32, 16, SIM_GFX11 | SIM_GFX12)                                              \
    X(v_wmma_i32_16x16x16_iu4, FROM_I4, TO_I32, 16, SIM_GFX11 | SIM_GFX12)                                              \
    X(v_wmma_i32_16x16x32_iu4, FROM_I4, TO_I32, 32, SIM_GFX12)

#define X(name, kind, result, depth, cards)                                                                             \
    static void run_##name(struct sim_wave *w, const struct sim_inst *i)                                                \
    {                                                                                                                   \
        static const struct shape shape = { kind, result, depth };                                                      \
        multiply(w, i, &shape);                                                                                         \
    }
WMMA_ROWS(X)
#undef X

static const struct sim_op ops[] = {
#define X(name, kind, result, depth, cards) { #name, "o=ooo", run_##name, SIM_MATRIX, cards },
    WMMA_ROWS(X)
#undef X
};

const struct sim_table sim_valu_wmma = { ops, sizeof ops / sizeof *ops };
