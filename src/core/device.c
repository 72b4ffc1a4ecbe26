/* Choosing the provider and describing its devices in CUDA's terms. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "base/str.h"
#include "base/env.h"
#include "base/log.h"
#include "base/quirk.h"
#include "base/ptxas.h"
#include "core/logs.h"

#define AW_ROOM "core"

enum { SHARED_DEFAULT = 48 * 1024, NOT_YET = -1 };

const struct aw_provider *aw_provider;
static const struct aw_provider *test_provider;
static struct aw_device devices[AW_MAX_DEVICES];
static int n_devices;
static int init_status = NOT_YET; /* atomic */
static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool forked;

/* Worker threads and device connections do not survive a fork. */
static void core_fork_child(void)
{
    if (init_status == NOT_YET)
        return;
    forked = true;
    init_status = AW_ERR_NOT_INITIALIZED;
}

bool aw_core_forked(void)
{
    return forked;
}

/* ---- Choosing. */

/* Whether `provider` serves.  That hip cannot is worth a line only where the user asked for it or there is a card: AMD's kernel
 * driver shows it as /dev/kfd. */
static bool provider_try(const struct aw_provider *provider, bool asked)
{
    const char *why = NULL;
    int status = provider->open(&why);
    if (status == AW_OK && provider->device_count() > 0)
        return true;
    if (status == AW_OK)
        why = "it has no device";
    if (!why)
        why = aw_status_text(status);
    if (asked || access("/dev/kfd", F_OK) == 0)
        aw_say(PROVIDER_WARN, provider->name, why);
    else
        aw_say(PROVIDER_INFO, provider->name, why);
    return false;
}

/* What is wrong with the user's file of settings is said once a process, here and not by each library that reads it. */
static void warn_of_config(void)
{
    struct aw_buf problems = { 0 };
    aw_config_problems(&problems);
    for (const char *line = problems.len ? problems.ptr : ""; *line;) {
        size_t len = strcspn(line, "\n");
        aw_say(CONFIG_FILE, (int)len, line);
        line += len + (line[len] == '\n');
    }
    aw_buf_fini(&problems);
    struct aw_str word;
    if (aw_quirk_unknown(&word))
        aw_say(QUIRK_WORD, AW_STR_ARG(word));
}

static const struct aw_provider *provider_choose(void)
{
    if (test_provider)
        return provider_try(test_provider, true) ? test_provider : NULL;
    const char *wish = aw_env_harmless("ANYWARP_DEVICE");
    warn_of_config();
    if (wish && !*wish)
        wish = NULL;
    if (wish && strcmp(wish, "host") == 0)
        return provider_try(&aw_provider_host, true) ? &aw_provider_host : NULL;
    if (wish && strcmp(wish, "hip") == 0) /* and nothing else: who asks for a card does not want to wait for the processor */
        return provider_try(&aw_provider_hip, true) ? &aw_provider_hip : NULL;
    if (wish)
        aw_say(DEVICE_WORD, wish);
    if (provider_try(&aw_provider_hip, false))
        return &aw_provider_hip;
    if (!provider_try(&aw_provider_host, true))
        return NULL;
    aw_say(DEVICE_HOST);
    return &aw_provider_host;
}

/* ---- Describing. */

static void device_read_cc(struct aw_device *device)
{
    static bool warned;
    int major = 8, minor = 0, end = 0;
    const char *text = aw_env("ANYWARP_CC");
    if (text && *text && (sscanf(text, "%d.%d%n", &major, &minor, &end) != 2 || text[end] || major < 1 || major > 99 ||
                          minor < 0 || minor > 9)) {
        if (!__atomic_test_and_set(&warned, __ATOMIC_RELAXED))
            aw_say(DEVICE_CC, text);
        major = 8, minor = 0;
    }
    device->cc_major = major;
    device->cc_minor = minor;
}

static enum aw_status device_read(struct aw_device *device, int ordinal, int native)
{
    size_t free_bytes = 0;
    memset(device, 0, sizeof *device);
    device->ordinal = ordinal;
    device->native = native;
    if (aw_provider->device_name(native, device->name, sizeof device->name))
        snprintf(device->name, sizeof device->name, "anywarp %s device", aw_provider->name);
    device->target = aw_provider->device_target(native);
    if (!device->target || aw_provider->device_memory(native, &free_bytes, &device->total_memory))
        return AW_ERR_NO_DEVICE;
    aw_provider->device_uuid(native, device->uuid);
    for (int i = 0; i < AW_DEV_COUNT_; i++)
        if (aw_provider->device_attr(native, (enum aw_device_attr)i, &device->attr[i]))
            device->attr[i] = 0;
    /* No CUDA device has more, and programs rely on being refused it. */
    static const struct {
        enum aw_device_attr attr;
        int most;
    } caps[] = { { AW_DEV_MAX_BLOCK_Z, 64 }, { AW_DEV_MAX_GRID_Y, 65535 }, { AW_DEV_MAX_GRID_Z, 65535 } };
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        if (device->attr[caps[i].attr] > caps[i].most)
            device->attr[caps[i].attr] = caps[i].most;
    device->code_object_version = aw_provider->code_object_version ? aw_provider->code_object_version(native) : 0;
    device_read_cc(device);
    return AW_OK;
}

/* One element of CUDA_VISIBLE_DEVICES: a number, or "GPU-" and the beginning of a UUID.  -1: not a device. */
static int visible_native(const char *item, size_t len, int count)
{
    char text[64];
    if (len == 0 || len >= sizeof text)
        return -1;
    memcpy(text, item, len);
    text[len] = 0;
    if (strncmp(text, "GPU-", 4) == 0) {
        for (int i = 0; i < count; i++) {
            uint8_t id[16] = { 0 };
            char hex[40];
            aw_provider->device_uuid(i, id);
            snprintf(hex, sizeof hex, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", id[0], id[1],
                     id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10], id[11], id[12], id[13], id[14], id[15]);
            if (strncasecmp(hex, text + 4, strlen(text + 4)) == 0)
                return i;
        }
        return -1;
    }
    char *end;
    long n = strtol(text, &end, 10);
    return end == text || *end || n < 0 || n >= count ? -1 : (int)n;
}

/* As CUDA does, the list ends at its first element that is no device. */
static int devices_visible(int natives[AW_MAX_DEVICES], int count)
{
    const char *list = aw_env_harmless("CUDA_VISIBLE_DEVICES");
    int n = 0;
    if (!list) {
        while (n < count && n < AW_MAX_DEVICES)
            natives[n] = n, n++;
        return n;
    }
    while (n < AW_MAX_DEVICES) {
        list += strspn(list, " \t");
        size_t len = strcspn(list, ",");
        size_t used = len;
        while (used && (list[used - 1] == ' ' || list[used - 1] == '\t'))
            used--;
        int native = visible_native(list, used, count);
        for (int i = 0; i < n; i++)
            if (natives[i] == native)
                native = -1;
        if (native < 0)
            break;
        natives[n++] = native;
        if (!list[len])
            break;
        list += len + 1;
    }
    return n;
}

static enum aw_status core_init_once(void)
{
    int natives[AW_MAX_DEVICES];
    aw_provider = provider_choose();
    if (!aw_provider)
        return AW_ERR_NO_DEVICE;
    int count = devices_visible(natives, aw_provider->device_count());
    n_devices = 0;
    for (int i = 0; i < count; i++) {
        if (device_read(&devices[n_devices], n_devices, natives[i])) {
            aw_say(DEVICE_SILENT, aw_provider->name, natives[i]);
            continue;
        }
        n_devices++;
    }
    if (!n_devices)
        aw_say(DEVICE_HIDDEN, aw_env_harmless("CUDA_VISIBLE_DEVICES") ?: "");
    return n_devices ? AW_OK : AW_ERR_NO_DEVICE;
}

enum aw_status aw_core_init(void)
{
    int status = __atomic_load_n(&init_status, __ATOMIC_ACQUIRE);
    if (status != NOT_YET)
        return status;
    pthread_mutex_lock(&init_lock);
    if (init_status == NOT_YET) {
        static bool hooked;
        if (!hooked)
            hooked = pthread_atfork(NULL, NULL, core_fork_child) == 0;
        aw_logs_start();
        status = core_init_once();
        __atomic_store_n(&init_status, status, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&init_lock);
    return init_status;
}

enum aw_status aw_device_describe(int native, struct aw_device *ret_device, size_t *ret_free)
{
    size_t total;
    aw_core_init();
    if (!aw_provider)
        return AW_ERR_NO_DEVICE;
    if (native < 0 || native >= aw_provider->device_count() || device_read(ret_device, -1, native) != AW_OK ||
        aw_provider->device_memory(native, ret_free, &total) != AW_OK)
        return AW_ERR_INVALID_DEVICE;
    return AW_OK;
}

enum aw_status aw_core_ready(void)
{
    int status = __atomic_load_n(&init_status, __ATOMIC_ACQUIRE);
    return status == NOT_YET ? AW_ERR_NOT_INITIALIZED : (enum aw_status)status;
}

void aw_devices_test_provider(const struct aw_provider *provider)
{
    pthread_mutex_lock(&init_lock);
    test_provider = provider;
    n_devices = 0;
    __atomic_store_n(&init_status, NOT_YET, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&init_lock);
}

int aw_device_count(void)
{
    return aw_core_ready() == AW_OK ? n_devices : 0;
}

struct aw_device *aw_device_find(int ordinal)
{
    return ordinal >= 0 && ordinal < aw_device_count() ? &devices[ordinal] : NULL;
}

void aw_devices_stop(uint64_t grace_ns)
{
    for (int i = 0; i < aw_device_count() && aw_provider->device_stop; i++)
        aw_provider->device_stop(devices[i].native, NULL, grace_ns);
}

/* ---- Attributes. */

static int attr_ordinal(const struct aw_device *d) { return d->ordinal; }
static int attr_cc_major(const struct aw_device *d) { return d->cc_major; }
static int attr_cc_minor(const struct aw_device *d) { return d->cc_minor; }
static int attr_overlap(const struct aw_device *d) { return d->attr[AW_DEV_ASYNC_ENGINES] > 0; }
static int attr_registers(const struct aw_device *d) { return d->attr[AW_DEV_REGS_PER_BLOCK] ?: 65536; }

static int attr_max_threads(const struct aw_device *d)
{
    int n = d->attr[AW_DEV_MAX_THREADS_PER_BLOCK];
    return n > 0 && n < 1024 ? n : 1024; /* no CUDA device has more, and programs size tables by it */
}

static int attr_threads_per_multiprocessor(const struct aw_device *d)
{
    int n = d->attr[AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR];
    return n > attr_max_threads(d) ? n : attr_max_threads(d);
}

static int attr_shared_default(const struct aw_device *d)
{
    int n = d->attr[AW_DEV_SHARED_PER_BLOCK];
    return n < SHARED_DEFAULT ? n : SHARED_DEFAULT;
}

static int attr_stream_values(const struct aw_device *d)
{
    (void)d;
    return aw_provider->stream_write_value && aw_provider->stream_wait_value;
}

static int attr_virtual_memory(const struct aw_device *d)
{
    return aw_provider->vmm && aw_provider->vmm->supported(d->native);
}

static int attr_virtual_memory_fd(const struct aw_device *d)
{
    return attr_virtual_memory(d) && aw_provider->vmm->export_fd;
}

static int attr_virtual_memory_host(const struct aw_device *d)
{
    return attr_virtual_memory(d) && aw_provider->vmm->serves_host;
}

bool aw_device_shares(const struct aw_device *device)
{
    (void)device;
    return aw_provider->ipc_mem_get && aw_provider->ipc_mem_open && aw_provider->ipc_mem_close;
}

static int attr_ipc_events(const struct aw_device *d)
{
    (void)d;
    return aw_provider->ipc_event_get && aw_provider->ipc_event_open;
}

static int attr_pool_handles(const struct aw_device *d)
{
    enum { POSIX_FD = 1 };
    return aw_device_shares(d) ? POSIX_FD : 0;
}

/* The node of the host's memory that is closest: where the host is the device, its first. */
static int attr_host_node(const struct aw_device *d)
{
    return attr_virtual_memory_host(d) - 1;
}

struct attr_row {
    char source;
    int value;
    int (*get)(const struct aw_device *device);
};

#define ROW_C(arg) { 'C', arg, NULL }
#define ROW_Z(arg) { 'C', 0, NULL }
#define ROW_P(arg) { 'P', arg, NULL }
#define ROW_F(arg) { 'F', 0, attr_##arg }
#define DEV_ATTR(name, number, source, arg) [number] = ROW_##source(arg),
static const struct attr_row attr_rows[] = {
#include "core/device_attr.def"
};
#undef DEV_ATTR

enum aw_status aw_device_attribute(const struct aw_device *device, int cu_attr, int *ret_value)
{
    if (cu_attr < 0 || cu_attr >= (int)(sizeof attr_rows / sizeof *attr_rows) || !attr_rows[cu_attr].source)
        return AW_ERR_INVALID_VALUE;
    const struct attr_row *row = &attr_rows[cu_attr];
    *ret_value = row->source == 'C' ? row->value : row->source == 'P' ? device->attr[row->value] : row->get(device);
    return AW_OK;
}

/* ---- Peers. */

enum { PEER_RANK = 1, PEER_ACCESS = 2, PEER_LAST = 5 }; /* CUdevice_P2PAttribute */

bool aw_device_peer_can(const struct aw_device *device, const struct aw_device *peer)
{
    bool can = false;
    return device != peer && aw_provider->peer_access &&
           aw_provider->peer_access(device->native, peer->native, &can) == AW_OK && can;
}

enum aw_status aw_device_peer_attribute(const struct aw_device *device, const struct aw_device *peer, int attr, int *ret_value)
{
    if (device == peer)
        return AW_ERR_INVALID_DEVICE;
    if (attr < PEER_RANK || attr > PEER_LAST)
        return AW_ERR_INVALID_VALUE;
    *ret_value = attr == PEER_ACCESS && aw_device_peer_can(device, peer);
    return AW_OK;
}

/* As the provider has it, which knows of no pools: what either needs is on. */
static enum aw_status peer_enable(struct aw_device *device, const struct aw_device *peer, bool on)
{
    int code = aw_provider->peer_enable ? aw_provider->peer_enable(device->native, peer->native, on) : AW_OK;
    return code == AW_ERR_PEER_ENABLED ? AW_OK : aw_device_note(device, code); /* by somebody who shares the card with us */
}

enum aw_status aw_device_peer_pools(struct aw_device *device, const struct aw_device *peer)
{
    if (!aw_device_peer_can(device, peer))
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = peer_enable(device, peer, true);
    if (status == AW_OK)
        __atomic_or_fetch(&device->pool_peers, (uint64_t)1 << peer->ordinal, __ATOMIC_ACQ_REL);
    return status;
}

enum aw_status aw_device_peer_set(struct aw_device *device, const struct aw_device *peer, bool on)
{
    if (device == peer) /* nor is a device a peer of its own */
        return on ? AW_ERR_NOT_SUPPORTED : AW_ERR_PEER_NOT_ENABLED;
    uint64_t bit = (uint64_t)1 << peer->ordinal;
    bool was = (__atomic_load_n(&device->peers, __ATOMIC_ACQUIRE) & bit) != 0;
    if (was == on)
        return on ? AW_ERR_PEER_ENABLED : AW_ERR_PEER_NOT_ENABLED;
    if (on && !aw_device_peer_can(device, peer))
        return AW_ERR_NOT_SUPPORTED;
    bool stays = !on && __atomic_load_n(&device->pool_peers, __ATOMIC_ACQUIRE) & bit;
    enum aw_status status = stays ? AW_OK : peer_enable(device, peer, on);
    if (status)
        return status;
    if (on)
        __atomic_or_fetch(&device->peers, bit, __ATOMIC_ACQ_REL);
    else
        __atomic_and_fetch(&device->peers, ~bit, __ATOMIC_ACQ_REL);
    return AW_OK;
}

/* ---- PCI names. */

void aw_device_pci_id(const struct aw_device *device, char *ret_text, size_t size)
{
    snprintf(ret_text, size, "%04x:%02x:%02x.0", (unsigned)device->attr[AW_DEV_PCI_DOMAIN],
             (unsigned)device->attr[AW_DEV_PCI_BUS], (unsigned)device->attr[AW_DEV_PCI_DEVICE]);
}

enum aw_status aw_device_by_pci(const char *text, struct aw_device **ret_device)
{
    unsigned domain, bus, slot;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &slot) != 2)
            return AW_ERR_INVALID_VALUE;
    }
    for (int i = 0; i < aw_device_count(); i++) {
        const int *attr = devices[i].attr;
        if ((unsigned)attr[AW_DEV_PCI_DOMAIN] == domain && (unsigned)attr[AW_DEV_PCI_BUS] == bus &&
            (unsigned)attr[AW_DEV_PCI_DEVICE] == slot) {
            *ret_device = &devices[i];
            return AW_OK;
        }
    }
    return AW_ERR_INVALID_DEVICE;
}

/* ---- Faults. */

bool aw_status_is_sticky(int status)
{
    switch (status) {
    case AW_ERR_ILLEGAL_ADDRESS:
    case AW_ERR_LAUNCH_TIMEOUT:
    case AW_ERR_ASSERT:
    case AW_ERR_ILLEGAL_INSTRUCTION:
    case AW_ERR_MISALIGNED:
    case AW_ERR_INVALID_PC:
    case AW_ERR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

enum aw_status aw_device_note(struct aw_device *device, int status)
{
    if (status == AW_OK || !aw_status_is_sticky(status))
        return (enum aw_status)status;
    int none = AW_OK;
    if (__atomic_compare_exchange_n(&device->fault, &none, status, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return (enum aw_status)status;
    return (enum aw_status)none; /* now the fault that was there */
}

int aw_driver_version(void)
{
    static int version; /* atomic; any thread computes the same */
    int v = __atomic_load_n(&version, __ATOMIC_RELAXED);
    if (!v)
        __atomic_store_n(&version, v = aw_cuda_version(), __ATOMIC_RELAXED);
    return v;
}
