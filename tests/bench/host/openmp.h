/* The OpenMP version of a benchmark: host buffers are the device's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OPENMP_H
#define OPENMP_H
#ifndef DEVICE
#define DEVICE "openmp"
#endif
#include "bench.h"

static void device_open(void)
{
}

static void device_restore(void)
{
    for (int i = 0; i < bench.count; i++)
        if (bench.buffers[i].role == INOUT)
            memcpy(bench.buffers[i].host, bench.buffers[i].first, bench.buffers[i].bytes);
}

static void device_wait(void)
{
}

static void device_fetch(void)
{
}
#endif
