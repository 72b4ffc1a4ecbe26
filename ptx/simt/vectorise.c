/* The vectoriser's driver: which functions become vector functions, in which versions, and what is said when it fails. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/work.h"
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

static bool init(struct simt *u)
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
    u->i1v = simt_vec_type(u->i1);
    u->i32v = simt_vec_type(u->i32);
    u->i64v = simt_vec_type(u->i64);
    u->warp_state = LLVMStructTypeInContext(c, &u->ptr, 1, 0); /* top of the stack window */
    u->all_lanes = LLVMConstAllOnes(u->i1v);
    u->no_lanes = LLVMConstNull(u->i1v);
    int64_t *lanes = AW_NEW_ARRAY(&u->arena, int64_t, SIMT_LANES);
    if (!lanes)
        return simt_memory(u);
    for (int i = 0; i < SIMT_LANES; i++)
        lanes[i] = i;
    u->lane_offsets = lanes;
    if (!aw_map_put(&u->offsets, (struct aw_str){ (const char *)lanes, SIMT_LANES * sizeof *lanes }, lanes))
        return simt_memory(u);
    return true;
}

static void fini(struct simt *u)
{
    LLVMDisposeBuilder(u->b);
    aw_map_fini(&u->offsets);
    aw_ptrmap_fini(&u->globals);
    aw_ptrmap_fini(&u->functions);
    aw_ptrmap_fini(&u->called);
    aw_arena_fini(&u->arena);
}

static size_t count_instructions(LLVMValueRef fn)
{
    size_t n = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef x = LLVMGetFirstInstruction(b); x; x = LLVMGetNextInstruction(x))
            n++;
    return n;
}

static void set_attribute(struct simt *u, LLVMValueRef fn, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(u->ctx, kind, 0));
}

static bool check(struct simt *u, LLVMValueRef fn)
{
    if (u->status || !u->options->verify || !LLVMVerifyFunction(fn, LLVMReturnStatusAction))
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
        if (LLVMIsDeclaration(fn) || fn == u->kernel)
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

static bool module_emit(struct simt *u)
{
    u->kernel = LLVMGetNamedFunction(u->in, u->options->kernel);
    if (!u->kernel || LLVMIsDeclaration(u->kernel) || LLVMCountParams(u->kernel) > 1)
        return simt_fail(u, "no such kernel");
    if (!declare_devices(u) || !devices_emit(u))
        return false;
    LLVMValueRef rows = NULL, any = NULL, fixed = NULL;
    if (u->options->block[0]) {
        fixed = body_emit(u, "body.fixed", SIMT_FORM_FIXED, true);
    } else {
        bool big = count_instructions(u->kernel) > BIG_KERNEL;
        rows = big ? NULL : body_emit(u, "body.rows", SIMT_FORM_ROWS, true);
        any = u->status ? NULL : body_emit(u, "body.any", SIMT_FORM_ANY, big);
    }
    return !u->status && simt_entries_emit(u, rows, any, fixed);
}

int simt_vectorise(LLVMModuleRef in, LLVMModuleRef out, const struct simt_options *options, struct simt_stats *ret_stats,
                   struct aw_buf *diags)
{
    struct simt u = { .options = options, .diags = diags, .in = in, .out = out };
    if (init(&u))
        module_emit(&u);
    *ret_stats = u.stats;
    fini(&u);
    return u.status;
}
