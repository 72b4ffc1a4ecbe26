/* What all of the vectoriser uses: failure and memory, the module at hand, types, constants, phis, counts of instructions, and
 * what a source value, call or access says of itself, without any analysis. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/ir.h"
#include <string.h>

/* ---- Failure, and the passes that are asked for */

void *simt_fail(struct simt *u, const char *fmt, ...)
{
    if (u->status)
        return NULL;
    u->status = AW_ERR_NOT_SUPPORTED;
    va_list ap;
    va_start(ap, fmt);
    aw_buf_printf(u->diags, "%s: error: ", u->options->kernel);
    aw_buf_vprintf(u->diags, fmt, ap);
    aw_buf_printf(u->diags, "\n");
    va_end(ap);
    return NULL;
}

void *simt_memory(struct simt *u)
{
    if (!u->status) {
        u->status = AW_ERR_OUT_OF_MEMORY;
        aw_buf_printf(u->diags, "%s: error: out of memory\n", u->options->kernel);
    }
    return NULL;
}

bool simt_step(const struct simt *u, enum ptx_pass pass)
{
    return ptx_pass_enabled(u->options->pipeline, pass);
}

bool simt_forced(const struct simt *u, enum ptx_pass pass)
{
    return ptx_pass_forced(u->options->pipeline, pass);
}

size_t simt_threshold(const struct simt *u, enum ptx_threshold id)
{
    return (size_t)ptx_threshold(u->options->pipeline, id);
}

void simt_stepped(const struct simt *u, enum ptx_pass pass, LLVMModuleRef changed)
{
    ptx_pass_done(u->options->pipeline, pass, changed);
}

bool simt_jam_always;

bool simt_jams_always(const struct simt *u)
{
    return simt_jam_always || simt_forced(u, PTX_PASS_JAM);
}

bool simt_is_marching(const struct simt *u)
{
    return u->schedule == SIMT_MARCH || u->schedule == SIMT_MARCH_ROWS;
}

bool simt_takes_block_rows(const struct simt *u)
{
    return u->schedule == SIMT_BLOCK_ROWS || u->schedule == SIMT_MARCH_ROWS;
}

/* ---- The module */

/* Two alias scopes of one domain, each a list of one, and both in one. */
static void scopes_create(struct simt *u)
{
    static const char *const names[] = { "memory", "global", "shared" };
    LLVMMetadataRef domain = LLVMMDStringInContext2(u->ctx, names[0], 6);
    domain = LLVMMDNodeInContext2(u->ctx, &domain, 1);
    LLVMMetadataRef scopes[2];
    for (int i = 0; i < 2; i++) {
        LLVMMetadataRef scope[2] = { LLVMMDStringInContext2(u->ctx, names[1 + i], 6), domain };
        scopes[i] = LLVMMDNodeInContext2(u->ctx, scope, 2);
        u->scopes[i] = LLVMMetadataAsValue(u->ctx, LLVMMDNodeInContext2(u->ctx, &scopes[i], 1));
    }
    u->both_scopes = LLVMMetadataAsValue(u->ctx, LLVMMDNodeInContext2(u->ctx, scopes, 2));
}

bool simt_begin(struct simt *u)
{
    LLVMContextRef c = u->ctx = LLVMGetModuleContext(u->in);
    u->b = LLVMCreateBuilderInContext(c);
    u->in_layout = LLVMGetModuleDataLayout(u->in);
    u->i1 = LLVMInt1TypeInContext(c);
    u->i8 = LLVMInt8TypeInContext(c);
    u->i32 = LLVMInt32TypeInContext(c);
    u->i64 = LLVMInt64TypeInContext(c);
    u->ptr = LLVMPointerTypeInContext(c, 0);
    u->v_void = LLVMVoidTypeInContext(c);
    u->warp_state = LLVMStructTypeInContext(c, &u->ptr, 1, 0); /* top of local memory */
    scopes_create(u);
    return simt_lanes_set(u, SIMT_LANES);
}

bool simt_lanes_set(struct simt *u, int n)
{
    u->lanes = n;
    u->i1v = simt_vec_type(u, u->i1);
    u->i32v = simt_vec_type(u, u->i32);
    u->i64v = simt_vec_type(u, u->i64);
    u->all_lanes = LLVMConstAllOnes(u->i1v);
    u->no_lanes = LLVMConstNull(u->i1v);
    int64_t *lanes = AW_NEW_ARRAY(&u->arena, int64_t, SIMT_LANES);
    if (!lanes)
        return simt_memory(u);
    for (int i = 0; i < SIMT_LANES; i++)
        lanes[i] = i < u->lanes ? i : 0;
    struct aw_str key = { (const char *)lanes, SIMT_LANES * sizeof *lanes };
    u->lane_offsets = aw_map_find(&u->offsets, key);
    if (u->lane_offsets)
        return true;
    u->lane_offsets = lanes;
    if (!aw_map_put(&u->offsets, key, lanes))
        return simt_memory(u);
    return true;
}

void simt_end(struct simt *u)
{
    LLVMDisposeBuilder(u->b);
    aw_map_fini(&u->offsets);
    aw_ptrmap_fini(&u->globals);
    aw_ptrmap_fini(&u->functions);
    aw_ptrmap_fini(&u->singles);
    aw_ptrmap_fini(&u->called);
    aw_arena_fini(&u->arena);
}

/* ---- Counts */

size_t simt_block_size(LLVMBasicBlockRef bb)
{
    size_t n = 0;
    for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        n++;
    return n;
}

size_t simt_instructions(LLVMValueRef fn)
{
    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        n += simt_block_size(b);
    return n;
}

/* ---- Types and constants */

LLVMTypeRef simt_type(struct simt *u, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
        return type;
    return simt_is_shared_ptr(type) ? u->i32 : u->ptr;
}

LLVMTypeRef simt_vec_type(struct simt *u, LLVMTypeRef out_type)
{
    return LLVMVectorType(out_type, (unsigned)u->lanes);
}

LLVMValueRef simt_c32(struct simt *u, int64_t x)
{
    return LLVMConstInt(u->i32, (uint64_t)x & 0xffffffffu, 0);
}

LLVMValueRef simt_c64(struct simt *u, int64_t x)
{
    return LLVMConstInt(u->i64, (uint64_t)x, 0);
}

/* ---- Builders */

LLVMValueRef simt_advance(struct simt *u, LLVMValueRef ptr, int64_t bytes)
{
    LLVMValueRef at = simt_c64(u, bytes);
    return bytes ? LLVMBuildGEP2(u->b, u->i8, ptr, &at, 1, "") : ptr;
}

LLVMValueRef simt_and(struct simt *u, LLVMValueRef a, LLVMValueRef b)
{
    return !a ? b : !b ? a : LLVMBuildAnd(u->b, a, b, "");
}

LLVMValueRef simt_intrinsic(struct simt *u, const char *name, LLVMTypeRef *types, unsigned n_types, LLVMValueRef *args,
                            unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(u->out, id, types, n_types);
    return LLVMBuildCall2(u->b, LLVMIntrinsicGetType(u->ctx, id, types, n_types), fn, args, n, "");
}

/* ---- Phis and blocks */

void simt_split_before(struct simt *u, LLVMValueRef x)
{
    LLVMBasicBlockRef from = LLVMGetInstructionParent(x);
    LLVMValueRef term = LLVMGetBasicBlockTerminator(from);
    LLVMBasicBlockRef to = LLVMAppendBasicBlockInContext(u->ctx, LLVMGetBasicBlockParent(from), "meet");
    LLVMMoveBasicBlockAfter(to, from);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(term); i++)
        ptx_phis_rename(u->b, LLVMGetSuccessor(term, i), from, to);
    ptx_move_rest(u->b, x, to);
    LLVMPositionBuilderAtEnd(u->b, from);
    LLVMBuildBr(u->b, to);
}

/* ---- Small questions about source values */

bool simt_undef(LLVMValueRef v)
{
    return LLVMIsUndef(v); /* true for poison, too */
}

bool simt_int_const(LLVMValueRef v, int64_t *ret)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *ret = LLVMConstIntGetSExtValue(v);
    return true;
}

unsigned simt_space(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind ? LLVMGetPointerAddressSpace(type) : 0;
}

bool simt_is_shared_ptr(LLVMTypeRef type)
{
    return simt_space(type) == SIMT_SPACE_SHARED;
}

bool simt_maybe_shared(LLVMValueRef pointer)
{
    unsigned space = simt_space(LLVMTypeOf(pointer));
    return space == SIMT_SPACE_SHARED || space == SIMT_SPACE_GENERIC;
}

unsigned simt_width(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type);
    case LLVMPointerTypeKind:
        return simt_is_shared_ptr(type) ? 32 : 64;
    default:
        return 0;
    }
}

bool simt_shared_place(const struct simt *u, LLVMValueRef variable, int64_t *ret)
{
    if (variable == LLVMGetNamedGlobal(u->in, PTX_SHARED))
        *ret = 0;
    else if (variable == LLVMGetNamedGlobal(u->in, PTX_SHARED_DYNAMIC))
        *ret = (u->options->static_shared + 15) & ~15u;
    else
        return false;
    return true;
}

bool simt_known_const(struct simt_fn *f, LLVMValueRef v, int64_t *ret)
{
    int64_t by;
    if (simt_int_const(v, ret) || (LLVMIsAGlobalVariable(v) && simt_shared_place(f->u, v, ret)))
        return true;
    if (!LLVMIsAConstantExpr(v) || !simt_known_const(f, LLVMGetOperand(v, 0), ret))
        return false;
    switch (LLVMGetConstOpcode(v)) {
    case LLVMPtrToInt:
        return true;
    case LLVMIntToPtr:
        return simt_width(LLVMTypeOf(v)) == simt_width(LLVMTypeOf(LLVMGetOperand(v, 0)));
    case LLVMAdd:
        if (!simt_known_const(f, LLVMGetOperand(v, 1), &by))
            return false;
        *ret += by;
        return true;
    case LLVMGetElementPtr:
        if (LLVMGetNumOperands(v) != 2 || !simt_int_const(LLVMGetOperand(v, 1), &by))
            return false;
        *ret += by * (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(v));
        return true;
    default:
        return false;
    }
}

LLVMValueRef simt_opposite(LLVMValueRef cond)
{
    int64_t k;
    bool is = LLVMIsAInstruction(cond) && LLVMGetInstructionOpcode(cond) == LLVMXor &&
              simt_int_const(LLVMGetOperand(cond, 1), &k) && k;
    return is ? LLVMGetOperand(cond, 0) : NULL;
}

/* ---- Calls */

enum ptx_simt simt_call_id(struct simt *u, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    intptr_t known = (intptr_t)aw_ptrmap_find(&u->called, callee);
    if (!known) {
        known = 1 + (intptr_t)ptx_simt_of(callee);
        aw_ptrmap_put(&u->called, callee, (void *)known);
    }
    return (enum ptx_simt)(known - 1);
}

bool simt_is_barrier(struct simt *u, LLVMValueRef inst)
{
    enum ptx_simt id = LLVMIsACallInst(inst) ? simt_call_id(u, inst) : PTX_SIMT_NONE;
    return id == PTX_SIMT_BARRIER || id == PTX_SIMT_BARRIER_REDUCE || id == PTX_SIMT_MEET;
}

bool simt_is_lanewise(enum ptx_simt id)
{
    return id != PTX_SIMT_NONE && ptx_simt_info(id)->traits == PTX_SIMT_PURE && *ptx_simt_info(id)->args;
}

bool simt_is_serialised(LLVMValueRef fn)
{
    return simt_private_of(fn) == SIMT_PRIVATE_SINGLE;
}

/* ---- Accesses to memory */

LLVMValueRef simt_access_address(LLVMValueRef inst)
{
    return LLVMGetOperand(inst, LLVMIsAStoreInst(inst) ? 1 : 0);
}

LLVMTypeRef simt_access_type(LLVMValueRef inst)
{
    return LLVMTypeOf(LLVMIsAStoreInst(inst) ? LLVMGetOperand(inst, 0) : inst);
}

/* One step from an address, or a number that is as wide, to what it is a constant away from; NULL: there is none. */
static LLVMValueRef step_back(struct simt_fn *f, LLVMValueRef p, int64_t *at)
{
    int64_t c;
    if (LLVMIsACallInst(p))
        return simt_private_called(p) == SIMT_PRIVATE_EXACT ? LLVMGetOperand(p, 0) : NULL;
    if (LLVMIsAIntToPtrInst(p)) /* PTX computes with numbers */
        return simt_width(LLVMTypeOf(LLVMGetOperand(p, 0))) == simt_width(LLVMTypeOf(p)) ? LLVMGetOperand(p, 0) : NULL;
    if (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_int_const(LLVMGetOperand(p, 1), &c)) {
        *at += c * (int64_t)LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(p));
        return LLVMGetOperand(p, 0);
    }
    if (LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2 && simt_known_const(f, LLVMGetOperand(p, 0), &c)) {
        LLVMValueRef index = LLVMGetOperand(p, 1);
        bool bytes = LLVMABISizeOfType(f->u->in_layout, LLVMGetGEPSourceElementType(p)) == 1 &&
                     simt_width(LLVMTypeOf(index)) == simt_width(LLVMTypeOf(p));
        *at += bytes ? c : 0;
        return bytes ? index : NULL;
    }
    if (!LLVMIsAInstruction(p) || LLVMGetInstructionOpcode(p) != LLVMAdd || !simt_known_const(f, LLVMGetOperand(p, 1), &c))
        return NULL;
    *at += c;
    return LLVMGetOperand(p, 0);
}

LLVMValueRef simt_access_root(struct simt_fn *f, LLVMValueRef p, int64_t *ret_at)
{
    *ret_at = 0;
    for (LLVMValueRef from; (from = step_back(f, p, ret_at)) != NULL;)
        p = from;
    return p;
}

bool simt_access_plain(LLVMValueRef x, bool store)
{
    return (store ? LLVMIsAStoreInst(x) : LLVMIsALoadInst(x)) && !LLVMGetVolatile(x) &&
           LLVMGetOrdering(x) == LLVMAtomicOrderingNotAtomic;
}

bool simt_touches_memory(LLVMValueRef x)
{
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMLoad: case LLVMStore: case LLVMFence: case LLVMAtomicCmpXchg: case LLVMAtomicRMW: case LLVMAlloca:
        return true;
    case LLVMCall:
        return simt_private_called(x) != SIMT_PRIVATE_EXACT && !LLVMGetIntrinsicID(LLVMGetCalledValue(x));
    default:
        return false;
    }
}
