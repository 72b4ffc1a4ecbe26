/* Textures and surfaces.  Machine code has coordinates and all that is said beside them in one or two runs of registers; where
 * handles come from is handles.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "sass/lift.h"

/* ---- Geometry */

struct geometry {
    const char *name;            /* in PTX */
    unsigned coords;             /* without the layer */
    bool layered, cube;
};

static const struct geometry *texture_geometry(struct sass_lift *l)
{
    static const struct geometry all[] = {
        [SASS_TDIM_1D] = { "1d", 1, false, false },       [SASS_TDIM_2D] = { "2d", 2, false, false },
        [SASS_TDIM_3D] = { "3d", 3, false, false },       [SASS_TDIM_CUBE] = { "cube", 3, false, true },
        [SASS_TDIM_ARRAY_1D] = { "a1d", 1, true, false }, [SASS_TDIM_ARRAY_2D] = { "a2d", 2, true, false },
        [SASS_TDIM_ARRAY_CUBE] = { "acube", 3, true, true }
    };
    return &all[sass_mod(l, SASS_F_TDIM)];
}

static const struct geometry *surface_geometry(struct sass_lift *l)
{
    static const struct geometry all[] = {
        [SASS_SDIM_1D] = { "1d", 1, false, false },       [SASS_SDIM_2D] = { "2d", 2, false, false },
        [SASS_SDIM_3D] = { "3d", 3, false, false },       [SASS_SDIM_1D_ARRAY] = { "a1d", 1, true, false },
        [SASS_SDIM_2D_ARRAY] = { "a2d", 2, true, false }, [SASS_SDIM_1D_BUFFER] = { NULL, 0, false, false }
    };
    const struct geometry *g = &all[sass_mod(l, SASS_F_SDIM)];
    if (!g->name)
        sass_fail(l, "a buffer as a surface");
    return g->name ? g : &all[SASS_SDIM_1D];
}

/* Operands in braces. */
struct braced {
    char s[200];
};

/* The handle in the register that is a word of a slot. */
static struct sass_text handle_in(struct sass_lift *l, enum sass_slot slot, unsigned word)
{
    struct sass_operand o = *sass_look(l, slot);
    if (o.kind == SASS_REG && o.reg != SASS_RZ)
        o.reg = (uint8_t)(o.reg + word);
    return sass_handle_of(l, &o);
}

static struct sass_text word_of(struct sass_lift *l, enum sass_slot slot, unsigned word)
{
    struct sass_operand o = sass_words_of(sass_look(l, slot), word, 1);
    if (o.kind != SASS_REG)
        sass_fail(l, "no registers for coordinates");
    return sass_in_register(l, sass_raw(l, &o), 't');
}

/* {layer, x, y, ...}: vectors of three have a fourth element, which means nothing. */
static struct braced vector_of(const struct geometry *g, struct sass_text layer, const struct sass_text *at)
{
    const char *e[4];
    unsigned n = 0;
    struct braced all;
    if (g->layered)
        e[n++] = layer.s;
    for (unsigned d = 0; d < g->coords; d++)
        e[n++] = at[d].s;
    if (n == 3)
        e[n++] = e[2];
    snprintf(all.s, sizeof all.s, n == 1 ? "{%s}" : n == 2 ? "{%s, %s}" : "{%s, %s, %s, %s}", e[0], n > 1 ? e[1] : "",
             n > 2 ? e[2] : "", n > 2 ? e[3] : "");
    return all;
}

/* ---- Arguments of one lookup */

struct lookup {
    const struct geometry *g;
    struct sass_text layer, at[3], lod, depth, offset[3], handle;
    bool has_lod, has_depth, has_offset;
};

/* Where the words of an instruction are: `first` of `n` from A on, the others from B on. */
struct words {
    unsigned first, next;
};

static struct sass_text next_word(struct sass_lift *l, struct words *w)
{
    unsigned k = w->next++;
    return k < w->first ? word_of(l, SASS_A, k) : word_of(l, SASS_B, k - w->first);
}

/* Offsets of texels, `bits` each, one every `step` bits from `at` on. */
static void split_offsets(struct sass_lift *l, struct lookup *t, struct sass_text packed, unsigned at, unsigned step,
                          unsigned bits)
{
    for (unsigned d = 0; d < t->g->coords; d++) {
        t->offset[d] = sass_temp(l, 't');
        sass_step(l, "bfe.s32 %s, %s, %u, %u", t->offset[d].s, packed.s, at + step * d, bits);
    }
}

/* What TEX, TLD and TLD4 are told. */
static void read_words(struct sass_lift *l, struct lookup *t)
{
    bool own = sass_mod(l, SASS_F_B), gather = l->at->op == SASS_TLD4;
    unsigned first = t->g->layered + t->g->coords;
    unsigned all = first + own + t->has_lod + t->has_offset + t->has_depth;
    struct words w = { sass_mod(l, SASS_F_SCR) ? (all + 1) / 2 : first, 0 };
    if (all > w.first)
        (void)sass_look(l, SASS_B);
    if (t->g->layered)
        t->layer = next_word(l, &w);
    for (unsigned d = 0; d < t->g->coords; d++)
        t->at[d] = next_word(l, &w);
    if (own) {
        unsigned k = w.next++;
        t->handle = k < w.first ? handle_in(l, SASS_A, k) : handle_in(l, SASS_B, k - w.first);
    }
    if (t->has_lod)
        t->lod = next_word(l, &w);
    if (t->has_offset)
        split_offsets(l, t, next_word(l, &w), 0, gather ? 8 : 4, gather ? 6 : 4);
    if (t->has_depth)
        t->depth = next_word(l, &w);
    if (!own)
        t->handle = sass_handle(l, SASS_H);
}

static struct braced offsets_of(const struct lookup *t)
{
    static const struct geometry plain[] = { { 0 }, { "", 1, false, false }, { "", 2, false, false }, { "", 3, false, false } };
    return vector_of(&plain[t->g->coords], t->layer, t->offset);
}

/* ---- Results */

/* The four components in registers of their own, as an operand; the instruction is `op` and what follows the result. */
static void put_components(struct sass_lift *l, const struct sass_text got[4], unsigned n)
{
    const struct sass_operand *d = sass_look(l, SASS_D), *d2 = sass_look(l, SASS_D2), *mask = sass_look(l, SASS_L);
    unsigned wanted = (unsigned)mask->value & 15, k = 0;
    for (unsigned c = 0; c < n; c++) {
        if (!(wanted >> c & 1))
            continue;
        const struct sass_operand *to = k < 2 ? d : d2;
        if (sass_writes(to))
            sass_do(l, "mov.b32 %s, %s", sass_dest(l, to, k % 2).s, got[c].s);
        k++;
    }
}

/* Two components a register; of which two the mask says. */
static void put_halves(struct sass_lift *l, const struct sass_text got[2])
{
    if (sass_look(l, SASS_L)->value != 15)
        sass_fail(l, "some of the halves of a texel");
    for (unsigned k = 0; k < 2; k++) {
        const struct sass_operand *to = sass_look(l, k ? SASS_D2 : SASS_D);
        if (sass_writes(to))
            sass_do(l, "mov.b32 %s, %s", sass_dest(l, to, 0).s, got[k].s);
    }
}

/* `way`: "tex.level.2d", `types` of coordinates, `more` all that follows the address. */
static void emit_lookup(struct sass_lift *l, const struct lookup *t, const char *way, const char *coord_type, const char *more)
{
    struct sass_text got[4];
    struct braced at = vector_of(t->g, t->layer, t->at);
    bool half = sass_mod(l, SASS_F_F16);
    char result[4 * sizeof got[0].s + 8];
    (void)sass_mod(l, SASS_F_EVICT);
    (void)sass_mod(l, SASS_F_NODEP); /* what helper lanes of a quad, which compute has none of, need not wait for */
    for (unsigned k = 0; k < 4; k++)
        got[k] = sass_temp(l, 't');
    if (half)
        snprintf(result, sizeof result, "{%s, %s}", got[0].s, got[1].s);
    else
        snprintf(result, sizeof result, "{%s, %s, %s, %s}", got[0].s, got[1].s, got[2].s, got[3].s);
    sass_do(l, "%s.%s.%s %s, [%s, %s]%s", way, half ? "v2.f16x2" : "v4.f32", coord_type, result, t->handle.s, at.s, more);
    if (half)
        put_halves(l, got);
    else
        put_components(l, got, 4);
    if (sass_writes(sass_look(l, SASS_P))) { /* every element is there: nothing is sparse */
        l->true_pred = true;
        sass_put_pred(l, SASS_P, "%always");
    }
}

/* ", lod, {x, y}, depth", as far as they are given. */
static void more_of(const struct lookup *t, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s%s%s%s", t->lod.s[0] ? ", " : "", t->lod.s, t->has_offset ? ", " : "",
             t->has_offset ? offsets_of(t).s : "", t->has_depth ? ", " : "", t->has_depth ? t->depth.s : "");
}

/* Gradients of a quad's lanes, which the code around has made of those that one of them was given (emit_quad.c): that lane's own
 * are looked up. */
static void emit_quad(struct sass_lift *l, struct lookup *t)
{
    struct sass_text dx[3], dy[3], none = { "" };
    struct geometry flat = *t->g;
    char more[700];
    flat.layered = false;
    read_words(l, t);
    for (unsigned d = 0; d < t->g->coords; d++) {
        unsigned reg;
        const struct sass_quad_part *part = sscanf(t->at[d].s, "%%r%u", &reg) == 1 ? sass_quad_part(l, reg) : NULL;
        if (!part) {
            sass_fail(l, "a level of detail that neighbours' coordinates give");
            return;
        }
        t->at[d] = part->base;
        dx[d] = part->dx;
        dy[d] = part->dy;
    }
    snprintf(more, sizeof more, ", %s, %s%s%s%s%s", vector_of(&flat, none, dx).s, vector_of(&flat, none, dy).s,
             t->has_offset ? ", " : "", t->has_offset ? offsets_of(t).s : "", t->has_depth ? ", " : "",
             t->has_depth ? t->depth.s : "");
    l->quad.fetched = true;
    emit_lookup(l, t, sass_format("tex.grad.%s", t->g->name).s, "f32", more);
}

void sass_emit_tex(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned lod = sass_mod(l, SASS_F_LOD);
    struct lookup t = { .g = texture_geometry(l), .has_lod = lod == SASS_LOD_LL, .has_depth = sass_mod(l, SASS_F_DC),
                        .has_offset = sass_mod(l, SASS_F_AOFFI) };
    char more[400];
    (void)i;
    if (!t.has_lod && lod != SASS_LOD_LZ) {
        if (sass_mod(l, SASS_F_NDV) && (!lod || lod == SASS_LOD_AUTO))
            emit_quad(l, &t);
        else
            sass_fail(l, "a level of detail that neighbours' coordinates give");
        return;
    }
    read_words(l, &t);
    if (!t.has_lod)
        t.lod = sass_format("0f00000000");
    more_of(&t, more, sizeof more);
    emit_lookup(l, &t, sass_format("tex.level.%s", t.g->name).s, "f32", more);
}

void sass_emit_tld(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned lod = sass_mod(l, SASS_F_LOD);
    struct lookup t = { .g = texture_geometry(l), .has_lod = lod == SASS_LOD_LL, .has_offset = sass_mod(l, SASS_F_AOFFI) };
    char more[400];
    (void)i;
    if (t.g->cube) {
        sass_fail(l, "whole coordinates in a cube");
        return;
    }
    read_words(l, &t);
    more_of(&t, more, sizeof more);
    emit_lookup(l, &t, sass_format(t.has_lod ? "tex.level.%s" : "tex.%s", t.g->name).s, "s32", more);
}

void sass_emit_tld4(struct sass_lift *l, const struct sass_insn *i)
{
    static const char components[] = { [SASS_COMP_R] = 'r', [SASS_COMP_G] = 'g', [SASS_COMP_B] = 'b', [SASS_COMP_A] = 'a' };
    struct lookup t = { .g = texture_geometry(l), .has_depth = sass_mod(l, SASS_F_DC), .has_offset = sass_mod(l, SASS_F_AOFFI) };
    char more[400];
    (void)i;
    if (t.g->coords == 1 || (t.g->coords == 3 && !t.g->cube)) {
        sass_fail(l, "neighbours in one or three dimensions");
        return;
    }
    read_words(l, &t);
    more_of(&t, more, sizeof more);
    emit_lookup(l, &t, sass_format("tld4.%c.%s", components[sass_mod(l, SASS_F_COMP)], t.g->name).s, "f32", more);
}

/* The layer is behind the coordinates, in the low half of a word that has the offsets above it. */
void sass_emit_txd(struct sass_lift *l, const struct sass_insn *i)
{
    struct lookup t = { .g = texture_geometry(l), .has_offset = sass_mod(l, SASS_F_AOFFI) };
    bool own = sass_mod(l, SASS_F_B);
    struct sass_text dx[3], dy[3];
    char more[700];
    (void)i;
    if (t.g->coords == 3 || sass_mod(l, SASS_F_SCR)) {
        sass_fail(l, "gradients in three dimensions");
        return;
    }
    t.handle = own ? handle_in(l, SASS_A, 0) : sass_handle(l, SASS_H);
    for (unsigned d = 0; d < t.g->coords; d++) {
        t.at[d] = word_of(l, SASS_A, own + d);
        dx[d] = word_of(l, SASS_B, 2 * d);
        dy[d] = word_of(l, SASS_B, 2 * d + 1);
    }
    if (t.g->layered || t.has_offset) {
        struct sass_text packed = word_of(l, SASS_A, own + t.g->coords);
        t.layer = sass_temp(l, 't');
        sass_step(l, "and.b32 %s, %s, 65535", t.layer.s, packed.s);
        split_offsets(l, &t, packed, 16, 4, 4);
    }
    struct geometry flat = *t.g;
    flat.layered = false;
    snprintf(more, sizeof more, ", %s, %s%s%s", vector_of(&flat, t.layer, dx).s, vector_of(&flat, t.layer, dy).s,
             t.has_offset ? ", " : "", t.has_offset ? offsets_of(&t).s : "");
    emit_lookup(l, &t, sass_format("tex.grad.%s", t.g->name).s, "f32", more);
}

/* Width, height and depth of a level; how many levels there are is the fourth. */
void sass_emit_txq(struct sass_lift *l, const struct sass_insn *i)
{
    static const char *const names[] = { "width", "height", "depth" };
    bool own = sass_mod(l, SASS_F_B);
    struct sass_text got[4], handle, level;
    unsigned wanted = (unsigned)sass_look(l, SASS_L)->value & 15;
    (void)i;
    if (sass_mod(l, SASS_F_QUERY) != SASS_QUERY_TEX_HEADER_DIMENSION) {
        sass_fail(l, "a query that PTX has no word for");
        return;
    }
    (void)sass_mod(l, SASS_F_NODEP); /* as in emit_lookup */
    handle = own ? handle_in(l, SASS_A, 0) : sass_handle(l, SASS_H);
    level = word_of(l, SASS_A, own);
    for (unsigned k = 0; k < 4; k++) {
        got[k] = sass_temp(l, 't');
        if (!(wanted >> k & 1))
            continue;
        if (k < 3)
            sass_do(l, "txq.level.%s.b32 %s, [%s], %s", names[k], got[k].s, handle.s, level.s);
        else
            sass_do(l, "txq.num_mipmap_levels.b32 %s, [%s]", got[k].s, handle.s);
    }
    put_components(l, got, 4);
}

/* ---- Surfaces */

/* x, y, z or x, y, layer. */
static struct braced surface_at(struct sass_lift *l, const struct geometry *g)
{
    struct sass_text at[3], layer = { "" };
    for (unsigned d = 0; d < g->coords; d++)
        at[d] = word_of(l, SASS_A, d);
    if (g->layered)
        layer = word_of(l, SASS_A, g->coords);
    return vector_of(g, layer, at);
}

static struct sass_text surface_handle(struct sass_lift *l)
{
    return l->at->opnd[SASS_C].kind == SASS_REG ? handle_in(l, SASS_C, 0) : sass_handle(l, SASS_H);
}

/* What happens outside of the surface. */
static const char *outside(struct sass_lift *l)
{
    static const char *const names[] = { [SASS_CLAMP_IGN] = "zero", [SASS_CLAMP_CLAMP] = "clamp", [SASS_CLAMP_TRAP] = "trap" };
    (void)sass_mod(l, SASS_F_EVICT);
    (void)sass_mod(l, SASS_F_ORDER); /* lanes' accesses of one surface have no order but that of a barrier */
    return names[sass_mod(l, SASS_F_CLAMP)];
}

static const char *surface_type(struct sass_lift *l, unsigned *ret_words)
{
    *ret_words = 1;
    switch (sass_mod(l, SASS_F_SIZE)) {
    case SASS_SIZE_U8: return "b8";
    case SASS_SIZE_U16: return "b16";
    case SASS_SIZE_32: return "b32";
    case SASS_SIZE_64: *ret_words = 2; return "v2.b32";
    case SASS_SIZE_128: *ret_words = 4; return "v4.b32";
    default: sass_fail(l, "an element of another size"); return "b32";
    }
}

static struct braced list_of(const struct sass_text *v, unsigned n)
{
    struct braced all;
    snprintf(all.s, sizeof all.s, n == 1 ? "%s" : n == 2 ? "{%s, %s}" : "{%s, %s, %s, %s}", v[0].s, n > 1 ? v[1].s : "",
             n > 2 ? v[2].s : "", n > 2 ? v[3].s : "");
    return all;
}

/* In bytes: elements as formats have them PTX does not load. */
static bool is_bytes(struct sass_lift *l)
{
    bool bytes = sass_mod(l, SASS_F_BA);
    if (!bytes)
        sass_fail(l, "elements that are counted and not bytes");
    return bytes;
}

void sass_emit_suld(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned n;
    const struct geometry *g = surface_geometry(l);
    const char *type = surface_type(l, &n), *beyond = outside(l);
    struct braced at = surface_at(l, g);
    struct sass_text got[4], handle = surface_handle(l);
    bool narrow = type[1] == '8' || type[1] == '1';
    if (!is_bytes(l))
        return;
    for (unsigned k = 0; k < n; k++)
        got[k] = sass_temp(l, narrow ? 'h' : 't');
    sass_do(l, "suld.b.%s.%s.%s %s, [%s, %s]", g->name, type, beyond, list_of(got, n).s, handle.s, at.s);
    for (unsigned k = 0; k < n && sass_writes(&i->opnd[SASS_D]); k++)
        sass_do(l, narrow ? "cvt.u32.u16 %s, %s" : "mov.b32 %s, %s", sass_dest(l, &i->opnd[SASS_D], k).s, got[k].s);
    if (sass_writes(sass_look(l, SASS_P))) {
        l->true_pred = true;
        sass_put_pred(l, SASS_P, "%always");
    }
}

static void store_formatted(struct sass_lift *l)
{
    const struct geometry *g = surface_geometry(l);
    unsigned mask = sass_mod(l, SASS_F_MASK), n = mask == SASS_MASK_R ? 1 : mask == SASS_MASK_RG ? 2 : 4;
    const char *beyond = outside(l), *width = n == 1 ? "" : n == 2 ? ".v2" : ".v4";
    struct braced at = surface_at(l, g);
    struct sass_text v[4], handle = surface_handle(l);
    for (unsigned k = 0; k < n; k++)
        v[k] = word_of(l, SASS_B, k);
    sass_do(l, "sust.p.%s%s.b32.%s [%s, %s], %s", g->name, width, beyond, handle.s, at.s, list_of(v, n).s);
}

void sass_emit_sust(struct sass_lift *l, const struct sass_insn *i)
{
    unsigned n;
    if (i->mod[SASS_F_MASK]) {
        store_formatted(l);
        return;
    }
    const struct geometry *g = surface_geometry(l);
    const char *type = surface_type(l, &n), *beyond = outside(l);
    struct braced at = surface_at(l, g);
    struct sass_text v[4], handle = surface_handle(l);
    if (!is_bytes(l))
        return;
    for (unsigned k = 0; k < n; k++)
        v[k] = word_of(l, SASS_B, k);
    if (type[1] == '8' || type[1] == '1') {
        struct sass_text h = sass_temp(l, 'h');
        sass_step(l, "cvt.u16.u32 %s, %s", h.s, v[0].s);
        v[0] = h;
    }
    sass_do(l, "sust.b.%s.%s.%s [%s, %s], %s", g->name, type, beyond, handle.s, at.s, list_of(v, n).s);
}

/* The type of a reduction as PTX has it; NULL: none. */
static const char *reduced_type(unsigned fn, unsigned stype, bool bytes)
{
    bool bits = fn == SASS_FN_AND || fn == SASS_FN_OR, add = fn == SASS_FN_ADD, ordered = fn == SASS_FN_MIN || fn == SASS_FN_MAX;
    switch (stype) {
    case SASS_STYPE_U32: return bits || (add && !bytes) ? "b32" : bytes && (add || ordered) ? "u32" : NULL;
    case SASS_STYPE_S32: return bytes && (add || ordered) ? "s32" : NULL;
    case SASS_STYPE_U64: return bytes && (add || ordered) ? "u64" : NULL;
    case SASS_STYPE_S64: return bytes && ordered ? "s64" : NULL;
    case SASS_STYPE_SD32: return !bytes && ordered ? "b32" : NULL;
    case SASS_STYPE_SD64: return !bytes && ordered ? "b64" : NULL;
    default: return NULL;
    }
}

void sass_emit_sured(struct sass_lift *l, const struct sass_insn *i)
{
    static const char *const names[] = { [SASS_FN_ADD] = "add", [SASS_FN_MIN] = "min", [SASS_FN_MAX] = "max",
                                         [SASS_FN_AND] = "and", [SASS_FN_OR] = "or" };
    unsigned fn = sass_mod(l, SASS_F_FN), stype = sass_mod(l, SASS_F_STYPE);
    bool bytes = sass_mod(l, SASS_F_BA), wide = stype == SASS_STYPE_U64 || stype == SASS_STYPE_S64 || stype == SASS_STYPE_SD64;
    const struct geometry *g = surface_geometry(l);
    const char *type = reduced_type(fn, stype, bytes), *beyond = outside(l);
    struct braced at = surface_at(l, g);
    struct sass_text handle = surface_handle(l), v = word_of(l, SASS_B, 0);
    (void)i;
    if (!type || fn >= sizeof names / sizeof *names || !names[fn] || g->layered) {
        sass_fail(l, "a reduction that PTX has no word for");
        return;
    }
    if (wide)
        v = sass_join(l, v.s, word_of(l, SASS_B, 1).s);
    sass_do(l, "sured.%c.%s.%s.%s.%s [%s, %s], %s", bytes ? 'b' : 'p', names[fn], g->name, type, beyond, handle.s, at.s, v.s);
}
