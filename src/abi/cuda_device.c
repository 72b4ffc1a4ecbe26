/* The driver API: initialisation, errors, version, devices, lookup of entry points, profiler control. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/abi.h"
#include "abi/cuda_util.h"
#include "base/devinfo.h"
#include "base/log.h"
#include "base/quirk.h"
#include "core/pool.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

/* ---- Initialisation, errors, version. */

CUresult awcu_cuInit(unsigned int Flags)
{
    return Flags ? CUDA_ERROR_INVALID_VALUE : cu_result(aw_core_init());
}

CUresult awcu_cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return CUDA_ERROR_INVALID_VALUE;
    *driverVersion = aw_driver_version();
    return CUDA_SUCCESS;
}

CUresult awcu_cuGetErrorString(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = aw_abi_error_text((int)error, true);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    *pStr = aw_abi_error_name((int)error, true);
    return *pStr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- Devices. */

CUresult awcu_cuDeviceGetCount(int *count)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = aw_device_count();
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGet(CUdevice *device, int ordinal)
{
    struct aw_device *found;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = cu_device(ordinal, &found);
    if (status == AW_OK)
        *device = ordinal;
    return cu_result(status);
}

CUresult awcu_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!name || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)len, "%s", device->name);
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(uuid->bytes, device->uuid, sizeof uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    return awcu_cuDeviceGetUuid(uuid, dev);
}

CUresult awcu_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = device->total_memory;
    return CUDA_SUCCESS;
}

/* The form of CUDA 2 counts in 32 bits. */
CUresult awcu_cuDeviceTotalMem(unsigned int *bytes, CUdevice dev)
{
    size_t total = 0;
    CUresult result = bytes ? awcu_cuDeviceTotalMem_v2(&total, dev) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *bytes = total > UINT_MAX ? UINT_MAX : (unsigned)total;
    return result;
}

CUresult awcu_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    return pi ? cu_result(aw_device_attribute(device, (int)attrib, pi)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    *major = device->cc_major;
    *minor = device->cc_minor;
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    static const struct {
        int attr;
        size_t offset;
    } fields[] = {
        { CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, offsetof(CUdevprop, maxThreadsPerBlock) },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, offsetof(CUdevprop, maxThreadsDim[0]) },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, offsetof(CUdevprop, maxThreadsDim[1]) },
        { CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, offsetof(CUdevprop, maxThreadsDim[2]) },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, offsetof(CUdevprop, maxGridSize[0]) },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, offsetof(CUdevprop, maxGridSize[1]) },
        { CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, offsetof(CUdevprop, maxGridSize[2]) },
        { CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, offsetof(CUdevprop, sharedMemPerBlock) },
        { CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, offsetof(CUdevprop, totalConstantMemory) },
        { CU_DEVICE_ATTRIBUTE_WARP_SIZE, offsetof(CUdevprop, SIMDWidth) },
        { CU_DEVICE_ATTRIBUTE_MAX_PITCH, offsetof(CUdevprop, memPitch) },
        { CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, offsetof(CUdevprop, regsPerBlock) },
        { CU_DEVICE_ATTRIBUTE_CLOCK_RATE, offsetof(CUdevprop, clockRate) },
        { CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, offsetof(CUdevprop, textureAlign) },
    };
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        (void)aw_device_attribute(device, fields[i].attr, (int *)((char *)prop + fields[i].offset));
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pi)
        return CUDA_ERROR_INVALID_VALUE;
    *pi = 0;
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
    struct aw_device *device;
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return cu_result(status);
    if (!pciBusId || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    aw_device_pci_id(device, pciBusId, (size_t)len);
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!dev || !pciBusId)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_device *device;
    status = aw_device_by_pci(pciBusId, &device);
    if (status == AW_OK)
        *dev = device->ordinal;
    return cu_result(status);
}

/* ---- For libs/nvml. */

static uint64_t native_peers(int native)
{
    uint64_t peers = 0;
    int n = aw_provider->device_count();
    for (int i = 0; i < n && i < AW_MAX_DEVICES; i++) {
        bool can = false;
        if (i != native && aw_provider->peer_access && aw_provider->peer_access(native, i, &can) == AW_OK && can)
            peers |= (uint64_t)1 << i;
    }
    return peers;
}

CUresult aw_abi_device_describe(int native, struct aw_devinfo *ret_info)
{
    struct aw_device device;
    size_t free_bytes;
    enum aw_status status = aw_device_describe(native, &device, &free_bytes);
    if (status)
        return cu_result(status);
    *ret_info = (struct aw_devinfo){
        .host = !strcmp(aw_provider->name, "host"),
        .pci_domain = device.attr[AW_DEV_PCI_DOMAIN],
        .pci_bus = device.attr[AW_DEV_PCI_BUS],
        .pci_device = device.attr[AW_DEV_PCI_DEVICE],
        .cc_major = device.cc_major, .cc_minor = device.cc_minor, .multiprocessors = device.attr[AW_DEV_MULTIPROCESSORS],
        .clock_khz = device.attr[AW_DEV_CLOCK_KHZ], .memory_clock_khz = device.attr[AW_DEV_MEMORY_CLOCK_KHZ],
        .bus_width = device.attr[AW_DEV_BUS_WIDTH], .total = device.total_memory, .free = free_bytes,
        .peers = native_peers(native),
        .driver_version = aw_driver_version(),
    };
    snprintf(ret_info->name, sizeof ret_info->name, "%.*s", (int)sizeof ret_info->name - 1, device.name);
    memcpy(ret_info->uuid, device.uuid, sizeof ret_info->uuid);
    return CUDA_SUCCESS;
}

/* ---- Peers. */

CUresult awcu_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
    struct aw_device *device, *peer;
    enum aw_status status = cu_device(dev, &device);
    if (status == AW_OK)
        status = cu_device(peerDev, &peer);
    if (status)
        return cu_result(status);
    if (!canAccessPeer)
        return CUDA_ERROR_INVALID_VALUE;
    *canAccessPeer = aw_device_peer_can(device, peer);
    return CUDA_SUCCESS;
}

CUresult awcu_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice)
{
    struct aw_device *src, *dst;
    enum aw_status status = cu_device(srcDevice, &src);
    if (status == AW_OK)
        status = cu_device(dstDevice, &dst);
    if (status)
        return cu_result(status);
    return value ? cu_result(aw_device_peer_attribute(src, dst, (int)attrib, value)) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult peer_switch(CUcontext peer_handle, bool on)
{
    struct aw_ctx *ctx, *peer;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK)
        status = cu_context(peer_handle, false, &peer);
    if (status)
        return cu_result(status);
    status = aw_device_peer_set(ctx->device, peer->device, on);
    return status == AW_ERR_NOT_SUPPORTED ? CUDA_ERROR_PEER_ACCESS_UNSUPPORTED : cu_result(status);
}

CUresult awcu_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    return Flags ? CUDA_ERROR_INVALID_VALUE : peer_switch(peerContext, true);
}

CUresult awcu_cuCtxDisablePeerAccess(CUcontext peerContext)
{
    return peer_switch(peerContext, false);
}

/* ---- Entry points by name. */

CUresult awcu_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *symbolStatus)
{
    int found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn || flags & ~(cuuint64_t)3 || flags == 3)
        return CUDA_ERROR_INVALID_VALUE;
    const void *entry = aw_abi_proc_find(symbol, cudaVersion, flags, &found);
    *pfn = (void *)(uintptr_t)entry;
    if (symbolStatus)
        *symbolStatus = (CUdriverProcAddressQueryResult)found;
    /* A caller that asks for the reason gets it there; one that does not gets an error. */
    return entry || symbolStatus ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult awcu_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    return awcu_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

CUresult awcu_cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                                       CUdriverProcAddressQueryResult *symbolStatus)
{
    return awcu_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags ? flags : 2, symbolStatus);
}

/* The file name of the object that an address of code lies in. */
static const char *object_of(const void *code)
{
    Dl_info info;
    const char *path = dladdr(code, &info) && info.dli_fname ? info.dli_fname : "a library", *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* `anywarp run` has said that the program has a runtime of NVIDIA's linked in that cannot be replaced (src/preload/preload.c). */
static bool runtime_was_told(void)
{
    bool (*hindered)(void) = (bool (*)(void))dlsym(RTLD_DEFAULT, "aw_preload_hindered");
    return hindered && hindered();
}

/* Private tables are what NVIDIA's own libraries ask the driver for, to make sure that it is NVIDIA's. There are none here.
 * Compilers ask and go on without. */
CUresult awcu_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId)
        return CUDA_ERROR_INVALID_VALUE;
    const char *caller = object_of(__builtin_return_address(0));
    bool known = !strncmp(caller, "libnvrtc", 8) || !strncmp(caller, "libnvJitLink", 12) || !strncmp(caller, "libnvvm", 7);
    known |= !strcmp(caller, program_invocation_short_name) && runtime_was_told();
    if (known && aw_quirk_on(AW_QUIRK_EXPORT_TABLES))
        aw_say(EXPORT_TABLE_KNOWN, caller);
    else
        aw_say(EXPORT_TABLE, caller);
    *ppExportTable = NULL;
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- Profiler control: there is no profiler to control, which CUDA calls success. */

CUresult awcu_cuProfilerStart(void)
{
    return cu_result(aw_core_ready());
}

CUresult awcu_cuProfilerStop(void)
{
    return cu_result(aw_core_ready());
}
