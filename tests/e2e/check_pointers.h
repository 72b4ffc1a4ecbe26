/* A sound kernel of check_memory.cu and check_init.cu. */
/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes that are off have the last address that a shadow tells of. */
__global__ void pointers(int *out, int *const *table)
{
    int *p = table[threadIdx.x];
    if ((size_t)p != 0x7fffffffffff)
        out[threadIdx.x] = *p;
}

static void pointers_run(int *out, int *in)
{
    int *host[32], **table;
    for (int i = 0; i < 32; i++)
        host[i] = i % 2 ? (int *)0x7fffffffffff : in + i;
    cudaMalloc(&table, sizeof host);
    cudaMemcpy(table, host, sizeof host, cudaMemcpyHostToDevice);
    pointers<<<1, 32>>>(out, table);
    cudaDeviceSynchronize();
    cudaFree(table);
}
