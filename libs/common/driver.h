/* The part of the driver API that libraries use: what anywarp's libcuda.so.1 exports, and a few private entries of libanywarp for
 * what that API cannot say. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_DRIVER_H
#define AW_LIBS_COMMON_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUuserObject_st *CUuserObject;
typedef unsigned long long CUdeviceptr;

enum { CUDA_SUCCESS = 0, AW_LIB_NO_MEMORY = 2, /* CUDA_ERROR_OUT_OF_MEMORY */
       CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900 };
enum { CU_STREAM_CAPTURE_STATUS_NONE = 0, CU_STREAM_CAPTURE_STATUS_ACTIVE = 1 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_STREAM_CAPTURE_MODE_RELAXED = 2 };
enum { CU_USER_OBJECT_NO_DESTRUCTOR_SYNC = 1, CU_GRAPH_USER_OBJECT_MOVE = 1 };
enum { CU_MEMORYTYPE_UNIFIED = 4 };

typedef struct {
    size_t srcXInBytes, srcY;
    unsigned srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

CUresult cuInit(unsigned flags);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetName(char *name, int size, CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device);
CUresult cuCtxGetCurrent(CUcontext *ctx);
CUresult cuCtxSetCurrent(CUcontext ctx);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxSynchronize(void);
CUresult cuCtxPushCurrent_v2(CUcontext ctx);
CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
CUresult cuDeviceGetCount(int *count);
CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size);
CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height, unsigned element);
CUresult cuMemFree_v2(CUdeviceptr ptr);
CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned flags);
CUresult cuMemFreeHost(void *ptr);
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size);
CUresult cuMemsetD32Async(CUdeviceptr ptr, unsigned value, size_t n, CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamGetFlags(CUstream stream, unsigned *flags);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned flags);
CUresult cuLaunchHostFunc(CUstream stream, void (*fn)(void *user), void *user);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, uint64_t *id, CUgraph *graph, const void **dependencies,
                                   size_t *n);
CUresult cuStreamCreate(CUstream *stream, unsigned flags);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies, const void *data, size_t n,
                                     int mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
CUresult cuGraphDestroyNode(CUgraphNode node);
/* Numbers that no other graph, or node of one, has. */
CUresult cuGraphGetId(CUgraph graph, unsigned *id);
CUresult cuGraphExecGetId(CUgraphExec graph, unsigned *id);
CUresult cuGraphNodeGetToolsId(CUgraphNode node, unsigned long long *id);
CUresult cuUserObjectCreate(CUuserObject *object, void *ptr, void (*destroy)(void *ptr), unsigned refs, unsigned flags);
CUresult cuUserObjectRelease(CUuserObject object, unsigned refs);
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned refs, unsigned flags);

/* Private: runs fn(user) now, in this thread, as the stream's work, where the stream is idle and does not capture: what others
 * give it meanwhile waits for it.  CUDA_ERROR_NOT_READY: not so, nothing was done. */
CUresult aw_abi_stream_inline(CUstream stream, void (*fn)(void *user), void *user);
/* Private: for jobs as they run: calls fn(user, part) for each part below `parts`, on the device's threads, the job's among them,
 * and returns when all have returned.  fn calls nothing of CUDA. */
void aw_abi_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user);
uint32_t aw_abi_spread_threads(void); /* how many that may be; 0: none, fn would be called by the job's thread alone */
/* Private: the hipStream_t behind a stream of an AMD card; CUDA_ERROR_NOT_READY while it captures: what AMD's libraries launch
 * there would not become part of the graph. */
CUresult aw_abi_stream_native(CUstream stream, void **ret_native);
/* Private: what is given to a stream that somebody watches is to have a record (base/activity.h).  Its device, context and stream
 * are filled in; false: there is no such stream.  Forgets the thread's last call. */
struct aw_activity_record;
bool aw_abi_activity_job(CUstream stream, struct aw_activity_record *ret_record);
bool aw_abi_activity_on(void);
uint64_t aw_abi_activity_last(void); /* the thread's last call of the driver or the runtime, for the record; 0: none was seen */
void aw_abi_activity_add(const struct aw_activity_record *record); /* ended; copied */
/* `fn` is called whenever watching begins and ends, and at once where it has begun; until the process ends. */
void aw_abi_activity_subscribe(void (*fn)(bool on));
/* Private: the machine's device `native`, from 0 on, visible to CUDA programs or not; initialises CUDA, makes no context.
 * CUDA_ERROR_INVALID_DEVICE behind the last. */
struct aw_devinfo;
CUresult aw_abi_device_describe(int native, struct aw_devinfo *ret_info);

#endif
