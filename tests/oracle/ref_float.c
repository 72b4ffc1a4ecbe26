/* References of floating-point arithmetic: add, sub, mul, fma, div, rcp, sqrt, rsqrt, abs, neg, min, max, the approximations,
 * copysign testp, and the comparisons setp and set, in every type and in mixed precision (PTX ISA 9.7.3 to 9.7.7).
 *
 * Not conversion (ref_cvt.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ref_exact.h"

#include <math.h>
#include <string.h>

/* One element: operands in, flushed where .ftz says; the rounded result out. */
typedef uint64_t element_fn(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v);

static uint64_t finish(const struct ptx_instr *in, const struct exact_format *f, bool ftz, uint64_t r)
{
    if (ftz)
        r = exact_flush(f, r);
    if (ptx_has(in, PTX_MOD_SAT))
        r = exact_saturate(f, r);
    if (ptx_has(in, PTX_MOD_RELU))
        r = exact_relu(f, r);
    return r;
}

/* Is a product, or a product and a sum, less than the least normal f32 before it is rounded?  Exact in double precision, or as
 * good as. */
static bool tiny(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    bool product = !strcmp(in->form->mnemonic, "mul"), fused = !strcmp(in->form->mnemonic, "fma");
    return (product || fused) &&
           fabs(fma(exact_double(f, v[0]), exact_double(f, v[1]), fused ? exact_double(f, v[2]) : 0)) < 0x1p-126;
}

/* Element by element on operands of type 0.  .ftz is of f32 and f16 alone, but for ex2 of bf16, which says so itself. */
static void each(const struct ptx_instr *in, struct oracle_lane *lane, unsigned n, element_fn *compute)
{
    enum ptx_type type = in->types[0];
    const struct exact_format *f = exact_format_of(type);
    unsigned stride = exact_stride(type);
    bool ftz = ptx_has(in, PTX_MOD_FTZ) && f->width != 64;
    uint64_t mask = stride == 64 ? UINT64_MAX : (1ull << stride) - 1, r = 0;
    for (unsigned i = 0; i < exact_count(type); i++) {
        uint64_t v[3];
        for (unsigned k = 0; k < n; k++) {
            v[k] = lane->src[k].u64[0] >> (i * stride) & mask;
            if (ftz)
                v[k] = exact_flush(f, v[k]);
        }
        lane->may_vanish |= ftz && f->width == 32 && tiny(in, f, v);
        r |= finish(in, f, ftz, compute(in, f, v)) << (i * stride);
    }
    lane->dst[0].u64[0] = r;
    lane->any_nan = !ptx_has(in, PTX_MOD_RELU);
}

#define REFERENCE(name, n)                                                        \
    void oracle_ref_##name(const struct ptx_instr *in, struct oracle_lane *lane)  \
    {                                                                             \
        each(in, lane, n, name##_element);                                        \
    }

/* ---- Arithmetic with one rounding */
static uint64_t add_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return exact_round(exact_add(exact_from(f, v[0]), exact_from(f, v[1]), exact_mode_of(in)), f, exact_mode_of(in));
}

static uint64_t sub_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    struct exact b = exact_negate(exact_from(f, v[1]));
    return exact_round(exact_add(exact_from(f, v[0]), b, exact_mode_of(in)), f, exact_mode_of(in));
}

static uint64_t mul_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return exact_round(exact_mul(exact_from(f, v[0]), exact_from(f, v[1])), f, exact_mode_of(in));
}

static uint64_t fma_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    struct exact product = exact_mul(exact_from(f, v[0]), exact_from(f, v[1]));
    return exact_round(exact_add(product, exact_from(f, v[2]), exact_mode_of(in)), f, exact_mode_of(in));
}

static uint64_t div_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return exact_round(exact_div(exact_from(f, v[0]), exact_from(f, v[1])), f, exact_mode_of(in));
}

static uint64_t rcp_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return exact_round(exact_div(exact_from_int(1, false), exact_from(f, v[0])), f, exact_mode_of(in));
}

static uint64_t sqrt_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return exact_round(exact_sqrt(exact_from(f, v[0])), f, exact_mode_of(in));
}

REFERENCE(add_float, 2)
REFERENCE(sub_float, 2)
REFERENCE(mul_float, 2)
REFERENCE(fma_float, 3)
REFERENCE(div_float, 2)
REFERENCE(rcp_float, 1)
REFERENCE(sqrt_float, 1)

/* fma.oob: 0 where a factor is the NaN that stands for what was read out of bounds, else fma. */
enum { OOB_NAN = 0x7ff7 };
static uint64_t fma_oob_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    return (v[0] & 0x7fff) == OOB_NAN || (v[1] & 0x7fff) == OOB_NAN ? 0 : fma_float_element(in, f, v);
}
REFERENCE(fma_oob, 3)

/* ---- Mixed precision: a, and the b of fma, are widened first; the rest is f32 */
static void mixed(const struct ptx_instr *in, struct oracle_lane *lane, bool fma, bool negate)
{
    const struct exact_format *narrow = exact_format_of(in->types[1]), *f = exact_format_of(PTX_F32);
    enum exact_mode mode = exact_mode_of(in);
    struct exact x = exact_from(narrow, lane->src[0].u16[0]), c = exact_from(f, lane->src[fma ? 2 : 1].u32[0]);
    if (fma)
        x = exact_mul(x, exact_from(narrow, lane->src[1].u16[0]));
    uint64_t r = exact_round(exact_add(x, negate ? exact_negate(c) : c, mode), f, mode);
    lane->dst[0].u32[0] = (uint32_t)finish(in, f, false, r);
    lane->any_nan = true;
}

void oracle_ref_add_mixed(const struct ptx_instr *in, struct oracle_lane *lane) { mixed(in, lane, false, false); }
void oracle_ref_sub_mixed(const struct ptx_instr *in, struct oracle_lane *lane) { mixed(in, lane, false, true); }
void oracle_ref_fma_mixed(const struct ptx_instr *in, struct oracle_lane *lane) { mixed(in, lane, true, false); }

/* ---- Signs */
static uint64_t abs_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    (void)in;
    return v[0] & ~(1ull << (f->width - 1));
}

static uint64_t neg_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    (void)in;
    return v[0] ^ 1ull << (f->width - 1);
}

REFERENCE(abs_float, 1)
REFERENCE(neg_float, 1)

/* The sign of a on the magnitude of b. */
void oracle_ref_copysign(const struct ptx_instr *in, struct oracle_lane *lane)
{
    uint64_t sign = 1ull << (ptx_type_bits(in->types[0]) - 1);
    lane->dst[0].u64[0] = (lane->src[0].u64[0] & sign) | (lane->src[1].u64[0] & ~sign);
}

/* ---- Minimum and maximum */
static uint64_t minmax_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    bool max = aw_str_is(in->mnemonic, "max"), nan = ptx_has(in, PTX_MOD_NAN_RESULT);
    uint64_t sign = 1ull << (f->width - 1);
    if (!ptx_has(in, PTX_MOD_XORSIGN))
        return exact_minmax(f, max, nan, v[0], v[1]);
    uint64_t r = exact_minmax(f, max, nan, v[0] & ~sign, v[1] & ~sign);
    return (r & ~sign) | ((v[0] ^ v[1]) & sign);
}

static uint64_t minmax3_float_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    bool max = aw_str_is(in->mnemonic, "max"), nan = ptx_has(in, PTX_MOD_NAN_RESULT);
    uint64_t keep = ptx_has(in, PTX_MOD_ABS) ? (1ull << (f->width - 1)) - 1 : UINT64_MAX;
    return exact_minmax(f, max, nan, exact_minmax(f, max, nan, v[0] & keep, v[1] & keep), v[2] & keep);
}

/* A NaN as result is the canonical one, but that of f64 is open, and so is a NaN's sign after .xorsign. */
void oracle_ref_minmax_float(const struct ptx_instr *in, struct oracle_lane *lane)
{
    each(in, lane, 2, minmax_float_element);
    lane->any_nan = in->types[0] == PTX_F64 || ptx_has(in, PTX_MOD_XORSIGN);
}

void oracle_ref_minmax3_float(const struct ptx_instr *in, struct oracle_lane *lane)
{
    each(in, lane, 3, minmax3_float_element);
    lane->any_nan = false;
}

/* ---- Approximations: the true value, rounded; how far the result may be from it says the row's bound */
#define APPROXIMATION(name, expression)                                                                                   \
    static uint64_t name##_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)          \
    {                                                                                                                     \
        double x = exact_double(f, v[0]);                                                                                 \
        (void)in;                                                                                                         \
        return exact_from_double(f, expression);                                                                          \
    }
APPROXIMATION(ex2, exp2(x))
APPROXIMATION(lg2, log2(x))
APPROXIMATION(tanh, tanh(x))
APPROXIMATION(sin, sin(x))
APPROXIMATION(cos, cos(x))
#undef APPROXIMATION

REFERENCE(ex2, 1)

/* Near 1 the bound is absolute. */
void oracle_ref_lg2(const struct ptx_instr *in, struct oracle_lane *lane)
{
    float x = lane->src[0].f32[0];
    each(in, lane, 1, lg2_element);
    lane->abs_error = x > 0.5f && x < 2 ? 0x1p-22 : 0;
}

void oracle_ref_tanh(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type type = in->types[0];
    each(in, lane, 1, tanh_element);
    lane->abs_error = type == PTX_F32 ? 0 : exact_format_of(type) == exact_format_of(PTX_F16) ? exp2(-10.987) : 0x1p-8;
}

/* The bounds are absolute and end at 100 pi; beyond, no more is asked than a number in [-1, 1]. */
static void periodic(const struct ptx_instr *in, struct oracle_lane *lane, element_fn *compute)
{
    double x = fabs(lane->src[0].f32[0]);
    each(in, lane, 1, compute);
    lane->abs_error = x <= 6.2831853 ? exp2(-20.5) : x <= 314.15926 ? exp2(-14.7) : 2;
}

void oracle_ref_sin(const struct ptx_instr *in, struct oracle_lane *lane) { periodic(in, lane, sin_element); }
void oracle_ref_cos(const struct ptx_instr *in, struct oracle_lane *lane) { periodic(in, lane, cos_element); }

static uint64_t rsqrt_element(const struct ptx_instr *in, const struct exact_format *f, const uint64_t *v)
{
    /* The root has 64 bits: the quotient's last place of f64 is safe but for ties, and the row is no exact one. */
    struct exact root = exact_sqrt(exact_from(f, v[0]));
    if (root.kind == EXACT_FINITE && root.m) {
        root.e += 2;
        root.m = root.m >> 2 | (root.m & 3 ? 1 : 0);
    }
    return exact_round(exact_div(exact_from_int(1, false), root), f, exact_mode_of(in));
}
REFERENCE(rsqrt, 1)

/* div.approx answers for divisors whose reciprocal is a normal number, div.full for all. */
void oracle_ref_div_approx(const struct ptx_instr *in, struct oracle_lane *lane)
{
    each(in, lane, 2, div_float_element);
    float b = fabsf(lane->src[1].f32[0]);
    lane->undefined = ptx_has(in, PTX_MOD_APPROX) && ((b > 0x1p126f && b < INFINITY) || (b > 0 && b < 0x1p-126f));
}

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: of the argument's high word, and only the high word of the result. */
static void high_word(const struct ptx_instr *in, struct oracle_lane *lane, element_fn *compute)
{
    const struct exact_format *f = exact_format_of(PTX_F64);
    uint64_t v = exact_flush(f, lane->src[0].u64[0]), high = v & 0xffffffff00000000;
    uint64_t r = exact_flush(f, compute(in, f, &high));
    lane->dst[0].u64[0] = r & 0xffffffff00000000;
    lane->any_nan = true;
}

void oracle_ref_rcp_high(const struct ptx_instr *in, struct oracle_lane *lane) { high_word(in, lane, rcp_float_element); }
void oracle_ref_rsqrt_high(const struct ptx_instr *in, struct oracle_lane *lane) { high_word(in, lane, rsqrt_element); }

/* ---- testp */
void oracle_ref_testp(const struct ptx_instr *in, struct oracle_lane *lane)
{
    const struct exact_format *f = exact_format_of(in->types[0]);
    uint64_t magnitude = lane->src[0].u64[0] & ((1ull << (f->width - 1)) - 1), least = 1ull << (f->precision - 1);
    bool r;
    if (ptx_has(in, PTX_MOD_FINITE))
        r = magnitude < f->infinity;
    else if (ptx_has(in, PTX_MOD_INFINITE))
        r = magnitude == f->infinity;
    else if (ptx_has(in, PTX_MOD_NUMBER))
        r = magnitude <= f->infinity;
    else if (ptx_has(in, PTX_MOD_NOTANUMBER))
        r = magnitude > f->infinity;
    else if (ptx_has(in, PTX_MOD_NORMAL)) /* the manual counts zeros among the normal numbers */
        r = magnitude == 0 || (magnitude >= least && magnitude < f->infinity);
    else
        r = magnitude > 0 && magnitude < least;
    lane->dst[0].u64[0] = r;
}

/* ---- Comparison */
static uint64_t part(const union oracle_value *v, enum ptx_type type, unsigned i)
{
    unsigned stride = exact_stride(type);
    return stride == 64 ? v->u64[0] : v->u64[0] >> (i * stride) & ((1ull << stride) - 1);
}

/* (a cmp b) of element i. */
static bool holds(const struct ptx_instr *in, enum ptx_type type, const struct oracle_lane *lane, unsigned i)
{
    const struct exact_format *f = exact_format_of(type);
    uint64_t a = part(&lane->src[0], type, i), b = part(&lane->src[1], type, i);
    if (ptx_has(in, PTX_MOD_FTZ) && (f->width == 32 || f == exact_format_of(PTX_F16))) {
        a = exact_flush(f, a);
        b = exact_flush(f, b);
    }
    int order = exact_compare(exact_from(f, a), exact_from(f, b));
    static const struct {
        enum ptx_mod mod;
        bool less, equal, greater, unordered;
    } table[] = {
        { PTX_MOD_EQ, 0, 1, 0, 0 },  { PTX_MOD_NE, 1, 0, 1, 0 },  { PTX_MOD_LT, 1, 0, 0, 0 },  { PTX_MOD_LE, 1, 1, 0, 0 },
        { PTX_MOD_GT, 0, 0, 1, 0 },  { PTX_MOD_GE, 0, 1, 1, 0 },  { PTX_MOD_EQU, 0, 1, 0, 1 }, { PTX_MOD_NEU, 1, 0, 1, 1 },
        { PTX_MOD_LTU, 1, 0, 0, 1 }, { PTX_MOD_LEU, 1, 1, 0, 1 }, { PTX_MOD_GTU, 0, 0, 1, 1 }, { PTX_MOD_GEU, 0, 1, 1, 1 },
        { PTX_MOD_NUM, 1, 1, 1, 0 }, { PTX_MOD_NAN, 0, 0, 0, 1 },
    };
    for (unsigned k = 0; k < sizeof table / sizeof *table; k++)
        if (ptx_has(in, table[k].mod))
            return order == 2 ? table[k].unordered : order < 0 ? table[k].less : order > 0 ? table[k].greater : table[k].equal;
    return false;
}

/* With the predicate c, where there is one. */
static bool combined(const struct ptx_instr *in, const struct oracle_lane *lane, bool r)
{
    bool c = lane->src[2].u8[0];
    return ptx_has(in, PTX_MOD_AND) ? r && c : ptx_has(in, PTX_MOD_OR) ? r || c : ptx_has(in, PTX_MOD_XOR) ? r != c : r;
}

void oracle_ref_setp_float(const struct ptx_instr *in, struct oracle_lane *lane)
{
    bool r = holds(in, in->types[0], lane, 0);
    lane->dst[0].u64[0] = combined(in, lane, r);
    lane->dst[1].u64[0] = combined(in, lane, !r);
}

/* p is of the low halves, q of the high ones. */
void oracle_ref_setp_pair(const struct ptx_instr *in, struct oracle_lane *lane)
{
    for (unsigned i = 0; i < 2; i++)
        lane->dst[i].u64[0] = combined(in, lane, holds(in, in->types[0], lane, i));
}

/* 1.0 for float results, all ones for integers; an integer result of a pair has them per half. */
void oracle_ref_set_float(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type to = in->types[0], type = in->types[1];
    const struct exact_format *f = exact_format_of(to);
    unsigned n = exact_count(type), width = ptx_type_bits(to) / n;
    uint64_t yes = f ? exact_round(exact_from_int(1, false), f, EXACT_RN) : (1ull << width) - 1, r = 0;
    for (unsigned i = 0; i < n; i++)
        if (combined(in, lane, holds(in, type, lane, i)))
            r |= yes << (i * width);
    lane->dst[0].u64[0] = r;
}
