/* Texel formats.  Names of AMD's formats list channels from the highest bits down; the tables here from the lowest up. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "format.h"

#include <math.h>
#include <string.h>

enum { ALL6 = 0x3f, ALL7 = 0x7f, WHOLE = 1 << FORMAT_UINT | 1 << FORMAT_SINT | 1 << FORMAT_FLOAT };

/* gfx10: formats of equal layout follow each other, one number for each kind of number in `kinds`, in their order. */
static const struct {
    uint8_t code, n, bits[4], kinds;
} layouts[] = {
    { 1, 1, { 8 }, ALL6 }, { 7, 1, { 16 }, ALL7 }, { 14, 2, { 8, 8 }, ALL6 }, { 20, 1, { 32 }, WHOLE },
    { 23, 2, { 16, 16 }, ALL7 },
    { 30, 3, { 11, 11, 10 }, ALL7 }, { 37, 3, { 10, 11, 11 }, ALL7 }, { 44, 4, { 2, 10, 10, 10 }, ALL6 },
    { 50, 4, { 10, 10, 10, 2 }, ALL6 }, { 56, 4, { 8, 8, 8, 8 }, ALL6 }, { 62, 2, { 32, 32 }, WHOLE },
    { 65, 4, { 16, 16, 16, 16 }, ALL7 }, { 72, 3, { 32, 32, 32 }, WHOLE }, { 75, 4, { 32, 32, 32, 32 }, WHOLE },
    { 128, 1, { 8 }, 1 << FORMAT_SRGB }, { 129, 2, { 8, 8 }, 1 << FORMAT_SRGB }, { 130, 4, { 8, 8, 8, 8 }, 1 << FORMAT_SRGB },
    { 133, 3, { 5, 6, 5 }, 1 << FORMAT_UNORM }, { 134, 4, { 5, 5, 5, 1 }, 1 << FORMAT_UNORM },
    { 135, 4, { 1, 5, 5, 5 }, 1 << FORMAT_UNORM }, { 136, 4, { 4, 4, 4, 4 }, 1 << FORMAT_UNORM },
};

/* gfx9: layouts by data format. */
static const struct {
    uint8_t n, bits[4];
} data_formats[16] = {
    [1] = { 1, { 8 } }, [2] = { 1, { 16 } }, [3] = { 2, { 8, 8 } }, [4] = { 1, { 32 } }, [5] = { 2, { 16, 16 } },
    [6] = { 3, { 11, 11, 10 } }, [7] = { 3, { 10, 11, 11 } }, [8] = { 4, { 2, 10, 10, 10 } }, [9] = { 4, { 10, 10, 10, 2 } },
    [10] = { 4, { 8, 8, 8, 8 } }, [11] = { 2, { 32, 32 } }, [12] = { 4, { 16, 16, 16, 16 } }, [13] = { 3, { 32, 32, 32 } },
    [14] = { 4, { 32, 32, 32, 32 } },
};

static void make(struct format *f, unsigned n, const uint8_t *bits, unsigned number)
{
    unsigned total = 0;
    *f = (struct format){ .n = (uint8_t)n, .number = (uint8_t)number };
    for (unsigned k = 0; k < n; k++)
        total += f->bits[k] = bits[k];
    f->bytes = (uint8_t)(total / 8);
}

bool format_gfx10(unsigned code, struct format *ret)
{
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        if (code < layouts[k].code)
            break;
        unsigned kinds = layouts[k].kinds;
        for (unsigned skip = code - layouts[k].code; skip && kinds; skip--)
            kinds &= kinds - 1;
        if (!kinds)
            continue;
        make(ret, layouts[k].n, layouts[k].bits, (unsigned)__builtin_ctz(kinds));
        return true;
    }
    return false;
}

bool format_gfx9(unsigned data, unsigned number, struct format *ret)
{
    static const uint8_t numbers[8] = { FORMAT_UNORM, FORMAT_SNORM, FORMAT_USCALED, FORMAT_SSCALED, FORMAT_UINT, FORMAT_SINT,
                                        0xff, FORMAT_FLOAT };
    if (data >= 16 || !data_formats[data].n || number >= 8 || numbers[number] == 0xff)
        return false;
    unsigned widest = data_formats[data].bits[data_formats[data].n - 1];
    if (numbers[number] == FORMAT_FLOAT ? widest == 8 || data == 8 || data == 9 : widest == 32 && numbers[number] < FORMAT_UINT)
        return false;
    make(ret, data_formats[data].n, data_formats[data].bits, numbers[number]);
    return true;
}

/* ---- Numbers ---- */

static float to_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t from_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint32_t format_from_half(uint16_t half)
{
    _Float16 x;
    memcpy(&x, &half, sizeof x);
    return from_float((float)x);
}

uint16_t format_to_half(uint32_t bits)
{
    _Float16 x = (_Float16)to_float(bits);
    uint16_t half;
    memcpy(&half, &x, sizeof half);
    return half;
}

/* An unsigned float of 10 or 11 bits: a half without sign and the lower bits of its mantissa. */
static uint16_t small_to_half(uint32_t x, unsigned bits)
{
    return (uint16_t)(x << (15 - bits));
}

static uint32_t half_to_small(uint32_t value, unsigned bits)
{
    float x = to_float(value);
    unsigned drop = 15 - bits, mantissa = bits - 5;
    if (x != x)
        return (1u << bits) - 1;
    if (!(x > 0))
        return 0;
    /* Rounds towards zero, so that no finite value becomes infinite. */
    uint16_t half = format_to_half(value);
    if (isinf(x))
        return 31u << mantissa;
    if (to_float(format_from_half(half)) > x)
        half--;
    return half >> drop;
}

static uint32_t sign_extend(uint32_t x, unsigned bits)
{
    return bits == 32 ? x : (uint32_t)((int32_t)(x << (32 - bits)) >> (32 - bits));
}

static uint32_t unpack_one(uint32_t x, unsigned bits, unsigned number, unsigned channel)
{
    double most = (double)((1ull << (bits - (number == FORMAT_SNORM))) - 1);
    switch (number) {
    case FORMAT_SRGB:
        if (channel < 3) {
            double c = x / most;
            return from_float((float)(c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4)));
        }
        return from_float((float)(x / most));
    case FORMAT_UNORM:
        return from_float((float)(x / most));
    case FORMAT_SNORM:
        return from_float((float)fmax((int32_t)sign_extend(x, bits) / (most ? most : 1), -1));
    case FORMAT_USCALED:
        return from_float((float)x);
    case FORMAT_SSCALED:
        return from_float((float)(int32_t)sign_extend(x, bits));
    case FORMAT_SINT:
        return sign_extend(x, bits);
    case FORMAT_FLOAT:
        return bits == 32 ? x : format_from_half(bits == 16 ? (uint16_t)x : small_to_half(x, bits));
    default:
        return x;
    }
}

static uint32_t clamp_round(double x, double lo, double hi)
{
    return x == x ? (uint32_t)(int64_t)rint(x < lo ? lo : x > hi ? hi : x) : 0;
}

static uint32_t pack_one(uint32_t x, unsigned bits, unsigned number, unsigned channel)
{
    double most = (double)((1ull << bits) - 1), half = (double)((1ull << (bits - 1)) - 1), value = to_float(x);
    switch (number) {
    case FORMAT_SRGB:
        if (channel < 3)
            value = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1 / 2.4) - 0.055;
        return clamp_round(value * most, 0, most);
    case FORMAT_UNORM:
        return clamp_round(value * most, 0, most);
    case FORMAT_SNORM:
        return clamp_round(value * half, -half, half);
    case FORMAT_USCALED:
        return clamp_round(trunc(value), 0, most);
    case FORMAT_SSCALED:
        return clamp_round(trunc(value), -half - 1, half);
    case FORMAT_UINT:
        return x > (uint32_t)most ? (uint32_t)most : x;
    case FORMAT_SINT:
        return clamp_round((int32_t)x, -half - 1, half);
    default:
        return bits == 32 ? x : bits == 16 ? format_to_half(x) : half_to_small(x, bits);
    }
}

/* ---- Texels ---- */

void format_unpack(const struct format *f, const void *from, uint32_t ret[4])
{
    uint32_t words[4] = { 0 };
    memcpy(words, from, f->bytes);
    ret[0] = ret[1] = ret[2] = 0;
    ret[3] = format_integer(f) ? 1 : from_float(1);
    for (unsigned k = 0, at = 0; k < f->n; at += f->bits[k++]) {
        uint32_t mask = f->bits[k] == 32 ? UINT32_MAX : (1u << f->bits[k]) - 1;
        ret[k] = unpack_one(words[at / 32] >> at % 32 & mask, f->bits[k], f->number, k);
    }
}

void format_pack(const struct format *f, const uint32_t from[4], void *ret)
{
    uint32_t words[4] = { 0 };
    for (unsigned k = 0, at = 0; k < f->n; at += f->bits[k++]) {
        uint32_t mask = f->bits[k] == 32 ? UINT32_MAX : (1u << f->bits[k]) - 1;
        words[at / 32] |= (pack_one(from[k], f->bits[k], f->number, k) & mask) << at % 32;
    }
    memcpy(ret, words, f->bytes);
}
