/* Finding fatbin containers in an ELF file's bytes: by section where there are sections, else by the magic.  Nothing is
 * loaded or relocated; a container is handed out as it lies in the file.  And what cubins, which are ELF files, say of their
 * kernels' registers. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/fatbin.h>

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "fatbin/internal.h"

struct scan {
    const char *file;
    size_t size;
    bool (*each)(void *user, const void *container, size_t size);
    void *user;
    size_t found;
    bool stopped;
};

static bool has_magic(const char *at)
{
    uint32_t magic;
    memcpy(&magic, at, sizeof magic);
    return magic == AW_FATBIN_MAGIC;
}

/* In loaded data of unknown meaning the magic alone is weak: the two fixed fields behind it must agree. */
static bool looks_like_container(const char *at, size_t left)
{
    uint16_t version_and_size[2];
    if (left < 16)
        return false;
    memcpy(version_and_size, at + 4, sizeof version_and_size);
    return version_and_size[0] == 1 && version_and_size[1] == 16;
}

/* Hands out the containers that begin on 8-byte boundaries of [begin, begin+len).  `strict`: the bytes are known to be
 * containers and padding, so a magic without a sound head is an error. */
static int scan_range(struct scan *scan, size_t begin, size_t len, bool strict)
{
    size_t end = begin + len;
    for (size_t at = begin; at < end && end - at >= 4 && !scan->stopped;) {
        const char *bytes = scan->file + at;
        if (!has_magic(bytes) || (!strict && !looks_like_container(bytes, end - at))) {
            at += 8;
            continue;
        }
        size_t size = aw_fatbin_size(bytes, end - at);
        if (size == 0) {
            struct aw_fatbin_iter iter = { 0 };
            struct aw_fatbin_entry entry;
            int error;
            aw_fatbin_next(bytes, end - at, &iter, &entry, &error);
            return error;
        }
        scan->found++;
        scan->stopped = !scan->each(scan->user, bytes, size);
        if (size > end - at - 7)
            break;
        at += (size + 7) & ~(size_t)7;
    }
    return AW_FATBIN_OK;
}

/* Cuts a range to the file; true when it had to. */
static bool clip(const struct scan *scan, uint64_t offset, uint64_t *len)
{
    uint64_t left = offset < scan->size ? scan->size - offset : 0;
    if (*len <= left)
        return false;
    *len = left;
    return true;
}

static int scan_sections(struct scan *scan, Elf *elf)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return AW_FATBIN_OK;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn && !scan->stopped; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr sh;
        const char *name;
        if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || !(name = elf_strptr(elf, names, sh.sh_name)))
            continue;
        if (strcmp(name, ".nv_fatbin") != 0 && strcmp(name, "__nv_relfatbin") != 0)
            continue;
        uint64_t len = sh.sh_size;
        bool cut = clip(scan, sh.sh_offset, &len);
        int error = scan_range(scan, sh.sh_offset, len, true);
        if (error != AW_FATBIN_OK)
            return error;
        if (cut && !scan->stopped)
            return AW_FATBIN_TRUNCATED;
    }
    return AW_FATBIN_OK;
}

static int scan_segments(struct scan *scan, Elf *elf)
{
    size_t n;
    if (elf_getphdrnum(elf, &n) != 0)
        return AW_FATBIN_OK;
    for (size_t i = 0; i < n && !scan->stopped; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph))
            break;
        if (ph.p_type != PT_LOAD)
            continue;
        uint64_t len = ph.p_filesz;
        clip(scan, ph.p_offset, &len);
        /* containers are 8-aligned in memory, and offset and address agree modulo the page size */
        uint64_t skip = (8 - ph.p_offset % 8) % 8;
        int error = skip < len ? scan_range(scan, ph.p_offset + skip, len - skip, false) : AW_FATBIN_OK;
        if (error != AW_FATBIN_OK)
            return error;
    }
    return AW_FATBIN_OK;
}

/* Opens the bytes as an ELF file; NULL and *ret_error: they are none that is read here. */
static Elf *elf_open(const void *file, size_t size, int *ret_error)
{
    *ret_error = AW_FATBIN_OK;
    if (size < SELFMAG || memcmp(file, ELFMAG, SELFMAG) != 0)
        *ret_error = AW_FATBIN_BAD_MAGIC;
    else if (elf_version(EV_CURRENT) == EV_NONE)
        *ret_error = AW_FATBIN_UNSUPPORTED;
    if (*ret_error)
        return NULL;
    /* libelf only reads here: the file is of this machine's byte order, or refused below */
    Elf *elf = elf_memory((char *)(uintptr_t)file, size);
    if (!elf) { /* libelf says no more than that it failed */
        *ret_error = size < sizeof(Elf64_Ehdr) ? AW_FATBIN_TRUNCATED : AW_FATBIN_NO_MEMORY;
        return NULL;
    }
    const char *ident = elf_getident(elf, NULL);
    if (elf_kind(elf) != ELF_K_ELF)
        *ret_error = AW_FATBIN_TRUNCATED;
    else if (!ident || ident[EI_DATA] != ELFDATA2LSB)
        *ret_error = AW_FATBIN_UNSUPPORTED;
    if (!*ret_error)
        return elf;
    elf_end(elf);
    return NULL;
}

int aw_fatbin_each_in_elf(const void *file, size_t size, bool (*each)(void *user, const void *container, size_t size),
                          void *user)
{
    int error;
    Elf *elf = elf_open(file, size, &error);
    if (!elf)
        return error;
    struct scan scan = { .file = file, .size = size, .each = each, .user = user };
    error = scan_sections(&scan, elf);
    if (error == AW_FATBIN_OK && scan.found == 0 && !scan.stopped)
        error = scan_segments(&scan, elf);
    elf_end(elf);
    return error;
}

/* ---- What cubins say of registers: older ones in the heads of the code's sections, from sm_90 on in .nv.info, the file's
 * attributes: a byte of form and one of kind, 16 bits that are the size of what follows, or the value itself. */

enum { ATTR_FORM_SIZED = 4, ATTR_REGCOUNT = 0x2f };
static const char text_prefix[] = ".text.";

/* The name of the function that section `index` has the code of; NULL: it is no code. */
static const char *code_name(Elf *elf, size_t names, size_t index, uint32_t *ret_head)
{
    GElf_Shdr sh;
    Elf_Scn *scn = elf_getscn(elf, index);
    const char *name = scn && gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
    if (!name || strncmp(name, text_prefix, sizeof text_prefix - 1) != 0 || !(sh.sh_flags & SHF_EXECINSTR))
        return NULL;
    *ret_head = sh.sh_info;
    return name + sizeof text_prefix - 1;
}

/* The contents of the first section of that type, and of that name unless it is NULL; NULL: there is none. */
static Elf_Data *section_data(Elf *elf, size_t names, uint32_t type, const char *wanted)
{
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr sh;
        const char *name;
        if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
            continue;
        if (!wanted || ((name = elf_strptr(elf, names, sh.sh_name)) && strcmp(name, wanted) == 0))
            return elf_getdata(scn, NULL);
    }
    return NULL;
}

struct counts {
    Elf *elf;
    size_t names;
    void (*each)(void *user, const char *name, uint32_t registers);
    void *user;
};

static void count_of_symbol(const struct counts *c, Elf_Data *symbols, uint32_t symbol, uint32_t registers)
{
    GElf_Sym sym;
    uint32_t head;
    if (symbol > INT32_MAX || !gelf_getsym(symbols, (int)symbol, &sym))
        return;
    const char *name = code_name(c->elf, c->names, sym.st_shndx, &head);
    if (name)
        c->each(c->user, name, registers < 255 ? registers : 255);
}

static void counts_of_attributes(const struct counts *c)
{
    enum { SHT_NV_INFO = 0x70000000 };
    Elf_Data *info = section_data(c->elf, c->names, SHT_NV_INFO, ".nv.info"),
             *symbols = section_data(c->elf, c->names, SHT_SYMTAB, NULL);
    const unsigned char *at = info && symbols ? info->d_buf : NULL;
    for (size_t left = at ? info->d_size : 0; left >= 4;) {
        uint16_t size = 0;
        uint32_t value[2];
        if (at[0] == ATTR_FORM_SIZED)
            memcpy(&size, at + 2, sizeof size);
        if (size > left - 4)
            return;
        if (at[1] == ATTR_REGCOUNT && size >= sizeof value) {
            memcpy(value, at + 4, sizeof value);
            count_of_symbol(c, symbols, value[0], value[1]);
        }
        at += 4 + size;
        left -= 4 + (size_t)size;
    }
}

int aw_fatbin_cubin_registers(const void *file, size_t size, void (*each)(void *user, const char *name, uint32_t registers),
                              void *user)
{
    struct counts c = { .each = each, .user = user };
    int error;
    c.elf = elf_open(file, size, &error);
    if (!c.elf)
        return error;
    size_t n;
    if (elf_getshdrstrndx(c.elf, &c.names) != 0 || elf_getshdrnum(c.elf, &n) != 0)
        error = AW_FATBIN_CORRUPT;
    for (size_t i = 1; !error && i < n; i++) {
        uint32_t head;
        const char *name = code_name(c.elf, c.names, i, &head);
        if (name && head >> 24) /* below: the number of its symbol */
            each(user, name, head >> 24);
    }
    if (!error)
        counts_of_attributes(&c);
    elf_end(c.elf);
    return error;
}
