/* OpenCL 1.2 has no atomic sum of floats: a compare-and-exchange loop, in local memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#define DIMS 8
#define K 16
#define BLOCK 256

static void add_local(volatile __local float *to, float v)
{
    uint old = as_uint(*to), seen;

    while ((seen = atomic_cmpxchg((volatile __local uint *)to, old, as_uint(as_float(old) + v))) != old)
        old = seen;
}

static void add_global(volatile __global float *to, float v)
{
    uint old = as_uint(*to), seen;

    while ((seen = atomic_cmpxchg((volatile __global uint *)to, old, as_uint(as_float(old) + v))) != old)
        old = seen;
}

__kernel void kmeans(__global const float *points, __global const float *centres, __global int *labels,
                     volatile __global float *sums, volatile __global int *numbers, int count)
{
    __local float centre[K][DIMS];
    volatile __local float mine[K][DIMS];
    volatile __local int number[K];

    for (int i = get_local_id(0); i < K * DIMS; i += BLOCK) {
        centre[i / DIMS][i % DIMS] = centres[i];
        mine[i / DIMS][i % DIMS] = 0;
        if (i < K)
            number[i] = 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        float p[DIMS], least = FLT_MAX;
        int label = 0;
        for (int d = 0; d < DIMS; d++)
            p[d] = points[d * count + i];
        for (int c = 0; c < K; c++) {
            float far = 0;
            for (int d = 0; d < DIMS; d++)
                far += (p[d] - centre[c][d]) * (p[d] - centre[c][d]);
            if (far < least) {
                least = far;
                label = c;
            }
        }
        labels[i] = label;
        atomic_inc(&number[label]);
        for (int d = 0; d < DIMS; d++)
            add_local(&mine[label][d], p[d]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < K * DIMS; i += BLOCK) {
        add_global(&sums[i], mine[i / DIMS][i % DIMS]);
        if (i < K)
            atomic_add(&numbers[i], number[i]);
    }
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("kmeans", GRID * BLOCK, BLOCK, BUF(POINTS), BUF(CENTRES), BUF(LABELS), BUF(SUMS), BUF(NUMBERS), VAL(n));
}
#endif
