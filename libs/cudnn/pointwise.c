/* Pointwise operations in rows: see pointwise.h; pointwise.def has the operations. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "pointwise.h"

#include <math.h>
#include <stdlib.h>

#define REAL float
#define F(name) name##f
#define NAME(name) name##_f
#define load_f aw_dnn_load_f
#define store_f aw_dnn_store_f
#include "pointwise.inc"
#undef REAL
#undef F
#undef NAME

#define REAL double
#define F(name) name
#define NAME(name) name##_d
#define load_d aw_dnn_load_d
#define store_d aw_dnn_store_d
#include "pointwise.inc"
#undef REAL
#undef F
#undef NAME

struct aw_dnn_pointwise aw_dnn_pointwise_init(int mode)
{
    return (struct aw_dnn_pointwise){ .mode = mode,
                                      .axis = -1,
                                      .alpha1 = 1,
                                      .alpha2 = 1,
                                      .scale = 1,
                                      .upper = HUGE_VAL,
                                      .elu_alpha = 1,
                                      .softplus_beta = 1,
                                      .swish_beta = 1 };
}

int aw_dnn_pointwise_operands(int mode)
{
    switch (mode) {
#define POINTWISE(name, number, operands, expression) \
    case number:                                      \
        return operands;
#include "pointwise.def"
#undef POINTWISE
    default: return 0;
    }
}

int aw_dnn_pointwise(const void *params, const struct aw_dnn_view *v)
{
    const struct aw_dnn_pointwise *op = params;
    int operands = aw_dnn_pointwise_operands(op->mode);
    const struct aw_dnn_view *views[4];
    struct aw_dnn_view index = { .s = { .type = CUDNN_DATA_DOUBLE, .n = v[0].s.n } };
    double *numbers = NULL;
    bool wide = false;
    for (int k = 0; k <= operands; k++) {
        views[k] = &v[k];
        wide |= aw_dnn_type_wide(v[k].s.type);
    }
    if (op->mode == AW_DNN_GEN_INDEX) {
        int64_t n = v[0].s.dim[op->axis];
        numbers = malloc((size_t)(n ? n : 1) * sizeof *numbers);
        if (!numbers)
            return 1;
        for (int64_t i = 0; i < n; i++)
            numbers[i] = (double)i;
        for (int d = 0; d < index.s.n; d++) {
            index.s.dim[d] = d == op->axis ? n : 1;
            index.s.stride[d] = 1;
        }
        index.at = numbers;
        views[1] = &index;
        wide = true;
    }
    if (wide)
        rows_d(op, views, operands);
    else
        rows_f(op, views, operands);
    free(numbers);
    return 0;
}
