/* host_soft.c against the C library's fma and rounding functions, and half precision against its definition. */
/* SPDX-License-Identifier: Apache-2.0 */
#define fma soft_fma
#define fmaf soft_fmaf
#define roundeven soft_roundeven
#define roundevenf soft_roundevenf
#define rint soft_rint
#define rintf soft_rintf
#define nearbyint soft_nearbyint
#define nearbyintf soft_nearbyintf
#define floor soft_floor
#define floorf soft_floorf
#define ceil soft_ceil
#define ceilf soft_ceilf
#define trunc soft_trunc
#define truncf soft_truncf
#define __truncdfhf2 soft_truncdfhf2
#define __truncsfhf2 soft_truncsfhf2
#define __extendhfsf2 soft_extendhfsf2
#include "finish/host/soft/soft.c"
#undef fma
#undef fmaf
#undef roundeven
#undef roundevenf
#undef rint
#undef rintf
#undef nearbyint
#undef nearbyintf
#undef floor
#undef floorf
#undef ceil
#undef ceilf
#undef trunc
#undef truncf

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint64_t state = 20261122;

static uint64_t random64(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 2685821657736338717u;
}

/* Few bits set, or all over, with exponents that meet. */
static double some_double(int round)
{
    static const double edges[] = { 0.0, -0.0, 1.0, -1.0, 0x1p-1074, -0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp-1023,
                                    0x1.fffffffffffffp1023,
                                    -0x1.fffffffffffffp1023, INFINITY, -INFINITY, 0x1p52, 0x1p-537, 0x1.8p-538,
                                    0x1.0000000000001p0 };
    uint64_t u = random64(), e = 1023 + random64() % 128 - 64;
    switch (random64() % 8) {
    case 0: return edges[u % (sizeof edges / sizeof *edges)];
    case 1: return of_bits(u);
    case 2: return of_bits((u & UINT64_C(0x800fffffffffffff)) | (random64() % 60) << 52);
    case 3: return of_bits((u & UINT64_C(0x8000000000000000)) | e << 52 | (u & 0xffffe00000001));
    case 4: return NAN;
    default: return of_bits((u & UINT64_C(0x800fffffffffffff)) | (round & 1 ? e : 1023 - 537 + random64() % 4) << 52);
    }
}

static float some_float(int round)
{
    uint32_t u = (uint32_t)random64();
    switch (random64() % 6) {
    case 0: return of_float_bits(u);
    case 1: return of_float_bits((u & 0x807fffff) | (uint32_t)(random64() % 30) << 23);
    case 2: return of_float_bits((u & 0x80000000) | (u & 0xf) << 23 | (u & 0x70) << 16);
    case 3: return (float)some_double(round);
    default:
        return of_float_bits((u & 0x807fffff) | (uint32_t)(round & 1 ? 127 + random64() % 60 - 30 : 63 + random64() % 4) << 23);
    }
}

#define SAME(got, want) (memcmp(&(got), &(want), sizeof(got)) == 0 || ((got) != (got) && (want) != (want)))

Test(soft, fused_double)
{
    for (int i = 0; i < 4000000; i++) {
        double x = some_double(i), y = some_double(i), z = i % 3 ? some_double(i) : -(x * y), got = soft_fma(x, y, z),
               want = fma(x, y, z);
        cr_assert(SAME(got, want), "fma(%a, %a, %a): %a, expected %a", x, y, z, got, want);
    }
}

Test(soft, fused_float)
{
    for (int i = 0; i < 4000000; i++) {
        float x = some_float(i), y = some_float(i), z = i % 3 ? some_float(i) : -(x * y), got = soft_fmaf(x, y, z),
              want = fmaf(x, y, z);
        cr_assert(SAME(got, want), "fmaf(%a, %a, %a): %a, expected %a", x, y, z, got, want);
    }
}

static double half_value(uint32_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

static double rounded_to_half(double x)
{
    int e;
    if (!isfinite(x) || x == 0)
        return x;
    frexp(x, &e);
    int unit = (e - 1 < -14 ? -14 : e - 1) - 10;
    double r = ldexp(nearbyint(ldexp(x, -unit)), unit);
    return fabs(r) > 65504 ? copysign(INFINITY, x) : r;
}

static uint32_t bits_of_half(_Float16 h)
{
    uint16_t u;
    memcpy(&u, &h, 2);
    return u;
}

Test(soft, half_to_float)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        double want = half_value(h), got = soft_extendhfsf2(half_of_bits(h));
        cr_assert(SAME(got, want), "%04x: %a, expected %a", h, got, want);
        if (want != want)
            cr_assert_eq(bits_of_float(soft_extendhfsf2(half_of_bits(h))), (h & 0x8000) << 16 | 0x7fc00000 | (h & 0x3ff) << 13,
                         "%04x", h);
    }
}

Test(soft, to_half)
{
    for (uint32_t h = 0; h < 0x7bff; h++)   /* each half, and each middle between two, with its neighbours */
        for (int side = -1; side <= 1; side++) {
            double middle = (half_value(h) + half_value(h + 1)) / 2, x = of_bits(bits_of(middle) + (uint64_t)(int64_t)side);
            double got = half_value(bits_of_half(soft_truncdfhf2(x))), want = rounded_to_half(x);
            cr_assert(SAME(got, want), "%a: %a, expected %a", x, got, want);
        }
    for (int i = 0; i < 2000000; i++) {
        double x = i % 2 ? some_double(1) : ldexp(some_double(1), -20), got = half_value(bits_of_half(soft_truncdfhf2(x))),
               want = rounded_to_half(x);
        cr_assert(SAME(got, want), "%a: %a, expected %a", x, got, want);
        float f = i % 2 ? some_float(1) : some_float(i) * 0x1p-20f;
        got = half_value(bits_of_half(soft_truncsfhf2(f)));
        want = rounded_to_half(f);
        cr_assert(SAME(got, want), "%a: %a, expected %a", f, got, want);
    }
    cr_assert_eq(bits_of_half(soft_truncsfhf2(of_float_bits(0xff812345))), 0xfe09);
}

Test(soft, whole_numbers)
{
    for (int i = 0; i < 1000000; i++) {
        double x = i % 4 ? some_double(1) : (double)(int64_t)(random64() >> (random64() % 60)) / 2 * (i % 8 ? 1 : -1);
        float f = i % 4 ? some_float(1) : (float)(int32_t)(random64() >> (32 + random64() % 30)) / 2 * (i % 8 ? 1 : -1);
        double got[] = { soft_roundeven(x), soft_rint(x), soft_nearbyint(x), soft_floor(x), soft_ceil(x), soft_trunc(x) };
        double want[] = { nearbyint(x), nearbyint(x), nearbyint(x), floor(x), ceil(x), trunc(x) };
        float got_f[] = { soft_roundevenf(f), soft_rintf(f), soft_nearbyintf(f), soft_floorf(f), soft_ceilf(f), soft_truncf(f) };
        float want_f[] = { nearbyintf(f), nearbyintf(f), nearbyintf(f), floorf(f), ceilf(f), truncf(f) };
        for (int k = 0; k < 6; k++) {
            cr_assert(SAME(got[k], want[k]), "%d of %a: %a, expected %a", k, x, got[k], want[k]);
            cr_assert(SAME(got_f[k], want_f[k]), "%d of %a: %a, expected %a", k, f, got_f[k], want_f[k]);
        }
    }
}
