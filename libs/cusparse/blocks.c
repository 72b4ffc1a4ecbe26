/* The older interface's conversions between rows, square and other blocks.  A matrix in rows is one of blocks of one element. */
/* SPDX-License-Identifier: Apache-2.0 */
#define AW_ROOM "cusparse"
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cusparse_proto.h"
#include "legacy.h"

#define INVALID CUSPARSE_STATUS_INVALID_VALUE
enum { IN = AW_LIB_IN, OUT = AW_LIB_OUT };

/* Rows of blocks and their size, and the memory of one matrix. */
struct side {
    int64_t rows, cols; /* in blocks */
    int high, wide;     /* of a block */
    const void *val;
    const int *ptr, *ind;
};
/* The job's arrays, of both sides, and its numbers. */
enum { COUNT, PTR_A, IND_A, VAL_A, PTR_C, IND_C, VAL_C };
enum { DIR, ROWS, COLS, HIGH_A, WIDE_A, HIGH_C, WIDE_C, BASES };

static int64_t blocks_of(int64_t elements, int64_t size)
{
    return (elements + size - 1) / size;
}

static int int_order(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* One conversion under way. */
struct change {
    const struct aw_sparse_job *j;
    int64_t rows_c, cols_c;
    int64_t *place; /* of each column of C: its block in this row, else what is before the row's first */
    int *cols;      /* of this row */
    int64_t n;      /* blocks of C so far */
};

/* Collects which blocks row `row` of C has. */
static int row_columns(struct change *c, int64_t row)
{
    const struct aw_sparse_job *j = c->j;
    int64_t first = row * j->n[HIGH_C], end = first + j->n[HIGH_C], all = j->n[ROWS] * j->n[HIGH_A];
    const int *ptr = j->array[PTR_A], *ind = j->array[IND_A];
    int base = j->n[BASES] & 1, n = 0;
    end = end < all ? end : all;
    for (int64_t block = first / j->n[HIGH_A]; block * j->n[HIGH_A] < end; block++)
        for (int64_t p = ptr[block] - base; p < ptr[block + 1] - base; p++) {
            int64_t at = (ind[p] - base) * j->n[WIDE_A], last = (at + j->n[WIDE_A] - 1) / j->n[WIDE_C];
            for (int64_t col = at / j->n[WIDE_C]; col <= last; col++)
                if (c->place[col] < c->n) {
                    c->place[col] = c->n; /* until they are sorted */
                    c->cols[n++] = (int)col;
                }
        }
    qsort(c->cols, (size_t)n, sizeof *c->cols, int_order);
    return n;
}

static int64_t in_block(const struct aw_sparse_job *j, int64_t row, int64_t col, int64_t high, int64_t wide)
{
    return j->n[DIR] == CUSPARSE_DIRECTION_ROW ? row * wide + col : row + col * high;
}

static void row_values(const struct change *c, int64_t row)
{
    const struct aw_sparse_job *j = c->j;
    const int *ptr = j->array[PTR_A], *ind = j->array[IND_A];
    int base = j->n[BASES] & 1;
    int64_t high_a = j->n[HIGH_A], wide_a = j->n[WIDE_A], high_c = j->n[HIGH_C], wide_c = j->n[WIDE_C];
    size_t size = aw_sparse_letter_size(j->t);
    for (int64_t i = row * high_c; i < (row + 1) * high_c && i < j->n[ROWS] * high_a; i++)
        for (int64_t p = ptr[i / high_a] - base; p < ptr[i / high_a + 1] - base; p++)
            for (int64_t k = 0; k < wide_a; k++) {
                int64_t col = (ind[p] - base) * wide_a + k;
                int64_t from = p * high_a * wide_a + in_block(j, i % high_a, k, high_a, wide_a);
                int64_t to = c->place[col / wide_c] * high_c * wide_c + in_block(j, i % high_c, col % wide_c, high_c, wide_c);
                memcpy((char *)j->array[VAL_C] + (size_t)to * size, (const char *)j->array[VAL_A] + (size_t)from * size, size);
            }
}

/* Offsets of C's rows, and, where there is room for them, its columns and values. */
static void run_change(struct aw_sparse_job *j)
{
    struct change c = { .j = j, .rows_c = blocks_of(j->n[ROWS] * j->n[HIGH_A], j->n[HIGH_C]),
                        .cols_c = blocks_of(j->n[COLS] * j->n[WIDE_A], j->n[WIDE_C]) };
    bool fills = !j->host && j->array_span[COUNT] < 0;
    size_t block = (size_t)(j->n[HIGH_C] * j->n[WIDE_C]) * aw_sparse_letter_size(j->t);
    int base = j->n[BASES] >> 1 & 1, *ptr = j->array[PTR_C], *ind = j->array[IND_C];
    c.place = malloc((size_t)c.cols_c * sizeof *c.place + 1);
    c.cols = malloc((size_t)c.cols_c * sizeof *c.cols + 1);
    for (int64_t i = 0; c.place && i < c.cols_c; i++)
        c.place[i] = -1;
    for (int64_t row = 0; c.place && c.cols && row < c.rows_c; row++) {
        int n = row_columns(&c, row);
        ptr[row] = (int)c.n + base;
        for (int k = 0; fills && k < n; k++) {
            c.place[c.cols[k]] = c.n + k;
            ind[c.n + k] = c.cols[k] + base;
            memset((char *)j->array[VAL_C] + (size_t)(c.n + k) * block, 0, block);
        }
        if (fills)
            row_values(&c, row);
        c.n += n;
    }
    if (c.place && c.cols)
        ptr[c.rows_c] = (int)c.n + base;
    else
        aw_sparse_job_no_memory(j);
    if (!fills)
        *(int *)(j->array_span[COUNT] >= 0 ? j->array[COUNT] : j->host) = (int)c.n;
    free(c.place);
    free(c.cols);
}

static bool side_valid(const struct side *s)
{
    return s->rows >= 0 && s->cols >= 0 && s->high >= 1 && s->wide >= 1 && s->ptr;
}

/* `count`: where the number of C's blocks goes, with its offsets alone; NULL: all of C is written.  On a card the numbers of
 * blocks must be known, to copy them. */
static cusparseStatus_t change(const char *name, cusparseHandle_t handle, cusparseDirection_t dir, cudaDataType type,
                               cusparseMatDescr_t da, const struct side *a, cusparseMatDescr_t dc, struct side *c, int *count)
{
    struct aw_sparse_job j;
    int64_t n_a = 0, n_c = 0;
    bool valid = (dir == CUSPARSE_DIRECTION_ROW || dir == CUSPARSE_DIRECTION_COLUMN) && dc && side_valid(a) && side_valid(c);
    cusparseStatus_t status = aw_sparse_legacy_check(handle, da, valid);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    c->rows = blocks_of(a->rows * a->high, c->high);
    status = aw_sparse_count_of(handle, a->ptr, a->rows, &n_a);
    if (status == CUSPARSE_STATUS_SUCCESS && c->high * c->wide == 1)
        n_c = n_a * a->high * a->wide;
    else if (status == CUSPARSE_STATUS_SUCCESS && !count)
        status = aw_sparse_count_of(handle, c->ptr, c->rows, &n_c);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    size_t size = aw_sparse_letter_size(aw_sparse_letter(type));
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_change);
    const int64_t numbers[] = { dir, a->rows, a->cols, a->high, a->wide, c->high, c->wide, da->base | dc->base << 1 };
    memcpy(j.n, numbers, sizeof numbers);
    aw_sparse_job_array(&j, PTR_A, a->ptr, (size_t)(a->rows + 1) * sizeof(int), IN);
    aw_sparse_job_array(&j, IND_A, a->ind, (size_t)n_a * sizeof(int), IN);
    aw_sparse_job_array(&j, PTR_C, c->ptr, (size_t)(c->rows + 1) * sizeof(int), OUT);
    if (count) {
        aw_sparse_count_to(&j, count);
        return aw_sparse_job_submit(&j, handle, !j.device);
    }
    aw_sparse_job_array(&j, VAL_A, a->val, (size_t)n_a * (size_t)(a->high * a->wide) * size, IN);
    aw_sparse_job_array(&j, IND_C, c->ind, (size_t)n_c * sizeof(int), OUT);
    aw_sparse_job_array(&j, VAL_C, c->val, (size_t)n_c * (size_t)(c->high * c->wide) * size, OUT);
    return aw_sparse_job_submit(&j, handle, false);
}

/* ---- Rows of blocks to columns of blocks, which stay as they are. */

static void run_transpose(struct aw_sparse_job *j)
{
    const int *ptr = j->array[PTR_A], *ind = j->array[IND_A];
    int *row_of = j->array[IND_C], *col_ptr = j->array[PTR_C], base = (int)j->n[BASES];
    size_t block = (size_t)(j->n[HIGH_A] * j->n[WIDE_A]) * aw_sparse_letter_size(j->t);
    int64_t rows = j->n[ROWS], cols = j->n[COLS];
    memset(col_ptr, 0, (size_t)(cols + 1) * sizeof *col_ptr);
    for (int64_t p = 0; p < ptr[rows] - ptr[0]; p++)
        col_ptr[ind[p] - base + 1]++;
    for (int64_t k = 0; k < cols; k++)
        col_ptr[k + 1] += col_ptr[k];
    for (int64_t i = 0; i < rows; i++)
        for (int64_t p = ptr[i] - base; p < ptr[i + 1] - base; p++) {
            int64_t to = col_ptr[ind[p] - base]++; /* which becomes the next column's first */
            row_of[to] = (int)i + base;
            if (j->array[VAL_C])
                memcpy((char *)j->array[VAL_C] + (size_t)to * block, (const char *)j->array[VAL_A] + (size_t)p * block, block);
        }
    for (int64_t k = cols; k > 0; k--)
        col_ptr[k] = col_ptr[k - 1] + base;
    col_ptr[0] = base;
}

static cusparseStatus_t transpose(const char *name, cusparseHandle_t handle, cudaDataType type, const struct side *a, int nnzb,
                                  const struct side *c, cusparseAction_t action, cusparseIndexBase_t base)
{
    struct aw_sparse_job j;
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    bool numeric = action == CUSPARSE_ACTION_NUMERIC;
    if (status != CUSPARSE_STATUS_SUCCESS)
        return status;
    if (!side_valid(a) || nnzb < 0 || !c->ptr || (!numeric && action != CUSPARSE_ACTION_SYMBOLIC) || base < 0 || base > 1 ||
        (nnzb && (!a->ind || !c->ind || (numeric && (!a->val || !c->val)))))
        return INVALID;
    size_t values = (size_t)nnzb * (size_t)(a->high * a->wide) * aw_sparse_letter_size(aw_sparse_letter(type));
    aw_sparse_job_init(&j, handle, name, aw_sparse_letter(type), run_transpose);
    j.n[ROWS] = a->rows, j.n[COLS] = a->cols, j.n[HIGH_A] = a->high, j.n[WIDE_A] = a->wide, j.n[BASES] = base;
    aw_sparse_job_array(&j, PTR_A, a->ptr, (size_t)(a->rows + 1) * sizeof(int), IN);
    aw_sparse_job_array(&j, IND_A, a->ind, (size_t)nnzb * sizeof(int), IN);
    aw_sparse_job_array(&j, PTR_C, c->ptr, (size_t)(a->cols + 1) * sizeof(int), OUT);
    aw_sparse_job_array(&j, IND_C, c->ind, (size_t)nnzb * sizeof(int), OUT);
    if (numeric) {
        aw_sparse_job_array(&j, VAL_A, a->val, values, IN);
        aw_sparse_job_array(&j, VAL_C, c->val, values, OUT);
    }
    return aw_sparse_job_submit(&j, handle, false);
}

/* ---- The calls. */

cusparseStatus_t awcusparse_cusparseXcsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t dir, int m, int n,
                                                  cusparseMatDescr_t da, const int *ptr, const int *ind, cusparseMatDescr_t dc,
                                                  int *ptr_c, int high, int wide, int *count, void *buffer)
{
    const struct side a = { m, n, 1, 1, .ptr = ptr, .ind = ind };
    struct side c = { .high = high, .wide = wide, .ptr = ptr_c };
    return count ? change("cusparseXcsr2gebsrNnz", handle, dir, CUDA_R_32F, da, &a, dc, &c, count) : INVALID;
}

cusparseStatus_t awcusparse_cusparseXcsr2bsrNnz(cusparseHandle_t handle, cusparseDirection_t dir, int m, int n,
                                                cusparseMatDescr_t da, const int *ptr, const int *ind, int size,
                                                cusparseMatDescr_t dc, int *ptr_c, int *count)
{
    return awcusparse_cusparseXcsr2gebsrNnz(handle, dir, m, n, da, ptr, ind, dc, ptr_c, size, size, count, NULL);
}

cusparseStatus_t awcusparse_cusparseXgebsr2gebsrNnz(cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nb, int nnzb,
                                                    cusparseMatDescr_t da, const int *ptr, const int *ind, int high_a, int wide_a,
                                                    cusparseMatDescr_t dc, int *ptr_c, int high, int wide, int *count,
                                                    void *buffer)
{
    const struct side a = { mb, nb, high_a, wide_a, .ptr = ptr, .ind = ind };
    struct side c = { .high = high, .wide = wide, .ptr = ptr_c };
    return count && nnzb >= 0 ? change("cusparseXgebsr2gebsrNnz", handle, dir, CUDA_R_32F, da, &a, dc, &c, count) : INVALID;
}

/* No buffer is needed. */
static cusparseStatus_t sized(cusparseHandle_t handle, bool valid, int *size)
{
    cusparseStatus_t status = aw_sparse_handle_check(handle);
    return aw_sparse_buffer_int(status == CUSPARSE_STATUS_SUCCESS && !valid ? INVALID : status, size);
}

#define BLOCKS(L, t, type, T, R)                                                                                                \
    cusparseStatus_t awcusparse_cusparse##L##csr2gebsr(                                                                         \
        cusparseHandle_t handle, cusparseDirection_t dir, int m, int n, cusparseMatDescr_t da, const T *val, const int *ptr,    \
        const int *ind, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c, int high, int wide, void *buffer)              \
    {                                                                                                                           \
        const struct side a = { m, n, 1, 1, val, ptr, ind };                                                                 \
        struct side c = { 0, 0, high, wide, val_c, ptr_c, ind_c };                                                           \
        return change("cusparse" #L "csr2gebsr", handle, dir, type, da, &a, dc, &c, NULL);                                      \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##csr2bsr(                                                                           \
        cusparseHandle_t handle, cusparseDirection_t dir, int m, int n, cusparseMatDescr_t da, const T *val, const int *ptr,    \
        const int *ind, int size, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c)                                      \
    {                                                                                                                           \
        const struct side a = { m, n, 1, 1, val, ptr, ind };                                                                 \
        struct side c = { 0, 0, size, size, val_c, ptr_c, ind_c };                                                           \
        return change("cusparse" #L "csr2bsr", handle, dir, type, da, &a, dc, &c, NULL);                                        \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##gebsr2csr(                                                                         \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nb, cusparseMatDescr_t da, const T *val, const int *ptr,  \
        const int *ind, int high, int wide, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c)                            \
    {                                                                                                                           \
        const struct side a = { mb, nb, high, wide, val, ptr, ind };                                                         \
        struct side c = { 0, 0, 1, 1, val_c, ptr_c, ind_c };                                                                 \
        return change("cusparse" #L "gebsr2csr", handle, dir, type, da, &a, dc, &c, NULL);                                      \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##bsr2csr(                                                                           \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nb, cusparseMatDescr_t da, const T *val, const int *ptr,  \
        const int *ind, int size, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c)                                      \
    {                                                                                                                           \
        return awcusparse_cusparse##L##gebsr2csr(handle, dir, mb, nb, da, val, ptr, ind, size, size, dc, val_c, ptr_c, ind_c);  \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##gebsr2gebsr(                                                                       \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nb, int nnzb, cusparseMatDescr_t da, const T *val,        \
        const int *ptr, const int *ind, int high_a, int wide_a, cusparseMatDescr_t dc, T *val_c, int *ptr_c, int *ind_c,        \
        int high, int wide, void *buffer)                                                                                       \
    {                                                                                                                           \
        const struct side a = { mb, nb, high_a, wide_a, val, ptr, ind };                                                     \
        struct side c = { 0, 0, high, wide, val_c, ptr_c, ind_c };                                                           \
        return nnzb < 0 ? INVALID : change("cusparse" #L "gebsr2gebsr", handle, dir, type, da, &a, dc, &c, NULL);               \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##gebsr2gebsc(                                                                       \
        cusparseHandle_t handle, int mb, int nb, int nnzb, const T *val, const int *ptr, const int *ind, int high, int wide,    \
        T *val_c, int *ind_c, int *ptr_c, cusparseAction_t action, cusparseIndexBase_t base, void *buffer)                      \
    {                                                                                                                           \
        const struct side a = { mb, nb, high, wide, val, ptr, ind }, c = { 0, 0, high, wide, val_c, ptr_c, ind_c };       \
        return transpose("cusparse" #L "gebsr2gebsc", handle, type, &a, nnzb, &c, action, base);                                \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##csr2gebsr_bufferSize(cusparseHandle_t handle, cusparseDirection_t dir, int m,      \
                                                                  int n, cusparseMatDescr_t da, const T *val, const int *ptr,   \
                                                                  const int *ind, int high, int wide, int *size)                \
    {                                                                                                                           \
        return sized(handle, m >= 0 && n >= 0 && high >= 1 && wide >= 1, size);                                                 \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##gebsr2gebsc_bufferSize(cusparseHandle_t handle, int mb, int nb, int nnzb,          \
                                                                    const T *val, const int *ptr, const int *ind, int high,     \
                                                                    int wide, int *size)                                        \
    {                                                                                                                           \
        return sized(handle, mb >= 0 && nb >= 0 && nnzb >= 0 && high >= 1 && wide >= 1, size);                                  \
    }                                                                                                                           \
    cusparseStatus_t awcusparse_cusparse##L##gebsr2gebsr_bufferSize(                                                            \
        cusparseHandle_t handle, cusparseDirection_t dir, int mb, int nb, int nnzb, cusparseMatDescr_t da, const T *val,        \
        const int *ptr, const int *ind, int high_a, int wide_a, int high, int wide, int *size)                                  \
    {                                                                                                                           \
        return sized(handle, mb >= 0 && nb >= 0 && nnzb >= 0 && high_a >= 1 && wide_a >= 1 && high >= 1 && wide >= 1, size);    \
    }
AW_SPARSE_FOUR(BLOCKS)
