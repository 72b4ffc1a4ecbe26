/* DotEx, DotcEx, Nrm2Ex, AsumEx, IamaxEx, IaminEx, AxpyEx, ScalEx, CopyEx, SwapEx, RotEx, RotgEx, RotmEx, RotmgEx: every type,
 * steps of either sign, scalars on both sides.  Usage: vector_ex_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "types.h"

static cublasHandle_t handle;

struct kind {
    int type, real, scalar; /* of the vectors; their parts; of alpha and inside */
};

/* Element i of a vector of n, as BLAS counts with a step below 0. */
static long place(long n, long i, long inc)
{
    return inc < 0 ? (i + 1 - n) * inc : i * inc;
}

static double _Complex element(const struct kind *k, const void *p, long i)
{
    if (k->type == k->real)
        return type_get(k->real, p, i);
    return CMPLX(type_get(k->real, p, 2 * i), type_get(k->real, p, 2 * i + 1));
}

static void near_to(const char *what, const struct kind *k, int type, const void *got, long i, double _Complex want, double slack)
{
    double _Complex v = element(&(struct kind){ type, type == k->type ? k->real : type, 0 }, got, i);
    double error = type_error(k->real, cabs(want)) + slack;
    check(cabs(v - want) <= error, "%s of type %d [%ld]: %.9g%+.9gi, not %.9g%+.9gi", what, k->type, i, creal(v), cimag(v),
          creal(want), cimag(want));
}

struct vectors {
    struct typed x, y;
    long n, incx, incy;
};

static void reductions(const struct kind *k, const struct vectors *v, int on_device)
{
    static const char *const names[] = { "dot", "dotc", "nrm2" };
    double _Complex sums[3] = { 0 };
    double total = 0;
    void *cell, *result;
    unsigned char host[16];
    for (long i = 0; i < v->n; i++) {
        double _Complex x = element(k, v->x.host, place(v->n, i, v->incx)), y = element(k, v->y.host, place(v->n, i, v->incy));
        sums[0] += x * y, sums[1] += conj(x) * y, sums[2] += creal(x) * creal(x) + cimag(x) * cimag(x);
        total += cabs(x) * cabs(y);
    }
    sums[2] = v->incx > 0 ? sqrt(creal(sums[2])) : 0;
    cudaMalloc(&cell, 16);
    result = on_device ? cell : host;
    for (int f = 0; f < 3; f++) {
        int type = f == 2 ? k->real : k->type, inside = f == 2 && k->type != k->real ? k->real : k->scalar;
        memset(host, 0x55, sizeof host), cudaMemcpy(cell, host, 16, 1);
        int status = f == 0   ? cublasDotEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, v->y.device, k->type,
                                            (int)v->incy, result, type, inside)
                     : f == 1 ? cublasDotcEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, v->y.device, k->type,
                                             (int)v->incy, result, type, inside)
                              : cublasNrm2Ex(handle, (int)v->n, v->x.device, k->type, (int)v->incx, result, type, inside);
        check(status == 0, "%s of type %d: status %d", names[f], k->type, status);
        if (on_device)
            cudaMemcpy(host, cell, 16, 2);
        near_to(names[f], k, type, host, 0, sums[f], total * 1e-7);
    }
    cudaFree(cell);
}

static void updates(const struct kind *k, struct vectors *v, int on_device)
{
    const double alpha[2] = { 1.5, k->type == k->real ? 0 : -0.5 };
    const float narrow[2] = { 1.5f, (float)alpha[1] };
    const void *scalar = k->real == CUDA_R_64F ? (const void *)alpha : narrow;
    double _Complex a = CMPLX(alpha[0], alpha[1]);
    size_t words = (size_t)v->y.n * type_bytes(v->y.type);
    void *cell, *got = malloc(words);
    cudaMalloc(&cell, 16), cudaMemcpy(cell, scalar, 16 / (k->real == CUDA_R_64F ? 1 : 2), 1);
    if (on_device)
        scalar = cell;
    int status = cublasAxpyEx(handle, (int)v->n, scalar, k->scalar, v->x.device, k->type, (int)v->incx, v->y.device, k->type,
                              (int)v->incy, k->scalar);
    check(status == 0, "axpy of type %d: status %d", k->type, status);
    cudaMemcpy(got, v->y.device, words, 2);
    for (long i = 0; i < v->n; i++) {
        long at = place(v->n, i, v->incy);
        near_to("axpy", k, k->type, got, at, element(k, v->y.host, at) + a * element(k, v->x.host, place(v->n, i, v->incx)), 0);
    }
    status = cublasScalEx(handle, (int)v->n, scalar, k->scalar, v->x.device, k->type, (int)v->incx, k->scalar);
    check(status == 0, "scal of type %d: status %d", k->type, status);
    cudaMemcpy(got, v->x.device, (size_t)v->x.n * type_bytes(v->x.type), 2);
    for (long i = 0, all = v->x.n / (k->type == k->real ? 1 : 2); i < all; i++) {
        int touched = v->incx > 0 && i % v->incx == 0 && i / v->incx < v->n;
        near_to("scal", k, k->type, got, i, (touched ? a : 1) * element(k, v->x.host, i), 0);
    }
    cudaFree(cell), free(got);
}

static double parts(double _Complex x)
{
    return fabs(creal(x)) + fabs(cimag(x));
}

static void extremes(const struct kind *k, const struct vectors *v, int on_device)
{
    double sum = 0, most = 0, least = 0;
    int64_t want[2] = { 0 };
    unsigned char host[16];
    void *cell, *result;
    for (long i = 0; i < v->n && v->incx > 0; i++) {
        double x = parts(element(k, v->x.host, place(v->n, i, v->incx)));
        sum += x;
        if (i == 0 || x > most)
            most = x, want[0] = i + 1;
        if (i == 0 || x < least)
            least = x, want[1] = i + 1;
    }
    cudaMalloc(&cell, 16);
    result = on_device ? cell : host;
    int status = cublasAsumEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, result, k->real,
                              k->type == k->real ? k->scalar : k->real);
    check(status == 0, "asum of type %d: status %d", k->type, status);
    if (on_device)
        cudaMemcpy(host, cell, 16, 2);
    near_to("asum", k, k->real, host, 0, sum, sum * 1e-7);
    for (int least_too = 0; least_too < 2; least_too++)
        for (int wide = 0; wide < 2; wide++) {
            int64_t got = 0;
            memset(host, 0x55, sizeof host), cudaMemcpy(cell, host, 16, 1);
            status = wide ? (least_too ? cublasIaminEx_64 : cublasIamaxEx_64)(handle, v->n, v->x.device, k->type, v->incx, result)
                          : (least_too ? cublasIaminEx : cublasIamaxEx)(handle, (int)v->n, v->x.device, k->type, (int)v->incx,
                                                                        result);
            if (on_device)
                cudaMemcpy(host, cell, 16, 2);
            memcpy(&got, host, wide ? 8 : 4);
            check(status == 0 && got == want[least_too] && host[wide ? 8 : 4] == 0x55,
                  "%s of type %d, %d bits: %lld, not %lld, status %d", least_too ? "iamin" : "iamax", k->type, wide ? 64 : 32,
                  (long long)got, (long long)want[least_too], status);
        }
    cudaFree(cell);
}

/* Every word of both vectors: those between the steps stay. */
static void moves(const struct kind *k, struct vectors *v)
{
    size_t size = (size_t)type_bytes(k->real) * (k->type == k->real ? 1 : 2), bytes = (size_t)v->x.n * type_bytes(k->real);
    char *x = malloc(bytes), *y = malloc(bytes), *got = malloc(bytes);
    cudaMemcpy(x, v->x.device, bytes, 2), cudaMemcpy(y, v->y.device, bytes, 2);
    int status = cublasSwapEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, v->y.device, k->type, (int)v->incy);
    for (long i = 0; i < v->n; i++) {
        char *p = x + place(v->n, i, v->incx) * (long)size, *q = y + place(v->n, i, v->incy) * (long)size, kept[16];
        memcpy(kept, p, size), memcpy(p, q, size), memcpy(q, kept, size);
    }
    cudaMemcpy(got, v->x.device, bytes, 2);
    check(status == 0 && !memcmp(got, x, bytes), "swap of type %d: x, status %d", k->type, status);
    cudaMemcpy(got, v->y.device, bytes, 2);
    check(!memcmp(got, y, bytes), "swap of type %d: y", k->type);
    status = cublasCopyEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, v->y.device, k->type, (int)v->incy);
    for (long i = 0; i < v->n; i++)
        memcpy(y + place(v->n, i, v->incy) * (long)size, x + place(v->n, i, v->incx) * (long)size, size);
    cudaMemcpy(got, v->y.device, bytes, 2);
    check(status == 0 && !memcmp(got, y, bytes), "copy of type %d: status %d", k->type, status);
    free(x), free(y), free(got);
}

/* A number that the type has. */
static void put_number(int type, void *p, long i, double v)
{
    float f = (float)v;
    unsigned bits;
    memcpy(&bits, &f, 4);
    if (type == CUDA_R_64F)
        ((double *)p)[i] = v;
    else if (type == CUDA_R_32F)
        ((float *)p)[i] = f;
    else if (type == CUDA_R_16BF)
        ((unsigned short *)p)[i] = (unsigned short)(bits >> 16);
    else
        for (unsigned half = 0; half < 0xffff; half++)
            if (small_float(half, 5, 10) == v)
                ((unsigned short *)p)[i] = (unsigned short)half;
}

static void rotations(const struct kind *k, struct vectors *v, int cs_type, int on_device)
{
    int complex_too = cs_type != k->real;
    const double _Complex c = 0.5, s = complex_too ? CMPLX(0.25, -0.75) : 0.25;
    struct typed cs[2] = { typed_make(k->real, 2), typed_make(k->real, 2) };
    size_t bytes = (size_t)v->x.n * type_bytes(k->real);
    void *got[2] = { malloc(bytes), malloc(bytes) }, *old[2] = { malloc(bytes), malloc(bytes) };
    for (int i = 0; i < 2; i++) {
        put_number(k->real, cs[i].host, 0, creal(i ? s : c)), put_number(k->real, cs[i].host, 1, cimag(i ? s : c));
        cudaMemcpy(cs[i].device, cs[i].host, 2 * (size_t)type_bytes(k->real), 1);
    }
    cudaMemcpy(old[0], v->x.device, bytes, 2), cudaMemcpy(old[1], v->y.device, bytes, 2);
    int status = cublasRotEx(handle, (int)v->n, v->x.device, k->type, (int)v->incx, v->y.device, k->type, (int)v->incy,
                             on_device ? cs[0].device : cs[0].host, on_device ? cs[1].device : cs[1].host, cs_type,
                             k->type == k->real ? k->scalar : k->type);
    check(status == 0, "rot of type %d by %d: status %d", k->type, cs_type, status);
    cudaMemcpy(got[0], v->x.device, bytes, 2), cudaMemcpy(got[1], v->y.device, bytes, 2);
    for (long i = 0; i < v->n; i++) {
        long at[2] = { place(v->n, i, v->incx), place(v->n, i, v->incy) };
        double _Complex x = element(k, old[0], at[0]), y = element(k, old[1], at[1]);
        near_to("rot: x", k, k->type, got[0], at[0], c * x + s * y, 1e-6);
        near_to("rot: y", k, k->type, got[1], at[1], c * y - conj(s) * x, 1e-6);
    }
    for (int i = 0; i < 2; i++)
        typed_drop(&cs[i]), free(got[i]), free(old[i]);
}

/* A rotation made of (a, b) takes b away; a modified one takes y1 away, and applies to vectors as its four numbers say. */
static void rotation_made(const struct kind *k, int on_device)
{
    struct typed p = typed_make(k->real, 4);
    size_t size = (size_t)type_bytes(k->real);
    put_number(k->real, p.host, 0, 3), put_number(k->real, p.host, 1, -4);
    cudaMemcpy(p.device, p.host, 4 * size, 1);
    char *at = on_device ? p.device : p.host;
    int status = cublasRotgEx(handle, at, at + size, k->real, at + 2 * size, at + 3 * size, k->real, k->scalar);
    if (on_device)
        cudaMemcpy(p.host, p.device, 4 * size, 2);
    check(status == 0, "rotg of type %d: status %d", k->real, status);
    double r = type_get(k->real, p.host, 0), c = type_get(k->real, p.host, 2), s = type_get(k->real, p.host, 3);
    double slack = type_error(k->real, 5) * 8;
    check(fabs(fabs(r) - 5) <= slack && fabs(c * 3 + s * -4 - r) <= slack && fabs(c * -4 - s * 3) <= slack,
          "rotg of type %d: r %g c %g s %g", k->real, r, c, s);
    typed_drop(&p);
}

static void rotation_modified(const struct kind *k, double flag, long n, long incx, long incy, int on_device)
{
    struct typed p = typed_make(k->real, 5), x = typed_make(k->real, (n + 1) * 3), y = typed_make(k->real, (n + 1) * 3);
    const double number[5] = { flag, 0.5, -0.25, 1.5, 2 };
    const double h[4] = { flag == 0 ? 1 : flag == -2 ? 1 : 0.5, flag == 1 ? -1 : flag == -2 ? 0 : -0.25,
                          flag == 1 ? 1 : flag == -2 ? 0 : 1.5, flag == 0 || flag == -2 ? 1 : 2 };
    size_t bytes = (size_t)x.n * (size_t)type_bytes(k->real);
    void *got[2] = { malloc(bytes), malloc(bytes) };
    for (int i = 0; i < 5; i++)
        put_number(k->real, p.host, i, number[i]);
    cudaMemcpy(p.device, p.host, 5 * (size_t)type_bytes(k->real), 1);
    int status = cublasRotmEx(handle, (int)n, x.device, k->real, (int)incx, y.device, k->real, (int)incy,
                              on_device ? p.device : p.host, k->real, k->scalar);
    check(status == 0, "rotm of type %d: status %d", k->real, status);
    cudaMemcpy(got[0], x.device, bytes, 2), cudaMemcpy(got[1], y.device, bytes, 2);
    for (long i = 0; i < n; i++) {
        long at[2] = { place(n, i, incx), place(n, i, incy) };
        double a = type_get(k->real, x.host, at[0]), b = type_get(k->real, y.host, at[1]);
        struct kind real = { k->real, k->real, k->scalar };
        near_to("rotm: x", &real, k->real, got[0], at[0], h[0] * a + h[2] * b, 1e-6);
        near_to("rotm: y", &real, k->real, got[1], at[1], h[1] * a + h[3] * b, 1e-6);
    }
    free(got[0]), free(got[1]);
    typed_drop(&p), typed_drop(&x), typed_drop(&y);
}

/* d1 = 2, d2 = 0.5, x1 = 1.5, y1 = 2: the second row of what comes out, by (x1, y1), is 0. */
static void rotation_modified_made(const struct kind *k, int on_device)
{
    struct typed p = typed_make(k->real, 9);
    size_t size = (size_t)type_bytes(k->real);
    const double number[9] = { 2, 0.5, 1.5, 2, 7, 7, 7, 7, 7 };
    for (int i = 0; i < 9; i++)
        put_number(k->real, p.host, i, number[i]);
    cudaMemcpy(p.device, p.host, 9 * size, 1);
    char *at = on_device ? p.device : p.host;
    int status = cublasRotmgEx(handle, at, k->real, at + size, k->real, at + 2 * size, k->real, at + 3 * size, k->real,
                               at + 4 * size, k->real, k->scalar);
    if (on_device)
        cudaMemcpy(p.host, p.device, 9 * size, 2);
    check(status == 0, "rotmg of type %d: status %d", k->real, status);
    double flag = type_get(k->real, p.host, 4), h21 = flag == 1 ? -1 : type_get(k->real, p.host, 6),
           h22 = flag == 0 ? 1 : type_get(k->real, p.host, 8), h11 = flag == 0 ? 1 : type_get(k->real, p.host, 5),
           h12 = flag == 1 ? 1 : type_get(k->real, p.host, 7);
    double slack = type_error(k->real, 5) * 8;
    check(flag >= -1 && flag <= 1 && fabs(h21 * 1.5 + h22 * 2) <= slack &&
              fabs(h11 * 1.5 + h12 * 2 - type_get(k->real, p.host, 2)) <= slack,
          "rotmg of type %d: flag %g, %g %g %g %g", k->real, flag, h11, h21, h12, h22);
    typed_drop(&p);
}

static void rotations_modified(const struct kind *k, long n, long incx, long incy, int on_device)
{
    if (k->type != k->real)
        return;
    rotation_made(k, on_device);
    rotation_modified_made(k, on_device);
    for (int flag = -2; flag <= 1; flag++)
        rotation_modified(k, flag, n, incx, incy, on_device);
}

static void all_of(const struct kind *k, long n, long incx, long incy, int on_device)
{
    long parts = k->type == k->real ? 1 : 2, room = (n + 1) * 3 * parts;
    struct vectors v = { typed_make(k->real, room), typed_make(k->real, room), n, incx, incy };
    cublasSetPointerMode_v2(handle, on_device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST);
    reductions(k, &v, on_device);
    extremes(k, &v, on_device);
    updates(k, &v, on_device);
    moves(k, &v);
    rotations(k, &v, k->type, on_device);
    rotations_modified(k, n, incx, incy, on_device);
    if (k->type != k->real)
        rotations(k, &v, k->real, on_device);
    typed_drop(&v.x), typed_drop(&v.y);
}

/* What has no right types is refused, what no right arguments is an error; a norm does not overflow on the way. */
static void statuses(void)
{
    double big[4] = { 3e200, 4e200, INFINITY, NAN }, *x, r = 7;
    float f = 7;
    cudaMalloc((void **)&x, 64), cudaMemcpy(x, big, sizeof big, 1);
    cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST);
    check(cublasNrm2Ex(handle, 2, x, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) == 0 && fabs(r - 5e200) < 1e186, "nrm2: %g", r);
    check(cublasNrm2Ex(handle, 3, x, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) == 0 && isinf(r), "nrm2 of inf: %g", r);
    check(cublasNrm2Ex(handle, 4, x, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) == 0 && isnan(r), "nrm2 of a NaN: %g", r);
    check(cublasDotEx(handle, 0, NULL, CUDA_R_64F, 1, NULL, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) == 0 && r == 0, "none");
    r = 7;
    check(cublasDotEx(handle, 2, x, CUDA_R_16F, 1, x, CUDA_R_16F, 1, &f, CUDA_R_32F, CUDA_R_16F) == CUBLAS_STATUS_NOT_SUPPORTED,
          "sums in half");
    check(cublasDotEx(handle, 2, x, CUDA_R_64F, 1, x, CUDA_R_32F, 1, &r, CUDA_R_64F, CUDA_R_64F) == CUBLAS_STATUS_NOT_SUPPORTED,
          "mixed types");
    check(cublasNrm2Ex(handle, 2, x, CUDA_R_8I, 1, &f, CUDA_R_32F, CUDA_R_32F) == CUBLAS_STATUS_NOT_SUPPORTED, "bytes");
    check(cublasScalEx(handle, 2, NULL, CUDA_R_64F, x, CUDA_R_64F, 1, CUDA_R_64F) == CUBLAS_STATUS_INVALID_VALUE, "no alpha");
    check(cublasDotEx(handle, 2, x, CUDA_R_64F, 1, NULL, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) ==
              CUBLAS_STATUS_INVALID_VALUE,
          "no y");
    check(cublasDotEx(NULL, 2, x, CUDA_R_64F, 1, x, CUDA_R_64F, 1, &r, CUDA_R_64F, CUDA_R_64F) == CUBLAS_STATUS_NOT_INITIALIZED,
          "no handle");
    check(cublasAsumEx(handle, 2, x, CUDA_R_64F, 1, &f, CUDA_R_32F, CUDA_R_64F) == CUBLAS_STATUS_NOT_SUPPORTED, "asum in float");
    check(cublasIamaxEx(handle, 2, x, CUDA_R_64F, 1, NULL) == CUBLAS_STATUS_INVALID_VALUE, "no result");
    check(cublasCopyEx(handle, 2, x, CUDA_R_64F, 1, x, CUDA_R_32F, 1) == CUBLAS_STATUS_NOT_SUPPORTED, "copy to another type");
    check(cublasRotEx(handle, 2, x, CUDA_R_64F, 1, x, CUDA_R_64F, 1, &r, NULL, CUDA_R_64F, CUDA_R_64F) ==
              CUBLAS_STATUS_INVALID_VALUE,
          "no sine");
    check(cublasRotgEx(handle, x, x + 1, CUDA_C_64F, x + 2, x + 3, CUDA_C_64F, CUDA_C_64F) == CUBLAS_STATUS_NOT_SUPPORTED,
          "rotg of complex numbers");
    check(cublasRotmEx(handle, 2, x, CUDA_R_64F, 1, x, CUDA_R_32F, 1, &r, CUDA_R_64F, CUDA_R_64F) == CUBLAS_STATUS_NOT_SUPPORTED,
          "rotm of two types");
    check(cublasRotmEx(handle, 2, x, CUDA_R_64F, 1, x, CUDA_R_64F, 1, NULL, CUDA_R_64F, CUDA_R_64F) ==
              CUBLAS_STATUS_INVALID_VALUE,
          "rotm by nothing");
    check(r == 7 && f == 7, "a failed call writes nothing");
    cudaFree(x);
}

int main(int argc, char **argv)
{
    static const struct kind kinds[] = {
        { CUDA_R_16F, CUDA_R_16F, CUDA_R_32F }, { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F }, { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F },
        { CUDA_R_64F, CUDA_R_64F, CUDA_R_64F }, { CUDA_C_32F, CUDA_R_32F, CUDA_C_32F },   { CUDA_C_64F, CUDA_R_64F, CUDA_C_64F },
    };
    int quick = argc > 1 && !strcmp(argv[1], "quick");
    if (cublasCreate_v2(&handle))
        return 2;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int on_device = 0; on_device < 2; on_device++) {
            all_of(&kinds[i], 33, 1, 1, on_device);
            all_of(&kinds[i], 7, 3, -2, on_device);
            if (quick)
                continue;
            all_of(&kinds[i], 20, -1, 2, on_device);
            all_of(&kinds[i], 20000, 1, 1, on_device);
            all_of(&kinds[i], 0, 1, 1, on_device);
        }
    statuses();
    cublasDestroy_v2(handle);
    return test_end("vector_ex");
}
