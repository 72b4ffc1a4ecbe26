/* Lists machine code in our own notation, for check.py: "sass_list CUBIN..." all kernels, "sass_list --raw ARCH FILE" a file of
 * bare instructions. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <string.h>

#include "sass/insn.h"
#include "sass/sass.h"

static char *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long size = ftell(f);
        bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
        rewind(f);
        *ret_size = bytes ? fread(bytes, 1, (size_t)size, f) : 0;
    }
    if (f)
        fclose(f);
    return bytes;
}

static bool list(const char *path)
{
    size_t size = 0;
    char *bytes = read_file(path, &size);
    struct sass_cubin *cubin = NULL;
    const char *why = "cannot be read";
    if (!bytes || sass_open(bytes, size, &cubin, &why) != AW_OK) {
        fprintf(stderr, "%s: %s\n", path, why);
        free(bytes);
        return false;
    }
    printf("file %s sm_%u\n", path, sass_arch(cubin));
    for (uint32_t i = 0; i < sass_kernel_count(cubin); i++) {
        struct sass_kernel_info info;
        struct aw_buf text = { 0 };
        sass_kernel_info(cubin, i, &info);
        uint32_t unknown = sass_list(cubin, i, &text);
        printf("kernel %.*s: %u unknown, %u registers, %u bytes of shared memory, %u parameters\n%.*s", AW_STR_ARG(info.name),
               unknown, info.registers, info.shared_size, info.n_params, AW_STR_ARG(aw_buf_view(&text)));
        aw_buf_fini(&text);
    }
    sass_close(cubin);
    free(bytes);
    return true;
}

static bool list_raw(unsigned arch, const char *path)
{
    size_t size = 0;
    char *bytes = read_file(path, &size);
    for (size_t at = 0; bytes && at + SASS_INSN_SIZE <= size; at += SASS_INSN_SIZE) {
        struct sass_insn insn = { 0 };
        struct aw_buf text = { 0 };
        enum sass_decoded decoded = sass_decode((const uint8_t *)bytes + at, (uint32_t)at, arch, &insn);
        sass_print(&insn, &text);
        printf("  0x%04zx  %s%.*s\n", at, decoded == SASS_DECODED ? "" : "bytes ", AW_STR_ARG(aw_buf_view(&text)));
        aw_buf_fini(&text);
    }
    free(bytes);
    return bytes != NULL;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "--raw"))
        return list_raw((unsigned)atoi(argv[2]), argv[3]) ? 0 : 1;
    bool done = argc > 1;
    for (int i = 1; i < argc; i++)
        done = list(argv[i]) && done;
    return done ? 0 : 1;
}
