/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

static void run(void)
{
    for (long i = 0; i < copies; i++) {
#if defined OUTWARD
        CHECK(cudaMemcpy(host, DEV(A, char), bytes, cudaMemcpyDeviceToHost));
#elif defined BETWEEN
        CHECK(cudaMemcpy(DEV(B, char), DEV(A, char), bytes, cudaMemcpyDeviceToDevice));
#else
        CHECK(cudaMemcpy(DEV(B, char), HOST(A, char), bytes, cudaMemcpyHostToDevice));
#endif
    }
}
