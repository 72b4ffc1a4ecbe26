/* From calls to jobs, and to LAPACK: see call.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include "call.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "common/blas.h"

cusolverStatus_t aw_solver_status(CUresult result)
{
    return result == CUDA_SUCCESS       ? CUSOLVER_STATUS_SUCCESS
           : result == AW_LIB_NO_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED
                                        : CUSOLVER_STATUS_EXECUTION_FAILED;
}

static void enter(struct aw_lib_job *job)
{
    struct aw_solver_call *c = (struct aw_solver_call *)job;
    for (int k = 0; k < AW_SOLVER_ARRAYS; k++)
        c->a[k] = c->span[k] >= 0 ? job->spans[c->span[k]].at : NULL;
    c->run(c);
}

cusolverStatus_t aw_solver_begin(struct aw_solver_call *c, const char *name, char t, const char *needs,
                                 void (*run)(struct aw_solver_call *c))
{
    memset(c, 0, sizeof *c);
    c->job.run = enter;
    c->job.size = sizeof *c;
    c->run = run;
    c->name = name;
    c->t = t;
    c->batch = 1;
    memset(c->span, -1, sizeof c->span);
    return !needs || aw_lapack(t, needs) ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_NOT_SUPPORTED;
}

static void add(struct aw_solver_call *c, int k, struct aw_lib_span s)
{
    if (!s.at)
        return;
    c->span[k] = (int8_t)c->job.n_spans;
    c->job.spans[c->job.n_spans++] = s;
}

void aw_solver_matrix(struct aw_solver_call *c, int k, const void *at, int64_t rows, int64_t cols, int64_t ld, int64_t stride,
                      unsigned dir)
{
    size_t size = aw_lapack_size(c->t);
    add(c, k,
        (struct aw_lib_span){ (void *)at, (size_t)rows * size, (size_t)cols, (size_t)ld * size, (size_t)c->batch,
                              (size_t)stride * size, dir });
}

void aw_solver_array(struct aw_solver_call *c, int k, const void *at, int64_t count, size_t size, int64_t stride, unsigned dir)
{
    add(c, k,
        (struct aw_lib_span){ (void *)at, (size_t)count * size, count ? 1 : 0, (size_t)count * size, (size_t)c->batch,
                              (size_t)stride * size, dir });
}

cusolverStatus_t aw_solver_submit(struct aw_solver_call *c, cusolverDnHandle_t handle, bool waits)
{
    enum { SMALL = 4096 }; /* bytes in all, which take less than a change of threads */
    size_t bytes = 0;
    int status;
    for (unsigned i = 0; i < c->job.n_spans; i++)
        bytes += c->job.spans[i].width * c->job.spans[i].rows * c->job.spans[i].count;
    enum aw_lib_when when = waits ? AW_LIB_DONE : bytes <= SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED;
    CUresult result = aw_lib_submit(&handle->queue, &c->job, when, &status);
    return result == CUDA_SUCCESS && waits ? (cusolverStatus_t)status : aw_solver_status(result);
}

double _Complex aw_solver_value(char t, const void *at, int64_t i)
{
    switch (t) {
    case 's': return ((const float *)at)[i];
    case 'd': return ((const double *)at)[i];
    case 'c': return ((const float _Complex *)at)[i];
    default: return ((const double _Complex *)at)[i];
    }
}

double aw_solver_real_of(char real_t, const void *at, int64_t i)
{
    return real_t == 's' ? ((const float *)at)[i] : ((const double *)at)[i];
}

double aw_solver_real(char t, const void *at, int64_t i)
{
    int64_t step = aw_solver_complex(t) ? 2 : 1;
    return aw_solver_real_of(aw_solver_real_size(t) == 4 ? 's' : 'd', at, i * step);
}

void *aw_solver_work(const struct aw_solver_call *c, int64_t n, size_t size)
{
    void *p = calloc((size_t)(n > 0 ? n : 1), size);
    if (!p)
        aw_say(SOLVER_MEMORY, c->name);
    return p;
}

int aw_solver_query(char t, const void *work)
{
    double n = aw_solver_real(t, work, 0);
    return n < 1 ? 1 : n > 0x7fffffff ? 0x7fffffff : (int)(n + 0.5);
}

cusolverStatus_t aw_solver_lwork(cusolverDnHandle_t handle, bool valid, int *lwork)
{
    cusolverStatus_t status = aw_solver_handle_check(handle);
    if (status == CUSOLVER_STATUS_SUCCESS && (!valid || !lwork))
        status = CUSOLVER_STATUS_INVALID_VALUE;
    if (status == CUSOLVER_STATUS_SUCCESS)
        *lwork = 16;
    return status;
}
