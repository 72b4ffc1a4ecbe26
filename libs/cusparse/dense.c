/* Between sparse and dense matrices of the generic interface. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <complex.h>
#include <string.h>

#include "common/convert.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
enum { BUFFER = 16 };

static cusparseStatus_t check(const char *name, cusparseHandle_t handle, const struct cusparseSpMatDescr *sparse,
                              const struct cusparseDnMatDescr *dense)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!sparse || !dense || sparse->rows != dense->rows || sparse->cols != dense->cols || sparse->type != dense->type)
        return INVALID;
    if (!aw_sparse_own_letter(sparse->type) || sparse->batch > 1 || dense->batch > 1)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    return aw_sparse_format_check(sparse, name);
}

/* Element (i, j) of a dense matrix lies so many elements on. */
static int64_t place(const struct cusparseDnMatDescr *d, int64_t i, int64_t j)
{
    return d->order == CUSPARSE_ORDER_ROW ? i * d->ld + j : i + j * d->ld;
}

static void run_to_dense(struct aw_sparse_job *j)
{
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view v;
    const struct cusparseDnMatDescr *d = &j->d[0];
    for (int64_t c = 0; c < d->cols; c++)
        for (int64_t r = 0; r < d->rows; r++)
            aw_type_store(d->type, d->values, place(d, r, c), 0);
    if (!aw_sparse_view(&s, &j->m[0], 0, j->t, true, &v) || !aw_sparse_view_widen(&s, &v))
        aw_sparse_job_no_memory(j);
    const int64_t *ptr = v.rows.ptr, *ind = v.rows.ind;
    size_t size = aw_sparse_letter_size(j->t);
    for (int64_t i = 0; i < v.rows.rows && !s.failed; i++)
        for (int64_t p = ptr[i] - v.rows.base; p < ptr[i + 1] - v.rows.base; p++) {
            int64_t k = ind[p] - v.rows.base, at = v.flipped ? place(d, k, i) : place(d, i, k);
            aw_sparse_store(j->t, (const char *)v.rows.val + (size_t)p * size, 1, d->type,
                            (char *)d->values + (size_t)at * aw_type_size(d->type));
        }
    aw_sparse_scratch_free(&s);
}

cusparseStatus_t awcusparse_cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                             cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t alg, size_t *size)
{
    cusparseStatus_t status = size ? check("cusparseSparseToDense", handle, a, b) : INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

cusparseStatus_t awcusparse_cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                                  cusparseSparseToDenseAlg_t alg, void *buffer)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check("cusparseSparseToDense", handle, a, b);
    if (status != CUSPARSE_STATUS_SUCCESS || b->rows == 0 || b->cols == 0)
        return status;
    aw_sparse_job_init(&j, handle, "cusparseSparseToDense", aw_sparse_own_letter(a->type), run_to_dense);
    aw_sparse_job_matrix(&j, 0, a, AW_LIB_IN, AW_LIB_IN);
    aw_sparse_job_dense(&j, 0, b, AW_LIB_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

/* ---- To sparse: elements that are not 0, line by line of the format.  `values`: writes all of it, else the offsets alone. */

static int64_t to_sparse(struct aw_sparse_job *j, bool values)
{
    const struct cusparseDnMatDescr *d = &j->d[0];
    const struct cusparseSpMatDescr *m = &j->m[0];
    bool columns = m->format == CUSPARSE_FORMAT_CSC, coo = m->format == CUSPARSE_FORMAT_COO;
    int64_t n = 0, lines = columns ? m->cols : m->rows, width = columns ? m->rows : m->cols;
    size_t size = aw_type_size(m->type);
    for (int64_t i = 0; i < lines; i++) {
        if (!coo && m->ptr)
            aw_sparse_index_put(m->ptr_type, m->ptr, i, n + m->base);
        for (int64_t k = 0; k < width; k++) {
            int64_t at = columns ? place(d, k, i) : place(d, i, k);
            if (aw_type_load(d->type, d->values, at) == 0)
                continue;
            if (values && n < m->nnz) {
                if (coo)
                    aw_sparse_index_put(m->ptr_type, m->ptr, n, i + m->base);
                aw_sparse_index_put(m->ind_type, m->ind, n, k + m->base);
                memcpy((char *)m->val + (size_t)n * size, (const char *)d->values + (size_t)at * size, size);
            }
            n++;
        }
    }
    if (!coo && m->ptr)
        aw_sparse_index_put(m->ptr_type, m->ptr, lines, n + m->base);
    return n;
}

static void run_count(struct aw_sparse_job *j)
{
    *(int64_t *)j->host = to_sparse(j, false);
}

static void run_to_sparse(struct aw_sparse_job *j)
{
    to_sparse(j, true);
}

static cusparseStatus_t check_to_sparse(cusparseHandle_t handle, const struct cusparseDnMatDescr *a,
                                        const struct cusparseSpMatDescr *b)
{
    cusparseStatus_t status = check("cusparseDenseToSparse", handle, b, a);
    if (status == CUSPARSE_STATUS_SUCCESS && b->format > CUSPARSE_FORMAT_COO)
        status = CUSPARSE_STATUS_NOT_SUPPORTED;
    return status;
}

cusparseStatus_t awcusparse_cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                             cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg, size_t *size)
{
    cusparseStatus_t status = size ? check_to_sparse(handle, a, b) : INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

cusparseStatus_t awcusparse_cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                           cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg, void *buffer)
{
    struct aw_sparse_job j;
    int64_t nnz = 0;
    cusparseStatus_t status = check_to_sparse(handle, a, b);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, handle, "cusparseDenseToSparse_analysis", aw_sparse_own_letter(a->type), run_count);
    aw_sparse_job_dense(&j, 0, a, AW_LIB_IN);
    aw_sparse_job_matrix(&j, 0, b, b->ptr && b->format != CUSPARSE_FORMAT_COO ? AW_LIB_OUT : 0, 0);
    j.host = &nnz;
    /* Of the pattern only the offsets are there yet. */
    j.job.spans[j.matrix_span[0] + 1] = (struct aw_lib_span){ .at = b->ind };
    status = aw_sparse_job_submit(&j, handle, true);
    if (status == CUSPARSE_STATUS_SUCCESS)
        b->nnz = nnz;
    return status;
}

cusparseStatus_t awcusparse_cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                          cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t alg, void *buffer)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check_to_sparse(handle, a, b);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if ((b->format != CUSPARSE_FORMAT_COO && !b->ptr) || (b->nnz && (!b->ptr || !b->ind || !b->val)))
        return INVALID;
    aw_sparse_job_init(&j, handle, "cusparseDenseToSparse_convert", aw_sparse_own_letter(a->type), run_to_sparse);
    aw_sparse_job_dense(&j, 0, a, AW_LIB_IN);
    aw_sparse_job_matrix(&j, 0, b, AW_LIB_OUT, AW_LIB_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}
