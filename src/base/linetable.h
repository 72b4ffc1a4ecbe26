/* Reading line tables: from an address in a code object to file and line, or all rows.  DWARF 2 to 4, as our compiler writes
 * them; no debugger. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_BASE_LINETABLE_H
#define AW_BASE_LINETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AW_PLACE_FILE = 512 }; /* bytes of a file's name, its end included */

struct aw_place {
    char file[AW_PLACE_FILE]; /* with its directory; cut at its beginning when longer */
    uint32_t line, column;
};

/* What a file is called that is no source but a function's machine code, lifted (docs/lifting.md): this and the function's name.
 * Its lines are bytes of the code. */
#define AW_LINES_OF_CODE "machine code of "

/* "FILE:LINE", or "machine code of NAME+0xOFFSET". */
void aw_place_text(const struct aw_place *place, char *ret_text, size_t size);

/* The place of the instruction at `address`, as the ELF file `elf` numbers addresses.  The table is not trusted: false when it
 * is broken, is not there or does not know. */
bool aw_linetable_find(const void *elf, size_t size, uint64_t address, struct aw_place *ret_place);

/* One row: code from `begin` up to `end` comes from that line.  Of a section that was not linked yet addresses are offsets in
 * what a relocation names, at `sequence`, where in the section the address stands that the row is reckoned from. */
struct aw_line_row {
    size_t sequence;
    uint64_t begin, end, file;
    size_t files; /* the same for rows whose `file` numbers are of one list */
    uint32_t line;
    const void *unit; /* for aw_linetable_file */
};

/* Tells all rows of a .debug_line section, in their order, but those without a line; stops where the table is broken, or where
 * `told` says so by false. */
void aw_linetable_walk(const void *section, size_t size, bool (*told)(void *user, const struct aw_line_row *row), void *user);
/* Within `told`: the row's file, with its directory, cut at its beginning when longer.  False when the table does not say. */
bool aw_linetable_file(const struct aw_line_row *row, char ret_file[AW_PLACE_FILE]);

/* Whether the machine code of `elf` is what was loaded at `base`, in readable memory: then a table of the one holds for the
 * other. */
bool aw_linetable_fits(const void *elf, size_t size, const void *base);

#endif
