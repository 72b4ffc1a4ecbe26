/* The activity API: records of calls and of devices' work, in buffers of the program's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "common/driver.h"
#include "cupti_proto.h"
#include "state.h"

#define AW_ROOM "cupti"

enum { KIND_MEMCPY = 1, KIND_MEMSET = 2, KIND_KERNEL = 3, KIND_DRIVER = 4, KIND_RUNTIME = 5, KIND_CONCURRENT_KERNEL = 10,
       KIND_OVERHEAD = 17,
       KIND_MEMCPY2 = 22, KIND_EXTERNAL_CORRELATION = 39, KINDS = 64 };
enum { THREAD_ID_DEFAULT, THREAD_ID_SYSTEM, THREAD_ID_TYPES }; /* pthread_self's lower half, gettid's */
enum { EXTERNAL_KINDS = 16, EXTERNAL_DEPTH = 64, CBIDS = 1024, ATTRIBUTES = 32 };

/* ---- Layouts, as CUPTI has them: each version of a record begins as the one before. */

struct api_record {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct external_record {
    uint32_t kind, external_kind;
    uint64_t external_id;
    uint32_t correlation, reserved;
};

struct memcpy_record {
    uint32_t kind;
    uint8_t copy_kind, src_kind, dst_kind, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3];
    uint64_t copies;
    uint32_t source_graph, pad3;
    uint64_t source_graph_node;
};

struct memset_record {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3];
    uint32_t source_graph, pad3;
    uint64_t source_graph_node;
};

struct kernel_record {
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3];
    int32_t static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type;
    uint32_t cluster[3], cluster_policy;
    uint64_t local_total2;
    uint32_t max_cluster, active_clusters;
    uint8_t device_launched, padding3[7];
    int32_t priority;
    uint32_t padding4, execution_model, padding5, source_graph, padding6;
    uint64_t source_graph_node;
} __attribute__((packed, aligned(8)));
_Static_assert(offsetof(struct kernel_record, name) == 104 && offsetof(struct kernel_record, graph_node) == 144 &&
               offsetof(struct kernel_record, active_clusters) == 204, "the kernel's record");
_Static_assert(sizeof(struct memcpy_record) == 112 && sizeof(struct memset_record) == 104 && sizeof(struct api_record) == 40 &&
               sizeof(struct external_record) == 24, "records");

static size_t record_size(uint32_t kind)
{
    switch (kind) {
    case KIND_MEMCPY: return sizeof(struct memcpy_record);
    case KIND_MEMSET: return sizeof(struct memset_record);
    case KIND_KERNEL:
    case KIND_CONCURRENT_KERNEL: return sizeof(struct kernel_record);
    case KIND_DRIVER:
    case KIND_RUNTIME: return sizeof(struct api_record);
    case KIND_EXTERNAL_CORRELATION: return sizeof(struct external_record);
    default: return 0;
    }
}

/* ---- State. */

static struct {
    pthread_mutex_t lock;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    uint8_t *buffer; /* the one that is being filled */
    size_t size, used, records, max_records;
    size_t dropped;
    bool asking; /* in `request` */
    uint64_t attributes[ATTRIBUTES];
    const char **names; /* of kernels, kept: records point to them */
    size_t n_names, names_room;
} activity = { .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP }; /* as `request` and `complete` may call CUPTI and CUDA */
static bool kinds[KINDS];                 /* read without the lock */
static bool filters[3][CBIDS];            /* by domain: which functions are recorded */
static CUpti_TimestampCallbackFunc timestamp;
static int thread_id_type;                /* how records name threads */
static uint64_t clock_real, clock_own;    /* a moment in both clocks, when `timestamp` was set */

static __thread struct {
    uint64_t ids[EXTERNAL_KINDS][EXTERNAL_DEPTH];
    int depth[EXTERNAL_KINDS];
} external;

bool aw_cupti_work_wanted(void)
{
    return kinds[KIND_KERNEL] || kinds[KIND_CONCURRENT_KERNEL] || kinds[KIND_MEMCPY] || kinds[KIND_MEMSET];
}

bool aw_cupti_activities_wanted(void)
{
    return aw_cupti_work_wanted() || kinds[KIND_RUNTIME] || kinds[KIND_DRIVER] || kinds[KIND_EXTERNAL_CORRELATION];
}

/* ---- Clocks. */

uint64_t aw_cupti_now(void)
{
    CUpti_TimestampCallbackFunc fn = __atomic_load_n(&timestamp, __ATOMIC_ACQUIRE);
    return fn ? fn() : aw_clock_wall_ns();
}

/* A time of the device's in the program's own clock: on the line through then and now. */
static uint64_t time_convert(uint64_t real)
{
    CUpti_TimestampCallbackFunc fn = __atomic_load_n(&timestamp, __ATOMIC_ACQUIRE);
    if (!fn)
        return real;
    uint64_t real2 = aw_clock_wall_ns(), own2 = fn();
    if (real2 <= clock_real)
        return own2;
    double rate = (double)(own2 - clock_own) / (double)(real2 - clock_real);
    return own2 - (uint64_t)(int64_t)((double)(int64_t)(real2 - real) * rate);
}

CUptiResult awcupti_cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc fn)
{
    if (!fn)
        return CUPTI_ERROR_INVALID_PARAMETER;
    clock_real = aw_clock_wall_ns();
    clock_own = fn();
    __atomic_store_n(&timestamp, fn, __ATOMIC_RELEASE);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetTimestamp(uint64_t *ret)
{
    if (!ret)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *ret = aw_cupti_now();
    return CUPTI_SUCCESS;
}

/* ---- Buffers; locked. */

static void buffer_hand_back(void)
{
    uint8_t *buffer = activity.buffer;
    activity.buffer = NULL;
    if (buffer)
        activity.complete(NULL, 0, buffer, activity.size, activity.used);
}

static void append(const void *record, size_t size)
{
    size_t padded = (size + 7) & ~(size_t)7;
    if (activity.buffer &&
        (activity.used + padded > activity.size || (activity.max_records && activity.records == activity.max_records)))
        buffer_hand_back();
    if (!activity.buffer && activity.request && !activity.asking) {
        activity.size = activity.used = activity.records = activity.max_records = 0;
        activity.asking = true;
        activity.request(&activity.buffer, &activity.size, &activity.max_records);
        activity.asking = false;
    }
    if (!activity.buffer || activity.asking || padded > activity.size) {
        activity.dropped++;
        return;
    }
    memcpy(activity.buffer + activity.used, record, size);
    activity.used += padded;
    activity.records++;
}

/* Records outlive modules: one copy of each name stays. */
static const char *name_keep(const char *name)
{
    for (size_t i = 0; i < activity.n_names; i++)
        if (!strcmp(activity.names[i], name))
            return activity.names[i];
    if (activity.n_names == activity.names_room) {
        size_t more = activity.names_room ? 2 * activity.names_room : 64;
        const char **bigger = realloc(activity.names, more * sizeof *bigger);
        if (!bigger)
            return NULL;
        activity.names = bigger;
        activity.names_room = more;
    }
    char *copy = strdup(name);
    if (copy)
        activity.names[activity.n_names++] = copy;
    return copy;
}

/* ---- Work of devices. */

static void kernel_append(const struct aw_activity_record *r)
{
    struct kernel_record k = {
        .kind = kinds[KIND_CONCURRENT_KERNEL] ? KIND_CONCURRENT_KERNEL : KIND_KERNEL, .registers = (uint16_t)r->registers,
        .start = time_convert(r->begin_ns), .end = time_convert(r->end_ns), .device = r->device, .context = r->context,
        .stream = r->stream,
        .static_shared = (int32_t)r->static_shared, .dynamic_shared = (int32_t)r->dynamic_shared, .local_per_thread = r->local,
        .correlation = (uint32_t)r->call, .grid_id = (int64_t)r->call, .name = name_keep(r->name ? r->name : ""),
        .shared_executed = r->static_shared + r->dynamic_shared,
    };
    for (int i = 0; i < 3; i++) {
        k.grid[i] = (int32_t)r->grid[i];
        k.block[i] = (int32_t)r->block[i];
    }
    k.completed = k.end;
    append(&k, sizeof k);
}

static void copy_append(const struct aw_activity_record *r)
{
    enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3 };
    /* As enum aw_copy_kind counts: CUPTI's number of the direction, and whether an end is the host's. */
    static const struct {
        uint8_t kind;
        bool src_host, dst_host;
    } kinds_of[] = { { 9, true, true }, { 1, true, false }, { 2, false, true }, { 8, false, false } };
    unsigned i = (unsigned)r->copy_kind < 4 ? (unsigned)r->copy_kind : 3;
    struct memcpy_record m = {
        .kind = KIND_MEMCPY, .copy_kind = kinds_of[i].kind,
        .src_kind = r->src_pageable ? PAGEABLE : kinds_of[i].src_host ? PINNED : DEVICE,
        .dst_kind = r->dst_pageable ? PAGEABLE : kinds_of[i].dst_host ? PINNED : DEVICE,
        .bytes = r->bytes, .start = time_convert(r->begin_ns), .end = time_convert(r->end_ns), .device = r->device,
        .context = r->context,
        .stream = r->stream, .correlation = (uint32_t)r->call, .copies = 1,
    };
    append(&m, sizeof m);
}

static void fill_append(const struct aw_activity_record *r)
{
    enum { DEVICE = 3 };
    struct memset_record m = {
        .kind = KIND_MEMSET, .value = r->value, .bytes = r->bytes, .start = time_convert(r->begin_ns),
        .end = time_convert(r->end_ns),
        .device = r->device, .context = r->context, .stream = r->stream, .correlation = (uint32_t)r->call, .memory_kind = DEVICE,
    };
    append(&m, sizeof m);
}

static void work_append(void *user, const struct aw_activity_record *r)
{
    (void)user;
    if (r->kind == AW_ACTIVITY_KERNEL && (kinds[KIND_KERNEL] || kinds[KIND_CONCURRENT_KERNEL]))
        kernel_append(r);
    else if (r->kind == AW_ACTIVITY_COPY && kinds[KIND_MEMCPY])
        copy_append(r);
    else if (r->kind == AW_ACTIVITY_FILL && kinds[KIND_MEMSET])
        fill_append(r);
}

/* ---- Calls. */

void aw_cupti_call_record(const struct aw_cupti_call *call)
{
    enum { OFTEN = 256 };
    static unsigned calls;
    static __thread uint32_t process, threads[THREAD_ID_TYPES];
    int d = call->function.domain;
    bool wanted = kinds[d == DOMAIN_RUNTIME ? KIND_RUNTIME : KIND_DRIVER] && filters[d][call->function.cbid];
    if (!aw_cupti_activities_wanted())
        return;
    if (!process) {
        process = (uint32_t)getpid();
        threads[THREAD_ID_DEFAULT] = (uint32_t)pthread_self();
        threads[THREAD_ID_SYSTEM] = (uint32_t)syscall(SYS_gettid);
    }
    uint32_t thread = threads[__atomic_load_n(&thread_id_type, __ATOMIC_RELAXED)];
    pthread_mutex_lock(&activity.lock);
    for (uint32_t k = 0; kinds[KIND_EXTERNAL_CORRELATION] && k < EXTERNAL_KINDS; k++)
        if (external.depth[k]) {
            struct external_record e = { .kind = KIND_EXTERNAL_CORRELATION, .external_kind = k,
                                         .external_id = external.ids[k][external.depth[k] - 1],
                                         .correlation = (uint32_t)call->number };
            append(&e, sizeof e);
        }
    if (wanted) {
        struct api_record a = { .kind = d == DOMAIN_RUNTIME ? KIND_RUNTIME : KIND_DRIVER,
                                .cbid = call->function.cbid,
                                .start = call->begin,
                                .end = call->end, .process = process, .thread = thread, .correlation = (uint32_t)call->number,
                                .result = call->result };
        append(&a, sizeof a);
    }
    if (++calls % OFTEN == 0) /* so that not too many events wait */
        aw_abi_activity_drain(work_append, NULL);
    pthread_mutex_unlock(&activity.lock);
}

/* ---- What the program asks for. */

CUptiResult awcupti_cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                   CUpti_BuffersCallbackCompleteFunc complete)
{
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    activity.request = request;
    activity.complete = complete;
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_SUCCESS;
}

/* Those of which there are records, and those of which there never is anything to record: time of CUPTI's own, copies between
 * devices as such. */
static bool kind_known(CUpti_ActivityKind kind)
{
    return record_size((uint32_t)kind) || kind == KIND_OVERHEAD || kind == KIND_MEMCPY2;
}

static CUptiResult kind_set(CUpti_ActivityKind kind, bool on)
{
    if (kind <= 0 || kind >= KINDS)
        return CUPTI_ERROR_INVALID_KIND;
    if (on && !kind_known(kind)) {
        aw_say(CUPTI_KIND, kind);
        return CUPTI_ERROR_NOT_SUPPORTED;
    }
    __atomic_store_n(&kinds[kind], on, __ATOMIC_RELAXED);
    aw_cupti_hook_update();
    return CUPTI_SUCCESS;
}

/* A kind of calls is all of its domain's functions, whatever was said of single ones before. */
static void functions_set(CUpti_ActivityKind kind, bool on)
{
    if (kind == KIND_RUNTIME || kind == KIND_DRIVER)
        memset(filters[kind == KIND_RUNTIME ? DOMAIN_RUNTIME : DOMAIN_DRIVER], on, CBIDS);
}

CUptiResult awcupti_cuptiActivityEnable(CUpti_ActivityKind kind)
{
    functions_set(kind, true);
    return kind_set(kind, true);
}

/* What was done so far is recorded before. */
CUptiResult awcupti_cuptiActivityDisable(CUpti_ActivityKind kind)
{
    pthread_mutex_lock(&activity.lock);
    if (kind > 0 && kind < KINDS && kinds[kind])
        aw_abi_activity_drain(work_append, NULL);
    pthread_mutex_unlock(&activity.lock);
    functions_set(kind, false);
    return kind_set(kind, false);
}

CUptiResult awcupti_cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag; /* what has not ended is not recorded, forced or not */
    pthread_mutex_lock(&activity.lock);
    bool ready = activity.complete != NULL;
    if (ready) {
        aw_abi_activity_drain(work_append, NULL);
        buffer_hand_back();
    }
    pthread_mutex_unlock(&activity.lock);
    return ready ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult awcupti_cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t at = 0;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        size_t size = record_size(kind);
        if (!size)
            return CUPTI_ERROR_INVALID_KIND;
        at = (size_t)((uint8_t *)*record - buffer) + ((size + 7) & ~(size_t)7);
    }
    if (at >= valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)(buffer + at);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream, size_t *dropped)
{
    (void)ctx, (void)stream;
    if (!dropped)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    *dropped = activity.dropped;
    activity.dropped = 0;
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if (kind < 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (external.depth[kind] == EXTERNAL_DEPTH)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    external.ids[kind][external.depth[kind]++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
    if (kind < 0 || kind >= EXTERNAL_KINDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!external.depth[kind])
        return CUPTI_ERROR_QUEUE_EMPTY;
    external.depth[kind]--;
    if (last)
        *last = external.ids[kind][external.depth[kind]];
    return CUPTI_SUCCESS;
}

static CUptiResult filter_set(int domain, CUpti_CallbackId cbid, bool on)
{
    if (cbid >= CBIDS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    filters[domain][cbid] = on;
    return kind_set(domain == DOMAIN_RUNTIME ? KIND_RUNTIME : KIND_DRIVER, memchr(filters[domain], 1, CBIDS) != NULL);
}

CUptiResult awcupti_cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t on)
{
    return filter_set(DOMAIN_RUNTIME, cbid, on != 0);
}

CUptiResult awcupti_cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t on)
{
    return filter_set(DOMAIN_DRIVER, cbid, on != 0);
}

/* Sizes of CUPTI's own buffers and the like: kept, as there are none of these here that they could change. */
CUptiResult awcupti_cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    if (!size || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    activity.attributes[attribute] = 0;
    memcpy(&activity.attributes[attribute], value, *size < sizeof(uint64_t) ? *size : sizeof(uint64_t));
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiActivityGetAttribute(CUpti_ActivityAttribute attribute, size_t *size, void *value)
{
    if (!size || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&activity.lock);
    memcpy(value, &activity.attributes[attribute], *size < sizeof(uint64_t) ? *size : sizeof(uint64_t));
    pthread_mutex_unlock(&activity.lock);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    if (type < 0 || type >= THREAD_ID_TYPES)
        return CUPTI_ERROR_NOT_SUPPORTED;
    __atomic_store_n(&thread_id_type, type, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
    if (!type)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *type = __atomic_load_n(&thread_id_type, __ATOMIC_RELAXED);
    return CUPTI_SUCCESS;
}

void aw_cupti_activities_end(void)
{
    memset(kinds, 0, sizeof kinds);
    memset(filters, 0, sizeof filters);
    pthread_mutex_lock(&activity.lock);
    buffer_hand_back();
    __atomic_store_n(&timestamp, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&activity.lock);
}

/* ---- Numbers in records. */

CUptiResult awcupti_cuptiGetContextId(CUcontext ctx, uint32_t *id)
{
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    uint32_t found = aw_abi_activity_context(ctx);
    if (!found)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = found;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetStreamIdEx(CUcontext ctx, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    CUcontext before;
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (ctx && cuCtxPushCurrent_v2(ctx) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_CONTEXT;
    uint32_t found = aw_abi_activity_stream(stream, per_thread != 0);
    if (ctx)
        cuCtxPopCurrent_v2(&before);
    if (!found)
        return CUPTI_ERROR_INVALID_STREAM;
    *id = found;
    return CUPTI_SUCCESS;
}

CUptiResult awcupti_cuptiGetStreamId(CUcontext ctx, CUstream stream, uint32_t *id)
{
    return awcupti_cuptiGetStreamIdEx(ctx, stream, 0, id);
}

CUptiResult awcupti_cuptiGetDeviceId(CUcontext ctx, uint32_t *id)
{
    CUcontext before;
    CUdevice device;
    if (!id)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (ctx && cuCtxPushCurrent_v2(ctx) != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_CONTEXT;
    CUresult result = cuCtxGetDevice(&device);
    if (ctx)
        cuCtxPopCurrent_v2(&before);
    if (result != CUDA_SUCCESS)
        return CUPTI_ERROR_INVALID_CONTEXT;
    *id = (uint32_t)device;
    return CUPTI_SUCCESS;
}
