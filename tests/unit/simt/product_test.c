/* Both halves of 32-bit products (finish/host/product.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

Test(simt, products_of_both_halves)
{
    enum { COUNT = 96 };
    static const char *const factors[] = { "%y", "3528531795", "5", "4294967295" };
    static const uint64_t known[] = { 0, 3528531795, 5, UINT32_MAX };
    static uint32_t x[COUNT], y[COUNT], low[COUNT], high[COUNT];
    const uint32_t shape[3] = { COUNT, 1, 1 };
    for (int form = 0; form < 16; form++) { /* which factor; low or high first; with a shape, or for rows of warps */
        char *body, *two;
        const char *by = factors[form / 4], *first = "  %lo = mul i32 %x, %b\n";
        cr_assert_geq(asprintf(&two, "  %%b = add i32 %s, 0\n  %%xl = zext i32 %%x to i64\n  %%bl = zext i32 %%b to i64\n%s"
                               "  %%p = mul i64 %%xl, %%bl\n  %%ps = lshr i64 %%p, 32\n  %%hi = trunc i64 %%ps to i32\n%s", by,
                               form & 1 ? first : "", form & 1 ? "" : first), 0);
        cr_assert_geq(asprintf(&body,
                               FLOAD("x", "p0", "i32", "4") FLOAD("y", "p1", "i32", "4") "%s" FSTORE("lo", "p2", "i32", "4")
                               FSTORE("hi", "p3", "i32", "4") "  ret void", two), 0);
        for (int i = 0; i < COUNT; i++) {
            x[i] = i % 5 ? rnd(1u << 31) * 2 + rnd(2) : UINT32_MAX - (uint32_t)i;
            y[i] = i % 7 ? rnd(1u << 31) * 2 + rnd(2) : UINT32_MAX;
        }
        struct args a = { { x, y, low, high }, "" };
        run_form(body, "", one, shape, form & 2 ? shape : full_rows, 0, &a);
        for (int i = 0; i < COUNT; i++) {
            uint64_t p = x[i] * (form < 4 ? y[i] : known[form / 4]);
            cr_assert_eq(low[i] | (uint64_t)high[i] << 32, p, "form %d, thread %d", form, i);
        }
        free(body);
        free(two);
    }
}
