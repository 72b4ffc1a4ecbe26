/* nvJitLink: PTX in, linked PTX out, in the form of an image that the module loader takes as a cubin.  The compiler links again
 * when the image is loaded; here it is asked to, so that what is wrong is told where CUDA tells it. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "nvjitlink"
#include <stdlib.h>

#include "base/file.h"
#include "base/log.h"
#include "front/original.h"
#include "jitlink.h"

const char aw_front_variable[] = "ANYWARP_NVJITLINK";
const char aw_front_advice[] = "install it (pip: nvidia-nvjitlink, for CUDA 12 nvidia-nvjitlink-cu12)";

static bool valid(nvJitLinkHandle link)
{
    return link && link->self == link;
}

/* ---- Life. */

/* As NVIDIA's, leaves a handle after an error too: its log says what is wrong. */
nvJitLinkResult awnvjitlink_nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t numOptions, const char **options)
{
    if (!handle)
        return NVJITLINK_ERROR_NULL_INPUT;
    struct aw_jitlink *link = calloc(1, sizeof *link);
    if (!link)
        return NVJITLINK_ERROR_INTERNAL;
    link->self = link;
    *handle = link;
    return jitlink_options(link, numOptions, options);
}

nvJitLinkResult awnvjitlink_nvJitLinkDestroy(nvJitLinkHandle *handle)
{
    if (!handle || !valid(*handle))
        return NVJITLINK_ERROR_INVALID_INPUT;
    struct aw_jitlink *link = *handle;
    if (link->original)
        next_nvJitLinkDestroy(&link->original);
    for (size_t i = 0; i < link->options.n; i++)
        free(link->options.at[i]);
    for (size_t i = 0; i < link->texts.n; i++) {
        free(link->texts.at[i].ptr);
        free(link->texts.at[i].name);
    }
    aw_vec_fini(&link->options);
    aw_vec_fini(&link->texts);
    aw_buf_fini(&link->errors);
    aw_buf_fini(&link->infos);
    free(link->image);
    free(link->ptx_result);
    link->self = NULL;
    free(link);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

/* ---- Inputs. */

nvJitLinkResult awnvjitlink_nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType inputType, const void *data, size_t size,
                                             const char *name)
{
    if (!valid(handle) || !data || !size || handle->completed)
        return NVJITLINK_ERROR_INVALID_INPUT;
    return jitlink_add(handle, inputType, data, size, name && *name ? name : "<unnamed>");
}

nvJitLinkResult awnvjitlink_nvJitLinkAddFile(nvJitLinkHandle handle, nvJitLinkInputType inputType, const char *fileName)
{
    char *bytes;
    size_t size;
    if (!valid(handle) || !fileName || handle->completed)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (aw_file_read_regular(fileName, &bytes, &size) != AW_OK) {
        aw_buf_printf(&handle->errors, "ERROR: Could not read file '%s'\n", fileName);
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    nvJitLinkResult result = jitlink_add(handle, inputType, bytes, size, fileName);
    free(bytes);
    return result;
}

/* ---- Completing. */

/* With -ptx: what NVIDIA's library made is all there is. */
static nvJitLinkResult ptx_keep(struct aw_jitlink *link)
{
    link->ptx_result = strdup(link->texts.at[0].ptr);
    link->ptx_size = link->ptx_result ? strlen(link->ptx_result) + 1 : 0;
    return link->ptx_result ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult awnvjitlink_nvJitLinkComplete(nvJitLinkHandle handle)
{
    /* A link of nothing is a module with nothing in it. */
    static const char empty[] = ".version 7.0\n.target sm_52\n.address_size 64\n";
    nvJitLinkResult result = NVJITLINK_SUCCESS;
    if (!valid(handle) || handle->completed)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (handle->ptx && handle->texts.n) {
        aw_buf_printf(&handle->errors, "ERROR: -ptx requires that all inputs have LTOIR\n");
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    handle->completed = true;
    if (handle->original)
        result = jitlink_lto_finish(handle);
    if (!result && !handle->texts.n)
        result = jitlink_add_ptx(handle, empty, sizeof empty - 1, "<empty>");
    return result ? result : handle->ptx ? ptx_keep(handle) : jitlink_link(handle);
}

/* ---- Results. */

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size)
{
    if (!valid(handle) || !size || handle->ptx)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *size = handle->image_size;
    return handle->image ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin)
{
    if (!valid(handle) || !cubin || handle->ptx)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (!handle->image)
        return NVJITLINK_ERROR_INTERNAL;
    memcpy(cubin, handle->image, handle->image_size);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size)
{
    if (!valid(handle) || !size || !handle->ptx)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *size = handle->ptx_size;
    return handle->ptx_result ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx)
{
    if (!valid(handle) || !ptx || !handle->ptx)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (!handle->ptx_result)
        return NVJITLINK_ERROR_INTERNAL;
    memcpy(ptx, handle->ptx_result, handle->ptx_size);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size)
{
    aw_say(NVJITLINK_LTO);
    return NVJITLINK_ERROR_INTERNAL;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *ltoir)
{
    return NVJITLINK_ERROR_INTERNAL;
}

static nvJitLinkResult log_size(const struct aw_buf *log, size_t *size)
{
    if (!size)
        return NVJITLINK_ERROR_INVALID_INPUT;
    *size = log->len ? log->len + 1 : 0;
    return NVJITLINK_SUCCESS;
}

static nvJitLinkResult log_get(const struct aw_buf *log, char *text)
{
    if (!text)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (log->len)
        memcpy(text, log->ptr, log->len + 1);
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size)
{
    return valid(handle) ? log_size(&handle->errors, size) : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log)
{
    return valid(handle) ? log_get(&handle->errors, log) : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size)
{
    return valid(handle) ? log_size(&handle->infos, size) : NVJITLINK_ERROR_INVALID_INPUT;
}

nvJitLinkResult awnvjitlink_nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log)
{
    return valid(handle) ? log_get(&handle->infos, log) : NVJITLINK_ERROR_INVALID_INPUT;
}

/* The user's own version where there is one: it says which LTO code can be linked. */
nvJitLinkResult awnvjitlink_nvJitLinkVersion(unsigned int *major, unsigned int *minor)
{
    if (!major || !minor)
        return NVJITLINK_ERROR_INVALID_INPUT;
    if (aw_original_there())
        return next_nvJitLinkVersion(major, minor);
    *major = (unsigned)atoi(strstr(aw_front_soname, ".so.") + 4);
    *minor = *major == 12 ? 9 : 0;
    return NVJITLINK_SUCCESS;
}
