/* The aw.* functions on AMDGPU.  A CUDA warp is a wave32, or one half of a wave64: every warp operation stays in its half.
 *
 * Each function gets a body here and is inlined before anything is optimised.  Barriers are in amdgpu/barrier.c; printing, traps
 * and the heap in amdgpu/env.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include <anywarp/env.h>

typedef LLVMValueRef V;

static V call0(struct amdgpu *a, const char *name)
{
    return b_intrinsic(&a->b, name, NULL, 0, NULL, 0);
}

/* Says that the call's i32 result is below `end`. */
static V below(struct amdgpu *a, V call, uint64_t end)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeReturnIndex,
                             LLVMCreateConstantRangeAttribute(a->b.context, kind, 32, (uint64_t[]){ 0 }, &end));
    return call;
}

/* ---- Indices */

/* The most threads that dimension `dim` of the block can have.  (CUDA's 64 in z is not everyone's limit.) */
static uint32_t extent(const struct amdgpu *a, unsigned dim)
{
    return a->block[0] ? a->block[dim] : a->max_threads;
}

V ptx_amdgpu_thread(struct amdgpu *a, unsigned dim)
{
    static const char *const names[] = { "llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workitem.id.y", "llvm.amdgcn.workitem.id.z" };
    return extent(a, dim) == 1 ? b_i32(&a->b, 0) : below(a, call0(a, names[dim]), extent(a, dim));
}

V ptx_amdgpu_block(struct amdgpu *a, unsigned dim, V kernarg)
{
    static const char *const names[] = { "llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y",
                                         "llvm.amdgcn.workgroup.id.z" };
    V id = call0(a, names[dim]);
    return a->parts && dim == 0 ? b_add(&a->b, id, ptx_amdgpu_env_constant(a, kernarg, offsetof(struct aw_env, grid_first))) : id;
}

/* Fields of the AQL dispatch packet: the same under code object versions 4 to 6. */
enum { PACKET_WORKGROUP_SIZE = 4, PACKET_GRID_SIZE = 12, PACKET_GROUP_SEGMENT = 28 };

/* A field of the packet; `end`: it is from 1 to below that, 0: anything. */
static V packet(struct amdgpu *a, unsigned offset, LLVMTypeRef type, unsigned align, uint32_t end)
{
    V load = LLVMBuildLoad2(a->b.builder, type, b_gep(&a->b, call0(a, "llvm.amdgcn.dispatch.ptr"), b_i64(&a->b, offset)), "");
    LLVMSetAlignment(load, align);
    ptx_mark(load, PTX_INVARIANT);
    if (end)
        ptx_range_set(load, 1, end);
    return load;
}

static V block_dim(struct amdgpu *a, unsigned dim)
{
    if (a->block[0])
        return b_i32(&a->b, a->block[dim]);
    return b_zext(&a->b, packet(a, PACKET_WORKGROUP_SIZE + 2 * dim, a->b.i16, 2, extent(a, dim) + 1), a->b.i32);
}

/* The packet counts threads; blocks are uniform, so that the division is exact: what is left of it becomes a multiplication
 * (ptx_amdgpu_divisions), and times the block's size it is the packet's number again. */
static V grid_dim(struct amdgpu *a, unsigned dim, V kernarg)
{
    if (a->parts && dim == 0)
        return ptx_amdgpu_env_constant(a, kernarg, offsetof(struct aw_env, grid_blocks));
    return LLVMBuildExactUDiv(a->b.builder, packet(a, PACKET_GRID_SIZE + 4 * dim, a->b.i32, 4, 0), block_dim(a, dim), "");
}

static V thread_linear(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V zy = b_add(b, b_mul(b, ptx_amdgpu_thread(a, 2), block_dim(a, 1)), ptx_amdgpu_thread(a, 1));
    return b_add(b, b_mul(b, zy, block_dim(a, 0)), ptx_amdgpu_thread(a, 0));
}

static V warp_count(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V threads = b_mul(b, b_mul(b, block_dim(a, 0), block_dim(a, 1)), block_dim(a, 2));
    return b_lshr(b, b_add(b, threads, b_i32(b, 31)), b_i32(b, 5));
}

/* ---- Lanes */
V ptx_amdgpu_wave_lane(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V all = b_i32(b, UINT32_MAX);
    V lane = below(a, b_intrinsic(b, "llvm.amdgcn.mbcnt.lo", NULL, 0, (V[]){ all, b_i32(b, 0) }, 2), a->wave64 ? 33 : 32);
    return a->wave64 ? below(a, b_intrinsic(b, "llvm.amdgcn.mbcnt.hi", NULL, 0, (V[]){ all, lane }, 2), 64) : lane;
}

V ptx_amdgpu_lane(struct amdgpu *a)
{
    return a->wave64 ? b_and(&a->b, ptx_amdgpu_wave_lane(a), b_i32(&a->b, 31)) : ptx_amdgpu_wave_lane(a);
}

/* Bit i: lane i of this warp is here and has `p`. */
static V ballot(struct amdgpu *a, V p)
{
    struct ptx_lower *b = &a->b;
    LLVMTypeRef type = a->wave64 ? b->i64 : b->i32;
    V mask = b_intrinsic(b, "llvm.amdgcn.ballot", &type, 1, &p, 1);
    if (!a->wave64)
        return mask;
    V upper = b_zext(b, b_and(b, ptx_amdgpu_wave_lane(a), b_i32(b, 32)), b->i64);
    return b_trunc(b, b_lshr(b, mask, upper), b->i32);
}

V ptx_amdgpu_active(struct amdgpu *a)
{
    return ballot(a, b_bool(&a->b, true));
}

static V bit_set(struct amdgpu *a, V mask, V index)
{
    struct ptx_lower *b = &a->b;
    return b_ne(b, b_and(b, b_lshr(b, mask, index), b_i32(b, 1)), b_i32(b, 0));
}

static V pair(struct amdgpu *a, V value, V predicate)
{
    LLVMTypeRef fields[2] = { a->b.i32, a->b.i1 };
    V r = LLVMGetPoison(LLVMStructTypeInContext(a->b.context, fields, 2, 0));
    r = LLVMBuildInsertValue(a->b.builder, r, value, 0, "");
    return LLVMBuildInsertValue(a->b.builder, r, predicate, 1, "");
}

static V vote(struct amdgpu *a, enum ptx_simt id, V mask, V p)
{
    struct ptx_lower *b = &a->b;
    V zero = b_i32(b, 0), yes = b_and(b, ballot(a, p), mask);
    if (id == PTX_SIMT_VOTE_ANY)
        return b_ne(b, yes, zero);
    V no = b_and(b, ballot(a, b_not(b, p)), mask);
    if (id == PTX_SIMT_VOTE_ALL)
        return b_eq(b, no, zero);
    return b_or(b, b_eq(b, yes, zero), b_eq(b, no, zero));
}

/* ---- Loops over the 32 lanes of a warp */
struct lane_loop {
    LLVMBasicBlockRef before, body, done;
    V index, value; /* phis */
};

static struct lane_loop loop_open(struct amdgpu *a, V first)
{
    struct lane_loop loop = { .before = LLVMGetInsertBlock(a->b.builder) };
    loop.body = ptx_block_new(&a->b, "lanes");
    ptx_block_enter(&a->b, loop.body);
    loop.index = LLVMBuildPhi(a->b.builder, a->b.i32, "");
    loop.value = LLVMBuildPhi(a->b.builder, LLVMTypeOf(first), "");
    LLVMAddIncoming(loop.value, &first, &loop.before, 1);
    return loop;
}

static V loop_close(struct amdgpu *a, struct lane_loop *loop, V next_value)
{
    struct ptx_lower *b = &a->b;
    V next = b_add(b, loop->index, b_i32(b, 1));
    LLVMBasicBlockRef end = LLVMGetInsertBlock(b->builder);
    loop->done = ptx_block_new(b, "");
    LLVMBuildCondBr(b->builder, b_ult(b, next, b_i32(b, 32)), loop->body, loop->done);
    LLVMAddIncoming(loop->index, (V[]){ b_i32(b, 0), next }, (LLVMBasicBlockRef[]){ loop->before, end }, 2);
    LLVMAddIncoming(loop->value, &next_value, &end, 1);
    LLVMPositionBuilderAtEnd(b->builder, loop->done);
    return next_value;
}

static V match_any(struct amdgpu *a, V mask, V v, bool wide)
{
    struct ptx_lower *b = &a->b;
    V here = b_and(b, ptx_amdgpu_active(a), mask), word = wide ? b_trunc(b, v, b->i32) : v;
    V upper = wide ? b_trunc(b, b_lshr(b, v, b_i64(b, 32)), b->i32) : NULL;
    struct lane_loop loop = loop_open(a, b_i32(b, 0));
    V same = b_eq(b, ptx_amdgpu_read_lane(a, word, loop.index), word);
    if (wide)
        same = b_and(b, same, b_eq(b, ptx_amdgpu_read_lane(a, upper, loop.index), upper));
    same = b_and(b, same, bit_set(a, here, loop.index));
    V bit = b_select(b, same, b_shl(b, b_i32(b, 1), loop.index), b_i32(b, 0));
    return loop_close(a, &loop, b_or(b, loop.value, bit));
}

static V first_of(struct amdgpu *a, V mask)
{
    struct ptx_lower *b = &a->b;
    V n = b_intrinsic(b, "llvm.cttz", &b->i32, 1, (V[]){ mask, b_bool(b, false) }, 2);
    return b_and(b, n, b_i32(b, 31));
}

static V match_all(struct amdgpu *a, V mask, V v, bool wide)
{
    struct ptx_lower *b = &a->b;
    V here = b_and(b, ptx_amdgpu_active(a), mask), from = first_of(a, here), word = wide ? b_trunc(b, v, b->i32) : v;
    V same = b_eq(b, ptx_amdgpu_read_lane(a, word, from), word);
    if (wide) {
        V upper = b_trunc(b, b_lshr(b, v, b_i64(b, 32)), b->i32);
        same = b_and(b, same, b_eq(b, ptx_amdgpu_read_lane(a, upper, from), upper));
    }
    V all = vote(a, PTX_SIMT_VOTE_ALL, mask, same);
    return pair(a, b_select(b, all, here, b_i32(b, 0)), all);
}

static V combine(struct amdgpu *a, enum ptx_simt id, V x, V y)
{
    struct ptx_lower *b = &a->b;
    switch (id) {
    case PTX_SIMT_REDUX_ADD: return b_add(b, x, y);
    case PTX_SIMT_REDUX_AND: return b_and(b, x, y);
    case PTX_SIMT_REDUX_OR: return b_or(b, x, y);
    case PTX_SIMT_REDUX_XOR: return b_xor(b, x, y);
    case PTX_SIMT_REDUX_MIN: return b_binary(b, "llvm.smin", x, y);
    case PTX_SIMT_REDUX_MAX: return b_binary(b, "llvm.smax", x, y);
    case PTX_SIMT_REDUX_UMIN: return b_binary(b, "llvm.umin", x, y);
    default: return b_binary(b, "llvm.umax", x, y);
    }
}

static uint32_t identity_of(enum ptx_simt id)
{
    switch (id) {
    case PTX_SIMT_REDUX_MIN: return INT32_MAX;
    case PTX_SIMT_REDUX_MAX: return (uint32_t)INT32_MIN;
    case PTX_SIMT_REDUX_UMIN: case PTX_SIMT_REDUX_AND: return UINT32_MAX;
    default: return 0;
    }
}

/* All lanes of the warp, by five exchanges.  Those that do not exist or are elsewhere take part with the identity. */
static V reduce_whole(struct amdgpu *a, enum ptx_simt id, V v)
{
    struct ptx_lower *b = &a->b;
    V x = b_intrinsic(b, "llvm.amdgcn.set.inactive", &b->i32, 1, (V[]){ v, b_i32(b, identity_of(id)) }, 2);
    for (unsigned by = 1; by < 32; by *= 2)
        x = combine(a, id, x, ptx_amdgpu_exchange(a, x, by));
    return b_intrinsic(b, "llvm.amdgcn.strict.wwm", &b->i32, 1, &x, 1);
}

static V reduce_some(struct amdgpu *a, enum ptx_simt id, V mask, V v)
{
    struct ptx_lower *b = &a->b;
    V identity = b_i32(b, identity_of(id)), here = b_and(b, ptx_amdgpu_active(a), mask);
    struct lane_loop loop = loop_open(a, identity);
    V x = b_select(b, bit_set(a, here, loop.index), ptx_amdgpu_read_lane(a, v, loop.index), identity);
    return loop_close(a, &loop, combine(a, id, loop.value, x));
}

/* The mask is nearly always a constant, and nearly always all ones: one of the two remains. */
static V reduce(struct amdgpu *a, enum ptx_simt id, V mask, V v)
{
    struct ptx_lower *b = &a->b;
    if (a->major < 10)
        return reduce_some(a, id, mask, v);
    LLVMBasicBlockRef whole = ptx_block_new(b, "whole"), some = ptx_block_new(b, "some"), done = ptx_block_new(b, "");
    LLVMBuildCondBr(b->builder, b_eq(b, mask, b_i32(b, UINT32_MAX)), whole, some);
    LLVMPositionBuilderAtEnd(b->builder, whole);
    V r[2] = { reduce_whole(a, id, v) };
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, some);
    r[1] = reduce_some(a, id, mask, v);
    some = LLVMGetInsertBlock(b->builder);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
    V phi = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMAddIncoming(phi, r, (LLVMBasicBlockRef[]){ whole, some }, 2);
    return phi;
}

/* ---- Approximations */

/* Allows LLVM an error of `ulp` where the operation's own sequence has one. */
static V fpmath(struct amdgpu *a, V v, float ulp)
{
    LLVMMetadataRef bound = LLVMValueAsMetadata(LLVMConstReal(a->b.f32, (double)ulp));
    if (LLVMIsAInstruction(v))
        ptx_metadata_set(v, "fpmath", &bound, 1);
    return v;
}

/* The hardware's own takes subnormals as zero: scale by 2^32 and back by 2^16. */
static V rsqrt_f32(struct amdgpu *a, V x)
{
    struct ptx_lower *b = &a->b;
    V small = b_fcmp(b, LLVMRealOLT, x, b_real(b->f32, 0x1p-100));
    V scaled = b_select(b, small, b_fmul(b, x, b_real(b->f32, 0x1p32)), x);
    V r = b_intrinsic(b, "llvm.amdgcn.rsq", &b->f32, 1, &scaled, 1);
    return b_fmul(b, r, b_select(b, small, b_real(b->f32, 0x1p16), b_real(b->f32, 1.0)));
}

/* Sine and cosine in revolutions, brought into one first. */
static V circular(struct amdgpu *a, V x, const char *name)
{
    struct ptx_lower *b = &a->b;
    V turns = b_fmul(b, x, b_real(b->f32, 0.15915494309189535));
    V part = b_intrinsic(b, "llvm.amdgcn.fract", &b->f32, 1, &turns, 1);
    return b_intrinsic(b, name, &b->f32, 1, &part, 1);
}

/* A polynomial near zero, 1 - 2 / (e^2x + 1) beyond: relative error below 2^-15, PTX asks for 2^-11. */
static V tanh_f32(struct amdgpu *a, V x)
{
    struct ptx_lower *b = &a->b;
    V magnitude = b_unary(b, "llvm.fabs", x), square = b_fmul(b, x, x);
    V poly = b_fadd(b, b_fmul(b, square, b_real(b->f32, 2.0 / 15)), b_real(b->f32, -1.0 / 3));
    poly = b_fadd(b, x, b_fmul(b, x, b_fmul(b, square, poly)));
    V e = b_unary(b, "llvm.exp2", b_fmul(b, magnitude, b_real(b->f32, 2.8853900817779268)));
    V ratio = fpmath(a, b_fdiv(b, b_real(b->f32, 2.0), b_fadd(b, e, b_real(b->f32, 1.0))), 1.0f);
    V far = b_binary(b, "llvm.copysign", b_fsub(b, b_real(b->f32, 1.0), ratio), x);
    return b_select(b, b_fcmp(b, LLVMRealOLT, magnitude, b_real(b->f32, 0.25)), poly, far);
}

static V math(struct amdgpu *a, enum ptx_simt id, V *p)
{
    struct ptx_lower *b = &a->b;
    switch (id) {
    case PTX_SIMT_EX2_F32: return b_unary(b, "llvm.exp2", p[0]);
    case PTX_SIMT_LG2_F32: return b_unary(b, "llvm.log2", p[0]);
    case PTX_SIMT_SIN_F32: return circular(a, p[0], "llvm.amdgcn.sin");
    case PTX_SIMT_COS_F32: return circular(a, p[0], "llvm.amdgcn.cos");
    case PTX_SIMT_TANH_F32: return tanh_f32(a, p[0]);
    case PTX_SIMT_RCP_F32: return fpmath(a, b_fdiv(b, b_real(b->f32, 1.0), p[0]), 1.0f);
    case PTX_SIMT_RSQRT_F32: return rsqrt_f32(a, p[0]);
    case PTX_SIMT_SQRT_F32: return fpmath(a, b_unary(b, "llvm.sqrt", p[0]), 1.0f);
    case PTX_SIMT_RCP_F64: return b_fdiv(b, b_real(b->f64, 1.0), p[0]);
    case PTX_SIMT_EX2_FTZ_F32: return b_unary(b, "llvm.amdgcn.exp2", p[0]); /* the machine's own flush in every mode */
    case PTX_SIMT_LG2_FTZ_F32: return b_unary(b, "llvm.amdgcn.log", p[0]);
    case PTX_SIMT_RCP_FTZ_F32: return b_unary(b, "llvm.amdgcn.rcp", p[0]);
    case PTX_SIMT_RSQRT_FTZ_F32: return b_unary(b, "llvm.amdgcn.rsq", p[0]);
    case PTX_SIMT_SQRT_FTZ_F32: return b_unary(b, "llvm.amdgcn.sqrt", p[0]);
    case PTX_SIMT_RSQRT_F64: return b_fdiv(b, b_real(b->f64, 1.0), b_unary(b, "llvm.sqrt", p[0]));
    case PTX_SIMT_DIV_F32:
        if (a->flushing) /* a * (1 / b), as PTX has it; 1 / b is zero above 2^126 there too */
            return b_fmul(b, p[0], b_unary(b, "llvm.amdgcn.rcp", p[1]));
        return fpmath(a, b_fdiv(b, p[0], p[1]), 2.0f);
    default: return fpmath(a, b_fdiv(b, p[0], p[1]), 2.0f);
    }
}

/* ---- Products of bytes */

/* Cards before gfx11 that have v_dot4 of two operands of one kind. */
static bool has_dot4(const struct amdgpu *a)
{
    static const char *const cards[] = { "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4", "gfx103", "gfx10-3" };
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        if (strncmp(a->finish->options->target, cards[i], strlen(cards[i])) == 0)
            return true;
    return false;
}

static V dot4(struct amdgpu *a, enum ptx_simt id, V *p)
{
    struct ptx_lower *b = &a->b;
    bool first = id == PTX_SIMT_DOT4_SS, second = id != PTX_SIMT_DOT4_UU;
    if (a->major >= 11)
        return b_intrinsic(b, "llvm.amdgcn.sudot4", NULL, 0,
                           (V[]){ b_bool(b, first), p[0], b_bool(b, second), p[1], p[2], b_bool(b, false) }, 6);
    if (first == second && has_dot4(a))
        return b_intrinsic(b, first ? "llvm.amdgcn.sdot4" : "llvm.amdgcn.udot4", NULL, 0,
                           (V[]){ p[0], p[1], p[2], b_bool(b, false) }, 4);
    V sum = p[2];
    for (unsigned i = 0; i < 4; i++) {
        V x = b_trunc(b, b_lshr(b, p[0], b_i32(b, 8 * i)), b->i8), y = b_trunc(b, b_lshr(b, p[1], b_i32(b, 8 * i)), b->i8);
        x = first ? b_sext(b, x, b->i32) : b_zext(b, x, b->i32);
        y = second ? b_sext(b, y, b->i32) : b_zext(b, y, b->i32);
        sum = b_add(b, sum, b_mul(b, x, y));
    }
    return sum;
}

/* ---- Time */
static V steady(struct amdgpu *a)
{
    return call0(a, "llvm.readsteadycounter");
}

static V variable_make(struct amdgpu *a, const char *symbol, V *values, unsigned n)
{
    LLVMTypeRef i64 = a->b.i64;
    V object = LLVMAddGlobalInAddressSpace(a->b.module, LLVMArrayType2(i64, n), symbol, AS_GLOBAL);
    LLVMSetInitializer(object, LLVMConstArray2(i64, values, n));
    LLVMSetGlobalConstant(object, 1);
    LLVMSetExternallyInitialized(object, 1); /* no constant to the optimiser */
    LLVMSetVisibility(object, LLVMProtectedVisibility);
    LLVMSetAlignment(object, 8);
    return object;
}

V ptx_amdgpu_variable_field(struct amdgpu *a, const char *symbol, V *values, unsigned n, LLVMTypeRef type, uint64_t offset)
{
    struct ptx_lower *b = &a->b;
    V object = LLVMGetNamedGlobal(b->module, symbol);
    if (!object)
        object = variable_make(a, symbol, values, n);
    V load = LLVMBuildLoad2(b->builder, type, b_gep(b, object, b_i64(b, offset)), "");
    ptx_mark(load, PTX_INVARIANT);
    return load;
}

/* The steady counter in other units: struct aw_clock_scale, from its field at `offset` on. */
static V steady_scaled(struct amdgpu *a, uint64_t offset)
{
    struct ptx_lower *b = &a->b;
    V first[] = { b_i64(b, 10), b_i64(b, 0), b_i64(b, 20), b_i64(b, 0) }, word[2], ticks = steady(a);
    LLVMTypeRef wide = LLVMIntTypeInContext(b->context, 128);
    for (unsigned i = 0; i < 2; i++)
        word[i] = ptx_amdgpu_variable_field(a, AW_CLOCK_SYMBOL, first, 4, b->i64, offset + 8 * i);
    V parts = b_lshr(b, b_mul(b, b_zext(b, ticks, wide), b_zext(b, word[1], wide)), b_int(wide, 64));
    return b_add(b, b_mul(b, ticks, word[0]), b_trunc(b, parts, b->i64));
}

/* From gfx11 on the cycle counter has 20 bits; the steady one, scaled to the processors' clock, never wraps. */
static V clock_value(struct amdgpu *a)
{
    return a->major >= 11 ? steady_scaled(a, offsetof(struct aw_clock_scale, cycles)) : call0(a, "llvm.readcyclecounter");
}

/* ---- One body */
/* Of the block, less what barriers take of it, which no program sees. */
static V total_shared(struct amdgpu *a)
{
    return b_sub(&a->b, packet(a, PACKET_GROUP_SEGMENT, a->b.i32, 4, 0), ptx_amdgpu_barrier_bytes(a));
}

static V dynamic_shared(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    uint32_t fixed = (a->finish->static_shared + 15) / 16 * 16;
    return b_binary(b, "llvm.usub.sat", total_shared(a), b_i32(b, fixed));
}

static V value_of(struct amdgpu *a, enum ptx_simt id, V *p)
{
    struct ptx_lower *b = &a->b;
    switch (id) {
    case PTX_SIMT_TID_X: case PTX_SIMT_TID_Y: case PTX_SIMT_TID_Z: return ptx_amdgpu_thread(a, id - PTX_SIMT_TID_X);
    case PTX_SIMT_NTID_X: case PTX_SIMT_NTID_Y: case PTX_SIMT_NTID_Z: return block_dim(a, id - PTX_SIMT_NTID_X);
    case PTX_SIMT_CTAID_X: case PTX_SIMT_CTAID_Y: case PTX_SIMT_CTAID_Z: return ptx_amdgpu_block(a, id - PTX_SIMT_CTAID_X, p[0]);
    case PTX_SIMT_NCTAID_X: case PTX_SIMT_NCTAID_Y: case PTX_SIMT_NCTAID_Z: return grid_dim(a, id - PTX_SIMT_NCTAID_X, p[0]);
    case PTX_SIMT_LANEID: return ptx_amdgpu_lane(a);
    case PTX_SIMT_WARPID: return b_lshr(b, thread_linear(a), b_i32(b, 5));
    case PTX_SIMT_NWARPID: return warp_count(a);
    case PTX_SIMT_SMID: return ptx_amdgpu_unit(a);
    case PTX_SIMT_NSMID: return ptx_amdgpu_units(a);
    case PTX_SIMT_GRIDID: return call0(a, "llvm.amdgcn.dispatch.id");
    case PTX_SIMT_GRID_WORKSPACE: return ptx_amdgpu_grid_workspace(a, p[0]);
    case PTX_SIMT_DYNAMIC_SHARED: return dynamic_shared(a);
    case PTX_SIMT_TOTAL_SHARED: return total_shared(a);
    case PTX_SIMT_CLOCK: return clock_value(a);
    case PTX_SIMT_GLOBALTIMER: return steady_scaled(a, offsetof(struct aw_clock_scale, ns));
    case PTX_SIMT_BALLOT: return b_and(b, ballot(a, p[1]), p[0]);
    case PTX_SIMT_VOTE_ANY: case PTX_SIMT_VOTE_ALL: case PTX_SIMT_VOTE_UNI: return vote(a, id, p[0], p[1]);
    case PTX_SIMT_ACTIVEMASK: return ptx_amdgpu_active(a);
    case PTX_SIMT_MATCH_ANY_32: case PTX_SIMT_MATCH_ANY_64: return match_any(a, p[0], p[1], id == PTX_SIMT_MATCH_ANY_64);
    case PTX_SIMT_MATCH_ALL_32: case PTX_SIMT_MATCH_ALL_64: return match_all(a, p[0], p[1], id == PTX_SIMT_MATCH_ALL_64);
    case PTX_SIMT_REDUX_ADD: case PTX_SIMT_REDUX_MIN: case PTX_SIMT_REDUX_MAX: case PTX_SIMT_REDUX_UMIN:
    case PTX_SIMT_REDUX_UMAX: case PTX_SIMT_REDUX_AND: case PTX_SIMT_REDUX_OR: case PTX_SIMT_REDUX_XOR:
        return reduce(a, id, p[0], p[1]);
    case PTX_SIMT_LOWEST: return b_intrinsic(b, "llvm.amdgcn.wave.reduce.umin", &b->i32, 1, (V[]){ p[0], b_i32(b, 0) }, 2);
    case PTX_SIMT_ELECT: {
        V leader = first_of(a, b_and(b, ptx_amdgpu_active(a), p[0]));
        return pair(a, leader, b_eq(b, leader, ptx_amdgpu_lane(a)));
    }
    case PTX_SIMT_BARRIER_REDUCE: return ptx_amdgpu_barrier_reduce(a, p, warp_count(a));
    case PTX_SIMT_DOT4_SS: case PTX_SIMT_DOT4_UU: case PTX_SIMT_DOT4_US: return dot4(a, id, p);
    case PTX_SIMT_BYTES4: return b_intrinsic(b, "llvm.amdgcn.perm", NULL, 0, (V[]){ p[1], p[0], p[2] }, 3);
    case PTX_SIMT_IS_SHARED: return b_intrinsic(b, "llvm.amdgcn.is.shared", NULL, 0, p, 1);
    case PTX_SIMT_IS_LOCAL: return b_intrinsic(b, "llvm.amdgcn.is.private", NULL, 0, p, 1);
    default: return math(a, id, p);
    }
}

/* Those that have no result, or end their function themselves.  False: `id` is none of them. */
static bool effect(struct amdgpu *a, enum ptx_simt id, V *p)
{
    struct ptx_lower *b = &a->b;
    switch (id) {
    case PTX_SIMT_NANOSLEEP: b_intrinsic(b, "llvm.amdgcn.s.sleep", NULL, 0, (V[]){ b_i32(b, 2) }, 1); break;
    case PTX_SIMT_BARRIER: ptx_amdgpu_barrier(a, p[0], p[1], warp_count(a)); break;
    case PTX_SIMT_BARRIER_ARRIVE: ptx_amdgpu_barrier_arrive(a, p[0], p[1], warp_count(a)); break;
    case PTX_SIMT_WARPSYNC: ptx_amdgpu_warpsync(a); break;
    case PTX_SIMT_FREE: ptx_amdgpu_free(a, p); return true;
    case PTX_SIMT_VPRINTF: ptx_amdgpu_vprintf(a, p); return true;
    case PTX_SIMT_ASSERTFAIL: ptx_amdgpu_assertfail(a, p); return true;
    case PTX_SIMT_TRAP: ptx_amdgpu_trap(a, p); return true;
    case PTX_SIMT_MALLOC: ptx_amdgpu_malloc(a, p); return true;
    case PTX_SIMT_SWAP_128: ptx_amdgpu_swap_128(a, p); return true;
    default: return false;
    }
    LLVMBuildRetVoid(b->builder);
    return true;
}

static void attribute_remove(LLVMValueRef fn, const char *name)
{
    LLVMRemoveEnumAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

static void attribute_add(struct amdgpu *a, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(a->b.context, kind, 0));
}

void ptx_amdgpu_call_attribute(struct amdgpu *a, LLVMValueRef call, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(a->b.context, kind, value));
}

static void body_build(struct amdgpu *a, LLVMValueRef fn, enum ptx_simt id)
{
    V params[5] = { NULL };
    LLVMGetParams(fn, params);
    /* What simt.def says of the function need not hold of its body, which reads the dispatch packet, say. */
    attribute_remove(fn, "memory");
    attribute_remove(fn, "speculatable");
    attribute_remove(fn, "cold");
    attribute_add(a, fn, "alwaysinline");
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    a->b.fn = fn;
    LLVMPositionBuilderAtEnd(a->b.builder, ptx_block_new(&a->b, "entry"));
    LLVMSetCurrentDebugLocation2(a->b.builder, NULL); /* the place of each call becomes the body's */
    if (!effect(a, id, params))
        LLVMBuildRet(a->b.builder, value_of(a, id, params));
}

/* Functions that reach struct aw_env take the caller's kernel arguments as one more parameter: every function of SIMT IR has
 * them as its first. */
static bool needs_env(const struct amdgpu *a, enum ptx_simt id)
{
    return (a->parts && (id == PTX_SIMT_CTAID_X || id == PTX_SIMT_NCTAID_X)) || id == PTX_SIMT_VPRINTF ||
           id == PTX_SIMT_ASSERTFAIL || id == PTX_SIMT_TRAP || id == PTX_SIMT_MALLOC || id == PTX_SIMT_FREE ||
           id == PTX_SIMT_GRID_WORKSPACE || id == PTX_SIMT_SWAP_128;
}

static LLVMValueRef with_kernarg(struct amdgpu *a, LLVMValueRef fn, enum ptx_simt id)
{
    LLVMTypeRef old = LLVMGlobalGetValueType(fn), types[5];
    unsigned n = LLVMCountParamTypes(old);
    LLVMGetParamTypes(old, types);
    types[n] = a->b.ptr[AS_CONST];
    LLVMTypeRef type = LLVMFunctionType(LLVMGetReturnType(old), types, n + 1, 0);
    char name[64];
    snprintf(name, sizeof name, "%s.env", ptx_simt_info(id)->name);
    LLVMValueRef fresh = LLVMAddFunction(a->b.module, name, type);
    attribute_add(a, fresh, "nounwind");
    for (LLVMUseRef use; (use = LLVMGetFirstUse(fn));) {
        LLVMValueRef call = LLVMGetUser(use), args[5];
        for (unsigned i = 0; i < n; i++)
            args[i] = LLVMGetOperand(call, i);
        args[n] = LLVMGetParam(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), 0);
        LLVMPositionBuilderBefore(a->b.builder, call);
        LLVMValueRef r = LLVMBuildCall2(a->b.builder, type, fresh, args, n + 1, "");
        LLVMReplaceAllUsesWith(call, r);
        LLVMInstructionEraseFromParent(call);
    }
    return fresh;
}

/* LLVM 22 folds the machine's reciprocal of a constant as if it did not flush. */
static void fold_reciprocals(struct amdgpu *a)
{
    V fn = LLVMGetNamedFunction(a->b.module, ptx_simt_info(PTX_SIMT_RCP_FTZ_F32)->name);
    for (LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL, next; use; use = next) {
        V call = LLVMGetUser(use), x = LLVMGetOperand(call, 0);
        LLVMBool lost;
        next = LLVMGetNextUse(use);
        if (!LLVMIsAConstantFP(x))
            continue;
        double v = LLVMConstRealGetDouble(x, &lost), least = 0x1p-126;
        v = v > -least && v < least ? copysign(0.0, v) : v;
        double r = (float)(1 / v);
        r = r > -least && r < least ? copysign(0.0, r) : r;
        LLVMReplaceAllUsesWith(call, b_real(a->b.f32, r));
        LLVMInstructionEraseFromParent(call);
    }
}

void ptx_amdgpu_simt(struct amdgpu *a)
{
    fold_reciprocals(a);
    ptx_amdgpu_rounding(a);
    ptx_amdgpu_tiles(a);
    ptx_amdgpu_shuffles(a);
    for (LLVMValueRef fn = LLVMGetFirstFunction(a->b.module), next; fn; fn = next) {
        next = LLVMGetNextFunction(fn);
        enum ptx_simt id = ptx_simt_of(fn);
        if (id == PTX_SIMT_NONE || !LLVMIsDeclaration(fn) || !LLVMGetFirstUse(fn))
            continue;
        body_build(a, needs_env(a, id) ? with_kernarg(a, fn, id) : fn, id);
    }
}
