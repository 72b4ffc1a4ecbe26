/* cusolverRf: solutions multiplied with the matrix are the right-hand sides, and the factors' product is the matrix in its order;
 * the factors that it is set up with are those of plain loops. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

enum { N = 12, COUNT = 3 };
enum { CSR, CSC };
enum { STORED_L, STORED_U, ASSUMED_L, ASSUMED_U };

/* A matrix compressed by rows or columns. */
struct packed {
    int n, ptr[N + 1], ind[N * N];
    double val[N * N];
};

/* What one case is about: A (count of them), its orders, and the first one's factors. */
struct system {
    int n, format, diag;
    double a[COUNT][N][N], l[N][N], u[N][N];
    int p[N], q[N];
    struct packed pa[COUNT], pl, pu;
};

/* `one`: 0: the diagonal as it is, 1: left out. */
static void pack(struct packed *to, int n, int format, double (*m)[N], int one)
{
    to->n = 0;
    for (int i = 0; i < n; i++) {
        to->ptr[i] = to->n;
        for (int j = 0; j < n; j++) {
            double v = format == CSC ? m[j][i] : m[i][j];
            if (v != 0 && !(one && i == j)) {
                to->ind[to->n] = j;
                to->val[to->n++] = v;
            }
        }
    }
    to->ptr[n] = to->n;
}

static void shuffle(int *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int j = (int)((any() + 2) * 1000) % (i + 1), t = p[i];
        p[i] = p[j], p[j] = t;
    }
}

/* Values that are dominated by what will be the diagonal; the pattern is the first one's. */
static void system_make(struct system *s, int n, int format, int diag)
{
    s->n = n, s->format = format, s->diag = diag;
    shuffle(s->p, n);
    shuffle(s->q, n);
    memset(s->a, 0, sizeof s->a);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (i == j || any() > 1)
                for (int k = 0; k < COUNT; k++)
                    s->a[k][s->p[i]][s->q[j]] = i == j ? 20 + any() : 0.5 + fabs(any());
    for (int k = 0; k < COUNT; k++)
        pack(&s->pa[k], n, format, s->a[k], 0);
    double m[N][N];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            m[i][j] = s->a[0][s->p[i]][s->q[j]];
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            m[i][k] /= m[k][k];
            for (int j = k + 1; j < n; j++)
                m[i][j] -= m[i][k] * m[k][j];
        }
    memset(s->l, 0, sizeof s->l), memset(s->u, 0, sizeof s->u);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int unit_u = diag == STORED_U || diag == ASSUMED_U;
            s->l[i][j] = j < i ? m[i][j] * (unit_u ? m[j][j] : 1) : j > i ? 0 : unit_u ? m[i][i] : 1;
            s->u[i][j] = j > i ? m[i][j] / (unit_u ? m[i][i] : 1) : j < i ? 0 : unit_u ? 1 : m[i][i];
        }
    pack(&s->pl, n, format, s->l, diag == ASSUMED_L);
    pack(&s->pu, n, format, s->u, diag == ASSUMED_U);
}

static void *upload(const void *from, size_t size)
{
    void *p = NULL;
    cudaMalloc(&p, size + 16);
    cudaMemcpy(p, from, size, 1);
    return p;
}

#define UP(array, n) upload(array, (size_t)(n) * sizeof *(array))

static void solution(const char *what, const struct system *s, int k, const double *x, const double *b)
{
    for (int i = 0; i < s->n; i++) {
        double sum = 0;
        for (int j = 0; j < s->n; j++)
            sum += s->a[k][i][j] * x[j];
        if (!check(fabs(sum - b[i]) < 1e-11, "%s n %d format %d diag %d: [%d] is %g, not %g", what, s->n, s->format, s->diag, i,
                   sum, b[i]))
            return;
    }
}

/* The split factors' product is the matrix in its order, in the form that was asked for; bundled they are the same. */
static void factors(cusolverRfHandle_t h, const struct system *s, int k)
{
    int nl, nu, nm, *lp, *li, *up, *ui, *mp, *mi, n = s->n;
    double *lv, *uv, *mv, l[N][N] = { { 0 } }, u[N][N] = { { 0 } }, m[N][N] = { { 0 } };
    check(cusolverRfExtractSplitFactorsHost(h, &nl, &lp, &li, &lv, &nu, &up, &ui, &uv) == 0, "split");
    check(cusolverRfExtractBundledFactorsHost(h, &nm, &mp, &mi, &mv) == 0, "bundled");
    check(nl == lp[n] && nu == up[n] && nm == mp[n], "how many");
    for (int i = 0; i < n; i++) {
        for (int e = lp[i]; e < lp[i + 1]; e++)
            *(s->format == CSC ? &l[li[e]][i] : &l[i][li[e]]) = lv[e];
        for (int e = up[i]; e < up[i + 1]; e++)
            *(s->format == CSC ? &u[ui[e]][i] : &u[i][ui[e]]) = uv[e];
        for (int e = mp[i]; e < mp[i + 1]; e++)
            *(s->format == CSC ? &m[mi[e]][i] : &m[i][mi[e]]) = mv[e];
    }
    for (int i = 0; i < n; i++) {
        check(s->diag != ASSUMED_L || l[i][i] == 0, "a diagonal that is not stored");
        check(s->diag != ASSUMED_U || u[i][i] == 0, "a diagonal that is not stored");
        l[i][i] = s->diag == ASSUMED_L ? 1 : l[i][i], u[i][i] = s->diag == ASSUMED_U ? 1 : u[i][i];
        check((s->diag & 1 ? u : l)[i][i] == 1, "whose diagonal is 1");
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int e = 0; e < n; e++)
                sum += l[i][e] * u[e][j];
            check(fabs(sum - s->a[k][s->p[i]][s->q[j]]) < 1e-11, "L U n %d format %d diag %d: %d %d is %g, not %g", n, s->format,
                  s->diag, i, j, sum, s->a[k][s->p[i]][s->q[j]]);
            check(m[i][j] == l[i][j] + u[i][j] - (i == j), "bundled: %d %d", i, j);
        }
    int *dp, *di, one[N + 1];
    double *dv;
    check(cusolverRfAccessBundledFactorsDevice(h, &nl, &dp, &di, &dv) == 0 && nl == nm, "on the device");
    cudaMemcpy(one, dp, (size_t)(n + 1) * sizeof *one, 2);
    check(!memcmp(one, mp, (size_t)(n + 1) * sizeof *one), "offsets on the device");
    free(lp), free(li), free(lv), free(up), free(ui), free(uv), free(mp), free(mi), free(mv);
}

static cusolverStatus_t set_up(cusolverRfHandle_t h, struct system *s, int device)
{
    struct packed *a = &s->pa[0], *l = &s->pl, *u = &s->pu;
    int n = s->n;
    if (!device)
        return cusolverRfSetupHost(n, a->n, a->ptr, a->ind, a->val, l->n, l->ptr, l->ind, l->val, u->n, u->ptr, u->ind, u->val,
                                   s->p, s->q, h);
    void *at[] = { UP(a->ptr, n + 1), UP(a->ind, a->n), UP(a->val, a->n), UP(l->ptr, n + 1), UP(l->ind, l->n), UP(l->val, l->n),
                   UP(u->ptr, n + 1), UP(u->ind, u->n), UP(u->val, u->n), UP(s->p, n),       UP(s->q, n) };
    cusolverStatus_t status = cusolverRfSetupDevice(n, a->n, at[0], at[1], at[2], l->n, at[3], at[4], at[5], u->n, at[6], at[7],
                                                    at[8], at[9], at[10], h);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        cudaFree(at[i]);
    return status;
}

static void single(int n, int format, int diag, int device)
{
    static struct system s;
    cusolverRfHandle_t h;
    double b[2 * (N + 1)], x[2 * (N + 1)];
    int pivots = 0, ld = n + 1;
    system_make(&s, n, format, diag);
    check(cusolverRfCreate(&h) == 0, "create");
    check(cusolverRfSetMatrixFormat(h, format, diag) == 0, "format");
    check(set_up(h, &s, device) == 0, "setup");
    check(cusolverRfRefactor(h) == CUSOLVER_STATUS_INVALID_VALUE, "factored before it is analysed");
    check(cusolverRfAnalyze(h) == 0, "analysis");
    struct packed *a = &s.pa[1];
    void *ptr = UP(a->ptr, n + 1), *ind = UP(a->ind, a->n), *p = UP(s.p, n), *q = UP(s.q, n);
    for (int k = 0; k < 2; k++) { /* as it was set up, and with other values */
        void *val = UP(s.pa[k].val, s.pa[k].n);
        if (k)
            check(cusolverRfResetValues(n, a->n, ptr, ind, val, p, q, h) == 0, "reset");
        for (int i = 0; i < 2 * ld; i++)
            b[i] = any();
        double *dx = UP(b, 2 * ld), *temp = UP(b, 2 * ld);
        if (k)
            check(cusolverRfSolve(h, p, q, 1, temp, n, dx, ld) == CUSOLVER_STATUS_INVALID_VALUE, "the old factors");
        check(cusolverRfRefactor(h) == 0, "refactor");
        check(cusolverRfSolve(h, p, q, 2, temp, n, dx, ld) == 0, "solve");
        cudaMemcpy(x, dx, sizeof(double) * 2 * (size_t)ld, 2);
        solution("cusolverRfSolve", &s, k, x, b);
        solution("cusolverRfSolve's second", &s, k, x + ld, b + ld);
        check(x[n] == b[n], "what is between two columns");
        factors(h, &s, k);
        check(cusolverRfSolve(h, p, q, 1, temp, n, dx, n - 1) == CUSOLVER_STATUS_INVALID_VALUE, "leading dimension");
        cudaFree(val), cudaFree(dx), cudaFree(temp);
    }
    check(cusolverRfGetNumericBoostReport(h, &pivots) == 0 && pivots == 0, "nothing was boosted");
    check(cusolverRfResetValues(n, a->n + 1, ptr, ind, ptr, p, q, h) == CUSOLVER_STATUS_INVALID_VALUE, "another pattern");
    check(cusolverRfDestroy(h) == 0, "destroy");
    cudaFree(ptr), cudaFree(ind), cudaFree(p), cudaFree(q);
}

static void many(int n)
{
    static struct system s;
    cusolverRfHandle_t h;
    double b[COUNT][N], x[N], *vals[COUNT], *device[COUNT], *xs[COUNT];
    int at[COUNT];
    system_make(&s, n, CSR, STORED_L);
    for (int k = 0; k < COUNT; k++)
        vals[k] = s.pa[k].val;
    struct packed *a = &s.pa[0];
    check(cusolverRfCreate(&h) == 0, "create");
    check(cusolverRfBatchSetupHost(COUNT, n, a->n, a->ptr, a->ind, vals, s.pl.n, s.pl.ptr, s.pl.ind, s.pl.val, s.pu.n, s.pu.ptr,
                                   s.pu.ind, s.pu.val, s.p, s.q, h) == 0,
          "setup of many");
    check(cusolverRfBatchAnalyze(h) == 0, "analysis of many");
    void *ptr = UP(a->ptr, n + 1), *ind = UP(a->ind, a->n), *p = UP(s.p, n), *q = UP(s.q, n);
    for (int k = 0; k < COUNT; k++) {
        for (int i = 0; i < n; i++)
            b[k][i] = any();
        xs[k] = UP(b[k], n);
        device[k] = UP(s.pa[k].val, a->n);
    }
    void *addresses = UP(device, COUNT), *solutions = UP(xs, COUNT);
    check(cusolverRfBatchResetValues(COUNT, n, a->n, ptr, ind, addresses, p, q, h) == 0, "reset of many");
    check(cusolverRfBatchRefactor(h) == 0 && cusolverRfBatchZeroPivot(h, at) == 0 && at[0] == -1 && at[COUNT - 1] == -1,
          "refactor");
    check(cusolverRfBatchSolve(h, p, q, 1, NULL, n, solutions, n) == 0, "solve of many");
    for (int k = 0; k < COUNT; k++) {
        cudaMemcpy(x, xs[k], sizeof(double) * (size_t)n, 2);
        solution("cusolverRfBatchSolve", &s, k, x, b[k]);
    }
    static const double zeros[N * N];
    cudaMemcpy(device[1], zeros, sizeof(double) * (size_t)a->n, 1);
    check(cusolverRfBatchResetValues(COUNT, n, a->n, ptr, ind, addresses, p, q, h) == 0 && cusolverRfBatchRefactor(h) == 0,
          "one is singular");
    check(cusolverRfBatchZeroPivot(h, at) == CUSOLVER_STATUS_ZERO_PIVOT && at[0] == -1 && at[1] == 0 && at[2] == -1,
          "which one: %d", at[1]);
    check(cusolverRfBatchSolve(h, p, q, 1, NULL, n, solutions, n) == 0, "solve");
    cudaMemcpy(x, xs[1], sizeof x[0], 2);
    check(isnan(x[0]), "the singular one has a solution: %g", x[0]);
    check(cusolverRfDestroy(h) == 0, "destroy");
    for (int k = 0; k < COUNT; k++)
        cudaFree(xs[k]), cudaFree(device[k]);
    cudaFree(ptr), cudaFree(ind), cudaFree(p), cudaFree(q), cudaFree(addresses), cudaFree(solutions);
}

/* 1 1; 1 1 has a second pivot of 0; and what is no matrix, or no order. */
static void corners(void)
{
    int ptr[] = { 0, 2, 4 }, ind[] = { 0, 1, 0, 1 }, lp[] = { 0, 1, 3 }, li[] = { 0, 0, 1 }, up[] = { 0, 2, 3 },
        ui[] = { 0, 1, 1 };
    int p[] = { 0, 1 }, wrong[] = { 1, 1 }, report = 5;
    double val[] = { 1, 1, 1, 1 }, zero = 5, boost = 5;
    cusolverRfHandle_t h;
    check(cusolverRfCreate(&h) == 0 && cusolverRfCreate(NULL) == CUSOLVER_STATUS_INVALID_VALUE, "create");
#define SETUP(n, ptr, p, q) cusolverRfSetupHost(n, 4, ptr, ind, val, 3, lp, li, val, 3, up, ui, val, p, q, h)
    check(cusolverRfAnalyze(h) == CUSOLVER_STATUS_INVALID_VALUE, "nothing was set up");
    check(SETUP(2, ptr, wrong, p) == CUSOLVER_STATUS_INVALID_VALUE, "P is no permutation");
    check(SETUP(2, ptr, p, NULL) == CUSOLVER_STATUS_INVALID_VALUE, "no Q");
    check(SETUP(0, ptr, p, p) == CUSOLVER_STATUS_INVALID_VALUE, "n");
    ind[1] = 2;
    check(SETUP(2, ptr, p, p) == CUSOLVER_STATUS_INVALID_VALUE, "a wild column");
    ind[1] = 1;
    check(SETUP(2, ptr, p, p) == 0 && cusolverRfAnalyze(h) == 0, "setup");
    check(cusolverRfRefactor(h) == CUSOLVER_STATUS_ZERO_PIVOT, "a pivot of 0");
    check(cusolverRfSetNumericProperties(h, 1e-9, 0.5) == 0 && cusolverRfGetNumericProperties(h, &zero, &boost) == 0 &&
              zero == 1e-9 && boost == 0.5,
          "properties");
    check(cusolverRfRefactor(h) == 0 && cusolverRfGetNumericBoostReport(h, &report) == 0 && report == 1, "boosted");
    double x[] = { 1, 2 }; /* L = 1 0; 1 1, U = 1 1; 0 .5 */
    double *dx = UP(x, 2);
    int *dp = UP(p, 2);
    check(cusolverRfSolve(h, dp, dp, 1, NULL, 2, dx, 2) == 0, "solve");
    cudaMemcpy(x, dx, sizeof x, 2);
    check(x[0] == -1 && x[1] == 2, "with a boosted pivot: %g %g", x[0], x[1]);
    check(cusolverRfSetMatrixFormat(h, 2, 0) == CUSOLVER_STATUS_INVALID_VALUE, "format");
    check(cusolverRfSetAlgs(h, 3, 1) == CUSOLVER_STATUS_INVALID_VALUE && cusolverRfSetAlgs(h, 2, 3) == 0, "algorithms");
    check(cusolverRfDestroy(h) == 0 && cusolverRfDestroy(NULL) == CUSOLVER_STATUS_NOT_INITIALIZED, "destroy");
    cudaFree(dx), cudaFree(dp);
}

int main(void)
{
    for (int n = 1; n <= N; n += 11 - n % 2 * 7)
        for (int format = CSR; format <= CSC; format++)
            for (int diag = STORED_L; diag <= ASSUMED_U; diag++)
                single(n, format, diag, 0), single(n, format, diag, 1);
    many(1);
    many(N);
    corners();
    return test_end("rf");
}
