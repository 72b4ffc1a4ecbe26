/* The loops around a kernel's vector body, over blocks and warps, and the object table the host device reads.
 *
 *   range(block, first, count, warp0, warps): for each block, for each warp, the body that fits the block's shape
 *   blocks = range over all warps; warp = range over one warp of the block that is set
 *
 * Not scheduling: that is the host device's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"
#include <anywarp/hostabi.h>
#include <string.h>

enum { BODY_PARAMS = 11 };

/* void(block, state, warp, lanes, kernarg, ctaid x y z, tid of the first lane x y z) */
LLVMTypeRef simt_body_type(struct simt *u)
{
    LLVMTypeRef t[BODY_PARAMS] = { u->ptr, u->ptr, u->i32, u->i32, u->ptr, u->i32, u->i32, u->i32, u->i32, u->i32, u->i32 };
    return LLVMFunctionType(u->v_void, t, BODY_PARAMS, 0);
}

/* result(block, state, warp, lanes, kernarg, vectors ...) */
LLVMTypeRef simt_device_type(struct simt *u, LLVMValueRef src)
{
    unsigned n = LLVMCountParams(src);
    LLVMTypeRef *t = AW_NEW_ARRAY(&u->arena, LLVMTypeRef, n + 5);
    if (!t)
        return simt_memory(u);
    t[0] = t[1] = t[4] = u->ptr;
    t[2] = t[3] = u->i32;
    for (unsigned i = 1; i < n; i++)
        t[4 + i] = simt_vec_type(simt_type(u, LLVMTypeOf(LLVMGetParam(src, i))));
    LLVMTypeRef result = LLVMGetReturnType(LLVMGlobalGetValueType(src));
    if (LLVMGetTypeKind(result) != LLVMVoidTypeKind)
        result = simt_vec_type(simt_type(u, result));
    return LLVMFunctionType(result, t, n + 4, 0);
}

struct range {
    struct simt *u;
    LLVMValueRef fn, block, launch, state, kernarg, grid[2], shape[3], threads, ctaid[3];
};

static LLVMValueRef launch_u32(struct range *r, size_t offset)
{
    return simt_field(r->u, r->launch, offset, r->u->i32, true);
}

static void range_entry(struct range *r)
{
    struct simt *u = r->u;
    r->block = LLVMGetParam(r->fn, 0);
    r->state = LLVMBuildAlloca(u->b, u->warp_state, "state");
    /* Local memory is below this frame's variables: their address is the top of the window that aw.is.local knows. */
    LLVMBuildStore(u->b, r->state, r->state);
    r->launch = simt_field(u, r->block, offsetof(struct aw_host_block, launch), u->ptr, true);
    r->kernarg = simt_field(u, r->launch, offsetof(struct aw_host_launch, kernarg), u->ptr, true);
    for (unsigned d = 0; d < 2; d++)
        r->grid[d] = LLVMBuildZExt(u->b, launch_u32(r, offsetof(struct aw_host_launch, grid) + 4 * d), u->i64, "");
    for (unsigned d = 0; d < 3; d++)
        r->shape[d] = u->options->block[0] ? simt_c32(u, u->options->block[d])
                                           : launch_u32(r, offsetof(struct aw_host_launch, block) + 4 * d);
    r->threads = LLVMBuildMul(u->b, LLVMBuildMul(u->b, r->shape[0], r->shape[1], ""), r->shape[2], "");
}

/* Sets the block's indices from its linear number. */
static void set_ctaid(struct range *r, LLVMValueRef linear)
{
    struct simt *u = r->u;
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef x = d < 2 ? LLVMBuildURem(u->b, linear, r->grid[d], "") : linear;
        if (d < 2)
            linear = LLVMBuildUDiv(u->b, linear, r->grid[d], "");
        r->ctaid[d] = LLVMBuildTrunc(u->b, x, u->i32, "ctaid");
        LLVMBuildStore(u->b, r->ctaid[d], simt_advance(u, r->block, (int64_t)(offsetof(struct aw_host_block, ctaid) + 4 * d)));
    }
}

static void call_body(struct range *r, LLVMValueRef body, LLVMValueRef warp, LLVMValueRef first, LLVMValueRef lanes)
{
    struct simt *u = r->u;
    LLVMValueRef args[BODY_PARAMS] = { r->block, r->state, warp, lanes, r->kernarg, r->ctaid[0], r->ctaid[1], r->ctaid[2] };
    LLVMValueRef n = first;
    for (int d = 0; d < 3; d++) {
        args[8 + d] = d < 2 ? LLVMBuildURem(u->b, n, r->shape[d], "") : n;
        if (d < 2)
            n = LLVMBuildUDiv(u->b, n, r->shape[d], "");
    }
    LLVMBuildCall2(u->b, LLVMGlobalGetValueType(body), body, args, BODY_PARAMS, "");
}

/* One warp: its active lanes, then the body for the block's shape. */
static void warp_emit(struct range *r, LLVMValueRef warp, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed)
{
    struct simt *u = r->u;
    LLVMBuilderRef b = u->b;
    LLVMBuildStore(b, warp, simt_advance(u, r->block, (int64_t)offsetof(struct aw_host_block, warp)));
    LLVMValueRef first = LLVMBuildMul(b, warp, simt_c32(u, SIMT_LANES), "");
    LLVMValueRef left = LLVMBuildSub(b, r->threads, first, "");
    LLVMValueRef bit = LLVMBuildShl(b, simt_c32(u, 1), LLVMBuildAnd(b, left, simt_c32(u, 31), ""), "");
    LLVMValueRef some = LLVMBuildSub(b, bit, simt_c32(u, 1), "");
    LLVMValueRef full = LLVMBuildICmp(b, LLVMIntUGE, left, simt_c32(u, SIMT_LANES), "");
    LLVMValueRef lanes = LLVMBuildSelect(b, full, simt_c32(u, -1), some, "lanes");
    if (fixed || !rows) {
        call_body(r, fixed ? fixed : any, warp, first, lanes);
        return;
    }
    LLVMBasicBlockRef in_rows = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "rows"),
                      in_any = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "any"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, r->fn, "warp.done");
    LLVMValueRef rest = LLVMBuildAnd(b, r->shape[0], simt_c32(u, SIMT_LANES - 1), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, rest, simt_c32(u, 0), ""), in_rows, in_any);
    LLVMPositionBuilderAtEnd(b, in_rows);
    call_body(r, rows, warp, first, simt_c32(u, -1));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, in_any);
    call_body(r, any, warp, first, lanes);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
}

static void add_edge(LLVMValueRef phi, LLVMValueRef v, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &v, &from, 1);
}

/* void(block, i64 first, i64 count, i32 warp0, i32 warps) */
static LLVMValueRef range_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed)
{
    LLVMBuilderRef b = u->b;
    LLVMTypeRef t[5] = { u->ptr, u->i64, u->i64, u->i32, u->i32 };
    struct range r = { .u = u };
    r.fn = LLVMAddFunction(u->out, "range", LLVMFunctionType(u->v_void, t, 5, 0));
    LLVMSetLinkage(r.fn, LLVMInternalLinkage);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(u->ctx, r.fn, "entry"),
                      block = LLVMAppendBasicBlockInContext(u->ctx, r.fn, "block"),
                      warp = LLVMAppendBasicBlockInContext(u->ctx, r.fn, "warp"),
                      next = LLVMAppendBasicBlockInContext(u->ctx, r.fn, "next"),
                      done = LLVMAppendBasicBlockInContext(u->ctx, r.fn, "done");
    LLVMPositionBuilderAtEnd(b, entry);
    range_entry(&r);
    LLVMValueRef first = LLVMGetParam(r.fn, 1), end = LLVMBuildAdd(b, first, LLVMGetParam(r.fn, 2), "end");
    LLVMValueRef warp0 = LLVMGetParam(r.fn, 3), warp_end = LLVMBuildAdd(b, warp0, LLVMGetParam(r.fn, 4), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, first, end, ""), block, done);

    LLVMPositionBuilderAtEnd(b, block);
    LLVMValueRef linear = LLVMBuildPhi(b, u->i64, "linear");
    set_ctaid(&r, linear);
    LLVMBuildBr(b, warp);

    LLVMPositionBuilderAtEnd(b, warp);
    LLVMValueRef w = LLVMBuildPhi(b, u->i32, "w");
    warp_emit(&r, w, rows, any, fixed);
    LLVMValueRef w1 = LLVMBuildAdd(b, w, simt_c32(u, 1), "");
    add_edge(w, warp0, block);
    add_edge(w, w1, LLVMGetInsertBlock(b));
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, w1, warp_end, ""), warp, next);

    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef linear1 = LLVMBuildAdd(b, linear, simt_c64(u, 1), "");
    add_edge(linear, first, entry);
    add_edge(linear, linear1, next);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, linear1, end, ""), block, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
    return r.fn;
}

static LLVMValueRef blocks_emit(struct simt *u, LLVMValueRef range)
{
    LLVMTypeRef t[3] = { u->ptr, u->i64, u->i64 };
    LLVMValueRef fn = LLVMAddFunction(u->out, "blocks", LLVMFunctionType(u->v_void, t, 3, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(u->b, LLVMAppendBasicBlockInContext(u->ctx, fn, "entry"));
    LLVMValueRef launch = simt_field(u, LLVMGetParam(fn, 0), offsetof(struct aw_host_block, launch), u->ptr, true);
    LLVMValueRef warps = simt_field(u, launch, offsetof(struct aw_host_launch, warps), u->i32, true);
    LLVMValueRef args[5] = { LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2), simt_c32(u, 0), warps };
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

static void object_emit(struct simt *u, LLVMValueRef blocks, LLVMValueRef warp)
{
    const struct simt_options *o = u->options;
    LLVMValueRef name = LLVMConstStringInContext2(u->ctx, o->kernel, strlen(o->kernel), 0);
    LLVMValueRef name_var = LLVMAddGlobal(u->out, LLVMTypeOf(name), "name");
    LLVMSetInitializer(name_var, name);
    LLVMSetGlobalConstant(name_var, 1);
    LLVMSetLinkage(name_var, LLVMInternalLinkage);
    LLVMValueRef shape[3] = { simt_c32(u, o->block[0]), simt_c32(u, o->block[1]), simt_c32(u, o->block[2]) };
    int flags = (u->stats.barrier ? AW_HOST_BARRIER : 0) | (u->stats.yield ? AW_HOST_YIELD : 0);
    /* struct aw_host_object, field by field */
    LLVMValueRef field[] = {
        simt_c32(u, AW_HOST_ABI), simt_c32(u, flags), simt_c32(u, o->static_shared),
        simt_c32(u, 0), simt_c32(u, o->kernarg_size), simt_c32(u, 1), LLVMConstArray2(u->i32, shape, 3),
        simt_c32(u, o->local_bytes), u->stats.barrier ? LLVMConstNull(u->ptr) : blocks, warp, name_var,
    };
    LLVMValueRef init = LLVMConstStructInContext(u->ctx, field, sizeof field / sizeof *field, 0);
    LLVMValueRef object = LLVMAddGlobal(u->out, LLVMTypeOf(init), AW_HOST_OBJECT_SYMBOL);
    LLVMSetInitializer(object, init);
    LLVMSetGlobalConstant(object, 1);
    LLVMSetAlignment(object, 16);
}

bool simt_entries_emit(struct simt *u, LLVMValueRef rows, LLVMValueRef any, LLVMValueRef fixed)
{
    LLVMValueRef range = range_emit(u, rows, any, fixed);
    object_emit(u, u->stats.barrier ? NULL : blocks_emit(u, range), warp_entry_emit(u, range));
    return !u->status;
}
