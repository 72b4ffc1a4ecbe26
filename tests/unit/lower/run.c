/* The JIT harness: see run.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "base/status.h"
#include "lower/lower.h"
#include "module/module.h"
#include "finish/host/host.h"
#include "finish/target.h"

#include <criterion/criterion.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OPERANDS = 4, SEED = 20240611, RANDOM = 6000 };

/* Plain x86-64 code of one lane: no finisher. */
static const struct ptx_lower_target scalar = {
    .name = "scalar",
    .triple = "x86_64-unknown-linux-gnu",
    .data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-A5",
    .features = PTX_TARGET_ROUND_KNOWN,
};

/* ---- Text */
struct spec {
    char name[8];
    char reg;       /* class letter for .reg: b, f, p */
    unsigned bits;
};

static unsigned specs_parse(const char *types, struct spec *specs)
{
    unsigned n = 0;
    for (const char *p = types; *p && n <= MAX_OPERANDS; n++) {
        size_t len = strcspn(p, " ");
        snprintf(specs[n].name, sizeof specs[n].name, "%.*s", (int)len, p);
        specs[n].reg = specs[n].name[0];
        specs[n].bits = specs[n].reg == 'p' ? 1 : strstr(specs[n].name, "x2") ? 32
                        : (unsigned)atoi(specs[n].name + strcspn(specs[n].name, "0123456789"));
        p += len + strspn(p + len, " ");
    }
    return n;
}

static const char *register_type(const struct spec *s)
{
    static char text[16];
    if (s->reg == 'p')
        return "pred";
    bool real = strcmp(s->name, "f32") == 0 || strcmp(s->name, "f64") == 0;
    snprintf(text, sizeof text, "%c%u", real ? 'f' : 'b', s->bits < 16 ? 16 : s->bits);
    return text;
}

static void text_make(const struct run_row *row, const struct spec *specs, unsigned n, struct aw_buf *out)
{
    static const char names[] = "dabce";
    aw_buf_printf(out, ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
                       ".reg .b64 %%in, %%out, %%u<4>;\n.reg .b32 %%t<4>, %%z;\n.reg .b16 %%h<4>;\n.reg .pred %%q<4>;\n");
    for (unsigned i = 0; i < n; i++)
        aw_buf_printf(out, ".reg .%s %%%c;\n", register_type(&specs[i]), names[i]);
    aw_buf_printf(out, "ld.param.u64 %%in, [in];\nld.param.u64 %%out, [out];\n");
    for (unsigned i = 1; i < n; i++) {
        if (specs[i].reg == 'p')
            aw_buf_printf(out, "ld.global.b32 %%z, [%%in+%u];\nsetp.ne.u32 %%%c, %%z, 0;\n", 8 * (i - 1), names[i]);
        else
            aw_buf_printf(out, "ld.global.%c%u %%%c, [%%in+%u];\n", register_type(&specs[i])[0], specs[i].bits, names[i],
                          8 * (i - 1));
    }
    aw_buf_printf(out, "%s\n", row->ptx);
    if (specs[0].reg == 'p')
        aw_buf_printf(out, "selp.u32 %%z, 1, 0, %%d;\nst.global.b32 [%%out], %%z;\n");
    else
        aw_buf_printf(out, "st.global.%c%u [%%out], %%d;\n", register_type(&specs[0])[0], specs[0].bits);
    aw_buf_printf(out, "ret;\n}\n");
}

/* ---- Values */
static uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const uint64_t edges_int[] = {
    0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 200, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x12345678,
    0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
    0xffffffffffffff80, 0xffffffffffff8000, 0xffffffff80000000, 0xfffffffffffffffe, 0xffffffffffffffff, 0x0123456789abcdef,
    0x1000001, 0x1000003, 0xffffff, 0x20000000000001, 0x3fffffffffffff, 0xfffffffffffffc00, 0xffffff7fffffffff,
};
static const uint64_t edges_f32[] = {
    0, 0x80000000, 1, 0x80000001, 2, 0x7fffff, 0x807fffff, 0x800000, 0x80800000, 0x800001, 0x3f800000, 0xbf800000, 0x3f800001,
    0x3f7fffff, 0x3f000000, 0x3effffff, 0x3f000001, 0x3fc00000, 0xbfc00000, 0x40200000, 0x40000000, 0x40400000, 0x477fe000,
    0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x387fc000, 0x38800000, 0x4b000000, 0x4b7fffff, 0x4b800000, 0xcb800001,
    0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0xdf000000, 0x5f7fffff,
    0x5f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0x7e967699, 0x1e3ce508,
    0x43000000, 0x43008000, 0x7f7f8000, 0x7f7f7fff, 0x20000000, 0x5f3759df, 0x42fe0000, 0xc3008000, 0x437f0000, 0x437f8000,
};
static const uint64_t edges_f64[] = {
    0, 0x8000000000000000, 1, 0x8000000000000001, 3, 0xfffffffffffff, 0x800fffffffffffff, 0x10000000000000, 0x8010000000000001,
    0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff, 0x3fe0000000000000, 0x3fdfffffffffffff,
    0x4000000000000000, 0x4008000000000000, 0xc008000000000000, 0x3ff8000000000000, 0x3ff0000010000000, 0x3ff0000010000001,
    0x3ff0000030000000, 0x36a0000000000000, 0x3690000000000000, 0x3690000000000001, 0x380fffffffffffff, 0x47efffffe0000000,
    0x47efffffefffffff, 0x47effffff0000000, 0x47f0000000000000, 0x40effc0000000000, 0x40effe0000000000, 0x40effdffffffffff,
    0x3e60000000000000, 0x3e60000000000001, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000,
    0x41efffffffe00000, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000, 0x43f0000000000000, 0x43efffffffffffff,
    0x4330000000000000, 0x4340000000000000, 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0xfff8000000001234, 0x7ff0000000000001, 0x1ff0000000000001, 0x5fe0000000000003, 0x0360000000000001,
    0x2010000000000001, 0x7fe0000000000000, 0x0020000000000000, 0x6000000000000000, 0x9ff123456789abcd,
};
static const uint64_t edges_f16[] = {
    0, 0x8000, 1, 0x8001, 0x3ff, 0x83ff, 0x400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800, 0x3801, 0x4000, 0x4200, 0x3e00,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01, 0x5bff, 0x5c00, 0x6400, 0x7800, 0x3c80, 0x3f80, 0xbf80, 0x7f80,
    0x7f7f,
    0x0080, 0x007f, 0x4049, 0x5555, 0x0c00, 0xff80, 0x7fc0, 0x7ff7,
};

static uint64_t random_value(const struct spec *s, uint64_t *state)
{
    uint64_t r = random_next(state);
    if (s->reg == 'p')
        return r & 1;
    if (strcmp(s->name, "f32") == 0 && r >> 62) /* exponents near one, so that operands meet */
        return (r & 0x807fffff) | (uint64_t)(97 + (r >> 32) % 60) << 23;
    if (strcmp(s->name, "f64") == 0 && r >> 62)
        return (r & 0x800fffffffffffff) | (993 + random_next(state) % 60) << 52;
    if (s->reg != 'f' && r >> 63) /* short numbers */
        return random_next(state) >> (r & 63);
    return random_next(state);
}

static const uint64_t *edges_of(const struct spec *s, size_t *ret_n)
{
#define EDGES(a) (*ret_n = sizeof(a) / sizeof *(a), (a))
    static const uint64_t bools[] = { 0, 1 };
    if (s->reg == 'p')
        return EDGES(bools);
    if (strcmp(s->name, "f32") == 0)
        return EDGES(edges_f32);
    if (strcmp(s->name, "f64") == 0)
        return EDGES(edges_f64);
    if (strcmp(s->name, "f16") == 0 || strcmp(s->name, "bf16") == 0)
        return EDGES(edges_f16);
    return EDGES(edges_int);
#undef EDGES
}

/* ---- Comparison */
static bool is_nan_bits(const struct spec *s, uint64_t bits)
{
    if (strcmp(s->name, "f64") == 0)
        return (bits & INT64_MAX) > 0x7ff0000000000000;
    if (strcmp(s->name, "f32") == 0)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (strcmp(s->name, "f16") == 0)
        return (bits & 0x7fff) > 0x7c00;
    return strcmp(s->name, "bf16") == 0 && (bits & 0x7fff) > 0x7f80;
}

typedef void kernel_fn(void *kernarg);
struct running {
    const struct run_row *row;
    struct spec specs[MAX_OPERANDS + 1];
    unsigned n;
    kernel_fn *fn;
    long differences;
};

static void value_try(struct running *r, const uint64_t *in, bool report)
{
    uint64_t v[MAX_OPERANDS] = { 0 }, out = 0, kernarg[4] = { (uintptr_t)v, (uintptr_t)&out, 0, 0 };
    for (unsigned i = 1; i < r->n; i++)
        v[i - 1] = r->specs[i].bits < 64 ? in[i - 1] & ((1ull << r->specs[i].bits) - 1) : in[i - 1];
    r->fn(kernarg);
    uint64_t want = r->row->ref(v), mask = r->specs[0].bits == 64 ? UINT64_MAX : (1ull << r->specs[0].bits) - 1;
    if (want == RUN_UNDEFINED)
        return;
    want &= mask;
    out &= mask;
    bool same = want == out || (!(r->row->flags & RUN_EXACT_NAN) && is_nan_bits(&r->specs[0], want) &&
                                is_nan_bits(&r->specs[0], out));
    if (same)
        return;
    if (report && r->differences < 4)
        cr_log_error("%s: a=%llx b=%llx c=%llx e=%llx: got %llx, want %llx (seed %d)", r->row->ptx, (unsigned long long)v[0],
                     (unsigned long long)v[1], (unsigned long long)v[2], (unsigned long long)v[3], (unsigned long long)out,
                     (unsigned long long)want, SEED);
    r->differences++;
}

static void values_try(struct running *r, bool report)
{
    uint64_t state = SEED, v[MAX_OPERANDS] = { 0 };
    size_t n[MAX_OPERANDS] = { 1, 1, 1, 1 };
    const uint64_t *edges[MAX_OPERANDS] = { 0 };
    for (unsigned i = 1; i < r->n; i++)
        edges[i - 1] = edges_of(&r->specs[i], &n[i - 1]);
    for (size_t a = 0; a < n[0]; a++) {
        for (size_t b = 0; b < n[1]; b++) {
            for (unsigned repeat = 0; repeat < (r->n > 3 ? 8 : 1); repeat++) {
                size_t pick[MAX_OPERANDS] = { a, b, random_next(&state) % n[2], random_next(&state) % n[3] };
                for (unsigned i = 1; i < r->n; i++)
                    v[i - 1] = edges[i - 1][pick[i - 1]];
                value_try(r, v, report);
            }
        }
    }
    for (unsigned k = 0; k < RANDOM; k++) {
        for (unsigned i = 1; i < r->n; i++)
            v[i - 1] = random_value(&r->specs[i], &state);
        if (k % 3 == 0 && r->n > 1) { /* one edge among random ones */
            unsigned i = 1 + (unsigned)(random_next(&state) % (r->n - 1));
            v[i - 1] = edges[i - 1][random_next(&state) % n[i - 1]];
        }
        value_try(r, v, report);
    }
}

/* ---- Compiling */
static LLVMModuleRef lower(const char *text, size_t len, LLVMContextRef context, struct aw_buf *messages)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *module = NULL;
    struct ptx_lowered lowered = { 0 };
    struct aw_text source = { text, len, "row" };
    if (ptx_open(&source, 1, &diags, &module) == AW_OK)
        ptx_lower_kernel(module, ptx_find_kernel(module, AW_STR("k")), &scalar, context, false, &lowered, messages);
    aw_buf_str(messages, aw_buf_view(&diags.text));
    ptx_diags_fini(&diags);
    ptx_module_destroy(module);
    return lowered.module;
}

/* The module for the JIT, which takes it and its context. */
#if LLVM_VERSION_MAJOR < 21
/* The JIT makes contexts itself: a copy of the module goes into one. */
static LLVMOrcThreadSafeModuleRef thread_safe(LLVMModuleRef module, LLVMContextRef context)
{
    LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContext();
    LLVMMemoryBufferRef bits = LLVMWriteBitcodeToMemoryBuffer(module);
    LLVMModuleRef copy = NULL;
    cr_assert(!LLVMParseBitcodeInContext2(LLVMOrcThreadSafeContextGetContext(shared), bits, &copy), "no copy of the module");
    LLVMOrcThreadSafeModuleRef safe = LLVMOrcCreateNewThreadSafeModule(copy, shared);
    LLVMDisposeMemoryBuffer(bits);
    LLVMOrcDisposeThreadSafeContext(shared);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return safe;
}
#else
static LLVMOrcThreadSafeModuleRef thread_safe(LLVMModuleRef module, LLVMContextRef context)
{
    LLVMOrcThreadSafeContextRef shared = LLVMOrcCreateNewThreadSafeContextFromLLVMContext(context);
    LLVMOrcThreadSafeModuleRef safe = LLVMOrcCreateNewThreadSafeModule(module, shared);
    LLVMOrcDisposeThreadSafeContext(shared);
    return safe;
}
#endif

static bool jit_add(LLVMOrcLLJITRef jit, LLVMModuleRef module, LLVMContextRef context)
{
    /* No alloca is left that would make the data layouts differ. */
    LLVMSetDataLayout(module, LLVMOrcLLJITGetDataLayoutStr(jit));
    LLVMOrcThreadSafeModuleRef safe = thread_safe(module, context);
    LLVMOrcJITDylibRef lib = LLVMOrcLLJITGetMainJITDylib(jit);
    LLVMOrcDefinitionGeneratorRef process;
    if (LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(&process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL))
        return false;
    LLVMOrcJITDylibAddGenerator(lib, process);
    return LLVMOrcLLJITAddLLVMIRModule(jit, lib, safe) == NULL;
}

static long row_run(const struct run_row *row, bool report)
{
    struct running r = { .row = row };
    struct aw_buf text = { 0 }, messages = { 0 };
    ptx_llvm_init();
    r.n = specs_parse(row->types, r.specs);
    text_make(row, r.specs, r.n, &text);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = lower(text.ptr, text.len, context, &messages);
    if (!module || ptx_target_prepare(module, &messages) != AW_OK || ptx_host_round(module, &messages) != AW_OK ||
        ptx_passes_run(module, NULL, "function(instcombine<no-verify-fixpoint>,gvn)", &messages) != AW_OK) {
        if (report)
            cr_log_error("%s: not compiled: %s", row->ptx, messages.ptr ? messages.ptr : "");
        r.differences = -1;
    }
    LLVMOrcLLJITRef jit = NULL;
    LLVMOrcExecutorAddress address = 0;
    if (r.differences == 0 && (LLVMOrcCreateLLJIT(&jit, NULL) || !jit_add(jit, module, context) ||
                               LLVMOrcLLJITLookup(jit, &address, "k"))) {
        if (report)
            cr_log_error("%s: the JIT failed", row->ptx);
        r.differences = -1;
    }
    if (r.differences == 0) {
        r.fn = (kernel_fn *)(uintptr_t)address;
        values_try(&r, report);
    }
    if (jit)
        LLVMOrcDisposeLLJIT(jit); /* takes module and context along */
    else
        LLVMContextDispose(context);
    aw_buf_fini(&text);
    aw_buf_fini(&messages);
    return r.differences;
}

bool run_rows(const struct run_row *rows, size_t n)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        long differences = row_run(&rows[i], true);
        if (differences > 0)
            cr_log_error("%s: %ld values differ", rows[i].ptx, differences);
        ok = ok && differences == 0;
    }
    return ok;
}

long run_row_differences(const struct run_row *row)
{
    return row_run(row, false);
}
