/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define BLOCK 128
__kernel void nbody(__global const float4 *bodies, __global float4 *accelerations, int count, float softening)
{
    __local float4 tile[BLOCK];
    int i = get_global_id(0), t = get_local_id(0);
    float4 me = bodies[i];
    float ax = 0, ay = 0, az = 0;

    for (int first = 0; first < count; first += BLOCK) {
        tile[t] = bodies[first + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < BLOCK; j++) {
            float4 p = tile[j];
            float dx = p.x - me.x, dy = p.y - me.y, dz = p.z - me.z;
            float inv = rsqrt(dx * dx + dy * dy + dz * dz + softening);
            float f = p.w * inv * inv * inv;
            ax += dx * f;
            ay += dy * f;
            az += dz * f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    accelerations[i] = (float4)(ax, ay, az, 0);
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("nbody", n, BLOCK, BUF(BODIES), BUF(ACCELERATIONS), VAL(n), VAL(soft));
}
#endif
