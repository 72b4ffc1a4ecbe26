/* Stands for librocsolver.so.0, with the prototypes of AMD's documentation: computes nothing, and writes each call to standard
 * output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

typedef void *rocblas_handle;
typedef int rocblas_status, rocblas_int, rocblas_fill, rocblas_operation, rocblas_side, rocblas_diagonal;

#define ENTRY __attribute__((visibility("default")))
ENTRY rocblas_status rocblas_create_handle(rocblas_handle *handle);
ENTRY rocblas_status rocblas_destroy_handle(rocblas_handle handle);
ENTRY rocblas_status rocblas_set_stream(rocblas_handle handle, void *stream);

rocblas_status rocblas_create_handle(rocblas_handle *handle)
{
    *handle = malloc(1);
    return 0;
}

rocblas_status rocblas_destroy_handle(rocblas_handle handle)
{
    free(handle);
    puts("destroy");
    return 0;
}

rocblas_status rocblas_set_stream(rocblas_handle handle, void *stream)
{
    return handle ? 0 : 1;
}

#define SAY(...) (printf(__VA_ARGS__), fflush(stdout), 0)
#define THERE(p) ((p) ? "there" : "NULL")
#define TYPE(t, T)                                                                                                            \
    ENTRY rocblas_status rocsolver_##t##potrf(rocblas_handle h, rocblas_fill uplo, rocblas_int n, T *a, rocblas_int lda,      \
                                              rocblas_int *info);                                                             \
    rocblas_status rocsolver_##t##potrf(rocblas_handle h, rocblas_fill uplo, rocblas_int n, T *a, rocblas_int lda,            \
                                        rocblas_int *info)                                                                    \
    {                                                                                                                         \
        return SAY(#t "potrf %d %d %s %d %s\n", uplo, n, THERE(a), lda, THERE(info));                                         \
    }                                                                                                                         \
    ENTRY rocblas_status rocsolver_##t##potrs(rocblas_handle h, rocblas_fill uplo, rocblas_int n, rocblas_int nrhs, T *a,     \
                                              rocblas_int lda, T *b, rocblas_int ldb);                                        \
    rocblas_status rocsolver_##t##potrs(rocblas_handle h, rocblas_fill uplo, rocblas_int n, rocblas_int nrhs, T *a,           \
                                        rocblas_int lda, T *b, rocblas_int ldb)                                               \
    {                                                                                                                         \
        return SAY(#t "potrs %d %d %d %s %d %s %d\n", uplo, n, nrhs, THERE(a), lda, THERE(b), ldb);                           \
    }                                                                                                                         \
    ENTRY rocblas_status rocsolver_##t##getrf(rocblas_handle h, rocblas_int m, rocblas_int n, T *a, rocblas_int lda,          \
                                              rocblas_int *ipiv, rocblas_int *info);                                          \
    rocblas_status rocsolver_##t##getrf(rocblas_handle h, rocblas_int m, rocblas_int n, T *a, rocblas_int lda,                \
                                        rocblas_int *ipiv, rocblas_int *info)                                                 \
    {                                                                                                                         \
        return SAY(#t "getrf %d %d %s %d %s %s\n", m, n, THERE(a), lda, THERE(ipiv), THERE(info));                            \
    }                                                                                                                         \
    ENTRY rocblas_status rocsolver_##t##getrs(rocblas_handle h, rocblas_operation op, rocblas_int n, rocblas_int nrhs, T *a,  \
                                              rocblas_int lda, const rocblas_int *ipiv, T *b, rocblas_int ldb);               \
    rocblas_status rocsolver_##t##getrs(rocblas_handle h, rocblas_operation op, rocblas_int n, rocblas_int nrhs, T *a,        \
                                        rocblas_int lda, const rocblas_int *ipiv, T *b, rocblas_int ldb)                      \
    {                                                                                                                         \
        return SAY(#t "getrs %d %d %d %s %d %s %s %d\n", op, n, nrhs, THERE(a), lda, THERE(ipiv), THERE(b), ldb);             \
    }                                                                                                                         \
    ENTRY rocblas_status rocsolver_##t##geqrf(rocblas_handle h, rocblas_int m, rocblas_int n, T *a, rocblas_int lda, T *tau); \
    rocblas_status rocsolver_##t##geqrf(rocblas_handle h, rocblas_int m, rocblas_int n, T *a, rocblas_int lda, T *tau)        \
    {                                                                                                                         \
        return SAY(#t "geqrf %d %d %s %d %s\n", m, n, THERE(a), lda, THERE(tau));                                             \
    }
TYPE(d, double)
TYPE(c, float)

#define ORMQR(name, T)                                                                                                         \
    ENTRY rocblas_status rocsolver_##name(rocblas_handle h, rocblas_side side, rocblas_operation op, rocblas_int m,            \
                                          rocblas_int n, rocblas_int k, T *a, rocblas_int lda, T *tau, T *c, rocblas_int ldc); \
    rocblas_status rocsolver_##name(rocblas_handle h, rocblas_side side, rocblas_operation op, rocblas_int m, rocblas_int n,   \
                                    rocblas_int k, T *a, rocblas_int lda, T *tau, T *c, rocblas_int ldc)                       \
    {                                                                                                                          \
        return SAY(#name " %d %d %d %d %d %s %d %s %s %d\n", side, op, m, n, k, THERE(a), lda, THERE(tau), THERE(c), ldc);     \
    }
ORMQR(dormqr, double)
ORMQR(cunmqr, float)
