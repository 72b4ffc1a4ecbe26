/* What kernels print, assert and allocate on a card: the host's side of struct aw_env (include/anywarp/env.h).
 *
 * Each stream that runs kernels which need it has an environment in device memory, and each device a heap, both made at first
 * need. They are read through a stream of our own, the service stream, which waits for nobody: after the waiting calls of
 * wait.c, or when a further kernel is started and the buffer's stream is idle.  Formatting is base/kprint's, as on the host
 * device. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <anywarp/env.h>

#include "base/kprint.h"
#include "base/log.h"
#include "provider/hip/internal.h"

enum { HEADER = 256, CHUNK = 64 << 10, STRING_CHUNK = 256, PRINT_MIN = 4096, PRINT_MAX = 1 << 30 };
enum { STREAM_NON_BLOCKING = 1 };
#define HEAP_PAGES_MAX ((size_t)1 << 26)

/* A device's own stream and pinned memory to read through, and its heap. */
struct aw_hip_service {
    pthread_mutex_t lock;     /* over all of it and over every environment of the device */
    struct aw_hip_stream stream;
    char *pinned;             /* CHUNK bytes */
    void *heap_memory;        /* NULL: none yet */
    uint64_t heap;            /* device address of its struct aw_heap */
    void *units, *counters;   /* what struct aw_units and aw_counters point to; NULL: no object has asked yet */
    bool env_made;
    bool drop_told;
};

struct aw_hip_env {
    char *memory;             /* device: the environment, at HEADER its records */
    size_t capacity;
    uint32_t read;            /* bytes of records that were printed */
    uint32_t dropped;         /* records, as last seen */
    bool has_heap;
    bool dirty;               /* a kernel was started since it was last read while the stream was idle */
    bool status_told;
    const char *kernel;       /* the latest that uses it; interned */
    unsigned n_kernels;       /* since the stream was seen idle */
};

/* ---- Copies through the service stream.  The service's lock is held. */

static int service_wait(int dev, struct aw_hip_service *v)
{
    int error;
    /* Not aw_hip_stream_settle, which would read the environments. */
    for (unsigned i = 0; (error = aw_hip.api.hipStreamQuery(v->stream.handle)) == HIP_NOT_READY; i++) {
        if (aw_hip_dead(dev))
            return aw_hip_fault_of(dev);
        if (i > 1000)
            nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
    }
    return aw_hip_result(dev, error);
}

static int device_read(int dev, struct aw_hip_service *v, void *ret, uint64_t address, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t part = size - done < CHUNK ? size - done : CHUNK;
        int status = aw_hip_result(dev, aw_hip.api.hipMemcpyAsync(v->pinned, (void *)(uintptr_t)(address + done), part,
                                                                  AW_COPY_D2H, v->stream.handle));
        if (status == AW_OK)
            status = service_wait(dev, v);
        if (status != AW_OK)
            return status;
        memcpy((char *)ret + done, v->pinned, part);
        done += part;
    }
    return AW_OK;
}

static int device_write(int dev, struct aw_hip_service *v, uint64_t address, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        size_t part = size - done < CHUNK ? size - done : CHUNK;
        memcpy(v->pinned, (const char *)bytes + done, part);
        int status = aw_hip_result(dev, aw_hip.api.hipMemcpyAsync((void *)(uintptr_t)(address + done), v->pinned, part,
                                                                  AW_COPY_H2D, v->stream.handle));
        if (status == AW_OK)
            status = service_wait(dev, v);
        if (status != AW_OK)
            return status;
        done += part;
    }
    return AW_OK;
}

static int device_fill(int dev, struct aw_hip_service *v, uint64_t address, int byte, size_t size)
{
    int status = aw_hip_result(dev, aw_hip.api.hipMemsetD8Async((void *)(uintptr_t)address, (unsigned char)byte, size,
                                                                v->stream.handle));
    return status == AW_OK ? service_wait(dev, v) : status;
}

/* ---- Making */

static int service_make(int dev, struct aw_hip_service **ret)
{
    struct aw_hip_service *v = calloc(1, sizeof *v);
    if (!v)
        return AW_ERR_OUT_OF_MEMORY;
    void *pinned = NULL;
    int status = aw_hip_result(dev, aw_hip.api.hipHostMalloc(&pinned, CHUNK, 0));
    if (status == AW_OK) {
        status = aw_hip_result(dev, aw_hip.api.hipStreamCreateWithPriority(&v->stream.handle, STREAM_NON_BLOCKING, 0));
        if (status != AW_OK)
            aw_hip.api.hipHostFree(pinned);
    }
    if (status != AW_OK) {
        free(v);
        return status;
    }
    pthread_mutex_init(&v->lock, NULL);
    v->stream.dev = dev;
    v->pinned = pinned;
    *ret = v;
    return AW_OK;
}

static struct aw_hip_service *service_find(int dev)
{
    return __atomic_load_n(&aw_hip.dev[dev].service, __ATOMIC_ACQUIRE);
}

/* Under the device's lock only for the pointer: HIP is called without it. */
static int service_get(int dev, struct aw_hip_service **ret)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    struct aw_hip_service *v = service_find(dev);
    int status = AW_OK;
    if (!v) {
        pthread_mutex_lock(&making);
        v = service_find(dev);
        if (!v) {
            status = service_make(dev, &v);
            if (status == AW_OK)
                __atomic_store_n(&aw_hip.dev[dev].service, v, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&making);
    }
    if (status == AW_OK)
        *ret = v;
    return status;
}

static uint64_t align(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

/* The bitmap's words that are not all free: those past the last page are taken. */
static int heap_map_end(int dev, struct aw_hip_service *v, uint64_t map, size_t n_pages)
{
    if (n_pages % 64 == 0)
        return AW_OK;
    uint64_t word = ~0ull << n_pages % 64;
    return device_write(dev, v, map + n_pages / 64 * 8, &word, sizeof word);
}

/* The heap's memory: its header, the bitmap, the kinds, the pages. */
static int heap_make(int dev, struct aw_hip_service *v)
{
    size_t n = aw_hip.dev[dev].heap_bytes / AW_HEAP_PAGE;
    n = n < 1 ? 1 : n > HEAP_PAGES_MAX ? HEAP_PAGES_MAX : n;
    uint64_t map = align(sizeof(struct aw_heap), 64), kind = map + align(n, 64) / 8, pages = align(kind + 4 * n, AW_HEAP_PAGE);
    void *p = NULL;
    int status = aw_hip_result(dev, aw_hip.api.hipMalloc(&p, pages + n * AW_HEAP_PAGE + AW_HEAP_PAGE));
    if (status != AW_OK)
        return status;
    uint64_t base = align((uint64_t)(uintptr_t)p, AW_HEAP_PAGE);
    struct aw_heap heap = { .pages = base + pages, .map = base + map, .kind = base + kind, .n_pages = (uint32_t)n };
    status = device_fill(dev, v, base, 0, pages);
    if (status == AW_OK)
        status = heap_map_end(dev, v, heap.map, n);
    if (status == AW_OK)
        status = device_write(dev, v, base, &heap, sizeof heap);
    if (status != AW_OK) {
        aw_hip.api.hipFree(p);
        return status;
    }
    v->heap_memory = p;
    v->heap = base;
    return AW_OK;
}

/* Memory that objects of the device share: `each` bytes for each multiprocessor, zero at first, which is kept in *memory of
 * the service. */
static int shared_memory(int dev, size_t each, size_t field, void **ret_memory, int *ret_count)
{
    struct aw_hip_service *v;
    int count = 0, status = aw_hip_device_attr(dev, AW_DEV_MULTIPROCESSORS, &count);
    if (status == AW_OK)
        status = service_get(dev, &v);
    if (status != AW_OK)
        return status;
    count = count > 0 ? count : 1;
    void **memory = (void **)(void *)((char *)v + field), *p = NULL;
    pthread_mutex_lock(&v->lock);
    if (!*memory)
        status = aw_hip_result(dev, aw_hip.api.hipMalloc(&p, each * (size_t)count));
    if (p && status == AW_OK)
        status = device_fill(dev, v, (uint64_t)(uintptr_t)p, 0, each * (size_t)count);
    if (p && status != AW_OK)
        aw_hip.api.hipFree(p);
    else if (p)
        *memory = p;
    *ret_memory = *memory;
    pthread_mutex_unlock(&v->lock);
    *ret_count = count;
    return status;
}

int aw_hip_units_write(int dev, unsigned char *units)
{
    void *memory = NULL;
    int count = 0, status = shared_memory(dev, 4, offsetof(struct aw_hip_service, units), &memory, &count);
    struct aw_units u = { .numbers = (uint64_t)(uintptr_t)memory, .count = (uint32_t)count };
    if (status == AW_OK)
        memcpy(units, &u, sizeof u);
    return status;
}

/* Blocks that take all shared memory are alone on a compute unit, or two on a pair; and as many again. */
int aw_hip_counters_write(int dev, unsigned char *counters)
{
    enum { SETS = 4 };
    void *memory = NULL;
    int count = 0,
        status = shared_memory(dev, (size_t)SETS * AW_COUNTERS_BYTES, offsetof(struct aw_hip_service, counters), &memory, &count);
    struct aw_counters c = { .sets = (uint64_t)(uintptr_t)memory, .count = SETS * (uint32_t)count - 1 }; /* and nobody's */
    if (status == AW_OK)
        memcpy(counters, &c, sizeof c);
    return status;
}

static int env_write(int dev, struct aw_hip_service *v, struct aw_hip_env *e)
{
    struct aw_env env = { .buffer = (uint64_t)(uintptr_t)e->memory + HEADER, .capacity = (uint32_t)e->capacity,
                          .heap = e->has_heap ? v->heap : 0 };
    return device_write(dev, v, (uint64_t)(uintptr_t)e->memory, &env, sizeof env);
}

static int env_make(int dev, struct aw_hip_service *v, struct aw_hip_env **ret)
{
    struct aw_hip_env *e = calloc(1, sizeof *e);
    void *p = NULL;
    if (!e)
        return AW_ERR_OUT_OF_MEMORY;
    e->capacity = aw_hip.dev[dev].print_bytes;
    int status = aw_hip_result(dev, aw_hip.api.hipMalloc(&p, HEADER + e->capacity));
    if (status == AW_OK) {
        e->memory = p;
        status = device_fill(dev, v, (uint64_t)(uintptr_t)p, 0, HEADER + e->capacity);
    }
    if (status == AW_OK)
        status = env_write(dev, v, e);
    if (status != AW_OK) {
        if (p)
            aw_hip.api.hipFree(p);
        free(e);
        return status;
    }
    v->env_made = true;
    *ret = e;
    return AW_OK;
}

/* Gives an environment the device's heap. */
static int env_heap(int dev, struct aw_hip_service *v, struct aw_hip_env *e)
{
    int status = v->heap_memory ? AW_OK : heap_make(dev, v);
    if (status == AW_OK)
        status = device_write(dev, v, (uint64_t)(uintptr_t)e->memory + offsetof(struct aw_env, heap), &v->heap, sizeof v->heap);
    e->has_heap = status == AW_OK;
    return status;
}

/* ---- Reading */

struct reader {
    int dev;
    struct aw_hip_service *service;
    const char *args;    /* one record's */
    size_t args_size;
};

static bool args_read(void *user, void *ret, uint64_t address, size_t size)
{
    const struct reader *r = user;
    if (address > r->args_size || size > r->args_size - address)
        return false;
    memcpy(ret, r->args + address, size);
    return true;
}

/* A string in an allocation of ours: a variable of a module, or memory of the program's.  What lies elsewhere (the kernel's
 * local or shared memory is gone by now) is not there. */
static long string_read(void *user, char *ret, uint64_t address, size_t size)
{
    const struct reader *r = user;
    struct aw_pointer_info info;
    char part[STRING_CHUNK];
    size_t done = 0;
    if (aw_hip_pointer_info((const void *)(uintptr_t)address, &info) != AW_OK)
        return -1;
    uint64_t left = (uint64_t)(uintptr_t)info.base + info.size - address;
    while (done < size) {
        size_t ask = size - done < sizeof part ? size - done : sizeof part;
        if (left == done)
            return -1;
        ask = ask < left - done ? ask : (size_t)(left - done);
        if (device_read(r->dev, r->service, part, address + done, ask) != AW_OK)
            return -1;
        size_t n = strnlen(part, ask);
        memcpy(ret + done, part, n);
        done += n;
        if (n < ask)
            break;
    }
    return (long)done;
}

static void assert_print(const struct aw_env_assert *a, const struct aw_kprint_memory *memory)
{
    char *message = aw_kprint_string(a->message, memory), *file = aw_kprint_string(a->file, memory);
    char *function = aw_kprint_string(a->function, memory);
    struct aw_buf line = { 0 };
    aw_kprint_assert(&line, message, file, a->line, function, a->block, a->thread);
    if (line.len)
        fwrite(line.ptr, 1, line.len, stderr);
    aw_buf_fini(&line);
    free(message);
    free(file);
    free(function);
}

/* Formats of one reading, so that each is fetched once. */
struct formats {
    uint64_t address[16];
    char *text[16];
    unsigned n;
};

static const char *format_find(struct formats *f, uint64_t address, const struct aw_kprint_memory *memory)
{
    unsigned count = f->n < 16 ? f->n : 16;
    for (unsigned i = 0; i < count; i++)
        if (f->address[i] == address)
            return f->text[i];
    unsigned at = f->n++ % 16;
    if (count == 16)
        free(f->text[at]);
    f->address[at] = address;
    f->text[at] = aw_kprint_string(address, memory);
    return f->text[at];
}

static void formats_fini(struct formats *f)
{
    for (unsigned i = 0; i < (f->n < 16 ? f->n : 16); i++)
        free(f->text[i]);
}

/* Prints the complete records of `bytes`; returns how many bytes they take. */
static size_t records_print(struct reader *r, const char *bytes, size_t size)
{
    struct aw_kprint_memory memory = { args_read, string_read, r };
    struct formats formats = { .n = 0 };
    struct aw_buf out = { 0 };
    size_t at = 0;
    while (size - at >= sizeof(struct aw_env_record)) {
        struct aw_env_record head;
        memcpy(&head, bytes + at, sizeof head);
        if (head.size < sizeof head || head.size % 8 || head.size > size - at)
            break;
        if (head.kind == AW_ENV_PRINTF && head.size >= sizeof(struct aw_env_printf)) {
            struct aw_env_printf p;
            memcpy(&p, bytes + at, sizeof p);
            r->args = bytes + at + sizeof p;
            r->args_size = head.size - sizeof p;
            const char *format = format_find(&formats, p.format, &memory);
            if (format)
                (void)aw_kprint(&out, format, 0, &memory);
            else
                aw_buf_printf(&out, "(printf: bad format 0x%llx)", (unsigned long long)p.format);
        } else if (head.kind == AW_ENV_ASSERT && head.size >= sizeof(struct aw_env_assert)) {
            struct aw_env_assert a;
            memcpy(&a, bytes + at, sizeof a);
            assert_print(&a, &memory);
        }
        at += head.size;
    }
    if (out.len)
        fwrite(out.ptr, 1, out.len, stdout);
    if (out.failed)
        aw_say(PRINTF_LOST);
    aw_buf_fini(&out);
    formats_fini(&formats);
    return at;
}

/* Prints what was written since; the header as read is in *env. */
static int env_print(int dev, struct aw_hip_service *v, struct aw_hip_env *e, const struct aw_env *env)
{
    size_t end = env->used < e->capacity ? env->used : e->capacity;
    if (end <= e->read)
        return AW_OK;
    char *bytes = malloc(end - e->read);
    if (!bytes)
        return AW_ERR_OUT_OF_MEMORY;
    int status = device_read(dev, v, bytes, (uint64_t)(uintptr_t)e->memory + HEADER + e->read, end - e->read);
    if (status == AW_OK) {
        struct reader r = { .dev = dev, .service = v };
        e->read += (uint32_t)records_print(&r, bytes, end - e->read);
    }
    free(bytes);
    return status;
}

static void env_status(int dev, struct aw_hip_env *e, const struct aw_env *env)
{
    if (!env->status || e->status_told)
        return;
    enum aw_status status = env->status < AW_STATUS_COUNT ? (enum aw_status)env->status : AW_ERR_LAUNCH_FAILED;
    e->status_told = true;
    aw_hip_fault_set(dev, status);
    if (status != AW_ERR_ASSERT) { /* that one has a line of its own */
        aw_say(CARD_TRAP, e->kernel, e->n_kernels > 1 ? " (or one before it)" : "", aw_status_text(status), dev,
               aw_hip.dev[dev].name);
    }
}

/* Reads one environment.  `idle`: its stream has nothing running, so that it can begin anew. */
static int env_read(int dev, struct aw_hip_service *v, struct aw_hip_env *e, bool idle)
{
    struct aw_env env;
    int status = device_read(dev, v, &env, (uint64_t)(uintptr_t)e->memory, sizeof env);
    if (status != AW_OK)
        return status;
    status = env_print(dev, v, e, &env);
    env_status(dev, e, &env);
    if (env.dropped != e->dropped && !v->drop_told) {
        v->drop_told = true;
        aw_say(PRINTF_FULL, e->capacity, env.dropped);
    }
    e->dropped = env.dropped;
    if (!idle || status != AW_OK)
        return status;
    e->dirty = false;
    e->n_kernels = 0;
    atomic_fetch_sub(&aw_hip.dev[dev].envs_dirty, 1);
    if (!env.used && !env.dropped)
        return AW_OK;
    /* Sizes of 0 again, wherever a record may begin. */
    status = device_fill(dev, v, (uint64_t)(uintptr_t)e->memory + HEADER, 0, env.used < e->capacity ? env.used : e->capacity);
    uint32_t zero[2] = { 0, 0 };
    _Static_assert(offsetof(struct aw_env, dropped) == offsetof(struct aw_env, used) + 4, "written in one piece");
    if (status == AW_OK)
        status = device_write(dev, v, (uint64_t)(uintptr_t)e->memory + offsetof(struct aw_env, used), zero, sizeof zero);
    e->read = e->dropped = 0;
    return status;
}

/* ---- The calls */

static struct aw_hip_env *env_of(struct aw_hip_stream *stream)
{
    return __atomic_load_n(&stream->env, __ATOMIC_ACQUIRE);
}

int aw_hip_env_begin(struct aw_hip_stream *stream, const struct aw_hip_function *function, uint64_t *ret_env)
{
    struct aw_hip_service *v;
    int dev = stream->dev, status = service_get(dev, &v);
    if (status != AW_OK)
        return status;
    pthread_mutex_lock(&v->lock);
    struct aw_hip_env *e = env_of(stream);
    if (!e) {
        status = env_make(dev, v, &e);
        if (status == AW_OK)
            __atomic_store_n(&stream->env, e, __ATOMIC_RELEASE);
    } else if (e->dirty && aw_hip_stream_poll(stream) == HIP_SUCCESS) {
        status = env_read(dev, v, e, true); /* as CUDA does at a launch: many kernels without waiting must not fill it */
    }
    if (status == AW_OK && function->uses & AW_HIP_USES_HEAP && !e->has_heap)
        status = env_heap(dev, v, e);
    if (status != AW_OK) {
        pthread_mutex_unlock(&v->lock);
        return status;
    }
    if (!e->dirty)
        atomic_fetch_add(&aw_hip.dev[dev].envs_dirty, 1);
    e->dirty = true;
    e->kernel = function->name;
    e->n_kernels++;
    *ret_env = (uint64_t)(uintptr_t)e->memory;
    return AW_OK;
}

void aw_hip_env_done(struct aw_hip_stream *stream)
{
    pthread_mutex_unlock(&aw_hip.dev[stream->dev].service->lock);
}

/* Calls fn for each stream of the device that has an environment to read.  The service's lock is held, and so no stream can lose
 * its environment; streams themselves are kept by the device's lock. */
static void streams_read(int dev, struct aw_hip_service *v, void (*fn)(int, struct aw_hip_service *, struct aw_hip_stream *))
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    pthread_mutex_lock(&d->lock);
    for (struct aw_hip_stream *s = &d->null_stream; s; s = s == &d->null_stream ? d->streams : s->next)
        if (env_of(s) && env_of(s)->dirty)
            fn(dev, v, s);
    pthread_mutex_unlock(&d->lock);
}

static void stream_read(int dev, struct aw_hip_service *v, struct aw_hip_stream *stream)
{
    bool idle = aw_hip_stream_poll(stream) == HIP_SUCCESS;
    (void)env_read(dev, v, env_of(stream), idle);
}

void aw_hip_env_drain(int dev)
{
    struct aw_hip_service *v = service_find(dev);
    if (!v || !atomic_load_explicit(&aw_hip.dev[dev].envs_dirty, memory_order_acquire) || aw_hip_dead(dev))
        return;
    pthread_mutex_lock(&v->lock);
    streams_read(dev, v, stream_read);
    fflush(stdout);
    pthread_mutex_unlock(&v->lock);
}

bool aw_hip_env_trapped(int dev)
{
    if (!aw_hip_fault_of(dev))
        aw_hip_env_drain(dev);
    return aw_hip_fault_of(dev) != AW_OK;
}

void aw_hip_env_drop(struct aw_hip_stream *stream)
{
    struct aw_hip_env *e = env_of(stream);
    struct aw_hip_service *v = service_find(stream->dev);
    if (!e || !v)
        return;
    pthread_mutex_lock(&v->lock);
    if (e->dirty)
        atomic_fetch_sub(&aw_hip.dev[stream->dev].envs_dirty, 1);
    stream->env = NULL;
    pthread_mutex_unlock(&v->lock);
    aw_hip.api.hipFree(e->memory);
    free(e);
}

void aw_hip_env_fini(int dev)
{
    struct aw_hip_device *d = &aw_hip.dev[dev];
    struct aw_hip_service *v = service_find(dev);
    if (!v || aw_hip_dead(dev))
        return;
    aw_hip_env_drop(&d->null_stream);
    for (struct aw_hip_stream *s = d->streams; s; s = s->next)
        aw_hip_env_drop(s);
    d->service = NULL;
    if (v->heap_memory)
        aw_hip.api.hipFree(v->heap_memory);
    if (v->units)
        aw_hip.api.hipFree(v->units);
    if (v->counters)
        aw_hip.api.hipFree(v->counters);
    aw_hip.api.hipStreamDestroy(v->stream.handle);
    aw_hip.api.hipHostFree(v->pinned);
    pthread_mutex_destroy(&v->lock);
    free(v);
}

/* ---- Limits */

int aw_hip_limit_set(int dev, enum aw_limit limit, size_t bytes)
{
    USE(dev);
    struct aw_hip_device *d = &aw_hip.dev[dev];
    struct aw_hip_service *v = service_find(dev);
    int status = AW_OK;
    if (limit == AW_LIMIT_STACK) {
        aw_hip_stack_limit(dev, bytes);
        return AW_OK;
    }
    if (v)
        pthread_mutex_lock(&v->lock);
    if (limit == AW_LIMIT_PRINTF && !(v && v->env_made))
        d->print_bytes = bytes < PRINT_MIN ? PRINT_MIN : bytes > PRINT_MAX ? PRINT_MAX : (bytes + 7) / 8 * 8;
    else if (limit == AW_LIMIT_HEAP && !(v && v->heap_memory))
        d->heap_bytes = bytes;
    else
        status = AW_ERR_INVALID_VALUE; /* kernels that use it have run */
    if (v)
        pthread_mutex_unlock(&v->lock);
    return status;
}
