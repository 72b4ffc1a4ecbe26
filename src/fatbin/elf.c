/* Finding fatbin containers in an ELF file's bytes: by section where there are sections, else by the magic.  Nothing is
 * loaded or relocated; a container is handed out as it lies in the file. */
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

int aw_fatbin_each_in_elf(const void *file, size_t size, bool (*each)(void *user, const void *container, size_t size),
                          void *user)
{
    if (size < SELFMAG || memcmp(file, ELFMAG, SELFMAG) != 0)
        return AW_FATBIN_BAD_MAGIC;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return AW_FATBIN_UNSUPPORTED;
    /* libelf only reads here: the file is of this machine's byte order, or refused below */
    Elf *elf = elf_memory((char *)(uintptr_t)file, size);
    if (!elf) /* libelf says no more than that it failed */
        return size < sizeof(Elf64_Ehdr) ? AW_FATBIN_TRUNCATED : AW_FATBIN_NO_MEMORY;
    struct scan scan = { .file = file, .size = size, .each = each, .user = user };
    const char *ident = elf_getident(elf, NULL);
    int error = AW_FATBIN_OK;
    if (elf_kind(elf) != ELF_K_ELF)
        error = AW_FATBIN_TRUNCATED;
    else if (!ident || ident[EI_DATA] != ELFDATA2LSB)
        error = AW_FATBIN_UNSUPPORTED;
    if (error == AW_FATBIN_OK)
        error = scan_sections(&scan, elf);
    if (error == AW_FATBIN_OK && scan.found == 0 && !scan.stopped)
        error = scan_segments(&scan, elf);
    elf_end(elf);
    return error;
}
