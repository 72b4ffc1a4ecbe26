/* cuBLASLt's orders of a matrix's elements in memory: by columns, by rows, and by tiles that its integer products want.
 * Numbers are cuBLASLt's; where an element of a tile lies is said in its manual (cublasLtOrder_t). */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_LIBS_CUBLAS_ORDER_H
#define AW_LIBS_CUBLAS_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum aw_order {
    AW_ORDER_COL = 0,
    AW_ORDER_ROW = 1,
    AW_ORDER_COL32 = 2,        /* 32 columns, row after row */
    AW_ORDER_COL4_4R2_8C = 3,  /* tiles of 8 rows and 32 columns: first the even rows, by squares of 4 */
    AW_ORDER_COL32_2R_4R4 = 4, /* tiles of 32 rows and columns, whose rows are mixed */
};

static inline bool aw_order_known(int order)
{
    return order >= AW_ORDER_COL && order <= AW_ORDER_COL32_2R_4R4;
}

/* Elements from the first to (row, col). */
static inline int64_t aw_order_offset(int order, int64_t ld, int64_t row, int64_t col)
{
    switch (order) {
    case AW_ORDER_ROW: return row * ld + col;
    case AW_ORDER_COL32: return col / 32 * ld + row * 32 + col % 32;
    case AW_ORDER_COL4_4R2_8C:
        return col / 32 * ld + row / 8 * 256 + row % 2 * 128 + col % 32 / 4 * 16 + row % 8 / 2 * 4 + col % 4;
    case AW_ORDER_COL32_2R_4R4:
        return col / 32 * ld + row / 32 * 1024 + ((row % 8 / 2 * 4 + row % 32 / 8) * 2 + row % 2) * 32 + col % 32;
    default: return col * ld + row;
    }
}

/* The matrix is *ret_runs runs of *ret_length elements, each `ld` behind the one before. */
static inline void aw_order_extent(int order, int64_t rows, int64_t cols, int64_t *ret_length, int64_t *ret_runs)
{
    *ret_runs = order == AW_ORDER_ROW ? rows : order == AW_ORDER_COL ? cols : (cols + 31) / 32;
    switch (order) {
    case AW_ORDER_ROW: *ret_length = cols; break;
    case AW_ORDER_COL32: *ret_length = rows * 32; break;
    case AW_ORDER_COL4_4R2_8C: *ret_length = (rows + 7) / 8 * 256; break;
    case AW_ORDER_COL32_2R_4R4: *ret_length = (rows + 31) / 32 * 1024; break;
    default: *ret_length = rows; break;
    }
}

#endif
