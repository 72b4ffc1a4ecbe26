/* tex, tld4, txq and suq: operands to a call of the sampler, and the descriptor's fields (PTX ISA 9.7.10).
 *
 * What a coordinate means is sample.c's, what an element is texel.c's.  Surfaces are in surface.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/texture.h"

#include <stddef.h>

struct ptx_tex_geometry ptx_tex_geometry_of(const struct ptx_instr *in)
{
    struct ptx_tex_geometry g = { 2, 2, false, false };
    g.cube = ptx_has(in, PTX_MOD_CUBE) || ptx_has(in, PTX_MOD_ACUBE);
    g.layered = ptx_has(in, PTX_MOD_A1D) || ptx_has(in, PTX_MOD_A2D) || ptx_has(in, PTX_MOD_ACUBE);
    if (ptx_has(in, PTX_MOD_1D) || ptx_has(in, PTX_MOD_A1D))
        g.dims = g.coords = 1;
    if (ptx_has(in, PTX_MOD_3D))
        g.dims = g.coords = 3;
    if (g.cube)
        g.coords = 3;
    return g;
}

/* ---- Handles and samplers */

LLVMValueRef ptx_tex_handle(struct ptx_lower *l, const struct ptx_operand *op, int64_t offset)
{
    if (op->kind != PTX_OP_SYMBOL) {
        if (offset)
            ptx_lower_error(l, op->loc, "an offset from a handle means nothing");
        return ptx_src(l, op, PTX_B64);
    }
    offset += op->offset;
    if (op->var->space != PTX_SPACE_PARAM) {
        if (op->var->space != PTX_SPACE_TEX && ptx_type_class(op->var->type) != 'O')
            ptx_lower_error(l, op->loc, "'%.*s' is no texture, surface or sampler", AW_STR_ARG(op->var->name));
        if (offset < 0 || (uint64_t)offset + 8 > op->var->size)
            ptx_lower_error(l, op->loc, "outside of '%.*s'", AW_STR_ARG(op->var->name));
        return ptx_var_integer(l, op->var, offset);
    }
    if (op->var->size < 8)
        ptx_lower_error(l, op->loc, "'%.*s' is too small for a handle", AW_STR_ARG(op->var->name));
    LLVMValueRef p = ptx_var_pointer(l, op->var, offset), v = LLVMBuildLoad2(l->builder, l->i64, p, "");
    LLVMSetAlignment(v, op->var->align < 8 ? op->var->align : 8);
    return v;
}

LLVMValueRef ptx_tex_desc(struct ptx_lower *l, LLVMValueRef handle)
{
    return b_inttoptr(l, b_and(l, handle, b_i64(l, ~AW_HANDLE_KINDS)), l->ptr[AS_CONST]);
}

LLVMValueRef ptx_sampler_handle(struct ptx_lower *l, const struct ptx_var *var)
{
    char why[160];
    struct ptx_loc loc;
    unsigned bits = 0;
    if (!ptx_opaque_init(var, &bits, &loc, why, sizeof why))
        ptx_lower_error(l, loc, "%s", why);
    return b_i64(l, AW_HANDLE_SAMPLER | bits);
}

static LLVMValueRef is_sampler(struct ptx_lower *l, LLVMValueRef handle)
{
    return b_trunc(l, b_lshr(l, handle, b_i64(l, 62)), l->i1);
}

/* The bits of a sampler, or those that a texture has. */
static LLVMValueRef sampler_bits(struct ptx_lower *l, const struct ptx_operand *op, int64_t offset)
{
    LLVMValueRef handle = ptx_tex_handle(l, op, offset), own = b_trunc(l, handle, l->i32);
    if (LLVMIsAConstantInt(handle))
        return own;
    struct ptx_if sampler = ptx_if_begin(l, is_sampler(l, handle));
    LLVMBasicBlockRef from_sampler = ptx_if_else(l, &sampler);
    LLVMValueRef bits = PTX_TEX_FIELD(l, ptx_tex_desc(l, handle), l->i32, sampler);
    LLVMBasicBlockRef from_texture = ptx_if_end(l, &sampler);
    return ptx_phi2(l, own, from_sampler, bits, from_texture);
}

/* The sampler of an access: the texture's own, or the operand between texture and coordinates. */
static LLVMValueRef sampler_of(struct ptx_lower *l, const struct ptx_operand *address, LLVMValueRef handle)
{
    if (address->n_items < 3)
        return PTX_TEX_FIELD(l, ptx_tex_desc(l, handle), l->i32, sampler);
    return sampler_bits(l, &address->items[1], 0);
}

/* ---- Operands */

static bool is_vector(const struct ptx_operand *op)
{
    return op->kind == PTX_OP_VECTOR;
}

/* The first `n` elements of a vector, or the one value that a scalar is. */
static bool read_vector(struct ptx_lower *l, const struct ptx_operand *op, unsigned n, enum ptx_type type, LLVMValueRef *ret)
{
    const struct ptx_operand *items;
    unsigned have = ptx_elements(op, &items);
    if (have < n || have > 4)
        return ptx_lower_error(l, op->loc, "%u elements where %u are needed", have, n);
    for (unsigned i = 0; i < n; i++)
        ret[i] = ptx_src(l, &items[i], type);
    return true;
}

/* {layer, x, y ...} of [t, {..}] and [t, s, {..}]. */
static bool read_coords(struct ptx_lower *l, const struct ptx_instr *in, const struct ptx_operand *address,
                        const struct ptx_tex_geometry *g, enum ptx_type type, struct ptx_tex_args *args)
{
    const struct ptx_operand *items;
    if (address->n_items < 2 || address->n_items > 3)
        return ptx_lower_error(l, in->loc, "the address must be [texture, coordinates] or [texture, sampler, coordinates]");
    unsigned have = ptx_elements(&address->items[address->n_items - 1], &items), first = g->layered;
    if (have < first + g->coords || have > 4)
        return ptx_lower_error(l, in->loc, "%u coordinates where %u are needed", have, first + g->coords);
    if (g->layered)
        args->layer = ptx_src(l, &items[0], PTX_U32);
    for (unsigned d = 0; d < g->coords; d++)
        args->coord[d] = ptx_src(l, &items[first + d], type);
    return true;
}

/* The depth to compare with: a float.  ptxas takes bits for one, and drops an integer, which means nothing. */
static bool read_depth(struct ptx_lower *l, const struct ptx_operand *op, struct ptx_tex_way *way, struct ptx_tex_args *args)
{
    if (way->compare)
        return ptx_lower_error(l, op->loc, "one operand too many");
    if (op->kind == PTX_OP_REG ? ptx_type_class(op->var->type) != 'F' && op->var->type != PTX_B32 : op->kind != PTX_OP_FLOAT)
        return ptx_lower_error(l, op->loc, "the depth to compare with must be a .f32");
    if (way->fetch || way->dims == 3)
        return ptx_lower_error(l, op->loc, "depth is not compared %s",
                               way->fetch ? "at integer coordinates" : "in textures of three dimensions");
    args->depth = ptx_src(l, op, PTX_F32);
    return way->compare = true;
}

/* What follows the fixed operands: {e} {, f}.  A vector is an offset; so is an integer in one dimension. */
static bool read_tail(struct ptx_lower *l, const struct ptx_instr *in, unsigned at, struct ptx_tex_way *way,
                      struct ptx_tex_args *args)
{
    for (; at < in->n_ops; at++) {
        const struct ptx_operand *op = &in->ops[at];
        bool bits = op->kind == PTX_OP_FLOAT ||
                    (op->kind == PTX_OP_REG && (ptx_is_float(op->var->type) || op->var->type == PTX_B32));
        if (!is_vector(op) && (way->dims > 1 || bits)) {
            if (!read_depth(l, op, way, args))
                return false;
            continue;
        }
        if (way->offset || way->compare)
            return ptx_lower_error(l, op->loc, "one operand too many");
        if (way->cube)
            return ptx_lower_error(l, op->loc, "cubes take no offset");
        if (!read_vector(l, op, way->dims, PTX_S32, args->offset))
            return false;
        way->offset = true;
    }
    return true;
}

static bool read_mode(struct ptx_lower *l, const struct ptx_instr *in, struct ptx_tex_way *way, struct ptx_tex_args *args,
                      unsigned *ret_next)
{
    *ret_next = 2;
    if (aw_str_is(in->mnemonic, "tld4")) {
        way->mode = PTX_TEX_GATHER;
        way->component = ptx_has(in, PTX_MOD_G) ? 1 : ptx_has(in, PTX_MOD_B) ? 2 : ptx_has(in, PTX_MOD_A) ? 3 : 0;
    } else if (ptx_has(in, PTX_MOD_LEVEL)) {
        way->mode = PTX_TEX_LEVEL;
        args->lod = ptx_src(l, &in->ops[2], in->types[1]);
        *ret_next = 3;
    } else if (ptx_has(in, PTX_MOD_GRAD)) {
        unsigned n = way->cube ? 3 : way->dims;
        way->mode = PTX_TEX_GRAD;
        *ret_next = 4;
        return read_vector(l, &in->ops[2], n, PTX_F32, args->dx) && read_vector(l, &in->ops[3], n, PTX_F32, args->dy);
    }
    return true;
}

/* ---- Results */

static LLVMValueRef as_half(struct ptx_lower *l, LLVMValueRef word)
{
    return ptx_f32_to_f16(l, PTX_RN, b_bitcast(l, word, l->f32));
}

static void write_results(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef words[4])
{
    const struct ptx_operand *dest = &in->ops[0], *vector = dest->kind == PTX_OP_PAIR ? &dest->items[0] : dest, *items;
    unsigned n = ptx_elements(vector, &items);
    enum ptx_type type = in->types[0];
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef v;
        if (type == PTX_F16X2) {
            LLVMValueRef low = b_zext(l, ptx_to_bits(l, as_half(l, words[2 * i])), l->i32);
            v = b_or(l, low, b_shl(l, b_zext(l, ptx_to_bits(l, as_half(l, words[2 * i + 1])), l->i32), b_i32(l, 16)));
        } else {
            v = type == PTX_F16 ? as_half(l, words[i]) : type == PTX_F32 ? b_bitcast(l, words[i], l->f32) : words[i];
        }
        ptx_dst(l, &items[i], type, v);
    }
    if (dest->kind == PTX_OP_PAIR) /* every element is there: nothing is sparse */
        ptx_dst(l, &dest->items[1], PTX_PRED, b_bool(l, true));
}

/* Machine code looks up textures of one dimension as if they had two. */
static bool is_lifted(LLVMValueRef fn)
{
    return LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_LIFTED, sizeof PTX_LIFTED - 1);
}

bool ptx_lower_tex(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_tex_geometry g = ptx_tex_geometry_of(in);
    enum ptx_type coord = in->types[1];
    struct ptx_tex_way way = { .dims = g.dims, .cube = g.cube, .layered = g.layered, .fetch = coord == PTX_S32,
                               .integer = in->types[0] == PTX_U32 || in->types[0] == PTX_S32 };
    struct ptx_tex_args args = { 0 };
    LLVMValueRef words[4];
    unsigned next;
    way.line = way.dims == 2 && !way.cube && !way.layered && !way.fetch && is_lifted(l->fn);
    if (way.fetch && way.cube)
        return ptx_lower_error(l, in->loc, "cubes take no integer coordinates");
    const struct ptx_operand *dest = in->ops[0].kind == PTX_OP_PAIR ? &in->ops[0].items[0] : &in->ops[0];
    if (!is_vector(dest))
        return ptx_lower_error(l, dest->loc, "the result must be a {vector}");
    args.handle = ptx_tex_handle(l, &in->ops[1].items[0], in->ops[1].offset);
    args.sampler = sampler_of(l, &in->ops[1], args.handle);
    if (!read_coords(l, in, &in->ops[1], &g, coord, &args) || !read_mode(l, in, &way, &args, &next) ||
        !read_tail(l, in, next, &way, &args))
        return false;
    if (way.mode == PTX_TEX_GATHER)
        way.integer = false; /* nothing is blended: one function serves all types */
    ptx_tex_sample(l, &way, &args, words);
    write_results(l, in, words);
    return true;
}

/* ---- Queries */

static LLVMValueRef level_size(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef desc)
{
    LLVMValueRef index = NULL;
    if (ptx_has(in, PTX_MOD_LEVEL))
        index = b_umin(l, ptx_src(l, &in->ops[2], PTX_U32), b_sub(l, PTX_TEX_FIELD(l, desc, l->i32, levels), b_i32(l, 1)));
    struct ptx_tex_level level = ptx_tex_level_read(l, desc, index);
    return level.size[ptx_has(in, PTX_MOD_WIDTH) ? 0 : ptx_has(in, PTX_MOD_HEIGHT) ? 1 : 2];
}

/* Which bits of a sampler are asked for; false when it is something else. */
static bool sampler_query(const struct ptx_instr *in, unsigned *ret_shift, unsigned *ret_mask)
{
    static const struct {
        enum ptx_mod mod;
        unsigned shift, mask;
    } fields[] = {
        { PTX_MOD_ADDR_MODE_0, 0, 3 }, { PTX_MOD_ADDR_MODE_1, 2, 3 },       { PTX_MOD_ADDR_MODE_2, 4, 3 },
        { PTX_MOD_FILTER_MODE, 6, 1 }, { PTX_MOD_NORMALIZED_COORDS, 7, 1 }, { PTX_MOD_FORCE_UNNORMALIZED_COORDS, 7, 1 }
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!ptx_has(in, fields[i].mod))
            continue;
        *ret_shift = fields[i].shift;
        *ret_mask = fields[i].mask;
        return true;
    }
    return false;
}

static bool sampler_answer(struct ptx_lower *l, const struct ptx_instr *in, unsigned shift, unsigned mask)
{
    LLVMValueRef bits = sampler_bits(l, &in->ops[1].items[0], in->ops[1].offset);
    LLVMValueRef v = b_and(l, b_lshr(l, bits, b_i32(l, shift)), b_i32(l, mask));
    if (ptx_has(in, PTX_MOD_FORCE_UNNORMALIZED_COORDS))
        v = b_xor(l, v, b_i32(l, 1));
    ptx_dst(l, &in->ops[0], PTX_B32, v);
    return true;
}

/* Of any number: it has the bit of the kind that is asked for, or not. */
bool ptx_lower_istypep(struct ptx_lower *l, const struct ptx_instr *in)
{
    uint64_t kind = in->types[0] == PTX_SAMPLERREF ? AW_HANDLE_SAMPLER
                  : in->types[0] == PTX_TEXREF     ? AW_HANDLE_TEXTURE
                                                   : AW_HANDLE_SURFACE;
    LLVMValueRef bit = b_and(l, ptx_src(l, &in->ops[1], PTX_B64), b_i64(l, kind));
    ptx_dst(l, &in->ops[0], PTX_PRED, b_eq(l, bit, b_i64(l, kind)));
    return true;
}

/* CUDA's numbers for formats and modes; an array of layers counts them as depth, too. */
bool ptx_lower_txq(struct ptx_lower *l, const struct ptx_instr *in)
{
    unsigned shift, mask;
    if (in->ops[1].n_items != 1)
        return ptx_lower_error(l, in->loc, "the address must be [texture]");
    if (sampler_query(in, &shift, &mask))
        return sampler_answer(l, in, shift, mask);
    LLVMValueRef desc = ptx_tex_desc(l, ptx_tex_handle(l, &in->ops[1].items[0], in->ops[1].offset)), v;
    if (ptx_has(in, PTX_MOD_WIDTH) || ptx_has(in, PTX_MOD_HEIGHT) || ptx_has(in, PTX_MOD_DEPTH))
        v = level_size(l, in, desc);
    else if (ptx_has(in, PTX_MOD_CHANNEL_DATA_TYPE))
        v = PTX_TEX_FIELD(l, desc, l->i32, data_type);
    else if (ptx_has(in, PTX_MOD_CHANNEL_ORDER))
        v = PTX_TEX_FIELD(l, desc, l->i32, channels);
    else if (ptx_has(in, PTX_MOD_ARRAY_SIZE))
        v = PTX_TEX_FIELD(l, desc, l->i32, layers);
    else if (ptx_has(in, PTX_MOD_NUM_MIPMAP_LEVELS))
        v = PTX_TEX_FIELD(l, desc, l->i32, levels);
    else
        v = b_i32(l, 1); /* num_samples */
    ptx_dst(l, &in->ops[0], PTX_B32, v);
    return true;
}
