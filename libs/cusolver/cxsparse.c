/* CXSparse is opened at its first use. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusolver"
#include "cxsparse.h"

#include <complex.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/dl.h"
#include "base/log.h"
#include "call.h"

static struct {
    pthread_once_t once;
    void *library;
    struct aw_cx real, two_parts;
} cx = { .once = PTHREAD_ONCE_INIT };

#define FIELD(kind, name)                                         \
    {                                                             \
        "cs_" #kind "_" #name, offsetof(struct aw_cx, name), true \
    }
#define SUITE(kind)                                                                                                    \
    FIELD(kind, transpose), FIELD(kind, sqr), FIELD(kind, qr), FIELD(kind, lu), FIELD(kind, schol), FIELD(kind, chol), \
        FIELD(kind, ipvec), FIELD(kind, pvec), FIELD(kind, happly), FIELD(kind, usolve), FIELD(kind, lsolve),          \
        FIELD(kind, ltsolve), FIELD(kind, dupl), FIELD(kind, amd), FIELD(kind, spfree), FIELD(kind, sfree),            \
        FIELD(kind, nfree),                                                                                            \
    {                                                                                                                  \
        NULL, 0, false                                                                                                 \
    }

static void open_library(void)
{
    static const char *const names[] = { "libcxsparse.so.3", "libcxsparse.so.4", "libcxsparse.so", NULL };
    static const struct aw_dl_symbol real[] = { SUITE(di) }, two_parts[] = { SUITE(ci) };
    char why[256];
    cx.library = aw_dl_open(names, real, &cx.real, why, sizeof why);
    if (cx.library && !aw_dl_open(names, two_parts, &cx.two_parts, why, sizeof why))
        cx.library = NULL;
    if (!cx.library)
        aw_say(NO_CXSPARSE, why);
}

const struct aw_cx *aw_cx_open(char own)
{
    pthread_once(&cx.once, open_library);
    return !cx.library ? NULL : own == 'z' ? &cx.two_parts : &cx.real;
}

char aw_cx_own(char t)
{
    return aw_solver_complex(t) ? 'z' : 'd';
}

void aw_cx_put(char t, void *at, int64_t i, double _Complex v)
{
    switch (t) {
    case 's': ((float *)at)[i] = (float)creal(v); break;
    case 'd': ((double *)at)[i] = creal(v); break;
    case 'c': ((float _Complex *)at)[i] = (float _Complex)v; break;
    default: ((double _Complex *)at)[i] = v; break;
    }
}

void *aw_cx_values(char t, const void *from, int64_t n, bool conjugate)
{
    char own = aw_cx_own(t);
    void *to = malloc((size_t)(n + 1) * aw_lapack_size(own));
    for (int64_t i = 0; to && i < n; i++)
        aw_cx_put(own, to, i, conjugate ? conj(aw_solver_value(t, from, i)) : aw_solver_value(t, from, i));
    return to;
}

int *aw_cx_indices(const int *from, int64_t n, int base)
{
    int *to = malloc((size_t)(n + 1) * sizeof *to);
    for (int64_t i = 0; to && i < n; i++)
        to[i] = from[i] - base;
    return to;
}

void aw_cx_drop(struct cs *a)
{
    free(a->p);
    free(a->i);
    free(a->x);
    *a = (struct cs){ 0 };
}
