/* Devices: which provider serves, which of its devices the user sees, and what they can do.
 *
 * Everything here is settled by the first aw_core_init and constant afterwards, except a device's fault.  Thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_DEVICE_H
#define AW_CORE_DEVICE_H

#include <anywarp/provider.h>

#include "base/status.h"

enum { AW_MAX_DEVICES = 64 };

struct aw_ctx;

struct aw_device {
    int ordinal;             /* as the user counts, after CUDA_VISIBLE_DEVICES */
    int native;              /* as the provider counts: what every provider call takes */
    char name[256];
    const char *target;      /* for the compiler; static */
    uint8_t uuid[16];
    size_t total_memory;     /* bytes */
    int attr[AW_DEV_COUNT_]; /* the provider's values, read once */
    int cc_major, cc_minor;  /* what we report: 8.0 or ANYWARP_CC */
    int code_object_version; /* 4, 5 or 0 */
    int fault;               /* sticky enum aw_status of the device, atomic; AW_OK */
    struct aw_ctx *primary;  /* made once, never freed */
    uint64_t peers;          /* bit n: access to device n was enabled */
    uint64_t pool_peers;     /* bit n: some pool of device n is, or was, open to this one */
};

/* The provider that serves; valid after a successful aw_core_init. */
extern const struct aw_provider *aw_provider;

/* Chooses the provider (ANYWARP_DEVICE=hip or host: that or none; else hip when it has a device, else host) and reads the
 * devices, once per process.
 * AW_OK, or AW_ERR_NO_DEVICE: the reason was logged.  Later calls return the first call's result. */
enum aw_status aw_core_init(void);
/* What aw_core_init returned, or AW_ERR_NOT_INITIALIZED before it was called. */
enum aw_status aw_core_ready(void);

/* True in the child of a fork whose parent had initialised: nothing works there, as with CUDA, and nothing is torn down. */
bool aw_core_forked(void);

/* Has the program's exit begun?  Known to those who have used a module. */
bool aw_core_exiting(void);
/* Gives the work of all devices so long to end, and ends it then, where the provider can. */
void aw_devices_stop(uint64_t grace_ns);

int aw_device_count(void);
/* The provider's device `native`, visible or not, described anew; its ordinal is -1.  Initialises as aw_core_init does, but does
 * not fail where no device is visible.  AW_ERR_NO_DEVICE: there is no provider; AW_ERR_INVALID_DEVICE: no such device, or it does
 * not answer. */
enum aw_status aw_device_describe(int native, struct aw_device *ret_device, size_t *ret_free);
/* NULL when there is no such device. */
struct aw_device *aw_device_find(int ordinal);

/* Can memory of the device's pools be another process's, too? */
bool aw_device_shares(const struct aw_device *device);
/* A CUdevice_attribute by its number: from the provider, from a constant, or 0 for a feature we lack.
 * AW_ERR_INVALID_VALUE when CUDA knows no such number.  The runtime's cudaDeviceAttr uses the same numbers. */
enum aw_status aw_device_attribute(const struct aw_device *device, int cu_attr, int *ret_value);

/* "0000:65:00.0", NUL-terminated, cut to `size`. */
void aw_device_pci_id(const struct aw_device *device, char *ret_text, size_t size);
/* Parses "[domain:]bus:device[.function]", hexadecimal.  AW_ERR_INVALID_VALUE for other text, AW_ERR_INVALID_DEVICE when it
 * names no visible device. */
enum aw_status aw_device_by_pci(const char *text, struct aw_device **ret_device);

/* Can kernels and copies on `device` reach `peer`'s memory?  Never its own, as CUDA has it. */
bool aw_device_peer_can(const struct aw_device *device, const struct aw_device *peer);
/* A CUdevice_P2PAttribute by its number.  AW_ERR_INVALID_VALUE; AW_ERR_INVALID_DEVICE for a device and itself. */
enum aw_status aw_device_peer_attribute(const struct aw_device *device, const struct aw_device *peer, int attr, int *ret_value);
/* Begins or ends access.  AW_ERR_NOT_SUPPORTED where it cannot be, as of a device with itself,
 * AW_ERR_PEER_ENABLED, AW_ERR_PEER_NOT_ENABLED. */
enum aw_status aw_device_peer_set(struct aw_device *device, const struct aw_device *peer, bool on);
/* Makes memory of the peer's pools usable to the device, which need not have access to the rest.  AW_ERR_NOT_SUPPORTED as
 * above. */
enum aw_status aw_device_peer_pools(struct aw_device *device, const struct aw_device *peer);

/* Records a status a provider call gave: when it is one of CUDA's sticky faults the device stays faulty until its reset.
 * Returns the status to report, unchanged or, for a device already faulty, the first fault. */
enum aw_status aw_device_note(struct aw_device *device, int status);
bool aw_status_is_sticky(int status);

/* The CUDA version we are: 13000 unless ANYWARP_DRIVER_VERSION says otherwise (major * 1000 + minor * 10). */
int aw_driver_version(void);

/* For aw_core_test_provider: nothing of the devices is in use any more. */
void aw_devices_test_provider(const struct aw_provider *provider);

#endif
