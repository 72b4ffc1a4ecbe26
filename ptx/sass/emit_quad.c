/* Gradients of textures in three dimensions and cubes, which the machine has no instruction for.  Code that wants them takes the
 * four lanes of a quad together, also those that are not there (BMOV.PQUAD), once for each of them: all get that lane's
 * coordinates (SHFL) and add one gradient, the other, both or none (FSWZADD); the machine takes the level of detail from the
 * differences (TEX.NDV), and the lane takes the result of the one that added none.  PTX asks for that in one instruction; so each
 * lane here goes through all with its own numbers, and only what the move at the end (MOV in one lane of each quad) gives to it
 * is right and kept. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sass/lift.h"

/* FSWZADD's tables: what lanes 0 to 3 do, from the highest bits on; 0: they add, 3: they take the second operand. */
enum { ADD_X = 0xcc, ADD_Y = 0xf0, ADD_ALWAYS = 0 };
enum { OF_QUADS = 0x1c03 }; /* SHFL's C */

void sass_quad_bmov(struct sass_lift *l, const struct sass_insn *i)
{
    if (i->opnd[SASS_K2].kind != SASS_BARRIER || i->opnd[SASS_K2].reg != SASS_MACTIVE)
        return;
    if (i->mod[SASS_F_PQUAD])
        l->quad = (struct sass_quad){ .on = true, .lane = -1 };
    else
        l->quad.on = false;
}

static void forget(struct sass_lift *l, unsigned reg)
{
    struct sass_quad *q = &l->quad;
    unsigned n = 0;
    for (unsigned k = 0; k < q->n; k++)
        if (q->parts[k].reg != reg)
            q->parts[n++] = q->parts[k];
    q->n = n;
}

static const struct sass_quad_part *part_of(const struct sass_lift *l, const struct sass_operand *o)
{
    for (unsigned k = 0; k < l->quad.n && o->kind == SASS_REG && !o->neg && !o->abs; k++)
        if (l->quad.parts[k].reg == o->reg)
            return &l->quad.parts[k];
    return NULL;
}

const struct sass_quad_part *sass_quad_part(const struct sass_lift *l, unsigned reg)
{
    struct sass_operand o = { .kind = SASS_REG, .reg = (uint8_t)reg };
    const struct sass_quad_part *part = l->quad.on ? part_of(l, &o) : NULL;
    return part && part->dx.s[0] && part->dy.s[0] ? part : NULL;
}

static void note(struct sass_lift *l, unsigned reg, struct sass_quad_part part)
{
    forget(l, reg);
    part.reg = (uint8_t)reg;
    if (l->quad.n == sizeof l->quad.parts / sizeof *l->quad.parts)
        sass_fail(l, "more coordinates of a quad than there can be");
    else
        l->quad.parts[l->quad.n++] = part;
}

/* Directions into a cube are made shorter, in each lane by another number: they are the same still. */
void sass_quad_after(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *d = &i->opnd[SASS_D];
    if (!l->quad.on || d->kind != SASS_REG || i->op == SASS_FSWZADD)
        return;
    const struct sass_quad_part *part = part_of(l, &i->opnd[SASS_A]);
    part = part ? part : part_of(l, &i->opnd[SASS_B]);
    struct sass_quad_part kept = part ? *part : (struct sass_quad_part){ 0 };
    for (unsigned k = 0; k < (d->regs ? d->regs : 1); k++)
        forget(l, d->reg + k);
    for (unsigned k = 0; k < 2; k++)
        forget(l, i->opnd[SASS_D2].kind == SASS_REG ? i->opnd[SASS_D2].reg + k : SASS_RZ);
    if (part && i->op == SASS_FMUL && !sass_guarded(i))
        note(l, d->reg, kept);
}

static struct sass_text copied(struct sass_lift *l, const struct sass_operand *o)
{
    struct sass_text t = sass_temp(l, 't');
    sass_step(l, "mov.b32 %s, %s", t.s, sass_raw(l, o).s);
    return t;
}

void sass_emit_fswzadd(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    unsigned table = (unsigned)sass_look(l, SASS_L)->value;
    struct sass_quad_part part = { 0 };
    const struct sass_quad_part *before = part_of(l, &o[SASS_C]);
    bool ftz = sass_mod(l, SASS_F_FTZ);
    if (!sass_mod(l, SASS_F_NDV) || !l->quad.on || sass_guarded(i) || sass_mod(l, SASS_F_RND) > SASS_RND_RN || ftz) {
        sass_fail(l, "sums in the lanes of a quad");
    } else if (table == ADD_ALWAYS && sass_is_zero(&o[SASS_C])) {
        sass_put(l, SASS_D, sass_raw(l, &o[SASS_A]).s);
        forget(l, o[SASS_D].reg);
    } else if (table == ADD_X && !before) {
        part.base = copied(l, &o[SASS_C]);
        part.dx = copied(l, &o[SASS_A]);
        sass_put(l, SASS_D, part.base.s);
        note(l, o[SASS_D].reg, part);
    } else if (table == ADD_Y && before && !before->dy.s[0]) {
        part = *before;
        part.dy = copied(l, &o[SASS_A]);
        sass_put(l, SASS_D, sass_raw(l, &o[SASS_C]).s);
        note(l, o[SASS_D].reg, part);
    } else {
        sass_fail(l, "sums in the lanes of a quad");
    }
}

static bool is_literal(const struct sass_operand *o, int64_t *ret)
{
    *ret = o->kind == SASS_IMM ? o->value : 0;
    return o->kind == SASS_IMM || sass_is_zero(o);
}

/* The lane's own value: of other lanes' nothing is kept. */
bool sass_quad_shfl(struct sass_lift *l, const struct sass_insn *i)
{
    const struct sass_operand *o = i->opnd;
    int64_t from, c;
    if (!l->quad.on)
        return false;
    bool known = is_literal(sass_look(l, SASS_B), &from) && is_literal(sass_look(l, SASS_C), &c) && c == OF_QUADS &&
                 sass_mod(l, SASS_F_MODE) == SASS_MODE_IDX && !sass_writes(&o[SASS_P]) && !sass_guarded(i);
    known = known && (l->quad.fetched ? from == 0 : l->quad.lane < 0 || l->quad.lane == from);
    (void)sass_look(l, SASS_P);
    if (!known)
        sass_fail(l, "a shuffle in quads that are made whole");
    if (!l->quad.fetched)
        l->quad.lane = (int)from;
    sass_put(l, SASS_D, sass_raw(l, &o[SASS_A]).s);
    return true;
}

void sass_quad_mov(struct sass_lift *l, const struct sass_insn *i)
{
    struct sass_text lane = sass_temp(l, 't'), place = sass_temp(l, 't'), q = sass_temp(l, 'q'), v, kept = sass_temp(l, 't');
    if (l->quad.on || !l->quad.fetched || l->quad.lane < 0 || i->opnd[SASS_L].value != 1 << l->quad.lane || sass_guarded(i)) {
        sass_fail(l, "a move in some lanes of each quad");
        return;
    }
    v = sass_int(l, &i->opnd[SASS_B]);
    sass_step(l, "mov.u32 %s, %%laneid", lane.s);
    sass_step(l, "and.b32 %s, %s, 3", place.s, lane.s);
    sass_step(l, "setp.eq.u32 %s, %s, %d", q.s, place.s, l->quad.lane);
    struct sass_operand d = i->opnd[SASS_D];
    sass_step(l, "selp.b32 %s, %s, %s, %s", kept.s, v.s, sass_raw(l, &d).s, q.s);
    sass_put(l, SASS_D, kept.s);
}
