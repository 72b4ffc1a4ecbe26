/* The driver API: modules, libraries and their kernels as containers. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/cuda_util.h"
#include "abi/jit.h"
#include "base/file.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* ---- Modules. */

/* Makes a module of an image whose bytes are needed during this call only.  Drops the image. */
static enum aw_status module_load(struct aw_ctx *ctx, struct aw_image *image, struct aw_jit_options *options,
                                  CUmodule *ret_module)
{
    struct aw_module *module;
    enum aw_status status = aw_module_create(ctx, image, options->opt_level, &module);
    const char *text = aw_image_log(image);
    char *errors = NULL;
    if (status == AW_OK && (status = aw_module_usable(module, &errors))) {
        text = errors ?: "";
        (void)aw_module_destroy(module);
    }
    aw_abi_jit_write(options, status, text);
    if (status)
        aw_say(MODULE_UNUSABLE, aw_status_text(status), *text ? "\n" : "", text);
    else
        *ret_module = (CUmodule)module;
    free(errors);
    aw_image_unref(image);
    return status;
}

static CUresult module_load_data(CUmodule *module, const void *bytes, unsigned numOptions, const CUjit_option *options,
                                 void **optionValues)
{
    struct aw_jit_options jit;
    struct aw_image *image;
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!module || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_abi_jit_read(numOptions, options, optionValues, &jit);
    if (status)
        return cu_result(status);
    status = aw_image_create(bytes, AW_IMAGE_BORROWED, NULL, &image);
    if (status) {
        bool unknown = status == AW_ERR_INVALID_IMAGE;
        if (unknown)
            aw_say(MODULE_IMAGE);
        aw_abi_jit_write(&jit, status, unknown ? "the image is neither PTX text nor a fat binary\n" : "");
        return cu_result(status);
    }
    return cu_result(module_load(ctx, image, &jit, module));
}

CUresult awcu_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, const CUjit_option *options,
                                 void **optionValues)
{
    return module_load_data(module, image, numOptions, options, optionValues);
}

CUresult awcu_cuModuleLoadData(CUmodule *module, const void *image)
{
    return module_load_data(module, image, 0, NULL, NULL);
}

/* Takes whatever cuModuleLoadData takes, as NVIDIA's driver does: XLA loads what the assembler made by this name. */
CUresult awcu_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return module_load_data(module, fatCubin, 0, NULL, NULL);
}

CUresult awcu_cuModuleLoad(CUmodule *module, const char *fname)
{
    struct aw_jit_options jit;
    struct aw_image *image;
    struct aw_ctx *ctx;
    char *bytes;
    size_t size;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!module || !fname)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_file_read_regular(fname, &bytes, &size);
    if (status)
        return cu_result(status == AW_ERR_OUT_OF_MEMORY ? status : AW_ERR_FILE_NOT_FOUND);
    (void)aw_abi_jit_read(0, NULL, NULL, &jit);
    status = aw_image_create_sized(bytes, size, AW_IMAGE_BORROWED, fname, &image);
    if (status == AW_OK)
        status = module_load(ctx, image, &jit, module);
    free(bytes);
    return cu_result(status);
}

CUresult awcu_cuModuleUnload(CUmodule hmod)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    struct aw_module *module = aw_module_from(hmod);
    if (!module || module->library) /* a library's module goes with its library */
        return CUDA_ERROR_INVALID_HANDLE;
    return cu_result(aw_module_destroy(module));
}

CUresult awcu_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

CUresult awcu_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    struct aw_func *func;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!hfunc || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_module *module = aw_module_from(hmod);
    status = module ? aw_module_function(module, name, &func) : AW_ERR_INVALID_HANDLE;
    if (status == AW_OK)
        *hfunc = (CUfunction)func;
    return cu_result(status);
}

CUresult awcu_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct aw_module *module = aw_module_from(mod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = module->manifest->n_kernels;
    return CUDA_SUCCESS;
}

CUresult awcu_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
    struct aw_module *module = aw_module_from(mod);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!functions || !numFunctions)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < numFunctions && i < module->manifest->n_kernels; i++) {
        struct aw_func *func;
        enum aw_status status = aw_module_function_at(module, i, &func);
        if (status)
            return cu_result(status);
        functions[i] = (CUfunction)func;
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
    uintptr_t address;
    struct aw_ctx *ctx;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!name || (!dptr && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct aw_module *module = aw_module_from(hmod);
    status = module ? aw_module_global(module, name, &address, bytes) : AW_ERR_INVALID_HANDLE;
    if (status == AW_OK && dptr)
        *dptr = address;
    return cu_result(status);
}

/* ---- Libraries. */

static enum aw_status library_options(unsigned n, const CUlibraryOption *options, void **values, unsigned *ret_flags)
{
    *ret_flags = 0;
    if (n && !options)
        return AW_ERR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        if ((unsigned)options[i] >= CU_LIBRARY_NUM_OPTIONS)
            return AW_ERR_INVALID_VALUE;
        /* The option alone says it; a value, where one is given, may take it back. */
        if (options[i] == CU_LIBRARY_BINARY_IS_PRESERVED)
            *ret_flags = !values || values[i] ? AW_IMAGE_BORROWED : 0;
    }
    return AW_OK;
}

/* Opened at its first use, unless somebody wants to read now what is wrong with it. */
enum aw_status aw_abi_library_make(struct aw_image *image, struct aw_jit_options *jit, CUlibrary *ret_library)
{
    struct aw_library *library;
    const struct aw_manifest *manifest;
    enum aw_status status = AW_OK;
    if (aw_abi_jit_listens(jit))
        status = aw_image_open(image, &manifest);
    aw_abi_jit_write(jit, status, aw_image_log(image));
    if (status == AW_OK)
        status = aw_library_create(image, &library);
    if (status == AW_OK)
        *ret_library = (CUlibrary)library;
    aw_image_unref(image);
    return status;
}

CUresult awcu_cuLibraryLoadData(CUlibrary *library, const void *code, const CUjit_option *jitOptions, void **jitOptionsValues,
                                unsigned int numJitOptions, const CUlibraryOption *libraryOptions, void **libraryOptionValues,
                                unsigned int numLibraryOptions)
{
    struct aw_jit_options jit;
    struct aw_image *image;
    unsigned flags;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!library || !code)
        return CUDA_ERROR_INVALID_VALUE;
    status = library_options(numLibraryOptions, libraryOptions, libraryOptionValues, &flags);
    if (status == AW_OK)
        status = aw_abi_jit_read(numJitOptions, jitOptions, jitOptionsValues, &jit);
    if (status)
        return cu_result(status);
    status = aw_image_create(code, flags, NULL, &image);
    if (status)
        aw_abi_jit_write(&jit, status, "");
    return cu_result(status ? status : aw_abi_library_make(image, &jit, library));
}

CUresult awcu_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, const CUjit_option *jitOptions,
                                    void **jitOptionsValues, unsigned int numJitOptions, const CUlibraryOption *libraryOptions,
                                    void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct aw_jit_options jit;
    struct aw_image *image;
    unsigned flags;
    char *bytes;
    size_t size;
    enum aw_status status = aw_core_ready();
    if (status)
        return cu_result(status);
    if (!library || !fileName)
        return CUDA_ERROR_INVALID_VALUE;
    status = library_options(numLibraryOptions, libraryOptions, libraryOptionValues, &flags);
    if (status == AW_OK)
        status = aw_abi_jit_read(numJitOptions, jitOptions, jitOptionsValues, &jit);
    if (status)
        return cu_result(status);
    status = aw_file_read_regular(fileName, &bytes, &size);
    if (status)
        return cu_result(status == AW_ERR_OUT_OF_MEMORY ? status : AW_ERR_FILE_NOT_FOUND);
    status = aw_image_create_sized(bytes, size, 0, fileName, &image);
    free(bytes);
    if (status)
        aw_abi_jit_write(&jit, status, "");
    return cu_result(status ? status : aw_abi_library_make(image, &jit, library));
}

CUresult awcu_cuLibraryUnload(CUlibrary library)
{
    struct aw_library *found = aw_library_from(library);
    return found ? cu_result(aw_library_destroy(found)) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult awcu_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
    struct aw_kernel *kernel;
    struct aw_library *found = aw_library_from(library);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pKernel || !name)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_library_kernel(found, name, &kernel);
    if (status == AW_OK)
        *pKernel = (CUkernel)kernel;
    return cu_result(status);
}

CUresult awcu_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    const struct aw_manifest *manifest;
    struct aw_library *found = aw_library_from(lib);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_library_manifest(found, &manifest);
    if (status == AW_OK)
        *count = manifest->n_kernels;
    return cu_result(status);
}

CUresult awcu_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
    const struct aw_manifest *manifest;
    struct aw_library *found = aw_library_from(lib);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!kernels || !numKernels)
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_library_manifest(found, &manifest);
    if (status)
        return cu_result(status);
    const struct aw_manifest_kernel *rows = aw_manifest_kernels(manifest);
    for (unsigned i = 0; i < numKernels && i < manifest->n_kernels; i++) {
        struct aw_kernel *kernel;
        status = aw_library_kernel_lazy(found, (const char *)manifest + manifest->strings + rows[i].name, &kernel);
        if (status)
            return cu_result(status);
        kernels[i] = (CUkernel)kernel;
    }
    return CUDA_SUCCESS;
}

CUresult awcu_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct aw_ctx *ctx;
    struct aw_module *module;
    struct aw_library *found = aw_library_from(library);
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pMod)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_library_module(found, ctx, &module);
    if (status == AW_OK)
        *pMod = (CUmodule)module;
    return cu_result(status);
}

CUresult awcu_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    CUmodule module = NULL;
    if (!name || (!dptr && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = awcu_cuLibraryGetModule(&module, library);
    return result ? result : awcu_cuModuleGetGlobal_v2(dptr, bytes, module, name);
}

CUresult awcu_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
    uintptr_t address;
    struct aw_library *found = aw_library_from(library);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name || (!dptr && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    enum aw_status status = aw_library_managed(found, name, &address, bytes);
    if (status == AW_OK && dptr)
        *dptr = address;
    return cu_result(status);
}

/* ---- A library's kernels. */

CUresult awcu_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct aw_ctx *ctx;
    struct aw_func *func;
    struct aw_kernel *found = aw_kernel_from(kernel);
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pFunc)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_kernel_func(found, ctx, &func);
    if (status == AW_OK)
        *pFunc = (CUfunction)func;
    return cu_result(status);
}

CUresult awcu_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    struct aw_kernel *found = aw_kernel_from(kernel);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!pLib)
        return CUDA_ERROR_INVALID_VALUE;
    *pLib = (CUlibrary)found->library;
    return CUDA_SUCCESS;
}

CUresult awcu_cuKernelGetName(const char **name, CUkernel hfunc)
{
    struct aw_kernel *found = aw_kernel_from(hfunc);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = found->name;
    return CUDA_SUCCESS;
}

/* The function of a kernel on a device: in the current context when it is one of that device, else in its primary one. */
static enum aw_status kernel_on(CUkernel kernel, CUdevice dev, struct aw_func **ret_func)
{
    struct aw_device *device;
    struct aw_ctx *ctx;
    struct aw_kernel *found = aw_kernel_from(kernel);
    enum aw_status status = cu_device(dev, &device);
    if (status)
        return status;
    if (!found)
        return AW_ERR_INVALID_HANDLE;
    if (aw_ctx_current(&ctx) || ctx->device != device) {
        ctx = device->primary;
        if (!ctx || !__atomic_load_n(&ctx->active, __ATOMIC_ACQUIRE))
            return AW_ERR_INVALID_CONTEXT;
    }
    return aw_kernel_func(found, ctx, ret_func);
}

CUresult awcu_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    struct aw_func *func;
    enum aw_status status = kernel_on(kernel, dev, &func);
    if (status)
        return cu_result(status);
    return pi ? cu_result(aw_func_attribute(func, (int)attrib, pi)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult awcu_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct aw_func *func;
    enum aw_status status = kernel_on(kernel, dev, &func);
    return cu_result(status ? status : aw_func_set_attribute(func, (int)attrib, val));
}

CUresult awcu_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct aw_func *func;
    enum aw_status status = kernel_on(kernel, dev, &func);
    return cu_result(status ? status : aw_cache_config_set(&func->cache_config, (int)config));
}

/* The kernel's row in the manifest: for what needs no context. */
static enum aw_status kernel_row(CUkernel kernel, const struct aw_manifest_kernel **ret_row,
                                 const struct aw_manifest_param **ret_params)
{
    const struct aw_manifest *manifest;
    struct aw_kernel *found = aw_kernel_from(kernel);
    if (!found)
        return AW_ERR_INVALID_HANDLE;
    enum aw_status status = aw_library_manifest(found->library, &manifest);
    if (status)
        return status;
    const struct aw_manifest_kernel *rows = aw_manifest_kernels(manifest);
    const struct aw_manifest_param *params = (const void *)((const char *)manifest + manifest->params);
    for (uint32_t i = 0; i < manifest->n_kernels; i++) {
        if (strcmp((const char *)manifest + manifest->strings + rows[i].name, found->name) == 0) {
            *ret_row = &rows[i];
            *ret_params = params + rows[i].first_param;
            return AW_OK;
        }
    }
    return AW_ERR_INVALID_DEVFUNC;
}

CUresult awcu_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    const struct aw_manifest_kernel *row;
    const struct aw_manifest_param *params;
    enum aw_status status = kernel_row(kernel, &row, &params);
    if (status)
        return cu_result(status);
    if (!paramOffset || paramIndex >= row->n_params)
        return CUDA_ERROR_INVALID_VALUE;
    *paramOffset = params[paramIndex].offset;
    if (paramSize)
        *paramSize = params[paramIndex].size;
    return CUDA_SUCCESS;
}

CUresult awcu_cuKernelGetParamCount(CUkernel kernel, size_t *paramCount)
{
    const struct aw_manifest_kernel *row;
    const struct aw_manifest_param *params;
    enum aw_status status = kernel_row(kernel, &row, &params);
    if (status)
        return cu_result(status);
    if (!paramCount)
        return CUDA_ERROR_INVALID_VALUE;
    *paramCount = row->n_params;
    return CUDA_SUCCESS;
}
