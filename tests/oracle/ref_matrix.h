/* The references of ref_matrix.c; see oracle.h for what a reference is. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ORACLE_REF_MATRIX_H
#define AW_ORACLE_REF_MATRIX_H

#include "oracle/oracle.h"

/* d, a, b, c: fragments of 32 lanes; undefined where not all 32 take part. */
oracle_warp_reference oracle_ref_mma;
/* The same with metadata and selector behind them. */
oracle_warp_reference oracle_ref_mma_sp;
oracle_warp_reference oracle_ref_movmatrix;

#endif
