/* Minima and maxima as lower/round.c writes them, around a loop (finish/host/minmax.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "llvm_version.h"
#include "bodies.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static uint32_t extreme(uint32_t a, uint32_t b, bool min)
{
    float x = of_bits(a), y = of_bits(b);
    if (isnan(x) || isnan(y))
        return !isnan(x) ? a : !isnan(y) ? b : 0x7fffffff;
    if (x == y)
        return min ? a | b : a & b;
    return (x > y) != min ? a : b;
}

enum { EXTREME_THREADS = 96, EXTREME_ROUNDS = 4 };

/* m = max(a, x) of each round's x; then a is m, or (`crossed`) b, which becomes m: it was 1, or a number from memory
 * (`loaded`). */
static char *extreme_text(bool min, bool loaded, bool crossed)
{
    char body[2048], declared[64];
    snprintf(body, sizeof body, FLOAD("n", "p1", "float", "4") "  %%rounds = load i32, ptr addrspace(1) %%p2\n"
                                                               "  br label %%loop\nloop:\n"
             "  %%k = phi i32 [ 0, %%entry ], [ %%k1, %%loop ]\n  %%a = phi float [ -2.0, %%entry ], [ %%%s, %%loop ]\n"
             "  %%b = phi float [ %s, %%entry ], [ %%m, %%loop ]\n"
             "  %%r0 = mul i32 %%k, %d\n  %%r1 = add i32 %%r0, %%g\n  %%r2 = zext i32 %%r1 to i64\n"
             "  %%xp = getelementptr float, ptr addrspace(1) %%p0, i64 %%r2\n  %%x = load float, ptr addrspace(1) %%xp\n"
             "  %%y = call float @llvm.%simumnum.f32(float %%a, float %%x)\n  %%u = fcmp uno float %%y, 0.0\n"
             "  %%m = select i1 %%u, float 0x7FFFFFFFE0000000, float %%y\n"
             "  %%k1 = add i32 %%k, 1\n  %%more = icmp ult i32 %%k1, %%rounds\n  br i1 %%more, label %%loop, label %%end\nend:\n"
             FSTORE("m", "p6", "float", "4") "  ret void\n",
             crossed ? "b" : "m", loaded ? "%n" : "1.0", EXTREME_THREADS, min ? "min" : "max");
    snprintf(declared, sizeof declared, "declare float @llvm.%simumnum.f32(float, float)", min ? "min" : "max");
    return kernel_text(body, declared);
}

static void check_extremes(const char *target, bool min, bool loaded, bool crossed)
{
    enum { T = EXTREME_THREADS };
    static const uint32_t odd[] = { 0x7fc00000, 0xffc00001, 0x7f800001, 0xff812345, 0, 0x80000000, 0x7f800000, 0xff800000, 1,
                                    0x80000001 };
    static uint32_t x[T * EXTREME_ROUNDS], n[T], got[T];
    for (int i = 0; i < T * EXTREME_ROUNDS; i++)
        x[i] = rnd(3) ? odd[rnd(10)] : rnd(0x7fffffff) * 2;
    for (int i = 0; i < T; i++)
        n[i] = odd[rnd(10)];
    char *ir = extreme_text(min, loaded, crossed);
    uint32_t rounds = EXTREME_ROUNDS;
    struct args args = { { x, n, &rounds, 0, 0, 0, got, 0 }, { 0 } };
    struct built k = build_or_fail(ir, target, (uint32_t[3]){ T, 1, 1 }, 0);
    launch(&k, one, (uint32_t[3]){ T, 1, 1 }, 0, &args);
    unload(&k);
    free(ir);
    for (int i = 0; i < T; i++) {
        uint32_t a = bits_of(-2), b = loaded ? n[i] : bits_of(1), m = 0;
        for (int r = 0; r < EXTREME_ROUNDS; r++) {
            m = extreme(a, x[r * T + i], min);
            a = crossed ? b : m;
            b = m;
        }
        cr_assert_eq(got[i], m, "%s, %s%s%s: lane %d: %08x, not %08x", target, min ? "min" : "max", loaded ? ", loaded" : "",
                     crossed ? ", crossed" : "", i, got[i], m);
    }
}

Test(simt, extremes_around_loops)
{
    static const char *const machines[] = { "host", "host:x86-64" };
    if (LLVM_VERSION_MAJOR < 22)
        cr_skip_test("extremes are made of llvm.maximum and llvm.minimum (llvm_version.h), which this pass has nothing for");
    for (int i = 0; i < 32; i++)
        check_extremes(machines[i % 2], i & 2, i & 4, i & 8);
}
