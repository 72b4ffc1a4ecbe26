/* Streams and events of the simulated HIP.  What is put on a stream is done when the call returns, so nothing is ever waited
 * for. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "hip.h"
#include "api.h"

struct event {
    _Atomic uint64_t nanoseconds;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    (void)flags, (void)priority;
    *stream = malloc(1);
    return hip_result(*stream ? HIP_SUCCESS : HIP_OUT_OF_MEMORY);
}

int hipStreamDestroy(void *stream)
{
    free(stream);
    return hip_result(HIP_SUCCESS);
}

int hipStreamQuery(void *stream)
{
    (void)stream;
    return hip_result(HIP_SUCCESS);
}

int hipStreamSynchronize(void *stream)
{
    (void)stream;
    return hip_result(HIP_SUCCESS);
}

int hipStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    (void)stream, (void)event, (void)flags;
    return hip_result(HIP_SUCCESS);
}

int hipStreamAddCallback(void *stream, void (*fn)(void *stream, int error, void *user), void *user, unsigned flags)
{
    (void)flags;
    fn(stream, hip_fault(), user);
    return hip_result(HIP_SUCCESS);
}

int hipEventCreateWithFlags(void **event, unsigned flags)
{
    (void)flags;
    *event = calloc(1, sizeof(struct event));
    return hip_result(*event ? HIP_SUCCESS : HIP_OUT_OF_MEMORY);
}

int hipEventDestroy(void *event)
{
    free(event);
    return hip_result(HIP_SUCCESS);
}

int hipEventRecord(void *event, void *stream)
{
    (void)stream;
    atomic_store(&((struct event *)event)->nanoseconds, now());
    return hip_result(HIP_SUCCESS);
}

int hipEventQuery(void *event)
{
    (void)event;
    return hip_result(HIP_SUCCESS);
}

int hipEventSynchronize(void *event)
{
    (void)event;
    return hip_result(HIP_SUCCESS);
}

int hipEventElapsedTime(float *ms, void *begin, void *end)
{
    struct event *from = begin, *to = end;
    *ms = (float)((double)(int64_t)(atomic_load(&to->nanoseconds) - atomic_load(&from->nanoseconds)) * 1e-6);
    return hip_result(HIP_SUCCESS);
}
