/* The AMDGPU finisher: SIMT IR to HSACO for one gfx target, by LLVM's backend and lld.
 *
 * What the aw.* functions mean here is in amdgpu/simt.c and amdgpu/env.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "finish/joins.h"
#include "finish/amdgpu/amdgpu.h"
#include "finish/tangle.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
#include <stdlib.h>

#include <anywarp/env.h>

#define TRIPLE "amdgcn-amd-amdhsa"

/* ---- Targets: LLVM's CPU names; wave64 before gfx10.  `sramecc` and `xnack`: the machine has that setting. */
struct gfx {
    const char *name;
    uint8_t major, version; /* version: least code object version that names it */
    bool sramecc, xnack;
};
static const struct gfx gfxs[] = {
#define AW_GFX(name, major, version, sramecc, xnack, generic) { name, major, version, sramecc, xnack },
#include "base/gfx.def"
#undef AW_GFX
};

void ptx_amdgpu_names(struct aw_buf *out)
{
    for (size_t i = 0; i < sizeof gfxs / sizeof *gfxs; i++)
        aw_buf_printf(out, ", %s", gfxs[i].name);
}

/* "gfx90a:sramecc+:xnack-" to a row and LLVM features ("+sramecc,-xnack"; at least 64 bytes).  False when unknown. */
static bool target_parse(const char *target, const struct gfx **ret_gfx, char *ret_features)
{
    size_t len = strcspn(target, ":");
    const struct gfx *found = NULL;
    for (size_t i = 0; i < sizeof gfxs / sizeof *gfxs; i++)
        if (strlen(gfxs[i].name) == len && memcmp(gfxs[i].name, target, len) == 0)
            found = &gfxs[i];
    if (!found)
        return false;
    *ret_features = 0;
    unsigned seen = 0;
    for (const char *p = target + len; *p;) {
        size_t n = strcspn(++p, ":");
        bool sramecc = n == 8 && memcmp(p, "sramecc", 7) == 0, xnack = n == 6 && memcmp(p, "xnack", 5) == 0;
        char sign = n ? p[n - 1] : 0;
        unsigned bit = sramecc ? 1 : 2;
        if ((sign != '+' && sign != '-') || !((sramecc && found->sramecc) || (xnack && found->xnack)) || seen & bit)
            return false;
        seen |= bit;
        sprintf(ret_features + strlen(ret_features), "%s%c%s", *ret_features ? "," : "", sign, sramecc ? "sramecc" : "xnack");
        p += n;
    }
    *ret_gfx = found;
    return true;
}

static bool match(const char *target, uint32_t *ret_features)
{
    const struct gfx *gfx;
    char features[64];
    if (!target_parse(target, &gfx, features))
        return false;
    *ret_features = PTX_TARGET_NATIVE_F16 | PTX_TARGET_ROUNDING | PTX_TARGET_FTZ | PTX_TARGET_FTZ_APPROX | PTX_TARGET_DOT4 |
                    PTX_TARGET_TILES;
    return true;
}

/* ---- Attributes of the kernel and its functions */
static void text_attribute(struct amdgpu *a, LLVMValueRef fn, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(a->b.context, key, (unsigned)strlen(key), value,
                                                      (unsigned)strlen(value)));
}

static bool dims_of(LLVMValueRef fn, const char *key, uint32_t ret[3])
{
    LLVMAttributeRef attr = LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, key, (unsigned)strlen(key));
    unsigned len = 0;
    const char *value = attr ? LLVMGetStringAttributeValue(attr, &len) : NULL;
    char text[64];
    if (!value || len >= sizeof text)
        return false;
    memcpy(text, value, len);
    text[len] = 0;
    return sscanf(text, "%u,%u,%u", &ret[0], &ret[1], &ret[2]) == 3;
}

static LLVMValueRef kernel_find(LLVMModuleRef module)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (LLVMGetStringAttributeAtIndex(fn, LLVMAttributeFunctionIndex, "aw-kernel", 9))
            return fn;
    return NULL;
}

enum { MAX_THREADS = 1024 };

/* The block's shape: what the launch will use, or what the kernel requires or allows. */
static void shape_find(struct amdgpu *a)
{
    memcpy(a->block, a->finish->options->block, sizeof a->block);
    a->parts = a->block[2] & AW_BLOCK_PARTS;
    a->full = a->block[2] & AW_BLOCK_FULL;
    a->block[2] &= ~AW_BLOCK_FLAGS;
    if (a->parts)
        ptx_amdgpu_env_mark(a, AW_PARTS_SYMBOL);
    if (!a->block[1]) /* rows: of no use here */
        memset(a->block, 0, sizeof a->block);
    if (!a->block[0] && !dims_of(a->kernel, "aw-reqntid", a->block))
        memset(a->block, 0, sizeof a->block);
    uint32_t max[3] = { MAX_THREADS, 1, 1 };
    uint64_t threads = (uint64_t)a->block[0] * a->block[1] * a->block[2];
    if (!a->block[0] && dims_of(a->kernel, "aw-maxntid", max))
        threads = (uint64_t)max[0] * max[1] * max[2];
    bool known = threads >= 1 && threads <= MAX_THREADS;
    if (a->block[0] && !known) /* no launch can have that shape */
        memset(a->block, 0, sizeof a->block);
    a->max_threads = known ? (uint32_t)threads : MAX_THREADS;
    a->min_threads = a->block[0] ? a->max_threads : 1;
}

static void kernel_setup(struct amdgpu *a)
{
    LLVMSetFunctionCallConv(a->kernel, LLVMAMDGPUKERNELCallConv);
    LLVMSetVisibility(a->kernel, LLVMProtectedVisibility);
    char text[64];
    snprintf(text, sizeof text, "%u,%u", a->min_threads, a->max_threads);
    for (LLVMValueRef fn = LLVMGetFirstFunction(a->b.module); fn; fn = LLVMGetNextFunction(fn)) {
        if (LLVMIsDeclaration(fn))
            continue;
        text_attribute(a, fn, "amdgpu-flat-work-group-size", text);
        text_attribute(a, fn, "uniform-work-group-size", "true");
        /* Nothing of ours reads HIP's hidden arguments.  LLVM finds that out only when it optimises, and HIP looks for a queue to
         * hand over where the kernel's description asks for one. */
        text_attribute(a, fn, "amdgpu-no-implicitarg-ptr", "");
        /* In IEEE mode minimum and maximum would answer NaN for a signalling one, and every operand would need quieting first. */
        if (a->major < 12)
            text_attribute(a, fn, "amdgpu-ieee", "false");
        if (a->flushing) /* the bodies of aw.* functions too */
            text_attribute(a, fn, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
    }
}

static void version_flag(struct amdgpu *a, unsigned version)
{
    LLVMMetadataRef value = LLVMValueAsMetadata(b_i32(&a->b, 100 * version));
    static const char key[] = "amdhsa_code_object_version";
    LLVMAddModuleFlag(a->b.module, LLVMModuleFlagBehaviorError, key, sizeof key - 1, value);
}

/* ---- The pipeline */
static LLVMTargetMachineRef machine_create(const struct gfx *gfx, const char *features, unsigned level)
{
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(TRIPLE, &target, &message)) {
        LLVMDisposeMessage(message);
        return NULL;
    }
    /* Not even at -O0 LLVM's code generator without optimisation: where lanes part inside functions, LLVM 22's restores masks of
     * lanes from registers that were never written (tests/apps/async_copy built with -G).  Until it does not; the next level
     * takes no longer. */
    LLVMCodeGenOptLevel opt = level <= 1 ? LLVMCodeGenLevelLess : LLVMCodeGenLevelDefault;
    return LLVMCreateTargetMachine(target, TRIPLE, gfx->name, features, opt, LLVMRelocPIC, LLVMCodeModelDefault);
}

/* ---- Passes of pass/pass.def that need the compilation */

int ptx_run_tidy_dispatch(struct ptx_pipeline *pipe)
{
    struct amdgpu *a = pipe->finisher;
    ptx_tangle_hold(a->b.module, false);
    return pipe->tangled
               ? ptx_passes_run(a->b.module, a->machine, "function(early-cse,instcombine<no-verify-fixpoint>,adce)", a->diags)
               : AW_OK;
}

int ptx_run_prepare(struct ptx_pipeline *pipe)
{
    struct amdgpu *a = pipe->finisher;
    return ptx_target_prepare(a->b.module, a->diags);
}

int ptx_run_ends(struct ptx_pipeline *pipe)
{
    return ptx_amdgpu_ends(pipe->finisher) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

int ptx_run_amd_waits(struct ptx_pipeline *pipe)
{
    return ptx_amdgpu_waits(pipe->finisher);
}

int ptx_run_barrier_calls(struct ptx_pipeline *pipe)
{
    struct amdgpu *a = pipe->finisher;
    return a->full ? ptx_amdgpu_barriers_inline(a) : AW_OK;
}

int ptx_run_barriers(struct ptx_pipeline *pipe)
{
    return ptx_amdgpu_barriers_init(pipe->finisher);
}

int ptx_run_heads(struct ptx_pipeline *pipe)
{
    return ptx_amdgpu_heads(pipe->finisher) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

int ptx_run_inline(struct ptx_pipeline *pipe)
{
    /* Even without optimisation the bodies of aw.* functions go inline: some work only in the kernel itself. */
    static const char inlining[] =
        "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,sccp,simplifycfg),globaldce";
    /* x + x becomes a shift: LLVM 22's instruction selection goes through both operands of a sum in an address, and so through
     * each path. */
    static const char plain[] = "always-inline,globaldce,function(instcombine<no-verify-fixpoint>)";
    struct amdgpu *a = pipe->finisher;
    return ptx_passes_run(a->b.module, a->machine, a->finish->options->opt_level ? inlining : plain, a->diags);
}

int ptx_run_amd_optimise(struct ptx_pipeline *pipe)
{
    static const char *const levels[] = { "default<O0>", "default<O1>", "default<O2>", "default<O3>" };
    struct amdgpu *a = pipe->finisher;
    unsigned level = a->finish->options->opt_level;
    return ptx_passes_run(a->b.module, a->machine, levels[level > 3 ? 3 : level], a->diags);
}

int ptx_run_stack(struct ptx_pipeline *pipe)
{
    return ptx_amdgpu_stack(pipe->finisher) ? AW_OK : AW_ERR_OUT_OF_MEMORY;
}

#define OF_MODULE(name, function)                 \
    int ptx_run_##name(struct ptx_pipeline *pipe) \
    {                                             \
        function(pipe->finisher);                 \
        return AW_OK;                             \
    }
OF_MODULE(nans, ptx_amdgpu_nans)
OF_MODULE(amd_simt, ptx_amdgpu_simt)
OF_MODULE(kernel, kernel_setup)
OF_MODULE(subnormals, ptx_amdgpu_subnormals)
OF_MODULE(zeros, ptx_amdgpu_zeros)
OF_MODULE(saturated, ptx_amdgpu_saturated)
OF_MODULE(signs, ptx_amdgpu_signs)
OF_MODULE(carries, ptx_amdgpu_carries)
OF_MODULE(orders, ptx_amdgpu_orders)
#undef OF_MODULE

int ptx_run_joins(struct ptx_pipeline *pipe)
{
    struct amdgpu *a = pipe->finisher;
    ptx_joins_settle(a->b.module);
    return AW_OK;
}

/* Not without optimisation. */
#define OPTIMISING(name)                          \
    int ptx_run_##name(struct ptx_pipeline *pipe) \
    {                                             \
        struct amdgpu *a = pipe->finisher;        \
        if (a->finish->options->opt_level)        \
            ptx_amdgpu_##name(a);                 \
        return AW_OK;                             \
    }
OPTIMISING(arguments)
OPTIMISING(divisions)
OPTIMISING(conversions)
OPTIMISING(branches)
#undef OPTIMISING

/* Bytes per thread and block from the assembler's symbols would need a second run; the note in the object has them, and whoever
 * loads it reads that.  Here is what is known without. */
static void info_fill(struct amdgpu *a, struct ptx_result *ret)
{
    ret->info = (struct aw_kernel_info){ .shared_size = a->finish->static_shared, .kernarg_size = a->finish->kernarg_size,
                                         .flags = a->finish->manifest_flags, .wave_size = a->wave64 ? 64 : 32 };
}

static int emit(struct amdgpu *a, LLVMTargetMachineRef machine, struct ptx_result *ret)
{
    enum aw_emit emit = a->finish->emit;
    if (emit == AW_EMIT_IR_OPT)
        return ptx_emit_ir(a->b.module, ret, a->diags);
    if (emit == AW_EMIT_ASM)
        return ptx_emit_machine(a->b.module, machine, LLVMAssemblyFile, ret, a->diags);
    struct ptx_result object = { 0 };
    int status = ptx_emit_machine(a->b.module, machine, LLVMObjectFile, &object, a->diags);
    if (status != AW_OK || emit == AW_EMIT_OBJ) {
        *ret = status == AW_OK ? object : *ret;
        return status;
    }
    ptx_phase(AW_PHASE_LINK);
    status = ptx_link_shared("elf64_amdgpu", &(struct ptx_bytes){ object.bytes, object.size }, 1, ret, a->diags);
    free(object.bytes);
    return status;
}

static int run(struct amdgpu *a, const struct gfx *gfx, struct ptx_result *ret)
{
    unsigned version = a->finish->options->code_object_version;
    shape_find(a);
    version_flag(a, gfx->version > 5 ? gfx->version : version ? version : 5);
    ptx_amdgpu_tiles_absent(a);
    a->pipeline = (struct ptx_pipeline){ .on = PTX_PASS_AMD, .wishes = a->finish->wishes, .lifted = a->finish->lifted,
                                         .finisher = a, .module = &a->b.module,
                                     .machine = &a->machine, .kernel = a->finish->kernel, .diags = a->diags };
    int status = ptx_pipeline_run(&a->pipeline);
    if (status != AW_OK)
        return status;
    struct ptx_result made = { 0 };
    status = a->pipeline.stopped ? ptx_emit_ir(a->b.module, &made, a->diags) : emit(a, a->machine, &made);
    if (status != AW_OK)
        return status;
    *ret = made;
    info_fill(a, ret);
    return AW_OK;
}

static int finish(LLVMModuleRef module, const struct ptx_finish *finish_, struct ptx_result *ret, struct aw_buf *diags)
{
    const struct gfx *gfx;
    char features[64];
    unsigned version = finish_->options->code_object_version;
    if (!target_parse(finish_->options->target, &gfx, features) || (version && (version < 4 || version > 6))) {
        aw_buf_printf(diags, "<options>:0:0: error: target '%s' or code object version %u is not known\n",
                      finish_->options->target, version);
        return AW_ERR_INVALID_VALUE;
    }
    struct amdgpu a = { .finish = finish_, .diags = diags, .major = gfx->major, .wave64 = gfx->major < 10 };
    a.b.context = LLVMGetModuleContext(module);
    a.b.module = module;
    a.kernel = kernel_find(module);
    a.flushing = a.kernel && LLVMGetStringAttributeAtIndex(a.kernel, LLVMAttributeFunctionIndex, "denormal-fp-math-f32", 20);
    /* tests/apps/divergence is computed wrongly by LLVM 19's code for gfx1030; 20 and 21 were not tried. */
    if (LLVM_VERSION_MAJOR < 22) {
        aw_buf_printf(diags, "<options>:0:0: error: code for AMD's cards needs LLVM 22; anywarp was built with %s\n",
                      LLVM_VERSION_STRING);
        return AW_ERR_NOT_SUPPORTED;
    }
    if (!ptx_target_has_cpu(TRIPLE, gfx->name, diags))
        return AW_ERR_NOT_SUPPORTED;
    a.machine = machine_create(gfx, features, finish_->options->opt_level);
    if (!a.machine || !a.kernel) {
        aw_buf_printf(diags, "<options>:0:0: error: no machine for '%s'\n", finish_->options->target);
        return AW_ERR_INVALID_VALUE;
    }
    a.b.builder = LLVMCreateBuilderInContext(a.b.context);
    ptx_types_make(&a.b);
    int status = run(&a, gfx, ret);
    LLVMDisposeBuilder(a.b.builder);
    LLVMDisposeTargetMachine(a.machine);
    return status;
}

const struct ptx_target ptx_target_amdgpu = {
    .lower = {
        .name = "amdgpu",
        .triple = TRIPLE,
        .data_layout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
                       "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-"
                       "v2048:2048-n32:64-S32-A5-G1-ni:7:8:9",
    },
    .match = match,
    .finish = finish,
};
