/* Bodies of functions: statements in order, each error confined to its statement. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "syntax/parse.h"

/* Blocks within one function; they nest in the text only, not on our stack. */
#define MAX_BLOCKS 1000

struct body {
    struct ptx_parser *p;
    struct ptx_func *func;
    struct ptx_stmt **tail;
    unsigned open; /* blocks */
};

void ptx_skip_statement(struct ptx_parser *p)
{
    while (!ptx_at(p, ';') && !ptx_at(p, '}') && !ptx_at(p, PTX_T_EOF))
        ptx_lex_next(&p->lx);
    ptx_accept(p, ';');
}

static struct ptx_stmt *add_stmt(struct body *b, enum ptx_stmt_kind kind, struct ptx_loc loc)
{
    struct ptx_stmt *s = AW_NEW(b->p->arena, struct ptx_stmt);

    if (!s) {
        ptx_out_of_memory(b->p);
        return NULL;
    }
    s->kind = kind;
    s->loc = loc;
    *b->tail = s;
    b->tail = &s->next;
    return s;
}

/* .loc 1 20 5, function_name $L1+4, inlined_at 1 38 9 : no ';' at its end. */
static bool parse_loc_tail(struct ptx_parser *p, struct ptx_stmt *s)
{
    const char *start = NULL, *end = NULL;

    while (ptx_at(p, ',')) {
        ptx_lex_next(&p->lx);
        if (!start)
            start = p->lx.tok.text.ptr;
        bool inlined = aw_str_is(p->lx.tok.text, "inlined_at");
        if (!inlined && !aw_str_is(p->lx.tok.text, "function_name"))
            return ptx_unexpected(p, "function_name or inlined_at");
        ptx_lex_next(&p->lx);
        if (inlined) {
            for (int i = 0; i < 3; i++) {
                end = p->lx.p;
                if (!ptx_expect(p, PTX_T_INT, "a number"))
                    return false;
            }
            continue;
        }
        end = p->lx.p;
        if (!ptx_expect(p, PTX_T_IDENT, "a label"))
            return false;
        if (ptx_accept(p, '+')) {
            end = p->lx.p;
            if (!ptx_expect(p, PTX_T_INT, "a number"))
                return false;
        }
    }
    if (start)
        s->text = (struct aw_str){ start, (size_t)(end - start) };
    return true;
}

static bool parse_loc(struct body *b)
{
    struct ptx_parser *p = b->p;
    struct ptx_stmt *s = add_stmt(b, PTX_STMT_LOC, p->lx.tok.loc);

    if (!s)
        return false;
    ptx_lex_next(&p->lx);
    uint32_t *const fields[] = { &s->file, &s->line, &s->column };
    for (int i = 0; i < 3; i++) {
        if (i == 2 && !ptx_at(p, PTX_T_INT)) /* the column came with PTX 2.3 */
            break;
        *fields[i] = p->lx.tok.value > UINT32_MAX ? UINT32_MAX : (uint32_t)p->lx.tok.value;
        if (!ptx_expect(p, PTX_T_INT, "a number"))
            return false;
    }
    return parse_loc_tail(p, s);
}

static bool parse_table(struct body *b, struct aw_str label, struct ptx_loc loc)
{
    struct ptx_parser *p = b->p;
    bool proto = ptx_at_directive(p, ".callprototype");
    struct ptx_stmt *s = add_stmt(b, proto ? PTX_STMT_CALLPROTOTYPE
                                     : ptx_at_directive(p, ".branchtargets") ? PTX_STMT_BRANCHTARGETS : PTX_STMT_CALLTARGETS,
                                  loc);

    if (!s)
        return false;
    s->label = label;
    ptx_lex_next(&p->lx);
    if (proto)
        return ptx_parse_prototype(p, &s->proto);
    return ptx_parse_names(p, &s->targets, &s->n_targets) && ptx_expect(p, ';', "',' or ';'");
}

/* The mnemonic is in *first, whose token was the last one read; in old texts spaces may stand between the modifiers. */
static bool parse_instr(struct body *b, struct ptx_operand *guard, struct ptx_loc loc)
{
    struct ptx_parser *p = b->p;
    struct aw_str text = p->lx.tok.text;

    if (!ptx_at(p, PTX_T_IDENT))
        return ptx_unexpected(p, "an instruction");
    if (*p->lx.p == '.')
        text.len += ptx_lex_suffix(&p->lx).len;
    ptx_lex_next(&p->lx);
    while (ptx_at(p, PTX_T_DIRECTIVE)) {
        text = ptx_join(p, text, "", p->lx.tok.text);
        ptx_lex_next(&p->lx);
    }
    struct ptx_opcode *opcode = ptx_opcode_intern(&p->opcodes, p->arena, text);
    struct ptx_stmt *s = add_stmt(b, PTX_STMT_INSTR, loc);
    struct ptx_instr *in = AW_NEW(p->arena, struct ptx_instr);
    if (!opcode || !s || !in)
        return ptx_out_of_memory(p);
    s->instr = in;
    in->loc = loc;
    in->opcode = opcode;
    in->mnemonic = opcode->mnemonic;
    in->mods = opcode->mods;
    in->n_mods = opcode->n_mods;
    in->types = opcode->types;
    in->flags = opcode->flags;
    in->guard = guard;
    if (!ptx_at(p, ';') && !ptx_parse_operands(p, in))
        return false;
    return ptx_expect(p, ';', in->n_ops ? "',' or ';'" : "';'");
}

static bool parse_guarded(struct body *b)
{
    struct ptx_parser *p = b->p;
    struct ptx_loc loc = p->lx.tok.loc;
    struct ptx_operand *guard = AW_NEW(p->arena, struct ptx_operand);

    if (!guard)
        return ptx_out_of_memory(p);
    ptx_lex_next(&p->lx);
    guard->negate = ptx_accept(p, '!') ? PTX_NOT : PTX_PLAIN;
    guard->kind = PTX_OP_NAME;
    guard->loc = p->lx.tok.loc;
    guard->name = p->lx.tok.text;
    if (!ptx_at(p, PTX_T_IDENT))
        return ptx_unexpected(p, "a predicate");
    if (*p->lx.p == '.') {
        struct aw_str suffix = ptx_lex_suffix(&p->lx);
        if (suffix.len)
            guard->suffix = (struct aw_str){ suffix.ptr + 1, suffix.len - 1 };
    }
    ptx_lex_next(&p->lx);
    return parse_instr(b, guard, loc);
}

/* The current token is an identifier followed by ':'. */
static bool parse_label(struct body *b)
{
    struct ptx_parser *p = b->p;
    struct aw_str name = p->lx.tok.text;
    struct ptx_loc loc = p->lx.tok.loc;

    ptx_lex_next(&p->lx);
    ptx_lex_next(&p->lx);
    if (ptx_at_directive(p, ".branchtargets") || ptx_at_directive(p, ".calltargets") || ptx_at_directive(p, ".callprototype"))
        return parse_table(b, name, loc);
    struct ptx_stmt *s = add_stmt(b, PTX_STMT_LABEL, loc);
    if (s)
        s->label = name;
    return s != NULL;
}

static bool followed_by_colon(const struct ptx_parser *p)
{
    const char *q = p->lx.p;

    while (*q == ' ' || *q == '\t')
        q++;
    return *q == ':';
}

/* A block ends, and with it the names of what was declared in it. */
static void end_nested(struct body *b)
{
    struct ptx_nested *last = b->p->module->nested;

    for (struct ptx_nested *n = last; n && n->func == b->func && n->block >= b->open; n = n->next)
        if (n->end == UINT32_MAX)
            n->end = last->number;
}

static bool note_nested(struct body *b, struct ptx_var *vars)
{
    for (; vars && (vars->space == PTX_SPACE_GLOBAL || vars->space == PTX_SPACE_CONST); vars = vars->next) {
        struct ptx_nested *n = AW_NEW(b->p->arena, struct ptx_nested);
        if (!n)
            return ptx_out_of_memory(b->p);
        uint32_t number = b->p->module->nested ? b->p->module->nested->number + 1 : 1;
        *n = (struct ptx_nested){ b->p->module->nested, vars, b->func, b->open, number, UINT32_MAX };
        b->p->module->nested = n;
    }
    return true;
}

static bool parse_body_directive(struct body *b)
{
    struct ptx_parser *p = b->p;
    struct ptx_loc loc = p->lx.tok.loc;
    struct ptx_stmt *s;

    if (ptx_at_directive(p, ".loc"))
        return parse_loc(b);
    if (ptx_at_directive(p, ".pragma")) {
        s = add_stmt(b, PTX_STMT_PRAGMA, loc);
        ptx_lex_next(&p->lx);
        return s && ptx_parse_pragma(p, &s->text);
    }
    if (ptx_at_directive(p, ".branchtargets") || ptx_at_directive(p, ".calltargets") || ptx_at_directive(p, ".callprototype"))
        return ptx_fail(p, "'%.*s' needs a label before it", AW_STR_ARG(p->lx.tok.text));
    enum ptx_linkage linkage = PTX_LOCAL;
    if (ptx_at_directive(p, ".extern") || ptx_at_directive(p, ".visible") || ptx_at_directive(p, ".weak")) {
        linkage = ptx_at_directive(p, ".extern") ? PTX_EXTERN : ptx_at_directive(p, ".weak") ? PTX_WEAK : PTX_VISIBLE;
        ptx_lex_next(&p->lx);
    }
    struct ptx_var *vars;
    if (!ptx_parse_vars(p, linkage, (struct aw_str){ 0 }, &vars))
        return false;
    s = add_stmt(b, PTX_STMT_DECL, loc);
    if (s)
        s->decl = vars;
    return s != NULL && note_nested(b, vars);
}

static bool parse_statement(struct body *b)
{
    struct ptx_parser *p = b->p;
    struct ptx_loc loc = p->lx.tok.loc;

    switch (p->lx.tok.kind) {
    case PTX_T_IDENT:
        return followed_by_colon(p) ? parse_label(b) : parse_instr(b, NULL, loc);
    case '@':
        return parse_guarded(b);
    case PTX_T_DIRECTIVE:
        return parse_body_directive(b);
    case ';':
        ptx_lex_next(&p->lx);
        return true;
    case '{':
        if (b->open >= MAX_BLOCKS)
            return ptx_fail(p, "blocks nested too deeply");
        b->open++;
        ptx_lex_next(&p->lx);
        return add_stmt(b, PTX_STMT_OPEN, loc) != NULL;
    default:
        return ptx_unexpected(p, "a statement");
    }
}

bool ptx_parse_body(struct ptx_parser *p, struct ptx_func *func)
{
    struct body b = { .p = p, .func = func, .tail = &func->body };

    ptx_lex_next(&p->lx);
    for (;;) {
        if (ptx_at(p, '}')) {
            struct ptx_loc loc = p->lx.tok.loc;
            ptx_lex_next(&p->lx);
            if (!b.open) {
                func->end = loc;
                return true;
            }
            end_nested(&b);
            b.open--;
            if (!add_stmt(&b, PTX_STMT_CLOSE, loc))
                return false;
            continue;
        }
        if (ptx_at(p, PTX_T_EOF))
            return ptx_fail(p, "the body of '%.*s' has no end", AW_STR_ARG(func->name));
        p->depth = 0;
        if (parse_statement(&b))
            continue;
        if (p->no_memory)
            return false;
        if (ptx_at(p, '{')) /* refused: too deep, and no way to tell where it closes */
            ptx_lex_next(&p->lx);
        ptx_skip_statement(p);
    }
}
