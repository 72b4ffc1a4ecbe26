/* cuTENSOR's objects.  All of them are memory of the host; none is changed by being used, so threads may share them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_TENSOR_H
#define AW_LIBS_CUTENSOR_TENSOR_H

#include <complex.h>
#include <pthread.h>
#include <stdbool.h>

#include "common/queue.h"
#include "cutensor_types.h"

enum { AW_TENSOR_MODES = 64 }; /* of a tensor, at most, as cuTENSOR has it */

struct cutensorTensorDescriptor {
    uint32_t n;
    uint32_t alignment; /* bytes; kept */
    cudaDataType type;
    bool packed;        /* no strides were given */
    int64_t extent[AW_TENSOR_MODES], stride[AW_TENSOR_MODES]; /* elements; all greater than 0 */
};

/* A tensor in an operation: its modes have names. */
struct aw_operand {
    struct cutensorTensorDescriptor t;
    int32_t mode[AW_TENSOR_MODES];
    int op; /* unary */
};

enum aw_tensor_operation {
    AW_TENSOR_PERMUTE,
    AW_TENSOR_BINARY,
    AW_TENSOR_TRINARY,
    AW_TENSOR_REDUCE,
    AW_TENSOR_CONTRACT,
    AW_TENSOR_CONTRACT3,
    AW_TENSOR_BLOCKS,
};

/* Operands by their letters in cuTENSOR's manual.  The output, D, has a place for its address alone: it is as C.  So a
 * permutation's output is C here, and of a trinary contraction E is the third factor and C what is added. */
enum { AW_TENSOR_A, AW_TENSOR_B, AW_TENSOR_C, AW_TENSOR_E, AW_TENSOR_OPERANDS, AW_TENSOR_D = AW_TENSOR_OPERANDS,
       AW_TENSOR_ADDRESSES };

struct cutensorComputeDescriptor {
    int number; /* enum aw_tensor_compute */
};

enum aw_tensor_compute { AW_TENSOR_16F, AW_TENSOR_16BF, AW_TENSOR_TF32, AW_TENSOR_3XTF32, AW_TENSOR_32F, AW_TENSOR_64F,
                         AW_TENSOR_4X16F, AW_TENSOR_8XINT8, AW_TENSOR_9X16BF };

struct aw_blocks; /* blocks.h */

struct cutensorOperationDescriptor {
    enum aw_tensor_operation kind;
    int compute;            /* enum aw_tensor_compute */
    char calc;              /* what it is calculated in: s d c z */
    cudaDataType scalar;    /* type of alpha, beta and gamma */
    int op_ab, op_abc;      /* binary: of A and B (or what a reduction does), and of that and C */
    bool there[AW_TENSOR_OPERANDS];
    struct aw_operand x[AW_TENSOR_OPERANDS]; /* the modes' strides are as the program gave them */
    double work;            /* elements that are gone through, for all modes together */
    int32_t tag;            /* kept */
    int32_t reproducible;   /* kept: sums are made in one order anyway */
    uint32_t left[AW_TENSOR_MODES], right[AW_TENSOR_MODES]; /* padding of the output's modes */
    _Alignas(16) char padding[16]; /* an element of the output */
    struct aw_blocks *blocks; /* shared with plans; of block-sparse contractions */
};

struct cutensorPlanPreference {
    int32_t autotune, cache, count, algorithm, rank, jit, arch; /* kept, but for the cache: there is one way to do it */
};

struct cutensorPlan {
    struct cutensorOperationDescriptor op; /* a copy */
};

/* The plans that were made, by hashes of their operations: what a cache of plans can know where none takes time to make. */
struct aw_plan_cache {
    uint32_t capacity, n;
    uint64_t *key; /* the latest first */
};

struct cutensorHandle {
    struct aw_lib_queue queue; /* its context is the handle's */
    pthread_mutex_t lock;      /* of the cache */
    struct aw_plan_cache cache;
};

/* Tells the program's logger of an error in `function`, and returns it.  Thread-safe. */
cutensorStatus_t aw_tensor_fail(cutensorStatus_t status, const char *function, const char *why);
#define aw_tensor_refuse(status, why) aw_tensor_fail(status, strstr(__func__, "cutensor_") + sizeof "cutensor_" - 1, why)
cutensorStatus_t aw_tensor_status(CUresult result);

/* Remembers a plan of the operation in the handle's cache.  Thread-safe. */
void aw_tensor_remember(struct cutensorHandle *handle, const struct cutensorOperationDescriptor *op);
/* Elements that an operation goes through, for all modes of its operands together. */
double aw_tensor_work(const struct cutensorOperationDescriptor *op);
/* Is the output of a permutation padded? */
bool aw_tensor_is_padded(const struct cutensorOperationDescriptor *op);

int64_t aw_tensor_count(const struct cutensorTensorDescriptor *t); /* elements */
/* elements from the first to the last in memory, both counted */
int64_t aw_tensor_reach(const struct cutensorTensorDescriptor *t);
bool aw_tensor_same(const struct aw_operand *x, const struct aw_operand *y); /* type, layout and names of modes */
/* The place of a mode in a tensor, or -1. */
int aw_tensor_mode(const struct aw_operand *x, int32_t mode);
/* Elements from one of a mode to the next: 0 where the tensor lacks it, along the diagonal where it has it twice. */
int64_t aw_tensor_stride(const struct aw_operand *x, int32_t mode);

#endif
