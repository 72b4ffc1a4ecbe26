/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"
#include <omp.h>

static void run(void)
{
    for (int i = 0; i < launches; i++) {
#pragma omp parallel
        if (omp_get_thread_num() == 0)
            ++*(volatile int *)HOST(COUNTER, int);
    }
}
