/* Images that are written, read back; static libraries, whole and broken. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>

#include <anywarp/fatbin.h>

#include "base/str.h"

static const struct aw_fatbin_text texts[] = {
    { ".version 7.0\n.target sm_52\n", 27, "first.ptx", 80, false },
    { ".version 8.1\n", 13, NULL, 90, true },
    { "", 0, "an empty one with a name that is longer than the others", 0, false },
};
enum { N_TEXTS = 3 };

struct seen {
    unsigned n;
    bool wrong;
};

static bool compare(void *user, const void *container, size_t size)
{
    struct seen *seen = user;
    const struct aw_fatbin_text *want = &texts[seen->n++];
    struct aw_fatbin_iter iter = { 0 };
    struct aw_fatbin_entry entry;
    int error;
    char *bytes;
    size_t len;
    cr_assert(aw_fatbin_next(container, size, &iter, &entry, &error));
    cr_assert_eq(entry.kind, AW_FATBIN_PTX);
    cr_assert_eq(entry.sm, want->sm);
    cr_assert_eq((entry.flags & AW_FATBIN_DEBUG) != 0, want->debug);
    cr_assert(aw_str_eq((struct aw_str){ entry.identifier, entry.identifier_len }, aw_str_from(want->name)));
    cr_assert_eq(aw_fatbin_extract(&entry, &bytes, &len), AW_FATBIN_OK);
    cr_assert(aw_str_eq((struct aw_str){ bytes, len }, (struct aw_str){ want->ptr, want->len }));
    free(bytes);
    cr_assert(!aw_fatbin_next(container, size, &iter, &entry, &error) && error == 0);
    return true;
}

Test(written, reads_back)
{
    size_t size;
    char *image = aw_fatbin_write(texts, N_TEXTS, &size);
    struct seen seen = { 0 };
    cr_assert_eq(aw_fatbin_elf_size(image, SIZE_MAX), size);
    cr_assert_eq(aw_fatbin_elf_size(image, size), size);
    cr_assert_eq(aw_fatbin_each_in_elf(image, size, compare, &seen), AW_FATBIN_OK);
    cr_assert_eq(seen.n, N_TEXTS);
    free(image);
    image = aw_fatbin_write(NULL, 0, &size);
    cr_assert_eq(aw_fatbin_elf_size(image, size), size);
    free(image);
}

static bool count(void *user, const void *container, size_t size)
{
    struct seen *seen = user;
    volatile char last = ((const char *)container)[size - 1];
    (void)last;
    seen->n++;
    return true;
}

/* No size that a broken head claims reaches past what there is; nothing crashes. */
Test(written, cut_and_changed)
{
    size_t size;
    char *image = aw_fatbin_write(texts, N_TEXTS, &size);
    for (size_t cut = 0; cut < size; cut++) {
        char *part = malloc(cut ? cut : 1);
        struct seen seen = { 0 };
        memcpy(part, image, cut);
        cr_assert_eq(aw_fatbin_elf_size(part, cut), 0, "cut to %zu", cut);
        (void)aw_fatbin_each_in_elf(part, cut, count, &seen);
        free(part);
    }
    for (size_t at = 0; at < size; at++) {
        static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
        for (size_t v = 0; v < sizeof values; v++) {
            struct seen seen = { 0 };
            char old = image[at];
            image[at] = (char)values[v];
            cr_assert_leq(aw_fatbin_elf_size(image, size), size);
            (void)aw_fatbin_each_in_elf(image, size, count, &seen);
            image[at] = old;
        }
    }
    free(image);
}

/* The size is asked of whatever a user calls an image: the look ends where the text does. */
Test(written, others_have_no_size)
{
    static const char *const others[] = { "", "\177", "\177ELF", "\177ELF\2\1\1", "\177ELF\2\1\1\377\1anywar", ".version 7.0" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char *exact = strdup(others[i]);
        cr_assert_eq(aw_fatbin_elf_size(exact, SIZE_MAX), 0, "%zu", i);
        free(exact);
    }
}

/* ---- Static libraries. */

static void member(struct aw_buf *out, const char *name, const char *bytes)
{
    aw_buf_printf(out, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n%s", name, 0, 0, 0, "100644", strlen(bytes), bytes);
    if (out->len % 2)
        aw_buf_add(out, "\n", 1);
}

static struct aw_buf library(void)
{
    struct aw_buf out = { 0 };
    aw_buf_add(&out, "!<arch>\n", 8);
    member(&out, "/", "the symbol table");
    member(&out, "//", "a_name_that_is_too_long.o/\nanother_long_one.o/\n");
    member(&out, "short.o/", "odd");
    member(&out, "/0", "even");
    member(&out, "/27", "last");
    member(&out, "padded.o", "");
    return out;
}

static bool list(void *user, const char *name, const void *bytes, size_t size)
{
    aw_buf_printf(user, "%s=%.*s;", name, (int)size, (const char *)bytes);
    return size != 4 || memcmp(bytes, "stop", 4) != 0;
}

Test(archive, members_and_names)
{
    struct aw_buf lib = library(), got = { 0 };
    cr_assert_eq(aw_fatbin_each_in_archive(lib.ptr, lib.len, list, &got), AW_FATBIN_OK);
    cr_assert_str_eq(got.ptr, "short.o=odd;a_name_that_is_too_long.o=even;another_long_one.o=last;padded.o=;");
    aw_buf_fini(&got);
    memcpy(strstr(lib.ptr, "even"), "stop", 4);
    cr_assert_eq(aw_fatbin_each_in_archive(lib.ptr, lib.len, list, &got), AW_FATBIN_OK);
    cr_assert_str_eq(got.ptr, "short.o=odd;a_name_that_is_too_long.o=stop;");
    aw_buf_fini(&got);
    aw_buf_fini(&lib);
}

Test(archive, cut_and_changed)
{
    struct aw_buf lib = library();
    for (size_t cut = 0; cut < lib.len; cut++) {
        struct aw_buf got = { 0 };
        char *part = malloc(cut ? cut : 1);
        memcpy(part, lib.ptr, cut);
        int error = aw_fatbin_each_in_archive(part, cut, list, &got);
        cr_assert(cut >= 8 || error == AW_FATBIN_BAD_MAGIC);
        free(part);
        aw_buf_fini(&got);
    }
    for (size_t at = 0; at < lib.len; at++) {
        for (int value = 0; value < 256; value += 5) {
            struct aw_buf got = { 0 };
            char old = lib.ptr[at];
            lib.ptr[at] = (char)value;
            (void)aw_fatbin_each_in_archive(lib.ptr, lib.len, list, &got);
            lib.ptr[at] = old;
            aw_buf_fini(&got);
        }
    }
    cr_assert_eq(aw_fatbin_each_in_archive("!<thin>\n", 8, list, NULL), AW_FATBIN_BAD_MAGIC);
    aw_buf_fini(&lib);
}
