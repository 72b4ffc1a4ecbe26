/* Just-in-time links: inputs to PTX texts, texts to one image. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jit_link.h"

#include <anywarp/fatbin.h>

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define AW_ROOM "core"

struct aw_link {
    struct aw_ctx *ctx;
    uint64_t ctx_id;
    unsigned opt_level;
    bool debug;
    AW_VEC(struct aw_image *) images;     /* the names of texts may lie in them */
    AW_VEC(struct aw_image_texts) texts;  /* of each image */
    char *result;
    size_t result_size;
};

/* ---- Life. */

enum aw_status aw_link_create(struct aw_ctx *ctx, unsigned opt_level, struct aw_link **ret_link)
{
    struct aw_link *link = calloc(1, sizeof *link);
    if (!link)
        return AW_ERR_OUT_OF_MEMORY;
    link->ctx = ctx;
    link->ctx_id = ctx->id;
    link->opt_level = opt_level;
    *ret_link = link;
    return AW_OK;
}

void aw_link_destroy(struct aw_link *link)
{
    if (!link)
        return;
    for (size_t i = 0; i < link->texts.n; i++)
        aw_image_texts_fini(&link->texts.at[i]);
    for (size_t i = 0; i < link->images.n; i++)
        aw_image_unref(link->images.at[i]);
    aw_vec_fini(&link->texts);
    aw_vec_fini(&link->images);
    free(link->result);
    free(link);
}

/* ---- Inputs. */

/* Keeps the image, whose texts have been looked at alone: what others define may be missing, everything else is told now. */
static enum aw_status image_add(struct aw_link *link, struct aw_image *image, struct aw_buf *log)
{
    const struct aw_manifest *manifest;
    struct aw_image_texts texts = { 0 };
    enum aw_status status = aw_image_open(image, &manifest);
    if (status == AW_ERR_NOT_FOUND)
        status = AW_OK;
    else
        aw_buf_str(log, aw_str_from(aw_image_log(image)));
    if (status == AW_OK)
        status = aw_image_texts(image, &texts);
    if (status == AW_OK && (!aw_vec_reserve(&link->images, 1) || !aw_vec_reserve(&link->texts, 1)))
        status = AW_ERR_OUT_OF_MEMORY;
    if (status) {
        aw_image_texts_fini(&texts);
        return status;
    }
    aw_image_ref(image);
    link->images.at[link->images.n++] = image;
    link->texts.at[link->texts.n++] = texts;
    link->debug |= texts.debug;
    return AW_OK;
}

static enum aw_status bytes_add(struct aw_link *link, const void *bytes, size_t size, unsigned flags, const char *name,
                                struct aw_buf *log)
{
    struct aw_image *image;
    /* Borrowed: only the name of an image is needed after the call, and its texts, which are copies. */
    enum aw_status status = aw_image_create_sized(bytes, size, flags | AW_IMAGE_BORROWED, name, &image);
    if (status) {
        aw_buf_printf(log, "%s: %s\n", name, aw_status_text(status));
        return status;
    }
    status = image_add(link, image, log);
    aw_image_unref(image);
    return status;
}

/* PTX need not be terminated, and its size may count a NUL or not. */
static enum aw_status ptx_add(struct aw_link *link, const char *bytes, size_t size, const char *name, struct aw_buf *log)
{
    char *text = malloc(size + 4);
    if (!text)
        return AW_ERR_OUT_OF_MEMORY;
    memcpy(text, bytes, size);
    memset(text + size, 0, 4);
    enum aw_status status = bytes_add(link, text, strlen(text), 0, name, log);
    free(text);
    return status == AW_ERR_INVALID_IMAGE ? AW_ERR_INVALID_PTX : status;
}

struct library_walk {
    struct aw_link *link;
    const char *name;
    struct aw_buf *log;
    enum aw_status status;
    unsigned added;
};

/* As NVIDIA's linker, takes every member that has device code; the rest of a library is the host's. */
static bool member_add(void *user, const char *name, const void *member, size_t size)
{
    struct library_walk *walk = user;
    struct aw_buf full = { 0 }, log = { 0 };
    if (size < 4 || memcmp(member, "\177ELF", 4) != 0)
        return true;
    aw_buf_printf(&full, "%s(%s)", walk->name, name);
    if (full.failed) {
        aw_buf_fini(&full);
        walk->status = AW_ERR_OUT_OF_MEMORY;
        return false;
    }
    enum aw_status status = bytes_add(walk->link, member, size, AW_IMAGE_OBJECT, full.ptr, &log);
    walk->added += status == AW_OK;
    if (status != AW_ERR_NO_BINARY) {
        walk->status = status;
        if (log.ptr)
            aw_buf_str(walk->log, aw_buf_view(&log));
    }
    aw_buf_fini(&full);
    aw_buf_fini(&log);
    return walk->status == AW_OK;
}

static enum aw_status library_add(struct aw_link *link, const void *bytes, size_t size, const char *name, struct aw_buf *log)
{
    struct library_walk walk = { .link = link, .name = name, .log = log };
    int error = aw_fatbin_each_in_archive(bytes, size, member_add, &walk);
    if (error) {
        aw_buf_printf(log, "%s: not a static library that can be read\n", name);
        return error == AW_FATBIN_NO_MEMORY ? AW_ERR_OUT_OF_MEMORY : AW_ERR_INVALID_IMAGE;
    }
    if (walk.status == AW_OK && !walk.added) {
        aw_buf_printf(log, "%s: no PTX in any member of the library\n", name);
        return AW_ERR_NO_BINARY;
    }
    return walk.status;
}

static enum aw_status input_add(struct aw_link *link, enum aw_link_input kind, const void *bytes, size_t size,
                                const char *name, struct aw_buf *log)
{
    static const char elf[] = { 0x7f, 'E', 'L', 'F' };
    bool is_elf = size >= sizeof elf && memcmp(bytes, elf, sizeof elf) == 0;
    switch (kind) {
    case AW_LINK_PTX:
        return ptx_add(link, bytes, size, name, log);
    case AW_LINK_FATBIN:
        return bytes_add(link, bytes, size, AW_IMAGE_FATBIN, name, log);
    case AW_LINK_CUBIN:
    case AW_LINK_OBJECT:
        if (is_elf)
            return bytes_add(link, bytes, size, AW_IMAGE_OBJECT, name, log);
        aw_buf_printf(log, "%s: not an ELF file\n", name);
        return AW_ERR_INVALID_IMAGE;
    case AW_LINK_LIBRARY:
        return library_add(link, bytes, size, name, log);
    case AW_LINK_NVVM:
        aw_buf_printf(log, "%s: NVVM and LTO inputs cannot be linked, only PTX\n", name);
        return AW_ERR_NOT_SUPPORTED;
    }
    return AW_ERR_INVALID_VALUE;
}

enum aw_status aw_link_add(struct aw_link *link, enum aw_link_input kind, const void *bytes, size_t size, const char *name,
                           struct aw_buf *log)
{
    if (link->result)
        return AW_ERR_ILLEGAL_STATE;
    return input_add(link, kind, bytes, size, name && *name ? name : "<input>", log);
}

/* ---- Completing. */

/* All texts as one file, in the order they were added. */
static enum aw_status result_make(struct aw_link *link)
{
    AW_VEC(struct aw_fatbin_text) all = { 0 };
    const struct aw_device *device = link->ctx->device;
    enum aw_status status = AW_OK;
    for (size_t i = 0; i < link->texts.n && status == AW_OK; i++) {
        const struct aw_image_texts *texts = &link->texts.at[i];
        for (size_t j = 0; j < texts->list.n && status == AW_OK; j++) {
            const struct aw_text *text = &texts->list.at[j];
            struct aw_fatbin_text entry = { text->ptr, text->len, text->name,
                                            (uint32_t)(device->cc_major * 10 + device->cc_minor),
                                            link->debug || link->opt_level == 0 };
            if (!aw_vec_push(&all, entry))
                status = AW_ERR_OUT_OF_MEMORY;
        }
    }
    if (status == AW_OK)
        link->result = aw_fatbin_write(all.at, all.n, &link->result_size);
    aw_vec_fini(&all);
    return status ? status : link->result ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

/* Opens the result as a module would.  Linking is the first step; errors in bodies count when no kernel is left. */
static enum aw_status result_check(struct aw_link *link, struct aw_buf *log)
{
    struct aw_image *image;
    struct aw_module *module;
    const struct aw_manifest *manifest;
    char *errors = NULL;
    enum aw_status status = aw_image_create_sized(link->result, link->result_size, AW_IMAGE_BORROWED, "linked image", &image);
    if (status)
        return status;
    status = aw_image_open(image, &manifest);
    aw_buf_str(log, aw_str_from(aw_image_log(image)));
    if (status == AW_ERR_NOT_FOUND || (status == AW_ERR_INVALID_PTX && link->texts.n > 1))
        status = AW_ERR_UNKNOWN; /* every text was fine alone; the code is the one CUDA gives */
    if (status == AW_OK)
        status = aw_module_create(link->ctx, image, link->opt_level, &module);
    if (status == AW_OK) {
        status = aw_module_usable(module, &errors);
        if (status && errors)
            aw_buf_str(log, aw_str_from(errors));
        (void)aw_module_destroy(module);
    }
    free(errors);
    aw_image_unref(image);
    return status;
}

static enum aw_status link_complete(struct aw_link *link, struct aw_buf *log)
{
    if (aw_ctx_from(link->ctx) == NULL || link->ctx->id != link->ctx_id)
        return AW_ERR_CONTEXT_DESTROYED;
    if (!link->texts.n) {
        aw_buf_printf(log, "there is nothing to link\n");
        return AW_ERR_INVALID_VALUE;
    }
    enum aw_status status = result_make(link);
    if (status == AW_OK)
        status = result_check(link, log);
    if (status) {
        free(link->result);
        link->result = NULL;
    }
    return status;
}

enum aw_status aw_link_complete(struct aw_link *link, void **ret_image, size_t *ret_size, struct aw_buf *log)
{
    enum aw_status status = link->result ? AW_OK : link_complete(link, log);
    if (status == AW_OK) {
        *ret_image = link->result;
        *ret_size = link->result_size;
    }
    return status;
}
