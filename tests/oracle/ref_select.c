/* References: comparisons of integers and bits, and selection (PTX ISA 9.7.6). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle/oracle.h"

#define REF(name) void oracle_ref_##name(const struct ptx_instr *in, struct oracle_lane *l)

static uint64_t cut(uint64_t v, unsigned bits)
{
    return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

/* -1, 0 or 1: a against b, signed if the type is. */
static int order(enum ptx_type type, uint64_t a, uint64_t b)
{
    unsigned bits = ptx_type_bits(type);
    a = cut(a, bits);
    b = cut(b, bits);
    if (ptx_type_class(type) == 'S') {
        a ^= 1ull << (bits - 1);
        b ^= 1ull << (bits - 1);
    }
    return a < b ? -1 : a > b;
}

static bool holds(const struct ptx_instr *in, enum ptx_type type, const struct oracle_lane *l)
{
    int o = order(type, l->src[0].u64[0], l->src[1].u64[0]);
    if (ptx_has(in, PTX_MOD_EQ))
        return o == 0;
    if (ptx_has(in, PTX_MOD_NE))
        return o != 0;
    if (ptx_has(in, PTX_MOD_LT) || ptx_has(in, PTX_MOD_LO))
        return o < 0;
    if (ptx_has(in, PTX_MOD_LE) || ptx_has(in, PTX_MOD_LS))
        return o <= 0;
    if (ptx_has(in, PTX_MOD_GT) || ptx_has(in, PTX_MOD_HI))
        return o > 0;
    return o >= 0; /* .ge, .hs */
}

static bool combined(const struct ptx_instr *in, const struct oracle_lane *l, bool t)
{
    bool c = l->src[2].u8[0] & 1;
    return ptx_has(in, PTX_MOD_AND) ? t && c : ptx_has(in, PTX_MOD_OR) ? t || c : ptx_has(in, PTX_MOD_XOR) ? t != c : t;
}

/* p = (a cmp b) op c, q = !(a cmp b) op c.  .lo .ls .hi .hs are for unsigned types. */
REF(setp)
{
    bool t = holds(in, in->types[0], l);
    l->dst[0].u8[0] = combined(in, l, t);
    l->dst[1].u8[0] = combined(in, l, !t);
}

REF(set)
{
    bool t = combined(in, l, holds(in, in->types[1], l));
    enum ptx_type to = in->types[0];
    uint32_t yes = to == PTX_F32 ? 0x3f800000 : to == PTX_F16 ? 0x3c00 : to == PTX_BF16 ? 0x3f80 : UINT32_MAX;
    l->dst[0].u32[0] = t ? yes : 0;
}

REF(selp)
{
    l->dst[0].u64[0] = cut(l->src[l->src[2].u8[0] & 1 ? 0 : 1].u64[0], ptx_type_bits(in->types[0]));
}

/* c >= 0: -0 is, NaN is not; with .ftz a subnormal c is a zero of its sign. */
REF(slct)
{
    bool first;
    if (in->types[1] == PTX_F32) {
        uint32_t c = l->src[2].u32[0], magnitude = c & 0x7fffffff;
        if (ptx_has(in, PTX_MOD_FTZ) && magnitude < 0x00800000)
            magnitude = 0;
        first = magnitude <= 0x7f800000 && (!(c >> 31) || magnitude == 0);
    } else {
        first = l->src[2].s32[0] >= 0;
    }
    l->dst[0].u64[0] = cut(l->src[first ? 0 : 1].u64[0], ptx_type_bits(in->types[0]));
}
