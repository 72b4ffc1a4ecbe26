/* One kernel of a file and its PTX: which image it is taken from, and the text.  What else is in a file, dump.c shows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "dump_kernel.h"

#include <string.h>

#include "base/demangle.h"
#include "base/setting.h"
#include "sass/sass.h"
#include "syntax/syntax.h"

enum { NAMES_SHOWN = 20 };

/* As programs take them: PTX before machine code (unless ANYWARP_LIFT says otherwise), later architectures before earlier
 * ones. */
static unsigned rank(const struct aw_dump_kernel *kernel)
{
    static const char *const words[] = { "0", "1", "always", NULL };
    bool first = kernel->is_ptx != (aw_setting_word("ANYWARP_LIFT", words, 1) == 2);
    return kernel->entry.sm + (first ? 100000 : 0);
}

static void found(struct aw_dump_search *s, struct aw_dump_kernel kernel, struct aw_str name)
{
    char *copy = strndup(name.ptr, name.len), *plain = copy ? aw_demangle_text(copy) : NULL;
    s->failed |= !copy;
    if (!copy || (!strstr(copy, s->wanted) && (!plain || !strstr(plain, s->wanted)))) {
        free(plain);
        free(copy);
        return;
    }
    for (size_t k = 0; k < s->found.n; k++)
        if (strcmp(s->found.at[k].name, copy) == 0) {
            kernel.name = s->found.at[k].name;
            kernel.plain = s->found.at[k].plain;
            if (rank(&kernel) > rank(&s->found.at[k]))
                s->found.at[k] = kernel;
            free(plain);
            free(copy);
            return;
        }
    kernel.name = copy;
    kernel.plain = plain;
    if (!aw_vec_push(&s->found, kernel)) {
        s->failed = true;
        free(plain);
        free(copy);
    }
}

static void add_cubin(struct aw_dump_search *s, struct aw_dump_kernel kernel, struct aw_str text)
{
    struct sass_cubin *cubin;
    const char *why;
    if (sass_open(text.ptr, text.len, &cubin, &why) != AW_OK) {
        s->unread = why;
        return;
    }
    kernel.entry.sm = sass_arch(cubin);
    for (uint32_t k = 0; k < sass_kernel_count(cubin); k++) {
        struct sass_kernel_info info;
        sass_kernel_info(cubin, k, &info);
        found(s, kernel, info.name);
    }
    sass_close(cubin);
}

static bool is_kernel(const struct ptx_func *func)
{
    return func->is_entry && !func->is_prototype;
}

static void add_ptx(struct aw_dump_search *s, struct aw_dump_kernel kernel, struct aw_str text)
{
    struct ptx_diags diags = { .limit = 1 };
    struct ptx_module *module = NULL;
    ptx_parse(text.ptr, text.len, "", &diags, &module);
    for (const struct ptx_func *f = module ? module->funcs : NULL; f; f = f->next)
        if (is_kernel(f))
            found(s, kernel, f->name);
    ptx_module_destroy(module);
    ptx_diags_fini(&diags);
}

void aw_dump_search_add(struct aw_dump_search *search, const struct aw_fatbin_entry *entry, bool packed, struct aw_str text)
{
    struct aw_dump_kernel kernel = { .entry = *entry, .packed = packed, .is_ptx = entry->kind == AW_FATBIN_PTX };
    if (kernel.is_ptx)
        add_ptx(search, kernel, text);
    else
        add_cubin(search, kernel, text);
}

static bool is_whole(const struct aw_dump_kernel *kernel, const char *wanted)
{
    return strcmp(kernel->name, wanted) == 0 || (kernel->plain && strcmp(kernel->plain, wanted) == 0);
}

const struct aw_dump_kernel *aw_dump_search_end(const struct aw_dump_search *search, struct aw_buf *ret_why)
{
    for (size_t k = 0; k < search->found.n; k++)
        if (is_whole(&search->found.at[k], search->wanted))
            return &search->found.at[k];
    if (search->failed)
        aw_buf_printf(ret_why, "%s", aw_status_text(AW_ERR_OUT_OF_MEMORY));
    else if (search->found.n == 0)
        aw_buf_printf(ret_why, "has no kernel with '%s' in its name%s%s", search->wanted,
                      search->unread ? ", and machine code that was not looked through: " : "",
                      search->unread ? search->unread : "");
    else if (search->found.n > 1)
        aw_buf_printf(ret_why, "has %zu kernels with '%s' in their names; say more of the one:", search->found.n, search->wanted);
    for (size_t k = 0; search->found.n > 1 && k < search->found.n && k < NAMES_SHOWN; k++)
        aw_buf_printf(ret_why, "\n  %s", search->found.at[k].plain ? search->found.at[k].plain : search->found.at[k].name);
    if (search->found.n > NAMES_SHOWN)
        aw_buf_printf(ret_why, "\n  and %zu more", search->found.n - NAMES_SHOWN);
    return search->found.n == 1 && !search->failed ? &search->found.at[0] : NULL;
}

/* ---- Its text */

static bool lifted(const struct aw_dump_kernel *kernel, struct aw_str text, struct aw_buf *ret_text, struct aw_buf *ret_why)
{
    struct sass_cubin *cubin;
    const char *why;
    if (sass_open(text.ptr, text.len, &cubin, &why) != AW_OK) {
        aw_buf_printf(ret_why, "cubin: %s", why);
        return false;
    }
    struct aw_buf error = { 0 };
    uint32_t index = sass_kernel_find(cubin, aw_str_from(kernel->name));
    enum aw_status status = index == UINT32_MAX ? AW_ERR_NOT_FOUND : sass_lift_whole(cubin, index, ret_text, &error);
    if (status != AW_OK)
        aw_buf_printf(ret_why, "cannot be lifted: %s", error.ptr ? error.ptr : aw_status_text(status));
    aw_buf_fini(&error);
    sass_close(cubin);
    return status == AW_OK;
}

static bool is_other(const struct ptx_func *func, struct aw_str name)
{
    return is_kernel(func) && !aw_str_eq(func->name, name);
}

/* The text without the lines of other kernels; functions come in the text's order. */
static void without_others(const struct ptx_func *f, struct aw_str text, struct aw_str name, struct aw_buf *ret_text)
{
    const char *p = text.ptr, *end = text.ptr + text.len;
    for (uint32_t line = 1; p < end; line++) {
        const char *next = memchr(p, '\n', (size_t)(end - p));
        next = next ? next + 1 : end;
        while (f && (!is_other(f, name) || f->end.line < line))
            f = f->next;
        if (!f || line < f->loc.line)
            aw_buf_add(ret_text, p, (size_t)(next - p));
        p = next;
    }
}

/* The module without its other kernels: what this one calls and the variables that it names are there still. */
static bool cut_out(const struct aw_dump_kernel *kernel, struct aw_str text, struct aw_buf *ret_text, struct aw_buf *ret_why)
{
    struct ptx_diags diags = { .limit = 1 };
    struct ptx_module *module = NULL;
    ptx_parse(text.ptr, text.len, "", &diags, &module);
    if (module)
        without_others(module->funcs, text, aw_str_from(kernel->name), ret_text);
    else
        aw_buf_printf(ret_why, "the PTX cannot be read");
    bool read = module != NULL;
    ptx_module_destroy(module);
    ptx_diags_fini(&diags);
    return read;
}

bool aw_dump_kernel_text(const struct aw_dump_kernel *kernel, struct aw_buf *ret_text, struct aw_buf *ret_why)
{
    char *owned = NULL;
    struct aw_str text = { kernel->entry.payload, kernel->entry.payload_size };
    int error = kernel->packed ? aw_fatbin_extract(&kernel->entry, &owned, &text.len) : AW_FATBIN_OK;
    if (error != AW_FATBIN_OK) {
        aw_buf_printf(ret_why, "%s", aw_fatbin_error_text(error));
        return false;
    }
    text.ptr = owned ? owned : text.ptr;
    bool done = (kernel->is_ptx ? cut_out : lifted)(kernel, text, ret_text, ret_why);
    free(owned);
    return done;
}

void aw_dump_search_fini(struct aw_dump_search *search)
{
    for (size_t k = 0; k < search->found.n; k++) {
        free(search->found.at[k].name);
        free(search->found.at[k].plain);
    }
    aw_vec_fini(&search->found);
}
