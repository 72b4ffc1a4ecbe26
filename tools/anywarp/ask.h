/* Asking in a child process what might crash or hang: somebody else's library, a kernel's launch. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_ASK_H
#define AW_TOOLS_ASK_H

#include <stdbool.h>
#include <stddef.h>

/* Runs fn(ret, arg) in a child and copies its *ret, `size` bytes without pointers, into this process's.  NULL when it
 * answered; else what became of the child, such as "ended with signal 11 (Segmentation fault)": static until the next call.
 * One thread. */
const char *aw_ask(void (*fn)(void *ret, const void *arg), const void *arg, void *ret, size_t size);

/* An fn: `ret` is a struct aw_hip_diagnosis, `arg` is not used. */
void aw_ask_hip(void *ret, const void *arg);

#endif
