/* The libraries that the loader would give a program under `anywarp run`, without starting it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_NEEDS_H
#define AW_TOOLS_NEEDS_H

#include <stdbool.h>

#include "base/vec.h"
#include "locate.h"
#include "preload/object.h"

struct aw_need {
    char *name, *path; /* heap; path NULL: not found */
};
struct aw_needs {
    AW_VEC(struct aw_need) list;
};

/* Of the open file at `path`: what it needs, and what these need.  False when the loader cannot be asked.  Release in any
 * case. */
bool aw_needs_list(const struct aw_parts *parts, const struct aw_elf *elf, const char *path, struct aw_needs *ret_needs);
void aw_needs_fini(struct aw_needs *needs);

/* Is it one of CUDA's, or of NVIDIA's on top of it, by its name? */
bool aw_need_is_cudas(const char *name);
/* Is the file one of anywarp's? */
bool aw_need_is_ours(const struct aw_parts *parts, const char *path);

/* A segment that is in the file as a whole, or NULL. */
const Elf64_Phdr *aw_needs_segment(const struct aw_elf *elf, uint32_t type);

#endif
