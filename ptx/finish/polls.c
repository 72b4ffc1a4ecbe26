/* Plain loads that a wait polls.
 *
 *     do t = clock(); while (volatile_flag != row[i]);
 *
 * ends when another thread writes row[i].  NVIDIA's compilers leave such a load in the loop, LLVM moves it out.  So where the end
 * of a loop depends on something volatile or atomic, too, or a loop that writes nothing reads a clock, sleeps or fences, each
 * plain load of one place on which its end depends is made volatile before anything moves: that keeps it in the loop, and makes
 * it something that may be waited for (wait.c).  Not so a load that is only given to a compare-and-swap, as what it expects to
 * find: it ends nothing, as the loop ends by what is found. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/conditions.h"
#include "finish/target.h"

typedef LLVMValueRef V;

enum sign { POLLS, PASSES_TIME, WRITES, SYNCHRONISES };

enum { SMALL = 8, CALLS = 3 }; /* blocks of a function that is looked into, and how deep: unoptimised code has fences in functions
                                * of their own */

static unsigned signs_within(V fn, unsigned depth);

/* What an instruction says of the loop that it is in: a set with a bit for each sign. */
static unsigned signs_of(V x, unsigned depth)
{
    enum ptx_simt id = ptx_simt_called(x);
    if (ptx_flow_is_barrier(x))
        return 1u << SYNCHRONISES;
    if (ptx_flow_is_ordered(x) || LLVMIsAAtomicRMWInst(x) || LLVMIsAAtomicCmpXchgInst(x))
        return 1u << POLLS;
    if (LLVMIsAFenceInst(x) || id == PTX_SIMT_CLOCK || id == PTX_SIMT_GLOBALTIMER || id == PTX_SIMT_NANOSLEEP)
        return 1u << PASSES_TIME;
    if (LLVMIsAStoreInst(x))
        return ptx_conditions_space(LLVMGetOperand(x, 1), AS_LOCAL) ? 0 : 1u << WRITES;
    V callee = LLVMIsACallInst(x) && id == PTX_SIMT_NONE ? LLVMIsAFunction(LLVMGetCalledValue(x)) : NULL;
    return callee && depth < CALLS && LLVMCountBasicBlocks(callee) <= SMALL ? signs_within(callee, depth + 1) : 0;
}

static unsigned signs_in(LLVMBasicBlockRef bb, unsigned depth)
{
    unsigned ret = 0;
    for (V x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x))
        ret |= signs_of(x, depth);
    return ret;
}

static unsigned signs_within(V fn, unsigned depth)
{
    unsigned ret = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        ret |= signs_in(b, depth);
    return ret;
}

static bool waits(const struct conditions *c, unsigned signs)
{
    if (signs & 1u << SYNCHRONISES)
        return false;
    for (unsigned i = 0; i < c->n; i++)
        if (signs_of(c->at[i], CALLS) & 1u << POLLS)
            return true;
    return signs & 1u << PASSES_TIME && !(signs & (1u << WRITES | 1u << POLLS));
}

static bool is_plain_load(V x)
{
    if (!LLVMIsALoadInst(x) || ptx_flow_is_ordered(x))
        return false;
    unsigned kind = LLVMGetMDKindIDInContext(LLVMGetTypeContext(LLVMTypeOf(x)), "invariant.load", strlen("invariant.load"));
    if (LLVMGetMetadata(x, kind))
        return false;
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(x, 0)));
    return space != AS_CONST && !ptx_conditions_space(LLVMGetOperand(x, 0), AS_LOCAL);
}

static bool mark(const struct flow *f, const bool *body, void *unused)
{
    (void)unused;
    unsigned signs = 0;
    struct conditions c;
    for (unsigned i = 0; i < f->n; i++)
        signs |= body[i] ? signs_in(f->blocks[i].bb, 0) : 0;
    ptx_conditions(f, body, PTX_CONDITIONS_FOUND, &c);
    for (unsigned i = 0; waits(&c, signs) && i < c.n; i++)
        if (is_plain_load(c.at[i]) && ptx_conditions_invariant(f, body, LLVMGetOperand(c.at[i], 0)))
            LLVMSetVolatile(c.at[i], true);
    return false;
}

static bool may_wait(V fn)
{
    return signs_within(fn, 0) & (1u << POLLS | 1u << PASSES_TIME);
}

int ptx_target_polls(LLVMModuleRef module, struct aw_buf *diags)
{
    bool any = false, ok = true;
    for (V fn = LLVMGetFirstFunction(module); fn && !any; fn = LLVMGetNextFunction(fn))
        any = may_wait(fn);
    int status = any ? ptx_passes_run(module, NULL, "function(sroa)", diags) : AW_OK;
    for (V fn = any && status == AW_OK ? LLVMGetFirstFunction(module) : NULL; fn && ok; fn = LLVMGetNextFunction(fn)) {
        if (!may_wait(fn))
            continue;
        struct flow f;
        ok = ptx_flow_init(&f, fn, 0);
        bool *headers = ok ? AW_NEW_ARRAY(&f.arena, bool, f.n) : NULL;
        ok = headers && ptx_flow_loops(&f, mark, NULL, headers);
        ptx_flow_fini(&f);
    }
    return ok ? status : AW_ERR_OUT_OF_MEMORY;
}
