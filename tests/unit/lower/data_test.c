/* Video instructions and the other rows of tests/oracle/ref_data.c: every lowering against its reference, one lane at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "module/module.h"
#include "oracle.h"

#include <criterion/criterion.h>
#include <stdio.h>

oracle_lane_reference oracle_ref_video, oracle_ref_vmad, oracle_ref_video_simd, oracle_ref_packed, oracle_ref_clmad;

/* The instruction in hand, for a reference that asks what it is. */
static struct {
    struct ptx_module *module;
    const struct ptx_instr *in;
    oracle_lane_reference *reference;
} now;

static bool instruction_open(const char *line, oracle_lane_reference *reference)
{
    char text[600];
    int n = snprintf(text, sizeof text, ".version 8.6\n.target sm_100a\n.address_size 64\n.entry k()\n{\n"
                     ".reg .b32 %%d, %%a, %%b, %%c;\n%s\nret;\n}\n", line);
    struct ptx_diags diags = { 0 };
    struct aw_text source = { text, (size_t)n, "row" };
    now.in = NULL;
    now.reference = reference;
    if (ptx_open(&source, 1, &diags, &now.module) == AW_OK) {
        struct ptx_func *f = ptx_find_kernel(now.module, AW_STR("k"));
        for (struct ptx_stmt *s = f ? f->body : NULL; s && !now.in; s = s->next)
            now.in = s->kind == PTX_STMT_INSTR ? s->instr : NULL;
    }
    ptx_diags_fini(&diags);
    return now.in && now.in->form;
}

static uint64_t referred(const uint64_t *v)
{
    struct oracle_lane lane = { 0 };
    for (unsigned i = 0; i < 3; i++)
        lane.src[i].u32[0] = (uint32_t)v[i];
    now.reference(now.in, &lane);
    return lane.undefined ? RUN_UNDEFINED : lane.dst[0].u32[0];
}

static void check(const char *line, oracle_lane_reference *reference)
{
    struct run_row row = { line, "b32 b32 b32 b32", referred, 0 };
    cr_assert(instruction_open(line, reference), "%s: no row has it", line);
    cr_expect(run_rows(&row, 1), "%s", line);
    ptx_module_destroy(now.module);
}

/* Every n-th combination, with selectors that go round apart from each other: each of them meets each operation. */
static const char *const types[] = { "u32", "s32" };
#define PICK(list, n) ((list)[(n) % (sizeof(list) / sizeof *(list))])
static const char *const selectors[] = { "", ".b0", ".h1", ".b3", ".h0", "", ".b1", ".b2" };

Test(lower_data, video_scalar, .timeout = 200)
{
    static const char *const ops[] = { "vadd", "vsub", "vabsdiff", "vmin", "vmax" };
    static const char *const ends[] = { "", ".add", ".min", ".max", "!b2", "!h1", "!b0", "!h0", "!b3" };
    for (unsigned i = 0, k = 0; i < 5 * 8 * 2; i++) {
        for (unsigned part = 0; part < 2; part++, k++) {
            const char *end = PICK(ends, k), *to = end[0] == '!' ? end + 1 : "";
            char line[200];
            snprintf(line, sizeof line, "%s.%s.%s.%s%s%s %%d%s%s, %%a%s, %%b%s, %%c;", ops[i % 5], types[i / 5 & 1],
                     types[i / 10 & 1], types[i / 20 & 1], i / 40 ? ".sat" : "", *to ? "" : end, *to ? "." : "", to,
                     PICK(selectors, k), PICK(selectors, k / 3));
            check(line, oracle_ref_video);
        }
    }
}

Test(lower_data, video_shift_set, .timeout = 200)
{
    static const char *const ends[] = { "", ".add", ".max", ".min" };
    static const char *const tests[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    char line[200];
    for (unsigned i = 0; i < 32; i++) {
        snprintf(line, sizeof line, "%s.%s.%s.u32%s.%s%s %%d, %%a%s, %%b%s, %%c;", i & 1 ? "vshl" : "vshr", types[i >> 1 & 1],
                 types[i >> 2 & 1], i >> 3 & 1 ? ".sat" : "", i >> 4 ? "wrap" : "clamp", PICK(ends, i / 3), PICK(selectors, i),
                 i & 4 ? ".b0" : "");
        check(line, oracle_ref_video);
    }
    for (unsigned i = 0; i < 24; i++) {
        snprintf(line, sizeof line, "vset.%s.%s.%s%s %%d, %%a%s, %%b%s, %%c;", types[i & 1], types[i / 6 & 1], PICK(tests, i),
                 PICK(ends, i / 5), PICK(selectors, i), PICK(selectors, i / 2));
        check(line, oracle_ref_video);
    }
    check("vset.s32.u32.le %d.b1, %a, %b, %c;", oracle_ref_video);
    check("vshl.s32.s32.u32.sat.clamp %d.h1, %a.h0, %b.b0, %c;", oracle_ref_video);
    check("vadd.s32.u32.s32 %d, %a, %b;", oracle_ref_video);
}

Test(lower_data, vmad, .timeout = 200)
{
    static const char *const scales[] = { "", ".shr7", ".shr15" };
    static const char *const signs[][3] = { { "", "", "" }, { "-", "", "" }, { "", "-", "" }, { "", "", "-" }, { "-", "-", "" },
                                            { "-", "-", "-" } };
    for (unsigned i = 0; i < 4 * 7 * 2; i++) {
        unsigned sign = i / 4 % 7; /* the last is .po */
        char line[200];
        snprintf(line, sizeof line, "vmad.%s.%s.%s%s%s%s %%d, %s%%a%s, %s%%b%s, %s%%c;", types[i / 3 & 1], types[i & 1],
                 types[i >> 1 & 1], sign == 6 ? ".po" : "", i / 28 ? ".sat" : "", PICK(scales, i),
                 sign == 6 ? "" : signs[sign][0], i % 5 ? "" : ".h1", sign == 6 ? "" : signs[sign][1], i % 7 ? "" : ".b2",
                 sign == 6 ? "" : signs[sign][2]);
        check(line, oracle_ref_vmad);
    }
}

Test(lower_data, video_simd, .timeout = 200)
{
    static const char *const ops[] = { "vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax" };
    static const char *const masks2[] = { "", ".h0", ".h1", ".h10" }, *const from2[] = { "", ".h01", ".h32", ".h13", ".h20" };
    static const char *const masks4[] = { "", ".b310", ".b2", ".b3210", ".b31" }, *const from4[] = { "", ".b7654", ".b0123",
                                                                                                     ".b7070" };
    static const char *const ends[] = { "", ".sat", ".add" };
    static const char *const tests[] = { "eq", "ne", "lt", "le", "gt", "ge" };
    char line[200];
    for (unsigned i = 0; i < 6 * 8 * 2; i++) {
        bool two = i & 1;
        snprintf(line, sizeof line, "%s%c.%s.%s.%s%s %%d%s, %%a%s, %%b%s, %%c;", ops[i / 2 % 6], two ? '2' : '4',
                 types[i / 12 & 1], types[i / 24 & 1], types[i / 48 & 1], PICK(ends, i / 2),
                 two ? PICK(masks2, i / 3) : PICK(masks4, i / 3), two ? PICK(from2, i / 2) : PICK(from4, i / 2),
                 two ? PICK(from2, i / 4) : PICK(from4, i / 5));
        check(line, oracle_ref_video_simd);
    }
    for (unsigned i = 0; i < 24; i++) {
        bool two = i & 1;
        snprintf(line, sizeof line, "vset%c.%s.%s.%s%s %%d%s, %%a%s, %%b, %%c;", two ? '2' : '4', types[i >> 1 & 1],
                 types[i >> 2 & 1], PICK(tests, i), i & 8 ? ".add" : "", two ? PICK(masks2, i) : PICK(masks4, i),
                 two ? PICK(from2, i) : PICK(from4, i));
        check(line, oracle_ref_video_simd);
    }
}

Test(lower_data, packed, .timeout = 200)
{
    static const char *const lines[] = {
        "add.sat.u32 %d, %a, %b;", "add.sat.u16x2 %d, %a, %b;", "add.sat.s16x2 %d, %a, %b;", "add.u8x4 %d, %a, %b;",
        "add.s8x4 %d, %a, %b;",
        "add.sat.u8x4 %d, %a, %b;", "add.sat.s8x4 %d, %a, %b;", "sub.u8x4 %d, %a, %b;", "sub.sat.u8x4 %d, %a, %b;",
        "sub.sat.s8x4 %d, %a, %b;", "neg.s8x4 %d, %a;", "min.u8x4 %d, %a, %b;", "min.s8x4 %d, %a, %b;",
        "min.relu.s8x4 %d, %a, %b;",
        "max.u8x4 %d, %a, %b;", "max.s8x4 %d, %a, %b;", "max.relu.s8x4 %d, %a, %b;",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        check(lines[i], oracle_ref_packed);
}

static uint64_t referred_64(const uint64_t *v)
{
    struct oracle_lane lane = { 0 };
    for (unsigned i = 0; i < 3; i++)
        lane.src[i].u64[0] = v[i];
    now.reference(now.in, &lane);
    return lane.dst[0].u64[0];
}

Test(lower_data, clmad, .timeout = 100)
{
    static const char *const lines[] = { "clmad.lo.u64 %d, %a, %b, %c;", "clmad.hi.u64 %d, %a, %b, %c;" };
    for (int i = 0; i < 2; i++) {
        struct run_row row = { lines[i], "u64 u64 u64 u64", referred_64, 0 };
        char wide[100];
        snprintf(wide, sizeof wide, "{ .reg .b64 %%d, %%a, %%b, %%c; %s }", lines[i]);
        cr_assert(instruction_open(wide, oracle_ref_clmad), "%s: no row has it", wide);
        cr_expect(run_rows(&row, 1), "%s", lines[i]);
        ptx_module_destroy(now.module);
    }
}

/* What the manual does not have must be refused. */
Test(lower_data, video_refused)
{
    static const char *const lines[] = {
        "vadd.u32.u32.u32.add %d.b0, %a, %b, %c;",
        "vadd2.u32.u32.u32.sat.add %d, %a, %b, %c;",
        "vmad.u32.u32.u32 %d.b0, %a, %b, %c;",
        "vmad.u32.u32.u32.po %d, -%a, %b, %c;", "vadd.u32.u32.u32 %d, -%a, %b;", "add.u32 %d, %a.b0, %b;",
        "vshr.u32.u32.s32.clamp %d, %a, %b;", "vset.u32.u32.lo %d, %a, %b;", "sub.sat.u32 %d, %a, %b;",
        "max.relu.u8x4 %d, %a, %b;",
        "vmad.u32.u32.u32 %d, !%a, %b, %c;", "vadd2.u32.u32.u32 %d, %a, %b;",
    };
    static const char *const lowered[] = {
        "vadd.u32.u32.u32 %d.b0, %a, %b;", "vadd.u32.u32.u32 %d, %a.b4, %b;", "vadd.u32.u32.u32 %d, %a.h2, %b;",
        "vadd2.u32.u32.u32 %d.h01, %a, %b, %c;", "vadd4.u32.u32.u32 %d, %a.b0128, %b, %c;", "vmad.u32.u32.u32 %d, -%a, %b, -%c;",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cr_expect(!instruction_open(lines[i], oracle_ref_video), "%s", lines[i]);
        ptx_module_destroy(now.module);
    }
    for (size_t i = 0; i < sizeof lowered / sizeof *lowered; i++) {
        struct run_row row = { lowered[i], "b32 b32 b32 b32", referred, 0 };
        cr_expect_eq(run_row_differences(&row), -1, "%s", lowered[i]);
    }
}
