/* Random numbers by place: Philox 4x32-10 (Salmon et al., SC11) counts with the place and is keyed with the seed, so that a
 * gradient finds the numbers of the forward pass again.  cuDNN's own sequence is not documented; no program can count on it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "layers.h"

static void philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t n[4] = { (uint32_t)(b >> 32) ^ c[1] ^ k0, (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k1, (uint32_t)a };
        for (int i = 0; i < 4; i++)
            c[i] = n[i];
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

double aw_dnn_uniform(uint64_t seed, uint64_t offset, uint64_t index)
{
    uint32_t c[4] = { (uint32_t)(index >> 2), (uint32_t)(index >> 34), (uint32_t)offset, (uint32_t)(offset >> 32) };
    philox(c, (uint32_t)seed, (uint32_t)(seed >> 32));
    return c[index & 3] * 0x1p-32;
}

static double draw(const struct aw_dnn_random *r, uint64_t seed, uint64_t offset, uint64_t index)
{
    double u = aw_dnn_uniform(seed, offset, index);
    switch (r->distribution) {
    case 0: return u < r->a;
    case 1: return r->a + (r->b - r->a) * u;
    default: {
        double v = aw_dnn_uniform(seed, offset, index + (UINT64_C(1) << 63)); /* its own half of the sequence */
        return r->a + r->b * sqrt(-2 * log(1 - u)) * cos(6.28318530717958647693 * v);
    }
    }
}

static int64_t scalar(const struct aw_dnn_view *v, int64_t otherwise)
{
    return !v->at ? otherwise : v->s.type == CUDNN_DATA_INT64 ? *(const int64_t *)v->at : (int64_t)aw_dnn_get(v, 0);
}

int aw_dnn_random(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_random *r = params;
    uint64_t seed = (uint64_t)scalar(&v[1], r->seed), offset = (uint64_t)scalar(&v[2], 0);
    int64_t at[AW_DNN_DIMS] = { 0 }, count = aw_dnn_count(&v[0].s);
    for (int64_t i = 0; i < count; i++) {
        int64_t to = 0;
        for (int d = 0; d < v[0].s.n; d++)
            to += at[d] * v[0].s.stride[d];
        aw_dnn_put(&v[0], to, draw(r, seed, offset, (uint64_t)i));
        for (int d = v[0].s.n - 1; d >= 0 && ++at[d] == v[0].s.dim[d]; d--)
            at[d] = 0;
    }
    return 0;
}
