/* Descriptors of tensors, and what is asked of them. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

#include <stdlib.h>
#include <string.h>

#include "cutensor_proto.h"

static bool has_type(cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F:
    case CUDA_R_64F:
    case CUDA_C_32F:
    case CUDA_C_64F: return true;
    default: return false;
    }
}

/* Fills in the strides of what is packed.  False: an extent or a stride is none, or there are more elements than memory. */
static bool layout_make(struct cutensorTensorDescriptor *t, const int64_t *extent, const int64_t *stride)
{
    int64_t next = 1, reach = 0;
    for (uint32_t i = 0; i < t->n; i++) {
        t->extent[i] = extent[i];
        t->stride[i] = stride ? stride[i] : next;
        if (extent[i] <= 0 || t->stride[i] <= 0)
            return false;
        int64_t more;
        if (__builtin_mul_overflow(extent[i] - 1, t->stride[i], &more) || __builtin_add_overflow(reach, more, &reach) ||
            __builtin_mul_overflow(next, extent[i], &next))
            return false;
    }
    return reach < INT64_MAX / 32 && next < INT64_MAX / 32;
}

cutensorStatus_t awcutensor_cutensorCreateTensorDescriptor(cutensorHandle_t handle, cutensorTensorDescriptor_t *desc, uint32_t n,
                                                           const int64_t *extent, const int64_t *stride, cudaDataType type,
                                                           uint32_t alignment)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!desc || (n && !extent))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no place for the descriptor, or no extents");
    if (n > AW_TENSOR_MODES)
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "more than 64 modes");
    if (!has_type(type))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "tensors of this type are not supported");
    if (alignment == 0 || alignment & (alignment - 1))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "the alignment is no power of two");
    struct cutensorTensorDescriptor *t = calloc(1, sizeof *t);
    if (!t)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    *t = (struct cutensorTensorDescriptor){ .n = n, .alignment = alignment, .type = type, .packed = !stride };
    if (!layout_make(t, extent, stride)) {
        free(t);
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE,
                                "extents and strides are greater than 0, and what they span fits memory");
    }
    *desc = t;
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorDestroyTensorDescriptor(cutensorTensorDescriptor_t desc)
{
    free(desc);
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- What is asked of them */

int64_t aw_tensor_count(const struct cutensorTensorDescriptor *t)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < t->n; i++)
        count *= t->extent[i];
    return count;
}

int64_t aw_tensor_reach(const struct cutensorTensorDescriptor *t)
{
    int64_t reach = 1;
    for (uint32_t i = 0; i < t->n; i++)
        reach += (t->extent[i] - 1) * t->stride[i];
    return reach;
}

bool aw_tensor_same(const struct aw_operand *x, const struct aw_operand *y)
{
    return x->t.n == y->t.n && x->t.type == y->t.type && !memcmp(x->t.extent, y->t.extent, x->t.n * sizeof *x->t.extent) &&
           !memcmp(x->t.stride, y->t.stride, x->t.n * sizeof *x->t.stride) && !memcmp(x->mode, y->mode, x->t.n * sizeof *x->mode);
}

int aw_tensor_mode(const struct aw_operand *x, int32_t mode)
{
    for (uint32_t i = 0; i < x->t.n; i++)
        if (x->mode[i] == mode)
            return (int)i;
    return -1;
}

int64_t aw_tensor_stride(const struct aw_operand *x, int32_t mode)
{
    int64_t stride = 0;
    for (uint32_t i = 0; i < x->t.n; i++)
        if (x->mode[i] == mode)
            stride += x->t.stride[i];
    return stride;
}
