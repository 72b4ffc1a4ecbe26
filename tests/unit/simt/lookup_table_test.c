/* Small tables (simt/emit/lookup_table.c): up to the last byte before memory that is not there. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Rows of 16 words from p1 + 4 * the block's index on: each lane adds up its own column of as many rows as it likes. */
static void check_table(const char *target, const char *own, unsigned columns, const uint32_t built_for[3], int rows, bool last)
{
    enum { PAGE = 4096, THREADS = 75 };
    static const char body[] =
        FLOAD("i", "p0", "i32", "4") FLOAD("rounds", "p2", "i32", "4")
        "%s  %%on = icmp ne i32 %%rounds, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%o = shl i32 %%own, 2\n  %%ol = zext i32 %%o to i64\n  %%u = shl i32 %%cx, 2\n  %%ul = zext i32 %%u to i64\n"
        "  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%row = add i64 %%p1i, %%ul\n  %%begin = add i64 %%row, %%ol\n"
        "  br label %%loop\n"
        "loop:\n  %%at = phi i64 [ %%begin, %%go ], [ %%at.next, %%loop ]\n"
        "  %%n = phi i32 [ %%rounds, %%go ], [ %%n.next, %%loop ]\n"
        "  %%sum = phi i32 [ 0, %%go ], [ %%sum.next, %%loop ]\n"
        "  %%p = inttoptr i64 %%at to ptr addrspace(1)\n  %%x = load i32, ptr addrspace(1) %%p, align 4\n"
        "  %%sum3 = mul i32 %%sum, 3\n"
        "  %%sum.next = add i32 %%sum3, %%x\n  %%at.next = add i64 %%at, 64\n  %%n.next = add i32 %%n, -1\n"
        "  %%more = icmp ne i32 %%n.next, 0\n  br i1 %%more, label %%loop, label %%done\n"
        "done:\n" FSTORE("sum.next", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n";
    uint32_t in[2 * THREADS], rounds[2 * THREADS], got[2 * THREADS];
    char *text, *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + 2 * PAGE, PAGE, PROT_NONE), 0);
    for (int i = 0; i < 2 * PAGE; i++)
        memory[i] = (char)rnd(256);
    /* The second block's last row ends with its fifth column where memory does. */
    const uint32_t *first = (const uint32_t *)(memory +
                                               (last ? 2 * PAGE - 64 * (rows - 1) - 4 - 20 : PAGE - 64 + 4 * (int)rnd(16)));
    for (int i = 0; i < 2 * THREADS; i++) {
        in[i] = rnd(1u << 31);
        unsigned column = columns == 32 ? in[i] & 31 : in[i] >> 7 & 15;
        rounds[i] = rnd(4) ? rnd((uint32_t)rows + 1) : 0;
        rounds[i] = last && (column > 4 || (columns == 32 && column > 15)) ? 0 : rounds[i];
        got[i] = 1;
    }
    cr_assert_geq(asprintf(&text, body, own), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { in, (void *)first, rounds, 0, 0, 0, got, 0 }, "" };
    struct built b = build_or_fail(ir, target, built_for, 0);
    launch(&b, (uint32_t[3]){ 2, 1, 1 }, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    for (int i = 0; i < 2 * THREADS; i++) {
        unsigned column = columns == 32 ? in[i] & 31 : in[i] >> 7 & 15;
        uint32_t sum = 0;
        for (uint32_t k = 0; k < rounds[i]; k++)
            sum = sum * 3 + first[k * 16 + column + (unsigned)i / THREADS];
        cr_assert_eq(got[i], rounds[i] ? sum : 1, "%s, %u columns, %d rows, thread %d", target, columns, rows, i);
    }
    munmap(memory, 3 * PAGE);
    free(text);
    free(ir);
}

Test(simt, small_tables)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" };
    static const uint32_t fixed[3] = { 75, 1, 1 };
    for (size_t t = 0; t < sizeof targets / sizeof *targets; t++)
        for (int k = 0; k < 8; k++) {
            const char *sixteen = "  %own0 = lshr i32 %i, 7\n  %own = and i32 %own0, 15\n", *more = "  %own = and i32 %i, 31\n";
            check_table(targets[t], k & 1 ? more : sixteen, k & 1 ? 32 : 16, k & 2 ? fixed : NULL, 1 + (int)rnd(6), k & 4);
        }
}

/* Lanes count in a table of the block's, of which memory has only the first few elements; some lanes are off, perhaps nearly
 * all. */
static void check_counts(const char *op, const char *target, unsigned bits, unsigned present, unsigned on)
{
    enum { PAGE = 4096, THREADS = 75 };
    char *text, *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t in[THREADS], want[32], *first = (uint32_t *)(memory + PAGE) - present;
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
    for (unsigned i = 0; i < present; i++)
        first[i] = want[i] = rnd(1u << 30);
    for (int i = 0; i < THREADS; i++) {
        in[i] = rnd(present) << 3 | rnd(8);
        if (rnd(32) >= on)
            in[i] |= 1u << 31;
        else
            want[in[i] >> 3] += *op == 's' ? -7u : 7;
    }
    cr_assert_geq(asprintf(&text, FLOAD("i", "p0", "i32", "4") "  %%on = icmp sge i32 %%i, 0\n"
                                                               "  br i1 %%on, label %%go, label %%end\n"
        "go:\n  %%o0 = lshr i32 %%i, 3\n  %%o1 = and i32 %%o0, %u\n  %%o = shl i32 %%o1, 2\n  %%ol = zext i32 %%o to i64\n"
        "  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n  %%qi = add i64 %%p1i, %%ol\n"
        "  %%q = inttoptr i64 %%qi to ptr addrspace(1)\n"
        "  %%old = atomicrmw %s ptr addrspace(1) %%q, i32 7 syncscope(\"workgroup\") monotonic\n  br label %%end\nend:\n"
        "  ret void\n",
        (1u << bits) - 1, op), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { in, first, 0, 0, 0, 0, 0, 0 }, "" };
    struct built b = build_or_fail(ir, target, NULL, 0);
    launch(&b, one, (uint32_t[3]){ THREADS, 1, 1 }, 0, &a);
    unload(&b);
    cr_assert_arr_eq(first, want, present * sizeof *want, "%s, %u bits, %u elements, %u of 32 lanes", target, bits, present, on);
    munmap(memory, 2 * PAGE);
    free(text);
    free(ir);
}

Test(simt, counts_in_small_tables)
{
    for (unsigned bits = 2; bits <= 6; bits++)
        for (unsigned on = 4; on <= 32; on += 14) {
            check_counts("add", "host", bits, bits < 5 ? 1u << bits : 5, on);
            check_counts("sub", "host", bits, 3, on);
            check_counts("add", "host:x86-64-v3", bits, 3, on);
        }
}

/* The same in shared memory, of which the table is a part, in a row of a cache line or across two; what is around it stays. */
Test(simt, counts_in_shared_tables)
{
    enum { THREADS = 160, WORDS = 64 };
    static const char body[] =
        "  %%to = shl i32 %%t, 2\n  %%w = icmp ult i32 %%t, 64\n  br i1 %%w, label %%fill, label %%filled\n"
        "fill:\n  %%fp = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%to\n  %%f = mul i32 %%t, 1000\n"
        "  store i32 %%f, ptr addrspace(3) %%fp\n  br label %%filled\nfilled:\n  call void @aw.barrier(i32 0, i32 0)\n"
        FLOAD("i", "p0", "i32", "4") "  %%on = icmp sge i32 %%i, 0\n  br i1 %%on, label %%go, label %%done\n"
        "go:\n  %%o1 = and i32 %%i, %d\n  %%o = shl i32 %%o1, 2\n  %%oo = add i32 %%o, %d\n"
        "  %%s = ptrtoint ptr addrspace(3) @aw.shared to i32\n  %%so = add i32 %%s, %%oo\n"
        "  %%q = inttoptr i32 %%so to ptr addrspace(3)\n"
        "  %%old = atomicrmw add ptr addrspace(3) %%q, i32 7 syncscope(\"workgroup\") monotonic\n  br label %%done\n"
        "done:\n  call void @aw.barrier(i32 0, i32 0)\n  br i1 %%w, label %%dump, label %%end\n"
        "dump:\n  %%dp = getelementptr i8, ptr addrspace(3) @aw.shared, i32 %%to\n  %%r = load i32, ptr addrspace(3) %%dp\n"
        FSTORE("r", "p6", "i32", "4") "  br label %%end\nend:\n  ret void\n";
    for (int k = 0; k < 16; k++) {
        static const int places[] = { 0, 64, 20, 128 };
        uint32_t in[THREADS], want[WORDS], got[WORDS] = { 0 }, elements = k & 1 ? 32 : 16, shape[3] = { THREADS, 1, 1 };
        int place = places[k / 2 % 4];
        for (uint32_t i = 0; i < WORDS; i++)
            want[i] = 1000 * i;
        for (int i = 0; i < THREADS; i++) {
            in[i] = k & 8 && rnd(3) == 0 ? 1u << 31 : rnd(elements);
            if (in[i] < elements)
                want[(uint32_t)place / 4 + in[i]] += 7;
        }
        char *text;
        cr_assert_geq(asprintf(&text, body, (int)elements - 1, place), 0);
        struct args a = { { in, 0, 0, 0, 0, 0, got, 0 }, "" };
        struct outcome o = run_body(text, "@aw.shared = internal addrspace(3) global [256 x i8] undef\n"
                                          "declare void @aw.barrier(i32, i32)\n",
                                    one, shape, k & 4, 256, &a);
        cr_assert_eq(o.status, 0);
        cr_assert_arr_eq(got, want, sizeof got, "%u elements at %d, round %d", elements, place, k);
        free(text);
    }
}
