/* The steps of ours in LLVM's AMDGPU backend, for LLVM's llc to load. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/target.h"

__attribute__((constructor)) static void add_steps(void)
{
    ptx_amdgpu_backend();
}
