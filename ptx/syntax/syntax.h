/* PTX text in, syntax tree out, and back.  Not the meaning: symbols, types and linking are ptx/module's.
 *
 * Nothing here is global: distinct modules may be parsed by distinct threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_SYNTAX_H
#define AW_PTX_SYNTAX_SYNTAX_H

#include "syntax/ast.h"

/* ---- Messages: lines of "file:line:column: error: text", each ended by '\n'.
 * After `limit` errors the rest are only counted. */
struct ptx_diags {
    struct aw_buf text;  /* owned; freed by ptx_diags_fini */
    uint32_t n_errors, n_warnings;
    uint32_t limit;      /* 0 = PTX_MAX_ERRORS */
};
#define PTX_MAX_ERRORS 100

void ptx_diags_fini(struct ptx_diags *diags);
/* `file` may be empty; line 0 = no place known. */
void ptx_error(struct ptx_diags *diags, struct aw_str file, struct ptx_loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void ptx_warning(struct ptx_diags *diags, struct aw_str file, struct ptx_loc loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- Parsing.  Copies the text (which need not be NUL-terminated; trailing NULs are ignored).  `name` is for messages; NULL
 * = "<ptx>".  AW_OK; AW_ERR_INVALID_PTX (messages in *diags), AW_ERR_UNSUPPORTED_PTX (.version above ours),
 * AW_ERR_OUT_OF_MEMORY.  With AW_ERR_INVALID_PTX *ret_module still gets the tree of what could be read, so that tools can
 * go on; it is NULL with the other errors.  The module is owned by the caller. */
enum aw_status ptx_parse(const char *text, size_t len, const char *name, struct ptx_diags *diags,
                         struct ptx_module **ret_module);
void ptx_module_destroy(struct ptx_module *module); /* NULL is fine */

/* ---- Printing.  Appends PTX text; parsing it again gives an equal tree (places aside).  Check out->failed at the end. */
void ptx_print(const struct ptx_module *module, struct aw_buf *out);
void ptx_print_func(const struct ptx_func *func, struct aw_buf *out);
void ptx_print_var(const struct ptx_var *var, struct aw_buf *out);     /* one declaration with its ';' */
void ptx_print_instr(const struct ptx_instr *instr, struct aw_buf *out); /* without guard, ';' and newline */

/* "add.rn.f32": for messages.  Cut to `size`. */
const char *ptx_instr_name(const struct ptx_instr *instr, char *buf, size_t size);

/* Structural equality of two trees, places aside, as parsed or as linked.  On a difference writes what and where to `why`. */
bool ptx_equal(const struct ptx_module *a, const struct ptx_module *b, char *why, size_t why_size);

const char *ptx_space_name(enum ptx_space space);    /* "global"; "" for NONE */
const char *ptx_sreg_name(enum ptx_sreg sreg);       /* "%tid.x" */
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg);
enum ptx_sreg ptx_sreg_from(struct aw_str name);     /* "%tid.x"; NONE when unknown */

/* The parts of a `call`: each NULL when absent.  Operands stay in the order written: (rets), callee, (args), table. */
struct ptx_call {
    const struct ptx_operand *rets, *args; /* LIST */
    const struct ptx_operand *callee;      /* FUNC: direct; REG: indirect */
    const struct ptx_operand *table;       /* LABEL: .calltargets or .callprototype statement; or a FUNC prototype */
};
struct ptx_call ptx_call_parts(const struct ptx_instr *instr);

#endif
