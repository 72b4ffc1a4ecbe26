/* Any bytes as a cubin: the reader hands out nothing that lies outside, and every kernel can be listed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "fuzz.h"
#include "sass/cubin.h"
#include "sass/insn.h"
#include "unit/sass/make_cubin.h"

static void inside(const struct sass_bytes *bytes, const uint8_t *data, size_t size)
{
    size_t offset = (size_t)(bytes->ptr - data);
    if (bytes->size && (bytes->ptr < data || offset > size || bytes->size > size - offset))
        abort();
}

static unsigned sum(const uint32_t *words, uint32_t n)
{
    unsigned all = 0;
    for (uint32_t i = 0; i < n; i++)
        all += words[i];
    return all;
}

/* Reads all that a kernel's description points to. */
static unsigned look_at(const struct sass_cubin *cubin, const struct sass_code *code, const uint8_t *data, size_t size)
{
    const struct sass_bytes *all[] = { &code->text, &code->bank0, &code->bank2, &code->bank4 };
    const struct sass_relocs *relocs[] = { &code->relocs, &code->bank2_relocs, &code->bank4_relocs };
    unsigned seen = sum(code->exits, code->n_exits) + sum(code->syscalls, code->n_syscalls) + sum(code->indirect, code->n_indirect) +
                    sum(code->coop_groups, code->n_coop_groups);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        inside(all[i], data, size);
    for (size_t i = 0; i < sizeof relocs / sizeof *relocs; i++)
        for (uint32_t r = 0; r < relocs[i]->n; r++) {
            if (relocs[i]->at[r].symbol >= cubin->n_symbols || !sass_reloc_at(relocs[i], relocs[i]->at[r].offset))
                abort();
            seen += (unsigned)cubin->symbols[relocs[i]->at[r].symbol].name.len;
        }
    for (uint32_t p = 1; p < code->n_params; p++)
        if (code->params[p - 1].offset > code->params[p].offset)
            abort();
    if (code->text.size % SASS_INSN_SIZE)
        abort();
    return seen;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sass_cubin *cubin;
    const char *why = NULL;
    volatile unsigned seen = 0;
    if (sass_open(data, size, &cubin, &why) != AW_OK) {
        if (cubin || !why)
            abort();
        return 0;
    }
    for (uint32_t i = 0; i < cubin->n_sections; i++)
        inside(&cubin->sections[i].bytes, data, size);
    for (uint32_t i = 0; i < sass_kernel_count(cubin); i++) {
        struct sass_kernel_info info;
        struct aw_buf text = { 0 };
        sass_kernel_info(cubin, i, &info);
        seen += look_at(cubin, &cubin->kernels[i], data, size);
        if (sass_kernel_find(cubin, info.name) > i)
            abort();
        seen += sass_list(cubin, i, &text);
        aw_buf_fini(&text);
    }
    for (uint32_t i = 0; i < cubin->n_functions; i++)
        seen += look_at(cubin, &cubin->functions[i], data, size);
    sass_close(cubin);
    return 0;
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    static const uint64_t code[] = { 0x00000a00ff017624, 0x000fe400078e00ff, 0x0000000402027981, 0x000ea2000c1e1900,
                                     0x000000000000794d, 0x000fea0003800000, 0xfffffff000007947, 0x000fc0000383ffff };
    unsigned n = 0;
    for (; n < 2 && n < max; n++) {
        struct aw_buf out = { 0 };
        make_cubin(&out, &(struct make_cubin){ .arch = n ? 75 : 80, .old = n, .code = code, .n = 4 });
        ret_seeds[n] = (struct aw_fuzz_seed){ out.ptr, out.len };
    }
    return n;
}
