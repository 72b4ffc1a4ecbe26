/* What a kernel reaches, and the hash of all that its code depends on. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"
#include "base/map.h"
#include "module/state.h"
#include "tab/form.h"

#include <stdlib.h>

/* ---- Functions that the device runtime provides */
static const char *const implemented[] = { "vprintf", "__assertfail", "malloc", "free" };

static bool is_implemented(struct aw_str name)
{
    for (size_t i = 0; i < sizeof implemented / sizeof implemented[0]; i++)
        if (aw_str_is(name, implemented[i]))
            return true;
    return false;
}

bool ptx_is_runtime(struct aw_str name)
{
    /* Kernels that start kernels: cudaLaunchDeviceV2, __cudaCDP2StreamCreateWithFlags, cnpDevice... */
    return is_implemented(name) || aw_str_starts(name, "cuda") || aw_str_starts(name, "__cuda") || aw_str_starts(name, "cnp");
}

/* ---- Compatibility of an indirect call's prototype with a function: number, size and class of parameters. */
static bool same_list(const struct ptx_var *a, const struct ptx_var *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (a->size != b->size || (a->n_dims > 0) != (b->n_dims > 0))
            return false;
    return a == b;
}

bool ptx_compatible(const struct ptx_func *proto, const struct ptx_func *func)
{
    if (!proto->name.len || aw_str_is(proto->name, "_"))
        return same_list(proto->rets, func->rets) && same_list(proto->params, func->params);
    /* A member of .calltargets. */
    return proto == func || proto->definition == func ||
           (same_list(proto->rets, func->rets) && same_list(proto->params, func->params));
}

/* ---- Reaching */
struct closure_walk {
    const struct ptx_module *module;
    AW_VEC(struct ptx_func *) funcs, runtime, targets;
    AW_VEC(struct ptx_var *) vars;
    AW_VEC(const struct ptx_func *) protos;
    uint32_t mark, target_mark;
    bool failed, barrier, indirect;
};

static void reach_func(struct closure_walk *w, struct ptx_func *f)
{
    if (f->definition)
        f = f->definition;
    if (f->mark >= w->mark)
        return;
    f->mark = w->mark;
    if (f->is_prototype)
        w->failed |= !aw_vec_push(&w->runtime, f);
    else
        w->failed |= !aw_vec_push(&w->funcs, f);
}

static void scan_func(struct closure_walk *w, const struct ptx_func *f)
{
    const struct ptx_uses *u = f->uses;

    if (!u)
        return;
    for (uint32_t i = 0; i < u->n_callees; i++)
        reach_func(w, u->callees[i]);
    for (uint32_t i = 0; i < u->n_vars; i++) {
        if (u->vars[i]->mark == w->mark)
            continue;
        u->vars[i]->mark = w->mark;
        w->failed |= !aw_vec_push(&w->vars, u->vars[i]);
    }
    for (uint32_t i = 0; i < u->n_protos; i++)
        w->failed |= !aw_vec_push(&w->protos, u->protos[i]);
    w->barrier |= u->barrier;
    w->indirect |= u->indirect;
}

/* Functions of the module whose address is taken anywhere and that fit one of the prototypes seen from `first_proto` on. */
static void reach_targets(struct closure_walk *w, size_t first_proto)
{
    const struct ptx_state *state = w->module->state;

    for (size_t p = first_proto; p < w->protos.n; p++) {
        for (uint32_t i = 0; i < state->n_taken; i++) {
            struct ptx_func *f = state->taken[i];
            if (f->is_entry || f->mark == w->target_mark || !ptx_compatible(w->protos.at[p], f))
                continue;
            reach_func(w, f);
            f->mark = w->target_mark; /* above `mark`: still counts as reached */
        }
    }
}

static void reach_all(struct closure_walk *w, struct ptx_func *kernel)
{
    size_t scanned = 0, protos = 0;

    reach_func(w, kernel);
    while (scanned < w->funcs.n && !w->failed) {
        while (scanned < w->funcs.n && !w->failed)
            scan_func(w, w->funcs.at[scanned++]);
        reach_targets(w, protos);
        protos = w->protos.n;
    }
    for (uint32_t i = 0; i < w->module->state->n_taken; i++) {
        struct ptx_func *f = w->module->state->taken[i];
        if (f->mark == w->target_mark)
            w->failed |= !aw_vec_push(&w->targets, f);
    }
}

/* ---- Cycles of direct calls.  Kahn's order: functions that cannot be removed callee by callee lie on or behind a cycle. */
static bool has_cycle(struct closure_walk *w)
{
    size_t n = w->funcs.n, done = 0, top = 0;
    uint32_t *callers = calloc(n + 1, sizeof *callers);
    struct ptx_func **ready = calloc(n + 1, sizeof *ready);
    struct aw_ptrmap index = { 0 };
    bool ok = callers && ready;

    for (size_t i = 0; ok && i < n; i++)
        ok = aw_ptrmap_put(&index, w->funcs.at[i], (void *)(i + 1));
    for (size_t i = 0; ok && i < n; i++)
        for (uint32_t c = 0; w->funcs.at[i]->uses && c < w->funcs.at[i]->uses->n_callees; c++)
            callers[(size_t)aw_ptrmap_find(&index, w->funcs.at[i]->uses->callees[c])]++;
    for (size_t i = 0; ok && i < n; i++)
        if (!callers[i + 1])
            ready[top++] = w->funcs.at[i];
    while (ok && top) {
        const struct ptx_func *f = ready[--top];
        done++;
        for (uint32_t c = 0; f->uses && c < f->uses->n_callees; c++) {
            size_t at = (size_t)aw_ptrmap_find(&index, f->uses->callees[c]);
            if (at && --callers[at] == 0)
                ready[top++] = f->uses->callees[c];
        }
    }
    aw_ptrmap_fini(&index);
    free(callers);
    free(ready);
    w->failed |= !ok;
    return done < n;
}

static uint64_t shared_bytes(const struct ptx_closure *c, bool *ret_dynamic)
{
    uint64_t at = 0, dynamic_align = 1;

    *ret_dynamic = false;
    for (uint32_t i = 0; i < c->n_vars; i++) {
        const struct ptx_var *v = c->vars[i];
        if (v->space != PTX_SPACE_SHARED)
            continue;
        if (v->linkage == PTX_EXTERN && v->n_dims && !v->dims[0]) {
            *ret_dynamic = true;
            dynamic_align = v->align > dynamic_align ? v->align : dynamic_align;
        } else {
            at = ptx_align_up(at, ptx_placed_align(v)) + v->size;
        }
    }
    /* Dynamic memory begins at the next multiple of 16: make that one of its own alignment too. */
    return dynamic_align > 16 ? ptx_align_up(at, dynamic_align) : at;
}

#define COPY(arena, vec, type, ret, ret_n)                                      \
    do {                                                                        \
        (ret) = AW_NEW_ARRAY((arena), type, (vec).n);                           \
        (ret_n) = (uint32_t)(vec).n;                                            \
        if ((vec).n && !(ret))                                                  \
            w.failed = true;                                                    \
        else if ((vec).n)                                                       \
            memcpy((void *)(ret), (vec).at, (vec).n * sizeof *(vec).at);        \
    } while (0)

bool ptx_closure_of(const struct ptx_module *module, struct ptx_func *kernel, struct aw_arena *arena,
                    struct ptx_closure *ret_closure)
{
    struct ptx_closure c = { .kernel = kernel };
    struct closure_walk w = { .module = module, .mark = module->state->mark + 1, .target_mark = module->state->mark + 2 };

    module->state->mark += 2;
    reach_all(&w, kernel);
    c.barrier = w.barrier;
    c.indirect = w.indirect;
    c.recursive = !w.failed && (has_cycle(&w) || (w.indirect && w.targets.n > 0));
    COPY(arena, w.funcs, struct ptx_func *, c.funcs, c.n_funcs);
    COPY(arena, w.runtime, struct ptx_func *, c.runtime, c.n_runtime);
    COPY(arena, w.targets, struct ptx_func *, c.targets, c.n_targets);
    COPY(arena, w.vars, struct ptx_var *, c.vars, c.n_vars);
    aw_vec_fini(&w.funcs);
    aw_vec_fini(&w.runtime);
    aw_vec_fini(&w.targets);
    aw_vec_fini(&w.vars);
    aw_vec_fini(&w.protos);
    if (w.failed)
        return false;
    c.static_shared = shared_bytes(&c, &c.dynamic_shared);
    for (uint32_t i = 0; i < c.n_funcs; i++)
        c.local_bytes += c.funcs[i]->local_bytes;
    *ret_closure = c;
    return true;
}

bool ptx_closure_errors(const struct ptx_closure *c, struct aw_buf *ret_text)
{
    bool ok = true;

    for (uint32_t i = 0; i < c->n_funcs; i++) {
        const struct ptx_func *f = c->funcs[i];
        if (!f->n_errors)
            continue;
        ok = false;
        aw_buf_printf(ret_text, "%.*s:%u:%u: note: in '%.*s':\n", AW_STR_ARG(f->origin->name), f->loc.line, f->loc.column,
                      AW_STR_ARG(f->name));
        aw_buf_str(ret_text, f->errors);
    }
    return ok;
}

bool ptx_closure_unsupported(const struct ptx_closure *c)
{
    for (uint32_t i = 0; i < c->n_funcs; i++)
        if (c->funcs[i]->n_errors != c->funcs[i]->n_unsupported)
            return false;
    return true;
}

/* The first call of a function in what the kernel reaches; NULL: only its address is taken. */
static const struct ptx_instr *call_of(const struct ptx_closure *c, const struct ptx_func *callee,
                                       const struct ptx_func **ret_caller)
{
    for (uint32_t i = 0; i < c->n_funcs; i++)
        for (const struct ptx_stmt *s = c->funcs[i]->body; s; s = s->next) {
            const struct ptx_operand *op = s->kind == PTX_STMT_INSTR && aw_str_is(s->instr->mnemonic, "call")
                                               ? ptx_call_parts(s->instr).callee : NULL;
            if (op && op->kind == PTX_OP_FUNC && op->func == callee) {
                *ret_caller = c->funcs[i];
                return s->instr;
            }
        }
    return NULL;
}

bool ptx_closure_missing(const struct ptx_closure *c, struct aw_buf *ret_text)
{
    bool missing = false;

    for (uint32_t i = 0; i < c->n_runtime; i++) {
        const struct ptx_func *f = c->runtime[i], *caller = c->kernel;
        if (is_implemented(f->name))
            continue;
        missing = true;
        const struct ptx_instr *in = call_of(c, f, &caller);
        struct ptx_loc at = in ? in->loc : caller->loc;
        aw_buf_printf(ret_text, "%.*s:%u:%u: error: kernel '%.*s'", AW_STR_ARG(caller->origin->name), at.line, at.column,
                      AW_STR_ARG(c->kernel->name));
        if (caller != c->kernel)
            aw_buf_printf(ret_text, ", in '%.*s'", AW_STR_ARG(caller->name));
        aw_buf_printf(ret_text, " calls '%.*s' of the device-side runtime: not supported by anywarp\n", AW_STR_ARG(f->name));
    }
    return missing;
}

/* ---- Hashes */
static void add_number(struct aw_hasher *h, uint64_t n)
{
    aw_hasher_add(h, &n, sizeof n);
}

/* What a .loc says, for the line table: with the file's name, as its number says nothing. */
static void hash_loc(const struct ptx_module *text, const struct ptx_stmt *s, struct aw_buf *scratch)
{
    const struct ptx_file *f = text->files;
    while (f && f->index != s->file)
        f = f->next;
    if (f)
        aw_buf_str(scratch, f->name);
    aw_buf_printf(scratch, ":%u:%u ", s->line, s->column);
    aw_buf_str(scratch, s->text);
    aw_buf_add(scratch, "\n", 1);
}

/* The function's text as printed, and all of its text's header that matters to code. */
void ptx_hash_func(struct ptx_func *f, struct aw_buf *scratch)
{
    const struct ptx_module *o = f->origin;

    scratch->len = 0;
    aw_buf_printf(scratch, "%u.%u %u%c %d\n", o->major, o->minor, o->sm, o->sm_suffix ? o->sm_suffix : ' ', o->debug);
    ptx_print_func_head(f, scratch);
    for (const struct ptx_stmt *s = f->body; s; s = s->next)
        if (s->kind == PTX_STMT_LOC)
            hash_loc(o, s, scratch);
        else
            ptx_print_stmt(s, scratch);
    struct aw_hash128 hash = aw_hash128(scratch->ptr, scratch->len);
    f->uses->text[0] = hash.lo;
    f->uses->text[1] = hash.hi;
}

bool ptx_hash_kernel(struct ptx_module *m, struct ptx_func *kernel, struct ptx_closure *c)
{
    struct aw_hasher h;

    (void)m;
    aw_hasher_init(&h);
    for (uint32_t i = 0; i < c->n_funcs; i++) {
        const struct ptx_func *f = c->funcs[i];
        if (!f->uses)
            return false;
        aw_hasher_add(&h, f->uses->text, sizeof f->uses->text);
        for (uint32_t t = 0; t < f->uses->n_taken; t++)
            add_number(&h, ptx_func_address(f->uses->taken[t]));
    }
    for (uint32_t i = 0; i < c->n_vars; i++) {
        const struct ptx_var *v = c->vars[i];
        aw_hasher_add(&h, v->name.ptr, v->name.len);
        add_number(&h, v->space == PTX_SPACE_SHARED ? 0 : v->offset);
        add_number(&h, v->size);
        add_number(&h, (uint64_t)v->align << 32 | (uint64_t)v->space << 8 | v->managed);
    }
    for (uint32_t i = 0; i < c->n_targets; i++) {
        add_number(&h, c->targets[i]->address_id);
        aw_hasher_add(&h, c->targets[i]->name.ptr, c->targets[i]->name.len);
    }
    struct aw_hash128 hash = aw_hasher_end(&h);
    kernel->closure[0] = hash.lo;
    kernel->closure[1] = hash.hi;
    return true;
}
