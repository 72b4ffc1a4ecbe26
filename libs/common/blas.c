/* Opening the processor's BLAS: see blas.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "libs"
#include "common/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/dl.h"
#include "base/env.h"
#include "base/log.h"
#include "common/driver.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void *library;
/* OpenBLAS's, or NULL. */
static void (*set_threads)(int n);
static int (*get_threads)(void);

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
    get_threads = library ? (int (*)(void))dlsym(library, "openblas_get_num_threads") : NULL;
    set_threads = get_threads ? (void (*)(int))dlsym(library, "openblas_set_num_threads") : NULL;
}

/* ---- Products: in parts, on the device's threads.
 *
 * OpenBLAS's own threads look for more work for tens of milliseconds after each product, on processors that the device's workers
 * want.  So a product that is worth it is cut into several, of whole columns or rows of C, each of which OpenBLAS does in one
 * thread.  How it is cut follows from its sizes and the number of threads alone. */

typedef void (*gemm_fn)(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                        const int *, const void *, const int *, const void *, void *, const int *);

enum { GEMMS = 4, PART_EDGE = 32, PARTS_OF_THREAD = 2 };
#define PART_WORK (1 << 21) /* multiplications worth a part: 20 to 50 us */

static const struct gemm_type {
    const char *name;
    size_t size;   /* bytes of an element */
    int real_size; /* and of its real part */
} gemm_types[GEMMS] = { { "sgemm_", 4, 4 }, { "dgemm_", 8, 8 }, { "cgemm_", 8, 4 }, { "zgemm_", 16, 8 } };

static void *gemm_at[GEMMS]; /* atomic */

/* Products under way, during which OpenBLAS has one thread, and how many it had before. */
static pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned threads_held;
static int threads_before;

static void threads_hold(void)
{
    pthread_mutex_lock(&threads_lock);
    if (threads_held++ == 0) {
        threads_before = get_threads();
        set_threads(1);
    }
    pthread_mutex_unlock(&threads_lock);
}

/* What the program itself has set meanwhile stays. */
static void threads_release(void)
{
    pthread_mutex_lock(&threads_lock);
    if (--threads_held == 0 && get_threads() == 1)
        set_threads(threads_before);
    pthread_mutex_unlock(&threads_lock);
}

struct gemm {
    gemm_fn fn;
    const struct gemm_type *type;
    const char *ta, *tb;
    const int *m, *n, *k, *lda, *ldb, *ldc;
    const void *alpha, *a, *b, *beta;
    void *c;
    bool by_rows; /* parts are rows of C, else columns */
    uint32_t parts;
};

static bool plain(const char *letter)
{
    return *letter == 'N' || *letter == 'n' || *letter == 'R' || *letter == 'r';
}

static void gemm_part(void *user, uint32_t part)
{
    const struct gemm *g = user;
    int64_t edge = g->by_rows ? *g->m : *g->n, grains = edge / PART_EDGE;
    int64_t begin = grains * part / g->parts * PART_EDGE,
            end = part + 1 == g->parts ? edge : grains * (part + 1) / g->parts * PART_EDGE;
    int count = (int)(end - begin), m = g->by_rows ? count : *g->m, n = g->by_rows ? *g->n : count;
    int64_t a = g->by_rows ? begin * (plain(g->ta) ? 1 : *g->lda) : 0, b = g->by_rows ? 0 : begin * (plain(g->tb) ? *g->ldb : 1),
            c = begin * (g->by_rows ? 1 : *g->ldc), size = (int64_t)g->type->size;
    g->fn(g->ta, g->tb, &m, &n, g->k, g->alpha, (const char *)g->a + a * size, g->lda, (const char *)g->b + b * size, g->ldb,
          g->beta, (char *)g->c + c * size, g->ldc);
}

/* Into how many parts; 1: it is not cut. */
static uint32_t gemm_parts(const struct gemm *g, uint32_t threads)
{
    int64_t most = (int64_t)threads * PARTS_OF_THREAD, edges = (g->by_rows ? *g->m : *g->n) / PART_EDGE;
    double work = (double)*g->m * *g->n * *g->k * (double)(g->type->size / (size_t)g->type->real_size) / PART_WORK;
    most = most < edges ? most : edges;
    return most < 1 || work < 2 ? 1 : work < (double)most ? (uint32_t)work : (uint32_t)most;
}

static void gemm_run(struct gemm *g)
{
    uint32_t threads = set_threads ? aw_abi_spread_threads() : 0;
    g->by_rows = *g->m > *g->n;
    g->parts = threads < 2 ? 1 : gemm_parts(g, threads);
    if (threads >= 2)
        threads_hold();
    if (g->parts == 1)
        gemm_part(g, 0);
    else
        aw_abi_spread(g->parts, gemm_part, g);
    if (threads >= 2)
        threads_release();
}

/* BLAS does not look at A and B where alpha is 0.  OpenBLAS (0.3.21 at least) multiplies small real matrices all the same, so
 * that a NaN in A gets into C; a sum without terms it leaves alone. */
static bool is_zero(const struct gemm_type *type, const void *alpha)
{
    return type->size == (size_t)type->real_size &&
           (type->real_size == 4 ? *(const float *)alpha == 0 : *(const double *)alpha == 0);
}

static void gemm(int type, const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha,
                 const void *a, const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc)
{
    static const int none = 0;
    struct gemm g = { (gemm_fn)__atomic_load_n(&gemm_at[type], __ATOMIC_ACQUIRE),
                      &gemm_types[type], ta, tb, m, n, is_zero(&gemm_types[type], alpha) ? &none : k, lda, ldb, ldc, alpha, a, b,
                      beta, c, false, 1 };
    gemm_run(&g);
}

#define GEMM(name, type)                                                                                                         \
    static void name(const char *ta, const char *tb, const int *m, const int *n, const int *k, const void *alpha, const void *a, \
                     const int *lda, const void *b, const int *ldb, const void *beta, void *c, const int *ldc)                   \
    {                                                                                                                            \
        gemm(type, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                                                        \
    }
GEMM(sgemm, 0)
GEMM(dgemm, 1)
GEMM(cgemm, 2)
GEMM(zgemm, 3)

void *aw_cpu_blas_find(const char *name)
{
    static const gemm_fn ours[GEMMS] = { sgemm, dgemm, cgemm, zgemm };
    pthread_once(&once, open_library);
    void *at = library ? dlsym(library, name) : NULL;
    if (library && !at)
        aw_say(BLAS_FUNCTION, name);
    for (int i = 0; at && i < GEMMS; i++)
        if (strcmp(name, gemm_types[i].name) == 0) {
            __atomic_store_n(&gemm_at[i], at, __ATOMIC_RELEASE);
            return (void *)ours[i];
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
