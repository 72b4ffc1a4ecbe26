/* Who holds which addresses and which memory: see vmm.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/vmm.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "core/memory.h"
#include "core/recorder.h"

enum { READ_WRITE = 3 }; /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */

struct range {
    uintptr_t base;
    size_t size;
};

/* Kept sorted, as no two of either overlap.  Mappings lie inside reservations. */
struct mapping {
    struct range range;
    struct aw_vmm_memory *memory;
    unsigned char access[AW_MAX_DEVICES + 1]; /* of the devices and of the host */
};
static AW_VEC(struct range) reserved;
static AW_VEC(struct mapping) mapped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct aw_slab aw_vmm_slab = AW_SLAB_INIT("virtual memory", struct aw_vmm_memory);

static const struct aw_provider_vmm *provider(void)
{
    return aw_provider ? aw_provider->vmm : NULL;
}

/* Addresses are no device's. */
static bool any_supported(void)
{
    struct aw_device *device;
    for (int i = 0; (device = aw_device_find(i)); i++)
        if (aw_vmm_supported(device))
            return true;
    return false;
}

bool aw_vmm_supported(const struct aw_device *device)
{
    return provider() && provider()->supported(device->native);
}

bool aw_vmm_serves_host(const struct aw_device *device)
{
    return aw_vmm_supported(device) && provider()->serves_host;
}

enum aw_status aw_vmm_granularity(struct aw_device *device, size_t *ret_bytes)
{
    if (!aw_vmm_supported(device))
        return AW_ERR_NOT_SUPPORTED;
    return aw_device_note(device, provider()->granularity(device->native, ret_bytes));
}

/* ---- Ranges.  The lock is held. */

static bool inside(struct range outer, uintptr_t address, size_t size)
{
    return address >= outer.base && address - outer.base <= outer.size && size <= outer.size - (address - outer.base);
}

static bool overlap(struct range a, struct range b)
{
    return a.base < b.base + b.size && b.base < a.base + a.size;
}

static bool is_reserved(uintptr_t address, size_t size)
{
    for (size_t i = 0; i < reserved.n; i++)
        if (inside(reserved.at[i], address, size))
            return true;
    return false;
}

/* Index of the mapping that ends last before or at `address`, plus one: where the first that ends behind it is. */
static size_t mapped_from(uintptr_t address)
{
    size_t low = 0, high = mapped.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (mapped.at[mid].range.base + mapped.at[mid].range.size <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Whether whole mappings, without a gap, make up the range; they are those from *ret_first on, `*ret_n` of them. */
static bool whole_mappings(uintptr_t address, size_t size, size_t *ret_first, size_t *ret_n)
{
    size_t first = mapped_from(address), n = 0, done = 0;
    while (done < size && first + n < mapped.n && mapped.at[first + n].range.base == address + done)
        done += mapped.at[first + n++].range.size;
    *ret_first = first;
    *ret_n = n;
    return n && done == size;
}

/* ---- Addresses */

enum aw_status aw_vmm_reserve(size_t size, size_t alignment, uintptr_t wish, uintptr_t *ret_address)
{
    void *at = NULL;
    if (!any_supported())
        return AW_ERR_NOT_SUPPORTED;
    if (!size || (alignment & (alignment - 1)))
        return AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    enum aw_status status = aw_vec_reserve(&reserved, 1) ? (enum aw_status)provider()->reserve(size, alignment, (void *)wish, &at)
                                                         : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK) {
        (void)aw_vec_push(&reserved, ((struct range){ (uintptr_t)at, size })); /* there is room */
        *ret_address = (uintptr_t)at;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

enum aw_status aw_vmm_unreserve(uintptr_t address, size_t size)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < reserved.n; i++) {
        if (reserved.at[i].base != address || reserved.at[i].size != size)
            continue;
        size_t first = mapped_from(address);
        if (first < mapped.n && overlap(mapped.at[first].range, reserved.at[i]))
            break;
        status = (enum aw_status)provider()->unreserve((void *)address, size);
        if (status == AW_OK)
            reserved.at[i] = reserved.at[--reserved.n];
        break;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Memory */

static enum aw_status memory_add(struct aw_device *device, struct aw_vmm *native, size_t size, bool shared,
                                 struct aw_vmm_memory **ret_memory)
{
    struct aw_vmm_memory *memory = aw_slab_take(&aw_vmm_slab);
    if (!memory) {
        (void)provider()->destroy(native);
        return AW_ERR_OUT_OF_MEMORY;
    }
    memory->device = device;
    memory->native = native;
    memory->size = size;
    memory->shared = shared;
    memory->node = AW_VMM_DEVICE;
    memory->refs = 1;
    memory->mappings = 0;
    aw_slab_publish(&aw_vmm_slab, memory);
    *ret_memory = memory;
    return AW_OK;
}

enum aw_status aw_vmm_create(struct aw_device *device, int node, size_t size, bool shared, struct aw_vmm_memory **ret_memory)
{
    struct aw_vmm *native;
    size_t unit;
    enum aw_status status = aw_vmm_granularity(device, &unit);
    if (status)
        return status;
    if ((shared && !provider()->export_fd) || (node != AW_VMM_DEVICE && !provider()->serves_host))
        return AW_ERR_NOT_SUPPORTED;
    if (!size || size % unit)
        return AW_ERR_INVALID_VALUE;
    status = aw_device_note(device, provider()->create(device->native, size, shared, &native));
    if (status == AW_ERR_OUT_OF_MEMORY && aw_mem_owners.reclaim && aw_mem_owners.reclaim(device))
        status = aw_device_note(device, provider()->create(device->native, size, shared, &native));
    if (status == AW_OK)
        status = memory_add(device, native, size, shared, ret_memory);
    if (status == AW_OK)
        (*ret_memory)->node = node;
    return status;
}

/* Locked: the memory goes when nobody has it. */
static enum aw_status memory_drop(struct aw_vmm_memory *memory)
{
    if (memory->refs || memory->mappings || !aw_slab_kill(&aw_vmm_slab, memory))
        return AW_OK;
    enum aw_status status = (enum aw_status)provider()->destroy(memory->native);
    aw_slab_give(&aw_vmm_slab, memory);
    return status;
}

enum aw_status aw_vmm_release(struct aw_vmm_memory *memory)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (memory->refs) { /* a mapping may keep it alive beyond the user's last release */
        memory->refs--;
        status = memory_drop(memory);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

enum aw_status aw_vmm_retain(uintptr_t address, struct aw_vmm_memory **ret_memory)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    size_t i = mapped_from(address);
    if (i < mapped.n && inside(mapped.at[i].range, address, 1)) {
        mapped.at[i].memory->refs++;
        *ret_memory = mapped.at[i].memory;
        status = AW_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Mapping */

/* Locked. */
static enum aw_status map_at(size_t i, struct range range, struct aw_vmm_memory *memory)
{
    if (!aw_vec_reserve(&mapped, 1))
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_device_note(memory->device, provider()->map((void *)range.base, range.size, memory->native));
    if (status)
        return status;
    status = aw_mem_vmm_add(memory->device, memory->node != AW_VMM_DEVICE, range.base, range.size);
    if (status) {
        (void)provider()->unmap((void *)range.base, range.size);
        return status;
    }
    memmove(mapped.at + i + 1, mapped.at + i, (mapped.n - i) * sizeof *mapped.at);
    mapped.at[i] = (struct mapping){ .range = range, .memory = memory };
    mapped.n++;
    memory->mappings++;
    return AW_OK;
}

enum aw_status aw_vmm_map(uintptr_t address, size_t size, struct aw_vmm_memory *memory)
{
    struct range range = { address, size };
    size_t unit;
    enum aw_status status = aw_vmm_granularity(memory->device, &unit);
    if (status)
        return status;
    if (!size || size % unit || address % unit || size > memory->size)
        return AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    size_t i = mapped_from(address);
    bool fits = memory->refs && is_reserved(address, size) && (i == mapped.n || !overlap(mapped.at[i].range, range));
    status = fits ? map_at(i, range, memory) : AW_ERR_INVALID_VALUE;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Work that is under way may use what is unmapped, as it may what is freed: it ends first. */
static enum aw_status settle(uintptr_t address, size_t size)
{
    struct aw_device *devices[AW_MAX_DEVICES];
    size_t first, n, count = 0;
    pthread_mutex_lock(&lock);
    bool ok = whole_mappings(address, size, &first, &n);
    for (size_t i = 0; ok && i < n; i++) {
        struct aw_device *device = mapped.at[first + i].memory->device;
        size_t k = 0;
        while (k < count && devices[k] != device)
            k++;
        devices[k] = device;
        count += k == count;
    }
    pthread_mutex_unlock(&lock);
    enum aw_status status = ok ? AW_OK : AW_ERR_INVALID_VALUE;
    for (size_t i = 0; i < count && status == AW_OK; i++)
        status = aw_device_note(devices[i], aw_provider->device_sync(devices[i]->native));
    return status;
}

enum aw_status aw_vmm_unmap(uintptr_t address, size_t size)
{
    size_t first, n;
    enum aw_status refused;
    if (aw_capture_any() && aw_capture_refuse_unsafe(&refused))
        return refused;
    enum aw_status status = settle(address, size);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = whole_mappings(address, size, &first, &n) ? AW_OK : AW_ERR_INVALID_VALUE;
    while (status == AW_OK && n > 0) {
        struct mapping *m = &mapped.at[first];
        status = (enum aw_status)provider()->unmap((void *)m->range.base, m->range.size);
        if (status)
            break;
        aw_mem_vmm_remove(m->range.base);
        m->memory->mappings--;
        status = memory_drop(m->memory);
        memmove(m, m + 1, (mapped.n - first - 1) * sizeof *m);
        mapped.n--;
        n--;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Where a device's rights are noted, or the host's. */
static size_t access_index(const struct aw_device *device)
{
    return device ? (size_t)device->ordinal : AW_MAX_DEVICES;
}

/* Locked. */
static enum aw_status access_set(struct mapping *m, struct aw_device *device, unsigned access)
{
    struct aw_device *of = device ? device : m->memory->device;
    if (!device && m->memory->node == AW_VMM_DEVICE)
        return AW_ERR_INVALID_VALUE;
    enum aw_status status = aw_device_note(of, provider()->access(of->native, (void *)m->range.base, m->range.size, access));
    if (status == AW_OK)
        m->access[access_index(device)] = (unsigned char)access;
    return status;
}

enum aw_status aw_vmm_set_access(struct aw_device *device, uintptr_t address, size_t size, unsigned access)
{
    size_t first, n;
    if (access > READ_WRITE || access == 2)
        return AW_ERR_INVALID_VALUE;
    /* Rights that are given disturb no work. */
    enum aw_status status = access == READ_WRITE ? AW_OK : settle(address, size);
    if (status)
        return status;
    pthread_mutex_lock(&lock);
    status = whole_mappings(address, size, &first, &n) ? AW_OK : AW_ERR_INVALID_VALUE;
    for (size_t i = first; status == AW_OK && i < first + n; i++)
        status = access_set(&mapped.at[i], device, access);
    pthread_mutex_unlock(&lock);
    return status;
}

enum aw_status aw_vmm_get_access(const struct aw_device *device, uintptr_t address, unsigned *ret_access)
{
    enum aw_status status = AW_ERR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    size_t i = mapped_from(address);
    if (i < mapped.n && inside(mapped.at[i].range, address, 1)) {
        *ret_access = mapped.at[i].access[access_index(device)];
        status = AW_OK;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- Other processes */

enum aw_status aw_vmm_export(struct aw_vmm_memory *memory, int *ret_fd)
{
    if (!memory->shared)
        return AW_ERR_INVALID_VALUE;
    return aw_device_note(memory->device, provider()->export_fd(memory->native, ret_fd));
}

enum aw_status aw_vmm_import(struct aw_device *device, int fd, struct aw_vmm_memory **ret_memory)
{
    struct aw_vmm *native;
    size_t size;
    if (!aw_vmm_supported(device) || !provider()->import_fd)
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = aw_device_note(device, provider()->import_fd(device->native, fd, &size, &native));
    return status ? status : memory_add(device, native, size, true, ret_memory);
}
