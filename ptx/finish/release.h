/* Whether lanes that wait in a loop may do so for lanes of their own wave (wait.c): for what those could do before they have to wait
 * for the former. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_PTX_FINISH_RELEASE_H
#define AW_PTX_FINISH_RELEASE_H

#include "finish/flow.h"

/* `f`: with PTX_FLOW_WAITS.  known[]: headers of loops behind which lanes are apart.  body[]: the loop's blocks.  True, too, when memory
 * is out: that costs time alone. */
bool ptx_release_possible(struct flow *f, const bool *known, const bool *body);

#endif
