/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void saxpy(int count, float factor, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        y[i] = factor * x[i] + y[i];
}

static void run(void)
{
    saxpy<<<blocks(n, 256), 256>>>(n, a, DEV(X, float), DEV(Y, float));
}
