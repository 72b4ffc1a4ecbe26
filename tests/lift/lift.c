/* Prints a cubin's kernel, or all of them, as PTX: sass-lift CUBIN [KERNEL | --variables | --check | --names].  With --check
 * nothing is printed but what cannot be lifted, a line each. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sass/sass.h"

static char *read_file(const char *path, size_t *ret_size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *bytes = malloc((size_t)size + 1);
    *ret_size = bytes ? fread(bytes, 1, (size_t)size, f) : 0;
    fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    size_t size = 0;
    char *bytes = argc > 1 ? read_file(argv[1], &size) : NULL;
    struct sass_cubin *cubin;
    const char *why, *what = argc > 2 ? argv[2] : NULL;
    int failed = 0;
    if (!bytes || sass_open(bytes, size, &cubin, &why) != AW_OK) {
        fprintf(stderr, "sass-lift: %s: %s\n", argc > 1 ? argv[1] : "no file", bytes ? why : "cannot be read");
        return 2;
    }
    struct aw_buf text = { 0 }, error = { 0 };
    if (what && !strcmp(what, "--variables")) {
        failed = sass_lift_variables(cubin, &text, &error) != AW_OK;
    } else {
        for (uint32_t k = 0; k < sass_kernel_count(cubin); k++) {
            struct sass_kernel_info info;
            sass_kernel_info(cubin, k, &info);
            if (what && !strcmp(what, "--names")) {
                printf("kernel %.*s\n", AW_STR_ARG(info.name));
                continue;
            }
            if (what && strcmp(what, "--check") && !aw_str_is(info.name, what))
                continue;
            size_t before = error.len;
            sass_lift(cubin, k, false, &text, &error);
            if (error.len > before) {
                aw_buf_printf(&error, "\n");
                failed++;
            }
        }
    }
    if (text.ptr && !(what && !strcmp(what, "--check")))
        fputs(text.ptr, stdout);
    if (error.ptr)
        fputs(error.ptr, stderr);
    aw_buf_fini(&text);
    aw_buf_fini(&error);
    sass_close(cubin);
    free(bytes);
    return failed ? 1 : 0;
}
