/* The types in the table of cuSOLVER for several devices. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVERMG_TYPES_H
#define AW_LIBS_CUSOLVERMG_TYPES_H

#include "cusolver_types.h"

typedef int cusolverMgGridMapping_t;
typedef void *cusolverMgHandle_t, *cudaLibMgGrid_t, *cudaLibMgMatrixDesc_t;

#endif
