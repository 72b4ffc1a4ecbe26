/* Launch attributes, which cuLaunchKernelEx and cudaLaunchKernelExC share.  Not the launch itself: that is core's. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_ABI_LAUNCH_H
#define AW_ABI_LAUNCH_H

#include "abi/cuda_types.h"
#include "core/core.h"

/* What the attributes of a launch ask for beside hints about speed. */
struct aw_abi_wishes {
    bool cooperative;
    CUevent after[2]; /* to be recorded once the kernel has ended: later than asked, never too early */
    int n_after;
};

/* Reads `n` attributes.  AW_ERR_INVALID_VALUE: none given, or one that no CUDA version knows; AW_ERR_INVALID_HANDLE: not an
 * event, or a third one; AW_ERR_NOT_SUPPORTED: clusters of several blocks, nodes that the device updates. */
enum aw_status aw_abi_wishes_read(const CUlaunchAttribute *attrs, unsigned n, struct aw_abi_wishes *ret_wishes);

/* The blocks of the whole device that run at once, each of which is a cluster.  AW_ERR_INVALID_VALUE: a block of no or too
 * many threads; else what aw_abi_wishes_read and aw_func_occupancy say. */
enum aw_status aw_abi_clusters(struct aw_func *func, const uint32_t block[3], size_t shared_bytes, const CUlaunchAttribute *attrs,
                               unsigned n, int *ret_clusters);

/* Launches `func` with `args` and what `wishes` ask for. */
enum aw_status aw_abi_launch(struct aw_func *func, struct aw_launch_args *args, const struct aw_abi_wishes *wishes,
                             struct aw_cstream *stream);

#endif
