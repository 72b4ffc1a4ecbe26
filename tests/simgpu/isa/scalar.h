/* How rows of scalar instructions read and write: inline for the common kinds, core/operand.c for the rest. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCALAR_H
#define SCALAR_H

#include "../inst.h"

static inline uint32_t scalar_in32(const struct sim_wave *w, const struct sim_operand *o)
{
    return o->kind == SIM_SGPR ? w->s[o->reg] : o->kind == SIM_IMM ? (uint32_t)o->imm : sim_read_s32(w, o);
}

static inline uint64_t scalar_in64(const struct sim_wave *w, const struct sim_operand *o)
{
    if (o->kind == SIM_SGPR)
        return w->s[o->reg] | (uint64_t)w->s[o->reg + 1] << 32;
    return o->kind == SIM_IMM ? o->imm : sim_read_s64(w, o);
}

static inline void scalar_out32(struct sim_wave *w, const struct sim_operand *o, uint32_t value)
{
    if (o->kind == SIM_SGPR)
        w->s[o->reg] = value;
}

static inline void scalar_out64(struct sim_wave *w, const struct sim_operand *o, uint64_t value)
{
    if (o->kind == SIM_SGPR) {
        w->s[o->reg] = (uint32_t)value;
        w->s[o->reg + 1] = (uint32_t)(value >> 32);
    }
}

/* The steady clock, which counts at 100 MHz. */
uint64_t sim_realtime(void);

#endif
