/* Softmax: see layers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "layers.h"

/* The tensors in double, as outer x reduced x inner: dimensions before `first`, from there to `last`, and after. */
struct grid {
    int64_t outer, reduced, inner;
};

static struct grid grid_of(const struct aw_dnn_softmax *s, const struct aw_dnn_shape *shape)
{
    struct grid g = { 1, 1, 1 };
    for (int i = 0; i < shape->n; i++)
        *(i < s->first ? &g.outer : i <= s->last ? &g.reduced : &g.inner) *= shape->dim[i];
    return g;
}

static void forward_one(const struct aw_dnn_softmax *s, int64_t n, int64_t step, const double *x, double *y)
{
    double max = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = x[i * step] > max || x[i * step] != x[i * step] ? x[i * step] : max;
    for (int64_t i = 0; i < n; i++)
        sum += y[i * step] = exp(x[i * step] - max);
    double log_sum = max + log(sum);
    for (int64_t i = 0; i < n; i++)
        y[i * step] = s->log ? x[i * step] - log_sum : y[i * step] / sum;
}

static void backward_one(const struct aw_dnn_softmax *s, int64_t n, int64_t step, const double *y, const double *dy, double *dx)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += s->log ? dy[i * step] : dy[i * step] * y[i * step];
    for (int64_t i = 0; i < n; i++)
        dx[i * step] = s->log ? dy[i * step] - exp(y[i * step]) * sum : y[i * step] * (dy[i * step] - sum);
}

/* out and one or two inputs. */
static int run(const struct aw_dnn_softmax *s, const struct aw_dnn_view *v, int inputs)
{
    void *owned[2] = { NULL }, *in[2] = { NULL };
    struct aw_dnn_view out = aw_dnn_dense_view(&v[0].s, CUDNN_DATA_DOUBLE,
                                               malloc((size_t)(aw_dnn_count(&v[0].s) + 1) * sizeof(double)));
    struct grid g = grid_of(s, &v[0].s);
    bool good = out.at;
    for (int i = 0; i < inputs; i++) {
        in[i] = aw_dnn_dense(&v[i + 1], CUDNN_DATA_DOUBLE, true, &owned[i]);
        good &= in[i] != NULL;
    }
    for (int64_t o = 0; o < g.outer && good; o++)
        for (int64_t i = 0; i < g.inner; i++) {
            int64_t at = o * g.reduced * g.inner + i;
            if (inputs == 1)
                forward_one(s, g.reduced, g.inner, (double *)in[0] + at, (double *)out.at + at);
            else
                backward_one(s, g.reduced, g.inner, (double *)in[0] + at, (double *)in[1] + at, (double *)out.at + at);
        }
    if (good)
        aw_dnn_blend(s->alpha, &out, s->beta, &v[0]);
    free(out.at);
    free(owned[0]);
    free(owned[1]);
    return !good;
}

int aw_dnn_softmax_forward(const void *params, const struct aw_dnn_view *v)
{
    return run(params, v, 1);
}

int aw_dnn_softmax_backward(const void *params, const struct aw_dnn_view *v)
{
    return run(params, v, 2);
}
