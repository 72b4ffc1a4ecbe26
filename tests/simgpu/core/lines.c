/* The source line of an instruction, from the line table of its code object.  What is loaded has no tables: the object is what a
 * debugger would read, named in the list that ROCr keeps for one, or what the dispatch brings along.  Nothing of it is
 * trusted. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../inst.h"
#include "base/linetable.h"
#include "lines.h"

#define MAX_OBJECT (256u << 20)
#define MAX_OBJECTS 100000u

/* This process's memory, without a fault when it is gone: other threads load and unload meanwhile. */
static bool peek(const void *from, void *to, size_t size)
{
    struct iovec local = { to, size }, remote = { (void *)(uintptr_t)from, size };
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* What a debugger is told of objects of the card: where each lies, and as a URI where its file is. */
static bool uri_of(uint64_t base, char *ret_uri, size_t size)
{
    const struct r_debug *list = dlsym(RTLD_DEFAULT, "_amdgpu_r_debug");
    struct r_debug debug;
    struct link_map map;
    if (!list || !peek(list, &debug, sizeof debug))
        return false;
    const struct link_map *at = debug.r_map;
    for (unsigned n = 0; at && n < MAX_OBJECTS && peek(at, &map, sizeof map); at = map.l_next, n++) {
        if (map.l_addr != base || !map.l_name)
            continue;
        for (size_t i = 0; i + 1 < size && peek(map.l_name + i, &ret_uri[i], 1); i++)
            if (!ret_uri[i])
                return true;
        return false;
    }
    return false;
}

/* In place: %2f and its like. */
static void decode(char *text)
{
    char *to = text;
    unsigned c;
    for (; *text; text++) {
        if (*text == '%' && sscanf(text + 1, "%2x", &c) == 1) {
            *to++ = (char)c;
            text += text[1] && text[2] ? 2 : 1;
        } else {
            *to++ = *text;
        }
    }
    *to = 0;
}

static bool read_file(const char *name, uint64_t offset, void *to, size_t size)
{
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    bool ok = fd >= 0 && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    return ok;
}

/* memory://PID#offset=A&size=N, file://PATH#offset=A&size=N.  A file without a size is one that nobody made us a test of: left
 * out. */
static void *read_uri(char *uri, size_t *ret_size)
{
    char *rest = strchr(uri, '#');
    unsigned long long offset, size;
    if (!rest || sscanf(rest, "#offset=%lli&size=%lli", (long long *)&offset, (long long *)&size) != 2 || !size ||
        size > MAX_OBJECT)
        return NULL;
    void *bytes = malloc(size);
    *rest = 0;
    decode(uri);
    bool ok = false;
    if (bytes && !strncmp(uri, "memory://", 9))
        ok = peek((const void *)(uintptr_t)offset, bytes, size);
    else if (bytes && !strncmp(uri, "file://", 7))
        ok = read_file(uri + 7, offset, bytes, size);
    *ret_size = size;
    if (ok)
        return bytes;
    free(bytes);
    return NULL;
}

/* The segment with the instruction is what was loaded: else the object's memory has become something else. */
static bool is_loaded(const uint8_t *elf, size_t size, uint32_t node, uint64_t base, uint64_t pc)
{
    struct sim_view view = { .node = node };
    Elf64_Ehdr e;
    if (size < sizeof e)
        return false;
    memcpy(&e, elf, sizeof e);
    for (unsigned i = 0; i < e.e_phnum && e.e_phoff < size && (size - e.e_phoff) / sizeof(Elf64_Phdr) > i; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, elf + e.e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type != PT_LOAD || pc - base < ph.p_vaddr || pc - base - ph.p_vaddr >= ph.p_filesz)
            continue;
        const void *loaded = sim_at(&view, base + ph.p_vaddr, ph.p_filesz);
        return loaded && ph.p_offset <= size && ph.p_filesz <= size - ph.p_offset &&
               !memcmp(loaded, elf + ph.p_offset, ph.p_filesz);
    }
    return false;
}

bool sim_lines_find(const struct sim_dispatch *d, uint64_t pc, char *ret_text, size_t size)
{
    uint64_t base = d->object_base;
    char uri[4096];
    size_t n = d->object_size;
    struct aw_place place;
    if (!d->object && (!sim_image_base(d->node, pc, &base) || !uri_of(base, uri, sizeof uri)))
        return false;
    void *owned = d->object ? NULL : read_uri(uri, &n);
    const void *elf = d->object ? d->object : owned;
    bool found = elf && is_loaded(elf, n, d->node, base, pc) && aw_linetable_find(elf, n, pc - base, &place);
    if (found)
        snprintf(ret_text, size, "%s:%u", place.file, place.line);
    free(owned);
    return found;
}
