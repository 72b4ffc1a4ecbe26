/* From descriptors of cuBLASLt to a product, and its transform of matrices.  The processor's work is product.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublasLt"
#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "cublasLt_proto.h"
#include "handle.h"
#include "lt.h"

/* ---- Epilogues */

static const struct {
    int epilogue;
    unsigned product;
} epilogues[] = {
    { AW_LT_EPILOGUE_DEFAULT, 0 },
    { AW_LT_EPILOGUE_RELU, AW_PRODUCT_RELU },
    { AW_LT_EPILOGUE_RELU | AW_LT_EPILOGUE_AUX, AW_PRODUCT_RELU | AW_PRODUCT_AUX },
    { AW_LT_EPILOGUE_BIAS, AW_PRODUCT_BIAS },
    { AW_LT_EPILOGUE_RELU | AW_LT_EPILOGUE_BIAS, AW_PRODUCT_RELU | AW_PRODUCT_BIAS },
    { AW_LT_EPILOGUE_RELU | AW_LT_EPILOGUE_AUX | AW_LT_EPILOGUE_BIAS, AW_PRODUCT_RELU | AW_PRODUCT_AUX | AW_PRODUCT_BIAS },
    { AW_LT_EPILOGUE_DRELU | AW_LT_EPILOGUE_AUX, AW_PRODUCT_DRELU },
    { AW_LT_EPILOGUE_DRELU | AW_LT_EPILOGUE_AUX | AW_LT_EPILOGUE_BGRAD, AW_PRODUCT_DRELU | AW_PRODUCT_BIAS_GRAD },
    { AW_LT_EPILOGUE_GELU, AW_PRODUCT_GELU },
    { AW_LT_EPILOGUE_GELU | AW_LT_EPILOGUE_AUX, AW_PRODUCT_GELU | AW_PRODUCT_AUX },
    { AW_LT_EPILOGUE_GELU | AW_LT_EPILOGUE_BIAS, AW_PRODUCT_GELU | AW_PRODUCT_BIAS },
    { AW_LT_EPILOGUE_GELU | AW_LT_EPILOGUE_AUX | AW_LT_EPILOGUE_BIAS, AW_PRODUCT_GELU | AW_PRODUCT_AUX | AW_PRODUCT_BIAS },
    { AW_LT_EPILOGUE_DGELU | AW_LT_EPILOGUE_AUX, AW_PRODUCT_DGELU },
    { AW_LT_EPILOGUE_DGELU | AW_LT_EPILOGUE_AUX | AW_LT_EPILOGUE_BGRAD, AW_PRODUCT_DGELU | AW_PRODUCT_BIAS_GRAD },
    { AW_LT_EPILOGUE_BGRADA, AW_PRODUCT_BIAS_GRAD_A },
    { AW_LT_EPILOGUE_BGRADB, AW_PRODUCT_BIAS_GRAD_B },
};

enum { BIASES = AW_PRODUCT_BIAS | AW_PRODUCT_BIAS_GRAD | AW_PRODUCT_BIAS_GRAD_A | AW_PRODUCT_BIAS_GRAD_B };
enum { AUXES = AW_PRODUCT_AUX | AW_PRODUCT_DRELU | AW_PRODUCT_DGELU, MASKS = AW_PRODUCT_RELU | AW_PRODUCT_DRELU };

static bool is_fp8(int type)
{
    return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

/* The type of a bias that has not been told. */
static cudaDataType bias_default(const struct aw_product *p)
{
    if (is_fp8(p->d.type))
        return p->c.type == CUDA_R_16F ? CUDA_R_16F : CUDA_R_16BF;
    if (p->d.type == CUDA_R_8I)
        return p->scale;
    return p->d.type == CUDA_R_32F && is_fp8(p->a.type) ? CUDA_R_16BF : p->d.type;
}

static cublasStatus_t epilogue_set(const struct aw_lt_matmul *desc, struct aw_product *p)
{
    size_t i = 0, n = sizeof epilogues / sizeof *epilogues;
    while (i < n && epilogues[i].epilogue != desc->epilogue)
        i++;
    if (i == n)
        return CUBLAS_STATUS_INVALID_VALUE;
    p->epilogue = epilogues[i].product;
    if (p->epilogue && (aw_type_complex(p->d.type) || (p->calc == 'i' && p->scale == CUDA_R_32I))) {
        aw_say(LT_EPILOGUE, desc->epilogue);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    p->bias_type = desc->bias_type < 0 ? bias_default(p) : (cudaDataType)desc->bias_type;
    p->aux_type = desc->aux_type < 0 ? p->d.type : (cudaDataType)desc->aux_type;
    p->bias_stride = desc->bias_stride, p->aux_ld = desc->aux_ld, p->aux_stride = desc->aux_stride;
    if ((p->epilogue & BIASES && (!aw_type_size(p->bias_type) || aw_type_complex(p->bias_type))) ||
        (p->epilogue & AUXES && (!aw_type_size(p->aux_type) || aw_type_complex(p->aux_type))))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (p->epilogue & AUXES && (p->aux_ld < p->m || p->aux_ld % (p->epilogue & MASKS ? 128 : 8) || p->aux_stride % 8))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Scalars and scales */

static cublasStatus_t scalars_set(const struct aw_lt_matmul *desc, struct aw_product *p)
{
    int mode = desc->pointer_mode;
    if (mode < AW_LT_HOST || mode > AW_LT_VECTOR_BETA_HOST)
        return CUBLAS_STATUS_INVALID_VALUE;
    p->device = mode == AW_LT_DEVICE || mode == AW_LT_DEVICE_VECTOR;
    p->alpha_vector = mode >= AW_LT_DEVICE_VECTOR;
    p->beta_vector = mode == AW_LT_DEVICE_VECTOR;
    p->beta_zero = mode == AW_LT_VECTOR_BETA_ZERO;
    p->alpha_stride = p->alpha_vector ? desc->alpha_stride : 0;
    if (p->alpha_vector && (aw_type_complex(p->scale) || p->scale == CUDA_R_32I)) {
        aw_say(LT_VECTOR_SCALES);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t scales_set(const struct aw_lt_matmul *desc, struct aw_product *p)
{
    bool any_in = desc->a_scale || desc->b_scale;
    if ((any_in && !is_fp8(p->a.type)) || (desc->c_scale && !is_fp8(p->c.type)) ||
        ((desc->d_scale || desc->amax_d) && !is_fp8(p->d.type)) || ((desc->aux_scale || desc->aux_amax) && !is_fp8(p->aux_type)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if ((desc->a_mode != AW_LT_SCALE_SCALAR && desc->a_mode != AW_LT_SCALE_OUTER_VECTOR) ||
        (desc->b_mode != AW_LT_SCALE_SCALAR && desc->b_mode != AW_LT_SCALE_OUTER_VECTOR) || desc->c_mode || desc->d_mode ||
        desc->aux_mode || desc->d_out_mode || desc->d_out_scale) {
        aw_say(LT_BLOCK_SCALES);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    p->a_scales = desc->a_scale && desc->a_mode == AW_LT_SCALE_OUTER_VECTOR;
    p->b_scales = desc->b_scale && desc->b_mode == AW_LT_SCALE_OUTER_VECTOR;
    const struct aw_lt_emulation *e = desc->emulation;
    if (e && e->count) {
        aw_say(LT_EMULATION);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- Layouts */

static cublasStatus_t layout_set(const struct aw_lt_layout *l, int64_t batch, struct aw_product_matrix *ret)
{
    if (l->rows > INT64_MAX || l->cols > INT64_MAX || l->batch != batch)
        return CUBLAS_STATUS_INVALID_VALUE;
    bool tiles = l->order > AW_ORDER_ROW;
    if (!aw_order_known(l->order) || l->plane) {
        aw_say(LT_ORDER, l->order, l->plane ? " with planes of their own" : "");
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (tiles && (l->rows > INT32_MAX || l->cols > INT32_MAX))
        return CUBLAS_STATUS_INVALID_VALUE;
    *ret = (struct aw_product_matrix){ (cudaDataType)l->type,    (int64_t)l->rows, (int64_t)l->cols, l->ld, l->stride,
                                       l->order == AW_ORDER_ROW, tiles ? (uint8_t)l->order : 0 };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t aw_lt_product(const struct aw_lt_matmul *desc, const struct aw_lt_layout *a, const struct aw_lt_layout *b,
                             const struct aw_lt_layout *c, const struct aw_lt_layout *d, struct aw_product *ret)
{
    const struct aw_lt_layout *layouts[] = { a, b, c, d };
    struct aw_product_matrix *matrices[] = { &ret->a, &ret->b, &ret->c, &ret->d };
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (!desc || !a || !b || !c || !d)
        return CUBLAS_STATUS_INVALID_VALUE;
    memset(ret, 0, sizeof *ret);
    for (int i = 0; i < 4 && status == CUBLAS_STATUS_SUCCESS; i++) {
        status = layout_set(layouts[i], d->batch, matrices[i]);
        if (layouts[i]->batch_mode != d->batch_mode || (unsigned)d->batch_mode > 1)
            status = CUBLAS_STATUS_INVALID_VALUE;
    }
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (desc->opc != CUBLAS_OP_N || desc->fill != CUBLAS_FILL_MODE_FULL) {
        aw_say(LT_OUTPUT);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    ret->opa = (cublasOperation_t)desc->opa, ret->opb = (cublasOperation_t)desc->opb;
    ret->m = ret->d.rows, ret->n = ret->d.cols, ret->k = ret->opa == CUBLAS_OP_N ? ret->a.cols : ret->a.rows;
    ret->batch = d->batch;
    ret->pointers = d->batch_mode;
    ret->scale = (cudaDataType)desc->scale;
    status = aw_product_types(ret, (cublasComputeType_t)desc->compute);
    if (status == CUBLAS_STATUS_SUCCESS && ret->scale != (cudaDataType)desc->scale)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_product_check(ret);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = epilogue_set(desc, ret);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scalars_set(desc, ret);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = scales_set(desc, ret);
    if (status == CUBLAS_STATUS_SUCCESS && ret->pointers && (ret->epilogue || ret->alpha_stride)) {
        aw_say(LT_POINTERS);
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return status;
}

cublasStatus_t awcublaslt_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha, const void *A,
                                         cublasLtMatrixLayout_t Adesc, const void *B, cublasLtMatrixLayout_t Bdesc,
                                         const void *beta, const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
                                         cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo, void *workspace,
                                         size_t size, cudaStream_t stream)
{
    struct aw_lib_queue queue;
    struct aw_product p;
    cublasStatus_t status = aw_lt_queue(handle, stream, &queue);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_lt_product(desc, Adesc, Bdesc, Cdesc, Ddesc, &p);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = aw_lt_algo_check(algo);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!alpha || (!beta && !p.beta_zero) || (size && !workspace))
        return CUBLAS_STATUS_INVALID_VALUE;
    p.workspace = workspace, p.workspace_size = size;
    struct aw_lib_span *s = p.job.spans;
    s[AW_PRODUCT_A].at = (void *)(uintptr_t)A, s[AW_PRODUCT_B].at = (void *)(uintptr_t)B;
    s[AW_PRODUCT_C].at = (void *)(uintptr_t)C, s[AW_PRODUCT_D].at = D;
    aw_product_scalar(&p, AW_PRODUCT_SCALARS, alpha);
    if (!p.beta_zero)
        aw_product_scalar(&p, AW_PRODUCT_BETA, beta);
    s[AW_PRODUCT_BIAS_AT].at = p.epilogue & BIASES ? desc->bias : NULL;
    s[AW_PRODUCT_AUX_AT].at = p.epilogue & AUXES ? desc->aux : NULL;
    if ((p.epilogue & BIASES && !desc->bias) || (p.epilogue & AUXES && !desc->aux))
        return CUBLAS_STATUS_INVALID_VALUE;
    s[AW_PRODUCT_SCALE_A].at = desc->a_scale, s[AW_PRODUCT_SCALE_B].at = desc->b_scale;
    s[AW_PRODUCT_SCALE_C].at = desc->c_scale, s[AW_PRODUCT_SCALE_D].at = desc->d_scale;
    s[AW_PRODUCT_SCALE_AUX].at = p.epilogue & AUXES ? desc->aux_scale : NULL;
    s[AW_PRODUCT_AMAX_D].at = desc->amax_d;
    s[AW_PRODUCT_AMAX_AUX].at = p.epilogue & AW_PRODUCT_AUX ? desc->aux_amax : NULL;
    return aw_product_submit(&p, &queue);
}

/* ---- Transform: C = alpha op(A) + beta op(B), from one order and type to another. */

struct transform {
    struct aw_lib_job job;
    struct aw_lt_layout in[2], out;
    bool transposed[2], used[2], device;
    cudaDataType scale;
    double scalar[2][2]; /* alpha's and beta's bits */
};

/* Where an element lies. */
static int64_t offset(const struct aw_lt_layout *l, int64_t row, int64_t col)
{
    return aw_order_offset(l->order, l->ld, row, col);
}

static void transform_run(struct aw_lib_job *job)
{
    struct transform *t = (struct transform *)job;
    double _Complex scalar[2];
    for (int i = 0; i < 2; i++)
        scalar[i] = t->used[i] ? aw_type_load(t->scale, t->device ? job->spans[3 + i].at : t->scalar[i], 0) : 0;
    for (int64_t item = 0; item < t->out.batch; item++)
        for (int64_t col = 0; col < (int64_t)t->out.cols; col++)
            for (int64_t row = 0; row < (int64_t)t->out.rows; row++) {
                double _Complex v = 0;
                for (int i = 0; i < 2; i++)
                    if (scalar[i] != 0)
                        v += scalar[i] * aw_type_load((cudaDataType)t->in[i].type, job->spans[i].at,
                                                      item * t->in[i].stride + (t->transposed[i] ? offset(&t->in[i], col, row)
                                                                                                 : offset(&t->in[i], row, col)));
                aw_type_store((cudaDataType)t->out.type, job->spans[2].at, item * t->out.stride + offset(&t->out, row, col), v);
            }
}

/* False: not a matrix. */
static bool transform_span(const struct aw_lt_layout *l, void *at, unsigned dir, struct aw_lib_span *ret)
{
    size_t size = aw_type_size((cudaDataType)l->type);
    int64_t length, runs;
    if (!size || l->rows > INT32_MAX || l->cols > INT32_MAX)
        return false;
    aw_order_extent(l->order, (int64_t)l->rows, (int64_t)l->cols, &length, &runs);
    if (l->ld < 1 || l->ld < length || l->batch < 0)
        return false;
    *ret = (struct aw_lib_span){ at, (size_t)length * size, (size_t)runs, (size_t)l->ld * size, (size_t)l->batch,
                                 (size_t)l->stride * size, dir };
    return true;
}

static bool transform_known(const struct aw_lt_layout *l)
{
    static const cudaDataType types[] = { CUDA_R_8I,  CUDA_R_32I, CUDA_R_16F, CUDA_R_16BF,    CUDA_R_32F,
                                          CUDA_R_64F, CUDA_C_32F, CUDA_C_64F, CUDA_R_8F_E4M3, CUDA_R_8F_E5M2 };
    size_t t = 0;
    while (t < sizeof types / sizeof *types && (int)types[t] != l->type)
        t++;
    bool known = t < sizeof types / sizeof *types && aw_order_known(l->order) && !l->plane && !l->batch_mode;
    if (!known)
        aw_say(LT_TRANSFORM, l->type, l->order);
    return known;
}

static cublasStatus_t transform_operand(struct transform *t, int i, const struct aw_lt_layout *l, int op, const void *at,
                                        const void *scalar)
{
    static const char zero[16];
    if (!scalar || (!t->device && !memcmp(scalar, zero, aw_type_size(t->scale))))
        return CUBLAS_STATUS_SUCCESS;
    if (!at || !l || (unsigned)op > CUBLAS_OP_C)
        return CUBLAS_STATUS_INVALID_VALUE;
    t->in[i] = *l;
    t->used[i] = true;
    t->transposed[i] = op != CUBLAS_OP_N;
    if (op == CUBLAS_OP_C && aw_type_complex((cudaDataType)l->type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (t->device)
        t->job.spans[3 + i] = (struct aw_lib_span){ (void *)(uintptr_t)scalar, aw_type_size(t->scale), 1, 0, 1, 0, AW_LIB_IN };
    else
        memcpy(t->scalar[i], scalar, aw_type_size(t->scale));
    if (!transform_known(l))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    bool turned = t->transposed[i];
    return transform_span(l, (void *)(uintptr_t)at, AW_LIB_IN, &t->job.spans[i]) &&
                   l->rows == (turned ? t->out.cols : t->out.rows) && l->cols == (turned ? t->out.rows : t->out.cols) &&
                   l->batch == t->out.batch
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t awcublaslt_cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc, const void *alpha,
                                                  const void *A, cublasLtMatrixLayout_t Adesc, const void *beta, const void *B,
                                                  cublasLtMatrixLayout_t Bdesc, void *C, cublasLtMatrixLayout_t Cdesc,
                                                  cudaStream_t stream)
{
    struct aw_lib_queue queue;
    struct transform t;
    int ran;
    cublasStatus_t status = aw_lt_queue(handle, stream, &queue);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    memset(&t, 0, sizeof t);
    if (!desc || !Cdesc || !C || (unsigned)desc->pointer_mode > AW_LT_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    t.out = *Cdesc;
    t.scale = (cudaDataType)desc->scale;
    t.device = desc->pointer_mode == AW_LT_DEVICE;
    if (!transform_known(&t.out) ||
        (t.scale != CUDA_R_32F && t.scale != CUDA_R_64F && t.scale != CUDA_R_16F && t.scale != CUDA_R_32I &&
         t.scale != CUDA_R_16BF && t.scale != CUDA_C_32F && t.scale != CUDA_C_64F))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    status = transform_operand(&t, 0, Adesc, desc->opa, A, alpha);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = transform_operand(&t, 1, Bdesc, desc->opb, B, beta);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    /* Between the elements of tiles and rows lies what stays as it is. */
    if (!transform_span(&t.out, C, AW_LIB_IN | AW_LIB_OUT, &t.job.spans[2]))
        return CUBLAS_STATUS_INVALID_VALUE;
    t.job.run = transform_run;
    t.job.size = sizeof t;
    t.job.n_spans = 5;
    CUresult result = aw_lib_submit(&queue, &t.job, AW_LIB_QUEUED, &ran);
    return aw_blas_status(result);
}
