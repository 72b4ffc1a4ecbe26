/* SPDX-License-Identifier: Apache-2.0 */
#include "openmp.h"
#include "work.h"

static void run(void)
{
    for (long i = 0; i < copies; i++) {
#ifdef OUTWARD
        memcpy(host, HOST(A, char), bytes);
#else
        memcpy(HOST(B, char), HOST(A, char), bytes);
#endif
        __asm__ volatile("" : : : "memory");
    }
}
