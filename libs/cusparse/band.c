/* Tridiagonal and pentadiagonal systems, by LAPACK's solver for bands, which exchanges rows where that is needed: so do those
 * functions that do not have to. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <stdlib.h>
#include <string.h>

#include "common/blas.h"
#include "cusparse_proto.h"
#include "legacy.h"
#include "view.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
enum { DIAGONALS = 5, IN = AW_LIB_IN, IN_OUT = AW_LIB_IN | AW_LIB_OUT };

/* Elements of a diagonal lie `step` apart, systems of a batch `stride`. */
struct band {
    const char *name;
    char t;
    int64_t n, width; /* diagonals on either side */
    const void *diagonal
        [DIAGONALS]; /* from the lowest to the highest; each has n elements, of which those beyond the matrix do not count */
    void *x;
    int64_t nrhs, ld;
    int64_t batch, step, stride;
};

struct band_job {
    struct aw_sparse_job j;
    struct band b;
};

typedef void (*gbsv)(const int *n, const int *kl, const int *ku, const int *nrhs, void *ab, const int *ldab, int *pivots, void *b,
                     const int *ldb, int *info);

static gbsv solver(char t)
{
    char name[] = "?gbsv_";
    name[0] = t;
    return (gbsv)aw_cpu_blas_find(name);
}

/* One system, in memory of its own. */
static void solve(struct band_job *d, int64_t item, char *ab, char *x, int *pivots)
{
    const struct band *b = &d->b;
    size_t size = aw_sparse_letter_size(b->t);
    int n = (int)b->n, w = (int)b->width, nrhs = (int)b->nrhs, ldab = 3 * w + 1, info = 0;
    memset(ab, 0, (size_t)ldab * (size_t)n * size);
    for (int k = 0; k <= 2 * w; k++)
        for (int i = 0; i < n; i++) {
            int column = i + k - w; /* of row i in this diagonal */
            if (column >= 0 && column < n)
                memcpy(ab + (size_t)(2 * w + i - column + column * ldab) * size,
                       (char *)d->j.array[k] + (size_t)(i * b->step + item * b->stride) * size, size);
        }
    char *from = (char *)d->j.d[0].values + (size_t)(item * b->stride) * size;
    for (int c = 0; c < nrhs; c++)
        for (int i = 0; i < n; i++)
            memcpy(x + (size_t)(i + c * n) * size, from + (size_t)(i * b->step + c * b->ld) * size, size);
    solver(b->t)(&n, &w, &w, &nrhs, ab, &ldab, pivots, x, &n, &info);
    if (info) /* singular: not a number, as a division by the pivot would give */
        memset(x, 0xff, (size_t)n * (size_t)nrhs * size);
    for (int c = 0; c < nrhs; c++)
        for (int i = 0; i < n; i++)
            memcpy(from + (size_t)(i * b->step + c * b->ld) * size, x + (size_t)(i + c * n) * size, size);
}

static void run(struct aw_sparse_job *j)
{
    struct band_job *d = (struct band_job *)j;
    struct aw_sparse_scratch s = { 0 };
    size_t size = aw_sparse_letter_size(d->b.t);
    char *ab = aw_sparse_take(&s, (3 * d->b.width + 1) * d->b.n, size), *x = aw_sparse_take(&s, d->b.n * d->b.nrhs, size);
    int *pivots = aw_sparse_take(&s, d->b.n, sizeof *pivots);
    if (s.failed)
        aw_sparse_job_no_memory(j);
    for (int64_t i = 0; i < d->b.batch && !s.failed; i++)
        solve(d, i, ab, x, pivots);
    aw_sparse_scratch_free(&s);
}

static cusparseStatus_t check(cusparseHandle_t handle, const struct band *b)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    /* As documented: at least three rows. */
    if (b->n < 3 || b->nrhs < 0 || b->batch < 0 || b->ld < b->n || b->stride < 1)
        return INVALID;
    return CUSPARSE_STATUS_SUCCESS;
}

static cusparseStatus_t submit(cusparseHandle_t handle, const struct band *b)
{
    struct band_job d;
    size_t size = aw_sparse_letter_size(b->t);
    cusparseStatus_t status = check(handle, b);
    if (status != CUSPARSE_STATUS_SUCCESS || b->nrhs == 0 || b->batch == 0)
        return status;
    for (int k = 0; k <= 2 * b->width; k++)
        if (!b->diagonal[k])
            return INVALID;
    if (!b->x)
        return INVALID;
    if (!solver(b->t))
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    aw_sparse_job_init(&d.j, handle, b->name, b->t, run);
    d.j.job.size = sizeof d;
    d.b = *b;
    size_t all = (size_t)((b->n - 1) * b->step + (b->batch - 1) * b->stride + 1);
    for (int k = 0; k <= 2 * b->width; k++)
        aw_sparse_job_array(&d.j, k, b->diagonal[k], all * size, IN);
    cudaDataType type = b->t == 's' ? CUDA_R_32F : b->t == 'd' ? CUDA_R_64F : b->t == 'c' ? CUDA_C_32F : CUDA_C_64F;
    /* A batch is one run of elements, right-hand sides are columns. */
    struct cusparseDnMatDescr x = aw_sparse_columns(type, b->x, b->batch > 1 || b->step > 1 ? (int64_t)all : b->n, b->nrhs,
                                                    b->ld);
    aw_sparse_job_dense(&d.j, 0, &x, IN_OUT);
    return aw_sparse_job_submit(&d.j, handle, false);
}

#define ONE(L, t, m, n, dl, d, du, b, ldb)                                                \
    &(struct band)                                                                        \
    {                                                                                     \
        "cusparse" #L "gtsv2", t, m, 1, { dl, d, du }, b, n, ldb, 1, 1, (m) > 0 ? (m) : 1 \
    }
#define STRIDED(L, t, m, dl, d, du, x, batch, stride)                                             \
    &(struct band)                                                                                \
    {                                                                                             \
        "cusparse" #L "gtsv2StridedBatch", t, m, 1, { dl, d, du }, x, 1, stride, batch, 1, stride \
    }
#define INTERLEAVED(L, t, w, m, x, batch, ...)                                               \
    &(struct band)                                                                           \
    {                                                                                        \
        "cusparse" #L "InterleavedBatch", t, m, w, { __VA_ARGS__ }, x, 1, m, batch, batch, 1 \
    }

#define GTSV(L, t, type, T, R)                                                                                                   \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2(cusparseHandle_t handle, int m, int n, const T *dl, const T *d, const T *du,  \
                                                   T *b, int ldb, void *buffer)                                                  \
    {                                                                                                                            \
        return submit(handle, ONE(L, t, m, n, dl, d, du, b, ldb));                                                               \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2_nopivot(cusparseHandle_t handle, int m, int n, const T *dl, const T *d,       \
                                                           const T *du, T *b, int ldb, void *buffer)                             \
    {                                                                                                                            \
        return submit(handle, ONE(L, t, m, n, dl, d, du, b, ldb));                                                               \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2_bufferSizeExt(cusparseHandle_t handle, int m, int n, const T *dl, const T *d, \
                                                                 const T *du, const T *b, int ldb, size_t *size)                 \
    {                                                                                                                            \
        return aw_sparse_buffer(check(handle, ONE(L, t, m, n, dl, d, du, (T *)b, ldb)), size);                                   \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2_nopivot_bufferSizeExt(                                                        \
        cusparseHandle_t handle, int m, int n, const T *dl, const T *d, const T *du, const T *b, int ldb, size_t *size)          \
    {                                                                                                                            \
        return aw_sparse_buffer(check(handle, ONE(L, t, m, n, dl, d, du, (T *)b, ldb)), size);                                   \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2StridedBatch(cusparseHandle_t handle, int m, const T *dl, const T *d,          \
                                                               const T *du, T *x, int batch, int stride, void *buffer)           \
    {                                                                                                                            \
        return submit(handle, STRIDED(L, t, m, dl, d, du, x, batch, stride));                                                    \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsv2StridedBatch_bufferSizeExt(                                                    \
        cusparseHandle_t handle, int m, const T *dl, const T *d, const T *du, const T *x, int batch, int stride, size_t *size)   \
    {                                                                                                                            \
        return aw_sparse_buffer(check(handle, STRIDED(L, t, m, dl, d, du, (T *)x, batch, stride)), size);                        \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsvInterleavedBatch(cusparseHandle_t handle, int algo, int m, T *dl, T *d, T *du,  \
                                                                  T *x, int batch, void *buffer)                                 \
    {                                                                                                                            \
        return submit(handle, INTERLEAVED(L, t, 1, m, x, batch, dl, d, du));                                                     \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gtsvInterleavedBatch_bufferSizeExt(                                                 \
        cusparseHandle_t handle, int algo, int m, const T *dl, const T *d, const T *du, const T *x, int batch, size_t *size)     \
    {                                                                                                                            \
        return aw_sparse_buffer(check(handle, INTERLEAVED(L, t, 1, m, (T *)x, batch, dl, d, du)), size);                         \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gpsvInterleavedBatch(cusparseHandle_t handle, int algo, int m, T *ds, T *dl, T *d,  \
                                                                  T *du, T *dw, T *x, int batch, void *buffer)                   \
    {                                                                                                                            \
        return submit(handle, INTERLEAVED(L, t, 2, m, x, batch, ds, dl, d, du, dw));                                             \
    }                                                                                                                            \
    cusparseStatus_t awcusparse_cusparse##L##gpsvInterleavedBatch_bufferSizeExt(                                                 \
        cusparseHandle_t handle, int algo, int m, const T *ds, const T *dl, const T *d, const T *du, const T *dw, const T *x,    \
        int batch, size_t *size)                                                                                                 \
    {                                                                                                                            \
        return aw_sparse_buffer(check(handle, INTERLEAVED(L, t, 2, m, (T *)x, batch, ds, dl, d, du, dw)), size);                 \
    }
AW_SPARSE_FOUR(GTSV)
