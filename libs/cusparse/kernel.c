/* The loops of kernel_body.h for five types of values and two of indices. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static bool built_init(struct aw_sparse_built *b, int64_t rows)
{
    *b = (struct aw_sparse_built){ .ptr = calloc((size_t)rows + 1, sizeof(int64_t)) };
    return b->ptr != NULL;
}

/* Room for `more` elements of `size` bytes; twice as much as before, so that all together cost what the last does. */
static bool built_reserve(struct aw_sparse_built *b, int64_t more, size_t size)
{
    if (b->nnz + more <= b->room && b->ind)
        return true;
    int64_t room = b->nnz + more > 2 * b->room ? b->nnz + more : 2 * b->room;
    /* What does not fit into half of the machine is refused here: the kernel would rather end the program than the allocation. */
    if ((double)room * (double)(size + sizeof *b->ind) > (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 2)
        return false;
    int64_t *ind = realloc(b->ind, (size_t)(room ? room : 1) * sizeof *ind);
    if (ind)
        b->ind = ind;
    void *val = realloc(b->val, (size_t)(room ? room : 1) * size);
    if (val)
        b->val = val;
    if (!ind || !val)
        return false;
    b->room = room;
    return true;
}

void aw_sparse_built_free(struct aw_sparse_built *b)
{
    free(b->ptr);
    free(b->ind);
    free(b->val);
    *b = (struct aw_sparse_built){ 0 };
}

typedef float _Complex float_complex;
typedef double _Complex double_complex;

#define JOIN_(a, b, c) a##_##b##_##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define NAME(what) JOIN(what, T, I)
#define INTEGER 0
#define MAGNITUDE(x) fabs((double)(x))
#define ROOT(x) sqrt(x)
#define CONJ(x) (x)
#define T float
#undef I /* complex.h has one */
#define I int32_t
#include "kernel_body.h"
#undef I
#define I int64_t
#include "kernel_body.h"
#undef T
#define T double
#include "kernel_body.h"
#undef I
#define I int32_t
#include "kernel_body.h"
#undef CONJ
#define CONJ(x) conjf(x)
#undef MAGNITUDE
#define MAGNITUDE(x) cabs(x)
#undef ROOT
#define ROOT(x) sqrt(creal(x))
#undef T
#define T float_complex
#include "kernel_body.h"
#undef I
#define I int64_t
#include "kernel_body.h"
#undef CONJ
#define CONJ(x) conj(x)
#undef T
#define T double_complex
#include "kernel_body.h"
#undef I
#define I int32_t
#include "kernel_body.h"
#undef CONJ
#define CONJ(x) (x)
#undef MAGNITUDE
#define MAGNITUDE(x) fabs((double)(x))
#undef INTEGER
#define INTEGER 1 /* which no system is solved in */
#undef T
#define T int32_t
#include "kernel_body.h"
#undef I
#define I int64_t
#include "kernel_body.h"

const struct aw_sparse_kernels *aw_sparse_kernels(char type, bool wide)
{
    switch (type) {
    case 's': return wide ? &kernels_float_int64_t : &kernels_float_int32_t;
    case 'd': return wide ? &kernels_double_int64_t : &kernels_double_int32_t;
    case 'c': return wide ? &kernels_float_complex_int64_t : &kernels_float_complex_int32_t;
    case 'z': return wide ? &kernels_double_complex_int64_t : &kernels_double_complex_int32_t;
    default: return wide ? &kernels_int32_t_int64_t : &kernels_int32_t_int32_t;
    }
}
