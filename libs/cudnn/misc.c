/* Dropout, local response norm and spatial transformers in the v7-style interface. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn_proto.h"
#include "handle.h"

/* ---- Dropout.  The states are two words of the program's device memory, the seed and the number of draws; a call's mask is
 * its reserve space, a byte for each element. */

enum { STATES = 2 };

static const struct aw_dnn_shape states_shape = { .type = CUDNN_DATA_INT64, .n = 1, .dim = { STATES }, .stride = { 1 } };

cudnnStatus_t awcudnn_cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t *size)
{
    AW_DNN_NEED(handle, size);
    *size = aw_dnn_bytes(&states_shape);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *size)
{
    if (!x || !x->s.n || !size)
        return CUDNN_STATUS_BAD_PARAM;
    *size = (size_t)aw_dnn_count(&x->s);
    return CUDNN_STATUS_SUCCESS;
}

static int seed_kernel(const void *params, const struct aw_dnn_view *v)
{
    ((uint64_t *)v[0].at)[0] = *(const unsigned long long *)params;
    ((uint64_t *)v[0].at)[1] = 0;
    return 0;
}

cudnnStatus_t awcudnn_cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float rate, void *states,
                                                    size_t size, unsigned long long seed)
{
    AW_DNN_NEED(handle, d && rate >= 0 && rate <= 1);
    if (states && size < aw_dnn_bytes(&states_shape))
        return CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT;
    *d = (struct cudnnDropoutStruct){ rate, states, size, seed };
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t awcudnn_cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float rate, void *states,
                                                size_t size, unsigned long long seed)
{
    cudnnStatus_t status = awcudnn_cudnnRestoreDropoutDescriptor(d, handle, rate, states, size, seed);
    if (status != CUDNN_STATUS_SUCCESS || !states)
        return status;
    return AW_DNN_RUN(handle, seed_kernel, seed, { &states_shape, states, AW_LIB_OUT });
}

cudnnStatus_t awcudnn_cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float *rate, void **states,
                                                unsigned long long *seed)
{
    AW_DNN_NEED(handle, d && rate && states && seed);
    *rate = d->rate;
    *states = d->states;
    *seed = d->seed;
    return CUDNN_STATUS_SUCCESS;
}

struct dropout {
    double rate;
    bool backward;
};

/* y, x, mask, states. */
static int dropout_kernel(const void *params, const struct aw_dnn_view *v)
{
    const struct dropout *d = params;
    int64_t at[AW_DNN_DIMS] = { 0 }, count = aw_dnn_count(&v[0].s);
    uint64_t *states = v[3].at;
    uint8_t *mask = v[2].at;
    double scale = d->rate < 1 ? 1 / (1 - d->rate) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0, to = 0;
        for (int k = 0; k < v[0].s.n; k++) {
            from += at[k] * v[1].s.stride[k];
            to += at[k] * v[0].s.stride[k];
        }
        if (!d->backward)
            mask[i] = d->rate <= 0 || (states && aw_dnn_uniform(states[0], states[1], (uint64_t)i) >= d->rate);
        aw_dnn_put(&v[0], to, mask[i] ? aw_dnn_get(&v[1], from) * scale : 0);
        for (int k = v[0].s.n - 1; k >= 0 && ++at[k] == v[0].s.dim[k]; k--)
            at[k] = 0;
    }
    if (!d->backward && states)
        states[1]++;
    return 0;
}

static cudnnStatus_t dropout(cudnnHandle_t handle, cudnnDropoutDescriptor_t d, bool backward, cudnnTensorDescriptor_t x_desc,
                             const void *x, cudnnTensorDescriptor_t y_desc, void *y, void *reserve, size_t size)
{
    AW_DNN_NEED(handle, d && x_desc && x && y_desc && y && reserve && aw_dnn_same_dims(&x_desc->s, &y_desc->s) &&
                            size >= (size_t)aw_dnn_count(&x_desc->s) && (backward || d->rate <= 0 || d->states));
    struct dropout p = { (double)d->rate, backward };
    struct aw_dnn_shape mask = { .type = CUDNN_DATA_UINT8, .n = 1, .dim = { aw_dnn_count(&x_desc->s) }, .stride = { 1 } };
    return AW_DNN_RUN(handle, dropout_kernel, p, AW_DNN_MADE(y_desc, y, 0), AW_DNN_GIVEN(x_desc, x),
                      { &mask, reserve, backward ? AW_LIB_IN : AW_LIB_OUT },
                      { backward ? NULL : &states_shape, backward ? NULL : d->states, AW_LIB_IN | AW_LIB_OUT });
}

cudnnStatus_t awcudnn_cudnnDropoutForward(cudnnHandle_t handle, cudnnDropoutDescriptor_t d, cudnnTensorDescriptor_t x_desc,
                                          const void *x, cudnnTensorDescriptor_t y_desc, void *y, void *reserve, size_t size)
{
    return dropout(handle, d, false, x_desc, x, y_desc, y, reserve, size);
}

cudnnStatus_t awcudnn_cudnnDropoutBackward(cudnnHandle_t handle, cudnnDropoutDescriptor_t d, cudnnTensorDescriptor_t dy_desc,
                                           const void *dy, cudnnTensorDescriptor_t dx_desc, void *dx, void *reserve, size_t size)
{
    return dropout(handle, d, true, dy_desc, dy, dx_desc, dx, reserve, size);
}

/* ---- Local response norm: y = x (k + alpha / n * sum of x^2 over n channels around)^-beta */

struct lrn {
    int n;
    double alpha, beta, k, y_alpha, y_beta;
};

/* Channels around c that count: from *ret_low to *ret_high. */
static void around(const struct lrn *p, int64_t c, int64_t channels, int64_t *ret_low, int64_t *ret_high)
{
    int64_t behind = (p->n - 1) / 2, low = c - behind, high = c + p->n - behind - 1;
    *ret_low = low < 0 ? 0 : low;
    *ret_high = high >= channels ? channels - 1 : high;
}

/* One place's channels, `step` apart in tensors without gaps; dy NULL: the norm itself. */
static void lrn_place(const struct lrn *p, int64_t channels, int64_t step, const double *x, const double *dy, double *out,
                      double *sums)
{
    int64_t low, high;
    for (int64_t c = 0; c < channels; c++) {
        around(p, c, channels, &low, &high);
        sums[c] = p->k;
        for (int64_t i = low; i <= high; i++)
            sums[c] += p->alpha / p->n * x[i * step] * x[i * step];
        out[c * step] = (dy ? dy : x)[c * step] * pow(sums[c], -p->beta);
    }
    for (int64_t j = 0; j < channels && dy; j++) {
        double through = dy[j * step] * x[j * step] * pow(sums[j], -p->beta - 1);
        around(p, j, channels, &low, &high);
        for (int64_t i = low; i <= high; i++)
            out[i * step] -= 2 * p->alpha / p->n * p->beta * x[i * step] * through;
    }
}

/* out, x, dy (absent: the norm itself). */
static int lrn_kernel(const void *params, const struct aw_dnn_view *v)
{
    const struct lrn *p = params;
    int64_t channels = v[0].s.dim[1], step = 1;
    void *owned[2] = { NULL };
    for (int i = 2; i < v[0].s.n; i++)
        step *= v[0].s.dim[i];
    const double *x = aw_dnn_dense(&v[1], CUDNN_DATA_DOUBLE, true, &owned[0]);
    const double *dy = v[2].at ? aw_dnn_dense(&v[2], CUDNN_DATA_DOUBLE, true, &owned[1]) : NULL;
    double *out = malloc((size_t)(aw_dnn_count(&v[0].s) + channels + 1) * sizeof *out),
           *sums = out ? out + aw_dnn_count(&v[0].s) : NULL;
    bool good = x && out && (dy || !v[2].at);
    for (int64_t n = 0; n < v[0].s.dim[0] && good; n++)
        for (int64_t i = 0; i < step; i++) {
            int64_t at = n * channels * step + i;
            lrn_place(p, channels, step, x + at, dy ? dy + at : NULL, out + at, sums);
        }
    struct aw_dnn_view made = aw_dnn_dense_view(&v[0].s, CUDNN_DATA_DOUBLE, out);
    if (good)
        aw_dnn_blend(p->y_alpha, &made, p->y_beta, &v[0]);
    free(out);
    free(owned[0]);
    free(owned[1]);
    return !good;
}

static struct lrn lrn_params(const struct cudnnLRNStruct *d, const void *alpha, const void *beta, cudnnDataType_t type)
{
    static const struct cudnnLRNStruct fresh = { 5, 1e-4, 0.75, 2 };
    d = d->n ? d : &fresh;
    return (struct lrn){ (int)d->n, d->alpha, d->beta, d->k, aw_dnn_scale(alpha, type), aw_dnn_scale(beta, type) };
}

cudnnStatus_t awcudnn_cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t d, cudnnLRNMode_t mode,
                                                  const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
                                                  const void *beta, cudnnTensorDescriptor_t y_desc, void *y)
{
    AW_DNN_NEED(handle, d && mode == CUDNN_LRN_CROSS_CHANNEL_DIM1 && alpha && x_desc && x && beta && y_desc && y &&
                            x_desc->s.n >= 2 && aw_dnn_same_dims(&x_desc->s, &y_desc->s));
    struct lrn p = lrn_params(d, alpha, beta, x_desc->s.type);
    return AW_DNN_RUN(handle, lrn_kernel, p, AW_DNN_MADE(y_desc, y, p.y_beta), AW_DNN_GIVEN(x_desc, x));
}

cudnnStatus_t awcudnn_cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t d, cudnnLRNMode_t mode,
                                                   const void *alpha, cudnnTensorDescriptor_t y_desc, const void *y,
                                                   cudnnTensorDescriptor_t dy_desc, const void *dy,
                                                   cudnnTensorDescriptor_t x_desc, const void *x, const void *beta,
                                                   cudnnTensorDescriptor_t dx_desc, void *dx)
{
    AW_DNN_NEED(handle, d && mode == CUDNN_LRN_CROSS_CHANNEL_DIM1 && alpha && dy_desc && dy && x_desc && x && beta && dx_desc &&
                            dx && x_desc->s.n >= 2 && aw_dnn_same_dims(&x_desc->s, &dx_desc->s) &&
                            aw_dnn_same_dims(&dy_desc->s, &dx_desc->s));
    struct lrn p = lrn_params(d, alpha, beta, x_desc->s.type);
    return AW_DNN_RUN(handle, lrn_kernel, p, AW_DNN_MADE(dx_desc, dx, p.y_beta), AW_DNN_GIVEN(x_desc, x),
                      AW_DNN_GIVEN(dy_desc, dy));
}

/* ---- Spatial transformers: grids of places from -1 to 1, corners included, and bilinear samples at them, 0 outside. */

struct spatial {
    bool backward;
    double alpha, beta, grid_alpha, grid_beta;
};

static double coordinate(int64_t i, int64_t n)
{
    return n > 1 ? -1 + 2 * (double)i / (double)(n - 1) : -1;
}

/* theta, grid: N 2 3 and N H W 2; one is made of the other's gradient. */
static int grid_kernel(const void *params, const struct aw_dnn_view *v)
{
    const struct spatial *p = params;
    const struct aw_dnn_shape *g = &v[1].s;
    for (int64_t n = 0; n < g->dim[0]; n++) {
        double theta[6] = { 0 };
        for (int i = 0; i < 6 && !p->backward; i++)
            theta[i] = aw_dnn_get(&v[0], n * 6 + i);
        for (int64_t i = 0; i < g->dim[1] * g->dim[2]; i++) {
            const double place[] = { coordinate(i % g->dim[2], g->dim[2]), coordinate(i / g->dim[2], g->dim[1]), 1 };
            for (int k = 0; k < 2; k++) {
                int64_t at = (n * g->dim[1] * g->dim[2] + i) * 2 + k;
                double sum = 0;
                for (int j = 0; j < 3; j++) {
                    sum += theta[k * 3 + j] * place[j];
                    theta[k * 3 + j] += p->backward ? aw_dnn_get(&v[1], at) * place[j] : 0;
                }
                if (!p->backward)
                    aw_dnn_put(&v[1], at, sum);
            }
        }
        for (int i = 0; i < 6 && p->backward; i++)
            aw_dnn_put(&v[0], n * 6 + i, theta[i]);
    }
    return 0;
}

static cudnnStatus_t grid(cudnnHandle_t handle, const struct cudnnSpatialTransformerStruct *d, bool backward, const void *theta,
                          const void *g)
{
    struct spatial p = { .backward = backward };
    AW_DNN_NEED(handle, d && d->n && theta && g);
    struct aw_dnn_shape ts = { .type = d->type, .n = 3, .dim = { d->dim[0], 2, 3 } };
    struct aw_dnn_shape gs = { .type = d->type, .n = 4, .dim = { d->dim[0], d->dim[2], d->dim[3], 2 } };
    aw_dnn_pack(&ts);
    aw_dnn_pack(&gs);
    return AW_DNN_RUN(handle, grid_kernel, p, { &ts, theta, backward ? AW_LIB_OUT : AW_LIB_IN },
                      { &gs, g, backward ? AW_LIB_IN : AW_LIB_OUT });
}

cudnnStatus_t awcudnn_cudnnSpatialTfGridGeneratorForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t d,
                                                         const void *theta, void *g)
{
    return grid(handle, d, false, theta, g);
}

cudnnStatus_t awcudnn_cudnnSpatialTfGridGeneratorBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t d,
                                                          const void *dgrid, void *dtheta)
{
    return grid(handle, d, true, dtheta, dgrid);
}

/* A sample's four neighbours: where they are in a plane (-1: outside), their weights, and how these change with the place. */
struct sample {
    int64_t at[4];
    double weight[4], by_x[4], by_y[4];
};

static struct sample sample_at(double gx, double gy, int64_t h, int64_t w)
{
    struct sample s;
    double x = (gx + 1) / 2 * (double)(w - 1), y = (gy + 1) / 2 * (double)(h - 1), fx = floor(x), fy = floor(y);
    for (int k = 0; k < 4; k++) {
        double px = fx + (k & 1), py = fy + (k >> 1);
        bool inside = px >= 0 && py >= 0 && px < (double)w && py < (double)h;
        double wx = k & 1 ? x - fx : 1 - (x - fx), wy = k >> 1 ? y - fy : 1 - (y - fy);
        s.at[k] = inside ? (int64_t)py * w + (int64_t)px : -1;
        s.weight[k] = wx * wy;
        s.by_x[k] = (k & 1 ? 1 : -1) * wy * (double)(w - 1) / 2;
        s.by_y[k] = (k >> 1 ? 1 : -1) * wx * (double)(h - 1) / 2;
    }
    return s;
}

/* Tensors without gaps, in double. */
struct planes {
    int64_t n, c, h, w, oh, ow;
    const double *x, *grid, *dy;
    double *y, *dx, *dgrid;
};

static void sample_all(const struct planes *p)
{
    for (int64_t i = 0; i < p->n * p->oh * p->ow; i++) {
        struct sample s = sample_at(p->grid[2 * i], p->grid[2 * i + 1], p->h, p->w);
        int64_t n = i / (p->oh * p->ow), o = i % (p->oh * p->ow);
        for (int64_t c = 0; c < p->c; c++) {
            int64_t in = (n * p->c + c) * p->h * p->w, out = (n * p->c + c) * p->oh * p->ow + o;
            for (int k = 0; k < 4; k++) {
                if (s.at[k] < 0)
                    continue;
                if (p->y)
                    p->y[out] += s.weight[k] * p->x[in + s.at[k]];
                if (p->dx)
                    p->dx[in + s.at[k]] += s.weight[k] * p->dy[out];
                if (p->dgrid) {
                    p->dgrid[2 * i] += s.by_x[k] * p->x[in + s.at[k]] * p->dy[out];
                    p->dgrid[2 * i + 1] += s.by_y[k] * p->x[in + s.at[k]] * p->dy[out];
                }
            }
        }
    }
}

static double *zeroes(const struct aw_dnn_view *v)
{
    return v->at ? calloc((size_t)aw_dnn_count(&v->s) + 1, sizeof(double)) : NULL;
}

static void give_back(double alpha, double *made, double beta, const struct aw_dnn_view *to)
{
    struct aw_dnn_view from = aw_dnn_dense_view(&to->s, CUDNN_DATA_DOUBLE, made);
    if (made)
        aw_dnn_blend(alpha, &from, beta, to);
    free(made);
}

/* x, grid, y, dy, dx, dgrid. */
static int sampler_kernel(const void *params, const struct aw_dnn_view *v)
{
    const struct spatial *op = params;
    const struct aw_dnn_shape *x = &v[0].s, *out = v[2].at ? &v[2].s : &v[3].s;
    void *owned[3] = { NULL };
    struct planes p = { x->dim[0], x->dim[1], x->dim[2], x->dim[3], out->dim[2], out->dim[3] };
    p.x = aw_dnn_dense(&v[0], CUDNN_DATA_DOUBLE, true, &owned[0]);
    p.grid = aw_dnn_dense(&v[1], CUDNN_DATA_DOUBLE, true, &owned[1]);
    p.dy = v[3].at ? aw_dnn_dense(&v[3], CUDNN_DATA_DOUBLE, true, &owned[2]) : NULL;
    p.y = zeroes(&v[2]);
    p.dx = zeroes(&v[4]);
    p.dgrid = zeroes(&v[5]);
    bool good = p.x && p.grid && !p.dy == !v[3].at && !p.y == !v[2].at && !p.dx == !v[4].at && !p.dgrid == !v[5].at;
    if (good)
        sample_all(&p);
    give_back(op->alpha, good ? p.y : (free(p.y), NULL), op->beta, &v[2]);
    give_back(op->alpha, good ? p.dx : (free(p.dx), NULL), op->beta, &v[4]);
    give_back(op->grid_alpha, good ? p.dgrid : (free(p.dgrid), NULL), op->grid_beta, &v[5]);
    for (int i = 0; i < 3; i++)
        free(owned[i]);
    return !good;
}

static struct aw_dnn_shape grid_shape(const struct cudnnSpatialTransformerStruct *d)
{
    struct aw_dnn_shape s = { .type = d->type, .n = 4, .dim = { d->dim[0], d->dim[2], d->dim[3], 2 } };
    aw_dnn_pack(&s);
    return s;
}

static bool sampler_fits(const struct cudnnSpatialTransformerStruct *d, const struct aw_dnn_shape *x,
                         const struct aw_dnn_shape *y)
{
    return d->n == 4 && x->n == 4 && y->n == 4 && x->dim[0] == y->dim[0] && x->dim[1] == y->dim[1] && y->dim[0] == d->dim[0] &&
           y->dim[2] == d->dim[2] && y->dim[3] == d->dim[3];
}

cudnnStatus_t awcudnn_cudnnSpatialTfSamplerForward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t d, const void *alpha,
                                                   cudnnTensorDescriptor_t x_desc, const void *x, const void *g, const void *beta,
                                                   cudnnTensorDescriptor_t y_desc, void *y)
{
    AW_DNN_NEED(handle, d && alpha && x_desc && x && g && beta && y_desc && y && sampler_fits(d, &x_desc->s, &y_desc->s));
    struct spatial p = { .alpha = aw_dnn_scale(alpha, x_desc->s.type), .beta = aw_dnn_scale(beta, x_desc->s.type) };
    struct aw_dnn_shape gs = grid_shape(d);
    return AW_DNN_RUN(handle, sampler_kernel, p, AW_DNN_GIVEN(x_desc, x), { &gs, g, AW_LIB_IN }, AW_DNN_MADE(y_desc, y, p.beta));
}

cudnnStatus_t awcudnn_cudnnSpatialTfSamplerBackward(cudnnHandle_t handle, cudnnSpatialTransformerDescriptor_t d,
                                                    const void *alpha, cudnnTensorDescriptor_t x_desc, const void *x,
                                                    const void *beta, cudnnTensorDescriptor_t dx_desc, void *dx,
                                                    const void *alpha_grid, cudnnTensorDescriptor_t dy_desc, const void *dy,
                                                    const void *g, const void *beta_grid, void *dgrid)
{
    AW_DNN_NEED(handle, d && alpha && x_desc && x && beta && dx_desc && dx && alpha_grid && dy_desc && dy && g && beta_grid &&
                            dgrid && sampler_fits(d, &x_desc->s, &dy_desc->s) && aw_dnn_same_dims(&x_desc->s, &dx_desc->s));
    cudnnDataType_t type = x_desc->s.type;
    struct spatial p = { true, aw_dnn_scale(alpha, type), aw_dnn_scale(beta, type), aw_dnn_scale(alpha_grid, type),
                         aw_dnn_scale(beta_grid, type) };
    struct aw_dnn_shape gs = grid_shape(d);
    return AW_DNN_RUN(handle, sampler_kernel, p, AW_DNN_GIVEN(x_desc, x), { &gs, g, AW_LIB_IN }, { 0 }, AW_DNN_GIVEN(dy_desc, dy),
                      AW_DNN_MADE(dx_desc, dx, p.beta), { &gs, dgrid, AW_LIB_OUT | (p.grid_beta != 0 ? AW_LIB_IN : 0) });
}
