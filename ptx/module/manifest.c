/* The manifest: what the runtime needs to know of a module without its text (include/anywarp/compiler.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"
#include "tab/form.h"

#include <errno.h>
#include <stdlib.h>

struct builder {
    struct ptx_module *module;
    AW_VEC(struct aw_manifest_kernel) kernels;
    AW_VEC(struct aw_manifest_param) params;
    AW_VEC(struct aw_manifest_var) vars;
    AW_VEC(struct aw_manifest_reloc) relocs;
    struct aw_buf strings;
    unsigned char *image;
    uint64_t image_cap, image_size; /* image_size: up to the last byte that is not zero */
    bool failed, too_large;
};

static uint32_t add_string(struct builder *b, struct aw_str s)
{
    uint32_t at = (uint32_t)b->strings.len;

    aw_buf_str(&b->strings, s);
    aw_buf_add(&b->strings, "", 1);
    b->too_large |= b->strings.len > UINT32_MAX / 2;
    return at;
}

/* ---- Kernels */
static void add_kernel(struct builder *b, struct ptx_func *f)
{
    struct aw_arena arena = { 0 };
    struct aw_buf errors = { 0 };
    struct ptx_closure c;

    if (!ptx_closure_of(b->module, f, &arena, &c)) {
        b->failed = true;
        return;
    }
    bool broken = !ptx_closure_errors(&c, &errors);
    aw_buf_fini(&errors);
    struct aw_manifest_kernel k = {
        .name = add_string(b, f->name), .line = f->loc.line, .first_param = (uint32_t)b->params.n,
        .param_size = ptx_param_size(f), .min_ctas = f->min_ctas, .max_regs = f->max_regs,
                                    .static_shared = (uint32_t)c.static_shared,
                                    .local_bytes = c.local_bytes < UINT32_MAX ? (uint32_t)c.local_bytes : UINT32_MAX,
                                    .closure = { f->closure[0], f->closure[1] },
                                    .flags = (c.dynamic_shared ? AW_KERNEL_DYNAMIC_SHARED : 0u) |
                                             (c.barrier ? AW_KERNEL_BARRIER : 0u) | (broken ? AW_KERNEL_BROKEN : 0u) |
                                             (ptx_closure_starts(&c) ? AW_KERNEL_STARTS : 0u),
                                    .address_id = f->address_id };
    b->too_large |= c.static_shared > UINT32_MAX;
    memcpy(k.max_ntid, f->max_ntid, sizeof k.max_ntid);
    memcpy(k.req_ntid, f->req_ntid, sizeof k.req_ntid);
    memcpy(k.cluster, f->req_cluster, sizeof k.cluster);
    for (const struct ptx_var *v = f->params; v; v = v->next) {
        struct aw_manifest_param p = { (uint32_t)v->offset, (uint32_t)v->size, v->align };
        b->failed |= !aw_vec_push(&b->params, p);
        k.n_params++;
    }
    b->failed |= !aw_vec_push(&b->kernels, k);
    aw_arena_fini(&arena);
}

static int by_name(const void *a, const void *b)
{
    const struct ptx_func *const *x = a, *const *y = b;

    return aw_str_cmp((*x)->name, (*y)->name);
}

static void add_kernels(struct builder *b)
{
    AW_VEC(struct ptx_func *) sorted = { 0 };

    for (struct ptx_func *f = b->module->funcs; f; f = f->next)
        if (f->is_entry && !f->is_prototype)
            b->failed |= !aw_vec_push(&sorted, f);
    if (sorted.n)
        qsort(sorted.at, sorted.n, sizeof *sorted.at, by_name);
    for (size_t i = 0; i < sorted.n && !b->failed; i++)
        add_kernel(b, sorted.at[i]);
    aw_vec_fini(&sorted);
}

/* ---- Initial bytes */
static void put_bytes(struct builder *b, uint64_t at, uint64_t value, unsigned size)
{
    if (!value || b->failed)
        return;
    if (at + size > b->image_cap) {
        uint64_t cap = b->image_cap ? b->image_cap : 4096;
        while (cap < at + size)
            cap *= 2;
        if (cap > b->module->state->image_end)
            cap = ptx_align_up(b->module->state->image_end, 8) + 8;
        unsigned char *bigger = cap < UINT32_MAX / 2 ? realloc(b->image, cap) : NULL;
        if (!bigger) {
            b->too_large |= cap >= UINT32_MAX / 2;
            b->failed = true;
            return;
        }
        memset(bigger + b->image_cap, 0, cap - b->image_cap);
        b->image = bigger;
        b->image_cap = cap;
    }
    memcpy(b->image + at, &value, size);
    if (at + size > b->image_size)
        b->image_size = at + size;
}

/* A double as a float of 16 bits with `fraction` fraction bits, rounded once, to nearest even: 10 = f16, 7 = bf16. */
static uint64_t small_float(double d, unsigned fraction)
{
    unsigned exponent_bits = 15 - fraction;
    int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1, exponent;
    uint64_t bits, mantissa, sign, half, shift = 52 - fraction;

    memcpy(&bits, &d, sizeof bits);
    sign = bits >> 63 << 15;
    exponent = (int)(bits >> 52 & 0x7ff);
    mantissa = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 0x7ff)
        return sign | (uint64_t)top << fraction | (mantissa ? (uint64_t)1 << (fraction - 1) : 0);
    exponent += bias - 1023;
    mantissa |= exponent > bias - 1023 ? (uint64_t)1 << 52 : 0;
    if (exponent <= 0) { /* subnormal: the same fraction, shifted further */
        shift += (uint64_t)(1 - exponent);
        exponent = 0;
        if (shift > 54)
            return sign;
    } else {
        mantissa &= ~((uint64_t)1 << 52);
    }
    half = (uint64_t)1 << (shift - 1);
    uint64_t rounded = mantissa >> shift, rest = mantissa & ((half << 1) - 1);
    rounded += rest > half || (rest == half && (rounded & 1));
    rounded += (uint64_t)exponent << fraction; /* a carry out of the fraction raises the exponent, as it should */
    return sign | (rounded >= (uint64_t)top << fraction ? (uint64_t)top << fraction : rounded);
}

static double init_double(const struct ptx_init *init)
{
    double d;

    if (init->kind == PTX_INIT_INT)
        return (double)(int64_t)init->bits;
    if (init->is_f32) {
        uint32_t bits = (uint32_t)init->bits;
        float f;
        memcpy(&f, &bits, sizeof f);
        return f;
    }
    memcpy(&d, &init->bits, sizeof d);
    return d;
}

static uint64_t scalar_bits(const struct ptx_init *init, enum ptx_type type)
{
    bool is_float = init->kind == PTX_INIT_FLOAT, wants_float = ptx_type_class(type) == 'F';
    uint64_t bits;
    double d;
    float f;

    if (!is_float && !wants_float)
        return init->bits;
    if (is_float && init->is_f32 && (type == PTX_F32 || !wants_float)) /* bit for bit, NaNs too */
        return init->bits;
    d = init_double(init);
    switch (type) {
    case PTX_F16: return is_float ? small_float(d, 10) : init->bits;
    case PTX_BF16: return is_float ? small_float(d, 7) : init->bits;
    case PTX_F32:
        f = (float)d;
        uint32_t narrow;
        memcpy(&narrow, &f, sizeof narrow);
        return narrow;
    case PTX_F64:
        if (is_float && !init->is_f32)
            return init->bits;
        memcpy(&bits, &d, sizeof bits);
        return bits;
    default: /* packed types and bits: as written */
        return init->bits;
    }
}

/* ---- Addresses in initialisers.  Consecutive bytes 0xff(s), 0xff00(s), ... of one address are one relocation. */
static bool extends_last(struct builder *b, const struct aw_manifest_reloc *r)
{
    struct aw_manifest_reloc *last = b->relocs.n ? &b->relocs.at[b->relocs.n - 1] : NULL;

    if (!last || last->addend != r->addend || last->mask_shift || last->size >= 8 || last->at + last->size != r->at ||
        r->mask_shift != last->size * 8)
        return false;
    last->size += r->size;
    return true;
}

static void put_address(struct builder *b, const struct ptx_init_addr *a, uint64_t at, unsigned size)
{
    unsigned shift = a->mask ? (unsigned)__builtin_ctzll(a->mask) : 0;
    uint64_t low = a->mask ? a->mask >> shift : UINT64_MAX;

    if (a->func) { /* a number, known now: see docs/architecture.md, "Function addresses" */
        uint64_t value = (ptx_func_address(a->func) + (uint64_t)a->offset) >> shift & low;
        put_bytes(b, at, value, size);
        return;
    }
    if (!a->var) /* a texture's mode */
        return;
    uint64_t place = a->var->managed ? ptx_managed_storage(a->var) : a->var->offset;
    struct aw_manifest_reloc r = {
        .at = at, .addend = (int64_t)(place + (uint64_t)a->offset), .size = size, .mask_shift = shift
    };
    if (!extends_last(b, &r))
        b->failed |= !aw_vec_push(&b->relocs, r);
}

/* Writes the list from element *index on; dimensions fill row by row, a short inner list leaves its row's rest zero. */
static void put_init(struct builder *b, const struct ptx_var *v, const struct ptx_init *init, uint64_t base, uint64_t room)
{
    unsigned element = ptx_type_bits(v->type) / 8, bytes = element > 8 ? 8 : element;

    if (!element || !room)
        return;
    if (init->kind == PTX_INIT_ADDR)
        put_address(b, init->addr, base, bytes);
    else if (init->kind != PTX_INIT_LIST)
        put_bytes(b, base, scalar_bits(init, v->type) & (bytes == 8 ? UINT64_MAX : ((uint64_t)1 << bytes * 8) - 1), bytes);
}

/* `level`: how many dimensions enclose the list; the vector width counts as the innermost one. */
static void put_list(struct builder *b, const struct ptx_var *v, const struct ptx_init *list, uint64_t base, uint64_t room,
                     uint32_t level)
{
    uint64_t element = ptx_type_bits(v->type) / 8, step, at = 0;

    for (uint32_t i = 0; i < list->n_items && at < room && !b->failed; i++) {
        const struct ptx_init *item = &list->items[i];
        if (item->kind != PTX_INIT_LIST) {
            put_init(b, v, item, base + at, room - at);
            at += element;
            continue;
        }
        step = level < v->n_dims && v->dims[level] ? room / v->dims[level] : v->vec > 1 ? element * v->vec : element;
        if (!step)
            return;
        at = (at + step - 1) / step * step; /* a sublist begins its own row */
        if (at >= room)
            return;
        put_list(b, v, item, base + at, step, level + 1);
        at += step;
    }
}

static void put_var(struct builder *b, const struct ptx_var *v)
{
    uint64_t base = v->offset;

    if (v->managed) { /* the cell; the runtime may overwrite it */
        struct aw_manifest_reloc r = { .at = v->offset, .addend = (int64_t)ptx_managed_storage(v), .size = 8 };
        b->failed |= !aw_vec_push(&b->relocs, r);
        base = ptx_managed_storage(v);
    }
    if (!v->init || ptx_type_class(v->type) == 'O')
        return;
    if (v->init->kind == PTX_INIT_LIST)
        put_list(b, v, v->init, base, v->size, 0);
    else
        put_init(b, v, v->init, base, v->size);
}

static int by_var_name(const void *a, const void *b)
{
    const struct ptx_var *const *x = a, *const *y = b;

    return aw_str_cmp((*x)->name, (*y)->name);
}

/* Checking has found the fields good. */
static uint32_t texture_sampler(const struct ptx_var *v)
{
    char why[160];
    unsigned sampler = 0;
    struct ptx_loc loc;

    return ptx_opaque_init(v, &sampler, &loc, why, sizeof why) ? sampler : 0;
}

static void add_vars(struct builder *b)
{
    struct ptx_state *state = b->module->state;
    struct ptx_var **sorted = calloc((size_t)state->n_vars + 1, sizeof *sorted);

    if (!sorted) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < state->n_vars; i++)
        put_var(b, state->vars[i]);
    memcpy(sorted, state->vars, state->n_vars * sizeof *sorted);
    if (state->n_vars)
        qsort(sorted, state->n_vars, sizeof *sorted, by_var_name);
    for (uint32_t i = 0; i < state->n_vars; i++) {
        const struct ptx_var *v = sorted[i];
        if (v->func) /* known inside that function alone */
            continue;
        struct aw_manifest_var mv = { .name = add_string(b, v->name), .offset = v->offset, .size = v->size, .align = v->align };
        if (v->type == PTX_TEXREF || v->space == PTX_SPACE_TEX)
            mv.sampler = texture_sampler(v);
        mv.space = v->managed ? AW_VAR_MANAGED : v->space == PTX_SPACE_CONST ? AW_VAR_CONST : AW_VAR_GLOBAL;
        b->failed |= !aw_vec_push(&b->vars, mv);
    }
    free(sorted);
}

/* ---- The bytes */
static uint32_t reserve(uint64_t *at, uint64_t size)
{
    uint64_t start = *at;

    *at = ptx_align_up(start + size, 8);
    return (uint32_t)start;
}

/* Those of functions, too: what a module's constant bank holds. */
static uint64_t const_size(const struct ptx_state *state)
{
    uint64_t at = 0;

    for (uint32_t i = 0; i < state->n_vars; i++) {
        const struct ptx_var *v = state->vars[i];
        if (v->space == PTX_SPACE_CONST)
            at = ptx_align_up(at, v->align ? v->align : 1) + v->size;
    }
    return at;
}

static struct aw_manifest *assemble(struct builder *b)
{
    struct ptx_module *m = b->module;
    uint64_t at = ptx_align_up(sizeof(struct aw_manifest), 8);
    struct aw_manifest head = {
        .magic = AW_MANIFEST_MAGIC, .abi = AW_COMPILER_ABI, .ptx_major = m->major, .ptx_minor = m->minor, .sm = m->sm,
        .n_kernels = (uint32_t)b->kernels.n, .n_params = (uint32_t)b->params.n, .n_vars = (uint32_t)b->vars.n,
        .n_relocs = (uint32_t)b->relocs.n, .image_size = (uint32_t)b->image_size, .arena_size = m->state->arena_size,
        .strings_size = (uint32_t)b->strings.len, .const_size = const_size(m->state) };

    head.kernels = reserve(&at, b->kernels.n * sizeof *b->kernels.at);
    head.params = reserve(&at, b->params.n * sizeof *b->params.at);
    head.vars = reserve(&at, b->vars.n * sizeof *b->vars.at);
    head.relocs = reserve(&at, b->relocs.n * sizeof *b->relocs.at);
    head.image = reserve(&at, b->image_size);
    head.strings = reserve(&at, b->strings.len);
    if (at > UINT32_MAX) {
        errno = EFBIG;
        return NULL;
    }
    head.size = (uint32_t)at;
    char *bytes = calloc(1, at);
    if (!bytes)
        return NULL;
    memcpy(bytes, &head, sizeof head);
#define PUT(offset, ptr, size)                           \
    do {                                                 \
        if ((size) > 0)                                  \
            memcpy(bytes + (offset), (ptr), (size));     \
    } while (0)
    PUT(head.kernels, b->kernels.at, b->kernels.n * sizeof *b->kernels.at);
    PUT(head.params, b->params.at, b->params.n * sizeof *b->params.at);
    PUT(head.vars, b->vars.at, b->vars.n * sizeof *b->vars.at);
    PUT(head.relocs, b->relocs.at, b->relocs.n * sizeof *b->relocs.at);
    PUT(head.image, b->image, b->image_size);
    PUT(head.strings, b->strings.ptr, b->strings.len);
#undef PUT
    return (struct aw_manifest *)bytes;
}

struct aw_manifest *ptx_manifest_build(struct ptx_module *module)
{
    struct builder b = { .module = module };
    struct aw_manifest *mf = NULL;

    errno = 0;
    add_string(&b, (struct aw_str){ 0 }); /* so that there is a NUL even in an empty module */
    add_kernels(&b);
    add_vars(&b);
    if (b.too_large)
        errno = EFBIG;
    else if (!b.failed && !b.strings.failed)
        mf = assemble(&b);
    aw_vec_fini(&b.kernels);
    aw_vec_fini(&b.params);
    aw_vec_fini(&b.vars);
    aw_vec_fini(&b.relocs);
    aw_buf_fini(&b.strings);
    free(b.image);
    return mf;
}
