/* Rows of uneven length, a thread each, in loops that were unrolled with one for the remainder first: one loop stands for both
 * where they are counted as nvcc counts them and no index wraps (ptx/simt/rewrite/reroll.c), and lanes take their turns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 160, ELEMENTS = 4096, TABLE = 256 };

/* How the rounds are counted: `slip` too many, and as enough for the second loop where less than -limit are none. */
struct counted {
    int slip, limit;
    bool united;
};

static uint32_t state = 4711;
static uint32_t rnd(uint32_t n)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % n;
}

#define ELEMENT(n, at) \
    "  %q" n " = inttoptr i64 " at " to ptr addrspace(1)\n  %l" n " = load i32, ptr addrspace(1) %q" n "\n" \
    "  %m" n " = and i32 %l" n ", 255\n  %g" n " = sext i32 %m" n " to i64\n" \
    "  %h" n " = shl nsw i64 %g" n ", 2\n  %t" n " = getelementptr i8, ptr addrspace(1) %table, i64 %h" n "\n" \
    "  %x" n " = load i32, ptr addrspace(1) %t" n "\n"
#define SUM(n, from) "  %p" n " = mul i32 " from ", 31\n  %s" n " = add i32 %p" n ", %x" n "\n"

static const char head[] =
    "declare i32 @aw.tid.x()\ndeclare i32 @llvm.smax.i32(i32, i32)\n"
    "define void @k(ptr addrspace(4) byref([80 x i8]) align 16 %ka) \"aw-kernel\" {\nentry:\n"
    "  %ranges = load ptr addrspace(1), ptr addrspace(4) %ka\n  %k1 = getelementptr i8, ptr addrspace(4) %ka, i64 8\n"
    "  %base = load i64, ptr addrspace(4) %k1\n  %k2 = getelementptr i8, ptr addrspace(4) %ka, i64 16\n"
    "  %table = load ptr addrspace(1), ptr addrspace(4) %k2\n  %k3 = getelementptr i8, ptr addrspace(4) %ka, i64 24\n"
    "  %sums = load ptr addrspace(1), ptr addrspace(4) %k3\n  %t = call i32 @aw.tid.x()\n  %tl = zext i32 %t to i64\n"
    "  %ro = shl i64 %tl, 3\n  %rp = getelementptr i8, ptr addrspace(1) %ranges, i64 %ro\n"
    "  %from = load i32, ptr addrspace(1) %rp\n"
    "  %tp = getelementptr i8, ptr addrspace(1) %rp, i64 4\n  %to = load i32, ptr addrspace(1) %tp\n"
    "  %below = icmp slt i32 %from, %to\n  br i1 %below, label %go, label %out\n"
    "go:\n  %n1 = add i32 %from, 1\n  %end = call i32 @llvm.smax.i32(i32 %to, i32 %n1)\n  %n = sub i32 %end, %from\n";
static const char loops[] =
    "  %none = icmp eq i32 %few, 0\n  br i1 %none, label %join, label %enter\n"
    "enter:\n  %f64 = sext i32 %from to i64\n  %fo = shl nsw i64 %f64, 2\n  %a0 = add i64 %base, %fo\n  br label %rest\n"
    "rest:\n  %left = phi i32 [ %few, %enter ], [ %left.n, %rest ]\n  %i = phi i32 [ %from, %enter ], [ %i.n, %rest ]\n"
    "  %a = phi i64 [ %a0, %enter ], [ %a.n, %rest ]\n  %sum = phi i32 [ 7, %enter ], [ %s0, %rest ]\n"
    ELEMENT("0", "%a") SUM("0", "%sum")
    "  %i.n = add i32 %i, 1\n  %a.n = add i64 %a, 4\n  %left.n = add i32 %left, -1\n"
    "  %done = icmp eq i32 %left.n, 0\n  br i1 %done, label %join, label %rest\n"
    "join:\n  %sum1 = phi i32 [ 7, %go ], [ %s0, %rest ]\n  %i1 = phi i32 [ %from, %go ], [ %i.n, %rest ]\n"
    "  %back = sub i32 %from, %end\n"
    "  %less = icmp ugt i32 %back, LIMIT\n  br i1 %less, label %out, label %main.enter\n"
    "main.enter:\n  %i64 = sext i32 %i1 to i64\n  %io = shl nsw i64 %i64, 2\n  %b0 = add i64 %base, %io\n  br label %main\n"
    "main:\n  %j = phi i32 [ %i1, %main.enter ], [ %j.n, %main ]\n  %b = phi i64 [ %b0, %main.enter ], [ %b.n, %main ]\n"
    "  %sum2 = phi i32 [ %sum1, %main.enter ], [ %s4, %main ]\n"
    ELEMENT("1", "%b") SUM("1", "%sum2")
    "  %b2 = add i64 %b, 4\n" ELEMENT("2", "%b2") SUM("2", "%s1")
    "  %b3 = add i64 %b, 8\n" ELEMENT("3", "%b3") SUM("3", "%s2")
    "  %b4 = add i64 %b, 12\n" ELEMENT("4", "%b4") SUM("4", "%s3")
    "  %j.n = add i32 %j, 4\n  %b.n = add i64 %b, 16\n  %more = icmp slt i32 %j.n, %to\n"
    "  br i1 %more, label %main, label %out\n"
    "out:\n  %r = phi i32 [ 7, %entry ], [ %sum1, %join ], [ %s4, %main ]\n  %so = shl i64 %tl, 2\n"
    "  %sp = getelementptr i8, ptr addrspace(1) %sums, i64 %so\n  store i32 %r, ptr addrspace(1) %sp\n  ret void\n}\n";

static char *kernel_text(const struct counted *c)
{
    struct aw_buf b = { 0 };
    const char *limit = strstr(loops, "LIMIT");
    aw_buf_printf(&b, "%s", head);
    if (c->slip)
        aw_buf_printf(&b, "  %%n.slip = add i32 %%n, %d\n", c->slip);
    aw_buf_printf(&b, "  %%few = and i32 %s, 3\n%.*s%d%s", c->slip ? "%n.slip" : "%n", (int)(limit - loops), loops, c->limit,
                  limit + strlen("LIMIT"));
    return b.ptr;
}

static uint32_t reference(const struct counted *c, const int32_t range[2], const int32_t *base, const uint32_t *table)
{
    uint32_t sum = 7, from = (uint32_t)range[0];
    if (range[0] >= range[1])
        return sum;
    uint32_t n = (uint32_t)range[1] - from, few = (n + (uint32_t)c->slip) & 3;
    int64_t i = range[0];
    for (; few; few--)
        sum = sum * 31 + table[base[i++] & 255];
    if (-n > (uint32_t)c->limit)
        return sum;
    do
        for (int k = 0; k < 4; k++)
            sum = sum * 31 + table[base[i++] & 255];
    while ((int32_t)i < range[1]);
    return sum;
}

/* Rows that begin anywhere from index `first` on, of up to `most` elements. */
static void check(const char *target, const struct counted *c, int32_t first, int32_t most)
{
    static int32_t elements[ELEMENTS], ranges[THREADS][2];
    static uint32_t table[TABLE], sums[THREADS];
    static const uint32_t one[3] = { 1, 1, 1 }, block[3] = { THREADS, 1, 1 };
    const int32_t *base = (const int32_t *)((uintptr_t)elements - 4 * (uintptr_t)first);
    struct { const void *ranges, *base, *table; void *sums; char rest[48]; } args = { ranges, base, table, sums, { 0 } };
    struct aw_buf diags = { 0 };
    struct built b;
    for (int i = 0; i < ELEMENTS; i++)
        elements[i] = (int32_t)rnd(1 << 24);
    for (int i = 0; i < TABLE; i++)
        table[i] = rnd(1 << 24) * 251;
    for (int t = 0; t < THREADS; t++) {
        int64_t from = first + (int64_t)rnd((uint32_t)most), to = from + (int64_t)rnd((uint32_t)most) - 3;
        ranges[t][0] = (int32_t)(from < INT32_MAX - 12 ? from : INT32_MAX - 12);
        ranges[t][1] = (int32_t)(to < INT32_MAX - 8 ? to : INT32_MAX - 8);
    }
    char *ir = kernel_text(c), *text = emit_simt(ir, target, AW_EMIT_IR_OPT, &diags);
    bool can = strcmp(target, "host") != 0; /* that may have gathers, and take rows side by side */
    cr_assert(text, "%s", diags.ptr);
    /* where an index might wrap, they stay two */
    bool united = strstr(text, "(i32 21474836") || strstr(text, "<i32 21474836"); /* a splat, as LLVM prints it before 20, too */
    cr_assert(!can || united == c->united, "%s, slip %d, limit %d\n%s", target, c->slip, c->limit, text);
    cr_assert(build_simt(ir, target, block, 0, &b, &diags), "%s", diags.ptr);
    cr_assert_eq(launch(&b, one, block, 0, &args).status, 0);
    unload(&b);
    for (int t = 0; t < THREADS; t++)
        cr_assert_eq(sums[t], reference(c, ranges[t], base, table), "%s, slip %d, limit %d, thread %d: %d to %d", target, c->slip,
                     c->limit, t, ranges[t][0], ranges[t][1]);
    free(text);
    free(ir);
}

Test(rows, uneven)
{
    static const struct counted forms[] = { { 0, -4, true }, { 1, -4, false }, { 0, -5, false }, { 0, -3, false } };
    static const char *const targets[] = { "host", "host:x86-64-v3,-fast-gather", "host:x86-64" };
    for (size_t m = 0; m < sizeof targets / sizeof *targets; m++)
        for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
            check(targets[m], &forms[form], 0, 40);
            check(targets[m], &forms[form], -20, 500);
            check(targets[m], &forms[form], INT32_MAX - 60, 44);
        }
}
