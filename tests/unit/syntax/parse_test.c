/* Unit tests of the parser and the printer on small texts; tests/ptx/syntax has the large ones. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "front_test.h"

#include <stdio.h>
#include <stdlib.h>

#define KERNEL(body) HEAD ".entry k()\n{\n" body "\n}\n"

static const struct ptx_instr *only_instr(const struct ptx_module *m)
{
    for (const struct ptx_stmt *s = m->funcs->body; s; s = s->next)
        if (s->kind == PTX_STMT_INSTR)
            return s->instr;
    return NULL;
}

Test(parse, modifiers_stay_whole)
{
    struct ptx_module *m = parse_ok(KERNEL("@!%p ld.global.nc.L1::no_allocate.L2::128B.v4 .f32 {a, b, _, c}, [%rd+-4];"));
    const struct ptx_instr *in = only_instr(m);

    cr_assert(aw_str_is(in->mnemonic, "ld"));
    cr_assert_eq(in->n_mods, 6u);
    cr_assert(aw_str_is(in->mods[2], ".L1::no_allocate"));
    cr_assert(aw_str_is(in->mods[5], ".f32"));
    cr_assert(in->guard && in->guard->negate);
    cr_assert_eq(in->n_ops, 2u);
    cr_assert_eq(in->ops[0].kind, PTX_OP_VECTOR);
    cr_assert_eq(in->ops[0].n_items, 4u);
    cr_assert_eq(in->ops[0].items[2].kind, PTX_OP_SINK);
    cr_assert_eq(in->ops[1].kind, PTX_OP_ADDR);
    cr_assert_eq(in->ops[1].offset, -4);
    ptx_module_destroy(m);
}

Test(parse, operand_forms)
{
    struct ptx_module *m =
        parse_ok(KERNEL("x p|q, %tid.x, v.y, 0f3F800000, sym+4, sym[2], !p, [a, b, {x, y}], [16], [a].unified, -3, (1+2)*3;"));
    const struct ptx_operand *op = only_instr(m)->ops;

    cr_assert_eq(only_instr(m)->n_ops, 12u);
    cr_assert(op[0].kind == PTX_OP_PAIR && aw_str_is(op[0].items[1].name, "q"));
    cr_assert(op[1].kind == PTX_OP_SREG && op[1].sreg == PTX_SREG_TID_X);
    cr_assert(op[2].kind == PTX_OP_NAME && aw_str_is(op[2].suffix, "y"));
    cr_assert(op[3].kind == PTX_OP_FLOAT && op[3].is_f32);
    cr_assert(op[4].kind == PTX_OP_NAME && op[4].offset == 4);
    cr_assert(op[5].kind == PTX_OP_NAME && op[5].offset == 2 && op[5].indexed);
    cr_assert(op[6].negate);
    cr_assert(op[7].kind == PTX_OP_ADDR && op[7].n_items == 3 && op[7].items[2].kind == PTX_OP_VECTOR);
    cr_assert(op[8].kind == PTX_OP_ADDR && op[8].items[0].kind == PTX_OP_INT && op[8].items[0].bits == 16);
    cr_assert(aw_str_is(op[9].suffix, "unified"));
    cr_assert_eq(op[10].bits, (uint64_t)-3);
    cr_assert_eq(op[11].bits, 9u);
    ptx_module_destroy(m);
}

Test(parse, calls_come_apart)
{
    struct ptx_module *m = parse_ok(KERNEL("call.uni (r), f, (a, b), t;"));
    struct ptx_call c = ptx_call_parts(only_instr(m));

    cr_assert(c.rets && c.rets->n_items == 1 && c.args && c.args->n_items == 2);
    cr_assert(aw_str_is(c.callee->name, "f") && aw_str_is(c.table->name, "t"));
    ptx_module_destroy(m);
    m = parse_ok(KERNEL("call f;"));
    c = ptx_call_parts(only_instr(m));
    cr_assert(!c.rets && !c.args && !c.table && aw_str_is(c.callee->name, "f"));
    ptx_module_destroy(m);
}

Test(parse, declaration_modifiers_in_any_order)
{
    struct ptx_module *m = parse_ok(HEAD ".visible .global .f32 .align 16 .v4 a[2][3];\n.global .v4 .f32 .align 16 b[2][3];\n");
    const struct ptx_var *a = m->vars, *b = a->next;

    cr_assert(a->type == PTX_F32 && a->vec == 4 && a->align == 16 && a->n_dims == 2 && a->dims[1] == 3);
    cr_assert(b->type == a->type && b->vec == a->vec && b->align == a->align);
    cr_assert_eq(a->linkage, PTX_VISIBLE);
    ptx_module_destroy(m);
}

Test(parse, what_is_dropped_has_no_negative)
{
    static const char text[] = KERNEL("vote.sync.any.pred %p1|!_, %p2, 1;\nmov.u32 -_, %r1;\nret;");
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;

    cr_assert_eq(ptx_parse(text, sizeof text - 1, "x.ptx", &diags, &m), AW_ERR_INVALID_PTX);
    cr_assert_str_eq(diags.text.ptr, "x.ptx:6:26: error: '_' has no negative\n"
                                     "x.ptx:7:11: error: '_' has no negative\n");
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}

Test(parse, errors_recover_within_their_statement)
{
    static const char text[] = KERNEL("add.s32 %r1 %r2;\nmov.u32 %r3, ;\nret;") ".entry good() { ret; }\n";
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;

    cr_assert_eq(ptx_parse(text, sizeof text - 1, "x.ptx", &diags, &m), AW_ERR_INVALID_PTX);
    cr_assert_str_eq(diags.text.ptr, "x.ptx:6:13: error: expected ',' or ';' before '%r2'\n"
                                     "x.ptx:7:14: error: expected an operand before ';'\n");
    cr_assert_not_null(m->funcs->next); /* the second kernel was read */
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}

Test(parse, messages_are_limited)
{
    struct aw_buf text = { 0 };
    struct ptx_diags diags = { 0 };
    struct ptx_module *m;

    aw_buf_str(&text, AW_STR(HEAD ".entry k() {\n"));
    for (int i = 0; i < 5000; i++)
        aw_buf_str(&text, AW_STR("mov ,;\n"));
    aw_buf_str(&text, AW_STR("}\n"));
    cr_assert_eq(ptx_parse(text.ptr, text.len, "t", &diags, &m), AW_ERR_INVALID_PTX);
    cr_assert_eq(diags.n_errors, 5000u);
    size_t lines = 0;
    for (size_t i = 0; i < diags.text.len; i++)
        lines += diags.text.ptr[i] == '\n';
    cr_assert_eq(lines, (size_t)PTX_MAX_ERRORS + 1);
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
    aw_buf_fini(&text);
}

Test(parse, header)
{
    static const char newer[] = ".version 10.0\n.target sm_80\n", none[] = ".target sm_80\n";
    struct ptx_diags diags = { 0 };
    struct ptx_module *m = parse_ok(".version 8.7\n.target sm_90a, debug\n.address_size 64\n");

    cr_assert(m->major == 8 && m->minor == 7 && m->sm == 90 && m->sm_suffix == 'a' && m->debug);
    ptx_module_destroy(m);
    cr_assert_eq(ptx_parse(newer, sizeof newer - 1, "t", &diags, &m), AW_ERR_UNSUPPORTED_PTX);
    cr_assert_null(m);
    cr_assert_eq(ptx_parse(none, sizeof none - 1, "t", &diags, &m), AW_ERR_INVALID_PTX);
    ptx_module_destroy(m);
    ptx_diags_fini(&diags);
}

/* Every prefix of a sound text gives an answer, and what is accepted prints. */
Test(parse, every_prefix_of_a_text)
{
    static const char text[] = HEAD ".global .u64 p[2] = {generic(p)+8, 0xff(p)};\n.section .debug { .b8 1 }\n"
                               ".func (.param .b32 r) f(.param .b32 a) .noreturn;\n"
                               ".entry k(.param .u64 .ptr .global x) .maxntid 1\n{\n"
                               ".reg .b32 %r<3>; .loc 1 2 3, function_name n, inlined_at 1 2 3\nt: .branchtargets a, b;\n"
                               "@%p call (r), f, (a); { mov.b64 {%r1, _}, [a+4]; }\n.pragma \"x\"; }\n.alias a, b;\n";
    for (size_t len = 0; len < sizeof text; len++) {
        char *exact = malloc(len + 1); /* no NUL behind it */
        struct ptx_diags diags = { 0 };
        struct ptx_module *m;
        memcpy(exact, text, len);
        enum aw_status status = ptx_parse(exact, len, "t", &diags, &m);
        free(exact);
        cr_assert(status == AW_OK || diags.n_errors > 0, "prefix %zu: status %d without a message", len, status);
        ptx_module_destroy(m);
        ptx_diags_fini(&diags);
    }
}

Test(print, round_trip_and_a_planted_difference)
{
    struct ptx_module *a = parse_ok(KERNEL("add.s32 %r1, %r2, -9223372036854775808;\n")), *b;
    struct aw_buf out = { 0 };
    char why[256];

    ptx_print(a, &out);
    b = parse_ok(out.ptr);
    cr_assert(ptx_equal(a, b, why, sizeof why), "%s", why);
    ptx_module_destroy(b);
    b = parse_ok(KERNEL("add.s32 %r1, %r2, -9223372036854775807;\n"));
    cr_assert(!ptx_equal(a, b, why, sizeof why));
    cr_assert_not_null(strstr(why, "'k'"));
    ptx_module_destroy(b);
    b = parse_ok(KERNEL("add.u32 %r1, %r2, -9223372036854775808;\n"));
    cr_assert(!ptx_equal(a, b, why, sizeof why));
    ptx_module_destroy(b);
    ptx_module_destroy(a);
    aw_buf_fini(&out);
}
