/* Floating-point types of 8 and 16 bits, by their bits: to float, which holds them all, and from it, rounded to nearest even.
 * fp8 saturates, as CUDA's conversions do. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_FLOATS_H
#define AW_LIBS_COMMON_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline float aw_bits_float(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

static inline uint32_t aw_float_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    return bits;
}

static inline float aw_f16_get(uint16_t v)
{
    _Float16 h;
    memcpy(&h, &v, 2);
    return (float)h;
}

static inline uint16_t aw_f16_put(float f)
{
    _Float16 h = (_Float16)f;
    uint16_t v;
    memcpy(&v, &h, 2);
    return v;
}

static inline float aw_bf16_get(uint16_t v)
{
    return aw_bits_float((uint32_t)v << 16);
}

static inline uint16_t aw_bf16_put(float f)
{
    uint32_t bits = aw_float_bits(f);
    if (isnan(f))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* e4m3 has no infinities and one NaN; e5m2 is the upper half of an f16. */
static inline float aw_e4m3_get(uint8_t v)
{
    float sign = v & 0x80 ? -1.0f : 1.0f;
    int exponent = v >> 3 & 15, fraction = v & 7;
    if ((v & 0x7f) == 0x7f)
        return NAN;
    return sign * (exponent ? ldexpf((float)(8 + fraction), exponent - 10) : ldexpf((float)fraction, -9));
}

static inline uint8_t aw_e4m3_put(float f)
{
    uint8_t sign = aw_float_bits(f) >> 24 & 0x80;
    float a = fabsf(f);
    int exponent;
    if (isnan(f))
        return sign | 0x7f;
    if (a >= 448.0f)
        return sign | 0x7e;
    frexpf(a, &exponent);
    if (exponent < -5)
        exponent = -5; /* subnormal: steps of 2^-9 */
    int units = (int)nearbyintf(ldexpf(a, 4 - exponent)); /* 8 to 16, or less where it is subnormal */
    return sign | (uint8_t)(units < 8 ? units : ((exponent + 6) << 3) + units - 8);
}

static inline float aw_e5m2_get(uint8_t v)
{
    return aw_f16_get((uint16_t)(v << 8));
}

static inline uint8_t aw_e5m2_put(float f)
{
    uint8_t sign = aw_float_bits(f) >> 24 & 0x80;
    float a = fabsf(f);
    int exponent;
    if (isnan(f))
        return sign | 0x7f;
    if (a >= 57344.0f)
        return sign | 0x7b;
    frexpf(a, &exponent);
    if (exponent < -13)
        exponent = -13; /* steps of 2^-16 */
    int units = (int)nearbyintf(ldexpf(a, 3 - exponent));
    return sign | (uint8_t)(units < 4 ? units : ((exponent + 14) << 2) + units - 4);
}

#endif
