/* Transforms as work of streams.  On the processor FFTW reads and writes the program's memory as it lies, where that has its
 * types and nothing else is in the way; else elements are gathered, converted and scattered around it. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cufft"
#include <stdlib.h>
#include <string.h>

#include "amd.h"
#include "base/log.h"
#include "common/convert.h"
#include "cufft_proto.h"
#include "fftw.h"
#include "plan.h"

enum { ALIGNMENT = 64 };

static bool is_complex(cudaDataType type)
{
    return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_16BF;
}

static bool is_native(cudaDataType type)
{
    return type == CUDA_R_32F || type == CUDA_C_32F || type == CUDA_R_64F || type == CUDA_C_64F;
}

/* ---- Around FFTW: to and from elements without gaps, in the precision it computes in. */

static cudaDataType real_part(cudaDataType type)
{
    return type == CUDA_C_16F ? CUDA_R_16F : type == CUDA_C_16BF ? CUDA_R_16BF : type;
}

/* `n` elements of a row, `step` apart in the program's memory. */
static void row_copy(cudaDataType type, char *program, int64_t step, int64_t n, char *compact, bool in)
{
    size_t size = aw_fft_element(type);
    int64_t parts = is_complex(type) ? 2 : 1;
    if (step == 1) {
        if (is_native(type))
            memcpy(in ? compact : program, in ? program : compact, (size_t)n * size);
        else if (in)
            aw_type_to_float(real_part(type), program, n * parts, (float *)(void *)compact);
        else
            aw_type_from_float(real_part(type), (const float *)(const void *)compact, n * parts, program);
        return;
    }
    size_t own = is_native(type) ? size : (size_t)parts * sizeof(float);
    for (int64_t i = 0; i < n; i++)
        row_copy(type, program + (size_t)(i * step) * size, 1, 1, compact + (size_t)i * own, in);
}

static void all_copy(const struct aw_fft_layout *l, int rank, int64_t batch, cudaDataType type, void *program, void *compact,
                     bool in)
{
    const int64_t one[3] = { 1, 1, 1 }, none[3] = { 0, 0, 0 };
    const int64_t *dims = rank == 3 ? l->dims : one, *step = rank == 3 ? l->step : none;
    int64_t planes = dims[0], plane = step[0], rows = rank > 1 ? l->dims[rank - 2] : 1, row = rank > 1 ? l->step[rank - 2] : 0;
    int64_t n = l->dims[rank - 1];
    size_t size = aw_fft_element(type), own = is_native(type) ? size : (is_complex(type) ? 2 : 1) * sizeof(float);
    char *at = compact;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t p = 0; p < planes; p++)
            for (int64_t r = 0; r < rows; r++, at += (size_t)n * own)
                row_copy(type, (char *)program + (size_t)(b * l->dist + p * plane + r * row) * size, l->step[rank - 1], n, at,
                         in);
}

static int64_t count_of(const struct aw_fft_layout *l, int rank)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= l->dims[i];
    return n;
}

/* The same elements without gaps. */
static struct aw_fft_layout compact(const struct aw_fft_layout *l, int rank)
{
    struct aw_fft_layout c = *l;
    c.dist = 1;
    for (int i = rank - 1; i >= 0; i--) {
        c.step[i] = c.dist;
        c.dist *= c.dims[i];
    }
    return c;
}

static void *buffer(const struct aw_fft_layout *l, const struct aw_fft_shape *shape)
{
    size_t size = (size_t)(count_of(l, shape->rank) * shape->batch) * 2 * (shape->precise ? sizeof(double) : sizeof(float));
    return aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
}

static cufftResult run_around(struct aw_fft_shape *shape, const struct aw_fft_layout *in, const struct aw_fft_layout *out,
                              int direction, void *from, void *to)
{
    struct aw_fft_layout tight_in = compact(in, shape->rank), tight_out = compact(out, shape->rank);
    bool native = is_native(shape->out.type);
    void *gathered = buffer(in, shape), *result = native ? to : buffer(out, shape);
    cufftResult status = gathered && result ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
    if (status == CUFFT_SUCCESS) {
        all_copy(in, shape->rank, shape->batch, shape->in.type, from, gathered, true);
        if (!aw_fftw_run(shape, native ? AW_FFTW_GATHERED : AW_FFTW_COMPACT, &tight_in, native ? out : &tight_out, direction,
                         gathered, result))
            status = CUFFT_INTERNAL_ERROR;
    }
    if (status == CUFFT_SUCCESS && !native)
        all_copy(out, shape->rank, shape->batch, shape->out.type, to, result, false);
    free(gathered);
    if (!native)
        free(result);
    return status;
}

/* ---- The job */

struct transform {
    struct aw_lib_job job;
    struct aw_fft_shape *shape;
    int direction;
    bool in_place; /* for the program: on a card input and output are copied apart */
};

/* In place, is every row of the output in its own input's bytes? */
static bool rows_match(const struct aw_fft_shape *shape, const struct aw_fft_layout *in, const struct aw_fft_layout *out)
{
    int64_t i_size = (int64_t)aw_fft_element(shape->in.type), o_size = (int64_t)aw_fft_element(shape->out.type);
    if (shape->batch > 1 && in->dist * i_size != out->dist * o_size)
        return false;
    for (int i = 0; i < shape->rank - 1; i++)
        if (in->step[i] * i_size != out->step[i] * o_size)
            return false;
    int64_t step = in->step[shape->rank - 1];
    return step == out->step[shape->rank - 1] && (step == 1 || shape->kind == AW_FFT_C2C);
}

static void run(struct aw_lib_job *job)
{
    struct transform *t = (struct transform *)job;
    struct aw_fft_shape *shape = t->shape;
    struct aw_fft_layout in, out;
    void *from = job->spans[0].at, *to = job->spans[1].at;
    bool same = from == to;
    aw_fft_layouts(shape, t->in_place, &in, &out);
    /* FFTW's transform to reals uses its input up, which is the program's. */
    bool direct = is_native(shape->in.type) && (same ? rows_match(shape, &in, &out) : shape->kind != AW_FFT_C2R);
    if (direct && aw_fftw_run(shape, same ? AW_FFTW_IN_PLACE : AW_FFTW_APART, &in, &out, t->direction, from, to))
        return;
    job->status = run_around(shape, &in, &out, t->direction, from, to);
    if (job->status)
        aw_say(FFT_FAILED, job->status == CUFFT_ALLOC_FAILED ? "memory is out" : "FFTW has no plan for it");
}

static void forget(struct aw_lib_job *job)
{
    aw_fft_shape_unref(((struct transform *)job)->shape);
}

/* ---- Memory */

struct level {
    int64_t n, step;
};

static int farther(const void *a, const void *b)
{
    int64_t x = ((const struct level *)a)->step, y = ((const struct level *)b)->step;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* What is written.  Spans have three levels; where more are needed the whole extent is read and written, gaps as they were. */
static struct aw_lib_span span_out(const struct aw_fft_layout *l, const struct aw_fft_shape *shape, void *at)
{
    struct level levels[AW_FFT_RANKS + 1];
    int n = 0, kept = 0;
    size_t size = aw_fft_element(shape->out.type), extent = aw_fft_extent(l, shape->rank, shape->batch, size);
    if (shape->batch > 1)
        levels[n++] = (struct level){ shape->batch, l->dist };
    for (int i = 0; i < shape->rank; i++)
        if (l->dims[i] > 1)
            levels[n++] = (struct level){ l->dims[i], l->step[i] };
    qsort(levels, (size_t)n, sizeof *levels, farther);
    /* A level whose steps are just as long as all of the next is one with it. */
    for (int i = 1; i < n; i++) {
        if (levels[kept].step == levels[i].step * levels[i].n)
            levels[kept] = (struct level){ levels[kept].n * levels[i].n, levels[i].step };
        else
            levels[++kept] = levels[i];
    }
    n = n ? kept + 1 : 0;
    struct aw_lib_span s = { at, size, 1, size, 1, 0, AW_LIB_OUT };
    if (n && levels[n - 1].step == 1)
        s.width = s.pitch = size * (size_t)levels[--n].n;
    if (n && n <= 2)
        n--, s.rows = (size_t)levels[n].n, s.pitch = size * (size_t)levels[n].step;
    if (n == 1)
        n--, s.count = (size_t)levels[0].n, s.stride = size * (size_t)levels[0].step;
    return n == 0 ? s : (struct aw_lib_span){ at, extent, 1, extent, 1, 0, AW_LIB_IN | AW_LIB_OUT };
}

cufftResult aw_fft_exec(const struct aw_fft_plan *plan, void *in, void *out, int direction)
{
    enum { SMALL = 4096 };
    struct aw_fft_shape *shape = plan->shape;
    struct aw_fft_layout layout_in, layout_out;
    struct transform t = { .job = { .run = run, .forget = forget, .size = sizeof t, .n_spans = 2 },
                           .direction = direction,
                           .in_place = in == out };
    int status = 0;
    cufftResult result;
    if (!in || !out || (shape->kind == AW_FFT_C2C && direction != CUFFT_FORWARD && direction != CUFFT_INVERSE))
        return CUFFT_INVALID_VALUE;
    if (plan->queue.place == AW_LIB_CARD && aw_amd_fft_exec(plan, in, out, direction, &result))
        return result;
    if (!aw_fftw_open())
        return CUFFT_SETUP_FAILED;
    t.shape = aw_fft_shape_ref(shape);
    aw_fft_layouts(shape, t.in_place, &layout_in, &layout_out);
    size_t extent = aw_fft_extent(&layout_in, shape->rank, shape->batch, aw_fft_element(shape->in.type));
    t.job.spans[0] = (struct aw_lib_span){ in, extent, 1, extent, 1, 0, AW_LIB_IN };
    t.job.spans[1] = span_out(&layout_out, shape, out);
    int64_t elements = count_of(&layout_in, shape->rank) * shape->batch;
    CUresult queued = aw_lib_submit(&plan->queue, &t.job, elements <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &status);
    if (queued != CUDA_SUCCESS)
        return queued == AW_LIB_NO_MEMORY ? CUFFT_ALLOC_FAILED : CUFFT_EXEC_FAILED;
    return (cufftResult)status;
}

/* ---- The functions: each takes plans of its own types alone. */

static cufftResult exec_typed(cufftHandle handle, void *in, void *out, int direction, cudaDataType in_type, cudaDataType out_type)
{
    const struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan || !plan->shape)
        return CUFFT_INVALID_PLAN;
    if (plan->shape->in.type != in_type || plan->shape->out.type != out_type)
        return CUFFT_INVALID_TYPE;
    return aw_fft_exec(plan, in, out, direction);
}

cufftResult awcufft_cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
{
    return exec_typed(plan, in, out, direction, CUDA_C_32F, CUDA_C_32F);
}

cufftResult awcufft_cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out, int direction)
{
    return exec_typed(plan, in, out, direction, CUDA_C_64F, CUDA_C_64F);
}

cufftResult awcufft_cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
    return exec_typed(plan, in, out, CUFFT_FORWARD, CUDA_R_32F, CUDA_C_32F);
}

cufftResult awcufft_cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out)
{
    return exec_typed(plan, in, out, CUFFT_FORWARD, CUDA_R_64F, CUDA_C_64F);
}

cufftResult awcufft_cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out)
{
    return exec_typed(plan, in, out, CUFFT_INVERSE, CUDA_C_32F, CUDA_R_32F);
}

cufftResult awcufft_cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out)
{
    return exec_typed(plan, in, out, CUFFT_INVERSE, CUDA_C_64F, CUDA_R_64F);
}

cufftResult awcufft_cufftXtExec(cufftHandle handle, void *in, void *out, int direction)
{
    const struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan || !plan->shape)
        return CUFFT_INVALID_PLAN;
    return aw_fft_exec(plan, in, out, direction);
}
