/* cuTENSOR's block-sparse contractions against plain loops over the whole tensors.  Usage: blocks_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor.h"

enum { SECTIONS = 3, BLOCKS = 64 };
static int64_t section[MODES][SECTIONS], whole[MODES]; /* extents */

/* A whole tensor on the host, and its blocks on the device. */
struct sparse {
    cudaDataType type;
    uint32_t n;
    int32_t mode[3];
    int64_t stride[3];
    cplx *whole;
    int64_t count, blocks;
    int32_t at[BLOCKS][3];
    void *block[BLOCKS];
    cutensorBlockSparseTensorDescriptor_t desc;
};

static int64_t first_of(int32_t mode, int32_t part)
{
    int64_t first = 0;
    for (int32_t i = 0; i < part; i++)
        first += section[mode][i];
    return first;
}

/* Calls for each element of a block: where it is in the whole, and in the block. */
static void block_copy(struct sparse *t, int64_t b, void *host, int in)
{
    int64_t extent[3] = { 1, 1, 1 }, index[3] = { 0 }, at = 0;
    for (uint32_t i = 0; i < t->n; i++)
        extent[i] = section[t->mode[i]][t->at[b][i]];
    for (index[2] = 0; index[2] < extent[2]; index[2]++)
        for (index[1] = 0; index[1] < extent[1]; index[1]++)
            for (index[0] = 0; index[0] < extent[0]; index[0]++, at++) {
                int64_t in_whole = 0;
                for (uint32_t i = 0; i < t->n; i++)
                    in_whole += (first_of(t->mode[i], t->at[b][i]) + index[i]) * t->stride[i];
                if (in)
                    put(t->type, host, at, t->whole[in_whole]);
                else
                    check(cabs(get(t->type, host, at) - t->whole[in_whole]) <=
                              20 * epsilon(t->type) * (1 + cabs(t->whole[in_whole])),
                          "block %ld, element %ld: %g, not %g", (long)b, (long)at, creal(get(t->type, host, at)),
                          creal(t->whole[in_whole]));
            }
}

static int64_t block_size(const struct sparse *t, int64_t b)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < t->n; i++)
        count *= section[t->mode[i]][t->at[b][i]];
    return count * (int64_t)size_of(t->type);
}

static struct sparse sparse_make(cudaDataType type, uint32_t n, const int32_t mode[])
{
    struct sparse t = { .type = type, .n = n, .count = 1 };
    uint32_t sections[3];
    int64_t extents[3 * SECTIONS];
    int32_t places[BLOCKS * 3];
    int all = 1;
    for (uint32_t i = 0; i < n; i++) {
        t.mode[i] = mode[i];
        t.stride[i] = t.count;
        t.count *= whole[mode[i]];
        sections[i] = SECTIONS;
        memcpy(extents + SECTIONS * i, section[mode[i]], sizeof section[0]);
        all *= SECTIONS;
    }
    t.whole = calloc((size_t)t.count, sizeof *t.whole);
    for (int b = 0; b < all; b++) {
        if (any_below(3) == 0 && b)
            continue;
        int rest = b;
        for (uint32_t i = 0; i < n; i++, rest /= SECTIONS)
            places[(uint32_t)t.blocks * n + i] = t.at[t.blocks][i] = rest % SECTIONS;
        size_t size = (size_t)block_size(&t, t.blocks);
        void *host = malloc(size);
        for (size_t i = 0; i < size / size_of(type); i++)
            put(type, host, (int64_t)i, 0.25 + any_below(49) / 32.0);
        /* into the whole: an element at a time, by the same walk */
        int64_t extent[3] = { 1, 1, 1 }, index[3], at = 0;
        for (uint32_t i = 0; i < n; i++)
            extent[i] = section[mode[i]][t.at[t.blocks][i]];
        for (index[2] = 0; index[2] < extent[2]; index[2]++)
            for (index[1] = 0; index[1] < extent[1]; index[1]++)
                for (index[0] = 0; index[0] < extent[0]; index[0]++, at++) {
                    int64_t in_whole = 0;
                    for (uint32_t i = 0; i < n; i++)
                        in_whole += (first_of(mode[i], t.at[t.blocks][i]) + index[i]) * t.stride[i];
                    t.whole[in_whole] = get(type, host, at);
                }
        cudaMalloc(&t.block[t.blocks], size);
        cudaMemcpy(t.block[t.blocks], host, size, 1);
        free(host);
        t.blocks++;
    }
    FINE(
        cutensorCreateBlockSparseTensorDescriptor(handle, &t.desc, n, (uint64_t)t.blocks, sections, extents, places, NULL, type));
    return t;
}

static void sparse_drop(struct sparse *t)
{
    FINE(cutensorDestroyBlockSparseTensorDescriptor(t->desc));
    for (int64_t b = 0; b < t->blocks; b++)
        cudaFree(t->block[b]);
    free(t->whole);
}

static int64_t whole_at(const struct sparse *t, const int64_t index[])
{
    int64_t at = 0;
    for (uint32_t i = 0; i < t->n; i++)
        at += index[t->mode[i]] * t->stride[i];
    return at;
}

/* C_ilj = alpha A_ikl B_kjl + beta C, l of all three. */
static void test_contract(cudaDataType type)
{
    cutensorComputeDescriptor_t compute = type == CUDA_R_64F || type == CUDA_C_64F ? CUTENSOR_COMPUTE_DESC_64F
                                                                                   : CUTENSOR_COMPUTE_DESC_32F;
    for (int m = 0; m < 4; m++) {
        whole[m] = 0;
        for (int s = 0; s < SECTIONS; s++)
            whole[m] += section[m][s] = 1 + any_below(5);
    }
    struct sparse a = sparse_make(type, 3, (int32_t[]){ 0, 2, 3 }), b = sparse_make(type, 3, (int32_t[]){ 2, 1, 3 }),
                  c = sparse_make(type, 3, (int32_t[]){ 0, 3, 1 });
    cutensorOperationDescriptor_t op = NULL;
    cutensorPlan_t plan = NULL;
    struct scalar alpha, beta;
    cudaDataType scalar;
    int32_t yes = 1;
    put(type, alpha.bytes, 0, 0.5);
    put(type, beta.bytes, 0, any_below(2) ? 0 : -2);
    FINE(cutensorCreateBlockSparseContraction(handle, &op, a.desc, a.mode, CUTENSOR_OP_IDENTITY, b.desc, b.mode,
                                              CUTENSOR_OP_IDENTITY, c.desc, c.mode, CUTENSOR_OP_IDENTITY, c.desc, c.mode,
                                              compute));
    FINE(cutensorOperationDescriptorSetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_BLOCKSPARSE_REPRODUCIBLE, &yes, 4));
    FINE(cutensorOperationDescriptorGetAttribute(handle, op, CUTENSOR_OPERATION_DESCRIPTOR_SCALAR_TYPE, &scalar, 4));
    CHECK(scalar == type);
    FINE(cutensorCreatePlan(handle, &plan, op, NULL, 0));
    FINE(cutensorDestroyOperationDescriptor(op));
    int64_t index[MODES] = { 0 };
    cplx *sum = calloc((size_t)c.count, sizeof *sum);
    do
        sum[whole_at(&c, index)] += a.whole[whole_at(&a, index)] * b.whole[whole_at(&b, index)];
    while (next_index(index, whole, 15));
    for (int64_t i = 0; i < c.count; i++) /* where C has no block, nothing looks */
        c.whole[i] = 0.5 * sum[i] + get(type, beta.bytes, 0) * c.whole[i];
    free(sum);
    FINE(cutensorBlockSparseContract(handle, plan, &alpha, (const void *const *)a.block, (const void *const *)b.block, &beta,
                                     (const void *const *)c.block, c.block, NULL, 0, NULL));
    cudaDeviceSynchronize();
    for (int64_t k = 0; k < c.blocks; k++) {
        size_t size = (size_t)block_size(&c, k);
        void *host = malloc(size);
        cudaMemcpy(host, c.block[k], size, 2);
        block_copy(&c, k, host, 0);
        free(host);
    }
    FINE(cutensorDestroyPlan(plan));
    sparse_drop(&a), sparse_drop(&b), sparse_drop(&c);
}

static void test_refused(void)
{
    cutensorBlockSparseTensorDescriptor_t t = NULL, other = NULL;
    cutensorOperationDescriptor_t op = NULL;
    const uint32_t sections[] = { 2, 1 };
    const int64_t extent[] = { 4, 2, 3 }, more[] = { 4, 3, 3 };
    const int32_t good[] = { 0, 0, 1, 0 }, outside[] = { 0, 0, 2, 0 }, twice[] = { 1, 0, 1, 0 }, mode[] = { 0, 1 },
                  same[] = { 1, 1 };
#define MAKE(h, n, e, places, stride, type) \
    cutensorCreateBlockSparseTensorDescriptor(h, &t, n, 2, sections, e, places, stride, type)
    CHECK(MAKE(NULL, 2, extent, good, NULL, CUDA_R_32F) == CUTENSOR_STATUS_NOT_INITIALIZED);
    CHECK(MAKE(handle, 2, extent, outside, NULL, CUDA_R_32F) == CUTENSOR_STATUS_INVALID_VALUE);
    CHECK(MAKE(handle, 2, extent, twice, NULL, CUDA_R_32F) == CUTENSOR_STATUS_INVALID_VALUE);
    CHECK(MAKE(handle, 2, extent, good, ((int64_t[]){ 1, 4, 0, 2 }), CUDA_R_32F) == CUTENSOR_STATUS_INVALID_VALUE);
    CHECK(MAKE(handle, 2, extent, good, NULL, CUDA_R_16F) == CUTENSOR_STATUS_NOT_SUPPORTED);
    CHECK(MAKE(handle, 33, extent, good, NULL, CUDA_R_32F) == CUTENSOR_STATUS_NOT_SUPPORTED);
    FINE(MAKE(handle, 2, more, good, NULL, CUDA_R_32F));
    other = t;
    FINE(MAKE(handle, 2, extent, good, NULL, CUDA_R_32F));
#define CONTRACT(x, mx, o, y, c, compute)                                                                                        \
    cutensorCreateBlockSparseContraction(handle, &op, x, mx, o, y, mode, CUTENSOR_OP_IDENTITY, c, mode, CUTENSOR_OP_IDENTITY, c, \
                                         mode, compute)
    CHECK(CONTRACT(t, mode, CUTENSOR_OP_IDENTITY, other, t, CUTENSOR_COMPUTE_DESC_32F) == CUTENSOR_STATUS_INVALID_VALUE);
    CHECK(CONTRACT(t, same, CUTENSOR_OP_IDENTITY, t, t, CUTENSOR_COMPUTE_DESC_32F) == CUTENSOR_STATUS_INVALID_VALUE);
    CHECK(CONTRACT(t, mode, CUTENSOR_OP_NEG, t, t, CUTENSOR_COMPUTE_DESC_32F) == CUTENSOR_STATUS_NOT_SUPPORTED);
    CHECK(CONTRACT(t, mode, CUTENSOR_OP_IDENTITY, t, t, CUTENSOR_COMPUTE_DESC_64F) == CUTENSOR_STATUS_NOT_SUPPORTED);
    FINE(cutensorDestroyBlockSparseTensorDescriptor(t));
    FINE(cutensorDestroyBlockSparseTensorDescriptor(other));
}

int main(int argc, char **argv)
{
    static const cudaDataType types[] = { CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F };
    FINE(cutensorCreate(&handle));
    for (int i = 0; i < (argc > 1 ? 1 : 12); i++)
        test_contract(types[i % 4]);
    test_refused();
    FINE(cutensorDestroy(handle));
    return test_end("block-sparse");
}
