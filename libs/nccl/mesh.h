/* The engine between processes: what of Gloo is used, as a table of functions, so that no C++ crosses this header.
 *
 * mesh.cc is a shared object of its own, libanywarp-gloo.so.0, opened when the first communicator of several ranks is made: only
 * then is Gloo (Debian's libgloo0) needed.  Functions that can fail give false and aw_nccl_mesh_ops.error says why; after that a
 * mesh is of no more use.  A mesh is used by one thread at a time, `close` by any.  Sizes are bytes. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_NCCL_MESH_H
#define AW_LIBS_NCCL_MESH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct aw_nccl_mesh;
struct aw_nccl_transfer; /* a send or receive under way */

/* Where ranks find each other: a map of keys to bytes that all see. */
struct aw_nccl_meeting {
    void *user;
    bool (*set)(void *user, const char *key, const void *data, size_t size);
    /* Waits for the key.  *ret_data is malloc's. */
    bool (*get)(void *user, const char *key, void **ret_data, size_t *ret_size);
};

/* c = a (op) b, for `n` elements; c may be a or b. */
typedef void aw_nccl_reduce_fn(void *user, void *c, const void *a, const void *b, size_t n);

struct aw_nccl_mesh_ops {
    /* Connects all ranks; `address` is numeric, of this machine.  NULL: ret_error was filled in. */
    struct aw_nccl_mesh *(*create)(int rank, int size, const char *address, const struct aw_nccl_meeting *meeting,
                                   char *ret_error, size_t error_size);
    /* Breaks all connections: who waits, here or on another rank, fails. */
    void (*close)(struct aw_nccl_mesh *mesh);
    void (*destroy)(struct aw_nccl_mesh *mesh);
    const char *(*error)(const struct aw_nccl_mesh *mesh); /* of its last failure; borrowed */

    /* Collectives: all ranks in the same order.  `element`: 1, 2, 4 or 8. */
    bool (*allreduce)(struct aw_nccl_mesh *mesh, void *data, size_t count, size_t element, aw_nccl_reduce_fn *fn, void *user);
    /* The root's `data` becomes the result; the others' is scratch. */
    bool (*reduce)(struct aw_nccl_mesh *mesh, void *data, size_t count, size_t element, int root, aw_nccl_reduce_fn *fn,
                   void *user);
    bool (*broadcast)(struct aw_nccl_mesh *mesh, void *data, size_t size, int root);
    /* `size` is one rank's part.  In and out may not overlap, except that allgather's `in` may be its part of `out`. */
    bool (*allgather)(struct aw_nccl_mesh *mesh, const void *in, void *out, size_t size);
    bool (*alltoall)(struct aw_nccl_mesh *mesh, const void *in, void *out, size_t size);
    bool (*gather)(struct aw_nccl_mesh *mesh, const void *in, void *out, size_t size, int root);
    bool (*scatter)(struct aw_nccl_mesh *mesh, const void *in, void *out, size_t size, int root);

    /* Between two ranks, in order.  `data` is borrowed until `finish`, which waits and frees; NULL: failed. */
    struct aw_nccl_transfer *(*send)(struct aw_nccl_mesh *mesh, const void *data, size_t size, int peer);
    struct aw_nccl_transfer *(*receive)(struct aw_nccl_mesh *mesh, void *data, size_t size, int peer);
    bool (*finish)(struct aw_nccl_mesh *mesh, struct aw_nccl_transfer *transfer);
};

/* Exported by libanywarp-gloo.so.0 under this name. */
extern const struct aw_nccl_mesh_ops aw_nccl_gloo;

/* Opens it; NULL where Gloo is not there, after a message that says what to install. */
const struct aw_nccl_mesh_ops *aw_nccl_mesh_open(void);

#ifdef __cplusplus
}
#endif
#endif
