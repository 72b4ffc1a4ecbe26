/* The types in the tables of NPP.  Numbers of enumerations and shapes of structures are NPP's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NPP_TYPES_H
#define AW_LIBS_NPP_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef struct CUstream_st *cudaStream_t;

typedef enum {
    NPP_NOT_SUPPORTED_MODE_ERROR = -9999,
    NPP_STREAM_CTX_ERROR = -215,
    NPP_NULL_POINTER_ERROR = -8,
    NPP_ERROR = -2,
    NPP_NO_ERROR = 0,
} NppStatus;

typedef uint8_t Npp8u;
typedef int8_t Npp8s;
typedef uint16_t Npp16u;
typedef int16_t Npp16s;
typedef uint32_t Npp32u;
typedef int32_t Npp32s;
typedef int64_t Npp64s;
typedef float Npp32f;
typedef double Npp64f;
typedef struct { Npp16s re, im; } Npp16sc;
typedef struct { Npp32s re, im; } Npp32sc;
typedef struct { Npp64s re, im; } Npp64sc;
typedef struct { Npp32f re, im; } Npp32fc;
typedef struct { Npp64f re, im; } Npp64fc;

typedef struct { int major, minor, build; } NppLibraryVersion;

typedef struct {
    cudaStream_t hStream;
    int nCudaDeviceId;
    int nMultiProcessorCount;
    int nMaxThreadsPerMultiProcessor;
    int nMaxThreadsPerBlock;
    size_t nSharedMemPerBlock; /* bytes */
    int nCudaDevAttrComputeCapabilityMajor;
    int nCudaDevAttrComputeCapabilityMinor;
    unsigned int nStreamFlags;
    int nReserved0;
} NppStreamContext;

#endif
