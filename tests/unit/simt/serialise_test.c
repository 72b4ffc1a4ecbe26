/* Lane by lane (simt/rewrite/serialise.c): values of all kinds go in and come out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include "simt/vectorise.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300, PLACES = 8 };

/* Of llvm.lifetime.start's arguments the size is gone in LLVM 22. */
#if LLVM_VERSION_MAJOR < 22
#define SIZE_TYPE "i64, "
#define SIZE "i64 -1, "
#else
#define SIZE_TYPE
#define SIZE
#endif

#define TABLE(r, p, type, size, index) \
    "  %" r ".o = mul i64 " index ", " size "\n  %" r ".p = getelementptr i8, ptr addrspace(1) %" p ", i64 %" r ".o\n" \
    "  %" r " = load " type ", ptr addrspace(1) %" r ".p\n"

/* p0: starts of rows, p1: columns, p2: values, p3: sums (double), p4: other results (i64 x 4), p5: counts, p6: the first to come,
 * p7: rows */
/* Only atomics on memory of all blocks are said to be some. */
Test(simt, atomics_are_told)
{
    static const struct {
        const char *update;
        bool told;
    } cases[] = {
        { "  %old = atomicrmw add ptr addrspace(1) %p0, i32 %t monotonic, align 4\n", true },
        { "  %old = atomicrmw fadd ptr addrspace(1) %p0, float 1.0 monotonic, align 4\n", true },
        { "  %old = cmpxchg ptr addrspace(1) %p0, i32 0, i32 %t monotonic monotonic, align 4\n", true },
        { "  %old = atomicrmw add ptr addrspace(3) @aw.shared, i32 %t monotonic, align 4\n", false },
        { "  store volatile i32 %t, ptr addrspace(1) %p0\n", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[200];
        snprintf(body, sizeof body, "%s  ret void\n", cases[i].update);
        char *ir = kernel_text(body, "@aw.shared = internal addrspace(3) global [4 x i8] undef, align 4\n");
        struct built b = build_or_fail(ir, "host", NULL, 4);
        cr_assert_eq((b.object->flags & AW_HOST_ATOMIC) != 0, cases[i].told, "%s", cases[i].update);
        unload(&b);
        free(ir);
    }
}

static const char lane_by_lane_body[] =
    "  %n = ptrtoint ptr addrspace(1) %p7 to i32\n  %mine = icmp slt i32 %g, %n\n"
    "  %local = alloca [4 x i32], addrspace(5)\n"
    "  %odd.x = and i32 %g, 1\n  %odd = icmp ne i32 %odd.x, 0\n  %byte = trunc i32 %g to i8\n  %long = sext i32 %g to i128\n"
    "  br i1 %mine, label %rows, label %end\n"
    "rows:\n" TABLE("from", "p0", "i32", "4", "%gl") "  %next = add i64 %gl, 1\n" TABLE("to", "p0", "i32", "4", "%next")
    "  %sh.o = and i32 %t, 7\n  %sh.i = zext i32 %sh.o to i64\n"
                 "  %sh = getelementptr [8 x i32], ptr addrspace(3) @aw.shared, i64 0, i64 %sh.i\n"
                 "  %some = icmp slt i32 %from, %to\n  br i1 %some, label %loop, label %done\n"
                 "loop:\n"
                 "  %i = phi i32 [ %from, %rows ], [ %i.next, %more ]\n  %sum = phi double [ 0.0, %rows ], [ %sum.next, %more ]\n"
    "  %flag = phi i1 [ %odd, %rows ], [ %flag.next, %more ]\n  %small = phi i8 [ %byte, %rows ], [ %small.next, %more ]\n"
                 "  %big = phi i128 [ %long, %rows ], [ %big.next, %more ]\n"
    "  %il = sext i32 %i to i64\n" TABLE("column", "p1", "i32", "4", "%il")
    "  %cl = sext i32 %column to i64\n" TABLE("value", "p2", "float", "4", "%cl")
    "  %wide = fpext float %value to double\n  %sum.next = fadd double %sum, %wide\n"
    "  %zero = fcmp oeq float %value, 0.0\n  br i1 %zero, label %stop, label %more\n" /* a second way out */
    "more:\n  call void @llvm.lifetime.start.p5(" SIZE "ptr addrspace(5) %local)\n"
    "  %place = and i64 %cl, 7\n  %count.o = mul i64 %place, 4\n  %count = getelementptr i8, ptr addrspace(1) %p5, i64 %count.o\n"
    "  %old = atomicrmw add ptr addrspace(1) %count, i32 %column monotonic, align 4\n"
    "  %shared = atomicrmw add ptr addrspace(3) %sh, i32 1 monotonic, align 4\n"
    "  %first = getelementptr i8, ptr addrspace(1) %p6, i64 %count.o\n"
    "  %pair = cmpxchg ptr addrspace(1) %first, i32 0, i32 %column monotonic monotonic, align 4\n"
    "  %took = extractvalue { i32, i1 } %pair, 1\n"
    "  %li = and i32 %column, 3\n  %ll = zext i32 %li to i64\n"
    "  %lp = getelementptr [4 x i32], ptr addrspace(5) %local, i64 0, i64 %ll\n  store i32 %column, ptr addrspace(5) %lp\n"
    "  %flag.next = xor i1 %flag, %took\n  %c8 = trunc i32 %column to i8\n  %small.next = add i8 %small, %c8\n"
    "  %c128 = zext i32 %column to i128\n  %big3 = mul i128 %big, 4294967311\n  %big.next = add i128 %big3, %c128\n"
                                                                                         "  %warp = call i32 @aw.warpid()\n  "
                                                                                         "%n32 = shl i32 %warp, 5\n  %t32 = call "
                                                                                         "i32 @aw.laneid()\n  %tt = add i32 "
                                                                                         "%n32, %t32\n" /* is %t */
    "  %same = icmp eq i32 %tt, %t\n  %one = zext i1 %same to i32\n"
    "  %i.next = add i32 %i, %one\n  %again = icmp slt i32 %i.next, %to\n  br i1 %again, label %loop, label %done\n"
                                                                                         "stop:\n  br label %done\n"
                                                                                         "done:\n"
    "  %s = phi double [ 0.0, %rows ], [ %sum.next, %more ], [ -1.0, %stop ]\n"
    "  %f = phi i1 [ false, %rows ], [ %flag.next, %more ], [ %flag, %stop ]\n"
    "  %sm = phi i8 [ 1, %rows ], [ %small.next, %more ], [ %small, %stop ]\n"
    "  %b = phi i128 [ 2, %rows ], [ %big.next, %more ], [ %big, %stop ]\n" STORE("s", "p3", "double", "8")
    "  %fl = zext i1 %f to i64\n  %sml = zext i8 %sm to i64\n  %lo = trunc i128 %b to i64\n  %b.hi = lshr i128 %b, 64\n"
    "  %hi = trunc i128 %b.hi to i64\n  %out.o = mul i64 %gl, 32\n  %out = getelementptr i8, ptr addrspace(1) %p4, i64 %out.o\n"
    "  %out1 = getelementptr i8, ptr addrspace(1) %out, i64 8\n  %out2 = getelementptr i8, ptr addrspace(1) %out, i64 16\n"
    "  %out3 = getelementptr i8, ptr addrspace(1) %out, i64 24\n"
    "  store i64 %fl, ptr addrspace(1) %out\n  store i64 %sml, ptr addrspace(1) %out1\n"
    "  store i64 %lo, ptr addrspace(1) %out2\n  store i64 %hi, ptr addrspace(1) %out3\n  br label %end\n"
                                                                                                  "end:\n  ret void\n";

struct lane_by_lane {
    int32_t start[ROWS + 1], column[4096], counts[PLACES], first[PLACES];
    float value[256];
    double sums[ROWS];
    uint64_t other[ROWS][4];
};

static void lane_by_lane_input(struct lane_by_lane *d)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; i < 256; i++)
        d->value[i] = rnd(24) ? (float)rnd(1000) - 500.5f : 0;
    for (int i = 0; i < 4096; i++)
        d->column[i] = (int32_t)rnd(256);
    for (int i = 0; i < ROWS; i++)
        d->start[i + 1] = d->start[i] + (int32_t)(rnd(4) ? rnd(9) : rnd(20));
    cr_assert_leq(d->start[ROWS], 4096);
}

static void lane_by_lane_reference(struct lane_by_lane *d, int rows)
{
    for (int g = 0; g < rows; g++) {
        double sum = 0, result = 0;
        bool flag = d->start[g] < d->start[g + 1] && (g & 1);
        uint8_t small = d->start[g] < d->start[g + 1] ? (uint8_t)g : 1;
        unsigned __int128 big = d->start[g] < d->start[g + 1] ? (unsigned __int128)g : 2;
        for (int i = d->start[g]; i < d->start[g + 1]; i++) {
            int32_t c = d->column[i];
            sum += (double)d->value[c];
            result = d->value[c] == 0 ? -1 : sum;
            if (d->value[c] == 0)
                break;
            d->counts[c & 7] += c;
            flag ^= !d->first[c & 7];
            d->first[c & 7] = d->first[c & 7] ? d->first[c & 7] : c;
            small = (uint8_t)(small + c);
            big = big * 4294967311u + (uint32_t)c;
        }
        d->sums[g] = result;
        d->other[g][0] = flag;
        d->other[g][1] = small;
        d->other[g][2] = (uint64_t)big;
        d->other[g][3] = (uint64_t)(big >> 64);
    }
}

Test(simt, lane_by_lane)
{
    static const uint32_t sizes[] = { 1, 31, 32, 33, 48, 64, 100 };
    static struct lane_by_lane got, want;
    const char *globals = "@aw.shared = internal addrspace(3) global [32 x i8] undef\n"
                          "declare void @llvm.lifetime.start.p5(" SIZE_TYPE "ptr addrspace(5))\n"
                          "declare i32 @aw.warpid()\ndeclare i32 @aw.laneid()\n";
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int form = 0; form < 3; form++) {
            const uint32_t shape[3] = { sizes[s], 1, 1 }, grid[3] = { ROWS / sizes[s], 1, 1 };
            int rows = (int)(grid[0] * sizes[s]) - 3 > 0 ? (int)(grid[0] * sizes[s]) - 3 : 1;
            simt_serialise_always = form != 2; /* at last as the estimate has it */
            lane_by_lane_input(&got);
            want = got;
            struct args a = {
                { got.start, got.column, got.value, got.sums, got.other, got.counts, got.first, (void *)(intptr_t)rows }, ""
            };
            run_form(lane_by_lane_body, globals, grid, shape, form ? shape : any_rows, 32, &a);
            simt_serialise_always = false;
            lane_by_lane_reference(&want, rows);
            cr_assert_arr_eq(got.sums, want.sums, sizeof got.sums, "%u threads, form %d", sizes[s], form);
            cr_assert_arr_eq(got.other, want.other, sizeof got.other, "%u threads, form %d", sizes[s], form);
            cr_assert_arr_eq(got.counts, want.counts, sizeof got.counts);
            cr_assert_arr_eq(got.first, want.first, sizeof got.first);
        }
}
