/* Handles of cuDNN and its messages' settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "handle.h"

#include <stdlib.h>

#include "cudnn_proto.h"

enum { MAGIC = 0x63646e6e };

bool aw_dnn_handle_good(cudnnHandle_t handle)
{
    return handle && handle->magic == MAGIC;
}

cudnnStatus_t awcudnn_cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return CUDNN_STATUS_BAD_PARAM;
    struct cudnnContext *h = calloc(1, sizeof *h);
    if (!h)
        return CUDNN_STATUS_ALLOC_FAILED;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUDNN_STATUS_NOT_INITIALIZED;
    }
    h->magic = MAGIC;
    *handle = h;
    return CUDNN_STATUS_SUCCESS;
}

/* Waits for the device, as the documentation of cudnnCreate says. */
cudnnStatus_t awcudnn_cudnnDestroy(cudnnHandle_t handle)
{
    AW_DNN_NEED(handle, true);
    aw_lib_queue_settle(&handle->queue);
    handle->magic = 0;
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    AW_DNN_NEED(handle, true);
    handle->queue.stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    AW_DNN_NEED(handle, stream);
    *stream = handle->queue.stream;
    return CUDNN_STATUS_SUCCESS;
}

/* A call that fails says so itself; what fails later is the stream's. */
cudnnStatus_t awcudnn_cudnnQueryRuntimeError(cudnnHandle_t handle, cudnnStatus_t *status, cudnnErrQueryMode_t mode,
                                             cudnnRuntimeTag_t *tag)
{
    AW_DNN_NEED(handle, status);
    if (mode == 2 && cuStreamSynchronize(handle->queue.stream) != CUDA_SUCCESS)
        return CUDNN_STATUS_EXECUTION_FAILED;
    *status = CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- The messages' settings are kept; what there is to say goes to ANYWARP_LOG. */

static struct {
    unsigned mask;
    void *user;
    cudnnCallback_t callback;
} messages;

cudnnStatus_t awcudnn_cudnnSetCallback(unsigned mask, void *user, cudnnCallback_t callback)
{
    messages.mask = mask;
    messages.user = user;
    messages.callback = callback;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnGetCallback(unsigned *mask, void **user, cudnnCallback_t *callback)
{
    if (!mask || !user || !callback)
        return CUDNN_STATUS_BAD_PARAM;
    *mask = messages.mask;
    *user = messages.user;
    *callback = messages.callback;
    return CUDNN_STATUS_SUCCESS;
}
