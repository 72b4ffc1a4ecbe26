/* Lifts what a file holds of machine code, for tests/lift/corpus:
 *   lift-corpus FILE ARCH a line a kernel: "kernel CUBIN INDEX INSTRUCTIONS MICROSECONDS CAUSE NAME", CAUSE "-" when it lifts
 *   lift-corpus FILE ARCH CUBIN INDEX TARGET       compiles that kernel and says "compiled MICROSECONDS BYTES"
 *   lift-corpus FILE ARCH CUBIN 0 cubin            writes the cubin itself, to look at it
 * FILE is a program or a library; ARCH a number such as 80; CUBIN counts the file's cubins of that architecture, INDEX a cubin's
 * kernels.  Cubins that a program's build has linked to others, and keeps beside what came of it, are passed over. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/compiler.h>
#include <anywarp/fatbin.h>

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sass/sass.h"

struct corpus {
    uint32_t arch;
    uint32_t n;               /* cubins seen */
    const char *target;       /* NULL: list */
    uint32_t cubin, index;    /* with a target */
    int status;
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Why a kernel cannot be lifted, as one word: names and places aside, so that equal causes are equal text. */
static void print_cause(const char *error)
{
    const char *at = strstr(error, "+0x"), *colon = at ? strstr(at, ": ") : NULL;
    for (const char *c = colon ? colon + 2 : error; *c; c++)
        putchar(*c == ' ' || *c == '\n' ? '_' : *c);
}

static void list(struct corpus *c, const struct sass_cubin *cubin)
{
    for (uint32_t k = 0; k < sass_kernel_count(cubin); k++) {
        struct sass_kernel_info info;
        struct aw_buf ptx = { 0 }, error = { 0 };
        sass_kernel_info(cubin, k, &info);
        int64_t begin = now_us();
        enum aw_status status = sass_lift(cubin, k, false, &ptx, &error);
        printf("kernel %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " ", c->n, k, info.code_size / 16, now_us() - begin);
        if (status == AW_OK)
            putchar('-');
        else
            print_cause(error.ptr ? error.ptr : "out of memory");
        printf(" %.*s\n", AW_STR_ARG(info.name));
        aw_buf_fini(&ptx);
        aw_buf_fini(&error);
    }
}

static void compile(struct corpus *c, const char *bytes, size_t size, const struct sass_cubin *cubin)
{
    struct aw_text text = { bytes, size, NULL };
    struct aw_compiler_module *module = NULL;
    struct aw_compile_options options = { .target = c->target, .opt_level = 3 };
    char *diags = NULL, *code = NULL, name[8192];
    size_t length = 0;
    if (c->index >= sass_kernel_count(cubin)) {
        fprintf(stderr, "lift-corpus: there is no such kernel\n");
        c->status = 2;
        return;
    }
    struct sass_kernel_info info;
    sass_kernel_info(cubin, c->index, &info);
    snprintf(name, sizeof name, "%.*s", AW_STR_ARG(info.name));
    int status = aw_compiler_open(&text, 1, &module, &diags);
    int64_t begin = now_us();
    if (status == AW_OK) {
        free(diags);
        status = aw_compiler_compile(module, name, &options, AW_EMIT_CODE_OBJECT, &code, &length, NULL, &diags);
    }
    if (status == AW_OK) {
        printf("compiled %" PRId64 " %zu\n", now_us() - begin, length);
        free(code);
    } else {
        fprintf(stderr, "%s\n", diags);
    }
    c->status = status != AW_OK;
    free(diags);
    aw_compiler_close(module);
}

static bool is_relocatable(const char *bytes, size_t size)
{
    Elf64_Ehdr header;
    if (size < sizeof header)
        return false;
    memcpy(&header, bytes, sizeof header);
    return header.e_type == ET_REL;
}

static bool each(void *user, const void *container, size_t size)
{
    struct corpus *c = user;
    struct aw_fatbin_entry entry;
    struct sass_cubin *cubin;
    const char *why = "";
    char *bytes;
    size_t length;
    int error = 0;
    if (!aw_fatbin_choose_cubin(container, size, c->arch, &entry, &error) || entry.sm != c->arch)
        return true;
    if (c->target && c->n != c->cubin) {
        c->n++;
        return true;
    }
    if (aw_fatbin_extract(&entry, &bytes, &length)) {
        printf("kernel %" PRIu32 " 0 0 0 the_cubin_cannot_be_unpacked ?\n", c->n++);
        return true;
    }
    if (is_relocatable(bytes, length)) {
        c->status = c->target && c->n == c->cubin ? 2 : c->status;
    } else if (sass_open(bytes, length, &cubin, &why) != AW_OK) {
        printf("kernel %" PRIu32 " 0 0 0 the_cubin_cannot_be_read ?\n", c->n);
    } else {
        if (c->target && !strcmp(c->target, "cubin"))
            c->status = fwrite(bytes, 1, length, stdout) != length;
        else if (c->target)
            compile(c, bytes, length, cubin);
        else
            list(c, cubin);
        sass_close(cubin);
    }
    free(bytes);
    return c->n++ != c->cubin || !c->target;
}

int main(int argc, char **argv)
{
    struct stat st;
    int fd = argc == 3 || argc == 6 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &st)) {
        fprintf(stderr, "lift-corpus: FILE ARCH [CUBIN INDEX TARGET]\n");
        return 2;
    }
    struct corpus c = { .arch = (uint32_t)strtoul(argv[2], NULL, 10) };
    if (argc == 6) {
        c.cubin = (uint32_t)strtoul(argv[3], NULL, 10);
        c.index = (uint32_t)strtoul(argv[4], NULL, 10);
        c.target = argv[5];
        c.status = 2; /* until it is found */
    }
    const void *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (file == MAP_FAILED)
        return 2;
    int error = aw_fatbin_each_in_elf(file, (size_t)st.st_size, each, &c);
    if (error)
        fprintf(stderr, "lift-corpus: %s: %s\n", argv[1], aw_fatbin_error_text(error));
    return c.status;
}
