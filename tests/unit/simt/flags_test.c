/* Masks from block to block (finish/host/flags.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Conditions that live from block to block, changing or not, in registers of every width.  On old machines none may do so as a
 * vector of 32. */
Test(simt, masks_from_block_to_block)
{
    static const char *const targets[] = { "host:x86-64", "host:x86-64-v2", "host:x86-64-v3", "host" };
    static const char body[] =
        LOAD("x", "p0", "i32", "4") LOAD("y", "p1", "i32", "4") "  %c = icmp slt i32 %x, %y\n  %n = and i32 %y, 7\n"
                                                                "  br label %loop\n"
        "loop:\n  %i = phi i32 [ 0, %entry ], [ %i1, %loop ]\n  %s = phi i32 [ %x, %entry ], [ %s1, %loop ]\n"
        "  %e = phi i1 [ %c, %entry ], [ %e1, %loop ]\n  %d = phi i1 [ false, %entry ], [ %e, %loop ]\n"
        "  %bit = lshr i32 %s, 3\n  %odd = trunc i32 %bit to i1\n  %e1 = xor i1 %e, %odd\n  %s0 = mul i32 %s, 5\n"
        "  %k = select i1 %e, i32 %y, i32 3\n  %s1 = add i32 %s0, %k\n  %i1 = add i32 %i, 1\n  %more = icmp ult i32 %i, %n\n"
        "  br i1 %more, label %loop, label %out\n"
        "out:\n  %f = and i1 %c, %e1\n  %r0 = select i1 %f, i32 %s1, i32 %i1\n  %r1 = select i1 %d, i32 %n, i32 %s1\n"
        "  %r = xor i32 %r0, %r1\n"
        STORE("r", "p7", "i32", "4") "  ret void\n";
    uint32_t x[N], y[N], got[N], want[N];
    for (int t = 0; t < N; t++) {
        x[t] = rnd(1u << 31) * 2;
        y[t] = rnd(1u << 31) * 2 + rnd(2);
        bool c = (int32_t)x[t] < (int32_t)y[t], e = c, d = false;
        uint32_t s = x[t], i = 0;
        for (;; d = e, e = e != (s >> 3 & 1), s = s * 5 + (d ? y[t] : 3))
            if (i++ == (y[t] & 7))
                break;
        bool e1 = e != (s >> 3 & 1);
        s = s * 5 + (e ? y[t] : 3);
        want[t] = (c && e1 ? s : i) ^ (d ? y[t] & 7 : s);
    }
    char *ir = kernel_text(body, "");
    struct args a = { { x, y, 0, 0, 0, 0, 0, got }, "" };
    for (int k = 0; k < 8; k++) {
        struct built b = build_or_fail(ir, targets[k / 2], k % 2 ? (uint32_t[3]){ N, 1, 1 } : NULL, 0);
        memset(got, 0, sizeof got);
        launch(&b, one, (uint32_t[3]){ N, 1, 1 }, 0, &a);
        unload(&b);
        cr_assert_arr_eq(got, want, sizeof got, "%s", targets[k / 2]);
    }
    struct aw_buf diags = { 0 };
    for (int k = 0; k < 2; k++) {
        char *text = emit_simt(ir, targets[k], AW_EMIT_IR_OPT, &diags);
        cr_assert(text && strstr(text, "phi <16 x i1>") && !strstr(text, "phi <32 x i1>"), "%s: %s", targets[k], text);
        free(text);
    }
    free(ir);
}
