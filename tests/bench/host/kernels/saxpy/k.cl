/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void saxpy(int count, float factor, __global const float *x, __global float *y)
{
    int i = get_global_id(0);

    if (i < count)
        y[i] = factor * x[i] + y[i];
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("saxpy", n, 256, VAL(n), VAL(a), BUF(X), BUF(Y));
}
#endif
