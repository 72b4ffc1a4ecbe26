/* A program of the runtime API, linked against the libcudart that AW_MAJOR names: what each version's binary interface promises.
 * It launches no kernel.  run.py looks at what it logs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "abi/cudart_types.h"

#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if AW_MAJOR == 11
#define VERSION 11080
#define PROP_SIZE 728
typedef cudaPointerAttributes_v11 pointer_attributes;
#define prop_t cudaDeviceProp_v12 /* its head */
#define prop_get cudaGetDeviceProperties
#elif AW_MAJOR == 12
#define VERSION 12090
#define PROP_SIZE 1032
typedef cudaPointerAttributes_v11 pointer_attributes;
#define prop_t cudaDeviceProp_v12
#define prop_get cudaGetDeviceProperties_v2
#else
#define VERSION 13000
#define HAS_ATTRIBUTES 1 /* of copies */
#define PROP_SIZE 1008
#define NO_KERNEL cudaErrorInvalidResourceHandle /* CUDA 13 leaves it to the driver */
typedef cudaPointerAttributes_v13 pointer_attributes;
#define prop_t cudaDeviceProp_v13
#define prop_get cudaGetDeviceProperties
#endif

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t prop_get(void *prop, int device);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDeviceGetAttribute(int *value, int attr, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaMalloc(void **pointer, size_t size);
cudaError_t cudaFree(void *pointer);
cudaError_t cudaMallocHost(void **pointer, size_t size);
cudaError_t cudaFreeHost(void *pointer);
cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned flags);
cudaError_t cudaMemcpy(void *dst, const void *src, size_t size, int kind);
cudaError_t cudaMemcpy_ptds(void *dst, const void *src, size_t size, int kind);
cudaError_t cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t size, int kind, cudaStream_t stream);
#ifdef HAS_ATTRIBUTES
cudaError_t cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size, const cudaMemcpyAttributes *how,
                                          cudaStream_t stream);
cudaError_t cudaMemcpyBatchAsync(void **dsts, const void **srcs, const size_t *sizes, size_t count,
                                 const cudaMemcpyAttributes *attrs, const size_t *attr_indices, size_t attr_count,
                                 cudaStream_t stream);
#endif
#if AW_MAJOR == 13
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device);
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t *pool, const cudaMemLocation *location, cudaMemAllocationType type);
cudaError_t cudaMemGetMemPool(cudaMemPool_t *pool, const cudaMemLocation *location, cudaMemAllocationType type);
cudaError_t cudaMemSetMemPool(const cudaMemLocation *location, cudaMemAllocationType type, cudaMemPool_t pool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *props);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool);
cudaError_t cudaLogsRegisterCallback(cudaLogsCallback_t fn, void *user, cudaLogsCallbackHandle *callback);
cudaError_t cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback);
cudaError_t cudaMemsetAsync(void *data, int value, size_t size, cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaDeviceGetDevResource(int device, cudaDevResource *resource, cudaDevResourceType type);
cudaError_t cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *desc, const cudaDevResource *resources, unsigned n);
cudaError_t cudaGreenCtxCreate(cudaExecutionContext_t *ctx, cudaDevResourceDesc_t desc, int device, unsigned flags);
cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int device);
cudaError_t cudaExecutionCtxDestroy(cudaExecutionContext_t ctx);
cudaError_t cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx);
cudaError_t cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *id);
cudaError_t cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx, cudaDevResource *resource, cudaDevResourceType type);
cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, cudaExecutionContext_t ctx, unsigned flags, int priority);
cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx);
cudaError_t cudaStreamGetDevResource(cudaStream_t stream, cudaDevResource *resource, cudaDevResourceType type);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags);
cudaError_t cudaLogsCurrent(cudaLogIterator *at, unsigned flags);
cudaError_t cudaLogsDumpToFile(cudaLogIterator *at, const char *path, unsigned flags);
cudaError_t cudaLogsDumpToMemory(cudaLogIterator *at, char *buffer, size_t *size, unsigned flags);
#endif
#if AW_MAJOR < 13
cudaError_t cudaSetDoubleForDevice(double *value);
cudaError_t cudaSetDoubleForHost(double *value);
#endif
cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind);
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p);
cudaError_t cudaHostGetFlags(unsigned *flags, void *pointer);
cudaError_t cudaMemset(void *dst, int value, size_t size);
cudaError_t cudaMemset3D(cudaPitchedPtr dst, int value, cudaExtent extent);
cudaError_t cudaMalloc3D(cudaPitchedPtr *pitched, cudaExtent extent);
cudaError_t cudaPointerGetAttributes(pointer_attributes *attributes, const void *pointer);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *user);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *deps, size_t n,
                                 const cudaHostNodeParams *params);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
#if AW_MAJOR == 11
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error, char *log, size_t size);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error, int *result);
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);
cudaError_t cudaGraphInstantiateWithParams_ptsz(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphInstantiateParams *params);
#endif
#if AW_MAJOR == 13
#define EDGE_DATA cudaGraphEdgeData *data,
#define PLAIN NULL,
#else
#define EDGE_DATA
#define PLAIN
#endif
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, EDGE_DATA size_t *n);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     EDGE_DATA size_t n);
cudaError_t cudaGetSymbolAddress(void **pointer, const void *symbol);
cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);

#ifndef NO_KERNEL
#define NO_KERNEL cudaErrorInvalidDeviceFunction
#endif

static void devices(void)
{
    int count = -1, version = 0, warp = 0, device = -1;
    union {
        prop_t prop;
        unsigned char bytes[2048];
    } u;
    EQUAL(cudaGetDeviceCount(&count), cudaSuccess);
    CHECK(count >= 1);
    EQUAL(cudaRuntimeGetVersion(&version), cudaSuccess);
    EQUAL(version, VERSION);
    memset(&u, 0xa5, sizeof(u));
    EQUAL(prop_get(&u.prop, 0), cudaSuccess);
    for (size_t i = PROP_SIZE; i < sizeof(u.bytes); i++)
        if (u.bytes[i] != 0xa5) {
            EQUAL(u.bytes[i], 0xa5); /* written past this version's structure */
            break;
        }
    CHECK(u.prop.name[0] && memchr(u.prop.name, 0, sizeof(u.prop.name)));
    EQUAL(u.prop.warpSize, 32);
    CHECK(u.prop.major >= 3 && u.prop.multiProcessorCount >= 1 && u.prop.totalGlobalMem > 0);
    CHECK(u.prop.maxThreadsPerBlock >= 256 && u.prop.maxThreadsDim[2] >= 1 && u.prop.maxGridSize[0] > 65535);
    CHECK(u.prop.sharedMemPerBlockOptin >= u.prop.sharedMemPerBlock);
    EQUAL(cudaDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0), cudaSuccess);
    EQUAL(warp, u.prop.warpSize);
    EQUAL(cudaDeviceGetAttribute(&warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count), cudaErrorInvalidDevice);
    EQUAL(cudaSetDevice(count), cudaErrorInvalidDevice);
    EQUAL(cudaSetDevice(0), cudaSuccess);
    EQUAL(cudaGetDevice(&device), cudaSuccess);
    EQUAL(device, 0);
    EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void *other_thread(void *unused)
{
    (void)unused;
    return (void *)(intptr_t)cudaPeekAtLastError();
}

static void errors(void)
{
    pthread_t thread;
    void *other, *pointer = (void *)0x77;
    EQUAL(cudaGetLastError(), cudaSuccess);
    EQUAL(cudaMalloc(NULL, 16), cudaErrorInvalidValue);
    EQUAL(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EQUAL(cudaDeviceSynchronize(), cudaSuccess); /* success does not clear it */
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, &other) == 0);
    EQUAL((intptr_t)other, cudaSuccess); /* each thread has its own */
    EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
    EQUAL(cudaGetLastError(), cudaSuccess);
    EQUAL(cudaMalloc(&pointer, (size_t)1 << 60), cudaErrorMemoryAllocation);
    CHECK(pointer == (void *)0x77); /* outputs are untouched on failure */
    EQUAL(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
    CHECK(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
    CHECK(!strcmp(cudaGetErrorName((cudaError_t)12345), "unrecognized error code"));
    CHECK(!strcmp(cudaGetErrorString(cudaSuccess), "no error"));
}

static void stubs(void)
{
    for (int i = 0; i < 3; i++)
        EQUAL(cudaGraphicsResourceSetMapFlags((cudaGraphicsResource_t)0x55, 0), cudaErrorNotSupported);
    EQUAL(cudaGetLastError(), cudaErrorNotSupported);
}

static void graph_call(void *calls)
{
    ++*(int *)calls;
}

/* The calls whose form differs between the versions. */
static void graphs(void)
{
    int calls = 0;
    cudaGraph_t graph, captured;
    cudaGraphNode_t a, b, from[2], to[2];
    cudaGraphExec_t exec;
    cudaStream_t stream;
    cudaHostNodeParams params = { graph_call, &calls };
    size_t n = 2;
    EQUAL(cudaGraphCreate(&graph, 0), cudaSuccess);
    EQUAL(cudaGraphAddHostNode(&a, graph, NULL, 0, &params), cudaSuccess);
    EQUAL(cudaGraphAddHostNode(&b, graph, NULL, 0, &params), cudaSuccess);
    EQUAL(cudaGraphAddDependencies(graph, &a, &b, PLAIN 1), cudaSuccess);
    EQUAL(cudaGraphAddDependencies(graph, &a, &b, PLAIN 1), cudaErrorInvalidValue);
    EQUAL(cudaGraphGetEdges(graph, from, to, PLAIN &n), cudaSuccess);
    CHECK(n == 1 && from[0] == a && to[0] == b);
    EQUAL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EQUAL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EQUAL(cudaLaunchHostFunc(stream, graph_call, &calls), cudaSuccess);
    EQUAL(cudaStreamEndCapture(stream, &captured), cudaSuccess);
#if AW_MAJOR == 11
    cudaGraphNode_t error = b;
    char log[32] = "before";
    int result;
    EQUAL(cudaGraphInstantiate(&exec, graph, &error, log, sizeof log), cudaSuccess);
    CHECK(!error && !log[0]);
    EQUAL(cudaGraphExecUpdate(exec, captured, &error, &result), cudaErrorGraphExecUpdateFailure);
    EQUAL(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
#else
    cudaGraphExecUpdateResultInfo info;
    cudaGraphInstantiateParams how = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
    EQUAL(cudaGraphInstantiateWithParams_ptsz(&exec, graph, &how), cudaSuccess);
    EQUAL(how.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
    EQUAL(cudaGraphExecDestroy(exec), cudaSuccess);
    EQUAL(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
    EQUAL(cudaGraphExecUpdate(exec, captured, &info), cudaErrorGraphExecUpdateFailure);
    EQUAL(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
#endif
    EQUAL(cudaGraphLaunch(exec, stream), cudaSuccess);
    EQUAL(cudaStreamSynchronize(stream), cudaSuccess);
    EQUAL(calls, 2);
    EQUAL(cudaGraphExecDestroy(exec), cudaSuccess);
    EQUAL(cudaGraphDestroy(graph), cudaSuccess);
    EQUAL(cudaGraphDestroy(captured), cudaSuccess);
    EQUAL(cudaStreamDestroy(stream), cudaSuccess);
    EQUAL(cudaGetLastError(), cudaErrorGraphExecUpdateFailure);
}

static void memory(void)
{
    enum { N = 1000 };
    unsigned char host[N], *pinned, *managed;
    void *device, *none = (void *)1;
    unsigned flags;
    pointer_attributes attributes;
    EQUAL(cudaMalloc(&none, 0), cudaSuccess);
    CHECK(none == NULL);
    EQUAL(cudaMalloc(&device, N), cudaSuccess);
    EQUAL(cudaMallocHost((void **)&pinned, N), cudaSuccess);
    for (int i = 0; i < N; i++)
        pinned[i] = (unsigned char)(i * 7);
    EQUAL(cudaMemcpy(device, pinned, N, cudaMemcpyHostToDevice), cudaSuccess);
    EQUAL(cudaMemset((char *)device + 10, 0xee, 5), cudaSuccess);
    memset(host, 0, N);
    EQUAL(cudaMemcpy_ptds(host, device, N, cudaMemcpyDefault), cudaSuccess);
    for (int i = 0; i < N; i++)
        if (host[i] != (i >= 10 && i < 15 ? 0xee : (unsigned char)(i * 7))) {
            EQUAL(host[i], -i);
            break;
        }
#ifdef HAS_ATTRIBUTES
    cudaMemcpyAttributes how = { .srcAccessOrder = 1 };
    void *targets[2] = { host, host + 20 };
    const void *sources[2] = { pinned + 500, (char *)device + 10 };
    size_t sizes[2] = { 20, 5 }, first = 0;
    EQUAL(cudaMemcpyWithAttributesAsync(host, pinned, N, NULL, NULL), cudaErrorInvalidValue);
    EQUAL(cudaMemcpyWithAttributesAsync(host, pinned, N, &how, NULL), cudaSuccess);
    EQUAL(cudaStreamSynchronize(NULL), cudaSuccess);
    EQUAL(host[11], 77);
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, &how, &first, 1, CU_STREAM_PER_THREAD), cudaSuccess);
    EQUAL(cudaStreamSynchronize(CU_STREAM_PER_THREAD), cudaSuccess);
    EQUAL(host[3], (unsigned char)(503 * 7));
    EQUAL(host[24], 0xee);
    cudaMemcpyAttributes wrong[2] = { { .srcAccessOrder = 1 }, { .srcAccessOrder = 4 } };
    size_t places[2] = { 0, 1 };
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, wrong, places, 2, CU_STREAM_PER_THREAD), cudaErrorInvalidValue);
    wrong[1].srcAccessOrder = 0;
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, wrong, places, 2, CU_STREAM_PER_THREAD), cudaErrorInvalidValue);
    EQUAL(cudaMemcpyWithAttributesAsync(host, pinned, N, &wrong[1], NULL), cudaErrorInvalidValue);
    wrong[1].srcAccessOrder = 3;
    places[1] = 0;
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, wrong, places, 2, CU_STREAM_PER_THREAD), cudaErrorInvalidValue);
    places[1] = 2;
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, wrong, places, 2, CU_STREAM_PER_THREAD), cudaErrorInvalidValue);
    places[1] = 1;
    EQUAL(cudaMemcpyBatchAsync(targets, sources, sizes, 2, wrong, places, 2, CU_STREAM_PER_THREAD), cudaSuccess);
    EQUAL(cudaStreamSynchronize(CU_STREAM_PER_THREAD), cudaSuccess);
#endif
    EQUAL(cudaMemcpy(host, device, N, 9), cudaErrorInvalidMemcpyDirection);
    EQUAL(cudaMemcpy2D(host, 10, device, 5, 10, 2, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
    EQUAL(cudaPointerGetAttributes(&attributes, (char *)device + 3), cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == (char *)device + 3 && !attributes.hostPointer);
    EQUAL(cudaHostGetFlags(&flags, pinned + 3), cudaSuccess);
    EQUAL(flags, cudaHostAllocMapped); /* all pinned memory is */
    EQUAL(cudaHostGetFlags(&flags, host), cudaErrorInvalidValue);
    EQUAL(cudaPointerGetAttributes(&attributes, pinned + 3), cudaSuccess);
    CHECK(attributes.type == cudaMemoryTypeHost && attributes.hostPointer == pinned + 3);
    EQUAL(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
    EQUAL(attributes.type, cudaMemoryTypeUnregistered);
    EQUAL(cudaMallocManaged((void **)&managed, N, cudaMemAttachGlobal), cudaSuccess);
    memset(managed, 3, N);
    EQUAL(cudaPointerGetAttributes(&attributes, managed), cudaSuccess);
    EQUAL(attributes.type, cudaMemoryTypeManaged);
    EQUAL(cudaFree(managed), cudaSuccess);
    EQUAL(cudaFree((char *)device + 1), cudaErrorInvalidValue);
    EQUAL(cudaFree(device), cudaSuccess);
    EQUAL(cudaFree(NULL), cudaSuccess);
    EQUAL(cudaFreeHost(pinned), cudaSuccess);
    (void)cudaGetLastError();
}

/* A box inside a pitched allocation: set, copied out, compared. */
static void boxes(void)
{
    enum { W = 20, H = 5, D = 3 };
    unsigned char host[D][H][W];
    cudaPitchedPtr box;
    EQUAL(cudaMalloc3D(&box, (cudaExtent){ W, H, D }), cudaSuccess);
    CHECK(box.pitch >= W && box.xsize == W && box.ysize == H);
    EQUAL(cudaMemset3D(box, 1, (cudaExtent){ W, H, D }), cudaSuccess);
    EQUAL(cudaMemset3D(box, 2, (cudaExtent){ W / 2, H - 1, D - 1 }), cudaSuccess);
    memset(host, 9, sizeof(host));
    cudaMemcpy3DParms p = { .srcPtr = box, .srcPos = { 1, 0, 0 }, .dstPtr = { host, W, W, H }, .extent = { W - 1, H, D },
                            .kind = cudaMemcpyDeviceToHost };
    EQUAL(cudaMemcpy3D(&p), cudaSuccess);
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                int want = x == W - 1 ? 9 : x + 1 < W / 2 && y < H - 1 && z < D - 1 ? 2 : 1;
                if (host[z][y][x] != want) {
                    printf("box at %d,%d,%d\n", x, y, z);
                    EQUAL(host[z][y][x], want);
                    return;
                }
            }
    EQUAL(cudaFree(box.ptr), cudaSuccess);
    p.dstPtr.pitch = W - 2;
    EQUAL(cudaMemcpy3D(&p), cudaErrorInvalidPitchValue);
    p.dstPtr = (cudaPitchedPtr){ host, W, W, H - 1 };
    EQUAL(cudaMemcpy3D(&p), cudaErrorInvalidValue); /* slices of fewer rows than the box has */
    EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
}

static void set_flag(void *flag)
{
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

static void streams(void)
{
    cudaStream_t stream;
    cudaEvent_t begin, end;
    float ms = -1;
    int flag = 0, capture = -1;
    char from[64] = "abc", to[64] = "";
    EQUAL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EQUAL(cudaStreamCreateWithFlags(&stream, 77), cudaErrorInvalidValue);
    EQUAL(cudaEventCreate(&begin), cudaSuccess);
    EQUAL(cudaEventCreate(&end), cudaSuccess);
    EQUAL(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
    EQUAL(cudaEventRecord(begin, stream), cudaSuccess);
    EQUAL(cudaLaunchHostFunc(stream, set_flag, &flag), cudaSuccess);
    EQUAL(cudaEventRecord(end, stream), cudaSuccess);
    EQUAL(cudaEventSynchronize(end), cudaSuccess);
    EQUAL(__atomic_load_n(&flag, __ATOMIC_ACQUIRE), 1);
    EQUAL(cudaEventElapsedTime(&ms, begin, end), cudaSuccess);
    CHECK(ms >= 0);
    EQUAL(cudaStreamIsCapturing(stream, &capture), cudaSuccess);
    EQUAL(capture, 0);
    EQUAL(cudaMemcpyAsync_ptsz(to, from, sizeof(to), cudaMemcpyHostToHost, NULL), cudaSuccess);
    EQUAL(cudaStreamSynchronize_ptsz(NULL), cudaSuccess);
    CHECK(!strcmp(to, "abc"));
    EQUAL(cudaEventCreateWithFlags(&begin, cudaEventInterprocess), cudaErrorInvalidValue); /* needs timing off */
    EQUAL(cudaStreamDestroy(stream), cudaSuccess);
    EQUAL(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EQUAL(cudaEventDestroy(end), cudaSuccess);
    EQUAL(cudaEventRecord(end, NULL), cudaErrorInvalidResourceHandle);
    (void)cudaGetLastError();
}

static void launching(void)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    void *address;
    static int not_registered;
    EQUAL(__cudaPushCallConfiguration((dim3){ 1, 2, 3 }, (dim3){ 4, 5, 6 }, 7, NULL), 0);
    EQUAL(__cudaPushCallConfiguration((dim3){ 8, 1, 1 }, (dim3){ 9, 1, 1 }, 10, CU_STREAM_PER_THREAD), 0);
    EQUAL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
    CHECK(grid.x == 8 && block.x == 9 && shared == 10 && stream == CU_STREAM_PER_THREAD);
    EQUAL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaSuccess);
    CHECK(grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && block.z == 6 && shared == 7 && !stream);
    EQUAL(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), cudaErrorMissingConfiguration);
    EQUAL(cudaLaunchKernel(&not_registered, (dim3){ 1, 1, 1 }, (dim3){ 1, 1, 1 }, NULL, 0, NULL), NO_KERNEL);
    EQUAL(cudaGetSymbolAddress(&address, &not_registered), cudaErrorInvalidSymbol);
#if AW_MAJOR < 13
    double value = 1.5;
    EQUAL(cudaSetDoubleForDevice(&value), cudaSuccess);
    EQUAL(cudaSetDoubleForHost(&value), cudaSuccess);
    CHECK(value == 1.5);
    EQUAL(cudaSetDoubleForDevice(NULL), cudaErrorInvalidValue);
    EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
#endif
    cudaChannelFormatDesc desc = cudaCreateChannelDesc(8, 8, 0, 0, (cudaChannelFormatKind)1);
    CHECK(desc.x == 8 && desc.y == 8 && desc.z == 0 && desc.f == 1);
    (void)cudaGetLastError();
}

#if AW_MAJOR == 13
/* Pools by where their memory lies: those of a device are the ones that functions of devices give. */
static void pools_of_places(void)
{
    const cudaMemLocation here = { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, nowhere = { CU_MEM_LOCATION_TYPE_DEVICE, 99 },
                          host = { CU_MEM_LOCATION_TYPE_HOST, 0 };
    const cudaMemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = here };
    cudaMemPool_t usual = NULL, pool = NULL, made = NULL, untouched = (cudaMemPool_t)&usual;
    EQUAL(cudaDeviceGetDefaultMemPool(&usual, 0), cudaSuccess);
    EQUAL(cudaMemGetDefaultMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED), cudaSuccess);
    CHECK(usual && pool == usual);
    EQUAL(cudaMemPoolCreate(&made, &props), cudaSuccess);
    EQUAL(cudaMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, made), cudaSuccess);
    EQUAL(cudaMemGetMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED), cudaSuccess);
    CHECK(made != usual && pool == made);
    EQUAL(cudaMemGetDefaultMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_PINNED), cudaSuccess);
    CHECK(pool == usual);
    EQUAL(cudaMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, usual), cudaSuccess);
    EQUAL(cudaMemPoolDestroy(made), cudaSuccess);
    pool = untouched;
    EQUAL(cudaMemGetMemPool(&pool, &host, CU_MEM_ALLOCATION_TYPE_PINNED), cudaErrorNotSupported);
    EQUAL(cudaMemGetMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_MANAGED), cudaErrorNotSupported);
    EQUAL(cudaMemGetMemPool(&pool, &here, CU_MEM_ALLOCATION_TYPE_INVALID), cudaErrorInvalidValue);
    EQUAL(cudaMemGetMemPool(&pool, NULL, CU_MEM_ALLOCATION_TYPE_PINNED), cudaErrorInvalidValue);
    EQUAL(cudaMemGetMemPool(NULL, &here, CU_MEM_ALLOCATION_TYPE_PINNED), cudaErrorInvalidValue);
    EQUAL(cudaMemGetMemPool(&pool, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED), cudaErrorInvalidDevice);
    EQUAL(cudaMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, NULL), cudaErrorInvalidValue);
    EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(pool == untouched);
}
#endif

#if AW_MAJOR == 13
static struct {
    int calls, level;
    char last[256];
} heard;

/* Calls the runtime as well, wrongly: its own failure must not come back to it. */
static void hear(void *user, int level, char *message, size_t length)
{
    CHECK(user == &heard && strlen(message) == length);
    heard.calls++;
    heard.level = level;
    snprintf(heard.last, sizeof heard.last, "%s", message);
    memset(message, '#', length);
    EQUAL(cudaSetDevice(-1), cudaErrorInvalidDevice);
}

static void logs(void)
{
    cudaLogsCallbackHandle first, second;
    cudaLogIterator at, none = 0;
    char text[4096];
    size_t size = sizeof text;
    EQUAL(cudaLogsRegisterCallback(NULL, NULL, &first), cudaErrorInvalidValue);
    EQUAL(cudaLogsRegisterCallback(hear, &heard, &first), cudaSuccess);
    EQUAL(cudaLogsRegisterCallback(hear, &heard, &second), cudaSuccess);
    EQUAL(cudaLogsCurrent(&at, 1), cudaErrorInvalidValue);
    EQUAL(cudaLogsCurrent(&at, 0), cudaSuccess);
    heard.calls = 0;
    EQUAL(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EQUAL(heard.calls, 2);
    EQUAL(heard.level, 0);
    CHECK(!strcmp(heard.last, "Returning 101 (cudaErrorInvalidDevice) from cudaSetDevice"));
    EQUAL(cudaLogsUnregisterCallback(first), cudaSuccess);
    EQUAL(cudaLogsUnregisterCallback(first), cudaErrorInvalidValue);
    EQUAL(cudaSetDevice(-2), cudaErrorInvalidDevice);
    EQUAL(heard.calls, 4); /* its second removal failed, too */
    EQUAL(cudaLogsUnregisterCallback(second), cudaSuccess);

    EQUAL(cudaLogsDumpToMemory(&at, text, &size, 0), cudaSuccess);
    CHECK(size == strlen(text) && text[size - 1] == '\n' && text[0] == '[');
    CHECK(strstr(text, "][CUDART][E] Returning 101 (cudaErrorInvalidDevice) from cudaSetDevice\n"));
    CHECK(strstr(text, "from cudaLogsUnregisterCallback\n"));
    size = sizeof text;
    EQUAL(cudaLogsDumpToMemory(&at, text, &size, 0), cudaSuccess); /* nothing since */
    EQUAL(size, 0);
    CHECK(!*text);
    size = 5;
    EQUAL(cudaLogsDumpToMemory(&none, text, &size, 0), cudaErrorInvalidValue);
    EQUAL(size, 0);
    EQUAL(cudaLogsDumpToFile(NULL, "/nowhere/log", 0), cudaErrorInvalidValue);
    EQUAL(cudaLogsDumpToFile(NULL, "/dev/null", 0), cudaSuccess);
    EQUAL(cudaLogsDumpToMemory(NULL, NULL, &size, 0), cudaErrorInvalidValue);
    (void)cudaGetLastError();
}

/* More than are kept: the oldest go, which a reader is told. */
static void logs_run_over(void)
{
    static char text[32768];
    cudaLogIterator at;
    size_t size = sizeof text;
    EQUAL(cudaLogsCurrent(&at, 0), cudaSuccess);
    for (int i = 0; i < 2000; i++)
        EQUAL(cudaSetDevice(-1), cudaErrorInvalidDevice);
    EQUAL(cudaLogsDumpToMemory(&at, text, &size, 0), cudaSuccess);
    CHECK(size > 20000 && size <= 25600 + 64);
    CHECK(!strncmp(text, "(older messages are no longer kept)\n[", 37));
    size = 200;
    EQUAL(cudaLogsDumpToMemory(NULL, text, &size, 0), cudaSuccess); /* whole lines */
    CHECK(size > 80 && size < 200 && text[size - 1] == '\n');
    (void)cudaGetLastError();
}

/* The primary context, and a green one of all of the device. */
static void executions(void)
{
    cudaExecutionContext_t primary, green, of[2];
    cudaDevResource all, got;
    cudaDevResourceDesc_t desc;
    cudaStream_t stream;
    unsigned long long id[2];
    unsigned flags;
    int device = 9;
    char *data, back[64];
    EQUAL(cudaDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), cudaSuccess);
    EQUAL(cudaDevResourceGenerateDesc(&desc, &all, 1), cudaSuccess);
    EQUAL(cudaGreenCtxCreate(&green, desc, 0, 1), cudaErrorInvalidValue);
    EQUAL(cudaGreenCtxCreate(&green, desc, 0, 0), cudaSuccess);
    EQUAL(cudaDeviceGetExecutionCtx(&primary, 99), cudaErrorInvalidDevice);
    EQUAL(cudaDeviceGetExecutionCtx(&primary, 0), cudaSuccess);
    EQUAL(cudaMalloc((void **)&data, sizeof back), cudaSuccess);
    of[0] = primary, of[1] = green;
    for (int i = 0; i < 2; i++) {
        EQUAL(cudaExecutionCtxGetDevice(&device, of[i]), cudaSuccess);
        EQUAL(device, 0);
        EQUAL(cudaExecutionCtxGetId(of[i], &id[i]), cudaSuccess);
        EQUAL(cudaExecutionCtxGetDevResource(of[i], &got, CU_DEV_RESOURCE_TYPE_SM), cudaSuccess);
        EQUAL(got.sm.smCount, all.sm.smCount);
        EQUAL(cudaExecutionCtxStreamCreate(&stream, of[i], cudaStreamDefault, 0), cudaSuccess);
        EQUAL(cudaStreamGetFlags(stream, &flags), cudaSuccess);
        EQUAL(flags, i ? cudaStreamNonBlocking : cudaStreamDefault);
        EQUAL(cudaMemsetAsync(data, 40 + i, sizeof back, stream), cudaSuccess);
        EQUAL(cudaMemcpyAsync(back, data, sizeof back, cudaMemcpyDeviceToHost, stream), cudaSuccess);
        EQUAL(cudaExecutionCtxSynchronize(of[i]), cudaSuccess);
        EQUAL(back[sizeof back - 1], 40 + i);
        EQUAL(cudaStreamGetDevResource(stream, &got, CU_DEV_RESOURCE_TYPE_SM), cudaSuccess);
        EQUAL(got.sm.smCount, all.sm.smCount);
        EQUAL(cudaStreamDestroy(stream), cudaSuccess);
    }
    CHECK(id[0] != id[1]);
    EQUAL(cudaExecutionCtxDestroy(primary), cudaErrorInvalidValue);
    EQUAL(cudaExecutionCtxDestroy(green), cudaSuccess);
    EQUAL(cudaExecutionCtxDestroy(green), cudaErrorInvalidValue);
    EQUAL(cudaFree(data), cudaSuccess);
    (void)cudaGetLastError();
}
#endif

int main(void)
{
    devices();
    errors();
    stubs();
    graphs();
    memory();
    boxes();
    streams();
    launching();
#if AW_MAJOR == 13
    pools_of_places();
    logs();
    logs_run_over();
    executions();
#endif
    void *pointer;
    EQUAL(cudaDeviceReset(), cudaSuccess);
    EQUAL(cudaMalloc(&pointer, 16), cudaSuccess); /* a reset context begins anew */
    printf("%d failures\n", failures);
    return failures != 0;
}
