/* The types in the table of cuSPARSELt.  Descriptors lie in the program's memory: 512 bytes of them in the newest version, more in older. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSELT_TYPES_H
#define AW_LIBS_CUSPARSELT_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CUSPARSE_STATUS_SUCCESS = 0,
    CUSPARSE_STATUS_NOT_INITIALIZED = 1,
    CUSPARSE_STATUS_ALLOC_FAILED = 2,
    CUSPARSE_STATUS_INVALID_VALUE = 3,
    CUSPARSE_STATUS_ARCH_MISMATCH = 4,
    CUSPARSE_STATUS_MAPPING_ERROR = 5,
    CUSPARSE_STATUS_EXECUTION_FAILED = 6,
    CUSPARSE_STATUS_INTERNAL_ERROR = 7,
    CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
    CUSPARSE_STATUS_ZERO_PIVOT = 9,
    CUSPARSE_STATUS_NOT_SUPPORTED = 10,
    CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11,
} cusparseStatus_t;

typedef int cudaDataType, cusparseComputeType, cusparseOperation_t, cusparseOrder_t, libraryPropertyType;
typedef int cusparseLtSparsity_t, cusparseLtPruneAlg_t, cusparseLtMatmulAlg_t;
typedef int cusparseLtMatDescAttribute_t, cusparseLtMatmulDescAttribute_t, cusparseLtMatmulAlgAttribute_t;
typedef struct CUstream_st *cudaStream_t;

typedef struct aw_slt_handle cusparseLtHandle_t;
typedef struct aw_slt_matrix cusparseLtMatDescriptor_t;
typedef struct aw_slt_matmul cusparseLtMatmulDescriptor_t;
typedef struct aw_slt_selection cusparseLtMatmulAlgSelection_t;
typedef struct aw_slt_plan cusparseLtMatmulPlan_t;

#endif
