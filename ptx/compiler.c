/* include/anywarp/compiler.h over the rooms of ptx/: open (parse, link, check), compile one kernel, print.
 *
 * Each compilation has an LLVM context of its own, so that nothing of one outlives it or reaches another. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <anywarp/compiler.h>

#include "finish/amdgpu/amdgpu.h"
#include "finish/host/host.h"
#include "finish/target.h"
#include "lower/lower.h"
#include "machine_code.h"
#include "module/module.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* The target of that name, with the features that lowering may use for it; false when none takes it. */
static bool target_find(const char *name, struct ptx_target *ret_target)
{
    static const struct ptx_target *const all[] = { &ptx_target_amdgpu, &ptx_target_host };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        uint32_t features;
        if (!all[i]->match(name, &features))
            continue;
        *ret_target = *all[i];
        ret_target->lower.features = features;
        return true;
    }
    return false;
}

/* Every name there is, for messages: "host, host:CPU[,+FEATURE], gfx900, ...". */
static void target_names(struct aw_buf *out)
{
    aw_buf_printf(out, "host, host:CPU[,+FEATURE,-FEATURE...]");
    ptx_amdgpu_names(out);
}

struct aw_compiler_module {
    struct ptx_module *ptx;       /* of a cubin: without the kernels' code */
    struct ptx_machine *machine;  /* a cubin alone, or NULL */
    struct aw_manifest *manifest;
    struct ptx_pass_wishes wishes;
    bool lifted;  /* some of it was machine code */
};

/* The buffer's text as a heap string that the caller frees; never NULL unless memory is out. */
static char *text_take(struct aw_buf *buf)
{
    char *text = buf->ptr ? buf->ptr : calloc(1, 1);
    *buf = (struct aw_buf){ 0 };
    return text;
}

static enum aw_status open_texts(struct aw_compiler_module *module, const struct aw_text texts[], size_t n,
                                 struct ptx_diags *diags)
{
    struct ptx_machine_texts lifted;
    enum aw_status status = ptx_machine_texts(texts, n, &lifted, &diags->text);
    if (status == AW_OK)
        status = ptx_open(lifted.at, lifted.n, diags, &module->ptx);
    module->lifted = lifted.n_owned != 0;
    ptx_machine_texts_fini(&lifted);
    return status;
}

static enum aw_status open_machine(struct aw_compiler_module *module, const struct aw_text *text, struct ptx_diags *diags)
{
    enum aw_status status = ptx_machine_open(text, &module->machine, &diags->text);
    module->lifted = true;
    return status == AW_OK ? ptx_machine_outline(module->machine, diags, &module->ptx) : status;
}

int aw_compiler_open(const struct aw_text texts[], size_t n, struct aw_compiler_module **ret_module, char **ret_diags)
{
    struct ptx_diags diags = { 0 };
    struct aw_compiler_module *module = calloc(1, sizeof *module);
    int status = AW_ERR_OUT_OF_MEMORY;
    if (module)
        status = (int)(n == 1 && ptx_is_machine_code(texts) ? open_machine(module, texts, &diags)
                                                            : open_texts(module, texts, n, &diags));
    if (status == AW_OK) {
        module->manifest = ptx_manifest_build(module->ptx);
        if (!module->manifest) {
            status = errno == EFBIG ? AW_ERR_INVALID_PTX : AW_ERR_OUT_OF_MEMORY;
            aw_buf_printf(&diags.text, "<ptx>:0:0: error: %s\n", status == AW_ERR_INVALID_PTX ? "the module is too large"
                                                                                            : "out of memory");
        } else if (module->machine) {
            ptx_machine_hash(module->machine, module->manifest);
        }
    }
    *ret_diags = text_take(&diags.text);
    ptx_diags_fini(&diags);
    if (status == AW_OK)
        *ret_module = module;
    else
        aw_compiler_close(module);
    return status;
}

void aw_compiler_close(struct aw_compiler_module *module)
{
    if (!module)
        return;
    free(module->manifest);
    ptx_module_destroy(module->ptx);
    ptx_machine_close(module->machine);
    free(module);
}

const struct aw_manifest *aw_compiler_manifest(const struct aw_compiler_module *module)
{
    return module->manifest;
}

char *aw_compiler_print(const struct aw_compiler_module *module)
{
    struct aw_buf buf = { 0 };
    if (module->machine) {
        struct aw_compiler_module whole = { 0 };
        struct aw_text image = ptx_machine_image(module->machine);
        struct ptx_diags diags = { 0 };
        buf.failed = open_texts(&whole, &image, 1, &diags) != AW_OK;
        if (!buf.failed)
            ptx_print(whole.ptx, &buf);
        ptx_diags_fini(&diags);
        ptx_module_destroy(whole.ptx);
    } else {
        ptx_print(module->ptx, &buf);
    }
    if (buf.failed) {
        aw_buf_fini(&buf);
        return NULL;
    }
    return text_take(&buf);
}

bool aw_compiler_target_ok(const char *target)
{
    ptx_llvm_init();
    struct ptx_target found;
    return target && target_find(target, &found);
}

int aw_compiler_passes(struct aw_compiler_module *module, const char *words, char **ret_diags)
{
    struct aw_buf diags = { 0 };
    int status = ptx_pass_wishes_parse(words, &module->wishes, &diags);
    *ret_diags = text_take(&diags);
    return status;
}

static char *listed(void (*write)(struct aw_buf *out))
{
    struct aw_buf list = { 0 };
    write(&list);
    if (list.failed) {
        aw_buf_fini(&list);
        return NULL;
    }
    return text_take(&list);
}

char *aw_compiler_pass_list(void)
{
    return listed(ptx_pass_list);
}

char *aw_compiler_threshold_list(void)
{
    return listed(ptx_threshold_list);
}

/* ---- Compiling */
struct diagnosed {
    struct aw_buf *diags;
    const char *kernel;
};

/* LLVM's own messages, such as a backend that ran out of registers. */
static void diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct diagnosed *d = user;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    if (severity != LLVMDSError && severity != LLVMDSWarning)
        return;
    char *text = LLVMGetDiagInfoDescription(info);
    aw_buf_printf(d->diags, "<llvm>:0:0: %s: in '%s': %s\n", severity == LLVMDSError ? "error" : "warning", d->kernel, text);
    LLVMDisposeMessage(text);
}

static int emit_lowered(const struct ptx_target *target, const struct ptx_lowered *lowered,
                        const struct ptx_finish *finish, struct ptx_result *ret, struct aw_buf *diags)
{
    if (finish->emit != AW_EMIT_IR)
        return target->finish(lowered->module, finish, ret, diags);
    int status = ptx_target_prepare(lowered->module, diags);
    return status == AW_OK ? ptx_emit_ir(lowered->module, ret, diags) : status;
}

/* Text that was lifted before says so of its kernel. */
static bool is_lifted(LLVMModuleRef module)
{
    for (LLVMValueRef fn = LLVMGetFirstFunction(module); fn; fn = LLVMGetNextFunction(fn))
        if (LLVMGetStringAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, PTX_LIFTED, sizeof PTX_LIFTED - 1))
            return true;
    return false;
}

/* `ptx` is the module's, or that of one kernel of it. */
static int compile_with(struct aw_compiler_module *module, struct ptx_module *ptx, const char *name,
                        const struct ptx_target *target, const struct aw_compile_options *options, enum aw_emit emit,
                        struct ptx_result *ret, struct aw_buf *diags)
{
    struct ptx_func *kernel = ptx_find_kernel(ptx, aw_str_from(name));
    if (!kernel) {
        aw_buf_printf(diags, "<ptx>:0:0: error: there is no kernel '%s'\n", name);
        return AW_ERR_NOT_FOUND;
    }
    LLVMContextRef context = LLVMContextCreate();
    if (!context)
        return AW_ERR_OUT_OF_MEMORY;
    struct diagnosed d = { diags, name };
    LLVMContextSetDiagnosticHandler(context, diagnostic, &d);
    struct ptx_lowered lowered;
    ptx_phase(AW_PHASE_LOWER);
    int status = ptx_lower_kernel(ptx, kernel, &target->lower, context, (enum aw_lines)options->lines, &lowered, diags);
    if (status == AW_OK) {
        struct ptx_finish finish = { options, emit, name, lowered.static_shared, lowered.param_size, lowered.kernarg_size,
                                     &module->wishes, module->lifted || is_lifted(lowered.module), lowered.flags };
        status = emit_lowered(target, &lowered, &finish, ret, diags);
        LLVMDisposeModule(lowered.module);
    }
    ptx_phase(AW_PHASE_OTHER);
    LLVMContextDispose(context);
    ptx_phase(AW_PHASE_OTHER);
    return status;
}

static int compile_machine(struct aw_compiler_module *module, const char *kernel, const struct ptx_target *target,
                           const struct aw_compile_options *options, enum aw_emit emit, struct ptx_result *ret,
                           struct aw_buf *diags)
{
    struct ptx_diags said = { 0 };
    struct ptx_module *ptx = NULL;
    ptx_phase(AW_PHASE_LIFT);
    int status = (int)ptx_machine_kernel(module->machine, kernel, options->lines == AW_LINES_TOLD, &said, &ptx);
    if (said.text.ptr)
        aw_buf_add(diags, said.text.ptr, said.text.len);
    ptx_diags_fini(&said);
    if (status == AW_OK)
        status = compile_with(module, ptx, kernel, target, options, emit, ret, diags);
    ptx_module_destroy(ptx);
    return status;
}

int aw_compiler_compile(struct aw_compiler_module *module, const char *kernel, const struct aw_compile_options *options,
                        enum aw_emit emit, char **ret_bytes, size_t *ret_size, struct aw_kernel_info *ret_info,
                        char **ret_diags)
{
    struct aw_buf diags = { 0 };
    struct ptx_result result = { 0 };
    ptx_phases_begin();
    ptx_llvm_init();
    struct ptx_target target;
    int status;
    if (!options->target || !target_find(options->target, &target)) {
        aw_buf_printf(&diags, "<options>:0:0: error: target '%s' is not known; there are ",
                      options->target ? options->target : "");
        target_names(&diags);
        aw_buf_printf(&diags, "\n");
        status = AW_ERR_INVALID_VALUE;
    } else if (module->machine) {
        status = compile_machine(module, kernel, &target, options, emit, &result, &diags);
    } else {
        status = compile_with(module, module->ptx, kernel, &target, options, emit, &result, &diags);
    }
    *ret_diags = text_take(&diags);
    if (status != AW_OK)
        return status;
    *ret_bytes = result.bytes;
    *ret_size = result.size;
    if (ret_info)
        *ret_info = result.info;
    return AW_OK;
}
