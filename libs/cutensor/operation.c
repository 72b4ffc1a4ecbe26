/* Descriptors of operations: what is asked for, checked against cuTENSOR's manual, and their attributes. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cutensor"
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "blocks.h"
#include "calc.h"
#include "common/convert.h"
#include "contract.h"
#include "cutensor_proto.h"
#include "tensor.h"

/* ---- Compute descriptors, which programs know by the addresses that the library's variables hold. */

#define COMPUTE(name, number)                                                                    \
    __attribute__((visibility("default"))) extern const struct cutensorComputeDescriptor name;   \
    const struct cutensorComputeDescriptor name = { number };
COMPUTE(awcutensor_compute_16f, AW_TENSOR_16F)
COMPUTE(awcutensor_compute_16bf, AW_TENSOR_16BF)
COMPUTE(awcutensor_compute_tf32, AW_TENSOR_TF32)
COMPUTE(awcutensor_compute_3xtf32, AW_TENSOR_3XTF32)
COMPUTE(awcutensor_compute_32f, AW_TENSOR_32F)
COMPUTE(awcutensor_compute_64f, AW_TENSOR_64F)
COMPUTE(awcutensor_compute_4x16f, AW_TENSOR_4X16F)
COMPUTE(awcutensor_compute_8xint8, AW_TENSOR_8XINT8)
COMPUTE(awcutensor_compute_9x16bf, AW_TENSOR_9X16BF)

/* ---- Types */

enum { CUDA_NONE = -1 };

static const struct types {
    enum aw_tensor_operation kind;
    int a, b, c;
    enum aw_tensor_compute compute;
    int scalar;
    char calc;
} types[] = {
#define AW_TENSOR_TYPES(kind, a, b, c, compute, scalar, calc) \
    { AW_TENSOR_##kind, CUDA_##a, CUDA_##b, CUDA_##c, AW_TENSOR_##compute, CUDA_##scalar, calc },
#include "types.def"
#undef AW_TENSOR_TYPES
};

/* A trinary contraction has a row where that of two tensors has one with one type for all. */
static const struct types *types_find(const struct cutensorOperationDescriptor *op)
{
    bool third = op->kind == AW_TENSOR_CONTRACT3;
    int a = (int)op->x[AW_TENSOR_A].t.type, b = op->there[AW_TENSOR_B] ? (int)op->x[AW_TENSOR_B].t.type : CUDA_NONE,
        c = (int)op->x[AW_TENSOR_C].t.type;
    if (third && (a != b || a != c || a != (int)op->x[AW_TENSOR_E].t.type))
        return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const struct types *t = &types[i];
        if (t->kind == (third ? AW_TENSOR_CONTRACT : op->kind) && t->a == a && t->b == b && t->c == c &&
            (int)t->compute == op->compute)
            return t;
    }
    return NULL;
}

static cutensorStatus_t types_check(struct cutensorOperationDescriptor *op)
{
    const struct types *t = types_find(op);
    if (!t) {
        aw_say(TENSOR_TYPES, (int)op->x[AW_TENSOR_A].t.type, op->there[AW_TENSOR_B] ? (int)op->x[AW_TENSOR_B].t.type : CUDA_NONE,
               (int)op->x[AW_TENSOR_C].t.type);
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "a combination of types that cuTENSOR's manual does not have");
    }
    op->scalar = (cudaDataType)t->scalar;
    op->calc = t->calc;
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- Modes */

static bool repeats(const struct aw_operand *x)
{
    for (uint32_t i = 0; i < x->t.n; i++)
        if (aw_tensor_mode(x, x->mode[i]) != (int)i)
            return true;
    return false;
}

static bool extents_agree(const struct aw_operand *x, const struct aw_operand *y)
{
    for (uint32_t i = 0; i < x->t.n; i++)
        for (uint32_t k = 0; k < y->t.n; k++)
            if (x->mode[i] == y->mode[k] && x->t.extent[i] != y->t.extent[k])
                return false;
    return true;
}

/* Has one of the inputs each mode of the output, and, where `back` says so, the output each of theirs? */
static bool modes_agree(const struct cutensorOperationDescriptor *op, bool forth, bool back)
{
    const struct aw_operand *c = &op->x[AW_TENSOR_C];
    for (uint32_t i = 0; i < c->t.n && forth; i++) {
        bool found = false;
        for (int x = 0; x < AW_TENSOR_OPERANDS; x++)
            found = found || (x != AW_TENSOR_C && op->there[x] && aw_tensor_mode(&op->x[x], c->mode[i]) >= 0);
        if (!found)
            return false;
    }
    for (int x = 0; x < AW_TENSOR_OPERANDS && back; x++)
        for (uint32_t i = 0; i < op->x[x].t.n; i++)
            if (op->there[x] && aw_tensor_mode(c, op->x[x].mode[i]) < 0)
                return false;
    return true;
}

static bool is_elementwise(const struct cutensorOperationDescriptor *op)
{
    return op->kind == AW_TENSOR_PERMUTE || op->kind == AW_TENSOR_BINARY || op->kind == AW_TENSOR_TRINARY;
}

static cutensorStatus_t modes_check(const struct cutensorOperationDescriptor *op)
{
    bool elementwise = is_elementwise(op);
    for (int x = 0; x < AW_TENSOR_OPERANDS; x++) {
        if (!op->there[x])
            continue;
        if ((elementwise || x == AW_TENSOR_C) && repeats(&op->x[x]))
            return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "a mode appears twice in a tensor");
        for (int y = x; y < AW_TENSOR_OPERANDS; y++)
            if (op->there[y] && !extents_agree(&op->x[x], &op->x[y]))
                return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "the extents of a mode differ");
    }
    if (!modes_agree(op, false, elementwise))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "an input has a mode that the output lacks");
    if (op->kind == AW_TENSOR_CONTRACT3 &&
        !aw_contract_three_fits((const struct aw_operand *[]){ &op->x[AW_TENSOR_A], &op->x[AW_TENSOR_B], &op->x[AW_TENSOR_E] },
                                &op->x[AW_TENSOR_C]))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "two of the factors leave more than 64 modes");
    if (!modes_agree(op, !elementwise, false))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "the output has a mode that no input has");
    return CUTENSOR_STATUS_SUCCESS;
}

double aw_tensor_work(const struct cutensorOperationDescriptor *op)
{
    double work = 1;
    for (int x = 0; x < AW_TENSOR_OPERANDS; x++)
        for (uint32_t i = 0; i < op->x[x].t.n && op->there[x]; i++) {
            bool first = aw_tensor_mode(&op->x[x], op->x[x].mode[i]) == (int)i;
            for (int y = 0; y < x; y++)
                first = first && !(op->there[y] && aw_tensor_mode(&op->x[y], op->x[x].mode[i]) >= 0);
            work *= first ? (double)op->x[x].t.extent[i] : 1;
        }
    return work;
}

/* ---- Operators */

static cutensorStatus_t operators_check(const struct cutensorOperationDescriptor *op)
{
    const int binary[] = { op->op_ab, op->op_abc };
    bool contracts = op->kind == AW_TENSOR_CONTRACT || op->kind == AW_TENSOR_CONTRACT3;
    for (int x = 0; x < AW_TENSOR_OPERANDS; x++) {
        bool of_complex = aw_type_complex(op->x[x].t.type);
        if (!op->there[x] || aw_calc_is_unary(op->x[x].op, of_complex))
            continue;
        return aw_calc_is_unary(op->x[x].op, false) ?
                   aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "an operator that complex numbers do not have") :
                   aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "an operator that is no unary one");
    }
    for (int i = 0; i < 2; i++) {
        bool of_complex = op->calc == 'c' || op->calc == 'z';
        if (aw_calc_is_binary(binary[i], of_complex))
            continue;
        return aw_calc_is_binary(binary[i], false) ?
                   aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "an operator that complex numbers do not have") :
                   aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "an operator that is no binary one");
    }
    if (contracts && op->x[AW_TENSOR_C].op != CUTENSOR_OP_IDENTITY)
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "an operator on what a contraction adds");
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- Making them */

struct given {
    int place; /* of AW_TENSOR_A and so on; D is compared with C */
    cutensorTensorDescriptor_t t;
    const int32_t *mode;
    int op;
};

static cutensorStatus_t operands_take(struct cutensorOperationDescriptor *op, const struct given given[], int n)
{
    for (int i = 0; i < n; i++) {
        const struct given *g = &given[i];
        struct aw_operand d, *x = g->place == AW_TENSOR_D ? &d : &op->x[g->place];
        if (!g->t || (g->t->n && !g->mode))
            return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "a tensor without descriptor or modes");
        x->t = *g->t;
        x->op = g->op;
        if (g->t->n)
            memcpy(x->mode, g->mode, g->t->n * sizeof *g->mode);
        if (g->place != AW_TENSOR_D)
            op->there[g->place] = true;
        else if (!aw_tensor_same(&d, &op->x[AW_TENSOR_C]))
            return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED,
                                    "the output is laid out in another way than what is added to it");
    }
    return CUTENSOR_STATUS_SUCCESS;
}

static cutensorStatus_t operation_init(struct cutensorOperationDescriptor *op, const struct given given[], int n)
{
    cutensorStatus_t status = operands_take(op, given, n);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = types_check(op);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = operators_check(op);
    if (status == CUTENSOR_STATUS_SUCCESS)
        status = modes_check(op);
    op->work = aw_tensor_work(op);
    return status;
}

/* `like` says what kind it is, and the binary operators. */
static cutensorStatus_t operation_create(cutensorHandle_t handle, cutensorOperationDescriptor_t *ret,
                                         const struct cutensorOperationDescriptor *like, const struct given given[], int n,
                                         cutensorComputeDescriptor_t compute)
{
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!ret || !compute)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no place for the descriptor, or no compute descriptor");
    struct cutensorOperationDescriptor *op = calloc(1, sizeof *op);
    if (!op)
        return CUTENSOR_STATUS_ALLOC_FAILED;
    *op = *like;
    op->compute = compute->number;
    cutensorStatus_t status = operation_init(op, given, n);
    if (status == CUTENSOR_STATUS_SUCCESS)
        *ret = op;
    else
        free(op);
    return status;
}

#define LIKE(k, ab, abc) &(struct cutensorOperationDescriptor){ .kind = AW_TENSOR_##k, .op_ab = (int)(ab), .op_abc = (int)(abc) }
#define GIVEN(...) (const struct given[]){ __VA_ARGS__ }, sizeof(const struct given[]){ __VA_ARGS__ } / sizeof(struct given)
enum { ADD = CUTENSOR_OP_ADD, IDENTITY = CUTENSOR_OP_IDENTITY };

cutensorStatus_t awcutensor_cutensorCreatePermutation(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                      cutensorTensorDescriptor_t a, const int32_t *ma, cutensorOperator_t opa,
                                                      cutensorTensorDescriptor_t b, const int32_t *mb,
                                                      cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(PERMUTE, ADD, ADD),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_C, b, mb, IDENTITY }), compute);
}

cutensorStatus_t awcutensor_cutensorCreateElementwiseBinary(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                            cutensorTensorDescriptor_t a, const int32_t *ma,
                                                            cutensorOperator_t opa, cutensorTensorDescriptor_t c,
                                                            const int32_t *mc, cutensorOperator_t opc,
                                                            cutensorTensorDescriptor_t d, const int32_t *md,
                                                            cutensorOperator_t opac, cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(BINARY, ADD, opac),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_C, c, mc, (int)opc },
                                  { AW_TENSOR_D, d, md, IDENTITY }),
                            compute);
}

cutensorStatus_t awcutensor_cutensorCreateElementwiseTrinary(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                             cutensorTensorDescriptor_t a, const int32_t *ma,
                                                             cutensorOperator_t opa, cutensorTensorDescriptor_t b,
                                                             const int32_t *mb, cutensorOperator_t opb,
                                                             cutensorTensorDescriptor_t c, const int32_t *mc,
                                                             cutensorOperator_t opc, cutensorTensorDescriptor_t d,
                                                             const int32_t *md, cutensorOperator_t opab,
                                                             cutensorOperator_t opabc, cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(TRINARY, opab, opabc),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_B, b, mb, (int)opb },
                                  { AW_TENSOR_C, c, mc, (int)opc }, { AW_TENSOR_D, d, md, IDENTITY }),
                            compute);
}

cutensorStatus_t awcutensor_cutensorCreateReduction(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                    cutensorTensorDescriptor_t a, const int32_t *ma, cutensorOperator_t opa,
                                                    cutensorTensorDescriptor_t c, const int32_t *mc, cutensorOperator_t opc,
                                                    cutensorTensorDescriptor_t d, const int32_t *md, cutensorOperator_t reduce,
                                                    cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(REDUCE, reduce, ADD),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_C, c, mc, (int)opc },
                                  { AW_TENSOR_D, d, md, IDENTITY }),
                            compute);
}

cutensorStatus_t awcutensor_cutensorCreateContraction(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                      cutensorTensorDescriptor_t a, const int32_t *ma, cutensorOperator_t opa,
                                                      cutensorTensorDescriptor_t b, const int32_t *mb, cutensorOperator_t opb,
                                                      cutensorTensorDescriptor_t c, const int32_t *mc, cutensorOperator_t opc,
                                                      cutensorTensorDescriptor_t d, const int32_t *md,
                                                      cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(CONTRACT, ADD, ADD),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_B, b, mb, (int)opb },
                                  { AW_TENSOR_C, c, mc, (int)opc }, { AW_TENSOR_D, d, md, IDENTITY }),
                            compute);
}

cutensorStatus_t awcutensor_cutensorCreateContractionTrinary(cutensorHandle_t handle, cutensorOperationDescriptor_t *desc,
                                                             cutensorTensorDescriptor_t a, const int32_t *ma,
                                                             cutensorOperator_t opa, cutensorTensorDescriptor_t b,
                                                             const int32_t *mb, cutensorOperator_t opb,
                                                             cutensorTensorDescriptor_t c, const int32_t *mc,
                                                             cutensorOperator_t opc, cutensorTensorDescriptor_t d,
                                                             const int32_t *md, cutensorOperator_t opd,
                                                             cutensorTensorDescriptor_t e, const int32_t *me,
                                                             cutensorComputeDescriptor_t compute)
{
    return operation_create(handle, desc, LIKE(CONTRACT3, ADD, ADD),
                            GIVEN({ AW_TENSOR_A, a, ma, (int)opa }, { AW_TENSOR_B, b, mb, (int)opb },
                                  { AW_TENSOR_E, c, mc, (int)opc }, { AW_TENSOR_C, d, md, (int)opd },
                                  { AW_TENSOR_D, e, me, IDENTITY }),
                            compute);
}

cutensorStatus_t awcutensor_cutensorDestroyOperationDescriptor(cutensorOperationDescriptor_t desc)
{
    if (desc)
        aw_blocks_unref(desc->blocks);
    free(desc);
    return CUTENSOR_STATUS_SUCCESS;
}

/* ---- Attributes */

bool aw_tensor_is_padded(const struct cutensorOperationDescriptor *op)
{
    for (uint32_t i = 0; i < op->x[AW_TENSOR_C].t.n && op->kind == AW_TENSOR_PERMUTE; i++)
        if (op->left[i] || op->right[i])
            return true;
    return false;
}

static float flops_of(const struct cutensorOperationDescriptor *op)
{
    bool of_complex = op->calc == 'c' || op->calc == 'z';
    double terms = op->kind == AW_TENSOR_PERMUTE || op->kind == AW_TENSOR_REDUCE ? 1 : op->kind == AW_TENSOR_BINARY ? 3
                   : op->kind == AW_TENSOR_TRINARY                               ? 5
                                                                                 : 2;
    return (float)(op->work * terms * (of_complex ? 4 : 1));
}

static float bytes_of(const struct cutensorOperationDescriptor *op)
{
    double bytes = 0;
    for (int x = 0; x < AW_TENSOR_OPERANDS; x++)
        if (op->there[x]) {
            double times = x == AW_TENSOR_C && op->kind != AW_TENSOR_PERMUTE ? 2 : 1; /* read and written */
            bytes += times * (double)aw_tensor_count(&op->x[x].t) * (double)aw_type_size(op->x[x].t.type);
        }
    return (float)bytes;
}

/* Where an attribute lies, and how large it is; NULL: there is none, or it is computed. */
static void *attribute_at(struct cutensorOperationDescriptor *op, cutensorOperationDescriptorAttribute_t which, size_t *ret_size)
{
    const struct cutensorTensorDescriptor *out = &op->x[AW_TENSOR_C].t;
    bool permutes = op->kind == AW_TENSOR_PERMUTE, blocks = op->kind == AW_TENSOR_BLOCKS;
    *ret_size = sizeof(int32_t);
    switch (which) {
    case CUTENSOR_OPERATION_DESCRIPTOR_TAG: return blocks ? NULL : &op->tag;
    case CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE: return &op->scalar;
    case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_LEFT: *ret_size = out->n * sizeof *op->left; return permutes ? op->left : NULL;
    case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT: *ret_size = out->n * sizeof *op->right; return permutes ? op->right : NULL;
    case CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE: *ret_size = aw_type_size(out->type); return permutes ? op->padding : NULL;
    case CUTENSOR_OPERATION_DESCRIPTOR_BLOCKSPARSE_REPRODUCIBLE: return blocks ? &op->reproducible : NULL;
    default: return NULL;
    }
}

/* Scalars can have any type that tensors have, complex ones where it is calculated in complex numbers. */
static bool scalar_fits(const struct cutensorOperationDescriptor *op, cudaDataType type)
{
    switch (type) {
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_32F:
    case CUDA_R_64F: return true;
    case CUDA_C_32F:
    case CUDA_C_64F: return op->calc == 'c' || op->calc == 'z';
    default: return false;
    }
}

cutensorStatus_t awcutensor_cutensorOperationDescriptorSetAttribute(cutensorHandle_t handle, cutensorOperationDescriptor_t desc,
                                                                    cutensorOperationDescriptorAttribute_t which,
                                                                    const void *from, size_t size)
{
    size_t own = 0;
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    void *at = desc ? attribute_at(desc, which, &own) : NULL;
    bool fixed = desc && desc->kind == AW_TENSOR_BLOCKS && which == CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE;
    if (!at || fixed || size != own || (size && !from))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "an attribute that cannot be set, or of another size");
    if (which == CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE && !scalar_fits(desc, *(const cudaDataType *)from))
        return aw_tensor_refuse(CUTENSOR_STATUS_NOT_SUPPORTED, "scalars of this type");
    memcpy(at, from, size);
    return CUTENSOR_STATUS_SUCCESS;
}

cutensorStatus_t awcutensor_cutensorOperationDescriptorGetAttribute(cutensorHandle_t handle, cutensorOperationDescriptor_t desc,
                                                                    cutensorOperationDescriptorAttribute_t which, void *to,
                                                                    size_t size)
{
    size_t own = sizeof(float);
    float number = 0;
    void *at = &number;
    if (!handle)
        return CUTENSOR_STATUS_NOT_INITIALIZED;
    if (!desc)
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no descriptor");
    if (which == CUTENSOR_OPERATION_DESCRIPTOR_FLOPS && desc->kind != AW_TENSOR_BLOCKS)
        number = flops_of(desc);
    else if (which == CUTENSOR_OPERATION_DESCRIPTOR_MOVED_BYTES)
        number = desc->kind == AW_TENSOR_BLOCKS ? aw_blocks_bytes(desc->blocks) : bytes_of(desc);
    else
        at = attribute_at(desc, which, &own);
    if (!at || size != own || (size && !to))
        return aw_tensor_refuse(CUTENSOR_STATUS_INVALID_VALUE, "no such attribute, or of another size");
    memcpy(to, at, size);
    return CUTENSOR_STATUS_SUCCESS;
}
