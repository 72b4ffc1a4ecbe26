/* Virtual memory of the host device: reserved addresses are mappings that nobody may touch, memory is an anonymous file, which
 * can be mapped at several places and be handed to another process. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNIT ((size_t)2 << 20) /* as on NVIDIA's cards */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL }; /* a mapping can trust the size */

struct aw_vmm {
    int fd;
    size_t size;
};

static bool supported(int dev)
{
    return aw_host_device_ok(dev);
}

static int granularity(int dev, size_t *ret_bytes)
{
    (void)dev;
    *ret_bytes = UNIT;
    return AW_OK;
}

/* Addresses that fault, in place of whatever is mapped there. */
static bool close_off(void *ptr, size_t size, int flags, void **ret_ptr)
{
    void *p = mmap(ptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    *ret_ptr = p;
    return p != MAP_FAILED;
}

static int reserve(size_t size, size_t alignment, void *wish, void **ret_ptr)
{
    void *p;
    size_t align = alignment > UNIT ? alignment : UNIT, whole;
    if (size % UNIT)
        return AW_ERR_INVALID_VALUE;
    if (wish && (uintptr_t)wish % align == 0) {
        if (close_off(wish, size, MAP_FIXED_NOREPLACE, &p) && p == wish) {
            *ret_ptr = p;
            return AW_OK;
        }
        if (p != MAP_FAILED)
            munmap(p, size); /* an older kernel, which takes the address for a wish */
    }
    if (__builtin_add_overflow(size, align, &whole) || !close_off(NULL, whole, 0, &p))
        return AW_ERR_OUT_OF_MEMORY;
    char *begin = p, *at = begin + (-(uintptr_t)begin & (align - 1)), *end = begin + whole;
    if (at > begin)
        munmap(begin, (size_t)(at - begin));
    if (end > at + size)
        munmap(at + size, (size_t)(end - (at + size)));
    *ret_ptr = at;
    return AW_OK;
}

static int unreserve(void *ptr, size_t size)
{
    return munmap(ptr, size) == 0 ? AW_OK : AW_ERR_INVALID_VALUE;
}

static int create(int dev, size_t size, bool shared, struct aw_vmm **ret_memory)
{
    (void)dev;
    (void)shared; /* any can be */
    struct aw_vmm *m = calloc(1, sizeof *m);
    if (!m || !aw_host_memory_take(size)) {
        free(m);
        return AW_ERR_OUT_OF_MEMORY;
    }
    m->size = size;
    m->fd = memfd_create("anywarp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (m->fd < 0 || ftruncate(m->fd, (off_t)size) != 0 || fcntl(m->fd, F_ADD_SEALS, SEALS) != 0) {
        int status = errno == ENOMEM || errno == ENOSPC ? AW_ERR_OUT_OF_MEMORY : AW_ERR_OS;
        if (m->fd >= 0)
            close(m->fd);
        aw_host_memory_give(size);
        free(m);
        return status;
    }
    *ret_memory = m;
    return AW_OK;
}

static int destroy(struct aw_vmm *memory)
{
    close(memory->fd);
    aw_host_memory_give(memory->size);
    free(memory);
    return AW_OK;
}

static int map(void *ptr, size_t size, struct aw_vmm *memory)
{
    void *p = mmap(ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory->fd, 0);
    if (p == MAP_FAILED)
        return AW_ERR_OUT_OF_MEMORY;
    (void)madvise(p, size, MADV_HUGEPAGE); /* only a wish */
    return AW_OK;
}

static int unmap(void *ptr, size_t size)
{
    void *p;
    return close_off(ptr, size, MAP_FIXED, &p) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

/* Devices share one memory, so the last word on any of them counts. */
static int set_access(int dev, void *ptr, size_t size, unsigned access)
{
    (void)dev;
    int prot = access == 3 ? PROT_READ | PROT_WRITE : access == 1 ? PROT_READ : PROT_NONE;
    return mprotect(ptr, size, prot) == 0 ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static int export_fd(struct aw_vmm *memory, int *ret_fd)
{
    int fd = fcntl(memory->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return AW_ERR_OS;
    *ret_fd = fd;
    return AW_OK;
}

static int import_fd(int dev, int fd, size_t *ret_size, struct aw_vmm **ret_memory)
{
    struct stat st;
    (void)dev;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) != 0 || st.st_size <= 0 || (size_t)st.st_size % UNIT)
        return AW_ERR_INVALID_VALUE; /* none of ours */
    struct aw_vmm *m = calloc(1, sizeof *m);
    if (!m || !aw_host_memory_take((size_t)st.st_size)) {
        free(m);
        return AW_ERR_OUT_OF_MEMORY;
    }
    m->size = (size_t)st.st_size;
    m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (m->fd < 0) {
        aw_host_memory_give(m->size);
        free(m);
        return AW_ERR_OS;
    }
    *ret_size = m->size;
    *ret_memory = m;
    return AW_OK;
}

const struct aw_provider_vmm aw_host_vmm = {
    .supported = supported, .serves_host = true, .granularity = granularity, .reserve = reserve, .unreserve = unreserve,
    .create = create,
    .destroy = destroy, .map = map, .unmap = unmap, .access = set_access, .export_fd = export_fd, .import_fd = import_fd,
};
