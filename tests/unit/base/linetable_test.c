/* Line tables: this program's own, which the compiler made, asked for what it says; and broken ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/linetable.h"

static char *image;
static size_t image_size;
static uintptr_t base;

__attribute__((noipa)) static uintptr_t address_here(void)
{
    return (uintptr_t)__builtin_return_address(0) - 1;
}

static void start(void)
{
    Dl_info info;
    struct link_map *map;
    cr_assert_eq(aw_file_read("/proc/self/exe", &image, &image_size), AW_OK);
    cr_assert(dladdr1((void *)(uintptr_t)start, &info, (void **)&map, RTLD_DL_LINKMAP));
    base = map->l_addr;
}

static void end(void)
{
    free(image);
}

Test(linetable, finds_this_line, .init = start, .fini = end)
{
    struct aw_place place;
    for (int i = 0; i < 3; i++) {
        uintptr_t at[2];
        at[0] = address_here();
        at[1] = address_here();
        uint32_t line = __LINE__ - 2;
        for (uint32_t k = 0; k < 2; k++) {
            cr_assert(aw_linetable_find(image, image_size, at[k] - base, &place));
            cr_assert_eq(place.line, line + k, "line %u, not %u", place.line, line + k);
            cr_assert_not_null(strstr(place.file, "linetable_test.c"), "%s", place.file);
        }
    }
    cr_assert(aw_linetable_fits(image, image_size, (const void *)base));
    cr_assert(!aw_linetable_find(image, image_size, 1, &place));
    cr_assert(!aw_linetable_find(image, image_size, UINT64_MAX, &place));
}

/* The section's place in the file. */
static Elf64_Shdr *section(const char *name)
{
    const Elf64_Ehdr *head = (const void *)image;
    Elf64_Shdr *all = (void *)(image + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++)
        if (strcmp(image + all[head->e_shstrndx].sh_offset + all[i].sh_name, name) == 0)
            return &all[i];
    return NULL;
}

Test(linetable, other_code_does_not_fit, .init = start, .fini = end)
{
    const Elf64_Shdr *text = section(".text");
    image[text->sh_offset + text->sh_size / 2] ^= 1;
    cr_assert(!aw_linetable_fits(image, image_size, (const void *)base));
}

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Reads nothing outside, ends, and says nothing impossible. */
Test(linetable, broken_tables, .init = start, .fini = end, .timeout = 120)
{
    const Elf64_Shdr table = *section(".debug_line");
    uint64_t seed = 0x9e3779b97f4a7c15, target = address_here() - base;
    struct aw_place place;
    char *bytes = malloc(table.sh_size);
    memcpy(bytes, image + table.sh_offset, table.sh_size);
    for (int round = 0; round < 3000; round++) {
        memcpy(image + table.sh_offset, bytes, table.sh_size);
        for (unsigned n = (unsigned)(random_next(&seed) % 8) + 1; n > 0; n--) {
            uint64_t limit = round % 2 ? table.sh_size : table.sh_size < 200 ? table.sh_size : 200; /* heads are worth more */
            image[table.sh_offset + random_next(&seed) % limit] = (char)random_next(&seed);
        }
        if (aw_linetable_find(image, image_size, target, &place))
            cr_assert(place.line > 0 && strlen(place.file) < sizeof place.file);
    }
    free(bytes);
}

Test(linetable, cut_files, .init = start, .fini = end, .timeout = 120)
{
    struct aw_place place;
    uint64_t target = address_here() - base;
    for (size_t cut = 0; cut < image_size; cut += cut < 256 ? 1 : image_size / 97 + 1) {
        char *part = malloc(cut ? cut : 1);
        memcpy(part, image, cut);
        cr_assert(!aw_linetable_find(part, cut, target, &place), "cut to %zu", cut);
        cr_assert(!aw_linetable_fits(part, cut, (const void *)base));
        free(part);
    }
}
