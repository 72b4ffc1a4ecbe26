/* The older interface of cuSPARSE against loops over dense matrices in double.  Usage: legacy_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

static int quick; /* on a simulated card, which is slow */
static cusparseHandle_t handle;
static void *room; /* on the device, for functions that want workspace */

typedef int (*any_function)(void *first, ...); /* of integers and addresses alone */

/* cusparse with the type's letter. */
static any_function fn(char t, const char *name)
{
    char full[64];
    snprintf(full, sizeof full, "cusparse%c%s", upper(t), name);
    any_function f = (any_function)dlsym(RTLD_DEFAULT, full);
    check(f != NULL, "%s is not there", full);
    return f;
}

static cudaDataType type_of(char t)
{
    return t == 's' ? CUDA_R_32F : t == 'd' ? CUDA_R_64F : t == 'c' ? CUDA_C_32F : CUDA_C_64F;
}

static cusparseMatDescr_t descr_make(int base, int upper_half, int unit)
{
    cusparseMatDescr_t d = NULL;
    check(cusparseCreateMatDescr(&d) == 0 && cusparseSetMatIndexBase(d, base) == 0 &&
              cusparseSetMatFillMode(d, upper_half) == 0 && cusparseSetMatDiagType(d, unit) == 0 &&
              cusparseGetMatIndexBase(d) == (cusparseIndexBase_t)base,
          "descr");
    return d;
}

static void *device_new(size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size + 16);
    return p;
}

/* A + B, counted first. */
static void sum(char t, int base_a, int base_c)
{
    enum { M = 9, N = 11 };
    cudaDataType type = type_of(t);
    struct matrix a = matrix_make(CUSPARSE_FORMAT_CSR, type, 0, base_a, M, N, 30),
                  b = matrix_make(CUSPARSE_FORMAT_CSR, type, 0, 0, M, N, 30);
    cusparseMatDescr_t da = descr_make(base_a, 0, 0), db = descr_make(0, 0, 0), dc = descr_make(base_c, 0, 0);
    cplx alpha = value_any(type), beta = value_any(type), *want = malloc(M * N * sizeof *want);
    struct scalar sa, sb;
    void *pa = scalar_set(&sa, handle, type, alpha), *pb = scalar_set(&sb, handle, type, beta), *ptr = device_new((M + 1) * 4);
    size_t size = 0;
    int nnz = 0, most = 0;
    for (int i = 0; i < M * N; i++) {
        want[i] = alpha * a.dense[i] + beta * b.dense[i];
        most += a.dense[i] != 0 || b.dense[i] != 0;
    }
    check(fn(t, "csrgeam2_bufferSizeExt")(handle, M, N, pa, da, (int)a.nnz, a.val, a.ptr, a.ind, pb, db, (int)b.nnz, b.val, b.ptr,
                                          b.ind, dc, NULL, ptr, NULL, &size) == 0 &&
              size > 0,
          "geam2 size");
    check(cusparseXcsrgeam2Nnz(handle, M, N, da, (int)a.nnz, a.ptr, a.ind, db, (int)b.nnz, b.ptr, b.ind, dc, ptr, &nnz, room) ==
                  0 &&
              nnz == most,
          "geam2 nnz %d, not %d", nnz, most);
    void *ind = device_new((size_t)nnz * 4), *val = device_new((size_t)nnz * 16);
    check(fn(t, "csrgeam2")(handle, M, N, pa, da, (int)a.nnz, a.val, a.ptr, a.ind, pb, db, (int)b.nnz, b.val, b.ptr, b.ind, dc,
                            val, ptr, ind, room) == 0,
          "geam2");
    cusparseSpMatDescr_t c;
    cusparseDnMatDescr_t back;
    void *dense = device_new(M * N * 16);
    cusparseCreateCsr(&c, M, N, nnz, ptr, ind, val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, base_c, type);
    cusparseCreateDnMat(&back, M, N, M, dense, type, CUSPARSE_ORDER_COL);
    check(cusparseSparseToDense(handle, c, back, 0, room) == 0, "to dense");
    values_check(type, dense, want, M * N, "csrgeam2");
    cudaDeviceSynchronize();
    cusparseDestroySpMat(c), cusparseDestroyDnMat(back);
    cusparseDestroyMatDescr(da), cusparseDestroyMatDescr(db), cusparseDestroyMatDescr(dc);
    cudaFree(sa.device), cudaFree(sb.device), cudaFree(ptr), cudaFree(ind), cudaFree(val), cudaFree(dense);
    free(want);
    matrix_drop(&a), matrix_drop(&b);
}

/* Square blocks of a dense matrix that is B x B blocks large. */
struct blocks {
    int n, block, nnzb;
    void *ptr, *ind, *val;
};

static struct blocks blocks_make(cudaDataType type, const cplx *dense, int nb, int block, int base, int by_columns)
{
    struct blocks b = { nb, block, 0, NULL, NULL, NULL };
    static long ptr[64], ind[1024];
    static cplx val[16384];
    long n = (long)nb * block, nv = 0;
    for (int i = 0; i < nb; i++) {
        ptr[i] = b.nnzb + base;
        for (int j = 0; j < nb; j++) {
            int here = 0;
            for (int k = 0; k < block * block; k++)
                here |= dense[i * block + k % block + (j * block + k / block) * n] != 0;
            if (!here)
                continue;
            ind[b.nnzb++] = j + base;
            for (int k = 0; k < block * block; k++)
                val[nv++] = by_columns ? dense[i * block + k % block + (j * block + k / block) * n]
                                       : dense[i * block + k / block + (j * block + k % block) * n];
        }
    }
    ptr[nb] = b.nnzb + base;
    b.ptr = index_upload(0, ptr, nb + 1), b.ind = index_upload(0, ind, b.nnzb), b.val = values_upload(type, val, nv);
    return b;
}

static void blocks_drop(struct blocks *b)
{
    cudaFree(b->ptr), cudaFree(b->ind), cudaFree(b->val);
}

/* Products and systems with blocks; of systems the triangle, with what is beyond it there. */
static void with_blocks(char t, int block, int base, int by_columns, int op, int upper_half)
{
    enum { NB = 4, NRHS = 3 };
    cudaDataType type = type_of(t);
    int n = NB * block, position = 7, size = 0;
    cplx *dense = dense_make(type, n, n, 30), *x = dense_make(type, n, NRHS, 101), *y = dense_make(type, n, NRHS, 101),
         *want = malloc((size_t)(n * NRHS) * sizeof *want);
    cplx alpha = 2, beta = value_any(type);
    struct scalar sa, sb;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            dense[i + j * n] = i == j ? 4 : dense[i + j * n] / 4;
    struct blocks a = blocks_make(type, dense, NB, block, base, by_columns);
    cusparseMatDescr_t d = descr_make(base, upper_half, 0);
    void *pa = scalar_set(&sa, handle, type, alpha), *pb = scalar_set(&sb, handle, type, beta);
    void *dx = values_upload(type, x, n * NRHS), *dy = values_upload(type, y, n * NRHS);
    for (int i = 0; i < n; i++) {
        want[i] = beta * y[i];
        for (int j = 0; j < n; j++)
            want[i] += alpha * op_element(dense, n, op, i, j) * x[j];
    }
    check(fn(t, "bsrmv")(handle, by_columns, op, NB, NB, a.nnzb, pa, d, a.val, a.ptr, a.ind, block, dx, pb, dy) == 0, "bsrmv");
    values_check(type, dy, want, n, "bsrmv");
    cudaFree(dy), dy = values_upload(type, y, n * NRHS);
    for (int k = 0; k < n * NRHS; k++) {
        want[k] = beta * y[k];
        for (int j = 0; j < n; j++)
            want[k] += alpha * dense[k % n + j * n] * x[k / n + j * NRHS]; /* x is NRHS x n */
    }
    check(fn(t, "bsrmm")(handle, by_columns, 0, 1, NB, NRHS, NB, a.nnzb, pa, d, a.val, a.ptr, a.ind, block, dx, NRHS, pb, dy,
                         n) == 0,
          "bsrmm");
    values_check(type, dy, want, n * NRHS, "bsrmm");
    /* y = op(A) x / alpha, solved for x. */
    for (int k = 0; k < n * NRHS; k++) {
        y[k] = 0;
        for (int j = 0; j < n; j++) {
            int r = op ? j : k % n, c = op ? k % n : j;
            y[k] += (r == c || (upper_half ? c > r : c < r) ? op_element(dense, n, op, k % n, j) : 0) * x[j + k / n * n] / alpha;
        }
    }
    cudaFree(dy), dy = values_upload(type, y, n * NRHS);
    void *solution = device_new((size_t)(n * NRHS * 16));
    bsrsv2Info_t info;
    bsrsm2Info_t infos;
    check(cusparseCreateBsrsv2Info(&info) == 0 && cusparseCreateBsrsm2Info(&infos) == 0, "info");
    check(fn(t, "bsrsv2_bufferSize")(handle, by_columns, op, NB, a.nnzb, d, a.val, a.ptr, a.ind, block, info, &size) == 0 &&
              size > 0,
          "size");
    check(fn(t, "bsrsv2_analysis")(handle, by_columns, op, NB, a.nnzb, d, a.val, a.ptr, a.ind, block, info, 0, room) == 0,
          "analysis");
    check(fn(t, "bsrsv2_solve")(handle, by_columns, op, NB, a.nnzb, pa, d, a.val, a.ptr, a.ind, block, info, dy, solution, 0,
                                room) == 0,
          "bsrsv2");
    check(cusparseXbsrsv2_zeroPivot(handle, info, &position) == 0 && position == -1, "no zero pivot: %d", position);
    values_check(type, solution, x, n, "bsrsv2");
    check(fn(t, "bsrsm2_analysis")(handle, by_columns, op, 0, NB, NRHS, a.nnzb, d, a.val, a.ptr, a.ind, block, infos, 0, room) ==
              0,
          "analysis");
    check(fn(t, "bsrsm2_solve")(handle, by_columns, op, 0, NB, NRHS, a.nnzb, pa, d, a.val, a.ptr, a.ind, block, infos, dy, n,
                                solution, n, 0, room) == 0,
          "bsrsm2");
    values_check(type, solution, x, n * NRHS, "bsrsm2");
    cusparseDestroyBsrsv2Info(info), cusparseDestroyBsrsm2Info(infos), cusparseDestroyMatDescr(d);
    cudaFree(dx), cudaFree(dy), cudaFree(solution), cudaFree(sa.device), cudaFree(sb.device);
    free(dense), free(x), free(y), free(want);
    blocks_drop(&a);
}

/* What is factored: rows, or blocks where `block` is not 0. */
enum { FACTOR_N = 12 };

struct factored {
    char t;
    cudaDataType type;
    int block, base, cholesky;
    cplx *dense;
    struct matrix a;
    struct blocks b;
    int n, nnz; /* rows and elements, or such of blocks */
    void *val, *ptr, *ind, *info;
    cusparseMatDescr_t d;
};

static struct factored factored_make(char t, int percent, int block, int cholesky)
{
    enum { N = FACTOR_N };
    struct factored f = { .t = t, .type = type_of(t), .block = block, .base = block & 1, .cholesky = cholesky };
    f.dense = dense_make(f.type, N, N, percent);
    for (int j = 0; j < N; j++)
        for (int i = 0; i <= j; i++) {
            f.dense[i + j * N] = i == j ? 20 : f.dense[i + j * N];
            f.dense[j + i * N] = conj(f.dense[i + j * N]);
        }
    f.d = descr_make(f.base, 0, 0);
    if (block) {
        f.b = blocks_make(f.type, f.dense, N / block, block, f.base, 0);
        f.n = N / block, f.nnz = f.b.nnzb, f.val = f.b.val, f.ptr = f.b.ptr, f.ind = f.b.ind;
    } else {
        cplx *copy = memcpy(malloc(N * N * sizeof *copy), f.dense, N * N * sizeof *copy);
        f.a = matrix_of(CUSPARSE_FORMAT_CSR, f.type, 0, f.base, N, N, copy);
        f.n = N, f.nnz = (int)f.a.nnz, f.val = f.a.val, f.ptr = f.a.ptr, f.ind = f.a.ind;
    }
    return f;
}

static void factored_drop(struct factored *f)
{
    cusparseDestroyMatDescr(f->d);
    free(f->dense);
    if (f->block)
        blocks_drop(&f->b);
    else
        matrix_drop(&f->a);
}

static void factor_blocks(struct factored *f)
{
    int size = 0, position = 7;
    int chol = f->cholesky;
    check((chol ? cusparseCreateBsric02Info((void *)&f->info) : cusparseCreateBsrilu02Info((void *)&f->info)) == 0, "info");
    check(fn(f->t, chol ? "bsric02_bufferSize" : "bsrilu02_bufferSize")(handle, 0, f->n, f->nnz, f->d, f->val, f->ptr, f->ind,
                                                                        f->block, f->info, &size) == 0 &&
              size > 0,
          "size");
    check(fn(f->t, chol ? "bsric02_analysis" : "bsrilu02_analysis")(handle, 0, f->n, f->nnz, f->d, f->val, f->ptr, f->ind,
                                                                    f->block, f->info, 0, room) == 0,
          "analysis");
    check(fn(f->t, chol ? "bsric02" : "bsrilu02")(handle, 0, f->n, f->nnz, f->d, f->val, f->ptr, f->ind, f->block, f->info, 0,
                                                  room) == 0,
          "factor");
    check((chol ? cusparseXbsric02_zeroPivot(handle, f->info, &position)
                : cusparseXbsrilu02_zeroPivot(handle, f->info, &position)) == 0 &&
              position == -1,
          "pivot %d", position);
    chol ? cusparseDestroyBsric02Info(f->info) : cusparseDestroyBsrilu02Info(f->info);
}

static void factor_rows(struct factored *f)
{
    int size = 0, position = 7;
    int chol = f->cholesky;
    check((chol ? cusparseCreateCsric02Info((void *)&f->info) : cusparseCreateCsrilu02Info((void *)&f->info)) == 0, "info");
    check(fn(f->t, chol ? "csric02_bufferSize" : "csrilu02_bufferSize")(handle, f->n, f->nnz, f->d, f->val, f->ptr, f->ind,
                                                                        f->info, &size) == 0 &&
              size > 0,
          "size");
    check(fn(f->t, chol ? "csric02_analysis" : "csrilu02_analysis")(handle, f->n, f->nnz, f->d, f->val, f->ptr, f->ind, f->info,
                                                                    0, room) == 0,
          "analysis");
    check(fn(f->t, chol ? "csric02" : "csrilu02")(handle, f->n, f->nnz, f->d, f->val, f->ptr, f->ind, f->info, 0, room) == 0,
          "factor");
    check((chol ? cusparseXcsric02_zeroPivot(handle, f->info, &position)
                : cusparseXcsrilu02_zeroPivot(handle, f->info, &position)) == 0 &&
              position == -1,
          "pivot %d", position);
    chol ? cusparseDestroyCsric02Info(f->info) : cusparseDestroyCsrilu02Info(f->info);
}

/* The factors as a dense matrix, of which the caller frees the memory. */
static cplx *factors_download(const struct factored *f)
{
    enum { N = FACTOR_N };
    cusparseSpMatDescr_t s;
    cusparseDnMatDescr_t back;
    void *device = device_new(N * N * 16);
    if (f->block)
        cusparseCreateBsr(&s, f->n, f->n, f->nnz, f->block, f->block, f->ptr, f->ind, f->val, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, f->base, f->type, CUSPARSE_ORDER_ROW);
    else
        cusparseCreateCsr(&s, N, N, f->nnz, f->ptr, f->ind, f->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, f->base, f->type);
    cusparseCreateDnMat(&back, N, N, N, device, f->type, CUSPARSE_ORDER_COL);
    check(cusparseSparseToDense(handle, s, back, 0, room) == 0, "to dense");
    cplx *v = values_download(f->type, device, N * N);
    cusparseDestroySpMat(s), cusparseDestroyDnMat(back);
    cudaFree(device);
    return v;
}

/* Has the pattern the element? */
static int factors_stored(const struct factored *f, int i, int j)
{
    int block = f->block ? f->block : 1;
    for (int k = 0; k < block * block; k++)
        if (f->dense[i / block * block + k % block + (j / block * block + k / block) * FACTOR_N] != 0)
            return 1;
    return 0;
}

/* Incomplete factors of a dense pattern are the whole ones; of a sparse one, their product agrees where the pattern has
 * elements. */
static void factors(char t, int percent, int block, int cholesky)
{
    enum { N = FACTOR_N };
    struct factored f = factored_make(t, percent, block, cholesky);
    (block ? factor_blocks : factor_rows)(&f);
    cplx *v = factors_download(&f);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            cplx p = 0;
            int k_end = i < j ? i : j;
            for (int k = 0; k <= k_end; k++)
                p += cholesky ? v[i + k * N] * conj(v[j + k * N]) : (k == i ? 1 : v[i + k * N]) * v[k + j * N];
            if (factors_stored(&f, i, j) && (!cholesky || i >= j))
                check(cabs(p - f.dense[i + j * N]) <= type_tolerance(f.type) * 50,
                      "%c factors %d%% block %d chol %d: (%d, %d) is %g, not %g", t, percent, block, cholesky, i, j, creal(p),
                      creal(f.dense[i + j * N]));
        }
    free(v);
    factored_drop(&f);
}

/* A pivot that is not there, one that is 0, and one that is raised. */
static void zero_pivots(void)
{
    long ptr[] = { 0, 2, 3, 5 }, ind[] = { 0, 1, 2, 1, 2 };
    cplx val[] = { 2, 1, 1, 1, 3 };
    void *dp = index_upload(0, ptr, 4), *di = index_upload(0, ind, 5), *dv = values_upload(CUDA_R_64F, val, 5);
    cusparseMatDescr_t d = descr_make(0, 0, 0);
    csrilu02Info_t info;
    int position = -7;
    double tolerance = 1e-3, instead = 5;
    cusparseCreateCsrilu02Info(&info);
    check(cusparseDcsrilu02(handle, 3, 5, d, dv, dp, di, info, 0, room) == CUSPARSE_STATUS_INVALID_VALUE, "before analysis");
    check(cusparseDcsrilu02_analysis(handle, 3, 5, d, dv, dp, di, info, 0, room) == 0, "analysis");
    check(cusparseXcsrilu02_zeroPivot(handle, info, &position) == CUSPARSE_STATUS_ZERO_PIVOT && position == 1, "structural: %d",
          position);
    long whole_ptr[] = { 0, 2, 4 }, whole_ind[] = { 0, 1, 0, 1 };
    cplx whole[] = { 1, 2, 2, 4 };
    void *wp = index_upload(0, whole_ptr, 3), *wi = index_upload(0, whole_ind, 4), *wv = values_upload(CUDA_R_64F, whole, 4);
    check(cusparseDcsrilu02_analysis(handle, 2, 4, d, wv, wp, wi, info, 0, room) == 0 &&
              cusparseXcsrilu02_zeroPivot(handle, info, &position) == 0,
          "analysis");
    check(cusparseDcsrilu02(handle, 2, 4, d, wv, wp, wi, info, 0, room) == 0, "ilu");
    check(cusparseXcsrilu02_zeroPivot(handle, info, &position) == CUSPARSE_STATUS_ZERO_PIVOT && position == 1, "numerical: %d",
          position);
    cudaFree(wv), wv = values_upload(CUDA_R_64F, whole, 4);
    check(cusparseDcsrilu02_numericBoost(handle, info, 1, &tolerance, &instead) == 0, "boost");
    check(cusparseDcsrilu02(handle, 2, 4, d, wv, wp, wi, info, 0, room) == 0, "ilu");
    whole[3] = 5;
    values_check(CUDA_R_64F, wv, whole, 4, "raised pivot");
    cusparseDestroyCsrilu02Info(info), cusparseDestroyMatDescr(d);
    cudaFree(dp), cudaFree(di), cudaFree(dv), cudaFree(wp), cudaFree(wi), cudaFree(wv);
}

/* Bands: systems of a batch lie after each other, apart, or element by element. */
static void bands(char t, int n, int width, int interleaved, int batch, int nrhs)
{
    cudaDataType type = type_of(t);
    int stride = interleaved ? 1
                 : batch > 1 ? n + 3
                             : n,
        step = interleaved ? batch : 1, all = (n - 1) * step + (batch - 1) * stride + 1;
    cplx *diagonal[5], *x = malloc((size_t)(all * nrhs) * sizeof *x), *b = malloc((size_t)(all * nrhs) * sizeof *b);
    void *dd[5], *db;
    size_t size = 0;
    for (int k = 0; k < 2 * width + 1; k++) {
        diagonal[k] = dense_make(type, all, 1, 101);
        for (int i = 0; i < all && k == width; i++)
            diagonal[k][i] += i % 3 ? 8 : 0; /* some rows are to be exchanged */
        dd[k] = values_upload(type, diagonal[k], all);
    }
    for (int i = 0; i < all * nrhs; i++)
        b[i] = x[i] = value_any(type);
    for (int c = 0; c < nrhs; c++)
        for (int q = 0; q < batch; q++)
            for (int i = 0; i < n; i++) {
                cplx s = 0;
                for (int k = -width; k <= width; k++)
                    if (i + k >= 0 && i + k < n)
                        s += diagonal[k + width][i * step + q * stride] * x[(i + k) * step + q * stride + c * all];
                b[i * step + q * stride + c * all] = s;
            }
    db = values_upload(type, b, all * nrhs);
    if (width == 2) {
        check(fn(t, "gpsvInterleavedBatch_bufferSizeExt")(handle, 0, n, dd[0], dd[1], dd[2], dd[3], dd[4], db, batch, &size) ==
                      0 &&
                  size > 0,
              "size");
        check(fn(t, "gpsvInterleavedBatch")(handle, 0, n, dd[0], dd[1], dd[2], dd[3], dd[4], db, batch, room) == 0, "gpsv");
    } else if (interleaved) {
        check(fn(t, "gtsvInterleavedBatch")(handle, 1, n, dd[0], dd[1], dd[2], db, batch, room) == 0, "gtsv interleaved");
    } else if (batch > 1) {
        check(fn(t, "gtsv2StridedBatch_bufferSizeExt")(handle, n, dd[0], dd[1], dd[2], db, batch, stride, &size) == 0 && size > 0,
              "size");
        check(fn(t, "gtsv2StridedBatch")(handle, n, dd[0], dd[1], dd[2], db, batch, stride, room) == 0, "gtsv2StridedBatch");
    } else {
        check(fn(t, "gtsv2_bufferSizeExt")(handle, n, nrhs, dd[0], dd[1], dd[2], db, n, &size) == 0 && size > 0, "size");
        check(fn(t, "gtsv2")(handle, n, nrhs, dd[0], dd[1], dd[2], db, n, room) == 0, "gtsv2");
    }
    cplx *got = values_download(type, db, all * nrhs);
    for (int i = 0; i < all * nrhs; i++)
        if (!check(cabs(got[i] - x[i]) <= type_tolerance(type) * 100, "%c bands n %d width %d batch %d: [%d] is %g, not %g", t, n,
                   width, batch, i, creal(got[i]), creal(x[i])))
            break;
    for (int k = 0; k < 2 * width + 1; k++)
        free(diagonal[k]), cudaFree(dd[k]);
    free(x), free(b), free(got);
    cudaFree(db);
}

static void indices(int base)
{
    enum { M = 5, N = 6, NNZ = 9 };
    long row[NNZ] = { 3, 0, 4, 0, 2, 3, 0, 4, 2 }, col[NNZ] = { 1, 5, 2, 0, 3, 0, 2, 1, 1 };
    int identity[NNZ];
    size_t size = 0;
    for (int i = 0; i < NNZ; i++)
        row[i] += base, col[i] += base;
    void *dr = index_upload(0, row, NNZ), *dc = index_upload(0, col, NNZ), *dp = device_new(NNZ * 4),
         *ptr = device_new((M + 1) * 4);
    check(cusparseCreateIdentityPermutation(handle, NNZ, dp) == 0, "identity");
    check(cusparseXcoosort_bufferSizeExt(handle, M, N, NNZ, dr, dc, &size) == 0 && size > 0, "size");
    check(cusparseXcoosortByRow(handle, M, N, NNZ, dr, dc, dp, room) == 0, "coosort");
    long *r = index_download(0, dr, NNZ), *c = index_download(0, dc, NNZ), *p = index_download(0, dp, NNZ);
    for (int i = 0; i < NNZ; i++)
        check(r[i] == row[p[i]] && c[i] == col[p[i]] && (i == 0 || r[i] > r[i - 1] || (r[i] == r[i - 1] && c[i] > c[i - 1])),
              "coosortByRow at %d", i);
    check(cusparseXcoo2csr(handle, dr, NNZ, M, ptr, base) == 0, "coo2csr");
    long *o = index_download(0, ptr, M + 1), want[] = { 0, 3, 3, 5, 7, 9 };
    for (int i = 0; i <= M; i++)
        check(o[i] == want[i] + base, "coo2csr: %ld at %d", o[i], i);
    void *rows_again = device_new(NNZ * 4);
    check(cusparseXcsr2coo(handle, ptr, NNZ, M, rows_again, base) == 0, "csr2coo");
    long *again = index_download(0, rows_again, NNZ);
    check(!memcmp(again, r, NNZ * sizeof *r), "csr2coo");
    /* Columns of rows, and rows by columns. */
    cusparseMatDescr_t d = descr_make(base, 0, 0);
    void *shuffled = index_upload(
        0, (long[NNZ]){ 5 + base, 0 + base, 2 + base, 3 + base, 1 + base, 1 + base, 0 + base, 2 + base, 1 + base }, NNZ);
    check(cusparseCreateIdentityPermutation(handle, NNZ, dp) == 0 &&
              cusparseXcsrsort(handle, M, N, NNZ, d, ptr, shuffled, dp, room) == 0,
          "csrsort");
    long *sorted = index_download(0, shuffled, NNZ), *along = index_download(0, dp, NNZ);
    check(!memcmp(sorted, c, NNZ * sizeof *c) && along[0] == 1 && along[1] == 2 && along[2] == 0 && along[3] == 4, "csrsort");
    check(cusparseXcoosortByColumn(handle, M, N, NNZ, dr, dc, NULL, room) == 0, "coosortByColumn");
    long *bc = index_download(0, dc, NNZ);
    for (int i = 1; i < NNZ; i++)
        check(bc[i] >= bc[i - 1], "coosortByColumn");
    for (int i = 0; i < NNZ; i++)
        identity[i] = i;
    check(identity[NNZ - 1] == NNZ - 1, "identity");
    free(r), free(c), free(p), free(o), free(again), free(sorted), free(along), free(bc);
    cusparseDestroyMatDescr(d);
    cudaFree(dr), cudaFree(dc), cudaFree(dp), cudaFree(ptr), cudaFree(rows_again), cudaFree(shuffled);
}

static void columns(char t, int base)
{
    enum { M = 7, N = 10 };
    cudaDataType type = type_of(t);
    struct matrix a = matrix_make(CUSPARSE_FORMAT_CSR, type, 0, base, M, N, 35);
    cplx *flipped = malloc(M * N * sizeof *flipped);
    for (int i = 0; i < M * N; i++)
        flipped[i / M + i % M * N] = a.dense[i];
    struct matrix want = matrix_of(CUSPARSE_FORMAT_CSR, type, 0, base, N, M, flipped);
    void *ptr = device_new((N + 1) * 4), *ind = device_new((size_t)a.nnz * 4), *val = device_new((size_t)a.nnz * 16);
    size_t size = 0;
    check(cusparseCsr2cscEx2_bufferSize(handle, M, N, (int)a.nnz, a.val, a.ptr, a.ind, val, ptr, ind, type, 1, base, 1, &size) ==
                  0 &&
              size > 0,
          "size");
    check(cusparseCsr2cscEx2(handle, M, N, (int)a.nnz, a.val, a.ptr, a.ind, val, ptr, ind, type, 1, base, 1, room) == 0,
          "csr2csc");
    long *p = index_download(0, ptr, N + 1), *q = index_download(0, want.ptr, N + 1), *i1 = index_download(0, ind, a.nnz),
         *i2 = index_download(0, want.ind, a.nnz);
    cplx *v = values_download(type, want.val, a.nnz);
    check(!memcmp(p, q, (N + 1) * sizeof *p) && !memcmp(i1, i2, (size_t)a.nnz * sizeof *i1), "csr2csc pattern");
    values_check(type, val, v, a.nnz, "csr2csc");
    free(p), free(q), free(i1), free(i2), free(v);
    cudaFree(ptr), cudaFree(ind), cudaFree(val);
    matrix_drop(&a), matrix_drop(&want);
}

/* Counts, and rows without small elements. */
static void counts(void)
{
    enum { M = 8, N = 9 };
    struct matrix a = matrix_make(CUSPARSE_FORMAT_CSR, CUDA_R_64F, 0, 1, M, N, 50);
    cusparseMatDescr_t d = descr_make(1, 0, 0);
    void *dense = values_upload(CUDA_R_64F, a.dense, M * N), *per = device_new(N * 4);
    int all = 0, most = 0, kept = 0;
    double tolerance = 0.9;
    for (int i = 0; i < M * N; i++)
        most += a.dense[i] != 0, kept += fabs(creal(a.dense[i])) > tolerance;
    for (int dir = 0; dir < 2; dir++) {
        check(cusparseDnnz(handle, dir, M, N, d, dense, M, per, &all) == 0 && all == most, "nnz %d, not %d", all, most);
        long *c = index_download(0, per, dir ? N : M);
        for (int i = 0; i < (dir ? N : M); i++) {
            long n = 0;
            for (int j = 0; j < (dir ? M : N); j++)
                n += a.dense[dir ? j + i * M : i + j * M] != 0;
            check(c[i] == n, "nnz of line %d", i);
        }
        free(c);
    }
    check(cusparseDnnz_compress(handle, M, d, a.val, a.ptr, per, &all, tolerance) == 0 && all == kept && kept < most,
          "nnz_compress %d, not %d", all, kept);
    void *ptr = device_new((M + 1) * 4), *ind = device_new((size_t)kept * 4), *val = device_new((size_t)kept * 8);
    check(cusparseDcsr2csr_compress(handle, M, N, d, a.val, a.ind, a.ptr, (int)a.nnz, per, val, ind, ptr, tolerance) == 0,
          "compress");
    cplx *large = malloc(M * N * sizeof *large);
    for (int i = 0; i < M * N; i++)
        large[i] = fabs(creal(a.dense[i])) > tolerance ? a.dense[i] : 0;
    struct matrix want = matrix_of(CUSPARSE_FORMAT_CSR, CUDA_R_64F, 0, 1, M, N, large);
    cplx *v = values_download(CUDA_R_64F, want.val, kept);
    long *i1 = index_download(0, ind, kept), *i2 = index_download(0, want.ind, kept), *p = index_download(0, ptr, M + 1),
         *q = index_download(0, want.ptr, M + 1);
    values_check(CUDA_R_64F, val, v, kept, "compress");
    check(!memcmp(i1, i2, (size_t)kept * sizeof *i1) && !memcmp(p, q, (M + 1) * sizeof *p), "compress pattern");
    free(v), free(i1), free(i2), free(p), free(q);
    cusparseDestroyMatDescr(d);
    cudaFree(dense), cudaFree(per), cudaFree(ptr), cudaFree(ind), cudaFree(val);
    matrix_drop(&a), matrix_drop(&want);
}

/* What a matrix in blocks on the device holds: as rows where high and wide are 1; with `flipped` columns of blocks, which are not
 * flipped themselves.  M and N: elements, the blocks' last ones may reach beyond. */
static void blocks_check(const char *what, cudaDataType type, const struct matrix *a, int dir, int base, int high, int wide,
                         int flipped, void *ptr, void *ind, void *val)
{
    long m = a->rows, n = a->cols, lines = flipped ? (n + wide - 1) / wide : (m + high - 1) / high;
    long *p = index_download(0, ptr, lines + 1), nnz = p[lines] - base, found = 0, want = 0;
    long *k = index_download(0, ind, nnz);
    cplx *v = values_download(type, val, nnz * high * wide), *got = calloc((size_t)(m * n), sizeof *got);
    check(p[0] == base, "%s: first offset", what);
    for (long line = 0; line < lines; line++)
        for (long e = p[line] - base; e < p[line + 1] - base; e++) {
            check(e == p[line] - base || k[e] > k[e - 1], "%s: order in line %ld", what, line);
            for (int r = 0; r < high; r++)
                for (int c = 0; c < wide; c++) {
                    long row = (flipped ? k[e] - base : line) * high + r, col = (flipped ? line : k[e] - base) * wide + c;
                    cplx x = v[e * high * wide + (dir == 0 ? r * wide + c : c * high + r)];
                    if (row < m && col < n)
                        got[row + col * m] = x;
                    found += x != 0;
                }
        }
    for (long i = 0; i < m * n; i++)
        want += a->dense[i] != 0;
    check(found == want, "%s: %ld elements, not %ld", what, found, want);
    check(!memcmp(got, a->dense, (size_t)(m * n) * sizeof *got), "%s: values", what);
    free(p), free(k), free(v), free(got);
}

static int blocks_count(const struct matrix *a, int high, int wide)
{
    int n = 0;
    for (long i = 0; i < a->rows; i += high)
        for (long j = 0; j < a->cols; j += wide) {
            int some = 0;
            for (long r = i; r < i + high && r < a->rows; r++)
                for (long c = j; c < j + wide && c < a->cols; c++)
                    some |= a->dense[r + c * a->rows] != 0;
            n += some;
        }
    return n;
}

/* Rows to blocks, these to others, to columns of blocks, and to rows again. */
static void conversions(char t, int dir, int base_a, int base_c, int high, int wide)
{
    enum { M = 11, N = 13, H = 2, W = 5 };
    cudaDataType type = type_of(t);
    struct matrix a = matrix_make(CUSPARSE_FORMAT_CSR, type, 0, base_a, M, N, 12);
    cusparseMatDescr_t da = descr_make(base_a, 0, 0), dc = descr_make(base_c, 0, 0);
    int mb = (M + high - 1) / high, nb = (N + wide - 1) / wide, nnzb = -1, nnz2 = -1, size = 0, size2 = 0, size3 = 0;
    int want = blocks_count(&a, high, wide), most = want * high * wide;
    void *ptr = device_new(64 * 4), *ind = device_new((size_t)most * 4), *val = device_new((size_t)most * 16);
    void *ptr2 = device_new(64 * 4), *ind2 = device_new((size_t)most * 4), *val2 = device_new((size_t)most * H * W * 16);
    check(fn(t, "csr2gebsr_bufferSize")(handle, dir, M, N, da, a.val, a.ptr, a.ind, high, wide, &size) == 0 && size > 0, "size");
    check(cusparseXcsr2gebsrNnz(handle, dir, M, N, da, a.ptr, a.ind, dc, ptr, high, wide, &nnzb, room) == 0 && nnzb == want,
          "csr2gebsrNnz: %d, not %d", nnzb, want);
    check(fn(t, "csr2gebsr")(handle, dir, M, N, da, a.val, a.ptr, a.ind, dc, val, ptr, ind, high, wide, room) == 0, "csr2gebsr");
    blocks_check("csr2gebsr", type, &a, dir, base_c, high, wide, 0, ptr, ind, val);
    check(fn(t, "gebsr2csr")(handle, dir, mb, nb, dc, val, ptr, ind, high, wide, da, val2, ptr2, ind2) == 0, "gebsr2csr");
    blocks_check("gebsr2csr", type, &a, dir, base_a, 1, 1, 0, ptr2, ind2, val2);
    check(fn(t, "gebsr2gebsc_bufferSize")(handle, mb, nb, nnzb, val, ptr, ind, high, wide, &size2) == 0 && size2 > 0, "size");
    check(fn(t, "gebsr2gebsc")(handle, mb, nb, nnzb, val, ptr, ind, high, wide, val2, ind2, ptr2, 1, base_c, room) == 0,
          "gebsr2gebsc");
    blocks_check("gebsr2gebsc", type, &a, dir, base_c, high, wide, 1, ptr2, ind2, val2);
    check(fn(t, "gebsr2gebsr_bufferSize")(handle, dir, mb, nb, nnzb, dc, val, ptr, ind, high, wide, H, W, &size3) == 0 &&
              size3 > 0,
          "size");
    check(cusparseXgebsr2gebsrNnz(handle, dir, mb, nb, nnzb, dc, ptr, ind, high, wide, da, ptr2, H, W, &nnz2, room) == 0 &&
              nnz2 >= blocks_count(&a, H, W) && nnz2 <= most,
          "gebsr2gebsrNnz: %d", nnz2);
    check(fn(t, "gebsr2gebsr")(handle, dir, mb, nb, nnzb, dc, val, ptr, ind, high, wide, da, val2, ptr2, ind2, H, W, room) == 0,
          "gebsr2gebsr");
    blocks_check("gebsr2gebsr", type, &a, dir, base_a, H, W, 0, ptr2, ind2, val2);
    if (high == wide) {
        check(cusparseXcsr2bsrNnz(handle, dir, M, N, da, a.ptr, a.ind, high, dc, ptr, &nnzb) == 0 && nnzb == want, "csr2bsrNnz");
        check(fn(t, "csr2bsr")(handle, dir, M, N, da, a.val, a.ptr, a.ind, high, dc, val, ptr, ind) == 0, "csr2bsr");
        blocks_check("csr2bsr", type, &a, dir, base_c, high, high, 0, ptr, ind, val);
        check(fn(t, "bsr2csr")(handle, dir, mb, nb, dc, val, ptr, ind, high, da, val2, ptr2, ind2) == 0, "bsr2csr");
        blocks_check("bsr2csr", type, &a, dir, base_a, 1, 1, 0, ptr2, ind2, val2);
    }
    check(cusparseXcsr2gebsrNnz(handle, dir, M, N, da, a.ptr, a.ind, dc, ptr, 0, wide, &nnzb, room) ==
                  CUSPARSE_STATUS_INVALID_VALUE &&
              cusparseXcsr2gebsrNnz(handle, dir, M, N, da, a.ptr, a.ind, dc, ptr, high, wide, NULL, room) ==
                  CUSPARSE_STATUS_INVALID_VALUE,
          "no blocks of nothing");
    cusparseDestroyMatDescr(da), cusparseDestroyMatDescr(dc);
    cudaFree(ptr), cudaFree(ind), cudaFree(val), cudaFree(ptr2), cudaFree(ind2), cudaFree(val2);
    matrix_drop(&a);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cusparseCreate(&handle) == 0 && cudaMalloc(&room, 1 << 24) == 0, "create");
    for (const char *t = quick ? "c" : "sdcz"; *t; t++) {
        sum(*t, 0, 1), sum(*t, 1, 0);
        for (int op = 0; op < 3; op++)
            for (int k = 0; k < 4; k++)
                with_blocks(*t, 1 + op + k % 2, k & 1, k >> 1, op, (k + op) & 1);
        for (int block = 0; block < 4; block++)
            for (int k = 0; k < 4; k++)
                factors(*t, k & 1 ? 101 : 25, block, k >> 1);
        bands(*t, 3, 1, 0, 1, 1), bands(*t, 17, 1, 0, 1, 3), bands(*t, 9, 1, 0, 4, 1), bands(*t, 9, 1, 1, 4, 1),
            bands(*t, 8, 2, 1, 3, 1);
        columns(*t, 0), columns(*t, 1);
        conversions(*t, 0, 0, 1, 3, 2), conversions(*t, 1, 1, 0, 2, 4), conversions(*t, 1, 0, 0, 3, 3),
            conversions(*t, 0, 1, 1, 1, 1);
    }
    zero_pivots();
    indices(0), indices(1);
    counts();
    check(cusparseDestroy(handle) == 0, "destroy");
    return test_end("legacy");
}
