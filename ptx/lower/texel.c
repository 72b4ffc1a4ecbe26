/* One element of a texture: its address, and its bytes made into four values.  Which elements a sample takes is sample.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/texture.h"

#include <stddef.h>

/* ---- Branches */

struct ptx_if ptx_if_begin(struct ptx_lower *l, LLVMValueRef condition)
{
    struct ptx_if f = { ptx_block_new(l, "tex.else"), ptx_block_new(l, "tex.end") };
    LLVMBasicBlockRef then = ptx_block_new(l, "tex.then");
    LLVMBuildCondBr(l->builder, condition, then, f.otherwise);
    LLVMPositionBuilderAtEnd(l->builder, then);
    return f;
}

static LLVMBasicBlockRef leave(struct ptx_lower *l, LLVMBasicBlockRef to, LLVMBasicBlockRef next)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(l->builder);
    LLVMBuildBr(l->builder, to);
    LLVMPositionBuilderAtEnd(l->builder, next);
    return from;
}

LLVMBasicBlockRef ptx_if_else(struct ptx_lower *l, struct ptx_if *f)
{
    return leave(l, f->done, f->otherwise);
}

LLVMBasicBlockRef ptx_if_end(struct ptx_lower *l, struct ptx_if *f)
{
    return leave(l, f->done, f->done);
}

LLVMValueRef ptx_phi2(struct ptx_lower *l, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef phi = LLVMBuildPhi(l->builder, LLVMTypeOf(a), "");
    LLVMAddIncoming(phi, (LLVMValueRef[]){ a, b }, (LLVMBasicBlockRef[]){ from_a, from_b }, 2);
    return phi;
}

/* ---- The descriptor */

static LLVMValueRef load_constant(struct ptx_lower *l, LLVMTypeRef type, LLVMValueRef p, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(l->builder, type, p, "");
    if (l->target->features & PTX_TARGET_LOOKS)
        ptx_own_read(v);
    LLVMSetAlignment(v, align);
    ptx_mark(v, PTX_INVARIANT);
    return v;
}

LLVMValueRef ptx_tex_field(struct ptx_lower *l, LLVMValueRef desc, LLVMTypeRef type, size_t at)
{
    return load_constant(l, type, b_gep(l, desc, b_i64(l, at)), type == l->i64 ? 8 : 4);
}

struct ptx_tex_level ptx_tex_level_read(struct ptx_lower *l, LLVMValueRef desc, LLVMValueRef index)
{
    LLVMValueRef p = b_gep(l, desc, b_i64(l, offsetof(struct aw_texture, level)));
    if (index)
        p = b_gep(l, p, b_mul(l, b_zext(l, index, l->i64), b_i64(l, sizeof(struct aw_texture_level))));
#define LEVEL_FIELD(type, field) ptx_tex_field(l, p, (type), offsetof(struct aw_texture_level, field))
    return (struct ptx_tex_level){ LEVEL_FIELD(l->i64, base), LEVEL_FIELD(l->i64, pitch), LEVEL_FIELD(l->i64, slice),
                                   { LEVEL_FIELD(l->i32, width), LEVEL_FIELD(l->i32, height), LEVEL_FIELD(l->i32, depth) } };
#undef LEVEL_FIELD
}

LLVMValueRef ptx_tex_address(struct ptx_lower *l, const struct ptx_tex_level *level, LLVMValueRef at[3], LLVMValueRef log2_bytes)
{
    LLVMValueRef address = b_add(l, level->base, b_shl(l, b_zext(l, at[0], l->i64), b_zext(l, log2_bytes, l->i64)));
    if (at[1])
        address = b_add(l, address, b_mul(l, b_zext(l, at[1], l->i64), level->pitch));
    if (at[2])
        address = b_add(l, address, b_mul(l, b_zext(l, at[2], l->i64), level->slice));
    return address;
}

/* ---- Bytes to values */

static LLVMValueRef bits_of(struct ptx_lower *l, LLVMValueRef word, unsigned shift, unsigned mask)
{
    return b_and(l, shift ? b_lshr(l, word, b_i32(l, shift)) : word, b_i32(l, mask));
}

static LLVMValueRef flag_of(struct ptx_lower *l, LLVMValueRef word, unsigned flag)
{
    return b_ne(l, bits_of(l, word, 0, flag), b_i32(l, 0));
}

static void load_words(struct ptx_lower *l, LLVMValueRef address, unsigned n, LLVMValueRef ret_words[4])
{
    LLVMTypeRef type = n > 1 ? LLVMVectorType(l->i32, n) : l->i32;
    LLVMValueRef v = load_constant(l, type, b_inttoptr(l, address, l->ptr[AS_GLOBAL]), 4 * n);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = i >= n ? b_i32(l, 0) : n > 1 ? LLVMBuildExtractElement(l->builder, v, b_i32(l, i), "") : v;
}

/* The element's bytes from the low end of four words; what is above them is zero or whatever follows in memory. */
static void load_element(struct ptx_lower *l, LLVMValueRef address, LLVMValueRef log2_bytes, LLVMValueRef ret_words[4])
{
    LLVMValueRef small[4], two[4], four[4];
    struct ptx_if is_small = ptx_if_begin(l, b_ult(l, log2_bytes, b_i32(l, 3)));
    load_words(l, b_and(l, address, b_i64(l, ~3ull)), 1, small); /* elements are aligned: none lies in two words */
    LLVMValueRef shift = b_shl(l, b_and(l, b_trunc(l, address, l->i32), b_i32(l, 3)), b_i32(l, 3));
    small[0] = b_lshr(l, small[0], shift);
    LLVMBasicBlockRef from_small = ptx_if_else(l, &is_small);
    struct ptx_if is_two = ptx_if_begin(l, b_eq(l, log2_bytes, b_i32(l, 3)));
    load_words(l, address, 2, two);
    LLVMBasicBlockRef from_two = ptx_if_else(l, &is_two);
    load_words(l, address, 4, four);
    LLVMBasicBlockRef from_four = ptx_if_end(l, &is_two);
    for (unsigned i = 0; i < 4; i++)
        four[i] = ptx_phi2(l, two[i], from_two, four[i], from_four);
    LLVMBasicBlockRef from_large = ptx_if_end(l, &is_small);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = ptx_phi2(l, small[i], from_small, four[i], from_large);
}

/* v / d, correctly rounded, for the integers of a channel: the quotient's error is small enough for one step to mend. */
static LLVMValueRef divided(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef d, LLVMValueRef reciprocal)
{
    LLVMValueRef q = b_fmul(l, v, reciprocal);
    LLVMValueRef rest = b_fma(l, b_fneg(l, q), d, v);
    return b_fma(l, rest, reciprocal, q);
}

static LLVMValueRef choose_real(struct ptx_lower *l, LLVMValueRef c, double a, double b)
{
    return b_select(l, c, b_real(l->f32, (float)a), b_real(l->f32, (float)b));
}

/* Channels of 8 and 16 bits as fractions of their largest value; the least signed one is below -1, until it is filtered. */
static void normalize(struct ptx_lower *l, const struct ptx_tex *t, LLVMValueRef is8, LLVMValueRef is_signed, LLVMValueRef c[4])
{
    LLVMValueRef most = b_select(l, is_signed, choose_real(l, is8, 127, 32767), choose_real(l, is8, 255, 65535));
    LLVMValueRef reciprocal = b_select(l, is_signed, choose_real(l, is8, 1.0f / 127, 1.0f / 32767),
                                       choose_real(l, is8, 1.0f / 255, 1.0f / 65535));
    LLVMValueRef raw[4];
    for (unsigned i = 0; i < 4; i++) {
        raw[i] = c[i];
        c[i] = ptx_to_bits(l, divided(l, b_sitofp(l, c[i], l->f32), most, reciprocal)); /* unsigned ones are below 2^16 */
    }
    struct ptx_if srgb = ptx_if_begin(l, flag_of(l, t->format, AW_TEXEL_SRGB));
    LLVMValueRef table = b_inttoptr(l, PTX_TEX_FIELD(l, t->desc, l->i64, srgb), l->ptr[AS_CONST]), curved[3];
    for (unsigned i = 0; i < 3; i++)
        curved[i] = load_constant(l, l->i32,
                                  b_gep(l, table, b_zext(l, b_shl(l, bits_of(l, raw[i], 0, 255), b_i32(l, 2)), l->i64)), 4);
    LLVMBasicBlockRef from_curve = ptx_if_else(l, &srgb), from_line = ptx_if_end(l, &srgb);
    for (unsigned i = 0; i < 3; i++)
        c[i] = ptx_phi2(l, curved[i], from_curve, c[i], from_line);
}

/* Channels of 8 and 16 bits out of the element's words. */
static void unpack(struct ptx_lower *l, const struct ptx_tex *t, LLVMValueRef words[4])
{
    LLVMValueRef is8 = b_eq(l, bits_of(l, t->format, AW_TEXEL_CHANNEL_SHIFT, 3), b_i32(l, 0)), c[4];
    LLVMValueRef is_signed = flag_of(l, t->format, AW_TEXEL_SIGNED), is_float = flag_of(l, t->format, AW_TEXEL_FLOAT);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef byte = b_shl(l, words[0], b_i32(l, 24 - 8 * i)); /* in the highest bits */
        LLVMValueRef half = i % 2 ? words[i / 2] : b_shl(l, words[i / 2], b_i32(l, 16));
        LLVMValueRef high = b_select(l, is8, byte, b_and(l, half, b_i32(l, 0xffff0000)));
        LLVMValueRef down = b_select(l, is8, b_i32(l, 24), b_i32(l, 16));
        c[i] = b_select(l, is_signed, b_ashr(l, high, down), b_lshr(l, high, down));
    }
    struct ptx_if normalized = ptx_if_begin(l, flag_of(l, t->format, AW_TEXEL_NORMALIZED));
    LLVMValueRef fraction[4] = { c[0], c[1], c[2], c[3] };
    normalize(l, t, is8, is_signed, fraction);
    LLVMBasicBlockRef from_fraction = ptx_if_else(l, &normalized);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef half = b_fpext(l, b_bitcast(l, b_trunc(l, c[i], l->i16), l->f16), l->f32);
        c[i] = b_select(l, is_float, ptx_to_bits(l, half), c[i]);
    }
    LLVMBasicBlockRef from_plain = ptx_if_end(l, &normalized);
    for (unsigned i = 0; i < 4; i++)
        words[i] = ptx_phi2(l, fraction[i], from_fraction, c[i], from_plain);
}

/* aw.block.texel as a function of the module, which keeps its code out of the samplers: few kernels ever run it. */
static LLVMValueRef block_function(struct ptx_lower *l, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMGetNamedFunction(l->module, "tex.block");
    if (fn)
        return fn;
    struct ptx_lower inner = *l;
    unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
    fn = inner.fn = LLVMAddFunction(l->module, "tex.block", type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    ptx_function_attributes(l, fn);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(l->context, kind, 0));
    inner.builder = LLVMCreateBuilderInContext(l->context);
    LLVMPositionBuilderAtEnd(inner.builder, ptx_block_new(&inner, "entry"));
    LLVMValueRef args[3] = { LLVMGetParam(fn, 1), LLVMGetParam(fn, 2), LLVMGetParam(fn, 3) };
    LLVMBuildRet(inner.builder, b_simt(&inner, PTX_SIMT_BLOCK_TEXEL, args));
    LLVMDisposeBuilder(inner.builder);
    return fn;
}

/* A texel of a compressed block, decoded: four floats. */
static void load_block(struct ptx_lower *l, const struct ptx_tex *t, LLVMValueRef address, LLVMValueRef at[3],
                       LLVMValueRef ret_words[4])
{
    LLVMValueRef texel = bits_of(l, at[0], 0, 3), desc = LLVMBuildPtrToInt(l->builder, t->desc, l->i64, "");
    if (at[1])
        texel = b_or(l, texel, b_shl(l, bits_of(l, at[1], 0, 3), b_i32(l, 2)));
    LLVMTypeRef types[4] = { LLVMTypeOf(l->kernarg), l->i64, l->i32, l->i64 }, type = LLVMFunctionType(l->i64, types, 4, 0);
    for (unsigned i = 0; i < 4; i += 2) {
        LLVMValueRef args[4] = { l->kernarg, address, b_or(l, texel, b_i32(l, 8 * i)), desc };
        LLVMValueRef pair = LLVMBuildCall2(l->builder, type, block_function(l, type), args, 4, "");
        ret_words[i] = b_trunc(l, pair, l->i32);
        ret_words[i + 1] = b_trunc(l, b_lshr(l, pair, b_i64(l, 32)), l->i32);
    }
}

/* The element's bytes, or a texel of the block that it is. */
static void read_element(struct ptx_lower *l, const struct ptx_tex *t, const struct ptx_tex_level *level, LLVMValueRef at[3],
                         LLVMValueRef ret_words[4])
{
    LLVMValueRef log2_bytes = bits_of(l, t->format, 0, AW_TEXEL_BYTES_LOG2), raw[4];
    if (!(l->target->features & PTX_TARGET_BLOCKS)) {
        load_element(l, ptx_tex_address(l, level, at, log2_bytes), log2_bytes, ret_words);
        return;
    }
    LLVMValueRef two = b_i32(l, 2), block[3] = { b_lshr(l, at[0], two), at[1] ? b_lshr(l, at[1], two) : NULL, at[2] };
    struct ptx_if is_block = ptx_if_begin(l, b_ne(l, bits_of(l, t->format, AW_TEXEL_BLOCK_SHIFT, 15), b_i32(l, 0)));
    load_block(l, t, ptx_tex_address(l, level, block, log2_bytes), at, raw);
    LLVMBasicBlockRef from_block = ptx_if_else(l, &is_block);
    load_element(l, ptx_tex_address(l, level, at, log2_bytes), log2_bytes, ret_words);
    LLVMBasicBlockRef from_element = ptx_if_end(l, &is_block);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = ptx_phi2(l, raw[i], from_block, ret_words[i], from_element);
}

void ptx_tex_texel(struct ptx_lower *l, const struct ptx_tex *t, const struct ptx_tex_level *level, LLVMValueRef at[3],
                   LLVMValueRef ret_words[4])
{
    LLVMValueRef raw[4], small[4];
    read_element(l, t, level, at, raw);
    struct ptx_if is_raw = ptx_if_begin(l, b_eq(l, bits_of(l, t->format, AW_TEXEL_CHANNEL_SHIFT, 3), b_i32(l, 2)));
    LLVMBasicBlockRef from_raw = ptx_if_else(l, &is_raw);
    for (unsigned i = 0; i < 4; i++)
        small[i] = raw[i];
    unpack(l, t, small);
    LLVMBasicBlockRef from_small = ptx_if_end(l, &is_raw);
    for (unsigned i = 0; i < 4; i++)
        ret_words[i] = ptx_phi2(l, raw[i], from_raw, small[i], from_small);
    LLVMValueRef channels = bits_of(l, t->format, AW_TEXEL_CHANNELS_SHIFT, 7);
    LLVMValueRef one = b_select(l, flag_of(l, t->format, AW_TEXEL_FLOAT | AW_TEXEL_NORMALIZED), b_i32(l, 0x3f800000),
                                b_i32(l, 1));
    for (unsigned i = 1; i < 4; i++) /* channels that the format has not: 0, and 1 for the fourth */
        ret_words[i] = b_select(l, b_ult(l, b_i32(l, i), channels), ret_words[i], i == 3 ? one : b_i32(l, 0));
}
