/* One kernel of a file, looked for by its name or a part of it, and its PTX: as it is in the file, or lifted from machine
 * code. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TOOLS_DUMP_KERNEL_H
#define AW_TOOLS_DUMP_KERNEL_H

#include <anywarp/fatbin.h>

#include "base/str.h"
#include "base/vec.h"

/* Where there is a kernel of that name: the best of the images that have it. */
struct aw_dump_kernel {
    char *name, *plain;            /* as in the code; as in the source, or NULL; owned */
    struct aw_fatbin_entry entry;  /* of a container that lies in memory; else payload is the text or cubin itself */
    bool packed, is_ptx;           /* in a container; PTX, not machine code */
};

struct aw_dump_search {
    const char *wanted; /* NULL: nothing is looked for */
    AW_VEC(struct aw_dump_kernel) found;
    const char *unread; /* what is wrong with machine code that could not be looked through, static; NULL: nothing */
    bool failed;        /* no memory */
};

/* Looks through an image's kernels.  `entry` says where it lies, and is copied (what it points to is borrowed); `text` are its
 * bytes. */
void aw_dump_search_add(struct aw_dump_search *search, const struct aw_fatbin_entry *entry, bool packed, struct aw_str text);
/* The one kernel that was meant, borrowed: by its whole name, in the code or the source, else the only one with these words in
 * it.  NULL: none, or several; then *ret_why says so. */
const struct aw_dump_kernel *aw_dump_search_end(const struct aw_dump_search *search, struct aw_buf *ret_why);
/* Appends its PTX, or says in *ret_why why there is none. */
bool aw_dump_kernel_text(const struct aw_dump_kernel *kernel, struct aw_buf *ret_text, struct aw_buf *ret_why);
void aw_dump_search_fini(struct aw_dump_search *search);

#endif
