/* Orthogonal factorisations: QR, reductions to bidiagonal and tridiagonal form, and products with what they give. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "orthogonal.h"

#include <stdlib.h>
#include <string.h>

#include "amd.h"
#include "cusolver_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT, IN_OUT = AW_SOLVER_IN_OUT };
/* Matrix 0, factors of reflectors 1, info 2, matrix 3. */
enum { A, TAU, INFO, C, D, E, TAUP };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool side_valid(cublasSideMode_t side)
{
    return (unsigned)side <= CUBLAS_SIDE_RIGHT;
}

/* Of real types the transpose, of complex ones the conjugate transpose. */
static bool op_valid(char t, cublasOperation_t op)
{
    return op == CUBLAS_OP_N || (aw_solver_complex(t) ? op == CUBLAS_OP_C : op == CUBLAS_OP_T || op == CUBLAS_OP_C);
}

static char op_letter(char t, int64_t op)
{
    return op == CUBLAS_OP_N ? 'N' : aw_solver_complex(t) ? 'C' : 'T';
}

static cusolverStatus_t finish(struct aw_solver_call *c, cusolverDnHandle_t h, cusolverStatus_t begun, int *info)
{
    if (!info)
        return INVALID;
    if (begun != CUSOLVER_STATUS_SUCCESS)
        return begun;
    aw_solver_array(c, INFO, info, 1, sizeof *info, 0, OUT);
    return aw_solver_submit(c, h, false);
}

/* ---- QR: m n lda. */

static void run_geqrf(struct aw_solver_call *c)
{
    int m = (int)c->n[0], n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "geqrf"), info, &m, &n, c->a[A], &lda, c->a[TAU]);
    *(int *)c->a[INFO] = info;
}

cusolverStatus_t aw_solver_geqrf(cusolverDnHandle_t h, char t, int64_t m, int64_t n, void *a, int64_t lda, void *tau, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_fits(m, 0) || !aw_solver_fits(n, 0) || !aw_solver_ld(lda, m) || (m && n && (!a || !tau)))
        return INVALID;
    if (info && aw_amd_solver(h, t, "geqrf", AW_AMD(m, n, aw_amd_at(a), lda, aw_amd_at(tau)), info, &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDn geqrf", t, "geqrf", run_geqrf);
    c.n[0] = m, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, A, a, m, n, lda, 0, IN_OUT);
    aw_solver_array(&c, TAU, tau, least(m, n), aw_lapack_size(t), 0, OUT);
    return finish(&c, h, status, info);
}

/* The matrix Q of the first k reflectors: m n k lda. */
static void run_orgqr(struct aw_solver_call *c)
{
    int m = (int)c->n[0], n = (int)c->n[1], k = (int)c->n[2], lda = (int)c->n[3], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "orgqr|ungqr"), info, &m, &n, &k, c->a[A], &lda, c->a[TAU]);
    *(int *)c->a[INFO] = info;
}

static bool orgqr_valid(int m, int n, int k, int lda)
{
    return m >= 0 && n >= 0 && n <= m && k >= 0 && k <= n && aw_solver_ld(lda, m);
}

static cusolverStatus_t orgqr(cusolverDnHandle_t h, char t, int m, int n, int k, void *a, int lda, const void *tau, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!orgqr_valid(m, n, k, lda) || (m && n && !a) || (k && !tau))
        return INVALID;
    if (info && aw_amd_solver(h, t, "orgqr|ungqr", AW_AMD(m, n, k, aw_amd_at(a), lda, aw_amd_at(tau)), info, &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDn orgqr", t, "orgqr|ungqr", run_orgqr);
    c.n[0] = m, c.n[1] = n, c.n[2] = k, c.n[3] = lda;
    aw_solver_matrix(&c, A, a, m, n, lda, 0, IN_OUT);
    aw_solver_array(&c, TAU, tau, k, aw_lapack_size(t), 0, IN);
    return finish(&c, h, status, info);
}

/* C times Q from a side: side op m n k lda ldc. */
static void run_ormqr(struct aw_solver_call *c)
{
    char side = "LR"[c->n[0]], op = op_letter(c->t, c->n[1]);
    int m = (int)c->n[2], n = (int)c->n[3], k = (int)c->n[4], lda = (int)c->n[5], ldc = (int)c->n[6], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "ormqr|unmqr"), info, &side, &op, &m, &n, &k, c->a[A], &lda, c->a[TAU], c->a[C], &ldc);
    *(int *)c->a[INFO] = info;
}

static bool ormqr_valid(char t, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k, int lda, int ldc)
{
    int rows = side == CUBLAS_SIDE_LEFT ? m : n;
    return side_valid(side) && op_valid(t, op) && m >= 0 && n >= 0 && k >= 0 && k <= rows && aw_solver_ld(lda, rows) &&
           aw_solver_ld(ldc, m);
}

static cusolverStatus_t ormqr(cusolverDnHandle_t h, char t, cublasSideMode_t side, cublasOperation_t op, int m, int n, int k,
                              const void *a, int lda, const void *tau, void *to, int ldc, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!ormqr_valid(t, side, op, m, n, k, lda, ldc) || (m && n && (!to || (k && (!a || !tau)))))
        return INVALID;
    if (info && aw_amd_solver(h, t, "ormqr|unmqr",
                              AW_AMD(aw_amd_side(side), aw_amd_op(op == CUBLAS_OP_C && !aw_solver_complex(t) ? CUBLAS_OP_T : op),
                                     m, n, k, aw_amd_at(a), lda, aw_amd_at(tau), aw_amd_at(to), ldc),
                              info, &status))
        return status;
    status = aw_solver_begin(&c, "cusolverDn ormqr", t, "ormqr|unmqr", run_ormqr);
    const int64_t numbers[] = { side, op, m, n, k, lda, ldc };
    memcpy(c.n, numbers, sizeof numbers);
    aw_solver_matrix(&c, A, a, side == CUBLAS_SIDE_LEFT ? m : n, k, lda, 0, IN);
    aw_solver_array(&c, TAU, tau, k, aw_lapack_size(t), 0, IN);
    aw_solver_matrix(&c, C, to, m, n, ldc, 0, IN_OUT);
    return finish(&c, h, status, info);
}

#define QR(L, t, T, R)                                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda, T *tau, T *work,       \
                                                     int lwork, int *info)                                                     \
    {                                                                                                                          \
        return aw_solver_geqrf(h, t, m, n, a, lda, tau, info);                                                                 \
    }                                                                                                                          \
    cusolverStatus_t awcusolver_cusolverDn##L##geqrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a, int lda, int *lwork) \
    {                                                                                                                          \
        return aw_solver_lwork(h, m >= 0 && n >= 0, lwork);                                                                    \
    }
AW_FOUR(QR)

#define ORTHOGONAL(L, t, T, orgname, ormname)                                                                                 \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##qr(cusolverDnHandle_t h, int m, int n, int k, T *a, int lda,          \
                                                           const T *tau, T *work, int lwork, int *info)                       \
    {                                                                                                                         \
        return orgqr(h, t, m, n, k, a, lda, tau, info);                                                                       \
    }                                                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##qr_bufferSize(cusolverDnHandle_t h, int m, int n, int k, const T *a,  \
                                                                      int lda, const T *tau, int *lwork)                      \
    {                                                                                                                         \
        return aw_solver_lwork(h, orgqr_valid(m, n, k, m > 1 ? m : 1), lwork); /* whatever lda: cuML has a wrong one here */ \
    }                                                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##ormname##qr(cusolverDnHandle_t h, cublasSideMode_t side, cublasOperation_t op, \
                                                           int m, int n, int k, const T *a, int lda, const T *tau, T *c,      \
                                                           int ldc, T *work, int lwork, int *info)                            \
    {                                                                                                                         \
        return ormqr(h, t, side, op, m, n, k, a, lda, tau, c, ldc, info);                                                     \
    }                                                                                                                         \
    cusolverStatus_t awcusolver_cusolverDn##L##ormname##qr_bufferSize(cusolverDnHandle_t h, cublasSideMode_t side,            \
                                                                      cublasOperation_t op, int m, int n, int k, const T *a,  \
                                                                      int lda, const T *tau, const T *c, int ldc, int *lwork) \
    {                                                                                                                         \
        return aw_solver_lwork(h, ormqr_valid(t, side, op, m, n, k, lda, ldc), lwork);                                        \
    }
ORTHOGONAL(S, 's', float, org, orm)
ORTHOGONAL(D, 'd', double, org, orm)
ORTHOGONAL(C, 'c', cuComplex, ung, unm)
ORTHOGONAL(Z, 'z', cuDoubleComplex, ung, unm)

/* ---- To bidiagonal form: m n lda; and the orthogonal matrices of it: side m n k lda. */

static void run_gebrd(struct aw_solver_call *c)
{
    int m = (int)c->n[0], n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "gebrd"), info, &m, &n, c->a[A], &lda, c->a[D], c->a[E], c->a[TAU], c->a[TAUP]);
    *(int *)c->a[INFO] = info;
}

static cusolverStatus_t gebrd(cusolverDnHandle_t h, char t, int m, int n, void *a, int lda, void *d, void *e, void *tauq,
                              void *taup, int *info)
{
    struct aw_solver_call c;
    int64_t k = least(m, n);
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    /* As documented: not wider than high. */
    if (m < 0 || n < 0 || m < n || !aw_solver_ld(lda, m) || (k && (!a || !d || !tauq || !taup || (k > 1 && !e))))
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn gebrd", t, "gebrd", run_gebrd);
    c.n[0] = m, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, A, a, m, n, lda, 0, IN_OUT);
    aw_solver_array(&c, D, d, k, aw_solver_real_size(t), 0, OUT);
    aw_solver_array(&c, E, e, k ? k - 1 : 0, aw_solver_real_size(t), 0, OUT);
    aw_solver_array(&c, TAU, tauq, k, aw_lapack_size(t), 0, OUT);
    aw_solver_array(&c, TAUP, taup, k, aw_lapack_size(t), 0, OUT);
    return finish(&c, h, status, info);
}

static void run_orgbr(struct aw_solver_call *c)
{
    char vect = "QP"[c->n[0]];
    int m = (int)c->n[1], n = (int)c->n[2], k = (int)c->n[3], lda = (int)c->n[4], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "orgbr|ungbr"), info, &vect, &m, &n, &k, c->a[A], &lda, c->a[TAU]);
    *(int *)c->a[INFO] = info;
}

static bool orgbr_valid(cublasSideMode_t side, int m, int n, int k, int lda)
{
    bool left = side == CUBLAS_SIDE_LEFT;
    return side_valid(side) && m >= 0 && n >= 0 && k >= 0 && aw_solver_ld(lda, m) &&
           (left ? n <= m && n >= least(m, k) : m <= n && m >= least(n, k));
}

static cusolverStatus_t orgbr(cusolverDnHandle_t h, char t, cublasSideMode_t side, int m, int n, int k, void *a, int lda,
                              const void *tau, int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!orgbr_valid(side, m, n, k, lda) || (m && n && (!a || !tau)))
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn orgbr", t, "orgbr|ungbr", run_orgbr);
    c.n[0] = side, c.n[1] = m, c.n[2] = n, c.n[3] = k, c.n[4] = lda;
    aw_solver_matrix(&c, A, a, m, n, lda, 0, IN_OUT);
    aw_solver_array(&c, TAU, tau, least(side == CUBLAS_SIDE_LEFT ? m : n, k), aw_lapack_size(t), 0, IN);
    return finish(&c, h, status, info);
}

/* ---- To tridiagonal form: uplo n lda; the orthogonal matrix of it, and products with it: side uplo op m n lda ldc. */

static void run_sytrd(struct aw_solver_call *c)
{
    char uplo = c->n[0] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
    int n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "sytrd|hetrd"), info, &uplo, &n, c->a[A], &lda, c->a[D], c->a[E], c->a[TAU]);
    *(int *)c->a[INFO] = info;
}

static cusolverStatus_t sytrd(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int n, void *a, int lda, void *d, void *e,
                              void *tau, int *info)
{
    struct aw_solver_call c;
    int64_t k = n > 0 ? n - 1 : 0;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || n < 0 || !aw_solver_ld(lda, n) || (n && (!a || !d)) || (k && (!e || !tau)))
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn sytrd", t, "sytrd|hetrd", run_sytrd);
    c.n[0] = uplo, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, A, a, n, n, lda, 0, IN_OUT);
    aw_solver_array(&c, D, d, n, aw_solver_real_size(t), 0, OUT);
    aw_solver_array(&c, E, e, k, aw_solver_real_size(t), 0, OUT);
    aw_solver_array(&c, TAU, tau, k, aw_lapack_size(t), 0, OUT);
    return finish(&c, h, status, info);
}

static void run_orgtr(struct aw_solver_call *c)
{
    char uplo = c->n[0] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L';
    int n = (int)c->n[1], lda = (int)c->n[2], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "orgtr|ungtr"), info, &uplo, &n, c->a[A], &lda, c->a[TAU]);
    *(int *)c->a[INFO] = info;
}

static cusolverStatus_t orgtr(cusolverDnHandle_t h, char t, cublasFillMode_t uplo, int n, void *a, int lda, const void *tau,
                              int *info)
{
    struct aw_solver_call c;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!aw_solver_uplo(uplo) || n < 0 || !aw_solver_ld(lda, n) || (n && !a) || (n > 1 && !tau))
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn orgtr", t, "orgtr|ungtr", run_orgtr);
    c.n[0] = uplo, c.n[1] = n, c.n[2] = lda;
    aw_solver_matrix(&c, A, a, n, n, lda, 0, IN_OUT);
    aw_solver_array(&c, TAU, tau, n > 0 ? n - 1 : 0, aw_lapack_size(t), 0, IN);
    return finish(&c, h, status, info);
}

static void run_ormtr(struct aw_solver_call *c)
{
    char side = "LR"[c->n[0]], uplo = c->n[1] == CUBLAS_FILL_MODE_UPPER ? 'U' : 'L', op = op_letter(c->t, c->n[2]);
    int m = (int)c->n[3], n = (int)c->n[4], lda = (int)c->n[5], ldc = (int)c->n[6], info = 0;
    AW_WITH_WORK(c, aw_lapack(c->t, "ormtr|unmtr"), info, &side, &uplo, &op, &m, &n, c->a[A], &lda, c->a[TAU], c->a[C], &ldc);
    *(int *)c->a[INFO] = info;
}

static bool ormtr_valid(char t, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op, int m, int n, int lda,
                        int ldc)
{
    return side_valid(side) && aw_solver_uplo(uplo) && op_valid(t, op) && m >= 0 && n >= 0 &&
           aw_solver_ld(lda, side == CUBLAS_SIDE_LEFT ? m : n) && aw_solver_ld(ldc, m);
}

static cusolverStatus_t ormtr(cusolverDnHandle_t h, char t, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op,
                              int m, int n, const void *a, int lda, const void *tau, void *to, int ldc, int *info)
{
    struct aw_solver_call c;
    int64_t k = side == CUBLAS_SIDE_LEFT ? m : n;
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!ormtr_valid(t, side, uplo, op, m, n, lda, ldc) || (m && n && (!a || !to || (k > 1 && !tau))))
        return INVALID;
    status = aw_solver_begin(&c, "cusolverDn ormtr", t, "ormtr|unmtr", run_ormtr);
    const int64_t numbers[] = { side, uplo, op, m, n, lda, ldc };
    memcpy(c.n, numbers, sizeof numbers);
    aw_solver_matrix(&c, A, a, k, k, lda, 0, IN);
    aw_solver_array(&c, TAU, tau, k > 0 ? k - 1 : 0, aw_lapack_size(t), 0, IN);
    aw_solver_matrix(&c, C, to, m, n, ldc, 0, IN_OUT);
    return finish(&c, h, status, info);
}

#define REDUCTIONS(L, t, T, R, orgname, ormname, trd)                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gebrd(cusolverDnHandle_t h, int m, int n, T *a, int lda, R *d, R *e, T *tauq,     \
                                                     T *taup, T *work, int lwork, int *info)                                     \
    {                                                                                                                            \
        return gebrd(h, t, m, n, a, lda, d, e, tauq, taup, info);                                                                \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gebrd_bufferSize(cusolverDnHandle_t h, int m, int n, int *lwork)                  \
    {                                                                                                                            \
        return aw_solver_lwork(h, n >= 0 && m >= n, lwork);                                                                      \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##br(cusolverDnHandle_t h, cublasSideMode_t side, int m, int n, int k,     \
                                                           T *a, int lda, const T *tau, T *work, int lwork, int *info)           \
    {                                                                                                                            \
        return orgbr(h, t, side, m, n, k, a, lda, tau, info);                                                                    \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##br_bufferSize(cusolverDnHandle_t h, cublasSideMode_t side, int m, int n, \
                                                                      int k, const T *a, int lda, const T *tau, int *lwork)      \
    {                                                                                                                            \
        return aw_solver_lwork(h, orgbr_valid(side, m, n, k, lda), lwork);                                                       \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##trd(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda, R *d,      \
                                                   R *e, T *tau, T *work, int lwork, int *info)                                  \
    {                                                                                                                            \
        return sytrd(h, t, uplo, n, a, lda, d, e, tau, info);                                                                    \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##trd##_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, const T *a,  \
                                                                int lda, const R *d, const R *e, const T *tau, int *lwork)       \
    {                                                                                                                            \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                        \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##tr(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T *a, int lda,    \
                                                           const T *tau, T *work, int lwork, int *info)                          \
    {                                                                                                                            \
        return orgtr(h, t, uplo, n, a, lda, tau, info);                                                                          \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##orgname##tr_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo, int n,        \
                                                                      const T *a, int lda, const T *tau, int *lwork)             \
    {                                                                                                                            \
        return aw_solver_lwork(h, aw_solver_uplo(uplo) && n >= 0, lwork);                                                        \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##ormname##tr(cusolverDnHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,   \
                                                           cublasOperation_t op, int m, int n, T *a, int lda, T *tau, T *c,      \
                                                           int ldc, T *work, int lwork, int *info)                               \
    {                                                                                                                            \
        return ormtr(h, t, side, uplo, op, m, n, a, lda, tau, c, ldc, info);                                                     \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##ormname##tr_bufferSize(                                                           \
        cusolverDnHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t op, int m, int n, const T *a,      \
        int lda, const T *tau, const T *c, int ldc, int *lwork)                                                                  \
    {                                                                                                                            \
        return aw_solver_lwork(h, ormtr_valid(t, side, uplo, op, m, n, lda, ldc), lwork);                                        \
    }
REDUCTIONS(S, 's', float, float, org, orm, sytrd)
REDUCTIONS(D, 'd', double, double, org, orm, sytrd)
REDUCTIONS(C, 'c', cuComplex, float, ung, unm, hetrd)
REDUCTIONS(Z, 'z', cuDoubleComplex, double, ung, unm, hetrd)
