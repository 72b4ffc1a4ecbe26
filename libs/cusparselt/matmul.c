/* Products: the sparse matrix is expanded, cuBLAS of this package multiplies into sums of 32 bits, and what comes behind is done
 * with these. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cusparseLt_proto.h"
#include "slt.h"

#define AW_ROOM "cusparselt"

/* ---- cuBLAS. */

enum { COMPUTE_32F = 68, COMPUTE_32I = 72 }; /* cublasComputeType_t */
typedef int gemm_fn(void *handle, int opa, int opb, int m, int n, int k, const void *alpha, const void *a, int at, int lda,
                    long long sa, const void *b, int bt, int ldb, long long sb, const void *beta, void *c, int ct, int ldc,
                    long long sc, int batches, int compute, int algorithm);

static struct {
    pthread_once_t once;
    int (*create)(void **handle), (*destroy)(void *handle), (*set_stream)(void *handle, cudaStream_t stream);
    gemm_fn *gemm;
    bool found;
} cublas = { .once = PTHREAD_ONCE_INIT };

struct aw_slt_blas {
    pthread_mutex_t lock; /* a handle's stream is set and used */
    void *handle;
};

static void cublas_open(void)
{
    void *lib = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
    if (lib) {
        cublas.create = (int (*)(void **))dlsym(lib, "cublasCreate_v2");
        cublas.destroy = (int (*)(void *))dlsym(lib, "cublasDestroy_v2");
        cublas.set_stream = (int (*)(void *, cudaStream_t))dlsym(lib, "cublasSetStream_v2");
        cublas.gemm = (gemm_fn *)dlsym(lib, "cublasGemmStridedBatchedEx");
    }
    cublas.found = cublas.create && cublas.destroy && cublas.set_stream && cublas.gemm;
    if (!cublas.found)
        aw_say(SPARSELT_CUBLAS, dlerror() ?: "");
}

struct aw_slt_blas *aw_slt_blas_create(void)
{
    pthread_once(&cublas.once, cublas_open);
    struct aw_slt_blas *blas = cublas.found ? calloc(1, sizeof *blas) : NULL;
    if (!blas)
        return NULL;
    pthread_mutex_init(&blas->lock, NULL);
    if (cublas.create(&blas->handle)) {
        free(blas);
        return NULL;
    }
    return blas;
}

void aw_slt_blas_destroy(struct aw_slt_blas *blas)
{
    if (!blas)
        return;
    cublas.destroy(blas->handle);
    pthread_mutex_destroy(&blas->lock);
    free(blas);
}

/* ---- The workspace: the expanded matrix, then the sums. */

struct layout {
    int64_t m, n, k;
    size_t dense, sums; /* bytes, of all batches */
};

static struct layout layout_of(const struct aw_slt_matmul *p)
{
    struct layout l = { .m = p->d.rows, .n = p->d.cols, .k = p->opa == OP_N ? p->a.cols : p->a.rows };
    const struct aw_slt_matrix *s = p->a.sparse ? &p->a : &p->b;
    l.dense = ((size_t)(s->rows * s->cols) * aw_slt_element(s->type) * (size_t)s->batches + 255) & ~(size_t)255;
    l.sums = (size_t)(l.m * l.n) * 4 * (size_t)p->d.batches;
    return l;
}

cusparseStatus_t awcusparselt_cusparseLtMatmulGetWorkspace(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                                           size_t *size)
{
    if (!handle || !plan || plan->magic != SLT_PLAN || !size)
        return CUSPARSE_STATUS_INVALID_VALUE;
    struct layout l = layout_of(&plan->matmul);
    *size = l.dense + l.sums;
    return CUSPARSE_STATUS_SUCCESS;
}

/* A factor as cuBLAS takes it: by columns, with its operation. */
struct factor {
    const void *at;
    int op, ld;
    long long stride;
};

static struct factor factor_of(const struct aw_slt_matrix *m, bool is_a, int op, const void *given, const void *dense)
{
    if (m->sparse) {
        struct aw_slt_shape s = aw_slt_shape_of(m, is_a, op);
        /* Lines of `inner`: of A its rows, so as columns they are its transpose; of B its columns. */
        return (struct factor){ dense, is_a ? OP_T : OP_N, (int)s.inner, m->batches > 1 ? s.inner * s.outer : 0 };
    }
    bool turned = m->order == ORDER_ROW;
    return (struct factor){ given, turned ? !op : op, (int)m->ld, m->batches > 1 ? m->stride : 0 };
}

static cusparseStatus_t multiply(struct aw_slt_blas *blas, const struct aw_slt_matmul *p, const struct layout *l, struct factor a,
                                 struct factor b, void *sums, cudaStream_t stream)
{
    bool whole = p->a.type == CUDA_R_8I;
    const float one = 1, zero = 0;
    const int32_t ione = 1, izero = 0;
    pthread_mutex_lock(&blas->lock);
    int status = cublas.set_stream(blas->handle, stream);
    if (!status)
        status = cublas.gemm(blas->handle, a.op, b.op, (int)l->m, (int)l->n, (int)l->k, whole ? (const void *)&ione : &one, a.at,
                             p->a.type, a.ld, a.stride, b.at, p->b.type, b.ld, b.stride, whole ? (const void *)&izero : &zero,
                             sums, whole ? CUDA_R_32I : CUDA_R_32F, (int)l->m, l->m * l->n, p->d.batches,
                             whole ? COMPUTE_32I : COMPUTE_32F, -1);
    pthread_mutex_unlock(&blas->lock);
    return status == 0    ? CUSPARSE_STATUS_SUCCESS
           : status == 15 ? CUSPARSE_STATUS_NOT_SUPPORTED
                          : CUSPARSE_STATUS_EXECUTION_FAILED;
}

/* ---- Behind the product: scales, C, bias, activation. */

enum span { SUMS, D, C, BIAS, ALPHA, BETA, SPANS };
struct after_job {
    struct aw_lib_job job;
    struct aw_slt_matmul p;
    int64_t m, n;
    float alpha, beta;
};

static float activated(const struct aw_slt_matmul *p, float v)
{
    if (p->relu)
        v = v > p->relu_threshold ? fminf(v, p->relu_upper) : 0;
    if (p->gelu)
        v = p->gelu_scale * 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    return v;
}

static void after_run(struct aw_lib_job *base)
{
    struct after_job *job = (struct after_job *)base;
    const struct aw_slt_matmul *p = &job->p;
    struct aw_lib_span *s = base->spans;
    int bias_type = p->a.type == CUDA_R_8I ? CUDA_R_32F : p->d.type;
    int sum_type = p->a.type == CUDA_R_8I ? CUDA_R_32I : CUDA_R_32F;
    for (int64_t b = 0; b < p->d.batches; b++)
        for (int64_t j = 0; j < job->n; j++)
            for (int64_t i = 0; i < job->m; i++) {
                size_t at = (size_t)(b * p->d.stride + (p->d.order == ORDER_ROW ? i * p->d.ld + j : j * p->d.ld + i));
                size_t from = (size_t)(b * p->c.stride + (p->c.order == ORDER_ROW ? i * p->c.ld + j : j * p->c.ld + i));
                size_t sum = (size_t)((b * job->n + j) * job->m + i);
                float alpha = s[ALPHA].width ? ((const float *)s[ALPHA].at)[i] : job->alpha;
                float beta = s[BETA].width ? ((const float *)s[BETA].at)[i] : job->beta;
                bool plain = sum_type == CUDA_R_32I && p->d.type == CUDA_R_32I && alpha == 1 && beta == 0 && !p->bias &&
                             !p->relu && !p->gelu;
                if (plain) { /* floats do not hold all integers */
                    ((int32_t *)s[D].at)[at] = ((const int32_t *)s[SUMS].at)[sum];
                    continue;
                }
                float v = alpha * aw_slt_get(sum_type, s[SUMS].at, sum);
                if (beta != 0)
                    v += beta * aw_slt_get(p->c.type, s[C].at, from);
                if (p->bias)
                    v += aw_slt_get(bias_type, s[BIAS].at, (size_t)(b * p->bias_stride + i));
                aw_slt_put(p->d.type, s[D].at, at, activated(p, v));
            }
}

static struct aw_lib_span vector_span(const void *at, size_t size)
{
    return (struct aw_lib_span){ .at = (void *)(uintptr_t)at, .width = at ? size : 0, .rows = 1, .pitch = size, .count = 1,
                                 .stride = size,
                                 .dir = AW_LIB_IN };
}

static CUresult after_submit(const struct aw_lib_queue *queue, const struct aw_slt_matmul *p, const struct layout *l,
                             const void *alpha, const void *beta, const void *c, void *d, void *sums)
{
    int status;
    struct after_job job = { .job = { .run = after_run, .size = sizeof job, .n_spans = SPANS }, .p = *p, .m = l->m, .n = l->n };
    struct aw_lib_span *s = job.job.spans;
    size_t bias_element = p->a.type == CUDA_R_8I ? 4 : aw_slt_element(p->d.type), vector = (size_t)l->m * 4;
    memcpy(&job.alpha, alpha, p->alpha_vector ? 0 : sizeof job.alpha);
    memcpy(&job.beta, beta, p->beta_vector ? 0 : sizeof job.beta);
    s[SUMS] = vector_span(sums, l->sums);
    s[D] = aw_slt_matrix_span(&p->d, d, AW_LIB_OUT);
    if (p->beta_vector || job.beta != 0)
        s[C] = aw_slt_matrix_span(&p->c, (void *)(uintptr_t)c, AW_LIB_IN);
    s[BIAS] = vector_span(p->bias, ((size_t)(p->d.batches - 1) * (size_t)p->bias_stride + (size_t)l->m) * bias_element);
    s[ALPHA] = vector_span(p->alpha_vector ? alpha : NULL, vector);
    s[BETA] = vector_span(p->beta_vector ? beta : NULL, vector);
    return aw_lib_submit(queue, &job.job, AW_LIB_QUEUED, &status);
}

cusparseStatus_t awcusparselt_cusparseLtMatmul(const cusparseLtHandle_t *handle, const cusparseLtMatmulPlan_t *plan,
                                               const void *alpha, const void *a, const void *b, const void *beta, const void *c,
                                               void *d, void *workspace, cudaStream_t *streams, int32_t n_streams)
{
    if (!handle || !plan || plan->magic != SLT_PLAN || !alpha || !beta || !a || !b || !c || !d || !workspace || n_streams < 0)
        return CUSPARSE_STATUS_INVALID_VALUE;
    const struct aw_slt_matmul *p = &plan->matmul;
    struct layout l = layout_of(p);
    struct aw_lib_queue queue = { .stream = streams && n_streams ? streams[0] : NULL };
    cusparseStatus_t status = aw_slt_status(aw_lib_queue_init(&queue));
    void *sums = (char *)workspace + l.dense;
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = aw_slt_status(p->a.sparse ? aw_slt_expand(&queue, &p->a, true, p->opa, a, workspace) :
                                         aw_slt_expand(&queue, &p->b, false, p->opb, b, workspace));
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = multiply(handle->blas, p, &l, factor_of(&p->a, true, p->opa, a, workspace),
                          factor_of(&p->b, false, p->opb, b, workspace), sums, queue.stream);
    return status == CUSPARSE_STATUS_SUCCESS ? aw_slt_status(after_submit(&queue, p, &l, alpha, beta, c, d, sums)) : status;
}

/* There is one algorithm: the search does the product once, as CUDA's does. */
cusparseStatus_t awcusparselt_cusparseLtMatmulSearch(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                                     const void *alpha, const void *a, const void *b, const void *beta,
                                                     const void *c, void *d, void *workspace, cudaStream_t *streams,
                                                     int32_t n_streams)
{
    return awcusparselt_cusparseLtMatmul(handle, plan, alpha, a, b, beta, c, d, workspace, streams, n_streams);
}
