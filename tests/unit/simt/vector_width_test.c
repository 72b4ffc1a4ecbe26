/* More values than registers (simt/analysis/vector_width.c), and rows that are parts of warps. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t sum_factor(int sum, int k)
{
    return (uint32_t)(sum * 2654435761u + (unsigned)k * 40503u) | 1;
}

/* Sums in p2, of words of p1; after half of them those of p1 have been written anew. */
static void check_many_sums(const char *target, int sums)
{
    enum { THREADS = 64, STEPS = 12, MOST = 40 };
    static uint32_t words[STEPS * THREADS], want[MOST * THREADS], got[MOST * THREADS], again[STEPS * THREADS];
    struct aw_buf body = { 0 };
    aw_buf_printf(&body, FLOAD("first", "p0", "i32", "4") "  %%o = shl i64 %%gl, 2\n"
                                                          "  %%w = getelementptr i8, ptr addrspace(1) %%p1, i64 %%o\n"
                  "  %%s = getelementptr i8, ptr addrspace(1) %%p2, i64 %%o\n");
    for (int j = 0; j < sums; j++)
        aw_buf_printf(&body, "  %%v%d.0 = add i32 %%first, %d\n", j, j);
    for (int k = 0; k < STEPS; k++) {
        if (k == STEPS / 2)
            for (int i = 0; i < STEPS; i++)
                aw_buf_printf(&body, "  %%q%d = getelementptr i8, ptr addrspace(1) %%w, i64 %d\n"
                                     "  store i32 %%v%d.%d, ptr addrspace(1) %%q%d\n", i,
                              4 * THREADS * i, i % sums, k, i);
        aw_buf_printf(&body, "  %%p%d.w = getelementptr i8, ptr addrspace(1) %%w, i64 %d\n"
                             "  %%x%d = load i32, ptr addrspace(1) %%p%d.w\n", k,
                      4 * THREADS * k, k, k);
        for (int j = 0; j < sums; j++)
            aw_buf_printf(&body, "  %%m%d.%d = mul i32 %%v%d.%d, %d\n  %%v%d.%d = add i32 %%m%d.%d, %%x%d\n", j, k, j, k,
                          (int)sum_factor(j, k), j, k + 1, j, k, k);
    }
    for (int j = 0; j < sums; j++)
        aw_buf_printf(&body, "  %%r%d = getelementptr i8, ptr addrspace(1) %%s, i64 %d\n"
                             "  store i32 %%v%d.%d, ptr addrspace(1) %%r%d\n", j,
                      4 * THREADS * j, j, STEPS, j);
    aw_buf_printf(&body, "  ret void");
    for (int i = 0; i < STEPS * THREADS; i++)
        words[i] = again[i] = rnd(1u << 30);
    for (int t = 0; t < THREADS; t++)
        for (int k = 0; k < STEPS; k++) {
            for (int i = 0; i < STEPS && k == STEPS / 2; i++)
                again[i * THREADS + t] = want[i % sums * THREADS + t];
            for (int j = 0; j < sums; j++) {
                uint32_t *v = &want[j * THREADS + t];
                *v = (k ? *v : words[t] + (uint32_t)j) * sum_factor(j, k) + again[k * THREADS + t];
            }
        }
    static uint32_t first[THREADS];
    memcpy(first, words, sizeof first);
    const uint32_t shape[3] = { THREADS, 1, 1 };
    char *ir = kernel_text(body.ptr, "");
    struct built b = build_or_fail(ir, target, shape, 0);
    struct args a = { { first, words, got }, "" };
    cr_assert_eq(launch(&b, one, shape, 0, &a).status, 0);
    for (int i = 0; i < sums * THREADS; i++)
        cr_assert_eq(got[i], want[i], "%s, sum %d of %d, thread %d", target, i / THREADS, sums, i % THREADS);
    cr_assert_arr_eq(words, again, sizeof words, "%s, %d sums", target, sums);
    unload(&b);
    free(ir);
    aw_buf_fini(&body);
}

Test(simt, many_sums)
{
    for (int sums = 3; sums <= 40; sums += 1 + sums / 3) {
        check_many_sums("host", sums);
        check_many_sums("host:x86-64-v3", sums);
    }
}

/* Rows of which some lanes are off, before a page that is none, where masked accesses are no instructions and where they are.
 * Lanes that are off neither read nor write. */
Test(simt, rows_in_part)
{
    enum { PAGE = 4096 };
    static const char *const targets[] = { "host:x86-64", "host:x86-64-v2", "host:x86-64-v3", "host" }, *const types[] = {
        "i32", "i64", "i16", "float"
    };
    static const int sizes[] = { 4, 8, 2, 4 };
    static const char body[] =
        FLOAD("m", "p1", "i32", "4") "  %%on = icmp ne i32 %%m, 0\n  br i1 %%on, label %%go, label %%end\n"
        "go:\n" FLOAD("v", "p0", "%s", "%d") FSTORE("v", "p7", "%s", "%d") "  br label %%end\nend:\n  ret void\n";
    char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE) | mprotect(memory + 3 * PAGE, PAGE, PROT_NONE), 0);
    for (int k = 0; k < 48; k++) {
        const char *type = types[k / 4 % 4], *target = targets[k % 4];
        int size = sizes[k / 4 % 4], last = N - 1 - (int)rnd(70); /* the last lane that is on */
        uint32_t m[N];
        char *text, *from = memory + PAGE - (last + 1) * size, *to = memory + 3 * PAGE - (last + 1) * size;
        for (int i = 0; i < N; i++)
            m[i] = i == last || (i < last && (k < 16 ? rnd(2) : k < 32 ? i % 32 != 5 : rnd(30) == 0));
        for (int i = 0; i < PAGE; i++) {
            memory[i] = (char)(1 + rnd(100));
            memory[2 * PAGE + i] = -1;
        }
        cr_assert_geq(asprintf(&text, body, size, type, size, type), 0);
        char *ir = kernel_text(text, "");
        struct built b = build_or_fail(ir, target, k % 3 ? (uint32_t[3]){ N, 1, 1 } : NULL, 0);
        struct args a = { { from, m, 0, 0, 0, 0, 0, to }, "" };
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        for (int i = 0; i <= last; i++)
            for (int j = 0; j < size; j++)
                cr_assert_eq(to[i * size + j], m[i] ? from[i * size + j] : -1, "%s, %s, lane %d of %d", target, type, i, last);
        free(text);
        free(ir);
    }
    munmap(memory, 4 * PAGE);
}
