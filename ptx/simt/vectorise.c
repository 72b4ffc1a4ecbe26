/* The vectoriser's driver: which functions become vector functions, in which versions, and what is said when it fails. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/vectorise.h"
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include "simt/rewrite/rewrite.h"
#include "simt/schedule/schedule.h"
#include <llvm-c/Analysis.h>
#include <string.h>

/* Above this many instructions the version for whole rows is left out: compile time before speed. */
#define BIG_KERNEL 20000

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
    LLVMValueRef fn = LLVMAddFunction(u->out, u->options->debug ? u->options->kernel : name, simt_body_type(u));
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    set_attribute(u, fn, inlined && !u->options->debug ? "alwaysinline" : "noinline");
    return simt_function_emit(u, u->kernel, fn, form, simt_is_marching(u) ? simt_march_split : NULL) && check(u, fn) ? fn : NULL;
}

static bool declare_devices(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        size_t len;
        if (LLVMIsDeclaration(fn) || fn == u->kernel || simt_is_serialised(fn))
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
        if (out && !(simt_function_emit(u, fn, out, SIMT_FORM_DEVICE, NULL) && check(u, out)))
            return false;
    }
    return true;
}

static bool singles_emit(struct simt *u)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(u->in); fn; fn = LLVMGetNextFunction(fn)) {
        size_t len;
        if (!simt_is_serialised(fn))
            continue;
        LLVMValueRef out = LLVMAddFunction(u->out, LLVMGetValueName2(fn, &len), simt_serialised_type(u, fn));
        if (!aw_ptrmap_put(&u->singles, fn, out))
            return simt_memory(u);
        LLVMSetLinkage(out, LLVMInternalLinkage);
        set_attribute(u, out, "alwaysinline");
        if (!simt_function_emit(u, fn, out, SIMT_FORM_SINGLE, NULL) || !check(u, out))
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
    if (!simt_all_lanes_versions(u, u->kernel, form))
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
    if ((!u->options->dispatched && !simt_vector_width_choose(u, form)) || !simt_line_tables_begin(u) || !declare_devices(u) ||
        !devices_emit(u) || !singles_emit(u))
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
        whole = tidied && simt_fission(u, bodies, bodies[1] ? 2 : 1) && check(u, bodies[0]) &&
                (!bodies[1] || check(u, bodies[1]));
    }
    simt_stepped(u, PTX_PASS_FISSION, u->out);
    simt_together_dissolve(u);
    u->stats.again |= simt_schedule_failed(u, whole);
    u->stats.again |= u->stats.barrier && u->lanes < SIMT_LANES; /* only a loop over all parts waits for them */
    bool ok = !u->status && (u->stats.again || simt_entries_emit(u, rows, any, fixed, whole));
    simt_count_table(u);
    simt_line_tables_end(u);
    return ok;
}

int simt_vectorise(LLVMModuleRef in, LLVMModuleRef out, const struct simt_options *options, struct simt_stats *ret_stats,
                   struct aw_buf *diags)
{
    struct simt u = { .options = options, .diags = diags, .in = in, .out = out };
    if (simt_begin(&u))
        module_emit(&u);
    *ret_stats = u.stats;
    simt_line_tables_end(&u);
    aw_vec_fini(&u.counts.rows);
    aw_ptrmap_fini(&u.counts.texts);
    simt_end(&u);
    return u.status;
}
