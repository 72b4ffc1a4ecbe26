/* Parts of the printer that ptx/module needs for the closure's text, and names as they print.  Internal to ptx/. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_SYNTAX_PRINT_H
#define AW_PTX_SYNTAX_PRINT_H

#include "syntax/syntax.h"

void ptx_print_func_head(const struct ptx_func *func, struct aw_buf *out); /* all before the body */
void ptx_print_stmt(const struct ptx_stmt *stmt, struct aw_buf *out);
/* The name an operand prints with: of the variable or function it is bound to, else as written. */
struct aw_str ptx_operand_name(const struct ptx_operand *op);
/* Alignment of a variable that states none, in bytes. */
uint32_t ptx_natural_align(const struct ptx_var *var);

#endif
