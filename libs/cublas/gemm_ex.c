/* Products with types of their own: GemmEx and its kin, half precision, the vectors' batched products, and groups. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/convert.h"
#include "cublas_proto.h"
#include "handle.h"
#include "product.h"

/* What all of them say, in the order of cuBLAS. */
struct gemm_ex {
    cublasOperation_t opa, opb;
    int64_t m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    cudaDataType at, bt, ct;
    int64_t lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    bool pointers, vectors; /* vectors: B and C are such, with increments for leading dimensions */
    cublasComputeType_t compute;
};

static cublasStatus_t gemm_ex(cublasHandle_t handle, const struct gemm_ex *g)
{
    struct aw_product p;
    cublasStatus_t status = aw_blas_handle_check(handle);
    bool na = g->opa == CUBLAS_OP_N, nb = g->opb == CUBLAS_OP_N;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!g->alpha || !g->beta || g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(&p, 0, sizeof p);
    p.opa = g->opa, p.opb = g->opb;
    p.m = g->m, p.n = g->n, p.k = g->k, p.batch = g->batch;
    p.a = (struct aw_product_matrix){ g->at, na ? g->m : g->k, na ? g->k : g->m, g->lda, g->stride_a, false };
    p.b = (struct aw_product_matrix){ g->bt, nb ? g->k : g->n, nb ? g->n : g->k, g->ldb, g->stride_b, g->vectors };
    p.c = p.d = (struct aw_product_matrix){ g->ct, g->m, g->n, g->ldc, g->stride_c, g->vectors };
    p.pointers = g->pointers;
    p.device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    p.scale = CUDA_R_32I; /* where sums are integers */
    p.workspace = handle->workspace, p.workspace_size = handle->workspace_size;
    status = aw_product_types(&p, g->compute);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    p.job.spans[AW_PRODUCT_A].at = (void *)(uintptr_t)g->a;
    p.job.spans[AW_PRODUCT_B].at = (void *)(uintptr_t)g->b;
    p.job.spans[AW_PRODUCT_C].at = p.job.spans[AW_PRODUCT_D].at = g->c;
    aw_product_scalar(&p, AW_PRODUCT_SCALARS, g->alpha);
    aw_product_scalar(&p, AW_PRODUCT_BETA, g->beta);
    return aw_product_submit(&p, &handle->queue);
}

cublasStatus_t awcublas_cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
                                     int64_t n, int64_t k, const void *alpha, const void *A, cudaDataType Atype, int64_t lda,
                                     const void *B, cudaDataType Btype, int64_t ldb, const void *beta, void *C,
                                     cudaDataType Ctype, int64_t ldc, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    return gemm_ex(handle, &(struct gemm_ex){ transa, transb, m, n, k, alpha, A, B, beta, C, Atype, Btype, Ctype, lda, ldb, ldc,
                                              0, 0, 0, 1, false, false, compute });
}

cublasStatus_t awcublas_cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
                                            int64_t n, int64_t k, const void *alpha, const void **A, cudaDataType Atype,
                                            int64_t lda, const void **B, cudaDataType Btype, int64_t ldb, const void *beta,
                                            void **C, cudaDataType Ctype, int64_t ldc, int64_t batch, cublasComputeType_t compute,
                                            cublasGemmAlgo_t algo)
{
    return gemm_ex(handle, &(struct gemm_ex){ transa, transb, m, n, k, alpha, A, B, beta, C, Atype, Btype, Ctype, lda, ldb, ldc,
                                              0, 0, 0, batch, true, false, compute });
}

cublasStatus_t awcublas_cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                                   int64_t m, int64_t n, int64_t k, const void *alpha, const void *A,
                                                   cudaDataType Atype, int64_t lda, long long strideA, const void *B,
                                                   cudaDataType Btype, int64_t ldb, long long strideB, const void *beta, void *C,
                                                   cudaDataType Ctype, int64_t ldc, long long strideC, int64_t batch,
                                                   cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    return gemm_ex(handle, &(struct gemm_ex){ transa, transb, m, n, k, alpha, A, B, beta, C, Atype, Btype, Ctype, lda, ldb, ldc,
                                              strideA, strideB, strideC, batch, false, false, compute });
}

#define TYPED_GEMM(name, T)                                                                                                    \
    cublasStatus_t awcublas_##name(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,       \
                                   int64_t n, int64_t k, const T *alpha, const void *A, cudaDataType Atype, int64_t lda,       \
                                   const void *B, cudaDataType Btype, int64_t ldb, const T *beta, void *C, cudaDataType Ctype, \
                                   int64_t ldc)                                                                                \
    {                                                                                                                          \
        return gemm_ex(handle, &(struct gemm_ex){ transa, transb, m, n, k, alpha, A, B, beta, C, Atype, Btype, Ctype, lda,     \
                                                  ldb, ldc, 0, 0, 0, 1, false, false, CUBLAS_COMPUTE_32F });                   \
    }
TYPED_GEMM(cublasSgemmEx, float)
TYPED_GEMM(cublasCgemmEx, cuComplex)
TYPED_GEMM(cublasCgemm3mEx, cuComplex)

/* ---- Half precision: summed in float, which is more exact than what cuBLAS promises. */

cublasStatus_t awcublas_cublasHgemm(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
                                    int64_t n, int64_t k, const __half *alpha, const __half *A, int64_t lda, const __half *B,
                                    int64_t ldb, const __half *beta, __half *C, int64_t ldc)
{
    return awcublas_cublasGemmEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, B, CUDA_R_16F, ldb, beta, C,
                                 CUDA_R_16F, ldc, CUBLAS_COMPUTE_16F, 0);
}

cublasStatus_t awcublas_cublasHgemmBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,
                                           int64_t n, int64_t k, const __half *alpha, const __half **A, int64_t lda,
                                           const __half **B, int64_t ldb, const __half *beta, __half **C, int64_t ldc,
                                           int64_t batch)
{
    return awcublas_cublasGemmBatchedEx(handle, transa, transb, m, n, k, alpha, (const void **)A, CUDA_R_16F, lda,
                                        (const void **)B, CUDA_R_16F, ldb, beta, (void **)C, CUDA_R_16F, ldc, batch,
                                        CUBLAS_COMPUTE_16F, 0);
}

cublasStatus_t awcublas_cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                                                  int64_t m, int64_t n, int64_t k, const __half *alpha, const __half *A,
                                                  int64_t lda, long long strideA, const __half *B, int64_t ldb, long long strideB,
                                                  const __half *beta, __half *C, int64_t ldc, long long strideC, int64_t batch)
{
    return awcublas_cublasGemmStridedBatchedEx(handle, transa, transb, m, n, k, alpha, A, CUDA_R_16F, lda, strideA, B, CUDA_R_16F,
                                               ldb, strideB, beta, C, CUDA_R_16F, ldc, strideC, batch, CUBLAS_COMPUTE_16F, 0);
}

/* A matrix by vectors, of which the name says the types: H half, T bf16, S float; of input, scalars, output. */
#define TYPED_GEMV(letters, In, in_type, Out, out_type)                                                                         \
    cublasStatus_t awcublas_cublas##letters##gemvBatched(cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n,  \
                                                         const float *alpha, const In **A, int64_t lda, const In **x,           \
                                                         int64_t incx, const float *beta, Out **y, int64_t incy, int64_t batch) \
    {                                                                                                                           \
        bool plain = trans == CUBLAS_OP_N;                                                                                      \
        if (incx <= 0 || incy <= 0)                                                                                             \
            return incx && incy ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_INVALID_VALUE;                                    \
        return gemm_ex(handle, &(struct gemm_ex){ trans, CUBLAS_OP_N, plain ? m : n, 1, plain ? n : m, alpha, A, x, beta, y,    \
                                                  in_type, in_type, out_type, lda, incx, incy, 0, 0, 0, batch, true, true,      \
                                                  CUBLAS_COMPUTE_32F });                                                        \
    }                                                                                                                           \
    cublasStatus_t awcublas_cublas##letters##gemvStridedBatched(                                                                \
        cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const float *alpha, const In *A, int64_t lda,     \
        long long strideA, const In *x, int64_t incx, long long stridex, const float *beta, Out *y, int64_t incy,               \
        long long stridey, int64_t batch)                                                                                       \
    {                                                                                                                           \
        bool plain = trans == CUBLAS_OP_N;                                                                                      \
        if (incx <= 0 || incy <= 0)                                                                                             \
            return incx && incy ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_INVALID_VALUE;                                    \
        return gemm_ex(handle, &(struct gemm_ex){ trans, CUBLAS_OP_N, plain ? m : n, 1, plain ? n : m, alpha, A, x, beta, y,    \
                                                  in_type, in_type, out_type, lda, incx, incy, strideA, stridex, stridey,       \
                                                  batch, false, true, CUBLAS_COMPUTE_32F });                                    \
    }
TYPED_GEMV(HSH, __half, CUDA_R_16F, __half, CUDA_R_16F)
TYPED_GEMV(HSS, __half, CUDA_R_16F, float, CUDA_R_32F)
TYPED_GEMV(TST, __nv_bfloat16, CUDA_R_16BF, __nv_bfloat16, CUDA_R_16BF)
TYPED_GEMV(TSS, __nv_bfloat16, CUDA_R_16BF, float, CUDA_R_32F)

/* ---- Groups: what is said of each is on the host, the pointers of all are one array. */

#define GROUPED(suffix, Int)                                                                                                     \
    cublasStatus_t awcublas_cublasGemmGroupedBatchedEx##suffix(                                                                  \
        cublasHandle_t handle, const cublasOperation_t *transa, const cublasOperation_t *transb, const Int *m, const Int *n,     \
        const Int *k, const void *alpha, const void **A, cudaDataType Atype, const Int *lda, const void **B, cudaDataType Btype, \
        const Int *ldb, const void *beta, void **C, cudaDataType Ctype, const Int *ldc, Int group_count, const Int *group_size,  \
        cublasComputeType_t compute)                                                                                             \
    {                                                                                                                            \
        size_t scale = aw_type_size(compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC ? CUDA_R_64F         \
                                                                                                            : CUDA_R_32F);       \
        cublasStatus_t status = aw_blas_handle_check(handle);                                                                    \
        int64_t at = 0;                                                                                                          \
        for (Int g = 0; g < group_count && status == CUBLAS_STATUS_SUCCESS; at += group_size[g++])                               \
            status = gemm_ex(handle, &(struct gemm_ex){ transa[g], transb[g], m[g], n[g], k[g],                                  \
                                                        (const char *)alpha + (size_t)g * scale, A + at, B + at,                 \
                                                        (const char *)beta + (size_t)g * scale, C + at, Atype, Btype, Ctype,     \
                                                        lda[g], ldb[g], ldc[g], 0, 0, 0, group_size[g], true, false,             \
                                                        compute });                                                              \
        return status;                                                                                                           \
    }                                                                                                                            \
    GROUPED_OF(S, suffix, Int, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)                                                            \
    GROUPED_OF(D, suffix, Int, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
#define GROUPED_OF(letter, suffix, Int, T, type, compute)                                                                       \
    cublasStatus_t awcublas_cublas##letter##gemmGroupedBatched##suffix(                                                         \
        cublasHandle_t handle, const cublasOperation_t *transa, const cublasOperation_t *transb, const Int *m, const Int *n,    \
        const Int *k, const T *alpha, const T **A, const Int *lda, const T **B, const Int *ldb, const T *beta, T **C,           \
        const Int *ldc, Int group_count, const Int *group_size)                                                                 \
    {                                                                                                                           \
        return awcublas_cublasGemmGroupedBatchedEx##suffix(handle, transa, transb, m, n, k, alpha, (const void **)A, type, lda, \
                                                           (const void **)B, type, ldb, beta, (void **)C, type, ldc,            \
                                                           group_count, group_size, compute);                                   \
    }
GROUPED(, int)
GROUPED(_64, int64_t)

/* ---- Rank-k updates of complex float, the only type that processors have of those. */

static bool complex_float(cudaDataType a, cudaDataType c)
{
    return a == CUDA_C_32F && c == CUDA_C_32F;
}

#define RANK_K(name, of, T)                                                                                                     \
    cublasStatus_t awcublas_##name(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int64_t n, int64_t k, \
                                   const T *alpha, const void *A, cudaDataType Atype, int64_t lda, const T *beta, void *C,      \
                                   cudaDataType Ctype, int64_t ldc)                                                             \
    {                                                                                                                           \
        return complex_float(Atype, Ctype) ? awcublas_##of(handle, uplo, trans, n, k, alpha, A, lda, beta, C, ldc)              \
                                           : CUBLAS_STATUS_NOT_SUPPORTED;                                                       \
    }
RANK_K(cublasCsyrkEx, cublasCsyrk_v2, cuComplex)
RANK_K(cublasCsyrk3mEx, cublasCsyrk_v2, cuComplex)
RANK_K(cublasCherkEx, cublasCherk_v2, float)
RANK_K(cublasCherk3mEx, cublasCherk_v2, float)
