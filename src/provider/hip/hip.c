/* The hip provider: forwards the seam's calls to AMD's HIP runtime, opened with dlopen.
 * Not a second implementation of anything: what HIP decides stays HIP's.  Structures whose layout changed between HIP's
 * versions are not used, with one exception that is read by searching (see arch_read). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/hip/hip.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anywarp/provider.h>

#include "base/dl.h"
#include "base/log.h"
#include "base/status.h"

#define AW_ROOM "hip"

enum { MAX_DEVICES = 64 };

/* Numbers of HIP's interface: hipDeviceAttribute_t, hipFunction_attribute, flags, launch buffer keys. */
enum {
    HIP_ATTR_ASYNC_ENGINES = 2, HIP_ATTR_CLOCK = 5, HIP_ATTR_CONCURRENT_MANAGED = 9, HIP_ATTR_COOPERATIVE = 10,
    HIP_ATTR_HOST_NATIVE_ATOMICS = 15, HIP_ATTR_INTEGRATED = 16, HIP_ATTR_L2 = 19, HIP_ATTR_MANAGED = 24,
    HIP_ATTR_BLOCK_X = 26, HIP_ATTR_GRID_X = 29, HIP_ATTR_THREADS_PER_BLOCK = 56, HIP_ATTR_THREADS_PER_SM = 57,
    HIP_ATTR_BUS_WIDTH = 59, HIP_ATTR_MEMORY_CLOCK = 60, HIP_ATTR_MULTIPROCESSORS = 63, HIP_ATTR_PAGEABLE = 65,
    HIP_ATTR_PCI_BUS = 67, HIP_ATTR_PCI_DEVICE = 68, HIP_ATTR_PCI_DOMAIN = 69, HIP_ATTR_REGS_PER_BLOCK = 71,
    HIP_ATTR_SHARED_PER_BLOCK = 74, HIP_ATTR_SHARED_PER_SM = 76, HIP_ATTR_UNIFIED = 85, HIP_ATTR_WARP_SIZE = 87,
};
enum { HIP_NOT_READY = 600 };
enum { HIP_HOST_PORTABLE = 1, HIP_HOST_MAPPED = 2, HIP_HOST_WRITE_COMBINED = 4 };
enum { HIP_EVENT_BLOCKING = 1, HIP_EVENT_NO_TIMING = 2, HIP_EVENT_INTERPROCESS = 4 };
enum { HIP_ATTACH_GLOBAL = 1 };
#define HIP_LAUNCH_BUFFER ((void *)1)
#define HIP_LAUNCH_SIZE ((void *)2)
#define HIP_LAUNCH_END ((void *)3)

/* An allocation made through us: what pointer_info answers from. */
struct range {
    char *base;
    size_t size;
    int device; /* -1: host memory */
    bool managed;
};

static struct {
    pthread_mutex_t lock;
    bool opened;
    const struct aw_hip_api *injected;
    struct aw_hip_api api;
    int major, count;
    char why[600];
    struct {
        char arch[32];
        _Atomic int fault;
    } dev[MAX_DEVICES];
    pthread_rwlock_t ranges_lock;
    struct range *ranges; /* ordered by base */
    size_t n_ranges, cap_ranges;
} hip = { .lock = PTHREAD_MUTEX_INITIALIZER, .ranges_lock = PTHREAD_RWLOCK_INITIALIZER };

/* HIP's objects belong to a device, and some calls about them look at the current one. */
struct function {
    void *handle;
    int dev;
    struct function *next;
};

struct object {
    void *module;
    void *image;                /* HIP may go on reading it for as long as the module lives */
    int dev;
    pthread_mutex_t lock;
    struct function *functions;
};

/* ---- opening ---- */

static const struct aw_dl_symbol symbols[] = {
#define AW_HIP(name, required, params) { #name, offsetof(struct aw_hip_api, name), required },
#include "provider/hip/hip.def"
#undef AW_HIP
    { NULL, 0, false },
};

/* Loads the newest library there is; its handle is kept for the process.  Why not, otherwise: a broken library is worth more
 * words than an absent one. */
static bool library_open(void)
{
    static const char *const names[] = { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5" };
    snprintf(hip.why, sizeof hip.why, "libamdhip64.so.{7,6,5} is not installed");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *one[] = { names[i], NULL };
        char reason[256];
        if (aw_dl_open(one, symbols, &hip.api, reason, sizeof reason))
            return true;
        if (!strstr(reason, "No such file"))
            snprintf(hip.why, sizeof hip.why, "%s cannot be used: %s", names[i], reason);
        hip.why[strcspn(hip.why, "\n")] = '\0';
    }
    return false;
}

/* Finds the architecture's name ("gfx90a:sramecc+:xnack-") in the property structure.  Its place differs between versions, so
 * it is searched for behind the device's name, which takes the first 256 bytes in all of them. */
static bool arch_read(int dev, char ret_arch[32])
{
    enum { PROPERTIES = 64 << 10, NAME = 256 };
    int (*get)(void *, int) = hip.api.hipGetDevicePropertiesR0600 ? hip.api.hipGetDevicePropertiesR0600
                                                                  : hip.api.hipGetDeviceProperties;
    char *prop = get ? calloc(1, PROPERTIES) : NULL;
    bool found = false;
    if (!prop || get(prop, dev) != 0) {
        free(prop);
        return false;
    }
    for (size_t i = NAME; i < PROPERTIES - 32 && !found; i++) {
        size_t n = 3;
        if (memcmp(prop + i, "gfx", 3) != 0)
            continue;
        while (n < 16 && isxdigit((unsigned char)prop[i + n]))
            n++;
        /* Features behind ':' are left off: code built without them loads with either setting. */
        if (n >= 6 && n < 16 && (prop[i + n] == '\0' || prop[i + n] == ':')) {
            memcpy(ret_arch, prop + i, n);
            ret_arch[n] = '\0';
            found = true;
        }
    }
    free(prop);
    return found;
}

static bool devices_open(void)
{
    int count = 0, version = 0, error = hip.api.hipInit(0);
    if (error == 0)
        error = hip.api.hipGetDeviceCount(&count);
    if (error != 0 || count <= 0) {
        enum aw_status status = aw_status_from_hip(error);
        bool plain = status == AW_OK || status == AW_ERR_NO_DEVICE || status == AW_ERR_INVALID_DEVICE;
        snprintf(hip.why, sizeof hip.why, "HIP has no device%s%s", plain ? "" : ": ", plain ? "" : aw_status_text(status));
        return false;
    }
    if (hip.api.hipRuntimeGetVersion(&version) != 0) {
        snprintf(hip.why, sizeof hip.why, "HIP does not tell its version");
        return false;
    }
    hip.major = version / 10000000;
    hip.count = 0;
    for (int i = 0; i < count && i < MAX_DEVICES; i++) {
        if (!arch_read(i, hip.dev[i].arch)) {
            snprintf(hip.why, sizeof hip.why, "HIP does not tell the architecture of device %d", i);
            return false;
        }
        hip.count++;
    }
    return true;
}

static int hip_open(const char **ret_why)
{
    int status = AW_OK;
    pthread_mutex_lock(&hip.lock);
    if (!hip.opened) {
        if (hip.injected)
            hip.api = *hip.injected;
        if ((hip.injected || hip.api.hipInit || library_open()) && devices_open())
            hip.opened = true;
        else
            status = AW_ERR_NO_DEVICE;
    }
    pthread_mutex_unlock(&hip.lock);
    if (status != AW_OK && ret_why)
        *ret_why = hip.why;
    return status;
}

void aw_hip_inject(const struct aw_hip_api *api)
{
    pthread_mutex_lock(&hip.lock);
    hip.injected = api;
    memset(&hip.api, 0, sizeof hip.api);
    hip.opened = false;
    hip.count = 0;
    for (int i = 0; i < MAX_DEVICES; i++)
        atomic_store(&hip.dev[i].fault, AW_OK);
    free(hip.ranges);
    hip.ranges = NULL;
    hip.n_ranges = hip.cap_ranges = 0;
    pthread_mutex_unlock(&hip.lock);
}

/* ---- what every call does ---- */

static bool dev_ok(int dev)
{
    return hip.opened && dev >= 0 && dev < hip.count;
}

/* Errors after which a device does nothing any more until it is reset. */
static bool is_sticky(enum aw_status status)
{
    return status == AW_ERR_ILLEGAL_ADDRESS || status == AW_ERR_LAUNCH_FAILED || status == AW_ERR_ASSERT ||
           status == AW_ERR_LAUNCH_TIMEOUT;
}

static int result(int dev, int error)
{
    if (error == 0)
        return AW_OK;
    /* HIP also keeps the thread's last error; the program must not meet it as somebody else's. */
    if (error != HIP_NOT_READY)
        hip.api.hipGetLastError();
    enum aw_status status = aw_status_from_hip(error);
    if (status == AW_ERR_UNKNOWN)
        aw_warn("HIP error %d has no counterpart", error);
    int none = AW_OK;
    if (dev_ok(dev) && is_sticky(status))
        atomic_compare_exchange_strong(&hip.dev[dev].fault, &none, (int)status);
    return (int)status;
}

/* Makes `dev` current on this thread; AW_OK, or what the calling function returns. */
static int use(int dev)
{
    if (!dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    return result(dev, hip.api.hipSetDevice(dev));
}

/* return on failure: each call below begins so. */
#define USE(dev)                  \
    do {                          \
        int used_ = use(dev);     \
        if (used_ != AW_OK)       \
            return used_;         \
    } while (0)

/* ---- device ---- */

static int device_count(void)
{
    return hip.opened ? hip.count : 0;
}

static int device_name(int dev, char *ret_name, size_t size)
{
    if (!dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if (!size || !ret_name)
        return AW_ERR_INVALID_VALUE;
    char name[256] = "";
    int status = result(dev, hip.api.hipDeviceGetName(name, sizeof name, dev));
    name[sizeof name - 1] = '\0';
    if (status == AW_OK) /* some runtimes know no name for a card */
        snprintf(ret_name, size, "%s", *name ? name : hip.dev[dev].arch);
    return status;
}

static const char *device_target(int dev)
{
    return dev_ok(dev) ? hip.dev[dev].arch : NULL;
}

/* HIP's attribute, and what holds where a runtime does not answer (-1: that is an error). */
static const struct {
    int hip, fallback;
} attr_map[AW_DEV_COUNT_] = {
    [AW_DEV_MULTIPROCESSORS] = { HIP_ATTR_MULTIPROCESSORS, -1 },
    [AW_DEV_CLOCK_KHZ] = { HIP_ATTR_CLOCK, -1 },
    [AW_DEV_MEMORY_CLOCK_KHZ] = { HIP_ATTR_MEMORY_CLOCK, -1 },
    [AW_DEV_BUS_WIDTH] = { HIP_ATTR_BUS_WIDTH, -1 },
    [AW_DEV_L2_BYTES] = { HIP_ATTR_L2, -1 },
    [AW_DEV_MAX_THREADS_PER_BLOCK] = { HIP_ATTR_THREADS_PER_BLOCK, -1 },
    [AW_DEV_MAX_BLOCK_X] = { HIP_ATTR_BLOCK_X, -1 },
    [AW_DEV_MAX_BLOCK_Y] = { HIP_ATTR_BLOCK_X + 1, -1 },
    [AW_DEV_MAX_BLOCK_Z] = { HIP_ATTR_BLOCK_X + 2, -1 },
    [AW_DEV_MAX_GRID_X] = { HIP_ATTR_GRID_X, -1 },
    [AW_DEV_MAX_GRID_Y] = { HIP_ATTR_GRID_X + 1, -1 },
    [AW_DEV_MAX_GRID_Z] = { HIP_ATTR_GRID_X + 2, -1 },
    [AW_DEV_SHARED_PER_BLOCK] = { HIP_ATTR_SHARED_PER_BLOCK, -1 },
    [AW_DEV_SHARED_PER_MULTIPROCESSOR] = { HIP_ATTR_SHARED_PER_SM, 65536 }, /* LDS of every card so far */
    [AW_DEV_REGS_PER_BLOCK] = { HIP_ATTR_REGS_PER_BLOCK, 65536 },
    [AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR] = { HIP_ATTR_THREADS_PER_SM, -1 },
    [AW_DEV_WAVE_SIZE] = { HIP_ATTR_WARP_SIZE, -1 },
    [AW_DEV_PCI_DOMAIN] = { HIP_ATTR_PCI_DOMAIN, 0 },
    [AW_DEV_PCI_BUS] = { HIP_ATTR_PCI_BUS, 0 },
    [AW_DEV_PCI_DEVICE] = { HIP_ATTR_PCI_DEVICE, 0 },
    [AW_DEV_INTEGRATED] = { HIP_ATTR_INTEGRATED, 0 },
    [AW_DEV_MANAGED] = { HIP_ATTR_MANAGED, 0 },
    [AW_DEV_CONCURRENT_MANAGED] = { HIP_ATTR_CONCURRENT_MANAGED, 0 },
    [AW_DEV_PAGEABLE] = { HIP_ATTR_PAGEABLE, 0 },
    [AW_DEV_COOPERATIVE] = { HIP_ATTR_COOPERATIVE, 0 },
    [AW_DEV_UNIFIED_ADDRESSING] = { HIP_ATTR_UNIFIED, 1 },
    [AW_DEV_HOST_NATIVE_ATOMICS] = { HIP_ATTR_HOST_NATIVE_ATOMICS, 0 },
    [AW_DEV_ASYNC_ENGINES] = { HIP_ATTR_ASYNC_ENGINES, 1 },
};

static int device_attr(int dev, enum aw_device_attr attr, int *ret_value)
{
    int value = 0;
    if (!dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    if ((unsigned)attr >= AW_DEV_COUNT_ || !ret_value)
        return AW_ERR_INVALID_VALUE;
    int error = hip.api.hipDeviceGetAttribute(&value, attr_map[attr].hip, dev);
    if (error && attr_map[attr].fallback < 0)
        return result(dev, error);
    if (error) {
        hip.api.hipGetLastError();
        value = attr_map[attr].fallback;
    }
    *ret_value = value;
    return AW_OK;
}

static int device_uuid(int dev, uint8_t ret_uuid[16])
{
    if (!dev_ok(dev))
        return AW_ERR_INVALID_DEVICE;
    uint8_t uuid[16] = { 0 };
    if (!hip.api.hipDeviceGetUuid || hip.api.hipDeviceGetUuid(uuid, dev) != 0) {
        /* Older runtimes: the place on the bus tells cards of one machine apart. */
        int place[3] = { 0 };
        for (int i = 0; i < 3; i++)
            device_attr(dev, AW_DEV_PCI_DOMAIN + i, &place[i]);
        snprintf((char *)uuid, sizeof uuid, "hip%04x%02x%02x%02x", place[0] & 0xffff, place[1] & 0xff, place[2] & 0xff,
                 dev & 0xff);
    }
    memcpy(ret_uuid, uuid, 16);
    return AW_OK;
}

static int device_memory(int dev, size_t *ret_free, size_t *ret_total)
{
    size_t left = 0, total = 0;
    USE(dev);
    int status = result(dev, hip.api.hipMemGetInfo(&left, &total));
    if (status == AW_OK) {
        *ret_free = left;
        *ret_total = total;
    }
    return status;
}

static int code_object_version(int dev)
{
    return hip.major >= 6 ? 5 : 4;
}

static int device_sync(int dev)
{
    USE(dev);
    return result(dev, hip.api.hipDeviceSynchronize());
}

static int device_fault(int dev)
{
    return dev_ok(dev) ? atomic_load(&hip.dev[dev].fault) : AW_ERR_INVALID_DEVICE;
}

/* ---- memory ---- */

/* Index of the first range whose base is above `ptr`; locked. */
static size_t range_above(const void *ptr)
{
    size_t low = 0, high = hip.n_ranges;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if ((uintptr_t)hip.ranges[mid].base <= (uintptr_t)ptr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool range_add(void *base, size_t size, int device, bool managed)
{
    bool ok = true;
    pthread_rwlock_wrlock(&hip.ranges_lock);
    if (hip.n_ranges == hip.cap_ranges) {
        size_t cap = hip.cap_ranges ? hip.cap_ranges * 2 : 64;
        struct range *grown = realloc(hip.ranges, cap * sizeof *grown);
        ok = grown != NULL;
        if (ok) {
            hip.ranges = grown;
            hip.cap_ranges = cap;
        }
    }
    if (ok) {
        size_t at = range_above(base);
        memmove(hip.ranges + at + 1, hip.ranges + at, (hip.n_ranges - at) * sizeof *hip.ranges);
        hip.ranges[at] = (struct range){ base, size, device, managed };
        hip.n_ranges++;
    }
    pthread_rwlock_unlock(&hip.ranges_lock);
    return ok;
}

static void range_remove(const void *base)
{
    pthread_rwlock_wrlock(&hip.ranges_lock);
    size_t above = range_above(base);
    if (above && hip.ranges[above - 1].base == base) {
        memmove(hip.ranges + above - 1, hip.ranges + above, (hip.n_ranges - above) * sizeof *hip.ranges);
        hip.n_ranges--;
    }
    pthread_rwlock_unlock(&hip.ranges_lock);
}

static int pointer_info(const void *ptr, struct aw_pointer_info *ret_info)
{
    int status = AW_ERR_INVALID_VALUE;
    pthread_rwlock_rdlock(&hip.ranges_lock);
    size_t above = range_above(ptr);
    if (above) {
        const struct range *r = &hip.ranges[above - 1];
        if ((uintptr_t)ptr - (uintptr_t)r->base < r->size) {
            *ret_info = (struct aw_pointer_info){ r->base, r->size, r->device, r->managed };
            status = AW_OK;
        }
    }
    pthread_rwlock_unlock(&hip.ranges_lock);
    return status;
}

static int mem_free(int dev, void *ptr)
{
    USE(dev);
    /* First, so that another thread's allocation at the same address is not taken out. */
    struct aw_pointer_info info;
    bool known = pointer_info(ptr, &info) == AW_OK && info.base == ptr && info.device >= 0;
    if (!known)
        return AW_ERR_INVALID_VALUE;
    range_remove(ptr);
    int status = result(dev, hip.api.hipFree(ptr));
    if (status != AW_OK)
        range_add(info.base, info.size, info.device, info.managed);
    return status;
}

static int mem_alloc(int dev, size_t size, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = result(dev, hip.api.hipMalloc(&p, size));
    if (status != AW_OK)
        return status;
    if (!range_add(p, size, dev, false)) {
        hip.api.hipFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_ptr = p;
    return AW_OK;
}

static int managed_alloc(int dev, size_t size, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = result(dev, hip.api.hipMallocManaged(&p, size, HIP_ATTACH_GLOBAL));
    if (status != AW_OK)
        return status;
    if (!range_add(p, size, dev, true)) {
        hip.api.hipFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_ptr = p;
    return AW_OK;
}

static unsigned host_flags(unsigned flags)
{
    return (flags & AW_HOST_MAPPED ? HIP_HOST_MAPPED : 0u) | (flags & AW_HOST_PORTABLE ? HIP_HOST_PORTABLE : 0u) |
           (flags & AW_HOST_WRITE_COMBINED ? HIP_HOST_WRITE_COMBINED : 0u);
}

static int host_alloc(int dev, size_t size, unsigned flags, void **ret_ptr)
{
    void *p = NULL;
    USE(dev);
    int status = result(dev, hip.api.hipHostMalloc(&p, size, host_flags(flags)));
    if (status != AW_OK)
        return status;
    if (!range_add(p, size, -1, false)) {
        hip.api.hipHostFree(p);
        return AW_ERR_OUT_OF_MEMORY;
    }
    *ret_ptr = p;
    return AW_OK;
}

static int host_free(void *ptr)
{
    struct aw_pointer_info info;
    if (!hip.opened || pointer_info(ptr, &info) != AW_OK || info.base != ptr || info.device >= 0)
        return AW_ERR_INVALID_VALUE;
    range_remove(ptr);
    int status = result(-1, hip.api.hipHostFree(ptr));
    if (status != AW_OK)
        range_add(info.base, info.size, info.device, info.managed);
    return status;
}

static int host_register(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr)
{
    void *device_ptr = NULL;
    USE(dev);
    int status = result(dev, hip.api.hipHostRegister(ptr, size, host_flags(flags) & ~(unsigned)HIP_HOST_WRITE_COMBINED));
    if (status != AW_OK)
        return status;
    status = result(dev, hip.api.hipHostGetDevicePointer(&device_ptr, ptr, 0));
    if (status == AW_OK && !range_add(ptr, size, -1, false))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status != AW_OK) {
        hip.api.hipHostUnregister(ptr);
        return status;
    }
    *ret_device_ptr = device_ptr;
    return AW_OK;
}

static int host_unregister(void *ptr)
{
    if (!hip.opened)
        return AW_ERR_HOST_NOT_REGISTERED;
    int status = result(-1, hip.api.hipHostUnregister(ptr));
    if (status == AW_OK)
        range_remove(ptr);
    return status;
}

/* ---- copies ---- */

static int copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream)
{
    USE(dev);
    if (size == 0)
        return AW_OK;
    return result(dev, hip.api.hipMemcpyAsync(dst, src, size, (int)kind, stream)); /* kinds are numbered alike */
}

/* Slice by slice: the structure of HIP's own 3-D copy brings arrays with it that we do not need. */
static int copy3d(int dev, const struct aw_copy3d *c, struct aw_stream *stream)
{
    if (!c || (c->height > 1 && (c->src_pitch < c->width || c->dst_pitch < c->width)))
        return c ? AW_ERR_INVALID_PITCH : AW_ERR_INVALID_VALUE;
    USE(dev);
    if (c->width == 0 || c->height == 0)
        return AW_OK;
    for (size_t z = 0; z < c->depth; z++) {
        char *dst = (char *)c->dst + z * c->dst_slice;
        const char *src = (const char *)c->src + z * c->src_slice;
        int error = c->height == 1
                        ? hip.api.hipMemcpyAsync(dst, src, c->width, (int)c->kind, stream)
                        : hip.api.hipMemcpy2DAsync(dst, c->dst_pitch, src, c->src_pitch, c->width, c->height,
                                                   (int)c->kind, stream);
        if (error)
            return result(dev, error);
    }
    return AW_OK;
}

static int fill(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream)
{
    USE(dev);
    if (count == 0)
        return AW_OK;
    switch (element_bytes) {
    case 1:
        return result(dev, hip.api.hipMemsetD8Async(dst, (unsigned char)value, count, stream));
    case 2:
        return result(dev, hip.api.hipMemsetD16Async(dst, (unsigned short)value, count, stream));
    case 4:
        return result(dev, hip.api.hipMemsetD32Async(dst, (int)value, count, stream));
    default:
        return AW_ERR_INVALID_VALUE;
    }
}

static int copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream)
{
    if (!dev_ok(src_dev))
        return AW_ERR_INVALID_DEVICE;
    USE(dst_dev);
    return result(dst_dev, hip.api.hipMemcpyPeerAsync(dst, dst_dev, src, src_dev, size, stream));
}

/* ---- streams and events: HIP's handles are ours ---- */

static int stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret_stream)
{
    void *s = NULL;
    USE(dev);
    int status = result(dev, hip.api.hipStreamCreateWithPriority(&s, flags & AW_STREAM_NON_BLOCKING, priority));
    if (status == AW_OK)
        *ret_stream = s;
    return status;
}

static int stream_destroy(struct aw_stream *stream)
{
    if (!stream || !hip.opened)
        return AW_ERR_INVALID_HANDLE;
    return result(-1, hip.api.hipStreamDestroy(stream));
}

static int stream_query(int dev, struct aw_stream *stream)
{
    USE(dev);
    return result(dev, hip.api.hipStreamQuery(stream));
}

static int stream_sync(int dev, struct aw_stream *stream)
{
    USE(dev);
    return result(dev, hip.api.hipStreamSynchronize(stream));
}

static int stream_wait(int dev, struct aw_stream *stream, struct aw_event *event)
{
    if (!event)
        return AW_ERR_INVALID_HANDLE;
    USE(dev);
    return result(dev, hip.api.hipStreamWaitEvent(stream, event, 0));
}

struct callback {
    void (*fn)(void *user);
    void *user;
};

static void on_callback(void *stream, int error, void *user)
{
    struct callback c = *(struct callback *)user;
    (void)stream;
    (void)error; /* the next call on the device tells */
    free(user);
    c.fn(c.user);
}

static int stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user)
{
    if (!fn)
        return AW_ERR_INVALID_VALUE;
    USE(dev);
    struct callback *c = malloc(sizeof *c);
    if (!c)
        return AW_ERR_OUT_OF_MEMORY;
    *c = (struct callback){ fn, user };
    int status = result(dev, hip.api.hipStreamAddCallback(stream, on_callback, c, 0));
    if (status != AW_OK)
        free(c);
    return status;
}

static int event_create(int dev, unsigned flags, struct aw_event **ret_event)
{
    void *e = NULL;
    USE(dev);
    unsigned f = (flags & AW_EVENT_NO_TIMING ? HIP_EVENT_NO_TIMING : 0u) |
                 (flags & AW_EVENT_BLOCKING_SYNC ? HIP_EVENT_BLOCKING : 0u) |
                 (flags & AW_EVENT_INTERPROCESS ? HIP_EVENT_INTERPROCESS : 0u);
    int status = result(dev, hip.api.hipEventCreateWithFlags(&e, f));
    if (status == AW_OK)
        *ret_event = e;
    return status;
}

static int event_destroy(struct aw_event *event)
{
    if (!event || !hip.opened)
        return AW_ERR_INVALID_HANDLE;
    return result(-1, hip.api.hipEventDestroy(event));
}

static int event_record(int dev, struct aw_event *event, struct aw_stream *stream)
{
    if (!event)
        return AW_ERR_INVALID_HANDLE;
    USE(dev);
    return result(dev, hip.api.hipEventRecord(event, stream));
}

static int event_query(struct aw_event *event)
{
    if (!event || !hip.opened)
        return AW_ERR_INVALID_HANDLE;
    return result(-1, hip.api.hipEventQuery(event));
}

static int event_sync(struct aw_event *event)
{
    if (!event || !hip.opened)
        return AW_ERR_INVALID_HANDLE;
    return result(-1, hip.api.hipEventSynchronize(event));
}

static int event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret_ms)
{
    float ms = 0;
    if (!begin || !end || !hip.opened)
        return AW_ERR_INVALID_HANDLE;
    int status = result(-1, hip.api.hipEventElapsedTime(&ms, begin, end));
    if (status == AW_OK)
        *ret_ms = ms;
    return status;
}

/* ---- code ---- */

static int object_load(int dev, const void *bytes, size_t size, struct aw_object **ret_object)
{
    /* HIP takes no size: what it reads of a cut file is our guard's matter. */
    if (!bytes || size < 64 || memcmp(bytes, "\177ELF", 4) != 0)
        return AW_ERR_INVALID_IMAGE;
    USE(dev);
    struct object *o = calloc(1, sizeof *o);
    if (!o)
        return AW_ERR_OUT_OF_MEMORY;
    o->image = malloc(size);
    int status = o->image ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK) {
        memcpy(o->image, bytes, size);
        status = result(dev, hip.api.hipModuleLoadData(&o->module, o->image));
    }
    if (status != AW_OK) {
        free(o->image);
        free(o);
        return status;
    }
    o->dev = dev;
    pthread_mutex_init(&o->lock, NULL);
    *ret_object = (struct aw_object *)o;
    return AW_OK;
}

static int object_unload(struct aw_object *object)
{
    struct object *o = (struct object *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    USE(o->dev);
    int status = result(o->dev, hip.api.hipModuleUnload(o->module));
    while (o->functions) {
        struct function *f = o->functions;
        o->functions = f->next;
        free(f);
    }
    pthread_mutex_destroy(&o->lock);
    free(o->image);
    free(o);
    return status;
}

static int object_function(struct aw_object *object, const char *name, struct aw_function **ret_function)
{
    struct object *o = (struct object *)object;
    if (!o)
        return AW_ERR_INVALID_HANDLE;
    if (!name)
        return AW_ERR_INVALID_VALUE;
    USE(o->dev);
    struct function *f = calloc(1, sizeof *f);
    if (!f)
        return AW_ERR_OUT_OF_MEMORY;
    int status = result(o->dev, hip.api.hipModuleGetFunction(&f->handle, o->module, name));
    if (status != AW_OK) {
        free(f);
        return status;
    }
    f->dev = o->dev;
    pthread_mutex_lock(&o->lock);
    f->next = o->functions;
    o->functions = f;
    pthread_mutex_unlock(&o->lock);
    *ret_function = (struct aw_function *)f;
    return AW_OK;
}

static int function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret_value)
{
    /* HIP's first five are numbered as ours. */
    struct function *f = (struct function *)function;
    int value = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if ((unsigned)attr >= AW_FN_COUNT_)
        return AW_ERR_INVALID_VALUE;
    USE(f->dev);
    int status = result(f->dev, hip.api.hipFuncGetAttribute(&value, (int)attr, f->handle));
    if (status == AW_OK)
        *ret_value = value;
    return status;
}

static int occupancy(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks)
{
    struct function *f = (struct function *)function;
    int blocks = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    if (block_threads <= 0)
        return AW_ERR_INVALID_VALUE;
    USE(f->dev);
    int status = result(f->dev, hip.api.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f->handle,
                                                                                         block_threads, dynamic_shared));
    if (status == AW_OK)
        *ret_blocks = blocks;
    return status;
}

/* AMD's runtime needs no permission for large dynamic shared memory; only the hardware's limit holds. */
static int function_set_shared(struct aw_function *function, size_t dynamic_shared)
{
    struct function *f = (struct function *)function;
    int limit = 0, own = 0;
    if (!f)
        return AW_ERR_INVALID_DEVFUNC;
    int status = device_attr(f->dev, AW_DEV_SHARED_PER_BLOCK, &limit);
    if (status == AW_OK)
        status = function_attr(function, AW_FN_SHARED_BYTES, &own);
    if (status != AW_OK)
        return status;
    return own <= limit && dynamic_shared <= (size_t)(limit - own) ? AW_OK : AW_ERR_INVALID_VALUE;
}

/* HIP's cooperative launch wants each parameter apart, which the packed buffer does not tell.  All that it adds is the promise
 * that every block is resident, which is checked here; blocks that fit are all started. */
static int cooperative_check(struct function *f, const struct aw_launch *l)
{
    int per_sm = 0, sms = 0;
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads == 0 || threads > INT32_MAX)
        return AW_ERR_INVALID_CONFIG;
    int status = occupancy((struct aw_function *)f, (int)threads, l->shared_bytes, &per_sm);
    if (status == AW_OK)
        status = device_attr(f->dev, AW_DEV_MULTIPROCESSORS, &sms);
    if (status != AW_OK)
        return status;
    unsigned __int128 blocks = (unsigned __int128)l->grid[0] * l->grid[1] * l->grid[2];
    return blocks > (uint64_t)per_sm * (uint64_t)sms ? AW_ERR_COOPERATIVE_TOO_LARGE : AW_OK;
}

static int launch(int dev, struct aw_function *function, const struct aw_launch *l, struct aw_stream *stream)
{
    struct function *f = (struct function *)function;
    if (!f || !l)
        return AW_ERR_INVALID_VALUE;
    if (f->dev != dev)
        return AW_ERR_INVALID_DEVFUNC;
    USE(dev);
    if (l->cooperative) {
        int status = cooperative_check(f, l);
        if (status != AW_OK)
            return status;
    }
    size_t size = l->kernarg_size;
    void *extra[] = { HIP_LAUNCH_BUFFER, (void *)(uintptr_t)l->kernarg, HIP_LAUNCH_SIZE, &size, HIP_LAUNCH_END };
    return result(dev, hip.api.hipModuleLaunchKernel(f->handle, l->grid[0], l->grid[1], l->grid[2], l->block[0],
                                                     l->block[1], l->block[2], l->shared_bytes, stream, NULL, extra));
}

/* ---- peers and reset ---- */

static int peer_access(int dev, int peer, bool *ret_can)
{
    int can = 0;
    if (!dev_ok(peer))
        return AW_ERR_INVALID_DEVICE;
    USE(dev);
    int status = result(dev, hip.api.hipDeviceCanAccessPeer(&can, dev, peer));
    if (status == AW_OK)
        *ret_can = can != 0;
    return status;
}

static int peer_enable(int dev, int peer, bool on)
{
    if (!dev_ok(peer))
        return AW_ERR_INVALID_DEVICE;
    USE(dev);
    return result(dev, on ? hip.api.hipDeviceEnablePeerAccess(peer, 0) : hip.api.hipDeviceDisablePeerAccess(peer));
}

/* HIP frees the device's memory, so we forget it as well. */
static int device_reset(int dev)
{
    USE(dev);
    int status = result(dev, hip.api.hipDeviceReset());
    if (status != AW_OK)
        return status;
    pthread_rwlock_wrlock(&hip.ranges_lock);
    size_t n = 0;
    for (size_t i = 0; i < hip.n_ranges; i++) {
        if (hip.ranges[i].device != dev)
            hip.ranges[n++] = hip.ranges[i];
    }
    hip.n_ranges = n;
    pthread_rwlock_unlock(&hip.ranges_lock);
    atomic_store(&hip.dev[dev].fault, AW_OK);
    return AW_OK;
}

const struct aw_provider aw_provider_hip = {
    .name = "hip",
    .open = hip_open,
    .device_count = device_count,
    .device_name = device_name,
    .device_target = device_target,
    .device_attr = device_attr,
    .device_uuid = device_uuid,
    .device_memory = device_memory,
    .code_object_version = code_object_version,
    .device_sync = device_sync,
    .device_fault = device_fault,
    .device_reset = device_reset,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .host_alloc = host_alloc,
    .host_free = host_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .managed_alloc = managed_alloc,
    .pointer_info = pointer_info,
    .copy = copy,
    .copy3d = copy3d,
    .fill = fill,
    .copy_peer = copy_peer,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_sync = stream_sync,
    .stream_wait = stream_wait,
    .stream_callback = stream_callback,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .object_load = object_load,
    .object_unload = object_unload,
    .object_function = object_function,
    .function_attr = function_attr,
    .occupancy = occupancy,
    .function_set_shared = function_set_shared,
    .launch = launch,
    .peer_access = peer_access,
    .peer_enable = peer_enable,
};
