/* Warps that take a loop in turn (simt/schedule/march.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the grid-stride loop of `marching` leaves: each element plus three times the one that the thread had before it. */
static void march_by_hand(const uint32_t *in, int count, int threads, uint32_t *out, uint32_t *last)
{
    for (int g = 0; g < threads; g++) {
        uint32_t old = 7;
        last[g] = 99;
        for (int i = g; i < count; i += threads) {
            out[i] = in[i] + 3 * old;
            last[g] = old = in[i];
        }
    }
}

/* Warps that go through an array together, an iteration each (ptx/simt/schedule/march.c): of blocks that are whole warps and that
 * are not, for one shape and for several, some of which end before the others, with values that live through the loop and after
 * it. */
Test(simt, marching)
{
    static const char body[] =
        "  %n = load i32, ptr addrspace(1) %p1\n  %nb = call i32 @aw.nctaid.x()\n  %step = mul i32 %nb, %nx\n"
        "  %some = icmp slt i32 %g, %n\n  br i1 %some, label %loop, label %done\nloop:\n"
        "  %i = phi i32 [ %g, %entry ], [ %i1, %loop ]\n  %old = phi i32 [ 7, %entry ], [ %x, %loop ]\n"
        "  %il = sext i32 %i to i64\n  %o = shl i64 %il, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %x = load i32, ptr addrspace(1) %s\n  %y = mul i32 %old, 3\n  %z = add i32 %x, %y\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %z, ptr addrspace(1) %d\n"
        "  %i1 = add i32 %i, %step\n  %more = icmp slt i32 %i1, %n\n  br i1 %more, label %loop, label %done\ndone:\n"
        "  %last = phi i32 [ 99, %entry ], [ %x, %loop ]\n  %go = shl i64 %gl, 2\n"
        "  %e = getelementptr i8, ptr addrspace(1) %p7, i64 %go\n  store i32 %last, ptr addrspace(1) %e\n  ret void\n";
    static const uint32_t rows[] = { 128, 100, 48, 33, 32, 31, 16, 1 };
    enum { COUNT = 5000, GRID = 300 };
    static uint32_t in[COUNT], out[COUNT], want[COUNT], last[GRID * 128], want_last[GRID * 128];
    for (int i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int form = 0; form < (rows[k] % 32 ? 2 : 3); form++) {
            const uint32_t block[3] = { rows[k], 1, 1 }, *forms[] = { block, any_rows, full_rows };
            int grid = k % 2 ? GRID : 5, threads = grid * (int)rows[k], count = COUNT - (int)rnd(100);
            memset(out, 0, sizeof out);
            memset(want, 0, sizeof want);
            march_by_hand(in, count, threads, want, want_last);
            struct args a = { { in, &count, 0, 0, 0, 0, out, last }, { 0 } };
            run_form(body, "declare i32 @aw.nctaid.x()", (uint32_t[3]){ (uint32_t)grid, 1, 1 }, block, forms[form], 0, &a);
            for (int i = 0; i < COUNT; i++)
                cr_assert_eq(out[i], want[i], "rows of %u, form %d, element %d: %u, not %u", rows[k], form, i, out[i], want[i]);
            for (int i = 0; i < threads; i++)
                cr_assert_eq(last[i], want_last[i], "rows of %u, form %d, thread %d: %u, not %u", rows[k], form, i, last[i],
                             want_last[i]);
        }
}

/* What the columns of `marching_in_columns` leave; with size[4] not 0 a column ends up to 3 planes early. */
static void columns_by_hand(const uint32_t *in, const int size[5], uint32_t *out, uint32_t *last)
{
    int w = size[0], h = size[1], plane = size[3];
    for (int y = 1; y < h; y++)
        for (int x = 1; x < w; x++) {
            uint32_t old = 7;
            for (int z = 0; z < size[2] - (x & size[4]); z++) {
                int at = z * plane + y * w + x;
                out[at] = in[at] + 3 * old + (uint32_t)x;
                old = in[at];
            }
            last[y * w + x] = old + (uint32_t)(y * w + x);
        }
}

/* Columns of a volume, in blocks of several rows, some of whose warps are whole: these and the others go through copies of the
 * loop, each with its turns, and warps of neighbouring blocks take theirs together (block.c). */
Test(simt, marching_in_columns)
{
    static const char body[] =
        "  %w = load i32, ptr addrspace(1) %p1\n  %q1 = getelementptr i8, ptr addrspace(1) %p1, i64 4\n"
        "  %h = load i32, ptr addrspace(1) %q1\n  %q2 = getelementptr i8, ptr addrspace(1) %p1, i64 8\n"
        "  %d = load i32, ptr addrspace(1) %q2\n  %q3 = getelementptr i8, ptr addrspace(1) %p1, i64 12\n"
        "  %plane = load i32, ptr addrspace(1) %q3\n  %q4 = getelementptr i8, ptr addrspace(1) %p1, i64 16\n"
        "  %uneven = load i32, ptr addrspace(1) %q4\n  %cy = call i32 @aw.ctaid.y()\n"
        "  %bx = mul i32 %cx, %nx\n  %x = add i32 %bx, %tx\n  %by = mul i32 %cy, %ny\n  %y = add i32 %by, %ty\n"
        "  %x1 = sub i32 %x, 1\n  %w1 = sub i32 %w, 1\n  %xs = icmp ult i32 %x1, %w1\n"
        "  %y1 = sub i32 %y, 1\n  %h1 = sub i32 %h, 1\n  %ys = icmp ult i32 %y1, %h1\n  %in = and i1 %xs, %ys\n"
        "  br i1 %in, label %before, label %done\nbefore:\n  %yw = mul i32 %y, %w\n  %at = add i32 %yw, %x\n"
        "  %less = and i32 %x, %uneven\n  %n = sub i32 %d, %less\n  br label %loop\nloop:\n"
        "  %z = phi i32 [ 0, %before ], [ %z1, %loop ]\n  %i = phi i32 [ %at, %before ], [ %i1, %loop ]\n"
        "  %old = phi i32 [ 7, %before ], [ %v, %loop ]\n"
        "  %il = sext i32 %i to i64\n  %o = shl i64 %il, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %v = load i32, ptr addrspace(1) %s\n  %m = mul i32 %old, 3\n  %a = add i32 %v, %m\n  %r = add i32 %a, %x\n"
        "  %e = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %r, ptr addrspace(1) %e\n"
        "  %i1 = add i32 %i, %plane\n  %z1 = add i32 %z, 1\n  %more = icmp slt i32 %z1, %n\n"
        "  br i1 %more, label %loop, label %after\nafter:\n  %l = add i32 %v, %at\n  %al = sext i32 %at to i64\n"
        "  %ao = shl i64 %al, 2\n  %f = getelementptr i8, ptr addrspace(1) %p7, i64 %ao\n  store i32 %l, ptr addrspace(1) %f\n"
        "  br label %done\ndone:\n  ret void\n";
    static const uint32_t blocks[][3] = { { 32, 4, 1 },  { 32, 3, 1 }, { 16, 4, 1 }, { 64, 2, 1 },
                                          { 128, 1, 1 }, { 32, 1, 2 }, { 20, 3, 1 } };
    static const char *const targets[] = { "host", "host:haswell" };
    enum { W = 200, H = 43, D = 9, PLANE = W * H }; /* more warps than go together */
    static uint32_t in[D * PLANE], out[D * PLANE], want[D * PLANE], last[PLANE], want_last[PLANE];
    for (int i = 0; i < D * PLANE; i++)
        in[i] = rnd(0x7fffffff);
    char *ir = kernel_text(body, "declare i32 @aw.ctaid.y()");
    for (unsigned k = 0; k < 2 * sizeof blocks / sizeof *blocks; k++)
        for (int uneven = 0; uneven < 4; uneven += 3) {
            const uint32_t *block = blocks[k / 2], grid[3] = { (W + block[0] - 1) / block[0], (H + block[1] - 1) / block[1], 1 };
            const int size[5] = { W - (int)rnd(40), H - (int)rnd(3), D - (int)rnd(2), PLANE, uneven };
            memset(out, 0, sizeof out), memset(want, 0, sizeof want), memset(last, 0, sizeof last),
                memset(want_last, 0, sizeof want_last);
            columns_by_hand(in, size, want, want_last);
            struct args a = { { in, (void *)size, 0, 0, 0, 0, out, last }, { 0 } };
            struct built b = build_or_fail(ir, targets[k % 2], block, 0);
            launch(&b, grid, block, 0, &a);
            unload(&b);
            for (int i = 0; i < D * PLANE; i++)
                cr_assert_eq(out[i], want[i], "%s, %ux%u, uneven %d, element %d: %u, not %u", targets[k % 2], block[0], block[1],
                             uneven, i, out[i], want[i]);
            cr_assert_arr_eq(last, want_last, sizeof last, "%s, %ux%u, uneven %d", targets[k % 2], block[0], block[1], uneven);
        }
    free(ir);
}

/* A loop that keeps more values than a frame has room for does not march, and runs all the same. */
Test(simt, marching_with_much)
{
    enum { SUMS = 70, COUNT = 3000, THREADS = 3 * 64 };
    static uint32_t in[COUNT], out[THREADS];
    static const uint32_t block[3] = { 64, 1, 1 };
    struct aw_buf body = { 0 };
    int count = COUNT;
    aw_buf_printf(&body, "  %%n = load i32, ptr addrspace(1) %%p1\n  %%nb = call i32 @aw.nctaid.x()\n"
                         "  %%step = mul i32 %%nb, %%nx\n"
                         "  br label %%loop\nloop:\n  %%i = phi i32 [ %%g, %%entry ], [ %%i1, %%loop ]\n");
    for (int k = 0; k < SUMS; k++)
        aw_buf_printf(&body, "  %%s%d = phi i32 [ %d, %%entry ], [ %%t%d, %%loop ]\n", k, k, k);
    aw_buf_printf(&body, "  %%il = sext i32 %%i to i64\n  %%o = shl i64 %%il, 2\n"
                         "  %%s = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n"
                         "  %%x = load i32, ptr addrspace(1) %%s\n");
    for (int k = 0; k < SUMS; k++)
        aw_buf_printf(&body, "  %%m%d = mul i32 %%s%d, 3\n  %%t%d = add i32 %%m%d, %%x\n", k, k, k, k);
    aw_buf_printf(&body, "  %%i1 = add i32 %%i, %%step\n  %%more = icmp slt i32 %%i1, %%n\n"
                         "  br i1 %%more, label %%loop, label %%done\ndone:\n"
                         "  %%all0 = xor i32 %%t0, 0\n");
    for (int k = 1; k < SUMS; k++)
        aw_buf_printf(&body, "  %%all%d = xor i32 %%all%d, %%t%d\n", k, k - 1, k);
    aw_buf_printf(&body, "  %%go = shl i64 %%gl, 2\n  %%e = getelementptr i8, ptr addrspace(1) %%p6, i64 %%go\n"
                         "  store i32 %%all%d, ptr addrspace(1) %%e\n  ret void\n", SUMS - 1);
    for (int i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    struct args a = { { in, &count, 0, 0, 0, 0, out, 0 }, { 0 } };
    run_form(body.ptr, "declare i32 @aw.nctaid.x()", (uint32_t[3]){ 3, 1, 1 }, block, block, 0, &a);
    for (int g = 0; g < THREADS; g++) {
        uint32_t all = 0;
        for (uint32_t k = 0; k < SUMS; k++) {
            uint32_t sum = k;
            for (int i = g; i < COUNT; i += THREADS)
                sum = 3 * sum + in[i];
            all ^= sum;
        }
        cr_assert_eq(out[g], all, "thread %d: %u, not %u", g, out[g], all);
    }
    aw_buf_fini(&body);
}
