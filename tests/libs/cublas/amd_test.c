/* On a card, products of cuBLASLt and of GemmEx go to hipBLASLt where it is: what a stand-in of it is given. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cublasLt.h"
#include "types.h"

static const char wanted[] = "compute 2 0 0=112 1=111 2=36 4=14 3=address [14 9x5 9] [14 9x7 10] [14 5x7 5] [14 5x7 6] p1=1024 "
                             "alpha 2 beta 0 in place workspace 1024 stream set alive 5\n"
                             "compute 2 0 0=111 1=111 2=1 [0 4x4 4] l0=3 l1=16 [0 4x4 4] l0=3 l1=16 [0 4x4 4] l0=3 l1=16 [0 4x4 "
                             "4] l0=3 l1=16 alpha 1 beta 0.5 in place workspace 0 "
                             "stream set alive 5\n"
                             "compute 7 1 0=111 1=111 2=1 [1 2x2 2] [1 2x2 2] [1 2x2 2] [1 2x2 2] none\n";

int main(void)
{
    cublasHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c, d;
    void *p, *q, *r, *bias, *work, *stream;
    float alpha = 2, beta = 0, one = 1, half = 0.5f;
    double one_d = 1, zero_d = 0, eye[4] = { 1, 0, 0, 1 }, x[4] = { 1, 2, 3, 4 }, got[4];
    int op = CUBLAS_OP_T, epilogue = 36;
    cudaMalloc(&p, 4096), cudaMalloc(&q, 4096), cudaMalloc(&r, 4096), cudaMalloc(&bias, 256), cudaMalloc(&work, 1024);
    cudaStreamCreateWithFlags(&stream, 1);
    int status = (int)cublasCreate_v2(&handle) | (int)cublasSetStream_v2(handle, stream);
    status |= (int)cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(desc, 3, &op, 4), cublasLtMatmulDescSetAttribute(desc, 7, &epilogue, 4);
    cublasLtMatmulDescSetAttribute(desc, 8, &bias, 8);
    cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, 9, 5, 9), cublasLtMatrixLayoutCreate(&b, CUDA_R_16BF, 9, 7, 10);
    cublasLtMatrixLayoutCreate(&c, CUDA_R_16BF, 5, 7, 5), cublasLtMatrixLayoutCreate(&d, CUDA_R_16BF, 5, 7, 6);
    status |= (int)cublasLtMatmul((cublasLtHandle_t)(void *)handle, desc, &alpha, p, a, q, b, &beta, NULL, c, r, d, NULL, work,
                                  1024, stream);
    status |= (int)cublasGemmStridedBatchedEx(handle, 0, 0, 4, 4, 4, &one, p, CUDA_R_32F, 4, 16, q, CUDA_R_32F, 4, 16, &half, r,
                                              CUDA_R_32F, 4, 16, 3, CUBLAS_COMPUTE_32F, 0);
    /* What it has no algorithm for is computed on the processor. */
    cudaMemcpy(p, eye, sizeof eye, 1), cudaMemcpy(q, x, sizeof x, 1);
    status |= (int)cublasGemmEx(handle, 0, 0, 2, 2, 2, &one_d, p, CUDA_R_64F, 2, q, CUDA_R_64F, 2, &zero_d, r, CUDA_R_64F, 2,
                                CUBLAS_COMPUTE_64F, 0);
    cudaDeviceSynchronize();
    cudaMemcpy(got, r, sizeof got, 2);
    void *standin = dlopen("libhipblaslt.so", RTLD_NOW | RTLD_NOLOAD);
    const char *record = standin ? dlsym(standin, "standin_record") : "the stand-in was not opened\n";
    if (status || strcmp(record, wanted) || memcmp(got, x, sizeof x)) {
        printf("status %d, %g %g %g\n--- given:\n%s--- wanted:\n%s", status, got[0], got[1], got[2], record, wanted);
        return 1;
    }
    return 0;
}
