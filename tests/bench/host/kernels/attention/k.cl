/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define DEPTH 64

__kernel void scores(__global const float *query, __global const float *key, __global float *score, int count, float scale)
{
    int col = get_global_id(0), row = get_global_id(1), head = get_global_id(2);
    __global const float *q = query + ((long)head * count + row) * DEPTH, *k = key + ((long)head * count + col) * DEPTH;
    float sum = 0;

    if (row >= count || col >= count)
        return;
    for (int i = 0; i < DEPTH; i++)
        sum += q[i] * k[i];
    score[((long)head * count + row) * count + col] = sum * scale;
}

__kernel void normalise(__global float *score, int count)
{
    __local float part[64];
    int t = get_local_id(0);
    __global float *row = score + (long)get_group_id(0) * count;
    float most = -FLT_MAX, sum = 0;

    for (int i = t; i < count; i += 64)
        most = fmax(most, row[i]);
    part[t] = most;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 64; i++)
        most = fmax(most, part[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = t; i < count; i += 64) {
        row[i] = exp(row[i] - most);
        sum += row[i];
    }
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int i = 0; i < 64; i++)
        sum += part[i];
    for (int i = t; i < count; i += 64)
        row[i] /= sum;
}

__kernel void weigh(__global const float *score, __global const float *value, __global float *result, int count)
{
    int col = get_global_id(0), row = get_global_id(1), head = get_global_id(2);
    __global const float *weight = score + ((long)head * count + row) * count, *v = value + (long)head * count * DEPTH + col;
    float sum = 0;

    if (row >= count)
        return;
    for (int i = 0; i < count; i++)
        sum += weight[i] * v[i * DEPTH];
    result[((long)head * count + row) * DEPTH + col] = sum;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    const float scale = 0.125f;

    LAUNCH("scores", ROUND(length, 32), ROUND(length, 8), heads, 32, 8, 1, BUF(QUERY), BUF(KEY), BUF(SCORES), VAL(length),
           VAL(scale));
    LAUNCH1("normalise", heads * length * 64, 64, BUF(SCORES), VAL(length));
    LAUNCH("weigh", DEPTH, ROUND(length, 4), heads, DEPTH, 4, 1, BUF(SCORES), BUF(VALUE), BUF(RESULT), VAL(length));
}
#endif
