/* The generic interface's products, and what it does with sparse vectors. Not the systems (triangular.c), nor sparse results
 * (spgemm.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <complex.h>
#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
#define UNSUPPORTED CUSPARSE_STATUS_NOT_SUPPORTED
enum { IN = AW_LIB_IN, OUT = AW_LIB_OUT, IN_OUT = AW_LIB_IN | AW_LIB_OUT };

/* What no function here needs: programs give it as large as they are told, and take NULL for a query in places. */
enum { BUFFER = 16 };

bool aw_sparse_op_valid(cusparseOperation_t op)
{
    return (unsigned)op <= CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
}

cusparseStatus_t aw_sparse_format_check(const struct cusparseSpMatDescr *m, const char *name)
{
    if (m->format != CUSPARSE_FORMAT_BLOCKED_ELL)
        return CUSPARSE_STATUS_SUCCESS;
    aw_say(SPARSE_BLOCKED_ELL, name);
    return UNSUPPORTED;
}

struct aw_sparse_op aw_sparse_op_of(cusparseOperation_t op, bool flipped)
{
    return (struct aw_sparse_op){ (op != CUSPARSE_OPERATION_NON_TRANSPOSE) != flipped,
                                  op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE };
}

/* ---- Products with a dense matrix: matrix 0 times dense 0, to dense 1. */

static void run_product(struct aw_sparse_job *j)
{
    int batch = j->d[1].batch;
    bool keeps = true;
    for (int b = 0; b < batch && keeps; b++) {
        struct aw_sparse_scratch s = { 0 };
        struct aw_sparse_view a;
        struct aw_sparse_dense x, y;
        bool transpose = j->op[1] != CUSPARSE_OPERATION_NON_TRANSPOSE;
        keeps = aw_sparse_view(&s, &j->m[0], b, j->t, true, &a) &&
                aw_sparse_dense_view(&s, &j->d[0], b, j->t, true, transpose, &x) &&
                (j->op[1] != CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE || aw_sparse_dense_conjugate(&s, j->t, &x)) &&
                aw_sparse_dense_view(&s, &j->d[1], b, j->t, true, false, &y);
        if (keeps) {
            aw_sparse_kernels(j->t, a.rows.wide)
                ->product(&a.rows, aw_sparse_op_of(j->op[0], a.flipped), aw_sparse_job_value(j, 0), &x, aw_sparse_job_value(j, 1),
                          &y);
            aw_sparse_dense_store(&j->d[1], b, j->t, false, &y);
        } else {
            aw_sparse_job_no_memory(j);
        }
        aw_sparse_scratch_free(&s);
    }
}

static cusparseStatus_t product_check(const char *name, cusparseHandle_t handle, const struct aw_sparse_product *p, char *ret_t)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    char t = aw_sparse_letter(p->compute);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!p->alpha || !p->beta || !aw_sparse_op_valid(p->opa) || !aw_sparse_op_valid(p->opb))
        return INVALID;
    bool ta = p->opa != CUSPARSE_OPERATION_NON_TRANSPOSE, tb = p->opb != CUSPARSE_OPERATION_NON_TRANSPOSE;
    int64_t m = ta ? p->a->cols : p->a->rows, k = ta ? p->a->rows : p->a->cols;
    if (p->c.rows != m || (tb ? p->b.cols : p->b.rows) != k || (tb ? p->b.rows : p->b.cols) != p->c.cols)
        return INVALID;
    if (!aw_sparse_readable(p->a->type, t) || !aw_sparse_readable(p->b.type, t) || !aw_sparse_readable(p->c.type, t))
        return UNSUPPORTED;
    if ((p->a->batch > 1 && p->a->batch != p->c.batch) || (p->b.batch > 1 && p->b.batch != p->c.batch))
        return INVALID;
    *ret_t = t;
    return aw_sparse_format_check(p->a, name);
}

cusparseStatus_t aw_sparse_product(const char *name, cusparseHandle_t handle, const struct aw_sparse_product *p)
{
    struct aw_sparse_job j;
    char t;
    cusparseStatus_t status = product_check(name, handle, p, &t);
    if (status != CUSPARSE_STATUS_SUCCESS || p->c.rows == 0 || p->c.cols == 0)
        return status;
    aw_sparse_job_init(&j, handle, name, t, run_product);
    j.op[0] = p->opa, j.op[1] = p->opb;
    aw_sparse_job_scalar(&j, 0, p->alpha);
    aw_sparse_job_scalar(&j, 1, p->beta);
    aw_sparse_job_matrix(&j, 0, p->a, IN, IN);
    aw_sparse_job_dense(&j, 0, &p->b, IN);
    /* A batch whose items lie in one place is refused where it is written. */
    if (p->c.batch > 1 && p->c.stride == 0)
        return INVALID;
    aw_sparse_job_dense(&j, 1, &p->c, aw_sparse_job_zero(&j, 1) ? OUT : IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

/* Answers for the functions before the one that computes: of the same arguments, what they need. */
static cusparseStatus_t product_size(const char *name, cusparseHandle_t handle, const struct aw_sparse_product *p, size_t *size)
{
    char t;
    cusparseStatus_t status = size ? product_check(name, handle, p, &t) : INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

static struct cusparseDnMatDescr as_matrix(const struct cusparseDnVecDescr *v)
{
    return (struct cusparseDnMatDescr){ v->size, 1, v->size, v->values, v->type, CUSPARSE_ORDER_COL, 1, 0 };
}

#define SPMV_ARGS                                                                                    \
    cusparseHandle_t handle, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a, \
        cusparseConstDnVecDescr_t x, const void *beta, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t alg
#define SPMV(call)                                                                                                              \
    if (!a || !x || !y)                                                                                                         \
        return INVALID;                                                                                                         \
    struct aw_sparse_product p = { op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, beta, a, as_matrix(x), as_matrix(y), compute }; \
    return call

cusparseStatus_t awcusparse_cusparseSpMV(SPMV_ARGS, void *buffer)
{
    SPMV(aw_sparse_product("cusparseSpMV", handle, &p));
}

cusparseStatus_t awcusparse_cusparseSpMV_bufferSize(SPMV_ARGS, size_t *size)
{
    SPMV(product_size("cusparseSpMV", handle, &p, size));
}

cusparseStatus_t awcusparse_cusparseSpMV_preprocess(SPMV_ARGS, void *buffer)
{
    size_t size;
    SPMV(product_size("cusparseSpMV", handle, &p, &size));
}

#define SPMM_ARGS                                                                                                              \
    cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha, cusparseConstSpMatDescr_t a, \
        cusparseConstDnMatDescr_t b, const void *beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t alg
#define SPMM(call)                                                              \
    if (!a || !b || !c)                                                         \
        return INVALID;                                                         \
    struct aw_sparse_product p = { opa, opb, alpha, beta, a, *b, *c, compute }; \
    return call

cusparseStatus_t awcusparse_cusparseSpMM(SPMM_ARGS, void *buffer)
{
    SPMM(aw_sparse_product("cusparseSpMM", handle, &p));
}

cusparseStatus_t awcusparse_cusparseSpMM_bufferSize(SPMM_ARGS, size_t *size)
{
    SPMM(product_size("cusparseSpMM", handle, &p, size));
}

cusparseStatus_t awcusparse_cusparseSpMM_preprocess(SPMM_ARGS, void *buffer)
{
    size_t size;
    SPMM(product_size("cusparseSpMM", handle, &p, &size));
}

/* ---- A product of dense matrices where a sparse one has elements. */

static void run_sampled(struct aw_sparse_job *j)
{
    bool keeps = true;
    int batch = j->m[0].batch > 1 ? j->m[0].batch : 1;
    for (int b = 0; b < batch && keeps; b++) {
        struct aw_sparse_scratch s = { 0 };
        struct aw_sparse_view c;
        struct aw_sparse_dense x, y;
        bool conj_a = j->op[0] == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
             conj_b = j->op[1] == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
        keeps = aw_sparse_view(&s, &j->m[0], b, j->t, true, &c);
        /* A transposed result is the product of the transposes in the other order. */
        keeps = keeps &&
                aw_sparse_dense_view(&s, &j->d[0], b, j->t, true, (j->op[0] != CUSPARSE_OPERATION_NON_TRANSPOSE) != c.flipped,
                                     &x) &&
                aw_sparse_dense_view(&s, &j->d[1], b, j->t, true, (j->op[1] != CUSPARSE_OPERATION_NON_TRANSPOSE) != c.flipped,
                                     &y);
        if (keeps) {
            aw_sparse_kernels(j->t, c.rows.wide)
                ->sampled(&c.rows, aw_sparse_job_value(j, 0), c.flipped ? &y : &x, c.flipped ? conj_b : conj_a,
                          c.flipped ? &x : &y, c.flipped ? conj_a : conj_b, aw_sparse_job_value(j, 1), c.all);
            aw_sparse_view_store(&c, &j->m[0], b, j->t);
        } else {
            aw_sparse_job_no_memory(j);
        }
        aw_sparse_scratch_free(&s);
    }
}

#define SDDMM_ARGS                                                                                                             \
    cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha, cusparseConstDnMatDescr_t a, \
        cusparseConstDnMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t alg

static cusparseStatus_t sddmm_check(SDDMM_ARGS)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    char t = aw_sparse_letter(compute);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!a || !b || !c || !alpha || !beta || !aw_sparse_op_valid(opa) || !aw_sparse_op_valid(opb))
        return INVALID;
    bool ta = opa != CUSPARSE_OPERATION_NON_TRANSPOSE, tb = opb != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if ((ta ? a->cols : a->rows) != c->rows || (tb ? b->rows : b->cols) != c->cols ||
        (ta ? a->rows : a->cols) != (tb ? b->cols : b->rows))
        return INVALID;
    if (!aw_sparse_readable(a->type, t) || !aw_sparse_readable(b->type, t) || !aw_sparse_readable(c->type, t))
        return UNSUPPORTED;
    if ((a->batch > 1 && a->batch != c->batch) || (b->batch > 1 && b->batch != c->batch))
        return INVALID;
    return aw_sparse_format_check(c, "cusparseSDDMM");
}

cusparseStatus_t awcusparse_cusparseSDDMM(SDDMM_ARGS, void *buffer)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = sddmm_check(handle, opa, opb, alpha, a, b, beta, c, compute, alg);
    if (status != CUSPARSE_STATUS_SUCCESS || c->nnz == 0)
        return status;
    aw_sparse_job_init(&j, handle, "cusparseSDDMM", aw_sparse_letter(compute), run_sampled);
    j.op[0] = opa, j.op[1] = opb;
    aw_sparse_job_scalar(&j, 0, alpha);
    aw_sparse_job_scalar(&j, 1, beta);
    aw_sparse_job_dense(&j, 0, a, IN);
    aw_sparse_job_dense(&j, 1, b, IN);
    aw_sparse_job_matrix(&j, 0, c, IN, IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

cusparseStatus_t awcusparse_cusparseSDDMM_bufferSize(SDDMM_ARGS, size_t *size)
{
    cusparseStatus_t status = size ? sddmm_check(handle, opa, opb, alpha, a, b, beta, c, compute, alg) : INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

cusparseStatus_t awcusparse_cusparseSDDMM_preprocess(SDDMM_ARGS, void *buffer)
{
    return sddmm_check(handle, opa, opb, alpha, a, b, beta, c, compute, alg);
}

/* ---- Sparse vectors: matrix 0 and dense 0. */

static void move(struct aw_sparse_job *j, bool gather)
{
    const struct cusparseSpMatDescr *x = &j->m[0];
    size_t size = aw_type_size(x->type);
    for (int64_t k = 0; k < x->nnz; k++) {
        char *sparse = (char *)x->val + (size_t)k * size;
        char *dense = (char *)j->d[0].values + (size_t)(aw_sparse_index(x->ind_type, x->ind, k) - x->base) * size;
        memcpy(gather ? sparse : dense, gather ? dense : sparse, size);
    }
}

/* In the widest arithmetic of the kind, with one rounding: vectors are short beside what else there is. */
static double _Complex scalar(const struct aw_sparse_job *j, int k)
{
    static const cudaDataType types[] = {
        ['s'] = CUDA_R_32F, ['d'] = CUDA_R_64F, ['c'] = CUDA_C_32F, ['z'] = CUDA_C_64F, ['i'] = CUDA_R_32I
    };
    return aw_type_load(types[(int)j->t], aw_sparse_job_value(j, k), 0);
}

static void run_axpby(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *x = &j->m[0];
    const struct cusparseDnMatDescr *y = &j->d[0];
    double _Complex alpha = scalar(j, 0), beta = scalar(j, 1);
    for (int64_t i = 0; i < y->rows && beta != 1; i++)
        aw_type_store(y->type, y->values, i, beta == 0 ? 0 : beta * aw_type_load(y->type, y->values, i));
    for (int64_t k = 0; k < x->nnz; k++) {
        int64_t i = aw_sparse_index(x->ind_type, x->ind, k) - x->base;
        aw_type_store(y->type, y->values, i, aw_type_load(y->type, y->values, i) + alpha * aw_type_load(x->type, x->val, k));
    }
}

static void run_rot(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *x = &j->m[0];
    const struct cusparseDnMatDescr *y = &j->d[0];
    double _Complex c = scalar(j, 0), s = scalar(j, 1);
    for (int64_t k = 0; k < x->nnz; k++) {
        int64_t i = aw_sparse_index(x->ind_type, x->ind, k) - x->base;
        double _Complex u = aw_type_load(x->type, x->val, k), v = aw_type_load(y->type, y->values, i);
        aw_type_store(x->type, x->val, k, c * u + s * v);
        aw_type_store(y->type, y->values, i, c * v - s * u);
    }
}

static void run_dot(struct aw_sparse_job *j)
{
    static const cudaDataType types[] = {
        ['s'] = CUDA_R_32F, ['d'] = CUDA_R_64F, ['c'] = CUDA_C_32F, ['z'] = CUDA_C_64F, ['i'] = CUDA_R_32I
    };
    const struct cusparseSpMatDescr *x = &j->m[0];
    double _Complex sum = 0;
    for (int64_t k = 0; k < x->nnz; k++) {
        double _Complex u = aw_type_load(x->type, x->val, k);
        u = j->op[0] == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE ? conj(u) : u;
        sum += u * aw_type_load(j->d[0].type, j->d[0].values, aw_sparse_index(x->ind_type, x->ind, k) - x->base);
    }
    aw_type_store(types[(int)j->t], j->array_span[0] >= 0 ? j->array[0] : j->host, 0, sum);
}

static void run_gather(struct aw_sparse_job *j)
{
    move(j, true);
}

static void run_scatter(struct aw_sparse_job *j)
{
    move(j, false);
}

static cusparseStatus_t vector_begin(struct aw_sparse_job *j, cusparseHandle_t handle, const char *name,
                                     const struct cusparseSpVecDescr *x, const struct cusparseDnVecDescr *y, char t,
                                     void (*run)(struct aw_sparse_job *))
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!x || !y || x->size != y->size)
        return INVALID;
    if (!aw_sparse_readable(x->type, t) || !aw_sparse_readable(y->type, t))
        return UNSUPPORTED;
    aw_sparse_job_init(j, handle, name, t, run);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseAxpby(cusparseHandle_t handle, const void *alpha, cusparseConstSpVecDescr_t x,
                                          const void *beta, cusparseDnVecDescr_t y)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = vector_begin(&j, handle, "cusparseAxpby", x, y, y ? aw_sparse_own_letter(y->type) : 0, run_axpby);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!alpha || !beta)
        return INVALID;
    aw_sparse_job_scalar(&j, 0, alpha);
    aw_sparse_job_scalar(&j, 1, beta);
    aw_sparse_job_vector(&j, 0, x, IN);
    aw_sparse_job_dense_vector(&j, 0, y, IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

cusparseStatus_t awcusparse_cusparseRot(cusparseHandle_t handle, const void *c, const void *s, cusparseSpVecDescr_t x,
                                        cusparseDnVecDescr_t y)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = vector_begin(&j, handle, "cusparseRot", x, y, y ? aw_sparse_own_letter(y->type) : 0, run_rot);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!c || !s)
        return INVALID;
    aw_sparse_job_scalar(&j, 0, c);
    aw_sparse_job_scalar(&j, 1, s);
    aw_sparse_job_vector(&j, 0, x, IN_OUT);
    aw_sparse_job_dense_vector(&j, 0, y, IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

static cusparseStatus_t moved(cusparseHandle_t handle, const char *name, const struct cusparseSpVecDescr *x,
                              const struct cusparseDnVecDescr *y, bool gather)
{
    struct aw_sparse_job j;
    if (x && y && x->type != y->type)
        return INVALID;
    cusparseStatus_t status = vector_begin(&j, handle, name, x, y, y ? aw_sparse_own_letter(y->type) : 0,
                                           gather ? run_gather : run_scatter);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_vector(&j, 0, x, gather ? OUT : IN);
    aw_sparse_job_dense_vector(&j, 0, y, gather ? IN : IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

cusparseStatus_t awcusparse_cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x)
{
    return moved(handle, "cusparseGather", x, y, true);
}

cusparseStatus_t awcusparse_cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y)
{
    return moved(handle, "cusparseScatter", x, y, false);
}

cusparseStatus_t awcusparse_cusparseSpVV(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                                         cusparseConstDnVecDescr_t y, void *result, cudaDataType compute, void *buffer)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = vector_begin(&j, handle, "cusparseSpVV", x, y, aw_sparse_letter(compute), run_dot);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!result || !aw_sparse_op_valid(op))
        return INVALID;
    j.op[0] = op;
    j.host = result;
    aw_sparse_job_vector(&j, 0, x, IN);
    aw_sparse_job_dense_vector(&j, 0, y, IN);
    if (j.device)
        aw_sparse_job_array(&j, 0, result, aw_sparse_letter_size(j.t), OUT);
    return aw_sparse_job_submit(&j, handle, !j.device);
}

cusparseStatus_t awcusparse_cusparseSpVV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, cusparseConstSpVecDescr_t x,
                                                    cusparseConstDnVecDescr_t y, const void *result, cudaDataType compute,
                                                    size_t *size)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = vector_begin(&j, handle, "cusparseSpVV", x, y, aw_sparse_letter(compute), run_dot);
    if (status == CUSPARSE_STATUS_SUCCESS && (!size || !aw_sparse_op_valid(op)))
        status = INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}
