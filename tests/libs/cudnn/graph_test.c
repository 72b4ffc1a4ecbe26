/* Operation graphs of cuDNN's backend interface against plain loops in double: convolutions with what is fused behind them,
 * products, norms, reductions, pooling, moves, attention forward and backward, ragged and paged; and what must be refused.
 * Usage: graph_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "backend.h"

#define A(name) AW_DNN_ATTRIBUTE_##name
#define D(name) AW_DNN_DESCRIPTOR_##name

enum {
    DATA_TYPE = 1,
    CONVOLUTION_MODE = 7,
    HEUR_MODE = 8,
    POINTWISE_MODE = 14,
    REDUCTION_OPERATOR = 18,
    RESAMPLE_MODE = 21,
    PADDING_MODE = 22,
    NORM_MODE = 27,
    NORM_PHASE = 28,
    RNG_DISTRIBUTION = 29
};

static cudnnHandle_t handle;
typedef cudnnBackendDescriptor_t descriptor;

/* ---- Building */

static descriptor made[512];
static int n_made;

static descriptor make(int type)
{
    descriptor d = NULL;
    check(cudnnBackendCreateDescriptor(type, &d) == 0, "descriptor %d", type);
    return made[n_made++] = d;
}

static void drop_all(void)
{
    while (n_made)
        cudnnBackendDestroyDescriptor(made[--n_made]);
}

static void set(descriptor d, int name, int type, long n, const void *data)
{
    int status = cudnnBackendSetAttribute(d, name, type, n, data);
    check(status == 0, "attribute %d: status %d", name, status);
}

static void set_int(descriptor d, int name, int type, int value)
{
    set(d, name, type, 1, &value);
}
static void set_part(descriptor d, int name, descriptor part)
{
    set(d, name, AW_DNN_BACKEND_DESCRIPTOR, 1, &part);
}
static void finish(descriptor d)
{
    check(cudnnBackendFinalize(d) == 0, "finalize");
}

static void set_ints(descriptor d, int name, int n, const int v[])
{
    int64_t wide[8];
    for (int i = 0; i < n; i++)
        wide[i] = v[i];
    set(d, name, AW_DNN_INT64, n, wide);
}

/* Tensors of the graph in the making, and their memory. */
static descriptor ops[64];
static int64_t uids[64];
static void *pointers[64];
static int n_ops, n_tensors;

static descriptor describe(int type, int n, const int dim[], const int stride[], int is_virtual)
{
    descriptor t = make(D(TENSOR));
    int64_t uid = 100 + n_tensors, align = 16;
    unsigned char flag = (unsigned char)is_virtual;
    set_int(t, A(TENSOR_DATA_TYPE), DATA_TYPE, type);
    set_ints(t, A(TENSOR_DIMENSIONS), n, dim);
    set_ints(t, A(TENSOR_STRIDES), n, stride);
    set(t, A(TENSOR_UNIQUE_ID), AW_DNN_INT64, 1, &uid);
    set(t, A(TENSOR_BYTE_ALIGNMENT), AW_DNN_INT64, 1, &align);
    set(t, A(TENSOR_IS_VIRTUAL), AW_DNN_BOOLEAN, 1, &flag);
    uids[n_tensors] = uid;
    pointers[n_tensors++] = NULL;
    return t;
}

static descriptor user(struct tensor *t)
{
    descriptor d = describe(t->type, t->n, t->dim, t->stride, 0);
    pointers[n_tensors - 1] = t->device;
    finish(d);
    return d;
}

static descriptor between_of(int type, int n, const int dim[])
{
    int stride[8], step = 1;
    for (int i = n - 1; i >= 0; i--) {
        stride[i] = step;
        step *= dim[i];
    }
    descriptor d = describe(type, n, dim, stride, 1);
    finish(d);
    return d;
}

static descriptor between(int n, const int dim[])
{
    return between_of(CUDNN_DATA_FLOAT, n, dim);
}

/* A scalar of the host's. */
static descriptor value(const float *v)
{
    static const int one[] = { 1, 1, 1, 1 };
    unsigned char yes = 1;
    descriptor d = describe(CUDNN_DATA_FLOAT, 4, one, one, 0);
    set(d, A(TENSOR_IS_BY_VALUE), AW_DNN_BOOLEAN, 1, &yes);
    pointers[n_tensors - 1] = (void *)v;
    finish(d);
    return d;
}

static void operation(descriptor op)
{
    finish(op);
    ops[n_ops++] = op;
}

static descriptor pointwise_descriptor(int mode)
{
    descriptor p = make(D(POINTWISE));
    set_int(p, A(POINTWISE_MODE), POINTWISE_MODE, mode);
    set_int(p, A(POINTWISE_MATH_PREC), DATA_TYPE, CUDNN_DATA_FLOAT);
    return p;
}

static descriptor pointwise(int mode, descriptor x, descriptor b, descriptor t, descriptor y)
{
    descriptor p = pointwise_descriptor(mode), op = make(D(OPERATION_POINTWISE));
    finish(p);
    set_part(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), p);
    set_part(op, A(OPERATION_POINTWISE_XDESC), x);
    if (b)
        set_part(op, A(OPERATION_POINTWISE_BDESC), b);
    if (t)
        set_part(op, A(OPERATION_POINTWISE_TDESC), t);
    set_part(op, A(OPERATION_POINTWISE_YDESC), y);
    operation(op);
    return y;
}

static descriptor index_of(int axis, descriptor x, descriptor y)
{
    descriptor p = pointwise_descriptor(AW_DNN_GEN_INDEX), op = make(D(OPERATION_POINTWISE));
    int64_t wide = axis;
    set(p, A(POINTWISE_AXIS), AW_DNN_INT64, 1, &wide);
    finish(p);
    set_part(op, A(OPERATION_POINTWISE_PW_DESCRIPTOR), p);
    set_part(op, A(OPERATION_POINTWISE_XDESC), x);
    set_part(op, A(OPERATION_POINTWISE_YDESC), y);
    operation(op);
    return y;
}

static descriptor matmul(descriptor a, descriptor b, descriptor c)
{
    descriptor m = make(D(MATMUL)), op = make(D(OPERATION_MATMUL));
    set_int(m, A(MATMUL_COMP_TYPE), DATA_TYPE, CUDNN_DATA_FLOAT);
    finish(m);
    set_part(op, A(OPERATION_MATMUL_DESC), m);
    set_part(op, A(OPERATION_MATMUL_ADESC), a);
    set_part(op, A(OPERATION_MATMUL_BDESC), b);
    set_part(op, A(OPERATION_MATMUL_CDESC), c);
    operation(op);
    return c;
}

static descriptor reduce(int kind, descriptor x, descriptor y)
{
    descriptor r = make(D(REDUCTION)), op = make(D(OPERATION_REDUCTION));
    set_int(r, A(REDUCTION_OPERATOR), REDUCTION_OPERATOR, kind);
    set_int(r, A(REDUCTION_COMP_TYPE), DATA_TYPE, CUDNN_DATA_FLOAT);
    finish(r);
    set_part(op, A(OPERATION_REDUCTION_DESC), r);
    set_part(op, A(OPERATION_REDUCTION_XDESC), x);
    set_part(op, A(OPERATION_REDUCTION_YDESC), y);
    operation(op);
    return y;
}

static descriptor reshape(descriptor x, descriptor y)
{
    descriptor op = make(D(OPERATION_RESHAPE));
    set_part(op, A(OPERATION_RESHAPE_XDESC), x);
    set_part(op, A(OPERATION_RESHAPE_YDESC), y);
    operation(op);
    return y;
}

/* ---- From a graph to its results, the way all programs go: heuristics, configuration, plan, pack. */

static int graph_finish(descriptor *ret)
{
    descriptor g = make(D(OPERATIONGRAPH));
    set(g, A(OPERATIONGRAPH_OPS), AW_DNN_BACKEND_DESCRIPTOR, n_ops, ops);
    set(g, A(OPERATIONGRAPH_HANDLE), AW_DNN_HANDLE, 1, &handle);
    *ret = g;
    return cudnnBackendFinalize(g);
}

/* XLA makes descriptors for an engine's knobs before it asks how many there are. */
static void knobs_ask(descriptor engine)
{
    descriptor knobs[2] = { make(D(KNOB_INFO)), make(D(KNOB_INFO)) };
    int64_t n = -1;
    check(cudnnBackendGetAttribute(engine, A(ENGINE_KNOB_INFO), AW_DNN_BACKEND_DESCRIPTOR, 2, &n, knobs) == 0 && n == 0,
          "knobs: %ld", (long)n);
}

static int plan_finish(descriptor graph, int mode, descriptor *ret)
{
    descriptor heur = make(D(ENGINEHEUR)), config = make(D(ENGINECFG)), engine = make(D(ENGINE)), plan = make(D(EXECUTION_PLAN));
    int64_t n = 0, workspace = -1, notes = -1;
    set_part(heur, A(ENGINEHEUR_OPERATION_GRAPH), graph);
    set_int(heur, A(ENGINEHEUR_MODE), HEUR_MODE, mode);
    int status = cudnnBackendFinalize(heur);
    if (status)
        return status;
    check(cudnnBackendGetAttribute(heur, A(ENGINEHEUR_RESULTS), AW_DNN_BACKEND_DESCRIPTOR, 0, &n, NULL) == 0 && n == 1,
          "heuristics: %ld", (long)n);
    check(cudnnBackendGetAttribute(heur, A(ENGINEHEUR_RESULTS), AW_DNN_BACKEND_DESCRIPTOR, 1, &n, &config) == 0 && n == 1,
          "heuristics");
    check(cudnnBackendGetAttribute(config, A(ENGINECFG_ENGINE), AW_DNN_BACKEND_DESCRIPTOR, 1, &n, &engine) == 0, "engine");
    check(cudnnBackendGetAttribute(engine, A(ENGINE_NUMERICAL_NOTE), 11, 10, &notes, NULL) == 0 && notes == 0, "notes");
    set(plan, A(EXECUTION_PLAN_HANDLE), AW_DNN_HANDLE, 1, &handle);
    set_part(plan, A(EXECUTION_PLAN_ENGINE_CONFIG), config);
    finish(plan);
    check(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_WORKSPACE_SIZE), AW_DNN_INT64, 1, &n, &workspace) == 0 &&
              workspace == 0,
          "workspace");
    knobs_ask(engine);
    *ret = plan;
    return 0;
}

/* A plan made of what another one tells of itself; every other plan is executed as such. */
static descriptor plan_of_text(descriptor plan)
{
    descriptor again = make(D(EXECUTION_PLAN));
    int64_t n = 0, got = 0, workspace = -1;
    check(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, 0, &n, NULL) == 0 && n > 0,
          "a plan's text");
    char *text = calloc((size_t)n + 1, 1), *other = calloc((size_t)n + 1, 1);
    check(cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, n, &got, text) == 0 && got == n &&
              text[n - 1] == '}',
          "a plan's text: %ld of %ld", (long)got, (long)n);
    set(again, A(EXECUTION_PLAN_HANDLE), AW_DNN_HANDLE, 1, &handle);
    set(again, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, n, text);
    finish(again);
    check(cudnnBackendGetAttribute(again, A(EXECUTION_PLAN_WORKSPACE_SIZE), AW_DNN_INT64, 1, &got, &workspace) == 0 &&
              workspace == 0,
          "workspace of a plan made of text");
    check(cudnnBackendGetAttribute(again, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, n, &got, other) == 0 && got > 0,
          "a text of a plan made of text"); /* parts may come in another order */
    free(text), free(other);
    return again;
}

int cudaGraphCreate(void **graph, unsigned flags);
int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *exec, void *stream);
int cudaGraphExecDestroy(void *exec);
int cudaGraphDestroy(void *graph);

static bool by_graph; /* every other plan is executed as part of a graph */

/* What it was populated with first goes when it is updated. */
static int execute_in_graph(descriptor plan, descriptor pack)
{
    void *graph, *exec;
    check(cudaGraphCreate(&graph, 0) == 0, "graph");
    int status = cudnnBackendPopulateCudaGraph(handle, plan, pack, graph);
    if (status) {
        cudaGraphDestroy(graph);
        return status; /* as execution of it is refused */
    }
    check(cudnnBackendUpdateCudaGraph(handle, plan, pack, graph) == 0, "update");
    check(cudaGraphInstantiate(&exec, graph, 0) == 0 && cudaGraphDestroy(graph) == 0, "instantiate");
    check(cudaGraphLaunch(exec, NULL) == 0 && cudaDeviceSynchronize() == 0, "launch");
    check(cudaGraphExecDestroy(exec) == 0, "destroy");
    return status;
}

static int execute(descriptor plan)
{
    descriptor pack = make(D(VARIANT_PACK));
    int64_t ids[64];
    void *at[64];
    int n = 0;
    for (int i = 0; i < n_tensors; i++)
        if (pointers[i]) {
            ids[n] = uids[i];
            at[n++] = pointers[i];
        }
    set(pack, A(VARIANT_PACK_UNIQUE_IDS), AW_DNN_INT64, n, ids);
    set(pack, A(VARIANT_PACK_DATA_POINTERS), AW_DNN_VOID_PTR, n, at);
    finish(pack);
    return by_graph ? execute_in_graph(plan, pack) : (int)cudnnBackendExecute(handle, plan, pack);
}

static void run(const char *what)
{
    static int mode;
    descriptor graph, plan = NULL;
    int status = graph_finish(&graph);
    mode = (mode + 1) % 4;
    if (check(status == 0, "%s: graph: status %d", what, status) &&
        check(plan_finish(graph, mode, &plan) == 0, "%s: plan", what)) {
        by_graph = !by_graph;
        status = execute(mode & 2 ? plan_of_text(plan) : plan);
        check(status == 0, "%s: execute: status %d", what, status);
    }
    cudaDeviceSynchronize();
    n_ops = n_tensors = 0;
    drop_all();
}

/* ---- Convolutions */

static void convolution(int type)
{
    static const int xd[] = { 2, 4, 6, 5 }, wd[] = { 3, 4, 3, 3 }, yd[] = { 2, 3, 3, 5 }, bd[] = { 1, 3, 1, 1 }, two[] = { 1, 1 },
                     s[] = { 2, 1 };
    struct tensor x = tensor_make(type, CHANNELS_LAST, 4, xd), w = tensor_make(type, CHANNELS_LAST, 4, wd),
                  y = tensor_make(type, CHANNELS_LAST, 4, yd);
    struct tensor b = tensor_make(type, ROWS, 4, bd), z = tensor_make(type, CHANNELS_LAST, 4, yd);
    double *fy = calloc((size_t)y.count, 8), *gx = calloc((size_t)x.count, 8), *gw = calloc((size_t)w.count, 8);
    for (long i = 0; i < y.count; i++)
        for (long t = 0; t < 36; t++) {
            long n = i / 45, k = i / 15 % 3, r = i / 5 % 3 * 2 - 1 + t / 3 % 3, q = i % 5 - 1 + t % 3, c = t / 9;
            if (r < 0 || q < 0 || r >= 6 || q >= 5)
                continue;
            long ix = ((n * 4 + c) * 6 + r) * 5 + q, iw = (k * 4 + c) * 9 + t % 9;
            fy[i] += x.want[ix] * w.want[iw];
            gx[ix] += z.want[i] * w.want[iw];
            gw[iw] += z.want[i] * x.want[ix];
        }
    for (int kind = 0; kind < 3; kind++) {
        static const int names[3][4] = {
            { D(OPERATION_CONVOLUTION_FORWARD), A(OPERATION_CONVOLUTION_FORWARD_CONV_DESC),
              A(OPERATION_CONVOLUTION_FORWARD_ALPHA), A(OPERATION_CONVOLUTION_FORWARD_BETA) },
            { D(OPERATION_CONVOLUTION_BACKWARD_DATA), A(OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC),
              A(OPERATION_CONVOLUTION_BWD_DATA_ALPHA), A(OPERATION_CONVOLUTION_BWD_DATA_BETA) },
            { D(OPERATION_CONVOLUTION_BACKWARD_FILTER), A(OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC),
              A(OPERATION_CONVOLUTION_BWD_FILTER_ALPHA), A(OPERATION_CONVOLUTION_BWD_FILTER_BETA) }
        };
        static const int tensors[3][3] = {
            { A(OPERATION_CONVOLUTION_FORWARD_X), A(OPERATION_CONVOLUTION_FORWARD_W), A(OPERATION_CONVOLUTION_FORWARD_Y) },
            { A(OPERATION_CONVOLUTION_BWD_DATA_DX), A(OPERATION_CONVOLUTION_BWD_DATA_W), A(OPERATION_CONVOLUTION_BWD_DATA_DY) },
            { A(OPERATION_CONVOLUTION_BWD_FILTER_X), A(OPERATION_CONVOLUTION_BWD_FILTER_DW),
              A(OPERATION_CONVOLUTION_BWD_FILTER_DY) }
        };
        struct tensor gradient = tensor_make(type, CHANNELS_LAST, 4, kind == 2 ? wd : xd);
        descriptor conv = make(D(CONVOLUTION)), op = make(names[kind][0]);
        int64_t dims = 2;
        float one = 1, zero = 0;
        set_int(conv, A(CONVOLUTION_COMP_TYPE), DATA_TYPE, CUDNN_DATA_FLOAT);
        set_int(conv, A(CONVOLUTION_CONV_MODE), CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
        set(conv, A(CONVOLUTION_SPATIAL_DIMS), AW_DNN_INT64, 1, &dims);
        set_ints(conv, A(CONVOLUTION_DILATIONS), 2, two);
        set_ints(conv, A(CONVOLUTION_FILTER_STRIDES), 2, s);
        set_ints(conv, A(CONVOLUTION_PRE_PADDINGS), 2, two);
        set_ints(conv, A(CONVOLUTION_POST_PADDINGS), 2, two);
        finish(conv);
        set_part(op, names[kind][1], conv);
        set(op, names[kind][2], AW_DNN_FLOAT, 1, &one);
        set(op, names[kind][3], AW_DNN_FLOAT, 1, &zero);
        descriptor out = kind ? NULL : between(4, yd);
        set_part(op, tensors[kind][0], user(kind == 1 ? &gradient : &x));
        set_part(op, tensors[kind][1], user(kind == 2 ? &gradient : &w));
        set_part(op, tensors[kind][2], kind ? user(&z) : out);
        operation(op);
        if (kind == 0) { /* relu(conv + z + b), the program's order of operations not being ours */
            descriptor sum = pointwise(AW_DNN_ADD, out, user(&z), NULL, between(4, yd));
            descriptor biased = pointwise(AW_DNN_ADD, sum, user(&b), NULL, between(4, yd));
            pointwise(AW_DNN_RELU_FWD, biased, NULL, NULL, user(&y));
            descriptor last = ops[n_ops - 1];
            ops[n_ops - 1] = ops[0];
            ops[0] = last;
        }
        run("convolution");
        struct tensor *got = kind ? &gradient : &y;
        for (long i = 0; i < got->count; i++)
            got->want[i] = kind == 0 ? fmax(0, fy[i] + z.want[i] + b.want[i / 15 % 3]) : kind == 1 ? gx[i] : gw[i];
        tensor_is(got, kind == 0 ? "fused convolution" : kind == 1 ? "data's gradient" : "filter's gradient");
        tensor_drop(&gradient);
    }
    free(fy), free(gx), free(gw);
    tensor_drop(&x), tensor_drop(&w), tensor_drop(&y), tensor_drop(&b), tensor_drop(&z);
}

/* ---- Attention */

enum { B = 2, HQ = 4, HK = 2, SQ = 5, SK = 6, E = 4 };
static const int qd[] = { B, HQ, SQ, E }, kd[] = { B, HK, SK, E }, sd[] = { B, HQ, SQ, SK },
                 rd[] = { B, HQ, SQ, 1 };

struct attention {
    struct tensor q, k, v, o, stats, d_o, dq, dk, dv, sum;
    double p[B * HQ * SQ * SK];
};

/* The weights of scores masked by `kept`, outputs, statistics, and all gradients. */
static void plain_attention(struct attention *a, double scale, int causal)
{
    memset(a->p, 0, sizeof a->p);
    for (long i = 0; i < a->dk.count; i++)
        a->dk.want[i] = a->dv.want[i] = 0;
    for (int row = 0; row < B * HQ * SQ; row++) {
        int head = row / SQ, i = row % SQ, kv = head / HQ * HK + head % HQ / (HQ / HK);
        double max = -HUGE_VAL, sum = 0, dot = 0, *p = a->p + row * SK;
        for (int j = 0; j < SK; j++) {
            double s = 0;
            for (int e = 0; e < E; e++)
                s += a->q.want[row * E + e] * a->k.want[(kv * SK + j) * E + e];
            p[j] = causal && j > i ? -HUGE_VAL : s * scale;
            max = fmax(max, p[j]);
        }
        for (int j = 0; j < SK; j++)
            sum += p[j] = exp(p[j] - max);
        a->stats.want[row] = max + log(sum);
        for (int e = 0; e < E; e++) {
            double o = 0;
            for (int j = 0; j < SK; j++)
                o += p[j] / sum * a->v.want[(kv * SK + j) * E + e];
            a->o.want[row * E + e] = o;
            a->dq.want[row * E + e] = 0;
            dot += o * a->d_o.want[row * E + e];
        }
        for (int j = 0; j < SK; j++) {
            double dp = 0;
            p[j] /= sum;
            for (int e = 0; e < E; e++) {
                dp += a->d_o.want[row * E + e] * a->v.want[(kv * SK + j) * E + e];
                a->dv.want[(kv * SK + j) * E + e] += p[j] * a->d_o.want[row * E + e];
            }
            double ds = p[j] * (dp - dot) * scale;
            for (int e = 0; e < E; e++) {
                a->dq.want[row * E + e] += ds * a->k.want[(kv * SK + j) * E + e];
                a->dk.want[(kv * SK + j) * E + e] += ds * a->q.want[row * E + e];
            }
        }
    }
}

/* The tensor seen with its last two dimensions exchanged. */
static descriptor exchanged(struct tensor *t)
{
    int dim[4] = { t->dim[0], t->dim[1], t->dim[3], t->dim[2] },
        stride[4] = { t->stride[0], t->stride[1], t->stride[3], t->stride[2] };
    descriptor d = describe(t->type, 4, dim, stride, 0);
    pointers[n_tensors - 1] = t->device;
    finish(d);
    return d;
}

/* Scores: scaled, and with what is behind the diagonal far below. */
static descriptor scores(struct attention *a, const float *scale, const float *low, int causal)
{
    descriptor s = matmul(user(&a->q), exchanged(&a->k), between(4, sd));
    s = pointwise(AW_DNN_MUL, s, value(scale), NULL, between(4, sd));
    if (!causal)
        return s;
    descriptor row = index_of(2, s, between_of(CUDNN_DATA_INT32, 4, sd)),
               col = index_of(3, s, between_of(CUDNN_DATA_INT32, 4, sd));
    descriptor kept = pointwise(AW_DNN_CMP_GE, row, col, NULL, between_of(CUDNN_DATA_BOOLEAN, 4, sd));
    return pointwise(AW_DNN_BINARY_SELECT, s, value(low), kept, between(4, sd));
}

static void attention_forward(struct attention *a, const float *scale, const float *low, int causal)
{
    descriptor s = scores(a, scale, low, causal), max = reduce(CUDNN_REDUCE_TENSOR_MAX, s, between(4, rd));
    descriptor e = pointwise(AW_DNN_EXP, pointwise(AW_DNN_SUB, s, max, NULL, between(4, sd)), NULL, NULL, between(4, sd));
    descriptor sum = reduce(CUDNN_REDUCE_TENSOR_ADD, e, between(4, rd));
    pointwise(AW_DNN_ADD, max, pointwise(AW_DNN_LOG, sum, NULL, NULL, between(4, rd)), NULL, user(&a->stats));
    descriptor p = pointwise(AW_DNN_DIV, e, sum, NULL, between(4, sd));
    matmul(p, user(&a->v), user(&a->o));
    run("attention");
}

/* As one operation. */
static void attention_operation(struct attention *a, const float *scale, const float *low, int causal)
{
    descriptor op = make(D(OPERATION_SDPA_FWD));
    set_part(op, A(OPERATION_SDPA_FWD_QDESC), user(&a->q));
    set_part(op, A(OPERATION_SDPA_FWD_KDESC), user(&a->k));
    set_part(op, A(OPERATION_SDPA_FWD_VDESC), user(&a->v));
    set_part(op, A(OPERATION_SDPA_FWD_ODESC), user(&a->o));
    set_part(op, A(OPERATION_SDPA_FWD_STATSDESC), user(&a->stats));
    set_part(op, A(OPERATION_SDPA_FWD_SCALEDESC), value(scale));
    if (causal) {
        descriptor mask = make(D(OPERATION_DIAGONAL_BAND_MASK)), graph = make(D(OPERATIONGRAPH));
        descriptor in = between(4, sd);
        int64_t in_uid = uids[n_tensors - 1];
        descriptor out = between(4, sd);
        int64_t out_uid = uids[n_tensors - 1];
        set_part(mask, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), in);
        set_part(mask, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), value(low));
        set_part(mask, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), out);
        set_int(mask, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), POINTWISE_MODE, AW_DNN_CMP_GE);
        finish(mask);
        set(graph, A(OPERATIONGRAPH_OPS), AW_DNN_BACKEND_DESCRIPTOR, 1, &mask);
        finish(graph);
        set_part(op, A(OPERATION_SDPA_FWD_SUBGRAPH), graph);
        set(op, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), AW_DNN_INT64, 1, &in_uid);
        set(op, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), AW_DNN_INT64, 1, &out_uid);
    }
    operation(op);
    run("attention as an operation");
}

static void attention_backward(struct attention *a, const float *scale, const float *low, int causal)
{
    static const int dvd[] = { B, HQ, SK, E }, pt[] = { B, HQ, SK, SQ }, ps[] = { HQ * SQ * SK, SQ * SK, 1, SK };
    descriptor s = scores(a, scale, low, causal), q = NULL;
    descriptor p = pointwise(AW_DNN_EXP, pointwise(AW_DNN_SUB, s, user(&a->stats), NULL, between(4, sd)), NULL, NULL,
                             between(4, sd));
    descriptor turned = describe(CUDNN_DATA_FLOAT, 4, pt, ps, 1), turned_ds = describe(CUDNN_DATA_FLOAT, 4, pt, ps, 1);
    finish(turned), finish(turned_ds);
    descriptor d_o = user(&a->d_o);
    reduce(CUDNN_REDUCE_TENSOR_ADD, matmul(reshape(p, turned), d_o, between(4, dvd)), user(&a->dv));
    descriptor dp = matmul(d_o, exchanged(&a->v), between(4, sd));
    /* Programs give virtual tensors strides by which elements lie on one another. */
    static const int strange[] = { HQ * SQ * E, SQ * E, HQ * E, 1 };
    descriptor product = describe(CUDNN_DATA_FLOAT, 4, qd, strange, 1);
    finish(product);
    descriptor dot = reduce(CUDNN_REDUCE_TENSOR_ADD, pointwise(AW_DNN_MUL, d_o, user(&a->o), NULL, product), between(4, rd));
    descriptor ds = pointwise(AW_DNN_MUL, pointwise(AW_DNN_SUB, dp, dot, NULL, between(4, sd)), p, NULL, between(4, sd));
    ds = pointwise(AW_DNN_MUL, ds, value(scale), NULL, between(4, sd));
    /* dq by way of memory of the program's, and read before the operation that writes it in the order given. */
    descriptor sum = user(&a->sum);
    pointwise(AW_DNN_IDENTITY, sum, NULL, NULL, user(&a->dq));
    /* Keys by the view that scores take, turned back: a virtual tensor with the strides of the program's, gaps and all. */
    descriptor k = describe(a->k.type, 4, a->k.dim, a->k.stride, 1);
    finish(k);
    matmul(ds, reshape(exchanged(&a->k), k), sum);
    q = user(&a->q);
    reduce(CUDNN_REDUCE_TENSOR_ADD, matmul(reshape(ds, turned_ds), q, between(4, dvd)), user(&a->dk));
    run("attention's gradient");
}

static void attention(int type, int causal)
{
    struct attention a = { tensor_make(type, ROWS, 4, qd),
                           tensor_make(type, GAPS, 4, kd),
                           tensor_make(type, CHANNELS_LAST, 4, kd),
                           tensor_make(type, CHANNELS_LAST, 4, qd),
                           tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, rd),
                           tensor_make(type, ROWS, 4, qd),
                           tensor_make(type, ROWS, 4, qd),
                           tensor_make(type, ROWS, 4, kd),
                           tensor_make(type, CHANNELS_LAST, 4, kd),
                           tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, qd),
                           { 0 } };
    static const float scale = 0.5f, low = -1e9f;
    struct tensor *all[] = { &a.q, &a.k, &a.v, &a.o, &a.stats, &a.d_o, &a.dq, &a.dk, &a.dv, &a.sum };
    plain_attention(&a, scale, causal);
    attention_forward(&a, &scale, &low, causal);
    tensor_is(&a.o, "attention: outputs"), tensor_is(&a.stats, "attention: statistics");
    attention_backward(&a, &scale, &low, causal);
    tensor_is(&a.dq, "attention: dq"), tensor_is(&a.dk, "attention: dk"), tensor_is(&a.dv, "attention: dv");
    memset(a.o.host, 0, (size_t)a.o.extent * size_of(type));
    cudaMemcpy(a.o.device, a.o.host, (size_t)a.o.extent * size_of(type), 1);
    attention_operation(&a, &scale, &low, causal);
    tensor_is(&a.o, "attention as an operation: outputs"), tensor_is(&a.stats, "attention as an operation: statistics");
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tensor_drop(all[i]);
}

/* Two sequences of 3 and 2 tokens without room between, for one head; what is behind them must stay. */
static void ragged(void)
{
    enum { T = 5, S = 3 };
    static const int dim[] = { 2, 1, S, E }, stride[] = { S * E, E, E, 1 }, od[] = { 3, 1, 1, 1 }, ld[] = { 2, 1, 1, 1 },
                     row[] = { T + 2, E }, ones[] = { 1, 1, 1, 1 };
    struct tensor mem[4];
    int offsets[] = { 0, 3 * E, 5 * E }, lengths[] = { 3, 2 };
    void *od_at, *ld_at;
    for (int i = 0; i < 4; i++)
        mem[i] = tensor_make(CUDNN_DATA_FLOAT, ROWS, 2, row);
    cudaMalloc(&od_at, sizeof offsets), cudaMalloc(&ld_at, sizeof lengths);
    cudaMemcpy(od_at, offsets, sizeof offsets, 1), cudaMemcpy(ld_at, lengths, sizeof lengths, 1);
    descriptor op = make(D(OPERATION_SDPA_FWD)), off = describe(CUDNN_DATA_INT32, 4, od, ones, 0), part[4];
    pointers[n_tensors - 1] = od_at;
    finish(off);
    for (int i = 0; i < 4; i++) {
        part[i] = describe(CUDNN_DATA_FLOAT, 4, dim, stride, 0);
        pointers[n_tensors - 1] = mem[i].device;
        set_part(part[i], A(TENSOR_RAGGED_OFFSET_DESC), off);
        finish(part[i]);
    }
    descriptor len = describe(CUDNN_DATA_INT32, 4, ld, ones, 0);
    pointers[n_tensors - 1] = ld_at;
    finish(len);
    set_part(op, A(OPERATION_SDPA_FWD_QDESC), part[0]);
    set_part(op, A(OPERATION_SDPA_FWD_KDESC), part[1]);
    set_part(op, A(OPERATION_SDPA_FWD_VDESC), part[2]);
    set_part(op, A(OPERATION_SDPA_FWD_ODESC), part[3]);
    set_part(op, A(OPERATION_SDPA_FWD_SEQ_LEN_QDESC), len);
    set_part(op, A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), len);
    operation(op);
    run("ragged attention");
    for (int t = 0; t < T; t++) {
        int first = t < 3 ? 0 : 3, n = t < 3 ? 3 : 2;
        double p[S], sum = 0;
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int e = 0; e < E; e++)
                s += mem[0].want[t * E + e] * mem[1].want[(first + j) * E + e];
            sum += p[j] = exp(s);
        }
        for (int e = 0; e < E; e++) {
            mem[3].want[t * E + e] = 0;
            for (int j = 0; j < n; j++)
                mem[3].want[t * E + e] += p[j] / sum * mem[2].want[(first + j) * E + e];
        }
    }
    tensor_is(&mem[3], "ragged attention");
    for (int i = 0; i < 4; i++)
        tensor_drop(&mem[i]);
    cudaFree(od_at), cudaFree(ld_at);
}

/* ---- Keys and values in pages: a cache of which each batch has some, in any order */

enum { PAGES = 7, PLACES = 2 };

struct pages {
    struct tensor cache[2], table[2], lengths, q, o;
};

static struct pages pages_make(int type)
{
    static const int cd[] = { PAGES, HK, PLACES, E }, td[] = { B, 1, SK / PLACES, 1 }, ld[] = { B, 1, 1, 1 };
    static const int of[2][B * SK / PLACES] = { { 4, 0, 6, 2, 5, 0 }, { 1, 3, 2, 6, 0, 5 } }, lengths[B] = { 6, 3 };
    struct pages p = { .lengths = tensor_make(CUDNN_DATA_INT32, ROWS, 4, ld),
                       .q = tensor_make(type, ROWS, 4, qd),
                       .o = tensor_make(type, ROWS, 4, qd) };
    for (int i = 0; i < 2; i++) {
        p.cache[i] = tensor_make(type, i ? CHANNELS_LAST : ROWS, 4, cd);
        p.table[i] = tensor_make(CUDNN_DATA_INT32, ROWS, 4, td);
        for (int j = 0; j < p.table[i].count; j++)
            p.table[i].want[j] = of[i][j];
        tensor_put(&p.table[i]);
    }
    for (int i = 0; i < B; i++)
        p.lengths.want[i] = lengths[i];
    tensor_put(&p.lengths);
    return p;
}

/* Place s of batch b and head h, element e, of keys (0) or values (1). */
static double paged(const struct pages *p, int which, int b, int h, int s, int e)
{
    long page = (long)p->table[which].want[b * (SK / PLACES) + s / PLACES];
    return p->cache[which].want[((page * HK + h) * PLACES + s % PLACES) * E + e];
}

static void plain_pages(struct pages *p, double scale)
{
    for (int row = 0; row < B * HQ * SQ; row++) {
        int b = row / SQ / HQ, h = row / SQ % HQ / (HQ / HK), n = (int)p->lengths.want[b];
        double w[SK], sum = 0;
        for (int j = 0; j < n; j++) {
            double s = 0;
            for (int e = 0; e < E; e++)
                s += p->q.want[row * E + e] * paged(p, 0, b, h, j, e);
            sum += w[j] = exp(s * scale);
        }
        for (int e = 0; e < E; e++) {
            p->o.want[row * E + e] = 0;
            for (int j = 0; j < n; j++)
                p->o.want[row * E + e] += w[j] / sum * paged(p, 1, b, h, j, e);
        }
    }
}

static descriptor load_pages(struct pages *p, int which, descriptor lengths)
{
    static const int turned[] = { B, HK, E, SK }, strides[] = { HK * E * SK, E * SK, 1, E };
    descriptor y = which ? between_of(p->q.type, 4, kd) : describe(p->q.type, 4, turned, strides, 1);
    descriptor op = make(D(OPERATION_PAGED_CACHE_LOAD));
    if (!which)
        finish(y);
    set_part(op, A(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC), user(&p->cache[which]));
    set_part(op, A(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC), user(&p->table[which]));
    set_part(op, A(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC), lengths);
    set_part(op, A(OPERATION_PAGED_CACHE_LOAD_YDESC), y);
    operation(op);
    return y;
}

/* The pages by operations of their own, with a mask of places behind the length. */
static void pages_in_a_graph(struct pages *p, const float *scale, const float *low)
{
    descriptor lengths = user(&p->lengths);
    descriptor s = matmul(user(&p->q), load_pages(p, 0, lengths), between(4, sd));
    s = pointwise(AW_DNN_MUL, s, value(scale), NULL, between(4, sd));
    descriptor kept = pointwise(AW_DNN_CMP_LT, index_of(3, s, between_of(CUDNN_DATA_INT32, 4, sd)), lengths, NULL,
                                between_of(CUDNN_DATA_BOOLEAN, 4, sd));
    s = pointwise(AW_DNN_BINARY_SELECT, s, value(low), kept, between(4, sd));
    descriptor e = pointwise(AW_DNN_EXP, s, NULL, NULL, between(4, sd));
    descriptor w = pointwise(AW_DNN_DIV, e, reduce(CUDNN_REDUCE_TENSOR_ADD, e, between(4, rd)), NULL, between(4, sd));
    matmul(w, load_pages(p, 1, lengths), user(&p->o));
    run("pages in a graph");
}

static void pages_in_attention(struct pages *p, const float *scale, int modified)
{
    descriptor op = make(D(OPERATION_SDPA_FWD));
    set_part(op, A(OPERATION_SDPA_FWD_QDESC), user(&p->q));
    set_part(op, A(OPERATION_SDPA_FWD_KDESC), user(&p->cache[0]));
    set_part(op, A(OPERATION_SDPA_FWD_VDESC), user(&p->cache[1]));
    set_part(op, A(OPERATION_SDPA_FWD_ODESC), user(&p->o));
    set_part(op, A(OPERATION_SDPA_FWD_SCALEDESC), value(scale));
    set_part(op, A(OPERATION_SDPA_FWD_SEQ_LEN_KVDESC), user(&p->lengths));
    set_part(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_KDESC), user(&p->table[0]));
    set_part(op, A(OPERATION_SDPA_FWD_PAGE_TABLE_VDESC), user(&p->table[1]));
    if (modified) {
        descriptor graph = make(D(OPERATIONGRAPH)), in = between(4, sd);
        int64_t in_uid = uids[n_tensors - 1], out_uid;
        pointwise(AW_DNN_IDENTITY, in, NULL, NULL, between(4, sd));
        out_uid = uids[n_tensors - 1];
        descriptor inner = ops[--n_ops];
        set(graph, A(OPERATIONGRAPH_OPS), AW_DNN_BACKEND_DESCRIPTOR, 1, &inner);
        finish(graph);
        set_part(op, A(OPERATION_SDPA_FWD_SUBGRAPH), graph);
        set(op, A(OPERATION_SDPA_FWD_SUBGRAPH_INPUT_UID), AW_DNN_INT64, 1, &in_uid);
        set(op, A(OPERATION_SDPA_FWD_SUBGRAPH_OUTPUT_UID), AW_DNN_INT64, 1, &out_uid);
    }
    operation(op);
    run("pages in attention");
}

static void pages(int type)
{
    static const float scale = 0.5f, low = -1e9f;
    struct pages p = pages_make(type);
    plain_pages(&p, scale);
    for (int way = 0; way < 3; way++) {
        memset(p.o.host, 0, (size_t)p.o.extent * size_of(type));
        cudaMemcpy(p.o.device, p.o.host, (size_t)p.o.extent * size_of(type), 1);
        if (way == 0)
            pages_in_a_graph(&p, &scale, &low);
        else
            pages_in_attention(&p, &scale, way == 2);
        tensor_is(&p.o, way ? "pages in attention" : "pages in a graph");
    }
    p.table[1].want[1] = PAGES; /* a page that is none: no number comes of it */
    tensor_put(&p.table[1]);
    pages_in_attention(&p, &scale, 0);
    for (int i = 0; i < p.o.count; i++)
        p.o.want[i] = NAN;
    tensor_is(&p.o, "a page that is none");
    for (int i = 0; i < 2; i++)
        tensor_drop(&p.cache[i]), tensor_drop(&p.table[i]);
    tensor_drop(&p.lengths), tensor_drop(&p.q), tensor_drop(&p.o);
}

/* ---- Norms */

static void norm(int mode)
{
    static const int xd[] = { 3, 4, 2, 5 }, shapes[][2][4] = { { { 1, 4, 2, 5 }, { 3, 1, 1, 1 } },
                                                               { { 1, 4, 1, 1 }, { 3, 4, 1, 1 } },
                                                               { { 1, 4, 1, 1 }, { 1, 4, 1, 1 } },
                                                               { { 0 }, { 0 } },
                                                               { { 1, 4, 2, 5 }, { 3, 1, 1, 1 } } };
    const int *sd4 = shapes[mode][0], *md = shapes[mode][1];
    int rms = mode == 4;
    char what[40];
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, xd), y = tensor_make(CUDNN_DATA_HALF, CHANNELS_LAST, 4, xd);
    struct tensor dy = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, xd), dx = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, xd);
    struct tensor scale = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, sd4), bias = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, sd4);
    struct tensor ds = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, sd4), db = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, sd4);
    struct tensor mean = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, md), inv = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, md);
    static const float eps = 1e-3f;
    snprintf(what, sizeof what, "norm %d", mode);
    long each = x.count / mean.count;
    double *m = calloc((size_t)mean.count, 8), *v = calloc((size_t)mean.count, 8), *a = calloc((size_t)mean.count, 8),
           *b = calloc((size_t)mean.count, 8);
    long *st = malloc((size_t)x.count * sizeof *st), *pa = malloc((size_t)x.count * sizeof *pa);
    for (long i = 0; i < x.count; i++) {
        long at[] = { i / 40, i / 10 % 4, i / 5 % 2, i % 5 };
        st[i] = pa[i] = 0;
        for (int d = 0; d < 4; d++) {
            st[i] = st[i] * md[d] + (md[d] == 1 ? 0 : at[d]);
            pa[i] = pa[i] * sd4[d] + (sd4[d] == 1 ? 0 : at[d]);
        }
        m[st[i]] += rms ? 0 : x.want[i] / (double)each;
    }
    for (long i = 0; i < x.count; i++)
        v[st[i]] += pow(x.want[i] - m[st[i]], 2) / (double)each;
    descriptor op = make(D(OPERATION_NORM_FORWARD));
    set_int(op, A(OPERATION_NORM_FWD_MODE), NORM_MODE, mode);
    set_int(op, A(OPERATION_NORM_FWD_PHASE), NORM_PHASE, 1);
    set_part(op, A(OPERATION_NORM_FWD_XDESC), user(&x));
    set_part(op, A(OPERATION_NORM_FWD_YDESC), user(&y));
    set_part(op, A(OPERATION_NORM_FWD_SCALE_DESC), user(&scale));
    if (!rms) {
        set_part(op, A(OPERATION_NORM_FWD_BIAS_DESC), user(&bias));
        set_part(op, A(OPERATION_NORM_FWD_MEAN_DESC), user(&mean));
    }
    set_part(op, A(OPERATION_NORM_FWD_INV_VARIANCE_DESC), user(&inv));
    set_part(op, A(OPERATION_NORM_FWD_EPSILON_DESC), value(&eps));
    operation(op);
    run(what);
    for (long i = 0; i < mean.count; i++)
        mean.want[i] = m[i], inv.want[i] = 1 / sqrt(v[i] + eps);
    for (long i = 0; i < x.count; i++) {
        double hat = (x.want[i] - m[st[i]]) * inv.want[st[i]];
        y.want[i] = hat * scale.want[pa[i]] + (rms ? 0 : bias.want[pa[i]]);
        a[st[i]] += dy.want[i] * scale.want[pa[i]];
        b[st[i]] += dy.want[i] * scale.want[pa[i]] * hat;
    }
    tensor_is(&y, what), tensor_is(&inv, what);
    if (!rms)
        tensor_is(&mean, what);
    op = make(D(OPERATION_NORM_BACKWARD));
    set_int(op, A(OPERATION_NORM_BWD_MODE), NORM_MODE, mode);
    set_part(op, A(OPERATION_NORM_BWD_XDESC), user(&x));
    set_part(op, A(OPERATION_NORM_BWD_DYDESC), user(&dy));
    set_part(op, A(OPERATION_NORM_BWD_DXDESC), user(&dx));
    set_part(op, A(OPERATION_NORM_BWD_SCALE_DESC), user(&scale));
    if (!rms)
        set_part(op, A(OPERATION_NORM_BWD_MEAN_DESC), user(&mean));
    set_part(op, A(OPERATION_NORM_BWD_INV_VARIANCE_DESC), user(&inv));
    set_part(op, A(OPERATION_NORM_BWD_DSCALE_DESC), user(&ds));
    set_part(op, A(OPERATION_NORM_BWD_DBIAS_DESC), user(&db));
    operation(op);
    run(what);
    for (long i = 0; i < ds.count; i++)
        ds.want[i] = db.want[i] = 0;
    for (long i = 0; i < x.count; i++) {
        double hat = (x.want[i] - m[st[i]]) * inv.want[st[i]];
        ds.want[pa[i]] += dy.want[i] * hat;
        db.want[pa[i]] += dy.want[i];
        dx.want[i] = inv.want[st[i]] *
                     (dy.want[i] * scale.want[pa[i]] - (rms ? 0 : a[st[i]] / (double)each) - hat * b[st[i]] / (double)each);
    }
    tensor_is(&dx, what), tensor_is(&ds, what), tensor_is(&db, what);
    free(m), free(v), free(a), free(b), free(st), free(pa);
    struct tensor *all[] = { &x, &y, &dy, &dx, &scale, &bias, &ds, &db, &mean, &inv };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        tensor_drop(all[i]);
}

/* ---- Pooling with an index, and its gradient by it */

static void resample(void)
{
    static const int xd[] = { 2, 3, 4, 6 }, yd[] = { 2, 3, 2, 3 }, two[] = { 2, 2 }, none[] = { 0, 0 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, xd),
                  y = tensor_make(CUDNN_DATA_FLOAT, CHANNELS_LAST, 4, yd);
    struct tensor index = tensor_make(CUDNN_DATA_INT32, CHANNELS_LAST, 4, yd), dx = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, xd);
    for (int backward = 0; backward < 2; backward++) {
        descriptor r = make(D(RESAMPLE)), op = make(backward ? D(OPERATION_RESAMPLE_BWD) : D(OPERATION_RESAMPLE_FWD));
        set_int(r, A(RESAMPLE_MODE), RESAMPLE_MODE, 3);
        set_int(r, A(RESAMPLE_PADDING_MODE), PADDING_MODE, 1);
        set_int(r, A(RESAMPLE_COMP_TYPE), DATA_TYPE, CUDNN_DATA_FLOAT);
        set_ints(r, A(RESAMPLE_WINDOW_DIMS), 2, two);
        set_ints(r, A(RESAMPLE_STRIDES), 2, two);
        set_ints(r, A(RESAMPLE_PRE_PADDINGS), 2, none);
        set_ints(r, A(RESAMPLE_POST_PADDINGS), 2, none);
        finish(r);
        set_part(op, backward ? A(OPERATION_RESAMPLE_BWD_DESC) : A(OPERATION_RESAMPLE_FWD_DESC), r);
        set_part(op, backward ? A(OPERATION_RESAMPLE_BWD_DXDESC) : A(OPERATION_RESAMPLE_FWD_XDESC), user(backward ? &dx : &x));
        set_part(op, backward ? A(OPERATION_RESAMPLE_BWD_DYDESC) : A(OPERATION_RESAMPLE_FWD_YDESC), user(&y));
        set_part(op, backward ? A(OPERATION_RESAMPLE_BWD_IDXDESC) : A(OPERATION_RESAMPLE_FWD_IDXDESC), user(&index));
        operation(op);
        run("pooling");
    }
    for (long i = 0; i < dx.count; i++)
        dx.want[i] = 0;
    for (long i = 0; i < y.count; i++) {
        long plane = i / 6, best = -1;
        for (int k = 0; k < 4; k++) {
            long at = plane * 24 + (i / 3 % 2 * 2 + k / 2) * 6 + i % 3 * 2 + k % 2;
            if (best < 0 || x.want[at] > x.want[best])
                best = at, index.want[i] = k;
        }
        y.want[i] = dx.want[best] = x.want[best];
    }
    tensor_is(&y, "pooling"), tensor_is(&index, "pooling: index"), tensor_is(&dx, "pooling: gradient");
    tensor_drop(&x), tensor_drop(&y), tensor_drop(&index), tensor_drop(&dx);
}

/* ---- Moves and random numbers */

static void moves(void)
{
    static const int ad[] = { 2, 3, 4 }, bd[] = { 2, 2, 4 }, cd[] = { 2, 5, 4 }, td[] = { 4, 2, 5 }, wd[] = { 2, 1, 3 };
    struct tensor a = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, ad), b = tensor_make(CUDNN_DATA_FLOAT, GAPS, 3, bd),
                  c = tensor_make(CUDNN_DATA_FLOAT, GAPS, 3, cd);
    struct tensor t = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, td), w = tensor_make(CUDNN_DATA_FLOAT, ROWS, 3, wd);
    descriptor concat = make(D(OPERATION_CONCAT)), transpose = make(D(OPERATION_TRANSPOSE)), slice = make(D(OPERATION_SLICE));
    descriptor in[] = { user(&a), user(&b) }, out = user(&c), turned = user(&t);
    int64_t axis = 1, order[] = { 2, 0, 1 }, begin[] = { 1, 1, 0 }, end[] = { 3, 2, 5 }, step[] = { 1, 1, 2 };
    set(concat, A(OPERATION_CONCAT_AXIS), AW_DNN_INT64, 1, &axis);
    set(concat, A(OPERATION_CONCAT_INPUT_DESCS), AW_DNN_BACKEND_DESCRIPTOR, 2, in);
    set_part(concat, A(OPERATION_CONCAT_OUTPUT_DESC), out);
    operation(concat);
    set_part(transpose, A(OPERATION_TRANSPOSE_XDESC), out);
    set_part(transpose, A(OPERATION_TRANSPOSE_YDESC), turned);
    set(transpose, A(OPERATION_TRANSPOSE_PERMUTATION), AW_DNN_INT64, 3, order);
    operation(transpose);
    set_part(slice, A(OPERATION_SLICE_XDESC), turned);
    set_part(slice, A(OPERATION_SLICE_YDESC), user(&w));
    set(slice, A(OPERATION_SLICE_START_INDICES), AW_DNN_INT64, 3, begin);
    set(slice, A(OPERATION_SLICE_LIMIT_INDICES), AW_DNN_INT64, 3, end);
    set(slice, A(OPERATION_SLICE_STRIDES), AW_DNN_INT64, 3, step);
    operation(slice);
    run("moves");
    for (long i = 0; i < c.count; i++) {
        long x = i / 20, y = i / 4 % 5, z = i % 4;
        c.want[i] = y < 3 ? a.want[(x * 3 + y) * 4 + z] : b.want[(x * 2 + y - 3) * 4 + z];
        t.want[(z * 2 + x) * 5 + y] = c.want[i];
    }
    for (long i = 0; i < w.count; i++)
        w.want[i] = t.want[((i / 3 + 1) * 2 + 1) * 5 + i % 3 * 2];
    tensor_is(&c, "concat"), tensor_is(&t, "transpose"), tensor_is(&w, "slice");
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c), tensor_drop(&t), tensor_drop(&w);
}

static void random_numbers(void)
{
    static const int dim[] = { 1, 1, 64, 64 };
    struct tensor r[3];
    for (int k = 0; k < 3; k++) {
        r[k] = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
        descriptor d = make(D(RNG)), op = make(D(OPERATION_RNG));
        double p = 0.75;
        int64_t seed = k == 2 ? 8 : 7;
        set_int(d, A(RNG_DISTRIBUTION), RNG_DISTRIBUTION, 0);
        set(d, A(RNG_BERNOULLI_DIST_PROBABILITY), AW_DNN_DOUBLE, 1, &p);
        finish(d);
        set_part(op, A(OPERATION_RNG_DESC), d);
        set(op, A(OPERATION_RNG_SEED), AW_DNN_INT64, 1, &seed);
        set_part(op, A(OPERATION_RNG_YDESC), user(&r[k]));
        operation(op);
        run("random numbers");
        cudaMemcpy(r[k].host, r[k].device, (size_t)r[k].extent * 4, 2);
    }
    double sum = 0;
    long same = 0;
    for (long i = 0; i < r[0].count; i++) {
        double v = get(CUDNN_DATA_FLOAT, r[0].host, i);
        check(v == 0 || v == 1, "a bit is %g", v);
        sum += v;
        same += v == get(CUDNN_DATA_FLOAT, r[2].host, i);
    }
    check(fabs(sum / 4096 - 0.75) < 0.03, "%g of the bits are set", sum / 4096);
    check(!memcmp(r[0].host, r[1].host, 4096 * 4) && fabs((double)same / 4096 - 0.625) < 0.04, "seeds: %ld bits are the same",
          same);
    for (int k = 0; k < 3; k++)
        tensor_drop(&r[k]);
}

/* ---- What is refused */

/* Texts that are cut anywhere, or have another byte anywhere, are refused or are another plan; nothing else happens. */
static void texts(void)
{
    static const int dim[] = { 1, 2, 3, 4 };
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
    descriptor graph, plan = NULL;
    char text[8192];
    int64_t n = 0;
    pointwise(AW_DNN_EXP, pointwise(AW_DNN_ABS, user(&x), NULL, NULL, between(4, dim)), NULL, NULL, user(&y));
    check(graph_finish(&graph) == 0 && plan_finish(graph, 3, &plan) == 0 &&
              cudnnBackendGetAttribute(plan, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, sizeof text, &n, text) == 0 &&
              n < (int64_t)sizeof text,
          "a text of %ld bytes", (long)n);
    int taken = 0;
    for (int64_t i = 0; i < 2 * n; i++) {
        descriptor again = NULL;
        char kept = text[i / 2];
        bool cut = i % 2;
        cudnnBackendCreateDescriptor(D(EXECUTION_PLAN), &again);
        text[i / 2] = cut ? kept : (char)(kept ^ (1 << i / 2 % 7));
        cudnnBackendSetAttribute(again, A(EXECUTION_PLAN_JSON_REPRESENTATION), AW_DNN_CHAR, cut ? i / 2 : n, text);
        int status = cudnnBackendFinalize(again);
        taken += status == 0;
        check(!cut || status == CUDNN_STATUS_BAD_PARAM, "a text of %ld bytes: status %d", (long)(i / 2), status);
        text[i / 2] = kept;
        cudnnBackendDestroyDescriptor(again);
    }
    check(taken < n / 2, "%d of %ld changed texts are plans", taken, (long)n);
    n_ops = n_tensors = 0;
    drop_all();
    tensor_drop(&x), tensor_drop(&y);
}

static void refusals(void)
{
    static const int dim[] = { 1, 2, 3, 4 };
    descriptor d = NULL, graph, plan = NULL, t = make(D(TENSOR));
    int64_t n, uid = 1;
    int type = CUDNN_DATA_FLOAT;
    struct tensor x = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim), y = tensor_make(CUDNN_DATA_FLOAT, ROWS, 4, dim);
    check(cudnnBackendCreateDescriptor(28, &d) == CUDNN_STATUS_NOT_SUPPORTED, "a signal's descriptor");
    check(cudnnBackendCreateDescriptor(34, &d) == CUDNN_STATUS_NOT_SUPPORTED, "a kernel cache");
    check(cudnnBackendSetAttribute(t, A(TENSOR_UNIQUE_ID), AW_DNN_FLOAT, 1, &uid) == CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
          "an attribute's type");
    check(cudnnBackendSetAttribute(t, A(MATMUL_COMP_TYPE), DATA_TYPE, 1, &type) == CUDNN_STATUS_NOT_SUPPORTED,
          "another's attribute");
    check(cudnnBackendFinalize(t) == CUDNN_STATUS_BAD_PARAM, "a tensor without anything");
    check(cudnnBackendGetAttribute(t, A(TENSOR_UNIQUE_ID), AW_DNN_INT64, 1, &n, &uid) == CUDNN_STATUS_NOT_INITIALIZED,
          "asked too early");
    static const int64_t huge[] = { (int64_t)1 << 40, (int64_t)1 << 40 }, strides[] = { 1, 1 };
    descriptor large = make(D(TENSOR));
    set_int(large, A(TENSOR_DATA_TYPE), DATA_TYPE, type);
    set(large, A(TENSOR_DIMENSIONS), AW_DNN_INT64, 2, huge), set(large, A(TENSOR_STRIDES), AW_DNN_INT64, 2, strides);
    set(large, A(TENSOR_UNIQUE_ID), AW_DNN_INT64, 1, &uid);
    check(cudnnBackendFinalize(large) == CUDNN_STATUS_BAD_PARAM, "a tensor larger than any memory");
    descriptor op = make(D(OPERATION_POINTWISE));
    check(cudnnBackendSetAttribute(op, A(OPERATION_POINTWISE_XDESC), AW_DNN_BACKEND_DESCRIPTOR, 1, &t) ==
              CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
          "a part too early");
    /* Group norm. */
    op = make(D(OPERATION_NORM_FORWARD));
    set_int(op, A(OPERATION_NORM_FWD_MODE), NORM_MODE, 3);
    set_part(op, A(OPERATION_NORM_FWD_XDESC), user(&x));
    set_part(op, A(OPERATION_NORM_FWD_YDESC), user(&y));
    operation(op);
    check(graph_finish(&graph) == CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "group norm");
    char text[200] = "";
    cudnnGetLastErrorString(text, sizeof text);
    check(strstr(text, "norm") != NULL, "what was said: %s", text);
    n_ops = n_tensors = 0;
    /* A virtual tensor that nothing writes. */
    pointwise(AW_DNN_EXP, between(4, dim), NULL, NULL, user(&y));
    check(graph_finish(&graph) == 0 && plan_finish(graph, 3, &plan) == CUDNN_STATUS_BAD_PARAM, "a tensor from nowhere");
    n_ops = n_tensors = 0;
    /* A pack that lacks a tensor, and plans that are told in words. */
    pointwise(AW_DNN_EXP, user(&x), NULL, NULL, user(&y));
    check(graph_finish(&graph) == 0 && plan_finish(graph, 3, &plan) == 0, "a plan");
    pointers[0] = NULL;
    check(execute(plan) == CUDNN_STATUS_BAD_PARAM, "a pack that lacks a tensor");
    check(cudnnBackendSetAttribute(plan, A(EXECUTION_PLAN_HANDLE), AW_DNN_HANDLE, 1, &handle) == CUDNN_STATUS_NOT_INITIALIZED,
          "set too late");
    descriptor engine = make(D(ENGINE));
    int64_t index = 1;
    set_part(engine, A(ENGINE_OPERATION_GRAPH), graph);
    set(engine, A(ENGINE_GLOBAL_INDEX), AW_DNN_INT64, 1, &index);
    check(cudnnBackendFinalize(engine) == CUDNN_STATUS_NOT_SUPPORTED, "an engine that is not there");
    n_ops = n_tensors = 0;
    drop_all();
    tensor_drop(&x), tensor_drop(&y);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    check(cudnnCreate(&handle) == 0, "create");
    convolution(CUDNN_DATA_FLOAT);
    attention(CUDNN_DATA_FLOAT, 1);
    norm(0);
    pages(CUDNN_DATA_FLOAT);
    if (!quick) {
        pages(CUDNN_DATA_HALF);
        convolution(CUDNN_DATA_HALF);
        attention(CUDNN_DATA_FLOAT, 0);
        attention(CUDNN_DATA_BFLOAT16, 1);
        for (int mode = 1; mode < 5; mode++)
            if (mode != 3)
                norm(mode);
        ragged();
        random_numbers();
    }
    resample();
    moves();
    texts();
    refusals();
    cudnnDestroy(handle);
    return done();
}
