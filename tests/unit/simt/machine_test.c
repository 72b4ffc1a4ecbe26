/* Targets (finish/host/machine.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"
#include <anywarp/compiler.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Test(simt, machines)
{
    char *ir = kernel_text(
        LOAD("v", "p0", "float", "4") "  %x = fadd float %v, 1.0\n" STORE("x", "p6", "float", "4") "  ret void\n", "");
    struct aw_buf diags = { 0 };
    char *wide = emit_simt(ir, "host:sapphirerapids", AW_EMIT_ASM, &diags),
         *old = emit_simt(ir, "host:haswell", AW_EMIT_ASM, &diags);
    cr_assert(wide && old, "%s", diags.ptr);
    cr_assert(strstr(wide, "zmm"), "512-bit vectors where there are some");
    cr_assert(strstr(old, "ymm") && !strstr(old, "zmm"));
    cr_assert_null(emit_simt(ir, "host:pentium9000", AW_EMIT_ASM, &diags));
    cr_assert(strstr(diags.ptr, "pentium9000"));
    free(wide);
    free(old);
    free(ir);
    aw_buf_fini(&diags);
}

/* fma is an instruction that the oldest machines lack: there it is a function that is linked in. */
Test(simt, old_machines)
{
    static float in[64], out[64];
    struct args a = { .p = { in, NULL, NULL, NULL, NULL, NULL, out } };
    struct aw_buf diags = { 0 };
    struct built b;
    for (int i = 0; i < 64; i++)
        in[i] = 1 + (float)i / 4096;
    char *ir = kernel_text(LOAD("v", "p0", "float", "4") "  %x = call float @llvm.fma.f32(float %v, float %v, float -1.0)\n"
                           STORE("x", "p6", "float", "4") "  ret void\n", "declare float @llvm.fma.f32(float, float, float)");
    cr_assert(build_simt(ir, "host:x86-64", NULL, 0, &b, &diags), "%s", diags.ptr);
    launch(&b, one, (uint32_t[3]){ 64, 1, 1 }, 0, &a);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(out[i], fmaf(in[i], in[i], -1), "%d: %a", i, out[i]);
    unload(&b);
    free(ir);
    aw_buf_fini(&diags);
}
