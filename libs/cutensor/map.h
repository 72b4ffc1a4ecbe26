/* Elementwise operations over tensors with strides: D = op_abc(op_ab(alpha opA(A), beta opB(B)), gamma opC(C)).
 *
 * What is not there of A, B and C is left out with its operator; a mode that an input lacks is broadcast.  An input whose scalar
 * is 0 is not read and is 0.  Modes that lie behind one another in all tensors become one; tensors with different orders are gone
 * through in tiles; large ones are cut for the device's threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_MAP_H
#define AW_LIBS_CUTENSOR_MAP_H

#include "calc.h"
#include "tensor.h"

enum { AW_MAP_D, AW_MAP_A, AW_MAP_B, AW_MAP_C, AW_MAP_TENSORS };

struct aw_map {
    const struct aw_calc *calc;
    int op_ab, op_abc;
    struct aw_map_tensor {
        bool there;
        cudaDataType type;
        size_t size; /* bytes of an element */
        int op;
        char *at;
        double _Complex scale;
    } x[AW_MAP_TENSORS];
    uint32_t n;
    struct aw_map_loop {
        int64_t extent, stride[AW_MAP_TENSORS]; /* elements */
        int32_t mode;
    } loop[AW_TENSOR_MODES];
};

/* D's modes become the loops.  `at` and what the inputs name is borrowed until the run. */
void aw_map_init(struct aw_map *map, char calc, const struct aw_operand *d, void *at);
/* All modes of `x` are modes of D. */
void aw_map_input(struct aw_map *map, int which, const struct aw_operand *x, const void *at, double _Complex scale);
/* One value for all of D, of D's type. */
void aw_map_value(struct aw_map *map, const void *value);
/* For jobs.  The map is used up. */
void aw_map_run(struct aw_map *map);

#endif
