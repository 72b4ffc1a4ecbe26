/* What descriptors of cuBLASLt hold, and what they mean as a product.  They may lie in the program's memory: their sizes are at
 * most those of cuBLASLt's opaque ones (CUDA 11: 184 bytes for a product, 64 for the others), and they own nothing. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_LT_H
#define AW_LIBS_CUBLAS_LT_H

#include <stdbool.h>

#include "cublasLt_types.h"
#include "product.h"

enum { AW_LT_HOST = 0, AW_LT_DEVICE = 1, AW_LT_DEVICE_VECTOR = 2, AW_LT_VECTOR_BETA_ZERO = 3, AW_LT_VECTOR_BETA_HOST = 4 };
enum { AW_LT_SCALE_SCALAR = 0, AW_LT_SCALE_OUTER_VECTOR = 3 };
enum {
    AW_LT_EPILOGUE_DEFAULT = 1,
    AW_LT_EPILOGUE_RELU = 2,
    AW_LT_EPILOGUE_BIAS = 4,
    AW_LT_EPILOGUE_DRELU = 8,
    AW_LT_EPILOGUE_BGRAD = 16,
    AW_LT_EPILOGUE_GELU = 32,
    AW_LT_EPILOGUE_DGELU = 64,
    AW_LT_EPILOGUE_AUX = 128,
    AW_LT_EPILOGUE_BGRADA = 256,
    AW_LT_EPILOGUE_BGRADB = 512
};

struct aw_lt_matmul {
    void *bias, *aux, *a_scale, *b_scale, *c_scale, *d_scale, *amax_d, *aux_scale, *aux_amax, *d_out_scale, *emulation;
    int64_t bias_stride, aux_ld, aux_stride, alpha_stride;
    int32_t compute, scale, pointer_mode, opa, opb, opc, fill, epilogue, sm_target, aux_type, bias_type;
    int8_t a_mode, b_mode, c_mode, d_mode, aux_mode, d_out_mode, fast; /* modes are 32 bits wide where they are set */
};

struct aw_lt_layout {
    uint64_t rows, cols;
    int64_t ld, stride, plane;
    int32_t type, order, batch, batch_mode;
};

struct aw_lt_preference {
    uint64_t workspace, implementations;
    uint32_t search, reductions, align[4], maths, gaussian, pointer_modes, epilogues, sm_target;
    float waves;
};

struct aw_lt_transform {
    int32_t scale, pointer_mode, opa, opb;
};

struct aw_lt_emulation {
    int32_t strategy, special, control, max_bits, offset;
    void *count;
};

/* The product that the descriptors describe, without its addresses; checks types and shapes.  CUBLAS_STATUS_NOT_SUPPORTED: with
 * what is not implemented here it says so once. */
cublasStatus_t aw_lt_product(const struct aw_lt_matmul *desc, const struct aw_lt_layout *a, const struct aw_lt_layout *b,
                             const struct aw_lt_layout *c, const struct aw_lt_layout *d, struct aw_product *ret);
/* The handle's queue with another stream; cuBLAS's handles are taken, too. */
cublasStatus_t aw_lt_queue(cublasLtHandle_t handle, cudaStream_t stream, struct aw_lib_queue *ret);
/* Is it NULL, or an algorithm of ours with nothing asked for that is not here? */
cublasStatus_t aw_lt_algo_check(const cublasLtMatmulAlgo_t *algo);

/* A field of a descriptor as attribute `id`: `size` bytes wide for the program, `narrow`: kept in one. */
struct aw_lt_attribute {
    int id;
    uint8_t size, narrow, fixed; /* fixed: may be read alone */
    uint16_t at;
};

/* The rules of all attributes: a set of any but the exact size is CUBLAS_STATUS_INVALID_VALUE; a get of size 0 asks for the
   size. */
cublasStatus_t aw_lt_attribute_set(const struct aw_lt_attribute *table, size_t n, void *object, int id, const void *from,
                                   size_t size);
cublasStatus_t aw_lt_attribute_get(const struct aw_lt_attribute *table, size_t n, const void *object, int id, void *ret_to,
                                   size_t size, size_t *ret_written);
/* The same for what is in no descriptor. */
cublasStatus_t aw_lt_bytes_get(const void *from, size_t bytes, void *ret_to, size_t size, size_t *ret_written);

#endif
