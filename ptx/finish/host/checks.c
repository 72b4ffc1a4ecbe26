/* Checks of accesses become code: a test that all is well, as quick as it can be, and where it fails a call of the host device,
 * which looks at each lane by itself.  The test may fail for a sound access, beside the end of an allocation.
 *
 * What the vectoriser has put is in ptx/simt/emit/check.c.  Rows of one block that lie near each other are tested together, at
 * the first one's place, as long as nothing comes in between that could change the answer. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/host.h"

#include "base/map.h"
#include "base/vec.h"
#include "llvm_version.h"
#include "lower/copy.h"
#include "simt/vectorise.h"
#include "lower/match.h"
#include <anywarp/hostabi.h>
#include <llvm-c/DebugInfo.h>
#include <string.h>

typedef LLVMValueRef V;
typedef LLVMBasicBlockRef BB;

/* A row: `at` bytes from a root that several may share. */
struct row {
    V call;
    int64_t at, span;
    uint32_t what;
    bool done;
};

struct checks {
    LLVMModuleRef m;
    LLVMContextRef c;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i32, i64, ptr;
    bool shadow, init;
    uint32_t static_shared;
    V functions[3];       /* row, shared, lanes; NULL: none is called */
    V area;               /* of the function at hand; NULL: none yet */
    AW_VEC(struct row) rows; /* of the block at hand */
};

static V c64(struct checks *k, uint64_t x)
{
    return LLVMConstInt(k->i64, x, 0);
}

static V c32(struct checks *k, uint64_t x)
{
    return LLVMConstInt(k->i32, x, 0);
}

static uint64_t number(V v)
{
    return LLVMConstIntGetZExtValue(v);
}

static uint32_t size_of(uint32_t what)
{
    return what & AW_HOST_ACCESS_SIZE;
}

static uint64_t align_of(uint32_t what)
{
    return UINT64_C(1) << (what >> AW_HOST_ACCESS_ALIGN & 7);
}

/* ---- Tests: i1, true where something may be wrong */

static V either(struct checks *k, V a, V b)
{
    return a && b ? LLVMBuildOr(k->b, a, b, "") : a ? a : b;
}

/* `n` bytes of the shadow, as one number. */
static V shadow_load(struct checks *k, V at, unsigned n)
{
    V s = LLVMBuildLoad2(k->b, LLVMIntTypeInContext(k->c, 8 * n), LLVMBuildIntToPtr(k->b, at, k->ptr, ""), "");
    LLVMSetAlignment(s, 1);
    return s;
}

static V is_not_zero(struct checks *k, V x)
{
    return LLVMBuildICmp(k->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
}

static V shadow_place(struct checks *k, V address, uint64_t base)
{
    V at = LLVMBuildAnd(k->b, address, c64(k, (UINT64_C(1) << AW_SHADOW_ADDRESS_BITS) - 1), "");
    return LLVMBuildAdd(k->b, LLVMBuildLShr(k->b, at, c64(k, 3), ""), c64(k, base), "");
}

/* Are the shadow's bytes of `span` bytes from `low` on, a multiple of `align`, not all zero?  It may look at more of them. */
static V shadow_test(struct checks *k, V low, uint64_t span, uint64_t align, uint64_t base)
{
    uint64_t aligned = align < 8 ? align : 8, needed = (span + 7 + (8 - aligned)) / 8;
    unsigned n = 1;
    if (span <= aligned)
        needed = 1;
    while (n < needed - 1) /* at most AW_HOST_ACCESS_SPAN / 8 */
        n *= 2;
    V bad = is_not_zero(k, shadow_load(k, shadow_place(k, low, base), n));
    if (n < needed)
        bad = either(k, bad,
                     is_not_zero(k, shadow_load(k, shadow_place(k, LLVMBuildAdd(k->b, low, c64(k, span - 1), ""), base), 1)));
    return bad;
}

static V misaligned(struct checks *k, V address, uint64_t align)
{
    if (align < 2)
        return NULL;
    LLVMTypeRef t = LLVMTypeOf(address), scalar = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
    V mask = LLVMConstInt(scalar, align - 1, 0);
    if (t != scalar)
        mask = ptx_host_splat(mask, LLVMGetVectorSize(t));
    return is_not_zero(k, LLVMBuildAnd(k->b, address, mask, ""));
}

/* Of the bytes from `low` on. */
static V range_test(struct checks *k, V low, V total, uint64_t span, uint64_t align, uint32_t what)
{
    V bad = misaligned(k, low, align);
    if (what & AW_HOST_ACCESS_SHARED) {
        V end = LLVMBuildAdd(k->b, LLVMBuildZExt(k->b, low, k->i64, ""), c64(k, span), "");
        bad = either(k, bad, LLVMBuildICmp(k->b, LLVMIntUGT, end, LLVMBuildZExt(k->b, total, k->i64, ""), ""));
    } else if (k->shadow) {
        bad = either(k, bad, shadow_test(k, low, span, align, AW_SHADOW_BASE));
        if (k->init)
            bad = either(k, bad, shadow_test(k, low, span, align, AW_UNWRITTEN_BASE));
    }
    return bad;
}

static V splat(struct checks *k, V x, unsigned n)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(x), n);
    V one = LLVMBuildInsertElement(k->b, LLVMGetPoison(t), x, c32(k, 0), "");
    return LLVMBuildShuffleVector(k->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(k->i32, n)), "");
}

static V gather(struct checks *k, V places, unsigned n)
{
    LLVMTypeRef types[2] = { LLVMVectorType(k->i32, n), LLVMVectorType(k->ptr, n) };
    unsigned id = LLVMLookupIntrinsicID("llvm.masked.gather", strlen("llvm.masked.gather"));
    V args[PTX_MASKED_OPERANDS] = { LLVMBuildIntToPtr(k->b, places, types[1], ""), LLVMConstAllOnes(LLVMVectorType(k->i1, n)),
                                    LLVMConstNull(types[0]) };
    return ptx_llvm_masked_build(k->b, k->m, id, types, args, 1);
}

/* Bytes of a vector of addresses' shadow. */
static V shadow_gather(struct checks *k, V addresses, uint32_t size, uint64_t base)
{
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(addresses)), bytes = (size + 7) / 8;
    V low = splat(k, c64(k, (UINT64_C(1) << AW_SHADOW_ADDRESS_BITS) - 1), n);
    V at = LLVMBuildLShr(k->b, LLVMBuildAnd(k->b, addresses, low, ""), splat(k, c64(k, 3), n), "");
    V s = gather(k, LLVMBuildAdd(k->b, at, splat(k, c64(k, base), n), ""), n);
    return is_not_zero(k, LLVMBuildAnd(k->b, s, splat(k, c32(k, bytes < 4 ? (1u << 8 * bytes) - 1 : UINT32_MAX), n), ""));
}

static V lanes_test(struct checks *k, V call)
{
    V at = LLVMGetOperand(call, SIMT_ANY_ADDRESSES);
    uint32_t what = (uint32_t)number(LLVMGetOperand(call, SIMT_ANY_WHAT)), size = size_of(what);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(at));
    V bad = misaligned(k, at, align_of(what));
    if (what & AW_HOST_ACCESS_SHARED) {
        V end = LLVMBuildAdd(k->b, at, splat(k, c64(k, size), n), "");
        bad = either(k, bad, LLVMBuildICmp(k->b, LLVMIntUGT, end, splat(k, LLVMGetOperand(call, SIMT_ANY_TOTAL), n), ""));
    } else if (k->shadow) {
        bad = either(k, bad, shadow_gather(k, at, size, AW_SHADOW_BASE));
        if (k->init)
            bad = either(k, bad, shadow_gather(k, at, size, AW_UNWRITTEN_BASE));
    }
    if (!bad)
        return NULL;
    V bits = LLVMBuildBitCast(k->b, bad, LLVMIntTypeInContext(k->c, n), "");
    bits = LLVMBuildZExt(k->b, bits, k->i32, "");
    return is_not_zero(k, LLVMBuildAnd(k->b, bits, LLVMGetOperand(call, SIMT_ANY_LANES), ""));
}

/* ---- What is done where it fails */

static V field(struct checks *k, V base, size_t offset, LLVMTypeRef type)
{
    V at = c64(k, offset);
    return LLVMBuildLoad2(k->b, type, LLVMBuildGEP2(k->b, k->i8, base, &at, 1, ""), "");
}

/* The area of the function's frame for the lanes' addresses. */
static V area(struct checks *k, unsigned n)
{
    if (k->area)
        return k->area;
    BB here = LLVMGetInsertBlock(k->b);
    LLVMPositionBuilderBefore(k->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(here))));
    k->area = LLVMBuildAlloca(k->b, LLVMArrayType2(k->i64, n), "");
    LLVMSetAlignment(k->area, 64);
    LLVMPositionBuilderBefore(k->b, LLVMGetBasicBlockTerminator(here));
    return k->area;
}

static void tell(struct checks *k, V call, V addresses, V lanes, V thread, V what)
{
    V block = LLVMGetOperand(call, SIMT_ROW_BLOCK), launch = field(k, block, offsetof(struct aw_host_block, launch), k->ptr);
    V services = field(k, launch, offsetof(struct aw_host_launch, services), k->ptr);
    V fn = field(k, services, offsetof(struct aw_host_services, check_access), k->ptr);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(addresses));
    V at = area(k, n);
    LLVMSetAlignment(LLVMBuildStore(k->b, addresses, at), 64);
    LLVMTypeRef types[5] = { k->ptr, k->ptr, k->i32, k->i32, k->i32 };
    V args[5] = { block, at, lanes, thread, what };
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(call));
    ptx_never_merge(LLVMBuildCall2(k->b, LLVMFunctionType(LLVMVoidTypeInContext(k->c), types, 5, 0), fn, args, 5, ""));
}

static void row_tell(struct checks *k, V call, V low)
{
    V offsets = LLVMGetOperand(call, SIMT_ROW_OFFSETS);
    unsigned n = LLVMGetVectorSize(LLVMTypeOf(offsets));
    LLVMTypeRef wide = LLVMVectorType(k->i64, n);
    V at = LLVMBuildAdd(k->b, splat(k, LLVMBuildIntCast2(k->b, low, k->i64, 0, ""), n), LLVMBuildZExt(k->b, offsets, wide, ""),
                        "");
    tell(k, call, at, LLVMGetOperand(call, SIMT_ROW_LANES), LLVMGetOperand(call, SIMT_ROW_THREAD),
         LLVMGetOperand(call, SIMT_ROW_WHAT));
}

BB ptx_host_part(LLVMBuilderRef b, V x)
{
    BB from = LLVMGetInstructionParent(x);
    BB rest = LLVMAppendBasicBlockInContext(LLVMGetTypeContext(LLVMTypeOf(x)), LLVMGetBasicBlockParent(from), "");
    LLVMMoveBasicBlockAfter(rest, from);
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(b);
    V last = LLVMGetBasicBlockTerminator(from);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(last); i++)
        if (i == 0 || LLVMGetSuccessor(last, i) != LLVMGetSuccessor(last, 0))
            ptx_phis_rename(b, LLVMGetSuccessor(last, i), from, rest);
    LLVMSetCurrentDebugLocation2(b, NULL); /* what moves keeps its own */
    ptx_move_rest(b, x, rest);
    LLVMPositionBuilderAtEnd(b, from);
    LLVMSetCurrentDebugLocation2(b, line);
    return rest;
}

/* Parts the block before `x`, which is come to by way of a new one where `bad` holds.  The builder is in that. */
static void branch(struct checks *k, V x, V bad)
{
    V fn = LLVMGetBasicBlockParent(LLVMGetInstructionParent(x));
    BB slow = LLVMAppendBasicBlockInContext(k->c, fn, "look"), rest = ptx_host_part(k->b, x);
    V br = LLVMBuildCondBr(k->b, bad, slow, rest);
    ptx_weights_set(br, 1, 1000);
    LLVMPositionBuilderAtEnd(k->b, slow);
    LLVMPositionBuilderBefore(k->b, LLVMBuildBr(k->b, rest));
}

/* ---- Rows of a block that are tested together */

/* x + constant; `or` of bits that x does not have is a sum, too.  Of a constant the root is zero. */
static V root_of(V v, int64_t *ret_at)
{
    *ret_at = 0;
    if (LLVMIsAConstantInt(v)) {
        *ret_at = LLVMConstIntGetSExtValue(v);
        return LLVMConstNull(LLVMTypeOf(v));
    }
    while (is_addition(v) && LLVMIsAConstantInt(LLVMGetOperand(v, 1))) {
        *ret_at += LLVMConstIntGetSExtValue(LLVMGetOperand(v, 1));
        v = LLVMGetOperand(v, 0);
    }
    return v;
}

static bool is_check(const struct checks *k, V x)
{
    V callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
    return callee && (callee == k->functions[0] || callee == k->functions[1] || callee == k->functions[2]);
}

static bool row_read(struct checks *k, V call)
{
    struct row r = { .call = call, .span = (int64_t)number(LLVMGetOperand(call, SIMT_ROW_SPAN)),
                     .what = (uint32_t)number(LLVMGetOperand(call, SIMT_ROW_WHAT)) };
    root_of(LLVMGetOperand(call, SIMT_ROW_LOW), &r.at);
    return aw_vec_push(&k->rows, r);
}

/* Asked anew each time: a loop's phis are others once its block has been parted. */
static V row_root(const struct row *r)
{
    int64_t at;
    return root_of(LLVMGetOperand(r->call, SIMT_ROW_LOW), &at);
}

/* `at` bytes from the root. */
static V row_place(struct checks *k, const struct row *r, int64_t at)
{
    V root = row_root(r);
    return LLVMBuildAdd(k->b, root, LLVMConstInt(LLVMTypeOf(root), (uint64_t)at, 1), "");
}

/* Is there a value where `first` stands?  `before` has the instructions of its block up to there. */
static bool is_there(V v, V first, struct aw_ptrmap *before)
{
    return !LLVMIsAInstruction(v) || LLVMGetInstructionParent(v) != LLVMGetInstructionParent(first) || aw_ptrmap_find(before, v);
}

static bool joins(struct checks *k, const struct row *a, const struct row *b, int64_t low, int64_t high, struct aw_ptrmap *before)
{
    bool shared = a->what & AW_HOST_ACCESS_SHARED;
    int64_t to = b->at + b->span, span = (to > high ? to : high) - (b->at < low ? b->at : low);
    return !b->done && row_root(b) == row_root(a) && (a->what & AW_HOST_ACCESS_SHARED) == (b->what & AW_HOST_ACCESS_SHARED) &&
           (shared ? span < INT32_MAX / 2 : span <= AW_HOST_ACCESS_SPAN) &&
           is_there(LLVMGetOperand(b->call, SIMT_ROW_LANES), a->call, before) &&
           is_there(LLVMGetOperand(b->call, SIMT_ROW_THREAD), a->call, before) &&
           is_there(LLVMGetOperand(b->call, SIMT_ROW_TOTAL), a->call, before);
}

/* One test for the row and all behind it that it may be made with. */
static void rows_expand(struct checks *k, struct row *first, struct aw_ptrmap *before)
{
    struct row *end = k->rows.at + k->rows.n;
    int64_t low = first->at, high = first->at + first->span;
    uint64_t align = 1, multiple = 64;
    AW_VEC(struct row *) members = { 0 };
    for (struct row *r = first; r < end; r++) {
        if (r != first && !joins(k, first, r, low, high, before))
            continue;
        if (!aw_vec_push(&members, r))
            break;
        low = r->at < low ? r->at : low;
        high = r->at + r->span > high ? r->at + r->span : high;
        align = align_of(r->what) > align ? align_of(r->what) : align;
    }
    for (size_t i = 0; i < members.n; i++) /* where one is aligned, others may be half an element further */
        while (multiple > 1 && (members.at[i]->at - low) % (int64_t)multiple)
            multiple /= 2;
    LLVMPositionBuilderBefore(k->b, first->call);
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(first->call));
    bool sound = first->what & AW_HOST_ACCESS_SHARED && LLVMIsNull(row_root(first)) && low >= 0 &&
                 high <= (int64_t)k->static_shared && !(low % (int64_t)align) &&
                 align <= multiple; /* of the kernel's own variables, at places that are known */
    V from = row_place(k, first, low), bad = NULL;
    for (size_t i = 0; i < members.n && align > multiple; i++) {
        struct row *r = members.at[i];
        bad = either(k, bad, misaligned(k, row_place(k, r, r->at), align_of(r->what)));
    }
    if (!sound)
        bad = either(k, bad,
                     range_test(k, from, LLVMGetOperand(first->call, SIMT_ROW_TOTAL), (uint64_t)(high - low),
                                align > multiple ? 1 : align, first->what));
    if (bad)
        branch(k, first->call, bad);
    for (size_t i = 0; i < members.n; i++) {
        struct row *r = members.at[i];
        LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(r->call));
        if (bad)
            row_tell(k, r->call, row_place(k, r, r->at));
        r->done = true;
    }
    aw_vec_fini(&members);
}

/* The rows noted come to an end: nothing behind is tested with them. */
static bool rows_flush(struct checks *k)
{
    bool ok = true;
    for (size_t i = 0; i < k->rows.n && ok; i++) {
        struct aw_ptrmap before = { 0 };
        V call = k->rows.at[i].call;
        for (V x = LLVMGetPreviousInstruction(call); x && ok && !k->rows.at[i].done; x = LLVMGetPreviousInstruction(x))
            ok = aw_ptrmap_put(&before, x, x);
        if (!k->rows.at[i].done)
            rows_expand(k, &k->rows.at[i], &before);
        aw_ptrmap_fini(&before);
    }
    for (size_t i = 0; i < k->rows.n; i++)
        LLVMInstructionEraseFromParent(k->rows.at[i].call);
    k->rows.n = 0;
    return ok;
}

static void lanes_expand(struct checks *k, V call)
{
    LLVMPositionBuilderBefore(k->b, call);
    LLVMSetCurrentDebugLocation2(k->b, LLVMInstructionGetDebugLoc(call));
    V bad = lanes_test(k, call);
    if (bad) {
        branch(k, call, bad);
        tell(k, call, LLVMGetOperand(call, SIMT_ANY_ADDRESSES), LLVMGetOperand(call, SIMT_ANY_LANES),
             LLVMGetOperand(call, SIMT_ANY_THREAD), LLVMGetOperand(call, SIMT_ANY_WHAT));
    }
    LLVMInstructionEraseFromParent(call);
}

/* May something else see or change what checks look at? */
static bool comes_between(V x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMCall:
        return !LLVMIsAFunction(LLVMGetCalledValue(x)) ||
               (!LLVMGetIntrinsicID(LLVMGetCalledValue(x)) && !simt_is_race_check(LLVMGetCalledValue(x)));
    case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW: return true;
    case LLVMLoad: case LLVMStore: return LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic;
    default: return false;
    }
}

static bool block_expand(struct checks *k, BB bb)
{
    AW_VEC(V) lanes = { 0 };
    bool ok = true;
    for (V x = LLVMGetFirstInstruction(bb), next; x && ok; x = next) {
        next = LLVMGetNextInstruction(x);
        if (!is_check(k, x)) {
            ok = !comes_between(x) || rows_flush(k);
            continue;
        }
        ok = LLVMGetCalledValue(x) == k->functions[2] ? aw_vec_push(&lanes, x) : row_read(k, x);
    }
    ok = ok && rows_flush(k);
    for (size_t i = 0; i < lanes.n && ok; i++)
        lanes_expand(k, lanes.at[i]);
    aw_vec_fini(&lanes);
    return ok;
}

static bool function_expand(struct checks *k, V fn)
{
    AW_VEC(BB) blocks = { 0 };
    bool ok = true;
    k->area = NULL;
    for (BB bb = LLVMGetFirstBasicBlock(fn); bb && ok; bb = LLVMGetNextBasicBlock(bb))
        ok = aw_vec_push(&blocks, bb);
    for (size_t i = 0; i < blocks.n && ok; i++)
        ok = block_expand(k, blocks.at[i]);
    aw_vec_fini(&blocks);
    return ok;
}

bool ptx_host_checks(LLVMModuleRef m, bool shadow, bool init, uint32_t static_shared)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct checks k = { .m = m, .c = c, .b = LLVMCreateBuilderInContext(c), .i1 = LLVMInt1TypeInContext(c),
                        .i8 = LLVMInt8TypeInContext(c),
                        .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c), .ptr = LLVMPointerTypeInContext(c, 0),
                        .shadow = shadow, .init = init, .static_shared = static_shared };
    static const char *const names[] = { SIMT_CHECK_ROW, SIMT_CHECK_SHARED, SIMT_CHECK_LANES };
    bool any = false, ok = true;
    for (int i = 0; i < 3; i++)
        any |= (k.functions[i] = LLVMGetNamedFunction(m, names[i])) != NULL;
    for (V fn = any ? LLVMGetFirstFunction(m) : NULL; fn && ok; fn = LLVMGetNextFunction(fn))
        ok = function_expand(&k, fn);
    for (int i = 0; i < 3 && ok; i++)
        if (k.functions[i])
            LLVMDeleteFunction(k.functions[i]);
    aw_vec_fini(&k.rows);
    LLVMDisposeBuilder(k.b);
    return ok;
}
