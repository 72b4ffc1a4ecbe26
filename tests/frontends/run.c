/* Runs the kernels of kernels.h from a PTX file through the driver API and compares what they write with what the same bodies
 * give on this processor.  Who made the PTX is front.py's affair.
 *
 *   run FILE.ptx [c++]       exit 0 when all kernels agree; "c++": the file has kernels.cu's as well */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bodies.h"

extern int cuInit(unsigned flags);
extern int cuDevicePrimaryCtxRetain(void **context, int device);
extern int cuCtxSetCurrent(void *context);
extern int cuModuleLoadData(void **module, const void *image);
extern int cuModuleGetFunction(void **function, void *module, const char *name);
extern int cuMemAlloc_v2(u64 *ptr, size_t size);
extern int cuMemcpyHtoD_v2(u64 dst, const void *src, size_t size);
extern int cuMemcpyDtoH_v2(void *dst, u64 src, size_t size);
extern int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **params, void **extra);
extern int cuCtxSynchronize(void);

enum { BLOCK = 128, N = 8 * BLOCK };

static u32 in[N], out[N], want[N];

#define EACH(name)                          \
    static void want_##name(void)           \
    {                                       \
        for (u32 i = 0; i < N; i++)         \
            want[i] = body_##name(in[i], i);\
    }
EACH(integers)
EACH(floats)
EACH(doubles)
EACH(halves)
EACH(branches)
EACH(locals)
EACH(wide)

static void want_shared_sum(void)
{
    for (u32 b = 0; b < N; b += BLOCK) {
        u32 sum = 0;
        for (u32 t = 0; t < BLOCK; t++)
            sum += in[b + t];
        for (u32 t = 0; t < BLOCK; t++)
            want[b + t] = in[b + BLOCK - 1 - t] + sum;
    }
}

static void want_warp_steps(void)
{
    for (u32 w = 0; w < N; w += 32) {
        u32 votes = 0, sum = 0;
        bool any = false;
        for (u32 l = 0; l < 32; l++) {
            votes |= (in[w + l] & 1) << l;
            any |= in[w + l] % 61 == 0;
        }
        for (u32 l = 0; l < 32; l++) {
            sum += in[w + l];
            want[w + l] = (any ? sum ^ 0x1000 : sum) + votes * 3 + in[w + (l ^ 5)];
        }
    }
}

static void want_atomics(void)
{
    u64 sum = 0;
    for (u32 i = 0; i < N; i++) {
        want[in[i] & 15]++;
        want[16] = in[i] > want[16] ? in[i] : want[16];
        want[20] = (in[i] & 0xffff) > want[20] ? in[i] & 0xffff : want[20];
        want[21] ^= in[i];
        sum += in[i];
    }
    memcpy(&want[18], &sum, 8);
}

static void want_tables(void)
{
    static const u32 primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };
    for (u32 i = 0; i < N; i++) {
        u32 v = in[i], b = primes[i & 7];
        u32 r = (v & 3) == 0 ? v + b : (v & 3) == 1 ? v * b : (v & 3) == 2 ? v << (b & 31) | v >> (-b & 31) : v - b;
        want[i] = r + primes[2 + v % 5];
    }
}

static void want_classes(void)
{
    for (u32 i = 0; i < N; i++) {
        u32 v = in[i], scale = v >> 20, side = v & 255;
        u64 wide = (u64)v << 8;
        for (u32 k = 0; k < 5; k++)
            wide = wide * 3 + (k ^ i);
        want[i] = (v & 4096 ? side * side * scale : (v & 1023) * (i & 31) + scale) + fold(wide);
    }
}

static const struct kernel {
    const char *name;
    void (*reference)(void);
    bool cpp;
} kernels[] = {
    { "integers", want_integers, false },     { "floats", want_floats, false },         { "doubles", want_doubles, false },
    { "halves", want_halves, false },         { "branches", want_branches, false },     { "locals", want_locals, false },
    { "wide", want_wide, false },             { "shared_sum", want_shared_sum, false }, { "warp_steps", want_warp_steps, false },
    { "atomics", want_atomics, false },       { "tables", want_tables, false },         { "classes", want_classes, true },
};

static void must(int error, const char *what)
{
    if (error) {
        printf("%s: error %d\n", what, error);
        exit(1);
    }
}

/* The file's bytes with a NUL at the end; it is never freed. */
static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    if (!f || !text || fread(text, 1, (1 << 20) - 1, f) == 0) {
        perror(path);
        exit(2);
    }
    fclose(f);
    return text;
}

static bool agrees(void *module, const struct kernel *k, u64 d_in, u64 d_out)
{
    void *function;
    u32 n = N, first = N, wrong = 0;
    memset(want, 0, sizeof want);
    memset(out, 0, sizeof out);
    k->reference();
    must(cuModuleGetFunction(&function, module, k->name), k->name);
    must(cuMemcpyHtoD_v2(d_out, out, sizeof out), "cuMemcpyHtoD");
    must(cuLaunchKernel(function, N / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, (void *[]){ &d_in, &d_out, &n }, NULL), k->name);
    must(cuCtxSynchronize(), k->name);
    must(cuMemcpyDtoH_v2(out, d_out, sizeof out), "cuMemcpyDtoH");
    for (u32 i = 0; i < N; i++)
        if (out[i] != want[i]) {
            first = first == N ? i : first;
            wrong++;
        }
    if (wrong)
        printf("%s: %u of %u differ; element %u is %#x, not %#x\n", k->name, wrong, (u32)N, first, out[first], want[first]);
    return !wrong;
}

int main(int argc, char **argv)
{
    void *context, *module;
    u64 d_in, d_out;
    unsigned good = 0, tried = 0;
    if (argc < 2)
        return 2;
    for (u32 i = 0; i < N; i++)
        in[i] = i < 8 ? i : i < 16 ? ~i : i % 16 == 0 ? 1u << (i / 16 % 32) : mix(i * 2654435761u);
    must(cuInit(0), "cuInit");
    must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(cuModuleLoadData(&module, read_file(argv[1])), "cuModuleLoadData");
    must(cuMemAlloc_v2(&d_in, sizeof in), "cuMemAlloc");
    must(cuMemAlloc_v2(&d_out, sizeof out), "cuMemAlloc");
    must(cuMemcpyHtoD_v2(d_in, in, sizeof in), "cuMemcpyHtoD");
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!kernels[i].cpp || argc > 2) {
            tried++;
            good += agrees(module, &kernels[i], d_in, d_out);
        }
    printf("%u of %u kernels agree\n", good, tried);
    return good != tried;
}
