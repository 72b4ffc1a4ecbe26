/* The types in the table of cuFile.  Numbers, and the layout of what programs hand in, are cuFile's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUFILE_TYPES_H
#define AW_LIBS_CUFILE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef enum {
    CU_FILE_SUCCESS = 0,
    CU_FILE_DRIVER_NOT_INITIALIZED = 5001,
    CU_FILE_PLATFORM_NOT_SUPPORTED = 5007,
    CU_FILE_CUDA_DRIVER_ERROR = 5011,
    CU_FILE_CUDA_POINTER_INVALID = 5012,
    CU_FILE_INVALID_FILE_TYPE = 5018,
    CU_FILE_INVALID_VALUE = 5022,
    CU_FILE_MEMORY_ALREADY_REGISTERED = 5023,
    CU_FILE_MEMORY_NOT_REGISTERED = 5024,
    CU_FILE_DRIVER_ALREADY_OPEN = 5026,
    CU_FILE_HANDLE_NOT_REGISTERED = 5027,
    CU_FILE_HANDLE_ALREADY_REGISTERED = 5028,
    CU_FILE_INTERNAL_ERROR = 5030,
    CU_FILE_NOMEM_ERROR = 5043,
    CU_FILE_IO_ERROR = 5044,
} CUfileOpError;

typedef struct {
    CUfileOpError err;
    int cu_err; /* a CUresult, where err is CU_FILE_CUDA_DRIVER_ERROR */
} CUfileError_t;

typedef int CUfileDriverStatusFlags_t, CUfileP2PFlags_t;
typedef int CUFileBoolConfigParameter_t, CUFileSizeTConfigParameter_t, CUFileStringConfigParameter_t;
typedef void *CUfileHandle_t, *CUfileBatchHandle_t;
typedef struct CUstream_st *CUstream;
typedef struct CUfileDrvProps CUfileDrvProps_t;
typedef struct CUfileIOEvents CUfileIOEvents_t;
typedef struct CUfileIOParams CUfileIOParams_t;
typedef struct CUfileIOVec CUfileIOVec_t;
typedef struct CUfileStatsLevel1 CUfileStatsLevel1_t;
typedef struct CUfileStatsLevel2 CUfileStatsLevel2_t;
typedef struct CUfileStatsLevel3 CUfileStatsLevel3_t;

enum { CU_FILE_HANDLE_TYPE_OPAQUE_FD = 1 };
typedef struct {
    int type;
    union {
        int fd;
        void *handle; /* on Windows */
    } handle;
    const void *fs_ops; /* a file system of the program's own */
} CUfileDescr_t;

#endif
