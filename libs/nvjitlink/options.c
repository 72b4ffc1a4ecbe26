/* The options of a link.  Most concern machine code: they are known, and of no consequence to PTX. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "jitlink.h"

/* A name that ends in '=' takes a value, in '*' anything. */
static const char *const known[] = {
    "-arch=", "-maxrregcount=", "-time", "-verbose", "-lto", "-ptx", "-O*", "-g", "-lineinfo", "-ftz=", "-prec-div=",
    "-prec-sqrt=", "-fma=",
    "-kernels-used=", "-variables-used=", "-optimize-unused-variables", "-Xptxas=", "-nvvm-latest", "-split-compile=",
    "-split-compile-extended=",
    "-jump-table-density=", "-no-cache", "-device-stack-protector*", "-r", "-pic", "-Xnvvm=", "-minnctapersm=", "-maxntid=",
};

static bool option_known(const char *option)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i]);
        char last = known[i][n - 1];
        if (last == '*'   ? !strncmp(option, known[i], n - 1)
            : last == '=' ? !strncmp(option, known[i], n)
                          : !strcmp(option, known[i]))
            return true;
    }
    return false;
}

static nvJitLinkResult option_read(struct aw_jitlink *link, const char *option)
{
    if (!option_known(option)) {
        aw_buf_printf(&link->errors, "unrecognized option: %s\n", option);
        return NVJITLINK_ERROR_UNRECOGNIZED_OPTION;
    }
    if (!strncmp(option, "-arch=", 6)) {
        const char *number = option + 6 + strcspn(option + 6, "_");
        link->sm = *number ? (unsigned)strtoul(number + 1, NULL, 10) : 0;
    }
    link->lto |= !strcmp(option, "-lto");
    link->ptx |= !strcmp(option, "-ptx");
    link->debug |= !strcmp(option, "-g") || !strcmp(option, "-O0");
    return NVJITLINK_SUCCESS;
}

nvJitLinkResult jitlink_options(struct aw_jitlink *link, uint32_t n, const char *const *options)
{
    for (uint32_t i = 0; i < n; i++) {
        nvJitLinkResult result = options && options[i] ? option_read(link, options[i]) : NVJITLINK_ERROR_NULL_INPUT;
        char *copy = result ? NULL : strdup(options[i]);
        if (result)
            return result;
        if (!copy || !aw_vec_push(&link->options, copy)) {
            free(copy);
            return NVJITLINK_ERROR_INTERNAL;
        }
    }
    if (!link->sm)
        return NVJITLINK_ERROR_MISSING_ARCH;
    if (link->ptx && !link->lto) {
        aw_buf_printf(&link->errors, "ERROR: -ptx requires -lto\n");
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    return NVJITLINK_SUCCESS;
}
