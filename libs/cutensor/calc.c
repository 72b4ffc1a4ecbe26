/* Runs of numbers: see calc.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "calc.h"

#include <math.h>
#include <tgmath.h>

#include "common/convert.h"
#include "common/vectorised.h"

enum { LANES = 8 };
#define ADD(x, y) ((x) + (y))
/* A NaN stays one. */
#define MAX(x, y) ((x) > (y) || (x) != (x) ? (x) : (y))
#define MIN(x, y) ((x) < (y) || (x) != (x) ? (x) : (y))

/* Types of 16 bits go through a run of float. */
static void halves_load(cudaDataType type, const void *at, int64_t stride, int64_t n, float *x)
{
    uint16_t few[AW_CALC_RUN];
    const uint16_t *from = at;
    if (stride == 1) {
        aw_type_to_float(type, from, n, x);
        return;
    }
    few[0] = 0; /* for the compiler: n may be 0 */
    for (int64_t i = 0; i < n; i++)
        few[i] = from[i * stride];
    aw_type_to_float(type, few, n, x);
}

static void halves_store(cudaDataType type, void *at, int64_t stride, int64_t n, const float *x)
{
    uint16_t few[AW_CALC_RUN], *to = at;
    aw_type_from_float(type, x, n, stride == 1 ? (void *)to : few);
    for (int64_t i = 0; i < n && stride != 1; i++)
        to[i * stride] = few[i];
}

/* Products as CUDA has them: without a second look at infinities. */
static inline float _Complex multiply_c(float _Complex x, float _Complex y)
{
    return CMPLXF(crealf(x) * crealf(y) - cimagf(x) * cimagf(y), crealf(x) * cimagf(y) + cimagf(x) * crealf(y));
}

static inline double _Complex multiply_z(double _Complex x, double _Complex y)
{
    return CMPLX((creal)(x) * (creal)(y) - (cimag)(x) * (cimag)(y), (creal)(x) * (cimag)(y) + (cimag)(x) * (creal)(y));
}

#define T float
#define NAME(x) s_##x
#define COMPLEX 0
#define MUL(x, y) ((x) * (y))
#include "calc.inc"
#define T double
#define NAME(x) d_##x
#define COMPLEX 0
#define MUL(x, y) ((x) * (y))
#include "calc.inc"
#define T float _Complex
#define NAME(x) c_##x
#define COMPLEX 1
#define MUL(x, y) multiply_c(x, y)
#include "calc.inc"
#define T double _Complex
#define NAME(x) z_##x
#define COMPLEX 1
#define MUL(x, y) multiply_z(x, y)
#include "calc.inc"

const struct aw_calc *aw_calc_find(char calc)
{
#define OF(x, type, size)                                                                                        \
    {                                                                                                            \
        type, size, x##_load, x##_store, x##_unary, x##_scale, x##_fill, x##_combine, x##_fold, x##_multiply_add \
    }
    static const struct aw_calc s = OF(s, CUDA_R_32F, 4), d = OF(d, CUDA_R_64F, 8), c = OF(c, CUDA_C_32F, 8),
                                z = OF(z, CUDA_C_64F, 16);
#undef OF
    return calc == 's' ? &s : calc == 'd' ? &d : calc == 'c' ? &c : &z;
}

bool aw_calc_is_unary(int op, bool of_complex)
{
    switch (op) {
#define AW_UNARY(name, real, complex) \
    case CUTENSOR_OP_##name: return true;
#define AW_UNARY_REAL(name, real) \
    case CUTENSOR_OP_##name: return !of_complex;
#include "operators.def"
    default: return false;
    }
}

bool aw_calc_is_binary(int op, bool of_complex)
{
    return op == CUTENSOR_OP_ADD || op == CUTENSOR_OP_MUL || (!of_complex && (op == CUTENSOR_OP_MAX || op == CUTENSOR_OP_MIN));
}

double aw_calc_neutral(int op)
{
    return op == CUTENSOR_OP_MUL ? 1 : op == CUTENSOR_OP_MAX ? -INFINITY : op == CUTENSOR_OP_MIN ? INFINITY : 0;
}
