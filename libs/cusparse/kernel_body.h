/* The loops of kernel.h for values of type T, indices of type I: included once for each pair by kernel.c, which names them by
 * NAME. */
/* SPDX-License-Identifier: Apache-2.0 */

static void NAME(product_rows)(const struct aw_sparse_rows *a, bool conjugate, T alpha, const struct aw_sparse_dense *b, T beta,
                               const struct aw_sparse_dense *c)
{
    enum { WIDTH = 32 };
    const I *ptr = a->ptr, *ind = a->ind;
    const T *val = a->val, *from = b->at;
    T *to = c->at, sum[WIDTH];
    for (int64_t i = 0; i < a->rows; i++) {
        for (int64_t j0 = 0; j0 < c->cols; j0 += WIDTH) {
            int64_t n = c->cols - j0 < WIDTH ? c->cols - j0 : WIDTH, across = b->across;
            memset(sum, 0, (size_t)n * sizeof *sum);
            for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++) {
                T v = conjugate ? CONJ(val[p]) : val[p];
                const T *x = from + (ind[p] - a->base) * b->down + j0 * across;
                for (int64_t j = 0; j < n; j++)
                    sum[j] += v * x[j * across];
            }
            for (int64_t j = 0; j < n; j++) {
                T *y = to + i * c->down + (j0 + j) * c->across;
                *y = beta == 0 ? alpha * sum[j] : alpha * sum[j] + beta * *y;
            }
        }
    }
}

static void NAME(product)(const struct aw_sparse_rows *a, struct aw_sparse_op op, const void *alpha_at,
                          const struct aw_sparse_dense *b, const void *beta_at, const struct aw_sparse_dense *c)
{
    const I *ptr = a->ptr, *ind = a->ind;
    const T *val = a->val, *from = b->at, alpha = *(const T *)alpha_at, beta = *(const T *)beta_at;
    T *to = c->at;
    if (!op.transpose) {
        NAME(product_rows)(a, op.conjugate, alpha, b, beta, c);
        return;
    }
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t j = 0; j < c->cols; j++) {
            T *y = to + i * c->down + j * c->across;
            *y = beta == 0 ? 0 : beta * *y;
        }
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++) {
            T v = alpha * (op.conjugate ? CONJ(val[p]) : val[p]);
            const T *x = from + i * b->down;
            T *y = to + (ind[p] - a->base) * c->down;
            for (int64_t j = 0; j < c->cols; j++)
                y[j * c->across] += v * x[j * b->across];
        }
}

static void NAME(sampled)(const struct aw_sparse_rows *c, const void *alpha_at, const struct aw_sparse_dense *a, bool conj_a,
                          const struct aw_sparse_dense *b, bool conj_b, const void *beta_at, void *val)
{
    const I *ptr = c->ptr, *ind = c->ind;
    const T *old = c->val, alpha = *(const T *)alpha_at, beta = *(const T *)beta_at;
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t p = ptr[i] - c->base; p < (int64_t)ptr[i + 1] - c->base; p++) {
            const T *x = (const T *)a->at + i * a->down, *y = (const T *)b->at + (ind[p] - c->base) * b->across;
            T sum = 0;
            for (int64_t k = 0; k < a->cols; k++) {
                T u = x[k * a->across], v = y[k * b->down];
                sum += (conj_a ? CONJ(u) : u) * (conj_b ? CONJ(v) : v);
            }
            ((T *)val)[c->place ? c->place[p] : p] = beta == 0 ? alpha * sum : alpha * sum + beta * old[p];
        }
}

/* Rows from the end of the triangle that has one element, each by those before. */
static void NAME(solve_column)(const struct aw_sparse_rows *a, struct aw_sparse_op op, bool upper, bool unit, T *x, int64_t down)
{
    const I *ptr = a->ptr, *ind = a->ind;
    const T *val = a->val;
    bool backward = upper != op.transpose;
    for (int64_t k = 0; k < a->rows; k++) {
        int64_t i = backward ? a->rows - 1 - k : k;
        T sum = x[i * down], diagonal = 0;
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++) {
            int64_t j = ind[p] - a->base;
            T v = op.conjugate ? CONJ(val[p]) : val[p];
            if (j == i)
                diagonal += v;
            else if (!op.transpose && (upper ? j > i : j < i))
                sum -= v * x[j * down];
        }
        x[i * down] = sum = unit ? sum : sum / (INTEGER && diagonal == 0 ? 1 : diagonal);
        for (int64_t p = ptr[i] - a->base; op.transpose && p < (int64_t)ptr[i + 1] - a->base; p++) {
            int64_t j = ind[p] - a->base;
            if (upper ? j > i : j < i)
                x[j * down] -= (op.conjugate ? CONJ(val[p]) : val[p]) * sum;
        }
    }
}

static void NAME(solve)(const struct aw_sparse_rows *a, struct aw_sparse_op op, bool upper, bool unit,
                        const struct aw_sparse_dense *x)
{
    for (int64_t j = 0; j < x->cols; j++)
        NAME(solve_column)(a, op, upper, unit, (T *)x->at + j * x->across, x->down);
}

/* A row as sums by column.  Where there are many more columns than a row can have terms, a column's place is one in a table of
 * hashes, else the column itself; `mark` has the row that a place was last taken in, `key` the column that took it. */
struct NAME(row) {
    T *sum;
    int64_t *mark, *key, *met, n_met;
    uint64_t mask; /* of a table of hashes; 0: there is none */
};

/* `most`: terms of any row. */
static bool NAME(row_init)(struct NAME(row) * r, int64_t cols, int64_t most)
{
    enum { FEW = 1 << 16 };
    size_t n = (size_t)(cols ? cols : 1);
    *r = (struct NAME(row)){ 0 };
    if (cols > FEW && cols / 8 > most) {
        for (n = 16; n < 2 * (size_t)most; n *= 2)
            ;
        r->mask = n - 1;
    }
    r->sum = malloc(n * sizeof *r->sum);
    r->mark = malloc(n * sizeof *r->mark);
    r->key = r->mask ? malloc(n * sizeof *r->key) : NULL;
    r->met = malloc(n * sizeof *r->met);
    for (size_t j = 0; r->mark && j < n; j++)
        r->mark[j] = -1;
    return r->sum && r->mark && r->met && (!r->mask || r->key);
}

static void NAME(row_free)(struct NAME(row) * r)
{
    free(r->sum);
    free(r->mark);
    free(r->key);
    free(r->met);
}

/* Column j's place in row i. */
static inline int64_t NAME(row_place)(const struct NAME(row) * r, int64_t i, int64_t j)
{
    if (!r->mask)
        return j;
    uint64_t at = ((uint64_t)j * 0x9e3779b97f4a7c15u >> 20) & r->mask;
    while (r->mark[at] == i && r->key[at] != j)
        at = (at + 1) & r->mask;
    r->key[at] = j;
    return (int64_t)at;
}

static inline void NAME(row_add)(struct NAME(row) * r, int64_t i, int64_t j, T value)
{
    int64_t at = NAME(row_place)(r, i, j);
    if (r->mark[at] != i) {
        r->mark[at] = i;
        r->met[r->n_met++] = j;
        r->sum[at] = value;
    } else {
        r->sum[at] += value;
    }
}

/* Appends the row to `out` and empties it. */
static bool NAME(row_end)(struct NAME(row) * r, int64_t i, struct aw_sparse_built *out)
{
    if (!built_reserve(out, r->n_met, sizeof(T)))
        return false;
    qsort(r->met, (size_t)r->n_met, sizeof *r->met, compare_int64);
    for (int64_t k = 0; k < r->n_met; k++) {
        out->ind[out->nnz] = r->met[k];
        ((T *)out->val)[out->nnz++] = r->sum[NAME(row_place)(r, i, r->met[k])];
    }
    out->ptr[i + 1] = out->nnz;
    r->n_met = 0;
    return true;
}

/* The most products that a row of a b is the sum of. */
static int64_t NAME(most_products)(const struct aw_sparse_rows *a, const struct aw_sparse_rows *b)
{
    const I *ap = a->ptr, *ai = a->ind, *bp = b->ptr;
    int64_t most = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t n = 0;
        for (int64_t p = ap[i] - a->base; p < (int64_t)ap[i + 1] - a->base; p++)
            n += (int64_t)bp[ai[p] - a->base + 1] - (int64_t)bp[ai[p] - a->base];
        most = n > most ? n : most;
    }
    return most;
}

static bool NAME(multiply)(const struct aw_sparse_rows *a, const struct aw_sparse_rows *b, struct aw_sparse_built *out)
{
    const I *ap = a->ptr, *ai = a->ind, *bp = b->ptr, *bi = b->ind;
    struct NAME(row) row;
    bool good = built_init(out, a->rows) && NAME(row_init)(&row, b->cols, NAME(most_products)(a, b));
    if (!out->ptr)
        return false;
    for (int64_t i = 0; i < a->rows && good; i++) {
        for (int64_t p = ap[i] - a->base; p < (int64_t)ap[i + 1] - a->base; p++) {
            int64_t k = ai[p] - a->base;
            T v = ((const T *)a->val)[p];
            for (int64_t q = bp[k] - b->base; q < (int64_t)bp[k + 1] - b->base; q++)
                NAME(row_add)(&row, i, bi[q] - b->base, v * ((const T *)b->val)[q]);
        }
        good = NAME(row_end)(&row, i, out);
    }
    NAME(row_free)(&row);
    return good;
}

static bool NAME(add)(const struct aw_sparse_rows *a, const void *alpha, const struct aw_sparse_rows *b, const void *beta,
                      struct aw_sparse_built *out)
{
    const struct aw_sparse_rows *both[] = { a, b };
    const T scale[] = { *(const T *)alpha, *(const T *)beta };
    const I *ap = a->ptr, *bp = b->ptr;
    struct NAME(row) row;
    int64_t most = 0;
    for (int64_t i = 0; i < a->rows; i++) {
        int64_t n = (int64_t)ap[i + 1] - (int64_t)ap[i] + (int64_t)bp[i + 1] - (int64_t)bp[i];
        most = n > most ? n : most;
    }
    bool good = built_init(out, a->rows) && NAME(row_init)(&row, a->cols, most);
    if (!out->ptr)
        return false;
    for (int64_t i = 0; i < a->rows && good; i++) {
        for (int k = 0; k < 2; k++) {
            const struct aw_sparse_rows *m = both[k];
            const I *ptr = m->ptr, *ind = m->ind;
            for (int64_t p = ptr[i] - m->base; p < (int64_t)ptr[i + 1] - m->base; p++)
                NAME(row_add)(&row, i, ind[p] - m->base, scale[k] * ((const T *)m->val)[p]);
        }
        good = NAME(row_end)(&row, i, out);
    }
    NAME(row_free)(&row);
    return good;
}

static bool NAME(transpose)(const struct aw_sparse_rows *a, struct aw_sparse_op op, struct aw_sparse_built *out)
{
    const I *ptr = a->ptr, *ind = a->ind;
    int64_t nnz = ptr[a->rows] - ptr[0], rows = op.transpose ? a->cols : a->rows;
    if (!built_init(out, rows) || !built_reserve(out, nnz, sizeof(T)))
        return false;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++)
            out->ptr[(op.transpose ? ind[p] - a->base : i) + 1]++;
    for (int64_t i = 0; i < rows; i++)
        out->ptr[i + 1] += out->ptr[i];
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++) {
            int64_t j = ind[p] - a->base, at = out->ptr[op.transpose ? j : i]++;
            T v = ((const T *)a->val)[p];
            out->ind[at] = op.transpose ? i : j;
            ((T *)out->val)[at] = op.conjugate ? CONJ(v) : v;
        }
    memmove(out->ptr + 1, out->ptr, (size_t)rows * sizeof *out->ptr);
    out->ptr[0] = 0;
    out->nnz = nnz;
    return true;
}

static void NAME(combine)(int64_t n, const void *alpha_at, const void *from, const void *beta_at, void *to)
{
    const T alpha = *(const T *)alpha_at, beta = *(const T *)beta_at;
    for (int64_t i = 0; i < n; i++) {
        T sum = alpha == 0 ? 0 : alpha * ((const T *)from)[i];
        ((T *)to)[i] = beta == 0 ? sum : sum + beta * ((const T *)to)[i];
    }
}

/* Where each row's diagonal lies, and -1 for every column in `at`; false: memory is out. */
static bool NAME(diagonals)(const struct aw_sparse_rows *a, int64_t **ret_diagonal, int64_t **ret_at)
{
    const I *ptr = a->ptr, *ind = a->ind;
    int64_t *diagonal = malloc((size_t)(a->rows + 1) * sizeof *diagonal), *at = malloc((size_t)(a->cols + 1) * sizeof *at);
    *ret_diagonal = diagonal, *ret_at = at;
    if (!diagonal || !at)
        return false;
    for (int64_t j = 0; j < a->cols; j++)
        at[j] = -1;
    for (int64_t i = 0; i < a->rows; i++) {
        diagonal[i] = -1;
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++)
            if (ind[p] - a->base == i)
                diagonal[i] = p;
    }
    return true;
}

static int64_t NAME(lu)(const struct aw_sparse_rows *a, const double *tolerance, const void *instead)
{
    const I *ptr = a->ptr, *ind = a->ind;
    T *val = (T *)a->val;
    int64_t *diagonal, *at, zero = -1;
    bool good = NAME(diagonals)(a, &diagonal, &at);
    for (int64_t i = 0; i < a->rows && good; i++) {
        int64_t first = ptr[i] - a->base, end = ptr[i + 1] - a->base;
        for (int64_t p = first; p < end; p++)
            at[ind[p] - a->base] = p;
        for (int64_t p = first; p < end; p++) {
            int64_t k = ind[p] - a->base;
            if (k >= i || diagonal[k] < 0)
                continue;
            T factor = val[p] = INTEGER ? 0 : val[p] / val[diagonal[k]];
            for (int64_t q = ptr[k] - a->base; q < (int64_t)ptr[k + 1] - a->base; q++) {
                int64_t j = ind[q] - a->base;
                if (j > k && at[j] >= 0)
                    val[at[j]] -= factor * val[q];
            }
        }
        if (diagonal[i] >= 0 && tolerance && MAGNITUDE(val[diagonal[i]]) <= *tolerance)
            val[diagonal[i]] = *(const T *)instead;
        if (zero < 0 && (diagonal[i] < 0 || val[diagonal[i]] == 0))
            zero = i;
        for (int64_t p = first; p < end; p++)
            at[ind[p] - a->base] = -1;
    }
    free(diagonal);
    free(at);
    return good ? zero : -2;
}

static int64_t NAME(cholesky)(const struct aw_sparse_rows *a)
{
    const I *ptr = a->ptr, *ind = a->ind;
    T *val = (T *)a->val;
    int64_t *diagonal, *at, zero = -1;
    bool good = NAME(diagonals)(a, &diagonal, &at);
    for (int64_t i = 0; i < a->rows && good; i++) {
        int64_t first = ptr[i] - a->base, end = ptr[i + 1] - a->base;
        for (int64_t p = first; p < end; p++)
            at[ind[p] - a->base] = p;
        for (int64_t p = first; p < end; p++) {
            int64_t k = ind[p] - a->base;
            if (k > i || diagonal[k] < 0)
                continue;
            T sum = val[p];
            for (int64_t q = ptr[k] - a->base; q < (int64_t)ptr[k + 1] - a->base; q++) {
                int64_t j = ind[q] - a->base;
                if (j < k && at[j] >= 0)
                    sum -= val[at[j]] * CONJ(val[q]);
            }
            val[p] = INTEGER ? 0 : k == i ? (T)ROOT(sum) : sum / val[diagonal[k]];
        }
        if (zero < 0 && (diagonal[i] < 0 || val[diagonal[i]] == 0))
            zero = i;
        for (int64_t p = first; p < end; p++)
            at[ind[p] - a->base] = -1;
    }
    free(diagonal);
    free(at);
    return good ? zero : -2;
}

static int64_t NAME(pivot)(const struct aw_sparse_rows *a, bool values)
{
    const I *ptr = a->ptr, *ind = a->ind;
    for (int64_t i = 0; i < a->rows; i++) {
        bool found = false;
        for (int64_t p = ptr[i] - a->base; p < (int64_t)ptr[i + 1] - a->base; p++)
            found |= ind[p] - a->base == i && (!values || ((const T *)a->val)[p] != 0);
        if (!found)
            return i;
    }
    return -1;
}

static const struct aw_sparse_kernels NAME(kernels) = {
    sizeof(T),       NAME(product), NAME(sampled), NAME(solve),    NAME(multiply), NAME(add),
    NAME(transpose), NAME(combine), NAME(lu),      NAME(cholesky), NAME(pivot),
};
