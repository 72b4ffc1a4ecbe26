/* Line tables: where in a source file, or in the PTX text, each instruction comes from.  Only lines: no variables, no types.
 *
 * Needs nothing of the rest of the lowering, so that the vectoriser, too, can make scopes.  Changes no code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_LINE_TABLE_H
#define AW_PTX_LOWER_LINE_TABLE_H

#include "base/str.h"
#include <anywarp/compiler.h>

#include "llvm_version.h"
#include <llvm-c/DebugInfo.h>

/* What makes scopes in one LLVM module; released by ptx_unit_end, which must come before the module is verified. */
struct ptx_unit {
    LLVMContextRef context;
    LLVMDIBuilderRef builder;
    LLVMMetadataRef type; /* of every function: nothing is said of it */
};

/* A compilation unit of `module` whose main file is `file`. */
void ptx_unit_begin(struct ptx_unit *unit, LLVMModuleRef module, struct aw_str file);
void ptx_unit_end(struct ptx_unit *unit);
/* The part behind the last '/' as the name. */
LLVMMetadataRef ptx_unit_file(struct ptx_unit *unit, struct aw_str path);
/* The scope of a function with that name, mangled where its source is C++ (scope.c).  `file` is one of ptx_unit_file's, or
 * another module's of the same context. */
LLVMMetadataRef ptx_unit_scope(struct ptx_unit *unit, struct aw_str name, LLVMMetadataRef file, unsigned line);
static inline LLVMMetadataRef ptx_unit_place(struct ptx_unit *unit, unsigned line, unsigned column, LLVMMetadataRef scope,
                                             LLVMMetadataRef inlined_at)
{
    return LLVMDIBuilderCreateDebugLocation(unit->context, line, column, scope, inlined_at);
}

/* ---- Of one lowering. */
struct ptx_lower;
struct ptx_func;
struct ptx_stmt;
struct ptx_lines; /* opaque; NULL where there are none */

/* Begins when some function of the closure has .loc directives, or more than AW_LINES_LOC asks for lines of the text itself where
 * it has none.  False when memory is out. */
bool ptx_lines_begin(struct ptx_lower *l, enum aw_lines which);
void ptx_lines_end(struct ptx_lower *l);
/* Before a function's body, and before each of its statements: sets the builder's place. */
void ptx_lines_func(struct ptx_lower *l, const struct ptx_func *f);
void ptx_lines_registers(struct ptx_lower *l, const struct ptx_func *f); /* the function's have been made */
void ptx_lines_stmt(struct ptx_lower *l, const struct ptx_stmt *s);

#endif
