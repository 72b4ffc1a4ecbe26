/* Preferences and plans.  A plan is a copy of its operation: there is one way to do each, which needs no workspace. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "cutensor_proto.h"
#include "tensor.h"

/* ---- Preferences */

static bool algorithm_fits(int32_t algorithm)
{
    return algorithm >= CUTENSOR_ALGO_DEFAULT_PATIENT && algorithm != -5;
}

cutensorStatus_t awcutensor_cutensorCreatePlanPreference(cutensorHandle_t handle, cutensorPlanPreference_t *pref,
                                                         cutensorAlgo_t algorithm, cutensorJitMode_t jit)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!pref || !algorithm_fits((int32_t)algorithm) || (unsigned)jit > CUTENSOR_JIT_MODE_DEFAULT)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no such algorithm or mode");
    struct cutensorPlanPreference *p = calloc(1, sizeof *p);
    if (!p)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    *p = (struct cutensorPlanPreference){ .cache = CUTENSOR_CACHE_MODE_PEDANTIC, .count = 4, .algorithm = (int32_t)algorithm,
                                          .jit = (int32_t)jit };
    *pref = p;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorDestroyPlanPreference(cutensorPlanPreference_t pref)
{
    free(pref);
    return CUTENSOR_STATUS_SUCCESS;
}

static int32_t *preference_at(struct cutensorPlanPreference *p, cutensorPlanPreferenceAttribute_t which)
{
    switch (which) {
    case CUTENSOR_PLAN_PREFERENCE_AUTOTUNE_MODE: return &p->autotune;
    case CUTENSOR_PLAN_PREFERENCE_CACHE_MODE: return &p->cache;
    case CUTENSOR_PLAN_PREFERENCE_INCREMENTAL_COUNT: return &p->count;
    case CUTENSOR_PLAN_PREFERENCE_ALGO: return &p->algorithm;
    case CUTENSOR_PLAN_PREFERENCE_KERNEL_RANK: return &p->rank;
    case CUTENSOR_PLAN_PREFERENCE_JIT: return &p->jit;
    case CUTENSOR_PLAN_PREFERENCE_GPU_ARCH: return &p->arch;
    default: return NULL;
    }
}

static bool preference_fits(cutensorPlanPreferenceAttribute_t which, int32_t value)
{
    switch (which) {
    case CUTENSOR_PLAN_PREFERENCE_AUTOTUNE_MODE:
    case CUTENSOR_PLAN_PREFERENCE_CACHE_MODE:
    case CUTENSOR_PLAN_PREFERENCE_JIT: return value == 0 || value == 1;
    case CUTENSOR_PLAN_PREFERENCE_ALGO: return algorithm_fits(value);
    default: return value >= 0;
    }
}

cutensorStatus_t awcutensor_cutensorPlanPreferenceSetAttribute(cutensorHandle_t handle, cutensorPlanPreference_t pref,
                                                               cutensorPlanPreferenceAttribute_t which, const void *from,
                                                               size_t size)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    int32_t *at = pref ? preference_at(pref, which) : NULL;
    if (!at || !from || size != sizeof *at || !preference_fits(which, *(const int32_t *)from))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no such attribute, of another size, or no such value");
    memcpy(at, from, size);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorPlanPreferenceGetAttribute(cutensorHandle_t handle, cutensorPlanPreference_t pref,
                                                               cutensorPlanPreferenceAttribute_t which, void *to, size_t size)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    const int32_t *at = pref ? preference_at(pref, which) : NULL;
    if (!at || !to || size != sizeof *at)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no such attribute, or of another size");
    memcpy(to, at, size);
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- Plans */

cutensorStatus_t awcutensor_cutensorEstimateWorkspaceSize(cutensorHandle_t handle, cutensorOperationDescriptor_t desc,
                                                          cutensorPlanPreference_t pref, cutensorWorksizePreference_t size,
                                                          uint64_t *ret_size)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!desc || !ret_size || size < CUTENSOR_WORKSPACE_MIN || size > CUTENSOR_WORKSPACE_MAX)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no descriptor, no place for the size, or no such preference");
    *ret_size = 0;
    return CUTENSOR_STATUS_SUCCESS;
}

/* The output with its padding: what was packed is packed again, other strides must leave room for it. */
static bool padded_make(struct cutensorTensorDescriptor *out, const uint32_t left[], const uint32_t right[])
{
    int64_t next = 1;
    for (uint32_t i = 0; i < out->n; i++) {
        if (__builtin_add_overflow(out->extent[i], (int64_t)left[i] + right[i], &out->extent[i]))
            return false;
        if (out->packed)
            out->stride[i] = next;
        if (__builtin_mul_overflow(next, out->extent[i], &next))
            return false;
    }
    for (uint32_t i = 0; i < out->n && !out->packed; i++)
        for (uint32_t k = 0; k < out->n; k++)
            if (out->extent[i] > 1 && out->extent[k] > 1 && i != k && out->stride[k] >= out->stride[i] &&
                out->stride[k] < out->stride[i] * out->extent[i])
                return false;
    return next < INT64_MAX / 32;
}

/* The operation's B, of which a permutation has none, becomes what A goes to; C the whole of the output. */
static cutensorStatus_t padding_make(struct cutensorOperationDescriptor *op)
{
    struct aw_operand *inner = &op->x[AW_TENSOR_B], *whole = &op->x[AW_TENSOR_C];
    if (!aw_tensor_is_padded(op))
        return CUTENSOR_STATUS_SUCCESS;
    *inner = *whole;
    if (!padded_make(&whole->t, op->left, op->right))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "the output's strides leave no room for its padding");
    memcpy(inner->t.stride, whole->t.stride, sizeof whole->t.stride);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorCreatePlan(cutensorHandle_t handle, cutensorPlan_t *plan, cutensorOperationDescriptor_t desc,
                                               cutensorPlanPreference_t pref, uint64_t limit)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!plan || !desc)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no place for the plan, or no descriptor");
    if (pref && (pref->algorithm > 0 || pref->rank > 0) && desc->kind != AW_TENSOR_BLOCKS)
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "there is one algorithm, with one kernel");
    struct cutensorPlan *p = malloc(sizeof *p);
    if (!p)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    p->op = *desc;
    cutensorStatus_t status = padding_make(&p->op);
    if (status != CUTENSOR_STATUS_SUCCESS) {
        free(p);
        return status;
    }
    aw_blocks_ref(p->op.blocks);
    if (!pref || pref->cache != CUTENSOR_CACHE_MODE_NONE)
        aw_tensor_remember(handle, desc);
    *plan = p;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorDestroyPlan(cutensorPlan_t plan)
{
    if (plan)
        aw_blocks_unref(plan->op.blocks);
    free(plan);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorPlanGetAttribute(cutensorHandle_t handle, cutensorPlan_t plan, cutensorPlanAttribute_t which,
                                                     void *to, size_t size)
{
    const uint64_t workspace = 0;
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!plan || !to || which != CUTENSOR_PLAN_REQUIRED_WORKSPACE || size != sizeof workspace)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no such attribute, or of another size");
    memcpy(to, &workspace, size);
    return CUTENSOR_STATUS_SUCCESS;
}
