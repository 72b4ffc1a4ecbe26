/* Texture and surface references: their settings, and the descriptors that modules' cells point to. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/texref.h"

#include "core/recorder.h"
#include "core/memory.h"

struct aw_slab aw_texref_slab = AW_SLAB_INIT("texture reference", struct aw_texref);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over finding and making */

struct search {
    struct aw_ctx *ctx;
    uintptr_t begin, end;
    struct aw_texref *found;
};

static void search_each(void *object, void *user)
{
    struct aw_texref *ref = object;
    struct search *search = user;
    if (ref->ctx == search->ctx && ref->cell >= search->begin && ref->cell < search->end)
        search->found = ref;
}

static struct aw_texref *ref_find(struct aw_ctx *ctx, uintptr_t begin, uintptr_t end)
{
    struct search search = { ctx, begin, end, NULL };
    aw_slab_each(&aw_texref_slab, search_each, &search);
    return search.found;
}

enum aw_status aw_texref_get(struct aw_ctx *ctx, enum aw_texture_kind kind, uintptr_t cell, uint32_t sampler,
                             struct aw_texref **ret_ref)
{
    enum aw_status status = AW_OK;
    pthread_mutex_lock(&lock);
    struct aw_texref *ref = cell ? ref_find(ctx, cell, cell + 1) : NULL;
    if (ref && ref->info.kind != kind)
        status = AW_ERR_INVALID_VALUE;
    if (!ref && (ref = aw_slab_take(&aw_texref_slab))) {
        ref->ctx = ctx;
        ref->cell = cell;
        ref->info = (struct aw_tex_info){ .kind = kind };
        ref->info.resource.format = AW_FORMAT_FLOAT;
        ref->info.resource.channels = 1;
        for (int i = 0; i < 3; i++)
            ref->info.sampler.address[i] = sampler >> 2 * i & 3;
        ref->info.sampler.filter = (sampler & AW_SAMPLER_LINEAR) != 0;
        ref->info.sampler.flags = sampler & AW_SAMPLER_NORMALIZED ? AW_TEX_NORMALIZED : 0;
        aw_slab_publish(&aw_texref_slab, ref);
    }
    pthread_mutex_unlock(&lock);
    if (!ref)
        return AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        *ret_ref = ref;
    return status;
}

/* Writes the descriptor, and the cell, when no kernel is left that could see both states. */
static enum aw_status descriptor_write(struct aw_texref *ref, struct aw_texture *desc)
{
    struct aw_ctx *ctx = ref->ctx;
    struct aw_texture_image image;
    uint64_t address = ref->descriptor;
    enum aw_status status = aw_ctx_sync(ctx);
    if (status)
        return status;
    if (!address) {
        uintptr_t made;
        status = aw_mem_module_alloc(ctx, sizeof image, false, &made);
        if (status)
            return status;
        address = ref->descriptor = made;
    }
    size_t size = aw_texture_image_fill(&image, desc, address);
    status = aw_mem_copy(ctx, (void *)(uintptr_t)address, &image, size, AW_COPY_H2D, &ctx->legacy, false);
    if (status == AW_OK && ref->cell)
        status = aw_mem_copy(ctx, (void *)ref->cell, &address, sizeof address, AW_COPY_H2D, &ctx->legacy, false);
    return status;
}

static enum aw_status cell_clear(struct aw_texref *ref)
{
    uint64_t none = 0;
    if (!ref->cell || !ref->bound)
        return AW_OK;
    enum aw_status status = aw_ctx_sync(ref->ctx);
    return status ? status : aw_mem_copy(ref->ctx, (void *)ref->cell, &none, sizeof none, AW_COPY_H2D, &ref->ctx->legacy, false);
}

enum aw_status aw_texref_set(struct aw_texref *ref, const struct aw_tex_info *info, bool bound)
{
    struct aw_texture desc;
    enum aw_status status = bound ? aw_texture_describe(info, &desc) : AW_OK;
    if (status)
        return status;
    aw_capture_pause();
    status = bound ? descriptor_write(ref, &desc) : cell_clear(ref);
    aw_capture_resume();
    if (status == AW_OK) {
        ref->info = *info;
        ref->bound = bound;
    }
    return status;
}

void aw_texref_destroy(struct aw_texref *ref)
{
    if (!aw_slab_kill(&aw_texref_slab, ref))
        return;
    aw_mem_module_free(ref->descriptor);
    aw_slab_give(&aw_texref_slab, ref);
}

void aw_texrefs_drop(struct aw_ctx *ctx, uintptr_t begin, uintptr_t end)
{
    struct aw_texref *ref;
    while ((ref = ref_find(ctx, begin, end)))
        aw_texref_destroy(ref);
}

static void texrefs_drop(struct aw_ctx *ctx)
{
    aw_texrefs_drop(ctx, 0, UINTPTR_MAX);
}

AW_CTX_DROP(AW_DROP_TEXREFS, texrefs_drop)
