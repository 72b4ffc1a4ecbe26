/* cuSPARSE beside the functions themselves: streams, graphs, threads, status codes, descriptors.  Usage: seam_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../streams.h"
#include "matrix.h"

/* Of one element each: a row's offsets and its column, a value, and a place between. */
static int *pattern;
static float *one, *between;

static void step(test_stream stream, float *x)
{
    cusparseHandle_t handle = NULL;
    cusparseSpMatDescr_t a = NULL;
    cusparseDnVecDescr_t vx = NULL, vy = NULL;
    float four = 4, once = 1, none = 0, *y = between;
    check(cusparseCreate(&handle) == 0 && cusparseSetStream(handle, stream) == 0, "handle");
    check(cusparseCreateCsr(&a, 1, 1, 1, pattern, pattern, one, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == 0,
          "matrix");
    check(cusparseCreateDnVec(&vx, 1, x, CUDA_R_32F) == 0 && cusparseCreateDnVec(&vy, 1, y, CUDA_R_32F) == 0, "vectors");
    check(cusparseSpMV(handle, 0, &four, a, vx, &none, vy, CUDA_R_32F, 0, NULL) == 0, "SpMV");
    four = 100; /* host values count as they were at the call */
    check(cusparseSpMV(handle, 0, &once, a, vy, &none, vx, CUDA_R_32F, 0, NULL) == 0, "SpMV");
    cusparseDestroyDnVec(vx), cusparseDestroyDnVec(vy), cusparseDestroySpMat(a);
    check(cusparseDestroy(handle) == 0, "destroy");
}

/* As many threads have a place between each. */
static void step_alone(test_stream stream, float *x)
{
    cusparseHandle_t handle = NULL;
    cusparseSpVecDescr_t none = NULL;
    cusparseDnVecDescr_t vx = NULL;
    float four = 4;
    check(cusparseCreate(&handle) == 0 && cusparseSetStream(handle, stream) == 0, "handle");
    check(cusparseCreateSpVec(&none, 1, 0, NULL, NULL, CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == 0 &&
              cusparseCreateDnVec(&vx, 1, x, CUDA_R_32F) == 0,
          "vectors");
    check(cusparseAxpby(handle, &four, none, &four, vx) == 0, "Axpby");
    cusparseDestroySpVec(none), cusparseDestroyDnVec(vx);
    check(cusparseDestroy(handle) == 0, "destroy");
}

static void statuses(void)
{
    cusparseHandle_t handle = NULL;
    cusparseSpMatDescr_t a = NULL, ell = NULL;
    cusparseDnVecDescr_t vx = NULL, vy = NULL;
    cusparseDnMatDescr_t m = NULL;
    cusparsePointerMode_t mode = 7;
    cusparseFormat_t format;
    float f = 1;
    int version = 0, value = 0, fill = 1, wrong = 2;
    int64_t rows, cols, nnz;
    void *values = NULL;
    check(cusparseCreate(NULL) == CUSPARSE_STATUS_INVALID_VALUE, "create NULL");
    check(cusparseDestroy(NULL) == CUSPARSE_STATUS_NOT_INITIALIZED, "destroy NULL");
    check(cusparseCreate(&handle) == 0 && cusparseGetPointerMode(handle, &mode) == 0 && mode == CUSPARSE_POINTER_MODE_HOST,
          "mode");
    check(cusparseCreateCsr(&a, 2, 3, 1, pattern, pattern, one, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == 0,
          "matrix");
    check(cusparseCreateDnVec(&vx, 3, one, CUDA_R_32F) == 0 && cusparseCreateDnVec(&vy, 2, between, CUDA_R_32F) == 0, "vectors");
#define INVALID(call) check((call) == CUSPARSE_STATUS_INVALID_VALUE, #call)
    INVALID(cusparseCreateCsr(&ell, -1, 3, 1, pattern, pattern, one, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, CUDA_R_32F));
    INVALID(cusparseCreateCsr(&ell, 2, 3, 1, pattern, pattern, one, 9, CUSPARSE_INDEX_32I, 0, CUDA_R_32F));
    INVALID(cusparseCreateCsr(NULL, 2, 3, 1, pattern, pattern, one, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, 0, CUDA_R_32F));
    INVALID(cusparseCreateDnMat(&m, 4, 4, 3, one, CUDA_R_32F, CUSPARSE_ORDER_COL));
    INVALID(cusparseCreateDnVec(&vx, -1, one, CUDA_R_32F));
    INVALID(cusparseSpMV(handle, 0, &f, a, vy, &f, vx, CUDA_R_32F, 0, NULL)); /* shapes */
    INVALID(cusparseSpMV(handle, 5, &f, a, vx, &f, vy, CUDA_R_32F, 0, NULL));
    INVALID(cusparseSpMV(handle, 0, NULL, a, vx, &f, vy, CUDA_R_32F, 0, NULL));
    INVALID(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &wrong, sizeof wrong));
    INVALID(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, 1));
    INVALID(cusparseSetPointerMode(handle, 2));
    INVALID(cusparseXcoo2csr(handle, pattern, -1, 1, pattern, 0));
    check(cusparseSpMV(NULL, 0, &f, a, vx, &f, vy, CUDA_R_32F, 0, NULL) == CUSPARSE_STATUS_NOT_INITIALIZED, "no handle");
    check(cusparseSpMV(handle, 0, &f, a, vx, &f, vy, CUDA_R_8I, 0, NULL) == CUSPARSE_STATUS_NOT_SUPPORTED, "compute type");
    check(cusparseCreateBlockedEll(&ell, 4, 4, 2, 2, pattern, one, CUSPARSE_INDEX_32I, 0, CUDA_R_32F) == 0, "ell");
    check(cusparseSpMatGetFormat(ell, &format) == 0 && format == CUSPARSE_FORMAT_BLOCKED_ELL, "format");
    check(cusparseSpMatSetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill) == 0 &&
              cusparseSpMatGetAttribute(a, CUSPARSE_SPMAT_FILL_MODE, &value, sizeof value) == 0 && value == 1,
          "attribute");
    check(cusparseSpMatGetSize(a, &rows, &cols, &nnz) == 0 && rows == 2 && cols == 3 && nnz == 1, "size");
    check(cusparseSpMatGetValues(a, &values) == 0 && values == one && cusparseSpMatSetValues(a, between) == 0, "values");
    check(cusparseSpMVOp() == CUSPARSE_STATUS_NOT_SUPPORTED, "a stub");
    check(cusparseGetVersion(handle, &version) == 0 && version / 1000 == 12, "version %d", version);
    check(cusparseGetProperty(MAJOR_VERSION, &value) == 0 && value == 12, "property %d", value);
    check(!strcmp(cusparseGetErrorName(CUSPARSE_STATUS_INVALID_VALUE), "CUSPARSE_STATUS_INVALID_VALUE"), "name");
    cusparseDestroySpMat(a), cusparseDestroySpMat(ell), cusparseDestroyDnVec(vx), cusparseDestroyDnVec(vy);
    cusparseDestroy(handle);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick"), host[] = { 0, 1 };
    pattern = upload(host, sizeof host);
    one = float_on_device(1), between = float_on_device(0);
    test_order(step, quick);
    test_graph(step);
    test_threads(step_alone, quick ? 2 : 50);
    test_leaks(step, quick ? 200 : 10000);
    statuses();
    cudaFree(pattern), cudaFree(one), cudaFree(between);
    return test_end("seam");
}
