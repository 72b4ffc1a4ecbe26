/* The loops around a kernel's vector body, over blocks and warps, and the object table the host device reads.
 *
 *   range(block, first, count, warp0, warps): for each block, for each warp, the body that fits the block's shape; or, where a
 *   warp is
 *     soon done and shares nothing with its block, for each group of neighbouring blocks, for each row, for each block; or, where
 *     warps
 *     march (march.c), for each so many warps, of one block or of such a group: each one's beginning, then each one's next
 *     iteration until
 *     none has one
 *   blocks = range over all warps; warp = range over one warp of the block that is set, or where there are barriers and hence no
 *   blocks, the body alone
 *
 * Not scheduling: that is the host device's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/schedule/schedule.h"
#include <anywarp/hostabi.h>
#include <string.h>

enum {
    BODY_PARAMS = 11, MAX_WARPS = 32,
    GROUP_IN_MARCH = 8, /* neighbouring blocks, at most, whose warps march together, each with its frame */
};

/* In larger ones reading arguments is a small part of a warp's work, and what holds them gets spilled. */
static bool is_small(const struct simt *u)
{
    return simt_instructions(u->kernel) <= (size_t)simt_threshold(u, PTX_THRESHOLD_ARGUMENTS_KERNEL);
}

/* void(block, state, part, lanes, kernarg, ctaid x y z, tid of the first lane x y z); of one that marches i1(..., frame,
 * again) */
LLVMTypeRef simt_body_type(struct simt *u)
{
    LLVMTypeRef t[BODY_PARAMS + 2] = { u->ptr, u->ptr, u->i32, u->i32, u->ptr, u->i32, u->i32,
                                       u->i32, u->i32, u->i32, u->i32, u->ptr, u->i1 };
    return simt_is_marching(u) ? LLVMFunctionType(u->i1, t, BODY_PARAMS + 2, 0) : LLVMFunctionType(u->v_void, t, BODY_PARAMS, 0);
}

/* result(block, state, part, lanes, kernarg, vectors ...) */
LLVMTypeRef simt_device_type(struct simt *u, LLVMValueRef src)
{
    unsigned n = LLVMCountParams(src);
    LLVMTypeRef *t = AW_NEW_ARRAY(&u->arena, LLVMTypeRef, n + 5);
    if (!t)
        return simt_memory(u);
    t[0] = t[1] = t[4] = u->ptr;
    t[2] = t[3] = u->i32;
    for (unsigned i = 1; i < n; i++)
        t[4 + i] = simt_vec_type(u, simt_type(u, LLVMTypeOf(LLVMGetParam(src, i))));
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(src));
    if (LLVMGetTypeKind(result) != LLVMVoidTypeKind)
        result = simt_vec_type(u, simt_type(u, result));
    return LLVMFunctionType(result, t, n + 4, 0);
}

struct entry_range {
    struct simt *u;
    LLVMValueRef fn, block, launch, state, kernarg, grid[2], shape[3], threads, ctaid[3];
    LLVMValueRef x;                /* of the block, or the first of a group, where it is carried in a register; else NULL */
    LLVMValueRef rows, any, fixed; /* bodies; NULL: none */
    bool whole;                    /* which run all warps of a block */
    LLVMValueRef frames, order, turns, waiting; /* of a body that marches: see march.c; how many warps wait for their turns,
                                                 * now */
};

static LLVMValueRef launch_u32(struct entry_range *r, size_t offset)
{
    return simt_field(r->u, r->launch, offset, r->u->i32, true);
}

/* A fact about what a load's pointer points to. */
static void note_pointer(struct simt *u, LLVMValueRef load, const char *what, uint64_t bytes)
{
    LLVMMetadataRef n = LLVMValueAsMetadata(simt_c64(u, (int64_t)bytes));
    ptx_metadata_set(load, what, &n, 1);
}

static void range_entry(struct entry_range *r)
{
    struct simt *u = r->u;
    r->block = LLVMGetParam(r->fn, 0);
    r->state = LLVMBuildAlloca(u->b, u->warp_state, "state");
    /* Before any function has taken its part: the end of the window that aw.is.local knows. */
    LLVMBuildStore(u->b, simt_field(u, r->block, offsetof(struct aw_host_block, local), u->ptr, false), r->state);
    r->launch = simt_field(u, r->block, offsetof(struct aw_host_block, launch), u->ptr, true);
    r->kernarg = simt_field(u, r->launch, offsetof(struct aw_host_launch, kernarg), u->ptr, true);
    /* So that arguments are read once, and not by each warp that gets past a bounds check: where registers are many and the
     * kernel is small. */
    if (u->options->kernarg_size && u->options->small_masks && is_small(u)) {
        note_pointer(u, r->kernarg, "dereferenceable", u->options->kernarg_size);
        note_pointer(u, r->kernarg, "align", 16);
    }
    for (unsigned d = 0; d < 2; d++)
        r->grid[d] = LLVMBuildZExt(u->b, launch_u32(r, offsetof(struct aw_host_launch, grid) + 4 * d), u->i64, "");
    for (unsigned d = 0; d < 3; d++)
        r->shape[d] = u->options->block[1] ? simt_c32(u, u->options->block[d])
                                           : launch_u32(r, offsetof(struct aw_host_launch, block) + 4 * d);
    r->threads = LLVMBuildMul(u->b, LLVMBuildMul(u->b, r->shape[0], r->shape[1], ""), r->shape[2], "");
}

static LLVMValueRef ctaid_at(struct entry_range *r, unsigned d)
{
    return simt_advance(r->u, r->block, (int64_t)(offsetof(struct aw_host_block, ctaid) + 4 * d));
}

/* Sets the block's indices from its linear number. */
static void set_ctaid(struct entry_range *r, LLVMValueRef linear)
{
    struct simt *u = r->u;
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef x = d < 2 ? LLVMBuildURem(u->b, linear, r->grid[d], "") : linear;
        if (d < 2)
            linear = LLVMBuildUDiv(u->b, linear, r->grid[d], "");
        r->ctaid[d] = LLVMBuildTrunc(u->b, x, u->i32, "ctaid");
        LLVMBuildStore(u->b, r->ctaid[d], ctaid_at(r, d));
    }
}

/* Are indices counted from block to block?  Two divisions take as long as a short block.  Not where warps march, as they leave
 * others' indices behind, nor in blocks with barriers, which are long: their loops became slower (products of 16 by 16: 5%). */
static bool counts_ctaid(const struct entry_range *r)
{
    return !simt_is_marching(r->u) && !r->whole;
}

static bool has_loops(struct simt *u)
{
    struct simt_fn f = { .u = u, .form = SIMT_FORM_FIXED, .src = u->kernel };
    bool yes = !simt_cfg_build(&f) || f.n_loops;
    simt_cfg_fini(&f);
    return yes;
}

/* Is the block's x carried in a register?  Through memory it takes a store and a load of it from block to block, one after the
 * other, which is longer than a short block takes; but in blocks that are not short registers are the body's. */
static bool carries_x(const struct entry_range *r)
{
    return counts_ctaid(r) && is_small(r->u) && !has_loops(r->u);
}

/* A round of the loop over blocks begins; `entry` sets out for the first. */
static void ctaid_begin(struct entry_range *r, LLVMBasicBlockRef entry, LLVMValueRef linear)
{
    struct simt *u = r->u;
    LLVMValueRef first = r->ctaid[0];
    if (!counts_ctaid(r)) {
        set_ctaid(r, linear);
        return;
    }
    if (carries_x(r)) {
        r->x = LLVMBuildPhi(u->b, u->i32, "x");
        ptx_phi_add(r->x, first, entry);
    }
    for (unsigned d = 0; d < 3; d++)
        r->ctaid[d] = d == 0 && r->x ? r->x : LLVMBuildLoad2(u->b, u->i32, ctaid_at(r, d), "ctaid");
}

/* From block to block in memory, from dimension `d` on. */
static void ctaid_count(struct entry_range *r, unsigned d)
{
    struct simt *u = r->u;
    LLVMValueRef more = simt_c32(u, 1);
    for (; d < 3; d++) {
        LLVMValueRef next = LLVMBuildAdd(u->b, LLVMBuildLoad2(u->b, u->i32, ctaid_at(r, d), ""), more, "");
        if (d < 2) {
            LLVMValueRef wraps = LLVMBuildICmp(u->b, LLVMIntEQ, next, LLVMBuildTrunc(u->b, r->grid[d], u->i32, ""), "");
            next = LLVMBuildSelect(u->b, wraps, simt_c32(u, 0), next, "");
            more = LLVMBuildZExt(u->b, wraps, u->i32, "");
        }
        LLVMBuildStore(u->b, next, ctaid_at(r, d));
    }
}

/* Another one follows, `blocks` further on, in the same row or at the next one's begin: from the last block's indices to its
 * own. */
static void ctaid_next(struct entry_range *r, LLVMValueRef blocks)
{
    struct simt *u = r->u;
    if (!r->x) {
        ctaid_count(r, counts_ctaid(r) ? 0 : 3);
        return;
    }
    LLVMBasicBlockRef again = LLVMGetInsertBlock(u->b), row = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "row"),
                      on = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "on");
    LLVMValueRef x = LLVMBuildAdd(u->b, r->x, LLVMBuildTrunc(u->b, blocks, u->i32, ""), "");
    LLVMValueRef wraps = LLVMBuildICmp(u->b, LLVMIntEQ, x, LLVMBuildTrunc(u->b, r->grid[0], u->i32, ""), "");
    LLVMBuildCondBr(u->b, wraps, row, on);
    LLVMPositionBuilderAtEnd(u->b, row);
    ctaid_count(r, 1);
    LLVMBuildBr(u->b, on);
    LLVMPositionBuilderAtEnd(u->b, on);
    LLVMValueRef next = LLVMBuildPhi(u->b, u->i32, "x");
    ptx_phi_add(next, x, again);
    ptx_phi_add(next, simt_c32(u, 0), row);
    LLVMBuildStore(u->b, next, ctaid_at(r, 0));
    ptx_phi_add(r->x, next, on);
}

static void call_body(struct entry_range *r, LLVMValueRef body, LLVMValueRef part, LLVMValueRef first, LLVMValueRef lanes)
{
    struct simt *u = r->u;
    LLVMValueRef args[BODY_PARAMS + 2] = { r->block, r->state, part, lanes, r->kernarg, r->ctaid[0], r->ctaid[1], r->ctaid[2] };
    if (r->whole) {
        for (int i = 8; i < BODY_PARAMS; i++)
            args[i] = LLVMGetPoison(u->i32);
        LLVMBuildCall2(u->b, LLVMGlobalGetValueType(body), body, args, BODY_PARAMS, "");
        return;
    }
    LLVMValueRef tid[2][3] = { { first, simt_c32(u, 0), simt_c32(u, 0) } }, n = first;
    /* The first row's warps need no division, and most blocks have one row. */
    LLVMBasicBlockRef from[2] = { LLVMGetInsertBlock(u->b), LLVMAppendBasicBlockInContext(u->ctx, r->fn, "later.rows") },
                      done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "body");
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntULT, first, r->shape[0], ""), done, from[1]);
    LLVMPositionBuilderAtEnd(u->b, from[1]);
    for (int d = 0; d < 3; d++) {
        tid[1][d] = d < 2 ? LLVMBuildURem(u->b, n, r->shape[d], "") : n;
        if (d < 2)
            n = LLVMBuildUDiv(u->b, n, r->shape[d], "");
    }
    LLVMBuildBr(u->b, done);
    LLVMPositionBuilderAtEnd(u->b, done);
    for (int d = 0; d < 3; d++) {
        args[8 + d] = LLVMBuildPhi(u->b, u->i32, "tid");
        LLVMAddIncoming(args[8 + d], (LLVMValueRef[]){ tid[0][d], tid[1][d] }, from, 2);
    }
    if (simt_is_marching(u))
        r->waiting = simt_march_begin(u, body, args, BODY_PARAMS, r->frames, r->waiting);
    else
        LLVMBuildCall2(u->b, LLVMGlobalGetValueType(body), body, args, BODY_PARAMS, "");
}

LLVMValueRef simt_warp_of_part(struct simt *u, LLVMValueRef part)
{
    return u->lanes < SIMT_LANES ? LLVMBuildUDiv(u->b, part, simt_c32(u, SIMT_LANES / u->lanes), "") : part;
}

/* Is it known that blocks have one warp? */
static bool one_warp(const struct simt *u)
{
    const uint32_t *shape = u->options->block;
    return shape[1] && shape[0] * shape[1] * shape[2] <= SIMT_LANES;
}

static void set_warp(struct entry_range *r, LLVMValueRef warp)
{
    LLVMBuildStore(r->u->b, warp, simt_advance(r->u, r->block, (int64_t)offsetof(struct aw_host_block, warp)));
}

/* One warp, or the part of it that a vector holds: its active lanes, then the body for the block's shape.  Of the bodies there is
 * one, or `rows` and `any`. */
static void part_emit(struct entry_range *r, LLVMValueRef part)
{
    struct simt *u = r->u;
    LLVMValueRef rows = r->rows, any = r->any, fixed = r->fixed;
    LLVMBuilderRef b = u->b;
    if (!one_warp(u))
        set_warp(r, simt_warp_of_part(u, part));
    LLVMValueRef first = LLVMBuildMul(b, part, simt_c32(u, u->lanes), "");
    LLVMValueRef left = LLVMBuildSub(b, r->threads, first, "");
    LLVMValueRef bit = LLVMBuildShl(b, simt_c32(u, 1), LLVMBuildAnd(b, left, simt_c32(u, u->lanes - 1), ""), "");
    LLVMValueRef some = LLVMBuildSub(b, bit, simt_c32(u, 1), "");
    LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, left, simt_c32(u, u->lanes), "");
    LLVMValueRef lanes = LLVMBuildSelect(b, full, simt_c32(u, -1), some, "lanes");
    simt_debug_lanes_set(u, r->block, lanes);
    if (!rows || !any) {
        call_body(r, fixed ? fixed : rows ? rows : any, part, first, rows ? simt_c32(u, -1) : lanes);
        return;
    }
    LLVMBasicBlockRef in_rows = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "rows"),
                      in_any = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "any"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "warp.done");
    LLVMValueRef rest = LLVMBuildAnd(b, r->shape[0], simt_c32(u, SIMT_LANES - 1), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, rest, simt_c32(u, 0), ""), in_rows, in_any);
    LLVMPositionBuilderAtEnd(b, in_rows);
    call_body(r, rows, part, first, simt_c32(u, -1));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, in_any);
    call_body(r, any, part, first, lanes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* What one row of such blocks has read, the next one finds in a cache; others are the machine's affair. */
static LLVMValueRef group_most(struct entry_range *r)
{
    struct simt *u = r->u;
    return simt_is_marching(u) ? simt_c64(u, GROUP_IN_MARCH)
                               : LLVMBuildZExt(u->b, launch_u32(r, offsetof(struct aw_host_launch, group)), u->i64, "");
}

/* Consecutive blocks that lie in one row of the grid, at most so many. */
static LLVMValueRef group_size(struct entry_range *r, LLVMValueRef linear, LLVMValueRef end)
{
    struct simt *u = r->u;
    LLVMValueRef left = LLVMBuildSub(u->b, end, linear, ""), n = group_most(r);
    LLVMValueRef in_row = LLVMBuildSub(u->b, r->grid[0], LLVMBuildZExt(u->b, r->ctaid[0], u->i64, ""), "");
    n = LLVMBuildSelect(u->b, LLVMBuildICmp(u->b, LLVMIntULT, left, n, ""), left, n, "");
    return LLVMBuildSelect(u->b, LLVMBuildICmp(u->b, LLVMIntULT, in_row, n, ""), in_row, n, "group");
}

/* Parts that a block of a group does before the next block has its turn: a row, but those that march by themselves. */
static uint32_t parts_in_turn(const struct simt *u)
{
    return simt_takes_block_rows(u) && !simt_is_marching(u) ? simt_row_vectors(u) : 1;
}

/* Parts from `part` on that are one turn, but none from `end` on. */
static void turn_emit(struct entry_range *r, LLVMValueRef part, LLVMValueRef end)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    if (parts_in_turn(u) == 1) {
        part_emit(r, part);
        return;
    }
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), each = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "turn"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "turn.done");
    LLVMValueRef row_end = LLVMBuildAdd(b, part, simt_c32(u, parts_in_turn(u)), "");
    end = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, row_end, end, ""), row_end, end, "");
    LLVMBuildBr(b, each);
    LLVMPositionBuilderAtEnd(b, each);
    LLVMValueRef k = LLVMBuildPhi(b, u->i32, "part");
    part_emit(r, k);
    LLVMValueRef k1 = LLVMBuildAdd(b, k, simt_c32(u, 1), "");
    ptx_phi_add(k, part, from);
    ptx_phi_add(k, k1, LLVMGetInsertBlock(b));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, k1, end, ""), each, done);
    LLVMPositionBuilderAtEnd(b, done);
}

/* A turn of every block of a group, from `part` on: they read and write side by side, as the machine's caches like it. */
static void group_emit(struct entry_range *r, LLVMValueRef part, LLVMValueRef part_end, LLVMValueRef n)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b), each = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "each"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "group.done");
    LLVMValueRef first = r->ctaid[0];
    LLVMBuildBr(b, each);
    LLVMPositionBuilderAtEnd(b, each);
    LLVMValueRef j = LLVMBuildPhi(b, u->i32, "j"), waiting = simt_is_marching(u) ? LLVMBuildPhi(b, u->i32, "waiting") : NULL;
    if (simt_is_marching(u)) {
        ptx_phi_add(waiting, r->waiting, from);
        r->waiting = waiting;
    }
    r->ctaid[0] = LLVMBuildAdd(b, first, j, "ctaid");
    LLVMBuildStore(b, r->ctaid[0], simt_advance(u, r->block, (int64_t)offsetof(struct aw_host_block, ctaid)));
    turn_emit(r, part, part_end);
    LLVMValueRef j1 = LLVMBuildAdd(b, j, simt_c32(u, 1), "");
    ptx_phi_add(j, simt_c32(u, 0), from);
    ptx_phi_add(j, j1, LLVMGetInsertBlock(b));
    if (simt_is_marching(u))
        ptx_phi_add(waiting, r->waiting, LLVMGetInsertBlock(b));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, j1, LLVMBuildTrunc(b, n, u->i32, ""), ""), each, done);
    LLVMPositionBuilderAtEnd(b, done);
    r->ctaid[0] = first;
}

static void march_entry(struct entry_range *r)
{
    struct simt *u = r->u;
    unsigned most = simt_march_most(u) + (simt_takes_block_rows(u) ? GROUP_IN_MARCH - 1 : 0);
    r->frames = LLVMBuildAlloca(u->b, LLVMArrayType2(u->i8, (uint64_t)most * simt_march_stride(u)), "frames");
    LLVMSetAlignment(r->frames, 64);
    r->order = LLVMBuildAlloca(u->b, LLVMArrayType2(u->i32, most), "order");
}

/* When `enough` wait they have their turns, to the end. */
static void march_emit(struct entry_range *r, unsigned enough)
{
    struct simt *u = r->u;
    LLVMBasicBlockRef from = LLVMGetInsertBlock(u->b), go = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "march"),
                      on = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "march.done");
    LLVMBuildCondBr(u->b, LLVMBuildICmp(u->b, LLVMIntUGE, r->waiting, simt_c32(u, enough), ""), go, on);
    LLVMPositionBuilderAtEnd(u->b, go);
    LLVMValueRef args[6] = { r->block, r->state, r->kernarg, r->frames, r->order, r->waiting };
    LLVMBuildCall2(u->b, LLVMGlobalGetValueType(r->turns), r->turns, args, 6, "");
    LLVMBuildBr(u->b, on);
    LLVMPositionBuilderAtEnd(u->b, on);
    LLVMValueRef waiting = LLVMBuildPhi(u->b, u->i32, "waiting");
    ptx_phi_add(waiting, r->waiting, from);
    ptx_phi_add(waiting, simt_c32(u, 0), go);
    r->waiting = waiting;
}

/* After the last block, from `next`, or if there was none, from `entry`: those that still wait. */
static void march_rest(struct entry_range *r, LLVMBasicBlockRef entry, LLVMBasicBlockRef next)
{
    LLVMValueRef left = r->waiting;
    r->waiting = LLVMBuildPhi(r->u->b, r->u->i32, "waiting");
    ptx_phi_add(r->waiting, simt_c32(r->u, 0), entry);
    ptx_phi_add(r->waiting, left, next);
    march_emit(r, 1);
}

/* From warps to the parts that vectors hold; a block's last warp may have fewer. */
static void split_warps(struct entry_range *r, LLVMValueRef *first, LLVMValueRef *end)
{
    struct simt *u = r->u;
    int parts = SIMT_LANES / u->lanes;
    if (parts == 1)
        return;
    LLVMValueRef all = LLVMBuildAdd(u->b, r->threads, simt_c32(u, u->lanes - 1), "");
    all = LLVMBuildUDiv(u->b, all, simt_c32(u, u->lanes), "parts");
    *first = LLVMBuildMul(u->b, *first, simt_c32(u, parts), "");
    *end = LLVMBuildMul(u->b, *end, simt_c32(u, parts), "");
    *end = LLVMBuildSelect(u->b, LLVMBuildICmp(u->b, LLVMIntULT, *end, all, ""), *end, all, "");
}

/* The two loops of a range: over its blocks, and over the warps of each. */
struct range_loops {
    LLVMBasicBlockRef entry, block, warp, next, done;
    LLVMValueRef first, end;       /* blocks */
    LLVMValueRef part0, part_end;  /* warps of each, or parts of them */
    LLVMValueRef linear, waiting;  /* phis: the block, and what waits when it begins */
    LLVMValueRef group;            /* how many blocks are run at once */
};

/* The function, and its blocks without code. */
static void range_create(struct entry_range *r, struct range_loops *n)
{
    struct simt *u = r->u;
    LLVMTypeRef t[5] = { u->ptr, u->i64, u->i64, u->i32, u->i32 };
    r->fn = LLVMAddFunction(u->out, "range", LLVMFunctionType(u->v_void, t, 5, 0));
    LLVMSetLinkage(r->fn, LLVMInternalLinkage);
    n->entry = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "entry");
    n->block = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "block");
    n->warp = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "warp");
    n->next = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "next");
    n->done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "done");
}

/* What is read and reckoned once, before the first block. */
static void range_begin(struct entry_range *r, struct range_loops *n)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMPositionBuilderAtEnd(b, n->entry);
    simt_line_tables_function(u, NULL, r->fn);
    range_entry(r);
    n->first = LLVMGetParam(r->fn, 1);
    n->end = LLVMBuildAdd(b, n->first, LLVMGetParam(r->fn, 2), "end");
    n->part0 = LLVMGetParam(r->fn, 3);
    n->part_end = LLVMBuildAdd(b, n->part0, LLVMGetParam(r->fn, 4), "");
    if (one_warp(u)) {
        set_warp(r, simt_c32(u, 0));
        n->part0 = simt_c32(u, 0);
        n->part_end = simt_c32(u, 1);
    }
    if (!r->whole)
        split_warps(r, &n->part0, &n->part_end);
    if (simt_is_marching(u))
        march_entry(r);
    if (counts_ctaid(r))
        set_ctaid(r, n->first);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, n->first, n->end, ""), n->block, n->done);
}

/* One block, or the `group` of them that go together: all of its warps. */
static void range_block(struct entry_range *r, struct range_loops *n)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMPositionBuilderAtEnd(b, n->block);
    n->linear = LLVMBuildPhi(b, u->i64, "linear");
    n->waiting = LLVMBuildPhi(b, u->i32, "waiting");
    ctaid_begin(r, n->entry, n->linear);
    n->group = simt_takes_block_rows(u) ? group_size(r, n->linear, n->end) : simt_c64(u, 1);
    LLVMBuildBr(b, n->warp);

    LLVMPositionBuilderAtEnd(b, n->warp);
    LLVMValueRef w = LLVMBuildPhi(b, u->i32, "part");
    LLVMValueRef waiting_part = r->waiting = LLVMBuildPhi(b, u->i32, "waiting");
    if (simt_takes_block_rows(u))
        group_emit(r, w, n->part_end, n->group);
    else
        part_emit(r, w);
    if (simt_is_marching(u))
        march_emit(r, simt_march_most(u));
    LLVMValueRef w1 = LLVMBuildAdd(b, w, simt_c32(u, parts_in_turn(u)), "");
    ptx_phi_add(w, n->part0, n->block);
    ptx_phi_add(w, w1, LLVMGetInsertBlock(b));
    ptx_phi_add(waiting_part, n->waiting, n->block);
    ptx_phi_add(waiting_part, r->waiting, LLVMGetInsertBlock(b));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, w1, n->part_end, ""), n->warp, n->next);
}

static void range_next(struct entry_range *r, struct range_loops *n)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMPositionBuilderAtEnd(b, n->next);
    LLVMValueRef linear1 = LLVMBuildAdd(b, n->linear, n->group, "");
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, linear1, n->end, "");
    LLVMBasicBlockRef again = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "again");
    LLVMBuildCondBr(b, more, again, n->done);
    LLVMPositionBuilderAtEnd(b, again);
    ctaid_next(r, n->group);
    ptx_phi_add(n->linear, n->first, n->entry);
    ptx_phi_add(n->linear, linear1, LLVMGetInsertBlock(b));
    ptx_phi_add(n->waiting, simt_c32(u, 0), n->entry);
    ptx_phi_add(n->waiting, r->waiting, LLVMGetInsertBlock(b));
    LLVMBuildBr(b, n->block);
}

/* void(block, i64 first, i64 count, i32 warp0, i32 warps) */
static LLVMValueRef range_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed, bool whole)
{
    struct entry_range r = { .u = u, .rows = rows, .any = any, .fixed = fixed, .whole = whole };
    struct range_loops n;
    if (simt_is_marching(u))
        r.turns = simt_march_turns(u, fixed ? fixed : rows ? rows : any);
    range_create(&r, &n);
    range_begin(&r, &n);
    range_block(&r, &n);
    range_next(&r, &n);
    LLVMPositionBuilderAtEnd(u->b, n.done);
    if (simt_is_marching(u))
        march_rest(&r, n.entry, n.next);
    LLVMBuildRetVoid(u->b);
    return r.fn;
}

static LLVMValueRef blocks_emit(struct simt *u, LLVMValueRef range, bool whole)
{
    const uint32_t *block = u->options->block;
    uint32_t threads = block[0] * block[1] * block[2];
    LLVMTypeRef t[3] = { u->ptr, u->i64, u->i64 };
    LLVMValueRef fn = LLVMAddFunction(u->out, "blocks", LLVMFunctionType(u->v_void, t, 3, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(u->b, LLVMAppendBasicBlockInContext(u->ctx, fn, "entry"));
    simt_line_tables_function(u, NULL, fn);
    LLVMValueRef launch = simt_field(u, LLVMGetParam(fn, 0), offsetof(struct aw_host_block, launch), u->ptr, true);
    LLVMValueRef warps = threads ? simt_c32(u, (threads + SIMT_LANES - 1) / SIMT_LANES)
                                 : simt_field(u, launch, offsetof(struct aw_host_launch, warps), u->i32, true);
    LLVMValueRef args[5] = { LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2), simt_c32(u, 0),
                             whole ? simt_c32(u, 1) : warps };
    LLVMBuildCall2(u->b, LLVMGlobalGetValueType(range), range, args, 5, "");
    LLVMBuildRetVoid(u->b);
    return fn;
}

static LLVMValueRef warp_entry_emit(struct simt *u, LLVMValueRef range)
{
    LLVMTypeRef t[2] = { u->ptr, u->i32 };
    LLVMValueRef fn = LLVMAddFunction(u->out, "warp", LLVMFunctionType(u->v_void, t, 2, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(u->b, LLVMAppendBasicBlockInContext(u->ctx, fn, "entry"));
    simt_line_tables_function(u, NULL, fn);
    LLVMValueRef block = LLVMGetParam(fn, 0), linear = NULL;
    LLVMValueRef launch = simt_field(u, block, offsetof(struct aw_host_block, launch), u->ptr, true);
    for (int d = 2; d >= 0; d--) {
        size_t at = 4 * (size_t)d;
        LLVMValueRef id = simt_field(u, block, offsetof(struct aw_host_block, ctaid) + at, u->i32, false);
        LLVMValueRef size = simt_field(u, launch, offsetof(struct aw_host_launch, grid) + at, u->i32, true);
        id = LLVMBuildZExt(u->b, id, u->i64, "");
        size = LLVMBuildZExt(u->b, size, u->i64, "");
        linear = linear ? LLVMBuildAdd(u->b, LLVMBuildMul(u->b, linear, size, ""), id, "") : id;
    }
    LLVMValueRef args[5] = { block, linear, simt_c64(u, 1), LLVMGetParam(fn, 1), simt_c32(u, 1) };
    LLVMBuildCall2(u->b, LLVMGlobalGetValueType(range), range, args, 5, "");
    LLVMBuildRetVoid(u->b);
    return fn;
}

/* Without range's loops and the block's linear number: each warp of a kernel with barriers is entered here. */
static LLVMValueRef warp_alone_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed)
{
    LLVMTypeRef t[2] = { u->ptr, u->i32 };
    struct entry_range r = { .u = u, .rows = rows, .any = any, .fixed = fixed };
    r.fn = LLVMAddFunction(u->out, "warp", LLVMFunctionType(u->v_void, t, 2, 0));
    LLVMSetLinkage(r.fn, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(u->b, LLVMAppendBasicBlockInContext(u->ctx, r.fn, "entry"));
    simt_line_tables_function(u, NULL, r.fn);
    range_entry(&r);
    for (size_t d = 0; d < 3; d++)
        r.ctaid[d] = simt_field(u, r.block, offsetof(struct aw_host_block, ctaid) + 4 * d, u->i32, false);
    part_emit(&r, LLVMGetParam(r.fn, 1)); /* all of the warp: parts do without barriers */
    LLVMBuildRetVoid(u->b);
    return r.fn;
}

/* Are there atomics left?  Those on a block's own memory have become plain operations. */
static bool has_atomics(LLVMModuleRef m)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i))
                    return true;
    return false;
}

static bool grid_meets(const struct simt *u)
{
    LLVMValueRef kernel = LLVMGetNamedFunction(u->in, u->options->kernel);
    return kernel && LLVMGetStringAttributeAtIndex(kernel, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, SIMT_GRID_MEETS,
                                                   sizeof SIMT_GRID_MEETS - 1);
}

static void object_emit(struct simt *u, LLVMValueRef blocks, LLVMValueRef warp, bool whole)
{
    const struct simt_options *o = u->options;
    uint32_t flags = (u->stats.barrier ? AW_HOST_BARRIER : 0) | (u->stats.yield ? AW_HOST_YIELD : 0) |
                     (has_atomics(u->out) ? AW_HOST_ATOMIC : 0) | (grid_meets(u) ? AW_HOST_MEET : 0);
    simt_object_emit(u->out, &(struct simt_object){ o->kernel, flags, o->static_shared, o->kernarg_size, whole ? MAX_WARPS : 1,
                                                    o->launched, o->local_bytes, u->stats.barrier ? NULL : blocks, warp });
}

/* Are the lanes side by side in memory, or all in one place? */
static bool side_by_side(struct simt_fn *f, LLVMValueRef p, LLVMTypeRef type)
{
    const int64_t *off = simt_offsets(f, p);
    int64_t size = (int64_t)LLVMABISizeOfType(f->u->in_layout, type);
    for (int i = 0; off && i < f->u->lanes; i++)
        if (off[i] != i * size)
            return false;
    return !simt_varying(f, p);
}

/* False: neighbouring blocks' warps may not run in turn.  Counts accesses whose lanes are side by side in *rows, those that are
 * here and there in
 * *others. */
static bool suits_groups(struct simt_fn *f, LLVMValueRef x, int *rows, int *others)
{
    LLVMValueRef p = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : NULL;
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW:
        return false;
    case LLVMLoad:
        *rows += !simt_uniform(f, p) && side_by_side(f, p, LLVMTypeOf(x));
        *others += !side_by_side(f, p, LLVMTypeOf(x));
        return !LLVMGetVolatile(x) && LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
    case LLVMStore:
        ++*rows;
        return side_by_side(f, LLVMGetOperand(x, 1), LLVMTypeOf(LLVMGetOperand(x, 0)));
    case LLVMCall:
        return !simt_is_barrier(f->u, x);
    default:
        return true;
    }
}

bool simt_rows_are_warps(const struct simt *u)
{
    const uint32_t *shape = u->options->block;
    return shape[0] == SIMT_LANES && shape[1] * shape[2] > 1;
}

/* May the warps of neighbouring blocks run in turn, row by row, and does it pay?  Not where warps share memory of their block,
 * wait or call; nor in loops, whose warps reuse what the ones before have fetched; nor where a block is one row itself; nor where
 * most of what is read lies here and there, beyond neighbours across an edge, as on a torus. */
bool simt_block_rows(struct simt *u)
{
    struct simt_fn f = { .u = u, .form = SIMT_FORM_FIXED, .src = u->kernel };
    const uint32_t *shape = u->options->block;
    int rows = 0, others = 0;
    bool yes = shape[0] && shape[0] % SIMT_LANES == 0 && shape[1] * shape[2] > 1 && !u->options->static_shared &&
               !u->functions.n && !u->singles.n;
    for (LLVMValueRef g = LLVMGetFirstGlobal(u->in); g && yes; g = LLVMGetNextGlobal(g))
        yes = !simt_is_shared_ptr(LLVMTypeOf(g));
    if (!yes)
        return false;
    yes = simt_cfg_build(&f) && !f.n_loops && simt_shape_analyse(&f);
    for (int i = 0; i < f.n_blocks && yes; i++)
        for (LLVMValueRef x = LLVMGetFirstInstruction(f.blocks[i].bb); x && yes; x = LLVMGetNextInstruction(x))
            yes = suits_groups(&f, x, &rows, &others);
    aw_ptrmap_fini(&f.vals);
    simt_cfg_fini(&f);
    return yes && others <= rows;
}

bool simt_entries_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed, bool whole)
{
    if (u->stats.barrier) {
        object_emit(u, NULL, warp_alone_emit(u, rows, any, fixed), false);
    } else {
        LLVMValueRef range = range_emit(u, rows, any, fixed, whole);
        object_emit(u, blocks_emit(u, range, whole), warp_entry_emit(u, range), whole);
    }
    return !u->status;
}
