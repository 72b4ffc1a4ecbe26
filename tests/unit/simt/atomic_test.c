/* Atomic updates (simt/emit/atomic.c, rmw.c): lanes in order, so that even the old values are known. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rmw(const char *op, uint64_t old, uint64_t x, int bits)
{
    uint64_t mask = bits == 64 ? ~UINT64_C(0) : 0xffffffffu;
    int64_t so = bits == 64 ? (int64_t)old : (int32_t)old, sx = bits == 64 ? (int64_t)x : (int32_t)x;
    uint64_t r = 0;
    if (!strcmp(op, "xchg")) r = x;
    else if (!strcmp(op, "add")) r = old + x;
    else if (!strcmp(op, "sub")) r = old - x;
    else if (!strcmp(op, "and")) r = old & x;
    else if (!strcmp(op, "nand")) r = ~(old & x);
    else if (!strcmp(op, "or")) r = old | x;
    else if (!strcmp(op, "xor")) r = old ^ x;
    else if (!strcmp(op, "max")) r = (uint64_t)(so > sx ? so : sx);
    else if (!strcmp(op, "min")) r = (uint64_t)(so < sx ? so : sx);
    else if (!strcmp(op, "umax")) r = old > x ? old : x;
    else if (!strcmp(op, "umin")) r = old < x ? old : x;
    else if (!strcmp(op, "uinc_wrap")) r = old >= x ? 0 : old + 1;
    else if (!strcmp(op, "udec_wrap")) r = old == 0 || old > x ? x : old - 1;
    else cr_assert(0, "%s", op);
    return r & mask;
}

static void check_atomic(const char *op, int bits, bool shared, bool all)
{
    enum { SLOTS = 5 };
    char body[4096];
    const char *sp = shared ? "3" : "1";
    snprintf(body, sizeof body,
             FLOAD("v", "p0", "i64", "8") FLOAD("s", "p1", "i32", "4") FLOAD("a", "p5", "i32", "4")
             "  %%x = %s i64 %%v to i%d\n  %%so = mul i32 %%s, 8\n"
                            "  %%q = getelementptr i8, ptr addrspace(%s) %s, i32 %%so\n"
                            "  %%act = icmp ne i32 %%a, 0\n  br i1 %%act, label %%go, label %%end\ngo:\n"
                            "  %%o = atomicrmw %s ptr addrspace(%s) %%q, i%d %%x monotonic\n  %%r = %s i%d %%o to i64\n" FSTORE(
                                "r", "p6", "i64", "8") "  br label %%end\nend:\n"
                                                       "%s  ret void\n",
             bits == 64 ? "bitcast" : "trunc", bits, sp, shared ? "@aw.shared" : "%p2", op, sp, bits,
             bits == 64 ? "bitcast" : "zext", bits,
             /* Copies shared memory out at the end; every lane that runs last sees the same. */
             shared ? "  %y = load i64, ptr addrspace(3) @aw.shared\n  store i64 %y, ptr addrspace(1) %p2\n"
                      "  %y1p = getelementptr i8, ptr addrspace(3) @aw.shared, i32 8\n  %y1 = load i64, ptr addrspace(3) %y1p\n"
                      "  %y1q = getelementptr i8, ptr addrspace(1) %p2, i32 8\n  store i64 %y1, ptr addrspace(1) %y1q\n" : "");
    uint64_t v[64], r[64], memory[SLOTS] = { 0 }, expect[SLOTS];
    uint32_t s[64], act[64];
    for (int i = 0; i < 64; i++) {
        v[i] = (uint64_t)rnd(0x7fffffff) * 12345;
        if (strstr(op, "wrap"))
            v[i] = rnd(4);
        s[i] = shared ? rnd(2) : rnd(SLOTS);
        act[i] = all || rnd(4);
        r[i] = 1;
    }
    if (!shared)
        for (int i = 0; i < SLOTS; i++)
            memory[i] = (uint64_t)rnd(0x7fffffff) << 20 | rnd(1 << 20);
    memcpy(expect, memory, sizeof memory);
    char globals[128] = "";
    if (shared)
        snprintf(globals, sizeof globals, "@aw.shared = internal addrspace(3) global [16 x i8] zeroinitializer\n");
    struct args a = { { v, s, memory, 0, 0, act, r, 0 }, { 0 } };
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", NULL, shared ? 16 : 0);
    launch(&b, one, (uint32_t[3]){ 64, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    if (shared)
        memset(expect, 0, sizeof expect);
    for (int i = 0; i < 64; i++) {
        if (!act[i]) {
            cr_assert_eq(r[i], 1);
            continue;
        }
        uint64_t mask = bits == 64 ? ~UINT64_C(0) : 0xffffffffu, old = expect[s[i]] & mask;
        cr_assert_eq(r[i], old, "%s i%d %s thread %d: old %#lx, not %#lx", op, bits, shared ? "shared" : "global", i, r[i], old);
        expect[s[i]] = (expect[s[i]] & ~mask) | rmw(op, old, v[i] & mask, bits);
    }
    for (int i = 0; i < (shared ? 2 : SLOTS); i++)
        cr_assert_eq(memory[i], expect[i], "%s i%d slot %d", op, bits, i);
}

Test(simt, atomics)
{
    static const char *const ops[] = { "xchg", "add", "sub", "and", "nand", "or", "xor", "max", "min", "umax", "umin",
                                       "uinc_wrap", "udec_wrap" };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int k = 0; k < 8; k++)
            check_atomic(ops[i], k & 1 ? 64 : 32, k & 2, k & 4);
}

Test(simt, compare_and_swap)
{
    /* A lane's swap succeeds when it holds the next number: lanes in order make a chain. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4") "  %n = add i32 %v, 1\n"
        "  %pr = cmpxchg ptr addrspace(1) %p1, i32 %v, i32 %n monotonic monotonic\n  %x = extractvalue {i32,i1} %pr, 0\n"
        "  %y1 = extractvalue {i32,i1} %pr, 1\n  %y = zext i1 %y1 to i32\n"
        "  %sr = cmpxchg ptr addrspace(3) @aw.shared, i32 %v, i32 %n monotonic monotonic\n  %z = extractvalue {i32,i1} %sr, 0\n"
        "  %same = icmp eq i32 %x, %z\n  %e = zext i1 %same to i32\n"
        STORE("x", "p6", "i32", "4") STORE("y", "p7", "i32", "4") STORE("e", "p2", "i32", "4") "  ret void\n";
    uint32_t v[32], x[32], y[32], e[32], cell = 0, at = 0;
    for (int i = 0; i < 32; i++)
        v[i] = rnd(3) ? (uint32_t)(i * 2 / 3) : 0;
    struct args a = { { v, &cell, e, 0, 0, 0, x, y }, { 0 } };
    char *ir = kernel_text(body, "@aw.shared = internal addrspace(3) global [16 x i8] zeroinitializer\n");
    struct built b = build_or_fail(ir, "host", NULL, 16);
    launch(&b, one, (uint32_t[3]){ 32, 1, 1 }, 0, &a);
    unload(&b);
    free(ir);
    for (int i = 0; i < 32; i++) {
        cr_assert_eq(x[i], at);
        cr_assert_eq(y[i], at == v[i]);
        cr_assert_eq(e[i], 1, "shared and global differ for lane %d", i);
        at += at == v[i];
    }
    cr_assert_eq(cell, at);
}
