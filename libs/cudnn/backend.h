/* The backend interface: descriptors are lists of attributes (backend.def), and an operation graph becomes a program
 * (graph.c). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_BACKEND_H
#define AW_LIBS_CUDNN_BACKEND_H

#include "handle.h"

enum {
#define DESCRIPTOR(name, number) AW_DNN_DESCRIPTOR_##name = number,
#define ATTRIBUTE(name, number, type, most)
#include "backend.def"
#undef DESCRIPTOR
#undef ATTRIBUTE
};

enum {
#define DESCRIPTOR(name, number)
#define ATTRIBUTE(name, number, type, most) AW_DNN_ATTRIBUTE_##name = number,
#include "backend.def"
#undef DESCRIPTOR
#undef ATTRIBUTE
};

enum aw_dnn_type { /* CUDNN_TYPE_... */
                   AW_DNN_HANDLE = 0,
                   AW_DNN_BOOLEAN = 2,
                   AW_DNN_INT64 = 3,
                   AW_DNN_FLOAT = 4,
                   AW_DNN_DOUBLE = 5,
                   AW_DNN_VOID_PTR = 6,
                   AW_DNN_BACKEND_DESCRIPTOR = 15,
                   AW_DNN_CHAR = 24,
                   AW_DNN_FRACTION = 26,
                   AW_DNN_TYPES = 34
};

struct aw_dnn_attribute {
    struct aw_dnn_attribute *next;
    int name, type;
    int64_t n;
    _Alignas(16) unsigned char data[]; /* pointers to descriptors hold a reference */
};

/* What a finalised operation graph comes to.  Numbers of tensors in the program, by the program's own unique ids. */
struct aw_dnn_graph {
    unsigned refs;
    struct aw_dnn_program *program;
    int64_t uids[];
};

struct aw_dnn_descriptor {
    uint32_t magic;
    unsigned refs;
    int type;
    bool finalized;
    struct aw_dnn_attribute *attributes;
    struct aw_dnn_graph *graph; /* of a graph, and of engines, configurations and plans made of it */
};

/* An attribute, or NULL. */
const struct aw_dnn_attribute *aw_dnn_attribute(const struct aw_dnn_descriptor *d, int name);
/* Its first element as a number, or `otherwise` where it was not set. */
int64_t aw_dnn_attribute_int(const struct aw_dnn_descriptor *d, int name, int64_t otherwise);
double aw_dnn_attribute_real(const struct aw_dnn_descriptor *d, int name, double otherwise);
/* Element `i` where it is a descriptor, else NULL; borrowed. */
const struct aw_dnn_descriptor *aw_dnn_attribute_descriptor(const struct aw_dnn_descriptor *d, int name, int i);
/* Up to `most` integers (of fractions, those that are whole); how many there are, -1: one is none. */
int aw_dnn_attribute_ints(const struct aw_dnn_descriptor *d, int name, int64_t to[], int most);

/* The program of an operation graph's operations, with one reference; graph.c. */
cudnnStatus_t aw_dnn_graph_build(const struct aw_dnn_descriptor *d, struct aw_dnn_graph **ret_graph);
void aw_dnn_graph_unref(struct aw_dnn_graph *graph);
/* A finalized operation graph as text, owned by the caller, `*ret_n` bytes and a 0; NULL: memory is out.  And a graph that is
 * made of such a text, with one reference: the public functions' statuses, BAD_PARAM where it is none.  plan_text.c. */
char *aw_dnn_graph_tell(const struct aw_dnn_descriptor *graph, size_t *ret_n);
cudnnStatus_t aw_dnn_graph_read(const char *text, size_t n, cudnnBackendDescriptor_t *ret_graph);
/* Bytes of an element of a type (CUDNN_TYPE_...). */
size_t aw_dnn_backend_type_size(int type);
/* Is a tensor's descriptor complete, and can it be computed with?  Its shape. */
cudnnStatus_t aw_dnn_graph_shape(const struct aw_dnn_descriptor *tensor, struct aw_dnn_shape *ret);

#endif
