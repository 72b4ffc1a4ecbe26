/* The types in the table of NVML.  Numbers, and the layout of what is filled in, are NVML's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVML_TYPES_H
#define AW_LIBS_NVML_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 } nvmlClockType_t;
typedef enum {
    NVML_TOPOLOGY_INTERNAL = 0,   /* on one board */
    NVML_TOPOLOGY_SINGLE = 10,    /* behind one PCIe switch */
    NVML_TOPOLOGY_MULTIPLE = 20,  /* behind several */
    NVML_TOPOLOGY_HOSTBRIDGE = 30,
    NVML_TOPOLOGY_NODE = 40,      /* one NUMA node */
    NVML_TOPOLOGY_SYSTEM = 50,
} nvmlGpuTopologyLevel_t;
enum { NVML_TEMPERATURE_GPU = 0 };
enum { NVML_P2P_CAPS_INDEX_READ = 0, NVML_P2P_CAPS_INDEX_WRITE, NVML_P2P_CAPS_INDEX_NVLINK, NVML_P2P_CAPS_INDEX_ATOMICS,
       NVML_P2P_CAPS_INDEX_PCI, NVML_P2P_CAPS_INDEX_UNKNOWN };
enum { NVML_P2P_STATUS_OK = 0, NVML_P2P_STATUS_NOT_SUPPORTED = 5 };

typedef int nvmlAffinityScope_t, nvmlClockId_t, nvmlComputeMode_t, nvmlDetachGpuState_t, nvmlDeviceVgpuCapability_t,
    nvmlDriverModel_t;
typedef int nvmlEccCounterType_t, nvmlEnableState_t, nvmlEncoderType_t, nvmlFanControlPolicy_t, nvmlGpuOperationMode_t;
typedef int nvmlGpuP2PCapsIndex_t, nvmlGpuVirtualizationMode_t, nvmlInforomObject_t, nvmlLedColor_t, nvmlMemoryErrorType_t;
typedef int nvmlMemoryLocation_t, nvmlNvLinkCapability_t, nvmlNvLinkErrorCounter_t, nvmlPageRetirementCause_t,
    nvmlPcieLinkState_t;
typedef int nvmlPcieUtilCounter_t, nvmlPerfPolicyType_t, nvmlPstates_t, nvmlRestrictedAPI_t, nvmlSamplingType_t;
typedef int nvmlTemperatureSensors_t, nvmlTemperatureThresholds_t, nvmlVgpuCapability_t, nvmlVgpuDriverCapability_t;

typedef struct aw_nvml_device *nvmlDevice_t;
typedef struct nvmlUnit_st *nvmlUnit_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlSystemEventSet_st *nvmlSystemEventSet_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlGpmSample_st *nvmlGpmSample_t;

typedef struct {
    char busIdLegacy[16]; /* "0000:65:00.0" */
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];       /* "00000000:65:00.0" */
} nvmlPciInfo_t;
typedef struct nvmlPciInfoExt nvmlPciInfoExt_t;

typedef struct { unsigned long long total, free, used; } nvmlMemory_t; /* bytes */
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } nvmlMemory_v2_t;
typedef struct nvmlBAR1Memory nvmlBAR1Memory_t;
typedef struct { unsigned gpu, memory; } nvmlUtilization_t; /* per cent */
/* degrees Celsius */
typedef struct { unsigned version; nvmlTemperatureSensors_t sensorType; int temperature; } nvmlTemperature_t;

/* One of nvmlDeviceGetFieldValues' questions, and its answer. */
typedef struct {
    unsigned fieldId;
    unsigned scopeId;
    long long timestamp;   /* us since 1970 */
    long long latencyUsec; /* how long reading took */
    int valueType;         /* which member of `value` */
    nvmlReturn_t nvmlReturn;
    union {
        double dVal;
        unsigned uiVal;
        unsigned long long ullVal;
    } value;
} nvmlFieldValue_t;
enum { NVML_VALUE_TYPE_UNSIGNED_INT = 1 };
enum { NVML_FI_DEV_NVLINK_LINK_COUNT = 91, NVML_FI_DEV_POWER_AVERAGE = 185, NVML_FI_DEV_POWER_INSTANT = 186 };

/* `version`: its size | its number << 24, here 2 and 3.  The first form has no version, and ends with the state. */
typedef struct {
    unsigned version;
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state; /* 0: there is no fabric */
    unsigned healthMask;
    unsigned char healthSummary; /* from 3 on */
} nvmlGpuFabricInfoV_t;
typedef struct {
    unsigned char clusterUuid[16];
    nvmlReturn_t status;
    unsigned cliqueId;
    unsigned char state;
} nvmlGpuFabricInfo_t;

typedef struct { unsigned pid; unsigned long long usedGpuMemory; } nvmlProcessInfo_v1_t; /* bytes, or all ones: not known */
typedef struct { unsigned pid; unsigned long long usedGpuMemory; unsigned gpuInstanceId, computeInstanceId; } nvmlProcessInfo_t;

#endif
