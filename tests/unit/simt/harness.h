/* Running SIMT IR in a test: through the host finisher, with a small host device, and lane by lane as a reference.
 *
 * The reference compiles the very same IR for one thread at a time, so it shares nothing with the vectoriser. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TEST_SIMT_HARNESS_H
#define AW_TEST_SIMT_HARNESS_H

#include "base/str.h"
#include <anywarp/hostabi.h>

struct built {
    void *handle;
    const struct aw_host_object *object;
};

/* Finishes `ir` (text of a module without target lines, one kernel "k") for `target`; NULL block = any shape.
 * False, with the reason in `diags`, when the finisher refuses. */
bool build_simt(const char *ir, const char *target, const uint32_t block[3], uint32_t static_shared, struct built *ret,
                struct aw_buf *diags);
void unload(struct built *b);
/* Emits something else than a code object; heap, NULL on failure. */
char *emit_simt(const char *ir, const char *target, int emit, struct aw_buf *diags);

/* Outcome of a launch. */
struct outcome {
    uint32_t status;       /* of trap or assert, else 0 */
    uint32_t yields, arrivals;
    uint64_t assert_threads; /* bit i: the assertion of thread i, or of i + 64 and so on, was told */
    uint32_t ctaid[3], warp; /* of the block and the warp that trapped, as the block says */
    char output[4096];     /* printf: format and first int of each call, "format:int;" */
};

/* Runs a grid on this thread: blocks in order, warps as contexts that switch at barriers. */
extern bool launch_by_warps; /* as a cooperative launch would be: no warp with another */
extern uint32_t *third_yield_sets; /* becomes 1 at a launch's third yield; may be NULL */
struct outcome launch(const struct built *b, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic_shared,
                      const void *kernarg);

/* The reference: the kernel as scalar code.  Only tid, ctaid, ntid, nctaid, laneid, the approximations and plain memory. */
struct scalar {
    void *handle;
    void (*kernel)(const void *kernarg);
    uint32_t *where; /* tid 3, ntid 3, ctaid 3, nctaid 3 */
};
bool build_scalar(const char *ir, struct scalar *ret, struct aw_buf *diags);
void run_scalar(const struct scalar *s, const uint32_t grid[3], const uint32_t block[3], const void *kernarg);
void unload_scalar(struct scalar *s);

/* $AW_FUZZ=FIRST[:COUNT]: seeds for what tests make at random, other than the usual ones; false and nothing changed where it is
 * not set. */
bool seeds_wanted(unsigned long *first, unsigned long *count);

#endif
