/* Matrix products: see matmul.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matmul.h"

#include <stdlib.h>
#include <string.h>

#include "onednn.h"

bool aw_dnn_matmul_valid(const struct aw_dnn_shape *a, const struct aw_dnn_shape *b, const struct aw_dnn_shape *c)
{
    if (a->n < 2 || b->n != a->n || c->n != a->n)
        return false;
    int last = a->n - 1;
    for (int i = 0; i < last - 1; i++)
        if (a->dim[i] < 1 || b->dim[i] < 1 || c->dim[i] % a->dim[i] || c->dim[i] % b->dim[i])
            return false;
    return a->dim[last - 1] == c->dim[last - 1] && b->dim[last] == c->dim[last] && a->dim[last] == b->dim[last - 1];
}

#define PLAIN(name, real)                                                                                                     \
    static void name(int64_t m, int64_t n, int64_t k, const real *a, const int64_t as[2], const real *b, const int64_t bs[2], \
                     real *c)                                                                                                 \
    {                                                                                                                         \
        for (int64_t i = 0; i < m; i++) {                                                                                     \
            memset(c + i * n, 0, (size_t)n * sizeof *c);                                                                      \
            for (int64_t p = 0; p < k; p++) {                                                                                 \
                real x = a[i * as[0] + p * as[1]];                                                                            \
                for (int64_t j = 0; j < n; j++)                                                                               \
                    c[i * n + j] += x * b[p * bs[0] + j * bs[1]];                                                             \
            }                                                                                                                 \
        }                                                                                                                     \
    }
PLAIN(plain_f, float)
PLAIN(plain_d, double)

/* Is it a row-major matrix with a leading dimension, or (trans) one stored transposed? */
static bool blas_form(const int64_t stride[2], int64_t rows, int64_t cols, bool *ret_trans, int64_t *ret_ld)
{
    *ret_trans = stride[1] != 1 && cols != 1;
    *ret_ld = stride[*ret_trans ? 1 : 0];
    if (*ret_trans ? rows == 1 || stride[0] == 1 : true) {
        int64_t least = *ret_trans ? rows : cols;
        if ((*ret_trans ? cols : rows) == 1 && *ret_ld < least)
            *ret_ld = least;
        return *ret_ld >= least;
    }
    return false;
}

/* Products below this many steps are not worth the library's call. */
enum { TINY = 512 };

void aw_dnn_product_f(int64_t m, int64_t n, int64_t k, const float *a, const int64_t a_stride[2], const float *b,
                      const int64_t b_stride[2], float *c)
{
    bool ta, tb;
    int64_t lda, ldb;
    if (m * n * k >= TINY && blas_form(a_stride, m, k, &ta, &lda) && blas_form(b_stride, k, n, &tb, &ldb) &&
        aw_onednn_product(ta, tb, m, n, k, a, lda, b, ldb, c, n))
        return;
    plain_f(m, n, k, a, a_stride, b, b_stride, c);
}

struct product {
    cudnnDataType_t type; /* float or double */
    int64_t m, n, k;
    const struct aw_dnn_view *a, *b, *c; /* a, b of `type` */
    void *out;                           /* m x n */
};

/* Where the matrix of batch `at` of C is in an operand, whose own batches are repeated. */
static int64_t batch_offset(const struct aw_dnn_view *v, const struct aw_dnn_shape *c, const int64_t at[])
{
    int64_t offset = 0;
    for (int d = 0; d < c->n - 2; d++)
        offset += at[d] / (c->dim[d] / v->s.dim[d]) * v->s.stride[d];
    return offset;
}

/* What lies outside of sizes of this batch. */
static void pad(const struct product *p, int64_t m, int64_t n, double value)
{
    struct aw_dnn_view out = { .s = { .type = p->type }, .at = p->out };
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = i < m ? n : 0; j < p->n; j++)
            aw_dnn_put(&out, i * p->n + j, value);
}

static void one(const struct product *p, const struct aw_dnn_matmul *op, const int64_t at[], const struct aw_dnn_view sizes[])
{
    const struct aw_dnn_shape *c = &p->c->s;
    int last = c->n - 1;
    int64_t size[3] = { p->m, p->n, p->k };
    bool cut = false;
    for (int i = 0; i < 3; i++)
        if (sizes[i].at) {
            int64_t s = (int64_t)aw_dnn_get(&sizes[i], at[0] * sizes[i].s.stride[0]);
            size[i] = s < 0 ? 0 : s < size[i] ? s : size[i];
            cut = true;
        }
    const int64_t as[2] = { p->a->s.stride[last - 1], p->a->s.stride[last] },
                  bs[2] = { p->b->s.stride[op->transpose_b ? last : last - 1],
                            p->b->s.stride[op->transpose_b ? last - 1 : last] };
    int64_t a = batch_offset(p->a, c, at), b = batch_offset(p->b, c, at);
    if (p->type == CUDNN_DATA_DOUBLE)
        plain_d(p->m, p->n, size[2], (double *)p->a->at + a, as, (double *)p->b->at + b, bs, p->out);
    else
        aw_dnn_product_f(p->m, p->n, size[2], (float *)p->a->at + a, as, (float *)p->b->at + b, bs, p->out);
    if (cut)
        pad(p, size[0], size[1], op->padding);
    struct aw_dnn_view from = { .s = { .type = p->type, .n = 2, .dim = { p->m, p->n }, .stride = { p->n, 1 } }, .at = p->out };
    struct aw_dnn_view to = {
        .s = { .type = c->type, .n = 2, .dim = { p->m, p->n }, .stride = { c->stride[last - 1], c->stride[last] } }
    };
    int64_t to_at = batch_offset(p->c, c, at);
    unsigned bits = aw_dnn_type_bits(c->type);
    to.at = (char *)p->c->at + to_at * bits / 8;
    aw_dnn_blend(1, &from, 0, &to);
}

int aw_dnn_matmul(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_shape *c = &v[2].s;
    bool wide = aw_dnn_sum_wide(v[0].s.type, v[1].s.type, v[0].s.dim[c->n - 1]) || aw_dnn_type_wide(c->type);
    struct product p = { wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT,
                         c->dim[c->n - 2],
                         c->dim[c->n - 1],
                         v[0].s.dim[c->n - 1],
                         &v[0],
                         &v[1],
                         &v[2],
                         NULL };
    struct aw_dnn_view dense[2];
    void *owned[2] = { NULL };
    int64_t batches = 1, at[AW_DNN_DIMS] = { 0 };
    bool good = true;
    for (int i = 0; i < 2; i++) {
        if (v[i].s.type == p.type)
            continue;
        dense[i] = aw_dnn_dense_view(&v[i].s, p.type, NULL);
        dense[i].at = aw_dnn_dense(&v[i], p.type, true, &owned[i]);
        good &= dense[i].at != NULL;
        *(i ? &p.b : &p.a) = &dense[i];
    }
    p.out = malloc((size_t)(p.m * p.n + 1) * sizeof(double));
    good &= p.out != NULL;
    for (int d = 0; d < c->n - 2; d++)
        batches *= c->dim[d];
    for (int64_t i = 0; i < batches && good && p.m && p.n; i++) {
        one(&p, params, at, &v[3]);
        for (int d = c->n - 3; d >= 0 && ++at[d] == c->dim[d]; d--)
            at[d] = 0;
    }
    free(p.out);
    free(owned[0]);
    free(owned[1]);
    return !good;
}
