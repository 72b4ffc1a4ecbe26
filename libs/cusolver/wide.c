/* The 64-bit interface, whose types are arguments, and the older form of it with one workspace: by the functions of each type. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"
#include "eigen.h"
#include "linear.h"
#include "orthogonal.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE

/* The letter of a matrix's type, which all that is to be of the same type must have; 0: not so. */
static char letter(cudaDataType a, cudaDataType b, cudaDataType c)
{
    if (a != b || a != c)
        return 0;
    return a == CUDA_R_32F ? 's' : a == CUDA_R_64F ? 'd' : a == CUDA_C_32F ? 'c' : a == CUDA_C_64F ? 'z' : 0;
}

static bool real_of(cudaDataType type, cudaDataType real)
{
    return real == (type == CUDA_R_32F || type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F);
}

/* A handle that is one, and types that go together. */
static cusolverStatus_t begin(cusolverDnHandle_t h, char t)
{
    cusolverStatus_t status = aw_solver_handle_check(h);
    return status == CUSOLVER_STATUS_SUCCESS && !t ? INVALID : status;
}

/* The answer to a query: none is used, but programs give what they are told, and in places NULL asks. */
static cusolverStatus_t sizes(cusolverDnHandle_t h, char t, bool valid, size_t *device, size_t *host)
{
    cusolverStatus_t status = begin(h, t);
    if (status == CUSOLVER_STATUS_SUCCESS && (!valid || !device || !host))
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *device = *host = 16;
    return status;
}

#define ROOM void *device, size_t device_size, void *host, size_t host_size
#define SIZES size_t *device, size_t *host
#define BEGIN(t)                           \
    cusolverStatus_t status = begin(h, t); \
    if (status != CUSOLVER_STATUS_SUCCESS) \
    return status

/* Defines a function of the 64-bit interface and the older one: NAME(arguments, workspaces, info), and what they do. */
#define BOTH(name, older, call, ...)                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##name(cusolverDnHandle_t h, cusolverDnParams_t params, __VA_ARGS__, ROOM, int *info) \
    {                                                                                                                           \
        call;                                                                                                                   \
    }                                                                                                                           \
    cusolverStatus_t awcusolver_cusolverDn##older(cusolverDnHandle_t h, cusolverDnParams_t params, __VA_ARGS__, void *buffer,   \
                                                  size_t size, int *info)                                                       \
    {                                                                                                                           \
        call;                                                                                                                   \
    }
#define BOTH_SIZES(name, older, t, valid, ...)                                                                               \
    cusolverStatus_t awcusolver_cusolverDn##name##_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, __VA_ARGS__,  \
                                                              SIZES)                                                         \
    {                                                                                                                        \
        return sizes(h, t, valid, device, host);                                                                             \
    }                                                                                                                        \
    cusolverStatus_t awcusolver_cusolverDn##older##_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, __VA_ARGS__, \
                                                               size_t *size)                                                 \
    {                                                                                                                        \
        size_t host = 0;                                                                                                     \
        return sizes(h, t, valid, size, &host);                                                                              \
    }

/* ---- Systems. */

BOTH(Xpotrf, Potrf, BEGIN(letter(type, compute, type));
     return aw_solver_potrf(h, letter(type, compute, type), uplo, n, a, lda, info), cublasFillMode_t uplo, int64_t n,
            cudaDataType type, void *a, int64_t lda, cudaDataType compute)
BOTH_SIZES(Xpotrf, Potrf, letter(type, compute, type), aw_solver_uplo(uplo) && aw_solver_fits(n, 0), cublasFillMode_t uplo,
           int64_t n, cudaDataType type, const void *a, int64_t lda, cudaDataType compute)
BOTH(Xgetrf, Getrf, BEGIN(letter(type, compute, type));
     return aw_solver_getrf(h, letter(type, compute, type), m, n, a, lda, pivots, true, info), int64_t m, int64_t n,
            cudaDataType type, void *a, int64_t lda, int64_t *pivots, cudaDataType compute)
BOTH_SIZES(Xgetrf, Getrf, letter(type, compute, type), aw_solver_fits(m, 0) && aw_solver_fits(n, 0), int64_t m, int64_t n,
           cudaDataType type, const void *a, int64_t lda, cudaDataType compute)
BOTH(Xgeqrf, Geqrf, BEGIN(letter(type, compute, tau_type));
     return aw_solver_geqrf(h, letter(type, compute, tau_type), m, n, a, lda, tau, info), int64_t m, int64_t n, cudaDataType type,
            void *a, int64_t lda, cudaDataType tau_type, void *tau, cudaDataType compute)
BOTH_SIZES(Xgeqrf, Geqrf, letter(type, compute, tau_type), aw_solver_fits(m, 0) && aw_solver_fits(n, 0), int64_t m, int64_t n,
           cudaDataType type, const void *a, int64_t lda, cudaDataType tau_type, const void *tau, cudaDataType compute)

#define SOLVE(name)                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##name##otrs(cusolverDnHandle_t h, cusolverDnParams_t params, cublasFillMode_t uplo, \
                                                       int64_t n, int64_t nrhs, cudaDataType type, const void *a, int64_t lda, \
                                                       cudaDataType type_b, void *b, int64_t ldb, int *info)                   \
    {                                                                                                                          \
        BEGIN(letter(type, type_b, type));                                                                                     \
        return aw_solver_potrs(h, letter(type, type_b, type), uplo, n, nrhs, a, lda, b, ldb, info);                            \
    }
SOLVE(Xp)
SOLVE(P)

#define SOLVE_LU(name)                                                                                                     \
    cusolverStatus_t awcusolver_cusolverDn##name##etrs(                                                                    \
        cusolverDnHandle_t h, cusolverDnParams_t params, cublasOperation_t op, int64_t n, int64_t nrhs, cudaDataType type, \
        const void *a, int64_t lda, const int64_t *pivots, cudaDataType type_b, void *b, int64_t ldb, int *info)           \
    {                                                                                                                      \
        BEGIN(letter(type, type_b, type));                                                                                 \
        return aw_solver_getrs(h, letter(type, type_b, type), op, n, nrhs, a, lda, pivots, true, b, ldb, info);            \
    }
SOLVE_LU(Xg)
SOLVE_LU(G)

cusolverStatus_t awcusolver_cusolverDnXsytrs(cusolverDnHandle_t h, cublasFillMode_t uplo, int64_t n, int64_t nrhs,
                                             cudaDataType type, const void *a, int64_t lda, const int64_t *pivots,
                                             cudaDataType type_b, void *b, int64_t ldb, ROOM, int *info)
{
    BEGIN(letter(type, type_b, type));
    return aw_solver_sytrs(h, letter(type, type_b, type), uplo, n, nrhs, a, lda, pivots, b, ldb, info);
}

cusolverStatus_t awcusolver_cusolverDnXsytrs_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int64_t n, int64_t nrhs,
                                                        cudaDataType type, const void *a, int64_t lda, const int64_t *pivots,
                                                        cudaDataType type_b, void *b, int64_t ldb, SIZES)
{
    return sizes(h, letter(type, type_b, type), aw_solver_uplo(uplo) && aw_solver_fits(n, 0), device, host);
}

cusolverStatus_t awcusolver_cusolverDnXtrtri(cusolverDnHandle_t h, cublasFillMode_t uplo, cublasDiagType_t diag, int64_t n,
                                             cudaDataType type, void *a, int64_t lda, ROOM, int *info)
{
    BEGIN(letter(type, type, type));
    return aw_solver_trtri(h, letter(type, type, type), uplo, diag, n, a, lda, info);
}

cusolverStatus_t awcusolver_cusolverDnXtrtri_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, cublasDiagType_t diag,
                                                        int64_t n, cudaDataType type, void *a, int64_t lda, SIZES)
{
    return sizes(h, letter(type, type, type), aw_solver_uplo(uplo) && aw_solver_fits(n, 0), device, host);
}

/* ---- Eigenvalues. */

#define EIGEN_ARGS                                                                                                          \
    cusolverEigMode_t mode, cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a, int64_t lda, cudaDataType type_w, \
        void *w, cudaDataType compute
#define EIGEN_CONST                                                                                          \
    cusolverEigMode_t mode, cublasFillMode_t uplo, int64_t n, cudaDataType type, const void *a, int64_t lda, \
        cudaDataType type_w, const void *w, cudaDataType compute
#define EIGEN_LETTER (real_of(type, type_w) ? letter(type, compute, type) : 0)
#define EIGEN_VALID (aw_solver_mode(mode) && aw_solver_uplo(uplo) && aw_solver_fits(n, 0))
#define EIGEN(...)                                                                   \
    &(struct aw_solver_eigen)                                                        \
    {                                                                                \
        "cusolverDnXsyev", EIGEN_LETTER, mode, uplo, n, a, lda, w, info, __VA_ARGS__ \
    }

BOTH(Xsyevd, Syevd, BEGIN(EIGEN_LETTER); return aw_solver_eigen(h, EIGEN(1)), EIGEN_ARGS)
BOTH_SIZES(Xsyevd, Syevd, EIGEN_LETTER, EIGEN_VALID, EIGEN_CONST)

cusolverStatus_t awcusolver_cusolverDnXsyevBatched(cusolverDnHandle_t h, cusolverDnParams_t params, EIGEN_ARGS, ROOM, int *info,
                                                   int64_t batch)
{
    BEGIN(EIGEN_LETTER);
    return aw_solver_eigen(h, EIGEN(batch));
}

cusolverStatus_t awcusolver_cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, EIGEN_CONST, SIZES,
                                                              int64_t batch)
{
    return sizes(h, EIGEN_LETTER, EIGEN_VALID && batch >= 0, device, host);
}

static double bound(cudaDataType real, const void *at)
{
    return at ? aw_solver_real_of(real == CUDA_R_32F ? 's' : 'd', at, 0) : 0;
}

#define RANGE_ARGS(k)                                                                                                 \
    cusolverEigMode_t mode, cusolverEigRange_t range, cublasFillMode_t uplo, int64_t n, cudaDataType type, k void *a, \
        int64_t lda, void *vl, void *vu, int64_t il, int64_t iu, int64_t *found, cudaDataType type_w, k void *w,      \
        cudaDataType compute
#define RANGE                                                                         \
    BEGIN(EIGEN_LETTER);                                                              \
    if (!range || (range == CUSOLVER_EIG_RANGE_V && (!vl || !vu)))                    \
        return INVALID;                                                               \
    return aw_solver_eigen(h, &(struct aw_solver_eigen){ .name = "cusolverDnXsyevdx", \
                                                         .t = EIGEN_LETTER,           \
                                                         .mode = mode,                \
                                                         .uplo = uplo,                \
                                                         .n = n,                      \
                                                         .a = a,                      \
                                                         .lda = lda,                  \
                                                         .w = w,                      \
                                                         .info = info,                \
                                                         .batch = 1,                  \
                                                         .range = range,              \
                                                         .vl = bound(type_w, vl),     \
                                                         .vu = bound(type_w, vu),     \
                                                         .il = il,                    \
                                                         .iu = iu,                    \
                                                         .found64 = found })
BOTH(Xsyevdx, Syevdx, RANGE, RANGE_ARGS())
BOTH_SIZES(Xsyevdx, Syevdx, EIGEN_LETTER, EIGEN_VALID, RANGE_ARGS(const))

cusolverStatus_t awcusolver_cusolverDnXsygvd(cusolverDnHandle_t h, cusolverDnParams_t params, cusolverEigType_t kind,
                                             cusolverEigMode_t mode, cublasFillMode_t uplo, int64_t n, cudaDataType type, void *a,
                                             int64_t lda, cudaDataType type_b, void *b, int64_t ldb, cudaDataType type_w, void *w,
                                             cudaDataType compute, ROOM, int *info)
{
    BEGIN(type == type_b ? EIGEN_LETTER : 0);
    return b ? aw_solver_eigen(h, EIGEN(1, kind, b, ldb)) : INVALID;
}

cusolverStatus_t awcusolver_cusolverDnXsygvd_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, cusolverEigType_t kind,
                                                        cusolverEigMode_t mode, cublasFillMode_t uplo, int64_t n,
                                                        cudaDataType type, const void *a, int64_t lda, cudaDataType type_b,
                                                        const void *b, int64_t ldb, cudaDataType type_w, const void *w,
                                                        cudaDataType compute, SIZES)
{
    return sizes(h, type == type_b ? EIGEN_LETTER : 0, EIGEN_VALID, device, host);
}

/* ---- Eigenvalues of any matrix: jobs of the left and right vectors, n lda ldl ldr; matrices 0, 2 and 3, values 1, info 4. */

enum { GA, GW, GL, GR, GINFO };

/* A copy of the matrix without gaps, which LAPACK overwrites: the program's stays as it is, as PyTorch hands in its caller's. */
static void *geev_copy(struct aw_solver_call *c)
{
    size_t size = aw_lapack_size(c->t);
    int64_t n = c->n[2], ld = c->n[3];
    char *copy = aw_solver_work(c, n * n, size);
    for (int64_t k = 0; copy && k < n; k++)
        memcpy(copy + (size_t)(k * n) * size, (const char *)c->a[GA] + (size_t)(k * ld) * size, (size_t)n * size);
    return copy;
}

/* Of a real matrix the values come in two parts, and go to complex numbers, or as they are: n real and n imaginary parts. */
static void run_geev(struct aw_solver_call *c)
{
    char jobl = "NV"[c->n[0]], jobr = "NV"[c->n[1]];
    int n = (int)c->n[2], lda = n ? n : 1, ldl = (int)c->n[4], ldr = (int)c->n[5], info = 0;
    bool two_parts = aw_solver_complex(c->t);
    size_t real = aw_solver_real_size(c->t);
    void *rest = aw_solver_work(c, 2 * (int64_t)n, real);
    char *values = aw_solver_work(c, 2 * (int64_t)n, real);
    void *a = geev_copy(c);
    double query[2] = { 0 };
    int lwork = -1;
    void *work = NULL;
    info = rest && values && a ? 0 : AW_SOLVER_NO_MEMORY;
    for (int k = 0; k < 2 && info == 0; k++) {
        void *pw = k ? work : query;
        if (two_parts)
            aw_lapack(c->t, "geev")(&jobl, &jobr, &n, a, &lda, c->a[GW], c->a[GL], &ldl, c->a[GR], &ldr, pw, &lwork, rest,
                                    &info, AW_ENDS);
        else
            aw_lapack(c->t, "geev")(&jobl, &jobr, &n, a, &lda, values, values + (size_t)n * real, c->a[GL], &ldl, c->a[GR],
                                    &ldr, pw, &lwork, &info, AW_ENDS);
        if (k == 0) {
            lwork = aw_solver_query(c->t, query);
            work = aw_solver_work(c, lwork, aw_lapack_size(c->t));
            info = info == 0 && !work ? AW_SOLVER_NO_MEMORY : info;
        }
    }
    if (!two_parts && values && c->n[6])
        memcpy(c->a[GW], values, 2 * (size_t)n * real);
    for (int64_t i = 0; i < n && !two_parts && values && !c->n[6]; i++) {
        memcpy((char *)c->a[GW] + (size_t)(2 * i) * real, values + (size_t)i * real, real);
        memcpy((char *)c->a[GW] + (size_t)(2 * i + 1) * real, values + (size_t)(n + i) * real, real);
    }
    free(work);
    free(a);
    free(rest);
    free(values);
    *(int *)c->a[GINFO] = info;
}

#define GEEV_ARGS(k)                                                                                                           \
    cusolverEigMode_t jobl, cusolverEigMode_t jobr, int64_t n, cudaDataType type, k void *a, int64_t lda, cudaDataType type_w, \
        k void *w, cudaDataType type_l, k void *vl, int64_t ldl, cudaDataType type_r, k void *vr, int64_t ldr,                 \
        cudaDataType compute
#define GEEV_LETTER (type == type_l && values_of(type, type_w) ? letter(type, compute, type_r) : 0)

/* Values are complex, or of the real matrix's own type. */
static bool values_of(cudaDataType type, cudaDataType values)
{
    return values == type || (type == CUDA_R_32F && values == CUDA_C_32F) || (type == CUDA_R_64F && values == CUDA_C_64F);
}

static bool geev_valid(cusolverEigMode_t jobl, cusolverEigMode_t jobr, int64_t n, int64_t lda, int64_t ldl, int64_t ldr)
{
    return aw_solver_mode(jobl) && aw_solver_mode(jobr) && aw_solver_fits(n, 0) && aw_solver_ld(lda, n) &&
           aw_solver_ld(ldl, jobl ? n : 1) && aw_solver_ld(ldr, jobr ? n : 1);
}

cusolverStatus_t awcusolver_cusolverDnXgeev(cusolverDnHandle_t h, cusolverDnParams_t params, GEEV_ARGS(), ROOM, int *info)
{
    struct aw_solver_call c;
    char t = GEEV_LETTER;
    BEGIN(t);
    if (!geev_valid(jobl, jobr, n, lda, ldl, ldr) || (n && (!a || !w || (jobl && !vl) || (jobr && !vr))) || !info)
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDnXgeev", t, "geev", run_geev);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    const int64_t numbers[] = { jobl, jobr, n, lda, ldl, ldr, type_w == type };
    memcpy(c.n, numbers, sizeof numbers);
    aw_solver_matrix(&c, GA, a, n, n, lda, 0, AW_SOLVER_IN);
    aw_solver_array(&c, GW, w, n, 2 * aw_solver_real_size(t), 0, AW_SOLVER_OUT);
    aw_solver_matrix(&c, GL, jobl ? vl : NULL, n, n, ldl, 0, AW_SOLVER_OUT);
    aw_solver_matrix(&c, GR, jobr ? vr : NULL, n, n, ldr, 0, AW_SOLVER_OUT);
    aw_solver_array(&c, GINFO, info, 1, sizeof *info, 0, AW_SOLVER_OUT);
    return aw_solver_submit(&c, h, false);
}

cusolverStatus_t awcusolver_cusolverDnXgeev_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, GEEV_ARGS(const), SIZES)
{
    return sizes(h, GEEV_LETTER, geev_valid(jobl, jobr, n, lda, ldl, ldr), device, host);
}

/* ---- Singular values. */

#define SVD_ARGS(k)                                                                                                            \
    signed char jobu, signed char jobvt, int64_t m, int64_t n, cudaDataType type, k void *a, int64_t lda, cudaDataType type_s, \
        k void *s, cudaDataType type_u, k void *u, int64_t ldu, cudaDataType type_vt, k void *vt, int64_t ldvt,                \
        cudaDataType compute
#define SVD_LETTER (real_of(type, type_s) && type == compute ? letter(type, type_u, type_vt) : 0)
#define SVD_VALID (aw_solver_fits(m, 0) && aw_solver_fits(n, 0) && m >= n)
#define SVD             \
    BEGIN(SVD_LETTER); \
    return aw_solver_gesvd(h, "cusolverDnXgesvd", SVD_LETTER, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, info)
BOTH(Xgesvd, Gesvd, SVD, SVD_ARGS())
BOTH_SIZES(Xgesvd, Gesvd, SVD_LETTER, SVD_VALID, SVD_ARGS(const))

#define SVDP_ARGS(k)                                                                                                        \
    cusolverEigMode_t mode, int econ, int64_t m, int64_t n, cudaDataType type, k void *a, int64_t lda, cudaDataType type_s, \
        k void *s, cudaDataType type_u, k void *u, int64_t ldu, cudaDataType type_vt, k void *v, int64_t ldv,               \
        cudaDataType compute

/* By polar decomposition, as it is called; what it says of the error is of a method that is not used here: none. */
cusolverStatus_t awcusolver_cusolverDnXgesvdp(cusolverDnHandle_t h, cusolverDnParams_t params, SVDP_ARGS(), ROOM, int *info,
                                              double *error)
{
    signed char job = mode == CUSOLVER_EIG_MODE_NOVECTOR ? 'N' : econ ? 'S' : 'A';
    BEGIN(SVD_LETTER);
    if (!aw_solver_mode(mode))
        return INVALID;
    status = aw_solver_svd(h, &(struct aw_solver_svd){ "cusolverDnXgesvdp",
                                                       SVD_LETTER,
                                                       job,
                                                       job,
                                                       m,
                                                       n,
                                                       0,
                                                       a,
                                                       lda,
                                                       0,
                                                       s,
                                                       0,
                                                       u,
                                                       ldu,
                                                       0,
                                                       v,
                                                       ldv,
                                                       0,
                                                       true,
                                                       info,
                                                       NULL,
                                                       1,
                                                       false });
    if (status == CUSOLVER_STATUS_SUCCESS && error)
        *error = 0;
    return status;
}

cusolverStatus_t awcusolver_cusolverDnXgesvdp_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t params, SVDP_ARGS(const), SIZES)
{
    return sizes(h, SVD_LETTER, aw_solver_mode(mode) && aw_solver_fits(m, 0) && aw_solver_fits(n, 0), device, host);
}
