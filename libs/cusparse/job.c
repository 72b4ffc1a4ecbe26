/* Calls as work of streams: see job.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include "job.h"

#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "view.h"

static int span_add(struct aw_sparse_job *j, struct aw_lib_span s)
{
    j->job.spans[j->job.n_spans] = s;
    return j->job.n_spans++;
}

/* Where the memory of descriptors is now. */
static void enter(struct aw_lib_job *job)
{
    struct aw_sparse_job *j = (struct aw_sparse_job *)job;
    for (int k = 0; k < AW_SPARSE_MATRICES; k++)
        if (j->matrix_span[k] >= 0) {
            const struct aw_lib_span *s = &job->spans[j->matrix_span[k]];
            j->m[k].ptr = s[0].at, j->m[k].ind = s[1].at, j->m[k].val = s[2].at;
        }
    for (int k = 0; k < AW_SPARSE_DENSES; k++)
        if (j->dense_span[k] >= 0)
            j->d[k].values = job->spans[j->dense_span[k]].at;
    for (int k = 0; k < AW_SPARSE_ARRAYS; k++)
        if (j->array_span[k] >= 0)
            j->array[k] = job->spans[j->array_span[k]].at;
    for (int k = 0; j->narrow && k < AW_SPARSE_SCALARS; k++)
        if (j->scalar_span[k] >= 0)
            aw_sparse_load(j->scalar_type, job->spans[j->scalar_span[k]].at, 1, j->t, j->scalar[k]);
    j->run(j);
}

void aw_sparse_job_init(struct aw_sparse_job *j, cusparseHandle_t handle, const char *name, char t,
                        void (*run)(struct aw_sparse_job *j))
{
    memset(j, 0, sizeof *j);
    j->job.run = enter;
    j->job.size = sizeof *j;
    j->name = name;
    j->t = t;
    j->device = handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE;
    memset(j->scalar_span, -1, sizeof j->scalar_span);
    memset(j->matrix_span, -1, sizeof j->matrix_span);
    memset(j->dense_span, -1, sizeof j->dense_span);
    memset(j->array_span, -1, sizeof j->array_span);
    j->run = run;
}

static struct aw_lib_span array_span(void *at, int64_t n, size_t size, int batch, int64_t stride, unsigned dir)
{
    size_t bytes = (size_t)n * size;
    return (struct aw_lib_span){ at, bytes, bytes ? 1 : 0, bytes, (size_t)batch, (size_t)stride * size, dir };
}

void aw_sparse_job_matrix(struct aw_sparse_job *j, int k, const struct cusparseSpMatDescr *m, unsigned pattern, unsigned values)
{
    struct aw_sparse_counts n = aw_sparse_counts(m);
    size_t ind = aw_sparse_index_size(m->ind_type), ptr = aw_sparse_index_size(m->ptr_type);
    int batch = m->batch > 1 ? m->batch : 1;
    j->m[k] = *m;
    j->matrix_span[k] = (int8_t)span_add(j,
                                         array_span(m->ptr, pattern && m->ptr ? n.ptr : 0, ptr, batch, m->ptr_stride, pattern));
    span_add(j, array_span(m->ind, pattern && m->ind ? n.ind : 0, ind, batch, m->ind_stride, pattern));
    span_add(j, array_span(m->val, values && m->val ? n.val : 0, aw_type_size(m->type), batch, m->val_stride, values));
}

void aw_sparse_job_vector(struct aw_sparse_job *j, int k, const struct cusparseSpVecDescr *v, unsigned values)
{
    struct cusparseSpMatDescr m = { .format = (cusparseFormat_t)AW_SPARSE_VECTOR,
                                    .rows = v->size,
                                    .cols = 1,
                                    .nnz = v->nnz,
                                    .ind = v->indices,
                                    .val = v->values,
                                    .ptr_type = v->index_type,
                                    .ind_type = v->index_type,
                                    .base = v->base,
                                    .type = v->type,
                                    .batch = 1 };
    aw_sparse_job_matrix(j, k, &m, AW_LIB_IN, values);
}

void aw_sparse_job_dense(struct aw_sparse_job *j, int k, const struct cusparseDnMatDescr *d, unsigned dir)
{
    size_t size = aw_type_size(d->type);
    bool by_rows = d->order == CUSPARSE_ORDER_ROW;
    int64_t width = by_rows ? d->cols : d->rows, lines = by_rows ? d->rows : d->cols;
    j->d[k] = *d;
    j->dense_span[k] = (int8_t)span_add(j, (struct aw_lib_span){ d->values, (size_t)width * size, dir ? (size_t)lines : 0,
                                                                 (size_t)d->ld * size, (size_t)d->batch, (size_t)d->stride * size,
                                                                 dir });
}

void aw_sparse_job_dense_vector(struct aw_sparse_job *j, int k, const struct cusparseDnVecDescr *v, unsigned dir)
{
    struct cusparseDnMatDescr d = { v->size, 1, v->size, v->values, v->type, CUSPARSE_ORDER_COL, 1, 0 };
    aw_sparse_job_dense(j, k, &d, dir);
}

void aw_sparse_job_scalar_type(struct aw_sparse_job *j, cudaDataType type)
{
    j->narrow = !aw_sparse_same(type, j->t);
    j->scalar_type = type;
}

void aw_sparse_job_scalar(struct aw_sparse_job *j, int k, const void *at)
{
    size_t size = j->narrow ? aw_type_size(j->scalar_type) : aw_sparse_letter_size(j->t);
    if (j->device)
        j->scalar_span[k] = (int8_t)span_add(j, array_span((void *)at, 1, size, 1, 0, AW_LIB_IN));
    else if (j->narrow)
        aw_sparse_load(j->scalar_type, at, 1, j->t, j->scalar[k]);
    else
        memcpy(j->scalar[k], at, size);
}

void aw_sparse_job_array(struct aw_sparse_job *j, int k, const void *at, size_t size, unsigned dir)
{
    j->array[k] = (void *)at;
    j->array_span[k] = (int8_t)span_add(j, array_span((void *)at, (int64_t)size, 1, 1, 0, dir));
}

void aw_sparse_job_rows(struct aw_sparse_job *j, int k, const void *at, size_t width, size_t rows, size_t pitch, unsigned dir)
{
    j->array[k] = (void *)at;
    j->array_span[k] = (int8_t)span_add(j, (struct aw_lib_span){ (void *)at, width, rows, pitch, 1, 0, dir });
}

bool aw_sparse_job_zero(const struct aw_sparse_job *j, int k)
{
    static const double zero[2];
    return !j->device && !memcmp(j->scalar[k], zero, aw_sparse_letter_size(j->t));
}

cusparseStatus_t aw_sparse_job_submit(struct aw_sparse_job *j, cusparseHandle_t handle, bool waits)
{
    enum { SMALL = 16384 }; /* bytes, about, that take less than a change of threads */
    size_t bytes = 0;
    int status = 0;
    for (unsigned i = 0; i < j->job.n_spans; i++)
        bytes += j->job.spans[i].width * j->job.spans[i].rows * j->job.spans[i].count;
    CUresult result = aw_lib_submit(&handle->queue, &j->job,
                                    waits            ? AW_LIB_DONE
                                    : bytes <= SMALL ? AW_LIB_SMALL
                                                     : AW_LIB_QUEUED,
                                    &status);
    if (result != CUDA_SUCCESS)
        return aw_sparse_status(result);
    return waits ? (cusparseStatus_t)status : CUSPARSE_STATUS_SUCCESS;
}

const void *aw_sparse_job_value(const struct aw_sparse_job *j, int k)
{
    return j->scalar_span[k] >= 0 && !j->narrow ? j->job.spans[j->scalar_span[k]].at : (const void *)j->scalar[k];
}

void aw_sparse_job_no_memory(struct aw_sparse_job *j)
{
    aw_say(SPARSE_MEMORY, j->name);
    j->job.status = CUSPARSE_STATUS_ALLOC_FAILED;
}

char aw_sparse_letter(cudaDataType compute)
{
    switch (compute) {
    case CUDA_R_32F: return 's';
    case CUDA_R_64F: return 'd';
    case CUDA_C_32F: return 'c';
    case CUDA_C_64F: return 'z';
    case CUDA_R_32I: return 'i';
    default: return 0;
    }
}

char aw_sparse_wide_letter(cudaDataType compute)
{
    bool half = compute == CUDA_R_16F || compute == CUDA_R_16BF || compute == CUDA_C_16F || compute == CUDA_C_16BF;
    return half ? aw_sparse_own_letter(compute) : aw_sparse_letter(compute);
}

char aw_sparse_own_letter(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF: return 's';
    case CUDA_C_16F:
    case CUDA_C_16BF: return 'c';
    case CUDA_R_8I:
    case CUDA_R_8U: return 'i';
    default: return aw_sparse_letter(type);
    }
}

bool aw_sparse_readable(cudaDataType type, char t)
{
    if (!aw_type_size(type) || !t || (aw_type_complex(type) && t != 'c' && t != 'z'))
        return false;
    bool integer = type == CUDA_R_8I || type == CUDA_R_8U || type == CUDA_R_32I;
    return t != 'i' || integer;
}

size_t aw_sparse_letter_size(char t)
{
    return t == 's' || t == 'i' ? 4 : t == 'z' ? 16 : 8;
}
