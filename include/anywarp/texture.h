/* Texture and surface descriptors: what the 64-bit handle of a texture or surface object is the address of, and what else it is.
 *
 * The runtime writes one into device memory for each object and each bound reference, and generated code reads it: the same
 * bytes on every device.  Not CUDA's structures (src/abi) and not how a texel is sampled (ptx/lower/texture.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANYWARP_TEXTURE_H
#define ANYWARP_TEXTURE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { AW_TEXTURE_LEVELS = 18 /* of a mipmap: 131072 texels halved down to one */ };

/* aw_texture.format: how an element lies in memory, and what reading makes of it. */
enum aw_texel {
    AW_TEXEL_BYTES_LOG2 = 7,        /* log2 of an element's bytes, 0 to 4 */
    AW_TEXEL_CHANNEL_SHIFT = 3,     /* 2 bits: log2 of a channel's bytes, 0 to 2 */
    AW_TEXEL_CHANNELS_SHIFT = 5,    /* 3 bits: 1, 2 or 4 channels; 3 in BC6H */
    AW_TEXEL_FLOAT = 1 << 8,
    AW_TEXEL_SIGNED = 1 << 9,
    AW_TEXEL_NORMALIZED = 1 << 10,  /* integers of 8 and 16 bits read as floats in [0,1] or [-1,1] */
    AW_TEXEL_SRGB = 1 << 11,        /* through aw_texture.srgb, but for the fourth channel */
    AW_TEXEL_BLOCK_SHIFT = 12,      /* 4 bits: 1 to 7, an element is a block of 4 x 4 texels compressed as BC1 to BC7; 0: it is a
                                     * texel. Only for devices of providers with block_textures */
};

/* aw_texture.sampler.  Address modes are CUaddress_mode's numbers, two bits for each dimension, x lowest. */
enum aw_sampler {
    AW_ADDRESS_WRAP = 0, AW_ADDRESS_CLAMP = 1, AW_ADDRESS_MIRROR = 2, AW_ADDRESS_BORDER = 3,
    AW_SAMPLER_LINEAR = 1 << 6,
    AW_SAMPLER_NORMALIZED = 1 << 7, /* coordinates count from 0 to 1 */
    AW_SAMPLER_MIP_LINEAR = 1 << 8,
    AW_SAMPLER_SEAMLESS = 1 << 9,   /* linear filtering goes on across the edges of a cube's faces */
    AW_SAMPLER_LINE = 1 << 10,      /* of one dimension, layered or not */
    /* a texture reference's, where nothing is said */
    AW_SAMPLER_OF_REFERENCE = AW_ADDRESS_CLAMP | AW_ADDRESS_CLAMP << 2 | AW_ADDRESS_CLAMP << 4,
};

enum aw_texture_kind { AW_TEXTURE = 1, AW_SURFACE = 2 };

/* A handle: a descriptor's address and the bit of its kind, or a sampler's bits and theirs.  The bits are those that NVIDIA's
 * assembler looks at for `istypep`; no address has them. */
#define AW_HANDLE_TEXTURE ((uint64_t)1 << 61)
#define AW_HANDLE_SAMPLER ((uint64_t)1 << 62)
#define AW_HANDLE_SURFACE ((uint64_t)1 << 63)
#define AW_HANDLE_KINDS (AW_HANDLE_TEXTURE | AW_HANDLE_SAMPLER | AW_HANDLE_SURFACE)

static inline uint64_t aw_handle_kind(enum aw_texture_kind kind)
{
    return kind == AW_TEXTURE ? AW_HANDLE_TEXTURE : AW_HANDLE_SURFACE;
}

struct aw_texture_level {
    uint64_t base;                  /* device address of the first element; aligned to an element's bytes */
    uint64_t pitch, slice;          /* bytes from row to row, from slice (or layer, or face) to slice */
    uint32_t width, height, depth;  /* texels, at least 1; depth counts slices, layers or faces */
    uint32_t pad;
};

struct aw_texture {
    uint32_t format, sampler;       /* enum aw_texel, enum aw_sampler */
    uint32_t levels;                /* in `level`, at least 1 */
    uint32_t layers;                /* of a layered texture (cubes, for cubes); 0: not layered */
    float lod_bias, lod_min, lod_max;
    uint32_t kind;                  /* enum aw_texture_kind */
    uint32_t border[4];             /* float bits, or integers where texels are integers */
    uint64_t srgb;                  /* device address of 256 floats, or 0 */
    uint32_t data_type, channels;   /* what txq and suq tell: CUarray_format's number, count */
    struct aw_texture_level level[AW_TEXTURE_LEVELS];
};

#ifdef __cplusplus
}
#endif
#endif
