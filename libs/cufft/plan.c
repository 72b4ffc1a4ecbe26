/* Handles, plans and their settings.  Not the transforms: those are exec.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cufft"
#include "plan.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "amd.h"
#include "base/log.h"
#include "cufft_proto.h"
#include "fftw.h"

/* ---- Handles: places in a table, of which the first free one is given. */

static struct {
    pthread_mutex_t lock;
    struct aw_fft_plan **at;
    int size;
} plans = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct aw_fft_plan *aw_fft_plan_find(cufftHandle handle)
{
    pthread_mutex_lock(&plans.lock);
    struct aw_fft_plan *plan = handle > 0 && handle <= plans.size ? plans.at[handle - 1] : NULL;
    pthread_mutex_unlock(&plans.lock);
    return plan;
}

/* 0: memory is out. */
static cufftHandle plans_add(struct aw_fft_plan *plan)
{
    int i = 0;
    pthread_mutex_lock(&plans.lock);
    while (i < plans.size && plans.at[i])
        i++;
    if (i == plans.size) {
        struct aw_fft_plan **more = realloc(plans.at, sizeof *more * (size_t)(plans.size * 2 + 16));
        if (more) {
            memset(more + plans.size, 0, sizeof *more * (size_t)(plans.size + 16));
            plans.at = more;
            plans.size = plans.size * 2 + 16;
        } else {
            i = -1;
        }
    }
    if (i >= 0)
        plans.at[i] = plan;
    pthread_mutex_unlock(&plans.lock);
    return i + 1;
}

cufftResult awcufft_cufftCreate(cufftHandle *handle)
{
    if (!handle)
        return CUFFT_INVALID_VALUE;
    struct aw_fft_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return CUFFT_ALLOC_FAILED;
    plan->automatic = true;
    if (aw_lib_queue_init(&plan->queue) != CUDA_SUCCESS) {
        free(plan);
        return CUFFT_SETUP_FAILED;
    }
    cufftHandle h = plans_add(plan);
    if (!h) {
        free(plan);
        return CUFFT_ALLOC_FAILED;
    }
    *handle = h;
    return CUFFT_SUCCESS;
}

cufftResult awcufft_cufftDestroy(cufftHandle handle)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    pthread_mutex_lock(&plans.lock);
    plans.at[handle - 1] = NULL;
    pthread_mutex_unlock(&plans.lock);
    aw_fft_shape_unref(plan->shape);
    free(plan);
    return CUFFT_SUCCESS;
}

/* ---- Shapes */

struct aw_fft_shape *aw_fft_shape_ref(struct aw_fft_shape *shape)
{
    __atomic_add_fetch(&shape->refs, 1, __ATOMIC_RELAXED);
    return shape;
}

void aw_fft_shape_unref(struct aw_fft_shape *shape)
{
    if (!shape || __atomic_sub_fetch(&shape->refs, 1, __ATOMIC_ACQ_REL))
        return;
    aw_fftw_drop(shape);
    aw_amd_fft_drop(shape);
    free(shape);
}

size_t aw_fft_element(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_C_64F: return 16;
    case CUDA_R_64F:
    case CUDA_C_32F: return 8;
    default: return 4;
    }
}

static void layout_set(const struct aw_fft_shape *shape, const struct aw_fft_side *side, bool half, bool padded,
                       struct aw_fft_layout *ret)
{
    int last = shape->rank - 1;
    int64_t step = shape->basic ? 1 : side->stride;
    for (int i = last; i >= 0; i--) {
        int64_t row = shape->n[i];
        ret->dims[i] = half && i == last ? row / 2 + 1 : row;
        ret->step[i] = step;
        step *= !shape->basic ? side->embed[i] : padded && i == last ? 2 * (row / 2 + 1) : ret->dims[i];
    }
    ret->dist = shape->basic ? step : side->dist;
}

void aw_fft_layouts(const struct aw_fft_shape *shape, bool in_place, struct aw_fft_layout *ret_in, struct aw_fft_layout *ret_out)
{
    layout_set(shape, &shape->in, shape->kind == AW_FFT_C2R, shape->kind == AW_FFT_R2C && in_place, ret_in);
    layout_set(shape, &shape->out, shape->kind == AW_FFT_R2C, shape->kind == AW_FFT_C2R && in_place, ret_out);
}

size_t aw_fft_extent(const struct aw_fft_layout *layout, int rank, int64_t batch, size_t element)
{
    int64_t last = (batch - 1) * layout->dist;
    for (int i = 0; i < rank; i++)
        last += (layout->dims[i] - 1) * layout->step[i];
    return (size_t)(last + 1) * element;
}

/* What there is: (type of input, of output) for each precision. */
static cufftResult types_set(struct aw_fft_shape *shape, cudaDataType in, cudaDataType out, cudaDataType exec)
{
    static const cudaDataType pairs[][2] = {
        { CUDA_R_32F, CUDA_C_32F }, { CUDA_R_64F, CUDA_C_64F }, { CUDA_R_16F, CUDA_C_16F }, { CUDA_R_16BF, CUDA_C_16BF }
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        cudaDataType real = pairs[i][0], complex = pairs[i][1];
        if (exec != complex && exec != real)
            continue;
        shape->precise = real == CUDA_R_64F;
        shape->in.type = in, shape->out.type = out;
        shape->kind = in == real ? AW_FFT_R2C : out == real ? AW_FFT_C2R : AW_FFT_C2C;
        return (in == complex || in == real) && (out == complex || (out == real && in == complex)) ? CUFFT_SUCCESS
                                                                                                   : CUFFT_INVALID_TYPE;
    }
    return CUFFT_INVALID_TYPE;
}

static cufftResult legacy_types_set(struct aw_fft_shape *shape, cufftType type)
{
    switch (type) {
    case CUFFT_C2C: return types_set(shape, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F);
    case CUFFT_R2C: return types_set(shape, CUDA_R_32F, CUDA_C_32F, CUDA_C_32F);
    case CUFFT_C2R: return types_set(shape, CUDA_C_32F, CUDA_R_32F, CUDA_C_32F);
    case CUFFT_Z2Z: return types_set(shape, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F);
    case CUFFT_D2Z: return types_set(shape, CUDA_R_64F, CUDA_C_64F, CUDA_C_64F);
    case CUFFT_Z2D: return types_set(shape, CUDA_C_64F, CUDA_R_64F, CUDA_C_64F);
    }
    return CUFFT_INVALID_TYPE;
}

typedef long long int ll;

/* A layout told by the program; NULL for its embedding: then nothing of it counts, nor of the other side's. */
struct told {
    const ll *embed;
    ll stride, dist;
};

static cufftResult shape_check(struct aw_fft_shape *shape, int rank, const ll *n, const struct told *in, const struct told *out,
                               ll batch)
{
    int64_t total = batch;
    if (rank < 1 || rank > AW_FFT_RANKS || !n)
        return CUFFT_INVALID_VALUE;
    shape->rank = rank;
    shape->batch = batch;
    shape->basic = !in->embed || !out->embed;
    for (int i = 0; i < rank; i++) {
        if (n[i] <= 0 || batch <= 0 || __builtin_mul_overflow(total, n[i] + 2, &total) || total > INT64_MAX / 64)
            return CUFFT_INVALID_SIZE;
        shape->n[i] = n[i];
    }
    for (int s = 0; s < 2 && !shape->basic; s++) {
        const struct told *t = s ? out : in;
        struct aw_fft_side *side = s ? &shape->out : &shape->in;
        struct aw_fft_layout layout;
        total = t->stride;
        for (int i = 0; i < rank; i++) {
            if (i && (t->embed[i] <= 0 || __builtin_mul_overflow(total, t->embed[i], &total)))
                return CUFFT_INVALID_SIZE;
            side->embed[i] = t->embed[i];
        }
        if (t->stride <= 0 || t->dist < 0 || (s && t->dist == 0 && batch > 1) || total > INT64_MAX / 64)
            return CUFFT_INVALID_SIZE;
        side->stride = t->stride, side->dist = t->dist;
        /* Rows of the result that do not fit where they are embedded would overlap. */
        layout_set(shape, side, shape->kind == AW_FFT_R2C, false, &layout);
        for (int i = 1; i < rank && s; i++)
            if (t->embed[i] < layout.dims[i])
                return CUFFT_INVALID_SIZE;
    }
    return CUFFT_SUCCESS;
}

/* No transform needs a work area, but one has a size: programs allocate what they are told, and some (BART) take the
 * NULL that cudaMalloc gives for no bytes for memory. */
enum { WORK_AREA = 16 };

/* Takes `draft` (its types are set, its sizes checked here) as the plan's shape; NULL for the plan: a check alone. */
static cufftResult make(cufftHandle handle, struct aw_fft_shape *draft, int rank, const ll *n, struct told in, struct told out,
                        ll batch, size_t *ret_size)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan || plan->shape)
        return CUFFT_INVALID_PLAN;
    if (!ret_size)
        return CUFFT_INVALID_VALUE;
    cufftResult result = shape_check(draft, rank, n, &in, &out, batch);
    if (result == CUFFT_SUCCESS && !aw_fftw_open() && plan->queue.place == AW_LIB_HOST)
        result = CUFFT_SETUP_FAILED;
    if (result != CUFFT_SUCCESS)
        return result;
    struct aw_fft_shape *shape = malloc(sizeof *shape);
    if (!shape)
        return CUFFT_ALLOC_FAILED;
    *shape = *draft;
    shape->refs = 1;
    plan->shape = shape;
    *ret_size = WORK_AREA;
    return CUFFT_SUCCESS;
}

static void widen(int rank, const int *from, ll *to)
{
    for (int i = 0; from && rank <= AW_FFT_RANKS && i < rank; i++) /* a wrong rank's numbers are not there */
        to[i] = from[i];
}

cufftResult awcufft_cufftMakePlanMany64(cufftHandle plan, int rank, ll *n, ll *inembed, ll istride, ll idist, ll *onembed,
                                        ll ostride, ll odist, cufftType type, ll batch, size_t *workSize)
{
    struct aw_fft_shape draft = { 0 };
    cufftResult result = legacy_types_set(&draft, type);
    return result == CUFFT_SUCCESS ? make(plan, &draft, rank, n, (struct told){ inembed, istride, idist },
                                          (struct told){ onembed, ostride, odist }, batch, workSize)
                                   : result;
}

cufftResult awcufft_cufftXtMakePlanMany(cufftHandle plan, int rank, ll *n, ll *inembed, ll istride, ll idist,
                                        cudaDataType inputtype, ll *onembed, ll ostride, ll odist, cudaDataType outputtype,
                                        ll batch, size_t *workSize, cudaDataType executiontype)
{
    struct aw_fft_shape draft = { 0 };
    cufftResult result = types_set(&draft, inputtype, outputtype, executiontype);
    return result == CUFFT_SUCCESS ? make(plan, &draft, rank, n, (struct told){ inembed, istride, idist },
                                          (struct told){ onembed, ostride, odist }, batch, workSize)
                                   : result;
}

cufftResult awcufft_cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                                      int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
    ll sizes[AW_FFT_RANKS], in[AW_FFT_RANKS], out[AW_FFT_RANKS];
    widen(rank, n, sizes), widen(rank, inembed, in), widen(rank, onembed, out);
    return awcufft_cufftMakePlanMany64(plan, rank, n ? sizes : NULL, inembed ? in : NULL, istride, idist, onembed ? out : NULL,
                                       ostride, odist, type, batch, workSize);
}

/* ---- Plans of one, two and three dimensions: in each of the four functions that say so. */

/* `handle` is made, and ends again where it cannot be what is asked for. */
static cufftResult plan_many(cufftHandle *ret_handle, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                             int ostride, int odist, cufftType type, int batch)
{
    cufftHandle handle;
    size_t size;
    cufftResult result = awcufft_cufftCreate(ret_handle ? &handle : NULL);
    if (result != CUFFT_SUCCESS)
        return result;
    result = awcufft_cufftMakePlanMany(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, &size);
    if (result == CUFFT_SUCCESS)
        *ret_handle = handle;
    else
        awcufft_cufftDestroy(handle);
    return result;
}

/* The size of a work area, for a plan that needs not be there: the same checks. */
static cufftResult estimate(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist,
                            cufftType type, int batch, size_t *ret_size)
{
    struct aw_fft_shape draft = { 0 };
    ll sizes[AW_FFT_RANKS], in[AW_FFT_RANKS], out[AW_FFT_RANKS];
    widen(rank, n, sizes), widen(rank, inembed, in), widen(rank, onembed, out);
    cufftResult result = ret_size ? legacy_types_set(&draft, type) : CUFFT_INVALID_VALUE;
    if (result == CUFFT_SUCCESS)
        result = shape_check(&draft, rank, n ? sizes : NULL, &(struct told){ inembed ? in : NULL, istride, idist },
                             &(struct told){ onembed ? out : NULL, ostride, odist }, batch);
    if (result == CUFFT_SUCCESS)
        *ret_size = WORK_AREA;
    return result;
}

static cufftResult size_of(cufftHandle plan, int rank, int *n, cufftType type, int batch, size_t *ret_size)
{
    return aw_fft_plan_find(plan) ? estimate(rank, n, NULL, 1, 0, NULL, 1, 0, type, batch, ret_size) : CUFFT_INVALID_PLAN;
}

#define DIMENSIONS(d, name, PARAMETERS, SIZES, BATCH, batch)                                                              \
    cufftResult awcufft_cufftPlan##name(cufftHandle *plan, PARAMETERS, cufftType type BATCH)                        \
    {                                                                                                               \
        return plan_many(plan, d, (int[]){ SIZES }, NULL, 1, 0, NULL, 1, 0, type, batch);                           \
    }                                                                                                               \
    cufftResult awcufft_cufftMakePlan##name(cufftHandle plan, PARAMETERS, cufftType type BATCH, size_t *workSize)   \
    {                                                                                                               \
        return awcufft_cufftMakePlanMany(plan, d, (int[]){ SIZES }, NULL, 1, 0, NULL, 1, 0, type, batch, workSize); \
    }                                                                                                               \
    cufftResult awcufft_cufftEstimate##name(PARAMETERS, cufftType type BATCH, size_t *workSize)                     \
    {                                                                                                               \
        return estimate(d, (int[]){ SIZES }, NULL, 1, 0, NULL, 1, 0, type, batch, workSize);                        \
    }                                                                                                               \
    cufftResult awcufft_cufftGetSize##name(cufftHandle plan, PARAMETERS, cufftType type BATCH, size_t *workSize)    \
    {                                                                                                               \
        return size_of(plan, d, (int[]){ SIZES }, type, batch, workSize);                                           \
    }
#define LIST(...) __VA_ARGS__
DIMENSIONS(1, 1d, int nx, nx, LIST(, int batch), batch)
DIMENSIONS(2, 2d, LIST(int nx, int ny), LIST(nx, ny), , 1)
DIMENSIONS(3, 3d, LIST(int nx, int ny, int nz), LIST(nx, ny, nz), , 1)

cufftResult awcufft_cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                                  int ostride, int odist, cufftType type, int batch)
{
    return plan_many(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch);
}

cufftResult awcufft_cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                                      int odist, cufftType type, int batch, size_t *workSize)
{
    return estimate(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize);
}

cufftResult awcufft_cufftGetSizeMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                                     int ostride, int odist, cufftType type, int batch, size_t *workSize)
{
    return aw_fft_plan_find(plan) ? estimate(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, workSize)
                                  : CUFFT_INVALID_PLAN;
}

cufftResult awcufft_cufftXtGetSizeMany(cufftHandle plan, int rank, ll *n, ll *inembed, ll istride, ll idist,
                                       cudaDataType inputtype, ll *onembed, ll ostride, ll odist, cudaDataType outputtype,
                                       ll batch, size_t *workSize, cudaDataType executiontype)
{
    struct aw_fft_shape draft = { 0 };
    if (!aw_fft_plan_find(plan))
        return CUFFT_INVALID_PLAN;
    cufftResult result = workSize ? types_set(&draft, inputtype, outputtype, executiontype) : CUFFT_INVALID_VALUE;
    if (result == CUFFT_SUCCESS)
        result = shape_check(&draft, rank, n, &(struct told){ inembed, istride, idist },
                             &(struct told){ onembed, ostride, odist }, batch);
    if (result == CUFFT_SUCCESS)
        *workSize = WORK_AREA;
    return result;
}

cufftResult awcufft_cufftGetSizeMany64(cufftHandle plan, int rank, ll *n, ll *inembed, ll istride, ll idist, ll *onembed,
                                       ll ostride, ll odist, cufftType type, ll batch, size_t *workSize)
{
    struct aw_fft_shape draft = { 0 };
    cufftResult result = legacy_types_set(&draft, type);
    return result != CUFFT_SUCCESS
               ? result
               : awcufft_cufftXtGetSizeMany(plan, rank, n, inembed, istride, idist, draft.in.type, onembed, ostride, odist,
                                            draft.out.type, batch, workSize, draft.precise ? CUDA_C_64F : CUDA_C_32F);
}

cufftResult awcufft_cufftGetSize(cufftHandle handle, size_t *workSize)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    if (!workSize)
        return CUFFT_INVALID_VALUE;
    *workSize = WORK_AREA;
    return CUFFT_SUCCESS;
}

/* ---- Settings */

cufftResult awcufft_cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->queue.stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult awcufft_cufftSetAutoAllocation(cufftHandle handle, int automatic)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->automatic = automatic;
    return CUFFT_SUCCESS;
}

cufftResult awcufft_cufftSetWorkArea(cufftHandle handle, void *work)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    if (!plan)
        return CUFFT_INVALID_PLAN;
    plan->work = work;
    return CUFFT_SUCCESS;
}

cufftResult awcufft_cufftXtSetWorkArea(cufftHandle handle, void **work)
{
    return work ? awcufft_cufftSetWorkArea(handle, work[0]) : CUFFT_INVALID_VALUE;
}

cufftResult awcufft_cufftXtSetWorkAreaPolicy(cufftHandle handle, cufftXtWorkAreaPolicy policy, size_t *workSize)
{
    if (!aw_fft_plan_find(handle))
        return CUFFT_INVALID_PLAN;
    return (unsigned)policy <= CUFFT_WORKAREA_PERFORMANCE ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

static int64_t *property_find(cufftHandle handle, cufftProperty property, cufftResult *ret_result)
{
    struct aw_fft_plan *plan = aw_fft_plan_find(handle);
    bool known = property == NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT || property == NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS;
    *ret_result = !plan ? CUFFT_INVALID_PLAN : !known ? CUFFT_NOT_SUPPORTED : CUFFT_SUCCESS;
    return plan && known ? &plan->property[property - NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT] : NULL;
}

cufftResult awcufft_cufftSetPlanPropertyInt64(cufftHandle handle, cufftProperty property, ll value)
{
    cufftResult result;
    int64_t *at = property_find(handle, property, &result);
    if (at)
        *at = value;
    return result;
}

cufftResult awcufft_cufftGetPlanPropertyInt64(cufftHandle handle, cufftProperty property, ll *ret_value)
{
    cufftResult result;
    int64_t *at = property_find(handle, property, &result);
    if (at && !ret_value)
        return CUFFT_INVALID_VALUE;
    if (at)
        *ret_value = *at;
    return result;
}

cufftResult awcufft_cufftResetPlanProperty(cufftHandle handle, cufftProperty property)
{
    return awcufft_cufftSetPlanPropertyInt64(handle, property, 0);
}

/* ---- Versions, of the last release of each CUDA that the table was taken from. */

#define VERSION(lib, major, minor, patch)                                               \
    cufftResult awcufft_cufftGetVersion_##lib(int *version)                             \
    {                                                                                   \
        if (!version)                                                                   \
            return CUFFT_INVALID_VALUE;                                                 \
        *version = (major)*1000 + (minor)*100 + (patch);                                \
        return CUFFT_SUCCESS;                                                           \
    }                                                                                   \
    cufftResult awcufft_cufftGetProperty_##lib(libraryPropertyType type, int *value)    \
    {                                                                                   \
        if (!value || type < MAJOR_VERSION || type > PATCH_LEVEL)                       \
            return CUFFT_INVALID_VALUE;                                                 \
        *value = type == MAJOR_VERSION ? major : type == MINOR_VERSION ? minor : patch; \
        return CUFFT_SUCCESS;                                                           \
    }
VERSION(10, 10, 9, 0)
VERSION(11, 11, 4, 1)
VERSION(12, 12, 0, 0)
