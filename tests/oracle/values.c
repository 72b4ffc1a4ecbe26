/* Values that operands get: edges of each type, and random ones of several kinds from a seed.  Knows types, not instructions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/harness.h"

#include <math.h>

/* ---- Random numbers: splitmix64 */
uint64_t oracle_random(struct oracle_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

uint64_t oracle_hash(uint64_t seed, const char *text)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

/* ---- Edges.  Integers are cut to the type's width. */
static const uint64_t int_edges[] = {
    0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 0x7f, 0x80, 0x81, 0xff, 0x100, 0x101, 0x7fff, 0x8000, 0x8001, 0xffff,
    0x10000, 0x7fffff, 0x800000, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0x80000001, 0xffff0000, 0xffff8000, 0xffffff7f,
    0xffffff80, 0xfffffffe, 0xffffffff, 0x55555555, 0xaaaaaaaa, 0x01234567, 0x89abcdef, 0x100000000, 0x7fffffffffffffff,
    0x8000000000000000, 0x8000000000000001, 0xffffffff00000000, 0xffffffff80000000, 0xffffffff7fffffff, 0xffffffffffff8000,
    0xffffffffffffff80, 0xfffffffffffffffe, 0xffffffffffffffff, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef,
};
static const uint64_t small_edges[] = { 0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 23, 24, 30, 31, 32, 33, 48, 62, 63, 64, 65, 127, 128,
                                        255, 256,
                                        257, 0x80000000, 0xffffffff, 0x100000020 };
static const uint64_t f32_edges[] = {
    0, 0x80000000, 1, 0x80000001, 0x00400000, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x00800001, /* zeros, denormals */
    0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x40000000, 0x3f000000, 0x3effffff, 0x3fc00000,
    0xbfc00000, 0x40200000, 0x40600000, 0x7f7fffff, 0xff7fffff, 0x7f7ffffe, 0x7f800000, 0xff800000,
    0x7f000000, 0x01000000,                                                 /* ones, halves, the largest */
    0x7fc00000, 0xffc00000, 0x7fffffff, 0x7f800001, 0xff812345, 0x7fc12345, /* NaNs, signalling too */
    0x42fe0000, 0x42ff0000, 0x43000000, 0xc3000000, 0xc3008000, 0x437f0000, 0x437f8000, 0x43800000,
    0x46fffe00, 0x47000000, 0xc7000000, 0x477fff00, 0x47800000, 0x477fe000, 0x477ff000, 0x4affffff,
    0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001,
    0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000, 0x5f7fffff, 0x5f800000, 0x33000000,
    0x33000001, 0x33800000, 0x387fc000, 0x38800000, 0x43e00000, 0x43e80000, 0x40490fdb, 0x3fc90fdb,
    0xc2fc0000, 0xc3160000, 0x43000001, 0x1a000000, 0x5a000000, 0x20000000, 0x3dcccccd,
};
static const uint64_t f64_edges[] = {
    0, 0x8000000000000000, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x8010000000000000, 0x0010000000000001,
    0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff, 0x4000000000000000, 0x3fe0000000000000,
    0x3fdfffffffffffff, 0x3ff8000000000000, 0xbff8000000000000, 0x4004000000000000, 0x400c000000000000, 0x7fefffffffffffff,
    0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000000, 0x7fffffffffffffff,
    0x7ff0000000000001, 0xfff4000000000123, 0x7ff8000012345678, 0x40dfffffffc00000, 0x41dfffffffc00000, 0x41dfffffffe00000,
    0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41efffffffffffff, 0x41f0000000000000,
    0x432fffffffffffff, 0x4330000000000000, 0x4330000000000001, 0x433fffffffffffff, 0x4340000000000000, 0x43dfffffffffffff,
    0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff, 0x43f0000000000000, 0x47efffffe0000000, 0x47efffffefffffff,
    0x47effffff0000000, 0x47f0000000000000, 0x3810000000000000, 0x380fffffffffffff, 0x36a0000000000000, 0x3690000000000000,
    0x3690000000000001, 0x3f10000000000000, 0x40efffc000000000, 0x40effe0000000000, 0x4060000000000000, 0x406fe00000000000,
};
static const uint64_t f16_edges[] = {
    0, 0x8000, 1, 0x8001, 0x0200, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x4000, 0x3800,
    0x37ff, 0x3e00,
    0xbe00, 0x4100, 0x4300, 0x7bff, 0xfbff, 0x7bfe, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff, 0x7c01, 0xfd23, 0x7e12, 0x57f0,
    0x5800, 0xd800,
    0xd808, 0x5bf8, 0x5bfc, 0x5c00, 0x77ff, 0x7800, 0xf800, 0x6400, 0x63ff, 0x6401, 0x67ff, 0x6800, 0x4248, 0x3e48, 0x5f00,
    0x5f40, 0x7ff7,
};
static const uint64_t bf16_edges[] = {
    0, 0x8000, 1, 0x8001, 0x0040, 0x007f, 0x807f, 0x0080, 0x8080, 0x0081, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x4000, 0x3f00,
    0x3eff, 0x3fc0,
    0xbfc0, 0x4020, 0x4060, 0x7f7f, 0xff7f, 0x7f7e, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7fff, 0x7f81, 0xffa3, 0x42fe, 0x4300,
    0xc300, 0xc301,
    0x437f, 0x4380, 0x46ff, 0x4700, 0x477f, 0x4780, 0x4f00, 0xcf00, 0x4f80, 0x5f00, 0x5f80, 0x3300, 0x3880, 0x4049, 0xc2fc,
    0x7ff7,
};

struct edges {
    const uint64_t *at;
    unsigned n;
};
#define EDGES(table) ((struct edges){ table, sizeof(table) / sizeof *(table) })

static struct edges edges_of(enum ptx_type type, bool small)
{
    switch (type) {
    case PTX_F32:
    case PTX_TF32: return EDGES(f32_edges);
    case PTX_F64: return EDGES(f64_edges);
    case PTX_F16: return EDGES(f16_edges);
    case PTX_BF16: return EDGES(bf16_edges);
    default: return small ? EDGES(small_edges) : EDGES(int_edges);
    }
}

/* ---- Types */
unsigned oracle_elements(enum ptx_type type, enum ptx_type *ret_element)
{
    *ret_element = type;
    switch (type) {
    case PTX_F16X2: *ret_element = PTX_F16; return 2;
    case PTX_BF16X2: *ret_element = PTX_BF16; return 2;
    case PTX_F32X2: *ret_element = PTX_F32; return 2;
    case PTX_U16X2: *ret_element = PTX_U16; return 2;
    case PTX_S16X2: *ret_element = PTX_S16; return 2;
    case PTX_B128: *ret_element = PTX_B64; return 2;
    default: return 1;
    }
}

static void float_layout(enum ptx_type element, unsigned *ret_mantissa, unsigned *ret_exponent)
{
    *ret_mantissa = element == PTX_F16 ? 10 : element == PTX_BF16 ? 7 : element == PTX_F64 ? 52 : 23;
    *ret_exponent = element == PTX_F16 ? 5 : element == PTX_F64 ? 11 : 8;
}

static bool is_float(enum ptx_type element)
{
    return element == PTX_F16 || element == PTX_BF16 || element == PTX_F32 || element == PTX_F64 || element == PTX_TF32;
}

bool oracle_is_nan(enum ptx_type element, uint64_t bits)
{
    unsigned m, e;
    if (!is_float(element))
        return false;
    float_layout(element, &m, &e);
    return (bits >> m & ((1u << e) - 1)) == (1u << e) - 1 && (bits & ((1ull << m) - 1));
}

bool oracle_to_double(enum ptx_type element, uint64_t bits, double *ret)
{
    unsigned m, e;
    if (!is_float(element))
        return false;
    float_layout(element, &m, &e);
    int exponent = (int)(bits >> m & ((1u << e) - 1)), bias = (1 << (e - 1)) - 1, top = (1 << e) - 1;
    double fraction = (double)(bits & ((1ull << m) - 1)), value;
    if (exponent == top)
        value = fraction != 0 ? NAN : INFINITY;
    else
        value = ldexp(exponent ? fraction + ldexp(1, (int)m) : fraction, (exponent ? exponent : 1) - bias - (int)m);
    *ret = bits >> (m + e) & 1 ? -value : value;
    return true;
}

/* ---- One element */
enum how { EDGE, UNIFORM, FEW_BITS, MODERATE };

static uint64_t cut(enum ptx_type element, uint64_t bits)
{
    unsigned width = ptx_type_bits(element);
    return width < 64 ? bits & ((1ull << width) - 1) : bits;
}

/* A float near one, where sums cancel and products do not overflow; an integer of few digits, of either sign. */
static uint64_t moderate(struct oracle_rng *rng, enum ptx_type element)
{
    uint64_t r = oracle_random(rng);
    unsigned m, e;
    if (!is_float(element))
        return cut(element, (uint64_t)((int64_t)r >> (1 + oracle_below(rng, 63))));
    float_layout(element, &m, &e);
    uint64_t bias = (1ull << (e - 1)) - 1, exponent = bias - 6 + oracle_below(rng, 13), fraction = r & ((1ull << m) - 1);
    if (oracle_below(rng, 4) == 0) /* few digits: halfway cases */
        fraction = fraction >> (m - 3) << (m - 3);
    return (r >> 63) << (m + e) | exponent << m | fraction;
}

static uint64_t element_value(struct oracle_rng *rng, enum ptx_type element, bool small, enum how how)
{
    struct edges edges = edges_of(element, small);
    uint64_t r;

    if (small && how != EDGE && oracle_below(rng, 4))
        return cut(element, oracle_below(rng, 70));
    switch (how) {
    case EDGE: return cut(element, edges.at[oracle_below(rng, edges.n)]);
    case UNIFORM: return cut(element, oracle_random(rng));
    case FEW_BITS:
        r = oracle_random(rng) & oracle_random(rng) & oracle_random(rng);
        return cut(element, oracle_below(rng, 2) ? ~r : r);
    case MODERATE: return moderate(rng, element);
    }
    return 0;
}

/* ---- A vector of operands */
static void one_value(struct oracle_rng *rng, const struct oracle_value_spec *spec, enum how how, uint64_t bits[2])
{
    enum ptx_type element;
    unsigned n = oracle_elements(spec->type, &element), width = ptx_type_bits(element);

    bits[0] = bits[1] = 0;
    if (spec->pred) {
        bits[0] = oracle_random(rng) & 1;
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t v = element_value(rng, element, spec->small, how);
        bits[i * width / 64] |= v << i * width % 64;
    }
}

void oracle_values(struct oracle_rng *rng, const struct oracle_value_spec *specs, unsigned n, unsigned index, uint64_t bits[][2])
{
    static const enum how kinds[] = { EDGE, EDGE, UNIFORM, FEW_BITS, MODERATE, MODERATE };
    unsigned kind = oracle_below(rng, 8);

    for (unsigned i = 0; i < n; i++) /* 6: each operand as it comes; 7: alike */
        one_value(rng, &specs[i], kinds[kind < 6 ? kind : oracle_below(rng, 6)], bits[i]);
    if (n == 1 || (n > 1 && specs[1].pred)) { /* one operand: all of its edges, in turn */
        enum ptx_type element;
        unsigned parts = oracle_elements(specs[0].type, &element);
        struct edges edges = edges_of(element, specs[0].small);
        if (!specs[0].pred && parts == 1 && index < edges.n)
            bits[0][0] = cut(element, edges.at[index]);
    }
    for (unsigned i = 1; kind == 7 && i < n; i++)
        if (!specs[i].small && !specs[i].pred && specs[i].type == specs[0].type) {
            int64_t off = (int64_t)oracle_below(rng, 3) - 1;
            enum ptx_type element;
            oracle_elements(specs[i].type, &element);
            bits[i][0] = specs[i].type == element ? cut(element, bits[0][0] + (uint64_t)off) : bits[0][0];
            bits[i][1] = bits[0][1];
            if (is_float(element) && oracle_below(rng, 2)) /* the other sign: sums cancel */
                bits[i][0] ^= 1ull << (ptx_type_bits(element) - 1);
        }
}
