/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define GROUP 256

static float group_sum(float v, __local float *part)
{
    int t = get_local_id(0);

    part[t] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = GROUP / 2; d > 0; d >>= 1) {
        if (t < d)
            part[t] += part[t + d];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    v = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

__kernel void layer_norm(__global const float *from, __global const float *scale, __global const float *shift, __global float *to,
                         int width, float epsilon)
{
    __local float part[GROUP];
    __global const float *in = from + (long)get_group_id(0) * width;
    __global float *out = to + (long)get_group_id(0) * width;
    int t = get_local_id(0);
    float sum = 0, square = 0;

    for (int i = t; i < width; i += GROUP)
        sum += in[i];
    float mean = group_sum(sum, part) / width;
    for (int i = t; i < width; i += GROUP)
        square += (in[i] - mean) * (in[i] - mean);
    float inverse = rsqrt(group_sum(square, part) / width + epsilon);
    for (int i = t; i < width; i += GROUP)
        out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("layer_norm", rows * 256, 256, BUF(FROM), BUF(SCALE), BUF(SHIFT), BUF(TO), VAL(cols), VAL(tiny));
}
#endif
