/* Four neighbouring words of each lane (finish/host/gather_wide.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Structures of four words anywhere, the last ends where memory does; lanes that are off hold indices far outside.  Perhaps the
 * last word is written before it is read. */
static void check_quads(const char *target, int scale, bool masked, bool written, const char *type)
{
    enum { PAGE = 4096, THREADS = 200, QUADS = 300 };
    static int32_t at[THREADS], taken[QUADS];
    static uint32_t got[THREADS], want[THREADS];
    char *body, *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + 2 * PAGE, PAGE, PROT_NONE), 0);
    int rows = (2 * PAGE - 16) / scale + 1 < QUADS ? (2 * PAGE - 16) / scale + 1 : QUADS;
    char *table = memory + 2 * PAGE - 16 - (rows - 1) * scale;
    for (int i = 0; i < 2 * PAGE / 4; i++)
        ((uint32_t *)(void *)memory)[i] = rnd(1u << 23);
    memset(taken, 0, sizeof taken);
    for (int i = 0; i < THREADS; i++) {
        int row = (int)rnd((uint32_t)rows);
        bool on = !masked || rnd(3);
        while (written && on && taken[row]) /* rows of 16 bytes, each one lane's */
            row = (row + 1) % rows;
        taken[row] |= on;
        at[i] = on ? row : 0x70000000;
        const uint32_t *w = (const uint32_t *)(const void *)(table + row * scale);
        want[i] = !on ? 7 : w[0] + 3 * w[1] + 5 * w[2] + 7 * (written ? w[0] : w[3]);
        got[i] = 7;
    }
    cr_assert_geq(asprintf(&body, FLOAD("i", "p0", "i32", "4") "  %%on = icmp ne i32 %%i, 1879048192\n"
                                                               "  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%x = sext i32 %%i to i64\n  %%o = mul i64 %%x, %d\n  %%q0 = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n"
        "  %%q1 = getelementptr i8, ptr addrspace(1) %%q0, i64 4\n  %%q2 = getelementptr i8, ptr addrspace(1) %%q0, i64 8\n"
        "  %%q3 = getelementptr i8, ptr addrspace(1) %%q0, i64 12\n"
        "  %%w0t = load %s, ptr addrspace(1) %%q0\n  %%w2t = load %s, ptr addrspace(1) %%q2\n%s"
        "  %%w3t = load %s, ptr addrspace(1) %%q3\n  %%w1t = load %s, ptr addrspace(1) %%q1\n"
        "  %%w0 = bitcast %s %%w0t to i32\n  %%w1 = bitcast %s %%w1t to i32\n  %%w2 = bitcast %s %%w2t to i32\n"
        "  %%w3 = bitcast %s %%w3t to i32\n"
        "  %%m1 = mul i32 %%w1, 3\n  %%m2 = mul i32 %%w2, 5\n  %%m3 = mul i32 %%w3, 7\n  %%s1 = add i32 %%w0, %%m1\n"
        "  %%s2 = add i32 %%m2, %%m3\n"
        "  %%r = add i32 %%s1, %%s2\n" FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n", scale, type, type,
        written ? "  store i32 %w0t, ptr addrspace(1) %q3\n" : "", type, type, type, type, type, type), 0);
    char *ir = kernel_text(body, "");
    struct args a = { { at, table, 0, 0, 0, 0, got, 0 }, "" };
    struct built b = build_or_fail(ir, target, NULL, 0);
    launch(&b, one, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    for (int i = 0; i < THREADS; i++)
        cr_assert_eq(got[i], want[i], "%s, %d bytes apart, masked %d, written %d, thread %d", target, scale, masked, written, i);
    munmap(memory, 3 * PAGE);
    free(body);
    free(ir);
}

Test(simt, quads)
{
    static const int scales[] = { 1, 4, 8, 12, 16, 24 };
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
        for (int k = 0; k < 4; k++) {
            check_quads("host", scales[i], k & 1, false, k & 2 ? "float" : "i32");
            check_quads("host:x86-64-v3", scales[i], k & 1, false, "i32");
            if (scales[i] >= 16)
                check_quads("host", scales[i], k & 1, true, "i32");
        }
}
