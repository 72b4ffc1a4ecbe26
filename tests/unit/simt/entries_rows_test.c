/* Blocks of several rows, of which neighbouring ones run in turn, row by row (ptx/simt/schedule/entries.c): every thread runs
 * once, in whatever order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* out[i] += 3 * in[i] + in[the next in the row, or the row's first] + i, on a torus of rows; without the turn at a row's end
 * where `plain`. */
static const char text[] =
    "declare i32 @aw.tid.x()\ndeclare i32 @aw.tid.y()\ndeclare i32 @aw.ctaid.x()\ndeclare i32 @aw.ctaid.y()\n"
    "declare i32 @aw.ctaid.z()\n"
    "declare i32 @aw.tid.z()\ndeclare i32 @aw.ntid.x()\ndeclare i32 @aw.ntid.y()\ndeclare i32 @aw.ntid.z()\n"
    "declare i32 @aw.nctaid.y()\n"
    "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %ka) \"aw-kernel\" {\nentry:\n"
    "  %in = load i64, ptr addrspace(4) %ka\n  %out.p = getelementptr i8, ptr addrspace(4) %ka, i64 8\n"
    "  %out = load i64, ptr addrspace(4) %out.p\n  %w.p = getelementptr i8, ptr addrspace(4) %ka, i64 16\n"
    "  %w = load i32, ptr addrspace(4) %w.p\n  %h.p = getelementptr i8, ptr addrspace(4) %ka, i64 20\n"
    "  %h = load i32, ptr addrspace(4) %h.p\n  %tx = call i32 @aw.tid.x()\n  %ty = call i32 @aw.tid.y()\n"
    "  %tz = call i32 @aw.tid.z()\n"
    "  %nx = call i32 @aw.ntid.x()\n  %ny = call i32 @aw.ntid.y()\n  %nz = call i32 @aw.ntid.z()\n"
    "  %bx = call i32 @aw.ctaid.x()\n"
    "  %by = call i32 @aw.ctaid.y()\n  %bz = call i32 @aw.ctaid.z()\n  %gy = call i32 @aw.nctaid.y()\n"
    "  %x0 = mul i32 %bx, %nx\n  %x = add i32 %x0, %tx\n  %y0 = mul i32 %by, %ny\n  %y1 = add i32 %y0, %ty\n"
    "  %z0 = mul i32 %bz, %nz\n  %z = add i32 %z0, %tz\n  %rows = mul i32 %gy, %ny\n  %y2 = mul i32 %z, %rows\n"
    "  %y = add i32 %y1, %y2\n"
    "  %inx = icmp slt i32 %x, %w\n  %iny = icmp slt i32 %y, %h\n  %ok = and i1 %inx, %iny\n"
    "  br i1 %ok, label %work, label %done\n"
    "work:\n  %row = mul i32 %y, %w\n  %i = add i32 %row, %x\n  %x1 = add i32 %x, 1\n  %last = icmp eq i32 %x1, %w\n"
    "  %e = select i1 %last, i32 0, i32 %x1\n  %j = add i32 %row, %e\n"
    "  %i64 = sext i32 %i to i64\n  %ib = shl i64 %i64, 2\n  %j64 = sext i32 %j to i64\n  %jb = shl i64 %j64, 2\n"
    "  %pa = add i64 %in, %ib\n  %p = inttoptr i64 %pa to ptr addrspace(1)\n  %qa = add i64 %in, %jb\n"
    "  %q = inttoptr i64 %qa to ptr addrspace(1)\n  %oa = add i64 %out, %ib\n  %o = inttoptr i64 %oa to ptr addrspace(1)\n"
    "  %a = load i32, ptr addrspace(1) %p\n  %b = load i32, ptr addrspace(1) %q\n  %old = load i32, ptr addrspace(1) %o\n"
    "  %a3 = mul i32 %a, 3\n  %s = add i32 %a3, %b\n  %s1 = add i32 %s, %i\n  %s2 = add i32 %s1, %old\n"
    "  store i32 %s2, ptr addrspace(1) %o\n  br label %done\ndone:\n  ret void\n}\n";

struct args {
    const int32_t *in;
    int32_t *out;
    int32_t w, h;
    char rest[56];
};

static void check(const struct built *b, const uint32_t grid[3], const uint32_t block[3], int32_t w, int32_t h)
{
    size_t n = (size_t)w * (size_t)h;
    int32_t *in = calloc(n, sizeof *in), *out = calloc(n, sizeof *out);
    struct args a = { .in = in, .out = out, .w = w, .h = h };
    for (size_t i = 0; i < n; i++) {
        in[i] = (int32_t)(i * 77 % 1013);
        out[i] = (int32_t)(i % 19);
    }
    cr_assert_eq(launch(b, grid, block, 0, &a).status, 0);
    for (int32_t y = 0; y < h; y++)
        for (int32_t x = 0; x < w; x++) {
            int32_t i = y * w + x;
            bool there = x < (int32_t)(grid[0] * block[0]) && y < (int32_t)(grid[1] * block[1] * grid[2] * block[2]);
            int32_t want = i % 19 + (there ? 3 * in[i] + in[y * w + (x + 1) % w] + i : 0);
            cr_assert_eq(out[i], want, "grid %u,%u,%u block %u,%u,%u: x %d y %d: %d, not %d", grid[0], grid[1], grid[2], block[0],
                         block[1], block[2], x, y, out[i], want);
        }
    free(in);
    free(out);
}

Test(groups, rows_in_turn)
{
    static const uint32_t shapes[][3] = { { 32, 8, 1 }, { 64, 4, 1 }, { 96, 3, 1 }, { 128, 2, 1 },
                                          { 32, 3, 2 }, { 64, 2, 2 }, { 16, 8, 1 }, { 256, 1, 1 } };
    static const uint32_t grids[][3] = { { 7, 3, 1 }, { 1, 5, 1 }, { 12, 1, 2 } };
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64" };
    struct aw_buf diags = { 0 };
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            struct built b;
            cr_assert(build_simt(text, targets[t], shapes[s], 0, &b, &diags), "%s", diags.ptr);
            for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
                for (int alone = 0; alone < 2; alone++) {
                    int32_t w = (int32_t)(grids[g][0] * shapes[s][0]),
                            h = (int32_t)(grids[g][1] * shapes[s][1] * grids[g][2] * shapes[s][2]);
                    launch_by_warps = alone;
                    check(&b, grids[g], shapes[s], w, h);
                    check(&b, grids[g], shapes[s], w - 5, h - 2);
                    launch_by_warps = false;
                }
            unload(&b);
        }
}
