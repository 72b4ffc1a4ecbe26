/* Runs every form of mma, mma.sp, wmma, ldmatrix, stmatrix and movmatrix on whatever CUDA device there is, and compares.
 *
 *     anywarp run --device=sim:gfx1030 matrix_forms [TEXT [N [WARPS [ARCH PTXAS]]]]
 *
 * takes the forms whose name has TEXT in it, of those every Nth, with 1, 2 (the default) or 3 warps in a block: cards whose waves
 * hold two warps do those together otherwise than one alone.  With ARCH (80 …) what NVIDIA's assembler, the program PTXAS, makes
 * of each for that architecture is run, lifted; what it does not take is counted apart.
 *
 * The device and the references are tests/oracle's. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"
#include "oracle/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *wanted = "";
static unsigned every = 1, n_seen, n_forms, n_not_assembled, block_warps = 2, arch;

unsigned matrix_arch(void)
{
    return arch;
}

bool matrix_fail(const char *name, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    printf("%s: ", name);
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
    return false;
}

/* The buffers are gone when it returns.  Who fails has said why. */
static bool launch(const char *name, void *kernel, unsigned warps, const void *in, size_t in_size, void *out, size_t out_size)
{
    uint64_t at[2] = { 0, 0 };
    void *params[2] = { &at[0], &at[1] };
    bool ok = oracle_device_alloc(&at[0], in_size) && oracle_device_alloc(&at[1], out_size) &&
              oracle_device_write(at[0], in, in_size) && oracle_device_write(at[1], out, out_size);
    int error = ok ? oracle_device_launch(kernel, MATRIX_BLOCKS / warps, 32 * warps, params) : 0;
    if (error)
        ok = matrix_fail(name, "%s at launch", oracle_device_error(error));
    ok = ok && oracle_device_read(out, at[1], out_size);
    for (unsigned i = 0; i < 2; i++)
        if (at[i])
            oracle_device_free(at[i]);
    return ok;
}

bool matrix_run(const char *name, const char *text, unsigned warps, const void *in, size_t in_size, void *out, size_t out_size)
{
    char why[2000];
    void *kernel, *module = oracle_device_load(text, "k", &kernel, why, sizeof why);
    if (!module && !strcmp(why, ORACLE_NOT_ASSEMBLED)) {
        n_not_assembled++;
        return false;
    }
    if (!module)
        return matrix_fail(name, "%s", why);
    bool ok = launch(name, kernel, warps, in, in_size, out, out_size);
    oracle_device_unload(module);
    return ok || matrix_fail(name, "its text:\n%s", text);
}

unsigned matrix_warps(void)
{
    return block_warps;
}

bool matrix_wanted(const char *name)
{
    bool yes = strstr(name, wanted) && n_seen++ % every == 0;
    n_forms += yes;
    return yes;
}

/* ---- Values */
uint64_t matrix_random(void)
{
    static uint64_t state = 20240611;
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static const struct format {
    enum ptx_type type;
    unsigned exponent, significand, low, high; /* bits; exponents of middling values */
} formats[] = {
    { PTX_F16, 5, 10, 9, 19 }, { PTX_BF16, 8, 7, 118, 134 }, { PTX_TF32, 8, 23, 118, 134 }, { PTX_E4M3, 4, 3, 1, 13 },
    { PTX_E5M2, 5, 2, 8, 20 }, { PTX_F32, 8, 23, 115, 140 }, { PTX_F64, 11, 52, 1000, 1040 },
};

static const struct format *format_of(enum ptx_type type)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == type)
            return &formats[i];
    return NULL;
}

uint64_t matrix_value(enum ptx_type type, bool odd)
{
    const struct format *f = format_of(type);
    uint64_t bits = matrix_random();
    if (type == PTX_S32) /* where sums overflow, too */
        return bits & 3 ? (uint32_t)bits : (bits & 4 ? 0x7fffff00 : 0x80000000) + (uint8_t)(bits >> 8);
    if (!f)
        return ptx_type_bits(type) == 32 ? (uint32_t)bits : bits & ((1ull << ptx_type_bits(type)) - 1);
    uint64_t exponent = f->low + matrix_below(f->high - f->low + 1), all = (1u << f->exponent) - 1;
    uint64_t significand = bits & ((1ull << f->significand) - 1), sign = bits >> 63;
    if (odd && matrix_below(64) == 0) {
        exponent = matrix_below(2) ? 0 : all; /* zeros, subnormals; infinities, NaN */
        significand = matrix_below(2) ? 0 : significand;
    }
    return sign << (f->exponent + f->significand) | exponent << f->significand | significand;
}

double matrix_float(enum ptx_type type, uint64_t bits)
{
    const struct format *f = format_of(type);
    if (type == PTX_TF32)
        bits &= 0xffffe000;
    int exponent = (int)(bits >> f->significand & ((1u << f->exponent) - 1)), bias = (1 << (f->exponent - 1)) - 1;
    double significand = (double)(bits & ((1ull << f->significand) - 1)), one = ldexp(1, (int)f->significand);
    double v = exponent == 2 * bias + 1 ? (significand != 0 ? NAN : INFINITY)
               : exponent ? ldexp(one + significand, exponent - bias - (int)f->significand)
                          : ldexp(significand, 1 - bias - (int)f->significand);
    return bits >> (f->exponent + f->significand) & 1 ? -v : v;
}

bool matrix_close(enum ptx_type type, double want, uint64_t got, double error)
{
    double v = matrix_float(type, got);
    if (isnan(want) || isnan(v))
        return isnan(want) && isnan(v);
    return v == want || fabs(v - want) <= error;
}

void matrix_bits_put(void *at, size_t index, unsigned bits, uint64_t value)
{
    uint8_t *bytes = at;
    for (unsigned b = 0; b < bits; b++) {
        size_t i = index * bits + b;
        bytes[i / 8] = (uint8_t)((bytes[i / 8] & ~(1u << i % 8)) | (unsigned)(value >> b & 1) << i % 8);
    }
}

uint64_t matrix_bits_get(const void *at, size_t index, unsigned bits)
{
    const uint8_t *bytes = at;
    uint64_t v = 0;
    for (unsigned b = 0; b < bits; b++)
        v |= (uint64_t)(bytes[(index * bits + b) / 8] >> (index * bits + b) % 8 & 1) << b;
    return v;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1)
        wanted = argv[1];
    if (argc > 2 && atoi(argv[2]) > 0)
        every = (unsigned)atoi(argv[2]);
    if (argc > 3 && atoi(argv[3]) > 0 && MATRIX_BLOCKS % atoi(argv[3]) == 0)
        block_warps = (unsigned)atoi(argv[3]);
    if (block_warps > MATRIX_WARPS)
        block_warps = MATRIX_WARPS;
    if (argc > 5)
        oracle_device_lift(arch = (unsigned)atoi(argv[4]), argv[5], 0);
    char device[256];
    if (!oracle_device_open(device, sizeof device))
        return 1;
    unsigned wrong = matrix_mma() + matrix_wmma() + matrix_moves() - n_not_assembled;
    if (argc > 5)
        printf("%u forms not assembled for sm_%s\n", n_not_assembled, argv[4]);
    printf("%u forms, %u wrong\n", n_forms, wrong);
    return wrong || !n_forms;
}
