/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void nbody(const float4 *bodies, float4 *accelerations, int count, float softening)
{
    __shared__ float4 tile[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;

    for (int first = 0; first < count; first += BLOCK) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < BLOCK; j++) {
            float4 p = tile[j];
            float dx = p.x - me.x, dy = p.y - me.y, dz = p.z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float f = p.w * inv * inv * inv;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        __syncthreads();
    }
    accelerations[i] = make_float4(ax, ay, az, 0);
}

static void run(void)
{
    nbody<<<n / BLOCK, BLOCK>>>(DEV(BODIES, float4), DEV(ACCELERATIONS, float4), n, soft);
}
