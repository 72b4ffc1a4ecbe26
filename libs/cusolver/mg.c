/* cusolverMg: matrices whose columns are dealt out to several devices, in blocks that go round.  A call gathers what it works on
 * to the host, where LAPACK computes, and deals the result out again; it has ended when it returns. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include <limits.h>
#include <stdlib.h>

#include "call.h"
#include "cusolverMg_proto.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE
enum { HANDLE_MAGIC = 0x686d7363, GRID_MAGIC = 0x676d7363, DESC_MAGIC = 0x646d7363 };
enum { DEVICES_MAX = 64 };
enum { MAPPING_COLUMNS = 0, MAPPING_ROWS = 1 };

struct handle {
    uint32_t magic;
    int n; /* devices that were selected */
    struct aw_lib_queue queue;
};
struct grid {
    uint32_t magic;
    int n;
};
/* Column j is on device j / block % grid's devices, and there behind the blocks that came before; columns are `rows` apart. */
struct desc {
    uint32_t magic;
    int64_t rows, cols, block;
    char t;
    int devices;
};

static cusolverStatus_t handle_check(cusolverMgHandle_t handle)
{
    struct handle *h = handle;
    return h && h->magic == HANDLE_MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

static const struct desc *desc_find(cudaLibMgMatrixDesc_t desc)
{
    struct desc *d = desc;
    return d && d->magic == DESC_MAGIC ? d : NULL;
}

/* ---- Objects. */

cusolverStatus_t awcusolvermg_cusolverMgCreate(cusolverMgHandle_t *handle)
{
    struct handle *h = handle ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return handle ? CUSOLVER_STATUS_ALLOC_FAILED : INVALID;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    h->magic = HANDLE_MAGIC;
    *handle = h;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolvermg_cusolverMgDestroy(cusolverMgHandle_t handle)
{
    cusolverStatus_t status = handle_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    ((struct handle *)handle)->magic = 0;
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

static bool devices_good(const int *ids, int n)
{
    int there = 0;
    if (n < 1 || n > DEVICES_MAX || !ids || cuDeviceGetCount(&there) != CUDA_SUCCESS)
        return false;
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= there)
            return false;
    return true;
}

cusolverStatus_t awcusolvermg_cusolverMgDeviceSelect(cusolverMgHandle_t handle, int n, int *ids)
{
    cusolverStatus_t status = handle_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!devices_good(ids, n))
        return INVALID;
    ((struct handle *)handle)->n = n;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolvermg_cusolverMgCreateDeviceGrid(cudaLibMgGrid_t *grid, int32_t rows, int32_t cols, const int32_t *ids,
                                                         cusolverMgGridMapping_t mapping)
{
    if (!grid || rows != 1 || !devices_good(ids, cols) || (mapping != MAPPING_COLUMNS && mapping != MAPPING_ROWS))
        return INVALID;
    struct grid *g = malloc(sizeof *g);
    if (!g)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *g = (struct grid){ GRID_MAGIC, cols };
    *grid = g;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolvermg_cusolverMgDestroyGrid(cudaLibMgGrid_t grid)
{
    struct grid *g = grid;
    if (!g || g->magic != GRID_MAGIC)
        return INVALID;
    g->magic = 0;
    free(g);
    return CUSOLVER_STATUS_SUCCESS;
}

static char letter(cudaDataType type)
{
    return type == CUDA_R_32F ? 's' : type == CUDA_R_64F ? 'd' : type == CUDA_C_32F ? 'c' : type == CUDA_C_64F ? 'z' : 0;
}

cusolverStatus_t awcusolvermg_cusolverMgCreateMatrixDesc(cudaLibMgMatrixDesc_t *desc, int64_t rows, int64_t cols,
                                                         int64_t row_block, int64_t col_block, cudaDataType type,
                                                         cudaLibMgGrid_t grid)
{
    struct grid *g = grid;
    if (!desc || rows < 1 || cols < 1 || row_block != rows || col_block < 1 || !letter(type) || !g || g->magic != GRID_MAGIC ||
        rows > INT_MAX || cols > INT_MAX)
        return INVALID;
    struct desc *d = malloc(sizeof *d);
    if (!d)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *d = (struct desc){ DESC_MAGIC, rows, cols, col_block, letter(type), g->n };
    *desc = d;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolvermg_cusolverMgDestroyMatrixDesc(cudaLibMgMatrixDesc_t desc)
{
    if (!desc_find(desc))
        return INVALID;
    ((struct desc *)desc)->magic = 0;
    free(desc);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Parts of a matrix. */

/* Rows i to i + m and columns j to j + n, from 0 on, of what is described. */
struct part {
    const struct desc *d;
    void **at; /* of each device */
    int64_t i, j, m, n;
    size_t size; /* bytes of a value */
};

/* Rows and columns are counted from 1. */
static bool part_make(struct part *p, cudaLibMgMatrixDesc_t desc, void **at, int64_t i, int64_t j, int64_t m, int64_t n,
                      cudaDataType type)
{
    const struct desc *d = desc_find(desc);
    if (!d || d->t != letter(type) || i < 1 || j < 1 || m < 0 || n < 0 || i - 1 + m > d->rows || j - 1 + n > d->cols ||
        (n && !at))
        return false;
    for (int k = 0; n && k < d->devices; k++)
        if (!at[k] && k * d->block < d->cols)
            return false;
    *p = (struct part){ d, at, i - 1, j - 1, m, n, aw_lapack_size(d->t) };
    return true;
}

/* A run of columns that lie together: of column j of the part on, at most `most`. */
static char *columns_find(const struct part *p, int64_t j, int64_t *ret_n)
{
    const struct desc *d = p->d;
    int64_t column = p->j + j, block = column / d->block, left = d->block - column % d->block;
    int64_t local = block / d->devices * d->block + column % d->block;
    *ret_n = left < p->n - j ? left : p->n - j;
    return (char *)p->at[block % d->devices] + (size_t)(local * d->rows + p->i) * p->size;
}

/* Between the devices and a matrix of m rows on the host. */
static bool part_copy(const struct part *p, char *host, bool back)
{
    for (int64_t j = 0, n; j < p->n && p->m; j += n) {
        char *device = columns_find(p, j, &n), *mine = host + (size_t)(j * p->m) * p->size;
        size_t pitch = (size_t)p->d->rows * p->size, width = (size_t)p->m * p->size;
        CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                            .srcDevice = (CUdeviceptr)(uintptr_t)(back ? mine : device),
                            .srcPitch = back ? width : pitch,
                            .dstDevice = (CUdeviceptr)(uintptr_t)(back ? device : mine),
                            .dstPitch = back ? pitch : width,
                            .WidthInBytes = width,
                            .Height = (size_t)n };
        if (cuMemcpy2DUnaligned_v2(&c) != CUDA_SUCCESS)
            return false;
    }
    return true;
}

static char *gather(const struct part *p)
{
    char *host = malloc((size_t)p->m * (size_t)p->n * p->size + 1);
    if (host && !part_copy(p, host, false)) {
        free(host);
        return NULL;
    }
    return host;
}

/* Pivots are dealt out as the columns are, one for each. */
static bool pivots_copy(const struct part *a, int **at, int *host, int64_t n, bool back)
{
    struct desc d = *a->d;
    d.rows = 1;
    struct part p = { &d, (void **)at, 0, a->j, 1, n, sizeof *host };
    return part_copy(&p, (char *)host, back);
}

static cusolverStatus_t begin(cusolverMgHandle_t handle, char t, const char *needs)
{
    cusolverStatus_t status = handle_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!t || !((struct handle *)handle)->n)
        return INVALID;
    if (aw_lib_queue_enter(&((struct handle *)handle)->queue) != CUDA_SUCCESS)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    return aw_lapack(t, needs) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_SUPPORTED;
}

/* No room of the program's is used, but it asks for it. */
static cusolverStatus_t room(cusolverMgHandle_t handle, bool good, int64_t *lwork)
{
    cusolverStatus_t status = handle_check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS && (!good || !lwork))
        status = INVALID;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *lwork = 1;
    return status;
}

static char *half(cublasFillMode_t uplo)
{
    static char upper[] = "U", lower[] = "L";
    return uplo == CUBLAS_FILL_MODE_UPPER ? upper : lower;
}

/* ---- LU. */

cusolverStatus_t awcusolvermg_cusolverMgGetrf(cusolverMgHandle_t handle, int m, int n, void **a, int ia, int ja,
                                              cudaLibMgMatrixDesc_t desc, int **pivots, cudaDataType type, void **work,
                                              int64_t lwork, int *info)
{
    struct part p;
    cusolverStatus_t status = begin(handle, letter(type), "getrf");
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!part_make(&p, desc, a, ia, ja, m, n, type) || !pivots || !info)
        return INVALID;
    int least = m < n ? m : n, ld = m > 1 ? m : 1;
    char *host = gather(&p);
    int *order = malloc(((size_t)least + 1) * sizeof *order);
    status = CUSOLVER_STATUS_ALLOC_FAILED;
    if (host && order) {
        aw_lapack(p.d->t, "getrf")(&m, &n, host, &ld, order, info);
        status = part_copy(&p, host, true) && pivots_copy(&p, pivots, order, least, true) ? CUSOLVER_STATUS_SUCCESS
                                                                                          : CUSOLVER_STATUS_INTERNAL_ERROR;
    }
    free(host);
    free(order);
    return status;
}

cusolverStatus_t awcusolvermg_cusolverMgGetrf_bufferSize(cusolverMgHandle_t handle, int m, int n, void **a, int ia, int ja,
                                                         cudaLibMgMatrixDesc_t desc, int **pivots, cudaDataType type,
                                                         int64_t *lwork)
{
    return room(handle, m >= 0 && n >= 0 && desc_find(desc) && letter(type), lwork);
}

cusolverStatus_t awcusolvermg_cusolverMgGetrs(cusolverMgHandle_t handle, cublasOperation_t trans, int n, int nrhs, void **a,
                                              int ia, int ja, cudaLibMgMatrixDesc_t desc_a, int **pivots, void **b, int ib,
                                              int jb, cudaLibMgMatrixDesc_t desc_b, cudaDataType type, void **work, int64_t lwork,
                                              int *info)
{
    struct part pa, pb;
    cusolverStatus_t status = begin(handle, letter(type), "getrs");
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!part_make(&pa, desc_a, a, ia, ja, n, n, type) || !part_make(&pb, desc_b, b, ib, jb, n, nrhs, type) || !pivots || !info ||
        (unsigned)trans > CUBLAS_OP_C)
        return INVALID;
    char op = trans == CUBLAS_OP_N ? 'N' : trans == CUBLAS_OP_T ? 'T' : 'C';
    int ld = n > 1 ? n : 1;
    char *lu = gather(&pa), *x = gather(&pb);
    int *order = malloc(((size_t)n + 1) * sizeof *order);
    status = CUSOLVER_STATUS_ALLOC_FAILED;
    if (lu && x && order && pivots_copy(&pa, pivots, order, n, false)) {
        aw_lapack(pa.d->t, "getrs")(&op, &n, &nrhs, lu, &ld, order, x, &ld, info, AW_ENDS);
        status = part_copy(&pb, x, true) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INTERNAL_ERROR;
    }
    free(lu);
    free(x);
    free(order);
    return status;
}

cusolverStatus_t awcusolvermg_cusolverMgGetrs_bufferSize(cusolverMgHandle_t handle, cublasOperation_t trans, int n, int nrhs,
                                                         void **a, int ia, int ja, cudaLibMgMatrixDesc_t desc_a, int **pivots,
                                                         void **b, int ib, int jb, cudaLibMgMatrixDesc_t desc_b,
                                                         cudaDataType type, int64_t *lwork)
{
    return room(handle, n >= 0 && nrhs >= 0 && desc_find(desc_a) && desc_find(desc_b) && letter(type), lwork);
}

/* ---- Cholesky. */

static cusolverStatus_t cholesky(cusolverMgHandle_t handle, const char *name, cublasFillMode_t uplo, int n, void **a, int ia,
                                 int ja, cudaLibMgMatrixDesc_t desc, cudaDataType type, int *info)
{
    struct part p;
    cusolverStatus_t status = begin(handle, letter(type), name);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!part_make(&p, desc, a, ia, ja, n, n, type) || !info || !aw_solver_uplo(uplo))
        return INVALID;
    int ld = n > 1 ? n : 1;
    char *host = gather(&p);
    if (!host)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    aw_lapack(p.d->t, name)(half(uplo), &n, host, &ld, info, AW_ENDS);
    status = part_copy(&p, host, true) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INTERNAL_ERROR;
    free(host);
    return status;
}

cusolverStatus_t awcusolvermg_cusolverMgPotrf(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void **a, int ia, int ja,
                                              cudaLibMgMatrixDesc_t desc, cudaDataType type, void **work, int64_t lwork,
                                              int *info)
{
    return cholesky(handle, "potrf", uplo, n, a, ia, ja, desc, type, info);
}

cusolverStatus_t awcusolvermg_cusolverMgPotri(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void **a, int ia, int ja,
                                              cudaLibMgMatrixDesc_t desc, cudaDataType type, void **work, int64_t lwork,
                                              int *info)
{
    return cholesky(handle, "potri", uplo, n, a, ia, ja, desc, type, info);
}

cusolverStatus_t awcusolvermg_cusolverMgPotrf_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void **a,
                                                         int ia, int ja, cudaLibMgMatrixDesc_t desc, cudaDataType type,
                                                         int64_t *lwork)
{
    return room(handle, n >= 0 && desc_find(desc) && letter(type), lwork);
}

cusolverStatus_t awcusolvermg_cusolverMgPotri_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, void **a,
                                                         int ia, int ja, cudaLibMgMatrixDesc_t desc, cudaDataType type,
                                                         int64_t *lwork)
{
    return room(handle, n >= 0 && desc_find(desc) && letter(type), lwork);
}

cusolverStatus_t awcusolvermg_cusolverMgPotrs(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs, void **a, int ia,
                                              int ja, cudaLibMgMatrixDesc_t desc_a, void **b, int ib, int jb,
                                              cudaLibMgMatrixDesc_t desc_b, cudaDataType type, void **work, int64_t lwork,
                                              int *info)
{
    struct part pa, pb;
    cusolverStatus_t status = begin(handle, letter(type), "potrs");
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (!part_make(&pa, desc_a, a, ia, ja, n, n, type) || !part_make(&pb, desc_b, b, ib, jb, n, nrhs, type) || !info ||
        !aw_solver_uplo(uplo))
        return INVALID;
    int ld = n > 1 ? n : 1;
    char *l = gather(&pa), *x = gather(&pb);
    status = CUSOLVER_STATUS_ALLOC_FAILED;
    if (l && x) {
        aw_lapack(pa.d->t, "potrs")(half(uplo), &n, &nrhs, l, &ld, x, &ld, info, AW_ENDS);
        status = part_copy(&pb, x, true) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_INTERNAL_ERROR;
    }
    free(l);
    free(x);
    return status;
}

cusolverStatus_t awcusolvermg_cusolverMgPotrs_bufferSize(cusolverMgHandle_t handle, cublasFillMode_t uplo, int n, int nrhs,
                                                         void **a, int ia, int ja, cudaLibMgMatrixDesc_t desc_a, void **b, int ib,
                                                         int jb, cudaLibMgMatrixDesc_t desc_b, cudaDataType type, int64_t *lwork)
{
    return room(handle, n >= 0 && nrhs >= 0 && desc_find(desc_a) && desc_find(desc_b) && letter(type), lwork);
}

/* ---- Eigenvalues; `values` is the host's. */

static int eigen(const struct part *p, bool vectors, cublasFillMode_t uplo, int n, char *a, void *values)
{
    char t = p->d->t;
    char job = vectors ? 'V' : 'N';
    int info = AW_SOLVER_NO_MEMORY, ld = n > 1 ? n : 1, lwork = 66 * ld, lrwork = 3 * ld; /* a block of 64 columns, and more */
    bool is_complex = aw_solver_complex(t);
    void *work = malloc((size_t)lwork * p->size), *rwork = malloc((size_t)lrwork * sizeof(double));
    if (work && rwork && is_complex)
        aw_lapack(t, "syev|heev")(&job, half(uplo), &n, a, &ld, values, work, &lwork, rwork, &info, AW_ENDS);
    else if (work && rwork)
        aw_lapack(t, "syev|heev")(&job, half(uplo), &n, a, &ld, values, work, &lwork, &info, AW_ENDS);
    free(work);
    free(rwork);
    return info;
}

cusolverStatus_t awcusolvermg_cusolverMgSyevd(cusolverMgHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo, int n,
                                              void **a, int ia, int ja, cudaLibMgMatrixDesc_t desc, void *values,
                                              cudaDataType type_values, cudaDataType type, void **work, int64_t lwork, int *info)
{
    struct part p;
    cusolverStatus_t status = begin(handle, letter(type), "syev|heev");
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    cudaDataType real = type == CUDA_R_32F || type == CUDA_C_32F ? CUDA_R_32F : CUDA_R_64F;
    if (!part_make(&p, desc, a, ia, ja, n, n, type) || !info || !aw_solver_uplo(uplo) || !aw_solver_mode(mode) ||
        type_values != real || (n && !values))
        return INVALID;
    char *host = gather(&p);
    if (!host)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *info = eigen(&p, mode == CUSOLVER_EIG_MODE_VECTOR, uplo, n, host, values);
    status = *info == AW_SOLVER_NO_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED
             : !part_copy(&p, host, true) ? CUSOLVER_STATUS_INTERNAL_ERROR
                                          : CUSOLVER_STATUS_SUCCESS;
    free(host);
    return status;
}

cusolverStatus_t awcusolvermg_cusolverMgSyevd_bufferSize(cusolverMgHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo,
                                                         int n, void **a, int ia, int ja, cudaLibMgMatrixDesc_t desc,
                                                         void *values, cudaDataType type_values, cudaDataType type,
                                                         int64_t *lwork)
{
    return room(handle, n >= 0 && desc_find(desc) && letter(type), lwork);
}
