/* cusolverMg: matrices that are dealt out to "several" devices, which may be one several times: what comes back is a solution, an
 * inverse, or eigenvectors of the matrix.  Without cusolverMg's own header: functions are found by name. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "../check.h"
#include "cusolver.h"

enum { N = 13, RHS = 3, ROWS = N + 4, COLS = N + 5, IA = 3, JA = 4 };
static void *library, *handle, *grid;
static int n_devices;

typedef int any_f(void *first, ...);
#define MG(name, ...) ((any_f *)dlsym(library, "cusolverMg" name))(__VA_ARGS__)

/* A matrix by columns on the host, and dealt out in blocks. */
struct dealt {
    char t;
    int rows, cols, block;
    void *desc, *at[3];
    char *host;
};

static int type_of(char t)
{
    return t == 's' ? 0 : t == 'd' ? 1 : t == 'c' ? 4 : 5;
}

/* Between the host's matrix and the devices, a column at a time. */
static void deal(struct dealt *m, int back)
{
    size_t size = (size_t)m->rows * size_of(m->t);
    for (int j = 0; j < m->cols; j++) {
        int block = j / m->block, local = block / n_devices * m->block + j % m->block;
        char *device = (char *)m->at[block % n_devices] + (size_t)local * size, *host = m->host + (size_t)j * size;
        if (back)
            cudaMemcpy(host, device, size, 2);
        else
            cudaMemcpy(device, host, size, 1);
    }
}

static struct dealt dealt_make(char t, int rows, int cols, int block)
{
    struct dealt m = { .t = t, .rows = rows, .cols = cols, .block = block, .host = malloc((size_t)(rows * cols) * 16) };
    for (int i = 0; i < rows * cols; i++)
        put(t, m.host, i, any_of(t));
    for (int k = 0; k < n_devices; k++)
        cudaMalloc(&m.at[k], (size_t)(rows * (cols + 2 * block)) * size_of(t));
    int status = ((int (*)(void **, int64_t, int64_t, int64_t, int64_t, int, void *))dlsym(
        library, "cusolverMgCreateMatrixDesc"))(&m.desc, rows, cols, rows, block, type_of(t), grid);
    check(status == 0, "description: %d", status);
    return m;
}

static void dealt_drop(struct dealt *m)
{
    check(MG("DestroyMatrixDesc", m->desc) == 0, "end of a description");
    for (int k = 0; k < n_devices; k++)
        cudaFree(m->at[k]);
    free(m->host);
}

/* Element of the part that begins at IA, JA (counted from 1). */
static cplx part(const struct dealt *m, const char *host, int i, int j)
{
    return get(m->t, host, IA - 1 + i + (JA - 1 + j) * (long)m->rows);
}
static void part_put(struct dealt *m, int i, int j, cplx v)
{
    put(m->t, m->host, IA - 1 + i + (JA - 1 + j) * (long)m->rows, v);
}

static char *copy(const struct dealt *m)
{
    size_t size = (size_t)(m->rows * m->cols) * size_of(m->t);
    return memcpy(malloc(size), m->host, size);
}

/* What is outside of the part is what it was. */
static void outside(const char *what, const struct dealt *m, const char *before, int rows, int cols)
{
    for (int j = 0; j < m->cols; j++)
        for (int i = 0; i < m->rows; i++)
            if (i < IA - 1 || i >= IA - 1 + rows || j < JA - 1 || j >= JA - 1 + cols)
                check(get(m->t, m->host, i + j * (long)m->rows) == get(m->t, before, i + j * (long)m->rows), "%s: outside %d %d",
                      what, i, j);
}

/* op(A) x = b; op: 0 as it is, 1 transposed, 2 conjugated too. */
static void solved(const char *what, const struct dealt *a, const char *a0, int op, const struct dealt *x, const char *b0)
{
    double bound = real_of(a->t) == 's' ? 2e-3 : 1e-10;
    for (int j = 0; j < RHS; j++)
        for (int i = 0; i < N; i++) {
            cplx s = -part(x, b0, i, j);
            for (int k = 0; k < N; k++) {
                cplx v = op ? part(a, a0, k, i) : part(a, a0, i, k);
                s += (op == 2 ? conj(v) : v) * part(x, x->host, k, j);
            }
            check(cabs(s) < bound, "%s %c: %d %d is off by %g", what, a->t, i, j, cabs(s));
        }
}

static void lu(char t, int block)
{
    struct dealt a = dealt_make(t, ROWS, COLS, block), b = dealt_make(t, ROWS, RHS + JA, 2);
    void *pivots[3];
    int64_t room = 0;
    int info = 9;
    for (int k = 0; k < n_devices; k++)
        cudaMalloc(&pivots[k], (COLS + 2 * COLS) * sizeof(int));
    for (int i = 0; i < N; i++) /* the pivots are not on the diagonal */
        part_put(&a, (i + 1) % N, i, 40 + any());
    char *a0 = copy(&a), *b0 = copy(&b);
    deal(&a, 0), deal(&b, 0);
    check(MG("Getrf_bufferSize", handle, N, N, a.at, IA, JA, a.desc, pivots, type_of(t), &room) == 0 && room > 0, "room");
    check(MG("Getrf", handle, N, N, a.at, IA, JA, a.desc, pivots, type_of(t), NULL, room, &info) == 0 && info == 0, "getrf: %d",
          info);
    for (int op = 0; op < 3; op++) {
        deal(&b, 0);
        check(MG("Getrs", handle, op, N, RHS, a.at, IA, JA, a.desc, pivots, b.at, IA, JA, b.desc, type_of(t), NULL, room,
                 &info) == 0,
              "getrs");
        deal(&b, 1);
        solved("getrs", &a, a0, op, &b, b0);
        outside("getrs", &b, b0, N, RHS);
        memcpy(b.host, b0, (size_t)(b.rows * b.cols) * size_of(t));
    }
    deal(&a, 1);
    outside("getrf", &a, a0, N, N);
    check(MG("Getrf", handle, N, COLS, a.at, IA, JA, a.desc, pivots, type_of(t), NULL, room, &info) == 3, "columns that are not");
    check(MG("Getrf", handle, N, N, a.at, 0, JA, a.desc, pivots, type_of(t), NULL, room, &info) == 3, "row 0");
    check(MG("Getrf", handle, N, N, a.at, IA, JA, a.desc, pivots, 2, NULL, room, &info) == 3, "half");
    free(a0), free(b0), dealt_drop(&a), dealt_drop(&b);
    for (int k = 0; k < n_devices; k++)
        cudaFree(pivots[k]);
}

/* The half that counts is Hermitian's; the other has other values. */
static void symmetric(struct dealt *a, int uplo, double diagonal, cplx full[N][N])
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i <= j; i++) {
            cplx v = i == j ? diagonal + any() : any_of(a->t);
            full[i][j] = v, full[j][i] = conj(v);
            part_put(a, i, j, uplo ? v : 99);
            part_put(a, j, i, uplo && i != j ? 99 : conj(v));
        }
}

static void cholesky(char t, int block, int uplo)
{
    struct dealt a = dealt_make(t, ROWS, COLS, block), b = dealt_make(t, ROWS, RHS + JA, 1);
    cplx full[N][N];
    int64_t room = 0;
    int info = 9;
    symmetric(&a, uplo, 40, full);
    char *b0 = copy(&b), *half = copy(&a);
    deal(&a, 0), deal(&b, 0);
    check(MG("Potrf_bufferSize", handle, uplo, N, a.at, IA, JA, a.desc, type_of(t), &room) == 0 && room > 0, "room");
    check(MG("Potrf", handle, uplo, N, a.at, IA, JA, a.desc, type_of(t), NULL, room, &info) == 0 && info == 0, "potrf");
    check(MG("Potrs", handle, uplo, N, RHS, a.at, IA, JA, a.desc, b.at, IA, JA, b.desc, type_of(t), NULL, room, &info) == 0,
          "potrs");
    deal(&b, 1);
    for (int j = 0; j < N; j++)
        for (int i = 0; i < N; i++)
            part_put(&a, i, j, full[i][j]);
    solved("potrs", &a, a.host, 0, &b, b0);
    check(MG("Potri", handle, uplo, N, a.at, IA, JA, a.desc, type_of(t), NULL, room, &info) == 0 && info == 0, "potri");
    deal(&a, 1);
    outside("potri", &a, half, N, N);
    for (int i = 0; i < N; i++) {
        cplx s = 0;
        for (int k = 0; k < N; k++)
            s += full[i][k] * ((uplo ? k <= i : k >= i) ? part(&a, a.host, k, i) : conj(part(&a, a.host, i, k)));
        check(cabs(s - 1) < 1e-3, "potri %c: %d is %g", t, i, cabs(s));
    }
    free(b0), free(half), dealt_drop(&a), dealt_drop(&b);
}

static void eigen(char t, int block, int uplo)
{
    struct dealt a = dealt_make(t, ROWS, COLS, block);
    cplx full[N][N];
    int64_t room = 0;
    int info = 9;
    char w[N * 8];
    symmetric(&a, uplo, 0, full);
    char *half = copy(&a);
    deal(&a, 0);
    int real = real_of(t) == 's' ? 0 : 1;
    check(MG("Syevd_bufferSize", handle, 1, uplo, N, a.at, IA, JA, a.desc, w, real, type_of(t), &room) == 0 && room > 0, "room");
    check(MG("Syevd", handle, 1, uplo, N, a.at, IA, JA, a.desc, w, real, type_of(t), NULL, room, &info) == 0 && info == 0,
          "syevd");
    deal(&a, 1);
    outside("syevd", &a, half, N, N);
    for (int j = 0; j < N; j++) {
        double value = creal(get(real ? 'd' : 's', w, j)), length = 0;
        check(!j || value >= creal(get(real ? 'd' : 's', w, j - 1)), "ascending");
        for (int i = 0; i < N; i++) {
            cplx s = -value * part(&a, a.host, i, j);
            for (int k = 0; k < N; k++)
                s += full[i][k] * part(&a, a.host, k, j);
            check(cabs(s) < (real ? 1e-10 : 2e-3), "syevd %c: %d %d is off by %g", t, i, j, cabs(s));
            length += creal(part(&a, a.host, i, j) * conj(part(&a, a.host, i, j)));
        }
        check(fabs(length - 1) < 1e-3, "syevd %c: length %g", t, length);
    }
    check(MG("Syevd", handle, 1, uplo, N, a.at, IA, JA, a.desc, w, !real, type_of(t), NULL, room, &info) == 3, "type of values");
    free(half), dealt_drop(&a);
}

int main(void)
{
    int ids[] = { 0, 0, 0 }, wild[] = { 99 };
    void *bad;
    library = dlopen("libcusolverMg.so.11", RTLD_NOW);
    if (!check(library != NULL, "libcusolverMg.so.11: %s", dlerror()))
        return test_end("mg");
    check(MG("Create", &handle) == 0, "create");
    check(MG("DeviceSelect", handle, 1, wild) == 3 && MG("CreateDeviceGrid", &bad, 1, 1, wild, 0) == 3, "a device that is not");
    check(MG("CreateDeviceGrid", &bad, 2, 1, ids, 0) == 3, "rows of devices");
    for (n_devices = 1; n_devices <= 3; n_devices++) {
        check(MG("DeviceSelect", handle, n_devices, ids) == 0, "select");
        check(MG("CreateDeviceGrid", &grid, 1, n_devices, ids, 0) == 0, "grid");
        for (const char *t = "sdcz"; *t; t++)
            for (int block = 1; block <= 21; block += 4) {
                lu(*t, block);
                cholesky(*t, block, block & 4 ? 1 : 0);
                eigen(*t, block, block & 4 ? 0 : 1);
            }
        check(MG("DestroyGrid", grid) == 0, "end of a grid");
    }
    check(MG("Destroy", handle) == 0 && MG("Destroy", NULL) == 1, "end");
    return test_end("mg");
}
