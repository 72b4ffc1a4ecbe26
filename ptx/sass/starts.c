/* Kernels that start kernels: machine code has the functions for that linked in, which call the driver; they are known by their
 * names, and the compiler's (ptx/module/starts.c) are called instead.  A kernel's address is as include/anywarp/started.h
 * has it: kernel k of a cubin has address_id k + 1, for which the outline of its module takes all kernels' addresses in turn. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "sass/lift.h"

static const struct starter {
    const char *name; /* behind the family's prefix */
    struct sass_runtime_function is;
} starters[] = {
    { "GetParameterBuffer", { "ww", 'w', false } },
    { "GetParameterBufferV2", { "wddt", 'w', false } },
    { "LaunchDeviceV2", { "ww", 't', false } },
    { "StreamCreateWithFlags", { "pt", 't', false } },
    { "StreamDestroy", { "w", 't', false } },
    { "StreamWaitEvent", { "wwt", 't', false } },
    { "EventCreateWithFlags", { "pt", 't', false } },
    { "EventDestroy", { "w", 't', false } },
    { "EventRecord", { "ww", 't', false } },
    { "EventRecordWithFlags", { "wwt", 't', false } },
    { "MemcpyAsync", { "ppwtw", 't', false } },
    { "MemsetAsync", { "ptww", 't', false } },
    { "GetLastError", { "", 't', false } },
    { "PeekAtLastError", { "", 't', false } },
    { "DeviceSynchronize", { "", 't', false } },
};

const struct sass_runtime_function *sass_starter(struct aw_str name)
{
    static const char *const prefixes[] = { "__cudaCDP2", "cuda" };
    static const char threads[] = "_ptsz"; /* built for a default stream of each thread */
    static const struct sass_runtime_function synchronize = { "", 't', false };
    size_t suffix = sizeof threads - 1;
    if (aw_str_is(name, "__cudaDeviceSynchronizeDeprecationAvoidance"))
        return &synchronize;
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        if (!aw_str_starts(name, prefixes[p]))
            continue;
        struct aw_str rest = { name.ptr + strlen(prefixes[p]), name.len - strlen(prefixes[p]) };
        if (rest.len > suffix && !memcmp(rest.ptr + rest.len - suffix, threads, suffix))
            rest.len -= suffix;
        for (size_t k = 0; k < sizeof starters / sizeof *starters; k++)
            if (aw_str_is(rest, starters[k].name))
                return &starters[k].is;
    }
    return NULL;
}

static bool is_starter(const struct sass_cubin *cubin, uint32_t symbol)
{
    const struct sass_symbol *s = &cubin->symbols[symbol];
    return (s->kind == SASS_SYMBOL_FUNCTION || s->kind == SASS_SYMBOL_NONE) && sass_starter(s->name);
}

bool sass_starts(const struct sass_cubin *cubin)
{
    for (uint32_t s = 0; s < cubin->n_symbols; s++)
        if (is_starter(cubin, s))
            return true;
    return false;
}

bool sass_kernel_starts(const struct sass_cubin *cubin, uint32_t index)
{
    struct sass_lift l = { .cubin = cubin, .code = &cubin->kernels[index] };
    bool starts = !sass_find_parts(&l); /* who knows */
    for (uint32_t k = 0; !starts && k < l.n_parts; k++) {
        const struct sass_relocs *r = &l.parts[k].code->relocs;
        for (uint32_t j = 0; j < r->n; j++)
            starts |= is_starter(cubin, r->at[j].symbol);
    }
    aw_arena_fini(&l.arena);
    return starts;
}

bool sass_kernel_address(const struct sass_cubin *cubin, uint32_t symbol, uint64_t *ret_address)
{
    for (uint32_t k = 0; k < cubin->n_kernels; k++) {
        const struct sass_code *code = &cubin->kernels[k];
        if (code->symbol != symbol)
            continue;
        const struct sass_param *last = code->n_params ? &code->params[code->n_params - 1] : NULL;
        uint64_t bytes = last ? (uint64_t)last->offset + last->size : 0;
        *ret_address = bytes << 32 | 16 * ((uint64_t)k + 1);
        return true;
    }
    return false;
}

/* ---- Text */

void sass_starts_declare(struct aw_buf *out)
{
    aw_buf_printf(out, ".extern .func (.param .b64 r) cudaGetParameterBuffer(.param .b64 a0, .param .b64 a1);\n");
}

void sass_starts_mark(const struct sass_cubin *cubin, uint32_t index, struct aw_buf *out)
{
    if (sass_kernel_starts(cubin, index))
        aw_buf_printf(out, "\t{ .param .b64 a, n, p; st.param.b64 [a], 0; st.param.b64 [n], 0;\n"
                      "\tcall (p), cudaGetParameterBuffer, (a, n); }\n");
}

void sass_starts_addresses(const struct sass_cubin *cubin, struct aw_buf *out)
{
    aw_buf_printf(out, ".func kernels$()\n{\n\t.reg .b64 %%w;\n");
    for (uint32_t k = 0; k < cubin->n_kernels; k++)
        aw_buf_printf(out, "\tmov.u64 %%w, %.*s;\n", AW_STR_ARG(cubin->kernels[k].name));
    aw_buf_printf(out, "\tret;\n}\n");
}
