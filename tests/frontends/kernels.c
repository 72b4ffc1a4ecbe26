/* The kernels as C for LLVM's NVPTX backend. */
/* SPDX-License-Identifier: Apache-2.0 */
#define KERNEL __attribute__((nvptx_kernel))
#define SHARED __attribute__((address_space(3), loader_uninitialized))
#define CONSTANT
#define GLOBAL
#include "kernels.h"
