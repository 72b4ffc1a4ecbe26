/* oneDNN for convolutions and products in float: see onednn.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include "onednn.h"

#ifdef AW_HAVE_ONEDNN

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>

#include "base/dl.h"
#include "base/log.h"
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
                    X(dnnl_reorder_primitive_desc_create) X(dnnl_sgemm)

static struct {
#define MEMBER(name) __typeof__(&name) name;
    CALLS(MEMBER)
#undef MEMBER
} dnnl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine; /* NULL: there is no oneDNN */

static void open_library(void)
{
    static const char *const names[] = { "libdnnl.so.2", NULL };
#define ROW(name) { #name, __builtin_offsetof(__typeof__(dnnl), name), true },
    static const struct aw_dl_symbol symbols[] = { CALLS(ROW){ NULL, 0, false } };
#undef ROW
    char why[256];
    if (!aw_dl_open(names, symbols, &dnnl, why, sizeof why)) {
        aw_say(NO_ONEDNN, why);
        return;
    }
    if (dnnl.dnnl_version()->major != DNNL_VERSION_MAJOR || dnnl.dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        engine = NULL;
    else
        aw_say(ONEDNN_FOUND, dnnl.dnnl_version()->major, dnnl.dnnl_version()->minor);
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
    if (s != dnnl_success || dnnl.dnnl_primitive_desc_create(&hint, &forward, NULL, engine, NULL) != dnnl_success)
        return NULL;
    if (kind == AW_DNN_FORWARD)
        return hint;
    if (kind == AW_DNN_BACKWARD_DATA)
        s = dnnl.dnnl_dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &any[0], &any[1], &any[2], stride,
                                                                  dilation, pre, post);
    else
        s = dnnl.dnnl_dilated_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, &any[0], &any[1], NULL, &any[2],
                                                                     stride, dilation, pre, post);
    if (s == dnnl_success && dnnl.dnnl_primitive_desc_create(&pd, &d, NULL, engine, hint) != dnnl_success)
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

static bool convolve(struct call *c, enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *conv, int64_t groups,
                     const struct aw_dnn_view *const views[3])
{
    const int written = kind == AW_DNN_FORWARD ? 2 : kind == AW_DNN_BACKWARD_DATA ? 0 : 1;
    dnnl_memory_desc_t given[3], any[3];
    dnnl_memory_t user[3], used[3];
    dnnl_exec_arg_t args[3];
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
    if (dnnl.dnnl_primitive_execute(p, c->stream, 3, args) != dnnl_success)
        return false;
    return (used[written] == user[written] || reorder(c, used[written], user[written])) &&
           dnnl.dnnl_stream_wait(c->stream) == dnnl_success;
}

bool aw_onednn_convolve(enum aw_dnn_convolve_kind kind, const struct aw_dnn_convolution *c, const struct aw_dnn_view *x,
                        const struct aw_dnn_view *w, const struct aw_dnn_view *y)
{
    const struct aw_dnn_view *const views[] = { x, w, y };
    struct call call = { 0 };
    pthread_once(&once, open_library);
    if (!engine || !aw_dnn_count(&x->s) || !aw_dnn_count(&w->s) || !aw_dnn_count(&y->s))
        return false;
    bool done = convolve(&call, kind, c, x->s.dim[1] / w->s.dim[1], views);
    call_end(&call);
    return done;
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
