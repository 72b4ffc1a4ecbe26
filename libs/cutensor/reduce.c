/* Reductions: see reduce.h.
 *
 * Results are made in runs.  Along the inner loop, that in which A lies closest, either results lie side by side, and each of A's
 * runs is combined with theirs, or A's run is folded into one of them.  Where there are few results of much, the longest loop
 * that is reduced is cut into parts, whose results are combined in their order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <stdlib.h>
#include <string.h>

#include "calc.h"
#include "common/convert.h"

enum {
    SHORT = 16,        /* fewer elements are no good inner loop */
    PART = 1 << 16,    /* elements worth a part for a thread */
    PARTS = 64,        /* at most */
    FEW = 64,          /* results, of which every part may have its own; more where they lie side by side */
    FEW_BESIDE = 1024,
};
#define INNER UINT32_MAX

struct loop {
    int64_t extent, a, d; /* strides in A, and in D and C */
};

/* The two kinds of loops, each sorted by A's strides. */
struct loops {
    uint32_t n;
    struct loop loop[AW_TENSOR_MODES];
};

struct state {
    const struct aw_reduce *r;
    const struct aw_calc *calc;
    size_t a_size, d_size;
    const char *a, *c;
    char *d;
    struct loops kept, gone;
    bool along;       /* the inner loop, taken out of the two, is one of `gone` */
    struct loop inner;
    uint32_t cut, parts; /* the loop that is cut, or INNER, and into how many */
    bool apart;       /* that loop is reduced: parts have results of their own */
    char *results;    /* of these, in the order of `kept` with the inner one first */
    int64_t count;    /* of results */
};

static void add_loop(struct loops *l, struct loop x)
{
    uint32_t k = l->n++;
    for (; k > 0 && l->loop[k - 1].a > x.a; k--)
        l->loop[k] = l->loop[k - 1];
    l->loop[k] = x;
}

static void merge(struct loops *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        struct loop *x = &l->loop[i], *last = n ? &l->loop[n - 1] : NULL;
        if (last && x->a == last->a * last->extent && x->d == last->d * last->extent)
            last->extent *= x->extent;
        else
            l->loop[n++] = *x;
    }
    l->n = n;
}

static struct loop take_loop(struct loops *l, uint32_t i)
{
    struct loop x = l->loop[i];
    memmove(&l->loop[i], &l->loop[i + 1], (--l->n - i) * sizeof *l->loop);
    return x;
}

/* The closest of some length, or the longest. */
static void choose_inner(struct state *s)
{
    struct loops *from[] = { &s->gone, &s->kept };
    struct loop *best = NULL;
    int of = 0;
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < from[k]->n; i++) {
            struct loop *x = &from[k]->loop[i];
            bool better = !best || (x->extent >= SHORT && best->extent >= SHORT ? x->a < best->a : x->extent > best->extent);
            best = better ? x : best;
            of = better ? k : of;
        }
    s->along = of == 0;
    s->inner = best ? take_loop(from[of], (uint32_t)(best - from[of]->loop)) : (struct loop){ .extent = 1 };
    if (!best)
        s->along = false;
}

static void loops_make(struct state *s)
{
    const struct aw_operand *a = s->r->a, *c = s->r->c;
    for (uint32_t i = 0; i < a->t.n; i++) {
        bool first = aw_tensor_mode(a, a->mode[i]) == (int)i;
        struct loop x = { a->t.extent[i], aw_tensor_stride(a, a->mode[i]), aw_tensor_stride(c, a->mode[i]) };
        if (first && x.extent > 1)
            add_loop(aw_tensor_mode(c, a->mode[i]) < 0 ? &s->gone : &s->kept, x);
    }
    merge(&s->kept);
    merge(&s->gone);
    choose_inner(s);
}

/* Goes on to the next of the loops; false: that was the last. */
static bool next(const struct loops *l, int64_t index[], int64_t *a, int64_t *d)
{
    for (uint32_t i = 0; i < l->n; i++) {
        *a += l->loop[i].a;
        *d += l->loop[i].d;
        if (++index[i] < l->loop[i].extent)
            return true;
        *a -= l->loop[i].a * l->loop[i].extent;
        *d -= l->loop[i].d * l->loop[i].extent;
        index[i] = 0;
    }
    return false;
}

static void read_a(const struct state *s, int64_t at, int64_t n, void *to)
{
    s->calc->load(s->r->a->t.type, s->a + at * (int64_t)s->a_size, s->inner.a, n, to);
    if (s->r->a->op != CUTENSOR_OP_IDENTITY)
        s->calc->unary(s->r->a->op, n, to);
}

/* `n` results from A's element `a` on: side by side along the inner loop, or one. */
static void results_make(const struct state *s, int64_t a, int64_t n, void *results)
{
    _Alignas(64) char run[AW_CALC_RUN * 16];
    int64_t index[AW_TENSOR_MODES] = { 0 }, none = 0, extent = s->inner.extent;
    s->calc->fill(aw_calc_neutral(s->r->op), n, results);
    do {
        if (!s->along) {
            read_a(s, a, n, run);
            s->calc->combine(s->r->op, n, results, run);
            continue;
        }
        for (int64_t i = 0; i < extent; i += AW_CALC_RUN) {
            int64_t few = extent - i < AW_CALC_RUN ? extent - i : AW_CALC_RUN;
            read_a(s, a + i * s->inner.a, few, run);
            s->calc->fold(s->r->op, few, run, results);
        }
    } while (next(&s->gone, index, &a, &none));
}

/* The results become D's. */
static void results_store(const struct state *s, int64_t d, int64_t n, void *results)
{
    _Alignas(64) char other[AW_CALC_RUN * 16];
    const struct aw_operand *c = s->r->c;
    int64_t stride = s->inner.d;
    if (s->r->alpha == 0)
        s->calc->fill(0, n, results);
    else if (s->r->alpha != 1)
        s->calc->scale(s->r->alpha, n, results);
    if (s->r->beta != 0) {
        s->calc->load(c->t.type, s->c + d * (int64_t)s->d_size, stride, n, other);
        if (c->op != CUTENSOR_OP_IDENTITY)
            s->calc->unary(c->op, n, other);
        s->calc->scale(s->r->beta, n, other);
        s->calc->combine(CUTENSOR_OP_ADD, n, results, other);
    }
    s->calc->store(c->t.type, s->d + d * (int64_t)s->d_size, stride, n, results);
}

static struct loop *cut_loop(struct state *s)
{
    return s->cut == INNER ? &s->inner : s->apart ? &s->gone.loop[s->cut] : &s->kept.loop[s->cut];
}

static void run_part(void *user, uint32_t part)
{
    struct state s = *(const struct state *)user;
    _Alignas(64) char run[AW_CALC_RUN * 16];
    int64_t index[AW_TENSOR_MODES] = { 0 }, a = 0, d = 0, done = 0;
    if (s.parts > 1) {
        struct loop *x = cut_loop(&s);
        int64_t begin = x->extent * part / s.parts, end = x->extent * (part + 1) / s.parts;
        a += begin * x->a;
        d += begin * x->d;
        x->extent = end - begin;
    }
    int64_t width = s.along ? 1 : s.inner.extent;
    do {
        for (int64_t i = 0; i < width; i += AW_CALC_RUN) {
            int64_t n = width - i < AW_CALC_RUN ? width - i : AW_CALC_RUN;
            if (s.apart) {
                results_make(&s, a + i * s.inner.a, n, s.results + (size_t)(part * s.count + done) * s.calc->size);
                done += n;
                continue;
            }
            if (s.r->alpha != 0)
                results_make(&s, a + i * s.inner.a, n, run);
            results_store(&s, d + i * s.inner.d, n, run);
        }
    } while (next(&s.kept, index, &a, &d));
}

/* The results of all parts, in the parts' order. */
static void join(const struct state *s)
{
    int64_t index[AW_TENSOR_MODES] = { 0 }, a = 0, d = 0, width = s->along ? 1 : s->inner.extent, done = 0;
    do {
        for (int64_t i = 0; i < width; i += AW_CALC_RUN) {
            int64_t n = width - i < AW_CALC_RUN ? width - i : AW_CALC_RUN;
            char *first = s->results + (size_t)done * s->calc->size;
            for (uint32_t part = 1; part < s->parts; part++)
                s->calc->combine(s->r->op, n, first, first + (size_t)(part * s->count) * s->calc->size);
            results_store(s, d + i * s->inner.d, n, first);
            done += n;
        }
    } while (next(&s->kept, index, &a, &d));
}

/* Chooses the longest loop of a kind, of which the inner one may be; gives its extent. */
static int64_t choose_cut(struct state *s, const struct loops *l, bool with_inner)
{
    int64_t best = with_inner ? s->inner.extent : 0;
    s->cut = INNER;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->loop[i].extent >= best) {
            best = l->loop[i].extent;
            s->cut = i;
        }
    return best;
}

/* A loop that is reduced is cut by its length alone, so that sums do not depend on the machine. */
static void choose_parts(struct state *s)
{
    int64_t work = aw_tensor_count(&s->r->a->t) / PART, most = (int64_t)aw_abi_spread_threads() * 4, extent;
    s->count = s->along ? 1 : s->inner.extent;
    for (uint32_t i = 0; i < s->kept.n; i++)
        s->count *= s->kept.loop[i].extent;
    s->parts = 1;
    if (work < 2 || s->r->alpha == 0)
        return;
    s->apart = s->count <= (s->along ? FEW : FEW_BESIDE);
    extent = choose_cut(s, s->apart ? &s->gone : &s->kept, s->along == s->apart);
    most = s->apart ? PARTS : most;
    most = work < most ? work : most;
    most = most < extent ? most : extent;
    s->parts = most > 1 ? (uint32_t)most : 1;
    s->apart = s->apart && s->parts > 1;
}

bool aw_reduce_run(const struct aw_reduce *r, const void *a, const void *c, void *d)
{
    struct state s = { .r = r, .calc = aw_calc_find(r->calc), .a_size = aw_type_size(r->a->t.type),
                       .d_size = aw_type_size(r->c->t.type), .a = a, .c = c, .d = d };
    loops_make(&s);
    choose_parts(&s);
    if (s.apart && !(s.results = malloc((size_t)s.parts * (size_t)s.count * s.calc->size)))
        return false;
    if (s.parts == 1)
        run_part(&s, 0);
    else
        aw_abi_spread(s.parts, run_part, &s);
    if (s.apart)
        join(&s);
    free(s.results);
    return true;
}
