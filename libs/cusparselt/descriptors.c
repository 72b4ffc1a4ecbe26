/* Handles, descriptors, selections and plans: what is kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/log.h"
#include "cusparseLt_proto.h"
#include "slt.h"

#define AW_ROOM "cusparselt"

enum { HANDLE_MAGIC = 0x534c5448 };

cusparseStatus_t awcusparselt_cusparseLtInit(cusparseLtHandle_t *handle)
{
    if (!handle)
        return CUSPARSE_STATUS_INVALID_VALUE;
    struct aw_slt_blas *blas = aw_slt_blas_create();
    if (!blas)
        return CUSPARSE_STATUS_NOT_INITIALIZED;
    *handle = (struct aw_slt_handle){ HANDLE_MAGIC, blas };
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtDestroy(const cusparseLtHandle_t *handle)
{
    if (!handle || handle->magic != HANDLE_MAGIC)
        return CUSPARSE_STATUS_INVALID_VALUE;
    aw_slt_blas_destroy(handle->blas);
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- Matrices. */

static cusparseStatus_t matrix_init(const struct aw_slt_handle *handle, struct aw_slt_matrix *m, struct aw_slt_matrix from)
{
    int64_t least = from.order == ORDER_ROW ? from.cols : from.rows;
    if (!handle || !m || from.rows <= 0 || from.cols <= 0 || from.ld < least ||
        (from.order != ORDER_COL && from.order != ORDER_ROW))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (!aw_slt_element(from.type)) {
        aw_say(SPARSELT_TYPE, from.type);
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    }
    from.magic = SLT_MATRIX;
    from.batches = 1;
    *m = from;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtDenseDescriptorInit(const cusparseLtHandle_t *handle, cusparseLtMatDescriptor_t *m,
                                                            int64_t rows, int64_t cols, int64_t ld, uint32_t alignment,
                                                            cudaDataType type, cusparseOrder_t order)
{
    (void)alignment;
    return matrix_init(handle, m, (struct aw_slt_matrix){ .type = type, .order = order, .rows = rows, .cols = cols, .ld = ld });
}

cusparseStatus_t awcusparselt_cusparseLtStructuredDescriptorInit(const cusparseLtHandle_t *handle, cusparseLtMatDescriptor_t *m,
                                                                 int64_t rows, int64_t cols, int64_t ld, uint32_t alignment,
                                                                 cudaDataType type, cusparseOrder_t order,
                                                                 cusparseLtSparsity_t sparsity)
{
    (void)alignment;
    int group = type == CUDA_R_32F ? 2 : 4;
    if (sparsity != 0 || rows % group || cols % group || type == CUDA_R_32I)
        return CUSPARSE_STATUS_INVALID_VALUE;
    return matrix_init(
        handle, m, (struct aw_slt_matrix){ .type = type, .order = order, .rows = rows, .cols = cols, .ld = ld, .sparse = true });
}

cusparseStatus_t awcusparselt_cusparseLtMatDescriptorDestroy(const cusparseLtMatDescriptor_t *m)
{
    return m && m->magic == SLT_MATRIX ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

/* ---- Attributes: where each is kept, and how large it is. */

struct attribute {
    void *at;
    size_t size;
};

static cusparseStatus_t attribute_set(struct attribute a, const void *data, size_t size)
{
    if (!data || (a.at && size < a.size))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (!a.at)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    memcpy(a.at, data, a.size);
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t attribute_get(struct attribute a, void *data, size_t size)
{
    if (!data || (a.at && size < a.size))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (!a.at)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    memcpy(data, a.at, a.size);
    return CUSPARSE_STATUS_SUCCESS;
}

#define KEPT(member) (struct attribute){ &(member), sizeof(member) }

static struct attribute matrix_attribute(struct aw_slt_matrix *m, int which)
{
    switch (m && m->magic == SLT_MATRIX ? which : -1) {
    case 0: return KEPT(m->batches);
    case 1: return KEPT(m->stride);
    default: return (struct attribute){ 0 };
    }
}

cusparseStatus_t awcusparselt_cusparseLtMatDescSetAttribute(const cusparseLtHandle_t *handle, cusparseLtMatDescriptor_t *m,
                                                            cusparseLtMatDescAttribute_t which, const void *data, size_t size)
{
    int batches;
    if (!handle)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (which == 0 && data && size >= sizeof batches && (memcpy(&batches, data, sizeof batches), batches < 1))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return attribute_set(matrix_attribute(m, which), data, size);
}

cusparseStatus_t awcusparselt_cusparseLtMatDescGetAttribute(const cusparseLtHandle_t *handle, const cusparseLtMatDescriptor_t *m,
                                                            cusparseLtMatDescAttribute_t which, void *data, size_t size)
{
    return handle ? attribute_get(matrix_attribute((struct aw_slt_matrix *)(uintptr_t)m, which), data, size)
                  : CUSPARSE_STATUS_INVALID_VALUE;
}

/* Scales of matrices (from 10 on) and the pointer that the search wants are not known here. */
static struct attribute matmul_attribute(struct aw_slt_matmul *p, int which)
{
    switch (p && p->magic == SLT_MATMUL ? which : -1) {
    case 0: return KEPT(p->relu);
    case 1: return KEPT(p->relu_upper);
    case 2: return KEPT(p->relu_threshold);
    case 3: return KEPT(p->gelu);
    case 4: return KEPT(p->gelu_scale);
    case 5: return KEPT(p->alpha_vector);
    case 6: return KEPT(p->beta_vector);
    case 7: return KEPT(p->bias_stride);
    case 8: return KEPT(p->bias);
    default: return (struct attribute){ 0 };
    }
}

cusparseStatus_t awcusparselt_cusparseLtMatmulDescSetAttribute(const cusparseLtHandle_t *handle, cusparseLtMatmulDescriptor_t *p,
                                                               cusparseLtMatmulDescAttribute_t which, const void *data,
                                                               size_t size)
{
    enum { SPARSE_POINTER = 9 };
    if (!handle)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (which == SPARSE_POINTER && p && p->magic == SLT_MATMUL)
        return CUSPARSE_STATUS_SUCCESS; /* for a faster choice of algorithm, of which there is one */
    return attribute_set(matmul_attribute(p, which), data, size);
}

cusparseStatus_t awcusparselt_cusparseLtMatmulDescGetAttribute(const cusparseLtHandle_t *handle,
                                                               const cusparseLtMatmulDescriptor_t *p,
                                                               cusparseLtMatmulDescAttribute_t which, void *data, size_t size)
{
    return handle ? attribute_get(matmul_attribute((struct aw_slt_matmul *)(uintptr_t)p, which), data, size)
                  : CUSPARSE_STATUS_INVALID_VALUE;
}

/* ---- Products. */

static bool types_known(const struct aw_slt_matmul *p)
{
    if (p->a.type != p->b.type || p->c.type != p->d.type)
        return false;
    if (p->a.type == CUDA_R_8I)
        return p->compute == 0;
    return p->compute != 0 && p->a.type != CUDA_R_32I && p->d.type != CUDA_R_8I && p->d.type != CUDA_R_32I;
}

static bool sizes_fit(const struct aw_slt_matmul *p)
{
    int64_t m = p->opa == OP_N ? p->a.rows : p->a.cols, k = p->opa == OP_N ? p->a.cols : p->a.rows;
    int64_t k2 = p->opb == OP_N ? p->b.rows : p->b.cols, n = p->opb == OP_N ? p->b.cols : p->b.rows;
    return k == k2 && p->d.rows == m && p->d.cols == n && p->c.rows == m && p->c.cols == n && p->c.order == p->d.order &&
           p->a.sparse + p->b.sparse == 1 && !p->c.sparse && !p->d.sparse;
}

cusparseStatus_t awcusparselt_cusparseLtMatmulDescriptorInit(const cusparseLtHandle_t *handle, cusparseLtMatmulDescriptor_t *ret,
                                                             cusparseOperation_t opa, cusparseOperation_t opb,
                                                             const cusparseLtMatDescriptor_t *a,
                                                             const cusparseLtMatDescriptor_t *b,
                                                             const cusparseLtMatDescriptor_t *c,
                                                             const cusparseLtMatDescriptor_t *d, cusparseComputeType compute)
{
    const struct aw_slt_matrix *const all[] = { a, b, c, d };
    if (!handle || !ret || opa < OP_N || opa > OP_T || opb < OP_N || opb > OP_T)
        return CUSPARSE_STATUS_INVALID_VALUE;
    for (int i = 0; i < 4; i++)
        if (!all[i] || all[i]->magic != SLT_MATRIX)
            return CUSPARSE_STATUS_INVALID_VALUE;
    struct aw_slt_matmul p = { .magic = SLT_MATMUL, .opa = opa, .opb = opb, .compute = compute, .a = *a, .b = *b, .c = *c,
                               .d = *d,
                               .relu_upper = 3.402823466e38f, .gelu_scale = 1 };
    if (!sizes_fit(&p))
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (!types_known(&p)) {
        aw_say(SPARSELT_TYPES, a->type, b->type, d->type);
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    }
    *ret = p;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- Algorithms, of which there is one. */

cusparseStatus_t awcusparselt_cusparseLtMatmulAlgSelectionInit(const cusparseLtHandle_t *handle,
                                                               cusparseLtMatmulAlgSelection_t *s,
                                                               const cusparseLtMatmulDescriptor_t *p,
                                                               cusparseLtMatmulAlg_t algorithm)
{
    if (!handle || !s || !p || p->magic != SLT_MATMUL || algorithm != 0)
        return CUSPARSE_STATUS_INVALID_VALUE;
    *s = (struct aw_slt_selection){ .magic = SLT_SELECTION, .iterations = 5, .split_k = 1 };
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtMatmulAlgSelectionDestroy(const cusparseLtMatmulAlgSelection_t *s)
{
    return s && s->magic == SLT_SELECTION ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}

enum { CONFIG_ID = 0, CONFIG_MAX_ID = 1 };

static struct attribute selection_attribute(struct aw_slt_selection *s, int which)
{
    static int most = 1;
    switch (s && s->magic == SLT_SELECTION ? which : -1) {
    case CONFIG_ID: return KEPT(s->config);
    case CONFIG_MAX_ID: return KEPT(most);
    case 2: return KEPT(s->iterations);
    case 3: return KEPT(s->split_k);
    case 4: return KEPT(s->split_k_mode);
    case 5: return KEPT(s->split_k_buffers);
    default: return (struct attribute){ 0 };
    }
}

cusparseStatus_t awcusparselt_cusparseLtMatmulAlgSetAttribute(const cusparseLtHandle_t *handle, cusparseLtMatmulAlgSelection_t *s,
                                                              cusparseLtMatmulAlgAttribute_t which, const void *data, size_t size)
{
    int value;
    if (!handle || which == CONFIG_MAX_ID)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (which == CONFIG_ID && data && size >= sizeof value && (memcpy(&value, data, sizeof value), value != 0))
        return CUSPARSE_STATUS_INVALID_VALUE;
    return attribute_set(selection_attribute(s, which), data, size);
}

cusparseStatus_t awcusparselt_cusparseLtMatmulAlgGetAttribute(const cusparseLtHandle_t *handle,
                                                              const cusparseLtMatmulAlgSelection_t *s,
                                                              cusparseLtMatmulAlgAttribute_t which, void *data, size_t size)
{
    return handle ? attribute_get(selection_attribute((struct aw_slt_selection *)(uintptr_t)s, which), data, size)
                  : CUSPARSE_STATUS_INVALID_VALUE;
}

cusparseStatus_t awcusparselt_cusparseLtMatmulPlanInit(const cusparseLtHandle_t *handle, cusparseLtMatmulPlan_t *plan,
                                                       const cusparseLtMatmulDescriptor_t *p,
                                                       const cusparseLtMatmulAlgSelection_t *s)
{
    if (!handle || !plan || !p || p->magic != SLT_MATMUL || !s || s->magic != SLT_SELECTION)
        return CUSPARSE_STATUS_INVALID_VALUE;
    if (p->d.batches != p->c.batches || (p->a.batches != p->d.batches && p->a.batches != 1) ||
        (p->b.batches != p->d.batches && p->b.batches != 1))
        return CUSPARSE_STATUS_INVALID_VALUE;
    *plan = (struct aw_slt_plan){ SLT_PLAN, *p };
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparselt_cusparseLtMatmulPlanDestroy(const cusparseLtMatmulPlan_t *plan)
{
    return plan && plan->magic == SLT_PLAN ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_INVALID_VALUE;
}
