/* Norms and their gradients: see layers.h.  All in double; what is per channel, per sample or per both follows from the sizes
 * alone. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/driver.h"
#include "common/vectorised.h"
#include "layers.h"

/* ---- Large norms whose statistics are per channel: some channels each, on the device's threads. */

enum {
    MAX_VIEWS = AW_DNN_NORM_FORWARD_VIEWS,
    THREAD_PARTS = 2,
    WORTH = 1 << 16,     /* elements */
    CACHED = 1 << 16,    /* elements of a part that stay in a processor's cache from one pass to the next */
    LANES = 8            /* partial sums */
};

struct parts {
    int (*norm)(const struct aw_dnn_norm *op, const struct aw_dnn_view *v);
    const struct aw_dnn_norm *op;
    const struct aw_dnn_view *v;
    int n_views;
    unsigned scalars; /* views that have one element for all, bits */
    int64_t channels;
    uint32_t n;
    _Atomic bool failed;
};

/* Has every tensor all channels, so that nothing is summed over them? */
static bool by_channels(const struct parts *p)
{
    if (p->op->stats.n < 2 || p->op->stats.dim[1] != p->channels)
        return false;
    for (int i = 0; i < p->n_views; i++) {
        const struct aw_dnn_shape *s = &p->v[i].s;
        if (p->v[i].at && !(p->scalars >> i & 1) &&
            (s->n < 2 || s->dim[1] != p->channels || aw_dnn_type_bits(s->type) % 8))
            return false;
    }
    return true;
}

static void run_part(void *user, uint32_t part)
{
    struct parts *p = user;
    struct aw_dnn_norm op = *p->op;
    struct aw_dnn_view v[MAX_VIEWS];
    int64_t begin = p->channels * part / p->n, end = p->channels * (part + 1) / p->n;
    op.stats.dim[1] = end - begin;
    for (int i = 0; i < p->n_views; i++) {
        bool whole = !p->v[i].at || p->scalars >> i & 1;
        v[i] = whole ? p->v[i] : aw_dnn_part(p->v[i], 1, begin, end - begin);
    }
    if (p->norm(&op, v))
        atomic_store_explicit(&p->failed, true, memory_order_relaxed);
}

static int spread(struct parts *p)
{
    const struct aw_dnn_shape *x = &p->v[1].s;
    int64_t most = (int64_t)aw_abi_spread_threads() * THREAD_PARTS;
    p->channels = x->n < 2 ? 1 : x->dim[1];
    if (p->channels > 1 && x->stride[1] > 1 && most < aw_dnn_count(x) / CACHED)
        most = aw_dnn_count(x) / CACHED;
    p->n = (uint32_t)(most < p->channels ? most : p->channels);
    if (p->n < 2 || aw_dnn_count(x) < WORTH || !by_channels(p))
        return p->norm(p->op, p->v);
    aw_abi_spread(p->n, run_part, p);
    return atomic_load_explicit(&p->failed, memory_order_relaxed);
}

/* A scalar's tensor, or what was given in its place. */
static double scalar(const struct aw_dnn_view *v, double otherwise)
{
    return v->at ? aw_dnn_get(v, 0) : otherwise;
}

/* A zeroed double for each element of `s`. */
static struct aw_dnn_view sums_make(const struct aw_dnn_shape *s)
{
    return aw_dnn_dense_view(s, CUDNN_DATA_DOUBLE, calloc((size_t)aw_dnn_count(s) + 1, sizeof(double)));
}

/* ---- Pieces of rows */

/* What a piece of a row has of an operand, and where it was taken from. */
struct piece {
    int64_t offset, step, n; /* n: elements that are held */
    double at[AW_DNN_CHUNK];
};

/* `n` elements of the walk's operand `k`, from place `at` of the row on.  Nothing writes to the operand between calls: what
 * `to` holds is not read again. */
static void piece_load(const struct aw_dnn_walk *w, int64_t at, int64_t n, int k, const struct aw_dnn_view *v, struct piece *to)
{
    int64_t offset = w->offset[k] + at * w->step[k];
    if (!v->at || (to->n >= n && to->offset == offset && to->step == w->step[k]))
        return;
    aw_dnn_load_d(v, offset, w->step[k], n, to->at);
    to->offset = offset;
    to->step = w->step[k];
    to->n = n;
}

/* Empty pieces, of the value `absent[k]` where there is no operand. */
static void pieces_begin(int n, const struct aw_dnn_view *const views[], const double absent[], struct piece pieces[])
{
    for (int k = 0; k < n; k++) {
        pieces[k].n = 0;
        for (int64_t i = 0; i < AW_DNN_CHUNK && !views[k]->at; i++)
            pieces[k].at[i] = absent[k];
    }
}

static int64_t piece_size(const struct aw_dnn_walk *w, int64_t at)
{
    return w->row - at < AW_DNN_CHUNK ? w->row - at : AW_DNN_CHUNK;
}

AW_VECTORISED static double sum_of(const double *x, int64_t n)
{
    double lane[LANES] = { 0 }, rest = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += x[i + k];
    for (; i < n; i++)
        rest += x[i];
    for (int k = 0; k < LANES; k++)
        rest += lane[k];
    return rest;
}

/* sums += x, each to its own: `step` apart, or all to one. */
static void add(double *sums, int64_t step, const double *x, int64_t n)
{
    if (step == 0)
        *sums += sum_of(x, n);
    else
        for (int64_t i = 0; i < n; i++)
            sums[i * step] += x[i];
}

/* ---- Statistics */

AW_VECTORISED static void squares_of(const double *x, const double *mean, int64_t n, double *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = (x[i] - mean[i]) * (x[i] - mean[i]);
}

/* sums += x, or (x - mean)^2. */
static void accumulate(const struct aw_dnn_view *x, const struct aw_dnn_view *mean, const struct aw_dnn_view *sums, bool squares)
{
    const struct aw_dnn_view *const views[] = { x, sums, mean };
    struct aw_dnn_walk w;
    struct piece in = { .n = 0 }, m = { .n = 0 };
    double square[AW_DNN_CHUNK];
    if (!aw_dnn_walk_begin(&w, &x->s, 3, views))
        return;
    do {
        for (int64_t at = 0; at < w.row; at += AW_DNN_CHUNK) {
            int64_t n = piece_size(&w, at);
            piece_load(&w, at, n, 0, x, &in);
            if (squares) {
                piece_load(&w, at, n, 2, mean, &m);
                squares_of(in.at, m.at, n, square);
            }
            add((double *)sums->at + w.offset[1] + at * w.step[1], w.step[1], squares ? square : in.at, n);
        }
    } while (aw_dnn_walk_next(&w));
}

/* Mean and variance over what `stats` has size 1 in. */
static void statistics(const struct aw_dnn_view *x, bool centred, const struct aw_dnn_view *mean,
                       const struct aw_dnn_view *variance)
{
    int64_t n = aw_dnn_count(&mean->s), each = n ? aw_dnn_count(&x->s) / n : 1;
    if (centred) {
        accumulate(x, mean, mean, false);
        for (int64_t i = 0; i < n; i++)
            ((double *)mean->at)[i] /= (double)each;
    }
    accumulate(x, mean, variance, true);
    for (int64_t i = 0; i < n; i++)
        ((double *)variance->at)[i] /= (double)each;
}

/* running = factor * now + (1 - factor) * before. */
static void run_on(const struct aw_dnn_view *now, double scale, double factor, const struct aw_dnn_view *before,
                   const struct aw_dnn_view *after)
{
    if (!after->at)
        return;
    if (before->at && factor != 1) {
        if (before->at != after->at)
            aw_dnn_blend(1, before, 0, after);
        aw_dnn_blend(factor * scale, now, 1 - factor, after);
    } else {
        aw_dnn_blend(factor * scale, now, 0, after);
    }
}

/* One piece of apply, into y: pieces of y, x, mean, inv, scale, bias and z. */
AW_VECTORISED static void apply_piece(const struct aw_dnn_norm *op, const struct piece in[7], int64_t n, double *y)
{
    const double *before = in[0].at, *x = in[1].at, *mean = in[2].at, *inv = in[3].at, *scale = in[4].at, *bias = in[5].at;
    const double *z = in[6].at, alpha = op->alpha, beta = op->beta;
    bool relu = op->activation == AW_DNN_RELU_FWD;
    for (int64_t i = 0; i < n; i++) {
        double value = (x[i] - mean[i]) * inv[i] * scale[i] + bias[i] + z[i];
        value = relu && value <= 0 ? 0 : value; /* NaN stays */
        y[i] = alpha * value + beta * before[i];
    }
}

/* y = alpha * act((x - mean) * inv * scale + bias + z) + beta * y; with beta 0, y is not read. */
static void apply(const struct aw_dnn_norm *op, const struct aw_dnn_view *v, const struct aw_dnn_view *mean,
                  const struct aw_dnn_view *inv)
{
    static const struct aw_dnn_view none;
    static const double absent[] = { 0, 0, 0, 1, 1, 0, 0 };
    const struct aw_dnn_view *views[] = { &v[0], &v[1], mean, inv, &v[4], &v[5], &v[12] };
    struct piece in[7];
    double y[AW_DNN_CHUNK];
    struct aw_dnn_walk w;
    if (!aw_dnn_walk_begin(&w, &v[0].s, 7, views))
        return;
    if (op->beta == 0)
        views[0] = &none;
    pieces_begin(7, views, absent, in);
    do {
        for (int64_t at = 0; at < w.row; at += AW_DNN_CHUNK) {
            int64_t n = piece_size(&w, at);
            for (int k = 0; k < 7; k++)
                piece_load(&w, at, n, k, views[k], &in[k]);
            apply_piece(op, in, n, y);
            aw_dnn_store_d(&v[0], w.offset[0] + at * w.step[0], w.step[0], n, y);
        }
    } while (aw_dnn_walk_next(&w));
}

static int norm_forward(const struct aw_dnn_norm *op, const struct aw_dnn_view *v)
{
    struct aw_dnn_view mean = sums_make(&op->stats), inv = sums_make(&op->stats);
    int64_t n = aw_dnn_count(&op->stats), each = n ? aw_dnn_count(&v[1].s) / n : 1;
    double epsilon = scalar(&v[6], op->epsilon), factor = scalar(&v[7], op->factor), *d = inv.at;
    bool good = mean.at && inv.at;
    if (good && op->given) {
        if (v[2].at)
            aw_dnn_blend(1, &v[2], 0, &mean);
        aw_dnn_blend(1, &v[3], 0, &inv);
    } else if (good) {
        statistics(&v[1], op->centred, &mean, &inv);
        run_on(&mean, 1, factor, &v[8], &v[10]);
        run_on(&inv, each > 1 ? (double)each / (double)(each - 1) : 1, factor, &v[9], &v[11]);
    }
    for (int64_t i = 0; i < n && good && (!op->given || op->variance); i++)
        d[i] = 1 / sqrt(d[i] + epsilon);
    if (good && !op->given && v[2].at)
        aw_dnn_blend(1, &mean, 0, &v[2]);
    if (good && !op->given && v[3].at)
        aw_dnn_blend(1, &inv, 0, &v[3]);
    if (good)
        apply(op, v, &mean, &inv);
    free(mean.at);
    free(inv.at);
    return !good;
}

int aw_dnn_norm_forward(const void *params, const struct aw_dnn_view *v)
{
    return spread(&(struct parts){ .norm = norm_forward, .op = params, .v = v, .n_views = AW_DNN_NORM_FORWARD_VIEWS,
                                   .scalars = 1u << 6 | 1u << 7 }); /* epsilon, factor */
}

/* ---- Gradients */

struct gradient {
    const struct aw_dnn_view *x, *dy, *scale;
    struct aw_dnn_view mean, inv, sum, product; /* of each statistic: dy scale, and that times x^ */
    struct aw_dnn_view dscale, dbias;
};

/* What a piece adds to the sums: dy scale, that times x^, and dy x^. */
struct added {
    double sum[AW_DNN_CHUNK], product[AW_DNN_CHUNK], dscale[AW_DNN_CHUNK];
};

AW_VECTORISED static void gradient_piece(const struct piece in[5], int64_t n, struct added *ret)
{
    const double *x = in[0].at, *dy = in[1].at, *mean = in[2].at, *inv = in[3].at, *scale = in[4].at;
    for (int64_t i = 0; i < n; i++) {
        double hat = (x[i] - mean[i]) * inv[i], scaled = dy[i] * scale[i];
        ret->sum[i] = scaled;
        ret->product[i] = scaled * hat;
        ret->dscale[i] = dy[i] * hat;
    }
}

/* All sums in one pass. */
static void gradient_sums(const struct gradient *g)
{
    const struct aw_dnn_view *const views[] = { g->x, g->dy, &g->mean, &g->inv, g->scale, &g->sum, &g->dscale };
    static const double absent[] = { 0, 0, 0, 1, 1 };
    struct piece in[5];
    struct added added;
    struct aw_dnn_walk w;
    if (!aw_dnn_walk_begin(&w, &g->x->s, 7, views))
        return;
    pieces_begin(5, views, absent, in);
    do {
        for (int64_t at = 0; at < w.row; at += AW_DNN_CHUNK) {
            int64_t n = piece_size(&w, at), stat = w.offset[5] + at * w.step[5], param = w.offset[6] + at * w.step[6];
            for (int k = 0; k < 5; k++)
                piece_load(&w, at, n, k, views[k], &in[k]);
            gradient_piece(in, n, &added);
            add((double *)g->sum.at + stat, w.step[5], added.sum, n);
            add((double *)g->product.at + stat, w.step[5], added.product, n);
            add((double *)g->dscale.at + param, w.step[6], added.dscale, n);
            add((double *)g->dbias.at + param, w.step[6], in[1].at, n);
        }
    } while (aw_dnn_walk_next(&w));
}

/* One piece of gradient_apply, into dx: pieces of dx, x, dy, mean, inv, scale, and of the means of the sums. */
AW_VECTORISED static void gradient_apply_piece(const struct aw_dnn_norm *op, const struct piece in[8], int64_t n, double *dx)
{
    const double *before = in[0].at, *x = in[1].at, *dy = in[2].at, *mean = in[3].at, *inv = in[4].at, *scale = in[5].at;
    const double *sum = in[6].at, *product = in[7].at, alpha = op->alpha, beta = op->beta;
    for (int64_t i = 0; i < n; i++) {
        double hat = (x[i] - mean[i]) * inv[i];
        dx[i] = alpha * (inv[i] * (dy[i] * scale[i] - sum[i] - hat * product[i])) + beta * before[i];
    }
}

/* With beta 0, dx is not read.  The sums become means. */
static void gradient_apply(const struct gradient *g, const struct aw_dnn_norm *op, const struct aw_dnn_view *dx)
{
    static const struct aw_dnn_view none;
    static const double absent[] = { 0, 0, 0, 0, 1, 1, 0, 0 };
    const struct aw_dnn_view *views[] = { dx, g->x, g->dy, &g->mean, &g->inv, g->scale, &g->sum, &g->product };
    int64_t stats = aw_dnn_count(&op->stats);
    int64_t each = stats ? aw_dnn_count(&g->x->s) / stats : 1; /* elements of each, a whole number */
    double *sum = g->sum.at, *product = g->product.at, out[AW_DNN_CHUNK];
    struct piece in[8];
    struct aw_dnn_walk w;
    if (!aw_dnn_walk_begin(&w, &dx->s, 8, views))
        return;
    for (int64_t i = 0; i < stats; i++) {
        sum[i] = op->centred ? sum[i] / (double)each : 0;
        product[i] /= (double)each;
    }
    if (op->beta == 0)
        views[0] = &none;
    pieces_begin(8, views, absent, in);
    do {
        for (int64_t at = 0; at < w.row; at += AW_DNN_CHUNK) {
            int64_t n = piece_size(&w, at);
            for (int k = 0; k < 8; k++)
                piece_load(&w, at, n, k, views[k], &in[k]);
            gradient_apply_piece(op, in, n, out);
            aw_dnn_store_d(dx, w.offset[0] + at * w.step[0], w.step[0], n, out);
        }
    } while (aw_dnn_walk_next(&w));
}

/* What comes through the activation: dy where y is above 0, into `to`. */
static void through_relu(const struct aw_dnn_view *dy, const struct aw_dnn_view *y, const struct aw_dnn_view *to)
{
    struct aw_dnn_pointwise op = aw_dnn_pointwise_init(AW_DNN_RELU_BWD);
    const struct aw_dnn_view views[] = { *to, *y, *dy };
    aw_dnn_pointwise(&op, views);
}

static int norm_backward(const struct aw_dnn_norm *op, const struct aw_dnn_view *v)
{
    const struct aw_dnn_shape *param = v[5].at ? &v[5].s : v[6].at ? &v[6].s : &op->stats;
    struct gradient g = { .x = &v[1], .dy = &v[2], .scale = &v[5] };
    struct aw_dnn_view through = { 0 };
    g.mean = sums_make(&op->stats);
    g.inv = sums_make(&op->stats);
    g.sum = sums_make(&op->stats);
    g.product = sums_make(&op->stats);
    g.dscale = sums_make(param);
    g.dbias = sums_make(param);
    bool good = g.mean.at && g.inv.at && g.sum.at && g.product.at && g.dscale.at && g.dbias.at;
    if (good && op->activation >= 0) {
        through = sums_make(&v[2].s);
        good = through.at;
        if (good)
            through_relu(&v[2], &v[10], &through);
        g.dy = &through;
    }
    if (good && v[11].at)
        aw_dnn_blend(1, g.dy, 0, &v[11]);
    if (good && v[4].at) {
        if (v[3].at)
            aw_dnn_blend(1, &v[3], 0, &g.mean);
        aw_dnn_blend(1, &v[4], 0, &g.inv);
    } else if (good) {
        double epsilon = scalar(&v[8], op->epsilon), *d = g.inv.at;
        statistics(&v[1], op->centred, &g.mean, &g.inv);
        for (int64_t i = 0; i < aw_dnn_count(&op->stats); i++)
            d[i] = 1 / sqrt(d[i] + epsilon);
    }
    if (good) {
        gradient_sums(&g);
        if (v[0].at)
            gradient_apply(&g, op, &v[0]);
        if (v[6].at)
            aw_dnn_blend(op->param_alpha, &g.dscale, op->param_beta, &v[6]);
        if (v[7].at)
            aw_dnn_blend(op->param_alpha, &g.dbias, op->param_beta, &v[7]);
    }
    free(g.mean.at);
    free(g.inv.at);
    free(g.sum.at);
    free(g.product.at);
    free(g.dscale.at);
    free(g.dbias.at);
    free(through.at);
    return !good;
}

int aw_dnn_norm_backward(const void *params, const struct aw_dnn_view *v)
{
    return spread(&(struct parts){ .norm = norm_backward, .op = params, .v = v, .n_views = AW_DNN_NORM_BACKWARD_VIEWS,
                                   .scalars = 1u << 8 }); /* epsilon */
}

/* ---- Norms of which the sums come from another node's end */

int aw_dnn_genstats(const void *params, const struct aw_dnn_view *v)
{
    struct aw_dnn_view sum = sums_make(&v[1].s), squares = sums_make(&v[1].s), none = sums_make(&v[1].s);
    bool good = sum.at && squares.at && none.at;
    if (good) {
        accumulate(&v[0], &none, &sum, false);
        accumulate(&v[0], &none, &squares, true);
        aw_dnn_blend(1, &sum, 0, &v[1]);
        aw_dnn_blend(1, &squares, 0, &v[2]);
    }
    free(sum.at);
    free(squares.at);
    free(none.at);
    return !good;
}

/* Sum, sum of squares, scale, bias, running mean, running variance; then what is written: running mean, running variance,
 * saved mean, saved inverse deviation, equivalent scale, equivalent bias; then the scalars count, epsilon, factor. */
int aw_dnn_bn_finalize(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_bn_finalize *op = params;
    double count = scalar(&v[12], 1), epsilon = scalar(&v[13], 0), factor = scalar(&v[14], 1);
    const struct aw_dnn_shape *s = v[2].at ? &v[2].s : &v[0].s;
    int64_t n = aw_dnn_count(s);
    struct aw_dnn_view t[6]; /* sums or running statistics, made mean and variance; scale, bias; equivalents */
    bool good = true;
    for (int i = 0; i < 6; i++) {
        t[i] = sums_make(s);
        good &= t[i].at != NULL;
    }
    double *mean = t[0].at, *inv = t[1].at, *scale = t[2].at, *bias = t[3].at;
    if (good) {
        for (int i = 0; i < 2; i++)
            aw_dnn_blend(op->inference ? 1 : 1 / count, &v[op->inference ? 4 + i : i], 0, &t[i]);
        for (int i = 2; i < 4; i++) {
            if (v[i].at)
                aw_dnn_blend(1, &v[i], 0, &t[i]);
            else
                aw_dnn_fill(&t[i], i == 2);
        }
        for (int64_t i = 0; i < n && !op->inference; i++)
            inv[i] = fmax(inv[i] - mean[i] * mean[i], 0);
        run_on(&t[0], 1, factor, &v[4], &v[6]);
        run_on(&t[1], count > 1 ? count / (count - 1) : 1, factor, &v[5], &v[7]);
        for (int64_t i = 0; i < n; i++) {
            inv[i] = 1 / sqrt(inv[i] + epsilon);
            ((double *)t[4].at)[i] = scale[i] * inv[i];
            ((double *)t[5].at)[i] = bias[i] - scale[i] * inv[i] * mean[i];
        }
        static const int from[] = { 0, 1, 4, 5 };
        for (int i = 0; i < 4; i++)
            if (v[8 + i].at)
                aw_dnn_blend(1, &t[from[i]], 0, &v[8 + i]);
    }
    for (int i = 0; i < 6; i++)
        free(t[i].at);
    return !good;
}
