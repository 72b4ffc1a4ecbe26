/* Which operations of a warp the lanes of one member mask may come to at different places: masks.c. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_MASKS_H
#define AW_PTX_FINISH_MASKS_H

#include "finish/flow.h"

/* Are there two places in the kernel's module at which lanes of one mask could be?  If not, ptx_masks_apart need not be asked. */
bool ptx_masks_several(LLVMModuleRef module);

/* ret[i]: block i has an operation that belongs together with one in another block: lanes may be at both at a time (PTX
 * ISA, bar.warp.sync, shfl.sync and the others with a member mask, which wait for all of the mask's lanes wherever they
 * are).  Calls of functions with such operations count as these.  `f`: with PTX_FLOW_WAITS, PTX_FLOW_WARP and
 * PTX_FLOW_STEP.  `ret` has f->n elements, cleared.  *ret_any: there are some.  False when memory is out. */
bool ptx_masks_apart(struct flow *f, bool *ret, bool *ret_any);

#endif
