/* Pairs of words that lanes read and write anywhere (simt/emit/pair_access.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static void check_pairs(const char *target, bool high_first, bool some, bool aligned)
{
    enum { T = 96, PAIRS = 64 };
    static const char *const parts[2][2] = { { "0", "4" }, { "4", "0" } };
    const char *const *off = parts[high_first];
    static uint64_t from[PAIRS], to[PAIRS], want[PAIRS];
    static uint32_t at[T];
    char body[4096];
    int shift = aligned ? 3 : 2; /* not aligned: pairs that overlap by half */
    snprintf(body, sizeof body, FLOAD("i", "p0", "i32", "4") "  %%bit = lshr i32 %%i, 31\n  %%off = trunc i32 %%bit to i1\n"
             "  br i1 %%off, label %%end, label %%go\ngo:\n  %%w = zext i32 %%i to i64\n"
             "  %%o = shl i64 %%w, %d\n  %%f = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n"
             "  %%q = getelementptr i8, ptr addrspace(1) %%p6, i64 %%o\n"
             "  %%f0 = getelementptr i8, ptr addrspace(1) %%f, i64 %s\n  %%f1 = getelementptr i8, ptr addrspace(1) %%f, i64 %s\n"
             "  %%q0 = getelementptr i8, ptr addrspace(1) %%q, i64 %s\n  %%q1 = getelementptr i8, ptr addrspace(1) %%q, i64 %s\n"
             "  %%x0 = load i32, ptr addrspace(1) %%f0, align 4\n  %%x1 = load i32, ptr addrspace(1) %%f1, align 4\n"
             "  %%y0 = add i32 %%x0, %%g\n  %%y1 = sub i32 %%x1, %%g\n"
             "  store i32 %%y0, ptr addrspace(1) %%q0, align %d\n  store i32 %%y1, ptr addrspace(1) %%q1, align %d\n"
             "  br label %%end\nend:\n  ret void\n",
             shift, off[0], off[1], off[0], off[1], aligned && !high_first ? 8 : 4, aligned && high_first ? 8 : 4);
    for (int i = 0; i < T; i++)
        at[i] = rnd(PAIRS) | (some && !rnd(3) ? 0x80000000 : 0);
    for (int i = 0; i < PAIRS; i++) {
        from[i] = rnd(0x7fffffff) * UINT64_C(0x100000001);
        to[i] = want[i] = rnd(0x7fffffff);
    }
    for (int w = 0; w < T; w += 32) /* a warp stores the first words of all lanes, then the second ones */
        for (int k = 0; k < 2; k++)
            for (int i = w; i < w + 32; i++) {
                unsigned place = (at[i] << (shift - 2)) + (unsigned)atoi(off[k]) / 4;
                if (!(at[i] >> 31))
                    ((uint32_t *)want)[place] = ((uint32_t *)from)[place] + (k ? -(uint32_t)i : (uint32_t)i);
            }
    char *ir = kernel_text(body, "");
    struct args args = { { at, from, 0, 0, 0, 0, to, 0 }, { 0 } };
    struct built k = build_or_fail(ir, target, (uint32_t[3]){ T, 1, 1 }, 0);
    launch(&k, one, (uint32_t[3]){ T, 1, 1 }, 0, &args);
    unload(&k);
    free(ir);
    for (int i = 0; i < PAIRS; i++)
        cr_assert_eq(to[i], want[i], "%s%s%s%s: pair %d: %016llx, not %016llx", target, high_first ? ", high first" : "",
                     some ? ", some" : "", aligned ? "" : ", overlapping", i, (unsigned long long)to[i],
                     (unsigned long long)want[i]);
}

Test(simt, pairs)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64" };
    for (int i = 0; i < 48; i++)
        check_pairs(machines[i % 3], i & 1, i & 2, i & 4);
}
