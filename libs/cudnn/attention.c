/* Softmax with statistics, and masks: see attention.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include "attention.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"

/* Places in the dimensions before the last, in order. */
static bool next_row(const struct aw_dnn_shape *s, int64_t at[])
{
    for (int d = s->n - 2; d >= 0; d--) {
        if (++at[d] < s->dim[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* Where the row is in a tensor, which is repeated where it has size 1. */
static int64_t row_offset(const struct aw_dnn_view *v, const struct aw_dnn_shape *s, const int64_t at[])
{
    int64_t offset = 0;
    for (int d = 0; d < s->n - 1; d++) {
        int own = d - (s->n - v->s.n);
        if (own >= 0 && v->s.dim[own] != 1)
            offset += at[d] * v->s.stride[own];
    }
    return offset;
}

static void put_row(const struct aw_dnn_view *v, const struct aw_dnn_shape *s, const int64_t at[], double value)
{
    if (v->at)
        aw_dnn_put(v, row_offset(v, s, at), value);
}

/* One row in place: its maximum and its sum of exponents. */
static void softmax_row(double *row, int64_t n, const double *sink, double *ret_max, double *ret_sum)
{
    double max = sink ? *sink : -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < n; i++)
        max = row[i] > max || row[i] != row[i] ? row[i] : max;
    for (int64_t i = 0; i < n; i++) {
        row[i] = max == -HUGE_VAL ? 0 : exp(row[i] - max);
        sum += row[i];
    }
    if (sink && max != -HUGE_VAL)
        sum += exp(*sink - max);
    for (int64_t i = 0; i < n && sum != 0; i++)
        row[i] /= sum;
    *ret_max = max;
    *ret_sum = sum;
}

int aw_dnn_softmax_stats(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_shape *s = &v[0].s;
    int64_t at[AW_DNN_DIMS] = { 0 }, n = s->dim[s->n - 1];
    double *row = malloc((size_t)(n + 1) * sizeof *row), max, sum, sink;
    if (!row)
        return 1;
    do {
        aw_dnn_load_d(&v[1], row_offset(&v[1], s, at), v[1].s.stride[v[1].s.n - 1], n, row);
        if (v[5].at)
            sink = aw_dnn_get(&v[5], row_offset(&v[5], s, at));
        softmax_row(row, n, v[5].at ? &sink : NULL, &max, &sum);
        aw_dnn_store_d(&v[0], row_offset(&v[0], s, at), s->stride[s->n - 1], n, row);
        put_row(&v[2], s, at, max == -HUGE_VAL ? max : max + log(sum));
        put_row(&v[3], s, at, max);
        put_row(&v[4], s, at, sum);
    } while (next_row(s, at));
    free(row);
    return 0;
}

/* A batch's entry of a tensor, or `otherwise` where there is none. */
static double of_batch(const struct aw_dnn_view *v, int64_t batch, double otherwise)
{
    return v->at ? aw_dnn_get(v, v->s.n && v->s.dim[0] != 1 ? batch * v->s.stride[0] : 0) : otherwise;
}

int aw_dnn_length_mask(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_shape *s = &v[0].s;
    int64_t at[AW_DNN_DIMS] = { 0 }, n = s->dim[s->n - 1];
    double *row = malloc((size_t)(n + 1) * sizeof *row);
    if (!row)
        return 1;
    do {
        double queries = of_batch(&v[2], at[0], HUGE_VAL), keys = of_batch(&v[3], at[0], HUGE_VAL);
        aw_dnn_load_d(&v[1], row_offset(&v[1], s, at), v[1].s.stride[v[1].s.n - 1], n, row);
        for (int64_t i = 0; i < n; i++)
            if ((double)at[s->n - 2] >= queries || (double)i >= keys)
                row[i] = -HUGE_VAL;
        aw_dnn_store_d(&v[0], row_offset(&v[0], s, at), s->stride[s->n - 1], n, row);
    } while (next_row(s, at));
    free(row);
    return 0;
}

static bool compare(int mode, double a, double b)
{
    switch (mode) {
    case AW_DNN_CMP_EQ: return a == b;
    case AW_DNN_CMP_NEQ: return a != b;
    case AW_DNN_CMP_GT: return a > b;
    case AW_DNN_CMP_GE: return a >= b;
    case AW_DNN_CMP_LT: return a < b;
    default: return a <= b;
    }
}

int aw_dnn_band_mask(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_band_mask *m = params;
    const struct aw_dnn_shape *s = &v[0].s;
    int64_t at[AW_DNN_DIMS] = { 0 }, n = s->dim[s->n - 1];
    double *row = malloc((size_t)(n + 1) * sizeof *row), other = aw_dnn_get(&v[2], 0);
    if (!row)
        return 1;
    do {
        double keys = of_batch(&v[3], at[0], 0), queries = of_batch(&v[4], at[0], 0), query = (double)at[s->n - 2];
        double left = of_batch(&v[5], 0, 0), shift = of_batch(&v[6], 0, 0);
        aw_dnn_load_d(&v[1], row_offset(&v[1], s, at), v[1].s.stride[v[1].s.n - 1], n, row);
        for (int64_t key = 0; key < n; key++) {
            bool kept = v[5].at ? compare(m->mode, (double)key + left - keys + queries, query)
                                : compare(m->mode, query + keys - queries + shift, (double)key);
            if (!kept)
                row[key] = other;
        }
        aw_dnn_store_d(&v[0], row_offset(&v[0], s, at), s->stride[s->n - 1], n, row);
    } while (next_row(s, at));
    free(row);
    return 0;
}

/* One batch and head. */
static bool paged_rows(const struct aw_dnn_view *v, bool turned, int64_t batch, int64_t head, double *row)
{
    const struct aw_dnn_shape *y = &v[0].s, *cache = &v[1].s, *table = &v[2].s;
    int along = turned ? 3 : 2, across = turned ? 2 : 3;
    double length = of_batch(&v[3], batch, HUGE_VAL);
    for (int64_t s = 0; s < y->dim[along]; s++) {
        int64_t at = batch * y->stride[0] + head * y->stride[1] + s * y->stride[along], n = cache->dim[3];
        bool inside = (double)s < length;
        double page = inside ? aw_dnn_get(&v[2], batch * table->stride[0] + s / cache->dim[2] * table->stride[2]) : 0;
        if (!(page >= 0 && page < (double)cache->dim[0])) {
            aw_say(CUDNN_PAGE, page, (int)cache->dim[0]);
            return false;
        }
        if (inside)
            aw_dnn_load_d(&v[1],
                          (int64_t)page * cache->stride[0] + head * cache->stride[1] + s % cache->dim[2] * cache->stride[2],
                          cache->stride[3], n, row);
        for (int64_t i = 0; i < n && !inside; i++)
            row[i] = 0;
        aw_dnn_store_d(&v[0], at, y->stride[across], n, row);
    }
    return true;
}

int aw_dnn_paged_load(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_paged *p = params;
    double *row = malloc((size_t)v[1].s.dim[3] * sizeof *row);
    bool good = row;
    for (int64_t batch = 0; batch < v[0].s.dim[0] && good; batch++)
        for (int64_t head = 0; head < v[0].s.dim[1] && good; head++)
            good = paged_rows(v, p->turned, batch, head, row);
    free(row);
    return !good;
}
