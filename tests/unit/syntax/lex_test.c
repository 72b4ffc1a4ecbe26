/* Unit tests of constants, constant expressions and what the lexer passes over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "front_test.h"

#include <stdio.h>
#include <stdlib.h>

/* The first initial value of `.global .u64 x = EXPR;`. */
static struct ptx_init value_of(const char *expr)
{
    char text[512];
    snprintf(text, sizeof text, HEAD ".global .u64 x = %s;\n", expr);
    struct ptx_module *m = parse_ok(text);
    struct ptx_init init = *m->vars->init;

    ptx_module_destroy(m);
    return init;
}

static void expect_error(const char *expr, const char *message)
{
    char text[512];
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;

    snprintf(text, sizeof text, HEAD ".global .u64 x = %s;\n", expr);
    cr_assert_eq(ptx_parse(text, strlen(text), "t", &diags, &m), AW_ERR_INVALID_PTX, "%s", expr);
    cr_assert_not_null(strstr(diags.text.ptr, message), "%s gave: %s", expr, diags.text.ptr);
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}

Test(lex, integers)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = { { "0", 0 },           { "00", 0 },          { "017", 15 },        { "0x1F", 31 },
                  { "0Xff", 255 },      { "0b101", 5 },       { "42U", 42 },        { "0xFFFFFFFFFFFFFFFFU", UINT64_MAX },
                  { "18446744073709551615", UINT64_MAX },     { "-1", UINT64_MAX }, { "+7", 7 },
                  { "WARP_SZ", 32 },    { "~0", UINT64_MAX }, { "!5", 0 },          { "!0", 1 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ptx_init init = value_of(cases[i].text);
        cr_assert_eq(init.kind, PTX_INIT_INT, "%s", cases[i].text);
        cr_assert_eq(init.bits, cases[i].value, "%s is %llx", cases[i].text, (unsigned long long)init.bits);
    }
}

Test(lex, floats)
{
    struct ptx_init init = value_of("0f3F800000");
    cr_assert(init.kind == PTX_INIT_FLOAT && init.is_f32);
    cr_assert_eq(init.bits, 0x3f800000u);
    init = value_of("-0F3f800000");
    cr_assert_eq(init.bits, 0xbf800000u);
    init = value_of("0dBFF0000000000000");
    cr_assert(init.kind == PTX_INIT_FLOAT && !init.is_f32);
    cr_assert_eq(init.bits, 0xbff0000000000000u);
    static const struct {
        const char *text;
        double value;
    } cases[] = { { "1.5", 1.5 }, { "2.", 2 }, { "1e3", 1e3 }, { "2.5E-3", 2.5e-3 }, { "-0.25", -0.25 }, { "1.0 / 4", 0.25 },
                  { "0f40000000 + 1", 3 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double d;
        init = value_of(cases[i].text);
        memcpy(&d, &init.bits, sizeof d);
        cr_assert(init.kind == PTX_INIT_FLOAT && !init.is_f32 && d == cases[i].value, "%s is %g", cases[i].text, d);
    }
}

Test(lex, expressions_follow_c)
{
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = { { "1 + 2 * 3", 7 },        { "(1 + 2) * 3", 9 },      { "10 - 4 - 3", 3 },      { "7 / 2 * 2", 6 },
                  { "-7 / 2", (uint64_t)-3 }, { "-7 % 3", (uint64_t)-1 }, { "1 << 3 + 1", 16 },    { "-16 >> 2", (uint64_t)-4 },
                  { "1 << 64", 0 },          { "-1 >> 70", UINT64_MAX }, { "3 < 2", 0 },          { "-1 < 0", 1 },
                  { "-1 < 0U", 0 },          { "(.u64)-1 > 0", 1 },      { "1 == 1 != 0", 1 },    { "6 & 3 | 8 ^ 1", 11 },
                  { "1 && 0 || 1", 1 },      { "1 ? 2 : 3", 2 },         { "0 ? 2 : 0 ? 3 : 4", 4 }, { "2>1?5:6", 5 },
                  { "0x8000000000000000 / -1", 0 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ptx_init init = value_of(cases[i].text);
        cr_assert_eq(init.bits, cases[i].value, "%s is %llx", cases[i].text, (unsigned long long)init.bits);
    }
}

Test(lex, malformed_numbers)
{
    expect_error("0x", "malformed number");
    expect_error("0b102", "malformed number");
    expect_error("089", "malformed number");
    expect_error("12abc", "malformed number");
    expect_error("18446744073709551616", "does not fit in 64 bits");
    expect_error("0f3f8", "0f needs 8");
    expect_error("0d3f800000", "0d needs 16");
    expect_error("1 % 0", "division by zero");
    expect_error("1.5 % 2", "needs integers");
    expect_error("~1.5", "needs an integer");
    expect_error("1 +", "expected a constant");
}

Test(lex, nesting_is_bounded)
{
    size_t n = 100000;
    char *text = malloc(3 * n + 100);

    for (const char *open = "(-!~"; *open; open++) {
        int at = sprintf(text, HEAD ".global .u64 x = ");
        memset(text + at, *open, n);
        strcpy(text + at + n, "1;\n");
        struct ptx_diags diags = { 0 };
        struct ptx_module *m;
        cr_assert_eq(ptx_parse(text, strlen(text), "t", &diags, &m), AW_ERR_INVALID_PTX);
        cr_assert_not_null(strstr(diags.text.ptr, "nested too deeply"));
        ptx_module_destroy(m);
        ptx_diags_fini(&diags);
    }
    free(text);
}

Test(lex, passes_over_comments_and_foreign_lines)
{
    struct ptx_module *m = parse_ok("\xef\xbb\xbf// one\n/* two\n * lines */ # 1 \"x.cu\"\n@@DWARF .byte 0x00\n" HEAD
                                    ".global .u32 x; // end\n");

    cr_assert_not_null(m->vars);
    cr_assert_eq(m->vars->loc.line, 8u);
    cr_assert_eq(m->vars->loc.column, 14u);
    ptx_module_destroy(m);
}

Test(lex, trailing_nuls_are_ignored_and_others_are_not)
{
    static const char padded[] = HEAD ".global .u32 x;\n\0\0", broken[] = HEAD ".global \0.u32 x;\n";
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;

    cr_assert_eq(ptx_parse(padded, sizeof padded, "t", &diags, &m), AW_OK);
    ptx_module_destroy(m);
    cr_assert_eq(ptx_parse(broken, sizeof broken - 1, "t", &diags, &m), AW_ERR_INVALID_PTX);
    cr_assert_not_null(strstr(diags.text.ptr, "t:4:9: error: stray byte 0x00"), "%s", diags.text.ptr);
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}
