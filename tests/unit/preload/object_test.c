/* Unit tests of preload/object.c and the planning half of redirect.c, on this very executable and on damaged copies of it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/redirect.h"

/* Never called: the resolver belongs to the preload object. */
void *aw_redirect_resolve(uint32_t slot)
{
    abort();
}

static struct aw_redirect_plan plan;

static const char *fixture(const char *name)
{
    static char path[4096];
    const char *dir = getenv("FIXTURES");
    cr_assert_not_null(dir, "FIXTURES names the directory of the fixtures");
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static enum aw_redirect_kind plan_of(const char *path)
{
    struct aw_elf elf;
    cr_assert(aw_elf_open(&elf, path), "%s", path);
    aw_redirect_plan(&elf, &plan);
    aw_elf_close(&elf);
    return plan.kind;
}

Test(object, refuses_what_is_no_object)
{
    struct aw_elf elf;
    cr_assert_not(aw_elf_open(&elf, "/no/such/file"));
    cr_assert_not(aw_elf_open(&elf, "/dev/null"));
    cr_assert_not(aw_elf_open(&elf, "/"));
    cr_assert_not(aw_elf_open(&elf, "/proc/self/cmdline"));
    aw_elf_close(&elf);
}

Test(object, reads_symbols_and_sections)
{
    struct aw_elf elf;
    cr_assert(aw_elf_open(&elf, fixture("static_pie")));
    cr_assert(elf.has_fatbin);
    cr_assert_gt(elf.symtab.n, 10);
    cr_assert_gt(elf.dynsym.n, 1);
    bool found = false;
    for (size_t i = 0; i < elf.symtab.n; i++)
        if (!strcmp(aw_elf_name(&elf.symtab, &elf.symtab.syms[i]), "cudaMemcpy2D")) {
            found = true;
            cr_assert_not_null(aw_elf_code_segment(&elf, elf.symtab.syms[i].st_value, elf.symtab.syms[i].st_size));
        }
    cr_assert(found);
    cr_assert_null(aw_elf_code_segment(&elf, UINT64_MAX, 1));
    cr_assert_null(aw_elf_code_segment(&elf, 0, UINT64_MAX));
    aw_elf_close(&elf);
}

Test(redirect, plans_by_kind)
{
    cr_assert_eq(plan_of(fixture("static_pie")), AW_REDIRECT_STATIC);
    cr_assert_eq(plan.n, 5);
    cr_assert_str_eq(aw_redirect_soname(plan.runtime), "libcudart.so.13");
    cr_assert_eq(plan_of(fixture("static_nopie_12")), AW_REDIRECT_STATIC);
    cr_assert_eq(plan.n, 6);
    cr_assert_str_eq(aw_redirect_soname(plan.runtime), "libcudart.so.12");
    cr_assert_eq(plan_of(fixture("static_stripped")), AW_REDIRECT_STRIPPED);
    cr_assert_eq(plan_of(fixture("libdrives.so")), AW_REDIRECT_NONE);
    cr_assert_eq(plan_of(fixture("opener")), AW_REDIRECT_NONE);
    cr_assert_eq(plan_of(fixture("uses_runtime")), AW_REDIRECT_NONE);
}

static size_t planned(const char *name)
{
    for (size_t i = 0; i < plan.n; i++)
        if (!strcmp(aw_redirect_name(plan.targets[i].index), name))
            return plan.targets[i].size;
    return 0;
}

/* Six functions of the API, one that gives tables, and twelve of nvcc's host code that are long enough to be patched. */
static void expect_nameless(const char *name)
{
    cr_assert_eq(plan_of(fixture(name)), AW_REDIRECT_STATIC, "%s", name);
    cr_assert_eq(plan.n, 19, "%s: %zu", name, plan.n);
    cr_assert_str_eq(aw_redirect_soname(plan.runtime), "libcudart.so.13");
    cr_assert_gt(planned("cudaGraphInstantiate"), 30);
    cr_assert_eq(planned("cudaMemset"), 0);
    cr_assert_eq(planned("__cudaRegisterFatBinary"), 43);
    cr_assert_eq(planned("__cudaPopCallConfiguration"), 162);
    cr_assert_eq(planned("__cudaRegisterUnifiedTable"), 74);
}

Test(redirect, tells_functions_without_symbols)
{
    expect_nameless("nameless");
    expect_nameless("nameless_pointer");
    expect_nameless("nameless_message");
    expect_nameless("nameless_host_alone");
}

Test(redirect, leaves_what_could_be_two_functions)
{
    cr_assert_eq(plan_of(fixture("nameless_twice")), AW_REDIRECT_STRIPPED);
    cr_assert_eq(plan_of(fixture("nameless_other")), AW_REDIRECT_STRIPPED);
}

static int memory_file(const char *path, char **ret_bytes, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f);
    fseek(f, 0, SEEK_END);
    *ret_size = (size_t)ftell(f);
    rewind(f);
    *ret_bytes = malloc(*ret_size);
    cr_assert_eq(fread(*ret_bytes, 1, *ret_size, f), *ret_size);
    fclose(f);
    return memfd_create("object", 0);
}

/* Whatever the file holds, reading it must not crash; a cut file shows no symbols that were cut away. */
Test(object, survives_cut_files)
{
    char *bytes, path[64];
    size_t size;
    int fd = memory_file(fixture("static_pie"), &bytes, &size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
    for (size_t n = size; n > 0; n -= n < 61 ? n : 61) {
        struct aw_elf elf;
        cr_assert_eq(ftruncate(fd, (off_t)n), 0);
        if (!aw_elf_open(&elf, path))
            continue;
        aw_redirect_plan(&elf, &plan);
        cr_assert(n == size || plan.kind != AW_REDIRECT_STATIC, "the section headers are at the end");
        cr_assert(n < size - 61 || n == size || plan.kind == AW_REDIRECT_CUT);
        aw_elf_close(&elf);
    }
    free(bytes);
    close(fd);
}

static void survive_random_bytes(const char *name)
{
    char *bytes, path[64];
    size_t size;
    unsigned seed = 1;
    int fd = memory_file(fixture(name), &bytes, &size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    for (int round = 0; round < 400; round++) {
        char *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (int k = 0; k < 40; k++) {
            /* Mostly the headers: the file's first bytes and the section headers at its end. */
            size_t at = (size_t)rand_r(&seed), span = k % 3 == 0 ? 64 : k % 3 == 1 ? 2500 : size;
            copy[k % 3 == 1 ? size - 1 - at % span : at % span] = (char)rand_r(&seed);
        }
        memcpy(copy, bytes, 20); /* still an ELF file */
        cr_assert_eq(pwrite(fd, copy, size, 0), (ssize_t)size);
        struct aw_elf elf;
        if (aw_elf_open(&elf, path)) {
            aw_redirect_plan(&elf, &plan);
            cr_assert_leq(plan.n, AW_REDIRECT_MAX);
            aw_elf_close(&elf);
        }
        free(copy);
    }
    free(bytes);
    close(fd);
}

Test(object, survives_random_bytes)
{
    survive_random_bytes("static_pie");
    survive_random_bytes("nameless");
    survive_random_bytes("nameless_pointer");
}
