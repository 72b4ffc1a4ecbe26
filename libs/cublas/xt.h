/* cublasXt: products of matrices that lie anywhere, in the host's memory or a device's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_XT_H
#define AW_LIBS_CUBLAS_XT_H

#include "call.h"

/* As aw_blas_call, by a handle of cublasXt: done when it returns. */
cublasStatus_t aw_blas_xt_call(struct aw_blas_function *f, cublasXtHandle_t handle, const union aw_blas_value v[]);

#endif
