/* Time that only goes forwards, whatever the machine's clock is set to, for how long something takes; and the machine's, for when
 * it was. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_CLOCK_H
#define AW_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t aw_clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Nanoseconds since some moment before; any thread, and in signal handlers. */
static inline uint64_t aw_clock_ns(void)
{
    return aw_clock_read(CLOCK_MONOTONIC);
}

/* The same in milliseconds. */
static inline int64_t aw_clock_ms(void)
{
    return (int64_t)(aw_clock_ns() / 1000000);
}

/* Nanoseconds since 1970, as the machine's clock has it. */
static inline uint64_t aw_clock_wall_ns(void)
{
    return aw_clock_read(CLOCK_REALTIME);
}

#endif
