/* Host memory that operands of cards are copied to: pinned, kept for the next that needs as much. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_STAGE_H
#define AW_LIBS_COMMON_STAGE_H

#include <stddef.h>

/* At least `size` bytes, aligned to 256; *ret_size is for aw_lib_stage_give.  NULL: memory is out.  Thread-safe; needs a current
 * context. */
void *aw_lib_stage_take(size_t size, size_t *ret_size);
/* May be called from a host function: calls nothing of CUDA. */
void aw_lib_stage_give(void *buffer, size_t size);

#endif
