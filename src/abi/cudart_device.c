/* Runtime API: what devices there are and what they can do, limits, peer access, versions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart.h"

cudaError_t awrt_cudaGetDeviceCount(int *count)
{
    if (!count)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_core_init();
    *count = status ? 0 : aw_device_count(); /* CUDA stores 0 along with the error, and programs rely on it */
    return aw_rt_error(status);
}

/* ---- Properties */

static int attribute(const struct aw_device *device, int attr)
{
    int value = 0;
    return aw_device_attribute(device, attr, &value) == AW_OK ? value : 0;
}

#define PROP_HEAD(prop, device)                                       \
    do {                                                              \
        memset((prop), 0, sizeof(*(prop)));                           \
        memcpy((prop)->name, (device)->name, sizeof((prop)->name));   \
        memcpy(&(prop)->uuid, (device)->uuid, sizeof((prop)->uuid));  \
        (prop)->totalGlobalMem = (device)->total_memory;              \
    } while (0)

#define PROP_FILL(type, field, n, attr)                          \
    for (int i = 0; i < (n); i++)                                \
        ((type *)&prop->field)[i] = (type)attribute(device, CU_DEVICE_ATTRIBUTE_##attr + i);

static void prop_fill_v12(const struct aw_device *device, cudaDeviceProp_v12 *prop)
{
    PROP_HEAD(prop, device);
#define PROP_IN_OLD(...) PROP_FILL(__VA_ARGS__)
#define PROP_IN_BOTH(...) PROP_FILL(__VA_ARGS__)
#define PROP_IN_NEW(...)
#define PROP(in, ...) PROP_IN_##in(__VA_ARGS__)
#include "abi/cudart_prop.def"
#undef PROP_IN_OLD
#undef PROP_IN_NEW
}

static void prop_fill_v13(const struct aw_device *device, cudaDeviceProp_v13 *prop)
{
    PROP_HEAD(prop, device);
#define PROP_IN_OLD(...)
#define PROP_IN_NEW(...) PROP_FILL(__VA_ARGS__)
#include "abi/cudart_prop.def"
}

cudaError_t awrt_cudaGetDeviceProperties(cudaDeviceProp_v11 *prop, int ordinal)
{
    struct aw_device *device;
    cudaDeviceProp_v12 full;
    if (!prop)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (status)
        return aw_rt_error(status);
    prop_fill_v12(device, &full);
    memcpy(prop, &full, AW_DEVICE_PROP_V11_SIZE);
    return cudaSuccess;
}

cudaError_t awrt_cudaGetDeviceProperties_v2(cudaDeviceProp_v12 *prop, int ordinal)
{
    struct aw_device *device;
    if (!prop)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        prop_fill_v12(device, prop);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaGetDeviceProperties_v13(cudaDeviceProp_v13 *prop, int ordinal)
{
    struct aw_device *device;
    if (!prop)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        prop_fill_v13(device, prop);
    return aw_rt_error(status);
}

/* The device that meets most of what was asked for; the first of equals. */
static cudaError_t choose(int *ret_ordinal, int major, int minor, size_t memory, int processors)
{
    enum aw_status status = aw_core_init();
    int best = -1;
    for (int i = 0; !status && i < aw_device_count(); i++) {
        struct aw_device *device = aw_device_find(i);
        int score = (device->cc_major > major || (device->cc_major == major && device->cc_minor >= minor)) * 4 +
                    (device->total_memory >= memory) * 2 +
                    (attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) >= processors);
        if (score > best) {
            best = score;
            *ret_ordinal = i;
        }
    }
    return aw_rt_error(status);
}

cudaError_t awrt_cudaChooseDevice(int *ret_device, const cudaDeviceProp_v11 *prop)
{
    const cudaDeviceProp_v12 *p = (const cudaDeviceProp_v12 *)(const void *)prop; /* only its first 728 bytes */
    if (!ret_device || !prop)
        return cudaErrorInvalidValue;
    return choose(ret_device, p->major, p->minor, p->totalGlobalMem, p->multiProcessorCount);
}

cudaError_t awrt_cudaChooseDevice_v13(int *ret_device, const cudaDeviceProp_v13 *prop)
{
    if (!ret_device || !prop)
        return cudaErrorInvalidValue;
    return choose(ret_device, prop->major, prop->minor, prop->totalGlobalMem, prop->multiProcessorCount);
}

/* ---- PCI */

cudaError_t awrt_cudaDeviceGetPCIBusId(char *text, int len, int ordinal)
{
    struct aw_device *device;
    if (!text || len < 13)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        aw_device_pci_id(device, text, (size_t)len);
    return aw_rt_error(status);
}

/* ---- Limits and preferences */

/* ---- Peers */

static cudaError_t peer_switch(int ordinal, bool on)
{
    struct aw_ctx *ctx;
    struct aw_device *peer;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_device_at(ordinal, &peer);
    if (status)
        return aw_rt_error(status);
    status = aw_device_peer_set(ctx->device, peer, on);
    return status == AW_ERR_NOT_SUPPORTED ? cudaErrorPeerAccessUnsupported : aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceEnablePeerAccess(int peer_ordinal, unsigned int flags)
{
    return flags ? cudaErrorInvalidValue : peer_switch(peer_ordinal, true);
}

cudaError_t awrt_cudaDeviceDisablePeerAccess(int peer_ordinal)
{
    return peer_switch(peer_ordinal, false);
}

/* ---- Versions: each libcudart tells its own. */

cudaError_t awrt_cudaDriverGetVersion(int *version)
{
    if (!version)
        return cudaErrorInvalidValue;
    *version = aw_driver_version();
    return cudaSuccess;
}

static cudaError_t runtime_version(int *ret_version, int version)
{
    if (!ret_version)
        return cudaErrorInvalidValue;
    *ret_version = version;
    return cudaSuccess;
}

cudaError_t awrt_cudaRuntimeGetVersion(int *version)
{
    return runtime_version(version, 11080);
}

cudaError_t awrt_cudaRuntimeGetVersion_v12(int *version)
{
    return runtime_version(version, 12090);
}

cudaError_t awrt_cudaRuntimeGetVersion_v13(int *version)
{
    return runtime_version(version, 13000);
}

/* ---- Profiling: no profiler can be attached, and without one CUDA's calls succeed and do nothing. */

cudaError_t awrt_cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t awrt_cudaProfilerStop(void)
{
    return cudaSuccess;
}
