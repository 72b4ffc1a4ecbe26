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
    CU_FILE_DRIVER_UNSUPPORTED_LIMIT = 5003,
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
    CU_FILE_BATCH_FULL = 5037,
    CU_FILE_NOMEM_ERROR = 5043,
    CU_FILE_IO_ERROR = 5044,
} CUfileOpError;

typedef struct {
    CUfileOpError err;
    int cu_err; /* a CUresult, where err is CU_FILE_CUDA_DRIVER_ERROR */
} CUfileError_t;

typedef int CUfileDriverStatusFlags_t, CUfileP2PFlags_t;
/* Numbers from 0 on; what ends in _KB is in KiB. */
typedef int CUFileBoolConfigParameter_t, CUFileSizeTConfigParameter_t, CUFileStringConfigParameter_t;
enum {
    CUFILE_PARAM_PROFILE_STATS, CUFILE_PARAM_EXECUTION_MAX_IO_QUEUE_DEPTH, CUFILE_PARAM_EXECUTION_MAX_IO_THREADS,
    CUFILE_PARAM_EXECUTION_MIN_IO_THRESHOLD_SIZE_KB, CUFILE_PARAM_EXECUTION_MAX_REQUEST_PARALLELISM,
    CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB,
    CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB, CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
    CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE, CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB, CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS,
};
enum {
    CUFILE_PARAM_PROPERTIES_USE_POLL_MODE = 0,
    CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE = 1,
    CUFILE_PARAM_EXECUTION_PARALLEL_IO = 4,
    CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY = 6,
    CUFILE_PARAM_GDS_FALLBACK_IO = 13, /* the last */
};
enum { CUFILE_PARAM_LOGGING_LEVEL = 0, CUFILE_PARAM_RDMA_TRANSPORT = 3 /* the last */ };
typedef void *CUfileHandle_t, *CUfileBatchHandle_t;
typedef struct CUstream_st *CUstream;
/* Sizes are in KiB. */
typedef struct {
    struct {
        unsigned major_version, minor_version; /* of NVIDIA's driver for file systems */
        size_t poll_thresh_size, max_direct_io_size;
        unsigned dstatusflags;  /* bit n: file system n goes past the host */
        unsigned dcontrolflags; /* bits of CU_FILE_USE_POLL_MODE and _ALLOW_COMPAT_MODE */
    } nvfs;
    unsigned fflags; /* bits of features */
    unsigned max_device_cache_size, per_buffer_cache_size, max_device_pinned_mem_size;
    unsigned max_batch_io_size, max_batch_io_timeout_msecs;
} CUfileDrvProps_t;
enum { CU_FILE_USE_POLL_MODE = 0, CU_FILE_ALLOW_COMPAT_MODE = 1 }; /* bits of dcontrolflags */
enum { CU_FILE_BATCH_IO_SUPPORTED = 1, CU_FILE_STREAMS_SUPPORTED = 2 }; /* bits of fflags */

enum { CUFILE_BATCH = 1 }; /* modes */
enum { CUFILE_READ = 0, CUFILE_WRITE = 1 }; /* opcodes */
enum { CUFILE_COMPLETE = 0x10, CUFILE_FAILED = 0x40 }; /* of statuses */
typedef struct {
    int mode;
    union {
        struct {
            void *devPtr_base;
            off_t file_offset, devPtr_offset;
            size_t size;
        } batch;
    } u;
    CUfileHandle_t fh;
    int opcode;
    void *cookie;
} CUfileIOParams_t;
typedef struct {
    void *cookie;
    int status;
    size_t ret; /* bytes, or the error, negative */
} CUfileIOEvents_t;
typedef struct {
    void *base;
    size_t len;
} CUfileIOVec_t;
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
