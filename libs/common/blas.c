/* Opening the processor's BLAS: see blas.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "libs"
#include "common/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/dl.h"
#include "base/env.h"
#include "base/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;

static void open_library(void)
{
    const char *wish = aw_env("ANYWARP_BLAS");
    const char *const wished[] = { wish, NULL };
    static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libblas.so.3", NULL };
    static const struct aw_dl_symbol required[] = { { "sgemm_", 0, true }, { NULL, 0, false } };
    void *table;
    char why[256];
    library = aw_dl_open(wish && *wish ? wished : names, required, &table, why, sizeof why);
    if (library)
        aw_say(BLAS_FOUND, wish && *wish ? wish : "OpenBLAS");
    else
        aw_say(BLAS_MISSING, why);
}

/* BLAS does not look at A and B where alpha is 0.  OpenBLAS (0.3.21 at least) multiplies small real matrices all the same, so
 * that a NaN in A gets into C; a sum without terms it leaves alone. */
typedef void (*gemm_fn)(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                        const int *, const void *, const int *, const void *, void *, const int *);
static void *sgemm_at, *dgemm_at; /* atomic */

static void sgemm(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha, const void *a,
                  const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc)
{
    static const int none = 0;
    gemm_fn gemm = (gemm_fn)__atomic_load_n(&sgemm_at, __ATOMIC_ACQUIRE);
    gemm(ta, tb, m, n, *(const float *)alpha == 0 ? &none : k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static void dgemm(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha, const void *a,
                  const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc)
{
    static const int none = 0;
    gemm_fn gemm = (gemm_fn)__atomic_load_n(&dgemm_at, __ATOMIC_ACQUIRE);
    gemm(ta, tb, m, n, *(const double *)alpha == 0 ? &none : k, alpha, a, lda, b, ldb, beta, c, ldc);
}

void *aw_cpu_blas_find(const char *name)
{
    pthread_once(&once, open_library);
    void *at = library ? dlsym(library, name) : NULL;
    bool of_floats = strcmp(name, "sgemm_") == 0;
    if (library && !at)
        aw_say(BLAS_FUNCTION, name);
    if (at && (of_floats || strcmp(name, "dgemm_") == 0)) {
        __atomic_store_n(of_floats ? &sgemm_at : &dgemm_at, at, __ATOMIC_RELEASE);
        at = of_floats ? (void *)sgemm : (void *)dgemm;
    }
    return at;
}

void *aw_cpu_blas_cell(void **cell, const char *name)
{
    void *at = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
    if (!at && (at = aw_cpu_blas_find(name)))
        __atomic_store_n(cell, at, __ATOMIC_RELEASE);
    return at;
}

aw_fortran aw_lapack(char t, const char *name)
{
    const char *bar = strchr(name, '|');
    char full[24];
    size_t n = bar ? (size_t)(bar - name) : strlen(name);
    if (bar && (t == 'c' || t == 'z')) {
        name = bar + 1;
        n = strlen(name);
    }
    snprintf(full, sizeof full, "%c%.*s_", t, (int)n, name);
    return (aw_fortran)aw_cpu_blas_find(full);
}
