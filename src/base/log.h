/* Logging by consequence: err (something a user asked for failed), fixme (not implemented, once per site), warn (it
 * goes on, but not as asked), info, trace.  ANYWARP_LOG=level[:room][,...] on standard error; default warn.  Thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_LOG_H
#define AW_BASE_LOG_H

#include <stdbool.h>

enum aw_log_level { AW_LOG_ERR, AW_LOG_FIXME, AW_LOG_WARN, AW_LOG_INFO, AW_LOG_TRACE };

/* `room` is a static string such as "core". */
bool aw_log_on(enum aw_log_level level, const char *room);
void aw_log(enum aw_log_level level, const char *room, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Each file that logs defines AW_ROOM first, e.g. #define AW_ROOM "core". */
#define aw_err(...) aw_log(AW_LOG_ERR, AW_ROOM, __VA_ARGS__)
#define aw_warn(...) aw_log(AW_LOG_WARN, AW_ROOM, __VA_ARGS__)
#define aw_info(...) (aw_log_on(AW_LOG_INFO, AW_ROOM) ? aw_log(AW_LOG_INFO, AW_ROOM, __VA_ARGS__) : (void)0)
#define aw_trace(...) (aw_log_on(AW_LOG_TRACE, AW_ROOM) ? aw_log(AW_LOG_TRACE, AW_ROOM, __VA_ARGS__) : (void)0)
#define aw_fixme(...)                                              \
    do {                                                           \
        static _Bool aw_once_;                                     \
        if (!__atomic_test_and_set(&aw_once_, __ATOMIC_RELAXED))   \
            aw_log(AW_LOG_FIXME, AW_ROOM, __VA_ARGS__);            \
    } while (0)

#endif
