/* Vectors with types of their own: sums, extremes, multiples, exchanges, rotations.  Computed here on the processor in double,
 * also for AMD's cards, on copies.
 *
 * Of those that the manual does not describe, AsumEx, CopyEx, SwapEx, IamaxEx and IaminEx do what the functions do that have a
 * type in their name.  RotgEx, RotmEx and RotmgEx are rotation_ex.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "common/convert.h"
#include "cublas_proto.h"
#include "handle.h"

enum vector_op {
    VECTOR_DOT, VECTOR_DOTC, VECTOR_NRM2, VECTOR_ASUM, VECTOR_IMAX, VECTOR_IMIN, VECTOR_AXPY, VECTOR_SCAL, VECTOR_COPY,
    VECTOR_SWAP,
    VECTOR_ROT
};

/* What an operation does with its vectors, how many scalars it takes, and what its result is. */
enum vector_result { RESULT_NONE, RESULT_TYPE, RESULT_REAL, RESULT_INDEX };
enum { READ = AW_LIB_IN, WRITTEN = AW_LIB_OUT, BOTH = AW_LIB_IN | AW_LIB_OUT };
static const struct vector_traits {
    uint8_t x, y; /* directions; 0: there is no such vector */
    uint8_t scalars;
    enum vector_result result;
} traits[] = {
    [VECTOR_DOT] = { READ, READ, 0, RESULT_TYPE },
    [VECTOR_DOTC] = { READ, READ, 0, RESULT_TYPE },
    [VECTOR_NRM2] = { READ, 0, 0, RESULT_REAL },
    [VECTOR_ASUM] = { READ, 0, 0, RESULT_REAL },
    [VECTOR_IMAX] = { READ, 0, 0, RESULT_INDEX },
    [VECTOR_IMIN] = { READ, 0, 0, RESULT_INDEX },
    [VECTOR_AXPY] = { READ, BOTH, 1, RESULT_NONE },
    [VECTOR_SCAL] = { BOTH, 0, 1, RESULT_NONE },
    [VECTOR_COPY] = { READ, WRITTEN, 0, RESULT_NONE },
    [VECTOR_SWAP] = { BOTH, BOTH, 0, RESULT_NONE },
    [VECTOR_ROT] = { BOTH, BOTH, 2, RESULT_NONE },
};

enum { MEMORIES = 2, SMALL = 3 * 64 * 64 /* elements that take less than a change of threads */ };

struct vector_job {
    struct aw_lib_job job; /* its spans: the vectors, then the scalars or the result where those are on the device */
    enum vector_op op;
    cudaDataType type, scalar_type; /* of the vectors; of the scalars or the result */
    int64_t n, inc[MEMORIES];
    bool device;               /* the scalars or the result are there */
    bool wide;                 /* an index of 64 bits */
    double _Complex scalar[2]; /* the host's */
    void *result;              /* the host's; NULL: there is none */
};

/* ---- On the processor */

static double _Complex times(double _Complex a, double _Complex b, bool complex_too)
{
    if (!complex_too) /* an infinity by the 0 of an imaginary part would be a NaN */
        return creal(a) * creal(b);
    return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* Element `i` of vector `which`: with a step below 0 the first one lies last. */
static int64_t place(const struct vector_job *v, int which, int64_t i)
{
    return v->inc[which] < 0 ? (i + 1 - v->n) * v->inc[which] : i * v->inc[which];
}

static double _Complex load(const struct vector_job *v, int which, int64_t i)
{
    return aw_type_load(v->type, v->job.spans[which].at, place(v, which, i));
}

static double _Complex dot(const struct vector_job *v)
{
    bool complex_too = aw_type_complex(v->type);
    double _Complex sum = 0;
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex x = load(v, 0, i);
        sum += times(v->op == VECTOR_DOTC ? conj(x) : x, load(v, 1, i), complex_too);
    }
    return sum;
}

/* By the largest part, so that no square overflows. */
static double norm(const struct vector_job *v)
{
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex x = load(v, 0, i);
        if (isnan(creal(x)) || isnan(cimag(x)))
            return NAN;
        largest = fmax(largest, fmax(fabs(creal(x)), fabs(cimag(x))));
    }
    if (largest == 0 || isinf(largest))
        return largest;
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex x = load(v, 0, i);
        double re = creal(x) / largest, im = cimag(x) / largest;
        sum += re * re + im * im;
    }
    return largest * sqrt(sum);
}

static double parts(double _Complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

static double sum_of_parts(const struct vector_job *v)
{
    double sum = 0;
    for (int64_t i = 0; i < v->n; i++)
        sum += parts(load(v, 0, i));
    return sum;
}

/* The first that is greatest, or least, from 1; 0 of none. */
static int64_t extreme(const struct vector_job *v)
{
    int64_t at = 0;
    double best = 0;
    for (int64_t i = 0; i < v->n; i++) {
        double x = parts(load(v, 0, i));
        if (at && !(v->op == VECTOR_IMAX ? x > best : x < best))
            continue;
        best = x;
        at = i + 1;
    }
    return at;
}

/* Elements as they are: no NaN loses its bits. */
static void move(const struct vector_job *v)
{
    size_t size = aw_type_size(v->type);
    for (int64_t i = 0; i < v->n; i++) {
        char *x = (char *)v->job.spans[0].at + place(v, 0, i) * (int64_t)size, kept[16];
        char *y = (char *)v->job.spans[1].at + place(v, 1, i) * (int64_t)size;
        memcpy(kept, y, size);
        memcpy(y, x, size);
        if (v->op == VECTOR_SWAP)
            memcpy(x, kept, size);
    }
}

static void rotate(const struct vector_job *v, double _Complex c, double _Complex s)
{
    bool complex_too = aw_type_complex(v->type);
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex x = load(v, 0, i), y = load(v, 1, i);
        aw_type_store(v->type, v->job.spans[0].at, place(v, 0, i), times(c, x, complex_too) + times(s, y, complex_too));
        aw_type_store(v->type, v->job.spans[1].at, place(v, 1, i), times(c, y, complex_too) - times(conj(s), x, complex_too));
    }
}

static void update(const struct vector_job *v, double _Complex alpha)
{
    bool complex_too = aw_type_complex(v->type), scal = v->op == VECTOR_SCAL;
    int to = scal ? 0 : 1;
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex r = times(alpha, load(v, 0, i), complex_too);
        aw_type_store(v->type, v->job.spans[to].at, place(v, to, i), scal ? r : load(v, to, i) + r);
    }
}

static double _Complex reduced(const struct vector_job *v)
{
    switch (v->op) {
    case VECTOR_NRM2: return norm(v);
    case VECTOR_ASUM: return sum_of_parts(v);
    default: return dot(v);
    }
}

static void store_result(const struct vector_job *v, void *to)
{
    if (traits[v->op].result != RESULT_INDEX) {
        aw_type_store(v->scalar_type, to, 0, reduced(v));
    } else if (v->wide) {
        int64_t at = extreme(v);
        memcpy(to, &at, sizeof at);
    } else {
        int at = (int)extreme(v);
        memcpy(to, &at, sizeof at);
    }
}

static void run(struct aw_lib_job *job)
{
    const struct vector_job *v = (struct vector_job *)job;
    const struct vector_traits *t = &traits[v->op];
    struct aw_lib_span *behind = &job->spans[t->y ? 2 : 1];
    double _Complex scalar[2] = { v->scalar[0], v->scalar[1] };
    for (unsigned i = 0; v->device && i < t->scalars; i++)
        scalar[i] = aw_type_load(v->scalar_type, behind[i].at, 0);
    if (t->result)
        store_result(v, v->device ? behind->at : v->result);
    else if (v->op == VECTOR_ROT)
        rotate(v, scalar[0], scalar[1]);
    else if (t->scalars)
        update(v, scalar[0]);
    else
        move(v);
}

/* ---- Arguments */

/* Halves are computed in float, other types in themselves; norms of complex numbers are real, and rotations of them may be by
 * real numbers.  What only moves elements takes any type, and `execution` says nothing where a function is given none. */
static bool types_fit(const struct vector_job *v, cudaDataType execution)
{
    const struct vector_traits *t = &traits[v->op];
    bool half = v->type == CUDA_R_16F || v->type == CUDA_R_16BF;
    if (!t->scalars && !t->result)
        return aw_type_size(v->type) != 0;
    if (!half && v->type != CUDA_R_32F && v->type != CUDA_R_64F && v->type != CUDA_C_32F && v->type != CUDA_C_64F)
        return false;
    cudaDataType real = v->type == CUDA_C_32F ? CUDA_R_32F : v->type == CUDA_C_64F ? CUDA_R_64F : v->type;
    cudaDataType inside = half ? CUDA_R_32F : t->result == RESULT_REAL ? real : v->type;
    if (t->result == RESULT_INDEX)
        return true;
    if (v->op == VECTOR_ROT)
        return execution == inside && (v->scalar_type == v->type || v->scalar_type == real);
    return execution == inside && v->scalar_type == (t->scalars ? inside : t->result == RESULT_REAL ? real : v->type);
}

static void span_add(struct vector_job *v, const void *at, size_t width, size_t rows, int64_t inc, unsigned dir)
{
    struct aw_lib_span *s = &v->job.spans[v->job.n_spans++];
    size_t step = (size_t)(inc < 0 ? -inc : inc);
    if (step == 1)
        *s = (struct aw_lib_span){ (void *)(uintptr_t)at, width * rows, 1, width * rows, 1, 0, dir };
    else
        *s = (struct aw_lib_span){ (void *)(uintptr_t)at, width, step || !rows ? rows : 1, step * width, 1, 0, dir };
}

struct vector {
    const void *at;
    cudaDataType type;
    int64_t inc;
};

/* What a call has besides its vectors: scalars, or where the result goes. */
struct scalars {
    const void *at[2];
    cudaDataType type, execution;
    bool wide;
};

static bool pointers_fit(const struct vector_job *v, const struct vector *x, const struct vector *y, const struct scalars *more)
{
    const struct vector_traits *t = &traits[v->op];
    if ((t->scalars || t->result) && !more->at[0])
        return false;
    return (t->scalars < 2 || more->at[1]) && (!v->n || (x->at && (!y || y->at)));
}

static void scalars_add(struct vector_job *v, const struct scalars *more)
{
    const struct vector_traits *t = &traits[v->op];
    size_t size = t->result == RESULT_INDEX ? v->wide ? sizeof(int64_t) : sizeof(int) : aw_type_size(v->scalar_type);
    if (v->device && t->result)
        span_add(v, more->at[0], size, 1, 1, AW_LIB_OUT);
    else if (t->result)
        v->result = (void *)(uintptr_t)more->at[0];
    for (unsigned i = 0; i < t->scalars; i++)
        if (v->device)
            span_add(v, more->at[i], size, 1, 1, AW_LIB_IN);
        else
            v->scalar[i] = aw_type_load(v->scalar_type, more->at[i], 0);
}

/* `y` is NULL for functions of one vector. */
static cublasStatus_t submit(cublasHandle_t handle, enum vector_op op, int64_t n, const struct vector *x, const struct vector *y,
                             const struct scalars *more)
{
    cublasStatus_t status = aw_blas_handle_check(handle);
    int ran;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    struct vector_job v = { .job = { .run = run, .size = sizeof v }, .op = op, .type = x->type, .scalar_type = more->type,
                            .n = n < 0 || (!y && x->inc <= 0) ? 0 : n, .inc = { x->inc, y ? y->inc : 0 }, .wide = more->wide };
    if (!types_fit(&v, more->execution) || (y && y->type != x->type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!pointers_fit(&v, x, y, more))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!traits[op].result && !v.n)
        return CUBLAS_STATUS_SUCCESS;
    v.device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    size_t size = aw_type_size(v.type), rows = (size_t)v.n;
    span_add(&v, x->at, size, rows, x->inc, traits[op].x);
    if (y)
        span_add(&v, y->at, size, rows, y->inc, traits[op].y);
    scalars_add(&v, more);
    return aw_blas_status(aw_lib_submit(&handle->queue, &v.job,
                                        v.result ? AW_LIB_DONE : n <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &ran));
}

cublasStatus_t awcublas_cublasDotEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                    const void *y, cudaDataType yType, int64_t incy, void *result, cudaDataType resultType,
                                    cudaDataType executionType)
{
    return submit(handle, VECTOR_DOT, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ { result }, resultType, executionType, false });
}

cublasStatus_t awcublas_cublasDotcEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                     const void *y, cudaDataType yType, int64_t incy, void *result, cudaDataType resultType,
                                     cudaDataType executionType)
{
    return submit(handle, VECTOR_DOTC, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ { result }, resultType, executionType, false });
}

cublasStatus_t awcublas_cublasNrm2Ex(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                     void *result, cudaDataType resultType, cudaDataType executionType)
{
    return submit(handle, VECTOR_NRM2, n, &(struct vector){ x, xType, incx }, NULL,
                  &(struct scalars){ { result }, resultType, executionType, false });
}

cublasStatus_t awcublas_cublasAxpyEx(cublasHandle_t handle, int64_t n, const void *alpha, cudaDataType alphaType, const void *x,
                                     cudaDataType xType, int64_t incx, void *y, cudaDataType yType, int64_t incy,
                                     cudaDataType executiontype)
{
    return submit(handle, VECTOR_AXPY, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ { alpha }, alphaType, executiontype, false });
}

cublasStatus_t awcublas_cublasScalEx(cublasHandle_t handle, int64_t n, const void *alpha, cudaDataType alphaType, void *x,
                                     cudaDataType xType, int64_t incx, cudaDataType executionType)
{
    return submit(handle, VECTOR_SCAL, n, &(struct vector){ x, xType, incx }, NULL,
                  &(struct scalars){ { alpha }, alphaType, executionType, false });
}

cublasStatus_t awcublas_cublasAsumEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                     void *result, cudaDataType resultType, cudaDataType executiontype)
{
    return submit(handle, VECTOR_ASUM, n, &(struct vector){ x, xType, incx }, NULL,
                  &(struct scalars){ { result }, resultType, executiontype, false });
}

cublasStatus_t awcublas_cublasIamaxEx(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx, int *result)
{
    return submit(handle, VECTOR_IMAX, n, &(struct vector){ x, xType, incx }, NULL, &(struct scalars){ .at = { result } });
}

cublasStatus_t awcublas_cublasIamaxEx_64(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                         int64_t *result)
{
    return submit(handle, VECTOR_IMAX, n, &(struct vector){ x, xType, incx }, NULL,
                  &(struct scalars){ .at = { result }, .wide = true });
}

cublasStatus_t awcublas_cublasIaminEx(cublasHandle_t handle, int n, const void *x, cudaDataType xType, int incx, int *result)
{
    return submit(handle, VECTOR_IMIN, n, &(struct vector){ x, xType, incx }, NULL, &(struct scalars){ .at = { result } });
}

cublasStatus_t awcublas_cublasIaminEx_64(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                         int64_t *result)
{
    return submit(handle, VECTOR_IMIN, n, &(struct vector){ x, xType, incx }, NULL,
                  &(struct scalars){ .at = { result }, .wide = true });
}

cublasStatus_t awcublas_cublasCopyEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx, void *y,
                                     cudaDataType yType, int64_t incy)
{
    return submit(handle, VECTOR_COPY, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ .at = { NULL } });
}

cublasStatus_t awcublas_cublasSwapEx(cublasHandle_t handle, int64_t n, void *x, cudaDataType xType, int64_t incx, void *y,
                                     cudaDataType yType, int64_t incy)
{
    return submit(handle, VECTOR_SWAP, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ .at = { NULL } });
}

cublasStatus_t awcublas_cublasRotEx(cublasHandle_t handle, int64_t n, void *x, cudaDataType xType, int64_t incx, void *y,
                                    cudaDataType yType, int64_t incy, const void *c, const void *s, cudaDataType csType,
                                    cudaDataType executiontype)
{
    return submit(handle, VECTOR_ROT, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy },
                  &(struct scalars){ { c, s }, csType, executiontype, false });
}
