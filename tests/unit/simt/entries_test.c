/* Entries (simt/schedule/entries.c): blocks in turn, and which block a warp is told to be of. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of one row of a warp each, several rows, in a grid of three dimensions whose rows are no multiple of a group. */
Test(simt, blocks_in_turn)
{
    enum { WIDE = 600, COUNT = WIDE * 32 * 4 * 2 * 3 };
    static const uint32_t widths[] = { 1, 11, 256, 257, WIDE };
    static const char body[] =
        "  %bx = call i32 @aw.ctaid.x()\n  %by = call i32 @aw.ctaid.y()\n  %bz = call i32 @aw.ctaid.z()\n"
        "  %dx = call i32 @aw.nctaid.x()\n  %width = mul i32 %dx, 32\n"
        "  %z1 = mul i32 %bz, 2\n  %z2 = add i32 %z1, %by\n  %row = mul i32 %z2, 4\n  %row1 = add i32 %row, %ty\n"
        "  %r1 = mul i32 %row1, %width\n  %c1 = mul i32 %bx, 32\n  %c2 = add i32 %c1, %tx\n  %at = add i32 %r1, %c2\n"
        "  %al = sext i32 %at to i64\n  %ao = shl i64 %al, 2\n  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %ao\n"
        "  %x = load i32, ptr addrspace(1) %s\n  %y = add i32 %x, %bx\n  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %ao\n"
        "  %o = load i32, ptr addrspace(1) %d\n  %oy = add i32 %o, %y\n  store i32 %oy, ptr addrspace(1) %d\n  ret void\n";
    static const char globals[] = "declare i32 @aw.ctaid.y()\ndeclare i32 @aw.ctaid.z()\ndeclare i32 @aw.nctaid.x()";
    static uint32_t in[COUNT], out[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        in[i] = rnd(0x7fffffff);
    for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
        uint32_t width = 32 * widths[k], count = width * 4 * 2 * 3;
        struct args a = { { in, 0, 0, 0, 0, 0, out, 0 }, { 0 } };
        memset(out, 0, sizeof out);
        run_body(body, globals, (uint32_t[3]){ widths[k], 2, 3 }, (uint32_t[3]){ 32, 4, 1 }, true, 0, &a);
        for (uint32_t i = 0; i < COUNT; i++)
            cr_assert_eq(out[i], i < count ? in[i] + i % width / 32 : 0, "%u blocks, element %u", widths[k], i);
    }
}

/* Of block_indices: the block's linear number %block, and element %ao of p6 that is its thread's; of as many instructions as
 * asked, at least. */
static void indices_body(struct aw_buf *body, int instructions)
{
    aw_buf_printf(body, "  %%by = call i32 @aw.ctaid.y()\n  %%bz = call i32 @aw.ctaid.z()\n  %%dx = call i32 @aw.nctaid.x()\n"
                        "  %%dy = call i32 @aw.nctaid.y()\n  %%z1 = mul i32 %%bz, %%dy\n  %%z2 = add i32 %%z1, %%by\n"
                        "  %%row = mul i32 %%z2, %%dx\n  %%block = add i32 %%row, %%cx\n  %%b1 = mul i32 %%block, %%nx\n"
                        "  %%at = add i32 %%b1, %%t\n  %%al = sext i32 %%at to i64\n  %%ao = shl i64 %%al, 2\n"
                        "  %%v0 = add i32 %%t, 1\n");
    for (int i = 1; i < instructions; i++)
        aw_buf_printf(body, "  %%v%d = %s i32 %%v%d, %d\n", i, i % 2 ? "mul" : "xor", i - 1, 2 * i + 1);
    aw_buf_printf(body, "  %%pv = getelementptr i8, ptr addrspace(1) %%p5, i64 %%ao\n  store i32 %%v%d, ptr addrspace(1) %%pv\n",
                  instructions ? instructions - 1 : 0);
}
#define INDICES "declare i32 @aw.ctaid.y()\ndeclare i32 @aw.ctaid.z()\ndeclare i32 @aw.nctaid.x()\ndeclare i32 @aw.nctaid.y()\n"
static const uint32_t indices_grids[][3] = { { 60, 1, 1 }, { 1, 60, 1 }, { 1, 1, 60 }, { 3, 5, 4 },
                                             { 5, 1, 12 }, { 1, 4, 15 }, { 20, 3, 1 } };

/* The loop over blocks counts their indices: each is there once, in rows and planes of one and of many, from wherever it begins;
 * in a register where the kernel is small, in blocks of one warp and of two.  Where warps are entered one by one (the last form
 * yields), they leave the indices as they are. */
Test(simt, block_indices)
{
    enum { COUNT = 60 * 64 };
    static uint32_t out[COUNT], values[COUNT];
    for (size_t g = 0; g < sizeof indices_grids / sizeof *indices_grids; g++) {
        for (int form = 0; form < 12; form++) {
            struct args a = { { 0, 0, 0, 0, 0, values, out, 0 }, { 0 } };
            uint32_t threads = form / 3 % 2 ? 32 : 64;
            struct aw_buf text = { 0 };
            if (form % 3 == 2)
                aw_buf_printf(&text, "  call void @aw.nanosleep(i32 1)\n");
            indices_body(&text, form / 6 ? 150 : 0);
            aw_buf_printf(&text, "  %%d = getelementptr i8, ptr addrspace(1) %%p6, i64 %%ao\n"
                                 "  %%x = load i32, ptr addrspace(1) %%d\n"
                                 "  %%y = add i32 %%x, 1\n  store i32 %%y, ptr addrspace(1) %%d\n  ret void\n");
            memset(out, 0, sizeof out);
            run_body(text.ptr, INDICES "declare void @aw.nanosleep(i32)", indices_grids[g], (uint32_t[3]){ threads, 1, 1 },
                     form % 3, 0, &a);
            aw_buf_fini(&text);
            for (uint32_t i = 0; i < COUNT; i++)
                cr_assert_eq(out[i], i < 60 * threads, "grid %zu, form %d: element %u", g, form, i);
        }
    }
}

/* What services are told of the block and the warp that run, whatever registers hold. */
Test(simt, block_indices_told)
{
    static uint32_t values[60 * 64];
    for (size_t g = 0; g < sizeof indices_grids / sizeof *indices_grids; g++) {
        for (int form = 0; form < 8; form++) {
            const uint32_t *grid = indices_grids[g];
            uint32_t threads = form & 2 ? 32 : 64, thread = rnd(60 * threads), block = thread / threads;
            struct args a = { { 0, &thread, 0, 0, 0, values, 0, 0 }, { 0 } };
            struct aw_buf text = { 0 };
            indices_body(&text, form & 4 ? 150 : 0);
            aw_buf_printf(&text, "  %%n0 = load i32, ptr addrspace(1) %%p1\n  %%die = icmp eq i32 %%at, %%n0\n"
                                 "  br i1 %%die, label %%dead, label %%fine\n"
                                 "dead:\n  call void @aw.trap(i32 719)\n  unreachable\nfine:\n  ret void\n");
            struct outcome o = run_body(text.ptr, INDICES "declare void @aw.trap(i32)", grid, (uint32_t[3]){ threads, 1, 1 },
                                        form & 1, 0, &a);
            aw_buf_fini(&text);
            cr_assert_eq(o.status, 719, "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[0], block % grid[0], "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[1], block / grid[0] % grid[1], "grid %zu, form %d", g, form);
            cr_assert_eq(o.ctaid[2], block / grid[0] / grid[1], "grid %zu, form %d", g, form);
            cr_assert_eq(o.warp, thread % threads / 32, "grid %zu, form %d", g, form);
        }
    }
}

/* An index read on two ways is one value: what is added to it stays side by side. */
Test(simt, indices_read_twice)
{
    static const char body[] =
        "  %low = icmp ult i32 %t, 16\n  br i1 %low, label %a, label %b\n"
        "a:\n  %n1 = call i32 @aw.nctaid.x()\n  store i32 %n1, ptr addrspace(1) %p2\n  br label %j\n"
        "b:\n  store i32 2, ptr addrspace(1) %p3\n  br label %j\n"
        "j:\n  %n2 = call i32 @aw.nctaid.x()\n  %s = add i32 %n2, %t\n  %sl = zext i32 %s to i64\n  %so = shl i64 %sl, 2\n"
        "  %p = getelementptr i8, ptr addrspace(1) %p0, i64 %so\n  %v = load float, ptr addrspace(1) %p\n" STORE(
            "v", "p6", "float", "4") "  ret void\n";
    char *ir = kernel_text(body, "declare i32 @aw.nctaid.x()");
    struct aw_buf diags = { 0 };
    char *text = emit_simt(ir, "host:haswell", AW_EMIT_IR_OPT, &diags);
    cr_assert(text, "%s", diags.ptr);
    cr_assert(strstr(text, "load <32 x float>"), "%s", text);
    free(text);
    free(ir);
}
