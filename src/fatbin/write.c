/* Making images: PTX texts that belong together become one ELF file, which this room reads back and the driver takes as a
 * "cubin".  Nothing is compressed, and there is no machine code in it: linking is the compiler's affair, at load. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, KIND_PTX = 1, EM_CUDA_ = 190, ELF_ALIGN = 8 };

/* Where the parts of the file lie. */
struct plan {
    size_t containers; /* bytes of all of them */
    size_t names, sections, total;
};

/* The padding that ELF leaves in its first 16 bytes says whose file it is. */
static const unsigned char ident[EI_NIDENT] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, ELFOSABI_STANDALONE, 1,
                                                'a', 'n', 'y', 'w', 'a', 'r', 'p' };

static const char section_names[] = "\0.nv_fatbin\0.shstrtab";
enum { NAME_FATBIN = 1, NAME_SHSTRTAB = 12, N_SECTIONS = 3 };

static size_t up(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static size_t entry_head(const struct aw_fatbin_text *text)
{
    return up(HEAD + (text->name ? strlen(text->name) : 0));
}

/* A container's 16 bytes, one entry's head, the text with its NUL, padded. */
static size_t container_size(const struct aw_fatbin_text *text)
{
    return 16 + entry_head(text) + up(text->len + 1);
}

static char *put(char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static void put_u16(char *at, uint16_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put_u32(char *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void put_u64(char *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* The memory is zero. */
static char *put_container(char *at, const struct aw_fatbin_text *text)
{
    size_t head = entry_head(text), size = container_size(text);
    put_u32(at, AW_FATBIN_MAGIC);
    put_u16(at + 4, 1);
    put_u16(at + 6, 16);
    put_u64(at + 8, size - 16);
    char *entry = at + 16;
    put_u16(entry, KIND_PTX);
    put_u16(entry + 2, 0x0101);
    put_u32(entry + 4, (uint32_t)head);
    put_u64(entry + 8, up(text->len + 1));
    put_u32(entry + 28, text->sm);
    put_u64(entry + 40, 0x11 | (text->debug ? AW_FATBIN_DEBUG : 0)); /* 64 bits, Linux */
    if (text->name && *text->name) {
        put_u32(entry + 32, HEAD);
        put_u32(entry + 36, (uint32_t)strlen(text->name));
        put(entry + HEAD, text->name, strlen(text->name));
    }
    put(entry + head, text->ptr, text->len);
    return at + size;
}

static void put_sections(char *file, const struct plan *plan)
{
    Elf64_Shdr sections[N_SECTIONS] = {
        [1] = { .sh_name = NAME_FATBIN, .sh_type = SHT_PROGBITS, .sh_offset = sizeof(Elf64_Ehdr), .sh_size = plan->containers,
                .sh_addralign = ELF_ALIGN },
        [2] = { .sh_name = NAME_SHSTRTAB, .sh_type = SHT_STRTAB, .sh_offset = plan->names, .sh_size = sizeof section_names,
                .sh_addralign = 1 },
    };
    put(file + plan->names, section_names, sizeof section_names);
    put(file + plan->sections, sections, sizeof sections);
}

char *aw_fatbin_write(const struct aw_fatbin_text texts[], size_t n, size_t *ret_size)
{
    struct plan plan = { 0 };
    for (size_t i = 0; i < n; i++) {
        if (texts[i].len > (size_t)1 << 30 || (texts[i].name && strlen(texts[i].name) > 1u << 16))
            return NULL;
        plan.containers += container_size(&texts[i]);
    }
    plan.names = sizeof(Elf64_Ehdr) + plan.containers;
    plan.sections = up(plan.names + sizeof section_names);
    plan.total = plan.sections + N_SECTIONS * sizeof(Elf64_Shdr);
    char *file = calloc(1, plan.total);
    if (!file)
        return NULL;
    Elf64_Ehdr head = { .e_type = ET_EXEC, .e_machine = EM_CUDA_, .e_version = EV_CURRENT, .e_shoff = plan.sections,
                        .e_ehsize = sizeof(Elf64_Ehdr), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = N_SECTIONS,
                        .e_shstrndx = N_SECTIONS - 1 };
    memcpy(head.e_ident, ident, sizeof ident);
    char *at = put(file, &head, sizeof head);
    for (size_t i = 0; i < n; i++)
        at = put_container(at, &texts[i]);
    put_sections(file, &plan);
    *ret_size = plan.total;
    return file;
}

/* ---- The size of an ELF file that lies somewhere in memory. */

/* Byte by byte and none of them zero, so that shorter text ends the look at its NUL. */
static bool is_ours(const unsigned char *at)
{
    for (size_t i = 0; i < sizeof ident; i++)
        if (at[i] != ident[i])
            return false;
    return true;
}

size_t aw_fatbin_elf_size(const void *elf, size_t available)
{
    Elf64_Ehdr head;
    if (available < sizeof head || !is_ours(elf))
        return 0;
    memcpy(&head, elf, sizeof head);
    const uint64_t most = (uint64_t)1 << 31;
    uint64_t end = sizeof head;
    if (head.e_ehsize != sizeof head || (head.e_shnum && head.e_shentsize != sizeof(Elf64_Shdr)) || head.e_shoff > most ||
        head.e_phoff > most)
        return 0;
    if (head.e_shoff + (uint64_t)head.e_shnum * sizeof(Elf64_Shdr) > end)
        end = head.e_shoff + (uint64_t)head.e_shnum * sizeof(Elf64_Shdr);
    if (head.e_phoff + (uint64_t)head.e_phnum * sizeof(Elf64_Phdr) > end)
        end = head.e_phoff + (uint64_t)head.e_phnum * sizeof(Elf64_Phdr);
    if (end > available)
        return 0;
    for (unsigned i = 0; i < head.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, (const char *)elf + head.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
            continue;
        if (section.sh_offset > most || section.sh_size > most)
            return 0;
        if (section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end <= available ? (size_t)end : 0;
}
