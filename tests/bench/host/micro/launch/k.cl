/* SPDX-License-Identifier: Apache-2.0 */
#ifdef __OPENCL_VERSION__
__kernel void launch(__global int *counter)
{
    if (get_local_id(0) == 0)
        ++*counter;
}
#else
#include "opencl.h"
#include "work.h"

static void run(void)
{
    for (int i = 0; i < launches; i++) {
        LAUNCH1("launch", 32, 32, BUF(COUNTER));
#ifdef WAITED
        device_wait();
#endif
    }
}
#endif
