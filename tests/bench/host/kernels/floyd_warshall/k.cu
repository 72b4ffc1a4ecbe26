/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void floyd_warshall(int *way, int count, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;

    if (i >= count || j >= count)
        return;
    int through = way[i * count + k] + way[k * count + j];
    if (through < way[i * count + j])
        way[i * count + j] = through;
}

static void run(void)
{
    for (int k = 0; k < n; k++)
        floyd_warshall<<<dim3(blocks(n, 32), blocks(n, 8)), dim3(32, 8)>>>(DEV(WAY, int), n, k);
}
