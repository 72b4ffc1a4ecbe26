/* The older interface's work on indices: sorts, between rows and offsets, and the transposition that most programs have their
 * own for. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <stdlib.h>
#include <string.h>

#include "common/convert.h"
#include "cusparse_proto.h"
#include "job.h"
#include "legacy.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
enum { IN = AW_LIB_IN, OUT = AW_LIB_OUT, IN_OUT = AW_LIB_IN | AW_LIB_OUT };

static cusparseStatus_t check(cusparseHandle_t handle, bool valid)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    return status != CUSPARSE_STATUS_SUCCESS ? status : valid ? CUSPARSE_STATUS_SUCCESS : INVALID;
}

static void run_identity(struct aw_sparse_job *j)
{
    for (int i = 0; i < j->n[0]; i++)
        ((int *)j->array[0])[i] = i;
}

cusparseStatus_t awcusparse_cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int *p)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check(handle, n >= 0 && (!n || p));
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, handle, "cusparseCreateIdentityPermutation", 's', run_identity);
    j.n[0] = n;
    aw_sparse_job_array(&j, 0, p, (size_t)n * sizeof *p, OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

/* ---- Sorts.  Arrays 0: the first key, 1: the second, 2: what goes along, or NULL. */

struct element {
    int first, second, at;
};

/* Of equal ones, which was before. */
static int compare(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second < y->second ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Elements `first` to `end` of the second keys, and of the first where it has one for each. */
static bool sort(int *one, int *two, int *along, int64_t first, int64_t end)
{
    size_t n = (size_t)(end - first);
    struct element *e = malloc((n + 1) * sizeof *e);
    int *old = malloc((n + 1) * sizeof *old);
    bool good = e && old;
    for (size_t i = 0; good && i < n; i++) {
        e[i] = (struct element){ one ? one[first + (int64_t)i] : 0, two[first + (int64_t)i], (int)i };
        old[i] = along ? along[first + (int64_t)i] : 0;
    }
    if (good)
        qsort(e, n, sizeof *e, compare);
    for (size_t i = 0; good && i < n; i++) {
        if (one)
            one[first + (int64_t)i] = e[i].first;
        two[first + (int64_t)i] = e[i].second;
        if (along)
            along[first + (int64_t)i] = old[e[i].at];
    }
    free(e);
    free(old);
    return good;
}

static void run_coordinates(struct aw_sparse_job *j)
{
    if (!sort(j->array[0], j->array[1], j->array[2], 0, j->n[0]))
        aw_sparse_job_no_memory(j);
}

/* Within lines: array 0 has where they begin. */
static void run_lines(struct aw_sparse_job *j)
{
    const int *ptr = j->array[0];
    for (int64_t i = 0; i < j->n[1]; i++)
        if (!sort(NULL, j->array[1], j->array[2], ptr[i] - ptr[0], ptr[i + 1] - ptr[0])) {
            aw_sparse_job_no_memory(j);
            return;
        }
}

static cusparseStatus_t submit(const char *name, cusparseHandle_t handle, bool lines, int n_lines, int nnz, const int *one,
                               int *two, int *along)
{
    struct aw_sparse_job j;
    size_t size = (size_t)nnz * sizeof *two;
    aw_sparse_job_init(&j, handle, name, 's', lines ? run_lines : run_coordinates);
    j.n[0] = nnz, j.n[1] = n_lines;
    aw_sparse_job_array(&j, 0, one, lines ? ((size_t)n_lines + 1) * sizeof *one : size, lines ? IN : IN_OUT);
    aw_sparse_job_array(&j, 1, two, size, IN_OUT);
    if (along)
        aw_sparse_job_array(&j, 2, along, size, IN_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

static cusparseStatus_t coordinates(const char *name, cusparseHandle_t handle, int m, int n, int nnz, int *one, int *two,
                                    int *along)
{
    cusparseStatus_t status = check(handle, m >= 0 && n >= 0 && nnz >= 0 && (!nnz || (one && two)));
    return status == CUSPARSE_STATUS_SUCCESS ? submit(name, handle, false, 0, nnz, one, two, along) : status;
}

cusparseStatus_t awcusparse_cusparseXcoosortByRow(cusparseHandle_t handle, int m, int n, int nnz, int *row, int *col, int *along,
                                                  void *buffer)
{
    return coordinates("cusparseXcoosortByRow", handle, m, n, nnz, row, col, along);
}

cusparseStatus_t awcusparse_cusparseXcoosortByColumn(cusparseHandle_t handle, int m, int n, int nnz, int *row, int *col,
                                                     int *along, void *buffer)
{
    return coordinates("cusparseXcoosortByColumn", handle, m, n, nnz, col, row, along);
}

cusparseStatus_t awcusparse_cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr,
                                             const int *ptr, int *ind, int *along, void *buffer)
{
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, m >= 0 && n >= 0 && nnz >= 0 && ptr && (!nnz || ind));
    return status == CUSPARSE_STATUS_SUCCESS ? submit("cusparseXcsrsort", handle, true, m, nnz, ptr, ind, along) : status;
}

cusparseStatus_t awcusparse_cusparseXcscsort(cusparseHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr,
                                             const int *ptr, int *ind, int *along, void *buffer)
{
    cusparseStatus_t status = aw_sparse_legacy_check(handle, descr, m >= 0 && n >= 0 && nnz >= 0 && ptr && (!nnz || ind));
    return status == CUSPARSE_STATUS_SUCCESS ? submit("cusparseXcscsort", handle, true, n, nnz, ptr, ind, along) : status;
}

#define SORT_SIZE(name)                                                                                                        \
    cusparseStatus_t awcusparse_cusparse##name##_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nnz, const int *one, \
                                                               const int *two, size_t *size)                                   \
    {                                                                                                                          \
        return aw_sparse_buffer(check(handle, m >= 0 && n >= 0 && nnz >= 0), size);                                            \
    }
SORT_SIZE(Xcoosort)
SORT_SIZE(Xcsrsort)
SORT_SIZE(Xcscsort)

/* ---- Rows of sorted elements to offsets, and back: array 0 to 1; n: elements, rows, base. */

static void run_to_offsets(struct aw_sparse_job *j)
{
    const int *row = j->array[0];
    int *ptr = j->array[1], base = (int)j->n[2];
    int64_t p = 0;
    for (int64_t i = 0; i <= j->n[1]; i++) {
        while (p < j->n[0] && row[p] - base < i)
            p++;
        ptr[i] = (int)p + base;
    }
}

static void run_to_rows(struct aw_sparse_job *j)
{
    const int *ptr = j->array[0];
    int *row = j->array[1], base = (int)j->n[2];
    for (int64_t i = 0; i < j->n[1]; i++)
        for (int64_t p = ptr[i] - base; p < ptr[i + 1] - base && p < j->n[0]; p++)
            row[p] = (int)i + base;
}

static cusparseStatus_t offsets(const char *name, cusparseHandle_t handle, const int *from, int nnz, int m, int *to,
                                cusparseIndexBase_t base, bool to_rows)
{
    struct aw_sparse_job j;
    size_t rows = (size_t)nnz * sizeof *to, ptr = ((size_t)m + 1) * sizeof *to;
    cusparseStatus_t status = check(handle, nnz >= 0 && m >= 0 && (unsigned)base <= CUSPARSE_INDEX_BASE_ONE &&
                                                (from || (!to_rows && !nnz)) && (to || (to_rows && !nnz)));
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, handle, name, 's', to_rows ? run_to_rows : run_to_offsets);
    j.n[0] = nnz, j.n[1] = m, j.n[2] = base;
    aw_sparse_job_array(&j, 0, from, to_rows ? ptr : rows, IN);
    aw_sparse_job_array(&j, 1, to, to_rows ? rows : ptr, OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

cusparseStatus_t awcusparse_cusparseXcoo2csr(cusparseHandle_t handle, const int *row, int nnz, int m, int *ptr,
                                             cusparseIndexBase_t base)
{
    return offsets("cusparseXcoo2csr", handle, row, nnz, m, ptr, base, false);
}

cusparseStatus_t awcusparse_cusparseXcsr2coo(cusparseHandle_t handle, const int *ptr, int nnz, int m, int *row,
                                             cusparseIndexBase_t base)
{
    return offsets("cusparseXcsr2coo", handle, ptr, nnz, m, row, base, true);
}

/* ---- Rows to columns: matrix 0 to 1, with values or without. */

static void run_transpose(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *a = &j->m[0], *c = &j->m[1];
    const int *ptr = a->ptr, *ind = a->ind, base = a->base;
    int *to = c->ptr;
    size_t size = aw_type_size(a->type);
    memset(to, 0, (size_t)(a->cols + 1) * sizeof *to);
    for (int64_t p = 0; p < a->nnz; p++)
        to[ind[p] - base + 1]++;
    for (int64_t i = 0; i < a->cols; i++)
        to[i + 1] += to[i];
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t p = ptr[i] - base; p < ptr[i + 1] - base; p++) {
            int64_t at = to[ind[p] - base]++;
            ((int *)c->ind)[at] = (int)i + base;
            if (j->n[0])
                memcpy((char *)c->val + (size_t)at * size, (char *)a->val + (size_t)p * size, size);
        }
    memmove(to + 1, to, (size_t)a->cols * sizeof *to);
    to[0] = 0;
    for (int64_t i = 0; i <= a->cols; i++)
        to[i] += base;
}

cusparseStatus_t awcusparse_cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nnz, const void *val, const int *ptr,
                                               const int *ind, void *val_c, int *ptr_c, int *ind_c, cudaDataType type,
                                               cusparseAction_t action, cusparseIndexBase_t base, cusparseCsr2CscAlg_t alg,
                                               void *buffer)
{
    struct aw_sparse_job j;
    struct cusparseMatDescr descr = { .base = base };
    bool values = action == CUSPARSE_ACTION_NUMERIC;
    cusparseStatus_t status = check(handle, m >= 0 && n >= 0 && nnz >= 0 && (unsigned)base <= CUSPARSE_INDEX_BASE_ONE &&
                                                (unsigned)action <= CUSPARSE_ACTION_NUMERIC && ptr_c &&
                                                (!nnz || (ptr && ind && ind_c && (!values || (val && val_c)))) &&
                                                aw_type_size(type));
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct cusparseSpMatDescr a = aw_sparse_csr(type, &descr, m, n, nnz, val, ptr, ind),
                              c = aw_sparse_csr(type, &descr, n, m, nnz, val_c, ptr_c, ind_c);
    if (!ptr)
        a.rows = 0; /* of which there is nothing */
    aw_sparse_job_init(&j, handle, "cusparseCsr2cscEx2", 's', run_transpose);
    j.n[0] = values;
    aw_sparse_job_matrix(&j, 0, &a, ptr ? IN : 0, values ? IN : 0);
    aw_sparse_job_matrix(&j, 1, &c, OUT, values ? OUT : 0);
    return aw_sparse_job_submit(&j, handle, false);
}

cusparseStatus_t awcusparse_cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nnz, const void *val,
                                                          const int *ptr, const int *ind, void *val_c, int *ptr_c, int *ind_c,
                                                          cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                                                          cusparseCsr2CscAlg_t alg, size_t *size)
{
    return aw_sparse_buffer(check(handle, m >= 0 && n >= 0 && nnz >= 0 && aw_type_size(type)), size);
}
