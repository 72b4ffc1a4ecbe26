/* Libraries and their kernels: images without a context, which get a module in each context that uses them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "core/memory.h"
#include "core/module.h"

#define AW_ROOM "core"

struct aw_library {
    struct aw_handle handle;
    struct aw_image *image;
    AW_VEC(struct aw_module *) modules; /* one per context */
    struct aw_map by_name;
    struct aw_kernel *kernels;          /* all, linked */
    bool complained;                    /* the reason why the image cannot be used was logged */
    pthread_mutex_t lock;
};

struct aw_slab aw_library_slab = AW_SLAB_INIT("library", struct aw_library);
struct aw_slab aw_kernel_slab = AW_SLAB_INIT("kernel", struct aw_kernel);

/* ---- Life. */

enum aw_status aw_library_create(struct aw_image *image, struct aw_library **ret_library)
{
    struct aw_library *library = aw_slab_take(&aw_library_slab);
    if (!library)
        return AW_ERR_OUT_OF_MEMORY;
    aw_image_ref(image);
    library->image = image;
    pthread_mutex_init(&library->lock, NULL);
    aw_slab_publish(&aw_library_slab, library);
    *ret_library = library;
    return AW_OK;
}

enum aw_status aw_library_destroy(struct aw_library *library)
{
    if (!aw_slab_kill(&aw_library_slab, library))
        return AW_ERR_INVALID_HANDLE;
    while (library->modules.n) {
        struct aw_module *module = library->modules.at[library->modules.n - 1];
        if (aw_module_destroy(module) == AW_ERR_INVALID_HANDLE)
            library->modules.n--; /* its context is ending it right now */
    }
    for (struct aw_kernel *next, *kernel = library->kernels; kernel; kernel = next) {
        next = kernel->next;
        aw_slab_kill(&aw_kernel_slab, kernel);
        aw_slab_give(&aw_kernel_slab, kernel);
    }
    aw_vec_fini(&library->modules);
    aw_map_fini(&library->by_name);
    aw_image_unref(library->image);
    pthread_mutex_destroy(&library->lock);
    aw_slab_give(&aw_library_slab, library);
    return AW_OK;
}

void aw_library_forget(struct aw_library *library, struct aw_module *module)
{
    int device = module->ctx->device->ordinal;
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->modules.n; i++)
        if (library->modules.at[i] == module)
            library->modules.at[i--] = library->modules.at[--library->modules.n];
    for (struct aw_kernel *kernel = library->kernels; kernel; kernel = kernel->next) {
        struct aw_func *func = __atomic_load_n(&kernel->func[device], __ATOMIC_ACQUIRE);
        if (func && func->module == module)
            __atomic_store_n(&kernel->func[device], NULL, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&library->lock);
}

struct aw_image *aw_library_image(struct aw_library *library)
{
    return library->image;
}

/* ---- Modules. */

/* Logs once why the image is of no use.  `what` is the name that was asked for. */
static void library_complain(struct aw_library *library, const char *what, enum aw_status status)
{
    if (__atomic_test_and_set(&library->complained, __ATOMIC_RELAXED))
        return;
    const char *log = aw_image_log(library->image), *end = strchr(log, '\n');
    bool one_line = !end || !end[1];
    aw_say(IMAGE_UNUSABLE, what ?: "", what ? ": " : "", aw_status_text(status), !*log ? "" : one_line ? ": " : "\n", log);
}

enum aw_status aw_library_manifest(struct aw_library *library, const struct aw_manifest **ret_manifest)
{
    enum aw_status status = aw_image_open(library->image, ret_manifest);
    if (status)
        library_complain(library, NULL, status);
    return status;
}

static enum aw_status library_module(struct aw_library *library, struct aw_ctx *ctx, const char *what,
                                     struct aw_module **ret_module)
{
    struct aw_module *module = NULL;
    enum aw_status status = AW_OK;
    pthread_mutex_lock(&library->lock);
    for (size_t i = 0; i < library->modules.n && !module; i++)
        if (library->modules.at[i]->ctx == ctx)
            module = library->modules.at[i];
    if (!module && !aw_vec_reserve(&library->modules, 1))
        status = AW_ERR_OUT_OF_MEMORY;
    else if (!module && (status = aw_module_create(ctx, library->image, 3, &module)) == AW_OK) {
        module->library = library;
        library->modules.at[library->modules.n++] = module;
    }
    pthread_mutex_unlock(&library->lock);
    if (status) {
        library_complain(library, what, status);
        return status;
    }
    *ret_module = module;
    return AW_OK;
}

enum aw_status aw_library_module(struct aw_library *library, struct aw_ctx *ctx, struct aw_module **ret_module)
{
    return library_module(library, ctx, NULL, ret_module);
}

enum aw_status aw_library_managed(struct aw_library *library, const char *name, uintptr_t *ret_address, size_t *ret_size)
{
    struct aw_ctx *ctx;
    struct aw_module *module;
    struct aw_mem mem;
    uintptr_t address;
    size_t size;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status == AW_OK)
        status = library_module(library, ctx, name, &module);
    if (status == AW_OK)
        status = aw_module_global(module, name, &address, &size);
    if (status)
        return status;
    if (!aw_mem_find(address, &mem) || mem.kind != AW_MEM_MODULE_MANAGED)
        return AW_ERR_NOT_FOUND;
    if (ret_address)
        *ret_address = address;
    if (ret_size)
        *ret_size = size;
    return AW_OK;
}

/* ---- Kernels. */

enum aw_status aw_library_kernel_lazy(struct aw_library *library, const char *name, struct aw_kernel **ret_kernel)
{
    struct aw_str key = aw_str_from(name);
    pthread_mutex_lock(&library->lock);
    struct aw_kernel *kernel = aw_map_find(&library->by_name, key);
    if (!kernel && (kernel = aw_slab_take(&aw_kernel_slab))) {
        kernel->library = library;
        kernel->name = name;
        if (aw_map_put(&library->by_name, key, kernel)) {
            kernel->next = library->kernels;
            library->kernels = kernel;
            aw_slab_publish(&aw_kernel_slab, kernel);
        } else {
            aw_slab_give(&aw_kernel_slab, kernel);
            kernel = NULL;
        }
    }
    pthread_mutex_unlock(&library->lock);
    if (!kernel)
        return AW_ERR_OUT_OF_MEMORY;
    *ret_kernel = kernel;
    return AW_OK;
}

enum aw_status aw_library_kernel(struct aw_library *library, const char *name, struct aw_kernel **ret_kernel)
{
    const struct aw_manifest *manifest;
    uint32_t index;
    enum aw_status status = aw_image_open(library->image, &manifest);
    if (status) {
        library_complain(library, name, status);
        return status;
    }
    const struct aw_manifest_kernel *kernels = aw_manifest_kernels(manifest);
    if (aw_manifest_find_kernel(manifest, name, &index))
        return aw_library_kernel_lazy(library, (const char *)manifest + manifest->strings + kernels[index].name, ret_kernel);
    return AW_ERR_NOT_FOUND;
}

enum aw_status aw_kernel_func(struct aw_kernel *kernel, struct aw_ctx *ctx, struct aw_func **ret_func)
{
    struct aw_func **slot = &kernel->func[ctx->device->ordinal];
    struct aw_func *func = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (func && func->module->ctx == ctx) {
        *ret_func = func;
        return AW_OK;
    }
    struct aw_module *module;
    enum aw_status status = library_module(kernel->library, ctx, kernel->name, &module);
    if (status)
        return status;
    status = aw_module_function(module, kernel->name, &func);
    if (status == AW_ERR_NOT_FOUND) {
        aw_say(KERNEL_MISSING, kernel->name);
        return AW_ERR_INVALID_DEVFUNC;
    }
    if (status)
        return status;
    __atomic_store_n(slot, func, __ATOMIC_RELEASE);
    *ret_func = func;
    return AW_OK;
}

enum aw_status aw_func_find(struct aw_ctx *ctx, const void *handle, struct aw_func **ret_func)
{
    if (aw_slab_valid(&aw_kernel_slab, handle))
        return aw_kernel_func((struct aw_kernel *)(uintptr_t)handle, ctx, ret_func);
    if (!aw_slab_valid(&aw_func_slab, handle))
        return AW_ERR_INVALID_HANDLE;
    *ret_func = (struct aw_func *)(uintptr_t)handle;
    return AW_OK;
}
