/* Where barriers count when the block leaves them no room in shared memory (AW_BLOCK_FULL): in device memory.
 *
 * The device has sets of words, of which a block takes a free one when it begins, and gives it back, cleared, when its last
 * thread ends.  Which one it is, its warps tell each other through the first word of shared memory, in which nothing is yet.
 * There are more sets than such blocks that can run at once; should there be none, a block waits for others to end.  A block
 * that traps keeps its own: the device runs nothing more then.
 *
 * A function that calls itself, and so is not inlined, cannot be told: it looks for the set that has its block's name in it, from
 * where the block began to look for a free one. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/amdgpu/amdgpu.h"

#include <anywarp/env.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

#define PLACE "aw.barrier.counters" /* a function that gives the block's set, until ptx_amdgpu_counters_settle knows it */

static unsigned device_scope(struct amdgpu *a)
{
    return LLVMGetSyncScopeID(a->b.context, "agent", 5);
}

V ptx_amdgpu_counters(struct amdgpu *a)
{
    LLVMTypeRef type = LLVMFunctionType(a->b.ptr[AS_GLOBAL], NULL, 0, 0);
    V fn = LLVMGetNamedFunction(a->b.module, PLACE);
    fn = fn ? fn : LLVMAddFunction(a->b.module, PLACE, type);
    return LLVMBuildCall2(a->b.builder, type, fn, NULL, 0, "");
}

static V word(struct amdgpu *a, V set, unsigned which)
{
    return b_gep(&a->b, set, b_i32(&a->b, 4 * which));
}

static V in_device(struct amdgpu *a, V access, LLVMAtomicOrdering order)
{
    LLVMSetAlignment(access, 4);
    LLVMSetOrdering(access, order);
    LLVMSetAtomicSyncScopeID(access, device_scope(a));
    return access;
}

static void clear(struct amdgpu *a, V p, LLVMAtomicOrdering order)
{
    in_device(a, LLVMBuildStore(a->b.builder, b_i32(&a->b, 0), p), order);
}

/* The `n` (i32) threads for which the builder stands here end; the block's last ones clear words[] and give the set back. */
void ptx_amdgpu_counters_end(struct amdgpu *a, V n, V threads, V *words, unsigned n_words)
{
    struct ptx_lower *b = &a->b;
    BB last = ptx_block_new(b, "last"), done = ptx_block_new(b, "");
    V set = ptx_amdgpu_counters(a), ended = word(a, set, AW_COUNTERS_ENDED);
    V before = LLVMBuildAtomicRMWSyncScope(b->builder, LLVMAtomicRMWBinOpAdd, ended, n, LLVMAtomicOrderingAcquireRelease,
                                           device_scope(a));
    LLVMBuildCondBr(b->builder, b_eq(b, b_add(b, before, n), threads), last, done);
    LLVMPositionBuilderAtEnd(b->builder, last);
    clear(a, ended, LLVMAtomicOrderingMonotonic);
    for (unsigned i = 0; i < n_words; i++)
        clear(a, words[i], LLVMAtomicOrderingMonotonic);
    clear(a, word(a, set, AW_COUNTERS_OWNER), LLVMAtomicOrderingMonotonic);
    clear(a, word(a, set, AW_COUNTERS_TAKEN), LLVMAtomicOrderingRelease);
    LLVMBuildBr(b->builder, done);
    LLVMPositionBuilderAtEnd(b->builder, done);
}

/* A field of struct aw_counters. */
static V counters(struct amdgpu *a, LLVMTypeRef type, uint64_t offset)
{
    struct ptx_lower *b = &a->b;
    return ptx_amdgpu_variable_field(a, AW_COUNTERS_SYMBOL, (V[]){ b_i64(b, 0), b_i64(b, 0) }, 2, type, offset);
}

static V set_at(struct amdgpu *a, V index)
{
    struct ptx_lower *b = &a->b;
    V sets = counters(a, b->i64, offsetof(struct aw_counters, sets));
    V at = b_add(b, sets, b_mul(b, b_zext(b, index, b->i64), b_i64(b, AW_COUNTERS_BYTES)));
    return b_inttoptr(b, at, b->ptr[AS_GLOBAL]);
}

/* The block's name: the launch, of those that run at a time, by where its arguments are, and the block's indices.  The first is
 * not 0. */
enum { NAME = AW_COUNTERS_WORDS - AW_COUNTERS_OWNER };

static void name_of(struct amdgpu *a, V kernarg, V ret[NAME])
{
    struct ptx_lower *b = &a->b;
    V at = LLVMBuildPtrToInt(b->builder, kernarg, b->i64, "");
    ret[0] = b_or(b, b_trunc(b, at, b->i32), b_i32(b, 1));
    ret[1] = b_trunc(b, LLVMBuildLShr(b->builder, at, b_i64(b, 32), ""), b->i32);
    ret[2] = b_intrinsic(b, "llvm.amdgcn.workgroup.id.x", NULL, 0, NULL, 0);
    ret[3] = b_intrinsic(b, "llvm.amdgcn.workgroup.id.y", NULL, 0, NULL, 0);
    ret[4] = b_intrinsic(b, "llvm.amdgcn.workgroup.id.z", NULL, 0, NULL, 0);
}

typedef V set_test(struct amdgpu *a, V set, const V *name);

/* Looks at each set in turn, from one on that depends on the block, until `test` says yes; the builder goes on with its number.
 * With `waits` round and round until there is one.  Without, it is nobody's where none is: the block has given its own back, as
 * its last thread has ended, and what it still reads on its way out means nothing. */
static V find(struct amdgpu *a, set_test *test, const V *name, bool waits)
{
    struct ptx_lower *b = &a->b;
    BB begin = LLVMGetInsertBlock(b->builder), look = ptx_block_new(b, "look"), next = ptx_block_new(b, "next"),
       found = ptx_block_new(b, "found");
    V n = counters(a, b->i32, offsetof(struct aw_counters, count)), zero = b_i32(b, 0);
    V first = LLVMBuildURem(b->builder, b_intrinsic(b, "llvm.amdgcn.workgroup.id.x", NULL, 0, NULL, 0), n, "");
    LLVMBuildBr(b->builder, look);
    LLVMPositionBuilderAtEnd(b->builder, look);
    V i = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMBuildCondBr(b->builder, test(a, set_at(a, i), name), found, next);
    LLVMPositionBuilderAtEnd(b->builder, next);
    if (waits)
        b_intrinsic(b, "llvm.amdgcn.s.sleep", NULL, 0, (V[]){ b_i32(b, 1) }, 1);
    V after = b_add(b, i, b_i32(b, 1));
    after = b_select(b, b_icmp(b, LLVMIntUGE, after, n), zero, after);
    if (waits)
        LLVMBuildBr(b->builder, look);
    else
        LLVMBuildCondBr(b->builder, b_eq(b, after, first), found, look);
    LLVMAddIncoming(i, (V[]){ first, after }, (BB[]){ begin, next }, 2);
    LLVMPositionBuilderAtEnd(b->builder, found);
    if (waits)
        return i;
    V ret = LLVMBuildPhi(b->builder, b->i32, "");
    LLVMAddIncoming(ret, (V[]){ i, n }, (BB[]){ look, next }, 2);
    return ret;
}

static V takes(struct amdgpu *a, V set, const V *name)
{
    (void)name;
    V swap = LLVMBuildAtomicCmpXchgSyncScope(a->b.builder, word(a, set, AW_COUNTERS_TAKEN), b_i32(&a->b, 0), b_i32(&a->b, 1),
                                             LLVMAtomicOrderingAcquire, LLVMAtomicOrderingMonotonic, device_scope(a));
    return b_field(&a->b, swap, 1);
}

static V has_name(struct amdgpu *a, V set, const V *name)
{
    struct ptx_lower *b = &a->b;
    V ret = b_bool(b, true);
    for (unsigned i = 0; i < NAME; i++) {
        V p = word(a, set, AW_COUNTERS_OWNER + i);
        ret = b_and(b, ret,
                    b_eq(b, in_device(a, LLVMBuildLoad2(b->builder, b->i32, p, ""), LLVMAtomicOrderingMonotonic), name[i]));
    }
    return ret;
}

/* Takes a free set, and where functions look for it writes the block's name into it, the word last that is 0 in sets without;
 * returns its number. */
static V take(struct amdgpu *a, bool named)
{
    struct ptx_lower *b = &a->b;
    V index = find(a, takes, NULL, true), name[NAME];
    if (!named)
        return index;
    name_of(a, LLVMGetParam(a->kernel, 0), name);
    for (unsigned i = NAME; i--;) {
        V store = LLVMBuildStore(b->builder, name[i], word(a, set_at(a, index), AW_COUNTERS_OWNER + i));
        in_device(a, store, i ? LLVMAtomicOrderingMonotonic : LLVMAtomicOrderingRelease);
    }
    LLVMBuildFenceSyncScope(b->builder, LLVMAtomicOrderingRelease, device_scope(a), "");
    return index;
}

/* What a function that is not the kernel calls in place of PLACE, with its kernarg. */
static V finder(struct amdgpu *a, LLVMTypeRef *ret_type)
{
    struct ptx_lower *b = &a->b;
    V name[NAME], fn = LLVMGetNamedFunction(b->module, "aw.barrier.find");
    *ret_type = LLVMFunctionType(b->ptr[AS_GLOBAL], (LLVMTypeRef[]){ b->ptr[AS_CONST] }, 1, 0);
    if (fn)
        return fn;
    fn = LLVMAddFunction(b->module, "aw.barrier.find", *ret_type);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    b->fn = fn;
    LLVMPositionBuilderAtEnd(b->builder, ptx_block_new(b, "entry"));
    name_of(a, LLVMGetParam(fn, 0), name);
    LLVMBuildRet(b->builder, set_at(a, find(a, has_name, name, false)));
    return fn;
}

static V function_of(V instruction)
{
    return LLVMGetBasicBlockParent(LLVMGetInstructionParent(instruction));
}

/* Once, where the function begins. */
static void find_in_function(struct amdgpu *a, V call)
{
    LLVMTypeRef type;
    V fn = finder(a, &type), first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function_of(call)));
    while (LLVMIsAAllocaInst(first))
        first = LLVMGetNextInstruction(first);
    if (!LLVMIsACallInst(first) || LLVMGetCalledValue(first) != fn) {
        V kernarg = LLVMGetParam(function_of(call), 0);
        LLVMPositionBuilderBefore(a->b.builder, first);
        first = LLVMBuildCall2(a->b.builder, type, fn, &kernarg, 1, "");
    }
    LLVMReplaceAllUsesWith(call, first);
    LLVMInstructionEraseFromParent(call);
}

/* The first word of shared memory, which all threads leave alone between two barriers. */
static V first_word(struct amdgpu *a)
{
    return b_inttoptr(&a->b, b_i32(&a->b, 0), a->b.ptr[AS_SHARED]);
}

static void in_block(struct amdgpu *a, V access)
{
    LLVMSetAlignment(access, 4);
    LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(access, LLVMGetSyncScopeID(a->b.context, "workgroup", 9));
}

int ptx_amdgpu_counters_settle(struct amdgpu *a)
{
    struct ptx_lower *b = &a->b;
    V fn = LLVMGetNamedFunction(b->module, PLACE);
    if (!fn)
        return AW_OK;
    bool named = false;
    for (LLVMUseRef use = LLVMGetFirstUse(fn), next; use; use = next) {
        V call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (function_of(call) == a->kernel)
            continue;
        find_in_function(a, call);
        named = true;
    }
    BB old = ptx_amdgpu_head(a), found = ptx_block_new(b, "found"), none = ptx_block_new(b, "take");
    V ids = b_or(b, b_or(b, ptx_amdgpu_thread(a, 0), ptx_amdgpu_thread(a, 1)), ptx_amdgpu_thread(a, 2));
    LLVMBuildCondBr(b->builder, b_eq(b, ids, b_i32(b, 0)), none, found);
    LLVMPositionBuilderAtEnd(b->builder, none);
    in_block(a, LLVMBuildStore(b->builder, take(a, named), first_word(a)));
    LLVMBuildBr(b->builder, found);
    LLVMPositionBuilderAtEnd(b->builder, found);
    ptx_amdgpu_hardware_barrier(a);
    V index = LLVMBuildLoad2(b->builder, b->i32, first_word(a), "");
    in_block(a, index);
    V set = set_at(a, b_intrinsic(b, "llvm.amdgcn.readfirstlane", &b->i32, 1, &index, 1));
    ptx_amdgpu_hardware_barrier(a); /* now the word is the program's */
    LLVMBuildBr(b->builder, old);
    for (LLVMUseRef use; (use = LLVMGetFirstUse(fn));) {
        V call = LLVMGetUser(use);
        LLVMReplaceAllUsesWith(call, set);
        LLVMInstructionEraseFromParent(call);
    }
    LLVMDeleteFunction(fn);
    return AW_OK;
}
