/* Long straight-line code, which is cut into pieces (ptx/finish/host/cut_blocks.c): what lives from piece to piece, masks among
 * it, comes through; also in a loop of one block, whose values come back to its first piece. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 6, STEPS = 2500, ROUNDS = 3, THREADS = 96 };

struct step {
    int kind, a, b, into; /* value `into` becomes an operation on values a and b; masks are kept apart */
};

static uint32_t state;
static uint32_t rnd(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

static void random_steps(struct step *s, uint32_t seed)
{
    state = seed;
    for (int i = 0; i < STEPS; i++)
        s[i] = (struct step){ (int)rnd(4), (int)rnd(VALUES), (int)rnd(VALUES), (int)rnd(VALUES) };
}

/* One thread's values after all rounds. */
static void reference(const struct step *s, uint32_t *v)
{
    for (int round = 0; round < ROUNDS; round++) {
        bool mask[VALUES] = { false };
        for (int i = 0; i < STEPS; i++) {
            uint32_t a = v[s[i].a], b = v[s[i].b], *x = &v[s[i].into];
            switch (s[i].kind) {
            case 0: *x = a + b * 3; break;
            case 1: *x = a ^ (b >> 5); break;
            case 2: mask[s[i].into] = a < b; break;
            case 3: *x = mask[s[i].b] ? a : *x + 1; break;
            }
        }
    }
}

/* `p`[8 * thread] gets the values, which begin as what is there. */
static char *kernel_text(const struct step *s)
{
    struct aw_buf b = { 0 };
    int value[VALUES], mask[VALUES], n = 0; /* numbers of the instructions that made them */
    aw_buf_printf(&b, "declare i32 @aw.tid.x()\n"
                      "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" {\nentry:\n"
                  "  %%p = load ptr addrspace(1), ptr addrspace(4) %%ka\n  %%t = call i32 @aw.tid.x()\n  %%o = shl i32 %%t, 5\n"
                  "  %%q = getelementptr i8, ptr addrspace(1) %%p, i32 %%o\n");
    for (int i = 0; i < VALUES; i++)
        aw_buf_printf(&b, "  %%q%d = getelementptr i8, ptr addrspace(1) %%q, i32 %d\n"
                          "  %%b%d = load i32, ptr addrspace(1) %%q%d\n", i, 4 * i, i, i);
    aw_buf_printf(&b, "  br label %%again\nagain:\n  %%round = phi i32 [ 0, %%entry ], [ %%next, %%again ]\n");
    for (int i = 0; i < VALUES; i++) {
        aw_buf_printf(&b, "  %%v%d = phi i32 [ %%b%d, %%entry ], [ %%e%d, %%again ]\n", n, i, i);
        value[i] = n++;
        mask[i] = -1;
    }
    for (int i = 0; i < STEPS; i++) {
        int a = value[s[i].a], c = value[s[i].b], x = value[s[i].into];
        switch (s[i].kind) {
        case 0: aw_buf_printf(&b, "  %%m%d = mul i32 %%v%d, 3\n  %%v%d = add i32 %%v%d, %%m%d\n", n, c, n, a, n); break;
        case 1: aw_buf_printf(&b, "  %%m%d = lshr i32 %%v%d, 5\n  %%v%d = xor i32 %%v%d, %%m%d\n", n, c, n, a, n); break;
        case 2: aw_buf_printf(&b, "  %%v%d = icmp ult i32 %%v%d, %%v%d\n", n, a, c); break;
        case 3:
            aw_buf_printf(&b, "  %%m%d = add i32 %%v%d, 1\n", n, x);
            if (mask[s[i].b] < 0)
                aw_buf_printf(&b, "  %%v%d = select i1 false, i32 %%v%d, i32 %%m%d\n", n, a, n);
            else
                aw_buf_printf(&b, "  %%v%d = select i1 %%v%d, i32 %%v%d, i32 %%m%d\n", n, mask[s[i].b], a, n);
            break;
        }
        *(s[i].kind == 2 ? &mask[s[i].into] : &value[s[i].into]) = n;
        n++;
    }
    for (int i = 0; i < VALUES; i++)
        aw_buf_printf(&b, "  %%e%d = or i32 %%v%d, 0\n", i, value[i]);
    aw_buf_printf(&b, "  %%next = add i32 %%round, 1\n  %%more = icmp slt i32 %%next, %d\n"
                      "  br i1 %%more, label %%again, label %%end\nend:\n", ROUNDS);
    for (int i = 0; i < VALUES; i++)
        aw_buf_printf(&b, "  store i32 %%e%d, ptr addrspace(1) %%q%d\n", i, i);
    aw_buf_printf(&b, "  ret void\n}\n");
    return b.ptr;
}

static void check(const char *target, uint32_t seed)
{
    static const uint32_t one[3] = { 1, 1, 1 }, block[3] = { THREADS, 1, 1 };
    static uint32_t got[THREADS][8], want[THREADS][8];
    struct step steps[STEPS];
    struct { void *p; char rest[72]; } args = { got, { 0 } };
    struct aw_buf diags = { 0 };
    struct built b;
    random_steps(steps, seed);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < 8; i++)
            want[t][i] = got[t][i] = rnd(1 << 24) * 241;
        reference(steps, want[t]);
    }
    char *text = kernel_text(steps), *ir = emit_simt(text, target, AW_EMIT_IR_OPT, &diags);
    cr_assert(ir && strstr(ir, "piece"), "%s: no block was cut", target);
    cr_assert(build_simt(text, target, block, 0, &b, &diags), "%s", diags.ptr);
    cr_assert_eq(launch(&b, one, block, 0, &args).status, 0);
    unload(&b);
    free(ir);
    free(text);
    cr_assert_arr_eq(got, want, sizeof got, "%s, seed %u", target, seed);
}

Test(blocks, long_ones)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64" };
    for (uint32_t seed = 1; seed <= 3; seed++)
        check(targets[seed % 3], seed);
}
