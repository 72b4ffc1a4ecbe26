/* Sampling textures in software: what the instructions (texture.c, surface.c) ask of the sampler (texel.c, sample.c).
 *
 * Each way of sampling becomes one internal function of the module, made when first called, so that a kernel full of fetches
 * stays small; the first calls are inlined.  Only arithmetic that is the same on all devices, to the bit. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_LOWER_TEXTURE_H
#define AW_PTX_LOWER_TEXTURE_H

#include <anywarp/texture.h>

#include "lower/internal.h"

enum ptx_tex_mode { PTX_TEX_BASE, PTX_TEX_LEVEL, PTX_TEX_GRAD, PTX_TEX_GATHER };

/* One way of sampling: everything that is known when the kernel is compiled. */
struct ptx_tex_way {
    unsigned dims;          /* coordinates that address a plane: 1 to 3; 2 for cubes */
    bool cube, layered;
    bool line;              /* of two dimensions, but the texture may have one: the second coordinate is nothing then */
    bool fetch;             /* integer coordinates: one texel, zero outside */
    bool integer;           /* the result is wanted as integers: never filtered */
    bool offset;            /* texel offsets are given */
    bool compare;           /* elements become 1 where the depth given is at most theirs, else 0 */
    enum ptx_tex_mode mode;
    unsigned component;     /* GATHER: which */
};

/* Where a descriptor lies, and what of it was read.  Pointers are to constant memory: descriptors change between kernels only. */
struct ptx_tex {
    struct ptx_tex_way way;
    LLVMValueRef desc;                   /* ptr addrspace(4) */
    LLVMValueRef format, sampler;        /* i32 */
};
struct ptx_tex_level {
    LLVMValueRef base, pitch, slice;     /* i64 */
    LLVMValueRef size[3];                /* i32: width, height, depth */
};

/* A field of the descriptor at byte `at`. */
LLVMValueRef ptx_tex_field(struct ptx_lower *l, LLVMValueRef desc, LLVMTypeRef type, size_t at);
#define PTX_TEX_FIELD(l, desc, type, field) ptx_tex_field((l), (desc), (type), offsetof(struct aw_texture, field))
/* Level number `index` (i32, below `levels`), or level 0 when NULL. */
struct ptx_tex_level ptx_tex_level_read(struct ptx_lower *l, LLVMValueRef desc, LLVMValueRef index);
/* The element at `at` (i32, inside the level; 1 to 3 of them are not NULL) as four 32-bit values, as the format says. */
void ptx_tex_texel(struct ptx_lower *l, const struct ptx_tex *t, const struct ptx_tex_level *level, LLVMValueRef at[3],
                   LLVMValueRef ret_words[4]);
/* Address of that element, i64. */
LLVMValueRef ptx_tex_address(struct ptx_lower *l, const struct ptx_tex_level *level, LLVMValueRef at[3], LLVMValueRef log2_bytes);

/* The arguments of one sampling; types as the comments say, NULL where the way has none. */
struct ptx_tex_args {
    LLVMValueRef handle, sampler;        /* i64, i32 */
    LLVMValueRef layer;                  /* i32 */
    LLVMValueRef coord[3];               /* float, or i32 for a fetch; cubes have three */
    LLVMValueRef lod;                    /* float, or i32 for a fetch */
    LLVMValueRef dx[3], dy[3];           /* float: GRAD */
    LLVMValueRef offset[3];              /* i32 */
    LLVMValueRef depth;                  /* float: compare */
};
/* Calls the function for `way`; the four results are i32. */
void ptx_tex_sample(struct ptx_lower *l, const struct ptx_tex_way *way, const struct ptx_tex_args *args,
                    LLVMValueRef ret_words[4]);

/* The descriptor's address that an operand inside [...] names: a register, a parameter, or a .texref, .samplerref or .surfref
 * variable, in whose cell it lies.  `offset`: the address operand's, in bytes; only variables, arrays of such cells, can have
 * one. */
LLVMValueRef ptx_tex_handle(struct ptx_lower *l, const struct ptx_operand *op, int64_t offset);
/* Where a handle's descriptor lies. */
LLVMValueRef ptx_tex_desc(struct ptx_lower *l, LLVMValueRef handle);
/* A .samplerref variable as a number: AW_HANDLE_SAMPLER and its enum aw_sampler.  i64; an error is noted. */
LLVMValueRef ptx_sampler_handle(struct ptx_lower *l, const struct ptx_var *var);

/* .1d to .acube of an instruction. */
struct ptx_tex_geometry {
    unsigned dims, coords;               /* coordinates that are read: 3 for cubes */
    bool cube, layered;
};
struct ptx_tex_geometry ptx_tex_geometry_of(const struct ptx_instr *in);

/* Two-way branches with values. */
struct ptx_if {
    LLVMBasicBlockRef otherwise, done;
};
/* Opens `if (condition)`; ptx_if_else goes to the other side and ptx_if_end behind both; each gives the block that was left, for
 * phis. */
struct ptx_if ptx_if_begin(struct ptx_lower *l, LLVMValueRef condition);
LLVMBasicBlockRef ptx_if_else(struct ptx_lower *l, struct ptx_if *f);
LLVMBasicBlockRef ptx_if_end(struct ptx_lower *l, struct ptx_if *f);
LLVMValueRef ptx_phi2(struct ptx_lower *l, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b);

#endif
