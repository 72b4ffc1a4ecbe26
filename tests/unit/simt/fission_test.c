/* Barriers (simt/schedule/fission.c): in loops, with numbers, that reduce, beside threads that have ended. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <string.h>

#define SHARED_ADDR \
    "  %s.o = shl i32 %t, 2\n  %s.p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %s.o\n"

Test(simt, barriers_in_loops)
{
    /* Rounds of: write own slot, barrier, read the neighbour's, barrier.  The trip count is loaded, but the same for all. */
    static const char body[] =
        LOAD("v0", "p0", "i32", "4") SHARED_ADDR
        "  %n = load i32, ptr addrspace(1) %p1\n  %t1 = add i32 %t, 1\n  %w = icmp eq i32 %t1, %a4\n"
        "  %nb = select i1 %w, i32 0, i32 %t1\n"
        "  %q.o = shl i32 %nb, 2\n  %q.p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %q.o\n"
        "  br label %loop\nloop:\n  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]\n  %v = phi i32 [ %v0, %entry ], [ %v1, %loop ]\n"
        "  store i32 %v, ptr addrspace(3) %s.p\n  call void @aw.barrier(i32 0, i32 0)\n"
        "  %x = load i32, ptr addrspace(3) %q.p\n  call void @aw.barrier(i32 0, i32 0)\n"
        "  %x3 = mul i32 %x, 3\n  %v1 = add i32 %v, %x3\n"
        "  %i1 = add i32 %i, 1\n  %more = icmp slt i32 %i1, %n\n  br i1 %more, label %loop, label %done\ndone:\n"
        STORE("v1", "p6", "i32", "4") "  ret void\n";
    static const char globals[] = "@aw.shared = internal addrspace(3) global [1024 x i8] undef\n"
                                  "declare void @aw.barrier(i32, i32)\n";
    static const uint32_t shapes[][3] = { { 128, 1, 1 }, { 100, 1, 1 }, { 16, 8, 1 }, { 7, 5, 3 } };
    for (size_t s = 0; s < 4; s++)
        for (int form = 0; form < (s ? 3 : 4); form++) {
            const uint32_t *forms[] = { NULL, shapes[s], any_rows, full_rows };
            int threads = (int)(shapes[s][0] * shapes[s][1] * shapes[s][2]);
            uint32_t v[256], r[256] = { 0 }, n = 5, next[256];
            for (int i = 0; i < 2 * threads && i < 256; i++)
                v[i] = rnd(1000);
            uint32_t keep[256];
            memcpy(keep, v, sizeof v);
            struct args a = { { v, &n, 0, 0, 0, 0, r, 0 }, { 0 } };
            struct outcome o = run_form(body, globals, (uint32_t[3]){ threads <= 128 ? 2 : 1, 1, 1 }, shapes[s], forms[form],
                                        1024, &a);
            cr_assert_eq(o.status, 0);
            for (int b = 0; b < (threads <= 128 ? 2 : 1); b++) {
                uint32_t *x = keep + b * threads;
                for (uint32_t k = 0; k < n; k++) {
                    for (int i = 0; i < threads; i++)
                        next[i] = x[i] + 3 * x[(i + 1) % threads];
                    memcpy(x, next, (size_t)threads * 4);
                }
                cr_assert_arr_eq(r + b * threads, x, (size_t)threads * 4);
            }
        }
}

Test(simt, masks_where_regions_meet)
{
    /* A mask of two origins, each behind a barrier of its own, that is needed behind yet another one: which way is an argument's
     * affair. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4")
        "  %left = icmp ne ptr addrspace(1) %p2, null\n  %again = icmp ne ptr addrspace(1) %p3, null\n"
        "  br i1 %left, label %l, label %r\n"
        "l:\n  call void @aw.barrier(i32 0, i32 0)\n  %m = icmp ne i32 %v, 3\n  br i1 %m, label %join.l, label %three\n"
        "three:\n  store i32 3, ptr addrspace(1) %p1\n  br label %join.l\n"
        "join.l:\n  %ml = phi i1 [ true, %l ], [ false, %three ]\n  br label %join\n"
        "r:\n  call void @aw.barrier(i32 0, i32 0)\n  %mr = icmp slt i32 %v, 5\n  br label %join\n"
        "join:\n  %both = phi i1 [ %ml, %join.l ], [ %mr, %r ]\n  br i1 %again, label %more, label %done\n"
        "more:\n  call void @aw.barrier(i32 0, i32 0)\n  br label %done\n"
        "done:\n  br i1 %both, label %yes, label %end\nyes:\n" STORE("v", "p6", "i32", "4") "  br label %end\nend:\n  ret void\n";
    static const uint32_t shapes[][3] = { { 128, 1, 1 }, { 100, 1, 1 }, { 16, 8, 1 } };
    for (int way = 0; way < 4; way++)
        for (size_t s = 0; s < 3; s++)
            for (int form = 0; form < 2; form++) {
                int threads = (int)(shapes[s][0] * shapes[s][1] * shapes[s][2]);
                uint32_t v[128], three = 0, r[128] = { 0 };
                for (int i = 0; i < threads; i++)
                    v[i] = 1 + rnd(10);
                struct args a = { { v, &three, way & 1 ? v : NULL, way & 2 ? v : NULL, 0, 0, r, 0 }, { 0 } };
                struct outcome o = run_form(body, "declare void @aw.barrier(i32, i32)", one, shapes[s], form ? shapes[s] : NULL,
                                            0, &a);
                cr_assert_eq(o.status, 0);
                for (int i = 0; i < threads; i++) {
                    bool both = way & 1 ? v[i] != 3 : v[i] < 5;
                    cr_assert_eq(r[i], both ? v[i] : 0, "way %d, shape %zu, thread %d: %u", way, s, i, r[i]);
                }
            }
}

Test(simt, barrier_reductions_and_early_exit)
{
    /* Threads of p0 == 0 leave first; the rest reduce three ways. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4")
        "  %out = icmp eq i32 %v, 0\n  br i1 %out, label %end, label %go\ngo:\n  %b = and i32 %v, 2\n  %q = icmp ne i32 %b, 0\n"
        "  %x = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 0, i1 %q)\n"
        "  %y = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 1, i1 %q)\n"
        "  %z = call i32 @aw.barrier.reduce(i32 1, i32 0, i32 2, i1 %q)\n  %y2 = shl i32 %y, 16\n  %z2 = shl i32 %z, 17\n"
        "  %w0 = or i32 %x, %y2\n  %w = or i32 %w0, %z2\n" STORE("w", "p6", "i32", "4")
        "  br label %end\nend:\n  ret void\n";
    uint32_t v[160], r[160];
    for (int k = 0; k < 3; k++) {
        uint32_t count = 0, all = 1, any = 0;
        for (int i = 0; i < 160; i++) {
            v[i] = i / 32 == 2 ? 0 : k == 0 ? rnd(4) : k == 1 ? 2 : 1; /* warp 2 leaves whole */
            r[i] = 9;
            if (v[i]) {
                count += (v[i] & 2) != 0;
                all &= (v[i] & 2) != 0;
                any |= (v[i] & 2) != 0;
            }
        }
        struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
        struct outcome o = run_body(body, "declare i32 @aw.barrier.reduce(i32, i32, i32, i1)", one, (uint32_t[3]){ 160, 1, 1 },
                                    false, 0, &a);
        cr_assert_eq(o.status, 0);
        for (int i = 0; i < 160; i++)
            cr_assert_eq(r[i], v[i] ? count | all << 16 | any << 17 : 9, "thread %d: %#x", i, r[i]);
    }
}

Test(simt, named_barriers)
{
    /* Warp 0 arrives at barrier 3 and goes on; warp 1 waits there for both. */
    static const char body[] =
        "  %w = lshr i32 %t, 5\n  %first = icmp eq i32 %w, 0\n  br i1 %first, label %give, label %take\ngive:\n"
        "  store i32 41, ptr addrspace(3) @aw.shared\n  call void @aw.barrier.arrive(i32 3, i32 64)\n  br label %end\ntake:\n"
        "  call void @aw.barrier(i32 3, i32 64)\n  %x = load i32, ptr addrspace(3) @aw.shared\n" STORE("x", "p6", "i32", "4")
        "  br label %end\nend:\n  ret void\n";
    uint32_t r[64] = { 0 };
    struct args a = { { 0, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    struct outcome o = run_body(body, "@aw.shared = internal addrspace(3) global [4 x i8] undef\n"
                                      "declare void @aw.barrier(i32, i32)\n"
                                "declare void @aw.barrier.arrive(i32, i32)\n", one, (uint32_t[3]){ 64, 1, 1 }, false, 4, &a);
    cr_assert_eq(o.status, 0);
    cr_assert_eq(o.arrivals, 1);
    for (int i = 32; i < 64; i++)
        cr_assert_eq(r[i], 41);
}
