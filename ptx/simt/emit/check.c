/* Looks at accesses before they are made: calls that ptx/finish/host/checks.c makes code of, once nothing else is to be done with
 * the vector form.  Until then they are opaque, and keep nobody from anything: they touch no memory that code sees.
 *
 *   aw.check.row (block, low, total, lanes, thread, what, span, offsets) lanes at known distances: `low` is the lowest byte's
 *                    address, `span` how many bytes there are to the highest one, `offsets` each lane's distance from `low`
 *   aw.check.shared  the same, `low` and `total` being of 32 bits
 *   aw.check.lanes   (block, total, lanes, thread, what, addresses)             lanes anywhere
 *   aw.check.race.* (block, at, lanes, thread, what, offsets, values) the same for who looks for races: `at` is `low` or
 *                    each lane's address; values, of stores alone, are bytes
 *
 * lanes are those that make the access, as bits; thread is the number of the vector's first one in the block; total is the size
 * of shared memory, 0 for an access elsewhere; what is AW_HOST_ACCESS. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"

#include <anywarp/hostabi.h>
#include <stdio.h>
#include <string.h>

/* An access that is looked at. */
struct look {
    struct simt_fn *f;
    LLVMValueRef ptr; /* the source's */
    uint64_t size, align;
    bool shared;
    LLVMValueRef what, stored; /* stored: NULL where it is no store */
    int64_t off[SIMT_LANES], low, high; /* of lanes at known distances: from the base; the lowest, and the highest's end */
};

/* `race`: it is one of those. */
static LLVMValueRef check_function(struct simt *u, const char *name, LLVMValueRef *args, unsigned n, bool race)
{
    LLVMValueRef fn = LLVMGetNamedFunction(u->out, name);
    LLVMTypeRef types[8];
    if (fn)
        return fn;
    for (unsigned i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    fn = LLVMAddFunction(u->out, name, LLVMFunctionType(u->v_void, types, n, 0));
    static const struct { const char *name; uint64_t value; } attributes[] = { { "nounwind", 0 }, { "willreturn", 0 },
                                                                               { "memory", 3 << 2 } };
    bool sees = race && n > SIMT_RACE_VALUES; /* what is there, which must be there then */
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes - sees; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i].name, strlen(attributes[i].name));
        LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(u->ctx, kind, attributes[i].value));
    }
    if (race)
        LLVMAddTargetDependentFunctionAttr(fn, SIMT_CHECK_RACE, "");
    return fn;
}

bool simt_is_race_check(LLVMValueRef function)
{
    return LLVMGetStringAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, SIMT_CHECK_RACE,
                                         sizeof SIMT_CHECK_RACE - 1);
}

static void call(struct simt *u, const char *name, LLVMValueRef *args, unsigned n, bool race)
{
    LLVMValueRef fn = check_function(u, name, args, n, race);
    LLVMBuildCall2(u->b, LLVMGlobalGetValueType(fn), fn, args, n, "");
}

static LLVMValueRef active(struct simt_fn *f)
{
    struct simt *u = f->u;
    if (f->form != SIMT_FORM_SINGLE)
        return simt_bits(u, f->mask);
    return LLVMBuildAnd(u->b, f->lanes, LLVMBuildNeg(u->b, f->lanes, ""), ""); /* the lowest of those that are left */
}

static LLVMValueRef total_of(const struct look *l)
{
    struct simt *u = l->f->u;
    return l->shared ? simt_field(u, l->f->launch, offsetof(struct aw_host_launch, total_shared), u->i32, true) : simt_c64(u, 0);
}

static LLVMValueRef first_thread(struct simt_fn *f)
{
    return LLVMBuildMul(f->u->b, f->part, simt_c32(f->u, f->u->lanes), "");
}

/* Lanes at distances that are known when compiling, and not too far from each other to be looked at as one. */
static bool is_row(struct look *l)
{
    struct simt_fn *f = l->f;
    const int64_t *off = simt_varying(f, l->ptr) ? NULL : simt_offsets(f, l->ptr);
    bool one = f->form == SIMT_FORM_SINGLE || simt_uniform(f, l->ptr);
    if (!one && simt_varying(f, l->ptr))
        return false;
    l->low = INT64_MAX;
    l->high = INT64_MIN;
    for (int i = 0; i < f->u->lanes; i++) {
        l->off[i] = one ? 0 : off[i];
        l->low = l->off[i] < l->low ? l->off[i] : l->low;
        l->high = l->off[i] > l->high ? l->off[i] : l->high;
        if (l->off[i] % (int64_t)l->align)
            return false;
    }
    l->high += (int64_t)l->size;
    return l->shared ? l->high - l->low < INT32_MAX : l->high - l->low <= AW_HOST_ACCESS_SPAN;
}

static void row_emit(struct look *l)
{
    struct simt *u = l->f->u;
    struct simt_val *v = simt_get(l->f, l->ptr);
    LLVMValueRef base = v && v->kind == SIMT_AFFINE ? v->s : simt_scalar(l->f, l->ptr), offsets[SIMT_LANES];
    LLVMTypeRef t = l->shared ? u->i32 : u->i64;
    if (LLVMGetTypeKind(LLVMTypeOf(base)) == LLVMPointerTypeKind)
        base = LLVMBuildPtrToInt(u->b, base, t, "");
    for (int i = 0; i < u->lanes; i++)
        offsets[i] = simt_c32(u, l->off[i] - l->low);
    LLVMValueRef args[] = {
        [SIMT_ROW_BLOCK] = l->f->block, [SIMT_ROW_LOW] = LLVMBuildAdd(u->b, base, LLVMConstInt(t, (uint64_t)l->low, 1), ""),
        [SIMT_ROW_TOTAL] = total_of(l), [SIMT_ROW_LANES] = active(l->f), [SIMT_ROW_THREAD] = first_thread(l->f),
        [SIMT_ROW_WHAT] = l->what, [SIMT_ROW_SPAN] = simt_c32(u, l->high - l->low),
        [SIMT_ROW_OFFSETS] = LLVMConstVector(offsets, (unsigned)u->lanes)
    };
    call(u, l->shared ? SIMT_CHECK_SHARED : SIMT_CHECK_ROW, args, 8, false);
}

static void lanes_emit(struct look *l)
{
    struct simt *u = l->f->u;
    LLVMValueRef at = simt_vector(l->f, l->ptr), total = total_of(l);
    LLVMTypeRef wide = simt_vec_type(u, u->i64);
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(at))) == LLVMPointerTypeKind)
        at = LLVMBuildPtrToInt(u->b, at, wide, "");
    else if (l->shared)
        at = LLVMBuildZExt(u->b, at, wide, "");
    if (l->shared)
        total = LLVMBuildZExt(u->b, total, u->i64, "");
    LLVMValueRef args[] = { [SIMT_ANY_BLOCK] = l->f->block, [SIMT_ANY_TOTAL] = total, [SIMT_ANY_LANES] = active(l->f),
                            [SIMT_ANY_THREAD] = first_thread(l->f), [SIMT_ANY_WHAT] = l->what, [SIMT_ANY_ADDRESSES] = at };
    call(u, SIMT_CHECK_LANES, args, 6, false);
}

/* ---- Races */

/* The lanes' values of a store, as bytes. */
static LLVMValueRef values_of(struct look *l, LLVMValueRef value)
{
    struct simt *u = l->f->u;
    unsigned n = (unsigned)u->lanes, bits = (unsigned)LLVMSizeOfTypeInBits(u->in_layout, LLVMTypeOf(value));
    LLVMTypeRef whole = LLVMIntTypeInContext(u->ctx, 8 * (unsigned)l->size);
    LLVMValueRef v = simt_vector(l->f, value);
    LLVMTypeRef elem = LLVMGetElementType(LLVMTypeOf(v));
    if (LLVMGetTypeKind(elem) == LLVMPointerTypeKind)
        v = LLVMBuildPtrToInt(u->b, v, LLVMVectorType(whole, n), "");
    else if (bits < 8 * l->size)
        v = LLVMBuildZExt(u->b, v, LLVMVectorType(whole, n), "");
    return LLVMBuildBitCast(u->b, v, LLVMVectorType(LLVMInt8TypeInContext(u->ctx), n * (unsigned)l->size), "");
}

static void race_emit(struct look *l, LLVMValueRef stored, bool row)
{
    struct simt *u = l->f->u;
    struct simt_val *v = simt_get(l->f, l->ptr);
    LLVMTypeRef t = row && l->shared ? u->i32 : row ? u->i64 : simt_vec_type(u, u->i64);
    LLVMValueRef at = !row ? simt_vector(l->f, l->ptr) : v && v->kind == SIMT_AFFINE ? v->s : simt_scalar(l->f, l->ptr);
    LLVMValueRef offsets[SIMT_LANES];
    LLVMTypeRef scalar = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind ? LLVMGetElementType(LLVMTypeOf(at))
                                                                               : LLVMTypeOf(at);
    if (LLVMGetTypeKind(scalar) == LLVMPointerTypeKind)
        at = LLVMBuildPtrToInt(u->b, at, t, "");
    else if (LLVMTypeOf(at) != t)
        at = LLVMBuildZExt(u->b, at, t, "");
    if (row)
        at = LLVMBuildAdd(u->b, at, LLVMConstInt(t, (uint64_t)l->low, 1), "");
    for (int i = 0; i < u->lanes; i++)
        offsets[i] = simt_c32(u, row ? l->off[i] - l->low : 0);
    LLVMValueRef args[SIMT_RACE_VALUES + 1] = {
        [SIMT_RACE_BLOCK] = l->f->block, [SIMT_RACE_AT] = at, [SIMT_RACE_LANES] = active(l->f),
        [SIMT_RACE_THREAD] = first_thread(l->f), [SIMT_RACE_WHAT] = l->what,
        [SIMT_RACE_OFFSETS] = LLVMConstVector(offsets, (unsigned)u->lanes)
    };
    char name[64];
    if (stored)
        args[SIMT_RACE_VALUES] = values_of(l, stored);
    snprintf(name, sizeof name, "aw.check.race.%s%d%s%u", !row ? "lanes" : l->shared ? "shared" : "row", u->lanes,
             stored ? ".store" : "", stored ? (unsigned)l->size : 0);
    call(u, name, args, SIMT_RACE_VALUES + (stored != NULL), true);
}

static void look_emit(struct look *l, bool row)
{
    if (row)
        row_emit(l);
    else
        lanes_emit(l);
    if (l->f->u->options->races)
        race_emit(l, l->stored, row);
}

/* Beside lanes that are where their distances say, those that have wrapped. */
static void checked_row_emit(struct look *l, LLVMValueRef ok)
{
    struct simt_fn *f = l->f;
    LLVMBasicBlockRef hot = simt_new_block(f, "row"), cold = simt_new_block(f, "lanes"), done = simt_new_block(f, "looked");
    simt_mark_likely(LLVMBuildCondBr(f->u->b, ok, hot, cold));
    LLVMPositionBuilderAtEnd(f->u->b, hot);
    look_emit(l, true);
    LLVMBuildBr(f->u->b, done);
    LLVMPositionBuilderAtEnd(f->u->b, cold);
    f->epoch++;
    look_emit(l, false);
    f->epoch++; /* distances that were built here are of no use elsewhere */
    LLVMBuildBr(f->u->b, done);
    LLVMPositionBuilderAtEnd(f->u->b, done);
}

int simt_check_thread(const struct simt *u, LLVMValueRef x)
{
    static const struct { const char *name; int thread; } checks[] = {
        { SIMT_CHECK_ROW, SIMT_ROW_THREAD }, { SIMT_CHECK_SHARED, SIMT_ROW_THREAD }, { SIMT_CHECK_LANES, SIMT_ANY_THREAD }
    };
    LLVMValueRef callee = LLVMIsACallInst(x) && u->options->checks ? LLVMGetCalledValue(x) : NULL;
    for (size_t i = 0; i < sizeof checks / sizeof *checks && callee; i++)
        if (callee == LLVMGetNamedFunction(u->out, checks[i].name))
            return checks[i].thread;
    return -1;
}

/* ---- What orders accesses of warps and lanes */

static LLVMAtomicOrdering order_of(LLVMValueRef inst)
{
    return LLVMGetInstructionOpcode(inst) == LLVMAtomicCmpXchg ? LLVMGetCmpXchgSuccessOrdering(inst) : LLVMGetOrdering(inst);
}

static bool releases(LLVMValueRef inst)
{
    return order_of(inst) == LLVMAtomicOrderingRelease || order_of(inst) >= LLVMAtomicOrderingAcquireRelease;
}

static bool acquires(LLVMValueRef inst)
{
    return order_of(inst) == LLVMAtomicOrderingAcquire || order_of(inst) >= LLVMAtomicOrderingAcquireRelease;
}

void simt_order_before(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    if (!f->u->options->races)
        return;
    if (op == LLVMFence) /* lanes in step are ordered by one of their own */
        simt_order_emit(f, LLVMGetAtomicSyncScopeID(inst) ? AW_HOST_ORDER_FENCE : AW_HOST_ORDER_WARP);
    else if ((op == LLVMStore || op == LLVMAtomicRMW || op == LLVMAtomicCmpXchg) && releases(inst))
        simt_order_emit(f, AW_HOST_ORDER_FENCE);
}

void simt_order_behind(struct simt_fn *f, LLVMValueRef inst)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    if (f->u->options->races && (op == LLVMLoad || op == LLVMAtomicRMW || op == LLVMAtomicCmpXchg) && acquires(inst))
        simt_order_emit(f, AW_HOST_ORDER_FENCE);
}

void simt_check_emit(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    LLVMOpcode op = LLVMGetInstructionOpcode(inst);
    bool load = op == LLVMLoad, store = op == LLVMStore, update = op == LLVMAtomicRMW || op == LLVMAtomicCmpXchg;
    if (!u->options->checks || !(load || store || update) || ptx_metadata(inst, PTX_OWN_READ))
        return;
    struct look l = { .f = f, .ptr = LLVMGetOperand(inst, store), .stored = store ? LLVMGetOperand(inst, 0) : NULL };
    unsigned space = simt_space(LLVMTypeOf(l.ptr));
    l.shared = space == SIMT_SPACE_SHARED;
    if (!l.shared && space != 0 && space != SIMT_SPACE_GLOBAL)
        return;
    l.size = LLVMStoreSizeOfType(u->in_layout, load ? LLVMTypeOf(inst) : LLVMTypeOf(LLVMGetOperand(inst, store ? 0 : 1)));
    l.align = LLVMGetAlignment(inst) ? LLVMGetAlignment(inst) : 1;
    uint32_t kind = load ? AW_HOST_ACCESS_READ : store ? AW_HOST_ACCESS_WRITE : AW_HOST_ACCESS_READ | AW_HOST_ACCESS_WRITE;
    if (u->options->races && (update || LLVMGetVolatile(inst) || order_of(inst) != LLVMAtomicOrderingNotAtomic))
        kind |= AW_HOST_ACCESS_STRONG;
    l.what = simt_c32(u, (int64_t)(l.size | (uint64_t)__builtin_ctzll(l.align) << AW_HOST_ACCESS_ALIGN | kind |
                                   (l.shared ? AW_HOST_ACCESS_SHARED : 0)));
    bool row = is_row(&l);
    LLVMValueRef ok = row && f->form != SIMT_FORM_SINGLE ? simt_ok(f, l.ptr) : NULL;
    if (ok)
        checked_row_emit(&l, ok);
    else
        look_emit(&l, row);
}
