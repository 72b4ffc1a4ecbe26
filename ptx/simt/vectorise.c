/* The vectoriser's driver: which functions become vector functions, in which versions, and what is said when it fails. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/ir.h"
#include <llvm-c/Analysis.h>
#include <string.h>

/* Above this many instructions the version for whole rows is left out: compile time before speed. */
#define BIG_KERNEL 20000

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

bool simt_step(const struct simt *u, enum ptx_pass pass)
{
    return ptx_pass_enabled(u->options->pipeline, pass);
}

bool simt_forced(const struct simt *u, enum ptx_pass pass)
{
    return ptx_pass_forced(u->options->pipeline, pass);
}

void simt_stepped(const struct simt *u, enum ptx_pass pass, LLVMModuleRef changed)
{
    ptx_pass_done(u->options->pipeline, pass, changed);
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
    simt_lines_end(u);
    aw_map_fini(&u->offsets);
    aw_ptrmap_fini(&u->globals);
    aw_ptrmap_fini(&u->functions);
    aw_ptrmap_fini(&u->singles);
    aw_ptrmap_fini(&u->called);
    aw_arena_fini(&u->arena);
}

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

static void set_attribute(struct simt *u, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(u->ctx, kind, 0));
}

static bool check(struct simt *u, LLVMValueRef fn)
{
    if (u->status || u->stats.again || !u->options->verify || !LLVMVerifyFunction(fn, LLVMReturnStatusAction))
        return !u->status;
    char *text = NULL;
    LLVMVerifyModule(u->out, LLVMReturnStatusAction, &text);
    simt_fail(u, "internal: the vector form is malformed: %s", text ? text : "");
    LLVMDisposeMessage(text);
    return false;
}

static LLVMValueRef body_emit(struct simt *u, const char *name, enum simt_form form, bool inlined)
{
    LLVMValueRef fn = LLVMAddFunction(u->out, name, simt_body_type(u));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    set_attribute(u, fn, inlined ? "alwaysinline" : "noinline");
    return simt_function_emit(u, u->kernel, fn, form) && check(u, fn) ? fn : NULL;
}

static bool declare_devices(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        size_t len;
        if (LLVMIsDeclaration(fn) || fn == u->kernel || simt_is_single(fn))
            continue;
        LLVMTypeRef t = simt_device_type(u, fn);
        LLVMValueRef out = t ? LLVMAddFunction(u->out, LLVMGetValueName2(fn, &len), t) : NULL;
        if (!out || !aw_ptrmap_put(&u->functions, fn, out))
            return simt_memory(u);
        LLVMSetLinkage(out, LLVMInternalLinkage);
    }
    return true;
}

static bool devices_emit(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        LLVMValueRef out = aw_ptrmap_find(&u->functions, fn);
        if (out && !(simt_function_emit(u, fn, out, SIMT_FORM_DEVICE) && check(u, out)))
            return false;
    }
    return true;
}

static bool singles_emit(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        size_t len;
        if (!simt_is_single(fn))
            continue;
        LLVMValueRef out = LLVMAddFunction(u->out, LLVMGetValueName2(fn, &len), simt_single_type(u, fn));
        if (!aw_ptrmap_put(&u->singles, fn, out))
            return simt_memory(u);
        LLVMSetLinkage(out, LLVMInternalLinkage);
        set_attribute(u, out, "alwaysinline");
        if (!simt_function_emit(u, fn, out, SIMT_FORM_SINGLE) || !check(u, out))
            return false;
    }
    return true;
}

/* So that only what is needed lives from barrier to barrier. */
static bool settle(struct simt *u)
{
    if (!u->status)
        u->status = u->options->tidy(u->out, u->options->context);
    return !u->status;
}

/* How warps and blocks go together. */
static bool form_choose(struct simt *u, enum simt_form form)
{
    if (simt_step(u, PTX_PASS_TABLES) && !simt_table_split(u, u->kernel, form))
        return false;
    simt_stepped(u, PTX_PASS_TABLES, u->in);
    u->size = simt_instructions(u->kernel);
    simt_schedule_choose(u, form);
    if (simt_step(u, PTX_PASS_BLEND) && !simt_blend(u, form))
        return false;
    simt_stepped(u, PTX_PASS_BLEND, u->in);
    if (!simt_version(u, u->kernel, form))
        return false;
    simt_stepped(u, PTX_PASS_VERSIONS, u->in);
    simt_schedule_march(u, form);
    return true;
}

static bool module_emit(struct simt *u)
{
    u->kernel = LLVMGetNamedFunction(u->in, u->options->kernel);
    if (!u->kernel || LLVMIsDeclaration(u->kernel) || LLVMCountParams(u->kernel) > 1)
        return simt_fail(u, "no such kernel");
    LLVMValueRef rows = NULL, any = NULL, fixed = NULL;
    const uint32_t *block = u->options->block;
    enum simt_form form = block[0] && block[1] ? SIMT_FORM_FIXED : block[0] % SIMT_LANES ? SIMT_FORM_ANY : SIMT_FORM_ROWS;
    if ((!u->options->dispatched && !simt_lanes_choose(u, form)) || !simt_lines_begin(u) || !declare_devices(u) || !devices_emit(u) || !singles_emit(u))
        return false;
    if (!u->options->dispatched && !form_choose(u, form))
        return false;
    if (form == SIMT_FORM_FIXED) {
        fixed = body_emit(u, "body.fixed", SIMT_FORM_FIXED, true);
    } else if (block[0] && form == SIMT_FORM_ROWS) {
        rows = body_emit(u, "body.rows", SIMT_FORM_ROWS, true);
    } else if (block[0]) {
        any = body_emit(u, "body.any", SIMT_FORM_ANY, true);
    } else {
        bool big = u->options->dispatched || simt_instructions(u->kernel) > BIG_KERNEL;
        rows = big ? NULL : body_emit(u, "body.rows", SIMT_FORM_ROWS, true);
        any = u->status ? NULL : body_emit(u, "body.any", SIMT_FORM_ANY, big);
    }
    bool whole = false;
    if (!u->status && !u->stats.again && (u->meets || u->schedule == SIMT_INTERLEAVED || u->schedule == SIMT_ABREAST)) {
        LLVMValueRef bodies[2] = { fixed ? fixed : rows ? rows : any, rows ? any : NULL };
        bool tidied = u->stats.barrier || !u->options->tidy || settle(u);
        simt_stepped(u, PTX_PASS_TIDY, u->out);
        whole = tidied && simt_regions(u, bodies, bodies[1] ? 2 : 1) && check(u, bodies[0]) && (!bodies[1] || check(u, bodies[1]));
    }
    simt_stepped(u, PTX_PASS_FISSION, u->out);
    simt_together_dissolve(u);
    u->stats.again |= simt_schedule_failed(u, whole);
    u->stats.again |= u->stats.barrier && u->lanes < SIMT_LANES; /* only a loop over all parts waits for them */
    bool ok = !u->status && (u->stats.again || simt_entries_emit(u, rows, any, fixed, whole));
    simt_lines_end(u);
    return ok;
}

int simt_vectorise(LLVMModuleRef in, LLVMModuleRef out, const struct simt_options *options, struct simt_stats *ret_stats,
                   struct aw_buf *diags)
{
    struct simt u = { .options = options, .diags = diags, .in = in, .out = out };
    if (simt_begin(&u))
        module_emit(&u);
    *ret_stats = u.stats;
    simt_end(&u);
    return u.status;
}
