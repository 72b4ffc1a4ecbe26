/* NVIDIA's own library behind one of ours that stands in front of it: where the user has it, and its functions.
 *
 * Only libraries that compile or link are opened this way: they need no GPU and ask no driver. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_FRONT_ORIGINAL_H
#define AW_LIBS_FRONT_ORIGINAL_H

#include <stdbool.h>
#include <stddef.h>

/* "libnvrtc.so.12": the SONAME both libraries have.  Each library defines it. */
extern const char aw_front_soname[] __attribute__((visibility("hidden")));
/* The environment variable that names the original's file or its folder, and what to tell who has none. */
extern const char aw_front_variable[], aw_front_advice[];

/* Is there an original?  Opens it at the first call.  Thread-safe. */
bool aw_original_there(void);
/* The original's function; NULL where it has none of the name, or there is no original, which is
 * said once.  `*cache` keeps it.  Thread-safe. */
void *aw_original_function(void **cache, const char *name);

#endif
