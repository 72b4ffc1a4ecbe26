/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void tiny(__global int *words)
{
    int i = get_global_id(0) % 4096;

    words[i] = i;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    for (int i = 0; i < launches; i++)
        LAUNCH1("tiny", (long)block_count * 32, 32, BUF(WORDS));
}
#endif
