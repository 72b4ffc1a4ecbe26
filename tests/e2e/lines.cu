// One line takes the time of the kernel, for watch.py: `anywarp profile` must find it.
// SPDX-License-Identifier: Apache-2.0
__global__ void spin(float *p, int n)
{
    float x = p[threadIdx.x];
    for (int i = 0; i < n; i++)
        x = sqrtf(x * 1.0001f + 1.0f / (x + 2)); /* line 7 */
    p[threadIdx.x] = x;
}

int main()
{
    float *p;
    cudaMalloc(&p, 4096);
    cudaMemset(p, 0, 4096);
    spin<<<4096, 256>>>(p, 1000);
    return cudaDeviceSynchronize();
}
