/* cuTENSOR's operations over random modes, extents, strides, types, operators and scalars, against plain loops in double.
 * Usage: tensor_test [quick | ROUNDS [SEED]] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

static const int64_t lengths[] = { 1, 2, 3, 5, 8, 17, 40 };

/* Extents of all modes with no more than `most` elements together. */
static void any_extents(int64_t extent[], int n, int64_t most)
{
    int64_t count;
    do {
        count = 1;
        for (int i = 0; i < MODES; i++)
            extent[i] = lengths[any_below(sizeof lengths / sizeof *lengths)];
        for (int i = 0; i < n; i++)
            count *= extent[i];
    } while (count > most);
}

/* Some of the modes that `of` holds, each with a chance of `in` of 4; in any order. */
static uint32_t any_modes(int32_t mode[], unsigned of, unsigned in)
{
    uint32_t n = 0;
    for (int m = 0; m < MODES; m++)
        if (of >> m & 1 && any_below(4) < in) {
            uint32_t k = any_below(n + 1);
            mode[n] = mode[k];
            mode[k] = m;
            n++;
        }
    return n;
}

/* ---- Operators */

static const int real_ops[] = { 1, 2, 8, 9, 10, 11, 12, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
                                40, 41,
                                42 };
static const int complex_ops[] = { 1, 2, 9, 10, 11, 12, 22, 23, 24, 25, 26, 27, 28, 29, 30 };

static cplx complex_op(int op, cplx x)
{
    switch (op) {
    case CUTENSOR_OP_SQRT: return csqrt(x);
    case CUTENSOR_OP_CONJ: return conj(x);
    case CUTENSOR_OP_RCP: return 1 / x;
    case CUTENSOR_OP_SIGMOID: return 1 / (1 + cexp(-x));
    case CUTENSOR_OP_TANH: return ctanh(x);
    case CUTENSOR_OP_EXP: return cexp(x);
    case CUTENSOR_OP_LOG: return clog(x);
    case CUTENSOR_OP_ABS: return cabs(x);
    case CUTENSOR_OP_NEG: return -x;
    case CUTENSOR_OP_SIN: return csin(x);
    case CUTENSOR_OP_COS: return ccos(x);
    case CUTENSOR_OP_TAN: return ctan(x);
    case CUTENSOR_OP_SINH: return csinh(x);
    case CUTENSOR_OP_COSH: return ccosh(x);
    default: return x;
    }
}

/* Of values in (-1, 1) what is defined there alone. */
static double real_op(int op, double x)
{
    switch (op) {
    case CUTENSOR_OP_SQRT: return sqrt(x);
    case CUTENSOR_OP_RELU: return x > 0 ? x : 0;
    case CUTENSOR_OP_RCP: return 1 / x;
    case CUTENSOR_OP_SIGMOID: return 1 / (1 + exp(-x));
    case CUTENSOR_OP_TANH: return tanh(x);
    case CUTENSOR_OP_EXP: return exp(x);
    case CUTENSOR_OP_LOG: return log(x);
    case CUTENSOR_OP_ABS: return fabs(x);
    case CUTENSOR_OP_NEG: return -x;
    case CUTENSOR_OP_SIN: return sin(x);
    case CUTENSOR_OP_COS: return cos(x);
    case CUTENSOR_OP_TAN: return tan(x);
    case CUTENSOR_OP_SINH: return sinh(x);
    case CUTENSOR_OP_COSH: return cosh(x);
    case CUTENSOR_OP_ASIN: return asin(x);
    case CUTENSOR_OP_ACOS: return acos(x);
    case CUTENSOR_OP_ATAN: return atan(x);
    case CUTENSOR_OP_ASINH: return asinh(x);
    case CUTENSOR_OP_ACOSH: return acosh(x);
    case CUTENSOR_OP_ATANH: return atanh(x);
    case CUTENSOR_OP_CEIL: return ceil(x);
    case CUTENSOR_OP_FLOOR: return floor(x);
    case CUTENSOR_OP_MISH: return x * tanh(log(1 + exp(x)));
    case CUTENSOR_OP_SWISH: return x / (1 + exp(-x));
    case CUTENSOR_OP_SOFT_PLUS: return log(1 + exp(x));
    case CUTENSOR_OP_SOFT_SIGN: return x / (1 + fabs(x));
    default: return x;
    }
}

static cplx unary(cudaDataType type, int op, cplx x)
{
    return is_complex(type) ? complex_op(op, x) : real_op(op, creal(x));
}

static cplx binary(int op, cplx x, cplx y)
{
    return op == CUTENSOR_OP_ADD   ? x + y
           : op == CUTENSOR_OP_MUL ? x * y
           : op == CUTENSOR_OP_MAX ? fmax(creal(x), creal(y))
                                   : fmin(creal(x), creal(y));
}

/* Every operator on a line of numbers, negative and large ones too, where it is defined. */
static void test_operators(void)
{
    static const double real[] = { 0.5, -0.5, 0.99, 1.5, -30, 100, 0 };
    const int64_t n = sizeof real / sizeof *real;
    for (unsigned o = 0; o < sizeof real_ops / sizeof *real_ops; o++)
        for (int wide = 0; wide < 2; wide++) {
            cudaDataType type = wide ? CUDA_R_64F : CUDA_R_32F;
            struct tensor a = tensor_make(type, 1, (int32_t[]){ 0 }, &n, 0), d = tensor_make(type, 1, (int32_t[]){ 0 }, &n, 0);
            cutensorOperationDescriptor_t op;
            int nan_same = 1;
            for (int64_t i = 0; i < n; i++)
                put(type, a.host, i, real[i]);
            tensor_put(&a);
            FINE(cutensorCreatePermutation(handle, &op, a.desc, a.mode, (cutensorOperator_t)real_ops[o], d.desc, d.mode,
                                           wide ? CUTENSOR_COMPUTE_DESC_64F : CUTENSOR_COMPUTE_DESC_32F));
            cutensorPlan_t plan = plan_of(op);
            struct scalar one = scalar_of(op, 1);
            FINE(cutensorPermute(handle, plan, &one, a.device, d.device, NULL));
            cudaDeviceSynchronize();
            cudaMemcpy(d.host, d.device, (size_t)n * size_of(type), 2);
            for (int64_t i = 0; i < n; i++) {
                double want = real_op(real_ops[o], creal(get(type, a.host, i))), got = creal(get(type, d.host, i));
                if (real_ops[o] == CUTENSOR_OP_MISH || real_ops[o] == CUTENSOR_OP_SOFT_PLUS)
                    want = real[i] == 100 ? 100 : want;
                nan_same = nan_same && (isnan(want) ? isnan(got) : got == want ||
                                              fabs(got - want) <= 4 * epsilon(type) * (fabs(want) + (wide ? 0 : 1e-6)) +
                                                                      (real[i] == -30 ? 1e-13 : 0) ||
                                              (!wide && fabs(want) > 1e38 && isinf(got)));
                check(nan_same, "operator %d of %g is %g, not %g", real_ops[o], real[i], got, want);
            }
            FINE(cutensorDestroyPlan(plan));
            FINE(cutensorDestroyOperationDescriptor(op));
            tensor_drop(&a);
            tensor_drop(&d);
        }
}

/* ---- Elementwise */

static const struct {
    cudaDataType a, c;
    const cutensorComputeDescriptor_t *compute;
} elementwise_types[] = {
    { CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_32F },  { CUDA_R_64F, CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_32F, CUDA_C_32F, &CUTENSOR_COMPUTE_DESC_32F },  { CUDA_C_64F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_R_16F, CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_16F },  { CUDA_R_16F, CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_16BF, CUDA_R_16BF, &CUTENSOR_COMPUTE_DESC_16BF }, { CUDA_R_16BF, CUDA_R_16BF, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_32F, CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_32F },  { CUDA_R_64F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_64F, CUDA_C_32F, &CUTENSOR_COMPUTE_DESC_64F },
    /* permutations alone */
    { CUDA_R_16F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_32F },  { CUDA_R_32F, CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_32F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
};
enum { ELEMENTWISE = 11, PERMUTATIONS = 14 };

static int any_op(cudaDataType type)
{
    if (any_below(2))
        return CUTENSOR_OP_IDENTITY;
    return is_complex(type) ? complex_ops[any_below(sizeof complex_ops / sizeof *complex_ops)] :
                              real_ops[any_below(sizeof real_ops / sizeof *real_ops)];
}

/* One that numbers of 0.25 to 1.75 all have. */
static int any_safe_op(cudaDataType type)
{
    int op;
    do
        op = any_op(type);
    while (op == CUTENSOR_OP_ASIN || op == CUTENSOR_OP_ACOS || op == CUTENSOR_OP_ACOSH || op == CUTENSOR_OP_ATANH ||
           op == CUTENSOR_OP_TAN || op == CUTENSOR_OP_CEIL || op == CUTENSOR_OP_FLOOR);
    return op;
}

static int any_binary(cudaDataType type)
{
    static const int ops[] = { CUTENSOR_OP_ADD, CUTENSOR_OP_ADD, CUTENSOR_OP_MUL, CUTENSOR_OP_MAX, CUTENSOR_OP_MIN };
    return ops[any_below(is_complex(type) ? 3 : 5)];
}

static cplx any_scalar(cudaDataType type)
{
    static const double numbers[] = { 1, 1, 0, -0.5, 1.25 };
    return CMPLX(numbers[any_below(5)], is_complex(type) && any_below(2) ? 0.5 : 0);
}

/* `inputs` 1: a permutation, 2: A and C, 3: A, B and C. */
static void test_elementwise(int inputs, int64_t most)
{
    unsigned kind = any_below(inputs == 1 ? PERMUTATIONS : ELEMENTWISE), dims = any_below(6);
    cudaDataType ta = elementwise_types[kind].a, tc = elementwise_types[kind].c;
    cutensorComputeDescriptor_t compute = *elementwise_types[kind].compute;
    int64_t extent[MODES], index[MODES] = { 0 };
    int32_t mode[MODES];
    any_extents(extent, (int)dims, most);
    unsigned all = (1u << dims) - 1;
    int gaps = (int)any_below(3);
    struct tensor a = tensor_make(ta, any_modes(mode, all, 3 + any_below(2)), mode, extent, gaps);
    struct tensor b = tensor_make(ta, any_modes(mode, all, 3), mode, extent, gaps);
    struct tensor c = tensor_make(tc, any_modes(mode, all, 4), mode, extent, gaps), d = tensor_make(tc, 0, mode, extent, 0);
    int opa = any_safe_op(ta), opb = any_safe_op(ta), opc = inputs == 1 ? 1 : any_safe_op(tc);
    int ab = any_binary(ta), abc = any_binary(ta);
    cplx alpha = any_scalar(ta), beta = any_scalar(ta), gamma = any_scalar(ta);
    cutensorOperationDescriptor_t op;
#define OP(x) ((cutensorOperator_t)(x))
    if (inputs == 1)
        FINE(cutensorCreatePermutation(handle, &op, a.desc, a.mode, OP(opa), c.desc, c.mode, compute));
    else if (inputs == 2)
        FINE(cutensorCreateElementwiseBinary(handle, &op, a.desc, a.mode, OP(opa), c.desc, c.mode, OP(opc), c.desc, c.mode,
                                             OP(abc), compute));
    else
        FINE(cutensorCreateElementwiseTrinary(handle, &op, a.desc, a.mode, OP(opa), b.desc, b.mode, OP(opb), c.desc, c.mode,
                                              OP(opc), c.desc, c.mode, OP(ab), OP(abc), compute));
    cutensorPlan_t plan = plan_of(op);
    struct scalar sa = scalar_of(op, alpha), sb = scalar_of(op, beta), sc = scalar_of(op, gamma);
    do {
        cplx x = alpha == 0 ? 0 : alpha * unary(ta, opa, a.value[place(&a, index)]);
        if (inputs == 3)
            x = binary(ab, x, beta == 0 ? 0 : beta * unary(ta, opb, b.value[place(&b, index)]));
        if (inputs > 1)
            x = binary(abc, x, gamma == 0 ? 0 : gamma * unary(tc, opc, c.value[place(&c, index)]));
        c.value[place(&c, index)] = x;
    } while (next_index(index, extent, all));
    if (inputs == 1)
        FINE(cutensorPermute(handle, plan, &sa, a.device, c.device, NULL));
    else if (inputs == 2)
        FINE(cutensorElementwiseBinaryExecute(handle, plan, &sa, a.device, &sc, c.device, c.device, NULL));
    else
        FINE(cutensorElementwiseTrinaryExecute(handle, plan, &sa, a.device, &sb, b.device, &sc, c.device, c.device, NULL));
    double eps = epsilon(tc) > epsilon(ta) ? epsilon(tc) : epsilon(ta);
    tensor_check(&c, 8 * eps, inputs == 1 ? "permutation" : inputs == 2 ? "binary" : "trinary");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c), tensor_drop(&d);
}

/* Two modes that change places, cut for threads and in tiles that are not full; every size of element. */
static void test_transpose(int64_t n, int64_t m)
{
    static const struct {
        cudaDataType t;
        const cutensorComputeDescriptor_t *compute;
    } kinds[] = { { CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_16F }, { CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_32F },
                  { CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_64F }, { CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F } };
    const int64_t extent[] = { n, 3, m };
    for (int k = 0; k < 4; k++) {
        struct tensor a = tensor_make(kinds[k].t, 3, (int32_t[]){ 0, 1, 2 }, extent, 0);
        struct tensor d = tensor_make(kinds[k].t, 3, (int32_t[]){ 2, 1, 0 }, extent, 0);
        int64_t index[MODES] = { 0 };
        cutensorOperationDescriptor_t op;
        FINE(cutensorCreatePermutation(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, d.desc, d.mode, *kinds[k].compute));
        cutensorPlan_t plan = plan_of(op);
        struct scalar one = scalar_of(op, 1);
        do
            d.value[place(&d, index)] = a.value[place(&a, index)];
        while (next_index(index, extent, 7));
        FINE(cutensorPermute(handle, plan, &one, a.device, d.device, NULL));
        tensor_check(&d, 0, "transposition");
        FINE(cutensorDestroyPlan(plan));
        FINE(cutensorDestroyOperationDescriptor(op));
        tensor_drop(&a), tensor_drop(&d);
    }
}

static void test_padding(void)
{
    const int64_t extent[] = { 3, 7, 4 }, whole[] = { 3, 7 + 2 + 1, 4 + 0 + 3 };
    struct tensor a = tensor_make(CUDA_R_32F, 3, (int32_t[]){ 0, 1, 2 }, extent, 1);
    struct tensor d = tensor_make(CUDA_R_32F, 3, (int32_t[]){ 2, 0, 1 }, whole, 0);
    const uint32_t left[] = { 0, 0, 2 }, right[] = { 3, 0, 1 };
    const float value = -7;
    int64_t index[MODES] = { 0 };
    cutensorTensorDescriptor_t inner;
    cutensorOperationDescriptor_t op;
    FINE(cutensorCreateTensorDescriptor(handle, &inner, 3, (int64_t[]){ 4, 3, 7 }, NULL, CUDA_R_32F, 16));
    FINE(cutensorCreatePermutation(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, inner, d.mode, CUTENSOR_COMPUTE_DESC_32F));
    FINE(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_LEFT, left, sizeof left));
    FINE(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT, right, sizeof right));
    FINE(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE, &value, sizeof value));
    CHECK(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_VALUE, &value, 8) ==
          CUTENSOR_STATUS_INVALID_VALUE);
    cutensorPlan_t plan = plan_of(op);
    for (int64_t i = 0; i < d.reach; i++)
        d.value[i] = value;
    do {
        int64_t to[MODES] = { index[0], index[1] + 2, index[2] };
        d.value[place(&d, to)] = 2 * a.value[place(&a, index)];
    } while (next_index(index, extent, 7));
    struct scalar two = scalar_of(op, 2);
    FINE(cutensorPermute(handle, plan, &two, a.device, d.device, NULL));
    tensor_check(&d, 1e-6, "padding");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    FINE(cutensorDestroyTensorDescriptor(inner));
    /* Strides that leave no room. */
    FINE(cutensorCreateTensorDescriptor(handle, &inner, 3, (int64_t[]){ 4, 3, 7 }, (int64_t[]){ 1, 4, 12 }, CUDA_R_32F, 16));
    FINE(cutensorCreatePermutation(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, inner, d.mode, CUTENSOR_COMPUTE_DESC_32F));
    FINE(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_PADDING_RIGHT, right, sizeof right));
    CHECK(cutensorCreatePlan(handle, &plan, op, NULL, 0) == CUTENSOR_STATUS_INVALID_VALUE);
    FINE(cutensorDestroyOperationDescriptor(op));
    FINE(cutensorDestroyTensorDescriptor(inner));
    tensor_drop(&a), tensor_drop(&d);
}

/* ---- Reductions */

static const struct {
    cudaDataType t;
    const cutensorComputeDescriptor_t *compute;
} reduce_types[] = {
    { CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_32F },   { CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_32F, &CUTENSOR_COMPUTE_DESC_32F },   { CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_16F },   { CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_16BF, &CUTENSOR_COMPUTE_DESC_16BF }, { CUDA_R_16BF, &CUTENSOR_COMPUTE_DESC_32F },
};

static double neutral(int op)
{
    return op == CUTENSOR_OP_ADD ? 0 : op == CUTENSOR_OP_MUL ? 1 : op == CUTENSOR_OP_MAX ? -1e300 : 1e300;
}

static void reduce_case(unsigned kind, const int64_t extent[], unsigned all, unsigned keep, int reduce, int gaps)
{
    cudaDataType t = reduce_types[kind].t;
    int32_t mode[MODES];
    int64_t index[MODES] = { 0 };
    struct tensor a = tensor_make(t, any_modes(mode, all, 4), mode, extent, gaps);
    struct tensor c = tensor_make(t, any_modes(mode, all, keep), mode, extent, gaps);
    int opa = reduce == CUTENSOR_OP_MUL ? 1 : any_safe_op(t), opc = any_safe_op(t);
    cplx alpha = any_scalar(t), beta = any_scalar(t), *sum = calloc((size_t)c.reach, sizeof *sum);
    cutensorOperationDescriptor_t op;
    FINE(cutensorCreateReduction(handle, &op, a.desc, a.mode, OP(opa), c.desc, c.mode, OP(opc), c.desc, c.mode, OP(reduce),
                                 *reduce_types[kind].compute));
    cutensorPlan_t plan = plan_of(op);
    struct scalar sa = scalar_of(op, alpha), sb = scalar_of(op, beta);
    for (int64_t i = 0; i < c.reach; i++)
        sum[i] = neutral(reduce);
    do
        sum[place(&c, index)] = binary(reduce, sum[place(&c, index)], unary(t, opa, a.value[place(&a, index)]));
    while (next_index(index, extent, all));
    do {
        int64_t at = place(&c, index);
        c.value[at] = (alpha == 0 ? 0 : alpha * sum[at]) + (beta == 0 ? 0 : beta * unary(t, opc, c.value[at]));
    } while (next_index(index, extent, modes_of(&c)));
    FINE(cutensorReduce(handle, plan, &sa, a.device, &sb, c.device, c.device, NULL, 0, NULL));
    int overflows = 0; /* products of halves */
    for (int64_t i = 0; i < c.reach; i++)
        overflows |= cabs(c.value[i]) > (t == CUDA_R_16F ? 6e4 : 1e30);
    if (overflows)
        cudaDeviceSynchronize();
    else
        tensor_check(&c, 32 * epsilon(t), "reduction");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    free(sum);
    tensor_drop(&a), tensor_drop(&c);
}

static void test_reduce(int64_t most)
{
    unsigned kind = any_below(8), dims = any_below(6);
    int64_t extent[MODES];
    any_extents(extent, (int)dims, most);
    reduce_case(kind, extent, (1u << dims) - 1, any_below(4), any_binary(reduce_types[kind].t), (int)any_below(3));
}

/* ---- Contractions */

static const struct {
    cudaDataType a, b, c;
    const cutensorComputeDescriptor_t *compute;
} contract_types[] = {
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_R_64F, CUDA_C_64F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_C_64F, CUDA_R_64F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_64F },
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_TF32 },
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_3XTF32 },
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_16F },
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_16BF },
    { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, &CUTENSOR_COMPUTE_DESC_32F },
    { CUDA_C_64F, CUDA_C_64F, CUDA_C_64F, &CUTENSOR_COMPUTE_DESC_8XINT8 },
    { CUDA_C_32F, CUDA_C_32F, CUDA_C_32F, &CUTENSOR_COMPUTE_DESC_4X16F },
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, &CUTENSOR_COMPUTE_DESC_9X16BF },
};

/* D = alpha A B (E) + beta C, where in[2] may be NULL. */
static void contract_check(struct tensor *const in[3], const int op[3], struct tensor *c, struct tensor *d, cplx alpha, cplx beta,
                           const int64_t extent[], const char *what)
{
    int64_t index[MODES] = { 0 };
    cplx *sum = calloc((size_t)c->reach, sizeof *sum);
    unsigned all = modes_of(in[0]) | modes_of(in[1]) | (in[2] ? modes_of(in[2]) : 0);
    double terms = 1;
    for (int m = 0; m < MODES; m++)
        terms *= all >> m & 1 && !has_mode(c, m) ? (double)extent[m] : 1;
    do {
        cplx x = 1;
        for (int i = 0; i < 3 && in[i]; i++)
            x *= unary(in[i]->type, op[i], in[i]->value[place(in[i], index)]);
        sum[place(c, index)] += x;
    } while (next_index(index, extent, all));
    do {
        int64_t at = place(c, index);
        d->value[at] = (alpha == 0 ? 0 : alpha * sum[at]) + (beta == 0 ? 0 : beta * c->value[at]);
    } while (next_index(index, extent, modes_of(c)));
    tensor_check(d, epsilon(c->type) * (4 + 2 * sqrt(terms)), what);
    free(sum);
}

static void contract_case(unsigned kind, const int64_t extent[], const unsigned modes[3], int gaps, int apart)
{
    cudaDataType ta = contract_types[kind].a, tb = contract_types[kind].b, tc = contract_types[kind].c;
    int32_t mode[MODES];
    struct tensor a = tensor_make(ta, any_modes(mode, modes[0], 4), mode, extent, gaps);
    struct tensor b = tensor_make(tb, any_modes(mode, modes[1], 4), mode, extent, gaps);
    struct tensor c = tensor_make(tc, any_modes(mode, modes[2], 4), mode, extent, gaps), d = c;
    const int ops[] = { any_below(4) ? 1 : CUTENSOR_OP_CONJ, any_below(4) ? 1 : CUTENSOR_OP_NEG, 1 };
    cplx alpha = any_scalar(tc), beta = any_scalar(tc);
    cutensorOperationDescriptor_t op;
    FINE(cutensorCreateContraction(handle, &op, a.desc, a.mode, OP(ops[0]), b.desc, b.mode, OP(ops[1]), c.desc, c.mode,
                                   CUTENSOR_OP_IDENTITY, c.desc, c.mode, *contract_types[kind].compute));
    cutensorPlan_t plan = plan_of(op);
    struct scalar sa = scalar_of(op, alpha), sb = scalar_of(op, beta);
    if (apart) { /* the output has memory of its own, with other contents */
        size_t size = (size_t)c.reach * size_of(tc);
        cudaMalloc(&d.device, size);
        d.host = malloc(size);
        d.value = malloc((size_t)c.reach * sizeof *d.value);
        for (int64_t i = 0; i < c.reach; i++)
            put(tc, d.host, i, d.value[i] = 1.5);
        tensor_put(&d);
    }
    FINE(cutensorContract(handle, plan, &sa, a.device, b.device, &sb, beta == 0 ? NULL : c.device, d.device, NULL, 0, NULL));
    contract_check((struct tensor *const[]){ &a, &b, NULL }, ops, &c, &d, alpha, beta, extent, "contraction");
    if (apart) {
        tensor_check(&c, 0, "what a contraction adds");
        cudaFree(d.device);
        free(d.host), free(d.value);
    }
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c);
}

/* Each mode is of A, B and C in one of the ways that there are. */
static void any_contraction(unsigned modes[], int n, int of_three)
{
    static const int ways[] = { 1 | 4, 2 | 4, 1 | 2, 1 | 2 | 4, 1 | 4, 2 | 4, 1 | 2, 1, 2 };
    modes[0] = modes[1] = modes[2] = modes[3] = 0;
    for (int m = 0; m < n; m++) {
        int way = ways[any_below(9)];
        for (int x = 0; x < 3; x++)
            modes[x] |= way >> x & 1 ? 1u << m : 0;
        if (of_three && any_below(2))
            modes[3] |= 1u << m;
    }
}

static void test_contract(int64_t most)
{
    unsigned modes[4], kind = any_below(2) ? any_below(4) : any_below(16), dims = 1 + any_below(6);
    int64_t extent[MODES];
    any_extents(extent, (int)dims, most);
    any_contraction(modes, (int)dims, 0);
    contract_case(kind, extent, modes, (int)any_below(3), (int)any_below(2));
}

static void test_contract_three(int64_t most)
{
    unsigned modes[4], kind = any_below(5), dims = 1 + any_below(5);
    cudaDataType t = contract_types[kind].a;
    int64_t extent[MODES];
    int32_t mode[MODES];
    any_extents(extent, (int)dims, most);
    any_contraction(modes, (int)dims, 1);
    int gaps = (int)any_below(3);
    struct tensor a = tensor_make(t, any_modes(mode, modes[0], 4), mode, extent, gaps);
    struct tensor b = tensor_make(t, any_modes(mode, modes[1], 4), mode, extent, gaps);
    struct tensor e = tensor_make(t, any_modes(mode, modes[3], 4), mode, extent, gaps);
    struct tensor c = tensor_make(t, any_modes(mode, modes[2], 4), mode, extent, gaps);
    const int ops[] = { 1, CUTENSOR_OP_CONJ, 1 };
    cplx alpha = any_scalar(t), beta = any_scalar(t);
    cutensorOperationDescriptor_t op;
    FINE(cutensorCreateContractionTrinary(handle, &op, a.desc, a.mode, OP(ops[0]), b.desc, b.mode, OP(ops[1]), e.desc, e.mode,
                                          OP(ops[2]), c.desc, c.mode, CUTENSOR_OP_IDENTITY, c.desc, c.mode,
                                          *contract_types[kind].compute));
    cutensorPlan_t plan = plan_of(op);
    struct scalar sa = scalar_of(op, alpha), sb = scalar_of(op, beta);
    FINE(cutensorContractTrinary(handle, plan, &sa, a.device, b.device, e.device, &sb, c.device, c.device, NULL, 0, NULL));
    contract_check((struct tensor *const[]){ &a, &b, &e }, ops, &c, &c, alpha, beta, extent, "trinary contraction");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&e), tensor_drop(&c);
}

/* The diagonal of an input: A_ii B_ij. */
static void test_diagonal(void)
{
    const int64_t extent[] = { 5, 4 }, square[] = { 5, 4, 5 };
    struct tensor a = tensor_make(CUDA_R_64F, 2, (int32_t[]){ 0, 2 }, square, 1),
                  b = tensor_make(CUDA_R_64F, 2, (int32_t[]){ 0, 1 }, extent, 1);
    struct tensor c = tensor_make(CUDA_R_64F, 1, (int32_t[]){ 1 }, extent, 1);
    const double one = 1, none = 0;
    cutensorOperationDescriptor_t op;
    a.mode[1] = 0;
    FINE(cutensorCreateContraction(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, b.desc, b.mode, CUTENSOR_OP_IDENTITY,
                                   c.desc, c.mode, CUTENSOR_OP_IDENTITY, c.desc, c.mode, CUTENSOR_COMPUTE_DESC_64F));
    cutensorPlan_t plan = plan_of(op);
    FINE(cutensorContract(handle, plan, &one, a.device, b.device, &none, c.device, c.device, NULL, 0, NULL));
    contract_check((struct tensor *const[]){ &a, &b, NULL }, (int[]){ 1, 1, 1 }, &c, &c, 1, 0, extent, "diagonal");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c);
}

/* What is not read where its scalar is 0 may be no numbers at all. */
static void test_not_read(void)
{
    const int64_t extent[] = { 9, 6, 7 };
    struct tensor a = tensor_make(CUDA_R_32F, 2, (int32_t[]){ 0, 2 }, extent, 0),
                  b = tensor_make(CUDA_R_32F, 2, (int32_t[]){ 2, 1 }, extent, 0);
    struct tensor c = tensor_make(CUDA_R_32F, 2, (int32_t[]){ 0, 1 }, extent, 0);
    const float one = 1, none = 0;
    cutensorOperationDescriptor_t op;
    for (int64_t i = 0; i < c.reach; i++)
        ((float *)c.host)[i] = NAN;
    tensor_put(&c);
    FINE(cutensorCreateContraction(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, b.desc, b.mode, CUTENSOR_OP_IDENTITY,
                                   c.desc, c.mode, CUTENSOR_OP_IDENTITY, c.desc, c.mode, CUTENSOR_COMPUTE_DESC_32F));
    cutensorPlan_t plan = plan_of(op);
    FINE(cutensorContract(handle, plan, &one, a.device, b.device, &none, c.device, c.device, NULL, 0, NULL));
    contract_check((struct tensor *const[]){ &a, &b, NULL }, (int[]){ 1, 1, 1 }, &c, &c, 1, 0, extent, "beta 0");
    for (int64_t i = 0; i < a.reach; i++)
        ((float *)a.host)[i] = NAN;
    tensor_put(&a);
    FINE(cutensorContract(handle, plan, &none, a.device, b.device, &one, c.device, c.device, NULL, 0, NULL));
    tensor_check(&c, 1e-5, "alpha 0");
    FINE(cutensorDestroyPlan(plan));
    FINE(cutensorDestroyOperationDescriptor(op));
    tensor_drop(&a), tensor_drop(&b), tensor_drop(&c);
}

int main(int argc, char **argv)
{
    int quick = argc > 1 && !strcmp(argv[1], "quick"), rounds = quick ? 6 : argc > 1 ? atoi(argv[1]) : 250;
    seed = argc > 2 ? (unsigned)atoi(argv[2]) : seed;
    int64_t most = quick ? 400 : 20000;
    FINE(cutensorCreate(&handle));
    test_operators();
    for (int i = 0; i < rounds; i++) {
        for (int inputs = 1; inputs <= 3; inputs++)
            test_elementwise(inputs, most);
        test_reduce(most);
        test_contract(most);
        test_contract(most);
        test_contract_three(most / 4);
    }
    test_padding();
    test_diagonal();
    test_not_read();
    test_transpose(quick ? 37 : 131, quick ? 5 : 257);
    if (!quick) { /* large enough to be cut for threads, in each of the ways */
        for (int i = 0; i < 4; i++)
            reduce_case(1, (int64_t[]){ 300007 }, 1, 0, CUTENSOR_OP_ADD, 0);
        reduce_case(1, (int64_t[]){ 70001, 5 }, 3, 2, CUTENSOR_OP_MAX, 0);
        reduce_case(3, (int64_t[]){ 50, 81, 53 }, 7, 2, CUTENSOR_OP_ADD, 1);
        contract_case(0, (int64_t[]){ 150, 140, 130 }, (unsigned[]){ 5, 6, 3 }, 0, 0);
        contract_case(3, (int64_t[]){ 12, 60, 40, 20 }, (unsigned[]){ 0xb, 0xd, 0x7 }, 1, 1);
        contract_case(1, (int64_t[]){ 5000, 6, 7, 3 }, (unsigned[]){ 0xb, 0xd, 0x7 }, 0, 0);
        contract_case(2, (int64_t[]){ 300001 }, (unsigned[]){ 1, 1, 1 }, 0, 0);
        contract_case(0, (int64_t[]){ 300001 }, (unsigned[]){ 1, 1, 0 }, 0, 0);
    }
    FINE(cutensorDestroy(handle));
    return test_end("cutensor");
}
