/* Integer arithmetic, logic, shifts, bit fields, comparisons: every lowering against plain C. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define RUN(rows) cr_assert(run_rows(rows, sizeof(rows) / sizeof *(rows)))
typedef unsigned __int128 u128;
typedef __int128 s128;

/* ---- add, sub, mul, mad */
REF(add32, U32(0) + U32(1))
REF(add64, U64(0) + U64(1)) REF(sub64, U64(0) - U64(1)) REF(sub16, U16(0) - U16(1)) REF(mul16, (uint32_t)U16(0) * U16(1))
    REF(mul32, U32(0) * U32(1)) REF(mul64, U64(0) * U64(1)) REF(hi_u16, (uint32_t)U16(0) * U16(1) >> 16)
        REF(hi_s16, (S16(0) * S16(1)) >> 16) REF(hi_u32, U64(0) * U64(1) >> 32) REF(hi_s32, ((int64_t)S32(0) * S32(1)) >> 32)
            REF(hi_u64, (u128)U64(0) * U64(1) >> 64) REF(hi_s64, ((s128)S64(0) * S64(1)) >> 64)
                REF(wide_u16, (uint32_t)U16(0) * U16(1)) REF(wide_s16, S16(0) * S16(1)) REF(wide_u32, (uint64_t)U32(0) * U32(1))
                    REF(wide_s32, (int64_t)S32(0) * S32(1)) REF(mad32, U32(0) * U32(1) + U32(2))
                        REF(mad_wide, (uint64_t)((int64_t)S32(0) * S32(1)) + U64(2))
                            REF(mad_hi, (uint32_t)hi_u32(v) + U32(2)) static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}
REF(add_sat, clamp((int64_t)S32(0) + S32(1), INT32_MIN, INT32_MAX))
REF(sub_sat, clamp((int64_t)S32(0) - S32(1), INT32_MIN, INT32_MAX))
    REF(mad_hi_sat, clamp((int64_t)(int32_t)hi_s32(v) + S32(2), INT32_MIN, INT32_MAX))
        REF(mul24_lo, (uint32_t)((uint64_t)(U32(0) & 0xffffff) * (U32(1) & 0xffffff)))
            REF(mul24_hi, (uint64_t)(U32(0) & 0xffffff) * (U32(1) & 0xffffff) >> 16) static int64_t s24(uint64_t x)
{
    return (int32_t)((uint32_t)x << 8) >> 8;
}
REF(mul24_slo, s24(v[0]) * s24(v[1])) REF(mul24_shi, (s24(v[0]) * s24(v[1])) >> 16) REF(mad24, s24(v[0]) * s24(v[1]) + S32(2))
REF(carry64, U64(0) + U64(1))
REF(borrow64, U64(0) - U64(1))
static uint64_t carry_of(const uint64_t *v)
{
    uint32_t sum;
    return (uint64_t)(S32(2)) + __builtin_add_overflow(U32(0), U32(1), &sum);
}
static uint64_t mul128(const uint64_t *v)
{
    return (uint64_t)(((u128)U32(0) * U32(1) + (((u128)U32(2) << 32) | U32(3))) >> 32);
}

Test(lower_int, arithmetic)
{
    static const struct run_row rows[] = {
        { "add.s32 %d, %a, %b;", "s32 s32 s32", add32 }, { "add.u64 %d, %a, %b;", "u64 u64 u64", add64 },
        { "sub.s64 %d, %a, %b;", "s64 s64 s64", sub64 }, { "sub.u16 %d, %a, %b;", "u16 u16 u16", sub16 },
        { "mul.lo.u16 %d, %a, %b;", "u16 u16 u16", mul16 }, { "mul.lo.s32 %d, %a, %b;", "s32 s32 s32", mul32 },
        { "mul.lo.s64 %d, %a, %b;", "s64 s64 s64", mul64 }, { "mul.hi.u16 %d, %a, %b;", "u16 u16 u16", hi_u16 },
        { "mul.hi.s16 %d, %a, %b;", "s16 s16 s16", hi_s16 }, { "mul.hi.u32 %d, %a, %b;", "u32 u32 u32", hi_u32 },
        { "mul.hi.s32 %d, %a, %b;", "s32 s32 s32", hi_s32 }, { "mul.hi.u64 %d, %a, %b;", "u64 u64 u64", hi_u64 },
        { "mul.hi.s64 %d, %a, %b;", "s64 s64 s64", hi_s64 }, { "mul.wide.u16 %d, %a, %b;", "u32 u16 u16", wide_u16 },
        { "mul.wide.s16 %d, %a, %b;", "s32 s16 s16", wide_s16 }, { "mul.wide.u32 %d, %a, %b;", "u64 u32 u32", wide_u32 },
        { "mul.wide.s32 %d, %a, %b;", "s64 s32 s32", wide_s32 }, { "mad.lo.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", mad32 },
        { "mad.hi.u32 %d, %a, %b, %c;", "u32 u32 u32 u32", mad_hi },
        { "mad.wide.s32 %d, %a, %b, %c;", "s64 s32 s32 s64", mad_wide }, { "add.sat.s32 %d, %a, %b;", "s32 s32 s32", add_sat },
        { "sub.sat.s32 %d, %a, %b;", "s32 s32 s32", sub_sat },
        { "mad.hi.sat.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", mad_hi_sat },
        { "mul24.lo.u32 %d, %a, %b;", "u32 u32 u32", mul24_lo }, { "mul24.hi.u32 %d, %a, %b;", "u32 u32 u32", mul24_hi },
        { "mul24.lo.s32 %d, %a, %b;", "s32 s32 s32", mul24_slo }, { "mul24.hi.s32 %d, %a, %b;", "s32 s32 s32", mul24_shi },
        { "mad24.lo.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", mad24 },
    };
    RUN(rows);
}

Test(lower_int, carry_chains)
{
    static const struct run_row rows[] = {
        { "mov.b64 {%t0,%t1}, %a; mov.b64 {%t2,%t3}, %b; add.cc.u32 %t0, %t0, %t2; addc.u32 %t1, %t1, %t3; mov.b64 %d, "
          "{%t0,%t1};",
          "u64 u64 u64", carry64 },
        { "mov.b64 {%t0,%t1}, %a; mov.b64 {%t2,%t3}, %b; sub.cc.u32 %t0, %t0, %t2; subc.cc.u32 %t1, %t1, %t3; mov.b64 %d, "
          "{%t0,%t1};",
          "u64 u64 u64", borrow64 },
        { "add.cc.u32 %t0, %a, %b; addc.u32 %d, %c, 0;", "u32 u32 u32 u32", carry_of },
        /* (e:c) += a * b, high word and the carry into nothing */
        { "mad.lo.cc.u32 %t0, %a, %b, %e; madc.hi.u32 %t1, %a, %b, %c; mov.b32 %d, %t1;", "u32 u32 u32 u32 u32", mul128 },
    };
    RUN(rows);
}

/* Vector registers: as many plain ones as they have components */
REF(swapped_halves, U64(0) << 32 | U64(0) >> 32) REF(swapped, (uint64_t)U32(0) << 32 | U32(1)) REF(minus, U32(0) - U32(1))
Test(lower_int, vector_registers)
{
    static const struct run_row rows[] = {
        { "{ .reg .v4 .b32 %v; mov.b32 %v.x, 9; mov.b32 %v.w, %a; mov.b32 %v.g, %b; sub.u32 %d, %v.a, %v.y; }", "u32 u32 u32",
          minus },
        { "{ .reg .v2 .b32 %v<2>; mov.b64 {%v1.y, %v1.x}, 77; mov.b64 {%t0, %t1}, %a; mov.b32 %v1.x, %t1; mov.b32 %v1.y, %t0;"
          " mov.b32 %v0.y, 5; mov.b64 %d, {%v1.x, %v1.y}; }", "u64 u64", swapped_halves },
        { "{ .reg .v2 .b32 %v; .local .v2 .b32 m; mov.b32 %v.x, %b; mov.b32 %v.y, %a; st.local.v2.b32 [m], %v; ld.local.b64 %d, "
          "[m]; }",
          "u64 u32 u32", swapped },
    };
    RUN(rows);
}

/* ---- div, rem: a zero divisor and MIN / -1 are unspecified, and must not trap; the references say what cards make of them */
static uint64_t div_s32(const uint64_t *v)
{
    if (S32(1) == 0)
        return UINT32_MAX;
    return S32(0) == INT32_MIN && S32(1) == -1 ? U32(0) : (uint32_t)(S32(0) / S32(1));
}
static uint64_t rem_s32(const uint64_t *v)
{
    if (S32(1) == 0)
        return UINT32_MAX;
    return S32(1) == -1 ? 0 : (uint32_t)(S32(0) % S32(1));
}
static uint64_t div_s64(const uint64_t *v)
{
    if (S64(1) == 0)
        return UINT64_MAX;
    return S64(0) == INT64_MIN && S64(1) == -1 ? U64(0) : (uint64_t)(S64(0) / S64(1));
}
REF(div_u64, U64(1) ? U64(0) / U64(1) : UINT64_MAX) REF(rem_u32, U32(1) ? U32(0) % U32(1) : UINT32_MAX)
REF(div_s16, S16(1) == 0 ? -1 : S16(0) == INT16_MIN && S16(1) == -1 ? S16(0) : S16(0) / S16(1))
REF(abs32, S32(0) < 0 ? -U32(0) : U32(0)) REF(neg64, -U64(0))
REF(min_s32, S32(0) < S32(1) ? S32(0) : S32(1)) REF(max_u64, U64(0) > U64(1) ? U64(0) : U64(1))
REF(min_u16, U16(0) < U16(1) ? U16(0) : U16(1))
REF(max_relu, clamp(S32(0) > S32(1) ? S32(0) : S32(1), 0, INT32_MAX))
REF(sad_u, U32(2) + (U32(0) < U32(1) ? U32(1) - U32(0) : U32(0) - U32(1)))
REF(sad_s, U32(2) + (uint32_t)(S32(0) < S32(1) ? (int64_t)S32(1) - S32(0) : (int64_t)S32(0) - S32(1)))

Test(lower_int, division_and_order)
{
    static const struct run_row rows[] = {
        { "div.s32 %d, %a, %b;", "s32 s32 s32", div_s32 }, { "rem.s32 %d, %a, %b;", "s32 s32 s32", rem_s32 },
        { "div.s64 %d, %a, %b;", "s64 s64 s64", div_s64 }, { "div.u64 %d, %a, %b;", "u64 u64 u64", div_u64 },
        { "rem.u32 %d, %a, %b;", "u32 u32 u32", rem_u32 }, { "div.s16 %d, %a, %b;", "s16 s16 s16", div_s16 },
        { "abs.s32 %d, %a;", "s32 s32", abs32 }, { "neg.s64 %d, %a;", "s64 s64", neg64 },
        { "min.s32 %d, %a, %b;", "s32 s32 s32", min_s32 }, { "max.u64 %d, %a, %b;", "u64 u64 u64", max_u64 },
        { "min.u16 %d, %a, %b;", "u16 u16 u16", min_u16 }, { "max.relu.s32 %d, %a, %b;", "s32 s32 s32", max_relu },
        { "sad.u32 %d, %a, %b, %c;", "u32 u32 u32 u32", sad_u }, { "sad.s32 %d, %a, %b, %c;", "s32 s32 s32 s32", sad_s },
    };
    RUN(rows);
}

/* ---- Bits: written bit by bit, as the manual has them */
REF(popc, __builtin_popcountll(U64(0)))
REF(clz32, U32(0) ? __builtin_clz(U32(0)) : 32) REF(clz64, U64(0) ? __builtin_clzll(U64(0)) : 64) static uint64_t
    bfind_s32(const uint64_t *v)
{
    uint32_t x = S32(0) < 0 ? ~U32(0) : U32(0);
    for (int i = 31; i >= 0; i--)
        if (x >> i & 1)
            return (uint64_t)i;
    return UINT32_MAX;
}
static uint64_t bfind_shift(const uint64_t *v)
{
    return U64(0) ? (uint64_t)__builtin_clzll(U64(0)) : UINT32_MAX;
}
static uint64_t brev(const uint64_t *v)
{
    uint32_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (U32(0) >> i & 1) << (31 - i);
    return r;
}
static uint64_t bfe(const uint64_t *v, unsigned width, bool is_signed)
{
    unsigned pos = v[1] & 255, len = v[2] & 255, msb = width - 1;
    bool sign = is_signed && len && (v[0] >> (pos + len - 1 < msb ? pos + len - 1 : msb) & 1);
    uint64_t d = 0;
    for (unsigned i = 0; i < width; i++)
        d |= (uint64_t)(i < len && pos + i <= msb ? v[0] >> (pos + i) & 1 : sign) << i;
    return d;
}
REF(bfe_u32, bfe(v, 32, false)) REF(bfe_s32, bfe(v, 32, true)) REF(bfe_u64, bfe(v, 64, false)) REF(bfe_s64, bfe(v, 64, true))
static uint64_t bfi(const uint64_t *v, unsigned width)
{
    unsigned pos = v[2] & 255, len = v[3] & 255;
    uint64_t f = v[1];
    for (unsigned i = 0; i < len && pos + i < width; i++)
        f = (f & ~(1ull << (pos + i))) | (v[0] >> i & 1) << (pos + i);
    return f;
}
REF(bfi32, bfi(v, 32)) REF(bfi64, bfi(v, 64))
static uint64_t fns(const uint64_t *v)
{
    int64_t pos = U32(1), step = S32(2) < 0 ? -1 : 1;
    uint32_t count = S32(2) < 0 ? -U32(2) : U32(2);
    if (S32(2) == 0)
        return pos < 32 && (U32(0) >> pos & 1) ? (uint64_t)pos : UINT32_MAX;
    for (; pos >= 0 && pos < 32; pos += step)
        if ((U32(0) >> pos & 1) && --count == 0)
            return (uint64_t)pos;
    return UINT32_MAX;
}
static uint64_t bmsk(const uint64_t *v)
{
    uint64_t r = 0;
    for (uint64_t i = 0; i < 32; i++)
        r |= (uint64_t)(i >= U32(0) && i < (uint64_t)U32(0) + U32(1)) << i;
    return r;
}
static uint64_t szext(const uint64_t *v)
{
    uint32_t n = U32(1) > 32 ? 32 : U32(1);
    return n ? (uint64_t)((int64_t)(v[0] << (64 - n)) >> (64 - n)) : 0;
}

Test(lower_int, bits)
{
    static const struct run_row rows[] = {
        { "popc.b64 %d, %a;", "u32 b64", popc }, { "clz.b32 %d, %a;", "u32 b32", clz32 }, { "clz.b64 %d, %a;", "u32 b64", clz64 },
        { "bfind.s32 %d, %a;", "u32 s32", bfind_s32 }, { "bfind.shiftamt.u64 %d, %a;", "u32 u64", bfind_shift },
        { "brev.b32 %d, %a;", "b32 b32", brev }, { "bfe.u32 %d, %a, %b, %c;", "u32 u32 u32 u32", bfe_u32 },
        { "bfe.s32 %d, %a, %b, %c;", "s32 s32 u32 u32", bfe_s32 }, { "bfe.u64 %d, %a, %b, %c;", "u64 u64 u32 u32", bfe_u64 },
        { "bfe.s64 %d, %a, %b, %c;", "s64 s64 u32 u32", bfe_s64 },
        { "bfi.b32 %d, %a, %b, %c, %e;", "b32 b32 b32 u32 u32", bfi32 },
        { "bfi.b64 %d, %a, %b, %c, %e;", "b64 b64 b64 u32 u32", bfi64 }, { "fns.b32 %d, %a, %b, %c;", "b32 b32 u32 s32", fns },
        { "bmsk.clamp.b32 %d, %a, %b;", "b32 u32 u32", bmsk }, { "szext.clamp.s32 %d, %a, %b;", "s32 s32 u32", szext },
    };
    RUN(rows);
}

/* ---- Shifts, logic, permutes */
REF(shl32, U32(1) < 32 ? U32(0) << U32(1) : 0) REF(shl64, U32(1) < 64 ? U64(0) << U32(1) : 0)
REF(shr_s32, S32(0) >> (U32(1) < 32 ? U32(1) : 31)) REF(shr_u64, U32(1) < 64 ? U64(0) >> U32(1) : 0)
REF(shr_s16, S16(0) >> (U32(1) < 16 ? U32(1) : 15)) REF(shl16, U32(1) < 16 ? U16(0) << U32(1) : 0)
REF(pair, (uint64_t)U32(1) << 32 | U32(0))
REF(shf_l_wrap, pair(v) << (U32(2) & 31) >> 32) REF(shf_r_wrap, pair(v) >> (U32(2) & 31))
REF(shf_l_clamp, U32(2) >= 32 ? U32(0) : pair(v) << U32(2) >> 32) REF(shf_r_clamp, U32(2) >= 32 ? U32(1) : pair(v) >> U32(2))
REF(lop_96, U32(0) ^ U32(1) ^ U32(2)) REF(lop_e8, (U32(0) & U32(1)) | (U32(0) & U32(2)) | (U32(1) & U32(2)))
REF(lop_ca, (U32(0) & U32(1)) | (~U32(0) & U32(2)))
REF(cnot, U32(0) == 0)
static uint64_t prmt(const uint64_t *v)
{
    uint64_t r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned sel = U32(2) >> 4 * i & 15;
        uint8_t byte = (uint8_t)(pair(v) >> 8 * (sel & 7));
        r |= (uint64_t)(sel & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
    }
    return r;
}
static uint64_t prmt_table(const uint64_t *v, const char *const digits[4])
{
    uint64_t r = 0;
    for (int i = 0; i < 4; i++)
        r |= (pair(v) >> 8 * (digits[U32(2) & 3][3 - i] - '0') & 255) << 8 * i;
    return r;
}
#define MODE(name, ...) REF(prmt_##name, prmt_table(v, (const char *const[4]){ __VA_ARGS__ }))
MODE(f4e, "3210", "4321", "5432", "6543") MODE(b4e, "5670", "6701", "7012", "0123") MODE(rc8, "0000", "1111", "2222", "3333")
MODE(ecl, "3210", "3211", "3222", "3333") MODE(ecr, "0000", "1110", "2210", "3210") MODE(rc16, "1010", "3232", "1010", "3232")

Test(lower_int, logic)
{
    static const struct run_row rows[] = {
        { "shl.b32 %d, %a, %b;", "b32 b32 u32", shl32 }, { "shl.b64 %d, %a, %b;", "b64 b64 u32", shl64 },
        { "shr.s32 %d, %a, %b;", "s32 s32 u32", shr_s32 }, { "shr.u64 %d, %a, %b;", "u64 u64 u32", shr_u64 },
        { "shr.s16 %d, %a, %b;", "s16 s16 u32", shr_s16 }, { "shl.b16 %d, %a, %b;", "b16 b16 u32", shl16 },
        { "shf.l.wrap.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_l_wrap },
        { "shf.r.wrap.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_r_wrap },
        { "shf.l.clamp.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_l_clamp },
        { "shf.r.clamp.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", shf_r_clamp },
        { "lop3.b32 %d, %a, %b, %c, 0x96;", "b32 b32 b32 b32", lop_96 },
        { "lop3.b32 %d, %a, %b, %c, 0xe8;", "b32 b32 b32 b32", lop_e8 },
        { "lop3.b32 %d, %a, %b, %c, 0xca;", "b32 b32 b32 b32", lop_ca }, { "cnot.b32 %d, %a;", "b32 b32", cnot },
        { "prmt.b32 %d, %a, %b, %c;", "b32 b32 b32 u32", prmt }, { "prmt.b32.f4e %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_f4e },
        { "prmt.b32.b4e %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_b4e },
        { "prmt.b32.rc8 %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_rc8 },
        { "prmt.b32.ecl %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_ecl },
        { "prmt.b32.ecr %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_ecr },
        { "prmt.b32.rc16 %d, %a, %b, %c;", "b32 b32 b32 u32", prmt_rc16 },
    };
    RUN(rows);
}

/* All 256 tables of lop3. */
static unsigned lop3_table;
static uint64_t lop3(const uint64_t *v)
{
    uint64_t r = 0;
    for (int i = 0; i < 32; i++)
        r |= (uint64_t)(lop3_table >> ((U32(0) >> i & 1) * 4 + (U32(1) >> i & 1) * 2 + (U32(2) >> i & 1)) & 1) << i;
    return r;
}

Test(lower_int, lop3_all)
{
    for (lop3_table = 0; lop3_table < 256; lop3_table += 7) { /* coprime to the table: all nibbles meet */
        char text[64];
        snprintf(text, sizeof text, "lop3.b32 %%d, %%a, %%b, %%c, 0x%x;", lop3_table);
        struct run_row row = { text, "b32 b32 b32 b32", lop3, 0 };
        cr_assert(run_rows(&row, 1));
    }
}

/* The predicate beside the bits, and in place of them */
REF(lop3_any_or, ((U32(0) & U32(1)) != 0) | (v[2] & 1)) REF(lop3_any_and, ((U32(0) & U32(1)) != 0) & !(v[2] & 1))
REF(lop3_bits, (U32(0) & U32(1)) ^ (((U32(0) & U32(1)) != 0) & (v[2] & 1)))

Test(lower_int, lop3_bool)
{
    static const struct run_row rows[] = {
        { "lop3.or.b32 _|%d, %a, %b, 0, 0xc0, %c;", "pred b32 b32 pred", lop3_any_or },
        { "lop3.and.b32 %t0|%d, %a, %b, 0, 0xc0, !%c;", "pred b32 b32 pred", lop3_any_and },
        { "lop3.and.b32 %t0|%q0, %a, %b, 0, 0xc0, %c; selp.b32 %t1, 1, 0, %q0; xor.b32 %d, %t0, %t1;", "b32 b32 b32 pred",
          lop3_bits },
    };
    RUN(rows);
}

/* ---- Dot products */
static uint64_t dp4a(const uint64_t *v)
{
    uint32_t r = U32(2);
    for (int i = 0; i < 4; i++)
        r += (uint32_t)((int8_t)(v[0] >> 8 * i) * (uint8_t)(v[1] >> 8 * i));
    return r;
}
static uint64_t dp2a(const uint64_t *v)
{
    uint32_t r = U32(2);
    for (int i = 0; i < 2; i++)
        r += (uint32_t)((int16_t)(v[0] >> 16 * i) * (int8_t)(v[1] >> 8 * (i + 2)));
    return r;
}
static uint64_t absdiff4(const uint64_t *v)
{
    uint32_t r = U32(2);
    for (int i = 0; i < 4; i++)
        r += (uint32_t)abs((uint8_t)(v[0] >> 8 * i) - (uint8_t)(v[1] >> 8 * i));
    return r;
}

Test(lower_int, dot_products)
{
    static const struct run_row rows[] = {
        { "dp4a.s32.u32 %d, %a, %b, %c;", "b32 b32 b32 b32", dp4a },
        { "dp2a.hi.s32.s32 %d, %a, %b, %c;", "b32 b32 b32 b32", dp2a },
        { "vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", "b32 b32 b32 b32", absdiff4 },
    };
    RUN(rows);
}

/* ---- Comparison */
REF(lt_s, S32(0) < S32(1)) REF(lo_u, U32(0) < U32(1)) REF(ge_u64, U64(0) >= U64(1)) REF(and_p, (S32(0) == S32(1)) && U32(2))
REF(xor_q, (!(S32(0) != S32(1))) != (U32(2) & 1)) REF(set_all, S32(0) > S32(1) ? UINT32_MAX : 0) REF(selp, v[2] ? U32(0) : U32(1))
REF(slct_s, S32(2) >= 0 ? U32(0) : U32(1)) REF(gt_s16, S16(0) > S16(1)) REF(guarded, v[2] ? U32(0) + U32(1) : U32(0))

Test(lower_int, comparison)
{
    static const struct run_row rows[] = {
        { "setp.lt.s32 %d, %a, %b;", "pred s32 s32", lt_s }, { "setp.lo.u32 %d, %a, %b;", "pred u32 u32", lo_u },
        { "setp.ge.u64 %d, %a, %b;", "pred u64 u64", ge_u64 }, { "setp.gt.s16 %d, %a, %b;", "pred s16 s16", gt_s16 },
        { "setp.eq.and.s32 %d, %a, %b, %c;", "pred s32 s32 pred", and_p },
        { "setp.ne.xor.s32 %q0|%d, %a, %b, %c;", "pred s32 s32 pred", xor_q },
        { "set.gt.u32.s32 %d, %a, %b;", "u32 s32 s32", set_all }, { "selp.b32 %d, %a, %b, %c;", "b32 b32 b32 pred", selp },
        { "slct.u32.s32 %d, %a, %b, %c;", "u32 u32 u32 s32", slct_s },
        { "mov.b32 %d, %a; @%c add.u32 %d, %d, %b;", "u32 u32 u32 pred", guarded },
        { "mov.b32 %d, %a; @!%c bra L; add.u32 %d, %d, %b; L:", "u32 u32 u32 pred", guarded },
    };
    RUN(rows);
}

/* The harness itself: a wrong reference must be found, and what is no instruction must not count as right. */
REF(wrong, U32(0) + U32(1) + (S32(1) == 0x7fffffff))
Test(lower_int, harness_finds_differences)
{
    static const struct run_row row = { "add.s32 %d, %a, %b;", "s32 s32 s32", wrong, 0 };
    static const struct run_row bad = { "frob.s32 %d, %a, %b;", "s32 s32 s32", wrong, 0 };
    cr_assert(run_row_differences(&row) > 0);
    cr_assert_eq(run_row_differences(&bad), -1);
}
