/* What the entry bodies and the code generated from the .api tables share: stubs, call tracing, lookup by name, error names.
 * Not the bodies' prototypes: those are generated (abi/cuda_proto.h, abi/cudart_proto.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_ABI_H
#define AW_ABI_ABI_H

#include <stdbool.h>
#include <string.h>

#include "abi/cudart_types.h"
#include "base/status.h"

/* ---- Lookup by name.  All thread-safe; results are function pointers for the life of the process, borrowed names. */

/* What cuGetProcAddress(name, cuda_version, flags) gives: the newest form of `name` that existed in `cuda_version` (11080 =
 * 11.8), for flags 0 or 1 with the legacy default stream, for 2 with the thread's own.  NULL when there is none, and then
 * *ret_symbol_status is CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND (1) or _VERSION_NOT_SUFFICIENT (2), else 0; it may be NULL.
 * A stub is found like any other function, as it would be by dlsym. */
const void *aw_abi_proc_find(const char *name, int cuda_version, uint64_t flags, int *ret_symbol_status);
/* The function behind an exported name of libcuda.so.1, or NULL. */
__attribute__((visibility("default"))) void *aw_abi_cuda_find(const char *name);
/* The function behind an exported name of libcudart.so.`major` (11, 12 or 13), or NULL: for programs with cudart linked in. */
__attribute__((visibility("default"))) void *aw_abi_cudart_find(int major, const char *name);

/* ---- What the driver API cannot say, for libs/ (libs/common/driver.h). */

/* See aw_stream_inline and aw_stream_native of core/stream.h; AW_ERR_NOT_READY is CUDA_ERROR_NOT_READY. */
__attribute__((visibility("default"))) CUresult aw_abi_stream_inline(CUstream stream, void (*fn)(void *user), void *user);
__attribute__((visibility("default"))) CUresult aw_abi_stream_native(CUstream stream, void **ret_native);
/* See aw_stream_spread and aw_stream_spread_threads of core/stream.h. */
__attribute__((visibility("default"))) void aw_abi_spread(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user);
__attribute__((visibility("default"))) uint32_t aw_abi_spread_threads(void);
/* See aw_device_describe of core/device.h. */
struct aw_devinfo;
struct aw_call_hook;
struct aw_activity_record;
__attribute__((visibility("default"))) CUresult aw_abi_device_describe(int native, struct aw_devinfo *ret_info);
/* One hook for the calls of both APIs, or NULL; borrowed until another is set and for calls that are under way.  Entry points
 * that programs have asked for by name before (cuGetProcAddress) are not seen. */
__attribute__((visibility("default"))) void aw_abi_hook_set(const struct aw_call_hook *hook);
/* See aw_activity_watch, _drain, _context and _stream of core/activity.h; 0 for what is no context or stream. */
__attribute__((visibility("default"))) void aw_abi_activity_watch(bool on);
__attribute__((visibility("default"))) void aw_abi_activity_drain(void (*fn)(void *user, const struct aw_activity_record *),
                                                                  void *user);
__attribute__((visibility("default"))) uint32_t aw_abi_activity_context(CUcontext ctx);
__attribute__((visibility("default"))) uint32_t aw_abi_activity_stream(CUstream stream, bool per_thread);
/* The function that the runtime launches by this symbol or kernel in the current context; NULL: none. */
__attribute__((visibility("default"))) CUfunction aw_abi_activity_function(const void *symbol);
/* Is the thread's call of the driver the one that gives a library's job to a stream? */
__attribute__((visibility("default"))) bool aw_abi_activity_gives_job(void);

/* See libs/common/driver.h. */
__attribute__((visibility("default"))) bool aw_abi_activity_job(CUstream stream, struct aw_activity_record *ret_record);
__attribute__((visibility("default"))) bool aw_abi_activity_on(void);
__attribute__((visibility("default"))) uint64_t aw_abi_activity_last(void);
__attribute__((visibility("default"))) void aw_abi_activity_add(const struct aw_activity_record *record);
__attribute__((visibility("default"))) void aw_abi_activity_subscribe(void (*fn)(bool on));

/* Fills in the stream's device, context and number; false: there is none. */
bool aw_abi_activity_stream_fill(CUstream stream, struct aw_activity_record *ret_record);

/* ---- Errors.  NULL for a number that API does not know.  Static. */
const char *aw_abi_error_name(int code, bool driver);
const char *aw_abi_error_text(int code, bool driver);

/* Remembers a failure for cudaGetLastError, but not cudaErrorNotReady. */
void aw_rt_error_set(cudaError_t error);
/* The same, and a line in CUDA's log; generated wrappers call it. */
void aw_rt_failed(const char *function, cudaError_t error);

/* ---- For generated code only. */

/* One exported library: its functions, and its names in byte order as offsets into a block. */
struct aw_abi_table {
    int major; /* 0: libcuda */
    void **functions;
    const char *names;
    const uint16_t *offsets;
    uint32_t n;
};
extern const struct aw_abi_table aw_abi_cuda_tables[1];
extern const struct aw_abi_table aw_abi_cudart_tables[3];

/* One step in the history of a name for cuGetProcAddress; sorted by name, then version; -1: none. */
struct aw_abi_proc {
    uint16_t name; /* offset in names */
    uint16_t version;
    int16_t slot, slot_per_thread; /* in aw_abi_cuda_tables[0] */
};
extern const struct aw_abi_procs {
    const char *names;
    const struct aw_abi_proc *at;
    uint32_t n;
} aw_abi_procs;

/* Logs once (`once` is the site's flag) that `name` is not implemented, keeps the runtime's last error when `runtime` says so,
 * and returns CUDA_ERROR_NOT_SUPPORTED, which is cudaErrorNotSupported. */
int aw_abi_stub(const char *name, unsigned char *once, bool runtime);

/* Replaces every function in the tables by one that also tells of its call, or puts it back. */
void aw_abi_cuda_watch(bool on);
void aw_abi_cudart_watch(bool on);

/* Around a call: tells the hook, and traces it behind where that was asked for (`text`, `values`: base/calltrace.h).  `args`: a
 * structure of its arguments. */
struct aw_abi_call {
    uint64_t number; /* 0 for what is called by another */
    uint64_t begin_ns;
};
struct aw_abi_call aw_abi_call_begin(const char *text, const void *args);
void aw_abi_call_end(const char *text, const void *args, uint64_t result, const uint64_t values[], struct aw_abi_call call);

static inline uint64_t aw_abi_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

#endif
