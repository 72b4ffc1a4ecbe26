/* Sparse LU in a known order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "refactor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool aw_refactor_good(const struct aw_refactor_matrix *a)
{
    if (a->n < 0 || a->nnz < 0 || !a->ptr || (a->nnz && !a->ind) || a->ptr[0] != 0 || a->ptr[a->n] != a->nnz)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->ptr[i] > a->ptr[i + 1] || a->ptr[i + 1] > a->nnz)
            return false;
    for (int k = 0; k < a->nnz; k++)
        if (a->ind[k] < 0 || a->ind[k] >= a->n)
            return false;
    return true;
}

/* The inverse of a permutation; NULL: it is none, or memory is out. */
static int *inverse(const int *p, int n)
{
    int *to = malloc(((size_t)n + 1) * sizeof *to);
    for (int i = 0; to && i < n; i++)
        to[i] = -1;
    for (int i = 0; to && i < n; i++) {
        if (p[i] < 0 || p[i] >= n || to[p[i]] >= 0) {
            free(to);
            return NULL;
        }
        to[p[i]] = i;
    }
    return to;
}

static void *copy(const void *from, size_t n, size_t size)
{
    void *to = malloc((n + 1) * size);
    if (to && n)
        memcpy(to, from, n * size);
    return to;
}

bool aw_refactor_setup(struct aw_refactor *r, int count, const struct aw_refactor_matrix *a, const double *const *values,
                       const int *p, const int *q)
{
    size_t n = (size_t)a->n, nnz = (size_t)a->nnz;
    int *rows = inverse(p, a->n), *columns = inverse(q, a->n);
    struct aw_refactor to = { .n = a->n, .nnz = a->nnz, .count = count, .zero = r->zero, .boost = r->boost };
    to.row = malloc((nnz + 1) * sizeof(int));
    to.column = malloc((nnz + 1) * sizeof(int));
    to.p = copy(p, n, sizeof(int));
    to.q = copy(q, n, sizeof(int));
    to.a = malloc((nnz * (size_t)count + 1) * sizeof(double));
    to.bad = calloc((size_t)count + 1, sizeof(int));
    bool good = aw_refactor_good(a) && rows && columns && to.row && to.column && to.p && to.q && to.a && to.bad;
    for (int i = 0; good && i < a->n; i++)
        for (int k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            to.row[k] = rows[a->columns ? a->ind[k] : i];
            to.column[k] = columns[a->columns ? i : a->ind[k]];
        }
    for (int k = 0; good && k < count; k++)
        if (nnz)
            memcpy(to.a + (size_t)k * nnz, values[k], nnz * sizeof(double));
    free(rows);
    free(columns);
    aw_refactor_drop(good ? r : &to);
    if (good)
        *r = to;
    return good;
}

/* ---- The pattern. */

/* Which columns a row has, as a list in ascending order; n: its end. `next` of n is the first. */
struct row {
    int n, *next;
    bool *there;
};

/* Adds a column that is behind `after`, which is one of the list or n; returns it. */
static int add(struct row *row, int after, int column)
{
    if (row->there[column])
        return column;
    while (row->next[after] < column)
        after = row->next[after];
    row->next[column] = row->next[after];
    row->next[after] = column;
    row->there[column] = true;
    return column;
}

/* Elements by their rows, in any order. */
struct lists {
    int *first, *next, *column;
};

static void element(struct lists *l, int k, int row, int column)
{
    l->column[k] = column;
    l->next[k] = l->first[row];
    l->first[row] = k;
}

static int matrix_elements(struct lists *l, int k, const struct aw_refactor_matrix *m)
{
    for (int i = 0; m && i < m->n; i++)
        for (int at = m->ptr[i]; at < m->ptr[i + 1]; at++)
            element(l, k++, m->columns ? m->ind[at] : i, m->columns ? i : m->ind[at]);
    return k;
}

/* Appends the row's columns to the pattern, whose room grows. */
static bool row_store(struct aw_refactor *r, struct row *row, int i, size_t *room)
{
    int at = r->ptr[i], n = r->n;
    for (int j = row->next[n]; j < n; j = row->next[j]) {
        if ((size_t)at >= *room) {
            *room = *room * 2 + 64;
            int *more = *room > 0x7fffffff ? NULL : realloc(r->ind, *room * sizeof *more);
            if (!more)
                return false;
            r->ind = more;
        }
        if (j == i)
            r->diag[i] = at;
        row->there[j] = false;
        r->ind[at++] = j;
    }
    r->ptr[i + 1] = at;
    row->next[n] = n;
    return true;
}

/* Row by row: its own columns, and of each row above that it takes away, what that has behind its diagonal. */
static bool fill(struct aw_refactor *r, const struct lists *l, struct row *row)
{
    size_t room = 0;
    int n = r->n;
    row->next[n] = n;
    for (int i = 0; i < n; i++) {
        add(row, n, i);
        for (int k = l->first[i]; k >= 0; k = l->next[k])
            add(row, n, l->column[k]);
        for (int k = row->next[n]; k < i; k = row->next[k])
            for (int at = r->diag[k] + 1, after = k; at < r->ptr[k + 1]; at++)
                after = add(row, after, r->ind[at]);
        if (!row_store(r, row, i, &room))
            return false;
    }
    return true;
}

static void places(struct aw_refactor *r)
{
    for (int k = 0; k < r->nnz; k++) {
        int low = r->ptr[r->row[k]], high = r->ptr[r->row[k] + 1];
        while (high - low > 1) {
            int middle = low + (high - low) / 2;
            if (r->ind[middle] <= r->column[k])
                low = middle;
            else
                high = middle;
        }
        r->place[k] = low;
    }
}

bool aw_refactor_analyse(struct aw_refactor *r, const struct aw_refactor_matrix *l, const struct aw_refactor_matrix *u)
{
    size_t n = (size_t)r->n, most = (size_t)r->nnz + (size_t)l->nnz + (size_t)u->nnz;
    struct lists lists = { malloc((n + 1) * sizeof(int)), malloc((most + 1) * sizeof(int)), malloc((most + 1) * sizeof(int)) };
    struct row row = { r->n, malloc((n + 1) * sizeof(int)), calloc(n + 1, sizeof(bool)) };
    free(r->ptr), free(r->ind), free(r->diag), free(r->place), free(r->lu);
    r->ptr = calloc(n + 1, sizeof(int));
    r->ind = NULL;
    r->diag = malloc((n + 1) * sizeof(int));
    r->place = malloc(((size_t)r->nnz + 1) * sizeof(int));
    r->lu = NULL;
    r->factored = false;
    bool good = lists.first && lists.next && lists.column && row.next && row.there && r->ptr && r->diag && r->place;
    if (good) {
        for (int i = 0; i < r->n; i++)
            lists.first[i] = -1;
        for (int k = 0; k < r->nnz; k++)
            element(&lists, k, r->row[k], r->column[k]);
        matrix_elements(&lists, matrix_elements(&lists, r->nnz, l), u);
        good = fill(r, &lists, &row);
    }
    if (good) {
        places(r);
        r->lu = malloc(((size_t)r->ptr[r->n] * (size_t)r->count + 1) * sizeof(double));
        good = r->lu != NULL;
    }
    free(lists.first), free(lists.next), free(lists.column), free(row.next), free(row.there);
    if (!good) {
        free(r->ptr);
        r->ptr = NULL;
    }
    return good;
}

/* ---- The numbers. */

/* Values of one matrix, by the pattern; `work` is a row of zeros, and is one after. */
static bool factor(struct aw_refactor *r, int k, double *lu, double *work)
{
    const double *a = r->a + (size_t)k * (size_t)r->nnz;
    memset(lu, 0, (size_t)r->ptr[r->n] * sizeof *lu);
    for (int e = 0; e < r->nnz; e++)
        lu[r->place[e]] += a[e];
    for (int i = 0; i < r->n; i++) {
        for (int at = r->ptr[i]; at < r->ptr[i + 1]; at++)
            work[r->ind[at]] = lu[at];
        for (int at = r->ptr[i]; at < r->diag[i]; at++) {
            int above = r->ind[at];
            double l = work[above] /= lu[r->diag[above]];
            for (int e = r->diag[above] + 1; e < r->ptr[above + 1]; e++)
                work[r->ind[e]] -= l * lu[e];
        }
        for (int at = r->ptr[i]; at < r->ptr[i + 1]; at++) {
            lu[at] = work[r->ind[at]];
            work[r->ind[at]] = 0;
        }
        double *pivot = &lu[r->diag[i]];
        if (!(fabs(*pivot) > r->zero) && r->boost != 0) {
            *pivot = r->boost;
            r->boosted = true;
        } else if (!(fabs(*pivot) > r->zero)) {
            r->bad[k] = i;
            return false;
        }
    }
    r->bad[k] = -1;
    return true;
}

bool aw_refactor_factor(struct aw_refactor *r)
{
    double *work = calloc((size_t)r->n + 1, sizeof *work);
    bool good = work != NULL;
    r->boosted = false;
    for (int k = 0; work && k < r->count; k++) {
        double *lu = r->lu + (size_t)k * (size_t)r->ptr[r->n];
        if (!factor(r, k, lu, work)) { /* what is solved with it is NaN */
            for (int e = 0; e < r->ptr[r->n]; e++)
                lu[e] = NAN;
            memset(work, 0, (size_t)r->n * sizeof *work);
            good = false;
        }
    }
    r->factored = work != NULL;
    free(work);
    return good;
}

void aw_refactor_solve(const struct aw_refactor *r, int k, double *b, double *work)
{
    const double *lu = r->lu + (size_t)k * (size_t)r->ptr[r->n];
    for (int i = 0; i < r->n; i++) {
        double sum = b[r->p[i]];
        for (int at = r->ptr[i]; at < r->diag[i]; at++)
            sum -= lu[at] * work[r->ind[at]];
        work[i] = sum;
    }
    for (int i = r->n - 1; i >= 0; i--) {
        double sum = work[i];
        for (int at = r->diag[i] + 1; at < r->ptr[i + 1]; at++)
            sum -= lu[at] * work[r->ind[at]];
        work[i] = sum / lu[r->diag[i]];
    }
    for (int i = 0; i < r->n; i++)
        b[r->q[i]] = work[i];
}

void aw_refactor_drop(struct aw_refactor *r)
{
    free(r->row), free(r->column), free(r->p), free(r->q);
    free(r->ptr), free(r->ind), free(r->diag), free(r->place);
    free(r->a), free(r->lu), free(r->bad);
    *r = (struct aw_refactor){ .zero = r->zero, .boost = r->boost };
}
