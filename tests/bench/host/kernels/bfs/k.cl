/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void bfs(__global const int *start, __global const int *edge, __global int *levels, int count, int last)
{
    int v = get_global_id(0);

    if (v >= count || levels[v] != last)
        return;
    for (int e = start[v]; e < start[v + 1]; e++)
        if (levels[edge[e]] < 0)
            levels[edge[e]] = last + 1;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    LAUNCH1("bfs", vertices, 256, BUF(START), BUF(EDGE), BUF(LEVEL), VAL(vertices), VAL(level));
}
#endif
