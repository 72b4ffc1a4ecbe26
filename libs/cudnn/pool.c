/* Pooling: see layers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "layers.h"

/* Sizes as three spatial dimensions, those that are not there of size 1. */
struct planes {
    int64_t planes, x[3], y[3], window[3], pre[3], stride[3];
};

static void planes_init(struct planes *p, const struct aw_dnn_pool *op, const struct aw_dnn_shape *x,
                        const struct aw_dnn_shape *y)
{
    p->planes = x->dim[0] * x->dim[1];
    for (int i = 0; i < 3; i++) {
        int from = i - (3 - op->n);
        p->x[i] = from < 0 ? 1 : x->dim[from + 2];
        p->y[i] = from < 0 ? 1 : y->dim[from + 2];
        p->window[i] = from < 0 ? 1 : op->window[from];
        p->pre[i] = from < 0 ? 0 : op->pre[from];
        p->stride[i] = from < 0 ? 1 : op->stride[from];
    }
}

/* One output's window, and the part of it that is inside the input. */
struct window {
    int64_t begin[3], low[3], high[3];
};

static struct window window_at(const struct planes *p, const int64_t at[3])
{
    struct window w;
    for (int i = 0; i < 3; i++) {
        w.begin[i] = at[i] * p->stride[i] - p->pre[i];
        w.low[i] = w.begin[i] < 0 ? 0 : w.begin[i];
        w.high[i] = w.begin[i] + p->window[i] < p->x[i] ? w.begin[i] + p->window[i] : p->x[i];
    }
    return w;
}

static int64_t size_of(const struct window *w)
{
    int64_t size = 1;
    for (int i = 0; i < 3; i++)
        size *= w->high[i] > w->low[i] ? w->high[i] - w->low[i] : 0;
    return size;
}

/* Where in the plane the maximum is, the first of several; -1: nowhere, all that would count is outside. */
static int64_t max_place(const struct aw_dnn_pool *op, const struct planes *p, const struct window *w, const double *x)
{
    int64_t best = -1;
    for (int64_t a = w->low[0]; a < w->high[0]; a++)
        for (int64_t b = w->low[1]; b < w->high[1]; b++)
            for (int64_t c = w->low[2]; c < w->high[2]; c++) {
                int64_t at = (a * p->x[1] + b) * p->x[2] + c;
                bool nan = x[at] != x[at];
                if (nan ? !op->skip_nan && (best < 0 || x[best] == x[best]) : best < 0 || x[at] > x[best])
                    best = at;
            }
    if (op->zero_pad && size_of(w) < p->window[0] * p->window[1] * p->window[2] && best >= 0 && x[best] < 0)
        best = -1;
    return best;
}

/* The place as an index in the window, as the program sees it; and back. */
static int64_t index_of(const struct planes *p, const struct window *w, int64_t place)
{
    int64_t c = place % p->x[2], b = place / p->x[2] % p->x[1], a = place / p->x[2] / p->x[1];
    return ((a - w->begin[0]) * p->window[1] + b - w->begin[1]) * p->window[2] + c - w->begin[2];
}

static int64_t place_of(const struct planes *p, const struct window *w, int64_t index)
{
    int64_t c = index % p->window[2] + w->begin[2], b = index / p->window[2] % p->window[1] + w->begin[1];
    int64_t a = index / p->window[2] / p->window[1] + w->begin[0];
    return a < 0 || b < 0 || c < 0 || a >= p->x[0] || b >= p->x[1] || c >= p->x[2] ? -1 : (a * p->x[1] + b) * p->x[2] + c;
}

static double divisor(const struct aw_dnn_pool *op, const struct planes *p, const struct window *w)
{
    int64_t inside = size_of(w);
    return (double)(op->mode == AW_DNN_POOL_MEAN ? p->window[0] * p->window[1] * p->window[2] : inside ? inside : 1);
}

static double mean_of(const struct planes *p, const struct window *w, const double *x)
{
    double sum = 0;
    for (int64_t a = w->low[0]; a < w->high[0]; a++)
        for (int64_t b = w->low[1]; b < w->high[1]; b++)
            for (int64_t c = w->low[2]; c < w->high[2]; c++)
                sum += x[(a * p->x[1] + b) * p->x[2] + c];
    return sum;
}

/* Over all planes and outputs: `each` works on one output, whose number in y is `out`. */
struct pass {
    const struct aw_dnn_pool *op;
    struct planes p;
    const double *x, *dy;
    double *y, *dx, *index; /* index is NULL where nobody wants it, or has it */
};

static void forward_one(const struct pass *s, const struct window *w, int64_t plane, int64_t out)
{
    const double *x = s->x + plane * s->p.x[0] * s->p.x[1] * s->p.x[2];
    if (s->op->mode != AW_DNN_POOL_MAX) {
        s->y[out] = mean_of(&s->p, w, x) / divisor(s->op, &s->p, w);
        return;
    }
    int64_t place = max_place(s->op, &s->p, w, x);
    s->y[out] = place >= 0 ? x[place] : s->op->zero_pad ? 0 : -__builtin_huge_val();
    if (s->index)
        s->index[out] = place >= 0 ? (double)index_of(&s->p, w, place) : 0;
}

static void backward_one(const struct pass *s, const struct window *w, int64_t plane, int64_t out)
{
    int64_t size = s->p.x[0] * s->p.x[1] * s->p.x[2];
    double *dx = s->dx + plane * size;
    if (s->op->mode == AW_DNN_POOL_MAX) {
        int64_t place = s->index ? place_of(&s->p, w, (int64_t)s->index[out]) : max_place(s->op, &s->p, w, s->x + plane * size);
        if (place >= 0)
            dx[place] += s->dy[out];
        return;
    }
    double part = s->dy[out] / divisor(s->op, &s->p, w);
    for (int64_t a = w->low[0]; a < w->high[0]; a++)
        for (int64_t b = w->low[1]; b < w->high[1]; b++)
            for (int64_t c = w->low[2]; c < w->high[2]; c++)
                dx[(a * s->p.x[1] + b) * s->p.x[2] + c] += part;
}

static void pass_run(const struct pass *s, void (*each)(const struct pass *, const struct window *, int64_t, int64_t))
{
    int64_t out = 0, at[3];
    for (int64_t plane = 0; plane < s->p.planes; plane++)
        for (at[0] = 0; at[0] < s->p.y[0]; at[0]++)
            for (at[1] = 0; at[1] < s->p.y[1]; at[1]++)
                for (at[2] = 0; at[2] < s->p.y[2]; at[2]++) {
                    struct window w = window_at(&s->p, at);
                    each(s, &w, plane, out++);
                }
}

static void *doubles(const struct aw_dnn_shape *s)
{
    return calloc((size_t)aw_dnn_count(s) + 1, sizeof(double));
}

int aw_dnn_pool_forward(const void *params, const struct aw_dnn_view *v)
{
    struct pass s = { .op = params };
    void *owned = NULL;
    planes_init(&s.p, s.op, &v[1].s, &v[0].s);
    s.x = aw_dnn_dense(&v[1], CUDNN_DATA_DOUBLE, true, &owned);
    s.y = doubles(&v[0].s);
    s.index = v[2].at ? doubles(&v[2].s) : NULL;
    bool good = s.x && s.y && (s.index || !v[2].at);
    if (good) {
        pass_run(&s, forward_one);
        struct aw_dnn_view y = aw_dnn_dense_view(&v[0].s, CUDNN_DATA_DOUBLE, s.y);
        aw_dnn_blend(s.op->alpha, &y, s.op->beta, &v[0]);
        if (s.index) {
            struct aw_dnn_view index = aw_dnn_dense_view(&v[2].s, CUDNN_DATA_DOUBLE, s.index);
            aw_dnn_blend(1, &index, 0, &v[2]);
        }
    }
    free(owned);
    free(s.y);
    free(s.index);
    return !good;
}

int aw_dnn_pool_backward(const void *params, const struct aw_dnn_view *v)
{
    struct pass s = { .op = params };
    void *owned[3] = { NULL };
    planes_init(&s.p, s.op, &v[0].s, &v[1].s);
    s.dx = doubles(&v[0].s);
    s.dy = aw_dnn_dense(&v[1], CUDNN_DATA_DOUBLE, true, &owned[0]);
    if (v[2].at)
        s.x = aw_dnn_dense(&v[2], CUDNN_DATA_DOUBLE, true, &owned[1]);
    if (v[4].at)
        s.index = aw_dnn_dense(&v[4], CUDNN_DATA_DOUBLE, true, &owned[2]);
    bool good = s.dx && s.dy && (s.x || !v[2].at) && (s.index || !v[4].at);
    if (good) {
        pass_run(&s, backward_one);
        struct aw_dnn_view dx = aw_dnn_dense_view(&v[0].s, CUDNN_DATA_DOUBLE, s.dx);
        aw_dnn_blend(s.op->alpha, &dx, s.op->beta, &v[0]);
    }
    free(s.dx);
    for (int i = 0; i < 3; i++)
        free(owned[i]);
    return !good;
}
