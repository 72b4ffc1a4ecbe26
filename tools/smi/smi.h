/* nvidia-smi: what its files share.  The stand-in asks NVML and words and formats the answers as NVIDIA's does; it changes no
 * setting. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_SMI_H
#define AW_TOOLS_SMI_H

#include <stdbool.h>
#include <stddef.h>

#include "nvml_types.h"

/* The functions of NVML that are asked, each smi_NAME here. */
#define SMI_NVML(X)                                                                                                     \
    X(nvmlInit_v2) X(nvmlShutdown) X(nvmlErrorString) X(nvmlSystemGetDriverVersion) X(nvmlSystemGetNVMLVersion)          \
    X(nvmlSystemGetCudaDriverVersion) X(nvmlSystemGetProcessName) X(nvmlDeviceGetCount_v2) X(nvmlDeviceGetHandleByIndex_v2) \
    X(nvmlDeviceGetHandleByUUID) X(nvmlDeviceGetHandleByPciBusId_v2) X(nvmlDeviceGetIndex) X(nvmlDeviceGetMinorNumber)   \
    X(nvmlDeviceGetName) X(nvmlDeviceGetUUID) X(nvmlDeviceGetPciInfo_v3) X(nvmlDeviceGetMemoryInfo)                      \
    X(nvmlDeviceGetUtilizationRates) X(nvmlDeviceGetTemperature) X(nvmlDeviceGetPowerUsage)                              \
    X(nvmlDeviceGetPowerManagementLimit) X(nvmlDeviceGetFanSpeed) X(nvmlDeviceGetClockInfo) X(nvmlDeviceGetMaxClockInfo) \
    X(nvmlDeviceGetComputeMode) X(nvmlDeviceGetPersistenceMode) X(nvmlDeviceGetDisplayMode) X(nvmlDeviceGetDisplayActive) \
    X(nvmlDeviceGetPerformanceState) X(nvmlDeviceGetCudaComputeCapability) X(nvmlDeviceGetVbiosVersion)                  \
    X(nvmlDeviceGetComputeRunningProcesses_v3) X(nvmlDeviceGetTopologyCommonAncestor)

/* nvidia-smi's exit codes. */
enum { SMI_FINE = 0, SMI_USAGE = 2, SMI_UNSUPPORTED = 3, SMI_NOT_FOUND = 6, SMI_NO_DRIVER = 9, SMI_NO_NVML = 12,
       SMI_OTHER = 255 };

/* Opens NVML and starts it; an exit code, after a message. */
int smi_open(void);
int smi_exit_code(nvmlReturn_t result);

struct smi_device {
    nvmlDevice_t handle;
    unsigned index, count; /* its own, and how many there are */
};

/* A field of --query-gpu and of -q. */
struct smi_field {
    const char *name, *also; /* the names it is asked by; `also` may be NULL */
    const char *unit;        /* "MiB", or NULL */
    /* Writes the value without its unit; false: not known. */
    bool (*write)(const struct smi_device *device, char *ret_text, size_t size);
};
const struct smi_field *smi_field_find(const char *name, size_t len);
/* The value with its unit, or "[N/A]" (`bare`: without brackets). */
void smi_field_print(const struct smi_field *field, const struct smi_device *device, bool units, bool bare, char *ret_text,
                     size_t size);

void smi_report_table(const struct smi_device *devices, unsigned n);
void smi_report_full(const struct smi_device *devices, unsigned n);
void smi_report_list(const struct smi_device *devices, unsigned n);
void smi_report_topology(const struct smi_device *devices, unsigned n);
/* --query-compute-apps; false: a field is not known, which was said. */
bool smi_report_processes(const struct smi_device *devices, unsigned n, const char *fields, bool header, bool units);

#endif
