/* The lexer.  Table-driven character classes; tokens are slices of the text; numbers are converted here.
 * Knows nothing of grammar. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/lex.h"

#include <stdlib.h>

#define S PTX_CH_SPACE
#define D (PTX_CH_IDENT | PTX_CH_DIGIT | PTX_CH_HEX)
#define H (PTX_CH_IDENT | PTX_CH_START | PTX_CH_HEX)
#define A (PTX_CH_IDENT | PTX_CH_START)
const uint8_t ptx_char_class[256] = {
    ['\t'] = S, ['\n'] = S, ['\v'] = S, ['\f'] = S, ['\r'] = S, [' '] = S,
    ['0' ... '9'] = D, ['a' ... 'f'] = H, ['g' ... 'z'] = A, ['A' ... 'F'] = H, ['G' ... 'Z'] = A,
    ['_'] = A, ['$'] = A, ['%'] = PTX_CH_START,
};
#undef S
#undef D
#undef H
#undef A

static struct ptx_loc here(const struct ptx_lexer *lx, const char *p)
{
    return (struct ptx_loc){ lx->line, (uint32_t)(p - lx->line_start) + 1 };
}

static void new_line(struct ptx_lexer *lx, const char *next)
{
    lx->line++;
    lx->line_start = next;
}

static void skip_to_eol(struct ptx_lexer *lx)
{
    const char *eol = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));
    lx->p = eol ? eol : lx->end;
}

static void skip_block_comment(struct ptx_lexer *lx)
{
    struct ptx_loc start = here(lx, lx->p);
    const char *p = lx->p + 2;

    for (;; p++) {
        if (p >= lx->end) {
            ptx_error(lx->diags, lx->file, start, "comment without end");
            lx->p = lx->end;
            return;
        }
        if (*p == '\n')
            new_line(lx, p + 1);
        else if (*p == '*' && p[1] == '/')
            break;
    }
    lx->p = p + 2;
}

/* White space, comments, and lines that are for others: "#..." of a preprocessor and "@@DWARF" of PTX 1.x. */
static void skip_blank(struct ptx_lexer *lx)
{
    for (;;) {
        const char *p = lx->p;
        while (ptx_is(*p, PTX_CH_SPACE)) {
            if (*p == '\n')
                new_line(lx, p + 1);
            p++;
        }
        lx->p = p;
        if (*p == '/' && p[1] == '/')
            skip_to_eol(lx);
        else if (*p == '/' && p[1] == '*')
            skip_block_comment(lx);
        else if (*p == '#' || (*p == '@' && p[1] == '@'))
            skip_to_eol(lx);
        else
            return;
    }
}

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static void bad_number(struct ptx_lexer *lx, const char *what)
{
    ptx_error(lx->diags, lx->file, lx->tok.loc, "%s '%.*s'", what, AW_STR_ARG(lx->tok.text));
}

/* 0f and 0d: exactly 8 or 16 hexadecimal digits. */
static void lex_float_bits(struct ptx_lexer *lx, const char *start, int digits)
{
    const char *p = start + 2;
    uint64_t bits = 0;
    int n = 0;

    for (; ptx_is(*p, PTX_CH_HEX); p++, n++)
        bits = bits << 4 | (uint64_t)hex_value(*p);
    lx->p = p;
    lx->tok.kind = PTX_T_FLOAT;
    lx->tok.text = (struct aw_str){ start, (size_t)(p - start) };
    lx->tok.value = bits;
    lx->tok.is_f32 = digits == 8;
    if (n != digits) {
        bad_number(lx, digits == 8 ? "0f needs 8 hexadecimal digits:" : "0d needs 16 hexadecimal digits:");
        lx->tok.kind = PTX_T_BAD;
    }
}

static void lex_decimal_float(struct ptx_lexer *lx, const char *start, const char *p)
{
    char buf[128];
    double value;

    if (*p == '.')
        for (p++; ptx_is(*p, PTX_CH_DIGIT); p++)
            ;
    if ((*p | 32) == 'e') {
        const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
        if (ptx_is(*q, PTX_CH_DIGIT))
            for (p = q; ptx_is(*p, PTX_CH_DIGIT); p++)
                ;
    }
    lx->p = p;
    lx->tok.kind = PTX_T_FLOAT;
    lx->tok.text = (struct aw_str){ start, (size_t)(p - start) };
    lx->tok.is_f32 = false;
    if (lx->tok.text.len >= sizeof buf) {
        bad_number(lx, "number too long");
        lx->tok.kind = PTX_T_BAD;
        return;
    }
    memcpy(buf, start, lx->tok.text.len);
    buf[lx->tok.text.len] = 0;
    value = strtod(buf, NULL); /* the process runs in the C locale: setlocale is never called */
    memcpy(&lx->tok.value, &value, sizeof value);
}

static unsigned number_base(const char **p)
{
    if (**p != '0')
        return 10;
    if (((*p)[1] | 32) == 'x') {
        *p += 2;
        return 16;
    }
    if (((*p)[1] | 32) == 'b') {
        *p += 2;
        return 2;
    }
    return ptx_is((*p)[1], PTX_CH_DIGIT) ? 8 : 10;
}

static void lex_number(struct ptx_lexer *lx)
{
    const char *start = lx->p, *p = start, *first;
    uint64_t value = 0;
    bool overflow = false, bad = false;

    if (*p == '0' && (p[1] | 32) == 'f') {
        lex_float_bits(lx, start, 8);
        return;
    }
    if (*p == '0' && (p[1] | 32) == 'd') {
        lex_float_bits(lx, start, 16);
        return;
    }
    unsigned base = number_base(&p);
    for (first = p; ptx_is(*p, base == 16 ? PTX_CH_HEX : PTX_CH_DIGIT); p++) {
        unsigned digit = (unsigned)hex_value(*p);
        bad |= digit >= base;
        overflow |= __builtin_mul_overflow(value, base, &value) | __builtin_add_overflow(value, digit, &value);
    }
    if ((base == 10 || base == 8) && (*p == '.' || (*p | 32) == 'e')) {
        lex_decimal_float(lx, start, p);
        return;
    }
    bad |= p == first;
    lx->tok.is_unsigned = *p == 'U' || *p == 'u';
    p += lx->tok.is_unsigned;
    while (ptx_is(*p, PTX_CH_IDENT)) {
        bad = true;
        p++;
    }
    lx->p = p;
    lx->tok.kind = PTX_T_INT;
    lx->tok.text = (struct aw_str){ start, (size_t)(p - start) };
    lx->tok.value = value;
    lx->tok.is_unsigned |= value > INT64_MAX;
    if (bad || overflow) {
        bad_number(lx, bad ? "malformed number" : "number does not fit in 64 bits:");
        lx->tok.kind = PTX_T_BAD;
    }
}

static void lex_string(struct ptx_lexer *lx)
{
    const char *p = lx->p + 1;

    while (p < lx->end && *p != '"' && *p != '\n')
        p += *p == '\\' && p + 1 < lx->end && p[1] != '\n' ? 2 : 1;
    lx->tok.text = (struct aw_str){ lx->p + 1, (size_t)(p - lx->p - 1) };
    if (p < lx->end && *p == '"') {
        lx->tok.kind = PTX_T_STRING;
        lx->p = p + 1;
        return;
    }
    ptx_error(lx->diags, lx->file, lx->tok.loc, "string without end");
    lx->tok.kind = PTX_T_BAD;
    lx->p = p;
}

/* ".a::b" from its dot on; where it ends. */
static const char *scan_directive(const char *p)
{
    p++;
    for (;;) {
        while (ptx_is(*p, PTX_CH_IDENT))
            p++;
        if (*p != ':' || p[1] != ':' || !ptx_is(p[2], PTX_CH_IDENT))
            return p;
        p += 2;
    }
}

static int punctuation(const char *p, size_t *ret_len)
{
    static const struct {
        char a, b;
        int kind;
    } two[] = { { '<', '<', PTX_T_SHL }, { '>', '>', PTX_T_SHR }, { '<', '=', PTX_T_LE }, { '>', '=', PTX_T_GE },
                { '=', '=', PTX_T_EQ }, { '!', '=', PTX_T_NE }, { '&', '&', PTX_T_AND }, { '|', '|', PTX_T_OR } };

    *ret_len = 2;
    for (size_t i = 0; i < sizeof two / sizeof two[0]; i++)
        if (p[0] == two[i].a && p[1] == two[i].b)
            return two[i].kind;
    *ret_len = 1;
    return strchr("{}()[]<>,;:+-*/%&|^!~?=@", *p) ? *p : PTX_T_BAD;
}

static void lex_other(struct ptx_lexer *lx)
{
    const char *p = lx->p;
    size_t len = 1;

    if (p >= lx->end) {
        lx->tok.kind = PTX_T_EOF;
        lx->tok.text = (struct aw_str){ p, 0 };
        return;
    }
    lx->tok.kind = *p ? punctuation(p, &len) : PTX_T_BAD;
    lx->tok.text = (struct aw_str){ p, len };
    lx->p = p + len;
    if (lx->tok.kind != PTX_T_BAD)
        return;
    if (*p > ' ' && *p < 127)
        ptx_error(lx->diags, lx->file, lx->tok.loc, "stray character '%c'", *p);
    else
        ptx_error(lx->diags, lx->file, lx->tok.loc, "stray byte 0x%02x", (unsigned char)*p);
}

void ptx_lex_next(struct ptx_lexer *lx)
{
    skip_blank(lx);
    const char *p = lx->p;
    lx->tok.loc = here(lx, p);
    switch (*p) {
    case ',': case ';': case '{': case '}': case '[': case ']': case '(': case ')': case '@': case ':':
        lx->tok.kind = *p;
        lx->tok.text = (struct aw_str){ p, 1 };
        lx->p = p + 1;
        return;
    case '.':
        if (!ptx_is(p[1], PTX_CH_IDENT))
            break;
        lx->p = scan_directive(p);
        lx->tok.kind = PTX_T_DIRECTIVE;
        lx->tok.text = (struct aw_str){ p, (size_t)(lx->p - p) };
        return;
    case '"':
        lex_string(lx);
        return;
    default:
        break;
    }
    if (ptx_is(*p, PTX_CH_DIGIT)) {
        lex_number(lx);
    } else if (ptx_is(*p, PTX_CH_START) && (*p != '%' || ptx_is(p[1], PTX_CH_IDENT))) {
        const char *q = p + 1;
        while (ptx_is(*q, PTX_CH_IDENT))
            q++;
        lx->p = q;
        lx->tok.kind = PTX_T_IDENT;
        lx->tok.text = (struct aw_str){ p, (size_t)(q - p) };
    } else {
        lex_other(lx);
    }
}

void ptx_lex_init(struct ptx_lexer *lx, struct aw_str text, struct aw_str file, struct ptx_diags *diags)
{
    *lx = (struct ptx_lexer){ .p = text.ptr, .end = text.ptr + text.len, .line_start = text.ptr, .line = 1, .file = file,
                              .diags = diags };
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0)
        lx->p += 3; /* a byte order mark that an editor left */
    ptx_lex_next(lx);
}

struct aw_str ptx_lex_suffix(struct ptx_lexer *lx)
{
    const char *p = lx->p, *start = p;

    while (*p == '.' && ptx_is(p[1], PTX_CH_IDENT))
        p = scan_directive(p);
    lx->p = p;
    return (struct aw_str){ start, (size_t)(p - start) };
}

bool ptx_lex_verbatim_block(struct ptx_lexer *lx, struct aw_str *ret_text)
{
    const char *close = memchr(lx->p, '}', (size_t)(lx->end - lx->p));

    if (!close)
        return false;
    *ret_text = (struct aw_str){ lx->p, (size_t)(close - lx->p) };
    for (const char *nl = lx->p; (nl = memchr(nl, '\n', (size_t)(close - nl))); nl++)
        new_line(lx, nl + 1);
    lx->p = close;
    ptx_lex_next(lx);
    return true;
}
