/* Contractions: see contract.h.
 *
 * Modes are those of all three tensors (items of a batch), of A and C (rows), of B and C (columns), of A and B (what is summed),
 * or of one input alone, over which that is summed first.  An operand that is a matrix by its strides goes to BLAS as it is;
 * another is copied to one that is, in the type that is calculated in, with its operator.  So is the result.  Products that are
 * too small for BLAS, and those along a batch, are loops of our own. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "calc.h"
#include "common/blas.h"
#include "common/convert.h"
#include "map.h"
#include "reduce.h"

enum {
    TINY = 64,                 /* multiplications of an item of a batch for which BLAS is not called */
    CACHE = 24 << 10,          /* bytes that stay in a cache while loops come back to them */
    BATCH_PART = 1 << 17,      /* multiplications worth a part for a thread */
    GEMM_SPREADS = 1 << 22,    /* from here on BLAS's own product is cut for the threads (common/blas.c) */
    PARTS_OF_THREAD = 4,
};
/* OpenBLAS counts in int. */
#define BLAS_MOST INT_MAX

typedef void (*gemm_fn)(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                        const int *, const void *, const int *, const void *, void *, const int *);

static void *gemm_cells[4];

static gemm_fn gemm_find(char calc)
{
    static const char *const names[] = { "sgemm_", "dgemm_", "cgemm_", "zgemm_" };
    int i = calc == 's' ? 0 : calc == 'd' ? 1 : calc == 'c' ? 2 : 3;
    return (gemm_fn)aw_cpu_blas_cell(&gemm_cells[i], names[i]);
}

/* ---- Modes by the tensors that have them. */

enum { A, B, C, SIDES };
enum { BATCH, ROWS, COLS, SUM, GROUPS };

struct mode {
    int32_t name;
    int64_t extent;
};

struct group {
    uint32_t n;
    int64_t count; /* elements */
    struct mode mode[AW_TENSOR_MODES];
};

/* What an operand is while the product is made: the program's own, or a copy. */
struct side {
    struct aw_operand x;
    const void *at;
    void *made; /* to be freed, or NULL */
};

struct product {
    const struct aw_contract *p;
    const struct aw_calc *calc;
    struct group group[GROUPS];
    struct side side[SIDES]; /* C's: the sums, or D itself */
};

static void group_add(struct group *g, const struct aw_operand *by, uint32_t i)
{
    struct mode x = { by->mode[i], by->t.extent[i] };
    uint32_t k = g->n++;
    int64_t stride = aw_tensor_stride(by, x.name);
    g->count *= x.extent;
    for (; k > 0 && aw_tensor_stride(by, g->mode[k - 1].name) > stride; k--)
        g->mode[k] = g->mode[k - 1];
    g->mode[k] = x;
}

/* Modes of C in the order in which they lie there; what is summed, as it lies in the larger input. */
static void groups_make(struct product *q)
{
    const struct aw_operand *a = q->p->a, *b = q->p->b, *c = q->p->c;
    const struct aw_operand *larger = aw_tensor_count(&a->t) >= aw_tensor_count(&b->t) ? a : b;
    const struct aw_operand *other = larger == a ? b : a;
    for (int g = 0; g < GROUPS; g++)
        q->group[g].count = 1;
    for (uint32_t i = 0; i < c->t.n; i++) {
        bool in_a = aw_tensor_mode(a, c->mode[i]) >= 0, in_b = aw_tensor_mode(b, c->mode[i]) >= 0;
        if (c->t.extent[i] > 1)
            group_add(&q->group[in_a && in_b ? BATCH : in_a ? ROWS : COLS], c, i);
    }
    for (uint32_t i = 0; i < larger->t.n; i++) {
        int32_t name = larger->mode[i];
        if (larger->t.extent[i] > 1 && aw_tensor_mode(larger, name) == (int)i && aw_tensor_mode(other, name) >= 0 &&
            aw_tensor_mode(c, name) < 0)
            group_add(&q->group[SUM], larger, i);
    }
}

/* ---- Matrices */

/* Do the group's modes lie behind one another in `x`?  Then from one to the next are *ret_stride elements. */
static bool in_line(const struct group *g, const struct aw_operand *x, int64_t *ret_stride)
{
    int64_t stride = g->n ? aw_tensor_stride(x, g->mode[0].name) : 1, at = stride;
    for (uint32_t i = 0; i < g->n; i++) {
        if (aw_tensor_stride(x, g->mode[i].name) != at)
            return false;
        at *= g->mode[i].extent;
    }
    *ret_stride = stride;
    return true;
}

struct matrix {
    int64_t ld;
    bool turned; /* the columns' elements lie side by side, not the rows' */
};

/* Are rows and columns of `x` those of a matrix for BLAS? */
static bool is_matrix(const struct group *rows, const struct group *cols, const struct aw_operand *x, struct matrix *ret)
{
    int64_t r, c;
    if (!in_line(rows, x, &r) || !in_line(cols, x, &c))
        return false;
    if (r == 1 || rows->count == 1) {
        *ret = (struct matrix){ cols->count == 1 ? rows->count : c, false };
        if (ret->ld >= rows->count && ret->ld <= BLAS_MOST)
            return true;
    }
    if (c == 1 || cols->count == 1) {
        *ret = (struct matrix){ rows->count == 1 ? cols->count : r, true };
        return ret->ld >= cols->count && ret->ld <= BLAS_MOST;
    }
    return false;
}

/* A tensor of the type that is calculated in, without gaps. */
static void packed_make(struct aw_operand *ret, char calc, const int32_t mode[], const int64_t extent[], uint32_t n)
{
    int64_t stride = 1;
    ret->t = (struct cutensorTensorDescriptor){ .n = n, .type = aw_calc_find(calc)->type };
    ret->op = CUTENSOR_OP_IDENTITY;
    for (uint32_t i = 0; i < n; i++) {
        ret->mode[i] = mode[i];
        ret->t.extent[i] = extent[i];
        ret->t.stride[i] = stride;
        stride *= extent[i];
    }
}

static void packed_of(const struct product *q, struct aw_operand *ret, const struct group *first, const struct group *second,
                      const struct group *third)
{
    const struct group *const g[] = { first, second, third };
    int32_t mode[AW_TENSOR_MODES];
    int64_t extent[AW_TENSOR_MODES];
    uint32_t n = 0;
    for (int k = 0; k < 3; k++)
        for (uint32_t i = 0; i < g[k]->n; i++, n++) {
            mode[n] = g[k]->mode[i].name;
            extent[n] = g[k]->mode[i].extent;
        }
    packed_make(ret, q->p->calc, mode, extent, n);
}

/* Does an input have modes that neither the other one nor C has? */
static bool is_alone(const struct aw_operand *x, const struct aw_operand *y, const struct aw_operand *c)
{
    for (uint32_t i = 0; i < x->t.n; i++)
        if (x->t.extent[i] > 1 && aw_tensor_mode(y, x->mode[i]) < 0 && aw_tensor_mode(c, x->mode[i]) < 0)
            return true;
    return false;
}

static int64_t least_stride(const struct group *g, const struct aw_operand *x)
{
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < g->n; i++) {
        int64_t stride = aw_tensor_stride(x, g->mode[i].name);
        least = stride < least ? stride : least;
    }
    return least;
}

static bool input_make(struct product *q, int which, const struct aw_operand *x, const struct aw_operand *other, const void *at)
{
    struct side *s = &q->side[which];
    const struct group *free_modes = &q->group[which == A ? ROWS : COLS], *sum = &q->group[SUM];
    struct matrix m;
    bool alone = is_alone(x, other, q->p->c), real = !aw_type_complex(x->t.type);
    bool plain = x->op == CUTENSOR_OP_IDENTITY || (real && x->op == CUTENSOR_OP_CONJ);
    if (!alone && plain && x->t.type == q->calc->type && is_matrix(free_modes, sum, x, &m)) {
        s->x = *x;
        s->at = at;
        return true;
    }
    bool sum_first = least_stride(sum, x) < least_stride(free_modes, x);
    packed_of(q, &s->x, sum_first ? sum : free_modes, sum_first ? free_modes : sum, &q->group[BATCH]);
    s->at = s->made = malloc((size_t)aw_tensor_count(&s->x.t) * q->calc->size);
    if (!s->made)
        return false;
    if (alone) {
        struct aw_reduce r = { aw_type_complex(q->calc->type) ? 'z' : 'd', CUTENSOR_OP_ADD, x, &s->x, 1, 0 };
        return aw_reduce_run(&r, at, NULL, s->made);
    }
    struct aw_map map;
    aw_map_init(&map, q->p->calc, &s->x, s->made);
    aw_map_input(&map, AW_MAP_A, x, at, 1);
    aw_map_run(&map);
    return true;
}

/* D where BLAS can add to it, else sums of their own. */
static bool output_make(struct product *q, void *d, bool by_blas)
{
    struct side *s = &q->side[C];
    const struct aw_operand *c = q->p->c;
    struct matrix m;
    if (by_blas && c->t.type == q->calc->type && c->op == CUTENSOR_OP_IDENTITY &&
        is_matrix(&q->group[ROWS], &q->group[COLS], c, &m)) {
        s->x = *c;
        s->at = d;
        return true;
    }
    packed_of(q, &s->x, &q->group[ROWS], &q->group[COLS], &q->group[BATCH]);
    s->at = s->made = calloc((size_t)aw_tensor_count(&s->x.t), q->calc->size);
    return s->made;
}

/* ---- Items of the batch */

/* Where item `i` lies in the three. */
static void item_at(const struct product *q, int64_t i, char *ret_at[SIDES])
{
    const struct group *g = &q->group[BATCH];
    int64_t offset[SIDES] = { 0 };
    for (uint32_t k = 0; k < g->n; k++) {
        int64_t index = i % g->mode[k].extent;
        i /= g->mode[k].extent;
        for (int x = 0; x < SIDES; x++)
            offset[x] += index * aw_tensor_stride(&q->side[x].x, g->mode[k].name);
    }
    for (int x = 0; x < SIDES; x++)
        ret_at[x] = (char *)(uintptr_t)q->side[x].at + offset[x] * (int64_t)q->calc->size;
}

struct batch {
    const struct product *q;
    gemm_fn gemm;
    struct matrix m[SIDES];
    double alpha[2], beta[2]; /* in the type that is calculated in */
    int64_t items;
    uint32_t parts;
};

static void scalar_put(char calc, double _Complex value, double to[2])
{
    aw_type_store(aw_calc_find(calc)->type, to, 0, value);
}

/* C by columns: A's rows first; by rows it is the product of B and A, both turned. */
static void item_multiply(const struct batch *b, char *const at[])
{
    const struct group *g = b->q->group;
    bool swap = b->m[C].turned;
    int left = swap ? B : A, right = swap ? A : B;
    int m = (int)(swap ? g[COLS].count : g[ROWS].count), n = (int)(swap ? g[ROWS].count : g[COLS].count), k = (int)g[SUM].count;
    /* A's rows are its free modes, and so are B's: its matrix is the turned one of BLAS's. */
    char l = b->m[left].turned ? 'T' : 'N', r = b->m[right].turned ? 'N' : 'T';
    int lda = (int)b->m[left].ld, ldb = (int)b->m[right].ld, ldc = (int)b->m[C].ld;
    b->gemm(&l, &r, &m, &n, &k, b->alpha, at[left], &lda, at[right], &ldb, b->beta, at[C], &ldc);
}

static void batch_part(void *user, uint32_t part)
{
    const struct batch *b = user;
    int64_t end = b->items * (part + 1) / b->parts;
    for (int64_t i = b->items * part / b->parts; i < end; i++) {
        char *at[SIDES];
        item_at(b->q, i, at);
        item_multiply(b, at);
    }
}

static uint32_t parts_of(int64_t items, int64_t work)
{
    int64_t parts = (int64_t)aw_abi_spread_threads() * PARTS_OF_THREAD;
    parts = parts < items ? parts : items;
    parts = parts < work / BATCH_PART ? parts : work / BATCH_PART;
    return parts > 1 ? (uint32_t)parts : 1;
}

static void batch_run(struct product *q, gemm_fn gemm, double _Complex alpha, double _Complex beta)
{
    struct batch b = { .q = q, .gemm = gemm, .items = q->group[BATCH].count, .parts = 1 };
    int64_t work = q->group[ROWS].count * q->group[COLS].count * q->group[SUM].count;
    is_matrix(&q->group[ROWS], &q->group[SUM], &q->side[A].x, &b.m[A]);
    is_matrix(&q->group[COLS], &q->group[SUM], &q->side[B].x, &b.m[B]);
    is_matrix(&q->group[ROWS], &q->group[COLS], &q->side[C].x, &b.m[C]);
    scalar_put(q->p->calc, alpha, b.alpha);
    scalar_put(q->p->calc, beta, b.beta);
    if (work < GEMM_SPREADS)
        b.parts = parts_of(b.items, work * b.items);
    if (b.parts == 1)
        batch_part(&b, 0);
    else
        aw_abi_spread(b.parts, batch_part, &b);
}

/* ---- Without BLAS: loops over all modes, the best one innermost. */

struct loop {
    int64_t extent, stride[SIDES];
};

struct direct {
    const struct product *q;
    uint32_t n;
    struct loop loop[3 * AW_TENSOR_MODES];
    uint32_t cut, parts; /* a loop of C's */
    int64_t run;         /* elements along the inner loop for which all others are gone through, so that they stay in cache */
};

static bool follows(const struct loop *outer, const struct loop *inner)
{
    for (int x = 0; x < SIDES; x++)
        if (outer->stride[x] != inner->stride[x] * inner->extent)
            return false;
    return true;
}

static void direct_loops(struct direct *d)
{
    for (int g = 0; g < GROUPS; g++)
        for (uint32_t i = 0; i < d->q->group[g].n; i++) {
            struct loop l = { d->q->group[g].mode[i].extent, { 0 } };
            for (int x = 0; x < SIDES; x++)
                l.stride[x] = aw_tensor_stride(&d->q->side[x].x, d->q->group[g].mode[i].name);
            if (d->n && follows(&l, &d->loop[d->n - 1]))
                d->loop[d->n - 1].extent *= l.extent;
            else
                d->loop[d->n++] = l;
        }
    if (d->n == 0)
        d->loop[d->n++] = (struct loop){ .extent = 1 };
}

static int64_t distance(const struct loop *l)
{
    return l->stride[A] + l->stride[B] + l->stride[C];
}

static void direct_order(struct direct *d)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < d->n; i++) {
        struct loop *x = &d->loop[i], *y = &d->loop[best];
        if (x->extent >= 8 && y->extent >= 8 ? distance(x) < distance(y) : x->extent > y->extent)
            best = i;
    }
    struct loop inner = d->loop[best];
    memmove(&d->loop[1], d->loop, best * sizeof inner);
    d->loop[0] = inner;
}

/* By the numbers for each element of the inner loop to which other loops come back. */
static int64_t direct_length(const struct direct *d)
{
    double each = 0;
    for (int x = 0; x < SIDES; x++) {
        double count = d->loop[0].stride[x] ? 1 : 0;
        bool again = false;
        for (uint32_t i = 1; i < d->n; i++) {
            again = again || d->loop[i].stride[x] == 0;
            count *= d->loop[i].stride[x] ? (double)d->loop[i].extent : 1;
        }
        each += again ? count : 0;
    }
    double run = CACHE / ((double)d->q->calc->size * (each > 1 ? each : 1));
    return run < 64 ? 64 : run > 4096 ? 4096 : (int64_t)run;
}

/* All loops, of which the inner one has `n` elements. */
static void direct_nest(const struct direct *d, const struct loop *loop, char *at[], int64_t n)
{
    const struct aw_calc *calc = d->q->calc;
    int64_t index[3 * AW_TENSOR_MODES] = { 0 };
    for (;;) {
        uint32_t l = 1;
        calc->multiply_add(n, at[A], loop->stride[A], at[B], loop->stride[B], at[C], loop->stride[C]);
        for (; l < d->n; l++) {
            for (int x = 0; x < SIDES; x++)
                at[x] += loop[l].stride[x] * (int64_t)calc->size;
            if (++index[l] < loop[l].extent)
                break;
            for (int x = 0; x < SIDES; x++)
                at[x] -= loop[l].extent * loop[l].stride[x] * (int64_t)calc->size;
            index[l] = 0;
        }
        if (l == d->n)
            return;
    }
}

static void direct_part(void *user, uint32_t part)
{
    const struct direct *d = user;
    struct loop loop[3 * AW_TENSOR_MODES];
    int64_t extent = d->loop[d->cut].extent, begin = extent * part / d->parts, end = extent * (part + 1) / d->parts;
    memcpy(loop, d->loop, d->n * sizeof *loop);
    loop[d->cut].extent = end - begin;
    for (int64_t i = 0; i < loop[0].extent; i += d->run) {
        char *at[SIDES];
        for (int x = 0; x < SIDES; x++)
            at[x] = (char *)(uintptr_t)d->q->side[x].at +
                    (begin * loop[d->cut].stride[x] + i * loop[0].stride[x]) * (int64_t)d->q->calc->size;
        direct_nest(d, loop, at, loop[0].extent - i < d->run ? loop[0].extent - i : d->run);
    }
}

static void direct_run(const struct product *q)
{
    struct direct d = { .q = q, .parts = 1 };
    int64_t work = 1, best = 0;
    direct_loops(&d);
    direct_order(&d);
    d.run = direct_length(&d);
    for (uint32_t i = 0; i < d.n; i++) {
        work *= d.loop[i].extent;
        if (d.loop[i].stride[C] && d.loop[i].extent >= best) {
            best = d.loop[i].extent;
            d.cut = i;
        }
    }
    d.parts = best > 1 ? parts_of(best, work) : 1;
    if (d.parts == 1)
        direct_part(&d, 0);
    else
        aw_abi_spread(d.parts, direct_part, &d);
}

/* ---- All of it */

/* D = beta C + scale * sums; without sums where that is NULL. */
static void finish(const struct aw_contract *p, const struct side *sums, double _Complex scale, const void *c,
                   double _Complex beta, void *d)
{
    struct aw_map map;
    aw_map_init(&map, p->calc, p->c, d);
    if (sums)
        aw_map_input(&map, AW_MAP_A, &sums->x, sums->at, scale);
    if (!sums || beta != 0)
        aw_map_input(&map, AW_MAP_C, p->c, c, beta);
    aw_map_run(&map);
}

static bool fits_blas(const struct product *q)
{
    int64_t m = q->group[ROWS].count, n = q->group[COLS].count, k = q->group[SUM].count;
    if (m > BLAS_MOST || n > BLAS_MOST || k > BLAS_MOST || m == 1 || n == 1)
        return false;
    return m * n > TINY || m * n * k > TINY;
}

/* Where nothing is summed it is an elementwise operation, and where it is no product of vectors that is a better way. */
static void multiply_elements(const struct aw_contract *p, const void *a, const void *b, const void *c, void *d)
{
    struct aw_map map;
    aw_map_init(&map, p->calc, p->c, d);
    map.op_ab = CUTENSOR_OP_MUL;
    aw_map_input(&map, AW_MAP_A, p->a, a, p->alpha);
    aw_map_input(&map, AW_MAP_B, p->b, b, 1);
    if (p->beta != 0)
        aw_map_input(&map, AW_MAP_C, p->c, c, p->beta);
    aw_map_run(&map);
}

static bool product_run(struct product *q, const void *a, const void *b, const void *c, void *d)
{
    const struct aw_contract *p = q->p;
    groups_make(q);
    if (q->group[SUM].count == 1 && !fits_blas(q) && !is_alone(p->a, p->b, p->c) && !is_alone(p->b, p->a, p->c)) {
        multiply_elements(p, a, b, c, d);
        return true;
    }
    gemm_fn gemm = fits_blas(q) ? gemm_find(p->calc) : NULL;
    if (!input_make(q, A, p->a, p->b, a) || !input_make(q, B, p->b, p->a, b) || !output_make(q, d, gemm))
        return false;
    bool at_once = !q->side[C].made;
    if (at_once && p->beta != 0 && c != d)
        finish(p, NULL, 0, c, 1, d);
    if (gemm)
        batch_run(q, gemm, at_once ? p->alpha : 1, at_once ? p->beta : 0);
    else
        direct_run(q);
    if (!at_once)
        finish(p, &q->side[C], p->alpha, c, p->beta, d);
    return true;
}

bool aw_contract_run(const struct aw_contract *p, const void *a, const void *b, const void *c, void *d)
{
    struct product q = { .p = p, .calc = aw_calc_find(p->calc) };
    if (p->alpha == 0) {
        finish(p, NULL, 0, c, p->beta, d);
        return true;
    }
    bool good = product_run(&q, a, b, c, d);
    for (int x = 0; x < SIDES; x++)
        free(q.side[x].made);
    return good;
}

/* ---- Three factors */

/* What is left of `x` and `y` for `z` and the output: its modes and extents.  False: too many. */
static bool pair_modes(const struct aw_operand *x, const struct aw_operand *y, const struct aw_operand *z,
                       const struct aw_operand *out, int32_t mode[], int64_t extent[], uint32_t *ret_n)
{
    const struct aw_operand *const in[] = { x, y };
    uint32_t n = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < in[k]->t.n; i++) {
            int32_t name = in[k]->mode[i];
            bool first = aw_tensor_mode(in[k], name) == (int)i && (k == 0 || aw_tensor_mode(x, name) < 0);
            if (!first || in[k]->t.extent[i] == 1 || (aw_tensor_mode(z, name) < 0 && aw_tensor_mode(out, name) < 0))
                continue;
            if (n == AW_TENSOR_MODES)
                return false;
            mode[n] = name;
            extent[n++] = in[k]->t.extent[i];
        }
    *ret_n = n;
    return true;
}

/* Multiplications of a contraction. */
static double cost(const struct aw_operand *x, const struct aw_operand *y)
{
    double work = (double)aw_tensor_count(&x->t);
    for (uint32_t i = 0; i < y->t.n; i++)
        work *= aw_tensor_mode(x, y->mode[i]) < 0 ? (double)y->t.extent[i] : 1;
    return work;
}

/* Which factor comes last, and what the other two make; false: there are too many modes. */
static bool choose_last(char calc, const struct aw_operand *const in[3], const struct aw_operand *out, int *ret_last,
                        struct aw_operand *ret_made)
{
    double least = 0;
    bool found = false;
    for (int last = 0; last < 3; last++) {
        const struct aw_operand *x = in[(last + 1) % 3], *y = in[(last + 2) % 3];
        int32_t mode[AW_TENSOR_MODES];
        int64_t extent[AW_TENSOR_MODES];
        struct aw_operand made;
        uint32_t n;
        if (!pair_modes(x, y, in[last], out, mode, extent, &n))
            continue;
        packed_make(&made, calc, mode, extent, n);
        double work = cost(x, y) + cost(&made, in[last]) + (double)aw_tensor_count(&made.t);
        if (found && work >= least)
            continue;
        found = true;
        least = work;
        *ret_last = last;
        *ret_made = made;
    }
    return found;
}

bool aw_contract_three_fits(const struct aw_operand *const in[3], const struct aw_operand *out)
{
    struct aw_operand made;
    int last;
    return choose_last('s', in, out, &last, &made);
}

bool aw_contract_three(const struct aw_contract *p, const struct aw_operand *const in[3], const void *const at[3], const void *c,
                       void *d)
{
    struct aw_operand made;
    int last;
    if (p->alpha == 0)
        return aw_contract_run(p, NULL, NULL, c, d);
    if (!choose_last(p->calc, in, p->c, &last, &made))
        return false;
    int x = (last + 1) % 3, y = (last + 2) % 3;
    void *sums = malloc((size_t)aw_tensor_count(&made.t) * aw_type_size(made.t.type));
    struct aw_contract first = { p->calc, in[x], in[y], &made, 1, 0 },
                       second = { p->calc, &made, in[last], p->c, p->alpha, p->beta };
    bool good = sums && aw_contract_run(&first, at[x], at[y], NULL, sums) && aw_contract_run(&second, sums, at[last], c, d);
    free(sums);
    return good;
}
