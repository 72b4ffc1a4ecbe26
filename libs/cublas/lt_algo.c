/* Algorithms of cuBLASLt: there is one, number 0, which needs no workspace.  What can be asked of it is answered as it is; sizes
 * of tiles and the like are kept and have no effect, as they have none on results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/convert.h"
#include "cublasLt_proto.h"
#include "handle.h"
#include "lt.h"

enum { MAGIC = 0x616c676f };

/* In place of cublasLtMatmulAlgo_t's 64 bytes. */
struct algo {
    uint32_t magic;
    int32_t id;
    uint32_t tile;
    int32_t split_k;
    uint32_t reduction, swizzle, custom, stages;
    uint16_t inner, cluster;
    int32_t compute, a, b, c, d; /* what it was made for */
};
_Static_assert(sizeof(struct algo) <= sizeof(cublasLtMatmulAlgo_t), "as large as cuBLASLt's");

#define FIELD(id, field, fixed)                                                       \
    {                                                                                 \
        id, sizeof(((struct algo *)0)->field), 0, fixed, offsetof(struct algo, field) \
    }
static const struct aw_lt_attribute config[] = {
    FIELD(0, id, 1),     FIELD(1, tile, 0),   FIELD(2, split_k, 0), FIELD(3, reduction, 0), FIELD(4, swizzle, 0),
    FIELD(5, custom, 0), FIELD(6, stages, 0), FIELD(7, inner, 0),   FIELD(8, cluster, 0),
};
enum { N_CONFIG = sizeof config / sizeof *config };

static bool algo_load(const cublasLtMatmulAlgo_t *from, struct algo *ret)
{
    if (from)
        memcpy(ret, from, sizeof *ret);
    return from && ret->magic == MAGIC && ret->id == 0;
}

static void algo_store(const struct algo *from, cublasLtMatmulAlgo_t *ret)
{
    memset(ret, 0, sizeof *ret);
    memcpy(ret, from, sizeof *from);
}

static struct algo algo_make(const struct aw_product *p, int compute)
{
    return (struct algo){ .magic = MAGIC,
                          .split_k = 1,
                          .compute = compute,
                          .a = (int)p->a.type,
                          .b = (int)p->b.type,
                          .c = (int)p->c.type,
                          .d = (int)p->d.type };
}

cublasStatus_t aw_lt_algo_check(const cublasLtMatmulAlgo_t *at)
{
    struct algo a;
    if (!at)
        return CUBLAS_STATUS_SUCCESS;
    return !algo_load(at, &a) ? CUBLAS_STATUS_INVALID_VALUE : a.custom ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
}

/* ---- Choice */

cublasStatus_t awcublaslt_cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                         cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                         cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                         cublasLtMatmulPreference_t preference, int requested,
                                                         cublasLtMatmulHeuristicResult_t *results, int *ret_count)
{
    struct aw_lib_queue queue;
    struct aw_product p;
    cublasStatus_t status = aw_lt_queue(handle, NULL, &queue);
    if (status == CUBLAS_STATUS_SUCCESS && (!preference || requested <= 0 || !results || !ret_count))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    *ret_count = 0;
    status = aw_lt_product(desc, Adesc, Bdesc, Cdesc, Ddesc, &p);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    struct algo a = algo_make(&p, desc->compute);
    *results = (cublasLtMatmulHeuristicResult_t){ .state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1 };
    algo_store(&a, &results->algo);
    *ret_count = 1;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoGetHeuristicForStream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                                  cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                                  cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                                  cublasLtMatmulPreference_t preference, int requested,
                                                                  cublasLtMatmulHeuristicResult_t *results, int *ret_count,
                                                                  cudaStream_t stream)
{
    return awcublaslt_cublasLtMatmulAlgoGetHeuristic(handle, desc, Adesc, Bdesc, Cdesc, Ddesc, preference, requested, results,
                                                     ret_count);
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                  cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                  cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                  const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *ret_result)
{
    struct aw_lib_queue queue;
    struct aw_product p;
    cublasStatus_t status = aw_lt_queue(handle, NULL, &queue);
    if (status == CUBLAS_STATUS_SUCCESS && (!algo || !ret_result))
        status = CUBLAS_STATUS_INVALID_VALUE;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_lt_algo_check(algo);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_lt_product(desc, Adesc, Bdesc, Cdesc, Ddesc, &p);
    if (status == CUBLAS_STATUS_SUCCESS)
        *ret_result = (cublasLtMatmulHeuristicResult_t){ .algo = *algo, .state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1 };
    return status;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoCheckForStream(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                           cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
                                                           cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
                                                           const cublasLtMatmulAlgo_t *algo,
                                                           cublasLtMatmulHeuristicResult_t *ret_result, cudaStream_t stream)
{
    return awcublaslt_cublasLtMatmulAlgoCheck(handle, desc, Adesc, Bdesc, Cdesc, Ddesc, algo, ret_result);
}

/* Is there a product of these types? */
static cublasStatus_t types_check(cublasLtHandle_t handle, int compute, cudaDataType scale, const cudaDataType t[4],
                                  struct aw_product *ret)
{
    struct aw_lib_queue queue;
    cublasStatus_t status = aw_lt_queue(handle, NULL, &queue);
    memset(ret, 0, sizeof *ret);
    ret->a.type = t[0], ret->b.type = t[1], ret->c.type = t[2], ret->d.type = t[3];
    ret->scale = scale;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_product_types(ret, (cublasComputeType_t)compute);
    return status == CUBLAS_STATUS_SUCCESS && ret->scale != scale ? CUBLAS_STATUS_NOT_SUPPORTED : status;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType scale,
                                                   cudaDataType Atype, cudaDataType Btype, cudaDataType Ctype, cudaDataType Dtype,
                                                   int requested, int *ids, int *ret_count)
{
    struct aw_product p;
    if (requested <= 0 || !ids || !ret_count)
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret_count = 0;
    cublasStatus_t status = types_check(handle, (int)compute, scale, (cudaDataType[]){ Atype, Btype, Ctype, Dtype }, &p);
    if (status == CUBLAS_STATUS_SUCCESS)
        ids[(*ret_count)++] = 0;
    return status;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType scale,
                                                 cudaDataType Atype, cudaDataType Btype, cudaDataType Ctype, cudaDataType Dtype,
                                                 int id, cublasLtMatmulAlgo_t *ret_algo)
{
    struct aw_product p;
    if (!ret_algo || id != 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = types_check(handle, (int)compute, scale, (cudaDataType[]){ Atype, Btype, Ctype, Dtype }, &p);
    if (status == CUBLAS_STATUS_SUCCESS) {
        struct algo a = algo_make(&p, (int)compute);
        algo_store(&a, ret_algo);
    }
    return status;
}

/* ---- What can be asked of it, and told */

cublasStatus_t awcublaslt_cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t *algo,
                                                               cublasLtMatmulAlgoConfigAttributes_t attr, const void *from,
                                                               size_t size)
{
    struct algo a;
    if (!algo_load(algo, &a))
        return CUBLAS_STATUS_INVALID_VALUE;
    cublasStatus_t status = aw_lt_attribute_set(config, N_CONFIG, &a, attr, from, size);
    if (status == CUBLAS_STATUS_SUCCESS)
        algo_store(&a, algo);
    return status;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                               cublasLtMatmulAlgoConfigAttributes_t attr, void *to, size_t size,
                                                               size_t *written)
{
    struct algo a;
    if (!algo_load(algo, &a))
        return CUBLAS_STATUS_INVALID_VALUE;
    return aw_lt_attribute_get(config, N_CONFIG, &a, attr, to, size, written);
}

/* Which arithmetic it is: fused multiply-add, with these sums of these operands. */
static uint64_t implementation(const struct algo *a)
{
    enum { FMA = 0, SUM_F32 = 9, SUM_F64 = 10, SUM_I32 = 11 };
    static const struct {
        int type, bit;
    } inputs[] = { { CUDA_R_16F, 16 }, { CUDA_R_16BF, 17 }, { CUDA_R_32F, 19 },     { CUDA_C_32F, 19 },    { CUDA_R_64F, 20 },
                   { CUDA_C_64F, 20 }, { CUDA_R_8I, 21 },   { CUDA_R_8F_E4M3, 22 }, { CUDA_R_8F_E5M2, 23 } };
    int sum = a->compute == CUBLAS_COMPUTE_32I || a->compute == CUBLAS_COMPUTE_32I_PEDANTIC ? SUM_I32
              : a->a == CUDA_R_64F || a->a == CUDA_C_64F                                    ? SUM_F64
                                                                                            : SUM_F32;
    uint64_t flags = UINT64_C(1) << FMA | UINT64_C(1) << sum;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i].type == a->a || inputs[i].type == a->b)
            flags |= UINT64_C(1) << inputs[i].bit;
    return flags;
}

cublasStatus_t awcublaslt_cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t *algo,
                                                            cublasLtMatmulAlgoCapAttributes_t attr, void *to, size_t size,
                                                            size_t *written)
{
    enum {
        STRIDED_BATCH = 3,
        OUT_OF_PLACE = 4,
        TILES = 6,
        CUSTOM_MAX = 7,
        CUSTOM_ORDER = 10,
        POINTER_MODES = 11,
        EPILOGUES = 12,
        STAGES = 13,
        NEGATIVE_LD = 14,
        IMPLEMENTATION = 15,
        ALIGN_A = 16,
        ALIGN_D = 19,
        POINTER_ARRAYS = 21,
        EMULATION = 22
    };
    struct algo a;
    uint32_t value = 0;
    if (!algo_load(algo, &a))
        return CUBLAS_STATUS_INVALID_VALUE;
    const int types[] = { a.a, a.b, a.c, a.d };
    if (attr == IMPLEMENTATION) {
        uint64_t flags = implementation(&a);
        return aw_lt_bytes_get(&flags, sizeof flags, to, size, written);
    }
    if (attr == STRIDED_BATCH || attr == OUT_OF_PLACE || attr == POINTER_ARRAYS)
        value = 1;
    else if (attr == POINTER_MODES)
        value = 31;
    else if (attr == EPILOGUES)
        value = 0x3ff;
    else if (attr >= ALIGN_A && attr <= ALIGN_D)
        value = (uint32_t)aw_type_size((cudaDataType)types[attr - ALIGN_A]);
    else if (attr < 0 || attr > EMULATION || attr == 8 || attr == 9 || attr == 20)
        return CUBLAS_STATUS_INVALID_VALUE;
    /* The rest is not supported, 0; of tiles and stages the list has the one that is undefined, 0. */
    return aw_lt_bytes_get(&value, sizeof value, to, size, written);
}
