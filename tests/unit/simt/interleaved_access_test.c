/* Arrays of small structures (simt/emit/interleaved_access.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(simt, small_structures)
{
    /* Parts two and four elements apart, read and written together, with and without lanes that are off; and one of which a part
     * is left out. */
    static const char body[] =
        "  %n = load i32, ptr addrspace(1) %p2\n  %in = icmp ult i32 %t, %n\n  br i1 %in, label %go, label %end\ngo:\n"
        "  %o = mul i64 %gl, 16\n"
        "  %s = getelementptr i8, ptr addrspace(1) %p0, i64 %o\n  %v = load <4 x float>, ptr addrspace(1) %s, align 16\n"
        "  %w0 = getelementptr i8, ptr addrspace(1) %p1, i64 %o\n  %w = load <2 x i64>, ptr addrspace(1) %w0, align 16\n"
        "  %a = extractelement <4 x float> %v, i32 0\n  %b = extractelement <4 x float> %v, i32 1\n"
        "  %c = extractelement <4 x float> %v, i32 2\n"
        "  %d = extractelement <4 x float> %v, i32 3\n  %e = extractelement <2 x i64> %w, i32 0\n"
        "  %f = extractelement <2 x i64> %w, i32 1\n"
        "  %v1 = insertelement <4 x float> poison, float %d, i32 0\n  %v2 = insertelement <4 x float> %v1, float %c, i32 1\n"
        "  %v3 = insertelement <4 x float> %v2, float %a, i32 2\n  %v4 = insertelement <4 x float> %v3, float %b, i32 3\n"
        "  %q = getelementptr i8, ptr addrspace(1) %p6, i64 %o\n  store <4 x float> %v4, ptr addrspace(1) %q, align 16\n"
        "  %diff = sub i64 %e, %f\n  %u1 = insertelement <2 x i64> poison, i64 %f, i32 0\n"
        "  %u2 = insertelement <2 x i64> %u1, i64 %diff, i32 1\n"
        "  %k = getelementptr i8, ptr addrspace(1) %p7, i64 %o\n  store <2 x i64> %u2, ptr addrspace(1) %k, align 16\n"
        "  %m0 = getelementptr i8, ptr addrspace(1) %p3, i64 %o\n  %m1 = load float, ptr addrspace(1) %m0\n"
        "  %m4 = getelementptr i8, ptr addrspace(1) %m0, i64 8\n  %m2 = load float, ptr addrspace(1) %m4\n"
        "  %m8 = getelementptr i8, ptr addrspace(1) %m0, i64 4\n  store float %m2, ptr addrspace(1) %m8\n"
        "  store float %m1, ptr addrspace(1) %m4\n  br label %end\nend:\n  ret void\n";
    enum { T = 96 };
    _Alignas(16) static uint32_t v[T][4], r[T][4], m[T][4];
    _Alignas(16) static uint64_t w[T][2], x[T][2];
    static const uint32_t counts[] = { T, T - 5, 33, 0 };
    for (int form = 0; form < 4; form++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            uint32_t n = counts[k], old[T][4], shape[3] = { T, 1, 1 };
            for (int i = 0; i < T; i++)
                for (int j = 0; j < 4; j++) {
                    v[i][j] = rnd(0x7f000000);
                    w[i][j & 1] = (uint64_t)rnd(0x7fffffff) << 32 | rnd(0x7fffffff);
                    old[i][j] = m[i][j] = rnd(0x7f000000);
                }
            memset(r, 0, sizeof r);
            memset(x, 0, sizeof x);
            struct args a = { { v, w, &n, m, 0, 0, r, x }, { 0 } };
            char *ir = kernel_text(body, "");
            struct built b = build_or_fail(ir, form & 2 ? "host:x86-64-v3" : "host", form & 1 ? shape : NULL, 0);
            launch(&b, one, shape, 0, &a);
            unload(&b);
            free(ir);
            for (uint32_t i = 0; i < T; i++) {
                bool in = i < n;
                cr_assert(in ? r[i][0] == v[i][3] && r[i][1] == v[i][2] && r[i][2] == v[i][0] && r[i][3] == v[i][1]
                             : !r[i][0] && !r[i][1] && !r[i][2] && !r[i][3], "form %d lane %u of %u", form, i, n);
                cr_assert(in ? x[i][0] == w[i][1] && x[i][1] == w[i][0] - w[i][1] : !x[i][0] && !x[i][1], "form %d lane %u of %u",
                          form, i, n);
                cr_assert(m[i][0] == old[i][0] && m[i][1] == (in ? old[i][2] : old[i][1]) &&
                              m[i][2] == (in ? old[i][0] : old[i][2]) && m[i][3] == old[i][3],
                          "form %d lane %u of %u", form, i, n);
            }
        }
}
