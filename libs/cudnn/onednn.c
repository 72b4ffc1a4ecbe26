/* oneDNN for convolutions and products in float: see onednn.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include "onednn.h"

#ifdef AW_HAVE_ONEDNN

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/dl.h"
#include "base/log.h"
#include "common/driver.h"
#include "memory.h"

/* What is called of the library. */
#define CALLS(X)                                                                                                                \
    X(dnnl_version)                                                                                                             \
    X(dnnl_engine_create)                                                                                                       \
    X(dnnl_stream_create)                                                                                                       \
    X(dnnl_stream_destroy)                                                                                                      \
    X(dnnl_stream_wait)                                                                                                         \
    X(dnnl_memory_desc_init_by_strides)                                                                                         \
    X(dnnl_memory_desc_init_by_tag)                                                                                             \
    X(dnnl_memory_desc_equal)                                                                                                   \
    X(dnnl_memory_create) X(dnnl_memory_destroy) X(dnnl_memory_get_memory_desc) X(dnnl_memory_desc_get_size)                    \
        X(dnnl_dilated_convolution_forward_desc_init) X(dnnl_dilated_convolution_backward_data_desc_init)                       \
            X(dnnl_dilated_convolution_backward_weights_desc_init) X(dnnl_primitive_desc_create) X(dnnl_primitive_desc_destroy) \
                X(dnnl_primitive_desc_query_md) X(dnnl_primitive_create) X(dnnl_primitive_destroy) X(dnnl_primitive_execute)    \
                    X(dnnl_reorder_primitive_desc_create) X(dnnl_sgemm) X(dnnl_primitive_attr_create)                           \
                        X(dnnl_primitive_attr_set_scratchpad_mode)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    CALLS(MEMBER)
#undef MEMBER
} dnnl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine; /* NULL: there is no oneDNN */
static dnnl_primitive_attr_t own_scratch; /* of primitives whose scratch memory is given to them */
/* OpenMP's, with which oneDNN divides its work; NULL: it does so in another way. */
static void (*set_threads)(int n);
static int (*max_threads)(void);

static void open_library(void)
{
    static const char *const names[] = { "libdnnl.so.2", NULL };
#define ROW(name) { #name, __builtin_offsetof(__typeof__(dnnl), name), true },
    static const struct aw_dl_symbol symbols[] = { CALLS(ROW){ NULL, 0, false } };
#undef ROW
    char why[256];
    void *library = aw_dl_open(names, symbols, &dnnl, why, sizeof why);
    if (!library) {
        aw_say(NO_ONEDNN, why);
        return;
    }
    if (dnnl.dnnl_version()->major != DNNL_VERSION_MAJOR || dnnl.dnnl_primitive_attr_create(&own_scratch) != dnnl_success ||
        dnnl.dnnl_primitive_attr_set_scratchpad_mode(own_scratch, dnnl_scratchpad_mode_user) != dnnl_success ||
        dnnl.dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) {
        engine = NULL;
        return;
    }
    aw_say(ONEDNN_FOUND, dnnl.dnnl_version()->major, dnnl.dnnl_version()->minor);
    max_threads = (int (*)(void))dlsym(library, "omp_get_max_threads");
    set_threads = max_threads ? (void (*)(int))dlsym(library, "omp_set_num_threads") : NULL;
}

/* ---- One call's objects, which all go at its end. */

enum { THINGS = 12 };

struct call {
    dnnl_stream_t stream;
    dnnl_memory_t memory[THINGS];
    dnnl_primitive_t primitive[THINGS];
    dnnl_primitive_desc_t desc[THINGS];
    void *buffer[THINGS]; /* of memory that is the call's own */
    int memories, primitives, descs, buffers;
};

static void call_end(struct call *c)
{
    for (int i = 0; i < c->memories; i++)
        dnnl.dnnl_memory_destroy(c->memory[i]);
    for (int i = 0; i < c->buffers; i++)
        aw_dnn_give(c->buffer[i]);
    for (int i = 0; i < c->primitives; i++)
        dnnl.dnnl_primitive_destroy(c->primitive[i]);
    for (int i = 0; i < c->descs; i++)
        dnnl.dnnl_primitive_desc_destroy(c->desc[i]);
    if (c->stream)
        dnnl.dnnl_stream_destroy(c->stream);
}

static dnnl_memory_t call_memory(struct call *c, const dnnl_memory_desc_t *md, void *at)
{
    dnnl_memory_t m;
    if (c->memories == THINGS || dnnl.dnnl_memory_create(&m, md, engine, at) != dnnl_success)
        return NULL;
    return c->memory[c->memories++] = m;
}

static dnnl_memory_t call_own_memory(struct call *c, const dnnl_memory_desc_t *md)
{
    void *at = c->buffers < THINGS ? aw_dnn_take(dnnl.dnnl_memory_desc_get_size(md)) : NULL;
    if (!at)
        return NULL;
    c->buffer[c->buffers++] = at;
    return call_memory(c, md, at);
}

static dnnl_primitive_t call_primitive(struct call *c, dnnl_primitive_desc_t pd)
{
    dnnl_primitive_t p;
    if (c->descs == THINGS)
        return NULL;
    c->desc[c->descs++] = pd;
    if (c->primitives == THINGS || dnnl.dnnl_primitive_create(&p, pd) != dnnl_success)
        return NULL;
    return c->primitive[c->primitives++] = p;
}

static bool reorder(struct call *c, dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_desc_t *a, *b;
    dnnl_primitive_desc_t pd;
    if (dnnl.dnnl_memory_get_memory_desc(from, &a) != dnnl_success || dnnl.dnnl_memory_get_memory_desc(to, &b) != dnnl_success ||
        dnnl.dnnl_reorder_primitive_desc_create(&pd, a, engine, b, engine, NULL) != dnnl_success)
        return false;
    dnnl_primitive_t p = call_primitive(c, pd);
    dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
    return p && dnnl.dnnl_primitive_execute(p, c->stream, 2, args) == dnnl_success;
}

/* ---- Convolution */

/* The program's layout, and the same sizes in whatever layout the primitive likes.  A filter of groups has a dimension for
 * them. */
static bool describe(const struct aw_dnn_shape *s, int64_t groups, dnnl_memory_desc_t *ret_given, dnnl_memory_desc_t *ret_any)
{
    dnnl_dims_t dims, strides;
    int n = 0;
    if (groups > 1) {
        dims[n] = groups;
        strides[n++] = s->dim[0] / groups * s->stride[0];
    }
    for (int i = 0; i < s->n; i++) {
        dims[n] = i == 0 ? s->dim[0] / groups : s->dim[i];
        strides[n++] = s->stride[i] ? s->stride[i] : 1;
    }
    return dnnl.dnnl_memory_desc_init_by_strides(ret_given, n, dims, dnnl_f32, strides) == dnnl_success &&
           dnnl.dnnl_memory_desc_init_by_tag(ret_any, n, dims, dnnl_f32, dnnl_format_tag_any) == dnnl_success;
}

/* A primitive for the three tensors, x, w, y; NULL: none. */
static dnnl_primitive_desc_t primitive_for(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *c,
                                           const dnnl_memory_desc_t any[])
{
    dnnl_convolution_desc_t forward, d;
    dnnl_primitive_desc_t hint = NULL, pd = NULL;
    dnnl_dims_t stride, dilation, pre, post;
    dnnl_status_t s;
    for (int i = 0; i < c->n; i++) {
        stride[i] = c->stride[i];
        dilation[i] = c->dilation[i] - 1;
        pre[i] = c->pre[i];
        post[i] = c->post[i];
    }
    dnnl_prop_kind_t prop = kind == AW_DNN_FORWARD ? dnnl_forward_inference : dnnl_forward_training;
    s = dnnl.dnnl_dilated_convolution_forward_desc_init(&forward, prop, dnnl_convolution_auto, &any[0], &any[1], NULL, &any[2],
                                                        stride, dilation, pre, post);
    if (s != dnnl_success || dnnl.dnnl_primitive_desc_create(&hint, &forward, own_scratch, engine, NULL) != dnnl_success)
        return NULL;
    if (kind == AW_DNN_FORWARD)
        return hint;
    if (kind == AW_DNN_BACKWARD_DATA)
        s = dnnl.dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &any[0], &any[1], &any[2], stride,
                                                                  dilation, pre, post);
    else
        s = dnnl.dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &any[0], &any[1], NULL, &any[2],
                                                                     stride, dilation, pre, post);
    if (s == dnnl_success && dnnl.dnnl_primitive_desc_create(&pd, &d, own_scratch, engine, hint) != dnnl_success)
        pd = NULL;
    dnnl.dnnl_primitive_desc_destroy(hint);
    return pd;
}

/* What each kind takes and writes: the argument's number and the query for its layout, of x, w and y. */
static const struct role {
    int arg;
    dnnl_query_t query;
} roles[3][3] = {
    [AW_DNN_FORWARD] = { { DNNL_ARG_SRC, dnnl_query_src_md },
                         { DNNL_ARG_WEIGHTS, dnnl_query_weights_md },
                         { DNNL_ARG_DST, dnnl_query_dst_md } },
    [AW_DNN_BACKWARD_DATA] = { { DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md },
                               { DNNL_ARG_WEIGHTS, dnnl_query_weights_md },
                               { DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md } },
    [AW_DNN_BACKWARD_FILTER] = { { DNNL_ARG_SRC, dnnl_query_src_md },
                                 { DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md },
                                 { DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md } },
};

/* The arguments' last, where the primitive needs scratch memory. */
static bool add_scratch(struct call *c, dnnl_primitive_desc_t pd, dnnl_exec_arg_t *args, int *n)
{
    const dnnl_memory_desc_t *md = dnnl.dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    if (!md || !dnnl.dnnl_memory_desc_get_size(md))
        return true;
    dnnl_memory_t scratch = call_own_memory(c, md);
    args[(*n)++] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, scratch };
    return scratch;
}

static bool convolve(struct call *c, enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *conv, int64_t groups,
                     const struct aw_dnn_view *const views[3])
{
    const int written = kind == AW_DNN_FORWARD ? 2 : kind == AW_DNN_BACKWARD_DATA ? 0 : 1;
    dnnl_memory_desc_t given[3], any[3];
    dnnl_memory_t user[3], used[3];
    dnnl_exec_arg_t args[4];
    int n_args = 3;
    for (int i = 0; i < 3; i++)
        if (!describe(&views[i]->s, i == 1 ? groups : 1, &given[i], &any[i]))
            return false;
    dnnl_primitive_desc_t pd = primitive_for(kind, conv, any);
    dnnl_primitive_t p = pd ? call_primitive(c, pd) : NULL;
    if (!p || dnnl.dnnl_stream_create(&c->stream, engine, dnnl_stream_default_flags) != dnnl_success)
        return false;
    for (int i = 0; i < 3; i++) {
        const dnnl_memory_desc_t *md = dnnl.dnnl_primitive_desc_query_md(pd, roles[kind][i].query, 0);
        bool same = md && dnnl.dnnl_memory_desc_equal(md, &given[i]);
        user[i] = call_memory(c, &given[i], views[i]->at);
        used[i] = same ? user[i] : md ? call_own_memory(c, md) : NULL;
        if (!user[i] || !used[i] || (!same && i != written && !reorder(c, user[i], used[i])))
            return false;
        args[i] = (dnnl_exec_arg_t){ roles[kind][i].arg, used[i] };
    }
    if (!add_scratch(c, pd, args, &n_args) || dnnl.dnnl_primitive_execute(p, c->stream, n_args, args) != dnnl_success)
        return false;
    return (used[written] == user[written] || reorder(c, used[written], user[written])) &&
           dnnl.dnnl_stream_wait(c->stream) == dnnl_success;
}

static bool convolve_whole(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *conv, int64_t groups,
                           const struct aw_dnn_view *const views[3])
{
    struct call call = { 0 };
    bool done = convolve(&call, kind, conv, groups, views);
    call_end(&call);
    return done;
}

/* ---- Convolution in parts, on the device's threads.
 *
 * oneDNN's own threads look for more work for milliseconds after each call, on processors that the device's workers want, and
 * the slowest holds all up.  So a convolution is cut into several, each of which oneDNN does in one thread.  The cut goes through
 * the batch, where the filter is in all parts, or through channels, where another tensor is: the smaller one.  A filter's
 * gradients are then one for each part of the batch, and are added up in the order of the parts. */

enum { BATCH_PARTS = 4, /* of a thread at most: smaller ones stay in its caches, and threads end together */
       CHANNELS = 16 }; /* in a vector: parts have whole ones */

struct parts {
    enum aw_dnn_convolve_kind kind;
    const struct aw_dnn_convolution *conv;
    int64_t groups;
    const struct aw_dnn_view *views; /* x, w, y */
    int cut[3];                      /* the dimension that is cut; -1: the tensor is in all parts */
    int64_t whole, grain;            /* its size, and what parts' sizes are a multiple of */
    uint32_t n;
    float *sums;                     /* gradients of parts but the first; NULL: the filter is no sum of parts */
    _Atomic bool failed;
};

static int64_t part_begin(const struct parts *p, uint32_t part)
{
    int64_t at = (p->whole / p->grain * part / p->n) * p->grain;
    return part == p->n ? p->whole : at;
}

static void run_part(void *user, uint32_t part)
{
    struct parts *p = user;
    struct aw_dnn_view v[3];
    const struct aw_dnn_view *const views[] = { &v[0], &v[1], &v[2] };
    int64_t begin = part_begin(p, part), end = part_begin(p, part + 1);
    for (int i = 0; i < 3; i++) {
        v[i] = p->cut[i] < 0 ? p->views[i] : aw_dnn_part(p->views[i], p->cut[i], begin, end - begin);
    }
    if (p->sums && part)
        v[1].at = p->sums + (part - 1) * aw_dnn_count(&v[1].s);
    int before = max_threads();
    set_threads(1);
    if (!convolve_whole(p->kind, p->conv, p->groups, views))
        atomic_store_explicit(&p->failed, true, memory_order_relaxed);
    set_threads(before);
}

static void cut_batch(struct parts *p, uint32_t threads)
{
    p->cut[0] = p->cut[2] = 0;
    p->cut[1] = -1;
    p->whole = p->views[0].s.dim[0];
    p->grain = 1;
    p->n = p->whole < threads * BATCH_PARTS ? (uint32_t)p->whole : threads * BATCH_PARTS;
}

/* Through the result's channels, or the filter's; false: there are not enough. */
static bool cut_channels(struct parts *p, uint32_t threads)
{
    bool of_x = p->kind == AW_DNN_BACKWARD_DATA;
    p->cut[0] = of_x ? 1 : -1;
    p->cut[1] = of_x ? 1 : 0;
    p->cut[2] = of_x ? -1 : 1;
    p->whole = p->views[1].s.dim[p->cut[1]];
    p->grain = CHANNELS;
    p->n = threads;
    return p->groups == 1 && p->whole >= (int64_t)threads * CHANNELS;
}

/* How to cut it for so many threads; false: not at all. */
static bool cut(struct parts *p, uint32_t threads)
{
    int64_t filter = aw_dnn_count(&p->views[1].s), shared = aw_dnn_count(&p->views[p->kind == AW_DNN_BACKWARD_DATA ? 2 : 0].s);
    bool batch = p->views[0].s.dim[0] >= threads;
    if (p->kind == AW_DNN_BACKWARD_FILTER) {
        batch = batch && aw_dnn_packed(&p->views[1].s);
        filter *= 3; /* written by each part, and read and written to be added up */
    }
    if ((!batch || filter > shared) && cut_channels(p, threads))
        return true;
    if (batch)
        cut_batch(p, threads);
    return batch;
}

static void add_up(const struct parts *p)
{
    int64_t n = aw_dnn_count(&p->views[1].s);
    float *to = p->views[1].at;
    for (uint32_t part = 1; part < p->n; part++)
        for (int64_t i = 0; i < n; i++)
            to[i] += p->sums[(part - 1) * n + i];
}

/* False: it is not cut, or failed. */
static bool convolve_parts(struct parts *p)
{
    uint32_t threads = set_threads ? aw_abi_spread_threads() : 0;
    if (threads < 2 || !cut(p, threads))
        return false;
    bool sums = p->kind == AW_DNN_BACKWARD_FILTER && p->cut[1] < 0;
    if (sums && !(p->sums = aw_dnn_take((p->n - 1) * aw_dnn_bytes(&p->views[1].s))))
        return false;
    aw_abi_spread(p->n, run_part, p);
    bool good = !atomic_load_explicit(&p->failed, memory_order_relaxed);
    if (good && sums)
        add_up(p);
    aw_dnn_give(p->sums);
    return good;
}

bool aw_onednn_convolve(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *c, const struct aw_dnn_view *x,
                        const struct aw_dnn_view *w, const struct aw_dnn_view *y)
{
    const struct aw_dnn_view views[] = { *x, *w, *y };
    pthread_once(&once, open_library);
    if (!engine || !aw_dnn_count(&x->s) || !aw_dnn_count(&w->s) || !aw_dnn_count(&y->s))
        return false;
    struct parts p = { .kind = kind, .conv = c, .groups = x->s.dim[1] / w->s.dim[1], .views = views };
    return convolve_parts(&p) || convolve_whole(kind, c, p.groups, (const struct aw_dnn_view *const[]){ x, w, y });
}

bool aw_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                       int64_t ldb, float *c, int64_t ldc)
{
    pthread_once(&once, open_library);
    return engine && m && n && k &&
           dnnl.dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb, 0, c, ldc) == dnnl_success;
}

#else

bool aw_onednn_convolve(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *c, const struct aw_dnn_view *x,
                        const struct aw_dnn_view *w, const struct aw_dnn_view *y)
{
    return false;
}

bool aw_onednn_product(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b,
                       int64_t ldb, float *c, int64_t ldc)
{
    return false;
}

#endif
