/* Matrix products with types of their own for each operand, for GemmEx and its kin and for cuBLASLt: D = f(alpha op(A) op(B) +
 * beta C). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_PRODUCT_H
#define AW_LIBS_CUBLAS_PRODUCT_H

#include "common/queue.h"
#include "cublas_types.h"
#include "order.h"

/* What is done to an element behind the sum: bits.  cuBLASLt's numbers of epilogues are made of others. */
enum {
    AW_PRODUCT_BIAS = 1,       /* plus bias[row] */
    AW_PRODUCT_RELU = 2,
    AW_PRODUCT_GELU = 4,
    AW_PRODUCT_AUX = 8,        /* keeps what goes into the activation: for relu a bit, for gelu the value */
    AW_PRODUCT_DRELU = 16,     /* times relu's gradient where aux says so */
    AW_PRODUCT_DGELU = 32,
    AW_PRODUCT_BIAS_GRAD = 64, /* bias[row] = sum of the result's row */
    AW_PRODUCT_BIAS_GRAD_A = 128, /* bias[row] = sum of A's row, over k */
    AW_PRODUCT_BIAS_GRAD_B = 256, /* bias[column] = sum of B's column, over k */
};

/* A matrix as stored: `rows` x `cols`, columns after each other unless by_rows or in tiles. */
struct aw_product_matrix {
    cudaDataType type;
    int64_t rows, cols, ld, stride; /* elements; stride: from item to item of the batch */
    bool by_rows;
    uint8_t tiles; /* an order of tiles (order.h), or 0 */
};

enum { AW_PRODUCT_A, AW_PRODUCT_B, AW_PRODUCT_C, AW_PRODUCT_D, AW_PRODUCT_SCALARS, AW_PRODUCT_BETA, AW_PRODUCT_BIAS_AT,
       AW_PRODUCT_AUX_AT,
       AW_PRODUCT_SCALE_A, AW_PRODUCT_SCALE_B, AW_PRODUCT_SCALE_C, AW_PRODUCT_SCALE_D, AW_PRODUCT_SCALE_AUX, AW_PRODUCT_AMAX_D,
       AW_PRODUCT_AMAX_AUX,
       AW_PRODUCT_SPANS };

/* A job; its spans have the places above, those not used are empty. */
struct aw_product {
    struct aw_lib_job job;
    cublasOperation_t opa, opb;
    struct aw_product_matrix a, b, c, d;
    int64_t m, n, k, batch;
    bool pointers;      /* spans A, B and C, D are arrays of pointers */
    bool device;        /* alpha and beta are in the spans, not in the values */
    bool alpha_vector;  /* alpha is on the device and has an element for each row; for real types alone */
    bool beta_vector;   /* so has beta; `device` is set */
    bool a_scales, b_scales; /* the scale of A has an element for each row of the result, B's for each column */
    bool beta_zero;
    cudaDataType scale; /* type of alpha and beta */
    double alpha[2], beta[2]; /* their bits */
    char calc;          /* the sum is in s, d, c, z of BLAS, or i: 32-bit integers */
    unsigned epilogue;
    cudaDataType bias_type, aux_type;
    int64_t alpha_stride, bias_stride, aux_ld, aux_stride; /* elements; of a mask, bits */
    void *workspace;    /* the program's, for AMD's library; bytes */
    size_t workspace_size;
};

/* CUBLAS_STATUS_NOT_SUPPORTED: no product of these types with sums in `compute`.  Sets scale where it follows. */
cublasStatus_t aw_product_types(struct aw_product *p, cublasComputeType_t compute);
/* Do shapes and leading dimensions fit?  CUBLAS_STATUS_NOT_SUPPORTED: a size is too large. */
cublasStatus_t aw_product_check(const struct aw_product *p);
/* Checks that, fills the spans' sizes (their addresses are the caller's) and gives it to the queue. */
cublasStatus_t aw_product_submit(struct aw_product *p, const struct aw_lib_queue *queue);
/* Is a matrix in tiles? */
bool aw_product_tiled(const struct aw_product *p);
/* Puts alpha or beta where it belongs: a value now, or an address on the device. */
void aw_product_scalar(struct aw_product *p, int which, const void *value);

#endif
