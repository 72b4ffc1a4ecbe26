/* The older interface: information objects, triangular systems and products in rows and blocks, sums, counts and what drops
 * elements. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include "legacy.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
enum { IN = AW_LIB_IN, OUT = AW_LIB_OUT, IN_OUT = AW_LIB_IN | AW_LIB_OUT };
enum { BUFFER = 16 };

struct aw_sparse_pivot *aw_sparse_pivot_ref(struct aw_sparse_pivot *p)
{
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void aw_sparse_pivot_unref(struct aw_sparse_pivot *p)
{
    if (p && __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(p);
}

cusparseStatus_t aw_sparse_info_create(void *ret_info)
{
    struct aw_sparse_info *i = ret_info ? calloc(1, sizeof *i) : NULL;
    if (!i)
        return ret_info ? CUSPARSE_STATUS_ALLOC_FAILED : INVALID;
    i->pivot = calloc(1, sizeof *i->pivot);
    if (!i->pivot) {
        free(i);
        return CUSPARSE_STATUS_ALLOC_FAILED;
    }
    *i->pivot = (struct aw_sparse_pivot){ 1, -1 };
    *(void **)ret_info = i;
    return CUSPARSE_STATUS_SUCCESS;
}

void aw_sparse_info_destroy(void *info)
{
    struct aw_sparse_info *i = info;
    if (i)
        aw_sparse_pivot_unref(i->pivot);
    free(i);
}

static void forget_pivot(struct aw_lib_job *job)
{
    aw_sparse_pivot_unref(((struct aw_sparse_job *)job)->host);
}

void aw_sparse_job_pivot(struct aw_sparse_job *j, struct aw_sparse_pivot *pivot)
{
    j->host = aw_sparse_pivot_ref(pivot);
    j->job.forget = forget_pivot;
}

void aw_sparse_job_zero_at(struct aw_sparse_job *j, int64_t row, int64_t block)
{
    struct aw_sparse_pivot *p = j->host;
    __atomic_store_n(&p->position, row < 0 ? -1 : row / (block > 1 ? block : 1), __ATOMIC_RELEASE);
}

/* An object each, and for most where its pivot was. */
#define INFO(Name, type)                                                   \
    struct type {                                                          \
        struct aw_sparse_info info;                                        \
    };                                                                     \
    cusparseStatus_t awcusparse_cusparseCreate##Name##Info(type##_t *info) \
    {                                                                      \
        return aw_sparse_info_create(info);                                \
    }                                                                      \
    cusparseStatus_t awcusparse_cusparseDestroy##Name##Info(type##_t info) \
    {                                                                      \
        aw_sparse_info_destroy(info);                                      \
        return CUSPARSE_STATUS_SUCCESS;                                    \
    }

static cusparseStatus_t zero_pivot(cusparseHandle_t handle, struct aw_sparse_info *info, int *position)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    int value = -1;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!info || !position)
        return INVALID;
    CUresult result = aw_lib_queue_enter(&handle->queue);
    if (result == CUDA_SUCCESS)
        result = cuStreamSynchronize(handle->queue.stream);
    int64_t at = __atomic_load_n(&info->pivot->position, __ATOMIC_ACQUIRE);
    if (at >= 0)
        value = (int)at + info->base;
    if (result == CUDA_SUCCESS && handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE)
        result = cuMemcpy((CUdeviceptr)(uintptr_t)position, (CUdeviceptr)(uintptr_t)&value, sizeof value);
    else if (result == CUDA_SUCCESS)
        *position = value;
    return result != CUDA_SUCCESS ? aw_sparse_status(result) : at >= 0 ? CUSPARSE_STATUS_ZERO_PIVOT : CUSPARSE_STATUS_SUCCESS;
}

#define PIVOT_INFO(Name, name, type)                                                                               \
    INFO(Name, type)                                                                                               \
    cusparseStatus_t awcusparse_cusparseX##name##_zeroPivot(cusparseHandle_t handle, type##_t info, int *position) \
    {                                                                                                              \
        return zero_pivot(handle, (struct aw_sparse_info *)info, position);                                        \
    }
PIVOT_INFO(Bsrsv2, bsrsv2, bsrsv2Info)
PIVOT_INFO(Bsrsm2, bsrsm2, bsrsm2Info)
PIVOT_INFO(Csrsv2, csrsv2, csrsv2Info)
PIVOT_INFO(Csrsm2, csrsm2, csrsm2Info)
PIVOT_INFO(Csric02, csric02, csric02Info)
PIVOT_INFO(Bsric02, bsric02, bsric02Info)
PIVOT_INFO(Csrilu02, csrilu02, csrilu02Info)
PIVOT_INFO(Bsrilu02, bsrilu02, bsrilu02Info)

/* ---- Arguments. */

cusparseStatus_t aw_sparse_legacy_check(cusparseHandle_t handle, cusparseMatDescr_t descr, bool valid)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!descr || !valid)
        return INVALID;
    return descr->type == CUSPARSE_MATRIX_TYPE_GENERAL ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
}

struct cusparseSpMatDescr aw_sparse_csr(cudaDataType type, cusparseMatDescr_t descr, int64_t rows, int64_t cols, int64_t nnz,
                                        const void *val, const int *ptr, const int *ind)
{
    return (struct cusparseSpMatDescr){ .format = CUSPARSE_FORMAT_CSR,
                                        .rows = rows,
                                        .cols = cols,
                                        .nnz = nnz,
                                        .ptr = (void *)ptr,
                                        .ind = (void *)ind,
                                        .val = (void *)val,
                                        .ptr_type = CUSPARSE_INDEX_32I,
                                        .ind_type = CUSPARSE_INDEX_32I,
                                        .base = descr->base,
                                        .type = type,
                                        .fill = descr->fill,
                                        .diag = descr->diag,
                                        .batch = 1 };
}

struct cusparseSpMatDescr aw_sparse_bsr(cudaDataType type, cusparseMatDescr_t descr, cusparseDirection_t dir, int64_t rows,
                                        int64_t cols, int64_t nnz, int64_t block, const void *val, const int *ptr, const int *ind)
{
    struct cusparseSpMatDescr m = aw_sparse_csr(type, descr, rows * block, cols * block, nnz * block * block, val, ptr, ind);
    m.format = CUSPARSE_FORMAT_BSR;
    m.block_rows = m.block_cols = block;
    m.block_order = dir == CUSPARSE_DIRECTION_ROW ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    return m;
}

cusparseStatus_t aw_sparse_buffer(cusparseStatus_t status, size_t *size)
{
    if (status == CUSPARSE_STATUS_SUCCESS && !size)
        status = INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

cusparseStatus_t aw_sparse_buffer_int(cusparseStatus_t status, int *size)
{
    size_t n;
    if (status == CUSPARSE_STATUS_SUCCESS && !size)
        status = INVALID;
    status = aw_sparse_buffer(status, &n);
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = (int)n;
    return status;
}

static bool dir_valid(cusparseDirection_t dir)
{
    return (unsigned)dir <= CUSPARSE_DIRECTION_COLUMN;
}

/* ---- Triangular systems: which matrix, which right-hand sides. */

/* Is there a diagonal? */
static void run_analyse(struct aw_sparse_job *j)
{
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view a;
    int64_t block = j->m[0].format == CUSPARSE_FORMAT_BSR ? j->m[0].block_rows : 1;
    if (!aw_sparse_view(&s, &j->m[0], 0, j->t, false, &a))
        aw_sparse_job_no_memory(j);
    else
        aw_sparse_job_zero_at(j, aw_sparse_kernels(j->t, a.rows.wide)->pivot(&a.rows, false), block);
    aw_sparse_scratch_free(&s);
}

cusparseStatus_t aw_sparse_analyse(const char *name, cusparseHandle_t handle, const struct cusparseSpMatDescr *m,
                                   struct aw_sparse_info *info)
{
    struct aw_sparse_job j;
    if (!info)
        return INVALID;
    info->analysed = true;
    info->base = m->base;
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(m->type), run_analyse);
    aw_sparse_job_matrix(&j, 0, m, IN, 0);
    aw_sparse_job_pivot(&j, info->pivot);
    return aw_sparse_job_submit(&j, handle, false);
}

static cusparseStatus_t triangular(const char *name, cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb,
                                   const void *alpha, const struct cusparseSpMatDescr *m, const struct cusparseDnMatDescr *b,
                                   const struct cusparseDnMatDescr *c, struct aw_sparse_info *info)
{
    struct aw_sparse_system s = { opa, opb, alpha, m, *b, *c, m->type, info ? &info->analysed : NULL, info ? info->pivot : NULL };
    /* Where both sides are transposed, the solution is, too. */
    if (opb != CUSPARSE_OPERATION_NON_TRANSPOSE) {
        s.b.order = s.c.order = CUSPARSE_ORDER_ROW;
        s.b.rows = s.c.rows = m->rows;
        s.b.cols = b->rows, s.c.cols = c->rows;
        if (opb == CUSPARSE_OPERATION_TRANSPOSE)
            s.opb = CUSPARSE_OPERATION_NON_TRANSPOSE;
    }
    return aw_sparse_solve(name, handle, &s);
}

#define BSR_VALID \
    (dir_valid(dir) && aw_sparse_op_valid(op) && mb >= 0 && nnzb >= 0 && block >= 1 && (!nnzb || (val && ptr && ind)))
#define CSR_VALID (aw_sparse_op_valid(op) && m >= 0 && nnz >= 0 && (!nnz || (val && ptr && ind)))

#define SYSTEM_BSR(L, t, type, T, R)                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##bsrsv2_bufferSize(                                                                 \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, int mb, int nnzb, cusparseMatDescr_t descr,   \
        T *val, const int *ptr, const int *ind, int block, bsrsv2Info_t info, int *size)                                        \
    {                                                                                                                           \
        return aw_sparse_buffer_int(aw_sparse_legacy_check(handle, descr, BSR_VALID), size);                                    \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsrsv2_analysis(                                                                   \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, int mb, int nnzb, cusparseMatDescr_t descr,   \
        const T *val, const int *ptr, const int *ind, int block, bsrsv2Info_t info, cusparseSolvePolicy_t policy, void *buffer) \
    {                                                                                                                           \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID);                                             \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                  \
            return status;                                                                                                      \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, mb, nnzb, block, val, ptr, ind);                      \
        return aw_sparse_analyse("cusparse" #L "bsrsv2", handle, &a, (struct aw_sparse_info *)info);                            \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsrsv2_solve(                                                                      \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, int mb, int nnzb, const T *alpha,             \
        cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, int block, bsrsv2Info_t info, const T *f, T *x, \
        cusparseSolvePolicy_t policy, void *buffer)                                                                             \
    {                                                                                                                           \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID);                                             \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                  \
            return status;                                                                                                      \
        int64_t n = (int64_t)mb * block;                                                                                        \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, mb, nnzb, block, val, ptr, ind);                      \
        struct cusparseDnMatDescr b = aw_sparse_columns(type, f, n, 1, n), c = aw_sparse_columns(type, x, n, 1, n);             \
        return triangular("cusparse" #L "bsrsv2", handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, &a, &b, &c,              \
                          (struct aw_sparse_info *)info);                                                                       \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsrsm2_bufferSize(                                                                 \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, cusparseOperation_t opx, int mb, int n,       \
        int nnzb, cusparseMatDescr_t descr, T *val, const int *ptr, const int *ind, int block, bsrsm2Info_t info, int *size)    \
    {                                                                                                                           \
        return aw_sparse_buffer_int(aw_sparse_legacy_check(handle, descr, BSR_VALID && aw_sparse_op_valid(opx) && n >= 0),      \
                                    size);                                                                                      \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsrsm2_analysis(                                                                   \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, cusparseOperation_t opx, int mb, int n,       \
        int nnzb, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, int block, bsrsm2Info_t info,         \
        cusparseSolvePolicy_t policy, void *buffer)                                                                             \
    {                                                                                                                           \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID && aw_sparse_op_valid(opx) && n >= 0);        \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                  \
            return status;                                                                                                      \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, mb, nnzb, block, val, ptr, ind);                      \
        return aw_sparse_analyse("cusparse" #L "bsrsm2", handle, &a, (struct aw_sparse_info *)info);                            \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsrsm2_solve(                                                                      \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, cusparseOperation_t opx, int mb, int n,       \
        int nnzb, const T *alpha, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, int block,            \
        bsrsm2Info_t info, const T *f, int ldf, T *x, int ldx, cusparseSolvePolicy_t policy, void *buffer)                      \
    {                                                                                                                           \
        bool plain = opx == CUSPARSE_OPERATION_NON_TRANSPOSE;                                                                   \
        int64_t rows = plain ? (int64_t)mb * block : n, cols = plain ? n : (int64_t)mb * block;                                 \
        cusparseStatus_t status = aw_sparse_legacy_check(                                                                       \
            handle, descr, BSR_VALID && aw_sparse_op_valid(opx) && n >= 0 && ldf >= rows && ldx >= rows);                       \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                  \
            return status;                                                                                                      \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, mb, nnzb, block, val, ptr, ind);                      \
        struct cusparseDnMatDescr b = aw_sparse_columns(type, f, rows, cols, ldf),                                              \
                                  c = aw_sparse_columns(type, x, rows, cols, ldx);                                              \
        return triangular("cusparse" #L "bsrsm2", handle, op, opx, alpha, &a, &b, &c, (struct aw_sparse_info *)info);           \
    }
AW_SPARSE_FOUR(SYSTEM_BSR)

#define SYSTEM_CSR(L, t, type, T, R)                                                                                             \
    cusparseStatus_t awcusparse_cusparse##L##csrsv2_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, int m, int nnz,  \
                                                               cusparseMatDescr_t descr, T *val, const int *ptr, const int *ind, \
                                                               csrsv2Info_t info, int *size)                                     \
    {                                                                                                                            \
        return aw_sparse_buffer_int(aw_sparse_legacy_check(handle, descr, CSR_VALID), size);                                     \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##csrsv2_analysis(                                                                    \
        cusparseHandle_t handle, cusparseOperation_t op, int m, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, \
        const int *ind, csrsv2Info_t info, cusparseSolvePolicy_t policy, void *buffer)                                           \
    {                                                                                                                            \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, CSR_VALID);                                              \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                   \
            return status;                                                                                                       \
        struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, m, nnz, val, ptr, ind);                                      \
        return aw_sparse_analyse("cusparse" #L "csrsv2", handle, &a, (struct aw_sparse_info *)info);                             \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##csrsv2_solve(                                                                       \
        cusparseHandle_t handle, cusparseOperation_t op, int m, int nnz, const T *alpha, cusparseMatDescr_t descr, const T *val, \
        const int *ptr, const int *ind, csrsv2Info_t info, const T *f, T *x, cusparseSolvePolicy_t policy, void *buffer)         \
    {                                                                                                                            \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, CSR_VALID);                                              \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                   \
            return status;                                                                                                       \
        struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, m, nnz, val, ptr, ind);                                      \
        struct cusparseDnMatDescr b = aw_sparse_columns(type, f, m, 1, m), c = aw_sparse_columns(type, x, m, 1, m);              \
        return triangular("cusparse" #L "csrsv2", handle, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, &a, &b, &c,               \
                          (struct aw_sparse_info *)info);                                                                        \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##csrsm2_bufferSizeExt(                                                               \
        cusparseHandle_t handle, int algo, cusparseOperation_t op, cusparseOperation_t opb, int m, int nrhs, int nnz,            \
        const T *alpha, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, const T *b, int ldb,             \
        csrsm2Info_t info, cusparseSolvePolicy_t policy, size_t *size)                                                           \
    {                                                                                                                            \
        return aw_sparse_buffer(aw_sparse_legacy_check(handle, descr, CSR_VALID && aw_sparse_op_valid(opb) && nrhs >= 0), size); \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##csrsm2_analysis(                                                                    \
        cusparseHandle_t handle, int algo, cusparseOperation_t op, cusparseOperation_t opb, int m, int nrhs, int nnz,            \
        const T *alpha, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, const T *b, int ldb,             \
        csrsm2Info_t info, cusparseSolvePolicy_t policy, void *buffer)                                                           \
    {                                                                                                                            \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, CSR_VALID && aw_sparse_op_valid(opb) && nrhs >= 0);      \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                   \
            return status;                                                                                                       \
        struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, m, nnz, val, ptr, ind);                                      \
        return aw_sparse_analyse("cusparse" #L "csrsm2", handle, &a, (struct aw_sparse_info *)info);                             \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##csrsm2_solve(                                                                       \
        cusparseHandle_t handle, int algo, cusparseOperation_t op, cusparseOperation_t opb, int m, int nrhs, int nnz,            \
        const T *alpha, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, T *b, int ldb,                   \
        csrsm2Info_t info, cusparseSolvePolicy_t policy, void *buffer)                                                           \
    {                                                                                                                            \
        int64_t rows = opb == CUSPARSE_OPERATION_NON_TRANSPOSE ? m : nrhs,                                                       \
                cols = opb == CUSPARSE_OPERATION_NON_TRANSPOSE ? nrhs : m;                                                       \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr,                                                          \
                                                         CSR_VALID && aw_sparse_op_valid(opb) && nrhs >= 0 && ldb >= rows);      \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                   \
            return status;                                                                                                       \
        struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, m, nnz, val, ptr, ind);                                      \
        struct cusparseDnMatDescr d = aw_sparse_columns(type, b, rows, cols, ldb);                                               \
        return triangular("cusparse" #L "csrsm2", handle, op, opb, alpha, &a, &d, &d, (struct aw_sparse_info *)info);            \
    }
AW_SPARSE_FOUR(SYSTEM_CSR)

/* ---- Products with blocks. */

#define PRODUCT_BSR(L, t, type, T, R)                                                                                        \
    cusparseStatus_t awcusparse_cusparse##L##bsrmv(                                                                          \
        cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, int mb, int nb, int nnzb, const T *alpha,  \
        cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind, int block, const T *x, const T *beta, T *y)  \
    {                                                                                                                        \
        bool tr = op != CUSPARSE_OPERATION_NON_TRANSPOSE;                                                                    \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID && nb >= 0);                               \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                               \
            return status;                                                                                                   \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, nb, nnzb, block, val, ptr, ind);                   \
        int64_t nx = tr ? a.rows : a.cols, ny = tr ? a.cols : a.rows;                                                        \
        struct aw_sparse_product p = { op,                                                                                   \
                                       CUSPARSE_OPERATION_NON_TRANSPOSE,                                                     \
                                       alpha,                                                                                \
                                       beta,                                                                                 \
                                       &a,                                                                                   \
                                       aw_sparse_columns(type, x, nx, 1, nx),                                                \
                                       aw_sparse_columns(type, y, ny, 1, ny),                                                \
                                       type };                                                                               \
        return aw_sparse_product("cusparse" #L "bsrmv", handle, &p);                                                         \
    }                                                                                                                        \
    cusparseStatus_t awcusparse_cusparse##L##bsrmm(cusparseHandle_t handle, cusparseDirection_t dir, cusparseOperation_t op, \
                                                   cusparseOperation_t opb, int mb, int n, int kb, int nnzb, const T *alpha, \
                                                   cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind,   \
                                                   int block, const T *b, int ldb, const T *beta, T *c, int ldc)             \
    {                                                                                                                        \
        bool tr = opb != CUSPARSE_OPERATION_NON_TRANSPOSE;                                                                   \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID && n >= 0 && kb >= 0);                     \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                               \
            return status;                                                                                                   \
        struct cusparseSpMatDescr a = aw_sparse_bsr(type, descr, dir, mb, kb, nnzb, block, val, ptr, ind);                   \
        int64_t rows = tr ? n : a.cols;                                                                                      \
        if (op != CUSPARSE_OPERATION_NON_TRANSPOSE)                                                                          \
            return CUSPARSE_STATUS_NOT_SUPPORTED; /* as documented */                                                        \
        if (ldb < rows || ldc < a.rows)                                                                                      \
            return INVALID;                                                                                                  \
        struct aw_sparse_product p = { op,                                                                                   \
                                       opb,                                                                                  \
                                       alpha,                                                                                \
                                       beta,                                                                                 \
                                       &a,                                                                                   \
                                       aw_sparse_columns(type, b, rows, tr ? a.cols : n, ldb),                               \
                                       aw_sparse_columns(type, c, a.rows, n, ldc),                                           \
                                       type };                                                                               \
        return aw_sparse_product("cusparse" #L "bsrmm", handle, &p);                                                         \
    }
AW_SPARSE_FOUR(PRODUCT_BSR)

/* ---- Sums of two matrices of rows: matrices 0 and 1, to 2. */

static void put_rows(const struct aw_sparse_built *b, const struct cusparseSpMatDescr *c)
{
    for (int64_t i = 0; i <= c->rows; i++)
        aw_sparse_index_put(c->ptr_type, c->ptr, i, b->ptr[i] + c->base);
}

static void run_add(struct aw_sparse_job *j)
{
    static const double zero[2];
    bool values = j->n[0];
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view a, b;
    struct aw_sparse_built sum = { 0 };
    bool good = aw_sparse_view(&s, &j->m[0], 0, j->t, values, &a) && aw_sparse_view(&s, &j->m[1], 0, j->t, values, &b);
    if (good && !values) /* of which nothing is kept */
        a.rows.val = b.rows.val = aw_sparse_take(&s, j->m[0].nnz > j->m[1].nnz ? j->m[0].nnz : j->m[1].nnz,
                                                 aw_sparse_letter_size(j->t));
    const void *alpha = values ? aw_sparse_job_value(j, 0) : zero, *beta = values ? aw_sparse_job_value(j, 1) : zero;
    good = good && !s.failed && aw_sparse_kernels(j->t, false)->add(&a.rows, alpha, &b.rows, beta, &sum);
    if (good) {
        put_rows(&sum, &j->m[2]);
        for (int64_t p = 0; p < sum.nnz && values; p++)
            aw_sparse_index_put(CUSPARSE_INDEX_32I, j->m[2].ind, p, sum.ind[p] + j->m[2].base);
        if (values)
            memcpy(j->m[2].val, sum.val, (size_t)sum.nnz * aw_sparse_letter_size(j->t));
        else
            *(int *)(j->array_span[0] >= 0 ? j->array[0] : j->host) = (int)sum.nnz;
    } else {
        aw_sparse_job_no_memory(j);
    }
    aw_sparse_built_free(&sum);
    aw_sparse_scratch_free(&s);
}

cusparseStatus_t aw_sparse_count_of(cusparseHandle_t handle, const int *ptr, int64_t rows, int64_t *io)
{
    int first = 0, end = 0;
    if (handle->queue.place != AW_LIB_CARD)
        return CUSPARSE_STATUS_SUCCESS;
    CUresult result = aw_lib_read(&handle->queue, &first, ptr, sizeof first);
    if (result == CUDA_SUCCESS)
        result = aw_lib_read(&handle->queue, &end, ptr + rows, sizeof end);
    *io = end - first;
    return aw_sparse_status(result);
}

static cusparseStatus_t add(const char *name, cusparseHandle_t handle, cudaDataType type, const void *alpha,
                            const struct cusparseSpMatDescr *a, const void *beta, const struct cusparseSpMatDescr *b,
                            struct cusparseSpMatDescr *c)
{
    struct aw_sparse_job j;
    if (!alpha || !beta || !c->ptr)
        return INVALID;
    c->nnz = a->nnz + b->nnz;
    cusparseStatus_t status = aw_sparse_count_of(handle, c->ptr, c->rows, &c->nnz);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_add);
    j.n[0] = true;
    aw_sparse_job_scalar(&j, 0, alpha);
    aw_sparse_job_scalar(&j, 1, beta);
    aw_sparse_job_matrix(&j, 0, a, IN, IN);
    aw_sparse_job_matrix(&j, 1, b, IN, IN);
    aw_sparse_job_matrix(&j, 2, c, OUT, OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

void aw_sparse_count_to(struct aw_sparse_job *j, int *count)
{
    j->host = count;
    if (j->device)
        aw_sparse_job_array(j, 0, count, sizeof *count, OUT);
}

cusparseStatus_t awcusparse_cusparseXcsrgeam2Nnz(cusparseHandle_t handle, int m, int n, cusparseMatDescr_t da, int nnz_a,
                                                 const int *ptr_a, const int *ind_a, cusparseMatDescr_t db, int nnz_b,
                                                 const int *ptr_b, const int *ind_b, cusparseMatDescr_t dc, int *ptr_c,
                                                 int *count, void *buffer)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_legacy_check(handle, da,
                                                     m >= 0 && n >= 0 && nnz_a >= 0 && nnz_b >= 0 && db && dc && ptr_c && count &&
                                                         ptr_a && ptr_b && (!nnz_a || ind_a) && (!nnz_b || ind_b));
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct cusparseSpMatDescr a = aw_sparse_csr(CUDA_R_32F, da, m, n, nnz_a, NULL, ptr_a, ind_a);
    struct cusparseSpMatDescr b = aw_sparse_csr(CUDA_R_32F, db, m, n, nnz_b, NULL, ptr_b, ind_b);
    struct cusparseSpMatDescr c = aw_sparse_csr(CUDA_R_32F, dc, m, n, 0, NULL, ptr_c, NULL);
    aw_sparse_job_init(&j, handle, "cusparseXcsrgeam2Nnz", 's', run_add);
    aw_sparse_job_matrix(&j, 0, &a, IN, 0);
    aw_sparse_job_matrix(&j, 1, &b, IN, 0);
    aw_sparse_job_matrix(&j, 2, &c, OUT, 0);
    aw_sparse_count_to(&j, count);
    return aw_sparse_job_submit(&j, handle, !j.device);
}

#define SUM(L, t, type, T, R)                                                                                                   \
    cusparseStatus_t awcusparse_cusparse##L##csrgeam2(                                                                          \
        cusparseHandle_t handle, int m, int n, const T *alpha, cusparseMatDescr_t da, int nnz_a, const T *val_a,                \
        const int *ptr_a, const int *ind_a, const T *beta, cusparseMatDescr_t db, int nnz_b, const T *val_b, const int *ptr_b,  \
        const int *ind_b, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c, void *buffer)                                \
    {                                                                                                                           \
        cusparseStatus_t status = aw_sparse_legacy_check(handle, da, m >= 0 && n >= 0 && nnz_a >= 0 && nnz_b >= 0 && db && dc); \
        if (status != CUSPARSE_STATUS_SUCCESS)                                                                                  \
            return status;                                                                                                      \
        struct cusparseSpMatDescr a = aw_sparse_csr(type, da, m, n, nnz_a, val_a, ptr_a, ind_a);                                \
        struct cusparseSpMatDescr b = aw_sparse_csr(type, db, m, n, nnz_b, val_b, ptr_b, ind_b);                                \
        struct cusparseSpMatDescr c = aw_sparse_csr(type, dc, m, n, 0, val_c, ptr_c, ind_c);                                    \
        return add("cusparse" #L "csrgeam2", handle, type, alpha, &a, beta, &b, &c);                                            \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##csrgeam2_bufferSizeExt(                                                            \
        cusparseHandle_t handle, int m, int n, const T *alpha, cusparseMatDescr_t da, int nnz_a, const T *val_a,                \
        const int *ptr_a, const int *ind_a, const T *beta, cusparseMatDescr_t db, int nnz_b, const T *val_b, const int *ptr_b,  \
        const int *ind_b, cusparseMatDescr_t dc, const T *val_c, const int *ptr_c, const int *ind_c, size_t *size)              \
    {                                                                                                                           \
        return aw_sparse_buffer(aw_sparse_legacy_check(handle, da, m >= 0 && n >= 0 && nnz_a >= 0 && nnz_b >= 0 && db && dc),   \
                                size);                                                                                          \
    }
AW_SPARSE_FOUR(SUM)

/* ---- Counts of a dense matrix's elements by lines: dense 0, to array 1. */

static void run_nnz(struct aw_sparse_job *j)
{
    const struct cusparseDnMatDescr *d = &j->d[0];
    bool by_rows = j->n[0] == CUSPARSE_DIRECTION_ROW;
    int *counts = j->array[1], all = 0;
    memset(counts, 0, (size_t)(by_rows ? d->rows : d->cols) * sizeof *counts);
    for (int64_t c = 0; c < d->cols; c++)
        for (int64_t r = 0; r < d->rows; r++)
            if (aw_type_load(d->type, d->values, r + c * d->ld) != 0)
                counts[by_rows ? r : c]++, all++;
    *(int *)(j->array_span[0] >= 0 ? j->array[0] : j->host) = all;
}

/* ---- Rows without elements of at most a magnitude: matrix 0, counts 1. */

static bool kept(const struct aw_sparse_job *j, int64_t p)
{
    return cabs(aw_type_load(j->m[0].type, j->m[0].val, p)) > j->scalar[0][0];
}

static void run_nnz_compress(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *m = &j->m[0];
    int *counts = j->array[1], all = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        counts[i] = 0;
        for (int64_t p = ((int *)m->ptr)[i] - m->base; p < ((int *)m->ptr)[i + 1] - m->base; p++)
            counts[i] += kept(j, p);
        all += counts[i];
    }
    *(int *)(j->array_span[0] >= 0 ? j->array[0] : j->host) = all;
}

static void run_compress(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *m = &j->m[0], *c = &j->m[1];
    size_t size = aw_type_size(m->type);
    int n = 0;
    for (int64_t i = 0; i < m->rows; i++) {
        ((int *)c->ptr)[i] = n + c->base;
        for (int64_t p = ((int *)m->ptr)[i] - m->base; p < ((int *)m->ptr)[i + 1] - m->base; p++)
            if (kept(j, p)) {
                ((int *)c->ind)[n] = ((int *)m->ind)[p];
                memcpy((char *)c->val + (size_t)n++ * size, (char *)m->val + (size_t)p * size, size);
            }
    }
    ((int *)c->ptr)[m->rows] = n + c->base;
}

static cusparseStatus_t dense_nnz(const char *name, cusparseHandle_t handle, cusparseDirection_t dir, cudaDataType type, int m,
                                  int n, cusparseMatDescr_t descr, const void *a, int lda, int *counts, int *count)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_legacy_check(
        handle, descr, dir_valid(dir) && m >= 0 && n >= 0 && lda >= (m > 1 ? m : 1) && counts && count && (!m || !n || a));
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct cusparseDnMatDescr d = aw_sparse_columns(type, a, m, n, lda);
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_nnz);
    j.n[0] = dir;
    aw_sparse_job_dense(&j, 0, &d, IN);
    aw_sparse_job_array(&j, 1, counts, (size_t)(dir == CUSPARSE_DIRECTION_ROW ? m : n) * sizeof *counts, OUT);
    aw_sparse_count_to(&j, count);
    return aw_sparse_job_submit(&j, handle, !j.device);
}

/* How many elements the rows of a matrix hold: on a card the last offset says it. */
static cusparseStatus_t nnz_compress(const char *name, cusparseHandle_t handle, cudaDataType type, int m,
                                     cusparseMatDescr_t descr, const void *val, const int *ptr, int *counts, int *count,
                                     double tolerance)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, m >= 0 && ptr && counts && count && tolerance >= 0);
    int64_t nnz = 0;
    if (status == CUSPARSE_STATUS_SUCCESS)
        status = aw_sparse_count_of(handle, ptr, m, &nnz);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, m, nnz, val, ptr, NULL);
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_nnz_compress);
    j.scalar[0][0] = tolerance;
    aw_sparse_job_matrix(&j, 0, &a, IN, IN);
    aw_sparse_job_array(&j, 1, counts, (size_t)m * sizeof *counts, OUT);
    aw_sparse_count_to(&j, count);
    return aw_sparse_job_submit(&j, handle, !j.device);
}

static cusparseStatus_t compress(const char *name, cusparseHandle_t handle, cudaDataType type, int m, int n,
                                 cusparseMatDescr_t descr, const void *val, const int *ind, const int *ptr, int nnz,
                                 const int *counts, void *val_c, int *ind_c, int *ptr_c, double tolerance)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr,
                                                     m >= 0 && n >= 0 && nnz >= 0 && ptr && ptr_c && tolerance >= 0);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct cusparseSpMatDescr a = aw_sparse_csr(type, descr, m, n, nnz, val, ptr, ind),
                              c = aw_sparse_csr(type, descr, m, n, 0, val_c, ptr_c, ind_c);
    if (handle->queue.place == AW_LIB_CARD && m) {
        int *host = malloc((size_t)m * sizeof *host);
        CUresult result = host ? aw_lib_read(&handle->queue, host, counts, (size_t)m * sizeof *host) : AW_LIB_NO_MEMORY;
        for (int i = 0; i < m && result == CUDA_SUCCESS; i++)
            c.nnz += host[i];
        free(host);
        if (result != CUDA_SUCCESS)
            return aw_sparse_status(result);
    }
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_compress);
    j.scalar[0][0] = tolerance;
    aw_sparse_job_matrix(&j, 0, &a, IN, IN);
    aw_sparse_job_matrix(&j, 1, &c, OUT, OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

#define TOLERANCE_S (double)tolerance
#define TOLERANCE_D tolerance
#define TOLERANCE_C (double)tolerance.x
#define TOLERANCE_Z tolerance.x
#define COMPRESS(L, t, type, T, R)                                                                                              \
    cusparseStatus_t awcusparse_cusparse##L##nnz(cusparseHandle_t handle, cusparseDirection_t dir, int m, int n,                \
                                                 cusparseMatDescr_t descr, const T *a, int lda, int *counts, int *count)        \
    {                                                                                                                           \
        return dense_nnz("cusparse" #L "nnz", handle, dir, type, m, n, descr, a, lda, counts, count);                           \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##nnz_compress(cusparseHandle_t handle, int m, cusparseMatDescr_t descr,             \
                                                          const T *val, const int *ptr, int *counts, int *count, T tolerance)   \
    {                                                                                                                           \
        return nnz_compress("cusparse" #L "nnz_compress", handle, type, m, descr, val, ptr, counts, count, TOLERANCE_##L);      \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##csr2csr_compress(cusparseHandle_t handle, int m, int n, cusparseMatDescr_t descr,  \
                                                              const T *val, const int *ind, const int *ptr, int nnz,            \
                                                              const int *counts, T *val_c, int *ind_c, int *ptr_c, T tolerance) \
    {                                                                                                                           \
        return compress("cusparse" #L "csr2csr_compress", handle, type, m, n, descr, val, ind, ptr, nnz, counts, val_c, ind_c,  \
                        ptr_c, TOLERANCE_##L);                                                                                  \
    }
AW_SPARSE_FOUR(COMPRESS)
