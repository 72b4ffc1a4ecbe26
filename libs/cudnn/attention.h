/* Kernels of attention beside the products: softmax with its statistics, and masks.  All work on the last two dimensions,
 * queries and keys. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUDNN_ATTENTION_H
#define AW_LIBS_CUDNN_ATTENTION_H

#include "layers.h"

/* y, x, log of the sum, maximum, sum of exponents, sink: over the last dimension; a sink is one more score, which gets no
 * weight.  Rows of nothing but -infinity have no weights. */
int aw_dnn_softmax_stats(const void *params, const struct aw_dnn_view *v);

/* y, x, lengths of queries, lengths of keys: scores outside of a batch's lengths are -infinity. */
int aw_dnn_length_mask(const void *params, const struct aw_dnn_view *v);

/* y = x where the comparison holds, else b: of key + left - keys + queries with the query, or, without left, of
 * query + keys - queries + shift with the key.  What is absent counts as 0. */
struct aw_dnn_band_mask {
    int mode; /* a pointwise comparison */
};
/* y, x, b, number of keys, number of queries (of each batch), left, shift. */
int aw_dnn_band_mask(const void *params, const struct aw_dnn_view *v);

/* A cache's pages in a batch's order.  y (B H S E, or turned: B H E S), cache (pages, H, places in a page, E), table (B 1 pages
 * 1), lengths (of each batch).  Behind a batch's length y is 0.  Not 0: the table names a page that is none. */
struct aw_dnn_paged {
    bool turned;
};
int aw_dnn_paged_load(const void *params, const struct aw_dnn_view *v);

#endif
