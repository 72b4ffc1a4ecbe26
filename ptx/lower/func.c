/* Functions: types, prologues, bodies, and one whole kernel.  What each instruction does is in the files named for nouns. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"
#include "lower/matrix.h"

#include <llvm-c/Analysis.h>
#include <stdio.h>

typedef bool lower_fn(struct ptx_lower *l, const struct ptx_instr *in);
static lower_fn *const lowerings[] = {
#define PTX_LOWERING(id, name) [PTX_LOWER_##id] = ptx_lower_##name,
#include "tab/lowerings.inc"
#undef PTX_LOWERING
};

/* ---- Errors */
bool ptx_lower_error(struct ptx_lower *l, struct ptx_loc loc, const char *fmt, ...)
{
    char text[512], name[96] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->instr)
        ptx_instr_name(l->instr, name, sizeof name);
    struct aw_str file = l->ptx->name.len ? l->ptx->name : AW_STR("<ptx>");
    struct aw_str func = l->func ? l->func->name : AW_STR("");
    aw_buf_printf(l->diags, "%.*s:%u:%u: error: in '%.*s': %s%s%s\n", AW_STR_ARG(file), loc.line, loc.column,
                  AW_STR_ARG(func), name, *name ? ": " : "", text);
    return false;
}

bool ptx_lower_unsupported(struct ptx_lower *l, const struct ptx_instr *in, const char *what)
{
    return ptx_lower_error(l, in->loc, "not supported yet (%s)", what);
}

/* ---- Types of functions */
bool ptx_param_is_array(const struct ptx_var *var)
{
    return var->n_dims > 0 || var->vec > 1;
}

static LLVMTypeRef value_type(struct ptx_lower *l, const struct ptx_var *var)
{
    return ptx_llvm_type(l, var->type);
}

bool ptx_results_in_memory(const struct ptx_func *f)
{
    return f->rets && (f->rets->next || ptx_param_is_array(f->rets));
}

LLVMTypeRef ptx_func_type(struct ptx_lower *l, const struct ptx_func *f)
{
    unsigned n = 2;
    for (int list = 0; list < 2; list++)
        for (const struct ptx_var *p = list ? f->params : f->rets; p; p = p->next)
            n++;
    LLVMTypeRef *types = AW_NEW_ARRAY(l->arena, LLVMTypeRef, n), ret = l->void_type;
    if (!types) {
        l->out_of_memory = true;
        return LLVMFunctionType(ret, NULL, 0, 0);
    }
    n = 0;
    types[n++] = l->ptr[AS_CONST];
    if (f->rets && !ptx_results_in_memory(f))
        ret = value_type(l, f->rets);
    for (const struct ptx_var *r = ptx_results_in_memory(f) ? f->rets : NULL; r; r = r->next)
        types[n++] = l->ptr[AS_LOCAL];
    for (const struct ptx_var *p = f->params; p; p = p->next)
        types[n++] = ptx_param_is_array(p) ? l->ptr[AS_LOCAL] : value_type(l, p);
    return LLVMFunctionType(ret, types, n, 0);
}

static void attribute_enum(struct ptx_lower *l, LLVMValueRef fn, unsigned index, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(l->context, kind, value));
}

static void attribute_text(struct ptx_lower *l, LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(l->context, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

/* Bit-exact arithmetic needs subnormals unless every instruction flushes them, and control flow that other lanes depend on must
 * stay as it is. */
void ptx_function_attributes(struct ptx_lower *l, LLVMValueRef fn)
{
    attribute_enum(l, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
    attribute_enum(l, fn, LLVMAttributeFunctionIndex, "convergent", 0);
    attribute_text(l, fn, "denormal-fp-math", "ieee,ieee");
    if (l->flushing)
        attribute_text(l, fn, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
    attribute_text(l, fn, "no-builtins", "");
}

/* .pragma "anywarp dispatch": the form that tangled functions get (ptx/finish/tangle.h), for tests. */
static void form_attribute(struct ptx_lower *l, LLVMValueRef fn, const struct ptx_func *f)
{
    static const char word[] = "\"anywarp dispatch\"";
    for (uint32_t i = 0; i < f->n_pragmas; i++)
        if (f->pragmas[i].len >= sizeof word - 1 && memmem(f->pragmas[i].ptr, f->pragmas[i].len, word, sizeof word - 1))
            attribute_text(l, fn, "aw-tangled", "");
}

static LLVMValueRef declare_device(struct ptx_lower *l, struct ptx_func *f)
{
    struct aw_str name = aw_arena_printf(l->arena, "f.%.*s", AW_STR_ARG(f->name));
    LLVMValueRef fn = LLVMAddFunction(l->module, name.ptr ? name.ptr : "f", ptx_func_type(l, f));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    ptx_function_attributes(l, fn);
    form_attribute(l, fn, f);
    return fn;
}

static void dims_attribute(struct ptx_lower *l, LLVMValueRef fn, const char *key, const uint32_t dims[3])
{
    if (!dims[0])
        return;
    char text[48];
    snprintf(text, sizeof text, "%u,%u,%u", dims[0], dims[1] ? dims[1] : 1, dims[2] ? dims[2] : 1);
    attribute_text(l, fn, key, text);
}

static LLVMValueRef declare_kernel(struct ptx_lower *l, struct ptx_func *f)
{
    LLVMTypeRef type = LLVMFunctionType(l->void_type, &l->ptr[AS_CONST], 1, 0);
    struct aw_str name = aw_arena_str(l->arena, f->name);
    LLVMValueRef fn = LLVMAddFunction(l->module, name.ptr ? name.ptr : "kernel", type);
    ptx_function_attributes(l, fn);
    attribute_text(l, fn, "aw-kernel", "");
    form_attribute(l, fn, f);
    char bytes[24];
    snprintf(bytes, sizeof bytes, "%u", l->static_shared);
    attribute_text(l, fn, "aw-static-shared", bytes);
    dims_attribute(l, fn, "aw-reqntid", f->req_ntid);
    dims_attribute(l, fn, "aw-maxntid", f->max_ntid);
    LLVMTypeRef kernarg = LLVMArrayType2(l->i8, (l->param_size + 7) / 8 * 8 + 16);
    unsigned byref = LLVMGetEnumAttributeKindForName("byref", 5);
    LLVMAddAttributeAtIndex(fn, 1, LLVMCreateTypeAttribute(l->context, byref, kernarg));
    attribute_enum(l, fn, 1, "align", 16);
    LLVMSetValueName2(LLVMGetParam(fn, 0), "kernarg", 7);
    return fn;
}

/* ---- Bodies */
static LLVMValueRef memory_for(struct ptx_lower *l, const struct ptx_var *var)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", AW_STR_ARG(var->name));
    unsigned align = var->align > 16 ? var->align : 16; /* arguments may be read by wider accesses than declared */
    return ptx_entry_alloca(l, LLVMArrayType2(l->i8, var->size ? var->size : 1), align, name);
}

/* Formal parameters become memory that ld.param and address arithmetic can reach; .reg ones their registers. */
static void params_make(struct ptx_lower *l, struct ptx_func *f)
{
    unsigned index = 1;
    l->ret_alloca = NULL;
    if (ptx_results_in_memory(f)) {
        for (struct ptx_var *r = f->rets; r; r = r->next)
            r->user = LLVMGetParam(l->fn, index++);
    } else if (f->rets && f->rets->space == PTX_SPACE_PARAM) {
        f->rets->user = l->ret_alloca = memory_for(l, f->rets);
        LLVMBuildStore(l->builder, LLVMConstNull(value_type(l, f->rets)), l->ret_alloca);
    }
    for (struct ptx_var *p = f->params; p; p = p->next) {
        LLVMValueRef value = LLVMGetParam(l->fn, index++);
        if (p->space == PTX_SPACE_REG && p->vec > 1) {
            for (unsigned i = 0; i < p->vec; i++) {
                LLVMValueRef at = b_gep(l, value, b_i64(l, (uint64_t)i * (ptx_type_bits(p->type) / 8)));
                LLVMBuildStore(l->builder, LLVMBuildLoad2(l->builder, l->reg_types[p->index + i], at, ""), l->regs[p->index + i]);
            }
        } else if (p->space == PTX_SPACE_REG) {
            LLVMBuildStore(l->builder, ptx_from_bits(l, ptx_to_bits(l, value), l->reg_types[p->index]), l->regs[p->index]);
        } else if (ptx_param_is_array(p)) {
            p->user = value;
        } else {
            LLVMValueRef memory = memory_for(l, p);
            LLVMBuildStore(l->builder, value, memory);
            p->user = memory;
        }
    }
}

static void arena_make(struct ptx_lower *l)
{
    LLVMValueRef cell = b_gep(l, l->kernarg, b_i64(l, (l->param_size + 7) / 8 * 8));
    l->arena_int = LLVMBuildLoad2(l->builder, l->i64, cell, "arena");
    LLVMSetAlignment(l->arena_int, 8);
    ptx_mark(l->arena_int, PTX_INVARIANT);
    l->arena_global = b_inttoptr(l, l->arena_int, l->ptr[AS_GLOBAL]);
    l->arena_const = b_inttoptr(l, l->arena_int, l->ptr[AS_CONST]);
}

/* Blocks for labels, memory for .local and .param variables of the body. */
static void body_prepare(struct ptx_lower *l, struct ptx_func *f)
{
    for (struct ptx_stmt *s = f->body; s; s = s->next) {
        s->user = s->kind == PTX_STMT_LABEL ? ptx_block_new(l, "label") : NULL;
        if (s->kind != PTX_STMT_DECL)
            continue;
        for (struct ptx_var *v = s->decl; v; v = v->next)
            v->user = v->space == PTX_SPACE_LOCAL || v->space == PTX_SPACE_PARAM ? memory_for(l, v) : NULL;
    }
}

static void body_end(struct ptx_lower *l, struct ptx_func *f)
{
    if (!ptx_block_open(l))
        return;
    if (f->is_entry)
        LLVMBuildRetVoid(l->builder);
    else /* control that runs off a function's end is undefined; a trap is the kindest reading */
        ptx_trap(l, AW_ERR_LAUNCH_FAILED);
}

/* Of text lifted from machine code: .pragma "anywarp lifted" says that a kernel is that; "anywarp members", that the operation of
 * a warp behind it waits for the lanes of its mask wherever they are.  And where machine code says no more that it counts on it,
 * "anywarp in step" between statements: what the lanes of a warp do to memory before it comes before what they do behind it, as
 * long as they go in step.  "anywarp cannot be lifted: …" is in place of a kernel's code. */
static bool pragma_lower(struct ptx_lower *l, const struct ptx_stmt *s)
{
    static const char cannot[] = "\"anywarp cannot be lifted: ";
    const size_t said = sizeof "\"anywarp " - 1;
    if (aw_str_is(s->text, "\"anywarp in step\"") && ptx_block_open(l))
        LLVMBuildFenceSyncScope(l->builder, LLVMAtomicOrderingAcquireRelease, ptx_scope(l, "singlethread"), "");
    if (aw_str_is(s->text, "\"anywarp lifted\""))
        LLVMAddTargetDependentFunctionAttr(l->fn, PTX_LIFTED, "");
    l->members = aw_str_is(s->text, "\"anywarp members\"");
    if (s->text.len > sizeof cannot && memcmp(s->text.ptr, cannot, sizeof cannot - 1) == 0)
        return ptx_lower_error(l, s->loc, "%.*s", (int)(s->text.len - said - 1), s->text.ptr + said);
    return true;
}

static bool stmt_lower(struct ptx_lower *l, const struct ptx_stmt *s)
{
    ptx_lines_stmt(l, s);
    ptx_loop_statement(l, s);
    if (s->kind == PTX_STMT_LABEL)
        ptx_block_enter(l, (LLVMBasicBlockRef)s->user);
    if (s->kind == PTX_STMT_PRAGMA)
        return pragma_lower(l, s);
    if (s->kind != PTX_STMT_INSTR)
        return true;
    if (!ptx_block_open(l)) /* no label leads here */
        LLVMPositionBuilderAtEnd(l->builder, ptx_block_new(l, "dead"));
    bool ok = ptx_lower_instr(l, s->instr);
    l->members = false;
    return ok;
}

/* Matrix products and what is between them, by tiles and lane by lane. */
static bool run_lower(struct ptx_lower *l, const struct ptx_stmt *first, const struct ptx_stmt *last, unsigned types)
{
    LLVMBasicBlockRef ways[2] = { ptx_block_new(l, "tiles"), ptx_block_new(l, "lanes") }, done = ptx_block_new(l, "");
    bool ok = true;
    ptx_lines_stmt(l, first);
    ptx_tile_branch(l, types, ways[0], ways[1]);
    for (unsigned i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(l->builder, ways[i]);
        l->tiles = i ? PTX_TILES_NO : PTX_TILES_YES;
        for (const struct ptx_stmt *s = first; ok && s != last->next; s = s->next)
            ok = stmt_lower(l, s);
        LLVMBuildBr(l->builder, done);
    }
    l->tiles = PTX_TILES_ASK;
    LLVMPositionBuilderAtEnd(l->builder, done);
    return ok;
}

static bool body_lower(struct ptx_lower *l, struct ptx_func *f)
{
    bool ok = true;
    unsigned types;
    ptx_loop_begin(l, f);
    for (const struct ptx_stmt *s = f->body; s; s = s->next) {
        const struct ptx_stmt *last = ptx_tile_run(l, s, &types);
        if (last && ptx_block_open(l)) {
            ok = run_lower(l, s, last, types) && ok;
            s = last;
        } else {
            ok = stmt_lower(l, s) && ok;
        }
    }
    ptx_loop_end(l);
    body_end(l, f);
    return ok;
}

static bool func_lower(struct ptx_lower *l, struct ptx_func *f)
{
    l->func = f;
    l->fn = (LLVMValueRef)f->user;
    l->kernarg = LLVMGetParam(l->fn, 0);
    l->carry = l->stack = l->stack_top = NULL;
    l->select_guard = NULL;
    l->entry = ptx_block_new(l, "entry");
    LLVMPositionBuilderAtEnd(l->builder, l->entry);
    ptx_lines_func(l, f);
    for (struct ptx_var *p = f->params; p; p = p->next)
        p->user = NULL;
    arena_make(l);
    if (!ptx_registers_make(l, f))
        return false;
    if (!ptx_fuse_find(l, f)) {
        l->out_of_memory = true;
        return false;
    }
    ptx_lines_registers(l, f);
    if (!f->is_entry)
        params_make(l, f);
    body_prepare(l, f);
    LLVMBasicBlockRef body = ptx_block_new(l, "body");
    LLVMBuildBr(l->builder, body);
    LLVMMoveBasicBlockAfter(body, l->entry);
    LLVMPositionBuilderAtEnd(l->builder, body);
    bool ok = body_lower(l, f) && ptx_registers_trim(l, f);
    l->instr = NULL;
    return ok;
}

/* ---- Instructions */

/* No effect but on registers, and cheap: under a guard such an instruction becomes a select, not a branch. */
static bool is_selectable(const struct ptx_instr *in)
{
    static const char *const names[] = { "abs", "add", "and", "bfe", "bfi", "cvt", "cvta", "fma", "lop3", "mad", "max", "min",
                                         "mov", "mul", "neg", "not", "or", "selp", "set", "setp", "shf", "shl", "shr", "sub",
                                         "xor" };
    if (in->n_ops == 0 || ptx_has(in, PTX_MOD_CC))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (aw_str_is(in->mnemonic, names[i]))
            return true;
    return false;
}

static bool lower_guarded(struct ptx_lower *l, const struct ptx_instr *in, lower_fn *fn)
{
    LLVMValueRef guard = ptx_src(l, in->guard, PTX_PRED);
    if (is_selectable(in)) {
        l->select_guard = guard;
        bool ok = fn(l, in);
        l->select_guard = NULL;
        return ok;
    }
    LLVMBasicBlockRef then = ptx_block_new(l, "guarded"), done = ptx_block_new(l, "");
    LLVMBuildCondBr(l->builder, guard, then, done);
    LLVMPositionBuilderAtEnd(l->builder, then);
    bool ok = fn(l, in);
    if (ptx_block_open(l))
        LLVMBuildBr(l->builder, done);
    LLVMPositionBuilderAtEnd(l->builder, done);
    return ok;
}

bool ptx_lower_instr(struct ptx_lower *l, const struct ptx_instr *in)
{
    l->instr = in;
    if (!in->form)
        return ptx_lower_error(l, in->loc, "%.*s", AW_STR_ARG(in->why));
    lower_fn *fn = lowerings[in->form->lowering];
    size_t before = l->diags->len;
    bool ok = in->guard ? lower_guarded(l, in, fn) : fn(l, in);
    return ok && l->diags->len == before;
}

/* ---- One kernel */
void ptx_types_make(struct ptx_lower *l)
{
    LLVMContextRef c = l->context;
    l->i1 = LLVMInt1TypeInContext(c);
    l->i8 = LLVMInt8TypeInContext(c);
    l->i16 = LLVMInt16TypeInContext(c);
    l->i32 = LLVMInt32TypeInContext(c);
    l->i64 = LLVMInt64TypeInContext(c);
    l->i128 = LLVMInt128TypeInContext(c);
    l->f16 = LLVMHalfTypeInContext(c);
    l->f32 = LLVMFloatTypeInContext(c);
    l->f64 = LLVMDoubleTypeInContext(c);
    l->void_type = LLVMVoidTypeInContext(c);
    for (unsigned i = 0; i < 6; i++)
        l->ptr[i] = LLVMPointerTypeInContext(c, i);
}

static int closure_lower(struct ptx_lower *l, struct ptx_closure *closure, enum aw_lines which_lines)
{
    bool ok = true;
    if (!ptx_lines_begin(l, which_lines))
        return AW_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < closure->n_funcs; i++) {
        struct ptx_func *f = closure->funcs[i];
        f->user = f->is_entry ? declare_kernel(l, f) : declare_device(l, f);
    }
    for (uint32_t i = 0; ok && i < closure->n_funcs; i++)
        ok = func_lower(l, closure->funcs[i]) && ok;
    ptx_lines_end(l);
    if (l->out_of_memory || l->arena->failed)
        return AW_ERR_OUT_OF_MEMORY;
    if (!ok)
        return AW_ERR_NOT_SUPPORTED;
    char *message = NULL;
    if (LLVMVerifyModule(l->module, LLVMReturnStatusAction, &message)) {
        aw_buf_printf(l->diags, "%.*s:%u:%u: error: internal: invalid IR for '%.*s': %s\n", AW_STR_ARG(l->ptx->name),
                      closure->kernel->loc.line, closure->kernel->loc.column, AW_STR_ARG(closure->kernel->name), message);
        ok = false;
    }
    LLVMDisposeMessage(message);
    return ok ? AW_OK : AW_ERR_NOT_SUPPORTED;
}

/* For who tells of a place there by its variable. */
static void shared_names(struct ptx_lower *l, const struct ptx_closure *closure)
{
    for (uint32_t i = 0; i < closure->n_vars && l->target->features & PTX_TARGET_SHARED_NAMES; i++) {
        const struct ptx_var *var = closure->vars[i];
        char text[512];
        if (var->space != PTX_SPACE_SHARED)
            continue;
        int n = snprintf(text, sizeof text, "%u %u %.*s", (uint32_t)var->offset, (uint32_t)var->size, AW_STR_ARG(var->name));
        LLVMMetadataRef word = LLVMMDStringInContext2(l->context, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
        LLVMMetadataRef node = LLVMMDNodeInContext2(l->context, &word, 1);
        LLVMAddNamedMetadataOperand(l->module, PTX_SHARED_NAMES, LLVMMetadataAsValue(l->context, node));
    }
}

static int lower_with(struct ptx_lower *l, struct ptx_func *kernel, enum aw_lines which_lines, struct ptx_lowered *ret)
{
    struct ptx_closure closure;
    if (!ptx_closure_of(l->ptx, kernel, l->arena, &closure))
        return AW_ERR_OUT_OF_MEMORY;
    if (!ptx_closure_errors(&closure, l->diags))
        return ptx_closure_unsupported(&closure) ? AW_ERR_NOT_SUPPORTED : AW_ERR_INVALID_PTX;
    if (ptx_closure_missing(&closure, l->diags))
        return AW_ERR_NOT_SUPPORTED;
    ptx_module_shared_layout(l->ptx, &closure);
    l->closure = &closure;
    l->flushing = ptx_flushing_mode(l);
    l->static_shared = (uint32_t)closure.static_shared;
    if (ptx_uses_reserved_shared(&closure)) {
        l->reserved_shared = (l->static_shared + 127) / 128 * 128;
        l->static_shared = l->reserved_shared + PTX_RESERVED_SHARED;
    }
    l->param_size = ptx_param_size(kernel);
    ptx_types_make(l);
    l->module = LLVMModuleCreateWithNameInContext("ptx", l->context);
    LLVMSetTarget(l->module, l->target->triple);
    LLVMSetDataLayout(l->module, l->target->data_layout);
    shared_names(l, &closure);
    l->builder = LLVMCreateBuilderInContext(l->context);
    int status = closure_lower(l, &closure, which_lines);
    LLVMDisposeBuilder(l->builder);
    if (status != AW_OK) {
        LLVMDisposeModule(l->module);
        return status;
    }
    if (ptx_simt_may_pair(l->module))
        ptx_simt_keep(l->module, true); /* until lanes that wait for each other are seen to */
    *ret = (struct ptx_lowered){ l->module, l->static_shared, l->param_size, (l->param_size + 7) / 8 * 8 + 16,
                                 (closure.dynamic_shared ? AW_KERNEL_DYNAMIC_SHARED : 0) |
                                     (closure.barrier ? AW_KERNEL_BARRIER : 0) };
    return AW_OK;
}

int ptx_lower_kernel(struct ptx_module *module, struct ptx_func *kernel, const struct ptx_lower_target *target,
                     LLVMContextRef context, enum aw_lines which_lines, struct ptx_lowered *ret_lowered, struct aw_buf *diags)
{
    struct aw_arena arena = { 0 };
    struct ptx_lower l = { .context = context, .target = target, .ptx = module, .arena = &arena, .diags = diags };
    int status = lower_with(&l, kernel, which_lines, ret_lowered);
    aw_arena_fini(&arena);
    if (status == AW_ERR_OUT_OF_MEMORY)
        aw_buf_printf(diags, "%.*s: error: out of memory\n", AW_STR_ARG(module->name));
    return status;
}
