/* Unit tests of the cubin reader: what it finds in a cubin made by hand, and that it refuses damaged ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>

#include "make_cubin.h"
#include "sass/cubin.h"

static const uint64_t code[] = {
    0x00000a00ff017624, 0x000fe400078e00ff, /* MOV R1, c[0x0][0x28] */
    0x000000000000794d, 0x000fea0003800000, /* EXIT */
};
static const struct make_cubin plain = { .arch = 80, .code = code, .n = 2 };

static struct sass_cubin *open_cubin(const struct aw_buf *bytes)
{
    struct sass_cubin *cubin;
    const char *why = NULL;
    cr_assert_eq(sass_open(bytes->ptr, bytes->len, &cubin, &why), AW_OK, "%s", why ? why : "");
    return cubin;
}

Test(cubin, kernel)
{
    struct aw_buf bytes = { 0 };
    struct sass_kernel_info info;
    make_cubin(&bytes, &plain);
    struct sass_cubin *cubin = open_cubin(&bytes);

    cr_assert_eq(sass_arch(cubin), 80u);
    cr_assert_eq(sass_kernel_count(cubin), 1u);
    cr_assert_eq(sass_kernel_find(cubin, AW_STR("k")), 0u);
    cr_assert_eq(sass_kernel_find(cubin, AW_STR("kk")), UINT32_MAX);
    sass_kernel_info(cubin, 0, &info);
    cr_assert(aw_str_is(info.name, "k"));
    cr_assert(info.code_size == 32 && info.registers == 24 && info.shared_size == 64 && info.local_size == 16 &&
              info.param_size == 12);
    cr_assert(info.n_params == 2 && info.max_ntid[0] == 256 && info.max_ntid[2] == 1 && info.req_ntid[0] == 0 &&
              info.n_barriers == 2);
    sass_close(cubin);
    aw_buf_fini(&bytes);
}

Test(cubin, tables)
{
    struct aw_buf bytes = { 0 };
    make_cubin(&bytes, &plain);
    struct sass_cubin *cubin = open_cubin(&bytes);
    const struct sass_code *k = &cubin->kernels[0];

    cr_assert(k->params[0].ordinal == 0 && k->params[0].offset == 0 && k->params[0].size == 8);
    cr_assert(k->params[1].ordinal == 1 && k->params[1].offset == 8 && k->params[1].size == 4);
    cr_assert(k->param_base == 0x160 && k->bank0.size == 0x16c && k->bank2.size == 16 && k->bank4.size == 16);
    cr_assert(k->n_exits == 1 && k->exits[0] == 0x10);
    const struct sass_reloc *reloc = sass_reloc_at(&k->bank4_relocs, 8);
    cr_assert(reloc && reloc->kind == SASS_RELOC_ABS64 && aw_str_is(cubin->symbols[reloc->symbol].name, "v"));
    cr_assert_null(sass_reloc_at(&k->bank4_relocs, 0));
    cr_assert(cubin->symbols[1].kind == SASS_SYMBOL_KERNEL && cubin->symbols[2].kind == SASS_SYMBOL_GLOBAL);
    sass_close(cubin);
    aw_buf_fini(&bytes);
}

/* CUDA 12 has another OSABI and keeps the architecture elsewhere. */
Test(cubin, of_cuda_12)
{
    struct aw_buf bytes = { 0 };
    make_cubin(&bytes, &(struct make_cubin){ .arch = 75, .old = true, .code = code, .n = 2 });
    struct sass_cubin *cubin = open_cubin(&bytes);
    cr_assert_eq(sass_arch(cubin), 75u);
    sass_close(cubin);
    aw_buf_fini(&bytes);
}

Test(cubin, listing)
{
    struct aw_buf bytes = { 0 }, text = { 0 };
    static const uint64_t odd[] = { 0x00000a00ff017624, 0x000fe400078e00ff, 0x0000000000000fff, 0 };
    make_cubin(&bytes, &(struct make_cubin){ .arch = 80, .code = odd, .n = 2 });
    struct sass_cubin *cubin = open_cubin(&bytes);
    cr_assert_eq(sass_list(cubin, 0, &text), 1u);
    cr_assert_str_eq(text.ptr, "  0x0000  IMAD.U32 R1, RZ, RZ, c[0x0][0x28]\n"
                               "  0x0010  bytes ff 0f 00 00 00 00 00 00 00 00 00 00 00 00 00 00\n");
    sass_close(cubin);
    aw_buf_fini(&bytes);
    aw_buf_fini(&text);
}

static enum aw_status try_open(const void *bytes, size_t size)
{
    struct sass_cubin *cubin;
    const char *why = NULL;
    enum aw_status status = sass_open(bytes, size, &cubin, &why);
    cr_assert(status == AW_OK ? cubin != NULL : cubin == NULL && why);
    sass_close(cubin);
    return status;
}

Test(cubin, refused)
{
    struct aw_buf bytes = { 0 }, other = { 0 };
    make_cubin(&bytes, &plain);
    for (size_t size = 0; size < bytes.len; size++) { /* cut anywhere: the sections' table is at the end */
        char *cut = malloc(size + 1);
        cr_assert(cut);
        memcpy(cut, bytes.ptr, size);
        cr_assert_eq(try_open(cut, size), AW_ERR_INVALID_IMAGE, "cut to %zu", size);
        free(cut);
    }
    make_cubin(&other, &(struct make_cubin){ .arch = 61, .old = true, .code = code, .n = 2 });
    cr_assert_eq(try_open(other.ptr, other.len), AW_ERR_NO_BINARY);
    ((Elf64_Ehdr *)bytes.ptr)->e_machine = EM_X86_64;
    cr_assert_eq(try_open(bytes.ptr, bytes.len), AW_ERR_INVALID_IMAGE);
    aw_buf_fini(&bytes);
    aw_buf_fini(&other);
}
