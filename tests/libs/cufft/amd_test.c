/* On a card, transforms go to hipFFT where it is: what a stand-in of it is given. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../verdict.h"
#include "cufft.h"

static const char wanted[] = "make rank 2 n 8..12 types 0 4 4 batch 1\n"
                             "stream set\nexec apart -1\nstream set\nexec apart -1\ndestroy\n"
                             "make rank 1 n 10..10 types 5 5 5 batch 3 in 20 2 50 out 10 1 11\n"
                             "stream set\nexec in place 1\ndestroy\n"
                             "make rank 1 n 4..4 types 4 4 4 batch 77\ndestroy\n";

int main(void)
{
    void *a, *b, *stream;
    cufftHandle plan;
    int n[1] = { 10 }, in[1] = { 20 }, out[1] = { 10 };
    float host[8] = { 0 };
    cudaMalloc(&a, 1 << 16), cudaMalloc(&b, 1 << 16);
    cudaStreamCreateWithFlags(&stream, 1);
    int status = (int)cufftPlan2d(&plan, 8, 12, CUFFT_R2C) | (int)cufftSetStream(plan, stream);
    status |= (int)cufftExecR2C(plan, a, b) | (int)cufftExecR2C(plan, a, b) | (int)cufftDestroy(plan);
    status |= (int)cufftPlanMany(&plan, 1, n, in, 2, 50, out, 1, 11, CUFFT_Z2Z, 3) | (int)cufftSetStream(plan, stream);
    status |= (int)cufftExecZ2Z(plan, a, a, 1) | (int)cufftDestroy(plan);
    /* What it has no plan for is computed on the processor. */
    float ones[8] = { 1, 0, 1, 0, 1, 0, 1, 0 };
    cudaMemcpy(a, ones, sizeof ones, 1);
    status |= (int)cufftPlan1d(&plan, 4, CUFFT_C2C, 77) | (int)cufftExecC2C(plan, a, b, -1) | (int)cufftDestroy(plan);
    cudaMemcpy(host, b, sizeof host, 2);
    void *standin = dlopen("libhipfft.so", RTLD_NOW | RTLD_NOLOAD);
    const char *record = standin ? dlsym(standin, "standin_record") : "the stand-in was not opened\n";
    if (status || strcmp(record, wanted) || host[0] != 4 || host[1] != 0 || host[2] != 0) {
        printf("status %d, %g %g %g\n--- given:\n%s--- wanted:\n%s", status, host[0], host[1], host[2], record, wanted);
        return 1;
    }
    return 0;
}
