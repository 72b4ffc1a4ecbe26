/* Runs of guards (simt/rewrite/merge_guards.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Neighbouring elements that a thread asks for one by one: a chain of guards around loads, one around stores, and what both
 * leave. */
static char *guarded_elements(int each)
{
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%n = load i32, ptr addrspace(1) %%p1\n  %%begin = load i32, ptr addrspace(1) %%p2\n"
                      "  %%o = mul i64 %%gl, %d\n"
                  "  %%s = getelementptr i8, ptr addrspace(1) %%p0, i64 %%o\n"
                  "  %%d = getelementptr i8, ptr addrspace(1) %%p6, i64 %%o\n"
                  "  %%g4 = mul i32 %%g, %d\n  %%k0 = add i32 %%g4, %%begin\n  br label %%h0\nh0:\n", 4 * each, each);
    for (int j = 0; j < each; j++)
        aw_buf_printf(&b, "  %%i%d = add i32 %%k0, %d\n  %%c%d = icmp ult i32 %%i%d, %%n\n"
                          "  br i1 %%c%d, label %%l%d, label %%h%d\n"
                      "l%d:\n  %%q%d = getelementptr i8, ptr addrspace(1) %%s, i64 %d\n"
                      "  %%x%d = load i32, ptr addrspace(1) %%q%d\n  br label %%h%d\n"
                      "h%d:\n  %%v%d = phi i32 [ 5, %%h%d ], [ %%x%d, %%l%d ]\n  %%y%d = add i32 %%%s%d, %%v%d\n",
                      j, j, j, j, j, j, j + 1, j, j, 4 * j, j, j, j + 1, j + 1, j, j, j, j, j, j ? "y" : "v", j ? j - 1 : 0, j);
    aw_buf_printf(&b, "  %%left = add i32 %%y%d, %%i%d\n  br label %%w0\nw0:\n", each - 1, each - 1);
    for (int j = 0; j < each; j++)
        aw_buf_printf(&b, "  br i1 %%c%d, label %%t%d, label %%w%d\nt%d:\n"
                      "  %%r%d = getelementptr i8, ptr addrspace(1) %%d, i64 %d\n"
                      "  store i32 %%y%d, ptr addrspace(1) %%r%d\n  br label %%w%d\nw%d:\n",
                      j, j, j + 1, j, j, 4 * j, j, j, j + 1, j + 1);
    aw_buf_printf(&b, "  %%lo = mul i64 %%gl, 4\n  %%lp = getelementptr i8, ptr addrspace(1) %%p7, i64 %%lo\n"
                  "  store i32 %%left, ptr addrspace(1) %%lp\n  ret void\n");
    return b.ptr;
}

Test(simt, runs_of_guards)
{
    enum { T = 96 };
    static const char *const machines[] = { "host", "host:x86-64-v3" };
    static uint32_t in[T * 4], out[T * 4], left[T];
    for (int round = 0; round < 60; round++) {
        uint32_t each = round & 1 ? 2 : 4, shape[3] = { round % 5 == 4 ? 80 : T, 1, 1 };
        /* lane 31's last elements */
        uint32_t whole = 32 * each * (1 + rnd(3)), n = round % 3 ? whole - rnd(each + 1) : rnd(T * each + 40);
        uint32_t begin = round % 4 == 3 ? -rnd(T * 2) : 0; /* where it is not 0, guards wrap around */
        char *body = guarded_elements((int)each), *ir = kernel_text(body, "");
        struct built b = build_or_fail(ir, machines[round / 2 % 2], shape, 0);
        struct args a = { { in, &n, &begin, 0, 0, 0, out, left }, { 0 } };
        for (uint32_t i = 0; i < T * 4; i++)
            in[i] = rnd(0x7fffffff);
        memset(out, 0, sizeof out);
        launch(&b, one, shape, 0, &a);
        unload(&b);
        free(ir);
        free(body);
        for (uint32_t t = 0; t < shape[0]; t++) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < each; j++) {
                uint32_t at = t * each + j, v = at + begin < n ? in[at] : 5;
                sum += j ? v : 2 * v;
                cr_assert_eq(out[at], at + begin < n ? sum : 0, "round %d: element %u of %u", round, at, n);
            }
            cr_assert_eq(left[t], sum + t * each + begin + each - 1, "round %d: thread %u", round, t);
        }
    }
}
