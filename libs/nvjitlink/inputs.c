/* The inputs of a link: PTX texts, and containers of every kind with PTX or LTO code in them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <anywarp/fatbin.h>

#include "jitlink.h"

struct walk {
    struct aw_jitlink *link;
    const char *name;
    nvJitLinkResult result;
    bool (*each)(void *user, const void *container, size_t size);
    unsigned ptx, lto, machine_code, runtime;
};

static bool container_count(void *user, const void *container, size_t size)
{
    struct walk *walk = user;
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    int error = 0;
    while (aw_fatbin_next(container, size, &iter, &entry, &error)) {
        walk->ptx += entry.kind == AW_FATBIN_PTX;
        walk->lto += entry.kind == AW_FATBIN_NVVM;
        walk->machine_code += entry.kind == AW_FATBIN_ELF;
    }
    return true;
}

static bool container_add(void *user, const void *container, size_t size)
{
    struct walk *walk = user;
    struct aw_fatbin_entry entry;
    int error = 0;
    char *text, *name = NULL;
    size_t len;
    if (!aw_fatbin_choose_ptx(container, size, walk->link->sm, &entry, &error))
        return true;
    if (aw_fatbin_extract(&entry, &text, &len) != 0) {
        aw_buf_printf(&walk->link->errors, "ERROR: bad input: %s: its PTX cannot be unpacked\n", walk->name);
        walk->result = NVJITLINK_ERROR_INVALID_INPUT;
        return false;
    }
    walk->link->debug |= (entry.flags & AW_FATBIN_DEBUG) != 0;
    if (entry.identifier)
        name = strndup(entry.identifier, entry.identifier_len);
    walk->result = jitlink_add_ptx(walk->link, text, len, name ? name : walk->name);
    free(name);
    free(text);
    return walk->result == NVJITLINK_SUCCESS;
}

static int each_container(const void *data, size_t size, struct walk *walk);

/* The device-side runtime, libcudadevrt.a, is NVIDIA's own code for NVIDIA's driver; the compiler has its functions. */
static bool member(void *user, const char *name, const void *bytes, size_t size)
{
    struct walk *walk = user;
    if (strstr(name, "cuda_device_runtime"))
        walk->runtime++;
    else if (size >= 4 && !memcmp(bytes, "\177ELF", 4))
        each_container(bytes, size, walk);
    return walk->result == NVJITLINK_SUCCESS;
}

static int each_container(const void *data, size_t size, struct walk *walk)
{
    uint32_t magic = AW_FATBIN_MAGIC;
    if (size >= 8 && !memcmp(data, "!<arch>\n", 8))
        return aw_fatbin_each_in_archive(data, size, member, walk);
    if (size >= 4 && !memcmp(data, "\177ELF", 4))
        return aw_fatbin_each_in_elf(data, size, walk->each, walk);
    if (size >= 4 && !memcmp(data, &magic, 4))
        return walk->each(walk, data, size), 0;
    return AW_FATBIN_BAD_MAGIC;
}

static nvJitLinkResult containers_add(struct aw_jitlink *link, nvJitLinkInputType type, const void *data, size_t size,
                                      const char *name)
{
    struct walk walk = { .link = link, .name = name, .each = container_count };
    int error = each_container(data, size, &walk);
    if (error) {
        aw_buf_printf(&link->errors, "ERROR: bad input: %s: %s\n", name, aw_fatbin_error_text(error));
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    if (link->lto && walk.lto)
        return jitlink_add_lto(link, type, data, size, name);
    if (!walk.ptx && !walk.runtime) {
        aw_buf_printf(&link->errors, "ERROR: '%s' holds %s and no PTX, which is what can be linked here\n", name,
                      walk.lto ? "LTO code (it requires -lto)" : "machine code for NVIDIA's cards, or nothing,");
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    walk.each = container_add;
    each_container(data, size, &walk);
    return walk.result;
}

/* Which of them an input is that may be any; INVALID: none.  LTO code has no form of ours to know it by. */
static nvJitLinkInputType recognise(const struct aw_jitlink *link, const char *data, size_t size)
{
    uint32_t magic = AW_FATBIN_MAGIC;
    size_t at = 0;
    while (at < size && data[at] && strchr(" \t\r\n", data[at]))
        at++;
    if (at < size && (data[at] == '.' || data[at] == '/'))
        return NVJITLINK_INPUT_PTX;
    if (size >= 8 && !memcmp(data, "!<arch>\n", 8))
        return NVJITLINK_INPUT_LIBRARY;
    if (size >= 4 && (!memcmp(data, "\177ELF", 4) || !memcmp(data, &magic, 4)))
        return data[0] == '\177' ? NVJITLINK_INPUT_OBJECT : NVJITLINK_INPUT_FATBIN;
    return link->lto ? NVJITLINK_INPUT_LTOIR : NVJITLINK_INPUT_NONE;
}

nvJitLinkResult jitlink_add(struct aw_jitlink *link, nvJitLinkInputType type, const void *data, size_t size, const char *name)
{
    nvJitLinkInputType found = recognise(link, data, size);
    switch (type) {
    case NVJITLINK_INPUT_PTX:
        return jitlink_add_ptx(link, data, size, name);
    case NVJITLINK_INPUT_LTOIR:
    case NVJITLINK_INPUT_INDEX:
        return jitlink_add_lto(link, type, data, size, name);
    case NVJITLINK_INPUT_CUBIN: /* what our NVRTC calls machine code is PTX */
    case NVJITLINK_INPUT_ANY:
        if (found == NVJITLINK_INPUT_PTX)
            return jitlink_add_ptx(link, data, size, name);
        if (found == NVJITLINK_INPUT_LTOIR && type == NVJITLINK_INPUT_ANY)
            return jitlink_add_lto(link, type, data, size, name);
        return containers_add(link, type, data, size, name);
    case NVJITLINK_INPUT_FATBIN:
    case NVJITLINK_INPUT_OBJECT:
    case NVJITLINK_INPUT_LIBRARY:
        return containers_add(link, type, data, size, name);
    }
    aw_buf_printf(&link->errors, "ERROR: input type %d is not known\n", type);
    return NVJITLINK_ERROR_UNRECOGNIZED_INPUT;
}
