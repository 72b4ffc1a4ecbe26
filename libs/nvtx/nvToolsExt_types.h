/* The types in the table of NVTX.  The layout of what programs hand in is NVTX's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVTX_TYPES_H
#define AW_LIBS_NVTX_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomainRegistration_st *nvtxDomainHandle_t;
typedef struct nvtxStringRegistration_st *nvtxStringHandle_t;
typedef struct nvtxResourceHandle *nvtxResourceHandle_t;
typedef struct nvtxSyncUser *nvtxSyncUser_t;
typedef struct nvtxResourceAttributes_v0 nvtxResourceAttributes_t;
typedef struct nvtxSyncUserAttributes_v0 nvtxSyncUserAttributes_t;
typedef struct nvtxEventAttributes_v2 nvtxEventAttributes_t;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream, *cudaStream_t;
typedef struct CUevent_st *CUevent, *cudaEvent_t;

#endif
