/* PTX texts in files of every kind that NVIDIA's tools take. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <anywarp/fatbin.h>

#include "base/file.h"
#include "standins.h"

struct walk {
    struct standin_texts *texts;
    const char *name;
    bool failed;
};

void standin_texts_fini(struct standin_texts *texts)
{
    for (size_t i = 0; i < texts->list.n; i++) {
        free(texts->list.at[i].text);
        free(texts->list.at[i].name);
    }
    aw_vec_fini(&texts->list);
}

unsigned standin_target(const char *text, char *ret_suffix)
{
    const char *at = strstr(text, "\n.target"), *sm = at ? strstr(at, "sm_") : NULL;
    if (!strncmp(text, ".target", 7))
        sm = strstr(text, "sm_");
    char *end;
    unsigned long number = sm ? strtoul(sm + 3, &end, 10) : 0;
    *ret_suffix = number && (*end == 'a' || *end == 'f') ? *end : 0;
    return (unsigned)number;
}

/* Takes ownership of `text`. */
static bool text_push(struct standin_texts *texts, char *text, size_t len, const char *name, size_t name_len, bool debug)
{
    char suffix;
    struct standin_text entry = { text, strndup(name, name_len), len, standin_target(text, &suffix), debug };
    if (entry.name && aw_vec_push(&texts->list, entry))
        return true;
    free(entry.name);
    free(text);
    return false;
}

static bool container_add(void *user, const void *container, size_t size)
{
    struct walk *walk = user;
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    int error = 0;
    while (aw_fatbin_next(container, size, &iter, &entry, &error)) {
        char *text;
        size_t len;
        walk->texts->machine_code += entry.kind == AW_FATBIN_ELF;
        if (entry.kind != AW_FATBIN_PTX)
            continue;
        if (aw_fatbin_extract(&entry, &text, &len) != 0 ||
            !text_push(walk->texts, text, len, entry.identifier ? entry.identifier : walk->name,
                       entry.identifier ? entry.identifier_len : strlen(walk->name), entry.flags & AW_FATBIN_DEBUG))
            walk->failed = true;
    }
    walk->failed |= error != 0;
    return !walk->failed;
}

static bool member_add(void *user, const char *name, const void *member, size_t size)
{
    struct walk *walk = user;
    if (size >= 4 && !memcmp(member, "\177ELF", 4) && aw_fatbin_each_in_elf(member, size, container_add, walk) != 0)
        walk->failed = true;
    return !walk->failed;
}

bool standin_read(const char *tool, const char *path, struct standin_texts *texts)
{
    struct walk walk = { texts, path, false };
    char *bytes;
    size_t size;
    uint32_t magic = AW_FATBIN_MAGIC;
    if (aw_file_read_regular(path, &bytes, &size) != AW_OK) {
        standin_fatal(tool, "Input file '%s' could not be opened", path);
        return false;
    }
    if (size >= 4 && !memcmp(bytes, "\177ELF", 4)) {
        size_t before = texts->list.n;
        walk.failed = aw_fatbin_each_in_elf(bytes, size, container_add, &walk) != 0 || walk.failed;
        texts->machine_code += !walk.failed && texts->list.n == before;
    } else if (size >= 4 && !memcmp(bytes, &magic, 4)) {
        container_add(&walk, bytes, size);
    } else if (size >= 8 && !memcmp(bytes, "!<arch>\n", 8)) {
        walk.failed = aw_fatbin_each_in_archive(bytes, size, member_add, &walk) != 0 || walk.failed;
    } else {
        size_t len = strnlen(bytes, size);
        bool pushed = text_push(texts, bytes, len, path, strlen(path), false);
        return pushed || (standin_fatal(tool, "out of memory"), false);
    }
    free(bytes);
    if (walk.failed)
        standin_fatal(tool, "Input file '%s' cannot be read: it is damaged, or of a form that is not known", path);
    return !walk.failed;
}
