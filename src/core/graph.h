/* Graphs: nodes with parameters of their own, edges between them, clones, what hangs on a graph's life.
 *
 * A node copies what it is given, so nothing of the caller's need live on but the memory that it works on.  Running a graph is
 * graph_exec.h, filling one from streams is capture.h.  As with CUDA, a graph is used by one thread at a time; handles are
 * checked like all others.  External semaphores and batched memory operations do
 * not exist here. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_CORE_GRAPH_H
#define AW_CORE_GRAPH_H

#include "base/vec.h"
#include "core/context.h"
#include "core/copy_box.h"
#include "core/launch.h"
#include "core/memory.h"
#include "core/recorder.h"
#include "core/stream.h"

struct aw_capture;
struct aw_graph;
struct aw_condition;
struct aw_graph_mem;
struct aw_graph_node;
struct aw_user_object;

/* CU_GRAPH_NODE_TYPE_*. */
enum aw_node_type {
    AW_NODE_KERNEL = 0, AW_NODE_MEMCPY = 1, AW_NODE_MEMSET = 2, AW_NODE_HOST = 3, AW_NODE_GRAPH = 4, AW_NODE_EMPTY = 5,
    AW_NODE_EVENT_WAIT = 6, AW_NODE_EVENT_RECORD = 7, AW_NODE_ALLOC = 10, AW_NODE_FREE = 11, AW_NODE_CONDITION = 13,
};

/* ---- Parameters. */

enum { AW_NODE_ATTRS = 19 /* CU_LAUNCH_ATTRIBUTE_*, by number */, AW_NODE_ATTR_BYTES = 64 };
enum { AW_NODE_ATTR_COOPERATIVE = 2, AW_NODE_ATTR_PRIORITY = 8 };

struct aw_node_kernel {
    struct aw_func *func;
    const struct aw_manifest_kernel *desc; /* func's, to notice another function at the same address */
    const void *symbol;         /* the runtime API's name for the function, or NULL */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    char *packed;               /* the parameters as PTX lays them out; owned */
    size_t packed_size;         /* bytes */
    void **params;              /* pointers into `packed`, one per parameter; owned */
    uint32_t n_params;
    uint32_t attrs_set;         /* which of attrs were given, by bit */
    char (*attrs)[AW_NODE_ATTR_BYTES]; /* AW_NODE_ATTRS values, owned; NULL when none was given */
};

struct aw_node_copy {
    struct aw_copy3d work;      /* what is done */
    struct aw_copy_side src, dst; /* as the user described it, for asking later */
};

struct aw_node_alloc {
    struct aw_graph_mem *mem;   /* counted; of a free node it may be NULL: memory of an ordinary allocation */
    uintptr_t address;
    size_t size;                /* bytes, as asked */
};

struct aw_node_condition {
    struct aw_condition *condition; /* counted */
    int type;                   /* CU_GRAPH_COND_TYPE_* */
    struct aw_graph **bodies;   /* owned, each and all */
    unsigned n;
};

struct aw_node_params {
    enum aw_node_type type;
    struct aw_ctx *ctx;         /* where it runs; NULL: anywhere */
    uint64_t ctx_id;            /* ctx->id when it was made */
    union {
        struct aw_node_kernel kernel;
        struct aw_node_copy copy;
        struct aw_work_fill fill;
        struct aw_work_host host;
        struct aw_graph *child;     /* owned */
        struct aw_cevent *event;    /* record and wait; borrowed, checked when used */
        struct aw_node_alloc alloc; /* alloc and free */
        struct aw_node_condition condition;
    };
};

/* Each makes parameters that aw_node_params_fini frees; AW_ERR_INVALID_VALUE or the checks' own status.  A kernel's
 * configuration is checked as for a launch and its code is compiled; `symbol` may be NULL. */
enum aw_status aw_node_kernel_make(struct aw_func *func, const struct aw_launch_args *args, struct aw_node_params *ret_params);
/* `src` and `dst` may be NULL: described by `copy` itself. */
enum aw_status aw_node_copy_make(struct aw_ctx *ctx, const struct aw_copy3d *copy, const struct aw_copy_side *src,
                                 const struct aw_copy_side *dst, struct aw_node_params *ret_params);
/* The same from a description; an empty box keeps its numbers, too. */
enum aw_status aw_node_box_make(struct aw_ctx *ctx, const struct aw_copy_box *box, struct aw_node_params *ret_params);
enum aw_status aw_node_fill_make(struct aw_ctx *ctx, const struct aw_work_fill *fill, struct aw_node_params *ret_params);
/* A deep copy of the graph, which must hold no allocation. */
enum aw_status aw_node_child_make(const struct aw_graph *child, struct aw_node_params *ret_params);
enum aw_status aw_node_event_make(enum aw_node_type type, struct aw_cevent *event, struct aw_node_params *ret_params);
/* Memory of the graph: its address holds from now on.  Size 0 is AW_ERR_INVALID_VALUE. */
enum aw_status aw_node_alloc_make(struct aw_ctx *ctx, size_t size, struct aw_node_params *ret_params);
/* AW_ERR_INVALID_VALUE: not the first byte of a graph's allocation. */
enum aw_status aw_node_free_make(uintptr_t address, struct aw_node_params *ret_params);
enum aw_status aw_node_params_copy(const struct aw_node_params *params, struct aw_node_params *ret_params);
void aw_node_params_fini(struct aw_node_params *params);
/* The graphs in a node, *ret_n of them, borrowed: a child, those of a conditional node, none of others. */
struct aw_graph *const *aw_node_graphs(const struct aw_node_params *params, size_t *ret_n);
/* Reads or sets an attribute by CU_LAUNCH_ATTRIBUTE_* number; 64 bytes.  AW_ERR_INVALID_VALUE: not of a kernel node. */
enum aw_status aw_node_attr_get(const struct aw_node_kernel *kernel, int attr, void *ret_value);
enum aw_status aw_node_attr_set(struct aw_node_kernel *kernel, int attr, const void *value);
bool aw_node_cooperative(const struct aw_node_kernel *kernel);

/* ---- Nodes and edges. */

/* CUgraphEdgeData's bytes: which port, and whether the later kernel may begin early.  Here it never does, which keeps the
 * promise. */
struct aw_edge_data {
    unsigned char from_port, to_port, type, reserved[5];
};

struct aw_graph_edge {
    struct aw_graph_node *node;
    struct aw_edge_data data;
};

typedef AW_VEC(struct aw_graph_edge) aw_edge_vec;

struct aw_graph_node {
    struct aw_handle handle;
    struct aw_graph *graph;
    struct aw_node_params params;
    aw_edge_vec in;                     /* what it waits for, in the order it was said */
    AW_VEC(struct aw_graph_node *) out; /* what waits for it */
    uint32_t local_id;                  /* unique in its graph */
    uint64_t id, origin;                /* unique in the process; that of the node it is a copy of, or 0 */
    uint32_t mark;                      /* scratch for walks */
    bool disabled;                      /* in an executable graph: skipped */
    void *staging;                      /* in an executable graph: pinned memory for a copy from or to pageable memory */
};

struct aw_graph {
    struct aw_handle handle;
    uint64_t id;
    AW_VEC(struct aw_graph_node *) nodes; /* in the order they were added; in an executable graph, in the order they run */
    uint32_t next_local_id;
    bool hidden;                        /* of an executable graph: no handle of it or its nodes is valid */
    bool owned;                         /* a child node's: not the user's to destroy */
    struct aw_capture *capture;         /* the sequence that fills it now, or NULL */
    int instantiated;                   /* executable graphs of it, while it has allocations: at most one */
    AW_VEC(struct aw_condition *) conditions; /* made for it; counted */
    AW_VEC(struct aw_graph_object { struct aw_user_object *object; unsigned count; }) objects;
};

extern struct aw_slab aw_graph_slab, aw_graph_node_slab;

static inline struct aw_graph *aw_graph_from(const void *handle)
{
    return aw_slab_valid(&aw_graph_slab, handle) ? (struct aw_graph *)(uintptr_t)handle : NULL;
}

static inline struct aw_graph_node *aw_graph_node_from(const void *handle)
{
    return aw_slab_valid(&aw_graph_node_slab, handle) ? (struct aw_graph_node *)(uintptr_t)handle : NULL;
}

enum aw_status aw_graph_create(struct aw_graph **ret_graph);
/* AW_ERR_INVALID_VALUE for the graph in a child node or one that is being captured. */
enum aw_status aw_graph_destroy(struct aw_graph *graph);
/* AW_ERR_INVALID_VALUE when it has nodes that allocate or free. */
enum aw_status aw_graph_clone(const struct aw_graph *graph, struct aw_graph **ret_clone);
/* For graph_exec.c: a hidden clone, allocations and all; and its end. */
enum aw_status aw_graph_clone_hidden(const struct aw_graph *graph, struct aw_graph **ret_clone);
void aw_graph_free(struct aw_graph *graph);
bool aw_graph_allocates(const struct aw_graph *graph);
/* The copy of `node` in `clone`, also among its children; NULL: none. */
struct aw_graph_node *aw_graph_find_clone(const struct aw_graph *clone, const struct aw_graph_node *node);

/* Takes *params over on success, not on failure.  Dependencies are nodes of the graph, without repeats, else
 * AW_ERR_INVALID_VALUE. */
enum aw_status aw_graph_add(struct aw_graph *graph, const struct aw_graph_edge *deps, size_t n, struct aw_node_params *params,
                            struct aw_graph_node **ret_node);
enum aw_status aw_graph_node_destroy(struct aw_graph_node *node);
/* Replaces a node's parameters by others of its type, which are taken over on success. */
enum aw_status aw_graph_node_set(struct aw_graph_node *node, struct aw_node_params *params);
/* All `n` edges or none.  AW_ERR_INVALID_VALUE: a node that is not the graph's, an edge that is there already, or to itself. */
enum aw_status aw_graph_link(struct aw_graph *graph, struct aw_graph_node *const *from, struct aw_graph_node *const *to,
                             const struct aw_edge_data *data, size_t n);
/* AW_ERR_INVALID_VALUE: an edge that is not there. */
enum aw_status aw_graph_unlink(struct aw_graph *graph, struct aw_graph_node *const *from, struct aw_graph_node *const *to,
                               const struct aw_edge_data *data, size_t n);
/* AW_ERR_INVALID_VALUE: ports or types that no edge between the two nodes can have. */
enum aw_status aw_edge_check(const struct aw_graph_node *from, enum aw_node_type to, const struct aw_edge_data *data);
static inline bool aw_edge_plain(const struct aw_edge_data *data)
{
    return !data->from_port && !data->to_port && !data->type;
}
/* Marks with `mark` all nodes from which one of `last` is reached, themselves included.  Nodes marked so before stop the walk.
 * False when memory is out. */
bool aw_graph_mark_before(const struct aw_graph_edge *last, size_t n, uint32_t mark);
uint32_t aw_graph_next_mark(void); /* a mark that no node has */
/* Writes the graph in the language of Graphviz.  flags: CU_GRAPH_DEBUG_DOT_FLAGS_*.  AW_ERR_OS. */
enum aw_status aw_graph_dot(const struct aw_graph *graph, const char *path, unsigned flags);

/* ---- Memory of graphs: a block per allocating node, which keeps its address until graph and executable graphs are gone and
 * it is free.  Whether it is allocated is settled when a graph is launched or a free is called, in that order. */
bool aw_graph_mem_live(const struct aw_graph_mem *mem);
/* AW_ERR_INVALID_VALUE: allocated already. */
enum aw_status aw_graph_mem_use(struct aw_graph_mem *mem);
/* Frees when it is allocated, else AW_ERR_INVALID_VALUE. */
enum aw_status aw_graph_mem_unuse(struct aw_graph_mem *mem);
void aw_graph_mem_ref(struct aw_graph_mem *mem);
void aw_graph_mem_unref(struct aw_graph_mem *mem);
/* CU_GRAPH_MEM_ATTR_* 0 to 3 of a device, bytes: used now, most used, reserved now, most reserved.  Setting resets a high mark
 * to the present value. */
enum aw_status aw_graph_mem_get(const struct aw_device *device, int attr, uint64_t *ret_bytes);
enum aw_status aw_graph_mem_reset(const struct aw_device *device, int attr);

/* ---- Conditions (graph_condition.c): values that kernels set (cudaGraphSetConditional), by which graphs in a node run, do not,
 * or again.  A condition is four bytes of memory that the host and all devices see; its address is the handle that kernels are
 * given, so that setting it is a store (ptx/module/runtime.c). */

/* CU_GRAPH_COND_TYPE_*. */
enum aw_condition_type { AW_CONDITION_IF = 0, AW_CONDITION_WHILE = 1, AW_CONDITION_SWITCH = 2 };
enum { AW_CONDITION_ASSIGN = 1 }; /* CU_GRAPH_COND_ASSIGN_DEFAULT */

/* A condition that lives as long as the graph, or a node that uses it: CUDA's handle of it.  `flags`: 0, or AW_CONDITION_ASSIGN,
 * and each launch begins with the value `initial`.  AW_ERR_INVALID_VALUE: another flag. */
enum aw_status aw_condition_create(struct aw_graph *graph, struct aw_ctx *ctx, uint32_t initial, unsigned flags,
                                   uint64_t *ret_handle);
void aw_condition_ref(struct aw_condition *condition);
void aw_condition_unref(struct aw_condition *condition);
uint64_t aw_condition_handle(const struct aw_condition *condition);
uint32_t aw_condition_value(const struct aw_condition *condition);
/* The launch's first value, where the condition has one. */
void aw_condition_begin(struct aw_condition *condition);

/* A node with `n` empty graphs, which are the node's: one, for AW_CONDITION_IF one or two (the second runs where the value is 0),
 * for AW_CONDITION_SWITCH one or more.  AW_ERR_INVALID_VALUE: another number, an unknown type, no condition of that handle. */
enum aw_status aw_node_condition_make(uint64_t handle, int type, unsigned n, struct aw_node_params *ret_params);
/* For graph_params.c. */
enum aw_status aw_node_condition_copy(const struct aw_node_condition *from, struct aw_node_condition *ret);
void aw_node_condition_fini(struct aw_node_condition *condition);
/* Which of the node's graphs runs for the value; NULL: none. */
struct aw_graph *aw_node_condition_choose(const struct aw_node_condition *condition, uint32_t value);

/* ---- User objects: a destructor that runs when the last reference is gone, on the thread that drops it. */
struct aw_user_object {
    struct aw_handle handle;
    void (*destroy)(void *ptr);
    void *ptr;
    int64_t refs; /* atomic */
};

extern struct aw_slab aw_user_object_slab;

static inline struct aw_user_object *aw_user_object_from(const void *handle)
{
    return aw_slab_valid(&aw_user_object_slab, handle) ? (struct aw_user_object *)(uintptr_t)handle : NULL;
}

/* AW_ERR_INVALID_VALUE: no destructor, or refs that are not 1 to 2^31 - 1. */
enum aw_status aw_user_object_create(void *ptr, void (*destroy)(void *ptr), unsigned refs, struct aw_user_object **ret_object);
enum aw_status aw_user_object_retain(struct aw_user_object *object, unsigned count);
enum aw_status aw_user_object_release(struct aw_user_object *object, unsigned count);
/* `move` takes the caller's references over instead of making new ones. */
enum aw_status aw_graph_retain_object(struct aw_graph *graph, struct aw_user_object *object, unsigned count, bool move);
enum aw_status aw_graph_release_object(struct aw_graph *graph, struct aw_user_object *object, unsigned count);
/* One reference to each of `from`'s objects for `to`. */
enum aw_status aw_graph_share_objects(const struct aw_graph *from, struct aw_graph *to);
void aw_graph_drop_objects(struct aw_graph *graph);

#endif
