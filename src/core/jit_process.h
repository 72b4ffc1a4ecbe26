/* One compiler process: starting it, one exchange with it, ending it.  Which process serves what is jit_pool.h's affair.
 * Not thread-safe per process; distinct processes are independent. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_JIT_PROCESS_H
#define AW_CORE_JIT_PROCESS_H

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/hash.h"
#include "base/status.h"
#include "core/jit_protocol.h"

/* A descriptor and what it was opened as.  Programs that close all descriptors, or turn into daemons, may give the
 * number to something of theirs, which we must neither write to nor close. */
struct aw_jit_fd {
    int fd; /* -1 = none */
    dev_t dev;
    ino_t ino;
};

/* Modules this process is thought to have open; only a hint for choosing a process. */
#define AW_JIT_KNOWN 8

struct aw_jit_process {
    struct aw_jit_process *next; /* the pool's */
    struct aw_jit_fd socket, control, err, pidfd;
    pid_t pid; /* 0 = not known; not our child */
    bool greeted;
    bool keep; /* the pool's */
    char *said; /* what it wrote to standard error during this exchange: the last bytes */
    size_t said_len;
    bool said_cut;
    struct aw_hash128 known[AW_JIT_KNOWN];
    unsigned n_known; /* ever noted; the slot is the number modulo AW_JIT_KNOWN */
};

/* The compiler program's path: ANYWARP_COMPILER, else beside the object this code is linked into.  AW_ERR_JIT_NOT_FOUND:
 * *ret_why names what was tried (heap, caller frees). */
enum aw_status aw_jit_find_compiler(char *ret_path, size_t size, char **ret_why);

/* Starts `path` and prepares the exchange.  It is not a child of this process as far as wait() and SIGCHLD go, and no
 * handler of this program runs on its behalf.  *ret_process is owned by the caller.  AW_ERR_JIT_NOT_FOUND when it
 * cannot be executed, AW_ERR_OS or AW_ERR_OUT_OF_MEMORY otherwise; *ret_why says what happened (heap, caller frees;
 * NULL when memory is out). */
enum aw_status aw_jit_process_start(const char *path, struct aw_jit_process **ret_process, char **ret_why);

/* Ends it, however it is, and frees.  NULL is fine. */
void aw_jit_process_stop(struct aw_jit_process *process);

/* Ends it and no more: the exchange under way in another thread fails. */
void aw_jit_process_kill(const struct aw_jit_process *process);

/* Leaves it the requests in a file, AW_JIT_LEAVE; it is to live on when this program ends.  Also while another thread has sent it
 * a request, whole.  False when it is gone. */
bool aw_jit_process_leave(const struct aw_jit_process *process, int file);

/* Frees without ending it: after fork() the process belongs to the parent. */
void aw_jit_process_abandon(struct aw_jit_process *process);

/* False when it has died, or its socket is no longer ours, since the last exchange. */
bool aw_jit_process_usable(const struct aw_jit_process *process);

/* Sends a request and waits for the answer.  `request->size` bytes are in `parts`, which is used up.  AW_OK: an answer
 * came; *ret_bytes and *ret_diags are heap (caller frees, NUL-terminated, never NULL).  Otherwise *ret_why tells what
 * happened, naming `what` ("compiling kernel k of m.cu"), and the process is of no more use: AW_ERR_OS,
 * AW_ERR_OUT_OF_MEMORY. */
enum aw_status aw_jit_process_call(struct aw_jit_process *process, const struct aw_jit_request *request,
                                   struct iovec *parts, int n_parts, const char *what, struct aw_jit_reply *ret_reply,
                                   char **ret_bytes, char **ret_diags, char **ret_why);

/* ---- Of jit_spawn.c, for jit_process.c alone. ---- */

/* Runs `path` with its descriptors 0..4 set and all others closed, outside this program's family.  The control pipe
 * tells the rest.  False with errno when not even a first process could be made. */
bool aw_jit_spawn(const char *path, int null, int err, int socket, int control);

#endif
