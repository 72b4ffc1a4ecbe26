/* Triangular systems of the generic interface:  SpSV and SpSM. Nothing is analysed: a solution goes along the rows as they are
 * stored. New values (updateMatrix) lie in the buffer of the analysis, and are the matrix's from then on. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/convert.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "legacy.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
#define UNSUPPORTED CUSPARSE_STATUS_NOT_SUPPORTED
enum { BUFFER = 16 };

/* What they remember: the matrix that was analysed, and where new values of it can be or are. */
struct memory {
    bool analysed, updated;
    struct cusparseSpMatDescr a;
    void *buffer;
};
struct cusparseSpSVDescr {
    struct memory memory;
};
struct cusparseSpSMDescr {
    struct memory memory;
};

#define DESCR(kind)                                                                          \
    cusparseStatus_t awcusparse_cusparse##kind##_createDescr(cusparse##kind##Descr_t *descr) \
    {                                                                                        \
        struct cusparse##kind##Descr *d = descr ? calloc(1, sizeof *d) : NULL;               \
        if (!d)                                                                              \
            return descr ? CUSPARSE_STATUS_ALLOC_FAILED : INVALID;                           \
        *descr = d;                                                                          \
        return CUSPARSE_STATUS_SUCCESS;                                                      \
    }                                                                                        \
    cusparseStatus_t awcusparse_cusparse##kind##_destroyDescr(cusparse##kind##Descr_t descr) \
    {                                                                                        \
        free(descr);                                                                         \
        return CUSPARSE_STATUS_SUCCESS;                                                      \
    }
DESCR(SpSV)
DESCR(SpSM)

/* y = alpha x, which may be one. */
static void scale(const struct aw_sparse_kernels *k, const void *alpha, const struct aw_sparse_dense *x,
                  const struct aw_sparse_dense *y)
{
    static const double zero[2];
    bool down = x->down == 1 && y->down == 1, across = x->across == 1 && y->across == 1;
    int64_t n = down ? y->rows : across ? y->cols : 1;
    for (int64_t i = 0; i < (down ? 1 : y->rows); i++)
        for (int64_t j = 0; j < (across && !down ? 1 : y->cols); j++)
            k->combine(n, alpha, (const char *)x->at + (size_t)(i * x->down + j * x->across) * k->size, zero,
                       (char *)y->at + (size_t)(i * y->down + j * y->across) * k->size);
}

static void run_solve(struct aw_sparse_job *j)
{
    bool keeps = true;
    for (int b = 0; b < j->d[1].batch && keeps; b++) {
        struct aw_sparse_scratch s = { 0 };
        struct aw_sparse_view a;
        struct aw_sparse_dense x, y;
        keeps = aw_sparse_view(&s, &j->m[0], b, j->t, true, &a) &&
                aw_sparse_dense_view(&s, &j->d[0], b, j->t, true, j->op[1] != CUSPARSE_OPERATION_NON_TRANSPOSE, &x) &&
                aw_sparse_dense_view(&s, &j->d[1], b, j->t, false, false, &y);
        if (keeps) {
            const struct aw_sparse_kernels *k = aw_sparse_kernels(j->t, a.rows.wide);
            bool upper = (j->m[0].fill == CUSPARSE_FILL_MODE_UPPER) != a.flipped;
            if (j->host && j->m[0].diag == CUSPARSE_DIAG_TYPE_NON_UNIT)
                aw_sparse_job_zero_at(j, k->pivot(&a.rows, true), j->m[0].format == CUSPARSE_FORMAT_BSR ? j->m[0].block_rows : 1);
            scale(k, aw_sparse_job_value(j, 0), &x, &y);
            k->solve(&a.rows, aw_sparse_op_of(j->op[0], a.flipped), upper, j->m[0].diag == CUSPARSE_DIAG_TYPE_UNIT, &y);
            aw_sparse_dense_store(&j->d[1], b, j->t, false, &y);
        } else {
            aw_sparse_job_no_memory(j);
        }
        aw_sparse_scratch_free(&s);
    }
}

static cusparseStatus_t system_check(const char *name, cusparseHandle_t handle, const struct aw_sparse_system *p)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    char t = aw_sparse_letter(p->compute);
    bool tb = p->opb != CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!p->alpha || !p->analysed || !aw_sparse_op_valid(p->opa) || !aw_sparse_op_valid(p->opb) || p->a->rows != p->a->cols)
        return INVALID;
    if ((tb ? p->b.cols : p->b.rows) != p->a->rows || (tb ? p->b.rows : p->b.cols) != p->c.cols || p->c.rows != p->a->rows)
        return INVALID;
    if (t == 'i' || !aw_sparse_readable(p->a->type, t) || !aw_sparse_readable(p->b.type, t) || !aw_sparse_readable(p->c.type, t))
        return UNSUPPORTED;
    if (p->opb == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE && aw_type_complex(p->b.type)) {
        aw_say(SPARSE_SOLVE_CONJUGATE, name);
        return UNSUPPORTED;
    }
    return aw_sparse_format_check(p->a, name);
}

static size_t values_size(const struct cusparseSpMatDescr *a)
{
    return (size_t)aw_sparse_counts(a).val * aw_type_size(a->type);
}

static cusparseStatus_t system_size(const char *name, cusparseHandle_t handle, const struct aw_sparse_system *p, size_t *size)
{
    cusparseStatus_t status = size ? system_check(name, handle, p) : INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER + values_size(p->a);
    return status;
}

static cusparseStatus_t system_analyse(const char *name, cusparseHandle_t handle, const struct aw_sparse_system *p,
                                       struct memory *memory, void *buffer)
{
    cusparseStatus_t status = system_check(name, handle, p);
    if (status == CUSPARSE_STATUS_SUCCESS)
        *memory = (struct memory){ .analysed = true, .a = *p->a, .buffer = buffer };
    return status;
}

/* By the values that the descriptor has, where it has been given new ones. */
static cusparseStatus_t system_solve(const char *name, cusparseHandle_t handle, struct aw_sparse_system *p,
                                     const struct memory *memory)
{
    struct cusparseSpMatDescr updated = *p->a;
    if (memory && memory->updated) {
        if (aw_sparse_counts(p->a).val != aw_sparse_counts(&memory->a).val || p->a->type != memory->a.type)
            return INVALID;
        updated.val = memory->buffer;
        p->a = &updated;
    }
    return aw_sparse_solve(name, handle, p);
}

/* ---- New values: array 0 has those that count, array 1 is the program's. */

enum { PART, KEPT }; /* numbers of the job: what is new; are array 0's values those that count, or still the matrix's? */

/* Puts new[i] where element (i, i) lies among the values. */
static void put_diagonal(const struct aw_sparse_rows *a, size_t size, const char *new, char *values)
{
    cusparseIndexType_t type = a->wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t end = aw_sparse_index(type, a->ptr, i + 1) - a->base;
        for (int64_t p = aw_sparse_index(type, a->ptr, i) - a->base; p < end; p++)
            if (aw_sparse_index(type, a->ind, p) - a->base == i)
                memcpy(values + (size_t)(a->place ? a->place[p] : p) * size, new + (size_t)i * size, size);
    }
}

static void run_update(struct aw_sparse_job *j)
{
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view a;
    size_t size = aw_type_size(j->m[0].type);
    if (j->n[PART] == CUSPARSE_SPSV_UPDATE_GENERAL) {
        memcpy(j->array[0], j->array[1], values_size(&j->m[0]));
        return;
    }
    if (!j->n[KEPT])
        memcpy(j->array[0], j->m[0].val, values_size(&j->m[0]));
    if (aw_sparse_view(&s, &j->m[0], 0, j->t, false, &a))
        put_diagonal(&a.rows, size, j->array[1], j->array[0]);
    else
        aw_sparse_job_no_memory(j);
    aw_sparse_scratch_free(&s);
}

static cusparseStatus_t update(const char *name, cusparseHandle_t handle, struct memory *memory, const void *values, int part)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    bool diagonal = part == CUSPARSE_SPSV_UPDATE_DIAGONAL;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!memory || !memory->analysed || (unsigned)part > CUSPARSE_SPSV_UPDATE_DIAGONAL)
        return INVALID;
    size_t size = values_size(&memory->a);
    if (memory->a.batch > 1)
        return UNSUPPORTED;
    if (!size)
        return CUSPARSE_STATUS_SUCCESS;
    if (!memory->buffer || !values)
        return INVALID;
    aw_sparse_job_init(&j, handle, name, aw_sparse_own_letter(memory->a.type), run_update);
    j.n[PART] = part, j.n[KEPT] = memory->updated;
    aw_sparse_job_matrix(&j, 0, &memory->a, diagonal ? AW_LIB_IN : 0, diagonal && !memory->updated ? AW_LIB_IN : 0);
    aw_sparse_job_array(&j, 0, memory->buffer, size, diagonal && memory->updated ? AW_LIB_IN | AW_LIB_OUT : AW_LIB_OUT);
    aw_sparse_job_array(&j, 1, values, diagonal ? (size_t)memory->a.rows * aw_type_size(memory->a.type) : size, AW_LIB_IN);
    status = aw_sparse_job_submit(&j, handle, false);
    if (status == CUSPARSE_STATUS_SUCCESS)
        memory->updated = true;
    return status;
}

cusparseStatus_t aw_sparse_solve(const char *name, cusparseHandle_t handle, const struct aw_sparse_system *p)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = system_check(name, handle, p);
    if (status != CUSPARSE_STATUS_SUCCESS || p->c.rows == 0 || p->c.cols == 0)
        return status;
    if (!*p->analysed)
        return INVALID;
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(p->compute), run_solve);
    if (p->pivot)
        aw_sparse_job_pivot(&j, p->pivot);
    j.op[0] = p->opa, j.op[1] = p->opb;
    aw_sparse_job_scalar(&j, 0, p->alpha);
    aw_sparse_job_matrix(&j, 0, p->a, AW_LIB_IN, AW_LIB_IN);
    aw_sparse_job_dense(&j, 0, &p->b, AW_LIB_IN);
    aw_sparse_job_dense(&j, 1, &p->c, AW_LIB_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

#define SPSV_ARGS                                                                                         \
    cusparseHandle_t handle, cusparseOperation_t op, const void *alpha, cusparseConstSpMatDescr_t a,      \
        cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t alg, \
        cusparseSpSVDescr_t descr
#define SPSV(call)                                                                                       \
    if (!a || !x || !y)                                                                                  \
        return INVALID;                                                                                  \
    struct aw_sparse_system p = { op,                                                                    \
                                  CUSPARSE_OPERATION_NON_TRANSPOSE,                                      \
                                  alpha,                                                                 \
                                  a,                                                                     \
                                  { x->size, 1, x->size, x->values, x->type, CUSPARSE_ORDER_COL, 1, 0 }, \
                                  { y->size, 1, y->size, y->values, y->type, CUSPARSE_ORDER_COL, 1, 0 }, \
                                  compute,                                                               \
                                  descr ? &descr->memory.analysed : NULL };                                     \
    return call

cusparseStatus_t awcusparse_cusparseSpSV_bufferSize(SPSV_ARGS, size_t *size)
{
    SPSV(system_size("cusparseSpSV", handle, &p, size));
}

cusparseStatus_t awcusparse_cusparseSpSV_analysis(SPSV_ARGS, void *buffer)
{
    SPSV(system_analyse("cusparseSpSV", handle, &p, descr ? &descr->memory : NULL, buffer));
}

cusparseStatus_t awcusparse_cusparseSpSV_solve(SPSV_ARGS)
{
    SPSV(system_solve("cusparseSpSV", handle, &p, descr ? &descr->memory : NULL));
}

#define SPSM_ARGS                                                                                                              \
    cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha, cusparseConstSpMatDescr_t a, \
        cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t alg,                      \
        cusparseSpSMDescr_t descr
#define SPSM(call)                                                                                        \
    if (!a || !b || !c)                                                                                   \
        return INVALID;                                                                                   \
    struct aw_sparse_system p = { opa, opb, alpha, a, *b, *c, compute, descr ? &descr->memory.analysed : NULL }; \
    return call

cusparseStatus_t awcusparse_cusparseSpSM_bufferSize(SPSM_ARGS, size_t *size)
{
    SPSM(system_size("cusparseSpSM", handle, &p, size));
}

cusparseStatus_t awcusparse_cusparseSpSM_analysis(SPSM_ARGS, void *buffer)
{
    SPSM(system_analyse("cusparseSpSM", handle, &p, descr ? &descr->memory : NULL, buffer));
}

cusparseStatus_t awcusparse_cusparseSpSM_solve(SPSM_ARGS)
{
    SPSM(system_solve("cusparseSpSM", handle, &p, descr ? &descr->memory : NULL));
}

cusparseStatus_t awcusparse_cusparseSpSV_updateMatrix(cusparseHandle_t handle, cusparseSpSVDescr_t descr, void *values,
                                                   cusparseSpSVUpdate_t part)
{
    return update("cusparseSpSV_updateMatrix", handle, descr ? &descr->memory : NULL, values, (int)part);
}

cusparseStatus_t awcusparse_cusparseSpSM_updateMatrix(cusparseHandle_t handle, cusparseSpSMDescr_t descr, void *values,
                                                   cusparseSpSMUpdate_t part)
{
    return update("cusparseSpSM_updateMatrix", handle, descr ? &descr->memory : NULL, values, (int)part);
}
