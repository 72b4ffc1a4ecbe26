/* Elements of CUDA's data types in plain arithmetic, slow and independent of the library's: value of bits, and the nearest bits
 * by search. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_CUBLAS_TYPES_H
#define AW_TEST_CUBLAS_TYPES_H

#include "check.h"

static inline int type_bytes(int type)
{
    return type == CUDA_R_64F || type == CUDA_C_32F ? 8 : type == CUDA_C_64F ? 16 : type == CUDA_R_32F || type == CUDA_R_32I ? 4
           : type == CUDA_R_16F || type == CUDA_R_16BF ? 2 : 1;
}

/* A float of `e` bits of exponent and `m` of mantissa. */
static inline double small_float(unsigned bits, int e, int m)
{
    int exponent = (int)(bits >> m) & ((1 << e) - 1), bias = (1 << (e - 1)) - 1, mantissa = (int)bits & ((1 << m) - 1);
    double v = exponent ? ldexp(mantissa + (1 << m), exponent - bias - m) : ldexp(mantissa, 1 - bias - m);
    return bits >> (e + m) & 1 ? -v : v;
}

static inline double type_get(int type, const void *p, long i)
{
    float f;
    unsigned bits;
    switch (type) {
    case CUDA_R_64F: return ((const double *)p)[i];
    case CUDA_R_32F: return ((const float *)p)[i];
    case CUDA_R_32I: return ((const int *)p)[i];
    case CUDA_R_8I: return ((const signed char *)p)[i];
    case CUDA_R_16F: return small_float(((const unsigned short *)p)[i], 5, 10);
    case CUDA_R_16BF:
        bits = (unsigned)((const unsigned short *)p)[i] << 16;
        memcpy(&f, &bits, 4);
        return f;
    case CUDA_R_8F_E4M3: return small_float(((const unsigned char *)p)[i], 4, 3);
    default: return small_float(((const unsigned char *)p)[i], 5, 2);
    }
}

/* Half a unit in the last place of v, as the type has it. */
static inline double type_error(int type, double v)
{
    int m = type == CUDA_R_64F       ? 45
            : type == CUDA_R_32F     ? 18
            : type == CUDA_R_16F     ? 10
            : type == CUDA_R_16BF    ? 7
            : type == CUDA_R_8F_E4M3 ? 3
                                     : 2;
    double least = type == CUDA_R_8F_E4M3   ? ldexp(1, -10)
                   : type == CUDA_R_8F_E5M2 ? ldexp(1, -17)
                   : type == CUDA_R_16F     ? ldexp(1, -25)
                                            : 1e-30;
    if (type == CUDA_R_8I || type == CUDA_R_32I)
        return 0.5;
    return fmax(ldexp(fabs(v), -m - 1) * 1.01, least);
}

/* Random values that every type but bytes has exactly: sixteenths up to 1.5; bytes are -20 to 20. */
static inline void type_fill(int type, void *p, long n)
{
    for (long i = 0; i < n; i++) {
        int k = (int)(any() * 16);
        double v = (k % 25) / 16.0;
        float f = (float)v;
        unsigned bits;
        memcpy(&bits, &f, 4);
        switch (type) {
        case CUDA_R_64F: ((double *)p)[i] = v; break;
        case CUDA_R_32F: ((float *)p)[i] = f; break;
        case CUDA_R_32I: ((int *)p)[i] = k; break;
        case CUDA_R_8I: ((signed char *)p)[i] = (signed char)(k * 3); break;
        case CUDA_R_16BF: ((unsigned short *)p)[i] = (unsigned short)(bits >> 16); break;
        default: { /* the bits whose value is nearest */
            unsigned count = type == CUDA_R_16F ? 0x7c00 : type == CUDA_R_8F_E4M3 ? 0x7f : 0x7c,
                sign = type == CUDA_R_16F ? 0x8000 : 0x80;
            unsigned low = 0, high = count - 1;
            unsigned char *b = p;
            unsigned short *h = p;
            while (low < high) {
                unsigned mid = (low + high) / 2, probe = mid;
                double at = type == CUDA_R_16F       ? small_float(probe, 5, 10)
                            : type == CUDA_R_8F_E4M3 ? small_float(probe, 4, 3)
                                                     : small_float(probe, 5, 2);
                if (at < fabs(v))
                    low = mid + 1;
                else
                    high = mid;
            }
            if (type == CUDA_R_16F)
                h[i] = (unsigned short)(low | (v < 0 ? sign : 0));
            else
                b[i] = (unsigned char)(low | (v < 0 ? sign : 0));
        }
        }
    }
}

/* n elements on the device and the same on the host. */
struct typed {
    int type;
    long n;
    void *host, *device;
};

static inline struct typed typed_make(int type, long n)
{
    struct typed t = { type, n, malloc((size_t)(n + 1) * 16), NULL };
    type_fill(type, t.host, n);
    cudaMalloc(&t.device, (size_t)(n + 1) * (size_t)type_bytes(type));
    cudaMemcpy(t.device, t.host, (size_t)n * (size_t)type_bytes(type), 1);
    return t;
}

static inline void typed_drop(struct typed *t)
{
    cudaFree(t->device);
    free(t->host);
}

#endif
