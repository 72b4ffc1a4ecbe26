/* AMD's hipBLASLt, where the device is a card and the library is there: opened with dlopen. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_LT_AMD_H
#define AW_LIBS_CUBLAS_LT_AMD_H

#include "product.h"

/* Forwards a checked product whose addresses are set.  False: not by this way (no hipBLASLt, it has no kernel for this, or the
 * stream captures); then nothing was done, and what to install has been said once.  Thread-safe. */
bool aw_amd_product(const struct aw_product *p, const struct aw_lib_queue *queue, cublasStatus_t *ret_status);

#endif
