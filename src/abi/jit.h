/* Just-in-time options (CUjit_option, and cudaJitOption, which has the same numbers): what of them means something here.
 *
 * Log buffers, times and levels do; registers, targets and floating point are advice to another compiler. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_JIT_H
#define AW_ABI_JIT_H

#include <time.h>

#include "abi/cuda_types.h"
#include "core/core.h"

/* A text buffer of the user's: values[i] of the buffer option holds its address, of the size option its size in bytes, and
 * there the bytes written are stored. */
struct aw_jit_log {
    char *buffer;
    size_t size;
    void **size_slot;
};

struct aw_jit_options {
    struct aw_jit_log info, error;
    float *wall_time; /* milliseconds, in the option's own slot */
    float spent;      /* in earlier calls, for a link */
    unsigned opt_level;
    uint64_t start; /* aw_clock_ns */
};

/* AW_ERR_INVALID_VALUE for an option that is none.  Keeps the addresses of `values` for the calls below; starts the clock. */
enum aw_status aw_abi_jit_read(unsigned n, const CUjit_option *options, void **values, struct aw_jit_options *ret);
/* Starts the clock again: for a link, whose options serve several calls. */
void aw_abi_jit_restart(struct aw_jit_options *options);
/* Writes `text` to the log it belongs in: errors when `status` says so (then "" is the status's own text), else information;
 * and the time spent. */
void aw_abi_jit_write(struct aw_jit_options *options, enum aw_status status, const char *text);
/* Whether anybody reads a log. */
bool aw_abi_jit_listens(const struct aw_jit_options *options);

/* Makes a library of an image and drops the image; logs go where `jit` says. */
enum aw_status aw_abi_library_make(struct aw_image *image, struct aw_jit_options *jit, CUlibrary *ret_library);

#endif
