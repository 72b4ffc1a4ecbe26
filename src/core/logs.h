/* CUDA's log of errors ("Error Log Management"): the last messages in memory, callbacks that hear of each, and the file that
 * CUDA_LOG_FILE names.
 *
 * A message is a line of anywarp's own log at warn or above (base/log.h), or a call of the runtime that failed.  Calls of the
 * driver that fail are not among them.  Not the log on standard error, which goes on as ever.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_LOGS_H
#define AW_CORE_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Bytes of text that are kept, as CUDA keeps them; the oldest messages go first. */
#define AW_LOGS_MOST 25600u

/* CUlogLevel's numbers. */
enum aw_logs_level { AW_LOGS_ERROR = 0, AW_LOGS_WARNING = 1 };

/* `message` is the caller's for the call, `length` without its NUL. */
typedef void aw_logs_fn(void *user, int level, char *message, size_t length);
struct aw_logs_callback;

/* From now on messages are kept.  Costs nothing until there is one. */
void aw_logs_start(void);
/* Keeps a message and tells callbacks, once it has begun; `source` is a static string such as "CUDART".  From within a callback
 * it does nothing. */
void aw_logs_add(const char *source, enum aw_logs_level level, const char *text);

/* AW_ERR_INVALID_VALUE without a function.  The callback is called in the thread that has the message. */
enum aw_status aw_logs_register(aw_logs_fn *fn, void *user, struct aw_logs_callback **ret_callback);
/* A call that another thread has begun may still be under way at the return.  AW_ERR_INVALID_VALUE: not registered. */
enum aw_status aw_logs_unregister(struct aw_logs_callback *callback);

/* The number of the next message. */
uint32_t aw_logs_next(void);
/* The lines of messages from *io_from on (NULL: of all that are kept), each ended by a line feed, into `buffer` of *io_size bytes
 * and
 * NUL-terminated: whole lines, as many as there is room for.  *io_size becomes their length without the NUL, and *io_from the
 * number of the first message that is not among them.  Where messages from *io_from on are no longer kept the first line says so.
 * AW_ERR_INVALID_VALUE: no room for a line, and *io_size is 0. */
enum aw_status aw_logs_dump(uint32_t *io_from, char *buffer, size_t *io_size);

#endif
