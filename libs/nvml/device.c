/* Start and end, and who the devices are. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/driver.h"
#include "nvml_proto.h"

enum { DEVICES_MAX = 64 };
static struct {
    pthread_mutex_t lock;
    unsigned uses; /* nvmlInit without nvmlShutdown; atomic */
    unsigned n;
    int driver_version;
    struct aw_nvml_device devices[DEVICES_MAX];
} nvml = { .lock = PTHREAD_MUTEX_INITIALIZER };

nvmlReturn_t aw_nvml_ready(void)
{
    return __atomic_load_n(&nvml.uses, __ATOMIC_ACQUIRE) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t aw_nvml_check(nvmlDevice_t device)
{
    if (aw_nvml_ready() != NVML_SUCCESS)
        return NVML_ERROR_UNINITIALIZED;
    return device >= nvml.devices && device < nvml.devices + nvml.n ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t aw_nvml_text(char *ret_to, unsigned size, const char *text)
{
    if (!ret_to)
        return NVML_ERROR_INVALID_ARGUMENT;
    size_t len = strlen(text);
    if (len >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(ret_to, text, len + 1);
    return NVML_SUCCESS;
}

/* ---- Start and end. */

static nvmlReturn_t devices_read(void)
{
    CUresult result = CUDA_SUCCESS;
    while (nvml.n < DEVICES_MAX) {
        struct aw_nvml_device *d = &nvml.devices[nvml.n];
        result = aw_abi_device_describe((int)nvml.n, &d->info);
        if (result != CUDA_SUCCESS)
            break;
        d->index = nvml.n++;
        d->place.host = d->info.host;
        snprintf(d->place.pci, sizeof d->place.pci, "%04x:%02x:%02x.0", (unsigned)d->info.pci_domain & 0xffff,
                 (unsigned)d->info.pci_bus & 0xff, (unsigned)d->info.pci_device & 0xff);
    }
    nvml.driver_version = nvml.n ? nvml.devices[0].info.driver_version : 0;
    return nvml.n ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

nvmlReturn_t awnvml_nvmlInitWithFlags(unsigned flags)
{
    (void)flags; /* both that there are ask for less than what is done here */
    nvmlReturn_t result = NVML_SUCCESS;
    pthread_mutex_lock(&nvml.lock);
    if (!nvml.n)
        result = devices_read();
    if (result == NVML_SUCCESS) {
        if (!nvml.uses)
            aw_nvml_busy_start();
        __atomic_fetch_add(&nvml.uses, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&nvml.lock);
    return result;
}

nvmlReturn_t awnvml_nvmlInit_v2(void)
{
    return awnvml_nvmlInitWithFlags(0);
}

nvmlReturn_t awnvml_nvmlShutdown(void)
{
    pthread_mutex_lock(&nvml.lock);
    nvmlReturn_t result = aw_nvml_ready();
    if (result == NVML_SUCCESS)
        __atomic_fetch_sub(&nvml.uses, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&nvml.lock);
    return result;
}

const char *awnvml_nvmlErrorString(nvmlReturn_t result)
{
    static const char *const texts[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions", "Already Initialized",
        "Not Found",
        "Insufficient Size", "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
        "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM", "GPU is lost", "GPU requires reset",
        "GPU access blocked by the operating system", "Driver/library version mismatch", "In use by another client",
        "Insufficient Memory", "No data", "VGPU ECC not supported", "Insufficient Resources", "Frequency not supported",
        "Argument version mismatch", "Deprecated", "System not ready", "No GPUs were found", "Invalid state",
        "Reset type not supported",
    };
    return result >= 0 && (size_t)result < sizeof texts / sizeof texts[0] ? texts[result] : "Unknown Error";
}

/* ---- Versions.  Programs compare NVIDIA's driver version with the least that a CUDA needs, so it is that of the CUDA we are. */

static const char *driver_version(void)
{
    static const struct {
        int cuda;
        const char *driver;
    } first[] = { { 13000, "580.0" }, { 12090, "575.0" }, { 12080, "570.0" }, { 12060, "560.0" }, { 12050, "555.0" },
                  { 12040, "550.0" }, { 12030, "545.0" }, { 12020, "535.0" }, { 12010, "530.0" }, { 12000, "525.0" } };
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++)
        if (nvml.driver_version >= first[i].cuda)
            return first[i].driver;
    return "520.0";
}

nvmlReturn_t awnvml_nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    nvmlReturn_t result = aw_nvml_ready();
    return result != NVML_SUCCESS ? result : aw_nvml_text(version, length, driver_version());
}

nvmlReturn_t awnvml_nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    char text[32];
    nvmlReturn_t result = aw_nvml_ready();
    snprintf(text, sizeof text, "%d.%s", nvml.driver_version / 1000, driver_version());
    return result != NVML_SUCCESS ? result : aw_nvml_text(version, length, text);
}

nvmlReturn_t awnvml_nvmlSystemGetCudaDriverVersion(int *version)
{
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = nvml.driver_version;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    char path[64], text[4096];
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    ssize_t len = readlink(path, text, sizeof text - 1);
    if (len < 0)
        return NVML_ERROR_NOT_FOUND;
    text[len] = 0;
    return aw_nvml_text(name, length, text);
}

nvmlReturn_t awnvml_nvmlUnitGetCount(unsigned *count)
{
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

/* ---- Handles. */

nvmlReturn_t awnvml_nvmlDeviceGetCount_v2(unsigned *count)
{
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = nvml.n;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!device || index >= nvml.n)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = &nvml.devices[index];
    return NVML_SUCCESS;
}

static void uuid_text(const struct aw_nvml_device *d, char ret_text[48])
{
    const uint8_t *u = d->info.uuid;
    snprintf(ret_text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3],
             u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

nvmlReturn_t awnvml_nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char text[48];
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!uuid || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < nvml.n; i++) {
        uuid_text(&nvml.devices[i], text);
        if (!strcasecmp(text, uuid)) {
            *device = &nvml.devices[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t awnvml_nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *device)
{
    unsigned domain = 0, bus, dev, function = 0;
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    if (!id || !device || (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &dev, &function) < 3 &&
                           (domain = 0, sscanf(id, "%x:%x.%x", &bus, &dev, &function) < 2)))
        return NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < nvml.n; i++) {
        const struct aw_devinfo *d = &nvml.devices[i].info;
        if ((unsigned)d->pci_domain == domain && (unsigned)d->pci_bus == bus && (unsigned)d->pci_device == dev && !function) {
            *device = &nvml.devices[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

/* No device here tells a serial number. */
nvmlReturn_t awnvml_nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    nvmlReturn_t result = aw_nvml_ready();
    if (result != NVML_SUCCESS)
        return result;
    return serial && device ? NVML_ERROR_NOT_FOUND : NVML_ERROR_INVALID_ARGUMENT;
}

/* ---- Who they are. */

static nvmlReturn_t number_give(nvmlDevice_t device, unsigned *ret_value, unsigned value)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!ret_value)
        return NVML_ERROR_INVALID_ARGUMENT;
    *ret_value = value;
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    return number_give(device, index, aw_nvml_check(device) == NVML_SUCCESS ? device->index : 0);
}

nvmlReturn_t awnvml_nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *minor)
{
    return awnvml_nvmlDeviceGetIndex(device, minor);
}

nvmlReturn_t awnvml_nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned *several)
{
    return number_give(device, several, 0);
}

nvmlReturn_t awnvml_nvmlDeviceGetBrand(nvmlDevice_t device, int *brand)
{
    enum { BRAND_UNKNOWN = 0 };
    return number_give(device, (unsigned *)brand, BRAND_UNKNOWN);
}

nvmlReturn_t awnvml_nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned *bits)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result == NVML_SUCCESS && device->info.bus_width <= 0)
        return NVML_ERROR_NOT_SUPPORTED;
    return number_give(device, bits, result == NVML_SUCCESS ? (unsigned)device->info.bus_width : 0);
}

/* NVIDIA's generation that the compute capability which programs are told belongs to. */
nvmlReturn_t awnvml_nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned *arch)
{
    static const struct {
        int cc;
        unsigned arch;
    } first[] = { { 100, 10 }, { 90, 9 }, { 89, 8 }, { 80, 7 }, { 75, 6 }, { 70, 5 }, { 60, 4 }, { 50, 3 }, { 30, 2 }, { 0, 0 } };
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    size_t i = 0;
    while (device->info.cc_major * 10 + device->info.cc_minor < first[i].cc)
        i++;
    return number_give(device, arch, first[i].arch);
}

nvmlReturn_t awnvml_nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
    nvmlReturn_t result = aw_nvml_check(device);
    return result != NVML_SUCCESS ? result : aw_nvml_text(name, length, device->info.name);
}

nvmlReturn_t awnvml_nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
    char text[48];
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    uuid_text(device, text);
    return aw_nvml_text(uuid, length, text);
}

nvmlReturn_t awnvml_nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned length)
{
    char text[64];
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    return aw_nvml_vbios(&device->place, text, sizeof text) ? aw_nvml_text(version, length, text) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t awnvml_nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!major || !minor)
        return NVML_ERROR_INVALID_ARGUMENT;
    *major = device->info.cc_major;
    *minor = device->info.cc_minor;
    return NVML_SUCCESS;
}

/* The first form has no `busId` at its end. */
static nvmlReturn_t pci_give(nvmlDevice_t device, nvmlPciInfo_t *pci, size_t size)
{
    uint64_t value;
    nvmlReturn_t result = aw_nvml_check(device);
    if (result != NVML_SUCCESS)
        return result;
    if (!pci)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct aw_devinfo *d = &device->info;
    nvmlPciInfo_t info = { .domain = (unsigned)d->pci_domain, .bus = (unsigned)d->pci_bus, .device = (unsigned)d->pci_device };
    memcpy(info.busIdLegacy, device->place.pci, sizeof info.busIdLegacy);
    snprintf(info.busId, sizeof info.busId, "%08X:%02X:%02X.0", info.domain, info.bus & 0xff, info.device & 0xff);
    if (aw_nvml_read(&device->place, AW_NVML_PCI_DEVICE, &value))
        info.pciDeviceId = (unsigned)value;
    if (aw_nvml_read(&device->place, AW_NVML_PCI_SUBSYSTEM, &value))
        info.pciSubSystemId = (unsigned)value;
    memcpy(pci, &info, size);
    return NVML_SUCCESS;
}

nvmlReturn_t awnvml_nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_give(device, pci, sizeof *pci);
}

nvmlReturn_t awnvml_nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_give(device, pci, offsetof(nvmlPciInfo_t, busId));
}
