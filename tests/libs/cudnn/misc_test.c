/* CTC loss, local response norm, dropout and spatial transformers of cuDNN against plain loops in double.  Usage: misc_test
 * [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

static cudnnHandle_t handle;

/* ---- CTC: all paths are counted one by one. */

enum { T = 5, N = 4, A = 3 };

/* Does the path say the labels, once repeats and blanks are gone? */
static int says(const int *path, int steps, const int *labels, int n)
{
    int at = 0, last = 0;
    for (int t = 0; t < steps; t++) {
        if (path[t] && path[t] != last) {
            if (at == n || labels[at] != path[t])
                return 0;
            at++;
        }
        last = path[t];
    }
    return at == n;
}

/* The probability of all paths of one sequence; `by` gets its derivative by the log of each letter's probability. */
static double paths(const double *p, int sequence, int steps, const int *labels, int n, double *by)
{
    int path[T] = { 0 };
    double total = 0;
    memset(by, 0, T * A * sizeof *by);
    for (;;) {
        if (says(path, steps, labels, n)) {
            double product = 1;
            for (int t = 0; t < steps; t++)
                product *= p[(t * N + sequence) * A + path[t]];
            total += product;
            for (int t = 0; t < steps; t++)
                by[t * A + path[t]] += product;
        }
        int t = steps - 1;
        while (t >= 0 && ++path[t] == A)
            path[t--] = 0;
        if (t < 0)
            return total;
    }
}

static void ctc(int softmax, int on_device)
{
    static const int dim[] = { T, N, A }, labels[] = { 1, 2, 2, 2, 1, 1, 2, 1 }, label_lengths[] = { 2, 2, 1, 3 },
                     steps[] = { 5, 3, 4, 2 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, dim), g = tensor_make(CUDNN_DATA_FLOAT, GAPS, 3, dim);
    struct tensor cost = tensor_make(CUDNN_DATA_FLOAT, ROWS, 1, (const int[]){ N });
    cudnnCTCLossDescriptor_t d;
    double p[T * N * A], by[T * A];
    char what[40];
    size_t size, more;
    void *room;
    snprintf(what, sizeof what, "CTC softmax %d on device %d", softmax, on_device);
    for (int i = 0; i < T * N; i++) {
        double sum = 0;
        for (int a = 0; a < A; a++)
            sum += exp(x.want[i * A + a]);
        for (int a = 0; a < A; a++) {
            p[i * A + a] = exp(x.want[i * A + a]) / sum;
            if (!softmax)
                x.want[i * A + a] = p[i * A + a];
        }
    }
    tensor_put(&x);
    cudnnCreateCTCLossDescriptor(&d);
    check(cudnnSetCTCLossDescriptor_v9(d, CUDNN_DATA_FLOAT,
                                       softmax ? CUDNN_LOSS_NORMALIZATION_SOFTMAX : CUDNN_LOSS_NORMALIZATION_NONE,
                                       CUDNN_CTC_ZERO_OOB_GRADIENTS, 3) == 0,
          "%s: descriptor", what);
    void *at[3] = { 0 };
    const int *host[] = { labels, label_lengths, steps };
    const size_t sizes[] = { sizeof labels, sizeof label_lengths, sizeof steps };
    for (int i = 0; i < 3; i++) {
        cudaMalloc(&at[i], sizes[i] + 64);
        cudaMemcpy(at[i], host[i], sizes[i], 1);
    }
    check(cudnnGetCTCLossWorkspaceSize_v8(handle, 0, d, x.desc, g.desc, &size) == 0 &&
              cudnnGetCTCLossWorkspaceSize(handle, x.desc, g.desc, labels, label_lengths, steps, 0, d, &more) == 0,
          "%s: workspace", what);
    cudaMalloc(&room, size + more + 64);
    int status = on_device ? cudnnCTCLoss_v8(handle, 0, d, x.desc, x.device, at[0], at[1], at[2], cost.device, g.desc, g.device,
                                             size, room)
                           : cudnnCTCLoss(handle, x.desc, x.device, labels, label_lengths, steps, cost.device, g.desc, g.device,
                                          0, d, room, more);
    check(status == 0, "%s: status %d", what, status);
    for (int n = 0, first = 0; n < N; first += label_lengths[n++]) {
        double total = paths(p, n, steps[n], labels + first, label_lengths[n], by);
        cost.want[n] = -log(total);
        for (int t = 0; t < T; t++)
            for (int a = 0; a < A; a++)
                g.want[(t * N + n) * A + a] = t < steps[n] && total > 0 ? p[(t * N + n) * A + a] - by[t * A + a] / total : 0;
    }
    check(cost.want[3] > 1e300, "the last sequence cannot be said in its steps");
    tensor_is(&g, what);
    cudaMemcpy(cost.host, cost.device, N * 4, 2);
    for (int n = 0; n < N; n++) {
        double got = get(CUDNN_DATA_FLOAT, cost.host, n);
        check(n == 3 ? got > 1e30 : fabs(got - cost.want[n]) < 1e-5 * (1 + cost.want[n]), "%s: cost %d is %g, not %g", what, n,
              got, cost.want[n]);
    }
    for (int i = 0; i < 3; i++)
        cudaFree(at[i]);
    cudaFree(room);
    cudnnDestroyCTCLossDescriptor(d);
    tensor_drop(&x), tensor_drop(&g), tensor_drop(&cost);
}

/* ---- Local response norm, its gradient by differences */

static double lrn_at(const double *x, long i, int c, int n)
{
    double sum = 2;
    for (int k = c - (n - 1) / 2; k <= c + n - (n - 1) / 2 - 1; k++)
        if (k >= 0 && k < 6)
            sum += 0.3 / n * pow(x[i + (k - c) * 6], 2);
    return x[i] * pow(sum, -0.75);
}

static void lrn(int n, int layout)
{
    static const int dim[] = { 2, 6, 2, 3 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim), y = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim);
    struct tensor dy = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), dx = tensor_make(CUDNN_DATA_FLOAT, layout, 4, dim);
    cudnnLRNDescriptor_t d;
    char what[40];
    float two = 2, one = 1, zero = 0;
    snprintf(what, sizeof what, "LRN of %d", n);
    cudnnCreateLRNDescriptor(&d);
    check(cudnnSetLRNDescriptor(d, (unsigned)n, 0.3, 0.75, 2) == 0, "%s", what);
    check(cudnnLRNCrossChannelForward(handle, d, 0, &two, x.desc, x.device, &one, y.desc, y.device) == 0, "%s", what);
    for (long i = 0; i < y.count; i++)
        y.want[i] += 2 * lrn_at(x.want, i, (int)(i / 6 % 6), n);
    tensor_is(&y, what);
    check(cudnnLRNCrossChannelBackward(handle, d, 0, &one, y.desc, y.device, dy.desc, dy.device, x.desc, x.device, &zero, dx.desc,
                                       dx.device) == 0,
          "%s", what);
    for (long j = 0; j < x.count; j++) {
        double keep = x.want[j], sum[2] = { 0, 0 };
        for (int k = 0; k < 2; k++) {
            x.want[j] = keep + (k ? 1e-6 : -1e-6);
            for (long i = 0; i < x.count; i++)
                sum[k] += dy.want[i] * lrn_at(x.want, i, (int)(i / 6 % 6), n);
        }
        x.want[j] = keep;
        dx.want[j] = (sum[1] - sum[0]) / 2e-6;
    }
    tensor_is(&dx, what);
    cudnnDestroyLRNDescriptor(d);
    tensor_drop(&x), tensor_drop(&y), tensor_drop(&dy), tensor_drop(&dx);
}

/* ---- Dropout */

static void dropout(void)
{
    static const int dim[] = { 1, 4, 32, 32 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), y = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, dim);
    struct tensor z = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, dim), dx = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
    cudnnDropoutDescriptor_t d;
    size_t states_size, reserve_size;
    void *states, *reserve;
    long kept = 0, again = 0;
    for (long i = 0; i < x.count; i++)
        x.want[i] = 1;
    tensor_put(&x);
    cudnnCreateDropoutDescriptor(&d);
    check(cudnnDropoutGetStatesSize(handle, &states_size) == 0 && cudnnDropoutGetReserveSpaceSize(x.desc, &reserve_size) == 0,
          "dropout: sizes");
    cudaMalloc(&states, states_size), cudaMalloc(&reserve, reserve_size);
    check(cudnnSetDropoutDescriptor(d, handle, 0.25f, states, states_size, 42) == 0, "dropout: set");
    check(cudnnDropoutForward(handle, d, x.desc, x.device, z.desc, z.device, reserve, reserve_size) == 0, "dropout");
    check(cudnnDropoutForward(handle, d, x.desc, x.device, y.desc, y.device, reserve, reserve_size) == 0, "dropout");
    check(cudnnDropoutBackward(handle, d, y.desc, y.device, dx.desc, dx.device, reserve, reserve_size) == 0, "dropout backward");
    cudaDeviceSynchronize();
    struct tensor *all[] = { &y, &z, &dx };
    for (int i = 0; i < 3; i++)
        cudaMemcpy(all[i]->host, all[i]->device, (size_t)all[i]->extent * 4, 2);
    for (long i = 0; i < x.count; i++) {
        double v = get(CUDNN_DATA_FLOAT, y.host, place(&y, i)), g = get(CUDNN_DATA_FLOAT, dx.host, place(&dx, i));
        check(v == 0 || fabs(v - 4.0 / 3) < 1e-6, "dropout makes %g of 1", v);
        check(fabs(g - v * 4 / 3) < 1e-5, "dropout's gradient is %g, not %g", g, v * 4 / 3);
        kept += v != 0;
        again += (v != 0) == (get(CUDNN_DATA_FLOAT, z.host, place(&z, i)) != 0);
    }
    check(labs(kept - 3072) < 150, "%ld of 4096 are kept", kept);
    check(labs(again - 2560) < 200, "the second call drops what the first did: %ld", again);
    cudaFree(states), cudaFree(reserve);
    cudnnDestroyDropoutDescriptor(d);
    tensor_drop(&x), tensor_drop(&y), tensor_drop(&z), tensor_drop(&dx);
}

/* ---- Spatial transformers, gradients by differences */

static double sample(const double *x, const double *grid, long i, int c)
{
    double px = (grid[2 * i] + 1) / 2 * 4, py = (grid[2 * i + 1] + 1) / 2 * 3, sum = 0;
    long n = i / 6;
    for (int h = 0; h < 4; h++)
        for (int w = 0; w < 5; w++)
            sum += fmax(0, 1 - fabs(px - w)) * fmax(0, 1 - fabs(py - h)) * x[((n * 2 + c) * 4 + h) * 5 + w];
    return sum;
}

static double all_samples(const double *x, const double *grid, const double *dy)
{
    double sum = 0;
    for (long i = 0; i < 12; i++)
        for (int c = 0; c < 2; c++)
            sum += dy[(i / 6 * 2 + c) * 6 + i % 6] * sample(x, grid, i, c);
    return sum;
}

static void spatial(void)
{
    static const int xd[] = { 2, 2, 4, 5 }, yd[] = { 2, 2, 2, 3 }, td[] = { 2, 2, 3 }, gd[] = { 2, 2, 3, 2 };
    struct tensor theta = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, td), grid = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, gd);
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, xd), y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, yd);
    struct tensor dy = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, yd), dx = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, xd),
                  dgrid = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, gd);
    struct tensor dtheta = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, td);
    cudnnSpatialTransformerDescriptor_t d;
    float one = 1, zero = 0, two = 2;
    for (long i = 0; i < theta.count; i++)
        theta.want[i] = theta.want[i] / 3 + 0.013;
    tensor_put(&theta);
    cudnnCreateSpatialTransformerDescriptor(&d);
    check(cudnnSetSpatialTransformerNdDescriptor(d, CUDNN_SAMPLER_BILINEAR, CUDNN_DATA_FLOAT, 4, yd) == 0, "spatial");
    check(cudnnSpatialTfGridGeneratorForward(handle, d, theta.device, grid.device) == 0, "grid");
    for (long i = 0; i < grid.count; i++) {
        double place[] = { (double)(i / 2 % 3) - 1, i / 6 % 2 ? 1 : -1, 1 };
        grid.want[i] = 0;
        for (int k = 0; k < 3; k++)
            grid.want[i] += theta.want[i / 12 * 6 + i % 2 * 3 + k] * place[k];
    }
    tensor_is(&grid, "grid");
    check(cudnnSpatialTfSamplerForward(handle, d, &two, x.desc, x.device, grid.device, &one, y.desc, y.device) == 0, "sampler");
    for (long i = 0; i < y.count; i++)
        y.want[i] += 2 * sample(x.want, grid.want, i / 12 * 6 + i % 6, (int)(i / 6 % 2));
    tensor_is(&y, "sampler");
    check(cudnnSpatialTfSamplerBackward(handle, d, &one, x.desc, x.device, &zero, dx.desc, dx.device, &two, dy.desc, dy.device,
                                        grid.device, &zero, dgrid.device) == 0,
          "sampler backward");
    for (int which = 0; which < 2; which++) {
        struct tensor *of = which ? &grid : &x, *to = which ? &dgrid : &dx;
        for (long i = 0; i < of->count; i++) {
            double keep = of->want[i];
            of->want[i] = keep + 1e-6;
            double high = all_samples(x.want, grid.want, dy.want);
            of->want[i] = keep - 1e-6;
            to->want[i] = (high - all_samples(x.want, grid.want, dy.want)) / 2e-6 * (which ? 2 : 1);
            of->want[i] = keep;
        }
        tensor_is(to, which ? "sampler: dgrid" : "sampler: dx");
    }
    check(cudnnSpatialTfGridGeneratorBackward(handle, d, dgrid.device, dtheta.device) == 0, "grid backward");
    for (long i = 0; i < dtheta.count; i++)
        dtheta.want[i] = 0;
    for (long i = 0; i < grid.count; i++) {
        double place[] = { (double)(i / 2 % 3) - 1, i / 6 % 2 ? 1 : -1, 1 };
        for (int k = 0; k < 3; k++)
            dtheta.want[i / 12 * 6 + i % 2 * 3 + k] += dgrid.want[i] * place[k];
    }
    tensor_is(&dtheta, "grid backward");
    cudnnDestroySpatialTransformerDescriptor(d);
    struct tensor *all[] = { &theta, &grid, &x, &y, &dy, &dx, &dgrid, &dtheta };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tensor_drop(all[i]);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cudnnCreate(&handle) == 0, "create");
    for (int k = 0; k < (quick ? 1 : 4); k++)
        ctc(k & 1, k >> 1);
    ctc(1, 1);
    lrn(5, ROWS), lrn(4, CHANNELS_LAST);
    if (!quick)
        dropout();
    spatial();
    cudnnDestroy(handle);
    return done();
}
