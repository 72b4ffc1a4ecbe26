/* Kernels that kernels start (CUDA's dynamic parallelism).  A grid leaves records of what it starts in a buffer of its module
 * (include/anywarp/started.h); when it has ended, a thread of ours launches them, one after another and each with all that it
 * starts in turn, while the program's stream waits.  Grids of one module that may start kernels run one after another, as they
 * share the buffer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/started.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/recorder.h"
#include "core/stream.h"

#define AW_ROOM "core"

enum { LIMIT_PENDING = 4 /* CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT */, PENDING_LEAST = 16384, PARAMS_MAX = 32764 };

struct start {                   /* a grid that may start kernels, launched by the program */
    struct start *next;
    struct aw_event *ended;      /* provider's, owned */
};

struct starts {
    struct aw_starts head;
    struct aw_module *module;
    struct aw_cstream stream;    /* where started kernels run */
    uintptr_t words, records;    /* device addresses: struct aw_starts_words, and the buffer */
    size_t capacity;             /* bytes */
    uint64_t *gate;              /* pinned: how many of the program's launches have been seen to; streams wait for it */
    pthread_mutex_t launching;   /* held while one is given to its stream */
    uint64_t runs;               /* how many there were, under that lock */
    pthread_t thread;
    pthread_mutex_t lock;        /* over what follows */
    pthread_cond_t more;
    struct start *first, **last;
    bool ends;
};

/* A grid to be run: a record, and how many grids it is below the program's. */
struct pending {
    uint32_t depth;
    struct aw_started record;    /* and its parameters */
};
struct pending_list {
    AW_VEC(struct pending *) stack; /* the last one is next */
    bool touched;                   /* the words are not as the program's next grid is to find them */
};

/* ---- One record. */

static struct aw_func *started_func(struct aw_module *module, uint64_t address)
{
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(module->manifest);
    uint32_t id = (uint32_t)address >> 4;
    struct aw_func *func = NULL;
    for (uint32_t i = 0; i < module->manifest->n_kernels && id; i++)
        if (kernels[i].address_id == id)
            return aw_module_function_at(module, i, &func) == AW_OK ? func : NULL;
    return NULL;
}

/* As a grid finds them. */
static enum aw_status words_write(struct starts *s, uint32_t depth)
{
    struct aw_starts_words words = { s->records, s->capacity, 0, 0, depth };
    return aw_mem_copy(s->module->ctx, (void *)s->words, &words, sizeof words, AW_COPY_H2D, &s->stream, false);
}

static enum aw_status run_kernel(struct starts *s, struct pending *p)
{
    struct aw_func *func = started_func(s->module, p->record.kernel);
    size_t size = p->record.size - sizeof p->record;
    void *extra[] = { (void *)1, p->record.params, (void *)2, &size, NULL }; /* CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END */
    struct aw_launch_args args = { .shared_bytes = p->record.shared, .extra = extra };
    memcpy(args.grid, p->record.grid, sizeof args.grid);
    memcpy(args.block, p->record.block, sizeof args.block);
    enum aw_status status = func ? AW_OK : AW_ERR_INVALID_HANDLE;
    if (status == AW_OK)
        status = words_write(s, p->depth);
    if (status == AW_OK)
        status = aw_launch_alone(func, &args, &s->stream);
    if (status)
        aw_say(KERNEL_STARTED, func ? func->name : "(no kernel of its module)", aw_status_text(status));
    return status;
}

/* Launched, and ended.  A program may have written over the records. */
static enum aw_status run_record(struct starts *s, struct pending *p)
{
    struct aw_ctx *ctx = s->module->ctx;
    const uint64_t *params = p->record.params;
    enum aw_status status = AW_OK;
    if (p->record.kind != AW_STARTED_KERNEL && p->record.size < sizeof p->record + 3 * sizeof *params)
        return AW_ERR_LAUNCH_FAILED;
    switch ((enum aw_started_kind)p->record.kind) {
    case AW_STARTED_KERNEL:
        status = run_kernel(s, p);
        break;
    case AW_STARTED_COPY:
        status = aw_mem_copy(ctx, (void *)params[0], (const void *)params[1], params[2], AW_COPY_DEFAULT, &s->stream, true);
        break;
    case AW_STARTED_FILL:
        status = aw_mem_fill(ctx, params[0], (uint8_t)params[1], 1, params[2], &s->stream, true);
        break;
    default:
        status = AW_ERR_LAUNCH_FAILED;
    }
    enum aw_status ended = aw_stream_sync(&s->stream);
    return status ? status : ended;
}

/* ---- What a grid has left. */

/* Puts the records of one kind on the list, so that the first is next. */
static bool list_add(struct pending_list *list, const char *bytes, size_t used, bool tail, uint32_t depth)
{
    size_t first = list->stack.n;
    struct aw_started head;
    for (size_t at = 0; at + sizeof head <= used; at += head.size) {
        memcpy(&head, bytes + at, sizeof head);
        if (head.size < sizeof head || head.size > used - at) /* one that did not fit */
            break;
        if (!head.launched || (head.stream == AW_STARTED_TAIL) != tail)
            continue;
        struct pending *p = malloc(offsetof(struct pending, record) + head.size);
        if (!p || !aw_vec_push(&list->stack, p)) {
            free(p);
            return false;
        }
        p->depth = depth;
        memcpy(&p->record, bytes + at, head.size);
    }
    for (size_t i = first, j = list->stack.n; i + 1 < j; i++, j--) {
        struct pending *p = list->stack.at[i];
        list->stack.at[i] = list->stack.at[j - 1];
        list->stack.at[j - 1] = p;
    }
    return true;
}

/* Takes what the grid that has just ended has started, and clears the buffer.  What it starts as a tail comes after all else with
 * all that that starts, and is no deeper than itself. */
static enum aw_status take(struct starts *s, uint32_t depth, struct pending_list *list)
{
    struct aw_ctx *ctx = s->module->ctx;
    struct aw_starts_words words;
    enum aw_status status = aw_mem_copy(ctx, &words, (const void *)s->words, sizeof words, AW_COPY_D2H, &s->stream, false);
    if (status)
        return status;
    list->touched |= words.used || words.error || words.depth;
    if (!words.used)
        return AW_OK;
    size_t used = words.used < s->capacity ? words.used : s->capacity;
    if (words.used > s->capacity)
        aw_say(STARTED_TOO_MANY, s->capacity);
    char *bytes = malloc(used);
    status = bytes ? aw_mem_copy(ctx, bytes, (const void *)s->records, used, AW_COPY_D2H, &s->stream, false)
                   : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        status = aw_mem_fill(ctx, s->records, 0, 1, used, &s->stream, false);
    if (status == AW_OK && (!list_add(list, bytes, used, true, depth) || !list_add(list, bytes, used, false, depth + 1)))
        status = AW_ERR_OUT_OF_MEMORY;
    free(bytes);
    return status;
}

/* All that the program's grid has started.  A failure is the device's, as nobody else can hear of it. */
static void run_all(struct starts *s)
{
    struct pending_list list = { 0 };
    enum aw_status status = take(s, 0, &list);
    while (status == AW_OK && list.stack.n) {
        struct pending *p = list.stack.at[--list.stack.n];
        status = run_record(s, p);
        if (status == AW_OK && p->record.kind == AW_STARTED_KERNEL)
            status = take(s, p->depth, &list);
        free(p);
    }
    if (status == AW_OK && list.touched)
        status = words_write(s, 0);
    if (status)
        aw_device_note(s->module->ctx->device, aw_status_is_sticky(status) ? status : AW_ERR_LAUNCH_FAILED);
    while (list.stack.n)
        free(list.stack.at[--list.stack.n]);
    aw_vec_fini(&list.stack);
}

/* ---- The thread. */

static struct start *next_start(struct starts *s)
{
    pthread_mutex_lock(&s->lock);
    while (!s->first && !s->ends)
        pthread_cond_wait(&s->more, &s->lock);
    struct start *start = s->first;
    if (start && !(s->first = start->next))
        s->last = &s->first;
    pthread_mutex_unlock(&s->lock);
    return start;
}

static void *starts_main(void *user)
{
    struct starts *s = user;
    int dev = s->module->ctx->device->native;
    struct start *start;
    aw_capture_pause();
    for (uint64_t seen = 1; (start = next_start(s)); seen++) {
        if (aw_provider->event_sync(start->ended) == AW_OK)
            run_all(s);
        aw_provider->event_destroy(start->ended);
        free(start);
        if (aw_provider->stream_write_value(dev, s->stream.native, s->gate, seen, sizeof *s->gate) != AW_OK)
            __atomic_store_n(s->gate, seen, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* ---- Making and ending. */

static void starts_free(struct starts *s)
{
    if (s->stream.native)
        aw_provider->stream_destroy(s->stream.native);
    if (s->gate)
        aw_provider->host_free(s->gate);
    aw_mem_module_free(s->records);
    pthread_mutex_destroy(&s->launching);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    free(s);
}

static void starts_destroy(struct aw_starts *head)
{
    struct starts *s = (struct starts *)head;
    pthread_mutex_lock(&s->lock);
    s->ends = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    starts_free(s);
}

/* Room for as many as the program asks for, and no fewer than the least, of the kernels' parameters at their largest. */
static size_t buffer_size(const struct aw_module *module)
{
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(module->manifest);
    size_t most = 24, count = 0;
    for (uint32_t i = 0; i < module->manifest->n_kernels; i++)
        if (kernels[i].address_id && kernels[i].param_size > most && kernels[i].param_size <= PARAMS_MAX)
            most = kernels[i].param_size;
    (void)aw_ctx_limit_get(module->ctx, LIMIT_PENDING, &count);
    count = count < PENDING_LEAST ? PENDING_LEAST : count < UINT32_MAX ? count : UINT32_MAX;
    return count * ((sizeof(struct aw_started) + most + 15) / 16 * 16);
}

static enum aw_status memory_make(struct starts *s)
{
    struct aw_ctx *ctx = s->module->ctx;
    int dev = ctx->device->native;
    void *gate = NULL;
    s->capacity = buffer_size(s->module);
    enum aw_status status = aw_module_global(s->module, AW_STARTS_SYMBOL, &s->words, NULL);
    if (status == AW_OK)
        status = aw_mem_module_alloc(ctx, s->capacity, false, &s->records);
    if (status == AW_OK)
        status = aw_device_note(ctx->device, aw_provider->stream_create(dev, AW_STREAM_NON_BLOCKING, 0, &s->stream.native));
    if (status == AW_OK)
        status = aw_device_note(ctx->device,
                                aw_provider->host_alloc(dev, sizeof *s->gate, AW_HOST_PORTABLE | AW_HOST_MAPPED, &gate));
    if (status)
        return status;
    *(s->gate = gate) = 0;
    status = aw_mem_fill(ctx, s->records, 0, 1, s->capacity, &s->stream, false);
    if (status == AW_OK)
        status = words_write(s, 0);
    return status ? status : aw_stream_sync(&s->stream);
}

static enum aw_status starts_make(struct aw_module *module, struct starts **ret_starts)
{
    struct starts *s = calloc(1, sizeof *s);
    if (!s)
        return AW_ERR_OUT_OF_MEMORY;
    *s = (struct starts){ .head.destroy = starts_destroy,
                          .module = module,
                          .stream = { .ctx = module->ctx, .flags = AW_STREAM_NON_BLOCKING, .id = aw_next_id() },
                          .launching = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER,
                          .more = PTHREAD_COND_INITIALIZER };
    s->last = &s->first;
    aw_capture_pause();
    enum aw_status status = memory_make(s);
    aw_capture_resume();
    if (status == AW_OK && aw_thread_create(&s->thread, NULL, starts_main, s) != 0)
        status = AW_ERR_OS;
    if (status)
        starts_free(s);
    else
        *ret_starts = s;
    return status;
}

/* ---- Launching. */

/* Launched, and the stream waits for what it starts; then *ret_waits. */
static enum aw_status launch_behind(struct starts *s, struct aw_func *func, const struct aw_launch_args *args,
                                    struct aw_cstream *stream, const struct start *start, bool *ret_waits)
{
    struct aw_device *device = s->module->ctx->device;
    int dev = device->native;
    int status = AW_OK;
    if (__atomic_load_n(s->gate, __ATOMIC_ACQUIRE) != s->runs)
        status = aw_provider->stream_wait_value(dev, stream->native, s->gate, s->runs, sizeof *s->gate, AW_WAIT_GEQ, stream->ctx);
    if (status == AW_OK)
        status = aw_launch_alone(func, args, stream);
    if (status)
        return aw_device_note(device, status);
    status = aw_provider->event_record(dev, start->ended, stream->native);
    if (status == AW_OK)
        status = aw_provider->stream_wait_value(dev, stream->native, s->gate, s->runs + 1, sizeof *s->gate, AW_WAIT_GEQ,
                                                stream->ctx);
    *ret_waits = status == AW_OK;
    return aw_status_is_sticky(status) ? AW_OK : status; /* the kernel's own fault already: who waits for it hears of it */
}

/* One at a time. */
static enum aw_status launch_starting(struct starts *s, struct aw_func *func, const struct aw_launch_args *args,
                                      struct aw_cstream *stream)
{
    struct aw_device *device = s->module->ctx->device;
    struct start *start = calloc(1, sizeof *start);
    if (!start)
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = aw_device_note(device,
                                           aw_provider->event_create(device->native, AW_EVENT_NO_TIMING, &start->ended));
    bool waits = false;
    if (status == AW_OK)
        status = launch_behind(s, func, args, stream, start, &waits);
    if (!waits) {
        if (start->ended)
            aw_provider->event_destroy(start->ended);
        free(start);
        return status;
    }
    s->runs++;
    pthread_mutex_lock(&s->lock);
    *s->last = start;
    s->last = &start->next;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    return AW_OK;
}

static enum aw_status starts_of(struct aw_module *module, struct starts **ret_starts)
{
    struct starts *s = NULL;
    enum aw_status status = aw_module_arena(module);
    if (status)
        return status;
    pthread_mutex_lock(&module->lock);
    if (module->starts)
        s = (struct starts *)module->starts;
    else if ((status = starts_make(module, &s)) == AW_OK)
        module->starts = &s->head;
    pthread_mutex_unlock(&module->lock);
    *ret_starts = s;
    return status;
}

enum aw_status aw_launch_starting(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream)
{
    struct starts *s;
    if (!aw_provider->stream_wait_value || !aw_provider->stream_write_value)
        return AW_ERR_NOT_SUPPORTED;
    enum aw_status status = starts_of(func->module, &s);
    if (status)
        return status;
    pthread_mutex_lock(&s->launching);
    status = launch_starting(s, func, args, stream);
    pthread_mutex_unlock(&s->launching);
    return status;
}
