/* Control flow of one function (simt/emit/function.c): at random, against the same lane by lane. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include "gen.h"
#include "simt/vectorise.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

Test(simt, endless_loops_and_dead_divisors)
{
    /* A loop whose only way out is a trap that no lane takes while others return early; divisors that are 0 where unused. */
    static const char body[] =
        LOAD("v", "p0", "i32", "4") LOAD("w", "p1", "i32", "4")
        "  %stop = icmp ult i32 %v, 50\n  br i1 %stop, label %quit, label %run\nrun:\n"
        "  %x = phi i32 [ %v, %entry ], [ %x1, %again ]\n"
        "  %z = icmp eq i32 %w, 0\n  br i1 %z, label %again, label %div\ndiv:\n  %q = sdiv i32 %x, %w\n  br label %again\n"
        "again:\n  %d = phi i32 [ 1, %run ], [ %q, %div ]\n  %x1 = sub i32 %x, 1\n  %done = icmp ult i32 %x1, 40\n"
        "  br i1 %done, label %quit2, label %run\nquit2:\n" STORE("d", "p6", "i32", "4") "  ret void\nquit:\n  ret void\n";
    int32_t v[64], w[64], r[64];
    for (int i = 0; i < 64; i++) {
        v[i] = (int32_t)rnd(100);
        w[i] = (int32_t)rnd(3) - 1;
        r[i] = -7;
    }
    struct args a = { { v, w, 0, 0, 0, 0, r, 0 }, { 0 } };
    run_body(body, "", one, (uint32_t[3]){ 64, 1, 1 }, false, 0, &a);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(r[i], v[i] < 50 ? -7 : w[i] ? 40 / w[i] : 1, "lane %d", i);

    /* No way out at all but the trap: it must still compile and trap. */
    static const char endless[] =
        LOAD("v", "p0", "i32", "4") "  br label %spin\nspin:\n  %x = phi i32 [ %v, %entry ], [ %x1, %more ]\n"
                                    "  %x1 = sub i32 %x, 1\n"
        "  %z = icmp eq i32 %x1, 0\n  br i1 %z, label %die, label %more\nmore:\n  br label %spin\ndie:\n"
        "  call void @aw.trap(i32 719)\n  unreachable\n";
    struct outcome o = run_body(endless, "declare void @aw.trap(i32)", one, (uint32_t[3]){ 32, 1, 1 }, false, 0, &a);
    cr_assert_eq(o.status, 719);
}

static const uint32_t shapes[][3] = { { 64, 1, 1 }, { 33, 1, 1 },  { 16, 4, 1 }, { 5, 3, 2 },
                                      { 32, 2, 1 }, { 100, 1, 1 }, { 7, 1, 9 },  { 8, 8, 1 } };

/* One random kernel against scalar code, over some shapes.  Half of the graphs are irreducible. */
static void fuzz_one(uint64_t seed)
{
    struct aw_buf text = { 0 }, diags = { 0 };
    struct scalar reference;
    struct built b;
    int32_t in[1024];
    rnd_begin(seed * 77 + 1);
    for (int i = 0; i < 1024; i++)
        in[i] = (int32_t)rnd(400) - 100;
    gen_kernel(seed, seed & 1, &text);
    bool fixed = seed % 3 != 0;
    const uint32_t *shape = shapes[seed % 8], *built_for = fixed ? shape : seed % 2 ? NULL : seed % 4 ? any_rows : full_rows;
    cr_assert(build_scalar(text.ptr, &reference, &diags), "seed %lu: %s", seed, diags.ptr);
    cr_assert(build_simt(text.ptr, "host", built_for, 0, &b, &diags), "seed %lu: %s", seed, diags.ptr);
    for (int q = 0; q < (fixed ? 1 : 5); q++) {
        shape = shapes[(seed + (uint64_t)q * 3) % 8];
        if (built_for && shape[0] % built_for[0])
            continue;
        int threads = (int)(shape[0] * shape[1] * shape[2]) * 6;
        int32_t *want = calloc((size_t)threads, 32), *got = calloc((size_t)threads, 32);
        struct gen_args k = { in, want, threads - 5, (int32_t)(seed % 11), { 0 } };
        run_scalar(&reference, (uint32_t[3]){ 3, 2, 1 }, shape, &k);
        k.out = got;
        struct outcome o = launch(&b, (uint32_t[3]){ 3, 2, 1 }, shape, 0, &k);
        cr_assert_eq(o.status, 0);
        for (int i = 0; i < threads * 8; i++)
            cr_assert_eq(got[i], want[i], "seed %lu shape %u,%u,%u thread %d slot %d: %d, not %d", seed, shape[0], shape[1],
                         shape[2], i / 8, i % 8, got[i], want[i]);
        free(want);
        free(got);
    }
    unload(&b);
    unload_scalar(&reference);
    aw_buf_fini(&text);
    aw_buf_fini(&diags);
}

Test(simt, random_control_flow)
{
    unsigned long first = 1000, count = 120;
    if (!seeds_wanted(&first, &count))
        fuzz_one(1264); /* distances of lanes that were built in one branch, used after it */
    for (unsigned long s = first; s < first + count; s++)
        fuzz_one(s);
}

/* The same with all loops taken out that can be, and run lane by lane, whatever it costs. */
Test(simt, random_control_flow_lane_by_lane)
{
    unsigned long first = 7000, count = 60;
    seeds_wanted(&first, &count);
    simt_serialise_always = true;
    for (unsigned long s = first; s < first + count; s++)
        fuzz_one(s);
    simt_serialise_always = false;
}
