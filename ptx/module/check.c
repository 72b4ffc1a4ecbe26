/* Checking a linked module from end to end, and the questions others ask of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

#include <stdlib.h>

/* ---- Initialisers: symbols bound, functions' addresses noted */
struct inits {
    struct ptx_module *module;
    const struct ptx_var *var;
    const struct ptx_nested *nested; /* the variable as a function's; NULL = module scope */
    struct ptx_diags *diags;
    AW_VEC(struct ptx_func *) taken;
    uint32_t n_undefined;
    bool no_memory;
};

static void take_address(struct inits *in, struct ptx_func *f)
{
    if (f->definition)
        f = f->definition;
    if (f->is_prototype || f->address_id)
        return;
    in->no_memory |= !aw_vec_push(&in->taken, f);
    f->address_id = (uint32_t)in->taken.n;
}

static void undefined(struct inits *in, struct ptx_symbol *s, const struct ptx_module *origin, struct ptx_loc loc,
                      const char *what)
{
    if (s->reported)
        return;
    s->reported = true;
    in->n_undefined++;
    ptx_error(in->diags, origin->name, loc, "undefined %s '%.*s'", what, AW_STR_ARG(s->name));
}

static void bind_init_addr(struct inits *in, const struct ptx_init *init)
{
    struct ptx_init_addr *a = init->addr;
    const struct ptx_module *origin = in->var->origin;

    if (a->field.len) /* the fields of texture references name modes, not symbols */
        return;
    for (const struct ptx_nested *n = in->nested; n && !a->var; n = n->next) /* the innermost that is seen from there */
        if (n->func == in->nested->func && n->end >= in->nested->number && aw_str_eq(n->var->name, a->symbol))
            a->var = n->var;
    if (a->var)
        return;
    struct ptx_symbol *s = ptx_resolve(origin, a->symbol, ptx_hash_name(a->symbol.ptr, a->symbol.len));
    if (!s) {
        ptx_error(in->diags, origin->name, init->loc, "unknown name '%.*s' in the initialiser of '%.*s'", AW_STR_ARG(a->symbol),
                  AW_STR_ARG(in->var->name));
    } else if (s->func) {
        a->func = s->func;
        take_address(in, s->func);
    } else if (s->var && s->var->space != PTX_SPACE_SHARED) {
        a->var = s->var;
    } else if (s->var) {
        ptx_error(in->diags, origin->name, init->loc, "the address of the .shared variable '%.*s' is no constant",
                  AW_STR_ARG(a->symbol));
    } else {
        undefined(in, s, origin, init->loc, s->proto ? "function" : "variable");
    }
}

static void bind_init(struct inits *in, const struct ptx_init *init)
{
    if (init->kind == PTX_INIT_ADDR)
        bind_init_addr(in, init);
    else if (init->kind == PTX_INIT_LIST)
        for (uint32_t i = 0; i < init->n_items; i++)
            if (init->items[i].kind >= PTX_INIT_ADDR || init->items[i].kind == PTX_INIT_LIST)
                bind_init(in, &init->items[i]);
}

/* A sampler's fields concern the kernels alone that use it, a reference's the runtime. */
static void check_reference(struct inits *in, const struct ptx_var *v)
{
    char why[160];
    unsigned sampler;
    struct ptx_loc loc;

    if (!ptx_opaque_init(v, &sampler, &loc, why, sizeof why))
        ptx_error(in->diags, v->origin->name, loc, "%s", why);
}

static void bind_var_init(struct inits *in, const struct ptx_var *v, const struct ptx_nested *nested)
{
    in->var = v;
    in->nested = nested;
    if (v->init && (v->space == PTX_SPACE_SHARED || v->space == PTX_SPACE_LOCAL))
        ptx_error(in->diags, v->origin->name, v->loc, "a .%s variable cannot be initialised", ptx_space_name(v->space));
    else if (v->init)
        bind_init(in, v->init);
    if (v->init && (v->type == PTX_TEXREF || v->type == PTX_SURFREF))
        check_reference(in, v);
}

static void bind_inits(struct inits *in)
{
    for (const struct ptx_var *v = in->module->vars; v; v = v->next)
        bind_var_init(in, v, NULL);
    for (const struct ptx_module *text = in->module; text; text = text->absorbed)
        for (const struct ptx_nested *n = text->nested; n; n = n->next)
            bind_var_init(in, n->var, n);
}

/* ---- What functions refer to and nobody defines */
static void find_undefined(struct inits *in, const struct ptx_func *f, struct ptx_func *const *refs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (refs[i]->definition || !refs[i]->is_prototype || ptx_is_runtime(refs[i]->name))
            continue;
        struct ptx_symbol *s = ptx_resolve(f->origin, refs[i]->name, ptx_hash_name(refs[i]->name.ptr, refs[i]->name.len));
        if (s)
            undefined(in, s, f->origin, refs[i]->loc, "function");
    }
}

static void finish_refs(struct inits *in)
{
    for (struct ptx_func *f = in->module->funcs; f; f = f->next) {
        if (!f->uses)
            continue;
        for (uint32_t i = 0; i < f->uses->n_taken; i++)
            take_address(in, f->uses->taken[i]);
        find_undefined(in, f, f->uses->callees, f->uses->n_callees);
        find_undefined(in, f, f->uses->taken, f->uses->n_taken);
        for (uint32_t i = 0; i < f->uses->n_vars; i++) {
            const struct ptx_var *v = f->uses->vars[i];
            if (v->linkage != PTX_EXTERN || (v->space == PTX_SPACE_SHARED && v->n_dims && !v->dims[0]))
                continue;
            struct ptx_symbol *s = ptx_resolve(f->origin, v->name, ptx_hash_name(v->name.ptr, v->name.len));
            if (s)
                undefined(in, s, f->origin, v->loc, "variable");
        }
    }
}

/* ---- The steps */
static enum aw_status check_bodies(struct ptx_module *m)
{
    struct ptx_binder *b = ptx_binder_create(m);
    bool ok = b != NULL;

    for (struct ptx_func *f = m->funcs; f && ok; f = f->next)
        if (!f->is_prototype)
            ok = ptx_check_body(b, f);
    ptx_binder_destroy(b);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static void layout_all(struct ptx_module *m, struct ptx_diags *diags)
{
    for (uint32_t i = 0; i < m->n_items; i++)
        if (m->items[i].kind == PTX_ITEM_VAR)
            ptx_layout_var(m->items[i].node, diags);
        else if (m->items[i].kind == PTX_ITEM_FUNC)
            ptx_layout_params(m->items[i].node, diags);
    for (const struct ptx_module *text = m; text; text = text->absorbed)
        for (const struct ptx_nested *n = text->nested; n; n = n->next)
            ptx_layout_var(n->var, diags);
}

/* Hashes of all functions, then of what each kernel reaches. */
static enum aw_status hash_all(struct ptx_module *m)
{
    struct aw_buf scratch = { 0 };
    bool ok = true;

    for (struct ptx_func *f = m->funcs; f; f = f->next)
        if (!f->is_prototype)
            ptx_hash_func(f, &scratch);
    ok = !scratch.failed;
    aw_buf_fini(&scratch);
    for (struct ptx_func *f = m->funcs; f && ok; f = f->next) {
        struct aw_arena arena = { 0 };
        struct ptx_closure c;
        if (!f->is_entry || f->is_prototype)
            continue;
        ok = ptx_closure_of(m, f, &arena, &c) && ptx_hash_kernel(m, f, &c);
        aw_arena_fini(&arena);
    }
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static enum aw_status bind_and_place(struct ptx_module *m, struct ptx_diags *diags, struct inits *in)
{
    enum aw_status status;
    uint32_t errors = diags->n_errors;

    bind_inits(in);
    if (diags->n_errors != errors && !in->n_undefined)
        return AW_ERR_INVALID_PTX;
    if (!ptx_layout_arena(m, diags))
        return AW_ERR_OUT_OF_MEMORY;
    if (diags->n_errors != errors + in->n_undefined)
        return AW_ERR_INVALID_PTX;
    status = check_bodies(m);
    if (status != AW_OK)
        return status;
    finish_refs(in);
    if (in->n_undefined)
        return AW_ERR_NOT_FOUND;
    m->state->taken = AW_NEW_ARRAY(&m->arena, struct ptx_func *, in->taken.n + 1);
    if (in->no_memory || !m->state->taken)
        return AW_ERR_OUT_OF_MEMORY;
    if (in->taken.n)
        memcpy(m->state->taken, in->taken.at, in->taken.n * sizeof *in->taken.at);
    m->state->n_taken = (uint32_t)in->taken.n;
    return hash_all(m);
}

enum aw_status ptx_check(struct ptx_module *m, struct ptx_diags *diags)
{
    struct inits in = { .module = m, .diags = diags };
    uint32_t errors = diags->n_errors;
    enum aw_status status;

    if (m->address_size != 64) {
        ptx_error(diags, m->name, (struct ptx_loc){ 0 }, "%u-bit addresses: not supported by anywarp", m->address_size);
        return AW_ERR_UNSUPPORTED_PTX;
    }
    layout_all(m, diags);
    if (diags->n_errors != errors)
        return AW_ERR_INVALID_PTX;
    status = ptx_bind_symbols(m, diags);
    if (status == AW_OK)
        status = bind_and_place(m, diags, &in);
    aw_vec_fini(&in.taken);
    return status;
}

enum aw_status ptx_open(const struct aw_text texts[], size_t n, struct ptx_diags *diags, struct ptx_module **ret_module)
{
    struct ptx_module **modules = calloc(n + PTX_RUNTIME_MODULES + 1, sizeof *modules), *m;
    enum aw_status status = modules && n ? AW_OK : n ? AW_ERR_OUT_OF_MEMORY : AW_ERR_INVALID_VALUE;
    size_t parsed = 0;

    *ret_module = NULL;
    for (; parsed < n && status != AW_ERR_OUT_OF_MEMORY; parsed++) { /* all, to show the messages of all */
        enum aw_status one = ptx_parse(texts[parsed].ptr, texts[parsed].len, texts[parsed].name, diags, &modules[parsed]);
        if (one != AW_OK)
            status = one;
    }
    if (status == AW_OK)
        status = ptx_runtime_add(modules, &parsed, diags);
    if (status == AW_OK)
        status = ptx_link(modules, parsed, diags, &m);
    else
        for (size_t i = 0; i < parsed; i++)
            ptx_module_destroy(modules[i]);
    free(modules);
    if (status != AW_OK)
        return status;
    status = ptx_check(m, diags);
    if (status == AW_OK)
        *ret_module = m;
    else
        ptx_module_destroy(m);
    return status;
}

/* ---- Questions */
struct ptx_func *ptx_find_func(const struct ptx_module *m, struct aw_str name)
{
    uint64_t hash = ptx_hash_name(name.ptr, name.len);
    struct ptx_symbol *s = ptx_symtab_find(&m->state->globals, name, hash);

    for (const struct ptx_module *text = m; text && !(s && s->func); text = text->absorbed)
        s = ptx_symtab_find(&text->state->locals, name, hash);
    if (s && s->func && aw_str_eq(s->func->name, name))
        return s->func;
    for (struct ptx_func *f = m->funcs; f; f = f->next) /* renamed when texts were linked, or an alias */
        if (aw_str_eq(f->name, name) && f->definition)
            return f->definition;
    return s && s->func ? s->func : s ? s->proto : NULL;
}

struct ptx_func *ptx_find_kernel(const struct ptx_module *m, struct aw_str name)
{
    struct ptx_func *f = ptx_find_func(m, name);

    return f && f->is_entry && !f->is_prototype ? f : NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, struct aw_str name)
{
    for (struct ptx_var *v = m->vars; v; v = v->next)
        if (v->linkage != PTX_EXTERN && aw_str_eq(v->name, name))
            return v;
    return NULL;
}
