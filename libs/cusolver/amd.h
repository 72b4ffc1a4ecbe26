/* AMD's rocSOLVER, where the device is a card and the library is there: opened with dlopen, any release. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_AMD_H
#define AW_LIBS_CUSOLVER_AMD_H

#include "call.h"

/* What rocSOLVER's enumerations number. */
static inline uint64_t aw_amd_uplo(cublasFillMode_t uplo)
{
    return uplo == CUBLAS_FILL_MODE_UPPER ? 121 : 122;
}
static inline uint64_t aw_amd_op(cublasOperation_t op)
{
    return 111 + (uint64_t)op;
}
static inline uint64_t aw_amd_side(cublasSideMode_t side)
{
    return side == CUBLAS_SIDE_LEFT ? 141 : 142;
}
static inline uint64_t aw_amd_diag(cublasDiagType_t diag)
{
    return diag == CUBLAS_DIAG_UNIT ? 132 : 131;
}
static inline uint64_t aw_amd_at(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

enum { AW_AMD_ARGS = 11 };

/* Calls rocSOLVER's function of the type ("potrf" is rocsolver_spotrf ...; a name behind a bar is of complex types) with
 * checked arguments, which are integers of 32 bits and addresses; `clear`: devInfo that it does not write, which becomes 0, or
 * NULL. False: not by this way (the host device, no rocSOLVER, the release lacks the function, or the stream captures); then
 * nothing was done, and what to install has been said once. */
bool aw_amd_solver(cusolverDnHandle_t handle, char t, const char *name, const uint64_t args[AW_AMD_ARGS], int *clear,
                   cusolverStatus_t *ret_status);
#define AW_AMD(...)               \
    (const uint64_t[AW_AMD_ARGS]) \
    {                             \
        __VA_ARGS__               \
    }
/* The handle ends. */
void aw_amd_solver_drop(cusolverDnHandle_t handle);

#endif
