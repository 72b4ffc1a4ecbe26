/* Logging by consequence: err (something a user asked for failed), fixme (not implemented, once per site), warn (it
 * goes on, but not as asked), info, trace.  ANYWARP_LOG=level[:room][,...] on standard error; default warn.  Thread-safe.
 *
 * What is for users is a row of base/message.def, and is printed with the row's code:
 *
 *     aw_say(CACHE_SIZE, text);        anywarp: warn: cache: ANYWARP_CACHE_MAX_SIZE=many is no size (...); using 4G [AW1104]
 *
 * Trace lines have no row. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_LOG_H
#define AW_BASE_LOG_H

#include <stdbool.h>

enum aw_log_level { AW_LOG_ERR, AW_LOG_FIXME, AW_LOG_WARN, AW_LOG_INFO, AW_LOG_TRACE };

/* Of each row its number, level and format; the compiler looks through the arrays when it checks arguments. */
#define AW_MESSAGES(title)
#define AW_MESSAGE(name, number, level, text, meaning, remedy)              \
    enum { AW_CODE_##name = number, AW_LEVEL_##name = AW_LOG_##level };     \
    static const char AW_TEXT_##name[] __attribute__((unused)) = text;
#include "base/message.def"
#undef AW_MESSAGE
#undef AW_MESSAGES
#define AW_LEVEL(name) ((enum aw_log_level)AW_LEVEL_##name)
#define AW_ROW(name) AW_LEVEL(name), AW_CODE_##name, AW_TEXT_##name

/* `room` is a static string such as "core". */
bool aw_log_on(enum aw_log_level level, const char *room);

/* A line of the log; `code` 0: without one.  Mostly by aw_say; by itself, aw_log(room, AW_ROW(NAME), ...), where the room is
 * another or once per site is too seldom. */
void aw_log(const char *room, enum aw_log_level level, int code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* From now on `tap` hears of each line at warn or above that is logged, too, without what comes before its text: "cannot open x".
 * Called in the thread that logs.  One at a time: the last. */
void aw_log_tap(void (*tap)(enum aw_log_level level, const char *text));

/* A tool's own line, whatever ANYWARP_LOG says: "WHO: text [code]". */
void aw_log_tool(const char *who, enum aw_log_level level, int code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
#define aw_tell(who, name, ...) aw_log_tool(who, AW_ROW(name), ##__VA_ARGS__)

/* Each file that logs defines AW_ROOM first, e.g. #define AW_ROOM "core". */
#define aw_say(name, ...)                                                                                    \
    do {                                                                                                     \
        static _Bool aw_once_;                                                                               \
        if (AW_LEVEL(name) == AW_LOG_FIXME ? !__atomic_test_and_set(&aw_once_, __ATOMIC_RELAXED)             \
                                           : AW_LEVEL(name) < AW_LOG_INFO || aw_log_on(AW_LOG_INFO, AW_ROOM)) \
            aw_log(AW_ROOM, AW_ROW(name), ##__VA_ARGS__);                                                    \
    } while (0)
#define aw_trace(...) (aw_log_on(AW_LOG_TRACE, AW_ROOM) ? aw_log(AW_ROOM, AW_LOG_TRACE, 0, __VA_ARGS__) : (void)0)

#endif
