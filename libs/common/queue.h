/* The way to the device: what a library does on the CPU, as work of a stream.
 *
 * A job is a function and the memory that it reads and writes.  Where device memory is the host's own (the host device) it works
 * there, called by the stream or, when the stream is idle and the job small, at once by the caller, as work that holds its place
 * in the stream.  On a card the memory is copied to the host and what was written is copied back, all in the stream's order.
 * While the stream captures, the same becomes nodes of the graph. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_COMMON_QUEUE_H
#define AW_LIBS_COMMON_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/driver.h"

enum aw_lib_place { AW_LIB_HOST, AW_LIB_CARD };

/* A context and one of its streams.  Zero-initialise, then aw_lib_queue_init. */
struct aw_lib_queue {
    CUcontext ctx;
    CUstream stream; /* CUDA's special handles included */
    enum aw_lib_place place;
};

/* Takes the thread's context; where it has none, makes device 0's primary one current, as the runtime does. */
CUresult aw_lib_queue_init(struct aw_lib_queue *queue);
/* Makes the queue's context current where the thread has none; for calls that need one. */
CUresult aw_lib_queue_enter(const struct aw_lib_queue *queue);
/* Waits for all work of the queue's device, in every stream; for ends of handles, which NVIDIA documents to call
 * cudaDeviceSynchronize.  Where that is refused nothing is waited for; a stream's capture ends by it, as by any such call. */
void aw_lib_queue_settle(const struct aw_lib_queue *queue);

enum { AW_LIB_IN = 1, AW_LIB_OUT = 2 };

/* Memory of the program: `count` items of `rows` rows of `width` bytes. */
struct aw_lib_span {
    void *at;         /* as the program knows it; while the job runs, where the host finds it */
    size_t width, rows;
    size_t pitch;     /* bytes from row to row */
    size_t count;
    size_t stride;    /* bytes from item to item */
    unsigned dir;     /* AW_LIB_IN, _OUT or both; what is only written may have any contents before */
};

enum { AW_LIB_SPANS = 32 };

/* What is common to all jobs; a library's own begin with it.  A job holds no address of itself: it may be copied. */
struct aw_lib_job {
    void (*run)(struct aw_lib_job *job); /* calls no function of CUDA */
    void (*forget)(struct aw_lib_job *job); /* frees what the job owns beside itself, once it will not run (again); may be NULL */
    uint32_t size;  /* bytes, of the whole job */
    int status;     /* set by run, 0: fine; of a kind that is the library's own */
    uint8_t n_spans;
    struct aw_lib_span spans[AW_LIB_SPANS];
};

enum aw_lib_when {
    AW_LIB_QUEUED, /* in the stream's order; takes long */
    AW_LIB_SMALL,  /* the same, but would rather be done here than cost a change of threads */
    AW_LIB_DONE,   /* the caller wants the result: done when the call returns, for which the stream must not capture */
};

/* Gives `job`, which is borrowed until the return, to the queue; what it owns is taken over even when this fails.  *ret_status is
 * the job's where it ran before the return, else 0. */
CUresult aw_lib_submit(const struct aw_lib_queue *queue, struct aw_lib_job *job, enum aw_lib_when when, int *ret_status);

/* Reads `size` bytes of the program's memory at `from` in the stream's order, and waits for it. */
CUresult aw_lib_read(const struct aw_lib_queue *queue, void *ret_to, const void *from, size_t size);

#endif
