/* Operands of instructions: names, constants, vectors, addresses, pairs and a call's lists (PTX ISA 6). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

static bool parse_operand(struct ptx_parser *p, struct ptx_operand *op, bool is_call);

/* Moves the scratch stack's top, from `base` up, into the arena. */
static bool take_scratch(struct ptx_parser *p, size_t base, struct ptx_operand **ret_ops, uint32_t *ret_n)
{
    size_t n = p->scratch.n - base;
    struct ptx_operand *ops = AW_NEW_ARRAY(p->arena, struct ptx_operand, n);

    if (n && !ops)
        return ptx_out_of_memory(p);
    if (n)
        memcpy(ops, p->scratch.at + base, n * sizeof *ops);
    p->scratch.n = base;
    *ret_ops = ops;
    *ret_n = (uint32_t)n;
    return true;
}

static bool push(struct ptx_parser *p, const struct ptx_operand *op)
{
    return aw_vec_push(&p->scratch, *op) || ptx_out_of_memory(p);
}

/* Operands up to `close`, which is consumed. */
static bool parse_items(struct ptx_parser *p, int close, struct ptx_operand *list)
{
    size_t base = p->scratch.n;

    if (p->depth >= PTX_MAX_NESTING)
        return ptx_fail(p, "operand nested too deeply");
    p->depth++;
    bool ok = true;
    if (!ptx_at(p, close)) {
        do {
            struct ptx_operand item = { 0 };
            ok = parse_operand(p, &item, false) && push(p, &item);
        } while (ok && ptx_accept(p, ','));
    }
    p->depth--;
    if (!ok || !ptx_expect(p, close, close == '}' ? "',' or '}'" : close == ']' ? "',' or ']'" : "',' or ')'")) {
        p->scratch.n = base;
        return false;
    }
    return take_scratch(p, base, &list->items, &list->n_items);
}

/* Special registers are known by their whole name; most registers end in a digit and cannot be one. */
static bool sreg_with_digit(struct aw_str name)
{
    switch (name.ptr[1]) {
    case 'c': return true;
    case 'r': return aw_str_starts(name, "%res");
    case 'e': return aw_str_starts(name, "%env");
    case 'p': return aw_str_starts(name, "%pm");
    default: return false;
    }
}

static enum ptx_sreg find_sreg(struct aw_str name, struct aw_str suffix)
{
    char last = name.ptr[name.len - 1];

    if (name.ptr[0] != '%' || (!suffix.len && ptx_is(last, PTX_CH_DIGIT) && !sreg_with_digit(name)))
        return PTX_SREG_NONE;
    return ptx_sreg_from((struct aw_str){ name.ptr, name.len + suffix.len }); /* they are adjacent in the text */
}

static bool parse_signed(struct ptx_parser *p, int64_t *ret)
{
    struct ptx_value v;

    if (!ptx_parse_expr(p, &v))
        return false;
    if (v.is_float)
        return ptx_fail(p, "an offset must be an integer");
    *ret = (int64_t)v.bits;
    return true;
}

/* The current token is an identifier. */
static bool parse_name(struct ptx_parser *p, struct ptx_operand *op)
{
    op->name = p->lx.tok.text;
    if (*p->lx.p == '.')
        op->suffix = ptx_lex_suffix(&p->lx);
    ptx_lex_next(&p->lx);
    if (op->name.len == 1 && op->name.ptr[0] == '_' && !op->suffix.len) {
        op->kind = PTX_OP_SINK;
        op->name = (struct aw_str){ 0 };
        return true;
    }
    op->sreg = find_sreg(op->name, op->suffix);
    if (op->sreg) {
        op->kind = PTX_OP_SREG;
        op->name.len += op->suffix.len;
        op->suffix = (struct aw_str){ 0 };
        return true;
    }
    if (op->suffix.len) /* without its dot */
        op->suffix = (struct aw_str){ op->suffix.ptr + 1, op->suffix.len - 1 };
    op->kind = PTX_OP_NAME;
    return true;
}

/* "r]" or "r+2]" behind "a[": an element whose number a register has, in place of an address. */
static bool parse_register_index(struct ptx_parser *p, struct ptx_operand *op)
{
    size_t base = p->scratch.n;
    struct ptx_operand array = *op, index = { .loc = p->lx.tok.loc };
    *op = (struct ptx_operand){ .kind = PTX_OP_ADDR, .loc = array.loc, .by_register = true };
    if (!parse_name(p, &index))
        return false;
    if (ptx_accept(p, '+') && !parse_signed(p, &op->offset))
        return false;
    return ptx_expect(p, ']', "']'") && push(p, &array) && push(p, &index) && take_scratch(p, base, &op->items, &op->n_items);
}

/* What may follow a name: "+4", "-4" (an expression), "[2]" or "[r]" (an element). */
static bool parse_offset(struct ptx_parser *p, struct ptx_operand *op, bool outermost)
{
    if (ptx_at(p, '+')) {
        ptx_lex_next(&p->lx);
        return parse_signed(p, &op->offset);
    }
    if (ptx_at(p, '-'))
        return parse_signed(p, &op->offset);
    if (ptx_accept(p, '[')) {
        if (outermost && ptx_at(p, PTX_T_IDENT) && !aw_str_is(p->lx.tok.text, "WARP_SZ"))
            return parse_register_index(p, op);
        op->indexed = true;
        return parse_signed(p, &op->offset) && ptx_expect(p, ']', "']'");
    }
    return true;
}

static bool parse_constant(struct ptx_parser *p, struct ptx_operand *op)
{
    struct ptx_value v;

    if (!ptx_parse_expr(p, &v))
        return false;
    op->kind = v.is_float ? PTX_OP_FLOAT : PTX_OP_INT;
    op->is_f32 = v.is_f32;
    op->bits = v.bits;
    return true;
}

/* "[a]", "[a+4]", "[16]", and with more items "[t, {x, y}]".  The '[' is consumed. */
static bool parse_address(struct ptx_parser *p, struct ptx_operand *op)
{
    size_t base = p->scratch.n;
    struct ptx_operand first = { .loc = p->lx.tok.loc };

    op->kind = PTX_OP_ADDR;
    if (ptx_at(p, PTX_T_IDENT) && !aw_str_is(p->lx.tok.text, "WARP_SZ")) {
        if (!parse_name(p, &first) || !parse_offset(p, &first, false))
            return false;
        op->offset = first.offset;
        op->indexed = first.indexed;
        first.offset = 0;
        first.indexed = false;
    } else if (!parse_operand(p, &first, false)) {
        return false;
    }
    if (!push(p, &first))
        return false;
    bool ok = true;
    while (ok && ptx_accept(p, ',')) {
        struct ptx_operand item = { 0 };
        ok = parse_operand(p, &item, false) && push(p, &item);
    }
    if (!ok || !ptx_at(p, ']')) {
        if (ok)
            ptx_unexpected(p, "']'");
        p->scratch.n = base;
        return false;
    }
    if (*p->lx.p == '.') {
        struct aw_str suffix = ptx_lex_suffix(&p->lx);
        op->suffix = (struct aw_str){ suffix.ptr + (suffix.len > 0), suffix.len - (suffix.len > 0) };
    }
    ptx_lex_next(&p->lx);
    return take_scratch(p, base, &op->items, &op->n_items);
}

static bool parse_negated(struct ptx_parser *p, struct ptx_operand *op)
{
    struct ptx_lexer before = p->lx;

    ptx_lex_next(&p->lx);
    if (ptx_at(p, PTX_T_IDENT) && !aw_str_is(p->lx.tok.text, "WARP_SZ")) {
        op->negate = before.tok.kind == '!' ? PTX_NOT : PTX_MINUS;
        if (!parse_name(p, op))
            return false;
        return op->kind != PTX_OP_SINK || ptx_fail(p, "'_' has no negative");
    }
    p->lx = before;
    return parse_constant(p, op);
}

static bool parse_simple(struct ptx_parser *p, struct ptx_operand *op, bool is_call)
{
    switch (p->lx.tok.kind) {
    case PTX_T_IDENT:
        if (aw_str_is(p->lx.tok.text, "WARP_SZ"))
            return parse_constant(p, op);
        return parse_name(p, op) && (op->kind != PTX_OP_NAME || parse_offset(p, op, true));
    case '{':
        ptx_lex_next(&p->lx);
        op->kind = PTX_OP_VECTOR;
        return parse_items(p, '}', op);
    case '[':
        ptx_lex_next(&p->lx);
        return parse_address(p, op);
    case '!':
    case '-':
        return parse_negated(p, op);
    case '(':
        if (!is_call)
            return parse_constant(p, op);
        ptx_lex_next(&p->lx);
        op->kind = PTX_OP_LIST;
        return parse_items(p, ')', op);
    case PTX_T_INT:
    case PTX_T_FLOAT:
    case '+':
    case '~':
        return parse_constant(p, op);
    default:
        return ptx_unexpected(p, "an operand");
    }
}

static bool parse_operand(struct ptx_parser *p, struct ptx_operand *op, bool is_call)
{
    op->loc = p->lx.tok.loc;
    if (p->depth >= PTX_MAX_NESTING)
        return ptx_fail(p, "operand nested too deeply");
    p->depth++;
    bool ok = parse_simple(p, op, is_call);
    p->depth--;
    if (!ok)
        return false;
    if (ptx_at(p, '|')) {
        struct ptx_operand pair[2] = { *op, { 0 } };
        ptx_lex_next(&p->lx);
        pair[1].loc = p->lx.tok.loc;
        if (!parse_simple(p, &pair[1], false))
            return false;
        *op = (struct ptx_operand){ .kind = PTX_OP_PAIR, .loc = pair[0].loc, .n_items = 2 };
        op->items = AW_NEW_ARRAY(p->arena, struct ptx_operand, 2);
        if (!op->items)
            return ptx_out_of_memory(p);
        memcpy(op->items, pair, sizeof pair);
    }
    return true;
}

bool ptx_parse_operands(struct ptx_parser *p, struct ptx_instr *in)
{
    size_t base = p->scratch.n;
    bool is_call = aw_str_is(in->mnemonic, "call");

    do {
        struct ptx_operand op = { 0 };
        if (!parse_operand(p, &op, is_call) || !push(p, &op)) {
            p->scratch.n = base;
            return false;
        }
    } while (ptx_accept(p, ','));
    return take_scratch(p, base, &in->ops, &in->n_ops);
}

bool ptx_parse_names(struct ptx_parser *p, struct ptx_operand **ret_ops, uint32_t *ret_n)
{
    size_t base = p->scratch.n;

    do {
        struct ptx_operand op = { .kind = PTX_OP_NAME, .loc = p->lx.tok.loc, .name = p->lx.tok.text };
        if (!ptx_expect(p, PTX_T_IDENT, "a name") || !push(p, &op)) {
            p->scratch.n = base;
            return false;
        }
    } while (ptx_accept(p, ','));
    return take_scratch(p, base, ret_ops, ret_n);
}
