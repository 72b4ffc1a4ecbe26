/* Conversion of CUDA's data types: see convert.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "common/convert.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "common/vectorised.h"

size_t aw_type_size(cudaDataType type)
{
    switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_C_8I:
    case CUDA_C_8U: return 2;
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_C_16F:
    case CUDA_C_16BF: return 4;
    case CUDA_R_64F:
    case CUDA_C_32F:
    case CUDA_C_32I: return 8;
    case CUDA_C_64F: return 16;
    }
    return 0;
}

bool aw_type_complex(cudaDataType type)
{
    return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_8I || type == CUDA_C_8U ||
           type == CUDA_C_32I || type == CUDA_C_16BF;
}

static inline float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The exponent is moved by a multiplication, which does the subnormal ones right, too. */
static inline float half_to_float(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13, sign = (uint32_t)(h & 0x8000) << 16;
    uint32_t finite = bits_of(float_of(magnitude) * 0x1p112f), special = magnitude | 0x7f800000u;
    return float_of((magnitude >= 0x0f800000u ? special : finite) | sign);
}

static inline uint16_t float_to_half(float f)
{
    uint32_t bits = bits_of(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    /* Subnormal results by an addition that leaves their bits at the end of the sum. */
    uint32_t small = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
    uint32_t normal = (magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13;
    uint32_t large = magnitude > 0x7f800000u ? 0x7e00 : 0x7c00;
    return (uint16_t)(sign | (magnitude < 0x38800000u ? small : magnitude >= 0x477ff000u ? large : normal));
}

static inline uint16_t float_to_bf16(float f)
{
    uint32_t bits = bits_of(f), rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40 : rounded);
}

/* ---- Eight bits: tables in, arithmetic out.  E4M3 has no infinity and NaN in one place, E5M2 is the upper half of a half. */

static float e4m3[256], e5m2[256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void tables_make(void)
{
    for (int i = 0; i < 256; i++) {
        int exponent = i >> 3 & 15, mantissa = i & 7;
        float f = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
        if ((i & 0x7f) == 0x7f)
            f = NAN;
        e4m3[i] = i & 0x80 ? -f : f;
        e5m2[i] = half_to_float((uint16_t)(i << 8));
    }
}

/* To a float of `mantissa` bits behind the point with exponents from `least`; what is above `largest` saturates. */
static uint8_t float_to_8(float f, int mantissa, int least, float largest, uint8_t nan)
{
    uint8_t sign = signbit(f) ? 0x80 : 0;
    float a = fabsf(f);
    int exponent;
    if (isnan(f))
        return nan;
    if (a > largest)
        a = largest;
    if (a == 0)
        return sign;
    (void)frexpf(a, &exponent);
    exponent = exponent - 1 < least ? least : exponent - 1;
    int steps = (int)nearbyintf(ldexpf(a, mantissa - exponent)); /* carries into the exponent by itself */
    return (uint8_t)(sign | (((exponent - least) << mantissa) + steps));
}

static inline float saturate(float f, float low, float high)
{
    return f < low ? low : f > high ? high : f;
}

/* ---- Runs */

AW_VECTORISED static void halves_in(const uint16_t *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = half_to_float(from[i]);
}

AW_VECTORISED static void halves_out(const float *from, int64_t n, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = float_to_half(from[i]);
}

AW_VECTORISED static void bf16_in(const uint16_t *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = float_of((uint32_t)from[i] << 16);
}

AW_VECTORISED static void bf16_out(const float *from, int64_t n, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = float_to_bf16(from[i]);
}

AW_VECTORISED static void bytes_in(const int8_t *from, int64_t n, float *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i];
}

void aw_type_to_float(cudaDataType type, const void *from, int64_t n, float *to)
{
    pthread_once(&tables_once, tables_make);
    switch (type) {
    case CUDA_R_32F: memcpy(to, from, (size_t)n * sizeof *to); break;
    case CUDA_R_16F: halves_in(from, n, to); break;
    case CUDA_R_16BF: bf16_in(from, n, to); break;
    case CUDA_R_8I: bytes_in(from, n, to); break;
    default:
        for (int64_t i = 0; i < n; i++)
            to[i] = type == CUDA_R_8F_E4M3   ? e4m3[((const uint8_t *)from)[i]]
                    : type == CUDA_R_8F_E5M2 ? e5m2[((const uint8_t *)from)[i]]
                                             : (float)creal(aw_type_load(type, from, i));
    }
}

void aw_type_from_float(cudaDataType type, const float *from, int64_t n, void *to)
{
    switch (type) {
    case CUDA_R_32F: memcpy(to, from, (size_t)n * sizeof *from); break;
    case CUDA_R_16F: halves_out(from, n, to); break;
    case CUDA_R_16BF: bf16_out(from, n, to); break;
    default:
        for (int64_t i = 0; i < n; i++)
            aw_type_store(type, to, i, from[i]);
    }
}

/* ---- One element */

double _Complex aw_type_load(cudaDataType type, const void *from, int64_t i)
{
    pthread_once(&tables_once, tables_make);
    switch (type) {
    case CUDA_R_32F: return ((const float *)from)[i];
    case CUDA_R_64F: return ((const double *)from)[i];
    case CUDA_R_16F: return half_to_float(((const uint16_t *)from)[i]);
    case CUDA_R_16BF: return float_of((uint32_t)((const uint16_t *)from)[i] << 16);
    case CUDA_R_8I: return ((const int8_t *)from)[i];
    case CUDA_R_8U: return ((const uint8_t *)from)[i];
    case CUDA_R_32I: return ((const int32_t *)from)[i];
    case CUDA_R_8F_E4M3: return e4m3[((const uint8_t *)from)[i]];
    case CUDA_R_8F_E5M2: return e5m2[((const uint8_t *)from)[i]];
    case CUDA_C_32F: return ((const float _Complex *)from)[i];
    case CUDA_C_64F: return ((const double _Complex *)from)[i];
    case CUDA_C_16F:
        return CMPLX(half_to_float(((const uint16_t *)from)[2 * i]), half_to_float(((const uint16_t *)from)[2 * i + 1]));
    case CUDA_C_8I: return CMPLX(((const int8_t *)from)[2 * i], ((const int8_t *)from)[2 * i + 1]);
    default: return 0;
    }
}

void aw_type_store(cudaDataType type, void *to, int64_t i, double _Complex value)
{
    double re = creal(value);
    switch (type) {
    case CUDA_R_32F: ((float *)to)[i] = (float)re; break;
    case CUDA_R_64F: ((double *)to)[i] = re; break;
    case CUDA_R_16F: ((uint16_t *)to)[i] = float_to_half((float)re); break;
    case CUDA_R_16BF: ((uint16_t *)to)[i] = float_to_bf16((float)re); break;
    case CUDA_R_8I: ((int8_t *)to)[i] = (int8_t)nearbyintf(saturate((float)re, -128, 127)); break;
    case CUDA_R_8U: ((uint8_t *)to)[i] = (uint8_t)nearbyintf(saturate((float)re, 0, 255)); break;
    case CUDA_R_32I:
        ((int32_t *)to)[i] = re >= 2147483647.0 ? INT32_MAX : re <= -2147483648.0 ? INT32_MIN : (int32_t)nearbyint(re);
        break;
    case CUDA_R_8F_E4M3: ((uint8_t *)to)[i] = float_to_8((float)re, 3, -6, 448, 0x7f); break;
    case CUDA_R_8F_E5M2: ((uint8_t *)to)[i] = float_to_8((float)re, 2, -14, 57344, 0x7f); break;
    case CUDA_C_32F: ((float _Complex *)to)[i] = (float _Complex)value; break;
    case CUDA_C_64F: ((double _Complex *)to)[i] = value; break;
    case CUDA_C_16F:
        ((uint16_t *)to)[2 * i] = float_to_half((float)re);
        ((uint16_t *)to)[2 * i + 1] = float_to_half((float)cimag(value));
        break;
    default: break;
    }
}
