/* What a device does: memory, load, sensors, processes, and how it is connected. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "common/driver.h"
#include "device.h"
#include "nvml_proto.h"

/* ---- Sensors. */

/* `unit`: what the reading is divided by. */
static nvmlReturn_t reading_give(nvmlDevice_t device, enum aw_nvml_reading what, uint64_t unit, unsigned *ret_value)
{
    uint64_t value;
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!ret_value)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!aw_nvml_read(&device->place, what, &value))
        return NVML_ERROR_NOT_SUPPORTED;
    *ret_value = (unsigned)(value / unit);
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned *temp)
{
    return sensor != NVML_TEMPERATURE_GPU ? NVML_ERROR_INVALID_ARGUMENT : reading_give(device, AW_NVML_TEMPERATURE, 1000, temp);
}

nvmlReturn_t awnvml_nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    unsigned value;
    if (!temperature)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != (sizeof *temperature | 1u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t result = awnvml_nvmlDeviceGetTemperature(device, temperature->sensorType, &value);
    if (result == NVML_SUCCESS)
        temperature->temperature = (int)value;
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned *milliwatts)
{
    return reading_give(device, AW_NVML_POWER, 1000, milliwatts);
}

nvmlReturn_t awnvml_nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned *milliwatts)
{
    return reading_give(device, AW_NVML_POWER_LIMIT, 1000, milliwatts);
}

nvmlReturn_t awnvml_nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned *percent)
{
    nvmlReturn_t result = reading_give(device, AW_NVML_FAN, 1, percent);
    if (result == NVML_SUCCESS)
        *percent = (*percent * 100 + 127) / 255;
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
    if (type == NVML_CLOCK_VIDEO)
        return NVML_ERROR_NOT_SUPPORTED;
    return reading_give(device, type == NVML_CLOCK_MEM ? AW_NVML_MEMORY_CLOCK : AW_NVML_CLOCK, 1000000, mhz);
}

nvmlReturn_t awnvml_nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned *mhz)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!mhz)
        return NVML_ERROR_INVALID_ARGUMENT;
    int khz = type == NVML_CLOCK_MEM ? device->info.memory_clock_khz : device->info.clock_khz;
    if (type == NVML_CLOCK_VIDEO || khz <= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *mhz = (unsigned)khz / 1000;
    return NVML_SUCCESS;
}

/* ---- Memory and load. */

static nvmlReturn_t memory_read(nvmlDevice_t device, uint64_t *ret_total, uint64_t *ret_used)
{
    struct aw_devinfo now;
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    *ret_total = device->info.total;
    if (!aw_nvml_read(&device->place, AW_NVML_MEMORY_USED, ret_used)) {
        if (aw_abi_device_describe((int)device->index, &now) != CUDA_SUCCESS)
            return NVML_ERROR_UNKNOWN;
        *ret_used = now.total - now.free;
    }
    if (*ret_used > *ret_total) /* the host device may be given less than the machine has */
        *ret_used = *ret_total;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    uint64_t total, used;
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = memory_read(device, &total, &used);
    if (result == NVML_SUCCESS)
        *memory = (nvmlMemory_t){ .total = total, .free = total - used, .used = used };
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    uint64_t total, used;
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != (sizeof *memory | 2u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t result = memory_read(device, &total, &used);
    if (result == NVML_SUCCESS)
        *memory = (nvmlMemory_v2_t){ .version = memory->version, .total = total, .free = total - used, .used = used };
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    unsigned busy, memory = 0;
    if (!utilization)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t result = reading_give(device, AW_NVML_BUSY, 1, &busy);
    if (result != NVML_SUCCESS)
        return result;
    reading_give(device, AW_NVML_MEMORY_BUSY, 1, &memory); /* 0 where it is not known: there is one answer for both */
    *utilization = (nvmlUtilization_t){ .gpu = busy, .memory = memory };
    return NVML_SUCCESS;
}

/* ---- The link to the machine's memory. */

/* GT/s of each generation of PCI Express from the first on, cut off as readings are; NVML numbers speeds as it does
 * generations. */
static const unsigned link_rates[] = { 2, 5, 8, 16, 32, 64 };
enum { LINK_RATES = sizeof link_rates / sizeof link_rates[0], HOST_LINK_WIDTH = 16 };

/* The host device's memory is the machine's, without a link between: programs that weigh copies by it are told `of_host`. */
static nvmlReturn_t link_read(nvmlDevice_t device, enum aw_nvml_reading what, unsigned of_host, unsigned *ret_value)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS || !ret_value || !device->info.host)
        return result != NVML_SUCCESS ? result : reading_give(device, what, 1, ret_value);
    *ret_value = of_host;
    return NVML_SUCCESS;
}

static nvmlReturn_t link_generation(nvmlDevice_t device, enum aw_nvml_reading what, unsigned *ret_generation)
{
    unsigned rate, i = 0;
    nvmlReturn_t result = link_read(device, what, link_rates[LINK_RATES - 1], ret_generation ? &rate : NULL);
    if (result != NVML_SUCCESS)
        return result;
    while (i < LINK_RATES && link_rates[i] != rate)
        i++;
    if (i == LINK_RATES)
        return NVML_ERROR_NOT_SUPPORTED;
    *ret_generation = i + 1;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned *generation)
{
    return link_generation(device, AW_NVML_LINK_RATE, generation);
}

nvmlReturn_t awnvml_nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned *generation)
{
    return link_generation(device, AW_NVML_LINK_RATE_MAX, generation);
}

nvmlReturn_t awnvml_nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned *lanes)
{
    return link_read(device, AW_NVML_LINK_WIDTH, HOST_LINK_WIDTH, lanes);
}

nvmlReturn_t awnvml_nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned *lanes)
{
    return link_read(device, AW_NVML_LINK_WIDTH_MAX, HOST_LINK_WIDTH, lanes);
}

/* In Mbit/s a lane. */
nvmlReturn_t awnvml_nvmlDeviceGetPcieSpeed(nvmlDevice_t device, unsigned *speed)
{
    enum { FIRST_MBITS = 2500 };
    unsigned generation;
    nvmlReturn_t result = link_generation(device, AW_NVML_LINK_RATE, speed ? &generation : NULL);
    if (result == NVML_SUCCESS)
        *speed = generation == 1 ? FIRST_MBITS : link_rates[generation - 1] * 1000;
    return result;
}

/* ---- Fields: numbers of any kind by their identifiers. */

static nvmlReturn_t field_read(nvmlDevice_t device, unsigned id, unsigned *ret_value)
{
    switch (id) {
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
        *ret_value = 0;
        return NVML_SUCCESS;
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
        return awnvml_nvmlDeviceGetPowerUsage(device, ret_value);
    default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
}

static long long now_us(void)
{
    return (long long)(aw_clock_wall_ns() / 1000);
}

/* Each has a result of its own; that of the function is about its arguments. */
nvmlReturn_t awnvml_nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (count < 1 || !values)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (nvmlFieldValue_t *v = values; v < values + count; v++) {
        unsigned value = 0;
        long long begin = now_us();
        v->nvmlReturn = field_read(device, v->fieldId, &value);
        v->timestamp = now_us();
        v->latencyUsec = v->timestamp - begin;
        v->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        v->value.ullVal = value;
    }
    return NVML_SUCCESS;
}

/* ---- Modes.  Of cards, what is not known is not supported. */

static nvmlReturn_t host_mode(nvmlDevice_t device, int *ret_mode, int mode)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!ret_mode)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!device->info.host)
        return NVML_ERROR_NOT_SUPPORTED;
    *ret_mode = mode;
    return NVML_SUCCESS;
}

enum { OFF = 0, COMPUTEMODE_DEFAULT = 0, PSTATE_0 = 0 };

nvmlReturn_t awnvml_nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t *display)
{
    return host_mode(device, display, OFF);
}

nvmlReturn_t awnvml_nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t *active)
{
    return host_mode(device, active, OFF);
}

nvmlReturn_t awnvml_nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t *state)
{
    return host_mode(device, state, PSTATE_0);
}

/* Any process may use any device, and none stays initialised without one. */
nvmlReturn_t awnvml_nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result == NVML_SUCCESS && !mode)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *mode = COMPUTEMODE_DEFAULT;
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result == NVML_SUCCESS && !mode)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *mode = OFF;
    return result;
}

/* ---- Processes. */

/* `infos` may be NULL with *count 0, to ask how many there are. */
static nvmlReturn_t processes_read(nvmlDevice_t device, unsigned *count, const void *infos, struct aw_nvml_process **ret)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!count || (*count && !infos))
        return NVML_ERROR_INVALID_ARGUMENT;
    struct aw_nvml_process *list = *count ? calloc(*count, sizeof *list) : NULL;
    if (*count && !list)
        return NVML_ERROR_UNKNOWN;
    unsigned room = *count;
    *count = aw_nvml_processes(&device->place, list, room);
    if (*count > room) {
        free(list);
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *ret = list;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_v1_t *infos)
{
    struct aw_nvml_process *list;
    nvmlReturn_t result = processes_read(device, count, infos, &list);
    if (result != NVML_SUCCESS)
        return result;
    for (unsigned i = 0; i < *count; i++)
        infos[i] = (nvmlProcessInfo_v1_t){ .pid = list[i].pid, .usedGpuMemory = list[i].memory };
    free(list);
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
{
    struct aw_nvml_process *list;
    nvmlReturn_t result = processes_read(device, count, infos, &list);
    if (result != NVML_SUCCESS)
        return result;
    for (unsigned i = 0; i < *count; i++)
        infos[i] = (nvmlProcessInfo_t){ .pid = list[i].pid, .usedGpuMemory = list[i].memory, .gpuInstanceId = UINT32_MAX,
                                        .computeInstanceId = UINT32_MAX };
    free(list);
    return NVML_SUCCESS;
}

/* Nobody draws through CUDA here, and there is no MPS. */
nvmlReturn_t awnvml_no_processes(nvmlDevice_t device, unsigned *count, void *infos)
{
    (void)infos;
    nvmlReturn_t result = aw_nvml_check(device);
    if (result == NVML_SUCCESS && !count)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *count = 0;
    return result;
}

/* ---- Topology. */

nvmlReturn_t awnvml_nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *path)
{
    int level;
    nvmlReturn_t result = aw_nvml_check(a);
    if (result == NVML_SUCCESS)
        result = aw_nvml_check(b);
    if (result != NVML_SUCCESS)
        return result;
    if (!path)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (a == b || (a->info.host && b->info.host))
        level = NVML_TOPOLOGY_INTERNAL;
    else if (a->info.host || b->info.host || !aw_nvml_topology(&a->place, &b->place, &level))
        return NVML_ERROR_NOT_SUPPORTED;
    *path = (nvmlGpuTopologyLevel_t)level;
    return NVML_SUCCESS;
}

/* What the devices reach of each other's memory is what cuDeviceCanAccessPeer says; none has NVLink. A device reaches its own. */
nvmlReturn_t awnvml_nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t index, int *p2p)
{
    nvmlReturn_t result = aw_nvml_check(a);
    if (result == NVML_SUCCESS)
        result = aw_nvml_check(b);
    if (result != NVML_SUCCESS)
        return result;
    if (!p2p || index < NVML_P2P_CAPS_INDEX_READ || index >= NVML_P2P_CAPS_INDEX_UNKNOWN)
        return NVML_ERROR_INVALID_ARGUMENT;
    bool reads = index == NVML_P2P_CAPS_INDEX_READ || index == NVML_P2P_CAPS_INDEX_WRITE;
    bool reaches = a == b || (a->info.peers >> b->index & 1);
    *p2p = reads && reaches ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

/* No device here has links of NVLink's. */
nvmlReturn_t awnvml_no_link(nvmlDevice_t device, unsigned link, void *ret)
{
    enum { LINKS = 18 };
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    return ret && link < LINKS ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

/* What no device here has: a mode of Windows' driver, encoders, parts of its own (MIG). */
nvmlReturn_t awnvml_no_pair(nvmlDevice_t device, void *first, void *second)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    return first && second ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

/* ... reasons to run slower than it might, and memory that counts its errors. */
nvmlReturn_t awnvml_no_answer(nvmlDevice_t device, void *ret)
{
    return awnvml_no_pair(device, ret, ret);
}

nvmlReturn_t awnvml_no_errors(nvmlDevice_t device, nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter, void *ret)
{
    enum { TYPES = 2, COUNTERS = 2 };
    return awnvml_no_pair(device, ret, type < TYPES && counter < COUNTERS ? ret : NULL);
}

nvmlReturn_t awnvml_no_mig(nvmlDevice_t device, unsigned *ret_none)
{
    return awnvml_no_processes(device, ret_none, NULL);
}

nvmlReturn_t awnvml_nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index, nvmlDevice_t *ret)
{
    (void)index;
    return awnvml_no_pair(device, ret, ret);
}

nvmlReturn_t awnvml_nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *info)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result == NVML_SUCCESS && !info)
        result = NVML_ERROR_INVALID_ARGUMENT;
    if (result == NVML_SUCCESS)
        *info = (nvmlGpuFabricInfo_t){ .status = NVML_ERROR_NOT_SUPPORTED };
    return result;
}

nvmlReturn_t awnvml_nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    enum { SECOND = 36 | 2 << 24, THIRD = sizeof *info | 3 << 24 };
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!info)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != SECOND && info->version != THIRD)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlGpuFabricInfoV_t none = { .version = info->version, .status = NVML_ERROR_NOT_SUPPORTED };
    memcpy(info, &none, info->version & 0xffffff);
    return NVML_SUCCESS;
}

/* ---- What is near: of both scopes the same. */

static nvmlReturn_t near_give(nvmlDevice_t device, bool nodes, unsigned words, unsigned long *set, nvmlAffinityScope_t scope)
{
    enum { NODE = 0, SOCKET = 1 };
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!words || !set || (scope != NODE && scope != SOCKET))
        return NVML_ERROR_INVALID_ARGUMENT;
    return aw_nvml_near(&device->place, nodes, set, words) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t awnvml_nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned words, unsigned long *set)
{
    return near_give(device, false, words, set, 0);
}

nvmlReturn_t awnvml_nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned words, unsigned long *set,
                                                        nvmlAffinityScope_t scope)
{
    return near_give(device, false, words, set, scope);
}

nvmlReturn_t awnvml_nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned words, unsigned long *set,
                                                nvmlAffinityScope_t scope)
{
    return near_give(device, true, words, set, scope);
}
