/* Rows of f16: arithmetic, packed arithmetic, mixed precision, dot products, conversions to and from f16.  Bodies work on floats;
 * float_run widens and narrows.  One operation on widened values and one rounding are right for add, subtract, multiply (24 bits
 * are twice 11 and two more), in every rounding mode; the fused ones hand over a sum rounded to odd. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "float.h"

#include <math.h>

#include "order.h"

/* ---- Arithmetic ---- */

/* a * b + c rounded to odd: a later rounding to f16 is as of the exact value.  The product is exact; the sum's error tells where
 * it lies.  A sum of zero is -0 when rounding down, if any summand is. */
static inline __m256 fma_odd(__m256 a, __m256 b, __m256 c, bool down)
{
    const __m256i one = _mm256_set1_epi32(1), sign = _mm256_set1_epi32(INT32_MIN), exponent = _mm256_set1_epi32(0x7f800000);
    __m256 p = _mm256_mul_ps(a, b), s = _mm256_add_ps(p, c), part = _mm256_sub_ps(s, p);
    __m256 error = _mm256_add_ps(_mm256_sub_ps(p, _mm256_sub_ps(s, part)), _mm256_sub_ps(c, part));
    __m256i u = _mm256_castps_si256(s), e = _mm256_castps_si256(error);
    __m256i inward = _mm256_srai_epi32(_mm256_xor_si256(e, u), 31); /* -1 where the exact value is nearer to zero */
    __m256i odd = _mm256_add_epi32(u, _mm256_or_si256(inward, one));
    __m256i exact = _mm256_cmpeq_epi32(_mm256_slli_epi32(e, 1), _mm256_setzero_si256());
    __m256i endless = _mm256_cmpeq_epi32(_mm256_and_si256(u, exponent), exponent), is_odd = _mm256_slli_epi32(u, 31);
    __m256i keep = _mm256_or_si256(_mm256_or_si256(exact, endless), _mm256_srai_epi32(is_odd, 31));
    __m256i r = _mm256_blendv_epi8(odd, u, keep);
    if (down) {
        __m256i zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(u, 1), _mm256_setzero_si256());
        __m256i signs = _mm256_or_si256(_mm256_castps_si256(p), _mm256_castps_si256(c));
        r = _mm256_blendv_epi8(r, _mm256_and_si256(signs, sign), zero);
    }
    return _mm256_castsi256_ps(r);
}

/* With a product and a sum that are each rounded to f16, denormals flushed.  Runs under the rounding mode. */
static void mad16(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_)
{
    float product[128], *r = r_;
    const float *c = c_;
    uint32_t half[128];
    float_mul(w, lanes, product, a_, b_, c_);
    float_narrow(half, product, lanes, false);
    float_widen(product, half, lanes, true);
    for (size_t l = 0; l < lanes; l++)
        r[l] = product[l] + c[l];
}

static FLOAT_VECTORS32(fma16, fma_odd(a, b, c, float_round(w, 'h') == 2))

    FLOAT_RUN(v_add_f16, float_add, FLOAT_NATIVE | FLOAT_NANS) FLOAT_RUN(v_sub_f16, float_sub, FLOAT_NATIVE | FLOAT_NANS)
        FLOAT_RUN(v_subrev_f16, float_subrev, FLOAT_NATIVE | FLOAT_NANS)
            FLOAT_RUN(v_mul_f16, float_mul, FLOAT_NATIVE | FLOAT_NANS) FLOAT_RUN(v_fma_f16, fma16, FLOAT_NANS | FLOAT_KEEP)
                FLOAT_RUN(v_fmaak_f16, fma16, FLOAT_NANS) FLOAT_RUN(v_fmac_f16, fma16, FLOAT_NANS | FLOAT_ACC)
                    FLOAT_RUN(v_mad_f16, mad16, FLOAT_NATIVE | FLOAT_NANS | FLOAT_FLUSH | FLOAT_KEEP)
                        FLOAT_RUN(v_mad_legacy_f16, mad16, FLOAT_NATIVE | FLOAT_NANS | FLOAT_FLUSH)
                            FLOAT_RUN(v_mac_f16, mad16, FLOAT_NATIVE | FLOAT_NANS | FLOAT_FLUSH | FLOAT_ACC)

    /* ---- Minimum, maximum, median: by bits, in the upper half ---- */

static FLOAT_BODY(min16, float_u32, float_u32, float_u32, float_u32, order_min16(a << 16, b << 16, float_ieee(w)) >> 16)
static FLOAT_BODY(max16, float_u32, float_u32, float_u32, float_u32, order_max16(a << 16, b << 16, float_ieee(w)) >> 16)
static FLOAT_BODY(min3_16, float_u32, float_u32, float_u32, float_u32,
                  order_min16(order_min16(a << 16, b << 16, float_ieee(w)), c << 16, float_ieee(w)) >> 16)
static FLOAT_BODY(max3_16, float_u32, float_u32, float_u32, float_u32,
                  order_max16(order_max16(a << 16, b << 16, float_ieee(w)), c << 16, float_ieee(w)) >> 16)
static FLOAT_BODY(med3_16, float_u32, float_u32, float_u32, float_u32,
                  order_med16(a << 16, b << 16, c << 16, float_ieee(w)) >> 16)

        FLOAT_RUN(v_min_f16, min16, FLOAT_RAW) FLOAT_RUN(v_max_f16, max16, FLOAT_RAW)
            FLOAT_RUN(v_min3_f16, min3_16, FLOAT_RAW | FLOAT_KEEP) FLOAT_RUN(v_max3_f16, max3_16, FLOAT_RAW | FLOAT_KEEP)
                FLOAT_RUN(v_med3_f16, med3_16, FLOAT_RAW | FLOAT_KEEP)

/* ---- gfx12's: by whether numbers or NaNs come first.  Rows: name, signature, what is computed. ---- */

#define ROWS_ORDER(X)                                                                                                   \
    X(v_min_num_f16, "h=hh", order_min_num16(a, b)) X(v_max_num_f16, "h=hh", order_max_num16(a, b))                     \
    X(v_minimum_f16, "h=hh", order_minimum16(a, b)) X(v_maximum_f16, "h=hh", order_maximum16(a, b))                     \
    X(v_pk_min_num_f16, "P=PP", order_min_num16(a, b)) X(v_pk_max_num_f16, "P=PP", order_max_num16(a, b))               \
    X(v_pk_minimum_f16, "P=PP", order_minimum16(a, b)) X(v_pk_maximum_f16, "P=PP", order_maximum16(a, b))               \
    X(v_min3_num_f16, "h=hhh", order_min_num16(order_min_num16(a, b), c))                                               \
    X(v_max3_num_f16, "h=hhh", order_max_num16(order_max_num16(a, b), c))                                               \
    X(v_med3_num_f16, "h=hhh", order_med_num16(a, b, c))                                                                \
    X(v_minmax_num_f16, "h=hhh", order_max_num16(order_min_num16(a, b), c))                                             \
    X(v_maxmin_num_f16, "h=hhh", order_min_num16(order_max_num16(a, b), c))                                             \
    X(v_minimum3_f16, "h=hhh", order_minimum16(order_minimum16(a, b), c))                                               \
    X(v_maximum3_f16, "h=hhh", order_maximum16(order_maximum16(a, b), c))                                               \
    X(v_minimummaximum_f16, "h=hhh", order_maximum16(order_minimum16(a, b), c))                                         \
    X(v_maximumminimum_f16, "h=hhh", order_minimum16(order_maximum16(a, b), c))

    /* The functions know f16 in the upper half. */
    static inline uint32_t upper(uint32_t a)
{
    return a << 16;
}

#define X(name, sig, expr)                                                                                              \
    static void order_##name(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, \
                             const void *c_)                                                                            \
    {                                                                                                                   \
        (void)w;                                                                                                        \
        for (size_t l = 0; l < lanes; l++) {                                                                            \
            uint32_t a = upper(((const float_u32 *)a_)[l]), b = upper(((const float_u32 *)b_)[l]);                      \
            uint32_t c = upper(((const float_u32 *)c_)[l]);                                                             \
            (void)c;                                                                                                    \
            ((float_u32 *)r_)[l] = (expr) >> 16;                                                                        \
        }                                                                                                               \
    }                                                                                                                   \
    FLOAT_RUN(name, order_##name, FLOAT_RAW)
ROWS_ORDER(X)
#undef X

/* ---- To whole numbers, approximations, exponents ---- */

/* Never rounded up to 1. */
static FLOAT_VECTORS32(fract16, _mm256_min_ps(_mm256_set1_ps(0x1.ffcp-1f), _mm256_sub_ps(a, _mm256_floor_ps(a))))

/* A double as float, rounded to odd, so that rounding to f16 is not the second one. */
static float odd_of(double x)
{
    float f = (float)x;
    uint32_t u = u32_of(f);
    if (!isfinite(x) || (double)f == x || u & 1)
        return f;
    return f32_of(fabs(x) > fabs((double)f) ? u + 1 : u - 1);
}

static inline float small_power(int32_t n)
{
    n = n < -60 ? -60 : n > 60 ? 60 : n;
    return f32_of((uint32_t)(n + 127) << 23);
}

static FLOAT_BODY(rcp16, float_f32, float_f32, float_f32, float_f32, odd_of(1.0 / (double)a))
static FLOAT_BODY(rsq16, float_f32, float_f32, float_f32, float_f32, odd_of(1.0 / __builtin_sqrt((double)a)))
static FLOAT_BODY(sqrt16, float_f32, float_f32, float_f32, float_f32, odd_of(__builtin_sqrt((double)a)))
static FLOAT_BODY(exp16, float_f32, float_f32, float_f32, float_f32, odd_of(exp2(a)))
static FLOAT_BODY(log16, float_f32, float_f32, float_f32, float_f32, odd_of(log2(a)))
static FLOAT_BODY(sin16, float_f32, float_f32, float_f32, float_f32, odd_of(float_sin(a)))
static FLOAT_BODY(cos16, float_f32, float_f32, float_f32, float_f32, odd_of(float_cos(a)))
static FLOAT_BODY(ldexp16, float_f32, float_f32, int32_t, float_f32, a * small_power((int16_t)b))

FLOAT_RUN(v_floor_f16, float_floor, FLOAT_NANS)
FLOAT_RUN(v_ceil_f16, float_ceil, FLOAT_NANS)
FLOAT_RUN(v_trunc_f16, float_trunc, FLOAT_NANS)
FLOAT_RUN(v_rndne_f16, float_rndne, FLOAT_NANS)
FLOAT_RUN(v_fract_f16, fract16, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_rcp_f16, rcp16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_rsq_f16, rsq16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_sqrt_f16, sqrt16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_exp_f16, exp16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_log_f16, log16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_sin_f16, sin16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_cos_f16, cos16, FLOAT_NANS | FLOAT_NEAREST)
FLOAT_RUN(v_ldexp_f16, ldexp16, FLOAT_NANS)
FLOAT_RUN(v_frexp_mant_f16, float_mantissa, FLOAT_NANS)
FLOAT_RUN(v_frexp_exp_i16_f16, float_exponent, 0)

/* ---- Division's fix-up: a quotient, b denominator, c numerator ---- */

static uint32_t fixup16(uint32_t q, uint32_t d, uint32_t n)
{
    const uint32_t inf = 0x7c00, size_d = d & 0x7fff, size_n = n & 0x7fff, sign = (d ^ n) & 0x8000;
    if (size_n > inf || size_d > inf)
        return ((size_n > inf ? n : d) & 0xffff) | 0x200;
    if ((size_d | size_n) == 0 || (size_d == inf && size_n == inf))
        return FLOAT_NAN16;
    if (size_d == 0 || size_n == inf)
        return sign | inf;
    return size_d == inf || size_n == 0 ? sign : sign | (q & 0x7fff);
}

static FLOAT_BODY(fixup_body16, float_u32, float_u32, float_u32, float_u32, fixup16(a, b, c))

FLOAT_RUN(v_div_fixup_f16, fixup_body16, FLOAT_RAW | FLOAT_KEEP)
FLOAT_RUN(v_div_fixup_legacy_f16, fixup_body16, FLOAT_RAW)

/* ---- Conversions ---- */

static inline uint32_t to_i16(float x)
{
    float y = __builtin_isnan(x) ? 0 : x < -32768 ? -32768 : x > 32767 ? 32767 : x;
    return (uint32_t)(int32_t)y;
}

static inline uint32_t to_u16(float x)
{
    float y = !(x > 0) ? 0 : x > 65535 ? 65535 : x;
    return (uint32_t)(int32_t)y;
}

/* The first source's lanes in the low halves, the second's in the high ones. */
static void pack_floats(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a, const void *b, const void *c)
{
    float *r = r_;
    (void)w, (void)c;
    memcpy(r, a, lanes / 2 * sizeof *r);
    memcpy(r + lanes / 2, b, lanes / 2 * sizeof *r);
}

static FLOAT_BODY(same, float_f32, float_f32, float_f32, float_f32, a)
static FLOAT_BODY(f16_i16, float_f32, int32_t, int32_t, int32_t, (float)(int16_t)a)
static FLOAT_BODY(f16_u16, float_f32, int32_t, int32_t, int32_t, (float)(a & 0xffff))
static FLOAT_BODY(i16_f16, float_u32, float_f32, float_f32, float_f32, to_i16(a))
static FLOAT_BODY(u16_f16, float_u32, float_f32, float_f32, float_f32, to_u16(a))

FLOAT_RUN(v_cvt_f16_f32, same, FLOAT_NANS)
FLOAT_RUN(v_cvt_f32_f16, same, FLOAT_NANS)
FLOAT_RUN(v_cvt_f16_i16, f16_i16, 0)
FLOAT_RUN(v_cvt_f16_u16, f16_u16, 0)
FLOAT_RUN(v_cvt_i16_f16, i16_f16, 0)
FLOAT_RUN(v_cvt_u16_f16, u16_f16, 0)
FLOAT_RUN(v_cvt_norm_i16_f16, float_pknorm_i16, 0)
FLOAT_RUN(v_cvt_norm_u16_f16, float_pknorm_u16, 0)
FLOAT_RUN(v_cvt_pknorm_i16_f16, float_pknorm_i16, 0)
FLOAT_RUN(v_cvt_pknorm_u16_f16, float_pknorm_u16, 0)
FLOAT_RUN(v_cvt_pkrtz_f16_f32, pack_floats, FLOAT_TOWARD0)

/* ---- Packed ---- */

FLOAT_RUN(v_pk_add_f16, float_add, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_pk_mul_f16, float_mul, FLOAT_NATIVE | FLOAT_NANS)
FLOAT_RUN(v_pk_fma_f16, fma16, FLOAT_NANS)
FLOAT_RUN(v_pk_fmac_f16, fma16, FLOAT_NANS | FLOAT_ACC)
FLOAT_RUN(v_pk_min_f16, min16, FLOAT_RAW)
FLOAT_RUN(v_pk_max_f16, max16, FLOAT_RAW)

/* ---- Dot products: the exact products are added to c one after the other, low halves first, each sum rounded ---- */

static void dot2(const struct sim_wave *w, size_t lanes, void *restrict r_, const void *a_, const void *b_, const void *c_)
{
    const float *a = a_, *b = b_;
    const float_u32 *c = c_;
    float *r = r_;
    for (size_t l = 0; l < lanes; l += 8) {
        __m256 sum = _mm256_fmadd_ps(_mm256_loadu_ps(a + l), _mm256_loadu_ps(b + l), _mm256_loadu_ps((const float *)c_ + l));
        _mm256_storeu_ps(r + l, _mm256_fmadd_ps(_mm256_loadu_ps(a + lanes + l), _mm256_loadu_ps(b + lanes + l), sum));
    }
    const void *sources[5] = { a, b, a + lanes, b + lanes, c };
    (void)w;
    float_settle32((uint32_t *)r_, lanes, sources, 5);
}

/* gfx90a flushes denormals here whatever MODE says. */
static unsigned dot2_flags(const struct sim_wave *w)
{
    return FLOAT_NATIVE | (w->card->major == 9 && w->card->stepping == 10 ? FLOAT_FLUSH : 0);
}

static void run_v_dot2_f32_f16(struct sim_wave *w, const struct sim_inst *i)
{
    float_run(w, i, dot2, dot2_flags(w));
}

static void run_v_dot2c_f32_f16(struct sim_wave *w, const struct sim_inst *i)
{
    float_run(w, i, dot2, dot2_flags(w) | FLOAT_ACC);
}

/* ---- Mixed: each source is f32, or by op_sel_hi one half of its register ---- */

/* Source `k` as floats.  The modifiers are applied after widening: lanes.h would look for the sign at the top of the register. */
static const float *read_mixed(struct sim_wave *w, const struct sim_inst *i, unsigned s, void *buf)
{
    unsigned k = i->n_results + s;
    const uint32_t *x;
    float *f = buf;
    if (!i->op_sel_hi[s]) {
        x = lanes_read32(w, i, k, buf);
        return (const float *)x;
    }
    if (i->o[k].neg | i->o[k].abs) {
        struct sim_inst bare = *i;
        bare.o[k].neg = bare.o[k].abs = false;
        x = lanes_fetch32(w, &bare, k, buf);
    } else {
        x = lanes_read32(w, i, k, buf);
    }
    uint32_t half[64], drop = i->o[k].abs ? 0x80000000 : 0, flip = i->o[k].neg ? 0x80000000 : 0;
    for (size_t l = 0; l < w->lanes; l++)
        half[l] = i->op_sel[s] ? x[l] >> 16 : x[l];
    float_widen(f, half, w->lanes, float_keeps_inputs(w, 'h'));
    for (size_t l = 0; (drop | flip) && l < w->lanes; l++)
        f[l] = f32_of((u32_of(f[l]) & ~drop) ^ flip);
    return f;
}

/* a * b + c in f32: fused, or on gfx900 with two roundings and no denormals. */
static void mix(struct sim_wave *w, const struct sim_inst *i, bool fused, uint32_t *ret_bits)
{
    uint32_t buf[3][64];
    const void *s[3];
    for (unsigned k = 0; k < 3; k++)
        s[k] = read_mixed(w, i, k, buf[k]);
    const float *a = s[0], *b = s[1], *c = s[2];
    float *r = (float *)ret_bits;
    unsigned csr = float_csr(float_round(w, 'f'), fused && float_keeps_inputs(w, 'f'), fused && float_keeps_results(w, 'f'));
    float_csr_enter(csr);
    for (size_t l = 0; l < w->lanes; l += 8) {
        __m256 x = _mm256_loadu_ps(a + l), y = _mm256_loadu_ps(b + l), z = _mm256_loadu_ps(c + l);
        _mm256_storeu_ps(r + l, fused ? _mm256_fmadd_ps(x, y, z) : _mm256_add_ps(_mm256_mul_ps(x, y), z));
    }
    float_csr_leave(csr);
    float_settle32(ret_bits, w->lanes, s, 3);
}

/* The f32 result rounded once more, into one half of the register. */
static void mix_half(struct sim_wave *w, const struct sim_inst *i, bool fused, bool high)
{
    uint32_t x[64], half[64], *dst = sim_vgpr(w, i->o[0].reg);
    mix(w, i, fused, x);
    unsigned csr = float_csr(float_round(w, 'h'), true, true);
    float_csr_enter(csr);
    float_narrow(half, (const float *)x, w->lanes, float_keeps_results(w, 'h'));
    float_csr_leave(csr);
    float_modify16(w, i, half, w->lanes);
    for (size_t l = 0; l < w->lanes; l++)
        x[l] = high ? (dst[l] & 0xffff) | half[l] << 16 : (dst[l] & 0xffff0000) | (half[l] & 0xffff);
    lanes_blend32(w, dst, x, sim_exec(w));
}

#define MIX_RUNS(what, fused)                                                                                           \
    static void run_v_##what##_mix_f32(struct sim_wave *w, const struct sim_inst *i)                                    \
    {                                                                                                                   \
        uint32_t x[64];                                                                                                 \
        mix(w, i, fused, x);                                                                                            \
        float_store32(w, i, x);                                                                                         \
    }                                                                                                                   \
    static void run_v_##what##_mixlo_f16(struct sim_wave *w, const struct sim_inst *i)                                  \
    {                                                                                                                   \
        mix_half(w, i, fused, false);                                                                                   \
    }                                                                                                                   \
    static void run_v_##what##_mixhi_f16(struct sim_wave *w, const struct sim_inst *i)                                  \
    {                                                                                                                   \
        mix_half(w, i, fused, true);                                                                                    \
    }

MIX_RUNS(fma, true)
MIX_RUNS(mad, false)

/* ---- The table ---- */

#define ROW(name, sig, cls) { #name, sig, run_##name, SIM_##cls, 0 }
#define ROW_AS(name, sig, cls, like) { #name, sig, run_##like, SIM_##cls, 0 }

static const struct sim_op ops[] = {
    ROW(v_add_f16, "h=hh", VALU), ROW(v_sub_f16, "h=hh", VALU), ROW(v_subrev_f16, "h=hh", VALU), ROW(v_mul_f16, "h=hh", VALU),
    ROW(v_fma_f16, "h=hhh", VALU), ROW_AS(v_fma_legacy_f16, "h=hhh", VALU, v_fmaak_f16), ROW(v_fmac_f16, "h=hh", VALU),
    ROW(v_fmaak_f16, "h=hhh", VALU), ROW_AS(v_fmamk_f16, "h=hhh", VALU, v_fmaak_f16),
    ROW(v_mad_f16, "h=hhh", VALU), ROW(v_mad_legacy_f16, "h=hhh", VALU), ROW(v_mac_f16, "h=hh", VALU),
    ROW_AS(v_madak_f16, "h=hhh", VALU, v_mad_legacy_f16), ROW_AS(v_madmk_f16, "h=hhh", VALU, v_mad_legacy_f16),
    ROW(v_min_f16, "h=hh", VALU), ROW(v_max_f16, "h=hh", VALU), ROW(v_min3_f16, "h=hhh", VALU), ROW(v_max3_f16, "h=hhh", VALU),
    ROW(v_med3_f16, "h=hhh", VALU),
    ROW(v_floor_f16, "h=h", VALU), ROW(v_ceil_f16, "h=h", VALU), ROW(v_trunc_f16, "h=h", VALU), ROW(v_rndne_f16, "h=h", VALU),
    ROW(v_fract_f16, "h=h", VALU), ROW(v_rcp_f16, "h=h", TRANS), ROW(v_rsq_f16, "h=h", TRANS), ROW(v_sqrt_f16, "h=h", TRANS),
    ROW(v_exp_f16, "h=h", TRANS), ROW(v_log_f16, "h=h", TRANS), ROW(v_sin_f16, "h=h", TRANS), ROW(v_cos_f16, "h=h", TRANS),
    ROW(v_ldexp_f16, "h=hw", VALU), ROW(v_frexp_mant_f16, "h=h", VALU), ROW(v_frexp_exp_i16_f16, "w=h", VALU),
    ROW(v_div_fixup_f16, "h=hhh", VALU), ROW(v_div_fixup_legacy_f16, "h=hhh", VALU),
    ROW(v_cvt_f16_f32, "h=f", VALU), ROW(v_cvt_f32_f16, "f=h", VALU), ROW(v_cvt_f16_i16, "h=w", VALU),
    ROW(v_cvt_f16_u16, "h=w", VALU),
    ROW(v_cvt_i16_f16, "w=h", VALU), ROW(v_cvt_u16_f16, "w=h", VALU), ROW(v_cvt_norm_i16_f16, "w=h", VALU),
    ROW(v_cvt_norm_u16_f16, "w=h", VALU),
    ROW(v_cvt_pknorm_i16_f16, "b=hh", VALU), ROW(v_cvt_pknorm_u16_f16, "b=hh", VALU), ROW(v_cvt_pkrtz_f16_f32, "P=ff", VALU),
    ROW(v_pk_add_f16, "P=PP", VALU), ROW(v_pk_mul_f16, "P=PP", VALU), ROW(v_pk_fma_f16, "P=PPP", VALU),
    ROW(v_pk_fmac_f16, "P=PP", VALU),
    ROW(v_pk_min_f16, "P=PP", VALU), ROW(v_pk_max_f16, "P=PP", VALU),
#define X(name, sig, expr) { #name, sig, run_##name, SIM_VALU, SIM_GFX12 },
    ROWS_ORDER(X)
#undef X
    ROW(v_dot2_f32_f16, "f=PPf", VALU), ROW(v_dot2c_f32_f16, "f=PP", VALU),
    ROW(v_fma_mix_f32, "f=fff", VALU), ROW(v_fma_mixlo_f16, "h=fff", VALU), ROW(v_fma_mixhi_f16, "h=fff", VALU),
    ROW(v_mad_mix_f32, "f=fff", VALU), ROW(v_mad_mixlo_f16, "h=fff", VALU), ROW(v_mad_mixhi_f16, "h=fff", VALU),
};

const struct sim_table sim_valu_half = { ops, sizeof ops / sizeof *ops };
