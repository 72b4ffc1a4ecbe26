/* The steps of ours in LLVM's AMDGPU backend, for LLVM's llc to load. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/joins.h"

__attribute__((constructor)) static void add_steps(void)
{
    ptx_late_joins();
}
