/* FFTW, opened at run time: the processor's transforms.  Plans are made without measuring, which takes microseconds to
 * milliseconds, and without wisdom of the system's or of other plans. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUFFT_FFTW_H
#define AW_LIBS_CUFFT_FFTW_H

#include "plan.h"

/* Is it there?  What to install has been said once where not.  Thread-safe. */
bool aw_fftw_open(void);

/* Of how the transform finds its memory, and its plan is kept:
 * as the program's layout, from one memory to another or in place; input gathered without gaps; both so. */
enum aw_fftw_form { AW_FFTW_APART, AW_FFTW_IN_PLACE, AW_FFTW_GATHERED, AW_FFTW_COMPACT };

/* Transforms `shape`'s batch in its precision.  False: FFTW has no plan for it, and nothing was done.  Input of AW_FFT_C2R may
 * be lost. Thread-safe. */
bool aw_fftw_run(struct aw_fft_shape *shape, enum aw_fftw_form form, const struct aw_fft_layout *in,
                 const struct aw_fft_layout *out, int direction, void *from, void *to);
/* The shape ends. */
void aw_fftw_drop(struct aw_fft_shape *shape);

#endif
