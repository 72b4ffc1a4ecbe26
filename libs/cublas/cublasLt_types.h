/* The types in the table of cuBLASLt.  Descriptors may lie in the program's memory, so their sizes are cuBLASLt's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLASLT_TYPES_H
#define AW_LIBS_CUBLASLT_TYPES_H

#include "cublas_types.h"

typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct aw_lt_matmul *cublasLtMatmulDesc_t;
typedef struct aw_lt_layout *cublasLtMatrixLayout_t;
typedef struct aw_lt_preference *cublasLtMatmulPreference_t;
typedef struct aw_lt_transform *cublasLtMatrixTransformDesc_t;
typedef struct aw_lt_emulation *cublasLtEmulationDesc_t;
typedef void (*cublasLtLoggerCallback_t)(int level, const char *function, const char *text);

typedef int cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t, cublasLtMatmulPreferenceAttributes_t;
typedef int cublasLtMatrixTransformDescAttributes_t, cublasLtEmulationDescAttributes_t;
typedef int cublasLtMatmulAlgoCapAttributes_t, cublasLtMatmulAlgoConfigAttributes_t;

typedef struct { uint64_t data[8]; } cublasLtMatmulAlgo_t;
typedef struct {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize; /* bytes */
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

#endif
