/* Convolutions: see convolve.h.  oneDNN does what it can; the loops here do the rest, tap by tap over rows of the output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "convolve.h"

#include <stdlib.h>
#include <string.h>

#include "onednn.h"

bool aw_dnn_convolution_valid(const struct aw_dnn_convolution *c, const struct aw_dnn_shape *x, const struct aw_dnn_shape *w,
                              const struct aw_dnn_shape *y)
{
    if (c->n < 1 || c->n > AW_DNN_SPATIAL || x->n != c->n + 2 || w->n != x->n || y->n != x->n)
        return false;
    if (x->dim[0] != y->dim[0] || w->dim[0] != y->dim[1] || w->dim[1] < 1 || x->dim[1] % w->dim[1] ||
        y->dim[1] % (x->dim[1] / w->dim[1]))
        return false;
    for (int i = 0; i < c->n; i++) {
        int64_t reach = c->dilation[i] * (w->dim[i + 2] - 1) + 1, in = x->dim[i + 2] + c->pre[i] + c->post[i];
        if (c->stride[i] < 1 || c->dilation[i] < 1 || c->pre[i] < 0 || c->post[i] < 0 || w->dim[i + 2] < 1 || in < reach ||
            y->dim[i + 2] != (in - reach) / c->stride[i] + 1)
            return false;
    }
    return true;
}

/* ---- The loops.  Three spatial dimensions, those that are not there of size 1. */

struct loops {
    int64_t batch, groups, in, out; /* channels of a group */
    int64_t x[3], w[3], y[3];
    int64_t pre[3], stride[3], dilation[3];
};

static void loops_init(struct loops *l, const struct aw_dnn_convolution *c, const struct aw_dnn_shape *x,
                       const struct aw_dnn_shape *w, const struct aw_dnn_shape *y)
{
    l->batch = x->dim[0];
    l->in = w->dim[1];
    l->groups = x->dim[1] / w->dim[1];
    l->out = w->dim[0] / l->groups;
    for (int i = 0; i < 3; i++) {
        int from = i - (3 - c->n);
        l->x[i] = from < 0 ? 1 : x->dim[from + 2];
        l->w[i] = from < 0 ? 1 : w->dim[from + 2];
        l->y[i] = from < 0 ? 1 : y->dim[from + 2];
        l->pre[i] = from < 0 ? 0 : c->pre[from];
        l->stride[i] = from < 0 ? 1 : c->stride[from];
        l->dilation[i] = from < 0 ? 1 : c->dilation[from];
    }
}

/* The outputs of dimension `d` for which tap `k` is inside the input: from *ret_low to below *ret_high. */
static void taps(const struct loops *l, int d, int64_t k, int64_t *ret_low, int64_t *ret_high)
{
    int64_t shift = k * l->dilation[d] - l->pre[d], last = l->x[d] - 1 - shift;
    *ret_low = shift >= 0 ? 0 : (-shift + l->stride[d] - 1) / l->stride[d];
    *ret_high = last < 0 ? 0 : last / l->stride[d] + 1;
    if (*ret_high > l->y[d])
        *ret_high = l->y[d];
}

#define REAL float
#define NAME(name) name##_f
#include "convolve.inc"
#undef REAL
#undef NAME
#define REAL double
#define NAME(name) name##_d
#include "convolve.inc"
#undef REAL
#undef NAME

/* ---- Turned filters */

/* Copies a filter without gaps, turned round in its spatial dimensions; the other way is the same. */
static void flip(const struct aw_dnn_shape *w, size_t size, const char *from, char *to)
{
    int64_t outer = w->dim[0] * w->dim[1], taps = 1;
    for (int i = 2; i < w->n; i++)
        taps *= w->dim[i];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < taps; k++)
            memcpy(to + (size_t)(o * taps + taps - 1 - k) * size, from + (size_t)(o * taps + k) * size, size);
}

/* ---- The kernel */

/* A result that is written as it is: float in whatever layout, nothing to be added. */
static bool direct(const struct aw_dnn_convolution *c, const struct aw_dnn_view *v)
{
    for (int i = 0; i < 3; i++)
        if (v[i].s.type != CUDNN_DATA_FLOAT)
            return false;
    return c->alpha == 1 && c->beta == 0 && !c->flip;
}

static void loops_run(const struct aw_dnn_convolution *c, const struct aw_dnn_view d[], cudnnDataType_t type)
{
    struct loops l;
    loops_init(&l, c, &d[0].s, &d[1].s, &d[2].s);
    if (type == CUDNN_DATA_DOUBLE)
        convolve_d(c->kind, &l, d[0].at, d[1].at, d[2].at);
    else
        convolve_f(c->kind, &l, d[0].at, d[1].at, d[2].at);
}

int aw_dnn_convolve(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_convolution *c = params;
    const int written = c->kind == AW_DNN_FORWARD ? 2 : c->kind == AW_DNN_BACKWARD_DATA ? 0 : 1;
    bool wide = false, good = true;
    void *owned[3] = { NULL }, *result = NULL, *turned = NULL;
    struct aw_dnn_view d[3];
    if (direct(c, v) && aw_onednn_convolve(c->kind, c, &v[0], &v[1], &v[2]))
        return 0;
    /* Products of bytes are whole numbers, which programs expect to be summed as such. */
    int64_t terms = aw_dnn_count(&v[1].s) / (v[1].s.dim[0] ? v[1].s.dim[0] : 1);
    for (int i = 0; i < 3; i++)
        wide |= v[i].s.type == CUDNN_DATA_DOUBLE || aw_dnn_sum_wide(v[i].s.type, v[(i + 1) % 3].s.type, terms);
    cudnnDataType_t type = wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    for (int i = 0; i < 3; i++) {
        d[i] = aw_dnn_dense_view(&v[i].s, type, NULL);
        if (i == written)
            d[i].at = result = aligned_alloc(64, (aw_dnn_bytes(&d[i].s) + 127) & ~(size_t)63);
        else
            d[i].at = aw_dnn_dense(&v[i], type, true, &owned[i]);
        good &= d[i].at != NULL;
    }
    size_t size = wide ? sizeof(double) : sizeof(float);
    if (good && c->flip) {
        turned = malloc(aw_dnn_bytes(&d[1].s));
        good = turned;
        if (good && written != 1) {
            flip(&d[1].s, size, d[1].at, turned);
            d[1].at = turned;
        }
    }
    if (good) {
        if (wide || !aw_onednn_convolve(c->kind, c, &d[0], &d[1], &d[2])) {
            memset(result, 0, aw_dnn_bytes(&d[written].s));
            loops_run(c, d, type);
        }
        if (c->flip && written == 1) {
            flip(&d[1].s, size, d[1].at, turned);
            d[1].at = turned;
        }
        aw_dnn_blend(c->alpha, &d[written], c->beta, &v[written]);
    }
    for (int i = 0; i < 3; i++)
        free(owned[i]);
    free(result);
    free(turned);
    return !good;
}
