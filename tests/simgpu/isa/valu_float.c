/* Rows of f32 and f64 arithmetic and conversions (VOP1, VOP2, VOP3; packed f32).  f16 is valu_half.c's, compares are
 * valu_cmp.c's.  Approximating instructions (rcp, rsq, sqrt, exp, log, sin, cos) of f32 give the correctly rounded value, to
 * nearest whatever MODE says; hardware is within 1 ulp of it.  v_rcp_f64 likewise, since the quotient that compilers refine from
 * it is wrong for denominators of all ones with less; the square roots of f64 give 29 significant bits, as hardware does, so that
 * code which forgets to refine them does not pass. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "float.h"

#include <math.h>

#include "order.h"

/* ---- f32 arithmetic ---- */

static FLOAT_VECTORS32(fma32, _mm256_fmadd_ps(a, b, c)) static FLOAT_BODY(mad32, float_f32, float_f32, float_f32, float_f32,
                                                                          a *b + c)

    /* Zero times anything, NaN also, is +0, as graphics of old had it. */
    static FLOAT_BODY(mul_legacy32, float_f32, float_f32, float_f32, float_f32,
                      a == 0 || b == 0 ? 0 : a * b) static FLOAT_BODY(mullit32, float_f32, float_f32, float_f32, float_f32,
                  !(b > -0x1.fffffep127f) || !(c > 0) ? -0x1.fffffep127f : a == 0 || b == 0 ? 0 : a * b)

    /* Sources made +0 where their product is to be; a fused +0 * +0 + c would lose the sign of -0, so c is taken as it is
     * then. */
    static void multiply_add_legacy(const struct sim_wave *w, size_t lanes, float *r, const float *a, const float *b,
                                    const float *c, bool fused)
{
    bool keep = fused && float_keeps_inputs(w, 'f') && float_keeps_results(w, 'f');
    for (size_t l = 0; l < lanes; l++) {
        bool zero = a[l] == 0 || b[l] == 0;
        float x = zero ? 0 : a[l], y = zero ? 0 : b[l], sum = fused ? __builtin_fmaf(x, y, c[l]) : x * y + c[l];
        const void *sources[3] = { &x, &y, &c[l] };
        uint32_t bits = u32_of(sum), passed = keep ? u32_of(c[l]) : float_flush32(u32_of(c[l]));
        if (float_is_nan32(bits))
            float_settle32(&bits, 1, sources, 3);
        else if (zero && fused)
            bits = passed;
        r[l] = f32_of(bits);
    }
}

static void fma_legacy32(const struct sim_wave *w, size_t lanes, void *restrict r, const void *a, const void *b, const void *c)
{
    multiply_add_legacy(w, lanes, r, a, b, c, true);
}

static void mad_legacy32(const struct sim_wave *w, size_t lanes, void *restrict r, const void *a, const void *b, const void *c)
{
    multiply_add_legacy(w, lanes, r, a, b, c, false);
}

FLOAT_QUICK32(v_add_f32, float_add, FLOAT_NATIVE | FLOAT_NANS, 2, _mm256_add_ps(a, b))
FLOAT_QUICK32(v_sub_f32, float_sub, FLOAT_NATIVE | FLOAT_NANS, 2, _mm256_sub_ps(a, b))
FLOAT_QUICK32(v_subrev_f32, float_subrev, FLOAT_NATIVE | FLOAT_NANS, 2, _mm256_sub_ps(b, a))
FLOAT_QUICK32(v_mul_f32, float_mul, FLOAT_NATIVE | FLOAT_NANS, 2, _mm256_mul_ps(a, b))
FLOAT_QUICK32(v_fma_f32, fma32, FLOAT_NATIVE | FLOAT_NANS, 3, _mm256_fmadd_ps(a, b, c))
FLOAT_QUICK32(v_fmac_f32, fma32, FLOAT_NATIVE | FLOAT_NANS | FLOAT_ACC, 3, _mm256_fmadd_ps(a, b, c))
FLOAT_RUN32(v_mad_f32, mad32, FLOAT_NATIVE | FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_mac_f32, mad32, FLOAT_NATIVE | FLOAT_NANS | FLOAT_FLUSH | FLOAT_ACC)
FLOAT_RUN32(v_mul_legacy_f32, mul_legacy32, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN32(v_mad_legacy_f32, mad_legacy32, FLOAT_NATIVE | FLOAT_FLUSH)
FLOAT_RUN32(v_fma_legacy_f32, fma_legacy32, FLOAT_NATIVE)
FLOAT_RUN32(v_fmac_legacy_f32, fma_legacy32, FLOAT_NATIVE | FLOAT_ACC)
FLOAT_RUN32(v_mullit_f32, mullit32, FLOAT_NATIVE | FLOAT_NANS)

/* ---- Minimum, maximum, median ---- */

static FLOAT_BODY(min32, float_u32, float_u32, float_u32, float_u32, order_min32(a, b, float_ieee(w)))
static FLOAT_BODY(max32, float_u32, float_u32, float_u32, float_u32, order_max32(a, b, float_ieee(w)))
static FLOAT_BODY(min3_32, float_u32, float_u32, float_u32, float_u32,
                  order_min32(order_min32(a, b, float_ieee(w)), c, float_ieee(w)))
static FLOAT_BODY(maxmin_32, float_u32, float_u32, float_u32, float_u32,
                  order_min32(order_max32(a, b, float_ieee(w)), c, float_ieee(w)))
static FLOAT_BODY(minmax_32, float_u32, float_u32, float_u32, float_u32,
                  order_max32(order_min32(a, b, float_ieee(w)), c, float_ieee(w)))
static FLOAT_BODY(max3_32, float_u32, float_u32, float_u32, float_u32,
                  order_max32(order_max32(a, b, float_ieee(w)), c, float_ieee(w)))

    /* The middle of the ordered bits, where there is neither a NaN nor zeros of both signs; any such lane has all done by the
 * manual's cases. */
    static void med3_32(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_)
{
    const float_u32 *a = a_, *b = b_, *c = c_;
    float_u32 *r = r_;
    uint32_t special = 0;
    for (size_t first = 0; first < lanes; first += 32)
        for (size_t l = first; l < first + 32; l++) {
            uint32_t x = a[l], y = b[l], z = c[l];
            int32_t kx = order_key32(x), ky = order_key32(y), kz = order_key32(z);
            int32_t low = kx < ky ? kx : ky, high = kx < ky ? ky : kx, middle = kz < low ? low : kz > high ? high : kz;
            r[l] = (uint32_t)order_key32((uint32_t)middle); /* the key is its own inverse */
            special |= (uint32_t)(order_nan32(x) | order_nan32(y) | order_nan32(z));
            special |= (uint32_t)((x == 0) | (y == 0) | (z == 0)) &
                       (uint32_t)((x == 1u << 31) | (y == 1u << 31) | (z == 1u << 31));
        }
    for (size_t l = 0; special && l < lanes; l++)
        r[l] = order_med32(a[l], b[l], c[l], float_ieee(w));
}

static FLOAT_BODY(min64, float_u64, float_u64, float_u64, float_u64, order_min64(a, b, float_ieee(w)))
static FLOAT_BODY(max64, float_u64, float_u64, float_u64, float_u64, order_max64(a, b, float_ieee(w)))

FLOAT_RUN32(v_min_f32, min32, 0)
FLOAT_RUN32(v_max_f32, max32, 0)
FLOAT_RUN32(v_min3_f32, min3_32, 0)
FLOAT_RUN32(v_max3_f32, max3_32, 0)
FLOAT_RUN32(v_maxmin_f32, maxmin_32, 0)
FLOAT_RUN32(v_minmax_f32, minmax_32, 0)
FLOAT_RUN32(v_med3_f32, med3_32, 0)
FLOAT_RUN(v_min_f64, min64, 0)
FLOAT_RUN(v_max_f64, max64, 0)

/* ---- gfx12's: by whether numbers or NaNs come first.  Rows: name, signature, class, type, what is computed. ---- */

#define ROWS_ORDER(X)                                                                                                   \
    X(v_min_num_f32, "f=ff", VALU, u32, order_min_num32(a, b))                                                          \
    X(v_max_num_f32, "f=ff", VALU, u32, order_max_num32(a, b))                                                          \
    X(v_minimum_f32, "f=ff", VALU, u32, order_minimum32(a, b))                                                          \
    X(v_maximum_f32, "f=ff", VALU, u32, order_maximum32(a, b))                                                          \
    X(v_min3_num_f32, "f=fff", VALU, u32, order_min_num32(order_min_num32(a, b), c))                                    \
    X(v_max3_num_f32, "f=fff", VALU, u32, order_max_num32(order_max_num32(a, b), c))                                    \
    X(v_med3_num_f32, "f=fff", VALU, u32, order_med_num32(a, b, c))                                                     \
    X(v_minmax_num_f32, "f=fff", VALU, u32, order_max_num32(order_min_num32(a, b), c))                                  \
    X(v_maxmin_num_f32, "f=fff", VALU, u32, order_min_num32(order_max_num32(a, b), c))                                  \
    X(v_minimum3_f32, "f=fff", VALU, u32, order_minimum32(order_minimum32(a, b), c))                                    \
    X(v_maximum3_f32, "f=fff", VALU, u32, order_maximum32(order_maximum32(a, b), c))                                    \
    X(v_minimummaximum_f32, "f=fff", VALU, u32, order_maximum32(order_minimum32(a, b), c))                              \
    X(v_maximumminimum_f32, "f=fff", VALU, u32, order_minimum32(order_maximum32(a, b), c))                              \
    X(v_min_num_f64, "d=dd", F64, u64, order_min_num64(a, b))                                                           \
    X(v_max_num_f64, "d=dd", F64, u64, order_max_num64(a, b))                                                           \
    X(v_minimum_f64, "d=dd", F64, u64, order_minimum64(a, b))                                                           \
    X(v_maximum_f64, "d=dd", F64, u64, order_maximum64(a, b))

#define X(name, sig, cls, T, expr)                                                                                      \
    static FLOAT_BODY(body_##name, float_##T, float_##T, float_##T, float_##T, expr) FLOAT_RUN(name, body_##name, 0)
ROWS_ORDER(X)
#undef X

/* ---- Cube maps: a is x, b is y, c is z ---- */

static inline bool z_major(float x, float y, float z)
{
    return __builtin_fabsf(z) >= __builtin_fabsf(x) && __builtin_fabsf(z) >= __builtin_fabsf(y);
}

static inline bool y_major(float x, float y)
{
    return __builtin_fabsf(y) >= __builtin_fabsf(x);
}

static FLOAT_BODY(cubeid, float_f32, float_f32, float_f32, float_f32,
                  z_major(a, b, c) ? c < 0 ? 5 : 4 : y_major(a, b) ? b < 0 ? 3 : 2 : a < 0 ? 1 : 0)
static FLOAT_BODY(cubesc, float_f32, float_f32, float_f32, float_f32,
                  z_major(a, b, c) ? c < 0 ? -a : a : y_major(a, b) ? a : a < 0 ? c : -c)
static FLOAT_BODY(cubetc, float_f32, float_f32, float_f32, float_f32, z_major(a, b, c) || !y_major(a, b) ? -b : b < 0 ? -c : c)
static FLOAT_BODY(cubema, float_f32, float_f32, float_f32, float_f32, 2 * (z_major(a, b, c) ? c : y_major(a, b) ? b : a))

FLOAT_RUN32(v_cubeid_f32, cubeid, 0)
FLOAT_RUN32(v_cubesc_f32, cubesc, FLOAT_NANS)
FLOAT_RUN32(v_cubetc_f32, cubetc, FLOAT_NANS)
FLOAT_RUN32(v_cubema_f32, cubema, FLOAT_NANS)

/* ---- To whole numbers ---- */

FLOAT_VECTORS32(float_floor, _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
FLOAT_VECTORS32(float_ceil, _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
FLOAT_VECTORS32(float_trunc, _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
FLOAT_VECTORS32(float_rndne, _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))
static FLOAT_VECTORS64(floor64, _mm256_round_pd(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))
static FLOAT_VECTORS64(ceil64, _mm256_round_pd(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC))
static FLOAT_VECTORS64(trunc64, _mm256_round_pd(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC))
static FLOAT_VECTORS64(rndne64, _mm256_round_pd(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC))

/* x - floor(x), which rounding could bring to 1: never above the largest number below.  (min gives its second operand when one is
 * NaN.) */
static FLOAT_VECTORS32(fract32, _mm256_min_ps(_mm256_set1_ps(0x1.fffffep-1f), _mm256_sub_ps(a, _mm256_floor_ps(a))))
static FLOAT_VECTORS64(fract64, _mm256_min_pd(_mm256_set1_pd(0x1.fffffffffffffp-1), _mm256_sub_pd(a, _mm256_floor_pd(a))))

FLOAT_RUN32(v_floor_f32, float_floor, FLOAT_NANS)
FLOAT_RUN32(v_ceil_f32, float_ceil, FLOAT_NANS)
FLOAT_RUN32(v_trunc_f32, float_trunc, FLOAT_NANS)
FLOAT_RUN32(v_rndne_f32, float_rndne, FLOAT_NANS)
FLOAT_RUN32(v_fract_f32, fract32, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_floor_f64, floor64, FLOAT_NANS)
FLOAT_RUN(v_ceil_f64, ceil64, FLOAT_NANS)
FLOAT_RUN(v_trunc_f64, trunc64, FLOAT_NANS)
FLOAT_RUN(v_rndne_f64, rndne64, FLOAT_NANS)
FLOAT_RUN(v_fract_f64, fract64, FLOAT_NATIVE | FLOAT_NANS)

/* ---- Approximations ---- */

/* sin(2 pi x) for |x| at most a half, exact at the quarters. */
static double sin_turns(double x)
{
    if (x > 0.25)
        x = 0.5 - x;
    else if (x < -0.25)
        x = -0.5 - x;
    return sin(6.283185307179586476925 * x);
}

/* Beyond 256 turns the sine is 0 and the cosine 1. */
double float_sin(double x)
{
    if (isinf(x) || isnan(x))
        return NAN;
    if (x > 256 || x < -256)
        return 0;
    double r = x - __builtin_roundeven(x);
    return r == 0 || r == 0.5 || r == -0.5 ? copysign(0, x) : sin_turns(r);
}

double float_cos(double x)
{
    if (isinf(x) || isnan(x))
        return NAN;
    if (x > 256 || x < -256)
        return 1;
    return sin_turns(0.25 - fabs(x - __builtin_roundeven(x))) + 0.0;
}

/* To 29 significant bits. */
static double coarse(double x)
{
    uint64_t bits = u64_of(x);
    if (!isnormal(x))
        return x;
    return f64_of((bits + (1u << 23)) & ~((1ull << 24) - 1));
}

static FLOAT_BODY(rcp32, float_f32, float_f32, float_f32, float_f32, (float)(1.0 / (double)a))
static FLOAT_BODY(rsq32, float_f32, float_f32, float_f32, float_f32, (float)(1.0 / __builtin_sqrt((double)a)))
static FLOAT_VECTORS32(sqrt32, _mm256_sqrt_ps(a))
static FLOAT_BODY(exp32, float_f32, float_f32, float_f32, float_f32, (float)exp2(a))
static FLOAT_BODY(log32, float_f32, float_f32, float_f32, float_f32, (float)log2(a))
static FLOAT_BODY(sin32, float_f32, float_f32, float_f32, float_f32, (float)float_sin(a))
static FLOAT_BODY(cos32, float_f32, float_f32, float_f32, float_f32, (float)float_cos(a))
static FLOAT_BODY(rcp64, float_f64, float_f64, float_f64, float_f64, 1 / a)
static FLOAT_BODY(rsq64, float_f64, float_f64, float_f64, float_f64, coarse(1 / __builtin_sqrt(a)))
static FLOAT_BODY(sqrt64, float_f64, float_f64, float_f64, float_f64, coarse(__builtin_sqrt(a)))

/* The manual: "denormals are flushed", whatever MODE says; sin and cos take them as MODE says. */
FLOAT_RUN32(v_rcp_f32, rcp32, FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_rsq_f32, rsq32, FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_sqrt_f32, sqrt32, FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_exp_f32, exp32, FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_log_f32, log32, FLOAT_NANS | FLOAT_FLUSH)
FLOAT_RUN32(v_sin_f32, sin32, FLOAT_NANS)
FLOAT_RUN32(v_cos_f32, cos32, FLOAT_NANS)
FLOAT_RUN(v_rcp_f64, rcp64, FLOAT_NANS)
FLOAT_RUN(v_rsq_f64, rsq64, FLOAT_NANS)
FLOAT_RUN(v_sqrt_f64, sqrt64, FLOAT_NANS)

/* ---- Exponents and mantissas ---- */

static inline double power_of_two(int32_t n)
{
    n = n < -300 ? -300 : n > 300 ? 300 : n; /* past all that f32 can tell apart */
    return f64_of((uint64_t)(n + 1023) << 52);
}

static double ldexp_of(const struct sim_wave *w, double x, int32_t n)
{
    uint64_t bits = u64_of(x);
    if (!float_keeps_inputs(w, 'd'))
        x = f64_of(bits = float_flush64(bits));
    if (isnan(x) || isinf(x) || x == 0)
        return x;
    int field = (int)(bits >> 52 & 0x7ff);
    struct float_exact e = { .m = field ? (bits & 0xfffffffffffffull) | 1ull << 52 : bits & 0xfffffffffffffull,
                             .exp = (field ? field : 1) - 1075, .negative = bits >> 63 };
    return float_exact_f64(&e, n < -5000 ? -5000 : n > 5000 ? 5000 : n, float_round(w, 'd'), float_keeps_results(w, 'd'));
}

static inline double frexp_of(double x, bool want_exponent)
{
    int e = 0;
    if (isnan(x) || isinf(x))
        return want_exponent ? 0 : x;
    double m = frexp(x, &e);
    return want_exponent ? e : m;
}

static FLOAT_BODY(ldexp32, float_f32, float_f32, int32_t, float_f32, (float)((double)a * power_of_two(b)))
static FLOAT_BODY(ldexp64, float_f64, float_f64, int32_t, float_f64, ldexp_of(w, a, b))
FLOAT_BODY(float_mantissa, float_f32, float_f32, float_f32, float_f32, (float)frexp_of((double)a, false))
FLOAT_BODY(float_exponent, float_u32, float_f32, float_f32, float_f32, (uint32_t)(int32_t)frexp_of((double)a, true))
static FLOAT_BODY(mantissa64, float_f64, float_f64, float_f64, float_f64, frexp_of(a, false))
static FLOAT_BODY(exponent64, float_u32, float_f64, float_f64, float_f64, (uint32_t)(int32_t)frexp_of(a, true))

FLOAT_RUN(v_ldexp_f32, ldexp32, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_ldexp_f64, ldexp64, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN32(v_frexp_mant_f32, float_mantissa, FLOAT_NANS)
FLOAT_RUN(v_frexp_exp_i32_f32, float_exponent, 0)
FLOAT_RUN(v_frexp_mant_f64, mantissa64, FLOAT_NANS)
FLOAT_RUN(v_frexp_exp_i32_f64, exponent64, 0)

/* ---- f64 arithmetic ---- */

static FLOAT_BODY(add64, float_f64, float_f64, float_f64, float_f64, a + b)
static FLOAT_BODY(mul64, float_f64, float_f64, float_f64, float_f64, a * b)
static FLOAT_VECTORS64(fma64, _mm256_fmadd_pd(a, b, c))

FLOAT_RUN(v_add_f64, add64, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_mul_f64, mul64, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_fma_f64, fma64, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_fmac_f64, fma64, FLOAT_NATIVE | FLOAT_NANS | FLOAT_ACC)

/* The 1201 bits of 2 / pi after the point. */
static const uint64_t two_by_pi[20] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b0000ull,
};

/* 53 bits of 2 / pi for the argument's exponent, by segment. */
static double trig_preop(double x, uint32_t segment)
{
    int exponent = (int)(u64_of(x) >> 52 & 0x7ff), at = (int)(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
    if (at > 1200)
        return 0;
    unsigned word = (unsigned)at / 64, bit = (unsigned)at % 64;
    uint64_t bits = two_by_pi[word] << bit | (bit ? two_by_pi[word + 1] >> (64 - bit) : 0);
    return ldexp((double)(bits >> 11), -53 - at + (exponent >= 1968 ? 128 : 0));
}

static FLOAT_BODY(preop64, float_f64, float_f64, float_u32, float_f64, trig_preop(a, b))
FLOAT_RUN(v_trig_preop_f64, preop64, 0)

/* ---- Division: scale, fused multiply-add, fix-up ---- */

/* What v_div_scale does with its first source: the power of two, and whether v_div_fmas has to undo it. */
struct scaling {
    int power;
    bool undo, nan;
};

/* `s` is the source, `d` the denominator, `n` the numerator.  Two of the conditions ask whether a quotient is denormal; that is
 * told exactly, with as much exponent as a long double has.  The manual's text has the fourth power with the other sign; only so
 * is the quotient right. */
static struct scaling div_scale(long double s, long double d, long double n, int field_d, int field_n, int wide,
                                const int *limits)
{
    long double smallest = ldexpl(1, limits[0]), size_d = fabsl(d), size_n = fabsl(n);
    bool reciprocal = size_d > 1 / smallest && !isinf(d), quotient = size_n < size_d * smallest && n != 0 && !isinf(d);
    if (n == 0 || d == 0)
        return (struct scaling){ .nan = true };
    if (field_n - field_d >= limits[1])
        return (struct scaling){ .undo = true, .power = s == d ? wide : 0 };
    if (field_d == 0)
        return (struct scaling){ .power = wide };
    if (reciprocal && quotient)
        return (struct scaling){ .undo = true, .power = s == d ? -wide : 0 };
    if (reciprocal)
        return (struct scaling){ .power = -wide };
    if (quotient)
        return (struct scaling){ .undo = true, .power = s == n ? wide : 0 };
    return (struct scaling){ .power = field_n <= limits[2] ? wide : 0 };
}

/* Nothing to scale, and nothing that a pass through would change?  By exponents alone, so that few operands need the exact
 * conditions. */
static inline bool ordinary32(uint32_t s, uint32_t d, uint32_t n)
{
    int field_s = (int)(s >> 23 & 255), field_d = (int)(d >> 23 & 255), field_n = (int)(n >> 23 & 255);
    return field_s - 1u < 254 && field_d - 1u < 252 && field_n > 23 && field_n - field_d < 96 && field_n - field_d > -125;
}

static void run_v_div_scale_f32(struct sim_wave *w, const struct sim_inst *i)
{
    static const int limits[3] = { -126, 96, 23 };
    uint32_t buf[3][64], r[64];
    const uint32_t *s[3];
    bool keep = float_keeps_inputs(w, 'f');
    uint64_t undo = 0;
    for (unsigned k = 0; k < 3; k++) {
        const uint32_t *x = lanes_read32(w, i, 2 + k, buf[k]);
        for (size_t l = 0; l < w->lanes; l++)
            buf[k][l] = keep ? x[l] : float_flush32(x[l]);
        s[k] = buf[k];
    }
    unsigned csr = float_csr(float_round(w, 'f'), keep, float_keeps_results(w, 'f'));
    float_csr_enter(csr);
    for (size_t l = 0; l < w->lanes; l++) {
        r[l] = s[0][l];
        if (ordinary32(s[0][l], s[1][l], s[2][l]))
            continue;
        struct scaling x = div_scale(f32_of(s[0][l]), f32_of(s[1][l]), f32_of(s[2][l]), (int)(s[1][l] >> 23 & 255),
                                     (int)(s[2][l] >> 23 & 255), 64, limits);
        r[l] = x.nan ? FLOAT_NAN32 : u32_of((float)((double)f32_of(s[0][l]) * power_of_two(x.power)));
        undo |= (uint64_t)x.undo << l;
    }
    float_csr_leave(csr);
    float_store32(w, i, r);
    lanes_write_mask(w, i, 1, undo);
}

static inline bool ordinary64(uint64_t s, uint64_t d, uint64_t n)
{
    int field_s = (int)(s >> 52 & 0x7ff), field_d = (int)(d >> 52 & 0x7ff), field_n = (int)(n >> 52 & 0x7ff);
    return field_s - 1u < 2046 && field_d - 1u < 2044 && field_n > 53 && field_n - field_d < 768 && field_n - field_d > -1021;
}

static void run_v_div_scale_f64(struct sim_wave *w, const struct sim_inst *i)
{
    static const int limits[3] = { -1022, 768, 53 };
    uint64_t buf[3][64], r[64], undo = 0;
    bool keep = float_keeps_inputs(w, 'd');
    for (unsigned k = 0; k < 3; k++) {
        const uint64_t *x = lanes_read64(w, i, 2 + k, buf[k]);
        for (size_t l = 0; l < w->lanes; l++)
            buf[k][l] = keep ? x[l] : float_flush64(x[l]);
    }
    unsigned csr = float_csr(float_round(w, 'd'), keep, float_keeps_results(w, 'd'));
    float_csr_enter(csr);
    for (size_t l = 0; l < w->lanes; l++) {
        r[l] = buf[0][l];
        if (ordinary64(buf[0][l], buf[1][l], buf[2][l]))
            continue;
        struct scaling x = div_scale(f64_of(buf[0][l]), f64_of(buf[1][l]), f64_of(buf[2][l]), (int)(buf[1][l] >> 52 & 0x7ff),
                                     (int)(buf[2][l] >> 52 & 0x7ff), 128, limits);
        r[l] = x.nan ? FLOAT_NAN64 : u64_of(f64_of(buf[0][l]) * power_of_two(x.power));
        undo |= (uint64_t)x.undo << l;
    }
    float_csr_leave(csr);
    float_store64(w, i, r);
    lanes_write_mask(w, i, 1, undo);
}

/* Lanes whose VCC bit is set have their result scaled, before it is rounded. */
static void fmas32(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_)
{
    const float_u32 *a = a_, *b = b_, *c = c_;
    float_f32 *r = r_;
    bool keep = float_keeps_inputs(w, 'f');
    fma32(w, lanes, r_, a_, b_, c_);
    for (uint64_t left = sim_vcc(w); left; left &= left - 1) {
        size_t l = (size_t)__builtin_ctzll(left);
        uint32_t x[3] = { a[l], b[l], c[l] };
        for (unsigned k = 0; k < 3; k++)
            x[k] = keep ? x[k] : float_flush32(x[k]);
        struct float_exact e = float_exact_fma(f32_of(x[0]), f32_of(x[1]), f32_of(x[2]), float_round(w, 'f'));
        r[l] = float_exact_f32(&e, (x[2] >> 23 & 255) > 127 ? 64 : -64, float_round(w, 'f'), float_keeps_results(w, 'f'));
    }
}

static void fmas64(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_)
{
    const float_u64 *a = a_, *b = b_, *c = c_;
    float_f64 *r = r_;
    bool keep = float_keeps_inputs(w, 'd');
    fma64(w, lanes, r_, a_, b_, c_);
    for (uint64_t left = sim_vcc(w); left; left &= left - 1) {
        size_t l = (size_t)__builtin_ctzll(left);
        uint64_t x[3] = { a[l], b[l], c[l] };
        for (unsigned k = 0; k < 3; k++)
            x[k] = keep ? x[k] : float_flush64(x[k]);
        struct float_exact e = float_exact_fma(f64_of(x[0]), f64_of(x[1]), f64_of(x[2]), float_round(w, 'd'));
        r[l] = float_exact_f64(&e, (x[2] >> 52 & 0x7ff) > 1023 ? 128 : -128, float_round(w, 'd'), float_keeps_results(w, 'd'));
    }
}

/* What becomes of a quotient far below the smallest number, and of one beyond the largest (1: it stays at the largest). */
static bool rounds_away(unsigned round, bool negative)
{
    return round == (negative ? 2 : 1);
}

static bool stays_finite(unsigned round, bool negative)
{
    return round == 3 || round == (negative ? 1 : 2);
}

/* q quotient, d denominator, n numerator.  Where the manual has overflow for a denominator with the exponent of infinity, which
 * came before, it must mean the quotient's: the refinement of an infinite one ends as NaN. */

static uint32_t fixup32(const struct sim_wave *w, uint32_t q, uint32_t d, uint32_t n)
{
    const uint32_t inf = 0x7f800000, size_d = d & 0x7fffffff, size_n = n & 0x7fffffff, sign = (d ^ n) & 0x80000000;
    if (size_n > inf || size_d > inf)
        return (size_n > inf ? n : d) | 0x400000;
    if ((size_d | size_n) == 0 || (size_d == inf && size_n == inf))
        return FLOAT_NAN32;
    if (size_d == 0 || size_n == inf)
        return sign | inf;
    if (size_d == inf || size_n == 0)
        return sign;
    if ((int)(size_n >> 23) - (int)(size_d >> 23) < -150)
        return sign | rounds_away(float_round(w, 'f'), sign);
    return sign | ((q & inf) == inf ? inf - stays_finite(float_round(w, 'f'), sign) : q & 0x7fffffff);
}

static uint64_t fixup64(const struct sim_wave *w, uint64_t q, uint64_t d, uint64_t n)
{
    const uint64_t inf = 0x7ff0000000000000ull, size_d = d & INT64_MAX, size_n = n & INT64_MAX, sign = (d ^ n) & 1ull << 63;
    if (size_n > inf || size_d > inf)
        return (size_n > inf ? n : d) | 1ull << 51;
    if ((size_d | size_n) == 0 || (size_d == inf && size_n == inf))
        return FLOAT_NAN64;
    if (size_d == 0 || size_n == inf)
        return sign | inf;
    if (size_d == inf || size_n == 0)
        return sign;
    if ((int)(size_n >> 52) - (int)(size_d >> 52) < -1075)
        return sign | rounds_away(float_round(w, 'd'), sign);
    return sign | ((q & inf) == inf ? inf - stays_finite(float_round(w, 'd'), sign) : q & INT64_MAX);
}

static FLOAT_BODY(fixup_body32, float_u32, float_u32, float_u32, float_u32, fixup32(w, a, b, c))
static FLOAT_BODY(fixup_body64, float_u64, float_u64, float_u64, float_u64, fixup64(w, a, b, c))

FLOAT_RUN32(v_div_fmas_f32, fmas32, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_div_fmas_f64, fmas64, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN32(v_div_fixup_f32, fixup_body32, 0)
FLOAT_RUN(v_div_fixup_f64, fixup_body64, 0)

/* ---- Conversions ---- */

/* Saturating, toward zero; NaN gives 0. */
static inline uint32_t to_i32(double x)
{
    if (!(x > -2147483648.0))
        return __builtin_isnan(x) ? 0 : 0x80000000;
    return x < 2147483647.0 ? (uint32_t)(int32_t)x : INT32_MAX;
}

static inline uint32_t to_u32(double x)
{
    return x > 0 ? x < 4294967295.0 ? (uint32_t)(int64_t)x : UINT32_MAX : 0;
}

/* The processor gives 80000000 for what does not fit. */
static inline int32_t to_i32_fast(float x)
{
    int32_t t = (int32_t)x;
    t = x >= 2147483648.0f ? INT32_MAX : t;
    return float_is_nan32(u32_of(x)) ? 0 : t;
}

/* To [-1, 1] or [0, 1] in parts of 32767 or 65535, to nearest; NaN gives 0. */
static inline uint32_t normed(float x, float least, double parts)
{
    float y = __builtin_isnan(x) ? 0 : x < least ? least : x > 1 ? 1 : x;
    return (uint32_t)(int32_t)__builtin_roundeven((double)y * parts) & 0xffff;
}

/* To 8 bits by MODE's rounding; the manual does not say which. */
static inline uint32_t to_u8(float x)
{
    float y = __builtin_rintf(x);
    return y > 0 ? y < 255 ? (uint32_t)y : 255 : 0;
}

static inline uint32_t with_byte(uint32_t word, uint32_t byte, uint32_t which)
{
    unsigned at = 8 * (which & 3);
    return (word & ~(255u << at)) | byte << at;
}

static FLOAT_BODY(i32_f32, float_u32, float_f32, float_f32, float_f32, (uint32_t)to_i32_fast(a))
static FLOAT_BODY(u32_f32, float_u32, float_f32, float_f32, float_f32, to_u32((double)a))
static FLOAT_BODY(rpi_f32, float_u32, float_f32, float_f32, float_f32, to_i32(__builtin_floor((double)a + 0.5)))
static FLOAT_BODY(flr_f32, float_u32, float_f32, float_f32, float_f32, to_i32(__builtin_floor((double)a)))
static FLOAT_BODY(i32_f64, float_u32, float_f64, float_f64, float_f64, to_i32(a))
static FLOAT_BODY(u32_f64, float_u32, float_f64, float_f64, float_f64, to_u32(a))
static FLOAT_BODY(f32_i32, float_f32, int32_t, int32_t, int32_t, (float)a)
static FLOAT_BODY(f32_u32, float_f32, float_u32, float_u32, float_u32, (float)(double)a)
static FLOAT_BODY(f64_i32, float_f64, int32_t, int32_t, int32_t, a)
static FLOAT_BODY(f64_u32, float_f64, float_u32, float_u32, float_u32, a)
static FLOAT_BODY(f32_f64, float_f32, float_f64, float_f64, float_f64, (float)a)
static FLOAT_BODY(f64_f32, float_f64, float_f32, float_f32, float_f32, a)
static FLOAT_BODY(ubyte0, float_f32, float_u32, float_u32, float_u32, (float)(int32_t)(a & 255))
static FLOAT_BODY(ubyte1, float_f32, float_u32, float_u32, float_u32, (float)(int32_t)(a >> 8 & 255))
static FLOAT_BODY(ubyte2, float_f32, float_u32, float_u32, float_u32, (float)(int32_t)(a >> 16 & 255))
static FLOAT_BODY(ubyte3, float_f32, float_u32, float_u32, float_u32, (float)(int32_t)(a >> 24))
static FLOAT_BODY(off_i4, float_f32, float_u32, float_u32, float_u32, (float)((int32_t)(a << 28) >> 28) * 0.0625f)
static FLOAT_BODY(pk_u8, float_u32, float_f32, float_u32, float_u32, with_byte(c, to_u8(a), b))
FLOAT_BODY(float_pknorm_i16, float_u32, float_f32, float_f32, float_f32, normed(a, -1, 32767) | normed(b, -1, 32767) << 16)
FLOAT_BODY(float_pknorm_u16, float_u32, float_f32, float_f32, float_f32, normed(a, 0, 65535) | normed(b, 0, 65535) << 16)

FLOAT_RUN(v_cvt_i32_f32, i32_f32, 0)
FLOAT_RUN(v_cvt_u32_f32, u32_f32, 0)
FLOAT_RUN(v_cvt_rpi_i32_f32, rpi_f32, 0)
FLOAT_RUN(v_cvt_flr_i32_f32, flr_f32, 0)
FLOAT_RUN(v_cvt_i32_f64, i32_f64, 0)
FLOAT_RUN(v_cvt_u32_f64, u32_f64, 0)
FLOAT_RUN(v_cvt_f32_i32, f32_i32, FLOAT_NATIVE)
FLOAT_RUN(v_cvt_f32_u32, f32_u32, FLOAT_NATIVE)
FLOAT_RUN(v_cvt_f64_i32, f64_i32, 0)
FLOAT_RUN(v_cvt_f64_u32, f64_u32, 0)
FLOAT_RUN(v_cvt_f32_f64, f32_f64, FLOAT_NATIVE | FLOAT_NANS | FLOAT_ROUND64)
FLOAT_RUN(v_cvt_f64_f32, f64_f32, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_cvt_f32_ubyte0, ubyte0, 0)
FLOAT_RUN(v_cvt_f32_ubyte1, ubyte1, 0)
FLOAT_RUN(v_cvt_f32_ubyte2, ubyte2, 0)
FLOAT_RUN(v_cvt_f32_ubyte3, ubyte3, 0)
FLOAT_RUN(v_cvt_off_f32_i4, off_i4, 0)
FLOAT_RUN(v_cvt_pk_u8_f32, pk_u8, FLOAT_NATIVE)
FLOAT_RUN(v_cvt_pkaccum_u8_f32, pk_u8, FLOAT_NATIVE | FLOAT_ACC)
FLOAT_RUN(v_cvt_pknorm_i16_f32, float_pknorm_i16, 0)
FLOAT_RUN(v_cvt_pknorm_u16_f32, float_pknorm_u16, 0)

/* ---- Packed f32 (gfx90a): two results of two registers each ---- */

static void run_pair(struct sim_wave *w, const struct sim_inst *i, float_body *body)
{
    uint32_t low[3][64], high[3][64];
    uint64_t r[2][64];
    unsigned n = i->n - i->n_results,
             csr = float_csr(float_round(w, 'f'), float_keeps_inputs(w, 'f'), float_keeps_results(w, 'f'));
    const void *lows[3] = { low[0], low[1], low[2] }, *highs[3] = { high[0], high[1], high[2] };
    for (unsigned k = 0; k < n && k < 3; k++)
        lanes_read_pair(w, i, i->n_results + k, low[k], high[k]);
    float_csr_enter(csr);
    body(w, w->lanes, r[0], low[0], low[1], low[n > 2 ? 2 : 0]);
    body(w, w->lanes, r[1], high[0], high[1], high[n > 2 ? 2 : 0]);
    float_csr_leave(csr);
    float_settle32((void *)r[0], w->lanes, lows, n);
    float_settle32((void *)r[1], w->lanes, highs, n);
    struct sim_inst part = *i;
    part.omod = 0;
    float_store32(w, &part, (void *)r[0]);
    part.o[0].reg++;
    float_store32(w, &part, (void *)r[1]);
}

static void run_v_pk_add_f32(struct sim_wave *w, const struct sim_inst *i)
{
    run_pair(w, i, float_add);
}

static void run_v_pk_mul_f32(struct sim_wave *w, const struct sim_inst *i)
{
    run_pair(w, i, float_mul);
}

static void run_v_pk_fma_f32(struct sim_wave *w, const struct sim_inst *i)
{
    run_pair(w, i, fma32);
}

/* ---- The table ---- */

#define ROW(name, sig, cls) { #name, sig, run_##name, SIM_##cls, 0 }
#define ROW_AS(name, sig, cls, like) { #name, sig, run_##like, SIM_##cls, 0 }

static const struct sim_op ops[] = {
    ROW(v_add_f32, "f=ff", VALU), ROW(v_sub_f32, "f=ff", VALU), ROW(v_subrev_f32, "f=ff", VALU), ROW(v_mul_f32, "f=ff", VALU),
    ROW(v_fma_f32, "f=fff", VALU), ROW(v_fmac_f32, "f=ff", VALU), ROW_AS(v_fmaak_f32, "f=fff", VALU, v_fma_f32),
    ROW_AS(v_fmamk_f32, "f=fff", VALU, v_fma_f32), ROW(v_mad_f32, "f=fff", VALU), ROW(v_mac_f32, "f=ff", VALU),
    ROW_AS(v_madak_f32, "f=fff", VALU, v_mad_f32), ROW_AS(v_madmk_f32, "f=fff", VALU, v_mad_f32),
    ROW(v_mul_legacy_f32, "f=ff", VALU), ROW(v_mad_legacy_f32, "f=fff", VALU), ROW(v_fma_legacy_f32, "f=fff", VALU),
    ROW(v_fmac_legacy_f32, "f=ff", VALU), ROW(v_mullit_f32, "f=fff", VALU),
    ROW(v_min_f32, "f=ff", VALU), ROW(v_max_f32, "f=ff", VALU), ROW(v_min3_f32, "f=fff", VALU), ROW(v_max3_f32, "f=fff", VALU),
    ROW(v_maxmin_f32, "f=fff", VALU), ROW(v_minmax_f32, "f=fff", VALU),
    ROW(v_med3_f32, "f=fff", VALU), ROW(v_min_f64, "d=dd", F64), ROW(v_max_f64, "d=dd", F64),
    ROW(v_cubeid_f32, "f=fff", VALU), ROW(v_cubesc_f32, "f=fff", VALU), ROW(v_cubetc_f32, "f=fff", VALU),
    ROW(v_cubema_f32, "f=fff", VALU),
    ROW(v_floor_f32, "f=f", VALU), ROW(v_ceil_f32, "f=f", VALU), ROW(v_trunc_f32, "f=f", VALU), ROW(v_rndne_f32, "f=f", VALU),
    ROW(v_fract_f32, "f=f", VALU), ROW(v_floor_f64, "d=d", F64), ROW(v_ceil_f64, "d=d", F64), ROW(v_trunc_f64, "d=d", F64),
    ROW(v_rndne_f64, "d=d", F64), ROW(v_fract_f64, "d=d", F64),
    ROW(v_rcp_f32, "f=f", TRANS), ROW_AS(v_rcp_iflag_f32, "f=f", TRANS, v_rcp_f32), ROW(v_rsq_f32, "f=f", TRANS),
    ROW(v_sqrt_f32, "f=f", TRANS),
    ROW(v_exp_f32, "f=f", TRANS), ROW(v_log_f32, "f=f", TRANS), ROW_AS(v_exp_legacy_f32, "f=f", TRANS, v_exp_f32),
    ROW_AS(v_log_legacy_f32, "f=f", TRANS, v_log_f32), ROW(v_sin_f32, "f=f", TRANS), ROW(v_cos_f32, "f=f", TRANS),
    ROW(v_rcp_f64, "d=d", TRANS), ROW(v_rsq_f64, "d=d", TRANS), ROW(v_sqrt_f64, "d=d", TRANS),
    ROW(v_ldexp_f32, "f=fb", VALU), ROW(v_ldexp_f64, "d=db", F64), ROW(v_frexp_mant_f32, "f=f", VALU),
    ROW(v_frexp_exp_i32_f32, "b=f", VALU),
    ROW(v_frexp_mant_f64, "d=d", F64), ROW(v_frexp_exp_i32_f64, "b=d", F64),
    ROW(v_add_f64, "d=dd", F64), ROW(v_mul_f64, "d=dd", F64), ROW(v_fma_f64, "d=ddd", F64), ROW(v_fmac_f64, "d=dd", F64),
    ROW(v_trig_preop_f64, "d=db", F64),
    ROW(v_div_scale_f32, "fm=fff", VALU), ROW(v_div_fmas_f32, "f=fff", VALU), ROW(v_div_fixup_f32, "f=fff", VALU),
    ROW(v_div_scale_f64, "dm=ddd", F64), ROW(v_div_fmas_f64, "d=ddd", F64), ROW(v_div_fixup_f64, "d=ddd", F64),
    ROW(v_cvt_i32_f32, "b=f", VALU), ROW(v_cvt_u32_f32, "b=f", VALU), ROW(v_cvt_rpi_i32_f32, "b=f", VALU),
    ROW(v_cvt_flr_i32_f32, "b=f", VALU),
    ROW(v_cvt_i32_f64, "b=d", F64), ROW(v_cvt_u32_f64, "b=d", F64), ROW(v_cvt_f32_i32, "f=b", VALU),
    ROW(v_cvt_f32_u32, "f=b", VALU),
    ROW(v_cvt_f64_i32, "d=b", F64), ROW(v_cvt_f64_u32, "d=b", F64), ROW(v_cvt_f32_f64, "f=d", F64),
    ROW(v_cvt_f64_f32, "d=f", F64),
    ROW(v_cvt_f32_ubyte0, "f=b", VALU), ROW(v_cvt_f32_ubyte1, "f=b", VALU), ROW(v_cvt_f32_ubyte2, "f=b", VALU),
    ROW(v_cvt_f32_ubyte3, "f=b", VALU),
    ROW(v_cvt_off_f32_i4, "f=b", VALU), ROW(v_cvt_pk_u8_f32, "b=fbb", VALU), ROW(v_cvt_pkaccum_u8_f32, "b=fb", VALU),
    ROW(v_cvt_pknorm_i16_f32, "b=ff", VALU), ROW(v_cvt_pknorm_u16_f32, "b=ff", VALU),
#define X(name, sig, cls, T, expr) { #name, sig, run_##name, SIM_##cls, SIM_GFX12 },
    ROWS_ORDER(X)
#undef X
    ROW(v_pk_add_f32, "F=FF", VALU), ROW(v_pk_mul_f32, "F=FF", VALU), ROW(v_pk_fma_f32, "F=FFF", VALU),
};

const struct sim_table sim_valu_float = { ops, sizeof ops / sizeof *ops };
