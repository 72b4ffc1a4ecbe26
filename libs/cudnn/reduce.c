/* Reductions: see layers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "layers.h"

bool aw_dnn_reduce_valid(const struct aw_dnn_shape *x, const struct aw_dnn_shape *y)
{
    if (x->n != y->n)
        return false;
    for (int i = 0; i < x->n; i++)
        if (y->dim[i] < 1 || x->dim[i] % y->dim[i])
            return false;
    return true;
}

static double identity(cudnnReduceTensorOp_t op)
{
    switch (op) {
    case CUDNN_REDUCE_TENSOR_MUL:
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return 1;
    case CUDNN_REDUCE_TENSOR_MIN: return HUGE_VAL;
    case CUDNN_REDUCE_TENSOR_MAX: return -HUGE_VAL;
    default: return 0;
    }
}

/* Is `x` the new extreme beside `old`? */
static bool beats(const struct aw_dnn_reduce *r, double x, double old)
{
    if (x != x)
        return !r->skip_nan && old == old;
    return r->op == CUDNN_REDUCE_TENSOR_MIN ? x < old : x > old;
}

static double step(const struct aw_dnn_reduce *r, double sum, double x)
{
    switch (r->op) {
    case CUDNN_REDUCE_TENSOR_ADD:
    case CUDNN_REDUCE_TENSOR_AVG: return sum + x;
    case CUDNN_REDUCE_TENSOR_MUL: return sum * x;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return x == 0 ? sum : sum * x;
    case CUDNN_REDUCE_TENSOR_MIN:
    case CUDNN_REDUCE_TENSOR_MAX: return beats(r, x, sum) ? x : sum;
    case CUDNN_REDUCE_TENSOR_AMAX: return x != x ? x : fabs(x) > sum ? fabs(x) : sum;
    case CUDNN_REDUCE_TENSOR_NORM1: return sum + fabs(x);
    case CUDNN_REDUCE_TENSOR_NORM2: return sum + x * x;
    }
    return sum;
}

/* x with each dimension that y has a part of in two: the place among parts, and y's; y so that it is repeated over the first.
 * 8 dimensions are enough as long as no more than that come of it. */
static bool split(const struct aw_dnn_view *x, const struct aw_dnn_view *y, struct aw_dnn_view *ret_x, struct aw_dnn_view *ret_y)
{
    int n = 0;
    *ret_x = *x;
    *ret_y = *y;
    for (int i = 0; i < x->s.n; i++) {
        int64_t parts = x->s.dim[i] / y->s.dim[i], size = y->s.dim[i];
        bool both = parts > 1 && size > 1;
        if (n + both >= AW_DNN_DIMS)
            return false;
        /* Neighbours fall into one part: query heads h * parts and so on share head h. */
        if (size > 1 || parts == 1) {
            ret_x->s.dim[n] = ret_y->s.dim[n] = size;
            ret_x->s.stride[n] = x->s.stride[i] * parts;
            ret_y->s.stride[n++] = y->s.stride[i];
        }
        if (parts > 1) {
            ret_x->s.dim[n] = parts;
            ret_x->s.stride[n] = x->s.stride[i];
            ret_y->s.dim[n] = 1;
            ret_y->s.stride[n++] = 0;
        }
    }
    ret_x->s.n = ret_y->s.n = n;
    return true;
}

/* One row of x into the sums. */
static void row(const struct aw_dnn_reduce *r, const struct aw_dnn_view *x, const struct aw_dnn_walk *w, double *sums)
{
    double in[AW_DNN_CHUNK];
    for (int64_t at = 0; at < w->row; at += AW_DNN_CHUNK) {
        int64_t n = w->row - at < AW_DNN_CHUNK ? w->row - at : AW_DNN_CHUNK;
        double *s = sums + w->offset[1] + at * w->step[1];
        aw_dnn_load_d(x, w->offset[0] + at * w->step[0], w->step[0], n, in);
        for (int64_t i = 0; i < n; i++)
            s[i * w->step[1]] = step(r, s[i * w->step[1]], in[i]);
    }
}

/* Where in the reduced dimensions, counted in row-major order, each extreme is: the first of several. */
static void find_indices(const struct aw_dnn_view *x, const struct aw_dnn_view *y, const double *sums, uint32_t *indices)
{
    int64_t at[AW_DNN_DIMS] = { 0 }, count = aw_dnn_count(&x->s), outputs = aw_dnn_count(&y->s);
    for (int64_t i = 0; i < outputs; i++)
        indices[i] = UINT32_MAX;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0, to = 0, index = 0;
        for (int d = 0; d < x->s.n; d++) {
            from += at[d] * x->s.stride[d];
            to = to * y->s.dim[d] + (y->s.dim[d] == 1 ? 0 : at[d]);
            index = y->s.dim[d] == 1 ? index * x->s.dim[d] + at[d] : index;
        }
        double value = aw_dnn_get(x, from);
        if (indices[to] == UINT32_MAX && (value == sums[to] || (value != value && sums[to] != sums[to])))
            indices[to] = (uint32_t)index;
        for (int d = x->s.n - 1; d >= 0 && ++at[d] == x->s.dim[d]; d--)
            at[d] = 0;
    }
}

int aw_dnn_reduce(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_reduce *r = params;
    int64_t outputs = aw_dnn_count(&v[0].s), count = aw_dnn_count(&v[1].s);
    struct aw_dnn_view sums = aw_dnn_dense_view(&v[0].s, CUDNN_DATA_DOUBLE, malloc((size_t)(outputs + 1) * sizeof(double))), x, y;
    const struct aw_dnn_view *const views[] = { &x, &y };
    struct aw_dnn_walk w;
    double *s = sums.at;
    if (!s || !split(&v[1], &sums, &x, &y)) {
        free(s);
        return 1;
    }
    for (int64_t i = 0; i < outputs; i++)
        s[i] = identity(r->op);
    if (aw_dnn_walk_begin(&w, &x.s, 2, views)) {
        do {
            row(r, &x, &w, s);
        } while (aw_dnn_walk_next(&w));
    }
    if (v[2].at)
        find_indices(&v[1], &v[0], s, v[2].at);
    int64_t each = outputs ? count / outputs : 1; /* elements of an output, a whole number */
    for (int64_t i = 0; i < outputs; i++)
        s[i] = r->op == CUDNN_REDUCE_TENSOR_NORM2 ? sqrt(s[i])
               : r->op == CUDNN_REDUCE_TENSOR_AVG ? s[i] / (double)each
                                                  : s[i];
    aw_dnn_blend(r->alpha, &sums, r->beta, &v[0]);
    free(s);
    return 0;
}
