/* Files and buffers: reads and writes by the host's own calls.  Where device memory is the host's, they go there directly; on a
 * card through pinned memory. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "common/queue.h"
#include "common/stage.h"
#include "cufile_proto.h"

#define AW_ROOM "cufile"

enum { CHUNK = 4 << 20 }; /* bytes through pinned memory at once */

struct file {
    struct file *next;
    int fd, own; /* as registered; the one that is used */
};

struct buffer {
    struct buffer *next;
    const void *at;
};

static struct {
    pthread_mutex_t lock;
    struct file *files;
    struct buffer *buffers;
} registered = { .lock = PTHREAD_MUTEX_INITIALIZER };

static CUfileError_t error(CUfileOpError err)
{
    return (CUfileError_t){ err, 0 };
}

/* ---- Files. */

/* Files opened with O_DIRECT want aligned memory and sizes, which device memory need not have: the file is used through a
 * descriptor without. */
static int descriptor_take(int fd)
{
    char path[40];
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -1;
    if (!(flags & O_DIRECT))
        return fcntl(fd, F_DUPFD_CLOEXEC, 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, (flags & (O_ACCMODE | O_APPEND | O_SYNC | O_DSYNC)) | O_CLOEXEC);
}

CUfileError_t awcufile_cuFileHandleRegister(CUfileHandle_t *ret, CUfileDescr_t *descr)
{
    struct stat st;
    if (!ret || !descr)
        return error(CU_FILE_INVALID_VALUE);
    if (descr->type != CU_FILE_HANDLE_TYPE_OPAQUE_FD) {
        aw_say(CUFILE_HANDLE);
        return error(CU_FILE_PLATFORM_NOT_SUPPORTED);
    }
    if (fstat(descr->handle.fd, &st) || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
        return error(CU_FILE_INVALID_FILE_TYPE);
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        return error(CU_FILE_NOMEM_ERROR);
    file->fd = descr->handle.fd;
    file->own = descriptor_take(file->fd);
    if (file->own < 0) {
        free(file);
        return error(CU_FILE_INTERNAL_ERROR);
    }
    pthread_mutex_lock(&registered.lock);
    file->next = registered.files;
    registered.files = file;
    pthread_mutex_unlock(&registered.lock);
    *ret = file;
    return error(CU_FILE_SUCCESS);
}

void awcufile_cuFileHandleDeregister(CUfileHandle_t handle)
{
    pthread_mutex_lock(&registered.lock);
    struct file **p = &registered.files, *file;
    while ((file = *p) && file != handle)
        p = &file->next;
    if (file)
        *p = file->next;
    pthread_mutex_unlock(&registered.lock);
    if (file)
        close(file->own);
    free(file);
}

/* Its descriptor, or -1. */
static int file_find(CUfileHandle_t handle)
{
    pthread_mutex_lock(&registered.lock);
    struct file *file = registered.files;
    while (file && file != handle)
        file = file->next;
    int fd = file ? file->own : -1;
    pthread_mutex_unlock(&registered.lock);
    return fd;
}

/* ---- Buffers.  Registering changes nothing for reads and writes; the list is for the answers. */

CUfileError_t awcufile_cuFileBufRegister(const void *at, size_t length, int flags)
{
    (void)flags;
    if (!at || !length)
        return error(CU_FILE_INVALID_VALUE);
    struct buffer *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return error(CU_FILE_NOMEM_ERROR);
    fresh->at = at;
    pthread_mutex_lock(&registered.lock);
    struct buffer *b = registered.buffers;
    while (b && b->at != at)
        b = b->next;
    if (!b) {
        fresh->next = registered.buffers;
        registered.buffers = fresh;
    }
    pthread_mutex_unlock(&registered.lock);
    if (!b)
        return error(CU_FILE_SUCCESS);
    free(fresh);
    return error(CU_FILE_MEMORY_ALREADY_REGISTERED);
}

CUfileError_t awcufile_cuFileBufDeregister(const void *at)
{
    pthread_mutex_lock(&registered.lock);
    struct buffer **p = &registered.buffers, *b;
    while ((b = *p) && b->at != at)
        p = &b->next;
    if (b)
        *p = b->next;
    pthread_mutex_unlock(&registered.lock);
    free(b);
    return error(b ? CU_FILE_SUCCESS : CU_FILE_MEMORY_NOT_REGISTERED);
}

/* ---- Reads and writes.  Bytes, fewer at a file's end; -1 with errno. */

static ssize_t host_move(int fd, char *at, size_t size, off_t offset, bool write)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = write ? pwrite(fd, at + done, size - done, offset + (off_t)done)
                          : pread(fd, at + done, size - done, offset + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return done ? (ssize_t)done : -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static ssize_t card_move(int fd, char *at, size_t size, off_t offset, bool write)
{
    size_t done = 0, stage_size;
    char *stage = aw_lib_stage_take(CHUNK, &stage_size);
    ssize_t result = stage ? 0 : -CU_FILE_NOMEM_ERROR;
    while (stage && done < size) {
        size_t piece = size - done < CHUNK ? size - done : CHUNK;
        CUdeviceptr device = (CUdeviceptr)(uintptr_t)(at + done), host = (CUdeviceptr)(uintptr_t)stage;
        if (write && cuMemcpy(host, device, piece) != CUDA_SUCCESS) {
            result = -CU_FILE_CUDA_DRIVER_ERROR;
            break;
        }
        result = host_move(fd, stage, piece, offset + (off_t)done, write);
        if (result > 0 && !write && cuMemcpy(device, host, (size_t)result) != CUDA_SUCCESS)
            result = -CU_FILE_CUDA_DRIVER_ERROR;
        if (result <= 0)
            break;
        done += (size_t)result;
        if ((size_t)result < piece)
            break;
    }
    int saved = errno;
    if (stage)
        aw_lib_stage_give(stage, stage_size);
    errno = saved;
    return done ? (ssize_t)done : result;
}

static ssize_t move(CUfileHandle_t handle, const void *base, size_t size, off_t file_offset, off_t offset, bool write)
{
    struct aw_lib_queue queue = { 0 };
    int fd = file_find(handle);
    if (fd < 0)
        return -CU_FILE_HANDLE_NOT_REGISTERED;
    if (!base || file_offset < 0)
        return -CU_FILE_INVALID_VALUE;
    if (aw_lib_queue_init(&queue) != CUDA_SUCCESS)
        return -CU_FILE_CUDA_DRIVER_ERROR;
    /* Behind what the default stream was given, a fill of the memory, say: as where the way is a copy. */
    if (queue.place == AW_LIB_HOST && cuStreamSynchronize(NULL) != CUDA_SUCCESS)
        return -CU_FILE_CUDA_DRIVER_ERROR;
    char *at = (char *)(uintptr_t)base + offset;
    return queue.place == AW_LIB_HOST ? host_move(fd, at, size, file_offset, write) : card_move(fd, at, size, file_offset, write);
}

ssize_t awcufile_cuFileRead(CUfileHandle_t handle, void *base, size_t size, off_t file_offset, off_t offset)
{
    return move(handle, base, size, file_offset, offset, false);
}

ssize_t awcufile_cuFileWrite(CUfileHandle_t handle, const void *base, size_t size, off_t file_offset, off_t offset)
{
    return move(handle, base, size, file_offset, offset, true);
}

/* One buffer after the other, up to the first that is not filled. */
static ssize_t move_each(CUfileHandle_t handle, const CUfileIOVec_t *iov, size_t n, off_t offset, unsigned flags, bool write)
{
    ssize_t done = 0;
    if ((!iov && n) || flags || offset < 0)
        return -CU_FILE_INVALID_VALUE;
    if (file_find(handle) < 0)
        return -CU_FILE_HANDLE_NOT_REGISTERED;
    for (size_t i = 0; i < n; i++) {
        if (!iov[i].len)
            continue;
        ssize_t moved = move(handle, iov[i].base, iov[i].len, offset + (off_t)done, 0, write);
        if (moved < 0)
            return done ? done : moved;
        done += moved;
        if ((size_t)moved < iov[i].len)
            break;
    }
    return done;
}

ssize_t awcufile_cuFileReadv(CUfileHandle_t handle, const CUfileIOVec_t *iov, size_t n, off_t offset, unsigned flags)
{
    return move_each(handle, iov, n, offset, flags, false);
}

ssize_t awcufile_cuFileWritev(CUfileHandle_t handle, const CUfileIOVec_t *iov, size_t n, off_t offset, unsigned flags)
{
    return move_each(handle, iov, n, offset, flags, true);
}

/* ---- In a stream's order.  What the pointers say is read when the stream comes to it. */

struct later {
    int fd;
    char *base;
    size_t *size;
    off_t *file_offset, *offset;
    ssize_t *moved;
    bool write;
};

static void later_run(void *arg)
{
    struct later *l = arg;
    ssize_t n = host_move(l->fd, l->base + *l->offset, *l->size, *l->file_offset, l->write);
    *l->moved = n < 0 ? -CU_FILE_IO_ERROR : n;
    free(l);
}

static CUfileError_t move_async(CUfileHandle_t handle, void *base, size_t *size, off_t *file_offset, off_t *offset,
                                ssize_t *moved, CUstream stream, bool write)
{
    struct aw_lib_queue queue = { 0 };
    int fd = file_find(handle);
    if (fd < 0)
        return error(CU_FILE_HANDLE_NOT_REGISTERED);
    if (!base || !size || !file_offset || !offset || !moved)
        return error(CU_FILE_INVALID_VALUE);
    CUresult result = aw_lib_queue_init(&queue);
    if (result == CUDA_SUCCESS && queue.place == AW_LIB_CARD) {
        result = cuStreamSynchronize(stream); /* host functions may not copy to the card */
        if (result == CUDA_SUCCESS)
            *moved = card_move(fd, (char *)base + *offset, *size, *file_offset, write);
        return (CUfileError_t){ result == CUDA_SUCCESS ? CU_FILE_SUCCESS : CU_FILE_CUDA_DRIVER_ERROR, result };
    }
    struct later *l = malloc(sizeof *l);
    if (!l)
        return error(CU_FILE_NOMEM_ERROR);
    *l = (struct later){ fd, base, size, file_offset, offset, moved, write };
    if (result == CUDA_SUCCESS)
        result = cuLaunchHostFunc(stream, later_run, l);
    if (result != CUDA_SUCCESS)
        free(l);
    return (CUfileError_t){ result == CUDA_SUCCESS ? CU_FILE_SUCCESS : CU_FILE_CUDA_DRIVER_ERROR, result };
}

CUfileError_t awcufile_cuFileReadAsync(CUfileHandle_t handle, void *base, size_t *size, off_t *file_offset, off_t *offset,
                                       ssize_t *moved, CUstream stream)
{
    return move_async(handle, base, size, file_offset, offset, moved, stream, false);
}

CUfileError_t awcufile_cuFileWriteAsync(CUfileHandle_t handle, void *base, size_t *size, off_t *file_offset, off_t *offset,
                                        ssize_t *moved, CUstream stream)
{
    return move_async(handle, base, size, file_offset, offset, moved, stream, true);
}

/* All that it is good for is done without. */
CUfileError_t awcufile_cuFileStreamRegister(CUstream stream, unsigned flags)
{
    (void)stream;
    return error(flags & ~15u ? CU_FILE_INVALID_VALUE : CU_FILE_SUCCESS);
}

CUfileError_t awcufile_cuFileStreamDeregister(CUstream stream)
{
    (void)stream;
    return error(CU_FILE_SUCCESS);
}
