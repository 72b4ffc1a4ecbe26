/* Tangled and overlarge functions (tangle.h): found before anything else looks at them, so that no pass of LLVM takes hours over
 * them, and turned into a loop over their blocks when all that matters to other lanes is decided.
 *
 * Each lane has a number, the place where it is to go on.  The loop takes the lowest of the warp's and runs the block there, for
 * the lanes that are at it; they leave it with another number.  Nothing has to be nested for that, and nothing lives in registers
 * from block to block, as what is alive everywhere would have a value to choose at each end.  Lanes meet again as they would:
 * whoever is behind goes first. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/tangle.h"

#include "base/map.h"
#include "base/status.h"
#include "base/vec.h"
#include "lower/metadata.h"
#include "lower/simt.h"
#include "simt/vectorise.h"
#include "finish/target.h"
#include <string.h>

#define TANGLED SIMT_DISPATCHED

/* See tangle_cost.  Kernels of the tests and benchmarks have at most some ten thousands; at twice this LLVM takes a minute. */
enum { COST_MAX = 1500000 };

/* Of LLVM 22's AMDGPU backend: nested or not, it takes 66 s for 5,000 branches in a row, and has no stack left at 10,000. */
enum { CARD_BLOCKS_MAX = 8000 };

/* ---- Which */

static void enum_attribute(LLVMValueRef fn, const char *name, bool set)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMRemoveEnumAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
    if (set)
        LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(LLVMGetModuleContext(LLVMGetGlobalParent(fn)), kind, 0));
}

bool ptx_tangle_is(LLVMValueRef fn)
{
    return LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, TANGLED, sizeof TANGLED - 1);
}

void ptx_tangle_hold(LLVMModuleRef module, bool hold)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && ptx_tangle_is(fn)) {
            enum_attribute(fn, "optnone", hold);
            enum_attribute(fn, "noinline", hold || tangle_outline_is(fn));
        }
}

void ptx_tangle_inline(LLVMValueRef fn)
{
    LLVMModuleRef module = LLVMGetGlobalParent(fn);
    LLVMAttributeIndex at = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
    if (!ptx_tangle_is(fn))
        return;
    enum_attribute(fn, "optnone", false);
    enum_attribute(fn, "noinline", false);
    LLVMRemoveStringAttributeAtIndex(fn, at, TANGLED, sizeof TANGLED - 1);
    for (LLVMValueRef kernel = LLVMGetFirstFunction(module); kernel; kernel = LLVMGetNextFunction(kernel))
        if (LLVMGetStringAttributeAtIndex(kernel, at, "aw-kernel", 9))
            LLVMAddAttributeAtIndex(kernel, at,
                                    LLVMCreateStringAttribute(LLVMGetModuleContext(module), TANGLED, sizeof TANGLED - 1, "", 0));
    ptx_tangle_hold(module, true);
}

static bool is_tangled(LLVMValueRef fn, bool card, bool *ret_ok)
{
    struct tangle_graph g;
    bool several = false;
    *ret_ok = tangle_graph_make(&g, fn);
    uint64_t cost = *ret_ok ? tangle_cost(&g, &several, ret_ok) : 0;
    bool large = card && g.n > CARD_BLOCKS_MAX;
    tangle_graph_fini(&g);
    return cost > COST_MAX || large || (card && several);
}

static const char register_mark[] = "aw.register"; /* of phis and freezes that stand for a register */

/* Is it a variable that is only read and written as a whole? */
static bool is_register(LLVMValueRef x)
{
    bool plain = LLVMIsAAllocaInst(x) && LLVMIsAConstantInt(LLVMGetOperand(x, 0));
    for (LLVMUseRef use = plain ? LLVMGetFirstUse(x) : NULL; use && plain; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        plain = (LLVMIsALoadInst(user) && LLVMTypeOf(user) == LLVMGetAllocatedType(x)) ||
                (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) != x &&
                 LLVMTypeOf(LLVMGetOperand(user, 0)) == LLVMGetAllocatedType(x));
    }
    return plain;
}

/* What is written to a register gets a value of its own.  Otherwise a value that is in two registers would join them for all
 * time. */
static void values_name(LLVMValueRef fn)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(fn)));
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(fn);
    for (LLVMValueRef x = LLVMGetFirstInstruction(entry); x; x = LLVMGetNextInstruction(x))
        for (LLVMUseRef use = is_register(x) ? LLVMGetFirstUse(x) : NULL; use; use = LLVMGetNextUse(use)) {
            LLVMValueRef store = LLVMGetUser(use);
            if (!LLVMIsAStoreInst(store) ||
                (LLVMGetInstructionParent(store) == entry && LLVMIsConstant(LLVMGetOperand(store, 0))))
                continue; /* one that says how it begins */
            LLVMPositionBuilderBefore(b, store);
            LLVMValueRef named = LLVMBuildFreeze(b, LLVMGetOperand(store, 0), "");
            ptx_mark(named, register_mark);
            LLVMSetOperand(store, 0, named);
        }
    LLVMDisposeBuilder(b);
}

static void phis_mark(LLVMValueRef fn)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x && LLVMIsAPHINode(x); x = LLVMGetNextInstruction(x))
            ptx_mark(x, register_mark);
}

/* ---- Where registers are many and blocks as well, LLVM takes time with their product to find the values that live from block to
 * block, which go back to memory soon.  Such registers stay there: a call that takes their addresses keeps LLVM from them. */
enum { PRODUCT_MAX = 4000000 };

struct held_register {
    LLVMValueRef variable;
    LLVMBasicBlockRef last; /* block that was seen to access it */
    bool exposed;           /* some block reads what another has left in it */
};

typedef AW_VEC(struct held_register) register_list;

static bool registers_find(LLVMValueRef fn, register_list *list, struct aw_ptrmap *number)
{
    bool ok = true;
    for (LLVMValueRef x = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn)); x && ok; x = LLVMGetNextInstruction(x))
        if (is_register(x))
            ok = aw_vec_push(list, (struct held_register){ .variable = x }) &&
                 aw_ptrmap_put(number, x, (void *)(intptr_t)list->n);
    return ok;
}

/* How many of them are exposed. */
static size_t registers_look(LLVMValueRef fn, const register_list *list, const struct aw_ptrmap *number)
{
    size_t n = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef address = LLVMIsALoadInst(x) ? LLVMGetOperand(x, 0) : LLVMIsAStoreInst(x) ? LLVMGetOperand(x, 1) : NULL;
            intptr_t i = address ? (intptr_t)aw_ptrmap_find(number, address) : 0;
            struct held_register *r = i ? &list->at[i - 1] : NULL;
            if (!r || r->last == bb)
                continue;
            n += LLVMIsALoadInst(x) && !r->exposed;
            r->exposed |= LLVMIsALoadInst(x) != NULL;
            r->last = bb;
        }
    return n;
}

static LLVMValueRef holder_get(LLVMModuleRef module, LLVMTypeRef pointer)
{
    static const char name[] = "aw.held";
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(LLVMGetModuleContext(module)), &pointer, 1, false);
    LLVMValueRef fn = LLVMGetNamedFunction(module, name);
    return fn ? fn : LLVMAddFunction(module, name, type);
}

static void registers_hold(LLVMValueRef fn, const register_list *list)
{
    LLVMModuleRef module = LLVMGetGlobalParent(fn);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(fn)));
    LLVMSetCurrentDebugLocation2(b, NULL);
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].exposed) {
            LLVMValueRef variable = list->at[i].variable, holder = holder_get(module, LLVMTypeOf(variable));
            LLVMBuildCall2(b, LLVMGlobalGetValueType(holder), holder, &variable, 1, "");
        }
    LLVMDisposeBuilder(b);
}

static bool too_many_hold(LLVMValueRef fn)
{
    register_list list = { 0 };
    struct aw_ptrmap number = { 0 };
    bool ok = registers_find(fn, &list, &number);
    if (ok && registers_look(fn, &list, &number) * (uint64_t)LLVMCountBasicBlocks(fn) > PRODUCT_MAX)
        registers_hold(fn, &list);
    aw_vec_fini(&list);
    aw_ptrmap_fini(&number);
    return ok;
}

static void holder_drop(LLVMModuleRef module)
{
    LLVMValueRef holder = LLVMGetNamedFunction(module, "aw.held");
    while (holder && LLVMGetFirstUse(holder))
        LLVMInstructionEraseFromParent(LLVMGetUser(LLVMGetFirstUse(holder)));
    if (holder)
        LLVMDeleteFunction(holder);
}

typedef void each_function(LLVMValueRef fn);

static void each_tangled(LLVMModuleRef module, each_function *f)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && ptx_tangle_is(fn))
            f(fn);
}

int ptx_tangle_find(LLVMModuleRef module, bool card, bool *ret_any, struct aw_buf *diags)
{
    LLVMContextRef c = LLVMGetModuleContext(module);
    *ret_any = false;
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn)) {
        bool ok = true;
        if (LLVMIsDeclaration(fn) || !(ptx_tangle_is(fn) || is_tangled(fn, card, &ok)))
            continue;
        if (!ok)
            return AW_ERR_OUT_OF_MEMORY;
        LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(c, TANGLED, sizeof TANGLED - 1, "", 0));
        *ret_any = true;
    }
    if (!*ret_any)
        return AW_OK;
    /* Joins that lowering has made are no register's: they go to memory first, to come back as such. */
    int status = ptx_registers_to_memory(module, diags);
    if (status != AW_OK)
        return status;
    each_tangled(module, values_name);
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && ptx_tangle_is(fn) && !too_many_hold(fn))
            status = AW_ERR_OUT_OF_MEMORY;
    if (status == AW_OK)
        status = ptx_passes_run(module, NULL, "function(sroa)", diags);
    holder_drop(module);
    each_tangled(module, phis_mark);
    ptx_tangle_hold(module, true);
    return status;
}

/* ---- To memory again */

struct web {
    LLVMValueRef value; /* a phi, or one of what was written */
    int parent;
    LLVMValueRef slot;  /* of the root */
    LLVMValueRef first; /* of the root: what it begins with, or NULL */
    bool needed;        /* of the root: it lives in memory */
};

struct demotion {
    LLVMValueRef fn;
    LLVMBuilderRef b;
    AW_VEC(struct web) webs;
    struct aw_ptrmap number; /* of a value, from 1 */
};

static int root_of(struct demotion *d, int i)
{
    while (d->webs.at[i].parent != i)
        i = d->webs.at[i].parent = d->webs.at[d->webs.at[i].parent].parent;
    return i;
}

static int number_of(const struct demotion *d, LLVMValueRef v)
{
    return (int)(intptr_t)aw_ptrmap_find(&d->number, v) - 1;
}

/* Is it a value, no register's, that other blocks use? */
static bool crosses(LLVMValueRef x)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(x));
    if (LLVMIsAPHINode(x) || LLVMIsAAllocaInst(x) || kind == LLVMVoidTypeKind || kind == LLVMStructTypeKind)
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(x); use; use = LLVMGetNextUse(use))
        if (LLVMGetInstructionParent(LLVMGetUser(use)) != LLVMGetInstructionParent(x) || LLVMIsAPHINode(LLVMGetUser(use)))
            return true;
    return false;
}

static bool webs_find(struct demotion *d)
{
    bool ok = true;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(d->fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); ok && x; x = LLVMGetNextInstruction(x))
            if (((LLVMIsAPHINode(x) || LLVMIsAFreezeInst(x)) && ptx_metadata(x, register_mark)) || crosses(x)) {
                int i = (int)d->webs.n;
                ok = aw_vec_push(&d->webs, (struct web){ .value = x, .parent = i });
                ok = ok && aw_ptrmap_put(&d->number, x, (void *)(intptr_t)d->webs.n);
            }
    for (size_t i = 0; ok && i < d->webs.n; i++) {
        LLVMValueRef x = d->webs.at[i].value;
        for (unsigned j = 0; LLVMIsAPHINode(x) && j < LLVMCountIncoming(x); j++) {
            int other = number_of(d, LLVMGetIncomingValue(x, j));
            if (other >= 0)
                d->webs.at[root_of(d, other)].parent = root_of(d, (int)i);
        }
    }
    return ok;
}

/* Who needs a place: what several values come to, and what is used in other blocks. */
static void webs_need(struct demotion *d)
{
    for (size_t i = 0; i < d->webs.n; i++) {
        LLVMValueRef x = d->webs.at[i].value;
        struct web *root = &d->webs.at[root_of(d, (int)i)];
        root->needed |= LLVMIsAPHINode(x) != NULL;
        for (LLVMUseRef use = LLVMGetFirstUse(x); use && !root->needed; use = LLVMGetNextUse(use))
            root->needed = LLVMIsAPHINode(LLVMGetUser(use)) ||
                           LLVMGetInstructionParent(LLVMGetUser(use)) != LLVMGetInstructionParent(x);
        for (unsigned j = 0; LLVMIsAPHINode(x) && j < LLVMCountIncoming(x); j++)
            if (LLVMIsConstant(LLVMGetIncomingValue(x, j)) && !LLVMIsUndef(LLVMGetIncomingValue(x, j)))
                root->first = LLVMGetIncomingValue(x, j);
    }
}

/* A truth value is a byte in memory. */
static LLVMTypeRef held_type(LLVMTypeRef t)
{
    bool truth = LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == 1;
    return truth ? LLVMInt8TypeInContext(LLVMGetTypeContext(t)) : t;
}

static void put(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef slot)
{
    LLVMTypeRef held = LLVMGetAllocatedType(slot);
    LLVMBuildStore(b, held == LLVMTypeOf(x) ? x : LLVMBuildZExt(b, x, held, ""), slot);
}

static LLVMValueRef get(LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef slot)
{
    LLVMTypeRef held = LLVMGetAllocatedType(slot);
    LLVMValueRef x = LLVMBuildLoad2(b, held, slot, "");
    return held == type ? x : LLVMBuildTrunc(b, x, type, "");
}

static void slots_make(struct demotion *d)
{
    LLVMValueRef before = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(d->fn));
    while (LLVMIsAAllocaInst(before))
        before = LLVMGetNextInstruction(before);
    LLVMPositionBuilderBefore(d->b, before);
    for (size_t i = 0; i < d->webs.n; i++)
        if (d->webs.at[i].parent == (int)i && d->webs.at[i].needed) {
            LLVMValueRef first = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(d->fn));
            LLVMPositionBuilderBefore(d->b, first);
            d->webs.at[i].slot = LLVMBuildAlloca(d->b, held_type(LLVMTypeOf(d->webs.at[i].value)), "");
            LLVMPositionBuilderBefore(d->b, before);
            if (d->webs.at[i].first)
                put(d->b, d->webs.at[i].first, d->webs.at[i].slot);
        }
}

/* A use elsewhere reads what the register then holds, right before it. */
static void use_rewrite(struct demotion *d, LLVMValueRef user, LLVMValueRef x, LLVMValueRef slot)
{
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(user); i++) {
        if (LLVMGetOperand(user, i) != x)
            continue;
        LLVMPositionBuilderBefore(d->b, LLVMIsAPHINode(user) ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, i)) : user);
        LLVMSetOperand(user, i, get(d->b, LLVMTypeOf(x), slot));
    }
}

static bool value_rewrite(struct demotion *d, LLVMValueRef x, LLVMValueRef slot)
{
    bool written = !LLVMIsAPHINode(x), ok = true;
    AW_VEC(LLVMValueRef) users = { 0 };
    for (LLVMUseRef use = LLVMGetFirstUse(x); use && ok; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        bool joins = LLVMIsAPHINode(user);
        if (!(joins && number_of(d, user) >= 0) &&
            !(written && !joins && LLVMGetInstructionParent(user) == LLVMGetInstructionParent(x)))
            ok = aw_vec_push(&users, user);
    }
    for (size_t i = 0; i < users.n; i++)
        use_rewrite(d, users.at[i], x, slot);
    aw_vec_fini(&users);
    if (written) {
        LLVMPositionBuilderBefore(d->b, LLVMGetNextInstruction(x));
        put(d->b, x, slot);
    }
    return ok;
}

static bool webs_rewrite(struct demotion *d)
{
    bool ok = true;
    for (size_t i = 0; i < d->webs.n; i++) {
        LLVMValueRef slot = d->webs.at[root_of(d, (int)i)].slot;
        if (slot)
            ok = ok && value_rewrite(d, d->webs.at[i].value, slot);
    }
    for (size_t i = 0; i < d->webs.n; i++)
        if (LLVMIsAPHINode(d->webs.at[i].value)) {
            /* others' that go, too */
            LLVMReplaceAllUsesWith(d->webs.at[i].value, LLVMGetPoison(LLVMTypeOf(d->webs.at[i].value)));
            LLVMInstructionEraseFromParent(d->webs.at[i].value);
        }
    return ok;
}

int ptx_tangle_demote(LLVMValueRef fn)
{
    struct demotion d = { .fn = fn, .b = LLVMCreateBuilderInContext(LLVMGetModuleContext(LLVMGetGlobalParent(fn))) };
    bool ok = webs_find(&d);
    if (ok) {
        webs_need(&d);
        slots_make(&d);
        ok = webs_rewrite(&d);
    }
    LLVMDisposeBuilder(d.b);
    aw_vec_fini(&d.webs);
    aw_ptrmap_fini(&d.number);
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static bool joins(LLVMModuleRef module)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        for (LLVMBasicBlockRef bb = ptx_tangle_is(fn) ? LLVMGetFirstBasicBlock(fn) : NULL; bb; bb = LLVMGetNextBasicBlock(bb))
            if (LLVMIsAPHINode(LLVMGetFirstInstruction(bb)))
                return true;
    return false;
}

int ptx_tangle_take_apart(LLVMModuleRef module, int size, struct aw_buf *diags)
{
    int status = AW_OK;
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && ptx_tangle_is(fn))
            status = ptx_tangle_demote(fn);
    if (status != AW_OK)
        return status;
    ptx_tangle_hold(module, false);
    status = ptx_passes_run(module, NULL, "function(simplifycfg,lower-switch)", diags);
    /* Others' joins, of functions inlined, say; reg2mem splits edges, which makes many more blocks. */
    if (status == AW_OK && joins(module))
        status = ptx_registers_to_memory(module, diags);
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn && status == AW_OK; fn = LLVMGetNextFunction(fn))
        if (!LLVMIsDeclaration(fn) && ptx_tangle_is(fn))
            status = ptx_tangle_demote(fn);
    if (status == AW_OK)
        status = ptx_tangle_dispatch(module, size);
    ptx_tangle_hold(module, true);
    return status;
}
