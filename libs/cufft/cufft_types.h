/* The types in the table of cuFFT.  Numbers of enumerations and shapes of structures are cuFFT's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUFFT_TYPES_H
#define AW_LIBS_CUFFT_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "common/types.h"

typedef enum {
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_TYPE = 3,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_SETUP_FAILED = 7,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_UNALIGNED_DATA = 9,
    CUFFT_INVALID_DEVICE = 11,
    CUFFT_NO_WORKSPACE = 13,
    CUFFT_NOT_IMPLEMENTED = 14,
    CUFFT_NOT_SUPPORTED = 16,
} cufftResult;

typedef enum {
    CUFFT_C2C = 0x29,
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_Z2Z = 0x69,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
} cufftType;

enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1 };

typedef int cufftHandle;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
typedef float cufftReal;
typedef double cufftDoubleReal;

typedef enum {
    CUFFT_XT_FORMAT_INPUT = 0,
    CUFFT_XT_FORMAT_OUTPUT = 1,
    CUFFT_XT_FORMAT_INPLACE = 2,
    CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3
} cufftXtSubFormat;
typedef enum { CUFFT_COPY_HOST_TO_DEVICE = 0, CUFFT_COPY_DEVICE_TO_HOST = 1, CUFFT_COPY_DEVICE_TO_DEVICE = 2 } cufftXtCopyType;
typedef enum { CUFFT_QUERY_1D_FACTORS = 0 } cufftXtQueryType;
typedef enum { CUFFT_WORKAREA_MINIMAL = 0, CUFFT_WORKAREA_USER = 1, CUFFT_WORKAREA_PERFORMANCE = 2 } cufftXtWorkAreaPolicy;
typedef enum { CUFFT_CB_LD_COMPLEX = 0 } cufftXtCallbackType;
typedef enum { NVFFT_PLAN_PROPERTY_INT64_PATIENT_JIT = 1, NVFFT_PLAN_PROPERTY_INT64_MAX_NUM_HOST_THREADS = 2 } cufftProperty;

enum { CUFFT_XT_GPUS = 64 };

typedef struct {
    int version, nGPUs, GPUs[CUFFT_XT_GPUS];
    void *data[CUFFT_XT_GPUS];
    size_t size[CUFFT_XT_GPUS];
    void *cudaXtState;
} cudaXtDesc;

typedef struct {
    int version;
    cudaXtDesc *descriptor;
    int library, subFormat;
    void *libDescriptor;
} cudaLibXtDesc;

#endif
