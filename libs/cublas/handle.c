/* Handles of cuBLAS and their settings.  Not the functions that compute: those are made from blas.tab. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cublas_types.h"
