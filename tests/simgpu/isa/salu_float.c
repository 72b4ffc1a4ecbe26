/* Floating-point instructions of scalar registers (gfx12): s_add_f32 ..., and v_s_exp_f32 ... of the transcendental unit.  Each
 * is the vector instruction of the same name, run for a wave of its own registers: modes, rounding, NaNs and modifiers are that
 * row's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "scalar.h"

enum { LANES = 64, REGISTERS = 4, RESULT_MASK = SIM_VCC };

/* The vector row of "s_add_f32" and "v_s_exp_f32": v_add_f32, v_exp_f32. */
static const struct sim_op *vector_row(const struct sim_wave *w, const struct sim_inst *i)
{
    char name[64];
    const char *from = i->op->name;
    if (strcmp(from, "s_cvt_hi_f32_f16") == 0)
        from = "s_cvt_f32_f16";
    snprintf(name, sizeof name, "v_%s", from + (from[0] == 'v' ? 4 : 2));
    return sim_row(name, w->card);
}

/* A vector register of the stand-in that holds the operand in all lanes. */
static void put_operand(const struct sim_wave *w, struct sim_operand *o, uint32_t *registers, unsigned number)
{
    uint32_t value = scalar_in32(w, o);
    for (unsigned l = 0; l < LANES; l++)
        registers[number * LANES + l] = value;
    o->kind = SIM_VGPR;
    o->reg = (uint16_t)number;
    o->plain = !(o->neg | o->abs);
}

/* Runs `vector` with a full EXEC on `registers`; the lane mask that it gives is VCC's. */
static uint32_t run_vector(struct sim_wave *w, const struct sim_inst *vector, uint32_t *registers)
{
    uint32_t *v = w->v, exec[2] = { w->s[SIM_EXEC], w->s[SIM_EXEC + 1] }, vcc[2] = { w->s[SIM_VCC], w->s[SIM_VCC + 1] };
    w->v = registers;
    w->s[SIM_EXEC] = w->s[SIM_EXEC + 1] = ~0u;
    vector->run(w, vector);
    uint32_t mask = w->s[SIM_VCC];
    memcpy(&w->s[SIM_EXEC], exec, sizeof exec);
    memcpy(&w->s[SIM_VCC], vcc, sizeof vcc);
    w->v = v;
    return mask & 1;
}

/* Registers follow each other by the wave's lanes, which may be 32: there is room for 64 each. */
static bool make_vector(const struct sim_wave *w, const struct sim_inst *i, struct sim_inst *ret, uint32_t *registers)
{
    const struct sim_op *op = vector_row(w, i);
    struct sim_operand *o = ret->o;
    *ret = *i;
    if (!op || i->n > REGISTERS)
        return false;
    ret->op = op;
    ret->run = op->run;
    ret->quick = false;
    for (unsigned k = i->n; k-- > 0;) {
        uint32_t value[LANES * REGISTERS];
        put_operand(w, &o[k], value, k);
        memcpy(registers + k * w->lanes, value + k * LANES, w->lanes * sizeof *value);
    }
    return true;
}

static void arithmetic(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t registers[LANES * REGISTERS];
    struct sim_inst vector;
    if (!make_vector(w, i, &vector, registers)) {
        sim_illegal(w, i, "there is no vector instruction of that name");
        return;
    }
    bool half = i->o[0].type == 'h';
    if (half && strstr(i->op->name, "fmac") == NULL)
        memset(registers, 0, sizeof *registers * w->lanes); /* the high half of the result is 0 */
    vector.op_sel[0] = strcmp(i->op->name, "s_cvt_hi_f32_f16") == 0;
    run_vector(w, &vector, registers);
    scalar_out32(w, &i->o[0], half ? registers[0] & 0xffff : registers[0]);
}

static void compare(struct sim_wave *w, const struct sim_inst *i)
{
    uint32_t registers[LANES * REGISTERS];
    struct sim_inst vector;
    if (!make_vector(w, i, &vector, registers)) {
        sim_illegal(w, i, "there is no vector instruction of that name");
        return;
    }
    memmove(&vector.o[1], &vector.o[0], 2 * sizeof vector.o[0]);
    vector.o[0] = (struct sim_operand){ .kind = SIM_SGPR, .reg = RESULT_MASK, .dwords = (uint8_t)(w->lanes / 32), .type = 'm' };
    vector.n = 3;
    vector.n_results = 1;
    w->scc = run_vector(w, &vector, registers);
}

/* ---- The rows ---- */

#define BOTH(X, name, sig32, sig16) X(name##_f32, sig32) X(name##_f16, sig16)
#define ROWS(X)                                                                                                         \
    BOTH(X, s_add, "f=ff", "h=hh") BOTH(X, s_sub, "f=ff", "h=hh") BOTH(X, s_mul, "f=ff", "h=hh")                        \
    BOTH(X, s_fmac, "f=ff", "h=hh") BOTH(X, s_min_num, "f=ff", "h=hh") BOTH(X, s_max_num, "f=ff", "h=hh")               \
    BOTH(X, s_minimum, "f=ff", "h=hh") BOTH(X, s_maximum, "f=ff", "h=hh")                                               \
    X(s_fmaak_f32, "f=fff") X(s_fmamk_f32, "f=fff") X(s_cvt_pk_rtz_f16_f32, "P=ff")                                     \
    BOTH(X, s_ceil, "f=f", "h=h") BOTH(X, s_floor, "f=f", "h=h") BOTH(X, s_trunc, "f=f", "h=h")                         \
    BOTH(X, s_rndne, "f=f", "h=h")                                                                                      \
    X(s_cvt_f32_i32, "f=b") X(s_cvt_f32_u32, "f=b") X(s_cvt_i32_f32, "b=f") X(s_cvt_u32_f32, "b=f")                     \
    X(s_cvt_f16_f32, "h=f") X(s_cvt_f32_f16, "f=h") X(s_cvt_hi_f32_f16, "f=h")
#define TRANSCENDENTAL(X)                                                                                               \
    BOTH(X, v_s_exp, "f=f", "h=h") BOTH(X, v_s_log, "f=f", "h=h") BOTH(X, v_s_rcp, "f=f", "h=h")                        \
    BOTH(X, v_s_rsq, "f=f", "h=h") BOTH(X, v_s_sqrt, "f=f", "h=h")
#define COMPARES(X)                                                                                                     \
    BOTH(X, s_cmp_lt, "=ff", "=hh") BOTH(X, s_cmp_eq, "=ff", "=hh") BOTH(X, s_cmp_le, "=ff", "=hh")                     \
    BOTH(X, s_cmp_gt, "=ff", "=hh") BOTH(X, s_cmp_lg, "=ff", "=hh") BOTH(X, s_cmp_ge, "=ff", "=hh")                     \
    BOTH(X, s_cmp_o, "=ff", "=hh") BOTH(X, s_cmp_u, "=ff", "=hh") BOTH(X, s_cmp_nge, "=ff", "=hh")                      \
    BOTH(X, s_cmp_nlg, "=ff", "=hh") BOTH(X, s_cmp_ngt, "=ff", "=hh") BOTH(X, s_cmp_nle, "=ff", "=hh")                  \
    BOTH(X, s_cmp_neq, "=ff", "=hh") BOTH(X, s_cmp_nlt, "=ff", "=hh")

static const struct sim_op ops[] = {
#define X(name, sig) { #name, sig, arithmetic, SIM_SALU, SIM_GFX12 },
    ROWS(X)
    TRANSCENDENTAL(X)
#undef X
#define X(name, sig) { #name, sig, compare, SIM_SALU, SIM_GFX12 },
    COMPARES(X)
#undef X
};

const struct sim_table sim_salu_float = { ops, sizeof ops / sizeof *ops };
