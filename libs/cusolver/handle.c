/* Handles of cuSOLVER's dense part and their settings. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "amd.h"
#include "call.h"
#include "cusolver_proto.h"

enum { MAGIC = 0x736f6c76 };
#define INVALID CUSOLVER_STATUS_INVALID_VALUE

cusolverStatus_t aw_solver_handle_check(cusolverDnHandle_t handle)
{
    return handle && handle->magic == MAGIC ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_INITIALIZED;
}

cusolverStatus_t awcusolver_cusolverDnCreate(cusolverDnHandle_t *handle)
{
    struct cusolverDnContext *h = handle ? calloc(1, sizeof *h) : NULL;
    if (!h)
        return handle ? CUSOLVER_STATUS_ALLOC_FAILED : INVALID;
    if (aw_lib_queue_init(&h->queue) != CUDA_SUCCESS) {
        free(h);
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    h->magic = MAGIC;
    h->deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
    h->math = CUSOLVER_DEFAULT_MATH;
    *handle = h;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnDestroy(cusolverDnHandle_t handle)
{
    cusolverStatus_t status = aw_solver_handle_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    aw_amd_solver_drop(handle);
    handle->magic = 0;
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

#define SETTING(name, type, field, valid)                                                   \
    cusolverStatus_t awcusolver_cusolverDnSet##name(cusolverDnHandle_t handle, type value)  \
    {                                                                                       \
        cusolverStatus_t status = aw_solver_handle_check(handle);                           \
        if (status == CUSOLVER_STATUS_SUCCESS && !(valid))                                  \
            status = INVALID;                                                               \
        if (status == CUSOLVER_STATUS_SUCCESS)                                              \
            handle->field = value;                                                          \
        return status;                                                                      \
    }                                                                                       \
    cusolverStatus_t awcusolver_cusolverDnGet##name(cusolverDnHandle_t handle, type *value) \
    {                                                                                       \
        cusolverStatus_t status = aw_solver_handle_check(handle);                           \
        if (status == CUSOLVER_STATUS_SUCCESS && !value)                                    \
            status = INVALID;                                                               \
        if (status == CUSOLVER_STATUS_SUCCESS)                                              \
            *value = handle->field;                                                         \
        return status;                                                                      \
    }

SETTING(Stream, cudaStream_t, queue.stream, true)
/* All here is deterministic, and as exact as the types allow. */
SETTING(DeterministicMode, cusolverDeterministicMode_t, deterministic, value == 1 || value == 2)
SETTING(MathMode, cusolverMathMode_t, math, (int)value >= 1 && (int)value <= 3)

/* ---- Options for algorithms, which here have no choice. */

struct cusolverDnParams {
    cusolverAlgMode_t algorithm[3];
};

cusolverStatus_t awcusolver_cusolverDnCreateParams(cusolverDnParams_t *params)
{
    struct cusolverDnParams *p = params ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return params ? CUSOLVER_STATUS_ALLOC_FAILED : INVALID;
    *params = p;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnDestroyParams(cusolverDnParams_t params)
{
    free(params);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t awcusolver_cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                                    cusolverAlgMode_t algorithm)
{
    if (!params || (unsigned)function > CUSOLVERDN_SYEVBATCHED || (unsigned)algorithm > CUSOLVER_ALG_2)
        return INVALID;
    params->algorithm[function] = algorithm;
    return CUSOLVER_STATUS_SUCCESS;
}
