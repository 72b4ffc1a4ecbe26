/* Approximations within PTX's bounds (finish/host/math.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bound {
    const char *name;
    double (*exact)(double);
    double lo, hi;      /* arguments */
    double rel, abs;    /* either suffices */
};

static double rcp(double x) { return 1 / x; }
static double rsq(double x) { return 1 / sqrt(x); }

static float one_f32(const struct built *b, float *v, float *r, int n)
{
    struct args a = { { v, 0, 0, 0, 0, 0, r, 0 }, { 0 } };
    launch(b, (uint32_t[3]){ (uint32_t)n / 256, 1, 1 }, (uint32_t[3]){ 256, 1, 1 }, 0, &a);
    return r[0];
}

Test(simt, approximations)
{
    enum { COUNT = 1 << 15 };
    static float v[COUNT], r[COUNT];
    static const struct bound bounds[] = {
        { "ex2", exp2, -126, 128, 2.4e-7, 0 }, { "ex2", exp2, -149, -126, 0, 1.5e-45 }, { "lg2", log2, 1e-45, 0.5, 2.4e-7, 0 },
        { "lg2", log2, 0.5, 2, 0, 2.4e-7 }, { "lg2", log2, 2, 3e38, 2.4e-7, 0 },
        { "sin", sin, -6.2831853, 6.2831853, 0, 6.7e-7 }, { "cos", cos, -6.2831853, 6.2831853, 0, 6.7e-7 },
        { "sin", sin, -314, 314, 0, 3.7e-5 }, { "cos", cos, -314, 314, 0, 3.7e-5 },
        { "sin", sin, -1e6, 1e6, 0, 1e-3 }, { "cos", cos, -1e6, 1e6, 0, 1e-3 },
        { "rcp", rcp, -1e30, 1e30, 1.2e-7, 0 }, { "rsqrt", rsq, 1e-38, 1e38, 1.28e-7, 0 }, { "sqrt", sqrt, 0, 1e38, 1.2e-7, 0 },
        { "tanh", tanh, -20, 20, 4.9e-4, 0 },
    };
    for (size_t k = 0; k < sizeof bounds / sizeof *bounds; k++) {
        char body[1024], decl[64];
        snprintf(body, sizeof body,
                 FLOAD("v", "p0", "float", "4") "  %%x = call float @aw.%s.f32(float %%v)\n" FSTORE("x", "p6", "float",
                                                                                                    "4") "  ret void\n",
                 bounds[k].name);
        snprintf(decl, sizeof decl, "declare float @aw.%s.f32(float)", bounds[k].name);
        char *ir = kernel_text(body, decl);
        struct built b = build_or_fail(ir, "host", NULL, 0);
        for (int i = 0; i < COUNT; i++)
            v[i] = (float)(bounds[k].lo + (bounds[k].hi - bounds[k].lo) * (i + rnd(1000) / 1000.0) / COUNT);
        one_f32(&b, v, r, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double want = bounds[k].exact(v[i]), error = fabs(r[i] - want);
            cr_assert(error <= bounds[k].abs || error <= bounds[k].rel * fabs(want) || (float)want == r[i], "%s(%a) = %a, not %a",
                      bounds[k].name, v[i], r[i], want);
        }
        unload(&b);
        free(ir);
    }
}

Test(simt, approximations_of_special_values)
{
    static const struct {
        const char *name;
        float x, want;
    } cases[] = {
        { "ex2", INFINITY, INFINITY }, { "ex2", -INFINITY, 0 }, { "ex2", NAN, NAN }, { "ex2", 128, INFINITY },
        { "ex2", -200, 0 }, { "ex2", 0, 1 },
        { "ex2", -149, 0x1p-149f }, { "lg2", 0, -INFINITY }, { "lg2", -0.0f, -INFINITY }, { "lg2", -1, NAN },
        { "lg2", INFINITY, INFINITY },
        { "lg2", NAN, NAN }, { "lg2", 1, 0 }, { "lg2", 0x1p-149f, -149 }, { "lg2", -INFINITY, NAN }, { "sin", INFINITY, NAN },
        { "cos", -INFINITY, NAN },
        { "sin", NAN, NAN }, { "sin", 0, 0 }, { "sin", -0.0f, -0.0f }, { "cos", 0, 1 }, { "rcp", 0, INFINITY },
        { "rcp", -0.0f, -INFINITY },
        { "rcp", INFINITY, 0 }, { "rcp", NAN, NAN }, { "rsqrt", 0, INFINITY }, { "rsqrt", -0.0f, -INFINITY },
        { "rsqrt", -1, NAN },
        { "rsqrt", INFINITY, 0 }, { "sqrt", -0.0f, -0.0f }, { "sqrt", -1, NAN }, { "sqrt", INFINITY, INFINITY },
        { "tanh", INFINITY, 1 },
        { "tanh", -INFINITY, -1 }, { "tanh", NAN, NAN }, { "tanh", -0.0f, -0.0f },
    };
    const char *built_for = "";
    struct built b = { 0 };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        if (strcmp(built_for, cases[k].name)) {
            char body[1024], decl[64];
            if (b.handle)
                unload(&b);
            built_for = cases[k].name;
            snprintf(body, sizeof body,
                     FLOAD("v", "p0", "float", "4") "  %%x = call float @aw.%s.f32(float %%v)\n" FSTORE("x", "p6", "float",
                                                                                                        "4") "  ret void\n",
                     built_for);
            snprintf(decl, sizeof decl, "declare float @aw.%s.f32(float)", built_for);
            char *ir = kernel_text(body, decl);
            b = build_or_fail(ir, "host", NULL, 0);
            free(ir);
        }
        float v[256], r[256];
        for (int i = 0; i < 256; i++)
            v[i] = cases[k].x;
        float got = one_f32(&b, v, r, 256), want = cases[k].want;
        cr_assert(isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want), "%s(%g) = %g, not %g", cases[k].name,
                  cases[k].x, got, want);
    }
    unload(&b);
}
