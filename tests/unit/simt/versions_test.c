/* All-lanes versions (simt/rewrite/versions.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Indices that all lanes of most warps take from the same side of a choice (ptx/simt/rewrite/versions.c): neighbours in rows
 * whose ends meet, and those of lanes that choose by what they read. */
Test(simt, choices)
{
    static const char body[] =
        "  %w = load i32, ptr addrspace(1) %p1\n  %q = getelementptr i8, ptr addrspace(1) %p1, i64 4\n"
        "  %h = load i32, ptr addrspace(1) %q\n"
        "  %cy = call i32 @aw.ctaid.y()\n  %bx = mul i32 %cx, %nx\n  %x = add i32 %bx, %tx\n  %by = mul i32 %cy, %ny\n"
        "  %y = add i32 %by, %ty\n  %xs = icmp ult i32 %x, %w\n  %ys = icmp ult i32 %y, %h\n  %in = and i1 %xs, %ys\n"
        "  br i1 %in, label %inside, label %done\ninside:\n  %row = mul i32 %y, %w\n  %at = add i32 %row, %x\n"
        "  %al = sext i32 %at to i64\n"
        "  %ao = shl i64 %al, 2\n  %first = icmp eq i32 %x, 0\n  %e = select i1 %first, i32 %w, i32 %x\n  %w1 = sub i32 %e, 1\n"
        "  %last = sub i32 %w, 1\n  %before = icmp slt i32 %x, %last\n  %x1 = add i32 %x, 1\n"
        "  %e1 = select i1 %before, i32 %x1, i32 0\n"
        "  %fp = getelementptr i8, ptr addrspace(1) %p2, i64 %ao\n  %flag = load i32, ptr addrspace(1) %fp\n"
        "  %on = icmp ne i32 %flag, 0\n"
        "  %west = add i32 %row, %w1\n  %wl = sext i32 %west to i64\n  %wo = shl i64 %wl, 2\n"
        "  %wp = getelementptr i8, ptr addrspace(1) %p0, i64 %wo\n  %a = load i32, ptr addrspace(1) %wp\n"
        "  %east = add i32 %row, %e1\n  %el = sext i32 %east to i64\n  %eo = shl i64 %el, 2\n"
        "  %ep = getelementptr i8, ptr addrspace(1) %p0, i64 %eo\n  %b = load i32, ptr addrspace(1) %ep\n"
        "  %own = select i1 %on, i32 %at, i32 5\n  %ol = sext i32 %own to i64\n  %oo = shl i64 %ol, 2\n"
        "  %op = getelementptr i8, ptr addrspace(1) %p0, i64 %oo\n  %c = load i32, ptr addrspace(1) %op\n"
        "  %m = mul i32 %b, 3\n  %s = add i32 %a, %m\n  %n = mul i32 %c, 5\n  %r = add i32 %s, %n\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %ao\n  store i32 %r, ptr addrspace(1) %d\n  br label %done\n"
        "done:\n  %sum = phi i32 [ 0, %entry ], [ %west, %inside ]\n  %none = icmp eq i32 %sum, -1\n"
        "  br i1 %none, label %odd, label %out\n"
        "odd:\n  store i32 1, ptr addrspace(1) %p7\n  br label %out\nout:\n  ret void\n";
    static const uint32_t blocks[][3] = { { 32, 4, 1 }, { 64, 2, 1 }, { 16, 4, 1 }, { 96, 1, 1 }, { 24, 3, 1 } };
    static const char *const targets[] = { "host", "host:haswell" };
    enum { W = 260, H = 9, CELLS = W * H };
    static uint32_t in[CELLS], flags[CELLS], out[CELLS], want[CELLS], odd[1];
    char *ir = kernel_text(body, "declare i32 @aw.ctaid.y()");
    for (unsigned k = 0; k < 2 * sizeof blocks / sizeof *blocks; k++)
        for (int some = 0; some < 3; some++) {
            const uint32_t *block = blocks[k / 2], grid[3] = { (W + block[0] - 1) / block[0], (H + block[1] - 1) / block[1], 1 };
            int size[2] = { some ? W - (int)rnd(70) : 256, H - (int)rnd(2) }, w = size[0];
            memset(out, 0, sizeof out), memset(want, 0, sizeof want), odd[0] = 0;
            for (int i = 0; i < CELLS; i++)
                in[i] = rnd(0x7fffffff), flags[i] = some == 2 ? rnd(9) : (uint32_t)some;
            for (int i = 0; i < w * size[1]; i++) {
                int x = i % w, row = i - x;
                want[i] = in[row + (x ? x : w) - 1] + 3 * in[row + (x < w - 1 ? x + 1 : 0)] + 5 * in[flags[i] ? i : 5];
            }
            struct args a = { { in, size, flags, 0, 0, 0, out, odd }, { 0 } };
            struct built b = build_or_fail(ir, targets[k % 2], block, 0);
            launch(&b, grid, block, 0, &a);
            unload(&b);
            cr_assert_eq(odd[0], 0);
            for (int i = 0; i < CELLS; i++)
                cr_assert_eq(out[i], want[i], "%s, %ux%u, row of %d, %d: element %d: %u, not %u", targets[k % 2], block[0],
                             block[1], w, some, i, out[i], want[i]);
        }
    free(ir);
}
