/* What nvcc -G says of a function's variables: in which register or parameter each is (.debug_info, DWARF 2).
 *
 * For code that a debugger looks at: there each has a place in local memory, to which its value goes where a line begins. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_VARIABLES_H
#define AW_PTX_LOWER_VARIABLES_H

#include "base/arena.h"
#include "syntax/ast.h"

/* A DW_ATE_ number for the encoding, 0 for an address. */
struct ptx_variable {
    struct ptx_variable *next;
    struct aw_str name;          /* the source's */
    uint32_t encoding, bytes;
    struct aw_str place;         /* a register's name, "%r1", or a parameter's */
    struct aw_str from, to;      /* labels between which it is there; empty: in all of the function */
    bool is_parameter;
    bool same;                   /* it is the variable before, somewhere else */
};

/* Metadata of a variable's place: its function, mangled, its name, encoding and bytes. */
#define PTX_VARIABLE "aw.variable"

/* Those of a function, in the arena; NULL where nothing is said, or nothing that is understood.  Numbers and addresses only:
 * parts of structures, and what is in memory of its own, are left out. */
struct ptx_variable *ptx_variables_read(struct aw_arena *arena, const struct ptx_module *text, struct aw_str function);

#endif
