/* Opening the processor's BLAS: see blas.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "libs"
#include "common/blas.h"

#include <dlfcn.h>
#include <pthread.h>
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

void *aw_cpu_blas_find(const char *name)
{
    pthread_once(&once, open_library);
    void *at = library ? dlsym(library, name) : NULL;
    if (library && !at)
        aw_say(BLAS_FUNCTION, name);
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
