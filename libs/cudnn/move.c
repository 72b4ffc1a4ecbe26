/* What only moves elements: see layers.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "layers.h"

int aw_dnn_copy(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_move *m = params;
    aw_dnn_blend(m->alpha, &v[1], m->beta, &v[0]);
    return 0;
}

int aw_dnn_reshape(const void *params, const struct aw_dnn_view *v)
{
    cudnnDataType_t type = aw_dnn_type_wide(v[1].s.type) ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    void *owned, *at = aw_dnn_dense(&v[1], type, true, &owned);
    if (!at)
        return 1;
    struct aw_dnn_view from = aw_dnn_dense_view(&v[0].s, type, at);
    aw_dnn_blend(1, &from, 0, &v[0]);
    free(owned);
    return 0;
}

/* All of a tensor without gaps as one row. */
static struct aw_dnn_view flat(const struct aw_dnn_view *v)
{
    struct aw_dnn_view f = { .s = { .type = v->s.type, .n = 1, .dim = { aw_dnn_count(&v->s) }, .stride = { 1 } }, .at = v->at };
    return f;
}

int aw_dnn_view_as(const void *params, const struct aw_dnn_view *v)
{
    struct aw_dnn_view y = flat(&v[0]), x = flat(&v[1]);
    aw_dnn_blend(1, &x, 0, &y);
    return 0;
}

bool aw_dnn_permutation(const struct aw_dnn_shape *x, const struct aw_dnn_shape *y, int ret_at[])
{
    unsigned taken = 0;
    for (int i = 0; i < y->n; i++) {
        ret_at[i] = -1;
        for (int k = 0; k < x->n && ret_at[i] < 0; k++)
            if (!(taken >> k & 1) && x->dim[k] == y->dim[i] && x->stride[k] == y->stride[i])
                ret_at[i] = k;
        if (ret_at[i] < 0)
            return false;
        taken |= 1u << ret_at[i];
    }
    return x->n == y->n;
}

int aw_dnn_transpose(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_move *m = params;
    struct aw_dnn_view x = v[1];
    for (int i = 0; i < x.s.n; i++) {
        x.s.dim[i] = v[1].s.dim[m->at[i]];
        x.s.stride[i] = v[1].s.stride[m->at[i]];
    }
    aw_dnn_blend(1, &x, 0, &v[0]);
    return 0;
}

int aw_dnn_slice(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_move *m = params;
    struct aw_dnn_view x = v[1];
    int64_t offset = 0;
    for (int i = 0; i < x.s.n; i++) {
        offset += m->begin[i] * x.s.stride[i];
        x.s.dim[i] = v[0].s.dim[i];
        x.s.stride[i] *= m->step[i];
    }
    x = aw_dnn_later(x, offset);
    aw_dnn_blend(1, &x, 0, &v[0]);
    return 0;
}

int aw_dnn_concat(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_move *m = params;
    int64_t at = 0;
    for (int i = 1; i <= m->n; i++) {
        struct aw_dnn_view y = aw_dnn_part(v[0], m->axis, at, v[i].s.dim[m->axis]);
        at += v[i].s.dim[m->axis];
        if (y.at != v[i].at) /* one input may be its part of the output already */
            aw_dnn_blend(1, &v[i], 0, &y);
    }
    return 0;
}
