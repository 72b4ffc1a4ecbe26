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

cudaError_t awrt_cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int ordinal)
{
    struct aw_device *device;
    if (!value)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    return aw_rt_error(status ? status : aw_device_attribute(device, attr, value));
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
        ((type *)&prop->field)[i] = (type)attribute(device, (attr) + i);

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

cudaError_t awrt_cudaDeviceGetByPCIBusId(int *ret_device, const char *text)
{
    if (!ret_device || !text)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_core_init();
    if (status)
        return aw_rt_error(status);
    struct aw_device *device = aw_device_by_pci(text);
    if (!device)
        return cudaErrorInvalidDevice;
    *ret_device = device->ordinal;
    return cudaSuccess;
}

/* ---- Limits and preferences */

cudaError_t awrt_cudaDeviceGetLimit(size_t *value, cudaLimit limit)
{
    struct aw_ctx *ctx;
    if (!value)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    return aw_rt_error(status ? status : aw_ctx_limit_get(ctx, (int)limit, value));
}

cudaError_t awrt_cudaDeviceSetLimit(cudaLimit limit, size_t value)
{
    struct aw_ctx *ctx;
    enum aw_status status = aw_rt_ctx(&ctx);
    return aw_rt_error(status ? status : aw_ctx_limit_set(ctx, (int)limit, value));
}

cudaError_t awrt_cudaDeviceGetCacheConfig(cudaFuncCache *config)
{
    struct aw_ctx *ctx;
    if (!config)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        *config = (cudaFuncCache)ctx->cache_config;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceSetCacheConfig(cudaFuncCache config)
{
    struct aw_ctx *ctx;
    if ((unsigned)config > cudaFuncCachePreferEqual)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        ctx->cache_config = (int)config;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config)
{
    struct aw_ctx *ctx;
    if (!config)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        *config = (cudaSharedMemConfig)ctx->shared_config;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config)
{
    struct aw_ctx *ctx;
    if ((unsigned)config > cudaSharedMemBankSizeEightByte)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        ctx->shared_config = (int)config;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    int low, high;
    struct aw_ctx *ctx;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (status)
        return aw_rt_error(status);
    aw_stream_priorities(&low, &high);
    if (least)
        *least = low;
    if (greatest)
        *greatest = high;
    return cudaSuccess;
}

/* No device has a persisting L2 cache here (attribute 108 is 0), so there is nothing to reset. */
cudaError_t awrt_cudaCtxResetPersistingL2Cache(void)
{
    struct aw_ctx *ctx;
    return aw_rt_error(aw_rt_ctx(&ctx));
}

/* ---- Peers */

static bool peer_possible(const struct aw_device *device, const struct aw_device *peer)
{
    bool can = false;
    return device != peer && aw_provider->peer_access &&
           aw_provider->peer_access(device->native, peer->native, &can) == AW_OK && can;
}

cudaError_t awrt_cudaDeviceCanAccessPeer(int *can, int ordinal, int peer_ordinal)
{
    struct aw_device *device, *peer;
    if (!can)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        status = aw_rt_device_at(peer_ordinal, &peer);
    if (!status)
        *can = peer_possible(device, peer);
    return aw_rt_error(status);
}

cudaError_t awrt_cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr attr, int from, int to)
{
    struct aw_device *device, *peer;
    if (!value)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_device_at(from, &device);
    if (!status)
        status = aw_rt_device_at(to, &peer);
    if (!status && device == peer)
        status = AW_ERR_INVALID_DEVICE;
    if (status)
        return aw_rt_error(status);
    switch (attr) {
    case cudaDevP2PAttrAccessSupported: *value = peer_possible(device, peer); return cudaSuccess;
    case cudaDevP2PAttrPerformanceRank:
    case cudaDevP2PAttrNativeAtomicSupported:
    case cudaDevP2PAttrCudaArrayAccessSupported: *value = 0; return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t awrt_cudaDeviceEnablePeerAccess(int peer_ordinal, unsigned int flags)
{
    struct aw_ctx *ctx;
    struct aw_device *peer;
    if (flags)
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_device_at(peer_ordinal, &peer);
    if (status)
        return aw_rt_error(status);
    if (!peer_possible(ctx->device, peer))
        return ctx->device == peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported;
    uint64_t bit = (uint64_t)1 << peer->ordinal;
    if (__atomic_fetch_or(&ctx->device->peers, bit, __ATOMIC_RELAXED) & bit)
        return cudaErrorPeerAccessAlreadyEnabled;
    if (aw_provider->peer_enable)
        status = (enum aw_status)aw_provider->peer_enable(ctx->device->native, peer->native, true);
    if (status && status != AW_ERR_PEER_ENABLED)
        __atomic_fetch_and(&ctx->device->peers, ~bit, __ATOMIC_RELAXED);
    return aw_rt_error(status == AW_ERR_PEER_ENABLED ? AW_OK : status);
}

cudaError_t awrt_cudaDeviceDisablePeerAccess(int peer_ordinal)
{
    struct aw_ctx *ctx;
    struct aw_device *peer;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_rt_device_at(peer_ordinal, &peer);
    if (status)
        return aw_rt_error(status);
    uint64_t bit = (uint64_t)1 << peer->ordinal;
    if (!(__atomic_fetch_and(&ctx->device->peers, ~bit, __ATOMIC_RELAXED) & bit))
        return cudaErrorPeerAccessNotEnabled;
    if (aw_provider->peer_enable)
        status = (enum aw_status)aw_provider->peer_enable(ctx->device->native, peer->native, false);
    return aw_rt_error(status);
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
