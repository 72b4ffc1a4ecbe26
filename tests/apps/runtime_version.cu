// The structures and calls that changed between CUDA 11, 12 and 13, in the layout of the headers that this was built with:
// properties, function and pointer attributes, entry points, prefetching, batched copies.  Nothing may be written past a
// structure's end.
// SPDX-License-Identifier: Apache-2.0
#include "check.h"

template <typename T> struct Guarded {
    T value;
    unsigned char after[256];
    Guarded() { memset((void *)this, 0xa5, sizeof *this); }
    ~Guarded()
    {
        for (size_t i = 0; i < sizeof after; i++)
            if (after[i] != 0xa5) {
                EXPECT(after[i] == 0xa5, "written %zu bytes past a structure of %zu", i, sizeof(T));
                break;
            }
    }
};

__global__ void __launch_bounds__(256) fill(int *out)
{
    __shared__ int kept[100];
    if (threadIdx.x < 100)
        kept[threadIdx.x] = 2 * threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = kept[threadIdx.x % 50];
}

static void same(const char *name, cudaDeviceAttr attribute, long long field)
{
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, attribute, 0));
    EXPECT(value == field, "%s is %lld, the attribute %d", name, field, value);
}

static void properties(void)
{
    Guarded<cudaDeviceProp> g;
    size_t free_bytes, total;
    int device = -1;
    CHECK(cudaGetDeviceProperties(&g.value, 0));
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    const cudaDeviceProp &p = g.value;
    EXPECT(memchr(p.name, 0, sizeof p.name) && p.name[0], "no name");
    EXPECT(p.totalGlobalMem == total, "%zu, %zu", p.totalGlobalMem, total);
#define SAME(attribute, field) same(#field, cudaDevAttr##attribute, (long long)p.field)
    SAME(MaxSharedMemoryPerBlock, sharedMemPerBlock);
    SAME(WarpSize, warpSize);
    SAME(MaxThreadsPerBlock, maxThreadsPerBlock);
    SAME(MaxGridDimX, maxGridSize[0]);
    SAME(MaxGridDimZ, maxGridSize[2]);
    SAME(ComputeCapabilityMajor, major);
    SAME(ComputeCapabilityMinor, minor);
    SAME(TextureAlignment, textureAlignment);
    SAME(MultiProcessorCount, multiProcessorCount);
    SAME(MaxTexture3DDepth, maxTexture3D[2]);
    SAME(SurfaceAlignment, surfaceAlignment);
    SAME(ConcurrentKernels, concurrentKernels);
    SAME(L2CacheSize, l2CacheSize);
    SAME(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor);
    SAME(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor);
    SAME(ManagedMemory, managedMemory);
    SAME(CooperativeLaunch, cooperativeLaunch);
    SAME(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin);
    SAME(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor);
#if CUDART_VERSION < 13000
    SAME(ClockRate, clockRate);
    SAME(MemoryClockRate, memoryClockRate);
    SAME(SingleToDoublePrecisionPerfRatio, singleToDoublePrecisionPerfRatio);
#endif
#if CUDART_VERSION >= 12000
    SAME(HostRegisterSupported, hostRegisterSupported);
    SAME(MemoryPoolsSupported, memoryPoolsSupported);
    SAME(ClusterLaunch, clusterLaunch);
#endif
    CHECK(cudaChooseDevice(&device, &p));
    EXPECT(device == 0, "%d", device);
}

static void attributes(int *dev, int *pinned, int *managed)
{
    Guarded<cudaFuncAttributes> f;
    Guarded<cudaPointerAttributes> p;
    int local;
    CHECK(cudaFuncGetAttributes(&f.value, fill));
    EXPECT(f.value.sharedSizeBytes == 400 && f.value.maxThreadsPerBlock == 256, "%zu %d", f.value.sharedSizeBytes,
           f.value.maxThreadsPerBlock);
    CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, 40000));
    CHECK(cudaFuncGetAttributes(&f.value, fill));
    EXPECT(f.value.maxDynamicSharedSizeBytes == 40000, "%d", f.value.maxDynamicSharedSizeBytes);
    CHECK(cudaPointerGetAttributes(&p.value, dev + 1));
    EXPECT(p.value.type == cudaMemoryTypeDevice && p.value.device == 0 && p.value.devicePointer == dev + 1, "of device memory");
    CHECK(cudaPointerGetAttributes(&p.value, pinned + 1));
    EXPECT(p.value.type == cudaMemoryTypeHost && p.value.hostPointer == pinned + 1, "of pinned memory");
    CHECK(cudaPointerGetAttributes(&p.value, managed + 1));
    EXPECT(p.value.type == cudaMemoryTypeManaged && p.value.devicePointer == managed + 1, "of managed memory");
    CHECK(cudaPointerGetAttributes(&p.value, &local));
    EXPECT(p.value.type == cudaMemoryTypeUnregistered && !p.value.devicePointer, "of the stack");
}

/* By version: what the driver's function is, told with or without a result. */
static void entry_point(void)
{
    void *function = nullptr, *pointer = nullptr;
#if CUDART_VERSION >= 13000
    Guarded<cudaDriverEntryPointQueryResult> result;
    CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, CUDART_VERSION, cudaEnableDefault, &result.value));
    EXPECT(result.value == cudaDriverEntryPointSuccess, "%d", (int)result.value);
#elif CUDART_VERSION >= 12000
    Guarded<cudaDriverEntryPointQueryResult> result;
    CHECK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault, &result.value));
    EXPECT(result.value == cudaDriverEntryPointSuccess, "%d", (int)result.value);
#else
    CHECK(cudaGetDriverEntryPoint("cuMemAlloc", &function, cudaEnableDefault));
#endif
    int status = function ? ((int (*)(void **, size_t))function)(&pointer, 64) : -1;
    EXPECT(status == 0 && pointer, "cuMemAlloc: %d", status);
    CHECK(cudaFree(pointer));
}

#if CUDART_VERSION >= 12080
static cudaError_t boxes(size_t n, cudaMemcpy3DBatchOp *ops, cudaStream_t stream, unsigned long long flags = 0)
{
#if CUDART_VERSION >= 13000
    return cudaMemcpy3DBatchAsync(n, ops, flags, stream);
#else
    size_t failed = 7;
    cudaError_t error = cudaMemcpy3DBatchAsync(n, ops, &failed, flags, stream);
    EXPECT(!error || failed < n || failed == SIZE_MAX, "%zu failed", failed);
    return error;
#endif
}

static cudaMemcpy3DOperand at(void *ptr, size_t row, size_t rows)
{
    cudaMemcpy3DOperand o = {};
    o.type = cudaMemcpyOperandTypePointer;
    o.op.ptr.ptr = ptr, o.op.ptr.rowLength = row, o.op.ptr.layerHeight = rows;
    return o;
}

static cudaMemcpy3DOperand in_array(cudaArray_t array, size_t x, size_t y, size_t z)
{
    cudaMemcpy3DOperand o = {};
    o.type = cudaMemcpyOperandTypeArray;
    o.op.array.array = array;
    o.op.array.offset.x = x, o.op.array.offset.y = y, o.op.array.offset.z = z;
    return o;
}

/* Boxes in bytes between pointers, in elements of the array where there is one: into an array of 8 x 6 x 4 pairs of floats at
 * (2, 1, 1), out of it, and from one place of memory to another. */
static void batch_of_boxes(cudaStream_t stream)
{
    enum { W = 5, H = 3, D = 2, ROW = 7, ROWS = 4 };
    static float2 from[ROW * ROWS * D], back[W * H * D];
    unsigned char bytes[40], *dev;
    cudaArray_t array;
    cudaChannelFormatDesc pairs = cudaCreateChannelDesc<float2>();
    CHECK(cudaMalloc3DArray(&array, &pairs, make_cudaExtent(8, 6, 4)));
    CHECK(cudaMalloc((void **)&dev, 1000));
    CHECK(cudaMemset(dev, 0, 1000));
    for (int i = 0; i < ROW * ROWS * D; i++)
        from[i] = make_float2((float)i, (float)-i);
    for (int i = 0; i < 40; i++)
        bytes[i] = (unsigned char)(i + 1);
    cudaMemcpy3DBatchOp ops[2] = {};
    ops[0].src = at(from, ROW, ROWS), ops[0].dst = in_array(array, 2, 1, 1);
    ops[0].extent = make_cudaExtent(W, H, D);
    ops[0].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    ops[1].src = at(bytes, 10, 0), ops[1].dst = at(dev + 3, 100, 0);
    ops[1].extent = make_cudaExtent(6, 4, 1);
    ops[1].srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall;
    CHECK(boxes(2, ops, stream));
    memset(bytes, 0, sizeof bytes); /* free again */
    cudaMemcpy3DBatchOp out = ops[0];
    out.src = ops[0].dst, out.dst = at(back, 0, 0);
    CHECK(boxes(1, &out, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < W * H * D; i++) {
        int want = i % W + i / W % H * ROW + i / (W * H) * ROW * ROWS;
        EXPECT(back[i].x == (float)want && back[i].y == (float)-want, "[%d] %g %g, not %d", i, back[i].x, back[i].y, want);
    }
    unsigned char rows[400];
    CHECK(cudaMemcpy(rows, dev, 400, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 400; i++) {
        int x = (i - 3) % 100, y = (i - 3) / 100, want = i >= 3 && x < 6 ? x + y * 10 + 1 : 0;
        EXPECT(rows[i] == want, "byte %d: %d, not %d", i, rows[i], want);
    }
    out.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT(boxes(1, &out, stream) == cudaErrorInvalidValue, "no order of access");
    out = ops[0], out.src = at(from, W - 1, 0);
    EXPECT(boxes(1, &out, stream) == cudaErrorInvalidValue, "rows shorter than the box");
    out = ops[0], out.dst = in_array(array, 4, 1, 1);
    EXPECT(boxes(1, &out, stream) == cudaErrorInvalidValue, "a box that leaves the array");
    out = ops[0], out.extent.depth = 0;
    EXPECT(boxes(1, &out, stream) == cudaErrorInvalidValue, "a box of nothing");
    EXPECT(boxes(0, ops, stream) == cudaErrorInvalidValue && boxes(1, ops, stream, 1) == cudaErrorInvalidValue, "none; flags");
    cudaGetLastError();
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(dev));
}
#endif

static void copies(int *dev, int *pinned, int *managed)
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
#if CUDART_VERSION >= 13000
    cudaMemLocation here = { cudaMemLocationTypeDevice, 0 };
    CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, here));
    CHECK(cudaMemPrefetchAsync(managed, 4096, here, 0, stream));
#else
    CHECK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, 0));
    CHECK(cudaMemPrefetchAsync(managed, 4096, 0, stream));
#endif
#if CUDART_VERSION >= 12080
    void *to[2] = { pinned + 512, pinned + 600 };
    const void *from[2] = { dev, dev + 50 };
    size_t sizes[2] = { 200, 100 }, first[1] = { 0 };
    cudaMemcpyAttributes how = {};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
#if CUDART_VERSION >= 13000
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &how, first, 1, stream));
#else
    size_t failed = 0;
    CHECK(cudaMemcpyBatchAsync(to, (void **)from, sizes, 2, &how, first, 1, &failed, stream));
#endif
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(pinned[512 + 49] == 98 && pinned[600 + 3] == 6, "%d %d", pinned[561], pinned[603]);
    batch_of_boxes(stream);
#endif
    CHECK(cudaStreamDestroy(stream));
}

int main()
{
    int version = 0, driver = 0, *pinned, *managed;
    CHECK(cudaRuntimeGetVersion(&version));
    CHECK(cudaDriverGetVersion(&driver));
    EXPECT(version / 1000 == CUDART_VERSION / 1000 && driver >= version, "runtime %d, driver %d, headers %d", version, driver,
           CUDART_VERSION);
    Dev<int> dev(1024);
    CHECK(cudaMallocHost((void **)&pinned, 4096));
    CHECK(cudaMallocManaged((void **)&managed, 4096));
    fill<<<1, 256>>>(dev);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(pinned, dev, 1024, cudaMemcpyDeviceToHost));
    EXPECT(pinned[49] == 98 && pinned[255] == 10, "%d %d", pinned[49], pinned[255]);
    properties();
    attributes(dev, pinned, managed);
    entry_point();
    copies(dev, pinned, managed);
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(pinned));
    return check_done();
}
