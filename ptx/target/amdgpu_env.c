/* printf, assert, trap and malloc on AMDGPU: the bodies that write to struct aw_env (include/anywarp/env.h).
 *
 * Each takes the kernel's arguments as an added last parameter, where the environment's address lies. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "target/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;

#define FIELD(name) offsetof(struct aw_env, name)

/* Address of the environment as an integer; 0 when the launch gave none. */
static V env_address(struct amdgpu *a, V kernarg)
{
    struct ptx_lower *b = &a->b;
    V load = LLVMBuildLoad2(b->builder, b->i64, b_gep(b, kernarg, b_i64(b, a->finish->kernarg_size - 8)), "env");
    LLVMSetAlignment(load, 8);
    ptx_invariant(b, load);
    return load;
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

static V atomic_add(struct amdgpu *a, V base, uint64_t offset, V amount)
{
    return LLVMBuildAtomicRMW(a->b.builder, LLVMAtomicRMWBinOpAdd, at(a, base, offset), amount, LLVMAtomicOrderingMonotonic, 0);
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
    V env = env_address(a, p[2]), scan[SCAN_N];
    LLVMBasicBlockRef full, none = when(a, b_ne(b, env, b_i64(b, 0)));
    format_scan(a, p[0], scan);
    V size = aligned(a, b_add(b, scan[SCAN_BYTES], b_i32(b, offsetof(struct aw_env_printf, args))), 8);
    V record = record_reserve(a, env, size, &full);
    store(a, record, offsetof(struct aw_env_record, kind), b_i32(b, AW_ENV_PRINTF));
    store(a, record, offsetof(struct aw_env_printf, format), b_ptrtoint(b, p[0], b->i64));
    words_copy(a, b_add(b, record, b_i64(b, offsetof(struct aw_env_printf, args))), p[1], scan[SCAN_BYTES]);
    store(a, record, offsetof(struct aw_env_record, size), size);
    LLVMBuildRet(b->builder, scan[SCAN_COUNT]);
    LLVMPositionBuilderAtEnd(b->builder, full);
    atomic_add(a, env, FIELD(dropped), b_i32(b, 1));
    LLVMBuildRet(b->builder, b_i32(b, UINT32_MAX));
    LLVMPositionBuilderAtEnd(b->builder, none);
    LLVMBuildRet(b->builder, b_i32(b, UINT32_MAX));
}

/* On gfx11 the trap instruction may do nothing, and LLVM replaces it by an interrupt and a halt, in new blocks.  LLVM 22 then forgets to
 * expand pseudo instructions in the blocks that follow ("Unsupported instruction" from the assembler).  The same sequence as inline
 * assembly keeps the blocks as they are; it can go once an LLVM expands them. */
static void trap_gfx11(struct amdgpu *a)
{
    static const char text[] = "s_trap 2\n"
                               "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_DOORBELL)\n"
                               "s_mov_b32 ttmp2, m0\n"
                               "s_waitcnt lgkmcnt(0)\n"
                               "s_and_b32 s0, s0, 0x3ff\n"
                               "s_bitset1_b32 s0, 10\n"
                               "s_mov_b32 m0, s0\n"
                               "s_sendmsg sendmsg(MSG_INTERRUPT)\n"
                               "s_mov_b32 m0, ttmp2\n"
                               "s_sethalt 5\n"
                               "s_branch 0xfffe\n"; /* to s_sethalt */
    static const char clobbers[] = "~{s0},~{memory}";
    LLVMTypeRef type = LLVMFunctionType(a->b.void_type, NULL, 0, 0);
    V code = LLVMGetInlineAsm(type, text, sizeof text - 1, clobbers, sizeof clobbers - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
    LLVMBuildCall2(a->b.builder, type, code, NULL, 0, "");
}

/* ---- Ends: the first status wins; the wave's trap ends the queue's kernel with an error */
static void die(struct amdgpu *a, V env, V status)
{
    struct ptx_lower *b = &a->b;
    LLVMBasicBlockRef end = when(a, b_ne(b, env, b_i64(b, 0)));
    LLVMBuildAtomicCmpXchg(b->builder, at(a, env, FIELD(status)), b_i32(b, 0), status, LLVMAtomicOrderingMonotonic,
                           LLVMAtomicOrderingMonotonic, 0);
    LLVMBuildFence(b->builder, LLVMAtomicOrderingRelease, 0, "");
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, end);
    if (a->major == 11)
        trap_gfx11(a);
    else
        b_intrinsic(b, "llvm.trap", NULL, 0, NULL, 0);
    LLVMBuildUnreachable(b->builder);
}

/* p: status, kernarg */
void ptx_amdgpu_trap(struct amdgpu *a, V *p)
{
    die(a, env_address(a, p[1]), p[0]);
}

/* p: message, file, line, function, kernarg */
void ptx_amdgpu_assertfail(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    V env = env_address(a, p[4]);
    LLVMBasicBlockRef full, end = when(a, b_ne(b, env, b_i64(b, 0)));
    V size = b_i32(b, sizeof(struct aw_env_assert)), record = record_reserve(a, env, size, &full);
    store(a, record, offsetof(struct aw_env_record, kind), b_i32(b, AW_ENV_ASSERT));
    store(a, record, offsetof(struct aw_env_assert, message), b_ptrtoint(b, p[0], b->i64));
    store(a, record, offsetof(struct aw_env_assert, file), b_ptrtoint(b, p[1], b->i64));
    store(a, record, offsetof(struct aw_env_assert, function), b_ptrtoint(b, p[3], b->i64));
    store(a, record, offsetof(struct aw_env_assert, line), p[2]);
    for (unsigned i = 0; i < 3; i++) {
        store(a, record, offsetof(struct aw_env_assert, block) + 4 * i, ptx_amdgpu_block(a, i));
        store(a, record, offsetof(struct aw_env_assert, thread) + 4 * i, ptx_amdgpu_thread(a, i));
    }
    store(a, record, offsetof(struct aw_env_record, size), size);
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, full);
    atomic_add(a, env, FIELD(dropped), b_i32(b, 1));
    LLVMBuildBr(b->builder, end);
    LLVMPositionBuilderAtEnd(b->builder, end);
    die(a, env, b_i32(b, AW_ERR_ASSERT));
}

/* ---- malloc: takes from the heap's end and never gives back.  p: bytes, kernarg */
void ptx_amdgpu_malloc(struct amdgpu *a, V *p)
{
    struct ptx_lower *b = &a->b;
    V null = LLVMConstNull(b->ptr[AS_GENERIC]), env = env_address(a, p[1]);
    LLVMBasicBlockRef none = when(a, b_ne(b, env, b_i64(b, 0)));
    V heap = load(a, env, FIELD(heap), b->i64), limit = load(a, env, FIELD(heap_size), b->i64);
    V sane = b_and(b, b_ne(b, heap, b_i64(b, 0)), b_and(b, b_ne(b, p[0], b_i64(b, 0)), b_icmp(b, LLVMIntULE, p[0], limit)));
    LLVMBasicBlockRef refused = when(a, sane);
    V size = b_and(b, b_add(b, p[0], b_i64(b, 15)), b_i64(b, ~15ull));
    V place = atomic_add(a, env, FIELD(heap_used), size);
    V fits = b_icmp(b, LLVMIntULE, b_add(b, place, size), limit);
    V pointer = b_inttoptr(b, b_add(b, heap, place), b->ptr[AS_GENERIC]);
    LLVMBuildRet(b->builder, b_select(b, fits, pointer, null));
    LLVMPositionBuilderAtEnd(b->builder, none);
    LLVMBuildRet(b->builder, null);
    LLVMPositionBuilderAtEnd(b->builder, refused);
    LLVMBuildRet(b->builder, null);
}
