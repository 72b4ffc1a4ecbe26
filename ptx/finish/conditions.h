/* What the end of a loop depends on: which values its conditions are made of, and which of these stay the same each time
 * round. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_CONDITIONS_H
#define AW_PTX_FINISH_CONDITIONS_H

#include "finish/flow.h"

enum { PTX_CONDITIONS_MAX = 400 };

/* Instructions of the loop, each once.  What is beyond so many is not seen. */
struct conditions {
    LLVMValueRef at[PTX_CONDITIONS_MAX];
    unsigned n;
};

enum ptx_conditions_of {
    PTX_CONDITIONS_BRANCHES = 1, /* the conditions of the branches on which it hangs what a phi becomes, too */
    PTX_CONDITIONS_FOUND = 2     /* of a compare-and-swap what it finds in memory, which is the same whatever it is given */
};

/* All that the conditions of the ways out of the loop are made of within it; `body`: its blocks, f->n of them.  `of`: a set of
 * enum ptx_conditions_of. */
void ptx_conditions(const struct flow *f, const bool *body, unsigned of, struct conditions *ret);

/* Is the value the same each time round, or one of several that are, as a phi is: made outside, or computed from that alone?  In
 * unoptimised code also a variable of the lane's own, and what a function says of such. */
bool ptx_conditions_invariant(const struct flow *f, const bool *body, LLVMValueRef v);

/* Is it an address in memory of that kind, or made from one?  Unoptimised code makes them generic. */
bool ptx_conditions_space(LLVMValueRef v, unsigned space);

#endif
