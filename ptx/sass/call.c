/* Calls of functions of CUDA's device runtime: arguments lie in R4 and on, each 64-bit one in an even pair, words of structures
 * one behind the other, and so does the result.  The address that is called comes out of bank 4, where each symbol has a number;
 * which it is the compiler finds out. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "sass/lift.h"

static const struct function {
    const char *name;
    struct sass_runtime_function is;
} functions[] = {
    { "vprintf", { "pp", 't', false } },
    { "__assertfail", { "pptpw", 0, true } },
    { "malloc", { "w", 'w', false } },
    { "free", { "p", 0, false } },
    { "cudaGraphSetConditional", { "wt", 0, false } },
};

static const struct sass_runtime_function *function_of(struct aw_str name)
{
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        if (aw_str_is(name, functions[k].name))
            return &functions[k].is;
    return sass_starter(name);
}

/* As it is declared; arguments of a call are variables of the same types. */
static void declare_param(struct aw_buf *out, char type, unsigned k)
{
    if (type == 'd')
        aw_buf_printf(out, ".param .align 4 .b8 a%u[12]", k);
    else
        aw_buf_printf(out, ".param .b%d a%u", type == 't' ? 32 : 64, k);
}

/* Three words from a register on: the argument's name, after they were put there. */
static unsigned put_three(struct sass_lift *l, unsigned reg, unsigned k)
{
    for (unsigned w = 0; w < 3; w++) {
        struct sass_operand o = { .kind = SASS_REG, .reg = (uint8_t)(reg + w), .regs = 1 };
        sass_step(l, "st.param.b32 [a%u+%u], %s", k, 4 * w, sass_raw(l, &o).s);
    }
    return reg + 3;
}

static void call_function(struct sass_lift *l, const struct sass_runtime_function *f, uint32_t symbol)
{
    unsigned reg = 4, n = 0;
    struct sass_text args[8];
    l->symbols[symbol] = 1;
    aw_buf_printf(&l->body, "\t{\n");
    for (const char *p = f->params; *p; p++, n++) {
        bool wide = *p == 'w' || *p == 'p';
        aw_buf_printf(&l->body, "\t");
        declare_param(&l->body, *p, n);
        aw_buf_printf(&l->body, ";\n");
        if (*p == 'd') {
            reg = put_three(l, reg, n);
            continue;
        }
        reg += wide && reg % 2;
        struct sass_operand o = { .kind = SASS_REG, .reg = (uint8_t)reg, .regs = wide ? 2 : 1 };
        args[n] = wide ? sass_raw64(l, &o) : sass_raw(l, &o);
        if (*p == 'p')
            args[n] = sass_generic(l, args[n].s, NULL);
        sass_step(l, "st.param.b%u [a%u], %s", wide ? 64 : 32, n, args[n].s);
        reg += wide ? 2 : 1;
    }
    if (f->result)
        sass_step(l, ".param .b%d r", f->result == 'w' ? 64 : 32);
    aw_buf_printf(&l->body, "\tcall.uni %s%.*s, (", f->result ? "(r), " : "", AW_STR_ARG(l->cubin->symbols[symbol].name));
    for (unsigned k = 0; k < n; k++)
        aw_buf_printf(&l->body, "%sa%u", k ? ", " : "", k);
    aw_buf_printf(&l->body, ");\n");
    struct sass_operand result = { .kind = SASS_REG, .reg = 4, .regs = 1 }, next = { .kind = SASS_REG, .reg = 5, .regs = 1 };
    if (f->result == 'w') {
        struct sass_text w = sass_temp(l, 'w');
        sass_step(l, "ld.param.b64 %s, [r]", w.s);
        sass_step(l, "mov.b64 {%s, %s}, %s", sass_dest(l, &result, 0).s, sass_dest(l, &next, 0).s, w.s);
    } else if (f->result) {
        sass_step(l, "ld.param.b32 %s, [r]", sass_dest(l, &result, 0).s);
    }
    aw_buf_printf(&l->body, "\t}\n");
    if (f->ends)
        sass_step(l, "trap");
}

/* The declaration that a kernel's text needs for a symbol; false when it is no function that we know. */
bool sass_declare_function(struct aw_str name, struct aw_buf *out)
{
    const struct sass_runtime_function *f = function_of(name);
    if (!f)
        return false;
    aw_buf_printf(out, ".extern .func ");
    if (f->result)
        aw_buf_printf(out, "(.param .b%d r) ", f->result == 'w' ? 64 : 32);
    aw_buf_printf(out, "%.*s(", AW_STR_ARG(name));
    for (unsigned p = 0; f->params[p]; p++) {
        aw_buf_printf(out, "%s", p ? ", " : "");
        declare_param(out, f->params[p], p);
    }
    aw_buf_printf(out, ")%s;\n", f->ends ? " .noreturn" : "");
    return true;
}

static struct sass_text reg(struct sass_lift *l, unsigned number, unsigned words)
{
    struct sass_operand o = { .kind = SASS_REG, .reg = (uint8_t)number, .regs = (uint8_t)words };
    return words == 2 ? sass_raw64(l, &o) : sass_raw(l, &o);
}

/* Gradients of textures in three dimensions and cubes, which are functions from sm_90 on: the handle is in R4, coordinates from
 * R8 on, one gradient from R12 on and the other on the stack; the texel is in R5 to R8. */
static const char *gradient_of(struct aw_str name)
{
    static const char *const geometries[] = { "3d", "cube", "acube" }, *const types[] = { "s32", "u32", "f32" };
    char known[64];
    for (unsigned k = 0; k < 9 && aw_str_starts(name, "__cuda_syscall_tex_grad_"); k++)
        if (snprintf(known, sizeof known, "__cuda_syscall_tex_grad_%s_v4_%s_f32", geometries[k / 3], types[k % 3]) > 0 &&
            aw_str_is(name, known))
            return geometries[k / 3];
    return NULL;
}

static void call_gradient(struct sass_lift *l, const char *geometry)
{
    struct sass_text dy[4], stack;
    stack = sass_local_address(l, reg(l, 1, 1).s);
    for (unsigned k = 0; k < 4; k++)
        dy[k] = sass_temp(l, 't');
    sass_step(l, "ld.local.v4.b32 {%s, %s, %s, %s}, [%s]", dy[0].s, dy[1].s, dy[2].s, dy[3].s, stack.s);
    for (unsigned k = 5; k < 16; k++)
        (void)reg(l, k, 1);
    sass_step(l, "tex.grad.%s.v4.f32.f32 {%%r5, %%r6, %%r7, %%r8}, [%s, {%%r8, %%r9, %%r10, %%r11}], "
              "{%%r12, %%r13, %%r14, %%r15}, {%s, %s, %s, %s}", geometry, reg(l, 4, 2).s, dy[0].s, dy[1].s, dy[2].s, dy[3].s);
}

static bool is_known(const struct sass_symbol *s)
{
    return (s->kind == SASS_SYMBOL_NONE && (function_of(s->name) || gradient_of(s->name))) ||
           (s->kind == SASS_SYMBOL_FUNCTION && sass_starter(s->name));
}

bool sass_call_symbol(struct sass_lift *l, uint32_t symbol)
{
    const struct sass_symbol *s = &l->cubin->symbols[symbol];
    if (!is_known(s))
        return false;
    if (function_of(s->name))
        call_function(l, function_of(s->name), symbol);
    else
        call_gradient(l, gradient_of(s->name));
    return true;
}

bool sass_call_known(struct sass_lift *l, const char *address, uint32_t label, struct aw_str *ret_other)
{
    const struct sass_relocs *r = &sass_part_of(l, l->at->offset / SASS_INSN_SIZE)->code->bank4_relocs;
    unsigned n = 0;
    for (uint32_t k = 0; k < r->n; k++) {
        const struct sass_symbol *symbol = &l->cubin->symbols[r->at[k].symbol];
        if (!is_known(symbol)) {
            if (symbol->kind == SASS_SYMBOL_NONE)
                *ret_other = symbol->name;
            continue;
        }
        struct sass_text q = sass_temp(l, 'q');
        sass_step(l, "setp.ne.u32 %s, %s, %" PRIu32, q.s, address, r->at[k].symbol + 1);
        sass_step(l, "@%s bra $C%" PRIu32 "_%u", q.s, label, n);
        (void)sass_call_symbol(l, r->at[k].symbol);
        sass_step(l, "bra $E%" PRIu32, label);
        aw_buf_printf(&l->body, "$C%" PRIu32 "_%u:\n", label, n++);
    }
    return n || !ret_other->len;
}
