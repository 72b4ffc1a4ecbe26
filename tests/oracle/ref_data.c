/* References of the video instructions, of 16-bit pairs of integers, and of other rows that only move or pick apart data.
 *
 * Written from the manual's pseudo-code in wide integers, one step after the other; nothing here is shared with the lowering. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "oracle.h"

#include <string.h>

typedef __int128 wide;

void oracle_ref_video(const struct ptx_instr *in, struct oracle_lane *lane);
void oracle_ref_vmad(const struct ptx_instr *in, struct oracle_lane *lane);
void oracle_ref_packed(const struct ptx_instr *in, struct oracle_lane *lane);
void oracle_ref_clmad(const struct ptx_instr *in, struct oracle_lane *lane);
void oracle_ref_video_simd(const struct ptx_instr *in, struct oracle_lane *lane);

/* ---- Pieces of the pseudo-code */
static bool has_word(const struct ptx_instr *in, const char *word)
{
    for (uint32_t i = 0; i < in->n_mods; i++)
        if (in->mods[i].len == strlen(word) && memcmp(in->mods[i].ptr, word, in->mods[i].len) == 0)
            return true;
    return false;
}

static bool is_named(const struct ptx_instr *in, const char *name)
{
    return in->mnemonic.len == strlen(name) && memcmp(in->mnemonic.ptr, name, in->mnemonic.len) == 0;
}

static wide byte_of(uint32_t v, unsigned i, bool is_signed)
{
    uint8_t byte = (uint8_t)(v >> (8 * i));
    return is_signed ? (wide)(int8_t)byte : (wide)byte;
}

static wide half_of(uint32_t v, unsigned i, bool is_signed)
{
    uint16_t half = (uint16_t)(v >> (16 * i));
    return is_signed ? (wide)(int16_t)half : (wide)half;
}

/* partSelectSignExtend */
static wide part(uint32_t v, struct aw_str selector, bool is_signed)
{
    if (!selector.len)
        return is_signed ? (wide)(int32_t)v : (wide)v;
    unsigned i = (unsigned)(selector.ptr[1] - '0');
    return selector.ptr[0] == 'b' ? byte_of(v, i, is_signed) : half_of(v, i, is_signed);
}

static wide limit(wide v, unsigned bits, bool is_signed)
{
    wide one = 1, low = is_signed ? -(one << (bits - 1)) : 0, high = is_signed ? (one << (bits - 1)) - 1 : (one << bits) - 1;
    return v < low ? low : v > high ? high : v;
}

static wide compared(const struct ptx_instr *in, wide a, wide b)
{
    return has_word(in, ".eq") ? a == b : has_word(in, ".ne") ? a != b : has_word(in, ".lt") ? a < b
           : has_word(in, ".le") ? a <= b : has_word(in, ".gt") ? a > b : a >= b;
}

static wide primary(const struct ptx_instr *in, char kind, wide a, wide b)
{
    switch (kind) {
    case '+': return a + b;
    case '-': return a - b;
    case '|': return a < b ? b - a : a - b;
    case '<': return a < b ? a : b;
    case '>': return a > b ? a : b;
    case '?': return compared(in, a, b);
    case '~': return a + b >= 0 ? (a + b + 1) >> 1 : (a + b) >> 1;
    }
    b = has_word(in, ".wrap") ? b & 31 : b > 32 ? 32 : b;
    return kind == 'l' ? a * ((wide)1 << b) : a >> b;
}

static char kind_of(const struct ptx_instr *in)
{
    static const struct {
        const char *name;
        char kind;
    } table[] = {
        { "vadd", '+' }, { "vsub", '-' },  { "vabsdiff", '|' }, { "vmin", '<' }, { "vmax", '>' },
        { "vset", '?' }, { "vavrg", '~' }, { "vshl", 'l' },     { "vshr", 'r' },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].name);
        bool simd = in->mnemonic.len == n + 1 && (in->mnemonic.ptr[n] == '2' || in->mnemonic.ptr[n] == '4');
        if ((in->mnemonic.len == n || simd) && memcmp(in->mnemonic.ptr, table[i].name, n) == 0)
            return table[i].kind;
    }
    return 0;
}

static bool is_signed_type(const struct ptx_instr *in, unsigned i)
{
    return in->types[i] == PTX_S32;
}

/* ---- Scalar: optSaturate, optSecondaryOp, optMerge */
static uint32_t second(const struct ptx_instr *in, wide t, uint32_t c, bool is_signed, bool *ret_open)
{
    wide third = is_signed ? (wide)(int32_t)c : (wide)c;
    if (has_word(in, ".add"))
        return (uint32_t)(t + third);
    /* An intermediate result beyond 32 bits has no agreed order against c. */
    *ret_open = t != limit(t, 32, is_signed);
    return (uint32_t)(has_word(in, ".min") == (t < third) ? t : third);
}

void oracle_ref_video(const struct ptx_instr *in, struct oracle_lane *lane)
{
    bool set = is_named(in, "vset"), is_signed = !set && is_signed_type(in, 0);
    unsigned first = set ? 0 : 1;
    struct aw_str to = in->ops[0].suffix;
    wide a = part(lane->src[0].u32[0], in->ops[1].suffix, is_signed_type(in, first));
    wide b = part(lane->src[1].u32[0], in->ops[2].suffix, is_signed_type(in, first + 1));
    wide t = primary(in, kind_of(in), a, b);
    if (has_word(in, ".sat"))
        t = limit(t, !to.len ? 32 : to.ptr[0] == 'b' ? 8 : 16, is_signed);
    uint32_t c = in->n_ops > 3 ? lane->src[2].u32[0] : 0, r = (uint32_t)t;
    if (has_word(in, ".add") || has_word(in, ".min") || has_word(in, ".max")) {
        r = second(in, t, c, is_signed, &lane->undefined);
    } else if (to.len) {
        unsigned bits = to.ptr[0] == 'b' ? 8 : 16, at = bits * (unsigned)(to.ptr[1] - '0');
        uint32_t mask = ((1u << bits) - 1) << at;
        r = ((r << at) & mask) | (c & ~mask);
    }
    lane->dst[0].u32[0] = r;
}

void oracle_ref_vmad(const struct ptx_instr *in, struct oracle_lane *lane)
{
    bool sa = is_signed_type(in, 1), sb = is_signed_type(in, 2), minus = in->ops[1].negate != in->ops[2].negate;
    bool is_signed = sa || sb || minus || in->ops[3].negate;
    uint32_t c = lane->src[2].u32[0];
    wide t = part(lane->src[0].u32[0], in->ops[1].suffix, sa) * part(lane->src[1].u32[0], in->ops[2].suffix, sb), lsb = 0;
    if (has_word(in, ".po")) {
        lsb = 1;
    } else if (minus) {
        t = ~t;
        lsb = 1;
    } else if (in->ops[3].negate) {
        c = ~c;
        lsb = 1;
    }
    t = t + (is_signed ? (wide)(int32_t)c : (wide)c) + lsb;
    t >>= has_word(in, ".shr7") ? 7 : has_word(in, ".shr15") ? 15 : 0;
    if (has_word(in, ".sat"))
        t = limit(t, 32, is_signed);
    lane->dst[0].u32[0] = (uint32_t)t;
}

/* ---- SIMD: extractAndSignExt, extractMaskBits */
static wide lane_value(uint32_t a, uint32_t b, unsigned index, unsigned n, bool is_signed)
{
    uint32_t from = index < n ? a : b;
    return n == 2 ? half_of(from, index % n, is_signed) : byte_of(from, index % n, is_signed);
}

static unsigned selected(struct aw_str selector, unsigned n, unsigned lane, unsigned otherwise)
{
    return selector.len ? (unsigned)(selector.ptr[n - lane] - '0') : otherwise + lane;
}

void oracle_ref_video_simd(const struct ptx_instr *in, struct oracle_lane *lane)
{
    unsigned n = in->mnemonic.ptr[in->mnemonic.len - 1] == '2' ? 2 : 4, bits = 32 / n;
    bool set = kind_of(in) == '?', is_signed = !set && is_signed_type(in, 0);
    unsigned first = set ? 0 : 1;
    uint32_t a = lane->src[0].u32[0], b = lane->src[1].u32[0], c = lane->src[2].u32[0], sum = c, merged = 0;
    for (unsigned i = 0; i < n; i++) {
        bool masked = !in->ops[0].suffix.len;
        for (size_t k = 1; k < in->ops[0].suffix.len; k++)
            masked |= in->ops[0].suffix.ptr[k] == (char)('0' + i);
        wide va = lane_value(a, b, selected(in->ops[1].suffix, n, i, 0), n, is_signed_type(in, first));
        wide vb = lane_value(a, b, selected(in->ops[2].suffix, n, i, n), n, is_signed_type(in, first + 1));
        wide t = primary(in, kind_of(in), va, vb);
        if (has_word(in, ".sat"))
            t = limit(t, bits, is_signed);
        sum += masked ? (uint32_t)t : 0;
        uint32_t kept = n == 2 ? (uint16_t)(c >> (16 * i)) : (uint8_t)(c >> (8 * i));
        merged |= (masked ? (uint32_t)t & ((1u << bits) - 1) : kept) << (bits * i);
    }
    lane->dst[0].u32[0] = has_word(in, ".add") ? sum : merged;
}

/* ---- Halves and bytes, each for itself; add.sat.u32 has one part */
static wide of_part(uint32_t v, unsigned i, unsigned bits, bool is_signed)
{
    return bits == 8 ? byte_of(v, i, is_signed) : bits == 16 ? half_of(v, i, is_signed) : is_signed ? (wide)(int32_t)v : (wide)v;
}

void oracle_ref_packed(const struct ptx_instr *in, struct oracle_lane *lane)
{
    enum ptx_type type = in->types[0];
    unsigned bits = type == PTX_U8X4 || type == PTX_S8X4 ? 8 : type == PTX_U16X2 || type == PTX_S16X2 ? 16 : 32;
    bool is_signed = type == PTX_S8X4 || type == PTX_S16X2;
    uint32_t r = 0;
    for (unsigned i = 0; i < 32 / bits; i++) {
        wide a = of_part(lane->src[0].u32[0], i, bits, is_signed), b = of_part(lane->src[1].u32[0], i, bits, is_signed), t;
        if (is_named(in, "add"))
            t = a + b;
        else if (is_named(in, "sub"))
            t = a - b;
        else if (is_named(in, "neg"))
            t = -a;
        else
            t = is_named(in, "max") == (a > b) ? a : b;
        if (has_word(in, ".sat"))
            t = limit(t, bits, is_signed);
        if (has_word(in, ".relu") && t < 0)
            t = 0;
        r |= (uint32_t)((uint64_t)t & (((uint64_t)1 << bits) - 1)) << (i * bits);
    }
    lane->dst[0].u32[0] = r;
}

void oracle_ref_clmad(const struct ptx_instr *in, struct oracle_lane *lane)
{
    unsigned __int128 product = 0;
    for (unsigned i = 0; i < 64; i++)
        if (lane->src[1].u64[0] >> i & 1)
            product ^= (unsigned __int128)lane->src[0].u64[0] << i;
    lane->dst[0].u64[0] = (uint64_t)(has_word(in, ".hi") ? product >> 64 : product) ^ lane->src[2].u64[0];
}
