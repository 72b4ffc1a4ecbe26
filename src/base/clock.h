/* Time that only goes forwards, whatever the machine's clock is set to: for how long something takes, not for when it was. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CLOCK_H
#define AW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment before; any thread, and in signal handlers. */
static inline uint64_t aw_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The same in milliseconds. */
static inline int64_t aw_clock_ms(void)
{
    return (int64_t)(aw_clock_ns() / 1000000);
}

#endif
