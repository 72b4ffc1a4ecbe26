/* A computation as what runs: tensors, and nodes that work on them in order.  A call of the v7-style interface is a program of
 * one node or a few, an operation graph one of many.  Programs do not change once they are sealed, and are shared by the jobs
 * that run them. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_PROGRAM_H
#define AW_LIBS_CUDNN_PROGRAM_H

#include "common/queue.h"
#include "tensor.h"

enum { AW_DNN_VIEWS = 32, AW_DNN_PARAMS = 256 };

/* Works on `v`, whose absent members have no address.  0, or a bug or memory that is out: what it was to write is then lost. */
typedef int (*aw_dnn_kernel)(const void *params, const struct aw_dnn_view *v);

enum aw_dnn_storage {
    AW_DNN_USER,    /* memory of the program that calls */
    AW_DNN_VIRTUAL, /* only between nodes */
    AW_DNN_VALUE,   /* a scalar of the host's, as it is at the call */
    AW_DNN_CONSTANT /* a scalar that is known when the program is made */
};

struct aw_dnn_tensor {
    struct aw_dnn_shape s;
    enum aw_dnn_storage storage;
    unsigned dir;  /* AW_LIB_IN, AW_LIB_OUT */
    int ragged;    /* the tensor that says where each index of the first dimension begins, and the last one ends; -1: none */
    int64_t scale; /* of these offsets */
    int last;      /* the node that uses it last */
    unsigned char value[16];
};

struct aw_dnn_node {
    aw_dnn_kernel kernel;
    int n;
    int tensor[AW_DNN_VIEWS]; /* -1: absent */
    _Alignas(16) unsigned char params[AW_DNN_PARAMS];
};

struct aw_dnn_program {
    unsigned refs;
    int n_tensors, n_nodes;
    struct aw_dnn_tensor *tensors;
    struct aw_dnn_node *nodes;
    void *owned; /* what parameters point to; freed with the program */
};

/* An empty program with one reference.  NULL: memory is out. */
struct aw_dnn_program *aw_dnn_program_create(void);
void aw_dnn_program_unref(struct aw_dnn_program *p);

/* A new tensor's number; -1: memory is out. */
int aw_dnn_program_tensor(struct aw_dnn_program *p, const struct aw_dnn_shape *s, enum aw_dnn_storage storage, unsigned dir);
/* A new node of `size` bytes of parameters, which are copied, and `n` tensors, -1 for those absent.  False: memory is out. */
bool aw_dnn_program_node(struct aw_dnn_program *p, aw_dnn_kernel kernel, const void *params, size_t size, int n,
                         const int tensors[]);

/* Gives the program to the queue.  pointers[i] is tensor i's memory, or the host's for a scalar; it is read before the return.
 * Takes no reference over. */
cudnnStatus_t aw_dnn_program_submit(const struct aw_lib_queue *queue, struct aw_dnn_program *p, void *const pointers[],
                                    enum aw_lib_when when);

/* For calls of one node: the tensors, in the kernel's order. */
struct aw_dnn_operand {
    const struct aw_dnn_shape *s; /* NULL: absent */
    const void *at;
    unsigned dir;
};

/* Runs one kernel on them.  An operand without an address is absent.  `owned`, which parameters may point to, is freed once
 * the kernel will not run (again), or when this fails. */
cudnnStatus_t aw_dnn_call_with(const struct aw_lib_queue *queue, aw_dnn_kernel kernel, const void *params, size_t size,
                               const struct aw_dnn_operand operands[], int n, void *owned);
cudnnStatus_t aw_dnn_call(const struct aw_lib_queue *queue, aw_dnn_kernel kernel, const void *params, size_t size,
                          const struct aw_dnn_operand operands[], int n);

#endif
