/* NVML's devices: what they are is read once, by the first nvmlInit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVML_DEVICE_H
#define AW_LIBS_NVML_DEVICE_H

#include "base/devinfo.h"
#include "machine.h"
#include "nvml_types.h"

struct aw_nvml_device {
    unsigned index;
    struct aw_devinfo info;
    struct aw_nvml_place place;
};

/* NVML_ERROR_UNINITIALIZED outside of nvmlInit and nvmlShutdown, NVML_ERROR_INVALID_ARGUMENT for what is no device. */
nvmlReturn_t aw_nvml_check(nvmlDevice_t device);
nvmlReturn_t aw_nvml_ready(void);
/* Copies with its end; NVML_ERROR_INSUFFICIENT_SIZE, NVML_ERROR_INVALID_ARGUMENT for NULL. */
nvmlReturn_t aw_nvml_text(char *ret_to, unsigned size, const char *text);

#endif
