/* mma.sp: products with an A half of whose elements are zero and left out (PTX ISA 9.0 9.7.14.6).
 *
 * A is stored with k/2 columns, as if it were dense.  Metadata say where they belong, a row's in one string of bits, low first:
 *   16 and 8 bits    of 4 columns two are there: two numbers of 2 bits
 *   4 bits           of 4 pairs of columns two are there: two numbers of 2 bits
 *   tf32             of 2 columns one is there: 4 bits, 0b0100 the first, 0b1110 the second
 * The strings of rows g and g + 8 lie in the group's four lanes:
 *   16 bits          in lane `selector`: row g low, row g + 8 high
 *   32 bits          in lanes 2 * selector, + 1: of 16-bit types and tf32 both rows' low 16 bits, then both rows' high 16 bits;
 *                    of others row g, then row g + 8
 *   64 bits          row g, row g + 8, both low words, then both high words */
/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/matrix.h"

/* The metadata of 4 bits for stored columns that share them: `per` stored columns, `span` columns of A. */
struct sparsity {
    unsigned per, span, bits /* of a row */;
    bool halves; /* both rows share a word */
    unsigned selector;
    LLVMValueRef words[2][2]; /* [row g, g + 8][low, high word of 32 bits, or halves of 16] */
};

static struct sparsity sparsity_of(const struct ptx_product *p)
{
    struct sparsity s = { .per = 2, .span = 4 };
    if (p->fours) /* a column is a word of four */
        return (struct sparsity){ .per = 1, .span = 2, .bits = p->b.rows * 4 };
    if (p->a.bits == 4)
        s = (struct sparsity){ .per = 4, .span = 8 };
    else if (p->a.type == PTX_TF32)
        s = (struct sparsity){ .per = 1, .span = 2 };
    s.bits = p->b.rows / s.span * 4;
    s.halves = p->a.bits >= 16;
    return s;
}

/* The lane of the four, and the shift within its word, of part `part` of the metadata of row g + 8 * upper. */
static void part_place(const struct sparsity *s, unsigned upper, unsigned part, unsigned *ret_lane, unsigned *ret_shift)
{
    if (s->halves) {
        *ret_lane = s->bits == 16 ? s->selector : 2 * s->selector + part;
        *ret_shift = 16 * upper;
    } else {
        *ret_lane = 2 * s->selector + upper + 2 * part;
        *ret_shift = 0;
    }
}

/* op 4 is the metadata, op 5 the selector. */
static bool metadata_read(struct ptx_product *p, struct sparsity *s)
{
    struct ptx_lower *l = p->l;
    const struct ptx_operand *selector = &p->in->ops[5];
    LLVMValueRef own, lanes[4] = { NULL };
    unsigned limit = s->bits == 16 ? 4 : s->bits == 32 ? 2 : 1;
    if (!ptx_matrix_read(l, &p->in->ops[4], PTX_B32, 1, &own))
        return false;
    if (selector->kind != PTX_OP_INT || selector->negate || selector->bits >= limit)
        return ptx_lower_error(l, selector->loc, "the sparsity selector must be a constant below %u", limit);
    s->selector = (unsigned)selector->bits;
    unsigned parts = s->bits / (s->halves ? 16 : 32);
    for (unsigned upper = 0; upper < 2; upper++) {
        for (unsigned part = 0; part < parts; part++) {
            unsigned lane, shift;
            part_place(s, upper, part, &lane, &shift);
            if (!lanes[lane])
                lanes[lane] = ptx_matrix_shuffle4(l, own, lane);
            s->words[upper][part] = b_lshr(l, lanes[lane], b_i32(l, shift));
        }
    }
    return true;
}

/* Bit `bit` of the row's metadata. */
static LLVMValueRef metadata_bit(struct ptx_lower *l, const struct sparsity *s, unsigned upper, unsigned bit)
{
    unsigned wide = s->halves ? 16 : 32;
    LLVMValueRef v = b_and(l, s->words[upper][bit / wide], b_i32(l, 1u << bit % wide));
    return b_ne(l, v, b_i32(l, 0));
}

/* What B has against stored column k of rows g + 8 * upper. */
static LLVMValueRef partner(struct ptx_product *p, const struct sparsity *s, unsigned upper, unsigned block, unsigned c,
                            unsigned k)
{
    struct ptx_lower *l = p->l;
    unsigned group = k / s->per, first = group * s->span, bit = 4 * group;
    if (s->span == 2) {
        LLVMValueRef low = ptx_product_col(p, block, c, first), high = ptx_product_col(p, block, c, first + 1);
        return b_select(l, metadata_bit(l, s, upper, bit + 1), high, low);
    }
    unsigned unit = s->span / 4, number = k % s->per / unit, rest = k % unit;
    LLVMValueRef of[4], odd = metadata_bit(l, s, upper, bit + 2 * number), high = metadata_bit(l, s, upper, bit + 2 * number + 1);
    for (unsigned i = 0; i < 4; i++)
        of[i] = ptx_product_col(p, block, c, first + i * unit + rest);
    return b_select(l, high, b_select(l, odd, of[3], of[2]), b_select(l, odd, of[1], of[0]));
}

/* Four bytes of a row of A belong to two words of B's column, of each of which two bytes count: the numbers in the row's
 * metadata, a byte each. */
static LLVMValueRef places_of_four(struct ptx_lower *l, const struct sparsity *s, unsigned upper, unsigned k)
{
    LLVMValueRef m = b_lshr(l, s->words[upper][k / 4], b_i32(l, k % 4 * 8));
    LLVMValueRef second = b_shl(l, b_and(l, m, b_i32(l, 0xf0)), b_i32(l, 12)), both = b_or(l, b_and(l, m, b_i32(l, 0xf)), second);
    LLVMValueRef apart = b_and(l, b_or(l, both, b_shl(l, both, b_i32(l, 6))), b_i32(l, 0x03030303));
    return b_or(l, apart, b_i32(l, 0x04040000));
}

static void by_fours(struct ptx_product *p, const struct sparsity *s)
{
    for (unsigned k = 0; k < p->a.cols; k++) {
        LLVMValueRef places[2] = { places_of_four(p->l, s, 0, k), places_of_four(p->l, s, 1, k) };
        for (unsigned i = 0; i < p->d.n; i++) {
            unsigned row, col;
            ptx_fragment_at(&p->c, i, &row, &col);
            LLVMValueRef first = ptx_product_col(p, col / 8, col % 8, 2 * k),
                         second = ptx_product_col(p, col / 8, col % 8, 2 * k + 1);
            LLVMValueRef b = b_simt(p->l, PTX_SIMT_BYTES4, (LLVMValueRef[]){ first, second, places[row / 8] });
            p->acc[i] = ptx_product_step(p, p->acc[i], ptx_product_row(p, row / 8, k), b);
        }
    }
}

/* d, a, b, c, metadata, selector */
bool ptx_lower_mma_sparse(struct ptx_lower *l, const struct ptx_instr *in)
{
    struct ptx_product p;
    if (!ptx_product_begin(&p, l, in, true))
        return false;
    struct sparsity s = sparsity_of(&p);
    if (!metadata_read(&p, &s))
        return false;
    if (p.fours)
        by_fours(&p, &s);
    for (unsigned k = 0; k < p.a.cols && !p.fours; k++) {
        for (unsigned i = 0; i < p.d.n; i++) {
            unsigned row, col;
            ptx_fragment_at(&p.c, i, &row, &col);
            LLVMValueRef b = partner(&p, &s, row / 8, col / 8, col % 8, k);
            p.acc[i] = ptx_product_step(&p, p.acc[i], ptx_product_row(&p, row / 8, k), b);
        }
    }
    return ptx_product_end(&p);
}
