/* Contractions: D = alpha opA(A) opB(B) + beta C, summed over what D lacks. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUTENSOR_CONTRACT_H
#define AW_LIBS_CUTENSOR_CONTRACT_H

#include "tensor.h"

struct aw_contract {
    char calc;
    const struct aw_operand *a, *b, *c; /* borrowed; D is as C, of which every mode is one of A or B */
    double _Complex alpha, beta;        /* A and B, or C, are not read where it is 0 */
};

/* For jobs; C and D may be the same memory.  False: memory is out. */
bool aw_contract_run(const struct aw_contract *x, const void *a, const void *b, const void *c, void *d);

/* E = alpha opA(A) opB(B) opC(C) + beta D, by two contractions, of which the first one's result is in the type that is calculated
 * in.  `x` says what is calculated and the output, in[] and at[] the three factors; c and d are what is added, and the output. */
bool aw_contract_three(const struct aw_contract *x, const struct aw_operand *const in[3], const void *const at[3], const void *c,
                       void *d);
/* Has the first contraction few enough modes for that? */
bool aw_contract_three_fits(const struct aw_operand *const in[3], const struct aw_operand *out);

#endif
