/* What the tests of cuTENSOR share: tensors on the device with any layout, and their elements in double.  The references are
 * plain loops over all modes; nothing here calls the library but for descriptors. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_LIBS_CUTENSOR_TENSOR_H
#define AW_TEST_LIBS_CUTENSOR_TENSOR_H

#include <complex.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../verdict.h"
#include "cutensor.h"

typedef double _Complex cplx;
enum { MODES = 8 }; /* names are 0 to 7 */

extern const cutensorComputeDescriptor_t CUTENSOR_COMPUTE_DESC_16F, CUTENSOR_COMPUTE_DESC_16BF, CUTENSOR_COMPUTE_DESC_TF32,
    CUTENSOR_COMPUTE_DESC_3XTF32, CUTENSOR_COMPUTE_DESC_32F, CUTENSOR_COMPUTE_DESC_64F, CUTENSOR_COMPUTE_DESC_4X16F,
    CUTENSOR_COMPUTE_DESC_8XINT8, CUTENSOR_COMPUTE_DESC_9X16BF;

static cutensorHandle_t handle;

#define CHECK(condition) check(condition, "line %d: %s", __LINE__, #condition)
#define FINE(call) check((call) == CUTENSOR_STATUS_SUCCESS, "line %d: %s", __LINE__, #call)

static unsigned seed = 1;

static inline unsigned any_below(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static inline size_t size_of(cudaDataType t)
{
    return t == CUDA_R_16F || t == CUDA_R_16BF ? 2 : t == CUDA_R_32F ? 4 : t == CUDA_C_64F ? 16 : 8;
}

static inline int is_complex(cudaDataType t)
{
    return t == CUDA_C_32F || t == CUDA_C_64F;
}

static inline cplx get(cudaDataType t, const void *at, int64_t i)
{
    _Float16 h;
    float f;
    uint32_t bits;
    switch (t) {
    case CUDA_R_16F: memcpy(&h, (const char *)at + 2 * i, 2); return (double)h;
    case CUDA_R_16BF: bits = (uint32_t)((const uint16_t *)at)[i] << 16; memcpy(&f, &bits, 4); return f;
    case CUDA_R_32F: return ((const float *)at)[i];
    case CUDA_R_64F: return ((const double *)at)[i];
    case CUDA_C_32F: return ((const float _Complex *)at)[i];
    default: return ((const cplx *)at)[i];
    }
}

static inline void put(cudaDataType t, void *at, int64_t i, cplx v)
{
    _Float16 h = (_Float16)creal(v);
    float f = (float)creal(v);
    uint32_t bits;
    switch (t) {
    case CUDA_R_16F: memcpy((char *)at + 2 * i, &h, 2); break;
    case CUDA_R_16BF: memcpy(&bits, &f, 4); ((uint16_t *)at)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); break;
    case CUDA_R_32F: ((float *)at)[i] = f; break;
    case CUDA_R_64F: ((double *)at)[i] = creal(v); break;
    case CUDA_C_32F: ((float _Complex *)at)[i] = (float _Complex)v; break;
    default: ((cplx *)at)[i] = v; break;
    }
}

static inline double epsilon(cudaDataType t)
{
    return t == CUDA_R_16F ? 1e-3 : t == CUDA_R_16BF ? 8e-3 : t == CUDA_R_32F || t == CUDA_C_32F ? 3e-6 : 1e-13;
}

struct tensor {
    cudaDataType type;
    uint32_t n;
    int32_t mode[MODES];
    int64_t extent[MODES], stride[MODES], reach;
    void *device, *host;
    cplx *value; /* of all that lies between the first element and the last */
    cutensorTensorDescriptor_t desc;
};

static inline void tensor_put(struct tensor *t)
{
    cudaMemcpy(t->device, t->host, (size_t)t->reach * size_of(t->type), 1);
}

/* Values of 0.25 to 1.75, in any order of strides; `gaps`: with room between some. */
static inline struct tensor tensor_make(cudaDataType type, uint32_t n, const int32_t mode[], const int64_t extent_of[], int gaps)
{
    struct tensor t = { .type = type, .n = n, .reach = 1 };
    uint32_t order[MODES];
    int64_t next = gaps && any_below(4) == 0 ? 2 : 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = gaps ? any_below(i + 1) : i;
        order[i] = order[k];
        order[k] = i;
        t.mode[i] = mode[i];
        t.extent[i] = extent_of[mode[i]];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t m = order[i];
        t.stride[m] = next;
        next = next * t.extent[m] + (gaps && any_below(3) == 0 ? 1 + any_below(3) : 0);
        t.reach += (t.extent[m] - 1) * t.stride[m];
    }
    t.host = malloc((size_t)t.reach * size_of(type));
    t.value = malloc((size_t)t.reach * sizeof *t.value);
    cudaMalloc(&t.device, (size_t)t.reach * size_of(type));
    for (int64_t i = 0; i < t.reach; i++) {
        double re = 0.25 + any_below(49) / 32.0, im = is_complex(type) ? any_below(33) / 32.0 - 0.5 : 0;
        put(type, t.host, i, CMPLX(re, im));
        t.value[i] = get(type, t.host, i);
    }
    tensor_put(&t);
    FINE(cutensorCreateTensorDescriptor(handle, &t.desc, n, t.extent, gaps ? t.stride : NULL, type, 16));
    return t;
}

static inline void tensor_drop(struct tensor *t)
{
    FINE(cutensorDestroyTensorDescriptor(t->desc));
    cudaFree(t->device);
    free(t->host);
    free(t->value);
}

/* Where an element lies, by the indices of all modes. */
static inline int64_t place(const struct tensor *t, const int64_t index[])
{
    int64_t at = 0;
    for (uint32_t i = 0; i < t->n; i++)
        at += index[t->mode[i]] * t->stride[i];
    return at;
}

static inline int has_mode(const struct tensor *t, int32_t mode)
{
    for (uint32_t i = 0; i < t->n; i++)
        if (t->mode[i] == mode)
            return 1;
    return 0;
}

/* The next of all indices of `used` modes; 0: that was the last. */
static inline int next_index(int64_t index[], const int64_t extent[], unsigned used)
{
    for (int m = 0; m < MODES; m++) {
        if (!(used >> m & 1))
            continue;
        if (++index[m] < extent[m])
            return 1;
        index[m] = 0;
    }
    return 0;
}

static inline unsigned modes_of(const struct tensor *t)
{
    unsigned used = 0;
    for (uint32_t i = 0; i < t->n; i++)
        used |= 1u << t->mode[i];
    return used;
}

/* Compares all memory with `value`, what lies between the elements too. */
static inline int tensor_check(struct tensor *t, double tolerance, const char *what)
{
    int good = 1;
    cudaDeviceSynchronize();
    cudaMemcpy(t->host, t->device, (size_t)t->reach * size_of(t->type), 2);
    for (int64_t i = 0; i < t->reach && good; i++) {
        cplx got = get(t->type, t->host, i), want = t->value[i];
        if (isinf(creal(want)) && creal(got) == creal(want))
            continue;
        good = check(cabs(got - want) <= tolerance * (1 + cabs(want)), "%s (seed %u): [%ld] is %g%+gi, not %g%+gi", what, seed,
                     (long)i, creal(got), cimag(got), creal(want), cimag(want));
    }
    return good;
}

/* A scalar in the operation's type. */
struct scalar {
    _Alignas(16) char bytes[16];
};

static inline struct scalar scalar_of(cutensorOperationDescriptor_t op, cplx value)
{
    struct scalar s;
    cudaDataType type;
    FINE(cutensorOperationDescriptorGetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE, &type, sizeof type));
    put(type, s.bytes, 0, value);
    return s;
}

static inline cutensorPlan_t plan_of(cutensorOperationDescriptor_t op)
{
    cutensorPlanPreference_t pref;
    cutensorPlan_t plan = NULL;
    uint64_t size = 1, exact = 1;
    FINE(cutensorCreatePlanPreference(handle, &pref, CUTENSOR_ALGO_DEFAULT, CUTENSOR_JIT_MODE_NONE));
    FINE(cutensorEstimateWorkspaceSize(handle, op, pref, CUTENSOR_WORKSPACE_DEFAULT, &size));
    FINE(cutensorCreatePlan(handle, &plan, op, pref, size));
    FINE(cutensorPlanGetAttribute(handle, plan, CUTENSOR_PLAN_REQUIRED_WORKSPACE, &exact, sizeof exact));
    CHECK(exact <= size);
    FINE(cutensorDestroyPlanPreference(pref));
    return plan;
}

#endif
