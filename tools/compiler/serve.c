/* Serving compile requests: reads a request, calls the compiler, writes the answer; keeps the modules used last.  One
 * thread, one request at a time.  What becomes of a crash is main.c's affair, and the client's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <anywarp/compiler.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "base/env.h"
#include "cache/cache.h"
#include "core/jit_protocol.h"

/* A program with more modules than this in turn pays for parsing again; parsed modules are large. */
#define KEPT_MODULES 16

struct kept_module {
    uint64_t hash[2];
    struct aw_compiler_module *module; /* NULL = free slot */
    uint64_t used;
};

struct server {
    int socket;
    int left;      /* a file of requests for when the client has gone; -1: none */
    bool leaving;  /* it is what `socket` is */
    uint64_t clock;
    struct kept_module kept[KEPT_MODULES];
};

static bool broken(const char *what)
{
    aw_tell("anywarp-compiler", SERVE_PROTOCOL, what);
    return false;
}

/* ---- Kept modules ---- */

static struct aw_compiler_module *find_module(struct server *server, const uint64_t hash[2])
{
    for (int i = 0; i < KEPT_MODULES; i++) {
        struct kept_module *kept = &server->kept[i];
        if (kept->module && memcmp(kept->hash, hash, sizeof kept->hash) == 0) {
            kept->used = ++server->clock;
            return kept->module;
        }
    }
    return NULL;
}

/* Takes the module over; the one unused for longest goes. */
static void keep_module(struct server *server, const uint64_t hash[2], struct aw_compiler_module *module)
{
    struct kept_module *slot = &server->kept[0];
    for (int i = 0; i < KEPT_MODULES; i++) {
        struct kept_module *kept = &server->kept[i];
        if (kept->module && memcmp(kept->hash, hash, sizeof kept->hash) == 0) {
            slot = kept;
            break;
        }
        if (!kept->module || (slot->module && kept->used < slot->used))
            slot = kept;
    }
    aw_compiler_close(slot->module);
    memcpy(slot->hash, hash, sizeof slot->hash);
    slot->module = module;
    slot->used = ++server->clock;
}

/* ---- Answers ---- */

/* `diags` may be NULL.  What exceeds the client's limits is an error rather than a broken stream. */
static bool answer(struct server *server, uint32_t op, int status, uint32_t flags, const void *bytes, size_t size,
                   const char *diags)
{
    size_t diags_size = diags ? strlen(diags) : 0;
    if (diags_size > AW_JIT_MAX_DIAGS)
        diags_size = AW_JIT_MAX_DIAGS;
    if (size > AW_JIT_MAX_RESULT) {
        status = AW_ERR_OUT_OF_MEMORY;
        size = 0;
    }
    struct aw_jit_reply reply = { AW_JIT_MAGIC, op, (uint32_t)status, flags, size, diags_size };
    if (server->leaving)
        return true;
    return aw_fd_write_all(server->socket, &reply, sizeof reply) && aw_fd_write_all(server->socket, bytes, size) &&
           aw_fd_write_all(server->socket, diags, diags_size);
}

/* ---- Requests ---- */

/* A request's bytes, taken from the front. */
struct cursor {
    const char *at;
    uint64_t left;
};

static const char *take(struct cursor *cursor, uint64_t size)
{
    if (size > cursor->left)
        return NULL;
    const char *at = cursor->at;
    cursor->at += size;
    cursor->left -= size;
    return at;
}

/* Names get their NUL in `names`, which has room for all bytes of the request. */
static bool take_texts(struct cursor *cursor, uint32_t n, struct aw_text *texts, char *names)
{
    for (uint32_t i = 0; i < n; i++) {
        struct aw_jit_text head;
        const char *bytes = take(cursor, sizeof head);
        if (!bytes)
            return false;
        memcpy(&head, bytes, sizeof head);
        const char *name = take(cursor, head.name_len);
        const char *text = name ? take(cursor, head.len) : NULL;
        if (!text)
            return false;
        memcpy(names, name, head.name_len);
        names[head.name_len] = '\0';
        texts[i] = (struct aw_text){ text, head.len, head.name_len ? names : NULL };
        names += head.name_len + 1;
    }
    return cursor->left == 0;
}

/* What ANYWARP_PASSES asks of passes, for who hunts a fault of the compiler.  False: it is not understood; *diags says why. */
static bool passes_ask(struct aw_compiler_module *module, char **diags)
{
    char *said = NULL;
    const char *words = aw_env("ANYWARP_PASSES");
    if (!words || !*words)
        return true;
    bool ok = aw_compiler_passes(module, words, &said) == AW_OK;
    if (!ok) {
        free(*diags);
        *diags = said;
        said = NULL;
    }
    free(said);
    return ok;
}

static bool serve_open(struct server *server, const struct aw_jit_request *request, const char *bytes)
{
    if (request->n_texts == 0 || request->n_texts > AW_JIT_MAX_TEXTS ||
        request->size / sizeof(struct aw_jit_text) < request->n_texts)
        return broken("number of texts");
    /* each head is longer than its name's NUL, so names fit where heads and names stood */
    struct aw_text *texts = calloc(request->n_texts, sizeof *texts);
    char *names = malloc(request->size + 1);
    if (!texts || !names) {
        free(texts);
        free(names);
        return answer(server, request->op, AW_ERR_OUT_OF_MEMORY, 0, NULL, 0, NULL);
    }
    struct cursor cursor = { bytes, request->size };
    bool ok = take_texts(&cursor, request->n_texts, texts, names);
    if (!ok) {
        broken("lengths of texts");
    } else {
        struct aw_compiler_module *module = NULL;
        char *diags = NULL;
        int status = aw_compiler_open(texts, request->n_texts, &module, &diags);
        if (status == AW_OK && !passes_ask(module, &diags))
            status = AW_ERR_INVALID_VALUE;
        const struct aw_manifest *manifest = status == AW_OK ? aw_compiler_manifest(module) : NULL;
        if (module && status == AW_OK)
            keep_module(server, request->module, module);
        ok = answer(server, request->op, status, 0, manifest, manifest ? manifest->size : 0, diags);
        free(diags);
    }
    free(texts);
    free(names);
    return ok;
}

/* ---- What is made for the cache though the client goes away */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool gone;                                   /* nobody is there to take it */
    enum { READING, SERVING, KEEPING } doing;    /* what is served ends with the client, what is kept does not */
} rest = { .lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER };

static void rest_begin(const struct aw_jit_options *head)
{
    pthread_mutex_lock(&rest.lock);
    rest.doing = head->keep ? KEEPING : SERVING;
    pthread_mutex_unlock(&rest.lock);
}

static void rest_end(const struct server *server, const struct aw_jit_options *head, const char *object, size_t size)
{
    const struct aw_hash128 key = { .lo = head->key[0], .hi = head->key[1] };
    pthread_mutex_lock(&rest.lock);
    if (rest.doing == KEEPING && (rest.gone || server->leaving) && object)
        aw_cache_store(aw_cache_default(), AW_CACHE_OBJECT, key, object, size);
    if (!server->leaving)
        rest.doing = READING;
    pthread_cond_signal(&rest.done);
    pthread_mutex_unlock(&rest.lock);
}

static time_t seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec;
}

/* Has another program made it meanwhile? */
static bool is_made(const struct aw_jit_options *head)
{
    const struct aw_hash128 key = { .lo = head->key[0], .hi = head->key[1] };
    char *bytes;
    size_t size;
    bool made = aw_cache_load(aw_cache_default(), AW_CACHE_OBJECT, key, &bytes, &size);
    if (made)
        free(bytes);
    return made;
}

/* The lock is held.  The end of the socket is read at once, unless a child of the client's still has the other one. */
static bool rests(time_t since)
{
    return rest.doing == KEEPING || (rest.doing == READING && seconds_of(CLOCK_MONOTONIC) - since < 2);
}

void aw_compiler_serve_rest(unsigned seconds)
{
    time_t used = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begin = seconds_of(CLOCK_MONOTONIC);
    pthread_mutex_lock(&rest.lock);
    rest.gone = true;
    if (rest.doing != SERVING)
        (void)!nice(10);
    while (rests(begin) && seconds_of(CLOCK_PROCESS_CPUTIME_ID) - used < (time_t)seconds &&
           seconds_of(CLOCK_MONOTONIC) - begin < (time_t)seconds * 10) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&rest.done, &rest.lock, &until);
    }
    pthread_mutex_unlock(&rest.lock);
}

static bool serve_compile(struct server *server, const struct aw_jit_request *request, const char *bytes)
{
    struct cursor cursor = { bytes, request->size };
    struct aw_jit_options head;
    const char *at = take(&cursor, sizeof head);
    if (!at)
        return broken("options");
    memcpy(&head, at, sizeof head);
    const char *target = take(&cursor, head.target_len);
    const char *kernel = target ? take(&cursor, head.kernel_len) : NULL;
    if (!kernel || cursor.left != 0)
        return broken("lengths of names");
    if (server->leaving && is_made(&head))
        return true;
    struct aw_compiler_module *module = find_module(server, request->module);
    if (!module)
        return answer(server, request->op, AW_ERR_NOT_FOUND, AW_JIT_UNKNOWN_MODULE, NULL, 0, NULL);

    char *target_z = strndup(target, head.target_len), *kernel_z = strndup(kernel, head.kernel_len);
    char *object = NULL, *diags = NULL;
    size_t size = 0;
    int status = AW_ERR_OUT_OF_MEMORY;
    if (target_z && kernel_z) {
        struct aw_compile_options options = {
            .target = target_z,
            .opt_level = head.opt_level,
            .code_object_version = head.code_object_version,
            .block = { head.block[0], head.block[1], head.block[2] },
            .warps_per_vector = head.warps_per_vector,
            .lines = head.lines,
        };
        memcpy(options.reserved, head.more, sizeof options.reserved);
        struct aw_kernel_info info;
        rest_begin(&head);
        status = aw_compiler_compile(module, kernel_z, &options, AW_EMIT_CODE_OBJECT, &object, &size, &info, &diags);
        rest_end(server, &head, status == AW_OK ? object : NULL, size);
    }
    bool ok = answer(server, request->op, status, 0, object, status == AW_OK ? size : 0, diags);
    free(target_z);
    free(kernel_z);
    if (status == AW_OK)
        free(object);
    free(diags);
    return ok;
}

static bool serve_request(struct server *server, const struct aw_jit_request *request)
{
    if (request->magic != AW_JIT_MAGIC)
        return broken("magic");
    if (request->size > AW_JIT_MAX_REQUEST)
        return broken("size");
    char *bytes = malloc(request->size + 1);
    if (!bytes) {
        aw_tell("anywarp-compiler", SERVE_MEMORY, (unsigned long long)request->size);
        return false;
    }
    bool ok = aw_fd_read_all(server->socket, bytes, request->size);
    if (ok && request->op == AW_JIT_OPEN)
        ok = serve_open(server, request, bytes);
    else if (ok && request->op == AW_JIT_COMPILE)
        ok = serve_compile(server, request, bytes);
    else if (ok && (request->op != AW_JIT_LEAVE || server->left < 0 || server->leaving))
        ok = broken("operation");
    free(bytes);
    return ok;
}

/* True when a request's head was read; false at the end, *ret_clean tells whether between two requests. */
static bool read_request(struct server *server, struct aw_jit_request *ret_request, bool *ret_clean)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    struct iovec part = { ret_request, sizeof *ret_request };
    struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
    ssize_t n = recvmsg(server->socket, &msg, MSG_WAITALL | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *sent = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
    if (sent && sent->cmsg_type == SCM_RIGHTS && sent->cmsg_len == CMSG_LEN(sizeof(int)) && server->left < 0)
        memcpy(&server->left, CMSG_DATA(sent), sizeof(int));
    *ret_clean = n == 0;
    return n == (ssize_t)sizeof *ret_request;
}

/* Does what the client has left, from the file's beginning. */
static void serve_left(struct server *server)
{
    struct aw_jit_request request;
    pthread_mutex_lock(&rest.lock);
    rest.doing = KEEPING;
    pthread_mutex_unlock(&rest.lock);
    server->leaving = true;
    server->socket = server->left;
    if (lseek(server->left, 0, SEEK_SET) == 0)
        while (aw_fd_read_all(server->left, &request, sizeof request) && serve_request(server, &request))
            ;
    close(server->left);
}

int aw_compiler_serve(int socket)
{
    struct server server = { .socket = socket, .left = -1 };
    struct aw_jit_hello hello = { AW_JIT_MAGIC, AW_JIT_PROTOCOL, AW_COMPILER_ABI, 0 };
    struct aw_jit_request request;
    bool ok = aw_fd_write_all(socket, &hello, sizeof hello), clean = false;
    while (ok && read_request(&server, &request, &clean))
        ok = serve_request(&server, &request);
    if (!ok) /* nobody takes an answer: something may have been left for all that */
        while (server.left < 0 && read_request(&server, &request, &clean) && request.op == AW_JIT_LEAVE)
            ;
    if (server.left >= 0)
        serve_left(&server);
    for (int i = 0; i < KEPT_MODULES; i++)
        aw_compiler_close(server.kept[i].module);
    return ok && clean ? 0 : 1;
}
