/* Reading the environment: the only place that does, with config.c.
 *
 * A program may run with more rights than who started it (setuid, setgid, file capabilities; the kernel says so by AT_SECURE).
 * Then the environment is the caller's and must choose neither what is loaded or executed nor where is written.
 * tests/unit/rooms.py sees that nothing else calls getenv.
 *
 * What is a setting of ours (base/config.def) and not in the environment may be in the user's file of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_ENV_H
#define AW_BASE_ENV_H

#include <stdlib.h>

/* The variable's value, borrowed until the environment changes; NULL when it is not set or the program is privileged. */
const char *aw_env(const char *name);

/* The same in privileged programs too: for what can do no harm there, such as which of the devices are seen. */
const char *aw_env_harmless(const char *name);

#endif
