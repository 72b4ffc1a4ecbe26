/* Rows of matrix instructions (MFMA of gfx908, gfx90a and gfx942): D = A * B + C for blocks of small matrices spread over the
 * lanes of a wave64.  Moves of accumulation registers are valu_lane.c's.
 *
 * EXEC and MODE do not matter here: all lanes take part, rounding is to nearest.  The manuals do not give the order of additions;
 * here the products, which are exact but in f32 and f64, are added to C in the order of k, each sum rounded.  gfx90a flushes
 * denormals of f16 and bf16 sources, and the results of those instructions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "float.h"

enum kind { FROM_F32, FROM_F16, FROM_BF16, FROM_I8, FROM_F64, FROM_XF32 /* the upper 19 bits of an f32 */ };

struct shape {
    uint8_t side;      /* rows and columns of a matrix */
    uint8_t depth;     /* columns of A, rows of B */
    uint8_t blocks;
    uint8_t each;      /* values of A and of B in a lane, of consecutive k */
    uint8_t kind;      /* enum kind */
};

#define LANE_COUNT 64u

/* Where element k of row (column) `at` of block `block` of A (B) lies: the lane, and which of its values. */
static unsigned source_lane(const struct shape *s, unsigned block, unsigned at, unsigned k, unsigned *ret_which)
{
    *ret_which = k % s->each;
    if (s->kind == FROM_F64 && s->blocks > 1)
        return at + 4 * block + 16 * k;
    return at + s->side * (s->blocks > 1 ? block : k / s->each);
}

/* Where element (row, column) of D lies: the lane, and which of the lane's values. */
static unsigned result_lane(const struct shape *s, unsigned block, unsigned row, unsigned column, unsigned *ret_which)
{
    if (s->kind == FROM_F64) {
        *ret_which = s->blocks > 1 ? 0 : row / 4;
        return s->blocks > 1 ? column + 4 * block + 16 * row : column + 16 * (row % 4);
    }
    if (s->side == 4) {
        *ret_which = row;
        return column + 4 * block;
    }
    unsigned groups = LANE_COUNT / s->side; /* of lanes, each with four rows in a run */
    *ret_which = block * (s->side * s->side / LANE_COUNT) + row / (4 * groups) * 4 + row % 4;
    return column + s->side * (row / 4 % groups);
}

/* blgp: B's lanes are taken from others. */
static unsigned permuted(unsigned lane, unsigned blgp)
{
    switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4: case 5: case 6: case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
    }
}

/* The lanes of register `n` of an operand, NULL when it is no register; constants fill `buf`. */
static const uint32_t *registers(struct sim_wave *w, const struct sim_operand *o, unsigned n, uint32_t *buf)
{
    switch (o->kind) {
    case SIM_VGPR:
        return sim_vgpr(w, o->reg + n);
    case SIM_AGPR:
        return w->a + (size_t)(o->reg + n) * w->lanes;
    case SIM_IMM:
        for (size_t l = 0; l < LANE_COUNT; l++)
            buf[l] = (uint32_t)o->imm;
        return buf;
    default:
        return NULL;
    }
}

/* A source's values as doubles (all formats fit), by lane and which. */
static bool unpack(struct sim_wave *w, const struct sim_inst *i, const struct shape *s, unsigned k, bool flush, double (*ret)[8])
{
    uint32_t buf[LANE_COUNT];
    for (unsigned n = 0; n < s->each; n++) {
        unsigned reg = s->kind == FROM_XF32                         ? n
                       : s->kind == FROM_I8                         ? n / 4
                       : s->kind == FROM_F32 || s->kind == FROM_F64 ? 0
                                                                    : n / 2;
        const uint32_t *x = registers(w, &i->o[k], reg, buf);
        if (!x)
            return false;
        for (size_t l = 0; l < LANE_COUNT; l++) {
            uint32_t half = x[l] >> 16 * (n & 1) & 0xffff;
            float f;
            switch (s->kind) {
            case FROM_F32: ret[l][n] = (double)f32_of(x[l]); break;
            case FROM_XF32: ret[l][n] = (double)f32_of(x[l] & 0xffffe000); break;
            case FROM_I8: ret[l][n] = (int8_t)(x[l] >> 8 * (n & 3)); break;
            case FROM_F64: ret[l][n] = f64_of(x[l] | (uint64_t)x[l + w->lanes] << 32); break;
            case FROM_BF16:
                ret[l][n] = (double)f32_of(flush ? float_flush32(half << 16) : half << 16);
                break;
            default:
                f = _cvtsh_ss((uint16_t)(flush ? float_flush16(half) : half));
                ret[l][n] = (double)f;
            }
        }
    }
    return true;
}

/* One sum: c and the products in order, in the format of the result. */
static uint64_t accumulate(const struct shape *s, uint64_t c, const double *a, const double *b, bool flush)
{
    double wide = f64_of(c);
    float sum = f32_of((uint32_t)c);
    uint32_t whole = (uint32_t)c;
    if (flush)
        sum = f32_of(float_flush32((uint32_t)c));
    for (unsigned k = 0; k < s->depth; k++) {
        if (s->kind == FROM_F64)
            wide = __builtin_fma(a[k], b[k], wide);
        else if (s->kind == FROM_I8)
            whole += (uint32_t)((int32_t)a[k] * (int32_t)b[k]);
        else
            sum = __builtin_fmaf((float)a[k], (float)b[k], sum);
    }
    if (s->kind == FROM_F64)
        return u64_of(wide);
    return s->kind == FROM_I8 ? whole : flush ? float_flush32(u32_of(sum)) : u32_of(sum);
}

static void write_result(struct sim_wave *w, const struct sim_operand *o, unsigned n, const uint32_t *x)
{
    memcpy(o->kind == SIM_AGPR ? w->a + (size_t)(o->reg + n) * w->lanes : sim_vgpr(w, o->reg + n), x, LANE_COUNT * sizeof *x);
}

/* Registers of C and D. */
static unsigned result_registers(const struct shape *s)
{
    return s->blocks * s->side * s->side / LANE_COUNT * (s->kind == FROM_F64 ? 2 : 1);
}

static bool makes_sense(const struct sim_wave *w, const struct sim_inst *i, const struct shape *s)
{
    static const uint8_t bytes[] = {
        [FROM_F32] = 4, [FROM_F16] = 2, [FROM_BF16] = 2, [FROM_I8] = 1, [FROM_F64] = 8, [FROM_XF32] = 4
    };
    unsigned source = s->each * bytes[s->kind] / 4u;
    bool agprs = i->o[0].kind == SIM_AGPR || i->o[1].kind == SIM_AGPR || i->o[2].kind == SIM_AGPR || i->o[3].kind == SIM_AGPR;
    return w->lanes == LANE_COUNT && (w->a || !agprs) && (i->o[0].kind == SIM_VGPR || i->o[0].kind == SIM_AGPR) &&
           i->o[0].dwords == result_registers(s) && i->o[1].dwords == source && i->o[2].dwords == source &&
           (i->o[3].kind == SIM_IMM || i->o[3].dwords == result_registers(s)) &&
           (s->kind != FROM_F64 || !(i->cbsz | i->abid | i->blgp)) &&
           !(s->kind == FROM_F64 && i->o[3].kind == SIM_IMM && i->o[3].imm);
}

static void multiply(struct sim_wave *w, const struct sim_inst *i, const struct shape *s)
{
    double a[LANE_COUNT][8], b[LANE_COUNT][8], row[32], column[32];
    static const uint32_t zero[LANE_COUNT];
    uint32_t d[32][LANE_COUNT], constant[LANE_COUNT];
    unsigned wide = s->kind == FROM_F64, which;
    bool flush = w->card->stepping == 10 && (s->kind == FROM_F16 || s->kind == FROM_BF16);
    if (!makes_sense(w, i, s) || !unpack(w, i, s, 1, flush, a) || !unpack(w, i, s, 2, flush, b) ||
        !registers(w, &i->o[3], 0, constant)) {
        sim_illegal(w, i, "operands that no matrix instruction has");
        return;
    }
    for (unsigned n = 0; n < s->blocks * s->side * s->side; n++) {
        unsigned block = n / (s->side * s->side), r = n / s->side % s->side, c = n % s->side;
        /* cbsz: blocks of A that share one */
        unsigned group = (1u << i->cbsz) - 1, from = ((block & ~group) | (i->abid & group)) % s->blocks;
        for (unsigned k = 0; k < s->depth; k++) {
            unsigned lane = source_lane(s, i->cbsz ? from : block, r, k, &which);
            row[k] = a[lane][which];
            lane = permuted(source_lane(s, block, c, k, &which), i->blgp);
            column[k] = b[lane][which];
        }
        unsigned lane = result_lane(s, block, r, c, &which);
        const uint32_t *low = registers(w, &i->o[3], which * (1 + wide), constant);
        const uint32_t *high = wide && i->o[3].kind != SIM_IMM ? registers(w, &i->o[3], which * 2 + 1, constant) : zero;
        uint64_t sum = accumulate(s, low[lane] | (uint64_t)high[lane] << 32, row, column, flush);
        d[which * (1 + wide)][lane] = (uint32_t)sum;
        if (wide)
            d[which * 2 + 1][lane] = (uint32_t)(sum >> 32);
    }
    for (unsigned n = 0; n < result_registers(s); n++)
        write_result(w, &i->o[0], n, d[n]);
}

/* Rows: result type, shape in the name, side, depth, blocks, values a lane, what A and B hold. */
#define MATRIX_ROWS(X)                                                                                                  \
    X(v_mfma_f32_32x32x1f32, 32, 1, 2, 1, FROM_F32) X(v_mfma_f32_16x16x1f32, 16, 1, 4, 1, FROM_F32)                    \
    X(v_mfma_f32_4x4x1f32, 4, 1, 16, 1, FROM_F32) X(v_mfma_f32_32x32x2f32, 32, 2, 1, 1, FROM_F32)                      \
    X(v_mfma_f32_16x16x4f32, 16, 4, 1, 1, FROM_F32)                                                                     \
    X(v_mfma_f32_32x32x4f16, 32, 4, 2, 4, FROM_F16) X(v_mfma_f32_16x16x4f16, 16, 4, 4, 4, FROM_F16)                    \
    X(v_mfma_f32_4x4x4f16, 4, 4, 16, 4, FROM_F16) X(v_mfma_f32_32x32x8f16, 32, 8, 1, 4, FROM_F16)                      \
    X(v_mfma_f32_16x16x16f16, 16, 16, 1, 4, FROM_F16)                                                                   \
    X(v_mfma_f32_32x32x2bf16, 32, 2, 2, 2, FROM_BF16) X(v_mfma_f32_16x16x2bf16, 16, 2, 4, 2, FROM_BF16)                \
    X(v_mfma_f32_4x4x2bf16, 4, 2, 16, 2, FROM_BF16) X(v_mfma_f32_32x32x4bf16, 32, 4, 1, 2, FROM_BF16)                  \
    X(v_mfma_f32_16x16x8bf16, 16, 8, 1, 2, FROM_BF16)                                                                   \
    X(v_mfma_f32_32x32x4bf16_1k, 32, 4, 2, 4, FROM_BF16) X(v_mfma_f32_16x16x4bf16_1k, 16, 4, 4, 4, FROM_BF16)          \
    X(v_mfma_f32_4x4x4bf16_1k, 4, 4, 16, 4, FROM_BF16) X(v_mfma_f32_32x32x8bf16_1k, 32, 8, 1, 4, FROM_BF16)            \
    X(v_mfma_f32_16x16x16bf16_1k, 16, 16, 1, 4, FROM_BF16)                                                              \
    X(v_mfma_i32_32x32x4i8, 32, 4, 2, 4, FROM_I8) X(v_mfma_i32_16x16x4i8, 16, 4, 4, 4, FROM_I8)                        \
    X(v_mfma_i32_4x4x4i8, 4, 4, 16, 4, FROM_I8) X(v_mfma_i32_32x32x8i8, 32, 8, 1, 4, FROM_I8)                          \
    X(v_mfma_i32_16x16x16i8, 16, 16, 1, 4, FROM_I8)                                                                     \
    X(v_mfma_f64_16x16x4f64, 16, 4, 1, 1, FROM_F64) X(v_mfma_f64_4x4x4f64, 4, 4, 4, 1, FROM_F64)                       \
    /* gfx942 names the number of blocks, and has deeper ones. */                                                      \
    X(v_mfma_f32_32x32x1_2b_f32, 32, 1, 2, 1, FROM_F32) X(v_mfma_f32_16x16x1_4b_f32, 16, 1, 4, 1, FROM_F32)            \
    X(v_mfma_f32_4x4x1_16b_f32, 4, 1, 16, 1, FROM_F32) X(v_mfma_f32_32x32x2_f32, 32, 2, 1, 1, FROM_F32)                \
    X(v_mfma_f32_16x16x4_f32, 16, 4, 1, 1, FROM_F32)                                                                    \
    X(v_mfma_f32_32x32x4_2b_f16, 32, 4, 2, 4, FROM_F16) X(v_mfma_f32_16x16x4_4b_f16, 16, 4, 4, 4, FROM_F16)            \
    X(v_mfma_f32_4x4x4_16b_f16, 4, 4, 16, 4, FROM_F16) X(v_mfma_f32_32x32x8_f16, 32, 8, 1, 4, FROM_F16)                \
    X(v_mfma_f32_16x16x16_f16, 16, 16, 1, 4, FROM_F16)                                                                  \
    X(v_mfma_f32_32x32x4_2b_bf16, 32, 4, 2, 4, FROM_BF16) X(v_mfma_f32_16x16x4_4b_bf16, 16, 4, 4, 4, FROM_BF16)        \
    X(v_mfma_f32_4x4x4_16b_bf16, 4, 4, 16, 4, FROM_BF16) X(v_mfma_f32_32x32x8_bf16, 32, 8, 1, 4, FROM_BF16)            \
    X(v_mfma_f32_16x16x16_bf16, 16, 16, 1, 4, FROM_BF16)                                                                \
    X(v_mfma_i32_32x32x4_2b_i8, 32, 4, 2, 4, FROM_I8) X(v_mfma_i32_16x16x4_4b_i8, 16, 4, 4, 4, FROM_I8)                \
    X(v_mfma_i32_4x4x4_16b_i8, 4, 4, 16, 4, FROM_I8) X(v_mfma_i32_32x32x16_i8, 32, 16, 1, 8, FROM_I8)                  \
    X(v_mfma_i32_16x16x32_i8, 16, 32, 1, 8, FROM_I8)                                                                    \
    X(v_mfma_f64_16x16x4_f64, 16, 4, 1, 1, FROM_F64) X(v_mfma_f64_4x4x4_4b_f64, 4, 4, 4, 1, FROM_F64)                  \
    X(v_mfma_f32_32x32x4_xf32, 32, 4, 1, 2, FROM_XF32) X(v_mfma_f32_16x16x8_xf32, 16, 8, 1, 2, FROM_XF32)

#define X(name, side, depth, blocks, each, kind)                                                                        \
    static void run_##name(struct sim_wave *w, const struct sim_inst *i)                                                \
    {                                                                                                                   \
        static const struct shape shape = { side, depth, blocks, each, kind };                                          \
        multiply(w, i, &shape);                                                                                         \
    }
MATRIX_ROWS(X)
#undef X

static const struct sim_op ops[] = {
#define X(name, ...) { #name, "o=ooo", run_##name, SIM_MATRIX, SIM_GFX9 },
    MATRIX_ROWS(X)
#undef X
};

const struct sim_table sim_valu_matrix = { ops, sizeof ops / sizeof *ops };
