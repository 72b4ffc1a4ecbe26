/* cuBLAS's batches of small systems: factors, solutions and inverses by LAPACK, one matrix after the other.  On a card each is a
 * call by itself, on copies. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublas"
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/blas.h"
#include "common/queue.h"
#include "cublas_proto.h"
#include "handle.h"

enum what { GETRF, GETRI, GETRS, GEQRF, GELS, MATINV, N_WHAT };
enum span { A, B, PIVOTS, INFO, N_SPANS };
enum { LARGEST_INVERSE = 32 }; /* of cublas<t>matinvBatched */

/* A matrix of the batch, in elements. */
struct matrix {
    int rows, cols, ld;
    unsigned dir;
};

struct batch {
    struct aw_lib_job job; /* spans: arrays of pointers, or for one matrix of a card the matrices; the pivots of all, or of one;
                            * so info */
    enum what what;
    char type;
    cublasOperation_t trans;
    int m, n, nrhs;
    struct matrix matrix[2];
    int count;   /* how many; -1: one matrix, whose address is the span's */
    bool pivots; /* are there any? */
};

/* ---- LAPACK */

static const char *const names[N_WHAT] = { "getrf", "getri", "getrs", "geqrf", "gels", NULL };

static aw_fortran find(char type, enum what what)
{
    return aw_lapack(type, names[what]);
}

/* How large a workspace LAPACK asks for, in elements: it says so in the first, as a number of the type. */
static int asked(char type, const void *work)
{
    double size = type == 's' || type == 'c' ? (double)*(const float *)work : *(const double *)work;
    return size < 1 ? 1 : (int)size;
}

/* The factors without exchanges of rows, as cuBLAS makes them where no pivots are asked for; the first pivot that is 0, from 1
 * on. */
#define FACTOR(name, T)                                             \
    static int name(int n, T *a, int64_t ld)                        \
    {                                                               \
        int singular = 0;                                           \
        for (int k = 0; k < n; k++) {                               \
            if (a[k + k * ld] == 0) {                               \
                singular = singular ? singular : k + 1;             \
                continue;                                           \
            }                                                       \
            for (int i = k + 1; i < n; i++)                         \
                a[i + k * ld] /= a[k + k * ld];                     \
            for (int j = k + 1; j < n; j++)                         \
                for (int i = k + 1; i < n; i++)                     \
                    a[i + j * ld] -= a[i + k * ld] * a[k + j * ld]; \
        }                                                           \
        return singular;                                            \
    }
FACTOR(factor_s, float)
FACTOR(factor_d, double)
FACTOR(factor_c, float _Complex)
FACTOR(factor_z, double _Complex)

static int factor(const struct batch *c, void *a, int ld, int *pivots)
{
    int info = 0;
    if (pivots) {
        find(c->type, GETRF)((int[]){ c->n }, &c->n, a, &ld, pivots, &info);
        return info;
    }
    switch (c->type) {
    case 's': return factor_s(c->n, a, ld);
    case 'd': return factor_d(c->n, a, ld);
    case 'c': return factor_c(c->n, a, ld);
    default: return factor_z(c->n, a, ld);
    }
}

static void copy(const struct batch *c, const void *from, int from_ld, void *to, int to_ld)
{
    size_t size = aw_lapack_size(c->type);
    for (int j = 0; j < c->n; j++)
        memcpy((char *)to + (size_t)j * (size_t)to_ld * size, (const char *)from + (size_t)j * (size_t)from_ld * size,
               (size_t)c->n * size);
}

/* The inverse of a singular matrix: numbers that are none, by which programs find it that do not look at info (CuPy's cond). */
static void spoil(const struct batch *c, void *to, int ld)
{
    bool wide = c->type == 'd' || c->type == 'z';
    int parts = c->type == 'c' || c->type == 'z' ? 2 : 1;
    for (int j = 0; j < c->n; j++)
        for (int64_t i = (int64_t)j * ld * parts, end = i + (int64_t)c->n * parts; i < end; i++)
            if (wide)
                ((double *)to)[i] = NAN;
            else
                ((float *)to)[i] = NAN;
}

/* Calls LAPACK twice: for the size of its workspace, which is left for the next matrix, and with it.  Memory being out is -1. */
#define WITH_WORK(c, work, size, info, ...)                                                                           \
    do {                                                                                                              \
        char first[16];                                                                                               \
        int query = -1;                                                                                               \
        if (!*(work)) {                                                                                               \
            find((c)->type, (c)->what == MATINV ? GETRI : (c)->what)(__VA_ARGS__, first, &query, &(info), AW_ENDS);   \
            *(size) = asked((c)->type, first);                                                                        \
            *(work) = malloc((size_t) * (size)*aw_lapack_size((c)->type));                                            \
        }                                                                                                             \
        if (*(work))                                                                                                  \
            find((c)->type, (c)->what == MATINV ? GETRI : (c)->what)(__VA_ARGS__, *(work), (size), &(info), AW_ENDS); \
        else                                                                                                          \
            (info) = -1;                                                                                              \
    } while (0)

/* One matrix: `p` in the order of the spans.  What info of it is. */
static int do_one(const struct batch *c, void *const p[N_SPANS], int *identity, void **work, int *work_size)
{
    int *pivots = c->pivots ? p[PIVOTS] : c->what == GETRF ? NULL : identity, info = 0;
    const int *lda = &c->matrix[A].ld, *ldb = &c->matrix[B].ld;
    char trans = "NTC"[c->trans];
    switch (c->what) {
    case GETRF:
        return factor(c, p[A], *lda, pivots);
    case GETRS:
        find(c->type, GETRS)(&trans, &c->n, &c->nrhs, p[A], lda, pivots, p[B], ldb, &info, AW_ENDS);
        return info;
    case MATINV:
    case GETRI:
        copy(c, p[A], *lda, p[B], *ldb);
        if (c->what == MATINV)
            info = factor(c, p[B], *ldb, identity);
        if (!info)
            WITH_WORK(c, work, work_size, info, (int[]){ c->n }, p[B], ldb, pivots);
        if (info > 0)
            spoil(c, p[B], *ldb);
        return info;
    case GEQRF:
        WITH_WORK(c, work, work_size, info, (int[]){ c->m }, &c->n, p[A], lda, p[B]);
        return info;
    default:
        WITH_WORK(c, work, work_size, info, &trans, &c->m, &c->n, &c->nrhs, p[A], lda, p[B], ldb);
        return info;
    }
}

static void run(struct aw_lib_job *job)
{
    const struct batch *c = (const struct batch *)job;
    const struct aw_lib_span *s = job->spans;
    void *work = NULL;
    int work_size = 0, *identity = malloc((size_t)(c->n ? c->n : 1) * sizeof *identity);
    for (int b = 0; identity && b < (c->count < 0 ? 1 : c->count); b++) {
        void *p[N_SPANS];
        for (int i = A; i <= B; i++)
            p[i] = c->count < 0 ? s[i].at : s[i].at ? ((void **)s[i].at)[b] : NULL;
        p[PIVOTS] = c->pivots ? (int *)s[PIVOTS].at + (size_t)b * (size_t)c->n : NULL;
        for (int i = 0; i < c->n; i++)
            identity[i] = i + 1;
        int info = do_one(c, p, identity, &work, &work_size);
        if (s[INFO].at)
            ((int *)s[INFO].at)[b] = info;
    }
    if (!identity)
        aw_say(BATCH_MEMORY, c->n);
    free(identity);
    free(work);
}

/* ---- Calls */

static struct aw_lib_span span(void *at, size_t width, size_t rows, size_t pitch, unsigned dir)
{
    return (struct aw_lib_span){ at, width, at ? rows : 0, pitch, 1, 0, dir };
}

/* On a card the arrays of pointers are read first, which takes waiting for the stream. */
static cublasStatus_t each(struct batch *c, cublasHandle_t handle, void *const at[N_SPANS])
{
    size_t bytes = (size_t)c->count * sizeof(void *), size = aw_lapack_size(c->type);
    void **pointers = malloc(2 * bytes);
    CUresult result = pointers ? CUDA_SUCCESS : AW_LIB_NO_MEMORY;
    int count = c->count, status;
    for (int i = A; i <= B && result == CUDA_SUCCESS; i++)
        if (at[i])
            result = aw_lib_read(&handle->queue, pointers + i * count, at[i], bytes);
    c->count = -1;
    for (int b = 0; b < count && result == CUDA_SUCCESS; b++) {
        for (int i = A; i <= B; i++) {
            const struct matrix *m = &c->matrix[i];
            c->job.spans[i] = span(at[i] ? pointers[i * count + b] : NULL, (size_t)m->rows * size, (size_t)m->cols,
                                   (size_t)m->ld * size, m->dir);
        }
        c->job.spans[PIVOTS] = span(c->pivots ? (int *)at[PIVOTS] + (size_t)b * (size_t)c->n : NULL, (size_t)c->n * sizeof(int),
                                    1, 0, c->what == GETRF ? AW_LIB_OUT : AW_LIB_IN);
        c->job.spans[INFO] = span(at[INFO] ? (int *)at[INFO] + b : NULL, sizeof(int), 1, 0, AW_LIB_OUT);
        result = aw_lib_submit(&handle->queue, &c->job, AW_LIB_QUEUED, &status);
    }
    free(pointers);
    return aw_blas_status(result);
}

/* `at` in the order of the spans: arrays of pointers, pivots of all, info of all (NULL: none). */
static cublasStatus_t submit(struct batch *c, cublasHandle_t handle, void *const at[N_SPANS])
{
    int status;
    for (int i = 0; i < N_WHAT; i++)
        if ((i == (int)c->what || (c->what == MATINV && (i == GETRF || i == GETRI))) && names[i] && !find(c->type, (enum what)i))
            return CUBLAS_STATUS_NOT_SUPPORTED;
    c->job.run = run;
    c->job.size = sizeof *c;
    c->job.n_spans = N_SPANS;
    c->pivots = at[PIVOTS] != NULL;
    if (handle->queue.place == AW_LIB_CARD)
        return each(c, handle, at);
    for (int i = 0; i < N_SPANS; i++)
        c->job.spans[i] = span(at[i], (size_t)c->count * (i < PIVOTS ? sizeof(void *) : sizeof(int)), 1, 0,
                               AW_LIB_IN | AW_LIB_OUT);
    return aw_blas_status(aw_lib_submit(&handle->queue, &c->job, AW_LIB_QUEUED, &status));
}

/* How cuBLAS says which argument is wrong: the number, negative, where the program keeps it on the host, and the status. */
static cublasStatus_t wrong(int *ret_info, int argument)
{
    if (ret_info)
        *ret_info = -argument;
    return argument ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

static bool ld_ok(int ld, int rows)
{
    return ld >= 1 && ld >= rows;
}

static cublasStatus_t getrf(cublasHandle_t h, char type, int n, void *a, int lda, int *pivots, int *info, int count)
{
    struct batch c = {
        .what = GETRF, .type = type, .m = n, .n = n, .count = count, .matrix = { { n, n, lda, AW_LIB_IN | AW_LIB_OUT } }
    };
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (n < 0 || count < 0 || !ld_ok(lda, n) || (count && (!a || !info)))
        return CUBLAS_STATUS_INVALID_VALUE;
    return count ? submit(&c, h, (void *const[]){ a, NULL, pivots, info }) : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t getri(cublasHandle_t h, enum what what, char type, int n, const void *a, int lda, const int *pivots,
                            void *inverse, int ldc, int *info, int count)
{
    struct batch c = { .what = what, .type = type, .m = n, .n = n, .count = count,
                       .matrix = { { n, n, lda, AW_LIB_IN }, { n, n, ldc, AW_LIB_OUT } } };
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (n < 0 || count < 0 || !ld_ok(lda, n) || !ld_ok(ldc, n) || (count && (!a || !inverse || !info)) ||
        (what == MATINV && n > LARGEST_INVERSE))
        return CUBLAS_STATUS_INVALID_VALUE;
    return count ? submit(&c, h, (void *const[]){ (void *)(uintptr_t)a, inverse, (int *)(uintptr_t)pivots, info })
                 : CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t getrs(cublasHandle_t h, char type, cublasOperation_t trans, int n, int nrhs, const void *a, int lda,
                            const int *pivots, void *b, int ldb, int *ret_info, int count)
{
    struct batch c = { .what = GETRS, .type = type, .trans = trans, .m = n, .n = n, .nrhs = nrhs, .count = count,
                       .matrix = { { n, n, lda, AW_LIB_IN }, { n, nrhs, ldb, AW_LIB_IN | AW_LIB_OUT } } };
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    status = wrong(ret_info, (unsigned)trans > CUBLAS_OP_C ? 1 : n < 0 ? 2 : nrhs < 0 ? 3 : count && !a ? 4 : !ld_ok(lda, n) ? 5
                             : count && !b ? 7 : !ld_ok(ldb, n) ? 8 : count < 0 ? 10 : 0);
    if (status != CUBLAS_STATUS_SUCCESS || !count)
        return status;
    return submit(&c, h, (void *const[]){ (void *)(uintptr_t)a, b, (int *)(uintptr_t)pivots, NULL });
}

static cublasStatus_t geqrf(cublasHandle_t h, char type, int m, int n, void *a, int lda, void *tau, int *ret_info, int count)
{
    int k = m < n ? m : n;
    struct batch c = { .what = GEQRF, .type = type, .m = m, .n = n, .count = count,
                       .matrix = { { m, n, lda, AW_LIB_IN | AW_LIB_OUT }, { k, 1, k, AW_LIB_OUT } } };
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    bool any = count && k; /* empty matrices need not have addresses, as PyTorch's have not */
    status = wrong(ret_info, m < 0 ? 1 : n < 0 ? 2 : any && !a ? 3 : !ld_ok(lda, m) ? 4 : any && !tau ? 5 : count < 0 ? 7 : 0);
    return status != CUBLAS_STATUS_SUCCESS || !any ? status : submit(&c, h, (void *const[]){ a, tau, NULL, NULL });
}

/* cuBLAS has the plain, overdetermined problem alone. */
static cublasStatus_t gels(cublasHandle_t h, char type, cublasOperation_t trans, int m, int n, int nrhs, void *a, int lda,
                           void *b, int ldb, int *ret_info, int *infos, int count)
{
    struct batch c = { .what = GELS, .type = type, .trans = trans, .m = m, .n = n, .nrhs = nrhs, .count = count,
                       .matrix = { { m, n, lda, AW_LIB_IN | AW_LIB_OUT }, { m, nrhs, ldb, AW_LIB_IN | AW_LIB_OUT } } };
    cublasStatus_t status = aw_blas_handle_check(h);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    status = wrong(ret_info,
                   (unsigned)trans > CUBLAS_OP_C ? 1 : m < 0 ? 2 : n < 0 ? 3 : nrhs < 0 ? 4 : count && !a ? 5 : !ld_ok(lda, m) ? 6
                             : count && !b ? 7 : !ld_ok(ldb, m) ? 8 : count < 0 ? 11 : 0);
    if (status != CUBLAS_STATUS_SUCCESS || !count)
        return status;
    if (trans != CUBLAS_OP_N || m < n)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    return submit(&c, h, (void *const[]){ a, b, NULL, infos });
}

/* ---- The interface of each type */

#define TYPE(L, t, T)                                                                                                            \
    cublasStatus_t awcublas_cublas##L##getrfBatched(cublasHandle_t h, int n, T **a, int lda, int *p, int *info, int count)       \
    {                                                                                                                            \
        return getrf(h, t, n, a, lda, p, info, count);                                                                           \
    }                                                                                                                            \
    cublasStatus_t awcublas_cublas##L##getriBatched(cublasHandle_t h, int n, const T **a, int lda, const int *p, T **c, int ldc, \
                                                    int *info, int count)                                                        \
    {                                                                                                                            \
        return getri(h, GETRI, t, n, a, lda, p, c, ldc, info, count);                                                            \
    }                                                                                                                            \
    cublasStatus_t awcublas_cublas##L##matinvBatched(cublasHandle_t h, int n, const T **a, int lda, T **c, int ldc, int *info,   \
                                                     int count)                                                                  \
    {                                                                                                                            \
        return getri(h, MATINV, t, n, a, lda, NULL, c, ldc, info, count);                                                        \
    }                                                                                                                            \
    cublasStatus_t awcublas_cublas##L##getrsBatched(cublasHandle_t h, cublasOperation_t trans, int n, int nrhs, const T **a,     \
                                                    int lda, const int *p, T **b, int ldb, int *info, int count)                 \
    {                                                                                                                            \
        return getrs(h, t, trans, n, nrhs, a, lda, p, b, ldb, info, count);                                                      \
    }                                                                                                                            \
    cublasStatus_t awcublas_cublas##L##geqrfBatched(cublasHandle_t h, int m, int n, T **a, int lda, T **tau, int *info,          \
                                                    int count)                                                                   \
    {                                                                                                                            \
        return geqrf(h, t, m, n, a, lda, tau, info, count);                                                                      \
    }                                                                                                                            \
    cublasStatus_t awcublas_cublas##L##gelsBatched(cublasHandle_t h, cublasOperation_t trans, int m, int n, int nrhs, T **a,     \
                                                   int lda, T **c, int ldc, int *info, int *infos, int count)                    \
    {                                                                                                                            \
        return gels(h, t, trans, m, n, nrhs, a, lda, c, ldc, info, infos, count);                                                \
    }
TYPE(S, 's', float)
TYPE(D, 'd', double)
TYPE(C, 'c', cuComplex)
TYPE(Z, 'z', cuDoubleComplex)
