/* References of mma, mma.sp and movmatrix, by the manual's formulas for rows and columns of fragments (PTX ISA 9.0 9.7.14.5, .6).
 *
 * Matrices are put together from all lanes' fragments, multiplied as doubles or 64-bit integers, and taken apart again.  PTX
 * leaves the order and the rounding of f32 sums open: abs_error is what a sum in any order, each step within one place, can be
 * off. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/ref_matrix.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_M = 16, MAX_K = 256 };

struct product {
    unsigned m, n, k, stored; /* columns of A that there are: k, or half of them */
    enum ptx_type d, a, b, c;
    double fa[MAX_M][MAX_K], fb[MAX_K][8], fc[MAX_M][8], error[MAX_M][8];
    int64_t ia[MAX_M][MAX_K], ib[MAX_K][8], ic[MAX_M][8];
    bool absent[MAX_M][MAX_K]; /* of a sparse A: neither read nor multiplied */
};

/* ---- Values */
static uint64_t bits_at(const union oracle_value *v, unsigned i, unsigned bits)
{
    if (bits == 64)
        return v->u64[i];
    return v->u32[i * bits / 32] >> (i * bits % 32) & (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
}

/* A small float: sign, exponent of `e` bits, `m` bits of significand.  e4m3 has a NaN where others have infinities and more. */
static double small_float(uint32_t bits, unsigned e, unsigned m, bool finite_only)
{
    uint32_t sign = bits >> (e + m) & 1, exponent = bits >> m & ((1u << e) - 1), significand = bits & ((1u << m) - 1);
    uint32_t all = (1u << e) - 1, bias = all / 2;
    double v;
    if (finite_only ? exponent == all && significand == (1u << m) - 1 : exponent == all)
        v = significand ? NAN : INFINITY;
    else if (exponent == 0)
        v = ldexp(significand, 1 - (int)bias - (int)m);
    else
        v = ldexp(significand | 1u << m, (int)exponent - (int)bias - (int)m);
    return sign ? -v : v;
}

static double float_of(uint64_t bits, enum ptx_type type)
{
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    switch (type) {
    case PTX_F16: return small_float(low, 5, 10, false);
    case PTX_BF16: return small_float(low, 8, 7, false);
    case PTX_TF32: return small_float(low >> 13, 8, 10, false);
    case PTX_E4M3: return small_float(low, 4, 3, true);
    case PTX_E5M2: return small_float(low, 5, 2, false);
    case PTX_F32: memcpy(&f, &low, sizeof f); return f;
    default: memcpy(&d, &bits, sizeof d); return d;
    }
}

/* To nearest, ties to even. */
static uint16_t f16_of(double v)
{
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double magnitude = fabs(v);
    int exponent;
    if (isnan(v))
        return 0x7fff;
    if (magnitude >= 65520)
        return sign | 0x7c00;
    frexp(magnitude, &exponent);
    int place = exponent - 11 < -24 ? -24 : exponent - 11; /* of the last bit */
    double units = nearbyint(ldexp(magnitude, -place));
    if (place == -24) /* subnormals, and the carry into the first normal */
        return sign | (uint16_t)units;
    return sign | (uint16_t)(((uint32_t)(place + 24) << 10) + (uint32_t)units);
}

static int64_t int_of(uint64_t bits, enum ptx_type type)
{
    switch (type) {
    case PTX_S8: return (int8_t)bits;
    case PTX_S4: return (int64_t)(bits ^ 8) - 8;
    case PTX_S32: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

/* ---- Places, in the manual's words */
struct place {
    unsigned row, col;
};

static struct place place_a(const struct product *p, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4, bits = ptx_type_bits(p->a), k = p->stored;
    bool low_row, low_half;
    switch (bits) {
    case 64:
        return (struct place){ i % 2 == 0 || p->m == 8 ? g : g + 8, i % 2 == 0 ? i * 2 + t : i * 2 - 2 + t };
    case 32: low_row = i == 0 || i == 2; return (struct place){ low_row ? g : g + 8, i < 2 ? t : t + 4 };
    case 16:
        low_row = k == 8 ? i < 2 : i < 2 || (4 <= i && i < 6);
        return (struct place){ low_row ? g : g + 8, t * 2 + (i & 1) + (i < 4 ? 0 : 8) };
    case 8:
        low_row = p->m == 8 || (k == 16 ? i < 4 : i < 4 || (8 <= i && i < 12));
        return (struct place){ low_row ? g : g + 8, t * 4 + (i & 3) + (i < 8 ? 0 : 16) };
    case 4:
        low_row = p->m == 8 || (k == 32 ? i < 8 : i < 8 || (16 <= i && i < 24));
        return (struct place){ low_row ? g : g + 8, t * 8 + (i & 7) + (i < 16 ? 0 : 32) };
    default:
        low_row = p->m == 8 || (k == 128 ? i < 32 : i < 32 || (64 <= i && i < 96));
        low_half = k == 128 || i < 64;
        return (struct place){ low_row ? g : g + 8, t * 32 + (i & 31) + (low_half ? 0 : 128) };
    }
}

static struct place place_b(const struct product *p, unsigned lane, unsigned i)
{
    unsigned g = lane >> 2, t = lane % 4;
    switch (ptx_type_bits(p->b)) {
    case 64: return (struct place){ t + i * 4, g };
    case 32: return (struct place){ t + i * 4, g };
    case 16: return (struct place){ t * 2 + (i & 1) + i / 2 * 8, g };
    case 8: return (struct place){ t * 4 + (i & 3) + i / 4 * 16, g };
    case 4: return (struct place){ t * 8 + (i & 7) + i / 8 * 32, g };
    default: return (struct place){ t * 32 + (i & 31) + i / 32 * 128, g };
    }
}

static struct place place_c(unsigned lane, unsigned i)
{
    return (struct place){ (lane >> 2) + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1) };
}

/* ---- One product */
static void shape_of(const struct ptx_instr *in, struct product *p)
{
    for (uint32_t i = 0; i < in->n_mods; i++)
        if (sscanf(in->mods[i].ptr, ".m%un%uk%u", &p->m, &p->n, &p->k) == 3)
            break;
    p->stored = p->k;
    p->d = in->types[0], p->a = in->types[1], p->b = in->types[2], p->c = in->types[3];
}

static bool is_float(const struct product *p)
{
    return ptx_type_class(p->a) == 'F';
}

static void collect_c(struct product *p, const struct oracle_lane lanes[ORACLE_LANES])
{
    for (unsigned lane = 0; lane < ORACLE_LANES; lane++) {
        for (unsigned i = 0; i < p->m * p->n / 32; i++) {
            struct place at = place_c(lane, i);
            uint64_t bits = bits_at(&lanes[lane].src[2], i, ptx_type_bits(p->c));
            p->fc[at.row][at.col] = float_of(bits, p->c);
            p->ic[at.row][at.col] = int_of(bits, p->c);
        }
    }
}

static void collect(struct product *p, const struct oracle_lane lanes[ORACLE_LANES])
{
    for (unsigned lane = 0; lane < ORACLE_LANES; lane++) {
        for (unsigned i = 0; i < p->m * p->stored / 32; i++) {
            struct place at = place_a(p, lane, i);
            uint64_t bits = bits_at(&lanes[lane].src[0], i, ptx_type_bits(p->a));
            p->fa[at.row][at.col] = float_of(bits, p->a);
            p->ia[at.row][at.col] = int_of(bits, p->a);
        }
        for (unsigned i = 0; i < p->k * p->n / 32; i++) {
            struct place at = place_b(p, lane, i);
            uint64_t bits = bits_at(&lanes[lane].src[1], i, ptx_type_bits(p->b));
            p->fb[at.row][at.col] = float_of(bits, p->b);
            p->ib[at.row][at.col] = int_of(bits, p->b);
        }
    }
    collect_c(p, lanes);
}

static double one_place_f16(double v)
{
    int exponent;
    frexp(v, &exponent);
    return ldexp(1, exponent - 11 < -24 ? -24 : exponent - 11);
}

/* fc becomes D. */
static void multiply_float(struct product *p)
{
    for (unsigned r = 0; r < p->m; r++) {
        for (unsigned c = 0; c < p->n; c++) {
            double sum = p->fc[r][c], size = fabs(sum);
            for (unsigned k = 0; k < p->k; k++) {
                if (p->absent[r][k])
                    continue;
                sum = fma(p->fa[r][k], p->fb[k][c], sum);
                size += fabs(p->fa[r][k] * p->fb[k][c]);
            }
            p->fc[r][c] = sum;
            p->error[r][c] = size * ldexp(p->k + 1, p->a == PTX_F64 ? -52 : -23);
            if (p->d == PTX_F16 && isfinite(sum))
                p->error[r][c] += one_place_f16(sum);
        }
    }
}

static void multiply_int(const struct ptx_instr *in, struct product *p)
{
    for (unsigned r = 0; r < p->m; r++) {
        for (unsigned c = 0; c < p->n; c++) {
            int64_t sum = p->ic[r][c];
            for (unsigned k = 0; k < p->k; k++) {
                int64_t a = p->ia[r][k], b = p->ib[k][c];
                sum += p->a != PTX_B1 ? a * b : ptx_has(in, PTX_MOD_AND) ? (a & b) : (a ^ b);
            }
            if (ptx_has(in, PTX_MOD_SATFINITE))
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            p->ic[r][c] = sum;
        }
    }
}

static void result_put(struct oracle_lane *lane, const struct product *p, unsigned i, struct place at)
{
    double v = p->fc[at.row][at.col];
    switch (p->d) {
    case PTX_F16: lane->dst[0].u16[i] = f16_of(v); break;
    case PTX_F32: lane->dst[0].f32[i] = (float)v; break;
    case PTX_F64: lane->dst[0].f64[i] = v; break;
    default: lane->dst[0].u32[i] = (uint32_t)p->ic[at.row][at.col]; return;
    }
    lane->any_nan = true;
    if (p->error[at.row][at.col] > lane->abs_error)
        lane->abs_error = p->error[at.row][at.col];
}

static void product_finish(const struct ptx_instr *in, struct product *p, struct oracle_lane lanes[ORACLE_LANES])
{
    if (is_float(p))
        multiply_float(p);
    else
        multiply_int(in, p);
    for (unsigned lane = 0; lane < ORACLE_LANES; lane++)
        for (unsigned i = 0; i < p->m * p->n / 32; i++)
            result_put(&lanes[lane], p, i, place_c(lane, i));
}

/* ---- m8n8k4 on f16: four products (9.7.14.5.1) */
static void quads(const struct ptx_instr *in, struct oracle_lane lanes[ORACLE_LANES])
{
    bool rows[2] = { false, false };
    for (uint32_t i = 0, n = 0; i < in->n_mods && n < 2; i++)
        if (aw_str_is(in->mods[i], ".row") || aw_str_is(in->mods[i], ".col"))
            rows[n++] = aw_str_is(in->mods[i], ".row");
    for (unsigned q = 0; q < 4; q++) {
        struct product p = { 0 };
        shape_of(in, &p);
        for (unsigned pass = 0; pass < 2; pass++) {
            for (unsigned lane = 0; lane < ORACLE_LANES; lane++) {
                unsigned x = lane % 4 + (lane < 16 ? 0 : 4), high = lane < 16 ? 0 : 4;
                if (lane / 4 % 4 != q)
                    continue;
                for (unsigned i = 0; i < 4 && pass == 0; i++) {
                    double a = float_of(lanes[lane].src[0].u16[i], PTX_F16), b = float_of(lanes[lane].src[1].u16[i], PTX_F16);
                    p.fa[rows[0] ? x : i + high][rows[0] ? i : lane % 4] = a;
                    p.fb[rows[1] ? lane % 4 : i][rows[1] ? i + high : x] = b;
                }
                for (unsigned i = 0; i < 8; i++) {
                    struct place wide = { (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1) }, narrow = { x, i };
                    struct place c = p.c == PTX_F16 ? narrow : wide;
                    if (pass == 0)
                        p.fc[c.row][c.col] = float_of(bits_at(&lanes[lane].src[2], i, ptx_type_bits(p.c)), p.c);
                    else
                        result_put(&lanes[lane], &p, i, p.d == PTX_F16 ? narrow : wide);
                }
            }
            if (pass == 0)
                multiply_float(&p);
        }
    }
}

void oracle_ref_mma(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES])
{
    struct product p = { 0 };
    shape_of(in, &p);
    if (active != UINT32_MAX) { /* every lane must take part */
        for (unsigned lane = 0; lane < ORACLE_LANES; lane++)
            lanes[lane].undefined = true;
    } else if (p.a == PTX_F16 && p.k == 4) {
        quads(in, lanes);
    } else {
        collect(&p, lanes);
        product_finish(in, &p, lanes);
    }
}

/* ---- Sparse A (9.7.14.6) */

/* The 4 bits for chunk `chunk` of a row of A: from the metadata of which lane, and which bits of it, as the figures show. */
static unsigned metadata_at(const struct product *p, const struct oracle_lane lanes[ORACLE_LANES], unsigned row, unsigned chunk)
{
    unsigned per_row = p->a == PTX_TF32 ? p->k * 2 : p->a == PTX_S4 || p->a == PTX_U4 ? p->k / 2 : p->k;
    unsigned selector = lanes[0].src[4].u32[0], first = row % 8 * 4, bit = 4 * chunk, upper = row / 8, lane, shift;
    if (per_row == 16) { /* T_selector: [15..0] row, [31..16] row + 8 */
        lane = first + selector;
        shift = bit + 16 * upper;
    } else if (per_row == 32 && ptx_type_bits(p->a) >= 16) { /* a pair of lanes: first half of the columns, second half */
        lane = first + 2 * selector + bit / 16;
        shift = bit % 16 + 16 * upper;
    } else if (per_row == 32) { /* a pair of lanes: row, row + 8 */
        lane = first + 2 * selector + upper;
        shift = bit;
    } else { /* all four: row and row + 8 of the first half of the columns, then of the second */
        lane = first + upper + bit / 32 * 2;
        shift = bit % 32;
    }
    return lanes[lane].src[3].u32[0] >> shift & 15;
}

/* Moves the stored columns of a row to where they belong. */
static void spread(struct product *p, const struct oracle_lane lanes[ORACLE_LANES], unsigned row)
{
    double f[MAX_K] = { 0 };
    int64_t n[MAX_K] = { 0 };
    bool there[MAX_K] = { false };
    bool tf32 = p->a == PTX_TF32, pairs = ptx_type_bits(p->a) == 4;
    for (unsigned j = 0; j < p->stored; j++) {
        unsigned to;
        if (tf32) { /* 1:2 */
            to = 2 * j + (metadata_at(p, lanes, row, j) == 0xe);
        } else if (pairs) { /* 4:8, in pairs */
            unsigned bits = metadata_at(p, lanes, row, j / 4);
            to = j / 4 * 8 + (bits >> (j % 4 / 2 * 2) & 3) * 2 + j % 2;
        } else { /* 2:4 */
            unsigned bits = metadata_at(p, lanes, row, j / 2);
            to = j / 2 * 4 + (bits >> (j % 2 * 2) & 3);
        }
        there[to] = true;
        f[to] = p->fa[row][j];
        n[to] = p->ia[row][j];
    }
    memcpy(p->fa[row], f, sizeof f);
    memcpy(p->ia[row], n, sizeof n);
    for (unsigned k = 0; k < p->k; k++)
        p->absent[row][k] = !there[k];
}

void oracle_ref_mma_sp(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES])
{
    struct product p = { 0 };
    shape_of(in, &p);
    p.stored = p.k / 2;
    if (active != UINT32_MAX) {
        for (unsigned lane = 0; lane < ORACLE_LANES; lane++)
            lanes[lane].undefined = true;
        return;
    }
    collect(&p, lanes);
    for (unsigned row = 0; row < p.m; row++)
        spread(&p, lanes, row);
    product_finish(in, &p, lanes);
}

/* ---- movmatrix (9.7.14.5.17): lane 4*g + t holds columns 2*t and 2*t + 1 of row g */
void oracle_ref_movmatrix(const struct ptx_instr *in, uint32_t active, struct oracle_lane lanes[ORACLE_LANES])
{
    uint16_t matrix[8][8];
    (void)in;
    for (unsigned lane = 0; lane < ORACLE_LANES; lane++)
        for (unsigned i = 0; i < 2; i++)
            matrix[lane / 4][lane % 4 * 2 + i] = lanes[lane].src[0].u16[i];
    for (unsigned lane = 0; lane < ORACLE_LANES; lane++) {
        lanes[lane].undefined = active != UINT32_MAX;
        for (unsigned i = 0; i < 2; i++)
            lanes[lane].dst[0].u16[i] = matrix[lane % 4 * 2 + i][lane / 4];
    }
}
