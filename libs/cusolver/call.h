/* A call of cuSOLVER as work of a stream: its numbers, the memory it names, and the way to LAPACK. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUSOLVER_CALL_H
#define AW_LIBS_CUSOLVER_CALL_H

#include <stdbool.h>

#include "common/blas.h"
#include "common/queue.h"
#include "cusolver_types.h"

struct cusolverDnContext {
    uint32_t magic;
    struct aw_lib_queue queue;
    cusolverDeterministicMode_t deterministic;
    cusolverMathMode_t math;
    void *amd; /* rocBLAS's handle, made at the first call, or NULL; under its lock */
};

/* A live handle?  CUSOLVER_STATUS_NOT_INITIALIZED for NULL and what is none. */
cusolverStatus_t aw_solver_handle_check(cusolverDnHandle_t handle);
cusolverStatus_t aw_solver_status(CUresult result);

enum { AW_SOLVER_NUMBERS = 12, AW_SOLVER_ARRAYS = 8 };
enum { AW_SOLVER_IN = AW_LIB_IN, AW_SOLVER_OUT = AW_LIB_OUT, AW_SOLVER_IN_OUT = AW_LIB_IN | AW_LIB_OUT };

/* While it runs, `a` is where the host finds the memory; what was not named is NULL. */
struct aw_solver_call {
    struct aw_lib_job job;
    void (*run)(struct aw_solver_call *c);
    const char *name;
    char t;                        /* s, d, c or z */
    int64_t n[AW_SOLVER_NUMBERS];  /* the function's own */
    int8_t span[AW_SOLVER_ARRAYS]; /* -1: none */
    void *a[AW_SOLVER_ARRAYS];
    double bounds[2];
    void *host;    /* what a call that waits writes to */
    int64_t batch; /* items, at least 1 */
};

/* Begins a call with a checked handle of LAPACK's function `needs` (as for aw_lapack;  NULL: of none);
 * CUSOLVER_STATUS_NOT_SUPPORTED where there is none. */
cusolverStatus_t aw_solver_begin(struct aw_solver_call *c, const char *name, char t, const char *needs,
                                 void (*run)(struct aw_solver_call *c));
/* Names memory: a matrix by columns; `count` values of `size` bytes, NULL where there is none. Items of a batch are `stride`
 * values apart. */
void aw_solver_matrix(struct aw_solver_call *c, int k, const void *at, int64_t rows, int64_t cols, int64_t ld, int64_t stride,
                      unsigned dir);
void aw_solver_array(struct aw_solver_call *c, int k, const void *at, int64_t count, size_t size, int64_t stride, unsigned dir);
/* Gives it to the handle's stream.  `waits`: until it has run. */
cusolverStatus_t aw_solver_submit(struct aw_solver_call *c, cusolverDnHandle_t handle, bool waits);

/* ---- While it runs. */

static inline bool aw_solver_complex(char t)
{
    return t == 'c' || t == 'z';
}
/* Bytes of a real number of the type's kind. */
static inline size_t aw_solver_real_size(char t)
{
    return t == 's' || t == 'c' ? 4 : 8;
}
/* Address of value `i`. */
static inline void *aw_solver_at(const struct aw_solver_call *c, void *base, int64_t i)
{
    return (char *)base + i * (int64_t)aw_lapack_size(c->t);
}
/* Value `i`; its real part; a real number. */
double _Complex aw_solver_value(char t, const void *at, int64_t i);
double aw_solver_real(char t, const void *at, int64_t i);
double aw_solver_real_of(char real_t, const void *at, int64_t i);

/* `n` values of `size` bytes; NULL: memory is out, which is logged. */
void *aw_solver_work(const struct aw_solver_call *c, int64_t n, size_t size);
/* What an answer to a query for a workspace says: its first value. */
int aw_solver_query(char t, const void *work);
/* In devInfo where memory was out: no argument has this number. */
enum { AW_SOLVER_NO_MEMORY = -1000 };

/* Calls f(..., work, lwork, info) with as much as it likes. */
#define AW_WITH_WORK(c, f, info, ...)                                      \
    do {                                                                   \
        double query_[2] = { 0 };                                          \
        int lwork_ = -1;                                                   \
        (f)(__VA_ARGS__, (void *)query_, &lwork_, &(info), AW_ENDS);       \
        lwork_ = aw_solver_query((c)->t, query_);                          \
        void *work_ = aw_solver_work((c), lwork_, aw_lapack_size((c)->t)); \
        if (work_)                                                         \
            (f)(__VA_ARGS__, work_, &lwork_, &(info), AW_ENDS);            \
        else                                                               \
            (info) = AW_SOLVER_NO_MEMORY;                                  \
        free(work_);                                                       \
    } while (0)

/* ---- Arguments. */

/* Is an integer of LAPACK's, of 32 bits, at least `least`? */
static inline bool aw_solver_fits(int64_t n, int64_t least)
{
    return n >= least && n <= 0x7fffffff;
}
static inline bool aw_solver_uplo(cublasFillMode_t uplo)
{
    return (unsigned)uplo <= CUBLAS_FILL_MODE_UPPER;
}
static inline bool aw_solver_mode(cusolverEigMode_t mode)
{
    return (unsigned)mode <= CUSOLVER_EIG_MODE_VECTOR;
}
/* A leading dimension for so many rows. */
static inline bool aw_solver_ld(int64_t ld, int64_t rows)
{
    return aw_solver_fits(ld, rows > 1 ? rows : 1);
}
/* The answer to a query for a workspace: none is used, but programs give what they are told as an address that must not be
 * NULL.  Leading dimensions are not looked at in queries: CuPy 14 asks with others than it computes with. */
cusolverStatus_t aw_solver_lwork(cusolverDnHandle_t handle, bool valid, int *lwork);

/* Defines a function for each type: M(LETTER, letter, type, its real type). */
#define AW_FOUR(M)              \
    M(S, 's', float, float)     \
    M(D, 'd', double, double)   \
    M(C, 'c', cuComplex, float) \
    M(Z, 'z', cuDoubleComplex, double)

#endif
