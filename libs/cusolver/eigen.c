/* Eigenvalues of symmetric and Hermitian matrices: see eigen.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { OUT = AW_SOLVER_OUT, IN_OUT = AW_SOLVER_IN_OUT };
/* Matrix 0, values 1, infos 2, matrix B 3. */
enum { A, W, INFO, B };
/* Numbers. */
enum { MODE, UPLO, N, LDA, LDB, TYPE, RANGE, IL, IU, WIDE };

/* The job, where a residual is told. */
struct eigen_call {
    struct aw_solver_call c;
    struct aw_solver_report *report; /* owned, or NULL */
};

/* The workspaces of a function in LAPACK: what it asks for. */
struct space {
    void *work, *rwork;
    int *iwork;
    int lwork, lrwork, liwork;
};

static void space_free(struct space *s)
{
    free(s->work);
    free(s->rwork);
    free(s->iwork);
}

/* From the answers to a query, in one element each; false: memory is out. */
static bool space_take(struct aw_solver_call *c, struct space *s, const double *work, const double *rwork, int iwork)
{
    char real = aw_solver_real_size(c->t) == 4 ? 's' : 'd';
    s->lwork = aw_solver_query(c->t, work);
    s->lrwork = aw_solver_query(real, rwork);
    s->liwork = iwork > 0 ? iwork : 1;
    s->work = aw_solver_work(c, s->lwork, aw_lapack_size(c->t));
    s->rwork = aw_solver_work(c, s->lrwork, aw_solver_real_size(c->t));
    s->iwork = aw_solver_work(c, s->liwork, sizeof(int));
    return s->work && s->rwork && s->iwork;
}

/* All of them. */
static int all(struct aw_solver_call *c, void *a, void *b, void *w)
{
    char jobz = "NV"[c->n[MODE]], uplo = c->n[UPLO] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
    int n = (int)c->n[N], lda = (int)c->n[LDA], ldb = (int)c->n[LDB], type = (int)c->n[TYPE], info = 0;
    bool complex = aw_solver_complex(c->t);
    aw_fortran f = aw_lapack(c->t, b ? "sygvd|hegvd" : "syevd|heevd");
    struct space s = { .lwork = -1, .lrwork = -1, .liwork = -1 };
    double work[2] = { 0 }, rwork[2] = { 0 };
    int iwork = 0;
    for (int k = 0; k < 2 && info == 0; k++) {
        void *pw = k ? s.work : work, *pr = k ? s.rwork : rwork, *pi = k ? s.iwork : &iwork;
        if (b && complex)
            f(&type, &jobz, &uplo, &n, a, &lda, b, &ldb, w, pw, &s.lwork, pr, &s.lrwork, pi, &s.liwork, &info, AW_ENDS);
        else if (b)
            f(&type, &jobz, &uplo, &n, a, &lda, b, &ldb, w, pw, &s.lwork, pi, &s.liwork, &info, AW_ENDS);
        else if (complex)
            f(&jobz, &uplo, &n, a, &lda, w, pw, &s.lwork, pr, &s.lrwork, pi, &s.liwork, &info, AW_ENDS);
        else
            f(&jobz, &uplo, &n, a, &lda, w, pw, &s.lwork, pi, &s.liwork, &info, AW_ENDS);
        if (k == 0 && info == 0 && !space_take(c, &s, work, rwork, iwork))
            info = AW_SOLVER_NO_MEMORY;
    }
    space_free(&s);
    return info;
}

static void bound(char t, double value, double *to)
{
    if (aw_solver_real_size(t) == 4)
        *(float *)to = (float)value;
    else
        *to = value;
}

/* Some of them: their vectors come beside the matrix, and are copied to its place. */
static int some(struct aw_solver_call *c, void *a, void *b, void *w, int *ret_found)
{
    char jobz = "NV"[c->n[MODE]], uplo = c->n[UPLO] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L', range = "AIV"[c->n[RANGE]];
    int n = (int)c->n[N], lda = (int)c->n[LDA], ldb = (int)c->n[LDB], type = (int)c->n[TYPE], il = (int)c->n[IL],
        iu = (int)c->n[IU];
    int info = 0, found = 0, ldz = n > 0 ? n : 1;
    bool complex = aw_solver_complex(c->t);
    size_t size = aw_lapack_size(c->t);
    double vl, vu, tolerance = 0, work[2] = { 0 }, rwork[2] = { 0 };
    int iwork = 0;
    aw_fortran f = aw_lapack(c->t, b ? "sygvx|hegvx" : "syevr|heevr");
    struct space s = { .lwork = -1, .lrwork = -1, .liwork = -1 };
    char *z = aw_solver_work(c, (int64_t)n * n, size);
    int *support = aw_solver_work(c, 2 * (int64_t)n, sizeof *support);
    bound(c->t, c->bounds[0], &vl), bound(c->t, c->bounds[1], &vu);
    info = z && support ? 0 : AW_SOLVER_NO_MEMORY;
    for (int k = 0; k < 2 && info == 0; k++) {
        void *pw = k ? s.work : work, *pr = k ? s.rwork : rwork, *pi = k ? s.iwork : &iwork;
        if (b && complex)
            f(&type, &jobz, &range, &uplo, &n, a, &lda, b, &ldb, &vl, &vu, &il, &iu, &tolerance, &found, w, z, &ldz, pw, &s.lwork,
              pr, pi, support, &info, AW_ENDS);
        else if (b)
            f(&type, &jobz, &range, &uplo, &n, a, &lda, b, &ldb, &vl, &vu, &il, &iu, &tolerance, &found, w, z, &ldz, pw, &s.lwork,
              pi, support, &info, AW_ENDS);
        else if (complex)
            f(&jobz, &range, &uplo, &n, a, &lda, &vl, &vu, &il, &iu, &tolerance, &found, w, z, &ldz, support, pw, &s.lwork, pr,
              &s.lrwork, pi, &s.liwork, &info, AW_ENDS);
        else
            f(&jobz, &range, &uplo, &n, a, &lda, &vl, &vu, &il, &iu, &tolerance, &found, w, z, &ldz, support, pw, &s.lwork, pi,
              &s.liwork, &info, AW_ENDS);
        if (b) /* which says nothing of these */
            bound(c->t, 7.0 * n, rwork), iwork = 5 * n;
        if (k == 0 && info == 0 && !space_take(c, &s, work, rwork, iwork))
            info = AW_SOLVER_NO_MEMORY;
    }
    for (int64_t j = 0; j < found && info >= 0 && c->n[MODE]; j++)
        memcpy((char *)a + (size_t)(j * lda) * size, z + (size_t)(j * n) * size, (size_t)n * size);
    *ret_found = found;
    space_free(&s);
    free(z);
    free(support);
    return info;
}

/* ---- The residual: of the matrix M that A is, or that it and B's factor make of the problem, and the vectors of M. */

/* The stored triangle, without gaps; the other one is made of it. */
static void triangle_copy(const struct aw_solver_call *c, const char *a, char *to)
{
    size_t size = aw_lapack_size(c->t);
    for (int64_t j = 0; j < c->n[N]; j++)
        memcpy(to + (size_t)(j * c->n[N]) * size, a + (size_t)(j * c->n[LDA]) * size, (size_t)c->n[N] * size);
}

static void triangle_mirror(const struct aw_solver_call *c, char *m)
{
    size_t size = aw_lapack_size(c->t), half = size / 2;
    bool upper = c->n[UPLO] == CUBLAS_FILL_MODE_UPPER;
    int64_t n = c->n[N];
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = j; i < n; i++) {
            char *low = m + (size_t)(i + j * n) * size, *high = m + (size_t)(j + i * n) * size, *to = upper ? low : high;
            memcpy(to, upper ? high : low, size);
            /* What is imaginary on the diagonal counts as nothing. */
            if (c->t == 'c')
                *(float *)(to + half) = i == j ? 0 : -*(float *)(to + half);
            else if (c->t == 'z')
                *(double *)(to + half) = i == j ? 0 : -*(double *)(to + half);
        }
}

/* `m` has A and becomes M; `y`, which has the problem's vectors, gets those of M. */
static int reduce(const struct aw_solver_call *c, void *m, const void *b, void *y)
{
    char uplo = c->n[UPLO] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
    const float one_f[2] = { 1 };
    const double one_d[2] = { 1 };
    int n = (int)c->n[N], ldb = (int)c->n[LDB], type = (int)c->n[TYPE], info = 0;
    bool solve = type == CUSOLVER_EIG_TYPE_3;
    char op = (uplo == 'U') == solve ? 'C' : 'N'; /* L^H or U; of type 3 the inverse of L or U^H */
    aw_lapack(c->t, "sygst|hegst")(&type, &uplo, &n, m, &n, b, &ldb, &info, AW_ENDS);
    aw_lapack(c->t, solve ? "trsm" : "trmm")("L", &uplo, &op, "N", &n, &n, aw_solver_real_size(c->t) == 4 ? (void *)one_f : one_d,
                                             b, &ldb, y, &n, AW_ENDS, (size_t)1);
    return info;
}

/* `m` has A as it was; a, b and w what the solver left. */
static double residual(const struct aw_solver_call *c, char *m, const char *a, const void *b, const void *w)
{
    int n = (int)c->n[N];
    char *y = aw_solver_work(c, (int64_t)n * n, aw_lapack_size(c->t));
    double norm = NAN;
    if (m && y) {
        triangle_copy(c, a, y);
        if (!b || reduce(c, m, b, y) == 0) {
            triangle_mirror(c, m);
            norm = aw_solver_residual(c, m, n, n, n, y, n, w, y, n, true);
        }
    }
    free(y);
    return norm;
}

static void run(struct aw_solver_call *c)
{
    size_t size = aw_lapack_size(c->t), real = aw_solver_real_size(c->t);
    int found = (int)c->n[N];
    for (int64_t i = 0; i < c->batch; i++) {
        char *a = (char *)c->a[A] + (size_t)(i * c->n[N] * c->n[LDA]) * size, *w = (char *)c->a[W] + (size_t)(i * c->n[N]) * real;
        struct aw_solver_report *report = ((struct eigen_call *)c)->report;
        char *m = report && c->n[MODE] && c->n[N] ? aw_solver_work(c, c->n[N] * c->n[N], size) : NULL;
        if (m)
            triangle_copy(c, a, m);
        int info = c->n[RANGE] ? some(c, a, c->a[B], w, &found) : all(c, a, c->a[B], w);
        ((int *)c->a[INFO])[i] = info;
        if (m && info == 0)
            aw_solver_report_put(report, residual(c, m, a, c->a[B], w));
        free(m);
    }
    if (c->host && c->n[WIDE])
        *(int64_t *)c->host = found;
    else if (c->host)
        *(int *)c->host = found;
}

static void forget(struct aw_lib_job *job)
{
    aw_solver_report_drop(((struct eigen_call *)job)->report);
}

static bool valid(const struct aw_solver_eigen *e)
{
    if (!aw_solver_mode(e->mode) || !aw_solver_uplo(e->uplo) || !aw_solver_fits(e->n, 0) || !aw_solver_ld(e->lda, e->n) ||
        e->batch < 0)
        return false;
    if (e->b && (e->type < CUSOLVER_EIG_TYPE_1 || e->type > CUSOLVER_EIG_TYPE_3 || !aw_solver_ld(e->ldb, e->n)))
        return false;
    if (e->range == CUSOLVER_EIG_RANGE_V && !(e->vl < e->vu))
        return false;
    if (e->range == CUSOLVER_EIG_RANGE_I && e->n && (e->il < 1 || e->iu < e->il || e->iu > e->n))
        return false;
    return !e->range || (e->range >= CUSOLVER_EIG_RANGE_ALL && e->range <= CUSOLVER_EIG_RANGE_V);
}

cusolverStatus_t aw_solver_eigen(cusolverDnHandle_t h, const struct aw_solver_eigen *e)
{
    struct eigen_call call;
    struct aw_solver_call *c = &call.c;
    bool host = e->found || e->found64, some_of = e->range > CUSOLVER_EIG_RANGE_ALL;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!valid(e) || (e->n && (!e->a || !e->w)) || !e->info || (e->range && !host))
        return INVALID;
    status = aw_solver_begin(c, e->name, e->t, "syevd|heevd", run);
    if (status != CUSOLVER_STATUS_SUCCESS || e->batch == 0)
        return status;
    const int64_t numbers[] = {
        e->mode, e->uplo,           e->n, e->lda, e->ldb, e->type, some_of ? e->range - CUSOLVER_EIG_RANGE_ALL : 0, e->il,
        e->iu,   e->found64 != NULL
    };
    memcpy(c->n, numbers, sizeof numbers);
    c->bounds[0] = e->vl, c->bounds[1] = e->vu;
    c->host = e->found64 ? (void *)e->found64 : (void *)e->found;
    c->batch = e->batch;
    aw_solver_matrix(c, A, e->a, e->n, e->n, e->lda, e->lda * e->n, IN_OUT);
    aw_solver_array(c, W, e->w, e->n, aw_solver_real_size(e->t), e->n, OUT);
    c->batch = 1;
    aw_solver_array(c, INFO, e->info, e->batch, sizeof *e->info, 0, OUT);
    aw_solver_matrix(c, B, e->b, e->n, e->n, e->ldb, 0, IN_OUT);
    c->batch = e->batch;
    c->job.size = sizeof call;
    c->job.forget = forget;
    call.report = aw_solver_report_take(e->settings);
    return aw_solver_submit(c, h, host);
}

/* ---- The interface of each type.  ev: syev or heev; gv: sygv or hegv. */

#define HEAD cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t uplo, int n
#define SIZE_OK (aw_solver_mode(mode) && aw_solver_uplo(uplo) && n >= 0)
/* Those in a range, by value or by number; of a generalised problem its type and B, besides. */
#define IN_RANGE(function, letter, ...)                                                                                      \
    aw_solver_eigen(h, &(struct aw_solver_eigen){ .name = function, .t = letter, .mode = mode, .uplo = uplo, .n = n, .a = a, \
                                                  .lda = lda, .w = w, .info = info, .batch = 1, .range = range, .vl = vl,    \
                                                  .vu = vu, .il = il, .iu = iu, .found = found, __VA_ARGS__ })
#define EIGEN(L, letter, T, R, ev)                                                                                              \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##d(HEAD, T *a, int lda, R *w, T *work, int lwork, int *info)                  \
    {                                                                                                                           \
        return aw_solver_eigen(h,                                                                                               \
                               &(struct aw_solver_eigen){ "cusolverDn" #L#ev "d", letter, mode, uplo, n, a, lda, w, info, 1 }); \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##d_bufferSize(HEAD, const T *a, int lda, const R *w, int *lwork)              \
    {                                                                                                                           \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                              \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##j(HEAD, T *a, int lda, R *w, T *work, int lwork, int *info,                  \
                                                     syevjInfo_t params)                                                        \
    {                                                                                                                           \
        return aw_solver_eigen(h, &(struct aw_solver_eigen){ "cusolverDn" #L#ev "j", letter, mode, uplo, n, a, lda, w, info, 1, \
                                                             .settings = params ? &params->settings : NULL });                  \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##j_bufferSize(HEAD, const T *a, int lda, const R *w, int *lwork,              \
                                                                syevjInfo_t params)                                             \
    {                                                                                                                           \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                              \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##jBatched(HEAD, T *a, int lda, R *w, T *work, int lwork, int *info,           \
                                                            syevjInfo_t params, int batch)                                      \
    {                                                                                                                           \
        return aw_solver_eigen(                                                                                                 \
            h, &(struct aw_solver_eigen){ "cusolverDn" #L#ev "jBatched", letter, mode, uplo, n, a, lda, w, info, batch });      \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##jBatched_bufferSize(HEAD, const T *a, int lda, const R *w, int *lwork,       \
                                                                       syevjInfo_t params, int batch)                           \
    {                                                                                                                           \
        return aw_solver_lwork(h, SIZE_OK && batch >= 0, lwork);                                                                \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##dx(cusolverDnHandle_t h, cusolverEigMode_t mode, cusolverEigRange_t range,   \
                                                      cublasFillMode_t uplo, int n, T *a, int lda, R vl, R vu, int il, int iu,  \
                                                      int *found, R *w, T *work, int lwork, int *info)                          \
    {                                                                                                                           \
        return range ? IN_RANGE("cusolverDn" #L#ev "dx", letter) : INVALID;                                                     \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##L##ev##dx_bufferSize(                                                               \
        cusolverDnHandle_t h, cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t uplo, int n, const T *a,       \
        int lda, R vl, R vu, int il, int iu, int *found, const R *w, int *lwork)                                                \
    {                                                                                                                           \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                              \
    }
EIGEN(S, 's', float, float, syev)
EIGEN(D, 'd', double, double, syev)
EIGEN(C, 'c', cuComplex, float, heev)
EIGEN(Z, 'z', cuDoubleComplex, double, heev)

#define GHEAD cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t mode, cublasFillMode_t uplo, int n
#define GENERALISED(L, letter, T, R, gv)                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##d(GHEAD, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, int *info)   \
    {                                                                                                                            \
        return b ? aw_solver_eigen(h, &(struct aw_solver_eigen){ "cusolverDn" #L#gv "d", letter, mode, uplo, n, a, lda, w, info, \
                                                                 1, type, b, ldb })                                              \
                 : INVALID;                                                                                                      \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##d_bufferSize(GHEAD, const T *a, int lda, const T *b, int ldb, const R *w,     \
                                                                int *lwork)                                                      \
    {                                                                                                                            \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                               \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##j(GHEAD, T *a, int lda, T *b, int ldb, R *w, T *work, int lwork, int *info,   \
                                                     syevjInfo_t params)                                                         \
    {                                                                                                                            \
        return b ? aw_solver_eigen(h,                                                                                            \
                                   &(struct aw_solver_eigen){ "cusolverDn" #L#gv "j", letter, mode, uplo, n, a, lda, w, info, 1, \
                                                              type, b, ldb, .settings = params ? &params->settings : NULL })     \
                 : INVALID;                                                                                                      \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##j_bufferSize(GHEAD, const T *a, int lda, const T *b, int ldb, const R *w,     \
                                                                int *lwork, syevjInfo_t params)                                  \
    {                                                                                                                            \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                               \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##dx(                                                                           \
        cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t uplo,   \
        int n, T *a, int lda, T *b, int ldb, R vl, R vu, int il, int iu, int *found, R *w, T *work, int lwork, int *info)        \
    {                                                                                                                            \
        return range && b ? IN_RANGE("cusolverDn" #L#gv "dx", letter, .type = type, .b = b, .ldb = ldb) : INVALID;               \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gv##dx_bufferSize(                                                                \
        cusolverDnHandle_t h, cusolverEigType_t type, cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t uplo,   \
        int n, const T *a, int lda, const T *b, int ldb, R vl, R vu, int il, int iu, int *found, const R *w, int *lwork)         \
    {                                                                                                                            \
        return aw_solver_lwork(h, SIZE_OK, lwork);                                                                               \
    }
GENERALISED(S, 's', float, float, sygv)
GENERALISED(D, 'd', double, double, sygv)
GENERALISED(C, 'c', cuComplex, float, hegv)
GENERALISED(Z, 'z', cuDoubleComplex, double, hegv)
