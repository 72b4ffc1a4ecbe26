/* Texture and surface objects: descriptions checked, descriptors filled and kept.  How kernels read them is ptx/lower's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/texture.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "core/recorder.h"
#include "core/memory.h"

#define AW_ROOM "core"

struct object {
    struct aw_tex_info info;
    struct aw_ctx *ctx;
    uintptr_t address;
    struct object *next, **link; /* of all objects; or those that were destroyed, the oldest first */
};

/* So many descriptors at least stay after their object was destroyed, and no new object gets their handles.  CUDA promises
 * nothing of the kind, but programs that destroy an object and launch what reads it, after making others, are right on cards
 * (COLMAP's features: an object returned by value destroys its handle). */
#define LINGERING 512

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct aw_ptrmap by_address; /* under the lock, as the lists */
static struct object *all, *destroyed, **destroyed_end = &destroyed;
static uint32_t n_destroyed;

/* ---- Formats */

static unsigned log2_of(unsigned n)
{
    return (unsigned)__builtin_ctz(n);
}

/* enum aw_texel of a format; `sampler` NULL for surfaces. */
static uint32_t texel_of(unsigned format, unsigned channels, const struct aw_tex_sampler *sampler)
{
    unsigned bytes = aw_format_bytes(format);
    bool is_float = format == AW_FORMAT_HALF || format == AW_FORMAT_FLOAT;
    bool is_signed = format == AW_FORMAT_S8 || format == AW_FORMAT_S16 || format == AW_FORMAT_S32;
    uint32_t texel = log2_of(bytes * channels) | log2_of(bytes) << AW_TEXEL_CHANNEL_SHIFT | channels << AW_TEXEL_CHANNELS_SHIFT;
    texel |= (is_float ? AW_TEXEL_FLOAT : 0u) | (is_signed ? AW_TEXEL_SIGNED : 0u);
    if (sampler && !is_float && bytes < 4 && !(sampler->flags & AW_TEX_READ_INTEGER)) {
        texel |= AW_TEXEL_NORMALIZED;
        if ((sampler->flags & AW_TEX_SRGB) && format == AW_FORMAT_U8)
            texel |= AW_TEXEL_SRGB;
    }
    return texel;
}

/* The format that a view's number names: 1, 2 and 4 channels of each in turn. */
static enum aw_status view_format(unsigned number, unsigned *ret_format, unsigned *ret_channels)
{
    static const unsigned formats[] = { AW_FORMAT_U8, AW_FORMAT_S8, AW_FORMAT_U16, AW_FORMAT_S16, AW_FORMAT_U32, AW_FORMAT_S32,
                                        AW_FORMAT_HALF, AW_FORMAT_FLOAT };
    if (number > 0x18)
        return AW_ERR_INVALID_VALUE;
    *ret_format = formats[(number - 1) / 3];
    *ret_channels = 1u << (number - 1) % 3;
    return AW_OK;
}

static void set_format(struct aw_texture *desc, const struct aw_tex_info *info, unsigned format, unsigned channels)
{
    desc->format = texel_of(format, channels, info->kind == AW_TEXTURE ? &info->sampler : NULL);
    desc->data_type = format;
    desc->channels = channels;
}

/* ---- Blocks: BC1 to BC7 */

/* Views of arrays whose elements are blocks, of two or four words of 32 bits; from 0x19. */
static const struct {
    uint8_t kind, channels;
    bool is_signed;
} block_views[] = { { 1, 4, false }, { 2, 4, false }, { 3, 4, false }, { 4, 1, false }, { 4, 1, true },
                    { 5, 2, false }, { 5, 2, true },  { 6, 3, false }, { 6, 3, true },  { 7, 4, false } };
enum { BLOCK_VIEW = 0x19, BLOCK_VIEWS = sizeof block_views / sizeof *block_views };

bool aw_view_is_block(unsigned number)
{
    return number >= BLOCK_VIEW && number < BLOCK_VIEW + BLOCK_VIEWS;
}

/* The texels are floats, whatever is asked; as wide as 32 bits once they are read. */
static void set_block(struct aw_texture *desc, unsigned kind, unsigned channels, bool is_signed, bool srgb)
{
    unsigned bytes = kind == 1 || kind == 4 ? 8 : 16;
    desc->format = log2_of(bytes) | 2u << AW_TEXEL_CHANNEL_SHIFT | channels << AW_TEXEL_CHANNELS_SHIFT |
                   kind << AW_TEXEL_BLOCK_SHIFT | (kind == 6 ? AW_TEXEL_FLOAT : AW_TEXEL_NORMALIZED) |
                   (is_signed ? AW_TEXEL_SIGNED : 0u) | (srgb ? AW_TEXEL_SRGB : 0u);
    desc->channels = channels;
}

/* The array's elements become blocks: its sizes, those of the view. */
static enum aw_status view_blocks(struct aw_texture *desc, const struct aw_tex_view *v, unsigned flags)
{
    unsigned index = v->format - BLOCK_VIEW, kind = block_views[index].kind, bytes = kind == 1 || kind == 4 ? 8 : 16;
    struct aw_texture_level *first = &desc->level[0];
    if (!aw_provider->block_textures) {
        aw_say(TEXTURE_BLOCKS_VIEW, kind);
        return AW_ERR_NOT_SUPPORTED;
    }
    if (desc->data_type != AW_FORMAT_U32 || 1u << (desc->format & AW_TEXEL_BYTES_LOG2) != bytes)
        return AW_ERR_INVALID_VALUE;
    if (v->width > 4ull * first->width || v->height > 4ull * first->height || (v->width + 3) / 4 != first->width ||
        (v->height + 3) / 4 != first->height)
        return AW_ERR_INVALID_VALUE;
    for (uint32_t i = 0; i < desc->levels; i++) {
        uint64_t width = v->width >> i, height = v->height >> i;
        struct aw_texture_level *level = &desc->level[i];
        width = width < 4ull * level->width ? width : 4ull * level->width; /* levels of blocks are rounded down as such */
        height = height < 4ull * level->height ? height : 4ull * level->height;
        level->width = width ? (uint32_t)width : 1;
        level->height = height ? (uint32_t)height : 1;
    }
    set_block(desc, kind, block_views[index].channels, block_views[index].is_signed,
              (flags & AW_TEX_SRGB) && block_views[index].channels == 4);
    return AW_OK;
}

/* ---- Resources */

static struct aw_texture_level level_of(const struct aw_array *array)
{
    const struct aw_array_shape *s = &array->shape;
    return (struct aw_texture_level){ .base = array->base,
                                      .pitch = array->pitch,
                                      .slice = array->slice,
                                      .width = (uint32_t)s->width,
                                      .height = s->height ? (uint32_t)s->height : 1,
                                      .depth = s->depth ? (uint32_t)s->depth : 1 };
}

static void set_array(struct aw_texture *desc, const struct aw_tex_info *info, const struct aw_array *array)
{
    const struct aw_array_shape *s = &array->shape;
    bool cube = s->flags & AW_ARRAY_CUBE;
    const struct aw_block_format *block = aw_block_format(s->format);
    if (block) {
        set_block(desc, block->kind, block->channels, block->is_signed,
                  block->srgb || (info->sampler.flags & AW_TEX_SRGB && block->channels == 4));
        desc->data_type = s->format;
    } else {
        set_format(desc, info, s->format, s->channels);
    }
    desc->layers = s->flags & AW_ARRAY_LAYERED ? (uint32_t)(cube ? s->depth / 6 : s->depth) : 0;
    desc->sampler |= s->height ? 0u : AW_SAMPLER_LINE;
}

static enum aw_status set_linear(struct aw_texture *desc, const struct aw_tex_info *info)
{
    const struct aw_tex_resource *r = &info->resource;
    unsigned element = aw_element_bytes(r->format, r->channels);
    bool flat = r->type == AW_RESOURCE_PITCH2D;
    if (!element || !r->address || r->address % element)
        return AW_ERR_INVALID_VALUE;
    size_t width = flat ? r->width : r->bytes / element, height = flat ? r->height : 1;
    if (!width || !height || width > (flat ? 131072u : AW_LINEAR_TEXTURE_MAX) || height > 65000)
        return AW_ERR_INVALID_VALUE;
    if (flat && (r->pitch % element || r->pitch < width * element))
        return AW_ERR_INVALID_VALUE;
    set_format(desc, info, r->format, r->channels);
    desc->sampler |= flat ? 0u : AW_SAMPLER_LINE;
    desc->level[0] = (struct aw_texture_level){ .base = r->address, .pitch = flat ? r->pitch : width * element,
                                                .width = (uint32_t)width, .height = (uint32_t)height, .depth = 1 };
    return AW_OK;
}

static enum aw_status set_resource(struct aw_texture *desc, const struct aw_tex_info *info)
{
    const struct aw_tex_resource *r = &info->resource;
    desc->levels = 1;
    switch (r->type) {
    case AW_RESOURCE_ARRAY:
        if (!aw_array_from(r->array))
            return AW_ERR_INVALID_HANDLE;
        set_array(desc, info, r->array);
        desc->level[0] = level_of(r->array);
        return AW_OK;
    case AW_RESOURCE_MIPMAP:
        if (!aw_mipmap_from(r->mipmap))
            return AW_ERR_INVALID_HANDLE;
        set_array(desc, info, r->mipmap->levels[0]);
        desc->levels = r->mipmap->n_levels;
        if (desc->levels > AW_TEXTURE_LEVELS)
            return AW_ERR_INVALID_VALUE;
        for (unsigned i = 0; i < desc->levels; i++)
            desc->level[i] = level_of(r->mipmap->levels[i]);
        return AW_OK;
    case AW_RESOURCE_LINEAR:
    case AW_RESOURCE_PITCH2D:
        return set_linear(desc, info);
    }
    return AW_ERR_INVALID_VALUE;
}

/* ---- Views */

static enum aw_status apply_view(struct aw_texture *desc, const struct aw_tex_info *info)
{
    const struct aw_tex_view *v = &info->view;
    unsigned format, channels;
    if (info->resource.type > AW_RESOURCE_MIPMAP)
        return AW_ERR_INVALID_VALUE; /* linear memory has no views */
    if (aw_view_is_block(v->format)) {
        enum aw_status status = view_blocks(desc, v, info->sampler.flags);
        if (status)
            return status;
    } else if (v->format) {
        if (desc->format >> AW_TEXEL_BLOCK_SHIFT)
            return AW_ERR_INVALID_VALUE;
        enum aw_status status = view_format(v->format, &format, &channels);
        if (status)
            return status;
        if (aw_element_bytes(format, channels) != 1u << (desc->format & AW_TEXEL_BYTES_LOG2))
            return AW_ERR_INVALID_VALUE;
        set_format(desc, info, format, channels);
    }
    if (v->first_level > v->last_level || v->last_level >= desc->levels)
        return AW_ERR_INVALID_VALUE;
    desc->levels = v->last_level - v->first_level + 1;
    memmove(desc->level, desc->level + v->first_level, desc->levels * sizeof *desc->level);
    if (!desc->layers)
        return v->first_layer || v->last_layer ? AW_ERR_INVALID_VALUE : AW_OK;
    uint32_t each = desc->level[0].depth / desc->layers; /* slices: 6 in cubes */
    if (v->first_layer > v->last_layer || v->last_layer >= desc->level[0].depth || v->first_layer % each ||
        (v->last_layer + 1) % each)
        return AW_ERR_INVALID_VALUE;
    for (uint32_t i = 0; i < desc->levels; i++) {
        desc->level[i].base += v->first_layer * desc->level[i].slice;
        desc->level[i].depth = v->last_layer - v->first_layer + 1;
    }
    desc->layers = desc->level[0].depth / each;
    return AW_OK;
}

/* ---- Samplers */

/* A border's channel as elements of the format would have it: fractions in its steps, none beyond its ends. */
static float border_of(uint32_t format, float v)
{
    if (!(format & AW_TEXEL_NORMALIZED) || format >> AW_TEXEL_BLOCK_SHIFT & 15)
        return v;
    bool is_signed = format & AW_TEXEL_SIGNED, wide = format >> AW_TEXEL_CHANNEL_SHIFT & 3;
    float most = is_signed ? (wide ? 32767 : 127) : (wide ? 65535 : 255), least = is_signed ? -1 : 0;
    v = v > least ? v < 1 ? v : 1 : least; /* no number is the least */
    return (float)(int)(v * most + (v < 0 ? -0.5f : 0.5f)) / most;
}

static enum aw_status set_sampler(struct aw_texture *desc, const struct aw_tex_info *info)
{
    const struct aw_tex_sampler *s = &info->sampler;
    bool normalized = s->flags & AW_TEX_NORMALIZED, linear_memory = info->resource.type == AW_RESOURCE_LINEAR;
    if ((s->flags & ~(unsigned)AW_TEX_FLAGS) || s->filter > 1 || s->mip_filter > 1)
        return AW_ERR_INVALID_VALUE;
    bool integer = !(desc->format & (AW_TEXEL_FLOAT | AW_TEXEL_NORMALIZED));
    /* CUDA filters what returns floats alone (CUDA C++ Programming Guide, Texture Memory): its runtime refuses integers, its
     * driver takes them. */
    bool smooth = s->filter && !linear_memory && !integer;
    if (integer && !linear_memory && (s->filter || s->mip_filter))
        aw_say(TEXTURE_INTEGERS);
    if (info->resource.type == AW_RESOURCE_MIPMAP && !normalized)
        return AW_ERR_INVALID_VALUE;
    for (unsigned i = 0; i < 3; i++) {
        unsigned mode = linear_memory ? AW_ADDRESS_BORDER : s->address[i];
        if (mode > AW_ADDRESS_BORDER)
            return AW_ERR_INVALID_VALUE;
        if (!normalized && (mode == AW_ADDRESS_WRAP || mode == AW_ADDRESS_MIRROR))
            mode = AW_ADDRESS_CLAMP;
        desc->sampler |= mode << 2 * i;
    }
    desc->sampler |= (smooth ? AW_SAMPLER_LINEAR : 0u) | (normalized ? AW_SAMPLER_NORMALIZED : 0u);
    desc->sampler |= (s->mip_filter && !integer ? AW_SAMPLER_MIP_LINEAR : 0u) |
                     (s->flags & AW_TEX_SEAMLESS ? AW_SAMPLER_SEAMLESS : 0u);
    desc->lod_bias = s->lod_bias;
    desc->lod_min = s->lod_min;
    desc->lod_max = s->lod_max;
    for (unsigned i = 0; i < 4; i++) {
        float v = border_of(desc->format, s->border[i]);
        memcpy(&desc->border[i], &v, sizeof v);
    }
    return AW_OK;
}

enum aw_status aw_texture_describe(const struct aw_tex_info *info, struct aw_texture *ret_desc)
{
    struct aw_texture desc = { .kind = info->kind };
    enum aw_status status = set_resource(&desc, info);
    if (status == AW_OK && info->kind == AW_SURFACE)
        status = info->resource.type == AW_RESOURCE_ARRAY ? AW_OK : AW_ERR_INVALID_VALUE;
    if (status == AW_OK && info->has_view)
        status = apply_view(&desc, info);
    if (status == AW_OK && info->kind == AW_TEXTURE)
        status = set_sampler(&desc, info);
    if (status == AW_OK)
        *ret_desc = desc;
    return status;
}

/* ---- Objects */

/* x to the power of 0.4: the fifth root of its square, by Newton's method from above.  Not libm's, which every program would
 * load at its start for this table alone. */
static double power_two_fifths(double x)
{
    double a = x * x, y = 1;
    for (int i = 0; i < 64; i++) {
        double y4 = y * y * y * y;
        y -= (y * y4 - a) / (5 * y4);
    }
    return y;
}

/* What the sRGB curve makes of each byte, in as many bits as NVIDIA's cards have (tests/recorded/isa.txt): eight, of 2^-14 at
 * least. */
static void srgb_fill(float table[256])
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0, x = (c + 0.055) / 1.055, v = c <= 0.04045 ? c / 12.92 : x * x * power_two_fifths(x);
        double step = 1.0 / (1 << 14);
        while (step * 256 <= v)
            step *= 2;
        table[i] = (float)((int)(v / step + 0.5) * step);
    }
}

size_t aw_texture_image_fill(struct aw_texture_image *image, const struct aw_texture *desc, uint64_t address)
{
    image->desc = *desc;
    if (!(desc->format & AW_TEXEL_SRGB))
        return sizeof image->desc;
    image->desc.srgb = address + offsetof(struct aw_texture_image, curve);
    srgb_fill(image->curve);
    return sizeof *image;
}

/* Memory of the device for the descriptor, filled. */
static enum aw_status descriptor_place(struct aw_ctx *ctx, const struct aw_texture *desc, uintptr_t *ret_address)
{
    struct aw_texture_image image;
    uintptr_t address;
    enum aw_status status = aw_mem_module_alloc(ctx, desc->format & AW_TEXEL_SRGB ? sizeof image : sizeof *desc, false, &address);
    if (status)
        return status;
    size_t size = aw_texture_image_fill(&image, desc, address);
    aw_capture_pause(); /* an object made while a stream is captured is there at once */
    status = aw_mem_copy(ctx, (void *)address, &image, size, AW_COPY_H2D, &ctx->legacy, false);
    aw_capture_resume();
    if (status)
        aw_mem_module_free(address);
    else
        *ret_address = address;
    return status;
}

static bool object_add(struct object *object)
{
    pthread_mutex_lock(&lock);
    bool ok = aw_ptrmap_put(&by_address, (void *)object->address, object);
    if (ok) {
        object->next = all;
        object->link = &all;
        if (all)
            all->link = &object->next;
        all = object;
    }
    pthread_mutex_unlock(&lock);
    return ok;
}

/* The lock is held. */
static void object_unlink(struct object *object)
{
    aw_ptrmap_remove(&by_address, (void *)object->address);
    *object->link = object->next;
    if (object->next)
        object->next->link = object->link;
}

enum aw_status aw_texture_create(struct aw_ctx *ctx, const struct aw_tex_info *info, uint64_t *ret_handle)
{
    struct aw_texture desc;
    enum aw_status status = aw_texture_describe(info, &desc);
    if (status)
        return status;
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        return AW_ERR_OUT_OF_MEMORY;
    object->info = *info;
    object->ctx = ctx;
    status = descriptor_place(ctx, &desc, &object->address);
    if (status == AW_OK && !object_add(object)) {
        aw_mem_module_free(object->address);
        status = AW_ERR_OUT_OF_MEMORY;
    }
    if (status)
        free(object);
    else
        *ret_handle = object->address | aw_handle_kind(info->kind);
    return status;
}

/* The lock is held. */
static struct object *object_find(enum aw_texture_kind kind, uint64_t handle)
{
    uint64_t address = handle ^ aw_handle_kind(kind);
    struct object *object = address ? aw_ptrmap_find(&by_address, (void *)(uintptr_t)address) : NULL;
    return object && object->info.kind == kind ? object : NULL;
}

/* Takes those that were destroyed out of their list: of `ctx`, or (NULL) the oldest, but for LINGERING of them.  The lock is
 * held. */
static struct object *destroyed_take(const struct aw_ctx *ctx)
{
    struct object *first = NULL, **end = &first, **at = &destroyed;
    while (*at) {
        struct object *object = *at;
        if (ctx ? object->ctx != ctx : n_destroyed <= LINGERING) {
            at = &object->next;
            continue;
        }
        *at = object->next;
        *end = object;
        end = &object->next;
        n_destroyed--;
    }
    *end = NULL;
    destroyed_end = at;
    return first;
}

static void objects_free(struct object *first)
{
    for (struct object *next, *object = first; object; object = next) {
        next = object->next;
        aw_mem_module_free(object->address);
        free(object);
    }
}

enum aw_status aw_texture_destroy(enum aw_texture_kind kind, uint64_t handle)
{
    struct object *old = NULL;
    pthread_mutex_lock(&lock);
    struct object *object = object_find(kind, handle);
    if (object) {
        object_unlink(object);
        object->next = NULL;
        *destroyed_end = object;
        destroyed_end = &object->next;
        n_destroyed++;
        old = n_destroyed >= 2 * LINGERING ? destroyed_take(NULL) : NULL; /* many at once, as freeing waits for kernels */
    }
    pthread_mutex_unlock(&lock);
    objects_free(old);
    return object ? AW_OK : AW_ERR_INVALID_VALUE;
}

enum aw_status aw_texture_find(enum aw_texture_kind kind, uint64_t handle, struct aw_tex_info *ret_info)
{
    pthread_mutex_lock(&lock);
    struct object *object = object_find(kind, handle);
    if (object)
        *ret_info = object->info;
    pthread_mutex_unlock(&lock);
    return object ? AW_OK : AW_ERR_INVALID_VALUE;
}

static void textures_drop(struct aw_ctx *ctx)
{
    struct object *its = NULL;
    pthread_mutex_lock(&lock);
    for (struct object *next, *object = all; object; object = next) {
        next = object->next;
        if (object->ctx != ctx)
            continue;
        object_unlink(object);
        object->next = its;
        its = object;
    }
    objects_free(its);
    objects_free(destroyed_take(ctx));
    pthread_mutex_unlock(&lock);
}

AW_CTX_DROP(AW_DROP_TEXTURES, textures_drop)
