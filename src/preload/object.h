/* A view of an ELF file on disk: sections and symbols, for objects already loaded into this process.
 *
 * No libelf: this runs inside every process under `anywarp run`, between relocation and the first constructor, where neither a
 * further library nor the program's own malloc may be used.  Nothing in the file is trusted. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PRELOAD_OBJECT_H
#define AW_PRELOAD_OBJECT_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aw_elf_symbols {
    const Elf64_Sym *syms;
    size_t n;
    const char *strings; /* NUL-terminated at strings[strings_size - 1] */
    size_t strings_size;
};

struct aw_elf {
    const unsigned char *bytes; /* the file, mapped read-only */
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Phdr *segments;
    size_t n_segments;
    struct aw_elf_symbols symtab, dynsym; /* n is 0 where there is none */
    const Elf64_Rela *relatives; /* relocations that add the load address, by address where the linker sorts them */
    size_t n_relatives;
    bool has_fatbin;                      /* a section that nvcc makes for device code, or what such a one begins with */
    bool has_page_tls;                    /* thread-local variables in pages of their own, as CUDA's runtime has them */
    bool has_sections;                    /* there are section headers, all of them in the file */
    bool cut;                             /* there were, but the file ends before them or in them */
};

/* False, with nothing to undo, when the file cannot be read or is no 64-bit x86 ELF executable or shared object. */
bool aw_elf_open(struct aw_elf *elf, const char *path);
void aw_elf_close(struct aw_elf *elf);

/* "" where the file says none; borrowed from it. */
const char *aw_elf_soname(const struct aw_elf *elf);

/* "" when the name lies outside the string table. */
const char *aw_elf_name(const struct aw_elf_symbols *table, const Elf64_Sym *sym);

/* `size` bytes that are loaded at `address`, or NULL when the file does not have them all, or not at a multiple of `align`. */
const void *aw_elf_loaded(const struct aw_elf *elf, uint64_t address, uint64_t size, size_t align);

/* The executable segment that holds [address, address + size) with file bytes behind all of it; NULL when there is none. */
const Elf64_Phdr *aw_elf_code_segment(const struct aw_elf *elf, uint64_t address, uint64_t size);

#endif
