/* Gathers (finish/host/gather.c, gather_base.c): lanes that are off hold indices far outside. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gathers and scatters, gathers alone, neither. */
static const char *const machines[] = { "host", "host:x86-64-v3,+fast-gather", "host:x86-64-v3" };

struct gather_case {
    const char *type;
    int size;
    const char *index; /* gives %x, i64 in units of `scale` bytes, from %i, i32 */
    int scale, add;    /* address: p1 + x * scale + add */
    bool negative;     /* indices below 0, too */
};

static int64_t gathered(const struct gather_case *k, const char *table, int32_t i)
{
    int64_t r = 0;
    memcpy(&r, table + (int64_t)i * k->scale + k->add, (size_t)k->size);
    return r;
}

Test(simt, gathers)
{
    static const char *const widen = "  %x = sext i32 %i to i64\n", *const unsign = "  %x = zext i32 %i to i64\n",
                      *const wide = "  %x0 = sext i32 %i to i64\n  %x1 = mul i64 %x0, 3\n  %x2 = mul i64 %x0, 2\n"
                                    "  %x = sub i64 %x1, %x2\n";
    const struct gather_case cases[] = {
        { "i8", 1, widen, 1, 0, true },      { "i16", 2, widen, 2, -6, true }, { "i32", 4, widen, 4, 0, true },
        { "i32", 4, unsign, 4, 128, false }, { "i64", 8, widen, 8, 8, true },  { "i64", 8, unsign, 8, 0, false },
        { "i32", 4, wide, 4, -4, true },     { "i32", 4, widen, 12, 0, true }, { "i64", 8, wide, 16, 0, true },
        { "i16", 2, unsign, 8, 2, false },
    };
    static char table[16384];
    static int32_t at[320];
    static int64_t got[320];
    static const uint32_t sizes[] = { 33, 64, 100 };
    for (size_t i = 0; i < sizeof table; i++)
        table[i] = (char)rnd(256);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int variant = 0; variant < 12; variant++) { /* in units or bytes, under a mask or not; on each machine */
            const struct gather_case *k = &cases[c];
            bool masked = variant & 1, bytes = variant & 2;
            char *body = NULL, *address = NULL;
            if (bytes)
                cr_assert_geq(asprintf(&address, "  %%b = mul i64 %%x, %d\n  %%p1i = ptrtoint ptr addrspace(1) %%p1 to i64\n"
                                       "  %%s0 = add i64 %%p1i, %%b\n  %%s1 = add i64 %%s0, %d\n"
                                       "  %%p = inttoptr i64 %%s1 to ptr addrspace(1)\n", k->scale, k->add), 0);
            else
                cr_assert_geq(asprintf(&address, "  %%q = getelementptr [%d x i8], ptr addrspace(1) %%p1, i64 %%x\n"
                                       "  %%p = getelementptr i8, ptr addrspace(1) %%q, i64 %d\n", k->scale, k->add), 0);
            cr_assert_geq(asprintf(&body, FLOAD("i", "p0", "i32", "4") "%s  br i1 %%on, label %%then, label %%end\nthen:\n%s%s"
                                                                "  %%v = load %s, ptr addrspace(1) %%p\n  %%r = %s\n" FSTORE(
                                                                    "r", "p6", "i64", "8") "  br label %%end\nend:\n  ret void\n",
                                   masked ? "  %on = icmp ne i32 %i, 1879048192\n" : "  %on = icmp ult i32 %g, 1000000\n",
                                   k->index, address, k->type,
                                   k->size == 8   ? "add i64 %v, 0"
                                   : k->size == 4 ? "zext i32 %v to i64"
                                            : k->size == 2 ? "zext i16 %v to i64" : "zext i8 %v to i64"), 0);
            const uint32_t shape[3] = { sizes[c % 3], 1, 1 }, grid[3] = { 3, 1, 1 };
            for (int i = 0; i < 320; i++) {
                at[i] = masked && rnd(3) == 0 ? 0x70000000 : (int32_t)rnd(300) - (k->negative ? 100 : 0);
                got[i] = -7;
            }
            struct args a = { { at, table + 4096, 0, 0, 0, 0, got, 0 }, "" };
            char *ir = kernel_text(body, "");
            struct built b = build_or_fail(ir, machines[variant / 4], variant & 2 ? shape : any_rows, 0);
            cr_assert_eq(launch(&b, grid, shape, 0, &a).status, 0);
            unload(&b);
            free(ir);
            for (int i = 0; i < 3 * (int)shape[0]; i++)
                cr_assert_eq(got[i], at[i] == 0x70000000 ? -7 : gathered(k, table + 4096, at[i]), "case %zu variant %d thread %d",
                             c, variant, i);
            free(body);
            free(address);
        }
}

/* Indices loaded side by side, which may be read where they lie: unless they are written over before the gather, or are for more
 * than it. */
Test(simt, gathers_by_loaded_indices)
{
    enum { THREADS = 256 };
    static uint32_t table[1000], at[THREADS], got[THREADS], more[THREADS];
    const uint32_t shape[3] = { THREADS, 1, 1 };
    for (int i = 0; i < 1000; i++)
        table[i] = rnd(1u << 30);
    for (int variant = 0; variant < 24; variant++) { /* written over or not, for more or not, floats or not; on each machine */
        bool over = variant & 1, twice = variant & 2, real = variant & 4;
        uint32_t index[THREADS];
        const char *type = real ? "float" : "i32";
        struct aw_buf body = { 0 };
        aw_buf_printf(&body, FLOAD("i", "p0", "i32", "4"));
        if (over)
            aw_buf_printf(&body, "  %%j = sub i32 999, %%g\n" FSTORE("j", "p0", "i32", "4"));
        aw_buf_printf(&body, "  %%il = zext i32 %%i to i64\n  %%io = shl i64 %%il, 2\n"
                      "  %%q = getelementptr i8, ptr addrspace(1) %%p1, i64 %%io\n"
                      "  %%v = load %s, ptr addrspace(1) %%q\n  %%r = bitcast %s %%v to i32\n" FSTORE("r", "p2", "i32", "4"),
                      type, type);
        if (twice)
            aw_buf_printf(&body, "  %%k = add i32 %%i, 5\n" FSTORE("k", "p3", "i32", "4"));
        aw_buf_printf(&body, "  ret void");
        for (int i = 0; i < THREADS; i++)
            at[i] = index[i] = rnd(1000);
        memset(got, 0, sizeof got);
        struct args a = { { at, table, got, more }, "" };
        char *ir = kernel_text(body.ptr, "");
        struct built b = build_or_fail(ir, machines[variant / 8], shape, 0);
        cr_assert_eq(launch(&b, one, shape, 0, &a).status, 0);
        unload(&b);
        for (int i = 0; i < THREADS; i++) {
            cr_assert_eq(got[i], table[index[i]], "variant %d thread %d", variant, i);
            cr_assert_eq(at[i], over ? 999 - (uint32_t)i : index[i], "variant %d thread %d", variant, i);
            if (twice)
                cr_assert_eq(more[i], index[i] + 5, "variant %d thread %d", variant, i);
        }
        free(ir);
        aw_buf_fini(&body);
    }
}

/* Lanes that go on by the same step from places of their own, for as long as each likes; p0: first places, p1: table, p2:
 * rounds. */
Test(simt, gathers_in_strides)
{
    enum { COUNT = 100 };
    static const char body[] =
        LOAD("first", "p0", "i32", "4") LOAD("rounds", "p2", "i32", "4")
        "  %f64 = sext i32 %first to i64\n  %f4 = shl i64 %f64, 2\n  %table = ptrtoint ptr addrspace(1) %p1 to i64\n"
        "  %begin = add i64 %table, %f4\n  %some = icmp sgt i32 %rounds, 0\n  br i1 %some, label %loop, label %done\n"
        "loop:\n  %at = phi i64 [ %begin, %entry ], [ %at.next, %loop ]\n  %i = phi i32 [ 0, %entry ], [ %i.next, %loop ]\n"
        "  %sum = phi i32 [ 0, %entry ], [ %sum.2, %loop ]\n"
        "  %p = inttoptr i64 %at to ptr addrspace(1)\n  %x = load i32, ptr addrspace(1) %p, align 4\n"
        "  %sum.1 = add i32 %sum, %x\n"
        "  %at.8 = add i64 %at, -8\n  %q = inttoptr i64 %at.8 to ptr addrspace(1)\n"
        "  %y = load i32, ptr addrspace(1) %q, align 4\n"
        "  %y3 = mul i32 %y, 3\n  %sum.2 = add i32 %sum.1, %y3\n  %sum.s = add i32 %sum.2, %i\n"
        "  store i32 %sum.s, ptr addrspace(1) %q\n"
        "  %at.next = add i64 %at, 12\n  %i.next = add i32 %i, 1\n  %more = icmp slt i32 %i.next, %rounds\n"
        "  br i1 %more, label %loop, label %done\n"
        "done:\n  %r = phi i32 [ -1, %entry ], [ %sum.2, %loop ]\n" STORE("r", "p6", "i32", "4") "  ret void\n";
    static int32_t table[COUNT * 64], want[COUNT * 64], first[COUNT], rounds[COUNT], got[COUNT];
    const uint32_t shape[3] = { COUNT, 1, 1 };
    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < COUNT * 64; i++)
            table[i] = want[i] = (int32_t)rnd(1 << 30);
        for (int i = 0; i < COUNT; i++) { /* a part of the table for each, in no order */
            first[i] = i * 37 % COUNT * 64 - 3000;
            rounds[i] = (int32_t)rnd(20);
        }
        struct args a = { { first, table + 3002, rounds, 0, 0, 0, got, 0 }, "" };
        run_form(body, "", one, shape, form ? shape : any_rows, 0, &a);
        for (int i = 0; i < COUNT; i++) {
            uint32_t sum = 0;
            for (int32_t k = 0, *p = want + 3002 + first[i]; k < rounds[i]; k++, p += 3) {
                sum += (uint32_t)p[0] + 3 * (uint32_t)p[-2];
                p[-2] = (int32_t)(sum + (uint32_t)k);
            }
            cr_assert_eq(got[i], rounds[i] ? (int32_t)sum : -1, "form %d thread %d", form, i);
        }
        cr_assert_arr_eq(table, want, sizeof table, "form %d", form);
    }
}
