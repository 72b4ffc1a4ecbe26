/* Block barriers on AMDGPU.  Barrier 0 for the whole block is the hardware's; named ones, and those for some of the block's
 * threads, count arrivals in shared memory, or where the launch leaves no room there in device memory (amdgpu/counters.c).
 *
 * A waiting warp spins, asleep between looks.  Barriers of the whole block that count go on without warps that have ended.
 * That two warps of a wave64 can wait at different barriers is wait.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"
#include "finish/wait.h"

#include <anywarp/env.h>

#include "base/vec.h"
#include "lower/copy.h"

typedef LLVMValueRef V;

enum { BARRIERS = 16, WARPS_MAX = 32 };

/* Shared words: arrived threads, generation, and reduction value of each barrier. */
enum { WORD_COUNT, WORD_GENERATION, WORD_VALUE, WORDS };
/* Behind them, where warps that have ended matter: how many those are, and how many lanes of each warp. */
enum { ENDED = BARRIERS * WORDS, ENDED_LANES };
_Static_assert(4 * (AW_COUNTERS_WORDS + ENDED_LANES + WARPS_MAX) <= AW_COUNTERS_BYTES, "a set in device memory has as many");

static V call0(struct amdgpu *a, const char *name)
{
    return b_intrinsic(&a->b, name, NULL, 0, NULL, 0);
}

static unsigned scope_id(struct amdgpu *a, const char *scope)
{
    return LLVMGetSyncScopeID(a->b.context, scope, strlen(scope));
}

static void fence(struct amdgpu *a, const char *scope, LLVMAtomicOrdering order)
{
    LLVMBuildFenceSyncScope(a->b.builder, order, scope_id(a, scope), "");
}

void ptx_amdgpu_warpsync(struct amdgpu *a)
{
    fence(a, "wavefront", LLVMAtomicOrderingRelease);
    call0(a, "llvm.amdgcn.wave.barrier");
    fence(a, "wavefront", LLVMAtomicOrderingAcquire);
}

void ptx_amdgpu_acquire(struct amdgpu *a)
{
    fence(a, "workgroup", LLVMAtomicOrderingAcquire);
}

void ptx_amdgpu_hardware_barrier(struct amdgpu *a)
{
    fence(a, "workgroup", LLVMAtomicOrderingRelease);
    call0(a, "llvm.amdgcn.s.barrier");
    ptx_amdgpu_acquire(a);
}

static V table(struct amdgpu *a)
{
    if (a->full)
        return b_gep(&a->b, ptx_amdgpu_counters(a), b_i32(&a->b, 4 * AW_COUNTERS_WORDS));
    V cells = LLVMGetNamedGlobal(a->b.module, "aw.barriers");
    if (cells)
        return cells;
    LLVMTypeRef type = LLVMArrayType2(a->b.i32, a->ends ? ENDED_LANES + WARPS_MAX : BARRIERS * WORDS);
    cells = LLVMAddGlobalInAddressSpace(a->b.module, type, "aw.barriers", AS_SHARED);
    LLVMSetLinkage(cells, LLVMInternalLinkage);
    LLVMSetInitializer(cells, LLVMGetPoison(type));
    LLVMSetAlignment(cells, 4);
    return cells;
}

static V word(struct amdgpu *a, V id, unsigned which)
{
    struct ptx_lower *b = &a->b;
    V index = b_add(b, b_mul(b, b_and(b, id, b_i32(b, BARRIERS - 1)), b_i32(b, 4 * WORDS)), b_i32(b, 4 * which));
    return b_gep(b, table(a), index);
}

/* Of the table: a set in device memory has been another block's. */
static unsigned table_scope(struct amdgpu *a)
{
    return scope_id(a, a->full ? "agent" : "workgroup");
}

static V atomic(struct amdgpu *a, LLVMAtomicRMWBinOp op, V p, V v, LLVMAtomicOrdering order)
{
    return LLVMBuildAtomicRMWSyncScope(a->b.builder, op, p, v, order, table_scope(a));
}

static V atomic_load(struct amdgpu *a, V p)
{
    V v = LLVMBuildLoad2(a->b.builder, a->b.i32, p, "");
    LLVMSetAlignment(v, 4);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(v, table_scope(a));
    return v;
}

V ptx_amdgpu_barrier_generation(struct amdgpu *a, V id)
{
    return atomic_load(a, word(a, id, WORD_GENERATION));
}

/* The lowest lane of this warp that is here does `work`, then all meet again. */
static V is_leader(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V first = b_intrinsic(b, "llvm.cttz", &b->i32, 1, (V[]){ ptx_amdgpu_active(a), b_bool(b, false) }, 2);
    V lane = b_and(b, ptx_amdgpu_wave_lane(a), b_i32(b, 31));
    return b_eq(b, first, lane);
}

/* PTX counts whole warps, and a barrier of the whole block does not wait for those that have ended. */
static V expected(struct amdgpu *a, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    V all = b_shl(b, warps, b_i32(b, 5)), whole = b_eq(b, threads, b_i32(b, 0));
    if (!a->ends)
        return b_select(b, whole, all, threads);
    V ended = atomic_load(a, b_gep(b, table(a), b_i32(b, 4 * ENDED)));
    return b_select(b, b_or(b, whole, b_icmp(b, LLVMIntUGE, threads, all)), b_sub(b, all, b_shl(b, ended, b_i32(b, 5))), threads);
}

/* This warp arrives; the last one begins the next generation. */
static void arrive(struct amdgpu *a, V id, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    fence(a, "workgroup", LLVMAtomicOrderingRelease);
    LLVMBasicBlockRef lead = ptx_block_new(b, "arrive"), last = ptx_block_new(b, ""), done = ptx_block_new(b, "");
    LLVMBuildCondBr(b->builder, is_leader(a), lead, done);
    LLVMPositionBuilderAtEnd(b->builder, lead);
    V before = atomic(a, LLVMAtomicRMWBinOpAdd, word(a, id, WORD_COUNT), b_i32(b, 32), LLVMAtomicOrderingAcquireRelease);
    V complete = b_icmp(b, LLVMIntUGE, b_add(b, before, b_i32(b, 32)), expected(a, threads, warps));
    LLVMBuildCondBr(b->builder, complete, last, done);
    LLVMPositionBuilderAtEnd(b->builder, last);
    atomic(a, LLVMAtomicRMWBinOpXchg, word(a, id, WORD_COUNT), b_i32(b, 0), LLVMAtomicOrderingMonotonic);
    atomic(a, LLVMAtomicRMWBinOpAdd, word(a, id, WORD_GENERATION), b_i32(b, 1), LLVMAtomicOrderingRelease);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* When the last warp to be waited for has ended, one of those that wait begins the next generation. */
void ptx_amdgpu_barrier_recheck(struct amdgpu *a, V id, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    if (!a->ends)
        return;
    LLVMBasicBlockRef come = ptx_block_new(b, "come"), next = ptx_block_new(b, "next"), done = ptx_block_new(b, "");
    V count = atomic_load(a, word(a, id, WORD_COUNT));
    V complete = b_icmp(b, LLVMIntUGE, count, expected(a, threads, warps));
    LLVMBuildCondBr(b->builder, b_and(b, complete, b_ne(b, count, b_i32(b, 0))), come, done);
    LLVMPositionBuilderAtEnd(b->builder, come);
    LLVMAtomicOrdering order = LLVMAtomicOrderingAcquireRelease, failed = LLVMAtomicOrderingMonotonic;
    V swap = LLVMBuildAtomicCmpXchgSyncScope(b->builder, word(a, id, WORD_COUNT), count, b_i32(b, 0), order, failed,
                                             table_scope(a));
    LLVMBuildCondBr(b->builder, b_field(b, swap, 1), next, done);
    LLVMPositionBuilderAtEnd(b->builder, next);
    atomic(a, LLVMAtomicRMWBinOpAdd, word(a, id, WORD_GENERATION), b_i32(b, 1), LLVMAtomicOrderingRelease);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

static void counted_barrier(struct amdgpu *a, V id, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    V generation = ptx_amdgpu_barrier_generation(a, id);
    arrive(a, id, threads, warps);
    LLVMBasicBlockRef look = ptx_block_new(b, "look"), wait = ptx_block_new(b, ""), done = ptx_block_new(b, "");
    ptx_block_enter(b, look);
    ptx_amdgpu_barrier_recheck(a, id, threads, warps);
    V now = ptx_amdgpu_barrier_generation(a, id);
    LLVMBuildCondBr(b->builder, b_eq(b, now, generation), wait, done);
    LLVMPositionBuilderAtEnd(b->builder, wait);
    b_intrinsic(b, "llvm.amdgcn.s.sleep", NULL, 0, (V[]){ b_i32(b, 1) }, 1);
    LLVMBuildBr(b->builder, look);
    LLVMPositionBuilderAtEnd(b->builder, done);
    ptx_amdgpu_acquire(a);
}

/* Where the block's shape is not known, by the number of warps at run time: one barrier must not be the machine's here and
 * counted there. */
V ptx_amdgpu_barrier_is_whole(struct amdgpu *a, V id, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    V all = a->block[0] ? b_i32(b, a->block[0] * a->block[1] * a->block[2]) : b_shl(b, warps, b_i32(b, 5));
    V whole = b_eq(b, threads, b_i32(b, 0));
    if (!LLVMIsAConstantInt(whole) || !LLVMConstIntGetZExtValue(whole))
        whole = b_or(b, whole, b_icmp(b, LLVMIntUGE, threads, all));
    return b_and(b, b_eq(b, id, b_i32(b, 0)), whole);
}

/* Constant operands, the usual case, leave one side of the branch only. */
void ptx_amdgpu_barrier(struct amdgpu *a, V id, V threads, V warps)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef hardware = ptx_block_new(b, "whole"), counted = ptx_block_new(b, "counted"), done = ptx_block_new(b, "");
    LLVMBuildCondBr(b->builder, ptx_amdgpu_barrier_is_whole(a, id, threads, warps), hardware, counted);
    LLVMPositionBuilderAtEnd(b->builder, hardware);
    ptx_amdgpu_hardware_barrier(a);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, counted);
    counted_barrier(a, id, threads, warps);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

void ptx_amdgpu_barrier_arrive(struct amdgpu *a, V id, V threads, V warps)
{
    arrive(a, id, threads, warps);
}

static void barrier_here(struct amdgpu *a, V id, V threads, V warps)
{
    if (warps)
        ptx_amdgpu_barrier(a, id, threads, warps);
    else
        b_simt(&a->b, PTX_SIMT_BARRIER, (V[]){ id, threads });
}

/* The result through the barrier's word in shared memory; barriers around it keep it for this reduction. */
V ptx_amdgpu_barrier_reduce(struct amdgpu *a, V *p, V warps)
{
    struct ptx_lower *b = &a->b;
    V id = p[0], threads = p[1], op = p[2], zero = b_i32(b, 0), cell = word(a, id, WORD_VALUE);
    V is_and = b_eq(b, op, b_i32(b, 1)), one = b_zext(b, p[3], b->i32);
    barrier_here(a, id, threads, warps); /* a slow warp may still read the last result */
    atomic(a, LLVMAtomicRMWBinOpXchg, cell, b_zext(b, is_and, b->i32), LLVMAtomicOrderingMonotonic);
    barrier_here(a, id, threads, warps);
    /* and: a false predicate clears the word; popc and or: count the true ones. */
    atomic(a, LLVMAtomicRMWBinOpAdd, cell, b_select(b, is_and, zero, one), LLVMAtomicOrderingMonotonic);
    V keep = b_select(b, b_and(b, is_and, b_not(b, p[3])), zero, b_i32(b, UINT32_MAX));
    atomic(a, LLVMAtomicRMWBinOpAnd, cell, keep, LLVMAtomicOrderingMonotonic);
    barrier_here(a, id, threads, warps);
    V r = atomic_load(a, cell), truth = b_zext(b, b_ne(b, r, zero), b->i32);
    return b_select(b, b_eq(b, op, zero), r, truth);
}

/* ---- Warps that end.  The machine's barrier knows of them. */

/* May it be a barrier of the whole block that counts? */
static bool counts_whole(struct amdgpu *a, V call)
{
    enum ptx_simt called = ptx_simt_called(call);
    if (called != PTX_SIMT_BARRIER && called != PTX_SIMT_BARRIER_REDUCE)
        return false;
    V id = LLVMGetOperand(call, 0), threads = LLVMGetOperand(call, 1);
    if (!LLVMIsAConstantInt(threads))
        return true;
    uint64_t n = LLVMConstIntGetZExtValue(threads), all = (uint64_t)a->block[0] * a->block[1] * a->block[2];
    bool whole = !n || (all && n >= all);
    return whole && !(LLVMIsNull(id) && (!n || n == all));
}

static bool any_counts_whole(struct amdgpu *a)
{
    for (V fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
                if (counts_whole(a, x))
                    return true;
    return false;
}

/* `n` lanes of this warp end: the last ones make one more warp that has.  `threads` of the block. */
static void warp_ends(struct amdgpu *a, V n, V threads)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef last = ptx_block_new(b, ""), done = ptx_block_new(b, "");
    V warp = b_simt(b, PTX_SIMT_WARPID, NULL), rest = b_sub(b, threads, b_shl(b, warp, b_i32(b, 5)));
    V lanes = b_intrinsic(b, "llvm.umin", &b->i32, 1, (V[]){ rest, b_i32(b, 32) }, 2);
    V cell = b_gep(b, table(a), b_add(b, b_shl(b, warp, b_i32(b, 2)), b_i32(b, 4 * ENDED_LANES)));
    V before = atomic(a, LLVMAtomicRMWBinOpAdd, cell, n, LLVMAtomicOrderingMonotonic);
    LLVMBuildCondBr(b->builder, b_eq(b, b_add(b, before, n), lanes), last, done);
    LLVMPositionBuilderAtEnd(b->builder, last);
    atomic(a, LLVMAtomicRMWBinOpAdd, b_gep(b, table(a), b_i32(b, 4 * ENDED)), b_i32(b, 1), LLVMAtomicOrderingRelease);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* The same lanes end for the block's set in device memory, the next user of which finds nothing counted: warps may have arrived
 * where no one came.  Generations only ever differ, and a reduction sets its value. */
static void set_ends(struct amdgpu *a, V n, V threads)
{
    struct ptx_lower *b = &a->b;
    V words[BARRIERS + 1 + WARPS_MAX];
    unsigned n_words = 0;
    for (uint32_t id = 0; id < BARRIERS; id++)
        words[n_words++] = word(a, b_i32(b, id), WORD_COUNT);
    for (unsigned i = ENDED; a->ends && i < ENDED_LANES + WARPS_MAX; i++)
        words[n_words++] = b_gep(b, table(a), b_i32(b, 4 * i));
    ptx_amdgpu_counters_end(a, n, threads, words, n_words);
}

/* The lanes of this warp that are at the builder's place end. */
static void lanes_end(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef lead = ptx_block_new(b, "ends"), done = ptx_block_new(b, "");
    V here = ptx_amdgpu_active(a), threads = b_simt(b, PTX_SIMT_NTID_X, NULL);
    threads = b_mul(b, b_mul(b, threads, b_simt(b, PTX_SIMT_NTID_Y, NULL)), b_simt(b, PTX_SIMT_NTID_Z, NULL));
    LLVMBuildCondBr(b->builder, is_leader(a), lead, done);
    LLVMPositionBuilderAtEnd(b->builder, lead);
    V n = b_intrinsic(b, "llvm.ctpop", &b->i32, 1, &here, 1);
    if (a->ends)
        warp_ends(a, n, threads);
    if (a->full)
        set_ends(a, n, threads);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

int ptx_amdgpu_barriers_inline(struct amdgpu *a)
{
    static const enum ptx_simt ids[] = { PTX_SIMT_BARRIER, PTX_SIMT_BARRIER_REDUCE, PTX_SIMT_BARRIER_ARRIVE };
    V barriers[3];
    for (unsigned i = 0; i < 3; i++) {
        V fn = LLVMGetNamedFunction(a->b.module, ptx_simt_info(ids[i])->name);
        barriers[i] = fn && LLVMGetFirstUse(fn) ? fn : NULL;
    }
    return ptx_target_inline_callers(a->b.module, barriers, 3, a->diags);
}

bool ptx_amdgpu_ends(struct amdgpu *a)
{
    AW_VEC(V) ends = { 0 };
    bool ok = true;
    a->ends = a->max_threads > 32 && any_counts_whole(a);
    for (LLVMBasicBlockRef bb = a->ends || a->full ? LLVMGetFirstBasicBlock(a->kernel) : NULL; bb && ok;
         bb = LLVMGetNextBasicBlock(bb)) {
        V last = LLVMGetBasicBlockTerminator(bb);
        if (last && LLVMIsAReturnInst(last))
            ok = aw_vec_push(&ends, last);
    }
    a->b.fn = a->kernel;
    for (size_t i = 0; i < ends.n && ok; i++) {
        LLVMBasicBlockRef bb = LLVMGetInstructionParent(ends.at[i]);
        LLVMInstructionEraseFromParent(ends.at[i]);
        LLVMPositionBuilderAtEnd(a->b.builder, bb);
        lanes_end(a);
        LLVMBuildRetVoid(a->b.builder);
    }
    aw_vec_fini(&ends);
    return ok;
}

#define BYTES "aw.barrier.bytes"

V ptx_amdgpu_barrier_bytes(struct amdgpu *a)
{
    LLVMTypeRef type = LLVMFunctionType(a->b.i32, NULL, 0, 0);
    V fn = LLVMGetNamedFunction(a->b.module, BYTES);
    fn = fn ? fn : LLVMAddFunction(a->b.module, BYTES, type);
    return LLVMBuildCall2(a->b.builder, type, fn, NULL, 0, "");
}

/* Now it is known whether there is a table: dynamic shared memory, aligned to 16 bytes, lies behind it. */
static void bytes_settle(struct amdgpu *a, V cells)
{
    V fn = LLVMGetNamedFunction(a->b.module, BYTES);
    uint32_t bytes = cells ? 4 * LLVMGetArrayLength2(LLVMGlobalGetValueType(cells)) : 0;
    for (LLVMUseRef use; fn && (use = LLVMGetFirstUse(fn));) {
        V call = LLVMGetUser(use);
        LLVMReplaceAllUsesWith(call, b_i32(&a->b, (bytes + 15) / 16 * 16));
        LLVMInstructionEraseFromParent(call);
    }
    if (fn)
        LLVMDeleteFunction(fn);
}

LLVMBasicBlockRef ptx_amdgpu_head(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef old = LLVMGetEntryBasicBlock(a->kernel);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(b->context, old, "head");
    b->fn = a->kernel;
    LLVMPositionBuilderAtEnd(b->builder, head);
    for (V i = LLVMGetFirstInstruction(old), next; i && LLVMIsAAllocaInst(i); i = next) { /* allocas stay in the entry */
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        ptx_insert(b->builder, i);
    }
    return old;
}

/* LLVM lays out what is aligned most first.  Lifted code reaches dynamic shared memory from where static memory begins, so the
 * table is not between. */
static void before_shared(struct amdgpu *a, V cells)
{
    V shared = LLVMGetNamedGlobal(a->b.module, "aw.shared");
    if (!a->finish->lifted || !shared)
        return;
    LLVMSetAlignment(shared, 16);
    LLVMSetAlignment(cells, 32);
}

int ptx_amdgpu_barriers_init(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V cells = LLVMGetNamedGlobal(b->module, "aw.barriers");
    cells = cells && LLVMGetFirstUse(cells) ? cells : NULL;
    bytes_settle(a, cells);
    if (!cells)
        return ptx_amdgpu_counters_settle(a);
    before_shared(a, cells);
    LLVMBasicBlockRef old = ptx_amdgpu_head(a);
    V ids = b_or(b, b_or(b, ptx_amdgpu_thread(a, 0), ptx_amdgpu_thread(a, 1)), ptx_amdgpu_thread(a, 2));
    LLVMBasicBlockRef clear = ptx_block_new(b, "clear"), ready = ptx_block_new(b, "ready");
    LLVMBuildCondBr(b->builder, b_eq(b, ids, b_i32(b, 0)), clear, ready);
    LLVMPositionBuilderAtEnd(b->builder, clear);
    for (unsigned i = 0; i < LLVMGetArrayLength2(LLVMGlobalGetValueType(cells)); i++)
        LLVMSetAlignment(LLVMBuildStore(b->builder, b_i32(b, 0), b_gep(b, cells, b_i32(b, 4 * i))), 4);
    LLVMBuildBr(b->builder, ready);
    LLVMPositionBuilderAtEnd(b->builder, ready);
    ptx_amdgpu_hardware_barrier(a);
    LLVMBuildBr(b->builder, old);
    return AW_OK;
}

int ptx_amdgpu_waits(struct amdgpu *a)
{
    const struct ptx_wait_card card = {
        .a = a, .block = a->block, .max_threads = a->max_threads, .wave64 = a->wave64, .ends = a->ends,
        .active = ptx_amdgpu_active,
        .barrier_is_whole = ptx_amdgpu_barrier_is_whole,
        .barrier_generation = ptx_amdgpu_barrier_generation,
        .barrier_reduce = ptx_amdgpu_barrier_reduce,
        .barrier_arrive = ptx_amdgpu_barrier_arrive,
        .barrier_recheck = ptx_amdgpu_barrier_recheck,
        .hardware_barrier = ptx_amdgpu_hardware_barrier, .acquire = ptx_amdgpu_acquire, .tiles_never = ptx_amdgpu_tiles_never,
    };
    return ptx_card_waits(&card, &a->b, a->kernel, a->diags);
}
