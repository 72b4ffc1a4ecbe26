// Virtual memory management: two pieces of memory side by side in one reservation, used as one by a kernel, by copies and by
// fills; one piece at two addresses; access that is not set or taken away; properties, references and rights; memory of the
// host's; a piece that another process gets as a file descriptor and writes. What a device has none of is refused by name.
// link: -lcuda
// variants: shared sm_80
// SPDX-License-Identifier: Apache-2.0
#include "check.h"
#include <cuda.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define DRV(call)                                                                                    \
    do {                                                                                             \
        CUresult drv_ = (call);                                                                      \
        EXPECT(drv_ == CUDA_SUCCESS, "%s gives %d", #call, (int)drv_);                               \
    } while (0)
#define DRV_ERR(call, want)                                                                          \
    do {                                                                                             \
        CUresult drv_ = (call);                                                                      \
        EXPECT(drv_ == (want), "%s gives %d, expected %d", #call, (int)drv_, (int)(want));           \
    } while (0)

__global__ void count(unsigned *data, unsigned n, unsigned first)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] = first + i;
}

static CUmemAllocationProp prop_of(CUmemAllocationHandleType kind)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    prop.requestedHandleTypes = kind;
    return prop;
}

static CUmemAccessDesc access_of(CUmemAccess_flags flags)
{
    CUmemAccessDesc desc = {};
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.flags = flags;
    return desc;
}

static const CUmemAccessDesc both = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

static void refused()
{
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p;
    size_t unit;
    DRV_ERR(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM), CUDA_ERROR_NOT_SUPPORTED);
    DRV_ERR(cuMemAddressReserve(&p, 2 << 20, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
    DRV_ERR(cuMemCreate(&handle, 2 << 20, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// Two mappings are one range to whoever uses it.
static void side_by_side(size_t unit)
{
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_NONE), got;
    CUmemGenericAllocationHandle a, b, again;
    CUdeviceptr p, alias;
    unsigned n = (unsigned)(2 * unit / 4);
    std::vector<unsigned> host(n);
    DRV(cuMemAddressReserve(&p, 4 * unit, 0, 0, 0));
    DRV(cuMemCreate(&a, unit, &prop, 0));
    DRV(cuMemCreate(&b, unit, &prop, 0));
    DRV_ERR(cuMemCreate(&again, unit + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    DRV(cuMemMap(p, unit, 0, a, 0));
    DRV(cuMemMap(p + unit, unit, 0, b, 0));
    DRV_ERR(cuMemMap(p + unit, unit, 0, a, 0), CUDA_ERROR_INVALID_VALUE);     // taken
    DRV_ERR(cuMemMap(p + 4 * unit, unit, 0, a, 0), CUDA_ERROR_INVALID_VALUE); // not reserved
    DRV_ERR(cuMemSetAccess(p, 3 * unit, &both, 1), CUDA_ERROR_INVALID_VALUE); // not mapped to its end
    // While a stream waits for the host, nothing of this does.
    CUstream waits;
    CUdeviceptr flag;
    DRV(cuMemAlloc(&flag, 4));
    DRV(cuMemsetD32(flag, 0, 1));
    DRV(cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING));
    DRV(cuStreamWaitValue32(waits, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
    DRV(cuMemSetAccess(p, 2 * unit, &both, 1));
    DRV(cuMemsetD32Async(flag, 1, 1, CU_STREAM_LEGACY));
    DRV(cuStreamSynchronize(waits));
    DRV(cuStreamDestroy(waits));
    DRV(cuMemFree(flag));
    count<<<n / 256, 256>>>((unsigned *)p, n, 5);
    DRV(cuMemcpyDtoH(host.data(), p, 2 * unit));
    for (unsigned i = 0; i < n; i++)
        if (host[i] != 5 + i) {
            EXPECT(false, "element %u is %u", i, host[i]);
            break;
        }
    DRV(cuMemsetD32(p + unit - 8, 77, 4)); // over the seam
    DRV(cuMemcpyDtoH(host.data(), p + unit - 12, 24));
    EXPECT(host[0] == 5 + n / 2 - 3 && host[1] == 77 && host[4] == 77 && host[5] == 5 + n / 2 + 2, "the seam: %u %u %u %u",
           host[0], host[1], host[4], host[5]);
    DRV_ERR(cuMemcpyDtoH(host.data(), p + unit, unit + 4), CUDA_ERROR_INVALID_VALUE); // past what is mapped

    DRV(cuMemMap(p + 3 * unit, unit, 0, a, 0)); // the first piece once more
    DRV(cuMemSetAccess(p + 3 * unit, unit, &both, 1));
    alias = p + 3 * unit;
    DRV(cuMemsetD32(alias, 4711, 1));
    DRV(cuMemcpyDtoH(host.data(), p, 4));
    EXPECT(host[0] == 4711, "through the other address: %u", host[0]);

    unsigned long long rights = 0;
    DRV(cuMemGetAccess(&rights, &both.location, p));
    EXPECT(rights == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "rights %llu", rights);
    DRV(cuMemRetainAllocationHandle(&again, (void *)(p + unit + 100)));
    EXPECT(again == b, "another handle");
    DRV(cuMemGetAllocationPropertiesFromHandle(&got, b));
    EXPECT(got.type == prop.type && got.location.id == 0 && got.requestedHandleTypes == 0, "other properties");
    CUmemAccessDesc host_access = both;
    host_access.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    EXPECT(cuMemSetAccess(p, unit, &host_access, 1) != CUDA_SUCCESS, "the host has rights to the device's memory");
    CUmemorytype kind;
    DRV(cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + unit));
    EXPECT(kind == CU_MEMORYTYPE_DEVICE, "kind %d", (int)kind);

    DRV(cuMemRelease(b)); // two references and a mapping
    DRV(cuMemRelease(again));
    DRV_ERR(cuMemRelease(b), CUDA_ERROR_INVALID_VALUE);
    DRV(cuMemcpyDtoH(host.data(), p + unit, 12)); // mapped still
    DRV(cuMemRelease(a));
    DRV_ERR(cuMemAddressFree(p, 4 * unit), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuMemUnmap(p + unit, unit / 2), CUDA_ERROR_INVALID_VALUE);
    DRV(cuMemUnmap(p, 2 * unit));
    DRV(cuMemUnmap(alias, unit));
    DRV_ERR(cuMemcpyDtoH(host.data(), p, 4), CUDA_ERROR_INVALID_VALUE);
    DRV_ERR(cuMemMap(p, unit, 0, a, 0), CUDA_ERROR_INVALID_VALUE); // gone
    DRV(cuMemAddressFree(p, 4 * unit));
}

// The host's memory, which grows in place as a vector does: the host and kernels use it.
static void of_the_host(size_t unit)
{
    int has = 0, node = -2;
    DRV(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    DRV(cuDeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0));
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_NONE), got;
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    prop.location.id = node < 0 ? 0 : node;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr p, device = 0;
    if (!has) {
        DRV_ERR(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), CUDA_ERROR_NOT_SUPPORTED);
        DRV_ERR(cuMemCreate(&handle, unit, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
        return;
    }
    CUmemAccessDesc access[2] = { both, both };
    access[0].location = prop.location;
    DRV(cuMemAddressReserve(&p, 2 * unit, 0, 0, 0));
    for (CUdeviceptr at = p; at < p + 2 * unit; at += unit) {
        DRV(cuMemCreate(&handle, unit, &prop, 0));
        DRV(cuMemMap(at, unit, 0, handle, 0));
        DRV(cuMemRelease(handle));
        DRV(cuMemSetAccess(at, unit, access, 2));
    }
    unsigned *host = (unsigned *)p, n = (unsigned)(2 * unit / 4);
    host[0] = host[n - 1] = 3;
    count<<<n / 256 - 1, 256>>>(host + 128, n - 256, 9);
    CHECK(cudaDeviceSynchronize());
    EXPECT(host[0] == 3 && host[128] == 9 && host[n - 129] == n - 256 + 8 && host[n - 1] == 3, "the host reads other numbers");
    DRV(cuMemAlloc(&device, 2 * unit));
    DRV(cuMemcpyHtoD(device, host, 2 * unit));
    CHECK(cudaMemset(host, 0, 2 * unit));
    DRV(cuMemcpyDtoH(host, device, 2 * unit));
    EXPECT(host[0] == 3 && host[128] == 9 && host[n - 1] == 3, "copied there and back it is other numbers");
    std::vector<unsigned> numbers(n);
    for (unsigned round = 1, wrong = 0; round <= 20; round++) { /* the host reads as soon as the call returns */
        for (unsigned i = 0; i < n; i++)
            numbers[i] = round * 7 + i;
        DRV(cuMemcpyHtoD(device, numbers.data(), 2 * unit));
        CHECK(cudaMemset(host, 0, 2 * unit));
        DRV(cuMemcpyDtoH(host, device, 2 * unit));
        for (unsigned i = 0; i < n; i++)
            wrong += host[i] != numbers[i];
        EXPECT(!wrong, "round %u: %u numbers were not there yet", round, wrong);
    }
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, host + 5));
    EXPECT(attributes.type == cudaMemoryTypeHost, "type %d", (int)attributes.type);
    unsigned long long rights = 0;
    DRV(cuMemGetAccess(&rights, &prop.location, p + unit));
    EXPECT(rights == CU_MEM_ACCESS_FLAGS_PROT_READWRITE, "the host's rights %llu", rights);
    DRV(cuMemRetainAllocationHandle(&handle, host));
    DRV(cuMemGetAllocationPropertiesFromHandle(&got, handle));
    EXPECT(got.location.type == prop.location.type && got.location.id == prop.location.id, "another place");
    DRV(cuMemRelease(handle));
    DRV(cuMemUnmap(p, 2 * unit));
    DRV(cuMemAddressFree(p, 2 * unit));
    DRV(cuMemFree(device));
    prop.location.id = -5;
    DRV_ERR(cuMemCreate(&handle, unit, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}

static void fd_send(int socket, int fd)
{
    char data = 'x', control[CMSG_SPACE(sizeof fd)] = {};
    iovec io = { &data, 1 };
    msghdr m = {};
    m.msg_iov = &io;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(c), &fd, sizeof fd);
    EXPECT(sendmsg(socket, &m, 0) == 1, "nothing was sent");
}

static int fd_receive(int socket)
{
    char data, control[CMSG_SPACE(sizeof(int))];
    iovec io = { &data, 1 };
    msghdr m = {};
    m.msg_iov = &io;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    int fd = -1;
    if (recvmsg(socket, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static CUdeviceptr place(CUmemGenericAllocationHandle handle, size_t size)
{
    CUdeviceptr p = 0;
    DRV(cuMemAddressReserve(&p, size, 0, 0, 0));
    DRV(cuMemMap(p, size, 0, handle, 0));
    DRV(cuMemSetAccess(p, size, &both, 1));
    return p;
}

// The child: writes numbers into memory that it gets as a descriptor.
static int child(int socket)
{
    CUmemGenericAllocationHandle handle;
    size_t unit;
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    int fd = fd_receive(socket);
    if (fd < 0)
        return 0; // none is shared here
    CHECK(cudaFree(0));
    DRV(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    DRV_ERR(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)socket, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_ERROR_INVALID_VALUE);
    DRV(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CUdeviceptr p = place(handle, unit);
    count<<<4, 256>>>((unsigned *)p, 1024, 1000);
    CHECK(cudaDeviceSynchronize());
    return check_failures != 0;
}

static void shared(size_t unit, int socket, pid_t other)
{
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle;
    unsigned host[1024] = {};
    int fd = -1, status = -1;
    DRV(cuMemCreate(&handle, unit, &prop, 0));
    CUdeviceptr p = place(handle, unit);
    DRV(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    DRV_ERR(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0), CUDA_ERROR_NOT_SUPPORTED);
    fd_send(socket, fd);
    close(fd);
    EXPECT(waitpid(other, &status, 0) == other && status == 0, "the other process ended with %d", status);
    DRV(cuMemcpyDtoH(host, p, sizeof host));
    EXPECT(host[0] == 1000 && host[1023] == 2023, "what the other process wrote: %u %u", host[0], host[1023]);
    DRV(cuMemUnmap(p, unit));
    DRV(cuMemRelease(handle));
    DRV(cuMemAddressFree(p, unit));
}

// Last, as it leaves the context of no use.
static void no_access(size_t unit)
{
    CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle;
    DRV(cuMemCreate(&handle, unit, &prop, 0));
    CUdeviceptr p = place(handle, unit);
    CUmemAccessDesc none = access_of(CU_MEM_ACCESS_FLAGS_PROT_NONE);
    DRV(cuMemSetAccess(p, unit, &none, 1));
    count<<<1, 32>>>((unsigned *)p, 32, 0);
    EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "a kernel wrote without access");
}

int main()
{
    int pair[2], has = 0, has_fd = 0;
    size_t unit, recommended;
    EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no sockets");
    pid_t other = fork(); // before CUDA begins
    if (other == 0) {
        close(pair[0]);
        return child(pair[1]);
    }
    close(pair[1]);
    CHECK(cudaFree(0));
    DRV(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    DRV(cuDeviceGetAttribute(&has_fd, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0));
    if (!has) {
        refused();
    } else {
        CUmemAllocationProp prop = prop_of(CU_MEM_HANDLE_TYPE_NONE);
        DRV(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
        DRV(cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
        EXPECT(unit && recommended % unit == 0, "granularity %zu, %zu", unit, recommended);
        side_by_side(unit);
        of_the_host(unit);
        if (has_fd)
            shared(unit, pair[0], other);
        no_access(unit);
    }
    return check_done();
}
