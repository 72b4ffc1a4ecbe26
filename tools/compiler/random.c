/* arc4random for packages that run on C libraries without it (glibc before 2.36): LLVM names files that are in the way so. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

uint32_t arc4random(void)
{
    uint32_t value;
    /* Up to 256 bytes come whole, once the kernel has them. */
    if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
        abort();
    return value;
}
