/* Virtual memory management: ranges of addresses, memory without an address, and one mapped at the other.  The provider does it;
 * here is what CUDA checks, and who holds what.  Mapped memory is in the table of memory.h, an entry for each mapping.  What a
 * provider cannot do is AW_ERR_NOT_SUPPORTED.  All functions are thread-safe; sizes are bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_VMM_H
#define AW_CORE_VMM_H

#include <anywarp/provider.h>

#include "core/device.h"
#include "core/handle.h"

/* Where memory is made that is no node of the host's. */
enum { AW_VMM_DEVICE = -1 };

/* Memory that was made or imported; CUDA's CUmemGenericAllocationHandle is its address. */
struct aw_vmm_memory {
    struct aw_handle handle;
    struct aw_device *device;
    struct aw_vmm *native;
    size_t size;
    bool shared;              /* made to be exported, or imported */
    int node;                 /* of the host's memory, or AW_VMM_DEVICE */
    unsigned refs, mappings;  /* the user's, and places where it is mapped; gone when both are 0 */
};

extern struct aw_slab aw_vmm_slab;

static inline struct aw_vmm_memory *aw_vmm_from(unsigned long long handle)
{
    void *at = (void *)(uintptr_t)handle;
    return aw_slab_valid(&aw_vmm_slab, at) ? (struct aw_vmm_memory *)at : NULL;
}

/* Whether the device has it, and whether its memory can be exported as a file descriptor. */
bool aw_vmm_supported(const struct aw_device *device);
/* Whether memory of the host can be made that the device uses. */
bool aw_vmm_serves_host(const struct aw_device *device);
/* What all sizes and addresses are multiples of. */
enum aw_status aw_vmm_granularity(struct aw_device *device, size_t *ret_bytes);

enum aw_status aw_vmm_reserve(size_t size, size_t alignment, uintptr_t wish, uintptr_t *ret_address);
/* A whole reservation in which nothing is mapped, else AW_ERR_INVALID_VALUE. */
enum aw_status aw_vmm_unreserve(uintptr_t address, size_t size);

/* On the device, or for the node of the host's memory that it names: a wish, as the host's system places pages. */
enum aw_status aw_vmm_create(struct aw_device *device, int node, size_t size, bool shared, struct aw_vmm_memory **ret_memory);
enum aw_status aw_vmm_release(struct aw_vmm_memory *memory);
/* The memory that is mapped at `address`, with one more reference of the user's. */
enum aw_status aw_vmm_retain(uintptr_t address, struct aw_vmm_memory **ret_memory);

/* Maps the first `size` bytes inside one reservation, where nothing is mapped yet; there is no access until it is set. */
enum aw_status aw_vmm_map(uintptr_t address, size_t size, struct aw_vmm_memory *memory);
/* One or more whole mappings that follow each other.  Waits for the device's work. */
enum aw_status aw_vmm_unmap(uintptr_t address, size_t size);
/* Likewise, but it waits only to take rights away.  `access` is CUDA's number: 0 none, 1 read, 3 read and write.
 * Without a device the host's access, of which only memory of the host has any. */
enum aw_status aw_vmm_set_access(struct aw_device *device, uintptr_t address, size_t size, unsigned access);
enum aw_status aw_vmm_get_access(const struct aw_device *device, uintptr_t address, unsigned *ret_access);

/* A file descriptor for another process, the caller's to close, and memory from one. */
enum aw_status aw_vmm_export(struct aw_vmm_memory *memory, int *ret_fd);
enum aw_status aw_vmm_import(struct aw_device *device, int fd, struct aw_vmm_memory **ret_memory);

#endif
