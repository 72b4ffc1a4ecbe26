/* The processor's BLAS and LAPACK: OpenBLAS, or what ANYWARP_BLAS names, by Fortran's names with 32-bit integers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_BLAS_H
#define AW_LIBS_COMMON_BLAS_H

/* The function, or NULL: logged once.  Opens the library at the first call.  Thread-safe. */
void *aw_cpu_blas_find(const char *name);
/* The same by a cell that keeps what was found. */
void *aw_cpu_blas_cell(void **cell, const char *name);

#endif
