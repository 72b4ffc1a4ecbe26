/* What the files of ptx/module share.  Internal to it.
 *
 * All tables live in the module's arena, so a module is freed with its arena and nothing else. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_MODULE_STATE_H
#define AW_PTX_MODULE_STATE_H

#include "base/vec.h"
#include "module/module.h"
#include "syntax/print.h"

/* A name of module scope: a function or a variable, the best definition and the first declaration without one. */
struct ptx_symbol {
    struct aw_str name;
    uint64_t hash;
    struct ptx_func *func, *proto;
    struct ptx_var *var, *extern_var;
    struct aw_str renamed; /* a local function that got another name; empty = none */
    bool reported;         /* as undefined */
    bool placed;           /* scratch of symbols.c */
};

struct ptx_symtab {
    struct ptx_symbol **slots;
    uint32_t n, cap;
};

/* Of each text: its own names; of modules[0] also what the whole program shares. */
struct ptx_state {
    struct ptx_symtab locals;  /* of this text: without linkage */
    struct ptx_symtab globals; /* of the program */
    struct ptx_func **taken;   /* address_id - 1 -> function */
    uint32_t n_taken;
    struct ptx_var **vars;     /* in the arena, by offset */
    uint32_t n_vars;
    uint64_t arena_size, image_end; /* bytes; initialised ones lie below image_end */
    uint32_t mark;             /* last used value of the nodes' `mark` */
    struct ptx_module *program; /* modules[0] */
};

uint64_t ptx_hash_name(const char *p, size_t len);
struct ptx_symbol *ptx_symtab_find(const struct ptx_symtab *table, struct aw_str name, uint64_t hash);
/* Finds or makes; NULL: out of memory. */
struct ptx_symbol *ptx_symtab_add(struct ptx_symtab *table, struct aw_arena *arena, struct aw_str name);

/* The name as seen from a text: its own first, then the program's. */
struct ptx_symbol *ptx_resolve(const struct ptx_module *origin, struct aw_str name, uint64_t hash);

/* symbols.c: fills the tables, drops what weak and common rules drop, renames what collides, binds prototypes. */
enum aw_status ptx_bind_symbols(struct ptx_module *module, struct ptx_diags *diags);

/* layout.c */
bool ptx_layout_var(struct ptx_var *var, struct ptx_diags *diags);  /* size and final alignment; false: message given */
/* Where a laid-out variable is put: what is 16 bytes or larger at multiples of 16, whatever it asks for.  Programs read arrays of
 * float as float4. */
uint64_t ptx_placed_align(const struct ptx_var *var);
bool ptx_layout_params(struct ptx_func *func, struct ptx_diags *diags);
bool ptx_layout_arena(struct ptx_module *module, struct ptx_diags *diags);
static inline uint64_t ptx_align_up(uint64_t at, uint64_t align)
{
    return (at + align - 1) & ~(align - 1);
}
/* Where a managed variable's bytes lie in the arena, behind its cell, until the runtime puts them elsewhere. */
static inline uint64_t ptx_managed_storage(const struct ptx_var *var)
{
    return ptx_align_up(var->offset + 8, var->align ? var->align : 1);
}

/* body.c: one function's body.  False only when memory is out. */
struct ptx_binder;
struct ptx_binder *ptx_binder_create(struct ptx_module *module);
void ptx_binder_destroy(struct ptx_binder *binder);
bool ptx_check_body(struct ptx_binder *binder, struct ptx_func *func);

/* form.c: finds the row, sets the [checked] fields; on failure instr->form is NULL and instr->why says why. */
bool ptx_match_instr(struct ptx_module *module, struct ptx_instr *instr);

/* closure.c */
void ptx_hash_func(struct ptx_func *func, struct aw_buf *scratch);
bool ptx_hash_kernel(struct ptx_module *module, struct ptx_func *kernel, struct ptx_closure *closure);

/* The text of the functions by which kernels start kernels (starts.c), and that of them which all others call that do. */
#define PTX_STARTS_TAKE "__anywarp_starts_take"
void ptx_starts_text(struct aw_buf *ret_text);

#endif
