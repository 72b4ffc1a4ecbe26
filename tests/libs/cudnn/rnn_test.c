/* Recurrent networks of cuDNN against a plain one in double: all cells, layers, directions, projections, clipping, sequences
 * of several lengths in all layouts; gradients against differences of the plain one.  Usage: rnn_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static cudnnHandle_t handle;

enum { MOST = 4096 };
#define FILL 0.5 /* behind the ends of sequences */

struct net {
    int cell, bias, dirs, layers, input, hidden, out, steps, batch, gates, layout, clip;
    int lengths[4];
    long weights;
    long matrix[8][9], vector[8][9]; /* of layer and direction, gate: places in the weights, -1: none */
};

struct data {
    double x[MOST], y[MOST], hx[MOST], cx[MOST], hy[MOST], cy[MOST], w[MOST];
};

static double sigmoid(double v)
{
    return 1 / (1 + exp(-v));
}

/* bias + W a + R b of one gate's element. */
static double gate(const struct net *n, const double *w, int pseudo, int id, int row, const double *a, int size, int with_bias)
{
    double sum = with_bias && n->vector[pseudo][id] >= 0 ? w[n->vector[pseudo][id] + row] : 0;
    for (int i = 0; i < size; i++)
        sum += w[n->matrix[pseudo][id] + (long)row * size + i] * a[i];
    return sum;
}

/* A cell where it is used, as cuDNN has it: the bounds are floats, and what is kept is not clipped. */
static double clipped(const struct net *n, double c)
{
    return n->clip ? fmin(0.5f, fmax(-0.4f, c)) : c;
}

/* y: steps x batch x (dirs out). */
static void plain(const struct net *n, const struct data *in, struct data *out)
{
    static double layer_in[MOST], layer_out[MOST];
    int size = n->input, wide = n->dirs * n->out;
    memcpy(layer_in, in->x, sizeof layer_in);
    for (int layer = 0; layer < n->layers; layer++) {
        memset(layer_out, 0, sizeof layer_out);
        for (int d = 0; d < n->dirs; d++)
            for (int b = 0; b < n->batch; b++) {
                int p = layer * n->dirs + d, g = n->gates;
                double h[16], c[16] = { 0 }, fresh[16], inner[16];
                memcpy(h, in->hx + ((long)p * n->batch + b) * n->out, (size_t)n->out * sizeof *h);
                memcpy(c, in->cx + ((long)p * n->batch + b) * n->hidden, (size_t)n->hidden * sizeof *c);
                for (int s = 0; s < n->lengths[b]; s++) {
                    int t = d ? n->lengths[b] - 1 - s : s;
                    const double *x = layer_in + ((long)t * n->batch + b) * size;
                    for (int i = 0; i < n->hidden; i++) {
                        double v[4], r[4];
                        for (int k = 0; k < g; k++) {
                            v[k] = gate(n, in->w, p, k, i, x, size, 1);
                            r[k] = gate(n, in->w, p, g + k, i, h, n->out, 1);
                        }
                        if (n->cell == CUDNN_LSTM) {
                            c[i] = sigmoid(v[1] + r[1]) * clipped(n, c[i]) + sigmoid(v[0] + r[0]) * tanh(v[2] + r[2]);
                            inner[i] = sigmoid(v[3] + r[3]) * tanh(clipped(n, c[i]));
                        } else if (n->cell == CUDNN_GRU) {
                            double z = sigmoid(v[1] + r[1]);
                            inner[i] = (1 - z) * tanh(v[2] + sigmoid(v[0] + r[0]) * r[2]) + z * h[i];
                        } else {
                            inner[i] = n->cell == CUDNN_RNN_TANH ? tanh(v[0] + r[0]) : fmax(0, v[0] + r[0]);
                        }
                    }
                    for (int i = 0; i < n->out; i++)
                        fresh[i] = n->out == n->hidden ? inner[i] : gate(n, in->w, p, 2 * g, i, inner, n->hidden, 0);
                    memcpy(h, fresh, sizeof h);
                    memcpy(layer_out + ((long)t * n->batch + b) * wide + d * n->out, h, (size_t)n->out * sizeof *h);
                }
                memcpy(out->hy + ((long)p * n->batch + b) * n->out, h, (size_t)n->out * sizeof *h);
                memcpy(out->cy + ((long)p * n->batch + b) * n->hidden, c, (size_t)n->hidden * sizeof *c);
            }
        memcpy(layer_in, layer_out, sizeof layer_in);
        size = wide;
    }
    memcpy(out->y, layer_out, sizeof layer_out);
}

/* ---- Device data in a layout */

static long rows_of(const struct net *n)
{
    long rows = 0;
    for (int b = 0; b < n->batch; b++)
        rows += n->lengths[b];
    return n->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED ? rows : (long)n->steps * n->batch;
}

/* Where step t of sequence b is; -1: nowhere. */
static long row_of(const struct net *n, int t, int b)
{
    if (n->layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED)
        return (long)t * n->batch + b;
    if (n->layout == CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED)
        return (long)b * n->steps + t;
    long at = 0;
    for (int s = 0; s < t; s++)
        for (int k = 0; k < n->batch; k++)
            at += s < n->lengths[k];
    return t < n->lengths[b] ? at + b : -1;
}

static void *upload(const double *from, long n, int type)
{
    void *host = malloc((size_t)n * size_of(type) + 8), *device;
    for (long i = 0; i < n; i++)
        put(type, host, i, from[i]);
    cudaMalloc(&device, (size_t)n * size_of(type) + 8);
    cudaMemcpy(device, host, (size_t)n * size_of(type), 1);
    free(host);
    return device;
}

static void *upload_rows(const struct net *n, const double *from, int size, int type)
{
    double *rows = calloc((size_t)(rows_of(n) * size), sizeof *rows);
    for (int t = 0; t < n->steps; t++)
        for (int b = 0; b < n->batch; b++)
            if (row_of(n, t, b) >= 0)
                memcpy(rows + row_of(n, t, b) * size, from + ((long)t * n->batch + b) * size, (size_t)size * sizeof *rows);
    void *device = upload(rows, rows_of(n) * size, type);
    free(rows);
    return device;
}

static void compare(const void *device, const double *want, long n, int type, const char *what, const char *of)
{
    char *host = malloc((size_t)n * size_of(type) + 8);
    double worst = 0, scale = 1;
    long at = 0;
    cudaMemcpy(host, device, (size_t)n * size_of(type), 2);
    for (long i = 0; i < n; i++) {
        double off = fabs(get(type, host, i) - want[i]);
        if (!(off <= worst)) worst = off, at = i;
        scale = fmax(scale, fabs(want[i]));
    }
    check(worst <= (type == CUDNN_DATA_DOUBLE  ? 1e-9
                    : type == CUDNN_DATA_FLOAT ? 1e-5
                                               : 1e-2) *
                       scale,
          "%s: %s is off by %g of %g: [%ld] is %g", what, of, worst, scale, at, get(type, host, at));
    free(host);
}

/* Rows of all sequences; what is behind them must be `fill`. */
static void compare_rows(const struct net *n, const void *device, const double *want, int size, int type, double fill,
                         const char *what, const char *of)
{
    double *rows = malloc((size_t)(rows_of(n) * size) * sizeof *rows);
    for (long i = 0; i < rows_of(n) * size; i++)
        rows[i] = fill;
    for (int t = 0; t < n->steps; t++)
        for (int b = 0; b < n->batch; b++)
            if (t < n->lengths[b])
                memcpy(rows + row_of(n, t, b) * size, want + ((long)t * n->batch + b) * size, (size_t)size * sizeof *rows);
    compare(device, rows, rows_of(n) * size, type, what, of);
    free(rows);
}

/* ---- Gradients by differences */

static double loss(const struct net *n, const struct data *in, const struct data *weight)
{
    static struct data out;
    double sum = 0;
    plain(n, in, &out);
    for (long i = 0; i < (long)n->steps * n->batch * n->dirs * n->out; i++)
        sum += out.y[i] * weight->y[i];
    for (long i = 0; i < (long)n->layers * n->dirs * n->batch * n->out; i++)
        sum += out.hy[i] * weight->hy[i];
    for (long i = 0; n->cell == CUDNN_LSTM && i < (long)n->layers * n->dirs * n->batch * n->hidden; i++)
        sum += out.cy[i] * weight->cy[i];
    return sum;
}

static void differences(const struct net *n, struct data *in, const struct data *weight, double *of, long count, double *ret)
{
    for (long i = 0; i < count; i++) {
        double keep = of[i], low, high;
        of[i] = keep + 1e-6;
        high = loss(n, in, weight);
        of[i] = keep - 1e-6;
        low = loss(n, in, weight);
        of[i] = keep;
        ret[i] = (high - low) / 2e-6;
    }
}

static void compare_gradient(const void *device, const double *want, long n, int type, const char *what, const char *of)
{
    char *host = malloc((size_t)n * size_of(type) + 8);
    double worst = 0, scale = 1;
    long at = 0;
    cudaMemcpy(host, device, (size_t)n * size_of(type), 2);
    for (long i = 0; i < n; i++) {
        double off = fabs(get(type, host, i) - want[i]);
        if (!(off <= worst)) worst = off, at = i;
        scale = fmax(scale, fabs(want[i]));
    }
    check(worst <= (type == CUDNN_DATA_DOUBLE ? 1e-6 : 1e-4) * scale, "%s: %s is off by %g of %g: [%ld] is %g", what, of, worst,
          scale, at, get(type, host, at));
    free(host);
}

static void gradients(struct net *n, struct data *in, cudnnRNNDescriptor_t rnn, cudnnRNNDataDescriptor_t xd,
                      cudnnRNNDataDescriptor_t yd, cudnnTensorDescriptor_t hd, cudnnTensorDescriptor_t cd, void *w, size_t wsize,
                      void *x, void *y, void *hx, void *cx, size_t work, void *space, void *reserve, size_t rsize, int type,
                      const char *what)
{
    static struct data weight, want;
    long ny = (long)n->steps * n->batch * n->dirs * n->out, nx = (long)n->steps * n->batch * n->input,
         pseudo = (long)n->layers * n->dirs * n->batch;
    for (long i = 0; i < MOST; i++)
        weight.y[i] = any(), weight.hy[i] = any(), weight.cy[i] = any();
    void *dy = upload_rows(n, weight.y, n->dirs * n->out, type), *dhy = upload(weight.hy, pseudo * n->out, type),
         *dcy = upload(weight.cy, pseudo * n->hidden, type);
    void *dx = upload(weight.x, nx, type), *dhx = upload(weight.x, pseudo * n->out, type),
         *dcx = upload(weight.x, pseudo * n->hidden, type);
    for (long i = 0; i < n->weights; i++)
        want.w[i] = any();
    void *dw = upload(want.w, n->weights, type);
    static double old[MOST], dwant[MOST];
    memcpy(old, want.w, sizeof old);
    (void)ny;
    int status = cudnnRNNBackwardData_v8(handle, rnn, NULL, yd, y, dy, xd, dx, hd, hx, dhy, dhx, cd, cx, dcy, dcx, wsize, w,
                                         work, space, rsize, reserve);
    check(status == 0, "%s: data's gradient: status %d", what, status);
    status = cudnnRNNBackwardWeights_v8(handle, rnn, CUDNN_WGRAD_MODE_ADD, NULL, xd, x, hd, hx, yd, y, wsize, dw, work,
                                        space, rsize, reserve);
    check(status == 0, "%s: weights' gradient: status %d", what, status);
    cudaDeviceSynchronize();
    differences(n, in, &weight, in->x, nx, want.x);
    double *rows = malloc((size_t)(rows_of(n) * n->input) * sizeof *rows);
    for (long i = 0; i < rows_of(n) * n->input; i++)
        rows[i] = FILL;
    for (int t = 0; t < n->steps; t++)
        for (int b = 0; b < n->batch; b++)
            if (t < n->lengths[b])
                memcpy(rows + row_of(n, t, b) * n->input, want.x + ((long)t * n->batch + b) * n->input,
                       (size_t)n->input * sizeof *rows);
    compare_gradient(dx, rows, rows_of(n) * n->input, type, what, "dx");
    free(rows);
    differences(n, in, &weight, in->hx, pseudo * n->out, dwant);
    compare_gradient(dhx, dwant, pseudo * n->out, type, what, "dhx");
    if (n->cell == CUDNN_LSTM) {
        differences(n, in, &weight, in->cx, pseudo * n->hidden, dwant);
        compare_gradient(dcx, dwant, pseudo * n->hidden, type, what, "dcx");
    }
    differences(n, in, &weight, in->w, n->weights, dwant);
    for (long i = 0; i < n->weights; i++)
        dwant[i] += old[i];
    compare_gradient(dw, dwant, n->weights, type, what, "dw");
    cudaFree(dy), cudaFree(dhy), cudaFree(dcy), cudaFree(dx), cudaFree(dhx), cudaFree(dcx), cudaFree(dw);
}

/* ---- One network */

/* Where the library has each matrix; they must fill the space and not overlap. */
static void places(struct net *n, cudnnRNNDescriptor_t rnn, int type, size_t size, const char *what)
{
    cudnnTensorDescriptor_t m, b;
    long covered = 0;
    n->weights = (long)(size / size_of(type));
    char *seen = calloc((size_t)n->weights + 1, 1), *base;
    cudaMalloc((void **)&base, size + 8);
    cudnnCreateTensorDescriptor(&m);
    cudnnCreateTensorDescriptor(&b);
    for (int p = 0; p < n->layers * n->dirs; p++)
        for (int id = 0; id < 2 * n->gates + (n->out != n->hidden); id++) {
            void *at[2];
            int dims[2], dim[2][3], stride[3];
            cudnnDataType_t t;
            check(cudnnGetRNNWeightParams(handle, rnn, p, size, base, id, m, &at[0], b, &at[1]) == 0, "%s: place %d %d", what, p,
                  id);
            void *alone = NULL; /* either may be asked for without the other */
            check(cudnnGetRNNWeightParams(handle, rnn, p, size, base, id, m, &alone, NULL, NULL) == 0 && alone == at[0] &&
                      cudnnGetRNNWeightParams(handle, rnn, p, size, base, id, NULL, NULL, b, &alone) == 0 && alone == at[1],
                  "%s: place %d %d alone", what, p, id);
            cudnnGetTensorNdDescriptor(m, 3, &t, &dims[0], dim[0], stride);
            cudnnGetTensorNdDescriptor(b, 3, &t, &dims[1], dim[1], stride);
            for (int k = 0; k < 2; k++) {
                long *place = k ? &n->vector[p][id] : &n->matrix[p][id];
                int none = dims[k] == 0 || (k && (n->bias == CUDNN_RNN_NO_BIAS || id == 2 * n->gates ||
                                                  (n->bias == CUDNN_RNN_SINGLE_INP_BIAS && id >= n->gates)));
                check(none == (dims[k] == 0), "%s: part %d of gate %d", what, k, id);
                *place = dims[k] ? ((char *)at[k] - base) / (long)size_of(type) : -1;
                for (long i = 0; dims[k] && i < (long)dim[k][1] * dim[k][2]; i++, covered++)
                    check(*place + i < n->weights && !seen[*place + i]++, "%s: weights overlap at %ld", what, *place + i);
            }
        }
    check(covered == n->weights, "%s: %ld of %ld weights have a place", what, covered, n->weights);
    cudnnDestroyTensorDescriptor(m);
    cudnnDestroyTensorDescriptor(b);
    cudaFree(base);
    free(seen);
}

static void network(struct net n, int type, int training)
{
    static struct data in, out;
    char what[160];
    cudnnRNNDescriptor_t rnn;
    cudnnRNNDataDescriptor_t xd, yd;
    cudnnTensorDescriptor_t hd, cd;
    size_t wsize, work, rsize;
    double fill = FILL;
    char filler[8];
    put(type, filler, 0, fill);
    n.gates = n.cell == CUDNN_LSTM ? 4 : n.cell == CUDNN_GRU ? 3 : 1;
    snprintf(what, sizeof what, "cell %d bias %d dirs %d layers %d out %d of %d layout %d type %d clip %d", n.cell, n.bias,
             n.dirs, n.layers, n.out, n.hidden, n.layout, type, n.clip);
    cudnnCreateRNNDescriptor(&rnn);
    cudnnCreateRNNDataDescriptor(&xd);
    cudnnCreateRNNDataDescriptor(&yd);
    cudnnCreateTensorDescriptor(&hd);
    cudnnCreateTensorDescriptor(&cd);
    check(cudnnSetRNNDescriptor_v8(rnn, CUDNN_RNN_ALGO_STANDARD, n.cell, n.bias,
                                   n.dirs == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type,
                                   type == CUDNN_DATA_DOUBLE ? type : CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, n.input, n.hidden,
                                   n.out, n.layers, NULL, 1) == 0,
          "%s: descriptor", what);
    if (n.clip)
        check(cudnnRNNSetClip_v9(rnn, CUDNN_RNN_CLIP_MINMAX, -0.4, 0.5) == 0, "%s: clip", what);
    check(cudnnSetRNNDataDescriptor(xd, type, n.layout, n.steps, n.batch, n.input, n.lengths, filler) == 0, "%s: x", what);
    check(cudnnSetRNNDataDescriptor(yd, type, n.layout, n.steps, n.batch, n.dirs * n.out, n.lengths, filler) == 0, "%s: y", what);
    /* As torch has them, with dimensions of 1 behind. */
    int hdim[] = { n.layers * n.dirs, n.batch, n.out, 1, 1 }, cdim[] = { n.layers * n.dirs, n.batch, n.hidden };
    int hstride[] = { n.batch * n.out, n.out, 1, 1, 1 }, cstride[] = { n.batch * n.hidden, n.hidden, 1 };
    cudnnSetTensorNdDescriptor(hd, type, 5, hdim, hstride);
    cudnnSetTensorNdDescriptor(cd, type, 3, cdim, cstride);
    check(cudnnGetRNNWeightSpaceSize(handle, rnn, &wsize) == 0, "%s: weights", what);
    check(cudnnGetRNNTempSpaceSizes(handle, rnn, training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, xd, &work,
                                    &rsize) == 0,
          "%s: spaces", what);
    places(&n, rnn, type, wsize, what);
    for (long i = 0; i < MOST; i++)
        in.x[i] = any() / 2, in.hx[i] = any() / 2, in.cx[i] = any() / 2, in.w[i] = any() / 4;
    long pseudo = (long)n.layers * n.dirs * n.batch;
    void *x = upload_rows(&n, in.x, n.input, type), *w = upload(in.w, n.weights, type), *hx = upload(in.hx, pseudo * n.out, type);
    void *cx = upload(in.cx, pseudo * n.hidden, type), *hy = upload(in.y, pseudo * n.out, type),
         *cy = upload(in.y, pseudo * n.hidden, type);
    void *y = upload(in.y, (long)n.steps * n.batch * n.dirs * n.out, type), *reserve = NULL, *space = NULL;
    cudaMalloc(&reserve, rsize + 8);
    cudaMalloc(&space, work + 8);
    int status = cudnnRNNForward(handle, rnn, training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, NULL, xd, x, yd, y,
                                 hd, hx, hy, cd, cx, cy, wsize, w, work, space, rsize, training ? reserve : NULL);
    check(status == 0, "%s: forward: status %d", what, status);
    cudaDeviceSynchronize();
    plain(&n, &in, &out);
    compare_rows(&n, y, out.y, n.dirs * n.out, type, fill, what, "y");
    compare(hy, out.hy, pseudo * n.out, type, what, "hy");
    if (n.cell == CUDNN_LSTM)
        compare(cy, out.cy, pseudo * n.hidden, type, what, "cy");
    if (training)
        gradients(&n, &in, rnn, xd, yd, hd, cd, w, wsize, x, y, hx, cx, work, space, reserve, rsize, type, what);
    cudaFree(x), cudaFree(w), cudaFree(hx), cudaFree(cx), cudaFree(hy), cudaFree(cy), cudaFree(y), cudaFree(reserve),
        cudaFree(space);
    cudnnDestroyRNNDescriptor(rnn);
    cudnnDestroyRNNDataDescriptor(xd);
    cudnnDestroyRNNDataDescriptor(yd);
    cudnnDestroyTensorDescriptor(hd);
    cudnnDestroyTensorDescriptor(cd);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    struct net n = { .bias = CUDNN_RNN_DOUBLE_BIAS,
                     .dirs = 1,
                     .layers = 1,
                     .input = 3,
                     .hidden = 4,
                     .out = 4,
                     .steps = 4,
                     .batch = 3,
                     .lengths = { 4, 3, 1 } };
    check(cudnnCreate(&handle) == 0, "create");
    for (n.cell = 0; n.cell <= CUDNN_GRU; n.cell++) {
        n.layout = n.cell % 3;
        network(n, quick ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE, 1);
        if (quick)
            continue;
        n.dirs = n.layers = 2;
        for (n.layout = 0; n.layout < 3; n.layout++)
            network(n, CUDNN_DATA_DOUBLE, 1);
        n.layout = 0;
        for (n.bias = 0; n.bias < 4; n.bias++)
            network(n, CUDNN_DATA_FLOAT, n.bias != CUDNN_RNN_SINGLE_REC_BIAS);
        n.bias = CUDNN_RNN_DOUBLE_BIAS;
        network(n, CUDNN_DATA_FLOAT, 0);
        network(n, CUDNN_DATA_HALF, 0);
        n.dirs = n.layers = 1;
    }
    n.cell = CUDNN_LSTM;
    n.dirs = n.layers = 2;
    n.out = 2;
    network(n, quick ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE, 1);
    n.out = 4;
    n.clip = 1;
    network(n, CUDNN_DATA_DOUBLE, 1);
    cudnnDestroy(handle);
    return done();
}
