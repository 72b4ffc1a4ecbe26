/* Machine code among the texts that a module is made of: lifted to PTX before anything else is done. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_code.h"

#include <anywarp/started.h>
#include <stdlib.h>

#include "base/hash.h"
#include "sass/sass.h"

bool ptx_is_machine_code(const struct aw_text *text)
{
    return text->len > 4 && memcmp(text->ptr, "\177ELF", 4) == 0;
}

void ptx_machine_texts_fini(struct ptx_machine_texts *texts)
{
    for (size_t k = 0; k < texts->n_owned; k++)
        free(texts->owned[k]);
    free(texts->owned);
    free(texts->at);
    *texts = (struct ptx_machine_texts){ 0 };
}

/* Room for `more` texts and as many owned ones. */
static bool reserve(struct ptx_machine_texts *t, size_t more)
{
    void *at = realloc(t->at, (t->n + more) * sizeof *t->at);
    if (!at)
        return false;
    t->at = at;
    void *owned = realloc(t->owned, (t->n_owned + more) * sizeof *t->owned);
    if (!owned)
        return false;
    t->owned = owned;
    return true;
}

static enum aw_status add(struct ptx_machine_texts *t, struct aw_buf *ptx, const char *name)
{
    if (ptx->failed || !ptx->ptr) {
        aw_buf_fini(ptx);
        return AW_ERR_OUT_OF_MEMORY;
    }
    t->owned[t->n_owned++] = ptx->ptr;
    t->at[t->n++] = (struct aw_text){ ptx->ptr, ptx->len, name };
    return AW_OK;
}

static enum aw_status lift(const struct sass_cubin *cubin, const char *name, struct ptx_machine_texts *t, struct aw_buf *diags)
{
    uint32_t n = sass_kernel_count(cubin);
    struct aw_buf ptx = { 0 }, error = { 0 };
    bool starts = sass_starts(cubin);
    if (!reserve(t, (size_t)n + 1))
        return AW_ERR_OUT_OF_MEMORY;
    enum aw_status status = sass_lift_variables(cubin, &ptx, &error);
    if (status != AW_OK) {
        aw_buf_printf(diags, "%s:0:0: error: %s\n", name ? name : "<cubin>",
                      error.ptr ? error.ptr : "its variables cannot be lifted");
        aw_buf_fini(&ptx);
        aw_buf_fini(&error);
        return status;
    }
    status = add(t, &ptx, name);
    for (uint32_t k = 0; k < n && status == AW_OK; k++) {
        struct aw_buf text = { 0 }, why = { 0 };
        if (starts && sass_kernel_starts(cubin, k)) { /* kernels' addresses are numbers in their own cubin */
            aw_buf_printf(&why, "it starts kernels, and its machine code is linked with other code");
            status = AW_ERR_NOT_SUPPORTED;
        } else {
            status = sass_lift(cubin, k, false, &text, &why);
        }
        if (status == AW_ERR_NOT_SUPPORTED || status == AW_ERR_INVALID_IMAGE) {
            text.len = 0;
            status = sass_lift_refused(cubin, k, (struct aw_str){ why.ptr, why.len }, &text);
        }
        if (status == AW_OK)
            status = add(t, &text, name);
        else
            aw_buf_fini(&text);
        aw_buf_fini(&why);
    }
    aw_buf_fini(&error);
    return status;
}

enum aw_status ptx_machine_texts(const struct aw_text texts[], size_t n, struct ptx_machine_texts *ret, struct aw_buf *diags)
{
    enum aw_status status = AW_OK;
    *ret = (struct ptx_machine_texts){ 0 };
    for (size_t k = 0; k < n && status == AW_OK; k++) {
        struct sass_cubin *cubin;
        const char *why = "";
        if (!ptx_is_machine_code(&texts[k])) {
            if (!reserve(ret, 1))
                status = AW_ERR_OUT_OF_MEMORY;
            else
                ret->at[ret->n++] = texts[k];
            continue;
        }
        status = sass_open(texts[k].ptr, texts[k].len, &cubin, &why);
        if (status == AW_OK) {
            status = lift(cubin, texts[k].name, ret, diags);
            sass_close(cubin);
        } else {
            aw_buf_printf(diags, "%s:0:0: error: %s\n", texts[k].name ? texts[k].name : "<cubin>", why);
        }
    }
    if (status != AW_OK)
        ptx_machine_texts_fini(ret);
    return status;
}

/* ---- A module that is one cubin */

struct ptx_machine {
    char *bytes, *name;         /* owned; the name may be NULL */
    size_t size;
    struct sass_cubin *cubin;
    struct aw_buf variables;    /* PTX */
};

void ptx_machine_close(struct ptx_machine *machine)
{
    if (!machine)
        return;
    sass_close(machine->cubin);
    aw_buf_fini(&machine->variables);
    free(machine->bytes);
    free(machine->name);
    free(machine);
}

static enum aw_status machine_fill(struct ptx_machine *m, const struct aw_text *text, struct aw_buf *diags)
{
    const char *why = "";
    struct aw_buf error = { 0 };
    m->bytes = malloc(text->len);
    m->name = strdup(text->name ? text->name : "<cubin>");
    if (!m->bytes || !m->name)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(m->bytes, text->ptr, text->len);
    m->size = text->len;
    enum aw_status status = sass_open(m->bytes, m->size, &m->cubin, &why);
    if (status == AW_OK) {
        status = sass_lift_variables(m->cubin, &m->variables, &error);
        why = error.ptr ? error.ptr : "its variables cannot be lifted";
    }
    if (status == AW_OK && sass_starts(m->cubin)) /* where it lies for all of the module's kernels */
        aw_buf_printf(&m->variables, ".weak .global .align 16 .b64 " AW_STARTS_SYMBOL "[%zu];\n",
                      sizeof(struct aw_starts_words) / 8);
    if (status != AW_OK && status != AW_ERR_OUT_OF_MEMORY)
        aw_buf_printf(diags, "%s:0:0: error: %s\n", m->name, why);
    aw_buf_fini(&error);
    return status;
}

enum aw_status ptx_machine_open(const struct aw_text *text, struct ptx_machine **ret_machine, struct aw_buf *diags)
{
    struct ptx_machine *m = calloc(1, sizeof *m);
    enum aw_status status = m ? machine_fill(m, text, diags) : AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        *ret_machine = m;
    else
        ptx_machine_close(m);
    return status;
}

struct aw_text ptx_machine_image(const struct ptx_machine *machine)
{
    return (struct aw_text){ machine->bytes, machine->size, machine->name };
}

static enum aw_status open_with(const struct ptx_machine *m, struct aw_buf *code, struct ptx_diags *diags,
                                struct ptx_module **ret_module)
{
    const struct aw_text texts[2] = { { m->variables.ptr, m->variables.len, m->name }, { code->ptr, code->len, m->name } };
    return code->failed || !code->ptr ? AW_ERR_OUT_OF_MEMORY : ptx_open(texts, 2, diags, ret_module);
}

enum aw_status ptx_machine_outline(const struct ptx_machine *m, struct ptx_diags *diags, struct ptx_module **ret_module)
{
    struct aw_buf text = { 0 };
    enum aw_status status = sass_lift_entries(m->cubin, &text);
    if (status == AW_OK)
        status = open_with(m, &text, diags, ret_module);
    aw_buf_fini(&text);
    return status;
}

enum aw_status ptx_machine_kernel(const struct ptx_machine *m, const char *kernel, bool places, struct ptx_diags *diags,
                                  struct ptx_module **ret_module)
{
    struct aw_buf text = { 0 }, why = { 0 };
    uint32_t index = sass_kernel_find(m->cubin, aw_str_from(kernel));
    if (index == UINT32_MAX) {
        aw_buf_printf(&diags->text, "%s:0:0: error: there is no kernel '%s'\n", m->name, kernel);
        return AW_ERR_NOT_FOUND;
    }
    enum aw_status status = sass_lift(m->cubin, index, places, &text, &why);
    if (status == AW_OK)
        status = open_with(m, &text, diags, ret_module);
    else if (why.ptr)
        aw_buf_printf(&diags->text, "%s:0:0: error: cannot be lifted: %s\n", m->name, why.ptr);
    aw_buf_fini(&text);
    aw_buf_fini(&why);
    return status;
}

void ptx_machine_hash(const struct ptx_machine *m, struct aw_manifest *manifest)
{
    struct aw_manifest_kernel *kernels = (void *)((char *)manifest + manifest->kernels);
    struct aw_hash128 image = aw_hash128(m->bytes, m->size);
    for (uint32_t k = 0; k < manifest->n_kernels; k++) {
        const char *name = (const char *)manifest + manifest->strings + kernels[k].name;
        struct aw_hasher hasher;
        aw_hasher_init(&hasher);
        aw_hasher_add(&hasher, &image, sizeof image);
        aw_hasher_add(&hasher, name, strlen(name));
        struct aw_hash128 hash = aw_hasher_end(&hasher);
        memcpy(kernels[k].closure, &hash, sizeof kernels[k].closure);
    }
}
