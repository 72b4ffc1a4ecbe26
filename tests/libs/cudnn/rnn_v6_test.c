/* Recurrent networks in version 8's older interface give bit for bit what its newer one gives, which rnn_test.c compares with a
 * plain network: sizes, places of weights, results and gradients of packed sequences. */
/* SPDX-License-Identifier: Apache-2.0 */
#define CHECK_CUDNN_8
#include "check.h"

enum { NOT_INITIALIZED_8 = 1, BAD_PARAM_8 = 3, NOT_SUPPORTED_8 = 9 }; /* status codes are version 8's, too */
static cudnnHandle_t handle;

enum { STEPS = 4, BATCH = 3, INPUT = 3, HIDDEN = 4, LAYERS = 2, ROWS_ALL = 9 };
static const int batches[STEPS] = { 3, 3, 2, 1 }, lengths[BATCH] = { 4, 3, 2 };

struct net {
    int cell, dirs, out, type;
};

/* The network in both interfaces, and what describes its data. */
struct both {
    cudnnRNNDescriptor_t old, new;
    cudnnTensorDescriptor_t x[STEPS], y[STEPS], h, c;
    cudnnRNNDataDescriptor_t xd, yd;
    cudnnFilterDescriptor_t w;
    size_t weights, work, reserve;
    char what[80];
};

static cudnnTensorDescriptor_t tensor(int type, int a, int b, int c)
{
    int dim[] = { a, b, c }, stride[] = { b * c, c, 1 };
    cudnnTensorDescriptor_t t;
    cudnnCreateTensorDescriptor(&t);
    check(cudnnSetTensorNdDescriptor(t, type, 3, dim, stride) == 0, "tensor");
    return t;
}

static void sizes(const struct net *n, struct both *b)
{
    size_t other = 0, work = 0;
    check(cudnnGetRNNParamsSize(handle, b->old, b->x[0], &b->weights, n->type) == 0 &&
              cudnnGetRNNWeightSpaceSize(handle, b->new, &other) == 0 && other == b->weights,
          "%s: %zu bytes of weights, not %zu", b->what, b->weights, other);
    check(cudnnGetRNNTempSpaceSizes(handle, b->new, CUDNN_FWD_MODE_TRAINING, b->xd, &work, &other) == 0 &&
              cudnnGetRNNTrainingReserveSize(handle, b->old, STEPS, b->x, &b->reserve) == 0 &&
              cudnnGetRNNWorkspaceSize(handle, b->old, STEPS, b->x, &b->work) == 0 && b->work == work && b->reserve == other,
          "%s: spaces of %zu and %zu bytes", b->what, b->work, b->reserve);
}

static void both_make(const struct net *n, struct both *b)
{
    cudnnRNNMode_t cell = n->cell;
    int wide = n->dirs * n->out;
    snprintf(b->what, sizeof b->what, "cell %d dirs %d out %d type %d", n->cell, n->dirs, n->out, n->type);
    cudnnCreateRNNDescriptor(&b->old), cudnnCreateRNNDescriptor(&b->new);
    check(cudnnSetRNNDescriptor_v6(handle, b->old, HIDDEN, LAYERS, NULL, CUDNN_LINEAR_INPUT,
                                   n->dirs == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, cell, CUDNN_RNN_ALGO_STANDARD,
                                   n->type == CUDNN_DATA_HALF ? CUDNN_DATA_FLOAT : n->type) == 0,
          "%s: descriptor", b->what);
    if (n->out != HIDDEN)
        check(cudnnSetRNNProjectionLayers(handle, b->old, n->out, 0) == 0, "%s: projection", b->what);
    check(cudnnSetRNNMatrixMathType(b->old, CUDNN_DEFAULT_MATH) == 0, "%s: math", b->what);
    check(cudnnSetRNNDescriptor_v8(b->new, CUDNN_RNN_ALGO_STANDARD, cell, CUDNN_RNN_DOUBLE_BIAS,
                                   n->dirs == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, n->type,
                                   n->type == CUDNN_DATA_HALF ? CUDNN_DATA_FLOAT : n->type, CUDNN_DEFAULT_MATH, INPUT, HIDDEN,
                                   n->out, LAYERS, NULL, 0) == 0,
          "%s: new descriptor", b->what);
    for (int t = 0; t < STEPS; t++) {
        b->x[t] = tensor(n->type, batches[t], INPUT, 1);
        b->y[t] = tensor(n->type, batches[t], wide, 1);
    }
    b->h = tensor(n->type, LAYERS * n->dirs, BATCH, n->out), b->c = tensor(n->type, LAYERS * n->dirs, BATCH, HIDDEN);
    cudnnCreateRNNDataDescriptor(&b->xd), cudnnCreateRNNDataDescriptor(&b->yd);
    cudnnSetRNNDataDescriptor(b->xd, n->type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, STEPS, BATCH, INPUT, lengths, NULL);
    cudnnSetRNNDataDescriptor(b->yd, n->type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, STEPS, BATCH, wide, lengths, NULL);
    sizes(n, b);
    int dim[] = { (int)(b->weights / size_of(n->type)), 1, 1 };
    cudnnCreateFilterDescriptor(&b->w);
    check(cudnnSetFilterNdDescriptor(b->w, n->type, CUDNN_TENSOR_NCHW, 3, dim) == 0, "%s: filter", b->what);
}

static void both_drop(struct both *b)
{
    for (int t = 0; t < STEPS; t++)
        cudnnDestroyTensorDescriptor(b->x[t]), cudnnDestroyTensorDescriptor(b->y[t]);
    cudnnDestroyTensorDescriptor(b->h), cudnnDestroyTensorDescriptor(b->c);
    cudnnDestroyRNNDataDescriptor(b->xd), cudnnDestroyRNNDataDescriptor(b->yd);
    cudnnDestroyRNNDescriptor(b->old), cudnnDestroyRNNDescriptor(b->new), cudnnDestroyFilterDescriptor(b->w);
}

static void places(const struct net *n, const struct both *b)
{
    char base[1];
    cudnnTensorDescriptor_t m;
    cudnnFilterDescriptor_t f;
    cudnnCreateTensorDescriptor(&m), cudnnCreateFilterDescriptor(&f);
    int gates = n->cell == CUDNN_LSTM ? 4 : n->cell == CUDNN_GRU ? 3 : 1;
    for (int p = 0; p < LAYERS * n->dirs; p++)
        for (int id = 0; id < 2 * gates + (n->out != HIDDEN); id++)
            for (int bias = 0; bias < 2 && id + bias <= 2 * gates; bias++) {
                void *want = NULL, *got = NULL;
                cudnnDataType_t type;
                cudnnTensorFormat_t format;
                int dims[2], dim[2][3], stride[3];
                int status = bias ? cudnnGetRNNWeightParams(handle, b->new, p, b->weights, base, id, NULL, NULL, m, &want)
                                  : cudnnGetRNNWeightParams(handle, b->new, p, b->weights, base, id, m, &want, NULL, NULL);
                status |= bias ? cudnnGetRNNLinLayerBiasParams(handle, b->old, p, b->x[0], b->w, base, id, f, &got)
                               : cudnnGetRNNLinLayerMatrixParams(handle, b->old, p, b->x[0], b->w, base, id, f, &got);
                cudnnGetTensorNdDescriptor(m, 3, &type, &dims[0], dim[0], stride);
                cudnnGetFilterNdDescriptor(f, 3, &type, &format, &dims[1], dim[1]);
                check(status == 0 && got == want && dims[0] == dims[1] && (!dims[0] || !memcmp(dim[0], dim[1], sizeof dim[0])),
                      "%s: part %d of gate %d of %d", b->what, bias, id, p);
            }
    cudnnDestroyTensorDescriptor(m), cudnnDestroyFilterDescriptor(f);
}

/* Memory on the device, random or a copy. */
static void *memory(int type, long n, const void *like)
{
    char *host = malloc((size_t)n * 8);
    void *device;
    for (long i = 0; i < n; i++)
        put(type, host, i, any() / 4);
    if (like)
        cudaMemcpy(host, like, (size_t)n * size_of(type), 2);
    cudaMalloc(&device, (size_t)n * 8);
    cudaMemcpy(device, host, (size_t)n * size_of(type), 1);
    free(host);
    return device;
}

static void same(const struct both *b, int type, const void *x, const void *y, long n, const char *of)
{
    char *host[2] = { malloc((size_t)n * 8), malloc((size_t)n * 8) };
    double sum = 0;
    cudaMemcpy(host[0], x, (size_t)n * size_of(type), 2), cudaMemcpy(host[1], y, (size_t)n * size_of(type), 2);
    for (long i = 0; i < n; i++)
        sum += fabs(get(type, host[1], i));
    check(sum > 0 && !memcmp(host[0], host[1], (size_t)n * size_of(type)), "%s: %s is another", b->what, of);
    free(host[0]), free(host[1]);
}

/* What a call reads, and two sets of what it writes: by the old interface and by the new one. */
struct work {
    void *x, *hx, *cx, *w, *dy, *dhy, *dcy;
    void *y[2], *hy[2], *cy[2], *reserve[2], *dx[2], *dhx[2], *dcx[2], *dw[2];
    long n_x, n_y, n_h, n_c, n_w;
};

static struct work work_make(const struct net *n, const struct both *b)
{
    int t = n->type;
    long states = (long)LAYERS * n->dirs * BATCH;
    struct work k = { .n_x = ROWS_ALL * INPUT,
                      .n_y = (long)ROWS_ALL * n->dirs * n->out,
                      .n_h = states * n->out,
                      .n_c = states * HIDDEN,
                      .n_w = (long)(b->weights / size_of(t)) };
    k.x = memory(t, k.n_x, NULL), k.hx = memory(t, k.n_h, NULL), k.cx = memory(t, k.n_c, NULL), k.w = memory(t, k.n_w, NULL);
    k.dy = memory(t, k.n_y, NULL), k.dhy = memory(t, k.n_h, NULL), k.dcy = memory(t, k.n_c, NULL);
    for (int i = 0; i < 2; i++) {
        k.y[i] = memory(t, k.n_y, NULL), k.hy[i] = memory(t, k.n_h, NULL), k.cy[i] = memory(t, k.n_c, i ? k.cy[0] : NULL);
        k.dx[i] = memory(t, k.n_x, NULL), k.dhx[i] = memory(t, k.n_h, NULL), k.dcx[i] = memory(t, k.n_c, i ? k.dcx[0] : NULL);
        k.dw[i] = memory(t, k.n_w, i ? k.dw[0] : NULL); /* gradients are added to what is there */
        cudaMalloc(&k.reserve[i], b->reserve + 8);
    }
    return k;
}

static void work_drop(struct work *k)
{
    void *all[] = { k->x, k->hx, k->cx, k->w, k->dy, k->dhy, k->dcy };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        cudaFree(all[i]);
    for (int i = 0; i < 2; i++)
        cudaFree(k->y[i]), cudaFree(k->hy[i]), cudaFree(k->cy[i]), cudaFree(k->reserve[i]), cudaFree(k->dx[i]),
            cudaFree(k->dhx[i]), cudaFree(k->dcx[i]), cudaFree(k->dw[i]);
}

static int new_interface(const struct both *b, const struct work *k)
{
    return cudnnRNNForward(handle, b->new, CUDNN_FWD_MODE_TRAINING, NULL, b->xd, k->x, b->yd, k->y[1], b->h, k->hx, k->hy[1],
                           b->c, k->cx, k->cy[1], b->weights, k->w, 0, NULL, b->reserve, k->reserve[1]) |
           cudnnRNNBackwardData_v8(handle, b->new, NULL, b->yd, k->y[1], k->dy, b->xd, k->dx[1], b->h, k->hx, k->dhy, k->dhx[1],
                                   b->c, k->cx, k->dcy, k->dcx[1], b->weights, k->w, 0, NULL, b->reserve, k->reserve[1]) |
           cudnnRNNBackwardWeights_v8(handle, b->new, CUDNN_WGRAD_MODE_ADD, NULL, b->xd, k->x, b->h, k->hx, b->yd, k->y[1],
                                      b->weights, k->dw[1], 0, NULL, b->reserve, k->reserve[1]);
}

static int old_interface(const struct both *b, const struct work *k)
{
    return cudnnRNNForwardTraining(handle, b->old, STEPS, b->x, k->x, b->h, k->hx, b->c, k->cx, b->w, k->w, b->y, k->y[0], b->h,
                                   k->hy[0], b->c, k->cy[0], NULL, 0, k->reserve[0], b->reserve) |
           cudnnRNNBackwardData(handle, b->old, STEPS, b->y, k->y[0], b->y, k->dy, b->h, k->dhy, b->c, k->dcy, b->w, k->w, b->h,
                                k->hx, b->c, k->cx, b->x, k->dx[0], b->h, k->dhx[0], b->c, k->dcx[0], NULL, 0, k->reserve[0],
                                b->reserve) |
           cudnnRNNBackwardWeights(handle, b->old, STEPS, b->x, k->x, b->h, k->hx, b->y, k->y[0], NULL, 0, b->w, k->dw[0],
                                   k->reserve[0], b->reserve);
}

static int extended(const struct both *b, const struct work *k)
{
    return cudnnRNNForwardTrainingEx(handle, b->old, b->xd, k->x, b->h, k->hx, b->c, k->cx, b->w, k->w, b->yd, k->y[0], b->h,
                                     k->hy[0], b->c, k->cy[0], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,
                                     k->reserve[0], b->reserve) |
           cudnnRNNBackwardDataEx(handle, b->old, b->yd, k->y[0], b->yd, k->dy, NULL, NULL, b->h, k->dhy, b->c, k->dcy, b->w,
                                  k->w, b->h, k->hx, b->c, k->cx, b->xd, k->dx[0], b->h, k->dhx[0], b->c, k->dcx[0], NULL, NULL,
                                  NULL, 0, k->reserve[0], b->reserve) |
           cudnnRNNBackwardWeightsEx(handle, b->old, b->xd, k->x, b->h, k->hx, b->yd, k->y[0], NULL, 0, b->w, k->dw[0],
                                     k->reserve[0], b->reserve);
}

static void inference(const struct net *n, const struct both *b, const struct work *k)
{
    void *y = memory(n->type, k->n_y, NULL), *again = memory(n->type, k->n_y, NULL);
    check(cudnnRNNForwardInference(handle, b->old, STEPS, b->x, k->x, b->h, k->hx, b->c, k->cx, b->w, k->w, b->y, y, NULL, NULL,
                                   NULL, NULL, NULL, 0) == 0 &&
              cudnnRNNForwardInferenceEx(handle, b->old, b->xd, k->x, b->h, k->hx, b->c, k->cx, b->w, k->w, b->yd, again, NULL,
                                         NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0) == 0,
          "%s: inference", b->what);
    cudaDeviceSynchronize();
    same(b, n->type, y, k->y[1], k->n_y, "inference"), same(b, n->type, again, k->y[1], k->n_y, "extended inference");
    cudaFree(y), cudaFree(again);
}

static void network(struct net n)
{
    struct both b;
    both_make(&n, &b);
    places(&n, &b);
    for (int ex = 0; ex < 2; ex++) {
        struct work k = work_make(&n, &b);
        int wanted = new_interface(&b, &k), status = ex ? extended(&b, &k) : old_interface(&b, &k);
        check(wanted == 0 && status == 0, "%s: status %d, %d", b.what, wanted, status);
        cudaDeviceSynchronize();
        same(&b, n.type, k.y[0], k.y[1], k.n_y, "y"), same(&b, n.type, k.hy[0], k.hy[1], k.n_h, "hy");
        same(&b, n.type, k.dx[0], k.dx[1], k.n_x, "dx"), same(&b, n.type, k.dhx[0], k.dhx[1], k.n_h, "dhx");
        same(&b, n.type, k.dw[0], k.dw[1], k.n_w, "dw");
        same(&b, n.type, k.cy[0], k.cy[1], k.n_c, "cy"), same(&b, n.type, k.dcx[0], k.dcx[1], k.n_c, "dcx");
        if (!ex)
            inference(&n, &b, &k);
        work_drop(&k);
    }
    both_drop(&b);
}

static void refusals(void)
{
    struct both b;
    size_t size = 0;
    cudnnTensorDescriptor_t growing[2], no_batch[2] = { NULL, NULL };
    cudnnRNNMode_t cell = 0;
    cudnnRNNBiasMode_t bias;
    int hidden = 0, layers = 0, recurrent = 9, output = 9;
    both_make(&(struct net){ CUDNN_GRU, 1, HIDDEN, CUDNN_DATA_FLOAT }, &b);
    growing[0] = b.x[3], growing[1] = b.x[0];
    check((int)cudnnGetRNNWorkspaceSize(handle, b.old, 2, growing, &size) == BAD_PARAM_8, "growing batches");
    check((int)cudnnGetRNNWorkspaceSize(handle, b.old, 2, no_batch, &size) == BAD_PARAM_8, "no tensors");
    check((int)cudnnGetRNNWorkspaceSize(handle, b.old, 0, b.x, &size) == BAD_PARAM_8, "no steps");
    check((int)cudnnGetRNNParamsSize(NULL, b.old, b.x[0], &size, 0) == NOT_INITIALIZED_8, "no handle");
    check((int)cudnnSetRNNProjectionLayers(handle, b.old, 2, 0) == NOT_SUPPORTED_8, "a projection of a GRU");
    check((int)cudnnSetRNNProjectionLayers(handle, b.old, 0, 2) == NOT_SUPPORTED_8, "a projection of outputs");
    check(cudnnGetRNNProjectionLayers(handle, b.old, &recurrent, &output) == 0 && recurrent == 0 && output == 0, "projections");
    check(cudnnGetRNNDescriptor_v6(handle, b.old, &hidden, &layers, NULL, NULL, NULL, &cell, NULL, NULL) == 0 &&
              hidden == HIDDEN && layers == LAYERS && cell == CUDNN_GRU,
          "what was set");
    check(cudnnSetRNNBiasMode(b.old, CUDNN_RNN_NO_BIAS) == 0 && cudnnGetRNNBiasMode(b.old, &bias) == 0 &&
              bias == CUDNN_RNN_NO_BIAS,
          "bias");
    check(cudnnGetRNNParamsSize(handle, b.old, b.x[0], &size, CUDNN_DATA_FLOAT) == 0 && size < b.weights, "without biases");
    both_drop(&b);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cudnnCreate(&handle) == 0, "create");
    for (int cell = 0; cell <= CUDNN_GRU; cell++)
        for (int dirs = 1; dirs <= (quick ? 1 : 2); dirs++)
            network((struct net){ cell, dirs, HIDDEN, cell & 1 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT });
    network((struct net){ CUDNN_LSTM, 2, 2, CUDNN_DATA_FLOAT });
    network((struct net){ CUDNN_LSTM, 1, HIDDEN, CUDNN_DATA_HALF });
    refusals();
    cudnnDestroy(handle);
    return done();
}
