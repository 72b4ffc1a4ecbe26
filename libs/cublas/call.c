/* From a call to a job: see call.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cublas"
#include "call.h"

#include <limits.h>
#include <stdlib.h>

#include "amd.h"
#include "base/log.h"
#include "common/blas.h"
#include "handle.h"

/* Bytes of a scalar of a function's type T, its real type R, or an integer. */
static size_t scalar_size(const struct aw_blas_function *f, const struct aw_blas_arg *a)
{
    size_t one = a->type == 'T'                     ? aw_lapack_size(f->type)
                 : a->type == 'i'                   ? 4
                 : a->type == 'l'                   ? 8
                 : f->type == 's' || f->type == 'c' ? 4
                                                    : 8;
    return one * (size_t)a->n;
}

static bool is_complex(char type)
{
    return type == 'c' || type == 'z';
}

/* ---- On the processor: Fortran's way, everything by address. */

typedef void (*fortran)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *);
typedef int (*fortran_int)(void *, void *, void *, void *, void *);
typedef float (*fortran_float)(void *, void *, void *, void *, void *);
typedef double (*fortran_double)(void *, void *, void *, void *, void *);

/* A function of at most five arguments and its result, an integer or real; what it does not take is not looked at. */
static void invoke_function(const struct aw_blas_call *c, void *p[], void *result)
{
    const struct aw_blas_arg *last = &c->f->row->args[c->f->row->n_args - 1];
    void *at = c->f->cpu_at;
    if (last->type == 'i' || last->type == 'l') {
        int value = ((fortran_int)at)(p[0], p[1], p[2], p[3], p[4]);
        if (last->type == 'i')
            *(int *)result = value;
        else
            *(int64_t *)result = value;
    } else if (c->f->type == 's' || c->f->type == 'c') {
        *(float *)result = ((fortran_float)at)(p[0], p[1], p[2], p[3], p[4]);
    } else {
        *(double *)result = ((fortran_double)at)(p[0], p[1], p[2], p[3], p[4]);
    }
}

/* One of the batch; `v` has addresses for scalars and memory. */
static void invoke(const struct aw_blas_call *c, const union aw_blas_value *v)
{
    const struct aw_blas_row *row = c->f->row;
    void *p[AW_BLAS_ARGS] = { 0 };
    int32_t ints[AW_BLAS_ARGS];
    char letters[AW_BLAS_ARGS];
    unsigned n = 0;
    if (row->style == AW_BLAS_OWN) {
        c->f->own(c, v);
        return;
    }
    for (unsigned i = 0; i < row->n_args; i++) {
        uint8_t kind = row->args[i].kind;
        if (kind <= AW_BLAS_SIDE) {
            static const char names[][4] = { "NTC", "NTC", "NTC", "LU", "NU", "LR" };
            letters[n] = names[kind][v[i].i];
            p[n] = &letters[n];
        } else if (kind == AW_BLAS_STRIDE || kind == AW_BLAS_BATCH) {
            continue;
        } else if (kind < AW_BLAS_STRIDE) {
            ints[n] = (int32_t)v[i].i;
            p[n] = &ints[n];
        } else {
            p[n] = v[i].p;
        }
        n++;
    }
    if (row->style == AW_BLAS_RETURNS)
        invoke_function(c, p, p[n - 1]);
    else
        ((fortran)c->f->cpu_at)(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13]);
}

/* Addresses for item `b` of the batch. */
static void locate(const struct aw_blas_call *c, int64_t b, union aw_blas_value *v)
{
    unsigned span = 0, scalar = 0;
    for (unsigned i = 0; i < c->f->row->n_args; i++) {
        const struct aw_blas_arg *a = &c->f->row->args[i];
        if (a->kind == AW_BLAS_SCALAR)
            v[i].p = c->device ? c->job.spans[span++].at : (void *)c->scalar[scalar++];
        else if (a->kind == AW_BLAS_POINTERS)
            v[i].p = c->batch < 0 ? c->job.spans[span++].at : ((void **)c->job.spans[span++].at)[b];
        else if (a->kind > AW_BLAS_SCALAR)
            v[i].p = (char *)c->job.spans[span++].at +
                     (a->kind == AW_BLAS_STRIDED ? b * c->v[a->stride].i * (int64_t)aw_lapack_size(c->f->type) : 0);
        else
            v[i].i = c->v[i].i;
    }
}

static void run(struct aw_lib_job *job)
{
    struct aw_blas_call *c = (struct aw_blas_call *)job;
    union aw_blas_value v[AW_BLAS_ARGS];
    for (int64_t b = 0; b < (c->batch < 0 ? 1 : c->batch); b++) {
        locate(c, b, v);
        invoke(c, v);
    }
    for (unsigned i = 0, k = 0; !c->device && i < c->f->row->n_args; i++) {
        const struct aw_blas_arg *a = &c->f->row->args[i];
        if (a->kind != AW_BLAS_SCALAR)
            continue;
        if (a->dir & AW_LIB_OUT)
            memcpy(c->v[i].p, c->scalar[k], scalar_size(c->f, a));
        k++;
    }
}

/* ---- Arguments. */

static bool option(const struct aw_blas_function *f, uint8_t kind, int64_t *io)
{
    int64_t v = *io;
    switch (kind) {
    case AW_BLAS_OP:
    case AW_BLAS_OP_T:
    case AW_BLAS_OP_C:
        if (v == CUBLAS_OP_C && !is_complex(f->type))
            v = *io = CUBLAS_OP_T;
        return v == CUBLAS_OP_N || (v == CUBLAS_OP_T && kind != AW_BLAS_OP_C) || (v == CUBLAS_OP_C && kind != AW_BLAS_OP_T);
    default:
        return v == 0 || v == 1;
    }
}

/* Everything but what leading dimensions are compared with. */
static bool valid(struct aw_blas_call *c, const union aw_blas_value v[])
{
    const struct aw_blas_row *row = c->f->row;
    for (unsigned i = 0; i < row->n_args; i++) {
        uint8_t kind = row->args[i].kind;
        c->v[i] = v[i];
        if (kind <= AW_BLAS_SIDE) {
            /* An enumeration is an int: what is above its low half is not the program's. */
            c->v[i].i = (int)v[i].i;
            if (!option(c->f, kind, &c->v[i].i))
                return false;
        } else if (((kind == AW_BLAS_SIZE || kind == AW_BLAS_BATCH) && v[i].i < 0) ||
                   (kind == AW_BLAS_INC_NOT_0 && v[i].i == 0) || (kind == AW_BLAS_SCALAR && !v[i].p)) {
            return false;
        } else if (kind == AW_BLAS_COUNT && v[i].i < 0) {
            c->v[i].i = 0;
        }
    }
    return true;
}

/* Does an integer not fit what the processor's BLAS takes? */
static bool too_large(const struct aw_blas_call *c)
{
    const struct aw_blas_row *row = c->f->row;
    for (unsigned i = 0; i < row->n_args; i++) {
        uint8_t kind = row->args[i].kind;
        if (kind >= AW_BLAS_SIZE && kind < AW_BLAS_STRIDE && (c->v[i].i > INT_MAX || c->v[i].i < INT_MIN))
            return true;
    }
    return false;
}

static bool is_zero(const struct aw_blas_function *f, const struct aw_blas_arg *a, const void *value)
{
    static const double zero[5]; /* as many as the longest scalar has, rotm's parameters */
    return !memcmp(value, zero, scalar_size(f, a));
}

/* The span of a matrix, vector or packed matrix; false: its leading dimension is too small. */
static bool span_set(const struct aw_blas_call *c, const struct aw_blas_arg *a, const struct aw_blas_extent *e,
                     struct aw_lib_span *s)
{
    size_t size = aw_lapack_size(c->f->type);
    int64_t step = a->n >= 0 ? c->v[a->n].i : 0;
    s->count = 1;
    s->stride = 0;
    if (e->shape == AW_BLAS_MATRIX) {
        if (step < e->rows || step < 1)
            return false;
        s->width = (size_t)e->rows * size;
        s->rows = (size_t)e->cols;
        s->pitch = (size_t)step * size;
    } else if (e->shape == AW_BLAS_VECTOR && step != 1) {
        s->width = size;
        s->rows = step == 0 && e->rows ? 1 : (size_t)e->rows;
        s->pitch = (size_t)(step < 0 ? -step : step) * size;
    } else {
        s->width = s->pitch = (size_t)e->rows * size;
        s->rows = 1;
    }
    if (a->kind == AW_BLAS_STRIDED) {
        s->count = (size_t)c->batch;
        s->stride = (size_t)c->v[a->stride].i * size;
    }
    return true;
}

struct outline {
    int64_t elements; /* of all memory, about */
    bool writes;      /* is there memory to be written, or a result? */
    bool waits;       /* does the host want a result? */
    bool missing;     /* is there a NULL where memory should be? */
};

/* Scalars and spans.  False: an argument is wrong. */
static bool outline(struct aw_blas_call *c, const struct aw_blas_extent *e, struct outline *ret)
{
    const struct aw_blas_row *row = c->f->row;
    unsigned n = 0, k = 0;
    bool beta_zero = false, zero = false;
    *ret = (struct outline){ 0 };
    if (row->beta >= 0 && !c->device)
        beta_zero = is_zero(c->f, &row->args[row->beta], c->v[row->beta].p);
    for (unsigned i = 0; i < row->n_args; i++) {
        const struct aw_blas_arg *a = &row->args[i];
        struct aw_lib_span *s = &c->job.spans[n];
        if (a->kind == AW_BLAS_SCALAR) {
            size_t size = scalar_size(c->f, a);
            ret->writes |= (a->dir & AW_LIB_OUT) != 0;
            ret->waits |= !c->device && a->dir & AW_LIB_OUT;
            if (c->device) {
                *s = (struct aw_lib_span){ c->v[i].p, size, 1, size, 1, 0, a->dir };
                n++;
            } else {
                if (a->dir & AW_LIB_IN)
                    memcpy(c->scalar[k], c->v[i].p, size);
                zero = is_zero(c->f, a, c->v[i].p);
                k++;
            }
        } else if (a->kind > AW_BLAS_SCALAR) {
            int64_t items = e->rows * e->cols;
            if (!span_set(c, a, e, s))
                return false;
            if (a->dir & AW_BLAS_SCALED && zero)
                s->rows = 0, items = 0;
            ret->missing |= items && !c->v[i].p;
            s->at = c->v[i].p;
            s->dir = a->dir & (AW_LIB_IN | AW_LIB_OUT);
            if (a->dir & AW_BLAS_BETA && beta_zero)
                s->dir = AW_LIB_OUT;
            if (a->kind == AW_BLAS_STRIDED && a->dir & AW_LIB_OUT && s->count > 1 && s->stride == 0)
                return false;
            ret->writes |= a->dir & AW_LIB_OUT && items > 0;
            ret->elements += items;
            e++;
            n++;
        }
    }
    c->job.n_spans = (uint8_t)n;
    return true;
}

/* ---- Ways. */

/* Up to this many elements a call takes less than a change of threads. */
enum { SMALL = 3 * 64 * 64 };

static cublasStatus_t submit(struct aw_blas_call *c, cublasHandle_t handle, const struct outline *o)
{
    int status;
    int64_t items = c->batch < 0 ? o->elements : o->elements * c->batch;
    enum aw_lib_when when = o->waits ? AW_LIB_DONE : items <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED;
    return aw_blas_status(aw_lib_submit(&handle->queue, &c->job, when, &status));
}

/* On a card, arrays of pointers are read first, which takes waiting for the stream; then each item is a call. */
static cublasStatus_t each_of_batch(struct aw_blas_call *c, cublasHandle_t handle, const struct outline *o)
{
    const struct aw_blas_row *row = c->f->row;
    size_t size = (size_t)c->batch * sizeof(void *);
    void **pointers = malloc(AW_BLAS_MEMORIES * size);
    CUresult result = pointers ? CUDA_SUCCESS : AW_LIB_NO_MEMORY;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    int64_t n = 0, batch = c->batch;
    for (unsigned i = 0; i < row->n_args && result == CUDA_SUCCESS; i++)
        if (row->args[i].kind == AW_BLAS_POINTERS)
            result = aw_lib_read(&handle->queue, pointers + n++ * batch, c->v[i].p, size);
    c->batch = -1;
    for (int64_t b = 0; b < batch && result == CUDA_SUCCESS && status == CUBLAS_STATUS_SUCCESS; b++) {
        unsigned span = 0, k = 0;
        for (unsigned i = 0; i < row->n_args; i++) {
            uint8_t kind = row->args[i].kind;
            if (kind == AW_BLAS_POINTERS)
                c->job.spans[span].at = pointers[k++ * batch + b];
            span += kind > AW_BLAS_SCALAR || (kind == AW_BLAS_SCALAR && c->device);
        }
        status = submit(c, handle, o);
    }
    free(pointers);
    return result != CUDA_SUCCESS ? aw_blas_status(result) : status;
}

static bool has_pointers(const struct aw_blas_row *row)
{
    for (unsigned i = 0; i < row->n_args; i++)
        if (row->args[i].kind == AW_BLAS_POINTERS)
            return true;
    return false;
}

cublasStatus_t aw_blas_call(struct aw_blas_function *f, cublasHandle_t handle, const union aw_blas_value v[])
{
    struct aw_blas_call c;
    struct aw_blas_extent extents[AW_BLAS_MEMORIES];
    struct outline o;
    cublasStatus_t status = aw_blas_handle_check(handle);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    c.f = f;
    if (!valid(&c, v))
        return CUBLAS_STATUS_INVALID_VALUE;
    c.device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    c.batch = f->row->batch >= 0 ? c.v[f->row->batch].i : -1;
    f->row->shape(c.v, extents);
    if (!outline(&c, extents, &o))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!o.writes || c.batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    if (o.missing)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (handle->queue.place == AW_LIB_CARD && f->amd && !handle->anywhere && aw_amd_blas_call(f, handle, c.v, &status))
        return status;
    if (too_large(&c)) {
        aw_say(BLAS_LARGE, f->name);
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    if (f->row->style != AW_BLAS_OWN && !aw_cpu_blas_cell(&f->cpu_at, f->cpu))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    c.job.run = run;
    c.job.forget = NULL;
    c.job.size = sizeof c;
    if (handle->queue.place == AW_LIB_CARD && has_pointers(f->row))
        return each_of_batch(&c, handle, &o);
    return submit(&c, handle, &o);
}
