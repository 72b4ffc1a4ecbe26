/* cuRAND's host interface: published values of the generators, Sobol's points, moments of the distributions, going on where a
 * call ended, wrong arguments, graphs, threads, leaks.  The same bits as in kernels: that is program.cu's.  Usage: rand_test
 * [quick] */
/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../verdict.h"

#include "curand.h"

static int quick;
#define SAYS(wanted, call) check((call) == (wanted), #call)

static const curandRngType_t types[] = { CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A, CURAND_RNG_PSEUDO_PHILOX4_32_10,
                                         CURAND_RNG_PSEUDO_MT19937, CURAND_RNG_PSEUDO_MTGP32 };
enum { N_TYPES = sizeof types / sizeof *types };

static curandGenerator_t make(curandRngType_t type, unsigned long long seed, int on_host)
{
    curandGenerator_t g = NULL;
    int status = on_host ? curandCreateGeneratorHost(&g, type) : curandCreateGenerator(&g, type);
    check(status == 0 && curandSetPseudoRandomGeneratorSeed(g, seed) == 0, "generator %d: %d", type, status);
    return g;
}

/* MTGP32's numbers from the recurrence as its inventors write it, with their whole tables, worked out once in Python: of the
 * first and last twister, of a second turn, and a sum over all of 40,000. */
static void mtgp32(void)
{
    enum { N = 40000 };
    static const struct {
        int at;
        uint32_t is;
    } some[] = { { 0, 0x724df7fb },     { 1, 0xed5eaa58 },     { 255, 0x733a6d03 },   { 256, 0xfb3a9018 },
                 { 511, 0xd25f14e2 },   { 16383, 0xb87672c4 }, { 16384, 0x2f28844a }, { 33068, 0x111db4fd } };
    uint32_t *bits = malloc(N * sizeof *bits), sum = 0;
    curandGenerator_t g = make(CURAND_RNG_PSEUDO_MTGP32, 0x123456789ull, 1);
    check(curandGenerate(g, bits, N) == 0, "MTGP32");
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        check(bits[some[i].at] == some[i].is, "MTGP32 [%d]: %x", some[i].at, bits[some[i].at]);
    for (int i = 0; i < N; i++)
        sum = sum * 31 + bits[i];
    check(sum == 0xc7ef8fda, "MTGP32's sum: %x", sum);
    curandDestroyGenerator(g);
    free(bits);
}

/* ---- Values that others published */

static void published(void)
{
    static const uint32_t zeros[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                       0x9b00dbd8 }; /* Random123's vectors: counter 0, key 0 */
    static const double lecuyer[4] = { 0.127011122046577, 0.318527565396794, 0.309186015583270, 0.825846862927114 };
    uint32_t bits[8], *many = malloc(4096 * 4 * sizeof *many);
    curandGenerator_t g = make(CURAND_RNG_PSEUDO_PHILOX4_32_10, 0, 1);
    check(curandGenerate(g, bits, 4) == 0 && !memcmp(bits, zeros, sizeof zeros), "Philox of zeros: %x %x", bits[0], bits[1]);
    curandDestroyGenerator(g);
    g = make(CURAND_RNG_PSEUDO_MRG32K3A, 0, 1);
    for (unsigned i = 0; i < 4; i++) {
        double v = 0;
        int status = (int)curandSetGeneratorOffset(g, 81920ull * i) + (int)curandGenerateUniformDouble(g, &v, 1);
        check(status == 0 && fabs(v - lecuyer[i]) < 1e-9, "MRG32k3a [%u]: %.15f", i, v); /* cuRAND's norm is a little larger */
    }
    curandDestroyGenerator(g);
    g = make(CURAND_RNG_PSEUDO_MT19937, 5489, 1);
    check(curandGenerate(g, bits, 4) == 0 && bits[0] == 3499211612u && bits[1] == 581869302u, "MT19937: %u %u", bits[0], bits[1]);
    curandDestroyGenerator(g);
    /* XORWOW's first sub-sequence by Marsaglia's loop. */
    g = make(CURAND_RNG_PSEUDO_XORWOW, 1234, 1);
    uint32_t s0 = 1234 ^ 0xaad26b49u, s1 = 0xf7dcefddu, t0 = 1099087573u * s0, t1 = 2591861531u * s1;
    uint32_t x = 123456789u + t0, y = 362436069u ^ t0, z = 521288629u + t1, w = 88675123u ^ t1, v = 5783321u + t0,
             d = 6615241u + t1 + t0;
    check(curandGenerate(g, many, 4096 * 4) == 0, "generate");
    for (unsigned i = 0; i < 4; i++) {
        uint32_t t = x ^ x >> 2;
        x = y, y = z, z = w, w = v, v = (v ^ v << 4) ^ (t ^ t << 1), d += 362437;
        check(many[4096 * i] == v + d, "XORWOW [%u]: %u, not %u", i, many[4096 * i], v + d);
    }
    curandDestroyGenerator(g);
    free(many);
}

static void sobol(void)
{
    enum { N = 8, D = 6 };
    /* Joe and Kuo's directions as SciPy walks through them: the first eight points of six dimensions, in eighths. */
    static const int eighths[D][N] = { { 0, 4, 6, 2, 3, 7, 5, 1 }, { 0, 4, 2, 6, 3, 7, 1, 5 }, { 0, 4, 2, 6, 5, 1, 7, 3 },
                                       { 0, 4, 2, 6, 7, 3, 5, 1 }, { 0, 4, 6, 2, 3, 7, 5, 1 }, { 0, 4, 6, 2, 1, 5, 7, 3 } };
    uint32_t bits[D * N], part[D * 4];
    uint64_t wide[D * N];
    double normal[2];
    curandGenerator_t g = NULL, h = NULL;
    if (curandCreateGeneratorHost(&g, CURAND_RNG_QUASI_DEFAULT) == CURAND_STATUS_TYPE_ERROR) {
        printf("Sobol sequences are not built in\n");
        return;
    }
    check(curandSetQuasiRandomGeneratorDimensions(g, D) == 0 && curandGenerate(g, bits, D * N) == 0, "Sobol");
    for (int d = 0; d < D; d++)
        for (int i = 0; i < N; i++)
            check(bits[d * N + i] >> 29 == (unsigned)eighths[d][i], "Sobol [%d] of dimension %d: %u, not %d", i, d,
                  bits[d * N + i] >> 29, eighths[d][i]);
    check(curandGenerate(g, part, D * 4) == 0 && curandSetGeneratorOffset(g, 8) == 0 && curandGenerate(g, bits, D * 4) == 0 &&
              !memcmp(bits, part, sizeof part),
          "Sobol goes on");
    SAYS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerate(g, bits, D * N - 1));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(g, 0));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandSetQuasiRandomGeneratorDimensions(g, 20001));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandSetPseudoRandomGeneratorSeed(g, 1));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandGenerateLongLong(g, wide, D));
    check(curandSetQuasiRandomGeneratorDimensions(g, 1) == 0 && curandSetGeneratorOffset(g, 1) == 0 &&
              curandGenerateNormalDouble(g, normal, 2, 1, 2) == 0 && fabs(normal[0] - 1) < 1e-8 &&
              fabs(normal[1] - (1 + 2 * 0.6744897501960817)) < 1e-8,
          "normal Sobol: %.12f %.12f", normal[0], normal[1]);
    check(curandCreateGeneratorHost(&h, CURAND_RNG_QUASI_SOBOL64) == 0 && curandSetQuasiRandomGeneratorDimensions(h, D) == 0 &&
              curandGenerateLongLong(h, wide, D * N) == 0,
          "64 bits");
    for (int i = 0; i < D * N; i++)
        check(wide[i] >> 61 == (unsigned)eighths[i / N][i % N], "Sobol64 [%d]", i);
    SAYS(CURAND_STATUS_TYPE_ERROR, curandGenerate(h, bits, D));
    curandDestroyGenerator(g), curandDestroyGenerator(h);
    curandDirectionVectors32_t *v = NULL;
    check(curandGetDirectionVectors32(&v, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == 0 && v[0][0] == 0x80000000u && v[0][31] == 1 &&
              v[1][1] == 0xc0000000u,
          "direction vectors");
}

/* Scrambled sequences are nets as the plain ones are: of 1,024 points one is in each of as many intervals of every dimension, and
 * in each of 32 x 32 squares of the first two.  And they are what vectors and constants say. */
static void scrambled_sobol(void)
{
    enum { N = 1024, D = 40, FROM = 5 };
    static uint32_t bits[D * N], plain[D * N];
    static uint64_t wide[D * N];
    static unsigned char seen[N], square[N];
    curandGenerator_t g = NULL, h = NULL, p = NULL;
    curandDirectionVectors32_t *v = NULL;
    curandDirectionVectors64_t *w = NULL;
    unsigned *c = NULL, same = 0, equal = 0;
    uint64_t *e = NULL;
    if (curandCreateGeneratorHost(&g, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32) == CURAND_STATUS_TYPE_ERROR)
        return;
    check(curandCreateGeneratorHost(&h, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64) == 0 &&
              curandCreateGeneratorHost(&p, CURAND_RNG_QUASI_SOBOL32) == 0, "scrambled generators");
    check(curandSetQuasiRandomGeneratorDimensions(g, D) == 0 && curandGenerate(g, bits, D * N) == 0, "scrambled Sobol");
    check(curandSetQuasiRandomGeneratorDimensions(h, D) == 0 && curandGenerateLongLong(h, wide, D * N) == 0, "of 64 bits");
    check(curandSetQuasiRandomGeneratorDimensions(p, D) == 0 && curandGenerate(p, plain, D * N) == 0, "plain Sobol");
    for (int d = 0; d < D; d++) {
        int twice = 0;
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < N; i++) {
            twice += seen[bits[d * N + i] >> 22]++ != 0;
            same += bits[d * N + i] == plain[d * N + i];
            equal += d && bits[d * N + i] == bits[i];
        }
        memset(seen, 0, sizeof seen);
        for (int i = 0; i < N; i++)
            twice += seen[wide[d * N + i] >> 54]++ != 0;
        check(twice == 0, "scrambled Sobol of dimension %d: %d intervals have several points", d, twice);
    }
    for (int i = 0; i < N; i++)
        check(square[(bits[i] >> 27) * 32 + (bits[N + i] >> 27)]++ == 0, "scrambled Sobol: a square has several points");
    check(same < 10 && equal < 10, "scrambled Sobol: %u as the plain one, %u as of the first dimension", same, equal);
    check(curandGetDirectionVectors32(&v, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6) == 0 &&
              curandGetDirectionVectors64(&w, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) == 0 &&
              curandGetScrambleConstants32(&c) == 0 && curandGetScrambleConstants64(&e) == 0, "tables");
    check(curandSetGeneratorOffset(g, FROM) == 0 && curandGenerate(g, bits, D * N) == 0, "from another number on");
    for (int d = 0; v && w && c && e && d < D; d++) {
        uint32_t x = c[d];
        uint64_t y = e[d];
        int wrong = 0;
        for (unsigned i = 0; i < N; i++) {
            if (i >= FROM)
                wrong += bits[d * N + (int)i - FROM] != x;
            wrong += wide[d * N + (int)i] != y;
            x ^= v[d][__builtin_ctz(~i)], y ^= w[d][__builtin_ctz(~i)];
        }
        check(wrong == 0, "scrambled Sobol of dimension %d: %d numbers are not what vectors say", d, wrong);
    }
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandGetScrambleConstants32(NULL));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandGetDirectionVectors32(&v, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandGenerate(h, bits, D));
    curandDestroyGenerator(g), curandDestroyGenerator(h), curandDestroyGenerator(p);
}

/* ---- Distributions on the device: mean and variance, and that device and host agree */

struct moments {
    double mean, variance;
};

static struct moments moments_of(const void *p, int wide, int integers, size_t n)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double v = integers ? ((const unsigned *)p)[i] : wide ? ((const double *)p)[i] : ((const float *)p)[i];
        sum += v, squares += v * v;
    }
    return (struct moments){ sum / (double)n, squares / (double)n - sum / (double)n * (sum / (double)n) };
}

static int draw(curandGenerator_t g, int kind, void *out, size_t n)
{
    switch (kind) {
    case 0: return curandGenerateUniform(g, out, n);
    case 1: return curandGenerateUniformDouble(g, out, n);
    case 2: return curandGenerateNormal(g, out, n, 1, 2);
    case 3: return curandGenerateNormalDouble(g, out, n, 1, 2);
    case 4: return curandGenerateLogNormal(g, out, n, 0, 0.25f);
    case 5: return curandGenerateLogNormalDouble(g, out, n, 0, 0.25);
    case 6: return curandGeneratePoisson(g, out, n, 3.5);
    default: return curandGeneratePoisson(g, out, n, 10000);
    }
}

static void distributions(void)
{
    double e = exp(0.0625);
    const struct moments want[8] = {
        { 0.5, 1.0 / 12 }, { 0.5, 1.0 / 12 }, { 1, 4 }, { 1, 4 }, { exp(0.03125), (e - 1) * e }, { exp(0.03125), (e - 1) * e },
        { 3.5, 3.5 },      { 10000, 10000 }
    };
    size_t n = quick ? 20000 : 200000;
    void *device, *host = malloc(n * 8), *other = malloc(n * 8);
    cudaMalloc(&device, n * 8);
    for (int t = 0; t < N_TYPES; t++)
        for (int kind = 0; kind < 8; kind++) {
            curandGenerator_t g = make(types[t], 77 + (unsigned)kind, 0), h = make(types[t], 77 + (unsigned)kind, 1);
            int wide = kind < 6 && kind % 2;
            size_t size = n * (wide ? 8 : 4), half = (n / 2) & ~(size_t)7;
            int status = draw(g, kind, device, n);
            cudaMemcpy(host, device, size, 2);
            struct moments got = moments_of(host, wide, kind >= 6, n);
            double slack = 6 * sqrt(want[kind].variance / (double)n);
            check(status == 0 && fabs(got.mean - want[kind].mean) < slack && fabs(got.variance / want[kind].variance - 1) < 0.05,
                  "generator %d, distribution %d: status %d, mean %g, variance %g", types[t], kind, status, got.mean,
                  got.variance);
            /* On the host, and in two calls. */
            status = draw(h, kind, other, half);
            status |= draw(h, kind, (char *)other + half * (wide ? 8 : 4), n - half);
            check(status == 0 && !memcmp(host, other, size), "generator %d, distribution %d: host and device differ", types[t],
                  kind);
            curandDestroyGenerator(g), curandDestroyGenerator(h);
        }
    cudaFree(device);
    free(host), free(other);
}

/* Any cuts of the sequence of bits give the same, as does an offset. */
static void cuts(void)
{
    enum { N = 9000 };
    uint32_t whole[N], parts[N];
    for (int t = 0; t < N_TYPES; t++) {
        curandGenerator_t g = make(types[t], 5, 1), h = make(types[t], 5, 1);
        int status = curandGenerate(g, whole, N);
        for (size_t at = 0, n = 1; at < N; at += n, n = n * 3 % 1001 + 1)
            status |= curandGenerate(h, parts + at, n < N - at ? n : N - at);
        check(status == 0 && !memcmp(whole, parts, sizeof whole), "generator %d: cuts", types[t]);
        for (unsigned offset = 1; offset < 5000 && t < 3; offset = offset * 3 + 1) {
            status = curandSetGeneratorOffset(h, offset) | curandGenerate(h, parts, 100);
            check(status == 0 && !memcmp(parts, whole + offset, 400), "generator %d: offset %u", types[t], offset);
        }
        curandDestroyGenerator(g), curandDestroyGenerator(h);
    }
}

static void statuses(void)
{
    curandGenerator_t g = NULL, none = NULL;
    float out[4];
    int version = 0;
    SAYS(CURAND_STATUS_NOT_INITIALIZED, curandGenerateUniform(NULL, out, 4));
    SAYS(CURAND_STATUS_NOT_INITIALIZED, curandDestroyGenerator(NULL));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandCreateGenerator(&none, 7));
    g = make(CURAND_RNG_PSEUDO_MTGP32, 1, 1);
    SAYS(CURAND_STATUS_TYPE_ERROR, curandSetGeneratorOffset(g, 1));
    curandDestroyGenerator(g);
    g = make(CURAND_RNG_PSEUDO_DEFAULT, 1, 1);
    SAYS(CURAND_STATUS_LENGTH_NOT_MULTIPLE, curandGenerateNormal(g, out, 3, 0, 1));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandSetGeneratorOrdering(g, CURAND_ORDERING_QUASI_DEFAULT));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_SEEDED));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_DYNAMIC));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandSetQuasiRandomGeneratorDimensions(g, 2));
    SAYS(CURAND_STATUS_TYPE_ERROR, curandGenerateLongLong(g, (uint64_t *)out, 1));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandGeneratePoisson(g, (unsigned *)out, 1, 0));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandGeneratePoisson(g, (unsigned *)out, 1, 400001));
    SAYS(CURAND_STATUS_OUT_OF_RANGE, curandGenerateUniform(g, NULL, 4));
    SAYS(CURAND_STATUS_SUCCESS, curandGenerateUniform(g, NULL, 0));
    SAYS(CURAND_STATUS_SUCCESS, curandGenerateSeeds(g));
    check(curandGetVersion(&version) == 0 && version / 1000 == 10, "version %d", version);
    curandDestroyGenerator(g);
}

/* A graph's launches go on with the sequence. */
static void graphs(void)
{
    uint32_t whole[300], got[100];
    void *device, *stream, *exec;
    curandGenerator_t g = make(CURAND_RNG_PSEUDO_PHILOX4_32_10, 3, 0), h = make(CURAND_RNG_PSEUDO_PHILOX4_32_10, 3, 1);
    cudaMalloc(&device, sizeof got);
    cudaStreamCreateWithFlags(&stream, 1);
    curandSetStream(g, stream);
    cudaStreamBeginCapture(stream, 0);
    check(curandGenerate(g, device, 100) == 0, "captured");
    exec = test_captured(stream);
    curandDestroyGenerator(g); /* the graph has what it needs */
    curandGenerate(h, whole, 300);
    for (int i = 0; i < 3; i++) {
        check(cudaGraphLaunch(exec, stream) == 0, "launch");
        cudaStreamSynchronize(stream);
        cudaMemcpy(got, device, sizeof got, 2);
        check(!memcmp(got, whole + 100 * i, sizeof got), "launch %d", i);
    }
    cudaGraphExecDestroy(exec), cudaStreamDestroy(stream);
    cudaFree(device);
    curandDestroyGenerator(h);
}

static void *thread(void *arg)
{
    uint32_t first[64], again[64];
    for (int i = 0; i < (quick ? 2 : 20); i++) {
        curandGenerator_t g = make(types[((size_t)arg + (unsigned)i) % 4], (size_t)arg, 1);
        curandGenerate(g, first, 64);
        curandSetPseudoRandomGeneratorSeed(g, (size_t)arg);
        curandGenerate(g, again, 64);
        check(!memcmp(first, again, sizeof first), "thread %d", (int)(size_t)arg);
        curandDestroyGenerator(g);
    }
    return NULL;
}

static void leaks(void)
{
    size_t early = 0;
    void *a;
    cudaMalloc(&a, 256);
    for (int i = 0; i < (quick ? 20 : 10000); i++) {
        curandGenerator_t g = make(i % 2 ? CURAND_RNG_PSEUDO_XORWOW : CURAND_RNG_PSEUDO_PHILOX4_32_10, (unsigned)i, 0);
        if (i == 200)
            early = mallinfo2().uordblks;
        if (i % 50 < 2)
            curandGeneratePoisson(g, a, 8, 4), curandGenerate(g, a, 8);
        curandDestroyGenerator(g);
    }
    check(quick || mallinfo2().uordblks < early + 131072, "10,000 generators: %zu bytes, then %zu", early, mallinfo2().uordblks);
    cudaFree(a);
}

int main(int argc, char **argv)
{
    quick = argc > 1 && !strcmp(argv[1], "quick");
    published();
    mtgp32();
    sobol();
    scrambled_sobol();
    distributions();
    cuts();
    statuses();
    graphs();
    test_in_threads(thread, NULL);
    leaks();
    return test_end("rand");
}
