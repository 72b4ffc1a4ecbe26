/* The PTX texts of a link: checked when they come, and together at the end.  The compiler process does both. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <anywarp/compiler.h>
#include <anywarp/fatbin.h>

#include "base/ptxas.h"
#include "core/jit.h"
#include "jitlink.h"

/* The compiler process goes with the program. */
__attribute__((destructor)) static void compiler_end(void)
{
    aw_jit_shutdown();
}

/* Appends why the kernels of a module cannot be compiled; true when there are kernels and none can be.  Where one can, another
 * that is not launched may be as it is. */
static bool all_broken(struct aw_jit_module *module, struct aw_buf *log)
{
    const struct aw_manifest *manifest = aw_jit_manifest(module);
    const struct aw_manifest_kernel *kernels = (const void *)((const char *)manifest + manifest->kernels);
    struct aw_compile_options options = { .target = "host" };
    for (uint32_t i = 0; i < manifest->n_kernels; i++)
        if (!(kernels[i].flags & AW_KERNEL_BROKEN))
            return false;
    for (uint32_t i = 0; i < manifest->n_kernels; i++) {
        char *bytes = NULL, *diags = NULL;
        size_t size;
        if (aw_jit_compile(module, i, &options, &bytes, &size, &diags) == AW_OK)
            free(bytes);
        if (diags)
            aw_ptxas_words(diags, "application ptx input", log);
        free(diags);
    }
    return manifest->n_kernels > 0;
}

static bool text_push(struct aw_jitlink *link, const char *text, size_t len, const char *name)
{
    struct jitlink_text entry = { malloc(len + 1), strdup(name), len };
    if (entry.ptr && entry.name && aw_vec_push(&link->texts, entry)) {
        memcpy(entry.ptr, text, len);
        entry.ptr[len] = 0;
        return true;
    }
    free(entry.ptr);
    free(entry.name);
    return false;
}

nvJitLinkResult jitlink_add_ptx(struct aw_jitlink *link, const char *text, size_t len, const char *name)
{
    struct aw_jit_module *module = NULL;
    char *diags = NULL;
    len = strnlen(text, len);
    struct aw_text input = { text, len, name };
    enum aw_status status = aw_jit_open(&input, 1, &module, &diags);
    bool broken = status == AW_OK && all_broken(module, &link->errors);
    if (status != AW_OK && status != AW_ERR_NOT_FOUND && diags)
        aw_ptxas_words(diags, "application ptx input", &link->errors);
    free(diags);
    aw_jit_close(module);
    if (broken || status == AW_ERR_INVALID_PTX || status == AW_ERR_UNSUPPORTED_PTX) {
        aw_buf_printf(&link->errors, "ptxas fatal   : Ptx assembly aborted due to errors\n"
                                     "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (%s)\n", name);
        return NVJITLINK_ERROR_PTX_COMPILE;
    }
    if ((status != AW_OK && status != AW_ERR_NOT_FOUND) || !text_push(link, text, len, name)) {
        aw_buf_printf(&link->errors, "ERROR NVJITLINK_ERROR_INTERNAL: %s (%s)\n",
                      status ? aw_status_text(status) : "out of memory", name);
        return NVJITLINK_ERROR_INTERNAL;
    }
    return NVJITLINK_SUCCESS;
}

/* "f.ptx:1:2: error: ..." in a linker's words. */
static void linker_words(const char *diags, struct aw_buf *log)
{
    for (const char *line = diags; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        size_t n = strcspn(line, "\n");
        const char *mark = memmem(line, n, ": error: ", 9);
        if (mark)
            aw_buf_printf(log, "error   : %.*s in '%.*s'\n", (int)(line + n - mark - 9), mark + 9, (int)strcspn(line, ":\n"),
                          line);
    }
}

static nvJitLinkResult texts_check(struct aw_jitlink *link)
{
    AW_VEC(struct aw_text) texts = { 0 };
    struct aw_jit_module *module = NULL;
    char *diags = NULL;
    enum aw_status status = aw_vec_reserve(&texts, link->texts.n) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
    for (size_t i = 0; status == AW_OK && i < link->texts.n; i++)
        texts.at[texts.n++] = (struct aw_text){ link->texts.at[i].ptr, link->texts.at[i].len, link->texts.at[i].name };
    if (status == AW_OK)
        status = aw_jit_open(texts.at, texts.n, &module, &diags);
    if (status) {
        linker_words(diags ? diags : "", &link->errors);
        aw_buf_printf(&link->errors, "ERROR NVJITLINK_ERROR_INTERNAL: finish: %s\n", aw_status_text(status));
    }
    free(diags);
    aw_jit_close(module);
    aw_vec_fini(&texts);
    return status ? NVJITLINK_ERROR_INTERNAL : NVJITLINK_SUCCESS;
}

nvJitLinkResult jitlink_link(struct aw_jitlink *link)
{
    AW_VEC(struct aw_fatbin_text) entries = { 0 };
    nvJitLinkResult result = texts_check(link);
    if (result)
        return result;
    bool good = aw_vec_reserve(&entries, link->texts.n);
    for (size_t i = 0; good && i < link->texts.n; i++)
        entries.at[entries.n++] = (struct aw_fatbin_text){ link->texts.at[i].ptr, link->texts.at[i].len, link->texts.at[i].name,
                                                           link->sm, link->debug };
    if (good)
        link->image = aw_fatbin_write(entries.at, entries.n, &link->image_size);
    aw_vec_fini(&entries);
    return link->image ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}
