/* Floating point: every rounding mode against the machine's own, flushing, saturation, NaN rules, the narrow formats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <math.h>

#define RUN(rows) cr_assert(run_rows(rows, sizeof(rows) / sizeof *(rows)))

/* Evaluates under a rounding mode; volatile keeps the compiler from doing it before. */
#define MODE(name, mode, kind, expression)               \
    static uint64_t name(const uint64_t *v)              \
    {                                                    \
        fesetround(mode);                                \
        volatile kind r = (kind)(expression);            \
        fesetround(FE_TONEAREST);                        \
        return sizeof(kind) == 4 ? run_bits32((float)r) : run_bits64((double)r); \
    }
#define ALL(name, kind, expression)                                               \
    MODE(name##_rn, FE_TONEAREST, kind, expression) MODE(name##_rz, FE_TOWARDZERO, kind, expression) \
    MODE(name##_rm, FE_DOWNWARD, kind, expression) MODE(name##_rp, FE_UPWARD, kind, expression)
static volatile float a32, b32, c32;
static volatile double a64, b64, c64;
#define SET32 (a32 = F32(0), b32 = F32(1), c32 = F32(2))
#define SET64 (a64 = F64(0), b64 = F64(1), c64 = F64(2))
ALL(add32, float, (SET32, a32 + b32)) ALL(sub32, float, (SET32, a32 - b32)) ALL(mul32, float, (SET32, a32 * b32))
ALL(div32, float, (SET32, a32 / b32)) ALL(fma32, float, (SET32, fmaf(a32, b32, c32))) ALL(sqrt32, float, (SET32, sqrtf(a32)))
ALL(rcp32, float, (SET32, 1.0f / a32))
ALL(add64, double, (SET64, a64 + b64)) ALL(sub64, double, (SET64, a64 - b64)) ALL(mul64, double, (SET64, a64 * b64))
ALL(div64, double, (SET64, a64 / b64)) ALL(fma64, double, (SET64, fma(a64, b64, c64))) ALL(sqrt64, double, (SET64, sqrt(a64)))
ALL(rcp64, double, (SET64, 1.0 / a64))

#define ROWS(op, type, operands, types, ref)                                                                             \
    { op ".rn." type " %d, " operands ";", types, ref##_rn, 0 }, { op ".rz." type " %d, " operands ";", types, ref##_rz, 0 }, \
    { op ".rm." type " %d, " operands ";", types, ref##_rm, 0 }, { op ".rp." type " %d, " operands ";", types, ref##_rp, 0 }

Test(lower_float, f32_rounding)
{
    static const struct run_row rows[] = {
        ROWS("add", "f32", "%a, %b", "f32 f32 f32", add32), ROWS("sub", "f32", "%a, %b", "f32 f32 f32", sub32),
        ROWS("mul", "f32", "%a, %b", "f32 f32 f32", mul32), ROWS("div", "f32", "%a, %b", "f32 f32 f32", div32),
        ROWS("fma", "f32", "%a, %b, %c", "f32 f32 f32 f32", fma32), ROWS("sqrt", "f32", "%a", "f32 f32", sqrt32),
        ROWS("rcp", "f32", "%a", "f32 f32", rcp32),
    };
    RUN(rows);
}

/* Factors known to be small against the third operand go a short way (ptx/finish/host/round.c). */
#define SATURATED(x) (!((x) > 0) ? 0.0f : (x) > 1 ? 1.0f : (x))
#define CLAMPED(x) (!((x) > -2) ? -2.0f : (x) < 3 ? (x) : 3.0f)
#define SETSAT (a32 = SATURATED(F32(0)))
#define SETCLAMP (a32 = CLAMPED(F32(0)))
ALL(exp_step, float, (SETSAT, fmaf(a32, 252.0f, 12582913.0f))) ALL(exp_back, float, (SETSAT, fmaf(a32, -252.0f, 12582913.0f)))
ALL(exp_under, float, (SETSAT, fmaf(a32, 252.0f, -12582913.0f))) ALL(exp_fine, float, (SETSAT, fmaf(252.0f, a32, 504.0f)))
ALL(exp_small, float, (SETSAT, fmaf(a32, 1.0f, 0x1p-90f))) ALL(exp_zero, float, (SETSAT, fmaf(a32, 3.0f, -0.0f)))
ALL(exp_clamp, float, (SETCLAMP, fmaf(a32, 5.0f, -30.5f)))
#define SAT_ROWS(operands, ref) ROWS("cvt.sat.f32.f32 %t0, %a; fma", "f32", operands, "f32 f32", ref)
#define CLAMP(n)                                                                                                \
    "setp.gt.f32 %q0, %a, 0fC0000000; selp.f32 %t0, %a, 0fC0000000, %q0; setp.lt.f32 %q1, %t0, 0f40400000; "        \
    "selp.f32 %t1, %t0, 0f40400000, %q1; " n

Test(lower_float, f32_rounding_known)
{
    static const struct run_row rows[] = {
        SAT_ROWS("%t0, 0f437C0000, 0f4B400001", exp_step), SAT_ROWS("%t0, 0fC37C0000, 0f4B400001", exp_back),
        SAT_ROWS("%t0, 0f437C0000, 0fCB400001", exp_under), SAT_ROWS("0f437C0000, %t0, 0f43FC0000", exp_fine),
        SAT_ROWS("%t0, 0f3F800000, 0f12800000", exp_small), SAT_ROWS("%t0, 0f40400000, 0f80000000", exp_zero),
        ROWS(CLAMP("fma"), "f32", "%t1, 0f40A00000, 0fC1F40000", "f32 f32", exp_clamp),
    };
    RUN(rows);
}

Test(lower_float, f64_rounding)
{
    static const struct run_row rows[] = {
        ROWS("add", "f64", "%a, %b", "f64 f64 f64", add64), ROWS("sub", "f64", "%a, %b", "f64 f64 f64", sub64),
        ROWS("mul", "f64", "%a, %b", "f64 f64 f64", mul64), ROWS("div", "f64", "%a, %b", "f64 f64 f64", div64),
        ROWS("fma", "f64", "%a, %b, %c", "f64 f64 f64 f64", fma64), ROWS("sqrt", "f64", "%a", "f64 f64", sqrt64),
        ROWS("rcp", "f64", "%a", "f64 f64", rcp64),
    };
    RUN(rows);
}

/* ---- Flushing, saturation, minimum and maximum */
static float ftz(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static float sat(float x)
{
    return !(x > 0) ? 0.0f : x > 1 ? 1.0f : x;
}
REF(add_ftz, run_bits32(ftz(ftz(F32(0)) + ftz(F32(1))))) REF(mul_ftz_sat, run_bits32(sat(ftz(ftz(F32(0)) * ftz(F32(1))))))
REF(fma_sat, run_bits32(sat(fmaf(F32(0), F32(1), F32(2)))))
REF(abs_ftz, run_bits32(fabsf(ftz(F32(0))))) REF(neg32, run_bits32(F32(0)) ^ 0x80000000)
static uint64_t minmax32(float a, float b, bool max, bool nan)
{
    if (isnan(a) && isnan(b))
        return 0x7fffffff;
    if (isnan(a) || isnan(b))
        return nan ? 0x7fffffff : run_bits32(isnan(a) ? b : a);
    if (a == b)
        return max ? run_bits32(a) & run_bits32(b) : run_bits32(a) | run_bits32(b);
    return run_bits32((a < b) != max ? a : b);
}
REF(min32, minmax32(F32(0), F32(1), false, false)) REF(max32, minmax32(F32(0), F32(1), true, false))
REF(min_nan, minmax32(F32(0), F32(1), false, true)) REF(max_ftz, minmax32(ftz(F32(0)), ftz(F32(1)), true, false))
REF(min_xorsign, (minmax32(fabsf(F32(0)), fabsf(F32(1)), false, false) & 0x7fffffff) | ((U32(0) ^ U32(1)) & 0x80000000))
REF(copysign64, run_bits64(copysign(F64(1), F64(0)))) REF(subnormal, fpclassify(F32(0)) == FP_SUBNORMAL)
REF(normal64, fpclassify(F64(0)) == FP_NORMAL || F64(0) == 0)

Test(lower_float, modifiers)
{
    static const struct run_row rows[] = {
        { "add.ftz.f32 %d, %a, %b;", "f32 f32 f32", add_ftz, 0 },
        { "mul.rn.ftz.sat.f32 %d, %a, %b;", "f32 f32 f32", mul_ftz_sat, 0 },
        { "fma.rn.sat.f32 %d, %a, %b, %c;", "f32 f32 f32 f32", fma_sat, 0 }, { "abs.ftz.f32 %d, %a;", "f32 f32", abs_ftz, 0 },
        { "neg.f32 %d, %a;", "f32 f32", neg32, 0 }, { "min.f32 %d, %a, %b;", "f32 f32 f32", min32, RUN_EXACT_NAN },
        { "max.f32 %d, %a, %b;", "f32 f32 f32", max32, RUN_EXACT_NAN },
        { "min.NaN.f32 %d, %a, %b;", "f32 f32 f32", min_nan, RUN_EXACT_NAN },
        { "max.ftz.f32 %d, %a, %b;", "f32 f32 f32", max_ftz, RUN_EXACT_NAN },
        { "min.xorsign.abs.f32 %d, %a, %b;", "f32 f32 f32", min_xorsign, 0 },
        { "copysign.f64 %d, %a, %b;", "f64 f64 f64", copysign64, 0 }, { "testp.subnormal.f32 %d, %a;", "pred f32", subnormal, 0 },
        { "testp.normal.f64 %d, %a;", "pred f64", normal64, 0 },
    };
    RUN(rows);
}

REF(lt, F32(0) < F32(1)) REF(ltu, !(F32(0) >= F32(1))) REF(ne, F32(0) < F32(1) || F32(0) > F32(1)) REF(neu, F64(0) != F64(1))
REF(num, !isnan(F64(0)) && !isnan(F64(1))) REF(unordered, isnan(F32(0)) || isnan(F32(1))) REF(lt_ftz, ftz(F32(0)) < ftz(F32(1)))
REF(equ, !(F32(0) < F32(1) || F32(0) > F32(1))) REF(set_one, run_bits32(F32(0) < F32(1) ? 1.0f : 0.0f))
REF(slct, F32(2) >= 0 ? U32(0) : U32(1))

Test(lower_float, comparison)
{
    static const struct run_row rows[] = {
        { "setp.lt.f32 %d, %a, %b;", "pred f32 f32", lt, 0 }, { "setp.ltu.f32 %d, %a, %b;", "pred f32 f32", ltu, 0 },
        { "setp.ne.f32 %d, %a, %b;", "pred f32 f32", ne, 0 }, { "setp.neu.f64 %d, %a, %b;", "pred f64 f64", neu, 0 },
        { "setp.num.f64 %d, %a, %b;", "pred f64 f64", num, 0 }, { "setp.nan.f32 %d, %a, %b;", "pred f32 f32", unordered, 0 },
        { "setp.lt.ftz.f32 %d, %a, %b;", "pred f32 f32", lt_ftz, 0 }, { "setp.equ.f32 %d, %a, %b;", "pred f32 f32", equ, 0 },
        { "set.lt.f32.f32 %d, %a, %b;", "f32 f32 f32", set_one, 0 },
        { "slct.u32.f32 %d, %a, %b, %c;", "u32 u32 u32 f32", slct, 0 },
    };
    RUN(rows);
}

/* ---- Conversions.  `narrow` rounds a double to a format of p bits, exactly, by scaling to integers. */
static uint64_t narrow(double x, int p, int e_min, int e_max, unsigned width, int mode)
{
    uint64_t sign = signbit(x) ? 1ull << (width - 1) : 0, infinity = (uint64_t)(2 * e_max + 1) << (p - 1);
    if (isnan(x))
        return (1ull << (width - 1)) - 1;
    if (isinf(x))
        return sign | infinity;
    int e = x == 0 ? e_min : ilogb(x);
    if (e < e_min)
        e = e_min;
    fesetround(mode);
    volatile double scaled = scalbn(x, p - 1 - e), q = nearbyint(scaled);
    fesetround(FE_TONEAREST);
    uint64_t m = (uint64_t)fabs(q);
    uint64_t bits = m < (1ull << (p - 1)) ? m : ((uint64_t)(e - e_min + 1) << (p - 1)) + (m - (1ull << (p - 1)));
    if (bits >= infinity) /* overflow: the largest number where the mode points inward */
        bits = infinity - (mode == FE_TOWARDZERO || (mode == FE_DOWNWARD && !sign) || (mode == FE_UPWARD && sign));
    return sign | bits;
}
static uint64_t f16(double x, int mode) { return narrow(x, 11, -14, 15, 16, mode); }
static uint64_t bf16(double x, int mode) { return narrow(x, 8, -126, 127, 16, mode); }
static double from16(uint64_t bits, int p, int e_min)
{
    int e = (int)(bits >> (p - 1) & ((1u << (16 - p)) - 1)), top = (1 << (16 - p)) - 1;
    double m = (double)(bits & ((1u << (p - 1)) - 1)), sign = bits >> 15 & 1 ? -1 : 1;
    if (e == top)
        return m ? NAN : sign * INFINITY;
    return sign * scalbn(e ? m + (1 << (p - 1)) : m, (e ? e - 1 : 0) + e_min - p + 1);
}
#define H(i) from16(v[i] & 0xffff, 11, -14)
#define B(i) from16(v[i] & 0xffff, 8, -126)
ALL(cvt_f32_f64, float, (SET64, (float)a64))
REF(h_rn, f16(F32(0), FE_TONEAREST))
REF(h_rz, f16(F32(0), FE_TOWARDZERO)) REF(h_rm, f16(F32(0), FE_DOWNWARD)) REF(h_rp, f16(F32(0), FE_UPWARD))
    REF(hd_rn, f16(F64(0), FE_TONEAREST)) REF(hd_rp, f16(F64(0), FE_UPWARD)) REF(b_rn, bf16(F32(0), FE_TONEAREST))
        REF(b_rz, bf16(F32(0), FE_TOWARDZERO)) REF(f_h, isnan(H(0)) ? 0x7fffffff : run_bits32((float)H(0)))
            REF(f_b, isnan(B(0)) ? 0x7fffffff : run_bits32((float)B(0))) REF(d_h, run_bits64(H(0))) ALL(u64_f32, float, U64(0))
                ALL(s64_f32, float, S64(0)) ALL(u32_f32, float, U32(0)) ALL(s64_f64, double, S64(0)) ALL(u64_f64, double, U64(0))
                    REF(u16_h, f16(U16(0), FE_TONEAREST)) static uint64_t s64_h(const uint64_t *v)
{
    double d = (double)S64(0); /* beyond f16's largest the double's own rounding does not matter, below it has none */
    return f16(d, FE_TONEAREST);
}
static int64_t to_int(double x, int mode, int64_t low, double high)
{
    fesetround(mode);
    volatile double r = nearbyint(x);
    fesetround(FE_TONEAREST);
    return r <= (double)low ? low : r >= high ? (int64_t)(high - 1) : (int64_t)r;
}
REF(rzi_s32, isnan(F32(0)) ? 0 : to_int(F32(0), FE_TOWARDZERO, INT32_MIN, 0x1p31))
REF(rni_s32, isnan(F32(0)) ? 0 : to_int(F32(0), FE_TONEAREST, INT32_MIN, 0x1p31))
REF(rmi_s16, isnan(F32(0)) ? 0 : to_int(F32(0), FE_DOWNWARD, INT16_MIN, 0x1p15))
REF(rpi_u32, isnan(F32(0)) ? 0 : to_int(F32(0), FE_UPWARD, 0, 0x1p32))
REF(rzi_s32d, isnan(F64(0)) ? 0x80000000 : to_int(F64(0), FE_TOWARDZERO, INT32_MIN, 0x1p31))
static uint64_t rzi_s64(const uint64_t *v)
{
    double x = F64(0);
    return isnan(x) || x < -0x1p63 ? 0x8000000000000000 : x >= 0x1p63 ? INT64_MAX : (uint64_t)(int64_t)x;
}
static uint64_t rni_u64(const uint64_t *v)
{
    float x = nearbyintf(F32(0));
    return isnan(x) ? 0x8000000000000000 : x <= 0 ? 0 : x >= 0x1p64f ? UINT64_MAX : (uint64_t)x;
}
REF(rni_f32, run_bits32(nearbyintf(F32(0)))) REF(rpi_f64, run_bits64(ceil(F64(0)))) REF(sat_f32, run_bits32(sat(F32(0))))
REF(sat_u8, S32(0) < 0 ? 0 : S32(0) > 255 ? 255 : U32(0)) REF(s8_s32, (int32_t)(int8_t)v[0])
REF(sat_s32_u64, U64(0) > INT32_MAX ? INT32_MAX : U64(0))
REF(pair_f16, f16(F32(0), FE_TONEAREST) << 16 | f16(F32(1), FE_TONEAREST))

Test(lower_float, conversions)
{
    static const struct run_row rows[] = {
        ROWS("cvt", "f32.f64", "%a", "f32 f64", cvt_f32_f64), ROWS("cvt", "f16.f32", "%a", "f16 f32", h),
        { "cvt.rn.f16.f64 %d, %a;", "f16 f64", hd_rn, 0 }, { "cvt.rp.f16.f64 %d, %a;", "f16 f64", hd_rp, 0 },
        { "cvt.rn.bf16.f32 %d, %a;", "bf16 f32", b_rn, RUN_EXACT_NAN },
        { "cvt.rz.bf16.f32 %d, %a;", "bf16 f32", b_rz, RUN_EXACT_NAN },
        { "cvt.f32.f16 %d, %a;", "f32 f16", f_h, 0 }, { "cvt.f32.bf16 %d, %a;", "f32 bf16", f_b, 0 },
        { "cvt.f64.f16 %d, %a;", "f64 f16", d_h, 0 }, ROWS("cvt", "f32.u64", "%a", "f32 u64", u64_f32),
        ROWS("cvt", "f32.s64", "%a", "f32 s64", s64_f32), ROWS("cvt", "f32.u32", "%a", "f32 u32", u32_f32),
        ROWS("cvt", "f64.s64", "%a", "f64 s64", s64_f64), ROWS("cvt", "f64.u64", "%a", "f64 u64", u64_f64),
        { "cvt.rn.f16.u16 %d, %a;", "f16 u16", u16_h, 0 }, { "cvt.rn.f16.s64 %d, %a;", "f16 s64", s64_h, 0 },
        { "cvt.rzi.s32.f32 %d, %a;", "s32 f32", rzi_s32, 0 }, { "cvt.rni.s32.f32 %d, %a;", "s32 f32", rni_s32, 0 },
        { "cvt.rmi.s16.f32 %d, %a;", "s16 f32", rmi_s16, 0 }, { "cvt.rpi.u32.f32 %d, %a;", "u32 f32", rpi_u32, 0 },
        { "cvt.rzi.s32.f64 %d, %a;", "s32 f64", rzi_s32d, 0 }, { "cvt.rzi.s64.f64 %d, %a;", "s64 f64", rzi_s64, 0 },
        { "cvt.rni.u64.f32 %d, %a;", "u64 f32", rni_u64, 0 }, { "cvt.rni.f32.f32 %d, %a;", "f32 f32", rni_f32, 0 },
        { "cvt.rpi.f64.f64 %d, %a;", "f64 f64", rpi_f64, 0 }, { "cvt.sat.f32.f32 %d, %a;", "f32 f32", sat_f32, 0 },
        { "cvt.sat.u8.s32 %d, %a;", "u32 s32", sat_u8, 0 }, { "cvt.s32.s8 %d, %a;", "s32 s32", s8_s32, 0 },
        { "cvt.sat.s32.u64 %d, %a;", "s32 u64", sat_s32_u64, 0 },
        { "cvt.rn.f16x2.f32 %d, %a, %b;", "f16x2 f32 f32", pair_f16, RUN_EXACT_NAN },
    };
    RUN(rows);
}

/* ---- Half precision: one rounding, which double is wide enough to show */
REF(add16, f16(H(0) + H(1), FE_TONEAREST)) REF(mul16, f16(H(0) * H(1), FE_TONEAREST)) REF(addb, bf16(B(0) + B(1), FE_TONEAREST))
REF(mulb, bf16(B(0) * B(1), FE_TONEAREST))
static uint64_t fma16(const uint64_t *v)
{
    return f16(fma(H(0), H(1), H(2)), FE_TONEAREST);
}
/* Exact in 64-bit long doubles unless the sum spans more; then the long double's sticky bit comes from rounding to odd. */
static uint64_t fmab(const uint64_t *v)
{
    long double p = (long double)B(0) * B(1), c = B(2), s = p + c, low = fabsl(p) > fabsl(c) ? c - (s - p) : p - (s - c);
    double d = (double)s;
    if (isfinite(d) && isfinite(low) && low != 0) {
        double odd = nextafter(d, (s - d) + low > 0 ? INFINITY : -INFINITY);
        if ((s - d) + low != 0 && !(run_bits64(d) & 1))
            d = odd;
    } else if (isfinite(d) && s != d && !(run_bits64(d) & 1)) {
        d = nextafter(d, s > d ? INFINITY : -INFINITY);
    }
    return bf16(d, FE_TONEAREST);
}
static uint64_t min16(const uint64_t *v)
{
    uint64_t f = minmax32((float)H(0), (float)H(1), false, false);
    return f == 0x7fffffff ? 0x7fff : f16(run_f32(f), FE_TONEAREST);
}

Test(lower_float, narrow_arithmetic)
{
    static const struct run_row rows[] = {
        { "add.f16 %d, %a, %b;", "f16 f16 f16", add16, 0 }, { "mul.rn.f16 %d, %a, %b;", "f16 f16 f16", mul16, 0 },
        { "fma.rn.f16 %d, %a, %b, %c;", "f16 f16 f16 f16", fma16, 0 }, { "add.rn.bf16 %d, %a, %b;", "bf16 bf16 bf16", addb, 0 },
        { "mul.bf16 %d, %a, %b;", "bf16 bf16 bf16", mulb, 0 }, { "fma.rn.bf16 %d, %a, %b, %c;", "bf16 bf16 bf16 bf16", fmab, 0 },
        { "min.f16 %d, %a, %b;", "f16 f16 f16", min16, RUN_EXACT_NAN },
    };
    RUN(rows);
}

/* ---- Narrower than 16 bits: `narrow` has no format without infinity, so what is too large is cut off before */
static uint64_t limited(double x, int p, int e_min, double max, unsigned width, uint64_t nan)
{
    if (isnan(x))
        return nan;
    if (fabs(x) > max)
        x = copysign(max, x);
    return narrow(x, p, e_min, 40, width, FE_TONEAREST);
}
static uint64_t e4m3(double x) { return limited(x, 4, -6, 448, 8, 0x7f); }
static uint64_t e5m2(double x) { return limited(x, 3, -14, 57344, 8, 0x7f); }
static uint64_t e2m3(double x) { return limited(x, 4, 0, 7.5, 6, 0x1f); }
static uint64_t e3m2(double x) { return limited(x, 3, -2, 28, 6, 0x1f); }
static uint64_t e2m1(double x) { return limited(x, 2, 0, 6, 4, 7); }
static double positive(double x) { return x < 0 || (x == 0 && signbit(x)) ? 0 : x; }
static uint64_t from_e4m3(uint64_t code)
{
    double m = (double)(code & 7), e = (double)(code >> 3 & 15);
    if ((code & 0x7f) == 0x7f)
        return 0x7fff;
    return f16((code & 0x80 ? -1 : 1) * (e ? ldexp(1 + m / 8, (int)e - 7) : ldexp(m / 8, -6)), FE_TONEAREST);
}
static uint64_t power(double x, bool up)
{
    int e;
    if (isnan(x) || isinf(x))
        return 0xff;
    double m = frexp(fabs(x), &e);
    e += 126 + (up && m != 0.5);
    return x == 0 || e < 0 ? 0 : (uint64_t)e;
}
REF(pair_e4m3, e4m3(F32(0)) << 8 | e4m3(F32(1))) REF(pair_e5m2, e5m2(positive(F32(0))) << 8 | e5m2(positive(F32(1))))
REF(pair_e2m3, e2m3(F32(0)) << 8 | e2m3(F32(1))) REF(pair_e3m2, e3m2(F32(0)) << 8 | e3m2(F32(1)))
REF(pair_e2m1, e2m1(F32(0)) << 4 | e2m1(F32(1))) REF(h_e4m3, from_e4m3(v[0] >> 8 & 255) << 16 | from_e4m3(v[0] & 255))
REF(pair_power, power(F32(0), true) << 8 | power(F32(1), true))
/* Stochastic: the carry out of what is cut off and the random bits. */
REF(rs_bf16, isnan(F32(0)) ? 0x7fff : (U32(0) & 0x80000000) >> 16 | ((U32(0) & 0x7fffffff) == 0x7f800000 ? 0x7f80 :
                                                                  ((U32(0) & 0x7fffffff) + (v[1] & 0xffff)) >> 16))

Test(lower_float, narrow_conversions)
{
    static const struct run_row rows[] = {
        { "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", "b16 f32 f32", pair_e4m3, 0 },
        { "cvt.rn.satfinite.relu.e5m2x2.f32 %d, %a, %b;", "b16 f32 f32", pair_e5m2, 0 },
        { "cvt.rn.satfinite.e2m3x2.f32 %d, %a, %b;", "b16 f32 f32", pair_e2m3, 0 },
        { "cvt.rn.satfinite.e3m2x2.f32 %d, %a, %b;", "b16 f32 f32", pair_e3m2, 0 },
        { "{ .reg .b8 %x; cvt.rn.satfinite.e2m1x2.f32 %x, %a, %b; cvt.u16.u8 %d, %x; }", "b16 f32 f32", pair_e2m1, 0 },
        { "cvt.rn.f16x2.e4m3x2 %d, %a;", "f16x2 b16", h_e4m3, RUN_EXACT_NAN },
        { "cvt.rp.ue8m0x2.f32 %d, %a, %b;", "b16 f32 f32", pair_power, 0 },
        { "cvt.rs.bf16x2.f32 %t0, %a, %a, %b; cvt.u16.u32 %d, %t0;", "bf16 f32 b32", rs_bf16, RUN_EXACT_NAN },
    };
    RUN(rows);
}

/* ---- Mixed precision, three operands, the NaN of elements out of bounds */
static uint64_t add_mixed(const uint64_t *v)
{
    a32 = (float)H(0), b32 = F32(1);
    fesetround(FE_DOWNWARD);
    volatile float r = a32 + b32;
    fesetround(FE_TONEAREST);
    return run_bits32(r);
}
REF(fma_mixed, run_bits32(sat(fmaf((float)B(0), (float)B(1), F32(2)))))
REF(min3, minmax32(run_f32(minmax32(fabsf(F32(0)), fabsf(F32(1)), false, false)), fabsf(F32(2)), false, false))
REF(fma_oob, U16(0) == 0x7ff7 || U16(1) == 0x7ff7 ? 0 : fma16(v))

Test(lower_float, newer_forms)
{
    static const struct run_row rows[] = {
        { "add.rm.f32.f16 %d, %a, %b;", "f32 f16 f32", add_mixed, 0 },
        { "fma.rn.sat.f32.bf16 %d, %a, %b, %c;", "f32 bf16 bf16 f32", fma_mixed, 0 },
        { "min.abs.f32 %d, %a, %b, %c;", "f32 f32 f32 f32", min3, RUN_EXACT_NAN },
        { "fma.rn.oob.f16 %d, %a, %b, %c;", "f16 f16 f16 f16", fma_oob, 0 },
    };
    RUN(rows);
}
