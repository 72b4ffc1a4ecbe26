/* Runs one PTX instruction as scalar code on this machine: what ptx/lower makes of it, through LLVM's JIT.
 *
 * Only for instructions that need no other lane.  Each row names its operands' types and a C reference; values are edges of those
 * types in all pairs, and random ones from a printed seed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AW_TESTS_LOWER_RUN_H
#define AW_TESTS_LOWER_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a reference gives where PTX leaves the result open: not compared. */
#define RUN_UNDEFINED 0xfeedfacecafebeefu

/* Operands' bits, a b c e in order; returns the result's bits (above the result's width ignored). */
typedef uint64_t run_ref(const uint64_t *v);

enum { RUN_EXACT_NAN = 1 /* NaN results must agree to the bit; else any NaN equals any */ };

struct run_row {
    const char *ptx;   /* body with %d for the result and %a %b %c %e for the operands; other registers: %t0..%t3 (b32),
                          %u0..%u3 (b64), %q0..%q3 (pred) */
    const char *types; /* "f32 f32 f32": result, then operands; types as PTX has them, "pred" allowed */
    run_ref *ref;
    unsigned flags;
};

/* Compares and reports through criterion; false when anything differed (also when it could not be compiled). */
bool run_rows(const struct run_row *rows, size_t n);

/* Self-test: the number of differing values of one row, or -1 when it could not be compiled. */
long run_row_differences(const struct run_row *row);

/* ---- Views of the operands, for references */
static inline float run_f32(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return f;
}
static inline double run_f64(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static inline uint64_t run_bits32(float f)
{
    uint32_t low;
    memcpy(&low, &f, sizeof low);
    return low;
}
static inline uint64_t run_bits64(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}
#define U16(i) ((uint16_t)v[i])
#define S16(i) ((int16_t)v[i])
#define U32(i) ((uint32_t)v[i])
#define S32(i) ((int32_t)v[i])
#define U64(i) ((uint64_t)v[i])
#define S64(i) ((int64_t)v[i])
#define F32(i) run_f32(v[i])
#define F64(i) run_f64(v[i])
#define REF(name, expression)                     \
    static uint64_t name(const uint64_t *v)       \
    {                                             \
        return (uint64_t)(expression);            \
    }

#endif
