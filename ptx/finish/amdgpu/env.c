/* printf, assert and trap on AMDGPU: the bodies that write to struct aw_env (include/anywarp/env.h).  malloc is in amdgpu/heap.c.
 *
 * The host reads while the kernel may go on, by copies that need not pass through the cache that all of the card's waves share:
 * what is told is told at system scope, and what went before is written back first, where LLVM knows that the card needs it.
 *
 * Each takes the kernel's arguments as an added last parameter, where the environment's address lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;

#define FIELD(name) offsetof(struct aw_env, name)

void ptx_amdgpu_env_mark(struct amdgpu *a, const char *symbol)
{
    if (LLVMGetNamedGlobal(a->b.module, symbol))
        return;
    V mark = LLVMAddGlobalInAddressSpace(a->b.module, a->b.i8, symbol, AS_GLOBAL);
    LLVMSetInitializer(mark, LLVMConstInt(a->b.i8, 1, 0));
    LLVMSetGlobalConstant(mark, 1);
    LLVMSetVisibility(mark, LLVMProtectedVisibility);
}

static V env_word(struct amdgpu *a, V kernarg)
{
    struct ptx_lower *b = &a->b;
    ptx_amdgpu_env_mark(a, AW_ENV_SYMBOL);
    V load = LLVMBuildLoad2(b->builder, b->i64, b_gep(b, kernarg, b_i64(b, a->finish->kernarg_size - 8)), "env");
    LLVMSetAlignment(load, 8);
    ptx_mark(load, PTX_INVARIANT);
    return load;
}

/* Address of the environment as an integer; 0 when the launch gave none. */
V ptx_amdgpu_env(struct amdgpu *a, V kernarg)
{
    return b_and(&a->b, env_word(a, kernarg), b_i64(&a->b, ~(uint64_t)AW_ENV_COOPERATIVE));
}

V ptx_amdgpu_env_constant(struct amdgpu *a, V kernarg, uint64_t offset)
{
    V word = b_inttoptr(&a->b, b_add(&a->b, ptx_amdgpu_env(a, kernarg), b_i64(&a->b, offset)), a->b.ptr[AS_GLOBAL]);
    V load = LLVMBuildLoad2(a->b.builder, a->b.i32, word, "");
    LLVMSetAlignment(load, 4);
    ptx_mark(load, PTX_INVARIANT);
    return load;
}

V ptx_amdgpu_grid_workspace(struct amdgpu *a, V kernarg)
{
    struct ptx_lower *b = &a->b;
    V word = env_word(a, kernarg), cooperative = b_and(b, word, b_i64(b, AW_ENV_COOPERATIVE));
    V at = b_add(b, word, b_i64(b, FIELD(grid_workspace) - AW_ENV_COOPERATIVE));
    return b_select(b, b_ne(b, cooperative, b_i64(b, 0)), at, b_i64(b, 0));
}

static V at(struct amdgpu *a, V base, uint64_t offset)
{
    return b_inttoptr(&a->b, b_add(&a->b, base, b_i64(&a->b, offset)), a->b.ptr[AS_GLOBAL]);
}

static V load(struct amdgpu *a, V base, uint64_t offset, LLVMTypeRef type)
{
    return LLVMBuildLoad2(a->b.builder, type, at(a, base, offset), "");
}

static void store(struct amdgpu *a, V base, uint64_t offset, V value)
{
    LLVMBuildStore(a->b.builder, value, at(a, base, offset));
}

static unsigned everyone(struct amdgpu *a)
{
    return LLVMGetSyncScopeID(a->b.context, "", 0);
}

static V atomic_add(struct amdgpu *a, V base, uint64_t offset, V amount)
{
    return LLVMBuildAtomicRMWSyncScope(a->b.builder, LLVMAtomicRMWBinOpAdd, at(a, base, offset), amount,
                                       LLVMAtomicOrderingMonotonic, everyone(a));
}

/* Branches: true goes on in a fresh block, which the builder enters; returns the block for false. */
static LLVMBasicBlockRef when(struct amdgpu *a, V condition)
{
    LLVMBasicBlockRef yes = ptx_block_new(&a->b, ""), no = ptx_block_new(&a->b, "");
    LLVMBuildCondBr(a->b.builder, condition, yes, no);
    LLVMPositionBuilderAtEnd(a->b.builder, yes);
    return no;
}

/* ---- Records */

/* The record is complete: its size says so, behind all else. */
static void record_finish(struct amdgpu *a, V record, V size)
{
    V word = LLVMBuildStore(a->b.builder, size, at(a, record, offsetof(struct aw_env_record, size)));
    LLVMSetAlignment(word, 4);
    LLVMSetOrdering(word, LLVMAtomicOrderingRelease);
    LLVMSetAtomicSyncScopeID(word, everyone(a));
}

/* Room for `size` (i32) bytes, as an address; the builder goes on where there is room, *ret_full where not. */
static V record_reserve(struct amdgpu *a, V env, V size, LLVMBasicBlockRef *ret_full)
{
    struct ptx_lower *b = &a->b;
    V buffer = load(a, env, FIELD(buffer), b->i64), capacity = load(a, env, FIELD(capacity), b->i32);
    V place = atomic_add(a, env, FIELD(used), size);
    V end = b_binary(b, "llvm.uadd.sat", place, size);
    V fits = b_and(b, b_icmp(b, LLVMIntULE, end, capacity), b_ne(b, buffer, b_i64(b, 0)));
    *ret_full = when(a, fits);
    return b_add(b, buffer, b_zext(b, place, b->i64));
}

/* ---- printf: the format says how many bytes of arguments there are */
enum { SCAN_BYTES, SCAN_COUNT, SCAN_IN, SCAN_LONG, SCAN_N };

/* Is the letter (0..25, upper and lower case alike not) among those of `set`? */
static V letter_in(struct amdgpu *a, V c, const char *set)
{
    struct ptx_lower *b = &a->b;
    uint64_t bits = 0;
    for (; *set; set++)
        bits |= 1ull << (*set - 64);
    V index = b_sub(b, c, b_i32(b, 64)), inside = b_ult(b, index, b_i32(b, 64));
    V wide = b_zext(b, b_and(b, index, b_i32(b, 63)), b->i64);
    return b_and(b, inside, b_trunc(b, b_lshr(b, b_i64(b, bits), wide), b->i1));
}

static V aligned(struct amdgpu *a, V bytes, unsigned align)
{
    return b_and(&a->b, b_add(&a->b, bytes, b_i32(&a->b, align - 1)), b_i32(&a->b, -align));
}

/* One character: the state before in `s`, the state after in `next`. */
static void scan_step(struct amdgpu *a, V c, V *s, V *next)
{
    struct ptx_lower *b = &a->b;
    V no = b_bool(b, false), percent = b_eq(b, c, b_i32(b, '%')), star = b_eq(b, c, b_i32(b, '*'));
    V inside = b_and(b, s[SCAN_IN], b_not(b, percent)), begins = b_and(b, percent, b_not(b, s[SCAN_IN]));
    V wide_mark = letter_in(a, c, "lzjtq"), wide_type = letter_in(a, c, "fFeEgGaAps");
    V type = letter_in(a, c, "diouxXcfFeEgGaApsn");
    V eight = b_or(b, wide_type, s[SCAN_LONG]);
    V as_8 = b_add(b, aligned(a, s[SCAN_BYTES], 8), b_i32(b, 8)), as_4 = b_add(b, aligned(a, s[SCAN_BYTES], 4), b_i32(b, 4));
    V takes = b_and(b, inside, b_or(b, star, type)), size = b_select(b, b_and(b, eight, b_not(b, star)), as_8, as_4);
    next[SCAN_BYTES] = b_select(b, takes, size, s[SCAN_BYTES]);
    next[SCAN_COUNT] = b_add(b, s[SCAN_COUNT], b_zext(b, takes, b->i32));
    next[SCAN_IN] = b_or(b, begins, b_and(b, inside, b_not(b, type)));
    next[SCAN_LONG] = b_select(b, next[SCAN_IN], b_and(b, inside, b_or(b, s[SCAN_LONG], wide_mark)), no);
}

/* Walks the format; SCAN_BYTES and SCAN_COUNT of `ret` are the result. */
static void format_scan(struct amdgpu *a, V format, V *ret)
{
    struct ptx_lower *b = &a->b;
    V s[SCAN_N], next[SCAN_N], zero[SCAN_N] = { b_i32(b, 0), b_i32(b, 0), b_bool(b, false), b_bool(b, false) };
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), loop = ptx_block_new(b, "scan"), done = ptx_block_new(b, "");
    ptx_block_enter(b, loop);
    V p = LLVMBuildPhi(b->builder, b->ptr[AS_GENERIC], "");
    for (unsigned i = 0; i < SCAN_N; i++)
        s[i] = LLVMBuildPhi(b->builder, LLVMTypeOf(zero[i]), "");
    V c = b_zext(b, LLVMBuildLoad2(b->builder, b->i8, p, ""), b->i32);
    scan_step(a, c, s, next);
    V following = b_gep(b, p, b_i64(b, 1));
    LLVMBuildCondBr(b->builder, b_eq(b, c, b_i32(b, 0)), done, loop);
    LLVMAddIncoming(p, (V[]){ format, following }, (LLVMBasicBlockRef[]){ before, loop }, 2);
    for (unsigned i = 0; i < SCAN_N; i++)
        LLVMAddIncoming(s[i], (V[]){ zero[i], next[i] }, (LLVMBasicBlockRef[]){ before, loop }, 2);
    LLVMPositionBuilderAtEnd(b->builder, done);
    memcpy(ret, s, sizeof s);
}

/* Copies `bytes` (i32, a multiple of 4) in words. */
static void words_copy(struct amdgpu *a, V to, V from, V bytes)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b->builder), head = ptx_block_new(b, "copy"), done = ptx_block_new(b, "");
    ptx_block_enter(b, head);
    V i = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMBasicBlockRef body = ptx_block_new(b, "");
    LLVMBuildCondBr(b->builder, b_ult(b, i, bytes), body, done);
    LLVMPositionBuilderAtEnd(b->builder, body);
    V offset = b_zext(b, i, b->i64), word = LLVMBuildLoad2(b->builder, b->i32, b_gep(b, from, offset), "");
    LLVMBuildStore(b->builder, word, b_inttoptr(b, b_add(b, to, offset), b->ptr[AS_GLOBAL]));
    V next = b_add(b, i, b_i32(b, 4));
    LLVMBuildBr(b->builder, head);
    LLVMAddIncoming(i, (V[]){ b_i32(b, 0), next }, (LLVMBasicBlockRef[]){ before, body }, 2);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* p: format, args, kernarg */
void ptx_amdgpu_vprintf(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    V env = ptx_amdgpu_env(a, p[2]), scan[SCAN_N];
    LLVMBasicBlockRef full, none = when(a, b_ne(b, env, b_i64(b, 0)));
    format_scan(a, p[0], scan);
    V size = aligned(a, b_add(b, scan[SCAN_BYTES], b_i32(b, offsetof(struct aw_env_printf, args))), 8);
    V record = record_reserve(a, env, size, &full);
    store(a, record, offsetof(struct aw_env_record, kind), b_i32(b, AW_ENV_PRINTF));
    store(a, record, offsetof(struct aw_env_printf, format), b_ptrtoint(b, p[0], b->i64));
    words_copy(a, b_add(b, record, b_i64(b, offsetof(struct aw_env_printf, args))), p[1], scan[SCAN_BYTES]);
    record_finish(a, record, size);
    LLVMBuildRet(b->builder, scan[SCAN_COUNT]);
    LLVMPositionBuilderAtEnd(b->builder, full);
    atomic_add(a, env, FIELD(dropped), b_i32(b, 1));
    LLVMBuildRet(b->builder, b_i32(b, UINT32_MAX));
    LLVMPositionBuilderAtEnd(b->builder, none);
    LLVMBuildRet(b->builder, b_i32(b, UINT32_MAX));
}

/* ---- Ends: the first status wins, and the wave ends.  Its lanes that did not trap end with it, as the whole grid does with
 * CUDA; at a barrier an ended wave counts as arrived.  The host finds the status once the kernel has ended, and gives up waves
 * that go on waiting for this one in other ways.  s_trap would make AMD's runtime end the process. */
void ptx_amdgpu_die(struct amdgpu *a, V env, V status)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef end = when(a, b_ne(b, env, b_i64(b, 0)));
    LLVMBuildAtomicCmpXchgSyncScope(b->builder, at(a, env, FIELD(status)), b_i32(b, 0), status, LLVMAtomicOrderingMonotonic,
                                    LLVMAtomicOrderingMonotonic, everyone(a));
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, end);
    LLVMBuildFenceSyncScope(b->builder, LLVMAtomicOrderingRelease, everyone(a), "");
    b_intrinsic(b, "llvm.amdgcn.endpgm", NULL, 0, NULL, 0);
    LLVMBuildUnreachable(b->builder);
}

/* p: status, kernarg */
void ptx_amdgpu_trap(struct amdgpu *a, V *p)
{
    ptx_amdgpu_die(a, ptx_amdgpu_env(a, p[1]), p[0]);
}

/* p: message, file, line, function, kernarg */
void ptx_amdgpu_assertfail(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    V env = ptx_amdgpu_env(a, p[4]);
    LLVMBasicBlockRef full, end = when(a, b_ne(b, env, b_i64(b, 0)));
    V size = b_i32(b, sizeof(struct aw_env_assert)), record = record_reserve(a, env, size, &full);
    store(a, record, offsetof(struct aw_env_record, kind), b_i32(b, AW_ENV_ASSERT));
    store(a, record, offsetof(struct aw_env_assert, message), b_ptrtoint(b, p[0], b->i64));
    store(a, record, offsetof(struct aw_env_assert, file), b_ptrtoint(b, p[1], b->i64));
    store(a, record, offsetof(struct aw_env_assert, function), b_ptrtoint(b, p[3], b->i64));
    store(a, record, offsetof(struct aw_env_assert, line), p[2]);
    for (unsigned i = 0; i < 3; i++) {
        store(a, record, offsetof(struct aw_env_assert, block) + 4 * i, ptx_amdgpu_block(a, i, p[4]));
        store(a, record, offsetof(struct aw_env_assert, thread) + 4 * i, ptx_amdgpu_thread(a, i));
    }
    record_finish(a, record, size);
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, full);
    atomic_add(a, env, FIELD(dropped), b_i32(b, 1));
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, end);
    ptx_amdgpu_die(a, env, b_i32(b, AW_ERR_ASSERT));
}
