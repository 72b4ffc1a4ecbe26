/* A group of 64 for each row. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define GROUP 64
__kernel void softmax(__global const float *from, __global float *to, int width)
{
    __local float part[GROUP];
    int t = get_local_id(0);
    __global const float *in = from + (long)get_group_id(0) * width;
    __global float *out = to + (long)get_group_id(0) * width;
    float most = -FLT_MAX, sum = 0;

    for (int i = t; i < width; i += GROUP)
        most = fmax(most, in[i]);
    part[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < GROUP; i++)
        most = fmax(most, part[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = t; i < width; i += GROUP)
        sum += exp(in[i] - most);
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int i = 0; i < GROUP; i++)
        sum += part[i];
    float scale = 1.0f / sum;
    for (int i = t; i < width; i += GROUP)
        out[i] = exp(in[i] - most) * scale;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("softmax", rows * 64, 64, BUF(FROM), BUF(TO), VAL(cols));
}
#endif
