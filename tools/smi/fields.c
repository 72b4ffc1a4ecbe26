/* The table of what can be asked of a device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "smi_calls.h"

#define FIELD(id) static bool field_##id(const struct smi_device *d, char *text, size_t size)
#define PUT(...) (snprintf(text, size, __VA_ARGS__), true)

static const double MIB = 1 << 20;

FIELD(index) { return PUT("%u", d->index); }
FIELD(count) { return PUT("%u", d->count); }
FIELD(name) { return smi_nvmlDeviceGetName(d->handle, text, (unsigned)size) == NVML_SUCCESS; }
FIELD(uuid) { return smi_nvmlDeviceGetUUID(d->handle, text, (unsigned)size) == NVML_SUCCESS; }
FIELD(vbios) { return smi_nvmlDeviceGetVbiosVersion(d->handle, text, (unsigned)size) == NVML_SUCCESS; }
FIELD(driver) { return smi_nvmlSystemGetDriverVersion(text, (unsigned)size) == NVML_SUCCESS; }
FIELD(none) { return false; }

FIELD(timestamp)
{
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    size_t len = strftime(text, size, "%Y/%m/%d %H:%M:%S", localtime_r(&now.tv_sec, &tm));
    snprintf(text + len, size - len, ".%03ld", now.tv_nsec / 1000000);
    return true;
}

FIELD(minor)
{
    unsigned value;
    return smi_nvmlDeviceGetMinorNumber(d->handle, &value) == NVML_SUCCESS && PUT("%u", value);
}

/* ---- PCI. */

#define PCI_FIELD(id, ...)                                                      \
    FIELD(id)                                                                   \
    {                                                                           \
        nvmlPciInfo_t pci;                                                      \
        return smi_nvmlDeviceGetPciInfo_v3(d->handle, &pci) == NVML_SUCCESS && PUT(__VA_ARGS__); \
    }
PCI_FIELD(bus_id, "%s", pci.busId)
PCI_FIELD(domain, "0x%04X", pci.domain)
PCI_FIELD(bus, "0x%02X", pci.bus)
PCI_FIELD(device, "0x%02X", pci.device)
PCI_FIELD(device_id, "0x%08X", pci.pciDeviceId)
PCI_FIELD(sub_device_id, "0x%08X", pci.pciSubSystemId)

/* ---- Memory and load. */

#define MEMORY_FIELD(id)                                                        \
    FIELD(memory_##id)                                                          \
    {                                                                           \
        nvmlMemory_t memory;                                                    \
        return smi_nvmlDeviceGetMemoryInfo(d->handle, &memory) == NVML_SUCCESS && PUT("%.0f", (double)memory.id / MIB); \
    }
MEMORY_FIELD(total)
MEMORY_FIELD(used)
MEMORY_FIELD(free)

FIELD(busy)
{
    nvmlUtilization_t load;
    return smi_nvmlDeviceGetUtilizationRates(d->handle, &load) == NVML_SUCCESS && PUT("%u", load.gpu);
}

FIELD(memory_busy)
{
    nvmlUtilization_t load;
    return smi_nvmlDeviceGetUtilizationRates(d->handle, &load) == NVML_SUCCESS && PUT("%u", load.memory);
}

/* ---- Sensors and clocks. */

FIELD(temperature)
{
    unsigned value;
    return smi_nvmlDeviceGetTemperature(d->handle, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS && PUT("%u", value);
}

FIELD(fan)
{
    unsigned value;
    return smi_nvmlDeviceGetFanSpeed(d->handle, &value) == NVML_SUCCESS && PUT("%u", value);
}

FIELD(power)
{
    unsigned value;
    return smi_nvmlDeviceGetPowerUsage(d->handle, &value) == NVML_SUCCESS && PUT("%.2f", value / 1000.0);
}

FIELD(power_limit)
{
    unsigned value;
    return smi_nvmlDeviceGetPowerManagementLimit(d->handle, &value) == NVML_SUCCESS && PUT("%.2f", value / 1000.0);
}

#define CLOCK_FIELD(id, function, type)                                         \
    FIELD(id)                                                                   \
    {                                                                           \
        unsigned value;                                                         \
        return smi_##function(d->handle, type, &value) == NVML_SUCCESS && PUT("%u", value); \
    }
CLOCK_FIELD(clock_sm, nvmlDeviceGetClockInfo, NVML_CLOCK_SM)
CLOCK_FIELD(clock_memory, nvmlDeviceGetClockInfo, NVML_CLOCK_MEM)
CLOCK_FIELD(clock_max_sm, nvmlDeviceGetMaxClockInfo, NVML_CLOCK_SM)
CLOCK_FIELD(clock_max_memory, nvmlDeviceGetMaxClockInfo, NVML_CLOCK_MEM)

/* ---- Modes. */

FIELD(compute_cap)
{
    int major, minor;
    return smi_nvmlDeviceGetCudaComputeCapability(d->handle, &major, &minor) == NVML_SUCCESS && PUT("%d.%d", major, minor);
}

FIELD(compute_mode)
{
    static const char *const modes[] = { "Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process" };
    nvmlComputeMode_t mode;
    return smi_nvmlDeviceGetComputeMode(d->handle, &mode) == NVML_SUCCESS && mode >= 0 && mode < 4 && PUT("%s", modes[mode]);
}

#define SWITCH_FIELD(id, function)                                              \
    FIELD(id)                                                                   \
    {                                                                           \
        nvmlEnableState_t on;                                                   \
        return smi_##function(d->handle, &on) == NVML_SUCCESS && PUT("%s", on ? "Enabled" : "Disabled"); \
    }
SWITCH_FIELD(persistence, nvmlDeviceGetPersistenceMode)
SWITCH_FIELD(display_mode, nvmlDeviceGetDisplayMode)
SWITCH_FIELD(display_active, nvmlDeviceGetDisplayActive)

FIELD(pstate)
{
    nvmlPstates_t state;
    return smi_nvmlDeviceGetPerformanceState(d->handle, &state) == NVML_SUCCESS && PUT("P%d", state);
}

static const struct smi_field fields[] = {
    { "timestamp", NULL, NULL, field_timestamp },
    { "driver_version", NULL, NULL, field_driver },
    { "count", NULL, NULL, field_count },
    { "name", "gpu_name", NULL, field_name },
    { "serial", "gpu_serial", NULL, field_none },
    { "uuid", "gpu_uuid", NULL, field_uuid },
    { "index", NULL, NULL, field_index },
    { "minor_number", NULL, NULL, field_minor },
    { "pci.bus_id", "gpu_bus_id", NULL, field_bus_id },
    { "pci.domain", NULL, NULL, field_domain },
    { "pci.bus", NULL, NULL, field_bus },
    { "pci.device", NULL, NULL, field_device },
    { "pci.device_id", NULL, NULL, field_device_id },
    { "pci.sub_device_id", NULL, NULL, field_sub_device_id },
    { "pcie.link.gen.current", "pcie.link.gen.gpucurrent", NULL, field_none },
    { "pcie.link.gen.max", "pcie.link.gen.gpumax", NULL, field_none },
    { "pcie.link.width.current", NULL, NULL, field_none },
    { "pcie.link.width.max", NULL, NULL, field_none },
    { "vbios_version", NULL, NULL, field_vbios },
    { "persistence_mode", NULL, NULL, field_persistence },
    { "display_mode", NULL, NULL, field_display_mode },
    { "display_active", NULL, NULL, field_display_active },
    { "accounting.mode", NULL, NULL, field_none },
    { "driver_model.current", NULL, NULL, field_none },
    { "fan.speed", NULL, "%", field_fan },
    { "pstate", NULL, NULL, field_pstate },
    { "memory.total", NULL, "MiB", field_memory_total },
    { "memory.reserved", NULL, "MiB", field_none },
    { "memory.used", NULL, "MiB", field_memory_used },
    { "memory.free", NULL, "MiB", field_memory_free },
    { "compute_mode", NULL, NULL, field_compute_mode },
    { "compute_cap", NULL, NULL, field_compute_cap },
    { "utilization.gpu", NULL, "%", field_busy },
    { "utilization.memory", NULL, "%", field_memory_busy },
    { "utilization.encoder", NULL, "%", field_none },
    { "utilization.decoder", NULL, "%", field_none },
    { "ecc.mode.current", NULL, NULL, field_none },
    { "ecc.errors.corrected.volatile.total", NULL, NULL, field_none },
    { "ecc.errors.uncorrected.volatile.total", NULL, NULL, field_none },
    { "temperature.gpu", NULL, NULL, field_temperature },
    { "temperature.memory", NULL, NULL, field_none },
    { "power.management", NULL, NULL, field_none },
    { "power.draw", "power.draw.average", "W", field_power },
    { "power.draw.instant", NULL, "W", field_power },
    { "power.limit", NULL, "W", field_power_limit },
    { "enforced.power.limit", NULL, "W", field_power_limit },
    { "power.default_limit", NULL, "W", field_none },
    { "power.min_limit", NULL, "W", field_none },
    { "power.max_limit", NULL, "W", field_none },
    { "clocks.gr", "clocks.current.graphics", "MHz", field_clock_sm },
    { "clocks.sm", "clocks.current.sm", "MHz", field_clock_sm },
    { "clocks.mem", "clocks.current.memory", "MHz", field_clock_memory },
    { "clocks.video", "clocks.current.video", "MHz", field_none },
    { "clocks.max.gr", "clocks.max.graphics", "MHz", field_clock_max_sm },
    { "clocks.max.sm", NULL, "MHz", field_clock_max_sm },
    { "clocks.max.mem", "clocks.max.memory", "MHz", field_clock_max_memory },
    { "mig.mode.current", NULL, NULL, field_none },
    { "mig.mode.pending", NULL, NULL, field_none },
};

static bool same(const char *name, const char *text, size_t len)
{
    return name && strlen(name) == len && !strncmp(name, text, len);
}

const struct smi_field *smi_field_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (same(fields[i].name, name, len) || same(fields[i].also, name, len))
            return &fields[i];
    return NULL;
}

void smi_field_print(const struct smi_field *field, const struct smi_device *device, bool units, bool bare, char *ret_text,
                     size_t size)
{
    if (!field->write(device, ret_text, size)) {
        snprintf(ret_text, size, bare ? "N/A" : "[N/A]");
        return;
    }
    size_t len = strlen(ret_text);
    if (units && field->unit)
        snprintf(ret_text + len, size - len, " %s", field->unit);
}
