/* The host finisher: SIMT IR of one kernel to an x86-64 shared object per include/anywarp/hostabi.h.
 *
 *   expand     approximations and library calls become SIMT IR
 *   optimise   one lane's view, by LLVM's scalar passes
 *   structure  small vectors taken apart, paths ended, control flow nested
 *   vectorise  one lane to a warp (ptx/simt/)
 *   clean up   by LLVM's passes on the vector form
 *   emit       LLVM's x86 backend, lld
 *
 * Not the vectoriser itself, nor what runs the result (src/provider/host). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "lower/copy.h"
#include "lower/simt.h"
#include "finish/host/host.h"
#include "finish/joins.h"
#include "simt/vectorise.h"
#include "finish/tangle.h"
#include "finish/target.h"
#include "finish/wait.h"
#include <anywarp/hostabi.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIPLE "x86_64-pc-linux-gnu"
#define SERVICE_STACK (32u << 10)    /* what the runtime's services may take on a warp's stack */
#define RECURSION_STACK (8u << 20)   /* for kernels whose depth is not known; touched pages only are paid for */
#define LANE_RECURSION_STACK (1u << 20) /* the same of each lane, where lanes have stacks of their own */
#define MANY_IN_TANGLES 15000        /* likewise where they are in one loop of thousands of blocks, over which optimising passes
                                      * go again and again */
#define MANY_INSTRUCTIONS 120000     /* in vector form: LLVM's faster instruction selection and allocation */
#define MANY_USES 5000               /* of one local array: instcombine goes through them for each that it drops */

/* instcombine can abort when it has not reached its fixed point in one round, hence the option. */
#define IC "instcombine<no-verify-fixpoint>"

/* One compilation. */
struct host {
    const struct ptx_finish *finish;
    struct aw_buf *diags;
    struct ptx_host_machine machine;
    LLVMTargetMachineRef tm;
    LLVMModuleRef in, out;                /* SIMT IR; the vector form */
    struct ptx_pipeline pipeline;         /* works on one of them */
    struct simt_options simt;
    uint32_t local;                       /* bytes of stack variables of one thread */
    bool lanes;                           /* of quick code: lanes have stacks of their own */
    struct simt_stats stats;
    uint64_t frames, locals;              /* bytes, sum over functions: of the stack, of local memory */
    struct ptx_pass_wishes wishes;        /* the finish's, and what checks ask for */
    LLVMDiagnosticHandler next_handler;
    void *next_context;
};

/* What code for a machine is lowered with. */
static uint32_t features_of(const struct ptx_host_machine *m)
{
    static const uint32_t always = PTX_TARGET_ATOMIC_128 | PTX_TARGET_CHEAP_SHUFFLE | PTX_TARGET_FTZ_APPROX | PTX_TARGET_BLOCKS |
                                   PTX_TARGET_LOOKS;
    return always | (m->avx512 ? PTX_TARGET_ROUNDING : PTX_TARGET_ROUND_KNOWN) | (m->sync ? PTX_TARGET_CHECK_SYNC : 0) |
           (m->debug ? PTX_TARGET_DEBUG : 0) | (m->race ? PTX_TARGET_SHARED_NAMES : 0);
}

static bool match(const char *target, uint32_t *ret_features)
{
    struct ptx_host_machine m;
    if (!ptx_host_machine_parse(target, &m))
        return false;
    *ret_features = features_of(&m);
    ptx_host_machine_fini(&m);
    return true;
}

/* LLVM's schedulers, and instruction selection where it gathers what a store comes after, take quadratic time over runs of memory
 * accesses, which scattered lanes and warps that go together make; the first ones bound it (a thousand loads: 2 s became 0.2, for
 * the same code).  The scheduler after register allocation gains nothing measurable on out-of-order machines.  The pass that
 * copies in small steps what was just stored in small steps (X86AvoidStoreForwardingBlocks, LLVM 22.1) aborts at a load whose
 * size it does not know, as one of a masked load's registers whose lanes are all on.
 * The allocator's growing of regions along which values are split takes quadratic time over a function's branches; its own limit
 * is 20 times as high.
 *
 * They are process-wide and hold for the other target, too, where such runs are rare. */
static const char *const llvm_options[] = {
    "-dag-maps-huge-region=64", "-dag-maps-reduction-size=32", "-combiner-tokenfactor-inline-limit=64",
    "-grow-region-complexity-budget=500", "-post-RA-scheduler=false", "-x86-disable-avoid-SFB", NULL };

static void set_llvm_options(void)
{
    const char *arguments[sizeof llvm_options / sizeof *llvm_options] = { "anywarp" };
    int n = 1;
    for (const char *const *option = llvm_options; *option; option++)
        arguments[n++] = *option;
    LLVMParseCommandLineOptions(n, arguments, "");
    ptx_link_keep_options(llvm_options);
}

static bool open_machine(struct host *h, LLVMCodeGenOptLevel level)
{
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
        aw_buf_printf(h->diags, "error: %s\n", message);
        LLVMDisposeMessage(message);
        return false;
    }
    h->tm = LLVMCreateTargetMachine(target, TRIPLE, h->machine.cpu, h->machine.features, level, LLVMRelocPIC,
                                    LLVMCodeModelDefault);
    if (h->tm && h->machine.quick) /* it is hardly any faster, and has line tables change code */
        LLVMSetTargetMachineFastISel(h->tm, 0);
    return h->tm != NULL;
}

/* ---- Before and after the vectoriser */

static void set_string_attribute(LLVMValueRef fn, const char *key, const char *value)
{
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(fn));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(c, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static void each_definition(LLVMModuleRef m, const char *const (*attributes)[2], size_t n)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (size_t i = 0; i < n && !LLVMIsDeclaration(f); i++)
            set_string_attribute(f, attributes[i][0], attributes[i][1]);
}

/* Bytes of stack variables one thread has, over all functions. */
static uint64_t local_bytes(LLVMModuleRef m)
{
    uint64_t sum = 0;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(m);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
                if (LLVMIsAAllocaInst(x) && LLVMIsAConstantInt(LLVMGetOperand(x, 0)))
                    sum += LLVMABISizeOfType(layout, LLVMGetAllocatedType(x)) * LLVMConstIntGetZExtValue(LLVMGetOperand(x, 0));
    return sum;
}

/* What the optimiser is told of an index: a constant where `hi` is `lo` + 1, else its range. */
static void know_index(LLVMModuleRef m, const char *name, uint64_t lo, uint64_t hi)
{
    LLVMValueRef fn = LLVMGetNamedFunction(m, name);
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c);
    for (LLVMUseRef use = fn ? LLVMGetFirstUse(fn) : NULL, next; use; use = next) {
        LLVMValueRef call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!LLVMIsACallInst(call))
            continue;
        if (hi == lo + 1)
            LLVMReplaceAllUsesWith(call, LLVMConstInt(i32, lo, 0));
        else
            ptx_range_set(call, lo, hi);
    }
}

/* nvcc writes signed divisions and remainders of indices; unsigned, they leave lanes at known distances. */
static void know_indices(struct host *h)
{
    static const char *const axis[3] = { "x", "y", "z" };
    const uint32_t *block = h->finish->options->block;
    bool fixed = block[1] != 0;
    char name[16];
    for (int d = 0; d < 3; d++) {
        uint64_t most = d < 2 ? 1024 : 64;
        snprintf(name, sizeof name, "aw.tid.%s", axis[d]);
        know_index(h->in, name, 0, fixed ? block[d] : most);
        snprintf(name, sizeof name, "aw.ntid.%s", axis[d]);
        know_index(h->in, name, fixed ? block[d] : 1, fixed ? block[d] + 1 : most + 1);
        snprintf(name, sizeof name, "aw.ctaid.%s", axis[d]);
        know_index(h->in, name, 0, INT32_MAX);
        snprintf(name, sizeof name, "aw.nctaid.%s", axis[d]);
        know_index(h->in, name, 1, UINT64_C(1) << 31);
    }
    know_index(h->in, "aw.laneid", 0, 32);
}

/* Reads an index once, where the kernel begins: of two reads on two ways the optimiser makes a phi, and what joins lanes of two
 * ways is taken for different in all of them. */
static void read_once(LLVMValueRef fn, LLVMValueRef index)
{
    LLVMValueRef first = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(index), next; use; use = next) {
        LLVMValueRef call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!LLVMIsACallInst(call) || LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) != fn)
            continue;
        if (first) {
            LLVMReplaceAllUsesWith(call, first);
            LLVMInstructionEraseFromParent(call);
            continue;
        }
        first = call;
        LLVMValueRef top = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(fn));
        if (top == call)
            continue;
        LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(call)));
        ptx_move_before(b, call, top);
        LLVMDisposeBuilder(b);
    }
}

static void read_indices_once(struct host *h)
{
    LLVMValueRef fn = LLVMGetNamedFunction(h->in, h->finish->kernel);
    for (int id = 0; id < PTX_SIMT_COUNT && fn && !LLVMIsDeclaration(fn); id++) {
        const struct ptx_simt_info *info = ptx_simt_info((enum ptx_simt)id);
        LLVMValueRef index = LLVMGetNamedFunction(h->in, info->name);
        if (index && info->traits == PTX_SIMT_PURE && !*info->args)
            read_once(fn, index);
    }
}

/* How often an address and those that are made of it are used, up to `most`. */
static int count_uses(LLVMValueRef address, int most)
{
    int n = 0;
    for (LLVMUseRef u = LLVMGetFirstUse(address); u && n < most; u = LLVMGetNextUse(u)) {
        LLVMValueRef user = LLVMGetUser(u);
        n += 1 + (LLVMIsAGetElementPtrInst(user) ? count_uses(user, most - n - 1) : 0);
    }
    return n;
}

/* Is there a local array with so many uses that instcombine would take minutes? */
static bool is_crowded(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
                if (LLVMIsAAllocaInst(x) && count_uses(x, MANY_USES) == MANY_USES)
                    return true;
    return false;
}

/* No simplifycfg: it makes switches, which the vectoriser does not know.  Registers of machine code that are written under a
 * guard, round a loop, are often one constant for all that (an address of shared memory, from sm_90 on). */
static int tidy(LLVMModuleRef out, void *context)
{
    struct host *h = context;
    enum aw_phase before = ptx_phase(AW_PHASE_CLEAN_UP);
    const char *passes = h->finish->lifted ? "function(sroa,early-cse,sccp," IC ",adce)" : "function(sroa,early-cse," IC ",adce)";
    if (is_crowded(out))
        passes = "function(sroa,early-cse,sccp,instsimplify,adce)";
    int status = ptx_passes_run(out, h->tm, passes, h->diags);
    ptx_phase(before);
    return status;
}

static int vectorise(struct host *h, LLVMModuleRef in, const struct simt_options *options)
{
    if (h->out)
        LLVMDisposeModule(h->out);
    h->out = LLVMModuleCreateWithNameInContext(h->finish->kernel, LLVMGetModuleContext(h->in));
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(h->tm);
    LLVMSetModuleDataLayout(h->out, layout);
    LLVMSetTarget(h->out, TRIPLE);
    LLVMDisposeTargetData(layout);
    return simt_vectorise(in, h->out, options, &h->stats, h->diags);
}

static size_t count_instructions(LLVMModuleRef m)
{
    size_t n = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
                n++;
    return n;
}

/* First what nobody uses: addresses of which only the index was asked for would be shared with their uses behind a branch, and
 * spilled. */
static const char clean_up[] =
    "always-inline,globaldce,function(adce,sroa,early-cse<memssa>," IC ",simplifycfg,loop-mssa(loop-rotate,licm),gvn," IC
    ",loop-mssa(licm),adce,simplifycfg)";
/* Where a local array is used very often: nothing that goes through its uses again for each. */
static const char clean_up_crowded[] =
    "always-inline,globaldce,function(adce,sroa,early-cse<memssa>,instsimplify,simplifycfg,loop-mssa(loop-rotate,licm),early-cse,"
    "instsimplify,adce,simplifycfg)";
/* For functions that are a loop over their blocks: nothing that looks at more than a block at a time, or puts memory into
 * registers. */
static const char clean_up_tangled[] = "always-inline,globaldce,function(early-cse," IC ",adce)";
static const char clean_up_large_tangled[] = "always-inline,globaldce,function(early-cse,instsimplify,adce)";

/* ---- Passes of pass/pass.def that need more than the pipeline */

int ptx_run_exits(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    return ptx_target_exits(h->in, h->diags);
}

int ptx_run_round(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    return ptx_host_round(h->in, h->diags);
}

/* The source's functions stay what they are, as far as they may; whether or not it is known where they are from, as the code for
 * a message about a fault is the same (src/core/code.c). */
static void keep_functions(struct host *h)
{
    static const char always[] = "alwaysinline", never[] = "noinline";
    LLVMContextRef c = LLVMGetModuleContext(h->in);
    unsigned must = LLVMGetEnumAttributeKindForName(always, sizeof always - 1),
             not = LLVMGetEnumAttributeKindForName(never, sizeof never - 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(h->in); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMInternalLinkage &&
            !LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, must))
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(c, not, 0));
}

int ptx_run_expand(struct ptx_pipeline *pipe)
{
    /* Loops that copy or fill must stay loops. */
    static const char *const attributes[][2] = { { "no-builtins", "" } };
    struct host *h = pipe->finisher;
    int status = ptx_host_expand(h->in, h->machine.avx512, h->diags);
    each_definition(h->in, attributes, 1);
    if (h->machine.debug)
        keep_functions(h);
    return status;
}

/* Calls of functions that `not` has, of declared ones and of assembly do not count; those through a pointer do. */
static bool calls_any(LLVMValueRef fn, const struct aw_ptrmap *not)
{
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(fn); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef x = LLVMGetFirstInstruction(bb); x; x = LLVMGetNextInstruction(x)) {
            LLVMValueRef callee = LLVMIsACallInst(x) ? LLVMGetCalledValue(x) : NULL;
            bool known = callee && (LLVMIsAInlineAsm(callee) || (LLVMIsAFunction(callee) && LLVMIsDeclaration(callee)));
            if (callee && !known && !aw_ptrmap_find(not, callee))
                return true;
        }
    return false;
}

/* Are there functions that come back to themselves?  They are left when those are taken away that call none of the rest. */
static bool recurses(LLVMModuleRef m)
{
    struct aw_ptrmap ended = { 0 };
    bool left = true, more = true;
    while (left && more) {
        left = more = false;
        for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
            if (LLVMIsDeclaration(f) || aw_ptrmap_find(&ended, f))
                continue;
            left = true;
            more |= !calls_any(f, &ended) && aw_ptrmap_put(&ended, f, f);
        }
    }
    aw_ptrmap_fini(&ended);
    return left;
}

/* The module stays the one that came in. */
int ptx_run_one_lane(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    int status = ptx_host_quick(h->in, h->finish, h->machine.avx512, h->tm, &h->lanes, &h->local, h->diags);
    h->out = h->in;
    return status == AW_OK ? ptx_verify(h->out, "making quick code", h->finish->kernel, h->diags) : status;
}

int ptx_run_indices(struct ptx_pipeline *pipe)
{
    know_indices(pipe->finisher);
    read_indices_once(pipe->finisher);
    return AW_OK;
}

int ptx_run_waits(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    if (h->machine.sync)
        ptx_host_lane_ends(LLVMGetNamedFunction(h->in, h->finish->kernel));
    return ptx_host_waits(h->in, h->finish->kernel, h->finish->options->block, h->diags);
}

int ptx_run_split(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    ptx_host_split_vectors(h->in);
    ptx_tangle_hold(h->in, false); /* the scalariser is for all */
    return AW_OK;
}

int ptx_run_in_place(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    LLVMValueRef kernel = LLVMGetNamedFunction(h->in, h->finish->kernel);
    if (h->machine.race || !kernel)
        return AW_OK;
    int status = ptx_host_grid_init(kernel);
    return status == AW_OK ? ptx_host_in_place(kernel, h->finish->options->block) : status;
}

int ptx_run_one_way(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    ptx_tangle_hold(h->in, true);
    return simt_one_way(h->in, h->diags);
}

int ptx_run_reducible(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    int status = AW_OK;
    if (simt_irreducible(h->in)) {
        /* Edges are split first, as reg2mem keeps the tree of dominators right after each: most of a minute for thousands of
         * labels. */
        status = ptx_registers_to_memory(h->in, h->diags);
        if (status == AW_OK)
            status = simt_make_reducible(h->in, h->diags);
        if (status == AW_OK)
            status = ptx_verify(h->in, "giving loops one entry", h->finish->kernel, h->diags);
        if (status == AW_OK)
            status = ptx_passes_run(h->in, NULL, "function(sroa,early-cse)", h->diags);
    }
    h->simt.dispatched = ptx_tangle_is(LLVMGetNamedFunction(h->in, h->finish->kernel));
    return status == AW_OK ? ptx_verify(h->in, "preparation", h->finish->kernel, h->diags) : status;
}

int ptx_run_host_joins(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    ptx_joins_settle(h->in);
    return AW_OK;
}

int ptx_run_lane_order(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    bool any = h->simt.dispatched || h->machine.checks || h->machine.race || h->machine.debug; /* who name threads by lanes */
    return any ? AW_OK : simt_lane_order(h->in, &h->simt, h->diags);
}

int ptx_run_serialise(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    int status = h->simt.dispatched ? AW_OK : simt_serialise(h->in, &h->simt, h->diags);
    return status == AW_OK ? ptx_verify(h->in, "taking lanes apart", h->finish->kernel, h->diags) : status;
}

int ptx_run_vectorise(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    ptx_tangle_hold(h->in, false);
    h->local = h->simt.local_bytes = (uint32_t)local_bytes(h->in);
    struct simt_options plain = h->simt;
    LLVMModuleRef first = LLVMCloneModule(h->in);
    int status = vectorise(h, first, &h->simt);
    LLVMDisposeModule(first);
    plain.plain = true;
    if (status == AW_OK && h->stats.again)
        status = vectorise(h, h->in, &plain);
    h->pipeline.module = &h->out;
    return status == AW_OK ? ptx_verify(h->out, "vectorising", h->finish->kernel, h->diags) : status;
}

int ptx_run_clean_up(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    const char *passes = clean_up;
    if (h->pipeline.tangled)
        passes = count_instructions(h->out) > MANY_IN_TANGLES ? clean_up_large_tangled : clean_up_tangled;
    else if (is_crowded(h->out))
        passes = clean_up_crowded;
    return ptx_passes_run(h->out, h->tm, passes, h->diags);
}

int ptx_run_checks(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    bool ok = ptx_host_checks(h->out, h->machine.shadow, h->machine.init, h->finish->static_shared);
    return ok && (!h->machine.race || ptx_host_races(h->out, h->in)) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

int ptx_run_locals(struct ptx_pipeline *pipe)
{
    struct host *h = pipe->finisher;
    bool ok = ptx_host_locals(h->out, &h->locals);
    if (h->lanes) /* a warp's area is its lanes' */
        h->locals = 32 * ((h->locals + AW_HOST_LOCAL_ALIGN - 1) & ~(uint64_t)(AW_HOST_LOCAL_ALIGN - 1));
    return ok ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

static uint32_t machine_on(const struct ptx_host_machine *m)
{
    return (m->quick ? PTX_PASS_QUICK : PTX_PASS_HOST) | (m->avx2 ? PTX_PASS_AVX2 : PTX_PASS_NO_AVX2) |
           (m->avx512 ? PTX_PASS_AVX512 : PTX_PASS_NO_AVX512) | (m->bmi2 ? PTX_PASS_BMI2 : 0) |
           (m->gathers ? PTX_PASS_GATHERS : 0);
}

/* Where it is asked who comes to a barrier, or where code is stepped through or counted, a block's warps run one by one, each as
 * one vector. */
static const enum ptx_pass beyond_warps[] = { PTX_PASS_NARROW, PTX_PASS_BLOCK_ROWS, PTX_PASS_INTERLEAVE, PTX_PASS_ABREAST,
                                              PTX_PASS_MARCH, PTX_PASS_FISSION, PTX_PASS_JAM };

static bool one_by_one(const struct ptx_host_machine *m)
{
    return m->sync || m->debug || m->count;
}

/* For a debugger, and to be counted, besides, each line is in one place and runs when the source says so. */
static const enum ptx_pass beyond_lines[] = { PTX_PASS_LOCAL_ROWS, PTX_PASS_SERIALISE, PTX_PASS_REROLL, PTX_PASS_SCALED_LOOPS,
                                              PTX_PASS_TABLES,
                                              PTX_PASS_BLEND, PTX_PASS_RUNS,
                                              PTX_PASS_VERSIONS, PTX_PASS_PREFETCH };

static void pipeline_init(struct host *h)
{
    if (h->finish->wishes)
        h->wishes = *h->finish->wishes;
    for (size_t i = 0; i < sizeof beyond_warps / sizeof *beyond_warps && one_by_one(&h->machine); i++)
        h->wishes.disabled[beyond_warps[i]] = true;
    for (size_t i = 0; i < sizeof beyond_lines / sizeof *beyond_lines && (h->machine.debug || h->machine.count); i++)
        h->wishes.disabled[beyond_lines[i]] = true;
    h->wishes.disabled[PTX_PASS_LOCAL_ROWS] |= h->machine.checks || h->machine.race; /* who look at each lane's variables */
    h->pipeline = (struct ptx_pipeline){ .on = machine_on(&h->machine), .wishes = &h->wishes,
                                         .lifted = h->finish->lifted, .finisher = h, .module = &h->in,
                                         .machine = &h->tm, .kernel = h->finish->kernel, .diags = h->diags };
}

/* ---- Machine code */

/* LLVM reports each function's frame through this; anything else goes where it went. */
static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    struct host *h = context;
    char *text = LLVMGetDiagInfoDescription(info);
    const char *size = strstr(text, "stack frame size (");
    if (size)
        h->frames += strtoull(size + strlen("stack frame size ("), NULL, 10) + 64;
    else if (h->next_handler)
        h->next_handler(info, h->next_context);
    LLVMDisposeMessage(text);
}

/* What a warp has to have for frames of so many bytes, beside `more`. */
static uint32_t depth_bytes(const struct host *h, uint64_t frames, uint64_t more)
{
    uint64_t n = frames + more;
    uint64_t least = h->lanes ? LANE_RECURSION_STACK : RECURSION_STACK;
    if (frames && recurses(h->in))
        n += least > 256 * frames ? least : 256 * frames;
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static int make_code(struct host *h, struct ptx_result *ret)
{
    static const char *const attributes[][2] = { { "warn-stack-size", "0" }, { "probe-stack", "inline-asm" } };
    LLVMContextRef c = LLVMGetModuleContext(h->out);
    bool text = h->finish->emit == AW_EMIT_ASM;
    each_definition(h->out, attributes, 2);
    h->next_handler = LLVMContextGetDiagnosticHandler(c);
    h->next_context = LLVMContextGetDiagnosticContext(c);
    LLVMContextSetDiagnosticHandler(c, on_diagnostic, h);
    struct ptx_result object = { 0 };
    int status = ptx_emit_machine(h->out, h->tm, text ? LLVMAssemblyFile : LLVMObjectFile, &object, h->diags);
    LLVMContextSetDiagnosticHandler(c, h->next_handler, h->next_context);
    ptx_phase(AW_PHASE_LINK);
    bool soft = false;
    if (status == AW_OK && !text)
        status = ptx_host_object_finish(object.bytes, object.size, depth_bytes(h, h->frames, SERVICE_STACK),
                                        depth_bytes(h, h->locals, 0), h->finish->kernel, &soft, h->diags);
    const struct ptx_bytes objects[2] = { { object.bytes, object.size }, ptx_host_soft() };
    if (status == AW_OK && h->finish->emit == AW_EMIT_CODE_OBJECT)
        status = ptx_link_shared("elf_x86_64", objects, soft ? 2 : 1, ret, h->diags);
    else if (status == AW_OK) {
        *ret = object;
        object.bytes = NULL;
    }
    free(object.bytes);
    return status;
}

static void simt_options_init(struct host *h)
{
    const struct aw_compile_options *o = h->finish->options;
    h->simt = (struct simt_options){
        .kernel = h->finish->kernel,
        .block = { o->block[0], o->block[1], o->block[2] },
        .launched = { o->block[0], o->block[1], o->block[2] },
        .static_shared = h->finish->static_shared,
        .kernarg_size = h->finish->kernarg_size,
        .fast_gather = h->machine.avx512,
        .gathers = h->machine.gathers,
        .masks = h->machine.avx2,
        .small_masks = h->machine.avx512,
        .ask_rows = h->machine.ask_rows,
        .masked_stores = h->machine.avx512 || (h->machine.avx2 && !h->machine.slow_masked_stores),
        .permute_bytes = h->machine.avx512 ? 64 : h->machine.avx2 ? 32 : 0,
        .permute_narrow = { h->machine.byte_permutes ? 64 : h->machine.byte_shuffles ? 16 : 0,
                            h->machine.avx512 ? 64 : h->machine.byte_shuffles ? 16 : 0 },
        .permute = ptx_host_permute,
        .versions = !h->machine.avx512,
        .operation = h->machine.avx512 ? ptx_host_avx512 : NULL,
        .tidy = ptx_pass_enabled(&h->pipeline, PTX_PASS_TIDY) ? tidy : NULL,
        .context = h,
        .checks = h->machine.checks,
        .races = h->machine.race,
        .debug = h->machine.debug,
        .count = h->machine.count,
        .verify = true,
        .pipeline = &h->pipeline,
    };
}

static int emit(struct host *h, struct ptx_result *ret)
{
    if (count_instructions(h->out) > (h->pipeline.tangled ? MANY_IN_TANGLES : MANY_INSTRUCTIONS)) {
        LLVMDisposeTargetMachine(h->tm);
        if (!open_machine(h, LLVMCodeGenLevelNone))
            return AW_ERR_NOT_SUPPORTED;
    }
    struct ptx_result r = { 0 };
    int status = h->finish->emit == AW_EMIT_IR_OPT ? ptx_emit_ir(h->out, &r, h->diags) : make_code(h, &r);
    if (status != AW_OK)
        return status;
    r.info = (struct aw_kernel_info){ .shared_size = h->finish->static_shared, .local_size = h->local, .wave_size = 32,
                                      .kernarg_size = h->finish->kernarg_size, .flags = h->finish->manifest_flags };
    *ret = r;
    return AW_OK;
}

static int run(struct host *h, struct ptx_result *ret)
{
    pipeline_init(h);
    simt_options_init(h);
    if (h->machine.race)
        ptx_host_races_prepare(h->in);
    int status = ptx_pipeline_run(&h->pipeline);
    if (status == AW_OK)
        status = ptx_verify(*h->pipeline.module, "optimising", h->finish->kernel, h->diags);
    if (status != AW_OK)
        return status;
    return h->pipeline.stopped ? ptx_emit_ir(*h->pipeline.module, ret, h->diags) : emit(h, ret);
}

static int finish(LLVMModuleRef module, const struct ptx_finish *f, struct ptx_result *ret, struct aw_buf *diags)
{
    const uint32_t *block = f->options->block;
    struct host h = { .finish = f, .diags = diags, .in = module };
    bool rows = !block[1] && !block[2]; /* any, or a multiple of block[0] */
    uint64_t threads = rows ? 1 : (uint64_t)block[0] * block[1] * block[2];
    if (!threads || threads > 1024 || block[0] > 1024 || block[1] > 1024 || block[2] > 64) {
        aw_buf_printf(diags, "%s: error: no block has the shape %ux%ux%u\n", f->kernel, block[0], block[1], block[2]);
        return AW_ERR_INVALID_VALUE;
    }
    if (!ptx_host_machine_parse(f->options->target, &h.machine)) {
        aw_buf_printf(diags, "error: unknown target %s\n", f->options->target);
        return AW_ERR_INVALID_VALUE;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    ptx_llvm_init();
    pthread_once(&once, set_llvm_options);
    int status = !ptx_target_has_cpu(TRIPLE, h.machine.cpu, diags) ? AW_ERR_NOT_SUPPORTED
                 : open_machine(&h, h.machine.debug || h.machine.quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault)
                     ? run(&h, ret)
                     : AW_ERR_INVALID_VALUE;
    if (h.out && h.out != h.in)
        LLVMDisposeModule(h.out);
    if (h.tm)
        LLVMDisposeTargetMachine(h.tm);
    ptx_host_machine_fini(&h.machine);
    return status;
}

#define LAYOUT "e-m:e-p:64:64-p3:32:32-p5:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-A5"

const struct ptx_target ptx_target_host = { .lower = { "host", TRIPLE, LAYOUT }, .match = match, .finish = finish };
