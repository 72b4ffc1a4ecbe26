/* Calls: LLVM's intrinsics, the runtime's services, device functions.
 *
 * A device function is called once for the warp, with the mask of the lanes that call; the call is never reached with an
 * empty mask, so recursion ends when the last lane's does.  Services are called for each active lane in order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <anywarp/hostabi.h>
#include <stdlib.h>
#include <string.h>

void simt_set_scalar(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef s)
{
    struct simt_val *r = simt_get(f, inst);
    if (r->kind == SIMT_VARYING) {
        r->v = simt_splat(f->u, s);
    } else {
        r->kind = SIMT_AFFINE;
        r->s = s;
    }
}

void simt_set_vector(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef v)
{
    struct simt_val *r = simt_get(f, inst);
    if (r->kind == SIMT_VARYING)
        r->v = v;
    else
        simt_fail(f->u, "internal: a vector for a uniform value");
}

void simt_set_field(struct simt_fn *f, LLVMValueRef inst, unsigned at, LLVMValueRef s, LLVMValueRef v)
{
    struct simt_val *r = simt_get(f, inst);
    if (!r->fields)
        r->fields = AW_NEW_ARRAY(&f->u->arena, struct simt_field, LLVMCountStructElementTypes(LLVMTypeOf(inst)));
    if (!r->fields)
        simt_memory(f->u);
    else
        r->fields[at] = (struct simt_field){ s, v };
}

/* ---- Intrinsics */

static void trap_emit(struct simt_fn *f, LLVMValueRef status);

static void intrinsic_emit(struct simt_fn *f, LLVMValueRef inst, const char *name)
{
    struct simt *u = f->u;
    enum ptx_intrinsic id = ptx_intrinsic_called(inst);
    const struct ptx_intrinsic_info *info = id == PTX_INTRINSIC_NONE ? NULL : ptx_intrinsic_info(id);
    if (info && info->traits & PTX_INTRINSIC_HINT)
        return;
    if (id == PTX_INTRINSIC_TRAP) {
        trap_emit(f, simt_c32(u, AW_ERR_LAUNCH_FAILED));
        return;
    }
    unsigned n = LLVMGetNumArgOperands(inst);
    bool vec = simt_varying(f, inst);
    LLVMTypeRef result = LLVMTypeOf(inst), types[2];
    unsigned n_types = 0;
    if (!info || !info->types || n > 4) {
        simt_fail(u, "the host target does not know the operation %s", name);
        return;
    }
    for (const char *t = info->types; *t; t++) {
        LLVMTypeRef type = simt_type(u, *t == 'r' ? result : LLVMTypeOf(LLVMGetOperand(inst, 0)));
        types[n_types++] = vec ? simt_vec_type(u, type) : type;
    }
    LLVMValueRef args[4];
    for (unsigned i = 0; i < n; i++) {
        LLVMValueRef a = LLVMGetOperand(inst, i);
        bool immediate = i > 0 && LLVMIsAConstantInt(a) && i == n - 1 && info->traits & PTX_INTRINSIC_IMMEDIATE;
        args[i] = immediate || !vec ? simt_scalar(f, a) : simt_vector(f, a);
    }
    LLVMValueRef r = simt_intrinsic(u, info->name, types, n_types, args, n);
    if (LLVMGetTypeKind(result) == LLVMStructTypeKind) {
        for (unsigned i = 0; i < LLVMCountStructElementTypes(result); i++) {
            LLVMValueRef part = LLVMBuildExtractValue(u->b, r, i, "");
            simt_set_field(f, inst, i, vec ? NULL : part, vec ? part : NULL);
        }
    } else if (vec) {
        simt_set_vector(f, inst, r);
    } else {
        simt_set_scalar(f, inst, r);
    }
}

/* ---- Services */

LLVMValueRef simt_service(struct simt_fn *f, size_t offset, LLVMTypeRef result, LLVMValueRef *args, unsigned n)
{
    struct simt *u = f->u;
    LLVMTypeRef types[8];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMValueRef table = simt_field(u, f->launch, offsetof(struct aw_host_launch, services), u->ptr, true);
    LLVMValueRef fn = simt_field(u, table, offset, u->ptr, true);
    return LLVMBuildCall2(u->b, LLVMFunctionType(result, types, n, 0), fn, args, n, "");
}
#define SERVICE(f, member, result, args, n) simt_service((f), offsetof(struct aw_host_services, member), (result), (args), (n))

static LLVMValueRef text(struct simt *u, const char *s)
{
    LLVMValueRef c = LLVMConstStringInContext2(u->ctx, s, strlen(s), 0);
    LLVMValueRef g = LLVMAddGlobal(u->out, LLVMTypeOf(c), "text");
    LLVMSetInitializer(g, c);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return g;
}

void simt_order_emit(struct simt_fn *f, uint32_t what)
{
    LLVMValueRef args[3] = { f->block, simt_c32(f->u, what), f->warp };
    ptx_never_merge(SERVICE(f, check_order, f->u->v_void, args, 3));
}

void simt_yield_emit(struct simt_fn *f)
{
    f->u->stats.yield = true;
    SERVICE(f, yield, f->u->v_void, &f->block, 1);
}

static void trap_emit(struct simt_fn *f, LLVMValueRef status)
{
    LLVMValueRef args[3] = { f->block, status, text(f->u, "trap") };
    SERVICE(f, trap, f->u->v_void, args, 3);
}

/* An operand as the first active lane has it. */
static LLVMValueRef first_value(struct simt_fn *f, LLVMValueRef v)
{
    if (simt_uniform(f, v))
        return simt_scalar(f, v);
    return LLVMBuildExtractElement(f->u->b, simt_vector(f, v), simt_first_lane(f->u, f->mask, false), "");
}

/* Each lane's assertion is told; the last one's call does not return. */
static void assert_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    struct simt_lanes it;
    LLVMValueRef args[7] = { f->block };
    for (unsigned i = 0; i < 4; i++)
        if (!simt_uniform(f, LLVMGetOperand(inst, i)))
            simt_spill(f, (int)i, simt_vector(f, LLVMGetOperand(inst, i)));
    simt_lanes_begin(f, f->mask, &it);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef v = LLVMGetOperand(inst, i);
        args[1 + i] = simt_uniform(f, v) ? simt_scalar(f, v) : simt_lane_get(f, (int)i, simt_type(u, LLVMTypeOf(v)), it.lane);
    }
    args[5] = LLVMBuildAdd(u->b, LLVMBuildMul(u->b, f->part, simt_c32(u, u->lanes), ""),
                           LLVMBuildTrunc(u->b, it.lane, u->i32, ""), "");
    args[6] = LLVMBuildAnd(u->b, it.left, LLVMBuildSub(u->b, it.left, simt_c32(u, 1), ""), "");
    SERVICE(f, assert_fail, u->v_void, args, 7);
    simt_lanes_end(f, &it);
}

/* printf, malloc, free, compressed blocks: for each active lane. */
static void per_lane_emit(struct simt_fn *f, LLVMValueRef inst, size_t offset)
{
    struct simt *u = f->u;
    unsigned n = LLVMGetNumArgOperands(inst);
    LLVMTypeRef result = simt_type(u, LLVMTypeOf(inst));
    struct simt_lanes it;
    for (unsigned i = 0; i < n; i++)
        simt_spill(f, (int)i, simt_vector(f, LLVMGetOperand(inst, i)));
    simt_lanes_begin(f, f->mask, &it);
    LLVMValueRef args[4] = { f->block };
    for (unsigned i = 0; i < n; i++)
        args[i + 1] = simt_lane_get(f, (int)i, simt_type(u, LLVMTypeOf(LLVMGetOperand(inst, i))), it.lane);
    LLVMValueRef r = simt_service(f, offset, result, args, n + 1);
    if (result != u->v_void)
        simt_lane_put(f, 3, r, it.lane);
    simt_lanes_end(f, &it);
    if (result != u->v_void)
        simt_set_vector(f, inst, simt_reload(f, 3, simt_vec_type(u, result)));
}

static void barrier_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    LLVMValueRef which = LLVMGetOperand(inst, 0), threads = LLVMGetOperand(inst, 1);
    LLVMValueRef args[6] = { f->block, first_value(f, which), first_value(f, threads) };
    bool meets = id != PTX_SIMT_BARRIER_ARRIVE && !u->options->dispatched && !u->options->races &&
                 simt_meet_fits(f, which, threads) && (id == PTX_SIMT_BARRIER || LLVMIsAConstantInt(LLVMGetOperand(inst, 2)));
    u->stats.barrier |= !meets;
    if (id == PTX_SIMT_BARRIER_REDUCE) {
        LLVMValueRef p = LLVMBuildFreeze(u->b, simt_vector(f, LLVMGetOperand(inst, 3)), "");
        args[3] = first_value(f, LLVMGetOperand(inst, 2));
        args[4] = simt_bits(u, f->mask);
        args[5] = simt_bits(u, simt_mask_and(u, f->mask, p));
        simt_set_scalar(f, inst, meets ? simt_meet_emit(u, args + 1, 5) : SERVICE(f, barrier_reduce, u->i32, args, 6));
    } else if (meets) {
        simt_meet_emit(u, args + 1, 2);
    } else if (id == PTX_SIMT_BARRIER) {
        SERVICE(f, barrier, u->v_void, args, 3);
    } else {
        SERVICE(f, barrier_arrive, u->v_void, args, 3);
    }
}

/* Tells the host device which lanes are here. */
static void check_sync_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    LLVMValueRef lanes = simt_bits(u, f->mask), what = simt_c32(u, AW_HOST_SYNC_END), threads = simt_c32(u, 0),
                 first = LLVMGetOperand(inst, 0);
    LLVMValueRef masks = LLVMConstNull(u->ptr);
    if (id == PTX_SIMT_CHECK_END) {
        lanes = simt_bits(u, simt_mask_and(u, f->mask, LLVMBuildFreeze(u->b, simt_vector(f, first), "")));
        threads = simt_scalar(f, LLVMGetOperand(inst, 1));
    } else {
        what = simt_scalar(f, first);
        threads = first_value(f, LLVMGetOperand(inst, 2));
        masks = simt_scratch(f, 0);
        simt_spill(f, 0, simt_vector(f, LLVMGetOperand(inst, 1)));
    }
    LLVMValueRef args[6] = { f->block, what, f->part, lanes, masks, threads };
    ptx_never_merge(SERVICE(f, check_sync, u->v_void, args, 6));
}

/* ---- What a lane asks about itself */

static LLVMValueRef launch_field(struct simt_fn *f, size_t offset, LLVMTypeRef type)
{
    return simt_field(f->u, f->launch, offset, type, true);
}

static void tid_emit(struct simt_fn *f, LLVMValueRef inst, int d)
{
    struct simt_val *r = simt_get(f, inst);
    if (f->tid[d].affine)
        r->s = f->tid_base[d];
    else
        r->v = f->tid_vec[d];
    if (!r->s && !r->v)
        simt_fail(f->u, "internal: no thread index");
}

static LLVMValueRef shape_field(struct simt_fn *f, enum ptx_simt id)
{
    struct simt *u = f->u;
    if (id >= PTX_SIMT_NTID_X && id <= PTX_SIMT_NTID_Z) {
        unsigned d = id - PTX_SIMT_NTID_X;
        if (u->options->block[1])
            return simt_c32(u, u->options->block[d]);
        return launch_field(f, offsetof(struct aw_host_launch, block) + 4 * d, u->i32);
    }
    if (id >= PTX_SIMT_NCTAID_X && id <= PTX_SIMT_NCTAID_Z)
        return launch_field(f, offsetof(struct aw_host_launch, grid) + 4 * (id - PTX_SIMT_NCTAID_X), u->i32);
    if (id >= PTX_SIMT_CTAID_X && id <= PTX_SIMT_CTAID_Z)
        return f->ctaid[id - PTX_SIMT_CTAID_X];
    switch (id) {
    case PTX_SIMT_LANEID: /* the first lane's */
        return LLVMBuildMul(u->b, LLVMBuildAnd(u->b, f->part, simt_c32(u, SIMT_LANES / u->lanes - 1), ""), simt_c32(u, u->lanes),
                            "");
    case PTX_SIMT_WARPID: return f->warp;
    case PTX_SIMT_NWARPID: return launch_field(f, offsetof(struct aw_host_launch, warps), u->i32);
    case PTX_SIMT_SMID: return simt_field(u, f->block, offsetof(struct aw_host_block, worker), u->i32, false);
    case PTX_SIMT_NSMID: return simt_c32(u, 1024); /* an upper bound, as PTX allows gaps in %smid */
    case PTX_SIMT_GRIDID: return launch_field(f, offsetof(struct aw_host_launch, grid_id), u->i64);
    case PTX_SIMT_GRID_WORKSPACE: return launch_field(f, offsetof(struct aw_host_launch, grid_workspace), u->i64);
    case PTX_SIMT_DYNAMIC_SHARED: return launch_field(f, offsetof(struct aw_host_launch, dynamic_shared), u->i32);
    case PTX_SIMT_TOTAL_SHARED: return launch_field(f, offsetof(struct aw_host_launch, total_shared), u->i32);
    default: return NULL;
    }
}

/* Is an address inside [base, base + size)? */
static void window_emit(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef base, LLVMValueRef size)
{
    struct simt *u = f->u;
    bool vec = simt_varying(f, inst);
    LLVMValueRef p = LLVMGetOperand(inst, 0);
    LLVMTypeRef t = vec ? u->i64v : u->i64;
    LLVMValueRef at = LLVMBuildPtrToInt(u->b, vec ? simt_vector(f, p) : simt_scalar(f, p), t, "");
    at = LLVMBuildSub(u->b, at, vec ? simt_splat(u, base) : base, "");
    LLVMValueRef in = LLVMBuildICmp(u->b, LLVMIntULT, at, vec ? simt_splat(u, size) : size, "");
    if (vec)
        simt_set_vector(f, inst, in);
    else
        simt_set_scalar(f, inst, in);
}

/* In this warp's area of local memory?  A variable that is still on the stack is none whose address anyone asks about. */
static void is_local_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef top = LLVMBuildPtrToInt(u->b, simt_field(u, f->state, 0, u->ptr, false), u->i64, "");
    LLVMValueRef size = simt_field(u, f->block, offsetof(struct aw_host_block, local_size), u->i64, true);
    window_emit(f, inst, LLVMBuildSub(u->b, top, size, ""), size);
}

/* What the machine does lane by lane: see `operation` in struct simt_options. */
static bool operation_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    LLVMValueRef args[PTX_SIMT_ARGS];
    bool vec = simt_varying(f, inst);
    if (!simt_is_lanewise(id) || !f->u->options->operation)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(inst); i++) {
        LLVMValueRef a = LLVMGetOperand(inst, i);
        args[i] = vec && !LLVMIsAConstantInt(a) ? simt_vector(f, a) : simt_scalar(f, a);
    }
    LLVMValueRef r = f->u->options->operation(f->u->b, id, args);
    if (r && vec)
        simt_set_vector(f, inst, r);
    else if (r)
        simt_set_scalar(f, inst, r);
    return r != NULL;
}

static void aw_emit(struct simt_fn *f, LLVMValueRef inst, enum ptx_simt id)
{
    struct simt *u = f->u;
    if (simt_warpop_emit(f, inst, id)) {
        if (u->options->races && id != PTX_SIMT_ACTIVEMASK && id != PTX_SIMT_LOWEST)
            simt_order_emit(f, AW_HOST_ORDER_WARP);
        return;
    }
    LLVMValueRef s = shape_field(f, id);
    if (s) {
        simt_set_scalar(f, inst, s);
        return;
    }
    switch (id) {
    case PTX_SIMT_TID_X: case PTX_SIMT_TID_Y: case PTX_SIMT_TID_Z:
        tid_emit(f, inst, (int)id - PTX_SIMT_TID_X);
        return;
    case PTX_SIMT_CLOCK:
        simt_set_scalar(f, inst, simt_intrinsic(u, "llvm.readcyclecounter", NULL, 0, NULL, 0));
        return;
    case PTX_SIMT_GLOBALTIMER:
        simt_set_scalar(f, inst, SERVICE(f, globaltimer, u->i64, NULL, 0));
        return;
    case PTX_SIMT_NANOSLEEP:
        simt_yield_emit(f);
        return;
    case PTX_SIMT_BARRIER: case PTX_SIMT_BARRIER_ARRIVE: case PTX_SIMT_BARRIER_REDUCE:
        barrier_emit(f, inst, id);
        return;
    case PTX_SIMT_MEET:
        if (f->form != SIMT_FORM_DEVICE && !u->options->dispatched)
            simt_meet_if_can_emit(u);
        return;
    case PTX_SIMT_CHECK_SYNC: case PTX_SIMT_CHECK_END: check_sync_emit(f, inst, id); return;
    case PTX_SIMT_LINE: simt_debug_line(f); return;
    case PTX_SIMT_VPRINTF: per_lane_emit(f, inst, offsetof(struct aw_host_services, vprintf)); return;
    case PTX_SIMT_MALLOC: per_lane_emit(f, inst, offsetof(struct aw_host_services, malloc)); return;
    case PTX_SIMT_BLOCK_TEXEL: per_lane_emit(f, inst, offsetof(struct aw_host_services, block_texel)); return;
    case PTX_SIMT_FREE: per_lane_emit(f, inst, offsetof(struct aw_host_services, free)); return;
    case PTX_SIMT_ASSERTFAIL: assert_emit(f, inst); return;
    case PTX_SIMT_TRAP: trap_emit(f, first_value(f, LLVMGetOperand(inst, 0))); return;
    case PTX_SIMT_IS_SHARED: {
        LLVMValueRef size = launch_field(f, offsetof(struct aw_host_launch, total_shared), u->i32);
        window_emit(f, inst, LLVMBuildPtrToInt(u->b, f->shared, u->i64, ""), LLVMBuildZExt(u->b, size, u->i64, ""));
        return;
    }
    case PTX_SIMT_IS_LOCAL: is_local_emit(f, inst); return;
    default:
        if (!operation_emit(f, inst, id))
            simt_fail(u, "the host target does not know %s", ptx_simt_info(id)->name);
    }
}

/* ---- Device functions */

static void device_emit(struct simt_fn *f, LLVMValueRef inst, LLVMValueRef callee, LLVMValueRef out)
{
    struct simt *u = f->u;
    unsigned n = LLVMGetNumArgOperands(inst);
    LLVMValueRef *args = AW_NEW_ARRAY(&u->arena, LLVMValueRef, n + 4);
    if (!args) {
        simt_memory(u);
        return;
    }
    args[0] = f->block;
    args[1] = f->state;
    args[2] = f->part;
    args[3] = simt_bits(u, f->mask);
    for (unsigned i = 0; i < n; i++)
        args[4 + i] = i == 0 ? simt_scalar(f, LLVMGetOperand(inst, 0)) : simt_vector(f, LLVMGetOperand(inst, i));
    LLVMValueRef r = LLVMBuildCall2(u->b, LLVMGlobalGetValueType(out), out, args, n + 4, "");
    if (LLVMGetTypeKind(LLVMTypeOf(inst)) != LLVMVoidTypeKind)
        simt_set_vector(f, inst, r);
}

/* One of the vectoriser's own; false: it is none that is left here. */
static bool private_emit(struct simt_fn *f, LLVMValueRef inst)
{
    switch (simt_private_called(inst)) {
    case SIMT_PRIVATE_ALWAYS:
        simt_set_scalar(f, inst, LLVMConstInt(f->u->i1, 1, 0));
        return true;
    case SIMT_PRIVATE_ALL:
        simt_all_emit(f, inst);
        return true;
    case SIMT_PRIVATE_FULL:
        simt_set_scalar(f, inst, f->mask ? simt_all_on(f->u, f->mask) : LLVMConstInt(f->u->i1, 1, 0));
        return true;
    case SIMT_PRIVATE_UNMASKED:
        f->mask = f->blocks[simt_block_of(f, LLVMGetInstructionParent(inst))].mask = NULL;
        return true;
    case SIMT_PRIVATE_FIRST:
        simt_first_emit(f, inst);
        return true;
    case SIMT_PRIVATE_TOGETHER:
        simt_set_scalar(f, inst, simt_together_emit(f->u, simt_scalar(f, LLVMGetOperand(inst, 0))));
        return true;
    case SIMT_PRIVATE_NOWRAP:
        simt_nowrap_emit(f, inst);
        return true;
    case SIMT_PRIVATE_EXACT:
    case SIMT_PRIVATE_APART:
        simt_same_emit(f, inst);
        return true;
    case SIMT_PRIVATE_SINGLE:
        simt_serialised_emit(f, inst, aw_ptrmap_find(&f->u->singles, LLVMGetCalledValue(inst)));
        return true;
    default:
        return false;
    }
}

void simt_call_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMValueRef callee = LLVMGetCalledValue(inst);
    enum ptx_simt id = simt_call_id(u, inst);
    size_t len;
    if (id != PTX_SIMT_NONE) {
        aw_emit(f, inst, id);
        return;
    }
    if (!LLVMIsAFunction(callee)) {
        simt_fail(u, "the host target takes no indirect calls or inline assembly");
        return;
    }
    const char *name = LLVMGetValueName2(callee, &len);
    LLVMValueRef out = aw_ptrmap_find(&u->functions, callee);
    if (private_emit(f, inst))
        return;
    if (LLVMGetIntrinsicID(callee))
        intrinsic_emit(f, inst, name);
    else if (out)
        device_emit(f, inst, callee, out);
    else
        simt_fail(u, "call of undefined function %s", name);
}
