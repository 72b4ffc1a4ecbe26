/* Texture and surface objects: what a user describes, checked and written as a descriptor (include/anywarp/texture.h) that
 * kernels read.  A handle is the descriptor's device address.  All functions are thread-safe. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_TEXTURE_H
#define AW_CORE_TEXTURE_H

#include <anywarp/texture.h>

#include "core/array.h"

enum { AW_LINEAR_TEXTURE_MAX = 1 << 28 /* elements of a texture of linear memory */ };

/* CUresourcetype's numbers. */
enum aw_resource_type { AW_RESOURCE_ARRAY, AW_RESOURCE_MIPMAP, AW_RESOURCE_LINEAR, AW_RESOURCE_PITCH2D };

struct aw_tex_resource {
    enum aw_resource_type type;
    struct aw_array *array;          /* handles as the user gave them: checked here */
    struct aw_mipmap *mipmap;
    uintptr_t address;               /* of linear and pitch2D */
    unsigned format, channels;
    size_t bytes;                    /* of linear */
    size_t width, height, pitch;     /* of pitch2D; pitch in bytes */
};

/* CU_TRSF_*'s numbers. */
enum { AW_TEX_READ_INTEGER = 1, AW_TEX_NORMALIZED = 2, AW_TEX_SRGB = 16, AW_TEX_NO_TRILINEAR = 32, AW_TEX_SEAMLESS = 64,
       AW_TEX_FLAGS = 115 };

struct aw_tex_sampler {
    unsigned address[3];             /* enum aw_sampler's AW_ADDRESS_* */
    unsigned filter, mip_filter;     /* 0 point, 1 linear */
    unsigned flags;                  /* AW_TEX_* */
    unsigned max_anisotropy;         /* kept, without effect */
    float lod_bias, lod_min, lod_max;
    float border[4];
};

/* CUresourceViewFormat's numbers; 0 is no change. */
struct aw_tex_view {
    unsigned format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
};

struct aw_tex_info {
    enum aw_texture_kind kind;
    struct aw_tex_resource resource;
    struct aw_tex_sampler sampler;
    struct aw_tex_view view;
    bool has_view;
};

/* Checks `info` and fills the descriptor, but for `srgb`.  AW_ERR_INVALID_VALUE, AW_ERR_INVALID_HANDLE (array),
 * AW_ERR_NOT_SUPPORTED (block-compressed views, where the provider has none). */
enum aw_status aw_texture_describe(const struct aw_tex_info *info, struct aw_texture *ret_desc);

/* What lies in device memory: the descriptor, and the sRGB curve where it is used.  Bytes of `image` that were filled for
 * being at `address`. */
struct aw_texture_image {
    struct aw_texture desc;
    float curve[256];
};
/* Whether a view's format, CUresourceViewFormat's number, is block-compressed. */
bool aw_view_is_block(unsigned number);
size_t aw_texture_image_fill(struct aw_texture_image *image, const struct aw_texture *desc, uint64_t address);

/* As above, and into device memory of `ctx`. */
enum aw_status aw_texture_create(struct aw_ctx *ctx, const struct aw_tex_info *info, uint64_t *ret_handle);
/* What kernels read of it stays as it was until some hundred others have been destroyed.  AW_ERR_INVALID_VALUE when it is no
 * live object of that kind. */
enum aw_status aw_texture_destroy(enum aw_texture_kind kind, uint64_t handle);
enum aw_status aw_texture_find(enum aw_texture_kind kind, uint64_t handle, struct aw_tex_info *ret_info);

#endif
