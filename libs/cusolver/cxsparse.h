/* CXSparse 3 (SuiteSparse), opened with dlopen: its structures and functions, with 32-bit indices, and the way to it from other
 * types. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_CXSPARSE_H
#define AW_LIBS_CUSOLVER_CXSPARSE_H

#include <stdbool.h>
#include <stdint.h>

/* A matrix by columns, as CXSparse has it. */
struct cs {
    int nzmax, m, n;
    int *p, *i;
    void *x;
    int nz; /* -1 */
};
struct aw_cx_symbolic {
    int *pinv, *q, *parent, *cp, *leftmost, m2;
    double lnz, unz;
};
struct aw_cx_numeric {
    struct cs *l, *u;
    int *pinv;
    double *b;
};

/* All of one kind of number: double, or double complex. */
struct aw_cx {
    struct cs *(*transpose)(const struct cs *a, int values);
    struct aw_cx_symbolic *(*sqr)(int order, const struct cs *a, int qr);
    struct aw_cx_numeric *(*qr)(const struct cs *a, const struct aw_cx_symbolic *s);
    struct aw_cx_numeric *(*lu)(const struct cs *a, const struct aw_cx_symbolic *s, double tolerance);
    struct aw_cx_symbolic *(*schol)(int order, const struct cs *a);
    struct aw_cx_numeric *(*chol)(const struct cs *a, const struct aw_cx_symbolic *s);
    int (*ipvec)(const int *p, const void *b, void *x, int n);
    int (*pvec)(const int *p, const void *b, void *x, int n);
    int (*happly)(const struct cs *v, int i, double beta, void *x);
    int (*usolve)(const struct cs *u, void *x);
    int (*lsolve)(const struct cs *l, void *x);
    int (*ltsolve)(const struct cs *l, void *x);
    int *(*amd)(int order, const struct cs *a);
    int (*dupl)(struct cs *a); /* sums values at one place; 0: memory is out */
    struct cs *(*spfree)(struct cs *a);
    struct aw_cx_symbolic *(*sfree)(struct aw_cx_symbolic *s);
    struct aw_cx_numeric *(*nfree)(struct aw_cx_numeric *n);
};

/* The functions for `own` ('d' or 'z'); NULL, which is logged once, where CXSparse is not installed. */
const struct aw_cx *aw_cx_open(char own);

/* The type that CXSparse computes in for cuSOLVER's type `t`. */
char aw_cx_own(char t);
/* A number to place `i` of an array of type `t`. */
void aw_cx_put(char t, void *at, int64_t i, double _Complex v);
/* `n` values of type `t` in CXSparse's own, conjugated where asked for; to be freed; NULL: memory is out. */
void *aw_cx_values(char t, const void *from, int64_t n, bool conjugate);
/* Indices of a matrix that begin with `base`, from 0 on; to be freed; NULL: memory is out. */
int *aw_cx_indices(const int *from, int64_t n, int base);
/* Frees the arrays of a matrix that was put together here. */
void aw_cx_drop(struct cs *a);

#endif
