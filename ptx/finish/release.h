/* Whether lanes that wait in a loop may do so for lanes of their own wave (wait.c): for what those could do before they have to
 * wait for the former. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_RELEASE_H
#define AW_PTX_FINISH_RELEASE_H

#include "finish/flow.h"

/* `f`: with PTX_FLOW_WAITS.  known[]: headers of loops behind which lanes are apart.  body[]: the loop's blocks.  True, too, when
 * memory is out: that costs time alone. */
bool ptx_release_possible(struct flow *f, const bool *known, const bool *body);

/* The offset of the one kernel argument that an address is made from, or -1. */
int64_t ptx_release_argument(LLVMValueRef address);
/* Is it the same address for one thread, made by sums and products from its indices: as a rule of no two threads? */
bool ptx_release_own(LLVMValueRef a, LLVMValueRef b);

/* ends.c: ret[i]: lanes that come to block i come to no barrier any more, and access what others do behind one.  `f`: its blocks'
 * `coming` says so of barriers alone.  `ret` has f->n elements, cleared.  False when memory is out. */
bool ptx_ends_disputed(struct flow *f, bool *ret);

#endif
