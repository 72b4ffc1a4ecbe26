/* cuSPARSELt's descriptors, which lie in the program's memory: 512 bytes each in the newest version.
 *
 * A sparse matrix has two elements of each four along the products' inner dimension, f32 one of two.  Compressed, it is these
 * elements, group after group, line after line of the outer dimension, and behind them a byte for each group that says which they
 * are: two bits each. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSELT_SLT_H
#define AW_LIBS_CUSPARSELT_SLT_H

#include <stdbool.h>

#include "common/queue.h"
#include "cusparseLt_types.h"

enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_R_32I = 10, CUDA_R_16BF = 14 };
enum { ORDER_COL = 1, ORDER_ROW = 2 };
enum { OP_N = 0, OP_T = 1 };

struct aw_slt_handle {
    uint64_t magic;
    struct aw_slt_blas *blas; /* owned */
};

struct aw_slt_matrix {
    uint32_t magic;
    int type, order, batches;
    int64_t rows, cols, ld, stride; /* elements */
    bool sparse;
};

struct aw_slt_matmul {
    uint32_t magic;
    int opa, opb, compute;
    struct aw_slt_matrix a, b, c, d;
    int relu, gelu, alpha_vector, beta_vector;
    float relu_upper, relu_threshold, gelu_scale;
    const void *bias;
    int64_t bias_stride;
};

struct aw_slt_selection {
    uint32_t magic;
    int config, iterations, split_k, split_k_mode, split_k_buffers; /* kept: there is one way to do it */
};

struct aw_slt_plan {
    uint32_t magic;
    struct aw_slt_matmul matmul;
};

/* What the five begin with when they were initialised. */
enum { SLT_MATRIX = 0x534c544d, SLT_MATMUL, SLT_SELECTION, SLT_PLAN };
_Static_assert(sizeof(struct aw_slt_plan) <= 512, "a plan fits into the program's memory");

size_t aw_slt_element(int type); /* bytes; 0: not known here */
float aw_slt_get(int type, const void *at, size_t i);
void aw_slt_put(int type, void *at, size_t i, float value);

cusparseStatus_t aw_slt_status(CUresult result);
/* All batches of a dense matrix, for a job. */
struct aw_lib_span aw_slt_matrix_span(const struct aw_slt_matrix *m, void *at, unsigned dir);

/* A sparse matrix by its dimensions in the product: element (outer, inner) of a batch is at outer * outer_step + inner *
 * inner_step. */
struct aw_slt_shape {
    int type;
    int64_t outer, inner, outer_step, inner_step; /* elements */
    int group, keep; /* 4 and 2, or 2 and 1 */
};
struct aw_slt_shape aw_slt_shape_of(const struct aw_slt_matrix *m, bool is_a, int op);
size_t aw_slt_compressed_size(const struct aw_slt_matrix *m, bool is_a, int op); /* bytes, of all batches */
/* Gives to the stream: compressed elements to a dense matrix, batch after batch, of lines of `inner` elements. */
CUresult aw_slt_expand(const struct aw_lib_queue *queue, const struct aw_slt_matrix *m, bool is_a, int op, const void *compressed,
                       void *dense);

/* The library's own way to GEMM: cuBLAS's of this package.  NULL: not there. */
struct aw_slt_blas *aw_slt_blas_create(void);
void aw_slt_blas_destroy(struct aw_slt_blas *blas);

#endif
