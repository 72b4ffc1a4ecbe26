/* The functions of AMD's HIP that the simulated one has, by name: what anywarp's provider looks up.  Errors are hipError_t, an
 * int; streams, events, modules and functions are pointers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_HIP_API_H
#define SIM_HIP_API_H

#include <stddef.h>

#pragma GCC visibility push(default)
int hipInit(unsigned flags);
int hipGetDeviceCount(int *count);
int hipSetDevice(int device);
int hipRuntimeGetVersion(int *version);
int hipDeviceGetAttribute(int *value, int attr, int device);
int hipDeviceGetName(char *name, int size, int device);
int hipDeviceGetUuid(void *uuid, int device);
int hipGetDevicePropertiesR0600(void *prop, int device);
int hipDeviceSynchronize(void);
int hipDeviceReset(void);
int hipGetLastError(void);
int hipDeviceSetLimit(int limit, size_t value);
int hipMemGetInfo(size_t *free, size_t *total);
int hipMalloc(void **ptr, size_t size);
int hipFree(void *ptr);
int hipHostMalloc(void **ptr, size_t size, unsigned flags);
int hipHostFree(void *ptr);
int hipHostRegister(void *ptr, size_t size, unsigned flags);
int hipHostUnregister(void *ptr);
int hipHostGetDevicePointer(void **device_ptr, void *ptr, unsigned flags);
int hipMallocManaged(void **ptr, size_t size, unsigned flags);
int hipMemcpyAsync(void *dst, const void *src, size_t size, int kind, void *stream);
int hipMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t height, int kind,
                     void *stream);
int hipMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t size, void *stream);
int hipMemsetD8Async(void *dst, unsigned char value, size_t count, void *stream);
int hipMemsetD16Async(void *dst, unsigned short value, size_t count, void *stream);
int hipMemsetD32Async(void *dst, int value, size_t count, void *stream);
int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int hipStreamDestroy(void *stream);
int hipStreamQuery(void *stream);
int hipStreamSynchronize(void *stream);
int hipStreamWaitEvent(void *stream, void *event, unsigned flags);
int hipStreamAddCallback(void *stream, void (*fn)(void *stream, int error, void *user), void *user, unsigned flags);
int hipEventCreateWithFlags(void **event, unsigned flags);
int hipEventDestroy(void *event);
int hipEventRecord(void *event, void *stream);
int hipEventQuery(void *event);
int hipEventSynchronize(void *event);
int hipEventElapsedTime(float *ms, void *begin, void *end);
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipFuncGetAttribute(int *value, int attr, void *function);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t dynamic_shared);
int hipModuleLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **params,
                          void **extra);
int hipDeviceCanAccessPeer(int *can, int device, int peer);
int hipDeviceEnablePeerAccess(int peer, unsigned flags);
int hipDeviceDisablePeerAccess(int peer);
int hipDeviceGetStreamPriorityRange(int *least, int *greatest);
int hipModuleLaunchCooperativeKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                                     unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                                     void **params);
int hipMemGetAddressRange(void **base, size_t *size, void *ptr);
#pragma GCC visibility pop

#endif
