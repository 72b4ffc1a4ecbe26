/* The recording provider and compiler.  Device memory is the host's; work runs on the thread that waits for it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/jit.h"
#include "core/jit_pool.h"

struct fake fake;
static struct aw_stream *all_streams;

void fake_reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.devices = 1;
    fake.shared_per_block = 100 * 1024;
    fake.memory = (size_t)1 << 30;
    fake.compile_status = AW_ERR_NOT_SUPPORTED;
}

/* ---- Streams. */

struct op {
    struct op *next;
    enum { OP_COPY, OP_COPY3D, OP_FILL, OP_CALL, OP_RECORD } kind;
    struct aw_copy3d copy;
    uint32_t value;
    unsigned element;
    size_t count;
    void (*fn)(void *user);
    void *user;
};

struct aw_event {
    bool pending;
    double time;
};

struct aw_stream {
    struct aw_stream *next;
    struct op *first, **last;
};

static struct aw_stream legacy = { .last = &legacy.first };

static struct aw_stream *stream_of(struct aw_stream *stream)
{
    return stream ? stream : &legacy;
}

static void op_run(struct op *op)
{
    static double clock;
    const struct aw_copy3d *c = &op->copy;
    switch (op->kind) {
    case OP_COPY:
        memmove(c->dst, c->src, c->width);
        break;
    case OP_COPY3D:
        for (size_t z = 0; z < c->depth; z++)
            for (size_t y = 0; y < c->height; y++)
                memcpy((char *)c->dst + z * c->dst_slice + y * c->dst_pitch,
                       (const char *)c->src + z * c->src_slice + y * c->src_pitch, c->width);
        break;
    case OP_FILL:
        for (size_t i = 0; i < op->count; i++)
            memcpy((char *)c->dst + i * op->element, &op->value, op->element);
        break;
    case OP_CALL:
        op->fn(op->user);
        break;
    case OP_RECORD:
        ((struct aw_event *)op->user)->pending = false;
        ((struct aw_event *)op->user)->time = clock += 1;
        break;
    }
}

static void stream_run(struct aw_stream *stream)
{
    while (stream->first) {
        struct op *op = stream->first;
        stream->first = op->next;
        if (!stream->first)
            stream->last = &stream->first;
        op_run(op);
        free(op);
    }
}

static void run_all(void)
{
    stream_run(&legacy);
    for (struct aw_stream *s = all_streams; s; s = s->next)
        stream_run(s);
}

static int enqueue(struct aw_stream *stream, struct op op)
{
    stream = stream_of(stream);
    struct op *own = malloc(sizeof *own);
    *own = op;
    own->next = NULL;
    *stream->last = own;
    stream->last = &own->next;
    if (!fake.held)
        stream_run(stream);
    return fake.fault;
}

static int f_stream_create(int dev, unsigned flags, int priority, struct aw_stream **ret)
{
    *ret = calloc(1, sizeof **ret);
    (*ret)->last = &(*ret)->first;
    (*ret)->next = all_streams;
    all_streams = *ret;
    fake.streams++;
    return AW_OK;
}

static int f_stream_destroy(struct aw_stream *stream)
{
    stream_run(stream);
    for (struct aw_stream **at = &all_streams; *at; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    }
    free(stream);
    fake.streams--;
    return AW_OK;
}

static int f_stream_query(int dev, struct aw_stream *stream)
{
    return fake.fault ? fake.fault : stream_of(stream)->first ? AW_ERR_NOT_READY : AW_OK;
}

static int f_stream_sync(int dev, struct aw_stream *stream)
{
    fake.syncs++;
    if (!stream)
        run_all();
    else
        stream_run(stream);
    return fake.fault;
}

static int f_stream_wait(int dev, struct aw_stream *stream, struct aw_event *event)
{
    return AW_OK;
}

static int f_stream_callback(int dev, struct aw_stream *stream, void (*fn)(void *), void *user)
{
    return enqueue(stream, (struct op){ .kind = OP_CALL, .fn = fn, .user = user });
}

/* ---- Events. */

static int f_event_create(int dev, unsigned flags, struct aw_event **ret)
{
    *ret = calloc(1, sizeof **ret);
    fake.events++;
    return AW_OK;
}

static int f_event_destroy(struct aw_event *event)
{
    run_all();
    free(event);
    fake.events--;
    return AW_OK;
}

static int f_event_record(int dev, struct aw_event *event, struct aw_stream *stream)
{
    event->pending = true;
    return enqueue(stream, (struct op){ .kind = OP_RECORD, .user = event });
}

static int f_event_query(struct aw_event *event)
{
    return event->pending ? AW_ERR_NOT_READY : AW_OK;
}

static int f_event_sync(struct aw_event *event)
{
    run_all();
    return fake.fault;
}

static int f_event_elapsed(struct aw_event *begin, struct aw_event *end, float *ret)
{
    *ret = (float)(end->time - begin->time);
    return AW_OK;
}

/* ---- The device. */

static int f_open(const char **ret_why)
{
    *ret_why = "told to fail";
    return fake.open_status;
}

static int f_count(void) { return fake.devices; }

static int f_name(int dev, char *ret, size_t size)
{
    snprintf(ret, size, "Fake %d", dev);
    return AW_OK;
}

static const char *f_target(int dev) { return fake.quick ? "host:fake" : "host"; }

static int f_attr(int dev, enum aw_device_attr attr, int *ret)
{
    static const int values[AW_DEV_COUNT_] = {
        [AW_DEV_MULTIPROCESSORS] = 4, [AW_DEV_CLOCK_KHZ] = 1000000, [AW_DEV_MAX_THREADS_PER_BLOCK] = 1024,
        [AW_DEV_MAX_BLOCK_X] = 1024, [AW_DEV_MAX_BLOCK_Y] = 1024, [AW_DEV_MAX_BLOCK_Z] = 64,
        [AW_DEV_MAX_GRID_X] = 2147483647, [AW_DEV_MAX_GRID_Y] = 65535, [AW_DEV_MAX_GRID_Z] = 65535,
        [AW_DEV_SHARED_PER_MULTIPROCESSOR] = 128 * 1024, [AW_DEV_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
        [AW_DEV_WAVE_SIZE] = 64, [AW_DEV_MANAGED] = 1, [AW_DEV_COOPERATIVE] = 1, [AW_DEV_UNIFIED_ADDRESSING] = 1,
        [AW_DEV_ASYNC_ENGINES] = 2, [AW_DEV_PCI_BUS] = 0x65,
    };
    *ret = attr == AW_DEV_SHARED_PER_BLOCK ? fake.shared_per_block : attr == AW_DEV_PCI_DEVICE ? dev : values[attr];
    return AW_OK;
}

static int f_uuid(int dev, uint8_t ret[16])
{
    memset(ret, 0xa0 + dev, 16);
    return AW_OK;
}

static int f_memory(int dev, size_t *ret_free, size_t *ret_total)
{
    *ret_free = fake.memory - fake.used;
    *ret_total = fake.memory;
    return AW_OK;
}

static int f_cov(int dev) { return 0; }

static int f_sync(int dev)
{
    run_all();
    return fake.fault;
}

static int f_fault(int dev) { return fake.fault; }

static int f_reset(int dev)
{
    fake.fault = AW_OK;
    fake.resets++;
    return AW_OK;
}

/* ---- Memory: a block knows its size in the 256 bytes before it. */

static int f_alloc(int dev, size_t size, void **ret)
{
    if (size > fake.memory - fake.used)
        return AW_ERR_OUT_OF_MEMORY;
    size_t rounded = (size + 511) / 256 * 256;
    char *block = aligned_alloc(256, rounded);
    if (!block)
        return AW_ERR_OUT_OF_MEMORY;
    memset(block, 0xcd, rounded);
    memcpy(block, &size, sizeof size);
    *ret = block + 256;
    fake.used += size;
    fake.allocs++;
    return AW_OK;
}

static int f_free(int dev, void *ptr)
{
    size_t size;
    run_all();
    memcpy(&size, (char *)ptr - 256, sizeof size);
    fake.used -= size;
    free((char *)ptr - 256);
    fake.frees++;
    return AW_OK;
}

static int f_host_alloc(int dev, size_t size, unsigned flags, void **ret)
{
    fake.host_allocs++;
    *ret = malloc(size);
    return *ret ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static int f_host_free(void *ptr)
{
    fake.host_frees++;
    free(ptr);
    return AW_OK;
}

static int f_register(int dev, void *ptr, size_t size, unsigned flags, void **ret)
{
    *ret = ptr;
    return AW_OK;
}

static int f_unregister(void *ptr) { return AW_OK; }

static int f_copy(int dev, void *dst, const void *src, size_t size, enum aw_copy_kind kind, struct aw_stream *stream)
{
    fake.copies++;
    return enqueue(stream, (struct op){ .kind = OP_COPY, .copy = { .src = src, .dst = dst, .width = size } });
}

static int f_copy3d(int dev, const struct aw_copy3d *copy, struct aw_stream *stream)
{
    fake.copies++;
    return enqueue(stream, (struct op){ .kind = OP_COPY3D, .copy = *copy });
}

static int f_fill(int dev, void *dst, uint32_t value, unsigned element, size_t count, struct aw_stream *stream)
{
    fake.fills++;
    return enqueue(stream,
                   (struct op){ .kind = OP_FILL, .copy = { .dst = dst }, .value = value, .element = element, .count = count });
}

static int f_copy_peer(int dst_dev, void *dst, int src_dev, const void *src, size_t size, struct aw_stream *stream)
{
    return f_copy(dst_dev, dst, src, size, AW_COPY_D2D, stream);
}

static int f_peer_access(int dev, int peer, bool *ret_can)
{
    (void)dev;
    (void)peer;
    *ret_can = fake.peers;
    return AW_OK;
}

static int f_peer_enable(int dev, int peer, bool on)
{
    uint64_t bit = (uint64_t)1 << (8 * dev + peer);
    fake.peers_on = on ? fake.peers_on | bit : fake.peers_on & ~bit;
    return AW_OK;
}

/* ---- Code: an object is the shape of blocks it is for, and the name of its kernel. */

struct aw_object {
    unsigned block[3];
    char name[64];
    bool quick;
};

static int f_load(int dev, const void *bytes, size_t size, struct aw_object **ret)
{
    struct aw_object *object = calloc(1, sizeof *object);
    (void)size; /* it is text */
    if (sscanf(bytes, "%u,%u,%u %63s", &object->block[0], &object->block[1], &object->block[2], object->name) != 4) {
        free(object);
        return AW_ERR_INVALID_IMAGE;
    }
    object->quick = strstr(bytes, " quick");
    fake.objects++;
    *ret = object;
    return AW_OK;
}

static int f_unload(struct aw_object *object)
{
    fake.objects--;
    free(object);
    return AW_OK;
}

static int f_function(struct aw_object *object, const char *name, struct aw_function **ret)
{
    if (strcmp(object->name, name))
        return AW_ERR_NOT_FOUND;
    *ret = (struct aw_function *)object;
    return AW_OK;
}

static int f_function_attr(struct aw_function *function, enum aw_function_attr attr, int *ret)
{
    *ret = attr == AW_FN_MAX_THREADS ? 512 : attr == AW_FN_REGS ? 24 : attr == AW_FN_LOCAL_BYTES ? 8 : 0;
    return AW_OK;
}

static int f_occupancy(struct aw_function *function, int threads, size_t shared, int *ret)
{
    *ret = 2048 / threads;
    return AW_OK;
}

static int f_launch(int dev, struct aw_function *function, const struct aw_launch *launch, struct aw_stream *stream)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    fake.launches++;
    fake.launch = *launch;
    memcpy(fake.code_block, ((struct aw_object *)(void *)function)->block, sizeof fake.code_block);
    fake.code_quick = ((struct aw_object *)(void *)function)->quick;
    fake.launch_stream = stream;
    memcpy(fake.kernarg, launch->kernarg,
           launch->kernarg_size < sizeof fake.kernarg ? launch->kernarg_size : sizeof fake.kernarg);
    pthread_mutex_unlock(&lock);
    return fake.fault;
}

static void f_replace(struct aw_function *function, struct aw_function *by)
{
    (void)function;
    (void)by;
    __atomic_add_fetch(&fake.replaced, 1, __ATOMIC_RELAXED);
}

static int f_set_shared(struct aw_function *function, size_t dynamic_shared)
{
    fake.shared_sets++;
    return AW_OK;
}

const struct aw_provider fake_provider = {
    .name = "fake", .row = 32, .function_set_shared = f_set_shared, .open = f_open, .device_count = f_count,
    .device_name = f_name, .device_target = f_target,
    .device_attr = f_attr, .device_uuid = f_uuid, .device_memory = f_memory, .code_object_version = f_cov,
    .device_sync = f_sync, .device_fault = f_fault, .device_reset = f_reset, .mem_alloc = f_alloc, .mem_free = f_free,
    .host_alloc = f_host_alloc, .host_free = f_host_free, .host_register = f_register, .host_unregister = f_unregister,
    .managed_alloc = f_alloc, .copy = f_copy, .copy3d = f_copy3d, .fill = f_fill, .copy_peer = f_copy_peer,
    .peer_access = f_peer_access, .peer_enable = f_peer_enable,
    .stream_create = f_stream_create, .stream_destroy = f_stream_destroy, .stream_query = f_stream_query,
    .stream_sync = f_stream_sync, .stream_wait = f_stream_wait, .stream_callback = f_stream_callback,
    .event_create = f_event_create, .event_destroy = f_event_destroy, .event_record = f_event_record,
    .event_query = f_event_query, .event_sync = f_event_sync, .event_elapsed = f_event_elapsed, .object_load = f_load,
    .object_unload = f_unload, .object_function = f_function, .function_attr = f_function_attr, .occupancy = f_occupancy,
    .launch = f_launch,
    .function_replace = f_replace,
};

/* Stand-ins for the two real ones: host never opens here, hip does not exist. */
static int absent_open(const char **ret_why)
{
    *ret_why = "not in this test";
    return AW_ERR_FILE_NOT_FOUND;
}
const struct aw_provider aw_provider_host = { .name = "host", .open = absent_open };
const struct aw_provider aw_provider_hip = { .name = "hip", .open = absent_open };

/* ---- The compiler: one manifest, whatever the text.
 *
 * Kernels: add (u64, u32; 12 bytes), big (4 bytes and 5000 bytes), bounded (max 64 threads, 1000 bytes of shared memory),
 * broken (cannot be compiled).  Variables: answer (constant, 42), far (beyond the image), link (address of answer + 1, halved by
 * a mask of one bit), shared_by_all (managed, 8 bytes, 7, aligned to 32: its initial bytes are at 32). */

struct aw_jit_module {
    struct aw_manifest manifest;
    struct aw_manifest_kernel kernels[4];
    struct aw_manifest_param params[4];
    struct aw_manifest_var vars[4];
    struct aw_manifest_reloc relocs[1];
    char image[64];
    char strings[64];
};

enum aw_status aw_jit_open(const struct aw_text texts[], size_t n, struct aw_jit_module **ret_module, char **ret_diags)
{
    fake.opens++;
    fake.texts = (int)n;
    for (size_t i = 0; i < n; i++) {
        if (strstr(texts[i].ptr, "SYNTAX")) {
            *ret_diags = strdup("x.ptx:3:1: error: not an instruction\n");
            return AW_ERR_INVALID_PTX;
        }
    }
    struct aw_jit_module *m = calloc(1, sizeof *m);
    static const char names[] = "add\0big\0bounded\0broken\0answer\0far\0link\0shared_by_all";
    memcpy(m->strings, names, sizeof names);
    m->manifest = (struct aw_manifest){
        .magic = AW_MANIFEST_MAGIC, .abi = AW_COMPILER_ABI, .size = sizeof *m, .sm = 75,
        .kernels = offsetof(struct aw_jit_module, kernels), .n_kernels = 4,
        .params = offsetof(struct aw_jit_module, params), .n_params = 4,
        .vars = offsetof(struct aw_jit_module, vars), .n_vars = 4,
        .relocs = offsetof(struct aw_jit_module, relocs), .n_relocs = 1,
        .image = offsetof(struct aw_jit_module, image), .image_size = 40, .arena_size = 4096,
        .strings = offsetof(struct aw_jit_module, strings), .strings_size = sizeof names,
    };
    m->kernels[0] = (struct aw_manifest_kernel){ .name = 0, .n_params = 2, .param_size = 12 };
    m->kernels[1] = (struct aw_manifest_kernel){ .name = 4, .first_param = 2, .n_params = 2, .param_size = 5004 };
    m->kernels[2] = (struct aw_manifest_kernel){ .name = 8, .max_ntid = { 64, 1, 1 }, .static_shared = 1000 };
    m->kernels[3] = (struct aw_manifest_kernel){ .name = 16 };
    m->params[0] = (struct aw_manifest_param){ 0, 8, 8 };
    m->params[1] = (struct aw_manifest_param){ 8, 4, 4 };
    m->params[2] = (struct aw_manifest_param){ 0, 4, 4 };
    m->params[3] = (struct aw_manifest_param){ 4, 5000, 4 };
    m->vars[0] = (struct aw_manifest_var){ .name = 23, .space = AW_VAR_CONST, .offset = 0, .size = 4 };
    m->vars[1] = (struct aw_manifest_var){ .name = 30, .offset = 1024, .size = 2048 };
    m->vars[2] = (struct aw_manifest_var){ .name = 34, .offset = 8, .size = 8 };
    m->vars[3] = (struct aw_manifest_var){ .name = 39, .space = AW_VAR_MANAGED, .offset = 16, .size = 8, .align = 32 };
    m->relocs[0] = (struct aw_manifest_reloc){ .at = 8, .addend = 2, .size = 8, .mask_shift = 1 };
    m->image[0] = 42;
    m->image[32] = 7;
    *ret_module = m;
    return AW_OK;
}

void aw_jit_close(struct aw_jit_module *module)
{
    free(module);
}

const struct aw_manifest *aw_jit_manifest(const struct aw_jit_module *module)
{
    return &module->manifest;
}

enum aw_status aw_jit_compile(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options,
                              char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    const char *name = module->strings + module->kernels[kernel].name;
    bool quick = strstr(options->target, ",+quick");
    __atomic_add_fetch(&fake.compiles, 1, __ATOMIC_RELAXED);
    if (!quick)
        usleep(fake.good_ms * 1000);
    if (quick && fake.quick_status)
        return (enum aw_status)fake.quick_status;
    if (!quick && fake.good_status) {
        *ret_diags = strdup("the compiler process was ended\n");
        return (enum aw_status)fake.good_status;
    }
    fake.opt_level = options->opt_level;
    memcpy(fake.block, options->block, sizeof fake.block);
    if (strcmp(name, "broken") == 0) {
        *ret_diags = strdup("x.ptx:9:5: error: instruction is not implemented\n");
        return (enum aw_status)fake.compile_status;
    }
    char text[128];
    size_t size = (size_t)snprintf(text, sizeof text, "%u,%u,%u %s%s", options->block[0], options->block[1], options->block[2],
                                   name, quick ? " quick" : "") +
                  1;
    *ret_size = size > fake.code_size ? size : fake.code_size;
    *ret_bytes = calloc(1, *ret_size);
    memcpy(*ret_bytes, text, size);
    return AW_OK;
}

bool aw_jit_find(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options, char **ret_bytes,
                 size_t *ret_size)
{
    return false;
}

void aw_jit_in_background(void)
{
}

unsigned aw_jit_pool_most(void)
{
    return 2;
}

void aw_jit_leave(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options)
{
    (void)options;
    snprintf(fake.left, sizeof fake.left, "%s", module->strings + module->kernels[kernel].name);
}

void aw_jit_shutdown(void)
{
}
