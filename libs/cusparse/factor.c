/* Incomplete factorisations: LU and Cholesky within the pattern, of rows and of blocks. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <string.h>

#include "common/convert.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "legacy.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE

enum { LU, CHOLESKY };

/* Numbers: which, is there a boost.  Scalar 0: tolerance; 1: what instead. */
static void run(struct aw_sparse_job *j)
{
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view a;
    size_t size = aw_sparse_letter_size(j->t);
    int64_t zero = -2;
    if (aw_sparse_view(&s, &j->m[0], 0, j->t, true, &a)) {
        const struct aw_sparse_kernels *k = aw_sparse_kernels(j->t, a.rows.wide);
        zero = j->n[0] == LU ? k->lu(&a.rows, j->n[1] ? j->scalar[0] : NULL, j->scalar[1]) : k->cholesky(&a.rows);
        int64_t n = a.rows.place ? ((const int64_t *)a.rows.ptr)[a.rows.rows] : 0;
        for (int64_t p = 0; p < n; p++)
            memcpy((char *)a.all + (size_t)a.rows.place[p] * size, (const char *)a.rows.val + (size_t)p * size, size);
    }
    if (zero == -2)
        aw_sparse_job_no_memory(j);
    else
        aw_sparse_job_zero_at(j, zero, j->m[0].format == CUSPARSE_FORMAT_BSR ? j->m[0].block_rows : 1);
    aw_sparse_scratch_free(&s);
}

static cusparseStatus_t factor(const char *name, cusparseHandle_t handle, int which, const struct cusparseSpMatDescr *m,
                               struct aw_sparse_info *info)
{
    struct aw_sparse_job j;
    if (!info || !info->analysed)
        return INVALID;
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(m->type), run);
    j.n[0] = which, j.n[1] = info->boost;
    j.scalar[0][0] = info->tolerance;
    memcpy(j.scalar[1], info->instead, sizeof info->instead);
    aw_sparse_job_matrix(&j, 0, m, AW_LIB_IN, AW_LIB_IN | AW_LIB_OUT);
    aw_sparse_job_pivot(&j, info->pivot);
    return aw_sparse_job_submit(&j, handle, false);
}

/* A tolerance and what small pivots become, by the pointer mode. */
static cusparseStatus_t boost(cusparseHandle_t handle, struct aw_sparse_info *info, int enable, const double *tolerance,
                              const void *instead, size_t size)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    CUresult result = CUDA_SUCCESS;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!info || (enable && (!tolerance || !instead)))
        return INVALID;
    info->boost = enable != 0;
    if (!enable)
        return CUSPARSE_STATUS_SUCCESS;
    if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) {
        result = aw_lib_read(&handle->queue, &info->tolerance, tolerance, sizeof *tolerance);
        if (result == CUDA_SUCCESS)
            result = aw_lib_read(&handle->queue, info->instead, instead, size);
    } else {
        info->tolerance = *tolerance;
        memcpy(info->instead, instead, size);
    }
    return aw_sparse_status(result);
}

#define CSR_VALID (m >= 0 && nnz >= 0 && (!nnz || (val && ptr && ind)))
#define BSR_VALID \
    ((unsigned)dir <= CUSPARSE_DIRECTION_COLUMN && mb >= 0 && nnzb >= 0 && block >= 1 && (!nnzb || (val && ptr && ind)))
#define CSR_CHECK                                                               \
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, CSR_VALID); \
    if (status != CUSPARSE_STATUS_SUCCESS)                                      \
        return status;                                                          \
    struct cusparseSpMatDescr a = aw_sparse_csr(type_, descr, m, m, nnz, val, ptr, ind)
#define BSR_CHECK                                                               \
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, BSR_VALID); \
    if (status != CUSPARSE_STATUS_SUCCESS)                                      \
        return status;                                                          \
    struct cusparseSpMatDescr a = aw_sparse_bsr(type_, descr, dir, mb, mb, nnzb, block, val, ptr, ind)

#define CSR(L, T, type, name, which)                                                                                      \
    cusparseStatus_t awcusparse_cusparse##L##csr##name##_bufferSize(cusparseHandle_t handle, int m, int nnz,              \
                                                                    cusparseMatDescr_t descr, T *val, const int *ptr,     \
                                                                    const int *ind, csr##name##Info_t info, int *size)    \
    {                                                                                                                     \
        return aw_sparse_buffer_int(aw_sparse_legacy_check(handle, descr, CSR_VALID), size);                              \
    }                                                                                                                     \
    cusparseStatus_t awcusparse_cusparse##L##csr##name##_analysis(                                                        \
        cusparseHandle_t handle, int m, int nnz, cusparseMatDescr_t descr, const T *val, const int *ptr, const int *ind,  \
        csr##name##Info_t info, cusparseSolvePolicy_t policy, void *buffer)                                               \
    {                                                                                                                     \
        const cudaDataType type_ = type;                                                                                  \
        CSR_CHECK;                                                                                                        \
        return aw_sparse_analyse("cusparse" #L "csr" #name, handle, &a, (struct aw_sparse_info *)info);                   \
    }                                                                                                                     \
    cusparseStatus_t awcusparse_cusparse##L##csr##name(cusparseHandle_t handle, int m, int nnz, cusparseMatDescr_t descr, \
                                                       T *val, const int *ptr, const int *ind, csr##name##Info_t info,    \
                                                       cusparseSolvePolicy_t policy, void *buffer)                        \
    {                                                                                                                     \
        const cudaDataType type_ = type;                                                                                  \
        CSR_CHECK;                                                                                                        \
        return factor("cusparse" #L "csr" #name, handle, which, &a, (struct aw_sparse_info *)info);                       \
    }
#define BSR(L, T, type, name, which)                                                                                          \
    cusparseStatus_t awcusparse_cusparse##L##bsr##name##_bufferSize(                                                          \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nnzb, cusparseMatDescr_t descr, T *val, const int *ptr, \
        const int *ind, int block, bsr##name##Info_t info, int *size)                                                         \
    {                                                                                                                         \
        return aw_sparse_buffer_int(aw_sparse_legacy_check(handle, descr, BSR_VALID), size);                                  \
    }                                                                                                                         \
    cusparseStatus_t awcusparse_cusparse##L##bsr##name(                                                                       \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nnzb, cusparseMatDescr_t descr, T *val, const int *ptr, \
        const int *ind, int block, bsr##name##Info_t info, cusparseSolvePolicy_t policy, void *buffer)                        \
    {                                                                                                                         \
        const cudaDataType type_ = type;                                                                                      \
        BSR_CHECK;                                                                                                            \
        return factor("cusparse" #L "bsr" #name, handle, which, &a, (struct aw_sparse_info *)info);                           \
    }
/* The two analyses of blocks differ in a word. */
#define BSR_ANALYSIS(L, type, name, pointer)                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsr##name##_analysis(                                                     \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nnzb, cusparseMatDescr_t descr, pointer val,     \
        const int *ptr, const int *ind, int block, bsr##name##Info_t info, cusparseSolvePolicy_t policy, void *buffer) \
    {                                                                                                                  \
        const cudaDataType type_ = type;                                                                               \
        BSR_CHECK;                                                                                                     \
        return aw_sparse_analyse("cusparse" #L "bsr" #name, handle, &a, (struct aw_sparse_info *)info);                \
    }

#define FACTORS(L, t, type, T, R)                                                                                            \
    CSR(L, T, type, ilu02, LU)                                                                                               \
    CSR(L, T, type, ic02, CHOLESKY)                                                                                          \
    BSR(L, T, type, ilu02, LU)                                                                                               \
    BSR(L, T, type, ic02, CHOLESKY)                                                                                          \
    BSR_ANALYSIS(L, type, ilu02, T *)                                                                                        \
    BSR_ANALYSIS(L, type, ic02, const T *)                                                                                   \
    cusparseStatus_t awcusparse_cusparse##L##csrilu02_numericBoost(cusparseHandle_t handle, csrilu02Info_t info, int enable, \
                                                                   double *tolerance, T *instead)                            \
    {                                                                                                                        \
        return boost(handle, (struct aw_sparse_info *)info, enable, tolerance, instead, sizeof *instead);                    \
    }                                                                                                                        \
    cusparseStatus_t awcusparse_cusparse##L##bsrilu02_numericBoost(cusparseHandle_t handle, bsrilu02Info_t info, int enable, \
                                                                   double *tolerance, T *instead)                            \
    {                                                                                                                        \
        return boost(handle, (struct aw_sparse_info *)info, enable, tolerance, instead, sizeof *instead);                    \
    }
AW_SPARSE_FOUR(FACTORS)
