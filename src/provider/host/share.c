/* Memory and events of the host device for other processes: the file that has their bytes, and where another process finds that
 * file, which is among the open ones of the process that made it, for as long as it lives.  Not the mappings: memory.c,
 * ipc_event.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL }; /* a mapping can trust the size */
#define MARK UINT64_C(0x6e77617261687365)

/* What is in a handle's 64 bytes. */
struct told {
    uint64_t mark;
    uint64_t what; /* enum aw_host_shared */
    int32_t pid, fd;
    uint64_t device, inode; /* the number of a file that was closed may be another's */
    uint64_t offset, size;  /* bytes */
};
_Static_assert(sizeof(struct told) <= sizeof(struct aw_ipc_handle), "a handle has room");

/* Each allocation has an open file: where a process may have more than it has so far, it gets them. */
static int file_open(void)
{
    enum { ENOUGH = 65536 };
    struct rlimit files;
    int fd = memfd_create("anywarp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= ENOUGH)
        return fd;
    files.rlim_cur = files.rlim_max < ENOUGH ? files.rlim_max : ENOUGH;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        return -1;
    return memfd_create("anywarp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int aw_host_share_file(size_t bytes)
{
    int fd = file_open();
    if (fd >= 0 && (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool write_all(int fd, const char *from, size_t bytes, size_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, from + done, bytes - done, (off_t)(at + done));
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool aw_host_share_fill(int fd, const char *from, size_t bytes)
{
    enum { PAGE = 4096 };
    static const char zeros[PAGE];
    for (size_t at = 0; at < bytes; at += PAGE)
        if (memcmp(from + at, zeros, PAGE) != 0 && !write_all(fd, from + at, PAGE, at))
            return false;
    return true;
}

int aw_host_share_tell(enum aw_host_shared what, int fd, size_t offset, size_t size, struct aw_ipc_handle *ret_handle)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return AW_ERR_OS;
    struct told told = { .mark = MARK, .what = what, .pid = getpid(), .fd = fd, .device = st.st_dev, .inode = st.st_ino,
                         .offset = offset, .size = size };
    memset(ret_handle, 0, sizeof *ret_handle);
    memcpy(ret_handle, &told, sizeof told);
    return AW_OK;
}

static bool is_told(int fd, const struct told *told)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    return fstat(fd, &st) == 0 && st.st_dev == told->device && st.st_ino == told->inode && seals >= 0 &&
           (seals & SEALS) == SEALS && told->size && told->offset <= (uint64_t)st.st_size &&
           told->size <= (uint64_t)st.st_size - told->offset;
}

int aw_host_share_open(enum aw_host_shared what, const struct aw_ipc_handle *handle, int *ret_fd, size_t *ret_offset,
                       size_t *ret_size)
{
    char path[64];
    struct told told;
    memcpy(&told, handle, sizeof told);
    if (told.mark != MARK || told.what != what)
        return AW_ERR_INVALID_VALUE;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", told.pid, told.fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || !is_told(fd, &told)) {
        if (fd >= 0)
            close(fd);
        return AW_ERR_INVALID_VALUE; /* it has ended, or freed the memory */
    }
    *ret_fd = fd;
    *ret_offset = told.offset;
    *ret_size = told.size;
    return AW_OK;
}
