/* Vectors with types of their own: sums of products, norms, multiples.  Computed here on the processor in double, also for AMD's
 * cards, on copies.
 *
 * Not those that the manual does not describe (AsumEx, CopyEx and their kin), which stay refused. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>

#include "common/convert.h"
#include "cublas_proto.h"
#include "handle.h"

enum vector_op { VECTOR_DOT, VECTOR_DOTC, VECTOR_NRM2, VECTOR_AXPY, VECTOR_SCAL };

enum { MEMORIES = 2, SMALL = 3 * 64 * 64 /* elements that take less than a change of threads */ };

struct vector_job {
    struct aw_lib_job job; /* its spans: the vectors, then alpha or the result where that is on the device */
    enum vector_op op;
    cudaDataType type, scalar_type; /* of the vectors; of alpha or the result */
    int64_t n, inc[MEMORIES];
    bool device;    /* alpha or the result is there */
    double _Complex alpha;
    void *result;   /* the host's; NULL: there is none */
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

static void update(const struct vector_job *v, double _Complex alpha)
{
    bool complex_too = aw_type_complex(v->type), scal = v->op == VECTOR_SCAL;
    int to = scal ? 0 : 1;
    for (int64_t i = 0; i < v->n; i++) {
        double _Complex r = times(alpha, load(v, 0, i), complex_too);
        aw_type_store(v->type, v->job.spans[to].at, place(v, to, i), scal ? r : load(v, to, i) + r);
    }
}

static void run(struct aw_lib_job *job)
{
    const struct vector_job *v = (struct vector_job *)job;
    void *last = job->spans[job->n_spans - 1].at;
    if (v->op == VECTOR_AXPY || v->op == VECTOR_SCAL)
        update(v, v->device ? aw_type_load(v->scalar_type, last, 0) : v->alpha);
    else
        aw_type_store(v->scalar_type, v->device ? last : v->result, 0, v->op == VECTOR_NRM2 ? norm(v) : dot(v));
}

/* ---- Arguments */

/* Halves are computed in float, other types in themselves; norms of complex numbers are real. */
static bool types_fit(const struct vector_job *v, cudaDataType execution)
{
    bool half = v->type == CUDA_R_16F || v->type == CUDA_R_16BF, norm = v->op == VECTOR_NRM2;
    bool update = v->op == VECTOR_AXPY || v->op == VECTOR_SCAL;
    if (!half && v->type != CUDA_R_32F && v->type != CUDA_R_64F && v->type != CUDA_C_32F && v->type != CUDA_C_64F)
        return false;
    cudaDataType real = v->type == CUDA_C_32F ? CUDA_R_32F : v->type == CUDA_C_64F ? CUDA_R_64F : v->type;
    cudaDataType inside = half ? CUDA_R_32F : norm ? real : v->type;
    return execution == inside && v->scalar_type == (update ? inside : norm ? real : v->type);
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

/* `y` is NULL for functions of one vector; `scalar` is alpha or where the result goes. */
static cublasStatus_t submit(cublasHandle_t handle, enum vector_op op, int64_t n, const struct vector *x, const struct vector *y,
                             const void *scalar, cudaDataType scalar_type, cudaDataType execution)
{
    cublasStatus_t status = aw_blas_handle_check(handle);
    bool update = op == VECTOR_AXPY || op == VECTOR_SCAL;
    int ran;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    struct vector_job v = { .job = { .run = run, .size = sizeof v }, .op = op, .type = x->type, .scalar_type = scalar_type,
                            .n = n < 0 || (!y && x->inc <= 0) ? 0 : n, .inc = { x->inc, y ? y->inc : 0 } };
    if (!types_fit(&v, execution) || (y && y->type != x->type))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!scalar || (v.n && (!x->at || (y && !y->at))))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (update && !v.n)
        return CUBLAS_STATUS_SUCCESS;
    v.device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    size_t size = aw_type_size(v.type), rows = (size_t)v.n;
    span_add(&v, x->at, size, rows, x->inc, op == VECTOR_SCAL ? AW_LIB_IN | AW_LIB_OUT : AW_LIB_IN);
    if (y)
        span_add(&v, y->at, size, rows, y->inc, update ? AW_LIB_IN | AW_LIB_OUT : AW_LIB_IN);
    if (v.device)
        span_add(&v, scalar, aw_type_size(scalar_type), 1, 1, update ? AW_LIB_IN : AW_LIB_OUT);
    else if (update)
        v.alpha = aw_type_load(scalar_type, scalar, 0);
    else
        v.result = (void *)(uintptr_t)scalar;
    return aw_blas_status(aw_lib_submit(&handle->queue, &v.job,
                                        v.result ? AW_LIB_DONE : n <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &ran));
}

cublasStatus_t awcublas_cublasDotEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                    const void *y, cudaDataType yType, int64_t incy, void *result, cudaDataType resultType,
                                    cudaDataType executionType)
{
    return submit(handle, VECTOR_DOT, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy }, result,
                  resultType, executionType);
}

cublasStatus_t awcublas_cublasDotcEx(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                     const void *y, cudaDataType yType, int64_t incy, void *result, cudaDataType resultType,
                                     cudaDataType executionType)
{
    return submit(handle, VECTOR_DOTC, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy }, result,
                  resultType, executionType);
}

cublasStatus_t awcublas_cublasNrm2Ex(cublasHandle_t handle, int64_t n, const void *x, cudaDataType xType, int64_t incx,
                                     void *result, cudaDataType resultType, cudaDataType executionType)
{
    return submit(handle, VECTOR_NRM2, n, &(struct vector){ x, xType, incx }, NULL, result, resultType, executionType);
}

cublasStatus_t awcublas_cublasAxpyEx(cublasHandle_t handle, int64_t n, const void *alpha, cudaDataType alphaType, const void *x,
                                     cudaDataType xType, int64_t incx, void *y, cudaDataType yType, int64_t incy,
                                     cudaDataType executiontype)
{
    return submit(handle, VECTOR_AXPY, n, &(struct vector){ x, xType, incx }, &(struct vector){ y, yType, incy }, alpha,
                  alphaType, executiontype);
}

cublasStatus_t awcublas_cublasScalEx(cublasHandle_t handle, int64_t n, const void *alpha, cudaDataType alphaType, void *x,
                                     cudaDataType xType, int64_t incx, cudaDataType executionType)
{
    return submit(handle, VECTOR_SCAL, n, &(struct vector){ x, xType, incx }, NULL, alpha, alphaType, executionType);
}
