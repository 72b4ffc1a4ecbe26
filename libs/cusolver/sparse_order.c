/* Orders of sparse matrices, on the host: permutations that factors fill in little with, and moving a matrix into an order. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cusolver_proto.h"
#include "sparse.h"

#define INVALID CUSOLVER_STATUS_INVALID_VALUE

static int by_number(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* ---- The pattern of A + A^T without its diagonal: who are neighbours. */

struct graph {
    int n, *ptr, *ind; /* each list ascends and has no number twice */
};

static void graph_drop(struct graph *g)
{
    free(g->ptr);
    free(g->ind);
}

/* Sorts each list and takes what stands twice away. */
static void graph_tidy(struct graph *g)
{
    int to = 0;
    for (int i = 0; i < g->n; i++) {
        int from = g->ptr[i], end = g->ptr[i + 1];
        qsort(g->ind + from, (size_t)(end - from), sizeof *g->ind, by_number);
        g->ptr[i] = to;
        for (int k = from; k < end; k++)
            if (to == g->ptr[i] || g->ind[to - 1] != g->ind[k])
                g->ind[to++] = g->ind[k];
    }
    g->ptr[g->n] = to;
}

static cusolverStatus_t graph_make(struct graph *g, int n, int nnz, int base, const int *ptr, const int *ind)
{
    *g = (struct graph){ n, NULL, NULL };
    if (ptr[0] != base || ptr[n] - base != nnz || nnz > INT_MAX / 2)
        return INVALID;
    for (int i = 0; i < n; i++)
        if (ptr[i] > ptr[i + 1])
            return INVALID;
    for (int k = 0; k < nnz; k++)
        if (ind[k] < base || ind[k] - base >= n)
            return INVALID;
    g->ptr = calloc((size_t)n + 2, sizeof(int));
    g->ind = malloc(((size_t)nnz * 2 + 1) * sizeof(int));
    if (!g->ptr || !g->ind)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    for (int i = 0; i < n; i++)
        for (int k = ptr[i] - base; k < ptr[i + 1] - base; k++)
            if (ind[k] - base != i)
                g->ptr[i + 2]++, g->ptr[ind[k] - base + 2]++;
    for (int i = 0; i < n; i++)
        g->ptr[i + 2] += g->ptr[i + 1];
    for (int i = 0; i < n; i++) /* ptr[i + 1] is how far list i is filled, and its end after */
        for (int k = ptr[i] - base; k < ptr[i + 1] - base; k++)
            if (ind[k] - base != i) {
                g->ind[g->ptr[i + 1]++] = ind[k] - base;
                g->ind[g->ptr[ind[k] - base + 1]++] = i;
            }
    graph_tidy(g);
    return CUSOLVER_STATUS_SUCCESS;
}

static int degree(const struct graph *g, int i)
{
    return g->ptr[i + 1] - g->ptr[i];
}

/* ---- Reverse Cuthill-McKee. */

/* Goes from `start` outwards, neighbours of few first; what it comes to is in `order`, marked with `mark`.  Returns how many, and
 * the first of those that are farthest. */
static int outwards(const struct graph *g, int start, int *seen, int mark, int *order, int *ret_depth, int *ret_far)
{
    int n = 1, level = 0, end = 1, depth = 0, far = start;
    order[0] = start;
    seen[start] = mark;
    for (int at = 0; at < n; at++) {
        if (at == end) {
            depth++;
            far = order[at];
            for (int k = at; k < n; k++)
                if (degree(g, order[k]) < degree(g, far))
                    far = order[k];
            end = n;
        }
        level = n;
        for (int k = g->ptr[order[at]]; k < g->ptr[order[at] + 1]; k++)
            if (seen[g->ind[k]] != mark) {
                int next = g->ind[k], to = n++;
                seen[next] = mark;
                for (; to > level && degree(g, order[to - 1]) > degree(g, next); to--)
                    order[to] = order[to - 1];
                order[to] = next;
            }
    }
    *ret_depth = depth;
    *ret_far = far;
    return n;
}

/* Each part of the graph from one of its ends. */
static bool cuthill_mckee(const struct graph *g, int *p)
{
    int *seen = malloc(((size_t)g->n + 1) * sizeof *seen), mark = 0, done = 0;
    for (int i = 0; seen && i < g->n; i++)
        seen[i] = -1;
    for (int i = 0; seen && i < g->n; i++) {
        int start = i, depth = -1, next, now;
        if (seen[i] >= 0)
            continue;
        while (outwards(g, start, seen, mark++, p + done, &now, &next), now > depth)
            depth = now, start = next;
        done += outwards(g, start, seen, mark++, p + done, &now, &next);
    }
    for (int i = 0; i < g->n / 2; i++) {
        int t = p[i];
        p[i] = p[g->n - 1 - i], p[g->n - 1 - i] = t;
    }
    free(seen);
    return seen != NULL;
}

/* ---- By least degree: CXSparse's. */

static bool least_degree(const struct graph *g, int *p)
{
    struct cs a = { g->ptr[g->n], g->n, g->n, g->ptr, g->ind, NULL, -1 };
    int *order = aw_cx_open('d')->amd(1, &a);
    if (order)
        memcpy(p, order, (size_t)g->n * sizeof *p);
    free(order);
    return order != NULL;
}

static cusolverStatus_t order(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr, const int *ptr, const int *ind,
                              int *p, bool (*find)(const struct graph *g, int *p))
{
    struct graph g;
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (n > 0 && !p)
        return INVALID;
    status = aw_solver_sparse_valid('d', n, n, nnz, descr, ptr, ind);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    status = graph_make(&g, n, nnz, (int)descr->base, ptr, ind);
    if (status == CUSOLVER_STATUS_SUCCESS && !find(&g, p))
        status = CUSOLVER_STATUS_ALLOC_FAILED;
    graph_drop(&g);
    return status;
}

cusolverStatus_t awcusolver_cusolverSpXcsrsymrcmHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                                     const int *ptr, const int *ind, int *p)
{
    return order(handle, n, nnz, descr, ptr, ind, p, cuthill_mckee);
}

cusolverStatus_t awcusolver_cusolverSpXcsrsymamdHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                                     const int *ptr, const int *ind, int *p)
{
    return order(handle, n, nnz, descr, ptr, ind, p, least_degree);
}

cusolverStatus_t awcusolver_cusolverSpXcsrsymmdqHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                                     const int *ptr, const int *ind, int *p)
{
    return order(handle, n, nnz, descr, ptr, ind, p, least_degree);
}

/* There is no METIS: an order by least degree is one of its kind. */
cusolverStatus_t awcusolver_cusolverSpXcsrmetisndHost(cusolverSpHandle_t handle, int n, int nnz, cusparseMatDescr_t descr,
                                                      const int *ptr, const int *ind, const int64_t *options, int *p)
{
    return order(handle, n, nnz, descr, ptr, ind, p, least_degree);
}

/* ---- Is the pattern symmetric?  Row i's end is a number of its own. */

cusolverStatus_t awcusolver_cusolverSpXcsrissymHost(cusolverSpHandle_t handle, int m, int nnz, cusparseMatDescr_t descr,
                                                    const int *ptr, const int *end, const int *ind, int *ret)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (m < 0 || nnz < 0 || !descr || (m && (!ptr || !end)) || (nnz && !ind) || !ret)
        return INVALID;
    int base = (int)descr->base, symmetric = 1;
    for (int i = 0; i < m && symmetric; i++)
        for (int k = ptr[i] - base; k < end[i] - base && symmetric; k++) {
            int j = ind[k] - base;
            symmetric = 0;
            for (int e = j >= 0 && j < m ? ptr[j] - base : INT_MAX; e < (j >= 0 && j < m ? end[j] - base : 0); e++)
                symmetric |= ind[e] - base == i;
        }
    *ret = symmetric;
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- Moving: B(i, j) = A(p[i], q[j]), in A's place. */

cusolverStatus_t awcusolver_cusolverSpXcsrperm_bufferSizeHost(cusolverSpHandle_t handle, int m, int n, int nnz,
                                                              cusparseMatDescr_t descr, const int *ptr, const int *ind,
                                                              const int *p, const int *q, size_t *size)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (m < 0 || n < 0 || nnz < 0 || !descr || !ptr || (nnz && !ind) || (m && !p) || (n && !q) || !size)
        return INVALID;
    *size = 256; /* it is not used */
    return CUSOLVER_STATUS_SUCCESS;
}

static bool permutation(const int *p, int n, int *inverse)
{
    for (int i = 0; i < n; i++)
        inverse[i] = -1;
    for (int i = 0; i < n; i++) {
        if (p[i] < 0 || p[i] >= n || inverse[p[i]] >= 0)
            return false;
        inverse[p[i]] = i;
    }
    return true;
}

struct element {
    int column, from;
};

static int by_column(const void *a, const void *b)
{
    return by_number(&((const struct element *)a)->column, &((const struct element *)b)->column);
}

/* `map` says of each value where it was; it is given with what it says of A. */
cusolverStatus_t awcusolver_cusolverSpXcsrpermHost(cusolverSpHandle_t handle, int m, int n, int nnz, cusparseMatDescr_t descr,
                                                   int *ptr, int *ind, const int *p, const int *q, int *map, void *buffer)
{
    cusolverStatus_t status = aw_solver_sparse_check(handle);
    if (status != CUSOLVER_STATUS_SUCCESS)
        return status;
    if (m < 0 || n < 0 || nnz < 0 || !descr || !ptr || (nnz && (!ind || !map)) || (m && !p) || (n && !q))
        return INVALID;
    int base = (int)descr->base, most = m > n ? m : n, k = 0;
    int *old = malloc(((size_t)m + 1) * sizeof *old), *inverse = malloc(((size_t)most + 1) * sizeof *inverse);
    struct element *all = malloc(((size_t)nnz + 1) * sizeof *all);
    status = !old || !inverse || !all                                     ? CUSOLVER_STATUS_ALLOC_FAILED
             : !permutation(p, m, inverse) || !permutation(q, n, inverse) ? INVALID
                                                                          : CUSOLVER_STATUS_SUCCESS;
    for (int i = 0; i <= m && status == CUSOLVER_STATUS_SUCCESS; i++) {
        old[i] = ptr[i] - base;
        if (old[i] < 0 || old[i] > nnz || (i ? old[i] < old[i - 1] : old[i] != 0))
            status = INVALID;
    }
    for (int e = 0; e < nnz && status == CUSOLVER_STATUS_SUCCESS; e++)
        if (ind[e] < base || ind[e] - base >= n)
            status = INVALID;
    for (int i = 0; i < m && status == CUSOLVER_STATUS_SUCCESS; i++) {
        int first = k;
        for (int e = old[p[i]]; e < old[p[i] + 1]; e++)
            all[k++] = (struct element){ inverse[ind[e] - base], map[e] };
        qsort(all + first, (size_t)(k - first), sizeof *all, by_column);
        ptr[i] = first + base;
    }
    for (int e = 0; e < k; e++) {
        ind[e] = all[e].column + base;
        map[e] = all[e].from;
    }
    free(old);
    free(inverse);
    free(all);
    return status;
}
