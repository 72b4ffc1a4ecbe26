/* Modules: an image in a context, with its variables' arena and its functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/activity.h"
#include "core/recorder.h"
#include "core/stream.h"
#include "core/memory.h"
#include "core/texref.h"

#define AW_ROOM "core"

struct aw_slab aw_module_slab = AW_SLAB_INIT("module", struct aw_module);

static const void *manifest_at(const struct aw_manifest *manifest, uint32_t offset)
{
    return (const char *)manifest + offset;
}

static const char *manifest_str(const struct aw_manifest *manifest, uint32_t offset)
{
    return (const char *)manifest + manifest->strings + offset;
}

/* ---- Life. */

enum aw_status aw_module_create(struct aw_ctx *ctx, struct aw_image *image, unsigned opt_level, struct aw_module **ret_module)
{
    const struct aw_manifest *manifest;
    enum aw_status status = aw_image_open(image, &manifest);
    if (status)
        return status;
    struct aw_module *module = aw_slab_take(&aw_module_slab);
    if (!module)
        return AW_ERR_OUT_OF_MEMORY;
    module->funcs = calloc(manifest->n_kernels + 1, sizeof *module->funcs);
    if (!module->funcs) {
        aw_slab_give(&aw_module_slab, module);
        return AW_ERR_OUT_OF_MEMORY;
    }
    aw_image_ref(image);
    module->ctx = ctx;
    module->image = image;
    module->manifest = manifest;
    module->opt_level = aw_image_debug(image) ? 0 : opt_level;
    pthread_mutex_init(&module->lock, NULL);
    aw_slab_publish(&aw_module_slab, module);
    *ret_module = module;
    return AW_OK;
}

bool aw_module_has_quick(const struct aw_module *module)
{
    static const char *const others[] = { "+check-", "+debug", "+count" }; /* of which the quick form has nothing */
    const char *target = module->ctx->device->target;
    bool has = strncmp(target, "host:", 5) == 0 && module->opt_level;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        has = has && !strstr(target, others[i]);
    return has;
}

struct aw_compile_options aw_module_options(const struct aw_module *module, const uint32_t block[3], enum aw_lines lines)
{
    const struct aw_device *device = module->ctx->device;
    return (struct aw_compile_options){ .target = device->target, .opt_level = module->opt_level,
                                        .code_object_version = (uint32_t)device->code_object_version,
                                        .block = { block[0], block[1], block[2] }, .lines = lines };
}

enum aw_status aw_module_compile(struct aw_module *module, uint32_t index, const uint32_t block[3], enum aw_lines lines,
                                 enum aw_tier tier, char **ret_bytes, size_t *ret_size, char **ret_diags)
{
    struct aw_compile_options options = aw_module_options(module, block, lines);
    char target[256];
    snprintf(target, sizeof target, "%s%s", options.target, tier == AW_TIER_QUICK ? ",+quick" : "");
    options.target = target;
    return aw_jit_compile(aw_image_jit(module->image), index, &options, ret_bytes, ret_size, ret_diags);
}

enum aw_status aw_module_usable(struct aw_module *module, char **ret_log)
{
    const struct aw_manifest *manifest = module->manifest;
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(manifest);
    for (uint32_t i = 0; i < manifest->n_kernels; i++)
        if (!(kernels[i].flags & AW_KERNEL_BROKEN))
            return AW_OK;
    if (!manifest->n_kernels)
        return AW_OK;
    char *bytes = NULL;
    size_t size;
    *ret_log = NULL;
    enum aw_status status = aw_module_compile(module, 0, (uint32_t[3]){ 0 }, AW_LINES_LOC, AW_TIER_GOOD, &bytes, &size, ret_log);
    free(bytes);
    return status;
}

enum aw_status aw_module_destroy(struct aw_module *module)
{
    if (!aw_slab_kill(&aw_module_slab, module))
        return AW_ERR_INVALID_HANDLE;
    if (module->library)
        aw_library_forget(module->library, module);
    enum aw_status status = aw_ctx_settle(module->ctx, aw_provider->device_sync(module->ctx->device->native));
    if (module->starts)
        module->starts->destroy(module->starts);
    for (uint32_t i = 0; i < module->manifest->n_kernels; i++) {
        struct aw_func *func = module->funcs[i];
        if (!func)
            continue;
        aw_slab_kill(&aw_func_slab, func);
        aw_func_code_drop(func);
        free(func->legacy);
        pthread_mutex_destroy(&func->lock);
        aw_slab_give(&aw_func_slab, func);
    }
    free(module->funcs);
    if (module->arena)
        aw_texrefs_drop(module->ctx, module->arena, module->arena + module->manifest->arena_size);
    aw_mem_module_free(module->arena);
    aw_image_unref(module->image);
    pthread_mutex_destroy(&module->lock);
    aw_slab_give(&aw_module_slab, module);
    return status;
}

static void module_drop(void *object, void *ctx)
{
    struct aw_module *module = object;
    if (module->ctx == ctx)
        (void)aw_module_destroy(module);
}

static void modules_drop(struct aw_ctx *ctx)
{
    aw_slab_each(&aw_module_slab, module_drop, ctx);
}

/* ---- Functions. */

static struct aw_func *func_new(struct aw_module *module, uint32_t index)
{
    const struct aw_manifest *manifest = module->manifest;
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(manifest);
    const struct aw_manifest_param *params = manifest_at(manifest, manifest->params);
    struct aw_func *func = aw_slab_take(&aw_func_slab);
    if (!func)
        return NULL;
    func->module = module;
    func->kernel = &kernels[index];
    func->params = params + kernels[index].first_param;
    func->name = manifest_str(manifest, kernels[index].name);
    func->index = index;
    func->kernarg_size = (kernels[index].param_size + 7u) / 8 * 8 + 16;
    int most = 48 * 1024, limit = module->ctx->device->attr[AW_DEV_SHARED_PER_BLOCK], used = (int)kernels[index].static_shared;
    most = most < limit ? most : limit;
    func->max_dynamic_shared = most > used ? most - used : 0;
    func->carveout = -1;
    for (int i = 0; i < 3; i++)
        func->cluster[i] = (int)kernels[index].cluster[i];
    pthread_mutex_init(&func->lock, NULL);
    aw_slab_publish(&aw_func_slab, func);
    return func;
}

enum aw_status aw_module_function_at(struct aw_module *module, uint32_t index, struct aw_func **ret_func)
{
    if (index >= module->manifest->n_kernels)
        return AW_ERR_INVALID_VALUE;
    struct aw_func *func = __atomic_load_n(&module->funcs[index], __ATOMIC_ACQUIRE);
    if (!func) {
        pthread_mutex_lock(&module->lock);
        func = module->funcs[index];
        if (!func && (func = func_new(module, index)))
            __atomic_store_n(&module->funcs[index], func, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&module->lock);
    }
    if (!func)
        return AW_ERR_OUT_OF_MEMORY;
    *ret_func = func;
    return AW_OK;
}

enum aw_status aw_module_function(struct aw_module *module, const char *name, struct aw_func **ret_func)
{
    uint32_t index;
    return aw_manifest_find_kernel(module->manifest, name, &index) ? aw_module_function_at(module, index, ret_func)
                                                                   : AW_ERR_NOT_FOUND;
}

/* ---- The arena. */

/* Bytes of the arena's head that are not all zero. */
static size_t arena_head(const struct aw_manifest *manifest)
{
    const struct aw_manifest_var *vars = manifest_at(manifest, manifest->vars);
    const struct aw_manifest_reloc *relocs = manifest_at(manifest, manifest->relocs);
    size_t head = manifest->image_size;
    for (uint32_t i = 0; i < manifest->n_relocs; i++)
        if (relocs[i].at + relocs[i].size > head)
            head = relocs[i].at + relocs[i].size;
    for (uint32_t i = 0; i < manifest->n_vars; i++)
        if (vars[i].space == AW_VAR_MANAGED && vars[i].offset + 8 > head)
            head = vars[i].offset + 8;
    return head;
}

/* Where in the arena a managed variable's initial bytes are. */
static uint64_t managed_initial(const struct aw_manifest_var *var)
{
    uint64_t align = var->align ? var->align : 1;
    return (var->offset + 8 + align - 1) / align * align;
}

/* A managed variable whose storage is made, while an arena is filled. */
struct managed_place {
    const struct aw_manifest_var *var;
    uintptr_t address;
    bool fresh; /* its contents are still to be written */
};

struct managed_places {
    struct managed_place *at;
    uint32_t n;
};

/* Makes the storage of all managed variables.  The image's lock is held. */
static enum aw_status managed_make(struct aw_module *module, struct managed_places *places)
{
    const struct aw_manifest *manifest = module->manifest;
    const struct aw_manifest_var *vars = manifest_at(manifest, manifest->vars);
    uint32_t n = 0;
    for (uint32_t i = 0; i < manifest->n_vars; i++)
        n += vars[i].space == AW_VAR_MANAGED;
    places->at = n ? calloc(n, sizeof *places->at) : NULL;
    if (n && !places->at)
        return AW_ERR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < manifest->n_vars; i++) {
        if (vars[i].space != AW_VAR_MANAGED)
            continue;
        struct managed_place *place = &places->at[places->n];
        place->var = &vars[i];
        enum aw_status status = aw_image_managed(module->image, module->ctx, i, &place->address, &place->fresh);
        if (status)
            return status;
        places->n++;
    }
    return AW_OK;
}

/* An arena offset as an address: what points to a managed variable's initial bytes means its storage. */
static uint64_t arena_address(const struct managed_places *places, uintptr_t arena, int64_t offset)
{
    for (uint32_t i = 0; i < places->n; i++) {
        uint64_t into = (uint64_t)offset - managed_initial(places->at[i].var);
        if (into < (places->at[i].var->size ?: 1))
            return places->at[i].address + into;
    }
    return arena + (uint64_t)offset;
}

static void arena_relocate(const struct aw_manifest *manifest, const struct managed_places *places, char *bytes, uintptr_t arena)
{
    const struct aw_manifest_reloc *relocs = manifest_at(manifest, manifest->relocs);
    for (uint32_t i = 0; i < manifest->n_relocs; i++) {
        uint64_t value = arena_address(places, arena, relocs[i].addend);
        if (relocs[i].mask_shift < 64)
            value >>= relocs[i].mask_shift;
        if (relocs[i].size <= 8)
            memcpy(bytes + relocs[i].at, &value, relocs[i].size);
    }
    for (uint32_t i = 0; i < places->n; i++) {
        uint64_t cell = places->at[i].address;
        memcpy(bytes + places->at[i].var->offset, &cell, sizeof cell);
    }
}

/* Writes the contents of storage made just now: the part that the arena's head holds, then zeros. */
static enum aw_status managed_fill(struct aw_ctx *ctx, const struct managed_places *places, const char *bytes, size_t head)
{
    enum aw_status status = AW_OK;
    for (uint32_t i = 0; i < places->n && status == AW_OK; i++) {
        const struct managed_place *place = &places->at[i];
        size_t size = place->var->size ?: 1;
        uint64_t from = managed_initial(place->var);
        size_t there = from < head ? (size < head - from ? size : head - from) : 0;
        if (!place->fresh)
            continue;
        if (there)
            status = aw_mem_copy(ctx, (void *)place->address, bytes + from, there, AW_COPY_DEFAULT, &ctx->legacy, false);
        if (status == AW_OK && size > there)
            status = aw_mem_fill(ctx, place->address + there, 0, 1, size - there, &ctx->legacy, false);
    }
    return status;
}

/* Fills the arena at `arena`.  `bytes` holds its head; the image's lock is held. */
static enum aw_status arena_fill(struct aw_module *module, uintptr_t arena, char *bytes, size_t head)
{
    struct aw_ctx *ctx = module->ctx;
    struct managed_places places = { 0 };
    size_t size = module->manifest->arena_size;
    enum aw_status status = managed_make(module, &places);
    if (status == AW_OK) {
        arena_relocate(module->manifest, &places, bytes, arena);
        status = managed_fill(ctx, &places, bytes, head);
    }
    free(places.at);
    if (status == AW_OK && size > head)
        status = aw_mem_fill(ctx, arena + head, 0, 1, size - head, &ctx->legacy, true);
    if (status == AW_OK)
        status = aw_mem_copy(ctx, (void *)arena, bytes, head, AW_COPY_H2D, &ctx->legacy, false);
    if (status == AW_OK)
        status = aw_stream_sync(&ctx->legacy); /* a non-blocking stream may use it next */
    return status;
}

/* Allocates and fills.  The module's lock is held. */
static enum aw_status arena_make(struct aw_module *module)
{
    const struct aw_manifest *manifest = module->manifest;
    struct aw_ctx *ctx = module->ctx;
    size_t head = arena_head(manifest), size = manifest->arena_size;
    uintptr_t arena;
    if (!size)
        return AW_OK;
    if (head > size)
        return AW_ERR_INVALID_IMAGE;
    char *bytes = calloc(1, head + 1);
    if (!bytes)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(bytes, manifest_at(manifest, manifest->image), manifest->image_size);
    enum aw_status status = aw_mem_module_alloc(ctx, size, false, &arena);
    if (status == AW_OK) {
        aw_image_lock(module->image);
        aw_capture_pause(); /* a kernel that is captured gets its variables now, not at each launch of the graph */
        aw_activity_pause();
        status = arena_fill(module, arena, bytes, head);
        aw_activity_resume();
        aw_capture_resume();
        aw_image_unlock(module->image);
        if (status)
            aw_mem_module_free(arena);
        else
            __atomic_store_n(&module->arena, arena, __ATOMIC_RELEASE);
    }
    free(bytes);
    return status;
}

enum aw_status aw_module_arena(struct aw_module *module)
{
    if (__atomic_load_n(&module->arena_ready, __ATOMIC_ACQUIRE))
        return AW_OK;
    enum aw_status status = AW_OK;
    pthread_mutex_lock(&module->lock);
    if (!module->arena_ready) {
        status = arena_make(module);
        if (status == AW_OK)
            __atomic_store_n(&module->arena_ready, true, __ATOMIC_RELEASE);
        else
            aw_say(MODULE_VARIABLES, (unsigned long long)module->manifest->arena_size, aw_status_text(status));
    }
    pthread_mutex_unlock(&module->lock);
    return status;
}

/* The variable's number, or n_vars. */
static uint32_t var_find(const struct aw_manifest *manifest, const char *name)
{
    const struct aw_manifest_var *vars = manifest_at(manifest, manifest->vars);
    uint32_t low = 0, high = manifest->n_vars;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(manifest_str(manifest, vars[mid].name), name);
        if (order == 0)
            return mid;
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return manifest->n_vars;
}

uint32_t aw_module_sampler(const struct aw_module *module, const char *name)
{
    const struct aw_manifest_var *vars = manifest_at(module->manifest, module->manifest->vars);
    uint32_t index = var_find(module->manifest, name);
    return index < module->manifest->n_vars ? vars[index].sampler : 0;
}

static enum aw_status managed_address(struct aw_module *module, uint32_t var, uintptr_t *ret_address)
{
    bool fresh;
    aw_image_lock(module->image);
    enum aw_status status = aw_image_managed(module->image, module->ctx, var, ret_address, &fresh);
    aw_image_unlock(module->image);
    return status;
}

enum aw_status aw_module_global(struct aw_module *module, const char *name, uintptr_t *ret_address, size_t *ret_size)
{
    const struct aw_manifest *manifest = module->manifest;
    const struct aw_manifest_var *var = manifest_at(manifest, manifest->vars);
    uint32_t index = var_find(manifest, name);
    if (index == manifest->n_vars)
        return AW_ERR_NOT_FOUND;
    enum aw_status status = aw_module_arena(module);
    if (status)
        return status;
    var += index;
    uintptr_t address = module->arena + var->offset;
    if (var->space == AW_VAR_MANAGED) /* the arena's cell holds the storage's address, but may be out of the host's reach */
        status = managed_address(module, index, &address);
    if (status)
        return status;
    if (ret_address)
        *ret_address = address;
    if (ret_size)
        *ret_size = var->size;
    return AW_OK;
}

AW_CTX_DROP(AW_DROP_MODULES, modules_drop)
