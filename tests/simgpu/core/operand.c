/* Reading and writing scalar operands: registers, constants and the special sources.  Vector operands are isa/lanes.h's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../inst.h"

/* The aperture registers are 64 bits wide; a 32-bit read gives their low word, which is 0 in the bases (LLVM avoids such reads
 * for that). */
static uint64_t special(const struct sim_wave *w, unsigned which)
{
    switch (which) {
    case SIM_SCC:
        return w->scc;
    case SIM_VCCZ:
        return sim_vcc(w) == 0;
    case SIM_EXECZ:
        return sim_exec(w) == 0;
    case SIM_SHARED_BASE:
        return SIM_LDS_APERTURE;
    case SIM_SHARED_LIMIT:
        return SIM_LDS_APERTURE | 0xffffffff;
    case SIM_PRIVATE_BASE:
        return SIM_SCRATCH_APERTURE;
    case SIM_PRIVATE_LIMIT:
        return SIM_SCRATCH_APERTURE | 0xffffffff;
    default: /* the decoder lets no other reach a row */
        return 0;
    }
}

static uint64_t pair(const struct sim_wave *w, unsigned reg)
{
    return w->s[reg] | (uint64_t)w->s[(reg + 1) % SIM_SGPRS] << 32;
}

uint32_t sim_read_s32(const struct sim_wave *w, const struct sim_operand *o)
{
    switch (o->kind) {
    case SIM_SGPR:
        return w->s[o->reg];
    case SIM_IMM:
        return (uint32_t)o->imm;
    case SIM_SPECIAL:
        return (uint32_t)special(w, o->reg);
    default:
        return 0;
    }
}

uint64_t sim_read_s64(const struct sim_wave *w, const struct sim_operand *o)
{
    switch (o->kind) {
    case SIM_SGPR:
        return pair(w, o->reg);
    case SIM_IMM:
        return o->imm;
    case SIM_SPECIAL:
        return special(w, o->reg);
    default:
        return 0;
    }
}

uint64_t sim_read_mask(const struct sim_wave *w, const struct sim_operand *o)
{
    return w->lanes == 64 ? sim_read_s64(w, o) : sim_read_s32(w, o);
}

void sim_write_s32(struct sim_wave *w, const struct sim_operand *o, uint32_t value)
{
    if (o->kind == SIM_SGPR)
        w->s[o->reg] = value;
}

void sim_write_s64(struct sim_wave *w, const struct sim_operand *o, uint64_t value)
{
    if (o->kind != SIM_SGPR)
        return;
    w->s[o->reg] = (uint32_t)value;
    w->s[(o->reg + 1) % SIM_SGPRS] = (uint32_t)(value >> 32);
}

void sim_write_mask(struct sim_wave *w, const struct sim_operand *o, uint64_t mask)
{
    if (w->lanes == 64)
        sim_write_s64(w, o, mask);
    else
        sim_write_s32(w, o, (uint32_t)mask);
}
