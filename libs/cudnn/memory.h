/* Memory that a running job needs for a short time.  What is given back is kept for the next, as fresh pages cost more than
 * small convolutions. Thread-safe; calls nothing of CUDA. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_MEMORY_H
#define AW_LIBS_CUDNN_MEMORY_H

#include <stddef.h>

/* At least `size` bytes of any contents, aligned to 64.  NULL: memory is out. */
void *aw_dnn_take(size_t size);
/* NULL is taken. */
void aw_dnn_give(void *memory);

#endif
