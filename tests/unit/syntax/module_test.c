/* Unit tests of linking, checking, layout, closures and manifests. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "front_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct ptx_func *kernel(const struct ptx_module *m, const char *name)
{
    struct ptx_func *f = ptx_find_kernel(m, aw_str_from(name));

    cr_assert_not_null(f, "no kernel %s", name);
    return f;
}

static const struct ptx_instr *nth_instr(const struct ptx_func *f, int n)
{
    for (const struct ptx_stmt *s = f->body; s; s = s->next)
        if (s->kind == PTX_STMT_INSTR && n-- == 0)
            return s->instr;
    return NULL;
}

Test(module, registers_are_dense_and_scoped)
{
    struct ptx_module *m = open_ok(HEAD ".entry k()\n{\n.reg .b32 %r<3>, x;\nmov.u32 %r2, x;\n{\n.reg .b32 %r<2>;\n"
                                        "mov.u32 %r1, %r0;\n}\n"
                                        ".reg .b32 %r1<5>;\nmov.u32 %r1, %r12;\nret;\n}\n");
    struct ptx_func *f = kernel(m, "k");

    cr_assert_eq(f->n_errors, 0u, "%.*s", AW_STR_ARG(f->errors));
    cr_assert_eq(f->n_regs, 11u);
    cr_assert_eq(nth_instr(f, 0)->ops[0].reg, 2u);
    cr_assert_eq(nth_instr(f, 0)->ops[1].reg, 3u);
    cr_assert_eq(nth_instr(f, 1)->ops[0].reg, 5u);
    cr_assert_eq(nth_instr(f, 1)->ops[1].reg, 4u);
    cr_assert_eq(nth_instr(f, 2)->ops[0].reg, 1u);
    cr_assert_eq(nth_instr(f, 2)->ops[1].reg, 8u, "%%r12 is element 2 of %%r1<5>");
    cr_assert_eq(f->reg_vars[8], nth_instr(f, 2)->ops[1].var);
    ptx_module_destroy(m);
}

Test(module, labels_belong_to_their_block)
{
    struct ptx_module *m = open_ok(HEAD ".entry k()\n{\nbra l;\n{\nl:\nbra l;\n}\n{\nl:\nbra l;\n}\nl:\nret;\n}\n");
    struct ptx_func *f = kernel(m, "k");

    cr_assert_eq(f->n_errors, 0u, "%.*s", AW_STR_ARG(f->errors));
    struct ptx_stmt *outer = nth_instr(f, 0)->ops[0].label, *first = nth_instr(f, 1)->ops[0].label;
    cr_assert(outer != first && first != nth_instr(f, 2)->ops[0].label);
    cr_assert_eq(outer->loc.line, 15u);
    ptx_module_destroy(m);
}

Test(module, modifiers_match_in_any_order)
{
    struct ptx_module *m = open_ok(HEAD ".entry k()\n{\n.reg .f32 %f<3>;\nadd.rn.ftz.sat.f32 %f0, %f1, %f2;\n"
                                        "add.sat.f32.ftz.rn %f0, %f1, %f2;\n}\n");
    struct ptx_func *f = kernel(m, "k");

    cr_assert_eq(f->n_errors, 0u, "%.*s", AW_STR_ARG(f->errors));
    cr_assert_eq(nth_instr(f, 0)->form, nth_instr(f, 1)->form);
    cr_assert_eq(memcmp(nth_instr(f, 0)->flags, nth_instr(f, 1)->flags, 4 * sizeof(uint64_t)), 0);
    ptx_module_destroy(m);
}

/* One instruction in a kernel with registers of every kind; "" = must be accepted, else part of the message. */
Test(module, operands_are_held_to_the_row)
{
    static const struct {
        const char *instr, *message;
    } cases[] = {
        { "add.s32 %r0, %r1, 5", "" },
        { "add.s32 %r0, %tid.x, %r1", "" },
        { "add.s32 %r0, %rd1, 5", "operand 2 is a register of 64 bits" },
        { "add.s32 5, %r0, %r1", "operand 1 must be a register" },
        { "add.s32 %p0, %r0, %r1", "operand 1 must not be a predicate" },
        { "add.s32 %r0, %r1", "operand 3 is missing" },
        { "add.s32 %r0, %r1, %r2, %r3", "operand 4 is one too many" },
        { "add.f32 %f0, %f1, 0f3F800000", "" },
        { "add.f32 %r0, %f1, %f2", "" }, /* ptxas takes .b32 for a float */
        { "add.s32 %r0, %r1, 1.5", "operand 3 is a float constant" },
        { "cvt.s64.s32 %rd0, %r1", "" },
        { "cvt.u8.u32 %r0, %r1", "" },
        { "ld.global.u8 %r0, [%rd0]", "" },
        { "ld.global.u64 %r0, [%rd0]", "operand 1 is a register of 32 bits" },
        { "ld.global.v2.u32 {%r0, %r1}, [%rd0+8]", "" },
        { "ld.global.v2.u32 {%r0, %r1, %r2}, [%rd0]", "operand 1 has not as many elements" },
        { "ld.global.u32 %r0, %rd0", "operand 2 must be an [address]" },
        { "ld.global.u32 %r0, [%rs0]", "cannot hold an address" },
        { "mov.b64 %rd0, {%r0, %r1}", "" },
        { "mov.b64 %rd0, {%r0, %rs1}", "operand 2 is not as wide as the type" },
        { "mov.pred %p0, -1", "" },
        { "xor.pred %p0, %p1, -1", "" },
        { "and.pred %p0, %p1, 1.5", "operand 3 is a float constant" },
        { "and.pred %p0, %p1, %r0", "operand 3 must be a predicate" },
        { "setp.eq.s32 %p0|%p1, %r0, %r1", "" },
        { "setp.eq.s32 %r0, %r1, %r2", "operand 1 must be a predicate" },
        { "setp.eq.and.s32 %p0, %r1, %r2, !%p1", "" },
        { "bra %r0", "operand 1 must be a label" },
        { "frob.s32 %r0", "instruction 'frob.s32': not known to anywarp" },
        { "add.frob.s32 %r0, %r1, %r2", "modifier '.frob' is not known" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD ".entry k()\n{\n.reg .pred %%p<4>;\n.reg .b16 %%rs<4>;\n.reg .b32 %%r<4>;\n"
                                         ".reg .f32 %%f<4>;\n"
                 ".reg .b64 %%rd<4>;\n%s;\n}\n.entry other() { ret; }\n", cases[i].instr);
        struct ptx_module *m = open_ok(text);
        struct ptx_func *f = kernel(m, "k");
        char got[512];
        snprintf(got, sizeof got, "%.*s", AW_STR_ARG(f->errors));
        if (!*cases[i].message)
            cr_assert_eq(f->n_errors, 0u, "%s: %s", cases[i].instr, got);
        else
            cr_assert_not_null(strstr(got, cases[i].message), "%s gave: %s", cases[i].instr, got);
        if (*cases[i].message)
            cr_assert_not_null(strstr(got, "a:11:"), "no place in: %s", got);
        cr_assert_eq(kernel(m, "other")->n_errors, 0u);
        ptx_module_destroy(m);
    }
}

/* ---- Linking */
static const char caller[] = HEAD ".extern .func (.param .b32 r) f(.param .b32 a);\n.entry k()\n{\n.param .b32 x;\n"
                                  ".param .b32 y;\ncall (y), f, (x);\nret;\n}\n";
static const char weak[] = HEAD ".weak .func (.param .b32 r) f(.param .b32 a)\n{\nret;\n}\n";
static const char strong[] = HEAD "\n\n.visible .func (.param .b32 r) f(.param .b32 a)\n{\nret;\n}\n";

Test(module, strong_beats_weak_in_any_order)
{
    const char *const orders[][3] = { { caller, weak, strong }, { caller, strong, weak }, { strong, weak, caller } };

    for (int i = 0; i < 3; i++) {
        struct ptx_diags diags;
        struct ptx_module *m;
        cr_assert_eq(open_texts(orders[i], 3, &diags, &m), AW_OK, "%s", diags.text.ptr ? diags.text.ptr : "");
        struct ptx_func *f = nth_instr(kernel(m, "k"), 0)->ops[1].func;
        cr_assert_eq(f->loc.line, 6u, "the strong definition is in line 6, not %u", f->loc.line);
        ptx_module_destroy(m);
        ptx_diags_fini(&diags);
    }
}

Test(module, undefined_and_duplicate)
{
    struct ptx_diags diags;
    struct ptx_module *m;
    const char *const both[] = { strong, strong }, *const alone[] = { caller };

    cr_assert_eq(open_texts(alone, 1, &diags, &m), AW_ERR_NOT_FOUND);
    cr_assert_null(m);
    cr_assert_str_eq(diags.text.ptr, "a:4:31: error: undefined function 'f'\n");
    ptx_diags_fini(&diags);
    cr_assert_eq(open_texts(both, 2, &diags, &m), AW_ERR_INVALID_PTX);
    cr_assert_str_eq(diags.text.ptr, "b:6:32: error: 'f' is already defined at a:6:32\n");
    ptx_diags_fini(&diags);
}

Test(module, common_takes_the_largest_and_strong_beats_it)
{
    const char *const texts[] = { HEAD ".common .global .b8 c[4];\n", HEAD ".common .global .b8 c[16];\n",
                                  HEAD ".visible .global .b8 c[8] = {1};\n" };
    struct ptx_diags diags;
    struct ptx_module *m;

    cr_assert_eq(open_texts(texts, 2, &diags, &m), AW_OK);
    cr_assert_eq(ptx_find_var(m, AW_STR("c"))->size, 16u);
    ptx_module_destroy(m);
    cr_assert_eq(open_texts(texts, 3, &diags, &m), AW_OK);
    cr_assert_eq(ptx_find_var(m, AW_STR("c"))->size, 8u);
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}

Test(module, runtime_functions_fail_only_the_kernels_that_reach_them)
{
    struct ptx_module *m = open_ok(HEAD ".extern .func (.param .b64 r) cudaGetDevice();\n"
                                        ".extern .func free(.param .b64 p);\n"
                                        ".entry uses()\n{\n.param .b64 x;\ncall (x), cudaGetDevice;\nret;\n}\n"
                                        ".entry frees()\n{\n.param .b64 x;\ncall free, (x);\nret;\n}\n");
    static const struct {
        const char *name;
        bool ok;
    } cases[] = { { "uses", false }, { "frees", true } };

    for (int i = 0; i < 2; i++) {
        struct aw_arena arena = { 0 };
        struct aw_buf text = { 0 };
        struct ptx_closure c;
        cr_assert(ptx_closure_of(m, kernel(m, cases[i].name), &arena, &c));
        cr_assert_eq(c.n_runtime, 1u);
        cr_assert(ptx_closure_errors(&c, &text));
        cr_assert_eq(ptx_closure_missing(&c, &text), !cases[i].ok);
        cr_assert(cases[i].ok || strstr(text.ptr, "cudaGetDevice"));
        aw_buf_fini(&text);
        aw_arena_fini(&arena);
    }
    ptx_module_destroy(m);
}

/* ---- Closures */
static const char indirect[] =
    HEAD ".func (.param .b32 r) one(.param .b32 a)\n{\nret;\n}\n"
    ".func (.param .b32 r) two(.param .b32 a)\n{\ncall inner;\nret;\n}\n"
    ".func inner()\n{\nbar.sync 0;\nret;\n}\n"
    ".func (.param .b64 r) wider(.param .b64 a)\n{\nret;\n}\n"
    ".global .u64 table[3] = {one, two, wider};\n"
    ".entry k()\n{\n.reg .b64 %rd<2>;\n.param .b32 x;\n.param .b32 y;\n"
    "p: .callprototype (.param .b32 _) _ (.param .b32 _);\nld.global.u64 %rd1, [table];\ncall (y), %rd1, (x), p;\nret;\n}\n"
    ".entry direct()\n{\n.param .b32 x;\n.param .b32 y;\ncall (y), one, (x);\nret;\n}\n";

Test(module, indirect_calls_reach_what_fits)
{
    struct ptx_module *m = open_ok(indirect);
    struct aw_arena arena = { 0 };
    struct ptx_closure c;

    cr_assert(ptx_closure_of(m, kernel(m, "k"), &arena, &c));
    cr_assert_eq(c.n_funcs, 4u);
    cr_assert_eq(c.funcs[0], c.kernel);
    cr_assert_eq(c.n_targets, 2u, "'wider' has another prototype");
    cr_assert(c.targets[0]->address_id == 1 && c.targets[1]->address_id == 2);
    cr_assert(c.indirect && c.barrier && c.recursive);
    cr_assert(ptx_closure_of(m, kernel(m, "direct"), &arena, &c));
    cr_assert(c.n_funcs == 2 && !c.indirect && !c.barrier && !c.recursive);
    aw_arena_fini(&arena);
    ptx_module_destroy(m);
}

Test(module, recursion_is_seen)
{
    struct ptx_module *m = open_ok(HEAD ".func b();\n.func a()\n{\ncall b;\nret;\n}\n.func b()\n{\ncall a;\nret;\n}\n"
                                        ".func leaf()\n{\nret;\n}\n.entry k()\n{\ncall leaf;\ncall a;\nret;\n}\n.entry flat()\n"
                                        "{\ncall leaf;\ncall leaf;\nret;\n}\n");
    struct aw_arena arena = { 0 };
    struct ptx_closure c;

    cr_assert(ptx_closure_of(m, kernel(m, "k"), &arena, &c));
    cr_assert(c.recursive);
    cr_assert(ptx_closure_of(m, kernel(m, "flat"), &arena, &c));
    cr_assert(!c.recursive);
    aw_arena_fini(&arena);
    ptx_module_destroy(m);
}

static void closure_hash(const char *text, const char *name, uint64_t ret[2])
{
    struct ptx_module *m = open_ok(text);

    memcpy(ret, kernel(m, name)->closure, 2 * sizeof *ret);
    ptx_module_destroy(m);
}

#define BASE(version, target, before, ntid, body)                                                                        \
    ".version " version "\n.target " target "\n.address_size 64\n" before ".global .u32 v;\n.func f()\n{\n" body "\nret;\n}\n" \
    ".entry k()" ntid "\n{\n.reg .b32 %r<2>;\nld.global.u32 %r1, [v];\ncall f;\nret;\n}\n"

Test(module, closure_hash_says_what_code_depends_on)
{
    uint64_t base[2], other[2];
    static const struct {
        const char *what, *text;
        bool same;
    } cases[] = {
        { "nothing", BASE("8.0", "sm_80", "", "", ""), true },
        { "lines and comments", BASE("8.0", "sm_80", "\n\n// x\n", "", "\n\n"), true },
        { "files", BASE("8.0", "sm_80", ".file 1 \"x\"\n", "", ""), true },
        { "places, which are in the line table", BASE("8.0", "sm_80", ".file 1 \"x\"\n", "", ".loc 1 2 3\n"), false },
        { "an unrelated kernel", BASE("8.0", "sm_80", ".entry unrelated() { ret; }\n", "", ""), true },
        { "version", BASE("8.1", "sm_80", "", "", ""), false },
        { "target", BASE("8.0", "sm_86", "", "", ""), false },
        { "debug", BASE("8.0", "sm_80, debug", "", "", ""), false },
        { "where a variable lies", BASE("8.0", "sm_80", ".global .u32 first;\n", "", ""), false },
        { "maxntid", BASE("8.0", "sm_80", "", ".maxntid 32", ""), false },
        { "a function's body", BASE("8.0", "sm_80", "", "", "bar.sync 0;"), false },
    };

    closure_hash(BASE("8.0", "sm_80", "", "", ""), "k", base);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        closure_hash(cases[i].text, "k", other);
        cr_assert_eq(memcmp(base, other, sizeof base) == 0, cases[i].same, "%s", cases[i].what);
    }
}

Test(module, shared_layout_is_per_kernel)
{
    struct ptx_module *m = open_ok(HEAD ".shared .align 8 .b8 a[24];\n.shared .u8 b;\n.extern .shared .align 64 .b8 d[];\n"
                                        ".entry one()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, b;\nmov.u32 %r1, a;\nret;\n}\n"
                                        ".entry two()\n{\n.reg .b32 %r<2>;\nmov.u32 %r1, b;\nmov.u32 %r1, d;\nret;\n}\n");
    struct aw_arena arena = { 0 };
    struct ptx_closure one, two;
    struct ptx_var *a = ptx_find_var(m, AW_STR("a")), *b = ptx_find_var(m, AW_STR("b"));

    cr_assert(ptx_closure_of(m, kernel(m, "one"), &arena, &one) && ptx_closure_of(m, kernel(m, "two"), &arena, &two));
    cr_assert(one.static_shared == 40 && !one.dynamic_shared);
    ptx_module_shared_layout(m, &one);
    cr_assert(b->offset == 0 && a->offset == 16, "a float4 may be read from an array");
    cr_assert(two.static_shared == 64 && two.dynamic_shared, "dynamic memory must begin at a multiple of 64");
    ptx_module_shared_layout(m, &two);
    cr_assert_eq(two.vars[1]->offset, 64u);
    aw_arena_fini(&arena);
    ptx_module_destroy(m);
}

/* ---- Manifests */
Test(module, function_addresses_are_numbers)
{
    struct ptx_module *m = open_ok(indirect);
    struct aw_manifest *mf = ptx_manifest_build(m);
    uint64_t table[3];

    cr_assert(mf && aw_manifest_check(mf, mf->size));
    cr_assert(mf->n_relocs == 0 && mf->image_size >= 17);
    memset(table, 0, sizeof table);
    memcpy(table, (const char *)mf + mf->image, mf->image_size < sizeof table ? mf->image_size : sizeof table);
    cr_assert(table[0] == 16 && table[1] == 32 && table[2] == 48);
    free(mf);
    ptx_module_destroy(m);
}

Test(module, zeros_of_large_variables_stay_out_of_the_image)
{
    struct ptx_module *m = open_ok(HEAD ".global .b8 zero[2000000000];\n.global .b8 large[1000000000] = {1, 2};\n"
                                        ".global .b8 less[100000] = {3};\n.global .u32 small = 4;\n");
    struct aw_manifest *mf = ptx_manifest_build(m);

    cr_assert(mf && mf->arena_size > 3000000000 && mf->image_size < 110000, "%u bytes", mf->image_size);
    free(mf);
    ptx_module_destroy(m);
}

Test(module, initial_values_are_converted)
{
    struct ptx_module *m = open_ok(HEAD ".global .f64 d[2] = {1.5, 0f3F800000};\n.global .f32 f[2] = {0.1, 2};\n"
                                        ".global .f16 h[4] = {1.5, 65504.0, 65520.0, 5.960464477539063e-8};\n"
                                        ".global .bf16 b = 3.140625;\n.global .s16 s = -2;\n");
    struct aw_manifest *mf = ptx_manifest_build(m);
    static const unsigned char want[] = { 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0xcd, 0xcc, 0xcc, 0x3d, 0,
                                          0, 0, 0x40,
                                          0, 0x3e, 0xff, 0x7b, 0, 0x7c, 1, 0, 0x49, 0x40, 0xfe, 0xff };

    cr_assert_eq(mf->image_size, sizeof want);
    for (size_t i = 0; i < sizeof want; i++)
        cr_assert_eq(((const unsigned char *)mf)[mf->image + i], want[i], "byte %zu", i);
    free(mf);
    ptx_module_destroy(m);
}

Test(module, manifest_check_refuses_every_broken_field)
{
    struct ptx_module *m = open_ok(HEAD ".global .u64 p = p;\n.global .u32 v = 5;\n.entry k(.param .u64 a)\n{\nret;\n}\n");
    struct aw_manifest *mf = ptx_manifest_build(m);
    size_t size = mf->size;
    unsigned char *copy = malloc(size);
    unsigned refused = 0;

    cr_assert(aw_manifest_check(mf, size));
    for (size_t cut = 0; cut < size; cut++)
        cr_assert(!aw_manifest_check(mf, cut), "cut at %zu", cut);
    for (size_t i = 0; i + 4 <= sizeof *mf; i += 4) { /* each word of the head made huge */
        memcpy(copy, mf, size);
        memset(copy + i, 0xff, 4);
        refused += !aw_manifest_check(copy, size);
    }
    /* All but ptx_major, ptx_minor, sm, and the arena's size, which may be larger than needed. */
    cr_assert_eq(refused, sizeof *mf / 4 - 5);
    free(copy);
    free(mf);
    ptx_module_destroy(m);
}

/* ---- Size */
static double check_time(int kernels)
{
    struct aw_buf text = { 0 };
    struct timespec t0, t1;

    aw_buf_str(&text, AW_STR(HEAD ".global .u32 v;\n"));
    for (int i = 0; i < kernels; i++)
        aw_buf_printf(&text, ".visible .entry kernel_%d(.param .u64 p)\n{\n.reg .b32 %%r<9>;\n.reg .b64 %%rd<4>;\nL1:\n"
                      "ld.param.u64 %%rd1, [p];\nld.global.u32 %%r1, [v];\nadd.s32 %%r2, %%r1, 3;\nbra L1;\nret;\n}\n", i);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    struct ptx_module *m = open_ok(text.ptr);
    struct aw_manifest *mf = ptx_manifest_build(m);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    cr_assert_eq(mf->n_kernels, (uint32_t)kernels);
    free(mf);
    ptx_module_destroy(m);
    aw_buf_fini(&text);
    return (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
}

Test(module, thousands_of_kernels_take_linear_time)
{
    double small = check_time(2000), large = check_time(20000);

    cr_assert_lt(large, 40 * small + 0.1, "2000 kernels %.3f s, 20000 kernels %.3f s", small, large);
}
