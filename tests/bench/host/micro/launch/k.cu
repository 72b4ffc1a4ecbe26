/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda.h"
#include "work.h"

__global__ void launch(int *counter)
{
    if (threadIdx.x == 0)
        ++*counter;
}

static void run(void)
{
    for (int i = 0; i < launches; i++) {
        launch<<<1, 32>>>(DEV(COUNTER, int));
#ifdef WAITED
        device_wait();
#endif
    }
}
