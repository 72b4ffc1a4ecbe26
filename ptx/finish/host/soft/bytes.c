/* The bytes of host/soft/soft.c's object file, which the host finisher links into kernels.  What is in it: host/soft/soft.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "soft_object:\n"
        "    .incbin \"" AW_SOFT_OBJECT "\"\n"
        "soft_object_end:\n"
        ".popsection");

extern const char soft_object[] __asm__("soft_object"), soft_object_end[] __asm__("soft_object_end");

struct ptx_bytes ptx_host_soft(void)
{
    return (struct ptx_bytes){ soft_object, (size_t)(soft_object_end - soft_object) };
}
