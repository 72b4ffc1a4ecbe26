/* The driver API: CUDA's log of errors. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/logs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi/cuda_util.h"
#include "base/file.h"

CUresult awcu_cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData, CUlogsCallbackHandle *callback_out)
{
    aw_logs_start();
    return cu_result(aw_logs_register(callbackFunc, userData, (struct aw_logs_callback **)callback_out));
}

CUresult awcu_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    return cu_result(aw_logs_unregister((struct aw_logs_callback *)callback));
}

CUresult awcu_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    aw_logs_start();
    if (!iterator_out || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *iterator_out = aw_logs_next();
    return CUDA_SUCCESS;
}

CUresult awcu_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    return !buffer || !size || flags ? CUDA_ERROR_INVALID_VALUE : cu_result(aw_logs_dump(iterator, buffer, size));
}

CUresult awcu_cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
    size_t size = AW_LOGS_MOST + 256;
    CUlogIterator from = iterator ? *iterator : 0;
    if (!pathToFile || flags)
        return CUDA_ERROR_INVALID_VALUE;
    char *text = malloc(size);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    enum aw_status status = aw_logs_dump(&from, text, &size);
    int fd = status ? -1 : open(pathToFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    bool written = fd >= 0 && aw_fd_write_all(fd, text, size);
    written &= fd >= 0 && close(fd) == 0;
    free(text);
    if (!status && !written)
        return CUDA_ERROR_INVALID_VALUE;
    if (!status && iterator)
        *iterator = from;
    return cu_result(status);
}
