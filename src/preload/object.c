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
    if (!sections)
        return;
    /* 0xff00 sections and more: the true numbers are in section 0. */
    uint64_t n = h->e_shnum ? h->e_shnum : sections[0].sh_size;
    uint64_t names_index = h->e_shstrndx == SHN_XINDEX ? sections[0].sh_link : h->e_shstrndx;
    if (!aw_elf_at(elf, h->e_shoff, n, sizeof *sections, _Alignof(Elf64_Shdr)) || names_index >= n)
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
    aw_elf_read_sections(elf);
    return true;
}

void aw_elf_close(struct aw_elf *elf)
{
    if (elf->bytes)
        munmap((void *)elf->bytes, elf->size);
    memset(elf, 0, sizeof *elf);
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
