/* The hip provider's own structures, shared by the files of this folder and by nobody else.
 *
 * What HIP calls a stream, an event or a function is wrapped, because HIP's calls do not say which device they mean, and because
 * waiting, faults and kernels' output are ours (wait.c, fault.c, env.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_HIP_INTERNAL_H
#define AW_HIP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anywarp/provider.h>

#include "base/status.h"
#include "provider/hip/hip.h"

#define AW_ROOM "hip"

enum { AW_HIP_MAX_DEVICES = 64, AW_HIP_LAUNCHES = 8 };
enum { AW_HIP_PRINT_DEFAULT = 1 << 20, AW_HIP_HEAP_DEFAULT = 8 << 20 }; /* bytes, as CUDA's */
enum { AW_HIP_STACK_DEFAULT = 1024 };                                   /* likewise */

enum { HIP_SUCCESS = 0, HIP_INVALID_CONFIGURATION = 9, HIP_NOT_READY = 600 };

struct aw_hip_env; /* env.c */

struct aw_hip_stream {
    void *handle;                      /* HIP's; NULL: the legacy default stream */
    int dev;
    unsigned flags;
    struct aw_hip_env *env;            /* atomic; NULL until a kernel needs one */
    struct aw_hip_stream *next, *prev; /* of the device, under its lock */
    /* The latest kernels, for the message about a fault: interned names, newest at (n - 1) % AW_HIP_LAUNCHES. */
    _Atomic(const char *) names[AW_HIP_LAUNCHES];
    _Atomic uint32_t n_names;          /* since the stream was last seen idle */
};

struct aw_hip_event {
    void *handle;
    int dev;
};

struct aw_hip_object;

/* What the file of a code object says (image.c). */
struct aw_hip_image {
    uint32_t uses;                     /* enum aw_hip_uses */
    uint32_t private_bytes;            /* of each thread */
    size_t descriptor, note;           /* the kernel's, in the file, 0: none; the same number in the object's note */
    size_t clock, units, counters;     /* struct aw_clock_scale, aw_units and aw_counters in the file; 0: none */
    unsigned note_bytes;               /* that it has there; 0: too few to be written again */
};

struct aw_hip_function {
    struct aw_hip_object *object;
    _Atomic(void *) handle;            /* changes when the object gets a larger stack */
    int dev;
    const char *name;                  /* interned */
    uint32_t uses;                     /* enum aw_hip_uses */
    struct aw_hip_function *next;      /* of its object */
};

enum aw_hip_uses { AW_HIP_USES_ENV = 1, AW_HIP_USES_HEAP = 2, AW_HIP_USES_STACK = 4, AW_HIP_TAKES_PARTS = 8 };

struct aw_hip_device {
    int ordinal;                       /* HIP's number */
    char name[128];
    char arch[64];                     /* as HIP says it, with features */
    char target[64];                   /* what the compiler is asked for */
    int object_version;
    int place[3];                      /* PCI domain, bus, device */
    /* The first fault, and whether the device's queues are stuck: work on them never completes, and no call that waits may be
     * made any more. */
    _Atomic int fault;
    _Atomic bool dead, told;
    pthread_mutex_t lock;              /* over the list of streams */
    struct aw_hip_stream null_stream;
    struct aw_hip_stream *streams;     /* the null stream is not among them */
    _Atomic uint32_t envs_dirty;       /* streams whose kernels may have written records since they were last read */
    struct aw_hip_service *service;    /* env.c */
    size_t print_bytes, heap_bytes;    /* limits */
    _Atomic size_t stack_bytes;        /* likewise; the following under `lock` */
    uint32_t stack_frame, stack_set;   /* the most private memory of a loaded kernel that recurses; what HIP was asked for */
};

struct aw_hip {
    pthread_mutex_t lock;              /* over opening */
    bool opened;
    bool closed;                       /* the process ends, and HIP with it */
    const struct aw_hip_api *injected;
    void *library;                     /* dlopen's */
    struct aw_hip_api api;
    char library_name[512];
    int version, major, count;
    uint32_t grid_most;                /* threads along x of a launch: the packet has 32 bits for them.  Less in tests */
    bool library_found;                /* there is a file, loadable or not */
    char why[600];
    struct aw_hip_device dev[AW_HIP_MAX_DEVICES];
};
extern struct aw_hip aw_hip;
extern _Thread_local int aw_hip_current; /* the device this thread called HIP for last; -1: none */

/* ---- hip.c: what every call does */

static inline bool aw_hip_dev_ok(int dev)
{
    return aw_hip.opened && dev >= 0 && dev < aw_hip.count;
}

/* A hipError_t as a status; sticky ones become the device's fault.  dev -1: of no device. */
int aw_hip_result(int dev, int error);
/* Makes `dev` current on this thread. */
int aw_hip_use(int dev);
/* Records the first fault. */
void aw_hip_fault_set(int dev, int status);

static inline int aw_hip_fault_of(int dev)
{
    return atomic_load_explicit(&aw_hip.dev[dev].fault, memory_order_acquire);
}

static inline bool aw_hip_dead(int dev)
{
    return atomic_load_explicit(&aw_hip.dev[dev].dead, memory_order_acquire);
}

/* return on failure: most calls begin so.  A device whose queues are stuck takes no more work. */
#define USE(dev)                                \
    do {                                        \
        int used_ = aw_hip_use(dev);            \
        if (used_ == AW_OK && aw_hip_dead(dev)) \
            used_ = aw_hip_fault_of(dev);       \
        if (used_ != AW_OK)                     \
            return used_;                       \
    } while (0)

static inline struct aw_hip_stream *aw_hip_stream_of(int dev, struct aw_stream *stream)
{
    return stream ? (struct aw_hip_stream *)(void *)stream : &aw_hip.dev[dev].null_stream;
}

/* A copy of `name` that lives as long as the process, one for each text.  NULL: out of memory. */
const char *aw_hip_intern(const char *name);

/* ---- open.c */
int aw_hip_open(const char **ret_why);
bool aw_hip_library_open(void);        /* under aw_hip.lock */
bool aw_hip_arch_read(int ordinal, char ret_arch[64]); /* of one of HIP's devices; under aw_hip.lock */
/* The target that serves a card of architecture `arch` ("gfx90a:sramecc+:xnack-") under HIP `version`, and the code object
 * version it takes.  False when there is none: ret_why (at least 160 bytes) says so. */
bool aw_hip_target_choose(const char *arch, int version, char *ret_target, size_t size, int *ret_object_version, char *ret_why);

/* ---- device.c */
int aw_hip_device_attr(int dev, enum aw_device_attr attr, int *ret_value);
int aw_hip_device_name(int dev, char *ret_name, size_t size);
const char *aw_hip_device_target(int dev);
/* Writes what the card's clocks count into an object's struct aw_clock_scale, where HIP tells (from 5.3 on). */
void aw_hip_clock_write(int dev, unsigned char *scale);
int aw_hip_device_uuid(int dev, uint8_t ret_uuid[16]);
int aw_hip_device_memory(int dev, size_t *ret_free, size_t *ret_total);
int aw_hip_code_object_version(int dev);
int aw_hip_device_fault(int dev);
int aw_hip_device_reset(int dev);
int aw_hip_stream_priorities(int dev, int *ret_least, int *ret_greatest);
int aw_hip_peer_access(int dev, int peer, bool *ret_can);
int aw_hip_peer_enable(int dev, int peer, bool on);

/* ---- stream.c */
int aw_hip_device_sync(int dev);
int aw_hip_stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret_stream);
int aw_hip_stream_destroy(struct aw_stream *stream);
int aw_hip_stream_query(int dev, struct aw_stream *stream);
int aw_hip_stream_sync(int dev, struct aw_stream *stream);
int aw_hip_stream_wait(int dev, struct aw_stream *stream, struct aw_event *event);
int aw_hip_stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *user), void *user);
int aw_hip_stream_native(int dev, struct aw_stream *stream, void **ret_native);
int aw_hip_stream_write_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes);
int aw_hip_stream_wait_value(int dev, struct aw_stream *stream, void *ptr, uint64_t value, unsigned bytes, enum aw_wait how,
                             const void *owner);
int aw_hip_event_create(int dev, unsigned flags, struct aw_event **ret_event);
int aw_hip_event_destroy(struct aw_event *event);
int aw_hip_event_record(int dev, struct aw_event *event, struct aw_stream *stream);
int aw_hip_event_query(struct aw_event *event);
int aw_hip_event_sync(struct aw_event *event);
int aw_hip_event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret_ms);
int aw_hip_ipc_event_get(struct aw_event *event, struct aw_ipc_handle *ret_handle);
int aw_hip_ipc_event_open(int dev, const struct aw_ipc_handle *handle, struct aw_event **ret_event);

/* ---- object.c */
int aw_hip_object_load(int dev, const void *bytes, size_t size, struct aw_object **ret_object);
int aw_hip_object_unload(struct aw_object *object);
int aw_hip_object_function(struct aw_object *object, const char *name, struct aw_function **ret_function);
int aw_hip_function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret_value);
int aw_hip_occupancy(struct aw_function *function, int block_threads, size_t dynamic_shared, int *ret_blocks);
int aw_hip_function_set_shared(struct aw_function *function, size_t dynamic_shared);
int aw_hip_launch(int dev, struct aw_function *function, const struct aw_launch *launch, struct aw_stream *stream);

/* ---- image.c */
/* False when the file is no complete ELF64. */
bool aw_hip_image_read(const void *bytes, size_t size, struct aw_hip_image *ret_image);
/* Writes another number of private bytes into the object, and the most that it has room for. */
uint32_t aw_hip_image_stack_most(const struct aw_hip_image *image);
void aw_hip_image_stack(const struct aw_hip_image *image, unsigned char *bytes, uint32_t private_bytes);

/* ---- stack.c */
/* The private bytes that the object's descriptor should ask for. */
uint32_t aw_hip_stack_fixed(int dev, const struct aw_hip_image *image);
/* An object was loaded; the limit was set; the device was reset. */
void aw_hip_stack_loaded(int dev, const struct aw_hip_image *image);
void aw_hip_stack_limit(int dev, size_t bytes);
void aw_hip_stack_reset(int dev);

/* ---- wait.c: waiting without ever hanging on a stuck queue */
/* Waits until the stream's (all streams') work has ended or the device is stuck; reads kernels' output.  AW_OK or the fault. */
int aw_hip_stream_settle(int dev, struct aw_hip_stream *stream);
int aw_hip_device_settle(int dev);
int aw_hip_event_settle(struct aw_hip_event *event);
/* hipSuccess, hipErrorNotReady or an error, without waiting. */
int aw_hip_stream_poll(struct aw_hip_stream *stream);

/* ---- memory.c */
extern const struct aw_provider_vmm aw_hip_vmm;
bool aw_hip_range_add(void *base, size_t size, int device, bool managed);
void aw_hip_range_remove(const void *base);
int aw_hip_pointer_info(const void *ptr, struct aw_pointer_info *ret_info);
void aw_hip_ranges_forget(int dev);    /* of the device; -1: all */
int aw_hip_mem_alloc(int dev, size_t size, void **ret_ptr);
int aw_hip_mem_free(int dev, void *ptr);
int aw_hip_host_alloc(int dev, size_t size, unsigned flags, void **ret_ptr);
int aw_hip_host_free(void *ptr);
int aw_hip_host_register(int dev, void *ptr, size_t size, unsigned flags, void **ret_device_ptr);
int aw_hip_host_unregister(void *ptr);
int aw_hip_managed_alloc(int dev, size_t size, void **ret_ptr);
int aw_hip_ipc_mem_get(int dev, void *ptr, struct aw_ipc_handle *ret_handle);
int aw_hip_ipc_mem_open(int dev, const struct aw_ipc_handle *handle, void **ret_ptr, size_t *ret_size);
int aw_hip_ipc_mem_close(int dev, void *ptr);

/* ---- copy.c */
void aw_hip_stage_fini(int dev); /* frees what pageable copies pass through */
int aw_hip_copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream);
int aw_hip_copy3d(int dev, const struct aw_copy3d *copy, struct aw_stream *stream);
int aw_hip_copy_pageable(int dev, void *dst, const void *src, size_t size, struct aw_stream *stream);
int aw_hip_copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream);
int aw_hip_fill(int dev, void *dst, uint32_t value, unsigned element_bytes, size_t count, struct aw_stream *stream);

/* ---- env.c: what kernels print, assert and allocate */
/* The address that a kernel gets as its environment on `stream`, made at first need.  After AW_OK the
 * caller launches and calls aw_hip_env_done, whatever came of the launch: between the two no output is read. */
int aw_hip_env_begin(struct aw_hip_stream *stream, const struct aw_hip_function *function, uint64_t *ret_env);
void aw_hip_env_done(struct aw_hip_stream *stream);
/* Reads and prints what kernels have written on the streams of `dev`; afterwards the device's fault tells of traps. */
void aw_hip_env_drain(int dev);
/* While waiting for long: did a wave of a running kernel trap, so that the others may wait for it for ever?  Sets the fault. */
bool aw_hip_env_trapped(int dev);
/* Writes where the device's table of compute units is, and its counters for barriers, into an object's struct aw_units,
 * aw_counters. */
int aw_hip_units_write(int dev, unsigned char *units);
int aw_hip_counters_write(int dev, unsigned char *counters);
/* Frees the stream's; it is idle. */
void aw_hip_env_drop(struct aw_hip_stream *stream);
/* Frees all of the device's: its heap, its service stream. */
void aw_hip_env_fini(int dev);
int aw_hip_limit_set(int dev, enum aw_limit limit, size_t bytes);

/* ---- fault.c */
/* Before hipInit, and after it: takes the faults that HIP and ROCr would end the process for. */
void aw_hip_faults_early(void *library);
void aw_hip_faults_init(void);
/* Marks the device's queues as stuck, with one line to the log. */
void aw_hip_stuck(int dev, int status, const char *what);
/* "a, b": the kernels that were started and not seen to end. */
void aw_hip_kernels_in_flight(int dev, char *ret_text, size_t size);

#endif
