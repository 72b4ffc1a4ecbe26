/* cuTENSOR beside its operations: streams, graphs, threads, caches, attributes, the logger, and what it refuses.
 * Usage: seam_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "../streams.h"
#include "cutensor.h"

#define CHECK(condition) check(condition, "line %d: %s", __LINE__, #condition)
#define FINE(call) check((call) == CUTENSOR_STATUS_SUCCESS, "line %d: %s", __LINE__, #call)
#define IS(status, call) check((call) == CUTENSOR_STATUS_##status, "line %d: %s", __LINE__, #call)

extern const cutensorComputeDescriptor_t CUTENSOR_COMPUTE_DESC_16F, CUTENSOR_COMPUTE_DESC_16BF, CUTENSOR_COMPUTE_DESC_TF32,
    CUTENSOR_COMPUTE_DESC_3XTF32, CUTENSOR_COMPUTE_DESC_32F, CUTENSOR_COMPUTE_DESC_64F, CUTENSOR_COMPUTE_DESC_4X16F,
    CUTENSOR_COMPUTE_DESC_8XINT8, CUTENSOR_COMPUTE_DESC_9X16BF;
/* Names alone have no prototypes in the table. */
cutensorStatus_t cutensorOperationNumAlgos(void);
const cutensorOperator_t SAME = CUTENSOR_OP_IDENTITY;

static float *three; /* on the device */

/* 3 x + x of scalars, as a contraction that adds. */
static void step(test_stream stream, float *x)
{
    cutensorHandle_t handle = NULL;
    cutensorTensorDescriptor_t t = NULL;
    cutensorOperationDescriptor_t op = NULL;
    cutensorPlanPreference_t pref = NULL;
    cutensorPlan_t plan = NULL;
    const float one = 1;
    FINE(cutensorCreate(&handle));
    FINE(cutensorCreateTensorDescriptor(handle, &t, 0, NULL, NULL, CUDA_R_32F, 4));
    FINE(cutensorCreateContraction(handle, &op, t, NULL, SAME, t, NULL, SAME, t, NULL, SAME, t, NULL, CUTENSOR_COMPUTE_DESC_32F));
    FINE(cutensorCreatePlanPreference(handle, &pref, CUTENSOR_ALGO_DEFAULT, CUTENSOR_JIT_MODE_NONE));
    FINE(cutensorCreatePlan(handle, &plan, op, pref, 0));
    FINE(cutensorContract(handle, plan, &one, x, three, &one, x, x, NULL, 0, (cudaStream_t)stream));
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyPlanPreference(pref));
    FINE(cutensorDestroyOperationDescriptor(op));
    FINE(cutensorDestroyTensorDescriptor(t));
    FINE(cutensorDestroy(handle));
}

static const int64_t e23[] = { 2, 3 }, e34[] = { 3, 4 }, e24[] = { 2, 4 };
static const int32_t ik[] = { 'i', 'k' }, kj[] = { 'k', 'j' }, ij[] = { 'i', 'j' }, ii[] = { 'i', 'i' };

static cutensorTensorDescriptor_t tensor(cutensorHandle_t h, uint32_t n, const int64_t *extent, cudaDataType type)
{
    cutensorTensorDescriptor_t t = NULL;
    FINE(cutensorCreateTensorDescriptor(h, &t, n, extent, NULL, type, 16));
    return t;
}

static void test_tensors(cutensorHandle_t h)
{
    cutensorTensorDescriptor_t t = NULL;
    int64_t many[65];
    for (int i = 0; i < 65; i++)
        many[i] = 1;
    IS(NOT_INITIALIZED, cutensorCreateTensorDescriptor(NULL, &t, 2, e23, NULL, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, NULL, 2, e23, NULL, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, NULL, NULL, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, (int64_t[]){ 2, 0 }, NULL, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, e23, (int64_t[]){ 1, 0 }, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, e23, (int64_t[]){ 1, -2 }, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, (int64_t[]){ 1l << 40, 1l << 40 }, NULL, CUDA_R_32F, 16));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, e23, NULL, CUDA_R_32F, 0));
    IS(INVALID_VALUE, cutensorCreateTensorDescriptor(h, &t, 2, e23, NULL, CUDA_R_32F, 24));
    IS(NOT_SUPPORTED, cutensorCreateTensorDescriptor(h, &t, 2, e23, NULL, CUDA_R_8I, 16));
    IS(NOT_SUPPORTED, cutensorCreateTensorDescriptor(h, &t, 65, many, NULL, CUDA_R_32F, 16));
    FINE(cutensorCreateTensorDescriptor(h, &t, 64, many, NULL, CUDA_R_32F, 16));
    FINE(cutensorDestroyTensorDescriptor(t));
    FINE(cutensorDestroyTensorDescriptor(NULL));
}

static void test_operations(cutensorHandle_t h)
{
    cutensorOperationDescriptor_t op = NULL;
    cutensorTensorDescriptor_t a = tensor(h, 2, e23, CUDA_R_32F), b = tensor(h, 2, e34, CUDA_R_32F),
                               c = tensor(h, 2, e24, CUDA_R_32F), half = tensor(h, 2, e24, CUDA_R_16F),
                               z = tensor(h, 2, e23, CUDA_C_32F), wide;
    FINE(cutensorCreateTensorDescriptor(h, &wide, 2, e24, (int64_t[]){ 1, 3 }, CUDA_R_32F, 16));
#define CONTRACT(handle, x, mx, ox, y, my, oc, d, md, compute) \
    cutensorCreateContraction(handle, &op, x, mx, ox, y, my, SAME, c, ij, oc, d, md, compute)
    IS(NOT_INITIALIZED, CONTRACT(NULL, a, ik, SAME, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, CONTRACT(h, NULL, ik, SAME, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, CONTRACT(h, a, NULL, SAME, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, CONTRACT(h, a, ik, SAME, b, kj, SAME, c, ij, NULL));
    IS(INVALID_VALUE, CONTRACT(h, a, ik, CUTENSOR_OP_ADD, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, CONTRACT(h, b, ik, SAME, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, CONTRACT(h, a, ik, SAME, half, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, CONTRACT(h, a, ik, SAME, b, kj, SAME, c, ij, CUTENSOR_COMPUTE_DESC_64F));
    IS(NOT_SUPPORTED, CONTRACT(h, a, ik, SAME, b, kj, CUTENSOR_OP_NEG, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, CONTRACT(h, a, ik, SAME, b, kj, SAME, wide, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, CONTRACT(h, a, ik, SAME, b, kj, SAME, c, kj, CUTENSOR_COMPUTE_DESC_32F));
    /* an output's mode of nobody, one that appears twice */
    IS(NOT_SUPPORTED, cutensorCreateContraction(h, &op, a, ik, SAME, a, ik, SAME, c, ij, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    cutensorTensorDescriptor_t square = tensor(h, 2, (int64_t[]){ 2, 2 }, CUDA_R_32F);
    IS(INVALID_VALUE,
       cutensorCreateContraction(h, &op, a, ik, SAME, a, ik, SAME, square, ii, SAME, square, ii, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, cutensorCreatePermutation(h, &op, square, ii, SAME, square, ij, CUTENSOR_COMPUTE_DESC_32F));
    /* an input's mode that the output lacks */
    IS(INVALID_VALUE, cutensorCreatePermutation(h, &op, a, ik, SAME, c, ij, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, cutensorCreatePermutation(h, &op, a, ik, SAME, z, ik, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, cutensorCreatePermutation(h, &op, z, ik, CUTENSOR_OP_RELU, z, ik, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE, cutensorCreatePermutation(h, &op, z, ik, CUTENSOR_OP_MAX, z, ik, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED,
       cutensorCreateReduction(h, &op, z, ik, SAME, z, ik, SAME, z, ik, CUTENSOR_OP_MAX, CUTENSOR_COMPUTE_DESC_32F));
    IS(INVALID_VALUE,
       cutensorCreateReduction(h, &op, z, ik, SAME, z, ik, SAME, z, ik, CUTENSOR_OP_NEG, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED,
       cutensorCreateReduction(h, &op, a, ik, SAME, c, ij, SAME, c, ij, CUTENSOR_OP_ADD, CUTENSOR_COMPUTE_DESC_32F));
    IS(NOT_SUPPORTED, cutensorOperationNumAlgos());
    FINE(cutensorDestroyOperationDescriptor(NULL));
    cutensorTensorDescriptor_t all[] = { a, b, c, half, z, wide, square };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        FINE(cutensorDestroyTensorDescriptor(all[i]));
}

static void test_attributes(cutensorHandle_t h)
{
    cutensorOperationDescriptor_t op = NULL;
    cutensorTensorDescriptor_t a = tensor(h, 2, e23, CUDA_C_32F);
    cutensorPlanPreference_t pref = NULL;
    cutensorPlan_t plan = NULL;
    int32_t tag = 5, got = 0;
    cudaDataType type = CUDA_R_64F;
    float number = 0;
    uint64_t size = 7;
    FINE(cutensorCreateReduction(h, &op, a, ik, SAME, a, ik, SAME, a, ik, CUTENSOR_OP_ADD, CUTENSOR_COMPUTE_DESC_32F));
    FINE(cutensorOperationDescriptorSetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG, &tag, sizeof tag));
    FINE(cutensorOperationDescriptorGetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG, &got, sizeof got));
    CHECK(got == 5);
    FINE(cutensorOperationDescriptorGetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE, &type, sizeof type));
    CHECK(type == CUDA_C_32F);
    FINE(cutensorOperationDescriptorGetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_FLOPS, &number, sizeof number));
    CHECK(number > 0);
    FINE(cutensorOperationDescriptorGetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_MOVED_BYTES, &number, sizeof number));
    CHECK(number == 3 * 6 * 8);
    IS(INVALID_VALUE,
       cutensorOperationDescriptorSetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_FLOPS, &number, sizeof number));
    IS(INVALID_VALUE, cutensorOperationDescriptorSetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_LEFT, e23, 8));
    IS(INVALID_VALUE, cutensorOperationDescriptorSetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG, &tag, 8));
    IS(INVALID_VALUE, cutensorOperationDescriptorGetAttribute(h, op, 99, &tag, 4));
    IS(NOT_INITIALIZED, cutensorOperationDescriptorGetAttribute(NULL, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG, &tag, 4));
    IS(INVALID_VALUE, cutensorCreatePlanPreference(h, &pref, -5, CUTENSOR_JIT_MODE_NONE));
    FINE(cutensorCreatePlanPreference(h, &pref, CUTENSOR_ALGO_GETT, CUTENSOR_JIT_MODE_DEFAULT));
    FINE(cutensorPlanPreferenceGetAttribute(h, pref, CUTENSOR_PLAN_PREFERENCE_ALGO, &got, sizeof got));
    CHECK(got == CUTENSOR_ALGO_GETT);
    IS(INVALID_VALUE, cutensorPlanPreferenceSetAttribute(h, pref, CUTENSOR_PLAN_PREFERENCE_CACHE_MODE, &tag, sizeof tag));
    FINE(cutensorPlanPreferenceSetAttribute(h, pref, CUTENSOR_PLAN_PREFERENCE_KERNEL_RANK, &tag, sizeof tag));
    IS(NOT_SUPPORTED, cutensorCreatePlan(h, &plan, op, pref, 0));
    IS(INVALID_VALUE, cutensorCreatePlan(h, &plan, NULL, NULL, 0));
    IS(INVALID_VALUE, cutensorEstimateWorkspaceSize(h, op, NULL, 4, &size));
    FINE(cutensorEstimateWorkspaceSize(h, op, NULL, CUTENSOR_WORKSPACE_MIN, &size));
    CHECK(size == 0);
    FINE(cutensorCreatePlan(h, &plan, op, NULL, 0));
    IS(INVALID_VALUE, cutensorPlanGetAttribute(h, plan, CUTENSOR_PLAN_REQUIRED_WORKSPACE, &size, 4));
    /* A plan of something else, and addresses that are missing. */
    IS(INVALID_VALUE, cutensorPermute(h, plan, &size, three, three, NULL));
    IS(INVALID_VALUE, cutensorReduce(h, plan, NULL, three, &size, three, three, NULL, 0, NULL));
    IS(INVALID_VALUE, cutensorReduce(h, plan, (float[]){ 1, 0 }, NULL, (float[]){ 0, 0 }, three, three, NULL, 0, NULL));
    IS(INVALID_VALUE, cutensorReduce(h, plan, (float[]){ 1, 0 }, three, (float[]){ 0, 0 }, three, NULL, NULL, 0, NULL));
    IS(NOT_INITIALIZED, cutensorReduce(NULL, plan, (float[]){ 1, 0 }, three, (float[]){ 0, 0 }, three, three, NULL, 0, NULL));
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyPlanPreference(pref));
    FINE(cutensorDestroyOperationDescriptor(op));
    FINE(cutensorDestroyTensorDescriptor(a));
}

static void make_plan(cutensorHandle_t h, int32_t tag)
{
    cutensorOperationDescriptor_t op = NULL;
    cutensorTensorDescriptor_t a = tensor(h, 2, e23, CUDA_R_32F);
    cutensorPlan_t plan = NULL;
    FINE(cutensorCreatePermutation(h, &op, a, ik, SAME, a, ik, CUTENSOR_COMPUTE_DESC_32F));
    FINE(cutensorOperationDescriptorSetAttribute(h, op, CUTENSOR_OPERATION_DESCRIPTOR_TAG, &tag, sizeof tag));
    FINE(cutensorCreatePlan(h, &plan, op, NULL, 0));
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    FINE(cutensorDestroyTensorDescriptor(a));
}

static void test_caches(void)
{
    cutensorHandle_t h = NULL;
    char name[] = "/tmp/anywarp-cutensor-XXXXXX";
    uint32_t lines = 77;
    int file = mkstemp(name);
    FINE(cutensorCreate(&h));
    for (int32_t tag = 0; tag < 3; tag++)
        make_plan(h, tag), make_plan(h, 0);
    FINE(cutensorHandleWritePlanCacheToFile(h, name));
    FINE(cutensorHandleReadPlanCacheFromFile(h, name, &lines));
    CHECK(lines == 3);
    FINE(cutensorHandleResizePlanCache(h, 2));
    IS(INSUFFICIENT_WORKSPACE, cutensorHandleReadPlanCacheFromFile(h, name, &lines));
    CHECK(lines == 3);
    FINE(cutensorHandleResizePlanCache(h, 0));
    IS(INVALID_VALUE, cutensorHandleWritePlanCacheToFile(h, name));
    FINE(cutensorHandleResizePlanCache(h, 2));
    for (int32_t tag = 0; tag < 3; tag++)
        make_plan(h, tag);
    FINE(cutensorHandleWritePlanCacheToFile(h, name));
    FINE(cutensorHandleReadPlanCacheFromFile(h, name, &lines));
    CHECK(lines == 2);
    IS(INVALID_VALUE, cutensorReadKernelCacheFromFile(h, name)); /* of plans, not of kernels */
    FINE(cutensorWriteKernelCacheToFile(h, name));
    FINE(cutensorReadKernelCacheFromFile(h, name));
    IS(INVALID_VALUE, cutensorHandleReadPlanCacheFromFile(h, name, &lines)); /* of kernels, not of plans */
    IS(IO_ERROR, cutensorHandleReadPlanCacheFromFile(h, "/nowhere/at/all", &lines));
    IS(IO_ERROR, cutensorHandleWritePlanCacheToFile(h, "/nowhere/at/all"));
    IS(IO_ERROR, cutensorReadKernelCacheFromFile(h, "/nowhere/at/all"));
    IS(NOT_INITIALIZED, cutensorHandleReadPlanCacheFromFile(NULL, name, &lines));
    FINE(cutensorDestroy(h));
    close(file);
    unlink(name);
}

static int told;
static void tell(int32_t level, const char *function, const char *message)
{
    told += level == 1 && !strcmp(function, "cutensorCreatePlan") && *message;
}

static void test_logger(cutensorHandle_t h)
{
    cutensorPlan_t plan;
    FINE(cutensorLoggerSetCallback(tell));
    IS(INVALID_VALUE, cutensorCreatePlan(h, &plan, NULL, NULL, 0));
    CHECK(told == 0);
    FINE(cutensorLoggerSetLevel(1));
    IS(INVALID_VALUE, cutensorCreatePlan(h, &plan, NULL, NULL, 0));
    CHECK(told == 1);
    IS(INVALID_VALUE, cutensorLoggerSetLevel(6));
    IS(INVALID_VALUE, cutensorLoggerSetFile(NULL));
    FINE(cutensorLoggerForceDisable());
    IS(INVALID_VALUE, cutensorCreatePlan(h, &plan, NULL, NULL, 0));
    CHECK(told == 1);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    const cutensorComputeDescriptor_t all[] = {
        CUTENSOR_COMPUTE_DESC_16F, CUTENSOR_COMPUTE_DESC_16BF, CUTENSOR_COMPUTE_DESC_TF32, CUTENSOR_COMPUTE_DESC_3XTF32,
        CUTENSOR_COMPUTE_DESC_32F, CUTENSOR_COMPUTE_DESC_64F, CUTENSOR_COMPUTE_DESC_4X16F, CUTENSOR_COMPUTE_DESC_8XINT8,
        CUTENSOR_COMPUTE_DESC_9X16BF,
    };
    cutensorHandle_t h = NULL;
    for (int i = 0; i < 9; i++)
        for (int k = 0; k < i; k++)
            CHECK(all[i] && all[i] != all[k]);
    three = float_on_device(3);
    IS(INVALID_VALUE, cutensorCreate(NULL));
    IS(NOT_INITIALIZED, cutensorDestroy(NULL));
    FINE(cutensorCreate(&h));
    CHECK(cutensorGetVersion() >= 20000 && cutensorGetCudartVersion() >= 11000);
    CHECK(!strcmp(cutensorGetErrorString(CUTENSOR_STATUS_IO_ERROR), "CUTENSOR_STATUS_IO_ERROR"));
    test_tensors(h);
    test_operations(h);
    test_attributes(h);
    test_caches();
    test_logger(h);
    FINE(cutensorDestroy(h));
    test_order(step, quick);
    test_graph(step);
    test_threads(step, quick ? 2 : 50);
    test_leaks(step, quick ? 200 : 10000);
    cudaFree(three);
    return test_end("seam");
}
