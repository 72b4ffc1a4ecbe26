/* Products that are fused with the sums they are for: a * b + c rounded once.
 *
 * Where a product and a sum, or difference, name no rounding, PTX leaves open whether the product is rounded (ISA 9.7.3.3 to
 * 9.7.3.5, 9.7.4.1 to 9.7.4.3), and NVIDIA's assembler does not round it. nvcc has fused sums of f32 and f64 itself, and leaves
 * it `a * b - c` and `c - a * b`; of halves, which CUDA's headers write as PTX, it leaves all. What is fused here is what the
 * assembler fuses: a product that sums of its block alone read, as it is or negated, each once, and all take; of two in one sum
 * that which fewer read, else the first. It fuses some in other blocks, too, where it has made one of several, which is left, and
 * nothing in code for a debugger (-G). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/internal.h"

/* A register that has a product, or the negative of one. */
struct ptx_fusible {
    uint32_t named;         /* how often the function names the register, and those with its negative in its place */
    uint32_t sums;          /* how often as an operand of a sum in the block of its product */
    uint32_t taken;         /* by how many of these */
    uint32_t block;         /* 1 + number of the block in which the product was made last; 0: none */
    bool ftz;               /* of the product */
    bool negative;          /* has it the negative of another register's product? */
    enum ptx_type type;
    struct ptx_fusible *of; /* another register whose product it has; NULL: none */
    LLVMValueRef factors[2][2]; /* of each half of a pair, else of the first */
};

static bool is_open(const struct ptx_instr *in, enum ptx_lowering lowering)
{
    return in->form && in->form->lowering == lowering && in->types[0] != PTX_F32X2 && !ptx_has(in, PTX_MOD_RN) &&
           ptx_round_of(in) == PTX_RN;
}

static bool is_sum(const struct ptx_instr *in)
{
    return is_open(in, PTX_LOWER_ADD_FLOAT);
}

/* What is known of the register that an operand is, as it is; NULL. */
static struct ptx_fusible *register_of(struct ptx_lower *l, const struct ptx_operand *op)
{
    return op->kind == PTX_OP_REG && op->negate == PTX_PLAIN && !op->offset && !op->suffix.len ? &l->products[op->reg] : NULL;
}

/* The product that it has, or the negative of; NULL. */
static struct ptx_fusible *product_of(struct ptx_lower *l, const struct ptx_operand *op)
{
    struct ptx_fusible *p = register_of(l, op);
    return p && p->of ? p->of : p;
}

static bool is_negative(struct ptx_lower *l, const struct ptx_operand *op)
{
    return register_of(l, op)->negative;
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

/* What a pass over the body does with an instruction that makes no product, in a block. */
typedef void use_fn(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block);

/* Is it a product of the block, made as an instruction of it takes it? */
static bool suits(const struct ptx_fusible *p, const struct ptx_instr *in, uint32_t block)
{
    return p && p->block == block && p->type == in->types[0] && p->ftz == ptx_has(in, PTX_MOD_FTZ);
}

static void sum_count(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    struct ptx_fusible *p[2] = { product_of(l, &in->ops[1]), product_of(l, &in->ops[2]) };
    for (int i = 0; i < 2 && p[0] != p[1]; i++)
        if (suits(p[i], in, block))
            p[i]->sums++;
}

/* Who names the negative stands for the instruction that makes it.  Those of pairs of bf16 the assembler makes by arithmetic. */
static void negative_note(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    struct ptx_fusible *p = product_of(l, &in->ops[1]), *negative = register_of(l, &in->ops[0]);
    if (!negative || negative == p || !suits(p, in, block) || p->type == PTX_BF16X2)
        return;
    p->named += negative->named;
    p->named -= 2;
    negative->of = p;
    negative->negative = !is_negative(l, &in->ops[1]);
}

static void use_count(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    if (is_sum(in))
        sum_count(l, in, block);
    else if (!in->guard && is_open(in, PTX_LOWER_NEG_FLOAT))
        negative_note(l, in, block);
}

static bool for_sums_alone(const struct ptx_fusible *p)
{
    return p && p->sums && p->named == 1 + p->sums;
}

static void use_take(struct ptx_lower *l, const struct ptx_instr *in, uint32_t block)
{
    if (!is_sum(in))
        return;
    struct ptx_fusible *p = product_of(l, &in->ops[1]), *q = product_of(l, &in->ops[2]);
    bool first = for_sums_alone(p), second = for_sums_alone(q);
    if (first && (!second || p->sums <= q->sums))
        p->taken++;
    else if (second)
        q->taken++;
}

static void products_walk(struct ptx_lower *l, const struct ptx_func *f, use_fn *use)
{
    uint32_t block = 1;
    for (const struct ptx_stmt *s = f->body; s; s = s->next) {
        const struct ptx_instr *in = s->kind == PTX_STMT_INSTR ? s->instr : NULL;
        block += s->kind == PTX_STMT_LABEL || (in && ends_block(in));
        bool is_product = in && !in->guard && is_open(in, PTX_LOWER_MUL_FLOAT) && !ptx_has(in, PTX_MOD_SAT);
        struct ptx_fusible *p = is_product ? register_of(l, &in->ops[0]) : NULL;
        if (p) {
            p->block = block;
            p->ftz = ptx_has(in, PTX_MOD_FTZ);
            p->type = in->types[0];
        } else if (in) {
            use(l, in, block);
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
        products_walk(l, f, use_count);
        products_walk(l, f, use_take);
    }
    return true;
}

void ptx_fuse_product(struct ptx_lower *l, const struct ptx_instr *in, LLVMValueRef *factors)
{
    struct ptx_fusible *p = is_open(in, PTX_LOWER_MUL_FLOAT) ? register_of(l, &in->ops[0]) : NULL;
    if (for_sums_alone(p) && p->taken == p->sums) {
        p->factors[l->half][0] = factors[0];
        p->factors[l->half][1] = factors[1];
    }
}

/* The factors of the product that an operand has, or the negative of, where it need not be rounded; NULL. */
static LLVMValueRef *fused(struct ptx_lower *l, const struct ptx_operand *op)
{
    struct ptx_fusible *p = product_of(l, op);
    return p && p->factors[0][0] ? p->factors[l->half] : NULL;
}

static LLVMValueRef signed_as(struct ptx_lower *l, enum ptx_type type, bool negative, LLVMValueRef v)
{
    if (!negative)
        return v;
    return type == PTX_BF16 ? b_xor(l, v, b_like(v, 0x8000)) : b_fneg(l, v);
}

static LLVMValueRef fma_of(struct ptx_lower *l, enum ptx_type type, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return type == PTX_BF16  ? ptx_fma_bf16(l, a, b, c)
           : type == PTX_F16 ? ptx_fma_f16(l, a, b, c)
                             : ptx_round_fma(l, PTX_RN, a, b, c);
}

LLVMValueRef ptx_fuse_sum(struct ptx_lower *l, const struct ptx_instr *in, enum ptx_type type, LLVMValueRef *v)
{
    LLVMValueRef *p = is_sum(in) ? fused(l, &in->ops[1]) : NULL, *q = is_sum(in) ? fused(l, &in->ops[2]) : NULL;
    bool subtract = aw_str_is(in->mnemonic, "sub");
    if (p)
        return fma_of(l, type, signed_as(l, type, is_negative(l, &in->ops[1]), p[0]), p[1], signed_as(l, type, subtract, v[1]));
    if (q)
        return fma_of(l, type, signed_as(l, type, subtract != is_negative(l, &in->ops[2]), q[0]), q[1], v[0]);
    return NULL;
}
