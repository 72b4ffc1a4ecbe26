/* Calls (simt/emit/call.c): recursion, the runtime's services, what is not known. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include "base/status.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(simt, recursion_with_own_depths)
{
    /* Fibonacci by lanes of different depth; the callee has a stack variable of its own and returns on two paths. */
    static const char globals[] =
        "define internal i64 @fib(ptr addrspace(4) %ka, i32 %n, ptr addrspace(5) %calls) {\n"
        "  %c = load i32, ptr addrspace(5) %calls\n  %c1 = add i32 %c, 1\n  store i32 %c1, ptr addrspace(5) %calls\n"
        "  %small = icmp ult i32 %n, 2\n  br i1 %small, label %leaf, label %deep\nleaf:\n  %nl = zext i32 %n to i64\n"
        "  ret i64 %nl\ndeep:\n"
        "  %n1 = sub i32 %n, 1\n  %n2 = sub i32 %n, 2\n"
        "  %a = call i64 @fib(ptr addrspace(4) %ka, i32 %n1, ptr addrspace(5) %calls)\n"
        "  %b = call i64 @fib(ptr addrspace(4) %ka, i32 %n2, ptr addrspace(5) %calls)\n  %r = add i64 %a, %b\n  ret i64 %r\n}\n";
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %n = alloca i32, align 4, addrspace(5)\n  store i32 0, ptr addrspace(5) %n\n"
        "  %odd = and i32 %v, 1\n  %is = icmp eq i32 %odd, 0\n  br i1 %is, label %go, label %end\ngo:\n"
        "  %x = call i64 @fib(ptr addrspace(4) %ka, i32 %v, ptr addrspace(5) %n)\n  %y = load i32, ptr addrspace(5) %n\n"
        STORE("x", "p6", "i64", "8") STORE("y", "p7", "i32", "4") "  br label %end\nend:\n  ret void\n";
    uint32_t v[40], y[40];
    uint64_t x[40];
    for (int i = 0; i < 40; i++) {
        v[i] = rnd(14);
        x[i] = 99;
    }
    struct args a = { { v, 0, 0, 0, 0, 0, x, y }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, 0);
    cr_assert_geq(b.object->stack_bytes, 1u << 20, "a recursive kernel asks for a deep stack");
    launch(&b, one, (uint32_t[3]){ 40, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    uint64_t fib[20] = { 0, 1 }, calls[20] = { 1, 1 };
    for (int i = 2; i < 20; i++) {
        fib[i] = fib[i - 1] + fib[i - 2];
        calls[i] = calls[i - 1] + calls[i - 2] + 1;
    }
    for (int i = 0; i < 40; i++) {
        cr_assert_eq(x[i], v[i] & 1 ? 99 : fib[v[i]], "lane %d", i);
        if (!(v[i] & 1))
            cr_assert_eq(y[i], calls[v[i]], "lane %d made %u calls", i, y[i]);
    }
}

Test(simt, traps_and_asserts)
{
    static const char trap_body[] =
        LOAD("v", "p0", "i32", "4") "  %bad = icmp eq i32 %v, 7\n  br i1 %bad, label %die, label %fine\n"
        "die:\n  call void @aw.trap(i32 %v)\n  unreachable\nfine:\n" STORE("v", "p6", "i32", "4") "  ret void\n";
    uint32_t v[40] = { 0 }, r[40] = { 0 };
    struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    for (int i = 0; i < 40; i++)
        v[i] = 100 + i;
    struct outcome o = run_body(trap_body, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 0);
    cr_assert_eq(r[39], 139);
    v[33] = 7;
    o = run_body(trap_body, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 7);

    static const char assert_body[] =
        LOAD("v", "p0", "i32", "4") "  %bad = icmp eq i32 %v, 7\n  br i1 %bad, label %die, label %fine\n"
        "die:\n  %m = addrspacecast ptr addrspace(1) %p1 to ptr\n  %f = addrspacecast ptr addrspace(1) %p2 to ptr\n"
        "  call void @aw.assertfail(ptr %m, ptr %f, i32 55, ptr %m)\n  unreachable\nfine:\n  ret void\n";
    struct args b = { { v, "x > 0", "a.cu", 0, 0, 0, r, 0 }, { 0 } };
    v[36] = v[39] = 7; /* all lanes of a warp that fail together */
    o = run_body(assert_body, "declare void @aw.assertfail(ptr, ptr, i32, ptr)", one, (uint32_t[3]){ 40, 1, 1 }, false, 0, &b);
    cr_assert_eq(o.status, AW_ERR_ASSERT);
    cr_assert_eq(o.assert_threads, UINT64_C(0x9200000000));
    cr_assert_str_eq(o.output, "x > 0 a.cu 55 x > 0");
}

Test(simt, printf_heap_sleep_and_spin)
{
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %some = icmp ult i32 %v, 3\n  br i1 %some, label %say, label %rest\nsay:\n"
        "  %b = alloca i32, align 4, addrspace(5)\n  store i32 %t, ptr addrspace(5) %b\n"
        "  %bg = addrspacecast ptr addrspace(5) %b to ptr\n"
        "  %f = addrspacecast ptr addrspace(1) %p1 to ptr\n  %n = call i32 @aw.vprintf(ptr %f, ptr %bg)\n  br label %rest\n"
        "rest:\n  %m = call ptr @aw.malloc(i64 8)\n  store i32 %t, ptr %m\n  %x = load i32, ptr %m\n"
        "  call void @aw.free(ptr %m)\n"
        STORE("x", "p6", "i32", "4") "  call void @aw.nanosleep(i32 5)\n  %time = call i64 @aw.globaltimer()\n"
                                     "  %ti = trunc i64 %time to i32\n"
        STORE("ti", "p7", "i32", "4") "  br label %spin\nspin:\n  %flag = load volatile i32, ptr addrspace(1) %p2\n"
        "  %wait = icmp eq i32 %flag, 0\n  br i1 %wait, label %spin, label %end\nend:\n  ret void\n";
    static const char globals[] = "declare i32 @aw.vprintf(ptr, ptr)\ndeclare ptr @aw.malloc(i64)\ndeclare void @aw.free(ptr)\n"
                                  "declare void @aw.nanosleep(i32)\ndeclare i64 @aw.globaltimer()\n";
    uint32_t v[32], x[32], ti[32], flag = 1;
    for (int i = 0; i < 32; i++)
        v[i] = 9;
    v[2] = v[30] = v[7] = 1;
    struct args a = { { v, "f", &flag, 0, 0, 0, x, ti }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, 0);
    cr_assert(b.object->flags & AW_HOST_YIELD);
    struct outcome o = launch(&b, one, (uint32_t[3]){ 32, 1, 1 }, 0, &a);
    cr_assert_eq(o.yields, 1, "for the sleep; the loop need not wait");
    flag = 0;
    third_yield_sets = &flag;
    struct outcome waits = launch(&b, one, (uint32_t[3]){ 32, 1, 1 }, 0, &a);
    third_yield_sets = NULL;
    unload(&b);
    free(ir);
    cr_assert_str_eq(o.output, "f:2;f:7;f:30;");
    cr_assert_eq(waits.yields, 3, "for the sleep, and where the loop has looked in vain twice");
    for (uint32_t i = 0; i < 32; i++) {
        cr_assert_eq(x[i], i);
        cr_assert_eq(ti[i], 12345);
    }
}

Test(simt, unknown_operations_are_errors)
{
    char *ir = kernel_text("  call void @mystery()\n  ret void\n", "declare void @mystery()");
    struct aw_buf diags = { 0 };
    struct built b;
    cr_assert_not(build_simt(ir, "host", NULL, 0, &b, &diags));
    cr_assert(strstr(diags.ptr, "mystery"), "%s", diags.ptr);
    free(ir);
    aw_buf_fini(&diags);
}
