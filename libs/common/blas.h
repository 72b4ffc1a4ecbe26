/* The processor's BLAS and LAPACK: OpenBLAS, or what ANYWARP_BLAS names, by Fortran's names with 32-bit integers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_BLAS_H
#define AW_LIBS_COMMON_BLAS_H

#include <stddef.h>

/* The function, or NULL: logged once.  Opens the library at the first call.  Thread-safe. */
void *aw_cpu_blas_find(const char *name);
/* The same by a cell that keeps what was found. */
void *aw_cpu_blas_cell(void **cell, const char *name);

/* Fortran's way: everything by address, and at the end the lengths of texts, of which `AW_ENDS` are enough for any in LAPACK. */
typedef void (*aw_fortran)(void *first, ...);
#define AW_ENDS (size_t)1, (size_t)1, (size_t)1

/* LAPACK's function of a type (s, d, c, z): "getrf" is sgetrf_ and so on; "orgqr|ungqr" has a name for real types and one for
 * complex ones.  NULL: logged.  Thread-safe. */
aw_fortran aw_lapack(char t, const char *name);

/* Bytes of a number of the type. */
static inline size_t aw_lapack_size(char t)
{
    return t == 's' ? 4 : t == 'z' ? 16 : 8;
}

#endif
