/* Runtime API: libraries and kernels loaded by hand, memory pools, and the way to other functions by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/cudart.h"
#include "abi/jit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"

/* ---- Libraries */

/* Both enumerations of options have the same numbers. */
static cudaError_t library_of(enum aw_status status, struct aw_image *image, struct aw_jit_options *jit, cudaLibrary_t *ret_library)
{
    CUlibrary library;
    if (status)
        aw_abi_jit_write(jit, status, "");
    else
        status = aw_abi_library_make(image, jit, &library);
    if (!status)
        *ret_library = (cudaLibrary_t)library;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLibraryLoadData(cudaLibrary_t *ret_library, const void *code, const cudaJitOption *jit_options,
                                     void **jit_values, unsigned int jit_count, const cudaLibraryOption *options, void **values,
                                     unsigned int count)
{
    struct aw_ctx *ctx;
    struct aw_jit_options jit;
    struct aw_image *image = NULL;
    unsigned flags = 0;
    if (!ret_library || !code || (count && !options))
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < count; i++)
        if (options[i] == cudaLibraryBinaryIsPreserved && (!values || values[i]))
            flags |= AW_IMAGE_BORROWED;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_abi_jit_read(jit_count, (const CUjit_option *)jit_options, jit_values, &jit);
    if (status)
        return aw_rt_error(status);
    status = aw_image_create(code, flags, NULL, &image);
    return library_of(status, image, &jit, ret_library);
}

cudaError_t awrt_cudaLibraryLoadFromFile(cudaLibrary_t *ret_library, const char *path, const cudaJitOption *jit_options,
                                         void **jit_values, unsigned int jit_count, const cudaLibraryOption *options,
                                         void **values, unsigned int count)
{
    struct aw_ctx *ctx;
    struct aw_jit_options jit;
    struct aw_image *image = NULL;
    char *bytes;
    size_t size;
    (void)values; /* the file's bytes are copied in any case */
    if (!ret_library || !path || (count && !options))
        return cudaErrorInvalidValue;
    enum aw_status status = aw_rt_ctx(&ctx);
    if (!status)
        status = aw_abi_jit_read(jit_count, (const CUjit_option *)jit_options, jit_values, &jit);
    if (!status)
        status = aw_file_read_regular(path, &bytes, &size);
    if (status)
        return aw_rt_error(status);
    status = aw_image_create_sized(bytes, size, 0, path, &image);
    free(bytes);
    return library_of(status, image, &jit, ret_library);
}

cudaError_t awrt_cudaLibraryUnload(cudaLibrary_t handle)
{
    struct aw_library *library = aw_library_from(handle);
    return library ? aw_rt_error(aw_library_destroy(library)) : cudaErrorInvalidResourceHandle;
}

cudaError_t awrt_cudaLibraryGetKernel(cudaKernel_t *ret_kernel, cudaLibrary_t handle, const char *name)
{
    struct aw_library *library = aw_library_from(handle);
    struct aw_kernel *kernel;
    if (!ret_kernel || !name)
        return cudaErrorInvalidValue;
    enum aw_status status = library ? aw_library_kernel(library, name, &kernel) : AW_ERR_INVALID_HANDLE;
    if (!status)
        *ret_kernel = (cudaKernel_t)kernel;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLibraryGetGlobal(void **ret_pointer, size_t *ret_size, cudaLibrary_t handle, const char *name)
{
    struct aw_library *library = aw_library_from(handle);
    struct aw_module *module;
    struct aw_ctx *ctx;
    uintptr_t address;
    size_t size;
    if (!name || (!ret_pointer && !ret_size))
        return cudaErrorInvalidValue;
    enum aw_status status = library ? aw_rt_ctx(&ctx) : AW_ERR_INVALID_HANDLE;
    if (!status)
        status = aw_library_module(library, ctx, &module);
    if (!status)
        status = aw_module_global(module, name, &address, &size);
    if (!status && ret_pointer)
        *ret_pointer = (void *)address;
    if (!status && ret_size)
        *ret_size = size;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLibraryGetManaged(void **ret_pointer, size_t *ret_size, cudaLibrary_t handle, const char *name)
{
    struct aw_library *library = aw_library_from(handle);
    struct aw_ctx *ctx;
    uintptr_t address;
    size_t size;
    if (!name || (!ret_pointer && !ret_size))
        return cudaErrorInvalidValue;
    enum aw_status status = library ? aw_rt_ctx(&ctx) : AW_ERR_INVALID_HANDLE;
    if (!status)
        status = aw_library_managed(library, name, &address, &size);
    if (!status && ret_pointer)
        *ret_pointer = (void *)address;
    if (!status && ret_size)
        *ret_size = size;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLibraryGetKernelCount(unsigned int *ret_count, cudaLibrary_t handle)
{
    struct aw_library *library = aw_library_from(handle);
    const struct aw_manifest *manifest;
    if (!ret_count)
        return cudaErrorInvalidValue;
    enum aw_status status = library ? aw_library_manifest(library, &manifest) : AW_ERR_INVALID_HANDLE;
    if (!status)
        *ret_count = manifest->n_kernels;
    return aw_rt_error(status);
}

cudaError_t awrt_cudaLibraryEnumerateKernels(cudaKernel_t *ret_kernels, unsigned int count, cudaLibrary_t handle)
{
    struct aw_library *library = aw_library_from(handle);
    const struct aw_manifest *manifest;
    if (!ret_kernels || !count)
        return cudaErrorInvalidValue;
    enum aw_status status = library ? aw_library_manifest(library, &manifest) : AW_ERR_INVALID_HANDLE;
    for (unsigned i = 0; !status && i < count && i < manifest->n_kernels; i++) {
        const char *base = (const char *)manifest;
        const struct aw_manifest_kernel *row = (const struct aw_manifest_kernel *)(base + manifest->kernels) + i;
        struct aw_kernel *kernel;
        status = aw_library_kernel(library, base + manifest->strings + row->name, &kernel);
        if (!status)
            ret_kernels[i] = (cudaKernel_t)kernel;
    }
    return aw_rt_error(status);
}

cudaError_t awrt_cudaKernelSetAttributeForDevice(cudaKernel_t handle, cudaFuncAttribute attr, int value, int ordinal)
{
    struct aw_kernel *kernel;
    struct aw_device *device;
    struct aw_func *func;
    enum aw_status status = aw_rt_device_at(ordinal, &device);
    if (!status)
        status = aw_primary_use(device);
    if (!status)
        status = aw_rt_kernel(handle, &kernel);
    if (!status)
        status = aw_kernel_func(kernel, device->primary, &func);
    return aw_rt_error(status ? status : aw_func_set_attribute(func, (int)attr, value));
}

/* ---- Driver functions by name.  A name that is not there is no error when the caller asked for the reason. */

static cudaError_t entry_point(const char *name, void **ret_function, unsigned version, unsigned long long flags, bool per_thread,
                               cudaDriverEntryPointQueryResult *ret_result)
{
    int result;
    if (!name || !ret_function || flags > cudaEnablePerThreadDefaultStream)
        return cudaErrorInvalidValue;
    if (flags == cudaEnableDefault && per_thread)
        flags = cudaEnablePerThreadDefaultStream;
    const void *function = aw_abi_proc_find(name, (int)version, flags, &result);
    if (!function && !ret_result)
        return cudaErrorSymbolNotFound;
    *ret_function = (void *)(uintptr_t)function;
    if (ret_result)
        *ret_result = (cudaDriverEntryPointQueryResult)result;
    return cudaSuccess;
}

cudaError_t awrt_cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags)
{
    return entry_point(name, function, 11080, flags, false, NULL);
}

cudaError_t awrt_cudaGetDriverEntryPoint_ptsz(const char *name, void **function, unsigned long long flags)
{
    return entry_point(name, function, 11080, flags, true, NULL);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v12(const char *name, void **function, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, 12090, flags, false, result);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v12_ptsz(const char *name, void **function, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, 12090, flags, true, result);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v13(const char *name, void **function, unsigned long long flags,
                                             cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, 13000, flags, false, result);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v13_ptsz(const char *name, void **function, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, 13000, flags, true, result);
}

cudaError_t awrt_cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned int version,
                                                  unsigned long long flags, cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, version, flags, false, result);
}

cudaError_t awrt_cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **function, unsigned int version,
                                                       unsigned long long flags, cudaDriverEntryPointQueryResult *result)
{
    return entry_point(name, function, version, flags, true, result);
}

/* The runtime's own functions by name: how CUDA 13's bindings look them up. */
cudaError_t awrt___cudaGetProcAddress(const char *name, void **ret_function, unsigned long long flags)
{
    char per_thread[128];
    void *function = NULL;
    if (!name || !ret_function || flags > cudaEnablePerThreadDefaultStream)
        return cudaErrorInvalidValue;
    const char *const suffixes[] = { "_ptsz", "_ptds" };
    for (int i = 0; flags == cudaEnablePerThreadDefaultStream && !function && i < 2; i++) {
        int len = snprintf(per_thread, sizeof(per_thread), "%s%s", name, suffixes[i]);
        if (len > 0 && (size_t)len < sizeof(per_thread))
            function = aw_abi_cudart_find(13, per_thread);
    }
    if (!function)
        function = aw_abi_cudart_find(13, name);
    if (!function)
        return cudaErrorSymbolNotFound;
    *ret_function = function;
    return cudaSuccess;
}
