/* Updates in place (simt/analysis/update.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is less replaces what is there, for lanes below a limit: nothing else is written, by no warp. */
enum { UPDATED = 160 };

static void update_put(void *at, int type, int i, int32_t value)
{
    if (type == 0)
        ((int32_t *)at)[i] = value;
    else if (type == 1)
        ((float *)at)[i] = (float)value;
    else
        ((int64_t *)at)[i] = value * (INT64_C(1) << 33);
}

static void check_updates(const char *machine, int round, int type)
{
    static const char *const types[] = { "i32", "float", "i64" }, *const sizes[] = { "4", "4", "8" };
    static const char body[] =
        "  %%n = load i32, ptr addrspace(1) %%p2\n  %%in = icmp ult i32 %%t, %%n\n  br i1 %%in, label %%go, label %%end\ngo:\n"
        "  %%po = mul i64 %%gl, %s\n  %%q = getelementptr i8, ptr addrspace(1) %%p0, i64 %%po\n"
        "  %%x = load %s, ptr addrspace(1) %%q\n"
        "  %%p = getelementptr i8, ptr addrspace(1) %%p6, i64 %%po\n  %%y = load %s, ptr addrspace(1) %%p\n"
        "  %%c0 = %s %s %%x, %%y\n"
        "  %%c = xor i1 %%c0, %s\n  br i1 %%c, label %%less, label %%end\nless:\n  store %s %%x, ptr addrspace(1) %%p\n"
        "  br label %%end\n"
        "end:\n  ret void\n";
    static int64_t x[UPDATED], y[UPDATED], want[UPDATED];
    uint32_t n = round % 3 ? rnd(UPDATED + 10) : UPDATED, shape[3] = { round & 1 ? UPDATED : UPDATED - 7, 1, 1 };
    bool not_less = round & 4;
    memset(want, 0, sizeof want);
    for (int i = 0; i < UPDATED; i++) {
        int often = i / 32 % 3; /* in all lanes, in some, in none */
        int32_t was = (int32_t)rnd(100), now = often == 0 ? -1 : often == 1 ? (int32_t)rnd(100) : 100;
        bool written = (uint32_t)i < n && (uint32_t)i < shape[0] && (now < was) != not_less;
        update_put(x, type, i, now);
        update_put(y, type, i, was);
        update_put(want, type, i, written ? now : was);
    }
    char *text;
    cr_assert_geq(asprintf(&text, body, sizes[type], types[type], types[type], type == 1 ? "fcmp olt" : "icmp slt", types[type],
                           not_less ? "true" : "false", types[type]), 0);
    char *ir = kernel_text(text, "");
    struct args a = { { x, 0, &n, 0, 0, 0, y, 0 }, { 0 } };
    struct built b = build_or_fail(ir, machine, round & 2 ? shape : NULL, 0);
    launch(&b, one, shape, 0, &a);
    unload(&b);
    free(ir);
    free(text);
    cr_assert_arr_eq(y, want, (size_t)UPDATED * (type == 2 ? 8 : 4), "%s, round %d, %s, %u of %u threads", machine, round,
                     types[type], n, shape[0]);
}

Test(simt, updates_in_place)
{
    static const char *const machines[] = { "host", "host:x86-64-v3", "host:x86-64-v3,+slow-masked-stores", "host:x86-64" };
    for (int round = 0; round < 96; round++)
        check_updates(machines[round % 4], round / 12, round / 4 % 3);
}
