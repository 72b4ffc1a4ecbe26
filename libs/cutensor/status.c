/* cuTENSOR's version, the names of its status codes, and the program's logger, which is told of errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cutensor_proto.h"
#include "tensor.h"

const char *awcutensor_cutensorGetErrorString(cutensorStatus_t error)
{
    switch (error) {
#define NAME(x) \
    case x: return #x
        NAME(CUTENSOR_STATUS_SUCCESS);
        NAME(CUTENSOR_STATUS_NOT_INITIALIZED);
        NAME(CUTENSOR_STATUS_ALLOC_FAILED);
        NAME(CUTENSOR_STATUS_INVALID_VALUE);
        NAME(CUTENSOR_STATUS_ARCH_MISMATCH);
        NAME(CUTENSOR_STATUS_MAPPING_ERROR);
        NAME(CUTENSOR_STATUS_EXECUTION_FAILED);
        NAME(CUTENSOR_STATUS_INTERNAL_ERROR);
        NAME(CUTENSOR_STATUS_NOT_SUPPORTED);
        NAME(CUTENSOR_STATUS_LICENSE_ERROR);
        NAME(CUTENSOR_STATUS_CUBLAS_ERROR);
        NAME(CUTENSOR_STATUS_CUDA_ERROR);
        NAME(CUTENSOR_STATUS_INSUFFICIENT_WORKSPACE);
        NAME(CUTENSOR_STATUS_INSUFFICIENT_DRIVER);
        NAME(CUTENSOR_STATUS_IO_ERROR);
#undef NAME
    }
    return "CUTENSOR_STATUS_UNKNOWN";
}

/* Of the header that the table was taken from. */
size_t awcutensor_cutensorGetVersion(void)
{
    return 2 * 10000 + 8 * 100 + 0;
}

/* The oldest runtime that programs may have: some refuse a library that is newer than it. */
size_t awcutensor_cutensorGetCudartVersion(void)
{
    return 12000;
}

/* ---- The logger */

enum { LEVEL_ERROR = 1, MASK_ERROR = 1 };

static struct {
    pthread_mutex_t lock;
    cutensorLoggerCallback_t callback;
    FILE *file;
    bool owned; /* the file is ours to close */
    int32_t level, mask;
    bool off;
} logger = { .lock = PTHREAD_MUTEX_INITIALIZER };

cutensorStatus_t aw_tensor_fail(cutensorStatus_t status, const char *function, const char *why)
{
    pthread_mutex_lock(&logger.lock);
    bool on = !logger.off && (logger.level >= LEVEL_ERROR || logger.mask & MASK_ERROR);
    cutensorLoggerCallback_t callback = on ? logger.callback : NULL;
    if (on && logger.file) {
        fprintf(logger.file, "[cuTENSOR][Error][%s] %s: %s\n", function, awcutensor_cutensorGetErrorString(status), why);
        fflush(logger.file);
    }
    pthread_mutex_unlock(&logger.lock);
    if (callback)
        callback(LEVEL_ERROR, function, why);
    return status;
}

cutensorStatus_t aw_tensor_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? CUTENSOR_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUTENSOR_STATUS_ALLOC_FAILED
                                        : CUTENSOR_STATUS_CUDA_ERROR;
}

static void file_set(FILE *file, bool owned)
{
    pthread_mutex_lock(&logger.lock);
    FILE *old = logger.owned ? logger.file : NULL;
    logger.file = file;
    logger.owned = owned;
    pthread_mutex_unlock(&logger.lock);
    if (old)
        fclose(old);
}

cutensorStatus_t awcutensor_cutensorLoggerSetCallback(cutensorLoggerCallback_t callback)
{
    pthread_mutex_lock(&logger.lock);
    logger.callback = callback;
    pthread_mutex_unlock(&logger.lock);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorLoggerSetFile(FILE *file)
{
    if (!file)
        return CUTENSOR_STATUS_INVALID_VALUE;
    file_set(file, false);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorLoggerOpenFile(const char *name)
{
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file)
        return name ? CUTENSOR_STATUS_IO_ERROR : CUTENSOR_STATUS_INVALID_VALUE;
    file_set(file, true);
    return CUTENSOR_STATUS_SUCCESS;
}

static cutensorStatus_t number_set(int32_t *number, int32_t value, int32_t most)
{
    if (value < 0 || value > most)
        return CUTENSOR_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&logger.lock);
    *number = value;
    pthread_mutex_unlock(&logger.lock);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorLoggerSetLevel(int32_t level)
{
    return number_set(&logger.level, level, 5);
}

cutensorStatus_t awcutensor_cutensorLoggerSetMask(int32_t mask)
{
    return number_set(&logger.mask, mask, 31);
}

cutensorStatus_t awcutensor_cutensorLoggerForceDisable(void)
{
    pthread_mutex_lock(&logger.lock);
    logger.off = true;
    pthread_mutex_unlock(&logger.lock);
    return CUTENSOR_STATUS_SUCCESS;
}
