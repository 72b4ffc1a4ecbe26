/* Tensors as the bodies see them: a shape, and where the elements are.  Rows of elements are read and written as float or
 * double whatever their type; a walk goes over the rows of several tensors at once. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_TENSOR_H
#define AW_LIBS_CUDNN_TENSOR_H

#include <stdbool.h>

#include "cudnn_types.h"

enum { AW_DNN_DIMS = CUDNN_DIM_MAX };

/* Sizes and strides in elements, outermost dimension first.  No stride is negative. */
struct aw_dnn_shape {
    cudnnDataType_t type;
    int n;
    int64_t dim[AW_DNN_DIMS], stride[AW_DNN_DIMS];
};

struct aw_dnn_view {
    struct aw_dnn_shape s;
    void *at; /* NULL: the operand is absent */
};

/* Bits of an element; 0: a type that nothing here computes with. */
unsigned aw_dnn_type_bits(cudnnDataType_t type);
/* Does float not hold all values of the type? */
bool aw_dnn_type_wide(cudnnDataType_t type);

/* Could a sum of `n` products of these types not be exact in float, though its terms are whole numbers? */
bool aw_dnn_sum_wide(cudnnDataType_t a, cudnnDataType_t b, int64_t n);

int64_t aw_dnn_count(const struct aw_dnn_shape *s);
/* Elements from the first to the last, gaps included; 0: there are none. */
int64_t aw_dnn_extent(const struct aw_dnn_shape *s);
size_t aw_dnn_bytes(const struct aw_dnn_shape *s);
/* The view that begins `offset` elements later, of a type of whole bytes; and of `count` of a dimension's from `begin` on. */
struct aw_dnn_view aw_dnn_later(struct aw_dnn_view v, int64_t offset);
struct aw_dnn_view aw_dnn_part(struct aw_dnn_view v, int dimension, int64_t begin, int64_t count);
/* Are the elements one run without gaps and each in a place of its own, in whatever order? */
bool aw_dnn_packed(const struct aw_dnn_shape *s);
/* Strides of a tensor without gaps, last dimension innermost. */
void aw_dnn_pack(struct aw_dnn_shape *s);
bool aw_dnn_same_dims(const struct aw_dnn_shape *a, const struct aw_dnn_shape *b);

/* Elements of `v` from `offset` on, `step` apart; integers are rounded to nearest even and saturated. */
void aw_dnn_load_f(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, float *to);
void aw_dnn_load_d(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, double *to);
void aw_dnn_store_f(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, const float *from);
void aw_dnn_store_d(const struct aw_dnn_view *v, int64_t offset, int64_t step, int64_t n, const double *from);
double aw_dnn_get(const struct aw_dnn_view *v, int64_t offset);
void aw_dnn_put(const struct aw_dnn_view *v, int64_t offset, double value);

enum { AW_DNN_OPERANDS = 8 };

/* Over all elements of `dim`, in rows: a row's elements are step[i] apart in operand i and begin at offset[i]. */
struct aw_dnn_walk {
    int n, operands;
    int64_t row, step[AW_DNN_OPERANDS], offset[AW_DNN_OPERANDS];
    int64_t dim[AW_DNN_DIMS], at[AW_DNN_DIMS], stride[AW_DNN_OPERANDS][AW_DNN_DIMS];
};

/* Begins a walk over the elements of `dims`.  Operands are aligned at their last dimension, and repeated where they have size
 * 1; the order is the first operand's in memory.  False: there is no element. */
bool aw_dnn_walk_begin(struct aw_dnn_walk *w, const struct aw_dnn_shape *dims, int operands,
                       const struct aw_dnn_view *const views[]);
bool aw_dnn_walk_next(struct aw_dnn_walk *w);

enum { AW_DNN_CHUNK = 512 }; /* elements of a row that are worked on at once */

/* to = alpha * from + beta * to, over the elements of `to`; `from` is repeated as in a walk.  With beta 0, `to` is not read. */
void aw_dnn_blend(double alpha, const struct aw_dnn_view *from, double beta, const struct aw_dnn_view *to);
void aw_dnn_fill(const struct aw_dnn_view *to, double value);

/* The tensor in float (or double) without gaps, last dimension innermost: the tensor itself where it is so, else a copy, which
 * *ret_owned is for the caller to free.  NULL: memory is out.  With `read` false, a copy's contents are left open. */
void *aw_dnn_dense(const struct aw_dnn_view *v, cudnnDataType_t type, bool read, void **ret_owned);
/* The view of such memory. */
struct aw_dnn_view aw_dnn_dense_view(const struct aw_dnn_shape *s, cudnnDataType_t type, void *at);

#endif
