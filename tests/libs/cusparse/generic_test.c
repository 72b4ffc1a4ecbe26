/* The generic interface of cuSPARSE against loops over dense matrices in double.  Usage: generic_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

static int quick; /* on a simulated card, which is slow */
static cusparseHandle_t handle;
static char *room; /* on the device: 16 parts for functions that want one */
enum { PART = 1 << 22 };

static const cusparseFormat_t formats[] = { CUSPARSE_FORMAT_CSR, CUSPARSE_FORMAT_CSC, CUSPARSE_FORMAT_COO, CUSPARSE_FORMAT_BSR,
                                            CUSPARSE_FORMAT_SLICED_ELLPACK };
static const cudaDataType types[] = { CUDA_R_32F, CUDA_R_64F,  CUDA_C_32F, CUDA_C_64F,
                                      CUDA_R_16F, CUDA_R_16BF, CUDA_C_16F, CUDA_R_8I };

static void spmv(cusparseFormat_t format, cudaDataType type, int wide, int base, int op, int beta_zero, long rows, long cols)
{
    struct matrix a = matrix_make(format, type, wide, base, rows, cols, 40);
    cudaDataType compute = compute_of(type), out = type == CUDA_R_8I ? CUDA_R_32I : type;
    long nx = op ? rows : cols, ny = op ? cols : rows;
    cplx alpha = value_any(compute), beta = beta_zero ? 0 : value_any(compute), *x = dense_make(type, nx, 1, 101),
         *y = dense_make(out, ny, 1, 101);
    cplx *want = malloc((size_t)(ny + 1) * sizeof *want);
    void *dx = values_upload(type, x, nx), *dy = values_upload(out, y, ny);
    struct scalar sa, sb;
    cusparseDnVecDescr_t vx, vy;
    size_t size = 0;
    char what[96];
    snprintf(what, sizeof what, "SpMV format %d type %d wide %d base %d op %d beta 0 %d %ldx%ld", format, type, wide, base, op,
             beta_zero, rows, cols);
    for (long i = 0; i < ny; i++) {
        want[i] = beta * y[i];
        for (long k = 0; k < nx; k++)
            want[i] += alpha * op_element(a.dense, rows, op, i, k) * x[k];
    }
    check(cusparseCreateDnVec(&vx, nx, dx, type) == 0 && cusparseCreateDnVec(&vy, ny, dy, out) == 0, "vectors");
    void *pa = scalar_set(&sa, handle, compute, alpha), *pb = scalar_set(&sb, handle, compute, beta);
    check(cusparseSpMV_bufferSize(handle, op, pa, a.descr, vx, pb, vy, compute, 0, &size) == 0 && size > 0, "%s: size", what);
    int status = cusparseSpMV(handle, op, pa, a.descr, vx, pb, vy, compute, 0, room);
    if (check(status == 0, "%s: %d", what, status))
        values_check(out, dy, want, ny, what);
    cusparseDestroyDnVec(vx), cusparseDestroyDnVec(vy);
    cudaFree(dx), cudaFree(dy), cudaFree(sa.device), cudaFree(sb.device);
    free(x), free(y), free(want);
    matrix_drop(&a);
}

static void all_spmv(void)
{
    for (unsigned f = 0; f < 5; f++)
        for (unsigned t = 0; t < (quick ? 3u : 8u); t++)
            for (int k = 0; k < (quick ? 1 : 4); k++)
                for (int op = 0; op < 3; op++) {
                    cusparseSetPointerMode(handle, (op + k) % 2);
                    spmv(formats[f], types[t], k & 1, k >> 1, op, (int)t % 2, 12, 15);
                }
    cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
    for (int op = 0; op < 3 && !quick; op++) {
        spmv(CUSPARSE_FORMAT_CSR, CUDA_R_64F, 0, 0, op, 0, 1, 1);
        spmv(CUSPARSE_FORMAT_CSR, CUDA_R_64F, 0, 0, op, 0, 0, 5);
        spmv(CUSPARSE_FORMAT_COO, CUDA_R_64F, 0, 0, op, 0, 5, 0);
        spmv(CUSPARSE_FORMAT_CSR, CUDA_C_64F, 1, 1, op, 0, 67, 33);
    }
}

/* A dense matrix on the device, with room between its lines. */
struct dense {
    long rows, cols, ld, n;
    cudaDataType type;
    cusparseOrder_t order;
    cplx *all; /* as it lies in memory */
    void *device;
    cusparseDnMatDescr_t descr;
};

static struct dense dense_on_device(cudaDataType type, cusparseOrder_t order, long rows, long cols, int batch)
{
    long ld = (order == CUSPARSE_ORDER_COL ? rows : cols) + 3, lines = order == CUSPARSE_ORDER_COL ? cols : rows;
    struct dense d = { rows, cols, ld, ld * lines, type, order, dense_make(type, ld * lines * batch, 1, 101), NULL, NULL };
    d.device = values_upload(type, d.all, d.n * batch);
    check(cusparseCreateDnMat(&d.descr, rows, cols, ld, d.device, type, order) == 0, "dense");
    if (batch > 1)
        check(cusparseDnMatSetStridedBatch(d.descr, batch, d.n) == 0, "batch");
    return d;
}

static long dense_at(const struct dense *d, long i, long j)
{
    return d->order == CUSPARSE_ORDER_COL ? i + j * d->ld : i * d->ld + j;
}

static void dense_drop(struct dense *d)
{
    cusparseDestroyDnMat(d->descr);
    cudaFree(d->device);
    free(d->all);
}

static void spmm(cusparseFormat_t format, cudaDataType type, int opa, int opb, cusparseOrder_t ob, cusparseOrder_t oc, int batch,
                 long n)
{
    struct matrix a = matrix_make(format, type, 0, 0, 12, 9, 40);
    long m = opa ? 9 : 12, k = opa ? 12 : 9;
    struct dense b = dense_on_device(type, ob, opb ? n : k, opb ? k : n, batch), c = dense_on_device(type, oc, m, n, batch);
    cudaDataType compute = compute_of(type);
    cplx alpha = value_any(compute), beta = value_any(compute);
    struct scalar sa, sb;
    char what[96];
    snprintf(what, sizeof what, "SpMM format %d type %d ops %d %d orders %d %d batch %d", format, type, opa, opb, ob, oc, batch);
    for (int q = 0; q < batch; q++)
        for (long i = 0; i < m; i++)
            for (long j = 0; j < n; j++) {
                cplx sum = 0, *to = &c.all[q * c.n + dense_at(&c, i, j)];
                for (long l = 0; l < k; l++) {
                    cplx v = b.all[q * b.n + (opb ? dense_at(&b, j, l) : dense_at(&b, l, j))];
                    sum += op_element(a.dense, 12, opa, i, l) * (opb == 2 ? conj(v) : v);
                }
                *to = alpha * sum + beta * *to;
            }
    if (batch > 1 && format == CUSPARSE_FORMAT_CSR) /* one matrix for all */
        check(cusparseCsrSetStridedBatch(a.descr, batch, 0, 0) == 0, "batch");
    size_t size = 0;
    void *pa = scalar_set(&sa, handle, compute, alpha), *pb = scalar_set(&sb, handle, compute, beta);
    check(cusparseSpMM_bufferSize(handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, compute, 0, &size) == 0 && size > 0,
          "%s: size", what);
    int status = cusparseSpMM(handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, compute, 0, room);
    if (check(status == 0, "%s: %d", what, status))
        values_check(type, c.device, c.all, c.n * batch, what);
    cudaFree(sa.device), cudaFree(sb.device);
    dense_drop(&b), dense_drop(&c);
    matrix_drop(&a);
}

static void all_spmm(void)
{
    for (unsigned f = 0; f < 5; f++)
        for (unsigned t = 0; t < (quick ? 1u : 6u); t++)
            for (int opa = 0; opa < 3; opa++)
                for (int k = 0; k < 5; k++)
                    spmm(formats[f], types[t], opa, k == 4 ? 2 : k & 1, k & 2 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL,
                         (k + opa) & 1 ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL, 1, k == 3 ? 37 : 1 + k);
    spmm(CUSPARSE_FORMAT_CSR, CUDA_R_64F, 0, 0, CUSPARSE_ORDER_COL, CUSPARSE_ORDER_COL, 3, 4);
    spmm(CUSPARSE_FORMAT_CSR, CUDA_C_32F, 1, 0, CUSPARSE_ORDER_ROW, CUSPARSE_ORDER_ROW, 2, 5);
}

static void sddmm(cusparseFormat_t format, cudaDataType type, int opa, int opb)
{
    struct matrix c = matrix_make(format, type, 1, 1, 12, 9, 40);
    struct dense a = dense_on_device(type, CUSPARSE_ORDER_ROW, opa ? 7 : 12, opa ? 12 : 7, 1);
    struct dense b = dense_on_device(type, CUSPARSE_ORDER_COL, opb ? 9 : 7, opb ? 7 : 9, 1);
    struct dense back = dense_on_device(type, CUSPARSE_ORDER_COL, 12, 9, 1);
    cudaDataType compute = compute_of(type);
    cplx alpha = value_any(compute), beta = value_any(compute);
    struct scalar sa, sb;
    char what[64];
    snprintf(what, sizeof what, "SDDMM format %d type %d ops %d %d", format, type, opa, opb);
    for (long i = 0; i < 12; i++)
        for (long j = 0; j < 9; j++) {
            cplx sum = 0, v = c.dense[i + j * 12];
            for (long k = 0; k < 7; k++) {
                cplx u = a.all[opa ? dense_at(&a, k, i) : dense_at(&a, i, k)],
                     w = b.all[opb ? dense_at(&b, j, k) : dense_at(&b, k, j)];
                sum += (opa == 2 ? conj(u) : u) * (opb == 2 ? conj(w) : w);
            }
            back.all[dense_at(&back, i, j)] = !matrix_has(&c, i, j) ? 0 : alpha * sum + beta * v;
        }
    size_t size = 0;
    void *pa = scalar_set(&sa, handle, compute, alpha), *pb = scalar_set(&sb, handle, compute, beta);
    check(cusparseSDDMM_bufferSize(handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, compute, 0, &size) == 0 && size > 0,
          "%s: size", what);
    check(cusparseSDDMM_preprocess(handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, compute, 0, room) == 0, "%s: preprocess",
          what);
    int status = cusparseSDDMM(handle, opa, opb, pa, a.descr, b.descr, pb, c.descr, compute, 0, room);
    check(status == 0, "%s: %d", what, status);
    check(cusparseSparseToDense(handle, c.descr, back.descr, 0, room) == 0, "%s: to dense", what);
    values_check(type, back.device, back.all, back.n, what);
    cudaFree(sa.device), cudaFree(sb.device);
    dense_drop(&a), dense_drop(&b), dense_drop(&back);
    matrix_drop(&c);
}

/* To dense and back. */
static void conversions(cusparseFormat_t format, cudaDataType type, int wide, int base, long rows, long cols)
{
    struct matrix a = matrix_make(format, type, wide, base, rows, cols, 35);
    struct dense d = dense_on_device(type, base ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL, rows, cols, 1);
    cusparseSpMatDescr_t b;
    cusparseIndexType_t index = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    size_t size = 0;
    int64_t r, c, nnz = -1;
    char what[64];
    snprintf(what, sizeof what, "conversion format %d type %d wide %d base %d", format, type, wide, base);
    for (long i = 0; i < rows; i++)
        for (long j = 0; j < cols; j++)
            d.all[dense_at(&d, i, j)] = a.dense[i + j * rows];
    check(cusparseSparseToDense_bufferSize(handle, a.descr, d.descr, 0, &size) == 0 && size > 0, "%s: size", what);
    check(cusparseSparseToDense(handle, a.descr, d.descr, 0, room) == 0, "%s: to dense", what);
    values_check(type, d.device, d.all, d.n, what);
    if (format == CUSPARSE_FORMAT_COO) /* by rows, as this one is not */
        format = CUSPARSE_FORMAT_CSR;
    if (format == CUSPARSE_FORMAT_CSR || format == CUSPARSE_FORMAT_CSC) {
        long n_ptr = (format == CUSPARSE_FORMAT_CSR ? rows : cols) + 1, n = 0;
        void *ptr = upload(d.all, 0), *ind, *val;
        cudaFree(ptr);
        cudaMalloc(&ptr, (size_t)n_ptr * 8);
        check((format == CUSPARSE_FORMAT_CSR ? cusparseCreateCsr : cusparseCreateCsc)(&b, rows, cols, 0, ptr, NULL, NULL, index,
                                                                                      index, base, type) == 0,
              "create");
        check(cusparseDenseToSparse_bufferSize(handle, d.descr, b, 0, &size) == 0, "%s: size", what);
        check(cusparseDenseToSparse_analysis(handle, d.descr, b, 0, room) == 0, "%s: analysis", what);
        check(cusparseSpMatGetSize(b, &r, &c, &nnz) == 0 && r == rows && c == cols, "size");
        for (long i = 0; i < rows * cols; i++)
            n += a.dense[i] != 0;
        check(nnz == n, "%s: %ld elements, not %ld", what, (long)nnz, n);
        cudaMalloc(&ind, (size_t)n * 8 + 1), cudaMalloc(&val, (size_t)n * 16 + 1);
        check((format == CUSPARSE_FORMAT_CSR ? cusparseCsrSetPointers : cusparseCscSetPointers)(b, ptr, ind, val) == 0,
              "pointers");
        check(cusparseDenseToSparse_convert(handle, d.descr, b, 0, room) == 0, "%s: convert", what);
        struct matrix twin = matrix_of(format, type, wide, base, rows, cols, a.dense);
        long *p = index_download(wide, ptr, n_ptr), *q = index_download(wide, twin.ptr, n_ptr);
        long *i1 = index_download(wide, ind, n), *i2 = index_download(wide, twin.ind, n);
        cplx *v = values_download(type, twin.val, n);
        check(!memcmp(p, q, (size_t)n_ptr * sizeof *p) && !memcmp(i1, i2, (size_t)n * sizeof *i1), "%s: pattern", what);
        values_check(type, val, v, n, what);
        free(p), free(q), free(i1), free(i2), free(v);
        a.dense = NULL;
        matrix_drop(&twin);
        cusparseDestroySpMat(b);
        cudaFree(ptr), cudaFree(ind), cudaFree(val);
    }
    dense_drop(&d);
    matrix_drop(&a);
}

static void solve(cusparseFormat_t format, cudaDataType type, int op, int upper, int unit, long n, long nrhs, int opb)
{
    cplx *dense = dense_make(type, n, n, 30);
    cudaDataType compute = compute_of(type);
    char what[96];
    snprintf(what, sizeof what, "solve format %d type %d op %d upper %d unit %d n %ld nrhs %ld", format, type, op, upper, unit, n,
             nrhs);
    for (long i = 0; i < n; i++)
        for (long j = 0; j < n; j++) /* what is beyond the triangle is there, and must not count */
            dense[i + j * n] = i == j ? 4 : dense[i + j * n] / 4;
    struct matrix a = matrix_of(format, type, 0, 1, n, n, dense);
    struct dense x = dense_on_device(type, CUSPARSE_ORDER_COL, n, nrhs, 1),
                 b = dense_on_device(type, CUSPARSE_ORDER_ROW, opb ? nrhs : n, opb ? n : nrhs, 1);
    cplx alpha = 2;
    for (long i = 0; i < n; i++)
        for (long j = 0; j < nrhs; j++) {
            cplx sum = 0;
            for (long k = 0; k < n; k++) {
                long r = op ? k : i, c = op ? i : k;
                cplx v = r == c ? (unit ? 1 : 4) : (upper ? c > r : c < r) ? op_element(dense, n, op, i, k) : 0;
                sum += v * x.all[dense_at(&x, k, j)];
            }
            b.all[opb ? dense_at(&b, j, i) : dense_at(&b, i, j)] = sum / alpha;
        }
    cudaFree(b.device);
    b.device = values_upload(type, b.all, b.n);
    cusparseDnMatSetValues(b.descr, b.device);
    for (long j = 0; j < nrhs; j++) { /* gaps stay, the rest is found again */
        cplx *zeros = calloc((size_t)n, sizeof *zeros);
        void *z = values_upload(type, zeros, n);
        cudaMemcpy((char *)x.device + (size_t)(j * x.ld * type_size(type)), z, (size_t)(n * type_size(type)), 3);
        cudaFree(z);
        free(zeros);
    }
    struct scalar sa;
    void *pa = scalar_set(&sa, handle, compute, alpha);
    size_t size = 0;
    check(cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_FILL_MODE, &upper, sizeof upper) == 0 &&
              cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit) == 0,
          "attributes");
    int status = 0;
    if (nrhs == 1 && !opb) {
        cusparseSpSVDescr_t descr;
        cusparseDnVecDescr_t vb, vx;
        cplx *line = malloc((size_t)n * sizeof *line);
        for (long i = 0; i < n; i++)
            line[i] = b.all[dense_at(&b, i, 0)];
        void *db = values_upload(type, line, n);
        cusparseCreateDnVec(&vb, n, db, type), cusparseCreateDnVec(&vx, n, x.device, type);
        check(cusparseSpSV_createDescr(&descr) == 0, "descr");
        check(cusparseSpSV_solve(handle, op, pa, a.descr, vb, vx, compute, 0, descr) == CUSPARSE_STATUS_INVALID_VALUE,
              "solve before analysis");
        check(cusparseSpSV_bufferSize(handle, op, pa, a.descr, vb, vx, compute, 0, descr, &size) == 0 && size > 0, "%s: size",
              what);
        check(cusparseSpSV_analysis(handle, op, pa, a.descr, vb, vx, compute, 0, descr, room) == 0, "%s: analysis", what);
        status = cusparseSpSV_solve(handle, op, pa, a.descr, vb, vx, compute, 0, descr);
        cusparseSpSV_destroyDescr(descr);
        cudaDeviceSynchronize();
        cusparseDestroyDnVec(vb), cusparseDestroyDnVec(vx);
        cudaFree(db);
        free(line);
    } else {
        cusparseSpSMDescr_t descr;
        check(cusparseSpSM_createDescr(&descr) == 0, "descr");
        check(cusparseSpSM_bufferSize(handle, op, opb, pa, a.descr, b.descr, x.descr, compute, 0, descr, &size) == 0 && size > 0,
              "%s: size", what);
        check(cusparseSpSM_analysis(handle, op, opb, pa, a.descr, b.descr, x.descr, compute, 0, descr, room) == 0, "%s: analysis",
              what);
        status = cusparseSpSM_solve(handle, op, opb, pa, a.descr, b.descr, x.descr, compute, 0, descr);
        cusparseSpSM_destroyDescr(descr);
    }
    if (check(status == 0, "%s: %d", what, status))
        values_check(type, x.device, x.all, x.n, what);
    cudaFree(sa.device);
    dense_drop(&x), dense_drop(&b);
    matrix_drop(&a);
}

/* L x = b with the values of the analysis, with all of them twice as large, and with another diagonal then; x is 1, 2, 3 ... .
 * The matrix's own values stay, and the new ones may go once they are handed over. */
static void update(cusparseFormat_t format, cudaDataType type, int op, int many)
{
    enum { N = 9 };
    cplx *dense = dense_make(type, N, N, 40), line[2 * N] = { 0 };
    cudaDataType compute = compute_of(type);
    int upper = 0, unit = 0, gone = many ? 2 : 1;
    char what[96];
    for (int i = 0; i < N; i++)
        dense[i + i * N] = 4;
    struct matrix a = matrix_of(format, type, 0, 1, N, N, dense);
    cplx *own = values_download(type, a.val, a.nnz), *twice = calloc((size_t)a.nnz, sizeof *twice), fives[N];
    void *x = values_upload(type, line, 2 * N), *buffer = NULL, *values;
    struct scalar sa;
    void *pa = scalar_set(&sa, handle, compute, 1);
    cusparseSpSVDescr_t one;
    cusparseSpSMDescr_t some;
    cusparseDnVecDescr_t vb, vx;
    cusparseDnMatDescr_t mb, mx;
    size_t size = 0;
    cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_FILL_MODE, &upper, sizeof upper);
    cusparseSpMatSetAttribute(a.descr, CUSPARSE_SPMAT_DIAG_TYPE, &unit, sizeof unit);
    cusparseCreateDnVec(&vx, N, x, type), cusparseCreateDnMat(&mx, N, gone, N, x, type, CUSPARSE_ORDER_COL);
    check(cusparseSpSV_createDescr(&one) == 0 && cusparseSpSM_createDescr(&some) == 0, "descr");
    check(cusparseSpSV_updateMatrix(handle, one, x, CUSPARSE_SPSV_UPDATE_GENERAL) == CUSPARSE_STATUS_INVALID_VALUE &&
              cusparseSpSM_updateMatrix(handle, some, x, CUSPARSE_SPSM_UPDATE_GENERAL) == CUSPARSE_STATUS_INVALID_VALUE,
          "new values before the analysis");
    for (int step = 0; step < 3; step++) {
        double factor = step ? 2 : 1;
        for (int i = 0; i < gone * N; i++) {
            line[i] = 0;
            for (int k = 0; k < N; k++) {
                int r = op ? k : i % N, c = op ? i % N : k;
                cplx v = r == c ? (step == 2 ? 5 : 4 * factor) : c < r ? factor * op_element(dense, N, op, i % N, k) : 0;
                line[i] += v * (double)(k + 1 + i / N);
            }
        }
        void *b = values_upload(type, line, gone * N);
        cusparseCreateDnVec(&vb, N, b, type), cusparseCreateDnMat(&mb, N, gone, N, b, type, CUSPARSE_ORDER_COL);
        if (step == 0) {
            check((many ? cusparseSpSM_bufferSize(handle, op, 0, pa, a.descr, mb, mx, compute, 0, some, &size)
                        : cusparseSpSV_bufferSize(handle, op, pa, a.descr, vb, vx, compute, 0, one, &size)) == 0, "size");
            cudaMalloc(&buffer, size);
            check((many ? cusparseSpSM_analysis(handle, op, 0, pa, a.descr, mb, mx, compute, 0, some, buffer)
                        : cusparseSpSV_analysis(handle, op, pa, a.descr, vb, vx, compute, 0, one, buffer)) == 0, "analysis");
        } else {
            for (long k = 0; k < a.nnz; k++)
                twice[k] = 2 * own[k];
            for (int k = 0; k < N; k++)
                fives[k] = 5;
            values = step == 1 ? values_upload(type, twice, a.nnz) : values_upload(type, fives, N);
            check((many ? cusparseSpSM_updateMatrix(handle, some, values, (cusparseSpSMUpdate_t)(step - 1))
                        : cusparseSpSV_updateMatrix(handle, one, values, (cusparseSpSVUpdate_t)(step - 1))) == 0, "new values");
            cudaFree(values);
        }
        check((many ? cusparseSpSM_solve(handle, op, 0, pa, a.descr, mb, mx, compute, 0, some)
                    : cusparseSpSV_solve(handle, op, pa, a.descr, vb, vx, compute, 0, one)) == 0, "solve");
        for (int i = 0; i < gone * N; i++)
            line[i] = i % N + 1 + i / N;
        snprintf(what, sizeof what, "update %d of format %d type %d op %d, %d", step, format, type, op, gone);
        values_check(type, x, line, gone * N, what);
        cusparseDestroyDnVec(vb), cusparseDestroyDnMat(mb);
        cudaFree(b);
    }
    values_check(type, a.val, own, a.nnz, "the matrix's own values");
    cusparseSpSV_destroyDescr(one), cusparseSpSM_destroyDescr(some);
    cusparseDestroyDnVec(vx), cusparseDestroyDnMat(mx);
    cudaFree(sa.device), cudaFree(x), cudaFree(buffer);
    free(own), free(twice);
    matrix_drop(&a);
}

static void spgemm(cudaDataType type, int wide, int base, long m, long k, long n)
{
    struct matrix a = matrix_make(CUSPARSE_FORMAT_CSR, type, wide, base, m, k, 25),
                  b = matrix_make(CUSPARSE_FORMAT_CSR, type, wide, base, k, n, 25);
    struct dense back = dense_on_device(type, CUSPARSE_ORDER_COL, m, n, 1);
    cudaDataType compute = wide && compute_of(type) != CUDA_R_32I ? type : compute_of(type); /* halves, too */
    cplx alpha = value_any(compute) + 1;
    struct scalar sa, sb;
    cusparseSpGEMMDescr_t descr;
    cusparseSpMatDescr_t c;
    cusparseIndexType_t index = wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    void *ptr, *ind, *val, *pa = scalar_set(&sa, handle, compute, alpha), *pb = scalar_set(&sb, handle, compute, 0);
    size_t size = 0;
    int64_t r, s, nnz = -1, products = -1;
    char what[64];
    snprintf(what, sizeof what, "SpGEMM type %d wide %d base %d %ldx%ldx%ld", type, wide, base, m, k, n);
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            cplx sum = 0;
            for (long l = 0; l < k; l++)
                sum += a.dense[i + l * m] * b.dense[l + j * k];
            back.all[dense_at(&back, i, j)] = alpha * sum;
        }
    cudaMalloc(&ptr, (size_t)(m + 1) * 8);
    cusparseCreateCsr(&c, m, n, 0, ptr, NULL, NULL, index, index, base, type);
    check(cusparseSpGEMM_createDescr(&descr) == 0, "descr");
#define STAGE(name, ...) cusparseSpGEMM_##name(handle, 0, 0, pa, a.descr, b.descr, pb, c, compute, 0, descr, ##__VA_ARGS__)
    check(STAGE(workEstimation, &size, NULL) == 0 && size > 0 && STAGE(workEstimation, &size, room) == 0, "%s: estimation", what);
    check(cusparseSpGEMM_getNumProducts(descr, &products) == 0 && products >= 0, "%s: products", what);
    check(STAGE(copy) == CUSPARSE_STATUS_INVALID_VALUE, "copy before compute");
    check(STAGE(compute, &size, NULL) == 0 && size > 0 && STAGE(compute, &size, room + PART) == 0, "%s: compute", what);
    check(cusparseSpMatGetSize(c, &r, &s, &nnz) == 0 && nnz >= 0 && nnz <= products, "%s: nnz %ld", what, (long)nnz);
    cudaMalloc(&ind, (size_t)nnz * 8 + 1), cudaMalloc(&val, (size_t)nnz * 16 + 1);
    check(cusparseCsrSetPointers(c, ptr, ind, val) == 0 && STAGE(copy) == 0, "%s: copy", what);
    cusparseSpGEMM_destroyDescr(descr); /* the copy may still be on its way */
    check(cusparseSparseToDense(handle, c, back.descr, 0, room) == 0, "to dense");
    values_check(type, back.device, back.all, back.n, what);
    /* Once more, the pattern first, and twice the values: the second time on top. */
    cudaDeviceSynchronize();
    cusparseDestroySpMat(c);
    cusparseSpGEMM_createDescr(&descr);
    cusparseCreateCsr(&c, m, n, 0, ptr, NULL, NULL, index, index, base, type);
    size_t s2, s3, s4;
#define REUSE(name, ...) cusparseSpGEMMreuse_##name(handle, 0, 0, a.descr, b.descr, c, 0, descr, ##__VA_ARGS__)
    check(REUSE(workEstimation, &size, NULL) == 0 && REUSE(workEstimation, &size, room) == 0, "%s: reuse estimation", what);
    check(REUSE(nnz, &s2, NULL, &s3, NULL, &s4, NULL) == 0 &&
              REUSE(nnz, &s2, room + PART, &s3, room + 2 * PART, &s4, room + 3 * PART) == 0,
          "%s: reuse nnz", what);
    check(cusparseCsrSetPointers(c, ptr, ind, val) == 0, "pointers");
    check(REUSE(copy, &size, NULL) == 0 && REUSE(copy, &size, room + 4 * PART) == 0, "%s: reuse copy", what);
    check(cusparseSpGEMMreuse_compute(handle, 0, 0, pa, a.descr, b.descr, pb, c, compute, 0, descr) == 0, "%s: reuse compute",
          what);
    struct scalar s1;
    void *p1 = scalar_set(&s1, handle, compute, 1);
    check(cusparseSpGEMMreuse_compute(handle, 0, 0, pa, a.descr, b.descr, p1, c, compute, 0, descr) == 0, "%s: reuse compute",
          what);
    check(cusparseSparseToDense(handle, c, back.descr, 0, room) == 0, "to dense");
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++)
            back.all[dense_at(&back, i, j)] *= 2;
    values_check(type, back.device, back.all, back.n, what);
    cusparseSpGEMM_destroyDescr(descr);
    cusparseDestroySpMat(c);
    cudaFree(ptr), cudaFree(ind), cudaFree(val), cudaFree(sa.device), cudaFree(sb.device), cudaFree(s1.device);
    dense_drop(&back);
    matrix_drop(&a), matrix_drop(&b);
}

/* A product with far more columns than memory could have room for, of which few are met: they lie 2^33 apart. */
static void spgemm_wide(void)
{
    enum { M = 40, K = 30, COLUMNS = 97, PER_ROW = 6, MOST = M * COLUMNS };
    const int64_t apart = ((int64_t)1 << 33) + 1;
    static int64_t ap[M + 1], ai[M * PER_ROW], bp[K + 1], bi[K * PER_ROW], cp[M + 1], ci[MOST];
    static double av[M * PER_ROW], bv[K * PER_ROW], cv[MOST], want[M][COLUMNS];
    for (int i = 0; i < M; i++)
        for (int e = 0; e < PER_ROW; e++)
            ap[i + 1] = (i + 1) * PER_ROW, ai[i * PER_ROW + e] = (i + 5 * e) % K, av[i * PER_ROW + e] = 1 + (i * 3 + e) % 7;
    for (int i = 0; i < K; i++)
        for (int e = 0; e < PER_ROW; e++)
            bp[i + 1] = (i + 1) * PER_ROW, bi[i * PER_ROW + e] = (i * 11 % 16 + e * 16) % COLUMNS * apart,
                   bv[i * PER_ROW + e] = 1 + (i + e * 5) % 9;
    for (int i = 0; i < M; i++)
        for (int e = 0; e < PER_ROW; e++)
            for (int f = 0, k = (int)ai[i * PER_ROW + e]; f < PER_ROW; f++)
                want[i][bi[k * PER_ROW + f] / apart] += av[i * PER_ROW + e] * bv[k * PER_ROW + f];
    const void *from[] = { ap, ai, av, bp, bi, bv };
    const size_t sizes[] = { sizeof ap, sizeof ai, sizeof av, sizeof bp, sizeof bi, sizeof bv, sizeof cp, sizeof ci, sizeof cv };
    void *at[9];
    for (int i = 0; i < 9; i++) {
        cudaMalloc(&at[i], sizes[i]);
        if (i < 6)
            cudaMemcpy(at[i], from[i], sizes[i], 1);
    }
    cusparseSpMatDescr_t a, b, c;
    cusparseSpGEMMDescr_t descr;
    double one = 1, zero = 0;
    int64_t r, s, nnz = -1;
    size_t size;
    const int wide = CUSPARSE_INDEX_64I, type = CUDA_R_64F;
    cusparseSetPointerMode(handle, 0);
    cusparseCreateCsr(&a, M, K, M * PER_ROW, at[0], at[1], at[2], wide, wide, 0, type);
    cusparseCreateCsr(&b, K, COLUMNS * apart, K * PER_ROW, at[3], at[4], at[5], wide, wide, 0, type);
    cusparseCreateCsr(&c, M, COLUMNS * apart, 0, at[6], NULL, NULL, wide, wide, 0, type);
    cusparseSpGEMM_createDescr(&descr);
#define WIDE(name, ...) cusparseSpGEMM_##name(handle, 0, 0, &one, a, b, &zero, c, type, 0, descr, ##__VA_ARGS__)
    if (check(WIDE(workEstimation, &size, room) == 0 && WIDE(compute, &size, room + PART) == 0 &&
                  cusparseSpMatGetSize(c, &r, &s, &nnz) == 0 && nnz > 0 && nnz <= MOST &&
                  cusparseCsrSetPointers(c, at[6], at[7], at[8]) == 0 && WIDE(copy) == 0,
              "SpGEMM of many columns: %ld", (long)nnz)) {
        cudaMemcpy(cp, at[6], sizeof cp, 2), cudaMemcpy(ci, at[7], sizeof ci, 2), cudaMemcpy(cv, at[8], sizeof cv, 2);
        for (int i = 0; i < M; i++)
            for (int64_t e = cp[i]; e < cp[i + 1]; e++) {
                check(ci[e] % apart == 0 && (e == cp[i] || ci[e] > ci[e - 1]), "SpGEMM of many columns: column %ld", (long)ci[e]);
                want[i][ci[e] / apart % COLUMNS] -= cv[e];
            }
        for (int i = 0; i < M * COLUMNS; i++)
            check(want[i / COLUMNS][i % COLUMNS] == 0, "SpGEMM of many columns: [%d, %d]", i / COLUMNS, i % COLUMNS);
    }
    cusparseSpGEMM_destroyDescr(descr);
    cusparseDestroySpMat(a), cusparseDestroySpMat(b), cusparseDestroySpMat(c);
    for (int i = 0; i < 9; i++)
        cudaFree(at[i]);
}

static void vectors(cudaDataType type, int wide, int base)
{
    enum { N = 30, NNZ = 7 };
    long at[NNZ], host_at[NNZ];
    cplx *x = dense_make(type, NNZ, 1, 101), *y = dense_make(type, N, 1, 101), alpha = value_any(type), beta = value_any(type),
         dot = 0, got;
    cudaDataType compute = compute_of(type);
    struct scalar sa, sb;
    cusparseSpVecDescr_t vx;
    cusparseDnVecDescr_t vy;
    size_t size;
    for (int i = 0; i < NNZ; i++)
        at[i] = i * 4 + 1, host_at[i] = at[i] + base;
    void *ind = index_upload(wide, host_at, NNZ), *dx = values_upload(type, x, NNZ), *dy = values_upload(type, y, N);
    check(cusparseCreateSpVec(&vx, N, NNZ, ind, dx, wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, base, type) == 0, "vector");
    cusparseCreateDnVec(&vy, N, dy, type);
    for (int i = 0; i < NNZ; i++)
        dot += conj(x[i]) * y[at[i]];
    check(cusparseSpVV_bufferSize(handle, 2, vx, vy, &got, compute, &size) == 0, "SpVV size");
    void *result = scalar_set(&sa, handle, compute, 0);
    check(cusparseSpVV(handle, 2, vx, vy, result, compute, room) == 0, "SpVV");
    if (result == sa.device) {
        values_check(compute, result, &dot, 1, "SpVV");
    } else {
        got = value_get(compute, result, 0);
        check(cabs(got - dot) <= 1e-3 * (1 + cabs(dot)), "SpVV type %d: %g, not %g", type, creal(got), creal(dot));
    }
    cudaFree(sa.device);
    void *pa = scalar_set(&sa, handle, compute, alpha), *pb = scalar_set(&sb, handle, compute, beta);
    check(cusparseAxpby(handle, pa, vx, pb, vy) == 0, "Axpby");
    for (int i = 0; i < N; i++)
        y[i] *= beta;
    for (int i = 0; i < NNZ; i++)
        y[at[i]] += alpha * x[i];
    values_check(type, dy, y, N, "Axpby");
    cudaFree(dy), dy = values_upload(type, y, N);
    cusparseDnVecSetValues(vy, dy);
    check(cusparseGather(handle, vy, vx) == 0, "Gather");
    for (int i = 0; i < NNZ; i++)
        x[i] = y[at[i]];
    values_check(type, dx, x, NNZ, "Gather");
    check(cusparseRot(handle, pa, pb, vx, vy) == 0, "Rot");
    for (int i = 0; i < NNZ; i++) {
        cplx u = x[i], v = y[at[i]];
        x[i] = alpha * u + beta * v, y[at[i]] = alpha * v - beta * u;
    }
    values_check(type, dx, x, NNZ, "Rot x"), values_check(type, dy, y, N, "Rot y");
    check(cusparseScatter(handle, vx, vy) == 0, "Scatter");
    for (int i = 0; i < NNZ; i++)
        y[at[i]] = x[i];
    values_check(type, dy, y, N, "Scatter");
    cusparseDestroySpVec(vx), cusparseDestroyDnVec(vy);
    cudaFree(ind), cudaFree(dx), cudaFree(dy), cudaFree(sa.device), cudaFree(sb.device);
    free(x), free(y);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    unsigned n_types = quick ? 2 : 7;
    check(cusparseCreate(&handle) == 0 && cudaMalloc((void **)&room, 16 * PART) == 0, "create");
    all_spmv();
    all_spmm();
    for (unsigned f = 0; f < 5; f++)
        for (unsigned t = 0; t < n_types; t++) {
            sddmm(formats[f], types[t], (int)t % 3, (int)(t + f) % 3);
            conversions(formats[f], types[t], (int)t & 1, (int)f & 1, 12, 15);
        }
    conversions(CUSPARSE_FORMAT_CSR, CUDA_R_32F, 0, 0, 0, 3);
    conversions(CUSPARSE_FORMAT_CSR, CUDA_R_32F, 0, 0, 1, 1);
    for (unsigned t = 0; t < (quick ? 1u : 4u); t++)
        for (int op = 0; op < 3; op++)
            for (int k = 0; k < 4; k++)
                for (unsigned f = 0; f < 3; f++)
                    solve(formats[f], types[t], op, k & 1, k >> 1, 1 + 11 * (op + 1), f == 2 ? 3 : 1, f == 2 && k == 1);
    for (unsigned t = 0; t < (quick ? 1u : 4u); t++)
        for (int op = 0; op < 3; op++)
            for (unsigned f = 0; f < 3; f++)
                update(formats[f], types[t], op, 0), update(formats[f], types[t], op, 1);
    for (unsigned t = 0; t < n_types; t++) {
        spgemm(types[t], (int)t & 1, (int)(t >> 1) & 1, 13, 11, 17);
        cusparseSetPointerMode(handle, t & 1);
        vectors(types[t], (int)t & 1, (int)t >> 1 & 1);
        cusparseSetPointerMode(handle, CUSPARSE_POINTER_MODE_HOST);
    }
    spgemm(CUDA_R_16F, 1, 0, 9, 20, 14);
    spgemm(CUDA_C_16F, 1, 1, 9, 5, 14);
    spgemm(CUDA_R_64F, 0, 0, 1, 1, 1);
    spgemm(CUDA_R_64F, 0, 0, 3, 0, 4);
    spgemm_wide();
    cudaFree(room);
    check(cusparseDestroy(handle) == 0, "destroy");
    return test_end("generic");
}
