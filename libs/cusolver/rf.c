/* cusolverRf: systems whose matrix changes its values and keeps its pattern and its order.  The host computes; what a program has
 * on the device is copied when it is given, so that calls that take such memory wait for the stream, which is the default one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"
#include "call.h"
#include "refactor.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { MAGIC = 0x66727363 };
enum { FORMAT_CSR = 0, FORMAT_CSC = 1 };
enum { STORED_L = 0, STORED_U = 1, ASSUMED_L = 2, ASSUMED_U = 3 }; /* whose diagonal is 1, and whether it is stored */

/* What is known of a factor before the analysis: its pattern. */
struct pattern {
    int nnz, *ptr, *ind;
};

struct cusolverRfCommon {
    uint32_t magic;
    struct aw_lib_queue queue;
    int format, diag, factor_alg, solve_alg, fast;
    bool set, batched;
    struct pattern l, u;
    struct aw_refactor lu;
    CUdeviceptr device[3]; /* what cusolverRfAccessBundledFactorsDevice has handed out */
};

static cusolverStatus_t check(cusolverRfHandle_t h)
{
    return h && h->magic == MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t awcusolver_cusolverRfCreate(cusolverRfHandle_t *handle)
{
    struct cusolverRfCommon *h = handle ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return handle ? CUSOLVER_STATUS_ALLOC_FAILED : INVALID;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    h->magic = MAGIC;
    h->solve_alg = 1;
    *handle = h;
    return CUSOLVER_STATUS_SUCCESS;
}

static void pattern_drop(struct pattern *p)
{
    free(p->ptr);
    free(p->ind);
    *p = (struct pattern){ 0 };
}

static void device_drop(struct cusolverRfCommon *h)
{
    for (int i = 0; i < 3; i++) {
        if (h->device[i])
            cuMemFree_v2(h->device[i]);
        h->device[i] = 0;
    }
}

cusolverStatus_t awcusolver_cusolverRfDestroy(cusolverRfHandle_t h)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    device_drop(h);
    aw_refactor_drop(&h->lu);
    pattern_drop(&h->l);
    pattern_drop(&h->u);
    h->magic = 0;
    free(h);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Settings: those of algorithms are kept and change nothing.  A setter and a getter each, of two values or one; `valid` says
 * of values whether they may be set. */

#define PAIR(name, type_a, field_a, type_b, field_b, valid)                                              \
    cusolverStatus_t awcusolver_cusolverRfSet##name(cusolverRfHandle_t h, type_a a, type_b b)            \
    {                                                                                                    \
        cusolverStatus_t status = check(h);                                                              \
        if (status != CUSOLVER_STATUS_SUCCESS)                                                           \
            return status;                                                                               \
        if (!(valid))                                                                                    \
            return INVALID;                                                                              \
        h->field_a = a;                                                                                  \
        h->field_b = b;                                                                                  \
        return CUSOLVER_STATUS_SUCCESS;                                                                  \
    }                                                                                                    \
    cusolverStatus_t awcusolver_cusolverRfGet##name(cusolverRfHandle_t h, type_a *ret_a, type_b *ret_b)  \
    {                                                                                                    \
        cusolverStatus_t status = check(h);                                                              \
        if (status != CUSOLVER_STATUS_SUCCESS)                                                           \
            return status;                                                                               \
        if (!ret_a || !ret_b)                                                                            \
            return INVALID;                                                                              \
        *ret_a = h->field_a;                                                                             \
        *ret_b = h->field_b;                                                                             \
        return CUSOLVER_STATUS_SUCCESS;                                                                  \
    }
#define GETTER(name, type, field)                                                     \
    cusolverStatus_t awcusolver_cusolverRfGet##name(cusolverRfHandle_t h, type *ret)  \
    {                                                                                 \
        cusolverStatus_t status = check(h);                                           \
        if (status != CUSOLVER_STATUS_SUCCESS)                                        \
            return status;                                                            \
        if (!ret)                                                                     \
            return INVALID;                                                           \
        *ret = h->field;                                                              \
        return CUSOLVER_STATUS_SUCCESS;                                               \
    }

PAIR(MatrixFormat, cusolverRfMatrixFormat_t, format, cusolverRfUnitDiagonal_t, diag,
     a >= FORMAT_CSR && a <= FORMAT_CSC && b >= STORED_L && b <= ASSUMED_U)
PAIR(NumericProperties, double, lu.zero, double, lu.boost, true)
PAIR(Algs, cusolverRfFactorization_t, factor_alg, cusolverRfTriangularSolve_t, solve_alg, a >= 0 && a <= 2 && b >= 1 && b <= 3)
GETTER(NumericBoostReport, cusolverRfNumericBoostReport_t, lu.boosted)
GETTER(ResetValuesFastMode, cusolverRfResetValuesFastMode_t, fast)

cusolverStatus_t awcusolver_cusolverRfSetResetValuesFastMode(cusolverRfHandle_t h, cusolverRfResetValuesFastMode_t fast)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (fast < 0 || fast > 1)
        return INVALID;
    h->fast = fast;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- The matrix. */

/* A copy of the program's memory, of the device's unless `on_host`; NULL: it cannot be read, or memory is out. */
static void *fetch(struct cusolverRfCommon *h, bool on_host, const void *from, int64_t n, size_t size)
{
    size_t bytes = (size_t)n * size;
    void *to = malloc(bytes + 1);
    if (!to || !bytes)
        return to;
    if (on_host)
        memcpy(to, from, bytes);
    else if (aw_lib_read(&h->queue, to, from, bytes) != CUDA_SUCCESS) {
        free(to);
        return NULL;
    }
    return to;
}

static bool pattern_read(struct cusolverRfCommon *h, bool on_host, int n, int nnz, const int *ptr, const int *ind,
                         struct pattern *ret)
{
    *ret = (struct pattern){ nnz, fetch(h, on_host, ptr, (int64_t)n + 1, sizeof *ptr), fetch(h, on_host, ind, nnz, sizeof *ind) };
    return ret->ptr && ret->ind;
}

static struct aw_refactor_matrix matrix_of(const struct cusolverRfCommon *h, int n, const struct pattern *p)
{
    return (struct aw_refactor_matrix){ n, p->nnz, p->ptr, p->ind, h->format == FORMAT_CSC };
}

/* What a program sets up: A (`val` on the host: the addresses of `count` arrays), the factors' patterns, the orders. */
struct setup {
    bool on_host;
    int count, n, nnz, nnz_l, nnz_u;
    const int *ptr, *ind, *ptr_l, *ind_l, *ptr_u, *ind_u, *p, *q;
    const double *const *val;
};

static bool setup_valid(const struct setup *s)
{
    if (s->n < 1 || s->nnz < 1 || s->nnz_l < 0 || s->nnz_u < 0 || s->count < 1 || !s->val || !s->ptr || !s->ind || !s->ptr_l ||
        !s->ptr_u || (s->nnz_l && !s->ind_l) || (s->nnz_u && !s->ind_u) || !s->p || !s->q)
        return false;
    for (int k = 0; k < s->count; k++)
        if (!s->val[k])
            return false;
    return true;
}

static cusolverStatus_t setup(cusolverRfHandle_t h, const struct setup *s)
{
    struct pattern a = { 0 }, l = { 0 }, u = { 0 };
    int *p = NULL, *q = NULL;
    double **values = NULL;
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!setup_valid(s))
        return INVALID;
    values = calloc((size_t)s->count, sizeof *values);
    p = fetch(h, s->on_host, s->p, s->n, sizeof *p);
    q = fetch(h, s->on_host, s->q, s->n, sizeof *q);
    bool good = values && p && q && pattern_read(h, s->on_host, s->n, s->nnz, s->ptr, s->ind, &a) &&
                pattern_read(h, s->on_host, s->n, s->nnz_l, s->ptr_l, s->ind_l, &l) &&
                pattern_read(h, s->on_host, s->n, s->nnz_u, s->ptr_u, s->ind_u, &u);
    for (int k = 0; good && k < s->count; k++)
        good = (values[k] = fetch(h, s->on_host, s->val[k], s->nnz, sizeof **values)) != NULL;
    status = CUSOLVER_STATUS_ALLOC_FAILED;
    if (good) {
        struct aw_refactor_matrix ma = matrix_of(h, s->n, &a), ml = matrix_of(h, s->n, &l), mu = matrix_of(h, s->n, &u);
        good = aw_refactor_good(&ml) && aw_refactor_good(&mu) &&
               aw_refactor_setup(&h->lu, s->count, &ma, (const double *const *)values, p, q);
        status = good ? CUSOLVER_STATUS_SUCCESS : INVALID;
    }
    if (good) {
        pattern_drop(&h->l);
        pattern_drop(&h->u);
        h->l = l, h->u = u, h->set = true, h->batched = s->count > 1;
    } else {
        pattern_drop(&l);
        pattern_drop(&u);
    }
    for (int k = 0; values && k < s->count; k++)
        free(values[k]);
    free(values);
    free(p);
    free(q);
    pattern_drop(&a);
    return status;
}

#define GIVEN(host, count, values)                                                         \
    &(struct setup)                                                                        \
    {                                                                                      \
        host, count, n, nnzA, nnzL, nnzU, ptrA, indA, ptrL, indL, ptrU, indU, P, Q, values \
    }

cusolverStatus_t awcusolver_cusolverRfSetupHost(int n, int nnzA, int *ptrA, int *indA, double *valA, int nnzL, int *ptrL,
                                                int *indL, double *valL, int nnzU, int *ptrU, int *indU, double *valU, int *P,
                                                int *Q, cusolverRfHandle_t h)
{
    const double *values[] = { valA };
    return setup(h, GIVEN(true, 1, values));
}

cusolverStatus_t awcusolver_cusolverRfSetupDevice(int n, int nnzA, int *ptrA, int *indA, double *valA, int nnzL, int *ptrL,
                                                  int *indL, double *valL, int nnzU, int *ptrU, int *indU, double *valU, int *P,
                                                  int *Q, cusolverRfHandle_t h)
{
    const double *values[] = { valA };
    return setup(h, GIVEN(false, 1, values));
}

cusolverStatus_t awcusolver_cusolverRfBatchSetupHost(int count, int n, int nnzA, int *ptrA, int *indA, double **valA, int nnzL,
                                                     int *ptrL, int *indL, double *valL, int nnzU, int *ptrU, int *indU,
                                                     double *valU, int *P, int *Q, cusolverRfHandle_t h)
{
    return setup(h, GIVEN(true, count, (const double *const *)valA));
}

static cusolverStatus_t analyse(cusolverRfHandle_t h)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!h->set)
        return INVALID;
    struct aw_refactor_matrix l = matrix_of(h, h->lu.n, &h->l), u = matrix_of(h, h->lu.n, &h->u);
    /* The factors' patterns are in the order on the left, as the program has them. */
    return aw_refactor_analyse(&h->lu, &l, &u) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t awcusolver_cusolverRfAnalyze(cusolverRfHandle_t h)
{
    return analyse(h);
}

cusolverStatus_t awcusolver_cusolverRfBatchAnalyze(cusolverRfHandle_t h)
{
    return analyse(h);
}

/* Other values for the same pattern and orders; `values` is an array of addresses of the device's. */
static cusolverStatus_t reset(cusolverRfHandle_t h, int count, int n, int nnz, const double *const *values)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!h->set || count != h->lu.count || n != h->lu.n || nnz != h->lu.nnz)
        return INVALID;
    for (int k = 0; k < count; k++)
        if (!values[k])
            return INVALID;
    for (int k = 0; k < count && status == CUSOLVER_STATUS_SUCCESS; k++)
        status = aw_solver_status(
            aw_lib_read(&h->queue, h->lu.a + (size_t)k * (size_t)nnz, values[k], (size_t)nnz * sizeof **values));
    h->lu.factored = false;
    return status;
}

cusolverStatus_t awcusolver_cusolverRfResetValues(int n, int nnz, int *ptr, int *ind, double *val, int *P, int *Q,
                                                  cusolverRfHandle_t h)
{
    return ptr && ind && P && Q ? reset(h, 1, n, nnz, (const double *const[]){ val }) : INVALID;
}

cusolverStatus_t awcusolver_cusolverRfBatchResetValues(int count, int n, int nnz, int *ptr, int *ind, double **val, int *P,
                                                       int *Q, cusolverRfHandle_t h)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (count < 1 || !ptr || !ind || !val || !P || !Q)
        return INVALID;
    double **addresses = fetch(h, false, val, count, sizeof *val);
    status = addresses ? reset(h, count, n, nnz, (const double *const *)addresses) : CUSOLVER_STATUS_ALLOC_FAILED;
    free(addresses);
    return status;
}

static cusolverStatus_t factor(cusolverRfHandle_t h)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!h->set || !h->lu.ptr)
        return INVALID;
    if (aw_refactor_factor(&h->lu))
        return CUSOLVER_STATUS_SUCCESS;
    return h->lu.factored ? CUSOLVER_STATUS_ZERO_PIVOT : CUSOLVER_STATUS_ALLOC_FAILED;
}

cusolverStatus_t awcusolver_cusolverRfRefactor(cusolverRfHandle_t h)
{
    return factor(h);
}

/* Which of them have a pivot that is 0 is asked for by itself. */
cusolverStatus_t awcusolver_cusolverRfBatchRefactor(cusolverRfHandle_t h)
{
    cusolverStatus_t status = factor(h);
    return status == CUSOLVER_STATUS_ZERO_PIVOT ? CUSOLVER_STATUS_SUCCESS : status;
}

cusolverStatus_t awcusolver_cusolverRfBatchZeroPivot(cusolverRfHandle_t h, int *position)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!position || !h->lu.factored)
        return INVALID;
    for (int k = 0; k < h->lu.count; k++) {
        position[k] = h->lu.bad[k];
        status = position[k] >= 0 ? CUSOLVER_STATUS_ZERO_PIVOT : status;
    }
    return status;
}

/* ---- Solving: right-hand sides 0, which become the solutions; how many, their distance, which matrix. */

struct solve_call {
    struct aw_solver_call c;
    const struct aw_refactor *lu; /* borrowed: the call waits */
};

static void run(struct aw_solver_call *c)
{
    const struct aw_refactor *lu = ((struct solve_call *)c)->lu;
    double *work = aw_solver_work(c, lu->n, sizeof *work);
    c->job.status = work ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
    for (int64_t j = 0; work && j < c->n[0]; j++)
        aw_refactor_solve(lu, (int)c->n[2], (double *)c->a[0] + j * c->n[1], work);
    free(work);
}

static cusolverStatus_t solve(cusolverRfHandle_t h, const char *name, int k, int nrhs, double *x, int ldx)
{
    struct solve_call s;
    struct cusolverDnContext dn = { .queue = h->queue };
    if (!x)
        return INVALID;
    aw_solver_begin(&s.c, name, 'd', NULL, run);
    s.c.job.size = sizeof s;
    s.lu = &h->lu;
    s.c.n[0] = nrhs, s.c.n[1] = ldx, s.c.n[2] = k;
    aw_solver_matrix(&s.c, 0, x, h->lu.n, nrhs, ldx, 0, AW_SOLVER_IN_OUT);
    return aw_solver_submit(&s.c, &dn, true);
}

/* The orders are those of the setup. */
static cusolverStatus_t solve_valid(cusolverRfHandle_t h, const int *P, const int *Q, int nrhs, const void *x, int ldx)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    return P && Q && nrhs >= 1 && x && ldx >= h->lu.n && h->lu.factored ? CUSOLVER_STATUS_SUCCESS : INVALID;
}

cusolverStatus_t awcusolver_cusolverRfSolve(cusolverRfHandle_t h, int *P, int *Q, int nrhs, double *temp, int ldt, double *x,
                                            int ldx)
{
    cusolverStatus_t status = solve_valid(h, P, Q, nrhs, x, ldx);
    return status != CUSOLVER_STATUS_SUCCESS ? status : solve(h, "cusolverRfSolve", 0, nrhs, x, ldx);
}

cusolverStatus_t awcusolver_cusolverRfBatchSolve(cusolverRfHandle_t h, int *P, int *Q, int nrhs, double *temp, int ldt,
                                                 double **x, int ldx)
{
    cusolverStatus_t status = solve_valid(h, P, Q, nrhs, x, ldx);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    double **addresses = fetch(h, false, x, h->lu.count, sizeof *x);
    if (!addresses)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    for (int k = 0; k < h->lu.count && status == CUSOLVER_STATUS_SUCCESS; k++)
        status = solve(h, "cusolverRfBatchSolve", k, nrhs, addresses[k], ldx);
    free(addresses);
    return status;
}

/* ---- The factors, of a single matrix. */

/* Which elements, and what of them: L and U in one without the ones, L alone, U alone. */
enum { BOTH, LOWER, UPPER };

/* Is element `at` of row i one of them, and what is its value?  Inside it is L whose diagonal is 1; where it is U's, each column
 * of L is multiplied with the pivot and each row of U divided by it. */
static bool element(const struct cusolverRfCommon *h, int part, int i, int at, double *ret)
{
    const struct aw_refactor *r = &h->lu;
    int j = r->ind[at];
    bool unit_u = h->diag == STORED_U || h->diag == ASSUMED_U, stored = h->diag == STORED_L || h->diag == STORED_U;
    *ret = r->lu[at];
    if (unit_u && j < i)
        *ret *= r->lu[r->diag[j]];
    if (unit_u && j > i)
        *ret /= r->lu[r->diag[i]];
    if (part == BOTH || i != j)
        return part == BOTH || (part == LOWER) == (j < i);
    bool one = (part == LOWER) != unit_u;
    *ret = one ? 1 : *ret;
    return !one || stored;
}

struct arrays {
    int nnz, *ptr, *ind;
    double *val;
};

static bool arrays_make(const struct cusolverRfCommon *h, int part, struct arrays *ret)
{
    const struct aw_refactor *r = &h->lu;
    bool columns = h->format == FORMAT_CSC;
    double v;
    *ret = (struct arrays){ .ptr = calloc((size_t)r->n + 2, sizeof(int)) };
    for (int i = 0; ret->ptr && i < r->n; i++)
        for (int at = r->ptr[i]; at < r->ptr[i + 1]; at++)
            if (element(h, part, i, at, &v)) {
                ret->ptr[(columns ? r->ind[at] : i) + 2]++;
                ret->nnz++;
            }
    ret->ind = malloc(((size_t)ret->nnz + 1) * sizeof(int));
    ret->val = malloc(((size_t)ret->nnz + 1) * sizeof(double));
    if (!ret->ptr || !ret->ind || !ret->val) {
        free(ret->ptr), free(ret->ind), free(ret->val);
        return false;
    }
    for (int i = 0; i < r->n; i++)
        ret->ptr[i + 2] += ret->ptr[i + 1];
    for (int i = 0; i < r->n; i++) /* rows ascend, so do the rows of a column; then ptr[i + 1] is where i ends */
        for (int at = r->ptr[i]; at < r->ptr[i + 1]; at++)
            if (element(h, part, i, at, &v)) {
                int to = ret->ptr[(columns ? r->ind[at] : i) + 1]++;
                ret->ind[to] = columns ? i : r->ind[at];
                ret->val[to] = v;
            }
    return true;
}

static cusolverStatus_t extract_valid(cusolverRfHandle_t h)
{
    cusolverStatus_t status = check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    return h->lu.factored && !h->batched ? CUSOLVER_STATUS_SUCCESS : INVALID;
}

cusolverStatus_t awcusolver_cusolverRfExtractBundledFactorsHost(cusolverRfHandle_t h, int *nnz, int **ptr, int **ind,
                                                                double **val)
{
    struct arrays m;
    cusolverStatus_t status = extract_valid(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!nnz || !ptr || !ind || !val)
        return INVALID;
    if (!arrays_make(h, BOTH, &m))
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *nnz = m.nnz, *ptr = m.ptr, *ind = m.ind, *val = m.val;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverRfExtractSplitFactorsHost(cusolverRfHandle_t h, int *nnzL, int **ptrL, int **indL,
                                                              double **valL, int *nnzU, int **ptrU, int **indU, double **valU)
{
    struct arrays l, u;
    cusolverStatus_t status = extract_valid(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!nnzL || !ptrL || !indL || !valL || !nnzU || !ptrU || !indU || !valU)
        return INVALID;
    if (!arrays_make(h, LOWER, &l))
        return CUSOLVER_STATUS_ALLOC_FAILED;
    if (!arrays_make(h, UPPER, &u)) {
        free(l.ptr), free(l.ind), free(l.val);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    *nnzL = l.nnz, *ptrL = l.ptr, *indL = l.ind, *valL = l.val;
    *nnzU = u.nnz, *ptrU = u.ptr, *indU = u.ind, *valU = u.val;
    return CUSOLVER_STATUS_SUCCESS;
}

/* A copy on the device, which is the handle's and lasts until the next one. */
cusolverStatus_t awcusolver_cusolverRfAccessBundledFactorsDevice(cusolverRfHandle_t h, int *nnz, int **ptr, int **ind,
                                                                 double **val)
{
    struct arrays m;
    cusolverStatus_t status = extract_valid(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!nnz || !ptr || !ind || !val)
        return INVALID;
    if (!arrays_make(h, BOTH, &m))
        return CUSOLVER_STATUS_ALLOC_FAILED;
    const void *from[] = { m.ptr, m.ind, m.val };
    size_t sizes[] = { ((size_t)h->lu.n + 1) * sizeof(int), (size_t)m.nnz * sizeof(int), (size_t)m.nnz * sizeof(double) };
    device_drop(h);
    CUresult result = aw_lib_queue_enter(&h->queue);
    for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++) {
        result = cuMemAlloc_v2(&h->device[i], sizes[i] + 1);
        if (result == CUDA_SUCCESS)
            result = cuMemcpy(h->device[i], (CUdeviceptr)(uintptr_t)from[i], sizes[i]);
    }
    free(m.ptr), free(m.ind), free(m.val);
    if (result != CUDA_SUCCESS)
        return aw_solver_status(result);
    *nnz = m.nnz;
    *ptr = (int *)(uintptr_t)h->device[0];
    *ind = (int *)(uintptr_t)h->device[1];
    *val = (double *)(uintptr_t)h->device[2];
    return CUSOLVER_STATUS_SUCCESS;
}
