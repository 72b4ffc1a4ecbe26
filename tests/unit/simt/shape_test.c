/* Lanes at known distances (simt/analysis/shape.c): indices that wrap, limits near multiples of their step, rings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(simt, wrapping_indices)
{
    /* 32-bit sums that wrap in some lane before they are widened: each way of widening, each side, in and out of a loop. */
    static const char body[] =
        "  %base = load i32, ptr addrspace(1) %p1\n  %i = add i32 %base, %t\n  %z = zext i32 %i to i64\n"
        "  %s = sext i32 %i to i64\n"
        "  %zo = and i64 %z, 4294967295\n  %a.in = icmp ult i32 %i, 4096\n  br i1 %a.in, label %lo, label %hi\n"
        "lo:\n  %zs = shl i64 %z, 2\n  %q = getelementptr i8, ptr addrspace(1) %p0, i64 %zs\n"
        "  %x0 = load i32, ptr addrspace(1) %q\n  br label %join\n"
        "hi:\n  %so = shl i64 %s, 2\n  %h = getelementptr i8, ptr addrspace(1) %p2, i64 %so\n"
        "  %x1 = load i32, ptr addrspace(1) %h\n  br label %join\n"
        "join:\n  %x = phi i32 [ %x0, %lo ], [ %x1, %hi ]\n  br label %loop\n"
        "loop:\n  %k = phi i32 [ 0, %join ], [ %k1, %loop ]\n  %sum = phi i32 [ %x, %join ], [ %sum1, %loop ]\n"
        "  %ptr = phi i64 [ %s, %join ], [ %ptr1, %loop ]\n  %po = shl i64 %ptr, 2\n"
        "  %pp = getelementptr i8, ptr addrspace(1) %p2, i64 %po\n"
        "  %e = load i32, ptr addrspace(1) %pp\n  %sum1 = add i32 %sum, %e\n  %ptr1 = add i64 %ptr, 1\n  %k1 = add i32 %k, 1\n"
        "  %more = icmp ult i32 %k1, 5\n  br i1 %more, label %loop, label %out\nout:\n" STORE("sum1", "p6", "i32",
                                                                                              "4") "  ret void\n";
    static uint32_t table[16384];
    uint32_t *middle = table + 8192, r[64];
    for (int i = 0; i < 16384; i++)
        table[i] = rnd(0x7fffffff);
    static const uint32_t bases[] = { 0, 5, 0xffffffe0u, 0xfffffff3u, 0xffffffffu, 100, 0xfffff000u };
    for (int fixed = 0; fixed < 2; fixed++) {
        char *ir = kernel_text(body, "");
        uint32_t shape[3] = { 64, 1, 1 };
        struct built b = build_or_fail(ir, "host", fixed ? shape : NULL, 0);
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
            uint32_t base = bases[k];
            struct args a = { { middle, &base, middle, 0, 0, 0, r, 0 }, { 0 } };
            launch(&b, one, shape, 0, &a);
            for (uint32_t t = 0; t < 64; t++) {
                int32_t i = (int32_t)(base + t);
                uint32_t sum = middle[i];
                for (int e = 0; e < 5; e++)
                    sum += middle[i + e];
                cr_assert_eq(r[t], sum, "base %#x thread %u: %u, not %u", base, t, r[t], sum);
            }
        }
        unload(&b);
        free(ir);
    }
}

Test(simt, several_wrapping_indices)
{
    /* Several addresses in one block, for all lanes, for some, and for those alone that come after the wrap. */
    static const char body[] =
        "  %base = load i32, ptr addrspace(1) %p1\n  %i = add i32 %base, %t\n  %in = icmp ult i32 %i, 4096\n"
        "  br i1 %in, label %lo, label %end\n"
        "lo:\n  %z = zext i32 %i to i64\n  %o = shl i64 %z, 2\n  %q = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n"
        "  %x = load i32, ptr addrspace(1) %q\n  %i2 = add i32 %i, 3\n  %z2 = zext i32 %i2 to i64\n  %o2 = shl i64 %z2, 2\n"
        "  %q2 = getelementptr i8, ptr addrspace(1) %p0, i64 %o2\n  %y = load i32, ptr addrspace(1) %q2\n  %s = sub i32 %x, %y\n"
        "  %d = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store i32 %s, ptr addrspace(1) %d\n"
        "  %b8 = getelementptr i8, ptr addrspace(1) %p7, i64 %z\n  %c8 = load i8, ptr addrspace(1) %b8\n  %n8 = add i8 %c8, 1\n"
        "  store i8 %n8, ptr addrspace(1) %b8\n  br label %end\nend:\n  ret void\n";
    static uint32_t table[8192], r[8192];
    static uint8_t bytes[8192];
    static const uint32_t bases[] = { 0, 5, 0xffffffe0u, 0xfffffff3u, 0xffffffffu, 4090, 4064, 0xffffffc8u };
    for (int i = 0; i < 8192; i++)
        table[i] = rnd(0x7fffffff);
    for (int form = 0; form < 4; form++) {
        char *ir = kernel_text(body, "");
        uint32_t shape[3] = { 64, 1, 1 };
        struct built b = build_or_fail(ir, form & 2 ? "host:x86-64-v3" : "host", form & 1 ? shape : NULL, 0);
        for (size_t k = 0; k < sizeof bases / sizeof *bases; k++) {
            uint32_t base = bases[k];
            struct args a = { { table, &base, 0, 0, 0, 0, r, bytes }, { 0 } };
            memset(r, 0, sizeof r);
            memset(bytes, 7, sizeof bytes);
            launch(&b, one, shape, 0, &a);
            for (uint32_t i = 0; i < 8192; i++) {
                bool in = i < 4096 && i - base < 64;
                cr_assert_eq(r[i], in ? table[i] - table[i + 3] : 0, "form %d base %#x index %u", form, base, i);
                cr_assert_eq(bytes[i], in ? 8 : 7, "form %d base %#x byte %u", form, base, i);
            }
        }
        unload(&b);
        free(ir);
    }
}

struct comparison {
    const char *name;
    bool (*f)(uint32_t a, uint32_t b);
};

static bool cmp_ult(uint32_t a, uint32_t b) { return a < b; }
static bool cmp_ule(uint32_t a, uint32_t b) { return a <= b; }
static bool cmp_ugt(uint32_t a, uint32_t b) { return a > b; }
static bool cmp_uge(uint32_t a, uint32_t b) { return a >= b; }
static bool cmp_slt(uint32_t a, uint32_t b) { return (int32_t)a < (int32_t)b; }
static bool cmp_sle(uint32_t a, uint32_t b) { return (int32_t)a <= (int32_t)b; }
static bool cmp_sgt(uint32_t a, uint32_t b) { return (int32_t)a > (int32_t)b; }
static bool cmp_sge(uint32_t a, uint32_t b) { return (int32_t)a >= (int32_t)b; }
static bool cmp_eq(uint32_t a, uint32_t b) { return a == b; }
static bool cmp_ne(uint32_t a, uint32_t b) { return a != b; }

/* Operands: an index plus a multiple of its step, and a constant or twice an argument, in either order. */
Test(simt, limits)
{
    enum { CASES = 24, T = 96 };
    static const struct comparison all[] = { { "ult", cmp_ult }, { "ule", cmp_ule }, { "ugt", cmp_ugt }, { "uge", cmp_uge },
                                             { "slt", cmp_slt }, { "sle", cmp_sle }, { "sgt", cmp_sgt }, { "sge", cmp_sge },
                                             { "eq", cmp_eq },   { "ne", cmp_ne } };
    static const int near[] = { -33, -32, -31, -2, -1, 0, 0, 0, 1, 2, 16, 31, 32, 33 };
    static uint32_t got[CASES][T];
    for (int round = 0; round < 40; round++) {
        struct aw_buf body = { 0 };
        struct {
            const struct comparison *c;
            uint32_t by, add, limit;
            bool argument, swapped;
        } k[CASES];
        uint32_t half = rnd(100);
        aw_buf_printf(&body, "  %%n = load i32, ptr addrspace(1) %%p0\n  %%n2 = shl i32 %%n, 5\n");
        for (int i = 0; i < CASES; i++) {
            uint32_t around = rnd(4) == 0 ? 0x80000000u : rnd(3) == 0 ? 0 : 32 * rnd(8);
            k[i].c = &all[rnd(10)];
            k[i].by = 1u << rnd(3);
            k[i].add = rnd(3) ? 32 * rnd(16) - 128 : rnd(4) ? around - 64 : rnd(50);
            k[i].limit = around + (uint32_t)near[rnd(14)];
            k[i].argument = rnd(4) == 0;
            k[i].swapped = rnd(2);
            aw_buf_printf(&body, "  %%m%d = mul i32 %%t, %u\n  %%x%d = add i32 %%m%d, %u\n  %%y%d = add i32 %s, %u\n", i, k[i].by,
                          i, i, k[i].add, i, k[i].argument ? "%n2" : "0", k[i].limit);
            aw_buf_printf(&body, "  %%b%d = icmp %s i32 %%%c%d, %%%c%d\n  br i1 %%b%d, label %%then%d, label %%end%d\nthen%d:\n",
                          i, k[i].c->name, k[i].swapped ? 'y' : 'x', i, k[i].swapped ? 'x' : 'y', i, i, i, i, i);
            aw_buf_printf(&body, "  %%q%d = getelementptr [%d x i32], ptr addrspace(1) %%p6, i64 %d, i64 %%gl\n"
                          "  store i32 1, ptr addrspace(1) %%q%d\n  br label %%end%d\nend%d:\n", i, T, i, i, i, i);
        }
        aw_buf_printf(&body, "  ret void\n");
        memset(got, 0, sizeof got);
        struct args a = { { &half, 0, 0, 0, 0, 0, got, 0 }, { 0 } };
        run_body(body.ptr, "", one, (uint32_t[3]){ round % 4 ? T : T - 11, 1, 1 }, round % 3, 0, &a);
        for (int i = 0; i < CASES; i++)
            for (uint32_t t = 0; t < (round % 4 ? T : T - 11); t++) {
                uint32_t x = t * k[i].by + k[i].add, y = k[i].limit + (k[i].argument ? half << 5 : 0);
                cr_assert_eq(got[i][t], k[i].c->f(k[i].swapped ? y : x, k[i].swapped ? x : y), "round %d: %u * %u + %u %s %u, %s",
                             round, t, k[i].by, k[i].add, k[i].c->name, y, k[i].swapped ? "swapped" : "");
            }
        aw_buf_fini(&body);
    }
}

/* Neighbours on a ring, from anywhere and so round the end within a warp or between two: read for threads below a limit, and
 * written. */
enum { RING_THREADS = 160, RING_MOST = 8 * 512 };

static void check_ring(const char *machine, const uint32_t *shape, bool wide)
{
    static const char body[] =
        "  %%n = load i32, ptr addrspace(1) %%p2\n  %%by = load i32, ptr addrspace(1) %%p3\n  %%in = icmp ult i32 %%t, %%n\n"
        "  br i1 %%in, label %%go, label %%end\ngo:\n  %%s = mul i32 %%t, %u\n  %%u = add i32 %%s, %u\n"
        "  %%v = add i32 %%u, %%by\n"
        "  %%at = and i32 %%v, %u\n  %%al = %s i32 %%at to i64\n  %%ao = mul i64 %%al, %u\n"
        "  %%q = getelementptr i8, ptr addrspace(1) %%p0, i64 %%ao\n  %%x = load %s, ptr addrspace(1) %%q\n"
        "  %%ro = mul i64 %%gl, %u\n  %%r = getelementptr i8, ptr addrspace(1) %%p6, i64 %%ro\n"
        "  store %s %%x, ptr addrspace(1) %%r\n"
        "  %%w = getelementptr i8, ptr addrspace(1) %%p5, i64 %%ao\n  %%y = zext i32 %%at to i128\n  %%z = trunc i128 %%y to %s\n"
        "  store %s %%z, ptr addrspace(1) %%w\n  br label %%end\nend:\n  ret void\n";
    static uint64_t from64[RING_MOST], to64[RING_MOST], out64[RING_THREADS];
    static uint32_t from32[RING_MOST], to32[RING_MOST], out32[RING_THREADS];
    static const uint32_t one_row[3] = { RING_THREADS, 1, 1 };
    uint32_t step = UINT32_C(1) << rnd(3), ring = UINT32_C(32) << rnd(5), mask = (ring - 1) * step * (rnd(4) ? 1 : 2),
             add = rnd(2) ? rnd(2 * ring) : rnd(UINT32_MAX);
    uint32_t by = rnd(4) ? rnd(3) - 1 : rnd(UINT32_MAX), n = rnd(3) ? RING_THREADS : rnd(RING_THREADS + 1), size = wide ? 8 : 4;
    const char *type = wide ? "i64" : "i32";
    char *text;
    for (uint32_t i = 0; i < RING_MOST; i++) {
        from64[i] = from32[i] = rnd(1 << 30);
        to64[i] = to32[i] = UINT32_MAX;
    }
    memset(out64, 0, sizeof out64);
    memset(out32, 0, sizeof out32);
    cr_assert_geq(asprintf(&text, body, step, add, mask, rnd(2) ? "zext" : "sext", size, type, size, type, type, type), 0);
    char *ir = kernel_text(text, "");
    struct args a = {
        { wide ? (void *)from64 : from32, 0, &n, &by, 0, wide ? (void *)to64 : to32, wide ? (void *)out64 : out32, 0 }, { 0 }
    };
    struct built b = build_or_fail(ir, machine, shape ? shape : one_row, 0);
    launch(&b, one, one_row, 0, &a);
    unload(&b);
    free(ir);
    free(text);
    for (uint32_t t = 0; t < RING_THREADS; t++) {
        uint32_t at = (t * step + add + by) & mask;
        cr_assert_eq(wide ? out64[t] : out32[t], t < n ? from32[at] : 0, "%s: thread %u of %u, %u * t + %u + %u & %u", machine, t,
                     n, step, add, by, mask);
        if (t < n) {
            cr_assert_eq(wide ? to64[at] : to32[at], at, "%s: place %u, %u * t + %u + %u & %u", machine, at, step, add, by, mask);
            to64[at] = to32[at] = UINT32_MAX;
            for (uint32_t same = t + 1; same < n; same++) /* who wrote there, too */
                if (((same * step + add + by) & mask) == at)
                    to64[at] = to32[at] = at;
        }
    }
    for (uint32_t i = 0; i < RING_MOST; i++)
        cr_assert(wide ? to64[i] == UINT32_MAX : to32[i] == UINT32_MAX, "%s: nobody's place %u", machine, i);
}

Test(simt, rings)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64-v3,+fast-gather", "host:x86-64" };
    for (int i = 0; i < 120; i++)
        check_ring(machines[i % 4], i / 4 % 3 == 0 ? full_rows : i / 4 % 3 == 1 ? any_rows : NULL, i / 12 & 1);
}

/* Elements at indices of few bits, of which some are known to be set, of a warp's registers and of memory: the indices leave
 * vectors in pairs (ptx/finish/host/extract.c). */
Test(simt, elements_at_known_bits)
{
    static const char *const targets[] = { "host", "host:x86-64-v3", "host:x86-64-v2" };
    static const char start[] = FLOAD("v", "p0", "i32", "4") "  %%m = mul i32 %%t, 7\n  %%low = and i32 %%m, %d\n"
                                                             "  %%at = or i32 %%low, %d\n";
    static const char end[] = STORE("r", "p7", "i32", "4") "  ret void\n";
    static const char load[] = " i32 %at to i64\n  %ao = shl i64 %al, 2\n"
                               "  %ap = getelementptr i8, ptr addrspace(1) %p0, i64 %ao\n"
                               "  %r = load i32, ptr addrspace(1) %ap\n";
    static const char shuffle[] = "  %rp = call { i32, i1 } @aw.shfl.idx(i32 %v, i32 %at, i32 ", end_shuffle[] = ", i32 -1)\n"
                                  "  %r = extractvalue { i32, i1 } %rp, 0\n";
    static const char *const reads[][3] = {
        { "  %al = sext", load, "" }, { "  %al = zext", load, "" }, { shuffle, "31", end_shuffle },
            { shuffle, "4127", end_shuffle } /* of 16 */
    };
    static const int masks[][2] = { { 15, 0 }, { 15, 16 }, { 1, 16 }, { 7, 8 }, { 30, 1 } };
    for (unsigned k = 0; k < 12 * sizeof masks / sizeof *masks; k++) {
        const int *mask = masks[k / 12], read = (int)k / 3 % 4;
        uint32_t v[N], got[N];
        for (int i = 0; i < N; i++)
            v[i] = rnd(1u << 31);
        char *begun, *text;
        cr_assert_geq(asprintf(&begun, start, mask[0], mask[1]), 0);
        cr_assert_geq(asprintf(&text, "%s%s%s%s%s", begun, reads[read][0], reads[read][1], reads[read][2], end), 0);
        char *ir = kernel_text(text, "declare { i32, i1 } @aw.shfl.idx(i32, i32, i32, i32)");
        struct built b = build_or_fail(ir, targets[k % 3], (uint32_t[3]){ N, 1, 1 }, 0);
        struct args a = { { v, 0, 0, 0, 0, 0, 0, got }, "" };
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        for (int i = 0; i < N; i++) {
            int width = 16 * (4 - read), at = (i * 7 & mask[0]) | mask[1];
            at = read < 2 ? at : i / width * width + at % width;
            cr_assert_eq(got[i], v[at], "%s, way %d, & %d | %d, thread %d", targets[k % 3], read, mask[0], mask[1], i);
        }
        free(begun);
        free(text);
        free(ir);
    }
}
