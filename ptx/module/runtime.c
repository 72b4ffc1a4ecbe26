/* Functions of CUDA's device-side runtime that are answered here: PTX text, linked behind a module that declares one of them and
 * defines it not.
 *
 * Those by which kernels start kernels are in starts.c.  Those that ask about the device are not there: a kernel that calls one
 * fails by its name when it is used (closure.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "module/state.h"

/* The handle of a graph's condition is the address of its value, in memory of the host's (core/graph.h).
 *
 * A handle of the grid is its workspace's address: a word of size, then the barrier's count, whose highest bit turns over when
 * all blocks have come.  0 without a cooperative launch; CUDA's own groups trap there, too. */
static const char source[] =
    ".version 6.0\n"
    ".target sm_30\n"
    ".address_size 64\n"
    ".extern .func (.param .b64 p) malloc(.param .b64 size);\n"
    ".extern .func free(.param .b64 p);\n"
    ".weak .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)\n"
    "{\n"
    ".reg .b32 %high, %low, %scope;\n"
    ".reg .b64 %h;\n"
    ".reg .pred %grid;\n"
    "mov.u32 %high, %envreg1;\n"
    "mov.u32 %low, %envreg2;\n"
    "mov.b64 %h, {%low, %high};\n"
    "ld.param.u32 %scope, [scope];\n"
    "setp.eq.u32 %grid, %scope, 1;\n"
    "selp.b64 %h, %h, 0, %grid;\n"
    "st.param.b64 [handle], %h;\n"
    "ret;\n"
    "}\n"
    ".weak .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n"
    "{\n"
    ".reg .b32 %x, %y, %z, %n, %old, %now;\n"
    ".reg .b64 %h;\n"
    ".reg .pred %p;\n"
    "ld.param.u64 %h, [handle];\n"
    "setp.eq.u64 %p, %h, 0;\n"
    "@%p trap;\n"
    "bar.sync 0;\n"
    "mov.u32 %x, %tid.x;\n"
    "mov.u32 %y, %tid.y;\n"
    "mov.u32 %z, %tid.z;\n"
    "or.b32 %x, %x, %y;\n"
    "or.b32 %x, %x, %z;\n"
    "setp.ne.u32 %p, %x, 0;\n"
    "@%p bra DONE;\n"
    "mov.u32 %x, %nctaid.x;\n"
    "mov.u32 %y, %nctaid.y;\n"
    "mov.u32 %z, %nctaid.z;\n"
    "mul.lo.u32 %n, %x, %y;\n"
    "mul.lo.u32 %n, %n, %z;\n"
    "sub.u32 %n, 0x80000001, %n;\n"
    "mov.u32 %x, %ctaid.x;\n"
    "mov.u32 %y, %ctaid.y;\n"
    "mov.u32 %z, %ctaid.z;\n"
    "or.b32 %x, %x, %y;\n"
    "or.b32 %x, %x, %z;\n"
    "setp.eq.u32 %p, %x, 0;\n"
    "selp.b32 %n, %n, 1, %p;\n"
    "membar.gl;\n"
    "atom.global.add.u32 %old, [%h+4], %n;\n"
    "WAIT:\n"
    "ld.volatile.global.u32 %now, [%h+4];\n"
    "xor.b32 %now, %now, %old;\n"
    "setp.ge.s32 %p, %now, 0;\n"
    "@%p bra WAIT;\n"
    "membar.gl;\n"
    "DONE:\n"
    "bar.sync 0;\n"
    "st.param.b32 [error], 0;\n"
    "ret;\n"
    "}\n"
#define ALLOCATION(prefix)                                                                              \
    ".weak .func (.param .b32 error) " prefix "Malloc(.param .b64 at, .param .b64 size)\n"              \
    "{\n"                                                                                               \
    ".reg .b32 %e;\n"                                                                                   \
    ".reg .b64 %at, %p, %n;\n"                                                                          \
    ".reg .pred %none;\n"                                                                               \
    "ld.param.u64 %n, [size];\n"                                                                        \
    "{ .param .b64 bytes, got; st.param.b64 [bytes], %n; call (got), malloc, (bytes); ld.param.b64 %p, [got]; }\n" \
    "ld.param.u64 %at, [at];\n"                                                                         \
    "st.u64 [%at], %p;\n"                                                                               \
    "setp.eq.u64 %none, %p, 0;\n"                                                                       \
    "selp.b32 %e, 2, 0, %none;\n"                                                                       \
    "st.param.b32 [error], %e;\n"                                                                       \
    "ret;\n"                                                                                            \
    "}\n"                                                                                               \
    ".weak .func (.param .b32 error) " prefix "Free(.param .b64 p)\n"                                   \
    "{\n"                                                                                               \
    ".reg .b64 %p;\n"                                                                                   \
    "ld.param.u64 %p, [p];\n"                                                                           \
    "{ .param .b64 it; st.param.b64 [it], %p; call free, (it); }\n"                                     \
    "st.param.b32 [error], 0;\n"                                                                        \
    "ret;\n"                                                                                            \
    "}\n"
    ".weak .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
    "{\n"
    ".reg .b64 %h;\n"
    ".reg .b32 %v;\n"
    "ld.param.u64 %h, [handle];\n"
    "ld.param.u32 %v, [value];\n"
    "st.volatile.global.u32 [%h], %v;\n"
    "ret;\n"
    "}\n"
    ALLOCATION("cuda")
    ALLOCATION("__cudaCDP2");

static bool has(const struct ptx_module *m, struct aw_str name, bool is_prototype)
{
    for (const struct ptx_func *f = m->funcs; f; f = f->next)
        if (f->is_prototype == is_prototype && aw_str_eq(f->name, name))
            return true;
    return false;
}

static bool declares_runtime(const struct ptx_module *m)
{
    for (const struct ptx_func *f = m->funcs; f; f = f->next)
        if (f->is_prototype && (aw_str_starts(f->name, "cuda") || aw_str_starts(f->name, "__cuda")))
            return true;
    return false;
}

/* Is a function of `library` declared in some module, and defined in none? */
static bool is_wanted(const struct ptx_module *library, struct ptx_module *const modules[], size_t n)
{
    for (const struct ptx_func *f = library->funcs; f; f = f->next) {
        bool declared = false, defined = false;
        for (size_t i = 0; i < n && !f->is_prototype; i++) {
            declared |= has(modules[i], f->name, true);
            defined |= has(modules[i], f->name, false);
        }
        if (declared && !defined)
            return true;
    }
    return false;
}

/* Programs linked with CUDA's device runtime (libcudadevrt) have the functions that start kernels as PTX of NVIDIA's, made of
 * calls of its driver's own: ours take their place. */
static void take_place(const struct ptx_module *library, struct ptx_module *const modules[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (struct ptx_func *f = modules[i]->funcs; f; f = f->next) {
            if (f->is_prototype || f->is_entry || !has(library, f->name, false))
                continue;
            f->is_prototype = true;
            f->linkage = PTX_EXTERN;
            f->body = NULL;
        }
}

/* Appends the text as a module where it is wanted. */
static enum aw_status add_text(const char *text, size_t size, bool instead, struct ptx_module *modules[], size_t *n,
                               struct ptx_diags *diags)
{
    struct ptx_module *library;
    enum aw_status status = ptx_parse(text, size, "<device runtime>", diags, &library);

    if (status != AW_OK)
        return status;
    if (instead)
        take_place(library, modules, *n);
    if (is_wanted(library, modules, *n))
        modules[(*n)++] = library;
    else
        ptx_module_destroy(library);
    return AW_OK;
}

enum aw_status ptx_runtime_add(struct ptx_module *modules[], size_t *n, struct ptx_diags *diags)
{
    bool any = false;
    struct aw_buf starts = { 0 };

    for (size_t i = 0; i < *n; i++)
        any |= declares_runtime(modules[i]);
    if (!any)
        return AW_OK;
    enum aw_status status = add_text(source, sizeof source - 1, false, modules, n, diags);
    if (status != AW_OK)
        return status;
    ptx_starts_text(&starts);
    status = starts.failed ? AW_ERR_OUT_OF_MEMORY : add_text(starts.ptr, starts.len, true, modules, n, diags);
    aw_buf_fini(&starts);
    return status;
}
