/* Lanes at known distances that are no row (simt/emit/permuted_access.c): random ones, read and written. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

struct spread {
    int and, mul_low, mul_high, xor;       /* lane l is at ((l & and) * mul_low + (l - (l & and)) * mul_high) ^ xor */
    int loads, load[4], stores, store[4];  /* and each access so many elements further */
    bool shared, wide;
};

enum { SPREAD_REGION = 512, SPREAD_MIDDLE = 240 }; /* elements of a warp, and the one that lanes' places are counted from */

static int spread_place(const struct spread *s, int lane)
{
    int low = lane & s->and;
    return SPREAD_MIDDLE + ((low * s->mul_low + (lane - low) * s->mul_high) ^ s->xor);
}

static void spread_random(struct spread *s)
{
    static const int masks[] = { 31, 15, 7, 3, 1, 0, 21, 28 }, steps[] = { 1, 1, 2, 2, 3, 4, -1, -2, 0, 6 };
    *s = (struct spread){ .and = masks[rnd(8)], .mul_low = steps[rnd(10)], .mul_high = steps[rnd(10)],
                          .xor = rnd(2) ? 0 : (int)rnd(16),
                          .loads = 1 + (int)rnd(4), .stores = 1 + (int)rnd(4), .shared = rnd(2), .wide = rnd(4) == 0 };
    for (int i = 0; i < 4; i++) {
        s->load[i] = rnd(2) ? i : (int)rnd(70);
        s->store[i] = rnd(3) ? i * (rnd(2) ? s->and + 1 : 1) : (int)rnd(70);
    }
}

/* The warp's region from p1 to shared memory, or back. */
static void spread_copy(struct aw_buf *b, const char *type, bool back)
{
    for (int k = 0; k < SPREAD_REGION / 32; k++) {
        const char *to = back ? "g" : "s", *from = back ? "s" : "g", *n = back ? "b" : "a";
        aw_buf_printf(b, "  %%%s%d.i = add i32 %%first, %d\n  %%%s%d.x = sext i32 %%%s%d.i to i64\n", n, k, 32 * k, n, k, n, k);
        aw_buf_printf(b, "  %%%s%d.g = getelementptr %s, ptr addrspace(1) %%p1, i64 %%%s%d.x\n", n, k, type, n, k);
        aw_buf_printf(b, "  %%%s%d.s = getelementptr %s, ptr addrspace(3) @aw.shared, i32 %%%s%d.i\n", n, k, type, n, k);
        aw_buf_printf(b, "  %%%s%d.v = load %s, ptr addrspace(%d) %%%s%d.%s\n", n, k, type, back ? 3 : 1, n, k, from);
        aw_buf_printf(b, "  store %s %%%s%d.v, ptr addrspace(%d) %%%s%d.%s\n", type, n, k, back ? 1 : 3, n, k, to);
    }
}

static char *spread_body(const struct spread *s)
{
    const char *type = s->wide ? "i64" : "i32", *at = s->shared ? "ptr addrspace(3) %at.s" : "ptr addrspace(1) %at.g";
    int space = s->shared ? 3 : 1, size = s->wide ? 8 : 4;
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "  %%l = and i32 %%t, 31\n  %%w = lshr i32 %%t, 5\n  %%low = and i32 %%l, %d\n"
                      "  %%high = sub i32 %%l, %%low\n"
                  "  %%x0 = mul i32 %%low, %d\n  %%x1 = mul i32 %%high, %d\n  %%x2 = add i32 %%x0, %%x1\n"
                  "  %%x = xor i32 %%x2, %d\n",
                  s->and, s->mul_low, s->mul_high, s->xor);
    aw_buf_printf(&b, "  %%wr = mul i32 %%w, %d\n  %%first = add i32 %%wr, %%l\n  %%i0 = add i32 %%wr, %d\n"
                  "  %%xl = sext i32 %%x to i64\n"
                  "  %%il = zext i32 %%i0 to i64\n  %%ix = add i64 %%il, %%xl\n  %%i = add i32 %%i0, %%x\n",
                  SPREAD_REGION, SPREAD_MIDDLE);
    aw_buf_printf(&b, "  %%at.g = getelementptr %s, ptr addrspace(1) %%p1, i64 %%ix\n"
                      "  %%at.n = ptrtoint ptr addrspace(3) @aw.shared to i32\n"
                  "  %%at.m = mul i32 %%i, %d\n  %%at.k = add i32 %%at.n, %%at.m\n"
                  "  %%at.s = inttoptr i32 %%at.k to ptr addrspace(3)\n", type, size);
    if (s->shared)
        spread_copy(&b, type, false);
    aw_buf_printf(&b, "  %%s0 = add %s 0, 0\n", type);
    for (int k = 0; k < s->loads; k++)
        aw_buf_printf(&b, "  %%r%d.p = getelementptr %s, %s, i32 %d\n  %%r%d = load %s, ptr addrspace(%d) %%r%d.p\n"
                      "  %%r%d.m = mul %s %%r%d, %d\n  %%s%d = add %s %%r%d.m, %%s%d\n",
                      k, type, at, s->load[k], k, type, space, k, k, type, k, 2 * k + 3, k + 1, type, k, k);
    for (int k = 0; k < s->stores; k++)
        aw_buf_printf(&b, "  %%v%d = add %s %%s%d, %d\n  %%v%d.p = getelementptr %s, %s, i32 %d\n"
                          "  store %s %%v%d, ptr addrspace(%d) %%v%d.p\n",
                      k, type, s->loads, 1000 * k, k, type, at, s->store[k], type, k, space, k);
    if (s->shared)
        spread_copy(&b, type, true);
    aw_buf_printf(&b, "  ret void\n");
    return b.ptr;
}

/* A warp's lanes in order, an instruction at a time. */
static void spread_reference(const struct spread *s, uint64_t *region)
{
    uint64_t sum[32] = { 0 };
    for (int k = 0; k < s->loads; k++)
        for (int l = 0; l < 32; l++)
            sum[l] += region[spread_place(s, l) + s->load[k]] * (uint64_t)(2 * k + 3);
    for (int k = 0; k < s->stores; k++)
        for (int l = 0; l < 32; l++)
            region[spread_place(s, l) + s->store[k]] = sum[l] + 1000u * (uint64_t)k;
}

Test(simt, known_distances)
{
    enum { T = 96, SIZE = T / 32 * SPREAD_REGION };
    static const char *const machines[] = { "host", "host:x86-64" };
    for (int round = 0; round < 150; round++) {
        struct spread s;
        static uint64_t want[SIZE], got64[SIZE];
        static uint32_t got32[SIZE];
        spread_random(&s);
        for (int i = 0; i < SIZE; i++)
            got32[i] = (uint32_t)(want[i] = got64[i] = rnd(0x7fffffff));
        for (int w = 0; w < T / 32; w++)
            spread_reference(&s, want + w * SPREAD_REGION);
        char *body = spread_body(&s), globals[80], *ir;
        uint32_t shape[3] = { T, 1, 1 }, bytes = SIZE * (s.wide ? 8 : 4);
        snprintf(globals, sizeof globals, "@aw.shared = internal addrspace(3) global [%u x i8] undef, align 16", bytes);
        ir = kernel_text(body, globals);
        struct built b = build_or_fail(ir, machines[round % 2], round % 5 ? shape : full_rows, bytes);
        struct args a = { { 0, s.wide ? (void *)got64 : got32 }, { 0 } };
        launch(&b, one, shape, 0, &a);
        unload(&b);
        for (int i = 0; i < SIZE; i++)
            cr_assert(s.wide ? got64[i] == want[i] : got32[i] == (uint32_t)want[i], "round %d: element %d of warp %d\n%s", round,
                      i % SPREAD_REGION, i / SPREAD_REGION, body);
        free(ir);
        free(body);
    }
}
