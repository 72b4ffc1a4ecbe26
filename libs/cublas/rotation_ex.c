/* Plane rotations with types of their own: RotgEx makes one, RotmgEx a modified one, RotmEx applies the latter.  The manual does
 * not describe them; they do what the functions with a type in their name do, in double on the processor, rounded once.  All
 * numbers of a call have one type.  RotEx is vector_ex.c's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/blas.h"
#include "common/convert.h"
#include "cublas_proto.h"
#include "handle.h"

enum { NUMBERS = 5 };
enum rotation { ROTG, ROTMG, ROTM };

/* The numbers behind the vectors: how many lie at each address, and whether they are read and written. */
static const struct rotation_traits {
    uint8_t vectors, numbers;
    struct {
        uint8_t count, dir;
    } number[NUMBERS];
} traits[] = {
    [ROTG] = { 0, 4, { { 1, AW_LIB_IN | AW_LIB_OUT }, { 1, AW_LIB_IN | AW_LIB_OUT }, { 1, AW_LIB_OUT }, { 1, AW_LIB_OUT } } },
    [ROTMG] = { 0, 5, { { 1, AW_LIB_IN | AW_LIB_OUT }, { 1, AW_LIB_IN | AW_LIB_OUT }, { 1, AW_LIB_IN | AW_LIB_OUT },
                        { 1, AW_LIB_IN }, { 5, AW_LIB_OUT } } },
    [ROTM] = { 2, 1, { { 5, AW_LIB_IN } } },
};

struct rotation_job {
    struct aw_lib_job job; /* its spans: two vectors of ROTM, then the numbers that the device has */
    enum rotation op;
    cudaDataType type;
    int64_t n, inc[2];
    bool device;            /* where the numbers are */
    void *at[NUMBERS];      /* the host's */
    double param[5];        /* ROTM's, where they are the host's */
    aw_fortran make;
};

static void load(const struct rotation_job *r, const void *from, unsigned n, double *to)
{
    for (unsigned i = 0; i < n; i++)
        to[i] = creal(aw_type_load(r->type, from, i));
}

static void make(const struct rotation_job *r)
{
    const struct rotation_traits *t = &traits[r->op];
    double v[NUMBERS][5] = { { 0 } };
    void *at[NUMBERS];
    for (unsigned i = 0; i < t->numbers; i++) {
        at[i] = r->device ? r->job.spans[i].at : r->at[i];
        if (t->number[i].dir & AW_LIB_IN || t->number[i].count > 1) /* of five, those that the flag leaves out stay */
            load(r, at[i], t->number[i].count, v[i]);
    }
    r->make(v[0], v[1], v[2], v[3], v[4]);
    for (unsigned i = 0; i < t->numbers; i++)
        for (unsigned k = 0; t->number[i].dir & AW_LIB_OUT && k < t->number[i].count; k++)
            aw_type_store(r->type, at[i], k, v[i][k]);
}

/* The rotation's four numbers: those that the flag in p[0] says are fixed are not read. */
static bool matrix(const double p[5], double h[4])
{
    int flag = (int)p[0];
    h[0] = flag == 0 ? 1 : p[1], h[1] = flag == 1 ? -1 : p[2], h[2] = flag == 1 ? 1 : p[3], h[3] = flag == 0 ? 1 : p[4];
    return flag != -2;
}

static void apply(const struct rotation_job *r)
{
    double p[5], h[4];
    const struct aw_lib_span *s = r->job.spans;
    memcpy(p, r->param, sizeof p);
    if (r->device)
        load(r, s[2].at, 5, p);
    if (!matrix(p, h))
        return;
    for (int64_t i = 0; i < r->n; i++) {
        int64_t ix = r->inc[0] < 0 ? (i + 1 - r->n) * r->inc[0] : i * r->inc[0];
        int64_t iy = r->inc[1] < 0 ? (i + 1 - r->n) * r->inc[1] : i * r->inc[1];
        double x = creal(aw_type_load(r->type, s[0].at, ix)), y = creal(aw_type_load(r->type, s[1].at, iy));
        aw_type_store(r->type, s[0].at, ix, h[0] * x + h[2] * y);
        aw_type_store(r->type, s[1].at, iy, h[1] * x + h[3] * y);
    }
}

static void run(struct aw_lib_job *job)
{
    const struct rotation_job *r = (struct rotation_job *)job;
    if (r->op == ROTM)
        apply(r);
    else
        make(r);
}

/* Real numbers of one type, halves computed in float. */
static bool types_fit(cudaDataType type, cudaDataType execution)
{
    if (type == CUDA_R_16F || type == CUDA_R_16BF)
        return execution == CUDA_R_32F;
    return (type == CUDA_R_32F || type == CUDA_R_64F) && execution == type;
}

static void vector_add(struct rotation_job *r, void *at, int64_t inc)
{
    size_t size = aw_type_size(r->type), step = (size_t)(inc < 0 ? -inc : inc), rows = (size_t)r->n;
    r->job.spans[r->job.n_spans++] =
        (struct aw_lib_span){ at, size, step || !rows ? rows : 1, step ? step * size : size, 1, 0, AW_LIB_IN | AW_LIB_OUT };
}

static cublasStatus_t submit(cublasHandle_t handle, struct rotation_job *r, cudaDataType execution, void *const at[])
{
    const struct rotation_traits *t = &traits[r->op];
    cublasStatus_t status = aw_blas_handle_check(handle);
    size_t size = aw_type_size(r->type);
    int ran;
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    if (!types_fit(r->type, execution))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    r->device = handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
    for (unsigned i = 0; i < t->numbers; i++) {
        size_t bytes = size * t->number[i].count;
        if (!at[i])
            return CUBLAS_STATUS_INVALID_VALUE;
        r->at[i] = at[i];
        /* Read where only written, too: five numbers of which some stay. */
        if (r->device)
            r->job.spans[r->job.n_spans++] = (struct aw_lib_span){ at[i], bytes, 1, bytes, 1, 0,
                                                                   t->number[i].dir | (t->vectors ? 0 : AW_LIB_IN) };
    }
    if (r->op == ROTM && !r->device)
        load(r, at[0], 5, r->param);
    r->job.run = run;
    r->job.size = sizeof *r;
    bool waits = !r->device && r->op != ROTM;
    return aw_blas_status(aw_lib_submit(&handle->queue, &r->job, waits ? AW_LIB_DONE : AW_LIB_SMALL, &ran));
}

cublasStatus_t awcublas_cublasRotgEx(cublasHandle_t handle, void *a, void *b, cudaDataType abType, void *c, void *s,
                                     cudaDataType csType, cudaDataType executiontype)
{
    struct rotation_job r = { .op = ROTG, .type = abType, .make = (aw_fortran)aw_cpu_blas_find("drotg_") };
    if (csType != abType || !r.make)
        return handle ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_NOT_INITIALIZED;
    return submit(handle, &r, executiontype, (void *[]){ a, b, c, s });
}

cublasStatus_t awcublas_cublasRotmgEx(cublasHandle_t handle, void *d1, cudaDataType d1Type, void *d2, cudaDataType d2Type,
                                      void *x1, cudaDataType x1Type, const void *y1, cudaDataType y1Type, void *param,
                                      cudaDataType paramType, cudaDataType executiontype)
{
    struct rotation_job r = { .op = ROTMG, .type = d1Type, .make = (aw_fortran)aw_cpu_blas_find("drotmg_") };
    if (d2Type != d1Type || x1Type != d1Type || y1Type != d1Type || paramType != d1Type || !r.make)
        return handle ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_NOT_INITIALIZED;
    return submit(handle, &r, executiontype, (void *[]){ d1, d2, x1, (void *)(uintptr_t)y1, param });
}

cublasStatus_t awcublas_cublasRotmEx(cublasHandle_t handle, int64_t n, void *x, cudaDataType xType, int64_t incx, void *y,
                                     cudaDataType yType, int64_t incy, const void *param, cudaDataType paramType,
                                     cudaDataType executiontype)
{
    struct rotation_job r = { .op = ROTM, .type = xType, .n = n < 0 ? 0 : n, .inc = { incx, incy } };
    if (yType != xType || paramType != xType)
        return handle ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_NOT_INITIALIZED;
    if (r.n && (!x || !y))
        return handle ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
    vector_add(&r, x, incx);
    vector_add(&r, y, incy);
    return submit(handle, &r, executiontype, (void *[]){ (void *)(uintptr_t)param });
}
