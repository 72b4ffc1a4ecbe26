/* Orthogonal factorisations, for the interface of each type and the 64-bit one. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_ORTHOGONAL_H
#define AW_LIBS_CUSOLVER_ORTHOGONAL_H

#include "call.h"

/* The handle is checked here. */
cusolverStatus_t aw_solver_geqrf(cusolverDnHandle_t h, char t, int64_t m, int64_t n, void *a, int64_t lda, void *tau, int *info);

#endif
