/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void triad(double *__restrict__ a, const double *__restrict__ b, const double *__restrict__ c, double factor,
                      int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        a[i] = b[i] + factor * c[i];
}

static void run(void)
{
    triad<<<256, 256>>>(DEV(A, double), DEV(B, double), DEV(C, double), s, n);
}
