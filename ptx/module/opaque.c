/* Initialisers of .texref, .samplerref and .surfref variables: lists of named fields (PTX ISA 5.3).  Not what becomes of them: a
 * sampler's are constants of the code (ptx/lower/texture.c), a texture reference's are what the runtime begins with (struct
 * aw_manifest_var). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

#include <anywarp/texture.h>

#include <stdio.h>

/* One field: bits of enum aw_sampler to clear and to set.  False: with *ret_why. */
struct field {
    const struct ptx_var *var;
    const struct ptx_init *init;
    unsigned clear, set;
};

static bool no(char *why, size_t size, const char *what, struct aw_str name)
{
    snprintf(why, size, "%s '%.*s'", what, (int)(name.len > 60 ? 60 : name.len), name.ptr);
    return false;
}

/* A field's value by its word, or its number; -1: neither. */
static int value_of(const struct ptx_init_addr *a, const char *const *words, const int *values, size_t n)
{
    for (size_t i = 0; a->symbol.len && i < n; i++)
        if (aw_str_is(a->symbol, words[i]))
            return values[i];
    return a->symbol.len || a->offset < 0 || a->offset > 3 ? -1 : (int)a->offset;
}

static bool read_field(struct field *f, char *why, size_t size)
{
    static const char *const modes[] = { "wrap", "clamp_to_edge", "mirror", "clamp_to_border", "clamp_ogl" };
    static const int numbers[] = { AW_ADDRESS_WRAP, AW_ADDRESS_CLAMP, AW_ADDRESS_MIRROR, AW_ADDRESS_BORDER, AW_ADDRESS_CLAMP };
    static const char *const filters[] = { "nearest", "linear" };
    static const int order[] = { 0, 1 };
    const struct ptx_init_addr *a = f->init->kind == PTX_INIT_ADDR ? f->init->addr : NULL;
    bool sampler = f->var->type == PTX_SAMPLERREF;
    int value = -1;

    if (!a || !a->field.len)
        return no(why, size, "the initialiser must be a list of named fields:", f->var->name);
    if (aw_str_starts(a->field, "addr_mode_") && a->field.len == 11 && a->field.ptr[10] >= '0' && a->field.ptr[10] <= '2') {
        unsigned shift = 2u * (unsigned)(a->field.ptr[10] - '0');
        value = value_of(a, modes, numbers, 5);
        f->clear = 3u << shift;
        f->set = ((unsigned)value & 3) << shift;
    } else if (aw_str_is(a->field, "filter_mode")) {
        value = value_of(a, filters, order, 2);
        f->clear = AW_SAMPLER_LINEAR;
        f->set = value == 1 ? AW_SAMPLER_LINEAR : 0;
    } else if (aw_str_is(a->field, sampler ? "force_unnormalized_coords" : "normalized_coords")) {
        value = a->symbol.len ? -1 : a->offset != 0;
        f->clear = AW_SAMPLER_NORMALIZED;
        f->set = (value == 1) != sampler ? AW_SAMPLER_NORMALIZED : 0;
    } else {
        return no(why, size, sampler ? "a sampler has no field" : "only what is bound to a reference can say its field",
                  a->field);
    }
    return value >= 0 || no(why, size, sampler ? "a sampler has no such value of" : "a texture has no such value of", a->field);
}

bool ptx_opaque_init(const struct ptx_var *var, unsigned *ret_sampler, struct ptx_loc *ret_loc, char *why, size_t size)
{
    unsigned bits = AW_SAMPLER_NORMALIZED;

    *ret_loc = var->loc;
    if (var->type != PTX_SAMPLERREF)
        bits = AW_SAMPLER_OF_REFERENCE;
    if (var->init && (var->init->kind != PTX_INIT_LIST || var->n_dims))
        return no(why, size,
                  var->n_dims ? "arrays of references cannot be initialised:" : "the initialiser must be a list of named fields:",
                  var->name);
    if (var->init && var->type == PTX_SURFREF && var->init->n_items)
        return no(why, size, "only what is bound to a surface can say its fields:", var->name);
    for (uint32_t i = 0; var->init && i < var->init->n_items; i++) {
        struct field f = { .var = var, .init = &var->init->items[i] };
        *ret_loc = f.init->loc;
        if (!read_field(&f, why, size))
            return false;
        bits = (bits & ~f.clear) | f.set;
    }
    *ret_sampler = bits;
    return true;
}
