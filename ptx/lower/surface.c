/* suld, sust and sured: accesses to a surface's bytes or elements at integer coordinates (PTX ISA 9.7.11). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/texture.h"

#include <stddef.h>

/* One access: its address, and whether it lies inside. */
struct surface_access {
    LLVMValueRef desc, pointer;    /* ptr addrspace(1); inside the surface wherever the access is done */
    LLVMValueRef inside;           /* i1 */
    struct ptx_if skip;            /* .zero: open branch */
    bool guarded;
};

static LLVMValueRef clamp(struct ptx_lower *l, LLVMValueRef v, LLVMValueRef most)
{
    v = b_binary(l, "llvm.smin", v, most);
    return b_binary(l, "llvm.smax", v, b_i32(l, 0));
}

/* Coordinates of [s, {layer, x, y ...}], x, then y, then z or the layer; NULL for those there are not. */
static bool coordinates(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *address, LLVMValueRef ret[3])
{
    struct ptx_tex_geometry g = ptx_tex_geometry_of(in);
    const struct ptx_operand *items;
    ret[0] = ret[1] = ret[2] = NULL;
    if (address->n_items != 2)
        return ptx_lower_error(l, in->loc, "the address must be [surface, coordinates]");
    unsigned have = ptx_elements(&address->items[1], &items);
    if (have < g.coords + g.layered || have > 4)
        return ptx_lower_error(l, in->loc, "%u coordinates where %u are needed", have, g.coords + g.layered);
    if (g.layered)
        ret[2] = ptx_src(l, &items[0], PTX_U32);
    for (unsigned d = 0; d < g.dims; d++)
        ret[d] = ptx_src(l, &items[g.layered + d], PTX_S32);
    return true;
}

/* Where `bytes` (i32, a power of two) at the operand's coordinates lie, as the instruction's word for places outside says.  Bytes
 * are counted by x in unformatted accesses, elements in formatted ones.  Code up to access_end is skipped outside where that is
 * .zero. */
static bool access_begin(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *address, LLVMValueRef bytes,
                         struct surface_access *a)
{
    LLVMValueRef at[3];
    if (!coordinates(l, in, address, at))
        return false;
    a->desc = ptx_tex_desc(l, ptx_tex_handle(l, &address->items[0], address->offset));
    struct ptx_tex_level level = ptx_tex_level_read(l, a->desc, NULL);
    LLVMValueRef format = PTX_TEX_FIELD(l, a->desc, l->i32, format), log2_bytes = b_and(l, format, b_i32(l, AW_TEXEL_BYTES_LOG2));
    LLVMValueRef width = b_shl(l, level.size[0], log2_bytes);
    if (!bytes)
        bytes = b_shl(l, b_i32(l, 1), log2_bytes);
    a->inside = b_icmp(l, LLVMIntUGE, width, bytes);
    if (ptx_has(in, PTX_MOD_P)) { /* before scaling: x may be too large for it */
        a->inside = b_and(l, a->inside, b_ult(l, at[0], level.size[0]));
        at[0] = b_shl(l, clamp(l, at[0], level.size[0]), log2_bytes);
    }
    LLVMValueRef last = b_sub(l, width, bytes);
    a->inside = b_and(l, a->inside, b_icmp(l, LLVMIntULE, at[0], last));
    LLVMValueRef x = b_and(l, clamp(l, at[0], last), b_neg(l, bytes));
    LLVMValueRef where = b_add(l, level.base, b_zext(l, x, l->i64));
    for (unsigned d = 1; d < 3; d++) {
        if (!at[d])
            continue;
        a->inside = b_and(l, a->inside, b_ult(l, at[d], level.size[d]));
        LLVMValueRef i = b_zext(l, clamp(l, at[d], b_sub(l, level.size[d], b_i32(l, 1))), l->i64);
        where = b_add(l, where, b_mul(l, i, d == 1 ? level.pitch : level.slice));
    }
    a->pointer = b_inttoptr(l, where, l->ptr[AS_GLOBAL]);
    a->guarded = ptx_has(in, PTX_MOD_ZERO);
    if (ptx_has(in, PTX_MOD_TRAP))
        ptx_trap_unless(l, a->inside, AW_ERR_LAUNCH_FAILED);
    else if (a->guarded)
        a->skip = ptx_if_begin(l, a->inside);
    return true;
}

static void access_end(struct ptx_lower *l, struct surface_access *a)
{
    if (!a->guarded)
        return;
    ptx_if_else(l, &a->skip);
    ptx_if_end(l, &a->skip);
}

static unsigned elements_of(const struct ptx_instr *in, const struct ptx_operand *op, const struct ptx_operand **ret_items)
{
    unsigned n = ptx_elements(op, ret_items);
    return in->vec > 1 ? n : 1;
}

bool ptx_lower_suld(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *items;
    enum ptx_type type = in->types[0];
    unsigned n = elements_of(in, &in->ops[0], &items), each = ptx_type_bits(type) / 8;
    LLVMTypeRef part = ptx_int_type(l, 8 * each);
    struct surface_access a;
    if (n * each > 16)
        return ptx_lower_error(l, in->loc, "an access of %u bytes is too wide", n * each);
    if (!access_begin(l, in, &in->ops[1], b_i32(l, n * each), &a))
        return false;
    LLVMValueRef v = LLVMBuildLoad2(l->builder, n > 1 ? LLVMVectorType(part, n) : part, a.pointer, "");
    LLVMSetAlignment(v, n * each);
    LLVMValueRef parts[4];
    for (unsigned i = 0; i < n; i++)
        parts[i] = n > 1 ? LLVMBuildExtractElement(l->builder, v, b_i32(l, i), "") : v;
    if (a.guarded) {
        LLVMBasicBlockRef done = ptx_if_else(l, &a.skip), skipped = ptx_if_end(l, &a.skip);
        for (unsigned i = 0; i < n; i++)
            parts[i] = ptx_phi2(l, parts[i], done, LLVMConstNull(part), skipped);
    }
    for (unsigned i = 0; i < n; i++)
        ptx_dst(l, &items[i], type, parts[i]);
    return true;
}

bool ptx_lower_sust(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *items;
    enum ptx_type type = in->types[0];
    unsigned n = elements_of(in, &in->ops[1], &items), each = ptx_type_bits(type) / 8;
    LLVMTypeRef part = ptx_int_type(l, 8 * each);
    struct surface_access a;
    if (n * each > 16)
        return ptx_lower_error(l, in->loc, "an access of %u bytes is too wide", n * each);
    LLVMValueRef v = n > 1 ? LLVMGetPoison(LLVMVectorType(part, n)) : NULL; /* every element is inserted */
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef item = ptx_to_bits(l, ptx_src(l, &items[i], type));
        v = n > 1 ? LLVMBuildInsertElement(l->builder, v, item, b_i32(l, i), "") : item;
    }
    if (!access_begin(l, in, &in->ops[0], b_i32(l, n * each), &a))
        return false;
    LLVMSetAlignment(LLVMBuildStore(l->builder, v, a.pointer), n * each);
    access_end(l, &a);
    return true;
}

/* ---- Formatted stores: 32-bit values made into the surface's channels */

struct channel {
    LLVMValueRef is_float, is_signed; /* i1, of the surface's format */
    LLVMValueRef bits;                /* i32: 8, 16 or 32 */
};

/* An integer saturated to the channel, or a float rounded to it; in the low bits. */
static LLVMValueRef to_channel(struct ptx_lower *l, const struct channel *c, LLVMValueRef word)
{
    LLVMValueRef up = b_sub(l, b_i32(l, 32), c->bits), most = b_lshr(l, b_i32(l, UINT32_MAX), up);
    LLVMValueRef high = b_lshr(l, most, b_i32(l, 1)), low = b_not(l, high);
    LLVMValueRef as_signed = b_binary(l, "llvm.smax", b_binary(l, "llvm.smin", word, high), low);
    LLVMValueRef integer = b_select(l, c->is_signed, b_and(l, as_signed, most), b_umin(l, word, most));
    LLVMValueRef half = b_zext(l, ptx_to_bits(l, ptx_f32_to_f16(l, PTX_RN, b_bitcast(l, word, l->f32))), l->i32);
    LLVMValueRef real = b_select(l, b_eq(l, c->bits, b_i32(l, 16)), half, word);
    return b_select(l, c->is_float, real, integer);
}

/* The channels that the surface has of those the instruction gives; missing ones are zero. */
static void store_channels(struct ptx_lower *l, LLVMValueRef pointer, const struct channel *c, LLVMValueRef channels,
                           LLVMValueRef words[4])
{
    for (unsigned i = 0; i < 4; i++) {
        struct ptx_if has = ptx_if_begin(l, b_ult(l, b_i32(l, i), channels));
        LLVMValueRef at = b_gep(l, pointer, b_zext(l, b_lshr(l, b_mul(l, c->bits, b_i32(l, i)), b_i32(l, 3)), l->i64));
        LLVMValueRef v = to_channel(l, c, words[i]);
        struct ptx_if byte = ptx_if_begin(l, b_eq(l, c->bits, b_i32(l, 8)));
        LLVMSetAlignment(LLVMBuildStore(l->builder, b_trunc(l, v, l->i8), at), 1);
        ptx_if_else(l, &byte);
        struct ptx_if half = ptx_if_begin(l, b_eq(l, c->bits, b_i32(l, 16)));
        LLVMSetAlignment(LLVMBuildStore(l->builder, b_trunc(l, v, l->i16), at), 2);
        ptx_if_else(l, &half);
        LLVMSetAlignment(LLVMBuildStore(l->builder, v, at), 4);
        ptx_if_end(l, &half);
        ptx_if_end(l, &byte);
        ptx_if_else(l, &has);
        ptx_if_end(l, &has);
    }
}

bool ptx_lower_sust_format(struct ptx_lower *l, const struct ptx_instr *in)
{
    const struct ptx_operand *items;
    unsigned n = elements_of(in, &in->ops[1], &items);
    LLVMValueRef words[4];
    struct surface_access a;
    for (unsigned i = 0; i < 4; i++)
        words[i] = i < n ? ptx_src(l, &items[i], PTX_B32) : b_i32(l, 0);
    if (!access_begin(l, in, &in->ops[0], NULL, &a))
        return false;
    LLVMValueRef format = PTX_TEX_FIELD(l, a.desc, l->i32, format), zero = b_i32(l, 0);
    LLVMValueRef log2_channel = b_and(l, b_lshr(l, format, b_i32(l, AW_TEXEL_CHANNEL_SHIFT)), b_i32(l, 3));
    struct channel c = { b_ne(l, b_and(l, format, b_i32(l, AW_TEXEL_FLOAT)), zero),
                         b_ne(l, b_and(l, format, b_i32(l, AW_TEXEL_SIGNED)), zero), b_shl(l, b_i32(l, 8), log2_channel) };
    LLVMValueRef channels = b_and(l, b_lshr(l, format, b_i32(l, AW_TEXEL_CHANNELS_SHIFT)), b_i32(l, 7));
    store_channels(l, a.pointer, &c, channels, words);
    access_end(l, &a);
    return true;
}

/* ---- Reductions */

static void reduce(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef pointer, LLVMValueRef v)
{
    struct ptx_atomic a = { in, type, LLVMAtomicOrderingMonotonic, ptx_scope(l, "agent") };
    ptx_atomic_update(l, &a, pointer, v);
}

bool ptx_lower_sured(struct ptx_lower *l, const struct ptx_instr *in)
{
    enum ptx_type type = in->types[0];
    bool ordered = ptx_has(in, PTX_MOD_MIN) || ptx_has(in, PTX_MOD_MAX), by_format = ptx_has(in, PTX_MOD_P) && ordered;
    LLVMValueRef v = ptx_src(l, &in->ops[1], type);
    struct surface_access a;
    if (!access_begin(l, in, &in->ops[0], b_i32(l, ptx_type_bits(type) / 8), &a))
        return false;
    if (by_format) { /* the surface's format says whether its integers have a sign */
        LLVMValueRef format = PTX_TEX_FIELD(l, a.desc, l->i32, format);
        struct ptx_if is_signed = ptx_if_begin(l, b_ne(l, b_and(l, format, b_i32(l, AW_TEXEL_SIGNED)), b_i32(l, 0)));
        reduce(l, in, ptx_type_bits(type) == 64 ? PTX_S64 : PTX_S32, a.pointer, v);
        ptx_if_else(l, &is_signed);
        reduce(l, in, ptx_type_bits(type) == 64 ? PTX_U64 : PTX_U32, a.pointer, v);
        ptx_if_end(l, &is_signed);
    } else {
        reduce(l, in, type, a.pointer, v);
    }
    access_end(l, &a);
    return true;
}
