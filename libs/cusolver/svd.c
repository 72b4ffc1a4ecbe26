/* Singular values: see eigen.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"
#include "eigen.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { IN = AW_SOLVER_IN, OUT = AW_SOLVER_OUT, IN_OUT = AW_SOLVER_IN_OUT };
enum { A, S, U, V, INFO };

/* The job: what there was to say of it, with addresses as they are while it runs. */
struct svd_call {
    struct aw_solver_call c;
    struct aw_solver_svd p;
    struct aw_solver_report *report; /* owned, or NULL */
};

/* What LAPACK wrote of one item. */
struct item {
    char *a, *s, *u, *v;
    int64_t ldu, ldv;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Columns of U, or rows of V^H, that a job asks for. */
static int64_t columns(signed char job, int64_t full, int64_t few)
{
    return job == 'A' ? full : job == 'S' ? few : 0;
}

/* With the same job for both, by divide and conquer, else by QR. */
static int compute(struct aw_solver_call *c, const struct aw_solver_svd *p, const struct item *x)
{
    char jobu = p->jobu, jobv = p->jobv;
    int m = (int)p->m, n = (int)p->n, lda = (int)p->lda, ldu = (int)x->ldu, ldv = (int)x->ldv, info = 0, lwork = -1;
    bool two_parts = aw_solver_complex(c->t), fast = jobu == jobv && jobu != 'O';
    int64_t few = least(m, n), many = m > n ? m : n, rsize = fast ? few * 5 * (few + 1) + 2 * few * many + few : 5 * few;
    double query[2] = { 0 };
    aw_fortran f = aw_lapack(c->t, fast ? "gesdd" : "gesvd");
    void *rwork = aw_solver_work(c, rsize, aw_solver_real_size(c->t)), *work = NULL;
    int *iwork = aw_solver_work(c, 8 * few, sizeof *iwork);
    if (!rwork || !iwork)
        info = AW_SOLVER_NO_MEMORY;
    for (int k = 0; k < 2 && info == 0; k++) {
        void *pw = k ? work : query;
        if (fast && two_parts)
            f(&jobu, &m, &n, x->a, &lda, x->s, x->u, &ldu, x->v, &ldv, pw, &lwork, rwork, iwork, &info, AW_ENDS);
        else if (fast)
            f(&jobu, &m, &n, x->a, &lda, x->s, x->u, &ldu, x->v, &ldv, pw, &lwork, iwork, &info, AW_ENDS);
        else if (two_parts)
            f(&jobu, &jobv, &m, &n, x->a, &lda, x->s, x->u, &ldu, x->v, &ldv, pw, &lwork, rwork, &info, AW_ENDS);
        else
            f(&jobu, &jobv, &m, &n, x->a, &lda, x->s, x->u, &ldu, x->v, &ldv, pw, &lwork, &info, AW_ENDS);
        if (k == 0) {
            lwork = aw_solver_query(c->t, query);
            work = aw_solver_work(c, lwork, aw_lapack_size(c->t));
            info = info == 0 && !work ? AW_SOLVER_NO_MEMORY : info;
        }
    }
    free(work);
    free(rwork);
    free(iwork);
    return info;
}

/* The first columns of U and V, from what LAPACK wrote beside them. */
static void copy_out(const struct aw_solver_svd *p, char t, const struct item *x, char *u, char *v, int64_t cols_u,
                     int64_t cols_v)
{
    size_t size = aw_lapack_size(t), half = size / 2;
    for (int64_t j = 0; j < cols_u; j++)
        memcpy(u + (size_t)(j * p->ldu) * size, x->u + (size_t)(j * x->ldu) * size, (size_t)p->m * size);
    for (int64_t j = 0; j < cols_v; j++)
        for (int64_t i = 0; i < p->n; i++) {
            char *to = v + (size_t)(i + j * p->ldv) * size;
            memcpy(to, x->v + (size_t)(j + i * x->ldv) * size, size);
            if (t == 'c')
                *(float *)(to + half) = -*(float *)(to + half);
            else if (t == 'z')
                *(double *)(to + half) = -*(double *)(to + half);
        }
}

/* Frobenius norm of A - U S V^H, of which x has U and V^H. */
static double residual(const struct aw_solver_call *c, const struct aw_solver_svd *p, const char *a, const struct item *x,
                       int64_t rank)
{
    size_t size = aw_lapack_size(c->t);
    char *r = aw_solver_work(c, p->m * p->n, size);
    for (int64_t j = 0; r && j < p->n; j++)
        memcpy(r + (size_t)(j * p->m) * size, a + (size_t)(j * p->lda) * size, (size_t)p->m * size);
    double norm = r ? aw_solver_residual(c, r, (int)p->m, (int)p->n, (int)rank, x->u, (int)x->ldu, x->s, x->v, (int)x->ldv, false)
                    : NAN;
    free(r);
    return norm;
}

/* One item by way of memory beside the program's, as V is to be transposed, cut, or A kept. */
static int aside(struct svd_call *d, char *a, char *s, char *u, char *v, double *ret_residual)
{
    const struct aw_solver_svd *p = &d->p;
    struct aw_solver_call *c = &d->c;
    size_t size = aw_lapack_size(c->t), real = aw_solver_real_size(c->t);
    int64_t few = least(p->m, p->n), cols_u = columns(p->jobu, p->m, few), rows_v = columns(p->jobv, p->n, few),
            rank = p->rank ? p->rank : few;
    struct item x = {
        aw_solver_work(c, p->lda * p->n, size), aw_solver_work(c, few, real), aw_solver_work(c, p->m * cols_u, size),
        aw_solver_work(c, rows_v * p->n, size), p->m > 1 ? p->m : 1,          rows_v > 1 ? rows_v : 1
    };
    int info = x.a && x.s && x.u && x.v ? 0 : AW_SOLVER_NO_MEMORY;
    for (int64_t j = 0; info == 0 && j < p->n; j++)
        memcpy(x.a + (size_t)(j * p->lda) * size, a + (size_t)(j * p->lda) * size, (size_t)p->m * size);
    if (info == 0)
        info = compute(c, p, &x);
    if (info >= 0) {
        memcpy(s, x.s, (size_t)rank * real);
        copy_out(p, c->t, &x, u, v, p->rank ? least(rank, cols_u) : cols_u, p->rank ? least(rank, rows_v) : rows_v);
    }
    if (info == 0 && ret_residual)
        *ret_residual = cols_u && rows_v ? residual(c, p, a, &x, rank) : NAN;
    free(x.a);
    free(x.s);
    free(x.u);
    free(x.v);
    return info;
}

static void run(struct aw_solver_call *c)
{
    struct svd_call *d = (struct svd_call *)c;
    const struct aw_solver_svd *p = &d->p;
    size_t size = aw_lapack_size(c->t), real = aw_solver_real_size(c->t);
    int64_t few = least(p->m, p->n);
    for (int64_t i = 0; i < c->batch; i++) {
        char *a = (char *)c->a[A] + (size_t)(i * p->stride_a) * size, *s = (char *)c->a[S] + (size_t)(i * p->stride_s) * real;
        char *u = (char *)c->a[U] + (size_t)(i * p->stride_u) * size, *v = (char *)c->a[V] + (size_t)(i * p->stride_v) * size;
        double left = NAN;
        int info;
        if (p->vectors_v || p->keeps_a || p->rank)
            info = aside(d, a, s, u, v, p->residual ? p->residual + i : d->report ? &left : NULL);
        else
            info = compute(c, p, &(struct item){ a, s, u, v, p->ldu, p->ldv });
        /* LAPACK counts a NaN among wrong arguments: it is a matrix whose values are not found. */
        if (info == -4 || info == -6) {
            info = (int)few + 1;
            memset(s, 0xff, (size_t)(p->rank ? p->rank : few) * real);
        }
        ((int *)c->a[INFO])[i] = info;
        if (d->report)
            aw_solver_report_put(d->report, left);
    }
}

static void forget(struct aw_lib_job *job)
{
    aw_solver_report_drop(((struct svd_call *)job)->report);
}

static bool job_valid(signed char job)
{
    return job == 'A' || job == 'S' || job == 'O' || job == 'N';
}

cusolverStatus_t aw_solver_svd(cusolverDnHandle_t h, const struct aw_solver_svd *p)
{
    struct svd_call d;
    int64_t few = least(p->m, p->n), cols_u = columns(p->jobu, p->m, few), rows_v = columns(p->jobv, p->n, few);
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!job_valid(p->jobu) || !job_valid(p->jobv) || (p->jobu == 'O' && p->jobv == 'O') || !aw_solver_fits(p->m, 0) ||
        !aw_solver_fits(p->n, 0) || !aw_solver_ld(p->lda, p->m) || p->batch < 0 || p->rank < 0 || p->rank > few)
        return INVALID;
    if ((cols_u && !aw_solver_ld(p->ldu, p->m)) || (rows_v && !aw_solver_ld(p->ldv, p->vectors_v ? p->n : rows_v)) ||
        p->ldu < 1 || p->ldv < 1)
        return INVALID;
    if (!p->info || (few && (!p->a || !p->s || (cols_u && !p->u) || (rows_v && !p->v))))
        return INVALID;
    status = aw_solver_begin(&d.c, p->name, p->t, "gesdd", run);
    if (status != CUSOLVER_STATUS_SUCCESS || p->batch == 0)
        return status;
    d.c.job.size = sizeof d;
    d.c.job.forget = forget;
    d.p = *p;
    d.report = aw_solver_report_take(p->settings);
    d.c.batch = p->batch;
    int64_t u = p->rank ? least(p->rank, cols_u) : cols_u, v = p->rank ? least(p->rank, rows_v) : rows_v;
    aw_solver_matrix(&d.c, A, p->a, p->m, p->n, p->lda, p->stride_a, p->keeps_a ? IN : IN_OUT);
    aw_solver_array(&d.c, S, p->s, p->rank ? p->rank : few, aw_solver_real_size(p->t), p->stride_s, OUT);
    aw_solver_matrix(&d.c, U, u ? p->u : NULL, p->m, u, p->ldu, p->stride_u, OUT);
    aw_solver_matrix(&d.c, V, v ? p->v : NULL, p->vectors_v ? p->n : v, p->vectors_v ? v : p->n, p->ldv, p->stride_v, OUT);
    d.c.batch = 1;
    aw_solver_array(&d.c, INFO, p->info, p->batch, sizeof *p->info, 0, OUT);
    d.c.batch = p->batch;
    return aw_solver_submit(&d.c, h, p->residual != NULL);
}

/* ---- The interface of each type. */

static signed char upper(signed char job)
{
    return (signed char)toupper((unsigned char)job);
}

static cusolverStatus_t jacobi(cusolverDnHandle_t h, const char *name, char t, cusolverEigMode_t mode, bool economic, int m,
                               int n, void *a, int lda, void *s, void *u, int ldu, void *v, int ldv, int *info, int batch,
                               struct gesvdjInfo *params)
{
    int64_t few = least(m, n), cols = economic ? few : m, rows = economic ? few : n;
    signed char job = mode == CUSOLVER_EIG_MODE_NOVECTOR ? 'N' : economic ? 'S' : 'A';
    if (!aw_solver_mode(mode))
        return aw_solver_handle_check(h) == CUSOLVER_STATUS_SUCCESS ? INVALID : CUSOLVER_STATUS_NOT_INITIALIZED;
    return aw_solver_svd(h, &(struct aw_solver_svd){
                                name,       t, job, job,        m,    n,    0,    a,     lda,  (int64_t)lda * n, s, few, u, ldu,
                                ldu * cols, v, ldv, ldv * rows, true, info, NULL, batch, false,
                                params ? &params->settings : NULL });
}

static bool jacobi_valid(cusolverEigMode_t mode, int m, int n)
{
    return aw_solver_mode(mode) && m >= 0 && n >= 0;
}

/* As documented: up to 32 rows and columns in a batch. */
static bool small(int m, int n)
{
    return m <= 32 && n <= 32;
}

cusolverStatus_t aw_solver_gesvd(cusolverDnHandle_t h, const char *name, char t, signed char jobu, signed char jobvt, int64_t m,
                                 int64_t n, void *a, int64_t lda, void *s, void *u, int64_t ldu, void *vt, int64_t ldvt,
                                 int *info)
{
    cusolverStatus_t status = aw_solver_handle_check(h);
    if (status != CUSOLVER_STATUS_SUCCESS || m < n) /* as documented: not wider than high */
        return status != CUSOLVER_STATUS_SUCCESS ? status : INVALID;
    return aw_solver_svd(h, &(struct aw_solver_svd){ .name = name, .t = t, .jobu = upper(jobu), .jobv = upper(jobvt), .m = m,
                                                     .n = n, .a = a, .lda = lda, .s = s, .u = u, .ldu = ldu, .v = vt, .ldv = ldvt,
                                                     .info = info, .batch = 1 });
}

#define JHEAD cusolverDnHandle_t h, cusolverEigMode_t mode
#define SVD(L, t, T, R)                                                                                                          \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvd(cusolverDnHandle_t h, signed char jobu, signed char jobvt, int m, int n,    \
                                                     T *a, int lda, R *s, T *u, int ldu, T *vt, int ldvt, T *work, int lwork,    \
                                                     R *rwork, int *info)                                                        \
    {                                                                                                                            \
        return aw_solver_gesvd(h, "cusolverDn" #L "gesvd", t, jobu, jobvt, m, n, a, lda, s, u, ldu, vt, ldvt, info);             \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvd_bufferSize(cusolverDnHandle_t h, int m, int n, int *lwork)                  \
    {                                                                                                                            \
        return aw_solver_lwork(h, n >= 0 && m >= n, lwork);                                                                      \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdj(JHEAD, int econ, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v,   \
                                                      int ldv, T *work, int lwork, int *info, gesvdjInfo_t params)               \
    {                                                                                                                            \
        return jacobi(h, "cusolverDn" #L "gesvdj", t, mode, econ != 0, m, n, a, lda, s, u, ldu, v, ldv, info, 1, params);        \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdj_bufferSize(JHEAD, int econ, int m, int n, const T *a, int lda, const R *s, \
                                                                 const T *u, int ldu, const T *v, int ldv, int *lwork,           \
                                                                 gesvdjInfo_t params)                                            \
    {                                                                                                                            \
        return aw_solver_lwork(h, jacobi_valid(mode, m, n), lwork);                                                              \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdjBatched(JHEAD, int m, int n, T *a, int lda, R *s, T *u, int ldu, T *v,      \
                                                             int ldv, T *work, int lwork, int *info, gesvdjInfo_t params,        \
                                                             int batch)                                                          \
    {                                                                                                                            \
        if (aw_solver_handle_check(h) == CUSOLVER_STATUS_SUCCESS && !small(m, n))                                                \
            return INVALID;                                                                                                      \
        return jacobi(h, "cusolverDn" #L "gesvdjBatched", t, mode, false, m, n, a, lda, s, u, ldu, v, ldv, info, batch, NULL);   \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdjBatched_bufferSize(JHEAD, int m, int n, const T *a, int lda, const R *s,    \
                                                                        const T *u, int ldu, const T *v, int ldv, int *lwork,    \
                                                                        gesvdjInfo_t params, int batch)                          \
    {                                                                                                                            \
        return aw_solver_lwork(h, jacobi_valid(mode, m, n) && small(m, n) && batch >= 0, lwork);                                 \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdaStridedBatched(                                                             \
        JHEAD, int rank, int m, int n, const T *a, int lda, long long int stride_a, R *s, long long int stride_s, T *u, int ldu, \
        long long int stride_u, T *v, int ldv, long long int stride_v, T *work, int lwork, int *info, double *residuals,         \
        int batch)                                                                                                               \
    {                                                                                                                            \
        signed char job = mode == CUSOLVER_EIG_MODE_VECTOR ? 'S' : 'N';                                                          \
        if (aw_solver_handle_check(h) == CUSOLVER_STATUS_SUCCESS && (!aw_solver_mode(mode) || m < n || rank < 1))                \
            return INVALID;                                                                                                      \
        return aw_solver_svd(h, &(struct aw_solver_svd){ "cusolverDn" #L "gesvdaStridedBatched",                                 \
                                                         t,                                                                      \
                                                         job,                                                                    \
                                                         job,                                                                    \
                                                         m,                                                                      \
                                                         n,                                                                      \
                                                         rank,                                                                   \
                                                         (void *)a,                                                              \
                                                         lda,                                                                    \
                                                         stride_a,                                                               \
                                                         s,                                                                      \
                                                         stride_s,                                                               \
                                                         u,                                                                      \
                                                         ldu,                                                                    \
                                                         stride_u,                                                               \
                                                         v,                                                                      \
                                                         ldv,                                                                    \
                                                         stride_v,                                                               \
                                                         true,                                                                   \
                                                         info,                                                                   \
                                                         residuals,                                                              \
                                                         batch,                                                                  \
                                                         true });                                                                \
    }                                                                                                                            \
    cusolverStatus_t awcusolver_cusolverDn##L##gesvdaStridedBatched_bufferSize(                                                  \
        JHEAD, int rank, int m, int n, const T *a, int lda, long long int stride_a, const R *s, long long int stride_s,          \
        const T *u, int ldu, long long int stride_u, const T *v, int ldv, long long int stride_v, int *lwork, int batch)         \
    {                                                                                                                            \
        return aw_solver_lwork(h, jacobi_valid(mode, m, n) && m >= n && rank >= 1 && rank <= n && batch >= 0, lwork);            \
    }
AW_FOUR(SVD)
