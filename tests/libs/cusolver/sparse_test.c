/* The sparse part of cuSOLVER: a solution, multiplied with the matrix by plain loops, is the right-hand side. Without
 * CXSparse: skipped. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

static cusolverSpHandle_t handle;

static void *upload(const void *from, size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size + 16);
    cudaMemcpy(p, from, size, 1);
    return p;
}

/* All methods, on memory of the device and of the host, for a matrix of n rows. */
static void systems(char t, int n, int base, int order)
{
    static const char *const names[] = { "qr", "qrHost", "chol", "cholHost", "luHost" };
    cplx *dense = calloc((size_t)(n * n), sizeof *dense), *b = malloc((size_t)n * sizeof *b);
    void *val = malloc((size_t)(n * n) * 16), *rhs = malloc((size_t)n * 16), *x = malloc((size_t)n * 16);
    int *ptr = malloc((size_t)(n + 1) * 4), *ind = malloc((size_t)(n * n) * 4), singularity = 5;
    struct cusparseMatDescr descr = { .base = base };
    for (int method = 0; method < 5; method++) {
        int definite = method == 2 || method == 3, host = method & 1 || method == 4, nnz = 0;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                dense[i + j * n] = i == j ? 9 + n + creal(any_of(t)) : any() > 1 ? any_of(t) : 0;
        for (int j = 0; j < n && definite; j++)
            for (int i = 0; i < j; i++) /* the lower triangle counts; what is above must not */
                dense[i + j * n] = conj(dense[j + i * n]);
        for (int i = 0; i < n; i++) {
            ptr[i] = nnz + base;
            for (int j = 0; j < n; j++)
                if (dense[i + j * n] != 0)
                    put(t, val, nnz, definite && j > i ? 77 : dense[i + j * n]), ind[nnz++] = j + base;
            b[i] = any_of(t);
            put(t, rhs, i, b[i]);
        }
        ptr[n] = nnz + base;
        char name[64];
        snprintf(name, sizeof name, "cusolverSp%ccsrlsv%s", upper(t), names[method]);
        void *f = dlsym(RTLD_DEFAULT, name), *dv = upload(val, (size_t)nnz * size_of(t)), *dp = upload(ptr, (size_t)(n + 1) * 4),
             *di = upload(ind, (size_t)nnz * 4);
        void *db = upload(rhs, (size_t)n * size_of(t)), *dx = upload(rhs, (size_t)n * size_of(t));
#define SOLVE(R)                                                                                                               \
    ((cusolverStatus_t(*)(cusolverSpHandle_t, int, int, cusparseMatDescr_t, void *, void *, void *, void *, R, int, void *,    \
                          int *))f)(handle, n, nnz, &descr, host ? val : dv, host ? (void *)ptr : dp, host ? (void *)ind : di, \
                                    host ? rhs : db, (R)1e-12, order, host ? x : dx, &singularity)
        int status = real_of(t) == 's' ? (int)SOLVE(float) : (int)SOLVE(double);
        check(status == 0 && singularity == -1, "%s: %d, singular at %d", name, status, singularity);
        if (!host)
            cudaMemcpy(x, dx, (size_t)n * size_of(t), 2);
        for (int i = 0; i < n; i++) {
            cplx s = 0;
            for (int j = 0; j < n; j++)
                s += dense[i + j * n] * get(t, x, j);
            if (!check(cabs(s - b[i]) < (real_of(t) == 's' ? 1e-3 : 1e-10), "%s n %d: [%d] is %g%+gi, not %g%+gi", name, n, i,
                       creal(s), cimag(s), creal(b[i]), cimag(b[i])))
                break;
        }
        cudaFree(dv), cudaFree(dp), cudaFree(di), cudaFree(db), cudaFree(dx);
    }
    free(dense), free(b), free(val), free(rhs), free(x), free(ptr), free(ind);
}

static void singular(void)
{
    double val[] = { 1, 2, 2, 4 }, b[] = { 1, 1 }, x[2] = { 0 };
    int ptr[] = { 0, 2, 4 }, ind[] = { 0, 1, 0, 1 }, at = 5;
    struct cusparseMatDescr descr = { 0 };
    check(cusolverSpDcsrlsvqrHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at == 1 && isnan(x[0]),
          "singular: %d", at);
    check(cusolverSpDcsrlsvluHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at == 1, "singular: %d", at);
    val[3] = -4;
    check(cusolverSpDcsrlsvcholHost(handle, 2, 4, &descr, val, ptr, ind, b, 1e-10, 0, x, &at) == 0 && at >= 0, "not definite: %d",
          at);
    descr.type = CUSPARSE_MATRIX_TYPE_SYMMETRIC;
    check(cusolverSpDcsrlsvqrHost(handle, 2, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) ==
              CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED,
          "type");
    descr.type = CUSPARSE_MATRIX_TYPE_GENERAL;
    check(cusolverSpDcsrlsvqrHost(handle, -1, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) == CUSOLVER_STATUS_INVALID_VALUE, "n");
    check(cusolverSpDcsrlsvqrHost(NULL, 2, 4, &descr, val, ptr, ind, b, 0, 0, x, &at) == CUSOLVER_STATUS_NOT_INITIALIZED,
          "handle");
}

int main(void)
{
    void *library = dlopen("libcxsparse.so.3", RTLD_NOW);
    if (!library) {
        printf("there is no libcxsparse.so.3: skipped\n");
        return 77;
    }
    check(cusolverSpCreate(&handle) == 0, "create");
    for (const char *t = "sdcz"; *t; t++)
        for (int n = 1; n < 40; n += 9)
            systems(*t, n, n & 1, n % 4);
    singular();
    check(cusolverSpDestroy(handle) == 0, "destroy");
    return test_end("sparse");
}
