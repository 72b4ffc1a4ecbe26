// A program as users write it: matrices made by a kernel, a product by cuBLAS, the result compared with plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#else // nvcc alone, without the library's headers: what is used of it
struct cublasContext;
typedef cublasContext *cublasHandle_t;
enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *);
cublasStatus_t cublasDestroy_v2(cublasHandle_t);
cublasStatus_t cublasSetStream_v2(cublasHandle_t, cudaStream_t);
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const double *, const double *,
                              int, const double *, int, const double *, double *, int);
}
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasDgemm cublasDgemm_v2
#endif

#define CHECK(call)                                                                   \
    do {                                                                              \
        int status_ = (int)(call);                                                    \
        if (status_) {                                                                \
            std::printf("%s: %d\n", #call, status_);                                  \
            std::exit(1);                                                             \
        }                                                                             \
    } while (0)

__global__ void fill(double *out, int n, int step)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = i * step % 17 - 8;
}

__global__ void shift(double *out, int n, double by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += by;
}

int main()
{
    const int n = 75, count = n * n;
    const double alpha = 0.5, beta = 2;
    double *a, *b, *c;
    cublasHandle_t handle;
    cudaStream_t stream;
    std::vector<double> result(count);
    CHECK(cudaMalloc(&a, count * sizeof *a));
    CHECK(cudaMalloc(&b, count * sizeof *b));
    CHECK(cudaMalloc(&c, count * sizeof *c));
    CHECK(cudaStreamCreate(&stream));
    CHECK(cublasCreate(&handle));
    CHECK(cublasSetStream(handle, stream));
    // Kernels before and after the product, in one stream, without waiting between.
    fill<<<(count + 127) / 128, 128, 0, stream>>>(a, count, 3);
    fill<<<(count + 127) / 128, 128, 0, stream>>>(b, count, 5);
    fill<<<(count + 127) / 128, 128, 0, stream>>>(c, count, 7);
    CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &alpha, a, n, b, n, &beta, c, n));
    shift<<<(count + 127) / 128, 128, 0, stream>>>(c, count, 1000);
    CHECK(cudaMemcpyAsync(result.data(), c, count * sizeof *c, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += ((i + k * n) * 3 % 17 - 8) * ((j + k * n) * 5 % 17 - 8);
            double want = alpha * sum + beta * ((i + j * n) * 7 % 17 - 8) + 1000;
            if (std::fabs(result[i + j * n] - want) > 1e-9) {
                std::printf("(%d, %d): %g, not %g\n", i, j, result[i + j * n], want);
                return 1;
            }
        }
    CHECK(cublasDestroy(handle));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(c));
    std::puts("PASS");
    return 0;
}
