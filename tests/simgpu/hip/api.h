/* The prototypes of the simulated HIP's functions, from the provider's table. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_HIP_API_H
#define SIM_HIP_API_H

#include <stddef.h>

struct aw_ipc_handle;
#pragma GCC visibility push(default)
#define AW_HIP(name, required, params) int name params;
#include "provider/hip/hip.def"
#undef AW_HIP
#pragma GCC visibility pop

#endif
