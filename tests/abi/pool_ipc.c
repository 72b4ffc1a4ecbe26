/* Two processes and one pool: what one allocates in it the other reads, writes and frees, through the driver API.  Exits with 77
 * where pools cannot be shared. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/cuda_types.h"

#include "check.h"

#define CU(name, ...) CUresult name(__VA_ARGS__);
CU(cuInit, unsigned)
CU(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice)
CU(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice)
CU(cuCtxSetCurrent, CUcontext)
CU(cuCtxSynchronize, void)
CU(cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *)
CU(cuMemPoolDestroy, CUmemoryPool)
CU(cuMemPoolExportToShareableHandle, void *, CUmemoryPool, CUmemAllocationHandleType, unsigned long long)
CU(cuMemPoolImportFromShareableHandle, CUmemoryPool *, void *, CUmemAllocationHandleType, unsigned long long)
CU(cuMemPoolExportPointer, CUmemPoolPtrExportData *, CUdeviceptr)
CU(cuMemPoolImportPointer, CUdeviceptr *, CUmemoryPool, CUmemPoolPtrExportData *)
CU(cuDeviceSetMemPool, CUdevice, CUmemoryPool)
CU(cuMemAllocFromPoolAsync, CUdeviceptr *, size_t, CUmemoryPool, CUstream)
CU(cuMemAllocAsync, CUdeviceptr *, size_t, CUstream)
CU(cuMemFreeAsync, CUdeviceptr, CUstream)
CU(cuMemFree_v2, CUdeviceptr)
CU(cuIpcCloseMemHandle, CUdeviceptr)
CU(cuMemcpyHtoD_v2, CUdeviceptr, const void *, size_t)
CU(cuMemcpyDtoH_v2, void *, CUdeviceptr, size_t)

#define OK(call) EQUAL(call, CUDA_SUCCESS)

enum { HANDLE_TYPES = 119 }; /* of pools, a device's attribute */
#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
enum { BLOCKS = 3, MOST = 5000000 };
static const size_t size[BLOCKS] = { 100, 70000, MOST };
static unsigned char host[MOST];

static void begin(void)
{
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

static unsigned char pattern(unsigned who, int block, size_t i)
{
    return (unsigned char)(i * 7 + who * 31u + (unsigned)block * 101u + (i >> 12));
}

static void write_block(CUdeviceptr p, unsigned who, int block)
{
    for (size_t i = 0; i < size[block]; i++)
        host[i] = pattern(who, block, i);
    OK(cuMemcpyHtoD_v2(p, host, size[block]));
}

static void read_block(CUdeviceptr p, unsigned who, int block)
{
    size_t wrong = 0;
    memset(host, 0, size[block]);
    OK(cuMemcpyDtoH_v2(host, p, size[block]));
    for (size_t i = 0; i < size[block]; i++)
        wrong += host[i] != pattern(who, block, i);
    EQUAL(wrong, 0);
}

/* ---- A message with a file descriptor, or -1 */

union control {
    char room[CMSG_SPACE(sizeof(int))];
    struct cmsghdr head;
};

static void give(int to, int fd, void *data, size_t bytes)
{
    union control control;
    struct iovec part = { data, bytes };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (fd >= 0) {
        memset(&control, 0, sizeof control);
        message.msg_control = control.room;
        message.msg_controllen = sizeof control.room;
        control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    }
    CHECK(sendmsg(to, &message, 0) == (ssize_t)bytes);
}

static int take(int from, void *ret_data, size_t bytes)
{
    union control control;
    struct iovec part = { ret_data, bytes };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room,
                              .msg_controllen = sizeof control.room };
    int fd = -1;
    CHECK(recvmsg(from, &message, MSG_WAITALL) == (ssize_t)bytes);
    if (CMSG_FIRSTHDR(&message))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    return fd;
}

/* ---- Both sides */

static int child(int to)
{
    CUmemPoolPtrExportData data[BLOCKS], none;
    CUdeviceptr p[BLOCKS], other;
    CUmemoryPool pool;
    char word = 'w';
    int fd = take(to, data, sizeof data);
    begin();
    memset(&none, 7, sizeof none);
    EQUAL(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)to, FD, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd, FD, 0));
    close(fd);
    EQUAL(cuMemAllocFromPoolAsync(&other, 100, pool, NULL), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuDeviceSetMemPool(0, pool), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0), CUDA_ERROR_INVALID_VALUE);
    EQUAL(cuMemPoolImportPointer(&other, pool, &none), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < BLOCKS; i++) {
        OK(cuMemPoolImportPointer(&p[i], pool, &data[i]));
        read_block(p[i], 1, i);
        write_block(p[i], 2, i);
    }
    EQUAL(cuIpcCloseMemHandle(p[0]), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(p[0], NULL));
    OK(cuMemFree_v2(p[1]));
    OK(cuMemFreeAsync(p[2], NULL));
    EQUAL(cuMemFree_v2(p[0]), CUDA_ERROR_INVALID_VALUE);
    give(to, -1, &word, 1);
    take(to, &word, 1); /* the parent has freed them, too */
    EQUAL(cuMemPoolImportPointer(&other, pool, &data[2]), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolDestroy(pool));
    return failures != 0;
}

/* More allocations than a process may have open files, at first. */
static void many(CUmemoryPool pool)
{
    enum { MANY = 300 };
    const struct rlimit few = { 100, 4096 };
    static CUdeviceptr p[MANY];
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    for (int i = 0; i < MANY; i++)
        OK(cuMemAllocFromPoolAsync(&p[i], 1000, pool, NULL));
    for (int i = 0; i < MANY; i++)
        OK(cuMemFreeAsync(p[i], NULL));
}

static void parent(int to)
{
    CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = FD,
                             .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } };
    CUmemPoolPtrExportData data[BLOCKS];
    CUdeviceptr p[BLOCKS], plain;
    CUmemoryPool pool;
    char word;
    int fd;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocAsync(&plain, 1000, NULL));
    EQUAL(cuMemPoolExportPointer(data, plain), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(plain, NULL));
    for (int i = 0; i < BLOCKS; i++) {
        OK(cuMemAllocFromPoolAsync(&p[i], size[i], pool, NULL));
        write_block(p[i], 1, i);
        OK(cuMemPoolExportPointer(&data[i], p[i]));
    }
    EQUAL(cuMemPoolExportPointer(data, p[0] + 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPoolExportPointer(&data[0], p[0]));
    EQUAL(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_WIN32, 0), CUDA_ERROR_NOT_SUPPORTED);
    OK(cuMemPoolExportToShareableHandle(&fd, pool, FD, 0));
    give(to, fd, data, sizeof data);
    close(fd);
    take(to, &word, 1);
    for (int i = 0; i < BLOCKS; i++) {
        read_block(p[i], 2, i);
        OK(cuMemFreeAsync(p[i], NULL));
    }
    OK(cuMemAllocAsync(&plain, MOST, NULL)); /* not what others may still have */
    CHECK(plain != p[2]);
    OK(cuMemFreeAsync(plain, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemPoolDestroy(pool));
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&plain, MOST, pool, NULL));
    CHECK(plain != p[2]);
    OK(cuMemFreeAsync(plain, NULL));
    many(pool);
    OK(cuMemPoolDestroy(pool));
}

int main(void)
{
    int pair[2], status = 1, kinds;
    char word = 'w';
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return 1;
    pid_t pid = fork(); /* before CUDA begins, which a child could not go on with */
    if (pid == 0) {
        close(pair[0]);
        _exit(child(pair[1]));
    }
    close(pair[1]);
    begin();
    OK(cuDeviceGetAttribute(&kinds, (CUdevice_attribute)HANDLE_TYPES, 0));
    if (!(kinds & FD))
        return 77;
    parent(pair[0]);
    give(pair[0], -1, &word, 1);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    printf("%d failures\n", failures);
    return failures != 0;
}
