/* What the runtime and a compiler process say to each other: fixed-size heads, then bytes whose length the head states.
 *
 * A process is started as `anywarp-compiler --serve`, with descriptor 3 the socket, 4 the write end of the control
 * pipe, and 2 the write end of a pipe that the client reads.  It says hello on the socket; then it answers one request
 * after the other. Texts are sent once per process and module: a request names its module by the hash of its texts, and
 * a process that does not have it (any more) answers with AW_JIT_UNKNOWN_MODULE, whereupon the client opens it there.
 * The control pipe carries struct aw_jit_event: the process that became the compiler, why it could not, and how the
 * worker ended. Both sides are of one build and one machine, so numbers are native; each still checks what it reads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_JIT_PROTOCOL_H
#define AW_CORE_JIT_PROTOCOL_H

#include <stdint.h>

#define AW_JIT_MAGIC 0x314a5741u /* "AWJ1" */
/* Raise it with every change to this file. */
#define AW_JIT_PROTOCOL 3u

enum { AW_JIT_FD_SOCKET = 3, AW_JIT_FD_CONTROL = 4 };

/* Limits that both sides hold the other to. */
#define AW_JIT_MAX_TEXTS 65536u
#define AW_JIT_MAX_REQUEST ((uint64_t)4 << 30) /* bytes after a request's head */
#define AW_JIT_MAX_RESULT ((uint64_t)2 << 30)  /* a manifest or an object */
#define AW_JIT_MAX_DIAGS ((uint64_t)64 << 20)

struct aw_jit_hello {
    uint32_t magic, protocol;
    uint32_t abi; /* AW_COMPILER_ABI */
    uint32_t reserved;
};

enum aw_jit_op { AW_JIT_OPEN = 1, AW_JIT_COMPILE = 2, AW_JIT_LEAVE = 3 };

/* OPEN: n_texts times (struct aw_jit_text, name, text).  COMPILE: struct aw_jit_options, target, kernel name.  LEAVE: nothing
 * but a descriptor (SCM_RIGHTS) of a file of such requests, and no answer: once the client has gone they are done for the cache,
 * each COMPILE with `keep`. */
struct aw_jit_request {
    uint32_t magic, op;
    uint64_t module[2]; /* hash of the texts */
    uint64_t size;      /* bytes that follow */
    uint32_t n_texts, reserved;
};

struct aw_jit_text {
    uint64_t len;
    uint32_t name_len, reserved;
};

struct aw_jit_options {
    uint32_t target_len, kernel_len;
    uint32_t opt_level, code_object_version, block[3], warps_per_vector;
    uint32_t lines, more[7]; /* aw_compile_options.reserved */
    /* 1: should the client go away meanwhile, the object is made all the same, and put into the cache under `key`. */
    uint32_t keep, reserved;
    uint64_t key[2];
};

enum { AW_JIT_UNKNOWN_MODULE = 1 };

/* Then `size` bytes of manifest or object, and `diags_size` of text without a NUL. */
struct aw_jit_reply {
    uint32_t magic, op;
    uint32_t status; /* enum aw_status */
    uint32_t flags;
    uint64_t size, diags_size;
};

enum aw_jit_event_kind {
    AW_JIT_STARTED = 1,     /* value: the process's id */
    AW_JIT_EXEC_FAILED = 2, /* value: errno */
    AW_JIT_ENDED = 3,       /* value: the worker's wait status */
};
struct aw_jit_event {
    uint32_t magic, kind;
    int64_t value;
};

#endif
