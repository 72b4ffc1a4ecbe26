/* AMD's hipFFT, where the device is a card and the library is there: opened with dlopen. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUFFT_AMD_H
#define AW_LIBS_CUFFT_AMD_H

#include "plan.h"

/* Forwards a checked transform.  False: not by this way (no hipFFT, it has no such plan, or the stream captures); then nothing
 * was done, and what to install has been said once. */
bool aw_amd_fft_exec(const struct aw_fft_plan *plan, void *in, void *out, int direction, cufftResult *ret_result);
/* The shape ends. */
void aw_amd_fft_drop(struct aw_fft_shape *shape);

#endif
