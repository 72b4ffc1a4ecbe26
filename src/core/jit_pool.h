/* The compiler processes of this process: who takes which, and when another is started.  Thread-safe; after fork() a
 * child begins with none. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_JIT_POOL_H
#define AW_CORE_JIT_POOL_H

#include "core/jit_process.h"

/* An idle process, one that knows `module` if there is one, or a fresh one; waits while as many as are sensible are busy.
 * The caller gives it back.  Errors as aw_jit_find_compiler and aw_jit_process_start. */
enum aw_status aw_jit_pool_take(struct aw_hash128 module, struct aw_jit_process **ret_process, char **ret_why);

/* `sound`: it can serve again; else it is ended. */
void aw_jit_pool_give(struct aw_jit_process *process, bool sound);

/* How many processes there may be: one for each processor that this process may use, and no more than eight. */
unsigned aw_jit_pool_most(void);

/* Notes that the process has a module open. */
void aw_jit_pool_note(struct aw_jit_process *process, struct aw_hash128 module);
/* Its request, while it serves one, is to be done even if this program ends: shutting down leaves the process alone then. */
void aw_jit_pool_keep(struct aw_jit_process *process, bool keep);

/* Ends all processes; the requests under way fail.  Later calls start new ones.  `left`: a file of requests that one of the
 * processes is to do after this program's end (AW_JIT_LEAVE); -1: none. */
void aw_jit_pool_shutdown(int left);

/* Has the pool take part in fork(), and the user's locks with it: `prepare` before the pool's lock is taken, the others
 * after it is free again.  To be called before anything else here; later calls change nothing but the hooks. */
struct aw_jit_fork_hooks {
    void (*prepare)(void), (*parent)(void), (*child)(void);
};
void aw_jit_pool_at_fork(const struct aw_jit_fork_hooks *hooks);

#endif
