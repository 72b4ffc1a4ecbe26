/* A view of an ELF file: see object.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/object.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* `n` items of `size` bytes at `offset`, or NULL when they are not all inside the file or not aligned for their type. */
static const void *aw_elf_at(const struct aw_elf *elf, uint64_t offset, uint64_t n, size_t size, size_t align)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || offset > elf->size || bytes > elf->size - offset || offset % align != 0)
        return NULL;
    return elf->bytes + offset;
}

static struct aw_elf_symbols aw_elf_symbols(const struct aw_elf *elf, const Elf64_Shdr *sections, size_t n_sections,
                                            const Elf64_Shdr *section)
{
    struct aw_elf_symbols none = { 0 }, table = { 0 };
    if (section->sh_link >= n_sections)
        return none;
    const Elf64_Shdr *strings = &sections[section->sh_link];
    table.n = section->sh_size / sizeof(Elf64_Sym);
    table.syms = aw_elf_at(elf, section->sh_offset, table.n, sizeof(Elf64_Sym), _Alignof(Elf64_Sym));
    table.strings = aw_elf_at(elf, strings->sh_offset, strings->sh_size, 1, 1);
    table.strings_size = strings->sh_size;
    if (!table.syms || !table.strings || table.strings_size == 0 || table.strings[table.strings_size - 1] != '\0')
        return none;
    return table;
}

static void aw_elf_read_sections(struct aw_elf *elf)
{
    const Elf64_Ehdr *h = elf->header;
    if (h->e_shoff == 0 || h->e_shentsize != sizeof(Elf64_Shdr))
        return;
    const Elf64_Shdr *sections = aw_elf_at(elf, h->e_shoff, 1, sizeof *sections, _Alignof(Elf64_Shdr));
    elf->cut = !sections;
    if (elf->cut)
        return;
    /* 0xff00 sections and more: the true numbers are in section 0. */
    uint64_t n = h->e_shnum ? h->e_shnum : sections[0].sh_size;
    uint64_t names_index = h->e_shstrndx == SHN_XINDEX ? sections[0].sh_link : h->e_shstrndx;
    elf->has_sections = aw_elf_at(elf, h->e_shoff, n, sizeof *sections, _Alignof(Elf64_Shdr)) != NULL;
    elf->cut = !elf->has_sections;
    if (elf->cut || names_index >= n)
        return;
    uint64_t names_size = sections[names_index].sh_size;
    const char *names = aw_elf_at(elf, sections[names_index].sh_offset, names_size, 1, 1);
    if (!names || names_size == 0 || names[names_size - 1] != '\0')
        return;
    for (size_t i = 1; i < n; i++) {
        const char *name = sections[i].sh_name < names_size ? names + sections[i].sh_name : "";
        if (sections[i].sh_type == SHT_SYMTAB)
            elf->symtab = aw_elf_symbols(elf, sections, n, &sections[i]);
        else if (sections[i].sh_type == SHT_DYNSYM)
            elf->dynsym = aw_elf_symbols(elf, sections, n, &sections[i]);
        else if (!strcmp(name, ".nv_fatbin") || !strcmp(name, ".nvFatBinSegment") || !strcmp(name, "__nv_relfatbin"))
            elf->has_fatbin = true;
    }
}

static void aw_elf_read_relatives(struct aw_elf *elf, const Elf64_Phdr *segment)
{
    const Elf64_Dyn *d = aw_elf_at(elf, segment->p_offset, segment->p_filesz / sizeof *d, sizeof *d, _Alignof(Elf64_Dyn));
    uint64_t address = 0, n = 0;
    for (size_t i = 0; d && i < segment->p_filesz / sizeof *d && d[i].d_tag != DT_NULL; i++) {
        address = d[i].d_tag == DT_RELA ? d[i].d_un.d_ptr : address;
        n = d[i].d_tag == DT_RELACOUNT ? d[i].d_un.d_val : n;
    }
    if (n == 0 || n > elf->size / sizeof(Elf64_Rela))
        return;
    elf->relatives = aw_elf_loaded(elf, address, n * sizeof(Elf64_Rela), _Alignof(Elf64_Rela));
    elf->n_relatives = elf->relatives ? n : 0;
}

/* ---- Where section headers are missing */

/* What a segment has of the file, of which it may be cut off; its first byte, NULL when there is none. */
static const unsigned char *aw_elf_segment(const struct aw_elf *elf, const Elf64_Phdr *p, uint64_t *ret_size)
{
    uint64_t left = p->p_offset < elf->size ? elf->size - p->p_offset : 0;
    *ret_size = p->p_filesz < left ? p->p_filesz : left;
    return *ret_size ? elf->bytes + p->p_offset : NULL;
}

const void *aw_elf_loaded(const struct aw_elf *elf, uint64_t address, uint64_t size, size_t align)
{
    for (size_t i = 0; i < elf->n_segments; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz &&
            size <= p->p_filesz - (address - p->p_vaddr))
            return aw_elf_at(elf, p->p_offset + (address - p->p_vaddr), 1, size, align);
    }
    return NULL;
}

/* The dynamic symbols.  How many they are is said nowhere; every linker puts their names behind them. */
static void aw_elf_read_dynamic(struct aw_elf *elf, const Elf64_Phdr *segment)
{
    const Elf64_Dyn *d = aw_elf_at(elf, segment->p_offset, segment->p_filesz / sizeof *d, sizeof *d, _Alignof(Elf64_Dyn));
    uint64_t syms = 0, strings = 0, size = 0;
    for (size_t i = 0; d && i < segment->p_filesz / sizeof *d && d[i].d_tag != DT_NULL; i++) {
        syms = d[i].d_tag == DT_SYMTAB ? d[i].d_un.d_ptr : syms;
        strings = d[i].d_tag == DT_STRTAB ? d[i].d_un.d_ptr : strings;
        size = d[i].d_tag == DT_STRSZ ? d[i].d_un.d_val : size;
    }
    struct aw_elf_symbols table = { .n = strings > syms ? (strings - syms) / sizeof(Elf64_Sym) : 0, .strings_size = size };
    table.syms = table.n ? aw_elf_loaded(elf, syms, table.n * sizeof(Elf64_Sym), _Alignof(Elf64_Sym)) : NULL;
    table.strings = size ? aw_elf_loaded(elf, strings, size, 1) : NULL;
    if (table.syms && table.strings && table.strings[size - 1] == '\0')
        elf->dynsym = table;
}

static bool aw_elf_has_container(const struct aw_elf *elf, const Elf64_Phdr *segment)
{
    /* include/anywarp/fatbin.h: the magic, version 1, its size */
    static const unsigned char head[8] = { 0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0 };
    uint64_t size;
    const unsigned char *p = aw_elf_segment(elf, segment, &size);
    for (uint64_t at = (8 - segment->p_offset % 8) % 8; p && at < size && size - at >= sizeof head; at += 8)
        if (!memcmp(p + at, head, sizeof head))
            return true;
    return false;
}

static void aw_elf_read_segments(struct aw_elf *elf)
{
    for (size_t i = 0; i < elf->n_segments; i++) {
        if (elf->segments[i].p_type == PT_DYNAMIC)
            aw_elf_read_dynamic(elf, &elf->segments[i]);
        if (elf->segments[i].p_type == PT_LOAD && !elf->has_fatbin)
            elf->has_fatbin = aw_elf_has_container(elf, &elf->segments[i]);
    }
}

enum { TLS_PAGE = 4096 };

bool aw_elf_open(struct aw_elf *elf, const char *path)
{
    struct stat st;
    memset(elf, 0, sizeof *elf);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Elf64_Ehdr);
    void *bytes = regular ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED)
        return false;
    elf->bytes = bytes;
    elf->size = (size_t)st.st_size;
    const Elf64_Ehdr *h = elf->header = bytes;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64 ||
        (h->e_type != ET_EXEC && h->e_type != ET_DYN) || h->e_phentsize != sizeof(Elf64_Phdr)) {
        aw_elf_close(elf);
        return false;
    }
    elf->segments = aw_elf_at(elf, h->e_phoff, h->e_phnum, sizeof(Elf64_Phdr), _Alignof(Elf64_Phdr));
    elf->n_segments = elf->segments ? h->e_phnum : 0;
    for (size_t i = 0; i < elf->n_segments; i++) {
        if (elf->segments[i].p_type == PT_DYNAMIC)
            aw_elf_read_relatives(elf, &elf->segments[i]);
        elf->has_page_tls |= elf->segments[i].p_type == PT_TLS && elf->segments[i].p_align == TLS_PAGE;
    }
    aw_elf_read_sections(elf);
    if (!elf->has_sections)
        aw_elf_read_segments(elf);
    return true;
}

void aw_elf_close(struct aw_elf *elf)
{
    if (elf->bytes)
        munmap((void *)elf->bytes, elf->size);
    memset(elf, 0, sizeof *elf);
}

static const char *aw_elf_segment_soname(const struct aw_elf *elf, const Elf64_Phdr *segment)
{
    const Elf64_Dyn *d = aw_elf_at(elf, segment->p_offset, segment->p_filesz / sizeof *d, sizeof *d, _Alignof(Elf64_Dyn));
    uint64_t strings = 0, size = 0, at = UINT64_MAX;
    for (size_t i = 0; d && i < segment->p_filesz / sizeof *d && d[i].d_tag != DT_NULL; i++) {
        strings = d[i].d_tag == DT_STRTAB ? d[i].d_un.d_ptr : strings;
        size = d[i].d_tag == DT_STRSZ ? d[i].d_un.d_val : size;
        at = d[i].d_tag == DT_SONAME ? d[i].d_un.d_val : at;
    }
    const char *table = at < size ? aw_elf_loaded(elf, strings, size, 1) : NULL;
    return table && table[size - 1] == '\0' ? table + at : "";
}

const char *aw_elf_soname(const struct aw_elf *elf)
{
    for (size_t i = 0; i < elf->n_segments; i++)
        if (elf->segments[i].p_type == PT_DYNAMIC)
            return aw_elf_segment_soname(elf, &elf->segments[i]);
    return "";
}

const char *aw_elf_name(const struct aw_elf_symbols *table, const Elf64_Sym *sym)
{
    return sym->st_name < table->strings_size ? table->strings + sym->st_name : "";
}

const Elf64_Phdr *aw_elf_code_segment(const struct aw_elf *elf, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < elf->n_segments; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && address >= p->p_vaddr && size <= p->p_filesz &&
            address - p->p_vaddr <= p->p_filesz - size)
            return p;
    }
    return NULL;
}
