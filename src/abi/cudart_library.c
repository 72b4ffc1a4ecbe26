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
static cudaError_t library_of(enum aw_status status, struct aw_image *image, struct aw_jit_options *jit,
                              cudaLibrary_t *ret_library)
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

static cudaError_t entry_point(const char *name, void **ret_function, unsigned version, unsigned long long flags,
                               cudaStream_t default_stream, cudaDriverEntryPointQueryResult *ret_result)
{
    int result;
    if (!name || !ret_function || flags > cudaEnablePerThreadDefaultStream)
        return cudaErrorInvalidValue;
    if (flags == cudaEnableDefault && default_stream == CU_STREAM_PER_THREAD)
        flags = cudaEnablePerThreadDefaultStream;
    const void *function = aw_abi_proc_find(name, (int)version, flags, &result);
    if (!function && !ret_result)
        return cudaErrorSymbolNotFound;
    *ret_function = (void *)(uintptr_t)function;
    if (ret_result)
        *ret_result = (cudaDriverEntryPointQueryResult)result;
    return cudaSuccess;
}

cudaError_t awrt_cudaGetDriverEntryPoint_on(const char *name, void **function, unsigned long long flags, CUstream default_stream)
{
    return entry_point(name, function, 11080, flags, default_stream, NULL);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v12_on(const char *name, void **function, unsigned long long flags,
                                                cudaDriverEntryPointQueryResult *result, CUstream default_stream)
{
    return entry_point(name, function, 12090, flags, default_stream, result);
}

cudaError_t awrt_cudaGetDriverEntryPoint_v13_on(const char *name, void **function, unsigned long long flags,
                                                cudaDriverEntryPointQueryResult *result, CUstream default_stream)
{
    return entry_point(name, function, 13000, flags, default_stream, result);
}

cudaError_t awrt_cudaGetDriverEntryPointByVersion_on(const char *name, void **function, unsigned int version,
                                                     unsigned long long flags, cudaDriverEntryPointQueryResult *result,
                                                     CUstream default_stream)
{
    return entry_point(name, function, version, flags, default_stream, result);
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
