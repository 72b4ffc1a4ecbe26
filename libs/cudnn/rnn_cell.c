/* Recurrent networks' kernels: see rnn.h; rnn.inc has them for float and double. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "matmul.h"
#include "rnn.h"

static void product_d(int64_t m, int64_t n, int64_t k, const double *a, const int64_t as[2], const double *b, const int64_t bs[2],
                      double *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += a[i * as[0] + p * as[1]] * b[p * bs[0] + j * bs[1]];
            c[i * n + j] = sum;
        }
}

#define product_f aw_dnn_product_f
#define load_f aw_dnn_load_f
#define store_f aw_dnn_store_f
#define load_d aw_dnn_load_d
#define store_d aw_dnn_store_d

#define REAL float
#define TYPE CUDNN_DATA_FLOAT
#define F(name) name##f
#define NAME(name) name##_f
#include "rnn.inc"
#undef REAL
#undef TYPE
#undef F
#undef NAME

#define REAL double
#define TYPE CUDNN_DATA_DOUBLE
#define F(name) name
#define NAME(name) name##_d
#include "rnn.inc"
#undef REAL
#undef TYPE
#undef F
#undef NAME

int64_t aw_dnn_rnn_reserve(const struct aw_dnn_rnn *r)
{
    int64_t cells = (int64_t)r->steps * r->batch, slots = r->dirs * slots_f(r);
    return cells * r->input + slots + (r->layers - 1) * (2 * cells * r->dirs * r->out + slots);
}

int aw_dnn_rnn_forward(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_rnn *r = params;
    return r->type == CUDNN_DATA_DOUBLE ? forward_d(r, v) : forward_f(r, v);
}

int aw_dnn_rnn_backward_data(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_rnn *r = params;
    return r->type == CUDNN_DATA_DOUBLE ? backward_data_d(r, v) : backward_data_f(r, v);
}

int aw_dnn_rnn_backward_weights(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_rnn *r = params;
    return r->type == CUDNN_DATA_DOUBLE ? backward_weights_d(r, v) : backward_weights_f(r, v);
}
