/* Arrays of small structures: the lanes' parts lie two or four elements apart, and all parts are read or written by neighbouring
 * instructions (ld.v2, st.v4 and the like, taken apart before).  Together they are a row of plain vectors, and some permutations.
 *
 * And rows: lanes further apart that each read four neighbouring elements, as from a row of a matrix in an unrolled loop.  A
 * lane's four are one load.
 *
 * Only where every lane runs and the distances are certain; anything else is left to memory.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "simt/analysis/analysis.h"
#include "simt/emit/emit.h"
#include <string.h>

enum { MAX_PARTS = SIMT_INTERLEAVED_PARTS };

/* Elements in a register: permutations of two of them are one instruction, or two. */
static int in_register(const struct simt *u, const struct simt_interleaved *p)
{
    return (u->options->small_masks && u->lanes * p->size >= 64 ? 64 : 32) / (int)p->size;
}

/* Of two vectors of `n` elements: every second one, or the first or second halves in turn. */
static LLVMValueRef every_second(struct simt *u, LLVMValueRef a, LLVMValueRef b, int n, int odd)
{
    int at[SIMT_LANES];
    for (int i = 0; i < n; i++)
        at[i] = 2 * i + odd;
    return LLVMBuildShuffleVector(u->b, a, b, simt_const_i32v(u, at, n), "");
}

static LLVMValueRef in_turn(struct simt *u, LLVMValueRef a, LLVMValueRef b, int n, int half)
{
    int at[SIMT_LANES];
    for (int i = 0; i < n; i++)
        at[i] = half * n / 2 + i / 2 + (i % 2 ? n : 0);
    return LLVMBuildShuffleVector(u->b, a, b, simt_const_i32v(u, at, n), "");
}

static LLVMValueRef base_pointer(struct simt_fn *f, const struct simt_interleaved *p)
{
    LLVMValueRef at = simt_scalar(f, p->base);
    if (simt_is_shared_ptr(LLVMTypeOf(p->base))) {
        LLVMValueRef index = LLVMBuildSExt(f->u->b, at, f->u->i64, "");
        at = LLVMBuildGEP2(f->u->b, f->u->i8, f->shared, &index, 1, "");
    }
    return simt_advance(f->u, at, -p->base_at);
}

/* `row`: registers of memory in order, `count` of them; splits them into the parts `first`, `first` + `step`, .. */
static void take_parts(struct simt *u, LLVMValueRef *row, int count, int n, const struct simt_interleaved *p, int first, int step,
                       LLVMValueRef *ret)
{
    if (step == p->n) {
        ret[first] = simt_join(u, row, count, n);
        return;
    }
    LLVMValueRef half[SIMT_LANES];
    for (int odd = 0; odd < 2; odd++) {
        for (int i = 0; i < count / 2; i++)
            half[i] = every_second(u, row[2 * i], row[2 * i + 1], n, odd);
        take_parts(u, half, count / 2, n, p, first + odd * step, 2 * step, ret);
    }
}

/* The four elements named, of two vectors of 8 that count as one, and the same of their upper halves. */
static LLVMValueRef mix(struct simt *u, LLVMValueRef x, LLVMValueRef y, int a, int b, int c, int d)
{
    int at[8] = { a, b, c, d, a + 4, b + 4, c + 4, d + 4 };
    return LLVMBuildShuffleVector(u->b, x, y, simt_const_i32v(u, at, 8), "");
}

/* Eight lanes' four elements: loads of four, lanes i and i + 4 in one register, transposed. */
static void eight_rows(struct simt *u, const struct simt_interleaved *p, LLVMValueRef base, LLVMValueRef ret[4])
{
    static const int both[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    LLVMValueRef row[4], half[2];
    for (int i = 0; i < 4; i++) {
        for (int h = 0; h < 2; h++) {
            half[h] = LLVMBuildLoad2(u->b, LLVMVectorType(p->elem, 4), simt_advance(u, base, 4 * p->by * (i + 4 * h)), "");
            LLVMSetAlignment(half[h], p->align);
            simt_mark_space(u, half[h], p->base);
        }
        row[i] = LLVMBuildShuffleVector(u->b, half[0], half[1], simt_const_i32v(u, both, 8), "");
    }
    LLVMValueRef low01 = mix(u, row[0], row[1], 0, 8, 1, 9), high01 = mix(u, row[0], row[1], 2, 10, 3, 11);
    LLVMValueRef low23 = mix(u, row[2], row[3], 0, 8, 1, 9), high23 = mix(u, row[2], row[3], 2, 10, 3, 11);
    ret[0] = mix(u, low01, low23, 0, 1, 8, 9);
    ret[1] = mix(u, low01, low23, 2, 3, 10, 11);
    ret[2] = mix(u, high01, high23, 0, 1, 8, 9);
    ret[3] = mix(u, high01, high23, 2, 3, 10, 11);
}

static void rows_load(struct simt_fn *f, const struct simt_interleaved *p)
{
    struct simt *u = f->u;
    LLVMValueRef base = base_pointer(f, p), eight[4], column[4][SIMT_LANES / 8];
    int eights = (int)LLVMGetVectorSize(u->i32v) / 8;
    for (int i = 0; i < eights; i++) {
        eight_rows(u, p, simt_advance(u, base, 4 * p->by * 8 * i), eight);
        for (int k = 0; k < 4; k++)
            column[k][i] = eight[k];
    }
    for (int k = 0; k < 4; k++)
        simt_set_vector(f, p->inst[k], simt_join(u, column[k], eights, 8));
}

bool simt_interleaved_load(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    struct simt_interleaved p;
    if (!simt_interleaved_find(f, inst, &p))
        return false;
    if (p.by != p.n) {
        rows_load(f, &p);
        return true;
    }
    LLVMValueRef row[SIMT_LANES], part[MAX_PARTS], base = base_pointer(f, &p);
    int n = in_register(u, &p), count = p.n * u->lanes / n;
    for (int i = 0; i < count; i++) {
        row[i] = LLVMBuildLoad2(u->b, LLVMVectorType(p.elem, (unsigned)n), simt_advance(u, base, (int64_t)p.size * n * i), "");
        LLVMSetAlignment(row[i], p.align);
        simt_mark_space(u, row[i], p.base);
    }
    take_parts(u, row, count, n, &p, 0, 1, part);
    for (int i = 0; i < p.n; i++)
        simt_set_vector(f, p.inst[i], part[i]);
    return true;
}

bool simt_interleaved_store(struct simt_fn *f, LLVMValueRef inst)
{
    struct simt *u = f->u;
    struct simt_interleaved *p = &f->storing;
    if (f->spreading.n || (!p->n && !simt_interleaved_find(f, inst, p))) { /* one of those is of their last one's store */
        p->n = 0;
        return false;
    }
    if (inst != p->last)
        return true; /* with the last part */
    int n = in_register(u, p), count = u->lanes / n, parts = p->n;
    LLVMValueRef row[SIMT_LANES], next[SIMT_LANES], base = base_pointer(f, p);
    for (int k = 0; k < parts; k++) {
        LLVMValueRef x = simt_vector(f, LLVMGetOperand(p->inst[k], 0));
        for (int i = 0; i < count; i++)
            row[k * count + i] = simt_slice(u, x, i * n, n);
    }
    /* Parts k and k + half in turn, until one row is left. */
    for (; parts > 1; parts /= 2, count *= 2) {
        for (int k = 0; k < parts / 2; k++)
            for (int i = 0; i < count; i++)
                for (int h = 0; h < 2; h++)
                    next[(k * count + i) * 2 + h] = in_turn(u, row[k * count + i], row[(k + parts / 2) * count + i], n, h);
        memcpy(row, next, sizeof row);
    }
    for (int i = 0; i < count; i++) {
        LLVMValueRef store = LLVMBuildStore(u->b, row[i], simt_advance(u, base, (int64_t)p->size * n * i));
        LLVMSetAlignment(store, p->align);
        simt_mark_space(u, store, p->base);
    }
    p->n = 0;
    return true;
}
