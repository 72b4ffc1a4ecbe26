/* The types in the table of cuSPARSELt.  Descriptors lie in the program's memory: 512 bytes of them in the newest version, more
 * in older. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSPARSELT_TYPES_H
#define AW_LIBS_CUSPARSELT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "common/cusparse_status.h"

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
