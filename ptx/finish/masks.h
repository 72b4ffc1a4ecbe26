/* Which operations of a warp the lanes of one member mask may come to at different places: masks.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_MASKS_H
#define AW_PTX_FINISH_MASKS_H

#include "finish/flow.h"

/* Has any operation in the kernel's module a mask?  If not, ptx_masks_apart need not be asked. */
bool ptx_masks_any(LLVMModuleRef module);

/* ret[i]: block i has an operation that belongs together with one in another block, or in a later round of a loop: lanes may
 * be at both at a time (PTX ISA, bar.warp.sync, shfl.sync and the others with a member mask, which wait for all of the mask's
 * lanes wherever they are).  Calls of functions with such operations count as these.  `f`: with PTX_FLOW_WAITS, PTX_FLOW_WARP
 * and PTX_FLOW_STEP.  `ret` has f->n elements, cleared.  *ret_any: there are some.  *ret_sided: an operation is on a side of a
 * branch where lanes part, and so may belong together with others that are not in this function.  False when memory is out. */
bool ptx_masks_apart(struct flow *f, bool *ret, bool *ret_any, bool *ret_sided);

#endif
