/* Any bytes as a cubin: the reader hands out nothing that lies outside, every kernel can be listed, and lifting one gives PTX, or
 * says in one line why it gives none.
 *
 * Seeds are the *.cubin files of the folder $AW_FUZZ_SEEDS, by default small ones with random instructions of ptx/tab/sass.def.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "sass/cubin.h"
#include "sass/insn.h"
#include "sass/sass.h"
#include "sass_mutate.h"
#include "unit/sass/make_cubin.h"

enum { LONGEST = 12 }; /* instructions of a seed that is made here */

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
    unsigned seen = sum(code->exits, code->n_exits) + sum(code->syscalls, code->n_syscalls) +
                    sum(code->indirect, code->n_indirect) + sum(code->coop_groups, code->n_coop_groups);
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

/* What is lifted is text, and what is not leaves none: then one line says why. */
static void lift(const struct sass_cubin *cubin, uint32_t index, bool variables)
{
    struct aw_buf ptx = { 0 }, error = { 0 };
    enum aw_status status = variables ? sass_lift_variables(cubin, &ptx, &error) : sass_lift(cubin, index, true, &ptx, &error);
    if (status == AW_OK ? !ptx.len || error.len || memchr(ptx.ptr, 0, ptx.len) != NULL
                        : ptx.len || !error.len || memchr(error.ptr, '\n', error.len) != NULL)
        abort();
    aw_buf_fini(&ptx);
    aw_buf_fini(&error);
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
    uint64_t digest = aw_fuzz_digest(data, size);
    for (uint32_t i = 0; i < sass_kernel_count(cubin); i++) {
        struct sass_kernel_info info;
        struct aw_buf text = { 0 };
        sass_kernel_info(cubin, i, &info);
        seen += look_at(cubin, &cubin->kernels[i], data, size);
        if (sass_kernel_find(cubin, info.name) > i)
            abort();
        if (digest % sass_kernel_count(cubin) == i) /* of one: listing costs more than all else */
            seen += sass_list(cubin, i, &text);
        aw_buf_fini(&text);
        lift(cubin, i, false);
    }
    lift(cubin, 0, true);
    for (uint32_t i = 0; i < cubin->n_functions; i++)
        seen += look_at(cubin, &cubin->functions[i], data, size);
    sass_close(cubin);
    return 0;
}

/* Of whole files, those that the folder named has. */
static unsigned seeds_of(const char *dir, struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    char pattern[PATH_MAX];
    glob_t found;
    unsigned n = 0;
    snprintf(pattern, sizeof pattern, "%s/*.cubin", dir);
    if (glob(pattern, 0, NULL, &found))
        return 0;
    for (size_t i = 0; i < found.gl_pathc && n < max; i++) {
        FILE *f = fopen(found.gl_pathv[i], "rb");
        char *bytes = f ? malloc(1 << 20) : NULL;
        if (bytes)
            ret_seeds[n++] = (struct aw_fuzz_seed){ bytes, fread(bytes, 1, 1 << 20, f) };
        if (f)
            fclose(f);
    }
    globfree(&found);
    return n;
}

/* Small ones, so that thousands are lifted in a second: a few instructions of the table, of which those behind the first that has
 * no meaning are never lifted, and an end. */
static struct aw_fuzz_seed made(unsigned arch, bool old, unsigned n, uint64_t *state)
{
    static const uint64_t end[] = { 0x000000000000794d, 0x000fea0003800000, 0xfffffff000007947, 0x000fc0000383ffff };
    uint64_t code[2 * LONGEST];
    struct aw_buf out = { 0 };
    for (unsigned k = 0; k + 2 < n; k++)
        sass_insn_make((uint8_t *)(code + (size_t)2 * k), arch, k, n, state);
    memcpy(code + 2 * (n - 2), end, sizeof end);
    make_cubin(&out, &(struct make_cubin){ .arch = arch, .old = old, .code = code, .n = n, .lines = n % 2 });
    return (struct aw_fuzz_seed){ out.ptr, out.len };
}

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    static const unsigned archs[] = { 75, 80, 86, 89, 90 }, sizes[] = { 3, 4, 5, 7, LONGEST };
    uint64_t state = 1;
    unsigned n = 0;
    const char *dir = getenv("AW_FUZZ_SEEDS");
    if (dir)
        return seeds_of(dir, ret_seeds, max);
    for (unsigned a = 0; a < sizeof archs / sizeof *archs; a++)
        for (unsigned s = 0; s < sizeof sizes / sizeof *sizes && n < max; s++)
            ret_seeds[n++] = made(archs[a], archs[a] == 75, sizes[s], &state);
    return n;
}
