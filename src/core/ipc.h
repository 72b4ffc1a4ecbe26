/* Memory and events of other processes, and values in memory that streams write and wait for.  What a provider cannot do is
 * AW_ERR_NOT_SUPPORTED.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_IPC_H
#define AW_CORE_IPC_H

#include <anywarp/provider.h>

#include "core/stream.h"

/* A handle for the allocation that `address` lies in.  AW_ERR_INVALID_VALUE: no device memory of cuMemAlloc. */
enum aw_status aw_ipc_mem_get(struct aw_ctx *ctx, uintptr_t address, struct aw_ipc_handle *ret_handle);
/* Maps another process's allocation; unmapped by aw_ipc_mem_close only, and at the context's end. */
enum aw_status aw_ipc_mem_open(struct aw_ctx *ctx, const struct aw_ipc_handle *handle, uintptr_t *ret_address);
enum aw_status aw_ipc_mem_close(uintptr_t address); /* AW_ERR_INVALID_VALUE when not from aw_ipc_mem_open */

/* AW_ERR_INVALID_VALUE unless the event was made with CU_EVENT_INTERPROCESS. */
enum aw_status aw_ipc_event_get(struct aw_cevent *event, struct aw_ipc_handle *ret_handle);
enum aw_status aw_ipc_event_open(struct aw_ctx *ctx, const struct aw_ipc_handle *handle, struct aw_cevent **ret_event);

/* Writes `value`, or waits until the value satisfies `how` (CUDA's numbers), in stream order.  `bytes` is 4 or 8; the address
 * lies aligned in memory that CUDA knows, else AW_ERR_INVALID_VALUE. */
enum aw_status aw_stream_write_value(struct aw_cstream *stream, uintptr_t address, uint64_t value, unsigned bytes);
enum aw_status aw_stream_wait_value(struct aw_cstream *stream, uintptr_t address, uint64_t value, unsigned bytes, unsigned how);

#endif
