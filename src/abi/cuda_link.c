/* The driver API: just-in-time linking.  Version 1 and 2 of each call differ in nothing on a 64-bit machine. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "abi"
#include "abi/cuda_util.h"
#include "abi/jit.h"
#include "base/file.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* What a CUlinkState points to: the core's link, and the options given at its creation, whose log buffers all its calls fill. */
struct state {
    struct aw_handle handle;
    struct aw_link *link;
    struct aw_jit_options jit;
    pthread_mutex_t lock;
};

static struct aw_slab state_slab = AW_SLAB_INIT("link state", struct state);

static struct state *state_from(CUlinkState handle)
{
    return aw_slab_valid(&state_slab, handle) ? (struct state *)handle : NULL;
}

/* Ends a call: its log goes to the user's buffers, and to ours when it failed. */
static CUresult state_finish(struct state *state, const char *what, enum aw_status status, struct aw_buf *log)
{
    const char *text = log->ptr ?: "";
    aw_abi_jit_write(&state->jit, status, text);
    if (status)
        aw_say(LINK_FAILED, what, aw_status_text(status), *text ? "\n" : "", text);
    aw_buf_fini(log);
    pthread_mutex_unlock(&state->lock);
    return cu_result(status);
}

CUresult awcu_cuLinkCreate_v2(unsigned int numOptions, const CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
    struct aw_ctx *ctx;
    struct aw_jit_options jit;
    enum aw_status status = aw_ctx_current(&ctx);
    if (status)
        return cu_result(status);
    if (!stateOut)
        return CUDA_ERROR_INVALID_VALUE;
    status = aw_abi_jit_read(numOptions, options, optionValues, &jit);
    if (status)
        return cu_result(status);
    struct state *state = aw_slab_take(&state_slab);
    if (!state)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = aw_link_create(ctx, jit.opt_level, &state->link);
    if (status) {
        aw_slab_give(&state_slab, state);
        return cu_result(status);
    }
    state->jit = jit;
    pthread_mutex_init(&state->lock, NULL);
    aw_slab_publish(&state_slab, state);
    *stateOut = (CUlinkState)state;
    return CUDA_SUCCESS;
}

CUresult awcu_cuLinkCreate(unsigned int numOptions, const CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
    return awcu_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

/* An input's own options concern its compilation: they are checked, and have nothing to say here. */
static enum aw_status input_check(CUjitInputType type, unsigned n, const CUjit_option *options, void **values)
{
    struct aw_jit_options ignored;
    return (unsigned)type >= CU_JIT_NUM_INPUT_TYPES ? AW_ERR_INVALID_VALUE : aw_abi_jit_read(n, options, values, &ignored);
}

CUresult awcu_cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void *data, size_t size, const char *name,
                               unsigned int numOptions, const CUjit_option *options, void **optionValues)
{
    struct aw_buf log = { 0 };
    struct state *state = state_from(handle);
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    enum aw_status status = input_check(type, numOptions, options, optionValues);
    if (status || !data || !size)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state->lock);
    aw_abi_jit_restart(&state->jit);
    status = aw_link_add(state->link, (enum aw_link_input)type, data, size, name, &log);
    return state_finish(state, "an input cannot be linked", status, &log);
}

CUresult awcu_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                            unsigned int numOptions, const CUjit_option *options, void **optionValues)
{
    return awcu_cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult awcu_cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char *path, unsigned int numOptions,
                               const CUjit_option *options, void **optionValues)
{
    struct aw_buf log = { 0 };
    struct state *state = state_from(handle);
    char *bytes = NULL;
    size_t size = 0;
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    enum aw_status status = input_check(type, numOptions, options, optionValues);
    if (status || !path)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state->lock);
    aw_abi_jit_restart(&state->jit);
    status = aw_file_read_regular(path, &bytes, &size);
    if (status && status != AW_ERR_OUT_OF_MEMORY) {
        status = AW_ERR_FILE_NOT_FOUND;
        aw_buf_printf(&log, "%s: cannot be read\n", path);
    }
    if (status == AW_OK)
        status = aw_link_add(state->link, (enum aw_link_input)type, bytes, size, path, &log);
    free(bytes);
    return state_finish(state, "an input cannot be linked", status, &log);
}

CUresult awcu_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
                            const CUjit_option *options, void **optionValues)
{
    return awcu_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

CUresult awcu_cuLinkComplete(CUlinkState handle, void **cubinOut, size_t *sizeOut)
{
    struct aw_buf log = { 0 };
    struct state *state = state_from(handle);
    void *image;
    size_t size;
    if (!state)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!cubinOut)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&state->lock);
    aw_abi_jit_restart(&state->jit);
    enum aw_status status = aw_link_complete(state->link, &image, &size, &log);
    if (status == AW_OK) {
        *cubinOut = image;
        if (sizeOut)
            *sizeOut = size;
    }
    return state_finish(state, "a link failed", status, &log);
}

CUresult awcu_cuLinkDestroy(CUlinkState handle)
{
    struct state *state = state_from(handle);
    if (!state || !aw_slab_kill(&state_slab, state))
        return CUDA_ERROR_INVALID_HANDLE;
    aw_link_destroy(state->link);
    pthread_mutex_destroy(&state->lock);
    aw_slab_give(&state_slab, state);
    return CUDA_SUCCESS;
}
