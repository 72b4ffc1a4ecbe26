/* Texels of compressed blocks, BC1 to BC7: a service of generated code (include/anywarp/hostabi.h), for each lane that samples
 * such a texture.
 *
 * BC1 to BC3 have their colors in 8 bits, rounded to nearest where they lie between two; alpha of BC3, BC4 and BC5 are
 * quotients, rounded once; BC6H and BC7 are what their definitions say, to the bit.  Blocks without meaning are zero. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/texture.h>

#include <string.h>

#include "provider/host/host.h"

struct block {
    uint64_t low, high;
};

/* `n` bits, at most 16, from bit `from`. */
static unsigned bits(const struct block *b, unsigned from, unsigned n)
{
    uint64_t v = from >= 64 ? b->high >> (from - 64) : from ? b->low >> from | b->high << (64 - from) : b->low;
    return (unsigned)v & ((1u << n) - 1);
}

static unsigned widened(unsigned v, unsigned n)
{
    return (v << (8 - n) | v << (8 - n) >> n) & 255;
}

/* ---- BC1 to BC5 */

/* The half of the block that begins at bit `from`; BC1 has blocks of three colors and nothing. */
static void color_read(const struct block *b, unsigned from, unsigned at, bool one, unsigned ret[4])
{
    static const unsigned widths[3] = { 5, 6, 5 }, shifts[3] = { 11, 5, 0 };
    unsigned c0 = bits(b, from, 16), c1 = bits(b, from + 16, 16), index = bits(b, from + 32 + 2 * at, 2);
    bool four = !one || c0 > c1;

    ret[3] = 255;
    for (unsigned i = 0; i < 3; i++) {
        unsigned n = widths[i], mask = (1u << n) - 1, v0 = widened(c0 >> shifts[i] & mask, n),
                 v1 = widened(c1 >> shifts[i] & mask, n);
        switch (index) {
        case 0: ret[i] = v0; break;
        case 1: ret[i] = v1; break;
        case 2: ret[i] = four ? (2 * v0 + v1 + 1) / 3 : (v0 + v1 + 1) / 2; break;
        default: ret[i] = four ? (v0 + 2 * v1 + 1) / 3 : 0; break;
        }
    }
    if (!four && index == 3)
        ret[3] = 0;
}

/* Between two ends of 8 bits: BC3's alpha, BC4, a channel of BC5. */
static float between(const struct block *b, unsigned from, unsigned at, bool is_signed)
{
    int e0 = (int)bits(b, from, 8), e1 = (int)bits(b, from + 8, 8), most = is_signed ? 127 : 255;
    int index = (int)bits(b, from + 16 + 3 * at, 3);

    if (is_signed) {
        e0 = (int8_t)e0 < -127 ? -127 : (int8_t)e0;
        e1 = (int8_t)e1 < -127 ? -127 : (int8_t)e1;
    }
    int steps = e0 > e1 ? 7 : 5, w = index == 0 ? 0 : index == 1 ? steps : index - 1;
    if (steps == 5 && index >= 6)
        return index == 7 ? 1 : is_signed ? -1 : 0;
    return (float)(e0 * (steps - w) + e1 * w) / (float)(steps * most);
}

/* ---- Subsets: which texels share endpoints, and which of each subset has an index one bit shorter */

static const uint16_t two[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8,
    0xff00, 0xfff0, 0xf000, 0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110,
    0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c, 0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696,
    0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660, 0x0272, 0x04e4, 0x4e40, 0x2720,
    0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
};
static const uint8_t anchor_of_two[64] = {
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2,
    15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
};
static const uint32_t three[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050, 0xaa550000, 0xaa555500,
    0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250, 0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0,
    0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500, 0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414,
    0x50a4a450, 0x6a5a0200, 0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600, 0xaa444444, 0x54a854a8,
    0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000, 0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000,
    0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254,
};
static const uint8_t anchors_of_three[2][64] = {
    { 3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3, 6, 10, 5, 8, 8, 6, 8, 5, 15, 15,
      8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3 },
    { 15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8, 15, 8, 3, 15, 6, 10, 15, 15, 10, 8,
      15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15, 3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8 },
};

struct subset {
    unsigned number;
    unsigned n[3], count; /* texels with shorter indices */
};

static struct subset subset_of(unsigned subsets, unsigned partition, unsigned at)
{
    switch (subsets) {
    case 2: return (struct subset){ two[partition] >> at & 1, { 0, anchor_of_two[partition] }, 2 };
    case 3:
        return (struct subset){ three[partition] >> 2 * at & 3,
                                { 0, anchors_of_three[0][partition], anchors_of_three[1][partition] }, 3 };
    default: return (struct subset){ 0, { 0 }, 1 };
    }
}

/* The texel's index among those of `n` bits from bit `from`, as a weight of 64. */
static unsigned weight(const struct block *b, unsigned from, unsigned n, const struct subset *s, unsigned at)
{
    unsigned most = (1u << n) - 1, place = from + at * n, length = n;

    for (unsigned i = 0; i < s->count; i++) {
        place -= s->n[i] < at;
        length -= s->n[i] == at;
    }
    return (128 * bits(b, place, length) + most) / (2 * most);
}

static int blend(int a, int c, unsigned w)
{
    return (a * (64 - (int)w) + c * (int)w + 32) >> 6;
}

/* ---- BC7 */

struct seven {
    uint8_t subsets, partition, rotation, swap, color, alpha, each, shared, index, second; /* bits of each, but for the first */
};

/* One endpoint's channel in 8 bits. */
static unsigned seven_end(const struct block *b, const struct seven *m, unsigned from, unsigned channel, unsigned end)
{
    unsigned n = channel == 3 ? m->alpha : m->color, ends = 2u * m->subsets, low = from + ends * (3u * m->color + m->alpha);

    if (!n)
        return 255;
    unsigned v = bits(b, from + channel * m->color * ends + end * n, n);
    if (!m->each && !m->shared)
        return widened(v, n);
    return widened(v << 1 | bits(b, low + (m->each ? end : end / 2), 1), n + 1);
}

static void seven_read(const struct block *b, unsigned at, unsigned ret[4])
{
    static const struct seven modes[8] = {
        { 3, 4, 0, 0, 4, 0, 1, 0, 3, 0 }, { 2, 6, 0, 0, 6, 0, 0, 1, 3, 0 }, { 3, 6, 0, 0, 5, 0, 0, 0, 2, 0 },
        { 2, 6, 0, 0, 7, 0, 1, 0, 2, 0 }, { 1, 0, 2, 1, 5, 6, 0, 0, 2, 3 }, { 1, 0, 2, 0, 7, 8, 0, 0, 2, 2 },
        { 1, 0, 0, 0, 7, 7, 1, 0, 4, 0 }, { 2, 6, 0, 0, 5, 5, 1, 0, 2, 0 },
    };
    if (!bits(b, 0, 8)) {
        memset(ret, 0, 4 * sizeof *ret);
        return;
    }
    unsigned mode = (unsigned)__builtin_ctz(bits(b, 0, 8)), from = mode + 1;
    const struct seven *m = &modes[mode];
    struct subset s = subset_of(m->subsets, bits(b, from, m->partition), at);
    from += m->partition;
    unsigned rotation = bits(b, from, m->rotation), swap = bits(b, from + m->rotation, m->swap);
    from += m->rotation + m->swap;
    unsigned ends = 2u * m->subsets, indices = from + ends * (3u * m->color + m->alpha + m->each) + m->shared * m->subsets;
    unsigned w[2] = { weight(b, indices, m->index, &s, at), 0 };
    w[1] = m->second ? weight(b, indices + 16u * m->index - 1, m->second, &s, at) : w[0];
    for (unsigned c = 0; c < 4; c++) {
        int e0 = (int)seven_end(b, m, from, c, 2 * s.number), e1 = (int)seven_end(b, m, from, c, 2 * s.number + 1);
        ret[c] = (unsigned)blend(e0, e1, w[(c == 3) != swap]);
    }
    if (rotation) {
        unsigned alpha = ret[3];
        ret[3] = ret[rotation - 1];
        ret[rotation - 1] = alpha;
    }
}

/* ---- BC6H: where the bits of its endpoints lie.  Each mode's fields in order, behind the mode itself: r, g, b of endpoints
 * w, x, y, z, and which bits; ascending, or descending where the first is the higher. */

struct six {
    /* as it is written; bits of w; of the others in r, g, b, which are differences where they are fewer */
    uint8_t code, bits, delta[3];
    bool two;                     /* subsets */
    const char *fields;
};
static const struct six sixes[14] = {
    { 0x00, 10, { 5, 5, 5 }, true,
      "gy4 by4 bz4 rw0:9 gw0:9 bw0:9 rx0:4 gz4 gy0:3 gx0:4 bz0 gz0:3 bx0:4 bz1 by0:3 ry0:4 bz2 rz0:4 bz3" },
    { 0x01, 7, { 6, 6, 6 }, true,
      "gy5 gz4 gz5 rw0:6 bz0:1 by4 gw0:6 by5 bz2 gy4 bw0:6 bz3 bz5 bz4 rx0:5 gy0:3 gx0:5 gz0:3 bx0:5 by0:3 ry0:5 rz0:5" },
    { 0x02, 11, { 5, 4, 4 }, true,
      "rw0:9 gw0:9 bw0:9 rx0:4 rw10 gy0:3 gx0:3 gw10 bz0 gz0:3 bx0:3 bw10 bz1 by0:3 ry0:4 bz2 rz0:4 bz3" },
    { 0x06, 11, { 4, 5, 4 }, true,
      "rw0:9 gw0:9 bw0:9 rx0:3 rw10 gz4 gy0:3 gx0:4 gw10 gz0:3 bx0:3 bw10 bz1 by0:3 ry0:3 bz0 bz2 rz0:3 gy4 bz3" },
    { 0x0a, 11, { 4, 4, 5 }, true,
      "rw0:9 gw0:9 bw0:9 rx0:3 rw10 by4 gy0:3 gx0:3 gw10 bz0 gz0:3 bx0:4 bw10 by0:3 ry0:3 bz1 bz2 rz0:3 bz4 bz3" },
    { 0x0e, 9, { 5, 5, 5 }, true,
      "rw0:8 by4 gw0:8 gy4 bw0:8 bz4 rx0:4 gz4 gy0:3 gx0:4 bz0 gz0:3 bx0:4 bz1 by0:3 ry0:4 bz2 rz0:4 bz3" },
    { 0x12, 8, { 6, 5, 5 }, true,
      "rw0:7 gz4 by4 gw0:7 bz2 gy4 bw0:7 bz3 bz4 rx0:5 gy0:3 gx0:4 bz0 gz0:3 bx0:4 bz1 by0:3 ry0:5 rz0:5" },
    { 0x16, 8, { 5, 6, 5 }, true,
      "rw0:7 bz0 by4 gw0:7 gy5 gy4 bw0:7 gz5 bz4 rx0:4 gz4 gy0:3 gx0:5 gz0:3 bx0:4 bz1 by0:3 ry0:4 bz2 rz0:4 bz3" },
    { 0x1a, 8, { 5, 5, 6 }, true,
      "rw0:7 bz1 by4 gw0:7 by5 gy4 bw0:7 bz5 bz4 rx0:4 gz4 gy0:3 gx0:4 bz0 gz0:3 bx0:5 by0:3 ry0:4 bz2 rz0:4 bz3" },
    { 0x1e, 6, { 6, 6, 6 }, true,
      "rw0:5 gz4 bz0:1 by4 gw0:5 gy5 by5 bz2 gy4 bw0:5 gz5 bz3 bz5 bz4 rx0:5 gy0:3 gx0:5 gz0:3 bx0:5 by0:3 ry0:5 rz0:5" },
    { 0x03, 10, { 10, 10, 10 }, false, "rw0:9 gw0:9 bw0:9 rx0:9 gx0:9 bx0:9" },
    { 0x07, 11, { 9, 9, 9 }, false, "rw0:9 gw0:9 bw0:9 rx0:8 rw10 gx0:8 gw10 bx0:8 bw10" },
    { 0x0b, 12, { 8, 8, 8 }, false, "rw0:9 gw0:9 bw0:9 rx0:7 rw11:10 gx0:7 gw11:10 bx0:7 bw11:10" },
    { 0x0f, 16, { 4, 4, 4 }, false, "rw0:9 gw0:9 bw0:9 rx0:3 rw15:10 gx0:3 gw15:10 bx0:3 bw15:10" },
};

static unsigned number(const char **p)
{
    unsigned n = 0;
    for (; **p >= '0' && **p <= '9'; ++*p)
        n = n * 10 + (unsigned)(**p - '0');
    return n;
}

/* All endpoints as they are in the block; where what follows them begins. */
static unsigned six_ends(const struct block *b, const struct six *m, unsigned ret[3][4])
{
    unsigned at = m->code < 2 ? 2 : 5;

    memset(ret, 0, 12 * sizeof(unsigned));
    for (const char *p = m->fields; *p; p += *p == ' ') {
        unsigned *end = &ret[*p == 'r' ? 0 : *p == 'g' ? 1 : 2][p[1] == 'w' ? 0 : p[1] - 'x' + 1];
        p += 2;
        unsigned first = number(&p), last = first;
        if (*p == ':') {
            p++;
            last = number(&p);
        }
        for (unsigned i = first;; i += last < first ? -1u : 1u) {
            *end |= bits(b, at++, 1) << i;
            if (i == last)
                break;
        }
    }
    return at;
}

static int sign_extended(unsigned v, unsigned n)
{
    return (int)(v << (32 - n)) >> (32 - n);
}

/* An endpoint of `n` bits over the range of 16. */
static int unquantized(unsigned v, unsigned n, bool is_signed)
{
    if (!is_signed)
        return n >= 15 || v == 0 ? (int)v : v == (1u << n) - 1 ? 0xffff : (int)(((v << 16) + 0x8000) >> n);
    int s = sign_extended(v, n), size = s < 0 ? -s : s;
    if (n >= 16 || size == 0)
        return s;
    size = size >= (1 << (n - 1)) - 1 ? 0x7fff : ((size << 15) + 0x4000) >> (n - 1);
    return s < 0 ? -size : size;
}

static const struct six *six_mode(const struct block *b)
{
    unsigned code = bits(b, 0, 2) < 2 ? bits(b, 0, 2) : bits(b, 0, 5);
    for (size_t i = 0; i < sizeof sixes / sizeof *sixes; i++)
        if (sixes[i].code == code)
            return &sixes[i];
    return NULL;
}

static float half_as_float(unsigned h)
{
    _Float16 v;
    uint16_t word = (uint16_t)h;
    memcpy(&v, &word, sizeof v);
    return (float)v;
}

static void six_read(const struct block *b, unsigned at, bool is_signed, float ret[3])
{
    const struct six *m = six_mode(b);
    unsigned ends[3][4], from;

    if (!m)
        return;
    from = six_ends(b, m, ends);
    struct subset s = subset_of(m->two ? 2 : 1, m->two ? bits(b, from, 5) : 0, at);
    unsigned w = weight(b, m->two ? from + 5 : from, m->two ? 3 : 4, &s, at);
    bool differences = m->delta[0] != m->bits || m->delta[1] != m->bits || m->delta[2] != m->bits;
    for (unsigned c = 0; c < 3; c++) {
        int e[2];
        for (unsigned i = 0; i < 2; i++) {
            unsigned end = 2 * s.number + i, v = ends[c][end];
            if (differences && end)
                v = (ends[c][0] + (unsigned)sign_extended(v, m->delta[c])) & ((1u << m->bits) - 1);
            e[i] = unquantized(v, m->bits, is_signed);
        }
        int v = blend(e[0], e[1], w);
        ret[c] = half_as_float(!is_signed ? (unsigned)(v * 31 >> 6)
                               : v < 0    ? (unsigned)(-v * 31 >> 5) | 0x8000
                                          : (unsigned)(v * 31 >> 5));
    }
}

/* ---- The service */

static void bytes_put(const struct aw_texture *desc, const unsigned v[4], float ret[4])
{
    const float *curve = desc->format & AW_TEXEL_SRGB ? (const float *)(uintptr_t)desc->srgb : NULL;
    for (unsigned i = 0; i < 4; i++)
        ret[i] = curve && i < 3 ? curve[v[i]] : (float)v[i] / 255;
}

static void texel_read(const struct aw_texture *desc, const struct block *b, unsigned at, float ret[4])
{
    unsigned kind = desc->format >> AW_TEXEL_BLOCK_SHIFT & 15, v[4] = { 0 };
    bool is_signed = desc->format & AW_TEXEL_SIGNED;

    switch (kind) {
    case 1: case 2: case 3:
        color_read(b, kind == 1 ? 0 : 64, at, kind == 1, v);
        if (kind == 2)
            v[3] = bits(b, 4 * at, 4) * 17;
        bytes_put(desc, v, ret);
        if (kind == 3)
            ret[3] = between(b, 0, at, false);
        return;
    case 5:
        ret[1] = between(b, 64, at, is_signed);
        /* fall through */
    case 4:
        ret[0] = between(b, 0, at, is_signed);
        return;
    case 6: six_read(b, at, is_signed, ret); return;
    case 7:
        seven_read(b, at, v);
        bytes_put(desc, v, ret);
        return;
    }
}

uint64_t aw_host_block_texel(struct aw_host_block *self, uint64_t address, uint32_t which, uint64_t descriptor)
{
    const struct aw_texture *desc = (const struct aw_texture *)(uintptr_t)descriptor;
    struct block b = { 0 };
    float v[4] = { 0 };
    uint64_t pair;

    (void)self;
    memcpy(&b, (const void *)(uintptr_t)address, (size_t)1 << (desc->format & AW_TEXEL_BYTES_LOG2));
    texel_read(desc, &b, which & 15, v);
    memcpy(&pair, which & 16 ? v + 2 : v, sizeof pair);
    return pair;
}
