/* Fuzz target for the compiler's front: any bytes as PTX.  What parses must print, parse again and be equal; what checks must
 * give closures and a manifest that passes its own check.  With AW_FUZZ_RATE=N only one input in N is
 * linked as well. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "module/module.h"

static void same_when_printed(const struct ptx_module *m)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *again = NULL;
    struct aw_buf out = { 0 };
    char why[512] = "what was printed does not parse";

    ptx_print(m, &out);
    if (ptx_parse(out.ptr, out.len, "printed", &diags, &again) != AW_OK || !ptx_equal(m, again, why, sizeof why)) {
        fprintf(stderr, "%s\n%s\n%s\n", why, diags.text.ptr ? diags.text.ptr : "", out.ptr);
        abort();
    }
    ptx_module_destroy(again);
    ptx_diags_fini(&diags);
    aw_buf_fini(&out);
}

static void ask(struct ptx_module *m)
{
    for (struct ptx_func *f = m->funcs; f; f = f->next) {
        struct aw_arena arena = { 0 };
        struct ptx_closure c;
        struct aw_buf text = { 0 };
        if (f->is_entry && !f->is_prototype && ptx_closure_of(m, f, &arena, &c)) {
            ptx_module_shared_layout(m, &c);
            ptx_closure_errors(&c, &text);
        }
        aw_buf_fini(&text);
        aw_arena_fini(&arena);
    }
    struct aw_manifest *mf = ptx_manifest_build(m);
    if (mf && !aw_manifest_check(mf, mf->size))
        abort();
    free(mf);
}

/* Sound text, for a quarter of the changes: the others show what broken text does. */
bool aw_fuzz_accepts(const uint8_t *data, size_t size)
{
    static unsigned turn;
    struct ptx_diags diags = { 0 };
    struct ptx_module *m = NULL;
    bool ok = turn++ % 4 || ptx_parse((const char *)data, size, "fuzz", &diags, &m) == AW_OK;
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_diags diags = { 0 };
    struct ptx_module *m = NULL;

    if (ptx_parse((const char *)data, size, "fuzz", &diags, &m) == AW_OK) {
        same_when_printed(m);
        if (ptx_check(m, &diags) == AW_OK) {
            same_when_printed(m);
            ask(m);
        }
    }
    ptx_module_destroy(m);
    if (!aw_fuzz_deep(aw_fuzz_digest(data, size))) {
        ptx_diags_fini(&diags);
        return 0;
    }
    /* Two copies of one text: linking must cope with every name twice. */
    const struct aw_text both[2] = { { (const char *)data, size, "a" }, { (const char *)data, size, "b" } };
    if (ptx_open(both, 2, &diags, &m) == AW_OK) {
        same_when_printed(m);
        ask(m);
        ptx_module_destroy(m);
    }
    ptx_diags_fini(&diags);
    return 0;
}

static const char *const seeds[] = {
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .b8 a[8] = {1, 0x2, 0b11, -4};\n"
    ".global .u64 p[2] = {generic(a)+4, f};\n"
    ".func (.param .b32 r) f(.param .b32 x)\n{\n\t.reg .b32 %r<3>;\n\tld.param.u32 %r1, [x];\n\tst.param.b32 [r], %r1;\n"
    "\tret;\n}\n"
    ".visible .entry k(.param .u64 out)\n.maxntid 128\n{\n\t.reg .pred %p<2>;\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<3>;\n"
    "\tld.param.u64 %rd1, [out];\n\tmov.u32 %r1, %tid.x;\n\tsetp.lt.s32 %p1, %r1, WARP_SZ*2;\n\t@!%p1 bra L;\n"
    "\tst.global.u32 [%rd1+-4], %r1;\nL:\n\t{\n\t.param .b32 c;\n\t.param .b32 d;\n\tst.param.b32 [c], %r1;\n"
    "\tcall (d), f, (c);\n\t}\n\tret;\n}\n",
    ".version 7.5 .target sm_75\n.extern .shared .b8 s[];\n.entry k(.param .align 8 .b8 b[12]) { .reg .b64 %x<9>; "
    ".reg .pred q; .loc 1 2 3 t: .callprototype (.param .b32 _) _ (.param .b64 _); mov.u64 %x1, k; "
    "{ .param .b32 o; .param .b64 i; call (o), %x1, (i), t; } u: .branchtargets L, M; L: M: bra L; }\n",
};

unsigned aw_fuzz_seeds(struct aw_fuzz_seed *ret_seeds, unsigned max)
{
    unsigned n = 0;

    for (; n < sizeof seeds / sizeof *seeds && n < max; n++)
        ret_seeds[n] = (struct aw_fuzz_seed){ strdup(seeds[n]), strlen(seeds[n]) };
    return n;
}
