/* The types in the table of NVSHMEM. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NVSHMEM_TYPES_H
#define AW_LIBS_NVSHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int status_t; /* an int that says whether it worked, not a value */
typedef uint16_t half, __nv_bfloat16;
typedef int nvshmem_team_t;
typedef int nvshmemx_region_handle_t;
typedef struct { unsigned x, y, z; } dim3;
typedef struct { int major, minor, patch; } nvshmemi_version_t;
typedef struct nvshmem_team_config nvshmem_team_config_t;
typedef struct nvshmemx_init_attr nvshmemx_init_attr_t;
typedef struct nvshmemx_uniqueid nvshmemx_uniqueid_t;
typedef struct nvshmemx_team_uniqueid nvshmemx_team_uniqueid_t;
typedef struct nvshmemx_collective_launch_attr nvshmemx_collective_launch_attr_t;
typedef struct nvshmemx_region_attrs nvshmemx_region_attrs_t;
typedef struct nvshmemx_qp_handle nvshmemx_qp_handle_t;
typedef int (*nvshmemx_device_lib_init_cb)(void);
typedef struct CUstream_st *cudaStream_t;
typedef struct CUlib_st *CUlibrary;
typedef struct CUmod_st *CUmodule;

#endif
