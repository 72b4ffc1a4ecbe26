/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __OPENCL_VERSION__
#include "opencl.h"
#include "work.h"

static void run(void)
{
    cl_mem a = (cl_mem)bench.buffers[A].device, b = (cl_mem)bench.buffers[B].device;

    for (long i = 0; i < copies; i++) {
#if defined OUTWARD
        CHECK(clEnqueueReadBuffer(opencl.queue, a, CL_TRUE, 0, bytes, host, 0, NULL, NULL));
#elif defined BETWEEN
        CHECK(clEnqueueCopyBuffer(opencl.queue, a, b, 0, 0, bytes, 0, NULL, NULL));
#else
        CHECK(clEnqueueWriteBuffer(opencl.queue, b, CL_TRUE, 0, bytes, HOST(A, char), 0, NULL, NULL));
#endif
    }
    (void)a, (void)b;
}
#endif
