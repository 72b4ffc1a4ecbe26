/* Rows of image instructions of gfx10, in so far as linear images need them.
 *
 * Modelled: descriptors of eight registers with linear layout (swizzle mode 0), rows of whole 256-byte units (or the descriptor's
 * own pitch, which a 2D image of gfx10.3 may have), slices of whole rows; 1D, 2D, 3D and arrays; all formats of format.c; channel
 * selection, dmask, d16; samplers' address modes, border colours of the three fixed kinds, point and linear filters with weights
 * of eight bits; the base level only.  Not: tiling, mipmaps, cubes, samples, depth comparison, offsets, derivatives, 16-bit
 * addresses, tfe.  Those stop the wave, or have no row. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "format.h"
#include "memory.h"

enum { DIM_1D, DIM_2D, DIM_3D, DIM_CUBE, DIM_1D_ARRAY, DIM_2D_ARRAY };
enum { TYPE_1D = 8, TYPE_2D, TYPE_3D, TYPE_CUBE, TYPE_1D_ARRAY, TYPE_2D_ARRAY };

struct image {
    uint64_t base;
    int32_t size[3];         /* width, height, depth or slices */
    uint32_t pitch;          /* texels */
    unsigned first_slice;
    struct format format;
    uint8_t select[4];
    unsigned n;              /* coordinates, with the slice */
    bool array;              /* the last one is the slice */
    const uint32_t *v[8];    /* registers of addresses */
    unsigned n_v;
    const uint32_t *sampler; /* NULL: none */
};

/* ---- Descriptors ---- */

static bool refuse(struct sim_wave *w, const struct sim_inst *i, const char *why)
{
    sim_illegal(w, i, why);
    return false;
}

static bool read_image(struct sim_wave *w, const struct sim_inst *i, const uint32_t *d, struct image *m)
{
    unsigned type = d[3] >> 28;
    m->base = (d[0] | (uint64_t)(d[1] & 0xff) << 32) << 8;
    m->size[0] = (int32_t)((d[1] >> 30 | (d[2] & 0x3fff) << 2) & 0xffff) + 1;
    m->size[1] = type == TYPE_1D || type == TYPE_1D_ARRAY ? 1 : (int32_t)(d[2] >> 14 & 0xffff) + 1;
    m->first_slice = d[4] >> 16 & 0x1fff;
    m->size[2] = type == TYPE_1D || type == TYPE_2D ? 1 : (int32_t)(d[4] & 0x1fff) + 1;
    for (unsigned k = 0; k < 4; k++)
        m->select[k] = d[3] >> 3 * k & 7;
    if (type < TYPE_1D || type > TYPE_2D_ARRAY || type == TYPE_CUBE)
        return refuse(w, i, "an image of a kind that is not simulated");
    if ((d[3] >> 20 & 31) || (d[3] >> 12 & 15) != (d[3] >> 16 & 15))
        return refuse(w, i, "an image with tiles or mipmaps");
    if (!format_gfx10(d[1] >> 20 & 0x1ff, &m->format))
        return refuse(w, i, "an image format that is not simulated");
    if (256 % m->format.bytes)
        return refuse(w, i, "an image of texels of 12 bytes");
    uint32_t unit = 256 / m->format.bytes;
    m->pitch = ((uint32_t)m->size[0] + unit - 1) / unit * unit;
    if (type == TYPE_2D && d[4] & 0x1fff)
        m->pitch = (d[4] & 0x1fff) + 1;
    return true;
}

/* Operands: data, addresses (one or several), descriptor[, sampler]. */
static bool prepare(struct sim_wave *w, const struct sim_inst *i, bool sampled, unsigned extra, struct image *m)
{
    static const uint8_t coordinates[] = { [DIM_1D] = 1, [DIM_2D] = 2, [DIM_3D] = 3, [DIM_1D_ARRAY] = 2, [DIM_2D_ARRAY] = 3 };
    unsigned at = 1;
    *m = (struct image){ .n = i->dim < sizeof coordinates ? coordinates[i->dim] : 0,
                         .array = i->dim == DIM_1D_ARRAY || i->dim == DIM_2D_ARRAY };
    if (i->a16 || i->tfe || i->lwe || i->r128 || !m->n)
        return refuse(w, i, "an image instruction with a16, tfe, lwe, r128, or of a kind that is not simulated");
    for (; at < i->n && i->o[at].kind == SIM_VGPR; at++)
        for (unsigned k = 0; k < i->o[at].dwords && m->n_v < 8; k++)
            m->v[m->n_v++] = memory_registers(w, &i->o[at]) + k * w->lanes;
    if (m->n_v < m->n + extra || i->n != at + 1 + sampled || i->o[at].kind != SIM_SGPR || i->o[at].reg + 8 > SIM_SGPRS)
        return refuse(w, i, "an image instruction with other operands than it needs");
    if (sampled) {
        if (i->o[at + 1].kind != SIM_SGPR || i->o[at + 1].reg + 4 > SIM_SGPRS)
            return refuse(w, i, "an image instruction without a sampler");
        m->sampler = w->s + i->o[at + 1].reg;
    }
    return read_image(w, i, w->s + i->o[at].reg, m);
}

/* ---- Texels ---- */

/* Coordinates of a lane's texel. */
struct texel {
    int32_t at[3];
};

/* Where the lanes' texels are; those outside are not live. */
static bool resolve(struct sim_wave *w, const struct sim_inst *i, const struct image *m, const struct texel *t,
                    enum sim_access kind, struct access *a)
{
    a->exec = sim_exec(w);
    a->live = 0;
    a->size = m->format.bytes;
    a->kind = kind;
    SIM_EACH_LANE(w, l) {
        const int32_t *at = t[l].at;
        bool inside = true;
        for (unsigned k = 0; k < 3; k++)
            inside = inside && at[k] >= 0 && at[k] < m->size[k];
        uint64_t row = (uint64_t)(at[2] + (int32_t)m->first_slice) * (uint64_t)m->size[1] + (uint64_t)at[1];
        a->address[l] = m->base + (row * m->pitch + (uint64_t)at[0]) * m->format.bytes;
        a->live |= (uint64_t)inside << l;
    }
    return memory_resolve(w, i, a, false);
}

/* Integer coordinates, as loads, stores and atomics have them. */
static void read_texels(const struct sim_wave *w, const struct image *m, struct texel *t)
{
    for (unsigned l = 0; l < w->lanes; l++) {
        t[l] = (struct texel){ { 0 } };
        for (unsigned k = 0; k < m->n; k++)
            t[l].at[m->array && k == m->n - 1 ? 2 : k] = (int32_t)m->v[k][l];
    }
}

/* The channels that dmask names, of one lane, to registers. */
static void write_channels(struct sim_wave *w, const struct sim_inst *i, const struct image *m, unsigned lane,
                           const uint32_t c[4])
{
    uint32_t *to = memory_registers(w, &i->o[0]) + lane;
    unsigned n = 0;
    for (unsigned k = 0; k < 4; k++) {
        if (!(i->dmask >> k & 1))
            continue;
        if (!i->d16) {
            to[n++ * w->lanes] = c[k];
            continue;
        }
        uint32_t half = format_integer(&m->format) ? c[k] & 0xffff : format_to_half(c[k]), *at = to + n / 2 * w->lanes;
        *at = n++ % 2 ? (*at & 0xffff) | half << 16 : half;
    }
}

static void read_channels(const struct sim_wave *w, const struct sim_inst *i, const struct image *m, unsigned lane, uint32_t c[4])
{
    const uint32_t *from = memory_registers(w, &i->o[0]) + lane;
    unsigned n = 0;
    for (unsigned k = 0; k < 4; k++) {
        c[k] = 0;
        if (!(i->dmask >> k & 1))
            continue;
        uint32_t x = i->d16 ? from[n / 2 * w->lanes] >> 16 * (n % 2) & 0xffff : from[n * w->lanes];
        bool negative = i->d16 && m->format.number == FORMAT_SINT && x & 0x8000;
        c[k] = i->d16 && !format_integer(&m->format) ? format_from_half((uint16_t)x) : x | (negative ? 0xffff0000 : 0);
        n++;
    }
}

/* By the descriptor's selection of channels. */
static void select_channels(const struct image *m, const uint32_t from[4], uint32_t to[4])
{
    for (unsigned k = 0; k < 4; k++)
        to[k] = m->select[k] >= 4   ? from[m->select[k] - 4]
                : m->select[k] == 1 ? (format_integer(&m->format) ? 1 : 0x3f800000)
                                    : 0;
}

static bool has_registers(struct sim_wave *w, const struct sim_inst *i)
{
    unsigned n = (unsigned)__builtin_popcount(i->dmask);
    n = i->d16 ? (n + 1) / 2 : n;
    return (n && i->o[0].kind == SIM_VGPR && i->o[0].dwords >= n) ||
           refuse(w, i, "an image instruction with fewer data registers than dmask says");
}

/* ---- Loads, stores, atomics ---- */

/* Those with a level of detail have the base level only. */
static bool at_base_level(struct sim_wave *w, const struct sim_inst *i, const uint32_t *level)
{
    SIM_EACH_LANE(w, l)
        if (level[l])
            return refuse(w, i, "a mipmap level");
    return true;
}

static void load(struct sim_wave *w, const struct sim_inst *i, bool mip)
{
    struct image m;
    struct access a;
    struct texel t[64];
    if (!prepare(w, i, false, mip, &m) || !has_registers(w, i) || (mip && !at_base_level(w, i, m.v[m.n])))
        return;
    read_texels(w, &m, t);
    if (!resolve(w, i, &m, t, SIM_LOAD, &a))
        return;
    SIM_EACH_LANE(w, l) {
        uint32_t c[4] = { 0 }, selected[4] = { 0 };
        if (a.live >> l & 1) {
            format_unpack(&m.format, a.at[l], c);
            select_channels(&m, c, selected);
        }
        write_channels(w, i, &m, (unsigned)l, selected);
    }
}

static void store(struct sim_wave *w, const struct sim_inst *i, bool mip)
{
    struct image m;
    struct access a;
    struct texel t[64];
    if (!prepare(w, i, false, mip, &m) || !has_registers(w, i) || (mip && !at_base_level(w, i, m.v[m.n])))
        return;
    read_texels(w, &m, t);
    if (!resolve(w, i, &m, t, SIM_STORE, &a))
        return;
    for (uint64_t left = a.live; left; left &= left - 1) {
        unsigned l = (unsigned)__builtin_ctzll(left);
        uint32_t c[4];
        read_channels(w, i, &m, l, c);
        format_pack(&m.format, c, a.at[l]);
    }
}

static void image_load(struct sim_wave *w, const struct sim_inst *i)
{
    load(w, i, false);
}

static void image_load_mip(struct sim_wave *w, const struct sim_inst *i)
{
    load(w, i, true);
}

static void image_store(struct sim_wave *w, const struct sim_inst *i)
{
    store(w, i, false);
}

static void image_store_mip(struct sim_wave *w, const struct sim_inst *i)
{
    store(w, i, true);
}

/* On images of one channel of 32 bits. */
static void atomic(struct sim_wave *w, const struct sim_inst *i, memory_atomic *op, bool pair)
{
    struct image m;
    struct access a;
    struct texel t[64];
    if (!prepare(w, i, false, 0, &m))
        return;
    if (m.format.bytes != 4 || m.format.n != 1 || i->o[0].dwords != (pair ? 2 : 1)) {
        sim_illegal(w, i, "an image atomic on texels that are not single words");
        return;
    }
    uint32_t *data = memory_registers(w, &i->o[0]);
    read_texels(w, &m, t);
    if (resolve(w, i, &m, t, SIM_ATOMIC, &a))
        memory_atomics(w, i, &a, op, data, pair ? data + w->lanes : NULL, i->glc ? data : NULL);
}

#define ATOMICS(X)                                                                                                      \
    X(swap, false) X(cmpswap, true) X(add, false) X(sub, false) X(smin, false) X(umin, false) X(smax, false) X(umax, false) \
    X(and, false) X(or, false) X(xor, false) X(inc, false) X(dec, false)
#define X(name, pair)                                                                                                   \
    static void image_atomic_##name(struct sim_wave *w, const struct sim_inst *i)                                       \
    {                                                                                                                   \
        atomic(w, i, memory_##name##_32, pair);                                                                         \
    }
ATOMICS(X)
#undef X

/* Width, height, depth or slices, levels; the level that is asked for is the only one. */
static void image_get_resinfo(struct sim_wave *w, const struct sim_inst *i)
{
    struct sim_inst plain = *i;
    struct image m;
    plain.dim = DIM_1D; /* there is one address, the level */
    if (!prepare(w, &plain, false, 0, &m) || !has_registers(w, i) || !at_base_level(w, i, m.v[0]))
        return;
    m.format.number = FORMAT_UINT;
    SIM_EACH_LANE(w, l) {
        uint32_t size[4] = { (uint32_t)m.size[0], (uint32_t)m.size[1], (uint32_t)m.size[2], 1 };
        if (i->dim == DIM_1D_ARRAY)
            size[1] = size[2];
        write_channels(w, i, &m, (unsigned)l, size);
    }
}

/* ---- Samples ---- */

/* A coordinate by the sampler's address mode; -1: the border. */
static int32_t clamp_texel(int32_t x, int32_t size, unsigned mode)
{
    int64_t period = 2 * (int64_t)size, y = x;
    if (mode == 0)
        return (int32_t)(((y % size) + size) % size);
    if (mode == 1) {
        y = ((y % period) + period) % period;
        return (int32_t)(y < size ? y : period - 1 - y);
    }
    if (mode == 3 || mode == 7) /* mirrored once */
        y = y < 0 ? -1 - y : y;
    if (mode == 2 || mode == 3)
        return (int32_t)(y < 0 ? 0 : y >= size ? size - 1 : y);
    return y < 0 || y >= size ? -1 : (int32_t)y;
}

static float as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The coordinates of one lane in texels, and what of them lies between two texels, in 256ths.  NaN is zero. */
struct point {
    int32_t at[3];
    uint8_t between[3];
};

static struct point find_point(const struct image *m, const struct sim_inst *i, unsigned lane, bool linear, bool normalized)
{
    struct point p = { { 0 }, { 0 } };
    for (unsigned k = 0; k < m->n; k++) {
        double x = as_float(m->v[k][lane]);
        x = x == x ? x : 0;
        if (m->array && k == m->n - 1) {
            double last = m->size[2] - 1;
            x = rint(x);
            p.at[2] = (int32_t)(x < 0 ? 0 : x > last ? last : x);
            continue;
        }
        x = normalized ? x * m->size[k] : x;
        /* Texels so far out are all the same to every mode but repetition, which has no meaning there. */
        x = x < -0x1p24 ? -0x1p24 : x > 0x1p24 ? 0x1p24 : x;
        double fixed = floor((linear ? x - 0.5 : x) * 256 + (linear ? 0.5 : 0));
        p.at[k] = (int32_t)floor(fixed / 256);
        p.between[k] = linear ? (uint8_t)(fixed - 256.0 * p.at[k]) : 0;
    }
    return p;
}

enum lod { IMPLICIT, GIVEN, ZERO };

struct sampling {
    struct image m;
    struct point p[64];
    bool linear;
    unsigned mode[3];
    unsigned dims;          /* that are filtered */
    uint32_t border[4];
};

static bool prepare_samples(struct sim_wave *w, const struct sim_inst *i, enum lod lod, bool gather, struct sampling *s)
{
    if (!prepare(w, i, true, lod == GIVEN, &s->m) || !has_registers(w, i))
        return false;
    const uint32_t *d = s->m.sampler;
    /* The level of detail chooses between the filters for magnifying and minifying; only when it is given it is known. */
    bool differ = (d[2] >> 20 & 3) != (d[2] >> 22 & 3);
    if (differ && lod == IMPLICIT)
        return refuse(w, i, "a level of detail by derivatives where filters differ");
    if (lod == GIVEN)
        SIM_EACH_LANE(w, l)
            if (differ && as_float(s->m.v[s->m.n][l]) > 0)
                return refuse(w, i, "a level of detail where filters differ");
    if ((d[0] >> 12 & 7) != 0 || d[2] >> 22 & 2 || d[2] >> 20 & 2)
        return refuse(w, i, "a sampler with depth comparison or anisotropic filter");
    unsigned border = d[3] >> 30;
    for (unsigned k = 0; k < 3; k++)
        s->mode[k] = d[0] >> 3 * k & 7;
    for (unsigned k = 0; k < 4; k++)
        s->border[k] = border == 2 || (border == 1 && k == 3) ? (format_integer(&s->m.format) ? 1 : 0x3f800000) : 0;
    if (border == 3)
        return refuse(w, i, "a border colour from a table");
    s->linear = gather || (d[2] >> 20 & 1);
    if (format_integer(&s->m.format) && s->linear && !gather)
        return refuse(w, i, "linear filter of integers");
    s->dims = s->m.n - s->m.array;
    bool normalized = !(i->unorm || d[0] >> 15 & 1);
    SIM_EACH_LANE(w, l)
        s->p[l] = find_point(&s->m, i, (unsigned)l, s->linear, normalized);
    return true;
}

/* The texel of each lane that is `step` (a bit per coordinate) further; its channels.  False after a fault. */
static bool fetch(struct sim_wave *w, const struct sim_inst *i, const struct sampling *s, unsigned step, uint32_t channels[64][4])
{
    struct texel t[64] = { { { 0 } } };
    struct access a;
    SIM_EACH_LANE(w, l) {
        for (unsigned k = 0; k < s->dims; k++)
            t[l].at[k] = clamp_texel(s->p[l].at[k] + (int32_t)(step >> k & 1), s->m.size[k], s->mode[k]);
        if (s->m.array)
            t[l].at[2] = s->p[l].at[2];
    }
    if (!resolve(w, i, &s->m, t, SIM_LOAD, &a))
        return false;
    SIM_EACH_LANE(w, l) {
        uint32_t c[4];
        if (a.live >> l & 1)
            format_unpack(&s->m.format, a.at[l], c);
        else
            memcpy(c, s->border, sizeof c);
        select_channels(&s->m, c, channels[l]);
    }
    return true;
}

static void sample_linear(struct sim_wave *w, const struct sim_inst *i, const struct sampling *s)
{
    double sum[64][4] = { { 0 } };
    uint32_t channels[64][4];
    for (unsigned step = 0; step < 1u << s->dims; step++) {
        if (!fetch(w, i, s, step, channels))
            return;
        SIM_EACH_LANE(w, l) {
            double weight = 1;
            for (unsigned k = 0; k < s->dims; k++)
                weight *= (step >> k & 1 ? s->p[l].between[k] : 256 - s->p[l].between[k]) / 256.0;
            for (unsigned k = 0; k < 4 && weight; k++)
                sum[l][k] += weight * as_float(channels[l][k]);
        }
    }
    SIM_EACH_LANE(w, l) {
        for (unsigned k = 0; k < 4; k++) {
            float x = (float)sum[l][k];
            memcpy(&channels[l][k], &x, sizeof x);
        }
        write_channels(w, i, &s->m, (unsigned)l, channels[l]);
    }
}

static void sample(struct sim_wave *w, const struct sim_inst *i, enum lod lod)
{
    struct sampling s;
    uint32_t channels[64][4];
    if (!sim_exec(w) || !prepare_samples(w, i, lod, false, &s))
        return;
    if (s.linear)
        sample_linear(w, i, &s);
    else if (fetch(w, i, &s, 0, channels))
        SIM_EACH_LANE(w, l)
            write_channels(w, i, &s.m, (unsigned)l, channels[l]);
}

/* One channel (dmask's) of the four texels that a linear filter would take: lower left, lower right, upper right, upper left. */
static void image_gather4(struct sim_wave *w, const struct sim_inst *i)
{
    static const uint8_t steps[4] = { 2, 3, 1, 0 };
    struct sampling s;
    struct sim_inst all = *i;
    uint32_t channels[64][4], result[64][4];
    all.dmask = 15;
    if (!sim_exec(w) || !prepare_samples(w, &all, ZERO, true, &s))
        return;
    if (s.dims != 2 || __builtin_popcount(i->dmask) != 1) {
        sim_illegal(w, i, "a gather of other than one channel in two dimensions");
        return;
    }
    for (unsigned k = 0; k < 4; k++) {
        if (!fetch(w, &all, &s, steps[k], channels))
            return;
        SIM_EACH_LANE(w, l)
            result[l][k] = channels[l][__builtin_ctz(i->dmask)];
    }
    SIM_EACH_LANE(w, l)
        write_channels(w, &all, &s.m, (unsigned)l, result[l]);
}

/* Images have one level here, so derivatives and levels choose between equal filters only. */
static void image_sample(struct sim_wave *w, const struct sim_inst *i)
{
    sample(w, i, IMPLICIT);
}

static void image_sample_l(struct sim_wave *w, const struct sim_inst *i)
{
    sample(w, i, GIVEN);
}

static void image_sample_lz(struct sim_wave *w, const struct sim_inst *i)
{
    sample(w, i, ZERO);
}

/* ---- Table ---- */

static const struct sim_op ops[] = {
    { "image_load", "o=o*", image_load, SIM_IMAGE, SIM_GFX10 },
    { "image_load_mip", "o=o*", image_load_mip, SIM_IMAGE, SIM_GFX10 },
    { "image_store", "=oo*", image_store, SIM_IMAGE, SIM_GFX10 },
    { "image_store_mip", "=oo*", image_store_mip, SIM_IMAGE, SIM_GFX10 },
    { "image_get_resinfo", "o=o*", image_get_resinfo, SIM_IMAGE, SIM_GFX10 },
#define X(name, pair) { "image_atomic_" #name, "=oo*", image_atomic_##name, SIM_IMAGE, SIM_GFX10 },
    ATOMICS(X)
#undef X
    { "image_sample", "o=o*", image_sample, SIM_IMAGE, SIM_GFX10 },
    { "image_sample_l", "o=o*", image_sample_l, SIM_IMAGE, SIM_GFX10 },
    { "image_sample_lz", "o=o*", image_sample_lz, SIM_IMAGE, SIM_GFX10 },
    { "image_gather4", "o=o*", image_gather4, SIM_IMAGE, SIM_GFX10 },
    { "image_gather4_lz", "o=o*", image_gather4, SIM_IMAGE, SIM_GFX10 },
};

const struct sim_table sim_image = { ops, sizeof ops / sizeof *ops };
