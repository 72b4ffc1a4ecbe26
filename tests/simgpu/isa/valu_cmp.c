/* Vector compares: v_cmp_* and v_cmpx_*, integers, floats and classes.  A compare gives a lane mask, 0 for inactive lanes.
 * v_cmpx sets exec to it: GFX10 that alone, GFX9 the named mask too.
 *
 * The relations are two lists, the types two more; each pair is one row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lanes.h"

/* ---- Relations of one lane: name, expression ---- */

#define INT_RELATIONS(X, T)                                                                                             \
    X(T, f, 0) X(T, lt, a < b) X(T, eq, a == b) X(T, le, a <= b) X(T, gt, a > b) X(T, ne, a != b) X(T, ge, a >= b) X(T, t, 1)

#define FLOAT_RELATIONS(X, T)                                                                                           \
    X(T, f, 0) X(T, lt, a < b) X(T, eq, a == b) X(T, le, a <= b) X(T, gt, a > b) X(T, lg, (a < b) | (a > b))            \
    X(T, ge, a >= b)                                                                                                    \
    X(T, o, (a == a) & (b == b)) X(T, u, (a != a) | (b != b)) X(T, nge, !(a >= b)) X(T, nlg, !((a < b) | (a > b)))      \
    X(T, ngt, !(a > b)) X(T, nle, !(a <= b)) X(T, neq, a != b) X(T, nlt, !(a < b)) X(T, tru, 1)

/* Of f16 held as ordered integers: `a` and `b` compare as the numbers do, `nan` is 1 where either is none. */
#define HALF_RELATIONS(X, T)                                                                                            \
    X(T, f, 0) X(T, lt, (a < b) & !nan) X(T, eq, (a == b) & !nan) X(T, le, (a <= b) & !nan) X(T, gt, (a > b) & !nan)    \
    X(T, lg, (a != b) & !nan) X(T, ge, (a >= b) & !nan) X(T, o, !nan) X(T, u, nan) X(T, nge, (a < b) | nan)             \
    X(T, nlg, (a == b) | nan) X(T, ngt, (a <= b) | nan) X(T, nle, (a > b) | nan) X(T, neq, (a != b) | nan)              \
    X(T, nlt, (a >= b) | nan) X(T, tru, 1)

/* ---- Reading ---- */

/* f32 with denormals as MODE wants them read; may fill `buf`. */
static const uint32_t *read_f32(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    const uint32_t *x = lanes_read32(w, i, k, buf);
    if (w->mode & 0x10)
        return x;
    LANES(w, l, buf[l] = x[l] & 0x7f800000 ? x[l] : x[l] & 0x80000000;);
    return buf;
}

static const uint64_t *read_f64(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint64_t *buf)
{
    const uint64_t *x = lanes_read64(w, i, k, buf);
    if (w->mode & 0x40)
        return x;
    LANES(w, l, buf[l] = x[l] & 0x7ff0000000000000 ? x[l] : x[l] & 0x8000000000000000;);
    return buf;
}

static const uint32_t *read_f16(struct sim_wave *w, const struct sim_inst *i, unsigned k, uint32_t *buf)
{
    const uint32_t *x = lanes_read16(w, i, k, buf);
    if (w->mode & 0x40)
        return x;
    LANES(w, l, buf[l] = x[l] & 0x7c00 ? x[l] : x[l] & 0x8000;);
    return buf;
}

static inline float as_f32(uint32_t bits)
{
    union {
        uint32_t u;
        float f;
    } x = { bits };
    return x.f;
}

static inline double as_f64(uint64_t bits)
{
    union {
        uint64_t u;
        double f;
    } x = { bits };
    return x.f;
}

/* Of f16 bits: an integer that orders as the number does (both zeros are 0). */
static inline int32_t half_order(uint32_t bits)
{
    int32_t magnitude = (int32_t)(bits & 0x7fff);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static inline uint32_t half_is_nan(uint32_t bits)
{
    return (bits & 0x7fff) > 0x7c00;
}

/* ---- The mask of each relation and type ---- */

/* Sources stand after the result, which v_cmpx on GFX10 has not. */
#define COMPARE(T, rel, store, read, load, expr)                                                                        \
    static __attribute__((noinline)) uint64_t mask_##rel##_##T(struct sim_wave *w, const struct sim_inst *i)            \
    {                                                                                                                   \
        store buf[2][64];                                                                                               \
        const store *pa = read(w, i, i->n_results, buf[0]), *pb = read(w, i, i->n_results + 1u, buf[1]);                \
        uint64_t mask;                                                                                                  \
        LANES_MASK(w, l, mask, expr, load);                                                                             \
        return mask;                                                                                                    \
    }

/* Sets `a` and `b` of a lane; relations that are constant do not look at them. */
#define LOAD(V, see) V a = see(pa[l]); V b = see(pb[l]); (void)a; (void)b;
#define LOAD_HALF                                                                                                       \
    int32_t a = half_order(pa[l]); int32_t b = half_order(pb[l]);                                                       \
    uint32_t nan = half_is_nan(pa[l]) | half_is_nan(pb[l]); (void)a; (void)b; (void)nan;

#define MASK_u32(T, rel, expr) COMPARE(T, rel, uint32_t, lanes_read32, LOAD(uint32_t, (uint32_t)), expr)
#define MASK_i32(T, rel, expr) COMPARE(T, rel, uint32_t, lanes_read32, LOAD(int32_t, (int32_t)), expr)
#define MASK_u16(T, rel, expr) COMPARE(T, rel, uint32_t, lanes_read16, LOAD(uint16_t, (uint16_t)), expr)
#define MASK_i16(T, rel, expr) COMPARE(T, rel, uint32_t, lanes_read16, LOAD(int16_t, (int16_t)), expr)
#define MASK_u64(T, rel, expr) COMPARE(T, rel, uint64_t, lanes_read64, LOAD(uint64_t, (uint64_t)), expr)
#define MASK_i64(T, rel, expr) COMPARE(T, rel, uint64_t, lanes_read64, LOAD(int64_t, (int64_t)), expr)
#define MASK_f16(T, rel, expr) COMPARE(T, rel, uint32_t, read_f16, LOAD_HALF, expr)
#define MASK_f32(T, rel, expr) COMPARE(T, rel, uint32_t, read_f32, LOAD(float, as_f32), expr)
#define MASK_f64(T, rel, expr) COMPARE(T, rel, uint64_t, read_f64, LOAD(double, as_f64), expr)

INT_RELATIONS(MASK_u32, u32)
INT_RELATIONS(MASK_i32, i32)
INT_RELATIONS(MASK_u16, u16)
INT_RELATIONS(MASK_i16, i16)
INT_RELATIONS(MASK_u64, u64)
INT_RELATIONS(MASK_i64, i64)
HALF_RELATIONS(MASK_f16, f16)
FLOAT_RELATIONS(MASK_f32, f32)
FLOAT_RELATIONS(MASK_f64, f64)

/* ---- Classes ---- */

/* The bit of a float's class, given its sign, exponent and mantissa: NaNs and infinities, normal, denormal and zero of either
 * sign. */
static inline uint32_t class_bit(bool negative, bool exponent_max, bool exponent_zero, bool mantissa_zero, bool quiet)
{
    if (exponent_max && !mantissa_zero)
        return quiet ? 1 << 1 : 1 << 0;
    if (exponent_max)
        return negative ? 1 << 2 : 1 << 9;
    if (!exponent_zero)
        return negative ? 1 << 3 : 1 << 8;
    if (!mantissa_zero)
        return negative ? 1 << 4 : 1 << 7;
    return negative ? 1 << 5 : 1 << 6;
}

/* Denormals are classed as such in every mode. */
static uint64_t mask_class_f16(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t buf[2][64];
    const uint32_t *pa = lanes_read16(w, i, i->n_results, buf[0]), *pb = lanes_read32(w, i, i->n_results + 1u, buf[1]);
    uint64_t mask;
    LANES_MASK(w, l, mask, (which & pb[l]) != 0, uint32_t a = pa[l] & 0xffff;
               uint32_t which = class_bit(a >> 15, (a & 0x7c00) == 0x7c00, !(a & 0x7c00), !(a & 0x3ff), a >> 9 & 1););
    return mask;
}

static uint64_t mask_class_f32(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t buf[2][64];
    const uint32_t *pa = lanes_read32(w, i, i->n_results, buf[0]), *pb = lanes_read32(w, i, i->n_results + 1u, buf[1]);
    uint64_t mask;
    LANES_MASK(w, l, mask, (which & pb[l]) != 0, uint32_t a = pa[l];
        uint32_t which = class_bit(a >> 31, (a & 0x7f800000) == 0x7f800000, !(a & 0x7f800000), !(a & 0x7fffff), a >> 22 & 1););
    return mask;
}

static uint64_t mask_class_f64(struct sim_wave *w, const struct sim_inst *i)
{
    uint64_t buf[64], mask;
    uint32_t buf_b[64];
    const uint64_t *pa = lanes_read64(w, i, i->n_results, buf);
    const uint32_t *pb = lanes_read32(w, i, i->n_results + 1u, buf_b);
    LANES_MASK(w, l, mask, (which & pb[l]) != 0, uint64_t a = pa[l];
               uint32_t which = class_bit(a >> 63, (a >> 52 & 0x7ff) == 0x7ff, !(a >> 52 & 0x7ff), !(a << 12), a >> 51 & 1););
    return mask;
}

/* ---- Rows ---- */

static void give_mask(struct sim_wave *w, const struct sim_inst *i, uint64_t mask)
{
    if (i->n_results)
        lanes_write_mask(w, i, 0, mask);
}

static void give_exec(struct sim_wave *w, const struct sim_inst *i, uint64_t mask)
{
    mask &= lanes_mask(w, i); /* with DPP, which gfx11 has here: lanes that its masks leave out get 0 */
    give_mask(w, i, mask);
    sim_set_exec(w, mask);
}

#define RUN(T, rel, expr)                                                                                               \
    static void run_cmp_##rel##_##T(struct sim_wave *w, const struct sim_inst *i)                                       \
    {                                                                                                                   \
        give_mask(w, i, mask_##rel##_##T(w, i));                                                                        \
    }                                                                                                                   \
    static void run_cmpx_##rel##_##T(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        give_exec(w, i, mask_##rel##_##T(w, i));                                                                        \
    }

#define ALL(X)                                                                                                          \
    INT_RELATIONS(X, u32) INT_RELATIONS(X, i32) INT_RELATIONS(X, u16) INT_RELATIONS(X, i16) INT_RELATIONS(X, u64)       \
    INT_RELATIONS(X, i64)                                                                                               \
    HALF_RELATIONS(X, f16) FLOAT_RELATIONS(X, f32) FLOAT_RELATIONS(X, f64) X(f16, class, 0) X(f32, class, 0) X(f64, class, 0)

ALL(RUN)

/* The letters of both sources; of classes the second is bits. */
#define SIG_u32 "bb"
#define SIG_i32 "bb"
#define SIG_u16 "ww"
#define SIG_i16 "ww"
#define SIG_u64 "qq"
#define SIG_i64 "qq"
#define SIG_f16 "hh"
#define SIG_f32 "ff"
#define SIG_f64 "dd"
#define SIG_class_f16 "hb"
#define SIG_class_f32 "fb"
#define SIG_class_f64 "db"
#define CLASS_u32 SIM_VALU
#define CLASS_i32 SIM_VALU
#define CLASS_u16 SIM_VALU
#define CLASS_i16 SIM_VALU
#define CLASS_u64 SIM_VALU
#define CLASS_i64 SIM_VALU
#define CLASS_f16 SIM_VALU
#define CLASS_f32 SIM_VALU
#define CLASS_f64 SIM_F64

/* v_cmp gives a mask; v_cmpx one too on GFX9. */
#define ROWS_GFX9(T, rel, sig, cards)                                                                                   \
    { "v_cmp_" #rel "_" #T, "m=" sig, run_cmp_##rel##_##T, CLASS_##T, cards },                                          \
    { "v_cmpx_" #rel "_" #T, "m=" sig, run_cmpx_##rel##_##T, CLASS_##T, SIM_GFX9 },
#define ROWS(T, rel, sig)                                                                                               \
    ROWS_GFX9(T, rel, sig, 0)                                                                                           \
    { "v_cmpx_" #rel "_" #T, "=" sig, run_cmpx_##rel##_##T, CLASS_##T, SIM_GFX10 | SIM_GFX11 | SIM_GFX12 },
#define ROW(T, rel, expr) ROWS(T, rel, SIG_##T)
/* Of 16 bits, the relations that are constant are GFX9's alone. */
#define ROW16(T, rel, expr) ROW16_##rel(T, rel)
#define ROW16_f(T, rel) ROWS_GFX9(T, rel, SIG_##T, SIM_GFX9)
#define ROW16_t(T, rel) ROWS_GFX9(T, rel, SIG_##T, SIM_GFX9)
#define ROW16_lt(T, rel) ROWS(T, rel, SIG_##T)
#define ROW16_eq ROW16_lt
#define ROW16_le ROW16_lt
#define ROW16_gt ROW16_lt
#define ROW16_ne ROW16_lt
#define ROW16_ge ROW16_lt

static const struct sim_op ops[] = {
    INT_RELATIONS(ROW, u32) INT_RELATIONS(ROW, i32) INT_RELATIONS(ROW16, u16) INT_RELATIONS(ROW16, i16)
    INT_RELATIONS(ROW, u64) INT_RELATIONS(ROW, i64)
    HALF_RELATIONS(ROW, f16) FLOAT_RELATIONS(ROW, f32) FLOAT_RELATIONS(ROW, f64)
    ROWS(f16, class, SIG_class_f16) ROWS(f32, class, SIG_class_f32) ROWS(f64, class, SIG_class_f64)
};

const struct sim_table sim_valu_cmp = { ops, sizeof ops / sizeof *ops };
