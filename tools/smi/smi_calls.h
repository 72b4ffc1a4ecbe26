/* NVML's functions by the name smi_NAME. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_SMI_CALLS_H
#define AW_TOOLS_SMI_CALLS_H

#include "smi.h"
#include "smi_nvml.h"

#define SMI_DECLARE(name) extern __typeof__(&name) smi_##name;
SMI_NVML(SMI_DECLARE)
#undef SMI_DECLARE

#endif
