/* CUDA's types that several libraries' tables use.  Numbers of enumerations are CUDA's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_TYPES_H
#define AW_LIBS_COMMON_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum { MAJOR_VERSION = 0, MINOR_VERSION = 1, PATCH_LEVEL = 2 } libraryPropertyType;

typedef enum {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUDA_R_16F = 2,
    CUDA_R_8I = 3,
    CUDA_C_32F = 4,
    CUDA_C_64F = 5,
    CUDA_C_16F = 6,
    CUDA_C_8I = 7,
    CUDA_R_8U = 8,
    CUDA_C_8U = 9,
    CUDA_R_32I = 10,
    CUDA_C_32I = 11,
    CUDA_R_16BF = 14,
    CUDA_C_16BF = 15,
    CUDA_R_8F_E4M3 = 28,
    CUDA_R_8F_E5M2 = 29,
} cudaDataType;

/* Passed by value in two halves of a register, or in two registers, as pairs of floats are. */
typedef struct {
    float x, y;
} __attribute__((aligned(8))) cuComplex;
typedef struct {
    double x, y;
} __attribute__((aligned(16))) cuDoubleComplex;
typedef uint16_t __half;
typedef uint16_t __nv_bfloat16;

typedef struct CUstream_st *cudaStream_t;

/* cuBLAS's, in the tables of cuSOLVER too. */
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_CONJG = 3 } cublasOperation_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUDA_EMULATION_STRATEGY_DEFAULT = 0 } cudaEmulationStrategy_t;
typedef enum { CUDA_EMULATION_SPECIAL_VALUES_DEFAULT = 0xffff } cudaEmulationSpecialValuesSupport;
typedef enum { CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC = 0 } cudaEmulationMantissaControl;

#endif
