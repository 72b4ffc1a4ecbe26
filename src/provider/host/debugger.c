/* What a debugger needs to know of the workers: one structure whose name is exported, for tools/gdb/anywarp.py, which must do
 * without debug information of this library.  Nobody here reads it. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

struct aw_host_debugger aw_host_debugger __attribute__((visibility("default"))) = {
    .version = AW_HOST_DEBUGGER,
    .worker_size = sizeof(struct aw_host_worker),
    .thread_id = offsetof(struct aw_host_worker, thread_id),
    .running = offsetof(struct aw_host_worker, running),
    .op = offsetof(struct aw_host_run, op),
    .name = offsetof(struct aw_host_op, kernel.name),
};

_Static_assert(offsetof(struct aw_host_run, block) == 0, "a run begins with its block");

void aw_host_debugger_tell(void)
{
    aw_host_debugger.workers = aw_host.workers;
    aw_host_debugger.n_workers = aw_host.n_workers + AW_HOST_GUESTS;
}
