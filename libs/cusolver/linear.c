/* Systems of equations: Cholesky, LU, symmetric indefinite, and what belongs to them. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include "linear.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "amd.h"
#include "cusolver_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT, IN_OUT = AW_SOLVER_IN_OUT };

static char uplo_letter(int64_t uplo)
{
    return uplo == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
}

/* ---- Cholesky, inverses and triangles: uplo n, matrix 0, info 1, for LAPACK's (uplo, n, a, lda, info). */

static void run_square(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    aw_lapack(c->t, c->host)(&uplo, &n, c->a[0], &lda, &info, AW_ENDS);
    *(int *)c->a[1] = info;
}

static cusolverStatus_t square(const char *name, const char *lapack, cusolverDnHandle_t h, char t, cublasFillMode_t uplo,
                               int64_t n, void *a, int64_t lda, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || !aw_solver_fits(n, 0) || !aw_solver_ld(lda, n) || (n && !a) || !info)
        return INVALID;
    if (strcmp(lapack, "lauum") != 0 && /* which says nothing of devInfo */
        aw_amd_solver(h, t, lapack, AW_AMD(aw_amd_uplo(uplo), n, aw_amd_at(a), lda, aw_amd_at(info)), NULL, &status))
        return status;
    status = aw_solver_begin(&c, name, t, lapack, run_square);
    c.host = (void *)lapack;
    c.n[0] = uplo, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, 0, a, n, n, lda, 0, IN_OUT);
    aw_solver_array(&c, 1, info, 1, sizeof *info, 0, OUT);
    return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;
}

cusolverStatus_t aw_solver_potrf(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, void *a, int64_t lda, int *info)
{
    return square("cusolverDn potrf", "potrf", h, t, uplo, n, a, lda, info);
}

#define SQUARE(L, t, T, R)                                                                                                       \
    cusolverStatus_t awcusolver_cusolverDn##L##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work, \
                                                     int lwork, int *info)                                                       \
    {                                                                                                                            \
        return square("cusolverDn" #L "potrf", "potrf", h, t, uplo, n, a, lda, info);                                            \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##potri(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work, \
                                                     int lwork, int *info)                                                       \
    {                                                                                                                            \
        return square("cusolverDn" #L "potri", "potri", h, t, uplo, n, a, lda, info);                                            \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##lauum(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, T *work, \
                                                     int lwork, int *info)                                                       \
    {                                                                                                                            \
        return square("cusolverDn" #L "lauum", "lauum", h, t, uplo, n, a, lda, info);                                            \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a,        \
                                                                int lda, int *lwork)                                             \
    {                                                                                                                            \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                        \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##potri_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a,        \
                                                                int lda, int *lwork)                                             \
    {                                                                                                                            \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                        \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##lauum_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a,        \
                                                                int lda, int *lwork)                                             \
    {                                                                                                                            \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                        \
    }
AW_FOUR(SQUARE)

static void run_trtri(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]), diag = c->n[3] == CUBLAS_DIAG_UNIT ? 'U' : 'N';
    int n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    aw_lapack(c->t, "trtri")(&uplo, &diag, &n, c->a[0], &lda, &info, AW_ENDS);
    *(int *)c->a[1] = info;
}

cusolverStatus_t aw_solver_trtri(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, cublasDiagType_t diag, int64_t n, void *a,
                                 int64_t lda, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || (unsigned)diag > CUBLAS_DIAG_UNIT || !aw_solver_fits(n, 0) || !aw_solver_ld(lda, n) ||
        (n && !a) || !info)
        return INVALID;
    if (aw_amd_solver(h, t, "trtri", AW_AMD(aw_amd_uplo(uplo), aw_amd_diag(diag), n, aw_amd_at(a), lda, aw_amd_at(info)), NULL,
                      &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDnXtrtri", t, "trtri", run_trtri);
    c.n[0] = uplo, c.n[1] = n, c.n[2] = lda, c.n[3] = diag;
    aw_solver_matrix(&c, 0, a, n, n, lda, 0, IN_OUT);
    aw_solver_array(&c, 1, info, 1, sizeof *info, 0, OUT);
    return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;
}

/* ---- Solutions by a Cholesky factor: uplo n nrhs lda ldb, matrices 0 and 1, info 2. */

static void run_potrs(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], nrhs = (int)c->n[2], lda = (int)c->n[3], ldb = (int)c->n[4], info = 0;
    aw_lapack(c->t, "potrs")(&uplo, &n, &nrhs, c->a[0], &lda, c->a[1], &ldb, &info, AW_ENDS);
    *(int *)c->a[2] = info;
}

cusolverStatus_t aw_solver_potrs(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, void *b, int64_t ldb, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || !aw_solver_fits(n, 0) || !aw_solver_fits(nrhs, 0) || !aw_solver_ld(lda, n) ||
        !aw_solver_ld(ldb, n) || (n && (!a || (nrhs && !b))) || !info)
        return INVALID;
    if (aw_amd_solver(h, t, "potrs", AW_AMD(aw_amd_uplo(uplo), n, nrhs, aw_amd_at(a), lda, aw_amd_at(b), ldb), info, &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDn potrs", t, "potrs", run_potrs);
    c.n[0] = uplo, c.n[1] = n, c.n[2] = nrhs, c.n[3] = lda, c.n[4] = ldb;
    aw_solver_matrix(&c, 0, a, n, n, lda, 0, IN);
    aw_solver_matrix(&c, 1, b, n, nrhs, ldb, 0, IN_OUT);
    aw_solver_array(&c, 2, info, 1, sizeof *info, 0, OUT);
    return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;
}

/* ---- Batches by arrays of pointers: array 0, and 1 of right-hand sides, infos 2.  On the host device the pointers are followed
 * when the call runs; on a card they are read first, and each item is a call. */

static void run_batch(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], nrhs = (int)c->n[2], lda = (int)c->n[3], ldb = (int)c->n[4];
    bool solve = c->n[5] != 0;
    aw_fortran f = aw_lapack(c->t, solve ? "potrs" : "potrf");
    if (solve)
        *(int *)c->a[2] = 0;
    for (int64_t b = 0; b < c->n[6]; b++) {
        int info = 0;
        if (solve)
            f(&uplo, &n, &nrhs, ((void **)c->a[0])[b], &lda, ((void **)c->a[1])[b], &ldb, &info, AW_ENDS);
        else
            f(&uplo, &n, ((void **)c->a[0])[b], &lda, &info, AW_ENDS);
        if (!solve)
            ((int *)c->a[2])[b] = info;
    }
}

static cusolverStatus_t batch_on_card(cusolverDnHandle_t h, const struct aw_solver_call *p, void **a, void **b, int *info)
{
    int64_t batch = p->n[6];
    size_t size = (size_t)batch * sizeof(void *);
    void **pointers = malloc(2 * size + 1);
    CUresult result = pointers ? aw_lib_read(&h->queue, pointers, a, size) : AW_LIB_NO_MEMORY;
    if (result == CUDA_SUCCESS && b)
        result = aw_lib_read(&h->queue, pointers + batch, b, size);
    cusolverStatus_t status = aw_solver_status(result);
    for (int64_t i = 0; i < batch && status == CUSOLVER_STATUS_SUCCESS; i++)
        status = b ? aw_solver_potrs(h, p->t, p->n[0], p->n[1], p->n[2], pointers[i], p->n[3], pointers[batch + i], p->n[4], info)
                   : aw_solver_potrf(h, p->t, p->n[0], p->n[1], pointers[i], p->n[3], info + i);
    free(pointers);
    return status;
}

static cusolverStatus_t batch(const char *name, cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int n, int nrhs, void *a,
                              int lda, void *b, int ldb, int *info, int items, bool solve)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || n < 0 || nrhs < 0 || items < 0 || !aw_solver_ld(lda, n) || (solve && !aw_solver_ld(ldb, n)) ||
        (items && (!a || (solve && !b) || !info)))
        return INVALID;
    /* As documented: one right-hand side. */
    if (solve && nrhs != 1)
        return INVALID;
    if (items &&
        (solve ? aw_amd_solver(h, t, "potrs_batched",
                               AW_AMD(aw_amd_uplo(uplo), n, nrhs, aw_amd_at(a), lda, aw_amd_at(b), ldb, items), info, &status)
               : aw_amd_solver(h, t, "potrf_batched", AW_AMD(aw_amd_uplo(uplo), n, aw_amd_at(a), lda, aw_amd_at(info), items),
                               NULL, &status)))
        return status;
    status = aw_solver_begin(&c, name, t, solve ? "potrs" : "potrf", run_batch);
    const int64_t numbers[] = { uplo, n, nrhs, lda, ldb, solve, items };
    memcpy(c.n, numbers, sizeof numbers);
    if (status != CUSOLVER_STATUS_SUCCESS || items == 0)
        return status;
    if (h->queue.place == AW_LIB_CARD)
        return batch_on_card(h, &c, a, solve ? b : NULL, info);
    aw_solver_array(&c, 0, a, items, sizeof(void *), 0, IN);
    aw_solver_array(&c, 1, b, items, sizeof(void *), 0, IN);
    aw_solver_array(&c, 2, info, solve ? 1 : items, sizeof *info, 0, OUT);
    return aw_solver_submit(&c, h, false);
}

#define POTRS(L, t, T, R)                                                                                                        \
    cusolverStatus_t awcusolver_cusolverDn##L##potrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int nrhs, const T *a,   \
                                                     int lda, T *b, int ldb, int *info)                                          \
    {                                                                                                                            \
        return aw_solver_potrs(h, t, uplo, n, nrhs, a, lda, b, ldb, info);                                                       \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##potrfBatched(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T **a, int lda,  \
                                                            int *info, int items)                                                \
    {                                                                                                                            \
        return batch("cusolverDn" #L "potrfBatched", h, t, uplo, n, 0, a, lda, NULL, 1, info, items, false);                     \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##potrsBatched(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, int nrhs, T **a, \
                                                            int lda, T **b, int ldb, int *info, int items)                       \
    {                                                                                                                            \
        return batch("cusolverDn" #L "potrsBatched", h, t, uplo, n, nrhs, a, lda, b, ldb, info, items, true);                    \
    }
AW_FOUR(POTRS)

/* ---- LU: m n lda, matrix 0, pivots 1 or NULL, info 2. */

/* Without pivots, as no LAPACK has it: columns from the left, the rest of the matrix less their products. */
#define LU(name, T)                                                    \
    static int name(int64_t m, int64_t n, T *a, int64_t lda)           \
    {                                                                  \
        int info = 0;                                                  \
        for (int64_t k = 0; k < m && k < n; k++) {                     \
            T pivot = a[k + k * lda];                                  \
            if (pivot == 0 && !info)                                   \
                info = (int)k + 1;                                     \
            for (int64_t i = k + 1; i < m; i++)                        \
                a[i + k * lda] /= pivot;                               \
            for (int64_t j = k + 1; j < n; j++)                        \
                for (int64_t i = k + 1; i < m; i++)                    \
                    a[i + j * lda] -= a[i + k * lda] * a[k + j * lda]; \
        }                                                              \
        return info;                                                   \
    }
typedef float _Complex float_complex;
typedef double _Complex double_complex;
LU(lu_s, float)
LU(lu_d, double)
LU(lu_c, float_complex)
LU(lu_z, double_complex)

static int lu(struct aw_solver_call *c, int64_t m, int64_t n, int64_t lda)
{
    switch (c->t) {
    case 's': return lu_s(m, n, c->a[0], lda);
    case 'd': return lu_d(m, n, c->a[0], lda);
    case 'c': return lu_c(m, n, c->a[0], lda);
    default: return lu_z(m, n, c->a[0], lda);
    }
}

static void run_getrf(struct aw_solver_call *c)
{
    int m = (int)c->n[0], n = (int)c->n[1], lda = (int)c->n[2], least = m < n ? m : n, info = 0;
    int *pivots = c->a[1];
    if (!pivots) {
        *(int *)c->a[2] = lu(c, m, n, lda);
        return;
    }
    if (c->n[3])
        pivots = aw_solver_work(c, least, sizeof *pivots);
    if (pivots)
        aw_lapack(c->t, "getrf")(&m, &n, c->a[0], &lda, pivots, &info, AW_ENDS);
    else
        info = AW_SOLVER_NO_MEMORY;
    for (int i = 0; c->n[3] && pivots && i < least; i++)
        ((int64_t *)c->a[1])[i] = pivots[i];
    if (c->n[3])
        free(pivots);
    *(int *)c->a[2] = info;
}

cusolverStatus_t aw_solver_getrf(cusolverDnHandle_t h, char t, int64_t m, int64_t n, void *a, int64_t lda, void *pivots,
                                 bool wide, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_fits(m, 0) || !aw_solver_fits(n, 0) || !aw_solver_ld(lda, m) || (m && n && !a) || !info)
        return INVALID;
    if (!pivots && aw_amd_solver(h, t, "getrf_npvt", AW_AMD(m, n, aw_amd_at(a), lda, aw_amd_at(info)), NULL, &status))
        return status;
    if (pivots && !wide &&
        aw_amd_solver(h, t, "getrf", AW_AMD(m, n, aw_amd_at(a), lda, aw_amd_at(pivots), aw_amd_at(info)), NULL, &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDn getrf", t, "getrf", run_getrf);
    c.n[0] = m, c.n[1] = n, c.n[2] = lda, c.n[3] = wide;
    aw_solver_matrix(&c, 0, a, m, n, lda, 0, IN_OUT);
    aw_solver_array(&c, 1, pivots, m < n ? m : n, wide ? 8 : 4, 0, OUT);
    aw_solver_array(&c, 2, info, 1, sizeof *info, 0, OUT);
    return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;
}

/* Pivots as LAPACK takes them; without any, each row is its own. */
static int *pivots_of(struct aw_solver_call *c, const void *from, bool wide, int n)
{
    int *p = aw_solver_work(c, n, sizeof *p);
    for (int i = 0; p && i < n; i++)
        p[i] = !from ? i + 1 : wide ? (int)((const int64_t *)from)[i] : ((const int *)from)[i];
    return p;
}

/* op n nrhs lda ldb wide, matrices 0 and 1, info 2, pivots 3. */
static void run_getrs(struct aw_solver_call *c)
{
    char op = "NTC"[c->n[0]];
    int n = (int)c->n[1], nrhs = (int)c->n[2], lda = (int)c->n[3], ldb = (int)c->n[4], info = AW_SOLVER_NO_MEMORY;
    int *pivots = pivots_of(c, c->a[3], c->n[5], n);
    if (pivots)
        aw_lapack(c->t, "getrs")(&op, &n, &nrhs, c->a[0], &lda, pivots, c->a[1], &ldb, &info, AW_ENDS);
    free(pivots);
    *(int *)c->a[2] = info;
}

static void run_sytrs(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], nrhs = (int)c->n[2], lda = (int)c->n[3], ldb = (int)c->n[4], info = AW_SOLVER_NO_MEMORY;
    int *pivots = pivots_of(c, c->a[3], true, n);
    if (pivots)
        aw_lapack(c->t, "sytrs")(&uplo, &n, &nrhs, c->a[0], &lda, pivots, c->a[1], &ldb, &info, AW_ENDS);
    free(pivots);
    *(int *)c->a[2] = info;
}

static cusolverStatus_t solve(struct aw_solver_call *c, cusolverDnHandle_t h, cusolverStatus_t begun, const void *a,
                              const void *pivots, void *b, int *info)
{
    int64_t n = c->n[1], nrhs = c->n[2], lda = c->n[3], ldb = c->n[4];
    if (!aw_solver_fits(n, 0) || !aw_solver_fits(nrhs, 0) || !aw_solver_ld(lda, n) || !aw_solver_ld(ldb, n) ||
        (n && (!a || (nrhs && !b))) || !info)
        return INVALID;
    if (c->run == run_getrs && pivots && !c->n[5] &&
        aw_amd_solver(
            h, c->t, "getrs",
            AW_AMD(aw_amd_op((cublasOperation_t)c->n[0]), n, nrhs, aw_amd_at(a), lda, aw_amd_at(pivots), aw_amd_at(b), ldb), info,
            &begun))
        return begun;
    if (begun != CUSOLVER_STATUS_SUCCESS)
        return begun;
    aw_solver_matrix(c, 0, a, n, n, lda, 0, IN);
    aw_solver_matrix(c, 1, b, n, nrhs, ldb, 0, IN_OUT);
    aw_solver_array(c, 2, info, 1, sizeof *info, 0, OUT);
    aw_solver_array(c, 3, pivots, n, c->n[5] ? 8 : 4, 0, IN);
    return aw_solver_submit(c, h, false);
}

cusolverStatus_t aw_solver_getrs(cusolverDnHandle_t h, char t, cublasOperation_t op, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, const void *pivots, bool wide, void *b, int64_t ldb, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if ((unsigned)op > CUBLAS_OP_C)
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn getrs", t, "getrs", run_getrs);
    const int64_t numbers[] = { op, n, nrhs, lda, ldb, wide };
    memcpy(c.n, numbers, sizeof numbers);
    return solve(&c, h, status, a, pivots, b, info);
}

cusolverStatus_t aw_solver_sytrs(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int64_t n, int64_t nrhs, const void *a,
                                 int64_t lda, const int64_t *pivots, void *b, int64_t ldb, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo))
        return INVALID;
    if (!pivots) /* factors without pivots are of another kind */
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    status = aw_solver_begin(&c, "cusolverDnXsytrs", t, "sytrs", run_sytrs);
    const int64_t numbers[] = { uplo, n, nrhs, lda, ldb, true };
    memcpy(c.n, numbers, sizeof numbers);
    return solve(&c, h, status, a, pivots, b, info);
}

#define GETRF(L, t, T, R)                                                                                                      \
    cusolverStatus_t awcusolver_cusolverDn##L##getrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *work, int *pivots,  \
                                                     int *info)                                                                \
    {                                                                                                                          \
        return aw_solver_getrf(h, t, m, n, a, lda, pivots, false, info);                                                       \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverDn##L##getrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *lwork) \
    {                                                                                                                          \
        return aw_solver_lwork(h, m >= 0 && n >= 0, lwork);                                                                    \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverDn##L##getrs(cusolverDnHandle_t h, cublasOperation_t op, int n, int nrhs, const T *a,  \
                                                     int lda, const int *pivots, T *b, int ldb, int *info)                     \
    {                                                                                                                          \
        return aw_solver_getrs(h, t, op, n, nrhs, a, lda, pivots, false, b, ldb, info);                                        \
    }
AW_FOUR(GETRF)

/* ---- Symmetric, indefinite: uplo n lda, matrix 0, pivots 1, info 2. */

static void run_sytrf(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "sytrf"), info, &uplo, &n, c->a[0], &lda, c->a[1]);
    *(int *)c->a[2] = info;
}

static void run_sytri(struct aw_solver_call *c)
{
    char uplo = uplo_letter(c->n[0]);
    int n = (int)c->n[1], lda = (int)c->n[2], info = AW_SOLVER_NO_MEMORY;
    void *work = aw_solver_work(c, 2 * (int64_t)n, aw_lapack_size(c->t));
    if (work)
        aw_lapack(c->t, "sytri")(&uplo, &n, c->a[0], &lda, c->a[1], work, &info, AW_ENDS);
    free(work);
    *(int *)c->a[2] = info;
}

static cusolverStatus_t symmetric(cusolverDnHandle_t h, const char *name, char t, bool invert, cublasFillMode_t uplo, int64_t n,
                                  void *a, int64_t lda, const int *pivots, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || !aw_solver_fits(n, 0) || !aw_solver_ld(lda, n) || (n && !a) || !info)
        return INVALID;
    if (!pivots) /* no LAPACK factors it without */
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    if (!invert &&
        aw_amd_solver(h, t, "sytrf", AW_AMD(aw_amd_uplo(uplo), n, aw_amd_at(a), lda, aw_amd_at(pivots), aw_amd_at(info)), NULL,
                      &status))
        return status;
    status = aw_solver_begin(&c, name, t, invert ? "sytri" : "sytrf", invert ? run_sytri : run_sytrf);
    c.n[0] = uplo, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, 0, a, n, n, lda, 0, IN_OUT);
    aw_solver_array(&c, 1, pivots, n, sizeof *pivots, 0, invert ? IN : OUT);
    aw_solver_array(&c, 2, info, 1, sizeof *info, 0, OUT);
    return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;
}

#define SYTRF(L, t, T, R)                                                                                                 \
    cusolverStatus_t awcusolver_cusolverDn##L##sytrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda,   \
                                                     int *pivots, T *work, int lwork, int *info)                          \
    {                                                                                                                     \
        return symmetric(h, "cusolverDn" #L "sytrf", t, false, uplo, n, a, lda, pivots, info);                            \
    }                                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDn##L##sytri(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda,   \
                                                     const int *pivots, T *work, int lwork, int *info)                    \
    {                                                                                                                     \
        return symmetric(h, "cusolverDn" #L "sytri", t, true, uplo, n, a, lda, pivots, info);                             \
    }                                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDn##L##sytrf_bufferSize(cusolverDnHandle_t h, int n, T *a, int lda, int *lwork)   \
    {                                                                                                                     \
        return aw_solver_lwork(h, n >= 0, lwork);                                                                         \
    }                                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDn##L##sytri_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, \
                                                                int lda, const int *pivots, int *lwork)                   \
    {                                                                                                                     \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                 \
    }
AW_FOUR(SYTRF)

/* ---- Rows exchanged by pivots k1 to k2: matrix 0 of which rows is not said, pivots 1. */

static void run_laswp(struct aw_solver_call *c)
{
    int n = (int)c->n[0], lda = (int)c->n[1], k1 = (int)c->n[2], k2 = (int)c->n[3], inc = (int)c->n[4];
    aw_lapack(c->t, "laswp")(&n, c->a[0], &lda, &k1, &k2, c->a[1], &inc, AW_ENDS);
}

#define LASWP(L, t, T, R)                                                                                        \
    cusolverStatus_t awcusolver_cusolverDn##L##laswp(cusolverDnHandle_t h, int n, T *a, int lda, int k1, int k2, \
                                                     const int *pivots, int inc)                                 \
    {                                                                                                            \
        struct aw_solver_call c;                                                                                 \
        cusolverStatus_t status = aw_solver_handle_check(h);                                                     \
        if (status != CUSOLVER_STATUS_SUCCESS)                                                                   \
            return status;                                                                                       \
        if (n < 0 || lda < 1 || k1 < 1 || k2 < k1 || inc == 0 || (n && (!a || !pivots)))                         \
            return INVALID;                                                                                      \
        if (inc != 1 || h->queue.place == AW_LIB_CARD) /* how many rows to copy, only the pivots say */          \
            return CUSOLVER_STATUS_NOT_SUPPORTED;                                                                \
        status = aw_solver_begin(&c, "cusolverDn" #L "laswp", t, "laswp", run_laswp);                            \
        c.n[0] = n, c.n[1] = lda, c.n[2] = k1, c.n[3] = k2, c.n[4] = inc;                                        \
        aw_solver_matrix(&c, 0, a, lda, n, lda, 0, IN_OUT);                                                      \
        aw_solver_array(&c, 1, pivots, k2, sizeof *pivots, 0, IN);                                               \
        return status == CUSOLVER_STATUS_SUCCESS ? aw_solver_submit(&c, h, false) : status;                      \
    }
AW_FOUR(LASWP)
