/* The layers of cuDNN's v7-style interface against plain loops in double: convolution in all three directions, pooling,
 * softmax, activation, tensor operations, reductions, batch norm.  Usage: layer_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static cudnnHandle_t handle;
static void *room; /* on the device, for functions that want workspace */
enum { ROOM = 1 << 26 };

/* ---- Convolution */

struct geometry {
    int n, groups, flip;
    int x[5], w[5]; /* N C ..., K C/groups ... */
    int pad[3], stride[3], dilation[3];
};

/* Calls `tap` for each product of the convolution. */
static void each_tap(const struct geometry *g, const int y[5], void (*tap)(long x, long w, long y, void *user), void *user)
{
    int x3[3] = { 1, 1, 1 }, w3[3] = { 1, 1, 1 }, y3[3] = { 1, 1, 1 }, p[3] = { 0 }, s[3] = { 1, 1, 1 }, l[3] = { 1, 1, 1 };
    for (int i = 0; i < g->n; i++) {
        x3[i] = g->x[i + 2], w3[i] = g->w[i + 2], y3[i] = y[i + 2];
        p[i] = g->pad[i], s[i] = g->stride[i], l[i] = g->dilation[i];
    }
    long taps = (long)w3[0] * w3[1] * w3[2], xs = (long)x3[0] * x3[1] * x3[2], ys = (long)y3[0] * y3[1] * y3[2];
    int per = g->w[0] / g->groups;
    for (int b = 0; b < y[0]; b++)
        for (int k = 0; k < y[1]; k++)
            for (long o = 0; o < ys; o++)
                for (int c = 0; c < g->w[1]; c++)
                    for (long t = 0; t < taps; t++) {
                        long at[3] = { o / y3[2] / y3[1], o / y3[2] % y3[1], o % y3[2] };
                        long k3[3] = { t / w3[2] / w3[1], t / w3[2] % w3[1], t % w3[2] };
                        int inside = 1;
                        for (int i = 0; i < 3; i++) {
                            long reach = g->flip ? w3[i] - 1 - k3[i] : k3[i];
                            at[i] = at[i] * s[i] - p[i] + reach * l[i];
                            inside &= at[i] >= 0 && at[i] < x3[i];
                        }
                        long channel = (long)(k / per) * g->w[1] + c;
                        if (inside)
                            tap((b * (long)g->x[1] + channel) * xs + (at[0] * x3[1] + at[1]) * x3[2] + at[2],
                                ((long)k * g->w[1] + c) * taps + t, (b * (long)y[1] + k) * ys + o, user);
                    }
}

struct sums {
    double *x, *w, *y, *out;
};

static void tap_y(long x, long w, long y, void *user)
{
    struct sums *s = user;
    s->out[y] += s->x[x] * s->w[w];
}
static void tap_x(long x, long w, long y, void *user)
{
    struct sums *s = user;
    s->out[x] += s->y[y] * s->w[w];
}
static void tap_w(long x, long w, long y, void *user)
{
    struct sums *s = user;
    s->out[w] += s->y[y] * s->x[x];
}

static void convolution(const struct geometry *g, int type, int layout, double alpha, double beta)
{
    cudnnConvolutionDescriptor_t conv;
    cudnnFilterDescriptor_t filter;
    int y[5], dims = g->n + 2;
    char what[160];
    snprintf(what, sizeof what, "convolution %dd type %d layout %d groups %d stride %d dilation %d flip %d x %dx%dx%d w %dx%d",
             g->n, type, layout, g->groups, g->stride[0], g->dilation[0], g->flip, g->x[0], g->x[1], g->x[2], g->w[0], g->w[2]);
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnCreateFilterDescriptor(&filter);
    cudnnSetConvolutionNdDescriptor(conv, g->n, g->pad, g->stride, g->dilation,
                                    g->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                                    type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(conv, g->groups);
    cudnnSetFilterNdDescriptor(filter, type, layout == CHANNELS_LAST ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, dims, g->w);
    struct tensor x = tensor_make(type, layout, dims, g->x),
                  w = tensor_make(type, layout == CHANNELS_LAST ? CHANNELS_LAST : ROWS, dims, g->w);
    check(cudnnGetConvolutionNdForwardOutputDim(conv, x.desc, filter, dims, y) == 0, "%s: sizes", what);
    struct tensor r = tensor_make(type, layout, dims, y);
    const void *a = scalar(type, alpha), *b = scalar(type, beta);
    for (int kind = 0; kind < 3; kind++) {
        struct tensor *out = kind == 0 ? &r : kind == 1 ? &x : &w;
        struct sums s = { x.want, w.want, r.want, calloc((size_t)out->count, sizeof(double)) };
        each_tap(g, y, kind == 0 ? tap_y : kind == 1 ? tap_x : tap_w, &s);
        int status = kind == 0   ? cudnnConvolutionForward(handle, a, x.desc, x.device, filter, w.device, conv, 1, room, ROOM, b,
                                                           r.desc, r.device)
                     : kind == 1 ? cudnnConvolutionBackwardData(handle, a, filter, w.device, r.desc, r.device, conv, 1, room,
                                                                ROOM, b, x.desc, x.device)
                                 : cudnnConvolutionBackwardFilter(handle, a, x.desc, x.device, r.desc, r.device, conv, 1, room,
                                                                  ROOM, b, filter, w.device);
        check(status == 0, "%s: direction %d: status %d", what, kind, status);
        blend(out, s.out, alpha, beta);
        char all[200];
        snprintf(all, sizeof all, "%s: direction %d", what, kind);
        tensor_is(out, all);
        /* The next direction begins with what is there now, scaled down so that it does not grow. */
        for (long i = 0; i < out->count; i++)
            out->want[i] = fmod(out->want[i], 2);
        tensor_put(out);
        free(s.out);
    }
    tensor_drop(&x);
    tensor_drop(&w);
    tensor_drop(&r);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroyFilterDescriptor(filter);
}

static void convolutions(int quick)
{
    static const struct geometry all[] = {
        { 2, 1, 0, { 2, 3, 8, 9 }, { 4, 3, 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },
        { 2, 2, 0, { 2, 4, 9, 7 }, { 6, 2, 3, 2 }, { 2, 0 }, { 2, 3 }, { 1, 2 } },
        { 2, 4, 1, { 1, 4, 6, 6 }, { 4, 1, 3, 3 }, { 1, 2 }, { 1, 2 }, { 2, 1 } },
        { 2, 1, 1, { 1, 2, 5, 5 }, { 3, 2, 5, 5 }, { 4, 4 }, { 1, 1 }, { 1, 1 } },
        { 2, 1, 0, { 3, 16, 7, 7 }, { 32, 16, 1, 1 }, { 0, 0 }, { 1, 1 }, { 1, 1 } },
        { 1, 1, 0, { 2, 3, 17 }, { 5, 3, 4 }, { 2 }, { 3 }, { 2 } },
        { 3, 1, 0, { 1, 2, 5, 6, 4 }, { 3, 2, 2, 3, 2 }, { 1, 0, 1 }, { 2, 1, 1 }, { 1, 2, 1 } },
        { 3, 2, 1, { 2, 4, 4, 4, 4 }, { 2, 2, 3, 3, 3 }, { 1, 1, 1 }, { 1, 1, 2 }, { 1, 1, 1 } },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        convolution(&all[i], CUDNN_DATA_FLOAT, ROWS, 1, 0);
        if (quick && i > 1)
            continue;
        convolution(&all[i], CUDNN_DATA_FLOAT, CHANNELS_LAST, 1, 0);
        convolution(&all[i], CUDNN_DATA_FLOAT, GAPS, 0.5, -2);
        convolution(&all[i], CUDNN_DATA_DOUBLE, ROWS, 2, 0.25);
        convolution(&all[i], CUDNN_DATA_HALF, CHANNELS_LAST, 1, 0);
        convolution(&all[i], CUDNN_DATA_BFLOAT16, ROWS, 1, 1);
    }
}

/* Sums of bytes' products are whole numbers, also where float has not all of them: 1200 times 127 times 127 and 1. */
static void bytes(void)
{
    enum { C = 1201 };
    signed char x[C], w[C];
    int y = 0;
    void *at[3];
    cudnnTensorDescriptor_t xd, yd;
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    float one = 1, zero = 0;
    memset(x, 127, sizeof x), memset(w, 127, sizeof w);
    x[0] = w[0] = 1;
    cudnnCreateTensorDescriptor(&xd), cudnnCreateTensorDescriptor(&yd);
    cudnnCreateFilterDescriptor(&filter), cudnnCreateConvolutionDescriptor(&conv);
    cudnnSetTensor4dDescriptor(xd, CUDNN_TENSOR_NHWC, CUDNN_DATA_INT8, 1, C, 1, 1);
    cudnnSetTensor4dDescriptor(yd, CUDNN_TENSOR_NHWC, CUDNN_DATA_INT32, 1, 1, 1, 1);
    cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_INT8, CUDNN_TENSOR_NHWC, 1, C, 1, 1);
    cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_INT32);
    cudaMalloc(&at[0], C), cudaMalloc(&at[1], C), cudaMalloc(&at[2], 4);
    cudaMemcpy(at[0], x, C, 1), cudaMemcpy(at[1], w, C, 1);
    check(cudnnConvolutionForward(handle, &one, xd, at[0], filter, at[1], conv, 1, room, ROOM, &zero, yd, at[2]) == 0, "bytes");
    cudaMemcpy(&y, at[2], 4, 2);
    check(y == 1200 * 127 * 127 + 1, "bytes: %d, not %d", y, 1200 * 127 * 127 + 1);
    for (int i = 0; i < 3; i++)
        cudaFree(at[i]);
    cudnnDestroyTensorDescriptor(xd), cudnnDestroyTensorDescriptor(yd);
    cudnnDestroyFilterDescriptor(filter), cudnnDestroyConvolutionDescriptor(conv);
}

static void bias_activation(void)
{
    static const struct geometry g = { 2, 1, 0, { 2, 3, 6, 5 }, { 4, 3, 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } };
    cudnnConvolutionDescriptor_t conv;
    cudnnFilterDescriptor_t filter;
    cudnnActivationDescriptor_t relu;
    const int y[5] = { 2, 4, 6, 5 };
    cudnnCreateConvolutionDescriptor(&conv);
    cudnnCreateFilterDescriptor(&filter);
    cudnnCreateActivationDescriptor(&relu);
    cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, 3, 3, 3);
    cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0);
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, g.x), w = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, g.w);
    struct tensor r = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, y), z = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, y);
    struct tensor bias = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, (const int[]){ 1, 4, 1, 1 });
    struct sums s = { x.want, w.want, NULL, calloc((size_t)r.count, sizeof(double)) };
    each_tap(&g, y, tap_y, &s);
    float one = 0.5f, two = 3;
    int status = cudnnConvolutionBiasActivationForward(handle, &one, x.desc, x.device, filter, w.device, conv, 0, room, ROOM,
                                                       &two, z.desc, z.device, bias.desc, bias.device, relu, r.desc, r.device);
    check(status == 0, "bias and activation: status %d", status);
    for (long i = 0; i < r.count; i++)
        r.want[i] = fmax(0, 0.5 * s.out[i] + 3 * z.want[i] + bias.want[i / 30 % 4]);
    tensor_is(&r, "bias and activation");
    free(s.out);
    tensor_drop(&x), tensor_drop(&w), tensor_drop(&r), tensor_drop(&z), tensor_drop(&bias);
    cudnnDestroyConvolutionDescriptor(conv);
    cudnnDestroyFilterDescriptor(filter);
    cudnnDestroyActivationDescriptor(relu);
}

/* ---- Pooling */

/* With `over`, the last windows reach past the padding below: programs that round sizes up have such outputs. */
static void pooling(int mode, int type, int layout, int over)
{
    const int dim[] = { 2, 3, 7 + over, 6 };
    cudnnPoolingDescriptor_t pool;
    int out[4];
    char what[80];
    snprintf(what, sizeof what, "pooling mode %d type %d layout %d over %d", mode, type, layout, over);
    cudnnCreatePoolingDescriptor(&pool);
    cudnnSetPooling2dDescriptor(pool, mode, CUDNN_PROPAGATE_NAN, 3, 2, 1, 1, 2, 3);
    struct tensor x = tensor_make(type, layout, 4, dim), dx = tensor_make(type, layout, 4, dim);
    check(cudnnGetPoolingNdForwardOutputDim(pool, x.desc, 4, out) == 0 && out[2] == 4 && out[3] == 3, "%s: sizes", what);
    out[2] += over;
    struct tensor y = tensor_make(type, layout, 4, out), dy = tensor_make(type, layout, 4, out);
    double *made = calloc((size_t)y.count, sizeof *made), *grad = calloc((size_t)x.count, sizeof *grad);
    for (long i = 0; i < y.count; i++) {
        long w = i % out[3], h = i / out[3] % out[2], plane = i / out[3] / out[2], best = -1;
        double sum = 0;
        int inside = 0;
        for (int pass = 0; pass < 2; pass++)
            for (long a = h * 2 - 1; a < h * 2 + 2; a++)
                for (long b = w * 3 - 1; b < w * 3 + 1; b++) {
                    long at = (plane * dim[2] + a) * 6 + b;
                    if (a < 0 || b < 0 || a >= dim[2] || b >= 6)
                        continue;
                    if (pass == 0) {
                        inside++;
                        sum += x.want[at];
                        best = best < 0 || x.want[at] > x.want[best] ? at : best;
                    } else if (mode == CUDNN_POOLING_MAX ? at == best : 1) {
                        grad[at] += dy.want[i] / (mode == CUDNN_POOLING_MAX ? 1 : mode == 1 ? 6 : inside);
                    }
                }
        made[i] = mode == CUDNN_POOLING_MAX ? x.want[best] : sum / (mode == 1 ? 6 : inside);
    }
    check(cudnnPoolingForward(handle, pool, scalar(type, 2), x.desc, x.device, scalar(type, -1), y.desc, y.device) == 0, "%s",
          what);
    blend(&y, made, 2, -1);
    tensor_is(&y, what);
    check(cudnnPoolingBackward(handle, pool, scalar(type, 1), y.desc, y.device, dy.desc, dy.device, x.desc, x.device,
                               scalar(type, 0), dx.desc, dx.device) == 0,
          "%s backward", what);
    blend(&dx, grad, 1, 0);
    tensor_is(&dx, what);
    free(made), free(grad);
    tensor_drop(&x), tensor_drop(&dx), tensor_drop(&y), tensor_drop(&dy);
    cudnnDestroyPoolingDescriptor(pool);
}

/* ---- Softmax */

static void softmax(int algo, int mode, int layout)
{
    static const int dim[] = { 2, 5, 3, 4 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim), y = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim);
    struct tensor dy = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim), dx = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim);
    long n = mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 5 : 60, step = mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 12 : 1;
    double *p = malloc((size_t)x.count * sizeof *p), *g = malloc((size_t)x.count * sizeof *g);
    char what[80];
    snprintf(what, sizeof what, "softmax %d mode %d layout %d", algo, mode, layout);
    for (long b = 0; b < 2; b++)
        for (long i = 0; i < 60 / n; i++) {
            double sum = 0, all = 0;
            long at = b * 60 + i;
            for (long k = 0; k < n; k++)
                sum += exp(x.want[at + k * step]);
            for (long k = 0; k < n; k++) {
                double v = exp(x.want[at + k * step]) / sum;
                p[at + k * step] = algo == CUDNN_SOFTMAX_LOG ? log(v) : v;
                all += dy.want[at + k * step] * (algo == CUDNN_SOFTMAX_LOG ? 1 : v);
            }
            for (long k = 0; k < n; k++) {
                double v = exp(x.want[at + k * step]) / sum, d = dy.want[at + k * step];
                g[at + k * step] = algo == CUDNN_SOFTMAX_LOG ? d - v * all : v * (d - all);
            }
        }
    float one = 1, zero = 0, half = 0.5f;
    check(cudnnSoftmaxForward(handle, algo, mode, &one, x.desc, x.device, &zero, y.desc, y.device) == 0, "%s", what);
    blend(&y, p, 1, 0);
    tensor_is(&y, what);
    check(cudnnSoftmaxBackward(handle, algo, mode, &half, y.desc, y.device, dy.desc, dy.device, &one, dx.desc, dx.device) == 0,
          "%s", what);
    blend(&dx, g, 0.5, 1);
    tensor_is(&dx, what);
    free(p), free(g);
    tensor_drop(&x), tensor_drop(&y), tensor_drop(&dy), tensor_drop(&dx);
}

/* ---- Activation */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double act(int mode, double x)
{
    switch (mode) {
    case CUDNN_ACTIVATION_SIGMOID: return sigmoid(x);
    case CUDNN_ACTIVATION_RELU: return x > 0 ? x : 0;
    case CUDNN_ACTIVATION_TANH: return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU: return x < 0 ? 0 : x > 1.3 ? 1.3 : x;
    case CUDNN_ACTIVATION_ELU: return x > 0 ? x : 1.3 * (exp(x) - 1);
    default: return x * sigmoid(x);
    }
}

static void activation(int mode, int type)
{
    static const int dim[] = { 2, 3, 4, 5 };
    cudnnActivationDescriptor_t d;
    char what[40];
    struct tensor x = tensor_make(type, ROWS, 4, dim), y = tensor_make(type, GAPS, 4, dim);
    struct tensor dy = tensor_make(type, CHANNELS_LAST, 4, dim), dx = tensor_make(type, ROWS, 4, dim);
    snprintf(what, sizeof what, "activation %d of type %d", mode, type);
    cudnnCreateActivationDescriptor(&d);
    cudnnSetActivationDescriptor(d, mode, CUDNN_PROPAGATE_NAN, 1.3); /* no type holds 1.3, and half and float less */
    float one = 1, zero = 0, two = 2;
    for (long i = 0; i < x.count; i++)
        x.want[i] += 0.01; /* no derivative at a corner */
    tensor_put(&x);
    check(cudnnActivationForward(handle, d, &one, x.desc, x.device, &zero, y.desc, y.device) == 0, "%s", what);
    for (long i = 0; i < x.count; i++)
        y.want[i] = act(mode, x.want[i]);
    tensor_is(&y, what);
    tensor_put(&y);
    check(cudnnActivationBackward(handle, d, &two, y.desc, y.device, dy.desc, dy.device, x.desc, x.device, &one, dx.desc,
                                  dx.device) == 0,
          "%s", what);
    for (long i = 0; i < x.count; i++)
        dx.want[i] += 2 * dy.want[i] * (act(mode, x.want[i] + 1e-6) - act(mode, x.want[i] - 1e-6)) / 2e-6;
    tensor_is(&dx, what);
    tensor_drop(&x), tensor_drop(&y), tensor_drop(&dy), tensor_drop(&dx);
    cudnnDestroyActivationDescriptor(d);
}

/* ---- Tensor operations */

static void tensor_operations(void)
{
    static const int dim[] = { 2, 3, 4, 5 }, channels[] = { 1, 3, 1, 1 };
    struct tensor a = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), c = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, dim);
    struct tensor b = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, channels), h = tensor_make(CUDNN_DATA_HALF, GAPS, 4, dim);
    cudnnOpTensorDescriptor_t op;
    float one = 1, zero = 0, two = 2, half = 0.5f;
    check(cudnnAddTensor(handle, &two, b.desc, b.device, &half, c.desc, c.device) == 0, "add");
    for (long i = 0; i < c.count; i++)
        c.want[i] = 2 * b.want[i / 20 % 3] + 0.5 * c.want[i];
    tensor_is(&c, "add");
    check(cudnnTransformTensor(handle, &one, a.desc, a.device, &zero, h.desc, h.device) == 0, "transform");
    blend(&h, a.want, 1, 0);
    tensor_is(&h, "transform");
    check(cudnnScaleTensor(handle, c.desc, c.device, &half) == 0, "scale");
    blend(&c, c.want, 0.5, 0);
    tensor_is(&c, "scale");
    cudnnCreateOpTensorDescriptor(&op);
    for (int k = 0; k <= CUDNN_OP_TENSOR_NOT; k++) {
        cudnnSetOpTensorDescriptor(op, k, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN);
        check(cudnnOpTensor(handle, op, &two, a.desc, a.device, &half, b.desc, b.device, &one, c.desc, c.device) == 0, "op %d",
              k);
        for (long i = 0; i < c.count; i++) {
            double x = 2 * a.want[i], y = 0.5 * b.want[i / 20 % 3];
            c.want[i] += k == 0 ? x + y : k == 1 ? x * y : k == 2 ? fmin(x, y) : k == 3 ? fmax(x, y) : k == 4 ? sqrt(x) : 1 - x;
            c.want[i] = c.want[i] != c.want[i] ? c.want[i] : c.want[i];
        }
        tensor_is(&c, "op");
        check(cudnnSetTensor(handle, c.desc, c.device, &half) == 0, "set");
        for (long i = 0; i < c.count; i++)
            c.want[i] = 0.5;
        tensor_is(&c, "set");
    }
    cudnnDestroyOpTensorDescriptor(op);
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c), tensor_drop(&h);
}

static void reduction(int op, unsigned over)
{
    static const int dim[] = { 2, 3, 4, 5 };
    int out[4];
    char what[60];
    for (int i = 0; i < 4; i++)
        out[i] = over >> i & 1 ? 1 : dim[i];
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, over & 1 ? ROWS : CHANNELS_LAST, 4, dim),
                  y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, out);
    double *sum = malloc((size_t)y.count * sizeof *sum);
    int *where = calloc((size_t)y.count, sizeof *where), *got = calloc((size_t)y.count, sizeof *got);
    void *indices, *space;
    cudnnReduceTensorDescriptor_t r;
    size_t size = 0, index_size = 0;
    int extreme = op == CUDNN_REDUCE_TENSOR_MIN || op == CUDNN_REDUCE_TENSOR_MAX;
    snprintf(what, sizeof what, "reduction %d over %u", op, over);
    for (long i = 0; i < y.count; i++)
        sum[i] = op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ? 1
                 : op == 2                                                               ? HUGE_VAL
                 : op == 3                                                               ? -HUGE_VAL
                                                                                         : 0;
    for (long i = 0; i < x.count; i++) {
        int at[4] = { (int)(i / 60), (int)(i / 20 % 3), (int)(i / 5 % 4), (int)(i % 5) }, to = 0, index = 0;
        for (int d = 0; d < 4; d++) {
            to = to * out[d] + (over >> d & 1 ? 0 : at[d]);
            index = over >> d & 1 ? index * dim[d] + at[d] : index;
        }
        double v = x.want[i], *s = &sum[to];
        if (extreme && (op == 2 ? v < *s : v > *s))
            where[to] = index;
        *s = op == 0 || op == 5 ? *s + v
             : op == 1          ? *s * v
             : op == 2          ? fmin(*s, v)
             : op == 3          ? fmax(*s, v)
             : op == 4          ? fmax(*s, fabs(v))
             : op == 6          ? *s + fabs(v)
             : op == 7          ? *s + v * v
             : v == 0           ? *s
                                : *s * v;
    }
    for (long i = 0; i < y.count; i++)
        sum[i] = op == 7 ? sqrt(sum[i]) : op == 5 ? sum[i] / (double)(x.count / y.count) : sum[i];
    cudnnCreateReduceTensorDescriptor(&r);
    cudnnSetReduceTensorDescriptor(r, op, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
                                   extreme ? CUDNN_REDUCE_TENSOR_FLATTENED_INDICES : CUDNN_REDUCE_TENSOR_NO_INDICES,
                                   CUDNN_32BIT_INDICES);
    check(cudnnGetReductionIndicesSize(handle, r, x.desc, y.desc, &index_size) == 0 &&
              (!extreme || index_size >= (size_t)y.count * 4),
          "%s: indices %zu", what, index_size);
    cudaMalloc(&indices, index_size + 4);
    check(cudnnGetReductionWorkspaceSize(handle, r, x.desc, y.desc, &size) == 0, "%s: workspace", what);
    cudaMalloc(&space, size + 4);
    float two = 2, one = 1;
    check(cudnnReduceTensor(handle, r, indices, index_size, space, size, &two, x.desc, x.device, &one,
                            y.desc, y.device) == 0,
          "%s", what);
    blend(&y, sum, 2, 1);
    tensor_is(&y, what);
    if (extreme) {
        cudaMemcpy(got, indices, (size_t)y.count * 4, 2);
        for (long i = 0; i < y.count; i++)
            check(got[i] == where[i], "%s: index %ld is %d, not %d", what, i, got[i], where[i]);
    }
    cudaFree(indices), cudaFree(space);
    free(sum), free(where), free(got);
    cudnnDestroyReduceTensorDescriptor(r);
    tensor_drop(&x), tensor_drop(&y);
}

/* ---- Batch norm */

/* The statistic of element i. */
static long stat_of(const int dim[4], int spatial, long i)
{
    long rest = (long)dim[2] * dim[3];
    return spatial ? i / rest % dim[1] : i % (rest * dim[1]);
}

static int norm_dim[] = { 4, 3, 2, 5 };
enum { NORM_TENSORS = 14 };

/* A layer of one kind, the tensors that it works on, and what is known of its input: n means, variances and sums of gradients. */
struct norm_case {
    struct tensor x, y, z, dy, dx, dz;                      /* of the layer's shape */
    struct tensor scale, bias, mean, var, smean, sinv, ds, db; /* of its statistics' */
    cudnnTensorDescriptor_t derived;
    cudnnActivationDescriptor_t relu;
    const void *one, *zero, *two, *minus;
    int spatial, mode, fused;
    long n, each; /* statistics; elements of one */
    double *m, *v, *a, *b, eps, factor;
    char what[80];
};

static long norm_stat(const struct norm_case *c, long i)
{
    return stat_of(norm_dim, c->spatial, i);
}

static struct tensor *norm_tensor(struct norm_case *c, int i)
{
    struct tensor *const all[NORM_TENSORS] = { &c->x,    &c->y,   &c->z,     &c->dy,   &c->dx, &c->dz, &c->scale, &c->bias,
                                               &c->mean, &c->var, &c->smean, &c->sinv, &c->ds, &c->db };
    return all[i];
}

static void norm_begin(struct norm_case *c, int spatial, int type, int layout, int fused)
{
    const int stats[] = { 1, 3, spatial ? 1 : norm_dim[2], spatial ? 1 : norm_dim[3] };
    int st = type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    *c = (struct norm_case){ .spatial = spatial, .fused = fused, .eps = 1e-3, .factor = 0.25,
                             .mode = spatial ? CUDNN_BATCHNORM_SPATIAL : CUDNN_BATCHNORM_PER_ACTIVATION };
    for (int i = 0; i < NORM_TENSORS; i++)
        *norm_tensor(c, i) = i < 6 ? tensor_make(type, layout, 4, norm_dim) : tensor_make(st, ROWS, 4, stats);
    c->one = scalar(type, 1), c->zero = scalar(type, 0), c->two = scalar(type, 2), c->minus = scalar(type, -1);
    c->n = c->scale.count, c->each = c->x.count / c->n;
    c->m = calloc((size_t)c->n, sizeof *c->m), c->v = calloc((size_t)c->n, sizeof *c->v);
    c->a = calloc((size_t)c->n, sizeof *c->a), c->b = calloc((size_t)c->n, sizeof *c->b);
    snprintf(c->what, sizeof c->what, "batch norm spatial %d type %d layout %d fused %d", spatial, type, layout, fused);
    cudnnCreateTensorDescriptor(&c->derived);
    cudnnCreateActivationDescriptor(&c->relu);
    cudnnSetActivationDescriptor(c->relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0);
    check(cudnnDeriveBNTensorDescriptor(c->derived, c->x.desc, c->mode) == 0, "%s: derive", c->what);
    for (long i = 0; i < c->x.count; i++)
        c->m[norm_stat(c, i)] += c->x.want[i] / (double)c->each;
    for (long i = 0; i < c->x.count; i++)
        c->v[norm_stat(c, i)] += pow(c->x.want[i] - c->m[norm_stat(c, i)], 2) / (double)c->each;
}

static void norm_forward(struct norm_case *c)
{
    int status = c->fused ? cudnnBatchNormalizationForwardTrainingEx(
                                handle, c->mode, CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, c->one, c->zero, c->x.desc, c->x.device,
                                c->z.desc, c->z.device, c->y.desc, c->y.device, c->derived, c->scale.device, c->bias.device,
                                c->factor, c->mean.device, c->var.device, c->eps, c->smean.device, c->sinv.device, c->relu, room,
                                ROOM / 2, (char *)room + ROOM / 2, ROOM / 2)
                          : cudnnBatchNormalizationForwardTraining(
                                handle, c->mode, c->one, c->zero, c->x.desc, c->x.device, c->y.desc, c->y.device, c->derived,
                                c->scale.device, c->bias.device, c->factor, c->mean.device, c->var.device, c->eps,
                                c->smean.device, c->sinv.device);
    check(status == 0, "%s: status %d", c->what, status);
    for (long i = 0; i < c->n; i++) {
        c->smean.want[i] = c->m[i];
        c->sinv.want[i] = 1 / sqrt(c->v[i] + c->eps);
        c->mean.want[i] = c->factor * c->m[i] + (1 - c->factor) * c->mean.want[i];
        c->var.want[i] = c->factor * c->v[i] * (double)c->each / (double)(c->each - 1) + (1 - c->factor) * c->var.want[i];
    }
    for (long i = 0; i < c->x.count; i++) {
        long s = norm_stat(c, i);
        double value = (c->x.want[i] - c->m[s]) * c->sinv.want[s] * c->scale.want[s] + c->bias.want[s];
        c->y.want[i] = c->fused ? fmax(0, value + c->z.want[i]) : value;
    }
    tensor_is(&c->y, c->what), tensor_is(&c->mean, c->what), tensor_is(&c->var, c->what);
    tensor_is(&c->smean, c->what), tensor_is(&c->sinv, c->what);
}

/* The gradient by what was saved. */
static void norm_backward(struct norm_case *c)
{
    for (long i = 0; i < c->x.count; i++) {
        long s = norm_stat(c, i);
        double g = c->fused && c->y.want[i] <= 0 ? 0 : c->dy.want[i];
        c->dz.want[i] = g;
        c->a[s] += g;
        c->b[s] += g * (c->x.want[i] - c->m[s]) * c->sinv.want[s];
    }
    tensor_put(&c->y);
    int status = c->fused ? cudnnBatchNormalizationBackwardEx(
                                handle, c->mode, CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, c->one, c->zero, c->one, c->zero,
                                c->x.desc, c->x.device, c->y.desc, c->y.device, c->dy.desc, c->dy.device, c->dz.desc,
                                c->dz.device, c->dx.desc, c->dx.device, c->derived, c->scale.device, c->bias.device,
                                c->ds.device, c->db.device, c->eps, c->smean.device, c->sinv.device, c->relu, room, ROOM / 2,
                                (char *)room + ROOM / 2, ROOM / 2)
                          : cudnnBatchNormalizationBackward(handle, c->mode, c->one, c->zero, c->one, c->one, c->x.desc,
                                                            c->x.device, c->dy.desc, c->dy.device, c->dx.desc, c->dx.device,
                                                            c->derived, c->scale.device, c->ds.device, c->db.device, c->eps,
                                                            NULL, NULL);
    check(status == 0, "%s backward: status %d", c->what, status);
    for (long i = 0; i < c->x.count; i++) {
        long s = norm_stat(c, i);
        double hat = (c->x.want[i] - c->m[s]) * c->sinv.want[s];
        c->dx.want[i] = c->scale.want[s] * c->sinv.want[s] *
                        (c->dz.want[i] - c->a[s] / (double)c->each - hat * c->b[s] / (double)c->each);
    }
    blend(&c->ds, c->b, 1, c->fused ? 0 : 1);
    blend(&c->db, c->a, 1, c->fused ? 0 : 1);
    tensor_is(&c->dx, c->what), tensor_is(&c->ds, c->what), tensor_is(&c->db, c->what);
    if (c->fused) {
        tensor_is(&c->dz, c->what);
        return;
    }
    check(cudnnBatchNormalizationBackward(handle, c->mode, c->two, c->minus, c->zero, c->one, c->x.desc, c->x.device, c->dy.desc,
                                          c->dy.device, c->dx.desc, c->dx.device, c->derived, c->scale.device, c->ds.device,
                                          c->db.device, c->eps, c->smean.device, c->sinv.device) == 0,
          "%s backward, blended", c->what);
    blend(&c->dx, c->dx.want, 2, -1);
    tensor_is(&c->dx, c->what), tensor_is(&c->ds, c->what), tensor_is(&c->db, c->what);
}

/* With the running statistics. */
static void norm_inference(struct norm_case *c)
{
    for (long i = 0; i < c->n; i++)
        c->var.want[i] = fabs(c->var.want[i]) + 0.5;
    tensor_put(&c->var);
    check(cudnnBatchNormalizationForwardInference(handle, c->mode, c->one, c->zero, c->x.desc, c->x.device, c->y.desc,
                                                  c->y.device, c->derived, c->scale.device, c->bias.device, c->mean.device,
                                                  c->var.device, c->eps) == 0,
          "%s inference", c->what);
    for (long i = 0; i < c->x.count; i++) {
        long s = norm_stat(c, i);
        c->y.want[i] = (c->x.want[i] - c->mean.want[s]) / sqrt(c->var.want[s] + c->eps) * c->scale.want[s] + c->bias.want[s];
    }
    tensor_is(&c->y, c->what);
    check(cudnnBatchNormalizationForwardInference(handle, c->mode, c->two, c->minus, c->x.desc, c->x.device, c->y.desc,
                                                  c->y.device, c->derived, c->scale.device, c->bias.device, c->mean.device,
                                                  c->var.device, c->eps) == 0,
          "%s inference, blended", c->what);
    blend(&c->y, c->y.want, 2, -1);
    tensor_is(&c->y, c->what);
}

static void batch_norm(int spatial, int type, int layout, int fused)
{
    struct norm_case c;
    norm_begin(&c, spatial, type, layout, fused);
    norm_forward(&c);
    norm_backward(&c);
    norm_inference(&c);
    free(c.m), free(c.v), free(c.a), free(c.b);
    for (int i = 0; i < NORM_TENSORS; i++)
        tensor_drop(norm_tensor(&c, i));
    cudnnDestroyTensorDescriptor(c.derived);
    cudnnDestroyActivationDescriptor(c.relu);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cudnnCreate(&handle) == 0 && cudaMalloc(&room, ROOM) == 0, "create");
    convolutions(quick);
    bytes();
    bias_activation();
    for (int mode = 0; mode < 3; mode++) {
        pooling(mode, CUDNN_DATA_FLOAT, mode, 0);
        pooling(mode, CUDNN_DATA_FLOAT, mode, 1);
        if (!quick)
            pooling(mode, CUDNN_DATA_DOUBLE, ROWS, 1), pooling(mode, CUDNN_DATA_HALF, CHANNELS_LAST, 0);
    }
    for (int algo = 0; algo < 3; algo++)
        for (int mode = 0; mode < 2; mode++)
            softmax(algo, mode, algo);
    for (int mode = 0; mode <= CUDNN_ACTIVATION_SWISH; mode++)
        if (mode != CUDNN_ACTIVATION_IDENTITY)
            activation(mode, CUDNN_DATA_FLOAT), activation(mode, CUDNN_DATA_HALF);
    tensor_operations();
    for (int op = 0; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; op++)
        for (unsigned over = quick ? 5 : 0; over < 16; over += quick ? 20 : 1)
            reduction(op, over);
    batch_norm(1, CUDNN_DATA_FLOAT, ROWS, 0);
    batch_norm(0, CUDNN_DATA_FLOAT, CHANNELS_LAST, 0);
    batch_norm(1, CUDNN_DATA_HALF, CHANNELS_LAST, 1);
    batch_norm(0, CUDNN_DATA_DOUBLE, GAPS, 1);
    norm_dim[0] = 2200; /* as many as are worth several threads */
    batch_norm(1, CUDNN_DATA_FLOAT, ROWS, 1);
    batch_norm(0, CUDNN_DATA_DOUBLE, GAPS, 0);
    batch_norm(1, CUDNN_DATA_FLOAT, CHANNELS_LAST, 0);
    norm_dim[0] = 40, norm_dim[2] = 30, norm_dim[3] = 50; /* rows of several pieces */
    batch_norm(1, CUDNN_DATA_FLOAT, ROWS, 0);
    batch_norm(1, CUDNN_DATA_HALF, ROWS, 1);
    batch_norm(1, CUDNN_DATA_DOUBLE, GAPS, 0);
    cudaFree(room);
    check(cudnnDestroy(handle) == 0, "destroy");
    return done();
}
