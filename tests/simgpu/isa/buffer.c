/* Rows of buffer instructions: an address from a descriptor of four scalar registers, with bounds.
 *
 * The descriptor: base (48 bits), stride, records, swizzling, format, how bounds are checked (gfx10; gfx9 by idxen).  Out of
 * bounds reads are 0 and writes are dropped: dword by dword for untyped accesses, altogether for formats and atomics.  The scalar
 * offset takes no part in that.  A descriptor whose base is that of the wave's scratch means each lane's private memory; what its
 * swizzling does to addresses is then not modelled: its scalar offset counts bytes of the whole wave, its lanes' offsets bytes of
 * their own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"
#include "memory.h"

enum bounds { BY_STRUCTURE, BY_INDEX, NONE, BY_OFFSET };

struct place {
    uint64_t base;
    uint32_t stride, records, index_stride;
    enum bounds bounds;
    bool swizzle, scratch;
    uint32_t scalar;                  /* offset */
    uint32_t index[64], offset[64];
};

/* ---- Descriptors ---- */

static bool read_descriptor(struct sim_wave *w, const struct sim_inst *i, unsigned at, struct place *p)
{
    const struct sim_operand *o = &i->o[at];
    if (i->n != at + 2 || o->kind != SIM_SGPR || o->reg + 4 > SIM_SGPRS) {
        sim_illegal(w, i, "a buffer without a descriptor");
        return false;
    }
    const uint32_t *d = w->s + o->reg;
    p->base = d[0] | (uint64_t)(d[1] & 0xffff) << 32;
    p->stride = d[1] >> 16 & 0x3fff;
    p->swizzle = d[1] >> 31;
    p->records = d[2];
    p->index_stride = 8u << (d[3] >> 21 & 3);
    p->scratch = p->base == w->scratch_base && w->scratch_base;
    p->scalar = sim_read_s32(w, &i->o[at + 1]);
    bool add_tid = d[3] >> 23 & 1;
    if (w->card->major >= 10)
        p->bounds = (enum bounds)(d[3] >> 28 & 3);
    else
        p->bounds = i->idxen && p->stride ? (p->swizzle ? BY_STRUCTURE : BY_INDEX) : BY_OFFSET;
    if (w->card->major < 10 && add_tid)
        p->stride |= (d[3] >> 15 & 15) << 14;
    /* With swizzling the check by offset is one by structure. */
    if (w->card->major >= 10 && p->bounds == BY_OFFSET && p->swizzle && p->stride)
        p->bounds = BY_STRUCTURE;
    for (unsigned l = 0; l < w->lanes && !p->scratch; l++)
        p->index[l] = add_tid ? l : 0;
    return true;
}

/* [index] [offset] of the lanes, from operand `at`. */
static bool read_lanes(struct sim_wave *w, const struct sim_inst *i, unsigned at, struct place *p)
{
    const struct sim_operand *o = &i->o[at];
    unsigned needed = (unsigned)i->idxen + i->offen;
    if (needed && (o->kind != SIM_VGPR || o->dwords < needed)) {
        sim_illegal(w, i, "a buffer address that is in no register");
        return false;
    }
    const uint32_t *v = needed ? memory_registers(w, o) : NULL;
    for (unsigned l = 0; i->idxen && !p->scratch && l < w->lanes; l++)
        p->index[l] += v[l];
    v = i->idxen && i->offen ? v + w->lanes : v;
    uint32_t fixed = (uint32_t)i->offset;
    bool offen = i->offen;
    for (size_t first = 0; first < w->lanes; first += 32)
        for (size_t l = first; l < first + 32; l++)
            p->offset[l] = offen ? fixed + v[l] : fixed;
    return true;
}

/* `at`: operand of the lanes' addresses; then the descriptor and the scalar offset. */
static bool prepare(struct sim_wave *w, const struct sim_inst *i, unsigned at, struct place *p)
{
    if (!read_descriptor(w, i, at + 1, p) || !read_lanes(w, i, at, p))
        return false;
    if (p->scratch && (i->idxen || p->scalar % (4 * w->lanes))) {
        sim_illegal(w, i, "scratch with an index, or a scalar offset that is not one for all lanes");
        return false;
    }
    return true;
}

/* ---- Addresses ---- */

/* Lanes whose `size` bytes at `delta` behind their offset are within the buffer. */
static uint64_t within(const struct sim_wave *w, const struct place *p, unsigned delta, unsigned size)
{
    uint64_t mask = 0;
    if (p->scratch)
        return UINT64_MAX;
    for (unsigned l = 0; l < w->lanes; l++) {
        uint64_t end = (uint64_t)p->offset[l] + delta + size;
        bool ok = true;
        switch (p->bounds) {
        case BY_STRUCTURE: ok = p->index[l] < p->records && end <= p->stride; break;
        case BY_INDEX: ok = p->index[l] < p->records; break;
        case NONE: ok = p->records != 0; break;
        case BY_OFFSET: ok = end <= p->records; break;
        }
        mask |= (uint64_t)ok << l;
    }
    return mask;
}

static uint64_t address_of(const struct place *p, unsigned lane, unsigned delta)
{
    uint64_t index = p->index[lane], offset = (uint64_t)p->offset[lane] + delta;
    if (!p->swizzle)
        return p->base + p->scalar + index * p->stride + offset;
    /* Elements of four bytes; those of equal offset of `index_stride` structures lie together. */
    uint64_t group = index / p->index_stride, member = index % p->index_stride;
    return p->base + p->scalar + (group * p->stride + (offset & ~3ull)) * p->index_stride + member * 4 + (offset & 3);
}

static bool resolve(struct sim_wave *w, const struct sim_inst *i, const struct place *p, unsigned delta, unsigned size,
                    enum sim_access kind, struct access *a)
{
    a->exec = sim_exec(w);
    a->live = a->exec & within(w, p, delta, size);
    a->size = size;
    a->kind = kind;
    if (p->scratch) {
        uint32_t base = p->scalar / w->lanes + delta;
        for (size_t first = 0; first < w->lanes; first += 32)
            for (size_t l = first; l < first + 32; l++)
                a->address[l] = (uint64_t)base + p->offset[l];
        return memory_resolve_private(w, i, a);
    }
    for (unsigned l = 0; l < w->lanes; l++)
        a->address[l] = address_of(p, l, delta);
    return memory_resolve(w, i, a, false);
}

/* ---- Untyped loads and stores ---- */

/* What comes after the data: a status of zero, all of it was resident. */
static void write_status(struct sim_wave *w, const struct sim_inst *i, unsigned dwords)
{
    uint32_t *to = memory_registers(w, &i->o[0]) + dwords * w->lanes;
    if (!i->tfe || i->o[0].dwords <= dwords)
        return;
    SIM_EACH_LANE(w, l)
        to[l] = 0;
}

/* Loads to LDS: consecutive words, one per lane, from M0 and the instruction's offset on. */
static void write_lds(struct sim_wave *w, const struct sim_inst *i, const uint32_t *from)
{
    uint32_t base = (w->s[SIM_M0] & 0xffff) + (uint32_t)i->offset, room = w->group->lds_size;
    SIM_EACH_LANE(w, l) {
        uint64_t at = base + 4 * l;
        if (at + 4 <= room) {
            if (__builtin_expect(w->watch != NULL, 0))
                sim_race_lds(w, i, SIM_STORE, 4, 1, &(uint32_t){ (uint32_t)at });
            memcpy(w->group->lds + at, &from[l], 4);
        }
    }
}

typedef void load_function(struct sim_wave *w, const struct access *a, uint32_t *registers);
typedef void store_function(struct sim_wave *w, const struct access *a, const uint32_t *registers);

static void load_small(struct sim_wave *w, const struct sim_inst *i, unsigned bytes, load_function *load)
{
    struct place p;
    struct access a;
    uint32_t words[64] = { 0 };
    if (!prepare(w, i, i->lds ? 0 : 1, &p) || !resolve(w, i, &p, 0, bytes, SIM_LOAD, &a))
        return;
    load(w, &a, i->lds ? words : memory_registers(w, &i->o[0]));
    if (i->lds)
        write_lds(w, i, words);
    else
        write_status(w, i, 1);
}

static void store_small(struct sim_wave *w, const struct sim_inst *i, unsigned bytes, store_function *store)
{
    struct place p;
    struct access a;
    if (prepare(w, i, 1, &p) && resolve(w, i, &p, 0, bytes, SIM_STORE, &a))
        store(w, &a, memory_registers(w, &i->o[0]));
}

/* Can all dwords be reached in one go? */
static bool in_one(const struct sim_wave *w, const struct place *p, unsigned n)
{
    uint64_t exec = sim_exec(w);
    return p->scratch || (!p->swizzle && (exec & ~within(w, p, 0, 4 * n)) == 0);
}

static void load_wide(struct sim_wave *w, const struct sim_inst *i, unsigned n, load_function *load)
{
    struct place p;
    struct access a;
    if (n == 1) {
        load_small(w, i, 4, load);
        return;
    }
    if (!prepare(w, i, 1, &p))
        return;
    uint32_t *to = memory_registers(w, &i->o[0]);
    if (in_one(w, &p, n)) {
        if (resolve(w, i, &p, 0, 4 * n, SIM_LOAD, &a))
            load(w, &a, to);
    } else {
        for (unsigned k = 0; k < n && resolve(w, i, &p, 4 * k, 4, SIM_LOAD, &a); k++)
            memory_load_dword(w, &a, to + k * w->lanes);
    }
    write_status(w, i, n);
}

static void store_wide(struct sim_wave *w, const struct sim_inst *i, unsigned n, store_function *store)
{
    struct place p;
    struct access a;
    if (!prepare(w, i, 1, &p))
        return;
    const uint32_t *from = memory_registers(w, &i->o[0]);
    if (in_one(w, &p, n)) {
        if (resolve(w, i, &p, 0, 4 * n, SIM_STORE, &a))
            store(w, &a, from);
        return;
    }
    for (unsigned k = 0; k < n && resolve(w, i, &p, 4 * k, 4, SIM_STORE, &a); k++)
        memory_store_dword(w, &a, from + k * w->lanes);
}

#define X(name, bytes, type, expr)                                                                                      \
    static void buffer_load_##name(struct sim_wave *w, const struct sim_inst *i)                                        \
    {                                                                                                                   \
        load_small(w, i, bytes, memory_load_##name);                                                                    \
    }
MEMORY_SMALL_LOADS(X)
#undef X
#define X(name, bytes, type, expr)                                                                                      \
    static void buffer_store_##name(struct sim_wave *w, const struct sim_inst *i)                                       \
    {                                                                                                                   \
        store_small(w, i, bytes, memory_store_##name);                                                                  \
    }
MEMORY_SMALL_STORES(X)
#undef X
#define X(name, dwords)                                                                                                 \
    static void buffer_load_##name(struct sim_wave *w, const struct sim_inst *i)                                        \
    {                                                                                                                   \
        load_wide(w, i, dwords, memory_load_##name);                                                                    \
    }                                                                                                                   \
    static void buffer_store_##name(struct sim_wave *w, const struct sim_inst *i)                                       \
    {                                                                                                                   \
        store_wide(w, i, dwords, memory_store_##name);                                                                  \
    }
MEMORY_WIDE_LOADS(X)
#undef X

/* ---- Formats ---- */

/* The format and, of loads by a descriptor's format, which channel goes where (tbuffer instructions carry their format:
 * identity). */
static bool read_format(struct sim_wave *w, const struct sim_inst *i, unsigned rsrc, bool typed, struct format *ret,
                        uint8_t select[4])
{
    const uint32_t *d = w->s + i->o[rsrc].reg;
    uint32_t code;
    bool ok;
    memcpy(&code, i->bytes, sizeof code);
    if (w->card->major >= 10)
        ok = format_gfx10(typed ? code >> 19 & 127 : d[3] >> 12 & 127, ret);
    else
        ok = format_gfx9(typed ? code >> 19 & 15 : d[3] >> 15 & 15, typed ? code >> 23 & 7 : d[3] >> 12 & 7, ret);
    for (unsigned k = 0; k < 4; k++)
        select[k] = typed ? (uint8_t)(4 + k) : d[3] >> 3 * k & 7;
    if (!ok)
        sim_illegal(w, i, "a buffer format that is not simulated");
    return ok;
}

/* How channels lie in registers: one each, two 16-bit ones each, or one in the upper half. */
enum layout { WORDS, HALVES, UPPER };

static uint16_t to_16(const struct format *f, uint32_t x)
{
    return format_integer(f) ? (uint16_t)x : format_to_half(x);
}

static void put_channels(const struct sim_wave *w, const struct format *f, uint32_t *to, const uint32_t c[4], unsigned n,
                         enum layout layout)
{
    if (layout == UPPER)
        to[0] = (to[0] & 0xffff) | (uint32_t)to_16(f, c[0]) << 16;
    for (unsigned k = 0; layout == WORDS && k < n; k++)
        to[k * w->lanes] = c[k];
    for (unsigned k = 0; layout == HALVES && k < n; k += 2) {
        uint32_t high = k + 1 < n ? (uint32_t)to_16(f, c[k + 1]) << 16 : n == 1 ? to[0] & 0xffff0000 : 0;
        to[k / 2 * w->lanes] = to_16(f, c[k]) | high;
    }
}

static void get_channels(const struct sim_wave *w, const struct format *f, const uint32_t *from, uint32_t c[4], unsigned n,
                         enum layout layout)
{
    for (unsigned k = 0; k < 4; k++)
        c[k] = 0;
    for (unsigned k = 0; k < n; k++) {
        uint32_t x = layout == WORDS ? from[k * w->lanes]
                                     : from[k / 2 * w->lanes] >> (layout == UPPER || k % 2 ? 16 : 0) & 0xffff;
        bool negative = layout != WORDS && f->number == FORMAT_SINT && x & 0x8000;
        c[k] = layout == WORDS || format_integer(f) ? x | (negative ? 0xffff0000 : 0) : format_from_half((uint16_t)x);
    }
}

static void load_format(struct sim_wave *w, const struct sim_inst *i, bool typed, unsigned n, enum layout layout)
{
    struct place p;
    struct access a;
    struct format f;
    uint8_t select[4];
    uint32_t words[64] = { 0 }, *to = i->lds ? words : memory_registers(w, &i->o[0]);
    unsigned at = i->lds ? 0 : 1;
    if (!prepare(w, i, at, &p) || !read_format(w, i, at + 1, typed, &f, select) || !resolve(w, i, &p, 0, f.bytes, SIM_LOAD, &a))
        return;
    SIM_EACH_LANE(w, l) {
        uint32_t c[4], out[4];
        format_unpack(&f, a.at[l], c);
        for (unsigned k = 0; k < 4; k++)
            out[k] = select[k] >= 4 ? c[select[k] - 4] : select[k] == 1 ? (format_integer(&f) ? 1 : 0x3f800000) : 0;
        if (!(a.live >> l & 1))
            memset(out, 0, sizeof out);
        put_channels(w, &f, to + l, out, n, layout);
    }
    if (i->lds)
        write_lds(w, i, words);
    else
        write_status(w, i, layout == WORDS ? n : (n + 1) / 2);
}

static void store_format(struct sim_wave *w, const struct sim_inst *i, bool typed, unsigned n, enum layout layout)
{
    struct place p;
    struct access a;
    struct format f;
    uint8_t select[4];
    const uint32_t *from = memory_registers(w, &i->o[0]);
    if (!prepare(w, i, 1, &p) || !read_format(w, i, 2, typed, &f, select) || !resolve(w, i, &p, 0, f.bytes, SIM_STORE, &a))
        return;
    for (uint64_t left = a.live; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctzll(left);
        uint32_t c[4];
        get_channels(w, &f, from + l, c, n, layout);
        format_pack(&f, c, a.at[l]);
    }
}

/* Rows: name, channels, layout. */
#define FORMATS(X)                                                                                                      \
    X(x, 1, WORDS) X(xy, 2, WORDS) X(xyz, 3, WORDS) X(xyzw, 4, WORDS)                                                   \
    X(d16_x, 1, HALVES) X(d16_xy, 2, HALVES) X(d16_xyz, 3, HALVES) X(d16_xyzw, 4, HALVES)
#define FORMATS_HIGH(X) X(d16_hi_x, 1, UPPER)
#define MOVE(prefix, typed, name, n, layout)                                                                            \
    static void prefix##_load_format_##name(struct sim_wave *w, const struct sim_inst *i)                               \
    {                                                                                                                   \
        load_format(w, i, typed, n, layout);                                                                            \
    }                                                                                                                   \
    static void prefix##_store_format_##name(struct sim_wave *w, const struct sim_inst *i)                              \
    {                                                                                                                   \
        store_format(w, i, typed, n, layout);                                                                           \
    }
#define X(name, n, layout) MOVE(buffer, false, name, n, layout)
FORMATS(X)
FORMATS_HIGH(X)
#undef X
#define X(name, n, layout) MOVE(tbuffer, true, name, n, layout)
FORMATS(X)
#undef X

/* ---- Atomics and caches ---- */

static void atomic(struct sim_wave *w, const struct sim_inst *i, memory_atomic *op, unsigned bytes, bool pair)
{
    struct place p;
    struct access a;
    uint32_t *data = memory_registers(w, &i->o[0]);
    if (prepare(w, i, 1, &p) && resolve(w, i, &p, 0, bytes, SIM_ATOMIC, &a))
        memory_atomics(w, i, &a, op, data, pair ? data + bytes / 4 * w->lanes : NULL, i->glc ? data : NULL);
}

#define X(name, function, bytes, pair, cards)                                                                           \
    static void buffer_atomic_##name(struct sim_wave *w, const struct sim_inst *i)                                      \
    {                                                                                                                   \
        atomic(w, i, memory_##function, bytes, pair);                                                                   \
    }
MEMORY_ATOMICS(X)
MEMORY_FLOAT_ATOMICS(X)
MEMORY_NOT_FLAT_ATOMICS(X)
#undef X

/* There are no caches. */
static void nothing(struct sim_wave *w, const struct sim_inst *i)
{
}

/* There are no caches; the race detector takes note. */
static void invalidate_unit(struct sim_wave *w, const struct sim_inst *i)
{
    sim_race_invalidate(w, false);
}

/* gfx940: sc1 is a scope wider than the block's. */
static void invalidate_by_scope(struct sim_wave *w, const struct sim_inst *i)
{
    sim_race_invalidate(w, i->dlc);
}

static void invalidate_beyond(struct sim_wave *w, const struct sim_inst *i)
{
    sim_race_invalidate(w, true);
}

static void invalidate_scope(struct sim_wave *w, const struct sim_inst *i)
{
    sim_race_invalidate(w, i->scope >= SIM_SCOPE_DEV);
}

/* ---- Table ---- */

static const struct sim_op ops[] = {
#define X(name, ...) { "buffer_load_" #name, "o=oo*", buffer_load_##name, SIM_VMEM_LOAD, 0 },
    MEMORY_SMALL_LOADS(X)
    MEMORY_WIDE_LOADS(X)
#undef X
#define X(name, ...) { "buffer_store_" #name, "=oooo", buffer_store_##name, SIM_VMEM_STORE, 0 },
    MEMORY_SMALL_STORES(X)
    MEMORY_WIDE_LOADS(X)
#undef X
#define X(name, n, layout)                                                                                              \
    { "buffer_load_format_" #name, "o=oo*", buffer_load_format_##name, SIM_VMEM_LOAD, 0 },                              \
    { "buffer_store_format_" #name, "=oooo", buffer_store_format_##name, SIM_VMEM_STORE, 0 },
    FORMATS(X)
    FORMATS_HIGH(X)
#undef X
#define X(name, n, layout)                                                                                              \
    { "tbuffer_load_format_" #name, "o=ooo", tbuffer_load_format_##name, SIM_VMEM_LOAD, 0 },                            \
    { "tbuffer_store_format_" #name, "=oooo", tbuffer_store_format_##name, SIM_VMEM_STORE, 0 },
    FORMATS(X)
#undef X
#define X(name, function, bytes, pair, cards) { "buffer_atomic_" #name, "=oooo", buffer_atomic_##name, SIM_VMEM_ATOMIC, cards },
    MEMORY_ATOMICS(X)
    MEMORY_FLOAT_ATOMICS(X)
    MEMORY_NOT_FLAT_ATOMICS(X)
#undef X
    { "buffer_gl0_inv", "", invalidate_unit, SIM_WAIT, SIM_GFX10 | SIM_GFX11 },
    { "buffer_gl1_inv", "", invalidate_beyond, SIM_WAIT, SIM_GFX10 | SIM_GFX11 },
    { "global_inv", "", invalidate_scope, SIM_WAIT, SIM_GFX12 },
    { "global_wb", "", nothing, SIM_WAIT, SIM_GFX12 },
    { "global_wbinv", "", invalidate_scope, SIM_WAIT, SIM_GFX12 },
    { "buffer_wbinvl1", "", invalidate_beyond, SIM_WAIT, SIM_GFX9 },
    { "buffer_wbinvl1_vol", "", invalidate_beyond, SIM_WAIT, SIM_GFX9 },
    { "buffer_inv", "", invalidate_by_scope, SIM_WAIT, SIM_GFX9 },
    { "buffer_wbl2", "", nothing, SIM_WAIT, SIM_GFX9 },
    { "buffer_invl2", "", nothing, SIM_WAIT, SIM_GFX9 },
};

const struct sim_table sim_buffer = { ops, sizeof ops / sizeof *ops };
