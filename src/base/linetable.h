/* Reading line tables: from an address in a code object to file and line.  DWARF 2 to 4, as our compiler writes them; no
 * debugger. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_LINETABLE_H
#define AW_BASE_LINETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aw_place {
    char file[512]; /* with its directory; cut at its beginning when longer */
    uint32_t line, column;
};

/* The place of the instruction at `address`, as the ELF file `elf` numbers addresses.  The table is not trusted: false when it
 * is broken, is not there or does not know. */
bool aw_linetable_find(const void *elf, size_t size, uint64_t address, struct aw_place *ret_place);

/* Whether the machine code of `elf` is what was loaded at `base`, in readable memory: then a table of the one holds for the
 * other. */
bool aw_linetable_fits(const void *elf, size_t size, const void *base);

#endif
