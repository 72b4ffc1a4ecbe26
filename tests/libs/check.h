/* What the tests of libs/ share: device arrays of any type with a reference copy in double, and a check that says what failed.
 * The references are plain loops over that copy; nothing here calls a library. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_LIBS_CHECK_H
#define AW_TEST_LIBS_CHECK_H

#include <complex.h>
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

typedef double _Complex cplx;

static inline size_t size_of(char t) { return t == 's' ? 4 : t == 'z' ? 16 : 8; }
static inline int is_complex(char t) { return t == 'c' || t == 'z'; }
static inline char real_of(char t) { return t == 'c' ? 's' : t == 'z' ? 'd' : t; }
static inline char upper(char t) { return (char)(t - 32); }

static inline cplx get(char t, const void *p, long i)
{
    switch (t) {
    case 's': return ((const float *)p)[i];
    case 'd': return ((const double *)p)[i];
    case 'c': return ((const float _Complex *)p)[i];
    default: return ((const cplx *)p)[i];
    }
}

static inline void put(char t, void *p, long i, cplx v)
{
    switch (t) {
    case 's': ((float *)p)[i] = (float)creal(v); break;
    case 'd': ((double *)p)[i] = creal(v); break;
    case 'c': ((float _Complex *)p)[i] = (float _Complex)v; break;
    default: ((cplx *)p)[i] = v; break;
    }
}

/* A small number of which sums are exact enough in float. */
static inline double any(void)
{
    static unsigned state = 12345;
    state = state * 1664525u + 1013904223u;
    return (double)((int)(state >> 20) % 65 - 32) / 16;
}

static inline cplx any_of(char t)
{
    double re = any();
    return is_complex(t) ? CMPLX(re, any()) : re;
}

/* `n` elements on the device, and what they should be. */
struct array {
    char t;
    long n;
    void *device, *host;
    cplx *want;
};

static inline void array_put(struct array *a)
{
    cudaMemcpy(a->device, a->host, (size_t)a->n * size_of(a->t), 1);
}

static inline struct array array_make(char t, long n)
{
    struct array a = { t, n > 0 ? n : 1, NULL, NULL, NULL };
    cudaMalloc(&a.device, (size_t)a.n * size_of(t));
    a.host = malloc((size_t)a.n * size_of(t));
    a.want = malloc((size_t)a.n * sizeof *a.want);
    for (long i = 0; i < a.n; i++) {
        a.want[i] = any_of(t);
        put(t, a.host, i, a.want[i]);
    }
    array_put(&a);
    return a;
}

static inline void array_drop(struct array *a)
{
    cudaFree(a->device);
    free(a->host);
    free(a->want);
}

/* Compares every element, those between rows too, and frees. */
static inline int array_end(struct array *a, const char *what)
{
    double tolerance = real_of(a->t) == 's' ? 1e-4 : 1e-11;
    int good = 1;
    cudaMemcpy(a->host, a->device, (size_t)a->n * size_of(a->t), 2);
    for (long i = 0; i < a->n && good; i++) {
        cplx got = get(a->t, a->host, i);
        double scale = 1 + cabs(a->want[i]);
        good = check(cabs(got - a->want[i]) <= tolerance * scale, "%s: [%ld] is %g%+gi, not %g%+gi", what, i, creal(got),
                     cimag(got), creal(a->want[i]), cimag(a->want[i]));
    }
    array_drop(a);
    return good;
}

/* Where element i of a vector of n lies. */
static inline long at(long n, long inc, long i) { return inc >= 0 ? i * inc : (1 - n + i) * inc; }

#endif
