/* Arrays and mipmapped arrays: their shapes, limits and memory.  Copies are copy.c's, textures texture.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"

#include "base/log.h"
#include "core/memory.h"

#define AW_ROOM "core"

struct aw_slab aw_array_slab = AW_SLAB_INIT("array", struct aw_array);
struct aw_slab aw_mipmap_slab = AW_SLAB_INIT("mipmapped array", struct aw_mipmap);

enum { PITCH_ALIGN = 64 }; /* bytes */

/* What the device attributes say too (device_attr.def). */
enum { MAX_1D = 131072, MAX_2D_WIDTH = 131072, MAX_2D_HEIGHT = 65536, MAX_3D = 16384, MAX_LAYERED = 32768, MAX_LAYERS = 2048 };

/* ---- Shapes */

unsigned aw_format_bytes(unsigned format)
{
    switch (format) {
    case AW_FORMAT_U8: case AW_FORMAT_S8: return 1;
    case AW_FORMAT_U16: case AW_FORMAT_S16: case AW_FORMAT_HALF: return 2;
    case AW_FORMAT_U32: case AW_FORMAT_S32: case AW_FORMAT_FLOAT: return 4;
    default: return 0;
    }
}

unsigned aw_element_bytes(unsigned format, unsigned channels)
{
    return channels == 1 || channels == 2 || channels == 4 ? aw_format_bytes(format) * channels : 0;
}

const struct aw_block_format *aw_block_format(unsigned format)
{
    static const struct aw_block_format formats[] = {
        { 1, 4, 8, false, false },  { 1, 4, 8, false, true },  { 2, 4, 16, false, false }, { 2, 4, 16, false, true },
        { 3, 4, 16, false, false }, { 3, 4, 16, false, true }, { 4, 1, 8, false, false },  { 4, 1, 8, true, false },
        { 5, 2, 16, false, false }, { 5, 2, 16, true, false }, { 6, 3, 16, false, false }, { 6, 3, 16, true, false },
        { 7, 4, 16, false, false }, { 7, 4, 16, false, true },
    };
    return format >= AW_FORMAT_BLOCK && format <= AW_FORMAT_BLOCK_LAST ? &formats[format - AW_FORMAT_BLOCK] : NULL;
}

unsigned aw_shape_element_bytes(const struct aw_array_shape *shape)
{
    const struct aw_block_format *block = aw_block_format(shape->format);
    if (block)
        return shape->channels == block->channels ? block->bytes : 0;
    return aw_element_bytes(shape->format, shape->channels);
}

static size_t elements(const struct aw_array_shape *shape, size_t texels)
{
    return aw_block_format(shape->format) ? (texels + 3) / 4 : texels;
}

size_t aw_shape_row_bytes(const struct aw_array_shape *shape)
{
    return elements(shape, shape->width) * aw_shape_element_bytes(shape);
}

static bool cube_ok(const struct aw_array_shape *s)
{
    bool layered = s->flags & AW_ARRAY_LAYERED;
    return s->width == s->height && (layered ? s->depth && s->depth % 6 == 0 : s->depth == 6);
}

static bool extent_ok(const struct aw_array_shape *s)
{
    if (!s->width)
        return false;
    if (s->flags & AW_ARRAY_CUBE)
        return cube_ok(s) && s->width <= MAX_LAYERED && s->depth <= MAX_LAYERS;
    if (s->flags & AW_ARRAY_LAYERED)
        return s->depth && s->width <= MAX_LAYERED && s->height <= MAX_LAYERED && s->depth <= MAX_LAYERS;
    if (s->depth)
        return s->height && s->width <= MAX_3D && s->height <= MAX_3D && s->depth <= MAX_3D;
    return s->height ? s->width <= MAX_2D_WIDTH && s->height <= MAX_2D_HEIGHT : s->width <= MAX_1D;
}

static enum aw_status shape_check(const struct aw_array_shape *s)
{
    if (s->flags & ~(unsigned)AW_ARRAY_FLAGS)
        return s->flags & ~(unsigned)AW_ARRAY_KNOWN_FLAGS ? AW_ERR_INVALID_VALUE : AW_ERR_NOT_SUPPORTED;
    if (!aw_shape_element_bytes(s) || !extent_ok(s))
        return AW_ERR_INVALID_VALUE;
    if (aw_block_format(s->format) && (!s->height || (s->flags & AW_ARRAY_SURFACE)))
        return AW_ERR_INVALID_VALUE;
    if (aw_block_format(s->format) && !aw_provider->block_textures) {
        aw_say(TEXTURE_BLOCKS, aw_block_format(s->format)->kind);
        return AW_ERR_NOT_SUPPORTED;
    }
    bool flat = s->height && !s->depth && !(s->flags & (AW_ARRAY_LAYERED | AW_ARRAY_CUBE));
    return (s->flags & AW_ARRAY_GATHER) && !flat && !(s->flags & AW_ARRAY_LAYERED) ? AW_ERR_INVALID_VALUE : AW_OK;
}

static size_t count_of(size_t n)
{
    return n ? n : 1;
}

/* Fills pitch and slice; the limits above keep all products far below 2^64. */
static void layout(struct aw_array *array, const struct aw_array_shape *shape)
{
    array->shape = *shape;
    array->pitch = (aw_shape_row_bytes(shape) + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
    array->slice = array->pitch * count_of(elements(shape, shape->height));
}

size_t aw_array_bytes(const struct aw_array *array)
{
    return array->slice * count_of(array->shape.depth);
}

/* ---- Arrays */

static struct aw_array *array_new(struct aw_ctx *ctx, const struct aw_array_shape *shape)
{
    struct aw_array *array = aw_slab_take(&aw_array_slab);
    if (!array)
        return NULL;
    array->ctx = ctx;
    array->mipmap = NULL;
    layout(array, shape);
    return array;
}

enum aw_status aw_array_create(struct aw_ctx *ctx, const struct aw_array_shape *shape, struct aw_array **ret_array)
{
    enum aw_status status = shape_check(shape);
    if (status)
        return status;
    struct aw_array *array = array_new(ctx, shape);
    if (!array)
        return AW_ERR_OUT_OF_MEMORY;
    status = aw_mem_module_alloc(ctx, aw_array_bytes(array), false, &array->base);
    if (status) {
        aw_slab_give(&aw_array_slab, array);
        return status;
    }
    aw_slab_publish(&aw_array_slab, array);
    *ret_array = array;
    return AW_OK;
}

enum aw_status aw_array_destroy(struct aw_array *array)
{
    if (array->mipmap || !aw_slab_kill(&aw_array_slab, array))
        return AW_ERR_INVALID_HANDLE;
    aw_mem_module_free(array->base);
    aw_slab_give(&aw_array_slab, array);
    return AW_OK;
}

enum aw_status aw_array_box(const struct aw_array *array, size_t x, size_t y, size_t z, size_t width, size_t height,
                            size_t depth, uintptr_t *ret_at)
{
    const struct aw_array_shape *s = &array->shape;
    size_t row = aw_shape_row_bytes(s), rows = count_of(elements(s, s->height)), slices = count_of(s->depth);
    if (x > row || width > row - x || y > rows || height > rows - y || z > slices || depth > slices - z)
        return AW_ERR_INVALID_VALUE;
    *ret_at = array->base + z * array->slice + y * array->pitch + x;
    return AW_OK;
}

/* ---- Mipmapped arrays */

static size_t half(size_t n)
{
    return n > 1 ? n / 2 : n; /* 0 stays "no such dimension" */
}

static unsigned levels_most(const struct aw_array_shape *s)
{
    bool layered = s->flags & (AW_ARRAY_LAYERED | AW_ARRAY_CUBE);
    size_t most = s->width > s->height ? s->width : s->height;
    unsigned n = 1;
    if (!layered && s->depth > most)
        most = s->depth;
    for (; most > 1; most /= 2)
        n++;
    return n;
}

static void mipmap_free(struct aw_mipmap *mipmap)
{
    for (unsigned i = 0; i < mipmap->n_levels; i++)
        if (mipmap->levels[i]) {
            aw_slab_kill(&aw_array_slab, mipmap->levels[i]);
            aw_slab_give(&aw_array_slab, mipmap->levels[i]);
        }
    aw_mem_module_free(mipmap->base);
    aw_slab_give(&aw_mipmap_slab, mipmap);
}

/* Arrays for all levels, their addresses counted from 0; the bytes of all together. */
static bool levels_make(struct aw_mipmap *mipmap, const struct aw_array_shape *shape, unsigned levels, size_t *ret_size)
{
    struct aw_array_shape s = *shape;
    size_t at = 0;
    for (unsigned i = 0; i < levels; i++) {
        struct aw_array *level = array_new(mipmap->ctx, &s);
        if (!level)
            return false;
        mipmap->levels[mipmap->n_levels++] = level;
        level->mipmap = mipmap;
        level->base = at;
        at += (aw_array_bytes(level) + 255) / 256 * 256;
        s.width = half(s.width);
        s.height = half(s.height);
        if (!(s.flags & (AW_ARRAY_LAYERED | AW_ARRAY_CUBE)))
            s.depth = half(s.depth);
    }
    *ret_size = at;
    return true;
}

enum aw_status aw_mipmap_create(struct aw_ctx *ctx, const struct aw_array_shape *shape, unsigned levels,
                                struct aw_mipmap **ret_mipmap)
{
    size_t size = 0;
    enum aw_status status = shape_check(shape);
    if (status)
        return status;
    if (!levels)
        return AW_ERR_INVALID_VALUE;
    if (levels > levels_most(shape))
        levels = levels_most(shape);
    struct aw_mipmap *mipmap = aw_slab_take(&aw_mipmap_slab);
    if (!mipmap)
        return AW_ERR_OUT_OF_MEMORY;
    mipmap->ctx = ctx;
    mipmap->base = 0;
    mipmap->n_levels = 0;
    status = levels_make(mipmap, shape, levels, &size) ? aw_mem_module_alloc(ctx, size, false, &mipmap->base)
                                                       : AW_ERR_OUT_OF_MEMORY;
    if (status) {
        mipmap_free(mipmap);
        return status;
    }
    for (unsigned i = 0; i < mipmap->n_levels; i++) {
        mipmap->levels[i]->base += mipmap->base;
        aw_slab_publish(&aw_array_slab, mipmap->levels[i]);
    }
    aw_slab_publish(&aw_mipmap_slab, mipmap);
    *ret_mipmap = mipmap;
    return AW_OK;
}

enum aw_status aw_mipmap_destroy(struct aw_mipmap *mipmap)
{
    if (!aw_slab_kill(&aw_mipmap_slab, mipmap))
        return AW_ERR_INVALID_HANDLE;
    mipmap_free(mipmap);
    return AW_OK;
}

/* ---- The context's end */

static void array_drop(void *object, void *ctx)
{
    struct aw_array *array = object;
    if (array->ctx == ctx && !array->mipmap)
        (void)aw_array_destroy(array);
}

static void mipmap_drop(void *object, void *ctx)
{
    struct aw_mipmap *mipmap = object;
    if (mipmap->ctx == ctx)
        (void)aw_mipmap_destroy(mipmap);
}

static void arrays_drop(struct aw_ctx *ctx)
{
    aw_slab_each(&aw_mipmap_slab, mipmap_drop, ctx);
    aw_slab_each(&aw_array_slab, array_drop, ctx);
}

AW_CTX_DROP(AW_DROP_ARRAYS, arrays_drop)
