/* CUDA arrays and mipmapped arrays: images whose layout only we know.
 *
 * An array is linear device memory with a pitch of ours, so that a copy is a rectangular copy and a descriptor
 * (include/anywarp/texture.h) says all that a kernel needs.  Sizes are in elements unless they say bytes.  All functions are
 * thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_ARRAY_H
#define AW_CORE_ARRAY_H

#include "core/context.h"

/* CUarray_format's numbers. */
enum aw_array_format {
    AW_FORMAT_U8 = 1, AW_FORMAT_U16 = 2, AW_FORMAT_U32 = 3, AW_FORMAT_S8 = 8, AW_FORMAT_S16 = 9, AW_FORMAT_S32 = 10,
    AW_FORMAT_HALF = 16, AW_FORMAT_FLOAT = 32,
    AW_FORMAT_BLOCK = 0x91, AW_FORMAT_BLOCK_LAST = 0x9e /* BC1 to BC7: array.c says which is which */
};

/* CUDA_ARRAY3D_*'s numbers. */
enum {
    AW_ARRAY_LAYERED = 1, AW_ARRAY_SURFACE = 2, AW_ARRAY_CUBE = 4, AW_ARRAY_GATHER = 8, AW_ARRAY_DEPTH = 16,
    AW_ARRAY_COLOR = 32, AW_ARRAY_FLAGS = 63, /* those we do; sparse and deferred mapping are not among them */
    AW_ARRAY_KNOWN_FLAGS = 511
};

/* A format of compressed blocks: 4 x 4 texels are one element, of which copies know. */
struct aw_block_format {
    uint8_t kind, channels, bytes;  /* 1 to 7; of a texel; of a block */
    bool is_signed, srgb;
};
/* NULL: no such format. */
const struct aw_block_format *aw_block_format(unsigned format);

/* What a user asks for: height and depth 0 for dimensions it does not have; depth counts a layered array's layers. */
struct aw_array_shape {
    size_t width, height, depth;
    unsigned format, channels; /* enum aw_array_format; 1, 2 or 4, or as the block format says */
    unsigned flags;            /* AW_ARRAY_* */
};

struct aw_mipmap;

struct aw_array {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    struct aw_array_shape shape;
    uintptr_t base;            /* device address */
    size_t pitch, slice;       /* bytes */
    struct aw_mipmap *mipmap;  /* whose level this is, and which owns the memory; NULL: an array of its own */
};

struct aw_mipmap {
    struct aw_handle handle;
    struct aw_ctx *ctx;
    uintptr_t base;
    unsigned n_levels;
    struct aw_array *levels[32];
};

extern struct aw_slab aw_array_slab, aw_mipmap_slab;

static inline struct aw_array *aw_array_from(const void *handle) /* NULL: not a live array */
{
    return aw_slab_valid(&aw_array_slab, handle) ? (struct aw_array *)(uintptr_t)handle : NULL;
}

static inline struct aw_mipmap *aw_mipmap_from(const void *handle)
{
    return aw_slab_valid(&aw_mipmap_slab, handle) ? (struct aw_mipmap *)(uintptr_t)handle : NULL;
}

/* Bytes of one channel; 0: no such format. */
unsigned aw_format_bytes(unsigned format);
/* Bytes of one element; 0: no such format or number of channels, or a format of blocks. */
unsigned aw_element_bytes(unsigned format, unsigned channels);
/* The same of an array, an element of which may be a block; 0 likewise.  Bytes of a row of elements. */
unsigned aw_shape_element_bytes(const struct aw_array_shape *shape);
size_t aw_shape_row_bytes(const struct aw_array_shape *shape);

/* AW_ERR_INVALID_VALUE for shapes CUDA has not, AW_ERR_NOT_SUPPORTED for flags of sparse and deferred arrays and for blocks where
 * the provider has none, AW_ERR_OUT_OF_MEMORY. */
enum aw_status aw_array_create(struct aw_ctx *ctx, const struct aw_array_shape *shape, struct aw_array **ret_array);
/* AW_ERR_INVALID_HANDLE; also for a mipmap's level. */
enum aw_status aw_array_destroy(struct aw_array *array);
/* As many levels as asked for, at most down to one element. */
enum aw_status aw_mipmap_create(struct aw_ctx *ctx, const struct aw_array_shape *shape, unsigned levels,
                                struct aw_mipmap **ret_mipmap);
enum aw_status aw_mipmap_destroy(struct aw_mipmap *mipmap);
/* Bytes the array's memory takes. */
size_t aw_array_bytes(const struct aw_array *array);

/* The box of `width` bytes, `height` rows (of elements) and `depth` slices at x (bytes), y, z: its first byte.
 * AW_ERR_INVALID_VALUE when it leaves the array. */
enum aw_status aw_array_box(const struct aw_array *array, size_t x, size_t y, size_t z, size_t width, size_t height,
                            size_t depth, uintptr_t *ret_at);

#endif
