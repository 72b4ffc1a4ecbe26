/* A function's code: compiled and loaded when it is first needed, for the shapes of blocks that it is launched with.
 *
 * Code for one shape is faster to make and to run than code for any (docs/architecture.md, "Block shapes"), so the first few
 * shapes of a kernel get their own.  Later ones share what is for all whose rows are whole warps, or for any: a program that
 * tries every shape compiles a handful of times.  Questions that need code but name no shape take whatever there is.
 *
 * Code stays until its module goes, so that lists only grow and are read without a lock. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/calltrace.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "base/linetable.h"
#include "base/log.h"
#include "base/setting.h"
#include "core/module.h"
#include "core/tiers.h"

#define AW_ROOM "core"

enum {
    ATTEMPTS = 2,           /* how often a failure that may pass (a compiler that died, no memory) is tried again */
    SHAPES = 8,             /* how many shapes of a kernel get code of their own */
    SHAPES_LARGE = 2,       /* when an object of it is larger than that: it took long to make */
    LARGE_CODE = 64 * 1024, /* bytes */
};

/* ---- Making it. */

/* Compiles the kernel again, with a line table of everything: tables cost time and space that only a fault is worth.  They
 * change no code, but what is not the same code has no say here. */
static bool code_locate(void *user, const void *base, uint64_t offset, char *ret_text, size_t size)
{
    struct aw_code *code = user;
    struct aw_func *func = code->func;
    struct aw_place place;
    char *bytes = NULL;
    size_t length;
    bool found = aw_module_compile(func->module, func->index, code->block, AW_LINES_TOLD, code->tier, &bytes, &length,
                                   NULL) == AW_OK &&
                 (!base || aw_linetable_fits(bytes, length, base)) && aw_linetable_find(bytes, length, offset, &place);
    free(bytes);
    if (found)
        aw_place_text(&place, ret_text, size);
    return found;
}

static enum aw_status code_load(struct aw_code *code, const char *bytes, size_t size)
{
    struct aw_func *func = code->func;
    int status = aw_provider->object_load(func->module->ctx->device->native, bytes, size, &code->object);
    if (status) {
        code->object = NULL;
        return (enum aw_status)status;
    }
    code->size = size;
    if (aw_provider->object_locator)
        (void)aw_provider->object_locator(code->object, code_locate, code);
    status = aw_provider->object_function(code->object, func->name, &code->function);
    for (int i = 0; status == AW_OK && i < AW_FN_COUNT_; i++)
        if (aw_provider->function_attr(code->function, (enum aw_function_attr)i, &code->attr[i]))
            code->attr[i] = 0;
    return (enum aw_status)status;
}

/* ANYWARP_RECORD: a file to which each kernel and shape that code is made ready for is appended, for `anywarp precompile
 * --list`. */
static void code_record(const struct aw_code *code)
{
    const char *path = aw_env("ANYWARP_RECORD");
    struct aw_buf line = { 0 };
    if (!path || !*path)
        return;
    aw_buf_printf(&line, "%s\t%u,%u,%u\n", code->func->name, code->block[0], code->block[1], code->block[2]);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0 || line.failed || !aw_fd_write_all(fd, line.ptr, line.len))
        aw_say(RECORD_FILE, path, strerror(errno));
    if (fd >= 0)
        close(fd);
    aw_buf_fini(&line);
}

/* Says why a kernel was not compiled: what is to be done depends on whose fault it is. */
static void failure_tell(const char *kernel, enum aw_status status, const char *diags)
{
    const char *text = aw_status_text(status), *line = *diags ? "\n" : "";
    if (status == AW_ERR_NOT_SUPPORTED)
        aw_say(KERNEL_UNSUPPORTED, kernel, text, line, diags);
    else if (status == AW_ERR_INVALID_PTX || status == AW_ERR_UNSUPPORTED_PTX || status == AW_ERR_INVALID_SOURCE)
        aw_say(KERNEL_PTX, kernel, text, line, diags);
    else
        aw_say(KERNEL_COMPILE, kernel, text, line, diags);
}

/* ANYWARP_TIERS. */
enum tiers { TIERS_AUTO, TIERS_OFF, TIERS_QUICK };

static enum tiers tiers_of(const struct aw_func *func)
{
    static const char *const words[] = { "auto", "off", "quick", NULL };
    const char *passes = aw_env("ANYWARP_PASSES"); /* who asks for them wants to see the good form */
    int wish = aw_setting_word("ANYWARP_TIERS", words, passes && *passes ? TIERS_OFF : TIERS_AUTO);
    return aw_module_has_quick(func->module) ? (enum tiers)wish : TIERS_OFF;
}

/* The good form has come after the quick one: it is what launches take from now on, and blocks of those that run. */
static void code_arrived(struct aw_func *func, const uint32_t block[3], enum aw_status status, const char *bytes, size_t size,
                         const char *diags);

/* Where the quick form alone is wanted, the good one of kernels that have none. */
static enum aw_status code_compile(struct aw_code *code, char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    struct aw_func *func = code->func;
    enum tiers tiers = tiers_of(func);
    if (tiers == TIERS_AUTO)
        return aw_tiers_compile(func, code->block, code_arrived, &code->tier, ret_bytes, ret_size, ret_diags);
    code->tier = tiers == TIERS_QUICK ? AW_TIER_QUICK : AW_TIER_GOOD;
    enum aw_status status = aw_module_compile(func->module, func->index, code->block, AW_LINES_LOC, code->tier, ret_bytes,
                                              ret_size, ret_diags);
    if (status == AW_OK || code->tier == AW_TIER_GOOD)
        return status;
    aw_trace("%s: %s", func->name, *ret_diags ? *ret_diags : "no quick form");
    free(*ret_diags);
    code->tier = AW_TIER_GOOD;
    return aw_module_compile(func->module, func->index, code->block, AW_LINES_LOC, code->tier, ret_bytes, ret_size, ret_diags);
}

static enum aw_status code_make(struct aw_code *code)
{
    struct aw_func *func = code->func;
    char *bytes = NULL, *diags = NULL;
    size_t size = 0;
    uint64_t begin = aw_clock_wall_ns();
    enum aw_status status = code_compile(code, &bytes, &size, &diags);
    if (status) {
        failure_tell(func->name, status, diags ?: "");
    } else {
        status = aw_device_note(func->module->ctx->device, code_load(code, bytes, size));
        if (status)
            aw_say(KERNEL_NOT_LOADED, func->name, aw_status_text(status));
    }
    aw_trace_compile(func->name, begin);
    if (status == AW_OK)
        code_record(code);
    free(bytes);
    free(diags);
    return status;
}

static void code_free(struct aw_code *code)
{
    if (code->object)
        aw_provider->object_unload(code->object);
    free(code);
}

static bool failure_may_pass(enum aw_status status)
{
    return status == AW_ERR_OS || status == AW_ERR_OUT_OF_MEMORY || status == AW_ERR_JIT_NOT_FOUND;
}

/* The lock is held. */
static void code_publish(struct aw_code *code)
{
    struct aw_func *func = code->func;
    if (aw_provider->function_set_shared)
        aw_provider->function_set_shared(code->function, (size_t)func->max_dynamic_shared);
    code->next = func->code;
    __atomic_store_n(&func->code, code, __ATOMIC_RELEASE);
}

/* The lock is held. */
static enum aw_status func_build(struct aw_func *func, const uint32_t block[3])
{
    struct aw_code *code = calloc(1, sizeof *code);
    if (!code)
        return AW_ERR_OUT_OF_MEMORY;
    code->func = func;
    memcpy(code->block, block, sizeof code->block);
    enum aw_status status = code_make(code);
    if (status) {
        code_free(code);
        bool again = aw_status_is_sticky(status) || (failure_may_pass(status) && func->attempts++ < ATTEMPTS);
        if (!again)
            __atomic_store_n(&func->failure, status, __ATOMIC_RELEASE);
        return status;
    }
    code_publish(code);
    return AW_OK;
}

/* ---- Choosing it. */

static struct aw_code *code_find(const struct aw_func *func, const uint32_t block[3])
{
    struct aw_code *code = __atomic_load_n(&func->code, __ATOMIC_ACQUIRE);
    while (code && (code->block[0] != block[0] || code->block[1] != block[1] || code->block[2] != block[2]))
        code = code->next;
    return code;
}

/* The shapes that share code with `block` (NULL: the most usual ones), as compile options say it. */
static void shared_shapes(const uint32_t block[3], uint32_t ret[3])
{
    uint32_t row = aw_provider->row;
    ret[0] = !row ? 0 : !block || block[0] % row == 0 ? row : 1;
    ret[1] = 0;
    ret[2] = block ? block[2] & AW_BLOCK_FLAGS : 0;
}

static void code_arrived(struct aw_func *func, const uint32_t block[3], enum aw_status status, const char *bytes, size_t size,
                         const char *diags)
{
    struct aw_code *code = status == AW_OK ? calloc(1, sizeof *code) : NULL;
    if (status && !aw_core_exiting())
        aw_say(KERNEL_QUICK_STAYS, func->name, aw_status_text(status), diags && *diags ? "\n" : "", diags ?: "");
    if (!code)
        return;
    code->func = func;
    memcpy(code->block, block, sizeof code->block);
    pthread_mutex_lock(&func->lock);
    struct aw_code *quick = code_find(func, block);
    if (code_load(code, bytes, size) == AW_OK) {
        code_publish(code);
        if (quick && aw_provider->function_replace)
            aw_provider->function_replace(quick->function, code->function);
    } else {
        code_free(code); /* the quick one stays */
    }
    pthread_mutex_unlock(&func->lock);
}

/* How many shapes get their own code.  ANYWARP_SHAPES is for those who know their program, and for tests. */
static unsigned shapes_limit(const struct aw_func *func)
{
    unsigned limit = (unsigned)aw_setting_number("ANYWARP_SHAPES", 0, UINT32_MAX, SHAPES);
    for (const struct aw_code *code = func->code; code; code = code->next)
        if (code->tier == AW_TIER_GOOD && code->size > LARGE_CODE && limit > SHAPES_LARGE)
            limit = SHAPES_LARGE;
    return limit;
}

/* The lock is held; and nothing in the list will do. */
static enum aw_status func_build_for(struct aw_func *func, const uint32_t block[3])
{
    uint32_t shapes[3];
    enum aw_status status;
    if (func->failure)
        return func->failure;
    if (!func->settled && func->n_shapes < shapes_limit(func)) {
        status = func_build(func, block);
        func->n_shapes += status == AW_OK;
        return status;
    }
    shared_shapes(block, shapes);
    status = code_find(func, shapes) ? AW_OK : func_build(func, shapes);
    __atomic_store_n(&func->settled, true, __ATOMIC_RELEASE);
    return status;
}

static struct aw_code *code_for(const struct aw_func *func, const uint32_t block[3])
{
    uint32_t shapes[3];
    struct aw_code *code = code_find(func, block);
    if (code || !__atomic_load_n(&func->settled, __ATOMIC_ACQUIRE))
        return code;
    shared_shapes(block, shapes);
    return code_find(func, shapes);
}

enum aw_status aw_func_code(struct aw_func *func, const uint32_t block[3], const struct aw_code **ret_code)
{
    struct aw_code *code = code_for(func, block);
    enum aw_status status = code ? AW_OK : __atomic_load_n(&func->failure, __ATOMIC_ACQUIRE);
    if (!code && status == AW_OK) {
        pthread_mutex_lock(&func->lock);
        if (!code_for(func, block))
            status = func_build_for(func, block);
        code = code_for(func, block);
        pthread_mutex_unlock(&func->lock);
    }
    if (status == AW_OK)
        *ret_code = code;
    return status;
}

enum aw_status aw_func_code_shared(struct aw_func *func, const struct aw_code *code, size_t dynamic_shared,
                                   const struct aw_code **ret_code)
{
    size_t limit = (size_t)func->module->ctx->device->attr[AW_DEV_SHARED_PER_BLOCK], own = (size_t)code->attr[AW_FN_SHARED_BYTES];
    uint32_t block[3] = { code->block[0], code->block[1], code->block[2] | AW_BLOCK_FULL };
    *ret_code = code;
    if (!aw_provider->shared_full || dynamic_shared > limit || own + dynamic_shared <= limit ||
        own <= func->kernel->static_shared)
        return AW_OK;
    return func->kernel->static_shared + dynamic_shared <= limit ? aw_func_code(func, block, ret_code) : AW_OK;
}

/* Code for many shapes, or else the newest. */
static struct aw_code *code_general(const struct aw_func *func)
{
    struct aw_code *newest = __atomic_load_n(&func->code, __ATOMIC_ACQUIRE), *code = newest;
    while (code && code->block[1])
        code = code->next;
    return code ? code : newest;
}

void aw_kernel_usual_shape(const struct aw_manifest_kernel *kernel, uint32_t ret[3])
{
    const uint32_t *stated = kernel->req_ntid;
    ret[0] = stated[0];
    ret[1] = stated[1] ?: 1;
    ret[2] = stated[2] ?: 1;
    if (!stated[0])
        shared_shapes(NULL, ret);
}

/* The lock is held. */
static enum aw_status func_build_any(struct aw_func *func)
{
    uint32_t shapes[3];
    if (func->failure)
        return func->failure;
    aw_kernel_usual_shape(func->kernel, shapes);
    return code_find(func, shapes) ? AW_OK : func_build(func, shapes);
}

enum aw_status aw_func_code_any(struct aw_func *func, const struct aw_code **ret_code)
{
    struct aw_code *code = code_general(func);
    enum aw_status status = AW_OK;
    if (!code) {
        pthread_mutex_lock(&func->lock);
        if (!func->code)
            status = func_build_any(func);
        code = code_general(func);
        pthread_mutex_unlock(&func->lock);
    }
    if (status == AW_OK)
        *ret_code = code;
    return status;
}

enum aw_status aw_func_code_threads(struct aw_func *func, int threads, const struct aw_code **ret_code)
{
    const struct aw_code *code = __atomic_load_n(&func->code, __ATOMIC_ACQUIRE), *general = NULL;
    enum aw_status status = AW_OK;
    for (; code; code = code->next) {
        if (code->block[1] && (uint64_t)code->block[0] * code->block[1] * (code->block[2] & ~AW_BLOCK_FLAGS) == (uint64_t)threads)
            break;
        if (!code->block[1])
            general = code;
    }
    if (!code && !general) {
        pthread_mutex_lock(&func->lock);
        status = func_build_any(func);
        general = code_general(func);
        pthread_mutex_unlock(&func->lock);
    }
    if (status == AW_OK)
        *ret_code = code ? code : general;
    return status;
}

void aw_func_code_drop(struct aw_func *func)
{
    aw_tiers_forget(func);
    for (struct aw_code *code = func->code, *next; code; code = next) {
        next = code->next;
        code_free(code);
    }
    func->code = NULL;
}
