/* Optional shared libraries: open the first of several names and fill a table of function pointers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_DL_H
#define AW_BASE_DL_H

#include <stdbool.h>
#include <stddef.h>

struct aw_dl_symbol {
    const char *name;
    size_t offset;  /* of the pointer in the table */
    bool required;
};

/* Opens the first of `names` (NULL-terminated) that loads, resolves `symbols` (name NULL ends) into `table`.  Returns the
 * handle (owned by the caller, dlclose), or NULL with the reason in ret_why (`why_size` bytes, cut to fit); a missing
 * required symbol closes the library again.  Missing optional symbols read NULL.  Thread-safe. */
void *aw_dl_open(const char *const names[], const struct aw_dl_symbol symbols[], void *table, char *ret_why, size_t why_size);

#endif
