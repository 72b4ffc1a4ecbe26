/* Plans of cuFFT: what a transform reads and writes, and who computes it. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUFFT_PLAN_H
#define AW_LIBS_CUFFT_PLAN_H

#include <stdbool.h>

#include "common/queue.h"
#include "cufft_types.h"

enum aw_fft_kind { AW_FFT_C2C, AW_FFT_R2C, AW_FFT_C2R };
enum { AW_FFT_RANKS = 3, AW_FFT_FORMS = 4 };

/* Elements of one side in memory: `dims` of them along each axis, `step` apart; `dist` from transform to transform. */
struct aw_fft_layout {
    int64_t dims[AW_FFT_RANKS], step[AW_FFT_RANKS], dist;
};

/* One side as the program told it. */
struct aw_fft_side {
    cudaDataType type;
    int64_t embed[AW_FFT_RANKS], stride, dist;
};

/* A transform.  Does not change once made, but for the processor's and AMD's plans, which are made at need.  Counted, as work
 * that is queued or in a graph outlives the program's plan. */
struct aw_fft_shape {
    int refs;
    enum aw_fft_kind kind;
    bool precise; /* in double */
    bool basic; /* one transform behind the other, without gaps; in place, rows of reals are padded to those of complex numbers */
    int rank;
    int64_t n[AW_FFT_RANKS], batch;
    struct aw_fft_side in, out;
    void
        *fftw[2][AW_FFT_FORMS][2]; /* by direction, form (fftw.c) and whether it is for any alignment; under the planner's lock */
    void *amd;                     /* hipFFT's plan; under its lock */
};

struct aw_fft_plan {
    struct aw_lib_queue queue;
    struct aw_fft_shape *shape; /* NULL until it is made */
    bool automatic;             /* a work area would be allocated; kept, as none is needed */
    void *work;
    int64_t property[2];
};

/* The plan of a handle, or NULL.  Thread-safe against creation and the end of others. */
struct aw_fft_plan *aw_fft_plan_find(cufftHandle handle);
/* What is where, for a transform in place or from one memory to another. */
void aw_fft_layouts(const struct aw_fft_shape *shape, bool in_place, struct aw_fft_layout *ret_in, struct aw_fft_layout *ret_out);
/* Bytes of one element of a side. */
size_t aw_fft_element(cudaDataType type);
/* From the first byte to behind the last one of all transforms. */
size_t aw_fft_extent(const struct aw_fft_layout *layout, int rank, int64_t batch, size_t element);

struct aw_fft_shape *aw_fft_shape_ref(struct aw_fft_shape *shape);
void aw_fft_shape_unref(struct aw_fft_shape *shape);

/* Checks and gives the transform to the plan's queue. */
cufftResult aw_fft_exec(const struct aw_fft_plan *plan, void *in, void *out, int direction);

#endif
