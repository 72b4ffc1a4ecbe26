/* Kernels from a body. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "bodies.h"

#include <criterion/criterion.h>
#include <stdlib.h>

char *kernel_text(const char *body, const char *globals)
{
    struct aw_buf b = { 0 };
    aw_buf_printf(&b, "%s\ndefine void @k(ptr addrspace(4) byref([80 x i8]) align 16 %%ka) \"aw-kernel\" {\nentry:\n", globals);
    for (int i = 0; i < 8; i++)
        aw_buf_printf(&b, "  %%pp%d = getelementptr i8, ptr addrspace(4) %%ka, i64 %d\n"
                      "  %%p%d = load ptr addrspace(1), ptr addrspace(4) %%pp%d\n", i, 8 * i, i, i);
    aw_buf_printf(&b,
        "  %%tx = call i32 @aw.tid.x()\n  %%ty = call i32 @aw.tid.y()\n  %%tz = call i32 @aw.tid.z()\n"
        "  %%nx = call i32 @aw.ntid.x()\n  %%ny = call i32 @aw.ntid.y()\n  %%nz = call i32 @aw.ntid.z()\n"
        "  %%a0 = mul i32 %%tz, %%ny\n  %%a1 = add i32 %%a0, %%ty\n  %%a2 = mul i32 %%a1, %%nx\n  %%t = add i32 %%a2, %%tx\n"
        "  %%a3 = mul i32 %%nx, %%ny\n  %%a4 = mul i32 %%a3, %%nz\n  %%cx = call i32 @aw.ctaid.x()\n"
        "  %%a5 = mul i32 %%cx, %%a4\n  %%g = add i32 %%a5, %%t\n  %%gl = zext i32 %%g to i64\n%s\n}\n", body);
    static const char *const declared[] = { "tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x" };
    for (size_t i = 0; i < sizeof declared / sizeof *declared; i++)
        aw_buf_printf(&b, "declare i32 @aw.%s()\n", declared[i]);
    return b.ptr;
}

const uint32_t one[3] = { 1, 1, 1 }, any_rows[3] = { 1, 0, 0 }, full_rows[3] = { 32, 0, 0 };

struct built build_or_fail(const char *ir, const char *target, const uint32_t block[3], uint32_t shared)
{
    struct aw_buf diags = { 0 };
    struct built b = { 0 };
    cr_assert(build_simt(ir, target, block, shared, &b, &diags), "%s\n%s", diags.ptr ? diags.ptr : "?", ir);
    aw_buf_fini(&diags);
    return b;
}

struct outcome run_form(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3],
                               const uint32_t built_for[3], uint32_t shared, const struct args *a)
{
    char *ir = kernel_text(body, globals);
    struct built b = build_or_fail(ir, "host", built_for, shared);
    if (built_for)
        cr_assert_arr_eq(b.object->block, built_for, sizeof b.object->block);
    struct outcome o = launch(&b, grid, block, 0, a);
    unload(&b);
    free(ir);
    return o;
}

struct outcome run_body(const char *body, const char *globals, const uint32_t grid[3], const uint32_t block[3], bool fixed,
                               uint32_t shared, const struct args *a)
{
    return run_form(body, globals, grid, block, fixed ? block : NULL, shared, a);
}

static uint64_t state = 0x1234567;
uint32_t rnd(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state * 0x9e3779b97f4a7c15u) >> 33) % n;
}

void rnd_begin(uint64_t seed)
{
    state = seed;
}
