/* The types in the table of NCCL.  Numbers, and the layout of what programs hand in, are NCCL's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_TYPES_H
#define AW_LIBS_NCCL_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
    ncclTimeout = 8,
} ncclResult_t;

/* from 5 on, what programs have made */
typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;

typedef enum {
    ncclInt8 = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9,
    ncclFloat8e4m3 = 10,
    ncclFloat8e5m2 = 11,
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;
/* bytes of device memory: those that can be suspended, 1 where they are, those that cannot, all */
typedef enum {
    ncclStatGpuMemSuspend = 0,
    ncclStatGpuMemSuspended = 1,
    ncclStatGpuMemPersist = 2,
    ncclStatGpuMemTotal = 3,
} ncclCommMemStat_t;
enum { NCCL_SHRINK_DEFAULT = 0, NCCL_SHRINK_ABORT = 1, NCCL_REVOKE_DEFAULT = 0, NCCL_SUSPEND_MEM = 1 };

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
enum { NCCL_WIN_DEFAULT = 0, NCCL_WIN_COLL_SYMMETRIC = 1 };
typedef struct ncclParamHandle *ncclParamHandle_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct { char internal[128]; } ncclUniqueId;
typedef struct { int nRanks, rank, stride; } ncclTeam_t;
typedef struct ncclCollConfig ncclCollConfig_t;
typedef struct ncclEncryptionConfig ncclEncryptionConfig_t;
typedef struct ncclWaitSignalDesc ncclWaitSignalDesc_t;

/* A program's compiler fills in what its version has; the first three members say how much that is. */
typedef struct {
    size_t size;
    unsigned magic;
    unsigned version;
    int blocking;
    int cgaClusterSize, minCTAs, maxCTAs;
    const char *netName;
    int splitShare;
    int trafficClass;
    const char *commName;
} ncclConfig_t;

typedef struct ncclSimInfo {
    size_t size;
    unsigned magic;
    unsigned version;
    float estimatedTime;
} ncclSimInfo_t;

#endif
