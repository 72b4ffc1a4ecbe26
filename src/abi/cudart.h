/* What the runtime API's entry bodies share: the thread's context, made at first use, and how handles become core objects.
 * Bodies return cudaError_t; generated wrappers keep the thread's last error, so bodies do not. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_CUDART_H
#define AW_ABI_CUDART_H

#include "abi/abi.h"
#include "abi/cudart_proto.h"
#include "core/copy_box.h"
#include "core/core.h"

static inline cudaError_t aw_rt_error(enum aw_status status)
{
    return status == AW_OK ? cudaSuccess : (cudaError_t)aw_status_to_cudart(status);
}

/* The context the thread works in: its current one, else the primary context of the device it chose (0 unless it did), which is
 * started.  aw_rt_ctx fails when the device has a sticky fault; aw_rt_ctx_any, for freeing and asking, does not. */
enum aw_status aw_rt_ctx(struct aw_ctx **ret_ctx);
enum aw_status aw_rt_ctx_any(struct aw_ctx **ret_ctx);
/* The device the thread works on, without starting a context. */
enum aw_status aw_rt_device(struct aw_device **ret_device);
/* Device number `ordinal`; AW_ERR_INVALID_DEVICE. */
enum aw_status aw_rt_device_at(int ordinal, struct aw_device **ret_device);

/* The context and a stream in it. */
enum aw_status aw_rt_stream(cudaStream_t handle, struct aw_ctx **ret_ctx, struct aw_cstream **ret_stream);

/* The kernel behind what callers pass as a function: a host function's address or a cudaKernel_t; AW_ERR_INVALID_DEVFUNC. */
enum aw_status aw_rt_kernel(const void *func, struct aw_kernel **ret_kernel);
/* Its function in `ctx`; also takes a cudaFunction_t. */
enum aw_status aw_rt_func(struct aw_ctx *ctx, const void *func, struct aw_func **ret_func);

/* Sets the types of a box's sides as `kind` says, those of arrays excepted.  AW_ERR_INVALID_DIRECTION. */
enum aw_status aw_rt_copy_types(cudaMemcpyKind kind, struct aw_copy_box *box);
/* The runtime's description of a copy as the core's. */
enum aw_status aw_rt_copy_box(const cudaMemcpy3DParms *p, struct aw_copy_box *ret_box);
/* Bytes of what positions in an array count; 1 without one, 0 for a dead handle. */
size_t aw_rt_element_bytes(cudaArray_const_t handle);

/* The address `offset` bytes into a symbol, when `size` bytes from there lie inside it. */
cudaError_t aw_rt_symbol_at(const void *symbol, size_t offset, size_t size, void **ret_pointer);

/* The body of a function that is the driver's under another name: calls that once the thread has a context.  Error numbers and
 * structures are the same. */
#define AW_RT_AS_DRIVER(call)                                                       \
    do {                                                                            \
        struct aw_ctx *ctx_;                                                        \
        enum aw_status status_ = aw_rt_ctx(&ctx_);                                  \
        return status_ ? aw_rt_error(status_) : (cudaError_t)(call);                \
    } while (0)

#endif
