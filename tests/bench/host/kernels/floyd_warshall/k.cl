/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void floyd_warshall(__global int *way, int count, int k)
{
    int j = get_global_id(0), i = get_global_id(1);

    if (i >= count || j >= count)
        return;
    int through = way[i * count + k] + way[k * count + j];
    if (through < way[i * count + j])
        way[i * count + j] = through;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    for (int k = 0; k < n; k++)
        LAUNCH("floyd_warshall", ROUND(n, 32), ROUND(n, 8), 1, 32, 8, 1, BUF(WAY), VAL(n), VAL(k));
}
#endif
