/* Arithmetic on NCCL's types: see reduce.h.  Types of less than 32 bits are computed with in float and rounded after each step
 * (common/floats.h). */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce.h"

#include <math.h>

#include "common/floats.h"

size_t aw_nccl_element(ncclDataType_t type)
{
    static const unsigned char sizes[] = {
        [ncclInt8] = 1, [ncclUint8] = 1, [ncclInt32] = 4, [ncclUint32] = 4, [ncclInt64] = 8, [ncclUint64] = 8, [ncclFloat16] = 2,
        [ncclFloat32] = 4, [ncclFloat64] = 8, [ncclBfloat16] = 2, [ncclFloat8e4m3] = 1, [ncclFloat8e5m2] = 1,
    };
    return (unsigned)type < sizeof sizes ? sizes[type] : 0;
}

/* ---- Reductions. */

#define SAME(x) (x)
/* C, what is stored; W, what is computed in. */
#define REDUCTIONS(name, C, W, get, put, largest, smallest)                        \
    static void name##_reduce(ncclRedOp_t op, C *c, const C *a, const C *b, size_t n) \
    {                                                                              \
        switch (op) {                                                              \
        case ncclSum: for (size_t i = 0; i < n; i++) c[i] = (C)put((W)(get(a[i]) + get(b[i]))); break; \
        case ncclProd: for (size_t i = 0; i < n; i++) c[i] = (C)put((W)(get(a[i]) * get(b[i]))); break; \
        case ncclMax: for (size_t i = 0; i < n; i++) c[i] = (C)put((W)largest(get(a[i]), get(b[i]))); break; \
        default: for (size_t i = 0; i < n; i++) c[i] = (C)put((W)smallest(get(a[i]), get(b[i]))); break; \
        }                                                                          \
    }                                                                              \
    static void name##_scale(C *data, const C *in, size_t count, const C *scalar, int n) \
    {                                                                              \
        for (size_t i = 0; i < count; i++)                                         \
            data[i] = (C)put((W)(scalar ? get(in[i]) * get(*scalar) : get(in[i]) / (W)n)); \
    }
#define MORE(a, b) ((a) > (b) ? (a) : (b))
#define LESS(a, b) ((a) < (b) ? (a) : (b))

/* Signed ones wrap as on a GPU: computed in unsigned, save for the comparison and the quotient. */
REDUCTIONS(u8, uint8_t, uint32_t, SAME, SAME, MORE, LESS)
REDUCTIONS(u32, uint32_t, uint32_t, SAME, SAME, MORE, LESS)
REDUCTIONS(u64, uint64_t, uint64_t, SAME, SAME, MORE, LESS)
REDUCTIONS(i8, int8_t, int32_t, SAME, SAME, MORE, LESS)
REDUCTIONS(i32, int32_t, int64_t, (int64_t)SAME, SAME, MORE, LESS)
REDUCTIONS(i64, int64_t, __int128, (__int128)SAME, SAME, MORE, LESS)
REDUCTIONS(f16, uint16_t, float, aw_f16_get, aw_f16_put, fmaxf, fminf)
REDUCTIONS(bf16, uint16_t, float, aw_bf16_get, aw_bf16_put, fmaxf, fminf)
REDUCTIONS(e4m3, uint8_t, float, aw_e4m3_get, aw_e4m3_put, fmaxf, fminf)
REDUCTIONS(e5m2, uint8_t, float, aw_e5m2_get, aw_e5m2_put, fmaxf, fminf)
REDUCTIONS(f32, float, float, SAME, SAME, fmaxf, fminf)
REDUCTIONS(f64, double, double, SAME, SAME, fmax, fmin)

#define TYPES(X)                                                                                                   \
    X(ncclInt8, i8)                                                                                                \
    X(ncclUint8, u8) X(ncclInt32, i32) X(ncclUint32, u32) X(ncclInt64, i64) X(ncclUint64, u64) X(ncclFloat16, f16) \
        X(ncclFloat32, f32) X(ncclFloat64, f64) X(ncclBfloat16, bf16) X(ncclFloat8e4m3, e4m3) X(ncclFloat8e5m2, e5m2)

void aw_nccl_reduce(void *user, void *c, const void *a, const void *b, size_t n)
{
    const struct aw_nccl_reduction *r = user;
    switch (r->type) {
#define REDUCE(type, name) case type: name##_reduce(r->op, c, a, b, n); break;
        TYPES(REDUCE)
    }
}

void aw_nccl_scale(ncclDataType_t type, void *data, const void *in, size_t count, const void *scalar, int n)
{
    switch (type) {
#define SCALE(type, name) case type: name##_scale(data, in, count, scalar, n); break;
        TYPES(SCALE)
    }
}
