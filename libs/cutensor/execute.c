/* Operations as work of streams: see execute.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cutensor"
#include "execute.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "blocks.h"
#include "common/convert.h"
#include "contract.h"
#include "cutensor_proto.h"
#include "map.h"
#include "reduce.h"

/* Elements for which a change of threads costs more than they do. */
#define SMALL 32768

struct tensor_job {
    struct aw_lib_job job;
    enum aw_tensor_operation kind;
    char calc;
    int op_ab, op_abc;
    struct aw_tensor_scalars s;
    bool padded;
    _Alignas(16) char padding[16];
    int64_t inner_at; /* elements from the output's first to the first that is no padding */
    struct aw_operand x[AW_TENSOR_OPERANDS]; /* the job ends behind the last that there is */
};

/* ---- The work */

static void run_permute(struct tensor_job *j, void *const at[])
{
    struct aw_map map;
    const struct aw_operand *out = &j->x[AW_TENSOR_C];
    if (j->padded) {
        aw_map_init(&map, j->calc, out, at[AW_TENSOR_D]);
        aw_map_value(&map, j->padding);
        aw_map_run(&map);
        out = &j->x[AW_TENSOR_B];
    }
    aw_map_init(&map, j->calc, out, (char *)at[AW_TENSOR_D] + j->inner_at * (int64_t)aw_type_size(out->t.type));
    aw_map_input(&map, AW_MAP_A, &j->x[AW_TENSOR_A], at[AW_TENSOR_A], j->s.a);
    aw_map_run(&map);
}

static void run_elementwise(struct tensor_job *j, void *const at[])
{
    struct aw_map map;
    aw_map_init(&map, j->calc, &j->x[AW_TENSOR_C], at[AW_TENSOR_D]);
    map.op_ab = j->op_ab;
    map.op_abc = j->op_abc;
    aw_map_input(&map, AW_MAP_A, &j->x[AW_TENSOR_A], at[AW_TENSOR_A], j->s.a);
    if (j->kind == AW_TENSOR_TRINARY)
        aw_map_input(&map, AW_MAP_B, &j->x[AW_TENSOR_B], at[AW_TENSOR_B], j->s.b);
    aw_map_input(&map, AW_MAP_C, &j->x[AW_TENSOR_C], at[AW_TENSOR_C], j->s.c);
    aw_map_run(&map);
}

static bool run_reduce(struct tensor_job *j, void *const at[])
{
    struct aw_reduce r = { j->calc, j->op_ab, &j->x[AW_TENSOR_A], &j->x[AW_TENSOR_C], j->s.a, j->s.c };
    return aw_reduce_run(&r, at[AW_TENSOR_A], at[AW_TENSOR_C], at[AW_TENSOR_D]);
}

static bool run_contract(struct tensor_job *j, void *const at[])
{
    struct aw_contract c = { j->calc, &j->x[AW_TENSOR_A], &j->x[AW_TENSOR_B], &j->x[AW_TENSOR_C], j->s.a, j->s.c };
    return aw_contract_run(&c, at[AW_TENSOR_A], at[AW_TENSOR_B], at[AW_TENSOR_C], at[AW_TENSOR_D]);
}

static void run(struct aw_lib_job *job)
{
    struct tensor_job *j = (struct tensor_job *)job;
    void *at[AW_TENSOR_ADDRESSES];
    bool good = true;
    for (int i = 0; i < AW_TENSOR_ADDRESSES; i++)
        at[i] = job->spans[i].at;
    switch (j->kind) {
    case AW_TENSOR_PERMUTE: run_permute(j, at); break;
    case AW_TENSOR_BINARY:
    case AW_TENSOR_TRINARY: run_elementwise(j, at); break;
    case AW_TENSOR_REDUCE: good = run_reduce(j, at); break;
    case AW_TENSOR_CONTRACT:
    case AW_TENSOR_BLOCKS: good = run_contract(j, at); break;
    case AW_TENSOR_CONTRACT3: {
        const struct aw_operand *in[] = { &j->x[AW_TENSOR_A], &j->x[AW_TENSOR_B], &j->x[AW_TENSOR_E] };
        const void *const from[] = { at[AW_TENSOR_A], at[AW_TENSOR_B], at[AW_TENSOR_E] };
        struct aw_contract c = { .calc = j->calc, .c = &j->x[AW_TENSOR_C], .alpha = j->s.a, .beta = j->s.c };
        good = aw_contract_three(&c, in, from, at[AW_TENSOR_C], at[AW_TENSOR_D]);
        break;
    }
    }
    if (!good) {
        job->status = CUTENSOR_STATUS_ALLOC_FAILED;
        aw_say(TENSOR_MEMORY);
    }
}

/* ---- To the queue */

/* The tensor's memory from its first element to its last.  What lies between its elements is written back as it was read. */
static struct aw_lib_span span_of(const struct cutensorTensorDescriptor *t, void *at, unsigned dir)
{
    size_t size = aw_type_size(t->type), reach = (size_t)aw_tensor_reach(t) * size;
    bool dense = aw_tensor_count(t) == aw_tensor_reach(t);
    return (struct aw_lib_span){ at, reach, 1, reach, 1, reach, dense ? dir : dir | AW_LIB_IN };
}

static cutensorStatus_t spans_make(struct tensor_job *j, const struct cutensorOperationDescriptor *op, void *const at[])
{
    const double _Complex by[] = { op->kind == AW_TENSOR_PERMUTE ? 0 : j->s.c, j->s.a };
    for (int i = 0; i < AW_TENSOR_ADDRESSES; i++) {
        bool output = i == AW_TENSOR_D;
        double _Complex scale = output                                              ? 1
                                : i == AW_TENSOR_C                                  ? by[0]
                                : i == AW_TENSOR_B && op->kind == AW_TENSOR_TRINARY ? j->s.b
                                                                                    : by[1];
        if (!output && (!op->there[i] || scale == 0))
            continue;
        if (!at[i])
            return CUTENSOR_STATUS_INVALID_VALUE;
        j->job.spans[i] = span_of(&op->x[output ? AW_TENSOR_C : i].t, at[i], output ? AW_LIB_OUT : AW_LIB_IN);
    }
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t aw_tensor_execute(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op,
                                   struct aw_tensor_scalars scalars, void *const at[AW_TENSOR_ADDRESSES], cudaStream_t stream)
{
    struct tensor_job j;
    struct aw_lib_queue queue = handle->queue;
    int n = op->there[AW_TENSOR_E] ? AW_TENSOR_OPERANDS : AW_TENSOR_E, status;
    memset(&j, 0, offsetof(struct tensor_job, x));
    j.job = (struct aw_lib_job){ .run = run, .size = (uint32_t)(offsetof(struct tensor_job, x) + (size_t)n * sizeof *j.x),
                                 .n_spans = AW_TENSOR_ADDRESSES };
    j.kind = op->kind;
    j.calc = op->calc;
    j.op_ab = op->op_ab;
    j.op_abc = op->op_abc;
    j.s = scalars;
    j.padded = aw_tensor_is_padded(op);
    memcpy(j.padding, op->padding, sizeof j.padding);
    memcpy(j.x, op->x, (size_t)n * sizeof *j.x);
    for (uint32_t i = 0; i < op->x[AW_TENSOR_C].t.n && j.padded; i++)
        j.inner_at += op->left[i] * op->x[AW_TENSOR_C].t.stride[i];
    queue.stream = (CUstream)stream;
    if (spans_make(&j, op, at) != CUTENSOR_STATUS_SUCCESS)
        return CUTENSOR_STATUS_INVALID_VALUE;
    CUresult result = aw_lib_submit(&queue, &j.job, op->work < SMALL ? AW_LIB_SMALL : AW_LIB_QUEUED, &status);
    return result != CUDA_SUCCESS ? aw_tensor_status(result) : (cutensorStatus_t)status;
}

/* ---- The functions */

/* `n` scalars of the operation's type, to `to`. */
static cutensorStatus_t begin(cutensorHandle_t handle, cutensorPlan_t plan, enum aw_tensor_operation kind,
                              const void *const scalar[], double _Complex *const to[], int n)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!plan || plan->op.kind != kind)
        return CUTENSOR_STATUS_INVALID_VALUE;
    for (int i = 0; i < n; i++) {
        if (!scalar[i])
            return CUTENSOR_STATUS_INVALID_VALUE;
        *to[i] = aw_type_load(plan->op.scalar, scalar[i], 0);
    }
    return CUTENSOR_STATUS_SUCCESS;
}

#define IN(p) ((void *)(uintptr_t)(p))
static const char why[] = "a plan of another operation, or an address that is missing";

static cutensorStatus_t tell(cutensorStatus_t status, const char *function)
{
    return status == CUTENSOR_STATUS_SUCCESS ? status : aw_tensor_fail(status, function, why);
}

cutensorStatus_t awcutensor_cutensorPermute(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha, const void *a,
                                            void *b, cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_D] = b };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_PERMUTE, (const void *[]){ alpha }, (double _Complex *[]){ &s.a }, 1);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorPermute");
}

cutensorStatus_t awcutensor_cutensorElementwiseBinaryExecute(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha,
                                                             const void *a, const void *gamma, const void *c, void *d,
                                                             cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_C] = IN(c), [AW_TENSOR_D] = d };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_BINARY, (const void *[]){ alpha, gamma },
                                    (double _Complex *[]){ &s.a, &s.c }, 2);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorElementwiseBinaryExecute");
}

cutensorStatus_t awcutensor_cutensorElementwiseTrinaryExecute(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha,
                                                              const void *a, const void *beta, const void *b, const void *gamma,
                                                              const void *c, void *d, cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_B] = IN(b), [AW_TENSOR_C] = IN(c),
                                            [AW_TENSOR_D] = d };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_TRINARY, (const void *[]){ alpha, beta, gamma },
                                    (double _Complex *[]){ &s.a, &s.b, &s.c }, 3);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorElementwiseTrinaryExecute");
}

cutensorStatus_t awcutensor_cutensorReduce(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha, const void *a,
                                           const void *beta, const void *c, void *d, void *workspace, uint64_t size,
                                           cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_C] = IN(c), [AW_TENSOR_D] = d };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_REDUCE, (const void *[]){ alpha, beta },
                                    (double _Complex *[]){ &s.a, &s.c }, 2);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorReduce");
}

cutensorStatus_t awcutensor_cutensorContract(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha, const void *a,
                                             const void *b, const void *beta, const void *c, void *d, void *workspace,
                                             uint64_t size, cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_B] = IN(b), [AW_TENSOR_C] = IN(c),
                                            [AW_TENSOR_D] = d };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_CONTRACT, (const void *[]){ alpha, beta },
                                    (double _Complex *[]){ &s.a, &s.c }, 2);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorContract");
}

cutensorStatus_t awcutensor_cutensorContractTrinary(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha,
                                                    const void *a, const void *b, const void *c, const void *beta, const void *d,
                                                    void *e, void *workspace, uint64_t size, cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    void *const at[AW_TENSOR_ADDRESSES] = { [AW_TENSOR_A] = IN(a), [AW_TENSOR_B] = IN(b), [AW_TENSOR_E] = IN(c),
                                            [AW_TENSOR_C] = IN(d), [AW_TENSOR_D] = e };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_CONTRACT3, (const void *[]){ alpha, beta },
                                    (double _Complex *[]){ &s.a, &s.c }, 2);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_tensor_execute(handle, &plan->op, s, at, stream);
    return tell(status, "cutensorContractTrinary");
}

cutensorStatus_t awcutensor_cutensorBlockSparseContract(cutensorHandle_t handle, cutensorPlan_t plan, const void *alpha,
                                                        const void *const *a, const void *const *b, const void *beta,
                                                        const void *const *c, void *const *d, void *workspace, uint64_t size,
                                                        cudaStream_t stream)
{
    struct aw_tensor_scalars s = { 0 };
    cutensorStatus_t status = begin(handle, plan, AW_TENSOR_BLOCKS, (const void *[]){ alpha, beta },
                                    (double _Complex *[]){ &s.a, &s.c }, 2);
    if (status == CUTENSOR_STATUS_SUCCESS && (!a || !b || !d || (!c && s.c != 0)))
        status = CUTENSOR_STATUS_INVALID_VALUE;
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = aw_blocks_execute(handle, &plan->op, s, a, b, c, d, stream);
    return tell(status, "cutensorBlockSparseContract");
}
