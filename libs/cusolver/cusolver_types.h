/* The types in the tables of cuSOLVER.  Numbers of enumerations are cuSOLVER's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_TYPES_H
#define AW_LIBS_CUSOLVER_TYPES_H

#include "common/matdescr.h"
#include "common/types.h"

typedef enum {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_NOT_INITIALIZED = 1,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3,
    CUSOLVER_STATUS_ARCH_MISMATCH = 4,
    CUSOLVER_STATUS_MAPPING_ERROR = 5,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6,
    CUSOLVER_STATUS_INTERNAL_ERROR = 7,
    CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
    CUSOLVER_STATUS_NOT_SUPPORTED = 9,
    CUSOLVER_STATUS_ZERO_PIVOT = 10,
    CUSOLVER_STATUS_INVALID_LICENSE = 11,
    CUSOLVER_STATUS_IRS_PARAMS_NOT_INITIALIZED = 12,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID = 13,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_PREC = 14,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_REFINE = 15,
    CUSOLVER_STATUS_IRS_PARAMS_INVALID_MAXITER = 16,
    CUSOLVER_STATUS_IRS_NOT_SUPPORTED = 21,
    CUSOLVER_STATUS_IRS_INFOS_NOT_INITIALIZED = 25,
    CUSOLVER_STATUS_INVALID_WORKSPACE = 31,
} cusolverStatus_t;

typedef enum { CUSOLVER_EIG_TYPE_1 = 1, CUSOLVER_EIG_TYPE_2 = 2, CUSOLVER_EIG_TYPE_3 = 3 } cusolverEigType_t;
typedef enum { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 } cusolverEigMode_t;
typedef enum { CUSOLVER_EIG_RANGE_ALL = 1001, CUSOLVER_EIG_RANGE_I = 1002, CUSOLVER_EIG_RANGE_V = 1003 } cusolverEigRange_t;
typedef enum { CUSOLVER_ALG_0 = 0, CUSOLVER_ALG_1 = 1, CUSOLVER_ALG_2 = 2 } cusolverAlgMode_t;
typedef enum { CUBLAS_STOREV_COLUMNWISE = 0, CUBLAS_STOREV_ROWWISE = 1 } cusolverStorevMode_t;
typedef enum { CUBLAS_DIRECT_FORWARD = 0, CUBLAS_DIRECT_BACKWARD = 1 } cusolverDirectMode_t;
typedef enum { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1, CUSOLVERDN_SYEVBATCHED = 2 } cusolverDnFunction_t;
typedef enum { CUSOLVER_DETERMINISTIC_RESULTS = 1, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS = 2 } cusolverDeterministicMode_t;
typedef enum { CUSOLVER_DEFAULT_MATH = 1 } cusolverMathMode_t;
typedef int cusolverIRSRefinement_t, cusolverPrecType_t, cusolverEigComp_t;
typedef int cusolverRfFactorization_t, cusolverRfTriangularSolve_t, cusolverRfResetValuesFastMode_t, cusolverRfMatrixFormat_t;
typedef int cusolverRfUnitDiagonal_t, cusolverRfNumericBoostReport_t;

typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef struct syevjInfo *syevjInfo_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct cusolverDnIRSParams *cusolverDnIRSParams_t;
typedef struct cusolverDnIRSInfos *cusolverDnIRSInfos_t;
typedef struct cusolverSpContext *cusolverSpHandle_t;
typedef struct csrqrInfo *csrqrInfo_t;
typedef struct csrqrInfoHost *csrqrInfoHost_t;
typedef struct csrluInfoHost *csrluInfoHost_t;
typedef struct csrcholInfo *csrcholInfo_t;
typedef struct csrcholInfoHost *csrcholInfoHost_t;
typedef struct cusolverRfCommon *cusolverRfHandle_t;
typedef void (*cusolverDnLoggerCallback_t)(int level, const char *function, const char *message);

#endif
