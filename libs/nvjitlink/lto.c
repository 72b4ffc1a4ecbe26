/* LTO code: NVIDIA's library has a link of its own for it, which ends in PTX. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "front/original.h"
#include "jitlink.h"

/* NVIDIA's log of one kind, appended to ours. */
static void log_copy(struct aw_jitlink *link, bool errors)
{
    size_t size = 0;
    char *text = NULL;
    if ((errors ? next_nvJitLinkGetErrorLogSize(link->original, &size) : next_nvJitLinkGetInfoLogSize(link->original, &size)) ==
            0 &&
        size)
        text = calloc(1, size + 1);
    if (text && (errors ? next_nvJitLinkGetErrorLog(link->original, text) : next_nvJitLinkGetInfoLog(link->original, text)) == 0)
        aw_buf_str(errors ? &link->errors : &link->infos, aw_str_from(text));
    free(text);
}

static nvJitLinkResult original_start(struct aw_jitlink *link)
{
    AW_VEC(const char *) options = { 0 };
    nvJitLinkResult result = NVJITLINK_ERROR_INTERNAL;
    bool room = aw_vec_reserve(&options, link->options.n + 1);
    for (size_t i = 0; room && i < link->options.n; i++)
        options.at[options.n++] = link->options.at[i];
    if (room && !link->ptx)
        options.at[options.n++] = "-ptx";
    if (room)
        result = next_nvJitLinkCreate(&link->original, (uint32_t)options.n, options.at);
    aw_vec_fini(&options);
    if (result && link->original)
        log_copy(link, true);
    if (result && !aw_original_there())
        aw_buf_printf(&link->errors, "LTO code needs NVIDIA's %s, which was not found: %s\n", aw_front_soname, aw_front_advice);
    return result;
}

nvJitLinkResult jitlink_add_lto(struct aw_jitlink *link, nvJitLinkInputType type, const void *data, size_t size, const char *name)
{
    nvJitLinkResult result = NVJITLINK_SUCCESS;
    if (!link->lto) {
        aw_buf_printf(&link->errors, "ERROR: '%s' is LTO code, which requires -lto\n", name);
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    if (!link->original)
        result = original_start(link);
    if (result == NVJITLINK_SUCCESS) {
        result = next_nvJitLinkAddData(link->original, type, data, size, name);
        if (result)
            log_copy(link, true);
    }
    return result;
}

nvJitLinkResult jitlink_lto_finish(struct aw_jitlink *link)
{
    size_t size = 0;
    nvJitLinkResult result = next_nvJitLinkComplete(link->original);
    log_copy(link, false);
    if (result == NVJITLINK_SUCCESS)
        result = next_nvJitLinkGetLinkedPtxSize(link->original, &size);
    char *text = result ? NULL : calloc(1, size + 1);
    if (!result)
        result = text ? next_nvJitLinkGetLinkedPtx(link->original, text) : NVJITLINK_ERROR_INTERNAL;
    if (result)
        log_copy(link, true);
    else
        result = jitlink_add_ptx(link, text, size, "LTO code");
    free(text);
    return result;
}
