/* Quick code: SIMT IR as it stands, what one lane does, made plain for the machine.  No lane knows of others; where lanes meet,
 * the runtime has each wait on a stack of its own (src/provider/host/lanes.c).
 *
 * Every function gets the lane it runs for (struct aw_host_lane) in place of the kernel's arguments, which are read from there.
 * Pointers of all spaces stay what they are but shared ones, which become addresses in the block's window where something is
 * accessed.
 *
 * Not the numbering of places (quick_sites.c).  Arithmetic is that of the good form, instruction by instruction: the same bodies
 * of approximations (math.c) and the same instructions for what IR has no word for (avx512.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/host/quick.h"
#include "lower/graph.h"
#include "lower/internal.h"
#include "simt/vectorise.h"
#include <anywarp/hostabi.h>
#include <string.h>

typedef LLVMValueRef V;

void ptx_quick_refuse(struct quick *q, const char *why)
{
    if (q->status == AW_OK)
        aw_buf_printf(q->diags, "%s: error: no quick form: %s\n", q->finish->kernel, why);
    q->status = AW_ERR_NOT_SUPPORTED;
}

bool ptx_quick_has(V call, const char *attribute)
{
    return LLVMGetCallSiteStringAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute,
                                          (unsigned)strlen(attribute)) != NULL;
}

int ptx_quick_op(V x)
{
    static const uint8_t op[PTX_SIMT_COUNT] = { /* one more than enum aw_host_lane_op */
#define OP(id, as) [PTX_SIMT_##id] = 1 + AW_HOST_LANE_##as
        OP(BARRIER, BARRIER), OP(BARRIER_ARRIVE, BARRIER_ARRIVE), OP(BARRIER_REDUCE, BARRIER_REDUCE), OP(WARPSYNC, WARPSYNC),
        OP(SHFL_UP, SHFL_UP), OP(SHFL_DOWN, SHFL_DOWN), OP(SHFL_BFLY, SHFL_BFLY), OP(SHFL_IDX, SHFL_IDX), OP(BALLOT, BALLOT),
        OP(VOTE_ANY, ANY), OP(VOTE_ALL, ALL), OP(VOTE_UNI, UNI), OP(ACTIVEMASK, ACTIVEMASK), OP(MATCH_ANY_32, MATCH_ANY),
        OP(MATCH_ANY_64, MATCH_ANY), OP(MATCH_ALL_32, MATCH_ALL), OP(MATCH_ALL_64, MATCH_ALL), OP(REDUX_ADD, ADD),
        OP(REDUX_MIN, MIN), OP(REDUX_MAX, MAX), OP(REDUX_UMIN, UMIN), OP(REDUX_UMAX, UMAX), OP(REDUX_AND, AND),
        OP(REDUX_OR, OR), OP(REDUX_XOR, XOR), OP(ELECT, ELECT), OP(LOWEST, LOWEST), OP(VPRINTF, PRINTF), OP(ASSERTFAIL, ASSERT),
#undef OP
    };
    enum ptx_simt id = ptx_simt_called(x);
    if (id < PTX_SIMT_COUNT)
        return op[id] - 1;
    return LLVMIsACallInst(x) && ptx_quick_has(x, QUICK_STEP) ? AW_HOST_LANE_STEP : -1;
}

/* ---- Pieces */

V ptx_quick_lane(V fn)
{
    return LLVMGetParam(fn, 0);
}

static V at(struct quick *q, V base, size_t offset)
{
    V by = LLVMConstInt(q->i64, offset, 0);
    return LLVMBuildGEP2(q->b, q->i8, base, &by, 1, "");
}

V ptx_quick_field(struct quick *q, V base, size_t offset, LLVMTypeRef type)
{
    return LLVMBuildLoad2(q->b, type, at(q, base, offset), "");
}

V ptx_quick_service(struct quick *q, V fn, size_t offset, LLVMTypeRef result, V *args, unsigned n)
{
    LLVMTypeRef types[8];
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    V launch = ptx_quick_field(q, ptx_quick_lane(fn), offsetof(struct aw_host_lane, own.launch), q->ptr);
    V table = ptx_quick_field(q, launch, offsetof(struct aw_host_launch, services), q->ptr);
    V service = ptx_quick_field(q, table, offset, q->ptr);
    return LLVMBuildCall2(q->b, LLVMFunctionType(result, types, n, 0), service, args, n, "");
}

static unsigned space(V x)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(x));
}

static bool is_pointer_to(V x, unsigned where)
{
    return LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMPointerTypeKind && space(x) == where;
}

/* A function that gets the kernel's arguments: all but bodies of ours (math.c). */
static bool has_lane(V fn)
{
    return !LLVMIsDeclaration(fn) && LLVMCountParams(fn) && is_pointer_to(LLVMGetParam(fn, 0), AS_CONST);
}

/* Where a shared address lies. */
static V window(struct quick *q, V fn, V p)
{
    V offset = LLVMBuildSExt(q->b, LLVMBuildPtrToInt(q->b, p, q->i32, ""), q->i64, "");
    V shared = ptx_quick_field(q, ptx_quick_lane(fn), offsetof(struct aw_host_lane, own.shared), q->ptr);
    return LLVMBuildGEP2(q->b, q->i8, shared, &offset, 1, "");
}

static V shared_offset(struct quick *q, V fn, V p)
{
    V shared = ptx_quick_field(q, ptx_quick_lane(fn), offsetof(struct aw_host_lane, own.shared), q->i64);
    V offset = LLVMBuildSub(q->b, LLVMBuildPtrToInt(q->b, p, q->i64, ""), shared, "");
    return LLVMBuildTrunc(q->b, offset, q->i32, "");
}

/* ---- Before places are numbered */

/* Lanes that go the same way do so in step. */
static void step_before(struct quick *q, V x)
{
    LLVMTypeRef type = LLVMFunctionType(q->nothing, NULL, 0, 0);
    V step = LLVMGetNamedFunction(q->m, QUICK_STEP);
    if (!step) {
        static const char convergent[] = "convergent";
        unsigned kind = LLVMGetEnumAttributeKindForName(convergent, sizeof convergent - 1);
        step = LLVMAddFunction(q->m, QUICK_STEP, type);
        LLVMAddAttributeAtIndex(step, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(q->c, kind, 0));
    }
    LLVMPositionBuilderBefore(q->b, x);
    V call = LLVMBuildCall2(q->b, type, step, NULL, 0, "");
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateStringAttribute(q->c, QUICK_STEP, sizeof QUICK_STEP - 1, "", 0));
}

/* Does a constant have the address of shared memory in it, as others see it? */
static bool names_shared(V c)
{
    bool expression = LLVMIsAConstantExpr(c) != NULL;
    if (expression && LLVMGetConstOpcode(c) == LLVMAddrSpaceCast && space(LLVMGetOperand(c, 0)) == AS_SHARED)
        return true;
    bool parts = expression || LLVMIsAConstantVector(c) || LLVMIsAConstantStruct(c) || LLVMIsAConstantArray(c);
    for (unsigned i = 0; parts && i < (unsigned)LLVMGetNumOperands(c); i++)
        if (names_shared(LLVMGetOperand(c, i)))
            return true;
    return false;
}

/* What the lanes of a warp, one after another, have not yet all done, as bits: reads and writes of shared memory, and writes of
 * other memory.  In step, all lanes have read before one writes what others read, and so on, and have written before one of them
 * tells other warps so, behind a fence.  Machine code leaves unsaid that they are, before sm_70 all programs did, and later ones
 * count on it that lack a barrier of the warp. */
enum pending {
    PENDING_NOTHING = 0, PENDING_READS = 1, PENDING_WRITES = 2, PENDING_SHARED = 3, PENDING_ELSEWHERE = 4, PENDING_ANY = 7,
};

/* What a generic address is made of: no address that is seen, a variable of another space or an argument, perhaps shared
 * memory. */
enum base { BASE_NONE, BASE_OTHER, BASE_PERHAPS_SHARED };

static enum base base_of(V p, int depth)
{
    if (depth == 0 || names_shared(p))
        return BASE_PERHAPS_SHARED;
    if (!LLVMIsAInstruction(p))
        return LLVMIsAConstant(p) ? BASE_NONE : BASE_PERHAPS_SHARED;
    V from = LLVMGetNumOperands(p) ? LLVMGetOperand(p, 0) : NULL;
    enum base most = BASE_NONE, one;
    switch (LLVMGetInstructionOpcode(p)) {
    case LLVMAlloca: return BASE_OTHER;
    case LLVMLoad: return space(from) == AS_CONST ? BASE_OTHER : BASE_PERHAPS_SHARED;
    case LLVMAddrSpaceCast:
        if (space(from) != AS_GENERIC)
            return space(from) == AS_SHARED ? BASE_PERHAPS_SHARED : BASE_OTHER;
        return base_of(from, depth - 1);
    case LLVMGetElementPtr: case LLVMIntToPtr: case LLVMPtrToInt: case LLVMBitCast: case LLVMFreeze:
        return base_of(from, depth - 1);
    case LLVMAdd: case LLVMSub: case LLVMOr: case LLVMSelect: case LLVMPHI:
        for (unsigned i = LLVMIsASelectInst(p) ? 1 : 0; i < (unsigned)LLVMGetNumOperands(p); i++) {
            one = base_of(LLVMGetOperand(p, i), depth - 1);
            most = one > most ? one : most;
        }
        return most;
    case LLVMCall: case LLVMInvoke: case LLVMExtractValue: case LLVMExtractElement: return BASE_PERHAPS_SHARED;
    default: return BASE_NONE;
    }
}

/* Is some address of shared memory made a generic one? */
static bool makes_shared_generic(struct quick *q)
{
    for (V fn = LLVMGetFirstFunction(q->m); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
            for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
                if (LLVMIsAAddrSpaceCastInst(x) && space(LLVMGetOperand(x, 0)) == AS_SHARED)
                    return true;
                for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++)
                    if (LLVMIsAConstant(LLVMGetOperand(x, i)) && names_shared(LLVMGetOperand(x, i)))
                        return true;
            }
    return false;
}

/* Must the lanes be in step before the access `x`?  `pending` is before and behind it. */
static bool counts_on_step(struct quick *q, V x, enum pending *pending)
{
    enum { DEPTH = 8 };
    bool reads = LLVMIsALoadInst(x), writes = LLVMIsAStoreInst(x), both = LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x);
    V p = reads || both ? LLVMGetOperand(x, 0) : writes ? LLVMGetOperand(x, 1) : NULL;
    bool generic = p && space(p) == AS_GENERIC;
    bool ordered = generic && !both && (LLVMGetVolatile(x) || LLVMGetOrdering(x) != LLVMAtomicOrderingNotAtomic);
    bool unknown = generic && q->shared_is_generic && base_of(p, DEPTH) != BASE_OTHER;
    bool outside = p && !reads && (space(p) == AS_GENERIC || space(p) == AS_GLOBAL);
    enum pending before = *pending & PENDING_SHARED, elsewhere = outside ? PENDING_ELSEWHERE : *pending & PENDING_ELSEWHERE;
    *pending = before | elsewhere;
    if (!p || (space(p) != AS_SHARED && !ordered && !unknown))
        return false;
    *pending = (reads ? PENDING_READS : PENDING_WRITES) | elsewhere;
    return !both && before != PENDING_NOTHING && !(reads && before == PENDING_READS);
}

static bool orders_writes(LLVMAtomicOrdering how)
{
    return how == LLVMAtomicOrderingRelease || how == LLVMAtomicOrderingAcquireRelease ||
           how == LLVMAtomicOrderingSequentiallyConsistent;
}

/* May `x` tell other warps what all lanes have written before, though one lane alone comes to it?  Then it waits for them. */
static bool tells_writes(V x, enum pending *pending)
{
    bool access = LLVMIsAFenceInst(x) || LLVMIsAStoreInst(x) || LLVMIsAAtomicRMWInst(x);
    LLVMAtomicOrdering how = access ? LLVMGetOrdering(x) : LLVMIsAAtomicCmpXchgInst(x) ? LLVMGetCmpXchgSuccessOrdering(x)
                                                                                       : LLVMAtomicOrderingNotAtomic;
    bool step = orders_writes(how) && (*pending & PENDING_ELSEWHERE);
    *pending &= step ? PENDING_SHARED : PENDING_ANY;
    return step;
}

/* Are lanes together behind it? */
static bool brings_together(V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    enum ptx_simt_traits traits = id != PTX_SIMT_NONE ? ptx_simt_info(id)->traits : PTX_SIMT_PURE;
    return traits == PTX_SIMT_CONVERGENT || (traits == PTX_SIMT_SYNC && id != PTX_SIMT_BARRIER_ARRIVE);
}

/* From what is pending where a block begins to what is at its end; `make`: with steps, else nothing changes. */
static enum pending steps_of_block(struct quick *q, LLVMBasicBlockRef bb, enum pending pending, bool make)
{
    for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
        next = LLVMGetNextInstruction(x);
        bool fence = LLVMIsAFenceInst(x) && LLVMGetAtomicSyncScopeID(x) == LLVMGetSyncScopeID(q->c, "singlethread", 12);
        V callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
        bool call = callee && !LLVMIsAInlineAsm(callee) && !(LLVMIsAFunction(callee) && LLVMIsDeclaration(callee));
        if (fence || brings_together(x))
            pending = PENDING_NOTHING;
        if (call)
            pending = PENDING_ANY;
        bool tells = !fence && tells_writes(x, &pending), counts = counts_on_step(q, x, &pending);
        if ((fence || tells || counts) && make)
            step_before(q, x);
        if (fence && make)
            LLVMInstructionEraseFromParent(x);
    }
    return pending;
}

/* What is pending where blocks begin is what is at the ends of those before.  So lanes and warps that come to a write by ways
 * with reads and without make as many steps before it, and none writes too early. */
static void steps_of_function(struct quick *q, V fn)
{
    struct aw_ptrmap index = { 0 };
    struct ptx_edges *into;
    LLVMBasicBlockRef *order;
    int n;
    bool kernel = fn == q->kernel, ok = ptx_blocks_order(LLVMGetEntryBasicBlock(fn), &q->arena, &index, &order, &n) &&
                                        ptx_blocks_into(&q->arena, order, n, &index, &into);
    enum pending *begin = ok ? AW_NEW_ARRAY(&q->arena, enum pending, (size_t)n) : NULL;
    enum pending *end = ok ? AW_NEW_ARRAY(&q->arena, enum pending, (size_t)n) : NULL;
    ok = begin && end;
    for (bool more = ok; more;) {
        more = false;
        for (int b = 0; b < n; b++) {
            enum pending in = b == 0 && !kernel ? PENDING_ANY : PENDING_NOTHING;
            for (int i = 0; i < into[b].n; i++)
                in |= end[into[b].at[i]];
            begin[b] = in;
            enum pending out = steps_of_block(q, order[b], in, false);
            more |= (out | end[b]) != end[b];
            end[b] |= out;
        }
    }
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb && ok; bb = LLVMGetNextBasicBlock(bb)) {
        int b = (int)(intptr_t)aw_ptrmap_find(&index, bb) - 1;
        steps_of_block(q, bb, b < 0 ? PENDING_ANY : begin[b], true);
    }
    aw_ptrmap_fini(&index);
    if (!ok)
        q->status = AW_ERR_OUT_OF_MEMORY;
}

static void steps_make(struct quick *q)
{
    q->shared_is_generic = makes_shared_generic(q);
    if (q->shared_is_generic) /* an address's base is seen when registers are values */
        q->status = ptx_passes_run(q->m, NULL, "function(sroa)", q->diags);
    for (V fn = LLVMGetFirstFunction(q->m); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn))
            steps_of_function(q, fn);
}

static int places_inline(struct quick *q)
{
    V callees[PTX_SIMT_COUNT + 1] = { LLVMGetNamedFunction(q->m, QUICK_STEP) };
    for (int id = 0; id < PTX_SIMT_COUNT; id++) {
        V fn = LLVMGetNamedFunction(q->m, ptx_simt_info((enum ptx_simt)id)->name);
        V use = fn && LLVMGetFirstUse(fn) ? LLVMGetUser(LLVMGetFirstUse(fn)) : NULL;
        callees[1 + id] = use && ptx_quick_op(use) >= 0 ? fn : NULL;
    }
    int status = ptx_target_inline_callers(q->m, callees, PTX_SIMT_COUNT + 1, q->diags);
    return status ? status
                  : ptx_passes_run(q->m, NULL, "always-inline,globaldce,function(sroa,early-cse,simplifycfg,instsimplify,adce)",
                                   q->diags);
}

/* ---- The kernel's arguments come from the lane */

static void attributes_drop(V fn, unsigned index)
{
    unsigned n = LLVMGetAttributeCountAtIndex(fn, index);
    LLVMAttributeRef all[64];
    if (n > sizeof all / sizeof *all)
        return;
    LLVMGetAttributesAtIndex(fn, index, all);
    for (unsigned i = 0; i < n; i++)
        if (LLVMIsEnumAttribute(all[i]) || LLVMIsTypeAttribute(all[i]))
            LLVMRemoveEnumAttributeAtIndex(fn, index, LLVMGetEnumAttributeKind(all[i]));
}

static bool passes_on(V user, V p)
{
    return LLVMIsACallInst(user) && LLVMGetNumArgOperands(user) && LLVMGetOperand(user, 0) == p &&
           LLVMIsAFunction(LLVMGetCalledValue(user)) && has_lane(LLVMGetCalledValue(user));
}

static void argument_replace(struct quick *q, V fn)
{
    V lane = ptx_quick_lane(fn);
    attributes_drop(fn, 1);
    LLVMPositionBuilderBefore(q->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)));
    V from = at(q, lane, offsetof(struct aw_host_lane, kernarg));
    V kernarg = LLVMBuildLoad2(q->b, LLVMTypeOf(lane), from, "kernarg");
    LLVMReplaceAllUsesWith(lane, kernarg);
    LLVMSetOperand(from, 0, lane);
    for (LLVMUseRef use = LLVMGetFirstUse(kernarg), next; use; use = next) {
        V user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (passes_on(user, kernarg))
            LLVMSetOperand(user, 0, lane);
    }
}

/* ---- What a lane asks about itself */

static V lane_field(struct quick *q, V fn, size_t offset, LLVMTypeRef type)
{
    return ptx_quick_field(q, ptx_quick_lane(fn), offset, type);
}

static V launch_field(struct quick *q, V fn, size_t offset, LLVMTypeRef type)
{
    V launch = lane_field(q, fn, offsetof(struct aw_host_lane, own.launch), q->ptr);
    return ptx_quick_field(q, launch, offset, type);
}

#define LANE(member, type) lane_field(q, fn, offsetof(struct aw_host_lane, member), (type))
#define LAUNCH(member, type) launch_field(q, fn, offsetof(struct aw_host_launch, member), (type))

static V index_emit(struct quick *q, V fn, enum ptx_simt id)
{
    const uint32_t *block = q->finish->options->block;
    if (id >= PTX_SIMT_TID_X && id <= PTX_SIMT_TID_Z)
        return lane_field(q, fn, offsetof(struct aw_host_lane, tid) + 4 * (size_t)(id - PTX_SIMT_TID_X), q->i32);
    if (id >= PTX_SIMT_NTID_X && id <= PTX_SIMT_NTID_Z)
        return block[1] ? LLVMConstInt(q->i32, block[id - PTX_SIMT_NTID_X], 0)
                   : launch_field(q, fn, offsetof(struct aw_host_launch, block) + 4 * (size_t)(id - PTX_SIMT_NTID_X), q->i32);
    if (id >= PTX_SIMT_CTAID_X && id <= PTX_SIMT_CTAID_Z)
        return lane_field(q, fn, offsetof(struct aw_host_lane, own.ctaid) + 4 * (size_t)(id - PTX_SIMT_CTAID_X), q->i32);
    if (id >= PTX_SIMT_NCTAID_X && id <= PTX_SIMT_NCTAID_Z)
        return launch_field(q, fn, offsetof(struct aw_host_launch, grid) + 4 * (size_t)(id - PTX_SIMT_NCTAID_X), q->i32);
    switch (id) {
    case PTX_SIMT_LANEID: return LANE(lane, q->i32);
    case PTX_SIMT_WARPID: return LANE(own.warp, q->i32);
    case PTX_SIMT_NWARPID: return LAUNCH(warps, q->i32);
    case PTX_SIMT_SMID: return LANE(own.worker, q->i32);
    case PTX_SIMT_NSMID: return LLVMConstInt(q->i32, 1024, 0); /* as the vectoriser has it: simt/emit/call.c */
    case PTX_SIMT_GRIDID: return LAUNCH(grid_id, q->i64);
    case PTX_SIMT_GRID_WORKSPACE: return LAUNCH(grid_workspace, q->i64);
    case PTX_SIMT_DYNAMIC_SHARED: return LAUNCH(dynamic_shared, q->i32);
    case PTX_SIMT_TOTAL_SHARED: return LAUNCH(total_shared, q->i32);
    default: return NULL;
    }
}

/* Is an address in [base, base + size)? */
static V within(struct quick *q, V p, V base, V size)
{
    return LLVMBuildICmp(q->b, LLVMIntULT, LLVMBuildSub(q->b, LLVMBuildPtrToInt(q->b, p, q->i64, ""), base, ""), size, "");
}

static V text(struct quick *q, const char *s)
{
    V c = LLVMConstStringInContext2(q->c, s, strlen(s), 0), g = LLVMAddGlobal(q->m, LLVMTypeOf(c), "text");
    LLVMSetInitializer(g, c);
    LLVMSetGlobalConstant(g, 1);
    LLVMSetLinkage(g, LLVMInternalLinkage);
    return g;
}

#define SERVICE(member, result, args, n) \
    ptx_quick_service(q, fn, offsetof(struct aw_host_services, member), (result), (args), (n))

static V trap_emit(struct quick *q, V fn, V status)
{
    V args[3] = { LANE(block, q->ptr), status, text(q, "trap") };
    return SERVICE(trap, q->nothing, args, 3);
}

/* The service with the block and the call's own operands. */
static V service_emit(struct quick *q, V fn, V x, size_t offset)
{
    unsigned n = LLVMGetNumArgOperands(x);
    V args[4] = { LANE(block, q->ptr) };
    for (unsigned i = 0; i < n; i++)
        args[1 + i] = LLVMGetOperand(x, i);
    return ptx_quick_service(q, fn, offset, LLVMTypeOf(x), args, n + 1);
}

static V cycles(struct quick *q)
{
    unsigned id = LLVMLookupIntrinsicID("llvm.readcyclecounter", sizeof "llvm.readcyclecounter" - 1);
    V fn = LLVMGetIntrinsicDeclaration(q->m, id, NULL, 0);
    return LLVMBuildCall2(q->b, LLVMGlobalGetValueType(fn), fn, NULL, 0, "");
}

static V machine_emit(struct quick *q, V x, enum ptx_simt id)
{
    V args[PTX_SIMT_ARGS];
    unsigned n = LLVMGetNumArgOperands(x);
    for (unsigned i = 0; i < n && i < PTX_SIMT_ARGS; i++)
        args[i] = LLVMGetOperand(x, i);
    V r = q->avx512 ? ptx_host_avx512(q->b, id, args) : NULL;
    if (!r) {
        ptx_quick_refuse(q, ptx_simt_info(id)->name);
        r = LLVMGetPoison(LLVMTypeOf(x));
    }
    return r;
}

static V simt_emit(struct quick *q, V fn, V x, enum ptx_simt id)
{
    V index = index_emit(q, fn, id), lane = ptx_quick_lane(fn);
    if (index)
        return index;
    switch (id) {
    case PTX_SIMT_CLOCK: return cycles(q);
    case PTX_SIMT_GLOBALTIMER: return SERVICE(globaltimer, q->i64, NULL, 0);
    case PTX_SIMT_NANOSLEEP: q->lanes = true; return SERVICE(lane_yield, q->nothing, &lane, 1);
    case PTX_SIMT_TRAP: return trap_emit(q, fn, LLVMGetOperand(x, 0));
    case PTX_SIMT_MALLOC: return service_emit(q, fn, x, offsetof(struct aw_host_services, malloc));
    case PTX_SIMT_FREE: return service_emit(q, fn, x, offsetof(struct aw_host_services, free));
    case PTX_SIMT_BLOCK_TEXEL: return service_emit(q, fn, x, offsetof(struct aw_host_services, block_texel));
    case PTX_SIMT_IS_SHARED:
        return within(q, LLVMGetOperand(x, 0), LANE(own.shared, q->i64),
                      LLVMBuildZExt(q->b, LAUNCH(total_shared, q->i32), q->i64, ""));
    case PTX_SIMT_IS_LOCAL:
        return within(q, LLVMGetOperand(x, 0), LANE(local_base, q->i64), LANE(own.local_size, q->i64));
    default: return machine_emit(q, x, id);
    }
}

/* ---- Instructions */

static void call_emit(struct quick *q, V fn, V x)
{
    enum ptx_simt id = ptx_simt_called(x);
    enum ptx_intrinsic intrinsic = ptx_intrinsic_called(x);
    V callee = LLVMGetCalledValue(x), r = NULL;
    if (!LLVMIsAFunction(callee)) /* of the runtime, where places are */
        return;
    if (id != PTX_SIMT_NONE)
        r = simt_emit(q, fn, x, id);
    else if (intrinsic == PTX_INTRINSIC_TRAP)
        r = trap_emit(q, fn, LLVMConstInt(q->i32, AW_ERR_LAUNCH_FAILED, 0));
    else if (LLVMGetIntrinsicID(callee) && intrinsic == PTX_INTRINSIC_NONE)
        ptx_quick_refuse(q, "an operation that the host target does not know");
    else if (!LLVMGetIntrinsicID(callee) && LLVMIsDeclaration(callee))
        ptx_quick_refuse(q, "a call of an undefined function");
    bool hint = intrinsic != PTX_INTRINSIC_NONE && ptx_intrinsic_info(intrinsic)->traits & PTX_INTRINSIC_HINT;
    if (r && LLVMGetTypeKind(LLVMTypeOf(x)) != LLVMVoidTypeKind)
        LLVMReplaceAllUsesWith(x, r);
    if (r || (hint && !LLVMGetFirstUse(x)))
        LLVMInstructionEraseFromParent(x);
}

/* Vectors are accessed as their elements may be: the good form does so one by one. */
static void alignment_lower(struct quick *q, V x, LLVMTypeRef type)
{
    LLVMTypeRef element = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    unsigned size = (unsigned)LLVMABISizeOfType(LLVMGetModuleDataLayout(q->m), element);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind && LLVMGetAlignment(x) > size)
        LLVMSetAlignment(x, size);
}

static void access_emit(struct quick *q, V fn, V x)
{
    unsigned where = LLVMIsAStoreInst(x) ? 1 : 0;
    V p = LLVMGetOperand(x, where);
    if (space(p) == AS_SHARED)
        LLVMSetOperand(x, where, window(q, fn, p));
    if (LLVMIsALoadInst(x))
        alignment_lower(q, x, LLVMTypeOf(x));
    else if (LLVMIsAStoreInst(x))
        alignment_lower(q, x, LLVMTypeOf(LLVMGetOperand(x, 0)));
}

static void cast_emit(struct quick *q, V fn, V x)
{
    V p = LLVMGetOperand(x, 0), r;
    bool from = space(p) == AS_SHARED, to = is_pointer_to(x, AS_SHARED);
    if (from == to)
        return; /* nothing, to the machine */
    r = from ? window(q, fn, p) : LLVMBuildIntToPtr(q->b, shared_offset(q, fn, p), LLVMTypeOf(x), "");
    if (from && space(x) != AS_GENERIC)
        r = LLVMBuildAddrSpaceCast(q->b, r, LLVMTypeOf(x), "");
    LLVMReplaceAllUsesWith(x, r);
    LLVMInstructionEraseFromParent(x);
}

static void compare_emit(struct quick *q, V x)
{
    if (is_pointer_to(LLVMGetOperand(x, 0), AS_SHARED))
        for (unsigned i = 0; i < 2; i++)
            LLVMSetOperand(x, i, LLVMBuildPtrToInt(q->b, LLVMGetOperand(x, i), q->i32, ""));
}

/* The machine's fences do not know of scopes, and LLVM would leave out those that are no system's. */
static void fence_emit(struct quick *q, V x)
{
    LLVMBuildFence(q->b, LLVMGetOrdering(x), 0, "");
    LLVMInstructionEraseFromParent(x);
}

/* Where the runtime has room for what a program may overrun: finish/host/local.c. */
static void variable_emit(struct quick *q, V x)
{
    V n = LLVMGetOperand(x, 0);
    if (!LLVMIsAConstantInt(n) || LLVMGetBasicBlockParent(LLVMGetInstructionParent(x)) == NULL ||
        LLVMGetInstructionParent(x) != LLVMGetEntryBasicBlock(LLVMGetBasicBlockParent(LLVMGetInstructionParent(x)))) {
        ptx_quick_refuse(q, "stack variables whose number is not known");
        return;
    }
    uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(q->m), LLVMGetAllocatedType(x)) * LLVMConstIntGetZExtValue(n);
    q->local += size;
    V own = LLVMBuildAlloca(q->b, LLVMArrayType2(q->i8, size), "");
    LLVMSetAlignment(own, LLVMGetAlignment(x));
    ptx_mark(own, SIMT_LOCAL);
    V as = LLVMTypeOf(own) == LLVMTypeOf(x) ? own : LLVMBuildAddrSpaceCast(q->b, own, LLVMTypeOf(x), "");
    for (LLVMUseRef use = LLVMGetFirstUse(x), next; use; use = next) {
        V user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (ptx_intrinsic_has(user, PTX_INTRINSIC_LIFETIME))
            LLVMInstructionEraseFromParent(user);
    }
    LLVMReplaceAllUsesWith(x, as);
    LLVMInstructionEraseFromParent(x);
}

static V constant_emit(struct quick *q, V fn, V c);

/* A vector or structure: what it is without the elements that name shared memory, and these put in. */
static V elements_emit(struct quick *q, V fn, V c)
{
    bool vector = LLVMIsAConstantVector(c) != NULL;
    V whole = LLVMGetPoison(LLVMTypeOf(c));
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(c); i++) {
        V made = constant_emit(q, fn, LLVMGetOperand(c, i)), x = made ? made : LLVMGetOperand(c, i);
        whole = vector ? LLVMBuildInsertElement(q->b, whole, x, LLVMConstInt(q->i32, i, 0), "")
                       : LLVMBuildInsertValue(q->b, whole, x, i, "");
    }
    return whole;
}

/* A constant as instructions where it names shared memory: its address is none.  NULL: it does not. */
static V constant_emit(struct quick *q, V fn, V c)
{
    if (!names_shared(c))
        return NULL;
    if (!LLVMIsAConstantExpr(c))
        return elements_emit(q, fn, c);
    V operand = LLVMGetOperand(c, 0), by;
    LLVMOpcode op = LLVMGetConstOpcode(c);
    if (op == LLVMAddrSpaceCast && space(operand) == AS_SHARED)
        return window(q, fn, operand);
    V x = constant_emit(q, fn, operand);
    bool two = op == LLVMAdd || op == LLVMSub || op == LLVMXor;
    V y = two ? constant_emit(q, fn, LLVMGetOperand(c, 1)) : NULL;
    bool known = x || y;
    x = x ? x : operand;
    if (known && two)
        return LLVMBuildBinOp(q->b, op, x, y ? y : LLVMGetOperand(c, 1), "");
    if (known && (op == LLVMPtrToInt || op == LLVMIntToPtr || op == LLVMTrunc || op == LLVMBitCast || op == LLVMAddrSpaceCast))
        return LLVMBuildCast(q->b, op, x, LLVMTypeOf(c), "");
    if (known && op == LLVMGetElementPtr && LLVMGetNumOperands(c) == 2) {
        by = LLVMGetOperand(c, 1);
        return LLVMBuildGEP2(q->b, LLVMGetGEPSourceElementType(c), x, &by, 1, "");
    }
    ptx_quick_refuse(q, "a constant made of an address in shared memory");
    return NULL;
}

static void constants_emit(struct quick *q, V fn, V x)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(x); i++) {
        V c = LLVMGetOperand(x, i);
        if (!LLVMIsAConstant(c))
            continue;
        LLVMPositionBuilderBefore(q->b, LLVMIsAPHINode(x) ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(x, i)) : x);
        V made = constant_emit(q, fn, c);
        if (made)
            LLVMSetOperand(x, i, made);
    }
}

static void instruction_emit(struct quick *q, V fn, V x)
{
    constants_emit(q, fn, x);
    LLVMPositionBuilderBefore(q->b, x);
    switch (LLVMGetInstructionOpcode(x)) {
    case LLVMCall: call_emit(q, fn, x); break;
    case LLVMLoad: case LLVMStore: case LLVMAtomicRMW: case LLVMAtomicCmpXchg: access_emit(q, fn, x); break;
    case LLVMAddrSpaceCast: cast_emit(q, fn, x); break;
    case LLVMICmp: compare_emit(q, x); break;
    case LLVMFence: fence_emit(q, x); break;
    default: break;
    }
}

/* Variables first, as what says how long one lives is elsewhere in its function. */
static void variables_emit(struct quick *q, V fn)
{
    LLVMBasicBlockRef bb = LLVMGetEntryBasicBlock(fn);
    for (; bb; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb), next; x; x = next) {
            next = LLVMGetNextInstruction(x);
            if (!LLVMIsAAllocaInst(x) || ptx_metadata(x, SIMT_LOCAL))
                continue;
            LLVMPositionBuilderBefore(q->b, x);
            variable_emit(q, x);
            next = q->status == AW_OK ? LLVMGetFirstInstruction(bb) : NULL;
        }
}

static void function_emit(struct quick *q, V fn)
{
    variables_emit(q, fn);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb && q->status == AW_OK; bb = LLVMGetNextBasicBlock(bb))
        for (V x = LLVMGetFirstInstruction(bb), next; x && q->status == AW_OK; x = next) {
            next = LLVMGetNextInstruction(x);
            instruction_emit(q, fn, x);
        }
}

/* Shared variables are offsets in the window: what a kernel declares begins there, the rest behind it. */
static void shared_emit(struct quick *q, const char *name, uint32_t offset)
{
    V variable = LLVMGetNamedGlobal(q->m, name), place = LLVMConstInt(q->i32, offset, 0);
    if (!variable)
        return;
    LLVMReplaceAllUsesWith(variable, LLVMConstIntToPtr(place, LLVMTypeOf(variable)));
    LLVMDeleteGlobal(variable);
}

/* ---- Entries: see struct aw_host_object */

static V entry(struct quick *q, const char *name, LLVMTypeRef *types, unsigned n)
{
    V fn = LLVMAddFunction(q->m, name, LLVMFunctionType(q->nothing, types, n, 0));
    /* With tables for unwinding, which a kernel's own functions have not either, a line table would move code. */
    static const char nounwind[] = "nounwind";
    unsigned kind = LLVMGetEnumAttributeKindForName(nounwind, sizeof nounwind - 1);
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(q->c, kind, 0));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    LLVMPositionBuilderAtEnd(q->b, LLVMAppendBasicBlockInContext(q->c, fn, "entry"));
    return fn;
}

static V blocks_emit(struct quick *q)
{
    LLVMTypeRef types[3] = { q->ptr, q->i64, q->i64 };
    V fn = entry(q, "blocks", types, 3), args[4] = { LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), LLVMGetParam(fn, 2), q->kernel };
    SERVICE(lanes_blocks, q->nothing, args, 4);
    LLVMBuildRetVoid(q->b);
    return fn;
}

static V warp_emit(struct quick *q)
{
    LLVMTypeRef types[2] = { q->ptr, q->i32 };
    V fn = entry(q, "warp", types, 2), args[3] = { LLVMGetParam(fn, 0), LLVMGetParam(fn, 1), q->kernel };
    SERVICE(lanes_warp, q->nothing, args, 3);
    LLVMBuildRetVoid(q->b);
    return fn;
}

static void object_emit(struct quick *q)
{
    const struct ptx_finish *f = q->finish;
    uint32_t flags = q->lanes ? AW_HOST_YIELD | (q->barrier ? AW_HOST_BARRIER : 0) : 0;
    V blocks = q->lanes ? NULL : blocks_emit(q), warp = warp_emit(q);
    simt_object_emit(q->m, &(struct simt_object){ f->kernel, flags, f->static_shared, f->kernarg_size, 1, f->options->block,
                                                  (uint32_t)q->local, blocks, warp });
}

/* ---- */

static void module_emit(struct quick *q)
{
    shared_emit(q, PTX_SHARED, 0);
    shared_emit(q, PTX_SHARED_DYNAMIC, (q->finish->static_shared + 15) / 16 * 16);
    for (V fn = LLVMGetFirstFunction(q->m); fn && q->status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (has_lane(fn))
            function_emit(q, fn);
    LLVMSetLinkage(q->kernel, LLVMInternalLinkage);
}

int ptx_host_quick(LLVMModuleRef m, const struct ptx_finish *finish, bool avx512, LLVMTargetMachineRef machine,
                   bool *ret_lanes, uint32_t *ret_local, struct aw_buf *diags)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    struct quick q = {
        .m = m, .c = c, .b = LLVMCreateBuilderInContext(c), .nothing = LLVMVoidTypeInContext(c), .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c), .i32 = LLVMInt32TypeInContext(c), .i64 = LLVMInt64TypeInContext(c),
        .ptr = LLVMPointerTypeInContext(c, 0), .kernel = LLVMGetNamedFunction(m, finish->kernel), .finish = finish,
        .avx512 = avx512, .diags = diags,
    };
    steps_make(&q);
    q.status = q.status ? q.status : places_inline(&q);
    if (q.status == AW_OK && ptx_host_updates_common(q.kernel, finish->options->block))
        ptx_quick_refuse(&q, "all threads update the same place");
    if (q.status == AW_OK && ptx_host_sets_together(q.kernel))
        ptx_quick_refuse(&q, "blocks update what they have set together");
    for (V fn = LLVMGetFirstFunction(m); fn && q.status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (has_lane(fn) && ptx_quick_exchanges(&q, fn))
            ptx_quick_refuse(&q, "a loop exchanges global memory in place");
    for (V fn = LLVMGetFirstFunction(m); fn && q.status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (has_lane(fn))
            argument_replace(&q, fn);
    if (q.status == AW_OK)
        ptx_quick_sites(&q);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(m, layout);
    LLVMDisposeTargetData(layout);
    if (q.status == AW_OK)
        module_emit(&q);
    if (q.status == AW_OK)
        object_emit(&q);
    LLVMDisposeBuilder(q.b);
    aw_ptrmap_fini(&q.polling);
    aw_arena_fini(&q.arena);
    *ret_lanes = q.lanes;
    *ret_local = (uint32_t)q.local;
    return q.status;
}
