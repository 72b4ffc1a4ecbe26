/* Descriptors of cuBLASLt: creation, attributes; handles, and the logger's settings.  Not what they mean: that is lt_matmul.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublasLt"
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cublasLt_proto.h"
#include "cublas_proto.h"
#include "handle.h"
#include "lt.h"

/* ---- Attributes */

static const struct aw_lt_attribute *attribute_find(const struct aw_lt_attribute *table, size_t n, int id)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].id == id)
            return &table[i];
    aw_say(LT_ATTRIBUTE, id);
    return NULL;
}

cublasStatus_t aw_lt_attribute_set(const struct aw_lt_attribute *table, size_t n, void *object, int id, const void *from,
                                   size_t size)
{
    const struct aw_lt_attribute *a = object && from ? attribute_find(table, n, id) : NULL;
    int32_t wide;
    if (!a || size != a->size || a->fixed)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!a->narrow) {
        memcpy((char *)object + a->at, from, size);
        return CUBLAS_STATUS_SUCCESS;
    }
    memcpy(&wide, from, sizeof wide);
    if (wide < 0 || wide > INT8_MAX)
        return CUBLAS_STATUS_INVALID_VALUE;
    *((int8_t *)object + a->at) = (int8_t)wide;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t aw_lt_bytes_get(const void *from, size_t bytes, void *ret_to, size_t size, size_t *ret_written)
{
    if (size == 0 ? !ret_written : !ret_to || size < bytes)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (size)
        memcpy(ret_to, from, bytes);
    if (ret_written)
        *ret_written = bytes;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t aw_lt_attribute_get(const struct aw_lt_attribute *table, size_t n, const void *object, int id, void *ret_to,
                                   size_t size, size_t *ret_written)
{
    const struct aw_lt_attribute *a = object ? attribute_find(table, n, id) : NULL;
    if (!a || (size && size != a->size))
        return CUBLAS_STATUS_INVALID_VALUE;
    const char *at = (const char *)object + a->at;
    int32_t wide = *(const int8_t *)at;
    return aw_lt_bytes_get(a->narrow ? (const void *)&wide : at, a->size, ret_to, size, ret_written);
}

/* ---- The kinds of descriptors.  Numbers of attributes are cuBLASLt's. */

#define FIELD(object, id, field)                                                      \
    {                                                                                 \
        id, sizeof(((struct object *)0)->field), 0, 0, offsetof(struct object, field) \
    }
#define NARROW(object, id, field)                                 \
    {                                                             \
        id, sizeof(int32_t), 1, 0, offsetof(struct object, field) \
    }

static const struct aw_lt_attribute matmul_attributes[] = {
    FIELD(aw_lt_matmul, 0, compute),      FIELD(aw_lt_matmul, 1, scale),         FIELD(aw_lt_matmul, 2, pointer_mode),
    FIELD(aw_lt_matmul, 3, opa),          FIELD(aw_lt_matmul, 4, opb),           FIELD(aw_lt_matmul, 5, opc),
    FIELD(aw_lt_matmul, 6, fill),         FIELD(aw_lt_matmul, 7, epilogue),      FIELD(aw_lt_matmul, 8, bias),
    FIELD(aw_lt_matmul, 10, bias_stride), FIELD(aw_lt_matmul, 11, aux),          FIELD(aw_lt_matmul, 12, aux_ld),
    FIELD(aw_lt_matmul, 13, aux_stride),  FIELD(aw_lt_matmul, 14, alpha_stride), FIELD(aw_lt_matmul, 15, sm_target),
    FIELD(aw_lt_matmul, 17, a_scale),     FIELD(aw_lt_matmul, 18, b_scale),      FIELD(aw_lt_matmul, 19, c_scale),
    FIELD(aw_lt_matmul, 20, d_scale),     FIELD(aw_lt_matmul, 21, amax_d),       FIELD(aw_lt_matmul, 22, aux_type),
    FIELD(aw_lt_matmul, 23, aux_scale),   FIELD(aw_lt_matmul, 24, aux_amax),     FIELD(aw_lt_matmul, 25, fast),
    FIELD(aw_lt_matmul, 26, bias_type),   NARROW(aw_lt_matmul, 31, a_mode),      NARROW(aw_lt_matmul, 32, b_mode),
    NARROW(aw_lt_matmul, 33, c_mode),     NARROW(aw_lt_matmul, 34, d_mode),      NARROW(aw_lt_matmul, 35, aux_mode),
    FIELD(aw_lt_matmul, 36, d_out_scale), NARROW(aw_lt_matmul, 37, d_out_mode),  FIELD(aw_lt_matmul, 38, emulation),
};

static const struct aw_lt_attribute layout_attributes[] = {
    FIELD(aw_lt_layout, 0, type),   FIELD(aw_lt_layout, 1, order), FIELD(aw_lt_layout, 2, rows),
    FIELD(aw_lt_layout, 3, cols),   FIELD(aw_lt_layout, 4, ld),    FIELD(aw_lt_layout, 5, batch),
    FIELD(aw_lt_layout, 6, stride), FIELD(aw_lt_layout, 7, plane), FIELD(aw_lt_layout, 8, batch_mode),
};

/* 2, 4, 10, 11 and 13 are CUDA 11's alone.  What is preferred has no effect: there is one algorithm, without a workspace. */
static const struct aw_lt_attribute preference_attributes[] = {
    FIELD(aw_lt_preference, 0, search),
    FIELD(aw_lt_preference, 1, workspace),
    FIELD(aw_lt_preference, 2, maths),
    FIELD(aw_lt_preference, 3, reductions),
    FIELD(aw_lt_preference, 4, gaussian),
    FIELD(aw_lt_preference, 5, align[0]),
    FIELD(aw_lt_preference, 6, align[1]),
    FIELD(aw_lt_preference, 7, align[2]),
    FIELD(aw_lt_preference, 8, align[3]),
    FIELD(aw_lt_preference, 9, waves),
    FIELD(aw_lt_preference, 10, pointer_modes),
    FIELD(aw_lt_preference, 11, epilogues),
    FIELD(aw_lt_preference, 12, implementations),
    FIELD(aw_lt_preference, 13, sm_target),
};

static const struct aw_lt_attribute transform_attributes[] = {
    FIELD(aw_lt_transform, 0, scale),
    FIELD(aw_lt_transform, 1, pointer_mode),
    FIELD(aw_lt_transform, 2, opa),
    FIELD(aw_lt_transform, 3, opb),
};

static const struct aw_lt_attribute emulation_attributes[] = {
    FIELD(aw_lt_emulation, 0, strategy), FIELD(aw_lt_emulation, 1, special), FIELD(aw_lt_emulation, 2, control),
    FIELD(aw_lt_emulation, 3, max_bits), FIELD(aw_lt_emulation, 4, offset),  FIELD(aw_lt_emulation, 5, count),
};

_Static_assert(sizeof(struct aw_lt_matmul) <= 184 && sizeof(struct aw_lt_layout) <= 64 && sizeof(struct aw_lt_preference) <= 64 &&
                   sizeof(struct aw_lt_transform) <= 64 && sizeof(struct aw_lt_emulation) <= 64,
               "as large as cuBLASLt's");

/* Create (on the heap), Init (in the program's memory), Destroy and attributes of a kind of descriptors.  PARAMETERS are those
 * of its making, VALUE what it then is. */
#define DESCRIPTOR(kind, handle, object, attribute, table, PARAMETERS, ARGUMENTS, ...)                                      \
    cublasStatus_t awcublaslt_cublasLt##kind##Init_internal(handle at, size_t size PARAMETERS)                              \
    {                                                                                                                       \
        if (!at)                                                                                                            \
            return CUBLAS_STATUS_INVALID_VALUE;                                                                             \
        if (size < sizeof *at)                                                                                              \
            return CUBLAS_STATUS_ALLOC_FAILED;                                                                              \
        *at = (struct object){ __VA_ARGS__ };                                                                               \
        return CUBLAS_STATUS_SUCCESS;                                                                                       \
    }                                                                                                                       \
    cublasStatus_t awcublaslt_cublasLt##kind##Create(handle *ret PARAMETERS)                                                \
    {                                                                                                                       \
        if (!ret)                                                                                                           \
            return CUBLAS_STATUS_INVALID_VALUE;                                                                             \
        handle at = malloc(sizeof *at);                                                                                     \
        if (!at)                                                                                                            \
            return CUBLAS_STATUS_ALLOC_FAILED;                                                                              \
        *ret = at;                                                                                                          \
        return awcublaslt_cublasLt##kind##Init_internal(at, sizeof *at ARGUMENTS);                                          \
    }                                                                                                                       \
    cublasStatus_t awcublaslt_cublasLt##kind##Destroy(handle at)                                                            \
    {                                                                                                                       \
        free(at);                                                                                                           \
        return CUBLAS_STATUS_SUCCESS;                                                                                       \
    }                                                                                                                       \
    cublasStatus_t awcublaslt_cublasLt##kind##SetAttribute(handle at, attribute id, const void *from, size_t size)          \
    {                                                                                                                       \
        return aw_lt_attribute_set(table, sizeof table / sizeof *table, at, id, from, size);                                \
    }                                                                                                                       \
    cublasStatus_t awcublaslt_cublasLt##kind##GetAttribute(handle at, attribute id, void *to, size_t size, size_t *written) \
    {                                                                                                                       \
        return aw_lt_attribute_get(table, sizeof table / sizeof *table, at, id, to, size, written);                         \
    }
#define LIST(...) , __VA_ARGS__

DESCRIPTOR(MatmulDesc, cublasLtMatmulDesc_t, aw_lt_matmul, cublasLtMatmulDescAttributes_t, matmul_attributes,
           LIST(cublasComputeType_t compute, cudaDataType scale), LIST(compute, scale), .compute = (int32_t)compute,
           .scale = (int32_t)scale, .fill = CUBLAS_FILL_MODE_FULL, .epilogue = AW_LT_EPILOGUE_DEFAULT, .aux_type = -1,
           .bias_type = -1)
DESCRIPTOR(MatrixLayout, cublasLtMatrixLayout_t, aw_lt_layout, cublasLtMatrixLayoutAttribute_t, layout_attributes,
           LIST(cudaDataType type, uint64_t rows, uint64_t cols, int64_t ld), LIST(type, rows, cols, ld), .type = (int32_t)type,
           .rows = rows, .cols = cols, .ld = ld, .batch = 1)
DESCRIPTOR(MatmulPreference, cublasLtMatmulPreference_t, aw_lt_preference, cublasLtMatmulPreferenceAttributes_t,
           preference_attributes, , , .implementations = UINT64_MAX, .reductions = 7, .align = { 256, 256, 256, 256 },
           .maths = UINT32_MAX, .gaussian = UINT32_MAX, .pointer_modes = UINT32_MAX, .epilogues = UINT32_MAX)
DESCRIPTOR(MatrixTransformDesc, cublasLtMatrixTransformDesc_t, aw_lt_transform, cublasLtMatrixTransformDescAttributes_t,
           transform_attributes, LIST(cudaDataType scale), LIST(scale), .scale = (int32_t)scale)
DESCRIPTOR(EmulationDesc, cublasLtEmulationDesc_t, aw_lt_emulation, cublasLtEmulationDescAttributes_t, emulation_attributes, , ,
           .special = 0xffff)

/* ---- Handles: cuBLAS's may stand for cuBLASLt's, so they are the same. */

cublasStatus_t awcublaslt_cublasLtCreate(cublasLtHandle_t *handle)
{
    return awcublas_cublasCreate_v2((cublasHandle_t *)(void *)handle);
}

cublasStatus_t awcublaslt_cublasLtDestroy(cublasLtHandle_t handle)
{
    return awcublas_cublasDestroy_v2((cublasHandle_t)(void *)handle);
}

cublasStatus_t aw_lt_queue(cublasLtHandle_t handle, cudaStream_t stream, struct aw_lib_queue *ret)
{
    cublasHandle_t h = (cublasHandle_t)(void *)handle;
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *ret = h->queue;
    ret->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- A cache of answers to questions that cost nothing: its capacity is kept. */

static size_t cache_capacity = 8192;

cublasStatus_t awcublaslt_cublasLtHeuristicsCacheGetCapacity(size_t *capacity)
{
    if (!capacity)
        return CUBLAS_STATUS_INVALID_VALUE;
    *capacity = __atomic_load_n(&cache_capacity, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublaslt_cublasLtHeuristicsCacheSetCapacity(size_t capacity)
{
    __atomic_store_n(&cache_capacity, capacity, __ATOMIC_RELAXED);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- The logger's settings are checked; what there is to say goes to ANYWARP_LOG. */

cublasStatus_t awcublaslt_cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublaslt_cublasLtLoggerSetFile(FILE *file)
{
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublaslt_cublasLtLoggerOpenFile(const char *file)
{
    return file ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t awcublaslt_cublasLtLoggerSetLevel(int level)
{
    return level >= 0 && level <= 5 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t awcublaslt_cublasLtLoggerSetMask(int mask)
{
    return mask >= 0 && mask <= 31 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t awcublaslt_cublasLtLoggerForceDisable(void)
{
    return CUBLAS_STATUS_SUCCESS;
}
