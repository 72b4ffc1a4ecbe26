/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void triad(__global double *restrict a, __global const double *restrict b, __global const double *restrict c,
                    double factor, int count)
{
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        a[i] = b[i] + factor * c[i];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("triad", 256 * 256, 256, BUF(A), BUF(B), BUF(C), VAL(s), VAL(n));
}
#endif
