/* Constant expressions (PTX ISA 4.5): C's operators over 64-bit integers, and floats. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

static bool parse_unary(struct ptx_parser *p, struct ptx_value *v);
static bool parse_ternary(struct ptx_parser *p, struct ptx_value *v);

static double as_double(const struct ptx_value *v)
{
    double d;

    if (v->is_f32) {
        uint32_t bits = (uint32_t)v->bits;
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    if (!v->is_float)
        return v->is_unsigned ? (double)v->bits : (double)(int64_t)v->bits;
    memcpy(&d, &v->bits, sizeof d);
    return d;
}

static struct ptx_value from_double(double d)
{
    struct ptx_value v = { .is_float = true };

    memcpy(&v.bits, &d, sizeof d);
    return v;
}

static struct ptx_value from_int(uint64_t bits, bool is_unsigned)
{
    return (struct ptx_value){ .bits = bits, .is_unsigned = is_unsigned };
}

/* (.s64) or (.u64) before a value, or a parenthesised expression. */
static bool parse_paren(struct ptx_parser *p, struct ptx_value *v)
{
    ptx_lex_next(&p->lx);
    if (ptx_at_directive(p, ".s64") || ptx_at_directive(p, ".u64")) {
        bool is_unsigned = p->lx.tok.text.ptr[1] == 'u';
        ptx_lex_next(&p->lx);
        if (!ptx_expect(p, ')', "')'"))
            return false;
        if (p->depth >= PTX_MAX_NESTING)
            return ptx_fail(p, "expression nested too deeply");
        p->depth++;
        bool ok = parse_unary(p, v);
        p->depth--;
        if (!ok)
            return false;
        if (v->is_float)
            return ptx_fail(p, "an integer cast of a float constant");
        v->is_unsigned = is_unsigned;
        return true;
    }
    return parse_ternary(p, v) && ptx_expect(p, ')', "')'");
}

static bool parse_primary(struct ptx_parser *p, struct ptx_value *v)
{
    const struct ptx_token *tok = &p->lx.tok;

    switch (tok->kind) {
    case PTX_T_INT:
        *v = from_int(tok->value, tok->is_unsigned);
        break;
    case PTX_T_FLOAT:
        *v = (struct ptx_value){ .is_float = true, .is_f32 = tok->is_f32, .bits = tok->value };
        break;
    case PTX_T_IDENT:
        if (!aw_str_is(tok->text, "WARP_SZ"))
            return ptx_unexpected(p, "a constant");
        *v = from_int(32, false);
        break;
    case '(':
        return parse_paren(p, v);
    default:
        return ptx_unexpected(p, "a constant");
    }
    ptx_lex_next(&p->lx);
    return true;
}

static bool parse_unary(struct ptx_parser *p, struct ptx_value *v)
{
    int op = p->lx.tok.kind;

    if (op != '-' && op != '+' && op != '!' && op != '~')
        return parse_primary(p, v);
    if (p->depth >= PTX_MAX_NESTING)
        return ptx_fail(p, "expression nested too deeply");
    ptx_lex_next(&p->lx);
    p->depth++;
    bool ok = parse_unary(p, v);
    p->depth--;
    if (!ok)
        return false;
    if (v->is_float && op != '-' && op != '+')
        return ptx_fail(p, "operator '%c' needs an integer", op);
    if (op == '-' && v->is_float)
        v->bits ^= v->is_f32 ? (uint64_t)1 << 31 : (uint64_t)1 << 63;
    else if (op == '-')
        v->bits = 0 - v->bits;
    else if (op == '~')
        v->bits = ~v->bits;
    else if (op == '!')
        *v = from_int(!v->bits, false);
    return true;
}

static int precedence(int op)
{
    switch (op) {
    case '*': case '/': case '%': return 10;
    case '+': case '-': return 9;
    case PTX_T_SHL: case PTX_T_SHR: return 8;
    case '<': case '>': case PTX_T_LE: case PTX_T_GE: return 7;
    case PTX_T_EQ: case PTX_T_NE: return 6;
    case '&': return 5;
    case '^': return 4;
    case '|': return 3;
    case PTX_T_AND: return 2;
    case PTX_T_OR: return 1;
    default: return 0;
    }
}

static bool fold_float(struct ptx_parser *p, int op, const struct ptx_value *a, const struct ptx_value *b, struct ptx_value *ret)
{
    double x = as_double(a), y = as_double(b);

    switch (op) {
    case '*': *ret = from_double(x * y); return true;
    case '/': *ret = from_double(x / y); return true;
    case '+': *ret = from_double(x + y); return true;
    case '-': *ret = from_double(x - y); return true;
    case '<': *ret = from_int(x < y, false); return true;
    case '>': *ret = from_int(x > y, false); return true;
    case PTX_T_LE: *ret = from_int(x <= y, false); return true;
    case PTX_T_GE: *ret = from_int(x >= y, false); return true;
    case PTX_T_EQ: *ret = from_int(x == y, false); return true;
    case PTX_T_NE: *ret = from_int(x != y, false); return true;
    default: return ptx_fail(p, "operator needs integers");
    }
}

static uint64_t divide(uint64_t x, uint64_t y, bool is_unsigned, bool remainder)
{
    if (is_unsigned)
        return remainder ? x % y : x / y;
    if (y == UINT64_MAX) /* INT64_MIN / -1 wraps */
        return remainder ? 0 : 0 - x;
    return (uint64_t)(remainder ? (int64_t)x % (int64_t)y : (int64_t)x / (int64_t)y);
}

static uint64_t shift(uint64_t x, uint64_t y, bool is_unsigned, bool left)
{
    if (left)
        return y > 63 ? 0 : x << y;
    if (is_unsigned)
        return y > 63 ? 0 : x >> y;
    return (uint64_t)((int64_t)x >> (y > 63 ? 63 : y));
}

static bool fold_int(struct ptx_parser *p, int op, const struct ptx_value *a, const struct ptx_value *b, struct ptx_value *ret)
{
    uint64_t x = a->bits, y = b->bits;
    bool u = a->is_unsigned || b->is_unsigned;

    switch (op) {
    case '*': *ret = from_int(x * y, u); break;
    case '+': *ret = from_int(x + y, u); break;
    case '-': *ret = from_int(x - y, u); break;
    case '/': case '%':
        if (!y)
            return ptx_fail(p, "division by zero in a constant expression");
        *ret = from_int(divide(x, y, u, op == '%'), u);
        break;
    case PTX_T_SHL: *ret = from_int(shift(x, y, a->is_unsigned, true), a->is_unsigned); break;
    case PTX_T_SHR: *ret = from_int(shift(x, y, a->is_unsigned, false), a->is_unsigned); break;
    case '<': *ret = from_int(u ? x < y : (int64_t)x < (int64_t)y, false); break;
    case '>': *ret = from_int(u ? x > y : (int64_t)x > (int64_t)y, false); break;
    case PTX_T_LE: *ret = from_int(u ? x <= y : (int64_t)x <= (int64_t)y, false); break;
    case PTX_T_GE: *ret = from_int(u ? x >= y : (int64_t)x >= (int64_t)y, false); break;
    case PTX_T_EQ: *ret = from_int(x == y, false); break;
    case PTX_T_NE: *ret = from_int(x != y, false); break;
    case '&': *ret = from_int(x & y, u); break;
    case '^': *ret = from_int(x ^ y, u); break;
    case '|': *ret = from_int(x | y, u); break;
    case PTX_T_AND: *ret = from_int(x && y, false); break;
    default: *ret = from_int(x || y, false); break;
    }
    return true;
}

/* Precedence climbing; recursion is bounded by the ten levels. */
static bool parse_binary(struct ptx_parser *p, int lowest, struct ptx_value *v)
{
    if (!parse_unary(p, v))
        return false;
    for (;;) {
        int op = p->lx.tok.kind, level = precedence(op);
        struct ptx_value right;
        if (!level || level < lowest)
            return true;
        ptx_lex_next(&p->lx);
        if (!parse_binary(p, level + 1, &right))
            return false;
        struct ptx_value left = *v;
        if (!(left.is_float || right.is_float ? fold_float(p, op, &left, &right, v) : fold_int(p, op, &left, &right, v)))
            return false;
    }
}

static bool parse_ternary(struct ptx_parser *p, struct ptx_value *v)
{
    struct ptx_value yes, no;

    if (p->depth >= PTX_MAX_NESTING)
        return ptx_fail(p, "expression nested too deeply");
    p->depth++;
    bool ok = parse_binary(p, 1, v);
    if (ok && ptx_accept(p, '?')) {
        bool condition = v->is_float ? as_double(v) != 0 : v->bits != 0;
        ok = parse_ternary(p, &yes) && ptx_expect(p, ':', "':'") && parse_ternary(p, &no);
        if (ok)
            *v = condition ? yes : no;
    }
    p->depth--;
    return ok;
}

bool ptx_parse_expr(struct ptx_parser *p, struct ptx_value *ret_value)
{
    /* Nearly always a lone number. */
    if (ptx_at(p, PTX_T_INT)) {
        *ret_value = from_int(p->lx.tok.value, p->lx.tok.is_unsigned);
        char c = *p->lx.p;
        if (c == ',' || c == ';' || c == '}' || c == ']') {
            ptx_lex_next(&p->lx);
            return true;
        }
    }
    return parse_ternary(p, ret_value);
}

bool ptx_parse_uint(struct ptx_parser *p, uint64_t max, uint64_t *ret_value)
{
    struct ptx_loc loc = p->lx.tok.loc;
    struct ptx_value v;

    if (!ptx_parse_expr(p, &v))
        return false;
    if (v.is_float || (!v.is_unsigned && (int64_t)v.bits < 0) || v.bits > max) {
        ptx_error(p->lx.diags, p->lx.file, loc, "expected an integer from 0 to %llu", (unsigned long long)max);
        return false;
    }
    *ret_value = v.bits;
    return true;
}
