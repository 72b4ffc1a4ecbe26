/* Which .ftz need no code of their own, on machines with PTX_TARGET_FTZ: where all f32 arithmetic of a kernel is .ftz, as nvcc's
 * -ftz=true and -use_fast_math make it, the machine's mode does it; and some approximations flush in any mode.
 *
 * Not the flushing itself (ptx_flush, round.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

static bool is_bf16(enum ptx_type type)
{
    return type == PTX_BF16 || type == PTX_BF16X2;
}

/* Instructions on f32 that move bits, or whose result is the same whether or not subnormals are zero to them. */
static bool is_indifferent(const struct ptx_instr *in)
{
    enum ptx_type to = in->types[0], from = in->types[in->n_types - 1];
    switch (in->form->lowering) {
    case PTX_LOWER_MOV: case PTX_LOWER_LD: case PTX_LOWER_ST: case PTX_LOWER_SELP: case PTX_LOWER_COPYSIGN:
        return true;
    case PTX_LOWER_ATOM: case PTX_LOWER_RED: /* PTX flushes in global memory, and only there */
        return !is_bf16(to) && (!ptx_has(in, PTX_MOD_ADD) || in->space == PTX_SPACE_GLOBAL);
    case PTX_LOWER_CVT_NARROW: case PTX_LOWER_CVT_RS_X2: case PTX_LOWER_CVT_RS_X4: case PTX_LOWER_CVT_UE8M0:
        return true; /* integer arithmetic, but for a sum that a subnormal does not reach */
    case PTX_LOWER_CVT_X2: /* to nearest or towards zero: as below */
        return to == PTX_F16X2;
    case PTX_LOWER_CVT:
        if (from != PTX_F32) /* no integer or half becomes a subnormal f32; a double may */
            return from != PTX_F64 && from != PTX_BF16;
        /* Towards zero and to nearest every subnormal goes to zero of its sign in a narrower format. */
        return (to != PTX_F64 && to != PTX_BF16 && to != PTX_F32 && !ptx_has(in, PTX_MOD_RPI) && !ptx_has(in, PTX_MOD_RMI) &&
                !ptx_has(in, PTX_MOD_RP) && !ptx_has(in, PTX_MOD_RM)) ||
               ptx_has(in, PTX_MOD_RZI) || ptx_has(in, PTX_MOD_RNI);
    default: return false;
    }
}

/* Is it, or may it be, computed in f32?  So is bf16, whose subnormals are those of f32 and stay in PTX. */
static bool is_in_f32(const struct ptx_instr *in)
{
    for (unsigned i = 0; i < in->n_types; i++)
        if (in->types[i] == PTX_F32 || in->types[i] == PTX_F32X2 || is_bf16(in->types[i]))
            return true;
    return false;
}

bool ptx_flushing_mode(const struct ptx_lower *l)
{
    bool any = false;
    if (!(l->target->features & PTX_TARGET_FTZ))
        return false;
    for (uint32_t f = 0; f < l->closure->n_funcs; f++) {
        for (const struct ptx_stmt *s = l->closure->funcs[f]->body; s; s = s->next) {
            if (s->kind != PTX_STMT_INSTR || !s->instr->form || !is_in_f32(s->instr))
                continue;
            if (ptx_has(s->instr, PTX_MOD_FTZ))
                any = true;
            else if (!is_indifferent(s->instr))
                return false;
        }
    }
    return any;
}

bool ptx_flushes_itself(const struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type)
{
    if (type != PTX_F32 || !(l->target->features & PTX_TARGET_FTZ_APPROX))
        return false;
    switch (in->form->lowering) {
    case PTX_LOWER_EX2: case PTX_LOWER_LG2: case PTX_LOWER_RSQRT: return true;
    case PTX_LOWER_RCP: case PTX_LOWER_SQRT: case PTX_LOWER_DIV_FLOAT: /* directed roundings of these end in integer arithmetic */
        return l->flushing ? ptx_round_of(in) == PTX_RN
                           : ptx_has(in, PTX_MOD_APPROX) && in->form->lowering != PTX_LOWER_DIV_FLOAT;
    case PTX_LOWER_ADD_FLOAT: case PTX_LOWER_MUL_FLOAT: case PTX_LOWER_FMA: case PTX_LOWER_MINMAX_FLOAT:
    case PTX_LOWER_SIN: case PTX_LOWER_COS: return l->flushing;
    default: return false; /* abs and neg change a bit */
    }
}

bool ptx_flushes_as_operand(const struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type)
{
    if (!l->flushing || !ptx_has(in, PTX_MOD_FTZ) || !ptx_flushes_itself(l, in, type))
        return false;
    switch (in->form->lowering) {
    case PTX_LOWER_ADD_FLOAT: case PTX_LOWER_MUL_FLOAT: case PTX_LOWER_FMA: case PTX_LOWER_MINMAX_FLOAT: case PTX_LOWER_DIV_FLOAT:
        return true;
    default: return false;
    }
}
