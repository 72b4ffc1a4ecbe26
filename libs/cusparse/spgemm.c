/* Products of two sparse matrices. How large the result is must be known to the host before there is memory for it, so the
 * product is made when that is asked for, kept with the descriptor, and copied out in the stream's order. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cusparse_proto.h"
#include "generic.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
#define UNSUPPORTED CUSPARSE_STATUS_NOT_SUPPORTED
enum { BUFFER = 16 };

/* Shared by the descriptor and what copies it out; atomic. */
struct result {
    unsigned refs;
    char t;
    struct aw_sparse_built built;
};

struct cusparseSpGEMMDescr {
    struct result *result; /* or NULL */
    int64_t products;      /* or -1 */
};

static void result_unref(struct result *r)
{
    if (r && __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        aw_sparse_built_free(&r->built);
        free(r);
    }
}

static struct result *result_ref(struct result *r)
{
    __atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
    return r;
}

cusparseStatus_t awcusparse_cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t *descr)
{
    struct cusparseSpGEMMDescr *d = descr ? calloc(1, sizeof *d) : NULL;
    if (!d)
        return descr ? CUSPARSE_STATUS_ALLOC_FAILED : INVALID;
    d->products = -1;
    *descr = d;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t descr)
{
    if (descr)
        result_unref(descr->result);
    free(descr);
    return CUSPARSE_STATUS_SUCCESS;
}

struct product {
    cusparseHandle_t handle;
    cusparseOperation_t opa, opb;
    const void *alpha, *beta;
    const struct cusparseSpMatDescr *a, *b;
    struct cusparseSpMatDescr *c;
    cudaDataType compute;
    struct cusparseSpGEMMDescr *descr;
};

static cusparseStatus_t check(const char *name, const struct product *p)
{
    cusparseStatus_t status = aw_sparse_handle_check(p->handle);
    char t = aw_sparse_wide_letter(p->compute);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!p->a || !p->b || !p->c || !p->descr || !aw_sparse_op_valid(p->opa) || !aw_sparse_op_valid(p->opb))
        return INVALID;
    if (p->a->cols != p->b->rows || p->c->rows != p->a->rows || p->c->cols != p->b->cols)
        return INVALID;
    if (p->opa != CUSPARSE_OPERATION_NON_TRANSPOSE || p->opb != CUSPARSE_OPERATION_NON_TRANSPOSE || p->a->batch > 1 ||
        p->b->batch > 1 || p->a->format != CUSPARSE_FORMAT_CSR || p->b->format != CUSPARSE_FORMAT_CSR ||
        p->c->format != CUSPARSE_FORMAT_CSR)
        return UNSUPPORTED;
    if (!aw_sparse_letter(p->compute) && (p->a->type != p->compute || p->b->type != p->compute || p->c->type != p->compute))
        return UNSUPPORTED;
    if (!aw_sparse_readable(p->a->type, t) || !aw_sparse_readable(p->b->type, t) || !aw_sparse_readable(p->c->type, t))
        return UNSUPPORTED;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- Making it: matrices 0 and 1, into j->host. */

static bool multiply(struct aw_sparse_job *j, struct aw_sparse_built *out)
{
    struct aw_sparse_scratch s = { 0 };
    struct aw_sparse_view a, b;
    bool good = aw_sparse_view(&s, &j->m[0], 0, j->t, true, &a) && aw_sparse_view(&s, &j->m[1], 0, j->t, true, &b);
    if (good && a.rows.wide != b.rows.wide)
        good = aw_sparse_view_widen(&s, &a) && aw_sparse_view_widen(&s, &b);
    good = good && aw_sparse_kernels(j->t, a.rows.wide)->multiply(&a.rows, &b.rows, out);
    aw_sparse_scratch_free(&s);
    return good;
}

static void run_make(struct aw_sparse_job *j)
{
    static const double zero[2];
    struct result *r = j->host;
    if (!multiply(j, &r->built))
        aw_sparse_job_no_memory(j);
    else if (j->n[0])
        aw_sparse_kernels(j->t, false)->combine(r->built.nnz, aw_sparse_job_value(j, 0), r->built.val, zero, r->built.val);
}

static void run_count(struct aw_sparse_job *j)
{
    const struct cusparseSpMatDescr *a = &j->m[0], *b = &j->m[1];
    int64_t n = 0;
    for (int64_t p = 0; p < a->nnz; p++) {
        int64_t k = aw_sparse_index(a->ind_type, a->ind, p) - a->base;
        n += aw_sparse_index(b->ptr_type, b->ptr, k + 1) - aw_sparse_index(b->ptr_type, b->ptr, k);
    }
    *(int64_t *)j->host = n;
}

/* With `scaled`, values are times alpha. */
static cusparseStatus_t make(const char *name, const struct product *p, bool scaled)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check(name, p);
    if (status == CUSPARSE_STATUS_SUCCESS && scaled && (!p->alpha || !p->beta))
        status = INVALID;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    struct result *r = calloc(1, sizeof *r);
    if (!r)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    r->refs = 1;
    r->t = aw_sparse_wide_letter(p->compute);
    aw_sparse_job_init(&j, p->handle, name, r->t, run_make);
    j.host = r;
    j.n[0] = scaled;
    aw_sparse_job_scalar_type(&j, p->compute);
    if (scaled)
        aw_sparse_job_scalar(&j, 0, p->alpha);
    aw_sparse_job_matrix(&j, 0, p->a, AW_LIB_IN, AW_LIB_IN);
    aw_sparse_job_matrix(&j, 1, p->b, AW_LIB_IN, AW_LIB_IN);
    status = aw_sparse_job_submit(&j, p->handle, true);
    if (status != CUSPARSE_STATUS_SUCCESS) {
        result_unref(r);
        return status;
    }
    if (r->built.nnz > INT32_MAX && p->c->ptr_type != CUSPARSE_INDEX_64I) { /* offsets do not hold it */
        result_unref(r);
        return CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    }
    result_unref(p->descr->result);
    p->descr->result = r;
    p->c->nnz = r->built.nnz;
    return CUSPARSE_STATUS_SUCCESS;
}

/* ---- Copying it to matrix 2, the result's. */

static void put_pattern(const struct aw_sparse_built *b, const struct cusparseSpMatDescr *c)
{
    for (int64_t i = 0; i <= c->rows; i++)
        aw_sparse_index_put(c->ptr_type, c->ptr, i, b->ptr[i] + c->base);
    for (int64_t p = 0; p < b->nnz; p++)
        aw_sparse_index_put(c->ind_type, c->ind, p, b->ind[p] + c->base);
}

/* c = alpha made + beta c, for which c has the pattern already. */
static void put_values(struct aw_sparse_job *j, const struct aw_sparse_built *b, const void *alpha, const void *beta)
{
    const struct cusparseSpMatDescr *c = &j->m[2];
    const struct aw_sparse_kernels *k = aw_sparse_kernels(j->t, false);
    struct aw_sparse_scratch s = { 0 };
    void *to = c->val;
    if (!aw_sparse_same(c->type, j->t)) {
        to = aw_sparse_take(&s, b->nnz, k->size);
        if (!to) {
            aw_sparse_job_no_memory(j);
            return;
        }
        aw_sparse_load(c->type, c->val, b->nnz, j->t, to);
    }
    k->combine(b->nnz, alpha, b->val, beta, to);
    if (to != c->val)
        aw_sparse_store(j->t, to, b->nnz, c->type, c->val);
    aw_sparse_scratch_free(&s);
}

static const void *one(char t)
{
    static const float f = 1;
    static const double d = 1;
    static const float c[2] = { 1 };
    static const double z[2] = { 1 };
    static const int32_t i = 1;
    return t == 's'   ? (const void *)&f
           : t == 'd' ? (const void *)&d
           : t == 'c' ? (const void *)c
           : t == 'z' ? (const void *)z
                      : &i;
}

static void run_copy(struct aw_sparse_job *j)
{
    const struct result *r = j->host;
    put_pattern(&r->built, &j->m[2]);
    if (j->n[0])
        put_values(j, &r->built, one(j->t), aw_sparse_job_value(j, 1));
}

static void forget_copy(struct aw_lib_job *job)
{
    result_unref(((struct aw_sparse_job *)job)->host);
}

/* With `values`, these too, and beta times what they are. */
static cusparseStatus_t copy(const char *name, const struct product *p, bool values)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check(name, p);
    struct result *r = p->descr ? p->descr->result : NULL;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!r || r->t != aw_sparse_wide_letter(p->compute) || p->c->nnz != r->built.nnz || !p->c->ptr ||
        (r->built.nnz && !p->c->ind) || (values && r->built.nnz && !p->c->val))
        return INVALID;
    aw_sparse_job_init(&j, p->handle, name, r->t, run_copy);
    j.host = result_ref(r);
    j.job.forget = forget_copy;
    j.n[0] = values;
    aw_sparse_job_scalar_type(&j, p->compute);
    if (values)
        aw_sparse_job_scalar(&j, 1, p->beta);
    aw_sparse_job_matrix(&j, 2, p->c, AW_LIB_OUT, !values ? 0 : aw_sparse_job_zero(&j, 1) ? AW_LIB_OUT : AW_LIB_IN | AW_LIB_OUT);
    return aw_sparse_job_submit(&j, p->handle, false);
}

/* ---- The calls: each stage with memory does its part, and without says how much, of which it needs none. */

static cusparseStatus_t sized(cusparseStatus_t status, size_t *size)
{
    if (status == CUSPARSE_STATUS_SUCCESS && !size)
        return INVALID;
    if (status == CUSPARSE_STATUS_SUCCESS)
        *size = BUFFER;
    return status;
}

static cusparseStatus_t count(const char *name, const struct product *p)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = check(name, p);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, p->handle, name, aw_sparse_wide_letter(p->compute), run_count);
    j.host = &p->descr->products;
    aw_sparse_job_matrix(&j, 0, p->a, AW_LIB_IN, 0);
    aw_sparse_job_matrix(&j, 1, p->b, AW_LIB_IN, 0);
    return aw_sparse_job_submit(&j, p->handle, true);
}

#define ARGS                                                                                                                   \
    cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, const void *alpha, cusparseConstSpMatDescr_t a, \
        cusparseConstSpMatDescr_t b, const void *beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t alg,  \
        cusparseSpGEMMDescr_t descr
#define PRODUCT const struct product p = { handle, opa, opb, alpha, beta, a, b, c, compute, descr }

cusparseStatus_t awcusparse_cusparseSpGEMM_workEstimation(ARGS, size_t *size, void *buffer)
{
    PRODUCT;
    return buffer ? count("cusparseSpGEMM_workEstimation", &p) : sized(check("cusparseSpGEMM_workEstimation", &p), size);
}

cusparseStatus_t awcusparse_cusparseSpGEMM_getNumProducts(cusparseSpGEMMDescr_t descr, int64_t *products)
{
    if (!descr || !products || descr->products < 0)
        return INVALID;
    *products = descr->products;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t awcusparse_cusparseSpGEMM_estimateMemory(ARGS, float fraction, size_t *size3, void *buffer3, size_t *size2)
{
    PRODUCT;
    cusparseStatus_t status = check("cusparseSpGEMM_estimateMemory", &p);
    if (status == CUSPARSE_STATUS_SUCCESS && (!(fraction > 0) || fraction > 1))
        return INVALID;
    return buffer3 ? sized(status, size2) : sized(status, size3);
}

cusparseStatus_t awcusparse_cusparseSpGEMM_compute(ARGS, size_t *size, void *buffer)
{
    PRODUCT;
    return buffer ? make("cusparseSpGEMM_compute", &p, true) : sized(check("cusparseSpGEMM_compute", &p), size);
}

cusparseStatus_t awcusparse_cusparseSpGEMM_copy(ARGS)
{
    PRODUCT;
    return beta ? copy("cusparseSpGEMM_copy", &p, true) : INVALID;
}

/* ---- The pattern once, the values again and again: their type is known to the last call alone. */

static cudaDataType pattern_type(const struct cusparseSpMatDescr *c)
{
    switch (c ? aw_sparse_own_letter(c->type) : 0) {
    case 'd': return CUDA_R_64F;
    case 'c': return CUDA_C_32F;
    case 'z': return CUDA_C_64F;
    default: return CUDA_R_32F;
    }
}

#define REUSE_ARGS                                                                                          \
    cusparseHandle_t handle, cusparseOperation_t opa, cusparseOperation_t opb, cusparseConstSpMatDescr_t a, \
        cusparseConstSpMatDescr_t b, cusparseSpMatDescr_t c, cusparseSpGEMMAlg_t alg, cusparseSpGEMMDescr_t descr
#define REUSE const struct product p = { handle, opa, opb, NULL, NULL, a, b, c, pattern_type(c), descr }

cusparseStatus_t awcusparse_cusparseSpGEMMreuse_workEstimation(REUSE_ARGS, size_t *size, void *buffer)
{
    REUSE;
    return buffer ? count("cusparseSpGEMMreuse_workEstimation", &p)
                  : sized(check("cusparseSpGEMMreuse_workEstimation", &p), size);
}

cusparseStatus_t awcusparse_cusparseSpGEMMreuse_nnz(REUSE_ARGS, size_t *size2, void *buffer2, size_t *size3, void *buffer3,
                                                    size_t *size4, void *buffer4)
{
    REUSE;
    if (buffer2)
        return make("cusparseSpGEMMreuse_nnz", &p, false);
    cusparseStatus_t status = sized(check("cusparseSpGEMMreuse_nnz", &p), size2);
    status = sized(status, size3);
    return sized(status, size4);
}

cusparseStatus_t awcusparse_cusparseSpGEMMreuse_copy(REUSE_ARGS, size_t *size, void *buffer)
{
    REUSE;
    return buffer ? copy("cusparseSpGEMMreuse_copy", &p, false) : sized(check("cusparseSpGEMMreuse_copy", &p), size);
}

static void run_again(struct aw_sparse_job *j)
{
    struct aw_sparse_built built = { 0 };
    if (!multiply(j, &built))
        aw_sparse_job_no_memory(j);
    else if (built.nnz != j->m[2].nnz)
        aw_say(SPARSE_PRODUCT_SIZE, j->name, (long long)built.nnz, (long long)j->m[2].nnz);
    else
        put_values(j, &built, aw_sparse_job_value(j, 0), aw_sparse_job_value(j, 1));
    aw_sparse_built_free(&built);
}

cusparseStatus_t awcusparse_cusparseSpGEMMreuse_compute(ARGS)
{
    PRODUCT;
    struct aw_sparse_job j;
    cusparseStatus_t status = check("cusparseSpGEMMreuse_compute", &p);
    if (status == CUSPARSE_STATUS_SUCCESS && (!alpha || !beta || !descr->result))
        status = INVALID;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    aw_sparse_job_init(&j, handle, "cusparseSpGEMMreuse_compute", aw_sparse_wide_letter(compute), run_again);
    aw_sparse_job_scalar_type(&j, compute);
    aw_sparse_job_scalar(&j, 0, alpha);
    aw_sparse_job_scalar(&j, 1, beta);
    aw_sparse_job_matrix(&j, 0, a, AW_LIB_IN, AW_LIB_IN);
    aw_sparse_job_matrix(&j, 1, b, AW_LIB_IN, AW_LIB_IN);
    aw_sparse_job_matrix(&j, 2, c, 0, aw_sparse_job_zero(&j, 1) ? AW_LIB_OUT : AW_LIB_IN | AW_LIB_OUT);
    return aw_sparse_job_submit(&j, handle, false);
}
