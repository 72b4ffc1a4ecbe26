/* shfl.sync on AMDGPU.  A CUDA warp is a wave32, or one half of a wave64.
 *
 * With constant operands, the usual case, a shuffle is a fixed permutation of a warp's 32 lanes.  It is taken apart here, at the
 * call, and becomes the cheapest instruction that does it: a lane of the wave by number, DPP within rows of 16 lanes, a
 * permutation across the two rows, or a swizzle.  Everything else goes through ds_bpermute with a computed index.
 *
 * Who reads a lane that does not run gets 0, which PTX leaves open: what the machine's permutations give, where those that keep
 * something for want of a source are not used.  These are shorter, and taken where all lanes of a warp are known to be here. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include "finish/flow.h"

typedef LLVMValueRef V;

enum { LANES = 32, ROW = 16 };

/* DPP controls, as LLVM and the machine number them. */
enum { DPP_QUAD_PERM = 0, DPP_ROW_SHL = 0x100, DPP_ROW_SHR = 0x110, DPP_ROW_MIRROR = 0x140, DPP_ROW_HALF_MIRROR = 0x141,
       DPP_ROW_SHARE = 0x150, DPP_ROW_XMASK = 0x160 };

/* A permutation: lane i reads lane from[i]; bit i of ok: PTX's predicate, lane i's source was in range. */
struct permutation {
    uint8_t from[LANES];
    uint32_t ok;
};

/* ---- PTX ISA 9.7.9.6: b is the lane or distance, c holds the clamp (bits 0..4) and the segment mask (8..12) */
static struct permutation permutation_of(enum ptx_simt id, unsigned b, unsigned c)
{
    struct permutation p = { .ok = 0 };
    unsigned clamp = c & 31, segment = c >> 8 & 31;
    b &= 31;
    for (unsigned i = 0; i < LANES; i++) {
        unsigned low = i & segment, high = low | (clamp & ~segment & 31);
        int from = id == PTX_SIMT_SHFL_UP ? (int)(i - b) : id == PTX_SIMT_SHFL_DOWN ? (int)(i + b)
                   : id == PTX_SIMT_SHFL_BFLY ? (int)(i ^ b) : (int)(low | (b & ~segment & 31));
        bool ok = id == PTX_SIMT_SHFL_UP ? from >= (int)high : from <= (int)high;
        p.from[i] = (uint8_t)(ok ? from & 31 : (int)i);
        p.ok |= (uint32_t)ok << i;
    }
    return p;
}

/* ---- The machine's permutations.  `whole`: all lanes of the warp are here. */
static V intrinsic(struct amdgpu *a, const char *name, V *args, unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    bool overloaded = LLVMIntrinsicIsOverloaded(id);
    return b_intrinsic(&a->b, name, overloaded ? &a->b.i32 : NULL, overloaded, args, n);
}

/* `old`: what lanes without a source get; NULL: there are none. */
static V dpp(struct amdgpu *a, V old, V v, unsigned control)
{
    struct ptx_lower *b = &a->b;
    V args[6] = { old ? old : LLVMGetPoison(b->i32), v, b_i32(b, control), b_i32(b, 15), b_i32(b, 15), b_bool(b, !old) };
    return intrinsic(a, "llvm.amdgcn.update.dpp", args, 6);
}

/* Lane i of a row reads lane pick[i] of the other row of its warp (gfx10 and later). */
static V other_row(struct amdgpu *a, V v, const uint8_t pick[ROW])
{
    struct ptx_lower *b = &a->b;
    uint64_t select = 0;
    for (unsigned i = 0; i < ROW; i++)
        select |= (uint64_t)(pick[i] & 15) << 4 * i;
    V args[6] = { LLVMGetPoison(b->i32), v, b_i32(b, (uint32_t)select), b_i32(b, (uint32_t)(select >> 32)), b_bool(b, false),
                  b_bool(b, true) };
    return intrinsic(a, "llvm.amdgcn.permlanex16", args, 6);
}

/* The same permutation within each group of `n` lanes? */
static bool is_grouped(const uint8_t *from, unsigned n)
{
    for (unsigned i = 0; i < LANES; i++)
        if (from[i] / n != i / n || from[i] % n != from[i % n] % n)
            return false;
    return true;
}

static bool is_xor(const uint8_t *from, unsigned mask)
{
    for (unsigned i = 0; i < LANES; i++)
        if (from[i] != (i ^ mask))
            return false;
    return true;
}

/* The DPP control of a permutation within rows that gives every lane something, or -1. */
static int dpp_control(const struct amdgpu *a, const uint8_t *from)
{
    if (is_grouped(from, 4))
        return DPP_QUAD_PERM | from[0] | from[1] << 2 | from[2] << 4 | from[3] << 6;
    if (is_xor(from, 15))
        return DPP_ROW_MIRROR;
    if (is_xor(from, 7))
        return DPP_ROW_HALF_MIRROR;
    if (a->major < 10 || !is_grouped(from, ROW))
        return -1;
    bool share = true;
    for (unsigned i = 0; i < ROW; i++)
        share &= from[i] == from[0];
    if (share)
        return DPP_ROW_SHARE | from[0];
    return is_xor(from, from[0]) ? DPP_ROW_XMASK | from[0] : -1;
}

/* ds_swizzle's form from[i] = ((i & and) | or) ^ xor, with or = 0 where `and` keeps the bit; -1 when it is none. */
static int swizzle_pattern(const uint8_t *from)
{
    unsigned keep = 0, flip = from[0];
    for (unsigned bit = 1; bit < LANES; bit <<= 1)
        keep |= (from[bit] ^ from[0]) & bit;
    for (unsigned i = 0; i < LANES; i++)
        if (from[i] != ((i & keep) ^ flip))
            return -1;
    return (int)(keep | flip << 10);
}

/* True in the lanes whose bit of `mask` is set. */
static V lanes_of(struct amdgpu *a, uint32_t mask)
{
    struct ptx_lower *b = &a->b;
    V lane = ptx_amdgpu_lane(a);
    if (mask == UINT32_MAX || !mask)
        return b_bool(b, mask);
    if (!(mask & (mask + 1)))
        return b_ult(b, lane, b_i32(b, (uint32_t)__builtin_ctz(~mask)));
    if (!(~mask & (~mask + 1)))
        return b_icmp(b, LLVMIntUGE, lane, b_i32(b, (uint32_t)__builtin_ctz(mask)));
    V bits = a->wave64 ? b_i64(b, (uint64_t)mask << 32 | mask) : b_i32(b, mask);
    LLVMTypeRef type = LLVMTypeOf(bits);
    return b_intrinsic(b, "llvm.amdgcn.inverse.ballot", &type, 1, &bits, 1);
}

/* A shift by `d` lanes, less than a row, within rows; lanes without a source there have their value of `others`. */
static V row_shift(struct amdgpu *a, V others, V v, unsigned d, bool up, bool whole)
{
    unsigned control = (up ? DPP_ROW_SHR : DPP_ROW_SHL) | d;
    uint32_t row = (up ? 0xffffu << d : 0xffffu >> d) & 0xffff;
    return whole ? dpp(a, others, v, control) : b_select(&a->b, lanes_of(a, row | row << ROW), dpp(a, NULL, v, control), others);
}

/* A shift by `d` lanes over the whole warp, up or down: within rows by DPP, from the other row by a permutation; lanes without a
 * source keep their own value. */
static V shift(struct amdgpu *a, V v, unsigned d, bool up, bool whole)
{
    struct ptx_lower *b = &a->b;
    uint8_t pick[ROW];
    for (unsigned i = 0; i < ROW; i++)
        pick[i] = (uint8_t)(up ? i - d : i + d) & 15;
    V across = b_select(b, lanes_of(a, up ? 0xffff0000 : 0xffff), other_row(a, v, pick), v);
    return d == ROW ? across : row_shift(a, across, v, d, up, whole);
}

V ptx_amdgpu_read_lane(struct amdgpu *a, V v, V from)
{
    struct ptx_lower *b = &a->b;
    if (a->wave64)
        from = b_or(b, from, b_and(b, ptx_amdgpu_wave_lane(a), b_i32(b, 32)));
    return intrinsic(a, "llvm.amdgcn.ds.bpermute", (V[]){ b_shl(b, from, b_i32(b, 2)), v }, 2);
}

/* `v` as a value of which LLVM knows nothing.  ds_bpermute of a constant is that constant to InstCombine, although lanes may read
 * from one that does not run, and get 0 from it. */
static V hidden(struct amdgpu *a, V v)
{
    struct ptx_lower *b = &a->b;
    LLVMTypeRef type = LLVMFunctionType(b->i32, &b->i32, 1, 0);
    V nothing = LLVMGetInlineAsm(type, "", 0, "=v,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
    V r = LLVMBuildCall2(b->builder, type, nothing, &v, 1, "");
    ptx_amdgpu_call_attribute(a, r, "nounwind", 0);
    ptx_amdgpu_call_attribute(a, r, "willreturn", 0);
    ptx_amdgpu_call_attribute(a, r, "memory", 0);
    return r;
}

/* Of a lane that may not be here: 0 then. */
static V read_any_lane(struct amdgpu *a, V v, V from, bool whole)
{
    return ptx_amdgpu_read_lane(a, whole ? v : hidden(a, v), from);
}

/* The lane at a fixed distance, whatever it is at the warp's ends: the distance goes into the instruction's offset. */
static V bpermute_near(struct amdgpu *a, V v, int distance, bool whole)
{
    struct ptx_lower *b = &a->b;
    V index = b_shl(b, ptx_amdgpu_wave_lane(a), b_i32(b, 2)), at = b_add(b, index, b_i32(b, (uint32_t)(4 * distance)));
    return intrinsic(a, "llvm.amdgcn.ds.bpermute", (V[]){ at, whole ? v : hidden(a, v) }, 2);
}

/* ---- Choosing */
static bool is_shift(const struct permutation *p, enum ptx_simt id, unsigned by, unsigned segment)
{
    struct permutation q = permutation_of(id, by, segment << 8 | (id == PTX_SIMT_SHFL_UP ? 0 : 31));
    return (id == PTX_SIMT_SHFL_UP || id == PTX_SIMT_SHFL_DOWN) && !memcmp(q.from, p->from, LANES);
}

/* A permutation of no form: the source's number bit by bit from tables. */
static V permute_any(struct amdgpu *a, V v, const struct permutation *p, bool whole)
{
    struct ptx_lower *b = &a->b;
    V from = b_i32(b, 0);
    for (unsigned bit = 0; bit < 5; bit++) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < LANES; i++)
            mask |= (uint32_t)(p->from[i] >> bit & 1) << i;
        V set = b_and(b, b_lshr(b, b_i32(b, mask), ptx_amdgpu_lane(a)), b_i32(b, 1));
        from = b_or(b, from, b_shl(b, set, b_i32(b, bit)));
    }
    return read_any_lane(a, v, from, whole);
}

/* On wave32: of one lane, which may not be here. */
static V one_lane(struct amdgpu *a, V v, unsigned lane, bool whole)
{
    struct ptx_lower *b = &a->b;
    V x = intrinsic(a, "llvm.amdgcn.readlane", (V[]){ v, b_i32(b, lane) }, 2);
    if (whole)
        return x;
    V here = b_and(b, ptx_amdgpu_active(a), b_i32(b, UINT32_C(1) << lane));
    return b_select(b, b_ne(b, here, b_i32(b, 0)), x, b_i32(b, 0));
}

static V permute(struct amdgpu *a, enum ptx_simt id, V v, const struct permutation *p, unsigned by, bool whole)
{
    struct ptx_lower *b = &a->b;
    bool up = id == PTX_SIMT_SHFL_UP;
    int control = dpp_control(a, p->from), pattern = swizzle_pattern(p->from);
    if (is_xor(p->from, 0))
        return v;
    if (control >= 0)
        return dpp(a, NULL, v, (unsigned)control);
    if (by < ROW && is_shift(p, id, by, ROW))
        return row_shift(a, v, v, by, up, whole);
    if (by <= ROW && a->major >= 10 && is_shift(p, id, by, 0))
        return shift(a, v, by, up, whole);
    if (up || id == PTX_SIMT_SHFL_DOWN)
        return b_select(b, lanes_of(a, p->ok), bpermute_near(a, v, up ? -(int)by : (int)by, whole), v);
    if (a->major >= 10 && is_xor(p->from, p->from[0])) { /* to the other row: DPP had done it otherwise */
        uint8_t pick[ROW];
        for (unsigned i = 0; i < ROW; i++)
            pick[i] = p->from[i] & 15;
        return other_row(a, v, pick);
    }
    if (pattern == p->from[0] << 10 && !a->wave64)
        return one_lane(a, v, p->from[0], whole);
    if (pattern >= 0)
        return intrinsic(a, "llvm.amdgcn.ds.swizzle", (V[]){ v, b_i32(b, (uint32_t)pattern) }, 2);
    return permute_any(a, v, p, whole);
}

V ptx_amdgpu_exchange(struct amdgpu *a, V v, unsigned by)
{
    struct permutation p = permutation_of(PTX_SIMT_SHFL_BFLY, by, 31);
    return permute(a, PTX_SIMT_SHFL_BFLY, v, &p, by, false);
}

/* ---- The calls */

/* With operands that are known only at run time. */
static V indexed(struct amdgpu *a, enum ptx_simt id, V *p, bool whole, V *ret_ok)
{
    struct ptx_lower *b = &a->b;
    V self = ptx_amdgpu_lane(a), by = b_and(b, p[1], b_i32(b, 31)), clamp = b_and(b, p[2], b_i32(b, 31));
    V segment = b_and(b, b_lshr(b, p[2], b_i32(b, 8)), b_i32(b, 31));
    V low = b_and(b, self, segment), other = b_and(b, b_not(b, segment), b_i32(b, 31));
    V high = b_or(b, low, b_and(b, clamp, other)), from;
    switch (id) {
    case PTX_SIMT_SHFL_UP: from = b_sub(b, self, by); break;
    case PTX_SIMT_SHFL_DOWN: from = b_add(b, self, by); break;
    case PTX_SIMT_SHFL_BFLY: from = b_xor(b, self, by); break;
    default: from = b_or(b, low, b_and(b, by, other)); break;
    }
    *ret_ok = b_icmp(b, id == PTX_SIMT_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, from, high);
    return read_any_lane(a, p[0], b_select(b, *ret_ok, from, self), whole);
}

static V shuffle(struct amdgpu *a, enum ptx_simt id, V call, bool whole)
{
    struct ptx_lower *b = &a->b;
    V p[3], value, ok;
    for (unsigned i = 0; i < 3; i++)
        p[i] = LLVMGetOperand(call, i);
    if (LLVMIsAConstantInt(p[1]) && LLVMIsAConstantInt(p[2])) {
        unsigned by = (unsigned)LLVMConstIntGetZExtValue(p[1]) & 31;
        struct permutation permutation = permutation_of(id, by, (unsigned)LLVMConstIntGetZExtValue(p[2]));
        value = permute(a, id, p[0], &permutation, by, whole);
        ok = lanes_of(a, permutation.ok);
    } else {
        value = indexed(a, id, p, whole, &ok);
    }
    V r = LLVMBuildInsertValue(b->builder, LLVMGetPoison(LLVMTypeOf(call)), value, 0, "");
    return LLVMBuildInsertValue(b->builder, r, ok, 1, "");
}

/* Are all lanes of the warp known to come to the call together?  Only in kernels, whose rows are whole warps. */
static bool is_whole(const struct amdgpu *a, const struct flow *f, V call)
{
    LLVMBasicBlockRef bb = LLVMGetInstructionParent(call);
    unsigned at = ptx_flow_block(f, bb);
    return a->block[0] && a->block[0] % LANES == 0 && LLVMGetBasicBlockParent(bb) == a->kernel && at < f->n &&
           !f->blocks[at].parted;
}

void ptx_amdgpu_shuffles(struct amdgpu *a)
{
    struct flow f = { 0 };
    bool known = false, asked = false;
    for (enum ptx_simt id = PTX_SIMT_SHFL_UP; id <= PTX_SIMT_SHFL_IDX; id++) {
        V fn = LLVMGetNamedFunction(a->b.module, ptx_simt_info(id)->name);
        for (LLVMUseRef use; fn && (use = LLVMGetFirstUse(fn));) {
            V call = LLVMGetUser(use);
            if (!asked)
                known = ptx_flow_init(&f, a->kernel, PTX_FLOW_WAITS | PTX_FLOW_WARP);
            asked = true;
            LLVMPositionBuilderBefore(a->b.builder, call);
            LLVMReplaceAllUsesWith(call, shuffle(a, id, call, known && is_whole(a, &f, call)));
            LLVMInstructionEraseFromParent(call);
        }
    }
    ptx_flow_fini(&f);
}
