/* What the parser's files share.  Internal to ptx/syntax.
 *
 * A parsing function returns false after it has reported an error; its caller passes that on up to where recovery is: the
 * statement or the module-level item. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_PARSE_H
#define AW_PTX_SYNTAX_PARSE_H

#include "base/vec.h"
#include "syntax/lex.h"
#include "syntax/opcode.h"

/* Nesting of expressions, initialisers and operands; beyond it is an error, so that no input can exhaust the stack. */
#define PTX_MAX_NESTING 64
#define PTX_MAX_DIMS 8
#define PTX_MAX_TEXT ((size_t)1 << 31)
/* The largest variable, in bytes; keeps all sums of sizes far from overflow. */
#define PTX_MAX_SIZE ((uint64_t)1 << 40)

struct ptx_parser {
    struct ptx_lexer lx;
    struct ptx_module *module;
    struct aw_arena *arena;
    struct ptx_opcodes opcodes;
    AW_VEC(struct ptx_operand) scratch; /* operands of unfinished lists, used as a stack */
    AW_VEC(struct ptx_item) items;
    unsigned depth;
    bool no_memory;
};

/* A constant expression's value: integer of 64 bits or float. */
struct ptx_value {
    bool is_float, is_f32, is_unsigned; /* is_f32: a lone 0f literal, bits are of the f32 */
    uint64_t bits;
};

#define ptx_fail(p, ...) (ptx_error((p)->lx.diags, (p)->lx.file, (p)->lx.tok.loc, __VA_ARGS__), false)
bool ptx_expect(struct ptx_parser *p, int kind, const char *what); /* consumes, or reports "expected WHAT" */
bool ptx_unexpected(struct ptx_parser *p, const char *wanted);     /* reports what the current token is; false */
bool ptx_out_of_memory(struct ptx_parser *p);                      /* false */

static inline bool ptx_at(const struct ptx_parser *p, int kind)
{
    return p->lx.tok.kind == kind;
}
static inline bool ptx_at_directive(const struct ptx_parser *p, const char *name)
{
    return p->lx.tok.kind == PTX_T_DIRECTIVE && aw_str_is(p->lx.tok.text, name);
}
static inline bool ptx_accept(struct ptx_parser *p, int kind)
{
    if (p->lx.tok.kind != kind)
        return false;
    ptx_lex_next(&p->lx);
    return true;
}

/* expr.c */
bool ptx_parse_expr(struct ptx_parser *p, struct ptx_value *ret_value);
bool ptx_parse_uint(struct ptx_parser *p, uint64_t max, uint64_t *ret_value); /* a constant expression in 0 .. max */

/* operand.c */
bool ptx_parse_operands(struct ptx_parser *p, struct ptx_instr *in);
bool ptx_parse_names(struct ptx_parser *p, struct ptx_operand **ret_ops, uint32_t *ret_n); /* a, b, c */

/* decl.c */
bool ptx_parse_param_list(struct ptx_parser *p, struct ptx_var **ret_list); /* the current token is '(' */
/* One declaration statement from the current token, linkage read before; up to and with its ';'. */
bool ptx_parse_vars(struct ptx_parser *p, enum ptx_linkage linkage, struct aw_str attrs, struct ptx_var **ret_list);
bool ptx_parse_prototype(struct ptx_parser *p, struct ptx_func **ret_func); /* after .callprototype, with ';' */
bool ptx_parse_func(struct ptx_parser *p, bool is_entry, enum ptx_linkage linkage, struct aw_str attrs,
                    struct ptx_func **ret_func);
bool ptx_parse_attribute(struct ptx_parser *p, struct aw_str *ret_text); /* after .attribute: "(...)" */
bool ptx_parse_pragma(struct ptx_parser *p, struct aw_str *ret_text);    /* after .pragma, with ';' : "a", "b" */

/* body.c: the current token is the '{'; ends after its '}'.  Reports and recovers by itself; false only when it cannot go on. */
bool ptx_parse_body(struct ptx_parser *p, struct ptx_func *func);
void ptx_skip_statement(struct ptx_parser *p); /* after an error: past the next ';', or to a '}' */

/* Arena text "a" + "b". */
struct aw_str ptx_join(struct ptx_parser *p, struct aw_str a, const char *separator, struct aw_str b);

#endif
