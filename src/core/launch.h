/* Launching a kernel: checks the configuration, packs the arguments, hands both to the provider. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_LAUNCH_H
#define AW_CORE_LAUNCH_H

#include "core/module.h"

struct aw_launch_args {
    uint32_t grid[3], block[3];
    size_t shared_bytes;    /* dynamic */
    bool cooperative;
    void **params;          /* one pointer per parameter, or NULL */
    void **extra;           /* CU_LAUNCH_PARAM_* list, or NULL; AW_ERR_INVALID_VALUE when both or malformed */
    const void *symbol;     /* the runtime API's name for the function, for graph nodes; NULL: none */
};

/* On a capturing stream a node of the graph is made instead.  Thread-safe; takes no lock and allocates nothing once the
 * function has been compiled. AW_OK: the launch is queued.  AW_ERR_INVALID_VALUE: arguments.  AW_ERR_INVALID_CONFIG: the grid,
 * the block or the shared memory (CUDA's driver says invalid value, its runtime invalid configuration: the status table does).
 * AW_ERR_OUT_OF_RESOURCES: the block is larger than the kernel allows.  AW_ERR_COOPERATIVE_TOO_LARGE.  AW_ERR_INVALID_CLUSTER:
 * more than one block.  Or why the kernel cannot be compiled, or the device's fault. */
enum aw_status aw_launch_kernel(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream);

/* The same of a kernel as it is, whatever it starts and whoever captures. */
enum aw_status aw_launch_alone(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream);

/* Launches a kernel that may start kernels, and sees to what it starts; as aw_launch_kernel, but for captures.  In starts.c. */
enum aw_status aw_launch_starting(struct aw_func *func, const struct aw_launch_args *args, struct aw_cstream *stream);

/* The same in parts, for graph nodes: everything that is checked before a launch, compiling included; and the parameters
 * packed as PTX lays them out, func->kernel->param_size bytes, without the hidden ones. */
enum aw_status aw_launch_check(struct aw_func *func, const struct aw_launch_args *args);
enum aw_status aw_launch_pack(const struct aw_func *func, const struct aw_launch_args *args, char *ret_params);

#endif
