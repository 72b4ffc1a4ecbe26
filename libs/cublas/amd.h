/* AMD's rocBLAS, where the device is a card and the library is there: opened with dlopen, any release. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_AMD_H
#define AW_LIBS_CUBLAS_AMD_H

#include "call.h"

/* Forwards a checked call, whose arguments are in cuBLAS's numbers.  False: not by this way (no rocBLAS, the release lacks the
 * function, or the stream captures); then nothing was done, and what to install has been said once. */
bool aw_amd_blas_call(struct aw_blas_function *f, cublasHandle_t handle, const union aw_blas_value v[],
                      cublasStatus_t *ret_status);
/* The handle ends. */
void aw_amd_blas_drop(cublasHandle_t handle);

#endif
