/* What the tests of cuDNN share: device tensors of any type and layout with a reference copy in double, and a check that says
 * what failed. References are plain loops over that copy. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_CUDNN_CHECK_H
#define AW_TEST_CUDNN_CHECK_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CHECK_CUDNN_8
#include "cudnn_8.h"
#else
#include "cudnn.h"
#endif

int cudaMalloc(void **ptr, size_t size);
int cudaFree(void *ptr);
int cudaMemcpy(void *dst, const void *src, size_t size, int kind);
int cudaDeviceSynchronize(void);

static int failures, checks;

/* What failed is printed up to the thirtieth; all of it where the environment has CHECK_ALL. */
__attribute__((format(printf, 2, 3))) static inline int check(int good, const char *fmt, ...)
{
    va_list ap;
    checks++;
    if (good)
        return 1;
    if (failures++ < 30 || getenv("CHECK_ALL")) {
        printf("FAIL ");
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        printf("\n");
    }
    return 0;
}

static inline int done(void)
{
    printf("%d checks, %d failed\n%s\n", checks, failures, failures || !checks ? "FAIL" : "PASS");
    return failures || !checks;
}

/* A small number of which sums are exact enough in float. */
static inline double any(void)
{
    static unsigned state = 12345;
    state = state * 1664525u + 1013904223u;
    return (double)((int)(state >> 20) % 65 - 32) / 16;
}

static inline size_t size_of(int type)
{
    return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_INT32 ? 4 : 2;
}

static inline void put(int type, void *p, long i, double v)
{
    float f = (float)v;
    unsigned bits;
    _Float16 h = (_Float16)v;
    memcpy(&bits, &f, 4);
    switch (type) {
    case CUDNN_DATA_DOUBLE: ((double *)p)[i] = v; break;
    case CUDNN_DATA_FLOAT: ((float *)p)[i] = f; break;
    case CUDNN_DATA_INT32: ((int *)p)[i] = (int)v; break;
    case CUDNN_DATA_HALF: memcpy((char *)p + 2 * i, &h, 2); break;
    default: ((unsigned short *)p)[i] = (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); break; /* bfloat16 */
    }
}

static inline double get(int type, const void *p, long i)
{
    float f;
    unsigned bits;
    _Float16 h;
    switch (type) {
    case CUDNN_DATA_DOUBLE: return ((const double *)p)[i];
    case CUDNN_DATA_FLOAT: return ((const float *)p)[i];
    case CUDNN_DATA_INT32: return ((const int *)p)[i];
    case CUDNN_DATA_HALF: memcpy(&h, (const char *)p + 2 * i, 2); return (double)h;
    default:
        bits = (unsigned)((const unsigned short *)p)[i] << 16;
        memcpy(&f, &bits, 4);
        return f;
    }
}

/* A tensor: `want` has its elements in row-major order, the device in the strides' order. */
struct tensor {
    int type, n;
    int dim[8], stride[8];
    long count, extent;
    double *want;
    void *host, *device;
    cudnnTensorDescriptor_t desc;
};

enum { ROWS, CHANNELS_LAST, GAPS }; /* layouts: row-major, channels innermost, row-major with room between */

static inline long place(const struct tensor *t, long i)
{
    long at = 0;
    for (int d = t->n - 1; d >= 0; d--) {
        at += i % t->dim[d] * t->stride[d];
        i /= t->dim[d];
    }
    return at;
}

static inline void tensor_put(struct tensor *t)
{
    for (long i = 0; i < t->count; i++) {
        put(t->type, t->host, place(t, i), t->want[i]);
        t->want[i] = get(t->type, t->host, place(t, i));
    }
    cudaMemcpy(t->device, t->host, (size_t)t->extent * size_of(t->type), 1);
}

static inline struct tensor tensor_make(int type, int layout, int n, const int dim[])
{
    struct tensor t = { .type = type, .n = n, .count = 1, .extent = 1 };
    int step = layout == GAPS ? 2 : 1;
    for (int d = 0; d < n; d++) {
        t.dim[d] = dim[d];
        t.count *= dim[d];
    }
    for (int i = n - 1; i >= 0; i--) {
        /* Channels innermost: 1, then the spatial dimensions from the last, then 0. */
        int d = layout != CHANNELS_LAST || n < 3 ? i : i == n - 1 ? 1 : i > 0 ? i + 1 : 0;
        t.stride[d] = step;
        step = step * dim[d] + (layout == GAPS ? 1 : 0);
    }
    for (int d = 0; d < n; d++)
        t.extent += (long)(dim[d] - 1) * t.stride[d];
    t.want = malloc((size_t)t.count * sizeof(double));
    t.host = calloc((size_t)t.extent, size_of(type));
    cudaMalloc(&t.device, (size_t)t.extent * size_of(type));
    for (long i = 0; i < t.extent; i++)
        put(type, t.host, i, 77); /* what lies between must stay */
    for (long i = 0; i < t.count; i++)
        t.want[i] = any();
    tensor_put(&t);
    cudnnCreateTensorDescriptor(&t.desc);
    check(cudnnSetTensorNdDescriptor(t.desc, type, n, t.dim, t.stride) == 0, "tensor of %d dimensions", n);
    return t;
}

static inline void tensor_drop(struct tensor *t)
{
    cudnnDestroyTensorDescriptor(t->desc);
    cudaFree(t->device);
    free(t->host);
    free(t->want);
}

static inline double tolerance_of(int type)
{
    return type == CUDNN_DATA_DOUBLE ? 1e-10 : type == CUDNN_DATA_FLOAT ? 2e-5 : type == CUDNN_DATA_HALF ? 4e-3 : 2e-2;
}

/* Compares all elements, and what lies between them. */
static inline int tensor_is(struct tensor *t, const char *what)
{
    double worst = 0, scale = 1;
    char *touched = calloc((size_t)t->extent, 1);
    cudaDeviceSynchronize();
    cudaMemcpy(t->host, t->device, (size_t)t->extent * size_of(t->type), 2);
    for (long i = 0; i < t->count; i++)
        scale = fmax(scale, fabs(t->want[i]));
    long where = -1;
    for (long i = 0; i < t->count; i++) {
        double got = get(t->type, t->host, place(t, i)), off = fabs(got - t->want[i]);
        touched[place(t, i)] = 1;
        if (!(off <= worst) && !(got != got && t->want[i] != t->want[i]) && got != t->want[i])
            worst = off, where = i;
    }
    int good = worst <= tolerance_of(t->type) * scale;
    check(good, "%s: element %ld is off by %g of %g", what, where, worst, scale);
    for (long i = 0; i < t->extent; i++)
        if (!touched[i] && get(t->type, t->host, i) != 77)
            good = check(0, "%s: wrote between the elements at %ld", what, i);
    free(touched);
    return good;
}

/* alpha * new + beta * old, for `want` of a result. */
static inline void blend(struct tensor *t, const double *made, double alpha, double beta)
{
    for (long i = 0; i < t->count; i++)
        t->want[i] = alpha * made[i] + beta * t->want[i];
}

/* A host scalar as calls of a type take it. */
static inline const void *scalar(int type, double v)
{
    static union {
        float f;
        double d;
    } ring[16];
    static int at;
    at = (at + 1) % 16;
    if (type == CUDNN_DATA_DOUBLE)
        ring[at].d = v;
    else
        ring[at].f = (float)v;
    return &ring[at];
}

#endif
