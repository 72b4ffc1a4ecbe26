/* Parsed texts in, one linked and checked module out: symbols bound, instructions matched to table rows, variables laid out,
 * and what each kernel reaches.  Emits no code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_MODULE_MODULE_H
#define AW_PTX_MODULE_MODULE_H

#include <anywarp/compiler.h>

#include "syntax/syntax.h"

/* ---- Opening.  Parses, links (n > 1: -rdc) and checks.  AW_OK; AW_ERR_INVALID_PTX, AW_ERR_UNSUPPORTED_PTX, AW_ERR_NOT_FOUND
 * (an extern nobody defines), AW_ERR_OUT_OF_MEMORY; messages in *diags.  Errors inside function bodies do not fail the module:
 * they are in func->errors and func->n_errors, for ptx_closure_errors.  The module is owned by the caller: ptx_module_destroy. */
enum aw_status ptx_open(const struct aw_text texts[], size_t n, struct ptx_diags *diags, struct ptx_module **ret_module);

/* Appends modules of our own to modules[], which has room for PTX_RUNTIME_MODULES more, where one of these declares what they
 * define and nobody else. */
enum { PTX_RUNTIME_MODULES = 2 };
enum aw_status ptx_runtime_add(struct ptx_module *modules[], size_t *n, struct ptx_diags *diags);

/* The two halves of it.  ptx_link moves everything into modules[0], which it returns; the others stay alive as its `absorbed`.
 * It takes ownership of all modules in any case: on error they are destroyed. */
enum aw_status ptx_link(struct ptx_module *modules[], size_t n, struct ptx_diags *diags, struct ptx_module **ret_module);
enum aw_status ptx_check(struct ptx_module *module, struct ptx_diags *diags);

/* ---- Asking.  All need a checked module; pointers are the module's. */
struct ptx_func *ptx_find_func(const struct ptx_module *module, struct aw_str name);   /* definition if there is one */
struct ptx_func *ptx_find_kernel(const struct ptx_module *module, struct aw_str name); /* NULL when none */
struct ptx_var *ptx_find_var(const struct ptx_module *module, struct aw_str name);     /* module scope */

/* What one function's body refers to, each once, in order of appearance. */
struct ptx_uses {
    struct ptx_func **callees;    /* direct calls, by definition (or the prototype of a runtime function) */
    uint32_t n_callees;
    struct ptx_func **taken;      /* functions whose address it takes */
    uint32_t n_taken;
    struct ptx_var **vars;        /* variables of module scope, and its own .shared ones */
    uint32_t n_vars;
    const struct ptx_func **protos; /* of its indirect calls: .callprototype's, or members of .calltargets */
    uint32_t n_protos;
    bool indirect;                /* has an indirect call */
    bool barrier;                 /* has an instruction with trait PTX_BARRIER */
    uint64_t text[2];             /* hash of the function's text, places aside */
};

/* Everything one kernel reaches.  In the arena that was given. */
struct ptx_closure {
    struct ptx_func *kernel;
    struct ptx_func **funcs;      /* definitions, the kernel first, then as reached */
    uint32_t n_funcs;
    struct ptx_func **runtime;    /* prototypes without definition that the device runtime stands for: vprintf, malloc ... */
    uint32_t n_runtime;
    struct ptx_func **targets;    /* when `indirect`: functions (all in funcs) whose address can be called, by address_id */
    uint32_t n_targets;
    struct ptx_var **vars;        /* module-scope and .shared variables, each once */
    uint32_t n_vars;
    uint64_t static_shared;       /* bytes: N of @aw.shared */
    uint64_t local_bytes;         /* of a thread: .local variables of all functions */
    bool dynamic_shared, barrier, indirect;
    bool recursive;               /* the call graph has a cycle, or indirect calls may make one */
};
/* False when memory is out. */
bool ptx_closure_of(const struct ptx_module *module, struct ptx_func *kernel, struct aw_arena *arena,
                    struct ptx_closure *ret_closure);

/* May it start kernels (AW_KERNEL_STARTS)? */
bool ptx_closure_starts(const struct ptx_closure *closure);

/* Appends the messages of every function of the closure; true when there were none: the text is right as far as this room can
 * tell. */
bool ptx_closure_errors(const struct ptx_closure *closure, struct aw_buf *ret_text);

/* Are all its errors of valid PTX that anywarp cannot do? */
bool ptx_closure_unsupported(const struct ptx_closure *closure);

/* Appends a message for each function of the device-side runtime that it calls and nothing implements; true when there are
 * any. */
bool ptx_closure_missing(const struct ptx_closure *closure, struct aw_buf *ret_text);

/* Gives every .shared variable of the closure its offset (var->offset) in the kernel's @aw.shared; dynamic ones (extern, unsized)
 * all get the offset where dynamic memory begins: static_shared rounded up to 16.  The offsets hold until the next call for
 * another kernel: call it right before lowering one. */
void ptx_module_shared_layout(struct ptx_module *module, const struct ptx_closure *closure);

/* True when an indirect call through `proto` (a .callprototype's function, or one of .calltargets) may reach `func`. */
bool ptx_compatible(const struct ptx_func *proto, const struct ptx_func *func);

/* True for functions that the device runtime provides when no text defines them: vprintf, __assertfail, malloc, free ... */
bool ptx_is_runtime(struct aw_str name);

/* Packed parameter buffer of an entry: each parameter's var->offset, size and align are set by checking; this is its size. */
uint32_t ptx_param_size(const struct ptx_func *kernel);

/* The address of a function or kernel as code sees it, a number: see docs, "Function addresses".  Of a checked module, and of
 * functions whose address is taken. */
uint64_t ptx_func_address(const struct ptx_func *f);

/* What the initialiser of a .texref, .samplerref or .surfref variable says, as enum aw_sampler; without one, CUDA's defaults.
 * False: it has fields or values that mean nothing here: which, in `why` (size bytes), and where.  Needs no checked module. */
bool ptx_opaque_init(const struct ptx_var *var, unsigned *ret_sampler, struct ptx_loc *ret_loc, char *why, size_t size);

/* Bytes of the module's arena. */
uint64_t ptx_arena_size(const struct ptx_module *module);

/* ---- The manifest (include/anywarp/compiler.h).  Heap bytes, 8-aligned, owned by the caller: free(); NULL: out of memory, or
 * larger than its 32-bit offsets can say (then errno is EFBIG). */
struct aw_manifest *ptx_manifest_build(struct ptx_module *module);

#endif
