/* Sizes and places: of variables in the module's arena, of parameters in their buffer, of .shared variables in a kernel's
 * block. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

#include "syntax/parse.h"
#include "tab/form.h"

#include <stdlib.h>

/* An open first dimension takes its length from the initialiser. */
static void close_dimension(struct ptx_var *v)
{
    if (v->n_dims && !v->dims[0] && v->init && v->init->kind == PTX_INIT_LIST)
        v->dims[0] = v->init->n_items;
}

bool ptx_layout_var(struct ptx_var *v, struct ptx_diags *diags)
{
    uint64_t size = (uint64_t)ptx_type_bits(v->type) / 8 * v->vec;

    if (v->space == PTX_SPACE_TEX) /* of whatever type: a cell for an address, as .texref has */
        size = 8;
    if (v->type == PTX_PRED && v->space != PTX_SPACE_REG) {
        ptx_error(diags, v->origin->name, v->loc, "'%.*s': predicates live in registers only", AW_STR_ARG(v->name));
        return false;
    }
    close_dimension(v);
    for (uint32_t i = 0; i < v->n_dims; i++) {
        if (__builtin_mul_overflow(size, v->dims[i], &size) || size > PTX_MAX_SIZE) {
            ptx_error(diags, v->origin->name, v->loc, "the variable '%.*s' is too large", AW_STR_ARG(v->name));
            return false;
        }
    }
    v->size = size;
    if (!v->align)
        v->align = v->space == PTX_SPACE_TEX ? 8 : ptx_natural_align(v);
    return true;
}

/* Of text lifted from machine code: .pragma "anywarp parameters at 0 8 160" in a kernel's head says where its parameters lie, as
 * alignments of more than 16 bytes count from a place that only the machine has. */
static bool place_params(struct ptx_func *f, struct aw_str pragma, struct ptx_diags *diags)
{
    static const char word[] = "\"anywarp parameters at ";
    if (pragma.len < sizeof word || memcmp(pragma.ptr, word, sizeof word - 1) != 0)
        return true;
    const char *at = pragma.ptr + sizeof word - 1, *end = pragma.ptr + pragma.len;
    uint64_t free = 0;
    for (struct ptx_var *v = f->params; v; v = v->next) {
        uint64_t offset = 0;
        bool number = at < end && *at >= '0' && *at <= '9';
        for (; at < end && *at >= '0' && *at <= '9' && offset <= UINT32_MAX; at++)
            offset = 10 * offset + (uint64_t)(*at - '0');
        if (!number || offset < free || offset + v->size > UINT32_MAX) {
            ptx_error(diags, f->origin->name, v->loc, "the parameter '%.*s' cannot lie there", AW_STR_ARG(v->name));
            return false;
        }
        v->offset = offset;
        free = offset + v->size;
        at += at < end && *at == ' ';
    }
    return true;
}

bool ptx_layout_params(struct ptx_func *f, struct ptx_diags *diags)
{
    for (int list = 0; list < 2; list++) {
        uint64_t at = 0;
        for (struct ptx_var *v = list ? f->params : f->rets; v; v = v->next) {
            if (!ptx_layout_var(v, diags))
                return false;
            v->func = f;
            v->offset = ptx_align_up(at, v->align);
            at = v->offset + v->size;
            if (at > UINT32_MAX) {
                ptx_error(diags, v->origin->name, v->loc, "the parameters of '%.*s' are too large", AW_STR_ARG(f->name));
                return false;
            }
        }
    }
    for (uint32_t i = 0; i < f->n_pragmas && f->is_entry; i++)
        if (!place_params(f, f->pragmas[i], diags))
            return false;
    return true;
}

uint32_t ptx_param_size(const struct ptx_func *kernel)
{
    uint64_t size = 0;

    for (const struct ptx_var *v = kernel->params; v; v = v->next)
        size = v->offset + v->size;
    return (uint32_t)size;
}

uint64_t ptx_func_address(const struct ptx_func *f)
{
    if (f->definition)
        f = f->definition;
    uint64_t params = f->is_entry ? ptx_param_size(f) : 0; /* include/anywarp/started.h */
    return params << 32 | 16ull * f->address_id;
}

/* ---- The arena.  Initialised variables first, so that the image is short; of these, the ones whose initialisers leave most of
 * them zero last, the largest at the very end: what it leaves zero the image has not. */
static uint64_t count_inits(const struct ptx_init *init)
{
    uint64_t n = 0;

    if (init->kind != PTX_INIT_LIST)
        return 1;
    for (uint32_t i = 0; i < init->n_items; i++)
        n += init->items[i].kind == PTX_INIT_LIST ? count_inits(&init->items[i]) : 1;
    return n;
}

enum { DENSE = 0, ZERO = 41 }; /* between them: large and mostly zero, up to 2^class bytes */

static int arena_class(const struct ptx_var *v)
{
    uint64_t element = ptx_type_bits(v->type) / 8;

    if (!v->init)
        return v->managed ? DENSE : ZERO; /* a managed variable's cell is initialised */
    return v->size > 65536 && v->size / 2 > count_inits(v->init) * element ? 64 - __builtin_clzll(v->size - 1) : DENSE;
}

static bool in_arena(const struct ptx_var *v)
{
    return (v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST || v->space == PTX_SPACE_TEX) &&
           v->linkage != PTX_EXTERN;
}

uint64_t ptx_placed_align(const struct ptx_var *v)
{
    return v->size >= 16 && v->align < 16 ? 16 : v->align;
}

static bool place(struct ptx_state *state, struct ptx_var *v, uint64_t *at)
{
    uint64_t offset = ptx_align_up(*at, v->managed && v->align < 8 ? 8 : ptx_placed_align(v));

    v->offset = offset;
    offset = v->managed ? ptx_managed_storage(v) + v->size : offset + v->size;
    if (offset > PTX_MAX_SIZE)
        return false;
    *at = offset;
    state->vars[state->n_vars++] = v;
    return true;
}

static size_t add_arena_var(struct ptx_var *v, struct ptx_var **ret_var)
{
    if (in_arena(v) && ret_var)
        *ret_var = v;
    return in_arena(v);
}

/* Module variables, then those of functions; how many. */
static size_t arena_vars(const struct ptx_module *m, struct ptx_var **ret_vars)
{
    size_t n = 0;

    for (struct ptx_var *v = m->vars; v; v = v->next)
        n += add_arena_var(v, ret_vars ? ret_vars + n : NULL);
    for (const struct ptx_module *text = m; text; text = text->absorbed)
        for (const struct ptx_nested *nested = text->nested; nested; nested = nested->next)
            n += add_arena_var(nested->var, ret_vars ? ret_vars + n : NULL);
    return n;
}

/* As much as CUDA's cards hold of them.  False, and the variable named that is one too many. */
static bool check_constants(struct ptx_var *const *vars, size_t n, struct ptx_diags *diags)
{
    enum { BANK = 65536 };
    uint64_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct ptx_var *v = vars[i];
        if (v->space != PTX_SPACE_CONST || v->managed)
            continue;
        at = ptx_align_up(at, v->align ? v->align : 1) + v->size;
        if (v->size <= BANK && at <= BANK)
            continue;
        ptx_error(diags, v->origin->name, v->loc,
                  "no room for '%.*s' of %llu bytes: the .const variables of a module have %d together", AW_STR_ARG(v->name),
                  (unsigned long long)v->size, BANK);
        return false;
    }
    return true;
}

bool ptx_layout_arena(struct ptx_module *m, struct ptx_diags *diags)
{
    struct ptx_state *state = m->state;
    size_t n = arena_vars(m, NULL);
    uint64_t at = 0;
    struct ptx_var **vars = AW_NEW_ARRAY(&m->arena, struct ptx_var *, n + 1);
    unsigned char *class = AW_NEW_ARRAY(&m->arena, unsigned char, n + 1);

    state->vars = AW_NEW_ARRAY(&m->arena, struct ptx_var *, n + 1);
    if (!state->vars || !vars || !class)
        return false;
    arena_vars(m, vars);
    if (!check_constants(vars, n, diags))
        return true;
    for (size_t i = 0; i < n; i++)
        class[i] = (unsigned char)arena_class(vars[i]);
    for (int c = DENSE; c <= ZERO; c++) {
        if (c == ZERO)
            state->image_end = at;
        for (size_t i = 0; i < n; i++)
            if (class[i] == c && !place(state, vars[i], &at)) {
                ptx_error(diags, vars[i]->origin->name, vars[i]->loc, "the module's variables are too large together");
                return true;
            }
    }
    state->arena_size = ptx_align_up(at, 256);
    return true;
}

uint64_t ptx_arena_size(const struct ptx_module *m)
{
    return m->state->arena_size;
}

/* ---- Shared memory of one kernel */
static bool is_dynamic(const struct ptx_var *v)
{
    return v->linkage == PTX_EXTERN && v->n_dims && !v->dims[0];
}

void ptx_module_shared_layout(struct ptx_module *module, const struct ptx_closure *closure)
{
    uint64_t at = 0;

    (void)module;
    for (uint32_t i = 0; i < closure->n_vars; i++) {
        struct ptx_var *v = closure->vars[i];
        if (v->space != PTX_SPACE_SHARED || is_dynamic(v))
            continue;
        v->offset = ptx_align_up(at, ptx_placed_align(v));
        at = v->offset + v->size;
    }
    for (uint32_t i = 0; i < closure->n_vars; i++)
        if (closure->vars[i]->space == PTX_SPACE_SHARED && is_dynamic(closure->vars[i]))
            closure->vars[i]->offset = ptx_align_up(closure->static_shared, 16);
}
