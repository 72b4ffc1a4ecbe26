/* Exact values and their one rounding: see ref_exact.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ref_exact.h"

#include <string.h>

/* ---- Formats */
static const struct exact_format f16 = { 16, 11, -14, 0x7c00, 0x7bff, 0x7fff };
static const struct exact_format bf16 = { 16, 8, -126, 0x7f80, 0x7f7f, 0x7fff };
static const struct exact_format f32 = { 32, 24, -126, 0x7f800000, 0x7f7fffff, 0x7fffffff };
static const struct exact_format f64 = { 64, 53, -1022, 0x7ff0000000000000, 0x7fefffffffffffff, 0x7fffffffffffffff };
static const struct exact_format e4m3 = { 8, 4, -6, 0, 0x7e, 0x7f };
static const struct exact_format e5m2 = { 8, 3, -14, 0x7c, 0x7b, 0x7f };
static const struct exact_format e2m3 = { 6, 4, 0, 0, 0x1f, 0 };
static const struct exact_format e3m2 = { 6, 3, -2, 0, 0x1f, 0 };
static const struct exact_format e2m1 = { 4, 2, 0, 0, 7, 0 };

const struct exact_format *exact_format_of(enum ptx_type type)
{
    switch (type) {
    case PTX_F16: case PTX_F16X2: return &f16;
    case PTX_BF16: case PTX_BF16X2: return &bf16;
    case PTX_F32: case PTX_F32X2: return &f32;
    case PTX_F64: return &f64;
    case PTX_E4M3: case PTX_E4M3X2: case PTX_E4M3X4: return &e4m3;
    case PTX_E5M2: case PTX_E5M2X2: case PTX_E5M2X4: return &e5m2;
    case PTX_E2M3X2: case PTX_E2M3X4: return &e2m3;
    case PTX_E3M2X2: case PTX_E3M2X4: return &e3m2;
    case PTX_E2M1: case PTX_E2M1X2: case PTX_E2M1X4: return &e2m1;
    default: return NULL;
    }
}

unsigned exact_count(enum ptx_type type)
{
    switch (type) {
    case PTX_F16X2: case PTX_BF16X2: case PTX_F32X2: case PTX_E4M3X2: case PTX_E5M2X2: case PTX_E2M3X2: case PTX_E3M2X2:
    case PTX_E2M1X2: case PTX_UE8M0X2: return 2;
    case PTX_E4M3X4: case PTX_E5M2X4: case PTX_E2M3X4: case PTX_E3M2X4: case PTX_E2M1X4: return 4;
    default: return 1;
    }
}

unsigned exact_stride(enum ptx_type type)
{
    return ptx_type_bits(type) / exact_count(type);
}

/* ---- To and from bits */
static unsigned width_of(exact_bits m) /* of m > 0 */
{
    uint64_t high = (uint64_t)(m >> 64);
    return high ? 128 - (unsigned)__builtin_clzll(high) : 64 - (unsigned)__builtin_clzll((uint64_t)m);
}

static uint64_t low_mask(unsigned bits)
{
    return bits >= 64 ? UINT64_MAX : (1ull << bits) - 1;
}

struct exact exact_from(const struct exact_format *f, uint64_t bits)
{
    uint64_t magnitude = bits & low_mask(f->width - 1), fraction = magnitude & low_mask(f->precision - 1);
    int biased = (int)(magnitude >> (f->precision - 1));
    struct exact x = { .negative = bits >> (f->width - 1) & 1 };
    if (f->infinity && magnitude >= f->infinity)
        x.kind = magnitude > f->infinity ? EXACT_NAN : EXACT_INFINITE;
    else if (!f->infinity && magnitude > f->max)
        x.kind = EXACT_NAN;
    else
        x.m = biased ? fraction | 1ull << (f->precision - 1) : fraction;
    x.e = f->e_min + (biased ? biased - 1 : 0) - (int)(f->precision - 1);
    return x;
}

struct exact exact_from_int(uint64_t v, bool is_signed)
{
    bool negative = is_signed && (int64_t)v < 0;
    return (struct exact){ .negative = negative, .m = negative ? -v : v };
}

/* m * 2^e in places of 2^q: what is kept, and what is cut as a 128-bit fraction of a place (its lowest bit sticky). */
static exact_bits cut(struct exact x, int q, exact_bits *ret_rest)
{
    int down = q - x.e;
    *ret_rest = 0;
    if (down <= 0)
        return x.m << -down;
    if (down >= 256) {
        *ret_rest = x.m != 0;
        return 0;
    }
    if (down > 128) {
        exact_bits lost = x.m & (((exact_bits)1 << (down - 128)) - 1);
        *ret_rest = x.m >> (down - 128) | (lost != 0);
        return 0;
    }
    *ret_rest = down == 128 ? x.m : x.m << (128 - down);
    return down == 128 ? 0 : x.m >> down;
}

static bool rounds_up(exact_bits kept, exact_bits rest, bool negative, enum exact_mode mode)
{
    const exact_bits half = (exact_bits)1 << 127;
    switch (mode) {
    case EXACT_RN: return rest > half || (rest == half && (kept & 1));
    case EXACT_RNA: return rest >= half;
    case EXACT_RM: return negative && rest;
    case EXACT_RP: return !negative && rest;
    default: return false;
    }
}

/* The last place of a number whose highest bit counts 2^top. */
static int last_place(const struct exact_format *f, int top)
{
    return (top < f->e_min ? f->e_min : top) - (int)(f->precision - 1);
}

static uint64_t pack(const struct exact_format *f, exact_bits kept, int q)
{
    exact_bits hidden = (exact_bits)1 << (f->precision - 1);
    if (kept < hidden)
        return (uint64_t)kept;
    exact_bits code = ((exact_bits)(unsigned)(q + (int)(f->precision - 1) - f->e_min + 1) << (f->precision - 1)) +
                      (kept - hidden);
    return code > f->max ? f->max + 1 : (uint64_t)code;
}

/* Everything but the finite numbers; false for those. */
static bool round_special(struct exact x, const struct exact_format *f, uint64_t sign, uint64_t *ret)
{
    if (x.kind == EXACT_NAN)
        *ret = f->nan ? f->nan : f->max;
    else if (x.kind == EXACT_INFINITE)
        *ret = sign | (f->infinity ? f->infinity : f->max);
    else if (!x.m)
        *ret = sign;
    else
        return false;
    return true;
}

uint64_t exact_round(struct exact x, const struct exact_format *f, enum exact_mode mode)
{
    uint64_t sign = x.negative ? 1ull << (f->width - 1) : 0, code;
    if (round_special(x, f, sign, &code))
        return code;
    exact_bits rest;
    int q = last_place(f, x.e + (int)width_of(x.m) - 1);
    exact_bits kept = cut(x, q, &rest);
    kept += rounds_up(kept, rest, x.negative, mode);
    code = pack(f, kept, q);
    if (code > f->max) {
        bool inward = mode == EXACT_RZ || (mode == EXACT_RM && !x.negative) || (mode == EXACT_RP && x.negative);
        code = f->infinity && !inward ? f->infinity : f->max;
    }
    return sign | code;
}

uint64_t exact_round_random(struct exact x, const struct exact_format *f, unsigned n, uint64_t random)
{
    uint64_t sign = x.negative ? 1ull << (f->width - 1) : 0, code;
    if (round_special(x, f, sign, &code))
        return code;
    exact_bits rest;
    int q = last_place(f, x.e + (int)width_of(x.m) - 1);
    exact_bits kept = cut(x, q, &rest), added = rest + ((exact_bits)random << (128 - n));
    code = pack(f, kept + (added < rest), q);
    return sign | (code > f->max ? f->infinity ? f->infinity : f->max : code);
}

/* ---- Arithmetic */
struct exact exact_negate(struct exact x)
{
    x.negative = !x.negative;
    return x;
}

static struct exact nan_value(void)
{
    return (struct exact){ .kind = EXACT_NAN };
}

/* Highest bit to bit `top`. */
static struct exact normalise(struct exact x, unsigned top)
{
    unsigned shift = top + 1 - width_of(x.m);
    x.m <<= shift;
    x.e -= (int)shift;
    return x;
}

struct exact exact_add(struct exact a, struct exact b, enum exact_mode mode)
{
    if (a.kind == EXACT_NAN || b.kind == EXACT_NAN)
        return nan_value();
    if (a.kind == EXACT_INFINITE)
        return b.kind == EXACT_INFINITE && a.negative != b.negative ? nan_value() : a;
    if (b.kind == EXACT_INFINITE)
        return b;
    if (!a.m && !b.m)
        return (struct exact){ .negative = a.negative == b.negative ? a.negative : mode == EXACT_RM };
    if (!a.m || !b.m)
        return a.m ? a : b;
    a = normalise(a, 125);
    b = normalise(b, 125);
    if (a.e < b.e) {
        struct exact other = a;
        a = b;
        b = other;
    }
    /* A bit that falls off lies at least 2^20 below the last one that any rounding sees: it may as well be sticky. */
    exact_bits rest, small = cut(b, a.e, &rest);
    small |= rest != 0;
    struct exact r = { .e = a.e };
    if (a.negative == b.negative) {
        r.m = a.m + small;
        r.negative = a.negative;
    } else if (a.m == small) {
        r.negative = mode == EXACT_RM;
    } else {
        r.negative = a.m > small ? a.negative : b.negative;
        r.m = a.m > small ? a.m - small : small - a.m;
    }
    return r;
}

struct exact exact_mul(struct exact a, struct exact b)
{
    if (a.kind == EXACT_NAN || b.kind == EXACT_NAN)
        return nan_value();
    bool negative = a.negative != b.negative;
    if (a.kind == EXACT_INFINITE || b.kind == EXACT_INFINITE) {
        if ((a.kind == EXACT_FINITE && !a.m) || (b.kind == EXACT_FINITE && !b.m))
            return nan_value();
        return (struct exact){ .kind = EXACT_INFINITE, .negative = negative };
    }
    return (struct exact){ .negative = negative, .m = a.m * b.m, .e = a.e + b.e };
}

struct exact exact_div(struct exact a, struct exact b)
{
    bool negative = a.negative != b.negative;
    if (a.kind == EXACT_NAN || b.kind == EXACT_NAN || (a.kind == EXACT_INFINITE && b.kind == EXACT_INFINITE))
        return nan_value();
    if (b.kind == EXACT_INFINITE)
        return (struct exact){ .negative = negative };
    if (a.kind == EXACT_INFINITE)
        return (struct exact){ .kind = EXACT_INFINITE, .negative = negative };
    if (!b.m)
        return a.m ? (struct exact){ .kind = EXACT_INFINITE, .negative = negative } : nan_value();
    if (!a.m)
        return (struct exact){ .negative = negative };
    a = normalise(a, 127);
    exact_bits q = a.m / b.m;
    return (struct exact){ .negative = negative, .m = q | (a.m % b.m != 0), .e = a.e - b.e };
}

struct exact exact_sqrt(struct exact a)
{
    if (a.kind == EXACT_NAN || (a.negative && (a.m || a.kind == EXACT_INFINITE)))
        return nan_value();
    if (a.kind == EXACT_INFINITE || !a.m)
        return a;
    a = normalise(a, 127);
    if (a.e & 1) {
        a.m >>= 1; /* its lowest bits are zero */
        a.e++;
    }
    exact_bits root = 0, rest = a.m;
    for (int bit = 63; bit >= 0; bit--) {
        exact_bits trial = (root << 1 | (exact_bits)1 << bit) << bit;
        if (rest >= trial) {
            rest -= trial;
            root |= (exact_bits)1 << bit;
        }
    }
    return (struct exact){ .m = root << 1 | (rest != 0), .e = a.e / 2 - 1 };
}

struct exact exact_scale(struct exact a, int power)
{
    a.e += power;
    return a;
}

struct exact exact_integral(struct exact a, enum exact_mode mode)
{
    if (a.kind != EXACT_FINITE || !a.m || a.e >= 0)
        return a;
    exact_bits rest, kept = cut(a, 0, &rest);
    return (struct exact){ .negative = a.negative, .m = kept + rounds_up(kept, rest, a.negative, mode) };
}

uint64_t exact_to_int(struct exact a, unsigned bits, bool is_signed)
{
    uint64_t top = low_mask(is_signed ? bits - 1 : bits), bottom = is_signed ? top + 1 : 0; /* magnitudes */
    if (a.kind == EXACT_NAN)
        return 0;
    uint64_t limit = a.negative ? bottom : top, magnitude = limit;
    if (a.kind == EXACT_FINITE && (!a.m || a.e + (int)width_of(a.m) <= 64)) {
        exact_bits rest, kept = cut(a, 0, &rest);
        magnitude = kept > limit ? limit : (uint64_t)kept;
    }
    return a.negative ? -magnitude : magnitude;
}

int exact_compare(struct exact a, struct exact b)
{
    if (a.kind == EXACT_NAN || b.kind == EXACT_NAN)
        return 2;
    if (a.kind == EXACT_INFINITE && b.kind == EXACT_INFINITE)
        return a.negative == b.negative ? 0 : a.negative ? -1 : 1;
    struct exact d = exact_add(a, exact_negate(b), EXACT_RN);
    return d.kind == EXACT_FINITE && !d.m ? 0 : d.negative ? -1 : 1;
}

/* ---- What instructions say */
enum exact_mode exact_mode_of(const struct ptx_instr *in)
{
    return ptx_has(in, PTX_MOD_RZ) || ptx_has(in, PTX_MOD_RZI)   ? EXACT_RZ
           : ptx_has(in, PTX_MOD_RM) || ptx_has(in, PTX_MOD_RMI) ? EXACT_RM
           : ptx_has(in, PTX_MOD_RP) || ptx_has(in, PTX_MOD_RPI) ? EXACT_RP
           : ptx_has(in, PTX_MOD_RNA)                            ? EXACT_RNA
                                                                 : EXACT_RN;
}

bool exact_is_nan(const struct exact_format *f, uint64_t bits)
{
    return exact_from(f, bits).kind == EXACT_NAN;
}

static uint64_t sign_bit(const struct exact_format *f)
{
    return 1ull << (f->width - 1);
}

uint64_t exact_flush(const struct exact_format *f, uint64_t bits)
{
    return (bits & (sign_bit(f) - 1)) < 1ull << (f->precision - 1) ? bits & sign_bit(f) : bits;
}

uint64_t exact_saturate(const struct exact_format *f, uint64_t bits)
{
    uint64_t one = exact_round(exact_from_int(1, false), f, EXACT_RN);
    if (exact_is_nan(f, bits) || bits & sign_bit(f))
        return 0;
    return bits > one ? one : bits;
}

uint64_t exact_relu(const struct exact_format *f, uint64_t bits)
{
    return exact_is_nan(f, bits) ? f->nan : bits & sign_bit(f) ? 0 : bits;
}

uint64_t exact_minmax(const struct exact_format *f, bool max, bool nan, uint64_t a, uint64_t b)
{
    bool nan_a = exact_is_nan(f, a), nan_b = exact_is_nan(f, b);
    if (nan_a || nan_b)
        return nan || (nan_a && nan_b) ? f->nan : nan_a ? b : a;
    int order = exact_compare(exact_from(f, a), exact_from(f, b));
    if (order == 0) /* zeros differ by their sign */
        return max ? a & b : a | b;
    return (order < 0) != max ? a : b;
}

double exact_double(const struct exact_format *f, uint64_t bits)
{
    double d;
    uint64_t code = exact_round(exact_from(f, bits), &f64, EXACT_RN);
    memcpy(&d, &code, sizeof d);
    return d;
}

uint64_t exact_from_double(const struct exact_format *f, double v)
{
    uint64_t code;
    memcpy(&code, &v, sizeof code);
    return exact_round(exact_from(&f64, code), f, EXACT_RN);
}
