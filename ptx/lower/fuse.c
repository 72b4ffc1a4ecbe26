/* Products that are fused with the sums they are for: a * b + c rounded once.
 *
 * Where a product and a sum, or difference, name no rounding, PTX leaves open whether the product is rounded (ISA 9.7.3.3 to
 * 9.7.3.5), and NVIDIA's assembler does not round it. nvcc has fused sums itself, and leaves it `a * b - c` and `c - a * b`. What
 * is fused here is what the assembler fuses: a product that sums of its block alone read, each once, and all take; of two in one
 * sum that which fewer read, else the first. It fuses some in other blocks and halves, too, which is left (a fused half is many
 * instructions on a processor), and nothing in code for a debugger (-G). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

/* A register that has a product. */
struct ptx_fusible {
    uint32_t named; /* how often the function names the register */
    uint32_t sums;  /* how often as an operand of a sum in the block of its product */
    uint32_t taken; /* by how many of these */
    uint32_t block; /* 1 + number of the block in which the product was made last; 0: none */
    bool ftz;       /* of the product */
    LLVMValueRef factors[2];
};

static bool is_open(const struct ptx_instr *in, enum ptx_lowering lowering)
{
    return in->form && in->form->lowering == lowering && (in->types[0] == PTX_F32 || in->types[0] == PTX_F64) &&
           !ptx_has(in, PTX_MOD_RN) && ptx_round_of(in) == PTX_RN;
}

static bool is_sum(const struct ptx_instr *in)
{
    return is_open(in, PTX_LOWER_ADD_FLOAT);
}

/* The product that a register has for an operand as it is; NULL. */
static struct ptx_fusible *product_of(struct ptx_lower *l, const struct ptx_operand *op)
{
    return op->kind == PTX_OP_REG && op->negate == PTX_PLAIN && !op->offset && !op->suffix.len ? &l->products[op->reg] : NULL;
}

static void count(struct ptx_lower *l, const struct ptx_operand *op)
{
    if (op->kind == PTX_OP_REG)
        l->products[op->reg].named++;
    if (op->kind == PTX_OP_VECTOR || op->kind == PTX_OP_ADDR || op->kind == PTX_OP_PAIR || op->kind == PTX_OP_LIST)
        for (uint32_t i = 0; i < op->n_items; i++)
            count(l, &op->items[i]);
}

static bool ends_block(const struct ptx_instr *in)
{
    enum ptx_lowering lowering = in->form ? in->form->lowering : PTX_LOWERING_COUNT;
    return lowering == PTX_LOWER_BRA || lowering == PTX_LOWER_BRX || lowering == PTX_LOWER_RET || lowering == PTX_LOWER_EXIT;
}

/* What a pass over the body does with a sum, in a block. */
typedef void sum_fn(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block);

static void sum_count(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    struct ptx_fusible *p[2] = { product_of(l, &in->ops[1]), product_of(l, &in->ops[2]) };
    for (int i = 0; i < 2 && p[0] != p[1]; i++)
        if (p[i] && p[i]->block == block && p[i]->ftz == ptx_has(in, PTX_MOD_FTZ))
            p[i]->sums++;
}

static bool for_sums_alone(const struct ptx_fusible *p)
{
    return p && p->sums && p->named == 1 + p->sums;
}

static void sum_take(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    struct ptx_fusible *p = product_of(l, &in->ops[1]), *q = product_of(l, &in->ops[2]);
    bool first = for_sums_alone(p), second = for_sums_alone(q);
    if (first && (!second || p->sums <= q->sums))
        p->taken++;
    else if (second)
        q->taken++;
}

static void products_walk(struct ptx_lower *l, const struct ptx_func *f, sum_fn *sum)
{
    uint32_t block = 1;
    for (const struct ptx_stmt *s = f->body; s; s = s->next) {
        const struct ptx_instr *in = s->kind == PTX_STMT_INSTR ? s->instr : NULL;
        block += s->kind == PTX_STMT_LABEL || (in && ends_block(in));
        bool is_product = in && !in->guard && is_open(in, PTX_LOWER_MUL_FLOAT) && !ptx_has(in, PTX_MOD_SAT);
        struct ptx_fusible *p = is_product ? product_of(l, &in->ops[0]) : NULL;
        if (p) {
            p->block = block;
            p->ftz = ptx_has(in, PTX_MOD_FTZ);
        } else if (in && is_sum(in)) {
            sum(l, in, block);
        }
    }
}

bool ptx_fuse_find(struct ptx_lower *l, const struct ptx_func *f)
{
    l->products = AW_NEW_ARRAY(l->arena, struct ptx_fusible, f->n_regs + 1);
    if (!l->products)
        return false;
    for (const struct ptx_stmt *s = f->body; s; s = s->next) {
        const struct ptx_instr *in = s->kind == PTX_STMT_INSTR ? s->instr : NULL;
        for (uint32_t i = 0; in && i < in->n_ops; i++)
            count(l, &in->ops[i]);
        if (in && in->guard)
            count(l, in->guard);
    }
    if (!f->origin->debug) {
        products_walk(l, f, sum_count);
        products_walk(l, f, sum_take);
    }
    return true;
}

void ptx_fuse_product(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef *factors)
{
    struct ptx_fusible *p = is_open(in, PTX_LOWER_MUL_FLOAT) ? product_of(l, &in->ops[0]) : NULL;
    if (for_sums_alone(p) && p->taken == p->sums) {
        p->factors[0] = factors[0];
        p->factors[1] = factors[1];
    }
}

/* The product that an operand is, where it need not be rounded; NULL. */
static const struct ptx_fusible *fused(struct ptx_lower *l, const struct ptx_operand *op)
{
    const struct ptx_fusible *p = product_of(l, op);
    return p && p->factors[0] ? p : NULL;
}

LLVMValueRef ptx_fuse_sum(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef *v)
{
    const struct ptx_fusible *p = is_sum(in) ? fused(l, &in->ops[1]) : NULL, *q = is_sum(in) ? fused(l, &in->ops[2]) : NULL;
    bool subtract = aw_str_is(in->mnemonic, "sub");
    if (p)
        return ptx_round_fma(l, PTX_RN, p->factors[0], p->factors[1], subtract ? b_fneg(l, v[1]) : v[1]);
    if (q)
        return ptx_round_fma(l, PTX_RN, subtract ? b_fneg(l, q->factors[0]) : q->factors[0], q->factors[1], v[0]);
    return NULL;
}
