/* The seam: what a device can do, with HIP's semantics.  `hip/` forwards to libamdhip64; `host/` is the machine itself.
 *
 * A provider is one static table.  Its objects are opaque, owned by the provider, and destroyed by the call named so.
 * Every call is thread-safe unless said otherwise; every call names its device, there is no current one.  Results are
 * enum aw_status values (0 = AW_OK).  ret_ outputs are untouched on failure.  A NULL stream is the device's legacy
 * default stream: it waits for, and is waited for by, every stream not made with AW_STREAM_NON_BLOCKING. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_PROVIDER_H
#define ANYWARP_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct aw_stream;   /* provider's */
struct aw_event;    /* provider's */
struct aw_object;   /* a loaded code object, provider's */
struct aw_function; /* a kernel in it, lives as long as its object */

enum { AW_STREAM_NON_BLOCKING = 1 };
enum { AW_EVENT_NO_TIMING = 1, AW_EVENT_BLOCKING_SYNC = 2, AW_EVENT_INTERPROCESS = 4 };
enum { AW_HOST_MAPPED = 1, AW_HOST_PORTABLE = 2, AW_HOST_WRITE_COMBINED = 4 };

enum aw_device_attr {
    AW_DEV_MULTIPROCESSORS, AW_DEV_CLOCK_KHZ, AW_DEV_MEMORY_CLOCK_KHZ, AW_DEV_BUS_WIDTH, AW_DEV_L2_BYTES,
    AW_DEV_MAX_THREADS_PER_BLOCK, AW_DEV_MAX_BLOCK_X, AW_DEV_MAX_BLOCK_Y, AW_DEV_MAX_BLOCK_Z,
    AW_DEV_MAX_GRID_X, AW_DEV_MAX_GRID_Y, AW_DEV_MAX_GRID_Z,
    AW_DEV_SHARED_PER_BLOCK, /* the most that a kernel may opt in to; the core keeps the default at 48 KiB */
    AW_DEV_SHARED_PER_MULTIPROCESSOR, AW_DEV_REGS_PER_BLOCK,
    AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR, AW_DEV_WAVE_SIZE, AW_DEV_PCI_DOMAIN, AW_DEV_PCI_BUS, AW_DEV_PCI_DEVICE,
    AW_DEV_INTEGRATED, AW_DEV_MANAGED, AW_DEV_CONCURRENT_MANAGED, AW_DEV_PAGEABLE, AW_DEV_COOPERATIVE,
    AW_DEV_UNIFIED_ADDRESSING, AW_DEV_HOST_NATIVE_ATOMICS, AW_DEV_ASYNC_ENGINES, AW_DEV_COUNT_
};

enum aw_function_attr {
    AW_FN_MAX_THREADS, AW_FN_SHARED_BYTES, AW_FN_CONST_BYTES, AW_FN_LOCAL_BYTES, AW_FN_REGS, AW_FN_COUNT_
};

enum aw_copy_kind { AW_COPY_H2H, AW_COPY_H2D, AW_COPY_D2H, AW_COPY_D2D, AW_COPY_DEFAULT };

/* A rectangular copy, in bytes; pitches and slice heights as cudaMemcpy3D has them.  depth and height at least 1. */
struct aw_copy3d {
    const void *src;
    void *dst;
    size_t src_pitch, dst_pitch;   /* bytes from row to row */
    size_t src_slice, dst_slice;   /* bytes from slice to slice */
    size_t width, height, depth;   /* bytes, rows, slices */
    enum aw_copy_kind kind;
};

struct aw_launch {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;         /* dynamic, on top of the kernel's own */
    bool cooperative;              /* all blocks must make progress together */
    const void *kernarg;           /* packed parameters followed by the hidden ones; copied before the call returns */
    size_t kernarg_size;
    const char *name;              /* for messages; borrowed until the kernel has run (the core keeps module names alive) */
    const void *owner;             /* for device_stop */
};

/* Bytes of what a device keeps for kernels' own calls: printf's records, malloc's memory, each thread's stack where functions
 * recurse. */
enum aw_limit { AW_LIMIT_PRINTF, AW_LIMIT_HEAP, AW_LIMIT_STACK };

/* Comparisons of stream_wait_value, numbered as CUDA's: (int)(*p - v) >= 0, *p == v, (*p & v) != 0, ~(*p | v) != 0. */
enum aw_wait { AW_WAIT_GEQ, AW_WAIT_EQ, AW_WAIT_AND, AW_WAIT_NOR };

struct aw_ipc_handle {
    unsigned char bytes[64];       /* opaque; as CUDA's and HIP's handles, may be sent to another process */
};

struct aw_pointer_info {
    void *base;
    size_t size;
    int device;                    /* -1: host memory */
    bool managed;
};

/* Writes the source place of the instruction `offset` bytes behind the start of an object's code, as "FILE:LINE"; false when it
 * is not known.  `base` is where that start is in this process's memory, NULL when it is not.  May take long. */
typedef bool aw_locate_fn(void *user, const void *base, uint64_t offset, char *ret_text, size_t size);

/* Addresses without memory, memory without an address, and one mapped at the other, as in CUDA's virtual memory management.  All
 * sizes and addresses are multiples of what `granularity` gives; core holds who has mapped what. */
struct aw_vmm;
struct aw_provider_vmm {
    bool (*supported)(int dev);
    bool serves_host; /* memory is the host's as much as the device's: it may be made for the host, too */
    int (*granularity)(int dev, size_t *ret_bytes);
    /* `alignment` a power of two or 0; `wish` an address that would be welcome, or NULL.  What is there faults. */
    int (*reserve)(size_t size, size_t alignment, void *wish, void **ret_ptr);
    int (*unreserve)(void *ptr, size_t size); /* as reserved */
    int (*create)(int dev, size_t size, bool shared, struct aw_vmm **ret_memory); /* shared: it may be exported */
    int (*destroy)(struct aw_vmm *memory);    /* mapped nowhere */
    int (*map)(void *ptr, size_t size, struct aw_vmm *memory); /* its begin; faults until there is access */
    int (*unmap)(void *ptr, size_t size);     /* as mapped; the addresses stay reserved */
    int (*access)(int dev, void *ptr, size_t size, unsigned access); /* a mapping: 0 none, 1 read, 3 read and write */
    /* For other processes; both NULL: none is created shared. */
    int (*export_fd)(struct aw_vmm *memory, int *ret_fd); /* a new descriptor */
    int (*import_fd)(int dev, int fd, size_t *ret_size, struct aw_vmm **ret_memory); /* the descriptor stays the caller's */
};

struct aw_provider {
    const char *name;              /* "host", "hip" */
    uint32_t row;                  /* threads: blocks whose rows are a multiple of this are worth code of their own; 0: no such
                                    * thing */

    /* Opens the provider.  AW_ERR_NO_DEVICE with a one-line reason (static or thread-local) when it cannot serve. */
    int (*open)(const char **ret_why);
    int (*device_count)(void);
    int (*device_name)(int dev, char *ret_name, size_t size);
    /* What the compiler is asked for: "gfx1030", "host:...".  Static lifetime.  */
    const char *(*device_target)(int dev);
    int (*device_attr)(int dev, enum aw_device_attr attr, int *ret_value);
    int (*device_uuid)(int dev, uint8_t ret_uuid[16]);
    int (*device_memory)(int dev, size_t *ret_free, size_t *ret_total);
    /* 4 or 5; 0 where it does not apply. */
    int (*code_object_version)(int dev);
    int (*device_sync)(int dev);
    /* The first asynchronous fault since the device (or its last reset) began, or AW_OK.  Sticky. */
    int (*device_fault)(int dev);
    int (*device_reset)(int dev);
    /* Waits `grace_ns` for all work, then ends what still runs and drops what waits: the device is faulty then, until its reset.
     * With an `owner` other than NULL only for its launches and waits for values; the device is not faulty then, and goes on
     * with the others'.  AW_ERR_NOT_READY where something could not be ended.  NULL: the provider has no such means. */
    int (*device_stop)(int dev, const void *owner, uint64_t grace_ns);

    /* Device memory is 256-byte aligned.  Freeing waits for work that may use it, as cudaFree does.  Size 0 is the caller's
     * affair and never reaches here. */
    int (*mem_alloc)(int dev, size_t size, void **ret_ptr);
    int (*mem_free)(int dev, void *ptr);
    int (*host_alloc)(int dev, size_t size, unsigned flags, void **ret_ptr);
    int (*host_free)(void *ptr);
    int (*host_register)(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr);
    int (*host_unregister)(void *ptr);
    int (*managed_alloc)(int dev, size_t size, void **ret_ptr); /* freed with mem_free */
    int (*pointer_info)(const void *ptr, struct aw_pointer_info *ret_info); /* AW_ERR_INVALID_VALUE: not ours */

    /* Asynchronous on `stream`; source and destination must stay valid.  Pageable host memory is the caller's concern. */
    int (*copy)(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream);
    int (*copy3d)(int dev, const struct aw_copy3d *copy, struct aw_stream *stream);
    /* Sets `count` elements of 1, 2 or 4 bytes. */
    int (*fill)(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream);
    int (*copy_peer)(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream);

    int (*stream_create)(int dev, unsigned flags, int priority, struct aw_stream **ret_stream);
    int (*stream_destroy)(struct aw_stream *stream); /* pending work still completes */
    int (*stream_query)(int dev, struct aw_stream *stream);   /* AW_OK or AW_ERR_NOT_READY, or the device's fault */
    int (*stream_sync)(int dev, struct aw_stream *stream);
    int (*stream_wait)(int dev, struct aw_stream *stream, struct aw_event *event);
    int (*stream_callback)(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user);

    int (*event_create)(int dev, unsigned flags, struct aw_event **ret_event);
    int (*event_destroy)(struct aw_event *event);
    int (*event_record)(int dev, struct aw_event *event, struct aw_stream *stream);
    int (*event_query)(struct aw_event *event);
    int (*event_sync)(struct aw_event *event);
    int (*event_elapsed)(struct aw_event *begin, struct aw_event *end, float *ret_ms);

    /* Loads a code object (HSACO or host object); `bytes` may be freed afterwards. */
    int (*object_load)(int dev, const void *bytes, size_t size, struct aw_object **ret_object);
    int (*object_unload)(struct aw_object *object);
    int (*object_function)(struct aw_object *object, const char *name, struct aw_function **ret_function);
    int (*function_attr)(struct aw_function *function, enum aw_function_attr attr, int *ret_value);
    int (*occupancy)(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks);
    /* The same two of any code of a kernel with so much static shared memory (bytes); local bytes are the caller's affair.  NULL
     * where they hang on the code, which is made then to be asked. */
    int (*kernel_attr)(uint32_t static_shared, enum aw_function_attr attr, int *ret_value);
    int (*kernel_occupancy)(uint32_t static_shared, int block_threads, size_t dynamic_shared, int *ret_blocks);
    /* Allows dynamic shared memory beyond 48 KiB; optional: may be NULL. */
    int (*function_set_shared)(struct aw_function *function, size_t dynamic_shared);
    /* `by` is the same kernel's code, in another form: it runs blocks of launches of `function` that have not begun.  Both are
     * loaded for as long as either.  NULL: the provider cannot. */
    void (*function_replace)(struct aw_function *function, struct aw_function *by);
    int (*launch)(int dev, struct aw_function *function, const struct aw_launch *launch, struct aw_stream *stream);

    /* Optional, may be NULL. */
    int (*peer_access)(int dev, int peer, bool *ret_can);
    int (*peer_enable)(int dev, int peer, bool on);
    /* Bytes for `limit`.  AW_ERR_INVALID_VALUE once kernels that need it have run (until the device's reset), as with CUDA; the
     * stack's may change at any time, for the launches that follow. */
    int (*limit_set)(int dev, enum aw_limit limit, size_t bytes);
    /* The range of stream_create's priority: *ret_least >= *ret_greatest.  NULL: any number is taken. */
    int (*stream_priorities)(int dev, int *ret_least, int *ret_greatest);
    /* As copy with AW_COPY_H2D, from pageable memory that is read before the call returns.  AW_ERR_NOT_SUPPORTED: too large. */
    int (*copy_pageable)(int dev, void *dst, const void *src, size_t size, struct aw_stream *stream);
    /* As mem_alloc, memory that will be asked for with ipc_mem_get, which then need not move its bytes.  NULL: none moves. */
    int (*mem_alloc_shared)(int dev, size_t size, void **ret_ptr);
    /* Memory and events for other processes.  ipc_mem_get takes the first byte of an allocation; what ipc_mem_open gives is freed
     * with ipc_mem_close only. */
    int (*ipc_mem_get)(int dev, void *ptr, struct aw_ipc_handle *ret_handle);
    int (*ipc_mem_open)(int dev, const struct aw_ipc_handle *handle, void **ret_ptr, size_t *ret_size);
    int (*ipc_mem_close)(int dev, void *ptr);
    int (*ipc_event_get)(struct aw_event *event, struct aw_ipc_handle *ret_handle);
    int (*ipc_event_open)(int dev, const struct aw_ipc_handle *handle, struct aw_event **ret_event);
    /* Writes `value`, or waits for one, in stream order; `bytes` 4 or 8, `ptr` aligned so.  `owner` as a launch's. */
    int (*stream_write_value)(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes);
    int (*stream_wait_value)(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes, enum aw_wait how,
                             const void *owner);
    /* Calls fn(user) now, in this thread, as the stream's work; AW_ERR_NOT_READY, and nothing is done, unless the stream is idle.
     * NULL where device memory is not the host's own. */
    int (*stream_inline)(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user);
    /* Calls fn(user, part) for each part below `parts`, on as many of the device's threads as are free, this one among them, and
     * returns when all have returned; fn calls nothing of the device.  For what stream_callback and stream_inline call.  NULL:
     * the device has no threads for that. */
    void (*spread)(uint32_t parts, void (*fn)(void *user, uint32_t part), void *user);
    uint32_t (*spread_threads)(void); /* how many these are at most; NULL where there is no spread */
    /* The platform's own stream, borrowed: a hipStream_t.  NULL where there is none. */
    int (*stream_native)(int dev, struct aw_stream *stream, void **ret_native);
    /* Says whom to ask where a fault in the object's code is; `user` must live until the object is unloaded.  Before it runs. */
    int (*object_locator)(struct aw_object *object, aw_locate_fn *locate, void *user);
    /* Says on standard error what was done wrong with memory ("leak of", "free of", static), `bytes` of it or 0, and who
     * allocated it, and returns true; false, and nothing is said, unless memory is checked.  NULL where it never is. */
    bool (*mem_complain)(const void *address, size_t bytes, const char *what);
    const struct aw_provider_vmm *vmm; /* NULL: none */
    bool grid_parts;     /* grids of more than 2^32 - 1 threads along x take code made for AW_BLOCK_PARTS */
    bool shared_full;    /* launches that leave no room in shared memory beside the program's take code made for AW_BLOCK_FULL */
    bool block_textures; /* kernels read compressed blocks (AW_TEXEL_BLOCK_SHIFT) */
};

extern const struct aw_provider aw_provider_host;
extern const struct aw_provider aw_provider_hip;

#ifdef __cplusplus
}
#endif
#endif
