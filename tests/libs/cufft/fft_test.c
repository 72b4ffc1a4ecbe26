/* cuFFT against a discrete Fourier transform in double, axis by axis: types, ranks, sizes, layouts, in place and out, streams,
 * graphs, threads, wrong arguments.  Usage: fft_test [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verdict.h"

#include "cufft.h"

typedef double _Complex cplx;
typedef long long ll;

static int quick;

/* ---- Elements of any type */

static int is_complex(int type)
{
    return type == CUDA_C_32F || type == CUDA_C_64F || type == CUDA_C_16F || type == CUDA_C_16BF;
}

static int real_of(int type)
{
    return type == CUDA_C_32F    ? CUDA_R_32F
           : type == CUDA_C_64F  ? CUDA_R_64F
           : type == CUDA_C_16F  ? CUDA_R_16F
           : type == CUDA_C_16BF ? CUDA_R_16BF
                                 : type;
}

static size_t part_size(int type)
{
    return real_of(type) == CUDA_R_64F ? 8 : real_of(type) == CUDA_R_32F ? 4 : 2;
}
static size_t size_of(int type)
{
    return part_size(type) * (size_t)(is_complex(type) + 1);
}

static double part_get(int real, const void *p, long i)
{
    unsigned short h = ((const unsigned short *)p)[real == CUDA_R_16F || real == CUDA_R_16BF ? i : 0];
    unsigned bits = (unsigned)h << 16;
    float f;
    switch (real) {
    case CUDA_R_64F: return ((const double *)p)[i];
    case CUDA_R_32F: return ((const float *)p)[i];
    case CUDA_R_16BF: memcpy(&f, &bits, 4); return f;
    default: {
        int e = h >> 10 & 31, m = h & 1023;
        double v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
        return h >> 15 ? -v : v;
    }
    }
}

/* Of eighths up to 2, which all types have. */
static void part_put(int real, void *p, long i, double v)
{
    float f = (float)v;
    unsigned bits;
    int e;
    memcpy(&bits, &f, 4);
    double m = frexp(fabs(v), &e);
    switch (real) {
    case CUDA_R_64F: ((double *)p)[i] = v; break;
    case CUDA_R_32F: ((float *)p)[i] = f; break;
    case CUDA_R_16BF: ((unsigned short *)p)[i] = (unsigned short)(bits >> 16); break;
    default:
        ((unsigned short *)p)[i] = (unsigned short)((v < 0 ? 0x8000 : 0) |
                                                    (v == 0 ? 0 : ((e + 14) << 10) + (int)(m * 2048) - 1024));
    }
}

static cplx get(int type, const void *p, long i)
{
    int real = real_of(type);
    return is_complex(type) ? CMPLX(part_get(real, p, 2 * i), part_get(real, p, 2 * i + 1)) : part_get(real, p, i);
}

static void put(int type, void *p, long i, cplx v)
{
    int real = real_of(type);
    if (!is_complex(type))
        part_put(real, p, i, creal(v));
    else
        part_put(real, p, 2 * i, creal(v)), part_put(real, p, 2 * i + 1, cimag(v));
}

static double any(void)
{
    static unsigned state = 99;
    state = state * 1664525u + 1013904223u;
    return (double)((int)(state >> 20) % 33 - 16) / 8;
}

/* ---- The reference */

static void axis(cplx *x, long n, long step, int sign)
{
    cplx *out = malloc((size_t)n * sizeof *out);
    for (long k = 0; k < n; k++) {
        out[k] = 0;
        for (long j = 0; j < n; j++) {
            double angle = sign * 2 * M_PI * (double)(j * k % n) / (double)n;
            out[k] += x[j * step] * CMPLX(cos(angle), sin(angle));
        }
    }
    for (long k = 0; k < n; k++)
        x[k * step] = out[k];
    free(out);
}

/* Of a dense array, in place. */
static void transform(cplx *x, int rank, const ll *n, int sign)
{
    long total = 1, step = 1;
    for (int i = 0; i < rank; i++)
        total *= n[i];
    for (int i = rank - 1; i >= 0; step *= n[i--])
        for (long at = 0; at < total; at++)
            if (at / step % n[i] == 0)
                axis(x + at, n[i], step, sign);
}

/* ---- One transform */

struct side {
    int type;
    ll dims[3], embed[3], stride, dist;
    long elements; /* of the whole memory */
    void *host, *device;
};

struct problem {
    int rank, batch, in, out, sign, in_place, advanced;
    ll n[3];
};

static long at_of(const struct side *s, int rank, long b, long dense)
{
    long at = b * s->dist, step = s->stride;
    for (int i = rank - 1; i >= 0; i--) {
        at += dense % s->dims[i] * step;
        dense /= s->dims[i];
        step *= s->embed[i];
    }
    return at;
}

static long dense_of(const struct side *s, int rank)
{
    long n = 1;
    for (int i = 0; i < rank; i++)
        n *= s->dims[i];
    return n;
}

/* Where things are: for advanced layouts gaps everywhere; else as cuFFT's basic one, in place with padded rows of reals. */
static void side_make(struct side *s, const struct problem *p, int type, int half, int padded)
{
    s->type = type;
    s->stride = p->advanced ? 1 + p->advanced % 3 : 1;
    s->elements = s->stride;
    for (int i = 0; i < p->rank; i++) {
        s->dims[i] = half && i == p->rank - 1 ? p->n[i] / 2 + 1 : p->n[i];
        s->embed[i] = padded && i == p->rank - 1 ? 2 * (p->n[i] / 2 + 1) : s->dims[i] + (p->advanced && !p->in_place ? i + 1 : 0);
        s->elements *= s->embed[i];
    }
    s->dist = s->elements + (p->advanced && !p->in_place ? 2 : 0);
    s->elements = s->dist * p->batch;
    s->host = calloc((size_t)s->elements, size_of(type));
    for (long i = 0; i < s->elements; i++)
        put(type, s->host, i, is_complex(type) ? CMPLX(any(), any()) : any());
}

/* A transform to reals is of what reals are transformed to: values alike around the middle. */
static void make_hermitian(struct side *s, const struct problem *p)
{
    long dense = dense_of(s, p->rank), last = (long)s->dims[p->rank - 1], row = (long)p->n[p->rank - 1];
    for (long b = 0; b < p->batch; b++)
        for (long i = 0; i < dense; i++) {
            long z = i % last, rest = i / last, mirror = 0, step = 1;
            if (z != 0 && !(row % 2 == 0 && z == row / 2))
                continue;
            for (int d = p->rank - 2; d >= 0; d--) {
                mirror += (p->n[d] - rest % p->n[d]) % p->n[d] * step;
                rest /= p->n[d];
                step *= p->n[d];
            }
            put(s->type, s->host, at_of(s, p->rank, b, mirror * last + z), conj(get(s->type, s->host, at_of(s, p->rank, b, i))));
            if (mirror * last + z == i)
                put(s->type, s->host, at_of(s, p->rank, b, i), creal(get(s->type, s->host, at_of(s, p->rank, b, i))));
        }
}

/* What should come out for item b, dense in the output's dimensions. */
static cplx *reference(const struct side *in, const struct side *out, const struct problem *p, long b)
{
    long full = 1, last = (long)p->n[p->rank - 1];
    for (int i = 0; i < p->rank; i++)
        full *= (long)p->n[i];
    cplx *x = malloc((size_t)full * sizeof *x);
    for (long i = 0; i < full; i++) {
        long z = i % last, rest = i / last, step = 1, mirror = 0;
        if (in->dims[p->rank - 1] == last || z < in->dims[p->rank - 1]) {
            x[i] = get(in->type, in->host, at_of(in, p->rank, b, rest * (long)in->dims[p->rank - 1] + z));
            continue;
        }
        for (int d = p->rank - 2; d >= 0; d--) { /* the half that is not there */
            mirror += (p->n[d] - rest % p->n[d]) % p->n[d] * step;
            rest /= p->n[d];
            step *= p->n[d];
        }
        x[i] = conj(get(in->type, in->host, at_of(in, p->rank, b, mirror * (long)in->dims[p->rank - 1] + last - z)));
    }
    transform(x, p->rank, p->n, p->sign);
    if (out->dims[p->rank - 1] != last) {
        long width = (long)out->dims[p->rank - 1];
        for (long i = 0; i < full / last; i++)
            memmove(x + i * width, x + i * last, (size_t)width * sizeof *x);
    }
    return x;
}

static void compare(const struct problem *p, const struct side *in, const struct side *out, const void *got, const void *before,
                    const char *what)
{
    char *written = calloc((size_t)out->elements, 1);
    long dense = dense_of(out, p->rank), good = 1;
    double epsilon = part_size(out->type) == 8          ? 1e-13
                     : part_size(out->type) == 4        ? 2e-6
                     : real_of(out->type) == CUDA_R_16F ? 1e-3
                                                        : 8e-3;
    for (long b = 0; b < p->batch && good; b++) {
        cplx *want = reference(in, out, p, b);
        double largest = 0;
        for (long i = 0; i < dense; i++)
            largest = fmax(largest, cabs(want[i]));
        for (long i = 0; i < dense && good; i++) {
            long at = at_of(out, p->rank, b, i);
            cplx v = get(out->type, got, at), w = is_complex(out->type) ? want[i] : creal(want[i]);
            written[at] = 1;
            good = check(cabs(v - w) <= epsilon * (largest + 1), "%s: item %ld [%ld] is %g%+gi, not %g%+gi", what, b, i, creal(v),
                         cimag(v), creal(w), cimag(w));
        }
        free(want);
    }
    size_t size = size_of(out->type);
    for (long i = 0; i < out->elements && good && !p->in_place; i++)
        if (!written[i])
            good = check(!memcmp((const char *)got + i * size, (const char *)before + i * size, size), "%s: gap %ld was written",
                         what, i);
    free(written);
}

static const char *text(const struct problem *p)
{
    static _Thread_local char what[160];
    snprintf(what, sizeof what, "%d-D %lld x %lld x %lld, %d of types %d to %d, sign %d%s%s", p->rank, p->n[0],
             p->rank > 1 ? p->n[1] : 1, p->rank > 2 ? p->n[2] : 1, p->batch, p->in, p->out, p->sign,
             p->in_place ? ", in place" : "", p->advanced ? ", embedded" : "");
    return what;
}

static void one(const struct problem *p)
{
    struct side in = { 0 }, out = { 0 };
    cufftHandle plan = 0;
    size_t work = 99;
    int basic = !p->advanced;
    side_make(&in, p, p->in, is_complex(p->in) && !is_complex(p->out), p->in_place && !is_complex(p->in));
    side_make(&out, p, p->out, is_complex(p->in) != is_complex(p->out) && is_complex(p->out), p->in_place && !is_complex(p->out));
    if (is_complex(p->in) && !is_complex(p->out))
        make_hermitian(&in, p);
    size_t in_size = (size_t)in.elements * size_of(in.type), out_size = (size_t)out.elements * size_of(out.type);
    size_t larger = in_size > out_size ? in_size : out_size;
    cudaMalloc(&in.device, larger), cudaMalloc(&out.device, larger);
    cudaMemcpy(in.device, in.host, in_size, 1), cudaMemcpy(out.device, out.host, out_size, 1);
    int exec = is_complex(p->in) ? p->in : p->out;
    int status = cufftCreate(&plan);
    if (!status)
        status = (int)cufftXtMakePlanMany(plan, p->rank, (ll *)p->n, basic ? NULL : in.embed, in.stride, in.dist, p->in,
                                          basic ? NULL : out.embed, out.stride, out.dist, p->out, p->batch, &work, exec);
    if (check(status == 0 && work > 0, "%s: plan %d, work %zu", text(p), status, work)) {
        void *to = p->in_place ? in.device : out.device, *got = malloc(out_size), *kept = malloc(in_size);
        status = cufftXtExec(plan, in.device, to, p->sign);
        check(status == 0, "%s: status %d", text(p), status);
        cudaMemcpy(got, to, out_size, 2);
        compare(p, &in, &out, got, out.host, text(p));
        cudaMemcpy(kept, in.device, in_size, 2);
        if (!p->in_place)
            check(!memcmp(kept, in.host, in_size), "%s: the input has changed", text(p));
        free(got), free(kept);
    }
    cufftDestroy(plan);
    cudaFree(in.device), cudaFree(out.device);
    free(in.host), free(out.host);
}

static void all(void)
{
    static const struct {
        int r, c;
    } types[] = {
        { CUDA_R_32F, CUDA_C_32F }, { CUDA_R_64F, CUDA_C_64F }, { CUDA_R_16F, CUDA_C_16F }, { CUDA_R_16BF, CUDA_C_16BF }
    };
    static const struct {
        int rank;
        ll n[3];
    } sizes[] = { { 1, { 16 } },   { 1, { 1 } },       { 1, { 15 } },      { 1, { 97 } },      { 1, { 256 } }, { 2, { 8, 12 } },
                  { 2, { 5, 7 } }, { 3, { 4, 6, 8 } }, { 3, { 3, 5, 7 } }, { 3, { 1, 2, 9 } }, { 2, { 6, 1 } } };
    for (size_t t = 0; t < 4; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s += quick ? 3 : 1)
            for (int kind = 0; kind < 4; kind++)
                for (int way = 0; way < 8; way += quick ? 3 : 1) {
                    struct problem p = { sizes[s].rank,
                                         way & 1 ? 3 : 1,
                                         types[t].c,
                                         types[t].c,
                                         kind & 1 ? 1 : -1,
                                         way >> 1 & 1,
                                         way >> 2 ? 1 + way % 3 : 0,
                                         { sizes[s].n[0], sizes[s].n[1], sizes[s].n[2] } };
                    if (kind == 2)
                        p.in = types[t].r, p.sign = -1;
                    if (kind == 3)
                        p.out = types[t].r, p.sign = 1;
                    if (p.in_place && p.advanced && kind >= 2)
                        continue; /* strides of reals and complex numbers share no memory then */
                    one(&p);
                }
}

/* Side by side in the input, and in the output in rows an odd number of elements apart, for which FFTW has code that faults. */
static void side_by_side(void)
{
    enum { N = 12, BATCH = 4, APART = 15 };
    float _Complex in[N * BATCH] = { 0 }, out[APART * BATCH];
    int n[1] = { N };
    void *a, *b;
    cufftHandle plan;
    for (int k = 0; k < BATCH; k++)
        in[k * BATCH + k] = 1; /* number k of transform k */
    cudaMalloc(&a, sizeof in), cudaMalloc(&b, sizeof out);
    cudaMemcpy(a, in, sizeof in, 1);
    check(cufftPlanMany(&plan, 1, n, n, BATCH, 1, n, 1, APART, CUFFT_C2C, BATCH) == 0 && cufftExecC2C(plan, a, b, -1) == 0,
          "side by side");
    cudaMemcpy(out, b, sizeof out, 2);
    for (int k = 0; k < BATCH; k++)
        for (int i = 0; i < N; i++) {
            double turn = -2 * acos(-1) * i * k / N;
            check(cabsf(out[k * APART + i] - CMPLXF((float)cos(turn), (float)sin(turn))) < 1e-5f, "side by side: [%d] of %d", i,
                  k);
        }
    cufftDestroy(plan);
    cudaFree(a), cudaFree(b);
}

/* ---- The functions of one kind and of one rank */

static void classic(void)
{
    float _Complex host[24], back[24];
    float real[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, real_back[12];
    void *a, *b;
    cufftHandle plan;
    size_t size = 7;
    int n[2] = { 4, 6 }, version = 0, value = 0;
    for (int i = 0; i < 24; i++)
        host[i] = CMPLXF((float)(i * 5 % 7), (float)(i * 3 % 4));
    cudaMalloc(&a, sizeof host), cudaMalloc(&b, sizeof host);
    cudaMemcpy(a, host, sizeof host, 1);
    check(cufftPlan2d(&plan, 4, 6, CUFFT_C2C) == 0, "plan 2d");
    check(cufftExecC2C(plan, a, b, -1) == 0 && cufftExecC2C(plan, b, b, 1) == 0, "there and back");
    cudaMemcpy(back, b, sizeof back, 2);
    for (int i = 0; i < 24; i++)
        check(cabsf(back[i] / 24 - host[i]) < 1e-5f, "there and back [%d]", i);
    check(cufftExecR2C(plan, a, b) == CUFFT_INVALID_TYPE, "a plan of another type");
    check(cufftExecC2C(plan, NULL, b, -1) == CUFFT_INVALID_VALUE && cufftExecC2C(plan, a, b, 0) == CUFFT_INVALID_VALUE,
          "NULL, direction");
    check(cufftMakePlan1d(plan, 4, CUFFT_C2C, 1, &size) == CUFFT_INVALID_PLAN, "made twice");
    check(cufftDestroy(plan) == 0 && cufftDestroy(plan) == CUFFT_INVALID_PLAN &&
              cufftExecC2C(plan, a, b, 1) == CUFFT_INVALID_PLAN,
          "no plan");
    cudaMemcpy(a, real, sizeof real, 1);
    cufftHandle inverse;
    check(cufftPlan1d(&plan, 6, CUFFT_R2C, 2) == 0 && cufftPlan1d(&inverse, 6, CUFFT_C2R, 2) == 0, "plan 1d");
    check(cufftExecR2C(plan, a, b) == 0 && cufftExecC2R(inverse, b, a) == 0, "real");
    cudaMemcpy(real_back, a, sizeof real_back, 2);
    for (int i = 0; i < 12; i++)
        check(fabsf(real_back[i] / 6 - real[i]) < 1e-5f, "real [%d]: %g", i, real_back[i]);
    cufftDestroy(plan), cufftDestroy(inverse);
#define SAYS(wanted, call) check((call) == (wanted), #call)
    SAYS(CUFFT_INVALID_SIZE, cufftPlan1d(&plan, 0, CUFFT_C2C, 1));
    SAYS(CUFFT_INVALID_SIZE, cufftPlan1d(&plan, 4, CUFFT_C2C, 0));
    SAYS(CUFFT_INVALID_SIZE, cufftPlan3d(&plan, 4, -1, 4, CUFFT_C2C));
    SAYS(CUFFT_INVALID_TYPE, cufftPlan1d(&plan, 4, 0x30, 1));
    SAYS(CUFFT_INVALID_VALUE, cufftPlanMany(&plan, 4, n, NULL, 1, 0, NULL, 1, 0, CUFFT_C2C, 1));
    SAYS(CUFFT_INVALID_VALUE, cufftPlan1d(NULL, 4, CUFFT_C2C, 1));
    SAYS(CUFFT_INVALID_PLAN, cufftSetStream(12345, NULL));
    SAYS(CUFFT_INVALID_PLAN, cufftSetStream(-1, NULL));
    SAYS(CUFFT_SUCCESS, cufftEstimateMany(2, n, NULL, 1, 0, NULL, 1, 0, CUFFT_Z2Z, 3, &size));
    SAYS(CUFFT_INVALID_SIZE, cufftEstimate1d(-3, CUFFT_Z2Z, 3, &size));
    check(size > 0, "work area of %zu", size);
    check(cufftCreate(&plan) == 0 && cufftExecC2C(plan, a, b, 1) == CUFFT_INVALID_PLAN, "not made");
    SAYS(CUFFT_SUCCESS, cufftSetAutoAllocation(plan, 0));
    SAYS(CUFFT_SUCCESS, cufftGetSize2d(plan, 4, 6, CUFFT_D2Z, &size));
    SAYS(CUFFT_SUCCESS, cufftMakePlanMany(plan, 2, n, NULL, 1, 0, NULL, 1, 0, CUFFT_D2Z, 1, &size));
    SAYS(CUFFT_SUCCESS, cufftSetWorkArea(plan, NULL));
    SAYS(CUFFT_NOT_SUPPORTED, cufftXtSetCallback(plan, NULL, 0, NULL));
    check(cufftGetVersion(&version) == 0 && version == 11401 && cufftGetProperty(MAJOR_VERSION, &value) == 0 && value == 11,
          "version %d", version);
    cufftDestroy(plan);
    cudaFree(a), cudaFree(b);
}

static void descriptors(void)
{
    enum { N = 20 };
    float _Complex host[N], back[N];
    cufftHandle plan;
    cudaLibXtDesc *d = NULL;
    int gpus[2] = { 0, 1 };
    size_t sizes[2] = { 9, 9 };
    for (int i = 0; i < N; i++)
        host[i] = CMPLXF((float)i, (float)(i % 3));
    check(cufftCreate(&plan) == 0 && cufftXtSetGPUs(plan, 2, gpus) == CUFFT_NOT_SUPPORTED && cufftXtSetGPUs(plan, 1, gpus) == 0,
          "one GPU");
    check(cufftMakePlan1d(plan, N, CUFFT_C2C, 1, sizes) == 0 && cufftXtMalloc(plan, &d, CUFFT_XT_FORMAT_INPLACE) == 0, "malloc");
    check(cufftXtMemcpy(plan, d, host, CUFFT_COPY_HOST_TO_DEVICE) == 0, "copy in");
    check(cufftXtExecDescriptorC2C(plan, d, d, -1) == 0 && cufftXtExecDescriptor(plan, d, d, 1) == 0, "exec");
    check(cufftXtMemcpy(plan, back, d, CUFFT_COPY_DEVICE_TO_HOST) == 0, "copy out");
    for (int i = 0; i < N; i++)
        check(cabsf(back[i] / N - host[i]) < 1e-5f, "descriptor [%d]", i);
    check(cufftXtFree(d) == 0 && cufftDestroy(plan) == 0, "free");
}

/* ---- Order, graphs, threads, leaks */

static void streams(void)
{
    enum { N = 1 << 14 };
    float _Complex *host = malloc(N * sizeof *host), got;
    void *a, *stream, *exec;
    cufftHandle plan;
    for (int i = 0; i < N; i++)
        host[i] = 1;
    cudaMalloc(&a, N * sizeof *host);
    cudaMemcpy(a, host, N * sizeof *host, 1);
    cudaStreamCreateWithFlags(&stream, 1);
    cufftPlan1d(&plan, 16, CUFFT_C2C, N / 16);
    cufftSetStream(plan, stream);
    cudaStreamBeginCapture(stream, 0);
    check(cufftExecC2C(plan, a, a, -1) == 0 && cufftExecC2C(plan, a, a, 1) == 0, "captured");
    exec = test_captured(stream);
    cufftDestroy(plan); /* the graph has what it needs */
    for (int i = 0; i < 3; i++)
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
    cudaStreamSynchronize(stream);
    cudaMemcpy(&got, (char *)a + 800, sizeof got, 2);
    check(cabsf(got - 4096) < 0.1f, "after three launches: %g", crealf(got));
    cudaGraphExecDestroy(exec), cudaStreamDestroy(stream);
    cudaFree(a);
    free(host);
}

static void *thread(void *arg)
{
    for (int i = 0; i < (quick ? 3 : 60); i++) {
        int n = 8 + (i * 7 + (int)(size_t)arg * 13) % 50;
        float _Complex host[64], back[64];
        void *a;
        cufftHandle plan;
        for (int k = 0; k < n; k++)
            host[k] = CMPLXF((float)(k % 5), (float)(size_t)arg);
        cudaMalloc(&a, sizeof host);
        cudaMemcpy(a, host, (size_t)n * sizeof *host, 1);
        int status = cufftPlan1d(&plan, n, CUFFT_C2C, 1);
        status |= cufftExecC2C(plan, a, a, 1) | cufftExecC2C(plan, a, a, -1);
        cudaMemcpy(back, a, (size_t)n * sizeof *host, 2);
        status |= cufftDestroy(plan);
        for (int k = 0; k < n; k++)
            if (!check(!status && cabsf(back[k] / (float)n - host[k]) < 1e-4f, "thread %d, n %d [%d]", (int)(size_t)arg, n, k))
                break;
        cudaFree(a);
    }
    return NULL;
}

static void leaks(void)
{
    size_t early = 0;
    void *a;
    cudaMalloc(&a, 4096);
    for (int i = 0; i < (quick ? 20 : 10000); i++) {
        cufftHandle plan;
        if (i == 200)
            early = mallinfo2().uordblks;
        cufftPlan1d(&plan, 12 + i % 4, i % 2 ? CUFFT_C2C : CUFFT_C2R, 2);
        if (i % 4 == 0)
            cufftXtExec(plan, a, a, 1);
        cufftDestroy(plan);
    }
    check(quick || mallinfo2().uordblks < early + 131072, "10,000 plans: %zu bytes, then %zu", early, mallinfo2().uordblks);
    cudaFree(a);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    all();
    side_by_side();
    classic();
    descriptors();
    streams();
    test_in_threads(thread, NULL);
    leaks();
    return test_end("fft");
}
