/* NCCL's version and the texts of its results. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "nccl_proto.h"

#define AW_ROOM "nccl"

/* Of the release that the table was taken from, 2.32.3. */
enum { VERSION = 23203 };

ncclResult_t awnccl_ncclGetVersion(int *version)
{
    if (!version)
        return ncclInvalidArgument;
    *version = VERSION;
    return ncclSuccess;
}

const char *awnccl_ncclGetErrorString(ncclResult_t result)
{
    static const char *const texts[] = {
        [ncclSuccess] = "no error",
        [ncclUnhandledCudaError] = "unhandled cuda error (ANYWARP_LOG=warn says more)",
        [ncclSystemError] = "unhandled system error (ANYWARP_LOG=warn says more)",
        [ncclInternalError] = "internal error (ANYWARP_LOG=warn says more)",
        [ncclInvalidArgument] = "invalid argument (ANYWARP_LOG=warn says more)",
        [ncclInvalidUsage] = "invalid usage (ANYWARP_LOG=warn says more)",
        [ncclRemoteError] = "remote process exited or there was a network error",
        [ncclInProgress] = "NCCL operation in progress",
        [ncclTimeout] = "timeout",
    };
    return result >= 0 && (size_t)result < sizeof texts / sizeof texts[0] ? texts[result] : "unknown result code";
}

static char last_error[512];

void aw_nccl_error(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char text[sizeof last_error];
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    aw_say(NCCL_FAILED, text);
    memcpy(last_error, text, sizeof text);
}

const char *awnccl_ncclGetLastError(ncclComm_t comm)
{
    (void)comm;
    return last_error;
}
