/* Programs as jobs of streams: see program.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cudnn"
#include "program.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "memory.h"
#include "status.h"

struct aw_dnn_program *aw_dnn_program_create(void)
{
    struct aw_dnn_program *p = calloc(1, sizeof *p);
    if (p)
        p->refs = 1;
    return p;
}

static struct aw_dnn_program *program_ref(struct aw_dnn_program *p)
{
    __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    return p;
}

void aw_dnn_program_unref(struct aw_dnn_program *p)
{
    if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
        return;
    free(p->tensors);
    free(p->nodes);
    free(p->owned);
    free(p);
}

/* Room for one more of `n` items: capacities are powers of two. */
static void *grow(void *items, int n, size_t size)
{
    return n & (n - 1) ? items : realloc(items, (n ? 2 * (size_t)n : 1) * size);
}

int aw_dnn_program_tensor(struct aw_dnn_program *p, const struct aw_dnn_shape *s, enum aw_dnn_storage storage, unsigned dir)
{
    struct aw_dnn_tensor *tensors = grow(p->tensors, p->n_tensors, sizeof *tensors);
    if (!tensors)
        return -1;
    p->tensors = tensors;
    tensors[p->n_tensors] = (struct aw_dnn_tensor){
        .s = *s, .storage = storage, .dir = dir, .ragged = -1, .scale = 1, .last = -1
    };
    return p->n_tensors++;
}

bool aw_dnn_program_node(struct aw_dnn_program *p, aw_dnn_kernel kernel, const void *params, size_t size, int n,
                         const int tensors[])
{
    struct aw_dnn_node *nodes = size <= AW_DNN_PARAMS && n <= AW_DNN_VIEWS ? grow(p->nodes, p->n_nodes, sizeof *nodes) : NULL;
    if (!nodes)
        return false;
    p->nodes = nodes;
    struct aw_dnn_node *node = &nodes[p->n_nodes];
    node->kernel = kernel;
    node->n = n;
    memcpy(node->params, params, size);
    for (int i = 0; i < n; i++) {
        node->tensor[i] = tensors[i];
        if (tensors[i] >= 0)
            p->tensors[tensors[i]].last = p->n_nodes;
    }
    p->n_nodes++;
    return true;
}

/* ---- Running */

struct job {
    struct aw_lib_job job;
    struct aw_dnn_program *program;
    unsigned char values[AW_LIB_SPANS][16]; /* of the scalars, in their order */
};

/* What tensors have while a program runs. */
struct running {
    struct aw_dnn_view *views;
    void **owned;  /* memory of virtual tensors, and of ragged ones without gaps */
    void **origin; /* the program's memory of ragged ones */
};

static void place_users(const struct job *j, struct running *r)
{
    const struct aw_dnn_program *p = j->program;
    int span = 0, value = 0;
    for (int i = 0; i < p->n_tensors; i++) {
        const struct aw_dnn_tensor *t = &p->tensors[i];
        r->views[i].s = t->s;
        if (t->storage == AW_DNN_USER)
            r->views[i].at = j->job.spans[span++].at;
        else if (t->storage == AW_DNN_VALUE)
            r->views[i].at = (void *)j->values[value++];
        else if (t->storage == AW_DNN_CONSTANT)
            r->views[i].at = (void *)t->value;
    }
}

/* Copies one index of a ragged tensor's first dimension, of which there are `room` elements in the program's memory at
 * `memory`: what would be behind them is not touched there, and is 0 in `dense`. */
static void ragged_item(const struct aw_dnn_shape *s, char *memory, int64_t room, char *dense, size_t size, bool out)
{
    int64_t at[AW_DNN_DIMS] = { 0 }, count = aw_dnn_count(s) / s->dim[0];
    for (int64_t i = 0; i < count; i++) {
        int64_t offset = 0;
        for (int d = 1; d < s->n; d++)
            offset += at[d] * s->stride[d];
        if (offset < room && out)
            memcpy(memory + (size_t)offset * size, dense + (size_t)i * size, size);
        else if (offset < room)
            memcpy(dense + (size_t)i * size, memory + (size_t)offset * size, size);
        for (int d = s->n - 1; d > 0 && ++at[d] == s->dim[d]; d--)
            at[d] = 0;
    }
}

static void ragged_copy(const struct aw_dnn_program *p, int i, struct running *r, bool out)
{
    const struct aw_dnn_tensor *t = &p->tensors[i];
    const struct aw_dnn_view *offsets = &r->views[t->ragged];
    size_t size = aw_dnn_type_bits(t->s.type) / 8, each = (size_t)(aw_dnn_count(&t->s) / t->s.dim[0]) * size;
    for (int64_t b = 0; b < t->s.dim[0]; b++) {
        int64_t begin = (int64_t)aw_dnn_get(offsets, b * offsets->s.stride[0]) * t->scale;
        int64_t end = (int64_t)aw_dnn_get(offsets, (b + 1) * offsets->s.stride[0]) * t->scale;
        ragged_item(&t->s, (char *)r->origin[i] + begin * (int64_t)size, end - begin, (char *)r->owned[i] + (size_t)b * each,
                    size, out);
    }
}

/* Kernels see a ragged tensor as one without gaps. */
static bool place_ragged(const struct aw_dnn_program *p, int i, struct running *r)
{
    struct aw_dnn_view *v = &r->views[i];
    aw_dnn_pack(&v->s);
    r->origin[i] = v->at;
    v->at = r->owned[i] = aw_dnn_take(aw_dnn_bytes(&v->s));
    if (!v->at)
        return false;
    memset(v->at, 0, aw_dnn_bytes(&v->s));
    ragged_copy(p, i, r, false);
    return true;
}

/* Memory of a virtual tensor at its first use.  Booleans have a byte each there. */
static bool place_virtual(int i, struct running *r)
{
    struct aw_dnn_view *v = &r->views[i];
    if (v->s.type == CUDNN_DATA_BOOLEAN)
        v->s.type = CUDNN_DATA_BYTE_BOOLEAN;
    v->at = r->owned[i] = aw_dnn_take(aw_dnn_bytes(&v->s));
    return v->at != NULL;
}

static int run_node(const struct aw_dnn_program *p, int at, struct running *r)
{
    const struct aw_dnn_node *node = &p->nodes[at];
    struct aw_dnn_view v[AW_DNN_VIEWS] = { 0 };
    for (int i = 0; i < node->n; i++) {
        int t = node->tensor[i];
        if (t < 0)
            continue;
        if (p->tensors[t].storage == AW_DNN_VIRTUAL && !r->views[t].at && !place_virtual(t, r))
            return 1;
        if (p->tensors[t].ragged >= 0 && !r->origin[t] && !place_ragged(p, t, r))
            return 1;
        v[i] = r->views[t];
    }
    int failed = node->kernel(node->params, v);
    for (int i = 0; i < node->n; i++) {
        int t = node->tensor[i];
        if (t >= 0 && p->tensors[t].storage == AW_DNN_VIRTUAL && p->tensors[t].last == at) {
            aw_dnn_give(r->owned[t]);
            r->owned[t] = NULL;
        }
    }
    return failed;
}

/* Nobody waits for a job that could tell: what it should have written becomes NaN, not something that looks like a result. */
static void run_failed(struct job *j)
{
    aw_say(CUDNN_MEMORY);
    for (unsigned i = 0; i < j->job.n_spans; i++)
        if (j->job.spans[i].dir & AW_LIB_OUT && j->job.spans[i].at)
            memset(j->job.spans[i].at, 0xff, j->job.spans[i].width);
    j->job.status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

static void run(struct aw_lib_job *job)
{
    struct job *j = (struct job *)job;
    const struct aw_dnn_program *p = j->program;
    struct running r = { calloc((size_t)p->n_tensors + 1, sizeof *r.views), calloc((size_t)p->n_tensors + 1, sizeof *r.owned),
                         calloc((size_t)p->n_tensors + 1, sizeof *r.origin) };
    int failed = !r.views || !r.owned || !r.origin;
    if (!failed)
        place_users(j, &r);
    for (int i = 0; i < p->n_nodes && !failed; i++)
        failed = run_node(p, i, &r);
    for (int i = 0; i < p->n_tensors && !failed; i++)
        if (r.origin[i] && p->tensors[i].dir & AW_LIB_OUT)
            ragged_copy(p, i, &r, true);
    for (int i = 0; i < p->n_tensors && r.owned; i++)
        aw_dnn_give(r.owned[i]);
    free(r.views);
    free(r.owned);
    free(r.origin);
    if (failed)
        run_failed(j);
}

static void forget(struct aw_lib_job *job)
{
    aw_dnn_program_unref(((struct job *)job)->program);
}

/* What is between the elements of a tensor with gaps is somebody else's: it goes back as it came. */
static struct aw_lib_span span_of(const struct aw_dnn_tensor *t, void *at)
{
    size_t size = at ? aw_dnn_bytes(&t->s) : 0;
    unsigned dir = t->dir;
    if (dir & AW_LIB_OUT && (!aw_dnn_packed(&t->s) || t->ragged >= 0 || t->s.type == CUDNN_DATA_BOOLEAN))
        dir |= AW_LIB_IN;
    return (struct aw_lib_span){ at, size, 1, size, 1, 0, dir };
}

cudnnStatus_t aw_dnn_program_submit(const struct aw_lib_queue *queue, struct aw_dnn_program *p, void *const pointers[],
                                    enum aw_lib_when when)
{
    struct job j;
    int status, values = 0;
    j.job.n_spans = 0;
    for (int i = 0; i < p->n_tensors; i++) {
        const struct aw_dnn_tensor *t = &p->tensors[i];
        if ((t->storage == AW_DNN_USER && j.job.n_spans == AW_LIB_SPANS) ||
            (t->storage == AW_DNN_VALUE && values == AW_LIB_SPANS))
            return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "more tensors than a computation can have here");
        if (t->ragged >= 0 && queue->place == AW_LIB_CARD)
            return aw_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "ragged tensors on a card: how much to copy is known there alone");
        if (t->storage == AW_DNN_USER)
            j.job.spans[j.job.n_spans++] = span_of(t, pointers[i]);
        else if (t->storage == AW_DNN_VALUE)
            memcpy(j.values[values++], pointers[i], aw_dnn_bytes(&t->s));
    }
    j.program = program_ref(p);
    j.job.run = run;
    j.job.forget = forget;
    j.job.size = sizeof j;
    return aw_dnn_status(aw_lib_submit(queue, &j.job, when, &status));
}

/* Elements up to which a call takes less than a change of threads. */
enum { SMALL = 4096 };

cudnnStatus_t aw_dnn_call_with(const struct aw_lib_queue *queue, aw_dnn_kernel kernel, const void *params, size_t size,
                               const struct aw_dnn_operand operands[], int n, void *owned)
{
    struct aw_dnn_program *p = aw_dnn_program_create();
    cudnnStatus_t status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    void *pointers[AW_DNN_VIEWS];
    int tensors[AW_DNN_VIEWS];
    int64_t elements = 0;
    bool good = p;
    if (p)
        p->owned = owned;
    else
        free(owned);
    for (int i = 0; i < n && good; i++) {
        tensors[i] = -1;
        if (!operands[i].s || !operands[i].at)
            continue;
        tensors[i] = aw_dnn_program_tensor(p, operands[i].s, AW_DNN_USER, operands[i].dir);
        good = tensors[i] >= 0;
        if (good) {
            pointers[tensors[i]] = (void *)operands[i].at;
            elements += aw_dnn_count(operands[i].s);
        }
    }
    if (good && aw_dnn_program_node(p, kernel, params, size, n, tensors))
        status = aw_dnn_program_submit(queue, p, pointers, elements <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED);
    aw_dnn_program_unref(p);
    return status;
}

cudnnStatus_t aw_dnn_call(const struct aw_lib_queue *queue, aw_dnn_kernel kernel, const void *params, size_t size,
                          const struct aw_dnn_operand operands[], int n)
{
    return aw_dnn_call_with(queue, kernel, params, size, operands, n, NULL);
}
