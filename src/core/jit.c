/* The client of the compiler process, as core sees it: modules and kernels, each from the cache or compiled.
 * Keys are made here, and so is the rule that equal work under way is done once. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cache/cache.h"
#include "compiler_digest.h"
#include "core/jit_pool.h"

#define AW_ROOM "jit"

enum { MOST_LEFT = 64, MOST_LEFT_BYTES = 256 << 20 }; /* kernels for after the end, and the texts that they are made of */

struct aw_jit_module {
    struct aw_hash128 hash; /* of the texts */
    struct aw_text *texts;  /* owned; ptr and name too */
    size_t n_texts;
    char *manifest; /* owned; checked */
};

/* What a piece of work yields.  `bytes` only when the status is AW_OK; both heap. */
struct result {
    enum aw_status status;
    char *bytes;
    size_t size;
    char *diags;
};

/* ---- Equal work is done once ---- */

struct flight {
    struct flight *next;
    enum aw_cache_kind kind;
    struct aw_hash128 key;
    struct result result; /* valid once done */
    bool done;
    unsigned users;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct flight *first;
} flights = { .lock = PTHREAD_MUTEX_INITIALIZER, .landed = PTHREAD_COND_INITIALIZER };

static void flights_before_fork(void)
{
    pthread_mutex_lock(&flights.lock);
}

static void flights_after_fork(void)
{
    pthread_mutex_unlock(&flights.lock);
}

/* Work of the parent's other threads will not land here. */
static void flights_in_child(void)
{
    flights.first = NULL;
    pthread_cond_init(&flights.landed, NULL);
    pthread_mutex_init(&flights.lock, NULL);
}

static void init_once(void)
{
    static const struct aw_jit_fork_hooks hooks = { flights_before_fork, flights_after_fork, flights_in_child };
    aw_jit_pool_at_fork(&hooks);
}

static void init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

/* A piece of work: where its result lies in the cache, how it is made, and what it must look like. */
struct work {
    enum aw_cache_kind kind;
    struct aw_hash128 key;
    bool cached; /* the key says everything, also beyond this machine */
    bool (*valid)(const void *bytes, size_t size);
    void (*make)(const struct work *work, struct result *ret_result);
    const struct aw_jit_module *module;
    const struct aw_manifest_kernel *kernel; /* NULL for a manifest */
    const struct aw_compile_options *options;
};

static void load_or_make(const struct work *work, struct result *ret)
{
    struct aw_cache *cache = aw_cache_default();
    *ret = (struct result){ .status = AW_OK };
    if (work->cached && aw_cache_load(cache, work->kind, work->key, &ret->bytes, &ret->size)) {
        if (!work->valid || work->valid(ret->bytes, ret->size))
            return;
        free(ret->bytes); /* sound by its hash, but not what we call a manifest: made again, and overwritten */
        ret->bytes = NULL;
    }
    work->make(work, ret);
    if (ret->status == AW_OK && work->cached)
        aw_cache_store(cache, work->kind, work->key, ret->bytes, ret->size);
}

static struct flight *find_flight(const struct work *work)
{
    for (struct flight *f = flights.first; f; f = f->next)
        if (f->kind == work->kind && aw_hash128_eq(f->key, work->key))
            return f;
    return NULL;
}

static void drop_flight(struct flight *flight)
{
    if (--flight->users > 0)
        return;
    free(flight->result.bytes);
    free(flight->result.diags);
    free(flight);
}

/* A copy for one user; the last takes the original. */
static struct result take_result(struct flight *flight)
{
    struct result r = flight->result;
    if (flight->users == 1) {
        flight->result.bytes = flight->result.diags = NULL;
        return r;
    }
    if (r.diags)
        r.diags = strdup(r.diags);
    if (r.bytes) {
        char *copy = malloc(r.size + 1);
        if (copy)
            memcpy(copy, r.bytes, r.size + 1);
        else
            r.status = AW_ERR_OUT_OF_MEMORY;
        r.bytes = copy;
    }
    return r;
}

static void unlink_flight(const struct flight *flight)
{
    struct flight **link = &flights.first;
    while (*link && *link != flight)
        link = &(*link)->next;
    if (*link)
        *link = flight->next;
}

static struct result do_work(const struct work *work)
{
    struct result r;
    pthread_mutex_lock(&flights.lock);
    struct flight *flight = find_flight(work);
    if (flight) {
        flight->users++;
        while (!flight->done)
            pthread_cond_wait(&flights.landed, &flights.lock);
    } else if ((flight = calloc(1, sizeof *flight))) {
        *flight = (struct flight){ .next = flights.first, .kind = work->kind, .key = work->key, .users = 1 };
        flights.first = flight;
        pthread_mutex_unlock(&flights.lock);
        load_or_make(work, &r);
        pthread_mutex_lock(&flights.lock);
        flight->result = r;
        flight->done = true;
        unlink_flight(flight);
        pthread_cond_broadcast(&flights.landed);
    } else {
        pthread_mutex_unlock(&flights.lock);
        return (struct result){ .status = AW_ERR_OUT_OF_MEMORY };
    }
    r = take_result(flight);
    drop_flight(flight);
    pthread_mutex_unlock(&flights.lock);
    return r;
}

/* ---- Requests ---- */

static _Thread_local bool background;

void aw_jit_in_background(void)
{
    background = true;
}

/* "kernel k (m.cu)", "m.cu", "m.cu and 3 more". */
static void describe_work(const struct work *work, char *ret_text, size_t size)
{
    const struct aw_jit_module *m = work->module;
    const char *file = m->texts[0].name ? m->texts[0].name : "<ptx>";
    char more[32] = "";
    if (m->n_texts > 1)
        snprintf(more, sizeof more, " and %zu more", m->n_texts - 1);
    if (!work->kernel) {
        snprintf(ret_text, size, "reading %s%s", file, more);
        return;
    }
    const struct aw_manifest *manifest = (const void *)m->manifest;
    snprintf(ret_text, size, "compiling kernel %s (%s%s)", m->manifest + manifest->strings + work->kernel->name, file, more);
}

/* One call; keeps the promise that *ret has no bytes unless all went well. */
static bool call(struct aw_jit_process *process, const struct work *work, const struct aw_jit_request *request,
                 struct iovec *parts, int n_parts, struct aw_jit_reply *ret_reply, struct result *ret)
{
    char what[512], *bytes = NULL, *diags = NULL, *why = NULL;
    describe_work(work, what, sizeof what);
    enum aw_status status =
        aw_jit_process_call(process, request, parts, n_parts, what, ret_reply, &bytes, &diags, &why);
    if (status != AW_OK) {
        *ret = (struct result){ .status = status, .diags = why };
        return false;
    }
    *ret = (struct result){ (enum aw_status)ret_reply->status, bytes, ret_reply->size, diags };
    if (ret->status != AW_OK) {
        free(ret->bytes);
        ret->bytes = NULL;
        ret->size = 0;
    }
    return true;
}

/* A module's texts as they are sent; `parts` has three for each, `heads` one. */
static struct aw_jit_request open_request(const struct aw_jit_module *m, struct iovec *parts, struct aw_jit_text *heads)
{
    struct aw_jit_request request = { AW_JIT_MAGIC, AW_JIT_OPEN, { m->hash.lo, m->hash.hi }, 0, (uint32_t)m->n_texts, 0 };
    for (size_t i = 0; i < m->n_texts; i++) {
        const struct aw_text *text = &m->texts[i];
        heads[i] = (struct aw_jit_text){ text->len, (uint32_t)(text->name ? strlen(text->name) : 0), 0 };
        parts[3 * i] = (struct iovec){ &heads[i], sizeof heads[i] };
        parts[3 * i + 1] = (struct iovec){ (char *)(uintptr_t)text->name, heads[i].name_len };
        parts[3 * i + 2] = (struct iovec){ (char *)(uintptr_t)text->ptr, text->len };
        request.size += sizeof heads[i] + heads[i].name_len + text->len;
    }
    return request;
}

/* Sends the texts; the answer is the manifest.  False when the process is of no more use. */
static bool call_open(struct aw_jit_process *process, const struct work *work, struct result *ret)
{
    const struct aw_jit_module *m = work->module;
    struct iovec *parts = calloc(m->n_texts, 3 * sizeof *parts);
    struct aw_jit_text *heads = calloc(m->n_texts, sizeof *heads);
    bool sound = true;
    if (!parts || !heads) {
        *ret = (struct result){ .status = AW_ERR_OUT_OF_MEMORY };
    } else {
        struct aw_jit_request request = open_request(m, parts, heads);
        struct aw_jit_reply reply;
        sound = call(process, work, &request, parts, (int)(3 * m->n_texts), &reply, ret);
        if (sound && ret->status == AW_OK)
            aw_jit_pool_note(process, m->hash);
    }
    free(parts);
    free(heads);
    return sound;
}

/* `parts` are three; what they name lives as long as the work and *ret_head.  `keep`: whoever has gone meanwhile. */
static struct aw_jit_request compile_request(const struct work *work, bool keep, struct aw_jit_options *ret_head,
                                             struct iovec *parts)
{
    const struct aw_jit_module *m = work->module;
    const struct aw_manifest *manifest = (const void *)m->manifest;
    const struct aw_compile_options *o = work->options;
    char *name = m->manifest + manifest->strings + work->kernel->name;
    *ret_head = (struct aw_jit_options){
        .target_len = (uint32_t)strlen(o->target),
        .kernel_len = (uint32_t)strlen(name),
        .opt_level = o->opt_level,
        .code_object_version = o->code_object_version,
        .block = { o->block[0], o->block[1], o->block[2] },
        .warps_per_vector = o->warps_per_vector,
        .lines = o->lines,
    };
    memcpy(ret_head->more, o->reserved, sizeof ret_head->more);
    if (keep) {
        ret_head->keep = 1;
        ret_head->key[0] = work->key.lo;
        ret_head->key[1] = work->key.hi;
    }
    parts[0] = (struct iovec){ ret_head, sizeof *ret_head };
    parts[1] = (struct iovec){ (char *)(uintptr_t)o->target, ret_head->target_len };
    parts[2] = (struct iovec){ name, ret_head->kernel_len };
    struct aw_jit_request request = { AW_JIT_MAGIC, AW_JIT_COMPILE, { m->hash.lo, m->hash.hi }, 0, 0, 0 };
    request.size = sizeof *ret_head + ret_head->target_len + ret_head->kernel_len;
    return request;
}

static bool call_compile(struct aw_jit_process *process, const struct work *work, struct result *ret, bool *ret_unknown)
{
    struct aw_jit_options head;
    struct iovec parts[3];
    bool keep = background && work->cached && aw_cache_stores(aw_cache_default());
    struct aw_jit_request request = compile_request(work, keep, &head, parts);
    aw_jit_pool_keep(process, head.keep);
    struct aw_jit_reply reply;
    bool sound = call(process, work, &request, parts, 3, &reply, ret);
    *ret_unknown = sound && ret->status != AW_OK && (reply.flags & AW_JIT_UNKNOWN_MODULE);
    return sound;
}

static void make_manifest(const struct work *work, struct result *ret)
{
    struct aw_jit_process *process;
    char *why = NULL;
    enum aw_status status = aw_jit_pool_take(work->module->hash, &process, &why);
    if (status != AW_OK) {
        *ret = (struct result){ .status = status, .diags = why };
        return;
    }
    aw_jit_pool_give(process, call_open(process, work, ret));
    if (ret->status == AW_OK && !aw_manifest_check(ret->bytes, ret->size)) {
        free(ret->bytes);
        free(ret->diags);
        *ret = (struct result){ .status = AW_ERR_OS, .diags = strdup("the compiler process made a broken manifest") };
    }
}

static void make_object(const struct work *work, struct result *ret)
{
    struct aw_jit_process *process;
    char *why = NULL;
    bool unknown;
    enum aw_status status = aw_jit_pool_take(work->module->hash, &process, &why);
    if (status != AW_OK) {
        *ret = (struct result){ .status = status, .diags = why };
        return;
    }
    bool sound = call_compile(process, work, ret, &unknown);
    if (unknown) {
        free(ret->diags);
        aw_jit_pool_keep(process, false); /* what is long to send is not to be broken into (aw_jit_process_leave) */
        struct result opened;
        sound = call_open(process, work, &opened);
        if (opened.status != AW_OK) {
            *ret = opened;
        } else {
            free(opened.bytes);
            free(opened.diags);
            sound = call_compile(process, work, ret, &unknown);
        }
    }
    aw_jit_pool_give(process, sound);
}

/* ---- Keys ---- */

static void add_u32(struct aw_hasher *h, uint32_t value)
{
    aw_hasher_add(h, &value, sizeof value);
}

static struct aw_hash128 manifest_key(const struct aw_text texts[], size_t n)
{
    struct aw_hasher h;
    aw_hasher_init(&h);
    aw_hasher_add(&h, AW_COMPILER_DIGEST, sizeof AW_COMPILER_DIGEST);
    add_u32(&h, AW_COMPILER_ABI);
    for (size_t i = 0; i < n; i++)
        aw_hasher_add(&h, texts[i].ptr, texts[i].len);
    return aw_hasher_end(&h);
}

/* Everything of the options by value: the struct holds a pointer, and padding may come. */
static struct aw_hash128 object_key(const struct aw_manifest_kernel *kernel, const struct aw_compile_options *o)
{
    struct aw_hasher h;
    aw_hasher_init(&h);
    aw_hasher_add(&h, AW_COMPILER_DIGEST, sizeof AW_COMPILER_DIGEST);
    add_u32(&h, AW_COMPILER_ABI);
    aw_hasher_add(&h, kernel->closure, sizeof kernel->closure);
    aw_hasher_add(&h, o->target, strlen(o->target));
    add_u32(&h, o->opt_level);
    add_u32(&h, o->code_object_version);
    aw_hasher_add(&h, o->block, sizeof o->block);
    add_u32(&h, o->warps_per_vector);
    add_u32(&h, o->lines);
    aw_hasher_add(&h, o->reserved, sizeof o->reserved);
    return aw_hasher_end(&h);
}

/* ---- What core calls ---- */

/* Hands the diagnostics over on failure; on success they are warnings, for the log. */
static enum aw_status finish(const struct result *r, char **ret_diags)
{
    if (r->status == AW_OK && r->diags && *r->diags)
        aw_say(COMPILER_WARNINGS, r->diags);
    if (r->status != AW_OK && ret_diags) {
        *ret_diags = r->diags;
        return r->status;
    }
    free(r->diags);
    if (ret_diags)
        *ret_diags = NULL;
    return r->status;
}

static bool copy_texts(struct aw_jit_module *module, const struct aw_text texts[], size_t n)
{
    module->texts = calloc(n, sizeof *module->texts);
    if (!module->texts)
        return false;
    module->n_texts = n;
    for (size_t i = 0; i < n; i++) {
        char *copy = malloc(texts[i].len + 1);
        char *name = texts[i].name ? strdup(texts[i].name) : NULL;
        module->texts[i] = (struct aw_text){ copy, texts[i].len, name };
        if (!copy || (texts[i].name && !name))
            return false;
        if (texts[i].len > 0)
            memcpy(copy, texts[i].ptr, texts[i].len);
        copy[texts[i].len] = '\0';
    }
    return true;
}

enum aw_status aw_jit_open(const struct aw_text texts[], size_t n, struct aw_jit_module **ret_module, char **ret_diags)
{
    if (ret_diags)
        *ret_diags = NULL;
    if (n == 0 || n > AW_JIT_MAX_TEXTS)
        return AW_ERR_INVALID_VALUE;
    init();
    struct aw_jit_module *module = calloc(1, sizeof *module);
    if (!module || !copy_texts(module, texts, n)) {
        aw_jit_close(module);
        return AW_ERR_OUT_OF_MEMORY;
    }
    module->hash = manifest_key(texts, n);
    struct work work = {
        .kind = AW_CACHE_MANIFEST,
        .key = module->hash,
        .cached = true,
        .valid = aw_manifest_check,
        .make = make_manifest,
        .module = module,
    };
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* locks are held and processes taken */
    struct result r = do_work(&work);
    pthread_setcancelstate(cancel, NULL);
    module->manifest = r.bytes;
    enum aw_status status = finish(&r, ret_diags);
    if (status == AW_OK)
        *ret_module = module;
    else
        aw_jit_close(module);
    return status;
}

void aw_jit_close(struct aw_jit_module *module)
{
    if (!module)
        return;
    for (size_t i = 0; i < module->n_texts; i++) {
        free((char *)(uintptr_t)module->texts[i].ptr);
        free((char *)(uintptr_t)module->texts[i].name);
    }
    free(module->texts);
    free(module->manifest);
    free(module);
}

const struct aw_manifest *aw_jit_manifest(const struct aw_jit_module *module)
{
    return (const void *)module->manifest;
}

/* "host" says nothing of the processor, and a home may be shared by several; lines of texts are in no key. */
static bool is_cached(const struct aw_compile_options *options)
{
    return strcmp(options->target, "host") != 0 && options->lines == AW_LINES_LOC;
}

static const struct aw_manifest_kernel *kernel_at(const struct aw_jit_module *module, uint32_t kernel)
{
    const struct aw_manifest *manifest = aw_jit_manifest(module);
    return (const struct aw_manifest_kernel *)(const void *)(module->manifest + manifest->kernels) + kernel;
}

bool aw_jit_find(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options, char **ret_bytes,
                 size_t *ret_size)
{
    return is_cached(options) && aw_cache_load(aw_cache_default(), AW_CACHE_OBJECT,
                                               object_key(kernel_at(module, kernel), options), ret_bytes, ret_size);
}

enum aw_status aw_jit_compile(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options,
                              char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    const struct aw_manifest *manifest = aw_jit_manifest(module);
    if (ret_diags)
        *ret_diags = NULL;
    if (kernel >= manifest->n_kernels || !options->target)
        return AW_ERR_INVALID_VALUE;
    const struct aw_manifest_kernel *k = kernel_at(module, kernel);
    struct work work = {
        .kind = AW_CACHE_OBJECT,
        .key = object_key(k, options),
        .cached = is_cached(options),
        .make = make_object,
        .module = module,
        .kernel = k,
        .options = options,
    };
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    struct result r = do_work(&work);
    pthread_setcancelstate(cancel, NULL);
    enum aw_status status = finish(&r, ret_diags);
    if (status == AW_OK) {
        *ret_bytes = r.bytes;
        *ret_size = r.size;
    }
    return status;
}

/* ---- What is left to be done after the end ---- */

static struct {
    int file;                            /* -1: none */
    unsigned n;
    const struct aw_jit_module *module;  /* whose texts were written last */
    bool failed;
} left = { .file = -1 };

static bool write_parts(const struct aw_jit_request *request, const struct iovec *parts, size_t n)
{
    bool ok = aw_fd_write_all(left.file, request, sizeof *request);
    for (size_t i = 0; ok && i < n; i++)
        ok = aw_fd_write_all(left.file, parts[i].iov_base, parts[i].iov_len);
    return ok;
}

static bool leave_module(const struct aw_jit_module *module)
{
    struct iovec *parts = calloc(module->n_texts, 3 * sizeof *parts);
    struct aw_jit_text *heads = calloc(module->n_texts, sizeof *heads);
    bool ok = parts && heads;
    if (ok) {
        struct aw_jit_request request = open_request(module, parts, heads);
        ok = write_parts(&request, parts, 3 * module->n_texts);
    }
    free(parts);
    free(heads);
    left.module = module;
    return ok;
}

void aw_jit_leave(struct aw_jit_module *module, uint32_t kernel, const struct aw_compile_options *options)
{
    const struct aw_manifest_kernel *k = kernel_at(module, kernel);
    struct work work = { .key = object_key(k, options), .module = module, .kernel = k, .options = options };
    struct aw_jit_options head;
    struct iovec parts[3];
    if (!is_cached(options) || !aw_cache_stores(aw_cache_default()) || left.failed || left.n++ >= MOST_LEFT)
        return;
    if (left.file >= 0 && lseek(left.file, 0, SEEK_CUR) > MOST_LEFT_BYTES)
        return;
    if (left.file < 0)
        left.file = memfd_create("anywarp-left", MFD_CLOEXEC);
    struct aw_jit_request request = compile_request(&work, true, &head, parts);
    left.failed = left.file < 0 || (module != left.module && !leave_module(module)) || !write_parts(&request, parts, 3);
}

void aw_jit_shutdown(void)
{
    aw_jit_pool_shutdown(left.failed ? -1 : left.file);
    if (left.file >= 0)
        close(left.file);
    left.file = -1;
}
