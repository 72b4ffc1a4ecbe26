/* Names of module scope: which definition each stands for, across the texts that were linked. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

/* FNV-1a: short names, and the hash of a prefix comes for free (body.c looks for register ranges that way). */
uint64_t ptx_hash_name(const char *p, size_t len)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h;
}

static uint32_t slot_of(uint64_t hash, uint32_t cap)
{
    return (uint32_t)((hash * 0x9e3779b97f4a7c15u) >> 32) & (cap - 1);
}

struct ptx_symbol *ptx_symtab_find(const struct ptx_symtab *table, struct aw_str name, uint64_t hash)
{
    if (!table->cap)
        return NULL;
    for (uint32_t at = slot_of(hash, table->cap); table->slots[at]; at = (at + 1) & (table->cap - 1))
        if (table->slots[at]->hash == hash && aw_str_eq(table->slots[at]->name, name))
            return table->slots[at];
    return NULL;
}

static bool grow(struct ptx_symtab *table, struct aw_arena *arena)
{
    uint32_t cap = table->cap ? table->cap * 2 : 64;
    struct ptx_symbol **slots = cap ? AW_NEW_ARRAY(arena, struct ptx_symbol *, cap) : NULL;

    if (!slots)
        return false;
    for (uint32_t i = 0; i < table->cap; i++) {
        if (!table->slots[i])
            continue;
        uint32_t at = slot_of(table->slots[i]->hash, cap);
        while (slots[at])
            at = (at + 1) & (cap - 1);
        slots[at] = table->slots[i];
    }
    table->slots = slots;
    table->cap = cap;
    return true;
}

struct ptx_symbol *ptx_symtab_add(struct ptx_symtab *table, struct aw_arena *arena, struct aw_str name)
{
    uint64_t hash = ptx_hash_name(name.ptr, name.len);
    struct ptx_symbol *s = ptx_symtab_find(table, name, hash);

    if (s)
        return s;
    if (table->n * 2 >= table->cap && !grow(table, arena))
        return NULL;
    s = AW_NEW(arena, struct ptx_symbol);
    if (!s)
        return NULL;
    s->name = name;
    s->hash = hash;
    uint32_t at = slot_of(hash, table->cap);
    while (table->slots[at])
        at = (at + 1) & (table->cap - 1);
    table->slots[at] = s;
    table->n++;
    return s;
}

struct ptx_symbol *ptx_resolve(const struct ptx_module *origin, struct aw_str name, uint64_t hash)
{
    struct ptx_symbol *s = ptx_symtab_find(&origin->state->locals, name, hash);

    return s ? s : ptx_symtab_find(&origin->state->program->state->globals, name, hash);
}

/* ---- Collecting */
struct binding {
    struct ptx_module *module;
    struct ptx_diags *diags;
    bool no_memory;
};

static struct ptx_symbol *symbol_for(struct binding *b, struct ptx_module *origin, enum ptx_linkage linkage, struct aw_str name)
{
    struct ptx_symtab *table = linkage == PTX_LOCAL ? &origin->state->locals : &b->module->state->globals;
    struct ptx_symbol *s = ptx_symtab_add(table, &b->module->arena, name);

    b->no_memory |= !s;
    return s;
}

static void duplicate(struct binding *b, const struct ptx_module *origin, struct ptx_loc loc, struct aw_str name,
                      const struct ptx_module *first, struct ptx_loc first_loc)
{
    ptx_error(b->diags, origin->name, loc, "'%.*s' is already defined at %.*s:%u:%u", AW_STR_ARG(name),
              AW_STR_ARG(first->name), first_loc.line, first_loc.column);
}

/* Strong definitions beat weak ones; among weak ones the first stays (they are copies of one template). */
static void add_func(struct binding *b, struct ptx_func *f)
{
    struct ptx_symbol *s = symbol_for(b, f->origin, f->linkage, f->name);

    if (!s)
        return;
    if (s->var || s->extern_var) {
        ptx_error(b->diags, f->origin->name, f->loc, "'%.*s' is declared both as a variable and as a function",
                  AW_STR_ARG(f->name));
        return;
    }
    if (f->is_prototype) {
        if (!s->proto)
            s->proto = f;
    } else if (!s->func || (s->func->linkage == PTX_WEAK && f->linkage != PTX_WEAK)) {
        s->func = f;
    } else if (f->linkage != PTX_WEAK) {
        duplicate(b, f->origin, f->loc, f->name, s->func->origin, s->func->loc);
    }
}

static int rank(const struct ptx_var *v)
{
    return v->linkage == PTX_COMMON ? 1 : v->linkage == PTX_WEAK ? 2 : 3;
}

/* An unsized extern .shared is not a declaration of something elsewhere but the block's dynamic memory. */
static bool is_dynamic(const struct ptx_var *v)
{
    return v->space == PTX_SPACE_SHARED && v->linkage == PTX_EXTERN && v->n_dims && !v->dims[0];
}

static void add_var(struct binding *b, struct ptx_var *v)
{
    struct ptx_symbol *s = symbol_for(b, v->origin, v->linkage, v->name);

    if (!s)
        return;
    if (s->func || s->proto) {
        ptx_error(b->diags, v->origin->name, v->loc, "'%.*s' is declared both as a variable and as a function",
                  AW_STR_ARG(v->name));
        return;
    }
    if (is_dynamic(v)) {
        if (!s->var)
            s->var = v;
        else if (s->var->align < v->align) /* several texts declare it: one place fit for all */
            s->var->align = v->align;
    } else if (v->linkage == PTX_EXTERN) {
        if (v->init)
            ptx_error(b->diags, v->origin->name, v->loc, "an extern variable cannot have an initialiser");
        if (!s->extern_var)
            s->extern_var = v;
    } else if (!s->var || rank(s->var) < rank(v)) {
        s->var = v;
    } else if (rank(v) == 3) {
        duplicate(b, v->origin, v->loc, v->name, s->var->origin, s->var->loc);
    } else if (rank(s->var) == 1 && rank(v) == 1 && s->var->size < v->size) {
        s->var = v;
    }
}

static void add_alias(struct binding *b, struct ptx_module *origin, const struct ptx_alias *a)
{
    struct ptx_symbol *target = ptx_resolve(origin, a->target, ptx_hash_name(a->target.ptr, a->target.len));
    struct ptx_symbol *name = ptx_resolve(origin, a->name, ptx_hash_name(a->name.ptr, a->name.len));

    if (!target || !target->func) {
        ptx_error(b->diags, origin->name, a->loc, "the alias target '%.*s' is not a function with a body", AW_STR_ARG(a->target));
        return;
    }
    if (!name)
        name = symbol_for(b, origin, target->func->linkage, a->name);
    if (!name)
        return;
    if (name->func && name->func != target->func)
        duplicate(b, origin, a->loc, a->name, name->func->origin, name->func->loc);
    else
        name->func = target->func;
}

/* ---- Names that collide: a local one gets another, which is seen only where the module is printed. */
static bool rename_locals(struct binding *b, struct ptx_symtab *used, struct ptx_module *text)
{
    struct ptx_symtab *locals = &text->state->locals;

    for (uint32_t i = 0; i < locals->cap; i++) {
        struct ptx_symbol *s = locals->slots[i];
        if (!s)
            continue;
        struct aw_str name = s->name;
        for (uint32_t n = 2; ptx_symtab_find(used, name, ptx_hash_name(name.ptr, name.len)); n++)
            name = aw_arena_printf(&b->module->arena, "%.*s__%u", AW_STR_ARG(s->name), n);
        if (!name.ptr || !ptx_symtab_add(used, &b->module->arena, name))
            return false;
        if (name.ptr == s->name.ptr)
            continue;
        if (s->func && aw_str_eq(s->func->name, s->name)) { /* not an alias */
            s->func->name = name;
            s->renamed = name;
        }
        if (s->var)
            s->var->name = name;
    }
    return true;
}

/* The symbol under the name as written. */
static struct ptx_symbol *symbol_of_func(struct binding *b, const struct ptx_func *f, struct aw_str written)
{
    struct ptx_symtab *table = f->linkage == PTX_LOCAL ? &f->origin->state->locals : &b->module->state->globals;

    return ptx_symtab_find(table, written, ptx_hash_name(written.ptr, written.len));
}

/* ---- The module's items once names are known: what lost against another definition goes; when texts were linked, prototypes
 * of functions that are defined come first, once, with their definition's linkage, so that the printed module is valid. */
static bool keep_func(struct binding *b, struct ptx_func *f, bool linked, bool *ret_first)
{
    struct ptx_symbol *s = symbol_of_func(b, f, f->name);

    *ret_first = false;
    if (!s)
        return true;
    if (!f->is_prototype)
        return s->func == f;
    if (!linked || f->linkage == PTX_LOCAL)
        return true;
    if (s->proto != f)
        return false;
    if (s->func && aw_str_eq(s->func->name, f->name))
        f->linkage = s->func->linkage;
    *ret_first = true;
    return true;
}

/* Definitions that won, and extern declarations that come before them. */
static bool keep_var(struct binding *b, const struct ptx_var *v)
{
    struct ptx_symtab *table = v->linkage == PTX_LOCAL ? &v->origin->state->locals : &b->module->state->globals;
    struct ptx_symbol *s = ptx_symtab_find(table, v->name, ptx_hash_name(v->name.ptr, v->name.len));

    if (!s || s->var == v) {
        if (s)
            s->placed = true;
        return true;
    }
    return s->extern_var == v && !s->placed;
}

/* Prototypes before their definitions; false when memory is out. */
static bool rebuild_items(struct binding *b, bool linked)
{
    struct ptx_module *m = b->module;
    struct ptx_item *items = AW_NEW_ARRAY(&m->arena, struct ptx_item, (size_t)m->n_items + 1);
    uint32_t n = 0;

    if (!items)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < m->n_items; i++) {
            struct ptx_item item = m->items[i];
            bool first = false, keep = true;
            if (!item.node)
                continue;
            if (item.kind == PTX_ITEM_FUNC) {
                struct ptx_func *f = item.node;
                if (pass == 0 && !f->is_prototype)
                    continue;
                keep = keep_func(b, f, linked, &first);
            } else if (pass == 1 && item.kind == PTX_ITEM_VAR) {
                keep = keep_var(b, item.node);
            }
            if (pass == 0 && !first && keep)
                continue;
            if (pass == 0)
                m->items[i].node = NULL; /* placed, or dropped */
            if (keep)
                items[n++] = item;
        }
    }
    m->items = items;
    m->n_items = n;
    return true;
}

static void relist(struct ptx_module *m)
{
    struct ptx_var **vars = &m->vars;
    struct ptx_func **funcs = &m->funcs;

    for (uint32_t i = 0; i < m->n_items; i++) {
        if (m->items[i].kind == PTX_ITEM_VAR) {
            *vars = m->items[i].node;
            vars = &(*vars)->next;
        } else if (m->items[i].kind == PTX_ITEM_FUNC) {
            *funcs = m->items[i].node;
            funcs = &(*funcs)->next;
        }
    }
    *vars = NULL;
    *funcs = NULL;
}

static bool rename_all(struct binding *b)
{
    struct ptx_module *m = b->module;
    struct ptx_symtab used = { 0 };

    for (uint32_t i = 0; i < m->state->globals.cap; i++)
        if (m->state->globals.slots[i] && !ptx_symtab_add(&used, &m->arena, m->state->globals.slots[i]->name))
            return false;
    for (struct ptx_module *text = m; text; text = text->absorbed)
        if (!rename_locals(b, &used, text))
            return false;
    for (uint32_t i = 0; i < m->n_items; i++) {
        struct ptx_func *f = m->items[i].node;
        if (m->items[i].kind != PTX_ITEM_FUNC || !f->is_prototype)
            continue;
        struct ptx_symbol *s = symbol_of_func(b, f, f->name);
        if (s && s->renamed.len)
            f->name = s->renamed;
    }
    return true;
}

static void bind_definitions(struct binding *b)
{
    for (uint32_t i = 0; i < b->module->n_items; i++) {
        if (b->module->items[i].kind == PTX_ITEM_FUNC) {
            struct ptx_func *f = b->module->items[i].node;
            struct ptx_symbol *s = symbol_of_func(b, f, f->name);
            f->definition = s ? s->func : NULL;
        }
    }
}

/* An extern .shared array of a size that nothing defines: as the assembler has it, it is one of this text's own, and fixed. */
static void define_shared(struct binding *b)
{
    for (uint32_t i = 0; i < b->module->n_items; i++) {
        struct ptx_var *v = b->module->items[i].node;
        if (b->module->items[i].kind != PTX_ITEM_VAR || v->space != PTX_SPACE_SHARED || v->linkage != PTX_EXTERN || is_dynamic(v))
            continue;
        struct ptx_symbol *s = symbol_for(b, v->origin, v->linkage, v->name);
        if (s && !s->var && s->extern_var == v) {
            v->linkage = PTX_WEAK;
            s->var = v;
        }
    }
}

enum aw_status ptx_bind_symbols(struct ptx_module *m, struct ptx_diags *diags)
{
    struct binding b = { m, diags, false };
    bool linked = m->absorbed != NULL;
    uint32_t errors = diags->n_errors;

    for (struct ptx_module *text = m; text; text = text->absorbed) {
        text->state = AW_NEW(&m->arena, struct ptx_state);
        if (!text->state)
            return AW_ERR_OUT_OF_MEMORY;
        text->state->program = m;
    }
    for (uint32_t i = 0; i < m->n_items; i++) {
        if (m->items[i].kind == PTX_ITEM_FUNC)
            add_func(&b, m->items[i].node);
        else if (m->items[i].kind == PTX_ITEM_VAR)
            add_var(&b, m->items[i].node);
    }
    for (struct ptx_module *text = m; text; text = text->absorbed)
        for (const struct ptx_alias *a = text->aliases; a; a = a->next)
            add_alias(&b, text, a);
    bind_definitions(&b);
    if (!linked)
        define_shared(&b);
    if (b.no_memory || !rebuild_items(&b, linked))
        return AW_ERR_OUT_OF_MEMORY;
    if (linked && !rename_all(&b)) /* after rebuilding, which finds nodes by their names as written */
        return AW_ERR_OUT_OF_MEMORY;
    relist(m);
    return diags->n_errors == errors ? AW_OK : AW_ERR_INVALID_PTX;
}
